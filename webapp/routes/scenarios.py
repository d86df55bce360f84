"""What can be tested: scenarios by family of fault, filtered, to take away as YAML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import RedirectResponse, Response

from harness.scenario import catalogue
from harness.views import gallery
from harness.views.gallery import Family, FamilyFilter
from harness.views.listing import RunRow, rows
from webapp.errors import ErrorBody
from webapp.state import SettingsOf, ViewsOf
from webapp.templating import answer

router = APIRouter(responses={"4XX": {"model": ErrorBody}})
NUM_RECENT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioList:
    """The scenarios page; `family` and `query` are the filter that is set."""

    families: tuple[Family, ...]
    filters: tuple[FamilyFilter, ...]
    family: str
    query: str
    num_scenarios: int
    recent: tuple[RunRow, ...]


@router.get("/", include_in_schema=False)
def home() -> Response:
    """Start where a run starts."""
    return RedirectResponse("/scenarios", status_code=307)


@router.get("/scenarios.json", response_model=ScenarioList)
@router.get("/scenarios", include_in_schema=False)
def scenario_list(
    request: Request,
    settings: SettingsOf,
    views: ViewsOf,
    family: Annotated[str, Query(max_length=40)] = "",
    query: Annotated[str, Query(alias="q", max_length=200)] = "",
) -> Response:
    """The scenarios that fit the filter, by family, and the newest runs."""
    cards = gallery.cards(catalogue(settings.scenarios))
    known = {card.family for card in cards}
    if family and family not in known:
        allowed = ", ".join(sorted(known))
        raise HTTPException(404, f"no family {family!r}; allowed: {allowed}")
    shown = gallery.families(cards, family, query)
    view = ScenarioList(
        families=shown,
        filters=gallery.filters(cards, query),
        family=family,
        query=query,
        num_scenarios=sum(len(item.scenarios) for item in shown),
        recent=rows(views.store.runs()[:NUM_RECENT]),
    )
    return answer(request, "scenarios.html", view, title="Scenarios")


@router.get("/scenarios/{name}.yaml", response_class=Response)
def export(name: str, settings: SettingsOf) -> Response:
    """A scenario's file, to keep or to change elsewhere."""
    text = scenario_path(settings.scenarios, name).read_text("utf-8")
    return yaml_file(text, name)


def yaml_file(text: str, name: str) -> Response:
    """YAML as a download of a safe name."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:60]
    return Response(
        text,
        media_type="application/yaml",
        headers={
            "content-disposition": f'attachment; filename="{safe or "scenario"}.yaml"'
        },
    )


def scenario_path(folder: Path, name: str) -> Path:
    """The file of a scenario that ships; only names of the catalogue are opened."""
    found = catalogue(folder)
    if name not in found:
        allowed = ", ".join(found)
        raise HTTPException(404, f"no scenario {name!r}; allowed: {allowed}")
    return found[name]
