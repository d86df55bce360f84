"""Is a run still going, and is what we show still fresh? Pure (DESIGN sec. 4).

Called by `run` for the badge of a page and to know when its event stream is over.

    results.json              -> ended
    process there, fresh      -> live        process there, silent -> stale N s
    process gone, no results  -> killed      its turn not come yet -> queued
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from harness.views import wording

# Observers beat each second by default (ScoutConfig.heartbeat_s) and training steps
# are shorter; five silent seconds are no delay of ours.
STALE_AFTER_S = 5.0


class LiveState(StrEnum):
    """What a viewer may believe of the page."""

    QUEUED = "queued"
    LIVE = "live"
    STALE = "stale"
    ENDED = "ended"
    KILLED = "killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Liveness:
    """The badge: state, what it means, and how old the newest event is."""

    state: LiveState
    text: str
    phase: str
    silent_s: float | None  # None: there is no event yet, or the run is over
    is_final: bool  # nothing more will come


def liveness(
    *,
    phase: str,
    has_results: bool,
    has_ended: bool,
    is_alive: bool,
    newest_ns: int,
    has_events: bool,
    now_ns: int,
) -> Liveness:
    """Judge a run by its files, its process and its newest sign of life.

    Args:
        is_alive: whether the run's own process lives.
        newest_ns: wall time of the newest event, or of the run's creation.
    """
    age_s = max(0.0, (now_ns - newest_ns) / 1e9)

    def make(state: LiveState, text: str, *, final: bool) -> Liveness:
        silent = None if final or not has_events else age_s
        return Liveness(
            state=state, text=text, phase=phase, silent_s=silent, is_final=final
        )

    if has_results:
        return make(LiveState.ENDED, "ended", final=True)
    if is_alive:
        if phase in ("", "queued"):
            return make(LiveState.QUEUED, "queued", final=False)
        if age_s > STALE_AFTER_S:
            text = f"stale: no event for {wording.seconds(float(round(age_s)))}"
            return make(LiveState.STALE, text, final=False)
        return make(LiveState.LIVE, "live", final=False)
    text = "killed before its check" if has_ended else "killed while it ran"
    return make(LiveState.KILLED, text, final=True)
