//! The commands as a person types them: output, messages, exit codes.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::daemon::{DDBFS, Mount, check, free_address, post, texts};
use crate::support::wait::until;

pub fn ddbfs(data: &Path, args: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(DDBFS)
        .args(args)
        .env("DDBFS_DATA", data)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that reads no input may have closed it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output: Output = child.wait_with_output().unwrap();
    let (out, err) = texts(&output);
    (output.status.code().unwrap_or(-1), out, err)
}

pub fn sampled() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, err) = ddbfs(dir.path(), &["sample"], "");
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("GameScores: 13 items"), "{out}");
    dir
}

#[test]
fn sample_twice_leaves_the_tables_as_they_are() {
    let dir = sampled();
    let (code, out, _) = ddbfs(dir.path(), &["sample"], "");
    assert_eq!(code, 0);
    assert!(
        out.contains("GameScores: there already, left as it is"),
        "{out}"
    );
}

/// As of `| head -1`, which has its line and goes.
#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("archive");
    let archive = ["archive", "Pets", "--pk", "Dog", archive.to_str().unwrap()];
    let commands = [
        &["sample"][..],
        &["sample"],
        &["shapes", "Pets"],
        &["load", "Pets", "/dev/null"],
        &archive,
        &["compact"],
    ];
    for args in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(DDBFS)
            .args(args)
            .env("DDBFS_DATA", dir.path())
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!(
            (output.status.code(), texts(&output).1.as_str()),
            (Some(0), ""),
            "{args:?}"
        );
    }
    assert!(
        ddbfs(dir.path(), &["dump", "Pets"], "").1.contains("Fido"),
        "the tables are there all the same"
    );
}

#[test]
fn load_takes_both_forms_reports_bad_lines_and_loads_the_rest() {
    let dir = sampled();
    let input = "{\"AnimalType\":\"Owl\",\"Name\":\"Hedwig\"}\n\
                 {bad\n\
                 \n\
                 {\"AnimalType\":{\"S\":\"Owl\"},\"Name\":{\"S\":\"Archimedes\"}}\n\
                 {\"Name\":\"no partition key\"}\n";
    let (code, out, err) = ddbfs(dir.path(), &["load", "Pets"], input);
    assert_eq!(code, 1);
    assert!(out.contains("2 items loaded, 2 bad lines"), "{out}");
    assert!(err.contains("standard input:2: "), "{err}");
    assert!(
        err.contains("standard input:5: One or more parameter values were invalid: Missing the key AnimalType in the item"),
        "{err}"
    );
    let (_, dump, _) = ddbfs(dir.path(), &["dump", "Pets"], "");
    assert!(
        dump.contains("{\"AnimalType\":\"Owl\",\"Name\":\"Archimedes\"}\n{\"AnimalType\":\"Owl\",\"Name\":\"Hedwig\"}\n"),
        "{dump}"
    );
    assert!(check(dir.path()).0);
}

#[test]
fn dump_and_load_make_an_equal_table() {
    let dir = sampled();
    for form in [&["dump", "Thread"][..], &["dump", "--typed", "Thread"]] {
        let (code, lines, _) = ddbfs(dir.path(), form, "");
        assert_eq!((code, lines.lines().count()), (0, 10), "{lines}");
        let (code, out, _) = ddbfs(dir.path(), &["load", "Thread"], &lines);
        assert_eq!((code, out.as_str()), (0, "10 items loaded, 0 bad lines\n"));
        assert_eq!(ddbfs(dir.path(), form, "").1, lines);
    }
}

#[test]
fn load_of_many_items_is_whole() {
    let dir = sampled();
    let lines: String = (0..20_000)
        .map(|n| format!("{{\"AnimalType\":\"Ant\",\"Name\":\"{n:05}\",\"n\":{n}}}\n"))
        .collect();
    let (code, out, _) = ddbfs(dir.path(), &["load", "Pets"], &lines);
    assert_eq!(
        (code, out.as_str()),
        (0, "20000 items loaded, 0 bad lines\n")
    );
    let (_, dump, _) = ddbfs(dir.path(), &["dump", "Pets"], "");
    assert_eq!(
        dump.lines().filter(|line| line.contains("\"Ant\"")).count(),
        20_000
    );
    assert!(check(dir.path()).0);
}

#[test]
fn usage_is_2_and_failures_are_1_with_a_sentence() {
    let dir = sampled();
    for (args, code, message) in [
        (&["frobnicate"][..], 2, "unrecognized subcommand"),
        (&["load"], 2, "TABLE"),
        (&["load", "Nope"], 1, "no table \"Nope\"; the tables are "),
        (&["dump", "Nope"], 1, "no table \"Nope\"; the tables are "),
        (
            &["load", "Pets", "/does/not/exist"],
            1,
            "/does/not/exist: No such file or directory",
        ),
        (&["serve", "--http", "nonsense"], 1, "expected IP:PORT"),
        (&["serve", "--http", "0.0.0.0:0"], 1, "loopback"),
        (
            &["mount", "-o", "frob", "/tmp"],
            2,
            "unknown mount option \"frob\"",
        ),
        (
            &["mount", "/does/not/exist"],
            1,
            "cannot mount at /does/not/exist",
        ),
        (
            &["umount", "/does/not/exist"],
            1,
            "cannot unmount /does/not/exist",
        ),
    ] {
        let (actual, out, err) = ddbfs(dir.path(), args, "");
        assert_eq!(actual, code, "{args:?}: {out}{err}");
        assert!(err.contains(message), "{args:?}: {err}");
    }
    for command in [
        "", "mount", "umount", "serve", "load", "dump", "check", "sample",
    ] {
        let args: Vec<&str> = [command, "--help"]
            .into_iter()
            .filter(|arg| !arg.is_empty())
            .collect();
        let (code, out, _) = ddbfs(dir.path(), &args, "");
        assert!(
            code == 0 && out.contains("Usage: ddbfs"),
            "{command}: {out}"
        );
    }
    // Words of others may be in the arguments of a script.
    for word in ["\u{1b}]0;title\u{7}", "--\u{9b}2J", "\u{202e}txt"] {
        for args in [
            &[word][..],
            &["dump", "--none", word],
            &["serve", "--http", word],
            &["mount", word, word, word],
        ] {
            let (code, _, err) = ddbfs(Path::new("/nowhere"), args, "");
            assert!(code == 2 || code == 1, "{args:?}: {code}");
            assert!(
                err.chars()
                    .all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'),
                "{args:?}: {err:?}"
            );
        }
    }
}

#[test]
fn a_mistyped_data_directory_is_refused_and_not_made() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("typo");
    for args in [
        &["check"][..],
        &["compact"],
        &["dump", "Pets"],
        &["load", "Pets"],
        &["advise", "Pets"],
        &["shapes", "Pets"],
        &["violations", "Pets", "ByName"],
        &["diff", "Pets", "Orders"],
        &["archive", "Pets", "--pk", "Dog", "archive"],
        &["shell", "bash", "--tables"],
    ] {
        let (code, _, err) = ddbfs(&dir, args, "");
        assert!(
            code >= 1 && err.contains("there is no data.mdb in"),
            "{args:?}: {code} {err}"
        );
        assert!(!dir.exists(), "{args:?}");
    }
}

/// The examples in `--help` that need no mount and no service, of the sample tables.
#[test]
fn the_examples_of_help_run_as_they_stand() {
    let dir = sampled();
    let work = tempfile::tempdir().unwrap();
    let help = |command: &str| ddbfs(dir.path(), &[command, "--help"], "").1;
    let path = format!(
        "{}:{}",
        Path::new(DDBFS).parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let mut ran = 0;
    for command in "index shapes what-if archive violations".split(' ') {
        let text = help(command);
        let examples = text.lines().skip_while(|line| *line != "Examples:").skip(1);
        for line in examples.take_while(|line| line.starts_with("  ")) {
            assert!(line.chars().count() <= 80, "{command}: {line}");
            if line.trim_start().starts_with('#') || line.contains("mnt") {
                continue;
            }
            let output = Command::new("bash")
                .args(["-c", &format!("set -o pipefail; {line}")])
                .env("DDBFS_DATA", dir.path())
                .env("PATH", &path)
                .current_dir(work.path())
                .output()
                .unwrap();
            // Violations that are found and kept are status 1.
            let expected = i32::from(line.ends_with("--hash-key Price:N"));
            let (out, err) = texts(&output);
            assert_eq!(output.status.code(), Some(expected), "{line}\n{out}{err}");
            ran += 1;
        }
    }
    assert!(ran >= 11, "{ran} examples");
}

#[test]
fn check_says_what_it_checked() {
    let dir = sampled();
    let (clean, report) = check(dir.path());
    assert!(
        clean && report == "9 tables, 57 items, 52 index entries: 0 differences\n",
        "{report}"
    );
}

#[test]
fn a_dead_mount_is_cleared_by_umount_and_by_mounting_again() {
    let mut mount = Mount::with_samples();
    mount.kill();
    let error = std::fs::metadata(mount.point()).unwrap_err().raw_os_error();
    // ENOTCONN; ECONNABORTED where its end comes a moment later, as its watchdog was just being started.
    assert!(
        [Some(107), Some(103)].contains(&error),
        "the mount is dead: {error:?}"
    );
    let status = Command::new(DDBFS)
        .arg("umount")
        .arg(mount.point())
        .status()
        .unwrap();
    assert!(status.success() && std::fs::metadata(mount.point()).is_ok());
    mount.start(&[]);
    mount.kill();
    mount.start(&[]);
    assert_eq!(
        mount.ok("cat Pets/items/Dog/Fido.json | jq -r .Name"),
        "Fido\n"
    );
}

#[test]
fn background_returns_when_the_mount_answers_and_umount_ends_the_process() {
    let dir = sampled();
    let point = dir.path().join("point");
    std::fs::create_dir(&point).unwrap();
    let data = dir.path().join("elsewhere");
    let point_text = point.to_str().unwrap();
    let (code, out, err) = ddbfs(&data, &["mount", "--background", point_text], "");
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
    assert!(point.join("README.md").exists());
    let (code, _, err) = ddbfs(&data, &["mount", point_text], "");
    assert_eq!(code, 1, "a live mount is not mounted over: {err}");
    let (code, _, err) = ddbfs(&data, &["umount", point_text], "");
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(!point.join("README.md").exists());
}

#[test]
fn an_interrupted_wait_is_no_error_in_the_log() {
    let dir = sampled();
    let script = format!(
        "mkdir point; {DDBFS} mount --background --data data point && cd point && for i in 1 2 3 4 5; do timeout -s INT 0.5 cat .ddb/accesslog; done \
         > /dev/null; cd ..; {DDBFS} umount point; cat data/ddbfs.log"
    );
    let output = Command::new("bash")
        .arg("-c")
        .arg(script)
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(
        (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ),
        ("".into(), "".into())
    );
}

#[test]
fn the_log_of_a_background_mount_goes_through_no_symlink_and_into_no_foreign_directory() {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    let dir = tempfile::tempdir().unwrap();
    let (point, victim) = (dir.path().join("point"), dir.path().join("victim"));
    std::fs::create_dir(&point).unwrap();
    let check_refused = |data: &Path, why: &str| {
        let (code, out, err) = ddbfs(
            data,
            &["mount", "--background", point.to_str().unwrap()],
            "",
        );
        assert_eq!((code, out.as_str()), (1, ""), "{err}");
        assert!(err.contains(why), "{err}");
        assert!(!victim.exists(), "the symlink was followed");
    };
    let make = |name: &str| {
        let data = dir.path().join(name);
        std::fs::create_dir(&data).unwrap();
        std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o700)).unwrap();
        symlink(&victim, data.join("ddbfs.log")).unwrap();
        data
    };
    check_refused(&make("own"), "is a symlink");
    let foreign = make("foreign");
    chown(&foreign, Some(65534), None).unwrap();
    check_refused(&foreign, "belongs to another user");
    symlink(dir.path().join("own"), dir.path().join("link")).unwrap();
    check_refused(&dir.path().join("link/"), "is a symlink");
}

#[test]
fn umount_says_who_else_has_the_mount_that_goes_on() {
    let mut mount = Mount::empty();
    let (point, name) = (mount.point(), mount.point().display().to_string());
    let mut elsewhere = Command::new("unshare")
        .args(["-m", "sh", "-c", "echo; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It has a copy of all that is mounted once it speaks.
    std::io::Read::read_exact(elsewhere.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let output = Command::new(DDBFS)
        .arg("umount")
        .arg(&point)
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let who = format!(
        "{name} is unmounted here, but the mount goes on: process {} (",
        elsewhere.id()
    );
    assert!(
        output.status.code() == Some(1)
            && told.contains(&who)
            && told.contains(&format!("mounted at {name}")),
        "{told}"
    );
    assert!(!point.join("README.md").exists());
    drop(elsewhere.stdin.take());
    assert!(
        elsewhere.wait().unwrap().success() && mount.wait().success(),
        "the last copy ends the mount"
    );
}

#[test]
fn umount_ends_readers_that_wait() {
    let mut mount = Mount::with_samples();
    let enable = r#"{"TableName":"Pets","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}"#;
    mount.ok(&format!(
        "echo '{enable}' > .ddb/api/UpdateTable; jq -e .mountpoint .ddb/config.json > /dev/null"
    ));
    let mut follow = Command::new("cat")
        .arg("Pets/stream/follow")
        .current_dir(mount.point())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let files = format!("/proc/{}/fd", follow.id());
    let has_opened = || {
        let links = std::fs::read_dir(&files).unwrap().map_while(Result::ok);
        links
            .filter_map(|link| std::fs::read_link(link.path()).ok())
            .any(|target| target.ends_with("Pets/stream/follow"))
    };
    until("cat opens its file", has_opened);
    let status = Command::new(DDBFS)
        .arg("umount")
        .arg(mount.point())
        .status()
        .unwrap();
    // The working directory of cat is the mount: it must be gone for the mount to be.
    assert!(
        follow.wait().unwrap().success() && status.success(),
        "{status}"
    );
    mount.unmount();
}

#[test]
fn sigterm_ends_the_mount_cleanly() {
    let mount = Mount::with_samples();
    mount.ok("echo '{\"Age\":9}' > Pets/items/Dog/Rex.json");
    let status = Command::new("kill")
        .arg("-TERM")
        .arg(mount.pid().to_string())
        .status()
        .unwrap();
    assert!(status.success());
    until("SIGTERM unmounts", || {
        !mount.point().join("README.md").exists()
    });
    assert!(check(&mount.data()).0);
}

#[test]
fn a_second_process_writes_and_the_mount_sees_it_at_once() {
    let mount = Mount::with_samples();
    for n in 0..20 {
        let line = format!("{{\"AnimalType\":\"Ant\",\"Name\":\"a\",\"n\":{n}}}\n");
        let (code, out, err) = ddbfs(&mount.data(), &["load", "Pets"], &line);
        assert_eq!(code, 0, "{out}{err}");
        assert_eq!(mount.ok("jq .n Pets/items/Ant/a.json"), format!("{n}\n"));
        assert_eq!(
            mount.ok("cat Pets/query/@pk=Ant/items.ndjson | jq .n"),
            format!("{n}\n")
        );
    }
}

#[test]
fn heat_is_of_all_processes_and_outlives_a_kill() {
    let mut mount = Mount::with_samples();
    let hot = "sed 1,2d Pets/partitions/hot.day.tsv | awk -F'\\t' '$3==\"Ant\" {print $5}'";
    let write_units = "jq '.sources[0].since_start.write_units' Pets/capacity.json";
    let before: f64 = mount.ok(write_units).trim().parse().unwrap();
    let lines: String = (0..30)
        .map(|n| format!("{{\"AnimalType\":\"Ant\",\"Name\":\"{n}\"}}\n"))
        .collect();
    // Another process stores what it counted when it ends. A bulk load is no traffic.
    assert_eq!(ddbfs(&mount.data(), &["load", "Pets"], &lines).0, 0);
    let of_loads = "jq '.sources[0].bulk_loads.write_units' Pets/capacity.json";
    assert_eq!(mount.ok(of_loads), "30\n");
    assert_eq!(mount.ok(hot), "");
    // The mount's own is stored some seconds after it was counted, and a kill then loses nothing.
    mount.ok("for n in $(seq 31); do echo '{}' > Pets/items/Ant/mine$n.json; done");
    assert_eq!(mount.ok(hot), "31.0\n");
    until("the mount stores its own", || {
        count_of_stored(&mount.data()) >= before + 31.0
    });
    mount.kill();
    mount.start(&[]);
    assert_eq!(mount.ok(of_loads), "30\n");
    assert_eq!(mount.ok(hot), "31.0\n");
    assert_eq!(
        mount.ok(write_units).trim().parse::<f64>().unwrap(),
        before + 31.0
    );
    assert!(check(&mount.data()).0);
}

/// Write units of Pets that are in the store, whoever counted them.
fn count_of_stored(data: &Path) -> f64 {
    let store = std::sync::Arc::new(
        ddbfs::store::lmdb::LmdbStore::open(data, ddbfs::store::lmdb::LmdbOptions::default())
            .unwrap(),
    );
    let options = ddbfs::engine::EngineOptions {
        background_period: None,
        ..ddbfs::engine::EngineOptions::default()
    };
    let database = ddbfs::database::local::LocalDatabase::open(store, options).unwrap();
    let table = ddbfs::model::TableName::new("Pets").unwrap();
    let metrics = ddbfs::database::Database::layout(&database)
        .unwrap()
        .metrics(&[table])
        .unwrap();
    metrics.tables[0].sources[0].usage.total.write.sum
}

#[test]
fn advice_is_the_same_in_the_mount() {
    let mount = Mount::with_samples();
    let (code, out, err) = ddbfs(&mount.data(), &["advise", "OrdersBySequence"], "");
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("\n- Rule: ") && out.contains("(T-18"), "{out}");
    assert_eq!(mount.ok("cat OrdersBySequence/advice.md"), out);
    let limited = ddbfs(
        &mount.data(),
        &["advise", "Thread", "--collection-limit", "1K"],
        "",
    )
    .1;
    assert!(
        limited.contains("128 % of the 1 KB that a collection may have here. It is full"),
        "{limited}"
    );
    mount.ok("test $(stat -c %s Orders/advice.md) = $(wc -c < Orders/advice.md)");
    mount.fails("echo x > Orders/advice.md");
    assert!(!mount.ok("ls Orders").contains("advice"));
    assert_eq!(ddbfs(&mount.data(), &["advise", "Nothing"], "").0, 2);
    let (code, out, err) = ddbfs(&mount.data(), &["advise"], "");
    assert_eq!(err, "");
    assert_eq!(mount.ok("cat .ddb/advice.md"), out);
    let (same_code, json, _) = ddbfs(&mount.data(), &["advise", "--json"], "");
    let json: Value = serde_json::from_str(&json).unwrap();
    let (tables, points) = (
        json["tables"].as_array().unwrap(),
        json["advice"].as_array().unwrap(),
    );
    let is_warned = points.iter().any(|point| point["level"] == "warning");
    assert_eq!((code, same_code), (i32::from(is_warned), code), "{out}");
    assert!(tables.len() > 5, "{out}");
    for table in tables {
        let row = format!("\n| {} | ", table["table"].as_str().unwrap());
        assert!(out.contains(&row), "{row}: {out}");
    }
    let levels: Vec<&str> = points
        .iter()
        .filter_map(|point| point["level"].as_str())
        .collect();
    let ranked = ["warning", "hint", "note"]
        .iter()
        .flat_map(|level| levels.iter().filter(move |found| *found == level));
    assert!(ranked.eq(&levels), "the worst first: {levels:?}");
    let sequence = points
        .iter()
        .find(|point| point["table"] == "OrdersBySequence")
        .unwrap();
    assert!(
        sequence["rules"]
            .as_array()
            .unwrap()
            .contains(&json!("T-18"))
            && sequence["index"].is_null()
            && sequence["cost"]["money_a_month"].is_number(),
        "{sequence}"
    );
}

#[test]
fn shapes_are_the_same_in_the_mount() {
    let mount = Mount::with_samples();
    let shapes = |args: &[&str]| ddbfs(&mount.data(), &[&["shapes"], args].concat(), "");
    let (code, out, err) = shapes(&["Thread"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(
        out.starts_with("# Shapes of Thread\n\n10 items as of 20")
            && out.contains("\nIn indexes: LastPostIndex "),
        "{out}"
    );
    // But for the line that says when.
    let undated = |text: &str| {
        text.lines()
            .filter(|line| !line.contains(" as of "))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(undated(&mount.ok("cat Thread/shapes.md")), undated(&out));
    let json: serde_json::Value = serde_json::from_str(&shapes(&["Thread", "--json"]).1).unwrap();
    assert_eq!(
        (&json["items"], &json["sampled"]),
        (&10.into(), &false.into())
    );
    let json: serde_json::Value =
        serde_json::from_str(&shapes(&["Thread", "--json", "--sample", "4"]).1).unwrap();
    assert_eq!(
        (&json["items"], &json["sampled"]),
        (&10.into(), &true.into())
    );
    assert!(json["items_read"].as_u64().unwrap() <= 4, "{json}");
    assert_eq!(shapes(&["Thread", "--sample", "0"]).0, 2);
    assert_eq!(shapes(&["Nothing"]).0, 1);
}

#[test]
fn s_01_the_api_through_a_cache_is_stale_and_the_mount_is_not() {
    let address = free_address();
    let mount = Mount::with_args(&["--http", &address, "--cache"]);
    let get = |more: &str| {
        let key = r#""Key":{"AnimalType":{"S":"Dog"},"Name":{"S":"Fido"}}"#;
        post(
            &address,
            "GetItem",
            &format!(r#"{{"TableName":"Pets",{key}{more}}}"#),
        )
        .unwrap()
    };
    mount.ok(r#"mkdir 'Pets@AnimalType:S,Name:S'; mkdir Pets/items/Dog; echo '{"Age":1}' > Pets/items/Dog/Fido.json"#);
    assert!(get("").contains(r#""N":"1""#));
    mount.ok(r#"echo '{"Age":2}' > Pets/items/Dog/Fido.json"#);
    assert!(get("").contains(r#""N":"1""#));
    assert!(get(r#","ConsistentRead":true"#).contains(r#""N":"2""#));
    let metrics = String::from_utf8(
        mount
            .bash(&format!("curl -s http://{address}/metrics"))
            .stdout,
    )
    .unwrap();
    assert!(
        metrics.contains("ddbfs_cache_hits_total{cache=\"item\"} 1\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("ddbfs_cache_misses_total{cache=\"item\"} 1\n"),
        "{metrics}"
    );
}

#[test]
fn s_07_l_39_a_key_range_is_archived_deleted_and_brought_back() {
    let dir = sampled();
    let data = dir.path();
    let archive = |args: &[&str]| ddbfs(data, &[&["archive", "Orders"], args].concat(), "");
    let to = dir.path().join("out").display().to_string();
    let before = ddbfs(data, &["dump", "Orders"], "").1;
    let range = ["--pk", "c1#bicycle#BRA", "--sk-lt", "2016-11", &to];
    let (code, out, err) = archive(&range);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("2 items, "), "{out}");
    assert_eq!(
        ddbfs(data, &["dump", "Orders"], "").1,
        before,
        "nothing is deleted unasked"
    );
    std::fs::remove_dir_all(&to).unwrap();

    let (code, out, _) = archive(&[range.as_slice(), &["--delete"]].concat());
    assert_eq!(code, 0);
    assert!(
        out.ends_with("2 items deleted, 0 changed meanwhile and left\n"),
        "{out}"
    );
    assert_eq!(
        ddbfs(data, &["dump", "Orders"], "").1.lines().count(),
        before.lines().count() - 2
    );
    assert!(check(data).0);

    let script = format!("{DDBFS} load Orders {to}/Orders-* && jq .items {to}/*/manifest.json");
    let output = Command::new("bash")
        .arg("-c")
        .arg(script)
        .env("DDBFS_DATA", data)
        .output()
        .unwrap();
    assert_eq!(
        texts(&output),
        ("2 items loaded, 0 bad lines\n2\n".to_owned(), String::new())
    );
    assert_eq!(ddbfs(data, &["dump", "Orders"], "").1, before);

    assert!(archive(&["--pk", "none", &to]).1.starts_with("0 items"));
    assert!(
        ddbfs(data, &["archive", "ProductCatalog", "--pk", "x", &to], "")
            .2
            .contains("--pk: \"x\" is no number")
    );
    assert!(
        ddbfs(
            data,
            &[
                "archive",
                "ProductCatalog",
                "--pk",
                "1",
                "--sk-ge",
                "1",
                &to
            ],
            ""
        )
        .2
        .contains("no sort key")
    );
}

/// What made indexes is told to who still types it.
#[test]
fn indexes_are_of_a_mount() {
    let dir = sampled();
    for words in [&[][..], &["create", "Pets", "by-age", "Age:N", "--no-wait"]] {
        let (code, out, err) = ddbfs(dir.path(), &[&["index"], words].concat(), "");
        let says = "ddbfs: a mount makes, shows and drops global indexes";
        assert!(
            code == 2 && out.is_empty() && err.starts_with(says),
            "{code} {err}"
        );
    }
    assert!(!ddbfs(dir.path(), &["--help"], "").1.contains("\n  index"));
}

#[test]
fn delays_are_those_of_the_service() {
    let (dir, address) = (sampled(), free_address());
    let mut child = Command::new(DDBFS)
        .args([
            "serve",
            "--http",
            &address,
            "--gsi-delay",
            "60m",
            "--table-delay",
            "60m",
        ])
        .env("DDBFS_DATA", dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let item = r#"{"UserId":{"S":"u"},"GameTitle":{"S":"New Game"},"TopScore":{"N":"1"}}"#;
    let put = format!(r#"{{"TableName":"GameScores","Item":{item}}}"#);
    until("the server answers", || {
        post(&address, "PutItem", &put).is_ok()
    });
    let count = |query: &str| {
        let answer = post(&address, "Query", query).unwrap();
        answer
            .split("\"Count\":")
            .nth(1)
            .unwrap()
            .split([',', '}'])
            .next()
            .unwrap()
            .to_owned()
    };
    let values = r#""ExpressionAttributeValues":{":v":{"S":"New Game"}}"#;
    let late = format!(
        r#"{{"TableName":"GameScores","IndexName":"GameTitleIndex","KeyConditionExpression":"GameTitle = :v",{values}}}"#
    );
    assert_eq!(count(&late), "0");
    let values = r#""ExpressionAttributeValues":{":v":{"S":"u"}}"#;
    assert_eq!(
        count(&format!(
            r#"{{"TableName":"GameScores","KeyConditionExpression":"UserId = :v",{values}}}"#
        )),
        "1"
    );
    let create = r#"{"TableName":"Slow","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]}"#;
    post(&address, "CreateTable", create).unwrap();
    let answer = post(
        &address,
        "PutItem",
        r#"{"TableName":"Slow","Item":{"pk":{"S":"a"}}}"#,
    )
    .unwrap();
    assert!(answer.contains("ResourceNotFoundException"), "{answer}");
    assert!(check(dir.path()).0);
    child.kill().unwrap();
    child.wait().unwrap();
    let (code, _, err) = ddbfs(dir.path(), &["serve", "--gsi-delay", "1h"], "");
    assert!(
        code == 2 && err.contains("a time is like 50ms, 2s or 1m, a day at most"),
        "{err}"
    );
}
