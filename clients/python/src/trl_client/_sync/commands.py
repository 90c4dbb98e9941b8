"""Running commands, in a session or in a throw-away one.

Made by clients/generate from _async/commands.py.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Union

from .. import types
from ..values import Data, Progress, Result, given_stdin, result_of, to_wire
from .links import Links
from .process import Process
from .stream import Stream

Command = Union[str, Sequence[str]]


def run(
    links: Links, command: str, stdin: Optional[Data], on_disconnect: types.OnDisconnect, options: Dict[str, Any]
) -> Result:
    params = {"command": command, "on_disconnect": on_disconnect, **given_stdin(stdin), **options}
    ask = links.ask_alone if on_disconnect == "cancel" else links.ask
    return result_of(ask("exec.run", params))


def stream(
    links: Links, command: str, stdin: Optional[Data], on_disconnect: types.OnDisconnect, options: Dict[str, Any]
) -> Stream:
    params = {"command": command, "on_disconnect": on_disconnect, **given_stdin(stdin), **options}
    return Stream(links, "exec.stream", params)


def start(links: Links, command: Command, stdin: Optional[Data], options: Dict[str, Any]) -> Process:
    params: Dict[str, Any] = {"command": command} if isinstance(command, str) else {"argv": list(command)}
    if stdin is not None:
        data, encoding = to_wire(stdin)
        params["stdin"] = {"data": data, "encoding": encoding}
    progress = Progress(links.ask("exec.start", {**params, **options}))
    return Process(links, progress.execution_id, progress)
