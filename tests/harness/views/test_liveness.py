"""A page says whether it is live, stale, over, or the remains of a killed run."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.views.liveness import STALE_AFTER_S, LiveState, liveness

NOW_NS = 10**18


def judge(**changes: Any) -> Any:
    """Liveness of a healthy running run with `changes`."""
    facts: dict[str, Any] = {
        "phase": "running", "has_results": False, "has_ended": False,
        "is_alive": True, "newest_ns": NOW_NS, "has_events": True, "now_ns": NOW_NS,
    }  # fmt: skip
    return liveness(**{**facts, **changes})


def test_a_running_run_with_fresh_events_is_live() -> None:
    assert judge().state is LiveState.LIVE


def test_silence_of_a_living_run_is_stale_and_says_for_how_long() -> None:
    state = judge(newest_ns=NOW_NS - 12_000_000_000)
    assert (state.state, state.text) == (LiveState.STALE, "stale: no event for 12 s")
    assert state.silent_s == 12


def test_a_waiting_run_is_queued_however_long_it_waits() -> None:
    state = judge(phase="queued", newest_ns=NOW_NS - 10**12)
    assert state.state is LiveState.QUEUED


def test_a_run_without_process_and_results_was_killed() -> None:
    assert judge(is_alive=False).text == "killed while it ran"
    assert judge(is_alive=False, has_ended=True).text == "killed before its check"


def test_results_end_a_run_even_while_its_process_lingers() -> None:
    assert judge(has_results=True).state is LiveState.ENDED


@given(
    phase=st.sampled_from(["", "queued", "starting", "running", "checking", "ended"]),
    has_results=st.booleans(), has_ended=st.booleans(), is_alive=st.booleans(),
    age_s=st.floats(min_value=-10, max_value=1e6), has_events=st.booleans(),
)  # fmt: skip
def test_a_run_is_final_exactly_if_nothing_more_can_come(
    phase: str, has_results: bool, has_ended: bool, is_alive: bool, age_s: float,
    has_events: bool,
) -> None:  # fmt: skip
    state = judge(
        phase=phase, has_results=has_results, has_ended=has_ended, is_alive=is_alive,
        newest_ns=NOW_NS - round(age_s * 1e9), has_events=has_events,
    )  # fmt: skip
    assert state.is_final == (has_results or not is_alive)
    assert state.is_final == (state.state in (LiveState.ENDED, LiveState.KILLED))
    if state.state is LiveState.LIVE:
        assert age_s <= STALE_AFTER_S
    if state.is_final:
        assert state.silent_s is None
