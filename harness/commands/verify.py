"""`faultyard verify`: does a run's evidence still give the verdicts that it stored?"""

from __future__ import annotations

import json

from harness.commands.options import DEFAULT_RUNS, AsJson, RunId, RunsDir

EXIT_IDENTICAL = 0
EXIT_DIFFERENT = 1
EXIT_MISSING = 2


def verify(
    run_id: RunId, runs_dir: RunsDir = DEFAULT_RUNS, as_json: AsJson = False
) -> int:
    """Recompute every verdict of a run from its evidence and compare.

    Exit code: 0 identical; 1 different; 2 evidence is missing; 64 no such run.
    """
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
