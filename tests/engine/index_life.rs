//! Global indexes made and dropped while their table is in use (docs/dynamodb.md 9.6): states, the admission matrix, violations.

use std::sync::Arc;

use crate::support::control;
use crate::support::control::{Control, NOW_MS};
use ddbfs::engine::check::check;
use ddbfs::engine::test_hooks::{IndexHold, IndexStage};
use ddbfs::model::TableName;
use ddbfs::store::memory::MemoryStore;
use serde_json::{Value, json};

/// A database whose indexes move only when told, and their holds.
fn held() -> (Control, Arc<IndexHold>) {
    let hold = Arc::new(IndexHold::default());
    let of_engine = Arc::clone(&hold);
    let control = Control::on(Arc::new(MemoryStore::new().unwrap()), |options| {
        options.background_period = None;
        options.index_hold = of_engine;
    });
    (control, hold)
}

fn run(control: &Control) {
    control.database.engine().run_background_work().unwrap();
}

fn assert_clean(control: &Control) {
    let report = check(control.database.engine()).unwrap();
    assert!(report.is_clean(), "{report:#?}");
}

fn units(read: u64, write: u64) -> Value {
    json!({ "ReadCapacityUnits": read, "WriteCapacityUnits": write })
}

fn defined(names: &[(&str, &str)]) -> Value {
    names
        .iter()
        .map(|(name, of_type)| json!({ "AttributeName": name, "AttributeType": of_type }))
        .collect()
}

fn keys(names: &[&str]) -> Value {
    let role = |at| if at == 0 { "HASH" } else { "RANGE" };
    names
        .iter()
        .enumerate()
        .map(|(at, name)| json!({ "AttributeName": name, "KeyType": role(at) }))
        .collect()
}

fn update(table: &str, mut members: Value) -> Value {
    members["TableName"] = json!(table);
    members
}

/// The creation of an index on the attribute `key` of type S.
fn creation(table: &str, name: &str, key: &str) -> Value {
    let create = json!({ "IndexName": name, "KeySchema": keys(&[key]), "Projection": { "ProjectionType": "ALL" } });
    let updates = json!([{ "Create": create }]);
    update(
        table,
        json!({ "AttributeDefinitions": defined(&[(key, "S")]), "GlobalSecondaryIndexUpdates": updates }),
    )
}

fn deletion(table: &str, name: &str) -> Value {
    update(
        table,
        json!({ "GlobalSecondaryIndexUpdates": [{ "Delete": { "IndexName": name } }] }),
    )
}

fn throughput(table: &str, name: &str, units: Value) -> Value {
    let change = json!({ "Update": { "IndexName": name, "ProvisionedThroughput": units } });
    update(table, json!({ "GlobalSecondaryIndexUpdates": [change] }))
}

/// Status of the table, of its global index at a place, and that index's `Backfilling`.
fn state(control: &Control, table: &str, at: usize) -> (String, String, Value) {
    let table = control.describe(table);
    let index = &table["GlobalSecondaryIndexes"][at];
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    (
        text(&table["TableStatus"]),
        text(&index["IndexStatus"]),
        index["Backfilling"].clone(),
    )
}

fn is(table: &str, index: &str, backfilling: Value) -> (String, String, Value) {
    (table.to_owned(), index.to_owned(), backfilling)
}

/// `Tab` on demand with `count` items whose `a` is `a0`, `a1`, …
fn tab(control: &Control, count: usize) {
    control.simple("Tab");
    for at in 0..count {
        control.put(
            "Tab",
            json!({ "pk": { "S": format!("p{at}") }, "a": { "S": format!("a{at}") } }),
        );
    }
}

#[test]
fn an_index_is_allocated_backfilled_and_active() {
    let (control, hold) = held();
    tab(&control, 600);
    hold.hold(IndexStage::Allocation);
    hold.hold_after(IndexStage::Backfill, 1);
    let answer = &control.ok("UpdateTable", creation("Tab", "by-a", "a"))["TableDescription"];
    assert_eq!(answer["TableStatus"], "UPDATING");
    let index = &answer["GlobalSecondaryIndexes"][0];
    assert_eq!(
        (&index["IndexStatus"], &index["Backfilling"]),
        (&json!("CREATING"), &json!(false))
    );
    let query = json!({ "TableName": "Tab", "IndexName": "by-a", "KeyConditionExpression": "a = :a",
        "ExpressionAttributeValues": { ":a": { "S": "a1" } } });
    let refused = "Cannot read from backfilling global secondary index: by-a";
    for _ in 0..2 {
        run(&control);
        assert_eq!(
            state(&control, "Tab", 0),
            is("UPDATING", "CREATING", json!(false))
        );
        control.fails("Query", query.clone(), refused);
        control.fails(
            "Scan",
            json!({ "TableName": "Tab", "IndexName": "by-a" }),
            refused,
        );
        assert_clean(&control);
    }
    hold.release(IndexStage::Allocation);
    run(&control);
    assert_eq!(
        state(&control, "Tab", 0),
        is("ACTIVE", "CREATING", json!(true))
    );
    assert_eq!(
        control.describe("Tab")["GlobalSecondaryIndexes"][0]["ItemCount"],
        100
    );
    control.fails("Query", query.clone(), refused);
    assert_clean(&control);
    hold.release(IndexStage::Backfill);
    run(&control);
    assert_eq!(
        state(&control, "Tab", 0),
        is("ACTIVE", "ACTIVE", Value::Null)
    );
    assert_eq!(control.ok("Query", query)["Count"], 1);
    assert_eq!(control.column("Tab/by-a", "pk").len(), 600);
    assert_clean(&control);
}

/// The allocation ends by the clock, and nothing waits where nothing is configured.
#[test]
fn allocation_takes_the_configured_time() {
    let control = Control::on(Arc::new(MemoryStore::new().unwrap()), |options| {
        options.background_period = None;
        options.index_allocation_ms = 5_000;
    });
    tab(&control, 1);
    control.ok("UpdateTable", creation("Tab", "by-a", "a"));
    control.clock.advance_ms(4_999);
    run(&control);
    assert_eq!(
        state(&control, "Tab", 0),
        is("UPDATING", "CREATING", json!(false))
    );
    control.clock.advance_ms(1);
    run(&control);
    assert_eq!(
        state(&control, "Tab", 0),
        is("ACTIVE", "ACTIVE", Value::Null)
    );
}

#[test]
fn an_index_is_dropped_behind_the_table() {
    let (control, hold) = held();
    tab(&control, 3);
    control.ok("UpdateTable", creation("Tab", "by-a", "a"));
    run(&control);
    hold.hold(IndexStage::Removal);
    let answer = &control.ok("UpdateTable", deletion("Tab", "by-a"))["TableDescription"];
    assert_eq!(
        answer["GlobalSecondaryIndexes"][0]["IndexStatus"],
        "DELETING"
    );
    run(&control);
    assert_eq!(
        state(&control, "Tab", 0),
        is("UPDATING", "DELETING", Value::Null)
    );
    let unknown = "The table does not have the specified index: by-a";
    control.fails(
        "Scan",
        json!({ "TableName": "Tab", "IndexName": "by-a" }),
        unknown,
    );
    // Its attribute is free, the table in use.
    control.put("Tab", json!({ "pk": { "S": "p1" }, "a": { "N": "1" } }));
    assert_clean(&control);
    hold.release(IndexStage::Removal);
    run(&control);
    let table = control.describe("Tab");
    assert_eq!(
        (&table["TableStatus"], &table["GlobalSecondaryIndexes"]),
        (&json!("ACTIVE"), &Value::Null)
    );
    assert_eq!(table["AttributeDefinitions"], defined(&[("pk", "S")]));
    assert_clean(&control);
    // The name is free again; what has no fitting value now is kept out.
    control.ok("UpdateTable", creation("Tab", "by-a", "a"));
    run(&control);
    assert_eq!(control.column("Tab/by-a", "pk"), ["p0", "p2"]);
    assert_clean(&control);
}

/// The three phases in which a request may be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum In {
    Allocation,
    Backfill,
    Removal,
}

/// `Tab`, provisioned, with the ready index `old` and the index `new` in a phase.
fn in_phase(phase: In) -> Control {
    let (control, hold) = held();
    let index = json!({ "IndexName": "old", "KeySchema": keys(&["a"]), "Projection": { "ProjectionType": "KEYS_ONLY" },
        "ProvisionedThroughput": units(1, 1) });
    control.ok(
        "CreateTable",
        json!({ "TableName": "Tab", "KeySchema": keys(&["pk"]), "AttributeDefinitions": defined(&[("pk", "S"), ("a", "S")]),
            "ProvisionedThroughput": units(5, 5), "GlobalSecondaryIndexes": [index] }),
    );
    control.put(
        "Tab",
        json!({ "pk": { "S": "p" }, "a": { "S": "1" }, "b": { "S": "1" } }),
    );
    if phase == In::Allocation {
        hold.hold(IndexStage::Allocation);
    }
    if phase == In::Backfill {
        hold.hold(IndexStage::Backfill);
    }
    hold.hold(IndexStage::Removal);
    let mut create = creation("Tab", "new", "b");
    create["GlobalSecondaryIndexUpdates"][0]["Create"]["ProvisionedThroughput"] = units(2, 2);
    control.ok("UpdateTable", create);
    run(&control);
    if phase == In::Removal {
        control.ok("UpdateTable", deletion("Tab", "new"));
        run(&control);
    }
    control
}

const LIMIT: &str = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table";
const DELETE_TABLE: &str =
    "…: Cannot delete table while indexes are being created, updated, or deleted.";

/// docs/dynamodb.md 9.6, row by row; `ok` is allowed. Each cell is a table of its own.
#[test]
fn admission_matrix() {
    let mut with_units = creation("Tab", "xyz", "b");
    with_units["GlobalSecondaryIndexUpdates"][0]["Create"]["ProvisionedThroughput"] = units(1, 1);
    let mut same_name = with_units.clone();
    same_name["GlobalSecondaryIndexUpdates"][0]["Create"]["IndexName"] = json!("new");
    let on = |members: Value| update("Tab", members);
    let to_demand = on(json!({ "BillingMode": "PAY_PER_REQUEST" }));
    let table_units = on(json!({ "ProvisionedThroughput": units(6, 6) }));
    let stream = on(
        json!({ "StreamSpecification": { "StreamEnabled": true, "StreamViewType": "KEYS_ONLY" } }),
    );
    let iops = |change: &str| {
        format!(
            "…: Can't change table IOPS when an index is being {change}. Table: Tab Indexes: [new]"
        )
    };
    let (iops_created, iops_deleted) = (iops("created"), iops("deleted"));
    let being = |what: &str| format!("…: Index is being {what}  Table: Tab Index: new");
    let (created, not_yet, deleted) = (
        being("created."),
        being("created but is not backfilling yet."),
        being("deleted."),
    );
    let allocating = "…: Index creation is in resource allocation phase. Retry deletion during backfilling phase or when the index \
        is active. Table: Tab Index: new";
    let no_stream = "…: Can't change stream status when an index is being created";
    let protect = on(json!({ "DeletionProtectionEnabled": true }));
    let encrypt = on(json!({ "SSESpecification": { "Enabled": true, "SSEType": "KMS" } }));
    let ttl = json!({ "TableName": "Tab", "TimeToLiveSpecification": { "Enabled": true, "AttributeName": "t" } });
    let tags = json!({ "ResourceArn": format!("{}Tab", control::ARN), "Tags": [{ "Key": "k", "Value": "v" }] });
    let put = json!({ "TableName": "Tab", "Item": { "pk": { "S": "p" }, "b": { "S": "2" } } });
    let drop = json!({ "TableName": "Tab" });
    let rows: [(&str, &Value, [&str; 3]); 16] = [
        (
            "UpdateTable",
            &deletion("Tab", "new"),
            [allocating, "ok", &deleted],
        ),
        (
            "UpdateTable",
            &throughput("Tab", "new", units(9, 9)),
            [&not_yet, "ok", &deleted],
        ),
        ("UpdateTable", &with_units, [LIMIT, LIMIT, LIMIT]),
        ("UpdateTable", &same_name, [&created, &created, LIMIT]),
        (
            "UpdateTable",
            &deletion("Tab", "old"),
            [LIMIT, LIMIT, LIMIT],
        ),
        (
            "UpdateTable",
            &throughput("Tab", "old", units(9, 9)),
            ["ok", "ok", "ok"],
        ),
        (
            "UpdateTable",
            &table_units,
            [&iops_created, "ok", &iops_deleted],
        ),
        (
            "UpdateTable",
            &to_demand,
            [&iops_created, "ok", &iops_deleted],
        ),
        ("UpdateTable", &stream, [no_stream, "ok", "ok"]),
        ("UpdateTable", &protect, ["ok", "ok", "ok"]),
        ("UpdateTable", &encrypt, ["ok", "ok", "ok"]),
        ("TagResource", &tags, ["ok", "ok", "ok"]),
        ("PutItem", &put, ["ok", "ok", "ok"]),
        (
            "DeleteTable",
            &drop,
            [DELETE_TABLE, DELETE_TABLE, DELETE_TABLE],
        ),
        ("UpdateTimeToLive", &ttl, ["ok", "ok", "ok"]),
        (
            "Scan",
            &json!({ "TableName": "Tab", "IndexName": "old" }),
            ["ok", "ok", "ok"],
        ),
    ];
    for (operation, body, expected) in rows {
        for (phase, expected) in [In::Allocation, In::Backfill, In::Removal]
            .into_iter()
            .zip(expected)
        {
            let control = in_phase(phase);
            match expected {
                "ok" => {
                    control.ok(operation, body.clone());
                }
                text => {
                    let text =
                        text.replace('…', "Attempt to change a resource which is still in use");
                    let before = control.describe("Tab");
                    assert_eq!(
                        control.call(operation, body.clone()),
                        Err(text),
                        "{operation} {body} in {phase:?}"
                    );
                    assert_eq!(
                        control.describe("Tab"),
                        before,
                        "{operation} {body} in {phase:?} changed something"
                    );
                }
            }
            assert_clean(&control);
        }
    }
}

#[test]
fn on_demand_maxima_wait_for_indexes() {
    let (control, hold) = held();
    tab(&control, 1);
    let maxima = update(
        "Tab",
        json!({ "OnDemandThroughput": { "MaxReadRequestUnits": 5 } }),
    );
    let text = |change: &str| {
        format!(
            "Attempt to change a resource which is still in use: OnDemandThroughput cannot be updated while index {change} is in \
             progress for indexes: [by-a]"
        )
    };
    hold.hold(IndexStage::Allocation);
    hold.hold(IndexStage::Removal);
    control.ok("UpdateTable", creation("Tab", "by-a", "a"));
    control.fails("UpdateTable", maxima.clone(), &text("creation"));
    hold.release(IndexStage::Allocation);
    run(&control);
    control.ok("UpdateTable", deletion("Tab", "by-a"));
    control.fails("UpdateTable", maxima.clone(), &text("deletion"));
    hold.release(IndexStage::Removal);
    run(&control);
    control.ok("UpdateTable", maxima);
}

#[test]
fn throughput_changed_in_the_backfill_shows_updating_until_active() {
    let control = in_phase(In::Backfill);
    let answer =
        &control.ok("UpdateTable", throughput("Tab", "new", units(7, 7)))["TableDescription"];
    assert_eq!(
        answer["GlobalSecondaryIndexes"][1]["ProvisionedThroughput"]["ReadCapacityUnits"],
        2
    );
    assert_eq!(
        state(&control, "Tab", 1),
        is("ACTIVE", "UPDATING", json!(true))
    );
    control.fails(
        "Scan",
        json!({ "TableName": "Tab", "IndexName": "new" }),
        "Cannot read from backfilling global secondary index: new",
    );
}

#[test]
fn definitions_that_are_refused() {
    let (control, _) = held();
    tab(&control, 0);
    let with = |members: &[(&str, Value)]| {
        let mut request = creation("Tab", "new", "b");
        for (member, value) in members {
            request["GlobalSecondaryIndexUpdates"][0]["Create"][*member] = value.clone();
        }
        request
    };
    let check = |request: Value, expected: &str| control.fails("UpdateTable", request, expected);
    let mut request = creation("Tab", "new", "b");
    request
        .as_object_mut()
        .unwrap()
        .remove("AttributeDefinitions");
    check(
        request,
        "IV: AttributeDefinitions is not specified for index: new",
    );
    let mut request = creation("Tab", "new", "b");
    request["AttributeDefinitions"] = defined(&[("c", "S")]);
    check(
        request,
        "IV: Some index key attributes are not defined in AttributeDefinitions. Keys: [b], AttributeDefinitions: [c]",
    );
    check(
        with(&[("ProvisionedThroughput", units(1, 1))]),
        "IV: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: new when BillingMode is PAY_PER_REQUEST",
    );
    check(
        with(&[("Projection", json!({}))]),
        "IV: Unknown ProjectionType: null",
    );
    let mut request = creation("Tab", "new", "pk");
    request["AttributeDefinitions"] = defined(&[("pk", "N")]);
    let redefined = "IV: Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. \
        Existing schema: Schema:[SchemaElement: key{pk:S:HASH}] New schema: Schema:[SchemaElement: key{pk:N:HASH}]";
    check(request, redefined);
    let mut two = creation("Tab", "new", "b");
    two["GlobalSecondaryIndexUpdates"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "Delete": { "IndexName": "abc" } }));
    check(two, LIMIT);
    check(
        deletion("Tab", "abc"),
        "Requested resource not found: Index abc for table Tab",
    );

    let mut provisioned = creation("Prov", "new", "b");
    control.ok(
        "CreateTable",
        json!({ "TableName": "Prov", "KeySchema": keys(&["pk"]), "AttributeDefinitions": defined(&[("pk", "S")]),
            "ProvisionedThroughput": units(5, 5) }),
    );
    check(
        provisioned.clone(),
        "IV: Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: new",
    );
    provisioned["ProvisionedThroughput"] = units(7, 7);
    check(
        provisioned,
        "IV: You cannot create or delete index while updating table IOPS",
    );

    for at in 0..20 {
        control.ok("UpdateTable", creation("Tab", &format!("index-{at}"), "b"));
        run(&control);
    }
    check(
        creation("Tab", "index-3", "b"),
        "Attempting to create an index which already exists",
    );
    check(
        creation("Tab", "index-20", "b"),
        "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20",
    );
    assert_clean(&control);
}

/// Values that cannot be keys keep their items out, are listed, and do not stop the backfill.
#[test]
fn violations_are_passed_over_and_listed() {
    let (control, hold) = held();
    tab(&control, 2);
    let long = "x".repeat(2049);
    let values = [
        json!({ "N": "1" }),
        json!({ "S": "" }),
        json!({ "S": long }),
        json!({ "NULL": true }),
        json!({ "SS": ["x"] }),
    ];
    for (at, value) in values.iter().enumerate() {
        control.put(
            "Tab",
            json!({ "pk": { "S": format!("v{at}") }, "a": value, "n": { "N": "0" } }),
        );
    }
    control.put("Tab", json!({ "pk": { "S": "without" } }));
    let violations = || {
        control
            .database
            .engine()
            .describe(&TableName::new("Tab").unwrap())
            .unwrap()
            .unwrap()
            .indexes[0]
            .violations
    };
    hold.hold(IndexStage::Backfill);
    control.ok("UpdateTable", creation("Tab", "by-a", "a"));
    run(&control);
    // Refused from the definition on; a write that mends an item before the backfill reaches it is no violation any more.
    let mismatch = "IV: Type mismatch for Index Key a Expected: S Actual: N IndexName: by-a";
    control.fails(
        "PutItem",
        json!({ "TableName": "Tab", "Item": { "pk": { "S": "q" }, "a": { "N": "1" } } }),
        mismatch,
    );
    control.put(
        "Tab",
        json!({ "pk": { "S": "v4" }, "a": { "S": "mended" } }),
    );
    assert_eq!(violations(), 0);
    hold.release(IndexStage::Backfill);
    run(&control);
    assert_eq!(
        state(&control, "Tab", 0),
        is("ACTIVE", "ACTIVE", Value::Null)
    );
    assert_eq!(control.column("Tab/by-a", "pk"), ["p0", "p1", "v4"]);
    assert_eq!(violations(), 4);
    assert_clean(&control);

    // An update of another attribute leaves it; mending and deleting take it off.
    let body = json!({ "TableName": "Tab", "Key": { "pk": { "S": "v0" } }, "UpdateExpression": "SET n = n + :one",
        "ExpressionAttributeValues": { ":one": { "N": "1" } } });
    control.ok("UpdateItem", body);
    assert_eq!(violations(), 4);
    control.put(
        "Tab",
        json!({ "pk": { "S": "v1" }, "a": { "S": "mended" } }),
    );
    let body = json!({ "TableName": "Tab", "Key": { "pk": { "S": "v2" } } });
    control.ok("DeleteItem", body);
    assert_eq!(violations(), 2);
    assert_eq!(control.column("Tab/by-a", "pk"), ["p0", "p1", "v1", "v4"]);
    assert_clean(&control);
    control.ok("UpdateTable", deletion("Tab", "by-a"));
    run(&control);
    assert_clean(&control);
}

/// A table is deleted with everything of an index that UpdateTable made.
#[test]
fn deleting_the_table_leaves_nothing() {
    let (control, _) = held();
    tab(&control, 2);
    control.put("Tab", json!({ "pk": { "S": "bad" }, "a": { "N": "1" } }));
    control.ok("UpdateTable", creation("Tab", "by-a", "a"));
    run(&control);
    control.ok("DeleteTable", json!({ "TableName": "Tab" }));
    assert_clean(&control);
    control.simple("Tab");
    assert_eq!(
        control.describe("Tab")["CreationDateTime"],
        NOW_MS as f64 / 1000.0
    );
    assert_clean(&control);
}

/// docs/requirements.md P-09: CREATING and DELETING by the clock; data operations need an active table.
#[test]
fn p_09_tables_take_the_configured_time() {
    let control = Control::on(Arc::new(MemoryStore::new().unwrap()), |options| {
        options.background_period = None;
        options.table_delay_ms = 1_000;
    });
    let put = json!({ "TableName": "Tab", "Item": { "pk": { "S": "p" } } });
    let by_name = json!({ "TableName": "Tab" });
    let is_being = |what: &str| {
        format!("Attempt to change a resource which is still in use: Table is being {what}: Tab")
    };
    control.simple("Tab");
    assert_eq!(control.describe("Tab")["TableStatus"], "CREATING");
    control.clock.advance_ms(999);
    run(&control);
    control.fails("PutItem", put.clone(), "Requested resource not found");
    control.fails("Scan", by_name.clone(), "Requested resource not found");
    control.fails("DeleteTable", by_name.clone(), &is_being("created"));
    control.fails(
        "UpdateTable",
        creation("Tab", "new", "a"),
        &is_being("created"),
    );
    assert_clean(&control);
    control.clock.advance_ms(1);
    run(&control);
    assert_eq!(control.describe("Tab")["TableStatus"], "ACTIVE");
    control.ok("PutItem", put.clone());

    assert_eq!(
        control.ok("DeleteTable", by_name.clone())["TableDescription"]["TableStatus"],
        "DELETING"
    );
    assert_eq!(control.describe("Tab")["TableStatus"], "DELETING");
    control.fails("PutItem", put, "Requested resource not found");
    control.fails("DeleteTable", by_name.clone(), &is_being("deleted"));
    assert_eq!(
        control.ok("ListTables", json!({}))["TableNames"],
        json!(["Tab"])
    );
    assert_clean(&control);
    control.clock.advance_ms(1_000);
    run(&control);
    control.fails(
        "DescribeTable",
        by_name,
        "Requested resource not found: Table: Tab not found",
    );
    assert_clean(&control);
    control.simple("Tab");
}

/// Reads of a global index see writes late, those of a local index and of the table at once (docs/requirements.md G-31, G-32).
#[test]
fn g_31_g_32_global_indexes_lag_and_converge() {
    let control = Control::on(Arc::new(MemoryStore::new().unwrap()), |options| {
        options.background_period = None;
        options.gsi_delay_ms = 50;
    });
    let key = |name: &str| json!([{ "AttributeName": "pk", "KeyType": "HASH" }, { "AttributeName": name, "KeyType": "RANGE" }]);
    let all = json!({ "ProjectionType": "ALL" });
    control.ok(
        "CreateTable",
        json!({ "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys(&["pk", "sk"]),
            "AttributeDefinitions": defined(&[("pk", "S"), ("sk", "S"), ("a", "S")]),
            "LocalSecondaryIndexes": [{ "IndexName": "local", "KeySchema": key("a"), "Projection": all }],
            "GlobalSecondaryIndexes": [{ "IndexName": "by-a", "KeySchema": keys(&["a"]), "Projection": all }] }),
    );
    let put = |a: &str| {
        control.put(
            "Tab",
            json!({ "pk": { "S": "p" }, "sk": { "S": "s" }, "a": { "S": a } }),
        )
    };
    let shown = || {
        (
            control.column("Tab/by-a", "a"),
            control.column("Tab/local", "a"),
        )
    };
    let show = |global: &[&str], local: &str| {
        assert_eq!(
            shown(),
            (
                global.iter().map(|a| (*a).to_owned()).collect(),
                vec![local.to_owned()]
            )
        )
    };
    let lag = || {
        control
            .database
            .engine()
            .describe(&TableName::new("Tab").unwrap())
            .unwrap()
            .unwrap()
            .index_lag
            .unwrap()
    };
    put("1");
    show(&[], "1");
    control.clock.advance_ms(30);
    put("2");
    run(&control);
    show(&[], "2");
    assert_eq!((lag().pending, lag().lag_ms), (2, 30));
    assert_clean(&control);
    control.clock.advance_ms(20);
    run(&control);
    show(&["1"], "2");
    control.clock.advance_ms(30);
    run(&control);
    show(&["2"], "2");
    // Paused, it stays as it is; resumed, it converges.
    let pause = |is_paused| {
        control
            .database
            .engine()
            .pause_index_propagation(&TableName::new("Tab").unwrap(), is_paused)
            .unwrap()
    };
    pause(true);
    put("3");
    control.clock.advance_ms(1_000);
    run(&control);
    show(&["2"], "3");
    assert!(lag().is_paused);
    assert_clean(&control);
    pause(false);
    run(&control);
    show(&["3"], "3");
    assert_eq!(lag().pending, 0);
    assert_clean(&control);
    let unknown = control
        .database
        .engine()
        .pause_index_propagation(&TableName::new("None").unwrap(), true)
        .unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "Requested resource not found: Table: None not found"
    );
}
