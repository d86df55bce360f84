"""Ground truth in one line: injected, verified, blamed, extra, missed, latencies. Pure.

Called by the run page and the report above all evidence. Says "not judged" or "not
measured" where there is nothing to say yet; never a zero (DESIGN sec. 2.5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.views import wording
from harness.views.truth import ExpectedRow, FaultRow, TruthView

GOOD, BAD, OPEN, PLAIN = "good", "bad", "open", "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class StripItem:
    """One figure of the strip; `tone` is good, bad, open or plain."""

    name: str
    label: str
    text: str
    tone: str


def strip(truth: TruthView, blamed: Iterable[tuple[str, ...]]) -> tuple[StripItem, ...]:
    """The strip of a run.

    Args:
        blamed: names that each verdict in force blames.
    """
    found = (
        _injected(truth.faults),
        _verified("verified_in", "Verified in", truth.faults, "injected_at_s"),
        _verified("verified_out", "Verified out", truth.faults, "healed_at_s"),
        _blamed(blamed),
        _extra(truth),
        _missed(truth),
        *_latencies(truth.expected),
    )
    return tuple(
        StripItem(name=name, label=label, text=text, tone=tone)
        for name, label, text, tone in found
    )


def _injected(faults: tuple[FaultRow, ...]) -> tuple[str, str, str, str]:
    label = "Injected"
    if not faults:
        return "injected", label, "no fault", PLAIN
    parts = []
    for fault in faults:
        step = "" if fault.step is None else f", step {fault.step}"
        parts.append(f"{fault.kind} on {wording.names(fault.targets)}{step}")
    struck = all(fault.status in ("injected", "healed") for fault in faults)
    failed = any(fault.status in ("failed", "never fired") for fault in faults)
    return (
        "injected",
        label,
        "; ".join(parts),
        (PLAIN if struck else BAD if failed else OPEN),
    )


def _verified(
    name: str, label: str, faults: tuple[FaultRow, ...], field: str
) -> tuple[str, str, str, str]:
    if not faults:
        return name, label, "nothing to verify", PLAIN
    times = [getattr(fault, field) for fault in faults]
    proven = [at_s for at_s in times if at_s is not None]
    if len(proven) < len(times):
        text = f"{wording.k_of_n(len(proven), len(times))} proven"
        return name, label, text, OPEN
    return name, label, ", ".join(f"{at_s:.2f} s" for at_s in proven), GOOD


def _blamed(blamed: Iterable[tuple[str, ...]]) -> tuple[str, str, str, str]:
    names = tuple(dict.fromkeys(name for group in blamed for name in group))
    return "blamed", "Blamed", wording.names(names), PLAIN


def _extra(truth: TruthView) -> tuple[str, str, str, str]:
    if not truth.is_judged:
        return "extra", "Extra", "not judged", OPEN
    names = [wording.incident(e.kind, e.state, e.blamed) for e in truth.extras]
    return "extra", "Extra", "; ".join(names) or "none", BAD if names else GOOD


def _missed(truth: TruthView) -> tuple[str, str, str, str]:
    if not truth.is_judged:
        return "missed", "Missed", "not judged", OPEN
    missed = [row for row in truth.expected if row.status == "missed"]
    names = [wording.incident(row.kind, row.state, row.targets) for row in missed]
    return "missed", "Missed", "; ".join(names) or "none", BAD if names else GOOD


def _latencies(expected: tuple[ExpectedRow, ...]) -> list[tuple[str, str, str, str]]:
    found = [row for row in expected if row.status == "found"]
    if not found:
        return [("latency", "Injection to verdict", wording.ABSENT, OPEN)]
    texts = [f"{row.latency_text} · {row.latency_steps_text}" for row in found]
    return [("latency", "Injection to verdict", "; ".join(texts), PLAIN)]
