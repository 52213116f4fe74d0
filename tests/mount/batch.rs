//! `batch/` on a real mount: lines of JSON from shells and programs; the lines that fail, and the
//! reports of them.

use crate::support::mounted::{Mount, get, put};
use serde_json::{Value, json};

fn result(mount: &Mount, table: &str) -> Value {
    serde_json::from_str(mount.sh(&format!("cat {table}/batch/result.json")).ok()).unwrap()
}

/// Returns the lines, committed or found, and the lines that failed, of the last batch.
fn summary(mount: &Mount, table: &str) -> (u64, u64, Vec<u64>) {
    let result = result(mount, table);
    let number = |value: &Value| value.as_u64().unwrap();
    let done = result.get("committed").or(result.get("found")).unwrap();
    let failed: Vec<u64> = result["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| number(&error["line"]))
        .collect();
    assert_eq!(number(&result["failed"]) as usize, failed.len());
    (number(&result["lines"]), number(done), failed)
}

#[test]
fn the_one_liner_puts_a_dump() {
    let mount = Mount::with_tables();
    let dump = tempfile::NamedTempFile::new().unwrap();
    let items: Vec<Value> = (0..500)
        .map(|n| json!({"pk": format!("u{}", n % 7), "sk": n.to_string(), "n": n}))
        .collect();
    std::fs::write(dump.path(), json!({"items": items}).to_string()).unwrap();
    let ran = mount.sh(&format!(
        "jq -c '.items[]' {} > Orders/batch/put; jq -c '[.file,.committed,.failed]' Orders/batch/result.json",
        dump.path().display()
    ));
    assert_eq!(ran.ok(), "[\"Orders/batch/put\",500,0]\n");
    assert_eq!(mount.sh("cat Orders/scan/count").ok(), "500\n");
    let typed = r#"{"id":{"S":"typed"},"n":{"N":"1"}}"#;
    mount.sh(&format!("echo '{typed}' > Flat/batch/put; printf '%s' '{{\"id\":\"no newline\"}}' > Flat/batch/put")).ok();
    assert_eq!(
        mount
            .sh("ls Flat/items; jq -c .n Flat/items/typed.json")
            .ok(),
        "no%20newline.json\ntyped.json\n1\n"
    );
    println!(
        "jq -c '.items[]' dump.json > Orders/batch/put: 500 items; DynamoDB JSON; a last line without newline"
    );
    mount.end();
}

#[test]
fn a_bad_line_among_many_spoils_no_other_and_is_told_by_number() {
    let mount = Mount::with_tables();
    let file = tempfile::NamedTempFile::new().unwrap();
    let bad: [u64; 4] = [3, 777, 2_500, 3_999];
    let line = |n: u64| {
        if bad.contains(&n) {
            "{\"id\":bad}".to_owned()
        } else {
            json!({"id": n.to_string(), "text": "x".repeat(50)}).to_string()
        }
    };
    let text: String = (1..=4_000).map(|n| line(n) + "\n").collect();
    std::fs::write(file.path(), text).unwrap();
    let path = file.path().display();
    for program in [
        format!("cat {path} > Flat/batch/put"),
        format!("cp {path} Flat/batch/put"),
        format!("dd if={path} of=Flat/batch/put bs=1000 status=none"),
        format!(
            "python3 -c 'import shutil\nwith open(\"Flat/batch/put\", \"w\") as f: shutil.copyfileobj(open(\"{path}\"), f)'"
        ),
        format!("awk 1 {path} > Flat/batch/put"),
    ] {
        mount.sh("cat Flat/scan/keys > Flat/batch/delete").ok();
        let ran = mount.sh(&program);
        let (lines, committed, failed) = summary(&mount, "Flat");
        if !program.starts_with("dd ") {
            assert_eq!(
                (lines, committed, failed),
                (4_000, 3_996, bad.to_vec()),
                "{program}: {ran:#?}"
            );
            assert_eq!(mount.sh("cat Flat/scan/count").ok(), "3996\n", "{program}");
        }
        assert_ne!(ran.status, 0, "{program}: {ran:#?}");
        assert!(
            mount
                .sh("cat .ddb/errors/last")
                .ok()
                .contains("Flat/batch/put: EINVAL ValidationException\n  line ")
        );
        println!(
            "{program}: {committed} of {lines} lines stored, status {}",
            ran.status
        );
    }
    mount.end();
}

#[test]
fn a_shells_own_echo_sees_the_failure() {
    let mount = Mount::with_tables();
    for shell in ["bash", "dash", "zsh"] {
        let ran = mount.sh(&format!("{shell} -c \"printf '%s\\n' '{{\\\"id\\\":\\\"a\\\"}}' nonsense '{{\\\"id\\\":\\\"b\\\"}}' > Flat/batch/put\"; s=$?; cat .ddb/errors/last; exit $s"));
        assert!(
            ran.status != 0
                && (ran.err.contains("nvalid argument") || ran.err.contains("I/O error")),
            "{shell}: {ran:#?}"
        );
        assert!(
            ran.out.contains("line 2: ") && ran.out.contains("hint: the other lines are done"),
            "{shell}: {ran:#?}"
        );
        let (lines, committed, failed) = summary(&mount, "Flat");
        // A shell that writes line by line stops at the line that fails.
        assert!(
            lines >= 2 && committed == lines - 1 && failed == [2],
            "{shell}: {lines} {committed}"
        );
        println!(
            "{shell}: printf with a bad second line fails; {committed} of its {lines} lines are stored"
        );
    }
    // In a loop each echo gets the result of its own line.
    let ran = mount
        .sh("for i in 1 x 3; do echo \"{\\\"id\\\":\\\"$i\\\",\\\"n\\\":$i}\" || echo \"$i failed\" >&2; done > Flat/batch/put");
    assert!(
        ran.err.contains("x failed") && !ran.err.contains("3 failed"),
        "{ran:#?}"
    );
    assert_eq!(summary(&mount, "Flat"), (3, 2, vec![2]));
    mount.end();
}

#[test]
fn lines_split_over_writes_and_processes_are_whole() {
    let mount = Mount::with_tables();
    mount.sh("{ printf '{\"id\":'; printf '\"a\"}\\n{\"id\"'; printf ':\"b\"}\\n'; } > Flat/batch/put").ok();
    mount
        .sh("{ /bin/printf '{\"id\":'; /bin/printf '\"c\"}'; } > Flat/batch/put")
        .ok();
    mount.sh("python3 -c '\nimport os\nfd = os.open(\"Flat/batch/put\", os.O_WRONLY)\nfor byte in b\"{\\\"id\\\":\\\"d\\\"}\\n\\n{\\\"id\\\":\\\"e\\\"}\": os.write(fd, bytes([byte]))\nos.close(fd)'").ok();
    assert_eq!(
        mount.sh("ls Flat/items").ok(),
        "a.json\nb.json\nc.json\nd.json\ne.json\n"
    );
    let cut = mount.sh("printf '{\"id\":\"f\"' > Flat/batch/put; cat .ddb/errors/last");
    assert!(cut.out.contains("line 1: "), "{cut:#?}");
    let long = mount.sh("head -c 10000000 /dev/zero | tr '\\0' x > Flat/batch/put");
    assert!(
        long.status != 0
            && mount
                .sh("cat .ddb/errors/last")
                .ok()
                .contains("longer than any item"),
        "{long:#?}"
    );
    println!(
        "lines in pieces of any size, by several processes, byte by byte; a cut and an endless line are refused"
    );
    mount.end();
}

#[test]
fn insert_keeps_what_is_there() {
    let mount = Mount::with_tables();
    put(&*mount.db, "Flat", r#"{"id":"a","n":1}"#);
    let ran = mount.sh("cat <<E > Flat/batch/insert || cat .ddb/errors/last\n{\"id\":\"a\",\"n\":2}\n{\"id\":\"b\",\"n\":2}\nE");
    assert!(
        ran.err.contains("File exists") && ran.out.contains("line 1: the name exists"),
        "{ran:#?}"
    );
    assert_eq!(
        mount.sh("jq -c '[.id,.n]' Flat/items/*").ok(),
        "[\"a\",1]\n[\"b\",2]\n"
    );
    assert_eq!(result(&mount, "Flat")["errors"][0]["errno"], "EEXIST");
    let other = mount.sh_in_new_session("cat Flat/batch/result.json");
    assert_eq!(other.ok(), "{}\n", "another session sees nothing of it");
    println!("insert: the line whose item exists fails with EEXIST, the other is stored");
    mount.end();
}

#[test]
fn delete_and_get_take_keys_items_and_paths() {
    let mount = Mount::with_tables();
    for n in 0..6 {
        put(
            &*mount.db,
            "Orders",
            &json!({"pk": "u#1", "sk": n.to_string(), "n": n}).to_string(),
        );
    }
    let wanted = r#"'{"pk":"u#1","sk":"5"}' '{"pk":"u#1","sk":"none"}' 'items/u%231/3.json' '{"pk":"u#1","sk":"4","n":9}'"#;
    let ran = mount.sh(&format!(
        "exec 3<>Orders/batch/get; printf '%s\\n' {wanted} >&3; jq -c .n <&3"
    ));
    assert_eq!(ran.ok(), "5\n3\n4\n");
    let ran = mount.sh(&format!(
        "printf '%s\\n' {wanted} > Orders/batch/get; jq -c '[.found, .missing_lines, [.items[].sk]]' Orders/batch/result.json"
    ));
    assert_eq!(ran.ok(), "[3,[2],[\"5\",\"3\",\"4\"]]\n");
    mount
        .sh("cat 'Orders/query/@pk=u#1/@sk.lt=2/keys' > Orders/batch/delete")
        .ok();
    mount
        .sh("cat Orders/items/u%231/[23].json > Orders/batch/delete")
        .ok();
    let ran = mount.sh("cat <<E > Orders/batch/delete\n{\"pk\":\"u#1\",\"sk\":\"4\"}\n{\"pk\":\"u#1\"}\nschema.json\nE");
    assert!(ran.failed().contains("Invalid argument"), "{ran:#?}");
    let result = result(&mount, "Orders");
    assert_eq!(
        result["errors"][0]["error"],
        "the line lacks the key attribute sk"
    );
    assert!(
        result["errors"][1]["error"]
            .as_str()
            .unwrap()
            .contains("a line is a key such as"),
        "{result}"
    );
    assert_eq!(mount.sh("ls Orders/items/u%231").ok(), "5.json\n");
    println!("delete and get by key, item, path and a query's keys");
    mount.end();
}

#[test]
fn atomic_does_all_or_nothing() {
    let mount = Mount::with_tables();
    put(&*mount.db, "Flat", r#"{"id":"old"}"#);
    let names = || mount.sh("ls Flat/items").ok().replace('\n', " ");
    let lines = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| format!("'{line}' "))
            .collect::<String>()
    };

    let good = lines(&[
        r#"{"id":"a"}"#,
        r#"{"$delete":{"id":"old"}}"#,
        r#"{"$insert":{"id":"b"}}"#,
        r#"{"$absent":{"id":"x"}}"#,
    ]);
    mount
        .sh(&format!("printf '%s\\n' {good} > Flat/batch/atomic"))
        .ok();
    assert_eq!(
        (names(), summary(&mount, "Flat")),
        ("a.json b.json ".to_owned(), (4, 4, vec![]))
    );
    println!("atomic: put, delete, insert and a condition in one transaction");

    // By a line that fails the batch, in the write.
    let failing = lines(&[r#"{"id":"c"}"#, r#"{"$insert":{"id":"a"}}"#, "commit"]);
    let ran = mount.sh(&format!(
        "printf '%s\\n' {failing} > Flat/batch/atomic || cat .ddb/errors/last"
    ));
    assert!(
        ran.err.contains("Operation canceled")
            && ran.out.contains("[None, ConditionalCheckFailed]"),
        "{ran:#?}"
    );
    assert_eq!(
        (names(), summary(&mount, "Flat")),
        ("a.json b.json ".to_owned(), (3, 0, vec![2]))
    );
    // By the close, which programs report.
    let ran = mount.sh("jq -nc '{id:\"c\"},{\"$insert\":{id:\"a\"}}' > Flat/batch/atomic");
    assert!(ran.status != 0, "{ran:#?}");
    assert_eq!(names(), "a.json b.json ");
    println!(
        "atomic: a failed condition does nothing; `commit` tells it in the write, jq by its close"
    );

    let bad = lines(&[r#"{"id":"c"}"#, "nonsense", r#"{"id":"d"}"#]);
    let ran = mount.sh(&format!(
        "printf '%s\\n' {bad} > Flat/batch/atomic || cat .ddb/errors/last"
    ));
    assert!(
        ran.err.contains("Invalid argument") && ran.out.contains("nothing is done"),
        "{ran:#?}"
    );
    let ran =
        mount.sh("seq 101 | jq -c '{id:tostring}' > Flat/batch/atomic || cat .ddb/errors/last");
    assert!(ran.out.contains("at most 100 lines"), "{ran:#?}");
    assert_eq!(names(), "a.json b.json ");

    // Each echo closes a copy of the descriptor; only the last close is the end.
    let ran =
        mount.sh("exec 3>Flat/batch/atomic; echo '{\"id\":\"c\"}' >&3; ls Flat/items/c.json; echo '{\"id\":\"d\"}' >&3; exec 3>&-");
    assert!(ran.err.contains("No such file"), "{ran:#?}");
    assert_eq!(names(), "a.json b.json c.json d.json ");
    // A killed program had more lines to write.
    mount.sh("bash -c 'exec 3>Flat/batch/atomic; echo \"{\\\"id\\\":\\\"e\\\"}\" >&3; kill -9 $$'");
    mount.sh("bash -c 'echo \"{\\\"id\\\":\\\"f\\\"}\"; kill -9 $$' > Flat/batch/atomic");
    assert_eq!(names(), "a.json b.json c.json d.json ");
    // A program that ended without a close had not.
    mount.sh("python3 -c 'import os; os.write(1, b\"{\\\"id\\\":\\\"g\\\"}\\n\"); os._exit(0)' > Flat/batch/atomic").ok();
    assert_eq!(names(), "a.json b.json c.json d.json g.json ");
    println!(
        "atomic: pieces through one descriptor are one transaction; a killed writer's is none"
    );
    mount.end();
}

#[test]
fn a_batch_is_found_and_says_what_it_is_for() {
    let mount = Mount::with_tables();
    assert_eq!(
        mount.sh("ls Flat/batch").ok(),
        "atomic\ndelete\nget\ninsert\nput\nresult.json\n"
    );
    mount.sh("grep -rq 'result.json' Flat/batch; cat Flat/batch/help | grep -q '100 lines'; tar -cf /dev/null Flat/batch").ok();
    assert!(mount.sh("rm Flat/batch/put").failed().contains("Read-only"));
    assert!(get(&*mount.db, "Flat", r#"{"id":"a"}"#).is_none());
    mount.end();
}
