"""The end of a run in a few lines: expected beside found, the outcome, what next.

Called by `run`, `show` and `demo`. Prints the run's view, which page and report print
too; judges nothing.
"""

from __future__ import annotations

from rich.console import Console

from harness.commands.live import verdict_lines
from harness.commands.terminal import OUTCOME_STYLES, table
from harness.store import RUN
from harness.views.run import RunView


def print_view(view: RunView, console: Console) -> None:
    """Everything a reader needs of one run."""
    console.print(f"{view.origin.title}", style="bold")
    console.print(f"run      {view.run_id}  ({view.liveness.text})")
    style = OUTCOME_STYLES.get(view.outcome.value if view.outcome else "", "")
    reason = f": {view.outcome_reason}" if view.outcome_reason else ""
    console.print(f"outcome  {_outcome(view)}{reason}", style=style, soft_wrap=True)
    console.print()
    if view.kind == RUN:
        _print_expected(view, console)
    for card in view.cards:
        label = "verdict" if card.verdict_id else "nobody"
        console.print(f"{label}  {card.headline}", style="bold", soft_wrap=True)
        for line in verdict_lines(card):
            console.print(f"  {line}", soft_wrap=True)
    _print_faults(view, console)
    for notice in view.notices:
        fix = f" ({notice.fix})" if notice.fix else ""
        console.print(f"note     {notice.component}: {notice.message}{fix}",
                      style="yellow", soft_wrap=True)  # fmt: skip
    console.print()
    for fact in view.facts:
        console.print(f"{fact.label:32} {fact.text}")
    if view.origin.command:
        console.print(f"{'Repeat with':32} {view.origin.command}", soft_wrap=True)


def expected_text(view: RunView) -> str:
    """Whom the scenario expects to be named."""
    return "; ".join(row.text for row in view.truth.expected) or "nobody"


def found_text(view: RunView) -> str:
    """Whom the detectors named."""
    named = [card.headline for card in view.cards if card.verdict_id]
    return "; ".join(named) or "nobody"


def _outcome(view: RunView) -> str:
    return view.outcome.value if view.outcome else view.outcome_text


def _print_expected(view: RunView, console: Console) -> None:
    rows = table("expected", "status", "verdict at", "after the injection")
    for row in view.truth.expected:
        step = "" if row.found_step is None else f"step {row.found_step}"
        after = row.latency_text if row.found_step is not None else ""
        rows.add_row(row.text, row.status, step, after)
    if not view.truth.expected:
        rows.add_row("nobody is blamed", "", "", "")
    console.print(rows)
    for extra in view.truth.extras:
        blamed = ", ".join(extra.blamed) or "nobody"
        console.print(f"extra    {extra.kind.value} {blamed}: {extra.reason}",
                      style="bold red", soft_wrap=True)  # fmt: skip
    console.print()


def _print_faults(view: RunView, console: Console) -> None:
    for fault in view.truth.faults:
        what = "; ".join(fault.changes) or fault.problem or fault.planned
        targets = ", ".join(fault.targets)
        console.print(f"fault    {fault.label} ({targets}), {fault.status}: {what}",
                      soft_wrap=True)  # fmt: skip
