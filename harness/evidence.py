"""The evidence of a qualification in one zip, and what can be recomputed from it.

    report.zip
      SHA256SUMS                    of every other file (`sha256sum -c` reads it, too)
      suite.json cases.jsonl        what was planned, what each case came to
      report.*                      the report in every format
      runs/<id>/...                 of each case: scenario, events, phases, results

`pack` is called by `qualify`, `check` by `verify`. Checking needs nothing but the file:
no network, no run, no torch. It recomputes every verdict from its evidence, every
result from its events, every case from its run, and the report from the cases.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.campaign_journal import NOT_MEASURED, CaseResult, Journal
from harness.campaign_run import read_again
from harness.checks import score
from harness.errors import ScenarioError, UsageError
from harness.qualification import build
from harness.store import RunDirectory
from harness.suite_record import FILE as SUITE
from harness.suite_record import read as read_suite
from harness.verify import verify
from vocab.codec import to_json

FILE = "report.zip"
SUMS = "SHA256SUMS"
TOP = (SUITE, "cases.jsonl", "plan.json")
RUN_FILES = ("scenario.yaml", "meta.json", "ended.json", "results.json")
MAX_BYTES = 8 << 30  # of all files, unpacked
MAX_FILES = 1_000_000
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something in the evidence that is not as the report says."""

    is_missing: bool  # else it is there, and different
    where: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a check of an evidence file found."""

    num_files: int
    num_runs: int
    num_verdicts: int  # recomputed, all identical where there is no finding
    findings: tuple[Finding, ...]
    ruling: str  # that the recomputed report comes to; "" where there is none


def pack(folder: Path, target: Path) -> Path:
    """Write the evidence of a qualification's folder; returns its path.

    Raises:
        OSError: a file cannot be read, or the zip not be written.
    """
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    sums = []
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in _files(folder):
            name = path.relative_to(folder).as_posix()
            sums.append(f"{_digest(path)}  {name}\n")
            archive.write(path, name)
        archive.writestr(SUMS, "".join(sums))
    os.replace(draft, target)
    return target


def check(path: Path) -> Checked:
    """Recompute everything that an evidence file claims.

    Raises:
        UsageError: it is no evidence file, or not safe to unpack.
    """
    with tempfile.TemporaryDirectory(prefix="faultyard-evidence-") as name:
        folder = Path(name)
        num_files = _unpack(path, folder)
        findings = list(_wrong_sums(folder))
        suite = read_suite(folder)
        results = Journal(folder).finished()
        num_runs = num_verdicts = 0
        for case in suite.cases:
            result = results.get(case.case_id)
            if result is None:
                continue
            num_runs += 1
            found, number = _check_case(folder, result)
            findings += found
            num_verdicts += number
        report = build(suite, results)
        findings += _report_differs(folder, to_json(report))
        return Checked(
            num_files=num_files,
            num_runs=num_runs,
            num_verdicts=num_verdicts,
            findings=tuple(findings),
            ruling=report.ruling.value,
        )


def _files(folder: Path) -> Iterator[Path]:
    for name in TOP:
        if (folder / name).is_file():
            yield folder / name
    yield from sorted(p for p in folder.glob("report.*") if p.name != FILE)
    for result in Journal(folder).finished().values():
        run = folder / "runs" / result.run_id
        yield from (run / name for name in RUN_FILES if (run / name).is_file())
        yield from sorted((run / "events").glob("*.jsonl"))


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def _unpack(path: Path, folder: Path) -> int:
    """Number of files; none is written outside `folder`, and not more than fits."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [info for info in archive.infolist() if not info.is_dir()]
            size = sum(info.file_size for info in entries)
            if len(entries) > MAX_FILES or size > MAX_BYTES:
                raise UsageError(
                    f"{path} holds {len(entries)} files of {size} bytes; allowed: "
                    f"{MAX_FILES} files of {MAX_BYTES} bytes"
                )
            for info in entries:
                parts = PurePosixPath(info.filename).parts
                if info.filename.startswith("/") or ".." in parts or "\\" in (
                    info.filename
                ):  # fmt: skip
                    raise UsageError(f"{path}: {info.filename!r} leads out of the file")
                archive.extract(info, folder)
            return len(entries)
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError,
            ValueError) as error:  # fmt: skip
        raise UsageError(
            f"{path} is no evidence file: {error}; allowed: a {FILE} of "
            "`faultyard qualify`"
        ) from None


def _wrong_sums(folder: Path) -> Iterator[Finding]:
    try:
        text = (folder / SUMS).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        yield Finding(is_missing=True, where=SUMS, text="cannot be read")
        return
    told = {}
    for line in text.splitlines():
        digest, _, name = line.partition("  ")
        told[name] = digest
    there = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.name != SUMS
    }
    for name in sorted(told.keys() - there):
        yield Finding(is_missing=True, where=name, text=f"is listed in {SUMS}")
    for name in sorted(there):
        if name not in told:
            yield Finding(is_missing=False, where=name, text=f"is not in {SUMS}")
        elif _digest(folder / name) != told[name]:
            yield Finding(is_missing=False, where=name, text="has another checksum")


def _check_case(folder: Path, result: CaseResult) -> tuple[list[Finding], int]:
    """What is wrong with one case's run, and how many verdicts were recomputed."""
    run = RunDirectory(path=folder / "runs" / result.run_id)
    where = f"runs/{result.run_id}"
    if result.outcome in NOT_MEASURED:
        return [], 0  # it claims nothing
    stored = run.results()
    if stored is None:
        return [Finding(is_missing=True, where=where, text="no results.json")], 0
    found = verify(run)
    findings = [Finding(is_missing=True, where=where, text=text)
                for text in found.missing]  # fmt: skip
    if found.difference is not None:
        text = str(found.difference)
        findings.append(Finding(is_missing=False, where=where, text=text))
    events = run.reader().read().events
    try:
        again = score(run.scenario(), events, run.ended())
    except ScenarioError as error:
        return [*findings, Finding(is_missing=True, where=where, text=str(error))], 0
    if again != stored:
        text = f"results: stored {stored.outcome.value} ({stored.reason}), recomputed "
        text += f"{again.outcome.value} ({again.reason})"
        findings.append(Finding(is_missing=False, where=where, text=text))
    if read_again(result, run) != result:
        text = f"{result.case_id} in cases.jsonl does not say what its run says"
        findings.append(Finding(is_missing=False, where=where, text=text))
    return findings, found.num_recomputed or 0


def _report_differs(folder: Path, again: object) -> Iterator[Finding]:
    name = "report.json"
    try:
        stored = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        yield Finding(is_missing=True, where=name, text=f"cannot be read: {error}")
        return
    if stored != json.loads(json.dumps(again)):
        yield Finding(
            is_missing=False, where=name, text="does not follow from the cases"
        )
