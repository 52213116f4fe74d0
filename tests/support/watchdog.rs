//! A watchdog of threads that call a mount: when one of them gets no reply for too long it reports
//! where all threads wait, and aborts the mount's connection, since a call that waits in the kernel
//! cannot be killed.

use super::wait::moment;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The maximum time of a call, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(30);
const PERIOD: Duration = Duration::from_millis(200);
/// Time limit for the inspection of processes.
const LOOKING: Duration = Duration::from_secs(5);
const CONNECTIONS: &str = "/sys/fs/fuse/connections";

/// A watched thread: it beats at each call, and rests while it waits for other events.
#[derive(Debug)]
pub struct Pulse {
    name: String,
    id: u64,
    beats: AtomicU64,
    rests: AtomicBool,
}

impl Pulse {
    pub fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
        self.rests.store(false, Ordering::Relaxed);
    }

    /// Stops the watch until the next beat.
    pub fn rest(&self) {
        self.rests.store(true, Ordering::Relaxed);
    }
}

/// The watched threads and processes.
#[derive(Debug, Default)]
struct Watched {
    next: AtomicU64,
    pulses: Mutex<Vec<Arc<Pulse>>>,
    /// The daemons.
    processes: Mutex<Vec<u32>>,
    found: Mutex<Option<String>>,
    ends: AtomicBool,
}

/// A running watchdog; it watches until it is dropped.
#[derive(Debug)]
pub struct Watchdog {
    watched: Arc<Watched>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts a watchdog of the mount at `point`.
    pub fn new(point: &Path) -> Self {
        // Done now, since a process that has files of the mount open may not be able to start
        // another when it hangs.
        if let Err(error) = mount_connections() {
            eprintln!("no connection can be aborted: {error}");
        }
        let watched = Arc::<Watched>::default();
        let (of_thread, point) = (Arc::clone(&watched), point.to_owned());
        let thread = std::thread::spawn(move || of_thread.watch(&point));
        Self {
            watched,
            thread: Some(thread),
        }
    }

    pub fn pulse(&self, name: impl Into<String>) -> Arc<Pulse> {
        let id = self.watched.next.fetch_add(1, Ordering::Relaxed);
        let pulse = Arc::new(Pulse {
            name: name.into(),
            id,
            beats: AtomicU64::new(0),
            rests: AtomicBool::new(true),
        });
        self.watched.pulses.lock().push(Arc::clone(&pulse));
        pulse
    }

    /// Removes threads that have ended.
    pub fn forget_those_at_rest(&self) {
        self.watched
            .pulses
            .lock()
            .retain(|pulse| !pulse.rests.load(Ordering::Relaxed));
    }

    /// Sets the current daemons.
    pub fn processes(&self, ids: &[u32]) {
        *self.watched.processes.lock() = ids.to_vec();
    }

    /// Returns its report, if it found a hang.
    pub fn found(&self) -> Option<String> {
        self.watched.found.lock().clone()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.watched.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Watched {
    fn watch(&self, point: &Path) {
        let mut last: HashMap<u64, (u64, Instant)> = HashMap::new();
        while !self.ends.load(Ordering::Relaxed) {
            moment(PERIOD);
            let pulses = self.pulses.lock().clone();
            for pulse in &pulses {
                let (beats, since) = last.entry(pulse.id).or_insert((u64::MAX, Instant::now()));
                let now = pulse.beats.load(Ordering::Relaxed);
                if now != *beats || pulse.rests.load(Ordering::Relaxed) {
                    (*beats, *since) = (now, Instant::now());
                } else if since.elapsed() > PATIENCE {
                    return self.report(&pulse.name, point);
                }
            }
        }
    }

    fn report(&self, name: &str, point: &Path) {
        let begin = format!("{name}: no answer for {} s\n", PATIENCE.as_secs());
        eprint!("{begin}");
        let processes = [vec![std::process::id()], self.processes.lock().clone()].concat();
        // The inspection of a process may hang as well.
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for process in processes {
                let _ = sender.send(threads(process));
            }
        });
        let until = Instant::now() + LOOKING;
        let found = std::iter::from_fn(|| {
            receiver
                .recv_timeout(until.saturating_duration_since(Instant::now()))
                .ok()
        });
        let found: String = found.collect();
        let end = abort(point).map_or_else(
            |error| format!("cannot abort: {error}"),
            |()| "aborted".to_owned(),
        );
        eprintln!("{found}{end}");
        self.found
            .lock()
            .get_or_insert(format!("{begin}{found}{end}"));
    }
}

/// Returns where each thread of a process waits.
fn threads(process: u32) -> String {
    let mut text = format!("process {process}:\n");
    for task in fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let read = |file: &str| {
            fs::read_to_string(task.path().join(file))
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let _ = writeln!(
            text,
            "  {} {}: {}",
            task.file_name().display(),
            read("comm"),
            read("wchan")
        );
        for line in read("stack").lines() {
            let _ = writeln!(text, "      {line}");
        }
    }
    text
}

/// Aborts every call that waits in the mount.
fn abort(point: &Path) -> std::io::Result<()> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let wanted = point.to_string_lossy();
    for line in mounts
        .lines()
        .filter(|line| line.split(' ').nth(4) == Some(&*wanted))
    {
        let connection = line
            .split(' ')
            .nth(2)
            .and_then(|device| device.split(':').nth(1))
            .unwrap_or_default();
        fs::write(Path::new(CONNECTIONS).join(connection).join("abort"), "1")?;
    }
    Ok(())
}

/// Mounts the kernel's directory of connections, where it is absent.
pub fn mount_connections() -> std::io::Result<()> {
    if fs::read_dir(CONNECTIONS)?.next().is_none() {
        let status = Command::new("mount")
            .args(["-t", "fusectl", "fusectl", CONNECTIONS])
            .status()?;
        return if status.success() {
            Ok(())
        } else {
            Err(std::io::Error::other("no fusectl"))
        };
    }
    Ok(())
}
