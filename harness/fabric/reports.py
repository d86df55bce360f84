"""Reports of leaf controllers as events of the run, and back. Pure.

`vocab` knows no SprayCheck, and SprayCheck no run: this is where the two meet. Called
by `detection`; changes no number.
"""

from __future__ import annotations

from spraycheck.report import PathsReported
from spraycheck.ztest import FlowResult, SpineResult
from vocab.fabric_events import PathsCompared, SpineCount


def compared(report: PathsReported, step: int) -> PathsCompared:
    """The event that keeps a report."""
    result = report.result
    return PathsCompared(
        step=step,
        source_leaf=report.source_leaf,
        target_leaf=report.target_leaf,
        num_packets=result.num_packets,
        expected=result.expected,
        threshold=result.threshold,
        sensitivity=result.sensitivity,
        smallest_drop_frac=result.smallest_drop_frac,
        spines=tuple(
            SpineCount(
                spine=item.spine,
                count=item.count,
                margin=item.margin,
                z=item.z,
                p_value=item.p_value,
                failed=item.failed,
            )
            for item in result.spines
        ),
        is_conclusive=report.is_conclusive,
        reason_code=report.reason_code,
        packets_still_needed=report.packets_still_needed,
        num_flows=report.num_flows,
        started_ns=report.started_ns,
        ended_ns=report.ended_ns,
    )


def reported(event: PathsCompared) -> PathsReported:
    """The report that an event keeps."""
    return PathsReported(
        source_leaf=event.source_leaf,
        target_leaf=event.target_leaf,
        result=FlowResult(
            num_packets=event.num_packets,
            expected=event.expected,
            threshold=event.threshold,
            sensitivity=event.sensitivity,
            smallest_drop_frac=event.smallest_drop_frac,
            spines=tuple(
                SpineResult(
                    spine=item.spine,
                    count=item.count,
                    margin=item.margin,
                    z=item.z,
                    p_value=item.p_value,
                    failed=item.failed,
                )
                for item in event.spines
            ),
        ),
        is_conclusive=event.is_conclusive,
        reason_code=event.reason_code,
        packets_still_needed=event.packets_still_needed,
        num_flows=event.num_flows,
        started_ns=event.started_ns,
        ended_ns=event.ended_ns,
    )
