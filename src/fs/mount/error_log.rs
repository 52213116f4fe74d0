//! The log of failures, for people: `.ddb/errors/last` of the reader's own session,
//! `.ddb/errors.ndjson` of all; and `.ddb/warnings.ndjson`. `view/timed_call.rs` and `open/host`
//! record failures, `special/derived.rs` shows the files.
//!
//! A session is one of `setsid`: the shells of two terminals have two, the commands of one shell
//! share its session. Memory is bounded: the last [`ENTRIES_MAX`] failures, of at most
//! [`SESSIONS_MAX`] sessions.

use std::{collections::VecDeque, sync::atomic::AtomicU64};

use crate::codec::{calendar, sanitize};
use crate::fs::{error::Errno, prelude::*};

/// The maximum number of failures kept for `errors.ndjson` (docs/filesystem.md 9).
pub const ENTRIES_MAX: usize = 1_000;
/// The maximum number of sessions with a last failure; the oldest is dropped.
pub const SESSIONS_MAX: usize = 1_000;
/// The maximum bytes of a failure's text; longer ones are cut.
const TEXT_BYTES_MAX: usize = 4 * 1024;

/// Time after a failed call in which a name that the same program does not find is attributed to
/// it, in milliseconds.
const SAME_TASK_MS: u64 = 2_000;

/// One failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCall {
    /// The call: `write`, `mkdir`.
    pub operation: &'static str,
    /// Path below the mount.
    pub path: String,
    pub errno: Errno,
    /// DynamoDB's exception if there is one, such as `ValidationException`.
    pub exception: Option<&'static str>,
    /// Lines of explanation, each with its newline.
    pub text: String,
    /// Milliseconds since the epoch.
    pub time_ms: u64,
    /// The calling thread.
    pub thread: u32,
}

/// A failed lookup, or a call that failed in a way that programs expect: a mistake, or only a
/// probe. Shown when there is no better failure.
#[derive(Debug, Clone)]
pub struct FailedLookup<E> {
    /// Inode number of the directory; or of the object of the call, without a name.
    pub parent: u64,
    pub name: String,
    /// Milliseconds since the epoch.
    pub time_ms: u64,
    /// The calling thread.
    pub thread: u32,
    /// Finds the fault of the name when the failure is read, which is rare.
    pub explain: E,
}

impl FailedCall {
    /// Creates the failure of a call that ends now, explained by this text.
    #[must_use]
    pub fn new(
        caller: Caller,
        operation: &'static str,
        path: String,
        error: &FsError,
        text: String,
    ) -> Self {
        let (errno, exception) = (error.errno(), error.exception());
        Self {
            operation,
            path,
            errno,
            exception,
            text,
            time_ms: now_ms(),
            thread: caller.pid,
        }
    }

    /// Renders `.ddb/errors/last`, at a time in milliseconds since the epoch. Its length does not
    /// depend on that time.
    #[must_use]
    pub fn render(&self, now_ms: u64) -> String {
        let exception = self
            .exception
            .map(|word| format!(" {word}"))
            .unwrap_or_default();
        let mut out = format!(
            "{} {}: {:?}{exception}\n",
            self.operation,
            sanitize::line(&self.path, TEXT_BYTES_MAX),
            self.errno
        );
        for line in self.text.lines() {
            if !line.starts_with("  ") {
                out.push_str("  ");
            }
            out.push_str(&sanitize::line(line, TEXT_BYTES_MAX));
            out.push('\n');
        }
        cut(&mut out);
        out.push_str(&format!(
            "  {}, {:>6} ago\n",
            calendar::iso(self.time_ms),
            age(now_ms.saturating_sub(self.time_ms))
        ));
        out
    }

    fn render_line(&self) -> String {
        let mut text = self.text.clone();
        cut(&mut text);
        let line = serde_json::json!({
            "time": calendar::iso(self.time_ms),
            "time_ms": self.time_ms,
            "operation": self.operation,
            "path": self.path,
            "errno": format!("{:?}", self.errno),
            "exception": self.exception,
            "text": text,
        });
        sanitize::json(&format!("{line}\n"))
    }
}

impl<E> FailedLookup<E> {
    /// True if the name was not found after that failure, and not by the next calls of the failed
    /// program. A shell runs one command after another.
    fn is_unrelated(&self, failed: &FailedCall, session: u32) -> bool {
        let is_shell = self.thread == session;
        let is_same_program = self.thread == failed.thread && !is_shell;
        self.time_ms >= failed.time_ms
            && !(is_same_program && self.time_ms - failed.time_ms < SAME_TASK_MS)
    }
}

/// Returns a span of time in its largest unit.
fn age(ms: u64) -> String {
    match ms / 1000 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..86_400 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

fn cut(text: &mut String) {
    if text.len() > TEXT_BYTES_MAX {
        let mut end = TEXT_BYTES_MAX;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('\n');
    }
}

#[derive(Debug)]
struct ErrorLogState<E> {
    all: VecDeque<FailedCall>,
    /// Warnings: path, sentence, milliseconds since the epoch.
    warnings: VecDeque<(String, String, u64)>,
    /// The last failure of each session.
    last: TtlMap<u32, FailedCall, SESSIONS_MAX>,
    /// The last failed lookup of each session.
    lookups: TtlMap<u32, FailedLookup<E>, SESSIONS_MAX>,
}

impl<E> Default for ErrorLogState<E> {
    fn default() -> Self {
        Self {
            all: VecDeque::new(),
            warnings: VecDeque::new(),
            last: TtlMap::default(),
            lookups: TtlMap::default(),
        }
    }
}

/// The log of failures and warnings; see the module.
#[derive(Debug)]
pub struct ErrorLog<E> {
    state: Mutex<ErrorLogState<E>>,
    /// Number of failures recorded so far, with the dropped ones.
    count: AtomicU64,
}

impl<E> Default for ErrorLog<E> {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            count: AtomicU64::default(),
        }
    }
}

impl<E: Clone> ErrorLog<E> {
    /// Appends a failure that follows from another one, which stays the last of its session.
    pub fn append(&self, failed: FailedCall) {
        let mut state = self.state.lock();
        if state.all.len() == ENTRIES_MAX {
            state.all.pop_front();
        }
        state.all.push_back(failed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of failures recorded so far: for [`ErrorLog::has_new`].
    pub fn recorded_count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// True if a failure of this thread was recorded after the first `since` ones.
    pub fn has_new(&self, thread: u32, since: u64) -> bool {
        let state = self.state.lock();
        let new = usize::try_from(self.recorded_count() - since).unwrap_or(usize::MAX);
        state
            .all
            .iter()
            .rev()
            .take(new)
            .any(|failed| failed.thread == thread)
    }

    /// Records a failure of a session.
    pub fn record(&self, session: u32, failed: FailedCall) {
        // The mutex is locked twice, not nested. Between the two the failure is in the list and not
        // yet the session's last, which no reader can tell.
        self.append(failed.clone());
        self.state.lock().last.insert(session, failed, now_ms());
    }

    /// Records sentences about a call that succeeded.
    pub fn warn(&self, path: &str, sentences: Vec<String>) {
        for sentence in sentences {
            log::info!("{path}: {sentence}");
            let mut state = self.state.lock();
            if state.warnings.len() == ENTRIES_MAX {
                state.warnings.pop_front();
            }
            state
                .warnings
                .push_back((path.to_owned(), sentence, now_ms()));
        }
    }

    /// Forgets all but the last failure of each session.
    pub fn clear(&self) {
        let mut state = self.state.lock();
        state.all.clear();
        state.warnings.clear();
    }

    /// Renders `.ddb/warnings.ndjson`, the oldest first.
    #[must_use]
    pub fn warnings(&self) -> String {
        let state = self.state.lock();
        let lines = state.warnings.iter().map(|(path, sentence, time_ms)| {
            let line = serde_json::json!({"time_ms": time_ms, "path": path, "text": sentence});
            sanitize::json(&format!("{line}\n"))
        });
        lines.collect()
    }

    /// Records a failed lookup of a session.
    pub fn record_lookup(&self, session: u32, lookup: FailedLookup<E>) {
        self.state.lock().lookups.insert(session, lookup, now_ms());
    }

    /// Forgets failed lookups of a name that was made: the program that looked it up was about to
    /// make it, or needs no report any more.
    pub fn forget_lookups(&self, parent_ino: u64, name: &[u8]) {
        let mut state = self.state.lock();
        if !state.lookups.is_empty() {
            state.lookups.extract_if(|_, missed| {
                missed.parent == parent_ino && missed.name.as_bytes() == name
            });
        }
    }

    /// Renders `.ddb/errors/last` for a session, at a time in milliseconds since the epoch; empty
    /// when nothing failed.
    #[must_use]
    pub fn last(
        &self,
        session: u32,
        now_ms: u64,
        explain: impl FnOnce(&FailedLookup<E>) -> Option<FailedCall>,
    ) -> String {
        let (failed, missed) = {
            let state = self.state.lock();
            (
                state.last.get(&session, now_ms).cloned(),
                state.lookups.get(&session, now_ms).cloned(),
            )
        };
        let missed = missed.filter(|missed| {
            failed
                .as_ref()
                .is_none_or(|failed| missed.is_unrelated(failed, session))
        });
        // Explained without the lock: that reads the database.
        let sentence = missed.and_then(|missed| explain(&missed)).or(failed);
        sentence
            .map(|failed| failed.render(now_ms))
            .unwrap_or_default()
    }

    /// Renders the last failure of a session, if it was of a call on this path.
    #[must_use]
    pub fn last_at(&self, session: u32, path: &str, now_ms: u64) -> Option<String> {
        self.state
            .lock()
            .last
            .get(&session, now_ms)
            .filter(|failed| failed.path == path)
            .map(|failed| failed.render(now_ms))
    }

    /// Renders `.ddb/errors.ndjson`, the oldest first.
    #[must_use]
    pub fn all(&self) -> String {
        self.state
            .lock()
            .all
            .iter()
            .map(FailedCall::render_line)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(path: &str) -> FailedCall {
        FailedCall {
            operation: "write",
            path: path.to_owned(),
            errno: Errno::EINVAL,
            exception: Some("ValidationException"),
            text: "  {\"status\":open}\n            ^ expected a JSON value at byte 10\nhint: strings need quotes.\n".to_owned(),
            time_ms: 1_767_323_045_678,
            thread: 1,
        }
    }

    fn last(journal: &ErrorLog<()>, session: u32) -> String {
        journal.last(session, 1_767_323_045_678 + 12_000, |_| None)
    }

    #[test]
    fn ages() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3599, "59 min"),
            (3600, "1 h"),
            (200_000, "2 d"),
        ] {
            assert_eq!(age(seconds * 1000), expected);
        }
    }

    #[test]
    fn the_last_failure_reads_as_the_contract_shows_it() {
        let journal = ErrorLog::<()>::default();
        journal.record(7, failed("Orders/items/u1/o1.json"));
        let expected = "write Orders/items/u1/o1.json: EINVAL ValidationException\n  {\"status\":open}\n            ^ expected a JSON value at byte 10\n  hint: strings need quotes.\n  2026-01-02T03:04:05.678Z,   12 s ago\n";
        assert_eq!(last(&journal, 7), expected);
    }

    #[test]
    fn sessions_never_see_each_other() {
        let journal = ErrorLog::<()>::default();
        journal.record(7, failed("a"));
        assert_eq!(last(&journal, 8), "");
        assert_eq!(journal.all().lines().count(), 1);
    }

    #[test]
    fn memory_is_bounded_and_the_newest_stay() {
        let journal = ErrorLog::<()>::default();
        for session in 0..3_000 {
            journal.record(session, failed(&format!("p{session}")));
        }
        assert_eq!(journal.all().lines().count(), ENTRIES_MAX);
        assert_eq!(last(&journal, 0), "");
        assert!(last(&journal, 2_999).starts_with("write p2999: "));
    }

    #[test]
    fn control_bytes_are_shown_not_sent() {
        let journal = ErrorLog::<()>::default();
        journal.record(1, failed("a\u{1b}[2Jb"));
        assert!(last(&journal, 1).starts_with("write a\\u{1b}[2Jb: "));
    }
}
