"""A user's training script as a file: is it there, is it Python, can it run beside us?

Called by `launch` before a run is made, so that a wrong name costs nothing. It never
runs the script. Stored runs are read without it: their script may be gone by then.
"""

from __future__ import annotations

import os
from pathlib import Path

from harness.errors import Flaw, ScenarioError
from harness.scenario import Scenario

_OURS = ("vocab", "scout", "spraycheck", "injectors", "harness", "webapp")
_ALLOWED = "a Python file that torchrun could start"


def located(scenario: Scenario) -> Scenario:
    """The scenario with its script's paths made absolute; unchanged without a script.

    Relative paths are meant from the current folder, which is also where the script
    runs unless the scenario says otherwise.

    Raises:
        ScenarioError: the script or the folder cannot be used.
    """
    workload = scenario.workload
    if workload.script is None:
        return scenario
    script = Path(workload.script).expanduser().absolute()
    cwd = Path(workload.cwd or ".").expanduser().absolute()
    flaws = _flaws_of(script)
    if not cwd.is_dir():
        flaws.append(_flaw("cwd", "is no folder", str(cwd), "a folder"))
    if flaws:
        raise ScenarioError(flaws)
    there = {"script": os.path.normpath(script), "cwd": os.path.normpath(cwd)}
    return scenario.model_copy(
        update={"workload": workload.model_copy(update=there)}
    )  # fmt: skip


def _flaws_of(script: Path) -> list[Flaw]:
    if not script.is_file():
        message = "is a folder" if script.is_dir() else "is not there"
        return [_flaw("script", message, str(script), _ALLOWED)]
    try:
        source = script.read_bytes()
        compile(source, str(script), "exec", dont_inherit=True)
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
        return [_flaw("script", why, str(script), _ALLOWED)]
    except (SyntaxError, ValueError) as error:  # a null byte is a ValueError
        line = getattr(error, "lineno", None)
        at = f" (line {line})" if line else ""
        what = getattr(error, "msg", None) or str(error)
        return [_flaw("script", f"is not Python: {what}{at}", str(script), _ALLOWED)]
    return [
        _flaw(
            "script",
            f"stands beside {found.name}, which Faultyard has a module of its own for",
            str(script),
            "a folder without modules of that name, or another name for it",
        )
        for name in _OURS
        for found in (script.parent / f"{name}.py", script.parent / name)
        if found.exists() and (found.is_file() or any(found.glob("*.py")))
    ]


def _flaw(field: str, message: str, value: str, allowed: str) -> Flaw:
    return Flaw(file="faultyard run", line=None, field=f"workload.{field}",
                value=value, allowed=allowed, message=message)  # fmt: skip
