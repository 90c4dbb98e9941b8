"""A program on a terminal, which belongs to the daemon and not to a connection."""

from __future__ import annotations

import re
import time
from typing import Any, Dict, Optional, Sequence, cast

from .. import types
from ..codes import TerminalNotFound
from ..errors import TrlError
from ..values import Data, to_bytes, to_wire
from .attachment import AsyncAttachment
from .links import AsyncLinks


class AsyncTerminal:
    """Made by `open` or `async with`; one that was made there is destroyed at the end of the block."""

    def __init__(self, links: AsyncLinks, terminal_id: Optional[str], options: Dict[str, Any]) -> None:
        self._links = links
        self._id = terminal_id
        self._options = options
        self._is_ours = terminal_id is None

    @property
    def id(self) -> str:
        if self._id is None:
            raise TrlError("the terminal is not open: use `open` or a `with` block")
        return self._id

    async def open(self) -> AsyncTerminal:
        if self._id is None:
            self._id = (await self._links.ask("terminal.create", self._options))["terminal_id"]
        return self

    async def __aenter__(self) -> AsyncTerminal:
        return await self.open()

    async def __aexit__(self, kind: object, *_: object) -> None:
        if not self._is_ours:
            return
        try:
            await self.destroy()
        except TerminalNotFound:
            pass  # It has ended already, and is forgotten.
        except TrlError:
            # What went wrong first is what matters.
            if kind is None:
                raise

    async def info(self) -> types.TerminalInfo:
        return cast(types.TerminalInfo, await self._ask("terminal.get"))

    async def input(self, data: Data) -> None:
        """Types this as it is; Enter is a carriage return."""
        text, encoding = to_wire(data)
        await self._ask("terminal.input", data=text, encoding=encoding)

    async def keys(self, *names: str) -> None:
        """Types keys by name: `Up`, `C-c`, `M-x`, `S-Tab`, `F5`, `Enter`, or one character."""
        await self._ask("terminal.input", keys=list(names))

    async def screen(self, format: types.ScreenFormat = "text") -> types.Screen:
        """What a person would see."""
        return cast(types.Screen, await self._ask("terminal.screen", format=format))

    async def text(self) -> str:
        """What a person would see, as lines."""
        return (await self.screen()).get("text") or ""

    async def snapshot(self, history_lines: Optional[int] = None) -> bytes:
        """Bytes that bring a fresh terminal to the same state."""
        reply = await self._ask("terminal.snapshot", history_lines=history_lines)
        return to_bytes(reply["data"], reply["encoding"])

    async def wait(self, pattern: Optional[str] = None, *, timeout_s: Optional[float] = None) -> types.Screen:
        """The screen once a regular expression (Python's) matches its text, or without one, once the program has ended.

        `TimeoutError` when that takes too long, `TERMINAL_ENDED` when it ends without having shown it."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        async with self.attach(mode="view") as seat:
            while True:
                screen = await self.screen()
                if pattern is not None and re.search(pattern, screen.get("text") or "", re.MULTILINE):
                    return screen
                if seat.exit is not None:
                    break
                left = None if deadline is None else max(deadline - time.monotonic(), 0)
                await seat.receive(left)
        if pattern is None:
            return screen
        raise TrlError("the terminal ended without showing it", code="TERMINAL_ENDED")

    def attach(
        self,
        *,
        gen: Optional[str] = None,
        since: Optional[int] = None,
        mode: Optional[str] = None,
        client: Optional[str] = None,
        size: Optional[Sequence[int]] = None,
    ) -> AsyncAttachment:
        """Sits down beside it: bytes by their offset, and typing. `gen` and `since` say where to go on."""
        cols, rows = size or (None, None)
        query = {"gen": gen, "since": since, "mode": mode, "client": client, "cols": cols, "rows": rows}
        return AsyncAttachment(self._links.target, self.id, query)

    async def resize(self, cols: int, rows: int) -> types.TerminalInfo:
        return cast(types.TerminalInfo, await self._ask("terminal.resize", cols=cols, rows=rows))

    async def signal(self, name: str) -> int:
        """To whoever has the keyboard; says how many processes got it."""
        return int((await self._ask("terminal.signal", signal=name))["processes"])

    async def destroy(self, grace_s: Optional[float] = None) -> None:
        """Ends everything it started, at once or after that long."""
        await self._ask("terminal.destroy", grace_s=grace_s)

    async def keep(self) -> None:
        """Takes a destroy back while it is still to come."""
        await self._ask("terminal.keep")

    async def _ask(self, method: str, **params: Any) -> Any:
        return await self._links.ask(method, {"terminal_id": self.id, **params})
