"""Drives every operation served through the AWS command line."""

import json
import os
import subprocess
import sys

from client import check, end, endpoint


def run(*arguments, service="dynamodb"):
    """Runs `aws dynamodb …`: exit code, standard output, standard error."""
    command = [sys.executable, "-m", "awscli", service, "--endpoint-url", endpoint(), "--output", "json"]
    done = subprocess.run(command + list(arguments), capture_output=True, text=True, env=os.environ, check=False)
    return done.returncode, done.stdout, done.stderr


def aws(*arguments, service="dynamodb"):
    """The output of a command that must succeed, as JSON."""
    code, out, error = run(*arguments, service=service)
    check(" ".join(arguments[:1]), (code, error), (0, ""))
    return json.loads(out) if out.strip() else {}


# Version 1 of the command line takes binary values as they are and prints them in base64.
item = {"pk": {"S": "a"}, "sk": {"N": "1"}, "color": {"S": "red"}, "data": {"B": "raw"}, "tags": {"SS": ["x", "y"]}}
shown = {**item, "data": {"B": "cmF3"}}
aws(
    "create-table",
    "--table-name", "Things",
    "--attribute-definitions", "AttributeName=pk,AttributeType=S", "AttributeName=sk,AttributeType=N", "AttributeName=color,AttributeType=S",
    "--key-schema", "AttributeName=pk,KeyType=HASH", "AttributeName=sk,KeyType=RANGE",
    "--global-secondary-indexes", "IndexName=by-color,KeySchema=[{AttributeName=color,KeyType=HASH}],Projection={ProjectionType=ALL}",
    "--billing-mode", "PAY_PER_REQUEST",
    "--stream-specification", "StreamEnabled=true,StreamViewType=NEW_IMAGE",
)
aws("wait", "table-exists", "--table-name", "Things")
check("status", aws("describe-table", "--table-name", "Things")["Table"]["TableStatus"], "ACTIVE")
check("tables", aws("list-tables"), {"TableNames": ["Things"]})
aws("put-item", "--table-name", "Things", "--item", json.dumps(item))
aws("put-item", "--table-name", "Things", "--item", json.dumps({**item, "sk": {"N": "2"}}))
key = json.dumps({"pk": {"S": "a"}, "sk": {"N": "1"}})
check("got", aws("get-item", "--table-name", "Things", "--key", key), {"Item": shown})
found = aws(
    "query", "--table-name", "Things", "--index-name", "by-color", "--page-size", "1",
    "--key-condition-expression", "color = :c", "--expression-attribute-values", '{":c":{"S":"red"}}',
)
check("queried", found["Count"], 2)
check("scanned", aws("scan", "--table-name", "Things", "--select", "COUNT")["Count"], 2)
old = aws("delete-item", "--table-name", "Things", "--key", key, "--return-values", "ALL_OLD")
check("deleted", old["Attributes"], shown)
code, _, error = run("get-item", "--table-name", "Nothing", "--key", key)
check("error", (code != 0, "(ResourceNotFoundException)" in error and "Requested resource not found" in error), (True, True))
aws("update-time-to-live", "--table-name", "Things", "--time-to-live-specification", "Enabled=true,AttributeName=ends")
described = aws("describe-time-to-live", "--table-name", "Things")["TimeToLiveDescription"]
check("time to live", described["AttributeName"], "ends")
stream = aws("list-streams", "--table-name", "Things", service="dynamodbstreams")["Streams"][0]["StreamArn"]
shard = aws("describe-stream", "--stream-arn", stream, service="dynamodbstreams")["StreamDescription"]["Shards"][0]["ShardId"]
start = aws(
    "get-shard-iterator", "--stream-arn", stream, "--shard-id", shard, "--shard-iterator-type", "TRIM_HORIZON", service="dynamodbstreams"
)["ShardIterator"]
events = aws("get-records", "--shard-iterator", start, service="dynamodbstreams")["Records"]
check("records", [event["eventName"] for event in events], ["INSERT", "INSERT", "REMOVE"])
check("image", events[0]["dynamodb"]["NewImage"], shown)
aws("delete-table", "--table-name", "Things")
check("no tables", aws("list-tables"), {"TableNames": []})
end()
