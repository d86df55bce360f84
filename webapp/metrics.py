"""What the dashboard tells Prometheus: counts of the runs folder at this moment.

Called by `routes.metrics`. Labels are bounded: outcomes and states only, never a run, a
rank or a scenario. One query of the index and one look at the queue; no run is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from harness import queue
from harness.index import UNFINISHED, Index
from harness.results import Outcome


class RunsCollector(Collector):
    """The metrics of one runs folder."""

    def __init__(self, runs_root: Path) -> None:
        self._root = runs_root.resolve()

    def collect(self) -> Iterator[Metric]:
        """Every metric, with a sample for each label that there can be."""
        index = Index.of(self._root)
        index.sync()
        totals = {total.outcome or UNFINISHED: total for total in index.totals()}
        labels = [*(outcome.value for outcome in Outcome), UNFINISHED]
        runs = GaugeMetricFamily(
            "faultyard_runs", "Runs in the folder.", labels=["outcome"]
        )
        walls = GaugeMetricFamily(
            "faultyard_runs_wall_seconds", "Wall time of these runs together.",
            labels=["outcome"], unit="seconds",
        )  # fmt: skip
        verdicts = GaugeMetricFamily(
            "faultyard_verdicts", "Verdicts that these runs issued.", labels=["outcome"]
        )
        for label in labels:
            total = totals.get(label)
            runs.add_metric([label], total.num_runs if total else 0)
            walls.add_metric([label], total.wall_s if total else 0.0)
            verdicts.add_metric([label], total.num_verdicts if total else 0)
        yield from (runs, walls, verdicts)
        live = queue.live_run_ids(self._root)
        yield GaugeMetricFamily(
            "faultyard_queue_runs", "Runs that go on or wait for their turn.",
            value=len(live),
        )  # fmt: skip
        build = GaugeMetricFamily("faultyard_build", "Always 1.", labels=["version"])
        build.add_metric([_version()], 1)
        yield build


def exposition(runs_root: Path) -> bytes:
    """Everything in Prometheus' text format, version 0.0.4."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(RunsCollector(runs_root))
    return generate_latest(registry)


def _version() -> str:
    try:
        return metadata.version("faultyard")
    except metadata.PackageNotFoundError:
        return "unknown"
