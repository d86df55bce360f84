"""The gallery: families, filters, and files to take away."""

from __future__ import annotations

from starlette.testclient import TestClient

from harness.scenario import catalogue
from tests.webapp.test_pages import HTML


def shown(client: TestClient, query: str) -> set[str]:
    view = client.get(f"/scenarios.json?{query}").json()
    return {card["name"] for family in view["families"] for card in family["scenarios"]}


def test_a_family_shows_its_scenarios_only(client: TestClient) -> None:
    view = client.get("/scenarios.json?family=hang").json()
    assert [family["key"] for family in view["families"]] == ["hang"]
    assert {"hang-backward", "observer-killed"} <= shown(client, "family=hang")
    assert "sdc-parameter" not in shown(client, "family=hang")


def test_words_are_searched_within_the_family(client: TestClient) -> None:
    assert shown(client, "family=sdc&q=SIGN+weights") == {"sdc-parameter-sign"}
    assert shown(client, "q=no+such+words") == set()
    assert "No scenario fits." in client.get("/scenarios?q=no+such+words").text


def test_counts_of_the_filter_are_those_of_the_search(client: TestClient) -> None:
    view = client.get("/scenarios.json?q=backward").json()
    counts = {item["key"]: item["count"] for item in view["filters"]}
    assert counts[""] == len(shown(client, "q=backward"))
    assert counts["hang"] == len(shown(client, "q=backward&family=hang"))


def test_an_unknown_family_names_the_known_ones(client: TestClient) -> None:
    error = client.get("/scenarios.json?family=weather").json()["error"]
    assert "allowed: control, crash" in error["message"]


def test_a_scenario_is_exported_as_its_own_file(client: TestClient) -> None:
    answer = client.get("/scenarios/clean.yaml")
    assert answer.content == catalogue()["clean"].read_bytes()
    assert answer.headers["content-disposition"].endswith('filename="clean.yaml"')
    assert client.get("/scenarios/none.yaml", headers=HTML).status_code == 404
