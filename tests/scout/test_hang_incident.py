"""One verdict per stall, whatever is found again while it lasts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scout.hang_finding import HangFinding
from scout.hang_incident import (
    Incident,
    IncidentBook,
    Judgement,
    choose_writer,
    heads_of,
    wrong_call,
)
from tests.scout.progress_builder import (
    boundaries,
    classify_group,
    collectives,
    fingerprint,
    place,
    snapshot,
)
from vocab.codec import from_json, to_json
from vocab.events import ProgressSnapshot
from vocab.verdict import State

REDUCE = place("reduce")
FORWARD = place("forward")


def frozen(step: int = 6, rank: int = 2, **more: object) -> list[ProgressSnapshot]:
    """Four ranks of which one froze in the forward pass of `step`."""
    return [
        snapshot(r, boundaries(step, FORWARD if r == rank else REDUCE), **more)  # type: ignore[arg-type]
        for r in range(4)
    ]


def opened(book: IncidentBook, snapshots: list[ProgressSnapshot]) -> Judgement:
    """Judge what these ranks show, and write what is to be written."""
    finding = classify_group(snapshots)
    judgement = book.judge(finding, snapshots)
    if judgement.closes is not None:
        book.on_closed(judgement.closes.number)
    if judgement.number is not None:
        book.on_opened(incident(finding, snapshots, judgement.number))
    return judgement


def incident(
    finding: HangFinding, snapshots: list[ProgressSnapshot], number: int
) -> Incident:
    return Incident(
        number=number,
        verdict_id=f"hang-{number}",
        state=finding.state,
        writer=0,
        blamed=finding.blamed,
        heads=dict(heads_of(snapshots)),
        wrong_call=wrong_call(finding),
    )


def test_a_stall_that_lasts_is_told_once() -> None:
    book = IncidentBook()
    assert opened(book, frozen()).number == 1
    assert opened(book, frozen()).is_empty


def test_victims_that_die_of_a_stall_belong_to_it() -> None:
    book = IncidentBook()
    opened(book, frozen())
    dying = frozen()
    dying[3] = snapshot(3, dying[3].ring, state="gone", signal=9, gone_s=3.0)
    assert opened(book, dying).is_empty


def test_victims_that_come_to_wait_later_do_not_end_it() -> None:
    book = IncidentBook()
    early = frozen()
    early[3] = snapshot(3, boundaries(6, place("backward")), age_s=0.1)
    early.append(snapshot(4, boundaries(6, REDUCE)))
    assert opened(book, early).number == 1
    later = frozen()
    later.append(snapshot(4, boundaries(6, REDUCE)))
    assert opened(book, later).is_empty


def test_the_culprit_going_on_closes_it_once() -> None:
    book = IncidentBook()
    opened(book, frozen())
    moving = [snapshot(r, boundaries(6, REDUCE), age_s=0.1) for r in range(4)]
    closing = opened(book, moving)
    assert closing.closes is not None
    assert (closing.closes.verdict_id, closing.why_closed) == (
        "hang-1",
        "rank2 went on",
    )
    assert closing.number is None
    assert opened(book, moving).is_empty


def test_a_second_stall_of_the_same_rank_is_a_new_incident() -> None:
    book = IncidentBook()
    opened(book, frozen(6))
    again = opened(book, frozen(7))
    assert again.closes is not None
    assert (again.closes.number, again.number) == (1, 2)


def test_missing_data_is_superseded_once_somebody_can_be_named() -> None:
    book = IncidentBook()
    snapshots = [item for item in frozen(rank=1) if item.rank != 3]
    finding = classify_group(snapshots, missing=[3])
    assert finding.state is State.INCOMPLETE_DATA
    book.on_opened(incident(finding, snapshots, 1))
    back = opened(book, frozen(rank=1))
    assert (back.number, back.supersedes) == (1, "hang-1")
    assert opened(book, frozen(rank=1)).is_empty


@pytest.mark.parametrize("mover", [0, 1, 3])
def test_a_silent_host_is_over_when_anybody_goes_on(mover: int) -> None:
    book = IncidentBook()
    waiting = [item for item in frozen() if item.rank != 2]
    finding = classify_group(waiting, missing=[2])
    book.on_opened(incident(finding, waiting, 1))
    moved = [
        snapshot(item.rank, boundaries(7, 0), age_s=0.1) if item.rank == mover else item
        for item in waiting
    ]
    judgement = book.judge(classify_group(moved, missing=[2]), moved)
    assert judgement.closes is not None


def test_numbers_learned_from_a_peer_are_not_used_again() -> None:
    book = IncidentBook()
    book.on_closed(4)
    assert opened(book, frozen()).number == 5


def test_an_incident_survives_the_wire() -> None:
    snapshots = frozen()
    one = incident(classify_group(snapshots), snapshots, 3)
    assert from_json(Incident, to_json(one)) == one


def test_the_writer_is_the_lowest_living_peer_that_is_not_blamed() -> None:
    snapshots = frozen(rank=0)
    assert choose_writer(classify_group(snapshots), snapshots) == 1
    snapshots[1] = snapshot(1, snapshots[1].ring, state="gone", exit_code=1, gone_s=0.1)
    assert choose_writer(classify_group(frozen(rank=0)), snapshots) == 2


def test_a_dead_peer_writes_if_nobody_else_is_there() -> None:
    dead = [snapshot(3, boundaries(6, REDUCE), state="gone", signal=9, gone_s=0.5)]
    finding = classify_group(dead, missing=[0, 1, 2])
    assert choose_writer(finding, dead) == 3
    assert choose_writer(finding, []) is None


@given(st.permutations(range(4)), st.integers(0, 3))
def test_every_observer_chooses_the_same_writer(order: list[int], rank: int) -> None:
    snapshots = frozen(rank=rank)
    shuffled = [snapshots[index] for index in order]
    finding = classify_group(snapshots)
    assert choose_writer(finding, shuffled) == choose_writer(finding, snapshots)
    assert choose_writer(finding, shuffled) not in finding.blamed


def completed(number: int, field: dict[str, str]) -> list[ProgressSnapshot]:
    """Rank 2 called number 1 of the sequence differently; all went on to `number`."""
    usual = [fingerprint()] * (number + 1)
    wrong = [usual[0], fingerprint(**field), *usual[2:]]
    return [
        snapshot(rank, collectives(5, wrong if rank == 2 else usual), age_s=0.1)
        for rank in range(4)
    ]


def test_a_wrong_call_that_completed_is_told_once_while_the_rings_show_it() -> None:
    book = IncidentBook()
    assert opened(book, completed(2, {"dtype": "int32"})).number == 1
    later = opened(book, completed(4, {"dtype": "int32"}))
    assert later.number is None
    assert later.closes is not None
    assert opened(book, completed(6, {"dtype": "int32"})).is_empty


def test_another_wrong_call_is_another_incident() -> None:
    book = IncidentBook()
    opened(book, completed(2, {"dtype": "int32"}))
    assert opened(book, completed(4, {"reduction": "max"})).number == 2
