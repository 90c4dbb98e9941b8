"""One connection that is ready for requests.

1. It is opened as the command line does: the socket's directory is checked, a daemon is started if there is none and
   that is wanted, the token is presented, and a ping settles that both sides speak the same protocol.
2. `ask` is for one caller at a time; `send` and `receive` are for those who share it.
3. What is pushed meanwhile waits for `next_push`.


Made by clients/generate from _async/link.py.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Deque, Dict, Optional, Union

from .. import find
from ..errors import DidNotStart, NotRunning, ProtocolMismatch
from ..find import Target
from ..wire import PROTOCOL, Push, Reply, heard, lost, request, told
from .io import Pipe, pause

# How long the daemon that stays may take after another one that was started has ended at its lock.
_AFTER_EXIT_S = 2.0


class Link:
    def __init__(self, pipe: Pipe, target: Target) -> None:
        self._pipe = pipe
        self._framing = target.framing()
        self._heard: Deque[Union[Reply, Push]] = deque()
        self._pushes: Deque[Push] = deque()
        self._number = 0
        #: When it was last used, for those who keep it.
        self.used_at = time.monotonic()

    @classmethod
    def open(cls, target: Target) -> Link:
        link = cls(connect(target), target)
        try:
            link._greet(target)
        except BaseException:
            link.drop()
            raise
        return link

    def _greet(self, target: Target) -> None:
        self._pipe.write(self._framing.opening())
        if target.url is None and target.token is not None:
            self.ask("system.auth", {"token": target.token})
        ping = self.ask("system.ping", {})
        if ping["protocol"] != PROTOCOL:
            theirs = f"the daemon is {ping['version']} (protocol {ping['protocol']})"
            raise ProtocolMismatch(f"{theirs}, this speaks protocol {PROTOCOL}")

    @property
    def at_end(self) -> bool:
        return self._pipe.at_end

    def ask(self, method: str, params: Dict[str, Any]) -> Any:
        number = self.send(method, params)
        while True:
            message = self.receive()
            if isinstance(message, Push):
                self._pushes.append(message)
            elif message.id == number:
                return told(message)

    def send(self, method: str, params: Dict[str, Any]) -> int:
        """Asks, and gives the number the reply will have."""
        self._number += 1
        number = self._number
        self._pipe.write(self._framing.encode(request(number, method, params)))
        return number

    def next_number(self) -> int:
        """The number the next request will have."""
        return self._number + 1

    def next_push(self) -> Push:
        while not self._pushes:
            message = self.receive()
            if isinstance(message, Push):
                return message
        return self._pushes.popleft()

    def receive(self) -> Union[Reply, Push]:
        while not self._heard:
            data = self._pipe.read()
            if not data:
                raise lost()
            self._heard.extend(heard(message) for message in self._framing.feed(data))
            if self._framing.closed and not self._heard:
                raise lost(self._framing.closed)
            owed = self._framing.owed()
            if owed:
                self._pipe.write(owed)
        return self._heard.popleft()

    def drop(self) -> None:
        self._pipe.drop()


def connect(target: Target) -> Pipe:
    if target.url is not None:
        return Pipe.to_address(*target.address())
    assert target.socket is not None
    try:
        return Pipe.to_socket(target.socket)
    except NotRunning:
        if target.program is None:
            raise
    return _start(target.socket, target.program)


def _start(socket: str, program: str) -> Pipe:
    """When two start a daemon at once, one of the daemons ends at the other's lock, and both connect to the other."""
    child = find.spawn(socket, program)
    deadline = time.monotonic() + find.PATIENCE_S
    ended: Optional[str] = None
    while True:
        try:
            return Pipe.to_socket(socket)
        except NotRunning:
            if ended is None and child.poll() is not None:
                ended = find.last_words(child)
                deadline = min(deadline, time.monotonic() + _AFTER_EXIT_S)
            if time.monotonic() >= deadline:
                why = ended or f"it does not answer after {find.PATIENCE_S:.0f} s"
                raise DidNotStart(f"the daemon did not start: {why}") from None
        pause(find.BETWEEN_TRIES_S)
