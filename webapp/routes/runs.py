"""Runs: the list, one run, starting one, ending one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Form, HTTPException, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from harness.errors import ScenarioError
from harness.figures.catalogue import FIGURES
from harness.index import Index
from harness.scenario import Scenario, load
from harness.store import RunDirectory
from harness.views.listing import RunRow, rows
from harness.views.run import RunView
from harness.views.tail import tail_view
from webapp import editor
from webapp.errors import ErrorBody
from webapp.routes.parts import FilterOf
from webapp.routes.scenarios import scenario_path
from webapp.routes.zooming import ZoomOf
from webapp.state import LauncherOf, SettingsOf, ViewsOf
from webapp.templating import answer, page

router = APIRouter(responses={"4XX": {"model": ErrorBody}})
PAGE_SIZE = 50
RunFilter = Literal["pass", "fail", "inconclusive", "not-injected",
                    "infrastructure-error", "cancelled", "unfinished"]  # fmt: skip
SEE_OTHER = 303


@dataclass(frozen=True, slots=True, kw_only=True)
class RunList:
    """One page of runs, newest first."""

    runs: tuple[RunRow, ...]
    num_runs: int  # that the filter leaves
    page: int
    num_pages: int
    outcome: str | None  # the filter
    scenario: str | None
    by_outcome: dict[str, int]  # as the other filter leaves them
    by_scenario: dict[str, int]


@router.get("/runs.json", response_model=RunList)
@router.get("/runs", include_in_schema=False)
def run_list(
    request: Request,
    views: ViewsOf,
    number: Annotated[int, Query(alias="page", ge=1, le=1_000_000)] = 1,
    outcome: Annotated[RunFilter | None, Query()] = None,
    scenario: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Runs of the folder, 50 a page; all, or those of an outcome or a scenario."""
    index = Index.of(views.store.root)
    index.sync()
    wanted = {"outcome": outcome, "scenario": scenario or None}
    by_outcome, by_scenario = index.counts(**wanted)
    num_runs = (by_outcome.get(outcome, 0) if outcome is not None
                else sum(by_outcome.values()))  # fmt: skip
    found = index.rows(limit=PAGE_SIZE, offset=(number - 1) * PAGE_SIZE, **wanted)
    view = RunList(
        runs=rows(RunDirectory(path=views.store.root / row.run_id) for row in found),
        num_runs=num_runs,
        page=number,
        num_pages=max(1, -(-num_runs // PAGE_SIZE)),
        by_outcome=by_outcome,
        by_scenario=by_scenario,
        **wanted,
    )
    return answer(request, "runs.html", view, title="Runs")


@router.post("/runs", status_code=SEE_OTHER)
async def launch(
    request: Request, settings: SettingsOf, views: ViewsOf, launcher: LauncherOf
) -> Response:
    """Launch; answers at once with the run's page.

    Fields: `scenario` (a name of the catalogue), `rerun` (a run's id: the same file and
    seed), or `source` with `yaml` or the form's.
    """
    form = await request.form(max_fields=2000, max_files=0)
    pairs = [(name, str(value)) for name, value in form.multi_items()]
    fields = dict(pairs)
    name = fields.get("scenario") or fields.get("name") or "edited"
    try:
        if fields.get("rerun"):
            scenario, command, name = _again(views.store.open(fields["rerun"]))
        else:
            scenario, command = _wanted(fields, pairs, settings)
    except ScenarioError:
        if "text/html" not in request.headers.get("accept", ""):
            raise
        return _flawed(fields, pairs, name)
    run = await run_in_threadpool(launcher.launch, scenario, name=name, command=command)
    return RedirectResponse(f"/runs/{run.run_id}", status_code=SEE_OTHER)


# The decorator nearest to the function is matched first: an id may not end in .json.
@router.get("/runs/{run_id}", include_in_schema=False)
@router.get("/runs/{run_id}.json", response_model=RunView)
def run_page(
    request: Request, run_id: str, views: ViewsOf, wanted: FilterOf, zoom: ZoomOf
) -> Response:
    """One run: verdict first, ground truth beside it, evidence below.

    The query holds the page's state: filter of events, zoom of the grids.
    """
    view = views.view(run_id)
    tail = tail_view(views.facts(run_id), wanted)
    return answer(request, "run.html", view, title=view.origin.title, figures=FIGURES,
                  tail=tail, zoom=zoom)  # fmt: skip


@router.post("/runs/{run_id}/cancel", status_code=SEE_OTHER)
def cancel(
    run_id: str,
    views: ViewsOf,
    launcher: LauncherOf,
    back: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Ask a run to end; it heals its faults and cleans up before it does.

    `back` is where to go then: the run's page, or `/queue`.
    """
    run = views.store.open(run_id)
    if not launcher.cancel(run):
        raise HTTPException(409, f"run {run_id} is not going on any more")
    target = "/queue" if back == "/queue" else f"/runs/{run_id}"
    return RedirectResponse(target, status_code=SEE_OTHER)


def _again(run: RunDirectory) -> tuple[Scenario, str | None, str]:
    """(scenario with its seed, command, name) of an earlier run."""
    meta = run.meta()
    command = meta.command if meta and run.run_id not in meta.command else None
    return run.scenario(), command, meta.scenario_name if meta else "again"


def _wanted(
    fields: dict[str, str], pairs: editor.Pairs, settings: SettingsOf
) -> tuple[Scenario, str | None]:
    """(scenario, command that repeats it; None: running its own file)."""
    shipped = fields.get("scenario", "")
    if shipped:
        scenario = load(scenario_path(settings.scenarios, shipped))
        return scenario, f"faultyard run {shipped}"
    if "source" not in fields and "yaml" not in fields:
        raise HTTPException(
            422, "nothing to launch; allowed: scenario, rerun, yaml or form"
        )
    return editor.scenario_of(pairs), None


def _flawed(fields: dict[str, str], pairs: editor.Pairs, name: str) -> Response:
    if fields.get("source") == "form":
        view = editor.of_form(pairs, name)
    else:
        view = editor.of_text(fields.get("yaml", ""), name)
    text = page("launch.html", view=view, title=f"Launch {name}")
    return HTMLResponse(text, status_code=422)
