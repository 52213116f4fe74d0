//! Calls on files open for writing: what their state machine asks for is performed here.

use std::sync::Arc;

use super::put::key_of;
use super::{Caller, Reply, View};
use crate::fs::FsError;
use crate::fs::handle::{OpenState, OpenText};
use crate::fs::journal::same_process;
use crate::fs::node::Node;
use crate::fs::write::{Commit, Failure, ItemTarget, TEXT_BYTES_MAX, Target, WriteStep};
use crate::model::Error;
use crate::model::api::{Precondition, PutItemRequest, Version};

/// A call on an open text.
#[derive(Debug)]
pub enum Call {
    Write { offset: u64, data: Vec<u8> },
    Truncate(u64),
    Flush,
    Fsync,
    Release,
}

impl Call {
    pub(super) fn is_flush(&self) -> bool {
        matches!(self, Self::Flush)
    }

    fn name(&self) -> &'static str {
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
pub trait Performer: Target + Sized + Send + 'static {
    /// Starts it; `done` hears of the outcome.
    fn perform(view: &Arc<View>, open: &Arc<OpenText<Self>>, request: Self::Request, done: Outcome);

    /// The text was refused before any request was made of it.
    fn refused(_view: &View, _open: &OpenText<Self>) {}

    /// Tells more of a refused request than its error says.
    fn explained(_view: &View, _open: &OpenText<Self>, failure: Failure) -> Failure {
        failure
    }
}

/// Told the version stored by a request.
pub type Outcome = Box<dyn FnOnce(Result<Version, Error>) + Send>;

impl View {
    /// Runs a call on an open text, after the calls before it.
    pub(in crate::fs) fn run<T: Performer>(
        self: &Arc<Self>,
        caller: Caller,
        open: &Arc<OpenText<T>>,
        call: Call,
        reply: Reply<()>,
    ) {
        let mut state = open.state.lock();
        if state.committing {
            let (view, again) = (Arc::clone(self), Arc::clone(open));
            state.waiting.push_back(Box::new(move || view.run(caller, &again, call, reply)));
            return;
        }
        let operation = call.name();
        if matches!(call, Call::Write { .. }) {
            open.written_by(caller.pid);
        }
        match step(&mut state, open.opener, caller, call) {
            WriteStep::Done => {
                drop(state);
                reply(Ok(()));
            }
            WriteStep::Fail(failure) => {
                drop(state);
                T::refused(self, open);
                reply(Err(self.noted_failure(caller, operation, &open.path, failure)));
            }
            WriteStep::FailAgain(error) => {
                drop(state);
                reply(Err(error));
            }
            WriteStep::Commit(Commit { request, warnings }) => {
                state.committing = true;
                drop(state);
                self.warn(&open.path, warnings);
                let (view, again) = (Arc::clone(self), Arc::clone(open));
                let done: Outcome = Box::new(move |outcome| {
                    view.finish(&again, outcome, |view, ended| {
                        reply(ended.map_err(|failure| view.noted_failure(caller, operation, &again.path, failure)))
                    })
                });
                T::perform(self, open, request, done);
            }
        }
    }

    /// The commit ended: its call is answered, then those that waited go on.
    fn finish<T: Performer>(
        self: &Arc<Self>,
        open: &Arc<OpenText<T>>,
        outcome: Result<Version, Error>,
        answer: impl FnOnce(&Self, Result<(), Failure>),
    ) {
        let (ended, waiting) = {
            let mut state = open.state.lock();
            let ended = state.writer.committed(outcome);
            state.committing = false;
            (ended, std::mem::take(&mut state.waiting))
        };
        answer(self, ended.map_err(|failure| T::explained(self, open, failure)));
        // One of them may commit again; the rest then queue up behind it in their order.
        for call in waiting {
            call();
        }
    }
}

fn step<T: Target>(state: &mut OpenState<T>, opener: u32, caller: Caller, call: Call) -> WriteStep<T::Request> {
    match call {
        Call::Write { offset, data } => state.writer.write(offset, &data),
        Call::Truncate(size) => state.writer.truncate(size),
        Call::Flush if same_process(opener, caller.pid) => state.writer.flush(opener),
        Call::Flush => state.writer.flush(caller.pid),
        Call::Fsync => state.writer.fsync(),
        Call::Release => state.writer.release(),
    }
}

impl Performer for ItemTarget {
    fn refused(view: &View, open: &OpenText<Self>) {
        let target = open.state.lock().writer.target().clone();
        view.bring_back(&target);
    }

    fn explained(view: &View, open: &OpenText<Self>, failure: Failure) -> Failure {
        let state = open.state.lock();
        let (target, since, unchanged) = (state.writer.target().clone(), state.writer.held_against(), state.writer.unchanged());
        drop(state);
        match (&failure.error, key_of(&target), since) {
            (FsError::Stale | FsError::OtherVersion, Some(key), Some(since)) => {
                let report = view.stale_report(&failure.error, (&target.table, &key), since, unchanged);
                Failure { report, ..failure }
            }
            _ => failure,
        }
    }

    fn perform(view: &Arc<View>, open: &Arc<OpenText<Self>>, mut request: PutItemRequest, done: Outcome) {
        let (table, writer) = (request.table_name.clone(), open.writer());
        let key = request.item.key(&open.state.lock().writer.target().key_schema);
        let known = key.as_ref().and_then(|key| view.known_version(&table, key, writer));
        let mut text = None;
        if let Some(version) = known {
            let mut state = open.state.lock();
            state.writer.guard(version);
            text = Some((state.writer.target().form, state.writer.read(0, TEXT_BYTES_MAX).to_vec()));
            request.precondition.get_or_insert(Precondition::VersionOrAbsent(version));
        }
        let (again, open) = (Arc::clone(view), Arc::clone(open));
        view.put(
            request,
            writer,
            Box::new(move |outcome| match (&outcome, &key) {
                (Ok(version), Some(_)) => {
                    again.creations.remove(&open);
                    if let Some((form, text)) = &text {
                        again.keep_text(*version, *form, text);
                    }
                    done(outcome);
                }
                (Err(_), _) => {
                    let view = Arc::clone(&again);
                    again.run_elsewhere(Box::new(move || {
                        Self::refused(&view, &open);
                        done(outcome);
                    }));
                }
                (Ok(_), None) => done(outcome),
            }),
        );
    }
}

impl View {
    /// PutItem of nothing but the key: `touch` of a new name.
    pub(super) fn put_key(self: &Arc<Self>, caller: Caller, node: &Node, reply: Reply<()>) {
        let Node::Entry(entry) = node else {
            return reply(Err(FsError::Body("the name is shortened: write the item with its key in it".to_owned())));
        };
        let (table, key) = (entry.source.table.clone(), entry.key.base.clone());
        let schema = match self.tree.schema(&table) {
            Ok(schema) => schema,
            Err(error) => return reply(Err(error)),
        };
        let mut request = PutItemRequest::new(table, key.to_item(&schema.key));
        request.precondition = Some(Precondition::Absent);
        let (view, path) = (Arc::clone(self), self.tree.path(node));
        self.put(
            request,
            caller.pid,
            Box::new(move |outcome| {
                let ended = match outcome {
                    // Somebody else was first: the name exists, as touch wants it.
                    Ok(_) | Err(Error::ConditionalCheckFailed { .. }) => Ok(()),
                    Err(error) => Err(FsError::Database(error)),
                };
                reply(view.noted_at(caller, "touch", || path, ended));
            }),
        );
    }
}
