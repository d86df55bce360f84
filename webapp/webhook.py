"""Tells a URL of every verdict, from one thread beside the server.

    event files ─► new verdicts ─► POST, again with longer pauses ─► noted as sent

What was told is kept in the runs folder, so that a restarted server tells nothing twice
and forgets nothing; what a folder held before the first start is not told. A receiver
that is slow or away delays what comes after, never a run. Started by `serve`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel

from harness.store import RunDirectory, Store, write_atomically
from vocab.codec import to_json
from vocab.events import VerdictIssued
from vocab.verdict import Verdict

FILE = ".webhook.json"
LOOK_S = 1.0
TIMEOUT_S = 5.0
PAUSES_S = (1.0, 2.0, 4.0, 8.0)
SIGNATURE = "X-Faultyard-Signature"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """Where verdicts go; with a secret each body is signed (HMAC-SHA256)."""

    url: str
    secret: str = ""
    base_url: str = ""  # of this dashboard, for permalinks

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise ValueError(
                f"webhook is {self.url!r}; allowed: an http or https address"
            )


class _Kept(BaseModel):
    """The file: where each run was read to, and what was told behind that."""

    format: int = 1
    cursors: dict[str, str]
    told: dict[str, list[str]]


class Webhook:
    """The thread and what it has told."""

    def __init__(
        self, runs_root: Path, hook: Hook, *, pauses_s: tuple[float, ...] = PAUSES_S
    ) -> None:
        self._root = runs_root
        self._hook = hook
        self._pauses_s = pauses_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True, name="webhook")
        self._cursors: dict[str, str] = {}
        self._told: dict[str, list[str]] = {}  # behind the run's cursor
        self._is_failing = False

    def start(self) -> None:
        """Begin; what is there already counts as told at the very first start."""
        kept = self._read()
        if kept is None:
            self._cursors = {run.run_id: run.reader().read().cursor
                             for run in Store(self._root).runs()}  # fmt: skip
            self._write()
        else:
            self._cursors, self._told = kept
        self._thread.start()

    def stop(self) -> None:
        """End; what was not told yet is told at the next start."""
        self._stopping.set()
        self._thread.join(TIMEOUT_S + 1.0)

    def look(self) -> int:
        """Tell what is new; returns how many verdicts were told."""
        number = 0
        for run in Store(self._root).runs():
            before = self._cursors.get(run.run_id, "")
            try:
                batch = run.reader().read(before)
            except (OSError, ValueError):
                continue
            for stamped in batch.events:
                if not isinstance(stamped.event, VerdictIssued):
                    continue
                verdict = stamped.event.verdict
                if verdict.verdict_id in self._told.get(run.run_id, ()):
                    continue
                if not self._tell(run, verdict):
                    return number  # again at the next look, from the same place
                number += 1
                self._told.setdefault(run.run_id, []).append(verdict.verdict_id)
                self._write()
            if batch.cursor != before:
                self._cursors[run.run_id] = batch.cursor
                self._told.pop(run.run_id, None)
                self._write()
        return number

    def _work(self) -> None:
        while not self._stopping.wait(LOOK_S):
            try:
                self.look()
            except Exception:  # telling must never end the server
                _log.exception("webhook")

    def _tell(self, run: RunDirectory, verdict: Verdict) -> bool:
        body = json.dumps(self._document(run, verdict), allow_nan=False).encode()
        for pause_s in (0.0, *self._pauses_s):
            if self._stopping.wait(pause_s):
                return False
            problem = self._post(body)
            if problem is None:
                self._is_failing = False
                return True
        if not self._is_failing:  # once for a receiver that stays away
            self._is_failing = True
            _log.warning("webhook %s does not take verdicts: %s", self._shown, problem)
        return False

    def _post(self, body: bytes) -> str | None:
        headers = {"content-type": "application/json", "user-agent": "faultyard"}
        if self._hook.secret:
            digest = hmac.new(self._hook.secret.encode(), body, hashlib.sha256)
            headers[SIGNATURE] = f"sha256={digest.hexdigest()}"
        request = urllib.request.Request(self._hook.url, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S):
                return None
        except (OSError, ValueError, HTTPException) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            return str(error).strip()

    def _document(self, run: RunDirectory, verdict: Verdict) -> dict[str, Any]:
        meta = run.meta()
        return {
            "format": 1,
            "run_id": run.run_id,
            "scenario": meta.scenario_name if meta else "",
            "url": f"{self._hook.base_url.rstrip('/')}/runs/{run.run_id}",
            "verdict": to_json(verdict),
        }

    @property
    def _shown(self) -> str:
        """The address without what may be secret in it."""
        parts = urlsplit(self._hook.url)
        return f"{parts.scheme}://{parts.hostname}{parts.path}"

    def _read(self) -> tuple[dict[str, str], dict[str, list[str]]] | None:
        """What was kept; None: nothing, or nothing readable."""
        try:
            text = (self._root / FILE).read_text(encoding="utf-8")
            kept = _Kept.model_validate_json(text)
        except (OSError, ValueError):
            return None
        return kept.cursors, kept.told

    def _write(self) -> None:
        self._root.mkdir(parents=True, exist_ok=True)
        kept = _Kept(cursors=self._cursors, told=self._told)
        write_atomically(self._root / FILE, kept.model_dump_json() + "\n")
