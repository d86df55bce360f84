"""/metrics: valid text, bounded labels, the figures of the folder."""

from __future__ import annotations

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from harness.index import UNFINISHED
from harness.results import Outcome
from tests import run_builder as rb


def samples(client: TestClient) -> dict[tuple[str, str], float]:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, sample.labels.get("outcome", "")): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_every_outcome_has_a_sample_before_there_is_a_run(client: TestClient) -> None:
    found = samples(client)
    labels = {label for name, label in found if name == "faultyard_runs"}
    assert labels == {*(outcome.value for outcome in Outcome), UNFINISHED}
    assert set(found.values()) == {0.0, 1.0}  # 1: the build


def test_runs_and_verdicts_are_counted_by_outcome_and_never_named(
    client: TestClient, root: Path
) -> None:
    runs = [rb.sdc_run(root), rb.clean_run(root), rb.killed_run(root)]
    found = samples(client)
    assert found["faultyard_runs", "pass"] == 2
    assert found["faultyard_runs", UNFINISHED] == 1
    assert found["faultyard_verdicts", "pass"] == 1
    text = client.get("/metrics").text
    assert not any(run.run_id in text for run in runs)
    assert "rank" not in text
