//! The worked examples of capacity (docs/dynamodb.md 10.5, D-04). Items are written through the mount and charged through HTTP, and the
//! query paths of the mount show what the reads of HTTP are charged.

use std::fs;

use super::both::{Both, Read};

/// `Tab`: pk S, sk N; the global index `all` on a, `keys` of keys only on k; the local index `some` on b with v projected.
const CREATE: &str = r#"CreateTable {"TableName":"Tab","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"},
        {"AttributeName":"a","AttributeType":"S"},{"AttributeName":"k","AttributeType":"S"},{"AttributeName":"b","AttributeType":"N"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
    "GlobalSecondaryIndexes":[
        {"IndexName":"all","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}},
        {"IndexName":"keys","KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}],
    "LocalSecondaryIndexes":[{"IndexName":"some","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},
        {"AttributeName":"b","KeyType":"RANGE"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["v"]}}]}"#;

/// Bytes of `pk` with a value of one letter and of `sk` with one digit (docs/dynamodb.md 5.1).
const KEY_BYTES: usize = 3 + 4;

const SMALL: &[&str] = &[
    r#"{"sk":1}"#,
    r#"{"sk":2}"#,
    r#"{"sk":3}"#,
    r#"{"sk":4}"#,
    r#"{"sk":5}"#,
];
const FETCHED: &[&str] = &[r#"{"l":1}"#, r#"{"l":2}"#, r#"{"l":3}"#, r#"{"l":4}"#];

/// The reads of one partition, for both front ends.
const READS: &[Read] = &[
    Read {
        id: "an item of 3.5 KB, strongly",
        call: r#"Query {"TableName":"Tab","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"m"}},
            "ProjectionExpression":"sk","ConsistentRead":true}"#,
        path: "Tab/query/@pk=m/consistent/select=sk",
        items: &[r#"{"sk":1}"#],
        units: "table 1",
        ..Read::ALL
    },
    Read {
        id: "an item of 3.5 KB",
        call: r#"Query {"TableName":"Tab","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"m"}},
            "ProjectionExpression":"sk"}"#,
        path: "Tab/query/@pk=m/select=sk",
        items: &[r#"{"sk":1}"#],
        units: "table 0.5",
        ..Read::ALL
    },
    Read {
        id: "an item of 8.1 KB, strongly",
        call: r#"Query {"TableName":"Tab","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"l"}},
            "ProjectionExpression":"sk","ConsistentRead":true}"#,
        path: "Tab/query/@pk=l/consistent/select=sk",
        items: &[r#"{"sk":1}"#],
        units: "table 3",
        ..Read::ALL
    },
    Read {
        id: "8 entries of 2,000 bytes of a global index",
        call: r#"Query {"TableName":"Tab","IndexName":"all","KeyConditionExpression":"a = :a","ProjectionExpression":"a",
            "ExpressionAttributeValues":{":a":{"S":"x"}}}"#,
        path: "Tab/gsi/all/query/a=x/select=a",
        items: &[r#"{"a":"x"}"#; 8],
        units: "gsi all 2",
        ..Read::ALL
    },
    Read {
        id: "5 items of 100 bytes",
        call: r#"Query {"TableName":"Tab","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"s"}},
            "ProjectionExpression":"sk"}"#,
        path: "Tab/query/@pk=s/select=sk",
        items: SMALL,
        units: "table 0.5",
        ..Read::ALL
    },
    Read {
        id: "D-04: 4 entries of 200 bytes, and their items of 300 bytes fetched",
        call: r#"Query {"TableName":"Tab","IndexName":"some","KeyConditionExpression":"pk = :p","ProjectionExpression":"l",
            "ExpressionAttributeValues":{":p":{"S":"d"}}}"#,
        path: "Tab/lsi/some/query/@pk=d/select=l",
        items: FETCHED,
        units: "lsi some 0.5, table 2",
        ..Read::ALL
    },
    Read {
        id: "D-04, strongly",
        call: r#"Query {"TableName":"Tab","IndexName":"some","KeyConditionExpression":"pk = :p","ProjectionExpression":"l",
            "ExpressionAttributeValues":{":p":{"S":"d"}},"ConsistentRead":true}"#,
        path: "Tab/lsi/some/query/@pk=d/select=l/consistent",
        items: FETCHED,
        units: "lsi some 1, table 4",
        ..Read::ALL
    },
];

/// Writes the item through the mount, filled up to `bytes` with an attribute `w`; `more` are plain members, of `more_bytes`.
fn write(both: &Both, pk: &str, sk: u32, (more, more_bytes): (&str, usize), bytes: usize) {
    let rest = "w".repeat(bytes - KEY_BYTES - more_bytes - 1);
    let directory = both.mount.point().join("Tab/items").join(pk);
    fs::create_dir_all(&directory).unwrap();
    fs::write(
        directory.join(format!("{sk}.json")),
        format!(r#"{{{more}"w":"{rest}"}}"#),
    )
    .unwrap();
}

#[test]
fn the_worked_examples_of_capacity() {
    let both = Both::empty();
    both.api(CREATE);
    write(&both, "m", 1, ("", 0), 3_584);
    write(&both, "l", 1, ("", 0), 8_295);
    (1..=8).for_each(|sk| write(&both, "g", sk, (r#""a":"x","#, 2), 2_000));
    (1..=5).for_each(|sk| write(&both, "s", sk, ("", 0), 100));
    // b, l and their values are 3 bytes each; v fills the entry up to 200 bytes.
    let v = "v".repeat(200 - KEY_BYTES - 3 - 1);
    (1..=4).for_each(|sk| {
        write(
            &both,
            "d",
            sk,
            (
                &format!(r#""b":{sk},"l":{sk},"v":"{v}","#),
                3 + 3 + 1 + v.len(),
            ),
            300,
        )
    });

    READS.iter().for_each(|read| both.check(read));
    single_reads(&both);
    writes(&both);
    index_changes(&both);
    transactions(&both);
}

fn single_reads(both: &Both) {
    let get = |pk: &str, consistent: bool| {
        let key = format!(r#"{{"pk":{{"S":"{pk}"}},"sk":{{"N":"1"}}}}"#);
        both.units(&format!(
            r#"GetItem {{"TableName":"Tab","Key":{key},"ConsistentRead":{consistent}}}"#
        ))
    };
    assert_eq!(
        (get("m", true), get("m", false)),
        ("table 1".into(), "table 0.5".into()),
        "GetItem of 3.5 KB"
    );
    assert_eq!(get("l", true), "table 3", "GetItem of 8.1 KB");
    let keys = r#"[{"pk":{"S":"s"},"sk":{"N":"1"}},{"pk":{"S":"s"},"sk":{"N":"2"}}]"#;
    let batch = both.units(&format!(
        r#"BatchGetItem {{"RequestItems":{{"Tab":{{"Keys":{keys}}}}}}}"#
    ));
    assert_eq!(batch, "table 1", "BatchGetItem of two items of 100 bytes");
    write(both, "t", 1, ("", 0), 5_120);
    let get = r#"TransactGetItems {"TransactItems":[{"Get":{"TableName":"Tab","Key":{"pk":{"S":"t"},"sk":{"N":"1"}}}}]}"#;
    assert_eq!(both.units(get), "table 4", "TransactGetItems of 5 KB");
}

/// What a put of an item of so many bytes is charged.
fn put(both: &Both, sk: u32, bytes: usize) -> String {
    let rest = "w".repeat(bytes - KEY_BYTES - 1);
    both.units(&format!(r#"PutItem {{"TableName":"Tab","Item":{{"pk":{{"S":"p"}},"sk":{{"N":"{sk}"}},"w":{{"S":"{rest}"}}}}}}"#))
}

fn writes(both: &Both) {
    assert_eq!(put(both, 1, 3_175), "table 4", "3.1 KB, new");
    assert_eq!(put(both, 1, 512), "table 4", "0.5 KB over 3.1 KB");
    assert_eq!(put(both, 1, 512), "table 1", "0.5 KB over as much");
    // The same over what the mount wrote.
    write(both, "p", 2, ("", 0), 3_175);
    assert_eq!(
        put(both, 2, 512),
        "table 4",
        "0.5 KB over 3.1 KB of the mount"
    );
    write(both, "p", 1, ("", 0), 100);
    assert_eq!(
        put(both, 1, 512),
        "table 1",
        "0.5 KB over 0.1 KB of the mount"
    );
}

fn index_changes(both: &Both) {
    let update = |expression: &str, value: &str| {
        both.units(&format!(
            r#"UpdateItem {{"TableName":"Tab","Key":{{"pk":{{"S":"u"}},"sk":{{"N":"1"}}}},"UpdateExpression":"{expression}",
            "ExpressionAttributeValues":{{":v":{{"S":"{value}"}}}}}}"#
        ))
    };
    let entries = || both.shell("cd Tab/gsi/keys/items; for k in *; do echo $k $(ls $k); done");
    write(both, "u", 1, (r#""k":"A","#, 2), 200);
    assert_eq!(entries(), "A u,1.json\n");
    assert_eq!(
        update("SET k = :v", "B"),
        "gsi keys 2, table 1",
        "an index key from A to B"
    );
    assert_eq!(entries(), "B u,1.json\n");
    // From B to C by the mount, and back.
    both.shell("jq -c '.k = \"C\"' Tab/items/u/1.json > Tab/items/u/1.json");
    assert_eq!(entries(), "C u,1.json\n");
    assert_eq!(
        update("SET k = :v", "B"),
        "gsi keys 2, table 1",
        "an index key from C of the mount to B"
    );
    let entry = both.shell("cat Tab/gsi/keys/items/B/u,1.json");
    assert_eq!(
        update("SET misc = :v", "1"),
        "table 1",
        "an attribute that is not projected"
    );
    assert_eq!(both.shell("cat Tab/gsi/keys/items/B/u,1.json"), entry);
    assert_eq!(both.shell("jq -r .misc Tab/items/u/1.json"), "1\n");
}

fn transactions(both: &Both) {
    let rest = "w".repeat(1_536 - KEY_BYTES - 2 - 1);
    let item =
        format!(r#"{{"pk":{{"S":"t"}},"sk":{{"N":"2"}},"k":{{"S":"T"}},"w":{{"S":"{rest}"}}}}"#);
    let write = format!(
        r#"TransactWriteItems {{"TransactItems":[{{"Put":{{"TableName":"Tab","Item":{item}}}}}]}}"#
    );
    assert_eq!(
        both.units(&write),
        "gsi keys 1, table 4",
        "TransactWriteItems of 1.5 KB"
    );
    assert_eq!(
        both.shell("ls Tab/items/t Tab/gsi/keys/items/T"),
        "Tab/gsi/keys/items/T:\nt,2.json\n\nTab/items/t:\n1.json\n2.json\n"
    );
}
