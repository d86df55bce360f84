"""A run's events as a stream (SSE) that can be taken up again anywhere.

    browser ──GET /runs/<id>/events, Last-Event-ID──► reader from that cursor
            ◄── event: verdict, evidence, …   which parts changed (no id)
            ◄── event: events, id: <cursor>   the events themselves
            ◄── event: final                  nothing more will come

The id is the opaque cursor behind all events of its message, so a client that lost the
connection, or whose server was restarted, gets every later event exactly once.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import AsyncIterator, Iterable
from typing import Annotated

import anyio
from fastapi import APIRouter, Header, HTTPException
from starlette.responses import Response, StreamingResponse

from harness.events import Batch, EventReader, decode_cursor
from vocab import events as ev
from vocab import fabric_events as fab
from vocab.events import Stamped, encode
from webapp.errors import ErrorBody
from webapp.runviews import RunViews
from webapp.state import SettingsOf, StoppingOf, ViewsOf

router = APIRouter(responses={"4XX": {"model": ErrorBody}})
KEEP_ALIVE_S = 15.0
RETRY_MS = 1000
ALWAYS = ("tail", "status")
TOPICS: dict[type[ev.Event], tuple[str, ...]] = {
    ev.StepEnded: ("progress",),
    ev.ProcessStarted: ("progress",),
    ev.ProcessExited: ("progress",),
    ev.TierReported: ("progress",),
    ev.CheckCompleted: ("verdict", "evidence", "timeline"),
    ev.VerdictIssued: ("verdict", "timeline", "progress"),
    ev.IncidentClosed: ("verdict", "timeline"),
    ev.DetectorDisabled: ("verdict", "notices"),
    ev.DetectorRestarted: ("notices",),
    ev.Problem: ("notices",),
    ev.ObserverReady: ("observers",),
    ev.ObserverHeartbeat: ("observers",),
    ev.ProgressCompared: ("observers", "rings"),
    ev.FaultTriggered: ("truth",),
    ev.FaultFailed: ("truth",),
    ev.FaultInjected: ("truth", "timeline", "evidence", "progress"),
    ev.FaultHealed: ("truth", "timeline", "evidence", "progress"),
    ev.PhaseChanged: ("timeline",),
    fab.FabricReady: ("fabric",),
    fab.FlowCounted: ("fabric",),
    fab.PathsCompared: ("fabric",),
    fab.RoutingChanged: ("fabric",),
}
ALL_TOPICS = ("verdict", "truth", "notices", "timeline", "evidence", "progress",
              "observers", "rings", "fabric", *ALWAYS)  # fmt: skip


@router.get("/runs/{run_id}/events", response_class=StreamingResponse)
def event_stream(
    run_id: str,
    settings: SettingsOf,
    views: ViewsOf,
    stopping: StoppingOf,
    cursor: str = "",
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """Server-sent events from `cursor` or Last-Event-ID until the run is over."""
    start = last_event_id or cursor
    try:
        decode_cursor(start)
    except ValueError as error:
        raise HTTPException(422, str(error)) from None
    run = views.store.open(run_id)
    return StreamingResponse(
        messages(run_id, run.reader(), start, views, settings.stream_poll_s, stopping),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


async def messages(
    run_id: str,
    reader: EventReader,
    cursor: str,
    views: RunViews,
    poll_s: float,
    stopping: threading.Event,
) -> AsyncIterator[str]:
    """The stream's text; looks at the files at most every `poll_s` seconds.

    Ends without a last word when the server stops: the client comes back for the rest.
    """
    yield f"retry: {RETRY_MS}\n\n"
    spoken = time.monotonic()
    while not stopping.is_set():
        # Asked before the read: what was written until the end is still delivered.
        state = await anyio.to_thread.run_sync(views.liveness, run_id)
        batch = await anyio.to_thread.run_sync(reader.read, cursor)
        cursor = batch.cursor
        if batch.events:
            yield message_of(batch)
            spoken = time.monotonic()
        if state.is_final:
            yield final_message(cursor)
            return
        if time.monotonic() - spoken > KEEP_ALIVE_S:
            yield ": still here\n\n"
            spoken = time.monotonic()
        await anyio.sleep(poll_s)


def topics(events: Iterable[Stamped]) -> list[str]:
    """Which parts of a page these events change."""
    found: dict[str, None] = {}
    for stamped in events:
        found.update(dict.fromkeys(TOPICS.get(type(stamped.event), ())))
    return [*found, *ALWAYS]


def message_of(batch: Batch) -> str:
    """The messages of one batch; the id comes last, when all has been said."""
    data = json.dumps({"events": [encode(stamped) for stamped in batch.events]})
    return _changed(topics(batch.events)) + (
        f"id: {batch.cursor}\nevent: events\ndata: {data}\n\n"
    )


def final_message(cursor: str) -> str:
    """The last word: results were written after the last event, so all may change."""
    return f"{_changed(ALL_TOPICS)}id: {cursor}\nevent: final\ndata: {{}}\n\n"


def _changed(names: Iterable[str]) -> str:
    return "".join(f"event: {name}\ndata: {{}}\n\n" for name in names)
