//! The mount, a file system in memory on fuser, and this machine's own file system, doing the same.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ddbfs::store::Durability;

use super::{Fallible, Scale, in_memory, rate, scratch_dir, thousands};

/// The first argument of this program when it is the file system in memory: then the mount point, then how many files.
pub const IN_MEMORY: &str = "in-memory";
/// How long a mount may take to come up.
const MOUNT_TIME_MAX: Duration = Duration::from_secs(20);
/// Of the files in the small directory that are read one by one.
const READ_FILES: u64 = 1_000;
const CLIENTS: [usize; 2] = [1, 4];

/// Returns the program that is measured: the one of this build, or `PROGRAM`.
pub fn program() -> OsString {
    std::env::var_os("PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_ddbfs").into())
}

/// A mount by a process of its own.
pub struct Mounted {
    child: Child,
    pub point: PathBuf,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new(program())
            .arg("umount")
            .arg(&self.point)
            .stderr(Stdio::null())
            .status();
        // That refuses what is not ddbfs.
        let _ = Command::new("umount")
            .arg(&self.point)
            .stderr(Stdio::null())
            .status();
        let _ = self.child.wait();
    }
}

impl Mounted {
    /// Starts it and waits until `sign` is there.
    fn start(command: &mut Command, point: PathBuf, sign: &str) -> Fallible<Self> {
        let mounted = Self {
            child: command.arg(&point).stdout(Stdio::null()).spawn()?,
            point,
        };
        let deadline = Instant::now() + MOUNT_TIME_MAX;
        while !mounted.point.join(sign).exists() {
            if Instant::now() > deadline {
                return Err("the mount did not come up".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(mounted)
    }

    pub fn ddbfs(scale: &Scale, dir: &Path) -> Fallible<Self> {
        let mut command = Command::new(program());
        command.arg("mount").arg("--data").arg(dir.join("data"));
        if scale.durability == Durability::Kill {
            command.arg("-odurability=kill");
        }
        Self::start(&mut command, dir.join("mnt"), "README.md")
    }

    pub fn in_memory(dir: &Path, count: u64) -> Fallible<Self> {
        let point = dir.join(format!("in-memory{count}"));
        fs::create_dir_all(&point)?;
        let mut command = Command::new(std::env::current_exe()?);
        Self::start(
            command.args([IN_MEMORY, &count.to_string()]),
            point,
            "plain",
        )
    }

    /// Seconds of processor time that the daemon has taken.
    pub fn cpu(&self) -> Fallible<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name of the program before it may contain anything.
        let (_, fields) = stat.rsplit_once(')').ok_or("no name")?;
        let ticks: u64 = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|ticks| ticks.parse().unwrap_or(0_u64))
            .sum();
        // `USER_HZ` is 100 everywhere.
        Ok(ticks as f64 / 100.0)
    }

    /// Megabytes of the daemon: all that is resident, and what of it is its own and not the mapped database.
    fn memory(&self) -> Fallible<(f64, f64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let megabytes = |name: &str| -> Fallible<f64> {
            let line = status
                .lines()
                .find(|line| line.starts_with(name))
                .ok_or("no such line")?;
            Ok(line
                .split_whitespace()
                .nth(1)
                .ok_or("no figure")?
                .parse::<f64>()?
                / 1024.0)
        };
        Ok((megabytes("VmRSS:")?, megabytes("RssAnon:")?))
    }
}

/// This program as the file system in memory, until it is unmounted.
pub fn serve_in_memory(args: &[String]) -> Fallible<()> {
    let [_, count, point] = args else {
        return Err("in-memory COUNT DIRECTORY".into());
    };
    Ok(in_memory::serve(Path::new(point), count.parse()?, body(0))?)
}

/// The same directory on each.
struct Places {
    ours: PathBuf,
    plain: PathBuf,
    kept: PathBuf,
    own: PathBuf,
}

impl Places {
    /// A row: the same everywhere.
    fn compare(&self, name: &str, operation: &dyn Fn(&Path) -> Fallible<f64>) -> Fallible<()> {
        let [ours, plain, kept, own] = [
            operation(&self.ours)?,
            operation(&self.plain)?,
            operation(&self.kept)?,
            operation(&self.own)?,
        ];
        let (of_memory, of_own) = (ours / plain, ours / own);
        let [ours, plain, kept, own] = [ours, plain, kept, own].map(thousands);
        println!("| {name} | {ours} | {plain} | {kept} | {own} | {of_memory:.2} | {of_own:.2} |");
        Ok(())
    }
}

/// A row of what the file system in memory does not do.
fn compare(name: &str, ours: f64, own: f64) {
    println!(
        "| {name} | {} | | | {} | | {:.2} |",
        thousands(ours),
        thousands(own),
        ours / own
    );
}

/// The table of the mount's operations, and the daemon's memory.
pub fn mount(scale: &Scale) -> Fallible<()> {
    let dir = tempfile::tempdir_in(scratch_dir()?)?;
    let own = dir.path().join("own");
    for name in ["mnt", "own", "own/new", "own/small", "own/large"] {
        fs::create_dir(dir.path().join(name))?;
    }
    println!(
        "\n| mount operation, 300-byte files | ddbfs a second | in memory on fuser, 1 s TTL | the same, pages kept | this machine's file system | ddbfs to in memory | ddbfs to this machine's |\n|---|---|---|---|---|---|---|"
    );
    let mounted = Mounted::ddbfs(scale, dir.path())?;
    for table in ["New", "Small", "Large"] {
        fs::create_dir(mounted.point.join(format!("{table}@pk:S")))?;
    }
    writes(scale, &mounted.point.join("New/items"), &own.join("new"))?;
    for (table, own, count) in [
        ("Small", "own/small", scale.small_listing),
        ("Large", "own/large", scale.listing),
    ] {
        load(dir.path(), table, &dir.path().join(own), count)?;
    }
    drop(mounted);
    // Nobody else has the data directory open.
    let mounted = Mounted::ddbfs(scale, dir.path())?;
    let small = Mounted::in_memory(dir.path(), scale.small_listing)?;
    let large = Mounted::in_memory(dir.path(), scale.listing)?;
    let places = |table: &str, of_fuser: &Mounted, directory: &str| Places {
        ours: mounted.point.join(table).join("items"),
        plain: of_fuser.point.join("plain"),
        kept: of_fuser.point.join("kept"),
        own: own.join(directory),
    };
    for clients in CLIENTS {
        reads(scale, &places("Small", &small, "small"), clients)?;
    }
    walks(scale, &places("Large", &large, "large"))?;
    drop((mounted, small, large));
    memory(scale, dir.path())
}

pub fn body(n: u64) -> String {
    format!(r#"{{"n":{n},"text":"{}"}}"#, "x".repeat(275))
}

fn writes(scale: &Scale, ours: &Path, own: &Path) -> Fallible<()> {
    let fsynced = timed_files(scale, own, "fsynced", true, 1)?;
    let durable = timed_files(scale, ours, "new", false, 1)?;
    compare(
        "create + write + close",
        durable,
        timed_files(scale, own, "new", false, 1)?,
    );
    compare("the same, file system with fsync", durable, fsynced);
    let durable = timed_files(scale, ours, "many", false, 16)?;
    compare(
        "create + write + close, 16 clients, fsync",
        durable,
        timed_files(scale, own, "many", true, 16)?,
    );
    Ok(())
}

fn timed_files(
    scale: &Scale,
    dir: &Path,
    prefix: &str,
    fsync: bool,
    clients: usize,
) -> Fallible<f64> {
    let next = AtomicU64::new(0);
    let write = || -> std::io::Result<()> {
        let n = next.fetch_add(1, Ordering::Relaxed);
        let mut file = File::create(dir.join(format!("{prefix}{n}.json")))?;
        file.write_all(body(n).as_bytes())?;
        if fsync {
            file.sync_all()?;
        }
        Ok(())
    };
    rate(scale, clients, &write)
}

/// Items and files `list<n>.json`; ours by `ddbfs load`.
fn load(dir: &Path, table: &str, own: &Path, count: u64) -> Fallible<()> {
    let file = dir.join("load.ndjson");
    let mut lines = std::io::BufWriter::new(File::create(&file)?);
    for n in 0..count {
        writeln!(lines, r#"{{"pk":"list{n}",{}"#, &body(n)[1..])?;
        fs::write(own.join(format!("list{n}.json")), body(n))?;
    }
    lines.flush()?;
    let mut command = Command::new(program());
    command
        .arg("load")
        .arg("--data")
        .arg(dir.join("data"))
        .arg(table)
        .arg(&file);
    run(command.stderr(Stdio::null()))
}

pub fn run(command: &mut Command) -> Fallible<()> {
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {status}").into())
    }
}

/// What is done to the small directory again and again.
fn reads(scale: &Scale, places: &Places, clients: usize) -> Fallible<()> {
    let of = if clients == 1 {
        String::new()
    } else {
        format!(", {clients} clients")
    };
    places.compare(&format!("stat, again and again{of}"), &|dir| {
        each_file(scale, clients, &|n| {
            fs::metadata(dir.join(format!("list{n}.json"))).map(drop)
        })
    })?;
    places.compare(&format!("stat of a missing name{of}"), &|dir| {
        // An error is what is measured.
        each_file(scale, clients, &|n| {
            fs::metadata(dir.join(format!("missing{n}.json")))
                .map(drop)
                .or(Ok(()))
        })
    })?;
    places.compare(&format!("open + read + close{of}"), &|dir| {
        each_file(scale, clients, &|n| {
            let mut text = [0; 1024];
            File::open(dir.join(format!("list{n}.json")))?
                .read(&mut text)
                .map(drop)
        })
    })?;
    let count = thousands(scale.small_listing);
    let again = |walk: fn(&Path) -> std::io::Result<u64>| {
        move |dir: &Path| -> Fallible<f64> {
            assert_eq!(walk(dir)?, scale.small_listing);
            Ok(rate(scale, clients, &|| walk(dir).map(drop))? * scale.small_listing as f64)
        }
    };
    places.compare(
        &format!("list {count} again and again, names{of}"),
        &again(names),
    )?;
    places.compare(
        &format!("list and stat {count} again and again, entries{of}"),
        &again(stats),
    )
}

/// One of the files that are read, in turn.
fn each_file(
    scale: &Scale,
    clients: usize,
    operation: &(dyn Fn(u64) -> std::io::Result<()> + Sync),
) -> Fallible<f64> {
    let next = AtomicU64::new(0);
    rate(scale, clients, &|| {
        operation(next.fetch_add(1, Ordering::Relaxed) % READ_FILES.min(scale.small_listing))
    })
}

fn names(dir: &Path) -> std::io::Result<u64> {
    fs::read_dir(dir)?.try_fold(0, |count, entry| entry.map(|_| count + 1))
}

fn stats(dir: &Path) -> std::io::Result<u64> {
    fs::read_dir(dir)?.try_fold(0, |count, entry| entry?.metadata().map(|_| count + 1))
}

/// What is done to the large directory once.
fn walks(scale: &Scale, places: &Places) -> Fallible<()> {
    let count = thousands(scale.listing);
    let once = |walk: &dyn Fn(&Path) -> Fallible<()>, dir: &Path| {
        let started = Instant::now();
        walk(dir)?;
        Ok(scale.listing as f64 / started.elapsed().as_secs_f64())
    };
    let whole = |found: std::io::Result<u64>| -> Fallible<()> {
        let found = found?;
        if found == scale.listing {
            Ok(())
        } else {
            Err(format!("{found} of {} entries", scale.listing).into())
        }
    };
    places.compare(&format!("list {count}, names"), &|dir| {
        once(&|dir| whole(names(dir)), dir)
    })?;
    places.compare(&format!("list and stat {count}, entries"), &|dir| {
        once(&|dir| whole(stats(dir)), dir)
    })?;
    places.compare(
        &format!("`ls -l --color=always` of {count}, entries"),
        &|dir| once(&ls, dir),
    )?;
    places.compare(&format!("`tar` of {count}, items"), &|dir| once(&tar, dir))
}

fn ls(dir: &Path) -> Fallible<()> {
    run(Command::new("ls")
        .args(["-l", "--color=always"])
        .arg(dir)
        .env("LC_ALL", "C"))
}

fn tar(dir: &Path) -> Fallible<()> {
    // tar does not read what goes to /dev/null directly.
    run(Command::new("sh")
        .args(["-c", "tar -C \"$0\" -cf - . | cat"])
        .arg(dir))
}

/// What a daemon that has just begun takes after the whole large table was looked at, and read.
fn memory(scale: &Scale, dir: &Path) -> Fallible<()> {
    let mounted = Mounted::ddbfs(scale, dir)?;
    let items = mounted.point.join("Large/items");
    println!(
        "\n| memory of the daemon, {} items, MB | resident | of these its own |\n|---|---|---|",
        thousands(scale.listing)
    );
    let print = |name: &str| -> Fallible<()> {
        let (resident, own) = mounted.memory()?;
        println!("| {name} | {resident:.0} | {own:.0} |");
        Ok(())
    };
    print("mounted")?;
    run(Command::new("find").arg(&items).args(["-size", "+100k"]))?;
    print("after `find -size`")?;
    tar(&items)?;
    print("after `tar`")
}
