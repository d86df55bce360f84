"""A rank's side of the out-of-band watch: its progress ring and its observer (sec. 7).

Called by `enable` at every boundary; must cost microseconds and may never raise into
training: a watch that fails switches itself off and says so once.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scout.c3 import Exchange
from scout.config import ScoutConfig
from scout.errors import ExchangeFailed
from vocab.events import DetectorDisabled, DetectorRestarted, Event

if TYPE_CHECKING:
    from scout.observer_process import ObserverHandle
    from scout.progress import ProgressRing
    from scout.recording.tape import Tape

logger = logging.getLogger("scout")

Write = Callable[[Event], Any]


class Watch:
    """The ring and the observer of one rank."""

    def __init__(
        self,
        rank: int,
        exchange: Exchange,
        config: ScoutConfig,
        journal_dir: Path | None,
        management_host: str = "127.0.0.1",
    ) -> None:
        self._rank = rank
        self._management_host = management_host
        self._exchange = exchange
        self._config = config
        self._journal_dir = journal_dir
        self._ring: ProgressRing | None = None
        self._observer: ObserverHandle | None = None
        self._tape: Tape | None = None  # None: collectives are not recorded

    def start(self, write: Write) -> None:
        """Make the ring, start the observer, and introduce it to its peers."""
        if not self._config.observer:
            return
        from scout.observer_process import ObserverHandle
        from scout.progress import ProgressRing
        from scout.recording.backend import recording_tape

        try:
            self._ring = ProgressRing.create(_ring_path(self._rank), rank=self._rank)
            self._observer = ObserverHandle.start(
                rank=self._rank,
                group_ranks=self._exchange.group.ranks,
                group=self._exchange.group.role,
                ring_path=self._ring.path,
                config=self._config,
                journal_dir=self._journal_dir,
                env_tags=_tags(),
                host=self._management_host,
            )
            self._tape = recording_tape()
            if self._tape is not None:
                self._tape.attach(self._ring)
            address: str | None = self._observer.address
        except OSError as error:
            self._fail(write, f"the observer did not start: {error}")
            address = None
        self._introduce(address, write)

    def publish(self, step: int, phase: str, name: str) -> int | None:
        """Say where this rank is, before it can block there; the token for `leave`."""
        if self._ring is None:
            return None
        token = self._ring.enter(step, phase, name)
        self.move(step, phase)
        return token

    def leave(self, token: int | None) -> None:
        """Say that what `publish` returned the token for is over."""
        if self._ring is not None and token is not None:
            self._ring.leave(token)

    def move(self, step: int, phase: str) -> None:
        """Collectives from now on belong to this phase."""
        if self._tape is not None:
            self._tape.move(step, phase)

    def tend(self, step: int, write: Write) -> None:
        """At a step boundary: bring a dead observer back, and report its death."""
        if self._observer is None:
            return
        reason = self._observer.restart_if_dead()
        if reason is not None:
            logger.warning("scout: observer of rank %d: %s", self._rank, reason)
            what = DetectorRestarted if self._observer.is_alive() else DetectorDisabled
            write(what(component="scout.observer", reason=reason, step=step))

    def close(self) -> None:
        """End the observer and remove the ring."""
        if self._observer is not None:
            self._observer.stop()
            self._observer = None
        if self._tape is not None:
            self._tape.detach()
            self._tape = None
        if self._ring is not None:
            self._ring.close()
            self._ring = None

    def _introduce(self, address: str | None, write: Write) -> None:
        try:
            addresses = self._exchange.gather_object(address)
        except ExchangeFailed as error:
            self._fail(write, str(error))
            return
        known = {
            rank: there
            for rank, there in zip(self._exchange.group.ranks, addresses, strict=True)
            if there is not None
        }
        if self._observer is not None:
            self._observer.connect(known)

    def _fail(self, write: Write, reason: str) -> None:
        logger.error("scout: %s; hangs will not be localized", reason)
        write(DetectorDisabled(component="scout.observer", reason=reason, step=None))
        self.close()


def _ring_path(rank: int) -> Path:
    folder = Path("/dev/shm")
    if not folder.is_dir():
        folder = Path(tempfile.gettempdir())
    tag = os.environ.get("FAULTYARD_RUN_ID", "job")
    return folder / f"faultyard-{tag}-{os.getpid()}-rank{rank}.ring"


def _tags() -> dict[str, str]:
    """Environment by which the observer is found again (`faultyard clean`)."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith("FAULTYARD_RUN")
    }
