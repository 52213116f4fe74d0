"""Drives the control plane through the AWS command line: UpdateTable, tags, policies, limits, backups, recovery, export, import,
and the operations of features that are not there."""

import json
import os
import time

from cli import aws, document, knows, refused
from client import buckets, check, end

TAB = ("--table-name", "Tab")
KEY_DEFINITION = ("--attribute-definitions", "AttributeName=pk,AttributeType=S", "--key-schema", "AttributeName=pk,KeyType=HASH")


def until(done, *arguments, service="dynamodb"):
    """The first answer to a command that is done."""
    deadline = time.monotonic() + 60
    while True:
        answer = aws(*arguments, service=service)
        if done(answer) or time.monotonic() > deadline:
            check(f"{arguments[0]} in time", done(answer), True)
            return answer
        time.sleep(0.01)


def active(name):
    return until(lambda answer: answer["Table"]["TableStatus"] == "ACTIVE", "describe-table", "--table-name", name)["Table"]


def values(name):
    return sorted(item["v"]["S"] for item in aws("scan", "--table-name", name)["Items"])


def put(name, value):
    aws("put-item", "--table-name", name, "--item", document({"pk": {"S": value}, "v": {"S": value}}))


def update_table():
    units = ("--provisioned-throughput", "ReadCapacityUnits=5,WriteCapacityUnits=6")
    aws("update-table", *TAB, "--billing-mode", "PROVISIONED", *units)
    found = active("Tab")["ProvisionedThroughput"]
    check("throughput", (found["ReadCapacityUnits"], found["WriteCapacityUnits"]), (5, 6))
    refused("ValidationException", "The provisioned throughput for the table will not change", "update-table", *TAB, *units)
    aws("update-table", *TAB, "--deletion-protection-enabled")
    refused("ValidationException", "deletion protection", "delete-table", *TAB)
    aws("update-table", *TAB, "--no-deletion-protection-enabled")
    aws("update-table", *TAB, "--billing-mode", "PAY_PER_REQUEST")
    check("billing", active("Tab")["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")


def resources():
    resource = ("--resource-arn", ARN)
    aws("tag-resource", *resource, "--tags", "Key=team,Value=sales", "Key=stage,Value=dev")
    aws("untag-resource", *resource, "--tag-keys", "team")
    check("tags", aws("list-tags-of-resource", *resource)["Tags"], [{"Key": "stage", "Value": "dev"}])
    policy = document({"Version": "2012-10-17", "Statement": []})
    refused("PolicyNotFoundException", "", "get-resource-policy", *resource)
    revision = aws("put-resource-policy", *resource, "--policy", policy)["RevisionId"]
    check("policy", aws("get-resource-policy", *resource), {"Policy": policy, "RevisionId": revision})
    check("policy gone", aws("delete-resource-policy", *resource), {"RevisionId": revision})
    check("limits", aws("describe-limits")["TableMaxReadCapacityUnits"], 40000)
    check("endpoints", [entry["CachePeriodInMinutes"] for entry in aws("describe-endpoints")["Endpoints"]], [1440])


def backups():
    for value in ("a", "b"):
        put("Tab", value)
    arn = aws("create-backup", *TAB, "--backup-name", "first")["BackupDetails"]["BackupArn"]
    backup = ("--backup-arn", arn)
    available = lambda found: found["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    until(available, "describe-backup", *backup)
    put("Tab", "c")
    check("backups", [found["BackupArn"] for found in aws("list-backups", *TAB)["BackupSummaries"]], [arn])
    aws("restore-table-from-backup", "--target-table-name", "Old", *backup)
    active("Old")
    check("restored", values("Old"), ["a", "b"])
    aws("delete-backup", *backup)
    refused("BackupNotFoundException", "Backup not found", "describe-backup", *backup)


def recovery():
    now = ("--source-table-name", "Tab", "--use-latest-restorable-time")
    never = ("restore-table-to-point-in-time", *now, "--target-table-name", "Never")
    refused("PointInTimeRecoveryUnavailableException", "Point in time recovery is not enabled", *never)
    aws("update-continuous-backups", *TAB, "--point-in-time-recovery-specification", "PointInTimeRecoveryEnabled=true")
    found = aws("describe-continuous-backups", *TAB)["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    check("recovery", (found["PointInTimeRecoveryStatus"], found["RecoveryPeriodInDays"]), ("ENABLED", 35))
    put("Tab", "d")
    aws("restore-table-to-point-in-time", *now, "--target-table-name", "Now")
    active("Now")
    check("recovered", values("Now"), ["a", "b", "c", "d"])


def transfers():
    export = ("export-table-to-point-in-time", "--table-arn", ARN, "--s3-bucket", "bucket", "--s3-prefix", "out")
    arn = aws(*export)["ExportDescription"]["ExportArn"]
    ended = lambda found: found["ExportDescription"]["ExportStatus"] != "IN_PROGRESS"
    found = until(ended, "describe-export", "--export-arn", arn)["ExportDescription"]
    check("export", (found["ExportStatus"], found["ItemCount"]), ("COMPLETED", 4))
    check("exports", [entry["ExportArn"] for entry in aws("list-exports")["ExportSummaries"]], [arn])
    directory = os.path.join(buckets(), "bucket", os.path.dirname(found["ExportManifest"]))
    with open(os.path.join(directory, "manifest-files.json"), encoding="utf-8") as lines:
        prefix = os.path.dirname(json.loads(lines.readline())["dataFileS3Key"])
    parameters = {
        "TableName": "New",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    arn = aws(
        "import-table", "--s3-bucket-source", f"S3Bucket=bucket,S3KeyPrefix={prefix}", "--input-format", "DYNAMODB_JSON",
        "--input-compression-type", "GZIP", "--table-creation-parameters", document(parameters),
    )["ImportTableDescription"]["ImportArn"]
    ended = lambda found: found["ImportTableDescription"]["ImportStatus"] != "IN_PROGRESS"
    found = until(ended, "describe-import", "--import-arn", arn)["ImportTableDescription"]
    check("import", (found["ImportStatus"], found["ImportedItemCount"]), ("COMPLETED", 4))
    check("imports", [entry["ImportArn"] for entry in aws("list-imports")["ImportSummaryList"]], [arn])
    check("imported", values("New"), ["a", "b", "c", "d"])


def never_used():
    check("global tables", aws("list-global-tables"), {"GlobalTables": []})
    check("insights", aws("describe-contributor-insights", *TAB)["ContributorInsightsStatus"], "DISABLED")
    check("insights of all", aws("list-contributor-insights"), {"ContributorInsightsSummaries": []})
    enabled = aws("update-contributor-insights", *TAB, "--contributor-insights-action", "ENABLE")
    check("insights begin", enabled["ContributorInsightsStatus"], "ENABLING")
    if knows("list-bulk-operations"):
        check("bulk operations", aws("list-bulk-operations"), {"BulkOperationsSummaryList": []})
    kinesis = aws("describe-kinesis-streaming-destination", *TAB)
    check("kinesis", kinesis["KinesisDataStreamDestinations"], [])
    for command, more in NAMED_AND_MISSING.items():
        if knows(command):
            refused(more[0], more[1], command, *more[2:])
    for command, more in BEGUN.items():
        if knows(command):
            refused("ValidationException", "is not supported by this version of ddbfs", command, *more)


GLOBAL = ("--global-table-name", "Glo")
NO_GLOBAL = ("GlobalTableNotFoundException", "Global table with name: 'Glo' does not exist.", *GLOBAL)
BULK = "arn:aws:dynamodb:us-east-1:000000000000:bulk/1"
NO_BULK = ("ResourceNotFoundException", "Requested resource not found", "--bulk-operation-arn", BULK)
KINESIS = ("--stream-arn", "arn:aws:kinesis:us-east-1:000000000000:stream/one")
NO_KINESIS = ("ValidationException", "No streaming destination with streamArn", *TAB, *KINESIS)
NAMED_AND_MISSING = {
    "describe-global-table": NO_GLOBAL,
    "describe-global-table-settings": NO_GLOBAL,
    "update-global-table": (*NO_GLOBAL, "--replica-updates", document([{"Create": {"RegionName": "eu-west-1"}}])),
    "update-global-table-settings": NO_GLOBAL,
    "describe-table-replica-auto-scaling": ("ResourceNotFoundException", "Global table with name: 'Tab' does not exist.", *TAB),
    "search-vectors": (
        "ValidationException", "The table does not have the specified index: vec",
        *TAB, "--index-name", "vec", "--top-k", "1", "--search-vector", document([{"N": "1"}]),
    ),  # fmt: skip
    "describe-bulk-operation": NO_BULK,
    "cancel-bulk-operation": NO_BULK,
    "disable-kinesis-streaming-destination": NO_KINESIS,
    "update-kinesis-streaming-destination": NO_KINESIS,
}
BEGUN = {
    "enable-kinesis-streaming-destination": (*TAB, *KINESIS),
    "create-global-table": (*GLOBAL, "--replication-group", "RegionName=eu-west-1"),
    "update-table-replica-auto-scaling": TAB,
    "start-bulk-put-items": (
        *TAB, "--input-s3-configuration", document({"S3Bucket": "bucket", "InputFormat": "DYNAMODB_JSON"}),
        "--output-s3-configuration", document({"OutputType": ["FAILED_ITEMS"]}),
    ),  # fmt: skip
}

ARN = aws("create-table", *TAB, *KEY_DEFINITION, "--billing-mode", "PAY_PER_REQUEST")["TableDescription"]["TableArn"]
active("Tab")
update_table()
resources()
backups()
recovery()
transfers()
never_used()
end()
