"""Keep one process warm that has imported torch, and get zygotes forked from it.

    run, serve, demo, campaign: kept_warm() ─► template (imports once)
    run: prepare ─► adopt ──control socket──► template ─fork─► zygote of that run

A run that finds no template, or one of other code, starts its zygote as always: warmth
saves three seconds and changes nothing else. The template ends with the process that
keeps it; a run goes on without it. Standard library only: a run imports it first.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.runtime.environ_mark import room

TEMPLATE = "FAULTYARD_TEMPLATE"
"""Environment variable that names the template's abstract socket."""

PACKET_BYTES = 200_000
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}
_ANSWER_S = 15.0  # it may be importing still
_SOURCE = Path(__file__).resolve().parent.parent.parent
_PACKAGES = ("harness", "injectors", "scout", "spraycheck", "vocab")


class AdoptedZygote:
    """A zygote that another process has forked: what `Popen` offers, by its pidfd."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._pidfd = os.pidfd_open(pid)

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for its end; its exit code is its parent's to know.

        Raises:
            subprocess.TimeoutExpired: it lives on.
        """
        if self._pidfd >= 0:
            if not select.select([self._pidfd], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("zygote", timeout or 0.0)
            os.close(self._pidfd)
            self._pidfd = -1
        return None

    def kill(self) -> None:
        """End it at once."""
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)


@contextlib.contextmanager
def kept_warm(workload: str = "harness.workloads.train") -> Iterator[None]:
    """Keep a template while the block runs; call it on the main thread.

    Runs that this process launches meanwhile find it through their environment.
    """
    name = f"faultyard-warm-{os.getpid()}-{secrets.token_hex(8)}"
    # Bound here and now: a run that comes while it still imports waits in the line.
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind("\0" + name)
        listener.listen(64)
        template = subprocess.Popen(
            [sys.executable, "-m", "harness.runtime.template", str(listener.fileno()),
             workload, str(os.getpid())],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=_SOURCE,
            env={**os.environ, **ONE_THREAD, **room(), "PYTHONUNBUFFERED": "1"},
            start_new_session=True,  # Ctrl-C is for the one that keeps it
            pass_fds=(listener.fileno(),),
        )  # fmt: skip
    before = os.environ.get(TEMPLATE)
    os.environ[TEMPLATE] = name
    try:
        yield
    finally:
        if before is None:
            del os.environ[TEMPLATE]
        else:
            os.environ[TEMPLATE] = before
        template.kill()  # it holds nothing; what it has forked lives on
        template.wait()


def adopt(
    control: socket.socket,
    *,
    argv: tuple[str, str, str],
    environment: Mapping[str, str],
    log_path: str,
) -> AdoptedZygote | None:
    """Ask the template for a zygote; None: there is none to be had, start one.

    Args:
        control: the zygote's end of the control socket.
        argv: run path, workload and attempt, as `zygote` takes them.
        environment: all of the zygote's variables.
        log_path: where its output goes.
    """
    name = os.environ.get(TEMPLATE)
    if not name:
        return None
    request = {"argv": argv, "environment": dict(environment), "log": log_path,
               "cwd": os.getcwd(), "source": source_stamp()}  # fmt: skip
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            line.settimeout(_ANSWER_S)
            line.connect("\0" + name)
            socket.send_fds(line, [json.dumps(request).encode()], [control.fileno()])
            answer = json.loads(line.recv(PACKET_BYTES) or b"{}")
        return AdoptedZygote(int(answer["pid"])) if "pid" in answer else None
    except (OSError, ValueError):  # gone, too slow, or not ours
        return None


def source_stamp() -> str:
    """Changes whenever a file of our packages does: old code must not run new runs."""
    newest, count = 0, 0
    for package in _PACKAGES:
        for path in (_SOURCE / package).rglob("*.py"):
            with contextlib.suppress(FileNotFoundError):  # an editor's temporary file
                newest = max(newest, path.stat().st_mtime_ns)
                count += 1
    return f"{count}-{newest}"
