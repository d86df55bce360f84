"""Beyond loopback nobody gets in without the token; on loopback nobody needs one."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.webapp.conftest import RecordingLauncher
from webapp.app import create_app
from webapp.login import COOKIE, MAX_WRONG, WINDOW_S, Doorkeeper
from webapp.settings import NotLoopback, Settings

TOKEN = "a-token-of-some-length"
AT = "http://yard.example:8321"


@pytest.fixture
def outside(tmp_path: Path) -> TestClient:
    """A client on another machine."""
    settings = Settings(runs_root=tmp_path / "runs", host="0.0.0.0", token=TOKEN,
                        allowed_hosts=("yard.example",))  # fmt: skip
    app = create_app(settings, RecordingLauncher(tmp_path / "runs"))
    return TestClient(app, base_url=AT, follow_redirects=False)


PATHS = ("/scenarios", "/runs.json", "/metrics", "/openapi.json", "/queue", "/coverage")


@pytest.mark.parametrize("path", PATHS)
def test_every_page_asks_for_the_token(outside: TestClient, path: str) -> None:
    answer = outside.get(path)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "no_token"
    wrong = outside.get(path, headers={"authorization": f"Bearer {TOKEN}x"})
    assert wrong.status_code == 401
    right = outside.get(path, headers={"authorization": f"Bearer {TOKEN}"})
    assert right.status_code == 200


def test_a_browser_logs_in_once_and_holds_no_token(outside: TestClient) -> None:
    assert outside.get("/login").status_code == 200
    assert outside.get("/static/app.css").status_code == 200
    wrong = outside.post("/login", data={"token": "no"}, headers={"origin": AT})
    assert (wrong.status_code, "not the token" in wrong.text) == (401, True)
    right = outside.post("/login", data={"token": TOKEN}, headers={"origin": AT})
    assert right.status_code == 303
    cookie = right.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in right.headers["set-cookie"]
    assert outside.get("/scenarios").status_code == 200
    outside.cookies.set(COOKIE, "0" * 64, domain="yard.example")
    outside.cookies.delete(COOKIE, domain="yard.example")
    assert outside.get("/scenarios").status_code == 401


def test_a_foreign_name_or_page_is_refused_whatever_it_knows(
    outside: TestClient,
) -> None:
    known = {"authorization": f"Bearer {TOKEN}"}
    foreign = outside.get("/scenarios", headers={**known, "host": "evil.example"})
    assert foreign.status_code == 403
    post = outside.post("/launch", headers={**known, "origin": "http://evil.example"})
    assert post.status_code == 403


def test_after_ten_wrong_tokens_the_right_one_waits_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("webapp.login.time.monotonic", lambda: now[0])
    door = Doorkeeper(TOKEN)
    assert not any(door.is_right("wrong") for _ in range(MAX_WRONG))
    assert not door.is_right(TOKEN)
    now[0] = WINDOW_S + 1
    assert door.is_right(TOKEN)


def test_on_loopback_there_is_no_login(client: TestClient) -> None:
    assert client.get("/scenarios").status_code == 200
    headers = {"origin": "http://127.0.0.1:8321"}
    answer = client.post("/login", data={"token": "x"}, headers=headers)
    assert answer.status_code == 404


def test_the_server_does_not_listen_to_others_without_a_token(tmp_path: Path) -> None:
    with pytest.raises(NotLoopback, match="--token-file"):
        Settings(runs_root=tmp_path, host="0.0.0.0")
    with pytest.raises(ValueError, match="allowed: 16 or more"):
        Settings(runs_root=tmp_path, host="0.0.0.0", token="short")


def test_a_proxy_that_ends_tls_can_post(outside: TestClient) -> None:
    origin = {"origin": AT.replace("http:", "https:")}
    answer = outside.post("/login", data={"token": TOKEN}, headers=origin)
    assert answer.status_code == 303
