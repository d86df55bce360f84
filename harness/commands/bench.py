"""`faultyard bench` and `faultyard schema`: claims and formats, for programs."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def bench(
    name: Annotated[
        str | None, typer.Argument(help="Which benchmark; without: list them.")
    ] = None,
) -> int:
    """Measure a performance claim: one JSON line each, with its baseline.

    Exit code: 0 all goals are met; 1 one is missed; 2 one could not be measured.
    """
    from benchmarks import registry
    from harness.commands.terminal import plain
    from harness.errors import UsageError

    if name is None:
        for known in registry.BENCHMARKS:
            plain(known)
        return 0
    if name not in registry.BENCHMARKS:
        allowed = ", ".join(sorted(registry.BENCHMARKS))
        raise UsageError(f"benchmark is {name!r}; allowed: {allowed}")
    return registry.run(name)


def schema() -> int:
    """Print the JSON schema of scenario files."""
    from harness.commands.terminal import plain
    from harness.scenario import schema as scenario_schema

    plain(json.dumps(scenario_schema(), indent=1))
    return 0
