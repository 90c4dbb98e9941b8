"""WebSocket frames (RFC 6455), the client's side, without any I/O.

1. `opening` is the handshake's request; until its answer has come, `feed` gives no messages.
2. `feed` puts messages together from frames. A ping is answered by what `owed` gives.
3. A close is noted in `closed`, since messages may have come before it; an answer that is no upgrade is an exception.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
from typing import List, Optional, Tuple

from .errors import ConnectionFailed
from .wire import lost, refusal

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 1, 2, 8, 9, 10


class Frames:
    """One conversation. Text comes out as bytes; `feed_typed` also says which messages were binary."""

    def __init__(self, host: str, path: str, token: Optional[str], protocol: Optional[str] = None) -> None:
        self._key = base64.b64encode(os.urandom(16)).decode()
        headers = {
            "Host": host,
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": self._key,
            "Sec-WebSocket-Version": "13",
        }
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if protocol is not None:
            headers["Sec-WebSocket-Protocol"] = protocol
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._request = f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode()
        self._open = False
        self._buffer = bytearray()
        self._message = bytearray()
        self._kind = _TEXT
        self._owed = bytearray()
        #: Why the other side closed it, once it has.
        self.closed: Optional[str] = None

    def opening(self) -> bytes:
        return self._request

    def encode(self, message: bytes) -> bytes:
        return _frame(_TEXT, message)

    def encode_binary(self, message: bytes) -> bytes:
        return _frame(_BINARY, message)

    def owed(self) -> bytes:
        owed, self._owed = bytes(self._owed), bytearray()
        return owed

    def feed(self, data: bytes) -> List[bytes]:
        return [message for _, message in self.feed_typed(data)]

    def feed_typed(self, data: bytes) -> List[Tuple[bool, bytes]]:
        """Messages, each with whether it is binary."""
        self._buffer += data
        if not self._open and not self._upgraded():
            return []
        found: List[Tuple[bool, bytes]] = []
        while True:
            frame = self._next_frame()
            if frame is None:
                return found
            final, kind, payload = frame
            if kind == _CLOSE:
                self.closed = _why(payload)
            elif kind == _PING:
                self._owed += _frame(_PONG, payload)
            elif kind != _PONG:
                self._kind = kind or self._kind
                self._message += payload
                if final:
                    found.append((self._kind == _BINARY, bytes(self._message)))
                    self._message = bytearray()

    def _upgraded(self) -> bool:
        head, end, rest = bytes(self._buffer).partition(b"\r\n\r\n")
        if not end:
            return False
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if " 101 " not in f"{status} ":
            length = int(headers.get("content-length") or 0)
            if len(rest) < length:
                return False
            raise _not_upgraded(status, rest[:length])
        proof = base64.b64encode(hashlib.sha1((self._key + _GUID).encode()).digest()).decode()
        if headers.get("sec-websocket-accept") != proof:
            raise ConnectionFailed("what answers there is no WebSocket")
        self._open = True
        self._buffer = bytearray(rest)
        return True

    def _next_frame(self) -> Optional[Tuple[bool, int, bytes]]:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        length, start = buffer[1] & 0x7F, 2
        if length >= 126:
            size, form = (2, ">H") if length == 126 else (8, ">Q")
            if len(buffer) < start + size:
                return None
            (length,) = struct.unpack_from(form, buffer, start)
            start += size
        if len(buffer) < start + length:
            return None
        first, payload = buffer[0], bytes(buffer[start : start + length])
        del buffer[: start + length]
        return bool(first & 0x80), first & 0x0F, payload


def _frame(kind: int, payload: bytes) -> bytes:
    """A whole message in one frame, masked as a client must."""
    length = len(payload)
    if length < 126:
        head = struct.pack(">BB", 0x80 | kind, 0x80 | length)
    elif length < 1 << 16:
        head = struct.pack(">BBH", 0x80 | kind, 0x80 | 126, length)
    else:
        head = struct.pack(">BBQ", 0x80 | kind, 0x80 | 127, length)
    mask = os.urandom(4)
    # As one large number: a loop over the bytes would be slow.
    pattern = (mask * (length // 4 + 1))[:length]
    masked = int.from_bytes(payload, "big") ^ int.from_bytes(pattern, "big")
    return head + mask + masked.to_bytes(length, "big")


def _why(payload: bytes) -> str:
    code = struct.unpack_from(">H", payload)[0] if len(payload) >= 2 else 1005
    return f"the daemon closed the connection: {code} {payload[2:].decode('utf-8', 'replace')}"


def _not_upgraded(status: str, body: bytes) -> Exception:
    try:
        facts = dict(json.loads(body)["error"])
        return refusal(facts.pop("code", None), facts.pop("message", status), facts)
    except (ValueError, KeyError, TypeError):
        return lost(f"what answers there is no daemon: {status}")
