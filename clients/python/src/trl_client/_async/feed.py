"""What is pushed, each feed on a connection of its own: a slow reader holds up nobody else, and leaving is noticed."""

from __future__ import annotations

from typing import Any, Dict, Generic, Optional, TypeVar

from .. import types
from ..wire import Push
from .link import AsyncLink
from .links import AsyncLinks

Item = TypeVar("Item")
Me = TypeVar("Me", bound="AsyncFeed[Any]")


class AsyncFeed(Generic[Item]):
    """To be iterated over; inside of `async with` it also ends when you leave early."""

    def __init__(self, links: AsyncLinks, method: str, params: Dict[str, Any]) -> None:
        self._links = links
        self._method, self._params = method, params
        self._link: Optional[AsyncLink] = None
        self._is_over = False

    async def open(self: Me) -> Me:
        if self._link is None and not self._is_over:
            link = await self._links.take()
            try:
                self._begun(await link.ask(self._method, self._params))
            except BaseException:
                link.drop()
                raise
            self._link = link
        return self

    async def aclose(self) -> None:
        """Ends it; what becomes of a command is for `on_disconnect` to say."""
        self._is_over = True
        if self._link is not None:
            self._link.drop()
            self._link = None

    async def __aenter__(self: Me) -> Me:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __aiter__(self: Me) -> Me:
        return self

    async def __anext__(self) -> Item:
        await self.open()
        while self._link is not None:
            try:
                item = self._heard(await self._link.next_push())
            except BaseException:
                await self.aclose()
                raise
            if item is not None:
                return item
            if self._is_over:
                await self.aclose()
        raise StopAsyncIteration

    def _begun(self, reply: Dict[str, Any]) -> None:
        """The reply came."""

    def _heard(self, push: Push) -> Optional[Item]:
        """What a push is for the reader, if anything."""
        raise NotImplementedError


class AsyncEvents(AsyncFeed[types.Event]):
    """What happens to sessions, executions, terminals and requests."""

    def _heard(self, push: Push) -> Optional[types.Event]:
        event: Any = push.params
        return event if push.name == "event" else None


class AsyncWatch(AsyncFeed[types.ChangedPush]):
    """What changes below a directory."""

    def _heard(self, push: Push) -> Optional[types.ChangedPush]:
        changed: Any = push.params
        return changed if push.name == "fs.changed" else None
