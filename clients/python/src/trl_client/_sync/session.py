"""A session: one long-lived shell, whose state stays from command to command.

Made by clients/generate from _async/session.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, cast

from .. import types
from ..codes import SessionNotFound, SessionTerminated
from ..errors import ApprovalPending, TrlError
from ..values import Data, Result
from . import commands
from .files import Files
from .links import Links
from .process import Process
from .stream import Stream

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Session:
    """Made by `open` or `with`; one that was made there is destroyed at the end of the block."""

    def __init__(self, links: Links, session_id: Optional[str], options: Dict[str, Any]) -> None:
        self._links = links
        self._id = session_id
        self._options = options
        self._is_ours = session_id is None

    @property
    def id(self) -> str:
        if self._id is None:
            raise TrlError("the session is not open: use `open` or a `with` block")
        return self._id

    def open(self) -> Session:
        """Makes it, or opens it again if it was closed."""
        if self._id is not None:
            self._links.ask("session.get", {"session_id": self._id, **self._options})
            return self
        made = self._links.ask("session.create", self._options)
        if "request_id" in made:
            raise ApprovalPending("a person has to say yes first", details=made)
        self._id = made["session_id"]
        return self

    def __enter__(self) -> Session:
        return self.open()

    def __exit__(self, kind: object, *_: object) -> None:
        if not self._is_ours:
            return
        try:
            self.destroy()
        except (SessionNotFound, SessionTerminated):
            pass  # It has ended already.
        except TrlError:
            # What went wrong first is what matters.
            if kind is None:
                raise

    def run(
        self,
        command: str,
        *,
        stdin: Optional[Data] = None,
        on_disconnect: types.OnDisconnect = "cancel",
        **options: Unpack[types.SessionRunOptions],
    ) -> Result:
        """Runs a command in the shell; as `run` of the client."""
        return commands.run(self._links, command, stdin, on_disconnect, self._here(options))

    def stream(
        self,
        command: str,
        *,
        stdin: Optional[Data] = None,
        on_disconnect: types.OnDisconnect = "cancel",
        **options: Unpack[types.SessionRunOptions],
    ) -> Stream:
        return commands.stream(self._links, command, stdin, on_disconnect, self._here(options))

    def start(
        self, command: str, *, stdin: Optional[Data] = None, **options: Unpack[types.StartOptions]
    ) -> Process:
        """Runs a command in the shell that may outlive the call."""
        return commands.start(self._links, command, stdin, self._here(options))

    def _here(self, options: Any) -> Dict[str, Any]:
        return {**options, "session_id": self.id}

    @property
    def files(self) -> Files:
        """Those of its workspace, or of the directory it was made in."""
        return Files(self._links, {"session_id": self.id})

    def info(self) -> types.SessionInfo:
        return cast(types.SessionInfo, self._ask("session.info"))

    def history(self, query: Optional[str] = None, *, limit: int = 50) -> List[types.HistoryEntry]:
        """What was run, newest first."""
        reply = self._ask("session.history", query=query, limit=limit)
        return cast(List[types.HistoryEntry], reply["entries"])

    def checkpoint(self, label: Optional[str] = None, *, files: Optional[bool] = None) -> types.CheckpointInfo:
        """Keeps the state of the shell; once this is back, it is on the disk."""
        return cast(types.CheckpointInfo, self._ask("checkpoint.create", label=label, files=files))

    def checkpoints(self) -> List[types.CheckpointInfo]:
        return cast(List[types.CheckpointInfo], (self._ask("checkpoint.list"))["checkpoints"])

    def restore(self, checkpoint_id: str) -> types.Restored:
        """Goes on with a state that was kept."""
        return cast(types.Restored, self._ask("checkpoint.restore", checkpoint_id=checkpoint_id))

    def reset(self) -> types.SessionInfo:
        """A fresh shell under the same id."""
        return cast(types.SessionInfo, self._ask("session.reset"))

    def cancel(self) -> bool:
        """Ends what runs in it; False if that had ended by itself."""
        return bool((self._ask("exec.cancel"))["cancelled"])

    def close(self) -> types.SessionInfo:
        """Ends its processes; it can be opened again by its id, also by the next daemon."""
        return cast(types.SessionInfo, self._ask("session.close"))

    def destroy(self) -> None:
        """Ends it for good."""
        self._ask("session.destroy", force=True)

    def _ask(self, method: str, **params: Any) -> Any:
        return self._links.ask(method, {"session_id": self.id, **params})
