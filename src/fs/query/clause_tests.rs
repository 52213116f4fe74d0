//! Tests of every clause, good and bad, with its message and hint.

use super::{
    QueryChild, ResultKind,
    tables_of_tests::{game_scores, table, walk},
};
use crate::fs::prelude::*;

/// Returns `dir`, `file`, `-> target`, `ENOENT`, or the message.
fn outcome(path: &str) -> String {
    match walk(&game_scores(), path) {
        Ok(QueryChild::Dir(_)) => "dir".to_owned(),
        Ok(QueryChild::Result(..)) => "file".to_owned(),
        Ok(QueryChild::Link { target }) => format!("-> {target}"),
        Err(FsError::NotFound) => "ENOENT".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn check(path: &str, expected: &str) {
    assert_eq!(outcome(path), expected, "{path}");
}

/// Checks that the hint of a bad path begins with `expected`.
fn check_hint(path: &str, expected: &str) {
    match walk(&game_scores(), path) {
        Err(FsError::Clause { hint, .. }) => assert!(hint.starts_with(expected), "{path}: {hint}"),
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn clauses_come_in_any_order() {
    for path in [
        "query/@pk=101",
        "query/@pk=101/@sk=Galaxy%20Invaders",
        "query/@sk.ge=A/@pk=101",
        "query/desc/limit=3/@pk=101/select=TopScore,m.a[0]/consistent/typed/eval=100",
        "query/UserId=101/GameTitle.begins=Me",
        "query/UserId=101/GameTitle.between=A,M",
        "query/asc",
        "scan/limit=3/segment=0,8/typed/eval=2/consistent/select=a",
        "gsi/GameTitleIndex/query/GameTitle=Comet%20Quest/TopScore.ge=100",
        "gsi/GameTitleIndex/query/@pk=Comet Quest/@sk.between=1,5",
        "gsi/GameTitleIndex/query/select=UserId,TopScore,GameTitle",
        "gsi/ByRegion/query/Tenant=a/Region=1/Day=2024/Hour.lt=3",
        "gsi/ByRegion/query/@pk=a,1",
        "gsi/ByHash/query/@pk=%00%FF",
        "lsi/WinsIndex/query/@pk=101/Wins.Total.ge=5/consistent/select=Losses",
        "lsi/WinsIndex/query/@pk=101/Wins.Total=5",
    ] {
        check(path, "dir");
    }
}

#[test]
fn results_are_files() {
    for (_, name, _) in ResultKind::TABLE {
        check(&format!("query/@pk=101/{}", name), "file");
        check(&format!("scan/{}", name), "file");
        check(&format!("scan/limit=1/{}", name), "file");
    }
    check("query/help", "file");
}

#[test]
fn a_query_needs_its_partition_key() {
    check(
        "query/count",
        "a query needs @pk=…, the partition key UserId",
    );
    check_hint("query/count", "for example UserId=…/items.ndjson");
    check(
        "query/@sk=a/items.ndjson",
        "a query needs @pk=…, the partition key UserId",
    );
    check(
        "gsi/ByRegion/query/Tenant=a/count",
        "a query needs all of its partition key; Region is missing",
    );
    check(
        "gsi/ByRegion/query/count",
        "a query needs all of its partition key; Tenant, Region is missing",
    );
    check_hint(
        "gsi/ByRegion/query/count",
        "for example Tenant=…/Region=…/items.ndjson",
    );
    check(
        "gsi/ByRegion/query/@pk=a,1/Hour=3/count",
        "a condition on Hour needs '=' conditions on the sort attributes before it: Day has none",
    );
    check(
        "gsi/ByRegion/query/@pk=a,1/Day.ge=a/Hour=3/count",
        "a condition on Hour needs '=' conditions on the sort attributes before it: Day has none",
    );
    check("gsi/ByRegion/query/@pk=a,1/Hour.ge=3/Day=a/count", "file");
}

#[test]
fn unknown_clauses_name_the_nearest_word() {
    for (name, nearest) in [
        ("limt=3", "limit="),
        ("Limit=3", "limit="),
        ("descending", "desc"),
        ("dsc", "desc"),
        ("cuont", "count"),
        ("item.ndjson", "items.ndjson"),
        ("items.csvv", "items.csv"),
        ("wher=a", "where="),
        ("alive", "live"),
        ("nxt", "next"),
        ("explain", "explain.json"),
        ("selct=a", "select="),
        ("@pk", "@pk="),
        ("@ps=1", "@pk="),
        ("pk=1", "@pk="),
        ("UserID=101", "UserId="),
        ("GameTitel.ge=a", "GameTitle.ge="),
        ("consistent_read", "consistent"),
    ] {
        check(
            &format!("query/{name}"),
            &format!("unknown clause '{name}'"),
        );
        check_hint(
            &format!("query/{name}"),
            &format!("did you mean '{nearest}'?"),
        );
    }
    check("query/@sk.gtt=1", "unknown operator 'gtt' on GameTitle");
    check_hint("query/@sk.gtt=1", "did you mean 'gt'?");
    check("query/GameTitle.eq=1", "unknown operator 'eq' on GameTitle");
    check_hint(
        "query/GameTitle.eq=1",
        "did you mean '='? There are lt, le, gt, ge, between, begins, and none for equality.",
    );
}

#[test]
fn a_filter_is_explained_and_pointed_to_an_index() {
    let message = "is no key attribute here, so this would be a filter: DynamoDB reads, and charges for, every item of the query and then drops those that do not match";
    check("query/@pk=101/status=open", &format!("status {message}"));
    check_hint(
        "query/@pk=101/status=open",
        "write where.status.eq=… to filter all the same, or add an index on status",
    );
    check(
        "query/@pk=101/TopScore.ge=5",
        &format!("TopScore {message}"),
    );
    check_hint(
        "query/@pk=101/Wins.ge=5",
        "write where.Wins.ge=… to filter all the same, or add an index on Wins",
    );
    check("query/Tenant=a", &format!("Tenant {message}"));
    check_hint(
        "query/Tenant=a",
        "the index ByRegion has Tenant as its partition key: gsi/ByRegion/query/Tenant=…",
    );
    check("scan/status=open", &format!("status {message}"));
}

#[test]
fn shards_are_a_range_of_keys() {
    for (path, expected) in [
        ("query/@pk.shards=121212-,1,5", "dir"),
        ("query/UserId.shards=121212-,1,5", "dir"),
        ("query/@pk.shards=,01,12/items.ndjson", "file"),
        ("query/@pk.shards=a,1,5/count", "file"),
        ("query/@pk.shards=a,1,200", "dir"),
        (
            "query/@pk.shards=a,1,201",
            "shards are 1 to 200, the first number not above the last",
        ),
        (
            "query/@pk.shards=a,5,1",
            "shards are 1 to 200, the first number not above the last",
        ),
        (
            "query/@pk.shards=a,1",
            "shards are prefix,first,last with whole numbers, not 'a,1'",
        ),
        (
            "query/@pk.shards=a,b,c",
            "shards are prefix,first,last with whole numbers, not 'a,b,c'",
        ),
        ("query/@pk.shards=a,1,5/@pk=1", "@pk is given twice"),
        ("query/@pk=1/@pk.shards=a,1,5", "@pk.shards is given twice"),
        (
            "gsi/ByRegion/query/@pk.shards=a,1,5",
            "shards work on a partition key of one attribute",
        ),
        (
            "gsi/ByRegion/query/Tenant.shards=a,1,5",
            "shards work on a partition key of one attribute",
        ),
        (
            "scan/@pk.shards=a,1,5",
            "the key condition @pk.shards=a,1,5 does not work on a scan",
        ),
        (
            "query/@pk.shards=a,1,2/000001,a1,Starship X.json",
            "-> ../../items/a1/Starship X.json",
        ),
    ] {
        check(path, expected);
    }
    check_hint(
        "query/@pk.shards=a",
        "@pk.shards=121212-,1,5 queries 121212-1 to 121212-5",
    );
}

#[test]
fn repeated_and_contradicting_clauses_are_refused() {
    for (path, expected) in [
        ("query/@pk=1/@pk=1", "@pk is given twice"),
        ("query/@pk=1/UserId=2", "UserId is given twice"),
        ("query/desc/desc", "desc is given twice"),
        ("query/asc/desc", "asc and desc exclude each other"),
        ("query/limit=1/limit=2", "limit is given twice"),
        ("query/eval=1/eval=2", "eval is given twice"),
        ("query/select=a/select=b", "select is given twice"),
        ("query/typed/typed", "typed is given twice"),
        ("query/live/live", "live is given twice"),
        ("query/live=1", "live takes no value"),
        ("query/consistent/consistent", "consistent is given twice"),
        ("scan/segment=0,2/segment=1,2", "segment is given twice"),
        (
            "query/@sk.ge=1/@sk.le=5",
            "a key condition takes one operator on GameTitle, there is one already",
        ),
        (
            "query/@sk=1/GameTitle=1",
            "a key condition takes one operator on GameTitle, there is one already",
        ),
        ("gsi/ByRegion/query/Tenant=a/@pk=a,1", "@pk is given twice"),
    ] {
        check(path, expected);
    }
}

#[test]
fn values_are_checked_by_type() {
    for (path, expected) in [
        ("query/@pk=", "UserId: a key value cannot be empty"),
        (
            "query/@pk=%FF",
            "UserId: the bytes of a string key are not UTF-8",
        ),
        (
            "query/@pk=50%",
            "UserId: two hexadecimal digits must follow '%'; write '%25' for the character itself",
        ),
        (
            "gsi/GameTitleIndex/query/TopScore=high",
            "TopScore: The parameter cannot be converted to a numeric value: high",
        ),
        (
            "gsi/GameTitleIndex/query/TopScore.begins=1",
            "'begins' does not work on TopScore, a number",
        ),
        (
            "gsi/GameTitleIndex/query/TopScore.between=5",
            "between on TopScore takes two values, lower,upper",
        ),
        (
            "gsi/GameTitleIndex/query/TopScore.between=1,2,3",
            "between on TopScore takes two values, lower,upper",
        ),
        (
            "gsi/GameTitleIndex/query/TopScore.between=10,9",
            "between on TopScore: the lower value is greater than the upper",
        ),
        (
            "query/@sk.between=b,a",
            "between on GameTitle: the lower value is greater than the upper",
        ),
        (
            "query/@sk.between=a,",
            "GameTitle: a key value cannot be empty",
        ),
        (
            "query/@pk=a%~b",
            "UserId: a shortened name ends in '%~' and 26 characters a-z, 2-7",
        ),
        ("query/@pk.gt=1", "the partition key UserId takes '=' only"),
        (
            "query/UserId.begins=1",
            "the partition key UserId takes '=' only",
        ),
        (
            "gsi/ByRegion/query/@pk=a",
            "@pk of this index takes 2 values, not 1",
        ),
        (
            "gsi/ByRegion/query/@pk=a,b",
            "Region: The parameter cannot be converted to a numeric value: b",
        ),
        (
            "gsi/ByRegion/query/@sk=a",
            "@sk names one attribute, but the key has 2",
        ),
        (
            "gsi/ByHash/query/@sk=a",
            "@sk does not work here: there is no sort key",
        ),
    ] {
        check(path, expected);
    }
}

#[test]
fn words_are_checked() {
    for (path, expected) in [
        ("query/limit", "limit needs a value"),
        ("query/limit=", "limit needs a value"),
        (
            "query/limit=0",
            "limit takes a whole number from 1, not '0'",
        ),
        (
            "query/limit=+1",
            "limit takes a whole number from 1, not '+1'",
        ),
        (
            "query/limit=ten",
            "limit takes a whole number from 1, not 'ten'",
        ),
        (
            "query/eval=4294967296",
            "eval takes a whole number from 1 to 4294967295, not '4294967296'",
        ),
        ("query/desc=1", "desc takes no value"),
        ("query/typed=", "typed takes no value"),
        ("query/select=", "select needs a value"),
        ("query/select=a,,b", "'' is no document path"),
        ("query/select=a[x]", "'a[x]' is no document path"),
        ("query/after=", "after needs a value"),
        ("query/after=abc", "this is no position token of ddbfs"),
        (
            "query/after=AAAAAAAAAAAAAAAAAAAA",
            "this is no position token of ddbfs",
        ),
        ("query/segment=0,2", "segment does not work on a query"),
        (
            "scan/segment=2,2",
            "segment takes its number and how many there are, number < count ≤ 1000000, not '2,2'",
        ),
        (
            "scan/segment=1",
            "segment takes its number and how many there are, number < count ≤ 1000000, not '1'",
        ),
        (
            "scan/segment=0,1000001",
            "segment takes its number and how many there are, number < count ≤ 1000000, not '0,1000001'",
        ),
        ("scan/desc", "desc does not work on a scan"),
        (
            "scan/@pk=1",
            "the key condition @pk=1 does not work on a scan",
        ),
        (
            "scan/GameTitle.ge=1",
            "the key condition GameTitle.ge=1 does not work on a scan",
        ),
        (
            "gsi/ByHash/query/consistent",
            "consistent reads are not supported on global secondary indexes",
        ),
        (
            "gsi/GameTitleIndex/scan/consistent",
            "consistent reads are not supported on global secondary indexes",
        ),
        (
            "gsi/GameTitleIndex/query/select=Wins",
            "index GameTitleIndex does not project Wins",
        ),
        (
            "gsi/ByHash/scan/select=Wins,Losses.a",
            "index ByHash does not project Losses",
        ),
        ("gsi/ByHash/scan/select=Wins,UserId,GameTitle,Hash", "dir"),
    ] {
        check(path, expected);
    }
}

#[test]
fn probes_find_nothing_quietly() {
    for name in [
        ".git",
        ".hidden",
        ".foo.swp",
        "CVS",
        "HEAD",
        "lost+found",
        "*",
        "*.json",
    ] {
        check(&format!("query/{name}"), "ENOENT");
        check(&format!("query/@pk=1/{name}"), "ENOENT");
    }
}

#[test]
fn a_glob_in_a_value_is_a_value() {
    check("query/@pk=*", "dir");
}

#[test]
fn links_are_resolved_from_their_names() {
    for (path, expected) in [
        (
            "query/@pk=101/000001,Starship%20X.json",
            "-> ../../items/101/Starship%20X.json",
        ),
        (
            "query/@pk=user#42/desc/limit=3/000012,a.json",
            "-> ../../../../items/user%2342/a.json",
        ),
        ("query/000001,a.json", "ENOENT"),
        ("query/@pk=101/1,a.json", "ENOENT"),
        ("query/@pk=101/000001,a.txt", "ENOENT"),
        ("query/@pk=101/000001,.json", "ENOENT"),
        ("query/@pk=101/1000000,a.json", "-> ../../items/101/a.json"),
        (
            "scan/000001,101,Starship%20X.json",
            "-> ../items/101/Starship%20X.json",
        ),
        ("scan/000001,101.json", "ENOENT"),
        (
            "gsi/GameTitleIndex/query/@pk=Comet Quest/desc/000001,0,123,Comet%20Quest.json",
            "-> ../../../items/Comet%20Quest/0,123,Comet%20Quest.json",
        ),
        (
            "gsi/GameTitleIndex/scan/000001,Comet%20Quest,0,123,Comet%20Quest.json",
            "-> ../items/Comet%20Quest/0,123,Comet%20Quest.json",
        ),
        (
            "gsi/ByRegion/query/Tenant=a/Region=1/000001,2024,5,u1,g.json",
            "-> ../../../items/a,1/2024,5,u1,g.json",
        ),
        (
            "gsi/ByRegion/scan/000001,a,1,2024,5,u1,g.json",
            "-> ../items/a,1/2024,5,u1,g.json",
        ),
    ] {
        check(path, expected);
    }
}

#[test]
fn a_shortened_partition_key_is_kept_as_typed() {
    let alias = format!("{}%~abcdefghijklmnopqrstuvwxya", "u".repeat(200));
    check(&format!("query/@pk={alias}"), "dir");
    check(
        &format!("query/UserId={alias}/000001,a.json"),
        &format!("-> ../../items/{alias}/a.json"),
    );
    check(&format!("query/UserId={alias}/@pk=1"), "@pk is given twice");
    check(
        &format!("query/@sk={alias}"),
        "GameTitle: a shortened name (%~…) works only as the whole partition key",
    );
    check(
        &format!("scan/000001,{alias},a.json"),
        &format!("-> ../items/{alias}/a.json"),
    );
    check(
        &format!("gsi/ByRegion/scan/000001,{alias},5,u1,g.json"),
        &format!("-> ../items/{alias}/5,u1,g.json"),
    );
}

#[test]
fn links_of_a_table_without_sort_key_lie_beside_each_other() {
    let pets = table("Pets", "Kind:S", None, Vec::new());
    for path in [
        "query/@pk=Dog/000001,Dog.json",
        "scan/typed/000001,Dog.json",
    ] {
        let Ok(QueryChild::Link { target }) = walk(&pets, path) else {
            panic!("{path}")
        };
        assert_eq!(target, "../../items/Dog.json");
    }
    assert!(matches!(
        walk(&pets, "query/@sk=1"),
        Err(FsError::Clause { .. })
    ));
}

#[test]
fn help_uses_the_tables_own_names() {
    let Ok(QueryChild::Result(path, _)) = walk(&game_scores(), "gsi/GameTitleIndex/query/help")
    else {
        panic!("no help")
    };
    let text = super::help::text(&path, None);
    for expected in [
        "index GameTitleIndex of table GameScores",
        "GameTitle=<string>",
        "TopScore.ge=<value>",
        "cat GameTitle=a/items.ndjson",
        "limit=",
    ] {
        assert!(text.contains(expected), "{expected}:\n{text}");
    }
    assert!(!text.contains("TopScore.begins"), "{text}");
    assert!(!text.contains("consistent"), "{text}");
}

#[test]
fn the_documents_name_every_clause_and_result() {
    let pets = table("Pets", "own:S", Some("sort:S"), Vec::new());
    let words = ["query", "scan"]
        .map(|kind| super::clause::words(super::tables_of_tests::directory(&pets, kind).context()));
    for (document, text) in [
        ("paths.md", include_str!("../../../docs/paths.md")),
        ("filesystem.md", include_str!("../../../docs/filesystem.md")),
    ] {
        for word in words
            .iter()
            .flatten()
            .filter(|word| !word.starts_with("own=") && !word.starts_with("sort"))
        {
            let shown = word
                .strip_prefix("@sk")
                .filter(|operator| operator.starts_with('.'))
                .unwrap_or(word);
            assert!(text.contains(shown), "{document} does not name {word}");
        }
    }
    for operator in super::operators::filter_operators() {
        assert!(
            super::where_clause::OPERATORS_HELP.contains(&operator),
            "{operator}"
        );
    }
}

#[test]
fn paths_are_equal_by_what_was_typed() {
    let schema = game_scores();
    let path = |text| super::tables_of_tests::directory(&schema, text);
    assert_eq!(path("query/@pk=1/desc"), path("query/@pk=1/desc"));
    assert_ne!(path("query/@pk=1/desc"), path("query/desc/@pk=1"));
    assert_ne!(path("query/limit=1"), path("scan/limit=1"));
    assert_ne!(path("query/@pk=1"), path("gsi/ByHash/query/@pk=1"));
}
