"""A client by the SDK's own hands: every step is one that a user's client takes.

    client.py MODE stdio COMMAND ARG...
    client.py MODE http URL TOKEN

MODE is what the SDK calls it: `legacy` says hello first, a version of the protocol does not.
"""

import asyncio
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

TOOLS = [
    "exec_command", "write_stdin", "wait", "read_output", "list", "kill", "screen", "new_session", "close_session",
    "checkpoint",
]


def reach(way, words):
    if way == "stdio":
        return StdioServerParameters(command=words[0], args=words[1:])
    client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {words[1]}"}, timeout=60)
    return streamable_http_client(words[0], http_client=client)


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    assert result.content[0].type == "text"
    return result.structured_content


async def steps(client, name):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert sorted(tools) == sorted(TOOLS), tools
    assert tools["list"].annotations.read_only_hint and tools["kill"].annotations.destructive_hint

    done = await call(client, "exec_command", cmd="echo out; echo err >&2; exit 3")
    assert (done["exit_code"], done["stdout"], done["stderr"]) == (3, "out\n", "err\n"), done

    made = await call(client, "new_session", name=name)
    await call(client, "exec_command", cmd="cd /usr; X=1", session=name)
    kept = await call(client, "checkpoint", session=name, action="create", label="before")
    await call(client, "exec_command", cmd="X=2", session=made["session_id"])
    await call(client, "checkpoint", session=name, action="restore", checkpoint_id=kept["checkpoint_id"])
    seen = await call(client, "exec_command", cmd="echo $X $PWD", session=name)
    assert seen["stdout"] == "1 /usr\n", seen

    heard = []

    async def progress(done, total, message):
        heard.append(done)

    slow = {"cmd": "sleep 3; echo end", "yield_time_ms": 30000}
    slow = await client.call_tool("exec_command", slow, progress_callback=progress)
    assert slow.structured_content["stdout"] == "end\n" and heard, (slow, heard)

    running = await call(client, "exec_command", cmd="read line; echo got $line", yield_time_ms=250)
    await call(client, "write_stdin", execution_id=running["execution_id"], chars="it\n", yield_time_ms=250)
    ended = await call(client, "wait", execution_id=running["execution_id"])
    assert ended["exit_code"] == 0, ended

    bad = await client.call_tool("exec_command", {"cmd": "true", "session": "no-such-session"})
    assert bad.is_error, bad

    uri = f"trl://executions/{done['execution_id']}/stdout"
    resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
    assert "trl://sessions" in resources and uri in resources, resources
    contents = (await client.read_resource(uri)).contents
    assert contents[0].text == "out\n", contents
    assert len((await client.list_resource_templates()).resource_templates) == 2
    await call(client, "close_session", session=name)


async def main(mode, way, *words):
    async with Client(reach(way, words), mode=mode) as client:
        # who pins a version asks nobody who is there
        assert mode == "2026-07-28" or client.server_info.name == "trl", client.server_info
        await steps(client, f"{mode}-{way}")
    print("all steps done")


asyncio.run(main(*sys.argv[1:]))
