//! Tests of the requests that clauses make: the expression, the placeholders and the other members.

use super::{
    query_path::{PartitionClause, QueryPath},
    request::{ResolvedClauses, count_only, request_members},
    tables_of_tests::{directory, game_scores},
    token::PageToken,
};
use crate::expr::read_request::{ReadRange, ReadRequest};
use crate::fs::prelude::*;
use crate::model::api::Segment;

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn n(text: &str) -> AttributeValue {
    AttributeValue::N(text.parse().expect("a number"))
}

fn resolved(path: &QueryPath) -> ResolvedClauses {
    path.resolved(match &path.clauses.partition {
        PartitionClause::Values(values) if !values.is_empty() => {
            Some(values.values().cloned().collect())
        }
        _ => None,
    })
}

fn request(path: &str) -> ReadRequest {
    let path = directory(&game_scores(), path);
    path.build_request(&resolved(&path), None)
        .expect("a request")
}

/// Returns the members of `request.json`.
fn text(path: &str, start: Option<&Item>) -> Value {
    let path = directory(&game_scores(), path);
    request_members(&path, &resolved(&path), start).expect("JSON")
}

/// Returns `condition | #name=attribute … :value=… ` of a query.
fn condition(path: &str) -> String {
    let request = text(path, None);
    let names = request["ExpressionAttributeNames"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, meant)| (name, meant.as_str()));
    let names: Vec<String> = names
        .map(|(name, meant)| format!("{name}={}", meant.expect("a name")))
        .collect();
    let values = request["ExpressionAttributeValues"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| {
            let text = value.to_string();
            let text = text
                .strip_prefix("{\"S\":\"")
                .and_then(|text| text.strip_suffix("\"}"))
                .unwrap_or(&text);
            format!("{name}={text}")
        });
    let placeholders: Vec<String> = names.into_iter().chain(values).collect();
    format!(
        "{} | {}",
        request["KeyConditionExpression"].as_str().expect("a query"),
        placeholders.join(" ")
    )
}

#[test]
fn key_conditions() {
    for (path, expected) in [
        ("query/@pk=101", "#pk = :pk | #pk=UserId :pk=101"),
        (
            "query/@sk=a/@pk=1",
            "#pk = :pk AND #sk = :sk | #pk=UserId #sk=GameTitle :pk=1 :sk=a",
        ),
        (
            "query/@pk=1/@sk.lt=a",
            "#pk = :pk AND #sk < :sk | #pk=UserId #sk=GameTitle :pk=1 :sk=a",
        ),
        (
            "query/@pk=1/@sk.le=a",
            "#pk = :pk AND #sk <= :sk | #pk=UserId #sk=GameTitle :pk=1 :sk=a",
        ),
        (
            "query/@pk=1/@sk.gt=a",
            "#pk = :pk AND #sk > :sk | #pk=UserId #sk=GameTitle :pk=1 :sk=a",
        ),
        (
            "query/@pk=1/@sk.ge=a",
            "#pk = :pk AND #sk >= :sk | #pk=UserId #sk=GameTitle :pk=1 :sk=a",
        ),
        (
            "query/@pk=1/@sk.between=a%2Cb,c d",
            "#pk = :pk AND #sk BETWEEN :sk_from AND :sk_to | #pk=UserId #sk=GameTitle :pk=1 :sk_from=a,b :sk_to=c d",
        ),
        (
            "query/@pk=1/@sk.begins=a,b",
            "#pk = :pk AND begins_with(#sk, :sk) | #pk=UserId #sk=GameTitle :pk=1 :sk=a,b",
        ),
        (
            "gsi/GameTitleIndex/query/GameTitle=Comet%20Quest/TopScore.ge=1e2",
            "#pk = :pk AND #sk >= :sk | #pk=GameTitle #sk=TopScore :pk=Comet Quest :sk={\"N\":\"100\"}",
        ),
        (
            "gsi/ByHash/query/@pk=%00a",
            "#pk = :pk | #pk=Hash :pk={\"B\":\"AGE=\"}",
        ),
        (
            "gsi/ByRegion/query/Hour.le=3/Region=7/Day=x/Tenant=t",
            "#pk1 = :pk1 AND #pk2 = :pk2 AND #sk1 = :sk1 AND #sk2 <= :sk2 | #pk1=Tenant #pk2=Region #sk1=Day #sk2=Hour :pk1=t :pk2={\"N\":\"7\"} :sk1=x :sk2={\"N\":\"3\"}",
        ),
        (
            "lsi/WinsIndex/query/@pk=1/Wins.Total.gt=5",
            "#pk = :pk AND #sk > :sk | #pk=UserId #sk=Wins.Total :pk=1 :sk={\"N\":\"5\"}",
        ),
    ] {
        assert_eq!(condition(path), expected, "{path}");
    }
}

#[test]
fn the_other_members() {
    let path = "query/@pk=1/desc/limit=7/eval=3/consistent/select=m.a[0],b,m.b";
    assert_eq!(
        text(path, None)["ProjectionExpression"],
        "#a1.#a2[0], #a3, #a1.#a3"
    );
    let query = request(path);
    assert_eq!((query.limit, query.consistent_read), (Some(3), true));
    assert!(matches!(
        query.range,
        ReadRange::Query { forward: false, .. }
    ));
    let scan = request("lsi/WinsIndex/scan/segment=1,4/limit=5000000000");
    assert_eq!(
        scan.index_name.map(|name| name.to_string()).as_deref(),
        Some("WinsIndex")
    );
    assert_eq!(
        scan.range,
        ReadRange::Scan {
            segment: Some(Segment { index: 1, total: 4 })
        }
    );
    assert_eq!((scan.limit, scan.consistent_read), (Some(u32::MAX), false));
}

#[test]
fn a_projection_is_checked_when_it_is_asked_for() {
    let path = directory(&game_scores(), "scan/select=a,a");
    let error = path
        .build_request(&resolved(&path), None)
        .expect_err("an overlap")
        .to_string();
    assert!(
        error.starts_with("Invalid ProjectionExpression: Two document paths overlap"),
        "{error}"
    );
    let path = directory(
        &game_scores(),
        &format!("scan/select=a{}", "[0]".repeat(32)),
    );
    let error = path
        .build_request(&resolved(&path), None)
        .expect_err("too deep")
        .to_string();
    assert!(
        error.ends_with("too many nesting levels; nesting levels: 33"),
        "{error}"
    );
}

#[test]
fn counting_needs_no_projection() {
    let (mut counted, mut plain) = (request("query/@pk=1/select=a,b"), request("query/@pk=1"));
    assert!(counted.projection.is_some());
    count_only(&mut counted);
    count_only(&mut plain);
    assert_eq!(counted, plain);
}

#[test]
fn tokens_round_trip_and_belong_to_one_query() {
    let last = Item::from([
        ("UserId", s("1")),
        ("GameTitle", s("Comet Quest")),
        ("TopScore", n("42")),
    ]);
    let schema = game_scores();
    for (path, partition) in [
        ("query/@pk=1", Some(vec![s("1")])),
        ("scan", None),
        (
            "gsi/GameTitleIndex/query/@pk=Comet Quest",
            Some(vec![s("Comet Quest")]),
        ),
        ("gsi/GameTitleIndex/scan", None),
    ] {
        let path = directory(&schema, path);
        let resolved = path.resolved(partition);
        let scope = path.scope(&resolved);
        let names: Vec<&str> = scope
            .context
            .cursor_attributes()
            .iter()
            .map(|a| a.name.as_str())
            .collect();
        let key = Item(
            last.0
                .clone()
                .into_iter()
                .filter(|(name, _)| names.contains(&name.as_str()))
                .collect(),
        );
        let text = PageToken::new(resolved.check, &key, scope).unwrap().text();
        assert!(
            text.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'),
            "{text}"
        );
        let token = PageToken::parse(&text).expect("our own token");
        assert_eq!(
            super::token::decode_cursor(&super::token::encode_cursor(&key, scope).unwrap(), scope),
            Some(key)
        );
        assert_eq!(token.text(), text);
        assert!(matches!(
            path.child(format!("after={text}").as_bytes()),
            Ok(super::QueryChild::Dir(_))
        ));
        let broken = format!("{}A", text.get(1..).expect("ASCII"));
        assert!(PageToken::parse(&broken).is_err());
    }
    let check = |path: &str, partition: &str| {
        directory(&schema, path)
            .resolved(Some(vec![s(partition)]))
            .check
    };
    let own = check("query/@pk=1/@sk.ge=a", "1");
    assert_eq!(own, check("query/typed/limit=3/@sk.ge=a/@pk=1", "1"));
    for (path, partition) in [
        ("query/@pk=1/@sk.ge=b", "1"),
        ("query/@pk=1/@sk.gt=a", "1"),
        ("query/@pk=2/@sk.ge=a", "2"),
        ("query/@pk=1/@sk.ge=a/desc", "1"),
        ("gsi/GameTitleIndex/query/@pk=1", "1"),
    ] {
        assert_ne!(own, check(path, partition), "{path}");
    }
}

#[test]
fn the_longest_token_fits_in_a_name() {
    let path = directory(&game_scores(), "gsi/GameTitleIndex/scan");
    let resolved = path.resolved(None);
    for length in [1, 50, 150, 160, 170, 180, 1024] {
        let last = Item::from([
            ("UserId", s(&"u".repeat(length))),
            ("GameTitle", s(&"ü".repeat(length / 2))),
            ("TopScore", n("1")),
        ]);
        let text = PageToken::new(resolved.check, &last, path.scope(&resolved))
            .unwrap()
            .text();
        assert!(
            "after=".len() + text.len() <= 255,
            "{length}: {}",
            text.len()
        );
        assert!(PageToken::parse(&text).is_ok());
    }
}

#[test]
fn request_json_is_what_the_aws_command_takes() {
    let start = Item::from([("UserId", s("101")), ("GameTitle", s("A"))]);
    let check = |path: &str, start: Option<&Item>, expected: &str| {
        assert_eq!(
            serde_json::to_string_pretty(&text(path, start)).expect("JSON"),
            expected.trim_end(),
            "{path}"
        );
    };
    let expected = r##"{
  "TableName": "GameScores",
  "KeyConditionExpression": "#pk = :pk AND #sk >= :sk",
  "ProjectionExpression": "#a1",
  "ExpressionAttributeNames": {
    "#a1": "TopScore",
    "#pk": "UserId",
    "#sk": "GameTitle"
  },
  "ExpressionAttributeValues": {
    ":pk": {
      "S": "101"
    },
    ":sk": {
      "S": "M"
    }
  },
  "Limit": 5,
  "ScanIndexForward": false,
  "ExclusiveStartKey": {
    "GameTitle": {
      "S": "A"
    },
    "UserId": {
      "S": "101"
    }
  }
}
"##;
    check(
        "query/@pk=101/@sk.ge=M/desc/limit=5/select=TopScore",
        Some(&start),
        expected,
    );
    let expected = "{\n  \"TableName\": \"GameScores\",\n  \"IndexName\": \"ByRegion\",\n  \"Segment\": 0,\n  \"TotalSegments\": 2\n}\n";
    check("gsi/ByRegion/scan/segment=0,2", None, expected);
}

proptest::proptest! {
    /// Names that the filesystem shows can be used as values.
    #[test]
    fn key_names_are_values(text in "\\PC{1,60}|[ -~]{1,60}", bytes in proptest::collection::vec(0..=255u8, 1..60), number in -1_000_000..1_000_000i64) {
        let schema = game_scores();
        let number = AttributeValue::N(number.into());
        for (start, attribute, value) in [
            ("query", "@pk", AttributeValue::S(text)),
            ("gsi/ByHash/query", "Hash", AttributeValue::B(bytes)),
            ("gsi/GameTitleIndex/query/@pk=a", "TopScore.lt", number),
        ] {
            let name = crate::codec::file_name::encode(&value);
            let path = directory(&schema, start).child(format!("{attribute}={name}").as_bytes());
            let Ok(super::QueryChild::Dir(path)) = path else { panic!("{attribute}={name}: {path:?}") };
            let found = match &path.clauses.partition {
                super::query_path::PartitionClause::Values(values) if path.clauses.sort.is_empty() => values.get(&0).cloned(),
                _ => match path.clauses.sort.get(&0) {
                    Some(crate::expr::SortRange::Less(value)) => Some(value.clone()),
                    other => panic!("{other:?}"),
                },
            };
            proptest::prop_assert_eq!(found, Some(value));
        }
    }
}
