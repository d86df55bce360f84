"""A folder of flight-recorder dumps: which files they are, and of which rank.

Called by `faultyard analyze flight-recorder` (issue 3). Reads the files and nothing
else; `scout.flight_dump` reads what is in them. Torch names a dump by a prefix of the
user's (TORCH_FR_DUMP_TEMP_FILE) and the rank: `nccl_trace_rank_3`; JSON dumps are
fetched from its debug server, and get whatever name the user gives.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InfrastructureError, UsageError
from scout.flight_dump import MAX_RANK, Dump, parse

MAX_BYTES = 512 * 1024 * 1024
_NAME = re.compile(r"(?P<prefix>.*?)(?P<rank>[0-9]+)(?:\.(?:json|pkl|pickle))?\Z")
_SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """The dumps of one job."""

    path: Path
    prefix: str
    dumps: tuple[Dump, ...]  # by rank
    ignored: tuple[str, ...]  # names of files that are no dump of this job


def read(path: Path, prefix: str | None = None) -> Folder:
    """Read all dumps of a folder.

    Args:
        prefix: what stands before the rank in the files' names; None: what all files
            whose names end in a number have there.

    Raises:
        UsageError: no folder, no dump, or dumps of several jobs.
        DumpError: a dump cannot be used.
        InfrastructureError: a file cannot be read.
    """
    if not path.is_dir():
        raise UsageError(f"DIR is {str(path)!r}; allowed: a folder of dumps")
    files = sorted(item for item in path.iterdir() if item.is_file())
    named = {item: _NAME.match(item.name) for item in files}
    prefixes = sorted({match["prefix"] for match in named.values() if match})
    chosen = _choose(path, prefix, prefixes)
    mine = {
        item: int(match["rank"])
        for item, match in named.items()
        if match and match["prefix"] == chosen
    }
    dumps = [_read_one(item, rank) for item, rank in mine.items()]
    return Folder(
        path=path,
        prefix=chosen,
        dumps=tuple(sorted(dumps, key=lambda dump: dump.rank)),
        ignored=tuple(item.name for item in files if item not in mine),
    )


def _choose(path: Path, wanted: str | None, prefixes: list[str]) -> str:
    if wanted is not None and wanted in prefixes:
        return wanted
    shown = ", ".join(map(repr, prefixes[:_SHOWN]))
    more = f" and {len(prefixes) - _SHOWN} more" if len(prefixes) > _SHOWN else ""
    if wanted is not None:
        found = f"{shown}{more}" if prefixes else "none: no file's name ends in a rank"
        raise UsageError(f"--prefix is {wanted!r}; allowed: {found}")
    if not prefixes:
        raise UsageError(
            f"{path}: no file's name ends in a rank, such as `nccl_trace_rank_3`"
        )
    if len(prefixes) > 1:
        raise UsageError(
            f"{path} holds dumps of several jobs; choose one by --prefix; allowed: "
            f"{shown}{more}"
        )
    return prefixes[0]


def _read_one(path: Path, rank: int) -> Dump:
    if rank > MAX_RANK:
        raise UsageError(f"{path.name}: rank is {rank}; allowed: 0 to {MAX_RANK}")
    try:
        stat = path.stat()
        if stat.st_size > MAX_BYTES:
            raise UsageError(
                f"{path.name}: has {stat.st_size} bytes; allowed: up to {MAX_BYTES}"
            )
        data = path.read_bytes()
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be read: {error}") from None
    # Torch writes the file when it dumps: its age is how long the job had been silent.
    return parse(data, file=path.name, rank=rank, written_ns=stat.st_mtime_ns)
