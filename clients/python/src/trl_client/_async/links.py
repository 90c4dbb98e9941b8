"""All connections of a client: one that all calls share, and those of the pool.

The shared one carries any number of requests at once; replies come as they are ready. When it is lost, what waits on
it fails, and the next call opens another.
"""

from __future__ import annotations

import asyncio
from typing import Any, Dict, Optional

from ..errors import ConnectionFailed, ConnectionLost
from ..find import Target
from ..wire import Reply, lost, told
from .link import AsyncLink
from .pool import AsyncPool


class AsyncLinks(AsyncPool):
    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self._shared: Optional[_Shared] = None
        self._opening: Optional[asyncio.Lock] = None

    async def ask(self, method: str, params: Dict[str, Any]) -> Any:
        return await (await self._get_shared()).ask(method, params)

    async def _get_shared(self) -> _Shared:
        if self._opening is None:
            self._opening = asyncio.Lock()
        async with self._opening:
            if self._shared is None or self._shared.is_lost:
                self._shared = _Shared(await AsyncLink.open(self.target))
            return self._shared

    async def aclose(self) -> None:
        self.drop_idle()
        if self._shared is not None:
            await self._shared.aclose()


class _Shared:
    def __init__(self, link: AsyncLink) -> None:
        self._link = link
        self._waiting: Dict[int, "asyncio.Future[Reply]"] = {}
        self.is_lost = False
        self._reader = asyncio.ensure_future(self._read())

    async def ask(self, method: str, params: Dict[str, Any]) -> Any:
        if self.is_lost:
            raise lost()
        number = self._link.next_number()
        reply: "asyncio.Future[Reply]" = asyncio.get_running_loop().create_future()
        self._waiting[number] = reply
        try:
            await self._link.send(method, params)
            return told(await reply)
        finally:
            del self._waiting[number]

    async def _read(self) -> None:
        try:
            while True:
                message = await self._link.receive()
                waiting = self._waiting.get(message.id) if isinstance(message, Reply) else None
                if waiting is not None and isinstance(message, Reply) and not waiting.done():
                    waiting.set_result(message)
        except ConnectionFailed as error:
            self._fail(str(error.message))
        except Exception as error:
            self._fail(f"what the daemon says is not understood: {error!r}")

    def _fail(self, why: str) -> None:
        self.is_lost = True
        self._link.drop()
        for waiting in self._waiting.values():
            if not waiting.done():
                # Each its own: an exception that is raised twice has two histories.
                waiting.set_exception(ConnectionLost(why))

    async def aclose(self) -> None:
        self._reader.cancel()
        await asyncio.wait([self._reader])
        self._fail("the client was closed")
