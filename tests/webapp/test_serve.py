"""A taken port is told as such, before anything else happens."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from harness.errors import InfrastructureError
from webapp.serve import address, bind
from webapp.settings import Settings


def test_a_taken_port_names_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InfrastructureError, match=f"port {port} .* --port"):
            bind(Settings(runs_root=tmp_path, port=port))


def test_a_free_port_is_bound_once(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = Settings(runs_root=tmp_path, port=port)
    with bind(settings) as listener:
        assert listener.getsockname() == ("127.0.0.1", port)
    assert address(settings) == f"http://127.0.0.1:{port}/"


def test_an_ipv6_address_is_written_in_brackets(tmp_path: Path) -> None:
    assert address(Settings(runs_root=tmp_path, host="::1")) == "http://[::1]:8321/"
