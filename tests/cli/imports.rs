//! `ddbfs import`: definitions in the forms in which people keep them, and the way out of a mount in the same forms.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn ddbfs(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ddbfs"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments reads no input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The requests that a text makes, with more arguments, and what is said beside them.
fn imported(input: &str, more: &[&str]) -> (Vec<Value>, String) {
    let args = [&["import", "--dry-run", "-"], more].concat();
    let done = ddbfs(&args, input);
    let requests = text(&done.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    (requests, text(&done.stderr))
}

const KEYS: &str = r#""KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]"#;
const ATTRIBUTES: &str = r#""AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"}]"#;

/// The request that all forms of one table below stand for.
fn orders() -> Value {
    serde_json::from_str(&format!(
        r#"{{"TableName":"Orders",{ATTRIBUTES},{KEYS},"BillingMode":"PAY_PER_REQUEST"}}"#
    ))
    .unwrap()
}

#[track_caller]
fn check(form: &str, input: &str) {
    check_with(form, &[], input);
}

#[track_caller]
fn check_with(form: &str, more: &[&str], input: &str) {
    let (requests, said) = imported(input, more);
    assert_eq!(requests, [orders()], "{form}: {said}");
}

#[test]
fn one_table_in_every_form() {
    let plain = orders().to_string();
    check("CreateTable", &plain);
    check("a list", &format!("[{plain}]"));
    let (described, said) = imported(
        &format!(
            r#"{{"Table":{{"TableName":"Orders","TableStatus":"ACTIVE","TableArn":"arn:x","ItemCount":5,{ATTRIBUTES},{KEYS},
            "ProvisionedThroughput":{{"NumberOfDecreasesToday":0,"ReadCapacityUnits":0,"WriteCapacityUnits":0}},
            "BillingModeSummary":{{"BillingMode":"PAY_PER_REQUEST","LastUpdateToPayPerRequestDateTime":"2024-01-01T00:00:00Z"}}}}}}"#
        ),
        &[],
    );
    let mut protected = orders();
    protected["DeletionProtectionEnabled"] = false.into();
    assert_eq!(described, [protected], "describe-table: {said}");
    let properties =
        format!(r#"{{"TableName":"Orders",{ATTRIBUTES},{KEYS},"BillingMode":"PAY_PER_REQUEST"}}"#);
    let resource = format!(r#"{{"Type":"AWS::DynamoDB::Table","Properties":{properties}}}"#);
    let queue =
        r#"{"Type":"AWS::SQS::Queue","Properties":{"QueueName":{"Fn::GetAtt":["X","Arn"]}}}"#;
    check(
        "a template in JSON, as CDK writes it",
        &format!(r#"{{"Resources":{{"Q":{queue},"OrdersB7":{resource}}}}}"#),
    );
    check(
        "a part of a template",
        &format!(r#"{{"OrdersTable":{resource}}}"#),
    );
    check_with(
        "a template in YAML",
        &["--parameter", "OnDemand=true"],
        "Resources:
  OrdersTable:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Join ['', [!Ref Name, s]]
      AttributeDefinitions:
        - {AttributeName: pk, AttributeType: S}
        - {AttributeName: sk, AttributeType: N}
      KeySchema:
        - AttributeName: pk
          KeyType: HASH
        - AttributeName: sk
          KeyType: RANGE
      BillingMode: !If [OnDemand, PAY_PER_REQUEST, PROVISIONED]
      ProvisionedThroughput: !If [OnDemand, !Ref 'AWS::NoValue', {ReadCapacityUnits: 1, WriteCapacityUnits: 1}]
Parameters:
  Name: {Type: String, Default: Order}
  Stage: {Type: String, Default: dev}
Conditions:
  OnDemand: !Not [!Equals [!Ref Stage, prod]]
",
    );
    check(
        "serverless.yml",
        "service: Ord
provider: {name: aws, stage: \"${opt:stage, 'ers'}\"}
resources:
  Resources:
    Table:
      Type: AWS::DynamoDB::Table
      Properties:
        TableName: ${self:service}${self:provider.stage}
        AttributeDefinitions: [{AttributeName: pk, AttributeType: S}, {AttributeName: sk, AttributeType: N}]
        KeySchema: [{AttributeName: pk, KeyType: HASH}, {AttributeName: sk, KeyType: RANGE}]
        BillingMode: PAY_PER_REQUEST
",
    );
    let terraform = r#"{"name":"Orders","billing_mode":"PAY_PER_REQUEST","hash_key":"pk","range_key":"sk","read_capacity":0,
        "attribute":[{"name":"pk","type":"S"},{"name":"sk","type":"N"}],"ttl":[],"global_secondary_index":[],"stream_enabled":false,"tags":null}"#;
    let resource = format!(r#"{{"type":"aws_dynamodb_table","name":"o","values":{terraform}}}"#);
    check(
        "terraform show -json",
        &format!(
            r#"{{"format_version":"1.0","values":{{"root_module":{{"child_modules":[{{"resources":[{resource}]}}]}}}}}}"#
        ),
    );
    check(
        "a plan",
        &format!(
            r#"{{"terraform_version":"1.9","planned_values":{{"root_module":{{"resources":[{resource}]}}}}}}"#
        ),
    );
    check(
        "a state",
        &format!(
            r#"{{"version":4,"terraform_version":"1.9","resources":[{{"type":"aws_dynamodb_table","name":"o","instances":[{{"attributes":{terraform}}}]}}]}}"#
        ),
    );
    check(
        "a configuration",
        r#"
variable "name" { default = "Order" }
locals { table = "${var.name}s" }
resource "aws_dynamodb_table" "o" {
  name         = local.table
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "pk"
  range_key    = "sk"
  attribute {
    name = "pk"
    type = "S"
  }
  attribute {
    name = "sk"
    type = "N"
  }
  lifecycle {
    prevent_destroy = true
  }
}
"#,
    );
    let key = |name: &str, kind: &str| json!({ "AttributeName": name, "AttributeType": kind });
    let workbench = json!({"ModelName": "Shop", "DataModel": [{
        "TableName": "Orders",
        "KeyAttributes": {"PartitionKey": key("pk", "S"), "SortKey": key("sk", "N")},
        "NonKeyAttributes": [key("total", "N")], "DataAccess": {"MySql": {}},
    }]});
    check("NoSQL Workbench", &workbench.to_string());
    check(
        "dynamodb_data_model.json",
        &json!({"tables": [orders()], "items": {}, "access_patterns": []}).to_string(),
    );
}

/// The forms in which vector indexes are published: the service's own, CloudFormation's
/// (AWS::DynamoDB::Table VectorIndex), Terraform's (`aws_dynamodb_vector_index`).
#[test]
fn vector_indexes_in_every_form_that_has_them() {
    let vector = json!({ "IndexName": "near", "VectorAttribute": { "AttributeName": "v" }, "Dimensions": 1536, "DistanceFunction": "COSINE",
        "SearchSchema": [{ "AttributeName": "cat", "SearchSchemaElementType": "INLINE_FILTER" }], "Projection": { "ProjectionType": "KEYS_ONLY" } });
    let mut expected = orders();
    let definitions = expected["AttributeDefinitions"].as_array_mut().unwrap();
    definitions.insert(0, json!({ "AttributeName": "cat", "AttributeType": "N" }));
    expected["VectorIndexes"] = json!([vector]);
    let check = |form: &str, input: &str, more: &[&str]| {
        let (mut requests, said) = imported(input, more);
        let members = requests.first_mut().and_then(Value::as_object_mut);
        members.map(|members| members.remove("DeletionProtectionEnabled"));
        assert_eq!(requests, std::slice::from_ref(&expected), "{form}: {said}");
    };
    check("CreateTable", &expected.to_string(), &[]);
    let mut described = expected.clone();
    for (name, value) in [
        ("TableStatus", json!("ACTIVE")),
        (
            "BillingModeSummary",
            json!({ "BillingMode": "PAY_PER_REQUEST" }),
        ),
        ("ItemCount", json!(0)),
    ] {
        described[name] = value;
    }
    let index = &mut described["VectorIndexes"][0];
    for (name, value) in [
        ("IndexStatus", json!("ACTIVE")),
        ("Backfilling", json!(false)),
        ("IndexSizeBytes", json!(7)),
        ("ItemCount", json!(1)),
        (
            "IndexArn",
            json!("arn:aws:dynamodb:us-east-1:1:table/Orders/index/near"),
        ),
    ] {
        index[name] = value;
    }
    check(
        "describe-table",
        &json!({ "Table": described }).to_string(),
        &[],
    );
    let mut properties = expected.clone();
    properties["VectorIndexes"][0]["Dimensions"] = json!({ "Ref": "Dims" });
    for kind in ["AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"] {
        let template = json!({ "Parameters": { "Dims": { "Type": "Number" } }, "Resources": { "T": { "Type": kind, "Properties": properties } } });
        check(kind, &template.to_string(), &["--parameter", "Dims=1536"]);
        let (requests, said) = imported(&template.to_string(), &[]);
        assert!(
            requests.is_empty() && said.contains("VectorIndexes: the parameter Dims"),
            "{said}"
        );
    }
    let source = r#"
variable "dims" {}
resource "aws_dynamodb_vector_index" "near" {
  region            = var.region
  table_name        = aws_dynamodb_table.orders.name
  index_name        = "near"
  dimensions        = var.dims
  distance_function = "COSINE"
  vector_attribute = {
    attribute_name = "v"
  }
  projection {
    projection_type = "KEYS_ONLY"
  }
  search_schema {
    attribute_name = "cat"
    attribute_type = "N"
    type           = "INLINE_FILTER"
  }
}
resource "aws_dynamodb_table" "orders" {
  name         = "Orders"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "pk"
  range_key    = "sk"
  attribute {
    name = "pk"
    type = "S"
  }
  attribute {
    name = "sk"
    type = "N"
  }
}
"#;
    check("a configuration", source, &["--parameter", "dims=1536"]);
    let (_, said) = imported(
        &source.replace("orders.name", "others.name"),
        &["--parameter", "dims=1536"],
    );
    assert!(
        said.contains("near: table_name is not known from this file"),
        "{said}"
    );
    let table = json!({ "name": "Orders", "billing_mode": "PAY_PER_REQUEST", "hash_key": "pk", "range_key": "sk",
        "attribute": [{ "name": "pk", "type": "S" }, { "name": "sk", "type": "N" }] });
    let index = json!({ "table_name": "Orders", "index_name": "near", "dimensions": 1536, "distance_function": "COSINE", "vector_attribute": { "attribute_name": "v" },
        "projection": [{ "projection_type": "KEYS_ONLY", "non_key_attributes": null }],
        "search_schema": [{ "attribute_name": "cat", "attribute_type": "N", "type": "INLINE_FILTER" }], "arn": "arn:x", "region": "us-east-1", "timeouts": null });
    let resource = |kind: &str, name: &str, values: &Value| json!({ "type": kind, "name": name, "values": values });
    let state = |index: &Value| {
        json!({ "values": { "root_module": { "resources": [resource("aws_dynamodb_vector_index", "near", index), resource("aws_dynamodb_table", "o", &table)] } } }).to_string()
    };
    check("terraform show -json", &state(&index), &[]);
    let mut lost = index;
    lost["table_name"] = "Others".into();
    let (_, said) = imported(&state(&lost), &[]);
    assert!(
        said.contains(
            "aws_dynamodb_vector_index.near: the table Others is not among the tables of this file"
        ),
        "{said}"
    );
    let global = json!({ "table_name": "Orders", "index_name": "by-day" });
    let resources = [
        resource("aws_dynamodb_global_secondary_index", "g", &global),
        resource("aws_dynamodb_table", "o", &table),
    ];
    let state = json!({ "values": { "root_module": { "resources": resources } } }).to_string();
    let (requests, said) = imported(&state, &[]);
    assert!(
        requests.len() == 1
            && said.contains(
                "aws_dynamodb_global_secondary_index.g: its table is made without this index"
            ),
        "{said}"
    );
    let key = json!({ "PartitionKey": { "AttributeName": "pk", "AttributeType": "S" } });
    let model = json!({ "DataModel": [{ "TableName": "Orders", "KeyAttributes": key, "VectorIndexes": [vector] }] });
    let (_, said) = imported(&model.to_string(), &[]);
    assert!(said.contains("Orders: VectorIndexes is left out"), "{said}");
}

/// A configuration without its variables' values.
const MANY: &str = r#"
variable "stage" {
  type = string
}
variable "keys" {}
variable "units" { default = 2 }
locals {
  prefix = "${var.stage}-${local.team}"
  team   = "shop"
}
resource "aws_dynamodb_table" "one" {
  name         = "${local.prefix}-one"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = var.keys.hash
  range_key    = var.keys["ranges"][0]
  attribute {
    name = var.keys.hash
    type = "S"
  }
  attribute {
    name = (var.keys.ranges[0])
    type = "N"
  }
  global_secondary_index {
    name      = "by-range"
    hash_key  = var.keys.ranges[0]
    on_demand_throughput {
      max_read_request_units = 7
    }
  }
  replica {
    region_name = var.not_given
  }
  tags = merge(var.tags, { Name = "x" })
}
resource "aws_dynamodb_table" "two" {
  name           = "two"
  hash_key       = "id"
  read_capacity  = var.units
  write_capacity = 1
  attribute {
    name = "id"
    type = "S"
  }
}
resource "aws_dynamodb_table" "repeated" {
  for_each = toset(["a", "b"])
  name     = each.key
  hash_key = "id"
}
resource "aws_dynamodb_table" "counted" {
  count    = var.stage == "never" ? 1 : 0
  name     = "off"
  hash_key = "id"
}
resource "aws_dynamodb_table" "made" {
  name     = format("%s-made", var.stage)
  hash_key = "id"
}
resource "aws_dynamodb_table" "moving" {
  name     = "moving"
  hash_key = "id"
  dynamic "attribute" {
    for_each = var.keys
    content {
      name = attribute.key
      type = "S"
    }
  }
}
module "wrapped" {
  source   = "terraform-aws-modules/dynamodb-table/aws"
  hash_key = "id"
}
"#;
const VALUES: &str = r#"
stage = "dev"
keys  = { hash = "id", ranges = ["when for whom"] }
"#;

/// Constructions of published configurations; names and contents are our own.
#[test]
fn a_configuration_has_literals_and_references_and_names_what_terraform_computes() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (main, values) = (path("main.tf", MANY), path("terraform.tfvars", VALUES));
    let done = ddbfs(&["import", "--dry-run", &values, &main], "");
    let said = text(&done.stderr);
    let requests: Vec<Value> = text(&done.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<_> = requests
        .iter()
        .map(|request| &request["TableName"])
        .collect();
    assert_eq!(names, ["dev-shop-one", "two"], "{said}");
    let one = &requests[0];
    assert_eq!(
        one["GlobalSecondaryIndexes"],
        json!([{"IndexName": "by-range", "KeySchema": [{"AttributeName": "when for whom", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}, "OnDemandThroughput": {"MaxReadRequestUnits": 7}}])
    );
    assert_eq!(one["KeySchema"][1]["AttributeName"], "when for whom");
    let units = json!({"ReadCapacityUnits": 2, "WriteCapacityUnits": 1});
    assert_eq!(requests[1]["ProvisionedThroughput"], units);
    for expected in [
        "repeated: it has for_each; import the output of `terraform show -json`",
        "counted: it has count; import the output of `terraform show -json`",
        "made: name is not known from this file (undefined function `format`",
        "moving: it has dynamic; import the output of `terraform show -json`",
        "wrapped: a module; import the output of `terraform show -json`",
        "dev-shop-one: replica is left out",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    // A value that is given comes before the default.
    let given = ["--parameter", "units=9", "--table", "two"];
    let (requests, said) = imported(MANY, &given);
    assert_eq!(
        requests[0]["ProvisionedThroughput"]["ReadCapacityUnits"], 9,
        "{said}"
    );
    let (_, said) = imported(MANY, &[]);
    assert!(
        said.contains("no value for the variables stage, keys: ")
            && said.contains("terraform show -json"),
        "{said}"
    );
}

const ITEMS: &str = r#"
resource "aws_dynamodb_table" "one" {
  name         = "one"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "id"
  attribute {
    name = "id"
    type = "S"
  }
}
resource "aws_dynamodb_table_item" "a" {
  table_name = aws_dynamodb_table.one.name
  hash_key   = aws_dynamodb_table.one.hash_key
  item       = "{\"id\": {\"S\": \"a\"}}"
}
resource "aws_dynamodb_table_item" "b" {
  table_name = aws_dynamodb_table.one.id
  hash_key   = "id"
  item       = <<ITEM
{ "id": { "S": "b" } }
ITEM
}
"#;

#[test]
fn items_name_their_tables() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path().to_str().unwrap();
    let done = ddbfs(&["import", "--data", data, "-"], ITEMS);
    let said = text(&done.stderr);
    assert_eq!(text(&done.stdout), "one: created, 2 items\n", "{said}");
}

/// As in aws-samples/amazon-dynamodb-design-patterns, examples/an-online-shop/json/AnOnlineShop_facets.json.
#[test]
fn the_items_of_facets_are_items_of_the_table() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path().to_str().unwrap();
    let item = |pk: &str| json!({"pk": {"S": pk}});
    let key = json!({"PartitionKey": {"AttributeName": "pk", "AttributeType": "S"}});
    let model = json!({"DataModel": [{"TableName": "Zoo", "KeyAttributes": key, "TableData": [item("a")],
        "TableFacets": [{"FacetName": "cats", "TableData": [item("b")]}, {"FacetName": "none"}]}]});
    let done = ddbfs(&["import", "--data", data, "-"], &model.to_string());
    assert_eq!(
        text(&done.stdout),
        "Zoo: created, 2 items\n",
        "{}",
        text(&done.stderr)
    );
    // They are the expected access patterns of the table too, which an archive has and load brings back.
    let to = tempfile::tempdir().unwrap();
    let to = to.path().to_str().unwrap();
    let archived = ddbfs(&["archive", "--data", data, "Zoo", "--pk", "a", to], "");
    assert!(archived.status.success(), "{}", text(&archived.stderr));
    let archive = std::fs::read_dir(to)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let patterns = std::fs::read_to_string(archive.join("access.expected")).unwrap();
    assert_eq!(
        patterns,
        "facet cats: Query WHERE pk = ?\nfacet none: Query WHERE pk = ?\n"
    );
    let (other, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (other, again) = (
        other.path().to_str().unwrap(),
        again.path().to_str().unwrap(),
    );
    let key = json!([{"AttributeName": "pk", "KeyType": "HASH"}]);
    let definitions = json!([{"AttributeName": "pk", "AttributeType": "S"}]);
    let table = json!({"TableName": "Zoo", "KeySchema": key, "AttributeDefinitions": definitions, "BillingMode": "PAY_PER_REQUEST"});
    ddbfs(&["import", "--data", other, "-"], &table.to_string());
    let archive = archive.to_str().unwrap();
    let loaded = ddbfs(&["load", "--data", other, "Zoo", archive], "");
    assert_eq!(
        (text(&loaded.stdout), text(&loaded.stderr)),
        ("1 item loaded, 0 bad lines\n".to_owned(), String::new())
    );
    ddbfs(&["archive", "--data", other, "Zoo", "--pk", "a", again], "");
    let archive = std::fs::read_dir(again)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let kept = std::fs::read_to_string(archive.join("access.expected")).unwrap();
    assert_eq!(kept, patterns);
}

#[test]
fn what_a_file_leaves_open_is_named_and_can_be_given() {
    let template = "Parameters: {Stage: {Type: String}}
Resources:
  A:
    Type: AWS::DynamoDB::Table
    Properties: {TableName: !Sub '${Stage}-a', BillingMode: PAY_PER_REQUEST, AttributeDefinitions: [{AttributeName: id, AttributeType: S}], KeySchema: [{AttributeName: id, KeyType: HASH}]}
  B:
    Type: AWS::DynamoDB::Table
    Condition: Never
    Properties: {}
Conditions: {Never: !Equals [a, b]}
";
    let (requests, said) = imported(template, &[]);
    assert!(requests.is_empty());
    assert!(
        said.contains(
            "A: TableName: the parameter Stage has no default; give --parameter Stage=VALUE"
        ),
        "{said}"
    );
    let open = "B: the condition Never is not decided here; give --parameter Never=true, or =false";
    assert!(said.contains(open), "{said}");
    let given = ["--parameter", "Stage=prod", "--parameter", "Never=false"];
    let (requests, said) = imported(template, &given);
    assert!(said.contains("B: its condition Never is false"), "{said}");
    assert_eq!(requests[0]["TableName"], "prod-a");
    let unknown = [
        ("hello", "a text without structure"),
        ("{\"a\":1}", "its members are a"),
        ("a: [1", "line"),
        ("{\"Resources\":{}}", "its members are Resources"),
        ("resource \"aws_dynamodb_table\" \"x\" {", "cannot be read"),
        ("", "a text without structure"),
    ];
    for (input, expected) in unknown {
        let (requests, said) = imported(input, &[]);
        assert!(
            requests.is_empty() && said.contains(expected),
            "{input}: {said}"
        );
    }
    // DynamoDB's own sentence for what it would refuse.
    let (_, said) = imported(&orders().to_string().replace("\"RANGE\"", "\"SORT\""), &[]);
    assert!(said.contains("failed to satisfy constraint"), "{said}");
}

/// Checks that locals of locals take no more memory than there may be, a circle of them ends, and a loop is
/// not run.
#[test]
fn locals_that_double_are_not_known() {
    let doubled = (0..40).map(|n| format!("d{n} = \"${{local.d{0}}}${{local.d{0}}}\"\n", n + 1));
    let doubled: String = doubled.collect();
    for last in ["\"x\"", "local.d0", "[for a in [1] : a]"] {
        let source = format!(
            "locals {{\n{doubled}d40 = {last}\n}}\nresource \"aws_dynamodb_table\" \"o\" {{\n name = local.d0\n hash_key = \"pk\"\n}}\n"
        );
        let (requests, said) = imported(&source, &[]);
        assert!(requests.is_empty(), "{requests:?}");
        let expected = "name is not known from this file (no such key: `d0`";
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn tables_are_made_with_their_items_and_are_left_as_they_are_then() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path().to_str().unwrap();
    let mut model = json!({"tables": [orders()], "items": {"Orders": [{"PutRequest": {"Item": {"pk": {"S": "a"}, "sk": {"N": "1"}}}}, {"PutRequest": {"Item": {"pk": {"S": "b"}}}}]}});
    model["tables"][0]["TimeToLiveSpecification"] =
        json!({"Enabled": true, "AttributeName": "expires"});
    let input = model.to_string();
    let first = ddbfs(&["import", "--data", data, "-"], &input);
    assert_eq!(first.status.code(), Some(1), "{}", text(&first.stderr));
    assert!(
        text(&first.stderr).contains("Orders: item 2: "),
        "{}",
        text(&first.stderr)
    );
    assert!(
        text(&first.stdout).contains("Orders: created, "),
        "{}",
        text(&first.stdout)
    );
    let again = ddbfs(&["import", "--data", data, "-"], &input);
    assert_eq!(
        (again.status.code(), text(&again.stdout)),
        (Some(0), "Orders: there already, left as it is\n".to_owned())
    );
    let dump = ddbfs(&["dump", "--data", data, "Orders"], "");
    assert_eq!(text(&dump.stdout), "{\"pk\":\"a\",\"sk\":1}\n");
}
