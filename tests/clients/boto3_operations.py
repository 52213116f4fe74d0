"""Drives every operation served through boto3: typed values, key conditions, pages, segments, errors."""

import threading
from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import Binary
from botocore.config import Config
from botocore.exceptions import ClientError

from client import check, end, endpoint, watch_client

CONFIG = Config(retries={"max_attempts": 0}, connect_timeout=10, read_timeout=60)
client = boto3.client("dynamodb", endpoint_url=endpoint(), config=CONFIG)
resource = boto3.resource("dynamodb", endpoint_url=endpoint(), config=CONFIG)
watch_client(client)
watch_client(resource.meta.client)


def refused(name, call, code, message):
    """The call must fail with that code and text."""
    try:
        call()
        check(name, "accepted", (code, message))
    except ClientError as error:
        found = error.response["Error"]
        check(name, (found["Code"], found["Message"]), (code, message))


def key(*names):
    kinds = ["HASH", "RANGE"]
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, kinds)]


def definitions(**types):
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def create_and_describe():
    created = client.create_table(
        TableName="Orders",
        AttributeDefinitions=definitions(customer="S", number="N", status="S", day="S", code="B"),
        KeySchema=key("customer", "number"),
        LocalSecondaryIndexes=[
            {"IndexName": "by-day", "KeySchema": key("customer", "day"), "Projection": {"ProjectionType": "KEYS_ONLY"}},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-status",
                "KeySchema": key("status", "day"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]},
            },
            {"IndexName": "by-code", "KeySchema": key("code"), "Projection": {"ProjectionType": "ALL"}},
        ],
        BillingMode="PAY_PER_REQUEST",
        Tags=[{"Key": "team", "Value": "sales"}],
    )["TableDescription"]
    check("created name", created["TableName"], "Orders")
    client.get_waiter("table_exists").wait(TableName="Orders", WaiterConfig={"Delay": 1, "MaxAttempts": 20})
    table = client.describe_table(TableName="Orders")["Table"]
    check("status", table["TableStatus"], "ACTIVE")
    check("arn", table["TableArn"], "arn:aws:dynamodb:us-east-1:000000000000:table/Orders")
    check("key schema", table["KeySchema"], key("customer", "number"))
    check("definitions", [d["AttributeName"] for d in table["AttributeDefinitions"]], ["code", "customer", "day", "number", "status"])
    check("billing", table["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")
    check("local", [i["IndexName"] for i in table["LocalSecondaryIndexes"]], ["by-day"])
    check("global", [i["IndexName"] for i in table["GlobalSecondaryIndexes"]], ["by-status", "by-code"])
    check("projection", table["GlobalSecondaryIndexes"][0]["Projection"]["NonKeyAttributes"], ["total"])
    check("by arn", client.describe_table(TableName=table["TableArn"])["Table"]["TableName"], "Orders")
    check("tables", client.list_tables()["TableNames"], ["Orders"])


def tables_are_listed_in_pages():
    names = [f"Small{n}" for n in range(5)]
    for name in names:
        client.create_table(
            TableName=name,
            AttributeDefinitions=definitions(pk="S"),
            KeySchema=key("pk"),
            ProvisionedThroughput={"ReadCapacityUnits": 3, "WriteCapacityUnits": 4},
        )
    throughput = client.describe_table(TableName="Small0")["Table"]["ProvisionedThroughput"]
    check("throughput", (throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]), (3, 4))
    pages = client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 2})
    check("listed", [name for page in pages for name in page["TableNames"]], ["Orders"] + names)
    for name in names:
        client.delete_table(TableName=name)


def order(number, **more):
    item = {
        "customer": "ann",
        "number": number,
        "day": f"2026-01-{number:02}",
        "status": "open" if number % 2 else "paid",
        "total": Decimal(number) * Decimal("1.5"),
    }
    return {**item, **more}


def every_type_comes_back():
    table = resource.Table("Orders")
    item = order(
        1,
        code=Binary(b"\x00\xff\x01"),
        text="snow \u2603, nul \x00, quote \"",
        yes=True,
        nothing=None,
        exact=Decimal("-1.2345678901234567890123456789012345678"),
        words={"b", "a"},
        numbers={Decimal("1"), Decimal("-2.5")},
        blobs={Binary(b"a"), Binary(b"")},
        list=[1, "two", [b"3"], {"four": None}],
        map={"a": {"b": [True, False]}},
        empty=["", [], {}],
    )
    table.put_item(Item=item)
    got = table.get_item(Key={"customer": "ann", "number": 1}, ConsistentRead=True)["Item"]
    item["list"][2] = [Binary(b"3")]
    check("every type", got, item)
    got = table.get_item(Key={"customer": "ann", "number": Decimal("1.0")}, ProjectionExpression="#m.a.b[1], words", ExpressionAttributeNames={"#m": "map"})
    check("projection", got["Item"], {"map": {"a": {"b": [False]}}, "words": {"a", "b"}})
    check("missing item", "Item" in table.get_item(Key={"customer": "ann", "number": 99}), False)
    old = table.put_item(Item=order(1, code=Binary(b"x")), ReturnValues="ALL_OLD", ReturnConsumedCapacity="INDEXES", ReturnItemCollectionMetrics="SIZE")
    check("old item", old["Attributes"], item)
    check("metrics", old["ItemCollectionMetrics"], {"ItemCollectionKey": {"customer": "ann"}, "SizeEstimateRangeGB": [0.0, 1.0]})
    capacity = old["ConsumedCapacity"]
    check("capacity", (capacity["TableName"], capacity["Table"]["CapacityUnits"]), ("Orders", 1.0))
    check("capacity of indexes", sorted(capacity["GlobalSecondaryIndexes"]), ["by-code"])


def numbers_come_back_in_one_spelling():
    # boto3's own numbers take 38 digits with their zeros, so these go as texts.
    for sent, expected in [
        ("0042.1200", "42.12"),
        ("+5.", "5"),
        ("-0", "0"),
        ("1e3", "1000"),
        ("9.9999999999999999999999999999999999999E+125", "9" * 38 + "0" * 88),
        ("1E-130", "0." + "0" * 129 + "1"),
    ]:
        key = {"customer": {"S": "numbers"}, "number": {"N": sent}}
        client.put_item(TableName="Orders", Item=key)
        got = client.get_item(TableName="Orders", Key=key)["Item"]["number"]["N"]
        check(f"number {sent}", got, expected)
        client.delete_item(TableName="Orders", Key=key)


def numbers_of(response):
    return [int(item["number"]) for item in response["Items"]]


def every_key_operator():
    table = resource.Table("Orders")
    for number in range(1, 21):
        table.put_item(Item=order(number))
    table.put_item(Item=order(3, customer="bob"))
    ann = Key("customer").eq("ann")
    number = Key("number")
    for name, condition, expected in [
        ("all", ann, list(range(1, 21))),
        ("eq", ann & number.eq(7), [7]),
        ("lt", ann & number.lt(3), [1, 2]),
        ("lte", ann & number.lte(3), [1, 2, 3]),
        ("gt", ann & number.gt(18), [19, 20]),
        ("gte", ann & number.gte(18), [18, 19, 20]),
        ("between", ann & number.between(5, 7), [5, 6, 7]),
        ("nobody", Key("customer").eq("zoe"), []),
    ]:
        check(f"query {name}", numbers_of(table.query(KeyConditionExpression=condition)), expected)
    down = table.query(KeyConditionExpression=ann & number.lt(4), ScanIndexForward=False)
    check("descending", numbers_of(down), [3, 2, 1])
    by_day = table.query(IndexName="by-day", KeyConditionExpression=ann & Key("day").begins_with("2026-01-1"))
    check("local begins_with", numbers_of(by_day), list(range(10, 20)))
    check("local keys only", sorted(by_day["Items"][0]), ["customer", "day", "number"])
    fetched = table.query(IndexName="by-day", KeyConditionExpression=ann & Key("day").eq("2026-01-05"), Select="ALL_ATTRIBUTES", ConsistentRead=True)
    check("local fetches", fetched["Items"], [order(5)])
    by_status = table.query(IndexName="by-status", KeyConditionExpression=Key("status").eq("paid") & Key("day").lte("2026-01-06"))
    check("global", numbers_of(by_status), [2, 4, 6])
    check("global projection", sorted(by_status["Items"][0]), ["customer", "day", "number", "status", "total"])
    count = table.query(KeyConditionExpression=ann, Select="COUNT")
    check("count", (count["Count"], count["ScannedCount"], "Items" in count), (20, 20, False))


def pages_and_segments():
    pages = list(
        client.get_paginator("query").paginate(
            TableName="Orders",
            IndexName="by-status",
            KeyConditionExpression="#s = :s",
            ExpressionAttributeNames={"#s": "status"},
            ExpressionAttributeValues={":s": {"S": "open"}},
            PaginationConfig={"PageSize": 3},
        )
    )
    found = [(item["day"]["S"], item["customer"]["S"]) for page in pages for item in page["Items"]]
    check("pages of an index", (len(found), found), (11, sorted(found)))
    check("page sizes", [page["Count"] for page in pages][:3], [3, 3, 3])
    one = client.scan(TableName="Orders", Limit=7)
    two = client.scan(TableName="Orders", ExclusiveStartKey=one["LastEvaluatedKey"])
    check("scan goes on", one["Count"] + two["Count"], 21)
    found = [[] for _ in range(4)]

    def segment(index):
        pages = client.get_paginator("scan").paginate(
            TableName="Orders", Segment=index, TotalSegments=4, PaginationConfig={"PageSize": 5}
        )
        found[index] = [(i["customer"]["S"], int(i["number"]["N"])) for page in pages for i in page["Items"]]

    threads = [threading.Thread(target=segment, args=[index]) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = sorted(sum(found, []))
    check("parallel scan", together, sorted([("ann", n) for n in range(1, 21)] + [("bob", 3)]))
    check("scan of an index", client.scan(TableName="Orders", IndexName="by-code")["Count"], 0)


def large_pages_end_at_a_megabyte():
    for number in range(1, 5):
        client.put_item(TableName="Orders", Item={"customer": {"S": "big"}, "number": {"N": str(number)}, "text": {"S": "x" * 390_000}})
    query = {"KeyConditionExpression": "customer = :c", "ExpressionAttributeValues": {":c": {"S": "big"}}, "TableName": "Orders"}
    first = client.query(**query)
    check("a page has at most a megabyte", (0 < first["Count"] < 4, "LastEvaluatedKey" in first), (True, True))
    pages = client.get_paginator("query").paginate(**query)
    check("all pages", sum(page["Count"] for page in pages), 4)
    for number in range(1, 5):
        client.delete_item(TableName="Orders", Key={"customer": {"S": "big"}, "number": {"N": str(number)}})


def conditions_and_filters():
    table = resource.Table("Orders")
    free = Attr("customer").not_exists()
    table.put_item(Item=order(1, customer="cid"), ConditionExpression=free)
    failed = "ConditionalCheckFailedException"
    refused("taken", lambda: table.put_item(Item=order(1, customer="cid"), ConditionExpression=free), failed, "The conditional request failed")
    try:
        client.put_item(
            TableName="Orders",
            Item={"customer": {"S": "cid"}, "number": {"N": "1"}},
            ConditionExpression="#t > :t AND contains(#s, :s)",
            ExpressionAttributeNames={"#s": "status", "#t": "total"},
            ExpressionAttributeValues={":t": {"N": "100"}, ":s": {"S": "pe"}},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        check("condition fails", False, True)
    except client.exceptions.ConditionalCheckFailedException as error:
        check("item of a failed condition", error.response["Item"]["total"], {"N": "1.5"})
    key = {"customer": "cid", "number": 1}
    refused("delete if", lambda: table.delete_item(Key=key, ConditionExpression=Attr("total").between(2, 3)), failed, "The conditional request failed")
    old = table.delete_item(Key=key, ConditionExpression=Attr("day").begins_with("2026") & ~Attr("total").is_in([2, 3]), ReturnValues="ALL_OLD")
    check("deleted by condition", old["Attributes"]["total"], Decimal("1.5"))

    ann = Key("customer").eq("ann")
    page = table.query(KeyConditionExpression=ann, FilterExpression=Attr("total").gt(27) | Attr("status").ne("open"), Limit=10, ReturnConsumedCapacity="TOTAL")
    check("filter of a query", (numbers_of(page), page["Count"], page["ScannedCount"]), ([2, 4, 6, 8, 10], 5, 10))
    check("goes on after a filter", page["LastEvaluatedKey"], {"customer": "ann", "number": 10})
    check("capacity ignores a filter", page["ConsumedCapacity"]["CapacityUnits"], 0.5)
    page = table.scan(FilterExpression=Attr("number").lt(3) & Attr("day").size().eq(10), ProjectionExpression="customer, #n", ExpressionAttributeNames={"#n": "number"})
    check("filter of a scan", (sorted(numbers_of(page)), page["ScannedCount"]), ([1, 2], 21))


def updates():
    table = resource.Table("Orders")
    key = {"customer": "upd", "number": 1}
    update = lambda text, **more: table.update_item(Key=key, UpdateExpression=text, **more)  # noqa: E731
    made = table.update_item(Key=key, ReturnValues="ALL_NEW")
    check("update makes an item", made["Attributes"], key)
    new = update(
        "SET #l = list_append(if_not_exists(#l, :e), :l), m = :m ADD #t :one, words :w",
        ExpressionAttributeNames={"#l": "list", "#t": "total"},
        ExpressionAttributeValues={":e": [], ":l": ["a", 1], ":m": {"x": 1, "y": {"z": 2}}, ":one": 1, ":w": {"a", "b"}},
        ReturnValues="UPDATED_NEW",
    )
    check("updated", new["Attributes"], {"list": ["a", 1], "m": {"x": 1, "y": {"z": 2}}, "total": 1, "words": {"a", "b"}})
    new = update(
        "SET m.y.z = m.y.z + :one, #s = :open REMOVE #l[0], m.x DELETE words :w",
        ExpressionAttributeNames={"#l": "list", "#s": "status"},
        ExpressionAttributeValues={":one": 1, ":w": {"a"}, ":open": "open"},
        ConditionExpression=Attr("total").gte(1),
        ReturnValues="ALL_NEW",
        ReturnConsumedCapacity="INDEXES",
        ReturnItemCollectionMetrics="SIZE",
    )
    check("all new", new["Attributes"], {**key, "list": [1], "m": {"y": {"z": 3}}, "total": 1, "words": {"b"}, "status": "open"})
    check("update capacity", new["ConsumedCapacity"]["CapacityUnits"], 1.0)
    check("update metrics", new["ItemCollectionMetrics"]["ItemCollectionKey"], {"customer": "upd"})
    old = update("SET m.y.z = :v", ExpressionAttributeValues={":v": 9}, ReturnValues="UPDATED_OLD")
    check("updated old", old["Attributes"], {"m": {"y": {"z": 3}}})
    day = update("SET #d = :d", ExpressionAttributeNames={"#d": "day"}, ExpressionAttributeValues={":d": "2027-01-01"}, ReturnConsumedCapacity="INDEXES")
    check("update puts into indexes", sorted(day["ConsumedCapacity"]["GlobalSecondaryIndexes"]), ["by-status"])
    found = table.query(IndexName="by-status", KeyConditionExpression=Key("status").eq("open") & Key("day").gt("2027"))
    check("index of an update", numbers_of(found), [1])
    failed = lambda: update("REMOVE m", ConditionExpression=Attr("m").not_exists())  # noqa: E731
    refused("update condition", failed, "ConditionalCheckFailedException", "The conditional request failed")
    table.delete_item(Key=key)


def legacy_parameters():
    customer, one = {"S": "leg"}, {"N": "1"}
    key = {"customer": customer, "number": one}
    name = {"TableName": "Orders"}
    client.put_item(**name, Item={**key, "total": {"N": "5"}, "words": {"SS": ["a"]}}, Expected={"customer": {"Exists": False}})
    again = lambda: client.put_item(**name, Item=key, Expected={"total": {"Value": {"N": "6"}}})  # noqa: E731
    refused("expected", again, "ConditionalCheckFailedException", "The conditional request failed")
    updated = client.update_item(
        **name,
        Key=key,
        AttributeUpdates={"total": {"Action": "ADD", "Value": one}, "words": {"Action": "DELETE"}, "list": {"Action": "ADD", "Value": {"L": [one]}}},
        Expected={"total": {"ComparisonOperator": "LT", "AttributeValueList": [{"N": "6"}]}, "day": {"ComparisonOperator": "NOT_NULL"}},
        ConditionalOperator="OR",
        ReturnValues="ALL_NEW",
    )
    check("attribute updates", updated["Attributes"], {**key, "total": {"N": "6"}, "list": {"L": [one]}})
    conditions = {"customer": {"ComparisonOperator": "EQ", "AttributeValueList": [customer]}, "number": {"ComparisonOperator": "LE", "AttributeValueList": [one]}}
    found = client.query(**name, KeyConditions=conditions, QueryFilter={"total": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [one, {"N": "9"}]}}, AttributesToGet=["total"])
    check("key conditions", found["Items"], [{"total": {"N": "6"}}])
    found = client.query(**name, KeyConditions=conditions, FilterExpression="attribute_exists(words)")
    check("key conditions with a filter expression", (found["Count"], found["ScannedCount"]), (0, 1))
    found = client.scan(**name, ScanFilter={"customer": {"ComparisonOperator": "BEGINS_WITH", "AttributeValueList": [{"S": "le"}]}}, AttributesToGet=["number"])
    check("scan filter", found["Items"], [{"number": one}])
    check("attributes to get", client.get_item(**name, Key=key, AttributesToGet=["total", "gone"])["Item"], {"total": {"N": "6"}})
    mixed = lambda: client.get_item(**name, Key=key, AttributesToGet=["a"], ProjectionExpression="a")  # noqa: E731
    text = "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
    refused("mixed", mixed, "ValidationException", text)
    client.delete_item(**name, Key=key, Expected={"total": {"Value": {"N": "6"}, "Exists": True}})
    check("deleted as expected", "Item" in client.get_item(**name, Key=key), False)


def errors():
    invalid = "ValidationException"
    item = {"customer": {"S": "ann"}, "number": {"N": "1"}}
    put = lambda **more: lambda: client.put_item(TableName="Orders", Item={**item, **more})  # noqa: E731
    prefix = "One or more parameter values were invalid: "
    refused("key missing", lambda: client.put_item(TableName="Orders", Item={"customer": {"S": "ann"}}), invalid, prefix + "Missing the key number in the item")
    refused("key type", put(number={"S": "1"}), invalid, prefix + "Type mismatch for key number expected: N actual: S")
    refused("index key type", put(status={"N": "1"}), invalid, prefix + "Type mismatch for Index Key status Expected: S Actual: N IndexName: by-status")
    refused("set", put(words={"SS": ["a", "a"]}), invalid, "1 validation error detected: " + prefix + "Input collection [\"a\", \"a\"] contains duplicates.")
    refused("number", put(n={"N": "1e126"}), invalid, "1 validation error detected: Number overflow. Attempting to store a number with magnitude larger than supported range")
    refused("size", put(text={"S": "x" * 410_000}), invalid, "Item size has exceeded the maximum allowed size")
    refused("key element", lambda: client.get_item(TableName="Orders", Key={"customer": {"S": "ann"}}), invalid, "The provided key element does not match the schema")
    refused("no table", lambda: client.get_item(TableName="Nothing", Key=item), "ResourceNotFoundException", "Requested resource not found")
    refused("no table to describe", lambda: client.describe_table(TableName="Nothing"), "ResourceNotFoundException", "Requested resource not found: Table: Nothing not found")
    put_if = lambda condition: lambda: client.put_item(TableName="Orders", Item=item, ConditionExpression=condition)  # noqa: E731
    query = lambda **more: lambda: client.query(TableName="Orders", **more)  # noqa: E731
    customer = {"KeyConditionExpression": "customer = :c", "ExpressionAttributeValues": {":c": {"S": "ann"}}}
    refused("no condition", query(), invalid, "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
    refused("no index", query(IndexName="nothing", **customer), invalid, "The table does not have the specified index: nothing")
    status = {"KeyConditionExpression": "#s = :s", "ExpressionAttributeNames": {"#s": "status"}, "ExpressionAttributeValues": {":s": {"S": "a"}}}
    refused("consistent", query(IndexName="by-status", ConsistentRead=True, **status), invalid, "Consistent reads are not supported on global secondary indexes")
    refused("condition", put_if("((attribute_not_exists(a)))"), invalid, "1 validation error detected: Invalid ConditionExpression: The expression has redundant parentheses;")
    refused("condition on a key", put_if("attribute_exists(customer.a)"), invalid, "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: customer")
    refused("filter", query(FilterExpression="a = :d", **customer), invalid, "Invalid FilterExpression: An expression attribute value used in expression is not defined; attribute value: :d")
    refused("filter on a key", query(FilterExpression="attribute_exists(customer)", **customer), invalid, "Filter Expression can only contain non-primary key attributes: Primary key attribute: customer")
    refused("enum", lambda: client.scan(TableName="Orders", Select="SOME"), invalid, "1 validation error detected: Value 'SOME' at 'select' failed to satisfy constraint: Member must satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]")
    update = lambda text, **more: lambda: client.update_item(TableName="Orders", Key=item, UpdateExpression=text, **more)  # noqa: E731
    refused("update of a key", update("SET customer = code"), invalid, prefix + "Cannot update attribute customer. This attribute is part of the key")
    refused("update of nothing", update("SET a = gone"), invalid, "The provided expression refers to an attribute that does not exist in the item")
    refused("update syntax", update("SET a"), invalid, '1 validation error detected: Invalid UpdateExpression: Syntax error; token: "<EOF>", near: "a"')
    refused("update return values", update("REMOVE a", ReturnValues="SOME"), invalid, "1 validation error detected: Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]")
    refused("table exists", lambda: client.create_table(TableName="Orders", AttributeDefinitions=definitions(pk="S"), KeySchema=key("pk"), BillingMode="PAY_PER_REQUEST"), "ResourceInUseException", "Table already exists: Orders")
    refused("unused definition", lambda: client.create_table(TableName="Other", AttributeDefinitions=definitions(pk="S", x="S"), KeySchema=key("pk"), BillingMode="PAY_PER_REQUEST"), invalid, prefix + "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")


def vectors():
    schema = [{"AttributeName": "tenant", "SearchSchemaElementType": "HASH"}, {"AttributeName": "kind", "SearchSchemaElementType": "INLINE_FILTER"}]
    index = {
        "IndexName": "near",
        "VectorAttribute": {"AttributeName": "embedding"},
        "Dimensions": 3,
        "DistanceFunction": "EUCLIDEAN",
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]},
    }
    client.create_table(
        TableName="Texts",
        AttributeDefinitions=definitions(pk="S", tenant="S", kind="S"),
        KeySchema=key("pk"),
        BillingMode="PAY_PER_REQUEST",
        VectorIndexes=[{**index, "SearchSchema": schema}],
    )
    described = client.describe_table(TableName="Texts")["Table"]["VectorIndexes"][0]
    check("vector index", (described["IndexStatus"], described["Dimensions"], described["SearchSchema"]), ("ACTIVE", 3, schema))
    table = resource.Table("Texts")
    for pk, kind, vector in [("a", "x", [3, 4, 0]), ("b", "y", [0, 0, 1]), ("c", "x", [0, 0, 0])]:
        written = table.put_item(
            Item={"pk": pk, "tenant": "t", "kind": kind, "title": pk * 2, "body": "long", "embedding": [Decimal(n) for n in vector]},
            ReturnConsumedCapacity="INDEXES",
        )
        check("written bytes", written["ConsumedCapacity"]["VectorIndexes"], {"near": {"VectorWriteRequestBytes": 1024.0}})
    zero = [{"N": "0"}] * 3
    search = lambda condition, **values: client.search_vectors(  # noqa: E731
        TableName="Texts",
        IndexName="near",
        SearchVector=zero,
        TopK=2,
        SearchConditionExpression=condition,
        ExpressionAttributeValues={f":{name}": {"S": value} for name, value in values.items()},
        ReturnConsumedCapacity="TOTAL",
    )
    found = search("tenant = :t", t="t")
    check("nearest", [(result["Item"]["pk"]["S"], result["Score"]) for result in found["SearchResults"]], [("c", 0.0), ("b", 1.0)])
    check("projected", sorted(found["SearchResults"][0]["Item"]), ["kind", "pk", "tenant", "title"])
    check("bytes of a search", found["ConsumedCapacity"], {"VectorSearchRequestBytes": 1024.0})
    found = search("tenant = :t AND kind = :k", t="t", k="x")["SearchResults"]
    check("filtered", [(result["Item"]["pk"]["S"], result["Score"]) for result in found], [("c", 0.0), ("a", 5.0)])
    refused("vector", lambda: table.put_item(Item={"pk": "d", "embedding": [1, 2]}), "ValidationException", "One or more parameter values were invalid. Invalid size for parameter embedding, Expected: 3, Actual: 2 IndexName: near")
    client.update_table(TableName="Texts", VectorIndexUpdates=[{"Delete": {"IndexName": "near"}}])
    client.get_waiter("table_exists").wait(TableName="Texts", WaiterConfig={"Delay": 1, "MaxAttempts": 20})
    client.update_table(TableName="Texts", VectorIndexUpdates=[{"Create": index}])


def delete():
    table = resource.Table("Orders")
    old = table.delete_item(Key={"customer": "bob", "number": 3}, ReturnValues="ALL_OLD")
    check("deleted", old["Attributes"], order(3, customer="bob"))
    again = table.delete_item(Key={"customer": "bob", "number": 3}, ReturnValues="ALL_OLD", ReturnConsumedCapacity="TOTAL")
    check("nothing to delete", ("Attributes" in again, again["ConsumedCapacity"]["CapacityUnits"]), (False, 1.0))
    check("index follows", table.query(IndexName="by-status", KeyConditionExpression=Key("status").eq("open"))["Count"], 10)
    check("description of a deleted table", "KeySchema" in client.delete_table(TableName="Orders")["TableDescription"], False)
    client.get_waiter("table_not_exists").wait(TableName="Orders", WaiterConfig={"Delay": 1, "MaxAttempts": 20})
    check("no tables", client.list_tables()["TableNames"], ["Texts"])


create_and_describe()
tables_are_listed_in_pages()
every_type_comes_back()
numbers_come_back_in_one_spelling()
every_key_operator()
pages_and_segments()
large_pages_end_at_a_megabyte()
conditions_and_filters()
updates()
legacy_parameters()
errors()
vectors()
delete()
end()
