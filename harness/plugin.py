"""Your own detector under test: a process that reads evidence and writes verdicts.

    run's events, without truth ─► stdin, a JSON object a line, by time; then the end
    stdout, a JSON object a line ─► verdicts ─► the same score as SCOUT's own

Nothing of the faults, of the scenario's expectation or of SCOUT's verdicts is handed
over; of the scenario only what a detector in a real job knows as well. A process that
does not end, fails or writes something else is an error that says so. The protocol is
in docs/plug-in-detectors.md. Called by `faultyard analyze detector`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.analyze import evidence_of
from harness.checks import score
from harness.errors import InfrastructureError
from harness.results import Results
from harness.store import RunDirectory
from vocab.events import FileOpened, Stamped, VerdictIssued, encode
from vocab.verdict import Action, Kind, Scope, State, Verdict

SOURCE = "plugin"
TIMEOUT_S = 60.0
_SHOWN = 200  # characters of a wrong line that an error shows


class PluginFailed(InfrastructureError):
    """The detector did not do its part: says what it did instead."""


class PluginVerdict(BaseModel):
    """One line that a detector writes."""

    model_config = ConfigDict(extra="forbid")

    kind: Kind
    blamed: tuple[str, ...] = ()
    step: int = Field(ge=0)
    reason: str = Field("", max_length=2000)
    score: float | None = Field(None, allow_inf_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginResult:
    """What a detector said of one run, and how that scores."""

    run_id: str
    verdicts: tuple[Verdict, ...]
    results: Results


def run_detector(
    command: Sequence[str], run: RunDirectory, *, timeout_s: float = TIMEOUT_S
) -> PluginResult:
    """Put a stored run's evidence through a detector and score what it says.

    Args:
        command: program and arguments; started once for the run, without a shell.

    Raises:
        PluginFailed: it cannot be started, does not end, fails, or writes no verdicts
            of the right form.
        ScenarioError: the run's scenario cannot be read.
    """
    events = evidence_of(run)
    lines = _ask(command, "".join(_input_lines(run, events)), timeout_s)
    verdicts = tuple(_verdicts(command, lines, events))
    said = [
        Stamped(seq=number, t_ns=verdict.at_ns, source=SOURCE,
                event=VerdictIssued(verdict=verdict))
        for number, verdict in enumerate(verdicts)
    ]  # fmt: skip
    whole = [s for s in run.reader().read().events
             if not isinstance(s.event, VerdictIssued)]  # fmt: skip
    whole += said
    scenario = run.scenario()
    # Whether it looked is not known from outside: it was asked, and it answered.
    results = score(scenario, sorted(whole, key=lambda s: s.t_ns), run.ended())
    return PluginResult(run_id=run.run_id, verdicts=verdicts, results=results)


def evidence_lines(run: RunDirectory) -> Iterator[str]:
    """What a detector reads of a run, line by line."""
    yield from _input_lines(run, evidence_of(run))


def _input_lines(run: RunDirectory, events: Sequence[Stamped]) -> Iterator[str]:
    scenario = run.scenario()
    head = {
        "type": "Job",
        "format": 1,
        "num_ranks": scenario.num_ranks,
        "parallel": scenario.workload.parallel.model_dump(),
    }
    yield json.dumps(head) + "\n"
    for stamped in events:
        # A verdict of SCOUT is no evidence; an anchor says nothing of the job.
        if not isinstance(stamped.event, (VerdictIssued, FileOpened)):
            yield json.dumps(encode(stamped), allow_nan=False) + "\n"


def _ask(command: Sequence[str], text: str, timeout_s: float) -> list[str]:
    shown = command[0] if command else ""
    try:
        done = subprocess.run(
            list(command), input=text, text=True, timeout=timeout_s, check=False,
            capture_output=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise PluginFailed(
            f"detector {shown}: did not end in {timeout_s:g} s"
        ) from None
    except (OSError, ValueError, IndexError, UnicodeDecodeError) as error:
        raise PluginFailed(f"detector {shown}: cannot be run: {error}") from None
    if done.returncode:
        last = "; ".join(done.stderr.strip().splitlines()[-2:])
        raise PluginFailed(
            f"detector {shown}: ended with {done.returncode}: {last[:_SHOWN]}"
        )
    return [line for line in done.stdout.splitlines() if line.strip()]


def _verdicts(
    command: Sequence[str], lines: Sequence[str], events: Sequence[Stamped]
) -> Iterator[Verdict]:
    moments = _moments(events)
    last_ns = max(moments.values(), default=0)
    for number, line in enumerate(lines, 1):
        try:
            said = PluginVerdict.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "line"
            raise PluginFailed(
                f"detector {command[0]}: line {number}: {where}: {first['msg']}; got "
                f"{line[:_SHOWN]!r}; allowed: an object with kind "
                f"({', '.join(Kind)}), step, and blamed, reason, score if wanted"
            ) from None
        yield _as_verdict(said, number, moments.get(said.step, last_ns))


def _moments(events: Sequence[Stamped]) -> dict[int, int]:
    """When each step was first heard of: a verdict on it cannot be older."""
    found: dict[int, int] = {}
    for stamped in events:
        step: Any = getattr(stamped.event, "step", None)
        if isinstance(step, int):
            found.setdefault(step, stamped.t_ns)
    return found


def _as_verdict(said: PluginVerdict, number: int, at_ns: int) -> Verdict:
    state = State.ATTRIBUTED if said.blamed else State.GROUP_SCOPED
    return Verdict(
        verdict_id=f"plugin-{number}",
        incident=number,
        kind=said.kind,
        state=state,
        scope=Scope.RANK if said.blamed else Scope.PROCESS_GROUP,
        reason_code="plugin",
        reason=said.reason or "said by a detector of yours",
        action=Action.CONTINUE,
        group="world",
        blamed=said.blamed,
        step=said.step,
        at_ns=at_ns,
    )
