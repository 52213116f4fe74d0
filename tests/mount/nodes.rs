//! Directories that are removed, renamed, replaced and made again, by this mount and by others,
//! while a process holds them: generated moves, the same on a disk for comparison, and the results
//! by paths and through the held directories.
//!
//! On a disk a held directory is gone for good, or renamed for its holders too. The mount does the
//! same, with one difference: a folder that goes with its last item by another front end may come
//! again for its holders.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::CString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ddbfs::fs::view::ViewOptions;
use ddbfs::model::TableName;
use ddbfs::model::api::{DeleteItemRequest, DeleteTableRequest};

use super::coherence::given;
use crate::support::mounted::{self, Mount};
use crate::support::seeded::Numbers;

const FOLDERS: [&str; 3] = ["p", "q", "r"];
const FILES: [&str; 2] = ["a.json", "b.json"];
const TABLES: [&str; 2] = ["Xone", "Xtwo"];
/// The number of moves of a seed in the test suite.
const MOVES: u64 = 150;
const HELD_MAX: usize = 12;

/// A way to hold a directory.
enum Held {
    /// A descriptor of it.
    Directory(File),
    /// A process with it as its working directory.
    Standing(Child),
    /// A descriptor of a file in it.
    File(#[expect(dead_code, reason = "held")] File),
    Mapped(#[expect(dead_code, reason = "held")] Mapping),
    /// A listing that has begun.
    Listing(#[expect(dead_code, reason = "held")] fs::ReadDir),
    /// An inotify watch.
    Watched(#[expect(dead_code, reason = "held")] File),
}

struct Mapping(*mut libc::c_void);

impl Drop for Mapping {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length.
        unsafe { libc::munmap(self.0, 1) };
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Self::Standing(child) = self {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

#[allow(unsafe_code)]
fn map(file: &File) -> io::Result<Mapping> {
    // SAFETY: a new mapping of a file, which is never read.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            1,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if at == libc::MAP_FAILED {
        Err(io::Error::last_os_error())
    } else {
        Ok(Mapping(at))
    }
}

#[allow(unsafe_code)]
fn watch(path: &Path) -> io::Result<File> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: a new descriptor, and a C string that lives through the call.
    unsafe {
        let descriptor = libc::inotify_init1(libc::IN_CLOEXEC);
        let file = File::from_raw_fd(descriptor);
        let watch = libc::inotify_add_watch(descriptor, path.as_ptr(), libc::IN_ALL_EVENTS);
        if watch < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(file)
        }
    }
}

impl Held {
    const KINDS: u64 = 7;

    fn of(kind: u64, directory: &Path) -> io::Result<Self> {
        let open = |flags: libc::c_int| {
            OpenOptions::new()
                .read(true)
                .custom_flags(flags)
                .open(directory)
        };
        let file = || {
            let first = fs::read_dir(directory)?
                .next()
                .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?;
            File::open(first?.path())
        };
        // Two kinds need only the name, which may be of a directory that is gone: a stat detects
        // that.
        fs::metadata(directory)?;
        Ok(match kind {
            0 => Self::Directory(open(libc::O_DIRECTORY)?),
            1 => Self::Directory(open(libc::O_DIRECTORY | libc::O_PATH)?),
            2 => Self::Standing(
                Command::new("sleep")
                    .arg("1000")
                    .current_dir(directory)
                    .stdin(Stdio::null())
                    .spawn()?,
            ),
            3 => Self::File(file()?),
            4 => Self::Mapped(map(&file()?)?),
            5 => Self::Listing(fs::read_dir(directory)?),
            _ => Self::Watched(watch(directory)?),
        })
    }

    /// Returns a path to the directory that is independent of its name.
    fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Directory(file) => Some(format!("/proc/self/fd/{}", file.as_raw_fd()).into()),
            Self::Standing(child) => Some(format!("/proc/{}/cwd", child.id()).into()),
            _ => None,
        }
    }

    /// Returns what the holder finds in it.
    fn seen(&self) -> Option<Seen> {
        let path = self.path()?;
        // By fstat of a link of /proc, which is never looked up anew.
        let links = fs::metadata(&path)
            .unwrap_or_else(|error| panic!("fstat of what is held: {error}"))
            .nlink();
        if links > 0 {
            return Some(seen(&path));
        }
        let made = File::create(path.join("c.json")).map(drop);
        let below = fs::metadata(path.join("a.json")).map(drop);
        Some(Err([made, below]
            .map(|found| found.unwrap_err().raw_os_error().unwrap())
            .to_vec()))
    }
}

/// Names, and the value of each; the errors of a directory that does not exist.
type Seen = Result<BTreeMap<String, u64>, Vec<i32>>;

fn seen(directory: &Path) -> Seen {
    let code = |error: io::Error| vec![error.raw_os_error().unwrap()];
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(code)? {
        let entry = entry.unwrap();
        let text = fs::read_to_string(directory.join(entry.file_name()));
        let text = text
            .unwrap_or_else(|error| panic!("{}: listed, and then {error}", entry.path().display()));
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        found.insert(
            entry.file_name().into_string().unwrap(),
            json["v"].as_u64().unwrap(),
        );
    }
    Ok(found)
}

fn errno<T>(done: io::Result<T>) -> Result<(), i32> {
    done.map(drop)
        .map_err(|error| error.raw_os_error().unwrap())
}

/// The mount, the disk for comparison, and the held directories of both.
struct Field<'a> {
    mount: &'a Mount,
    disk: PathBuf,
    items: PathBuf,
    numbers: Numbers,
    /// Holders on the disk, and of the mount.
    held: Vec<(Held, Held)>,
    /// Holders of the mount that are compared with nothing.
    silent: Vec<Held>,
    value: u64,
    /// The items of the tables that exist.
    tables: BTreeMap<&'static str, BTreeSet<String>>,
}

impl Field<'_> {
    fn both(&self, what: &str, call: impl Fn(&Path) -> io::Result<()>) {
        let (disk, mount) = (errno(call(&self.disk)), errno(call(&self.items)));
        assert_eq!(mount, disk, "{what}: the mount's answer, and the disk's");
    }

    /// Makes one move; returns its description.
    fn step(&mut self) -> String {
        let (folder, other) = (self.numbers.one(&FOLDERS), self.numbers.one(&FOLDERS));
        let (file, to) = (self.numbers.one(&FILES), self.numbers.one(&FILES));
        self.value += 1;
        let text = format!("{{\"v\":{}}}\n", self.value);
        match self.numbers.below(20) {
            0..3 => self.told(format!("mkdir {folder}"), |at| {
                DirBuilder::new().create(at.join(folder))
            }),
            3 | 4 => self.told(format!("rmdir {folder}"), |at| {
                fs::remove_dir(at.join(folder))
            }),
            5 => self.told(format!("rm -r {folder}"), |at| {
                fs::remove_dir_all(at.join(folder))
            }),
            6 => {
                self.told(format!("rm -r {folder}"), |at| {
                    fs::remove_dir_all(at.join(folder))
                });
                self.told(format!("mkdir {folder} at once"), |at| {
                    DirBuilder::new().create(at.join(folder))
                })
            }
            7..10 if folder != other => self.rename(folder, other),
            10 | 11 => self.told(format!("write {folder}/{file}"), |at| {
                fs::write(at.join(folder).join(file), &text)
            }),
            12 => self.told(format!("rm {folder}/{file}"), |at| {
                fs::remove_file(at.join(folder).join(file))
            }),
            13 if (folder, file) != (other, to) => self
                .told(format!("mv {folder}/{file} {other}/{to}"), |at| {
                    fs::rename(at.join(folder).join(file), at.join(other).join(to))
                }),
            14 => self.put(folder, file),
            15 => self.delete(folder, file),
            16 => self.table(),
            _ => self.hold(folder),
        }
    }

    fn told(&self, what: String, call: impl Fn(&Path) -> io::Result<()>) -> String {
        self.both(&what, call);
        what
    }

    /// Renames a folder, which keeps its inode number, as on a disk.
    fn rename(&self, from: &str, to: &str) -> String {
        let before = fs::metadata(self.items.join(from)).map(|found| found.ino());
        let what = self.told(format!("mv -T {from} {to}"), |at| {
            fs::rename(at.join(from), at.join(to))
        });
        if let (Ok(before), Err(_)) = (before, fs::metadata(self.items.join(from))) {
            assert_eq!(
                fs::metadata(self.items.join(to)).unwrap().ino(),
                before,
                "{what}"
            );
        }
        what
    }

    /// Puts an item by another front end, which makes the folder too.
    fn put(&self, folder: &str, file: &str) -> String {
        let sk = file.strip_suffix(".json").unwrap();
        mounted::put(
            &*self.mount.db,
            "Orders",
            &format!(r#"{{"pk":"{folder}","sk":"{sk}","v":{}}}"#, self.value),
        );
        fs::create_dir_all(self.disk.join(folder)).unwrap();
        fs::write(
            self.disk.join(folder).join(file),
            format!("{{\"v\":{}}}\n", self.value),
        )
        .unwrap();
        format!("PutItem {folder}/{file}")
    }

    /// Deletes an item by another front end: the folder may go with the last one.
    fn delete(&mut self, folder: &str, file: &str) -> String {
        let sk = file.strip_suffix(".json").unwrap();
        let key = ddbfs::codec::plain_json::parse(
            format!(r#"{{"pk":"{folder}","sk":"{sk}"}}"#).as_bytes(),
        )
        .unwrap();
        self.mount
            .db
            .delete_item(DeleteItemRequest::new(
                TableName::new("Orders").unwrap(),
                key,
            ))
            .unwrap();
        let _ = fs::remove_file(self.disk.join(folder).join(file));
        if let (Ok(gone), Err(_)) = (
            fs::metadata(self.disk.join(folder)),
            fs::metadata(self.items.join(folder)),
        ) {
            let is_of = |held: &Held| {
                held.path()
                    .is_none_or(|path| fs::metadata(path).unwrap().ino() == gone.ino())
            };
            let held = self.held.extract_if(.., |(disk, _)| is_of(disk));
            self.silent.extend(held.map(|(_, mount)| mount));
            fs::remove_dir(self.disk.join(folder)).unwrap();
        }
        format!("DeleteItem {folder}/{file}")
    }

    fn hold(&mut self, folder: &str) -> String {
        let kind = self.numbers.below(Held::KINDS);
        match (
            Held::of(kind, &self.disk.join(folder)),
            Held::of(kind, &self.items.join(folder)),
        ) {
            (Ok(disk), Ok(mount)) => self.held.push((disk, mount)),
            (disk, mount) => assert_eq!(errno(mount), errno(disk), "hold {folder} by {kind}"),
        }
        if self.held.len() > HELD_MAX {
            let at = self.numbers.below(self.held.len() as u64) as usize;
            self.held.swap_remove(at);
        }
        self.silent
            .drain(..self.silent.len().saturating_sub(HELD_MAX));
        format!("hold {folder} by {kind}")
    }

    // ---- tables, which no disk has
    // -------------------------------------------------------------------------------------------------

    fn table(&mut self) -> String {
        let table = TABLES[self.numbers.below(2) as usize];
        let at = self.mount.path().join(table);
        let key = format!("k{}", self.numbers.below(2));
        let file = at.join("items").join(&key).with_extension("json");
        match (self.numbers.below(8), self.tables.get_mut(table)) {
            (0..3, None) => {
                fs::create_dir(self.mount.path().join(format!("{table}@id:S"))).unwrap();
                self.tables.insert(table, BTreeSet::new());
                format!("mkdir {table}@id:S")
            }
            (_, None) => {
                mounted::create_table(&*self.mount.db, &mounted::FLAT.replace("Flat", table));
                self.tables.insert(table, BTreeSet::new());
                format!("CreateTable {table}")
            }
            (0, Some(items)) => {
                let removed = fs::remove_dir(&at).is_ok();
                assert_eq!(removed, items.is_empty(), "rmdir {table}");
                if removed {
                    self.tables.remove(table);
                }
                format!("rmdir {table}")
            }
            (1, Some(_)) => {
                fs::write(at.join("ctl"), "drop").unwrap();
                self.tables.remove(table);
                format!("drop {table}")
            }
            (2, Some(_)) => {
                let request = DeleteTableRequest {
                    table_name: TableName::new(table).unwrap(),
                    only_if_empty: false,
                };
                self.mount.db.delete_table(request).unwrap();
                self.tables.remove(table);
                format!("DeleteTable {table}")
            }
            (3, Some(items)) => {
                assert_eq!(
                    fs::remove_file(&file).is_ok(),
                    items.remove(&key),
                    "rm {}",
                    file.display()
                );
                format!("rm {table} {key}")
            }
            (4, Some(items)) => {
                fs::write(&file, "{\"v\":1}").unwrap();
                items.insert(key);
                format!("write to {table}")
            }
            (_, Some(_)) => {
                let below = self.numbers.one(&["", "items", "gsi", "queries"]);
                let kind = self.numbers.below(3);
                self.silent.push(Held::of(kind, &at.join(below)).unwrap());
                format!("hold {table}/{below} by {kind}")
            }
        }
    }

    fn check_table(&self, table: &str) {
        let at = self.mount.path().join(table);
        let names = |path: &Path| -> BTreeSet<String> {
            fs::read_dir(path)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect()
        };
        let Some(items) = self.tables.get(table) else {
            assert!(
                fs::read_dir(&at).is_err() && fs::metadata(at.join("schema.json")).is_err(),
                "{table} is there"
            );
            return;
        };
        assert!(names(&at).contains("schema.json"), "{table} is empty");
        assert!(!fs::read(at.join("schema.json")).unwrap().is_empty());
        assert_eq!(
            names(&at.join("items")),
            items.iter().map(|key| format!("{key}.json")).collect()
        );
        // An index directory that comes and goes with the table, and by itself.
        let draft = at.join("gsi/by-x");
        let held = fs::create_dir(&draft)
            .and_then(|()| Held::of(0, &draft))
            .unwrap();
        fs::remove_dir(&draft).unwrap();
        fs::create_dir(&draft).unwrap();
        assert!(
            names(&draft).contains("schema.json"),
            "{table}/gsi/by-x is empty"
        );
        fs::remove_dir(&draft).unwrap();
        drop(held);
    }

    // ---- checks
    // --------------------------------------------------------------------------------------------------------------------

    fn check(&self) {
        for folder in FOLDERS {
            assert_eq!(
                seen(&self.items.join(folder)),
                seen(&self.disk.join(folder)),
                "{folder}: the mount's, and the disk's"
            );
        }
        for (disk, mount) in &self.held {
            assert_eq!(
                mount.seen(),
                disk.seen(),
                "held: the mount's, and the disk's"
            );
        }
        let mut numbers = HashSet::new();
        for entry in fs::read_dir(&self.items).unwrap() {
            let entry = entry.unwrap();
            let found = fs::metadata(entry.path()).unwrap();
            assert_eq!(
                entry.ino(),
                found.ino(),
                "d_ino and st_ino of {}",
                entry.path().display()
            );
            assert!(numbers.insert(found.ino()), "two directories of one number");
        }
        TABLES.iter().for_each(|table| self.check_table(table));
    }
}

/// Reads everything by its path, so that replies are under way while directories go and come.
fn look_on(items: &Path, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        for folder in FOLDERS {
            let path = items.join(folder);
            let _ = fs::metadata(path.join("a.json"));
            let _ = File::open(&path).and_then(|held| held.metadata());
            let _ = fs::read_dir(&path).map(|names| {
                names
                    .flatten()
                    .filter(|entry| entry.metadata().is_ok())
                    .count()
            });
        }
    }
}

struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn moves(seed: u64, moves: u64) {
    let db = mounted::memory();
    mounted::create_table(&*db, mounted::ORDERS);
    let mount = Mount::with(
        db,
        ViewOptions {
            last_writer_wins: true,
            ..ViewOptions::default()
        },
    );
    let disk = tempfile::tempdir_in("/dev/shm").unwrap();
    let items = mount.path().join("Orders/items");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _ending = Ending(&is_over);
        // Every other seed without other readers.
        if !seed.is_multiple_of(2) {
            scope.spawn(|| look_on(&items, &is_over));
        }
        let (disk, items) = (disk.path().to_owned(), items.clone());
        let (numbers, held, silent, tables) =
            (Numbers(seed), Vec::new(), Vec::new(), BTreeMap::new());
        let mut field = Field {
            mount: &mount,
            disk,
            items,
            numbers,
            held,
            silent,
            value: 0,
            tables,
        };
        let mut history: Vec<String> = Vec::new();
        for _ in 0..moves {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                history.push(field.step());
                field.check();
            }));
            if let Err(failure) = done {
                eprintln!(
                    "seed {seed}, after {:#?}",
                    &history[history.len().saturating_sub(25)..]
                );
                std::panic::resume_unwind(failure);
            }
        }
    });
    mount.end();
}

/// Checks that an open directory is listed under its new name when its reader begins anew, as `ls`
/// in a shell with that working directory does.
#[test]
fn an_open_directory_that_is_renamed_lists_what_is_in_it() {
    let mount = Mount::with_tables();
    let script = "import os\nfd = os.open(\"q\", os.O_RDONLY)\nprint(os.listdir(fd))\nos.rename(\"q\", \"s\")\nprint(os.listdir(fd))\n\
        os.mkdir(\"q\")\nprint(os.listdir(fd), os.listdir(\"q\"))\n";
    let ran = mount.sh(&format!(
        "cd Orders/items && mkdir q && echo '{{}}' > q/a.json && python3 -c '{script}'"
    ));
    assert_eq!(ran.ok(), "['a.json']\n['a.json']\n['a.json'] []\n");
}

#[test]
fn directories_made_again_are_alive_for_all_and_what_is_held_is_as_on_a_disk() {
    let seed = given("DDBFS_TORTURE_SEED", 13);
    (seed..seed + 3).for_each(|seed| moves(seed, MOVES));
}

/// rsync sets the times of a folder while another of its processes makes the first file there.
#[test]
fn a_folder_is_there_for_everybody_while_it_gets_its_first_item() {
    let db = mounted::memory();
    mounted::create_table(&*db, mounted::ORDERS);
    let mount = Mount::with(db, ViewOptions::default());
    let at = |number: u64| mount.path().join(format!("Orders/items/f{number}"));
    let (made, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let _ending = Ending(&is_over);
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let number = made.load(Ordering::SeqCst);
                    if number > 0
                        && let Err(error) = File::open(at(number))
                    {
                        panic!("folder {number}: {error}");
                    }
                }
            });
        }
        for number in 1..=500 {
            fs::create_dir(at(number)).unwrap();
            made.store(number, Ordering::SeqCst);
            fs::write(at(number).join("a.json"), "{}").unwrap();
        }
    });
    mount.end();
}

/// Checks the folders of a table that is made again: a process that holds an old one keeps the
/// kernel's name of it, which the kernel does not move while others rename.
#[test]
fn the_folders_of_a_table_that_is_made_again_are_others() {
    let db = mounted::memory();
    mounted::create_table(&*db, mounted::ORDERS);
    let mount = Mount::with(db, ViewOptions::default());
    let at = |path: &str| mount.path().join(path);
    let (one, other) = (at("Orders/items/p/a.json"), at("Orders/items/q/a.json"));
    ["Orders/items/p", "Orders/items/q"]
        .iter()
        .for_each(|folder| fs::create_dir(at(folder)).unwrap());
    fs::write(&one, "{}").unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _ending = Ending(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                fs::rename(&one, &other)
                    .and_then(|()| fs::rename(&other, &one))
                    .unwrap();
            }
        });
        let mut all_held: Vec<File> = Vec::new();
        for _ in 0..20 {
            mounted::create_table(&*mount.db, mounted::FLAT);
            for folder in ["Flat/items", "Flat/gsi", "Flat/queries"] {
                let found =
                    fs::metadata(at(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
                assert!(
                    all_held
                        .iter()
                        .all(|held| held.metadata().unwrap().ino() != found.ino()),
                    "{folder}: as before"
                );
                all_held.push(File::open(at(folder)).unwrap());
            }
            fs::remove_dir(at("Flat")).unwrap();
            assert!(
                all_held
                    .iter()
                    .all(|held| held.metadata().unwrap().nlink() == 0)
            );
        }
    });
    mount.end();
}

/// Runs the scene of `scripts/torture`, for `DDBFS_TORTURE_SECONDS`.
#[test]
#[ignore = "scripts/torture"]
fn for_hours() {
    let (mut seed, until) = (
        given("DDBFS_TORTURE_SEED", 13),
        Instant::now() + Duration::from_secs(given("DDBFS_TORTURE_SECONDS", 600)),
    );
    let mut rounds = 0;
    while Instant::now() < until {
        moves(seed, MOVES * 10);
        (seed, rounds) = (seed + 1, rounds + 1);
    }
    println!(
        "{} moves of directories, {rounds} seeds",
        rounds * MOVES * 10
    );
}
