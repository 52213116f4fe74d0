//! What is fuzzed: a function each that takes any bytes and panics when something that must hold does not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use ddbfs::codec::file_name::{self, DecodedName, STEM_BYTES_MAX};
use ddbfs::codec::json::document::Document;
use ddbfs::codec::plain_json::PlainJsonFault as Fault;
use ddbfs::codec::{dynamodb_json, key, plain_json, wire};
use ddbfs::expr::partiql::{self, Statement, keys, plan};
use ddbfs::expr::placeholders::PlaceholderScope;
use ddbfs::expr::{KeySchemaView, condition, key_condition, projection, update};
use ddbfs::model::api::*;
use ddbfs::model::schema::{KeyAttribute, KeyAttributeType, KeySchema};
use ddbfs::model::{AttributeValue, Item, Number};

/// A target and its name, which is also its seeds' folder; it takes any bytes and panics on a fault.
pub type Target = (&'static str, fn(&[u8]));

pub const TARGETS: [Target; 6] = [
    ("wire", wire),
    ("expression", expression),
    ("statement", statement),
    ("number", number),
    ("file_name", file_name),
    ("item", item),
];

/// The JSON request reader: it reads what serde_json reads, or says why it does not; every operation's `request` takes any JSON.
pub fn wire(data: &[u8]) {
    let reference: Result<serde_json::Value, _> = serde_json::from_slice(data);
    let json = match (Document::parse(data.to_vec()), reference) {
        (Ok(json), Ok(reference)) => {
            assert_eq!(json.root().to_value(), reference);
            json
        }
        (Ok(_), Err(error)) => {
            assert!(
                error.to_string().contains("recursion limit"),
                "read what serde_json refuses: {error}"
            );
            return;
        }
        (Err(error), Ok(_)) => {
            let strict = matches!(error.fault, Fault::DuplicateMember(_))
                || format!("{:?}", error.fault).contains("Nesting");
            assert!(strict, "refused what serde_json reads: {error:?}");
            return;
        }
        (Err(_), Err(_)) => return,
    };
    let _ = wire::request::<PutItemRequest>(json.root());
    let _ = wire::request::<GetItemRequest>(json.root());
    let _ = wire::request::<DeleteItemRequest>(json.root());
    let _ = wire::request::<QueryRequest>(json.root());
    let _ = wire::request::<ScanRequest>(json.root());
    let _ = wire::request::<CreateTableRequest>(json.root());
    let _ = wire::request::<DeleteTableRequest>(json.root());
    let _ = wire::request::<DescribeTableRequest>(json.root());
    let _ = wire::request::<ListTablesRequest>(json.root());
    let _ = wire::request::<UpdateItemRequest>(json.root());
    let _ = wire::request::<BatchGetItemRequest>(json.root());
    let _ = wire::request::<BatchWriteItemRequest>(json.root());
    let _ = wire::request::<TransactGetItemsRequest>(json.root());
    let _ = wire::request::<TransactWriteItemsRequest>(json.root());
    let _ = wire::request::<ExecuteStatementRequest>(json.root());
    let _ = wire::request::<BatchExecuteStatementRequest>(json.root());
    let _ = wire::request::<ExecuteTransactionRequest>(json.root());
    let _ = wire::request::<DescribeStreamRequest>(json.root());
    let _ = wire::request::<GetRecordsRequest>(json.root());
    let _ = wire::request::<GetShardIteratorRequest>(json.root());
    let _ = wire::request::<ListStreamsRequest>(json.root());
}

/// PartiQL: what parses names one item or none, and the ranges of a SELECT with what is left to evaluate find just what its clause says.
pub fn statement(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let parameters = vec![AttributeValue::S("x".into()); text.matches('?').count()];
    let Ok(Statement::Select(select)) = partiql::read(text, &parameters) else {
        return;
    };
    let attribute = |name: &str, attribute_type| KeyAttribute {
        name: name.into(),
        attribute_type,
    };
    let schema = KeySchema {
        partition: attribute("pk", KeyAttributeType::S),
        sort: Some(attribute("sk", KeyAttributeType::N)),
    };
    let condition = select.condition.as_ref();
    let _ = (
        keys::of_write(condition, &schema),
        keys::of_exists(condition, &schema),
        keys::of_read(condition, &schema, ""),
    );
    let (Some(condition), Ok(Some(plan))) = (
        condition,
        plan::plan(condition, KeySchemaView::from(&schema)),
    ) else {
        return;
    };
    for line in [
        r#"{"pk":"x","sk":1,"a":2}"#,
        r#"{"pk":"a","sk":0}"#,
        r#"{"pk":"x","sk":-7,"l":[1,{"b":"x"}]}"#,
    ] {
        let item = plain_json::parse(line.as_bytes()).unwrap();
        let (digest, mut sort) = (key::partition_digest(&[&item.0["pk"]]), Vec::new());
        key::encode(&item.0["sk"], &mut sort);
        let holds_it = |read: &&plan::KeyedRead| {
            let interval = &read.interval;
            read.digest == digest
                && sort >= interval.lower
                && interval.upper.as_ref().is_none_or(|upper| sort < *upper)
        };
        let reads = plan.reads.iter().filter(holds_it).count();
        assert!(reads <= 1, "read twice: {text}");
        let is_kept = plan.residual.as_ref().is_none_or(|rest| rest.holds(&item));
        assert_eq!(
            reads == 1 && is_kept,
            condition.holds(&item),
            "{line}: {text}"
        );
    }
}

/// Expressions of every kind: parsed, and those that parse are evaluated on an item.
pub fn expression(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let placeholders = placeholders();
    let item = plain_json::parse(
        br#"{"a":"x","b":[1,{"c":2},[3]],"d":{"e":{"f":null}},"n":-1.5,"s":{"$ss":["x","y"]}}"#,
    )
    .unwrap();
    let mut scope = PlaceholderScope::new(&placeholders);
    if let Ok(condition) = condition::parse(text, &mut scope) {
        let _ = (
            condition.holds(&item),
            condition.holds(&Item::default()),
            condition.paths(),
            condition.attribute_names(),
        );
    }
    if let Ok(paths) = projection::parse(text, &mut scope) {
        let projected = paths.apply(&item);
        assert!(
            projected
                .0
                .keys()
                .all(|name| paths.top_level_names().contains(name.as_str()))
        );
    }
    if let Ok(update) = update::parse(text, &mut scope) {
        let _ = (
            update.paths(),
            update.touched(&item),
            update.apply(&item, true),
            update.apply(&Item::default(), false),
        );
    }
    let _ = key_condition::parse(text, &mut scope);
    let _ = scope.finish();
}

fn placeholders() -> Placeholders {
    let names = [("#a", "a"), ("#b", "b"), ("#c", "c.d"), ("#n", "n")];
    let values = [
        (":a", AttributeValue::S("x".to_owned())),
        (":b", AttributeValue::B(vec![0, 255])),
        (":n", AttributeValue::N(Number::from_u64(7))),
        (":l", AttributeValue::L(vec![AttributeValue::Null])),
    ];
    let names: BTreeMap<String, String> = names
        .into_iter()
        .map(|(alias, name)| (alias.to_owned(), name.to_owned()))
        .collect();
    let values: BTreeMap<String, AttributeValue> = values
        .into_iter()
        .map(|(alias, value)| (alias.to_owned(), value))
        .collect();
    Placeholders {
        names: Some(names),
        values: Some(values),
    }
}

/// The number reader: a number's text and its key bytes give the number again; the order of two is that of their key bytes.
pub fn number(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let numbers: Vec<Number> = text
        .split(' ')
        .filter_map(|part| part.parse().ok())
        .collect();
    let encoded = |number: &Number| {
        let mut bytes = Vec::new();
        key::encode(&AttributeValue::N(*number), &mut bytes);
        bytes
    };
    for number in &numbers {
        assert_eq!(number.to_string().parse::<Number>().as_ref(), Ok(number));
        // 38 digits that begin in the middle of a pair are 20 pairs.
        assert!(number.size() <= 22, "{number} has {} bytes", number.size());
        let bytes = encoded(number);
        let (value, rest) = key::decode(KeyAttributeType::N, &bytes).unwrap();
        assert_eq!((value, rest), (AttributeValue::N(*number), [].as_slice()));
    }
    for pair in numbers.windows(2) {
        assert_eq!(
            pair[0].cmp(&pair[1]),
            encoded(&pair[0]).cmp(&encoded(&pair[1])),
            "{} and {}",
            pair[0],
            pair[1]
        );
    }
}

/// File names: what a name means has a name that means the same; what a value is named is read as that value.
pub fn file_name(data: &[u8]) {
    const TYPES: [KeyAttributeType; 3] = [
        KeyAttributeType::S,
        KeyAttributeType::N,
        KeyAttributeType::B,
    ];
    let lists = TYPES
        .iter()
        .map(|one| vec![*one])
        .chain(TYPES.iter().map(|one| vec![*one, KeyAttributeType::S]));
    for types in lists {
        match file_name::decode(data, &types) {
            Ok(DecodedName::Values(values)) => {
                let named: Vec<&AttributeValue> = values.iter().collect();
                check_name(&file_name::collection_name(&named), &types, &values);
            }
            Ok(DecodedName::Alias { prefix, .. }) => {
                drop(file_name::alias_scan_prefix(&prefix, &types))
            }
            Err(_) => {}
        }
    }
    if !data.is_empty() {
        let value = AttributeValue::B(data.to_vec());
        check_name(&file_name::encode(&value), &[KeyAttributeType::B], &[value]);
        if let Ok(text) = std::str::from_utf8(data) {
            let value = AttributeValue::S(text.to_owned());
            check_name(&file_name::encode(&value), &[KeyAttributeType::S], &[value]);
        }
    }
}

fn check_name(name: &str, types: &[KeyAttributeType], values: &[AttributeValue]) {
    if name.len() > STEM_BYTES_MAX {
        return;
    }
    assert!(
        !name.is_empty() && !name.contains(['/', '\0']) && name != "." && name != "..",
        "{name:?} is no file name"
    );
    match file_name::decode(name.as_bytes(), types) {
        Ok(DecodedName::Values(decoded)) => assert_eq!(decoded, values, "{name}"),
        Ok(DecodedName::Alias { .. }) => {}
        Err(fault) => panic!("{name}: {fault}"),
    }
}

/// Items as plain and as DynamoDB JSON: what is read is written so that it is read as the same, in either form.
pub fn item(data: &[u8]) {
    for item in [
        plain_json::parse(data).ok(),
        dynamodb_json::parse(data).ok(),
    ]
    .into_iter()
    .flatten()
    {
        let mut plain = Vec::new();
        plain_json::write_line(&item, &[], &mut plain);
        assert_eq!(plain.len(), plain_json::line_len(&item));
        assert_eq!(
            plain_json::parse(&plain).as_ref(),
            Ok(&item),
            "{}",
            String::from_utf8_lossy(&plain)
        );
        let mut typed = Vec::new();
        dynamodb_json::write_item(&item, &mut typed);
        assert_eq!(
            dynamodb_json::parse(&typed).as_ref(),
            Ok(&item),
            "{}",
            String::from_utf8_lossy(&typed)
        );
    }
}
