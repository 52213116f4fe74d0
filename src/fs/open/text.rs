//! The calls on an open file that holds one text, which commit by the write state machine of [`crate::fs::write`]; and [`OpenSpecial`], the
//! calls on any other open file that is neither an item nor a text as it is.

use std::fmt;

use super::host::{Host, on_behalf_of};
use super::open_text::{OpenState, OpenText};
use super::{Bytes, Outcome, Reply};
use crate::database::pool::Work;
use crate::fs::{
    prelude::*,
    process::same_process,
    write::{Commit, Failure, Target, WriteStep},
};

/// A call on an open file that changes it, or ends what was changed.
#[derive(Debug)]
pub enum Call {
    Write { offset: u64, data: Vec<u8> },
    Truncate(u64),
    Flush,
    Fsync,
    Release,
}

impl Call {
    pub fn is_flush(&self) -> bool {
        matches!(self, Self::Flush)
    }

    /// Returns the answer of a file that takes no changes.
    ///
    /// # Errors
    /// `BadHandle` if the call is a write.
    pub fn of_nothing(&self) -> Result<()> {
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
pub trait Execute: Target + Sized + Send + 'static {
    /// Starts the request; `done` is called with its outcome. The caller waits for it, and holds no
    /// lock.
    fn execute(host: &Host, open: &Arc<OpenText<Self>>, request: Self::Request, done: Outcome);

    /// Undoes what the open made, after the text was refused before any request. Calls `then` at
    /// once or later.
    fn refused(_host: &Host, _open: &OpenText<Self>, _wait: WaitPolicy, then: Work) {
        then();
    }

    /// Adds to the report of a refused request more than its error says.
    fn explained(_host: &Host, _open: &OpenText<Self>, failure: Failure) -> Failure {
        failure
    }
}

/// Runs a call on an open text, after the calls before it.
pub fn run<T: Execute>(host: &Host, open: &Arc<OpenText<T>>, call: Call, reply: Reply<()>) {
    let caller = host.mount.caller;
    let mut state = open.state.lock();
    if state.turns.is_taken() {
        let (host, again) = (host.clone(), Arc::clone(open));
        state
            .turns
            .wait(Box::new(move || run(&host, &again, call, reply)));
        return;
    }
    let operation = call.name();
    // The thread that wrote last counts, not the one that opened: a shell opens, its child writes,
    // and the child's reads matter.
    if matches!(call, Call::Write { .. }) {
        open.written_by(caller.pid);
    }
    match advance(&mut state, open.opener, caller, call) {
        WriteStep::Done => {
            drop(state);
            reply(Ok(()));
        }
        WriteStep::Fail(failure) => {
            drop(state);
            // Before the reply: an item that was renamed away is back when the caller hears that its text was not taken.
            let error = host.record(operation, open.path.clone(), failure);
            T::refused(host, open, caller.wait, Box::new(move || reply(Err(error))));
        }
        WriteStep::FailAgain(error) => {
            drop(state);
            reply(Err(FsError::Again(Box::new(error))));
        }
        WriteStep::Commit(Commit { request, warnings }) => {
            // From here to `finish` later calls wait. The lock itself must not be held: the
            // committer takes it to end the commit.
            state.turns.take();
            drop(state);
            host.mount.journal.warn(&open.path, warnings);
            let (again, of_done) = (host.clone(), Arc::clone(open));
            let context = on_behalf_of(host, open.writer(), caller.wait).waited();
            let done =
                Outcome::new(context, move |outcome| {
                    finish(&again, &of_done, outcome, |ended| {
                        reply(ended.map_err(|failure| {
                            again.record(operation, of_done.path.clone(), failure)
                        }));
                    });
                });
            T::execute(host, open, request, done);
        }
    }
}

/// Answers the call that was being committed, then runs the calls that waited.
fn finish<T: Execute>(
    host: &Host,
    open: &OpenText<T>,
    outcome: Result<Version, Error>,
    answer: impl FnOnce(Result<(), Failure>),
) {
    let (ended, waiting) = {
        let mut state = open.state.lock();
        let ended = state.writer.committed(outcome);
        (ended, state.turns.give())
    };
    answer(ended.map_err(|failure| T::explained(host, open, failure)));
    for call in waiting {
        call();
    }
}

fn advance<T: Target>(
    state: &mut OpenState<T>,
    opener: u32,
    caller: Caller,
    call: Call,
) -> WriteStep<T::Request> {
    match call {
        Call::Write { offset, data } => state.writer.write(offset, &data),
        Call::Truncate(size) => state.writer.truncate(size),
        Call::Flush if same_process(opener, caller.pid) => state.writer.flush(opener),
        Call::Flush => state.writer.flush(caller.pid),
        Call::Fsync => state.writer.fsync(),
        Call::Release => state.writer.release(),
    }
}

/// An open special file. Every call is answered through its reply, now or later, from any thread.
pub trait OpenSpecial: fmt::Debug + Send + Sync {
    /// Reads the bytes at `offset`, fewer than `size` only at the end.
    fn read(self: Arc<Self>, _host: &Host, _offset: u64, _size: usize, reply: Reply<Bytes>) {
        reply(Ok(Bytes::own(Vec::new())));
    }

    /// Carries out a call: WRITE of all of the data, SETATTR of the size through this handle, FLUSH
    /// of a descriptor that is closed, FSYNC, or RELEASE. A failure of RELEASE reaches only the
    /// log.
    fn call(self: Arc<Self>, _host: &Host, call: Call, reply: Reply<()>) {
        reply(call.of_nothing());
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
    fn reads_ahead(&self) -> bool {
        false
    }
}

impl<T: Execute + fmt::Debug + Sync> OpenSpecial for OpenText<T>
where
    T::Request: Send,
{
    fn read(self: Arc<Self>, _host: &Host, offset: u64, size: usize, reply: Reply<Bytes>) {
        let bytes = self.state.lock().writer.read(offset, size).to_vec();
        reply(Ok(Bytes::own(bytes)));
    }

    fn call(self: Arc<Self>, host: &Host, call: Call, reply: Reply<()>) {
        let reply = if matches!(call, Call::Release) {
            logged(reply, self.path.clone())
        } else {
            reply
        };
        run(host, &self, call, reply);
    }

    fn size(&self) -> Option<u64> {
        Some(self.state.lock().writer.len() as u64)
    }

    fn held_bytes(&self) -> Option<usize> {
        Some(Self::held_bytes(self))
    }
}

/// Wraps the reply to a RELEASE so that a failure is logged: no program receives it.
pub fn logged(reply: Reply<()>, path: String) -> Reply<()> {
    Box::new(move |ended| {
        if let Err(error) = &ended {
            log::warn!("{path}: text left at the last close was not stored: {error}");
        }
        reply(ended);
    })
}
