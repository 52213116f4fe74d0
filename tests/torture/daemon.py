"""A daemon of its own data directory, and what is asked of it: by HTTP, through the mount, by the command line."""

import atexit
import http.client
import json
import os
import signal
import subprocess
import tempfile
import time

SIGNATURE = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
# Nothing that is well takes longer, on a busy machine either.
PATIENCE = 60


class Refused(Exception):
    """An answer that is not 200: status and body."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body[:300]}")
        self.status, self.body = status, body


class Daemon:
    """`ddbfs mount` or, without a mount point, `ddbfs serve`, on `data`."""

    def __init__(self, binary, data, mountpoint=None, options=(), wrap=()):
        self.binary, self.data, self.mountpoint = binary, data, mountpoint
        self.options, self.wrap, self.process = list(options), list(wrap), None
        atexit.register(self.end)
        self.start()

    def start(self):
        command = [*self.wrap, self.binary, "mount" if self.mountpoint else "serve", "--data", self.data, "--http", "127.0.0.1:0", *self.options]
        if self.mountpoint:
            command.append(self.mountpoint)
        self.log = tempfile.NamedTemporaryFile("w+", prefix="ddbfs-log")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.addr = self._address()

    def _address(self):
        for line in self.process.stdout:
            if "http://" in line:
                return line.split("http://")[1].split("/")[0].split()[0].strip(".,")
        raise AssertionError("no address: " + self.said())

    def said(self):
        self.log.seek(0)
        return self.log.read()[-2000:]

    def pid(self):
        """Of ddbfs itself, whatever started it."""
        return self.process.pid

    def kill(self):
        """kill -9; the dead mount is cleared by the next start."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        """Nothing is left running when a scene fails."""
        if self.process.poll() is None:
            self.kill()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        assert code == 0, f"the daemon ended with {code}: {self.said()}"

    def call(self, operation, body):
        connection = http.client.HTTPConnection(self.addr, timeout=PATIENCE)
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810." + operation,
                   "X-Amz-Date": "20260101T000000Z", "Authorization": SIGNATURE}
        try:
            connection.request("POST", "/", json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        finally:
            connection.close()
        if answer.status != 200:
            raise Refused(answer.status, text)
        return json.loads(text)

    def table(self, name, **more):
        self.call("CreateTable", {
            "TableName": name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                        "Projection": {"ProjectionType": "ALL"}}], **more})
        self.wait_for(lambda: self.call("DescribeTable", {"TableName": name})["Table"]["TableStatus"] == "ACTIVE")

    def get(self, table, pk):
        return self.call("GetItem", {"TableName": table, "Key": {"pk": {"S": pk}}, "ConsistentRead": True}).get("Item")

    def put(self, table, pk, **attributes):
        self.call("PutItem", {"TableName": table, "Item": {"pk": {"S": pk}, **attributes}})

    def item_file(self, table, pk):
        return os.path.join(self.mountpoint, table, "items", pk + ".json")

    @staticmethod
    def wait_for(condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "waited for too long"
            time.sleep(0.05)


def check(binary, data):
    """`ddbfs check` finds nothing."""
    done = subprocess.run([binary, "check", "--data", data], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"check: {done.stdout[-2000:]} {done.stderr[-2000:]}"
