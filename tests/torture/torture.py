"""`scripts/torture`: every scene in turn, each for its share of the time; ends with 1 and a sentence when something did not hold."""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import disk
import kills
import memory
import readers
import suite

SCENES = {
    "kills": lambda context, seconds: kills.run(context, seconds, False),
    "processes": lambda context, seconds: kills.run(context, seconds, True),
    "disk": disk.run,
    "memory": memory.run,
    "readers": readers.run,
    "coherence": lambda context, seconds: suite.run("coherence::for_hours", seconds),
    "nodes": lambda context, seconds: suite.run("nodes::for_hours", seconds),
    "pairs": lambda context, seconds: suite.run("pairs::for_hours", seconds),
}


class Context:
    """What a scene has: the binary, directories that go away, and its time."""

    def __init__(self, binary):
        self.binary, self.root, self.begun = os.path.abspath(binary), tempfile.mkdtemp(prefix="ddbfs-torture"), time.monotonic()

    def directory(self, name):
        return self.inside(self.root, name)

    @staticmethod
    def inside(parent, name):
        path = os.path.join(parent, name)
        os.mkdir(path, 0o700)
        return path

    def left(self, seconds):
        return time.monotonic() - self.begun < seconds

    @staticmethod
    def sleep(seconds):
        time.sleep(seconds)

    def end(self):
        for name in ("mnt", "disk"):
            subprocess.run(["umount", "-l", os.path.join(self.root, name)], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.root, ignore_errors=True)


def play(binary, name, seconds):
    context = Context(binary)
    try:
        said = SCENES[name](context, seconds)
    except Exception as error:
        print(f"{name}: FAILED: {error!r}; what is left: {context.root}", flush=True)
        raise
    context.end()
    print(f"{name}: {said}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--hours", type=float)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("scenes", nargs="*", choices=[[], *SCENES])
    args = parser.parse_args()
    random.seed(args.seed)
    names = args.scenes or list(SCENES)
    seconds = (args.hours * 60 if args.hours else args.minutes) * 60 / len(names)
    print(f"seed {args.seed}, {seconds:.0f} s a scene", flush=True)
    for name in names:
        play(args.binary, name, seconds)


if __name__ == "__main__":
    sys.exit(main())
