"""What a fault did to the job, as anybody can see it from outside (FACTS). Pure.

    a culprit died on its own                       culprit_dies
    only others died, of a signal or an error       aborts_victim
    nobody died, somebody stood still               stalls
    all steps done, a logged mean loss is wrong     completes_wrongly
    none of these                                   none

The symptom is no diagnosis: the aborting rank is often healthy. Read from exits and
progress alone, and compared by `checks` with what the scenario says of its fault.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from harness.scenario import Symptom
from vocab.events import (
    FaultInjected,
    PhaseChanged,
    ProcessExited,
    Stamped,
    StepEnded,
)
from vocab.names import rank_name

if TYPE_CHECKING:
    from harness.scenario import Scenario

_TOLERANCE = 1e-4
"""Relative; reductions in float32 and in another order differ by less."""


def observe(scenario: Scenario, events: Sequence[Stamped]) -> Symptom:
    """The symptom of a run, with the ranks that show it.

    That of its first start, where the job is started again.
    """
    events = _until_healed(events)
    culprits = _culprits(events)
    dead = _first_dead(events)
    if dead:
        ours = dead & culprits
        if ours:
            return _symptom("culprit_dies", ours)
        return _symptom("aborts_victim", dead)
    steps = _steps(scenario, events)
    unfinished = {
        name
        for name, ended in steps.items()
        if len({step.step for step in ended}) < scenario.steps
    }
    # Of a job that came to its end wrong numbers say more than a slow step, which a
    # busy machine gives too.
    wrong = set() if unfinished else _wrong(steps)
    if wrong:
        return _symptom("completes_wrongly", wrong)
    late = unfinished | {
        name
        for name, ended in steps.items()
        if any(step.duration_s > _patience_s(scenario) for step in ended)
    }
    return _symptom("stalls", late) if late else _symptom("none", ())


def is_as_expected(expected: Symptom, observed: Symptom) -> bool:
    """Whether it is the same; ranks count only where the scenario names some."""
    same_ranks = not expected.ranks or set(expected.ranks) == set(observed.ranks)
    return expected.what == observed.what and same_ranks


def in_words(symptom: Symptom) -> str:
    """`aborts_victim (rank1)`."""
    names = ", ".join(map(rank_name, symptom.ranks))
    return f"{symptom.what} ({names})" if names else symptom.what


def _symptom(what: str, names: Iterable[str]) -> Symptom:
    ranks = sorted(int(name.removeprefix("rank")) for name in names)
    return Symptom.model_validate({"what": what, "ranks": ranks})


def _until_healed(events: Sequence[Stamped]) -> list[Stamped]:
    """From then on the harness itself ends whatever is left."""
    found = []
    for stamped in sorted(events, key=lambda item: item.t_ns):
        if isinstance(stamped.event, PhaseChanged) and stamped.event.phase == "healing":
            break
        found.append(stamped)
    return found


def _culprits(events: Sequence[Stamped]) -> set[str]:
    return {
        target
        for stamped in events
        if isinstance(stamped.event, FaultInjected)
        for target in stamped.event.targets
    }


def _first_dead(events: Sequence[Stamped]) -> set[str]:
    """Who died by itself: of a signal, else the first with an error; {} for nobody.

    Errors spread: when one process is gone, its peers' connections break.
    """
    by_signal: set[str] = set()
    by_error: list[str] = []
    for stamped in events:
        event = stamped.event
        if isinstance(event, ProcessExited) and event.name.startswith("rank"):
            if event.signal is not None:
                by_signal.add(event.name)
            elif event.exit_code != 0:
                by_error.append(event.name)
    return by_signal or set(by_error[:1])


def _steps(scenario: Scenario, events: Sequence[Stamped]) -> dict[str, list[StepEnded]]:
    found: dict[str, list[StepEnded]] = {
        rank_name(rank): [] for rank in range(scenario.num_ranks)
    }
    for stamped in events:
        if isinstance(stamped.event, StepEnded) and stamped.source in found:
            found[stamped.source].append(stamped.event)
    return found


def _patience_s(scenario: Scenario) -> float:
    return math.inf if scenario.scout == "off" else scenario.scout.silence_s


def _wrong(steps: dict[str, list[StepEnded]]) -> set[str]:
    """Ranks that logged a mean loss that is not the mean of all ranks' losses."""
    by_step: dict[int, dict[str, StepEnded]] = {}
    for name, ended in steps.items():
        for step in ended:
            by_step.setdefault(step.step, {})[name] = step
    return {
        name
        for ranks in by_step.values()
        if len(ranks) == len(steps)
        for name, step in ranks.items()
        if not _is_mean(step.mean_loss, [other.loss for other in ranks.values()])
    }


def _is_mean(logged: float | None, losses: list[float | None]) -> bool:
    known = [loss for loss in losses if loss is not None]
    if logged is None or len(known) < len(losses):
        return True  # not logged, or not a number: nothing to hold it against
    mean = sum(known) / len(known)
    return abs(logged - mean) <= _TOLERANCE * max(1.0, abs(mean))
