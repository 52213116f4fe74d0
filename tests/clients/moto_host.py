"""Servers of moto: for each line `start` of standard input one more starts, and its URL is printed; `end URL` ends it. All end with the input.

Each is a fork of this process, which has read all of moto that is needed.
"""

import os
import signal
import sys

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.server import ThreadedMotoServer


def warm_up():
    """Makes what the first request of a server would."""
    DomainDispatcherApplication(create_backend_app).get_application(
        {"HTTP_HOST": "127.0.0.1", "HTTP_X_AMZ_TARGET": "DynamoDB_20120810.ListTables", "PATH_INFO": "/", "REQUEST_METHOD": "POST"})


def start(life):
    """Forks a server that ends when the other end of `life` closes; its process and URL."""
    told, tells = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(life[1])
        server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        server.start()
        os.write(tells, ("http://%s:%d" % server.get_host_and_port()).encode())
        os.close(tells)
        os.read(life[0], 1)
        os._exit(0)
    os.close(tells)
    with os.fdopen(told) as url:
        return child, url.read()


def main():
    warm_up()
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


if __name__ == "__main__":
    main()
