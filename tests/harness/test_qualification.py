"""A suite's report: figures, the cases behind them, and what they come to."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from harness.criteria import Ruling
from harness.errors import ScenarioError
from harness.qualification import Qualification
from harness.qualify_run import load
from harness.results import Outcome
from tests.harness.played_suite import SUITE, PlayedRuns, qualified

BLAMES = {"sdc/flip/v1/s2": 1, "sdc/flip/v2/s3": None, "clean/clean/v1/s2": 0}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Qualification:
    """One wrong blame, one miss, one false blame on a control."""
    return qualified(tmp_path_factory.mktemp("mixed"), PlayedRuns(BLAMES))


def test_a_suite_in_which_all_is_as_expected_passes(tmp_path: Path) -> None:
    report = qualified(tmp_path)
    assert (report.ruling, report.exit_code) == (Ruling.PASS, 0)
    assert report.reason == "all 6 criteria are met"
    assert (report.num_finished, report.outcomes) == (11, {"pass": 11})


def test_every_figure_names_the_cases_behind_it_and_against_it(
    mixed: Qualification,
) -> None:
    sdc, controls = mixed.classes
    assert (sdc.name, sdc.num_cases, controls.name) == ("sdc.parameter", 8, "controls")
    recall = sdc.figure("recall")
    assert (recall.value, recall.n, len(recall.cases)) == (0.75, 8, 8)
    assert recall.text == "75.0 % (6 of 8; 40.9 to 92.9 %)"
    assert recall.against == ("sdc/flip/v1/s2", "sdc/flip/v2/s3")
    blames = sdc.figure("false_blames_per_hour")
    assert (blames.n, blames.against) == (1, ("sdc/flip/v1/s2",))


def test_what_detects_and_blames_the_wrong_rank_has_detected_and_not_localized(
    mixed: Qualification,
) -> None:
    case = {case.case_id: case for case in mixed.cases}["sdc/flip/v1/s2"]
    assert (len(case.detection_s), case.localization_s) == (1, ())
    assert case.status == "fail"


def test_controls_are_judged_by_false_blames_and_promise_no_recall(
    mixed: Qualification,
) -> None:
    assert mixed.ruling is Ruling.FAIL
    judged = {(item.subject, item.criterion): item for item in mixed.judgements}
    assert judged["controls", "false_blames_per_hour"].ruling is Ruling.FAIL
    assert judged["sdc.parameter", "recall"].ruling is Ruling.INCONCLUSIVE  # 8 cases
    assert ("controls", "recall") not in judged
    assert ("controls", "localization_s") not in judged
    assert mixed.classes[-1].figure("recall").text == "not measured"
    assert mixed.judgements[0].ruling is Ruling.FAIL  # the worst first


def test_cases_that_measured_nothing_leave_open_and_fail_no_detector(
    tmp_path: Path,
) -> None:
    class Broken(PlayedRuns):
        def start(self, case, root):  # type: ignore[no-untyped-def]
            run = super().start(case, root)
            if case.case_id == "sdc/flip/v1/s1":
                results = run.results()
                assert results is not None
                run.write_results(
                    dataclasses.replace(results, outcome=Outcome.NOT_INJECTED)
                )
            return run

    report = qualified(tmp_path, Broken())
    assert report.ruling is Ruling.INCONCLUSIVE
    assert report.classes[0].num_not_measured == 1
    assert report.classes[0].figure("recall").n == 7
    assert report.reason.startswith("all cases: Cases that measured something 90.9 %")


def test_a_folder_gives_the_report_again_without_the_suite_file(
    tmp_path: Path,
) -> None:
    report = qualified(tmp_path)
    for path in tmp_path.glob("*.yaml"):
        path.unlink()
    assert load(tmp_path / "out") == report


def test_what_is_not_covered_is_every_cell_that_no_case_shows(
    mixed: Qualification,
) -> None:
    kinds = {item.kind for item in mixed.not_covered}
    assert {"hang.frozen", "crash.exit", "sdc.gradient"} <= kinds
    assert all(item.why for item in mixed.not_covered)
    assert len(mixed.never_covered) == 3


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (SUITE[SUITE.index("controls:"):SUITE.index("criteria:")], "",
         "controls: is missing; got nothing; allowed: at least one part in which"),
        (SUITE[SUITE.index("criteria:"):], "",
         "criteria: is missing; got nothing; allowed: at least recall, exact, "
         "false_blames_per_hour, localization_s"),
        ("scenarios: [clean.yaml]", "scenarios: [flip.yaml]",
         "controls.0.scenarios.0: is no control; got \"'flip.yaml' with "
         "sdc.parameter\""),
        ("at_most: 10", "at_mst: 10",
         "criteria.localization_s.at_mst: unknown key (did you mean"),
        ("  recall: {at_least: 0.5}\n", "", "criteria.recall: "),
        ("at_least: 0.5}", "at_least: 1.5}", "criteria.recall.at_least: "),
        ("[3, 30]", "[3, 3]", "parameters.faults.0.stuck_bit: must be distinct values"),
        ("[3, 30]", "[3, 99]", "stuck_bit: "),
        ("faults.0.stuck_bit: [3", "faults.9.stuck_bit: [3", "faults.9.stuck_bit"),
    ],
)  # fmt: skip
def test_a_flawed_suite_is_named_by_its_field(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert old in SUITE
    with pytest.raises(ScenarioError) as caught:
        qualified(tmp_path, text=SUITE.replace(old, new, 1))
    assert told.replace('"', "") in str(caught.value).replace('"', "")
