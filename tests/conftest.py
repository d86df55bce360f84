"""Settings of all tests: property tests draw the same examples on every run."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# No deadlines: two busy cores make any single example slow now and then.
settings.register_profile(
    "faultyard",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("faultyard")
