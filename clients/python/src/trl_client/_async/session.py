"""A session: one long-lived shell, whose state stays from command to command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, cast

from .. import types
from ..codes import SessionNotFound, SessionTerminated
from ..errors import ApprovalPending, TrlError
from ..values import Data, Result
from . import commands
from .files import AsyncFiles
from .links import AsyncLinks
from .process import AsyncProcess
from .stream import AsyncStream

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncSession:
    """Made by `open` or `async with`; one that was made there is destroyed at the end of the block."""

    def __init__(self, links: AsyncLinks, session_id: Optional[str], options: Dict[str, Any]) -> None:
        self._links = links
        self._id = session_id
        self._options = options
        self._is_ours = session_id is None

    @property
    def id(self) -> str:
        if self._id is None:
            raise TrlError("the session is not open: use `open` or a `with` block")
        return self._id

    async def open(self) -> AsyncSession:
        """Makes it, or opens it again if it was closed."""
        if self._id is not None:
            await self._links.ask("session.get", {"session_id": self._id, **self._options})
            return self
        made = await self._links.ask("session.create", self._options)
        if "request_id" in made:
            raise ApprovalPending("a person has to say yes first", details=made)
        self._id = made["session_id"]
        return self

    async def __aenter__(self) -> AsyncSession:
        return await self.open()

    async def __aexit__(self, kind: object, *_: object) -> None:
        if not self._is_ours:
            return
        try:
            await self.destroy()
        except (SessionNotFound, SessionTerminated):
            pass  # It has ended already.
        except TrlError:
            # What went wrong first is what matters.
            if kind is None:
                raise

    async def run(
        self,
        command: str,
        *,
        stdin: Optional[Data] = None,
        on_disconnect: types.OnDisconnect = "cancel",
        **options: Unpack[types.SessionRunOptions],
    ) -> Result:
        """Runs a command in the shell; as `run` of the client."""
        return await commands.run(self._links, command, stdin, on_disconnect, self._here(options))

    def stream(
        self,
        command: str,
        *,
        stdin: Optional[Data] = None,
        on_disconnect: types.OnDisconnect = "cancel",
        **options: Unpack[types.SessionRunOptions],
    ) -> AsyncStream:
        return commands.stream(self._links, command, stdin, on_disconnect, self._here(options))

    async def start(
        self, command: str, *, stdin: Optional[Data] = None, **options: Unpack[types.StartOptions]
    ) -> AsyncProcess:
        """Runs a command in the shell that may outlive the call."""
        return await commands.start(self._links, command, stdin, self._here(options))

    def _here(self, options: Any) -> Dict[str, Any]:
        return {**options, "session_id": self.id}

    @property
    def files(self) -> AsyncFiles:
        """Those of its workspace, or of the directory it was made in."""
        return AsyncFiles(self._links, {"session_id": self.id})

    async def info(self) -> types.SessionInfo:
        return cast(types.SessionInfo, await self._ask("session.info"))

    async def history(self, query: Optional[str] = None, *, limit: int = 50) -> List[types.HistoryEntry]:
        """What was run, newest first."""
        reply = await self._ask("session.history", query=query, limit=limit)
        return cast(List[types.HistoryEntry], reply["entries"])

    async def checkpoint(self, label: Optional[str] = None, *, files: Optional[bool] = None) -> types.CheckpointInfo:
        """Keeps the state of the shell; once this is back, it is on the disk."""
        return cast(types.CheckpointInfo, await self._ask("checkpoint.create", label=label, files=files))

    async def checkpoints(self) -> List[types.CheckpointInfo]:
        return cast(List[types.CheckpointInfo], (await self._ask("checkpoint.list"))["checkpoints"])

    async def restore(self, checkpoint_id: str) -> types.Restored:
        """Goes on with a state that was kept."""
        return cast(types.Restored, await self._ask("checkpoint.restore", checkpoint_id=checkpoint_id))

    async def reset(self) -> types.SessionInfo:
        """A fresh shell under the same id."""
        return cast(types.SessionInfo, await self._ask("session.reset"))

    async def cancel(self) -> bool:
        """Ends what runs in it; False if that had ended by itself."""
        return bool((await self._ask("exec.cancel"))["cancelled"])

    async def close(self) -> types.SessionInfo:
        """Ends its processes; it can be opened again by its id, also by the next daemon."""
        return cast(types.SessionInfo, await self._ask("session.close"))

    async def destroy(self) -> None:
        """Ends it for good."""
        await self._ask("session.destroy", force=True)

    async def _ask(self, method: str, **params: Any) -> Any:
        return await self._links.ask(method, {"session_id": self.id, **params})
