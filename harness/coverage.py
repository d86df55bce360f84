"""The coverage contract: which faults are found, leave a residue, or lie outside.

One literal table, kind x lifetime x surface (SCOUT sec. 11 "Replay coverage" and
"Diagnosis scope"). Every cell names the scenarios that show it or a stated reason.
`tests` hold it against the registry and the scenarios' expectations; the dashboard and
the report print it. It decides nothing about a run.

    localizable  the culprit is named
    residue      the fault is over, and named by the wrong values that it left behind
    outside      not promised: it need not be found, and nobody wrong may be blamed
    control      nothing is wrong with any rank: nobody may be blamed
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """What the contract promises for one cell."""

    LOCALIZABLE = "localizable"
    RESIDUE = "residue"
    OUTSIDE = "outside"
    CONTROL = "control"


LIFETIMES = ("one-shot", "intermittent", "persistent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One promise; `scenarios` or `reason` is there, often both."""

    kind: str
    surface: str
    lifetime: str
    grade: Grade
    scenarios: tuple[str, ...] = ()
    reason: str = ""


def _cells(
    kind: str, surface: str, **by_lifetime: tuple[Grade, tuple[str, ...], str]
) -> tuple[Cell, ...]:
    return tuple(
        Cell(
            kind=kind,
            surface=surface,
            lifetime=name.replace("_", "-"),
            grade=grade,
            scenarios=scenarios,
            reason=reason,
        )
        for name, (grade, scenarios, reason) in by_lifetime.items()
    )


_FOUND, _RESIDUE, _OUTSIDE, _CONTROL = Grade

_TWO_CHECKS = "a straggler needs two checks (SCOUT sec. 10.2); one slow step is none"
_IF_MET = "as persistent, once two checks meet it; between them it is not seen"
_NO_THIRD = "two replicas disagree: which one is at fault is unknown (SCOUT sec. 5.2)"
_COMMON = "a value that all share is their reference (SCOUT sec. 5.2)"
_SPREAD = (
    "the reduction spreads it to all alike, and no replay meets it (SCOUT sec. 11)"
)
_WRITTEN = "the update writes it into the weights"
_IF_REPLAYED = "as persistent, once a replay meets it; between them it is not seen"
_NOT_REPLAYED = "what no replay brings is not seen (SCOUT sec. 11 Replay coverage)"
_ONE_GROUP = (
    "one group has no other to compare with: against its own past it is told as slow, "
    "no rank of it (SCOUT sec. 6.1.2, 11)"
)
_ONE_FLOW = "one step measures one flow of each leaf, which cannot tell up from down"
_BY_COUNT = "once two measured flows meet it with enough packets (SprayCheck P_min)"
_ROUTED = "routing leaves it out: k - 1 paths, and nothing is lost"
_NOT_SPINE = "no leaf-spine link is at fault"
_QUIET = "every injection but the fault: a detector must not see the injector"

COVERAGE: tuple[Cell, ...] = (
    *_cells(
        "sdc.parameter",
        "parameter",
        one_shot=(_RESIDUE, ("sdc-parameter-residue",),
                  "the flip stays in the weights until it is overwritten"),
        intermittent=(_FOUND, ("sdc-parameter-intermittent",), ""),
        persistent=(_FOUND, ("sdc-parameter", "sdc-parameter-sign",
                             "sdc-parameter-near-invisible", "sdc-two-incidents",
                             "sdc-two-culprits", "sdc-first-step"), ""),
    ),
    *_cells(
        "sdc.parameter",
        "parameter of one of two replicas",
        one_shot=(_OUTSIDE, (), _NO_THIRD),
        intermittent=(_OUTSIDE, (), _NO_THIRD),
        persistent=(_OUTSIDE, ("sdc-two-replicas",), _NO_THIRD),
    ),
    *_cells(
        "sdc.parameter",
        "the same parameter of all replicas",
        persistent=(_OUTSIDE, ("sdc-common-mode",), _COMMON),
    ),
    *_cells(
        "sdc.gradient",
        "local gradient, before its reduction",
        one_shot=(_OUTSIDE, (), _SPREAD),
        intermittent=(_FOUND, (), _IF_REPLAYED),
        persistent=(_FOUND, ("sdc-gradient-before",), "by the replayed backward pass"),
    ),
    *_cells(
        "sdc.gradient",
        "reduced gradient",
        one_shot=(_RESIDUE, ("sdc-gradient-after",), _WRITTEN),
        intermittent=(_RESIDUE, (), "as one-shot, more than once"),
        persistent=(_FOUND, (), "in the gradient, and in the weights that follow from "
                    "it; shown by `faultyard matrix sdc`"),
    ),
    *_cells(
        "sdc.activation",
        "output of a replayed module, or the gradient at it",
        one_shot=(_OUTSIDE, ("sdc-activation-once",), _SPREAD),
        intermittent=(_FOUND, (), _IF_REPLAYED),
        persistent=(_FOUND, ("sdc-activation",), ""),
    ),
    *_cells(
        "sdc.activation",
        "only for inputs that a replayed variant or source brings",
        one_shot=(_OUTSIDE, (), _SPREAD),
        intermittent=(_FOUND, (), _IF_REPLAYED),
        persistent=(_FOUND, ("sdc-data-dependent", "sdc-data-of-one-rank"),
                    "by the value variants, or where the source's data bring it"),
    ),
    *_cells(
        "sdc.activation",
        "only for inputs that no variant and no source brings",
        one_shot=(_OUTSIDE, (), _SPREAD),
        intermittent=(_OUTSIDE, (), _NOT_REPLAYED),
        persistent=(_OUTSIDE, (), _NOT_REPLAYED),
    ),
    *_cells(
        "sdc.optimizer_state",
        "optimizer slot",
        one_shot=(_RESIDUE, ("sdc-optimizer-state",), _WRITTEN),
        intermittent=(_RESIDUE, (), "as one-shot, more than once"),
        persistent=(_FOUND, (), "in the slot, and in the weights that follow from it; "
                    "shown by `faultyard matrix sdc`"),
    ),
    *_cells(
        "straggler.compute",
        "forward pass",
        one_shot=(_OUTSIDE, (), _TWO_CHECKS),
        intermittent=(_FOUND, (), _IF_MET),
        persistent=(_FOUND, ("straggler-forward",), ""),
    ),
    *_cells(
        "straggler.compute",
        "backward pass",
        one_shot=(_OUTSIDE, (), _TWO_CHECKS),
        intermittent=(_FOUND, (), _IF_MET),
        persistent=(_FOUND, ("straggler-backward",), ""),
    ),
    *_cells(
        "straggler.input",
        "batches",
        one_shot=(_OUTSIDE, (), _TWO_CHECKS),
        intermittent=(_FOUND, (), "sums over all fetches between two checks"),
        persistent=(_FOUND, ("straggler-input",), ""),
    ),
    *_cells(
        "straggler.checkpoint",
        "checkpoints",
        one_shot=(_OUTSIDE, (), _TWO_CHECKS),
        intermittent=(_FOUND, (), "sums over all saves between two checks"),
        persistent=(_FOUND, ("straggler-checkpoint",), ""),
    ),
    *_cells(
        "straggler.collective",
        "entry of a collective",
        one_shot=(_OUTSIDE, (), _TWO_CHECKS),
        intermittent=(_FOUND, (), "sums over all steps between two checks"),
        persistent=(_FOUND, ("straggler-collective-entry",), ""),
    ),
    *_cells(
        "straggler.collective",
        "inside the only group",
        one_shot=(_OUTSIDE, (), _TWO_CHECKS),
        intermittent=(_OUTSIDE, (), _ONE_GROUP),
        persistent=(_OUTSIDE, ("straggler-collective-inside",), _ONE_GROUP),
    ),
    *_cells(
        "straggler.throttle",
        "whole process, running less at a time than a replayed pass takes",
        persistent=(_FOUND, ("straggler-throttle",), ""),
    ),
    *_cells(
        "straggler.throttle",
        "whole process, stopped more seldom than every replayed pass",
        persistent=(_OUTSIDE, (), "the shortest of a check's variants escapes it"),
    ),
    *_cells(
        "straggler.cpu_quota",
        "whole process",
        one_shot=(_OUTSIDE, (), _TWO_CHECKS),
        intermittent=(_FOUND, (), _IF_MET),
        persistent=(_FOUND, ("straggler-cpu-quota", "host-cpu-quota"),
                    "by the cgroup's throttled time"),
    ),
    *_cells(
        "contention.neighbour",
        "CPUs of the machine",
        persistent=(_CONTROL, ("control-busy-neighbour",),
                    "run-queue wait is not charged"),
    ),
    *_cells(
        "null",
        "nothing",
        one_shot=(_CONTROL, (), _QUIET),
        intermittent=(_CONTROL, (), _QUIET),
        persistent=(_CONTROL, ("null",), ""),
    ),
    *_cells(
        "hang.frozen",
        "forward pass",
        one_shot=(_FOUND, ("hang-frozen-forward",), ""),
    ),
    *_cells(
        "hang.frozen",
        "backward pass",
        one_shot=(_FOUND, ("hang-frozen-backward", "fabric-hang-frozen"), ""),
    ),
    *_cells(
        "hang.frozen",
        "optimizer update",
        one_shot=(_FOUND, ("hang-frozen-optimizer",), ""),
    ),
    *_cells(
        "hang.backward",
        "backward pass",
        one_shot=(_FOUND, ("hang-backward",), ""),
    ),
    *_cells("hang.pause", "whole host, its observers too",
            one_shot=(_FOUND, ("host-paused",), "told as a silent host")),
    *_cells("hang.deadlock", "forward pass",
            one_shot=(_FOUND, ("hang-deadlock",), "")),
    *_cells("hang.input", "batches", one_shot=(_FOUND, ("hang-input",), "")),
    *_cells(
        "hang.skipped_collective",
        "order of collectives",
        one_shot=(_FOUND, ("hang-skipped-collective", "hang-restart"), ""),
    ),
    *_cells(
        "hang.extra_collective",
        "order of collectives",
        one_shot=(_FOUND, ("hang-extra-collective",), ""),
    ),
    *_cells(
        "hang.mismatched_collective",
        "fingerprint of a collective",
        one_shot=(_FOUND, ("hang-mismatch-dtype", "hang-mismatch-dtype-abort",
                           "hang-mismatch-op", "hang-mismatch-reduction",
                           "hang-mismatch-root", "hang-mismatch-shape"), ""),
    ),
    *_cells(
        "hang.equal_progress",
        "transport of the only group",
        one_shot=(_OUTSIDE, ("hang-equal-progress",),
                  "all ranks stand at one place: the group is told, no rank of it"),
    ),
    *_cells("crash.exit", "process", one_shot=(_FOUND, ("crash-exit",), "")),
    *_cells("crash.exception", "process",
            one_shot=(_FOUND, ("crash-exception",), "")),
    *_cells("crash.signal", "process", one_shot=(_FOUND, ("crash-signal",), "")),
    *_cells("crash.kill", "whole host, its observers too",
            one_shot=(_FOUND, ("host-killed",), "told as a silent host")),
    *_cells("crash.oom", "process", one_shot=(_FOUND, ("host-out-of-memory",), "")),
    *_cells("network.disconnect", "management network of a host",
            one_shot=(_CONTROL, ("network-management-off",), "what is not heard is "
                      "missing; a hang beside it is named by those that are heard")),
    *_cells("crash.signal", "process and observer, as a dead host",
            one_shot=(_FOUND, ("crash-host",), "told as a silent host")),
    *_cells(
        "link.gray",
        "directed link",
        one_shot=(_OUTSIDE, (), _ONE_FLOW),
        intermittent=(_FOUND, (), _BY_COUNT),
        persistent=(_FOUND, ("link-gray-up", "link-gray-down", "link-two-at-once",
                             "link-among-controls", "link-flap"), _BY_COUNT),
    ),
    *_cells(
        "link.burst",
        "directed link",
        one_shot=(_OUTSIDE, (), _ONE_FLOW),
        intermittent=(_FOUND, (), _BY_COUNT),
        persistent=(_FOUND, ("link-burst", "link-two-at-once"), _BY_COUNT),
    ),
    *_cells(
        "link.size",
        "directed link",
        one_shot=(_OUTSIDE, (), _ONE_FLOW),
        intermittent=(_FOUND, (), _BY_COUNT),
        persistent=(_FOUND, ("link-size",), _BY_COUNT),
    ),
    *_cells(
        "link.blackhole",
        "directed link",
        one_shot=(_OUTSIDE, (), _ONE_FLOW),
        intermittent=(_FOUND, (), _BY_COUNT),
        persistent=(_FOUND, ("link-blackhole",), _BY_COUNT),
    ),
    *_cells(
        "link.down",
        "carrier of a link",
        one_shot=(_CONTROL, (), _ROUTED),
        intermittent=(_CONTROL, (), _ROUTED),
        persistent=(_CONTROL, ("control-links-down",), _ROUTED),
    ),
    *_cells("link.flap", "carrier of a link",
            persistent=(_CONTROL, ("control-links-down", "link-flap"), _ROUTED)),
    *_cells(
        "spine.down",
        "switch, noticed by its neighbours",
        one_shot=(_CONTROL, (), _ROUTED),
        intermittent=(_CONTROL, (), _ROUTED),
        persistent=(_CONTROL, ("spine-down",), _ROUTED),
    ),
    *_cells(
        "spine.down",
        "switch, unnoticed",
        persistent=(_FOUND, ("spine-dead",), "as a switch, once three of its links are "
                    "seen to fail"),
    ),
    *_cells(
        "host.loss",
        "link between host and leaf",
        one_shot=(_CONTROL, (), _NOT_SPINE),
        intermittent=(_CONTROL, (), _NOT_SPINE),
        persistent=(_CONTROL, ("control-fabric",), _NOT_SPINE),
    ),
    *_cells(
        "traffic.competing",
        "queues",
        one_shot=(_CONTROL, (), _NOT_SPINE),
        intermittent=(_CONTROL, (), _NOT_SPINE),
        persistent=(_CONTROL, ("control-congestion",), "the measured flow is "
                    "prioritized where it is sprayed"),
    ),
    *_cells(
        "traffic.spoofed_marks",
        "marks",
        one_shot=(_CONTROL, (), _NOT_SPINE),
        intermittent=(_CONTROL, (), _NOT_SPINE),
        persistent=(_CONTROL, ("control-fabric",), "a leaf strips marks that are not "
                    "its own"),
    ),
    *_cells("observer.kill", "observer",
            one_shot=(_CONTROL, ("observer-killed",), "it is started again")),
)  # fmt: skip


def cells_of(kind: str) -> tuple[Cell, ...]:
    """The promises for one kind of fault, in table order."""
    return tuple(cell for cell in COVERAGE if cell.kind == kind)


ALWAYS_OUTSIDE = (
    "A wrong value that a majority of replicas shares is their reference "
    "(SCOUT sec. 5.2).",
    "A slowdown of all ranks alike has no peer to be compared with (SCOUT sec. 11).",
    "What lies outside the replayed layers, values, shapes and paths is not seen until "
    "a check comes to it (SCOUT sec. 11).",
)
"""Limits of comparison itself, whatever the fault."""
