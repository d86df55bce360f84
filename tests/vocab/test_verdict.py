"""Exactly the attributed verdicts name somebody."""

from __future__ import annotations

import pytest

from vocab.verdict import Action, Kind, Scope, State, Verdict


def make(state: State, *blamed: str) -> Verdict:
    return Verdict(
        verdict_id="v",
        incident=1,
        kind=Kind.SDC,
        state=state,
        scope=Scope.RANK,
        reason_code="x",
        reason="y",
        action=Action.CONTINUE,
        group="g",
        blamed=blamed,
    )


@pytest.mark.parametrize("state", State)
def test_only_an_attributed_verdict_names_somebody(state: State) -> None:
    named, unnamed = (state, ("rank1",)), (state, ())
    good, bad = (named, unnamed) if state is State.ATTRIBUTED else (unnamed, named)
    assert make(good[0], *good[1]).state is state
    with pytest.raises(ValueError, match="exactly the attributed verdicts name"):
        make(bad[0], *bad[1])


def test_the_five_states_and_no_more() -> None:
    assert {state.value for state in State} == {
        "attributed", "group_scoped", "inconclusive", "incomplete_data", "healthy",
    }  # fmt: skip


def test_a_verdict_has_every_field_of_the_design() -> None:
    # DESIGN sec. 4, "Verdict".
    fields = set(Verdict.__dataclass_fields__)
    assert fields >= {
        "kind", "state", "scope", "blamed", "victims", "missing", "heading",
        "statistic", "votes", "confirmations", "surface", "layer", "step",
        "reason_code", "action", "stall_s", "replay_mode", "replay_shape", "bitmaps",
        "evidence",
    }  # fmt: skip
