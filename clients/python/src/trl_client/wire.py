"""The protocol without any I/O: requests to bytes, bytes to replies and pushes.

1. A framing says where messages begin and end: `Lines` on a Unix socket, `websocket.Frames` over HTTP. Both have the
   same functions: `opening`, `encode`, `feed`, and `owed` for what the other side must be answered.
2. `request` makes a message, `heard` reads one.
3. `told` gives the result of a reply, or raises the exception of its code.

Used by both halves of the library; whoever does the I/O decides who waits for what.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Union

from .codes import BY_CODE
from .errors import ConnectionLost, Refused

#: The version of the protocol this library speaks.
PROTOCOL = 1


@dataclass(frozen=True)
class Reply:
    id: Any
    result: Any
    error: Optional[Dict[str, Any]]


@dataclass(frozen=True)
class Push:
    """What the daemon sends without being asked again."""

    name: str
    params: Dict[str, Any]


class Lines:
    """One JSON value a line."""

    closed: Optional[str] = None

    def __init__(self) -> None:
        self._pieces: List[bytes] = []

    def opening(self) -> bytes:
        return b""

    def encode(self, message: bytes) -> bytes:
        return message + b"\n"

    def feed(self, data: bytes) -> List[bytes]:
        # Pieces are joined only when their line is whole: a long one would be copied for every piece otherwise.
        *whole, rest = data.split(b"\n")
        if whole:
            whole[0] = b"".join([*self._pieces, whole[0]])
            self._pieces = []
        if rest:
            self._pieces.append(rest)
        return whole

    def owed(self) -> bytes:
        return b""


def request(number: int, method: str, params: Dict[str, Any]) -> bytes:
    """One message; params that are None are left out."""
    given = {key: value for key, value in params.items() if value is not None}
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": given}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def heard(message: bytes) -> Union[Reply, Push]:
    value = json.loads(message)
    if "method" in value:
        return Push(value["method"], value["params"])
    return Reply(value.get("id"), value.get("result"), value.get("error"))


def told(reply: Reply) -> Any:
    """The result, or the exception of the code it was refused with."""
    if reply.error is None:
        return reply.result
    facts = dict(reply.error.get("data") or {})
    code = facts.pop("code", None)
    raise refusal(code, reply.error.get("message", ""), facts)


def refusal(code: Optional[str], message: str, facts: Dict[str, Any]) -> Refused:
    """A code that is newer than this library is a plain `Refused`."""
    hint = facts.pop("hint", None)
    return BY_CODE.get(code or "", Refused)(message, code=code, hint=hint, details=facts)


def lost(why: str = "the daemon ended the connection") -> ConnectionLost:
    return ConnectionLost(why)
