//! kill -9 of the daemon at random moments, with writers running through the mount and through HTTP: nothing acknowledged is lost,
//! and `ddbfs check` is clean. The oracle is outside the daemon: what each writer was told.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::daemon::{Mount, check, free_address, post};
use crate::support::wait::moment;

/// Rounds of start, write, kill.
const KILLS: u64 = 25;

/// The last acknowledged value of each key, and the one that was on its way when the daemon died.
#[derive(Default)]
struct Log {
    acknowledged: BTreeMap<String, u64>,
    in_doubt: BTreeMap<String, u64>,
}

fn schema() -> &'static str {
    r#"{"TableName":"Tab","BillingMode":"PAY_PER_REQUEST",
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"},
            {"AttributeName":"n","AttributeType":"N"}],
        "GlobalSecondaryIndexes":[{"IndexName":"by-n","KeySchema":[{"AttributeName":"n","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}],
        "LocalSecondaryIndexes":[{"IndexName":"local-n","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},
            {"AttributeName":"n","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}]}"#
}

#[test]
fn kill_minus_nine_loses_nothing_acknowledged_and_check_is_clean() {
    let address = free_address();
    let mut mount = Mount::with_args(&["--http", &address]);
    std::fs::create_dir(mount.point().join("Tab")).unwrap();
    std::fs::write(mount.point().join("Tab/schema.json"), schema()).unwrap();
    let log = Arc::new(Mutex::new(Log::default()));
    let mut sequence = 0;
    for round in 0..KILLS {
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..4_u64)
            .map(|writer| {
                let (log, stop, first) = (Arc::clone(&log), Arc::clone(&stop), sequence);
                let items = mount.point().join("Tab/items");
                let address = address.clone();
                std::thread::spawn(move || {
                    write_until(&stop, first, writer, &log, |key, n| {
                        if writer % 2 == 0 {
                            put_file(&items, key, n)
                        } else {
                            put_http(&address, key, n)
                        }
                    });
                })
            })
            .collect();
        // Scattered over the life of a commit, repeatably.
        moment(Duration::from_micros(2_000 + (round * 7_919) % 60_000));
        mount.kill();
        stop.store(true, Ordering::SeqCst);
        for writer in writers {
            writer.join().unwrap();
        }
        sequence += 1_000_000;
        let (clean, report) = check(&mount.data());
        assert!(clean, "after kill {round}: {report}");
        // What was written by one survives the kill, however the next writes.
        mount.start(&[
            "--http",
            &address,
            "--durability",
            if round % 2 == 0 { "kill" } else { "power" },
        ]);
        verify(&mount, &mut log.lock().unwrap(), round);
    }
    let written = log.lock().unwrap().acknowledged.len();
    assert!(written > 0, "the writers wrote nothing");
    println!(
        "{KILLS} kills, {written} keys, every acknowledged write there, check clean each time"
    );
}

/// Writes keys of its own until told to stop or until a write fails.
fn write_until(
    stop: &AtomicBool,
    first: u64,
    writer: u64,
    log: &Mutex<Log>,
    put: impl Fn(&str, u64) -> bool,
) {
    for step in 0.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let (key, n) = (format!("w{writer}-{}", step % 20), first + step);
        log.lock().unwrap().in_doubt.insert(key.clone(), n);
        if !put(&key, n) {
            return;
        }
        let mut log = log.lock().unwrap();
        log.acknowledged.insert(key.clone(), n);
        log.in_doubt.remove(&key);
    }
}

fn put_file(items: &std::path::Path, key: &str, n: u64) -> bool {
    let path: PathBuf = items.join(format!("p/{key}.json"));
    // Folders are made by need; both calls fail once the daemon is dead.
    let _ = std::fs::create_dir(items.join("p"));
    std::fs::File::create(path)
        .and_then(|mut file| file.write_all(format!("{{\"n\":{n}}}").as_bytes()))
        .is_ok()
}

fn put_http(address: &str, key: &str, n: u64) -> bool {
    let body = format!(
        r#"{{"TableName":"Tab","Item":{{"pk":{{"S":"p"}},"sk":{{"S":"{key}"}},"n":{{"N":"{n}"}}}}}}"#
    );
    post(address, "PutItem", &body).is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// Every acknowledged write is there, or one of that key that was on its way when the daemon died.
fn verify(mount: &Mount, log: &mut Log, round: u64) {
    for (key, &n) in &log.acknowledged.clone() {
        let path = mount.point().join(format!("Tab/items/p/{key}.json"));
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("kill {round}: {key} is lost: {error}"));
        let item: serde_json::Value = serde_json::from_str(&text).unwrap();
        let found = item["n"].as_u64().unwrap();
        assert!(
            found == n || log.in_doubt.get(key) == Some(&found),
            "kill {round}: {key} is {found}, acknowledged {n}"
        );
        log.acknowledged.insert(key.clone(), found);
    }
    log.in_doubt.clear();
}
