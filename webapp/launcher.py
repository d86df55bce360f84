"""Start and cancel runs: the one door from the dashboard to `harness.launch`.

A protocol, so that tests of pages need no training job.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from harness import launch
from harness.errors import Flaw, ScenarioError
from harness.scenario import Scenario
from harness.store import RunDirectory


class Launcher(Protocol):
    """Makes runs in one runs folder."""

    def launch(
        self, scenario: Scenario, *, name: str, command: str | None
    ) -> RunDirectory:
        """Start a run; returns as soon as its folder is there.

        Raises:
            ScenarioError: it is not for the dashboard to start.
            InfrastructureError: it cannot be started.
        """

    def cancel(self, run: RunDirectory) -> bool:
        """Ask a run to end; False where it has ended already."""


class HarnessLauncher:
    """Real runs."""

    def __init__(self, runs_root: Path) -> None:
        self._runs_root = runs_root

    def launch(
        self, scenario: Scenario, *, name: str, command: str | None
    ) -> RunDirectory:
        """Start the run's own process; a script of the user's is refused.

        Who reaches the page may choose faults, and not which files run on this machine.
        """
        if scenario.workload.script is not None:
            flaw = Flaw(
                file="dashboard", line=None, field="workload.script",
                value=scenario.workload.script, message="is not started from the page",
                allowed=command or "faultyard run --script, on the command line",
            )  # fmt: skip
            raise ScenarioError([flaw])
        return launch.launch(
            scenario, runs_root=self._runs_root, name=name, command=command
        )

    def cancel(self, run: RunDirectory) -> bool:
        """Leave the request in the run's control folder."""
        return launch.cancel(run)
