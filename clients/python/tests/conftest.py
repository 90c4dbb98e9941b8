"""A daemon of the tests' own: the real binary (`TRL_BIN`), in a directory that goes with it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any, AsyncIterator, Dict, Iterator, List, Optional

import pytest
import pytest_asyncio

from trl_client import AsyncClient, Client

BINARY = os.environ.get("TRL_BIN", "trl")


class Daemon:
    """`trl serve` with nothing of the developer's environment."""

    def __init__(self) -> None:
        self.dir = Path(tempfile.mkdtemp(prefix="trl-py-"))
        for name in ("home", "config/trl", "run/trl"):
            (self.dir / name).mkdir(parents=True, mode=0o700)
        self.socket = str(self.dir / "run/trl/trl.sock")
        self.child: Optional["subprocess.Popen[str]"] = None
        self.http = ""
        self.start()

    @property
    def env(self) -> Dict[str, str]:
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.dir / "home"),
            "XDG_CONFIG_HOME": str(self.dir / "config"),
            "XDG_RUNTIME_DIR": str(self.dir / "run"),
            "LANG": "C.UTF-8",
        }

    def start(self) -> None:
        argv = [BINARY, "serve", "--socket", self.socket, "--http", "127.0.0.1:0"]
        log = open(self.dir / "log", "ab")
        self.child = subprocess.Popen(argv, cwd="/", env=self.env, stdout=subprocess.PIPE, stderr=log, text=True)
        log.close()
        assert self.child.stdout is not None
        assert "ready on" in self.child.stdout.readline(), (self.dir / "log").read_text()
        self.http = "http://" + self.child.stdout.readline().rpartition("http on ")[2].strip().rpartition("//")[2]

    def end(self, with_signal: int = signal.SIGTERM) -> None:
        assert self.child is not None
        self.child.send_signal(with_signal)
        self.child.communicate()

    @property
    def operator(self) -> str:
        return (self.dir / "config/trl/operator.token").read_text().strip()

    def rules(self, text: str) -> None:
        (self.dir / "config/trl/approvals.yaml").write_text(text)

    def remove(self) -> None:
        self.end()
        shutil.rmtree(self.dir)


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    daemon = Daemon()
    yield daemon
    daemon.remove()


@pytest.fixture
def own_daemon() -> Iterator[Daemon]:
    """One that the test may end."""
    daemon = Daemon()
    yield daemon
    daemon.remove()


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    with Client(socket=daemon.socket, autostart=None) as client:
        yield client


@pytest_asyncio.fixture
async def aclient(daemon: Daemon) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(socket=daemon.socket, autostart=None) as client:
        yield client


def commands(executions: Any) -> List[str]:
    """What runs now."""
    return [one["command"] for one in executions["executions"] if one["status"] == "running"]
