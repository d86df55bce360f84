"""Listen: bind the port, say where, run the application until it is stopped.

Called by `faultyard serve` and `faultyard demo`.
"""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Callable
from types import FrameType

import uvicorn

from harness.errors import InfrastructureError
from webapp.app import create_app
from webapp.settings import Settings
from webapp.webhook import Hook, Webhook

# For requests that are being answered; event streams end when they see `stopping`.
SHUTDOWN_GRACE_S = 5


class _Server(uvicorn.Server):
    """Tells the event streams to end; uvicorn would wait for them, then tear them."""

    def __init__(self, config: uvicorn.Config, stopping: threading.Event) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come."""
        self._stopping.set()
        super().handle_exit(sig, frame)


def serve(
    settings: Settings, on_ready: Callable[[str], None], hook: Hook | None = None
) -> None:
    """Serve until interrupted.

    Args:
        on_ready: called with the address once connections are accepted.
        hook: where verdicts are told; None: nowhere.

    Raises:
        InfrastructureError: the port is taken or may not be used.
    """
    listener = bind(settings)
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=SHUTDOWN_GRACE_S,
    )
    webhook = None if hook is None else Webhook(settings.runs_root, hook)
    if webhook is not None:
        webhook.start()
    on_ready(address(settings))
    try:
        _Server(config, app.state.stopping).run(sockets=[listener])
    finally:
        if webhook is not None:
            webhook.stop()


def address(settings: Settings) -> str:
    """The URL to type into a browser."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}/"


def bind(settings: Settings) -> socket.socket:
    """The listening socket.

    Raises:
        InfrastructureError: the port is taken or may not be used.
    """
    host, port = settings.host.strip("[]"), settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise InfrastructureError(
                f"port {port} of {host} is in use by another program; choose another "
                "one with --port, or stop that program"
            ) from None
        raise InfrastructureError(f"cannot listen on {host}:{port}: {error}") from None
    listener.listen(128)
    return listener
