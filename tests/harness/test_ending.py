"""When a run is over: bounded waits, and the right reason."""

from __future__ import annotations

import pytest

from harness.ending import (
    FINISH_S,
    NO_DETECTOR_S,
    SETTLE_S,
    STALL_S,
    Ending,
    EndingRule,
)
from scout.config import ScoutConfig

SCOUT = ScoutConfig(silence_s=4.0, silence_by_phase_s={"check": 9.0}, heartbeat_s=1.0)
GRACE_S = 9.0 + 3 * 1.0 + SETTLE_S


def rule(scout: ScoutConfig | None = SCOUT, timeout_s: float = 100.0) -> EndingRule:
    made = EndingRule(num_ranks=3, timeout_s=timeout_s, scout=scout, now=0.0)
    if scout is not None:
        made.on_detector()
    return made


def tick(
    made: EndingRule, now: float, *, cancelled: bool = False, observers: int = 3
) -> Ending | None:
    return made.on_tick(now, is_cancelled=cancelled, num_observers=observers)


def leave(made: EndingRule, rank: int, now: float, how: str = "exit code 0") -> None:
    made.on_exit(f"rank{rank}", how, is_clean=how == "exit code 0", now=now)


def test_the_run_is_finished_when_the_last_rank_has_left() -> None:
    made = rule()
    for rank in range(3):
        assert tick(made, 5.0) is None
        leave(made, rank, 5.0)
    assert tick(made, 5.0) == Ending(reason="finished", detail="")


def test_a_rank_that_never_leaves_is_not_waited_for_forever() -> None:
    made = rule()
    leave(made, 0, 5.0)
    assert tick(made, 5.0 + FINISH_S) is None
    ending = tick(made, 5.1 + FINISH_S)
    assert ending is not None
    assert ending.reason == "infrastructure"
    assert "2 of 3 ranks still run" in ending.detail


def test_after_a_death_detectors_get_a_bounded_time() -> None:
    made = rule()
    leave(made, 1, 10.0, "signal 9")
    assert tick(made, 10.0 + GRACE_S - 0.1) is None
    assert tick(made, 10.0 + GRACE_S) == Ending(
        reason="rank-died", detail="rank1 ended with signal 9"
    )


def test_a_verdict_on_the_death_shortens_the_wait() -> None:
    made = rule()
    leave(made, 1, 10.0, "signal 9")
    made.on_verdict(11.0, is_hang=False)
    assert tick(made, 11.0 + SETTLE_S - 0.1) is None
    assert tick(made, 11.0 + SETTLE_S) is not None


def test_a_verdict_before_the_death_does_not_shorten_it() -> None:
    made = rule()
    made.on_verdict(9.0, is_hang=False)
    leave(made, 1, 10.0, "signal 9")
    assert tick(made, 10.0 + GRACE_S - 0.1) is None


@pytest.mark.parametrize("scout", [None, SCOUT])
def test_without_a_detector_at_work_a_death_ends_the_run_soon(
    scout: ScoutConfig | None,
) -> None:
    made = EndingRule(num_ranks=3, timeout_s=100.0, scout=scout, now=0.0)
    leave(made, 1, 10.0, "exit code 1")
    assert tick(made, 10.0 + NO_DETECTOR_S) is not None


def test_when_ranks_and_observers_are_gone_nobody_is_waited_for() -> None:
    made = rule()
    leave(made, 0, 10.0, "exit code 1")
    leave(made, 1, 10.1, "exit code 1")
    leave(made, 2, 10.2)
    assert tick(made, 10.3, observers=1) is None
    assert tick(made, 10.3, observers=0) == Ending(
        reason="rank-died",
        detail="rank0 ended with exit code 1; rank1 ended with exit code 1",
    )


def test_time_is_bounded() -> None:
    made = rule(timeout_s=20.0)
    assert tick(made, 20.0) is None
    assert tick(made, 20.1) == Ending(reason="timeout", detail="not over after 20 s")


def test_a_cancel_comes_before_everything_else() -> None:
    made = rule()
    made.on_lost("zygote ended with -9")
    ending = tick(made, 500.0, cancelled=True)
    assert ending is not None
    assert ending.reason == "cancelled"


def test_a_lost_runtime_ends_the_run_at_once() -> None:
    made = rule()
    leave(made, 1, 1.0, "its runtime")
    made.on_lost("zygote ended with -9")
    assert tick(made, 1.0) == Ending(
        reason="infrastructure", detail="zygote ended with -9"
    )


def test_a_hang_that_nothing_holds_any_more_ends_the_run() -> None:
    made = rule()
    made.on_verdict(10.0, is_hang=True)
    patience_s = SCOUT.silence_s + STALL_S
    assert tick(made, 10.0 + patience_s - 0.1) is None
    ending = tick(made, 10.0 + patience_s)
    assert ending is not None
    assert ending.reason == "stalled"


def test_a_hang_is_not_given_up_while_its_fault_holds_it_or_ranks_go_on() -> None:
    made = rule()
    made.on_fault(1, 9.0)
    made.on_verdict(10.0, is_hang=True)
    assert tick(made, 60.0) is None
    made.on_fault(-1, 60.0)
    made.on_progress(61.0)
    patience_s = SCOUT.silence_s + STALL_S
    assert tick(made, 61.0 + patience_s - 0.1) is None
    assert tick(made, 61.0 + patience_s) is not None


def test_other_verdicts_end_nothing() -> None:
    made = rule()
    made.on_verdict(10.0, is_hang=False)
    assert tick(made, 90.0) is None
