"""Ties a process to its parent: when the parent dies, so does it, even while stopped.

    harness --SIGKILL at its death--> zygote --SIGKILL at its death--> ranks

Linux only (prctl(2), PR_SET_PDEATHSIG). Called by the zygote and by each rank first.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when `parent_pid`, its parent, ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent_pid:  # it died before the request stood
        sys.exit(1)


def name_process(name: str) -> None:
    """Show `name` (at most 15 characters) in ps and top."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)
