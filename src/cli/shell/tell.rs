//! What `.ddb/errors/last` of each mount says after a command, told once. A mount that does not answer is left to the process that asked it,
//! and is not asked again before that has ended: it costs one prompt a moment, and the others nothing.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Instant;

use crate::cli::outcome::{print, warn};
use crate::cli::prelude::*;
use crate::cli::reader::{Reader, is_waiting, user};
use crate::codec::digest::{digest, hex};
use crate::fuse;

/// How long all mounts together may take.
const PATIENCE: Duration = Duration::from_millis(300);
const LAST: &str = ".ddb/errors/last";
/// Before the id of a process that still waits.
const WAITING: &str = "@";
/// After that id: a command failed of which nothing could be heard.
const FAILED: &str = "x";
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
            Some(last) if waiting(last).and_then(|(id, _)| id.parse().ok()).is_some_and(is_waiting) => {
                known.push(format!("{name}={}", not_heard(Some(last), status, None)));
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
                let (state, is_told) = heard(last, status, failure, id);
                known.push(format!("{name}={state}"));
                if is_told {
                    warn(failure);
                }
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                known.push(format!("{name}={}", not_heard(last, status, Some(reader.leave()))));
            }
            // A dead mount, or none any more.
            Err(_) => {}
        }
    }
    print(known.join(" ").as_bytes())?;
    Ok(Outcome::Done)
}

/// The process that waits, and whether a command failed meanwhile.
fn waiting(state: &str) -> Option<(&str, bool)> {
    let id = state.strip_prefix(WAITING)?;
    Some(id.strip_suffix(FAILED).map_or((id, false), |id| (id, true)))
}

/// The state of a mount that has not answered: who waits for it now, if another than before.
fn not_heard(last: Option<&str>, status: Option<i32>, process: Option<u32>) -> String {
    let (before, has_failed) = last.and_then(waiting).unwrap_or_default();
    let failed = if has_failed || status.is_some_and(|status| status != 0) { FAILED } else { "" };
    let process = process.map_or_else(|| before.to_owned(), |process| process.to_string());
    format!("{WAITING}{process}{failed}")
}

/// The state of a mount that has answered, and whether its failure is told. What could not be heard after the command that failed is told
/// after the next, whose own end does not matter then.
fn heard(last: Option<&str>, status: Option<i32>, failure: &str, id: String) -> (String, bool) {
    let (waited, Some(status)) = (last.and_then(waiting), status) else {
        return (last.filter(|last| waiting(last).is_some()).map_or(id, str::to_owned), false);
    };
    let has_failed = status != 0 || waited.is_some_and(|(_, failed)| failed);
    let is_news = !failure.is_empty() && last != Some(id.as_str());
    (id, is_news && (has_failed || WRITES.iter().any(|call| failure.starts_with(call))))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_after_a_command_that_failed_also_if_it_was_not_heard_then() {
        let check = |last: &str, status: Option<i32>, failure: &str, expected: (&str, bool)| {
            let (state, is_told) = heard(Some(last), status, failure, "new".to_owned());
            assert_eq!((state.as_str(), is_told), expected, "{last} {status:?} {failure}");
        };
        check("old", Some(1), "open x", ("new", true));
        check("old", Some(0), "open x", ("new", false));
        check("old", Some(0), "write x", ("new", true));
        check("new", Some(1), "open x", ("new", false));
        check("old", None, "write x", ("new", false));
        check("@7", Some(0), "open x", ("new", false));
        check("@7x", Some(0), "open x", ("new", true));
        check("@7x", None, "open x", ("@7x", false));
        assert_eq!(not_heard(None, Some(1), Some(8)), "@8x");
        assert_eq!(not_heard(Some("@7x"), Some(0), Some(8)), "@8x");
        assert_eq!(not_heard(Some("@7"), Some(1), None), "@7x");
        assert_eq!(not_heard(Some("old"), Some(0), Some(8)), "@8");
    }
}
