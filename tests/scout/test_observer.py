"""Real observer processes over rings that the test writes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from scout.config import ScoutConfig
from scout.errors import ObserverFailed
from scout.observer_process import ObserverHandle
from scout.observer_wire import parse_address, write_request
from scout.process_stat import read_stat
from tests.scout.progress_builder import STEP, place
from vocab.errors import DecodeError
from vocab.events import (
    Event,
    IncidentClosed,
    ObserverHeartbeat,
    ObserverReady,
    ProgressCompared,
    VerdictIssued,
    decode,
)
from vocab.verdict import Kind, State, Verdict

SILENCE_S = 0.6
SLACK_S = 1.0  # a verdict comes within threshold + 1 s
REDUCE = place("reduce")
FORWARD_1 = place("forward", "layers.1")

# A trainer in miniature: makes its ring, starts its observer, and publishes what it is
# told on its standard input, one command a line.
TRAINER = """
import json, os, sys
from pathlib import Path
from scout.config import ScoutConfig
from scout.observer_process import ObserverHandle
from scout.progress import ProgressRing
from tests.scout.progress_builder import STEP
rank, size, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
# Only where a test lets a rank stop: all else may take as long as the machine likes.
config = ScoutConfig(
    silence_s=60.0, heartbeat_s=0.1,
    silence_by_phase_s=dict.fromkeys(("forward", "reduce"), float(sys.argv[4])),
)
ring = ProgressRing.create(folder / f"ring{rank}", rank=rank)
handle = ObserverHandle.start(
    rank=rank, group_ranks=range(size), ring_path=ring.path, config=config,
    journal_dir=folder / "events", env_tags={}, linger_s=float(sys.argv[5]),
)
def reply(value):
    print(json.dumps(value), flush=True)
reply([handle.address, handle.pid])
for line in sys.stdin:
    command, *rest = json.loads(line)
    match command:
        case "connect":
            reply(handle.connect({int(r): a for r, a in rest[0].items()}))
        case "publish":
            step, first, last = rest
            for phase, name in STEP[first:last + 1]:
                ring.enter(step, phase, name)
            reply(None)
        case "tend":
            reply([handle.restart_if_dead(), handle.pid])
        case "goodbye":
            handle.stop()
            ring.close()
            reply(None)
        case "raise":
            raise SystemExit(rest[0])
"""


class Trainer:
    """The test's end of a trainer process."""

    def __init__(self, rank: int, size: int, folder: Path, linger_s: float) -> None:
        self.rank = rank
        self.process = subprocess.Popen(
            [
                sys.executable, "-c", TRAINER, str(rank), str(size), str(folder),
                str(SILENCE_S), str(linger_s),
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.address = ""
        self.observer = 0

    def send(self, *command: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> object:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def call(self, *command: object) -> object:
        self.send(*command)
        return self.receive()


class Group:
    """Some trainers with their observers, and the events that these write."""

    def __init__(self, size: int, folder: Path, linger_s: float = 15.0) -> None:
        self.folder = folder
        self.trainers = [Trainer(rank, size, folder, linger_s) for rank in range(size)]
        for trainer in self.trainers:
            answer = trainer.receive()
            assert isinstance(answer, list)
            trainer.address, trainer.observer = answer
        addresses = {t.rank: t.address for t in self.trainers}
        for trainer in self.trainers:
            assert trainer.call("connect", addresses) is None

    def publish(self, step: int, upto: Sequence[int], first: int = 0) -> None:
        """Let rank r publish step `step` from boundary `first` up to `upto[r]`."""
        for trainer, last in zip(self.trainers, upto, strict=True):
            trainer.send("publish", step, first, last)
        for trainer in self.trainers:
            trainer.receive()

    def run_steps(self, first: int, last: int) -> None:
        for step in range(first, last + 1):
            self.publish(step, [len(STEP) - 1] * len(self.trainers))

    def events(self) -> list[tuple[str, Event]]:
        found = []
        for path in sorted((self.folder / "events").glob("*.jsonl")):
            for line in path.read_bytes().split(b"\n"):
                with contextlib.suppress(ValueError, DecodeError):  # a torn last line
                    found.append((path.stem, decode(json.loads(line)).event))
        return found

    def of_type(self, kind: type[Event]) -> list[Event]:
        return [event for _, event in self.events() if isinstance(event, kind)]

    def verdicts(self) -> list[Verdict]:
        return [e.verdict for e in self.of_type(VerdictIssued)]  # type: ignore[attr-defined]

    def wait_for(self, what: Callable[[], object], within_s: float = 10.0) -> None:
        deadline = time.monotonic() + within_s
        while not what():
            assert time.monotonic() < deadline, [e for _, e in self.events()][-8:]
            time.sleep(0.02)

    def stay(self, seconds: float, what: Callable[[], object]) -> None:
        """Assert that `what` holds all the time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert what(), [e for _, e in self.events()][-8:]
            time.sleep(0.02)

    def close(self) -> None:
        for trainer in self.trainers:
            for pid in (trainer.process.pid, trainer.observer):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            trainer.process.communicate()


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Group]]:
    groups: list[Group] = []

    def new(size: int, **options: float) -> Group:
        groups.append(Group(size, tmp_path, **options))
        return groups[-1]

    yield new
    for group in groups:
        group.close()


def is_gone(pid: int) -> bool:
    stat = read_stat(pid)
    return stat is None or stat.state == "Z"


def freeze(group: Group, rank: int, step: int) -> float:
    """Everybody runs into step `step`'s reduction, `rank` freezes in its forward."""
    upto = [REDUCE] * len(group.trainers)
    upto[rank] = FORWARD_1
    group.publish(step, upto)
    os.kill(group.trainers[rank].process.pid, signal.SIGSTOP)
    return time.monotonic()


def thaw(group: Group, rank: int, step: int) -> None:
    os.kill(group.trainers[rank].process.pid, signal.SIGCONT)
    group.trainers[rank].call("publish", step, FORWARD_1 + 1, REDUCE)
    group.publish(step, [len(STEP) - 1] * len(group.trainers), first=REDUCE + 1)


def test_a_frozen_rank_is_named_once_in_time_and_the_incident_is_closed(
    make: Callable[..., Group],
) -> None:
    group = make(4)
    group.run_steps(1, 3)
    began = freeze(group, 2, 4)
    group.wait_for(group.verdicts)
    assert time.monotonic() - began < SILENCE_S + SLACK_S
    group.stay(2 * SILENCE_S, lambda: len(group.verdicts()) == 1)
    (verdict,) = group.verdicts()
    assert verdict.blamed == ("rank2",)
    assert verdict.victims == ("rank0", "rank1", "rank3")
    assert verdict.state is State.ATTRIBUTED
    assert (verdict.verdict_id, verdict.step, verdict.phase, verdict.layer) == (
        "hang-1",
        4,
        "forward",
        "layers.1",
    )
    writer, compared = next(
        (source, event)
        for source, event in group.events()
        if isinstance(event, ProgressCompared)
    )
    assert writer == "observer0"  # the lowest peer that is not blamed
    assert [item.trainer_state for item in compared.snapshots][2] == "T"
    assert verdict.evidence[0].source == writer

    thaw(group, 2, 4)
    group.wait_for(lambda: group.of_type(IncidentClosed))
    group.run_steps(5, 6)
    (closed,) = group.of_type(IncidentClosed)
    assert isinstance(closed, IncidentClosed)
    assert closed.verdict_id == "hang-1"


def test_a_second_stall_is_a_second_incident_also_when_the_first_writer_stalls(
    make: Callable[..., Group],
) -> None:
    group = make(3)
    freeze(group, 2, 1)
    group.wait_for(group.verdicts)
    thaw(group, 2, 1)
    group.wait_for(lambda: group.of_type(IncidentClosed))
    freeze(group, 0, 2)
    group.wait_for(lambda: len(group.verdicts()) == 2)
    first, second = sorted(group.verdicts(), key=lambda verdict: verdict.incident)
    assert (first.verdict_id, first.blamed) == ("hang-1", ("rank2",))
    assert (second.verdict_id, second.blamed) == ("hang-2", ("rank0",))
    thaw(group, 0, 2)
    group.wait_for(lambda: len(group.of_type(IncidentClosed)) == 2)


def test_the_others_decide_when_one_observer_is_dead(
    make: Callable[..., Group],
) -> None:
    group = make(4)
    os.kill(group.trainers[0].observer, signal.SIGKILL)
    freeze(group, 2, 1)
    group.wait_for(group.verdicts)
    (verdict,) = group.verdicts()
    assert (verdict.blamed, verdict.missing) == (("rank2",), ("rank0",))
    thaw(group, 2, 1)
    # The trainer is unharmed, and brings its observer back at the next boundary.
    reason, pid = group.trainers[0].call("tend")  # type: ignore[misc]
    assert reason == "died (signal 9) and was started again"
    group.trainers[0].observer = pid
    assert group.trainers[0].call("tend") == [None, pid]
    group.wait_for(lambda: group.of_type(IncidentClosed))
    freeze(group, 1, 2)
    group.wait_for(lambda: len(group.verdicts()) == 2)
    second = max(group.verdicts(), key=lambda verdict: verdict.incident)
    assert (second.verdict_id, second.blamed, second.missing) == (
        "hang-2",
        ("rank1",),
        (),
    )
    thaw(group, 1, 2)


def test_survivors_do_not_blame_themselves_when_a_rank_and_its_observer_die(
    make: Callable[..., Group],
) -> None:
    group = make(4)
    group.publish(1, [REDUCE, FORWARD_1, REDUCE, REDUCE])
    for pid in (group.trainers[1].observer, group.trainers[1].process.pid):
        os.kill(pid, signal.SIGKILL)
    group.wait_for(group.verdicts)
    (verdict,) = group.verdicts()
    assert (verdict.blamed, verdict.reason_code) == (("rank1",), "silent_host")
    assert all(
        group.trainers[rank].process.poll() is None for rank in (0, 2, 3)
    )  # nobody else died of it


def test_a_killed_rank_is_a_crash_with_its_signal(make: Callable[..., Group]) -> None:
    group = make(3, linger_s=1.5)
    group.publish(1, [FORWARD_1, REDUCE, REDUCE])
    began = time.monotonic()
    group.trainers[0].process.kill()
    group.trainers[0].process.wait()
    group.wait_for(group.verdicts)
    assert time.monotonic() - began < SLACK_S
    (verdict,) = group.verdicts()
    assert (verdict.kind, verdict.blamed) == (Kind.CRASH, ("rank0",))
    assert "killed by SIGKILL" in verdict.reason
    # It outlives its trainer for a while, then ends and leaves nothing.
    group.wait_for(lambda: is_gone(group.trainers[0].observer))
    assert not (group.folder / "ring0").exists()
    assert len(group.verdicts()) == 1


def test_a_rank_that_ends_with_an_error_after_goodbye_is_a_crash(
    make: Callable[..., Group],
) -> None:
    group = make(3)
    group.publish(1, [FORWARD_1, REDUCE, REDUCE])
    group.trainers[0].call("goodbye")
    group.trainers[0].send("raise", 3)
    group.trainers[0].process.wait()
    group.wait_for(group.verdicts)
    (verdict,) = group.verdicts()
    assert (verdict.kind, verdict.blamed) == (Kind.CRASH, ("rank0",))
    assert "exit code 3" in verdict.reason


def test_an_orderly_end_is_no_incident_and_ends_the_observers(
    make: Callable[..., Group],
) -> None:
    group = make(3)
    group.run_steps(1, 2)
    for trainer in group.trainers:
        trainer.call("goodbye")
        trainer.send("raise", 0)
    for trainer in group.trainers:
        trainer.process.wait()
    group.wait_for(lambda: all(is_gone(t.observer) for t in group.trainers), 5.0)
    assert group.verdicts() == []
    assert not list(group.folder.glob("ring*"))


def test_a_stall_of_all_is_told_once_and_names_nobody(
    make: Callable[..., Group],
) -> None:
    group = make(3)
    group.publish(1, [REDUCE] * 3)
    group.wait_for(group.verdicts)
    group.stay(2 * SILENCE_S, lambda: len(group.verdicts()) == 1)
    (verdict,) = group.verdicts()
    assert (verdict.state, verdict.reason_code) == (
        State.GROUP_SCOPED,
        "equal_progress",
    )


def test_healthy_observers_show_their_heartbeat_and_no_traffic(
    make: Callable[..., Group], tmp_path: Path
) -> None:
    group = make(2)
    with socket.create_server(("127.0.0.1", 0)) as spy:
        spy.setblocking(False)
        port = spy.getsockname()[1]
        spied = {0: group.trainers[0].address, 1: f"127.0.0.1:{port}/x"}
        assert group.trainers[0].call("connect", spied) is None
        before = len(group.of_type(ObserverHeartbeat))
        for step in range(1, 20):
            group.run_steps(step, step)
            group.stay(0.05, lambda: True)
        with pytest.raises(BlockingIOError):
            spy.accept()
    beats = group.of_type(ObserverHeartbeat)
    assert len(beats) > before + 5
    newest = beats[-1]
    assert isinstance(newest, ObserverHeartbeat)
    assert (newest.phase, newest.threshold_s) == ("optimizer", 60.0)
    assert newest.trainer_state in "SR"
    assert group.verdicts() == []
    for ready in group.of_type(ObserverReady):
        assert isinstance(ready, ObserverReady)
        assert ready.rss_bytes < 30e6
        assert ready.startup_s < 5  # 0.2 s on an idle machine, see benchmarks/observer


@pytest.mark.parametrize(
    "request_line",
    [
        b"\n",
        b"\xff\xfe\x00\n",
        b"[]\n",
        b'{"op":"snapshot"}\n',
        b'{"op":"snapshot","token":"wrong"}\n',
        b'{"op":"snapshot","token":7}\n',
        b'{"op":"explode","token":"TOKEN"}\n',
        b"[" * 100_000 + b"\n",
        b"x" * 2_000_000,
    ],
)
def test_a_stranger_gets_no_answer(handle: ObserverHandle, request_line: bytes) -> None:
    address = parse_address(handle.address)
    line = request_line.replace(b"TOKEN", address.token.encode())
    assert _talk(handle, line) == b""
    assert handle.is_alive()
    assert b'"snapshot"' in _talk(handle, write_request(address, "snapshot", {}))


@pytest.mark.parametrize(
    "fields",
    [
        {"op": "compare"},
        {"op": "compare", "trigger": {"why": 3}},
        {"op": "peers", "peers": {"0": "nonsense", "x": "y"}},
        {"op": "peers", "peers": 5},
        {"op": "incident", "count": "many", "open": {}},
        {"op": "finished", "snapshot": {"rank": "zero"}},
    ],
)
def test_nonsense_from_a_peer_changes_nothing(
    handle: ObserverHandle, fields: dict[str, object]
) -> None:
    address = parse_address(handle.address)
    op = str(fields.pop("op"))
    _talk(handle, write_request(address, op, fields))
    assert b'"snapshot"' in _talk(handle, write_request(address, "snapshot", {}))


def test_connections_that_say_nothing_do_not_keep_others_out(
    handle: ObserverHandle,
) -> None:
    address = parse_address(handle.address)
    with contextlib.ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(
                socket.create_connection((address.host, address.port), 2)
            )
        assert b'"snapshot"' in _talk(handle, write_request(address, "snapshot", {}))


def test_an_observer_without_a_ring_fails_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ObserverFailed, match="absent cannot be read"):
        start(tmp_path / "absent", tmp_path)


def test_an_observer_that_keeps_dying_stays_off_and_says_so_once(
    handle: ObserverHandle,
) -> None:
    said = []
    for _ in range(5):
        if handle.pid is not None:
            os.kill(handle.pid, signal.SIGKILL)
            _wait_for(lambda: not handle.is_alive())
        said.append(handle.restart_if_dead())
    assert said[:3] == ["died (signal 9) and was started again"] * 3
    assert said[3] == "died (signal 9) 4 times and stays off"
    assert said[4] is None


def test_an_observer_imports_no_torch_and_no_numpy(handle: ObserverHandle) -> None:
    maps = Path(f"/proc/{handle.pid}/maps").read_text()
    assert "torch" not in maps
    assert "numpy" not in maps


def test_stopping_with_a_wait_leaves_no_process(handle: ObserverHandle) -> None:
    pid = handle.pid
    assert pid is not None
    handle.stop(wait_s=5.0)
    assert is_gone(pid)
    handle.stop()  # a second time does nothing


@pytest.fixture
def handle(tmp_path: Path) -> Iterator[ObserverHandle]:
    from scout.progress import ProgressRing

    ring = ProgressRing.create(tmp_path / "ring", rank=0)
    handle = start(ring.path, tmp_path)
    yield handle
    handle.stop(wait_s=5.0)
    ring.close()


def start(ring: Path, folder: Path) -> ObserverHandle:
    return ObserverHandle.start(
        rank=0,
        group_ranks=(0, 1),
        ring_path=ring,
        config=ScoutConfig(),
        journal_dir=folder / "events",
        env_tags={},
    )


def _talk(handle: ObserverHandle, line: bytes) -> bytes:
    address = parse_address(handle.address)
    with socket.create_connection((address.host, address.port), 5) as sock:
        sock.settimeout(5)
        with contextlib.suppress(ConnectionError):
            sock.sendall(line)
            return sock.makefile("rb").readline()
    return b""


def _wait_for(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)
