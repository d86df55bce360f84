"""Scenarios as a gallery: by family of fault, with what each proves. Pure.

Called by the dashboard's scenario page. Reads scenario files and promises nothing: what
is expected stands in the file, what a fault proves in its registry entry.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import Flaw, ScenarioError
from harness.scenario import Scenario, load
from harness.views import wording
from injectors.fault import Parameters
from injectors.registry import FAULTS

CONTROL = "control"
BROKEN = "flawed"
# The first word of a fault's kind -> (title, what the family asks of a stack).
FAMILIES: Mapping[str, tuple[str, str]] = {
    "sdc": ("Silent data corruption", "A rank computes wrong values and trains on."),
    "straggler": ("Stragglers", "A rank is slow, and its peers wait for it."),
    "hang": ("Hangs", "Nothing moves; who stopped first?"),
    "crash": ("Crashes", "A process dies; who died, and who died of it?"),
    "link": ("Links and switches", "Packets get lost on one link of the fabric."),
    CONTROL: ("Controls", "Nobody is guilty, so nobody may be blamed."),
    BROKEN: ("Cannot be launched", "These files have flaws."),
}
_CONTROL_KINDS = ("null", "contention", "observer", "clean")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioCard:
    """One scenario file, or what is wrong with it."""

    name: str
    title: str
    description: str
    summary: str
    family: str
    faults: tuple[str, ...]  # "sdc.parameter on rank2"
    proves: tuple[str, ...]
    expects: str
    flaws: tuple[Flaw, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The scenarios of one family that are shown."""

    key: str
    title: str
    asks: str
    scenarios: tuple[ScenarioCard, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyFilter:
    """One choice of the filter, with how many scenarios it would show."""

    key: str  # "" shows all
    title: str
    count: int


def cards(files: Mapping[str, Path]) -> tuple[ScenarioCard, ...]:
    """A card for each scenario file, by name."""
    return tuple(_card(name, path) for name, path in files.items())


def families(
    found: Iterable[ScenarioCard], family: str = "", query: str = ""
) -> tuple[Family, ...]:
    """The cards that fit, by family.

    Args:
        family: only this one; "" shows all.
        query: words that must all stand in the card, in any case.
    """
    by_key: dict[str, list[ScenarioCard]] = {}
    for card in found:
        if family in ("", card.family) and fits(card, query):
            by_key.setdefault(card.family, []).append(card)
    return tuple(
        Family(key=key, title=_title(key), asks=FAMILIES.get(key, ("", ""))[1],
               scenarios=tuple(by_key[key]))
        for key in sorted(by_key, key=_order)
    )  # fmt: skip


def filters(found: Iterable[ScenarioCard], query: str = "") -> tuple[FamilyFilter, ...]:
    """All families that have a scenario, with how many of each fit `query`."""
    known = list(found)
    counts = Counter(card.family for card in known if fits(card, query))
    keys = sorted({card.family for card in known}, key=_order)
    return (
        FamilyFilter(key="", title="All", count=counts.total()),
        *(FamilyFilter(key=k, title=_title(k), count=counts[k]) for k in keys),
    )


def fits(card: ScenarioCard, query: str) -> bool:
    """Whether every word of `query` stands somewhere in the card."""
    text = " ".join((card.name, card.title, card.description, *card.faults,
                     *card.proves, card.expects)).lower()  # fmt: skip
    return all(word in text for word in query.lower().split())


def family_of(scenario: Scenario) -> str:
    """By its first fault; one that only injects controls is a control."""
    kinds = [fault.kind.partition(".")[0] for fault in scenario.faults]
    guilty = [kind for kind in kinds if kind not in _CONTROL_KINDS]
    return guilty[0] if guilty else CONTROL


def summary(scenario: Scenario) -> str:
    """Size of a scenario in a few words."""
    faults = len(scenario.faults)
    words = "no fault" if not faults else f"{faults} fault{'s' * (faults > 1)}"
    return f"{scenario.num_ranks} ranks · {scenario.steps} steps · {words}"


def expects(scenario: Scenario) -> str:
    """What must be found, in one sentence."""
    if not scenario.expect:
        return "Nobody may be blamed."
    parts = []
    for item in scenario.expect:
        whom = [*(f"rank{rank}" for rank in item.ranks), *item.links]
        found = wording.incident(item.kind, item.state, whom)
        parts.append(f"{found} by step {item.by_step}")
    return wording.sentence("; ".join(parts))


def _card(name: str, path: Path) -> ScenarioCard:
    try:
        scenario = load(path)
    except ScenarioError as error:
        return ScenarioCard(
            name=name, title=name, description="", summary="", family=BROKEN,
            faults=(), proves=(), expects="", flaws=tuple(error.flaws),
        )  # fmt: skip
    faults = scenario.faults
    return ScenarioCard(
        name=name,
        title=scenario.title,
        description=scenario.description,
        summary=summary(scenario),
        family=family_of(scenario),
        faults=tuple(
            f"{fault.kind} on {wording.names(_targets(fault), 'the job')}"
            for fault in faults
        ),
        proves=tuple(
            dict.fromkeys(FAULTS[f.kind].proves for f in faults if f.kind in FAULTS)
        ),
        expects=expects(scenario),
        flaws=(),
    )


def _title(key: str) -> str:
    return FAMILIES[key][0] if key in FAMILIES else key.capitalize()


def _order(key: str) -> tuple[int, str]:
    """The literal order; families that it does not know stand before the controls."""
    known = list(FAMILIES)
    return (known.index(key) if key in known else known.index(CONTROL) - 1, key)


def _targets(fault: Parameters) -> tuple[str, ...]:
    return tuple(getattr(fault, "targets", ()))
