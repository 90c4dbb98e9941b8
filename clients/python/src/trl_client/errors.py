"""Everything that can go wrong. `codes` has a class for every code of the daemon's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional

if TYPE_CHECKING:
    from .values import Result


class TrlError(Exception):
    """What all others derive from."""

    code = "ERROR"

    def __init__(
        self,
        message: str,
        *,
        code: Optional[str] = None,
        hint: Optional[str] = None,
        details: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__(message)
        self.code = code or type(self).code
        self.message = message
        #: What to do about it, if the daemon knows.
        self.hint = hint
        #: Further facts, by the code.
        self.details = details or {}

    def __str__(self) -> str:
        told = f"{self.message} ({self.hint})" if self.hint else self.message
        return f"{self.code}: {told}"


class Refused(TrlError):
    """The daemon said no."""


class ConnectionFailed(TrlError):
    """There is no way to the daemon."""

    code = "CONNECTION_FAILED"


class NotRunning(ConnectionFailed):
    """Nobody answers there, and none was to be started."""

    code = "NOT_RUNNING"


class DidNotStart(ConnectionFailed):
    """A daemon was started, and does not answer."""

    code = "DID_NOT_START"


class UntrustedSocket(ConnectionFailed):
    """Others can reach into the directory of the socket, so it may be anybody's."""

    code = "UNTRUSTED_SOCKET"


class ProtocolMismatch(ConnectionFailed):
    """The daemon speaks another protocol."""

    code = "PROTOCOL_MISMATCH"


class ConnectionLost(ConnectionFailed):
    """The connection ended before the answer came. Whether the request was carried out is not known."""

    code = "CONNECTION_LOST"


class ApprovalPending(TrlError):
    """With `approval="return"`: a person is asked, and it runs when they say yes. See `approvals.wait`."""

    code = "APPROVAL_PENDING"

    @property
    def request_id(self) -> str:
        return str(self.details["request_id"])

    @property
    def execution_id(self) -> Optional[str]:
        return self.details.get("execution_id")


class CommandFailed(TrlError):
    """By `Result.check`: the command did not end with 0."""

    code = "COMMAND_FAILED"

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result
