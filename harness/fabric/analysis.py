"""Link verdicts from a run's stored counts, again (DESIGN sec. 2.2, 2.4). Pure.

Called by `harness.analyze`. Counters go through the same controllers and monitor as
live, in the order in which they were written; a stored comparison lends its place,
which verdicts refer to, and its numbers are the recomputed ones.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import replace

from harness.fabric.detection import MONITOR, Detection
from vocab.events import Event, Stamped, VerdictIssued
from vocab.fabric_events import FlowUnjudged, PathsCompared
from vocab.verdict import Verdict

_DERIVED = (PathsCompared, FlowUnjudged)


def link_verdicts(events: Sequence[Stamped]) -> tuple[Verdict, ...]:
    """What SprayCheck says on the evidence of a run's `fabric` and `leaf*` files.

    Args:
        events: by time; those of other sources are passed over.
    """
    detection = Detection()
    due: dict[str, deque[Event]] = defaultdict(deque)  # recomputed, by source
    found: list[Verdict] = []
    for stamped in events:
        if stamped.source == MONITOR:
            continue
        if isinstance(stamped.event, _DERIVED):
            if not due[stamped.source]:
                continue  # nothing recomputed stands behind it
            stamped = replace(stamped, event=due[stamped.source].popleft())
        for output in detection.on_event(stamped):
            if isinstance(output.event, VerdictIssued):
                found.append(output.event.verdict)
            elif isinstance(output.event, _DERIVED):
                due[output.source].append(output.event)
    return tuple(found)
