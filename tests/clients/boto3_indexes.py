"""Waits for tables and indexes as programs do, with boto3's waiters, on a server that takes its time for them."""

import sys
import time

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

import client as common
from client import check, end

CONFIG = Config(retries={"max_attempts": 0}, connect_timeout=10, read_timeout=60)
client = boto3.client("dynamodb", endpoint_url=common.endpoint(), config=CONFIG)
table = boto3.resource("dynamodb", endpoint_url=common.endpoint(), config=CONFIG).Table("Tab")
SOON = {"Delay": 1, "MaxAttempts": 30}


def refused(name, call, code):
    """The call must fail with that code."""
    try:
        call()
        check(name, "accepted", code)
    except ClientError as error:
        check(name, error.response["Error"]["Code"], code)


def index():
    found = client.describe_table(TableName="Tab")["Table"].get("GlobalSecondaryIndexes", [])
    return found[0] if found else None


def until(done):
    """The states of the index that were seen until it is done."""
    seen, deadline = [], time.monotonic() + 60
    while True:
        found = index()
        state = (found["IndexStatus"], found.get("Backfilling")) if found else None
        if not seen or seen[-1] != state:
            seen.append(state)
        if done(state):
            return seen
        if time.monotonic() > deadline:
            sys.exit(f"never done: {seen}")
        time.sleep(0.005)


created = client.create_table(
    TableName="Tab",
    AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    BillingMode="PAY_PER_REQUEST",
)
check("created", created["TableDescription"]["TableStatus"], "CREATING")
refused("write before it is active", lambda: table.put_item(Item={"pk": "a"}), "ResourceNotFoundException")
client.get_waiter("table_exists").wait(TableName="Tab", WaiterConfig=SOON)
with table.batch_writer() as batch:
    for number in range(400):
        batch.put_item(Item={"pk": f"p{number}", "n": number, "kind": "even" if number % 2 == 0 else number})

definition = {
    "IndexName": "by-kind",
    "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}
types = [{"AttributeName": "kind", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}]
change = {"TableName": "Tab", "AttributeDefinitions": types, "GlobalSecondaryIndexUpdates": [{"Create": definition}]}
answer = client.update_table(**change)["TableDescription"]
found = answer["GlobalSecondaryIndexes"][0]
check("index created", (answer["TableStatus"], found["IndexStatus"], found["Backfilling"]), ("UPDATING", "CREATING", False))
refused("the same again", lambda: client.update_table(**change), "ResourceInUseException")
drop = {"TableName": "Tab", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-kind"}}]}
refused("dropped while it is allocated", lambda: client.update_table(**drop), "ResourceInUseException")
refused("table deleted meanwhile", lambda: client.delete_table(TableName="Tab"), "ResourceInUseException")
refused("read of the new index", lambda: client.scan(TableName="Tab", IndexName="by-kind"), "ValidationException")
table.put_item(Item={"pk": "p1000", "n": 1000, "kind": "even"})
seen = until(lambda state: state[0] == "ACTIVE")
check("states", [state for state in seen if state[1] is not True], [("CREATING", False), ("ACTIVE", None)])
condition = boto3.dynamodb.conditions.Key("kind").eq("even")
items = table.query(IndexName="by-kind", KeyConditionExpression=condition)["Items"]
check("entries", [int(item["n"]) for item in items], list(range(0, 400, 2)) + [1000])
check("entries are the keys", sorted(items[0]), ["kind", "n", "pk"])

# Global indexes show a write a moment later.
table.delete_item(Key={"pk": "p1000"})
deadline = time.monotonic() + 60
while table.query(IndexName="by-kind", KeyConditionExpression=condition, Select="COUNT")["Count"] != 200:
    if time.monotonic() > deadline:
        sys.exit("the index does not show the deletion")

check("dropped", client.update_table(**drop)["TableDescription"]["GlobalSecondaryIndexes"][0]["IndexStatus"], "DELETING")
check("gone", until(lambda state: state is None)[-1], None)
client.delete_table(TableName="Tab")
refused("write while it is deleted", lambda: table.put_item(Item={"pk": "a"}), "ResourceNotFoundException")
client.get_waiter("table_not_exists").wait(TableName="Tab", WaiterConfig=SOON)
refused("gone", lambda: client.describe_table(TableName="Tab"), "ResourceNotFoundException")
end()
