"""Requests that cost a server as much as a client can make them cost, one after the other, against a running `ddbfs serve`.

    python3 costly_requests.py HOST:PORT PID [CASE …]

Each case says what its requests are answered, by how much the process's peak of resident memory grew without mapped files, and the longest
that another client waited for `GET /` meanwhile. Exit 1 when one of them is not as it should be. Needs nothing but Python. `--list` names the cases.
"""

import base64
import gzip
import http.client
import json
import os
import socket
import sys
import threading
import time
import zlib

MIB = 1 << 20
BODY = 16 * MIB
# No single request may take more.
ONE_MIB = 128
# All long requests together, with a limit of 256 MiB.
ALL_MIB = 200
# Long requests at once: more than there is room for.
MANY = 6
# A `GET /` that has no answer after that many seconds has none: on a busy machine some wait for a few.
PING_SECONDS = 60
# What a case may take of a processor, in a debug build. A machine that is busy makes it a little more.
CPU_SECONDS = 60
SIGNATURE = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"


class Server:
    def __init__(self, addr, pid):
        self.addr, self.pid = addr, pid

    def send(self, operation, body, coding=None, signed=True):
        """Status and text of the answer."""
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810." + operation,
                   "X-Amz-Date": "20260101T000000Z"}
        if signed:
            headers["Authorization"] = SIGNATURE
        if coding:
            headers["Content-Encoding"] = coding
        connection = http.client.HTTPConnection(self.addr, timeout=300)
        try:
            connection.request("POST", "/", body if isinstance(body, bytes) else json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def ok(self, operation, body):
        status, text = self.send(operation, body)
        assert status == 200, (operation, status, text[:300])
        return json.loads(text)

    def ping(self):
        connection = http.client.HTTPConnection(self.addr, timeout=PING_SECONDS)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()

    def memory(self, name):
        """Resident memory in MiB; "VmHWM" is its peak, "RssAnon" what is not files."""
        with open(f"/proc/{self.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(name + ":")) / 1024

    def cpu(self):
        """Seconds of processors that it has taken."""
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def forget_peak(self):
        with open(f"/proc/{self.pid}/clear_refs", "w") as refs:
            refs.write("5")


def zipped(prefix, piece, end, length=BODY):
    """A body of about that length, made of one piece again and again."""
    count = (length - len(prefix) - len(end) - 8) // len(piece)
    return gzip.compress((prefix + piece * count).rstrip(b",") + end, 6)


def table(server, name):
    if name not in server.ok("ListTables", {})["TableNames"]:
        server.ok("CreateTable", {"TableName": name, "BillingMode": "PAY_PER_REQUEST",
                                  "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                                  "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]})
    while server.ok("DescribeTable", {"TableName": name})["Table"]["TableStatus"] != "ACTIVE":
        time.sleep(0.05)
    return name


def expect(answer, status, text=""):
    assert answer[0] == status and text in answer[1], (status, text, answer[0], answer[1][:300])


def tree(server):
    """16 MiB of [[0],[0],…] in 17 KB."""
    expect(server.send("PutItem", zipped(b'{"a":[', b"[0],", b"]}"), "gzip"), 400)


def deep(server):
    """Lists of 120 levels, again and again."""
    expect(server.send("PutItem", zipped(b'{"a":[', b"[" * 120 + b"]" * 120 + b",", b"]}"), "gzip"), 400)


def deepest(server):
    """One list of eight million levels."""
    count = (BODY - 100) // 2
    expect(server.send("PutItem", gzip.compress(b'{"a":' + b"[" * count + b"]" * count + b"}", 6), "gzip"), 400, "'tableName'")


def repeated(server):
    """Half a million values, each fifty times as long when an error prints it."""
    body = zipped(b'{"TransactItems":[' + b"{}," * 101 + b'{"Put":{"TableName":"Tab","Item":{"a":{"L":[', b"{},", b"]}}}}]}", BODY // 8)
    answer = server.send("TransactWriteItems", body, "gzip")
    expect(answer, 400, "...' at 'transactItems' failed to satisfy constraint")
    assert len(answer[1]) < 2 << 20, len(answer[1])


def members(server):
    """An object of two million members."""
    names = ",".join(f'"{number:x}":0' for number in range(BODY // 12)).encode()
    expect(server.send("PutItem", b"{" + names + b"}"), 400)


def unsigned(server):
    """The same of somebody who may not send anything."""
    expect(server.send("PutItem", zipped(b'{"a":[', b"[0],", b"]}"), "gzip", signed=False), 400, "MissingAuthenticationToken")


def bomb(server):
    """A gigabyte of zeros."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = b"".join(deflate.compress(bytes(MIB)) for _ in range(1024)) + deflate.flush()
    expect(server.send("PutItem", body, "gzip"), 413)


def many(server):
    """Several trees at once: there is room for one."""
    body = zipped(b'{"a":[', b"[0],", b"]}")
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(server.send("PutItem", body, "gzip"))) for _ in range(MANY)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    # On a machine that is slow or busy some have waited for too long.
    for answer in answers:
        expect(answer, answer[0], "validation errors" if answer[0] == 400 else "Too many large requests at once")
    assert len(answers) == MANY


def values(server):
    """Values that cost fifty times their text: maps of one member."""
    body = zipped(b'{"TableName":"Cost","Item":{"pk":{"S":"a"},"l":{"L":[', b'{"M":{"a":{"L":[]}}},', b"]}}}")
    expect(server.send("PutItem", body, "gzip"), 400, "needs more than 112 MiB of memory")


def names(server):
    """Texts that cost ten times theirs."""
    body = zipped(b'{"TableName":"Cost","AttributesToGet":[', b'"a",', b"]}")
    expect(server.send("Scan", body, "gzip"), 400, "needs more than 112 MiB of memory")


def real(server):
    """A batch of almost 16 MiB of usual items is written."""
    name = table(server, "Cost")
    attributes = {f"attribute{number}": {"S": "some text of a usual length"} for number in range(10_000)}
    puts = [{"PutRequest": {"Item": {"pk": {"S": f"real{number}"}, **attributes}}} for number in range(25)]
    body = json.dumps({"RequestItems": {name: puts}}, separators=(",", ":")).encode()
    assert 0.75 * BODY < len(body) <= BODY, len(body)
    expect(server.send("BatchWriteItem", body), 200, '"UnprocessedItems":{}')


def long_list(server):
    """The key of an item with a list s of 380 KB."""
    name, key = table(server, "Cost"), {"pk": {"S": "long"}}
    server.ok("PutItem", {"TableName": name, "Item": {**key, "s": {"L": [{"N": "1"}] * 120_000}}})
    return name, key


def clones(server):
    """An update that copies the list 400 times."""
    name, key = long_list(server)
    update = "SET " + ",".join(f"b{number}=s" for number in range(400))
    answer = server.send("UpdateItem", {"TableName": name, "Key": key, "UpdateExpression": update})
    expect(answer, 400, "Item size to update has exceeded the maximum allowed size")


def statement(server):
    """The same in PartiQL."""
    name, _ = long_list(server)
    sets = " ".join(f"SET b{number}=s" for number in range(500))
    answer = server.send("ExecuteStatement", {"Statement": f"UPDATE \"{name}\" {sets} WHERE pk='long'"})
    expect(answer, 400, "Item size to update has exceeded the maximum allowed size")


def literals(server):
    """An expression with a value of almost 2 MB, 250 times."""
    name, key = table(server, "Cost"), {"pk": {"S": "long"}}
    condition = " OR ".join(["a=:v"] * 150)
    body = {"TableName": name, "Key": key, "ConditionExpression": condition,
            "ExpressionAttributeValues": {":v": {"S": "x" * 2_000_000}}}
    expect(server.send("DeleteItem", body), 400, "values of more than 32 MiB")


def contains(server):
    """Thirty searches of a binary in one that it is almost in, on the writer's thread."""
    name, key = table(server, "Cost"), {"pk": {"S": "binary"}}
    server.ok("PutItem", {"TableName": name, "Item": {**key, "b": {"B": base64.b64encode(bytes(390_000)).decode()}}})
    part = {"B": base64.b64encode(bytes(60_000) + b"x" + bytes(60_000)).decode()}
    condition = " OR ".join(["contains(b, :p)"] * 30)
    body = {"TableName": name, "Key": key, "ConditionExpression": condition, "ExpressionAttributeValues": {":p": part}}
    expect(server.send("DeleteItem", body), 400, "ConditionalCheckFailed")


def legacy(server):
    """IN of 200,000 values, and 1,000 conditions."""
    name = table(server, "Cost")
    operands = {"ComparisonOperator": "IN", "AttributeValueList": [{"S": f"v{number}"} for number in range(200_000)]}
    answer = server.send("Scan", {"TableName": name, "ScanFilter": {"x": operands}})
    expect(answer, 400, "The parameter contains too many values; at most 30000, value count: 200000")
    exists = {f"a{number}": {"ComparisonOperator": "NOT_NULL"} for number in range(1000)}
    expect(server.send("Scan", {"TableName": name, "ScanFilter": exists}), 400, "too many conditions; condition count: 1000")


def short_names(count):
    """As many different names, as short as they can be."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:"
    for number in range(count):
        name = ""
        while number or not name:
            name, number = name + letters[number % len(letters)], number // len(letters)
        yield name


def joined(prefix, pieces, end):
    return (prefix + ",".join(pieces) + end).encode()


def largest(server, operation, body_of):
    """The largest such request that is not refused for its size is answered."""
    taken, refused = 0, 1 << 20
    while refused - taken > refused // 16:
        count = (taken + refused) // 2
        status, text = server.send(operation, gzip.compress(body_of(count), 1), "gzip")
        assert status in (200, 400), (status, text[:300])
        taken, refused = (taken, count) if "needs more than 112 MiB of memory" in text else (count, refused)
    assert taken > 100_000, taken


def names_to_get(server):
    """As many names of attributes as are taken."""
    name = table(server, "Cost")
    get = f'{{"TableName":"{name}","Key":{{"pk":{{"S":"none"}}}},"AttributesToGet":['
    largest(server, "GetItem", lambda count: joined(get, (f'"{one}"' for one in short_names(count)), "]}"))


def wide(server):
    """As large a map as is taken."""
    put = f'{{"TableName":"{table(server, "Cost")}","Item":{{"pk":{{"S":"a"}},"m":{{"M":{{'
    largest(server, "PutItem", lambda count: joined(put, (f'"{one}":{{"S":""}}' for one in short_names(count)), "}}}}"))


def parameters(server):
    """As long a parameter of a statement as is taken."""
    statement = f'{{"Statement":"SELECT * FROM {table(server, "Cost")} WHERE v=?","Parameters":[{{"L":['
    largest(server, "ExecuteStatement", lambda count: joined(statement, ['{"S":""}'] * count, "]}]}"))


def keys_of(server, kind, value, count):
    """A request for so many items of that value."""
    name, keys = table(server, "Cost"), [{"pk": {"S": f"{kind}{number}"}} for number in range(count)]
    for key in keys:
        server.ok("PutItem", {"TableName": name, "Item": {**key, "v": value}})
    return {"RequestItems": {name: {"Keys": keys}}}


def nulls(server):
    """Items whose text as an answer is seven times as long as they are."""
    asked = keys_of(server, "nulls", {"L": [{"NULL": True}] * 190_000}, 16)
    answered = server.ok("BatchGetItem", asked)
    (name, items), = answered["Responses"].items()
    left = answered["UnprocessedKeys"][name]["Keys"]
    assert len(items) + len(left) == 16 and 8 <= len(items) < 12, (len(items), len(left))
    again = server.ok("BatchGetItem", {"RequestItems": answered["UnprocessedKeys"]})
    assert len(again["Responses"][name]) == len(left) and not again["UnprocessedKeys"], again["UnprocessedKeys"]


def many_values(server):
    """Several items of 390,000 empty texts each: as many as fit are answered or changed, the others are too much at once."""
    asked = keys_of(server, "empty", {"L": [{"S": ""}] * 390_000}, 12)
    (name, keys), = ((name, table["Keys"]) for name, table in asked["RequestItems"].items())
    too_many = "too many values to be in memory together"

    def by_statement(text):
        statements = [{"Statement": text.format(name, f"pk='empty{number}'")} for number in range(12)]
        answered = server.ok("BatchExecuteStatement", {"Statements": statements})["Responses"]
        errors = [one["Error"]["Code"] for one in answered if "Error" in one]
        assert 1 < len(errors) < 12 and set(errors) == {"RequestLimitExceeded"}, errors

    by_statement('SELECT * FROM "{}" WHERE {}')
    by_statement('UPDATE "{}" SET n=1 WHERE {} RETURNING ALL NEW *')
    statements = [{"Statement": f"SELECT * FROM \"{name}\" WHERE pk='empty{number}'"} for number in range(10)]
    expect(server.send("ExecuteTransaction", {"TransactStatements": statements}), 400, too_many)
    expect(server.send("TransactGetItems", {"TransactItems": [{"Get": {"TableName": name, "Key": key}} for key in keys[:10]]}), 400, too_many)
    update = {"TableName": name, "UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": {"N": "2"}}}
    updates = [{"Update": {**update, "Key": key}} for key in keys[:9]]
    expect(server.send("TransactWriteItems", {"TransactItems": updates}), 400, too_many)
    server.ok("UpdateItem", {**update, "Key": keys[0], "ReturnValues": "ALL_NEW"})
    refused = {"ConditionExpression": "attribute_not_exists(pk)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    deletes = [{"Delete": {"TableName": name, "Key": key, **refused}} for key in keys]
    expect(server.send("TransactWriteItems", {"TransactItems": deletes}), 400, too_many)


def sent(server, operation, body, length=None):
    """A connection on which that was sent, of a body of that length, and no answer read."""
    head = (f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n"
            f"X-Amz-Target: DynamoDB_20120810.{operation}\r\nAuthorization: {SIGNATURE}\r\nContent-Length: {length or len(body)}\r\n\r\n")
    return begun(server, head.encode() + body)


def begun(server, data):
    """A connection on which as much of that was sent as is taken."""
    connection = socket.create_connection(server.addr.split(":"))
    connection.setblocking(False)
    while data:
        try:
            data = data[connection.send(data):]
        except BlockingIOError:
            # Nobody takes more of it for now.
            break
    return connection


def small_ones_go_on(server, name):
    for _ in range(20):
        assert server.send("GetItem", {"TableName": name, "Key": {"pk": {"S": "none"}}}) == (200, "{}")


def unread(server):
    """Answers of 16 MB that nobody reads."""
    asked = json.dumps(keys_of(server, "plain", {"S": "x" * 399_000}, 41)).encode()
    connections = [sent(server, "BatchGetItem", asked) for _ in range(24)]
    small_ones_go_on(server, "Cost")
    time.sleep(3)
    small_ones_go_on(server, "Cost")
    [connection.close() for connection in connections]


def unread_items(server):
    """The same of single items, without number."""
    key = {"pk": {"S": "plain0"}}
    keys_of(server, "plain", {"S": "x" * 399_000}, 1)
    asked = json.dumps({"TableName": "Cost", "Key": key}).encode()
    update = {"UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": {"N": "1"}}, "ReturnValues": "ALL_NEW"}
    update = json.dumps({"TableName": "Cost", "Key": key, **update}).encode()
    connections = [sent(server, "GetItem", asked) for _ in range(400)] + [sent(server, "UpdateItem", update) for _ in range(400)]
    small_ones_go_on(server, "Cost")
    time.sleep(3)
    small_ones_go_on(server, "Cost")
    [connection.close() for connection in connections]


def indexed_table(server):
    """A table whose items are written 22 times: 20 indexes have them whole, and a stream."""
    if "Indexed" not in server.ok("ListTables", {})["TableNames"]:
        keys = [{"AttributeName": "g", "KeyType": "HASH"}]
        indexes = [{"IndexName": f"index{number}", "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}} for number in range(20)]
        server.ok("CreateTable", {"TableName": "Indexed", "BillingMode": "PAY_PER_REQUEST", "GlobalSecondaryIndexes": indexes,
                                  "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "g")],
                                  "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                                  "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}})
    while server.ok("DescribeTable", {"TableName": "Indexed"})["Table"]["TableStatus"] != "ACTIVE":
        time.sleep(0.05)
    return "Indexed"


def indexed_item(number):
    return {"pk": {"S": f"item{number}"}, "g": {"S": "g"}, "v": {"S": "x" * 395_000}}


def indexed(server):
    """25 of the largest items: as many as memory allows are written at a time, and the others told."""
    left = {indexed_table(server): [{"PutRequest": {"Item": indexed_item(number)}} for number in range(25)]}
    rounds = 0
    while left:
        counts, left = len(left["Indexed"]), server.ok("BatchWriteItem", {"RequestItems": left})["UnprocessedItems"]
        rounds += 1
        assert len(left.get("Indexed", [])) < counts, "nothing was written"
    assert 3 < rounds < 25, rounds


def indexed_together(server):
    """Sixteen of them at once, which share a commit."""
    name = indexed_table(server)
    answers = []
    put = lambda number: answers.append(server.send("PutItem", {"TableName": name, "Item": indexed_item(number)})[0])
    threads = [threading.Thread(target=put, args=(number,)) for number in range(16)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert answers == [200] * 16, answers


def chunked(server):
    """Bodies in chunks that never end: who waits for memory has read little."""
    name = table(server, "Cost")
    body = b"7f00\r\n" + b" " * 0x7f00 + b"\r\n"
    head = (f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n"
            f"X-Amz-Target: DynamoDB_20120810.PutItem\r\nAuthorization: {SIGNATURE}\r\nTransfer-Encoding: chunked\r\n\r\n").encode()
    connections = [begun(server, head + body * 20) for _ in range(500)]
    small_ones_go_on(server, name)
    [connection.close() for connection in connections]


def bodies(server):
    """Long bodies that never end."""
    name = table(server, "Cost")
    connections = [sent(server, "PutItem", b" " * (12 * MIB), 15 * MIB) for _ in range(40)]
    small_ones_go_on(server, name)
    [connection.close() for connection in connections]


CASES = [tree, deep, deepest, repeated, members, unsigned, bomb, many, values, names, real, clones, statement, literals, contains, legacy,
         names_to_get, wide, parameters, nulls, many_values, unread, unread_items, bodies, chunked, indexed, indexed_together]
# What they take together with a limit of 256 MiB.
TOGETHER = {"unread": 200, "unread_items": 200, "bodies": 80, "chunked": 60, "indexed_together": 64, "many": ALL_MIB}


class Pinger:
    """Asks for `GET /` all the time; `longest` is the longest wait in seconds, `fault` why one was not answered."""

    def __init__(self, server):
        self.server, self.longest, self.fault, self.ends = server, 0.0, None, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ends.wait(0.01):
            begun = time.monotonic()
            try:
                self.server.ping()
            except Exception as error:  # told with the case
                self.fault = f"GET / was not answered: {error!r}"
                return
            self.longest = max(self.longest, time.monotonic() - begun)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()


def run(server, case):
    """Runs a case; is it as it should be?"""
    server.ping()
    server.forget_peak()
    before, files = server.memory("VmRSS"), server.memory("RssFile")
    begun, cpu = time.monotonic(), server.cpu()
    with Pinger(server) as pinger:
        fault = None
        try:
            case(server)
        except Exception as error:  # whatever it is, it is told and the next case runs
            fault = repr(error)[:500]
    # Pages of the data that are mapped now are not the request's: the system takes them when it needs them.
    files = max(0, server.memory("RssFile") - files)
    seconds, cpu, grown = time.monotonic() - begun, server.cpu() - cpu, server.memory("VmHWM") - before - files
    most = TOGETHER.get(case.__name__, ONE_MIB)
    if grown > most:
        fault = fault or f"more than {most} MiB"
    if cpu > CPU_SECONDS:
        fault = fault or f"more than {CPU_SECONDS} s of processors"
    fault = fault or pinger.fault
    print(f"{case.__name__:12} {seconds:6.2f} s  CPU {cpu:5.2f} s  {grown:7.1f} MiB  GET / {1000 * pinger.longest:7.1f} ms  {fault or 'ok'}", flush=True)
    return fault is None


def goes_back(server):
    """Is the memory of a burst the system's again?"""
    before = server.memory("RssAnon")
    for case in (tree, real):
        case(server)
    deadline = time.monotonic() + 30
    while server.memory("RssAnon") > before + 64 and time.monotonic() < deadline:
        time.sleep(0.2)
    grown = server.memory("RssAnon") - before
    print(f"goes back: {grown:.1f} MiB more than before", flush=True)
    return grown <= 64


def main(args):
    if args == ["--list"]:
        print("\n".join([case.__name__ for case in CASES] + ["goes_back"]))
        return 0
    server = Server(args[0], int(args[1]))
    chosen = args[2:] or [case.__name__ for case in CASES] + ["goes_back"]
    good = [run(server, case) for case in CASES if case.__name__ in chosen]
    if "goes_back" in chosen:
        good.append(goes_back(server))
    return 0 if all(good) and good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
