"""The event tail is newest first and marks ground truth."""

from __future__ import annotations

from pathlib import Path

from harness.views.source import RunLog
from harness.views.tail import TAIL_LENGTH, describe, tail
from tests import run_builder as rb
from vocab import events as ev


def test_the_tail_is_newest_first_and_bounded(tmp_path: Path) -> None:
    rows = tail(RunLog(rb.sdc_run(tmp_path)).read())
    assert len(rows) == TAIL_LENGTH
    times = [row.at_s for row in rows]
    assert times == sorted(times, reverse=True)


def test_only_fault_events_are_marked_as_truth(tmp_path: Path) -> None:
    rows = tail(RunLog(rb.sdc_run(tmp_path)).read(), length=1000)
    assert {row.type for row in rows if row.is_truth} == {
        "FileOpened", "FaultInjected", "FaultHealed",
    }  # fmt: skip


def test_an_event_without_words_of_its_own_shows_its_fields() -> None:
    event = ev.UnreadableLine(file="a.jsonl", offset=7, error="x" * 500)
    assert describe(event).startswith("file=a.jsonl offset=7 error=xxx")
    assert len(describe(event)) == 160
