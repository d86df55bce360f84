"""Settings of all tests: property tests draw the same examples on every run."""

from __future__ import annotations

import functools
import os

import pytest
from hypothesis import HealthCheck, settings

# No deadlines: two busy cores make any single example slow now and then.
settings.register_profile(
    "faultyard",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("faultyard")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without a daemon or the image a test of containers is skipped, by name.

    REQUIRE=docker makes that a failure.
    """
    if item.get_closest_marker("docker") is None:
        return
    why_not = docker_is_missing()
    if not why_not:
        return
    if "docker" in os.environ.get("REQUIRE", ""):
        pytest.fail(why_not)
    pytest.skip(why_not)


@functools.cache
def docker_is_missing() -> str:
    """Why containers cannot run here; empty: they can."""
    from harness.machine import docker_item

    item = docker_item(is_optional=False)
    return "" if item.is_ok else f"{item.name}: {item.found}; {item.fix}"
