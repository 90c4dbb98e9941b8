"""Where the daemon is, whether that can be trusted, and how one is started: as the command line does.

1. `Target` says where to connect: a socket of this machine, or an address with a token.
2. `check` refuses a socket in a directory that others can reach into.
3. `spawn` starts `trl serve` in `/`, with an environment that is the user's and not the caller's. Never from inside a
   session: such a daemon would be killed with the command that started it.
"""

from __future__ import annotations

import os
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Mapping, Optional
from urllib.parse import urlsplit

from .errors import ConnectionFailed, NotRunning, TrlError, UntrustedSocket
from .websocket import Frames
from .wire import Lines

#: How long a daemon that was started may take to answer.
PATIENCE_S = 5.0
BETWEEN_TRIES_S = 0.01

# The kernel's bound on the path of a Unix socket.
_LONGEST_SOCKET = 107


@dataclass(frozen=True)
class Target:
    """Where the daemon is, and who asks."""

    socket: Optional[str]
    url: Optional[str]
    token: Optional[str]
    #: The program to start a daemon with; none: it must be running.
    program: Optional[str]

    def framing(self) -> "Lines | Frames":
        return Lines() if self.url is None else self.frames("/ws/rpc")

    def frames(self, path: str, protocol: Optional[str] = None) -> Frames:
        """A WebSocket, which the socket of the daemon has too."""
        if self.url is None:
            return Frames("localhost", path, self.token, protocol)
        parts = urlsplit(self.url)
        return Frames(parts.netloc.rpartition("@")[2], parts.path.rstrip("/") + path, self.token, protocol)

    def address(self) -> "tuple[str, int, bool]":
        """Host, port, and whether it is TLS."""
        parts = urlsplit(self.url or "")
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise ConnectionFailed(f"not an address of a daemon: {self.url}")
        secure = parts.scheme == "https"
        return parts.hostname, parts.port or (443 if secure else 80), secure


def target(socket: Optional[str], url: Optional[str], token: Optional[str], start: Optional[str]) -> Target:
    token = token or os.environ.get("TRL_AUTH_TOKEN") or None
    if url is not None:
        return Target(None, url, token, None)
    return Target(socket or default_socket(os.environ), None, token, start)


def default_socket(env: Mapping[str, str]) -> str:
    if env.get("TRL_SOCKET_PATH"):
        return env["TRL_SOCKET_PATH"]
    runtime = _absolute(env, "XDG_RUNTIME_DIR") or _usual_runtime()
    folder = runtime / "trl" if runtime else (_absolute(env, "TMPDIR") or Path("/tmp")) / f"trl-{os.geteuid()}"
    return str(folder / "trl.sock")


def _usual_runtime() -> Optional[Path]:
    """Where the variable is not handed on, the directory is there all the same."""
    path = Path(f"/run/user/{os.geteuid()}")
    try:
        found = path.lstat()
    except OSError:
        return None
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == 0o700
    return path if private else None


def operator_token() -> Optional[str]:
    """The operator's token as the command line finds it: in the environment, else in the daemon's file."""
    if os.environ.get("TRL_AUTH_TOKEN"):
        return os.environ["TRL_AUTH_TOKEN"]
    config = _absolute(os.environ, "XDG_CONFIG_HOME") or Path.home() / ".config"
    path = config / "trl/operator.token"
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None
    if mode & 0o077:
        raise TrlError(f"{path}: its mode is {mode:04o}, not 0600: others could have read it")
    return path.read_text().strip()


def _absolute(env: Mapping[str, str], name: str) -> Optional[Path]:
    """A relative path in one of these variables is to be ignored, say the XDG rules."""
    path = Path(env.get(name) or ".")
    return path if path.is_absolute() else None


def check(socket: str) -> None:
    """Could only this user have put a socket there?"""
    if len(os.fsencode(socket)) > _LONGEST_SOCKET:
        raise ConnectionFailed(f"the path {socket} is longer than the {_LONGEST_SOCKET} bytes of a Unix socket")
    folder = os.path.dirname(os.path.abspath(socket))
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        raise not_running(socket) from None
    fault = _fault(found)
    if fault:
        raise UntrustedSocket(f"not using the socket directory {folder}: {fault}")


def _fault(found: os.stat_result) -> Optional[str]:
    mode = stat.S_IMODE(found.st_mode) & 0o777
    if stat.S_ISLNK(found.st_mode):
        return "it is a symbolic link"
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a directory"
    if found.st_uid != os.geteuid():
        return f"it belongs to user {found.st_uid}, not to you"
    return None if mode == 0o700 else f"its mode is {mode:04o}, not 0700: others could reach into it"


def not_running(socket: str) -> NotRunning:
    return NotRunning(f"no daemon is running at {socket}", hint="start one with `trl serve`")


# Daemons that were started here: they stay, and are reaped when they end.
_started: List["subprocess.Popen[bytes]"] = []


def spawn(socket: str, program: str) -> "subprocess.Popen[bytes]":
    if _in_session():
        raise NotRunning(f"no daemon is at {socket}, and inside a session none is started")
    try:
        child = subprocess.Popen(
            [program, "serve", "--detach", "--socket", socket],
            cwd="/",
            env=_clean(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise ConnectionFailed(f"cannot start a daemon with `{program}`: {error}") from error
    assert child.stderr is not None
    os.set_blocking(child.stderr.fileno(), False)
    _started.append(child)
    return child


def last_words(child: "subprocess.Popen[bytes]") -> str:
    """What a daemon that has ended said."""
    said = child.stderr.read() if child.stderr else None
    return (said or b"").decode("utf-8", "replace").strip() or f"it ended with {child.returncode}"


def _clean(env: Mapping[str, str]) -> Dict[str, str]:
    """Variables about the user, not about the program that happens to need a daemon. The token would stay readable."""
    names = {"HOME", "PATH", "USER", "LOGNAME", "LANG", "TMPDIR", "TZ"}
    families = ("LC_", "XDG_", "TRL_")
    return {k: v for k, v in env.items() if k != "TRL_AUTH_TOKEN" and (k in names or k.startswith(families))}


def _in_session() -> bool:
    """Is a keeper, which every session has, among our ancestors?"""
    pid = os.getpid()
    while pid > 1:
        try:
            if Path(f"/proc/{pid}/comm").read_text().strip() == "trl-keeper":
                return True
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
    return False
