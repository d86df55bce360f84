"""`faultyard run --script`: a scenario from the command line, for a user's script.

    --script train.py --ranks 4 --fault hang.frozen --rank 2 --at-step 20 -- --lr 0.1
       ─► the same data that a scenario file holds ─► the same scenario machinery

Called by `run`. What is not said is chosen here and stored with the run: settings for a
short test run, and the expectation that follows from the faults (`expected`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.errors import UsageError
from harness.expected import expected_of
from harness.scenario import Scenario, from_data
from harness.scenario_text import Source, compose, override

HERE = "faultyard run"
STEPS = 100
SILENCE_S = 10.0
REPLAY_EVERY = 5
_LASTS = 3
"""A hang lasts this many times the silence after which it is looked into."""

_TIMED = ("hang.frozen", "hang.deadlock", "hang.backward", "hang.equal_progress")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnScript:
    """What the command line says of the run, as it stands there."""

    script: Path
    ranks: int | None
    steps: int | None
    faults: tuple[str, ...]  # KIND or KIND,field=value,...
    rank: int | None
    at_step: int | None
    faults_file: Path | None
    expect: tuple[str, ...]
    args: tuple[str, ...]
    seed: int | None
    settings: tuple[str, ...]


def of_script(asked: OwnScript) -> tuple[Scenario, str, str]:
    """(scenario, name, command that repeats it); see `scenario_of`."""
    name = re.sub(r"[^a-z0-9]+", "-", asked.script.stem.lower()).strip("-")[:40]
    return scenario_of(asked), name or "script", command_of(asked, Path.cwd())


def refuse_without_script(
    options: Mapping[str, object], arguments: Sequence[str]
) -> None:
    """Options that say something of a script need one.

    Raises:
        UsageError: one is given, and there is no script.
    """
    given = [name for name, value in options.items() if value not in (None, [])]
    if given:
        raise UsageError(
            f"{given[0]} goes with --script; a scenario says it itself, and --set "
            "changes its fields"
        )
    if arguments:
        raise UsageError(
            f"one scenario at a time; {arguments[0]!r} is one too many (arguments go "
            "to a --script)"
        )


def scenario_of(asked: OwnScript) -> Scenario:
    """The scenario that the command line describes.

    Raises:
        UsageError: an option is of the wrong form, or fits no other.
        ScenarioError: a field is wrong; its flaws name each.
    """
    if asked.ranks is None:
        raise UsageError("--script needs --ranks, the number of its ranks")
    data: dict[str, Any] = {
        "title": f"{asked.script.name} on {_ranks(asked.ranks)}",
        "steps": STEPS if asked.steps is None else asked.steps,
        "workload": {
            "script": str(asked.script),
            "args": list(asked.args),
            "parallel": {"replicate": asked.ranks},
        },
        "scout": {"silence_s": SILENCE_S, "replay_every": REPLAY_EVERY},
        **_from_file(asked.faults_file),
    }
    if asked.seed is not None:
        data["seed"] = asked.seed
    if asked.faults:
        data["faults"] = [*data.get("faults", []), *_faults(asked)]
    elif asked.rank is not None or asked.at_step is not None:
        raise UsageError("--rank and --at-step say where a --fault strikes; there is "
                         "no --fault")  # fmt: skip
    if asked.expect:
        data["expect"] = _expect(asked.expect)
    source = Source(HERE)
    data = override(data, asked.settings, source)
    _let_hangs_last(data)
    scenario = from_data(data, source)
    if "expect" in data:
        return scenario
    found = expected_of(
        scenario.faults, num_ranks=scenario.num_ranks, steps=scenario.steps
    )  # fmt: skip
    data["expect"] = [item.model_dump(mode="json") for item in found]
    return from_data(data, source)


def command_of(asked: OwnScript, cwd: Path) -> str:
    """The command that repeats the run from any folder."""
    words = ["faultyard", "run", "--script", str(asked.script.absolute()),
             "--ranks", str(asked.ranks)]  # fmt: skip
    for fault in asked.faults:
        words += ["--fault", fault]
    options = {"--steps": asked.steps, "--rank": asked.rank,
               "--at-step": asked.at_step, "--seed": asked.seed}  # fmt: skip
    for option, value in options.items():
        if value is not None:
            words += [option, str(value)]
    if asked.faults_file is not None:
        words += ["--faults", str(asked.faults_file.absolute())]
    for text in asked.expect:
        words += ["--expect", text]
    for setting in (f"workload.cwd={cwd}", *asked.settings):
        words += ["--set", setting]
    if asked.args:
        words += ["--", *asked.args]
    return shlex.join(words)


def _ranks(count: int) -> str:
    return "1 rank" if count == 1 else f"{count} ranks"


def _faults(asked: OwnScript) -> list[dict[str, Any]]:
    shared = {"rank": asked.rank, "at_step": asked.at_step}
    given = {name: value for name, value in shared.items() if value is not None}
    return [{**given, **_fields("--fault", text)} for text in asked.faults]


def _expect(texts: Sequence[str]) -> list[dict[str, Any]]:
    if "nobody" in texts:
        if len(texts) > 1:
            raise UsageError("--expect nobody: it stands alone")
        return []
    return [_fields("--expect", text) for text in texts]


def _fields(option: str, text: str) -> dict[str, Any]:
    """`KIND,a=1,b=[2,3]` as the mapping that a scenario file has."""
    kind, _, rest = text.partition(",")
    form = f"{option} {text}: must be of the form KIND,field=value,..."
    try:
        # YAML's own flow style knows where a list of values ends.
        fields = yaml.safe_load("{" + rest.replace("=", ": ") + "}")
    except yaml.YAMLError:
        raise UsageError(form) from None
    if not isinstance(fields, dict) or any(v is None for v in fields.values()):
        raise UsageError(form)
    return {"kind": kind, **fields}


def _from_file(path: Path | None) -> dict[str, Any]:
    """Faults, and perhaps what is expected of them, as a scenario file writes them."""
    if path is None:
        return {}
    try:
        data, _ = compose(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--faults {path}: cannot be read: {error}") from None
    if isinstance(data, list):
        return {"faults": data}
    if isinstance(data, dict) and data.keys() <= {"faults", "expect"}:
        return data
    raise UsageError(f"--faults {path}: must be a list of faults, or a mapping of "
                     "faults and expect")  # fmt: skip


def _let_hangs_last(data: dict[str, Any]) -> None:
    """A hang that is over before anybody looks could not be found."""
    scout = data.get("scout")
    silence = scout.get("silence_s", SILENCE_S) if isinstance(scout, dict) else None
    if not isinstance(silence, (int, float)) or not isinstance(
        data.get("faults"), list
    ):
        return
    for fault in data["faults"]:
        if not isinstance(fault, dict) or "duration_s" in fault:
            continue
        if fault.get("kind") in _TIMED:
            fault["duration_s"] = _LASTS * float(silence)
