"""Drives items, batches, transactions, streams and time to live through the AWS command line."""

import os
import subprocess
import sys

from cli import aws, document, refused
from client import check, end, endpoint

# Once as people start it; everything else runs in this process.
command = [sys.executable, "-m", "awscli", "dynamodb", "list-tables", "--endpoint-url", endpoint(), "--output", "text"]
done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
check("a command of its own", (done.returncode, done.stdout, done.stderr), (0, "", ""))

# Version 1 of the command line takes binary values as they are and prints them in base64.
ITEM = {"pk": {"S": "a"}, "sk": {"N": "1"}, "color": {"S": "red"}, "data": {"B": "raw"}, "tags": {"SS": ["x", "y"]}}
SHOWN = {**ITEM, "data": {"B": "cmF3"}}
THINGS = ("--table-name", "Things")


def key(sk):
    return {"pk": {"S": "a"}, "sk": {"N": str(sk)}}


def get(sk):
    return aws("get-item", *THINGS, "--key", document(key(sk)), "--consistent-read").get("Item")


def tables():
    attributes = [f"AttributeName={name},AttributeType={kind}" for name, kind in (("pk", "S"), ("sk", "N"), ("color", "S"))]
    index = "IndexName=by-color,KeySchema=[{AttributeName=color,KeyType=HASH}],Projection={ProjectionType=ALL}"
    aws(
        "create-table", *THINGS, "--attribute-definitions", *attributes,
        "--key-schema", "AttributeName=pk,KeyType=HASH", "AttributeName=sk,KeyType=RANGE",
        "--global-secondary-indexes", index, "--billing-mode", "PAY_PER_REQUEST",
        "--stream-specification", "StreamEnabled=true,StreamViewType=NEW_IMAGE",
    )
    aws("wait", "table-exists", *THINGS)
    check("status", aws("describe-table", *THINGS)["Table"]["TableStatus"], "ACTIVE")
    check("tables", aws("list-tables"), {"TableNames": ["Things"]})


def items():
    aws("put-item", *THINGS, "--item", document(ITEM))
    aws("put-item", *THINGS, "--item", document({**ITEM, **key(2)}))
    check("got", aws("get-item", *THINGS, "--key", document(key(1))), {"Item": SHOWN})
    values = ("--expression-attribute-values", document({":c": {"S": "red"}}))
    found = aws(
        "query", *THINGS, "--index-name", "by-color", "--page-size", "1", "--key-condition-expression", "color = :c", *values,
        "--return-consumed-capacity", "INDEXES",
    )
    check("queried", (found["Count"], [item["sk"]["N"] for item in found["Items"]]), (2, ["1", "2"]))
    check("scanned", aws("scan", *THINGS, "--select", "COUNT")["Count"], 2)
    updated = aws(
        "update-item", *THINGS, "--key", document(key(2)), "--update-expression", "SET color = :c ADD seen :n",
        "--expression-attribute-values", document({":c": {"S": "blue"}, ":n": {"N": "1"}}), "--return-values", "UPDATED_NEW",
    )
    check("updated", updated["Attributes"], {"color": {"S": "blue"}, "seen": {"N": "1"}})
    refused(
        "ConditionalCheckFailedException", "The conditional request failed",
        "put-item", *THINGS, "--item", document(ITEM), "--condition-expression", "attribute_not_exists(pk)",
    )
    old = aws("delete-item", *THINGS, "--key", document(key(1)), "--return-values", "ALL_OLD")
    check("deleted", old["Attributes"], SHOWN)
    missing = ("get-item", "--table-name", "Nothing", "--key", document(key(1)))
    refused("ResourceNotFoundException", "Requested resource not found", *missing)


def streams():
    stream = aws("list-streams", *THINGS, service="dynamodbstreams")["Streams"][0]["StreamArn"]
    shard = aws("describe-stream", "--stream-arn", stream, service="dynamodbstreams")["StreamDescription"]["Shards"][0]["ShardId"]
    start = aws(
        "get-shard-iterator", "--stream-arn", stream, "--shard-id", shard, "--shard-iterator-type", "TRIM_HORIZON",
        service="dynamodbstreams",
    )["ShardIterator"]
    events = aws("get-records", "--shard-iterator", start, service="dynamodbstreams")["Records"]
    check("records", [event["eventName"] for event in events], ["INSERT", "INSERT", "MODIFY", "REMOVE"])
    check("image", events[0]["dynamodb"]["NewImage"], SHOWN)


def time_to_live():
    aws("update-time-to-live", *THINGS, "--time-to-live-specification", "Enabled=true,AttributeName=ends")
    described = aws("describe-time-to-live", *THINGS)["TimeToLiveDescription"]
    check("time to live", described["AttributeName"], "ends")


def batches():
    puts = [{"PutRequest": {"Item": key(sk)}} for sk in range(10, 13)]
    written = aws(
        "batch-write-item", "--request-items", document({"Things": [*puts, {"DeleteRequest": {"Key": key(2)}}]}),
        "--return-consumed-capacity", "TOTAL",
    )
    # Three puts, and a delete that takes an index entry along.
    check("units", [(entry["TableName"], entry["CapacityUnits"]) for entry in written["ConsumedCapacity"]], [("Things", 5.0)])
    check("unprocessed", written["UnprocessedItems"], {})
    wanted = {"Things": {"Keys": [key(sk) for sk in (2, 11, 12)], "ProjectionExpression": "sk"}}
    found = aws("batch-get-item", "--request-items", document(wanted))
    numbers = sorted(item["sk"]["N"] for item in found["Responses"]["Things"])
    check("batch read", (numbers, found["UnprocessedKeys"]), (["11", "12"], {}))
    refused(
        "ValidationException", "Provided list of item keys contains duplicates",
        "batch-get-item", "--request-items", document({"Things": {"Keys": [key(11), key(11)]}}),
    )


def transactions():
    put = {"Put": {"TableName": "Things", "Item": {**key(20), "n": {"N": "1"}}}}
    change = {
        "Update": {
            "TableName": "Things", "Key": key(11), "UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": {"N": "7"}},
        }
    }
    there = {"ConditionCheck": {"TableName": "Things", "Key": key(12), "ConditionExpression": "attribute_exists(pk)"}}
    actions = document([put, change, there, {"Delete": {"TableName": "Things", "Key": key(10)}}])
    aws("transact-write-items", "--transact-items", actions, "--client-request-token", "once")
    aws("transact-write-items", "--transact-items", actions, "--client-request-token", "once")
    check("written", (get(20)["n"], get(11)["n"], get(10)), ({"N": "1"}, {"N": "7"}, None))
    gone = {"ConditionCheck": {"TableName": "Things", "Key": key(10), "ConditionExpression": "attribute_exists(pk)"}}
    refused(
        "TransactionCanceledException", "[None, ConditionalCheckFailed]",
        "transact-write-items", "--transact-items", document([put, gone]),
    )
    reads = [{"Get": {"TableName": "Things", "Key": key(sk), "ProjectionExpression": "n"}} for sk in (10, 20)]
    found = aws("transact-get-items", "--transact-items", document(reads))
    check("read", found["Responses"], [{}, {"Item": {"n": {"N": "1"}}}])


def statements():
    color = 'SELECT color FROM "Things" WHERE pk = ? AND sk = 11'
    parameters = [{"S": "a"}]
    change = "UPDATE Things SET color = 'green' WHERE pk = 'a' AND sk = 11 RETURNING MODIFIED NEW *"
    green = {"color": {"S": "green"}}
    check("statement", aws("execute-statement", "--statement", change)["Items"], [green])
    selected = aws("execute-statement", "--statement", color, "--parameters", document(parameters))
    check("selected", selected["Items"], [green])
    members = document([{"Statement": color, "Parameters": parameters}, {"Statement": "SELECT * FROM Things"}])
    responses = aws("batch-execute-statement", "--statements", members)["Responses"]
    check("batch", (responses[0]["Item"], responses[1]["Error"]["Code"]), (green, "ValidationError"))
    again = document([{"Statement": "INSERT INTO Things VALUE {'pk': 'a', 'sk': 11}"}])
    refused("TransactionCanceledException", "[DuplicateItem]", "execute-transaction", "--transact-statements", again)


tables()
items()
streams()
time_to_live()
batches()
transactions()
statements()
aws("delete-table", *THINGS)
aws("wait", "table-not-exists", *THINGS)
check("no tables", aws("list-tables"), {"TableNames": []})
end()
