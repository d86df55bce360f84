"""One host of a job, inside its container: `python -m harness.runtime.host SOCKET ...`.

    connect to the harness's socket ─► import the workload ─► serve as its zygote

The container shares this machine's process ids, so the harness signals and watches
ranks as if they were its own; files, networks, CPU and memory are the container's. It
ends when the harness closes the socket, and its ranks end with it.
"""

from __future__ import annotations

import gc
import importlib
import os
import socket
import sys
import time
from typing import NoReturn

from harness.runtime.lifeline import name_process
from harness.runtime.zygote import Zygote

_CONNECT_S = 10.0


def main(argv: list[str]) -> NoReturn:
    """Serve until the harness is done with this host."""
    path, run_path, workload_name, attempt, number = argv
    name_process(f"host{number}")
    gc.disable()
    control = _connect(path)
    workload = importlib.import_module(workload_name)
    workload.warm_up()
    Zygote(control, run_path, workload, int(attempt)).serve()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _connect(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    deadline = time.monotonic() + _CONNECT_S
    while True:
        try:
            made.connect(path)
            return made
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1:])
