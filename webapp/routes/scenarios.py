"""What can be tested, and the page that launches it: form and YAML side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from harness.errors import Flaw, ScenarioError
from harness.scenario import Scenario, catalogue, load, to_yaml
from harness.views import wording
from harness.views.listing import RunRow, rows
from injectors.registry import FAULTS
from vocab.codec import to_json
from webapp import editor
from webapp.errors import ErrorBody
from webapp.state import SettingsOf, ViewsOf
from webapp.templating import answer, page

router = APIRouter(responses={"4XX": {"model": ErrorBody}})
NUM_RECENT = 5
BLANK = "title: New scenario\nsteps: 12\nworkload:\n  parallel:\n    replicate: 4\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioCard:
    """One scenario file, or what is wrong with it."""

    name: str
    title: str
    description: str
    summary: str
    faults: tuple[str, ...]  # "sdc.parameter on rank2"
    proves: tuple[str, ...]
    expects: str
    flaws: tuple[Flaw, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioList:
    """The scenarios page."""

    scenarios: tuple[ScenarioCard, ...]
    recent: tuple[RunRow, ...]


@router.get("/", include_in_schema=False)
def home() -> Response:
    """Start where a run starts."""
    return RedirectResponse("/scenarios", status_code=307)


@router.get("/scenarios.json", response_model=ScenarioList)
@router.get("/scenarios", include_in_schema=False)
def scenario_list(request: Request, settings: SettingsOf, views: ViewsOf) -> Response:
    """All scenarios that ship, and the newest runs."""
    found = catalogue(settings.scenarios)
    view = ScenarioList(
        scenarios=tuple(_card(name, path) for name, path in found.items()),
        recent=rows(views.store.runs()[:NUM_RECENT]),
    )
    return answer(request, "scenarios.html", view, title="Scenarios")


@router.get("/launch.json", response_model=editor.Editor)
@router.get("/launch", include_in_schema=False)
def launch_page(
    request: Request,
    settings: SettingsOf,
    views: ViewsOf,
    scenario: str = "",
    run: str = "",
) -> Response:
    """A scenario (or that of an earlier run) to change and launch."""
    if run:
        directory = views.store.open(run)
        meta = directory.meta()
        name = meta.scenario_name if meta else "edited"
        text = to_yaml(directory.scenario())
    elif scenario:
        name = scenario
        text = scenario_path(settings.scenarios, scenario).read_text("utf-8")
    else:
        name, text = "new", BLANK
    view = editor.of_text(text, name)
    return answer(request, "launch.html", view, title=f"Launch {name}")


@router.post("/launch/check.json", response_model=editor.Editor)
@router.post("/launch/check", include_in_schema=False)
async def check(request: Request) -> Response:
    """Both sides after a change of one of them, with every flaw."""
    form = await request.form(max_fields=2000, max_files=0)
    pairs = [(name, str(value)) for name, value in form.multi_items()]
    fields = dict(pairs)
    name = fields.get("name", "edited")
    if fields.get("source") == "form":
        view = editor.of_form(pairs, name, fields.get("action", ""))
    else:
        view = editor.of_text(fields.get("yaml", ""), name)
    if request.url.path.endswith(".json"):
        return JSONResponse(to_json(view))
    redraws_form = view.source == "yaml" or bool(fields.get("action"))
    return HTMLResponse(page("_editor.html", view=view, redraws_form=redraws_form))


def scenario_path(folder: Path, name: str) -> Path:
    """The file of a scenario that ships; only names of the catalogue are opened."""
    found = catalogue(folder)
    if name not in found:
        allowed = ", ".join(found)
        raise HTTPException(404, f"no scenario {name!r}; allowed: {allowed}")
    return found[name]


def _card(name: str, path: Path) -> ScenarioCard:
    try:
        scenario = load(path)
    except ScenarioError as error:
        return ScenarioCard(
            name=name, title=name, description="", summary="", faults=(), proves=(),
            expects="", flaws=tuple(error.flaws),
        )  # fmt: skip
    faults = scenario.faults
    return ScenarioCard(
        name=name,
        title=scenario.title,
        description=scenario.description,
        summary=editor.summary(scenario),
        faults=tuple(
            f"{fault.kind} on rank{getattr(fault, 'rank', '?')}" for fault in faults
        ),
        proves=tuple(
            dict.fromkeys(FAULTS[f.kind].proves for f in faults if f.kind in FAULTS)
        ),
        expects=_expects(scenario),
        flaws=(),
    )


def _expects(scenario: Scenario) -> str:
    if not scenario.expect:
        return "Nobody may be blamed."
    parts = []
    for item in scenario.expect:
        whom = [*(f"rank{rank}" for rank in item.ranks), *item.links]
        found = wording.incident(item.kind, item.state, whom)
        parts.append(f"{found} by step {item.by_step}")
    return wording.sentence("; ".join(parts))
