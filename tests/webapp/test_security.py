"""Foreign hosts, foreign origins and long bodies are refused; answers are guarded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from tests.webapp.conftest import RecordingLauncher
from webapp.security import POLICY, refuse

HOST = "127.0.0.1:8321"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8321", "127.0.0.1.evil.example",
             "192.168.1.5:8321", "", "[::ffff:8.8.8.8]", "localhost.evil.example"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/scenarios", "/runs.json", "/static/app.js"])
def test_a_foreign_host_is_refused_everywhere(
    client: TestClient, host: str, path: str
) -> None:
    answer = client.get(path, headers={"host": host})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "foreign_host"


@pytest.mark.parametrize(
    "host", ["localhost:9", "127.0.0.1", "[::1]:8321", "LOCALHOST"]
)
def test_every_name_of_this_machine_is_served(client: TestClient, host: str) -> None:
    assert client.get("/scenarios", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:8321"},
        {"origin": "http://localhost:8321"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize(
    "path", ["/runs", "/runs/20261130-221500-clean-0001/cancel", "/launch/check"]
)
def test_a_foreign_page_cannot_post(
    client: TestClient, launcher: RecordingLauncher, headers: dict[str, str], path: str
) -> None:
    answer = client.post(path, data={"scenario": "clean"}, headers=headers)
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "foreign_origin"
    assert (launcher.launched, launcher.cancelled) == ([], [])


def test_our_own_page_and_programs_may_post(client: TestClient) -> None:
    for headers in (
        {"origin": f"http://{HOST}"},
        {},
        {"sec-fetch-site": "same-origin"},
    ):
        answer = client.post("/runs", data={"scenario": "clean"}, headers=headers)
        assert answer.status_code == 303


def test_a_long_body_is_refused_by_its_length(client: TestClient) -> None:
    answer = client.post("/runs", data={"yaml": "x" * 600_000})
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "body_too_long"


def test_a_long_body_without_a_length_is_refused_while_it_is_read(
    client: TestClient, launcher: RecordingLauncher
) -> None:
    chunks = (b"yaml=" + b"x" * 65_536 for _ in range(20))
    answer = client.post(
        "/runs", content=chunks,
        headers={"content-type": "application/x-www-form-urlencoded"},
    )  # fmt: skip
    assert answer.status_code == 413
    assert launcher.launched == []


@pytest.mark.parametrize(
    "path", ["/scenarios", "/static/app.css", "/nope", "/runs.json"]
)
def test_every_answer_carries_the_policy(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in POLICY.split("style-src")[0]


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40))
def test_any_host_header_is_judged_without_an_error(host: str) -> None:
    refusal = refuse("GET", Headers({"host": host}), 10)
    if refusal is None:
        bare = host.rpartition("@")[2].lower()
        assert bare.startswith(("localhost", "127.", "[::1]", "[0"))
