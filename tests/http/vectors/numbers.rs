//! Numbers (Appendix B.5) and sizes (B.6).

use serde_json::{Value, json};

use super::*;

/// docs/dynamodb.md B.5.
#[test]
fn numbers() {
    let service = Service::new();
    let nines = |count: usize| "9".repeat(count);
    let large = format!("1{}", "0".repeat(125));
    let small = format!("0.{}1", "0".repeat(129));
    let zeros = format!("1{}", "0".repeat(60));
    let numbers: Vec<(String, String)> = ["007", "+7", "7.", "7.0", "0.7e1", "70e-1"]
        .map(|text| (text.to_owned(), "7".to_owned()))
        .into_iter()
        .chain(["-0", "0.000", "-0e5"].map(|text| (text.to_owned(), "0".to_owned())))
        .chain([
            ("1e125".to_owned(), large),
            ("1e-130".to_owned(), small),
            (nines(38), nines(38)),
            (zeros.clone(), zeros),
        ])
        .collect();
    for (text, expected) in &numbers {
        service.put(&item("k", 1, &format!(r#""n":{{"N":"{text}"}}"#)));
        assert_eq!(service.get("k", 1)["n"]["N"], json!(expected), "{text}");
    }
    let numeric =
        |text: &str| format!("The parameter cannot be converted to a numeric value: {text}");
    let wrong: Vec<(String, String)> = ["abc", "1 2", "0x1", "1e", ".", "--1", "NaN"]
        .map(|text| (text.to_owned(), numeric(text)))
        .into_iter()
        .chain([
            (String::new(), numeric("")),
            (
                "1e126".to_owned(),
                "Number overflow. Attempting to store a number with magnitude larger than supported range".to_owned(),
            ),
            (
                "1e-131".to_owned(),
                "Number underflow. Attempting to store a number with magnitude smaller than supported range".to_owned(),
            ),
            (nines(39), "Attempting to store more than 38 significant digits in a Number".to_owned()),
        ])
        .collect();
    for (text, expected) in &wrong {
        let item = item("k", 1, &format!(r#""n":{{"N":"{text}"}}"#));
        let request = json!({"TableName": "Tab", "Item": item});
        service.check(
            "PutItem",
            &request,
            &format!("Validation: 1 validation error detected: {expected}"),
        );
    }
}

/// Places of a number that the current layer reads: the operation, what comes before the text of a bad one, the request with `NUM`.
const CURRENT: &[(&str, &str, &str)] = &[
    (
        "PutItem",
        "1VE: ",
        r#"{"TableName":"Tab","Item":{"pk":{"S":"k"},"sk":{"N":"NUM"}}}"#,
    ),
    (
        "PutItem",
        "1VE: ",
        r#"{"TableName":"Tab","Item":{"pk":{"S":"k"},"sk":{"N":"1"},"n":{"N":"NUM"}}}"#,
    ),
    (
        "PutItem",
        "1VE: ",
        r#"{"TableName":"Tab","Item":{"pk":{"S":"k"},"sk":{"N":"1"},"n":{"NS":["1","NUM"]}}}"#,
    ),
    (
        "PutItem",
        "1VE: ",
        r#"{"TableName":"Tab","Item":{"pk":{"S":"k"},"sk":{"N":"1"},"n":{"L":[{"M":{"a":{"N":"NUM"}}}]}}}"#,
    ),
    (
        "PutItem",
        "1VE: ",
        r#"{"TableName":"Tab","Item":KEY,"ConditionExpression":"n = :v",VALUE}"#,
    ),
    (
        "PutItem",
        "1VE: ",
        r#"{"TableName":"Tab","Item":KEY,"Expected":{"n":{"Value":{"N":"NUM"}}}}"#,
    ),
    (
        "PutItem",
        "1VE: ",
        r#"{"TableName":"Tab","Item":KEY,"Expected":{"n":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"NUM"}]}}}"#,
    ),
    (
        "UpdateItem",
        "1VE: ",
        r#"{"TableName":"Tab","Key":{"pk":{"S":"k"},"sk":{"N":"NUM"}}}"#,
    ),
    (
        "UpdateItem",
        "1VE: ",
        r#"{"TableName":"Tab","Key":KEY,"UpdateExpression":"SET n = :v",VALUE}"#,
    ),
    (
        "UpdateItem",
        "1VE: ",
        r#"{"TableName":"Tab","Key":KEY,"AttributeUpdates":{"n":{"Value":{"N":"NUM"}}}}"#,
    ),
    (
        "UpdateItem",
        "1VE: ",
        r#"{"TableName":"Tab","Key":KEY,"Expected":{"n":{"Value":{"NS":["NUM"]}}}}"#,
    ),
    (
        "DeleteItem",
        "1VE: ",
        r#"{"TableName":"Tab","Key":{"pk":{"S":"k"},"sk":{"N":"NUM"}}}"#,
    ),
    (
        "DeleteItem",
        "1VE: ",
        r#"{"TableName":"Tab","Key":KEY,"ConditionExpression":"n = :v",VALUE}"#,
    ),
    (
        "GetItem",
        "",
        r#"{"TableName":"Tab","Key":{"pk":{"S":"k"},"sk":{"N":"NUM"}}}"#,
    ),
    (
        "BatchGetItem",
        "",
        r#"{"RequestItems":{"Tab":{"Keys":[{"pk":{"S":"k"},"sk":{"N":"NUM"}}]}}}"#,
    ),
    (
        "Query",
        "",
        r#"{"TableName":"Tab","KeyConditionExpression":"pk = :v",VALUE}"#,
    ),
    (
        "Query",
        "",
        r#"{"TableName":"Tab","KeyConditions":{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"NUM"}]}}}"#,
    ),
    (
        "Query",
        "",
        r#"{"TableName":"Tab","KeyConditions":{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"k"}]}},
        "QueryFilter":{"n":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"NUM"}]}}}"#,
    ),
    (
        "Query",
        "",
        r#"{"TableName":"Tab","KeyConditions":{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"k"}]}},
        "ExclusiveStartKey":{"pk":{"S":"k"},"sk":{"N":"NUM"}}}"#,
    ),
];
/// The same of the older layer, without what comes before.
const OLDER: &[(&str, &str)] = &[
    (
        "BatchWriteItem",
        r#"{"RequestItems":{"Tab":[{"PutRequest":{"Item":{"pk":{"S":"k"},"sk":{"N":"1"},"n":{"N":"NUM"}}}}]}}"#,
    ),
    (
        "BatchWriteItem",
        r#"{"RequestItems":{"Tab":[{"DeleteRequest":{"Key":{"pk":{"S":"k"},"sk":{"N":"NUM"}}}}]}}"#,
    ),
    (
        "Scan",
        r#"{"TableName":"Tab","ScanFilter":{"n":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"NUM"}]}}}"#,
    ),
    (
        "Scan",
        r#"{"TableName":"Tab","ExclusiveStartKey":{"pk":{"S":"k"},"sk":{"N":"NUM"}}}"#,
    ),
    (
        "TransactWriteItems",
        r#"{"TransactItems":[{"Put":{"TableName":"Tab","Item":{"pk":{"S":"k"},"sk":{"N":"NUM"}}}}]}"#,
    ),
    (
        "TransactGetItems",
        r#"{"TransactItems":[{"Get":{"TableName":"Tab","Key":{"pk":{"S":"k"},"sk":{"N":"NUM"}}}}]}"#,
    ),
    (
        "ExecuteStatement",
        r#"{"Statement":"SELECT * FROM Tab WHERE pk = 'k' AND sk = ?","Parameters":[{"N":"NUM"}]}"#,
    ),
    (
        "ExecuteTransaction",
        r#"{"TransactStatements":[{"Statement":"SELECT * FROM Tab WHERE pk='k' AND sk=?","Parameters":[{"N":"NUM"}]}]}"#,
    ),
];

/// docs/dynamodb.md 3.4, 4: what an exponent beyond 32 bits is, is decided by the layer that reads the number, not by its place.
#[test]
fn exponents_of_more_than_32_bits() {
    const OVERFLOW: &str =
        "Number overflow. Attempting to store a number with magnitude larger than supported range";
    const UNDERFLOW: &str = "Number underflow. Attempting to store a number with magnitude smaller than supported range";
    const UNREADABLE: &str = "The parameter cannot be converted to a numeric value";
    // The number, and what the current layer and the older one say; `:` is the text with the number behind it.
    let numbers = [
        ("1e2147483646", OVERFLOW, OVERFLOW),
        ("1e2147483647", OVERFLOW, UNDERFLOW),
        ("1e2147483648", OVERFLOW, ":"),
        ("-1e2147483648", OVERFLOW, ":"),
        ("1e99999999999", OVERFLOW, ":"),
        ("-1.5e99999999999", OVERFLOW, ":"),
        ("0e99999999999", OVERFLOW, ":"),
        ("1e-2147483647", UNDERFLOW, UNDERFLOW),
        ("1e-2147483648", UNDERFLOW, ":"),
        ("-1e-99999999999", UNDERFLOW, ":"),
        ("1e9223372036854775808", UNREADABLE, UNREADABLE),
        ("1e", ":", ":"),
    ];
    let service = Service::new();
    for (number, current, older) in numbers {
        let told = |text: &str| {
            if text == ":" {
                format!("{UNREADABLE}: {number}")
            } else {
                text.to_owned()
            }
        };
        let request = |body: &str| {
            let body = body.replace("VALUE", r#""ExpressionAttributeValues":{":v":{"N":"NUM"}}"#);
            parse(
                &body
                    .replace("KEY", r#"{"pk":{"S":"k"},"sk":{"N":"1"}}"#)
                    .replace("NUM", number),
            )
        };
        for (operation, count, body) in CURRENT {
            let count = count.replace("1VE", "1 validation error detected");
            service.check(
                operation,
                &request(body),
                &format!("Validation: {count}{}", told(current)),
            );
        }
        for (operation, body) in OLDER {
            service.check(operation, &request(body), &format!("~{}", told(older)));
        }
    }
}

/// docs/dynamodb.md B.5.
#[test]
fn order() {
    let service = Service::new();
    let sorted = [
        "-1e125", "-10", "-9.5", "-1e-130", "0", "1e-130", "0.5", "1", "2", "10", "1e125",
    ];
    let mut mixed = sorted;
    mixed.sort_unstable();
    let put = |place: usize, number: &str| {
        let item =
            json!({"pk": {"S": "k"}, "sk": {"N": number}, "place": {"N": place.to_string()}});
        service.put(&item);
    };
    for number in mixed {
        put(
            sorted.iter().position(|other| *other == number).unwrap(),
            number,
        );
    }
    let request = json!({"TableName": "Tab", "KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": "k"}}});
    let found = service.ok("Query", request);
    let places: Vec<&str> = found["Items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["place"]["N"].as_str().unwrap())
        .collect();
    assert_eq!(
        places,
        (0..sorted.len())
            .map(|place| place.to_string())
            .collect::<Vec<_>>()
    );
}

/// docs/dynamodb.md B.6.
#[test]
fn sizes() {
    // Bytes of an item beside its own in the size of its table (docs/dynamodb.md 5.1).
    const OVERHEAD: u64 = 100;
    let service = Service::new();
    for (place, (item, bytes)) in [
        (r#"{"pk":{"S":"a"}}"#, 3),
        (r#"{"pk":{"S":"a"},"n":{"N":"1"}}"#, 6),
        (r#"{"pk":{"S":"a"},"t":{"BOOL":true}}"#, 5),
        (r#"{"pk":{"S":"a"},"l":{"L":[]}}"#, 7),
        (r#"{"pk":{"S":"a"},"l":{"L":[{"N":"1"}]}}"#, 10),
        (r#"{"pk":{"S":"a"},"m":{"M":{"x":{"S":"yz"}}}}"#, 11),
        (r#"{"pk":{"S":"a"},"ss":{"SS":["a","bc"]}}"#, 8),
        (r#"{"pk":{"S":"é"}}"#, 4),
        // Two digits share a byte, and the pairs stand at the decimal point (docs/dynamodb.md 26).
        (r#"{"pk":{"S":"a"},"n":{"N":"120"}}"#, 7),
        (r#"{"pk":{"S":"a"},"n":{"N":"12000"}}"#, 7),
        (r#"{"pk":{"S":"a"},"n":{"N":"0.012"}}"#, 7),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("Size{place}");
        let only_pk = json!({
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        });
        service.ok("CreateTable", with(table(&name), only_pk));
        service.ok("PutItem", json!({"TableName": name, "Item": parse(item)}));
        assert_eq!(
            service.ok("DescribeTable", json!({"TableName": name}))["Table"]["TableSizeBytes"],
            bytes + OVERHEAD,
            "{item}"
        );
    }
}

/// docs/dynamodb.md B.6.
#[test]
fn the_largest_item() {
    let service = Service::new();
    // pk with one letter 3 bytes, sk with one digit 4, the name 1.
    let request = |bytes: usize| -> Value {
        let mut item = item("k", 1, "");
        item["v"] = json!({"S": "x".repeat(bytes - 8)});
        json!({"TableName": "Tab", "Item": item})
    };
    service.check("PutItem", &request(409_600), "OK");
    service.check(
        "PutItem",
        &request(409_601),
        "Validation: Item size has exceeded the maximum allowed size",
    );
    let batch = |bytes| json!({"RequestItems": {"Tab": [{"PutRequest": {"Item": request(bytes)["Item"]}}]}});
    service.check("BatchWriteItem", &batch(409_600), "OK");
    service.check(
        "BatchWriteItem",
        &batch(409_601),
        "~Item size has exceeded the maximum allowed size",
    );
    let transaction = |bytes| json!({"TransactItems": [{"Put": request(bytes)}]});
    service.check("TransactWriteItems", &transaction(409_600), "OK");
    service.check(
        "TransactWriteItems",
        &transaction(409_601),
        "~Item size has exceeded the maximum allowed size",
    );
}

/// docs/dynamodb.md 26, row 3.
#[test]
fn the_size_of_a_string_is_in_utf_16() {
    let service = Service::new();
    service.put(&item("k", 1, r#""s":{"S":"a😀é"}"#));
    let scan = json!({"TableName": "Tab", "FilterExpression": "size(s) = :n", "ExpressionAttributeValues": {":n": {"N": "4"}}});
    assert_eq!(service.ok("Scan", scan)["Count"], 1);
}

/// docs/dynamodb.md 26, row 14.
#[test]
fn zeros_with_large_exponents() {
    let service = Service::new();
    let with_number = |number: &str| put(&item("k", 1, &format!(r#""n":{{"N":"{number}"}}"#)));
    service.check("PutItem", &with_number("0e126"), "~Number overflow");
    service.check("PutItem", &with_number("0e-131"), "~Number underflow");
    service.check("PutItem", &with_number("0.0e126"), "OK");
}
