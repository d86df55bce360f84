"""The program that watches one rank from outside its process (SCOUT sec. 7).

Started by `scout.observer_process`; standard library only, so that it is up in a moment
and small. It writes `observer<rank>.jsonl`, is silent on the network while its trainer
moves, and never touches the trainer: it reads the ring, /proc and its own sockets.

    ring silent, or trainer dead -> ask all peers (0.5 s) -> classify -> the lowest
    living peer that is not blamed writes; whoever else saw it first tells that one

It outlives its trainer (a dead trainer is evidence) and ends by itself: after goodbye,
some seconds after its trainer's end, or when the run is gone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scout.hang import classify
from scout.hang_finding import HangFinding
from scout.hang_incident import (
    Incident,
    IncidentBook,
    Judgement,
    choose_writer,
    heads_of,
    wrong_call,
)
from scout.observer_journal import ObserverJournal
from scout.observer_net import Switchboard
from scout.observer_settings import ObserverSettings
from scout.observer_wire import Address, read_peers
from scout.peer_round import PEER_WAIT_S, PeerRound, Trigger, read_snapshot
from scout.process_stat import (
    GONE,
    UNKNOWN_EXIT,
    ZOMBIES,
    ProcessWatch,
    read_stat,
)
from scout.ring_reader import RingReader
from vocab.codec import from_json, to_json
from vocab.errors import DecodeError
from vocab.events import (
    ObserverHeartbeat,
    ObserverReady,
    ProgressCompared,
    ProgressSnapshot,
)
from vocab.verdict import State

SETTLE_S = 0.3
"""From a trainer's death to the comparison: its peers run into their wait meanwhile."""

SNAPSHOT_ENTRIES = 64
"""Newest entries of a ring that a comparison carries."""

GOODBYE_S = 2.0
"""After goodbye, how long the trainer may take to end and so show its exit code."""

_LONGEST_SLEEP_S = 0.25  # a phase with a lower threshold may begin at any time
_STEP_SLEEP_S = 0.05  # a comparison at step boundaries must come before they roll by
_SHORTEST_SLEEP_S = 0.01  # what is due may have to wait for an answer
_FIRST_RETRY_S = 0.5  # doubles while nothing can be said yet, up to the threshold
_MAX_HOPS = 2  # observers that disagree on who writes must not tell each other for ever


class Observer:
    """One observer; `run` is its whole life."""

    def __init__(
        self, settings: ObserverSettings, ring: RingReader, journal: ObserverJournal
    ) -> None:
        self._settings = settings
        self._config = settings.config
        self._ring = ring
        self._journal = journal
        self._trainer = ProcessWatch(ring.pid, ring.start_ticks)
        self._net = Switchboard(settings.token, self._answer)
        self._peers: dict[int, Address] = {}
        self._finished: dict[int, ProgressSnapshot] = {}
        self._book = IncidentBook()
        self._round = PeerRound(self._net, self._conclude)
        self._state = "unknown"
        self._beat = 0
        self._next_beat_ns = 0
        self._next_compare_ns = 0
        self._retry_s = _FIRST_RETRY_S
        self._seen_ns = ring.last_ns
        self._ends_ns: int | None = None
        self._goodbye_ns: int | None = None
        self._has_moved = False
        self._compared_step = 0

    def listen(self) -> Address:
        """Begin to watch and to listen; returns where.

        Raises:
            OSError: the address is not ours to listen on.
        """
        address = self._net.listen(self._settings.host, self._settings.port)
        self._trainer.begin()
        if self._trainer.pidfd is not None:
            self._net.wake_on(self._trainer.pidfd)
        return address

    def run(self) -> None:
        """Watch until there is nothing left to watch."""
        settings = self._settings
        self._journal.write(
            ObserverReady(
                rank=settings.rank,
                pid=os.getpid(),
                startup_s=(time.monotonic_ns() - settings.started_ns) / 1e9,
                rss_bytes=rss_bytes(),
            )
        )
        self._book.count = self._journal.num_incidents()
        self._on_peers(read_peers(settings.peers))
        while not self._is_over(time.monotonic_ns()):
            self._tick(time.monotonic_ns())
            self._net.pump(self._sleep_s(time.monotonic_ns()))

    def close(self) -> None:
        """Let go of everything; a dead trainer's ring is removed for it."""
        self._net.close()
        if self._trainer.state() in (GONE, *ZOMBIES):
            with contextlib.suppress(OSError):  # it said goodbye and removed it itself
                os.unlink(self._settings.ring_path)
        self._trainer.close()
        self._ring.close()
        self._journal.close()

    # --- watching -----------------------------------------------------------------

    def _tick(self, now_ns: int) -> None:
        self._state = self._trainer.state()
        if now_ns >= self._next_beat_ns:
            self._heartbeat(now_ns)
        if self._ring.last_ns != self._seen_ns:
            self._seen_ns = self._ring.last_ns
            self._retry_s = _FIRST_RETRY_S
            self._has_moved = True
        is_gone = self._state in (GONE, *ZOMBIES)
        if is_gone or self._ring.closed or self._goodbye_ns is not None:
            self._on_end(now_ns, is_gone=is_gone)
        elif self._has_moved and self._book.current is not None:
            # It moves although a stall was reported: is that over?
            if self._compare("progress", now_ns):
                self._has_moved = False
        elif self._silent_s(now_ns) >= self._threshold_s():
            self._compare("silence", now_ns)
        elif self._is_step_due() and self._compare("step", now_ns):
            self._compared_step = self._step()

    def _is_step_due(self) -> bool:
        """Whether this observer compares at the step boundary that was passed.

        One of the group's is enough, the lowest.
        """
        every = self._config.compare_every
        is_first = self._settings.rank == min(self._settings.group_ranks)
        return bool(every) and is_first and self._step() >= self._compared_step + every

    def _step(self) -> int:
        newest = self._ring.newest()
        return 0 if newest is None else newest.step

    def _on_end(self, now_ns: int, *, is_gone: bool) -> None:
        """The trainer said goodbye, or its process ended.

        A goodbye alone is no success: a script that raises says it too, on its way out.
        """
        if not is_gone:
            self._goodbye_ns = self._goodbye_ns or now_ns
            if now_ns - self._goodbye_ns >= GOODBYE_S * 1e9:
                self._finish(now_ns)
            return
        ended = self._trainer.exit_status()
        unknown = ended == UNKNOWN_EXIT and self._goodbye_ns is not None
        if ended.exit_code == 0 or unknown:
            self._finish(now_ns)
            return
        if self._ends_ns is None:
            self._ends_ns = now_ns + int(self._settings.linger_s * 1e9)
            self._next_compare_ns = now_ns + int(SETTLE_S * 1e9)
            self._retry_s = _FIRST_RETRY_S
        if now_ns >= self._next_compare_ns:
            self._compare("death", now_ns)

    def _finish(self, now_ns: int) -> None:
        if self._ends_ns is not None:
            return
        mine = to_json(self._snapshot(now_ns, state="finished"))
        for rank in self._peers:
            self._tell(rank, "finished", {"snapshot": mine})
        self._ends_ns = now_ns

    def _is_over(self, now_ns: int) -> bool:
        over = self._ends_ns is not None and now_ns >= self._ends_ns
        return over and not self._net.is_asking

    def _heartbeat(self, now_ns: int) -> None:
        self._next_beat_ns = now_ns + int(self._config.heartbeat_s * 1e9)
        newest = self._ring.newest()
        self._journal.write(
            ObserverHeartbeat(
                rank=self._settings.rank,
                beat=self._beat,
                step=None if newest is None else newest.step,
                phase="startup" if newest is None else newest.phase,
                silent_s=self._silent_s(now_ns),
                threshold_s=self._threshold_s(),
                trainer_state=self._state,
                rss_bytes=rss_bytes(),
            )
        )
        self._beat += 1
        if self._ends_ns is None and self._run_is_gone():
            self._ends_ns = now_ns + int(GOODBYE_S * 1e9)

    def _run_is_gone(self) -> bool:
        if self._settings.run_pid is None:
            return False
        stat = read_stat(self._settings.run_pid)
        return (
            stat is None
            or stat.start_ticks != self._settings.run_start_ticks
            or stat.state in ZOMBIES
        )

    def _sleep_s(self, now_ns: int) -> float:
        silence_ns = self._ring.last_ns + int(self._threshold_s() * 1e9)
        longest_s = _STEP_SLEEP_S if self._config.compare_every else _LONGEST_SLEEP_S
        due_ns = min(
            self._next_beat_ns,
            max(silence_ns, self._next_compare_ns),
            now_ns + int(longest_s * 1e9),
        )
        return max(_SHORTEST_SLEEP_S, (due_ns - now_ns) / 1e9)

    def _silent_s(self, now_ns: int) -> float:
        return max(0.0, (now_ns - self._ring.last_ns) / 1e9)

    def _threshold_s(self) -> float:
        newest = self._ring.newest()
        return self._config.silence_of("startup" if newest is None else newest.phase)

    def _snapshot(self, now_ns: int, state: str | None = None) -> ProgressSnapshot:
        view = self._ring.snapshot(SNAPSHOT_ENTRIES, now_ns=now_ns)
        ended = self._trainer.exit_status()
        return ProgressSnapshot(
            rank=self._settings.rank,
            ring=view.entries,
            age_s=view.age_s,
            trainer_state=state or self._trainer.state(),
            exit_code=ended.exit_code,
            signal=ended.signal,
            gone_s=self._trainer.gone_s(now_ns),
            num_torn=view.num_torn,
        )

    # --- comparing ----------------------------------------------------------------

    def _compare(self, why: str, now_ns: int, told: Trigger | None = None) -> bool:
        """Gather everybody's progress; `_conclude` follows when all have answered.

        False: not now, a comparison is under way or was made only just before; or
        nobody has told yet where the peers are, who then are not missing.
        """
        due = told is not None or now_ns >= self._next_compare_ns
        alone = len(self._settings.group_ranks) > 1 and not self._peers
        if self._round.is_open or not due or alone:
            return False
        self._next_compare_ns = now_ns + int(self._retry_s * 1e9)
        self._retry_s = min(2 * self._retry_s, max(self._threshold_s(), 0.1))
        trigger = told or Trigger(
            why=why,
            rank=self._settings.rank,
            silent_s=self._silent_s(now_ns),
            threshold_s=self._threshold_s(),
        )
        known = {**self._finished, self._settings.rank: self._snapshot(now_ns)}
        self._round.begin(trigger, known, self._peers)
        return True

    def _conclude(
        self, trigger: Trigger, snapshots: tuple[ProgressSnapshot, ...]
    ) -> None:
        found = {item.rank for item in snapshots}
        missing = tuple(
            rank for rank in self._settings.group_ranks if rank not in found
        )
        finding = classify(
            snapshots,
            group_ranks=self._settings.group_ranks,
            missing=missing,
            silent_s=trigger.silent_s,
            threshold_s=trigger.threshold_s,
            silence_of=self._config.silence_of,
        )
        judgement = self._book.judge(finding, snapshots)
        if judgement.is_empty:
            return
        writer = self._writer(finding, snapshots)
        if writer == self._settings.rank:
            self._write(trigger, finding, judgement, snapshots)
        elif writer is not None and trigger.hops < _MAX_HOPS:
            told = dataclasses.replace(trigger, hops=trigger.hops + 1)
            self._tell(writer, "compare", {"trigger": to_json(told)})

    def _writer(
        self, finding: HangFinding, snapshots: Sequence[ProgressSnapshot]
    ) -> int | None:
        current = self._book.current
        present = {item.rank for item in snapshots}
        if (
            finding.state is State.HEALTHY
            and current is not None
            and current.writer in present
        ):
            return current.writer
        return choose_writer(finding, snapshots)

    def _write(
        self,
        trigger: Trigger,
        finding: HangFinding,
        judgement: Judgement,
        snapshots: tuple[ProgressSnapshot, ...],
    ) -> None:
        if judgement.closes is not None:
            why = judgement.why_closed
            self._journal.write_closed(judgement.closes, finding.step, why)
            self._book.on_closed(judgement.closes.number)
        if judgement.number is not None:
            compared = ProgressCompared(
                comparison=judgement.number,
                trigger=trigger.why,
                rank=trigger.rank,
                silent_s=trigger.silent_s,
                threshold_s=trigger.threshold_s,
                group_ranks=self._settings.group_ranks,
                snapshots=snapshots,
                missing=finding.missing,
            )
            verdict = self._journal.write_verdict(
                compared,
                finding,
                number=judgement.number,
                group=self._settings.group,
                supersedes=judgement.supersedes,
            )
            incident = Incident(
                number=judgement.number,
                verdict_id=verdict.verdict_id,
                state=finding.state,
                writer=self._settings.rank,
                blamed=finding.blamed,
                heads=dict(heads_of(snapshots)),
                wrong_call=wrong_call(finding),
            )
            self._book.on_opened(incident)
        fields = {"count": self._book.count, "open": to_json(self._book.current)}
        for rank in self._peers:
            self._tell(rank, "incident", fields)

    def _tell(self, rank: int, op: str, fields: dict[str, Any]) -> None:
        """Tell without needing an answer; who does not hear it will ask in time."""
        address = self._peers.get(rank)
        if address is not None:
            self._net.ask(
                address, op, fields, within_s=PEER_WAIT_S, done=lambda _: None
            )

    # --- answering ----------------------------------------------------------------

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request; fields that make no sense are as good as absent."""
        with contextlib.suppress(DecodeError, ValueError, TypeError, KeyError):
            match request["op"]:
                case "snapshot":
                    mine = self._snapshot(time.monotonic_ns())
                    return {"snapshot": to_json(mine)}
                case "compare":
                    told = from_json(Trigger, request["trigger"])
                    self._compare(told.why, time.monotonic_ns(), told)
                case "peers":
                    self._on_peers(read_peers(request["peers"]))
                case "incident":
                    self._on_incident(int(request["count"]), request["open"])
                case "finished":
                    snapshot = read_snapshot(request)
                    if snapshot is not None:
                        self._finished[snapshot.rank] = snapshot
                case "goodbye":
                    self._on_goodbye(goes_on=bool(request["goes_on"]))
            return {"ok": True}
        return {"ok": False}

    def _on_peers(self, peers: dict[int, Address]) -> None:
        others = set(self._settings.group_ranks) - {self._settings.rank}
        self._peers |= {rank: peers[rank] for rank in others & set(peers)}

    def _on_goodbye(self, *, goes_on: bool) -> None:
        now_ns = time.monotonic_ns()
        self._goodbye_ns = self._goodbye_ns or now_ns
        if goes_on:  # without us: there will be no exit code to wait for
            self._finish(now_ns)

    def _on_incident(self, count: int, current: Any) -> None:
        if current is None:
            self._book.on_closed(count)
        else:
            self._book.on_opened(from_json(Incident, current))


def rss_bytes() -> int:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
