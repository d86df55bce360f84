"""A loop's own time: blocked counts, work and waiting for peers do not."""

from __future__ import annotations

import threading

import pytest

from scout import loop_time
from scout.clock import Timing
from scout.loop_time import LoopTime
from scout.phase_times import PhaseTimes


class Clock:
    """Stopwatches that run on a time set by hand: wall, on-CPU, run-queue wait."""

    def __init__(self) -> None:
        self.now = Timing(wall_s=0.0, on_cpu_s=0.0, run_wait_s=0.0)

    def passes(self, wall: float, cpu: float = 0.0, wait: float = 0.0) -> None:
        self.now += Timing(wall_s=wall, on_cpu_s=cpu, run_wait_s=wait)

    def stopwatch(self) -> Clock.Watch:
        return Clock.Watch(self)

    class Watch:
        def __init__(self, clock: Clock) -> None:
            self._clock = clock
            self._began = clock.now

        def read(self) -> Timing:
            now, began = self._clock.now, self._began
            return Timing(
                wall_s=now.wall_s - began.wall_s,
                on_cpu_s=now.on_cpu_s - began.on_cpu_s,
                run_wait_s=now.run_wait_s - began.run_wait_s,
            )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(loop_time, "Stopwatch", made.stopwatch)
    return made


def charged(times: PhaseTimes) -> float | None:
    taken = times.take().get("loop.blocked")
    return None if taken is None else taken.charged_s


def test_a_sleep_counts_and_work_and_contention_do_not(clock: Clock) -> None:
    times = PhaseTimes()
    loop = LoopTime(times)
    loop.opens()
    clock.passes(0.25)
    clock.passes(3.0, cpu=3.0)
    clock.passes(2.0, wait=2.0)
    loop.closes()
    clock.passes(9.0)  # the next step
    assert charged(times) == pytest.approx(0.25)


def test_what_it_is_held_for_does_not_count_also_when_nested(clock: Clock) -> None:
    times = PhaseTimes()
    loop = LoopTime(times)
    loop.opens()
    loop.hold()
    loop.hold()
    clock.passes(1.0)
    loop.release()
    clock.passes(1.0)
    loop.release()
    clock.passes(0.1)
    loop.closes()
    assert charged(times) == pytest.approx(0.1)


def test_windows_add_up_until_a_check_takes_them(clock: Clock) -> None:
    times = PhaseTimes()
    loop = LoopTime(times)
    for _ in range(3):
        loop.opens()
        clock.passes(0.1)
        loop.closes()
    assert charged(times) == pytest.approx(0.3)
    assert charged(times) is None


def test_a_wait_that_is_not_seen_spoils_it_until_the_next_check(clock: Clock) -> None:
    times = PhaseTimes()
    loop = LoopTime(times)
    loop.opens()
    loop.spoil()
    clock.passes(0.1)
    loop.closes()
    loop.opens()
    loop.closes()
    assert charged(times) is None
    loop.checked()
    loop.opens()
    loop.closes()
    assert charged(times) == 0.0


def test_launches_outside_the_window_spoil_nothing(clock: Clock) -> None:
    times = PhaseTimes()
    loop = LoopTime(times)
    loop.spoil()  # the gradients of the backward pass
    loop.opens()
    loop.hold()
    loop.spoil()
    loop.release()
    loop.closes()
    assert charged(times) == 0.0


def test_another_thread_does_not_hold_it(clock: Clock) -> None:
    times = PhaseTimes()
    loop = LoopTime(times)
    loop.opens()
    other = threading.Thread(target=loop.hold)
    other.start()
    other.join()
    clock.passes(0.1)
    loop.closes()
    assert charged(times) == pytest.approx(0.1)
