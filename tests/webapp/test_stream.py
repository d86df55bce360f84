"""The event stream gives every event exactly once, wherever it is taken up again."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from harness import queue
from harness.store import Store
from tests import run_builder as rb
from vocab import events as ev
from webapp.routes.stream import ALL_TOPICS, TOPICS, messages, topics
from webapp.runviews import RunViews


def parse(text: str) -> list[dict[str, str]]:
    """The messages of a stream's text."""
    found = []
    for block in text.split("\n\n"):
        pairs = [line.split(": ", 1) for line in block.splitlines() if ": " in line]
        if pairs:
            found.append(dict(pairs))
    return found


def events_of(text: str) -> list[tuple[str, int]]:
    """(source, seq) of all events in a stream's text."""
    return [
        (event["source"], event["seq"])
        for message in parse(text)
        if message.get("event") == "events"
        for event in json.loads(message["data"])["events"]
    ]


def all_events(root: Path, run_id: str) -> list[tuple[str, int]]:
    """What is in the files."""
    batch = Store(root).open(run_id).reader().read()
    return [(stamped.source, stamped.seq) for stamped in batch.events]


def test_a_finished_run_streams_everything_and_ends(
    client: TestClient, root: Path
) -> None:
    run = rb.sdc_run(root)
    answer = client.get(f"/runs/{run.run_id}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert events_of(answer.text) == all_events(root, run.run_id)
    assert parse(answer.text)[-1]["event"] == "final"


def test_last_event_id_resumes_behind_what_was_seen(
    client: TestClient, root: Path
) -> None:
    run = rb.sdc_run(root, until="verdict")
    seen = run.reader().read()
    rb.append(run, "harness", ev.PhaseChanged(phase="healing"))
    answer = client.get(
        f"/runs/{run.run_id}/events", headers={"last-event-id": seen.cursor}
    )
    before = [(stamped.source, stamped.seq) for stamped in seen.events]
    assert before + events_of(answer.text) == all_events(root, run.run_id)
    assert len(events_of(answer.text)) == 2  # the file's new anchor, and the event
    by_query = client.get(f"/runs/{run.run_id}/events", params={"cursor": seen.cursor})
    assert events_of(by_query.text) == events_of(answer.text)


def test_the_id_comes_after_all_that_it_stands_for(
    client: TestClient, root: Path
) -> None:
    run = rb.sdc_run(root)
    found = parse(client.get(f"/runs/{run.run_id}/events").text)
    ids = [index for index, message in enumerate(found) if "id" in message]
    names = [message.get("event") for message in found]
    assert [names[index] for index in ids] == ["events", "final"]
    assert "verdict" in names[: ids[0]]


@pytest.mark.parametrize("cursor", ["nonsense", "AAAA", "é", "x" * 5000])
def test_a_foreign_cursor_is_refused(
    client: TestClient, root: Path, cursor: str
) -> None:
    run = rb.sdc_run(root)
    answer = client.get(f"/runs/{run.run_id}/events", params={"cursor": cursor})
    assert answer.status_code == 422
    assert "no cursor" in answer.json()["error"]["message"]


def test_a_live_run_is_followed_to_its_end(root: Path) -> None:
    run = rb.sdc_run(root, until="verdict")
    ticket = queue.join(root, run.run_id)

    async def follow() -> str:
        stream: AsyncIterator[str] = messages(
            run.run_id, run.reader(), "", RunViews(Store(root)), 0.0, threading.Event()
        )
        text = [await anext(stream), await anext(stream)]  # retry, all so far
        rb.append(run, "rank0", ev.StepEnded(step=7, duration_s=0.1, loss=None))
        text.append(await anext(stream))
        run.write_results(rb.sdc_results())
        rb.append(run, "harness", ev.PhaseChanged(phase="ended"))
        text += [piece async for piece in stream]
        return "".join(text)

    try:
        text = asyncio.run(follow())
    finally:
        ticket.leave()
    assert events_of(text) == all_events(root, run.run_id)
    assert parse(text)[-1]["event"] == "final"
    assert {m.get("event") for m in parse(text)} >= set(ALL_TOPICS)


def test_a_stopping_server_ends_its_streams_without_a_last_word(root: Path) -> None:
    run = rb.sdc_run(root, until="verdict")
    ticket = queue.join(root, run.run_id)
    stopping = threading.Event()

    async def follow() -> str:
        stream = messages(
            run.run_id, run.reader(), "", RunViews(Store(root)), 0.0, stopping
        )
        text = [await anext(stream), await anext(stream)]
        stopping.set()
        return "".join([*text, *[piece async for piece in stream]])

    try:
        text = asyncio.run(follow())
    finally:
        ticket.leave()
    assert [m for m in parse(text) if m.get("event") == "final"] == []


def test_a_killed_run_ends_its_stream(client: TestClient, root: Path) -> None:
    run = rb.killed_run(root)
    assert parse(client.get(f"/runs/{run.run_id}/events").text)[-1]["event"] == "final"


def test_every_topic_has_its_part_of_the_page() -> None:
    folder = Path(__file__).parents[2] / "webapp" / "templates"
    template = "".join(
        (folder / name).read_text("utf-8")
        for name in ("run.html", "_fabric_panel.html")
    )
    assert topics([]) == ["tail", "status"]
    for name in {topic for row in TOPICS.values() for topic in row}:
        assert name in ALL_TOPICS
        assert f"sse:{name}" in template
