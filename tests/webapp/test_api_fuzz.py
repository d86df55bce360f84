"""The API under whatever its schema allows, and what it does not: no 500.

Requests are drawn by Schemathesis from the OpenAPI document.
"""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from tests import run_builder as rb
from tests.webapp.conftest import RecordingLauncher
from webapp.app import create_app
from webapp.settings import Settings

HOST = "127.0.0.1:8321"
BOUNDS = settings(
    max_examples=5, deadline=None, derandomize=True, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


def test_no_request_ends_in_a_server_error(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("fuzz") / "runs"
    for make in (rb.sdc_run, rb.hang_run, rb.torn_run):
        make(root)
    app = create_app(Settings(runs_root=root), RecordingLauncher(root))
    schema = schemathesis.openapi.from_asgi(
        "/openapi.json", app, headers={"host": HOST}
    )
    headers = {"host": HOST, "origin": f"http://{HOST}"}
    paths, wrong = set(), []
    for found in schema.get_all_operations():
        operation = found.ok()
        if "stream" in operation.path or operation.path.endswith("events"):
            continue  # they do not end

        @BOUNDS
        @given(case=operation.as_strategy())
        def ask(case: schemathesis.Case) -> None:
            answer = case.call(headers=headers)
            paths.add(case.path)
            if answer.status_code >= 500:
                wrong.append((case.method, case.path, case.query, answer.text[:200]))

        ask()
    assert wrong == []
    assert len(paths) > 15
