"""When a timing outlier becomes a straggler (SCOUT sec. 10.2; FACTS).

Pure. A raw outlier is slower than its peers by kappa robust scales AND by a relative
AND by an absolute floor. It is confirmed at a second, distinct boundary: on the same
surface whenever that is next measured, or on any surface at the very next check. One
noisy second can therefore never confirm itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from scout.config import ScoutConfig
from scout.consensus import Status, TimingResult, statistical


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """One peer that is slower than the threshold on one surface, in seconds."""

    peer: int
    surface: str
    value_s: float
    threshold_s: float
    median_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A timing surface after consensus and floors; status as in Alg. 1."""

    result: TimingResult
    slow: tuple[Slow, ...]
    threshold_s: float | None  # None: no majority to take a median of


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """A straggler: the same peer slow at `boundaries`, a distinct step each."""

    slow: Slow
    boundaries: tuple[int, ...]


def expression(config: ScoutConfig) -> str:
    """The rule as it stands on every page and in every report."""
    return (
        f"t > max(m + {config.kappa:g}*d, {1 + config.floor_rel:g}*m, "
        f"m + {config.floor_abs_s:g} s)"
    )


def judge(
    surface: str, charged_s: tuple[float | None, ...], config: ScoutConfig
) -> Judged:
    """Statistical consensus with the floors; only the slow side is a straggler.

    Two peers can differ but name nobody: their status is inconclusive.
    """
    result = statistical(charged_s, config.kappa)
    if result.median is None or result.threshold is None:
        return Judged(result=result, slow=(), threshold_s=None)
    floor = max(result.median * (1 + config.floor_rel),
                result.median + config.floor_abs_s)  # fmt: skip
    threshold = max(result.median + result.threshold, floor)
    if len(charged_s) == 2:  # the median of two lies between them
        threshold = _threshold_of_two(charged_s, config)
    slow = tuple(
        Slow(peer=peer, surface=surface, value_s=value, threshold_s=threshold,
             median_s=result.median)
        for peer, value in enumerate(charged_s)
        if value is not None and value > threshold
    )  # fmt: skip
    if slow and 2 * (len(charged_s) - len(slow)) <= len(charged_s):
        result = _without_names(result)
        return Judged(result=result, slow=(), threshold_s=threshold)
    return Judged(result=result, slow=slow, threshold_s=threshold)


@dataclass(slots=True)
class Confirmer:
    """Memory of raw outliers of one peer group; feed it every check in order."""

    config: ScoutConfig
    _pending: dict[tuple[int, str], list[int]] = field(default_factory=dict)
    _last_check: dict[int, list[int]] = field(default_factory=dict)

    def on_check(
        self, step: int, measured: Iterable[str], slow: Iterable[Slow]
    ) -> list[Confirmed]:
        """Take one boundary's outliers; give the peers that are now confirmed.

        Args:
            step: the boundary; a step that was seen before confirms nothing new.
            measured: timing surfaces of this check.
            slow: the raw outliers among them.
        """
        found = {(item.peer, item.surface): item for item in slow}
        for key in [k for k in self._pending if k[1] in set(measured)]:
            if key not in found:  # measured again, and healthy
                del self._pending[key]
        confirmed: dict[int, Confirmed] = {}
        for (peer, surface), item in found.items():
            steps = self._pending.setdefault((peer, surface), [])
            if step not in steps:
                steps.append(step)
            seen = sorted({*steps, *self._last_check.get(peer, [])})
            if len(seen) >= self.config.confirmations and (
                peer not in confirmed or item.value_s > confirmed[peer].slow.value_s
            ):
                confirmed[peer] = Confirmed(slow=item, boundaries=tuple(seen))
        self._remember(step, {peer for peer, _ in found})
        return [confirmed[peer] for peer in sorted(confirmed)]

    def _remember(self, step: int, peers: set[int]) -> None:
        """Chain of consecutive checks at which a peer was slow, on any surface."""
        self._last_check = {
            peer: sorted({*self._last_check.get(peer, []), step}) for peer in peers
        }


def _threshold_of_two(
    charged_s: tuple[float | None, ...], config: ScoutConfig
) -> float:
    quick = min(value for value in charged_s if value is not None)
    return max(quick * (1 + config.floor_rel), quick + config.floor_abs_s)


def _without_names(result: TimingResult) -> TimingResult:
    return TimingResult(
        status=Status.INCONCLUSIVE,
        outliers=(False,) * result.n,
        missing=result.missing,
        median=result.median,
        scale=result.scale,
        scale_from=result.scale_from,
        threshold=result.threshold,
        k=result.k,
        n=result.n,
    )
