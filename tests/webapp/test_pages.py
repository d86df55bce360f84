"""Pages and their JSON twins: lists, launch page, run page, errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from harness.scenario import catalogue, load, to_yaml
from harness.store import Store
from tests import run_builder as rb
from tests.webapp.conftest import RecordingLauncher
from webapp.routes.parts import PARTS

HTML = {"accept": "text/html"}
SDC_ID = "20261130-221600-sdc-parameter-0002"


def test_the_scenario_list_has_every_shipped_scenario(client: TestClient) -> None:
    families = client.get("/scenarios.json").json()["families"]
    names = [item["name"] for family in families for item in family["scenarios"]]
    page = client.get("/scenarios").text
    assert sorted(names) == sorted(catalogue())
    assert all(f'data-scenario="{name}"' in page for name in names)


def test_home_leads_to_the_scenarios(client: TestClient) -> None:
    assert client.get("/").headers["location"] == "/scenarios"


def test_launching_a_shipped_scenario_answers_303_to_its_run(
    client: TestClient, launcher: RecordingLauncher
) -> None:
    answer = client.post("/runs", data={"scenario": "sdc-parameter"})
    ((scenario, name, command),) = launcher.launched
    assert answer.status_code == 303
    assert client.get(answer.headers["location"]).status_code == 200
    assert scenario == load(catalogue()["sdc-parameter"])
    assert (name, command) == ("sdc-parameter", "faultyard run sdc-parameter")


def test_launching_yaml_writes_the_canonical_file(
    client: TestClient, launcher: RecordingLauncher, root: Path
) -> None:
    text = "steps: 6\ntitle: Mine   # a comment\nseed: 0\n"
    answer = client.post("/runs", data={"yaml": text, "source": "yaml", "name": "mine"})
    run = Store(root).open(answer.headers["location"].rpartition("/")[2])
    written = (run.path / "scenario.yaml").read_text()
    assert written == to_yaml(launcher.launched[0][0])
    assert written == "title: Mine\nseed: 0\nsteps: 6\nexpect: []\n"


def test_a_flawed_launch_shows_the_flaws_and_starts_nothing(
    client: TestClient, launcher: RecordingLauncher
) -> None:
    fields = {"yaml": "title: x\nsteps: -1\n", "source": "yaml"}
    page = client.post("/runs", data=fields, headers=HTML)
    assert (page.status_code, 'data-line="2"' in page.text) == (422, True)
    error = client.post("/runs", data=fields).json()["error"]
    assert error["code"] == "flawed_scenario"
    assert (error["flaws"][0]["field"], error["flaws"][0]["line"]) == ("steps", 2)
    assert launcher.launched == []


def test_an_alias_bomb_is_a_flaw(client: TestClient) -> None:
    bomb = "a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    error = client.post("/runs", data={"yaml": bomb}).json()["error"]
    assert "alias" in error["flaws"][0]["message"]


def test_a_rerun_has_the_same_file_and_seed(
    client: TestClient, launcher: RecordingLauncher, root: Path
) -> None:
    run = rb.sdc_run(root)
    answer = client.post("/runs", data={"rerun": run.run_id})
    assert answer.status_code == 303
    assert launcher.launched == [
        (run.scenario(), "sdc-parameter", "faultyard run sdc-parameter --seed 7")
    ]
    gone = client.post("/runs", data={"rerun": "20261130-221500-gone-0001"})
    assert gone.status_code == 404


def test_nothing_to_launch_is_an_error_that_names_the_fields(
    client: TestClient,
) -> None:
    error = client.post("/runs").json()["error"]
    assert error["message"].endswith("allowed: scenario, rerun, yaml or form")


def test_an_unknown_scenario_names_the_known_ones(client: TestClient) -> None:
    for answer in (
        client.get("/launch?scenario=../../etc/passwd"),
        client.post("/runs", data={"scenario": "../clean"}),
    ):
        assert answer.status_code == 404
        assert "allowed: clean" in answer.json()["error"]["message"]


def test_live_validation_answers_with_the_other_side(client: TestClient) -> None:
    answer = client.post(
        "/launch/check", data={"source": "yaml", "yaml": "title: x\nstepz: 1\n"}
    )
    assert 'id="flaws" hx-swap-oob="true"' in answer.text
    assert 'id="form-pane" hx-swap-oob="true"' in answer.text
    assert 'id="yaml-pane"' not in answer.text
    answer = client.post("/launch/check", data={"source": "form", "f:title": "x"})
    assert 'id="yaml-pane" hx-swap-oob="true"' in answer.text
    assert 'id="form-pane"' not in answer.text
    twin = client.post("/launch/check.json", data={"source": "form", "f:title": "x"})
    assert twin.json()["canonical"].startswith("title: x\n")


def test_the_launch_page_opens_an_earlier_run(client: TestClient, root: Path) -> None:
    run = rb.sdc_run(root)
    view = client.get(f"/launch.json?run={run.run_id}").json()
    assert view["yaml"] == (run.path / "scenario.yaml").read_text()


def test_the_verdict_is_the_first_thing_on_the_run_page(
    client: TestClient, root: Path
) -> None:
    rb.sdc_run(root)
    page = client.get(f"/runs/{SDC_ID}").text
    verdict, truth = page.index("rank2 computes wrong values"), page.index('id="truth"')
    assert (
        verdict < truth < page.index('id="facts"') < page.index('id="chart-timeline-0"')
    )
    assert "sse-connect" not in page  # it is over: nothing to wait for


def test_a_run_that_goes_on_listens_to_its_stream(
    client: TestClient, launcher: RecordingLauncher, root: Path
) -> None:
    from harness import queue

    run = rb.sdc_run(root, until="verdict")
    ticket = queue.join(root, run.run_id)
    try:
        page = client.get(f"/runs/{run.run_id}").text
    finally:
        ticket.leave()
    assert f'sse-connect="/runs/{run.run_id}/events?cursor=' in page
    assert "Cancel run" in page
    assert "not judged yet" in page


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("maker", [rb.clean_run, rb.hang_run, rb.killed_run])
def test_every_live_part_renders(
    client: TestClient, root: Path, maker, part: str
) -> None:  # type: ignore[no-untyped-def]
    run = maker(root)
    assert client.get(f"/runs/{run.run_id}/parts/{part}").status_code == 200


def test_figures_come_in_both_themes(client: TestClient, root: Path) -> None:
    run = rb.sdc_run(root)
    light = client.get(f"/runs/{run.run_id}/figures/evidence?theme=light").json()
    dark = client.get(f"/runs/{run.run_id}/figures/evidence?theme=dark").json()
    assert light["data"][0]["z"] == dark["data"][0]["z"]
    assert light["data"][0]["colorscale"] != dark["data"][0]["colorscale"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/runs/20261130-221500-gone-0001", 404),
        ("/runs/..%2f..%2fetc", 404),
        ("/runs/x/figures/evidence", 404),
        (f"/runs/{SDC_ID}/figures/pie", 404),
        (f"/runs/{SDC_ID}/figures/evidence?theme=pink", 422),
        (f"/runs/{SDC_ID}/figures/evidence?group=-1", 422),
        (f"/runs/{SDC_ID}/parts/secret", 404),
        (f"/runs/{SDC_ID}/report/pdf", 404),
        ("/runs?page=0", 422),
        ("/nowhere", 404),
    ],
)
def test_errors_have_one_shape_and_no_page_is_a_500(
    client: TestClient, root: Path, path: str, status: int
) -> None:
    rb.sdc_run(root)
    answer = client.get(path)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"status", "code", "message", "flaws"}
    page = client.get(path, headers=HTML)
    assert page.status_code == status
    assert (
        "text/html" in page.headers["content-type"]
        or "json" in page.headers["content-type"]
    )


def test_a_wrong_method_has_the_same_shape(client: TestClient) -> None:
    assert client.post("/scenarios").json()["error"]["code"] == "method_not_allowed"


def test_cancelling_asks_once_and_returns_to_the_run(
    client: TestClient, launcher: RecordingLauncher, root: Path
) -> None:
    run = rb.sdc_run(root)
    answer = client.post(f"/runs/{run.run_id}/cancel")
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        f"/runs/{run.run_id}",
    )
    assert launcher.cancelled == [run.run_id]
    answer = client.post(f"/runs/{run.run_id}/cancel", data={"back": "/queue"})
    assert answer.headers["location"] == "/queue"
    answer = client.post(f"/runs/{run.run_id}/cancel", data={"back": "//elsewhere"})
    assert answer.headers["location"] == f"/runs/{run.run_id}"
    launcher.is_going = False
    assert client.post(f"/runs/{run.run_id}/cancel").status_code == 409


def test_the_run_list_is_paged(client: TestClient, root: Path) -> None:
    for number in range(53):
        rb.RunBuilder(
            root,
            rb.scenario_of("clean"),
            f"20261130-2215{number:02d}-clean-{number:04x}",
        ).close()
    first = client.get("/runs.json").json()
    assert (len(first["runs"]), first["num_runs"], first["num_pages"]) == (50, 53, 2)
    assert first["runs"][0]["run_id"].startswith("20261130-221552")
    assert len(client.get("/runs.json?page=2").json()["runs"]) == 3
    assert "Page 2 of 2" in client.get("/runs?page=2").text
    assert client.get("/runs.json?page=3").json()["runs"] == []


def test_openapi_describes_every_twin(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {
        "/scenarios.json",
        "/coverage.json",
        "/runs.json",
        "/runs/{run_id}.json",
        "/launch.json",
    } <= set(paths)


@given(text=st.text(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_yaml_gets_an_answer_and_never_a_500(client: TestClient, text: str) -> None:
    answer = client.post("/launch/check.json", data={"source": "yaml", "yaml": text})
    assert answer.status_code == 200
