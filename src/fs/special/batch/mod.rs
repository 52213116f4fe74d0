//! `<Table>/batch/`: many items at once, a line of JSON each.
//!
//! ```text
//! put insert delete get   each line for itself; a bad one spoils no other
//! atomic                  all lines or none
//! result.json             how the session's last batch of the table went
//! lines.rs                how what is written becomes lines, and what each asks for
//! ```
//!
//! When does a bad line show? The rest of a long input must go on, and a shell looks at nothing but its writes. So a write of less
//! than `SHORT_WRITE_BYTES` that ends a line fails when a line since the last failure was bad: it is an `echo`, a `printf`, or the end of what
//! a program buffered. Any bad line that no write told of is told by the close. What the write holds is done either way.

use super::{
    batch::lines::{Line, Lines, Request, Transaction},
    help,
};
use crate::fs::{
    mount::reports::{BatchKind, ITEMS_BYTES_MAX, Report},
    open::{
        found::Names,
        host::{noted, on_behalf_of},
        prelude::*,
        text::{Call, OpenSpecial, Turns},
    },
    process::{has_open, same_process, session_of, was_killed},
};
use crate::model::{
    api::{self, CallContext, Done},
    error::ValueError,
};

mod lines;

const RESULT_NAME: &str = "result.json";

const NAMES: Names<Special> = Names(&[
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

/// `batch/` of that table.
#[must_use]
pub fn node(table: &TableName) -> Node {
    Special::directory_in_table(table, BATCH_NAME, Directory).into()
}

fn lines_file(at: &Special, kind: BatchKind) -> Result<Node, FsError> {
    Ok(at.child(kind.name(), LinesFile(kind)).writable().into())
}

struct Directory;

impl Room for Directory {
    fn resolve(&self, at: &SpecialNode, mount: &Mount, name: &str) -> Result<Node, FsError> {
        NAMES.resolve(mount, at, name)
    }

    fn list(&self, at: &SpecialNode, mount: &Mount) -> Result<Vec<Listed>, FsError> {
        mount.schema(at.of_table()?)?;
        NAMES.list(mount, at)
    }

    fn is_judged_by_request(&self) -> bool {
        true
    }
}

/// A file that takes lines.
struct LinesFile(BatchKind);

impl Room for LinesFile {
    fn text(&self, _at: &Special, _mount: &Mount) -> Result<Vec<u8>, FsError> {
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

    fn open_writer(
        &self,
        at: &SpecialNode,
        host: &Host,
        _flags: OpenFlags,
    ) -> Result<Handle, FsError> {
        let table = at.of_table()?;
        host.mount.schema(table)?;
        Ok(Handle::Special(Arc::new(OpenBatch::new(
            table,
            self.0,
            at.path.clone(),
            host.mount.caller,
        ))))
    }

    fn is_judged_by_request(&self) -> bool {
        true
    }
}

struct ResultFile;

impl Room for ResultFile {
    fn text(&self, at: &Special, mount: &Mount) -> Result<Vec<u8>, FsError> {
        Ok(mount
            .batches
            .text(session_of(mount.caller.pid), at.of_table()?))
    }

    fn is_judged_by_request(&self) -> bool {
        true
    }
}

/// The least that programs write of a longer output at a time.
const SHORT_WRITE_BYTES: usize = 4 * 1024;

/// An open file that takes lines.
///
/// Calls on one handle are carried out one after the other: a later one waits in line, without a thread. A write's lines are all
/// started, so that they share commits, and the call is answered when the last of them is durable.
#[derive(Debug)]
struct OpenBatch {
    table: TableName,
    kind: BatchKind,
    path: String,
    opener: Caller,
    turns: Mutex<Turns>,
    work: Mutex<Work>,
}

#[derive(Debug, Default)]
struct Work {
    lines: Lines,
    /// From the first byte on.
    report: Option<Arc<Mutex<Report>>>,
    /// The first bad line that no call told of.
    untold: Option<(u64, FsError)>,
    transaction: Transaction,
}

/// Is a write short, and does it end a line? See the module.
fn is_short(data: &[u8]) -> bool {
    data.len() < SHORT_WRITE_BYTES && data.ends_with(b"\n")
}

/// Answers a call when the last of its lines has ended: each holds it until then.
struct Pending(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(finish) = self.0.get_mut().take() {
            finish();
        }
    }
}

impl OpenBatch {
    pub fn new(table: &TableName, kind: BatchKind, path: String, opener: Caller) -> Self {
        Self {
            table: table.clone(),
            kind,
            path,
            opener,
            turns: Mutex::default(),
            work: Mutex::default(),
        }
    }

    /// Carries out a call after those before it.
    fn run(self: Arc<Self>, host: &Host, call: Call, reply: Reply<()>) {
        let again = host.clone();
        let mut turns = self.turns.lock();
        if turns.is_taken() {
            let this = Arc::clone(&self);
            turns.wait(Box::new(move || this.run(&again, call, reply)));
            return;
        }
        // Before the work goes to another thread: the next call must find the turn taken.
        turns.take();
        drop(turns);
        host.run_elsewhere(Box::new(move || self.perform(&again, call, reply)));
    }

    fn perform(self: Arc<Self>, host: &Host, call: Call, reply: Reply<()>) {
        let caller = host.mount.caller;
        let lines = self.lines_of(host, &call);
        let (host_then, this, of_call) = (host.clone(), Arc::clone(&self), Arc::new(call));
        let call = Arc::clone(&of_call);
        let finish = move || {
            let ended = noted(
                &host_then,
                of_call.name(),
                || this.path.clone(),
                this.outcome(&of_call),
            );
            let is_release = matches!(*of_call, Call::Release);
            if is_release {
                host_then.mount.batches.closed();
            }
            // Nobody hears of a release; it can be read.
            let ended = if is_release { Ok(()) } else { ended };
            // Before the reply: the caller's next call may come before that has returned.
            this.give_turn();
            reply(ended);
        };
        // Held here too, so that the call is not answered before all are started.
        let pending = Arc::new(Pending(Mutex::new(Some(Box::new(finish)))));
        // The end of the file is nobody's call.
        let writer = if caller.pid == 0 {
            self.opener.pid
        } else {
            caller.pid
        };
        let by = on_behalf_of(host, writer, caller.wait);
        match host.mount.schema(&self.table) {
            Ok(schema) => lines
                .into_iter()
                .for_each(|line| self.start((host, &by), &schema, line, &pending)),
            Err(error) => {
                for (number, text) in lines {
                    self.failed(number, &text.unwrap_or_default(), error.clone());
                }
            }
        }
        if self.kind == BatchKind::Atomic {
            self.end_transaction((host, &by), &call);
        }
        drop(pending);
    }

    /// The lines that this call completes.
    fn lines_of(&self, host: &Host, call: &Call) -> Vec<Line> {
        let mut work = self.work.lock();
        let is_whole = |text: &[u8]| plain_json::parse(text).is_ok();
        let lines = match call {
            Call::Write { data, .. } => {
                if work.report.is_none() && !data.is_empty() {
                    let session = host.mount.last.session(self.opener.pid);
                    let report = Report::new(self.table.clone(), self.kind, now_ms());
                    work.report = Some(host.mount.batches.begin(session, report));
                }
                work.lines.take(data)
            }
            // Another process that shares the file may go on with the line.
            Call::Flush
                if !same_process(self.opener.pid, host.mount.caller.pid)
                    && !is_whole(work.lines.partial()) =>
            {
                Vec::new()
            }
            Call::Flush | Call::Release if work.lines.has_partial() => {
                work.lines.end().into_iter().collect()
            }
            _ => Vec::new(),
        };
        if let Some(report) = &work.report {
            report.lock().lines = work.lines.count();
        }
        lines
    }

    /// Starts what a line asks for; `pending` is held until it has ended.
    fn start(
        self: &Arc<Self>,
        (host, by): (&Host, &CallContext),
        schema: &TableSchema,
        (number, text): Line,
        pending: &Arc<Pending>,
    ) {
        let text = match text {
            Ok(text) => text,
            Err(error) => {
                return self.failed(number, b"", error);
            }
        };
        let (this, pending) = (Arc::clone(self), Arc::clone(pending));
        match lines::parse(host, schema, self.kind, &text) {
            Err(error) => self.failed(number, &text, error),
            Ok(Request::Get(key)) => self.get(host, number, &text, key),
            Ok(Request::Action(write)) => {
                let added = self.work.lock().transaction.add(number, &text, write);
                if let Err(error) = added {
                    self.failed(number, &text, error);
                }
            }
            Ok(Request::Commit) if self.work.lock().transaction.is_spoiled() => {
                let refused = "a line before was refused: nothing is done";
                self.failed(number, &text, FsError::Body(refused.to_owned()));
                self.work.lock().transaction.begin_anew();
            }
            Ok(Request::Commit) => self.commit(host, by),
            Ok(Request::Put(request)) => {
                let done = Done::new(by.clone(), move |outcome| {
                    this.ended(number, &text, outcome.map(drop), &pending)
                });
                host.mount.db.start(api::Call::PutItem(request, done));
            }
            Ok(Request::Delete(request)) => {
                let done = Done::new(by.clone(), move |outcome| {
                    this.ended(number, &text, outcome.map(drop), &pending)
                });
                host.mount.db.start(api::Call::DeleteItem(request, done));
            }
        }
    }

    fn ended(&self, number: u64, text: &[u8], outcome: Result<(), Error>, _until_then: &Pending) {
        match outcome {
            Ok(()) => drop(self.report(|report| report.done += 1)),
            Err(Error::ConditionalCheckFailed { .. }) if self.kind == BatchKind::Insert => {
                self.failed(number, text, FsError::Exists)
            }
            Err(Error::Value(ValueError::ItemTooLarge)) => {
                self.failed(number, text, FsError::TooLarge)
            }
            Err(error) => self.failed(number, text, FsError::Database(error)),
        }
    }

    fn get(&self, host: &Host, number: u64, text: &[u8], key: Key) {
        let source = base(&self.table);
        let read = host.mount.db.text(
            &source,
            &EntryKey {
                index: None,
                base: key,
            },
            TextForm::PlainJson,
        );
        match read {
            Ok(Some((item, _))) => {
                let is_full = self
                    .report(|report| report.items.len() + item.len() > ITEMS_BYTES_MAX)
                    .unwrap_or(true);
                if is_full {
                    let full = FsError::Busy(
                        "16 MiB of items wait: read them from this descriptor, or ask for fewer at a time",
                    );
                    return self.failed(number, text, full);
                }
                self.report(|report| {
                    report.done += 1;
                    report.items.extend_from_slice(&item);
                });
            }
            Ok(None) => drop(self.report(|report| report.miss(number))),
            Err(error) => self.failed(number, text, FsError::Database(error)),
        }
    }

    fn report<T>(&self, work: impl FnOnce(&mut Report) -> T) -> Option<T> {
        let report = self.work.lock().report.clone()?;
        let mut report = report.lock();
        Some(work(&mut report))
    }

    fn failed(&self, number: u64, text: &[u8], error: FsError) {
        let mut work = self.work.lock();
        if self.kind == BatchKind::Atomic {
            work.transaction.spoil();
        }
        if let Some(report) = &work.report {
            report.lock().fail(number, text, error.clone());
        }
        if work
            .untold
            .as_ref()
            .is_none_or(|(first, _)| number < *first)
        {
            work.untold = Some((number, error));
        }
    }

    /// What a call is answered with, all its lines being done.
    fn outcome(&self, call: &Call) -> Result<(), FsError> {
        let mut work = self.work.lock();
        let tells = match call {
            // A line of a transaction that is refused spoils the rest: it is told at once.
            Call::Write { data, .. } => is_short(data) || self.kind == BatchKind::Atomic,
            _ => true,
        };
        if !tells {
            return Ok(());
        }
        match work.untold.take() {
            None => Ok(()),
            Some((_, error)) if self.kind == BatchKind::Atomic => {
                Err(work.transaction.refusal(error))
            }
            Some((number, error)) => Err(FsError::Line(number, Box::new(error))),
        }
    }

    fn give_turn(&self) {
        let waiting = self.turns.lock().give();
        waiting.into_iter().for_each(|call| call());
    }

    /// The last close by who opened the file carries the transaction out; the end of the file does, when others went on with it. A
    /// writer that is being killed had more to say: nothing is done then.
    fn end_transaction(&self, (host, by): (&Host, &CallContext), call: &Call) {
        let caller = host.mount.caller;
        match call {
            Call::Flush if was_killed(caller.pid) => self.work.lock().transaction.spoil(),
            // `exec 3>F; echo … >&3` closes a copy each time. Of a process that cannot be looked at the end of the file is awaited.
            Call::Flush
                if same_process(self.opener.pid, caller.pid)
                    && has_open(caller.pid, &format!("/{}", self.path)) == Some(false) =>
            {
                self.commit(host, by);
            }
            Call::Release => self.commit(host, by),
            _ => {}
        }
    }

    fn commit(&self, host: &Host, by: &CallContext) {
        let taken = self.work.lock().transaction.take();
        let Some((numbers, request)) = taken else {
            return;
        };
        let count = numbers.len() as u64;
        match wait(by.clone(), |done| {
            host.mount
                .db
                .start(api::Call::TransactWriteItems(request, done))
        }) {
            Ok(_) => drop(self.report(|report| report.done += count)),
            Err(Error::TransactionCanceled(cancellation)) => {
                for (number, reason) in numbers.iter().zip(&cancellation.0) {
                    if let Some(message) = reason.message() {
                        self.report(|report| {
                            report.fail(*number, reason.code().as_bytes(), FsError::Body(message))
                        });
                    }
                }
                let first = numbers.first().copied().unwrap_or_default();
                self.work.lock().untold = Some((
                    first,
                    FsError::Database(Error::TransactionCanceled(cancellation)),
                ));
            }
            Err(error) => self.failed(
                numbers.first().copied().unwrap_or_default(),
                b"",
                FsError::Database(error),
            ),
        }
        self.work.lock().transaction.begin_anew();
    }
}

impl OpenSpecial for OpenBatch {
    /// The items that were asked for, each byte once; `get` only.
    fn read(self: Arc<Self>, _host: &Host, _offset: u64, size: usize, reply: Reply<Bytes>) {
        let taken = self.report(|report| {
            let count = size.min(report.items.len());
            report.items.drain(..count).collect::<Vec<u8>>()
        });
        reply(Ok(Bytes::own(taken.unwrap_or_default())));
    }

    fn call(self: Arc<Self>, host: &Host, call: Call, reply: Reply<()>) {
        match call {
            Call::Truncate(_) | Call::Fsync => reply(Ok(())),
            call => self.run(host, call, reply),
        }
    }

    fn held_bytes(&self) -> Option<usize> {
        let read = self.report(|report| report.items.capacity()).unwrap_or(0);
        let work = self.work.lock();
        Some(work.lines.held_bytes() + work.transaction.held_bytes() + read)
    }
}
