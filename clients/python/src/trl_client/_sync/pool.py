"""Connections that one caller has for itself: one that is dropped cancels what was asked on it, and nothing else.

Made by clients/generate from _async/pool.py.
"""

from __future__ import annotations

import time
from typing import Any, Dict, List

from ..errors import Refused
from ..find import Target
from .link import Link

#: Idle ones that are kept.
_MOST = 8
# An idle one over HTTP is pinged and hears it only when it is used again; the daemon would think that it is gone.
_KEPT_FOR_S = 10.0


class Pool:
    def __init__(self, target: Target) -> None:
        self.target = target
        self._idle: List[Link] = []
        self._open = True

    def ask_alone(self, method: str, params: Dict[str, Any]) -> Any:
        """Whoever gives up waiting for it takes the connection down, and the daemon hears of that."""
        link = self.take()
        try:
            result = link.ask(method, params)
        except Refused:
            self._give(link)
            raise
        except BaseException:
            link.drop()
            raise
        self._give(link)
        return result

    def take(self) -> Link:
        """One for the caller, who drops it."""
        while True:
            try:
                link = self._idle.pop()
            except IndexError:
                return Link.open(self.target)
            if not link.at_end and time.monotonic() - link.used_at < _KEPT_FOR_S:
                return link
            link.drop()

    def _give(self, link: Link) -> None:
        link.used_at = time.monotonic()
        if self._open and len(self._idle) < _MOST:
            self._idle.append(link)
        else:
            link.drop()

    def drop_idle(self) -> None:
        self._open = False
        while self._idle:
            self._idle.pop().drop()
