"""The launch page's ways in and out: clone, import, export, dry run."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from harness.scenario import catalogue, load, to_yaml
from tests.webapp.conftest import RecordingLauncher
from tests.webapp.test_pages import HTML

CLEAN = to_yaml(load(catalogue()["clean"]))


def test_a_clone_has_a_name_of_its_own_and_the_same_text(client: TestClient) -> None:
    view = client.get("/launch.json?scenario=clean&clone=true").json()
    assert view["name"] == "clean-copy"
    assert view["canonical"] == CLEAN


def test_an_imported_file_is_opened_and_an_exported_one_is_the_same(
    client: TestClient,
) -> None:
    page = client.post(
        "/launch/import", files={"file": ("mine.yaml", CLEAN, "text/yaml")}
    )
    assert page.status_code == 200
    assert 'value="mine"' in page.text
    answer = client.post(
        "/launch/export", data={"yaml": CLEAN, "source": "yaml", "name": "mine"}
    )
    assert answer.text == CLEAN
    assert answer.headers["content-disposition"].endswith('filename="mine.yaml"')


def test_the_runtime_is_chosen_at_the_top_of_the_form_not_among_defaults(
    client: TestClient,
) -> None:
    form = client.get("/launch?scenario=clean").text
    selector = re.search(r'<select id="f-runtime".*?</select>', form, re.DOTALL)
    assert selector is not None
    assert re.findall(r"<option[^>]*>(\w+)", selector[0]) == [
        "default", "process", "docker",
    ]  # fmt: skip
    assert 0 < selector.start() < form.index('<details class="defaults">')


def test_a_flawed_import_shows_its_flaws(client: TestClient) -> None:
    flawed = {"file": ("a.yaml", "title: x\nsteps: -1\n", "text/yaml")}
    page = client.post("/launch/import", files=flawed)
    assert 'data-flaw="steps"' in page.text


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"file": ("a.yaml", b"\xff\xfe", "text/yaml")}, "no UTF-8 text at byte 0"),
        ({"other": ("a.yaml", b"", "text/yaml")}, "no file was chosen"),
    ],
)
def test_what_is_no_file_of_text_is_refused(
    client: TestClient, files: dict[str, tuple[str, bytes, str]], said: str
) -> None:
    answer = client.post("/launch/import", files=files)
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]


@pytest.mark.parametrize("name", ["../../etc/x", 'a"; b="c', "", "ü" * 99])
def test_the_name_of_an_export_is_always_safe(client: TestClient, name: str) -> None:
    answer = client.post(
        "/launch/export", data={"yaml": CLEAN, "source": "yaml", "name": name}
    )
    header = answer.headers["content-disposition"]
    quoted = header.partition('filename="')[2].removesuffix('"')
    assert answer.status_code == 200
    assert not set(quoted) & set('/\\";')


def test_a_dry_run_answers_and_starts_nothing(
    client: TestClient, launcher: RecordingLauncher
) -> None:
    fields = {"yaml": CLEAN, "source": "yaml"}
    view = client.post("/launch/dry-run.json", data=fields).json()
    names = {item["name"] for item in view["items"]}
    assert {"memory", "queue", "ranks on cores"} <= names
    page = client.post("/launch/dry-run", data=fields, headers=HTML)
    assert f'data-can-run="{"yes" if view["can_run"] else "no"}"' in page.text
    assert launcher.launched == []


def test_a_dry_run_of_a_flawed_scenario_names_the_flaws(client: TestClient) -> None:
    error = client.post("/launch/dry-run.json", data={"yaml": "steps: x"}).json()
    assert error["error"]["code"] == "flawed_scenario"
