"""Tests of the suite that go on for as long as they are told, as scenes: the view is never stale, and nobody waits for ever."""

import os
import random
import subprocess
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent.parent


def run(test, seconds):
    """An ignored test of `tests/mount` on a release build; what it says of itself."""
    told = {"DDBFS_TORTURE_SECONDS": str(int(seconds)), "DDBFS_TORTURE_SEED": str(random.randrange(1 << 30))}
    command = ["cargo", "test", "--release", "--locked", "--quiet", "--test", "mount", "--", "--ignored", "--exact", test, "--nocapture"]
    done = subprocess.run(command, cwd=PACKAGE, env={**os.environ, **told}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-6000:]
    assert "1 passed" in done.stdout, f"no test {test}: {done.stdout[-2000:]}"
    return "; ".join(line.lstrip(".i") for line in done.stdout.splitlines() if any(what in line for what in (" checks, ", " calls of ", " moves of ")))
