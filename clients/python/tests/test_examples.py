"""Every example runs, and says what it should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Daemon

EXAMPLES = Path(__file__).parent.parent / "examples"

SAID = {
    "quickstart": """\
7 hello oops
timed out: True after writing b'part\\n'
me in /usr
rolled_back me
SESSION_NOT_FOUND
""",
    "live": """\
['line 1', 'line 2', 'line 3'] exit 0
pattern
answered at byte 6
ended with 0
42
""",
    "many": """\
[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
cancelled: True
""",
    "approvals": """\
echo removed is pending
approved
removed
""",
}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_an_example_says_what_it_should(own_daemon: Daemon, name: str) -> None:
    if name == "approvals":
        own_daemon.rules("{default: ask}")
    env = {**own_daemon.env, "PYTHONPATH": str(EXAMPLES.parent / "src")}
    # Without the packages of the tests: the library needs nothing but Python.
    done = subprocess.run(
        [sys.executable, "-S", "-W", "error", EXAMPLES / f"{name}.py"], env=env, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr, done.returncode) == (SAID[name], "", 0)
