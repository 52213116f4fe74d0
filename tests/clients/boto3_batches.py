"""Drives the batches and transactions through boto3: what they do, what they refuse, what they report."""

from decimal import Decimal

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from client import check, end, endpoint, watch_client

# The refusals wanted are the server's, not those of boto3 itself.
CONFIG = Config(retries={"max_attempts": 0}, connect_timeout=10, read_timeout=60, parameter_validation=False)
client = boto3.client("dynamodb", endpoint_url=endpoint(), config=CONFIG)
resource = boto3.resource("dynamodb", endpoint_url=endpoint(), config=CONFIG)
watch_client(client)
watch_client(resource.meta.client)
LENGTH_100 = "Member must have length less than or equal to 100"


def refused(name, call, code, message):
    """The call must fail with that code and text; the error's response."""
    try:
        call()
        check(name, "accepted", (code, message))
        return {}
    except ClientError as error:
        found = error.response["Error"]
        check(name, (found["Code"], found["Message"]), (code, message))
        return error.response


def invalid(name, call, message):
    return refused(name, call, "ValidationException", message)


def create_tables():
    for name, more in {
        "Orders": {
            "LocalSecondaryIndexes": [
                {"IndexName": "by-day", "KeySchema": keys("pk", "day"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
            ],
            "AttributeDefinitions": definitions(pk="S", sk="N", day="S", state="S"),
            "GlobalSecondaryIndexes": [
                {"IndexName": "by-state", "KeySchema": keys("state"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
            ],
        },
        "Stock": {"AttributeDefinitions": definitions(pk="S", sk="N")},
    }.items():
        client.create_table(TableName=name, KeySchema=keys("pk", "sk"), BillingMode="PAY_PER_REQUEST", **more)


def keys(*names):
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ["HASH", "RANGE"])]


def definitions(**types):
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def key(pk, sk):
    return {"pk": {"S": pk}, "sk": {"N": str(sk)}}


def put(pk, sk, **more):
    return {"PutRequest": {"Item": {**key(pk, sk), **{name: {"S": value} for name, value in more.items()}}}}


def delete(pk, sk):
    return {"DeleteRequest": {"Key": key(pk, sk)}}


def write(**tables):
    return client.batch_write_item(RequestItems=tables)


def get(**tables):
    return client.batch_get_item(RequestItems=tables)


def rows(table):
    return sorted((item["pk"]["S"], int(item["sk"]["N"])) for item in client.scan(TableName=table)["Items"])


def batches_write():
    with resource.Table("Orders").batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"pk": "many", "sk": number, "day": f"{number:02}", "price": Decimal("1.5")})
    check("batch writer", len(rows("Orders")), 60)
    with resource.Table("Orders").batch_writer(overwrite_by_pkeys=["pk", "sk"]) as batch:
        for number in range(60):
            batch.delete_item(Key={"pk": "many", "sk": number})
    check("batch writer deletes", rows("Orders"), [])
    response = client.batch_write_item(
        RequestItems={"Orders": [put("a", 1, state="open"), put("b", 2, day="x")], "Stock": [put("s", 1)]},
        ReturnConsumedCapacity="INDEXES",
        ReturnItemCollectionMetrics="SIZE",
    )
    check("unprocessed items", response["UnprocessedItems"], {})
    capacity = {entry["TableName"]: entry for entry in response["ConsumedCapacity"]}
    check("batch write units", [capacity[name]["CapacityUnits"] for name in ("Orders", "Stock")], [4.0, 1.0])
    check("batch write arms", capacity["Orders"]["GlobalSecondaryIndexes"], {"by-state": {"CapacityUnits": 1.0}})
    metrics = [entry["ItemCollectionKey"] for entry in response["ItemCollectionMetrics"]["Orders"]]
    check("metrics", (metrics, list(response["ItemCollectionMetrics"])), ([{"pk": {"S": "a"}}, {"pk": {"S": "b"}}], ["Orders"]))
    write(Orders=[delete("a", 1), put("c", 3)])
    check("after the batches", (rows("Orders"), rows("Stock")), ([("b", 2), ("c", 3)], [("s", 1)]))
    arn = client.describe_table(TableName="Stock")["Table"]["TableArn"]
    client.batch_write_item(RequestItems={arn: [delete("s", 1)]})
    check("by arn", rows("Stock"), [])


def bad_batch_writes():
    missing = "The requestItems parameter is required for BatchWriteItem"
    invalid("no tables", lambda: client.batch_write_item(RequestItems={}), missing)
    sizes = "Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]"
    at = "1 validation error detected: Value '{}' at 'requestItems' failed to satisfy constraint: " + sizes
    invalid("no requests", lambda: write(Orders=[]), at.format("{Orders=[]}"))
    response = refused_any(lambda: write(Orders=[put("x", n) for n in range(26)]))
    check("26 requests", (response[0], response[1].endswith(sizes)), ("ValidationException", True))
    many = {"Orders": [put("x", n) for n in range(20)], "Stock": [put("x", n) for n in range(6)]}
    invalid("26 requests of two tables", lambda: write(**many), "Too many items requested for the BatchWriteItem call")
    both = {**put("x", 1), **delete("x", 2)}
    types = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
    invalid("both kinds", lambda: write(Orders=[both]), types)
    invalid("no kind", lambda: write(Orders=[{}]), types)
    duplicates = "Provided list of item keys contains duplicates"
    other = put("x", 1)
    other["PutRequest"]["Item"]["sk"] = {"N": "1.0"}
    invalid("duplicates by value", lambda: write(Orders=[put("x", 1), other]), duplicates)
    invalid("put and delete", lambda: write(Orders=[put("x", 1), delete("x", 1)]), duplicates)
    schema = "The provided key element does not match the schema"
    invalid("key missing", lambda: write(Orders=[put("x", 1), {"PutRequest": {"Item": {"pk": {"S": "a"}}}}]), schema)
    refused("no table", lambda: write(Orders=[put("x", 1)], Nothing=[put("x", 1)]), "ResourceNotFoundException", "Requested resource not found")
    check("nothing was written", [row for row in rows("Orders") if row[0] == "x"], [])
    path = "1 validation error detected: Value null at 'requestItems.Orders.member.1.member.putRequest.item' failed to satisfy constraint: Member must not be null"
    invalid("put without an item", lambda: client.batch_write_item(RequestItems={"Orders": [{"PutRequest": {}}]}), path)


def refused_any(call):
    try:
        call()
        return ("accepted", "")
    except ClientError as error:
        return (error.response["Error"]["Code"], error.response["Error"]["Message"])


def batches_read():
    write(Orders=[put("r", n, text="x" * 100) for n in range(5)], Stock=[put("r", 1)])
    response = client.batch_get_item(
        RequestItems={
            "Orders": {"Keys": [key("r", n) for n in (4, 99, 2)], "ProjectionExpression": "#k", "ExpressionAttributeNames": {"#k": "sk"}},
            "Stock": {"Keys": [key("r", 1)], "ConsistentRead": True},
        },
        ReturnConsumedCapacity="TOTAL",
    )
    check("found", response["Responses"], {"Orders": [{"sk": {"N": "4"}}, {"sk": {"N": "2"}}], "Stock": [key("r", 1)]})
    check("unprocessed keys", response["UnprocessedKeys"], {})
    units = {entry["TableName"]: entry["CapacityUnits"] for entry in response["ConsumedCapacity"]}
    check("batch get units", units, {"Orders": 1.5, "Stock": 1.0})
    spelled = {"pk": {"S": "r"}, "sk": {"N": "1.0"}}
    check("keys of other spelling", len(get(Orders={"Keys": [key("r", 1), spelled]})["Responses"]["Orders"]), 2)
    got = resource.batch_get_item(RequestItems={"Orders": {"Keys": [{"pk": "r", "sk": 3}]}})
    check("resource", [item["sk"] for item in got["Responses"]["Orders"]], [Decimal(3)])


def a_batch_get_is_cut_at_16_megabytes():
    for number in range(45):
        client.put_item(TableName="Stock", Item={**key("big", number), "text": {"S": "x" * 400_000}})
    wanted = {"Keys": [key("big", n) for n in range(45)], "ConsistentRead": True, "ProjectionExpression": "#k, pk", "ExpressionAttributeNames": {"#k": "sk"}}
    found, request, calls = [], {"Stock": wanted}, 0
    while request:
        response = client.batch_get_item(RequestItems=request)
        found += [int(item["sk"]["N"]) for item in response["Responses"]["Stock"]]
        request, calls = response["UnprocessedKeys"], calls + 1
        if request:
            check("settings come back", {**request["Stock"], "Keys": []}, {**wanted, "Keys": []})
    check("all of them", (sorted(found), calls), (list(range(45)), 2))
    with resource.Table("Stock").batch_writer() as batch:
        for number in range(45):
            batch.delete_item(Key={"pk": "big", "sk": number})


def bad_batch_gets():
    missing = "1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1"
    invalid("nothing asked", lambda: client.batch_get_item(RequestItems={}), missing)
    many = [key("x", n) for n in range(101)]
    text = "1 validation error detected: Value at 'RequestItems.Orders.member.Keys' failed to satisfy constraint: " + LENGTH_100
    invalid("101 keys", lambda: get(Orders={"Keys": many}), text)
    invalid("101 keys of two tables", lambda: get(Orders={"Keys": many[:60]}, Stock={"Keys": many[:41]}), "Too many items requested for the BatchGetItem call")
    text = "1 validation error detected: Value at 'RequestItems.Orders.member.Keys' failed to satisfy constraint: Member must have length greater than or equal to 1"
    invalid("no keys", lambda: get(Orders={"Keys": []}), text)
    invalid("same key", lambda: get(Orders={"Keys": [key("x", 1), key("x", 1)]}), "Provided list of item keys contains duplicates")
    invalid("key", lambda: get(Orders={"Keys": [{"pk": {"S": "x"}}]}), "The provided key element does not match the schema")
    refused("table", lambda: get(Nothing={"Keys": [key("x", 1)]}), "ResourceNotFoundException", "Requested resource not found")
    name = "1 validation error detected: Value '{\"a b\":{\"Keys\":[{\"pk\":{\"S\":\"x\"},\"sk\":{\"N\":\"1\"}}]}}' at 'requestItems' failed to satisfy constraint: Map keys must satisfy constraint: [Member must have length less than or equal to 255, Member must have length greater than or equal to 3, Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+]"
    invalid("table name", lambda: client.batch_get_item(RequestItems={"a b": {"Keys": [key("x", 1)]}}), name)
    names = {"Keys": [key("x", 1)], "ExpressionAttributeNames": {"#a": "b"}}
    invalid("names alone", lambda: get(Orders=names), "ExpressionAttributeNames can only be specified when using expressions")


def wanted(table, pk, sk, **more):
    return {"Get": {"TableName": table, "Key": key(pk, sk), **more}}


def transactions_read():
    client.put_item(TableName="Orders", Item={**key("t", 1), "text": {"S": "x" * 5000}})
    client.put_item(TableName="Stock", Item=key("t", 1))
    response = client.transact_get_items(
        TransactItems=[
            wanted("Stock", "t", 1),
            wanted("Stock", "t", 2),
            wanted("Orders", "t", 1, ProjectionExpression="nothing"),
            wanted("Orders", "t", 3, ProjectionExpression="#p", ExpressionAttributeNames={"#p": "pk"}),
        ],
        ReturnConsumedCapacity="INDEXES",
    )
    check("transaction reads", response["Responses"], [{"Item": key("t", 1)}, {}, {}, {}])
    units = [(e["TableName"], e["CapacityUnits"], e["ReadCapacityUnits"], e["Table"]["ReadCapacityUnits"]) for e in response["ConsumedCapacity"]]
    check("read units", units, [("Stock", 4.0, 4.0, 4.0), ("Orders", 6.0, 6.0, 6.0)])


def bad_transactions_of_reads():
    read = lambda *items: lambda: client.transact_get_items(TransactItems=list(items))  # noqa: E731
    several = "Transaction request cannot include multiple operations on one item"
    invalid("item twice", read(wanted("Stock", "t", 1), wanted("Stock", "t", "1.0")), several)
    refused("no table", read(wanted("Stock", "t", 1), wanted("Nothing", "t", 1)), "ResourceNotFoundException", "Requested resource not found")
    bad = {"Get": {"TableName": "Stock", "Key": {"pk": {"S": "t"}}}}
    text = "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ValidationError]"
    response = refused("bad key", read(wanted("Stock", "t", 1), bad), "TransactionCanceledException", text)
    reasons = [{"Code": "None"}, {"Code": "ValidationError", "Message": "The provided key element does not match the schema"}]
    check("reasons", response["CancellationReasons"], reasons)
    result = refused_any(read(*[wanted("Stock", "t", n) for n in range(101)]))
    check("101 reads", (result[0], result[1].endswith(LENGTH_100)), ("ValidationException", True))


def action(kind, table, pk, sk, condition=None, values=None, **more):
    body = {"TableName": table, "Item" if kind == "Put" else "Key": key(pk, sk), **more}
    if condition:
        body["ConditionExpression"] = condition
    if values:
        body["ExpressionAttributeValues"] = values
    return {kind: body}


EXISTS = "attribute_exists(pk)"
ABSENT = "attribute_not_exists(pk)"
FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}


def transact(*items, **more):
    return client.transact_write_items(TransactItems=list(items), **more)


def transactions_write():
    client.put_item(TableName="Stock", Item=key("w", 1))
    response = transact(
        action("Put", "Orders", "w", 1, ABSENT, Item={**key("w", 1), "state": {"S": "open"}}),
        action("Delete", "Stock", "w", 1, EXISTS),
        action("ConditionCheck", "Orders", "w", 2, ABSENT),
        ReturnConsumedCapacity="INDEXES",
        ReturnItemCollectionMetrics="SIZE",
    )
    check("written", [(table, ("w", 1) in rows(table)) for table in ("Orders", "Stock")], [("Orders", True), ("Stock", False)])
    units = [(e["TableName"], e["CapacityUnits"], e["WriteCapacityUnits"], e["Table"]["WriteCapacityUnits"]) for e in response["ConsumedCapacity"]]
    check("write units", units, [("Orders", 5.0, 5.0, 4.0), ("Stock", 2.0, 2.0, 2.0)])
    check("write metrics", list(response["ItemCollectionMetrics"]), ["Orders"])


def update(table, pk, sk, expression, values=None, condition=None, **more):
    return action("Update", table, pk, sk, condition, values, UpdateExpression=expression, **more)


def transactions_update():
    client.put_item(TableName="Stock", Item={**key("u", 1), "amount": {"N": "3"}})
    one = {":n": {"N": "1"}}
    order = lambda: transact(  # noqa: E731
        update("Stock", "u", 1, "SET amount = amount - :n", one, "amount >= :n"),
        update("Orders", "u", 1, "SET #s = :s ADD amount :n", {**one, ":s": {"S": "open"}}, ExpressionAttributeNames={"#s": "state"}),
        ReturnConsumedCapacity="TOTAL",
    )
    units = [(e["TableName"], e["WriteCapacityUnits"]) for e in order()["ConsumedCapacity"]]
    check("update units", units, [("Stock", 2.0), ("Orders", 3.0)])
    order(), order()
    left = [client.get_item(TableName=table, Key=key("u", 1))["Item"]["amount"]["N"] for table in ("Stock", "Orders")]
    check("updated", left, ["0", "3"])
    cancelled("condition of an update", order, [FAILED, {"Code": "None"}])
    missing = {"Code": "ValidationError", "Message": "The provided expression refers to an attribute that does not exist in the item"}
    bad = lambda: transact(action("Put", "Orders", "u", 2), update("Stock", "u", 2, "SET amount = amount - :n", one))  # noqa: E731
    cancelled("update of nothing", bad, [{"Code": "None"}, missing])
    twice = lambda: transact(action("Put", "Stock", "u", 1), update("Stock", "u", 1, "SET amount = :n", one))  # noqa: E731
    invalid("put and update", twice, "Transaction request cannot include multiple operations on one item")


def cancelled(name, call, reasons):
    codes = ", ".join(reason["Code"] for reason in reasons)
    text = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    response = refused(name, call, "TransactionCanceledException", text)
    check(f"{name}: reasons", response.get("CancellationReasons"), reasons)


def transactions_are_cancelled():
    client.put_item(TableName="Stock", Item={**key("c", 1), "amount": {"N": "3"}})
    none = {"Code": "None"}
    cancelled("check", lambda: transact(action("Put", "Orders", "c", 1), action("ConditionCheck", "Stock", "c", 2, EXISTS)), [none, FAILED])
    old = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    cancelled(
        "all that fail",
        lambda: transact(
            action("ConditionCheck", "Stock", "c", 1, "amount > :n", {":n": {"N": "3"}}, **old),
            action("Put", "Orders", "c", 1),
            action("Delete", "Stock", "c", 2, EXISTS, **old),
        ),
        [{**FAILED, "Item": {**key("c", 1), "amount": {"N": "3"}}}, none, FAILED],
    )
    missing = {"Code": "ValidationError", "Message": "One or more parameter values were invalid: Missing the key sk in the item"}
    short = {"Put": {"TableName": "Stock", "Item": {"pk": {"S": "c"}}}}
    cancelled("put without a key", lambda: transact(action("Put", "Orders", "c", 1), short), [none, missing])
    check("nothing written", ("c", 1) in rows("Orders"), False)
    try:
        transact(action("ConditionCheck", "Stock", "c", 2, EXISTS))
    except client.exceptions.TransactionCanceledException as error:
        check("modelled error", error.response["CancellationReasons"], [FAILED])


def transactions_are_refused():
    several = "Transaction request cannot include multiple operations on one item"
    invalid("twice", lambda: transact(action("Put", "Stock", "x", 1), action("Delete", "Stock", "x", "1.0")), several)
    refused("missing table", lambda: transact(action("Put", "Stock", "x", 1), action("Put", "Nothing", "x", 1)), "ResourceNotFoundException", "Requested resource not found")
    empty = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"
    invalid("empty key", lambda: transact(action("Put", "Stock", "", 1)), empty)
    one = "TransactItems can only contain one of Check, Put, Update or Delete"
    invalid("two actions", lambda: transact({**action("Put", "Stock", "x", 1), **action("Delete", "Stock", "x", 2)}), one)
    result = refused_any(lambda: transact(*[action("Put", "Stock", "x", n) for n in range(101)]))
    check("101 actions", (result[0], result[1].endswith(LENGTH_100)), ("ValidationException", True))
    token = "1 validation error detected: Value '' at 'clientRequestToken' failed to satisfy constraint: Member must have length greater than or equal to 1"
    invalid("empty token", lambda: transact(action("Put", "Stock", "x", 1), ClientRequestToken=""), token)
    unused = "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null"
    invalid("values alone", lambda: transact(action("Put", "Stock", "x", 1, None, {":a": {"S": "a"}})), unused)


def tokens():
    first = lambda **more: transact(action("Put", "Stock", "k", 1, ABSENT), ClientRequestToken="token", ReturnConsumedCapacity="TOTAL", **more)  # noqa: E731
    check("first", first()["ConsumedCapacity"], [{"TableName": "Stock", "CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}])
    check("again", first()["ConsumedCapacity"], [{"TableName": "Stock", "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}])
    other = lambda: transact(action("Put", "Stock", "k", 2), ClientRequestToken="token")  # noqa: E731
    result = refused_any(other)
    check("other items", result[0], "IdempotentParameterMismatchException")


create_tables()
batches_write()
bad_batch_writes()
batches_read()
a_batch_get_is_cut_at_16_megabytes()
bad_batch_gets()
transactions_read()
bad_transactions_of_reads()
transactions_write()
transactions_update()
transactions_are_cancelled()
transactions_are_refused()
tokens()
end()
