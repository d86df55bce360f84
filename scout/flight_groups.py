"""What all ranks' flight-recorder dumps tell of each process group (SCOUT sec. 7).

Called by `scout.flight_recorder`. Pure. A dump knows no steps, so a group's coordinate
is the number in its own sequence of collectives:

    operations of one rank in a group ─► ring up to the first that is not done
    nothing pending here, but elsewhere ─► the ring ends in waiting, never in "behind"
    nothing here, though older entries were overwritten ─► no data

Decides nothing. A rank without data is never given a place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scout.errors import DumpError
from scout.fingerprint import parse as parse_fingerprint
from scout.flight_dump import COALESCED, Dump, Operation
from scout.standing import NO_STEP
from vocab.events import ProgressSnapshot, RingEntry

PHASE = "collective"
_DEFAULT_DESC = "default_pg"
_NOTHING_YET = "nothing of this group yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One process group, with what its members' dumps tell of it."""

    label: str
    ranks: tuple[int, ...]  # members, also those without data
    is_certain: bool  # the members are known, not concluded from who used the group
    snapshots: tuple[ProgressSnapshot, ...]
    no_dump: tuple[int, ...]  # members of which there is no dump
    no_data: tuple[int, ...]  # members whose dump no longer tells where they are
    has_unseen: bool  # its members also used operations that nobody recorded

    @property
    def missing(self) -> tuple[int, ...]:
        """Members that cannot be compared."""
        return tuple(sorted((*self.no_dump, *self.no_data)))


def world_of(dumps: Sequence[Dump], num_ranks: int | None = None) -> tuple[int, ...]:
    """All ranks of the job: as told, else as far as the dumps show.

    Raises:
        DumpError: a dump is of a rank beyond `num_ranks`, or two are of one rank.
    """
    seen: dict[int, str] = {}
    for dump in dumps:
        if dump.rank in seen:
            problem = f"is {dump.rank}, as in {seen[dump.rank]}"
            raise DumpError(dump.file, "rank", problem, "one dump per rank")
        if num_ranks is not None and dump.rank >= num_ranks:
            allowed = f"0 to {num_ranks - 1}"
            raise DumpError(dump.file, "rank", f"is {dump.rank}", allowed)
        seen[dump.rank] = dump.file
    told = {rank for dump in dumps for ranks in dump.groups.values() for rank in ranks}
    most = max((*seen, *told), default=-1) if num_ranks is None else num_ranks - 1
    return tuple(range(most + 1))


def groups_of(dumps: Sequence[Dump], world: Sequence[int]) -> tuple[Group, ...]:
    """Every process group of two or more ranks that any dump has used.

    Raises:
        DumpError: a rank used a group that it is no member of.
    """
    calls = _calls(dumps)
    return tuple(
        _group(key, used, dumps, world, is_alone=_is_alone(key, calls))
        for key, used in sorted(calls.items(), key=lambda item: _order(item[0]))
    )


# --- what the dumps tell of groups ----------------------------------------------------

_Key = tuple[str, str, tuple[int, ...] | None]  # name, desc, members if they are known


def _calls(dumps: Sequence[Dump]) -> dict[_Key, dict[int, list[Operation]]]:
    """Operations by group and rank; groups split under one name stay apart."""
    known: dict[str, set[tuple[int, ...]]] = {}
    for dump in dumps:
        for name, members in dump.groups.items():
            known.setdefault(name, set()).add(members)
    calls: dict[_Key, dict[int, list[Operation]]] = {}
    for dump in dumps:
        for item in dump.operations:
            ranks = dump.groups.get(item.group)
            if ranks is None and len(known.get(item.group, ())) == 1:
                ranks = next(iter(known[item.group]))
            if ranks is not None and dump.rank not in ranks:
                field = f"entries of record_id {item.record}.process_group"
                allowed = f"ranks {_short(ranks)}"
                problem = f"is {item.group!r}, of which rank {dump.rank} is no member"
                raise DumpError(dump.file, field, problem, allowed)
            key = (item.group, item.desc, ranks)
            calls.setdefault(key, {}).setdefault(dump.rank, []).append(item)
    return {
        key: used for key, used in calls.items() if key[2] is None or len(key[2]) > 1
    }


def _is_alone(key: _Key, calls: Iterable[_Key]) -> bool:
    return sum(other[:2] == key[:2] for other in calls) == 1


def _order(key: _Key) -> tuple[str, str, tuple[int, ...]]:
    return key[0], key[1], key[2] or ()


def _group(
    key: _Key,
    used: Mapping[int, list[Operation]],
    dumps: Sequence[Dump],
    world: Sequence[int],
    *,
    is_alone: bool,
) -> Group:
    name, desc, told = key
    by_rank = {dump.rank: dump for dump in dumps}
    is_default = told is None and desc == _DEFAULT_DESC
    ranks = told or (tuple(world) if is_default else tuple(sorted(used)))
    label = _label(name, desc, told, is_alone=is_alone)
    snapshots, no_data = [], []
    for rank in ranks:
        dump = by_rank.get(rank)
        if dump is None:
            continue
        mine = used.get(rank, [])
        differs = dump.groups.get(name) not in (None, told)
        ring = None if differs else _ring(dump, mine, label)
        if ring is None:
            no_data.append(rank)
        else:
            snapshots.append(_snapshot(dump, ring))
    every_dump = all(rank in by_rank for rank in world)
    return Group(
        label=label,
        ranks=ranks,
        is_certain=told is not None or is_default or every_dump,
        snapshots=tuple(snapshots),
        no_dump=tuple(rank for rank in ranks if rank not in by_rank),
        no_data=tuple(no_data),
        has_unseen=any(item.num_unseen for calls in used.values() for item in calls),
    )


def _label(
    name: str, desc: str, told: tuple[int, ...] | None, *, is_alone: bool
) -> str:
    plain = desc if desc not in ("", "undefined") else "group"
    label = f"{plain} ({name})"
    return label if is_alone or told is None else f"{label} of ranks {_short(told)}"


def _short(ranks: Sequence[int]) -> str:
    text = ", ".join(map(str, ranks[:8]))
    return text if len(ranks) <= 8 else f"{text} and {len(ranks) - 8} more"


# --- one rank in one group ------------------------------------------------------------


def _snapshot(dump: Dump, ring: Sequence[RingEntry]) -> ProgressSnapshot:
    age_s = 0.0  # not known: as if it had just moved, so that nobody is named
    if dump.written_ns is not None and dump.last_ns is not None:
        age_s = max(0.0, (dump.written_ns - dump.last_ns) / 1e9)
    return ProgressSnapshot(
        rank=dump.rank, ring=tuple(ring), age_s=age_s, trainer_state="unknown"
    )


def _ring(dump: Dump, mine: Sequence[Operation], label: str) -> list[RingEntry] | None:
    """Its collectives of the group, up to the one it is in; None: that is unknown."""
    numbered = _by_number(mine)
    if not numbered and dump.has_holes:
        return None  # overwritten, or left out because they were done
    entries: list[RingEntry] = []
    for number, parts in numbered:
        entry = _collective(number, parts, label, seq=len(entries))
        if entry.left_ns is None and all(item.is_queued for item in parts):
            break  # not begun: an earlier kernel holds up the rank's own device
        entries.append(entry)
        if entry.left_ns is None:
            return entries  # all behind it are only enqueued
    if not entries:
        entries.append(_before_first(dump))
    elsewhere = _waits_elsewhere(dump, mine)
    if elsewhere is not None:
        entries.append(_waiting(elsewhere, entries[-1]))
    return entries


def _by_number(mine: Sequence[Operation]) -> list[tuple[int, list[Operation]]]:
    found: dict[int, list[Operation]] = {}
    for item in mine:
        if item.number is not None:
            found.setdefault(item.number, []).append(item)
    return sorted(found.items())


def _collective(
    number: int, parts: Sequence[Operation], label: str, *, seq: int
) -> RingEntry:
    """One number of the sequence; a coalesced launch has several parts under it."""
    named = [item for item in parts if item.call != COALESCED] or list(parts)
    first = parse_fingerprint(named[0].fingerprint)
    if len(named) > 1:
        all_of = [parse_fingerprint(item.fingerprint) for item in named]
        first = replace(
            first,
            op="+".join(dict.fromkeys(item.op for item in all_of)),
            dtype="+".join(dict.fromkeys(item.dtype for item in all_of)),
            shape="+".join(item.shape for item in all_of),
        )
    done = [item.left_ns for item in parts if item.left_ns is not None]
    return RingEntry(
        seq=seq,
        step=NO_STEP,
        op=number,
        phase=PHASE,
        name=first.op,
        group_role=label,
        group_seq=number,
        fingerprint=str(first),
        entered_ns=min(item.created_ns for item in parts),
        left_ns=max(done) if len(done) == len(parts) else None,
    )


def _before_first(dump: Dump) -> RingEntry:
    last_ns = dump.last_ns or 0
    return RingEntry(
        seq=0, step=NO_STEP, op=-1, phase="startup", name=_NOTHING_YET,
        entered_ns=last_ns, left_ns=last_ns,
    )  # fmt: skip


def _waits_elsewhere(dump: Dump, mine: Sequence[Operation]) -> Operation | None:
    """The oldest operation that holds the rank outside this group's collectives."""
    here = {item.record for item in mine if item.number is not None}
    return next(
        (
            item
            for item in dump.operations
            if item.left_ns is None and not item.is_queued and item.record not in here
        ),
        None,
    )


def _waiting(item: Operation, last: RingEntry) -> RingEntry:
    """Waiting elsewhere at the coordinate of the rank's last collective here."""
    number = "" if item.number is None else f" {item.number}"
    return RingEntry(
        seq=last.seq + 1,
        step=NO_STEP,
        op=last.op,
        phase=PHASE,
        # Without a number of its own, so that it is not compared within this group.
        name=f"{item.call}{number}",
        group_role=_label(item.group, item.desc, None, is_alone=True),
        entered_ns=item.created_ns,
    )
