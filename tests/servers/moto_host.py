"""Servers of moto, as forks.py says. Each is a fork of this process, which has read all of moto that is needed."""

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.server import ThreadedMotoServer

import forks


def warm_up():
    """Makes what the first request of a server would."""
    DomainDispatcherApplication(create_backend_app).get_application(
        {"HTTP_HOST": "127.0.0.1", "HTTP_X_AMZ_TARGET": "DynamoDB_20120810.ListTables", "PATH_INFO": "/", "REQUEST_METHOD": "POST"})


def run():
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    return "http://%s:%d" % server.get_host_and_port()


if __name__ == "__main__":
    warm_up()
    forks.serve(forks.forked(run))
