"""Drives DynamoDB Streams and time to live through boto3: views, pages, positions, expiry, errors."""

import time

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from client import check, end, endpoint, watch_client

# Wrong parameters are to reach the server.
CONFIG = Config(retries={"max_attempts": 0}, connect_timeout=10, read_timeout=60, parameter_validation=False)
client = boto3.client("dynamodb", endpoint_url=endpoint(), config=CONFIG)
streams = boto3.client("dynamodbstreams", endpoint_url=endpoint(), config=CONFIG)
watch_client(client)
watch_client(streams)

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/"
NO_STREAM = ARN + "Nothing/stream/2026-01-02T03:04:05.678"
NO_SHARD = "shardId-00000000000000000000-00000000"


def refused(name, call, code, message):
    """The call must fail with that code and text."""
    try:
        call()
        check(name, "accepted", (code, message))
    except ClientError as error:
        found = error.response["Error"]
        check(name, (found["Code"], found["Message"]), (code, message))


def create(name, view):
    return client.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": view},
    )["TableDescription"]


def key(sk):
    return {"pk": {"S": "a"}, "sk": {"N": str(sk)}}


def item(sk, text):
    return {**key(sk), "text": {"S": text}}


def iterator(arn, kind="TRIM_HORIZON", **more):
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    return streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType=kind, **more)["ShardIterator"]


def records(arn, **more):
    return streams.get_records(ShardIterator=iterator(arn, **more))["Records"]


def every_view():
    old, new = item(1, "one"), item(1, "two")
    images = {
        "KEYS_ONLY": [{}, {}, {}],
        "NEW_IMAGE": [{"NewImage": old}, {"NewImage": new}, {}],
        "OLD_IMAGE": [{}, {"OldImage": old}, {"OldImage": new}],
        "NEW_AND_OLD_IMAGES": [{"NewImage": old}, {"NewImage": new, "OldImage": old}, {"OldImage": new}],
    }
    for view, expected in images.items():
        created = create(view, view)
        arn = created["LatestStreamArn"]
        check("arn", arn, ARN + view + "/stream/" + created["LatestStreamLabel"])
        check("specification", created["StreamSpecification"], {"StreamEnabled": True, "StreamViewType": view})
        for put in (old, new, new):
            client.put_item(TableName=view, Item=put)
        for _ in range(2):
            client.delete_item(TableName=view, Key=key(1))
        found = records(arn)
        check(f"events of {view}", [record["eventName"] for record in found], ["INSERT", "MODIFY", "REMOVE"])
        shown = [{n: v for n, v in r["dynamodb"].items() if n.endswith("Image")} for r in found]
        check(f"images of {view}", shown, expected)
        record = found[0]
        check("source", (record["eventSource"], record["eventVersion"], record["awsRegion"]), ("aws:dynamodb", "1.1", "us-east-1"))
        check("keys", record["dynamodb"]["Keys"], key(1))
        check("view", record["dynamodb"]["StreamViewType"], view)
        check("no identity", "userIdentity" in record, False)
        check("number", len(record["dynamodb"]["SequenceNumber"]), 21)
        check("distinct ids", len({r["eventID"] for r in found}), 3)
        client.delete_table(TableName=view)
        described = streams.describe_stream(StreamArn=arn)["StreamDescription"]
        check("disabled", described["StreamStatus"], "DISABLED")
        check("closed", "EndingSequenceNumber" in described["Shards"][0]["SequenceNumberRange"], True)
        check("still readable", len(records(arn)), 3)


def streams_are_listed_in_pages():
    names = ["KEYS_ONLY", "NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE"]
    first = streams.list_streams(Limit=3)
    second = streams.list_streams(Limit=3, ExclusiveStartStreamArn=first["LastEvaluatedStreamArn"])
    check("listed", [s["TableName"] for s in first["Streams"] + second["Streams"]], names)
    check("end", "LastEvaluatedStreamArn" in second, False)
    check("of one", [s["TableName"] for s in streams.list_streams(TableName="NEW_IMAGE")["Streams"]], ["NEW_IMAGE"])
    check("of none", streams.list_streams(TableName="Nothing")["Streams"], [])


def positions_and_pages():
    arn = create("Pages", "NEW_IMAGE")["LatestStreamArn"]
    described = streams.describe_stream(StreamArn=arn, Limit=1)["StreamDescription"]
    check("enabled", (described["StreamStatus"], described["StreamViewType"], described["TableName"]), ("ENABLED", "NEW_IMAGE", "Pages"))
    check("key", [k["AttributeName"] for k in described["KeySchema"]], ["pk", "sk"])
    shard = described["Shards"][0]["ShardId"]
    behind = streams.describe_stream(StreamArn=arn, ExclusiveStartShardId=shard)["StreamDescription"]
    check("behind", behind["Shards"], [])
    latest = iterator(arn, "LATEST")
    for sk in range(7):
        client.put_item(TableName="Pages", Item=item(sk, "x"))
    numbers = [r["dynamodb"]["SequenceNumber"] for r in records(arn)]
    check("in order", (len(numbers), numbers), (7, sorted(numbers)))
    sizes, found, next_iterator = [], [], iterator(arn)
    while True:
        page = streams.get_records(ShardIterator=next_iterator, Limit=3)
        next_iterator = page["NextShardIterator"]
        if not page["Records"]:
            break
        sizes.append(len(page["Records"]))
        found += [r["dynamodb"]["SequenceNumber"] for r in page["Records"]]
    check("pages", (sizes, found), ([3, 3, 1], numbers))
    client.put_item(TableName="Pages", Item=item(7, "x"))
    check("goes on", len(streams.get_records(ShardIterator=next_iterator)["Records"]), 1)
    check("latest", len(streams.get_records(ShardIterator=latest)["Records"]), 8)
    check("at", len(records(arn, kind="AT_SEQUENCE_NUMBER", SequenceNumber=numbers[4])), 4)
    check("after", len(records(arn, kind="AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[4])), 3)


def errors():
    invalid, missing = "ValidationException", "ResourceNotFoundException"
    arn = client.describe_table(TableName="Pages")["Table"]["LatestStreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    one = "1 validation error detected: "
    get = lambda **more: lambda: streams.get_shard_iterator(**{"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "LATEST", **more})  # noqa: E731
    refused("no stream", lambda: streams.describe_stream(StreamArn=NO_STREAM), missing, f"Requested resource not found: Stream: {NO_STREAM} not found")
    refused("no arn", lambda: streams.describe_stream(StreamArn=ARN + "Pages"), invalid, "Invalid StreamArn")
    refused("short arn", lambda: streams.describe_stream(StreamArn="x"), invalid, one + "Value 'x' at 'streamArn' failed to satisfy constraint: Member must have length greater than or equal to 37")
    refused("missing arn", lambda: streams.describe_stream(), invalid, one + "Value null at 'streamArn' failed to satisfy constraint: Member must not be null")
    refused("no shard", get(ShardId=NO_SHARD), missing, "Requested resource not found: Shard does not exist")
    refused("bad shard", get(ShardId="x" * 30), missing, "Requested resource not found: Shard does not exist")
    refused("bad type", get(ShardIteratorType="SOME"), invalid, one + "Value 'SOME' at 'shardIteratorType' failed to satisfy constraint: Member must satisfy enum value set: [TRIM_HORIZON, LATEST, AT_SEQUENCE_NUMBER, AFTER_SEQUENCE_NUMBER, AT_TIMESTAMP]")
    refused("number missing", get(ShardIteratorType="AT_SEQUENCE_NUMBER"), invalid, "SequenceNumber is required when ShardIteratorType is AT_SEQUENCE_NUMBER")
    refused("number unwanted", get(SequenceNumber="1" * 21), invalid, "SequenceNumber must not be specified when ShardIteratorType is LATEST")
    refused("old number", get(ShardIteratorType="AFTER_SEQUENCE_NUMBER", SequenceNumber="0" * 21), "TrimmedDataAccessException", "The operation attempted to read past the oldest stream record in a shard.")
    refused("bad iterator", lambda: streams.get_records(ShardIterator="x"), invalid, "Invalid ShardIterator")
    refused("limit", lambda: streams.get_records(ShardIterator="x", Limit=1001), invalid, one + "Value '1001' at 'limit' failed to satisfy constraint: Member must have value less than or equal to 1000")
    refused("limit of streams", lambda: streams.list_streams(Limit=0), invalid, one + "Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1")


def time_to_live():
    arn = create("Sessions", "OLD_IMAGE")["LatestStreamArn"]
    past, future = str(int(time.time()) - 60), str(int(time.time()) + 3600)
    client.put_item(TableName="Sessions", Item={**key(1), "ends": {"N": past}})
    client.put_item(TableName="Sessions", Item={**key(2), "ends": {"N": future}})
    describe = lambda: client.describe_time_to_live(TableName="Sessions")["TimeToLiveDescription"]  # noqa: E731
    check("off", describe(), {"TimeToLiveStatus": "DISABLED"})
    on = {"Enabled": True, "AttributeName": "ends"}
    update = lambda **more: lambda: client.update_time_to_live(TableName="Sessions", TimeToLiveSpecification={**on, **more})  # noqa: E731
    check("echo", update()()["TimeToLiveSpecification"], on)
    for _ in range(600):
        if describe()["TimeToLiveStatus"] == "ENABLED" and client.scan(TableName="Sessions")["Count"] == 1:
            break
        time.sleep(0.05)
    check("on", describe(), {"TimeToLiveStatus": "ENABLED", "AttributeName": "ends"})
    check("left", [i["sk"]["N"] for i in client.scan(TableName="Sessions")["Items"]], ["2"])
    record = records(arn)[-1]
    check("removed", (record["eventName"], record["dynamodb"]["OldImage"]["ends"]), ("REMOVE", {"N": past}))
    check("by the service", record["userIdentity"], {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"})
    invalid = "ValidationException"
    refused("again", update(), invalid, "TimeToLive is already enabled")
    refused("other", update(AttributeName="x"), invalid, "TimeToLive is active on a different AttributeName: current AttributeName is ends")
    refused("empty name", update(AttributeName=""), invalid, "1 validation error detected: Value '' at 'timeToLiveSpecification.attributeName' failed to satisfy constraint: Member must have length greater than or equal to 1")
    update(Enabled=False)()
    check("off again", describe(), {"TimeToLiveStatus": "DISABLED"})
    refused("off twice", update(Enabled=False), invalid, "TimeToLive is already disabled")
    refused("no table", lambda: client.describe_time_to_live(TableName="Nothing"), "ResourceNotFoundException", "Requested resource not found: Table: Nothing not found")


every_view()
streams_are_listed_in_pages()
positions_and_pages()
errors()
time_to_live()
end()
