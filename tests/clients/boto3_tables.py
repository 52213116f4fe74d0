"""Drives the control plane through boto3: UpdateTable, tags, policies, limits, backups, recovery, export, import, and the
operations of features that are not there."""

import gzip
import json
import os
import sys
import time

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

import client as common
from client import buckets, check, end

CONFIG = Config(retries={"max_attempts": 0}, connect_timeout=10, read_timeout=60)
client = boto3.client("dynamodb", endpoint_url=common.endpoint(), config=CONFIG)
common.watch_client(client)


def refused(name, call, code):
    """The call must fail with that code."""
    try:
        call()
        check(name, "accepted", code)
    except ClientError as error:
        check(name, error.response["Error"]["Code"], code)


def until(call, done):
    """The first answer that is done."""
    deadline = time.monotonic() + 30
    while True:
        answer = call()
        if done(answer):
            return answer
        if time.monotonic() > deadline:
            sys.exit(f"never done: {answer}")
        time.sleep(0.01)


def create(name, **members):
    request = {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    return client.create_table(**{**request, **members})["TableDescription"]


def active(name):
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 30})
    return client.describe_table(TableName=name)["Table"]


def values(name):
    return sorted(item["v"]["S"] for item in client.scan(TableName=name)["Items"])


def put(name, **members):
    client.put_item(TableName=name, Item={key: {"S": value} for key, value in members.items()})


def update_table():
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    answer = client.update_table(TableName="Tab", BillingMode="PROVISIONED", ProvisionedThroughput=units)["TableDescription"]
    check("updating", (answer["TableStatus"], answer["ProvisionedThroughput"]["ReadCapacityUnits"]), ("UPDATING", 0))
    table = active("Tab")
    check("provisioned", table["ProvisionedThroughput"]["ReadCapacityUnits"], 5)
    check("billing", table["BillingModeSummary"]["BillingMode"], "PROVISIONED")
    same = lambda: client.update_table(TableName="Tab", ProvisionedThroughput=units)
    refused("same throughput", same, "ValidationException")
    over = {"ReadCapacityUnits": 40001, "WriteCapacityUnits": 5}
    refused("table maximum", lambda: client.update_table(TableName="Tab", ProvisionedThroughput=over), "LimitExceededException")
    refused("no table", lambda: client.update_table(TableName="None", TableClass="STANDARD"), "ResourceNotFoundException")
    client.update_table(TableName="Tab", DeletionProtectionEnabled=True)
    refused("protected", lambda: client.delete_table(TableName="Tab"), "ValidationException")
    client.update_table(TableName="Tab", DeletionProtectionEnabled=False)
    client.update_table(TableName="Tab", TableClass="STANDARD_INFREQUENT_ACCESS")
    check("class", active("Tab")["TableClassSummary"]["TableClass"], "STANDARD_INFREQUENT_ACCESS")
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    answer = client.update_table(TableName="Tab", StreamSpecification=stream)["TableDescription"]
    streams = boto3.client("dynamodbstreams", endpoint_url=common.endpoint(), config=CONFIG)
    found = streams.describe_stream(StreamArn=answer["LatestStreamArn"])["StreamDescription"]
    check("stream", (found["StreamStatus"], found["StreamViewType"]), ("ENABLED", "KEYS_ONLY"))
    client.update_table(TableName="Tab", StreamSpecification={"StreamEnabled": False})
    check("no stream", "StreamSpecification" in active("Tab"), False)
    client.update_table(TableName=ARN, BillingMode="PAY_PER_REQUEST")
    client.update_table(TableName="Tab", OnDemandThroughput={"MaxReadRequestUnits": 7})
    check("maximum", active("Tab")["OnDemandThroughput"], {"MaxReadRequestUnits": 7})


def resources():
    check("tags", client.list_tags_of_resource(ResourceArn=ARN)["Tags"], [{"Key": "team", "Value": "sales"}])
    client.tag_resource(ResourceArn=ARN, Tags=[{"Key": "stage", "Value": "dev"}])
    client.untag_resource(ResourceArn=ARN, TagKeys=["team"])
    check("tags", client.list_tags_of_resource(ResourceArn=ARN)["Tags"], [{"Key": "stage", "Value": "dev"}])
    policy = json.dumps({"Version": "2012-10-17", "Statement": []})
    refused("no policy", lambda: client.get_resource_policy(ResourceArn=ARN), "PolicyNotFoundException")
    revision = client.put_resource_policy(ResourceArn=ARN, Policy=policy)["RevisionId"]
    found = client.get_resource_policy(ResourceArn=ARN)
    check("policy", (found["Policy"], found["RevisionId"]), (policy, revision))
    check("policy gone", client.delete_resource_policy(ResourceArn=ARN)["RevisionId"], revision)
    check("limits", client.describe_limits()["AccountMaxReadCapacityUnits"], 80000)
    check("endpoints", client.describe_endpoints()["Endpoints"][0]["CachePeriodInMinutes"], 1440)


def backups():
    for key in ["a", "b"]:
        put("Tab", pk=key, v=key)
    details = client.create_backup(TableName="Tab", BackupName="first")["BackupDetails"]
    arn = details["BackupArn"]
    describe = lambda: client.describe_backup(BackupArn=arn)["BackupDescription"]
    until(describe, lambda found: found["BackupDetails"]["BackupStatus"] == "AVAILABLE")
    put("Tab", pk="c", v="c")
    check("list", [found["BackupArn"] for found in client.list_backups(TableName="Tab")["BackupSummaries"]], [arn])
    client.restore_table_from_backup(TargetTableName="Old", BackupArn=arn)
    check("restored", (active("Old")["RestoreSummary"]["RestoreInProgress"], values("Old")), (False, ["a", "b"]))
    client.delete_backup(BackupArn=arn)
    refused("deleted", describe, "BackupNotFoundException")
    refused("no table", lambda: client.create_backup(TableName="None", BackupName="abc"), "TableNotFoundException")


def recovery():
    now = {"SourceTableName": "Tab", "TargetTableName": "Now", "UseLatestRestorableTime": True}
    refused("off", lambda: client.restore_table_to_point_in_time(**now), "PointInTimeRecoveryUnavailableException")
    specification = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 7}
    client.update_continuous_backups(TableName="Tab", PointInTimeRecoverySpecification=specification)
    found = client.describe_continuous_backups(TableName="Tab")["ContinuousBackupsDescription"]
    description = found["PointInTimeRecoveryDescription"]
    check("recovery", (description["PointInTimeRecoveryStatus"], description["RecoveryPeriodInDays"]), ("ENABLED", 7))
    before = description["EarliestRestorableDateTime"]
    until(time.time, lambda second: second > before.timestamp() + 0.1)
    put("Tab", pk="d", v="d")
    client.restore_table_to_point_in_time(**now)
    active("Now")
    check("latest", values("Now"), ["a", "b", "c", "d"])
    client.restore_table_to_point_in_time(SourceTableArn=ARN, TargetTableName="Then", RestoreDateTime=before)
    active("Then")
    check("earliest", values("Then"), ["a", "b", "c"])
    early = {"SourceTableName": "Tab", "TargetTableName": "Never", "RestoreDateTime": 1000000000}
    refused("early", lambda: client.restore_table_to_point_in_time(**early), "InvalidRestoreTimeException")
    taken = {**now, "TargetTableName": "Old"}
    refused("taken", lambda: client.restore_table_to_point_in_time(**taken), "TableAlreadyExistsException")


def transfers():
    started = client.export_table_to_point_in_time(TableArn=ARN, S3Bucket="bucket", S3Prefix="out")["ExportDescription"]
    describe = lambda: client.describe_export(ExportArn=started["ExportArn"])["ExportDescription"]
    export = until(describe, lambda found: found["ExportStatus"] != "IN_PROGRESS")
    check("export", (export["ExportStatus"], export["ItemCount"]), ("COMPLETED", 4))
    check("exports", [found["ExportArn"] for found in client.list_exports()["ExportSummaries"]], [started["ExportArn"]])
    directory = os.path.join(buckets(), "bucket", os.path.dirname(export["ExportManifest"]))
    with open(os.path.join(directory, "manifest-files.json"), encoding="utf-8") as lines:
        files = [json.loads(line) for line in lines]
    with gzip.open(os.path.join(buckets(), "bucket", files[0]["dataFileS3Key"]), "rt", encoding="utf-8") as lines:
        items = [json.loads(line)["Item"] for line in lines]
    check("exported", sorted(item["v"]["S"] for item in items), ["a", "b", "c", "d"])
    parameters = {
        "TableName": "New",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    source = {"S3Bucket": "bucket", "S3KeyPrefix": os.path.dirname(files[0]["dataFileS3Key"])}
    started = client.import_table(
        S3BucketSource=source, InputFormat="DYNAMODB_JSON", InputCompressionType="GZIP", TableCreationParameters=parameters
    )["ImportTableDescription"]
    describe = lambda: client.describe_import(ImportArn=started["ImportArn"])["ImportTableDescription"]
    found = until(describe, lambda found: found["ImportStatus"] != "IN_PROGRESS")
    check("import", (found["ImportStatus"], found["ImportedItemCount"]), ("COMPLETED", 4))
    check("imports", len(client.list_imports()["ImportSummaryList"]), 1)
    check("imported", values("New"), ["a", "b", "c", "d"])


def never_used():
    check("global tables", client.list_global_tables()["GlobalTables"], [])
    check("insights", client.describe_contributor_insights(TableName="Tab")["ContributorInsightsStatus"], "DISABLED")
    check("insights", client.list_contributor_insights()["ContributorInsightsSummaries"], [])
    enabled = client.update_contributor_insights(TableName="Tab", ContributorInsightsAction="ENABLE")
    check("insights begin", enabled["ContributorInsightsStatus"], "ENABLING")
    rules = client.describe_contributor_insights(TableName="Tab")["ContributorInsightsRuleList"]
    check("insights of keys", [rule.split("-")[1] for rule in rules], ["PKC", "PKT"])
    found = client.describe_kinesis_streaming_destination(TableName="Tab")
    check("kinesis", found["KinesisDataStreamDestinations"], [])
    check("bulk operations", client.list_bulk_operations()["BulkOperationsSummaryList"], [])
    for name, (code, more) in NEVER_USED.items():
        refused(name, lambda: getattr(client, name)(**more), code)


GLOBAL = {"GlobalTableName": "Glo"}
REPLICAS = [{"RegionName": "eu-west-1"}]
TAB = {"TableName": "Tab"}
BULK = {"BulkOperationArn": "arn:aws:dynamodb:us-east-1:000000000000:bulk/1"}
KINESIS = {**TAB, "StreamArn": "arn:aws:kinesis:us-east-1:000000000000:stream/one"}
SOURCE = {"S3Bucket": "bucket", "InputFormat": "DYNAMODB_JSON"}
NEVER_USED = {
    "describe_global_table": ("GlobalTableNotFoundException", GLOBAL),
    "describe_global_table_settings": ("GlobalTableNotFoundException", GLOBAL),
    "update_global_table": ("GlobalTableNotFoundException", {**GLOBAL, "ReplicaUpdates": [{"Create": REPLICAS[0]}]}),
    "update_global_table_settings": ("GlobalTableNotFoundException", GLOBAL),
    "describe_table_replica_auto_scaling": ("ResourceNotFoundException", TAB),
    "describe_bulk_operation": ("ResourceNotFoundException", BULK),
    "cancel_bulk_operation": ("ResourceNotFoundException", BULK),
    "disable_kinesis_streaming_destination": ("ValidationException", KINESIS),
    "update_kinesis_streaming_destination": ("ValidationException", KINESIS),
    "enable_kinesis_streaming_destination": ("ValidationException", KINESIS),
    "create_global_table": ("ValidationException", {**GLOBAL, "ReplicationGroup": REPLICAS}),
    "update_table_replica_auto_scaling": ("ValidationException", TAB),
    "start_bulk_put_items": (
        "ValidationException",
        {**TAB, "InputS3Configuration": SOURCE, "OutputS3Configuration": {"OutputType": ["FAILED_ITEMS"]}},
    ),
}

ARN = create("Tab", Tags=[{"Key": "team", "Value": "sales"}])["TableArn"]
active("Tab")
update_table()
resources()
backups()
recovery()
transfers()
never_used()
end()
