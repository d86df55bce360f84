"""`faultyard verify`: does the evidence still give the verdicts that were stored?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import DEFAULT_RUNS, AsJson, RunsDir

EXIT_IDENTICAL = 0
EXIT_DIFFERENT = 1
EXIT_MISSING = 2
_MAX_LINES = 40

Evidence = Annotated[
    str,
    typer.Argument(
        metavar="RUN|ZIP",
        help="Run id, `last` for the newest, or the report.zip of a qualification.",
    ),
]


def verify(
    evidence: Evidence, runs_dir: RunsDir = DEFAULT_RUNS, as_json: AsJson = False
) -> int:
    """Recompute every verdict from its evidence and compare.

    Of a qualification's zip also every checksum, result, case and the report itself;
    nothing but the file is needed.

    Exit code: 0 identical; 1 different; 2 evidence is missing; 64 no such run or file.
    """
    if evidence.endswith(".zip"):
        return _verify_zip(Path(evidence), as_json=as_json)
    return _verify_run(evidence, runs_dir, as_json=as_json)


def _verify_run(run_id: str, runs_dir: Path, *, as_json: bool) -> int:
    from harness.commands.choose import run_of
    from harness.commands.terminal import plain
    from harness.verify import verify as verify_run
    from vocab.codec import to_json

    run = run_of(run_id, runs_dir)
    found = verify_run(run)
    if found.missing:
        code, lines = EXIT_MISSING, [f"missing: {item}" for item in found.missing]
    elif found.difference is not None:
        code, lines = EXIT_DIFFERENT, [f"different: {found.difference}"]
    else:
        code = EXIT_IDENTICAL
        lines = [f"identical: {found.num_stored} verdicts, each recomputed"]
    if as_json:
        head = {"format": 1, "run_id": run.run_id, "identical": found.is_identical}
        plain(json.dumps({**head, **to_json(found), "exit_code": code}, indent=1))
    else:
        for line in [run.run_id, *lines]:
            plain(line)
    return code


def _verify_zip(path: Path, *, as_json: bool) -> int:
    from harness.commands.terminal import plain
    from harness.evidence import check
    from vocab.codec import to_json

    found = check(path)
    code = EXIT_IDENTICAL
    if found.findings:
        is_missing = any(item.is_missing for item in found.findings)
        code = EXIT_MISSING if is_missing else EXIT_DIFFERENT
    if as_json:
        head = {"format": 1, "file": str(path), "identical": not found.findings}
        plain(json.dumps({**head, **to_json(found), "exit_code": code}, indent=1))
        return code
    plain(str(path))
    for item in found.findings[:_MAX_LINES]:
        word = "missing" if item.is_missing else "different"
        plain(f"{word}: {item.where}: {item.text}")
    if len(found.findings) > _MAX_LINES:
        plain(f"and {len(found.findings) - _MAX_LINES} more; see --json")
    if not found.findings:
        plain(f"identical: {found.num_files} files, {found.num_verdicts} verdicts of "
              f"{found.num_runs} runs, each recomputed; the report ({found.ruling}) "
              "follows from them")  # fmt: skip
    return code
