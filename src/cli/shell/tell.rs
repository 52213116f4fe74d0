//! What `.ddb/errors/last` of each mount says after a command, told once. A mount that does not answer is left to the process that asked it,
//! and is not asked again before that has ended: it costs one prompt a moment, and the others nothing.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cli::outcome::{CliError, Outcome, print, warn};
use crate::cli::reader::{Reader, is_waiting, user};
use crate::codec::digest::{digest, hex};
use crate::fuse;

/// How long all mounts together may take.
const PATIENCE: Duration = Duration::from_millis(300);
const LAST: &str = ".ddb/errors/last";
/// Before the id of a process that still waits.
const WAITING: &str = "@";
/// Calls that are told of also when the command succeeded: a write that was refused is never part of what a program only tries.
const WRITES: [&str; 3] = ["write ", "close ", "fsync "];

/// Tells on standard error what is new since `told`, what this printed the time before, and prints what is known now. `status` is that of
/// the command; `None` tells nothing, as what is looked for while a command is typed is no failure of it.
pub fn run(told: &str, status: Option<i32>) -> Result<Outcome, CliError> {
    let before: HashMap<&str, &str> = told.split(' ').filter_map(|word| word.split_once('=')).collect();
    let user = user().map_err(CliError::io("cannot read who this process runs as"))?;
    let mounts = fuse::mounts().map_err(CliError::io("cannot read the list of mounts"))?;
    let mut known = Vec::new();
    let mut asked = Vec::new();
    for mount in mounts.into_iter().filter(|mount| mount.is_open_to(user)) {
        let name = hex(&digest(mount.path.as_os_str().as_bytes()));
        match before.get(name.as_str()).copied() {
            Some(waits) if waits.strip_prefix(WAITING).and_then(|id| id.parse().ok()).is_some_and(is_waiting) => {
                known.push(format!("{name}={waits}"));
            }
            last => asked.extend(ask(mount.path).map(|reader| (name, last, reader))),
        }
    }
    // All were asked at once.
    let until = Instant::now() + PATIENCE;
    for (name, last, reader) in asked {
        match reader.answer(until.saturating_duration_since(Instant::now())) {
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                let (failure, id) = without_age(&text);
                // What could not be heard after the command is told after the next.
                if status.is_some() || !last.is_some_and(|last| last.starts_with(WAITING)) {
                    known.push(format!("{name}={id}"));
                }
                let is_news = !failure.is_empty() && last != Some(id.as_str());
                let is_failure = |status| status != 0 || WRITES.iter().any(|call| failure.starts_with(call));
                if is_news && status.is_some_and(is_failure) {
                    warn(failure);
                }
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => known.push(format!("{name}={WAITING}{}", reader.leave())),
            // A dead mount, or none any more.
            Err(_) => {}
        }
    }
    print(known.join(" ").as_bytes())?;
    Ok(Outcome::Done)
}

fn ask(mountpoint: PathBuf) -> Option<Reader> {
    let mut reader = Reader::start().ok()?;
    reader.ask(&mountpoint.join(LAST)).ok()?;
    Some(reader)
}

/// The lines of a failure without the last, which has its time, and what tells the failure from others: all but the age, which moves.
fn without_age(text: &str) -> (&str, String) {
    let timed = text.rsplit_once(',').map_or(text, |(timed, _)| timed);
    (timed.rsplit_once('\n').map_or("", |(lines, _)| lines), hex(&digest(timed.as_bytes())))
}
