"""A scenario: what is launched, what goes wrong, and who must be found (DESIGN sec. 4).

    YAML text -> composed with line numbers -> pydantic (unknown keys rejected)
              -> cross-checks -> Scenario, or ScenarioError naming every flaw

The JSON schema of `Scenario` also drives the dashboard's form.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
)

from harness.errors import ScenarioError
from harness.fabric.scenario_check import fabric_flaws, link_flaws
from harness.fabric.settings import SimulatedFabric
from harness.scenario_flaws import explain_all
from harness.scenario_text import Path as FieldPath
from harness.scenario_text import Source, compose, override
from injectors.fault import (
    FabricParameters,
    Parameters,
    RankParameters,
    StepParameters,
)
from injectors.registry import FAULTS
from injectors.straggler_cpu_quota import StragglerCpuQuota
from scout.config import ScoutConfig
from vocab.verdict import Heading, Kind, Scope, State

NOT_IN_SCRIPTS = {
    "straggler.input": "needs a loop that shows its batches to SCOUT",
    "hang.input": "needs a loop that shows its batches to SCOUT",
    "straggler.checkpoint": "needs a loop that shows its checkpoints to SCOUT",
}
"""Faults of phases that an unmodified script does not show, and why."""

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Parallel(_Strict):
    """Sizes of the mesh axes; their product is the number of ranks (SCOUT sec. 4)."""

    replicate: int = Field(1, ge=1, le=64, description="data-parallel replicas")
    shard: Literal[1] = Field(1, description="FSDP state shards")
    tensor: Literal[1] = Field(1, description="tensor-parallel shards")
    pipeline: Literal[1] = Field(1, description="pipeline stages")
    context: Literal[1] = Field(1, description="context-parallel shards")
    expert: Literal[1] = Field(1, description="expert partitions")


class Workload(_Strict):
    """The job that trains."""

    model: Literal["transformer"] = Field(
        "transformer", description="SCOUT sec. 10.1's Transformer under DDP, AdamW"
    )
    parallel: Parallel = Field(default_factory=Parallel)
    num_layers: int = Field(3, ge=1, le=128, description="repeated blocks")
    d_model: int = Field(64, ge=8, le=4096, description="width; a multiple of heads")
    num_heads: int = Field(4, ge=1, le=64)
    vocab_size: int = Field(512, ge=16, le=262_144)
    seq_len: int = Field(32, ge=1, le=8192, description="tokens of a sequence")
    batch: int = Field(4, ge=1, le=4096, description="sequences a rank and step")
    heavy_rank: int | None = Field(
        None, ge=0, description="rank that gets more sequences by design; absent: none"
    )
    heavy_factor: int = Field(
        4, ge=1, le=64, description="how many times the sequences the heavy rank gets"
    )
    skewed_rank: int | None = Field(
        None, ge=0, description="rank whose data hold the upper half of the vocabulary "
        "only, as one source of many would; absent: none",
    )  # fmt: skip
    dropout: float = Field(0.1, ge=0, lt=1)
    lr: float = Field(1e-3, gt=0)
    step_pause_s: float = Field(
        0.0, ge=0, le=60, description="idle seconds after each step, to watch a run"
    )
    recording: bool = Field(
        True, description="SCOUT's recording backend sees every collective (tier full)"
    )
    log_loss: bool = Field(
        True, description="all_reduce the loss after each step, as jobs do to log it"
    )
    stop_signal: bool = Field(
        False, description="rank 0 broadcasts after each step whether all go on"
    )
    eval_every: int = Field(
        0, ge=0, le=1_000_000, description="steps between evaluations; 0: none"
    )
    eval_batches: int = Field(
        2, ge=1, le=10_000, description="validation batches of an evaluation"
    )
    eval_pause_s: float = Field(
        0.0, ge=0, le=600, description="idle seconds before each validation batch"
    )
    checkpoint_every: int = Field(
        0, ge=0, le=1_000_000, description="steps between checkpoints; 0: none"
    )
    checkpoint_by: Literal["rank0", "every"] = Field(
        "rank0", description="who saves; the others wait in a barrier"
    )
    checkpoint_pause_s: float = Field(
        0.0, ge=0, le=600, description="idle seconds of a save, as slow storage takes"
    )
    script: str | None = Field(
        None,
        min_length=1,
        description="a training script of yours, run in each rank as by torchrun, in "
        "place of the model; from the command line only; absent: none",
    )
    args: tuple[str, ...] = Field((), description="arguments of the script")
    cwd: str | None = Field(
        None,
        min_length=1,
        description="folder that the script runs in; absent: where it is launched",
    )

    def batch_of(self, rank: int) -> int:
        """Sequences of one rank and step."""
        return self.batch * (self.heavy_factor if rank == self.heavy_rank else 1)


class Symptom(_Strict):
    """What the faults do to the job, as seen from outside; no diagnosis."""

    what: Literal[
        "stalls", "aborts_victim", "completes_wrongly", "culprit_dies", "none"
    ] = Field(description="what happens to the job")
    ranks: tuple[int, ...] = Field(
        (), description="exactly these ranks show it; [] means that it may be any"
    )


class Hosts(_Strict):
    """The hosts of a job with `runtime: docker`; each is a container."""

    ranks_per_host: int = Field(2, ge=1, le=64, description="ranks on each host")
    cpus: float | None = Field(
        None, gt=0, le=1024, description="CPUs of a host; absent: no limit"
    )
    memory_mib: int = Field(
        2048, ge=256, le=1_048_576, description="memory of a host, MiB"
    )
    context: str | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="Docker context of the daemon; absent: the current one",
    )


class Expectation(_Strict):
    """One incident that must be found, in a window of steps."""

    kind: Kind = Field(description="manifestation of the verdict")
    state: State = Field(State.ATTRIBUTED, description="state of the verdict")
    scope: Scope | None = Field(
        None, description="what the verdict is about; absent: not compared"
    )
    heading: Heading | None = Field(
        None, description="ahead or behind; absent: not compared"
    )
    ranks: tuple[int, ...] = Field((), description="exactly these ranks are blamed")
    links: tuple[str, ...] = Field((), description="exactly these links are blamed")
    spines: tuple[int, ...] = Field((), description="exactly these spines are blamed")
    suspects: tuple[str, ...] = Field(
        (), description="nobody is blamed, and it is exactly one of these; absent: any"
    )
    from_step: int = Field(ge=1, description="no verdict may come before this step")
    by_step: int = Field(ge=1, description="the verdict must stand by this step")
    outside_coverage: bool = Field(
        False,
        description="the contract does not promise this verdict: it may come or not, "
        "and nobody else may be blamed",
    )


if TYPE_CHECKING:
    AnyFault = Parameters
else:  # the registry is the only list of faults
    AnyFault = Annotated[
        functools.reduce(operator.or_, (row.parameters for row in FAULTS.values())),
        Discriminator("kind"),
    ]


class Scenario(_Strict):
    """Everything of one run; the file is complete, nothing comes from elsewhere."""

    title: str = Field(min_length=1, max_length=120)
    description: str = Field("", max_length=2000, description="what it proves, and why")
    seed: int = Field(0, ge=0, lt=2**31)
    steps: int = Field(12, ge=1, le=1_000_000, description="optimizer steps")
    workload: Workload = Field(default_factory=Workload)
    runtime: Literal["process", "docker"] = Field(
        "process", description="where ranks run: processes, or one container a host"
    )
    hosts: Hosts = Field(default_factory=Hosts)
    fabric: Union[SimulatedFabric, Literal["none"]] = Field(  # noqa: UP007
        "none", description="network between hosts"
    )
    scout: Union[ScoutConfig, Literal["off"]] = Field(  # noqa: UP007
        default_factory=ScoutConfig
    )
    faults: tuple[AnyFault, ...] = ()
    expect: tuple[Expectation, ...] = Field(
        (), description="incidents that must be found; [] means nobody may be blamed"
    )
    symptom: Symptom | None = Field(
        None, description="what the job must show of it; absent: not compared"
    )
    restarts: int = Field(
        0,
        ge=0,
        le=10,
        description="times that a job that died or stalled is started "
        "again, from step 1",
    )
    timeout_s: float = Field(
        300.0, gt=0, le=86_400, description="the run is given up after this long"
    )

    @field_validator("fabric", mode="before")
    @classmethod
    def _fabric_by_name(cls, value: Any) -> Any:
        return {"kind": value} if value == "simulated" else value

    @field_validator("scout", mode="before")
    @classmethod
    def _off_is_false_in_yaml(cls, value: Any) -> Any:
        return "off" if value is False else value

    @property
    def num_ranks(self) -> int:
        """Ranks of the job: the product of the mesh axes."""
        return self.workload.parallel.replicate

    def faults_of(self, attempt: int) -> list[tuple[str, RankParameters]]:
        """Faults of ranks, with their ids, that strike in one start of the job."""
        return [
            (fault_id, fault)
            for fault_id, fault in self.named_faults()
            if isinstance(fault, RankParameters) and fault.attempt == attempt
        ]

    def fabric_faults(self) -> list[tuple[str, FabricParameters]]:
        """Faults of the network between hosts, with their ids."""
        return [
            (fault_id, fault)
            for fault_id, fault in self.named_faults()
            if isinstance(fault, FabricParameters)
        ]

    def named_faults(self) -> list[tuple[str, Parameters]]:
        """Faults with their ids: the given one, or kind and position."""
        return [
            (fault.id or f"{fault.kind}-{index}", fault)
            for index, fault in enumerate(self.faults)
        ]


def load(path: Path, *, settings: Sequence[str] = ()) -> Scenario:
    """Read a scenario file, then apply `a.b=c` settings.

    Raises:
        ScenarioError: unreadable, or flawed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        flaw = Source(str(path)).flaw(("file",), f"cannot be read: {error}")
        raise ScenarioError([flaw]) from None
    return parse(text, file=str(path), settings=settings)


def parse(
    text: str, *, file: str = "scenario", settings: Sequence[str] = ()
) -> Scenario:
    """Read a scenario from YAML text; `file` is named in errors.

    Raises:
        ScenarioError: with one flaw per wrong field.
    """
    data, source = compose(text, file)
    return from_data(override(data, settings, source), source)


def from_data(data: Any, source: Source | None = None) -> Scenario:
    """Build a scenario from plain data; `source` says where its fields stand.

    Raises:
        ScenarioError: with one flaw per wrong field.
    """
    source = source or Source("scenario")
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        flaws = explain_all(error.errors(), schema(), source)
        raise ScenarioError(flaws) from None
    found = [source.flaw(*parts) for parts in _cross_check(scenario)]
    if found:
        raise ScenarioError(found)
    return scenario


def to_yaml(scenario: Scenario) -> str:
    """The canonical file of a scenario: form and YAML editor both end here.

    What equals the default is left out; the order is that of the schema.
    """
    data = scenario.model_dump(mode="json", exclude_defaults=True)
    data = {"title": scenario.title, "seed": scenario.seed, "steps": scenario.steps,
            **data, "expect": data.get("expect", [])}  # fmt: skip
    ordered = {name: data[name] for name in Scenario.model_fields if name in data}
    return yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=88)


def schema() -> dict[str, Any]:
    """The JSON schema of scenario files."""
    return TypeAdapter(Scenario).json_schema()


def catalogue(folder: Path = SCENARIOS) -> dict[str, Path]:
    """Scenario files by name, those that ship unless another folder is given."""
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _cross_check(scenario: Scenario) -> Iterator[tuple[FieldPath, str, str, str]]:
    yield from _check_script(scenario)
    last_rank = scenario.num_ranks - 1
    named = scenario.named_faults()
    width, heads = scenario.workload.d_model, scenario.workload.num_heads
    if width % heads:
        yield (("workload", "d_model"), "is no multiple of num_heads", str(width),
               f"multiples of {heads}")  # fmt: skip
    for field in ("heavy_rank", "skewed_rank"):
        special = getattr(scenario.workload, field)
        if special is not None and special > last_rank:
            yield (("workload", field), "no such rank", str(special),
                   f"0..{last_rank}")  # fmt: skip
    yield from fabric_flaws(
        scenario.fabric,
        scenario.fabric_faults(),
        num_ranks=scenario.num_ranks,
        restarts=scenario.restarts,
        positions={fault_id: n for n, (fault_id, _) in enumerate(named)},
    )
    seen: set[str] = set()
    for index, (fault_id, fault) in enumerate(named):
        here: FieldPath = ("faults", index)
        if fault_id in seen:
            yield (*here, "id"), "is used twice", repr(fault_id), "one id per fault"
        seen.add(fault_id)
        if isinstance(fault, StepParameters):
            yield from _check_window(scenario, fault, here)
        if FAULTS[fault.kind].needs_containers and scenario.runtime != "docker":
            yield ((*here, "kind"), "strikes a whole host", repr(fault.kind),
                   "only with runtime: docker")  # fmt: skip
        if isinstance(fault, StragglerCpuQuota) and scenario.runtime == "docker":
            yield from _check_shared_host(scenario, fault.rank)
        if isinstance(fault, RankParameters) and fault.rank > last_rank:
            yield (*here, "rank"), "no such rank", str(fault.rank), f"0..{last_rank}"
    for index, expected in enumerate(scenario.expect):
        here = ("expect", index)
        for rank in expected.ranks:
            if rank > last_rank or rank < 0:
                yield (*here, "ranks"), "no such rank", str(rank), f"0..{last_rank}"
        yield from link_flaws(scenario.fabric, expected.links, scenario.num_ranks,
                              (*here, "links"))  # fmt: skip
        if expected.by_step < expected.from_step:
            yield ((*here, "by_step"), "is before from_step", str(expected.by_step),
                   f"{expected.from_step} or more")  # fmt: skip
        named_somebody = expected.ranks or expected.links or expected.spines
        if (expected.state is State.ATTRIBUTED) != bool(named_somebody):
            message = f"must fit state {expected.state.value}"
            ranks = str(list(expected.ranks))
            yield (*here, "ranks"), message, ranks, "somebody exactly if attributed"


def _check_shared_host(
    scenario: Scenario, rank: int
) -> Iterator[tuple[FieldPath, str, str, str]]:
    """An engine limits the CPUs of a whole host: all ranks on it are slow."""
    size = scenario.hosts.ranks_per_host
    first = rank - rank % size
    on_host = set(range(first, min(first + size, scenario.num_ranks)))
    for index, expected in enumerate(scenario.expect):
        if rank in expected.ranks and not on_host <= set(expected.ranks):
            yield (("expect", index, "ranks"), "not all ranks of the limited host",
                   str(list(expected.ranks)),
                   f"{sorted(on_host)}, or hosts.ranks_per_host: 1")  # fmt: skip


def _check_script(
    scenario: Scenario,
) -> Iterator[tuple[FieldPath, str, str, str]]:
    """A script has its own model and loop: the fields for ours do nothing to it."""
    if scenario.runtime == "docker":
        if scenario.workload.script is not None:
            yield (("runtime",), "does not run scripts of users", "'docker'", "process")
        if scenario.fabric != "none":
            yield ("runtime",), "has no simulated fabric", "'docker'", "process"
    workload = scenario.workload
    has_script = workload.script is not None
    message = f"has no effect {'on' if has_script else 'without'} a script"
    allowed = "script, args, cwd, parallel" if has_script else "only beside a script"
    for name in sorted(workload.model_fields_set - {"script", "parallel"}):
        if (name in ("args", "cwd")) != has_script:
            yield ("workload", name), message, str(getattr(workload, name)), allowed
    for index, fault in enumerate(scenario.faults):
        if has_script and fault.kind in NOT_IN_SCRIPTS:
            yield (("faults", index, "kind"), NOT_IN_SCRIPTS[fault.kind],
                   repr(fault.kind), "faults of other kinds")  # fmt: skip


def _check_window(
    scenario: Scenario, fault: StepParameters, here: FieldPath
) -> Iterator[tuple[FieldPath, str, str, str]]:
    if fault.attempt > scenario.restarts + 1:
        yield ((*here, "attempt"), "is never started", str(fault.attempt),
               f"1..{scenario.restarts + 1} (see restarts)")  # fmt: skip
    if fault.at_step > scenario.steps:
        yield ((*here, "at_step"), "is after the last step", str(fault.at_step),
               f"1..{scenario.steps}")  # fmt: skip
    if fault.until_step is not None and fault.until_step < fault.at_step:
        yield ((*here, "until_step"), "is before at_step", str(fault.until_step),
               f"{fault.at_step} or more")  # fmt: skip
    if (fault.lifetime == "intermittent") != (fault.probability is not None):
        yield ((*here, "probability"), f"must fit lifetime {fault.lifetime}",
               str(fault.probability), "a chance exactly if intermittent")  # fmt: skip
