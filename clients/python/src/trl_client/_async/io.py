"""Bytes to and from the daemon, for asyncio. Its sibling in `_sync` does the same with plain sockets."""

from __future__ import annotations

import asyncio
import ssl
from typing import Optional

from .. import find
from ..errors import ConnectionFailed
from ..wire import lost

_PIECE = 256 * 1024


class AsyncPipe:
    """One connection, as bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._draining = asyncio.Lock()

    @classmethod
    async def to_socket(cls, path: str) -> AsyncPipe:
        find.check(path)
        try:
            return cls(*await asyncio.open_unix_connection(path, limit=_PIECE))
        except (FileNotFoundError, ConnectionRefusedError):
            raise find.not_running(path) from None
        except OSError as error:
            raise ConnectionFailed(f"cannot connect to {path}: {error}") from error

    @classmethod
    async def to_address(cls, host: str, port: int, secure: bool) -> AsyncPipe:
        context = ssl.create_default_context() if secure else None
        try:
            return cls(*await asyncio.open_connection(host, port, limit=_PIECE, ssl=context))
        except OSError as error:
            raise ConnectionFailed(f"cannot connect to {host}:{port}: {error}") from error

    @property
    def at_end(self) -> bool:
        """The other side is known to be gone."""
        return self._reader.at_eof() or self._writer.is_closing()

    async def read(self, timeout_s: Optional[float] = None) -> bytes:
        """What has come; empty at the end. `TimeoutError` when nothing does."""
        try:
            if timeout_s is None:
                return await self._reader.read(_PIECE)
            return await asyncio.wait_for(self._reader.read(_PIECE), timeout_s)
        except asyncio.TimeoutError:
            raise TimeoutError from None
        except OSError as error:
            raise lost(str(error)) from error

    async def write(self, data: bytes) -> None:
        try:
            # Whole at once, so that messages of several tasks do not mix; the lock is for the waiting alone.
            self._writer.write(data)
            async with self._draining:
                await self._writer.drain()
        except OSError as error:
            raise lost(str(error)) from error

    def drop(self) -> None:
        self._writer.close()


async def pause(seconds: float) -> None:
    await asyncio.sleep(seconds)
