"""Writers by HTTP and through the mount while daemons are killed: no acknowledged write is lost, none comes back half."""

import json
import random
import threading
from http.client import HTTPException

from daemon import Daemon, Refused, check

WRITERS = 6
KEYS = 20


class Writer(threading.Thread):
    """Writes ever larger numbers to keys of its own, and notes what was begun and what was acknowledged."""

    def __init__(self, number, daemons, by_file):
        super().__init__(daemon=True)
        self.number, self.daemons, self.by_file = number, daemons, by_file
        self.begun, self.acknowledged = {}, {}
        self.count, self.ends = 0, threading.Event()

    def run(self):
        while not self.ends.is_set():
            self.count += 1
            key = f"w{self.number}-{random.randrange(KEYS)}"
            self.begun[key] = self.count
            try:
                self.write(random.choice(self.daemons), key, self.count)
                self.acknowledged[key] = self.count
            except (OSError, Refused, HTTPException):
                # The daemon was killed: the write is in doubt.
                self.ends.wait(0.05)

    def write(self, daemon, key, count):
        if self.by_file and daemon.mountpoint:
            with open(daemon.item_file("Tab", key), "w") as file:
                file.write(json.dumps({"n": count, "g": f"g{count % 7}", "pad": "x" * (count % 3000)}))
        else:
            daemon.put("Tab", key, n={"N": str(count)}, g={"S": f"g{count % 7}"}, pad={"S": "x" * (count % 3000)})

    def look(self, daemon):
        """What is there is at least what was acknowledged, and at most what was begun."""
        for key, acknowledged in self.acknowledged.items():
            item = daemon.get("Tab", key)
            assert item is not None, f"{key}: acknowledged {acknowledged}, gone"
            found = int(item["n"]["N"])
            assert acknowledged <= found <= self.begun[key], f"{key}: {acknowledged} acknowledged, {self.begun[key]} begun, found {found}"
            assert len(item["pad"]["S"]) == found % 3000, f"{key}: half an item"


def run(context, seconds, with_second):
    """`with_second`: another process on the same directory, either may be killed."""
    data, mountpoint = context.directory("data"), context.directory("mnt")
    daemons = [Daemon(context.binary, data, mountpoint)]
    daemons[0].table("Tab", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    if with_second:
        daemons.append(Daemon(context.binary, data))
    writers = [Writer(number, daemons, number % 2 == 0) for number in range(WRITERS)]
    [writer.start() for writer in writers]
    kills = 0
    while context.left(seconds):
        context.sleep(random.uniform(0.3, 2.0))
        victim = random.choice(daemons)
        victim.kill()
        context.sleep(random.uniform(0, 0.3))
        victim.options = ["--durability", random.choice(["power", "kill"])]
        victim.start()
        kills += 1
    [writer.ends.set() for writer in writers]
    [writer.join() for writer in writers]
    for daemon in daemons:
        [writer.look(daemon) for writer in writers]
    [daemon.stop() for daemon in reversed(daemons)]
    check(context.binary, data)
    return f"{kills} kills, {sum(writer.count for writer in writers)} writes"
