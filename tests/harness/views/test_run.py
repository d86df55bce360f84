"""A run's view shows what the files say, in whatever state they are."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from harness import queue
from harness.results import Outcome
from harness.store import RunDirectory
from harness.views.liveness import LiveState
from harness.views.run import RunView, build
from harness.views.source import RunLog
from tests import run_builder as rb
from vocab.events import DetectorDisabled, Problem
from vocab.verdict import State


def view_of(run: RunDirectory) -> RunView:
    """The view of a run as it is on the disk."""
    return build(RunLog(run).read())


def fact(view: RunView, name: str) -> str:
    """The text of one key figure."""
    return next(item.text for item in view.facts if item.name == name)


def test_a_clean_run_says_why_nobody_is_blamed(tmp_path: Path) -> None:
    view = view_of(rb.clean_run(tmp_path))
    (card,) = view.cards
    assert (card.who, card.state) == ("nobody", State.HEALTHY)
    assert card.headline == "Nobody is blamed"
    assert "156 of 156" in card.why
    assert card.votes_text == "4 of 4"
    assert card.statistic is not None
    assert card.statistic.threshold_text == "20 ms"
    assert "3 of 4 peers" in card.needed


def test_a_clean_runs_grid_is_full_of_agreement(tmp_path: Path) -> None:
    (grid,) = view_of(rb.clean_run(tmp_path)).evidence
    assert grid.ranks == ("rank0", "rank1", "rank2", "rank3")
    assert len(grid.columns) == 156
    assert grid.cells == ("0" * 156,) * 4
    assert all(value is not None for row in grid.values for value in row)


def test_an_sdc_run_names_its_culprit_once_with_all_numbers(tmp_path: Path) -> None:
    view = view_of(rb.sdc_run(tmp_path))
    (card,) = view.cards
    assert card.headline == "rank2 computes wrong values"
    assert (
        card.why
        == "The signature of hidden.parameters differs on rank2 (3 of 4 peers agree)."
    )
    assert (card.votes_text, card.confirmations_text) == ("3 of 4", "1 of 1")
    assert card.next_text.startswith("Replace the host")
    assert card.closed_text == "Closed at step 10: all agree again"
    assert card.judged == "expected"
    assert view.outcome is Outcome.PASS
    assert {row.count("1") for row in view.evidence[0].cells} == {0, 22}


def test_truth_stands_beside_the_verdict(tmp_path: Path) -> None:
    truth = view_of(rb.sdc_run(tmp_path)).truth
    (fault,) = truth.faults
    assert (fault.status, fault.targets, fault.step) == ("healed", ("rank2",), 5)
    assert fault.color == "#d62728"
    assert "0x3d2f1a00 → 0x3d0f1a00" in fault.changes[0]
    (expected,) = truth.expected
    assert (expected.status, expected.latency_text) == ("found", "372 ms")
    assert truth.extras == ()


def test_a_straggler_card_shows_the_detectors_own_threshold(tmp_path: Path) -> None:
    view = view_of(rb.straggler_run(tmp_path))
    (card,) = view.cards
    assert card.statistic is not None
    assert card.statistic.value_text == "250 ms"
    assert card.statistic.threshold_text == "20 ms"
    assert card.statistic.expression == "max(kappa * scale, 0.5 * median, 0.02 s)"
    assert card.confirmations_text == "2 of 2"
    assert card.why.count("3 of 4") == 1
    assert {row.count("+") for row in view.timing[0].cells} == {0, 5}


def test_where_nobody_is_named_nobodys_host_is_to_be_replaced(tmp_path: Path) -> None:
    builder = rb.RunBuilder(tmp_path, rb.scenario_of("clean"), "20261130-221500-x-0001")
    builder.start()
    builder.verdict(
        replace(rb.sdc_verdict(), state=State.GROUP_SCOPED, blamed=(), needed="a third")
    )
    (card,) = view_of(builder.close()).cards
    assert card.headline == "Values disagree within replicate; nobody can be named"
    assert card.next_text.startswith("Trust none of this group's machines")
    assert (card.who, card.needed) == ("nobody", "A third.")


def test_an_unexpected_verdict_is_marked_as_extra(tmp_path: Path) -> None:
    view = view_of(rb.hang_run(tmp_path))
    assert {card.who: card.judged for card in view.cards} == {
        "rank0": "extra", "rank3": "expected",
    }  # fmt: skip
    assert [extra.blamed for extra in view.truth.extras] == [("rank0",)]
    assert view.outcome is Outcome.FAIL


def test_a_killed_run_is_readable_and_not_judged(tmp_path: Path) -> None:
    view = view_of(rb.killed_run(tmp_path))
    assert view.liveness.state is LiveState.KILLED
    assert view.cards[0].who == "rank2"
    assert (view.outcome, view.outcome_text) == (None, "not judged")
    assert view.truth.expected[0].status == "not judged"
    assert view.truth.faults[0].status == "injected"
    assert fact(view, "wall_s") == "not measured"
    assert fact(view, "latency_s") == "not measured"
    assert view.truth.expected[0].latency_text == "not measured"


def test_a_run_in_the_middle_awaits_its_verdict(tmp_path: Path) -> None:
    run = rb.sdc_run(tmp_path, until="verdict")
    ticket = queue.join(tmp_path, run.run_id)
    try:
        view = view_of(run)
    finally:
        ticket.leave()
    assert not view.liveness.is_final
    assert view.outcome_text == "not judged yet"
    assert view.truth.expected[0].status == "awaited"
    assert view.cards[0].judged == ""


def test_a_torn_file_costs_one_line_and_says_which(tmp_path: Path) -> None:
    view = view_of(rb.torn_run(tmp_path))
    (notice,) = view.notices
    assert notice.component == "rank1.jsonl"
    assert "event.t_ns: expected int, got 'soon'" in notice.message
    assert fact(view, "steps_done") == "12 of 12"


def test_a_run_of_which_only_the_folder_is_left_is_shown(tmp_path: Path) -> None:
    run = rb.clean_run(tmp_path)
    for path in run.path.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    view = view_of(run)
    assert view.liveness.state is LiveState.KILLED
    assert view.cards[0].state is State.INCOMPLETE_DATA
    assert view.cards[0].headline == "Nothing can be said"
    assert {notice.component for notice in view.notices} == {
        "scenario.yaml",
        "meta.json",
    }


def test_incomplete_checks_are_no_health(tmp_path: Path) -> None:
    builder = rb.RunBuilder(tmp_path, rb.scenario_of("clean"), "20261130-221500-x-0001")
    builder.start()
    builder.step(1)
    builder.check(2, missing=(3,), problem="rank3 has no capture")
    view = view_of(builder.close())
    (card,) = view.cards
    assert card.state is State.INCOMPLETE_DATA
    assert "rank3 has no capture" in card.why
    assert card.missing == ("rank3",)
    assert view.evidence[0].cells[3] == "?" * 26
    assert view.timeline.checks[0].finding == "incomplete"


def test_a_switched_off_detector_is_said_and_not_called_healthy(tmp_path: Path) -> None:
    builder = rb.RunBuilder(tmp_path, rb.scenario_of("clean"), "20261130-221500-x-0001")
    builder.start()
    builder.write(
        "rank0", DetectorDisabled(component="scout", reason="no capture", step=3)
    )
    builder.write(
        "harness", Problem(component="disk", message="nearly full", fix="Free some.")
    )
    view = view_of(builder.close())
    assert view.cards[0].why == "Scout is off: no capture."
    assert {n.component for n in view.notices} == {"scout", "disk"}


def test_reading_bit_by_bit_gives_the_same_view_as_reading_at_once(
    tmp_path: Path,
) -> None:
    builder = rb.RunBuilder(tmp_path, rb.scenario_of("clean"), "20261130-221500-x-0001")
    log = RunLog(builder.run)
    builder.start()
    for step in range(1, 7):
        builder.step(step)
        log.read()
        builder.check(step)
    run = builder.close()
    first, second = log.read(), RunLog(run).read()
    assert first.events == second.events
    assert build(first).evidence == build(second).evidence
    assert first.cursor == second.cursor
