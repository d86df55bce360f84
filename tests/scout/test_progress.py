"""The progress ring, read beside a running, stopped, killed or torn writer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scout.errors import RingUnreadable
from scout.process_stat import read_stat, start_ticks
from scout.progress import ProgressRing, default_ring_path
from scout.ring_layout import HEADER_BYTES, RECORD, Word
from scout.ring_reader import RingReader
from vocab.events import RingEntry

WRITER = """
import sys
from pathlib import Path
from scout.progress import ProgressRing
ring = ProgressRing.create(Path(sys.argv[1]), rank=3, capacity=8)
step = 0
while True:
    step += 1
    if step == 20:
        print("ready", flush=True)
    ring.leave(ring.enter(step, "forward", f"layers.{step % 3}"))
"""


@pytest.fixture
def ring(tmp_path: Path) -> Iterator[ProgressRing]:
    ring = ProgressRing.create(tmp_path / "ring", rank=3, capacity=8)
    yield ring
    ring.close()


@pytest.fixture
def reader(ring: ProgressRing) -> Iterator[RingReader]:
    reader = RingReader.open(ring.path)
    yield reader
    reader.close()


def entries(reader: RingReader, limit: int = 8) -> tuple[RingEntry, ...]:
    return reader.snapshot(limit, now_ns=time.monotonic_ns()).entries


def test_what_is_entered_is_read_whole(ring: ProgressRing, reader: RingReader) -> None:
    before = time.monotonic_ns()
    token = ring.enter(
        4,
        "reduce",
        "all_reduce",
        group_role="replicate",
        group_seq=17,
        fingerprint="all_reduce|sum|float32|[1024]|root=-",
    )
    (entry,) = entries(reader)
    assert before <= entry.entered_ns <= time.monotonic_ns()
    assert entry == RingEntry(
        seq=0,
        step=4,
        op=0,
        phase="reduce",
        name="all_reduce",
        group_role="replicate",
        group_seq=17,
        fingerprint="all_reduce|sum|float32|[1024]|root=-",
        entered_ns=entry.entered_ns,
    )
    ring.leave(token)
    (left,) = entries(reader)
    assert left.left_ns is not None
    assert left.left_ns >= entry.entered_ns


def test_the_header_says_whose_ring_it_is(
    ring: ProgressRing, reader: RingReader
) -> None:
    assert (reader.rank, reader.pid) == (3, os.getpid())
    assert reader.start_ticks == start_ticks(os.getpid())


def test_an_entry_is_visible_before_it_is_left(
    ring: ProgressRing, reader: RingReader
) -> None:
    ring.enter(1, "forward", "layers.0")
    assert entries(reader)[-1].left_ns is None


def test_the_newest_entries_survive_and_their_numbers_go_on(
    ring: ProgressRing, reader: RingReader
) -> None:
    for number in range(20):
        ring.leave(ring.enter(1 + number // 5, "forward", f"layers.{number % 5}"))
    seen = entries(reader)
    assert [entry.seq for entry in seen] == list(range(13, 20))
    assert [(entry.step, entry.op) for entry in seen[-5:]] == [(4, i) for i in range(5)]
    assert [entry.seq for entry in entries(reader, limit=2)] == [18, 19]


def test_phases_of_single_ranks_do_not_count_for_the_shared_coordinate(
    ring: ProgressRing, reader: RingReader
) -> None:
    for phase in ("data", "optimizer", "checkpoint", "evaluation", "evaluation"):
        ring.enter(6, phase, phase)
    ring.enter(6, "check", "check")
    ring.enter(6, "evaluation", "evaluation")
    assert [(e.phase, e.op, e.lane_op) for e in entries(reader)] == [
        ("data", 0, None),
        ("optimizer", 1, None),
        ("checkpoint", 1, 0),
        ("evaluation", 1, 0),
        ("evaluation", 1, 1),
        ("check", 2, None),
        ("evaluation", 2, 0),
    ]


def test_leaving_what_was_overwritten_changes_no_other_entry(
    ring: ProgressRing, reader: RingReader
) -> None:
    first = ring.enter(1, "check", "long")
    for _ in range(8):
        ring.enter(1, "forward", "layers.0")
    ring.leave(first)
    assert all(entry.left_ns is None for entry in entries(reader))


def test_age_is_the_time_since_anything_was_entered_or_left(
    ring: ProgressRing, reader: RingReader
) -> None:
    ring.leave(ring.enter(1, "forward", "layers.0"))
    now_ns = reader.last_ns + 2_500_000_000
    assert reader.snapshot(1, now_ns=now_ns).age_s == 2.5


def test_a_torn_record_is_skipped_and_counted(
    ring: ProgressRing, reader: RingReader
) -> None:
    for number in range(3):
        ring.enter(1, "forward", f"layers.{number}")
    # As an interrupted `pack_into` leaves it: begin is new, the end still zero.
    with ring.path.open("r+b") as file:
        file.seek(HEADER_BYTES + 2 * RECORD.size + RECORD.size - 8)
        file.write(bytes(8))
    view = reader.snapshot(8, now_ns=time.monotonic_ns())
    assert [entry.name for entry in view.entries] == ["layers.0", "layers.1"]
    assert view.num_torn == 1


def test_a_record_beyond_the_head_is_read(
    ring: ProgressRing, reader: RingReader
) -> None:
    # The writer was stopped between the record and the header.
    ring.enter(1, "forward", "layers.0")
    ring.enter(1, "forward", "layers.1")
    with ring.path.open("r+b") as file:
        file.seek(8 * Word.HEAD)
        file.write((1).to_bytes(8, "little"))
    assert [entry.name for entry in entries(reader)] == ["layers.0", "layers.1"]


def test_a_stopped_and_a_killed_writer_stay_readable(tmp_path: Path) -> None:
    path = tmp_path / "ring"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE
    )
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        reader = RingReader.open(path)
        for _ in range(20):  # stop it at twenty arbitrary places
            writer.send_signal(signal.SIGSTOP)
            _wait_for_state(writer.pid, "T")
            view = reader.snapshot(8, now_ns=time.monotonic_ns())
            assert len(view.entries) + view.num_torn >= 6
            for entry in view.entries:
                assert entry.name == f"layers.{entry.step % 3}"
                assert entry.seq == entry.step - 1
            assert reader.snapshot(8, now_ns=0).entries == view.entries
            writer.send_signal(signal.SIGCONT)
        writer.kill()
        writer.wait()
        assert len(reader.snapshot(8, now_ns=0).entries) >= 6
        reader.close()
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()


def test_a_reader_beside_a_running_writer_never_sees_a_mixed_entry(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ring"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE
    )
    try:
        assert writer.stdout is not None
        writer.stdout.readline()
        reader = RingReader.open(path)
        for _ in range(3000):
            for entry in reader.snapshot(4, now_ns=0).entries:
                assert entry.name == f"layers.{entry.step % 3}"
                assert entry.seq == entry.step - 1
        reader.close()
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()


def test_threads_get_records_of_their_own(tmp_path: Path) -> None:
    ring = ProgressRing.create(tmp_path / "ring", rank=0, capacity=4096)

    def publish(name: str) -> None:
        for _ in range(500):
            ring.leave(ring.enter(1, "forward", name))

    threads = [threading.Thread(target=publish, args=(n,)) for n in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reader = RingReader.open(ring.path)
    seen = reader.snapshot(4096, now_ns=0).entries
    assert [entry.seq for entry in seen] == list(range(2000))
    assert {name: sum(e.name == name for e in seen) for name in "abcd"} == (
        dict.fromkeys("abcd", 500)
    )
    reader.close()
    ring.close()


def test_names_beyond_the_table_are_unknown_and_never_wrong(
    ring: ProgressRing, reader: RingReader
) -> None:
    for number in range(400):
        ring.enter(1, "forward", f"{number:0250d}", fingerprint=f"{number:0250d}x")
    newest = entries(reader)[-1]
    assert (newest.name, newest.fingerprint) == ("?", None)


def test_goodbye_is_seen_by_who_has_the_ring_open_and_the_file_is_gone(
    ring: ProgressRing, reader: RingReader
) -> None:
    ring.enter(1, "forward", "layers.0")
    ring.close()
    assert reader.closed
    assert [entry.name for entry in entries(reader)] == ["layers.0"]
    assert not ring.path.exists()
    ring.close()  # a second time changes nothing


def test_a_ring_of_an_earlier_run_is_replaced(
    ring: ProgressRing, reader: RingReader
) -> None:
    ring.enter(1, "forward", "layers.0")
    again = ProgressRing.create(ring.path, rank=4)
    fresh = RingReader.open(ring.path)
    assert (fresh.rank, entries(fresh), reader.rank) == (4, (), 3)
    fresh.close()
    again.close()


def test_an_unknown_phase_is_an_error_that_names_the_allowed(
    ring: ProgressRing,
) -> None:
    with pytest.raises(ValueError, match=r"phase is 'warmup'; allowed: startup, data"):
        ring.enter(1, "warmup", "x")


def test_a_ring_of_one_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="capacity is 1; allowed: 2 or more"):
        ProgressRing.create(tmp_path / "ring", rank=0, capacity=1)


@pytest.mark.parametrize("content", [b"", b"x" * 10, bytes(500), b"\xff" * 500])
def test_what_is_no_ring_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ring"
    path.write_bytes(content)
    with pytest.raises(RingUnreadable, match="no progress ring|no ring"):
        RingReader.open(path)
    with pytest.raises(RingUnreadable, match="cannot be read"):
        RingReader.open(tmp_path / "absent")


def test_the_default_place_has_our_prefix() -> None:
    assert default_ring_path("run-1", 2).name == "faultyard-ring-run-1-rank2"


def _wait_for_state(pid: int, state: str) -> None:
    deadline = time.monotonic() + 10
    while (stat := read_stat(pid)) is not None and stat.state != state:
        assert time.monotonic() < deadline
        time.sleep(0.001)
