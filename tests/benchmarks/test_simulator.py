"""The simulator benchmark measures what it names; `make bench` judges its goals."""

from __future__ import annotations

from benchmarks.simulator import Size, claims


def test_both_kernels_are_timed_on_the_same_ring() -> None:
    stream, events, crowded = claims(Size(stream_packets=2_000, event_packets=500))
    assert [claim.goal for claim in (stream, events, crowded)] == [">= 1", None, ">= 1"]
    assert events.baseline == stream.value
    assert crowded.baseline == 1e6
