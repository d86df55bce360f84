"""What every `Runtime` does alike; `process` with a workload that needs no torch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from harness.errors import InfrastructureError
from harness.runtime.base import (
    NoopRuntime,
    RankExit,
    RankStarted,
    Runtime,
    RuntimeLost,
)
from harness.runtime.docker import prepare as prepare_hosts
from harness.runtime.process import prepare
from harness.runtime.warm import kept_warm
from harness.scenario import Hosts


@pytest.fixture(
    params=[
        "noop", "process", "warm",
        pytest.param("docker", marks=pytest.mark.docker),
    ],
)  # fmt: skip
def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runtime]:
    made: Runtime | None = NoopRuntime() if request.param == "noop" else None
    standin = "tests.conformance.standin"
    with kept_warm(standin) if request.param == "warm" else nullcontext():
        if made is None:
            (tmp_path / "logs").mkdir()
            if request.param == "docker":
                made = prepare_hosts(
                    str(tmp_path), f"conformance-{tmp_path.name[-30:]}",
                    workload=standin, num_ranks=3, hosts=Hosts(ranks_per_host=2),
                )  # fmt: skip
            else:
                made = prepare(str(tmp_path), "conformance-run", workload=standin)
        yield made
        made.stop(0.0)


def collect(runtime: Runtime, num_exits: int, within_s: float = 20.0) -> list[object]:
    news: list[object] = []
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        news.extend(runtime.poll(0.1))
        if sum(isinstance(item, RankExit) for item in news) >= num_exits:
            break
    return news


def test_every_rank_starts_once_and_ends_once(runtime: Runtime) -> None:
    runtime.start(3)
    news = collect(runtime, 3)
    started = [item.rank for item in news if isinstance(item, RankStarted)]
    ended = [item.rank for item in news if isinstance(item, RankExit)]
    assert sorted(started) == [0, 1, 2]
    assert sorted(ended) == [0, 1, 2]
    assert all(item.is_clean for item in news if isinstance(item, RankExit))
    assert not any(isinstance(item, RuntimeLost) for item in news)


def test_nothing_happens_before_the_start(runtime: Runtime) -> None:
    assert runtime.poll(0.0) == ()


def test_a_second_start_is_refused(runtime: Runtime) -> None:
    runtime.start(1)
    with pytest.raises(InfrastructureError, match="already started"):
        runtime.start(1)


def test_a_start_after_the_stop_is_refused(runtime: Runtime) -> None:
    runtime.stop(0.0)
    with pytest.raises(InfrastructureError, match="stopped"):
        runtime.start(1)


def test_an_unknown_rank_is_named(runtime: Runtime) -> None:
    runtime.start(2)
    with pytest.raises(ValueError, match=r"rank 2 unknown; allowed: 0\.\.1"):
        runtime.signal(2, 15)
    with pytest.raises(ValueError, match=r"rank -1 unknown"):
        runtime.exec(-1, ["true"], 5.0)


def test_a_rank_that_is_gone_takes_no_signal(runtime: Runtime) -> None:
    runtime.start(1)
    collect(runtime, 1)
    assert runtime.signal(0, 15) is False


def test_a_command_runs_beside_a_rank(runtime: Runtime) -> None:
    runtime.start(1)
    result = runtime.exec(0, ["python3", "-c", ""], 20.0)
    assert result.exit_code == 0


def test_stop_reports_what_poll_had_not(runtime: Runtime) -> None:
    runtime.start(2)
    news: list[object] = list(runtime.poll(20.0))
    while not any(isinstance(item, RankStarted) for item in news):
        news.extend(runtime.poll(20.0))
    news.extend(runtime.stop(5.0))
    started = {item.rank for item in news if isinstance(item, RankStarted)}
    ended = {item.rank for item in news if isinstance(item, RankExit)}
    assert started == ended
    assert runtime.stop(5.0) == ()
    assert runtime.poll(0.0) == ()
