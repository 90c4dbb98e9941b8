"""Finding the daemon, starting it, losing it, and the way over HTTP."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Iterator

import pytest
from conftest import BINARY, Daemon

from trl_client import (
    AsyncClient,
    AuthFailed,
    Client,
    ConnectionFailed,
    ConnectionLost,
    DidNotStart,
    Forbidden,
    NotRunning,
    UntrustedSocket,
    find,
    operator_token,
)


@pytest.fixture
def private() -> Iterator[Path]:
    """A directory for a socket: its path may not be long."""
    folder = Path(tempfile.mkdtemp(prefix="trl-py-"))
    yield folder
    shutil.rmtree(folder)


def test_the_socket_is_where_the_command_line_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find.default_socket({"TRL_SOCKET_PATH": "/x/s", "XDG_RUNTIME_DIR": "/r"}) == "/x/s"
    assert find.default_socket({"XDG_RUNTIME_DIR": "/run/user/7"}) == "/run/user/7/trl/trl.sock"
    assert find.default_socket({"XDG_RUNTIME_DIR": "rel", "TMPDIR": "/t"}) == f"/t/trl-{os.geteuid()}/trl.sock"


def test_a_socket_in_an_open_directory_is_not_used(private: Path) -> None:
    private.chmod(0o755)
    with pytest.raises(UntrustedSocket, match="0755"):
        Client(socket=str(private / "trl.sock"), autostart=None).run("true")
    private.chmod(0o700)
    with pytest.raises(NotRunning) as missing:
        Client(socket=str(private / "trl.sock"), autostart=None).run("true")
    assert missing.value.hint == "start one with `trl serve`"


def test_a_daemon_is_started_and_stays(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(private))
    monkeypatch.setenv("TRL_SOCKET_PATH", str(private / "trl.sock"))
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "x")
    with Client(autostart=BINARY) as client:
        assert client.run("echo ${SECRET_OF_THE_CALLER-clean}").text == "clean\n"
        pid = client.call("system.info")["pid"]
    with Client(autostart=None, token=operator_token()) as client:
        assert client.call("system.info")["pid"] == pid, "the same one"
        client.call("system.shutdown")
    assert find._started[-1].wait() == 0


def test_a_daemon_that_does_not_come_up_says_why(private: Path) -> None:
    with pytest.raises(ConnectionFailed, match="no-such-program"):
        Client(socket=str(private / "trl.sock"), autostart="no-such-program").run("true")
    with pytest.raises(DidNotStart, match="ended with 1"):
        Client(socket=str(private / "trl.sock"), autostart="false").run("true")


def test_a_lost_daemon_is_an_error_and_the_next_one_is_found(own_daemon: Daemon) -> None:
    with Client(socket=own_daemon.socket, autostart=None) as client:
        client.run("true").check()
        with client.stream("echo up; sleep 68") as stream:
            next(stream)
            own_daemon.end(signal.SIGKILL)
            with pytest.raises(ConnectionLost):
                stream.wait()
        with pytest.raises(NotRunning):
            client.run("true")
        own_daemon.start()
        assert client.run("echo back").text == "back\n"


async def test_what_waits_on_a_shared_connection_hears_of_its_end(own_daemon: Daemon) -> None:
    async with AsyncClient(socket=own_daemon.socket, autostart=None) as client:
        process = await client.start("echo up; sleep 69", yield_ms=250)
        waiting = asyncio.ensure_future(process.wait())
        await client.call("system.ping")
        own_daemon.end(signal.SIGKILL)
        with pytest.raises(ConnectionLost):
            await waiting
        own_daemon.start()
        assert (await client.run("echo back", on_disconnect="continue")).text == "back\n"


def test_everything_works_over_http(daemon: Daemon) -> None:
    with Client(url=daemon.http, token=daemon.operator) as client:
        every = bytes(range(256)) * 1000
        assert client.run("cat", stdin=every).stdout == every
        with client.stream("echo one; read x; echo $x", open_stdin=True) as stream:
            assert next(stream).text == "one\n"
            stream.write("two\n")
            assert next(stream).text == "two\n"
            assert stream.wait().ok
        with client.terminal(["cat"]) as terminal, terminal.attach() as seat:
            seat.write("hello\r")
            terminal.wait("hello\nhello", timeout_s=60)
        with client.events(kinds=["session.created"]) as events, client.session() as session:
            created = next(iter(events))
            assert created["kind"] == "session.created" and created["session_id"] == session.id


def test_a_wrong_token_is_refused(daemon: Daemon) -> None:
    for client in (Client(url=daemon.http, token="no"), Client(socket=daemon.socket, token="no")):
        with client, pytest.raises(AuthFailed):
            client.run("true")
    with Client(url=daemon.http) as client, pytest.raises(AuthFailed):
        client.run("true")
    with Client(socket=daemon.socket) as client, pytest.raises(Forbidden):
        client.call("token.list")
    with pytest.raises(ConnectionFailed):
        Client(url="ftp://x").run("true")
