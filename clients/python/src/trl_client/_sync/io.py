"""Bytes to and from the daemon, by plain sockets. Its sibling in `_async` does the same for asyncio."""

from __future__ import annotations

import select
import socket
import ssl
import time
from typing import Optional

from .. import find
from ..errors import ConnectionFailed
from ..wire import lost

_PIECE = 256 * 1024


class Pipe:
    """One connection, as bytes."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    @classmethod
    def to_socket(cls, path: str) -> Pipe:
        find.check(path)
        made = socket.socket(socket.AF_UNIX)
        try:
            made.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            made.close()
            raise find.not_running(path) from None
        except OSError as error:
            made.close()
            raise ConnectionFailed(f"cannot connect to {path}: {error}") from error
        return cls(made)

    @classmethod
    def to_address(cls, host: str, port: int, secure: bool) -> Pipe:
        try:
            made = socket.create_connection((host, port))
            return cls(ssl.create_default_context().wrap_socket(made, server_hostname=host) if secure else made)
        except OSError as error:
            raise ConnectionFailed(f"cannot connect to {host}:{port}: {error}") from error

    @property
    def at_end(self) -> bool:
        """The other side is known to be gone. Nobody owes an idle connection anything but its end."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def read(self, timeout_s: Optional[float] = None) -> bytes:
        """What has come; empty at the end. `TimeoutError` when nothing does."""
        try:
            self._socket.settimeout(timeout_s)
            return self._socket.recv(_PIECE)
        except (socket.timeout, BlockingIOError):
            raise TimeoutError from None
        except OSError as error:
            raise lost(str(error)) from error

    def write(self, data: bytes) -> None:
        try:
            self._socket.settimeout(None)
            self._socket.sendall(data)
        except OSError as error:
            raise lost(str(error)) from error

    def drop(self) -> None:
        self._socket.close()


def pause(seconds: float) -> None:
    time.sleep(seconds)
