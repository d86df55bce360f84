"""The process that imports torch once and forks the ranks of one run.

    python -m harness.runtime.zygote CONTROL_FD PARENT_PID RUN_PATH WORKLOAD ATTEMPT
      1. die with the harness           2. import the workload and warm it up
      3. bind the store's socket        4. on "start": fork ranks
      5. report each exit               6. end when the harness closes the socket

One JSON object per packet of a SOCK_SEQPACKET socket: in {"start": num_ranks, ...}; out
{"ready"}, {"started": rank, "pid"}, {"exited": rank, "pid", "exit_code", "signal"}.
It runs no thread of its own before forking, and never touches events.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import selectors
import socket
import struct
import sys
import traceback
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from harness.runtime.base import RankSpec
from harness.runtime.lifeline import die_with_parent, name_process

STORE_HOST = "127.0.0.1"
_SIOCGIFADDR = 0x8915  # netdevice(7)
_BACKLOG = 256  # ranks connect to the store at the same moment


@dataclass(slots=True)
class _Child:
    rank: int
    pid: int
    pidfd: int  # readable when the process has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where ranks meet; the defaults are those of a job on one machine."""

    store_host: str = STORE_HOST
    store_port: int = 0  # 0: any
    is_store_here: bool = True  # rank 0 is one of ours
    interface: str = "lo"
    management_host: str = STORE_HOST
    is_in_container: bool = False


class Zygote:
    """Forks ranks on request and reports how each ended."""

    def __init__(
        self, control: socket.socket, run_path: str, workload: Any, attempt: int
    ) -> None:
        self._control = control
        self._attempt = attempt
        self._run_path = run_path
        self._workload = workload
        self._children: dict[int, _Child] = {}
        self._selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Serve until the harness closes the socket."""
        self._selector.register(self._control, selectors.EVENT_READ)
        self._send({"ready": os.getpid()})
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is not self._control:
                    self._reap(key.data)
                    continue
                packet = self._control.recv(65536)
                if not packet:
                    return  # ranks that are left die with this process
                self._start(json.loads(packet))

    def _start(self, message: dict[str, Any]) -> None:
        """Fork ranks: all of the job, or on one of several hosts those named."""
        num_ranks = int(message["start"])
        given = dict(message.get("where", {}))
        if "interface_address" in given:
            given["interface"] = interface_with(given.pop("interface_address"))
        where = Where(**given)
        store: socket.socket | None = None
        if where.is_store_here:
            store = socket.create_server(
                (where.store_host, where.store_port), backlog=_BACKLOG
            )
            where = replace(where, store_port=store.getsockname()[1])
        # What lives now is shared with all ranks: keep their collectors off its pages.
        gc.freeze()
        parent = os.getpid()
        for rank in message.get("ranks", range(num_ranks)):
            tied, tell_tied = os.pipe()
            pid = os.fork()
            if pid == 0:
                die_with_parent(parent)
                os.close(tied)
                os.close(tell_tied)
                self._become_rank(rank, num_ranks, where, store)
            # Reported only once it is tied to us: nobody can stop it before.
            os.close(tell_tied)
            os.read(tied, 1)
            os.close(tied)
            self._watch(rank, pid)
        if store is not None:
            store.close()

    def _watch(self, rank: int, pid: int) -> None:
        child = _Child(rank, pid, os.pidfd_open(pid))
        self._children[rank] = child
        self._selector.register(child.pidfd, selectors.EVENT_READ, child)
        self._send({"started": rank, "pid": pid})

    def _become_rank(
        self, rank: int, num_ranks: int, where: Where, store: socket.socket | None
    ) -> NoReturn:
        name_process(f"rank{rank}")
        self._selector.close()
        self._control.close()
        for child in self._children.values():
            os.close(child.pidfd)
        _redirect(os.path.join(self._run_path, "logs", f"rank{rank}.log"))
        fd = store.detach() if store is not None and rank == 0 else None
        if store is not None:
            store.close()
        os.environ["GLOO_SOCKET_IFNAME"] = where.interface
        spec = RankSpec(
            rank=rank, world_size=num_ranks, run_path=self._run_path,
            store_host=where.store_host, store_port=where.store_port, store_fd=fd,
            attempt=self._attempt, interface=where.interface,
            management_host=where.management_host,
            is_in_container=where.is_in_container,
        )  # fmt: skip
        gc.enable()
        code = 1
        try:
            code = int(self._workload.main(spec))
        except Exception:  # the rank's log is where its user looks
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        # Tearing the interpreter down would touch, and so copy, all that is shared with
        # this process: seconds per rank. A workload closes itself what it has opened.
        os._exit(code)

    def _reap(self, child: _Child) -> None:
        _, status = os.waitpid(child.pid, 0)
        self._selector.unregister(child.pidfd)
        os.close(child.pidfd)
        code = os.waitstatus_to_exitcode(status)
        self._send(
            {
                "exited": child.rank,
                "pid": child.pid,
                "exit_code": code if code >= 0 else None,
                "signal": -code if code < 0 else None,
            }
        )

    def _send(self, message: dict[str, int | None]) -> None:
        self._control.send(json.dumps(message).encode())


def interface_with(address: str) -> str:
    """The network interface of this host that has an IPv4 address.

    Raises:
        LookupError: none has it.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                found = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
            except OSError:  # an interface without an address
                continue
            if socket.inet_ntoa(found[20:24]) == address:
                return name
    raise LookupError(f"no interface has address {address}")


def _redirect(path: str) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(log)
    os.close(nothing)


def main(argv: list[str]) -> NoReturn:
    """Run the zygote until the harness is done with it."""
    control_fd, parent_pid, run_path, workload_name, attempt = argv
    die_with_parent(int(parent_pid))
    name_process("zygote")
    gc.disable()  # importing makes no garbage, but collecting it takes a third of it
    control = socket.socket(fileno=int(control_fd))
    os.set_inheritable(control.fileno(), False)
    workload = importlib.import_module(workload_name)
    workload.warm_up()
    Zygote(control, run_path, workload, int(attempt)).serve()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # nothing to tear down, and torch takes half a second for it


if __name__ == "__main__":
    main(sys.argv[1:])
