//! The write path: queues a change as a job for the single writer thread, and delivers its outcome
//! after the commit to a callback or a waiting thread. Nothing is written in any other way.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::Duration,
};

use super::{
    shared::EngineShared,
    transaction::{SpaceEffect, Transaction},
    value_memory::ValueMemory,
};
use crate::engine::{meter::Charges, prelude::*};
use crate::model::api::{
    CallContext, ChangeOrigin, CommitEvent, CommitInline, Completion, EndedSource, WaitPolicy,
    WrittenItem,
};
use crate::store::WriteJob;

/// The interval at which a thread that waits for a write checks for the end of the engine.
const END_POLL: Duration = Duration::from_millis(20);

impl EngineShared {
    /// Queues a change; `done` gets its outcome after the commit.
    pub(crate) fn submit<T, F>(self: &Arc<Self>, mut run: F, done: Completion<T>)
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
    {
        self.submit_checked(Ok(()), move |transaction, ()| run(transaction), done);
    }

    /// Queues a change with the parsed request; calls `done` at once if the request is invalid.
    pub(crate) fn submit_checked<C, T, F>(
        self: &Arc<Self>,
        checked: Result<C, Error>,
        mut run: F,
        done: Completion<T>,
    ) where
        C: Send + 'static,
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>, &C) -> Result<T, Error> + Send + 'static,
    {
        let checked = match checked {
            Ok(checked) => checked,
            Err(error) => return done.complete(Err(error)),
        };
        // Only this function is compiled for each operation: the boxed change has no type
        // parameters.
        let value = Arc::new(Mutex::new(None));
        let of_run = Arc::clone(&value);
        let run: BoxedChange = Box::new(move |transaction| {
            run(transaction, &checked).map(|found| *of_run.lock() = Some(found))
        });
        let done = done.after(move |outcome: Result<(), Error>| {
            outcome.and_then(|()| value.lock().take().ok_or(CLOSED))
        });
        self.store
            .submit(SubmittedChange::new(Arc::clone(self), run, done));
    }

    /// Queues a change; the returned handle gets its outcome after the commit.
    fn submit_pending<T, F>(self: &Arc<Self>, context: CallContext, run: F) -> PendingChange<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
    {
        let ((end, ended), value) = (sync_channel(1), Arc::new(Mutex::new(None)));
        let of_done = Arc::clone(&value);
        let done = move |outcome| {
            *of_done.lock() = Some(outcome);
            // There is no receiver if the engine ended meanwhile.
            let _ = end.send(());
        };
        self.submit(run, Completion::new(context, done));
        PendingChange { value, ended }
    }

    /// Runs a change and waits for its commit.
    pub(crate) fn submit_and_wait<T, F>(self: &Arc<Self>, run: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
    {
        self.submit_and_wait_with(WaitPolicy::default(), run)
    }

    /// Runs a change as [`Self::submit_and_wait`] does, for a caller with its own policy of waiting
    /// for observers.
    pub(crate) fn submit_and_wait_with<T, F>(
        self: &Arc<Self>,
        wait: WaitPolicy,
        run: F,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
    {
        let pending = self.submit_pending(
            CallContext {
                wait,
                ..CallContext::default()
            }
            .blocking(),
            run,
        );
        // An error means that the job was dropped; the slot is empty then.
        let _ = pending.ended.recv();
        pending.outcome()
    }

    /// Runs a change as [`Shared::submit_and_wait`] does, but stops waiting when the engine ends.
    pub(crate) fn submit_in_background<T, F>(self: &Arc<Self>, run: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
    {
        let pending = self.submit_pending(CallContext::default(), run);
        // Not an unbounded wait: a `done` may drop the engine on the writer thread, which then
        // joins this thread in `Background::end` and would never reach the write.
        while pending.ended.recv_timeout(END_POLL) == Err(RecvTimeoutError::Timeout) {
            if self.signal.is_ending() {
                return Err(CLOSED);
            }
        }
        pending.outcome()
    }
}

/// A change that a thread waits for. The channel carries only its end, so that it is compiled once.
struct PendingChange<T> {
    value: Arc<Mutex<Option<Result<T, Error>>>>,
    ended: Receiver<()>,
}

impl<T> PendingChange<T> {
    fn outcome(self) -> Result<T, Error> {
        self.value.lock().take().unwrap_or(Err(CLOSED))
    }
}

/// The change of one operation. It may run more than once, and must not write before it has decided
/// to succeed: a refusal leaves the transaction to the other jobs in it.
type BoxedChange = Box<dyn FnMut(&mut Transaction<'_>) -> Result<(), Error> + Send>;

/// The outcome of a change that was dropped.
const CLOSED: Error = Error::Store(StoreError::Closed);

/// A change on its way through the store.
struct SubmittedChange {
    shared: Arc<EngineShared>,
    run: BoxedChange,
    outcome: Option<Result<(), Error>>,
    /// The charges of the last run.
    charges: Charges,
    /// True if the last run only removed.
    is_removal: bool,
    /// The items written by the last run.
    written: Vec<WrittenItem>,
    ended: Vec<EndedSource>,
    done: Completion<()>,
}

impl SubmittedChange {
    fn new(shared: Arc<EngineShared>, run: BoxedChange, done: Completion<()>) -> Box<Self> {
        Box::new(Self {
            shared,
            run,
            outcome: None,
            charges: Charges::default(),
            is_removal: false,
            written: Vec::new(),
            ended: Vec::new(),
            done,
        })
    }
}

impl WriteJob for SubmittedChange {
    fn run(&mut self, batch: &mut dyn Write) -> Result<(), StoreError> {
        // All state begins anew: the store runs a job again after its map grew, or after another
        // job of the batch failed.
        let written =
            (self.done.context.listener.is_some() || self.shared.observers.any()).then(Vec::new);
        let (origin, charges, space_effect) = (
            ChangeOrigin::Client,
            Charges {
                is_bulk: self.done.context.is_bulk,
                ..Charges::default()
            },
            SpaceEffect::default(),
        );
        let (ended, value_memory) = (Vec::new(), ValueMemory::default());
        let mut transaction = Transaction {
            batch,
            shared: &self.shared,
            origin,
            charges,
            value_memory,
            space_effect,
            written,
            ended,
        };
        let outcome = (self.run)(&mut transaction);
        self.is_removal = transaction.space_effect == SpaceEffect::Removal;
        self.charges = transaction.charges;
        self.written = transaction.written.unwrap_or_default();
        self.ended = transaction.ended;
        match outcome {
            // Only an error of the store aborts the transaction, which other jobs share. A refusal
            // is an outcome like any other.
            Err(Error::Store(error)) => Err(error),
            outcome => {
                self.outcome = Some(outcome);
                Ok(())
            }
        }
    }

    fn is_removal(&self) -> bool {
        self.is_removal
    }

    fn commit_inline(&self) -> Option<CommitInline> {
        self.done.context.commit_inline
    }

    fn done(self: Box<Self>, result: Result<(), StoreError>) {
        if result.is_ok()
            && let Some(commit) = self.shared.batch.mark_committed()
        {
            self.shared.catalog.advance(commit);
        }
        let outcome = match (result, self.outcome) {
            (Err(error), _) => Err(Error::Store(error)),
            (Ok(()), Some(outcome)) => outcome,
            (Ok(()), None) => Err(CLOSED),
        };
        // Before the caller gets the answer: it then finds the write counted, and can tell its own
        // write from those of others.
        let is_committed = !matches!(outcome, Err(Error::Store(_)));
        if is_committed {
            self.charges
                .count(self.shared.now_ms(), outcome.as_ref().err());
            // A batch may have written some of its items and still fail.
            if let Some(listener) = &self.done.context.listener {
                self.written
                    .iter()
                    .for_each(|item| listener.on_write(&item.table, &item.key, item.version));
            }
        }
        let (wait, done, observers) = (self.done.context.wait, self.done, &self.shared.observers);
        let (items, ended) = (self.written, self.ended);
        let then = move || done.complete(outcome);
        if is_committed && observers.any() && !(items.is_empty() && ended.is_empty()) {
            observers.notify(CommitEvent { items, ended, wait }, Box::new(then));
        } else {
            then();
        }
    }
}
