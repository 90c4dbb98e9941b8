"""A client of TRL's daemon: shells, terminals and processes for agents.

`Client` waits, `AsyncClient` is for asyncio; they have the same functions. The synchronous half is made from the
asynchronous one (`clients/generate`), apart from how bytes are moved (`io`, `links`).
"""

from __future__ import annotations

from . import codes, types
from ._async.attachment import AsyncAttachment, TerminalBytes
from ._async.client import AsyncClient
from ._async.feed import AsyncEvents, AsyncWatch
from ._async.files import AsyncFiles
from ._async.process import AsyncProcess
from ._async.session import AsyncSession
from ._async.stream import AsyncStream
from ._async.terminal import AsyncTerminal
from ._sync.attachment import Attachment
from ._sync.client import Client
from ._sync.feed import Events, Watch
from ._sync.files import Files
from ._sync.process import Process
from ._sync.session import Session
from ._sync.stream import Stream
from ._sync.terminal import Terminal
from .codes import *  # noqa: F403
from .errors import (
    ApprovalPending,
    CommandFailed,
    ConnectionFailed,
    ConnectionLost,
    DidNotStart,
    NotRunning,
    ProtocolMismatch,
    Refused,
    TrlError,
    UntrustedSocket,
)
from .find import operator_token
from .values import Chunk, Outcome, Progress, Result, Slice

__all__ = [
    *codes.__all__,
    "ApprovalPending",
    "AsyncAttachment",
    "AsyncClient",
    "AsyncEvents",
    "AsyncFiles",
    "AsyncProcess",
    "AsyncSession",
    "AsyncStream",
    "AsyncTerminal",
    "AsyncWatch",
    "Attachment",
    "Chunk",
    "Client",
    "CommandFailed",
    "ConnectionFailed",
    "ConnectionLost",
    "DidNotStart",
    "Events",
    "Files",
    "NotRunning",
    "Outcome",
    "Process",
    "Progress",
    "ProtocolMismatch",
    "Refused",
    "Result",
    "Session",
    "Slice",
    "Stream",
    "Terminal",
    "TerminalBytes",
    "TrlError",
    "UntrustedSocket",
    "Watch",
    "operator_token",
    "types",
]
