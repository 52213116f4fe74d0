//! Every pair of operations at once, on the same few names: no call may hang.
//!
//! `scripts/torture pairs` does the same for longer.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::support::daemon::{Mount, check, free_address, post};
use crate::support::seeded::Numbers;
use crate::support::watchdog::Watchdog;
use serde_json::json;

/// The time of a pair in the test suite; `DDBFS_TORTURE_SECONDS` is for all of them.
const PAIR_TIME: Duration = Duration::from_millis(40);
/// The number of clients of each of the two operations.
const CLIENTS: u64 = 2;

/// The names that an operation works on.
struct Place {
    mount: PathBuf,
    address: String,
}

impl Place {
    /// Returns one of the items that all clients use.
    fn item(&self, numbers: &mut Numbers) -> PathBuf {
        self.folder(numbers)
            .join(format!("{}.json", numbers.one(&["a", "b", "c"])))
    }

    fn folder(&self, numbers: &mut Numbers) -> PathBuf {
        self.mount
            .join("Orders/items")
            .join(numbers.one(&["u0", "u1"]))
    }

    fn call(&self, operation: &str, body: &serde_json::Value) -> io::Result<()> {
        post(&self.address, operation, &body.to_string()).map(drop)
    }
}

fn key(numbers: &mut Numbers) -> serde_json::Value {
    json!({"pk": {"S": numbers.one(&["u0", "u1"])}, "sk": {"S": numbers.one(&["a", "b", "c"])}})
}

fn text(numbers: &mut Numbers) -> String {
    format!(
        "{{\"b\":\"b{}\",\"pad\":\"{}\"}}\n",
        numbers.below(2),
        "x".repeat(numbers.below(300) as usize)
    )
}

type Operation = fn(&Place, &mut Numbers) -> io::Result<()>;

const OPERATIONS: [(&str, Operation); 21] = [
    ("lookup", |place, numbers| {
        let missing = fs::metadata(
            place
                .folder(numbers)
                .join(format!("{}.json", numbers.below(50))),
        );
        assert_eq!(
            missing.map(drop).map_err(|error| error.kind()),
            Err(io::ErrorKind::NotFound)
        );
        Ok(())
    }),
    ("stat", |place, numbers| {
        fs::metadata(place.item(numbers)).map(drop)
    }),
    ("readdir", |place, numbers| {
        fs::read_dir(place.folder(numbers))?.try_for_each(|entry| entry?.metadata().map(drop))
    }),
    ("readdir of an index", |place, numbers| {
        let folder = place
            .mount
            .join(format!("Orders/gsi/by-b/items/b{}", numbers.below(2)));
        fs::read_dir(folder)?.try_for_each(|entry| entry?.metadata().map(drop))
    }),
    ("create", |place, numbers| {
        File::create_new(place.item(numbers))?.write_all(text(numbers).as_bytes())
    }),
    ("write", |place, numbers| {
        fs::write(place.item(numbers), text(numbers))
    }),
    ("edit and fsync", |place, numbers| {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(place.item(numbers))?;
        let text = text(numbers);
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)?;
        file.sync_all()
    }),
    ("unlink", |place, numbers| {
        fs::remove_file(place.item(numbers))
    }),
    ("rename in a directory", |place, numbers| {
        let folder = place.folder(numbers);
        fs::rename(folder.join("a.json"), folder.join("b.json"))
    }),
    ("rename across directories", |place, numbers| {
        fs::rename(place.item(numbers), place.item(numbers))
    }),
    ("rename onto", |place, numbers| {
        let temporary = place
            .folder(numbers)
            .join(format!(".new{}", numbers.below(1 << 20)));
        fs::write(&temporary, text(numbers))?;
        fs::rename(temporary, place.item(numbers))
    }),
    ("mkdir", |place, numbers| {
        fs::create_dir(
            place
                .mount
                .join(format!("Orders/items/d{}", numbers.below(3))),
        )
    }),
    ("rmdir", |place, numbers| {
        fs::remove_dir(
            place
                .mount
                .join(format!("Orders/items/d{}", numbers.below(3))),
        )
    }),
    ("open, read, close", |place, numbers| {
        File::open(place.item(numbers))?
            .read_to_end(&mut Vec::new())
            .map(drop)
    }),
    ("setattr", |place, numbers| {
        let file = OpenOptions::new().write(true).open(place.item(numbers))?;
        file.set_modified(SystemTime::now())?;
        file.set_len(0)
    }),
    ("PutItem", |place, numbers| {
        let mut item = key(numbers);
        item["b"] = json!({"S": format!("b{}", numbers.below(2))});
        item["pad"] = json!({"S": "x".repeat(numbers.below(300) as usize)});
        place.call("PutItem", &json!({"TableName": "Orders", "Item": item}))
    }),
    ("DeleteItem", |place, numbers| {
        place.call(
            "DeleteItem",
            &json!({"TableName": "Orders", "Key": key(numbers)}),
        )
    }),
    ("batch file", |place, numbers| {
        let lines: String = (0..3)
            .map(|_| {
                format!(
                    "{{\"pk\":\"u0\",\"sk\":\"{}\"}}\n",
                    numbers.one(&["a", "b", "c"])
                )
            })
            .collect();
        fs::write(
            place
                .mount
                .join("Orders/batch")
                .join(numbers.one(&["put", "delete"])),
            lines,
        )
    }),
    ("CreateTable", |place, _| {
        place.call("CreateTable", &super::coherence::definition("Coming", true))
    }),
    ("DeleteTable", |place, _| {
        place.call("DeleteTable", &json!({"TableName": "Coming"}))
    }),
    ("the table that comes and goes", |place, numbers| {
        fs::read_dir(place.mount.join("Coming"))?
            .try_for_each(|entry| entry?.metadata().map(drop))?;
        fs::create_dir_all(place.mount.join("Coming/items/u0"))?;
        fs::write(place.mount.join("Coming/items/u0/a.json"), text(numbers))
    }),
];

/// Runs each pair for that long, with `CLIENTS` of both operations.
fn all_pairs(pair_time: Duration) {
    let address = free_address();
    let mut mount = Mount::with_args(&["-olww", "--durability=kill", "--http", &address]);
    let place = Place {
        mount: mount.point(),
        address,
    };
    place
        .call("CreateTable", &super::coherence::definition("Orders", true))
        .unwrap();
    for folder in ["u0", "u1"] {
        fs::create_dir(mount.point().join("Orders/items").join(folder)).unwrap();
    }
    let watchdog = Watchdog::new(&mount.point());
    watchdog.processes(&[mount.pid()]);
    let done: Vec<AtomicU64> = OPERATIONS.iter().map(|_| AtomicU64::new(0)).collect();
    let all = 0..OPERATIONS.len();
    for one in all.clone() {
        for other in all.clone().skip(one) {
            at_once(&place, &watchdog, (one, other), pair_time, &done);
            assert_eq!(
                watchdog.found(),
                None,
                "{} beside {}",
                OPERATIONS[one].0,
                OPERATIONS[other].0
            );
        }
    }
    let pairs = OPERATIONS.len() * (OPERATIONS.len() + 1) / 2;
    let done: Vec<(&str, u64)> = OPERATIONS
        .iter()
        .map(|operation| operation.0)
        .zip(done.iter().map(|n| n.load(Ordering::Relaxed)))
        .collect();
    println!(
        "{} calls of {pairs} pairs: {done:?}",
        done.iter().map(|(_, count)| count).sum::<u64>()
    );
    assert!(done.iter().all(|(_, count)| *count > 0), "{done:?}");
    drop(watchdog);
    mount.terminate();
    let (clean, report) = check(&mount.data());
    assert!(clean, "{report}");
}

fn at_once(
    place: &Place,
    watchdog: &Watchdog,
    (one, other): (usize, usize),
    pair_time: Duration,
    done: &[AtomicU64],
) {
    let until = Instant::now() + pair_time;
    thread::scope(|scope| {
        for client in 0..2 * CLIENTS {
            let at = if client.is_multiple_of(2) { one } else { other };
            let (name, operation) = OPERATIONS[at];
            let pulse = watchdog.pulse(format!(
                "{name} ({} beside {})",
                OPERATIONS[one].0, OPERATIONS[other].0
            ));
            scope.spawn(move || {
                let mut numbers = Numbers((one * 1_000 + other * 10) as u64 + client);
                while Instant::now() < until {
                    pulse.beat();
                    match operation(place, &mut numbers) {
                        Ok(()) => drop(done[at].fetch_add(1, Ordering::Relaxed)),
                        Err(error) => assert!(is_fair(&error), "{name}: {error}"),
                    }
                }
                pulse.rest();
            });
        }
    });
    watchdog.forget_those_at_rest();
}

/// True if the error can be explained by another client's call.
fn is_fair(error: &io::Error) -> bool {
    let fair = [
        libc::ENOENT,
        libc::EEXIST,
        libc::ENOTEMPTY,
        libc::EBUSY,
        libc::EINVAL,
        libc::ESTALE,
        libc::EXDEV,
        libc::EPERM,
    ];
    error
        .raw_os_error()
        .is_some_and(|code| fair.contains(&code))
}

#[test]
fn every_pair_of_operations_goes_on() {
    all_pairs(PAIR_TIME);
}

/// Runs the scene of `scripts/torture`, for about `DDBFS_TORTURE_SECONDS`.
#[test]
#[ignore = "scripts/torture"]
fn for_hours() {
    let seconds: u64 =
        std::env::var("DDBFS_TORTURE_SECONDS").map_or(300, |text| text.parse().unwrap());
    let pairs = OPERATIONS.len() * (OPERATIONS.len() + 1) / 2;
    let rounds = (seconds / pairs as u64).max(1);
    // About a second a pair, again and again.
    for _ in 0..rounds {
        all_pairs(Duration::from_millis(
            seconds * 1_000 / rounds / pairs as u64,
        ));
    }
}
