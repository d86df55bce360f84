"""One run at a time, in order, whatever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import queue

HOLD = (
    "import sys; from pathlib import Path; from harness import queue\n"
    "queue.join(Path(sys.argv[1]), sys.argv[2]); print('held', flush=True)\n"
    "sys.stdin.read()\n"
)


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[object]:
    held: list[subprocess.Popen[str]] = []

    def hold(run_id: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path), run_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        held.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield hold
    for process in held:
        process.kill()
        process.communicate()


def test_the_first_come_is_the_first_served(tmp_path: Path) -> None:
    first = queue.join(tmp_path, "run-a")
    second = queue.join(tmp_path, "run-b")
    third = queue.join(tmp_path, "run-c")
    assert [queue.num_ahead(ticket) for ticket in (first, second, third)] == [0, 1, 2]
    assert queue.live_run_ids(tmp_path) == ["run-a", "run-b", "run-c"]
    second.leave()
    assert queue.num_ahead(third) == 1
    first.leave()
    assert queue.num_ahead(third) == 0
    third.leave()
    assert queue.live_run_ids(tmp_path) == []


def test_a_killed_holder_does_not_block_the_queue(tmp_path: Path, hold: object) -> None:
    holder = hold("run-a")  # type: ignore[operator]
    ticket = queue.join(tmp_path, "run-b")
    assert queue.num_ahead(ticket) == 1
    assert queue.is_live(tmp_path, "run-a")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert not queue.is_live(tmp_path, "run-a")
    assert queue.num_ahead(ticket) == 0
    assert [path.name for path in ticket.path.parent.glob("0*")] == ["00000002-run-b"]
    ticket.leave()


def test_a_ticket_lives_on_in_the_process_that_inherited_it(tmp_path: Path) -> None:
    ticket = queue.join(tmp_path, "run-a")
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        pass_fds=(ticket.fd,),
    )
    ticket.hand_over()
    assert queue.is_live(tmp_path, "run-a")
    child.communicate(b"")
    assert not queue.is_live(tmp_path, "run-a")


def test_an_adopted_ticket_is_not_inherited_any_further(tmp_path: Path) -> None:
    ticket = queue.join(tmp_path, "run-a")
    os.set_inheritable(ticket.fd, True)
    adopted = queue.adopt(tmp_path, "run-a", ticket.fd)
    assert adopted == ticket
    assert not os.get_inheritable(ticket.fd)
    adopted.leave()
    fd = os.open(os.devnull, os.O_RDONLY)
    with pytest.raises(FileNotFoundError, match="no ticket of run-a"):
        queue.adopt(tmp_path, "run-a", fd)
    os.close(fd)


def test_a_wait_can_be_given_up(tmp_path: Path) -> None:
    first = queue.join(tmp_path, "run-a")
    second = queue.join(tmp_path, "run-b")
    told: list[int] = []
    answers = iter([False, True])
    got = queue.wait_turn(
        second, is_given_up=lambda: next(answers), on_wait=told.append
    )
    assert (got, told) == (False, [1])
    first.leave()
    assert queue.wait_turn(second, is_given_up=lambda: False, on_wait=told.append)
    assert told == [1]
    second.leave()


def test_dead_tickets_are_dropped_and_living_ones_kept(
    tmp_path: Path, hold: object
) -> None:
    holder = hold("run-dead")  # type: ignore[operator]
    ticket = queue.join(tmp_path, "run-alive")
    holder.kill()
    holder.wait()
    dropped = queue.drop_dead_tickets(tmp_path)
    assert [path.name for path in dropped] == ["00000001-run-dead"]
    assert queue.live_run_ids(tmp_path) == ["run-alive"]
    ticket.leave()


def test_a_folder_without_queue_has_nobody_in_it(tmp_path: Path) -> None:
    assert queue.live_run_ids(tmp_path / "none") == []
    assert queue.drop_dead_tickets(tmp_path / "none") == []
    assert not queue.is_live(tmp_path / "none", "run-a")


def test_many_at_once_get_distinct_places(tmp_path: Path, hold: object) -> None:
    processes = [hold(f"run-{number}") for number in range(5)]  # type: ignore[operator]
    numbers = sorted(path.name[:8] for path in (tmp_path / ".queue").glob("0*"))
    assert numbers == [f"{number:08d}" for number in range(1, 6)]
    assert len(queue.live_run_ids(tmp_path)) == len(processes)
