//! Filters, write-sharded keys and every result of query paths, on a real mount.

use crate::support::mounted;
use crate::support::mounted::{Mount, create_table, memory, put};
use ddbfs::fs::FsError;
use ddbfs::fs::view::Caller;
use serde_json::{Value, json};

/// Invoices of the data set D-05, and the transactions of D-06 with their sharded index.
fn invoices() -> Mount {
    let db = memory();
    create_table(
        &*db,
        r#"{"TableName": "Invoice", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "InvoiceNumber+suffix", "KeyType": "HASH"}, {"AttributeName": "ClientTransactionId", "KeyType": "RANGE"}],
            "AttributeDefinitions": [{"AttributeName": "InvoiceNumber+suffix", "AttributeType": "S"}, {"AttributeName": "ClientTransactionId", "AttributeType": "S"}]}"#,
    );
    for (pk, sk, date) in [
        ("121212-1", "Client1_Trans1", "2016-05-17 01.36.45"),
        ("121212-1", "Client1_Trans2", "2016-05-18 01.36.30"),
        ("121212-2", "Client2_Trans1", "2016-06-15 01.36.20"),
        ("121212-2", "Client2_Trans2", "2016-07-01 01.36.15"),
    ] {
        put(
            &*db,
            "Invoice",
            &json!({"InvoiceNumber+suffix": pk, "ClientTransactionId": sk, "InvoiceDate": date})
                .to_string(),
        );
    }
    create_table(
        &*db,
        r#"{"TableName": "InvoiceTransactions", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "InvoiceNumber", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "AttributeDefinitions": [{"AttributeName": "InvoiceNumber", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"},
                {"AttributeName": "prefix", "AttributeType": "N"}, {"AttributeName": "country", "AttributeType": "S"}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-country", "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [{"AttributeName": "prefix", "KeyType": "HASH"}, {"AttributeName": "country", "KeyType": "RANGE"}]}]}"#,
    );
    for (invoice, prefix, country, total, currency) in [
        ("121212", 1, "USA", 10_000, "USD"),
        ("121213", 3, "USA", 500_000, "USD"),
        ("121214", 2, "FRA", 500_000, "EUR"),
    ] {
        let item = json!({"InvoiceNumber": invoice, "sk": "Maestrelement", "prefix": prefix, "country": country, "total": total, "cur": currency});
        put(&*db, "InvoiceTransactions", &item.to_string());
    }
    Mount::of(db)
}

/// `cat path`, the path being quoted.
#[track_caller]
fn cat(mount: &Mount, path: &str) -> String {
    mount.sh(&format!("cat '{path}'")).ok().to_owned()
}

#[track_caller]
fn check(mount: &Mount, path: &str, expected: &str) {
    assert_eq!(cat(mount, path), expected, "{path}");
}

#[track_caller]
fn json_of(mount: &Mount, path: &str) -> Value {
    serde_json::from_str(&cat(mount, path)).unwrap()
}

#[test]
fn write_sharded_invoices_d_05() {
    let mount = invoices();
    check(
        &mount,
        "Invoice/query/@pk=121212-1/@sk.begins=Client1/count",
        "2\n",
    );
    let all = "Invoice/query/@pk.shards=121212-,1,5";
    check(&mount, &format!("{all}/@sk.begins=Client1/count"), "2\n");
    let keys = |order: &[usize]| -> String {
        let all = [
            "1/Client1_Trans1",
            "1/Client1_Trans2",
            "2/Client2_Trans1",
            "2/Client2_Trans2",
        ];
        order
            .iter()
            .map(|n| format!("items/121212-{}.json\n", all[*n]))
            .collect()
    };
    check(&mount, &format!("{all}/keys"), &keys(&[0, 1, 2, 3]));
    check(&mount, &format!("{all}/desc/keys"), &keys(&[3, 2, 1, 0]));
    check(
        &mount,
        &format!("{all}/desc/limit=3/keys"),
        &keys(&[3, 2, 1]),
    );
    check(&mount, &format!("{all}/limit=3/count"), "3\n");
    check(
        &mount,
        &format!("{all}/select=InvoiceDate/desc/limit=1/items.ndjson"),
        "{\"InvoiceDate\":\"2016-07-01 01.36.15\"}\n",
    );
    check(
        &mount,
        &format!("{all}/where.InvoiceDate.lt=2016-06/keys"),
        &keys(&[0, 1]),
    );
    check(&mount, "Invoice/query/@pk=121212-3/count", "0\n");
    let units = json_of(&mount, "Invoice/query/@pk=121212-3/capacity.json");
    assert_eq!(
        (
            &units["Requests"],
            &units["Count"],
            &units["ConsumedCapacity"]["CapacityUnits"]
        ),
        (&json!(1), &json!(0), &json!(0.5))
    );
    let units = json_of(&mount, &format!("{all}/@sk.begins=Client1/capacity.json"));
    assert_eq!(
        (
            &units["Requests"],
            &units["Count"],
            &units["ConsumedCapacity"]["CapacityUnits"]
        ),
        (&json!(5), &json!(2), &json!(2.5))
    );
    assert_eq!(
        json_of(&mount, &format!("{all}/explain.json"))["requests"]["at_most"],
        5
    );
    let listed = mount
        .sh(&format!("cd {all}/desc && ls -U && cat 000001,*"))
        .ok()
        .to_owned();
    let expected = "000001,121212-2,Client2_Trans2.json\n000002,121212-2,Client2_Trans1.json\n000003,121212-1,Client1_Trans2.json\n\
        000004,121212-1,Client1_Trans1.json\n\
        {\"InvoiceNumber+suffix\":\"121212-2\",\"ClientTransactionId\":\"Client2_Trans2\",\"InvoiceDate\":\"2016-07-01 01.36.15\"}\n";
    assert_eq!(listed, expected);
}

#[test]
fn a_sharded_index_d_06() {
    let mount = invoices();
    let index = "InvoiceTransactions/gsi/by-country/query/@pk.shards=,1,5";
    let keys = |invoices: &[&str]| -> String {
        invoices
            .iter()
            .map(|n| format!("items/{n}/Maestrelement.json\n"))
            .collect()
    };
    check(
        &mount,
        &format!("{index}/country=USA/keys"),
        &keys(&["121212", "121213"]),
    );
    check(
        &mount,
        &format!("{index}/country=FRA/keys"),
        &keys(&["121214"]),
    );
    check(
        &mount,
        &format!("{index}/desc/keys"),
        &keys(&["121212", "121213", "121214"]),
    );
}

/// A table of readings: n is 0 to 9, tag on every third, an LSI on `at` and a GSI on `kind` that projects `n`.
fn readings() -> Mount {
    let db = memory();
    create_table(
        &*db,
        r#"{"TableName": "Readings", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"},
                {"AttributeName": "at", "AttributeType": "S"}, {"AttributeName": "kind", "AttributeType": "S"}],
            "LocalSecondaryIndexes": [{"IndexName": "by-at", "Projection": {"ProjectionType": "KEYS_ONLY"},
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-kind", "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n"]},
                "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]}]}"#,
    );
    for n in 0..10 {
        let mut item = json!({"pk": "p", "sk": n, "n": n, "at": format!("t{}", 9 - n), "kind": if n % 2 == 0 { "even" } else { "odd" }});
        if n % 3 == 0 {
            item["tag"] = json!({"name": format!("x,{n}"), "list": [n, true, null]});
        }
        put(&*db, "Readings", &item.to_string());
    }
    Mount::of(db)
}

#[test]
fn filters_return_what_matches_until_the_limit() {
    let mount = readings();
    for (path, expected) in [
        ("query/@pk=p/where.n.ge=7/count", "3\n"),
        (
            "query/@pk=p/where=n >= 7 OR tag.name = \"x,0\"/count",
            "4\n",
        ),
        ("query/@pk=p/where.tag.exists/count", "4\n"),
        (
            "query/@pk=p/where.tag.name.begins=x/where.n.gt=3/keys",
            "items/p/6.json\nitems/p/9.json\n",
        ),
        ("query/@pk=p/where.tag.list[0].in=3,6/count", "2\n"),
        ("query/@pk=p/where.tag.list.size-eq=3/count", "4\n"),
        (
            "query/@pk=p/where.n.between=2,4/desc/limit=2/select=n/items.ndjson",
            "{\"n\":4}\n{\"n\":3}\n",
        ),
        (
            "query/@pk=p/where.kind.eq=odd/limit=2/keys",
            "items/p/1.json\nitems/p/3.json\n",
        ),
        ("query/@pk=p/where.kind.eq=odd/eval=4/count", "2\n"),
        ("query/@pk=p/where.kind.eq=odd/eval=4/limit=1/count", "1\n"),
        (
            "query/@pk=p/sk.ge=5/where.kind.eq=even/keys",
            "items/p/6.json\nitems/p/8.json\n",
        ),
        (
            "gsi/by-kind/query/kind=odd/where.n.lt=4/keys",
            "items/p/3.json\nitems/p/1.json\n",
        ),
        ("scan/where.sk.lt=3/count", "3\n"),
        ("scan/where.kind.eq=odd/where.n.gt=5/count", "2\n"),
    ] {
        check(&mount, &format!("Readings/{path}"), expected);
    }
    let listed = mount
        .sh("ls -U 'Readings/query/@pk=p/where.kind.eq=odd/limit=2' 'Readings/query/@pk=p/where.kind.eq=odd/eval=4'")
        .ok()
        .to_owned();
    assert_eq!(listed.matches("000002,3.json").count(), 2, "{listed}");
    // A page of the API evaluates `limit` items; its token goes on after them.
    let page = json_of(
        &mount,
        "Readings/query/@pk=p/where.kind.eq=odd/limit=4/page.json",
    );
    assert_eq!(
        (&page["Count"], &page["ScannedCount"]),
        (&json!(2), &json!(4))
    );
    // A filter longer than a file name of other directories.
    let long = (0..60)
        .map(|n| format!("n = {n}"))
        .collect::<Vec<_>>()
        .join(" OR ");
    assert!(long.len() > 255);
    check(&mount, &format!("Readings/scan/where={long}/count"), "10\n");
}

#[test]
fn next_is_the_token_after_a_page_and_walks_to_the_end() {
    let mount = readings();
    let script = r#"
        q='Readings/query/@pk=p/limit=4'; n=0; next=$(cat "$q/next"); jq -c '.Items|map(.n)' "$q/page.json"
        while [ -n "$next" ]; do
            jq -c '.Items|map(.n)' "$q/after=$next/page.json"; next=$(cat "$q/after=$next/next")
        done"#;
    assert_eq!(mount.sh(script).ok(), "[0,1,2,3]\n[4,5,6,7]\n[8,9]\n");
    check(&mount, "Readings/query/@pk=p/next", "");
}

#[test]
fn csv_has_the_columns_of_select_or_of_all_items() {
    let mount = readings();
    check(
        &mount,
        "Readings/query/@pk=p/sk.le=1/select=n,tag.name,tag.list[1]/items.csv",
        "n,tag.name,tag.list[1]\n0,\"x,0\",true\n1,,\n",
    );
    check(
        &mount,
        "Readings/query/@pk=p/sk.le=1/items.csv",
        "pk,sk,at,kind,n,tag\np,0,t9,even,0,\"{\"\"list\"\":[0,true,null],\"\"name\"\":\"\"x,0\"\"}\"\np,1,t8,odd,1,\n",
    );
    check(
        &mount,
        "Readings/query/@pk=p/sk=1/items.csv",
        "pk,sk,at,kind,n\np,1,t8,odd,1\n",
    );
    check(&mount, "Readings/query/@pk=nobody/items.csv", "pk,sk\n");
    check(
        &mount,
        "Readings/gsi/by-kind/query/kind=odd/desc/limit=1/items.csv",
        "kind,at,pk,sk,n\nodd,t8,p,1,1\n",
    );
    // What a local index lacks is fetched.
    check(
        &mount,
        "Readings/lsi/by-at/query/pk=p/limit=2/select=n,at/items.csv",
        "n,at\n9,t0\n8,t1\n",
    );
    let script = r#"python3 -c 'import csv,sys; print([r["tag"] for r in csv.DictReader(open("Readings/scan/limit=1/items.csv"))])'"#;
    assert_eq!(
        mount.sh(script).ok(),
        "['{\"list\":[0,true,null],\"name\":\"x,0\"}']\n"
    );
}

/// An index lacks the items without its sort key, and a scan finds them.
#[test]
fn explain_tells_that_an_index_lacks_items() {
    let mount = readings();
    mount
        .sh("echo '{\"kind\":\"odd\"}' > Readings/items/p/99.json")
        .ok();
    let plan = json_of(&mount, "Readings/scan/where.kind.eq=odd/explain.json");
    let expected = "gsi/by-kind/query/kind=… reads only what matches, but finds only items that have kind and at: 10 of 11 are in it";
    assert_eq!(plan["cheaper"][0], expected, "{plan:#}");
}

#[test]
fn explain_tells_the_cost_and_what_would_be_cheaper() {
    let mount = readings();
    let plan = json_of(
        &mount,
        "Readings/query/@pk=p/sk.ge=4/where.n.gt=7/explain.json",
    );
    assert_eq!(plan["key_condition"], json!(["pk = \"p\" AND sk >= 4"]));
    assert_eq!(plan["filter"], "(n > 7)");
    assert_eq!(
        (&plan["index"], &plan["requests"]),
        (&Value::Null, &json!({"at_least": 1, "at_most": 1}))
    );
    assert_eq!(plan["items"], json!({"at_least": 6, "at_most": 6}));
    assert_eq!(
        plan["capacity_units"],
        json!({"at_least": 0.5, "at_most": 0.5})
    );
    let advice = |path: &str, part: &str| {
        let plan = json_of(&mount, &format!("Readings/{path}/explain.json"));
        let found = plan["cheaper"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line.as_str().unwrap().contains(part));
        assert!(found, "{path}: {part}: {plan:#}");
    };
    advice("query/@pk=p/where.n.gt=7", "a filter saves no reading");
    advice(
        "query/@pk=p/where.at.gt=t7",
        "lsi/by-at/query/pk=…/at.ge=… reads only what matches",
    );
    advice(
        "scan/where.kind.eq=odd",
        "gsi/by-kind/query/kind=… reads only what matches",
    );
    advice("scan/where.pk.eq=p", "query/pk=… reads one item collection");
    let scan = json_of(&mount, "Readings/scan/explain.json");
    assert_eq!(scan["key_condition"], json!([]));
    advice("scan/consistent", "consistent reads cost twice");
    advice("query/@pk=p/select=n", "select saves no reading");
    advice(
        "lsi/by-at/query/pk=p/select=n",
        "lsi/by-at does not project n",
    );
    let fetching = json_of(
        &mount,
        "Readings/lsi/by-at/query/pk=p/select=n/explain.json",
    );
    assert_eq!(fetching["fetched_attributes"], json!(["n"]));
    assert_eq!(fetching["fetches"], json!({"at_least": 10, "at_most": 10}));
    let entries = json_of(&mount, "Readings/lsi/by-at/query/pk=p/explain.json")["bytes"]["at_most"]
        .as_u64()
        .unwrap();
    let items = json_of(&mount, "Readings/query/pk=p/explain.json")["bytes"]["at_most"]
        .as_u64()
        .unwrap();
    assert_eq!(
        fetching["bytes"]["at_least"],
        entries + items,
        "what is fetched is read too"
    );
    let consumed = json_of(
        &mount,
        "Readings/lsi/by-at/query/pk=p/select=n/capacity.json",
    );
    assert_eq!(
        fetching["capacity_units"]["at_most"],
        consumed["ConsumedCapacity"]["CapacityUnits"]
    );
    assert_eq!(consumed["ConsumedCapacity"]["Table"]["CapacityUnits"], 5.0);
    assert_eq!(
        consumed["ConsumedCapacity"]["LocalSecondaryIndexes"]["by-at"]["CapacityUnits"],
        0.5
    );
}

#[test]
fn live_hides_items_whose_time_is_over() {
    use ddbfs::model::TableName;
    use ddbfs::model::api::{TimeToLiveSpecification, UpdateTimeToLiveRequest};
    let mount = readings();
    check(&mount, "Readings/scan/live/count", "10\n");
    for (sk, ends) in [
        (20, json!(1)),
        (21, json!(99_999_999_999_u64)),
        (22, json!("1")),
    ] {
        put(
            &*mount.db,
            "Readings",
            &json!({"pk": "t", "sk": sk, "ends": ends}).to_string(),
        );
    }
    let filter = json_of(&mount, "Readings/query/@pk=t/live/request.json");
    assert_eq!(filter["FilterExpression"], Value::Null);
    let specification = TimeToLiveSpecification {
        enabled: true,
        attribute_name: "ends".to_owned(),
    };
    let request = UpdateTimeToLiveRequest {
        table_name: TableName::new("Readings").unwrap(),
        specification,
    };
    mount.db.update_time_to_live(request).unwrap();
    let filter = json_of(&mount, "Readings/query/@pk=t/live/request.json");
    assert_eq!(
        filter["FilterExpression"],
        "NOT attribute_type(#f1, :f1) OR #f1 >= :f2"
    );
    check(
        &mount,
        "Readings/query/@pk=t/live/keys",
        "items/t/21.json\nitems/t/22.json\n",
    );
    let failed =
        mount.sh("cat 'Readings/gsi/by-kind/query/kind=odd/live/count'; cat .ddb/errors/last");
    assert!(
        failed.out.contains("live does not work here: ends is the table's time to live, and index by-kind does not project ends"),
        "{failed:?}"
    );
}

/// Each illegal form, its errno and what `.ddb/errors/last` says.
#[test]
fn illegal_forms_are_explained() {
    let mount = readings();
    for (path, message, hint) in [
        (
            "query/@pk=p/limt=3/count",
            "unknown clause 'limt=3'",
            "did you mean 'limit='?",
        ),
        (
            "query/@pk=p/n=3/count",
            "n is no key attribute here, so this would be a filter: DynamoDB reads, and charges for, every item",
            "write where.n.eq=…",
        ),
        (
            "query/@pk=p/kind=odd/count",
            "kind is no key attribute here",
            "gsi/by-kind/query/kind=…",
        ),
        (
            "query/count",
            "a query needs @pk=…, the partition key pk",
            "for example pk=…/items.ndjson",
        ),
        (
            "query/sk.ge=1/items.ndjson",
            "a query needs @pk=…, the partition key pk",
            "for example",
        ),
        (
            "query/@pk=p/sk.ge=1/sk.le=3/count",
            "a key condition takes one operator on sk, there is one already",
            "@sk.between=lower,upper",
        ),
        ("query/@pk=p/@pk=q/count", "@pk is given twice", ""),
        (
            "query/@pk.gt=p/count",
            "the partition key pk takes '=' only",
            "scan/",
        ),
        (
            "query/@pk=p/sk=x/count",
            "sk: The parameter cannot be converted to a numeric value: x",
            "",
        ),
        (
            "query/@pk=p/sk.begins=1/count",
            "'begins' does not work on sk, a number",
            "between, ge or lt",
        ),
        (
            "query/@pk=p/sk.between=3,1/count",
            "between on sk: the lower value is greater than the upper",
            "desc",
        ),
        (
            "query/@pk=p/sk.gtt=1/count",
            "unknown operator 'gtt' on sk",
            "did you mean 'gt'?",
        ),
        (
            "gsi/by-kind/query/kind=odd/consistent/count",
            "consistent reads are not supported on global secondary indexes",
            "leave it out",
        ),
        (
            "gsi/by-kind/query/kind=odd/select=tag/count",
            "index by-kind does not project tag",
            "query the table",
        ),
        (
            "gsi/by-kind/query/kind=odd/where.tag.exists/count",
            "index by-kind does not project tag",
            "query the table",
        ),
        (
            "lsi/by-at/query/pk=p/where.n.gt=1/count",
            "index by-at does not project n",
            "query the table",
        ),
        (
            "query/@pk=p/where.sk.gt=1/count",
            "sk is a sort key of what is queried",
            "without where",
        ),
        (
            "query/@pk=p/where.n.gtt=1/count",
            "unknown operator 'gtt' in where.n.gtt",
            "where.n.gt",
        ),
        (
            "query/@pk=p/where=n > /count",
            "Syntax error",
            "for example where=",
        ),
        (
            "query/@pk=p/where=kind = odd-x y/count",
            "Syntax error; token: \"y\"",
            "for example where=",
        ),
        (
            "query/@pk=p/asc/desc/count",
            "asc and desc exclude each other",
            "",
        ),
        (
            "query/@pk=p/limit=0/count",
            "limit takes a whole number from 1, not '0'",
            "",
        ),
        (
            "query/@pk=p/after=abc/count",
            "this is no position token of ddbfs",
            "page.json",
        ),
        (
            "query/@pk=p/segment=0,2/count",
            "segment does not work on a query",
            "scan/",
        ),
        (
            "scan/segment=2,2/count",
            "segment takes its number and how many there are",
            "",
        ),
        ("scan/desc/count", "desc does not work on a scan", "query/"),
        (
            "scan/@pk=p/count",
            "the key condition @pk=p does not work on a scan",
            "query/",
        ),
        (
            "query/@pk.shards=p/count",
            "shards are prefix,first,last with whole numbers, not 'p'",
            "121212-",
        ),
        (
            "query/@pk.shards=p,1,2/page.json",
            "page.json stands for one request, but @pk.shards makes several",
            "items.ndjson",
        ),
        (
            "query/@pk.shards=p,1,2/request.json",
            "request.json stands for one request",
            "",
        ),
        (
            "query/@pk.shards=p,1,2/next",
            "next stands for one request",
            "",
        ),
        ("query/@pk=p/live=1/count", "live takes no value", ""),
        (
            "query/@pk=p/select=a,a/items.ndjson",
            "Two document paths overlap",
            "",
        ),
    ] {
        let ran = mount.sh(&format!("cat 'Readings/{path}'; cat .ddb/errors/last"));
        assert!(ran.err.ends_with("Invalid argument\n"), "{path}: {ran:?}");
        assert!(
            ran.out.contains("EINVAL") && ran.out.contains(message),
            "{path}: {}",
            ran.out
        );
        assert!(
            hint.is_empty() || ran.out.contains("  hint: ") && ran.out.contains(hint),
            "{path}: {}",
            ran.out
        );
    }
}

/// Reading and listing what no filter lets through ends with its reader, and nobody else waits for it.
#[test]
fn long_reads_hold_nobody_up_and_end_with_their_reader() {
    let db = memory();
    create_table(&*db, mounted::FLAT);
    for n in 0..5_000 {
        put(
            &*db,
            "Flat",
            &json!({"id": n.to_string(), "n": n, "text": "x".repeat(200)}).to_string(),
        );
    }
    let mount = Mount::of(db);
    // Twelve walks over the table at once; each finds nothing.
    let script = "
        for i in $(seq 4); do
            ls 'Flat/scan/where.n.lt=0' & cat 'Flat/scan/where.n.lt=0/items.ndjson' & cat 'Flat/scan/where.n.lt=0/count' &
        done
        cat Flat/items/7.json > /dev/null && echo read
        wait";
    let out = mount.sh(script).ok().to_owned();
    assert_eq!(
        (out.matches("read\n").count(), out.matches("0\n").count()),
        (1, 4),
        "{out}"
    );
    // A reader that is ended in the middle of a read is gone at once, by its signal.
    let script = "cat 'Flat/scan/where.n.lt=0/capacity.json' Flat/scan/where.n.lt=0/count & kill -INT $!; wait $!; echo $?";
    assert!(
        ["130\n", "0\n"]
            .iter()
            .any(|end| mount.sh(script).out.ends_with(end))
    );
    let (status, lines) = (
        mount.sh("cat Flat/scan/items.ndjson | head -1 | wc -l"),
        mount.sh("wc -l < Flat/scan/items.csv"),
    );
    assert_eq!((status.ok(), lines.ok()), ("1\n", "5001\n"));
}

/// A listing that finds nothing ends between two pages once its caller has a signal, and one that is wanted again goes on to its end.
#[test]
fn a_listing_that_finds_nothing_ends_with_its_caller() {
    const ITEMS: u64 = 3_000;
    let db = memory();
    create_table(&*db, mounted::FLAT);
    for n in 0..ITEMS {
        put(
            &*db,
            "Flat",
            &json!({"id": format!("{n:05}"), "n": n, "text": "x".repeat(1_000)}).to_string(),
        );
    }
    let mount = Mount::of(db);
    // A stopped process keeps the signal that it is sent: it is pending for as long as this test likes.
    let mut holder = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    let pid = holder.id();
    let sent = std::process::Command::new("bash")
        .args(["-c", &format!("kill -STOP {pid}; until grep -q '^State:.T' /proc/{pid}/status; do :; done; kill -INT {pid}")])
        .status();
    let list = |path: &str, pid: u32| {
        let of_process = |pid| {
            mount.view().with_caller(Caller {
                pid,
                ..Caller::default()
            })
        };
        let view = of_process(pid);
        let mut ino = ddbfs::fs::node::ROOT_INO;
        for name in path.split('/') {
            ino = view.lookup(ino, name.as_bytes()).unwrap().ino;
        }
        let handle = view.opendir(ino, false).unwrap();
        let mut names = Vec::new();
        // "." and ".." are there at once: what is looked for comes after them.
        let mut read = |pid: u32| {
            of_process(pid).readdir(handle, 2, &mut |listed, _| {
                names.push(listed.name.to_owned());
                false
            })
        };
        let (first, second) = (
            read(pid).map_err(|error| error.to_string()),
            read(std::process::id()),
        );
        second.unwrap();
        view.releasedir(handle);
        (first, names.len())
    };
    let interrupted = Err(FsError::Interrupted.to_string());
    let last = "Flat/scan/where.n.ge=2999";
    let checks = [
        // Of the whole table in pages, one is read before anybody is asked.
        (last.to_owned(), pid, (interrupted.clone(), 1)),
        (format!("{last}/eval=100000"), pid, (interrupted, 1)),
        // Nobody has to be asked: the first page is the answer.
        (
            "Flat/scan/where.n.ge=0/limit=5".to_owned(),
            pid,
            (Ok(()), 10),
        ),
        (last.to_owned(), std::process::id(), (Ok(()), 2)),
        // A caller in another pid namespace cannot be looked at.
        (last.to_owned(), 0, (Ok(()), 2)),
    ];
    let found: Vec<_> = checks
        .iter()
        .map(|(path, pid, _)| list(path, *pid))
        .collect();
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(sent.unwrap().success());
    for ((path, _, expected), found) in checks.iter().zip(found) {
        assert_eq!(&found, expected, "{path}");
    }
    // And a real one, which is gone by its signal or was faster.
    let script = "ls 'Flat/scan/where.n.lt=0/' & kill -INT $!; wait $!; echo $?";
    assert!(
        ["130\n", "0\n", "2\n"]
            .iter()
            .any(|end| mount.sh(script).out.ends_with(end))
    );
}

/// Shards listed in many pieces, in order and each once.
#[test]
fn a_long_listing_of_shards_goes_on_where_it_was() {
    let mount = invoices();
    for n in 0..3_000 {
        let item = json!({"InvoiceNumber+suffix": format!("9-{}", n % 5), "ClientTransactionId": format!("{n:05}")});
        put(&*mount.db, "Invoice", &item.to_string());
    }
    let listed = mount
        .sh("ls -U 'Invoice/query/@pk.shards=9-,0,4' | cut -d, -f3")
        .ok()
        .to_owned();
    let expected: String = (0..3_000).map(|n| format!("{n:05}.json\n")).collect();
    assert_eq!(listed, expected);
}
