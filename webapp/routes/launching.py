"""The page that launches a scenario: form beside YAML, dry run, import and export.

GET  /launch           a scenario, a clone of one, or that of an earlier run
POST /launch/check     both sides after a change of one of them, with every flaw
POST /launch/dry-run   would it run here? with a fix per item
POST /launch/import    a YAML file from elsewhere
POST /launch/export    what stands in the editor, as the file that a launch writes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.responses import HTMLResponse, JSONResponse, Response

from harness.preflight import PreflightItem, can_run, preflight
from harness.scenario import to_yaml
from vocab.codec import to_json
from webapp import editor
from webapp.errors import ErrorBody
from webapp.routes.scenarios import scenario_path, yaml_file
from webapp.state import SettingsOf, ViewsOf
from webapp.templating import answer, page

router = APIRouter(responses={"4XX": {"model": ErrorBody}})
BLANK = "title: New scenario\nsteps: 12\nworkload:\n  parallel:\n    replicate: 4\n"
MAX_FIELDS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """The answer of a dry run."""

    can_run: bool
    items: tuple[PreflightItem, ...]


@router.get("/launch.json", response_model=editor.Editor)
@router.get("/launch", include_in_schema=False)
def launch_page(
    request: Request,
    settings: SettingsOf,
    views: ViewsOf,
    scenario: str = "",
    run: str = "",
    clone: Annotated[bool, Query()] = False,
) -> Response:
    """A scenario (or that of an earlier run) to change and launch."""
    if run:
        directory = views.store.open(run)
        meta = directory.meta()
        name = meta.scenario_name if meta else "edited"
        text = to_yaml(directory.scenario())
    elif scenario:
        name = f"{scenario}-copy" if clone else scenario
        text = scenario_path(settings.scenarios, scenario).read_text("utf-8")
    else:
        name, text = "new", BLANK
    view = editor.of_text(text, name)
    return answer(request, "launch.html", view, title=f"Launch {name}")


@router.post("/launch/check.json", response_model=editor.Editor)
@router.post("/launch/check", include_in_schema=False)
async def check(request: Request) -> Response:
    """Both sides after a change of one of them, with every flaw."""
    pairs = await _pairs(request)
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


@router.post("/launch/dry-run.json", response_model=DryRun)
@router.post("/launch/dry-run", include_in_schema=False)
async def dry_run(request: Request, settings: SettingsOf) -> Response:
    """What a launch would need on this machine, with a fix per item; starts nothing."""
    scenario = editor.scenario_of(await _pairs(request))
    items = await run_in_threadpool(preflight, scenario, settings.runs_root)
    view = DryRun(can_run=can_run(items), items=items)
    if request.url.path.endswith(".json"):
        return JSONResponse(to_json(view))
    return HTMLResponse(page("_preflight.html", view=view))


@router.post("/launch/import", include_in_schema=False)
async def import_file(request: Request) -> Response:
    """A scenario file of the user's, opened in the editor; flaws and all."""
    async with request.form(max_fields=4, max_files=1) as form:
        text, name = await _upload(form)
    view = editor.of_text(text, name)
    return HTMLResponse(page("launch.html", view=view, title=f"Launch {name}"))


@router.post("/launch/export", response_class=Response)
async def export(request: Request) -> Response:
    """What stands in the editor, canonical; flawed text is given back as it is."""
    pairs = await _pairs(request)
    fields = dict(pairs)
    is_form = fields.get("source") == "form"
    view = (
        editor.of_form(pairs, "") if is_form
        else editor.of_text(fields.get("yaml", ""), "")
    )  # fmt: skip
    return yaml_file(view.canonical or view.yaml, fields.get("name", "scenario"))


async def _pairs(request: Request) -> list[tuple[str, str]]:
    form = await request.form(max_fields=MAX_FIELDS, max_files=0)
    return [(name, str(value)) for name, value in form.multi_items()]


async def _upload(form: FormData) -> tuple[str, str]:
    """(text, name) of the uploaded file."""
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise HTTPException(422, "file: no file was chosen; allowed: one YAML file")
    try:
        text = (await file.read()).decode("utf-8")
    except UnicodeDecodeError as error:
        raise HTTPException(
            422, f"file: {file.filename!r} is no UTF-8 text at byte {error.start}"
        ) from None
    name = file.filename.rpartition("/")[2].rsplit(".", 1)[0]
    return text, name or "imported"
