"""What a qualification was to do, kept in its folder: `suite.json`, written once.

Called by `harness.qualify_run`; read by report, dashboard and `verify`, which need no
scenario file and no plan to say what is done and what is missing.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.campaign import Plan
from harness.criteria import Criteria
from harness.errors import UsageError
from harness.provenance import provenance
from harness.store import write_atomically
from vocab.codec import from_json, to_json
from vocab.errors import DecodeError

FILE = "suite.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCase:
    """One case of the suite."""

    case_id: str
    part: str
    kinds: str
    scenario_name: str
    seed: int
    is_control: bool
    promises: int  # incidents that must be found
    settings: tuple[str, ...] = ()  # what its variant sets

    @property
    def fault_class(self) -> str:
        """The row of the report that it counts in."""
        return CONTROLS if self.is_control else self.kinds

    @property
    def row(self) -> str:
        """The row of the matrix that it stands in: the case without its seed."""
        return self.case_id.rpartition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRecord:
    """A suite as it was planned, and where."""

    name: str
    title: str
    description: str
    digest: str
    command: str  # repeats the qualification
    created_wall_ns: int
    commit: str
    dirty: bool
    host: str
    versions: dict[str, str]
    criteria_json: dict[str, Any]
    cases: tuple[PlannedCase, ...]
    num_workers: int = 1
    format: int = 1

    @property
    def criteria(self) -> Criteria:
        """What must be reached."""
        return Criteria.model_validate(self.criteria_json)


CONTROLS = "controls"


def record_of(
    plan: Plan, *, name: str, command: str, num_workers: int = 1
) -> SuiteRecord:
    """The record of a plan that is about to be run here, now."""
    made_with = provenance()
    criteria = plan.campaign.criteria
    assert criteria is not None  # the plan was made to qualify
    return SuiteRecord(
        name=name,
        title=plan.campaign.title,
        description=plan.campaign.description.strip(),
        digest=plan.digest,
        command=command,
        created_wall_ns=time.time_ns(),
        commit=made_with.commit,
        dirty=made_with.dirty,
        host=made_with.host,
        versions=made_with.versions,
        criteria_json=criteria.model_dump(mode="json"),
        num_workers=num_workers,
        cases=tuple(
            PlannedCase(
                case_id=case.case_id,
                part=case.part,
                kinds=case.kinds,
                scenario_name=case.scenario_name,
                seed=case.scenario.seed,
                is_control=case.is_control,
                promises=sum(
                    not item.outside_coverage for item in case.scenario.expect
                ),
                settings=case.settings,
            )
            for case in plan.cases
        ),
    )


def write(folder: Path, record: SuiteRecord) -> None:
    """Keep the record."""
    write_atomically(folder / FILE, json.dumps(to_json(record), indent=1) + "\n")


def read(folder: Path) -> SuiteRecord:
    """The record of a folder.

    Raises:
        UsageError: the folder is no qualification, or its record is damaged.
    """
    try:
        data = json.loads((folder / FILE).read_text(encoding="utf-8"))
        record = from_json(SuiteRecord, data)
        Criteria.model_validate(record.criteria_json)
    except OSError:
        raise UsageError(
            f"{folder} is no qualification: it has no {FILE}; allowed: a folder that "
            "`faultyard qualify` made"
        ) from None
    except (ValueError, DecodeError, ValidationError, RecursionError) as error:
        raise UsageError(f"{folder / FILE} is damaged: {error}") from None
    return record
