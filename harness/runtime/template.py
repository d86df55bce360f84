"""The warm process: imports a workload once, and forks a zygote for each run that asks.

    python -m harness.runtime.template LISTENER_FD WORKLOAD KEEPER_PID
      1. die with its keeper             2. import the workload, warm up
      3. per request: fork, and answer with the pid

It never runs a rank, a thread or a run itself, and answers its own user only. What it
has forked belongs to the run that asked: it ends with that run's harness, not with us.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import struct
import sys
import traceback
from typing import Any, NoReturn

from harness.processes import MARK, ROOT_MARK
from harness.runtime.environ_mark import MarkRoom
from harness.runtime.lifeline import die_with_parent, name_process
from harness.runtime.warm import PACKET_BYTES, source_stamp
from harness.runtime.zygote import Zygote

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: unix(7), SO_PEERCRED


class Template:
    """Answers requests one after another."""

    def __init__(
        self, listener: socket.socket, room: MarkRoom, name: str, workload: Any
    ) -> None:
        self._listener = listener
        self._room = room
        self._name = name
        self._workload = workload
        self._source = source_stamp()

    def serve(self) -> NoReturn:
        """Answer until killed."""
        while True:
            line, _ = self._listener.accept()
            with line:
                line.settimeout(2.0)
                try:
                    self._answer(line)
                except (OSError, ValueError, KeyError) as error:
                    sys.stderr.write(f"faultyard warm: {error!r}\n")

    def _answer(self, line: socket.socket) -> None:
        uid = _CREDENTIALS.unpack(
            line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        )[1]
        if uid != os.getuid():
            return
        packet, fds, _, _ = socket.recv_fds(line, PACKET_BYTES, 4)
        try:
            request = json.loads(packet)
            _, workload, _ = request["argv"]
            if (request["source"], workload) != (self._source, self._name):
                line.send(b"{}")  # it starts one of its own
                return
            pid = os.fork()
            if pid == 0:
                line.close()
                self._become_zygote(request, fds[0])
            line.send(json.dumps({"pid": pid}).encode())
        finally:
            for fd in fds:
                os.close(fd)

    def _become_zygote(self, request: dict[str, Any], control_fd: int) -> NoReturn:
        code = 1
        try:
            self._listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.environ.clear()
            os.environ.update(request["environment"])
            self._room.mark({key: os.environ[key] for key in (MARK, ROOT_MARK)})
            name_process("zygote")
            os.chdir(request["cwd"])
            log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.close(log)
            control = socket.socket(fileno=control_fd)
            os.set_inheritable(control.fileno(), False)
            run_path, _, attempt = request["argv"]
            # It ends when the harness closes its end of the socket, or dies.
            Zygote(control, run_path, self._workload, int(attempt)).serve()
            code = 0
        except Exception:  # its log is where its user looks
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


def main(argv: list[str]) -> NoReturn:
    """Be the template of the process that started this one."""
    listener_fd, workload_name, keeper = argv
    die_with_parent(int(keeper))
    name_process("faultyard-warm")
    room = MarkRoom.take()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel collects zygotes
    listener = socket.socket(fileno=int(listener_fd))
    os.set_inheritable(listener.fileno(), False)
    gc.disable()  # as in the zygote
    workload = importlib.import_module(workload_name)
    workload.warm_up()
    gc.freeze()
    Template(listener, room, workload_name, workload).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
