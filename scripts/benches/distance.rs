//! A mount of a service elsewhere, by how far away it is: what programs ask of it, and how long they take.
//!
//! A proxy answers each request so much later, as if the way were that long; the server is this process. Each line is a new mount.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::http::{HttpOptions, RunningServer, Server};
use ddbfs::store::memory::MemoryStore;

use super::Fallible;

#[allow(dead_code, clippy::unwrap_used, clippy::indexing_slicing)]
#[path = "../../tests/support/proxy.rs"]
mod proxy;

use proxy::{Proxy, Trouble};

/// Milliseconds to the answer.
const DISTANCES: [u64; 3] = [1, 20, 100];
/// How long a mount may take to come up.
const MOUNT_TIME_MAX: Duration = Duration::from_secs(20);
/// An account's keys; the server takes any.
const KEYS: [(&str, &str); 4] = [
    ("AWS_ACCESS_KEY_ID", "a"),
    ("AWS_SECRET_ACCESS_KEY", "b"),
    ("AWS_EC2_METADATA_DISABLED", "true"),
    ("LC_ALL", "C.UTF-8"),
];
/// What is done, and what it is called; `$MS` is the distance. `Bounded/items` has 200 folders of 10 items; `Big/items` folders of 200 and 2,000.
const JOBS: [(&str, &str); 23] = [
    ("ls of the mount", "ls"),
    ("ls -l of 200 items", "ls -l Big/items/some"),
    ("ls -l of 2,000", "ls -l Big/items/many"),
    ("cat folder/* of 200", "cat Big/items/some/*"),
    ("cat folder/* of 2,000", "cat Big/items/many/*"),
    (
        "cat of 8 files of one folder, not listed",
        "cat Big/items/some/{1001,1002,1003,1004,1005,1006,1007,1008}.json",
    ),
    (
        "cat of a file of each of 8 folders",
        "cat Small/items/{1,2,3,4,5,6,7,8}/11.json",
    ),
    (
        "the same, 8 at a time",
        "echo {1,2,3,4,5,6,7,8} | xargs -n 1 -P 8 sh -c 'cat Small/items/$0/11.json'",
    ),
    ("jq . folder/* of 200", "jq -c . Big/items/some/*"),
    ("tar of a folder of 2,000", "tar -cf - -C Big/items many"),
    ("tar of 200 folders of 10", "tar -cf - -C Small items"),
    ("grep -r in them", "grep -r nothing Small/items || true"),
    ("find of them", "find Small/items -name 11.json"),
    ("find -type f", "find Small/items -type f"),
    ("cat items/*/*", "cat Small/items/*/*"),
    (
        "cp -r of 100 files into the mount",
        "mkdir -p Big/items/new$MS; cp -r \"$SCRATCH\"/new/. Big/items/new$MS/",
    ),
    (
        "the same, 8 at a time",
        "mkdir -p Big/items/newer$MS; ls \"$SCRATCH\"/new | xargs -P 8 -I {} cp \"$SCRATCH\"/new/{} Big/items/newer$MS/",
    ),
    (
        "tar -x of 100 files",
        "tar -C \"$SCRATCH\" -cf - new | tar -C Big/items --transform s/new/tarred$MS/ -xf -",
    ),
    (
        "cp of 100 files, -o writeback",
        "mkdir -p Big/items/newest$MS; cp \"$SCRATCH\"/new/* Big/items/newest$MS/",
    ),
    ("rm -r of 100", "rm -r Big/items/rm$MS"),
    (
        "mv of 20",
        "for n in {1..20}; do mv Big/items/mv$MS/$n.json Big/items/mv$MS/$((n+1000)).json; done",
    ),
    (
        "cat of a file of each of 50 folders",
        "for n in {1..50}; do cat Small/items/$n/11.json; done",
    ),
    (
        "200 lines into batch/put, each by itself",
        "exec 3> Big/batch/put; for n in {1..200}; do echo \"{\\\"pk\\\":\\\"lines$MS\\\",\\\"sk\\\":$n}\" >&3; done; exec 3>&-",
    ),
];

/// Prints the table. `only`: jobs whose name has this in it.
pub fn distance(only: Option<&str>) -> Fallible<()> {
    let scratch = tempfile::tempdir()?;
    std::fs::create_dir(scratch.path().join("new"))?;
    for n in 0..100 {
        std::fs::write(scratch.path().join(format!("new/{n}.json")), "{\"a\":1}")?;
    }
    let server = Server::start(
        HttpOptions::new("127.0.0.1:0".parse()?),
        Arc::new(database()?),
    )?;
    fill(&server)?;
    let heads: String = DISTANCES
        .iter()
        .fold(String::new(), |heads, ms| heads + &format!(" {ms} ms |"));
    println!(
        "| a service so far away: seconds | requests |{heads}\n|---|---|{}",
        "---|".repeat(DISTANCES.len())
    );
    for (name, script) in JOBS
        .iter()
        .filter(|(name, _)| only.is_none_or(|only| name.contains(only)))
    {
        let (mut row, mut asked) = (String::new(), String::new());
        for ms in DISTANCES {
            let options = if name.ends_with("-o writeback") {
                "rw,writeback"
            } else {
                "rw"
            };
            let (seconds, operations) = job(
                &server,
                Duration::from_millis(ms),
                script,
                scratch.path(),
                options,
            )?;
            write!(row, " {seconds:.2} |")?;
            asked = operations;
        }
        println!("| {name} | {asked} |{row}");
    }
    server.shutdown();
    Ok(())
}

fn database() -> Fallible<LocalDatabase> {
    Ok(LocalDatabase::open(
        Arc::new(MemoryStore::new()?),
        EngineOptions::default(),
    )?)
}

/// Tables and items, by the mount's own way of putting many.
fn fill(server: &RunningServer) -> Fallible<()> {
    let proxy = Proxy::before(server.local_addr());
    let mounted = Mounted::start(&proxy, "rw")?;
    let script = "mkdir Small@pk:S,sk:N Big@pk:S,sk:N
        pad=$(printf '%0300d' 0)
        for f in $(seq 200); do for n in $(seq 11 20); do echo \"{\\\"pk\\\":\\\"$f\\\",\\\"sk\\\":$n,\\\"pad\\\":\\\"$pad\\\"}\"; done; done > Small/batch/put
        for d in {rm,mv}{1,20,100}; do for n in $(seq 100); do echo \"{\\\"pk\\\":\\\"$d\\\",\\\"sk\\\":$n}\"; done; done > Big/batch/put
        for n in $(seq 1001 1200); do echo \"{\\\"pk\\\":\\\"some\\\",\\\"sk\\\":$n,\\\"pad\\\":\\\"$pad\\\"}\"; done > Big/batch/put
        for n in $(seq 1001 3000); do echo \"{\\\"pk\\\":\\\"many\\\",\\\"sk\\\":$n,\\\"pad\\\":\\\"$pad\\\"}\"; done > Big/batch/put";
    mounted.run(script, mounted.dir.path(), Duration::ZERO)
}

/// Seconds of a script on a mount of its own, and what was asked meanwhile.
fn job(
    server: &RunningServer,
    distance: Duration,
    script: &str,
    scratch: &std::path::Path,
    options: &str,
) -> Fallible<(f64, String)> {
    let proxy = Proxy::before(server.local_addr());
    let mounted = Mounted::start(&proxy, options)?;
    // What was shown to find out whether it is up is over.
    std::thread::sleep(Duration::from_millis(1_100));
    proxy.always(Some(Trouble::Late(distance)));
    proxy.take_operations();
    let begun = Instant::now();
    mounted.run(script, scratch, distance)?;
    let seconds = begun.elapsed().as_secs_f64();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    proxy
        .take_operations()
        .into_iter()
        .for_each(|operation| *counts.entry(operation).or_default() += 1);
    let said: Vec<String> = counts
        .iter()
        .map(|(operation, count)| format!("{count} {operation}"))
        .collect();
    proxy.always(None);
    Ok((seconds, said.join(", ")))
}

/// A mount by a process of its own.
struct Mounted {
    child: Child,
    dir: tempfile::TempDir,
}

impl Mounted {
    fn start(proxy: &Proxy, options: &str) -> Fallible<Self> {
        let dir = tempfile::tempdir()?;
        let point = dir.path().join("mnt");
        std::fs::create_dir(&point)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_ddbfs"));
        command
            .args([
                "mount",
                "--remote",
                "--budget",
                "none",
                "--max-rcu",
                "none",
                "--max-wcu",
                "none",
                "-o",
                options,
                "--endpoint",
                &proxy.url(),
                "--data",
            ])
            .arg(dir.path().join("data"));
        let child = command
            .envs(KEYS)
            .arg(&point)
            .stdout(Stdio::null())
            .spawn()?;
        let mounted = Self { child, dir };
        let deadline = Instant::now() + MOUNT_TIME_MAX;
        while !point.join(".ddb").exists() {
            if Instant::now() > deadline {
                return Err("the mount did not come up".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(mounted)
    }

    fn run(&self, script: &str, scratch: &std::path::Path, distance: Duration) -> Fallible<()> {
        let mut command = Command::new("bash");
        let status = command
            .args(["-ec", script])
            .current_dir(self.dir.path().join("mnt"))
            .env("SCRATCH", scratch)
            .env("MS", distance.as_millis().to_string());
        if status.stdout(Stdio::null()).status()?.success() {
            Ok(())
        } else {
            Err(format!("failed: {script}").into())
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new(env!("CARGO_BIN_EXE_ddbfs"))
            .arg("umount")
            .arg(self.dir.path().join("mnt"))
            .status();
        let _ = self.child.wait();
    }
}
