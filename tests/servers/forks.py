"""Hosts of servers: for each line `start` of standard input one more starts, and its URL is printed; `end URL` ends it. All end with the input."""

import os
import signal
import sys


def serve(start):
    """Does what the lines say. `start(life)` makes a server in a process that ends when the other end of the pipe closes; its process and URL."""
    servers, life = {}, os.pipe()
    for line in sys.stdin:
        if line.startswith("end "):
            child = servers.pop(line.split()[1])
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            continue
        child, url = start(life)
        servers[url] = child
        print(url, flush=True)


def forked(run):
    """What `serve` takes: each server is a fork of this process. `run` serves in a thread and returns its URL."""
    def start(life):
        told, tells = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(life[1])
            os.write(tells, run().encode())
            os.close(tells)
            os.read(life[0], 1)
            os._exit(0)
        os.close(tells)
        with os.fdopen(told) as url:
            return child, url.read()
    return start
