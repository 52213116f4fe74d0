//! `ddbfs diff` of tables here; `tests/remote/copies.rs` has those of services.

use crate::commands::{ddbfs, sampled};

#[test]
fn two_tables_of_one_directory_are_compared() {
    let dir = sampled();
    let name = dir.path().to_str().unwrap();
    let (_, items, _) = ddbfs(dir.path(), &["dump", "Pets"], "");
    let definition = r#"{"TableName":"Copy","BillingMode":"PAY_PER_REQUEST",
        "KeySchema":[{"AttributeName":"AnimalType","KeyType":"HASH"},{"AttributeName":"Name","KeyType":"RANGE"}],
        "AttributeDefinitions":[{"AttributeName":"AnimalType","AttributeType":"S"},{"AttributeName":"Name","AttributeType":"S"}]}"#;
    ddbfs(dir.path(), &["import", "-"], definition);
    ddbfs(dir.path(), &["load", "Copy"], &items);
    let there = format!("{name}/Copy");
    for other in ["Copy", &there] {
        let found = ddbfs(dir.path(), &["diff", "Pets", other], "");
        assert_eq!(found, (0, String::new(), String::new()), "{other}");
    }
    ddbfs(
        dir.path(),
        &["load", "Copy"],
        "{\"AnimalType\":\"Owl\",\"Name\":\"Hedwig\"}\n",
    );
    let (code, out, _) = ddbfs(dir.path(), &["diff", "Pets", &there], "");
    let expected = "+ {\"AnimalType\":\"Owl\",\"Name\":\"Hedwig\"}\n";
    assert_eq!((code, out.as_str()), (1, expected));
}
