//! What one front end acknowledged, the other shows in its very next call: items, index directories and query paths.

use std::fs;

use crate::support::daemon::{Mount, check, free_address, post};
use serde_json::{Value, json};

const ROUNDS: u64 = 200;

/// One call of the API that must succeed; the answer's body.
fn call(address: &str, operation: &str, body: &Value) -> Value {
    let answer = post(address, operation, &body.to_string()).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{operation}: {answer}");
    serde_json::from_str(body).unwrap()
}

fn mounted() -> (Mount, String) {
    let address = free_address();
    let mount = Mount::with_args(&["--http", &address]);
    call(
        &address,
        "CreateTable",
        &json!({"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"},
                {"AttributeName": "n", "AttributeType": "N"}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-n", "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}}]}),
    );
    (mount, address)
}

#[test]
fn a_write_through_http_shows_in_the_next_call_on_the_mount() {
    let (mount, address) = mounted();
    let table = mount.point().join("Orders");
    for n in 1..=ROUNDS {
        let item = json!({"pk": {"S": "u1"}, "sk": {"S": "o1"}, "n": {"N": n.to_string()}});
        call(
            &address,
            "PutItem",
            &json!({"TableName": "Orders", "Item": item}),
        );
        let line = format!("{{\"pk\":\"u1\",\"sk\":\"o1\",\"n\":{n}}}\n");
        assert_eq!(
            fs::metadata(table.join("items/u1/o1.json")).unwrap().len(),
            line.len() as u64
        );
        assert_eq!(
            fs::read_to_string(table.join("items/u1/o1.json")).unwrap(),
            line
        );
        let partitions: Vec<_> = fs::read_dir(table.join("gsi/by-n/items"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(partitions, [n.to_string().as_str()]);
        assert_eq!(
            fs::read_to_string(table.join(format!("gsi/by-n/query/@pk={n}/count"))).unwrap(),
            "1\n"
        );
        assert_eq!(
            fs::read_to_string(table.join(format!("gsi/by-n/query/@pk={}/count", n - 1))).unwrap(),
            "0\n"
        );
    }
    call(
        &address,
        "DeleteItem",
        &json!({"TableName": "Orders", "Key": {"pk": {"S": "u1"}, "sk": {"S": "o1"}}}),
    );
    assert!(!table.join("items/u1/o1.json").exists());
    call(&address, "DeleteTable", &json!({"TableName": "Orders"}));
    assert!(!table.join("items").exists());
}

#[test]
fn a_write_through_the_mount_shows_in_the_next_call_over_http() {
    let (mount, address) = mounted();
    let items = mount.point().join("Orders/items");
    fs::create_dir(items.join("u1")).unwrap();
    let key = json!({"pk": {"S": "u1"}, "sk": {"S": "o1"}});
    for n in 1..=ROUNDS {
        fs::write(items.join("u1/o1.json"), format!("{{\"n\":{n}}}")).unwrap();
        let got = call(
            &address,
            "GetItem",
            &json!({"TableName": "Orders", "Key": key}),
        );
        assert_eq!(got["Item"]["n"]["N"], n.to_string());
        let query = json!({"TableName": "Orders", "IndexName": "by-n", "KeyConditionExpression": "n = :n",
            "ExpressionAttributeValues": {":n": {"N": n.to_string()}}});
        assert_eq!(call(&address, "Query", &query)["Count"], 1);
    }
    fs::remove_file(items.join("u1/o1.json")).unwrap();
    assert_eq!(
        call(
            &address,
            "GetItem",
            &json!({"TableName": "Orders", "Key": key})
        ),
        json!({})
    );
}

#[test]
fn both_front_ends_write_at_once_and_every_index_follows() {
    let (mount, address) = mounted();
    let items = mount.point().join("Orders/items");
    fs::create_dir(items.join("p")).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..ROUNDS {
                fs::write(
                    items.join(format!("p/{:02}.json", n % 20)),
                    format!("{{\"n\":{n}}}"),
                )
                .unwrap();
            }
        });
        scope.spawn(|| {
            for n in 0..ROUNDS {
                let item = json!({"pk": {"S": "p"}, "sk": {"S": format!("{:02}", n % 20)}, "n": {"N": (1000 + n).to_string()}});
                call(&address, "PutItem", &json!({"TableName": "Orders", "Item": item}));
            }
        });
    });
    let count = call(
        &address,
        "Scan",
        &json!({"TableName": "Orders", "IndexName": "by-n", "Select": "COUNT"}),
    )["Count"]
        .clone();
    assert_eq!(count, 20);
    assert_eq!(fs::read_dir(items.join("p")).unwrap().count(), 20);
    let (clean, report) = check(&mount.data());
    assert!(clean, "{report}");
}
