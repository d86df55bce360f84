"""The two-level leaf-spine graph: which paths join two leaves (DESIGN sec. 7).

Pure. A disabled link (carrier down) leaves the routing, so paths over it do not exist
and k shrinks; a lossy or black-holing link stays in it: routing does not see that.

    leaf0 --up--> spine_j --down--> leaf1     one Path per spine with both links usable
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from vocab.names import Direction, Link


@dataclass(frozen=True, slots=True, order=True)
class Path:
    """The way from one leaf to another over one spine."""

    source_leaf: int
    spine: int
    target_leaf: int

    @property
    def uplink(self) -> Link:
        """The directed link source leaf -> spine."""
        return Link(self.source_leaf, self.spine, Direction.UP)

    @property
    def downlink(self) -> Link:
        """The directed link spine -> target leaf."""
        return Link(self.target_leaf, self.spine, Direction.DOWN)

    @property
    def links(self) -> tuple[Link, Link]:
        """Both directed links, in packet order."""
        return (self.uplink, self.downlink)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafSpine:
    """A leaf-spine graph of `num_leaves` x `num_spines` with `hosts_per_leaf` hosts.

    `disabled` holds undirected links that routing has removed.
    """

    num_leaves: int
    num_spines: int
    hosts_per_leaf: int = 1
    disabled: frozenset[Link] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        for name in ("num_leaves", "num_spines", "hosts_per_leaf"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; allowed: 1 or more")
        for link in self.disabled:
            if link.direction is not None:
                raise ValueError(f"disabled link {link} has a direction; name it whole")
            self._check_link(link)

    @property
    def num_hosts(self) -> int:
        """Hosts in the whole graph."""
        return self.num_leaves * self.hosts_per_leaf

    def leaf_of_host(self, host: int) -> int:
        """The leaf that host number `host` hangs on.

        Raises:
            ValueError: no such host.
        """
        if not 0 <= host < self.num_hosts:
            raise ValueError(f"host{host} unknown; allowed: 0..{self.num_hosts - 1}")
        return host // self.hosts_per_leaf

    def links(self) -> Iterator[Link]:
        """Every usable undirected link, by leaf, then spine."""
        for leaf in range(self.num_leaves):
            for spine in range(self.num_spines):
                link = Link(leaf, spine)
                if link not in self.disabled:
                    yield link

    def paths(self, source_leaf: int, target_leaf: int) -> tuple[Path, ...]:
        """Usable paths between two leaves, by spine; none from a leaf to itself."""
        self._check_leaf(source_leaf)
        self._check_leaf(target_leaf)
        if source_leaf == target_leaf:
            return ()
        return tuple(
            Path(source_leaf, spine, target_leaf)
            for spine in range(self.num_spines)
            if Link(source_leaf, spine) not in self.disabled
            and Link(target_leaf, spine) not in self.disabled
        )

    def _check_leaf(self, leaf: int) -> None:
        if not 0 <= leaf < self.num_leaves:
            raise ValueError(f"leaf{leaf} unknown; allowed: 0..{self.num_leaves - 1}")

    def _check_link(self, link: Link) -> None:
        self._check_leaf(link.leaf)
        if not 0 <= link.spine < self.num_spines:
            raise ValueError(
                f"spine{link.spine} unknown; allowed: 0..{self.num_spines - 1}"
            )
