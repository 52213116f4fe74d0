"""Drives PartiQL through boto3: every kind of statement, batches, transactions, pages, and what is refused."""

from decimal import Decimal

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from client import check, end, endpoint, watch_client

# The refusals wanted are the server's, not those of boto3 itself.
CONFIG = Config(retries={"max_attempts": 0}, connect_timeout=10, read_timeout=60, parameter_validation=False)
client = boto3.client("dynamodb", endpoint_url=endpoint(), config=CONFIG)
watch_client(client)
resource = boto3.resource("dynamodb", endpoint_url=endpoint(), config=CONFIG)


def run(statement, **more):
    return client.execute_statement(Statement=statement, **more)


def items(statement, **more):
    return run(statement, **more)["Items"]


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


def create_tables():
    for name, more in {
        "Music": {
            "AttributeDefinitions": definitions(artist="S", song="S", genre="S"),
            "GlobalSecondaryIndexes": [
                {"IndexName": "by-genre", "KeySchema": keys("genre", "artist"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
            ],
        },
        "Other": {"AttributeDefinitions": definitions(artist="S", song="S")},
    }.items():
        client.create_table(TableName=name, KeySchema=keys("artist", "song"), BillingMode="PAY_PER_REQUEST", **more)


def keys(*names):
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ["HASH", "RANGE"])]


def definitions(**types):
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def get(artist, song):
    return client.get_item(TableName="Music", Key={"artist": {"S": artist}, "song": {"S": song}}).get("Item")


def inserts():
    text = """INSERT INTO "Music" VALUE {'artist': 'Acme', 'song': 'One', 'genre': 'rock', 'year': 1999, 'tags': <<'a', 'b'>>,
              'prizes': {'Grammys': [2020, 2018]}, 'live': FALSE, 'label': NULL}"""
    check("insert", run(text)["Items"], [])
    stored = {
        "artist": {"S": "Acme"},
        "song": {"S": "One"},
        "genre": {"S": "rock"},
        "year": {"N": "1999"},
        "tags": {"SS": ["a", "b"]},
        "prizes": {"M": {"Grammys": {"L": [{"N": "2020"}, {"N": "2018"}]}}},
        "live": {"BOOL": False},
        "label": {"NULL": True},
    }
    check("inserted", get("Acme", "One"), stored)
    refused("duplicate", lambda: run(text), "DuplicateItemException", "Duplicate primary key exists in table")
    types = [{"S": "Acme"}, {"S": "Two"}, {"B": b"\x01"}, {"NS": ["1", "2"]}, {"BS": [b"a"]}, {"L": [{"S": "x"}]}, {"M": {"k": {"N": "1"}}}]
    names = ["artist", "song", "b", "ns", "bs", "l", "m"]
    members = ", ".join(f"'{name}': ?" for name in names)
    run(f'INSERT INTO "Music" VALUE {{{members}}}', Parameters=types)
    check("parameters", items("SELECT * FROM Music WHERE artist = ? AND song = ?", Parameters=types[:2]), [dict(zip(names, types))])


def updates():
    where = "WHERE artist = 'Acme' AND song = 'One'"
    changed = items(
        f"UPDATE Music SET year = year + 1 SET tags = set_add(tags, <<'c'>>) SET prizes.Grammys = list_append(prizes.Grammys, [2016]) "
        f"REMOVE label {where} RETURNING MODIFIED NEW *"
    )
    grammys = {"M": {"Grammys": {"L": [{"N": "2020"}, {"N": "2018"}, {"N": "2016"}]}}}
    check("modified", changed, [{"year": {"N": "2000"}, "tags": {"SS": ["a", "b", "c"]}, "prizes": grammys}])
    old = items(f"UPDATE Music SET live = TRUE {where} AND year > 1999 RETURNING ALL OLD *")
    check("old", (old[0]["live"], old[0]["song"]), ({"BOOL": False}, {"S": "One"}))
    failed = "ConditionalCheckFailedException", "The conditional request failed"
    refused("missing", lambda: run("UPDATE Music SET a = 1 WHERE artist = 'x' AND song = 'y'"), *failed)
    asked = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    response = refused("condition", lambda: run(f"UPDATE Music SET a = 1 {where} AND live = FALSE", **asked), *failed)
    check("item of the failure", response.get("Item", {}).get("live"), {"BOOL": True})
    invalid = "ValidationException"
    no_key = "Where clause does not contain a mandatory equality on all key attributes"
    refused("no key", lambda: run("UPDATE Music SET a = 1 WHERE artist = 'Acme'"), invalid, no_key)


def selects():
    for number in range(1, 6):
        run("INSERT INTO Music VALUE {'artist': 'Pages', 'song': ?, 'genre': 'jazz', 'n': ?}", Parameters=[{"S": f"s{number}"}, {"N": str(number)}])
    songs = lambda answer: [item["song"]["S"] for item in answer["Items"]]  # noqa: E731
    check("sorted", songs(run("SELECT song FROM Music WHERE artist = 'Pages' AND n <> 3")), ["s1", "s2", "s4", "s5"])
    check("backward", songs(run("SELECT song FROM Music WHERE artist = 'Pages' AND song > 's2' ORDER BY song DESC")), ["s5", "s4", "s3"])
    check("several", songs(run("SELECT song FROM Music WHERE artist IN ['Pages', 'Acme'] AND song IN ('s1', 'One') ORDER BY artist, song")), ["One", "s1"])
    check("functions", songs(run("SELECT song FROM Music WHERE artist = 'Pages' AND (contains(song, '5') OR size(song) = 9 OR n BETWEEN 1 AND 2)")), ["s1", "s2", "s5"])
    check("paths", items("SELECT prizes.Grammys[0], tags FROM Music WHERE artist = 'Acme' AND song = 'One'"), [{"Grammys[0]": {"N": "2020"}, "tags": {"SS": ["a", "b", "c"]}}])
    check("index", songs(run("SELECT song FROM \"Music\".\"by-genre\" WHERE genre = 'jazz' AND begins_with(artist, 'Pa')")), ["s1", "s2", "s3", "s4", "s5"])
    check("scan", len(items("SELECT * FROM Music WHERE n IS MISSING")), 2)
    found, token, rounds = [], {}, 0
    while rounds < 9:
        answer = run("SELECT song FROM Music WHERE artist = 'Pages'", Limit=2, **token)
        found, rounds = found + songs(answer), rounds + 1
        if "NextToken" not in answer:
            break
        token = {"NextToken": answer["NextToken"]}
    check("pages", (found, rounds), (["s1", "s2", "s3", "s4", "s5"], 3))
    other = "NextToken does not match request"
    refused("token", lambda: run("SELECT song FROM Music WHERE artist = 'Acme'", **token), "ValidationException", other)
    capacity = run("SELECT * FROM Music WHERE artist = 'Pages'", ConsistentRead=True, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    check("capacity", capacity, {"TableName": "Music", "CapacityUnits": 1.0})
    bad = "Statement wasn't well formed, can't be processed: "
    for text, message in {
        "SLECT * FROM Music": bad + "Expected data manipulation",
        "SELECT * FROM Music WHERE": bad + "Unexpected term",
        "SELECT COUNT(song) FROM Music": "Unexpected path component at 1:8:5",
        "SELECT * FROM Music.\"nope\"": "The table does not have the specified index",
    }.items():
        refused(text, lambda: run(text), "ValidationException", message)
    refused("no table", lambda: run("SELECT * FROM Nope"), "ResourceNotFoundException", "Requested resource not found")


def the_resource_speaks_python():
    table = resource.meta.client
    answer = table.execute_statement(Statement="SELECT n FROM Music WHERE artist = ? AND n > ?", Parameters=["Pages", Decimal(4)])
    check("python", answer["Items"], [{"n": Decimal(5)}])


def batches():
    answer = client.batch_execute_statement(
        Statements=[
            {"Statement": "UPDATE Music SET n = n + ? WHERE artist = 'Pages' AND song = 's1' RETURNING ALL NEW *", "Parameters": [{"N": "10"}]},
            {"Statement": "INSERT INTO Music VALUE {'artist': 'Pages', 'song': 's2'}"},
            {"Statement": "DELETE FROM Other WHERE artist = 'a' AND song = 'b'"},
            {"Statement": "DELETE FROM Nope WHERE artist = 'a'"},
        ],
        ReturnConsumedCapacity="TOTAL",
    )
    responses = answer["Responses"]
    check("batch item", (responses[0]["TableName"], responses[0]["Item"]["n"]), ("Music", {"N": "11"}))
    check("batch codes", [response.get("Error", {}).get("Code") for response in responses], [None, "DuplicateItem", None, "ResourceNotFound"])
    check("batch capacity", [entry["TableName"] for entry in answer["ConsumedCapacity"]], ["Music", "Other"])
    read = {"Statement": "SELECT n FROM Music WHERE artist = 'Pages' AND song = 's1'"}
    none = {"Statement": "SELECT n FROM Music WHERE artist = 'Pages' AND song = 'none'"}
    answer = client.batch_execute_statement(Statements=[read, none])
    check("batch reads", answer["Responses"], [{"TableName": "Music", "Item": {"n": {"N": "11"}}}, {"TableName": "Music"}])
    duplicates = "Provided list of item keys contains duplicates"
    refused("duplicates", lambda: client.batch_execute_statement(Statements=[read, read]), "ValidationException", duplicates)


def transactions():
    transact = lambda *statements, **more: client.execute_transaction(TransactStatements=[{"Statement": text} for text in statements], **more)  # noqa: E731
    read = "SELECT n FROM Music WHERE artist = 'Pages' AND song = 's{}'"
    check("read", transact(read.format(4), read.format(9))["Responses"], [{"Item": {"n": {"N": "4"}}}, {}])
    exists = "EXISTS(SELECT * FROM Music WHERE artist = 'Pages' AND song = 's5' AND n = {})"
    update = "UPDATE Music SET n = 40 WHERE artist = 'Pages' AND song = 's4'"
    insert = "INSERT INTO Other VALUE {'artist': 'a', 'song': 'b'}"
    answer = transact(exists.format(5), update, insert, ClientRequestToken="t", ReturnConsumedCapacity="TOTAL")
    check("capacity", [(entry["TableName"], entry["WriteCapacityUnits"]) for entry in answer["ConsumedCapacity"]], [("Music", 4.0), ("Other", 2.0)])
    again = transact(exists.format(5), update, insert, ClientRequestToken="t")
    check("again", again["ResponseMetadata"]["HTTPStatusCode"], 200)
    check("written", transact(read.format(4))["Responses"], [{"Item": {"n": {"N": "40"}}}])
    reasons = "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]"
    cancelled = "TransactionCanceledException"
    response = refused("cancelled", lambda: transact(exists.format(6), insert), cancelled, reasons.format("ConditionalCheckFailed, DuplicateItem"))
    check("reason", response["CancellationReasons"][1], {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"})
    mixed = "ExecuteTransaction API does not support both read and write operations in the same request."
    refused("mixed", lambda: transact(read.format(1), insert), "ValidationException", mixed)


def deletes():
    gone = items("DELETE FROM Music WHERE artist = 'Acme' AND song = 'Two' RETURNING ALL OLD *")
    check("deleted", gone[0]["b"], {"B": b"\x01"})
    check("deleted again", items("DELETE FROM Music WHERE artist = 'Acme' AND song = 'Two' RETURNING ALL OLD *"), [])
    check("gone", get("Acme", "Two"), None)


create_tables()
inserts()
updates()
selects()
the_resource_speaks_python()
batches()
transactions()
deletes()
end()
