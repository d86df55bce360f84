"""Put the dashboard together: settings in, FastAPI application out.

browser ─► security.Gate ─► routes/{scenarios,launching,runs,parts,…}
                               └─► runviews ─► harness.views ─► run directory
                               └─► launcher ─► harness.launch
"""

from __future__ import annotations

import threading

from fastapi import FastAPI

from harness.store import Store
from webapp import errors
from webapp.launcher import HarnessLauncher, Launcher
from webapp.login import Doorkeeper
from webapp.routes import (
    assets,
    coverage,
    details,
    experiments,
    exports,
    fabric,
    launching,
    login,
    metrics,
    parts,
    qualifications,
    runs,
    scenarios,
    stream,
    waiting,
)
from webapp.runviews import RunViews
from webapp.security import Gate
from webapp.settings import Settings

DESCRIPTION = "Every page has a JSON twin: its path with `.json` behind it."


def create_app(settings: Settings, launcher: Launcher | None = None) -> FastAPI:
    """The application over `settings.runs_root`.

    Args:
        launcher: starts and cancels runs; None: real ones.
    """
    app = FastAPI(
        title="Faultyard",
        description=DESCRIPTION,
        version="0.1.0",
        docs_url=None,  # FastAPI's documentation pages load scripts from the network
        redoc_url=None,
    )
    app.state.settings = settings
    app.state.stopping = threading.Event()  # set by `serve`: streams end by themselves
    app.state.views = RunViews(Store(settings.runs_root))
    app.state.launcher = launcher or HarnessLauncher(settings.runs_root)
    for module in (assets, scenarios, launching, coverage, stream, parts, details,
                   experiments, exports, fabric, waiting, login, metrics,
                   qualifications, runs):  # fmt: skip
        app.include_router(module.router)
    errors.install(app)
    app.state.doorkeeper = Doorkeeper(settings.token) if settings.token else None
    app.add_middleware(
        Gate, max_body_bytes=settings.max_body_bytes,
        doorkeeper=app.state.doorkeeper,
        allowed_hosts=(settings.host, *settings.allowed_hosts),
    )  # fmt: skip
    return app
