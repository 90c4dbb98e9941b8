"""The client: where everything begins.

Made by clients/generate from _async/client.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional, Sequence

from .. import find, types
from ..values import Data, Result
from . import commands
from .approvals import Approvals
from .calls import Calls
from .feed import Events
from .files import Files
from .links import Links
from .process import Process
from .runtimes import Runtimes
from .session import Session
from .stream import Stream
from .terminal import Terminal

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Client(Calls):
    """A way to the daemon of this user, or with `url` to one over HTTP.

    `socket` is found as the command line finds it (`TRL_SOCKET_PATH`, `XDG_RUNTIME_DIR`). `token` is that of
    `TRL_AUTH_TOKEN` unless given. `autostart` is the program to start a daemon with when none runs; None forbids it.
    Nothing is connected before it is needed, and a lost connection is opened again by the next call."""

    def __init__(
        self,
        *,
        socket: Optional[str] = None,
        url: Optional[str] = None,
        token: Optional[str] = None,
        autostart: Optional[str] = "trl",
    ) -> None:
        self._links = Links(find.target(socket, url, token, autostart))
        self.approvals = Approvals(self._links)
        self.runtimes = Runtimes(self._links)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._links.close()

    def run(
        self,
        command: str,
        *,
        stdin: Optional[Data] = None,
        on_disconnect: types.OnDisconnect = "cancel",
        **options: Unpack[types.RunOptions],
    ) -> Result:
        """Runs a command in a throw-away session. One that fails or times out is a result, not an exception.

        Whoever stops waiting (a cancelled task, an interrupt, the end of this process) ends the command, unless
        `on_disconnect` is "continue". Those run over one connection, the others over one each."""
        return commands.run(self._links, command, stdin, on_disconnect, {**options})

    def stream(
        self,
        command: str,
        *,
        stdin: Optional[Data] = None,
        on_disconnect: types.OnDisconnect = "cancel",
        **options: Unpack[types.RunOptions],
    ) -> Stream:
        """Runs a command, and gives what it writes as it comes."""
        return commands.stream(self._links, command, stdin, on_disconnect, {**options})

    def start(
        self, command: commands.Command, *, stdin: Optional[Data] = None, **options: Unpack[types.StartOptions]
    ) -> Process:
        """Starts a process that may outlive the call: text for a shell, or a program with its arguments.

        Its stdin stays open for `write` unless given here; `tty=True` puts it on a terminal."""
        return commands.start(self._links, command, stdin, {**options})

    def process(self, execution_id: str) -> Process:
        """One that was started before, by anybody."""
        return Process(self._links, execution_id)

    def session(self, session_id: Optional[str] = None, **options: Unpack[types.SessionOptions]) -> Session:
        """A new session, for `with` or `open`, or one there is by its id."""
        return Session(self._links, session_id, {**options})

    def terminal(
        self,
        argv: Optional[Sequence[str]] = None,
        *,
        terminal_id: Optional[str] = None,
        **options: Unpack[types.TerminalOptions],
    ) -> Terminal:
        """A new terminal with this program, or the user's shell; or one there is by its id."""
        params: Dict[str, Any] = {"argv": list(argv) if argv else None, **options}
        return Terminal(self._links, terminal_id, params)

    def files(self, *, workspace_id: Optional[str] = None, session_id: Optional[str] = None) -> Files:
        """Files of a workspace, or of a session."""
        return Files(self._links, {"workspace_id": workspace_id, "session_id": session_id})

    def events(
        self,
        *,
        kinds: Optional[Sequence[str]] = None,
        session_id: Optional[str] = None,
        since: Optional[int] = None,
    ) -> Events:
        """What happens, until it is closed."""
        params = {"kinds": list(kinds) if kinds else None, "session_id": session_id, "since": since}
        return Events(self._links, "events.subscribe", params)

    def _ask(self, method: str, params: Dict[str, Any]) -> Any:
        return self._links.ask(method, params)
