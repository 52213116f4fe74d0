//! docs/cookbook.md, line by line, on one mount: each line does what is said of it, and the cookbook has these lines and no other.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::daemon::{Mount, free_address, texts};

/// Orders with an index and a stream, written through the mount.
const SETUP: &str = r#"
set -e
mkdir Orders
cat > Orders/schema.json <<'END'
{"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"},
  {"AttributeName": "status", "AttributeType": "S"}, {"AttributeName": "created", "AttributeType": "S"}],
 "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
 "GlobalSecondaryIndexes": [{"IndexName": "by-status", "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]},
  "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}, {"AttributeName": "created", "KeyType": "RANGE"}]}],
 "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}, "BillingMode": "PAY_PER_REQUEST"}
END
put() { mkdir -p "Orders/items/$1"; echo "{\"status\":\"$3\",\"total\":$4,\"created\":\"$2\"}" > "Orders/items/$1/$2.json"; }
put 'user#42' 2024-01-01T00:00:00Z open 10
put 'user#42' 2024-02-01 held 20
put 'user#42' 2024-03-01 open 30
put 'user#42' 2024-05-01 done 40
put 'user#42' 2024-07-01 open 50
put u1 2019-01 open 1
put u1 2021-01 held 2
put u1 2022-01 done 3
put u2 2024-06-05 open 150
put u2 2024-06-06 open 50
"#;

/// What a line prints.
enum Prints {
    Exactly(&'static str),
    /// Each of these.
    With(&'static [&'static str]),
}

use Prints::{Exactly, With};

/// A line of the cookbook, what it prints, and what a look afterwards prints. `$T` is a directory outside of the mount.
const LINES: &[(&str, Prints, &str, &str)] = &[
    (
        "jq . Orders/items/'user#42'/2024-01-01T00:00:00Z.json",
        With(&["  \"total\": 10"]),
        "",
        "",
    ),
    (
        "find Orders/items -name '*.json' -print0 | xargs -0 cat | jq -s 'map(.total)|add'",
        Exactly("356\n"),
        "",
        "",
    ),
    (
        r#"grep -rl '"status":"open"' Orders/items | wc -l"#,
        Exactly("6\n"),
        "",
        "",
    ),
    (
        r#"mkdir -p Orders/items/u9 && echo '{"status":"open"}' > Orders/items/u9/o1.json"#,
        Exactly(""),
        "cat Orders/items/u9/o1.json",
        "{\"pk\":\"u9\",\"sk\":\"o1\",\"status\":\"open\"}\n",
    ),
    (
        r#"(set -C; echo '{"a":1}' > Orders/items/u9/o1.json) || echo exists"#,
        Exactly("exists\n"),
        "cat Orders/items/u9/o1.json",
        "{\"pk\":\"u9\",\"sk\":\"o1\",\"status\":\"open\"}\n",
    ),
    (
        "echo '{bad' > Orders/items/u9/o2.json || cat .ddb/errors/last",
        With(&["write Orders/items/u9/o2.json: EINVAL", "hint:"]),
        "ls Orders/items/u9",
        "o1.json\n",
    ),
    (
        r#"echo '{"status":"shipped","tmp":null}' > Orders/items/u9/o1.patch"#,
        Exactly(""),
        "jq -c '[.status,.tmp]' Orders/items/u9/o1.json",
        "[\"shipped\",null]\n",
    ),
    (
        "echo 'ADD views 1 IF attribute_exists(pk)' > Orders/items/u9/o1.update",
        Exactly(""),
        "jq .views Orders/items/u9/o1.json",
        "1\n",
    ),
    (
        "echo done > Orders/items/u9/o1.d/status",
        Exactly(""),
        "jq -r .status Orders/items/u9/o1.json; echo 21 > Orders/items/u9/o1.d/total,N",
        "done\n",
    ),
    (
        "jq '.total*=2' Orders/items/u9/o1.json > Orders/items/u9/o1.json",
        Exactly(""),
        "jq .total Orders/items/u9/o1.json; echo open > Orders/items/u9/o1.d/status",
        "42\n",
    ),
    (
        r#"sed -i.bak 's/"open"/"closed"/' Orders/items/u9/*.json"#,
        Exactly(""),
        "jq -r .status Orders/items/u9/o1.json; mkdir -p Orders/items/u10",
        "closed\n",
    ),
    (
        "mv Orders/items/u9/o1.json Orders/items/u10/",
        Exactly(""),
        "ls Orders/items/u10; jq -c '[.pk,.total]' Orders/items/u10/o1.json; rm -r Orders/items/u9 Orders/items/u10",
        "o1.json\n[\"u10\",42]\n",
    ),
    (
        "cat Orders/query/@pk=user%2342/@sk.between=2024-01,2024-06/desc/limit=3/items.ndjson | jq -r .total",
        Exactly("40\n30\n20\n"),
        "",
        "",
    ),
    (
        "cat Orders/gsi/by-status/query/@pk=open/@sk.begins=2024-06/where.total.gt=100/select=pk,total/items.csv",
        Exactly("pk,total\nu2,150\n"),
        "",
        "",
    ),
    (
        r#"cat 'Orders/query/@pk=u1/where=status IN ("open","held")/count'"#,
        Exactly("2\n"),
        "",
        "",
    ),
    (
        "seq 0 7 | xargs -P8 -I{} sh -c 'cat Orders/scan/segment={},8/items.ndjson > $T/seg.{}'",
        Exactly(""),
        "cat $T/seg.* | wc -l; jq -sc '{items: map(.pk = \"copied\")}' $T/seg.* > $T/dump.json",
        "10\n",
    ),
    (
        "cat Orders/query/@pk=u1/@sk.lt=2020/keys | (cd Orders && xargs -r rm)",
        Exactly(""),
        "ls Orders/items/u1",
        "2021-01.json\n2022-01.json\n",
    ),
    (
        "jq -c '.items[]' $T/dump.json > Orders/batch/put; jq . Orders/batch/result.json",
        With(&["10"]),
        "cat Orders/query/@pk=copied/count; rm -r Orders/items/copied",
        "10\n",
    ),
    (
        "tar -C Orders -cf $T/o.tar schema.json items && mkdir Copy && tar -C Copy -xf $T/o.tar",
        Exactly(""),
        "cat Copy/scan/count; rm -r Copy/items/*; rmdir Copy; mkdir -p $T/backup/Orders",
        "9\n",
    ),
    (
        "rsync -a --delete Orders/schema.json Orders/items $T/backup/Orders/",
        Exactly(""),
        "find $T/backup/Orders/items -name '*.json' | wc -l",
        "9\n",
    ),
    (
        r"sort -t$'\t' -k7,7nr Orders/partitions/heat.tsv | head -5",
        With(&["p0"]),
        "",
        "",
    ),
    (
        "jq -r '[.name,.entries/.table_items]|@tsv' Orders/gsi/*/stats.json",
        Exactly("by-status\t1\n"),
        "",
        "",
    ),
    (
        r#"aws dynamodb query --cli-input-json "$(cat Orders/query/@pk=u1/desc/limit=5/request.json)""#,
        With(&["\"Count\": 2", "\"S\": \"2022-01\""]),
        "",
        "",
    ),
    (
        "ln -s '../query/@pk=u1/desc' Orders/queries/latest && cat Orders/queries/latest/limit=1/items.ndjson | jq .total",
        Exactly("3\n"),
        "rm Orders/queries/latest",
        "",
    ),
];

/// Ends only with Ctrl-C; a deletion shows.
const FOLLOWS: &str =
    r#"tail -F Orders/stream/log.ndjson | jq --unbuffered -c 'select(.op=="REMOVE")'"#;

/// `aws` of the client tests' Python, sent to the daemon.
fn aws(directory: &Path) {
    let python = std::env::var("DDBFS_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let aws = directory.join("aws");
    fs::write(
        &aws,
        format!("#!/bin/sh\nexec '{python}' -m awscli \"$@\"\n"),
    )
    .unwrap();
    fs::set_permissions(&aws, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn every_line_does_what_it_says() {
    let address = free_address();
    let mount = Mount::with_args(&["--http", &address]);
    let outside = tempfile::tempdir().unwrap();
    let t = outside.path().display().to_string();
    aws(outside.path());
    let environment = format!(
        "export T={t} PATH={t}:$PATH AWS_ENDPOINT_URL=http://{address} AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b AWS_DEFAULT_REGION=us-east-1 \
         AWS_CONFIG_FILE=/dev/null AWS_EC2_METADATA_DISABLED=true NO_PROXY='*'\n"
    );
    let run = |script: &str| {
        let output = mount.bash(&format!("{environment}{script}"));
        (output.status.code(), texts(&output))
    };
    let (status, (_, error)) = run(SETUP);
    assert_eq!((status, error.as_str()), (Some(0), ""));
    for (line, prints, look, seen) in LINES {
        let (status, (out, error)) = run(line);
        let is_told = line.contains("||");
        assert!(
            status == Some(0) && (is_told || error.is_empty()),
            "{line}\n{status:?}\n{out}{error}"
        );
        match prints {
            Exactly(expected) => assert_eq!(out, *expected, "{line}"),
            With(parts) => parts
                .iter()
                .for_each(|part| assert!(out.contains(part), "{line}\n{part}\n{out}")),
        }
        let (_, (out, error)) = run(look);
        assert_eq!(
            (out.as_str(), error.as_str()),
            (*seen, ""),
            "{line}\nthen: {look}"
        );
    }
    // The line ends with its process group, after the deletion showed.
    let follow = format!("({FOLLOWS}) > $T/removed & rm Orders/items/u2/2024-06-06.json");
    let shown = "for i in $(seq 10000); do grep -q 2024-06-06 $T/removed && break; done; kill 0";
    let output = mount.bash(&format!(
        "{environment}trap 'grep 2024-06-06 $T/removed; exit' TERM; {follow}; {shown}"
    ));
    assert!(
        texts(&output).0.contains("\"op\":\"REMOVE\""),
        "{:?}",
        texts(&output)
    );
}

/// The lines of the first `sh` block after a heading.
fn lines_after<'a>(text: &'a str, heading: &str) -> Vec<&'a str> {
    let (_, after) = text.split_once(heading).expect("the heading");
    let (_, block) = after.split_once("```sh\n").expect("a block");
    let (block, _) = block.split_once("```").expect("its end");
    block.lines().collect()
}

#[test]
fn the_cookbook_is_these_lines_and_the_readme_has_some_of_them() {
    let mut lines: Vec<&str> = LINES.iter().map(|(line, ..)| *line).collect();
    lines.push(FOLLOWS);
    assert_eq!(
        lines_after(include_str!("../../docs/cookbook.md"), "# Cookbook"),
        lines
    );
    let shown = lines_after(include_str!("../../README.md"), "## Cookbook");
    assert!(
        !shown.is_empty() && shown.iter().all(|line| lines.contains(line)),
        "{shown:?}"
    );
}
