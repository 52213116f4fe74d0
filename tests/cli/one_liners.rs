//! docs/cookbook.md, line by line, on one mount of the sample tables: each line does what is expected of it, and the cookbook has
//! these lines and no others.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::daemon::{Mount, free_address, texts};

const COOKBOOK: &str = include_str!("../../docs/cookbook.md");

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
        "jq . Sales/items/'user#42'/2024-01-01T00:00:00Z.json",
        With(&["  \"total\": 10"]),
        "",
        "",
    ),
    (
        "find Sales/items -name '*.json' -print0 | xargs -0 cat | jq -s 'map(.total)|add'",
        Exactly("356\n"),
        "",
        "",
    ),
    (
        r#"grep -rl '"status":"open"' Sales/items | wc -l"#,
        Exactly("6\n"),
        "",
        "",
    ),
    (
        r#"cat Sales/scan/items.ndjson | grep -c '"status":"open"'"#,
        Exactly("6\n"),
        "",
        "",
    ),
    (
        r#"mkdir -p Sales/items/u9 && echo '{"status":"open","total":21}' > Sales/items/u9/o1.json"#,
        Exactly(""),
        "cat Sales/items/u9/o1.json",
        "{\"pk\":\"u9\",\"sk\":\"o1\",\"status\":\"open\",\"total\":21}\n",
    ),
    (
        r#"(set -C; echo '{"a":1}' > Sales/items/u9/o1.json) || echo exists"#,
        Exactly("exists\n"),
        "cat Sales/items/u9/o1.json",
        "{\"pk\":\"u9\",\"sk\":\"o1\",\"status\":\"open\",\"total\":21}\n",
    ),
    (
        "echo '{bad' > Sales/items/u9/o2.json || cat .ddb/errors/last",
        With(&["write Sales/items/u9/o2.json: EINVAL", "hint:"]),
        "ls Sales/items/u9",
        "o1.json\n",
    ),
    (
        r#"echo '{"status":"shipped","tmp":null}' > Sales/items/u9/o1.patch"#,
        Exactly(""),
        "jq -c '[.status,.tmp]' Sales/items/u9/o1.json",
        "[\"shipped\",null]\n",
    ),
    (
        "echo 'ADD views 1 IF attribute_exists(pk)' > Sales/items/u9/o1.update",
        Exactly(""),
        "jq .views Sales/items/u9/o1.json",
        "1\n",
    ),
    (
        "echo done > Sales/items/u9/o1.d/status",
        Exactly(""),
        "jq -r .status Sales/items/u9/o1.json",
        "done\n",
    ),
    (
        "jq '.total*=2' Sales/items/u9/o1.json > Sales/items/u9/o1.json",
        Exactly(""),
        "jq .total Sales/items/u9/o1.json",
        "42\n",
    ),
    (
        r#"sed -i.bak 's/"done"/"closed"/' Sales/items/u9/*.json"#,
        Exactly(""),
        "jq -r .status Sales/items/u9/o1.json",
        "closed\n",
    ),
    (
        "mkdir -p Sales/items/u10 && mv Sales/items/u9/o1.json Sales/items/u10/",
        Exactly(""),
        "ls Sales/items/u10; jq -c '[.pk,.total]' Sales/items/u10/o1.json; rm -r Sales/items/u9 Sales/items/u10",
        "o1.json\n[\"u10\",42]\n",
    ),
    (
        "cat Sales/query/@pk=user%2342/@sk.between=2024-01,2024-06/desc/limit=3/items.ndjson | jq -r .total",
        Exactly("40\n30\n20\n"),
        "",
        "",
    ),
    (
        "cat Sales/gsi/by-status/query/@pk=open/@sk.begins=2024-06/where.total.gt=100/select=pk,total/items.csv",
        Exactly("pk,total\nu2,150\n"),
        "",
        "",
    ),
    (
        r#"cat 'Sales/query/@pk=u1/where=status IN ("open","held")/count'"#,
        Exactly("2\n"),
        "",
        "",
    ),
    (
        "seq 0 7 | xargs -P8 -I{} sh -c 'cat Sales/scan/segment={},8/items.ndjson > $T/seg.{}'",
        Exactly(""),
        "cat $T/seg.* | wc -l",
        "10\n",
    ),
    (
        "cat Sales/query/@pk=u1/@sk.lt=2020/keys | (cd Sales && xargs -r rm)",
        Exactly(""),
        "ls Sales/items/u1",
        "2021-01.json\n2022-01.json\n",
    ),
    (
        r#"cat $T/seg.* | jq -c '.pk="copied"' > Sales/batch/put; jq . Sales/batch/result.json"#,
        With(&["10"]),
        "cat Sales/query/@pk=copied/count; rm -r Sales/items/copied",
        "10\n",
    ),
    (
        "tar -C Sales -cf $T/o.tar schema.json items && mkdir Copy && tar -C Copy -xf $T/o.tar",
        Exactly(""),
        "cat Copy/scan/count; rm -r Copy/items/*; rmdir Copy",
        "9\n",
    ),
    (
        "mkdir -p $T/backup/Sales && rsync -a --delete Sales/schema.json Sales/items $T/backup/Sales/",
        Exactly(""),
        "find $T/backup/Sales/items -name '*.json' | wc -l",
        "9\n",
    ),
    (
        r"grep -v '^#' Sales/partitions/heat.tsv | sort -t$'\t' -k7,7nr | head -5",
        With(&["p0"]),
        "",
        "",
    ),
    (
        "jq -r '[.name,.entries/.table_items]|@tsv' Sales/gsi/*/stats.json",
        Exactly("by-status\t1\n"),
        "",
        "",
    ),
    (
        r#"aws dynamodb query --cli-input-json "$(cat Sales/query/@pk=u1/desc/limit=5/request.json)""#,
        With(&["\"Count\": 2", "\"S\": \"2022-01\""]),
        "",
        "",
    ),
    (
        "ln -s '../query/@pk=u1/desc' Sales/queries/latest && cat Sales/queries/latest/limit=1/items.ndjson | jq .total",
        Exactly("3\n"),
        "rm Sales/queries/latest",
        "",
    ),
];

/// Ends only with Ctrl-C; a deletion shows.
const FOLLOWS: &str =
    r#"tail -F Sales/stream/log.ndjson | jq --unbuffered -c 'select(.op=="REMOVE")'"#;

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
    let mount = Mount::with_samples_and(&["--http", &address]);
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
    let (status, (_, error)) = run(&format!(
        "set -e\n{}",
        block_after(COOKBOOK, "## The table")
    ));
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
    let follow = format!("({FOLLOWS}) > $T/removed & rm Sales/items/u2/2024-06-06.json");
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

/// Returns the first `sh` block after a heading.
fn block_after<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, after) = text.split_once(heading).expect("the heading");
    let (_, block) = after.split_once("```sh\n").expect("a block");
    block.split_once("```").expect("its end").0
}

/// Returns the lines of the first `sh` block after a heading.
fn lines_after<'a>(text: &'a str, heading: &str) -> Vec<&'a str> {
    block_after(text, heading).lines().collect()
}

#[test]
fn the_cookbook_is_these_lines_and_the_readme_has_some_of_them() {
    let mut lines: Vec<&str> = LINES.iter().map(|(line, ..)| *line).collect();
    lines.push(FOLLOWS);
    assert_eq!(lines_after(COOKBOOK, "## One line each"), lines);
    let shown = lines_after(include_str!("../../README.md"), "## Cookbook");
    assert!(
        !shown.is_empty() && shown.iter().all(|line| lines.contains(line)),
        "{shown:?}"
    );
}
