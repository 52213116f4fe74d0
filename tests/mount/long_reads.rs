//! Calls that read a whole table block no others: while such reads do not end, all other calls are
//! answered.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::mounted::*;
use crate::support::wait::{until, until_some};
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::model::error::StoreError;
use ddbfs::store::memory::MemoryStore;
use ddbfs::store::{BatchHook, Direction, KeyRange, Read, Store, StoreInfo, StoreVisit, WriteJob};
use parking_lot::{Condvar, Mutex};

/// Entries that a thread may walk over while the gate is closed.
const STEPS_MAX: usize = 1_000;
const ITEMS: usize = 2_000;
/// A timeout against hangs only.
const PATIENCE: Duration = Duration::from_secs(60);

/// A gate that holds up every thread that reads more than a few records, as long as it is closed.
#[derive(Default)]
struct Gate {
    /// True while it is closed, and the number of its closings.
    state: Mutex<(bool, usize)>,
    held: Mutex<usize>,
    opened: Condvar,
}

thread_local! {
    /// The closing of the gate that the steps are of, and the number of steps.
    static STEPS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

impl Gate {
    fn close(&self) {
        let mut state = self.state.lock();
        *state = (true, state.1 + 1);
    }

    fn open(&self) {
        self.state.lock().0 = false;
        self.opened.notify_all();
    }

    fn step(&self) {
        let mut state = self.state.lock();
        if !state.0 {
            return;
        }
        let (closing, steps) = STEPS.get();
        let steps = if closing == state.1 { steps + 1 } else { 1 };
        STEPS.set((state.1, steps));
        if steps > STEPS_MAX {
            *self.held.lock() += 1;
            while state.0 {
                self.opened.wait(&mut state);
            }
            *self.held.lock() -= 1;
        }
    }
}

struct GatedStore {
    inner: MemoryStore,
    gate: Arc<Gate>,
}

struct GatedRead<'a> {
    inner: Box<dyn Read + 'a>,
    gate: &'a Gate,
}

impl Read for GatedRead<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, StoreError> {
        self.inner.get(key)
    }

    fn commit_id(&self) -> u64 {
        self.inner.commit_id()
    }

    fn walk(
        &self,
        range: &KeyRange,
        direction: Direction,
        visit: &mut StoreVisit<'_>,
    ) -> Result<(), StoreError> {
        self.inner
            .walk(range, direction, &mut |key, value| -> ControlFlow<()> {
                self.gate.step();
                visit(key, value)
            })
    }
}

impl Store for GatedStore {
    fn snapshot(&self) -> Result<Box<dyn Read + '_>, StoreError> {
        Ok(Box::new(GatedRead {
            inner: self.inner.snapshot()?,
            gate: &self.gate,
        }))
    }

    fn submit(&self, job: Box<dyn WriteJob>) {
        self.inner.submit(job);
    }

    fn commit_id(&self) -> u64 {
        self.inner.commit_id()
    }

    fn wait_for_commit(&self, after: u64, timeout: Duration) -> Result<u64, StoreError> {
        self.inner.wait_for_commit(after, timeout)
    }

    fn set_hook(&self, hook: Arc<dyn BatchHook>) {
        self.inner.set_hook(hook);
    }

    fn info(&self) -> StoreInfo {
        self.inner.info()
    }

    fn close(&self) {
        self.inner.close();
    }
}

/// Mounts `Flat` with one item, and `Orders` with many, none of which is in its index, and with a
/// stream of all of them.
fn mounted() -> (Mount, Arc<Gate>) {
    let gate = Arc::<Gate>::default();
    let store = Arc::new(GatedStore {
        inner: MemoryStore::new().unwrap(),
        gate: Arc::clone(&gate),
    });
    let options = EngineOptions {
        background_period: None,
        ..EngineOptions::default()
    };
    let db = Arc::new(LocalDatabase::open(store, options).unwrap());
    let stream = r#""StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}, "BillingMode""#;
    create_table(&*db, &ORDERS.replace(r#""BillingMode""#, stream));
    create_table(&*db, FLAT);
    for number in 0..ITEMS {
        put(
            &*db,
            "Orders",
            &format!(r#"{{"pk":"u{number}","sk":"o","total":1,"status":"x"}}"#),
        );
    }
    put(&*db, "Flat", r#"{"id":"a","n":1}"#);
    (Mount::of(db), gate)
}

fn start(mount: &Mount, script: &str) -> Child {
    let mut command = Command::new("bash");
    command
        .args(["-c", script])
        .current_dir(mount.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Waits for a program that must end though the gate is closed; returns true if it succeeded.
fn ends(gate: &Gate, mut program: Child, script: &str) -> bool {
    let deadline = Instant::now() + PATIENCE;
    until_some(script, || {
        if Instant::now() > deadline {
            // Else the mount could not end.
            gate.open();
            panic!("held up: {script}");
        }
        program.try_wait().unwrap()
    })
    .success()
}

const LONG: [&str; 14] = [
    "cat Orders/gsi/by-status/missing.ndjson",
    "stat Orders/gsi/by-status/missing.ndjson",
    "cat Orders/gsi/by-status/violations.ndjson",
    "cat Orders/advice.md",
    "cat Orders/shapes.md",
    "cat Orders/shapes.json",
    "cat Orders/partitions/heat.tsv",
    "cat Orders/partitions/big.tsv",
    "cat Orders/partitions/p00/stats.json",
    "cat Orders/heat.svg",
    "stat Orders/stream/log.ndjson",
    "cat Orders/stream/log.ndjson",
    "cat Orders/scan/count",
    "ls Orders/scan/limit=1500",
];

#[test]
fn reads_of_whole_tables_hold_up_nobody() {
    let (mount, gate) = mounted();
    mount.sh("cat Flat/items/a.json").ok();
    gate.close();
    let long: Vec<Child> = LONG
        .iter()
        .flat_map(|script| (0..3).map(|_| start(&mount, script)).collect::<Vec<_>>())
        .collect();
    until("long reads are held up", || {
        *gate.held.lock() >= LONG.len() / 2
    });
    for script in [
        "stat Flat/items/a.json",
        "cat Flat/items/a.json",
        "ls Flat/items",
        "echo '{\"n\":2}' > Flat/items/b.json",
        "! { echo 'no JSON' > Flat/items/c.json; }",
        "! { echo '{\"n\":\"'$(head -c 500000 /dev/zero | tr '\\0' x)'\"}' > Flat/items/d.json; }",
        "ls Orders/gsi/by-status",
        "mkdir Orders/items/new && rmdir Orders/items/new",
        "ls -R Orders/partitions/p00 | head -5",
    ] {
        assert!(ends(&gate, start(&mount, script), script), "{script}");
    }
    gate.open();
    for (place, mut program) in long.into_iter().enumerate() {
        let script = LONG[place / 3];
        // heat.svg exists for tables with requests.
        assert!(program.wait().unwrap().success(), "{script}");
    }
    mount.end();
}

/// Checks that concurrent readers get the same text, which is made once; after a commit it is
/// another.
#[test]
fn a_long_text_is_of_the_last_commit() {
    let (mount, _gate) = mounted();
    let lines = |mount: &Mount| {
        mount.sh("cat Orders/gsi/by-status/missing.ndjson | wc -l; stat -c %s Orders/gsi/by-status/missing.ndjson").ok().to_owned()
    };
    let before = lines(&mount);
    assert!(before.starts_with(&format!("{ITEMS}\n")), "{before}");
    put(&*mount.db, "Orders", r#"{"pk":"v","sk":"o","status":"x"}"#);
    let after = lines(&mount);
    assert!(after.starts_with(&format!("{}\n", ITEMS + 1)), "{after}");
    let whole = mount
        .sh("wc -c < Orders/gsi/by-status/missing.ndjson")
        .ok()
        .to_owned();
    assert!(after.ends_with(&format!("\n{whole}")), "{after} {whole}");
    mount.end();
}
