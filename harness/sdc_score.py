"""What came of each case of the numerical matrix, from results and checks. Pure.

    named          the verdict of its window names exactly its rank, and no other does
    missed         no verdict names it
    wrong          a verdict or a check of its window names others, or a clean check
                   after it is not silent: some surface of some rank disagrees
    not injected   the fault did not change anything: nothing could be found
    not run        its job was not finished, or no check after it shows that it healed

Called by the `matrix` command. A verdict alone would not show that a fault stays: what
it leaves behind belongs to the same incident. So the clean checks are read themselves.
Rates carry Wilson intervals; what was not injected or not run is counted apart and in
no rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.results import Outcome, Results
from harness.sdc_matrix import NEAR_INVISIBLE, PATTERNS, Placed
from scout.consensus import Status
from vocab.events import CheckCompleted
from vocab.intervals import Rate, wilson
from vocab.names import rank_name


class Fate(StrEnum):
    """What came of a case; the five never merge."""

    NAMED = "named"
    MISSED = "missed"
    WRONG = "wrong"
    NOT_INJECTED = "not injected"
    NOT_RUN = "not run"


SCORED = (Fate.NAMED, Fate.MISSED, Fate.WRONG)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFate:
    """One case with what came of it; `why` is empty where it was named."""

    number: int
    surface: str
    magnitude: str
    rank: str
    run_id: str
    step: int
    fate: Fate
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupScore:
    """All cases of one surface, of one magnitude, or of all (`all`)."""

    name: str
    named: Rate
    counts: dict[str, int]  # by fate


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixScore:
    """The whole matrix."""

    cases: tuple[CaseFate, ...]
    surfaces: tuple[GroupScore, ...]  # `all` last
    magnitudes: tuple[GroupScore, ...]
    near_invisible: Rate
    silent: Rate  # clean checks between faults in which every surface agreed
    clean: Rate  # fault-free jobs in which nobody was blamed
    num_clean_not_run: int
    between: tuple[str, ...]  # blames on clean checks before the first fault of a job

    @property
    def exit_code(self) -> int:
        """0 all named and all clean; 1 missed or wrong; 2 not all was measured."""
        fates = Counter(case.fate for case in self.cases)
        is_wrong = fates[Fate.MISSED] or fates[Fate.WRONG] or self.between
        if is_wrong or self.clean.k < self.clean.n or self.silent.k < self.silent.n:
            return 1
        if fates[Fate.NOT_INJECTED] or fates[Fate.NOT_RUN] or self.num_clean_not_run:
            return 2
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """One finished job: where it is kept, its results, and all its checks."""

    run_id: str
    results: Results
    checks: tuple[CheckCompleted, ...]


def score_matrix(
    there: Sequence[Placed],
    jobs: Mapping[int, Finished],
    clean: Iterable[Results | None],
) -> MatrixScore:
    """Score every case.

    Args:
        there: all cases, placed in jobs.
        jobs: the finished jobs by number.
        clean: results of every fault-free job; None: not finished.
    """
    fates = tuple(
        fate
        for number in sorted({p.job for p in there})
        for fate in _fates([p for p in there if p.job == number], jobs.get(number))
    )
    names = sorted({fate.surface for fate in fates})
    magnitudes = [name for name in (NEAR_INVISIBLE, *PATTERNS)
                  if any(fate.magnitude == name for fate in fates)]  # fmt: skip
    ended = list(clean)
    usable = [r for r in ended if r and r.outcome in (Outcome.PASS, Outcome.FAIL)]
    return MatrixScore(
        cases=fates,
        surfaces=(
            *(_score(name, [f for f in fates if f.surface == name]) for name in names),
            _score("all", fates),
        ),
        magnitudes=tuple(
            _score(name, [f for f in fates if f.magnitude == name])
            for name in magnitudes
        ),
        near_invisible=_named([f for f in fates if f.magnitude == NEAR_INVISIBLE]),
        silent=_silence(there, jobs),
        clean=wilson(sum(r.outcome is Outcome.PASS for r in usable), len(usable)),
        num_clean_not_run=len(ended) - len(usable),
        between=tuple(_between(there, jobs)),
    )


def _fates(there: Sequence[Placed], job: Finished | None) -> Iterable[CaseFate]:
    for place, placed in enumerate(there):
        after = there[place + 1].at_step if place + 1 < len(there) else None
        fate, why = _fate(placed, place, after, job)
        case = placed.case
        yield CaseFate(
            number=case.number,
            surface=case.surface,
            magnitude=case.magnitude,
            rank=rank_name(case.rank),
            run_id=job.run_id if job else "",
            step=placed.at_step,
            fate=fate,
            why=why,
        )


def _fate(
    placed: Placed, place: int, after: int | None, job: Finished | None
) -> tuple[Fate, str]:
    if job is None:
        return Fate.NOT_RUN, "its job was not finished"
    results = job.results
    fault = next(
        (f for f in results.faults if f.fault_id == placed.case.fault_id), None
    )
    if fault is None or len(results.incidents) <= place:
        return Fate.NOT_RUN, results.reason
    if not fault.injected:
        return Fate.NOT_INJECTED, fault.problem
    wrong = [
        extra
        for extra in results.extras
        if extra.blamed and extra.step is not None and placed.at_step <= extra.step
        and (after is None or extra.step < after)
    ]  # fmt: skip
    if wrong:
        return Fate.WRONG, "; ".join(
            f"{', '.join(extra.blamed)} after step {extra.step}" for extra in wrong
        )
    others = _others_in(placed, job)
    if others:
        return Fate.WRONG, others
    if not results.incidents[place].found:
        return Fate.MISSED, "no verdict names it"
    return _healed(placed, after, job)


def _others_in(placed: Placed, job: Finished) -> str:
    """What the checks of its window say of other ranks; "" where it is nothing."""
    for check in job.checks:
        if not placed.at_step <= check.step <= placed.until_step:
            continue
        named = {
            check.group_ranks[peer]
            for surface in check.surfaces
            for peer, mark in enumerate(surface.bitmap)
            if mark == "1"
        }
        if named - {placed.case.rank}:
            names = ", ".join(map(rank_name, sorted(named)))
            return f"the check of step {check.step} names {names}"
        if any(s.status == Status.INCONCLUSIVE for s in check.surfaces):
            return f"the check of step {check.step} has no majority"
    return ""


def _healed(placed: Placed, after: int | None, job: Finished) -> tuple[Fate, str]:
    """Whether the clean checks up to the next case show that nothing stays."""
    clean = [
        check
        for check in job.checks
        if check.step > placed.until_step and (after is None or check.step < after)
    ]
    if not clean or not all(map(_is_complete, clean)):
        return Fate.NOT_RUN, "the checks after it are not complete"
    loud = [check.step for check in clean if not _is_silent(check)]
    if loud:
        return Fate.WRONG, f"ranks still disagree after step {loud[0]}"
    return Fate.NAMED, ""


def _silence(there: Sequence[Placed], jobs: Mapping[int, Finished]) -> Rate:
    """Clean checks in which nobody disagreed, of all that are complete."""
    clean = []
    for number, job in jobs.items():
        struck = {
            step
            for p in there
            if p.job == number
            for step in range(p.at_step, p.until_step + 1)
        }
        clean += [c for c in job.checks if c.step not in struck and _is_complete(c)]
    return wilson(sum(map(_is_silent, clean)), len(clean))


def _is_complete(check: CheckCompleted) -> bool:
    return check.problem is None and not check.missing


def _is_silent(check: CheckCompleted) -> bool:
    return all(surface.status == Status.AGREE for surface in check.surfaces)


def _between(there: Sequence[Placed], jobs: Mapping[int, Finished]) -> Iterable[str]:
    for number, job in jobs.items():
        first = min(p.at_step for p in there if p.job == number)
        for extra in job.results.extras:
            if extra.blamed and (extra.step is None or extra.step < first):
                yield f"{job.run_id}: {', '.join(extra.blamed)}: {extra.reason}"


def _score(name: str, fates: Sequence[CaseFate]) -> GroupScore:
    counts = Counter(fate.fate.value for fate in fates)
    return GroupScore(
        name=name,
        named=_named(fates),
        counts={fate.value: counts[fate.value] for fate in Fate},
    )


def _named(fates: Sequence[CaseFate]) -> Rate:
    scored = [fate for fate in fates if fate.fate in SCORED]
    return wilson(sum(f.fate is Fate.NAMED for f in scored), len(scored))
