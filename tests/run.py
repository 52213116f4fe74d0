"""Runs test binaries side by side, since most tests wait; a test that hangs is named and ended.

    python3 tests/run.py MESSAGES_OF_CARGO [--all] [ARGUMENTS OF EACH BINARY]

--all runs the tests over every server of tests/servers, which scripts/servers --all has installed, and asks the AWS command line too.

A binary starts its tests in the order of `--list`, as many at a time as it has threads. So what it says of the tests that have ended tells
which are running, and since when. Each binary has a directory for temporary files and a mark in its environment; by these its mounts and
processes are found and ended with it, since a process that waits for a mount nobody answers can't be ended, and holds up others.
"""

import ctypes
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).parent.parent
# Of one test, and of all: a slow and busy machine took 25 minutes for all. A test that runs many others has the time of all.
TEST_SECONDS = 8 * 60
ALL_SECONDS = 40 * 60
ALL_SERVERS_SECONDS = 60 * 60
RUNS_OTHERS = "over_servers::over_"
# Tests of a binary at a time, and binaries at a time: they wait for mounts, servers and processes.
THREADS = max(2, os.cpu_count() or 2)
BINARIES = max(3, os.cpu_count() or 2)
# What takes longest begins first.
ORDER = ["mount over_servers", "mount", "costs", "store", "remote", "library", "cli", "http", "engine", "query", "golden", "tidy"]
# Tests that are told apart from their binary's others: they take as long.
APART = {"mount": "over_servers::"}
MARK = "DDBFS_TEST_RUN"
SHOWN_SLOWEST = 25

MNT_FORCE, MNT_DETACH = 1, 2


class Part:
    """A binary, or a part of its tests."""

    def __init__(self, name, binary, arguments):
        self.name, self.binary, self.arguments = name, binary, arguments
        self.output, self.took, self.running, self.hangs = [], {}, {}, []
        self.process, self.dir, self.seconds = None, None, 0.0

    def list(self):
        """The names of its tests in the order in which they start."""
        lines = subprocess.run([self.binary, "--list", *self.arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        return [line.removesuffix(": test") for line in lines.splitlines() if line.endswith(": test")]

    def run(self):
        waiting = self.list()
        if not waiting:
            return
        self.dir = tempfile.mkdtemp(prefix="ddbfs-test-")
        # As /tmp: tests are also other users.
        os.chmod(self.dir, 0o1777)
        # What tests spend at services is not counted for the user that runs them.
        environment = {**os.environ, "TMPDIR": self.dir, "XDG_STATE_HOME": self.dir + "/state", MARK: self.dir}
        begun = time.monotonic()
        command = [self.binary, f"--test-threads={THREADS}", *self.arguments]
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        self.start_of(waiting)
        for line in self.process.stdout:
            self.output.append(line)
            # What a process wrote without an end of its line may stand before it.
            ended = re.search(r"\btest (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", line)
            if ended and ended[1] in self.running:
                self.took[ended[1]] = time.monotonic() - self.running.pop(ended[1])
                self.start_of(waiting)
                say(f"{self.name:20} {self.took[ended[1]]:6.1f} s  {ended[2]:7} {ended[1]}")
        self.process.wait()
        self.seconds = time.monotonic() - begun
        end_what_is_left(self.dir)
        shutil.rmtree(self.dir, ignore_errors=True)

    def start_of(self, waiting):
        while waiting and len(self.running) < THREADS:
            self.running[waiting.pop(0)] = time.monotonic()

    def end(self, names, why):
        """Ends it for tests that hang."""
        self.hangs += [f"{name} of {self.name}: no end after {why}" for name in names]
        say("\n".join(self.hangs))
        end_what_is_left(self.dir)

    def has_passed(self):
        return not self.hangs and (self.process is None or self.process.returncode == 0)


LOCK = threading.Lock()


def say(text):
    with LOCK:
        print(text, flush=True)


def end_what_is_left(directory):
    """Ends the mounts in a directory and the processes that were started for it."""
    def mounts():
        points = (line.split(" ")[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines())
        return [point for point in points if point.startswith(directory + "/")]

    def processes():
        mark = f"{MARK}={directory}".encode()
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)
            except OSError:
                pass

    def all_of_it():
        libc = ctypes.CDLL(None, use_errno=True)
        # Mounts first: who waits for one can be ended then. Twice, since one may come up meanwhile.
        for _ in range(2):
            for point in mounts():
                if libc.umount2(point.encode(), MNT_FORCE | MNT_DETACH) != 0:
                    subprocess.run(["fusermount3", "-uz", point], stderr=subprocess.DEVNULL)
            for process in processes():
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    # Whatever the kernel does, this goes on.
    thread = threading.Thread(target=all_of_it, daemon=True)
    thread.start()
    thread.join(30)


def read_built(path):
    """The test binaries by name, from cargo's messages."""
    messages = (json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line.startswith("{"))
    made = (message for message in messages if message["reason"] == "compiler-artifact" and message.get("executable"))
    tests = ((message["target"], message["executable"]) for message in made if message["profile"]["test"])
    return {"library" if "lib" in target["kind"] else target["name"]: binary for target, binary in tests}


def parts_of(binaries, arguments, are_all):
    parts = []
    for name, binary in binaries.items():
        apart = APART.get(name)
        parts.append(Part(name, binary, [*arguments, *(["--skip", apart] if apart else [])]))
        if apart:
            ignored = ["--include-ignored"] if are_all else []
            parts.append(Part(f"{name} {apart.strip(':')}", binary, [*arguments, *ignored, apart]))
        if are_all and name == "remote":
            parts.append(Part("remote command line", binary, [*arguments, "--ignored", "the_command_line_does_the_same"]))
    return sorted(parts, key=lambda part: ORDER.index(part.name) if part.name in ORDER else -1)


def watch(parts, begun, all_seconds):
    """Ends what takes too long, until all have ended."""
    while any(part.thread.is_alive() for part in parts):
        now = time.monotonic()
        is_over = now - begun > all_seconds
        for part in parts:
            late = [name for name, since in list(part.running.items()) if now - since > TEST_SECONDS and not name.startswith(RUNS_OTHERS)]
            if not part.process or not part.thread.is_alive() or part.hangs:
                continue
            if late or is_over:
                part.end(late or list(part.running), f"{TEST_SECONDS if late else all_seconds} s")
            elif part.process.poll() is not None:
                # A process that a test left may hold the output open.
                end_what_is_left(part.dir)
        time.sleep(0.5)


def main(arguments):
    messages, *arguments = arguments
    are_all = arguments[:1] == ["--all"]
    all_seconds = ALL_SERVERS_SECONDS if are_all else ALL_SECONDS
    parts = parts_of(read_built(messages), arguments[are_all:], are_all)
    begun, free = time.monotonic(), threading.Semaphore(BINARIES)

    def run(part):
        with free:
            if time.monotonic() - begun < all_seconds:
                part.run()
            else:
                part.hangs.append(f"{part.name} was not begun")

    for part in parts:
        part.thread = threading.Thread(target=run, args=[part], daemon=True)
        part.thread.start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # A shell starts what runs in the background with SIGINT ignored, and programs that tests interrupt would inherit that; a handler is not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        watch(parts, begun, all_seconds)
    finally:
        for part in parts:
            if part.process and part.process.poll() is None:
                end_what_is_left(part.dir)

    slowest = sorted(((seconds, part.name, name) for part in parts for name, seconds in part.took.items()), reverse=True)
    say("\nThe slowest:" + "".join(f"\n{seconds:7.1f} s  {part}  {name}" for seconds, part, name in slowest[:SHOWN_SLOWEST]))
    for part in parts:
        if not part.has_passed():
            say(f"\n==== {part.name}\n" + "".join(part.output))
    say("\nEach binary:")
    for part in parts:
        end = "ok" if part.has_passed() else "FAILED"
        say(f"{part.seconds:7.1f} s  {part.name:20} {len(part.took):4} tests  {end}" + "".join(f"\n    {hang}" for hang in part.hangs))
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
    say(f"{time.monotonic() - begun:7.1f} s  together, {cpu.ru_utime + cpu.ru_stime:.0f} s of processors")
    return 0 if all(part.has_passed() for part in parts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
