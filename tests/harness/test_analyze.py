"""Verdicts again from stored evidence: which verdict follows which."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analyze import recompute
from harness.scenario import from_data
from tests.run_builder import RunBuilder
from tests.scout.test_hang import waiting
from vocab.events import ProgressCompared

MANAGEMENT_OFF = (("observer3", (0, 1, 2)), ("observer0", (3,)))
BACK_AGAIN = (("observer0", (3,)), ("observer0", ()))
WRITER_DIED = (("observer0", (3,)), ("observer1", (0,)))


def compared(missing: tuple[int, ...]) -> ProgressCompared:
    return ProgressCompared(
        comparison=1, trigger="silence", rank=0, silent_s=9.0, threshold_s=2.0,
        group_ranks=(0, 1, 2, 3), missing=missing,
        snapshots=tuple(waiting(rank) for rank in range(4) if rank not in missing),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("told", "follows"),
    [
        (MANAGEMENT_OFF, None),
        (MANAGEMENT_OFF[::-1], None),
        (BACK_AGAIN, "hang-1"),
        (WRITER_DIED, "hang-1"),
    ],
)
def test_a_verdict_replaces_the_one_that_its_writer_had_heard_of(
    told: tuple[tuple[str, tuple[int, ...]], ...], follows: str | None, tmp_path: Path
) -> None:
    played = {"title": "x", "steps": 9, "workload": {"parallel": {"replicate": 4}}}
    builder = RunBuilder(tmp_path, from_data({**played}), "20260101-000000-x-0000")
    for number, (source, missing) in enumerate(told):
        builder.at(float(number)).write(source, compared(missing))
    first, second = recompute(builder.close())
    assert (first.supersedes, second.supersedes) == (None, follows)
