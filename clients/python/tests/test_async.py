"""The asynchronous half: many at once on one connection, and giving up."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from conftest import Daemon

from trl_client import AsyncClient, SessionNotFound


async def test_many_run_at_once_on_one_connection(aclient: AsyncClient, tmp_path: Path) -> None:
    """Each waits for the one after it: they end only if all run at once."""
    count = 20
    await aclient.run(f"cd {tmp_path} && mkfifo $(seq 0 {count})")
    before = (await aclient.call("system.stats"))["connections"]
    script = f"cat {tmp_path}/$N; echo $N; : > {tmp_path}/$((N - 1))"
    runs = [
        asyncio.ensure_future(aclient.run(script, env={"N": str(number)}, on_disconnect="continue"))
        for number in range(1, count + 1)
    ]
    last = await aclient.start(f"cat {tmp_path}/0", yield_ms=250)
    await aclient.run(f": > {tmp_path}/{count}", on_disconnect="continue")
    results = await asyncio.gather(*runs)
    assert [result.text for result in results] == [f"{number}\n" for number in range(1, count + 1)]
    assert (await last.outcome()).ok
    assert (await aclient.call("system.stats"))["connections"] == before


@pytest.mark.parametrize("choice", ["cancel", "continue"])
async def test_a_cancelled_task_ends_its_command_or_leaves_it(
    aclient: AsyncClient, choice: str, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    await aclient.run(f"mkfifo {go}")
    async with aclient.events(kinds=["exec.started", "exec.finished"]) as events:
        run = asyncio.ensure_future(
            aclient.run(f"cat {go}; exit 9", on_disconnect="cancel" if choice == "cancel" else "continue")
        )
        started = await events.__anext__()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        if choice == "continue":
            await aclient.run(f": > {go}", on_disconnect="continue")
        async for event in events:
            if event["kind"] == "exec.finished" and event["execution_id"] == started.get("execution_id"):
                break
    assert (event["kind"] == "exec.finished") and event["cancelled"] == (choice == "cancel")
    assert (event["exit_code"] == 9) == (choice == "continue")


async def test_a_cancelled_caller_disturbs_no_other(aclient: AsyncClient) -> None:
    process = await aclient.start("read x; echo $x", yield_ms=250)
    gives_up = asyncio.ensure_future(process.wait())
    goes_on = asyncio.ensure_future(process.wait("word"))
    await aclient.call("system.ping")
    gives_up.cancel()
    await process.write("word\n")
    assert (await goes_on).reason in ("pattern", "exit")


async def test_the_surface_is_the_same(aclient: AsyncClient, tmp_path: Path) -> None:
    async with aclient.session(shell="bash", working_dir=str(tmp_path)) as session:
        await session.run("A=1")
        assert (await session.run("echo $A")).text == "1\n"
        chunks = [chunk.data async for chunk in session.stream("echo a; echo b >&2")]
        assert b"".join(sorted(chunks)) == b"a\nb\n"
        await session.files.write("x", b"\xff\x00")
        assert await session.files.read("x") == b"\xff\x00"
        async with aclient.terminal(["cat"]) as terminal:
            await terminal.input("hi\r")
            await terminal.wait("hi\nhi", timeout_s=60)
    with pytest.raises(SessionNotFound):
        await aclient.session("s-nope1234").info()
    assert [runtime["name"] for runtime in await aclient.runtimes.list()] == ["host"]
    assert (await aclient.runtimes.get("host"))["state"] == "up"


async def test_it_works_over_http(daemon: Daemon) -> None:
    async with AsyncClient(url=daemon.http, token=daemon.operator) as client:
        results = await asyncio.gather(
            *(client.run(f"echo {n}", on_disconnect="continue") for n in range(20)), client.run("echo own")
        )
        assert [result.text for result in results] == [f"{n}\n" for n in range(20)] + ["own\n"]
        assert [chunk.text async for chunk in client.stream("echo one")] == ["one\n"]
