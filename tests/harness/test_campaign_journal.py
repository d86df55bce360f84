"""The campaign's files: whole after a kill, one campaign at a time, no mix-ups."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.campaign_journal import Journal
from harness.errors import UsageError
from harness.results import Outcome
from tests.harness.case_results import case_result


def test_what_was_appended_is_finished_when_it_is_opened_again(tmp_path: Path) -> None:
    first = Journal(tmp_path)
    assert first.open("plan", resume=False) == {}
    first.append(case_result("a/1"))
    first.append(case_result("a/2", outcome=Outcome.FAIL))
    first.close()
    again = Journal(tmp_path)
    found = again.open("plan", resume=True)
    again.close()
    assert found == {
        "a/1": case_result("a/1"),
        "a/2": case_result("a/2", outcome=Outcome.FAIL),
    }


def test_the_last_line_of_a_case_counts(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.open("plan", resume=True)
    journal.append(case_result("a/1", outcome=Outcome.INFRASTRUCTURE))
    journal.append(case_result("a/1"))
    assert journal.finished()["a/1"].outcome is Outcome.PASS
    journal.close()


@given(cut=st.integers(0, 2000))
def test_a_line_torn_at_any_byte_is_no_case_and_spoils_no_other(
    cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    journal = Journal(folder)
    journal.open("plan", resume=False)
    for number in range(3):
        journal.append(case_result(f"a/{number}"))
    journal.close()
    path = folder / "cases.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: cut % len(whole)])
    num_whole = whole[: cut % len(whole)].count(b"\n")
    found = journal.open("plan", resume=True)
    # A torn line that lacks only its end is whole all the same.
    assert num_whole <= len(found) <= num_whole + 1
    journal.append(case_result("a/9"))
    assert set(journal.finished()) == {*found, "a/9"}
    journal.close()


def test_a_folder_with_cases_asks_for_resume(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.open("plan", resume=False)
    journal.append(case_result())
    journal.close()
    with pytest.raises(UsageError, match=r"holds 1 finished cases; allowed: --resume"):
        journal.open("plan", resume=False)
    journal.close()


def test_another_plan_does_not_go_on_in_the_folder(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.open("plan", resume=False)
    journal.close()
    with pytest.raises(UsageError, match="cases of another campaign"):
        journal.open("other", resume=True)
    journal.close()


def test_two_campaigns_do_not_share_a_folder(tmp_path: Path) -> None:
    first, second = Journal(tmp_path), Journal(tmp_path)
    first.open("plan", resume=False)
    with pytest.raises(UsageError, match="another campaign is running here"):
        second.open("plan", resume=True)
    first.close()
    second.close()
    second.open("plan", resume=True)
    second.close()


def test_the_current_run_is_remembered(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert journal.current() == []
    journal.note_current("a/1", "run-1")
    assert Journal(tmp_path).current() == [("a/1", "run-1", 0)]
    journal.note_current("a/2", "run-2", 3)
    assert ("a/2", "run-2", 3) in Journal(tmp_path).current()
    (tmp_path / "current-3.json").unlink()
    (tmp_path / "current.json").write_text("[1")
    assert journal.current() == []
