"""A disk that runs full: writes are refused, reads and every kind of delete go on, and there is room again afterwards."""

import random
import subprocess

from daemon import Daemon, Refused, check


def fill(daemon, table):
    """Puts until the disk refuses; the keys."""
    keys = []
    while True:
        key = f"k{len(keys)}"
        try:
            daemon.put(table, key, g={"S": f"g{len(keys) % 9}"}, pad={"S": "x" * random.randrange(200, 20_000)})
            keys.append(key)
        except Refused as refused:
            assert refused.status in (400, 500) and "space" in refused.body.lower(), refused
            return keys


def batch(daemon, table, keys):
    requests = [{"DeleteRequest": {"Key": {"pk": {"S": key}}}} for key in keys]
    answer = daemon.call("BatchWriteItem", {"RequestItems": {table: requests}})
    assert not answer["UnprocessedItems"], answer


def transaction(daemon, table, keys):
    daemon.call("TransactWriteItems", {"TransactItems": [{"Delete": {"TableName": table, "Key": {"pk": {"S": key}}}} for key in keys]})


def single(daemon, table, keys):
    for key in keys:
        daemon.call("DeleteItem", {"TableName": table, "Key": {"pk": {"S": key}}})


def one_round(daemon, table):
    daemon.table(table)
    keys = fill(daemon, table)
    try:
        daemon.call("CreateBackup", {"TableName": table, "BackupName": "backup"})
    except Refused:
        pass
    kept = keys[0]
    assert daemon.get(table, kept) is not None
    for delete, size in random.sample([(batch, 25), (transaction, 100), (single, 10)], 3):
        gone, keys = keys[1:1 + size], [kept, *keys[1 + size:]]
        delete(daemon, table, gone)
        assert gone == [] or daemon.get(table, gone[0]) is None
    daemon.put(table, "again", g={"S": "x"})
    daemon.wait_for(lambda: tried(daemon, "DeleteTable", {"TableName": table}))
    daemon.wait_for(lambda: table not in daemon.call("ListTables", {})["TableNames"])
    for backup in daemon.call("ListBackups", {})["BackupSummaries"]:
        daemon.wait_for(lambda backup=backup: tried(daemon, "DeleteBackup", {"BackupArn": backup["BackupArn"]}))
    # What the table held is free: as much can be put again.
    daemon.table(table)
    daemon.wait_for(lambda: tried(daemon, "PutItem", {"TableName": table, "Item": {"pk": {"S": "a"}, "pad": {"S": "x" * 300_000}}}))
    daemon.call("DeleteTable", {"TableName": table})
    return len(keys)


def tried(daemon, operation, body):
    try:
        daemon.call(operation, body)
        return True
    except Refused:
        return False


def run(context, seconds):
    disk = context.directory("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", disk], check=True)
    rounds = 0
    try:
        daemon = Daemon(context.binary, context.inside(disk, "data"))
        while rounds == 0 or context.left(seconds):
            one_round(daemon, f"Tab{rounds}")
            rounds += 1
            if random.random() < 0.5:
                daemon.kill()
                daemon.start()
        daemon.stop()
        check(context.binary, daemon.data)
    finally:
        subprocess.run(["umount", "-l", disk], check=False)
    return f"{rounds} times full"
