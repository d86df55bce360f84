"""The dashboard listens on this machine only and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from webapp.settings import NotLoopback, Settings


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.3.2.1"])
def test_loopback_is_accepted(host: str) -> None:
    assert Settings(runs_root=Path("runs"), host=host).host == host


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])
def test_another_address_is_an_error_that_names_the_allowed_ones(host: str) -> None:
    with pytest.raises(NotLoopback, match=r"allowed: localhost, 127\.0\.0\.1, ::1"):
        Settings(runs_root=Path("runs"), host=host)


def test_a_port_outside_its_range_is_an_error() -> None:
    with pytest.raises(ValueError, match="port is 70000; allowed: 1 to 65535"):
        Settings(runs_root=Path("runs"), port=70_000)
