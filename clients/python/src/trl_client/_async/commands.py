"""Running commands, in a session or in a throw-away one."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Union

from .. import types
from ..values import Data, Progress, Result, given_stdin, result_of, to_wire
from .links import AsyncLinks
from .process import AsyncProcess
from .stream import AsyncStream

Command = Union[str, Sequence[str]]


async def run(
    links: AsyncLinks, command: str, stdin: Optional[Data], on_disconnect: types.OnDisconnect, options: Dict[str, Any]
) -> Result:
    params = {"command": command, "on_disconnect": on_disconnect, **given_stdin(stdin), **options}
    ask = links.ask_alone if on_disconnect == "cancel" else links.ask
    return result_of(await ask("exec.run", params))


def stream(
    links: AsyncLinks, command: str, stdin: Optional[Data], on_disconnect: types.OnDisconnect, options: Dict[str, Any]
) -> AsyncStream:
    params = {"command": command, "on_disconnect": on_disconnect, **given_stdin(stdin), **options}
    return AsyncStream(links, "exec.stream", params)


async def start(links: AsyncLinks, command: Command, stdin: Optional[Data], options: Dict[str, Any]) -> AsyncProcess:
    params: Dict[str, Any] = {"command": command} if isinstance(command, str) else {"argv": list(command)}
    if stdin is not None:
        data, encoding = to_wire(stdin)
        params["stdin"] = {"data": data, "encoding": encoding}
    progress = Progress(await links.ask("exec.start", {**params, **options}))
    return AsyncProcess(links, progress.execution_id, progress)
