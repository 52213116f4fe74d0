//! First looks: programs on a mount that has just begun, over one folder of items and over folders of one item each. The same on a file
//! system in memory on fuser with the same tree, and on this machine's own with nothing of it in the caches of names and inodes.
//!
//! The data itself is in memory everywhere: the table's pages are in the page cache, and so are the files of the machine's own.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::mount::{Mounted, body, program, run};
use super::requests::{Counter, Requests, request_names};
use super::{Fallible, Scale, scratch_dir, thousands};

/// A command is repeated until it took this long, three times at most; its best time counts.
const ENOUGH: Duration = Duration::from_secs(5);
const ROUNDS_MAX: usize = 3;
/// Of how many of the items `cp -r` copies one.
const FEW: u64 = 10;
/// Items that are written and then looked at.
const WRITTEN: u64 = 2_000;
const WRITTEN_ROUNDS: usize = 5;
const LOOKS: usize = 4;
/// How long a daemon may go on after a command, with its answers to RELEASE for instance.
const SETTLE_MAX: Duration = Duration::from_secs(3);

/// Name, the program that must be installed, and what a shell runs in the directory. A search that finds nothing ends with status 1.
const COMMANDS: [[&str; 3]; 13] = [
    ["`du -s`", "du", "du -s ."],
    ["`find -size +1`", "find", "find . -size +1"],
    ["`find -type f`", "find", "find . -type f"],
    ["`ls`", "ls", "ls"],
    ["`ls -l --color=always`", "ls", "ls -l --color=always"],
    ["`ls -lR`", "ls", "ls -lR"],
    ["`grep -rl`", "grep", "grep -rl absent . || [ $? -eq 1 ]"],
    ["`rg -l`", "rg", "rg -l absent . || [ $? -eq 1 ]"],
    ["`tar` to a pipe", "tar", "tar -cf - . | cat"],
    [
        "`find -print0`, `xargs cat`",
        "find",
        "find . -type f -print0 | xargs -0 cat",
    ],
    ["`rsync -an`", "rsync", "rsync -an ./ \"$EMPTY/\""],
    [GIT, "git", "git status --porcelain"],
    [COPY, "cp", "cp -r . \"$COPY\""],
];
const GIT: &str = "`git status`";
const COPY: &str = "`cp -r`, of a tenth";
/// Makes an index with the attributes of all files, and a commit of it without their contents.
const MAKE_INDEX: &str = "git init -q && find . -type f -printf '%P\\n' | git update-index --add --info-only --stdin &&
    git update-ref HEAD \"$(git -c user.name=a -c user.email=a@b commit-tree -m all \"$(git write-tree --missing-ok)\")\"";

#[derive(Clone, Copy, PartialEq)]
enum System {
    Ddbfs,
    Memory,
    Disk,
}

const SYSTEMS: [(System, &str); 3] = [
    (System::Ddbfs, "ddbfs"),
    (System::Memory, "memory"),
    (System::Disk, "disk"),
];

/// The trees: all items in one folder, or each in a folder of its own. Each with the name of its table, and of its directory elsewhere.
const TREES: [(&str, &str); 2] = [("Folder", "plain"), ("Folders", "tree")];

/// Returns the path of an item in its tree, and its line for `ddbfs load`.
fn item(tree: usize, n: u64) -> (String, String) {
    let rest = &body(n)[1..];
    if tree == 0 {
        (
            format!("list{n}.json"),
            format!(r#"{{"pk":"list{n}",{rest}"#),
        )
    } else {
        (
            format!("list{n}/a.json"),
            format!(r#"{{"pk":"list{n}","sk":"a",{rest}"#),
        )
    }
}

/// What a command took.
struct Measured {
    time: Duration,
    /// Seconds of the daemon's processor time, the least.
    cpu: f64,
    requests: Requests,
}

struct Bench<'s> {
    scale: &'s Scale,
    dir: &'s Path,
    counter: Option<Counter>,
    systems: Vec<(System, &'static str)>,
    only: String,
}

/// Prints the tables. `only` is part of the names of the rows that are measured, `systems` names what is measured.
pub fn look(scale: &Scale, only: Option<&String>, systems: Option<&String>) -> Fallible<()> {
    let dir = tempfile::tempdir_in(scratch_dir()?)?;
    let counter = Counter::new(&dir.path().join("tracing"))
        .inspect_err(|error| println!("Requests are not counted: {error}."))
        .ok();
    let bench = Bench {
        scale,
        dir: dir.path(),
        counter,
        systems: SYSTEMS
            .into_iter()
            .filter(|(_, name)| systems.is_none_or(|systems| systems.contains(name)))
            .collect(),
        only: only.cloned().unwrap_or_default(),
    };
    for name in ["mnt", "memory", "empty"] {
        fs::create_dir(bench.dir.join(name))?;
    }
    bench.fill()?;
    bench.commands()?;
    bench.after_a_write()
}

impl Bench<'_> {
    fn has(&self, system: System) -> bool {
        self.systems.iter().any(|(one, _)| *one == system)
    }

    fn is_wanted(&self, row: &str) -> bool {
        row.contains(&self.only)
    }

    /// Fills the tables and the directories of this machine's own file system.
    fn fill(&self) -> Fallible<()> {
        let few = if self.is_wanted(COPY) { "Few" } else { "" };
        let sizes = [("", self.scale.listing), (few, self.scale.listing / FEW)];
        if self.has(System::Ddbfs) {
            let mounted = Mounted::ddbfs(self.scale, self.dir)?;
            for table in [
                "Folder@pk:S",
                "Folders@pk:S,sk:S",
                "FewFolder@pk:S",
                "FewFolders@pk:S,sk:S",
                "Written@pk:S",
            ] {
                fs::create_dir(mounted.point.join(table))?;
            }
        }
        fs::create_dir(self.dir.join("written"))?;
        for (at, (table, _)) in TREES.into_iter().enumerate() {
            for (prefix, count) in &sizes[..if few.is_empty() { 1 } else { 2 }] {
                self.fill_table(at, &format!("{prefix}{table}"), *count)?;
            }
        }
        Ok(())
    }

    fn fill_table(&self, tree: usize, table: &str, count: u64) -> Fallible<()> {
        let (lines, own) = (self.dir.join("load.ndjson"), self.dir.join(table));
        fs::create_dir(&own)?;
        let mut out = BufWriter::new(File::create(&lines)?);
        for n in 0..count {
            let (path, line) = item(tree, n);
            writeln!(out, "{line}")?;
            if self.has(System::Disk) {
                let path = own.join(path);
                if tree == 1 {
                    fs::create_dir(path.parent().ok_or("no parent")?)?;
                }
                fs::write(path, body(n))?;
            }
        }
        out.flush()?;
        if self.has(System::Ddbfs) {
            run(Command::new(program())
                .arg("load")
                .arg("--data")
                .arg(self.dir.join("data"))
                .arg(table)
                .arg(&lines)
                .stderr(Stdio::null()))?;
        }
        Ok(())
    }

    /// Begins a file system that has answered nothing yet, or drops what the kernel has of this machine's own. Returns the directory.
    fn fresh(
        &self,
        system: System,
        tree: usize,
        is_few: bool,
    ) -> Fallible<(Option<Mounted>, PathBuf)> {
        let (table, directory) = TREES[tree];
        let table = format!("{}{table}", if is_few { "Few" } else { "" });
        let count = self.scale.listing / if is_few { FEW } else { 1 };
        Ok(match system {
            System::Ddbfs => {
                let mounted = Mounted::ddbfs(self.scale, self.dir)?;
                let items = mounted.point.join(table).join("items");
                (Some(mounted), items)
            }
            System::Memory => {
                let mounted = Mounted::in_memory(&self.dir.join("memory"), count)?;
                let items = mounted.point.join(directory);
                (Some(mounted), items)
            }
            System::Disk => {
                run(&mut Command::new("sync"))?;
                fs::write("/proc/sys/vm/drop_caches", "2").map_err(|error| {
                    format!("the kernel's caches cannot be dropped (root can): {error}")
                })?;
                (None, self.dir.join(table))
            }
        })
    }

    fn shell(&self, script: &str, dir: &Path, (system, tree): (&str, usize)) -> Fallible<()> {
        let git = self.dir.join(format!("git-{system}-{tree}"));
        run(Command::new("bash")
            .args(["-o", "pipefail", "-c", script])
            .current_dir(dir)
            .env("LC_ALL", "C")
            .env("EMPTY", self.dir.join("empty"))
            .env("COPY", self.dir.join("copy"))
            .env("GIT_DIR", git)
            .env("GIT_WORK_TREE", dir)
            .env("GIT_OPTIONAL_LOCKS", "0"))
    }

    /// Runs a command on a fresh file system, again and again.
    fn measure(
        &self,
        [name, _, script]: [&str; 3],
        (system, title): (System, &str),
        tree: usize,
    ) -> Fallible<Measured> {
        let mut best = Measured {
            time: Duration::MAX,
            cpu: f64::MAX,
            requests: Requests::new(),
        };
        if name == GIT {
            let (_mounted, dir) = self.fresh(system, tree, false)?;
            self.shell(MAKE_INDEX, &dir, (title, tree))?;
        }
        let mut spent = Duration::ZERO;
        // A round of its own counts the requests, which costs a little.
        let counter = self.counter.as_ref().filter(|_| system != System::Disk);
        for round in 0..ROUNDS_MAX + 1 {
            let counter = counter.filter(|_| round == 0);
            if round == 0 && counter.is_none() {
                continue;
            }
            if spent > ENOUGH {
                break;
            }
            let (mounted, dir) = self.fresh(system, tree, name == COPY)?;
            let before = self.settled_cpu(mounted.as_ref())?;
            if let (Some(counter), Some(mounted)) = (counter, &mounted) {
                counter.begin(&mounted.point)?;
            }
            let started = Instant::now();
            self.shell(script, &dir, (title, tree))?;
            let time = started.elapsed();
            let cpu = self.settled_cpu(mounted.as_ref())? - before;
            if let Some(counter) = counter {
                best.requests = counter.end()?;
            } else {
                best.time = best.time.min(time);
                best.cpu = best.cpu.min(cpu);
                spent += time;
            }
            let _ = fs::remove_dir_all(self.dir.join("copy"));
        }
        Ok(best)
    }

    /// Returns the processor time of a daemon once it takes no more.
    fn settled_cpu(&self, mounted: Option<&Mounted>) -> Fallible<f64> {
        let Some(mounted) = mounted else {
            return Ok(0.0);
        };
        let (started, mut cpu) = (Instant::now(), mounted.cpu()?);
        while started.elapsed() < SETTLE_MAX {
            std::thread::sleep(Duration::from_millis(60));
            let now = mounted.cpu()?;
            if now <= cpu {
                break;
            }
            cpu = now;
        }
        Ok(cpu)
    }

    fn commands(&self) -> Fallible<()> {
        let items = thousands(self.scale.listing);
        println!(
            "\n| first look, {items} items, seconds | one folder: ddbfs | memory | disk | to memory | to disk | {items} folders: ddbfs | memory | disk | to memory | to disk |\n|---|---|---|---|---|---|---|---|---|---|---|"
        );
        let (mut costs, mut requests) = (String::new(), String::new());
        for command in COMMANDS {
            let [name, tool, _] = command;
            if !self.is_wanted(name) {
                continue;
            }
            if !is_installed(tool) {
                println!("| {name} | {tool} is not installed |");
                continue;
            }
            print!("| {name} |");
            let _ = write!(costs, "| {name} |");
            let count = self.scale.listing / if name == COPY { FEW } else { 1 };
            for tree in 0..TREES.len() {
                let mut measured = [None, None, None];
                for system in &self.systems {
                    measured[system.0 as usize] = Some(self.measure(command, *system, tree)?);
                }
                print!("{}", times(&measured));
                std::io::stdout().flush()?;
                costs += &of_daemons(&measured, count);
                requests += &by_name(&measured, name, tree, count);
            }
            println!();
            costs.push('\n');
        }
        println!(
            "\n| of the daemon, an item | one folder: ddbfs, CPU µs | memory | ddbfs, requests | memory | folders: ddbfs, CPU µs | memory | ddbfs, requests | memory |\n|---|---|---|---|---|---|---|---|---|\n{costs}"
        );
        let names: Vec<&str> = request_names().collect();
        println!(
            "| requests an item | in | of | {} |\n|---|---|---|{}\n{requests}",
            names.join(" | "),
            "---|".repeat(names.len())
        );
        Ok(())
    }

    /// Prints how many files a second are looked at after they were written, at the first look, at the second and so on.
    fn after_a_write(&self) -> Fallible<()> {
        let name = format!("stat after a write, {} files", thousands(WRITTEN));
        if !self.is_wanted(&name) {
            return Ok(());
        }
        println!(
            "| {name}, a second | first | second | third | fourth | second to disk |\n|---|---|---|---|---|---|"
        );
        let mounted = self
            .has(System::Ddbfs)
            .then(|| Mounted::ddbfs(self.scale, self.dir))
            .transpose()?;
        for (what, is_new) in [("made", true), ("written anew", false)] {
            let disk = looks(&self.dir.join("written"), is_new)?;
            if let Some(mounted) = &mounted {
                let ours = looks(&mounted.point.join("Written/items"), is_new)?;
                print_looks(&format!("ddbfs, {what}"), ours, disk);
            }
            print_looks(&format!("disk, {what}"), disk, disk);
        }
        Ok(())
    }
}

fn is_installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin"));
    std::env::split_paths(&path).any(|dir| dir.join(tool).is_file())
}

/// Returns the cells of times: of each system, and of ddbfs to the others.
fn times(measured: &[Option<Measured>; 3]) -> String {
    let seconds = |at: usize| measured[at].as_ref().map(|one| one.time.as_secs_f64());
    let mut out = String::new();
    for at in 0..3 {
        let _ = write!(out, " {} |", cell(seconds(at)));
    }
    for other in [1, 2] {
        let ratio = seconds(0)
            .zip(seconds(other))
            .map(|(ours, other)| ours / other);
        let _ = write!(out, " {} |", cell(ratio));
    }
    out
}

fn cell(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| {
        if value >= 10.0 {
            format!("{value:.1}")
        } else {
            format!("{value:.2}")
        }
    })
}

fn of_daemons(measured: &[Option<Measured>; 3], count: u64) -> String {
    let daemons = &measured[..2];
    let mut out = String::new();
    for one in daemons {
        let cpu = one.as_ref().map(|one| one.cpu * 1e6 / count as f64);
        let _ = write!(out, " {} |", cell(cpu));
    }
    for one in daemons {
        let all = one.as_ref().map(|one| {
            one.requests.iter().map(|(_, count)| count).sum::<u64>() as f64 / count as f64
        });
        let _ = write!(out, " {} |", cell(all));
    }
    out
}

/// Returns lines with the requests of a command by their names, one for each daemon.
fn by_name(measured: &[Option<Measured>; 3], name: &str, tree: usize, count: u64) -> String {
    let place = ["one folder", "folders"][tree];
    let mut out = String::new();
    for (one, (_, system)) in measured[..2].iter().zip(SYSTEMS) {
        let Some(one) = one else {
            continue;
        };
        let _ = write!(out, "| {name} | {place} | {system} |");
        for column in request_names() {
            let requests = one.requests.iter().find(|(name, _)| *name == column);
            let each = requests.map(|(_, requests)| *requests as f64 / count as f64);
            let _ = write!(out, " {} |", cell(each.filter(|each| *each >= 0.005)));
        }
        out.push('\n');
    }
    out
}

type Looks = [f64; LOOKS];

/// Writes files, new ones or those that are there, and looks at all of them, again and again. Returns the best rates a second.
fn looks(dir: &Path, is_new: bool) -> Fallible<Looks> {
    let mut best = [0.0; LOOKS];
    for round in 0..WRITTEN_ROUNDS {
        let first = if is_new { round as u64 * WRITTEN } else { 0 };
        let path = |n: u64| dir.join(format!("list{}.json", first + n));
        for n in 0..WRITTEN {
            fs::write(path(n), body(n + round as u64))?;
        }
        for look in &mut best {
            let started = Instant::now();
            for n in 0..WRITTEN {
                fs::metadata(path(n))?;
            }
            *look = f64::max(*look, WRITTEN as f64 / started.elapsed().as_secs_f64());
        }
    }
    Ok(best)
}

fn print_looks(name: &str, looks: Looks, disk: Looks) {
    print!("| {name} |");
    for look in looks {
        print!(" {} |", thousands(look));
    }
    println!(" {:.2} |", looks[1] / disk[1]);
}
