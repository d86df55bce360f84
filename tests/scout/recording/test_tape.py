"""Collectives are numbered by the role of their group, whatever listens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scout.progress import ProgressRing
from scout.recording.tape import Tape
from scout.ring_reader import RingReader


@pytest.fixture
def ring(tmp_path: Path) -> Iterator[ProgressRing]:
    ring = ProgressRing.create(tmp_path / "ring", rank=0)
    yield ring
    ring.close()


def published(ring: ProgressRing) -> list[tuple[object, ...]]:
    reader = RingReader.open(ring.path)
    entries = reader.snapshot(64, now_ns=0).entries
    reader.close()
    return [
        (e.step, e.phase, e.name, e.group_role, e.group_seq, e.left_ns is not None)
        for e in entries
    ]


def test_numbers_go_on_whether_or_not_a_ring_is_attached(ring: ProgressRing) -> None:
    tape = Tape()
    assert tape.begin("world", "broadcast", "f") is None
    tape.attach(ring)
    tape.move(3, "backward")
    tape.end(tape.begin("world", "all_reduce", "f"))
    tape.detach()
    assert tape.begin("world", "all_reduce", "f") is None
    tape.attach(ring)
    tape.begin("world", "all_reduce", "f")
    tape.begin("mesh_tp", "all_gather", "f")
    assert published(ring) == [
        (3, "backward", "all_reduce", "world", 1, True),
        (3, "backward", "all_reduce", "world", 3, False),
        (3, "backward", "all_gather", "mesh_tp", 0, False),
    ]


def test_point_to_point_is_published_without_a_number(ring: ProgressRing) -> None:
    tape = Tape()
    tape.attach(ring)
    tape.begin("world", "send", None)
    tape.begin("world", "barrier", "f")
    assert [entry[2:5] for entry in published(ring)] == [
        ("send", "world", None),
        ("barrier", "world", 0),
    ]


def test_a_call_that_ends_after_its_ring_is_detached_changes_nothing(
    ring: ProgressRing,
) -> None:
    tape = Tape()
    tape.attach(ring)
    begun = tape.begin("world", "all_reduce", "f")
    tape.detach()
    tape.end(begun)
    assert published(ring)[0][-1] is False


def test_a_tape_that_failed_publishes_nothing_more(ring: ProgressRing) -> None:
    tape = Tape()
    tape.attach(ring)
    begun = tape.begin("world", "all_reduce", "f")
    tape.fail()
    tape.end(begun)
    assert tape.begin("world", "all_reduce", "f") is None
    assert tape.is_off
    assert len(published(ring)) == 1


@pytest.mark.parametrize(
    ("ranks", "description", "role"),
    [
        ([], "default_pg", "world"),
        ([0, 2], "mesh_dp", "mesh_dp"),
        ([1, 3], "mesh_dp", "mesh_dp"),
        ([0, 4, 8, 12], "undefined", "ranks4x4"),
        ([3, 7, 11, 15], "undefined", "ranks4x4"),
        ([0, 1, 5], "", "ranks3"),
        ([6], "undefined", "ranks1"),
    ],
)
def test_a_group_is_named_by_its_role_not_by_its_members(
    ranks: list[int], description: str, role: str
) -> None:
    assert Tape().role_of(ranks, description) == role


def test_groups_of_one_role_are_told_apart_in_the_order_of_making() -> None:
    tape = Tape()
    assert [tape.role_of([0, 1], "undefined") for _ in range(3)] == [
        "ranks2x1",
        "ranks2x1#1",
        "ranks2x1#2",
    ]
