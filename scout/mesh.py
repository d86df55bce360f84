"""Which ranks are equivalent peers: the logical parallelism mesh (SCOUT sec. 4).

    address r = (d, s, t, p, c, e)
      d data replica   s FSDP state shard   t tensor   p pipeline   c context   e expert

    replica peers G_rep(r)   vary d, fix s t p c e   where d has more than one
    shard peers   G_shard(r) vary s, fix t p c e     where s is the only source of peers

Pure. Size rules: 1 rank compares with nobody, 2 detect but cannot name, 3 or more can
name a minority.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scout.errors import MeshError

AXES = ("replicate", "shard", "tensor", "pipeline", "context", "expert")

# Names that PyTorch, TorchTitan, Megatron-Core and DeepSpeed give to the same axes.
_ALIASES = {
    "replicate": ("replicate", "dp", "ddp", "dp_replicate", "data", "data_parallel"),
    "shard": ("shard", "fsdp", "dp_shard", "zero", "state_shard"),
    "tensor": ("tensor", "tp", "model", "tensor_parallel"),
    "pipeline": ("pipeline", "pp", "pipe", "pipeline_parallel", "stage"),
    "context": ("context", "cp", "context_parallel", "sequence"),
    "expert": ("expert", "ep", "expert_parallel"),
}


class Capability(StrEnum):
    """What a peer group of some size can say (SCOUT sec. 4 "Peer-group size")."""

    NONE = "none"
    GROUP_SCOPED = "group_scoped"
    ATTRIBUTION = "attribution"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One rank's place on the mesh; every coordinate counts from 0."""

    replicate: int = 0
    shard: int = 0
    tensor: int = 0
    pipeline: int = 0
    context: int = 0
    expert: int = 0

    def on(self, axis: str) -> int:
        """The coordinate on one of `AXES`."""
        value: int = getattr(self, axis)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerGroup:
    """Equivalent ranks in order; peer index i is `ranks[i]`.

    `role` names the group by its place on the mesh, the same for all its members and
    across replicas: `replicate@s0t1p0c0e0`.
    """

    axis: str
    role: str
    ranks: tuple[int, ...]

    @property
    def capability(self) -> Capability:
        """What this group can say of a disagreement."""
        if len(self.ranks) == 1:
            return Capability.NONE
        if len(self.ranks) == 2:
            return Capability.GROUP_SCOPED
        return Capability.ATTRIBUTION

    def peer_of(self, rank: int) -> int:
        """Index of a global rank within this group."""
        return self.ranks.index(rank)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh:
    """Addresses of all ranks: `addresses[rank]`."""

    addresses: tuple[Address, ...]

    @classmethod
    def from_sizes(cls, **sizes: int) -> Mesh:
        """Row-major mesh in the order of the arguments, outermost axis first.

        Args:
            sizes: axis (or an alias such as `dp`, `tp`) -> size; the rest have size 1.

        Raises:
            MeshError: unknown axis, an axis named twice, or a size below 1.
        """
        axes = [canonical_axis(name) for name in sizes]
        if len(set(axes)) != len(axes):
            raise MeshError(f"axes {list(sizes)} name one axis twice")
        for name, size in sizes.items():
            if size < 1:
                raise MeshError(f"axis {name} has size {size}; allowed: 1 or more")
        places = itertools.product(*(range(size) for size in sizes.values()))
        return cls(
            addresses=tuple(
                Address(**dict(zip(axes, place, strict=True))) for place in places
            )
        )

    @classmethod
    def from_device_mesh(cls, device_mesh: Any) -> Mesh:
        """Read a `torch.distributed.DeviceMesh` with named dimensions.

        Raises:
            MeshError: the dimensions have no names, or unknown ones.
        """
        names = device_mesh.mesh_dim_names
        if not names:
            raise MeshError("the device mesh has no mesh_dim_names; name its axes")
        axes = [canonical_axis(name) for name in names]
        ranks = device_mesh.mesh.tolist()
        found: dict[int, Address] = {}
        for place in itertools.product(*(range(n) for n in device_mesh.mesh.shape)):
            rank = ranks
            for index in place:
                rank = rank[index]
            found[rank] = Address(**dict(zip(axes, place, strict=True)))
        return cls(addresses=_in_rank_order(found))

    @classmethod
    def from_groups(
        cls, groups: Mapping[str, Sequence[Sequence[int]]], world_size: int
    ) -> Mesh:
        """Derive addresses from each axis's process groups (Megatron, DeepSpeed).

        Args:
            groups: axis -> every group of that axis, members in coordinate order.
            world_size: number of ranks; each must stand in one group of each axis.

        Raises:
            MeshError: a rank is missing from an axis, stands twice, or is out of range.
        """
        coordinates: list[dict[str, int]] = [{} for _ in range(world_size)]
        for name, members in groups.items():
            axis = canonical_axis(name)
            for group in members:
                for index, rank in enumerate(group):
                    if not 0 <= rank < world_size:
                        raise MeshError(
                            f"axis {name}: rank {rank}; allowed: 0..{world_size - 1}"
                        )
                    if axis in coordinates[rank]:
                        raise MeshError(f"axis {name}: rank {rank} is in two groups")
                    coordinates[rank][axis] = index
            missing = [r for r in range(world_size) if axis not in coordinates[r]]
            if missing:
                raise MeshError(f"axis {name}: ranks {missing} are in no group")
        mesh = cls(addresses=tuple(Address(**place) for place in coordinates))
        if len(set(mesh.addresses)) != world_size:
            raise MeshError("two ranks have one address; some axis has no groups here")
        return mesh

    @property
    def world_size(self) -> int:
        """Number of ranks."""
        return len(self.addresses)

    def size(self, axis: str) -> int:
        """Degree of one axis."""
        return 1 + max(address.on(axis) for address in self.addresses)

    def replica_peers(self, rank: int) -> PeerGroup:
        """G_rep(rank): ranks that differ only in the data replica."""
        return self._peers(rank, "replicate", AXES[1:])

    def shard_peers(self, rank: int) -> PeerGroup:
        """G_shard(rank): ranks that share one model partition's state shards."""
        return self._peers(rank, "shard", AXES[2:])

    def peer_group(self, rank: int) -> PeerGroup:
        """The group to compare `rank` in: replicas where there are any, else shards."""
        if self.size("replicate") > 1:
            return self.replica_peers(rank)
        return self.shard_peers(rank)

    def peer_groups(self) -> tuple[PeerGroup, ...]:
        """Every distinct peer group, by its lowest rank."""
        axis: str = "replicate"
        fixed: tuple[str, ...] = AXES[1:]
        if self.size("replicate") == 1:
            axis, fixed = ("shard", AXES[2:])
        members: dict[tuple[int, ...], list[int]] = {}
        for rank, address in enumerate(self.addresses):
            place = tuple(address.on(name) for name in fixed)
            members.setdefault(place, []).append(rank)
        return tuple(
            self._group(axis, fixed, place, ranks) for place, ranks in members.items()
        )

    def _peers(self, rank: int, axis: str, fixed: tuple[str, ...]) -> PeerGroup:
        if not 0 <= rank < self.world_size:
            raise MeshError(f"rank {rank} unknown; allowed: 0..{self.world_size - 1}")
        here = self.addresses[rank]
        members = [
            other
            for other, address in enumerate(self.addresses)
            if all(address.on(name) == here.on(name) for name in fixed)
        ]
        place = tuple(here.on(name) for name in fixed)
        return self._group(axis, fixed, place, members)

    def _group(
        self,
        axis: str,
        fixed: tuple[str, ...],
        place: tuple[int, ...],
        members: list[int],
    ) -> PeerGroup:
        ordered = sorted(
            members, key=lambda rank: (self.addresses[rank].on(axis), rank)
        )
        where = "".join(f"{n[0]}{at}" for n, at in zip(fixed, place, strict=True))
        return PeerGroup(axis=axis, role=f"{axis}@{where}", ranks=tuple(ordered))


def canonical_axis(name: str) -> str:
    """The axis of `AXES` that a framework's name means.

    Raises:
        MeshError: no such axis.
    """
    for axis, aliases in _ALIASES.items():
        if name in aliases:
            return axis
    known = ", ".join(itertools.chain.from_iterable(_ALIASES.values()))
    raise MeshError(f"mesh axis {name!r} is unknown; allowed: {known}")


def _in_rank_order(found: dict[int, Address]) -> tuple[Address, ...]:
    if sorted(found) != list(range(len(found))):
        raise MeshError(
            f"the mesh holds ranks {sorted(found)}; it must hold 0..{len(found) - 1}"
        )
    return tuple(found[rank] for rank in range(len(found)))
