"""What routes share, typed: the settings, views, launcher and end of one app."""

from __future__ import annotations

import threading
from typing import Annotated

from fastapi import Depends, Request

from webapp.launcher import Launcher
from webapp.runviews import RunViews
from webapp.settings import Settings


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


def _views(request: Request) -> RunViews:
    views: RunViews = request.app.state.views
    return views


def _launcher(request: Request) -> Launcher:
    launcher: Launcher = request.app.state.launcher
    return launcher


def _stopping(request: Request) -> threading.Event:
    stopping: threading.Event = request.app.state.stopping
    return stopping


SettingsOf = Annotated[Settings, Depends(_settings)]
ViewsOf = Annotated[RunViews, Depends(_views)]
LauncherOf = Annotated[Launcher, Depends(_launcher)]
StoppingOf = Annotated[threading.Event, Depends(_stopping)]
