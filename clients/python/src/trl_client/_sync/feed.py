"""What is pushed, each feed on a connection of its own: a slow reader holds up nobody else, and leaving is noticed.

Made by clients/generate from _async/feed.py.
"""

from __future__ import annotations

from typing import Any, Dict, Generic, Optional, TypeVar

from .. import types
from ..wire import Push
from .link import Link
from .links import Links

Item = TypeVar("Item")
Me = TypeVar("Me", bound="Feed[Any]")


class Feed(Generic[Item]):
    """To be iterated over; inside of `with` it also ends when you leave early."""

    def __init__(self, links: Links, method: str, params: Dict[str, Any]) -> None:
        self._links = links
        self._method, self._params = method, params
        self._link: Optional[Link] = None
        self._is_over = False

    def open(self: Me) -> Me:
        if self._link is None and not self._is_over:
            link = self._links.take()
            try:
                self._begun(link.ask(self._method, self._params))
            except BaseException:
                link.drop()
                raise
            self._link = link
        return self

    def close(self) -> None:
        """Ends it; what becomes of a command is for `on_disconnect` to say."""
        self._is_over = True
        if self._link is not None:
            self._link.drop()
            self._link = None

    def __enter__(self: Me) -> Me:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self: Me) -> Me:
        return self

    def __next__(self) -> Item:
        self.open()
        while self._link is not None:
            try:
                item = self._heard(self._link.next_push())
            except BaseException:
                self.close()
                raise
            if item is not None:
                return item
            if self._is_over:
                self.close()
        raise StopIteration

    def _begun(self, reply: Dict[str, Any]) -> None:
        """The reply came."""

    def _heard(self, push: Push) -> Optional[Item]:
        """What a push is for the reader, if anything."""
        raise NotImplementedError


class Events(Feed[types.Event]):
    """What happens to sessions, executions, terminals and requests."""

    def _heard(self, push: Push) -> Optional[types.Event]:
        event: Any = push.params
        return event if push.name == "event" else None


class Watch(Feed[types.ChangedPush]):
    """What changes below a directory."""

    def _heard(self, push: Push) -> Optional[types.ChangedPush]:
        changed: Any = push.params
        return changed if push.name == "fs.changed" else None
