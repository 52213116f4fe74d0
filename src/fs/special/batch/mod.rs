//! `<Table>/batch/`: many items at once, a line of JSON each.
//!
//! ```text
//! put insert delete get   each line is a request of its own; a bad one spoils no other
//! atomic                  all lines or none
//! result.json             the result of the session's last batch of the table
//! lines.rs                cuts writes into lines and reads the request of each
//! ```
//!
//! | difficulty | solved by |
//! |---|---|
//! | the rest of a long input must go on after a bad line, and a shell looks at nothing but its writes | a write of less than `SHORT_WRITE_BYTES` that ends a line fails if a line since the last failure was bad: it is an `echo`, a `printf`, or the end of a program's buffer. The close reports a bad line that no write reported |
//! | a failed write may hold good lines | they are carried out either way |
//! | a program that writes each line by itself must not wait for a service elsewhere each time | the first write waits; later ones return while their lines are under way, up to `IN_FLIGHT_BYTES_MAX`; fsync and the last close wait for all |

use super::{
    batch::lines::{AtomicBatch, BatchLine, BatchRequest, LineSplitter},
    help,
};
use crate::fs::{
    mount::batch_reports::{BatchKind, BatchReport, ITEMS_BYTES_MAX},
    open::{
        dirent::FixedDir,
        host::context_for,
        open_text::CallQueue,
        prelude::*,
        text::{FileCall, SpecialHandle},
    },
    process::{has_path_open, same_process, session_of, was_killed},
};
use crate::model::{
    api::{self, CallContext, Completion, Gathering},
    error::ValueError,
};

mod lines;

const RESULT_NAME: &str = "result.json";

const NAMES: FixedDir<Special> = FixedDir(&[
    ("atomic", true, |_, at| lines_file(at, BatchKind::Atomic)),
    ("delete", true, |_, at| lines_file(at, BatchKind::Delete)),
    ("get", true, |_, at| lines_file(at, BatchKind::Get)),
    ("insert", true, |_, at| lines_file(at, BatchKind::Insert)),
    ("put", true, |_, at| lines_file(at, BatchKind::Put)),
    (RESULT_NAME, true, |_, at| {
        Ok(at.child(RESULT_NAME, ResultFile).into())
    }),
    (HELP_NAME, false, |_, at| {
        Ok(help::node(&at.path, help::BATCH, at.source.clone()))
    }),
]);

/// Returns `batch/` of that table.
#[must_use]
pub fn node(table: &TableName) -> Node {
    Special::directory_in_table(table, BATCH_NAME, BatchDir).into()
}

fn lines_file(node: &Special, kind: BatchKind) -> Result<Node> {
    Ok(node.child(kind.name(), LinesFile(kind)).writable().into())
}

struct BatchDir;

impl NodeOps for BatchDir {
    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node> {
        NAMES.resolve(&at, at.node, name)
    }

    fn list(&self, at: At<'_>) -> Result<Vec<OwnedDirent>> {
        at.schema(at.node.try_table()?)?;
        NAMES.list(&at, at.node)
    }
}

/// A file that takes lines.
struct LinesFile(BatchKind);

impl NodeOps for LinesFile {
    fn text(&self, _at: At<'_>) -> Result<Vec<u8>> {
        let (what, then) = match self.0 {
            BatchKind::Atomic => (
                "items or actions, a line of JSON each",
                ": all are done or none",
            ),
            BatchKind::Delete => (
                "keys, items or paths, a line each",
                "; how it went is in result.json",
            ),
            BatchKind::Get => (
                "keys, items or paths, a line each",
                "; the items are in result.json",
            ),
            BatchKind::Insert => (
                "items that are not there yet, a line of JSON each",
                "; how it went is in result.json",
            ),
            BatchKind::Put => (
                "items, a line of JSON each",
                "; how it went is in result.json",
            ),
        };
        Ok(format!("write {what}{then}, more in help\n").into_bytes())
    }

    fn open_writer(&self, at: HostAt<'_>, _flags: OpenFlags) -> Result<Handle> {
        let table = at.node.try_table()?;
        at.mount.schema(table)?;
        Ok(Handle::Special(Arc::new(OpenBatch::new(
            table,
            self.0,
            at.node.path.clone(),
            at.mount.caller,
        ))))
    }
}

struct ResultFile;

impl NodeOps for ResultFile {
    fn text(&self, at: At<'_>) -> Result<Vec<u8>> {
        Ok(at
            .batch_reports
            .render(session_of(at.caller.pid), at.node.try_table()?))
    }
}

/// The least size of a write with which programs cut a longer output, bytes.
const SHORT_WRITE_BYTES: usize = 4 * 1024;

/// The bytes of lines under way with which a write returns.
const IN_FLIGHT_BYTES_MAX: usize = 1024 * 1024;

/// The lines under way of writes that have returned.
#[derive(Default)]
struct InFlight {
    bytes: usize,
    /// A call that waits for all.
    waiting: Option<Box<dyn FnOnce() + Send>>,
}

opaque_debug!(InFlight);

/// An open file that takes lines.
///
/// Calls on one handle are carried out one after the other; a later one waits without a thread. All
/// lines of a write are started at once, so that they share commits. The call is answered when the
/// last of them is durable; over a service elsewhere only the first write and the close are.
#[derive(Debug)]
struct OpenBatch {
    table: TableName,
    kind: BatchKind,
    path: String,
    opener: Caller,
    turns: Mutex<CallQueue>,
    progress: Mutex<BatchProgress>,
    in_flight: Mutex<InFlight>,
}

#[derive(Debug, Default)]
struct BatchProgress {
    lines: LineSplitter,
    /// True after the first write.
    is_begun: bool,
    /// The report, from the first byte on.
    report: Option<Arc<Mutex<BatchReport>>>,
    /// The first bad line that no call has reported.
    unreported: Option<(u64, FsError)>,
    transaction: AtomicBatch,
}

/// True if the write is short and ends a line; see the module.
fn is_short_write(data: &[u8]) -> bool {
    data.len() < SHORT_WRITE_BYTES && data.ends_with(b"\n")
}

/// Answers a call when the last of its lines has ended: each line holds it until then.
struct PendingReply(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Drop for PendingReply {
    fn drop(&mut self) {
        if let Some(finish) = self.0.get_mut().take() {
            finish();
        }
    }
}

impl OpenBatch {
    pub fn new(table: &TableName, kind: BatchKind, path: String, caller: Caller) -> Self {
        Self {
            table: table.clone(),
            kind,
            path,
            opener: caller,
            turns: Mutex::default(),
            progress: Mutex::default(),
            in_flight: Mutex::default(),
        }
    }

    /// Returns the bytes of a call that returns while its lines are under way.
    fn returned_early(&self, host: &Host, call: &FileCall, lines: &[BatchLine]) -> Option<usize> {
        let may_return = match call {
            FileCall::Write { .. } => std::mem::replace(&mut self.progress.lock().is_begun, true),
            // `exec 3>F; echo … >&3` closes a copy each time.
            FileCall::Flush => {
                has_path_open(self.opener.pid, &format!("/{}", self.path)) == Some(true)
            }
            _ => false,
        };
        let takes_requests = !matches!(self.kind, BatchKind::Atomic | BatchKind::Get);
        if !may_return || !takes_requests || !host.mount.db.is_remote() {
            return None;
        }
        let texts = lines.iter().flat_map(|(_, text)| text);
        let bytes = 1 + texts.map(Vec::len).sum::<usize>();
        let mut in_flight = self.in_flight.lock();
        if in_flight.bytes + bytes > IN_FLIGHT_BYTES_MAX {
            return None;
        }
        in_flight.bytes += bytes;
        Some(bytes)
    }

    /// Notes that the lines of a write that has returned have ended.
    fn end_in_flight(&self, bytes: usize) {
        let mut in_flight = self.in_flight.lock();
        in_flight.bytes -= bytes;
        let waiting = if in_flight.bytes == 0 {
            in_flight.waiting.take()
        } else {
            None
        };
        drop(in_flight);
        if let Some(waiting) = waiting {
            waiting();
        }
    }

    /// Calls `work` when no lines of earlier writes are under way.
    fn after_in_flight(&self, work: Box<dyn FnOnce() + Send>) {
        let mut in_flight = self.in_flight.lock();
        if in_flight.bytes > 0 {
            // Calls have turns, so no other waits.
            in_flight.waiting = Some(work);
            return;
        }
        drop(in_flight);
        work();
    }

    /// Carries out a call after those before it.
    fn enqueue(self: Arc<Self>, host: &Host, call: FileCall, reply: Reply<()>) {
        let host_clone = host.clone();
        let mut turns = self.turns.lock();
        if turns.is_busy() {
            let this = Arc::clone(&self);
            turns.push(Box::new(move || this.enqueue(&host_clone, call, reply)));
            return;
        }
        // The turn is taken before the work goes to another thread: the next call must find it
        // taken.
        turns.begin();
        drop(turns);
        host.run_short(move || self.execute(&host_clone, call, reply));
    }

    fn execute(self: Arc<Self>, host: &Host, call: FileCall, reply: Reply<()>) {
        let caller = host.mount.caller;
        let lines = self.completed_lines(host, &call);
        let early = self.returned_early(host, &call, &lines);
        let (host_then, this, of_call) = (host.clone(), Arc::clone(&self), Arc::new(call));
        let call = Arc::clone(&of_call);
        let finish = move || {
            let outcome = this.call_result(&of_call);
            if matches!(*of_call, FileCall::Release) {
                host_then.mount.batch_reports.evict();
            }
            // The turn ends before the reply: the caller's next call may come before the reply has
            // returned.
            this.release_turn();
            reply(outcome);
        };
        let in_flight = Arc::clone(&self);
        let (ended, early_reply): (Box<dyn FnOnce() + Send>, _) = match early {
            Some(bytes) => (
                Box::new(move || in_flight.end_in_flight(bytes)),
                Some(finish),
            ),
            None => (
                Box::new(move || in_flight.after_in_flight(Box::new(finish))),
                None,
            ),
        };
        // This function holds it too, so that the call is not answered before all lines are
        // started.
        let pending = Arc::new(PendingReply(Mutex::new(Some(ended))));
        // A release has no calling process: the opener stands for it.
        let writer = if caller.pid == 0 {
            self.opener.pid
        } else {
            caller.pid
        };
        let is_gathered = matches!(self.kind, BatchKind::Put | BatchKind::Delete);
        let by = CallContext {
            is_bulk: true,
            gathering: is_gathered.then_some(Gathering::Awaited),
            ..context_for(host, writer, caller.wait)
        };
        match host.mount.schema(&self.table) {
            Ok(schema) => lines
                .into_iter()
                .for_each(|line| self.start_line(host, &by, &schema, line, &pending)),
            Err(error) => {
                for (number, text) in lines {
                    self.record_failure(number, &text.unwrap_or_default(), error.clone());
                }
            }
        }
        if self.kind == BatchKind::Atomic {
            self.end_transaction(host, &by, &call);
        }
        drop(pending);
        if let Some(reply_early) = early_reply {
            reply_early();
        }
    }

    /// Returns the lines that this call completes.
    fn completed_lines(&self, host: &Host, call: &FileCall) -> Vec<BatchLine> {
        let mut work = self.progress.lock();
        let is_whole = |text: &[u8]| plain_json::parse(text).is_ok();
        let lines = match call {
            FileCall::Write { data, .. } => {
                if work.report.is_none() && !data.is_empty() {
                    let session = host.mount.last_responses.session(self.opener.pid);
                    let report = BatchReport::new(self.table.clone(), self.kind, now_ms());
                    work.report = Some(host.mount.batch_reports.begin(session, report));
                }
                work.lines.feed(data)
            }
            // Another process that shares the file may continue the line.
            FileCall::Flush
                if !same_process(self.opener.pid, host.mount.caller.pid)
                    && !is_whole(work.lines.partial()) =>
            {
                Vec::new()
            }
            FileCall::Flush | FileCall::Release if work.lines.has_partial() => {
                work.lines.finish().into_iter().collect()
            }
            _ => Vec::new(),
        };
        if let Some(report) = &work.report {
            report.lock().lines = work.lines.count();
        }
        lines
    }

    /// Starts the request of a line; `pending` is held until it has ended.
    fn start_line(
        self: &Arc<Self>,
        host: &Host,
        context: &CallContext,
        schema: &TableSchema,
        line: BatchLine,
        pending: &Arc<PendingReply>,
    ) {
        let (number, text) = line;
        let text = match text {
            Ok(text) => text,
            Err(error) => {
                return self.record_failure(number, b"", error);
            }
        };
        let (this, pending) = (Arc::clone(self), Arc::clone(pending));
        match lines::parse(host, schema, self.kind, &text) {
            Err(error) => self.record_failure(number, &text, error),
            Ok(BatchRequest::Get(key)) => self.get(host, number, &text, key),
            Ok(BatchRequest::Action(write)) => {
                let added = self.progress.lock().transaction.add(number, &text, write);
                if let Err(error) = added {
                    self.record_failure(number, &text, error);
                }
            }
            Ok(BatchRequest::Commit) if self.progress.lock().transaction.is_spoiled() => {
                let refused = "a line before was refused: nothing is done";
                self.record_failure(number, &text, FsError::Body(refused.to_owned()));
                self.progress.lock().transaction.reset();
            }
            Ok(BatchRequest::Commit) => self.commit(host, context),
            Ok(BatchRequest::Put(request)) => {
                let done = Completion::new(context.clone(), move |outcome| {
                    this.finish_line(number, &text, outcome.map(drop), &pending)
                });
                host.mount.db.start(api::Call::PutItem(request, done));
            }
            Ok(BatchRequest::Delete(request)) => {
                let done = Completion::new(context.clone(), move |outcome| {
                    this.finish_line(number, &text, outcome.map(drop), &pending)
                });
                host.mount.db.start(api::Call::DeleteItem(request, done));
            }
        }
    }

    fn finish_line(
        &self,
        number: u64,
        text: &[u8],
        outcome: Result<(), Error>,
        _until_then: &PendingReply,
    ) {
        match outcome {
            Ok(()) => drop(self.with_report(|report| report.done += 1)),
            Err(Error::ConditionalCheckFailed { .. }) if self.kind == BatchKind::Insert => {
                self.record_failure(number, text, FsError::Exists)
            }
            Err(Error::Value(ValueError::ItemTooLarge)) => {
                self.record_failure(number, text, FsError::TooLarge)
            }
            Err(error) => self.record_failure(number, text, FsError::Database(error)),
        }
    }

    fn get(&self, host: &Host, number: u64, text: &[u8], key: Key) {
        let source = SourceName::from(&self.table);
        let read = host
            .mount
            .db
            .text(&source, &key.into(), TextForm::PlainJson);
        match read {
            Ok(Some((item, _))) => {
                let is_full = self
                    .with_report(|report| report.unread_items.len() + item.len() > ITEMS_BYTES_MAX)
                    .unwrap_or(true);
                if is_full {
                    let full = FsError::Busy(
                        "16 MiB of items wait: read them from this descriptor, or ask for fewer at a time",
                    );
                    return self.record_failure(number, text, full);
                }
                self.with_report(|report| {
                    report.done += 1;
                    report.unread_items.extend_from_slice(&item);
                });
            }
            Ok(None) => drop(self.with_report(|report| report.add_missing(number))),
            Err(error) => self.record_failure(number, text, FsError::Database(error)),
        }
    }

    fn with_report<T>(&self, work: impl FnOnce(&mut BatchReport) -> T) -> Option<T> {
        let report = self.progress.lock().report.clone()?;
        let mut report = report.lock();
        Some(work(&mut report))
    }

    fn record_failure(&self, number: u64, text: &[u8], error: FsError) {
        let mut work = self.progress.lock();
        if self.kind == BatchKind::Atomic {
            work.transaction.abort();
        }
        if let Some(report) = &work.report {
            report.lock().add_error(number, text, error.clone());
        }
        if work
            .unreported
            .as_ref()
            .is_none_or(|(first, _)| number < *first)
        {
            work.unreported = Some((number, error));
        }
    }

    /// Returns the result of a call after all its lines.
    fn call_result(&self, call: &FileCall) -> Result<(), FsError> {
        let mut work = self.progress.lock();
        let tells = match call {
            // A refused line of a transaction spoils the rest: it is reported at once.
            FileCall::Write { data, .. } => is_short_write(data) || self.kind == BatchKind::Atomic,
            _ => true,
        };
        if !tells {
            return Ok(());
        }
        match work.unreported.take() {
            None => Ok(()),
            Some((_, error)) if self.kind == BatchKind::Atomic => {
                Err(work.transaction.refusal(error))
            }
            Some((number, error)) => Err(FsError::Line(number, Box::new(error))),
        }
    }

    fn release_turn(&self) {
        let waiting = self.turns.lock().finish();
        waiting.into_iter().for_each(|call| call());
    }

    /// Ends a transaction: the last close by the opener carries it out, or the release if other
    /// processes went on with the file. If the writer is being killed its lines are not complete,
    /// and nothing is carried out.
    fn end_transaction(&self, host: &Host, context: &CallContext, call: &FileCall) {
        let caller = host.mount.caller;
        match call {
            FileCall::Flush if was_killed(caller.pid) => self.progress.lock().transaction.abort(),
            // `exec 3>F; echo … >&3` closes a copy each time. If the process cannot be inspected,
            // the release is awaited.
            FileCall::Flush
                if same_process(self.opener.pid, caller.pid)
                    && has_path_open(caller.pid, &format!("/{}", self.path)) == Some(false) =>
            {
                self.commit(host, context);
            }
            FileCall::Release => self.commit(host, context),
            _ => {}
        }
    }

    fn commit(&self, host: &Host, context: &CallContext) {
        let taken = self.progress.lock().transaction.take();
        let Some((numbers, request)) = taken else {
            return;
        };
        debug_assert!(!numbers.is_empty(), "a transaction without lines is `None`");
        let first = numbers.first().copied().unwrap_or_default();
        let count = numbers.len() as u64;
        match run_blocking(context.clone(), |done| {
            host.mount
                .db
                .start(api::Call::TransactWriteItems(request, done))
        }) {
            Ok(_) => drop(self.with_report(|report| report.done += count)),
            Err(Error::TransactionCanceled(cancellation)) => {
                for (number, reason) in numbers.iter().zip(&cancellation.0) {
                    if let Some(message) = reason.message() {
                        self.with_report(|report| {
                            report.add_error(
                                *number,
                                reason.code().as_bytes(),
                                FsError::Body(message),
                            )
                        });
                    }
                }
                self.progress.lock().unreported = Some((
                    first,
                    FsError::Database(Error::TransactionCanceled(cancellation)),
                ));
            }
            Err(error) => self.record_failure(first, b"", FsError::Database(error)),
        }
        self.progress.lock().transaction.reset();
    }
}

impl SpecialHandle for OpenBatch {
    /// Reads the items of `get`, each byte once.
    fn read(self: Arc<Self>, _host: &Host, _offset: u64, size: usize, reply: Reply<ReadBytes>) {
        let taken = self.with_report(|report| {
            let count = size.min(report.unread_items.len());
            report.unread_items.drain(..count).collect::<Vec<u8>>()
        });
        reply(Ok(ReadBytes::owned(taken.unwrap_or_default())));
    }

    fn call(self: Arc<Self>, host: &Host, call: FileCall, reply: Reply<()>) {
        match call {
            FileCall::Truncate(_) => reply(Ok(())),
            call => self.enqueue(host, call, reply),
        }
    }

    fn held_bytes(&self) -> Option<usize> {
        let read = self
            .with_report(|report| report.unread_items.capacity())
            .unwrap_or(0);
        let work = self.progress.lock();
        Some(work.lines.held_bytes() + work.transaction.held_bytes() + read)
    }
}
