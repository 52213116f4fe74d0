"""Who read what: processes with threads that read, write and remove one item, and HTTP that changes it between; a model says which
write must be refused."""

import errno
import json
import os
import random
import threading

from daemon import Daemon

STEPS = 200


def in_thread(work):
    """The result of `work` in a thread of this process that lives no longer."""
    result = []

    def run():
        try:
            result.append(work())
        except OSError as error:
            result.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(result[0], OSError):
        raise result[0]
    return result[0]


class Item:
    """One item, what it should hold, and whether this process knows its newest version."""

    def __init__(self, daemon, key):
        self.daemon, self.key, self.path = daemon, key, daemon.item_file("Tab", key)
        self.value, self.read, self.known, self.next = None, False, False, 0
        # It was looked for and not there, or removed here: whether an older note still counts is not this model's to say.
        self.unsure = False

    def by_file(self, work):
        return in_thread(work) if random.random() < 0.5 else work()

    def look(self):
        try:
            with open(self.path) as file:
                found = json.load(file)["n"]
        except FileNotFoundError:
            found = None
        return found

    def step_read(self):
        found = self.by_file(self.look)
        assert found == self.value, f"{self.key}: read {found}, is {self.value}"
        self.unsure = found is None
        self.read = self.known = True

    def step_http(self):
        self.next += 1
        self.value, self.known = self.next, False
        self.daemon.put("Tab", self.key, n={"N": str(self.next)})

    def step_http_delete(self):
        self.daemon.call("DeleteItem", {"TableName": "Tab", "Key": {"pk": {"S": self.key}}})
        # What is not there refuses nobody; what is made anew by somebody else is another item than the one that was read.
        self.value, self.known = None, False

    def step_write(self):
        self.next += 1
        refused = self.value is not None and self.read and not self.known
        number = self.next

        def write():
            # Opened by path without a look at it: O_CREAT, then one write.
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            try:
                os.write(descriptor, json.dumps({"n": number}).encode())
            finally:
                os.close(descriptor)

        try:
            self.by_file(write)
        except OSError as error:
            assert error.errno == errno.ESTALE, error
            assert refused or self.unsure, f"{self.key}: refused although nobody else changed it"
            text = open(os.path.join(self.daemon.mountpoint, ".ddb/errors/last")).read()
            assert "lww" in text, text
            # As an editor does before it asks its user: looking is enough to go on.
            os.stat(self.path)
            self.by_file(self.look)
            self.read, self.known, self.unsure = True, True, False
            return
        assert not refused or self.unsure, f"{self.key}: overwritten although somebody else changed it"
        # Its own write is known to who has read the item; who has not goes on writing blindly.
        self.value, self.known = number, self.read

    def step_unlink(self):
        try:
            self.by_file(lambda: os.unlink(self.path))
        except FileNotFoundError:
            assert self.value is None
        except OSError as error:
            assert error.errno == errno.ESTALE, error
            self.by_file(self.look)
            self.read, self.known, self.unsure = True, True, False
            return
        # With the item goes what was known of it.
        self.value, self.read, self.known, self.unsure = None, False, False, True

    def confirm(self):
        found = self.daemon.get("Tab", self.key)
        found = None if found is None else int(found["n"]["N"])
        assert found == self.value, f"{self.key}: HTTP says {found}, should be {self.value}"


def run(context, seconds):
    daemon = Daemon(context.binary, context.directory("data"), context.directory("mnt"))
    daemon.table("Tab")
    rounds = 0
    try:
        while rounds == 0 or context.left(seconds):
            item, history = Item(daemon, f"i{rounds}"), []
            for _ in range(STEPS):
                step = random.choice([item.step_read, item.step_http, item.step_write, item.step_write, item.step_unlink, item.step_http_delete])
                history = (history + [step.__name__])[-12:]
                try:
                    step()
                    item.confirm()
                except AssertionError as error:
                    raise AssertionError(f"{error}; after {history}") from error
            rounds += 1
        daemon.stop()
    finally:
        if daemon.process.poll() is None:
            daemon.kill()
    return f"{rounds * STEPS} steps"
