"""Stragglers in a table of timings of a job that ran elsewhere (SCOUT sec. 5.3, 10.2).

Called with a user's table. Peers do the same work: same stage, tp rank and
operation, one of each dp rank. Never compares across stages, which differ by design.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import Flaw, ScenarioError, UsageError
from scout.config import ScoutConfig
from scout.confirm import Confirmer, judge

WHOLE = ("step", "dp rank", "stage", "tp rank")
COLUMNS = (*WHOLE, "operation", "duration")
MAX_DIGITS = 18
KAPPAS = (3.0, 5.0, 7.0, 10.0)

Row = Mapping[str, str | None]  # column: cell as text
Group = tuple[int, int, str]  # stage, tp rank, operation
Table = dict[Group, dict[int, dict[int, float]]]  # group: step: dp rank: seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Straggler:
    """A dp rank that was slow at `steps`; seconds are those of the last of them."""

    dp_rank: int
    stage: int
    tp_rank: int
    operation: str
    steps: tuple[int, ...]
    value_s: float
    threshold_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tradeoff:
    """What one kappa marks in single steps, and what confirmation leaves of it."""

    kappa: float
    num_raw: int
    num_confirmed: int


def read(path: Path) -> Table:
    """Read a CSV or Parquet table, by the file's ending; `duration` is in seconds.

    Raises:
        ScenarioError: cells or columns are wrong; its flaws name each.
        UsageError: another ending, or what reads Parquet is not installed.
        OSError: the file cannot be read.
    """
    rows_of = {".csv": _csv_rows, ".parquet": _parquet_rows}.get(path.suffix)
    if rows_of is None:
        raise UsageError(f"file is {str(path)!r}; allowed: a .csv or .parquet file")
    table: Table = {}
    flaws: list[Flaw] = []
    for line, row in rows_of(path):
        _add(table, row, path, line, flaws)
    if flaws:
        raise ScenarioError(flaws)
    return table


def _csv_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """(line of the file, cells as text)."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        try:
            _hold_columns(path, rows.fieldnames or [])
            for row in rows:
                yield rows.line_num, row
        except (csv.Error, UnicodeDecodeError) as error:
            flaw = _flaw(path, rows.line_num, "file", str(error), "CSV in UTF-8")
            raise ScenarioError([flaw]) from None


def _parquet_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """(row from 1, cells as text); a batch of rows at a time."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError(
            f"{path}: Parquet is read by pyarrow, which is not installed; install "
            "faultyard[parquet], or write the table as .csv"
        ) from None
    number = 0
    try:
        with pq.ParquetFile(path) as file:
            _hold_columns(path, file.schema_arrow.names)
            for batch in file.iter_batches(columns=list(COLUMNS)):
                for cells in batch.to_pylist():
                    number += 1
                    yield (
                        number,
                        {
                            name: None if cell is None else str(cell)
                            for name, cell in cells.items()
                        },
                    )
    except pa.ArrowInvalid as error:
        flaw = _flaw(path, number, "file", str(error), "a Parquet file")
        raise ScenarioError([flaw]) from None


def _hold_columns(path: Path, head: Sequence[str]) -> None:
    for column in COLUMNS:
        if column not in head:
            allowed = f"columns {', '.join(COLUMNS)}"
            raise ScenarioError([_flaw(path, 1, column, ",".join(head), allowed)])


def decide(table: Table, config: ScoutConfig) -> tuple[tuple[Straggler, ...], int]:
    """Confirmed stragglers, each told once, and the number of raw outliers."""
    found: dict[tuple[Group, int], Straggler] = {}
    num_raw = 0
    for group, steps in sorted(table.items()):
        peers = sorted({peer for values in steps.values() for peer in values})
        confirmer = Confirmer(config=config)
        for step, values in sorted(steps.items()):
            timings = tuple(values.get(peer) for peer in peers)
            slow = judge(group[2], timings, config).slow
            num_raw += len(slow)
            for item in confirmer.on_check(step, [group[2]], slow):
                dp_rank = peers[item.slow.peer]
                found[group, dp_rank] = Straggler(
                    dp_rank=dp_rank, stage=group[0], tp_rank=group[1],
                    operation=group[2], steps=item.boundaries,
                    value_s=item.slow.value_s, threshold_s=item.slow.threshold_s,
                )  # fmt: skip
    return tuple(found.values()), num_raw


def tradeoff(table: Table, config: ScoutConfig) -> tuple[Tradeoff, ...]:
    """The same table under several kappas."""
    rows = []
    for kappa in KAPPAS:
        found, num_raw = decide(table, replace(config, kappa=kappa))
        rows.append(Tradeoff(kappa=kappa, num_raw=num_raw, num_confirmed=len(found)))
    return tuple(rows)


def _add(table: Table, row: Row, path: Path, line: int, flaws: list[Flaw]) -> None:
    before = len(flaws)
    for column in WHOLE:
        cell = row[column] or ""
        if not (cell.isdecimal() and len(cell) <= MAX_DIGITS):
            flaws.append(_flaw(path, line, column, row[column], "0, 1, 2, ..."))
    try:
        seconds = float(row["duration"] or "")
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        flaws.append(
            _flaw(path, line, "duration", row["duration"], "seconds, 0 or more")
        )
    operation = row["operation"] or ""
    if not operation:
        flaws.append(_flaw(path, line, "operation", "", "a name"))
    if len(flaws) > before:
        return
    step, dp_rank, stage, tp_rank = (int(row[column] or "") for column in WHOLE)
    steps = table.setdefault((stage, tp_rank, operation), {})
    peers = steps.setdefault(step, {})
    if dp_rank in peers:
        flaws.append(_flaw(path, line, "dp rank", dp_rank, "one row per step and rank"))
    peers[dp_rank] = seconds


def _flaw(path: Path, line: int, column: str, value: object, allowed: str) -> Flaw:
    return Flaw(file=str(path), line=line, field=column, value=repr(value),
                allowed=allowed, message="wrong cell")  # fmt: skip
