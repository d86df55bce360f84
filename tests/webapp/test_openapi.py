"""/openapi.json: every page has a twin, every twin a model, every route its errors."""

from __future__ import annotations

from starlette.testclient import TestClient

STATIC = "/static/"


def test_every_json_answer_has_a_model_and_every_route_names_its_errors(
    client: TestClient,
) -> None:
    document = client.get("/openapi.json").json()
    untyped, silent = [], []
    for path, methods in document["paths"].items():
        if path.startswith(STATIC):
            continue
        for method, operation in methods.items():
            answers = operation["responses"]
            content = answers.get("200", {}).get("content", {})
            if "application/json" in content and not content["application/json"].get(
                "schema"
            ):
                untyped.append(f"{method} {path}")
            if "4XX" not in answers:
                silent.append(f"{method} {path}")
    assert (untyped, silent) == ([], [])
    assert len(document["paths"]) > 20
