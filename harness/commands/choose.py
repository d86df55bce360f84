"""Find the scenario or the run that a user means by a word."""

from __future__ import annotations

import difflib
from pathlib import Path

from harness.errors import Flaw, ScenarioError, UnknownRun
from harness.scenario import catalogue
from harness.store import RunDirectory, Store

LAST = "last"


def scenario_file(word: str) -> tuple[str, Path]:
    """(name, file) of a scenario that ships, or of a file of the user's.

    Raises:
        ScenarioError: there is neither.
    """
    known = catalogue()
    if word in known:
        return word, known[word]
    path = Path(word)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return path.stem, path
    close = difflib.get_close_matches(word, known, 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    flaw = Flaw(
        file="faultyard run",
        line=None,
        field="scenario",
        value=repr(word),
        allowed=f"a file, or one of {', '.join(known)}",
        message=f"no such scenario{hint}",
    )
    raise ScenarioError([flaw])


def run_of(word: str, runs_dir: Path) -> RunDirectory:
    """The run of that id, or the newest for `last`.

    Raises:
        UnknownRun: there is none.
    """
    store = Store(runs_dir)
    if word != LAST:
        return store.open(word)
    runs = store.runs()
    if not runs:
        raise UnknownRun(f"no runs in {runs_dir}; start one with `faultyard run clean`")
    return runs[0]
