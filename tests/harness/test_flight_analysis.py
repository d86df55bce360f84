"""Dumps to findings to a run directory: exit codes, evidence, every way to show it."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import cli
from harness.commands.analyze import DEFAULT_SILENCE_S
from harness.flight_analysis import analyze, verdicts, without_agreed, write
from harness.flight_folder import Folder, read
from harness.index import row_of
from harness.report import FORMATS, render
from harness.results import EXIT_USAGE
from harness.store import RunDirectory
from harness.views.listing import row
from harness.views.run import RunView, build
from harness.views.source import RunLog
from scout.config import ScoutConfig
from scout.flight_dump import Dump
from scout.flight_groups import Group
from scout.flight_recorder import judge
from scout.hang import reclassify
from scout.hang_verdict import to_verdict
from tests.scout.dump_builder import (
    HANG_S,
    START_NS,
    WORLD,
    calls,
    content,
    dump,
    entry,
    pickled,
)
from vocab.events import ProgressCompared, VerdictIssued
from vocab.verdict import State

Captured = pytest.CaptureFixture[str]


def folder_of(
    path: Path, entries: Mapping[int, Sequence[dict[str, Any]]], world: int = 4
) -> Path:
    """Files of a job whose ranks recorded `entries`, written long after."""
    path.mkdir(exist_ok=True)
    for rank, of_rank in entries.items():
        file = path / f"trace_{rank}"
        file.write_bytes(pickled(content(of_rank, {WORLD: range(world)})))
        written_ns = START_NS + round(HANG_S * 1e9)
        os.utime(file, ns=(written_ns, written_ns))
    return path


BEHIND = {r: calls(6, pending=r != 2) for r in range(4)}
STALL = {r: calls(6, pending=True) for r in range(4)}
HEALTHY = {r: calls(6, pending=False) for r in range(4)}
LOST = {r: calls(6, pending=True) for r in (0, 1, 3)}


def call(capsys: Captured, *words: object) -> tuple[int, str, str]:
    code = cli.main(["analyze", "flight-recorder", *map(str, words)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# --- exit codes and output ------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "code", "told"),
    [
        (BEHIND, 0, "rank2 named; 1 group compared"),
        (HEALTHY, 0, "healthy: nothing is stuck in 1 group"),
        (STALL, 2, "nobody can be named; 1 group compared"),
        (LOST, 2, "nobody can be named; 1 group compared"),
    ],
)
def test_exit_code_and_summary(
    entries: dict[int, Any], code: int, told: str, tmp_path: Path, capsys: Captured
) -> None:
    folder = folder_of(tmp_path / "dumps", entries)
    found, text, errors = call(capsys, folder, "--out", tmp_path / "runs")
    assert (found, text.splitlines()[0], errors) == (code, told, "")


def test_text_names_culprit_victims_missing_and_what_is_needed(
    tmp_path: Path, capsys: Captured
) -> None:
    out = ("--out", tmp_path / "runs")
    folder = folder_of(tmp_path / "dumps", BEHIND)
    _, text, _ = call(capsys, folder, *out)
    assert "default_pg (0): rank2 (attributed, rank_behind)" in text
    assert "victims  rank0, rank1 and rank3" in text
    folder = folder_of(tmp_path / "lost", LOST)
    _, text, _ = call(capsys, folder, *out)
    assert "missing  rank2" in text
    assert "needed   the dump of rank2, or certainty that none was written" in text
    code, text, _ = call(capsys, folder, *out, "--complete")
    assert (code, "rank2 (attributed, silent_host)" in text) == (0, True)


def test_json_is_the_whole_analysis(tmp_path: Path, capsys: Captured) -> None:
    folder = folder_of(tmp_path / "dumps", BEHIND)
    code, text, _ = call(capsys, folder, "--json", "--out", tmp_path / "runs")
    data = json.loads(text)
    assert (code, data["exit_code"], data["blamed"]) == (0, 0, ["rank2"])
    assert (data["ranks"], data["missing"], data["versions"]) == (4, [], ["2.10"])
    (group,) = data["groups"]
    assert group["group"] == "default_pg (0)"
    assert group["verdict"]["victims"] == ["rank0", "rank1", "rank3"]
    assert Path(data["path"]).is_dir()


def test_a_hostile_dump_is_refused_by_name_and_runs_nothing(
    tmp_path: Path, capsys: Captured
) -> None:
    trace = tmp_path / "it-ran"

    class Evil:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {trace}",)

    folder = folder_of(tmp_path / "dumps", BEHIND)
    (folder / "trace_1").write_bytes(pickle.dumps({"entries": [Evil()]}))
    code, text, errors = call(capsys, folder, "--out", tmp_path / "runs")
    assert (code, text) == (EXIT_USAGE, "")
    assert errors.startswith("faultyard: trace_1: file: holds more than plain data")
    assert not trace.exists()
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--prefix", "x"], "--prefix is 'x'; allowed: 'trace_'"),
        (["--ranks", "3"], "trace_3: rank: is 3; allowed: 0 to 2"),
        (["--silence", "-1"], "--silence"),
        (["--ranks", "0"], "--ranks"),
    ],
)
def test_wrong_options_exit_with_64(
    words: list[str], told: str, tmp_path: Path, capsys: Captured
) -> None:
    folder = folder_of(tmp_path / "dumps", BEHIND)
    code, _, errors = call(capsys, folder, *words, "--out", tmp_path / "runs")
    assert (code, told in errors) == (EXIT_USAGE, True), errors


def test_a_short_silence_names_nobody_until_it_is_said_that_the_job_hangs(
    tmp_path: Path, capsys: Captured
) -> None:
    folder = folder_of(tmp_path / "dumps", BEHIND)
    for rank in range(4):
        at_ns = START_NS + 3_000_000_000
        os.utime(folder / f"trace_{rank}", ns=(at_ns, at_ns))
    assert DEFAULT_SILENCE_S > 3
    out = ("--out", tmp_path / "runs")
    assert "not_stalled" in call(capsys, folder, *out)[1]
    assert "rank2 named" in call(capsys, folder, *out, "--silence", "0")[1]


# --- the run directory ----------------------------------------------------------------


def kept(path: Path, entries: dict[int, Any]) -> RunDirectory:
    folder = read(folder_of(path / "dumps", entries))
    return write(analyze(folder, silence_s=30.0), path / "runs", command="again")


def view_of(run: RunDirectory) -> RunView:
    return build(RunLog(run).read())


def test_an_analysis_is_shown_like_a_run_but_judged_by_nobody(tmp_path: Path) -> None:
    run = kept(tmp_path, BEHIND)
    view = view_of(run)
    (card,) = view.cards
    assert (card.headline, card.blamed) == ("rank2 stopped making progress", ("rank2",))
    assert (view.kind, view.outcome, view.liveness.text) == ("analysis", None, "ended")
    assert view.liveness.is_final
    assert (view.truth.expected, view.notices, view.progress) == ((), (), ())
    assert run.results() is None
    assert not (run.path / "scenario.yaml").exists()


def test_a_missing_dump_is_a_notice(tmp_path: Path) -> None:
    view = view_of(kept(tmp_path, LOST))
    assert [n.message for n in view.notices] == ["There is no dump of rank2."]
    assert view.cards[0].missing == ("rank2",)


def test_a_healthy_analysis_says_so(tmp_path: Path) -> None:
    (card,) = view_of(kept(tmp_path, HEALTHY)).cards
    assert card.headline == "Nobody is blamed: healthy"


@pytest.mark.parametrize(
    "format", sorted(name for name in FORMATS if not name.startswith("fabric"))
)
def test_every_report_names_the_culprit(format: str, tmp_path: Path) -> None:
    report = render(kept(tmp_path, BEHIND), format).decode()
    assert "rank2 stopped making progress" in report
    assert "killed" not in report
    assert "Ground truth" not in report


def test_lists_say_what_was_found(tmp_path: Path) -> None:
    run = kept(tmp_path, BEHIND)
    assert (row(run).state, row(run).found) == (
        "ended",
        "rank2 named; 1 group compared",
    )
    assert row_of(run).found == "rank2 named; 1 group compared"


def test_the_stored_evidence_gives_the_same_verdict_again(tmp_path: Path) -> None:
    run = kept(tmp_path, BEHIND)
    events = [stamped.event for stamped in run.reader().read().events]
    (compared,) = (e for e in events if isinstance(e, ProgressCompared))
    (issued,) = (e.verdict for e in events if isinstance(e, VerdictIssued))
    again = to_verdict(
        reclassify(compared, ScoutConfig(silence_s=30.0).silence_of),
        incident=1, group=issued.group, at_ns=issued.at_ns, evidence=issued.evidence,
    )  # fmt: skip
    assert (again.blamed, again.reason, again.state) == (
        issued.blamed, issued.reason, issued.state,
    )  # fmt: skip


def test_groups_with_culprits_come_first(tmp_path: Path) -> None:
    side = ("1", "aside")
    dumps = tuple(
        dump(r, [*calls(3, pending=r != 1), entry(50, 1, group=side)],
             groups={side: range(4)})
        for r in range(4)
    )  # fmt: skip
    found = analyze(
        Folder(path=tmp_path, prefix="", dumps=dumps, ignored=()), silence_s=30.0
    )
    assert [v.state for v in verdicts(found)] == [State.ATTRIBUTED, State.HEALTHY]


# --- less evidence, the same finding --------------------------------------------------

ENDS = st.lists(
    st.tuples(
        st.integers(0, 12),
        st.sampled_from(["completed", "started"]),
        st.sampled_from([1024, 512]),
    ),
    min_size=2,
    max_size=5,
)


@settings(max_examples=200)
@given(ends=ENDS, kept_number=st.integers(1, 4))
def test_dropping_agreed_collectives_changes_no_finding(
    ends: list[tuple[int, str, int]], kept_number: int
) -> None:
    dumps: list[Dump] = [
        dump(r, [*calls(done, pending=False),
                 entry(done, done + 1, state=state, shape=(size,))],
             world=len(ends))
        for r, (done, state, size) in enumerate(ends)
    ]  # fmt: skip
    analysis = analyze(
        Folder(path=Path(), prefix="", dumps=tuple(dumps), ignored=()), silence_s=30.0
    )
    (item,) = analysis.found
    group = item.group
    trimmed = Group(
        label=group.label, ranks=group.ranks, is_certain=group.is_certain,
        snapshots=without_agreed(group.snapshots, kept_number),
        no_dump=group.no_dump, no_data=group.no_data, has_unseen=group.has_unseen,
    )  # fmt: skip
    again = judge(trimmed, silence_s=30.0).finding
    full = item.finding
    assert (again.state, again.blamed, again.victims, again.reason) == (
        full.state, full.blamed, full.victims, full.reason,
    )  # fmt: skip
    assert all(item.ring for item in trimmed.snapshots)
