"""`python -m scout train.py args...`: run a script with its collectives recorded.

The script stays as it is; only its `init_process_group` chooses the recording backend
(DESIGN sec. 5, tier a). With `-m` the script is named as a module; under torchrun:
`torchrun -m scout train.py args...`.
"""

from __future__ import annotations

import os
import runpy
import sys

USAGE = "usage: python -m scout (script.py | -m module) [argument ...]\n"
EXIT_USAGE = 64


def main(argv: list[str]) -> int:
    """Run the script named first in `argv`; its own exit code is the process's."""
    as_module = argv[:1] == ["-m"]
    rest = argv[1:] if as_module else argv
    if not rest or rest[0].startswith("-"):
        sys.stderr.write(USAGE)
        return EXIT_USAGE
    if not as_module and not os.path.exists(rest[0]):
        sys.stderr.write(f"scout: no script {rest[0]!r}\n{USAGE}")
        return EXIT_USAGE
    from scout.recording.backend import choose

    choose()
    sys.argv = rest
    if as_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(rest[0]))
        runpy.run_path(rest[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
