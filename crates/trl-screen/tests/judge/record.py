"""Runs a program on a terminal of its own, types a scenario, and writes down what came out.

    record.py OUT COLS ROWS < SCENARIO

The scenario is JSON: {"argv": [...], "steps": [{"keys": "..."} | {"resize": [cols, rows]}]}. The first step waits until the
program has shown something, and each step until it is quiet. OUT is JSON: {"bytes": base64, "resizes": [[offset, cols, rows], ...]}.
"""

import base64
import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios

QUIET = 0.15  # seconds without output after which a program waits for keys
STARTED = 60.0  # seconds until a program shows something, on a machine that is busy
LONGEST = 3.0  # of one step: some programs are never quiet
ENOUGH = 300_000  # bytes


def set_size(fd, cols, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def main():
    out, cols, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    scenario = json.load(sys.stdin)
    pid, fd = pty.fork()
    if pid == 0:
        env = dict(os.environ, TERM="xterm-256color", LANG="C.UTF-8", LC_ALL="C.UTF-8", COLORTERM="truecolor")
        env["SHELL"] = "/bin/sh"  # else tmux takes the user's, which lets nobody in
        env.pop("TMUX", None)
        try:
            os.execvpe(scenario["argv"][0], scenario["argv"], env)
        finally:
            os._exit(127)
    set_size(fd, cols, rows)
    recorded = bytearray()
    resizes = []

    def read():
        """Until the program is quiet; false when it is over."""
        left = LONGEST
        while left > 0 and len(recorded) < ENOUGH:
            if not select.select([fd], [], [], QUIET)[0]:
                return True
            left -= QUIET / 4
            try:
                data = os.read(fd, 65536)
            except OSError:
                return False
            if not data:
                return False
            recorded.extend(data)
        return True

    select.select([fd], [], [], STARTED)
    alive = read()
    for step in scenario["steps"]:
        if not alive or len(recorded) >= ENOUGH:
            break
        if "resize" in step:
            resizes.append([len(recorded), *step["resize"]])
            set_size(fd, *step["resize"])
        else:
            os.write(fd, step["keys"].encode())
        alive = read()
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.close(fd)
    os.waitpid(pid, 0)
    with open(out, "w") as file:
        json.dump({"bytes": base64.b64encode(recorded).decode(), "resizes": resizes}, file)


main()
