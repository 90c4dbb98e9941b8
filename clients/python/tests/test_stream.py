"""Output as it comes, stdin that stays open, processes that stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Daemon, commands

from trl_client import Client, TrlError


def test_output_comes_as_it_is_written(client: Client) -> None:
    with client.stream("echo one; read word; echo $word >&2; exit 3", open_stdin=True) as stream:
        first = next(stream)
        assert (first.stream, first.offset, first.data) == ("stdout", 0, b"one\n")
        with pytest.raises(TrlError, match="not ended"):
            _ = stream.outcome
        stream.write("two\n")
        assert next(stream).stream == "stderr"
        assert stream.wait().exit_code == 3


def test_a_stream_has_every_byte(client: Client, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    chunks = list(client.stream(f"head -c 3000000 /dev/urandom | tee {kept}"))
    read = b"".join(chunk.data for chunk in chunks)
    assert len(read) == 3_000_000 and read == kept.read_bytes()


def test_leaving_a_stream_ends_its_command_or_leaves_it(client: Client) -> None:
    with client.events(kinds=["exec.finished"]) as events:
        with client.stream("echo up; sleep 61") as stream:
            next(stream)
        ended = next(event for event in events if event["kind"] == "exec.finished")
        assert ended["execution_id"] == stream.execution_id
    with client.stream("echo up; sleep 62", on_disconnect="continue") as stream:
        next(stream)
    process = client.process(stream.execution_id)
    assert process.signal("CONT") >= 1
    assert process.kill()


def test_a_stream_is_cancelled_and_says_so(client: Client) -> None:
    with client.stream("echo up; sleep 63") as stream:
        next(stream)
        stream.cancel()
        assert stream.wait().cancelled


def test_a_process_is_talked_to(client: Client) -> None:
    process = client.start("echo ready; while read line; do echo got $line; done", yield_ms=250)
    assert process.wait("ready").reason == "pattern"
    said = process.write("a\n", yield_ms=250)
    assert said is not None and said.text == "got a\n"
    assert process.output(since=6).data == b"got a\n"
    process.write("b\n")
    matched = process.wait("got b").matched
    assert matched is not None and matched["from"] == 12
    assert process.wait(idle_ms=10).reason == "idle"
    process.write(close=True)
    assert process.outcome().ok
    assert process.wait().reason == "exit"


def test_a_process_on_a_terminal_has_a_size(client: Client) -> None:
    process = client.start(["sh", "-c", "stty size; read x; stty size"], tty=True, yield_ms=250)
    process.wait("24 80")
    process.resize(100, 30)
    process.write("\r")
    assert process.outcome().ok
    assert b"30 100" in process.output(stream="tty").data
    assert process.terminal_id is not None


def test_a_process_goes_on_without_us_and_is_found_again(daemon: Daemon, client: Client) -> None:
    with Client(socket=daemon.socket) as other:
        started = other.start("echo up; sleep 64", yield_ms=250)
    assert "echo up; sleep 64" in commands(client.call("exec.list"))
    process = client.process(started.execution_id)
    assert process.wait(timeout_s=0.05).reason == "timeout"
    assert process.cancel(grace_s=0.0)
    assert process.outcome().cancelled
