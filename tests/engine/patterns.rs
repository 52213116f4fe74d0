//! Access patterns against keys: which table or index answers a request.

use crate::support::engine::bed::*;
use crate::support::engine::*;
use ddbfs::database::Browse;
use ddbfs::inspect::patterns::{Pattern, SourceKey, answer, serve, source_keys};
use ddbfs::model::metrics::AccessForm;

fn form(operation: &str, key: &str, condition: &str) -> AccessForm {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    AccessForm {
        operation: operation.to_owned(),
        key_condition: text(key),
        condition: text(condition),
        ..AccessForm::default()
    }
}

#[test]
fn the_source_with_the_fewest_filters_answers() {
    let bed = Bed::new(
        "pk:S sk:S",
        &["G byCity city:S date:S ALL", "L byN n:N ALL"],
    );
    let schema = bed.database.schema(&table("Tab")).unwrap().unwrap();
    let mut keys = source_keys(&schema);
    keys.push(SourceKey {
        index: Some("spread".to_owned()),
        partition: vec!["state".to_owned()],
        sort: vec!["date".to_owned(), "n".to_owned()],
        suffixes: 4,
    });
    let check = |operation: &str, key: &str, condition: &str, expected: &str| {
        let pattern = Pattern::of(&form(operation, key, condition), &schema).unwrap();
        let found = answer(serve(&pattern, &keys).as_ref());
        assert_eq!(found, expected, "{operation} {key} {condition}");
    };
    let whole = "pk = ? AND sk = ?";
    check("GetItem", whole, "", "table by pk = ? AND sk = ?");
    check("GetItem", "pk = ?", "", "Scan");
    check("PutItem", "", "city = ?", "table by pk = ? AND sk = ?");
    check("UpdateItem", whole, "n > ?", "table by pk = ? AND sk = ?");
    check("UpdateItem", "city = ? AND date = ?", "", "Scan");
    check(
        "Query",
        "pk = ? AND sk > ?",
        "",
        "table by pk = ? AND sk > ?",
    );
    check(
        "Query",
        "pk = ? AND n > ?",
        "",
        "index byN by pk = ? AND n > ?",
    );
    check(
        "Query",
        "pk = ?",
        "city = ?",
        "table by pk = ?, filter city = ?",
    );
    check(
        "Query",
        "pk = ?",
        "city = ? AND begins_with(date, ?) AND size(n) = ?",
        "index byCity by city = ? AND begins_with(date, ?), filter pk = ? AND size(n) = ?",
    );
    check(
        "Scan",
        "",
        "city = ? AND date < ?",
        "index byCity by city = ? AND date < ?",
    );
    // The range of the first sort attribute ends the key.
    check(
        "Scan",
        "",
        "state = ? AND date > ? AND n = ?",
        "4 queries of index spread by state = ? AND date > ?, filter n = ?",
    );
    check("Scan", "", "city > ? AND (pk = ? OR sk = ?)", "Scan");
    check("Scan", "", "", "Scan");
    // A key of text alone is that of all items.
    keys.truncate(1);
    keys[0].partition.clear();
    let pattern = Pattern::of(&form("Scan", "", "sk = ?"), &schema).unwrap();
    assert!(serve(&pattern, &keys).is_none());
    // A text that is cut.
    assert!(Pattern::of(&form("Scan", "", "sk = ? AND…"), &schema).is_none());
}
