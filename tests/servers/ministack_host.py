"""Servers of ministack, as forks.py says. Each is a fork of this process, which has read all of ministack that is needed."""

import asyncio
import os
import socket
import threading

# Before it is read: it listens for nothing else, and starts no thread here, which a fork would not have.
os.environ.update({"SERVICES": "dynamodb,dynamodbstreams", "LOG_LEVEL": "ERROR", "SFTP_ENABLED": "0", "IOT_MTLS_ENABLED": "0", "MINISTACK_TEST_NO_AUTOSTART": "1"})

import hypercorn.asyncio
import hypercorn.config
import ministack.app
# What each fork would read for its first request.
import botocore.session  # noqa: F401
import ministack.services.apigateway  # noqa: F401
import ministack.services.apigateway_v1  # noqa: F401
import ministack.services.dynamodb  # noqa: F401
import ministack.services.eventbridge  # noqa: F401
import ministack.services.iam  # noqa: F401
import ministack.services.scheduler  # noqa: F401
import ministack.services.sts  # noqa: F401

import forks


def run():
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    os.environ["GATEWAY_PORT"] = str(port)
    config = hypercorn.config.Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.keep_alive_timeout = 600

    async def forever():
        await asyncio.Event().wait()

    def serve():
        asyncio.run(hypercorn.asyncio.serve(ministack.app.app, config, shutdown_trigger=forever))

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{port}"


if __name__ == "__main__":
    forks.serve(forks.forked(run))
