//! `ddbfs top` of a real mount: once as text, and live on a terminal.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::daemon::{self, DDBFS, Mount};

/// `Hot`: seven keys, of which u1 gets by far the most requests.
const HOT: &str = r#"
set -e
mkdir 'Hot@pk:S,sk:S' Cold@id:S
echo gsi by-owner owner:S keys > Hot/ctl
until grep -q ACTIVE Hot/gsi/by-owner/stats.json; do sleep 0.1; done
for n in 1 2 3 4 5 6 7; do mkdir -p Hot/items/u$n; echo '{"owner":"one"}' > Hot/items/u$n/o$n.json; done
for i in $(seq 60); do cat Hot/items/u1/o1.json; done > /dev/null
cat Hot/items/u2/o2.json > /dev/null
"#;

fn hot() -> Mount {
    let mount = Mount::empty();
    let output = mount.bash(HOT);
    assert!(output.status.success(), "{output:?}");
    mount
}

/// Returns the element of a list with this path.
fn of_path<'v>(list: &'v Value, path: &str) -> Option<&'v Value> {
    list.as_array()
        .unwrap()
        .iter()
        .find(|of| of["path"] == path)
}

#[test]
fn once_tells_of_a_table_under_load_and_its_hot_key_and_is_counted_nowhere() {
    let mount = hot();
    let counted = "jq -c '[.sources[].since_start, .latency.since_start]' Hot/capacity.json Cold/capacity.json; grep -vE 'uptime|checkpoint_age|log_bytes' .ddb/stats.prom";
    let before = daemon::texts(&mount.bash(counted)).0;
    // Standard output is no terminal, with --once or without.
    for command in [
        "ddbfs top . --once",
        "ddbfs top Hot/items",
        "cd /; ddbfs top --once $OLDPWD/",
    ] {
        let output = mount.bash(command);
        let (out, err) = daemon::texts(&output);
        assert!(
            output.status.success() && err.is_empty(),
            "{command}: {err}"
        );
        let told: Value = serde_json::from_str(&out).unwrap();
        let hot = of_path(&told["sources"], "Hot").unwrap();
        assert_eq!(
            (
                &hot["kind"],
                &hot["items"],
                &hot["load_per_second"]["throttles"]
            ),
            (&json!("table"), &json!(7), &json!(0)),
            "{out}"
        );
        let figures = [
            &hot["load_per_second"]["read_units"],
            &hot["load_per_second"]["write_units"],
            &hot["worst_ms"],
        ];
        assert!(figures.iter().all(|of| of.as_f64().unwrap() > 0.0), "{out}");
        let index = of_path(&told["sources"], "Hot/gsi/by-owner").unwrap();
        assert_eq!(
            (&index["kind"], &index["items"]),
            (&json!("gsi"), &json!(7)),
            "{out}"
        );
        let details = of_path(&told["details"], "Hot").unwrap();
        let hottest = &details["keys"][0];
        assert_eq!(hottest["key"], "u1", "{out}");
        let of_index = of_path(&told["details"], "Hot/gsi/by-owner").unwrap();
        assert_eq!(of_index["keys"][0]["key"], "one", "{out}");
        let mut partitions = details["partitions"].as_array().unwrap().iter();
        assert!(
            partitions.any(|one| one["partition"] == hottest["partition"]),
            "{out}"
        );
        // It had no requests.
        assert!(of_path(&told["details"], "Cold").is_none(), "{out}");
    }
    assert_eq!(daemon::texts(&mount.bash(counted)).0, before);
    let (out, _) = daemon::texts(&mount.bash("ddbfs top . --once --filter cold --window day"));
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told["sources"].as_array().unwrap().len(), 1, "{out}");
}

#[test]
fn a_mount_that_is_gone_or_does_not_answer_is_told_of() {
    let mut mount = hot();
    let top = |mount: &Mount| {
        // Bounded, as a call that waits for a stopped mount may not be killable.
        let output = Command::new("timeout")
            .args(["-s", "KILL", "60", DDBFS, "top", "--once"])
            .arg(mount.point())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        daemon::texts(&output).1
    };
    mount.signal("-STOP");
    let stopped = top(&mount);
    mount.signal("-CONT");
    assert!(
        stopped.contains("has not answered for 5 seconds"),
        "{stopped}"
    );
    mount.kill();
    let dead = top(&mount);
    assert!(
        dead.contains("is gone; clear the dead mount with: ddbfs umount "),
        "{dead}"
    );
    let output = Command::new(DDBFS)
        .args(["top", "--once", "/"])
        .output()
        .unwrap();
    let (_, err) = daemon::texts(&output);
    assert!(err.contains("no ddbfs is mounted at /"), "{err}");
}

/// Runs `ddbfs top` of the mount on a terminal, each step when the one before has shown.
fn live(mount: &Mount, steps: &Value) -> Value {
    let output = Command::new("python3")
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/clients/full_screen.py"
        ))
        .arg(steps.to_string())
        .args([DDBFS, "top", "--interval", "0.2"])
        .arg(mount.point())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", daemon::texts(&output).1);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_live_screen_sorts_filters_resizes_and_gives_the_terminal_back() {
    let mount = hot();
    let steps = json!([
        { "wait": "3 of 3 tables and indexes, by units" }, { "wait": "last minute: hottest keys of Hot" }, { "wait": "u1" },
        { "type": "n" }, { "wait": "by name" }, { "wait": "partitions of Cold" },
        { "type": "/own" }, { "wait": "/own   Enter keeps it" }, { "type": "\r" }, { "wait": "filter: own" },
        { "wait": "last minute: hottest keys of Hot/gsi/by-owner" },
        { "type": "m" }, { "wait": "last hour: hottest keys of Hot/gsi/by-owner" },
        { "size": [9, 44] }, { "gone": "hottest" }, { "wait": "Hot/gsi/by-owner" },
        { "type": "q" },
    ]);
    let ended = live(&mount, &steps);
    assert_eq!(
        (&ended["code"], &ended["is_restored"]),
        (&json!(0), &json!(true)),
        "{ended}"
    );
    // A closed window ends it, by the signal or by the loss of the terminal.
    let ended = live(&mount, &json!([{ "wait": "q quit" }, { "close": true }]));
    assert!([json!(0), json!(1)].contains(&ended["code"]), "{ended}");
    for way in [json!({ "type": "\u{3}" }), json!({ "signal": 15 })] {
        let ended = live(&mount, &json!([{ "wait": "q quit" }, way]));
        assert_eq!(
            (&ended["code"], &ended["is_restored"]),
            (&json!(0), &json!(true)),
            "{ended}"
        );
    }
}

#[test]
fn tables_may_go_while_it_is_looked_and_the_daemon_too() {
    let mut mount = hot();
    let ended = live(
        &mount,
        &json!([
            { "wait": "3 of 3 tables and indexes" }, { "wait": "Cold" },
            { "run": format!("rmdir {}/Cold", mount.point().display()) }, { "wait": "2 of 2 tables" }, { "gone": "Cold" },
            { "run": format!("kill -STOP {}", mount.pid()) }, { "wait": "no answer for" },
            { "run": format!("kill -CONT {}", mount.pid()) }, { "gone": "no answer for" },
            { "run": format!("kill -KILL {}", mount.pid()) }, { "wait": "is gone" },
            { "type": "q" },
        ]),
    );
    assert_eq!(
        (&ended["code"], &ended["is_restored"]),
        (&json!(0), &json!(true)),
        "{ended}"
    );
    mount.kill();
}
