"""What calls come back with: bytes as they were written, beside the text people read."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Tuple, Union, cast

from . import types
from .errors import ApprovalPending, CommandFailed

Data = Union[bytes, str]


def to_bytes(data: str, encoding: str) -> bytes:
    """The bytes a string of the wire stands for."""
    return base64.b64decode(data) if encoding == "base64" else data.encode()


def to_wire(data: Data) -> Tuple[str, types.Encoding]:
    """A string of the wire for these bytes."""
    try:
        return (data.encode() if isinstance(data, str) else data).decode(), "utf-8"
    except UnicodeError:
        raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        return base64.b64encode(raw).decode(), "base64"


def given_stdin(stdin: Optional[Data]) -> Dict[str, Any]:
    """`stdin` as `exec.run` takes it."""
    if stdin is None:
        return {}
    text, encoding = to_wire(stdin)
    return {"stdin": text, "stdin_encoding": encoding}


class Outcome:
    """How a command ended, without what it wrote."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        #: As it came over the wire.
        self.raw = raw

    @property
    def execution_id(self) -> str:
        return str(self.raw["execution_id"])

    @property
    def exit_code(self) -> int:
        return int(self.raw["exit_code"])

    @property
    def signal(self) -> Optional[str]:
        """`KILL`, `TERM`, ... when the shell itself died of it."""
        return self.raw.get("signal")

    @property
    def timed_out(self) -> bool:
        return bool(self.raw["timed_out"])

    @property
    def cancelled(self) -> bool:
        return bool(self.raw["cancelled"])

    @property
    def duration_ms(self) -> int:
        return int(self.raw["duration_ms"])

    @property
    def working_dir(self) -> str:
        """Of the shell, afterwards."""
        return str(self.raw["working_dir"])

    @property
    def shell_state(self) -> types.ShellState:
        return cast(types.ShellState, self.raw["shell_state"])

    @property
    def ok(self) -> bool:
        """It ended by itself, with 0."""
        return self.exit_code == 0 and not self.timed_out and not self.cancelled

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.execution_id} exit_code={self.exit_code}>"


class Result(Outcome):
    """How a command ended, and what it wrote."""

    @property
    def stdout(self) -> bytes:
        return to_bytes(self.raw["stdout"], self.raw["stdout_encoding"])

    @property
    def stderr(self) -> bytes:
        return to_bytes(self.raw["stderr"], self.raw["stderr_encoding"])

    @property
    def text(self) -> str:
        """stdout for people: what is no UTF-8 is replaced."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def stderr_text(self) -> str:
        return self.stderr.decode("utf-8", "replace")

    @property
    def omitted(self) -> Optional[types.Omitted]:
        """Ranges of the streams that are not here; `call("exec.output")` may still have them."""
        return self.raw.get("omitted")

    def check(self) -> Result:
        """Raises `CommandFailed` unless it ended well."""
        if self.ok:
            return self
        why = "timed out" if self.timed_out else "was cancelled" if self.cancelled else f"ended with {self.exit_code}"
        said = self.stderr_text.strip().splitlines()
        raise CommandFailed(f"the command {why}" + (f": {said[-1]}" if said else ""), self)


def result_of(reply: Mapping[str, Any]) -> Result:
    """A result, unless a person has to be asked first."""
    if "request_id" in reply and "exit_code" not in reply:
        raise ApprovalPending("a person has to say yes first", details=dict(reply))
    return Result(reply)


@dataclass(frozen=True)
class Chunk:
    """Bytes as a command wrote them."""

    stream: str
    #: Where in the stream it begins.
    offset: int
    data: bytes
    #: A range before it that is gone: this reader was too slow.
    gap: Optional[types.Range] = None

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


def chunk_of(push: Mapping[str, Any]) -> Chunk:
    return Chunk(push["stream"], push["offset"], to_bytes(push["data"], push["encoding"]), push.get("gap"))


class Progress:
    """How far an execution has come: what it wrote since the last call that told, and how it ended, once it has."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw

    @property
    def execution_id(self) -> str:
        return str(self.raw["execution_id"])

    @property
    def status(self) -> types.ExecutionStatus:
        return cast(types.ExecutionStatus, self.raw["status"])

    @property
    def done(self) -> bool:
        return "exit_code" in self.raw

    @property
    def exit_code(self) -> Optional[int]:
        return self.raw.get("exit_code")

    @property
    def outcome(self) -> Optional[Outcome]:
        return Outcome(self.raw) if self.done else None

    @property
    def stdout(self) -> bytes:
        return to_bytes(self.raw["stdout"], self.raw["stdout_encoding"])

    @property
    def stderr(self) -> bytes:
        return to_bytes(self.raw["stderr"], self.raw["stderr_encoding"])

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def reason(self) -> Optional[types.Reason]:
        """Of a wait: what ended it."""
        return self.raw.get("reason")

    @property
    def matched(self) -> Optional[types.Matched]:
        """Of a wait for a pattern: where it was found."""
        return self.raw.get("matched")

    @property
    def request_id(self) -> Optional[str]:
        """While a person has to be asked before it begins."""
        return self.raw.get("request_id")

    def __repr__(self) -> str:
        return f"<Progress {self.execution_id} {self.status}>"


@dataclass(frozen=True)
class Slice:
    """Output by byte offset."""

    data: bytes
    offset: int
    #: Where to go on.
    next: int
    #: Every writer is gone, and `next` is the end.
    done: bool
    gap: Optional[types.Range] = None

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


def slice_of(reply: types.OutputSlice) -> Slice:
    data = to_bytes(reply["data"], reply["encoding"])
    return Slice(data, reply["offset"], reply["next"], reply["done"], reply.get("gap"))
