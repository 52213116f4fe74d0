//! Tests of the help texts, which use the tables of the mount: every example of every text is
//! pasted verbatim, and works.

use std::sync::Arc;

use crate::support::mounted::{FLAT, Mount, create_table, load_samples, memory, put};
use ddbfs::database::local::LocalDatabase;

/// A global index with a partition key and a sort key of two attributes each.
const SEVERAL: &str = r#"{
    "TableName": "Several", "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "the region", "AttributeType": "S"},
        {"AttributeName": "tier", "AttributeType": "N"}, {"AttributeName": "when", "AttributeType": "S"},
        {"AttributeName": "n", "AttributeType": "N"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [{
        "IndexName": "by-both",
        "KeySchema": [
            {"AttributeName": "the region", "KeyType": "HASH"}, {"AttributeName": "tier", "KeyType": "HASH"},
            {"AttributeName": "when", "KeyType": "RANGE"}, {"AttributeName": "n", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "ALL"}}]
}"#;

/// Returns the help files of a mount, each with the directory where its examples are pasted.
fn helps(mount: &Mount) -> Vec<(String, String)> {
    let at_root = mount
        .sh("ls -d README.md help .ddb/help/*.md")
        .ok()
        .to_owned();
    let mut out: Vec<_> = at_root
        .lines()
        .map(|file| (file.to_owned(), String::from(".")))
        .collect();
    let script = "shopt -s nullglob; for t in ./*/; do \
        for d in $t ${t}gsi/ ${t}lsi/ ${t}gsi/*/ ${t}lsi/*/ ${t}vector/ ${t}vector/*/ ${t}vector/*/near/ ${t}batch/ ${t}stream/ ${t}partitions/ ${t}queries/ ${t}queries/*/ ${t}query/ ${t}query/limit=2/desc/ ${t}scan/limit=5/ ${t}gsi/*/query/; do \
        echo $d; done; \
        if [ -d ${t}queries/mine ]; then echo ${t}queries/mine/; fi; done";
    let directories = mount.sh(script).ok().to_owned();
    out.extend(
        directories
            .lines()
            .map(|directory| (format!("{directory}help"), directory.to_owned())),
    );
    out
}

/// Returns the blocks of `sh` in a text.
fn blocks(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        match (&mut block, line) {
            (None, "```sh") => block = Some(String::new()),
            (Some(_), "```") => out.extend(block.take()),
            (Some(lines), _) => *lines += &format!("{line}\n"),
            (None, _) => {}
        }
    }
    assert!(block.is_none(), "a block without an end: {text}");
    out
}

/// Pastes every example of every help; returns the number of lines.
#[track_caller]
fn paste_all(mount: &Mount) -> usize {
    let (mut pasted, mut wrong) = (0, String::new());
    for (file, directory) in helps(mount) {
        let text = mount.sh(&format!("cat {file}")).ok().to_owned();
        let size = mount
            .sh(&format!("stat -c %s {file}"))
            .ok()
            .trim()
            .to_owned();
        assert_eq!(size, text.len().to_string(), "the size of {file}");
        for block in blocks(&text) {
            pasted += block.lines().count();
            let ran = mount.sh(&format!(
                "cd '{directory}' && bash -e <<'END'\n{block}END\n"
            ));
            if ran.status != 0 {
                wrong += &format!(
                    "--- {file}, pasted in {directory}: status {}\n{block}{}\n",
                    ran.status, ran.err
                );
            }
        }
    }
    assert_eq!(wrong, "");
    pasted
}

/// Returns the tables with their items, as `ls` shows them.
fn content(mount: &Mount) -> String {
    mount
        .sh("ls; for t in ./*/; do echo $t; find $t/items | sort; ls $t/gsi $t/queries; done")
        .out
}

fn of(fill: impl Fn(&LocalDatabase)) -> Mount {
    let db = memory();
    fill(&db);
    Mount::of(Arc::clone(&db))
}

#[test]
fn every_example_works_on_the_sample_tables_and_leaves_them_as_they_were() {
    let mount = of(|db| load_samples(db));
    let before = content(&mount);
    let pasted = paste_all(&mount);
    assert_eq!(content(&mount), before);
    println!("{pasted} lines of examples work on the sample tables");
    mount.end();
}

#[test]
fn every_example_works_on_tables_of_other_shapes() {
    let mount = of(|db| {
        create_table(db, FLAT);
        put(
            db,
            "Flat",
            r#"{"id":"it's a \"name\" # with/all, {pk} & $HOME"}"#,
        );
        let table = |name: &str, attributes: [(&str, &str); 2]| {
            let [(pk, pk_type), (sk, sk_type)] = attributes;
            create_table(
                db,
                &format!(
                    r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST",
                    "AttributeDefinitions":[{{"AttributeName":"{pk}","AttributeType":"{pk_type}"}},{{"AttributeName":"{sk}","AttributeType":"{sk_type}"}},{{"AttributeName":"note","AttributeType":"N"}}],
                    "KeySchema":[{{"AttributeName":"{pk}","KeyType":"HASH"}},{{"AttributeName":"{sk}","KeyType":"RANGE"}}],
                    "GlobalSecondaryIndexes":[{{"IndexName":"by.note","KeySchema":[{{"AttributeName":"note","KeyType":"HASH"}},{{"AttributeName":"{pk}","KeyType":"RANGE"}}],
                    "Projection":{{"ProjectionType":"ALL"}}}}]}}"#
                ),
            );
        };
        table("-Numbers", [("the year", "N"), ("n", "N")]);
        put(db, "-Numbers", r#"{"the year":-3.5,"n":12,"note":7}"#);
        table("Bytes", [("b", "B"), ("sort key", "S")]);
        put(
            db,
            "Bytes",
            r#"{"b":{"$b64":"AP8g"},"sort key":"two words"}"#,
        );
        put(db, "Bytes", r#"{"b":{"$b64":"YQ=="},"sort key":"-o"}"#);
        table("Example", [("pk", "S"), ("sk", "B")]);
        create_table(db, SEVERAL);
        put(
            db,
            "Several",
            r#"{"id":"a","the region":"north west","tier":2,"when":"2024,1","n":5}"#,
        );
        create_table(db, crate::vectors::NOTES);
        put(
            db,
            "Notes",
            r#"{"pk":"a, b","sk":-1,"lang":"e n","v":[1,2]}"#,
        );
    });
    let text = mount.sh("cat Notes/vector/near-all/help").ok().to_owned();
    let near = "cat ../../vector/near-all/near/a%2C%20b,%2D1/top=3/items.ndjson";
    assert!(text.contains(near), "{text}");
    // A name that begins with a dash is written with its directory.
    let text = mount.sh("cat .ddb/help/queries.md").ok().to_owned();
    assert!(
        text.contains("cat ./-Numbers/query/@pk=%2D3.5/@sk.ge=12/desc"),
        "{text}"
    );
    let text = mount.sh("cat Flat/help").ok().to_owned();
    assert!(
        text.contains("cat items/it%27s%20a") && !text.contains("{pk}/"),
        "{text}"
    );
    let text = mount.sh("cat Several/help").ok().to_owned();
    assert!(
        text.contains(
            "cat gsi/by-both/query/the%20region=north%20west/tier=2/limit=3/items.ndjson"
        ),
        "{text}"
    );
    // Below a saved request and a saved link too.
    mount.sh("cp Several/query/@pk=a/request.json Several/queries/mine.json; ln -s ../query/@pk=a Several/queries/own").ok();
    assert!(
        helps(&mount)
            .iter()
            .any(|(file, _)| file == "./Several/queries/mine/help")
    );
    let pasted = paste_all(&mount);
    println!(
        "{pasted} lines of examples work on number keys, bytes, odd names, a table without items"
    );
    mount.end();
}

#[test]
fn without_tables_the_examples_make_one() {
    let mount = of(|_| {});
    let text = mount.sh("cat README.md").ok().to_owned();
    assert!(
        text.contains("\nmkdir 'Orders@pk:S,sk:S' ") && text.contains("Orders/items/u1/o1.json"),
        "{text}"
    );
    let pasted = paste_all(&mount);
    assert_eq!(
        mount.sh("ls; ls Orders/items/*").ok(),
        "Orders\nREADME.md\no1.json\n"
    );
    // Each alone, on an empty mount.
    for file in mount.sh("ls -d help .ddb/help/*.md").ok().lines() {
        mount
            .sh("test ! -e Orders || { rm -r Orders/items/*; rmdir Orders; }")
            .ok();
        let text = mount.sh(&format!("cat {file}")).ok().to_owned();
        let all = blocks(&text).concat();
        let ran = mount.sh(&format!("bash -e <<'END'\n{all}END\n"));
        assert_eq!(ran.status, 0, "{file} on an empty mount: {all}{}", ran.err);
    }
    println!("{pasted} lines of examples work on an empty mount");
    mount.end();
}

#[test]
fn texts_name_each_other_and_follow_what_is_there() {
    let mount = of(|db| load_samples(db));
    for file in [
        "README.md",
        "help",
        "GameScores/help",
        ".ddb/help/tables.md",
    ] {
        let text = mount.sh(&format!("cat {file}")).ok().to_owned();
        for word in [
            ".ddb/help",
            "help",
            "advice.md",
            "access.md",
            "heat.svg",
            "partitions/",
        ] {
            assert!(text.contains(word), "{file} does not name {word}");
        }
        assert!(
            !["{t}", "{pk}", "{item}", "{make}", "{fresh}", "{root}"]
                .iter()
                .any(|left| text.contains(left)),
            "{file}: {text}"
        );
    }
    for file in ["README.md", ".ddb/help/queries.md"] {
        let text = mount.sh(&format!("cat {file}")).ok().to_owned();
        assert!(text.contains("scan/items.ndjson | grep"), "{file}: {text}");
    }
    // A process with the text open reads it to its end, whatever happens to the item of its
    // examples.
    let script = "exec 3< GameScores/help; rm -r GameScores/items/*; test $(stat -L -c %s /dev/fd/3) = $(wc -c <&3); \
        grep -q 'the first' GameScores/help";
    mount.sh(script).ok();
    mount.end();
}
