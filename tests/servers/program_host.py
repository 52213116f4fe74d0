"""Servers of a program that takes a free port and does not say which, as forks.py says.

    python3 program_host.py PROGRAM ARGUMENT...
"""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import time

import forks

PR_SET_PDEATHSIG = 1
TCP_LISTEN = "0A"
# Of a start, against one that never listens.
START_SECONDS = 120


def port_of(process):
    """The port that a process listens at, once it does."""
    try:
        files = [os.readlink(file) for file in pathlib.Path(f"/proc/{process}/fd").iterdir()]
    except FileNotFoundError:
        return None
    for line in pathlib.Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == TCP_LISTEN and f"socket:[{fields[9]}]" in files:
            return int(fields[1].split(":")[1], 16)
    return None


def start(_life):
    libc = ctypes.CDLL(None)
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
    until = time.monotonic() + START_SECONDS
    while not (port := port_of(child.pid)):
        if child.poll() is not None or time.monotonic() > until:
            sys.exit(f"{sys.argv[1]} does not listen: {child.returncode}")
        time.sleep(0.01)
    return child.pid, f"http://127.0.0.1:{port}"


if __name__ == "__main__":
    forks.serve(start)
