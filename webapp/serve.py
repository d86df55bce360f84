"""Listen: bind the port, say where, run the application until it is stopped.

Called by `faultyard serve` and `faultyard demo`.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable

import uvicorn

from harness.errors import InfrastructureError
from webapp.app import create_app
from webapp.settings import Settings

# Event streams end only when they are told; a stopping server does not wait for them.
SHUTDOWN_GRACE_S = 1


def serve(settings: Settings, on_ready: Callable[[str], None]) -> None:
    """Serve until interrupted.

    Args:
        on_ready: called with the address once connections are accepted.

    Raises:
        InfrastructureError: the port is taken or may not be used.
    """
    listener = bind(settings)
    config = uvicorn.Config(
        create_app(settings),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=SHUTDOWN_GRACE_S,
    )
    on_ready(address(settings))
    uvicorn.Server(config).run(sockets=[listener])


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
