"""An observer is killed, and nothing but the observer."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, cast

import pytest

from injectors.errors import CannotInject
from injectors.observer_kill import KillObserver, ObserverKill

PARAMETERS = ObserverKill(kind="observer.kill", rank=1, at_step=3)


def child(what: str) -> subprocess.Popen[bytes]:
    command = f"import sys, time  # {what}\nprint('up', flush=True); time.sleep(60)"
    started = subprocess.Popen([sys.executable, "-c", command], stdout=subprocess.PIPE)
    assert started.stdout is not None
    assert started.stdout.readline() == b"up\n"
    return started


def test_the_observer_dies_and_other_children_live() -> None:
    fault = KillObserver(PARAMETERS, cast(Any, None))
    with child("scout.observer_main") as observer, child("a data worker") as worker:
        [change] = fault.inject(3)
        assert observer.wait(10) == -9
        assert worker.poll() is None
        worker.kill()
    assert (change.what, change.after) == (f"observer process {observer.pid}", "dead")
    assert fault.heal(3).residue == ""


def test_a_rank_without_an_observer_is_not_injected() -> None:
    with pytest.raises(CannotInject, match="no observer"):
        KillObserver(PARAMETERS, cast(Any, None)).inject(3)
