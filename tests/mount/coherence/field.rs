//! Shared state of writers and readers: the mount, the names, the processes with HTTP, and the end.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use serde_json::{Value, json};

use super::names::{MOVING, Name, REMADE};
use crate::support::daemon::post;
use crate::support::seeded::Numbers;
use crate::support::wait::{moment, until_ok};
use crate::support::watchdog::{Pulse, Watchdog};

pub const BUCKETS: u64 = 3;
pub const COLLECTIONS: [&str; 2] = ["u0", "u1"];

#[derive(Debug)]
pub struct Field {
    pub point: PathBuf,
    pub data: PathBuf,
    pub names: Vec<Name>,
    /// True if daemons are killed: calls may fail.
    pub kills: bool,
    /// Addresses of every process that has the data directory open.
    pub addresses: RwLock<Vec<String>>,
    pub watchdog: Watchdog,
    pub checks: AtomicU64,
    /// Number of checks so quick that the kernel made no request.
    pub kept: AtomicU64,
    /// Number of LOOKUP and GETATTR requests of all processes.
    pub asked: AtomicU64,
    /// Acknowledged writes by way.
    pub writes: Mutex<std::collections::BTreeMap<&'static str, u64>>,
    /// The last refusal of each way.
    pub refusals: Mutex<std::collections::BTreeMap<&'static str, String>>,
    /// Odd while the mount is away.
    lives: AtomicU64,
    violations: Mutex<Vec<String>>,
    ends: AtomicBool,
    pub seed: u64,
}

impl Field {
    pub fn new(point: PathBuf, data: PathBuf, address: &str, kills: bool, seed: u64) -> Self {
        Self {
            watchdog: Watchdog::new(&point),
            point,
            data,
            names: names(),
            kills,
            addresses: RwLock::new(vec![address.to_owned()]),
            checks: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            writes: Mutex::default(),
            refusals: Mutex::default(),
            lives: AtomicU64::new(0),
            violations: Mutex::default(),
            ends: AtomicBool::new(false),
            seed,
        }
    }

    /// Returns the item of the folder that this one's is renamed to and from.
    pub fn twin(&self, name: &Name) -> Option<&Name> {
        self.names
            .iter()
            .find(|other| name.moves() && other.moves() && other.path != name.path)
    }

    /// Counts the requests of the mount's kernel, before the mount goes: a look without a request
    /// is answered from the kernel's cache.
    pub fn count_requests(&self) {
        let stats = std::fs::read_to_string(self.path(".ddb/stats.json")).unwrap_or_default();
        let stats: Value = serde_json::from_str(&stats).unwrap_or_default();
        self.asked.fetch_add(
            stats["kernel"]["asked"].as_u64().unwrap_or_default(),
            Ordering::Relaxed,
        );
    }

    pub fn named(&self, path: &str) -> &Name {
        self.names.iter().find(|name| name.path == path).unwrap()
    }

    /// Returns random numbers for a thread.
    pub fn numbers(&self, thread: u64) -> Numbers {
        Numbers(self.seed.wrapping_mul(1_000).wrapping_add(thread))
    }

    pub fn pulse(&self, name: &str) -> Arc<Pulse> {
        self.watchdog.pulse(name)
    }

    pub fn ended(&self) -> bool {
        self.ends.load(Ordering::Relaxed) || self.watchdog.found().is_some()
    }

    pub fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }

    /// Returns the longest pause of writers, by the seed: longer pauses give readers more looks at
    /// cached entries.
    pub fn pause(&self) -> Duration {
        Duration::from_millis(if self.seed & 4 == 0 { 3 } else { 30 })
    }

    /// True if no other process comes, so that the kernel caches all the time. By the seed.
    pub fn is_alone(&self) -> bool {
        self.seed % 4 > 1
    }

    /// Records that the mount goes or comes.
    pub fn turn(&self) {
        self.lives.fetch_add(1, Ordering::SeqCst);
    }

    pub fn life(&self) -> u64 {
        self.lives.load(Ordering::SeqCst)
    }

    pub fn is_up_since(&self, life: u64) -> bool {
        life.is_multiple_of(2) && self.life() == life
    }

    pub fn refused(&self, way: &'static str, error: &io::Error) {
        self.refusals.lock().insert(way, error.to_string());
    }

    pub fn goes_on_for(&self, duration: Duration) {
        let until = Instant::now() + duration;
        while Instant::now() < until && !self.ended() {
            moment(Duration::from_millis(10));
        }
    }

    /// Reports a violation: all threads stop.
    pub fn violated(&self, text: String) {
        eprintln!("{text}");
        self.violations.lock().push(text);
        self.end();
    }

    pub fn violations(&self) -> Vec<String> {
        self.violations
            .lock()
            .iter()
            .cloned()
            .chain(self.watchdog.found())
            .collect()
    }

    pub fn wrote(&self, way: &'static str) {
        *self.writes.lock().entry(way).or_default() += 1;
    }

    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.point.join(below)
    }

    /// Makes a call to one of the processes; returns an error when it was refused or there is no
    /// process.
    pub fn call(&self, numbers: &mut Numbers, operation: &str, body: &Value) -> io::Result<Value> {
        let address = {
            let addresses = self.addresses.read();
            if addresses.is_empty() {
                return Err(io::ErrorKind::NotConnected.into());
            }
            addresses[numbers.below(addresses.len() as u64) as usize].clone()
        };
        let answer = post(&address, operation, &body.to_string())?;
        let (head, body) = answer
            .split_once("\r\n\r\n")
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        if !head.starts_with("HTTP/1.1 200") {
            return Err(io::Error::other(format!("{operation}: {body}")));
        }
        serde_json::from_str(body).map_err(|_| io::ErrorKind::UnexpectedEof.into())
    }

    /// Makes a call until a process accepts it, or refuses it for a reason of its own.
    pub fn insist(
        &self,
        numbers: &mut Numbers,
        operation: &str,
        body: &Value,
        fine: &str,
    ) -> Value {
        until_ok("somebody answers", || {
            match self.call(numbers, operation, body) {
                Ok(answer) => Ok(answer),
                Err(error) if !fine.is_empty() && error.to_string().contains(fine) => {
                    Ok(Value::Null)
                }
                // Killed in the middle, or one process still works on the table.
                Err(error) => Err(format!("{operation} {body}: {error}")),
            }
        })
    }

    /// Creates the tables, before any reader starts.
    pub fn create_tables(&self) {
        let mut numbers = self.numbers(0);
        for (table, sort) in [("Flat", false), ("Orders", true)] {
            self.insist(
                &mut numbers,
                "CreateTable",
                &definition(table, sort),
                "ResourceInUse",
            );
        }
        let expiry = json!({"TableName": "Flat", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "e"}});
        self.insist(&mut numbers, "UpdateTimeToLive", &expiry, "already enabled");
        for collection in COLLECTIONS {
            // A rename needs its directory.
            std::fs::create_dir_all(self.path("Orders/items").join(collection)).unwrap();
        }
    }
}

/// Returns a table with the index `by-b`, which has the bucket as its only key.
pub fn definition(table: &str, sort: bool) -> Value {
    let sorts = |json: Value| if sort { vec![json] } else { Vec::new() };
    let keys = [
        vec![json!({"AttributeName": "pk", "KeyType": "HASH"})],
        sorts(json!({"AttributeName": "sk", "KeyType": "RANGE"})),
    ];
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let attributes = [
        vec![attribute("pk"), attribute("b")],
        sorts(attribute("sk")),
    ];
    json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys.concat(), "AttributeDefinitions": attributes.concat(),
        "GlobalSecondaryIndexes": [{"IndexName": "by-b", "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}}]})
}

/// Returns the names: items that any thread writes come first; those of one writer have a prefix of
/// their own.
fn names() -> Vec<Name> {
    // A space may be spelled in two ways.
    let flat = (0..12).map(|n| {
        Name::flat(
            "Flat",
            &format!("s{}{}", if n < 6 { '0' } else { ' ' }, n % 6),
        )
    });
    let sorted = COLLECTIONS
        .iter()
        .flat_map(|pk| ["a", "b", "c", "d"].map(|sk| Name::sorted("Orders", pk, sk)));
    let expiring = (0..2).map(|n| Name::flat("Flat", &format!("e{n:02}")));
    let coming = (0..2).map(|n| Name::flat("Coming", &format!("c{n:02}")));
    let moving = MOVING.map(|pk| Name::sorted("Orders", pk, "x"));
    let remade = [Name::sorted("Orders", REMADE, "x")];
    let directories = [
        Name::directory("Orders", "Orders/items/f0"),
        Name::directory("Orders", "Orders/items/f1"),
        Name::directory("Flat", "Flat/gsi/by-x"),
        Name::directory("Coming", "Coming"),
    ];
    flat.chain(sorted)
        .chain(remade)
        .chain(moving)
        .chain(expiring)
        .chain(coming)
        .chain(directories)
        .collect()
}
