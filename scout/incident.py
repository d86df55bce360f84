"""One verdict per incident: what belongs to one already told, and what is new.

Pure. A finding of the same kind and culprit belongs to the open incident when its
place (layer or parameter) was already part of it, overlaps one that was (a slice of
parameters and the layer that owns them), or was not measured clean often enough since
the incident opened: residue of a healed fault, an intermittent one that comes back, or
one fault seen on further layers. It is a new incident when another culprit appears,
when its place was clean `close_after` times since, or when every place of the old one
was (then that one is closed).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Open:
    """One incident that is not over."""

    number: int
    culprits: frozenset[int]  # peers; empty: nobody could be named
    places: set[str]
    held: set[str] = field(default_factory=set)  # parameters that its places hold
    clean: Counter[str] = field(default_factory=Counter)  # times since last seen there
    verdict_id: str = ""

    def is_clean(self, places: set[str], close_after: int) -> bool:
        """Whether each of `places` was measured clean often enough."""
        return all(self.clean[place] >= close_after for place in places)

    def overlaps(self, places: set[str], held: set[str]) -> bool:
        """Whether a parameter held on one side lies in a place of the other."""
        return _lie_in(held, self.places) or _lie_in(self.held, places)


@dataclass(slots=True)
class Ledger:
    """The open incidents of one kind in one peer group."""

    close_after: int = 1
    open: list[Open] = field(default_factory=list)
    _count: int = 0

    def on_found(
        self,
        culprits: frozenset[int],
        places: set[str],
        held: frozenset[str] = frozenset(),
    ) -> Open | None:
        """Note a finding; returns the new incident, or None where it is known.

        Args:
            culprits: peers at fault; empty where the group as a whole disagrees.
            places: layers or parameters at which they disagree.
            held: names of parameters of which such a place holds elements, where it
                is not named after them alone (the optimizer's slice).
        """
        rest = culprits
        for incident in self.open:
            # Nobody named and somebody named are different incidents, also here.
            shared = incident.culprits & culprits
            if (shared or incident.culprits == culprits) and self._belongs(
                incident, places, held
            ):
                incident.places |= places
                incident.held |= held
                for place in places:
                    del incident.clean[place]
                rest -= shared
                if not rest:
                    return None
        self._count += 1
        fresh = Open(
            number=self._count, culprits=rest, places=set(places), held=set(held)
        )
        self.open.append(fresh)
        return fresh

    def on_clean(self, peers: frozenset[int], places: set[str]) -> list[Open]:
        """Note places at which `peers` agreed; returns the incidents now over."""
        for incident in self.open:
            if incident.culprits <= peers:
                incident.clean.update(places)
        over = [
            incident
            for incident in self.open
            if incident.is_clean(incident.places, self.close_after)
        ]
        self.open = [incident for incident in self.open if incident not in over]
        return over

    def _belongs(self, incident: Open, places: set[str], held: frozenset[str]) -> bool:
        return (
            bool(places & incident.places)
            or incident.overlaps(places, set(held))
            or not incident.is_clean(places, self.close_after)
        )


def _lie_in(parameters: set[str], places: set[str]) -> bool:
    return any(
        name == place or name.startswith(f"{place}.")
        for name in parameters
        for place in places
    )
