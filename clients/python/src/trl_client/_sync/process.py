"""A process that may outlive the call that started it.

Made by clients/generate from _async/process.py.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from .. import types
from ..values import Data, Outcome, Progress, Slice, slice_of, to_wire
from .links import Links

# The longest the daemon waits in one call.
_LONGEST_WAIT_S = 600.0


class Process:
    """An execution by its id: any client can go on with it."""

    def __init__(self, links: Links, execution_id: str, progress: Optional[Progress] = None) -> None:
        self._links = links
        self.execution_id = execution_id
        #: How far it had come when it was started, with its first output.
        self.started = progress

    @property
    def terminal_id(self) -> Optional[str]:
        """Where it runs, with `tty`."""
        return self.started.raw.get("terminal_id") if self.started else None

    @property
    def session_id(self) -> Optional[str]:
        return self.started.raw.get("session_id") if self.started else None

    @property
    def request_id(self) -> Optional[str]:
        """While a person has to be asked before it begins."""
        return self.started.request_id if self.started else None

    def write(
        self, data: Optional[Data] = None, *, close: bool = False, yield_ms: Optional[int] = None
    ) -> Optional[Progress]:
        """Writes to its stdin; with `yield_ms` waits for what it says to that."""
        params: Dict[str, Any] = {"close": close, "yield_ms": yield_ms}
        if data is not None:
            params["data"], params["encoding"] = to_wire(data)
        reply = self._ask("exec.input", **params)
        return Progress(reply["progress"]) if reply.get("progress") else None

    def wait(
        self,
        pattern: Optional[str] = None,
        *,
        idle_ms: Optional[int] = None,
        count: Optional[int] = None,
        stream: Optional[types.Stream] = None,
        since: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Progress:
        """Waits for a pattern, silence, so many bytes, or the end, whichever is first; `reason` says which it was.

        Waiting changes nothing about the process. Without a `timeout_s` it is for as long as it takes."""
        wanted = {"pattern": pattern, "idle_ms": idle_ms, "bytes": count, "stream": stream, "since": since}
        until = {key: value for key, value in wanted.items() if value is not None} or {"exit": True}
        while True:
            limit = _LONGEST_WAIT_S if timeout_s is None else min(timeout_s, _LONGEST_WAIT_S)
            progress = Progress(self._ask("exec.wait", until=until, timeout_s=limit))
            if progress.reason != "timeout":
                return progress
            timeout_s = None if timeout_s is None else timeout_s - limit
            if timeout_s is not None and timeout_s <= 0:
                return progress

    def outcome(self) -> Outcome:
        """Waits for the end, and says how it ended."""
        outcome = (self.wait()).outcome
        assert outcome is not None, "without a timeout only the end ends a wait for the end"
        return outcome

    def output(
        self, since: int = 0, *, stream: Optional[types.Stream] = None, limit: Optional[int] = None
    ) -> Slice:
        """Reads any range, and moves nothing."""
        return slice_of(self._ask("exec.output", since=since, stream=stream, limit=limit))

    def signal(self, name: str) -> int:
        """To everything it started; says how many processes got it."""
        return int((self._ask("exec.signal", signal=name))["processes"])

    def resize(self, cols: int, rows: int) -> None:
        self._ask("exec.resize", cols=cols, rows=rows)

    def cancel(self, signal: Optional[str] = None, *, grace_s: Optional[float] = None) -> bool:
        """Ends it, and comes back once it is over. False: it had ended by itself."""
        return bool((self._ask("exec.cancel", signal=signal, grace_s=grace_s))["cancelled"])

    def kill(self) -> bool:
        """Ends it without a grace."""
        return self.cancel("KILL")

    def _ask(self, method: str, **params: Any) -> Any:
        return self._links.ask(method, {"execution_id": self.execution_id, **params})
