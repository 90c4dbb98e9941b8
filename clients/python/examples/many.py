"""With asyncio: many commands at once, events, and giving up."""

import asyncio

from trl_client import AsyncClient


async def main() -> None:
    async with AsyncClient() as trl:
        # These share one connection.
        runs = [trl.run(f"echo {n}; exit {n}", on_disconnect="continue") for n in range(10)]
        results = await asyncio.gather(*runs)
        print([result.exit_code for result in results])

        # A task that is cancelled ends its command, unless `on_disconnect` is "continue".
        async with trl.events(kinds=["exec.started", "exec.finished"]) as events:
            task = asyncio.ensure_future(trl.run("sleep 60"))
            async for event in events:
                if event["kind"] == "exec.started":
                    task.cancel()
                if event["kind"] == "exec.finished":
                    print("cancelled:", event["cancelled"])
                    break


asyncio.run(main())
