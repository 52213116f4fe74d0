//! Reports of batches: the text of `<Table>/batch/result.json`, about the last batch of the
//! reader's session. `special/batch` carries the batches out and shows the file.

use super::text_cache::pretty_json;
use crate::codec::calendar;
use crate::fs::{path::BATCH_NAME, prelude::*};
use crate::store::memory_limit::limit_share;

/// The maximum number of failed lines in a report; the rest is counted.
const ERRORS_MAX: usize = 1_000;
/// The maximum bytes of a failed line's own text; longer ones are cut.
const LINE_TEXT_MAX: usize = 200;
/// The maximum number of batches kept, of all sessions and tables.
const REPORTS_MAX: usize = 200;
/// The maximum bytes of failed lines, and of items read and not yet taken, of batches that no
/// process has open, if memory allows. Beyond it the oldest batches are forgotten.
const KEPT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The part of the memory limit that they take at most.
const LIMIT_PARTS: u64 = 64;
/// Approximate bytes of a failed line: its text, its error and the error's data.
const ERROR_BYTES: usize = 1024;
/// The maximum bytes of items of one batch that were read and not yet taken.
pub const ITEMS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The operation on each line of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchKind {
    Put,
    Insert,
    Delete,
    Get,
    Atomic,
}

impl BatchKind {
    /// Returns the file's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Get => "get",
            Self::Atomic => "atomic",
        }
    }
}

#[derive(Debug)]
struct LineError {
    line: u64,
    error: FsError,
    text: String,
}

/// The report of one batch.
#[derive(Debug)]
pub struct BatchReport {
    table: TableName,
    kind: BatchKind,
    started_ms: u64,
    pub lines: u64,
    pub done: u64,
    failed: u64,
    errors: Vec<LineError>,
    /// Lines of `get` without an item, the first ones.
    missing: Vec<u64>,
    missing_count: u64,
    /// Items that were read and not yet taken, a line each.
    pub unread_items: Vec<u8>,
}

impl BatchReport {
    pub fn new(table: TableName, kind: BatchKind, started_ms: u64) -> Self {
        Self {
            table,
            kind,
            started_ms,
            lines: 0,
            done: 0,
            failed: 0,
            errors: Vec::new(),
            missing: Vec::new(),
            missing_count: 0,
            unread_items: Vec::new(),
        }
    }

    /// Records a line that failed.
    pub fn add_error(&mut self, line: u64, text: &[u8], error: FsError) {
        self.failed += 1;
        if self.errors.len() < ERRORS_MAX {
            let text = &text[..LINE_TEXT_MAX.min(text.len())];
            self.errors.push(LineError {
                line,
                error,
                text: String::from_utf8_lossy(text).into_owned(),
            });
        }
    }

    /// Records a key without an item.
    pub fn add_missing(&mut self, line: u64) {
        self.missing_count += 1;
        if self.missing.len() < ERRORS_MAX {
            self.missing.push(line);
        }
    }

    /// Returns the bytes of memory that it holds.
    fn bytes(&self) -> usize {
        self.unread_items.capacity()
            + self.errors.len() * ERROR_BYTES
            + self.missing.capacity() * size_of::<u64>()
    }

    fn render(&self) -> Vec<u8> {
        let mut errors: Vec<&LineError> = self.errors.iter().collect();
        errors.sort_by_key(|error| error.line);
        let errors: Vec<Value> = errors.into_iter().map(LineError::to_json).collect();
        let mut out = json!({
            "file": format!("{}/{}/{}", self.table, BATCH_NAME, self.kind.name()),
            "started": calendar::iso(self.started_ms),
            "lines": self.lines,
            done_name(self.kind): self.done,
            "failed": self.failed,
            "errors": errors,
        });
        if self.failed > self.errors.len() as u64 {
            out["errors_left_out"] = json!(self.failed - self.errors.len() as u64);
        }
        if self.kind == BatchKind::Get {
            out["missing"] = json!(self.missing_count);
            out["missing_lines"] = json!(self.missing);
            let items = self
                .unread_items
                .split(|&byte| byte == b'\n')
                .filter(|line| !line.is_empty());
            // A line of which a reader took a part is null.
            out["items"] = items
                .map(|line| serde_json::from_slice::<Value>(line).unwrap_or_default())
                .collect();
        }
        pretty_json(&out)
    }
}

impl LineError {
    fn to_json(&self) -> Value {
        json!({
            "line": self.line,
            "errno": self.error.errno_name(),
            "exception": self.error.exception(),
            "error": self.error.to_string(),
            "text": self.text,
        })
    }
}

/// Returns the name of the count of successful lines.
fn done_name(kind: BatchKind) -> &'static str {
    match kind {
        BatchKind::Put | BatchKind::Insert | BatchKind::Delete | BatchKind::Atomic => "committed",
        BatchKind::Get => "found",
    }
}

type ReportKey = (u32, TableName);

/// The last batch of each session and table.
#[derive(Debug, Default)]
pub struct BatchReports {
    list: Mutex<TtlMap<ReportKey, Arc<Mutex<BatchReport>>, REPORTS_MAX>>,
}

impl BatchReports {
    /// Registers a new batch of a session.
    pub fn begin(&self, session: u32, report: BatchReport) -> Arc<Mutex<BatchReport>> {
        let place = (session, report.table.clone());
        let report = Arc::new(Mutex::new(report));
        self.list
            .lock()
            .insert(place, Arc::clone(&report), now_ms());
        report
    }

    /// Records that a batch was closed: its report stays for its session in bounded memory.
    pub fn evict(&self) {
        let mut list = self.list.lock();
        let bytes = |report: &Arc<Mutex<BatchReport>>| report.lock().bytes();
        let bytes_max = limit_share(KEPT_BYTES_MAX, LIMIT_PARTS);
        let mut kept: usize = list.values().map(bytes).sum();
        while kept > bytes_max && list.len() > 1 {
            kept -= list.pop_oldest().as_ref().map_or(0, bytes);
        }
    }

    /// Renders `result.json` for a session.
    #[must_use]
    pub fn render(&self, session: u32, table: &TableName) -> Vec<u8> {
        let report = self
            .list
            .lock()
            .get(&(session, table.clone()), now_ms())
            .cloned();
        report.map_or_else(|| b"{}\n".to_vec(), |report| report.lock().render())
    }
}
