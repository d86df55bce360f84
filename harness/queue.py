"""One run at a time in a runs folder, first come, first served (timing needs it).

    runs/.queue/00000007-<run id>    a ticket: locked (flock) by the run that holds it

The lowest locked ticket has the slot. The kernel drops the lock when its last holder
dies, whatever killed it, so a dead run never blocks the queue and a locked ticket is
also how everybody else knows that a run lives. `launch` takes the ticket and hands it
to the run's own process. Standard library only: this is the first thing a run does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = ".queue"
TURN_POLL_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A place in the queue; it lives as long as some process holds `fd` open."""

    path: Path
    fd: int

    def hand_over(self) -> None:
        """Close this process's hold, after a child has inherited it."""
        os.close(self.fd)

    def leave(self) -> None:
        """Give the place up."""
        with _locked(self.path.parent):
            self.path.unlink(missing_ok=True)
        os.close(self.fd)


def join(root: Path, run_id: str) -> Ticket:
    """Take the next number for a run of the folder `root`."""
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        number = max((_number(path) for path in _tickets(folder)), default=0) + 1
        path = folder / f"{number:08d}-{run_id}"
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(fd, fcntl.LOCK_EX)
    return Ticket(path=path, fd=fd)


def adopt(root: Path, run_id: str, fd: int) -> Ticket:
    """The ticket that a parent took and left open as `fd`.

    Raises:
        FileNotFoundError: it is not there; somebody removed it.
    """
    os.set_inheritable(fd, False)  # a rank must not keep it alive
    paths = list((root / FOLDER).glob(f"*-{run_id}"))
    if not paths:
        raise FileNotFoundError(f"no ticket of {run_id} in {root / FOLDER}")
    return Ticket(path=paths[0], fd=fd)


def num_ahead(ticket: Ticket) -> int:
    """How many living runs stand before this one; dead ones are removed."""
    folder = ticket.path.parent
    ahead = 0
    with _locked(folder):
        for path in _tickets(folder):
            if _number(path) >= _number(ticket.path):
                continue
            if _is_held(path):
                ahead += 1
            else:
                path.unlink(missing_ok=True)
    return ahead


def wait_turn(
    ticket: Ticket, *, is_given_up: Callable[[], bool], on_wait: Callable[[int], None]
) -> bool:
    """Wait until nobody is ahead; False if given up before.

    Args:
        on_wait: called with the number of runs ahead, whenever it changes.
    """
    told = 0
    while not is_given_up():
        ahead = num_ahead(ticket)
        if ahead == 0:
            return True
        if ahead != told:
            on_wait(ahead)
            told = ahead
        time.sleep(TURN_POLL_S)
    return False


def is_live(root: Path, run_id: str) -> bool:
    """Whether the run has a living process: waiting, running or checking."""
    return any(_is_held(path) for path in (root / FOLDER).glob(f"*-{run_id}"))


def live_run_ids(root: Path) -> list[str]:
    """Ids of all living runs, the one whose turn it is first."""
    folder = root / FOLDER
    if not folder.is_dir():
        return []
    return [_run_id(path) for path in _tickets(folder) if _is_held(path)]


def drop_dead_tickets(root: Path) -> list[Path]:
    """Remove tickets whose run is gone; returns them."""
    folder = root / FOLDER
    if not folder.is_dir():
        return []
    with _locked(folder):
        dead = [path for path in _tickets(folder) if not _is_held(path)]
        for path in dead:
            path.unlink(missing_ok=True)
    return dead


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _tickets(folder: Path) -> list[Path]:
    paths = (path for path in folder.iterdir() if path.name[:8].isdigit())
    return sorted(paths, key=_number)


def _number(path: Path) -> int:
    return int(path.name.partition("-")[0])


def _run_id(path: Path) -> str:
    return path.name.partition("-")[2]


def _is_held(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # Shared, so that two who look at the same moment do not see each other.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
