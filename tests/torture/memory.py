"""The costliest requests against a daemon that may have 256 MiB: each is answered, and the daemon lives."""

import os
import subprocess
import sys
from pathlib import Path

from daemon import Daemon, check

sys.path.append(str(Path(__file__).resolve().parent.parent / "clients"))
import costly_requests  # noqa: E402

LIMIT_BYTES = 256 << 20
# These measure what several take at once; one at a time is what is asked here.
LEFT_OUT = {"many"}


class Group:
    """A control group with that limit of memory, of either version of the interface."""

    def __init__(self):
        root = Path("/sys/fs/cgroup")
        first = (root / "memory").is_dir()
        self.path = root / ("memory" if first else "") / f"ddbfs-torture-{os.getpid()}"
        self.path.mkdir()
        (self.path / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(LIMIT_BYTES))

    def command(self):
        """What starts a program in the group."""
        return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(self.path)]

    def end(self):
        self.path.rmdir()


def run(context, seconds):
    data, mountpoint = context.directory("data"), context.directory("mnt")
    group = Group()
    daemon = Daemon(context.binary, data, mountpoint, wrap=group.command())
    asked = 0
    try:
        server = costly_requests.Server(daemon.addr, daemon.pid())
        cases = [case for case in costly_requests.CASES if case.__name__ not in LEFT_OUT]
        while asked < len(cases) or context.left(seconds):
            case = cases[asked % len(cases)]
            assert costly_requests.run(server, case), f"{case.__name__} is not as it should be"
            assert daemon.process.poll() is None, f"killed by {case.__name__}"
            asked += 1
        hold_open(daemon)
        subprocess.run(["find", mountpoint], check=True, stdout=subprocess.DEVNULL)
        daemon.stop()
        check(context.binary, data)
    finally:
        if daemon.process.poll() is None:
            daemon.kill()
            subprocess.run(["umount", "-l", mountpoint], check=False)
        group.end()
    return f"{asked} costly requests in {LIMIT_BYTES >> 20} MiB"


def hold_open(daemon):
    """As many open files with as much in them as this process gets."""
    daemon.table("Open")
    daemon.put("Open", "large", pad={"S": "x" * 390_000})
    path, held = daemon.item_file("Open", "large"), []
    try:
        while len(held) < 900:
            descriptor = os.open(path, os.O_RDWR)
            held.append(descriptor)
            os.pread(descriptor, 1, 0)
    except OSError:
        pass
    finally:
        for descriptor in held:
            os.close(descriptor)
    assert daemon.process.poll() is None, "killed by open files"
