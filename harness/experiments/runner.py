"""Measures the points of an experiment on all cores, and keeps each as it comes.

    OUT/NAME.points.jsonl    a line a measured point; a killed run goes on from there
    OUT/NAME.csv, .svg, .json    table, picture, claims with the command that made them

Called by the `experiment` command. Two runs in one folder at a time are refused.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.experiments.base import Experiment, Point, Report
from harness.provenance import provenance
from harness.store import replace_file, write_atomically
from vocab.codec import to_json

Tell = Callable[[int, int], None]  # points measured, points in all


def measured(
    experiment: Experiment, folder: Path, *, quick: bool, tell: Tell
) -> list[dict[str, Any]]:
    """All rows, in the order of the points; measures only what is missing.

    Raises:
        UsageError: another run holds the folder.
        OSError: the folder cannot be written.
    """
    points = experiment.points(quick)
    folder.mkdir(parents=True, exist_ok=True)
    with _held(folder):
        path = folder / f"{experiment.name}.points.jsonl"
        known = _known(path)
        left = [point for point in points if _key(point) not in known]
        tell(len(points) - len(left), len(points))
        with path.open("a", encoding="utf-8") as file:
            for point, result in _results(experiment, left):
                file.write(json.dumps({"point": point, "result": result}) + "\n")
                file.flush()
                known[_key(point)] = result
                done = sum(_key(item) in known for item in points)
                tell(done, len(points))
    return [{**point, **known[_key(point)]} for point in points]


def write(
    experiment: Experiment, report: Report, folder: Path, command: str
) -> dict[str, Any]:
    """Write table, picture and claims; returns what the JSON file says."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(report.columns)
    rows.writerows(report.table)
    made_with = provenance()
    data = {
        "format": 1,
        "experiment": experiment.name,
        "title": experiment.title,
        "paper": experiment.where,
        "holds_at": experiment.holds_at,
        "command": command,
        "commit": made_with.commit,
        "dirty": made_with.dirty,
        "claims": to_json(list(report.claims)),
    }
    write_atomically(folder / f"{experiment.name}.csv", text.getvalue())
    replace_file(folder / f"{experiment.name}.svg", report.picture)
    write_atomically(
        folder / f"{experiment.name}.json", json.dumps(data, indent=1) + "\n"
    )
    return data


def _results(
    experiment: Experiment, points: Sequence[Point]
) -> Iterator[tuple[Point, dict[str, Any]]]:
    """As they come; the kernels release the interpreter's lock."""
    if not points:
        return
    # The first compiles; two at once would compile the same twice.
    yield points[0], experiment.measure(points[0])
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        try:
            yield from zip(points[1:], pool.map(experiment.measure, points[1:]),
                           strict=True)  # fmt: skip
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _known(path: Path) -> dict[str, dict[str, Any]]:
    """Results by point; a torn last line is none."""
    found = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                data = json.loads(line)
                found[_key(data["point"])] = data["result"]
        text = path.read_bytes()
        if text and not text.endswith(b"\n"):
            with path.open("ab") as file:
                file.write(b"\n")
    return found


def _key(point: Point) -> str:
    return json.dumps(point, sort_keys=True)


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{folder}: another experiment is running here") from None
        yield
