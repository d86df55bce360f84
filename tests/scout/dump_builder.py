"""Builds flight-recorder dumps as torch 2.13 writes them: NCCL's form, and gloo's.

The shape follows FlightRecorderDetail.hpp; `test_flight_recorder_jobs` compares gloo's
with dumps of real jobs. NCCL cannot run here, so its form is built from the source.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from scout.flight_dump import Dump, parse

START_NS = 1_790_000_000_000_000_000
HANG_S = 100.0
"""How long after its last operation a dump is written."""
WORLD = ("0", "default_pg")


def entry(
    record: int,
    number: int,
    *,
    op: str = "all_reduce",
    state: str = "completed",
    shape: Sequence[int] = (1024,),
    outputs: Sequence[int] | None = None,
    dtype: str = "Float",
    group: tuple[str, str] = WORLD,
    backend: str = "nccl",
    **more: Any,
) -> dict[str, Any]:
    """One entry; `more` overrides or adds fields."""
    at_ns = START_NS + record * 1_000_000
    done = state == "completed"
    is_gloo = backend == "gloo"
    return {
        "frames": [{"name": "step", "filename": "train.py", "line": 7}],
        "record_id": record,
        "pg_id": 0,
        "process_group": group,
        "thread_name": "pt_main",
        "thread_id": "1",
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "op_id": number,
        "profiling_name": f"{backend}:{op}",
        "time_created_ns": at_ns,
        "input_sizes": [list(shape)],
        "input_dtypes": [dtype],
        "output_sizes": [list(shape if outputs is None else outputs)],
        "output_dtypes": [dtype],
        "state": "scheduled" if is_gloo else state,
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": at_ns + 500 if done and not is_gloo else None,
        "retired": done,
        "timeout_ms": 600_000,
        "is_p2p": False,
        **more,
    }


def calls(num_done: int, *, pending: bool, **more: Any) -> list[dict[str, Any]]:
    """`num_done` finished collectives of the world, then perhaps one that pends."""
    made = [entry(i, i + 1, **more) for i in range(num_done)]
    if pending:
        made.append(entry(num_done, num_done + 1, **{"state": "started", **more}))
    return made


def content(
    entries: Sequence[dict[str, Any]],
    groups: Mapping[tuple[str, str], Sequence[int]] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A whole dump; `groups`: members by (name, desc), none for gloo."""
    return {
        "version": "2.10",
        "comm_lib_version": "2.27.3",
        "pg_config": {
            name: {"name": name, "desc": desc, "ranks": str(list(ranks))}
            for (name, desc), ranks in (groups or {}).items()
        },
        "pg_status": {},
        "entries": list(entries),
        **more,
    }


def pickled(value: Any) -> bytes:
    """As torch pickles it: protocol 2, plain data."""
    return pickle.dumps(value, protocol=2)


def dump(
    rank: int,
    entries: Sequence[dict[str, Any]],
    *,
    world: int | None = 4,
    groups: Mapping[tuple[str, str], Sequence[int]] | None = None,
    age_s: float = HANG_S,
) -> Dump:
    """The parsed dump of one rank; `world` None leaves members unknown (gloo)."""
    told = dict(groups or {})
    if world is not None:
        told[WORLD] = range(world)
    newest = max((item["time_created_ns"] for item in entries), default=START_NS)
    return parse(
        pickled(content(entries, told)),
        file=f"rank_{rank}",
        rank=rank,
        written_ns=newest + round(age_s * 1e9) + 500,
    )
