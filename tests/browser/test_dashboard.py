"""A person's way through the dashboard, in a real browser, on a real training job."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from harness.figures.evidence import figure
from harness.palette import LIGHT
from harness.report import render
from harness.store import RunDirectory, Store
from harness.views.run import build
from harness.views.source import RunLog
from tests import run_builder as rb
from tests.browser.conftest import SCREENSHOTS, Server
from tests.harness.played_suite import qualified
from vocab.events import CheckCompleted

pytestmark = pytest.mark.browser
# Slow enough to be watched, and to survive a restart of the server in the middle.
WATCHABLE = {"steps": "26", "workload.step_pause_s": "0.5"}
MAKERS = {
    "clean": rb.clean_run,
    "sdc": rb.sdc_run,
    "straggler": rb.straggler_run,
    "hang": rb.hang_run,
    "killed": rb.killed_run,
    "torn": rb.torn_run,
}
WIDTHS = (400, 1280, 2560)
# The other pages are this run page with other contents.
EVERY_WIDTH = ("scenarios", "launch", "runs", "coverage", "error", "report", "run-sdc",
               "qualification", "experiments", "rank")  # fmt: skip
# The others are the run page with other contents.
AXE_LEAVES_OUT = ("run-straggler", "run-killed", "run-torn", "run-clean")
SERIOUS = ("serious", "critical")
EXCUSED = "status of 404|ERR_NETWORK_CHANGED"
NUM_COLUMNS = (
    "(document.querySelector('#chart-evidence-0')?.data ?? [])[0]?.x.length ?? 0"
)


def wait_until(page: Any, expression: str, timeout_s: float = 20) -> None:
    """Wait for a JavaScript expression to hold.

    Playwright's own wait_for_function needs `unsafe-eval`, which our policy refuses.
    """
    deadline = time.monotonic() + timeout_s
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, f"still not so: {expression}"
        time.sleep(0.05)


def first_check_s(run: RunDirectory) -> float:
    """Wall time of the first finished check, seconds."""
    reader = run.reader()
    checks = [
        reader.wall_ns(stamped)
        for stamped in reader.read().events
        if isinstance(stamped.event, CheckCompleted)
    ]
    return min(checks) / 1e9


@pytest.mark.jobs
def test_launch_watch_restart_and_export(
    browser: Any, server: Server, tmp_path: Path
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{server.url}/scenarios")
    page.click("[data-scenario=sdc-parameter] >> text=Clone")
    page.wait_for_selector("#launch")
    page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    for path, value in WATCHABLE.items():
        page.fill(f"[name='f:{path}']", value)
    # The YAML beside the form follows, and stays valid.
    for text in ("step_pause_s: 0.5", "steps: 26"):
        wait_until(page, f"document.getElementById('yaml').value.includes('{text}')")
    page.wait_for_selector("#flaws.is-valid")
    yaml_shown = page.input_value("#yaml")

    asked = time.monotonic()
    page.click("#launch")
    page.wait_for_url("**/runs/*")
    assert time.monotonic() - asked < 5
    run = Store(server.runs_root).open(page.url.rpartition("/")[2])
    assert (run.path / "scenario.yaml").read_text("utf-8") == yaml_shown
    page.evaluate("window.neverReloaded = true")

    # A heatmap cell within two seconds of its check.
    wait_until(page, f"({NUM_COLUMNS}) > 0", timeout_s=60)
    delay_s = time.time() - first_check_s(run)
    assert delay_s < 2, f"the first cell came {delay_s:.2f} s after its check"

    # The verdict, while the run still goes on.
    page.wait_for_selector("#verdict [data-state=attributed]", timeout=60_000)
    assert "rank2" in page.inner_text("#verdict h2")
    assert run.results() is None
    assert page.get_attribute("#status [data-live]", "data-live") == "live"

    # The server dies and comes back: the page says so, and loses nothing.
    server.kill()
    page.wait_for_selector("#lost:not([hidden])", timeout=10_000)
    assert "No connection" in page.inner_text("#lost")
    server.start()
    page.wait_for_selector("#lost", state="hidden", timeout=20_000)
    assert run.results() is None, "the run ended before the server was back"
    page.wait_for_selector("#status [data-live=ended]", timeout=60_000)
    assert page.evaluate("window.neverReloaded")
    view = build(RunLog(run).read())
    drawn = figure(view, LIGHT)["data"][0]["x"]
    wait_until(page, f"({NUM_COLUMNS}) === {len(drawn)}")
    shown = f"{view.num_events} events"
    wait_until(page, f"document.querySelector('#tail').innerText.startsWith('{shown}')")
    assert "pass" in page.inner_text("#status [data-figure=outcome]")
    assert page.inner_text("#truth [data-status=found] [data-figure=latency]") == (
        view.truth.expected[0].latency_text
    )

    with page.expect_download() as download:
        page.click(".exports >> text=HTML")
    target = tmp_path / "report.html"
    download.value.save_as(target)
    assert target.read_bytes() == render(run, "html")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "real-run.png", full_page=True)
    page.close()


@pytest.mark.jobs
def test_a_run_is_launched_by_one_click_and_cancelled_by_another(
    browser: Any, server: Server
) -> None:
    page = browser.new_page()
    page.goto(f"{server.url}/scenarios")
    page.click("[data-scenario=clean] >> text=Launch")
    page.wait_for_url("**/runs/*")
    run = Store(server.runs_root).open(page.url.rpartition("/")[2])
    page.click("text=Cancel run")
    page.wait_for_selector("#status [data-live=ended]", timeout=60_000)
    assert "cancelled" in page.inner_text("#status [data-figure=outcome]")
    results = run.results()
    assert results is not None
    assert results.outcome.value == "cancelled"
    page.close()


def test_flaws_are_shown_where_they_are_while_typing(
    browser: Any, server: Server
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{server.url}/launch?scenario=sdc-parameter")
    page.fill("[name='f:faults.0.rank']", "9")
    page.wait_for_selector("#flaws [data-flaw='faults.0.rank']")
    assert "allowed: 0..3" in page.inner_text("#flaws")
    assert page.get_attribute("[name='f:faults.0.rank']", "aria-invalid") == "true"
    line = int(page.get_attribute("#flaws [data-flaw]", "data-line"))
    assert "rank: 9" in page.input_value("#yaml").splitlines()[line - 1]
    page.screenshot(path=_shot("launch-flawed", "light", 1280), full_page=True)

    page.fill("#yaml", "title: Mine\nsteps: 3\nworkload: {parallel: {replicate: 4}}\n")
    page.wait_for_selector("#flaws.is-valid")
    wait_until(page, "document.getElementById('f-steps').value === '3'")
    page.click(".adder summary")
    page.click("text=Add straggler.compute")
    page.wait_for_selector("[name='f:faults.0.delay_s']", state="attached")
    page.fill("[name='f:faults.0.rank']", "1")
    page.fill("[name='f:faults.0.at_step']", "2")
    page.wait_for_selector("#flaws.is-valid")
    assert "straggler.compute" in page.input_value("#yaml")
    page.click(".item >> text=Remove")
    wait_until(page, "!document.getElementById('yaml').value.includes('straggler')")
    page.close()


def test_the_theme_is_kept(browser: Any, server: Server) -> None:
    context = browser.new_context(color_scheme="light")
    page = context.new_page()
    page.goto(f"{server.url}/scenarios")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    page.goto(f"{server.url}/runs")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    context.close()


def test_every_page_fits_every_width_in_both_themes(
    browser: Any, tmp_path: Path
) -> None:
    server = Server(tmp_path / "runs")
    runs = {name: make(server.runs_root) for name, make in MAKERS.items()}
    qualified(tmp_path / "made")
    (tmp_path / "qualifications").mkdir()
    os.rename(tmp_path / "made" / "out", tmp_path / "qualifications" / "played")
    report = tmp_path / "report.html"
    report.write_bytes(render(runs["sdc"], "html"))
    pages = {
        "scenarios": f"{server.url}/scenarios",
        "launch": f"{server.url}/launch?scenario=sdc-parameter",
        "runs": f"{server.url}/runs",
        "queue": f"{server.url}/queue",
        "coverage": f"{server.url}/coverage",
        "experiments": f"{server.url}/experiments",
        "qualifications": f"{server.url}/qualifications",
        "qualification": f"{server.url}/qualifications/played",
        "login": f"{server.url}/login",
        "rank": f"{server.url}/runs/{runs['sdc'].run_id}/ranks/2",
        "error": f"{server.url}/runs/nothing",
        "report": report.as_uri(),
        **{
            f"run-{name}": f"{server.url}/runs/{run.run_id}"
            for name, run in runs.items()
        },
    }
    server.start()
    try:
        for theme in ("light", "dark"):
            for name, url in pages.items():
                _shoot(browser, name, url, theme)
    finally:
        server.kill()


def _shoot(browser: Any, name: str, url: str, theme: str) -> None:
    complaints: list[str] = []
    context = browser.new_context(color_scheme=theme)
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console", lambda m: complaints.append(m.text) if m.type == "error" else None
    )
    page.goto(url)
    page.evaluate("document.fonts.ready")
    if name.startswith("run-"):
        wait_until(
            page,
            "[...document.querySelectorAll('.chart')]"
            ".every((chart) => chart.querySelector('.main-svg'))",
        )
    everywhere = name in EVERY_WIDTH and (theme == "light" or name == "run-sdc")
    for width in WIDTHS if everywhere else (1280,):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(150)  # Plotly redraws itself after a resize
        root = "document.documentElement"
        overflow = page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
        assert overflow <= 0, f"{name} at {width} px is {overflow} px too wide"
        page.screenshot(path=_shot(name, theme, width), full_page=True)
    if name not in AXE_LEAVES_OUT:
        assert serious_flaws(page) == [], f"{name} in {theme}"
    context.close()
    # The error page has its status; a container elsewhere changes the interfaces.
    unexpected = [t for t in complaints if not re.search(EXCUSED, t)]
    assert unexpected == [], f"{name} in {theme}"


def serious_flaws(page: Any) -> list[str]:
    """What axe finds on a page that keeps somebody from using it."""
    found = Axe().run(page).response["violations"]
    return [
        f"{flaw['id']}: {node['html'][:200]}"
        for flaw in found
        if flaw["impact"] in SERIOUS
        for node in flaw["nodes"]
    ]


def _shot(name: str, theme: str, width: int) -> Path:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    return SCREENSHOTS / f"{name}-{theme}-{width}.png"
