"""A command whose output comes as it is written."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ..errors import TrlError
from ..values import Chunk, Data, Outcome, chunk_of, to_wire
from ..wire import Push, refusal
from .feed import AsyncFeed


class AsyncStream(AsyncFeed[Chunk]):
    """Chunks of both streams; afterwards `outcome` says how it ended."""

    _execution_id: Optional[str] = None
    #: While a person has to be asked before it begins.
    request_id: Optional[str] = None
    _outcome: Optional[Outcome] = None

    @property
    def execution_id(self) -> str:
        if self._execution_id is None:
            raise TrlError("the stream is not open yet")
        return self._execution_id

    @property
    def outcome(self) -> Outcome:
        """How it ended; an error before all was read."""
        if self._outcome is None:
            raise TrlError("the command has not ended yet")
        return self._outcome

    async def wait(self) -> Outcome:
        """Reads on to the end, and says how it ended."""
        async for _ in self:
            pass
        return self.outcome

    async def write(self, data: Data, *, close: bool = False) -> None:
        """Writes to its stdin, which must be open (`open_stdin=True`)."""
        text, encoding = to_wire(data)
        await self._ask("exec.input", data=text, encoding=encoding, close=close)

    async def close_stdin(self) -> None:
        await self._ask("exec.input", close=True)

    async def signal(self, name: str) -> None:
        """To everything it started: `INT`, `TERM`, ..."""
        await self._ask("exec.signal", signal=name)

    async def cancel(self) -> None:
        """Ends it: TERM, a grace, KILL. The outcome still comes."""
        await self._ask("exec.cancel")

    async def _ask(self, method: str, **params: Any) -> None:
        await self._links.ask(method, {"execution_id": self.execution_id, **params})

    def _begun(self, reply: Dict[str, Any]) -> None:
        self._execution_id = reply["execution_id"]
        self.request_id = reply.get("request_id")

    def _heard(self, push: Push) -> Optional[Chunk]:
        if push.name == "exec.output":
            return chunk_of(push.params)
        if push.name == "exec.exit":
            self._outcome = Outcome(push.params)
            self._is_over = True
        if push.name == "exec.refused":
            facts = dict(push.params["error"])
            raise refusal(facts.pop("code", None), facts.pop("message", ""), facts)
        return None
