"""Entry point of the `faultyard` command: starts what takes longest, then the rest.

    faultyard run ...: torch loads in its own process ─┬─ the command line loads here

Called by the console script and by `python -m harness`. It decides nothing: the
command line (`harness.cli`) reads the arguments and ends a warm process that is not
needed. Only the standard library is imported before that.
"""

from __future__ import annotations

import contextlib
import sys


def main() -> int:
    """Run one command; returns its exit code."""
    with contextlib.ExitStack() as stack:
        if sys.argv[1:2] == ["run"] and "--help" not in sys.argv:
            from harness.runtime.warm import kept_warm

            is_script = any(word.startswith("--script") for word in sys.argv)
            name = "script" if is_script else "train"
            stack.enter_context(kept_warm(f"harness.workloads.{name}"))
        from harness.cli import main as command_line

        return command_line()


if __name__ == "__main__":
    sys.exit(main())
