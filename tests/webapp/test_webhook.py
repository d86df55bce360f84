"""The webhook: every verdict once, signed, whatever the receiver does."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests import run_builder as rb
from webapp.webhook import FILE, SIGNATURE, Hook, Webhook


class Receiver:
    """A server on loopback that notes what comes, and answers as told."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.signatures: list[str] = []
        self.answers: list[int] = []  # status codes to give first; then 204
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                outer.bodies.append(self.rfile.read(length))
                outer.signatures.append(self.headers.get(SIGNATURE, ""))
                self.send_response(outer.answers.pop(0) if outer.answers else 204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


def webhook(root: Path, url: str, secret: str = "") -> Webhook:
    hook = Hook(url=url, secret=secret, base_url="http://127.0.0.1:1/")
    return Webhook(root, hook, pauses_s=(0.0, 0.0))


def test_a_verdict_is_told_once_and_signed(tmp_path: Path, receiver: Receiver) -> None:
    run = rb.sdc_run(tmp_path)
    hook = webhook(tmp_path, receiver.url, "secret")
    assert hook.look() == 1
    assert hook.look() == 0
    [body] = receiver.bodies
    data = json.loads(body)
    assert data["run_id"] == run.run_id
    assert data["url"] == f"http://127.0.0.1:1/runs/{run.run_id}"
    assert data["verdict"]["blamed"] == ["rank2"]
    digest = hmac.new(b"secret", body, hashlib.sha256).hexdigest()
    assert receiver.signatures == [f"sha256={digest}"]


def test_errors_are_tried_again_and_a_receiver_that_is_away_loses_nothing(
    tmp_path: Path, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    rb.sdc_run(tmp_path)
    receiver.answers = [500, 503]
    hook = webhook(tmp_path, receiver.url)
    assert hook.look() == 1
    assert len(receiver.bodies) == 3
    rb.straggler_run(tmp_path)
    receiver.answers = [500] * 6
    assert (hook.look(), hook.look()) == (0, 0)
    assert caplog.text.count("does not take verdicts") == 1
    assert hook.look() == 1


def test_a_restarted_server_tells_nothing_twice_and_forgets_nothing(
    tmp_path: Path, receiver: Receiver
) -> None:
    rb.sdc_run(tmp_path)
    first = webhook(tmp_path, receiver.url)
    first.start()  # what is there at the very first start counts as told
    first.stop()
    rb.straggler_run(tmp_path)
    second = webhook(tmp_path, receiver.url)
    second.start()
    second.look()
    second.stop()
    third = webhook(tmp_path, receiver.url)
    third.start()
    third.stop()
    assert third.look() == 0
    told = [json.loads(body)["verdict"]["kind"] for body in receiver.bodies]
    assert told == ["straggler"]


def test_a_damaged_file_of_what_was_told_counts_as_a_first_start(
    tmp_path: Path, receiver: Receiver
) -> None:
    rb.sdc_run(tmp_path)
    (tmp_path / FILE).write_text('{"cursors": 3}')
    hook = webhook(tmp_path, receiver.url)
    hook.start()
    hook.stop()
    assert hook.look() == 0


def test_a_wrong_address_is_named() -> None:
    with pytest.raises(ValueError, match="allowed: an http or https address"):
        Hook(url="ftp://x/y")


def test_nothing_is_told_where_nobody_listens(tmp_path: Path) -> None:
    rb.sdc_run(tmp_path)
    assert webhook(tmp_path, "http://127.0.0.1:9/").look() == 0


def test_an_answer_that_is_no_http_is_a_refusal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rb.sdc_run(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def babble() -> None:
            for _ in range(6):  # three tries, two looks
                connection, _ = server.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"babble\r\n\r\n")

        thread = threading.Thread(target=babble, daemon=True)
        thread.start()
        hook = webhook(tmp_path, f"http://127.0.0.1:{server.getsockname()[1]}/")
        assert (hook.look(), hook.look()) == (0, 0)
        thread.join(5)
    assert [r.message.count("does not take") for r in caplog.records] == [1]


def test_a_verdict_of_a_source_with_any_name_is_told(
    tmp_path: Path, receiver: Receiver
) -> None:
    run = rb.sdc_run(tmp_path)
    for file in run.events.glob("*.jsonl"):
        if b"VerdictIssued" in file.read_bytes():
            file.rename(file.with_name("flight-recorder.jsonl"))
    assert webhook(tmp_path, receiver.url).look() == 1
