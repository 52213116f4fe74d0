//! What `.ddb/accesslog` and `.ddb/slowlog.ndjson` show: every call as it ends, for who reads it at that time; the last ones that took long.

use crate::codec::calendar;
use crate::codec::shown::{self, is_shown};
use crate::fs::prelude::*;
use crate::fs::recent::Seldom;
use std::{collections::VecDeque, sync::Weak};

/// A call that takes as long is slow.
pub const SLOW: Duration = Duration::from_millis(100);
/// Slow calls kept.
const SLOW_MAX: usize = 1_000;
/// Lines that wait for a reader of the log who is slower than the calls.
pub const AHEAD_BYTES_MAX: usize = 1024 * 1024;

/// A call that has ended.
#[derive(Debug)]
pub struct Ended {
    pub time_ms: u64,
    pub pid: u32,
    pub operation: &'static str,
    pub path: String,
    /// `OK` or the errno's name.
    pub result: &'static str,
    pub took: Duration,
}

impl Ended {
    /// Time, process, operation, path, result, microseconds; tabs between.
    fn line(&self) -> String {
        let path: String =
            self.path.chars().flat_map(|c| if is_shown(c) { vec![c] } else { c.escape_default().collect() }).collect();
        let (time, micros) = (calendar::iso(self.time_ms), self.took.as_micros());
        format!("{time}\t{}\t{}\t{path}\t{}\t{micros}\n", self.pid, self.operation, self.result)
    }

    fn json(&self) -> String {
        let line = json!({
            "time": calendar::iso(self.time_ms),
            "pid": self.pid,
            "operation": self.operation,
            "path": self.path,
            "result": self.result,
            "us": u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX),
        });
        shown::json(&format!("{line}\n"))
    }
}

/// Lines for one reader of the access log.
#[derive(Debug, Default)]
pub struct Ahead {
    lines: Mutex<(Vec<u8>, u64)>,
}

impl Ahead {
    fn add(&self, line: &str) {
        let mut lines = self.lines.lock();
        if lines.0.len() + line.len() > AHEAD_BYTES_MAX {
            lines.1 += 1;
        } else {
            lines.0.extend_from_slice(line.as_bytes());
        }
    }

    /// The next lines, or a part of one.
    pub fn take(&self, size: usize) -> Option<Vec<u8>> {
        let mut lines = self.lines.lock();
        let count = size.min(lines.0.len());
        let taken: Vec<u8> = lines.0.drain(..count).collect();
        if lines.0.is_empty() && lines.1 > 0 {
            let left_out = std::mem::take(&mut lines.1);
            lines.0.extend_from_slice(format!("# {left_out} calls left out: they came faster than they were read\n").as_bytes());
        }
        (!taken.is_empty()).then_some(taken)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Calls {
    /// Readers of the access log.
    readers: Seldom<Vec<Weak<Ahead>>>,
    slow: Mutex<VecDeque<Ended>>,
}

impl Calls {
    /// Does anybody read the access log?
    pub fn is_watched(&self) -> bool {
        !self.readers.is_empty()
    }

    /// Begins to keep lines for a reader, until that is dropped.
    pub fn watch(&self) -> Arc<Ahead> {
        let ahead = Arc::new(Ahead::default());
        self.readers.change(|readers| readers.push(Arc::downgrade(&ahead)));
        ahead
    }

    /// A call has ended.
    pub fn note(&self, ended: Ended) {
        if self.is_watched() {
            // Made once for all readers, and not at all without any.
            let line = ended.line();
            self.readers.change(|readers| readers.retain(|reader| reader.upgrade().map(|ahead| ahead.add(&line)).is_some()));
        }
        if ended.took >= SLOW {
            let mut slow = self.slow.lock();
            if slow.len() == SLOW_MAX {
                slow.pop_front();
            }
            slow.push_back(ended);
        }
    }

    /// The slow calls, the oldest first, a line of JSON each.
    pub fn slow_lines(&self) -> String {
        self.slow.lock().iter().map(Ended::json).collect()
    }

    /// Forgets the slow calls.
    pub fn clear(&self) {
        self.slow.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(path: &str, took: Duration) -> Ended {
        Ended { time_ms: 0, pid: 7, operation: "read", path: path.to_owned(), result: "OK", took }
    }

    #[test]
    fn a_reader_gets_each_call_and_hears_of_those_left_out() {
        let calls = Calls::default();
        calls.note(ended("before", Duration::ZERO));
        let ahead = calls.watch();
        assert!(calls.is_watched() && ahead.take(10).is_none());
        calls.note(ended("a\tb", Duration::from_micros(12)));
        let line = "1970-01-01T00:00:00.000Z\t7\tread\ta\\tb\tOK\t12\n";
        assert_eq!(ahead.take(usize::MAX).map(|text| String::from_utf8(text).unwrap()).as_deref(), Some(line));
        (0..30_000).for_each(|_| calls.note(ended("x", Duration::ZERO)));
        let taken = ahead.take(usize::MAX).unwrap().len();
        assert!(taken <= AHEAD_BYTES_MAX);
        assert!(ahead.take(usize::MAX).unwrap().starts_with(b"# "));
        calls.note(ended("\u{1b}]0;x\u{9b}\u{202e}", SLOW));
        let text = ahead.take(usize::MAX).unwrap();
        assert!(String::from_utf8(text).unwrap().contains("\t\\u{1b}]0;x\\u{9b}\\u{202e}\t"));
        assert!(calls.slow_lines().contains(r#""path":"\u001b]0;x\u009b\u202e""#), "{}", calls.slow_lines());
        drop(ahead);
        calls.note(ended("x", Duration::ZERO));
        assert!(!calls.is_watched());
    }

    #[test]
    fn the_last_slow_calls_are_kept() {
        let calls = Calls::default();
        calls.note(ended("quick", SLOW - Duration::from_millis(1)));
        (0..SLOW_MAX + 5).for_each(|number| calls.note(ended(&number.to_string(), SLOW)));
        let slow = calls.slow.lock();
        assert_eq!((slow.len(), slow.front().map(|ended| ended.path.as_str())), (SLOW_MAX, Some("5")));
    }
}
