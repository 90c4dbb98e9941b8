"""Commands, their bytes, and how they end."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import Daemon

from trl_client import Client, CommandFailed


def test_a_command_has_both_streams_and_its_code(client: Client) -> None:
    result = client.run("echo hello; echo oops >&2; exit 7")
    assert (result.stdout, result.stderr, result.exit_code) == (b"hello\n", b"oops\n", 7)
    assert (result.text, result.stderr_text, result.ok) == ("hello\n", "oops\n", False)
    with pytest.raises(CommandFailed, match="ended with 7: oops") as failed:
        result.check()
    assert failed.value.result is result
    assert client.run("true").check().ok


def test_bytes_come_back_as_they_were_given(client: Client) -> None:
    every = bytes(range(256)) * 3
    assert client.run("cat", stdin=every).stdout == every
    assert client.run("cat", stdin="grüße\n").text == "grüße\n"


def test_options_are_those_of_the_wire(client: Client) -> None:
    result = client.run('echo "$A in $PWD"', env={"A": "b"}, working_dir="/usr", timeout_s=None)
    assert result.text == "b in /usr\n"


def test_big_output_is_counted_and_can_be_read_by_its_offset(client: Client) -> None:
    size = 5_000_000
    whole = client.run(f"head -c {size} /dev/zero", max_output_bytes=8 << 20)
    assert len(whole.stdout) == size and whole.omitted is None
    part = client.run(f"yes 123456789 | head -c {size}", max_output_bytes=1 << 20)
    omitted = (part.omitted or {}).get("stdout")
    assert omitted is not None
    assert len(part.stdout) + omitted["to"] - omitted["from"] == size == part.raw["stdout_bytes"]
    tail = client.process(part.execution_id).output(since=size - 20)
    assert (tail.data, tail.next, tail.done) == (b"123456789\n" * 2, size, True)


def test_a_timeout_is_a_result(client: Client) -> None:
    result = client.run("echo part; sleep 60", timeout_s=0.2)
    assert (result.timed_out, result.text, result.ok) == (True, "part\n", False)
    with pytest.raises(CommandFailed, match="timed out"):
        result.check()


def test_an_interrupt_ends_the_command(daemon: Daemon, client: Client) -> None:
    # A suite that a shell started in the background ignores SIGINT, and so would this child.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    script = f"{heed}; from trl_client import Client; Client(socket={daemon.socket!r}).run('sleep 71')"
    env = {**daemon.env, "PYTHONPATH": str(Path(__file__).parent.parent / "src")}
    with client.events(kinds=["exec.started", "exec.finished"]) as events:
        child = subprocess.Popen([sys.executable, "-c", script], env=env, stderr=subprocess.PIPE)
        assert next(events)["kind"] == "exec.started"
        child.send_signal(signal.SIGINT)
        ended = next(events)
        assert ended["kind"] == "exec.finished" and ended["cancelled"]
    assert b"KeyboardInterrupt" in child.communicate()[1]


def test_threads_wait_beside_each_other(client: Client, tmp_path: Path) -> None:
    """Each waits for the one after it, the last for nobody: they end only if all run at once."""
    count = 8
    for number in range(count + 1):
        client.run(f"mkfifo {tmp_path}/{number}").check()
    script = f"cat {tmp_path}/$N; : > {tmp_path}/$((N - 1))"
    results = [-1] * count

    def one(number: int) -> None:
        results[number] = client.run(script, env={"N": str(number + 1)}).exit_code

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    chain = client.start(f"cat {tmp_path}/0", yield_ms=250)
    client.run(f": > {tmp_path}/{count}").check()
    for thread in threads:
        thread.join()
    assert chain.outcome().ok
    assert results == [0] * count
