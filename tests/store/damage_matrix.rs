//! Each file of a data directory, damaged, exchanged, shortened or older, in each state in which a process may leave them: the one right
//! outcome of opening it, and of a check, which changes nothing; by the store itself, and by `check`, `dump`, `serve` and `mount` as processes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::BufRead as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::lmdb::{get, put};
use crate::support::daemon::{DDBFS, Mount, post};
use crate::support::own_process::start;
use crate::support::wait::until;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore, OfflineStore};
use ddbfs::store::{Store, StoreError};

const DIR: &str = "DDBFS_TEST_DAMAGE_MATRIX";
const NAMES: [&str; 6] = [
    "data.mdb",
    "checkpoint",
    "log.0",
    "log.1",
    "lock.mdb",
    "log.lock",
];
/// A page each, so that a recovery needs more of them than are free.
const VALUE_BYTES: usize = 3_000;
/// Keys that are there at the first checkpoint, at the last one, at the end, and in the closed store.
const FIRST: u64 = 20;
const SECOND: u64 = 60;
pub const LAST: u64 = 160;
const CLOSED: u64 = 180;
/// The files by name.
pub type Files = BTreeMap<&'static str, Vec<u8>>;

fn options() -> LmdbOptions {
    LmdbOptions {
        map_bytes: 1 << 20,
        ..LmdbOptions::default()
    }
}

fn put_up_to(store: &LmdbStore, keys: std::ops::RangeInclusive<u64>) {
    for n in keys {
        put(
            store,
            &n.to_be_bytes(),
            vec![n.to_le_bytes()[0]; VALUE_BYTES],
        )
        .unwrap();
    }
}

fn step_file(dir: &Path, step: u64) -> PathBuf {
    dir.with_extension(step.to_string())
}

#[test]
#[ignore = "a process of killed"]
fn child_writes_in_steps() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else {
        return;
    };
    let store = LmdbStore::open(&dir, options()).unwrap();
    let mut from = 1;
    for to in [FIRST, SECOND, LAST] {
        put_up_to(&store, from..=to);
        println!("written {to}");
        until("no next step", || step_file(&dir, to).exists());
        from = to + 1;
    }
}

fn read(dir: &Path) -> Files {
    NAMES
        .into_iter()
        .filter_map(|name| Some((name, fs::read(dir.join(name)).ok()?)))
        .collect()
}

/// Over what is there, so that the data file stays the same file.
pub fn write(dir: &Path, files: &Files) {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).unwrap();
    let _ = fs::rename(dir.with_extension("away"), dir.join("data.mdb"));
    for name in NAMES {
        match files.get(name) {
            Some(bytes) => fs::write(dir.join(name), bytes).unwrap(),
            // Moved away, so that it is the same file later.
            None if *name == *"data.mdb" => {
                fs::rename(dir.join(name), dir.with_extension("away")).unwrap_or_default()
            }
            None => drop(fs::remove_file(dir.join(name))),
        }
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().unwrap())
}

/// Where the checkpoint's newest slot begins.
fn slot(checkpoint: &[u8]) -> usize {
    if number(checkpoint, 4096 + 16) > number(checkpoint, 16) {
        4096
    } else {
        0
    }
}

fn newest_slot_bit(checkpoint: &mut [u8]) {
    let at = slot(checkpoint) + 30;
    checkpoint[at] ^= 4;
}

/// The number of the checkpoint's commit.
fn commit(files: &Files) -> Option<u64> {
    files
        .get("checkpoint")
        .map(|checkpoint| number(checkpoint, slot(checkpoint) + 24))
}

/// The last commit of the data file.
fn head(files: &Files) -> u64 {
    [0, 4096]
        .into_iter()
        .map(|page| number(&files["data.mdb"], page + 144))
        .max()
        .unwrap()
}

/// The directory of a process that was killed, with its files at the first checkpoint, at the last one, and at the end.
pub struct Killed {
    dir: tempfile::TempDir,
    first: Files,
    second: Files,
    last: Files,
    /// Of a store that was closed later.
    closed: Files,
}

impl Killed {
    /// What a power cut leaves that takes all that was written to the data file behind the checkpoint.
    pub fn cut(&self) -> Files {
        let mut files = self.last.clone();
        files.insert("data.mdb", self.second["data.mdb"].clone());
        files
    }
}

/// What a power cut leaves whose recovery needs more of the disk: how many pages are free in the data file depends on how many commits
/// came between two checkpoints.
pub fn cut_that_grows(kill: fn() -> Killed) -> Files {
    for _ in 0..20 {
        let cut = kill().cut();
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &cut);
        drop(LmdbStore::open(dir.path(), LmdbOptions::default()).unwrap());
        if read(dir.path())["data.mdb"].len() > cut["data.mdb"].len() {
            return cut;
        }
    }
    panic!("there was room in the data file each time");
}

/// Who writes in steps, and can be killed.
trait Writer: Sized {
    fn start(dir: &Path) -> Self;
    /// Puts what is missing up to a key.
    fn write_up_to(&mut self, key: u64);
    /// Puts the last keys, in a process that closes the store.
    fn close(dir: &Path);
}

/// The store itself, in [`child_writes_in_steps`].
struct InSteps {
    /// Ended with this.
    _child: Ended,
    lines: Box<dyn Iterator<Item = String>>,
    dir: PathBuf,
    step: Option<u64>,
}

impl Writer for InSteps {
    fn start(dir: &Path) -> Self {
        let (child, output) = start(module_path!(), "child_writes_in_steps", (DIR, dir));
        Self {
            _child: Ended(child),
            lines: Box::new(output.lines().map_while(Result::ok)),
            dir: dir.to_owned(),
            step: None,
        }
    }

    fn write_up_to(&mut self, key: u64) {
        if let Some(step) = self.step.replace(key) {
            fs::write(step_file(&self.dir, step), b"").unwrap();
        }
        assert!(
            self.lines
                .any(|line| line.contains(&format!("written {key}")))
        );
    }

    fn close(dir: &Path) {
        put_up_to(&LmdbStore::open(dir, options()).unwrap(), LAST + 1..=CLOSED);
    }
}

impl Drop for InSteps {
    fn drop(&mut self) {
        for step in [FIRST, SECOND] {
            let _ = fs::remove_file(step_file(&self.dir, step));
        }
    }
}

pub fn killed() -> Killed {
    killed_by::<InSteps>()
}

fn killed_by<W: Writer>() -> Killed {
    // A checkpoint may come while the last step is written; then once more.
    for _ in 0..20 {
        let dir = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let mut writer = W::start(dir.path());
        let mut at = |step: u64| {
            writer.write_up_to(step);
            until("no checkpoint", || {
                let files = read(dir.path());
                step == LAST || commit(&files) == Some(head(&files))
            });
            read(dir.path())
        };
        let (first, second, _) = (at(FIRST), at(SECOND), at(LAST));
        drop(writer);
        let last = read(dir.path());
        if last["checkpoint"] == second["checkpoint"] {
            W::close(dir.path());
            let closed = read(dir.path());
            return Killed {
                dir,
                first,
                second,
                last,
                closed,
            };
        }
    }
    panic!("there was a checkpoint within the last step each time");
}

/// Ends its process.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How the files came to be as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The last process was killed, and the machine runs on.
    Killed,
    /// Killed, and the directory copied.
    Copied,
    /// The power was cut: nothing of the data file was written behind the checkpoint.
    Cut,
}

/// What opening comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Everything up to this key is there.
    UpTo(u64),
    /// A sentence with these words, and nothing is changed.
    Refused(&'static str),
}

use Outcome::{Refused, UpTo};

const ALL: Outcome = UpTo(LAST);

/// The records of the log behind the checkpoint: where each begins in its file.
fn records(files: &Files) -> Vec<usize> {
    let checkpoint = &files["checkpoint"];
    let (mut at, log) = (
        number(checkpoint, slot(checkpoint) + 32) as usize & 0xFFFF_FFFF,
        &files["log.1"],
    );
    let mut begins = Vec::new();
    while log[at..].starts_with(b"dlg2") {
        begins.push(at);
        let payload = u32::from_le_bytes(*log[at + 8..].first_chunk().unwrap()) as usize;
        at += (52 + payload).next_multiple_of(512);
    }
    assert_eq!(begins.len() as u64, LAST - SECOND);
    begins
}

type Damage = Box<dyn Fn(&mut Files, &Killed)>;

fn change(name: &'static str, with: impl Fn(&mut Vec<u8>) + 'static) -> Damage {
    Box::new(move |files, _| with(files.get_mut(name).unwrap()))
}

fn remove(name: &'static str) -> Damage {
    Box::new(move |files, _| drop(files.remove(name)))
}

fn in_records(name: &'static str, with: impl Fn(&mut Vec<u8>, &[usize]) + 'static) -> Damage {
    Box::new(move |files, killed| with(files.get_mut(name).unwrap(), &records(&killed.last)))
}

fn older(names: &'static [&'static str], of: fn(&Killed) -> &Files) -> Damage {
    Box::new(move |files, killed| {
        for name in names {
            files.insert(name, of(killed)[name].clone());
        }
    })
}

type Row = (&'static str, Damage, Outcome, Outcome, Outcome);

/// Damage, and what it comes to when the process was killed, the directory copied, the power cut.
fn rows() -> Vec<Row> {
    let same = |name: &'static str, damage: Damage, outcome: Outcome| {
        (name, damage, outcome, outcome, outcome)
    };
    vec![
        same("nothing", Box::new(|_, _| {}), ALL),
        same("data.mdb missing", remove("data.mdb"), Refused("data.mdb")),
        same(
            "data.mdb empty",
            change("data.mdb", |bytes| bytes.clear()),
            Refused("data.mdb"),
        ),
        same(
            "data.mdb cut",
            change("data.mdb", |bytes| bytes.truncate(8 * 4096)),
            Refused("truncated"),
        ),
        same(
            "data.mdb zeros",
            change("data.mdb", |bytes| bytes[2 * 4096..].fill(0)),
            Refused("data.mdb"),
        ),
        same(
            "data.mdb before the checkpoint",
            older(&["data.mdb"], |killed| &killed.first),
            Refused("older than the checkpoint"),
        ),
        (
            "data.mdb of the checkpoint",
            older(&["data.mdb"], |killed| &killed.second),
            Refused("older than the log"),
            ALL,
            ALL,
        ),
        same(
            "checkpoint missing",
            remove("checkpoint"),
            Refused("checkpoint\" is missing"),
        ),
        same(
            "checkpoint empty",
            change("checkpoint", |bytes| bytes.clear()),
            Refused("checkpoint\" is damaged"),
        ),
        same(
            "checkpoint cut",
            change("checkpoint", |bytes| bytes.truncate(100)),
            Refused("checkpoint\" is damaged"),
        ),
        same(
            "checkpoint zeros",
            change("checkpoint", |bytes| bytes.fill(0)),
            Refused("checkpoint\" is damaged"),
        ),
        same(
            "checkpoint bit",
            change("checkpoint", |bytes| newest_slot_bit(bytes)),
            Refused("checkpoint\" is damaged or older"),
        ),
        same(
            "checkpoint older",
            older(&["checkpoint"], |killed| &killed.first),
            Refused("checkpoint\" is damaged or older"),
        ),
        same(
            "log.0 missing",
            remove("log.0"),
            Refused("log.0\" is missing"),
        ),
        same(
            "log.1 missing",
            remove("log.1"),
            Refused("log.1\" is missing"),
        ),
        same(
            "both missing",
            Box::new(|files, _| files.retain(|name, _| !name.starts_with("log."))),
            Refused("log.0\" is missing"),
        ),
        same(
            "log.0 empty",
            change("log.0", |bytes| bytes.clear()),
            Refused("log.0\" was truncated"),
        ),
        same(
            "log.1 empty",
            change("log.1", |bytes| bytes.clear()),
            Refused("log.1\" was truncated"),
        ),
        same(
            "log.1 cut",
            in_records("log.1", |bytes, at| bytes.truncate(at[50])),
            Refused("log.1\" was truncated"),
        ),
        same(
            "record's bit",
            in_records("log.1", |bytes, at| bytes[at[50] + 200] ^= 1),
            Refused("records of later commits follow it"),
        ),
        same(
            "record's head",
            in_records("log.1", |bytes, at| bytes[at[0]] ^= 1),
            Refused("records of later commits follow it"),
        ),
        same(
            "4 KB zeros",
            in_records("log.1", |bytes, at| bytes[at[40]..at[40] + 4096].fill(0)),
            Refused("records of later commits follow it"),
        ),
        // Of a power cut it cannot be told from a record that was never whole: then nobody was told that it is there.
        (
            "last record",
            in_records("log.1", |bytes, at| bytes[at[99] + 100] ^= 1),
            Refused("has commit"),
            Refused("has commit"),
            UpTo(LAST - 1),
        ),
        (
            "all records",
            in_records("log.1", |bytes, at| bytes[at[0]..].fill(0)),
            Refused("has commit"),
            Refused("has commit"),
            UpTo(SECOND),
        ),
        (
            "log of the checkpoint",
            older(&["log.1"], |killed| &killed.second),
            Refused("has commit"),
            Refused("has commit"),
            UpTo(SECOND),
        ),
        same(
            "older log",
            older(&["log.0", "log.1"], |killed| &killed.first),
            Refused("lack the record of commit"),
        ),
        same(
            "files exchanged",
            Box::new(|files, _| {
                let first = files.insert("log.0", files["log.1"].clone()).unwrap();
                files.insert("log.1", first);
            }),
            Refused("records of later commits follow it"),
        ),
        (
            "data.mdb closed later",
            older(&["data.mdb"], |killed| &killed.closed),
            Refused("closed later"),
            Refused("closed later"),
            Refused("closed later"),
        ),
        same("lock.mdb missing", remove("lock.mdb"), ALL),
        same(
            "log.lock empty",
            change("log.lock", |bytes| bytes.clear()),
            ALL,
        ),
    ]
}

/// Damage of a store that was closed, which is whole by itself and takes no older log.
fn closed_rows() -> Vec<(&'static str, Damage, Outcome)> {
    let rest: &[&str] = &["checkpoint", "log.0", "log.1"];
    vec![
        ("nothing", Box::new(|_, _| {}), UpTo(CLOSED)),
        ("data.mdb missing", remove("data.mdb"), Refused("data.mdb")),
        (
            "data.mdb empty",
            change("data.mdb", |bytes| bytes.clear()),
            Refused("data.mdb\" is empty"),
        ),
        (
            "data.mdb cut",
            change("data.mdb", |bytes| bytes.truncate(8 * 4096)),
            Refused("truncated"),
        ),
        (
            "data.mdb zeros",
            change("data.mdb", |bytes| bytes[2 * 4096..].fill(0)),
            Refused("data.mdb"),
        ),
        (
            "data.mdb of the checkpoint",
            older(&["data.mdb"], |killed| &killed.second),
            Refused("checkpoint\" is missing"),
        ),
        ("lock.mdb missing", remove("lock.mdb"), UpTo(CLOSED)),
        (
            "lock.mdb empty",
            change("lock.mdb", |bytes| bytes.clear()),
            UpTo(CLOSED),
        ),
        ("log.lock missing", remove("log.lock"), UpTo(CLOSED)),
        // As it is left by a process that is killed while it closes the store.
        (
            "logs without a checkpoint",
            older(&["log.0", "log.1"], |killed| &killed.last),
            UpTo(CLOSED),
        ),
        (
            "checkpoint and log put back",
            older(rest, |killed| &killed.last),
            Refused("older than data.mdb"),
        ),
        (
            "those of the first",
            older(rest, |killed| &killed.first),
            Refused("older than data.mdb"),
        ),
    ]
}

/// Everything up to a key is there, and nothing else.
pub fn content(store: &dyn Store) -> u64 {
    let has = |n: u64| get(store, &n.to_be_bytes());
    let last = (1..)
        .take_while(|n| has(*n) == Some(vec![n.to_le_bytes()[0]; VALUE_BYTES]))
        .last()
        .unwrap_or(0);
    assert!(
        (last + 1..=CLOSED).all(|n| has(n).is_none()),
        "a hole behind {last}"
    );
    last
}

fn outcome(opened: Result<u64, StoreError>, expected: Outcome) -> Result<(), String> {
    match (opened, expected) {
        (Ok(last), UpTo(expected)) if last == expected => Ok(()),
        (Err(StoreError::Damaged(text) | StoreError::Io(text)), Refused(words))
            if text.contains(words) =>
        {
            Ok(())
        }
        (other, _) => Err(format!("{other:?}")),
    }
}

/// A check in place, then opening it.
fn try_one(dir: &Path, files: &Files, expected: Outcome) -> Result<(), String> {
    write(dir, files);
    let listing = || fs::read_dir(dir).unwrap().count();
    let before = (read(dir), listing());
    let checked = OfflineStore::open(dir, StoreError::ReadOnly).and_then(|store| {
        let store = store.expect("nobody has it open");
        store.check().map(|()| content(&store))
    });
    outcome(checked, expected).map_err(|found| format!("check: {found}"))?;
    assert!(
        before == (read(dir), listing()),
        "a check changed the directory"
    );
    let opened = LmdbStore::open(dir, options()).map(|store| content(&store));
    outcome(opened, expected).map_err(|found| format!("open: {found}"))?;
    refused_is_unchanged(dir, files, expected);
    Ok(())
}

fn refused_is_unchanged(dir: &Path, files: &Files, expected: Outcome) {
    let after = read(dir);
    let is_same = |name: &&str| after.get(name) == files.get(name);
    let names = ["data.mdb", "checkpoint", "log.0", "log.1"];
    assert!(
        matches!(expected, UpTo(_)) || names.iter().all(is_same),
        "a refusal changed the directory"
    );
}

/// Tries every damage in every state; what was not as expected.
fn wrong(
    killed: &Killed,
    try_one: impl Fn(&Path, &Files, Outcome) -> Result<(), String>,
) -> String {
    let mut wrong = Vec::new();
    let mut try_in = |dir: &Path, files: &Files, expected, what: String| {
        if let Err(found) = try_one(dir, files, expected) {
            wrong.push(format!("{what}: {expected:?}, and it was {found}\n"));
        }
    };
    for (name, damage, in_place, copied, cut) in rows() {
        for (state, expected) in [
            (State::Killed, in_place),
            (State::Copied, copied),
            (State::Cut, cut),
        ] {
            let mut files = if state == State::Cut {
                killed.cut()
            } else {
                killed.last.clone()
            };
            damage(&mut files, killed);
            let other = tempfile::tempdir_in("/dev/shm")
                .or_else(|_| tempfile::tempdir())
                .unwrap();
            let dir = if state == State::Killed {
                killed.dir.path()
            } else {
                other.path()
            };
            try_in(dir, &files, expected, format!("{name}, {state:?}"));
        }
    }
    for (name, damage, expected) in closed_rows() {
        let mut files = killed.closed.clone();
        damage(&mut files, killed);
        for dir in [killed.dir.path(), tempfile::tempdir().unwrap().path()] {
            try_in(dir, &files, expected, format!("{name}, closed"));
        }
    }
    wrong.concat()
}

#[test]
fn nothing_damaged_or_older_is_opened_as_if_it_were_whole() {
    assert_eq!(wrong(&killed(), try_one), "");
}

#[test]
fn salvage_opens_what_is_whole_and_keeps_the_files() {
    let killed = killed();
    for (name, damage, _, expected, _) in rows() {
        if matches!(expected, UpTo(_))
            || [
                "data.mdb missing",
                "data.mdb empty",
                "data.mdb cut",
                "data.mdb zeros",
            ]
            .contains(&name)
        {
            continue;
        }
        let dir = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let mut files = killed.last.clone();
        damage(&mut files, &killed);
        write(dir.path(), &files);
        let store = LmdbStore::open(
            dir.path(),
            LmdbOptions {
                salvage: true,
                ..options()
            },
        )
        .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(content(&store) >= FIRST, "{name}");
        store.check_pages().unwrap();
        put(&store, b"next", vec![1]).unwrap();
        drop(store);
        let beside =
            |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("damaged-");
        let kept: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map_while(Result::ok)
            .filter(beside)
            .collect();
        assert_eq!(kept.len(), 1, "{name}");
        let names = ["data.mdb", "checkpoint", "log.0", "log.1"];
        assert!(
            names
                .iter()
                .all(|name| fs::read(kept[0].path().join(name)).ok() == files.get(name).cloned()),
            "{name}"
        );
        assert!(
            get(&LmdbStore::open(dir.path(), options()).unwrap(), b"next").is_some(),
            "{name}"
        );
    }
}

#[test]
fn what_an_interrupted_first_start_leaves_is_a_new_directory() {
    let new = tempfile::tempdir().unwrap();
    drop(LmdbStore::open(new.path(), options()).unwrap());
    let lock_bytes = fs::metadata(new.path().join("lock.mdb")).unwrap().len() as usize;
    for left in [
        &["log.lock"][..],
        &["log.lock", "reserve"],
        &["log.lock", "reserve", "lock.mdb"],
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
        left.iter()
            .for_each(|name| fs::write(dir.path().join(name), b"").unwrap());
        if left.contains(&"lock.mdb") {
            fs::write(dir.path().join("lock.mdb"), vec![0; lock_bytes]).unwrap();
        }
        put(
            &LmdbStore::open(dir.path(), options()).unwrap(),
            b"first",
            vec![1],
        )
        .unwrap();
    }
}

/// `ddbfs serve`, and items of a table.
struct Served {
    serve: Running,
    next: u64,
}

fn line(n: u64) -> String {
    format!("{{\"pk\":\"{n}\",\"v\":\"{}\"}}\n", "x".repeat(VALUE_BYTES))
}

impl Writer for Served {
    fn start(dir: &Path) -> Self {
        let serve = Running::start(dir, Kind::Serve);
        serve.up().unwrap();
        let table = r#"{"TableName":"Tab","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
            "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]}"#;
        serve.post("CreateTable", table);
        Self { serve, next: 1 }
    }

    fn write_up_to(&mut self, key: u64) {
        for n in self.next..=key {
            let value = "x".repeat(VALUE_BYTES);
            let body = format!(
                r#"{{"TableName":"Tab","Item":{{"pk":{{"S":"{n}"}},"v":{{"S":"{value}"}}}}}}"#
            );
            self.serve.post("PutItem", &body);
        }
        self.next = key + 1;
    }

    fn close(dir: &Path) {
        let lines = tempfile::NamedTempFile::new().unwrap();
        fs::write(
            lines.path(),
            (LAST + 1..=CLOSED).map(line).collect::<String>(),
        )
        .unwrap();
        let loaded = Command::new(DDBFS)
            .args(["load", "Tab"])
            .arg(lines.path())
            .env("DDBFS_DATA", dir)
            .output()
            .unwrap();
        assert!(loaded.status.success(), "{loaded:?}");
    }
}

/// As [`killed`], by processes that serve a table.
pub fn killed_served() -> Killed {
    killed_by::<Served>()
}

/// What opens a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Check,
    Dump,
    Serve,
    Mount,
}

pub const KINDS: [Kind; 4] = [Kind::Check, Kind::Dump, Kind::Serve, Kind::Mount];

/// A process of one.
pub struct Running {
    child: RefCell<Ended>,
    kind: Kind,
    /// Of a mount.
    point: PathBuf,
    /// What it says is in files here.
    said: tempfile::TempDir,
}

impl Running {
    pub fn start(data: &Path, kind: Kind) -> Self {
        let said = tempfile::tempdir().unwrap();
        let point = said.path().join("mnt");
        fs::create_dir(&point).unwrap();
        let args: &[&str] = match kind {
            Kind::Check => &["check"],
            Kind::Dump => &["dump", "Tab"],
            Kind::Serve => &["serve", "--http", "127.0.0.1:0"],
            Kind::Mount => &["mount", point.to_str().unwrap()],
        };
        let file = |name: &str| Stdio::from(fs::File::create(said.path().join(name)).unwrap());
        let mut command = Command::new(DDBFS);
        command
            .args(args)
            .env("DDBFS_DATA", data)
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("err"));
        Self {
            child: RefCell::new(Ended(command.spawn().unwrap())),
            kind,
            point,
            said,
        }
    }

    pub fn said(&self, name: &str) -> String {
        fs::read_to_string(self.said.path().join(name)).unwrap()
    }

    /// Waits until it is up, or a command has done its work; else what it ended with.
    pub fn up(&self) -> Result<(), String> {
        let mut ended = None;
        until("neither up nor ended", || {
            ended = self.child.borrow_mut().0.try_wait().unwrap();
            ended.is_some()
                || match self.kind {
                    Kind::Check | Kind::Dump => false,
                    Kind::Serve => self.said("out").contains('\n'),
                    Kind::Mount => self.point.join("Tab").exists(),
                }
        });
        match ended.map(|status| status.code()) {
            None | Some(Some(0)) => Ok(()),
            Some(Some(1)) => Err(self.said("err") + &self.said("out")),
            Some(_) => panic!("{:?} ended with {ended:?}: {}", self.kind, self.said("err")),
        }
    }

    fn ask(&self, operation: &str, body: &str) -> String {
        let out = self.said("out");
        let address = out
            .split("http://")
            .nth(1)
            .unwrap()
            .split([',', '\n'])
            .next()
            .unwrap();
        post(address, operation, body).unwrap()
    }

    fn post(&self, operation: &str, body: &str) -> String {
        let answer = self.ask(operation, body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{operation}: {answer}");
        answer
    }

    /// What a write is told; `None` of commands that write nothing.
    pub fn put(&self) -> Option<String> {
        match self.kind {
            Kind::Check | Kind::Dump => None,
            Kind::Serve => Some(self.ask(
                "PutItem",
                r#"{"TableName":"Tab","Item":{"pk":{"S":"new"}}}"#,
            )),
            Kind::Mount => Some(
                fs::write(self.point.join("Tab/items/new.json"), b"{}")
                    .unwrap_err()
                    .to_string(),
            ),
        }
    }

    /// How many items it shows; `None` of a check, which shows none.
    pub fn items(&self) -> Option<u64> {
        let count = match self.kind {
            Kind::Check => return None,
            Kind::Dump => self.said("out").lines().count(),
            Kind::Serve => {
                let answer = self.post("Scan", r#"{"TableName":"Tab","Select":"COUNT"}"#);
                answer
                    .split("\"Count\":")
                    .nth(1)
                    .unwrap()
                    .split(',')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap()
            }
            Kind::Mount => fs::read_dir(self.point.join("Tab/items")).unwrap().count(),
        };
        Some(count as u64)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.kind == Kind::Mount {
            let _ = Command::new(DDBFS)
                .arg("umount")
                .arg(&self.point)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
    }
}

/// Each process on the directory as it was left.
fn try_processes(dir: &Path, files: &Files, expected: Outcome) -> Result<(), String> {
    for kind in KINDS {
        write(dir, files);
        let running = Running::start(dir, kind);
        match (running.up(), expected) {
            (Ok(()), UpTo(last)) if running.items().is_none_or(|items| items == last) => {}
            (Err(text), Refused(words))
                if text.contains(words.trim_matches('"')) && !text.contains("panicked") => {}
            (Ok(()), _) => return Err(format!("{kind:?}: {:?} items", running.items())),
            (Err(text), _) => return Err(format!("{kind:?}: {text}")),
        }
        drop(running);
        refused_is_unchanged(dir, files, expected);
    }
    Ok(())
}

#[test]
fn no_process_opens_what_is_damaged_or_older() {
    assert_eq!(wrong(&killed_served(), try_processes), "");
}

/// The commands themselves, on a damaged log: what each says, and with the flag.
#[test]
fn every_command_refuses_a_damaged_log_and_salvages_it_when_told_to() {
    let mut mount = Mount::with_samples();
    for age in 1..6 {
        mount.ok(&format!(
            "echo '{{\"Age\":{age}}}' > Pets/items/Dog/Rex{age}.json"
        ));
    }
    mount.kill();
    let data = mount.data();
    // Truncated: an end that no power cut leaves.
    fs::File::options()
        .write(true)
        .open(data.join("log.1"))
        .unwrap()
        .set_len(512)
        .unwrap();
    let point = tempfile::tempdir().unwrap();
    let at = point.path().to_str().unwrap();
    let commands: [&[&str]; 4] = [
        &["check"],
        &["dump", "Pets"],
        &["serve", "--http", "127.0.0.1:0"],
        &["mount", at],
    ];
    let run = |args: &[&str]| {
        let output = Command::new(DDBFS)
            .args(args)
            .env("DDBFS_DATA", &data)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned()
                + &String::from_utf8_lossy(&output.stdout),
        )
    };
    for args in commands {
        let (code, text) = run(args);
        assert!(
            code == Some(1) && text.contains("log.1\" was truncated") && text.contains("--salvage"),
            "{args:?}: {text}"
        );
    }
    let (code, text) = run(&["check", "--salvage"]);
    assert!(
        code == Some(2) && text.contains("changes nothing"),
        "{text}"
    );
    let (code, text) = run(&["dump", "Pets", "--salvage"]);
    assert!(
        code == Some(0) && text.contains("Rex5") && text.contains("The files as they were are in"),
        "{text}"
    );
    let (code, text) = run(&["check"]);
    assert!(code == Some(0) && text.contains("0 differences"), "{text}");
}
