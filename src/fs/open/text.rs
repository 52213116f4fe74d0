//! Runs the calls on an open file that holds one text ([`OpenText`]): the write state machine of
//! [`crate::fs::write`] decides what a write, flush or close does, this file performs it. Also
//! [`SpecialHandle`]: the calls on any other open file that is neither an item nor a text as it is.

use std::fmt;

use super::host::{Host, context_for};
use super::open_text::{OpenText, OpenTextState};
use super::{ReadBytes, Reply, VersionReply};
use crate::codec::json::prefix::JsonPrefix;
use crate::database::thread_pool::PoolJob;
use crate::fs::{
    prelude::*,
    process::same_process,
    write::{Commit, TextCheck, TextTarget, WriteFailure, WriteStep},
};

/// A call on an open file that changes it, or ends what was changed.
#[derive(Debug)]
pub enum FileCall {
    Write { offset: u64, data: Vec<u8> },
    Truncate(u64),
    Flush,
    Fsync,
    Release,
}

impl FileCall {
    /// Returns the call that writes `data`.
    #[must_use]
    pub fn write(offset: u64, data: &[u8]) -> Self {
        Self::Write {
            offset,
            data: data.to_vec(),
        }
    }

    pub fn is_flush(&self) -> bool {
        matches!(self, Self::Flush)
    }

    /// Returns the answer of a file that takes no changes.
    ///
    /// # Errors
    /// `BadHandle` if the call is a write.
    pub fn ignored(&self) -> Result<()> {
        if matches!(self, Self::Write { .. }) {
            Err(FsError::BadHandle)
        } else {
            Ok(())
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Write { .. } => "write",
            Self::Truncate(_) => "truncate",
            Self::Flush => "close",
            Self::Fsync => "fsync",
            Self::Release => "release",
        }
    }
}

/// Performs the request of a text.
pub trait ExecuteText: TextTarget + Sized + Send + 'static {
    /// Starts the request; `reply` is called with its outcome. The caller waits for it, and holds no
    /// lock.
    fn execute(
        host: &Host,
        open: &Arc<OpenText<Self>>,
        request: Self::Request,
        reply: VersionReply,
    );

    /// Undoes what the open made, after the text was refused before any request. Calls `after` at
    /// once or later.
    fn undo(_host: &Host, _open: &OpenText<Self>, _wait: WaitPolicy, after: PoolJob) {
        after();
    }

    /// Adds to the report of a refused request more than its error says.
    fn explain(_host: &Host, _open: &OpenText<Self>, failure: WriteFailure) -> WriteFailure {
        failure
    }
}

/// Runs a call on an open text, after the calls before it.
pub fn run_text_call<T: ExecuteText>(
    host: &Host,
    open: &Arc<OpenText<T>>,
    call: FileCall,
    reply: Reply<()>,
) {
    let caller = host.mount.caller;
    let mut state = open.state.lock();
    if state.queue.is_busy() {
        let (host, open_clone) = (host.clone(), Arc::clone(open));
        state.queue.push(Box::new(move || {
            run_text_call(&host, &open_clone, call, reply)
        }));
        return;
    }
    let operation = call.name();
    // The thread that wrote last counts, not the one that opened: a shell opens, its child writes,
    // and the child's reads matter.
    if matches!(call, FileCall::Write { .. }) {
        open.set_writer(caller.pid);
    }
    match advance(&mut state, open.opener, caller, call) {
        WriteStep::Done => {
            drop(state);
            reply(Ok(()));
        }
        WriteStep::Fail(failure) => {
            drop(state);
            // Before the reply: an item that was renamed away is back when the caller gets the
            // error of its text.
            let error = host.record(operation, open.path.clone(), failure);
            T::undo(host, open, caller.wait, Box::new(move || reply(Err(error))));
        }
        WriteStep::FailAgain(error) => {
            drop(state);
            reply(Err(FsError::Reported(Box::new(error))));
        }
        WriteStep::Commit(Commit { request, warnings }) => {
            // From here to `finish` later calls wait. The lock itself must not be held: the
            // committer takes it to end the commit.
            state.queue.begin();
            drop(state);
            host.mount.error_log.warn(&open.path, warnings);
            let (open_clone, of_done) = (host.clone(), Arc::clone(open));
            let context = context_for(host, open.writer(), caller.wait).blocking();
            let done = VersionReply::new(context, move |outcome| {
                finish(&open_clone, &of_done, outcome, |ended| {
                    reply(ended.map_err(|failure| {
                        open_clone.record(operation, of_done.path.clone(), failure)
                    }));
                });
            });
            T::execute(host, open, request, done);
        }
    }
}

/// Answers the call that was being committed, then runs the calls that waited.
fn finish<T: ExecuteText>(
    host: &Host,
    open: &OpenText<T>,
    outcome: Result<Version, Error>,
    answer: impl FnOnce(Result<(), WriteFailure>),
) {
    let (result, waiting) = {
        let mut state = open.state.lock();
        let result = state.writer.committed(outcome);
        (result, state.queue.finish())
    };
    answer(result.map_err(|failure| T::explain(host, open, failure)));
    for call in waiting {
        call();
    }
}

fn advance<T: TextTarget>(
    state: &mut OpenTextState<T>,
    opener: u32,
    caller: Caller,
    call: FileCall,
) -> WriteStep<T::Request> {
    match call {
        FileCall::Write { offset, data } => state.writer.write(offset, &data),
        FileCall::Truncate(size) => state.writer.truncate(size),
        FileCall::Flush if same_process(opener, caller.pid) => state.writer.flush(opener),
        FileCall::Flush => state.writer.flush(caller.pid),
        FileCall::Fsync => state.writer.fsync(),
        FileCall::Release => state.writer.release(),
    }
}

/// An open special file. Every call is answered through its reply, now or later, from any thread.
pub trait SpecialHandle: fmt::Debug + Send + Sync {
    /// Reads the bytes at `offset`, fewer than `size` only at the end.
    fn read(self: Arc<Self>, _host: &Host, _offset: u64, _size: usize, reply: Reply<ReadBytes>) {
        reply(Ok(ReadBytes::owned(Vec::new())));
    }

    /// Carries out a call: WRITE of all of the data, SETATTR of the size through this handle, FLUSH
    /// of a descriptor that is closed, FSYNC, or RELEASE. A failure of RELEASE reaches only the
    /// log.
    fn call(self: Arc<Self>, _host: &Host, call: FileCall, reply: Reply<()>) {
        reply(call.ignored());
    }

    /// Returns the size in bytes as this handle sees the file; `None` if it is the same for all
    /// handles.
    fn size(&self) -> Option<u64> {
        None
    }

    /// Returns the bytes of memory that the file holds until it is closed; called after each call.
    /// Returns `None` while a call makes it hold more.
    fn held_bytes(&self) -> Option<usize> {
        Some(0)
    }

    /// True if a read makes it hold more.
    fn grows_on_read(&self) -> bool {
        false
    }
}

/// Carries out what a text asks for. Gets the thread that wrote last.
pub type TextAction = Box<dyn FnOnce(&Host, u32, VersionReply) + Send>;

/// Returns the commit that carries out an action, without warnings.
pub fn action(act: impl FnOnce(&Host, u32, VersionReply) + Send + 'static) -> Commit<TextAction> {
    Commit {
        request: Box::new(act),
        warnings: Vec::new(),
    }
}

/// Reads a text, which is edited under a precondition or written anew.
type ReadText = dyn Fn(&[u8], Option<Precondition>) -> Result<Commit<TextAction>> + Send + Sync;

/// A file that takes a text and is no item.
pub struct TextFile {
    read: Box<ReadText>,
    check: Box<dyn Fn() -> Box<dyn TextCheck> + Send + Sync>,
    is_statement: bool,
    unchanged: &'static str,
}

opaque_debug!(TextFile);

impl TextFile {
    /// Makes a file that takes a JSON object. `unchanged` is the last sentence of a refusal.
    #[must_use]
    pub fn new(
        unchanged: &'static str,
        read: impl Fn(&[u8], Option<Precondition>) -> Result<Commit<TextAction>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            read: Box::new(read),
            check: Box::new(|| Box::new(JsonPrefix::new())),
            is_statement: false,
            unchanged,
        }
    }

    /// Makes it take what another check accepts.
    #[must_use]
    pub fn with_check<C: TextCheck + 'static>(
        self,
        check: impl Fn() -> C + Send + Sync + 'static,
    ) -> Self {
        Self {
            check: Box::new(move || Box::new(check())),
            ..self
        }
    }

    /// Makes it take a text from its beginning to its end, once.
    #[must_use]
    pub fn statement(self) -> Self {
        Self {
            is_statement: true,
            ..self
        }
    }
}

impl TextTarget for TextFile {
    type Request = TextAction;

    fn request(
        &self,
        text: &[u8],
        precondition: Option<Precondition>,
    ) -> Result<Commit<TextAction>> {
        (self.read)(text, precondition)
    }

    fn check(&self) -> Box<dyn TextCheck> {
        (self.check)()
    }

    fn is_statement(&self) -> bool {
        self.is_statement
    }

    fn unchanged(&self) -> &'static str {
        self.unchanged
    }
}

impl ExecuteText for TextFile {
    fn execute(host: &Host, open: &Arc<OpenText<Self>>, act: TextAction, reply: VersionReply) {
        act(host, open.writer(), reply);
    }
}

impl SpecialHandle for OpenText<TextFile> {
    fn read(self: Arc<Self>, _host: &Host, offset: u64, size: usize, reply: Reply<ReadBytes>) {
        let bytes = self.state.lock().writer.read(offset, size).to_vec();
        reply(Ok(ReadBytes::owned(bytes)));
    }

    fn call(self: Arc<Self>, host: &Host, call: FileCall, reply: Reply<()>) {
        let reply = if matches!(call, FileCall::Release) {
            log_failure(reply, self.path.clone())
        } else {
            reply
        };
        run_text_call(host, &self, call, reply);
    }

    fn size(&self) -> Option<u64> {
        Some(self.state.lock().writer.len() as u64)
    }

    fn held_bytes(&self) -> Option<usize> {
        Some(Self::held_bytes(self))
    }
}

/// Wraps the reply to a RELEASE so that a failure is logged: no program receives it.
pub fn log_failure(reply: Reply<()>, path: String) -> Reply<()> {
    Box::new(move |ended| {
        if let Err(error) = &ended {
            log::warn!("{path}: text left at the last close was not stored: {error}");
        }
        reply(ended);
    })
}
