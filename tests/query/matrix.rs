//! Every clause of query paths × key type S, N, B × direction × table, GSI, LSI equals what the API of the same daemon answers to a
//! request written by hand here; and `request.json` is that request: sent over HTTP, and by the AWS command line, it gives `page.json`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::daemon::{Mount, free_address, post};
use serde_json::{Value, json};

/// One call of the API: status line and body.
fn call(address: &str, operation: &str, body: &Value) -> Result<Value, String> {
    let answer = post(address, operation, &body.to_string()).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    if head.starts_with("HTTP/1.1 200") {
        Ok(serde_json::from_str(body).unwrap())
    } else {
        Err(body.to_owned())
    }
}

/// Key values of one type: how the API writes them, how a path does.
struct KeyType {
    letter: &'static str,
    /// In ascending order.
    values: [(&'static str, &'static str); 6],
}

const TYPES: [KeyType; 3] = [
    KeyType {
        letter: "S",
        values: [
            ("A", "A"),
            ("a", "a"),
            ("a b", "a%20b"),
            ("a,b", "a%2Cb"),
            ("b", "b"),
            ("é", "é"),
        ],
    },
    KeyType {
        letter: "N",
        values: [
            ("-10", "-10"),
            ("-1", "-1"),
            ("0", "0"),
            ("1.5", "1.5"),
            ("9", "9"),
            ("10", "10"),
        ],
    },
    KeyType {
        letter: "B",
        values: [
            ("AA==", "%00"),
            ("AAE=", "%00%01"),
            ("YQ==", "a"),
            ("YWI=", "ab"),
            ("Yg==", "b"),
            ("/w==", "%FF"),
        ],
    },
];

const ITEMS: usize = 24;

fn table_name(key: &KeyType) -> String {
    format!("Table{}", key.letter)
}

/// Table `pk`, `sk`; LSI `Lsi` on `alt`; GSI `Gsi` on `grp`, `alt`; all keys of one type, and attributes to filter by.
fn create(address: &str, key: &KeyType) {
    let keys = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let attributes: Vec<Value> = ["pk", "sk", "alt", "grp"]
        .iter()
        .map(|name| json!({"AttributeName": name, "AttributeType": if *name == "pk" { "S" } else { key.letter }}))
        .collect();
    let all = json!({"ProjectionType": "ALL"});
    let table = json!({"TableName": table_name(key), "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys("pk", "sk"),
        "AttributeDefinitions": attributes,
        "LocalSecondaryIndexes": [{"IndexName": "Lsi", "KeySchema": keys("pk", "alt"), "Projection": all}],
        "GlobalSecondaryIndexes": [{"IndexName": "Gsi", "KeySchema": keys("grp", "alt"), "Projection": all}]});
    call(address, "CreateTable", &table).unwrap();
    for n in 0..ITEMS {
        let value = |n: usize| json!({key.letter: key.values[n % 6].0});
        let status = ["open", "held", "done"][n % 3];
        let mut item = json!({"pk": {"S": format!("p{}", n / 6 % 2)}, "sk": value(n), "alt": value(n * 5 + 1), "grp": value(n / 12),
            "n": {"N": n.to_string()}, "status": {"S": status}, "tags": {"SS": ["x", format!("t{n}")]},
            "doc": {"M": {"deep": {"L": [{"N": (n % 4).to_string()}, {"S": "10"}]}}}});
        if n % 4 == 0 {
            item["paid"] = json!({"BOOL": n % 8 == 0});
        }
        call(
            address,
            "PutItem",
            &json!({"TableName": table_name(key), "Item": item}),
        )
        .unwrap();
    }
}

/// A condition on the sort key, and its values.
type Condition = Option<(&'static str, Vec<Value>)>;

/// A sort key clause and the condition it stands for, `#s` being the attribute.
fn sort_clauses(key: &KeyType) -> Vec<(String, Condition)> {
    let (low, high) = (key.values[1], key.values[4]);
    let value = |value: (&str, &str)| json!({key.letter: value.0});
    let mut all = vec![
        (String::new(), None),
        (
            format!("/@sk={}", low.1),
            Some(("#s = :a", vec![value(low)])),
        ),
        (
            format!("/@sk.lt={}", high.1),
            Some(("#s < :a", vec![value(high)])),
        ),
        (
            format!("/@sk.le={}", high.1),
            Some(("#s <= :a", vec![value(high)])),
        ),
        (
            format!("/@sk.gt={}", low.1),
            Some(("#s > :a", vec![value(low)])),
        ),
        (
            format!("/@sk.ge={}", low.1),
            Some(("#s >= :a", vec![value(low)])),
        ),
        (
            format!("/@sk.between={},{}", low.1, high.1),
            Some(("#s BETWEEN :a AND :b", vec![value(low), value(high)])),
        ),
    ];
    if key.letter != "N" {
        all.push((
            format!("/@sk.begins={}", low.1),
            Some(("begins_with(#s, :a)", vec![value(low)])),
        ));
    }
    all
}

/// Other clauses, and the members of the request that they stand for. Values of filters are `:f…`.
fn other_clauses() -> Vec<(&'static str, Value)> {
    let filter =
        |expression: &str, values: Value| json!({"FilterExpression": expression, "Values": values});
    let n = |n: &str| json!({ "N": n });
    let s = |s: &str| json!({ "S": s });
    vec![
        ("", json!({})),
        (
            "/select=n,doc.deep[0]",
            json!({"ProjectionExpression": "n, doc.deep[0]"}),
        ),
        ("/consistent", json!({"ConsistentRead": true})),
        ("/eval=3", json!({"Limit": 3})),
        ("/where.n.eq=7", filter("n = :f", json!({":f": n("7")}))),
        ("/where.n.ne=7", filter("n <> :f", json!({":f": n("7")}))),
        ("/where.n.lt=7", filter("n < :f", json!({":f": n("7")}))),
        ("/where.n.le=7", filter("n <= :f", json!({":f": n("7")}))),
        ("/where.n.gt=7", filter("n > :f", json!({":f": n("7")}))),
        ("/where.n.ge=7", filter("n >= :f", json!({":f": n("7")}))),
        (
            "/where.n.between=4,15",
            filter("n BETWEEN :f AND :g", json!({":f": n("4"), ":g": n("15")})),
        ),
        (
            "/where.n.in=1,6,7",
            filter(
                "n IN (:f, :g, :h)",
                json!({":f": n("1"), ":g": n("6"), ":h": n("7")}),
            ),
        ),
        (
            "/where.status.begins=h",
            filter("begins_with(#st, :f)", json!({":f": s("h")})),
        ),
        (
            "/where.status.contains=el",
            filter("contains(#st, :f)", json!({":f": s("el")})),
        ),
        (
            "/where.tags.contains=t6",
            filter("contains(tags, :f)", json!({":f": s("t6")})),
        ),
        (
            "/where.status.ncontains=e",
            filter("NOT contains(#st, :f)", json!({":f": s("e")})),
        ),
        (
            "/where.paid.exists",
            filter("attribute_exists(paid)", json!({})),
        ),
        (
            "/where.paid.nexists",
            filter("attribute_not_exists(paid)", json!({})),
        ),
        (
            "/where.paid.eq=true",
            filter("paid = :f", json!({":f": {"BOOL": true}})),
        ),
        (
            "/where.tags.type=SS",
            filter("attribute_type(tags, :f)", json!({":f": s("SS")})),
        ),
        (
            "/where.tags.size-eq=2",
            filter("size(tags) = :f", json!({":f": n("2")})),
        ),
        (
            "/where.status.size-gt=4",
            filter("size(#st) > :f", json!({":f": n("4")})),
        ),
        (
            "/where.doc.deep[0].ge=2",
            filter("doc.deep[0] >= :f", json!({":f": n("2")})),
        ),
        (
            "/where.doc.deep[1],S.eq=10",
            filter("doc.deep[1] = :f", json!({":f": s("10")})),
        ),
        (
            "/where=status IN (\"open\", 'held') AND NOT (n > 12 OR paid = true)",
            filter(
                "#st IN (:f, :g) AND NOT (n > :h OR paid = :i)",
                json!({":f": s("open"), ":g": s("held"), ":h": n("12"), ":i": {"BOOL": true}}),
            ),
        ),
        (
            "/where.n.gt=2/where.status.eq=open",
            filter(
                "n > :f AND #st = :g",
                json!({":f": n("2"), ":g": s("open")}),
            ),
        ),
        (
            "/where=n = 3 OR n = 9/where.paid.nexists",
            filter(
                "(n = :f OR n = :g) AND attribute_not_exists(paid)",
                json!({":f": n("3"), ":g": n("9")}),
            ),
        ),
    ]
}

/// The request that a path stands for.
fn request(
    key: &KeyType,
    index: Option<&str>,
    sort: &Condition,
    other: &Value,
    descending: bool,
) -> Value {
    let (hash, range, value) = match index {
        None => ("pk", "sk", json!({"S": "p1"})),
        Some("Lsi") => ("pk", "alt", json!({"S": "p1"})),
        Some(_) => ("grp", "alt", json!({key.letter: key.values[1].0})),
    };
    let mut request = other.clone();
    let members = request.as_object_mut().unwrap();
    let mut values = members.remove("Values").unwrap_or_else(|| json!({}));
    values[":p"] = value;
    let mut names = json!({"#p": hash});
    let mut condition = "#p = :p".to_owned();
    if let Some((text, arguments)) = sort {
        names["#s"] = json!(range);
        condition = format!("{condition} AND {text}");
        for (name, argument) in [":a", ":b"].iter().zip(arguments) {
            values[*name] = argument.clone();
        }
    }
    if other["FilterExpression"]
        .as_str()
        .is_some_and(|filter| filter.contains("#st"))
    {
        names["#st"] = json!("status");
    }
    members.insert("TableName".into(), json!(table_name(key)));
    members.insert("KeyConditionExpression".into(), json!(condition));
    members.insert("ExpressionAttributeNames".into(), names);
    members.insert("ExpressionAttributeValues".into(), values);
    if let Some(index) = index {
        members.insert("IndexName".into(), json!(index));
    }
    if descending {
        members.insert("ScanIndexForward".into(), json!(false));
    }
    request
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_clause_type_direction_and_source_equals_the_api() {
    let address = free_address();
    let mount = Mount::with_args(&["--http", &address]);
    let (mut checked, mut found, mut empty) = (0, 0, 0);
    for key in &TYPES {
        create(&address, key);
        for (source, index, partition) in [
            ("query", None, "p1"),
            ("lsi/Lsi/query", Some("Lsi"), "p1"),
            ("gsi/Gsi/query", Some("Gsi"), key.values[1].1),
        ] {
            for (sort_clause, sort) in sort_clauses(key) {
                for (other_clause, other) in other_clauses() {
                    // All others with one sort condition, all sort conditions with some others.
                    let is_wanted = sort_clause.is_empty()
                        || ["", "/eval=3", "/where.n.gt=7"].contains(&other_clause);
                    if !is_wanted || (index == Some("Gsi") && other_clause == "/consistent") {
                        continue;
                    }
                    for (direction, descending) in [("", false), ("/desc", true)] {
                        let path = format!(
                            "{}/{source}/@pk={partition}{sort_clause}{other_clause}{direction}",
                            table_name(key)
                        );
                        let directory = mount.point().join(&path);
                        let request = request(key, index, &sort, &other, descending);
                        let expected = call(&address, "Query", &request)
                            .unwrap_or_else(|error| panic!("{path}: {request}: {error}"));
                        let items = expected["Items"].as_array().unwrap();
                        assert_eq!(
                            &lines(&read(&directory.join("items.ddbjson"))),
                            items,
                            "{path}"
                        );
                        assert_eq!(
                            read(&directory.join("count")),
                            format!("{}\n", expected["Count"]),
                            "{path}"
                        );
                        let page: Value =
                            serde_json::from_str(&read(&directory.join("typed/page.json")))
                                .unwrap();
                        for member in ["Items", "Count", "ScannedCount"] {
                            assert_eq!(page[member], expected[member], "{path} {member}");
                        }
                        assert_eq!(
                            page["next"].is_null(),
                            expected.get("LastEvaluatedKey").is_none(),
                            "{path}"
                        );
                        let again: Value =
                            serde_json::from_str(&read(&directory.join("request.json"))).unwrap();
                        assert_eq!(
                            call(&address, "Query", &again).as_ref(),
                            Ok(&expected),
                            "{path}: {again}"
                        );
                        checked += 1;
                        found += items.len();
                        empty += usize::from(items.is_empty());
                    }
                }
            }
        }
    }
    println!("{checked} queries, {found} items, {empty} empty");
    assert!(checked > 700 && found > checked && empty * 4 < checked);
}

#[test]
fn scans_equal_the_api() {
    let address = free_address();
    let mount = Mount::with_args(&["--http", &address]);
    create(&address, &TYPES[0]);
    for (path, body) in [
        ("scan", json!({})),
        ("scan/eval=5", json!({"Limit": 5})),
        (
            "scan/segment=1,3",
            json!({"Segment": 1, "TotalSegments": 3}),
        ),
        (
            "scan/where.n.lt=9/consistent",
            json!({"FilterExpression": "n < :f", "ExpressionAttributeValues": {":f": {"N": "9"}}, "ConsistentRead": true}),
        ),
        (
            "scan/where.pk.eq=p0",
            json!({"FilterExpression": "pk = :f", "ExpressionAttributeValues": {":f": {"S": "p0"}}}),
        ),
        (
            "gsi/Gsi/scan/select=n",
            json!({"IndexName": "Gsi", "ProjectionExpression": "n"}),
        ),
        (
            "lsi/Lsi/scan/where.paid.exists",
            json!({"IndexName": "Lsi", "FilterExpression": "attribute_exists(paid)"}),
        ),
    ] {
        let mut body = body;
        body["TableName"] = json!(table_name(&TYPES[0]));
        let expected = call(&address, "Scan", &body).unwrap();
        let directory = mount.point().join(table_name(&TYPES[0])).join(path);
        assert_eq!(
            &lines(&read(&directory.join("items.ddbjson"))),
            expected["Items"].as_array().unwrap(),
            "{path}"
        );
        let again: Value = serde_json::from_str(&read(&directory.join("request.json"))).unwrap();
        assert_eq!(call(&address, "Scan", &again), Ok(expected), "{path}");
    }
}

/// What DynamoDB refuses, the mount refuses, when the path is looked up or read.
#[test]
fn illegal_forms_are_refused_by_both() {
    let address = free_address();
    let mount = Mount::with_args(&["--http", &address]);
    create(&address, &TYPES[1]);
    let filter =
        |expression: &str, values: Value| json!({"FilterExpression": expression, "Values": values});
    for (index, clause, other) in [
        (
            None,
            "/where.sk.gt=1",
            filter("sk > :f", json!({":f": {"N": "1"}})),
        ),
        (
            None,
            "/where.pk.eq=x",
            filter("pk = :f", json!({":f": {"S": "x"}})),
        ),
        (Some("Gsi"), "/consistent", json!({"ConsistentRead": true})),
        (
            None,
            "/where.n.lt=true",
            filter("n < :f", json!({":f": {"BOOL": true}})),
        ),
        (
            None,
            "/where.n.between=9,1",
            filter(
                "n BETWEEN :f AND :g",
                json!({":f": {"N": "9"}, ":g": {"N": "1"}}),
            ),
        ),
        (None, "/select=n,n", json!({"ProjectionExpression": "n, n"})),
        (
            None,
            "/where.n.type=X",
            filter("attribute_type(n, :f)", json!({":f": {"S": "X"}})),
        ),
        (None, "/where=nothing(n)", filter("nothing(n)", json!({}))),
        (
            None,
            "/where=((n = 1))",
            filter("((n = :f))", json!({":f": {"N": "1"}})),
        ),
    ] {
        let request = request(&TYPES[1], index, &None, &other, false);
        let refused = call(&address, "Query", &request).unwrap_err();
        assert!(
            refused.contains("ValidationException"),
            "{clause}: {refused}"
        );
        let (source, partition) = if index.is_some() {
            ("gsi/Gsi/query", "-1")
        } else {
            ("query", "p1")
        };
        let path = mount.point().join(format!(
            "TableN/{source}/@pk={partition}{clause}/items.ndjson"
        ));
        let error = fs::read(&path).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(22), "{clause}: {error}");
    }
}

/// `aws dynamodb query --cli-input-json "$(cat …/request.json)"`
#[test]
fn the_aws_command_line_takes_request_json() {
    let python = std::env::var("DDBFS_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let address = free_address();
    let mount = Mount::with_args(&["--http", &address]);
    create(&address, &TYPES[0]);
    create(&address, &TYPES[1]);
    for (operation, path) in [
        (
            "query",
            "TableS/query/@pk=p1/@sk.ge=a/where.n.gt=3/desc/eval=4",
        ),
        (
            "query",
            "TableN/gsi/Gsi/query/@pk=-1/@sk.between=-1,9/where=status IN (\"open\",\"held\")/select=n,doc.deep[0]",
        ),
        ("scan", "TableS/scan/where.paid.exists/segment=0,2"),
    ] {
        let directory = mount.point().join(path);
        let done = Command::new(&python)
            .args([
                "-m",
                "awscli",
                "dynamodb",
                operation,
                "--no-paginate",
                "--output",
                "json",
                "--endpoint-url",
            ])
            .arg(format!("http://{address}"))
            .arg("--cli-input-json")
            .arg(read(&directory.join("request.json")))
            .envs([
                ("AWS_ACCESS_KEY_ID", "a"),
                ("AWS_SECRET_ACCESS_KEY", "b"),
                ("AWS_DEFAULT_REGION", "us-east-1"),
            ])
            .envs([
                ("AWS_CONFIG_FILE", "/dev/null"),
                ("AWS_EC2_METADATA_DISABLED", "true"),
                ("NO_PROXY", "*"),
            ])
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.success(),
            "{python}: {path}: {error} (tests/clients/requirements.txt is installed by scripts/test)"
        );
        let answer: Value = serde_json::from_slice(&done.stdout).unwrap();
        let page: Value = serde_json::from_str(&read(&directory.join("typed/page.json"))).unwrap();
        for member in ["Items", "Count", "ScannedCount"] {
            assert_eq!(page[member], answer[member], "{path} {member}");
        }
        assert!(answer["Count"].as_u64().unwrap() > 0, "{path}: {answer}");
    }
}
