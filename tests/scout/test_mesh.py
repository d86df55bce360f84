"""Peer groups of SCOUT sec. 4."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scout.errors import MeshError
from scout.mesh import AXES, Capability, Mesh, canonical_axis

sizes = st.fixed_dictionaries({axis: st.integers(1, 3) for axis in AXES})


def test_papers_four_by_two_mesh_has_its_two_groups() -> None:
    mesh = Mesh.from_sizes(replicate=4, tensor=2)
    assert mesh.replica_peers(0).ranks == (0, 2, 4, 6)
    assert mesh.replica_peers(1).ranks == (1, 3, 5, 7)
    assert [g.ranks for g in mesh.peer_groups()] == [(0, 2, 4, 6), (1, 3, 5, 7)]


def test_papers_figure_2_columns_are_replicas_of_one_shard() -> None:
    mesh = Mesh.from_sizes(dp_replicate=4, dp_shard=2)
    assert mesh.peer_group(4).ranks == (0, 2, 4, 6)
    assert mesh.peer_group(5).ranks == (1, 3, 5, 7)


def test_pure_fsdp_compares_along_the_shard_axis() -> None:
    mesh = Mesh.from_sizes(shard=4, tensor=2)
    group = mesh.peer_group(3)
    assert group.axis == "shard"
    assert group.ranks == (1, 3, 5, 7)


def test_context_positions_are_never_peers() -> None:
    mesh = Mesh.from_sizes(replicate=2, context=2)
    assert mesh.peer_group(0).ranks == (0, 2)


@pytest.mark.parametrize(
    ("num_ranks", "capability"),
    [
        (1, Capability.NONE),
        (2, Capability.GROUP_SCOPED),
        (3, Capability.ATTRIBUTION),
        (8, Capability.ATTRIBUTION),
    ],
)
def test_size_rules(num_ranks: int, capability: Capability) -> None:
    group = Mesh.from_sizes(replicate=num_ranks).peer_group(0)
    assert group.capability is capability


def test_role_is_the_same_for_all_members_and_names_no_rank() -> None:
    mesh = Mesh.from_sizes(replicate=4, tensor=2)
    assert {mesh.peer_group(r).role for r in (0, 2, 4, 6)} == {"replicate@s0t0p0c0e0"}
    assert mesh.peer_group(1).role == "replicate@s0t1p0c0e0"


@given(sizes)
def test_every_rank_stands_in_exactly_one_group(size: dict[str, int]) -> None:
    mesh = Mesh.from_sizes(**size)
    assert mesh.world_size == math.prod(size.values())
    members = [rank for group in mesh.peer_groups() for rank in group.ranks]
    assert sorted(members) == list(range(mesh.world_size))


@given(sizes, st.data())
def test_peers_differ_only_on_the_groups_axis(
    size: dict[str, int], data: st.DataObject
) -> None:
    mesh = Mesh.from_sizes(**size)
    rank = data.draw(st.integers(0, mesh.world_size - 1))
    group = mesh.peer_group(rank)
    assert len(group.ranks) == mesh.size(group.axis)
    for peer in group.ranks:
        for axis in AXES:
            if axis != group.axis:
                here, there = mesh.addresses[rank], mesh.addresses[peer]
                assert here.on(axis) == there.on(axis)


@given(sizes)
def test_groups_of_each_axis_give_the_same_mesh_as_the_sizes(
    size: dict[str, int],
) -> None:
    mesh = Mesh.from_sizes(**size)
    groups: dict[str, list[list[int]]] = {}
    for axis in AXES:
        rest = [a for a in AXES if a != axis]
        found: dict[tuple[int, ...], list[int]] = {}
        for rank, address in enumerate(mesh.addresses):
            found.setdefault(tuple(address.on(a) for a in rest), []).append(rank)
        groups[axis] = list(found.values())
    assert Mesh.from_groups(groups, mesh.world_size) == mesh


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"dp": [[0, 1]]}, "ranks [2] are in no group"),
        ({"dp": [[0, 1, 2], [2]]}, "rank 2 is in two groups"),
        ({"dp": [[0, 1, 7]]}, "rank 7; allowed: 0..2"),
        ({"tp": [[0], [1], [2]]}, "two ranks have one address"),
        ({"zp": [[0, 1, 2]]}, "'zp' is unknown; allowed: replicate"),
    ],
)
def test_groups_that_are_no_mesh_are_refused_by_name(
    groups: dict[str, list[list[int]]], message: str
) -> None:
    with pytest.raises(MeshError, match=message.replace("[", r"\[")):
        Mesh.from_groups(groups, 3)


def test_axes_named_twice_or_empty_are_refused() -> None:
    with pytest.raises(MeshError, match="name one axis twice"):
        Mesh.from_sizes(dp=2, replicate=2)
    with pytest.raises(MeshError, match="axis dp has size 0; allowed: 1 or more"):
        Mesh.from_sizes(dp=0)
    with pytest.raises(MeshError, match="rank 9 unknown"):
        Mesh.from_sizes(dp=2).peer_group(9)


def test_framework_names_mean_one_axis() -> None:
    names = ("dp_shard", "fsdp", "shard")
    assert {canonical_axis(name) for name in names} == {"shard"}
