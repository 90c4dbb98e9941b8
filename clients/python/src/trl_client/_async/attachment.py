"""A client beside a terminal: its bytes by their offset, and typing.

1. The daemon greets (`hello`) and says where bytes go on; without a place to go on from, a picture comes first.
2. What was read is acknowledged, so that the daemon goes on sending.
3. After a lost connection a new attachment with `gen` and `since` gets exactly the bytes that were missed.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from typing import Any, Deque, Dict, Optional
from urllib.parse import urlencode

from ..errors import TrlError
from ..find import Target
from ..values import Data
from ..wire import lost
from .io import AsyncPipe
from .link import connect

_PROTOCOL = "trl.term.1"
# Bytes that were read before that is told.
_ACK_EVERY = 16 * 1024


@dataclass(frozen=True)
class TerminalBytes:
    """What a terminal was sent, or with `is_picture` what brings a fresh one to the same state."""

    offset: int
    data: bytes
    is_picture: bool = False


class AsyncAttachment:
    def __init__(self, target: Target, terminal_id: str, query: Dict[str, Any]) -> None:
        self._target = target
        given = {key: value for key, value in query.items() if value is not None}
        self._frames = target.frames(f"/ws/terminal/{terminal_id}?{urlencode(given)}", _PROTOCOL)
        self._pipe: Optional[AsyncPipe] = None
        self._bytes: Deque[TerminalBytes] = deque()
        self._typed = 0
        self._acked = 0
        #: The greeting: `gen`, `head`, size, `you`, ...
        self.hello: Dict[str, Any] = {}
        #: Where to go on after this: for `since`.
        self.offset = 0
        #: How the program ended, once it has.
        self.exit: Optional[Dict[str, Any]] = None

    async def open(self) -> AsyncAttachment:
        if self._pipe is None:
            self._pipe = await connect(self._target)
            await self._pipe.write(self._frames.opening())
            while not self.hello and self.exit is None:
                await self.receive()
        return self

    async def aclose(self) -> None:
        if self._pipe is not None:
            self._pipe.drop()

    async def __aenter__(self) -> AsyncAttachment:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncAttachment:
        return self

    async def __anext__(self) -> TerminalBytes:
        await self.open()
        while not self._bytes:
            if self.exit is not None:
                raise StopAsyncIteration
            await self.receive()
        read = self._bytes.popleft()
        self.offset = read.offset if read.is_picture else read.offset + len(read.data)
        if self.offset - self._acked >= _ACK_EVERY and self.exit is None:
            self._acked = self.offset
            await self._tell({"type": "ack", "offset": self.offset})
        return read

    async def write(self, data: Data) -> None:
        """Types this."""
        self._typed += 1
        raw = data.encode() if isinstance(data, str) else data
        await self._send(self._frames.encode_binary(b"\x81" + self._typed.to_bytes(8, "big") + raw))

    async def resize(self, cols: int, rows: int) -> None:
        """Tells the size of our window."""
        await self._tell({"type": "resize", "cols": cols, "rows": rows})

    async def receive(self, timeout_s: Optional[float] = None) -> None:
        """Waits until something comes: bytes, a note, or the end."""
        if self._pipe is None:
            raise TrlError("the attachment is not open")
        data = await self._pipe.read(timeout_s)
        if not data:
            raise lost()
        for is_binary, message in self._frames.feed_typed(data):
            self._heard_bytes(message) if is_binary else self._heard_note(json.loads(message))
        if self._frames.closed and self.exit is None and not self._bytes:
            raise lost(self._frames.closed)
        owed = self._frames.owed()
        if owed and self.exit is None:
            await self._send(owed)

    def _heard_bytes(self, message: bytes) -> None:
        offset = int.from_bytes(message[1:9], "big")
        self._bytes.append(TerminalBytes(offset, message[9:], message[0] == 2))

    def _heard_note(self, note: Dict[str, Any]) -> None:
        if note.get("type") == "hello":
            self.hello = note
        elif note.get("type") == "exit":
            self.exit = note

    async def _tell(self, note: Dict[str, Any]) -> None:
        await self._send(self._frames.encode(json.dumps(note).encode()))

    async def _send(self, data: bytes) -> None:
        await self.open()
        assert self._pipe is not None
        await self._pipe.write(data)
