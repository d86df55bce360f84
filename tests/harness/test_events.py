"""Event files: nothing is lost or doubled, a torn line is survived."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.clock import MergedClock
from harness.events import EventReader, decode_cursor, encode_cursor
from vocab.events import FileOpened, PhaseChanged, Stamped, StepEnded, UnreadableLine
from vocab.journal import EventWriter


def step(number: int) -> StepEnded:
    return StepEnded(step=number, duration_s=0.1, loss=None)


def steps_of(events: tuple[Stamped, ...]) -> list[tuple[str, int]]:
    return [
        (stamped.source, stamped.event.step)
        for stamped in events
        if isinstance(stamped.event, StepEnded)
    ]


def test_files_are_merged_by_time(tmp_path: Path) -> None:
    with EventWriter(tmp_path, "rank1") as one, EventWriter(tmp_path, "rank0") as zero:
        one.write(step(1))
        zero.write(step(1))
        one.write(step(2))
    batch = EventReader(tmp_path).read()
    assert steps_of(batch.events) == [("rank1", 1), ("rank0", 1), ("rank1", 2)]


def test_a_cursor_gives_each_later_event_once(tmp_path: Path) -> None:
    with EventWriter(tmp_path, "rank0") as writer:
        writer.write(step(1))
        first = EventReader(tmp_path).read()
        writer.write(step(2))
        # Another reader, as after a restart of the server.
        second = EventReader(tmp_path).read(first.cursor)
        third = EventReader(tmp_path).read(second.cursor)
    assert steps_of(second.events) == [("rank0", 2)]
    assert third.events == ()


def test_a_torn_last_line_waits_for_its_end(tmp_path: Path) -> None:
    with EventWriter(tmp_path, "rank0") as writer:
        writer.write(step(1))
    path = tmp_path / "rank0.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    reader = EventReader(tmp_path)
    batch = reader.read()
    assert steps_of(batch.events) == []
    path.write_bytes(whole)
    assert steps_of(reader.read(batch.cursor).events) == [("rank0", 1)]


def test_a_writer_ends_the_torn_line_of_a_killed_one(tmp_path: Path) -> None:
    with EventWriter(tmp_path, "rank0") as writer:
        writer.write(step(1))
    path = tmp_path / "rank0.jsonl"
    path.write_bytes(path.read_bytes()[:-7])
    with EventWriter(tmp_path, "rank0") as writer:
        stamped = writer.write(step(2))
    events = EventReader(tmp_path).read().events
    assert steps_of(events) == [("rank0", 2)]
    [torn] = [item.event for item in events if isinstance(item.event, UnreadableLine)]
    assert torn.file == "rank0.jsonl"
    assert stamped.seq == 3  # anchor, torn line, anchor, step


@pytest.mark.parametrize(
    "line",
    ["no json", "[]", "{}", '{"seq":1,"t_ns":1,"source":"rank0","type":"Nothing"}',
     '{"seq":1,"t_ns":1,"source":"rank0","type":"PhaseChanged"}', "[" * 5000],
)  # fmt: skip
def test_a_line_that_is_no_event_is_shown_and_the_rest_is_read(
    tmp_path: Path, line: str
) -> None:
    path = tmp_path / "rank0.jsonl"
    with EventWriter(tmp_path, "rank0") as writer:
        writer.write(step(1))
        with path.open("a") as file:
            file.write(line + "\n")
        writer.write(step(2))
    events = EventReader(tmp_path).read().events
    assert steps_of(events) == [("rank0", 1), ("rank0", 2)]
    assert sum(isinstance(item.event, UnreadableLine) for item in events) == 1


@pytest.mark.parametrize(
    "cursor",
    ["x", "AAAA", "é", encode_cursor({})[:-3], "' OR 1=1", encode_cursor({"a": -1}),
     encode_cursor({"a": "b"})],  # type: ignore[dict-item]
)  # fmt: skip
def test_a_cursor_of_somebody_else_is_refused(tmp_path: Path, cursor: str) -> None:
    with pytest.raises(ValueError, match="is no cursor of an event stream"):
        EventReader(tmp_path).read(cursor)


@given(offsets=st.dictionaries(st.text(max_size=20), st.integers(0, 2**60), max_size=9))
def test_a_cursor_comes_back_as_it_was(offsets: dict[str, int]) -> None:
    assert decode_cursor(encode_cursor(offsets)) == offsets


def test_only_the_wanted_sources_are_read(tmp_path: Path) -> None:
    with (
        EventWriter(tmp_path, "rank0") as rank,
        EventWriter(tmp_path, "faults.rank0") as truth,
    ):
        rank.write(step(1))
        truth.write(step(9))
    batch = EventReader(tmp_path).read(sources="rank*")
    assert {stamped.source for stamped in batch.events} == {"rank0"}
    rest = EventReader(tmp_path).read(batch.cursor)
    assert {stamped.source for stamped in rest.events} == {"faults.rank0"}


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(num_writers=st.integers(1, 4), num_events=st.integers(1, 60))
def test_readers_beside_writers_lose_and_double_nothing(
    tmp_path: Path, num_writers: int, num_events: int
) -> None:
    folder = tmp_path / f"{num_writers}-{num_events}"

    def write(number: int) -> None:
        with EventWriter(folder, f"rank{number}") as writer:
            for index in range(num_events):
                writer.write(step(index))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(num_writers)]
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for thread in threads:
        thread.start()
    found: list[tuple[str, int]] = []
    cursor = ""
    while True:
        is_last = not any(thread.is_alive() for thread in threads)
        batch = EventReader(folder).read(cursor)
        cursor = batch.cursor
        found += steps_of(batch.events)
        if is_last:
            break
    for number in range(num_writers):
        name = f"rank{number}"
        assert [n for source, n in found if source == name] == list(range(num_events))


def anchor(boot: str, wall_ns: int, t_ns: int, source: str) -> Stamped:
    event = FileOpened(wall_ns=wall_ns, boot_id=boot, pid=1)
    return Stamped(seq=0, t_ns=t_ns, source=source, event=event)


def later(source: str, t_ns: int) -> Stamped:
    event = PhaseChanged(phase="running")
    return Stamped(seq=1, t_ns=t_ns, source=source, event=event)


def test_one_boot_merges_by_the_monotonic_clock_though_wall_time_was_set() -> None:
    clock = MergedClock()
    clock.note(anchor("a", 1_000, 10, "rank0"))
    clock.note(anchor("a", 900_000, 20, "rank1"))  # somebody set the clock between
    assert clock.ns(later("rank1", 35)) - clock.ns(later("rank0", 30)) == 5


def test_two_boots_merge_by_wall_time() -> None:
    clock = MergedClock()
    clock.note(anchor("a", 1_000, 10, "rank0"))
    clock.note(anchor("b", 2_000, 5, "rank1"))
    assert clock.ns(later("rank0", 30)) == 1_020
    assert clock.ns(later("rank1", 6)) == 2_001


def test_without_an_anchor_the_bare_time_is_given() -> None:
    assert MergedClock().ns(later("rank0", 30)) == 30
