"""Output as it comes, a process that is talked to, and a program on a terminal."""

from trl_client import Client

with Client() as trl:
    # Output as it is written. Leaving the block early would end the command.
    with trl.stream("for i in 1 2 3; do echo line $i; done") as stream:
        lines = b"".join(chunk.data for chunk in stream)
    print(lines.decode().split("\n")[:3], "exit", stream.outcome.exit_code)

    # A process that outlives the call which started it: wait for words, answer, wait for its end.
    server = trl.start("echo ready; while read word; do echo got $word; done", yield_ms=250)
    print(server.wait("ready").reason)
    server.write("a question\n")
    matched = server.wait("got a question").matched
    print("answered at byte", matched and matched["from"])
    server.write(close=True)
    print("ended with", server.outcome().exit_code)

    # A terminal: what a person would see, and keys by their names.
    with trl.terminal(["sh"], cols=40, rows=5, env={"PS1": "> "}) as terminal:
        terminal.wait(">", timeout_s=30)
        terminal.input("echo $((6 * 7))")
        terminal.keys("Enter")
        screen = terminal.wait("^42$", timeout_s=30)
        print((screen.get("text") or "").split("\n")[1])
