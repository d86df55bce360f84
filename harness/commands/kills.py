"""`faultyard kills`: SIGKILL processes of real runs at random, and lose nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import AsJson

if TYPE_CHECKING:
    from harness.kills import Struck

SCENARIO = "sdc-parameter"


def kills(
    num: Annotated[int, typer.Option(min=1, help="How many kills.")] = 300,
    seed: Annotated[int, typer.Option(help="Of targets and moments.")] = 1,
    out: Annotated[
        Path, typer.Option(help="Folder of its runs; goes on where it was ended.")
    ] = Path("campaigns/kills"),
    as_json: AsJson = False,
) -> int:
    """Kill harness, zygote, ranks, observers, server and index writer at random.

    Each kill hits a run of its own; the next run begins on what it left. Exit code 0
    only if every run stayed readable, the index whole and the machine clean.
    """
    from harness.commands.terminal import output, plain
    from harness.kills import plan_kills, strike
    from harness.runtime.warm import kept_warm
    from harness.scenario import catalogue, load

    folder = out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    journal = folder / f"kills-seed{seed}.jsonl"
    done = _read(journal)
    scenario = load(catalogue()[SCENARIO])
    console = output()
    with kept_warm(), journal.open("a") as file:
        for kill in plan_kills(num, seed):
            if kill.number in done:
                continue
            struck = strike(kill, scenario, folder / "runs", SCENARIO)
            done[kill.number] = struck
            file.write(json.dumps(_line(struck)) + "\n")
            file.flush()
            if not as_json:
                console.print(f"[{kill.number + 1} of {num}] {_told(struck)}",
                              soft_wrap=True)  # fmt: skip
    counted = [done[number] for number in sorted(done) if number < num]
    summary = summarize(counted, num=num, seed=seed)
    plain(json.dumps(summary) if as_json else _text(summary))
    return 0 if summary["num_with_problems"] == 0 else 1


def summarize(counted: list[Struck], *, num: int, seed: int) -> dict[str, object]:
    """The result as one line, with what made it: for benchmarks/results/."""
    from harness.kills import TARGETS
    from harness.provenance import provenance
    from vocab.codec import to_json
    from vocab.intervals import wilson

    made_with = provenance()
    bad = [item for item in counted if item.problems]
    by_target = {
        target: {
            "num": sum(item.target == target for item in counted),
            "num_hit": sum(item.target == target and item.is_hit for item in counted),
            "num_with_problems": sum(item.target == target for item in bad),
        }
        for target in TARGETS
    }
    return {
        "command": f"faultyard kills --num {num} --seed {seed}",
        "commit": made_with.commit,
        "dirty": made_with.dirty,
        "host": made_with.host,
        "num_kills": len(counted),
        "num_hit": sum(item.is_hit for item in counted),
        "num_with_problems": len(bad),
        "without_problems": to_json(wilson(len(counted) - len(bad), len(counted))),
        "targets": by_target,
        "problems": [f"{item.run_id}: {why}" for item in bad for why in item.problems],
        "wall_s": round(sum(item.wall_s for item in counted), 1),
    }


def _read(journal: Path) -> dict[int, Struck]:
    """Kills that are done; a torn last line is none."""
    from harness.kills import Struck
    from vocab.codec import from_json
    from vocab.errors import DecodeError

    found: dict[int, Struck] = {}
    for line in journal.read_text().splitlines() if journal.exists() else ():
        try:
            struck = from_json(Struck, json.loads(line))
        except (ValueError, DecodeError):
            continue
        found[struck.number] = struck
    return found


def _line(struck: Struck) -> object:
    from vocab.codec import to_json

    return to_json(struck)


def _told(struck: Struck) -> str:
    outcome = struck.outcome.value if struck.outcome else "no results"
    hit = "killed" if struck.is_hit else "had ended"
    problems = "; ".join(struck.problems) or "nothing lost"
    return f"{struck.target} {hit}, run {outcome}: {problems}"


def _text(summary: dict[str, object]) -> str:
    return (
        f"{summary['num_kills']} kills, {summary['num_hit']} hit a living process, "
        f"{summary['num_with_problems']} left a problem"
    )
