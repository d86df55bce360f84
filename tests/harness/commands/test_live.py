"""What a watcher reads while a run goes on, line by line."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.commands.live import LiveRun
from harness.store import RunDirectory
from tests.run_builder import clean_run, hang_run, sdc_run
from vocab import events as ev
from vocab.events import Event, Stamped


def shown(run: RunDirectory, *, is_terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=160, force_terminal=is_terminal,
                      highlight=False, markup=False)  # fmt: skip
    with LiveRun(run, run.scenario(), console) as live:
        for stamped in run.reader().read().events:
            live.on_event(stamped)
    return out.getvalue()


def test_the_culprit_is_named_with_reason_confidence_and_action(
    tmp_path: Path,
) -> None:
    lines = shown(sdc_run(tmp_path)).splitlines()
    [at] = [index for index, line in enumerate(lines) if "VERDICT" in line]
    assert "rank2 computes wrong values" in lines[at]
    assert [line.split()[0] for line in lines[at + 1 : at + 4]] == [
        "why", "sure", "next",
    ]  # fmt: skip
    assert "3 of 4" in lines[at + 1]


def test_injection_and_heal_are_told_beside_it(tmp_path: Path) -> None:
    text = shown(sdc_run(tmp_path))
    assert text.index("INJECTED") < text.index("VERDICT") < text.index("HEALED")


def test_each_line_has_its_time(tmp_path: Path) -> None:
    lines = shown(clean_run(tmp_path)).splitlines()
    times = [float(line.split()[0]) for line in lines if line.split()[1] == "s"]
    assert len(times) == len(lines)
    assert times == sorted(times)


def test_a_pipe_is_told_of_steps_in_tenths(tmp_path: Path) -> None:
    text = shown(clean_run(tmp_path))
    assert "step 12 of 12 done by every rank" in text
    assert "\x1b" not in text
    assert "rank0" not in text


def test_a_terminal_has_a_bar_per_rank(tmp_path: Path) -> None:
    text = shown(clean_run(tmp_path), is_terminal=True)
    assert all(f"rank{rank}" in text for rank in range(4))
    assert "done by every rank" not in text


def test_a_hang_is_told_in_the_words_of_the_page(tmp_path: Path) -> None:
    assert "VERDICT  rank3 stopped making progress" in shown(hang_run(tmp_path))


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (ev.PhaseChanged(phase="queued", detail="2 ahead"), "queued: 2 ahead"),
        (
            ev.DetectorDisabled(component="scout", reason="no memory", step=3),
            "scout switched itself off: no memory",
        ),
        (
            ev.Problem(component="observer", message="late", fix="wait"),
            "PROBLEM  observer: late (wait)",
        ),
        (
            ev.ProcessExited(name="rank1", pid=1, exit_code=None, signal=9),
            "rank1 ended with signal 9",
        ),
        (
            ev.ProcessExited(name="rank1", pid=1, exit_code=3, signal=None),
            "rank1 ended with exit code 3",
        ),
        (
            ev.FaultFailed(fault_id="flip", kind="sdc.parameter", reason="no such w"),
            "NOT INJECTED flip: no such w",
        ),
        (ev.ProcessExited(name="rank1", pid=1, exit_code=0, signal=None), None),
        (ev.ProcessStarted(name="rank1", pid=1), None),
    ],
)
def test_other_things_that_happen_are_one_line_or_none(
    tmp_path: Path, event: Event, text: str | None
) -> None:
    run = clean_run(tmp_path)
    out = io.StringIO()
    console = Console(file=out, width=160, highlight=False, markup=False)
    with LiveRun(run, run.scenario(), console) as live:
        live.on_event(Stamped(seq=0, t_ns=5, source="harness", event=event))
    assert out.getvalue() == ("" if text is None else f"    0.0 s  {text}\n")
