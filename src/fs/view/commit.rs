//! Calls on files open for writing: what their state machine asks for is performed here.

use std::sync::Arc;

use super::{Caller, Reply, View};
use crate::codec::key::partition_digest;
use crate::fs::FsError;
use crate::fs::handle::{OpenState, OpenText};
use crate::fs::journal::same_process;
use crate::fs::node::{AliasFolder, Node, base};
use crate::fs::special::last;
use crate::fs::write::{Commit, Failure, ItemTarget, KeyPart, Target, WriteStep};
use crate::model::api::{Precondition, PutItemRequest, Version};
use crate::model::{Error, Key, TableName};

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
        answer(self, ended);
        // One of them may commit again; the rest then queue up behind it in their order.
        for call in waiting {
            call();
        }
    }

    /// An item was put through the mount: it is not being created, hidden or waiting for its delete any more.
    pub(super) fn item_stored(&self, table: &TableName, key: &Key) {
        let mut folders = self.tree.folders.lock();
        if folders.since(table, &key.partition).is_some() {
            folders.remove(table, &key.partition);
        }
        let known = folders.has_aliases(table).then(|| partition_digest(&[&key.partition]));
        let Some((digest, name)) = known.and_then(|digest| Some((digest, folders.remove_alias(table, &digest)?))) else { return };
        drop(folders);
        // The folder's files in memory go with it.
        let folder = Node::AliasFolder(Box::new(AliasFolder { table: table.clone(), digest, name }));
        let collection = Node::Collection(base(table), vec![key.partition.clone()]);
        self.tree.scratch.lock().move_directory(&folder, &collection);
    }

    /// An item that was renamed away and could not be written anew stays as it was.
    pub(super) fn bring_back(&self, target: &ItemTarget) {
        if !self.tree.hides_any() {
            return;
        }
        let sort = match &target.key.sort {
            Some(KeyPart::Value(value)) => Some(value.clone()),
            Some(KeyPart::Digest(_)) => return,
            None => None,
        };
        let KeyPart::Value(partition) = &target.key.partition else { return };
        let place = (target.table.clone(), Key { partition: partition.clone(), sort });
        let _not_deleting = self.keeper.deleting.lock();
        self.tree.with_deferred(|deferred| deferred.cancel(&place));
    }

    /// Takes back a waiting delete of this item, since it is written again. A put that must find no item finds the hidden one.
    pub(super) fn revive(&self, table: &TableName, key: &Key, precondition: Option<Precondition>) -> Option<Precondition> {
        if !self.tree.hides_any() {
            return precondition;
        }
        let place = (table.clone(), key.clone());
        let _not_deleting = self.keeper.deleting.lock();
        self.tree.with_deferred(|deferred| {
            let hidden = deferred.hidden_version(&place);
            deferred.cancel(&place);
            match (hidden, precondition) {
                (Some(version), Some(Precondition::Absent)) => Some(Precondition::Version(version)),
                (_, precondition) => precondition,
            }
        })
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

    fn perform(view: &Arc<View>, open: &Arc<OpenText<Self>>, mut request: PutItemRequest, done: Outcome) {
        let (schema, table) = {
            let state = open.state.lock();
            (state.writer.target().key_schema.clone(), request.table_name.clone())
        };
        let key = request.item.key(&schema);
        if let Some(key) = &key {
            request.precondition = view.revive(&table, key, request.precondition);
        }
        let (view, open) = (Arc::clone(view), Arc::clone(open));
        let db = Arc::clone(&view.tree.db);
        let session = view.tree.service.last.session(open.opener);
        db.put_item_then(
            request,
            Box::new(move |outcome| {
                let answer = outcome.as_ref().map(|response| last::of_put(&table, response));
                view.tree.service.last.keep_write(session, "PutItem", answer);
                if outcome.is_ok() {
                    view.creations.remove(&open);
                    if let Some(key) = &key {
                        view.item_stored(&table, key);
                    }
                }
                done(outcome.map(|response| response.version));
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
        let mut request = PutItemRequest::new(table.clone(), key.to_item(&schema.key));
        request.precondition = self.revive(&table, &key, Some(Precondition::Absent));
        let (view, path) = (Arc::clone(self), self.tree.path(node));
        self.tree.db.put_item_then(
            request,
            Box::new(move |outcome| {
                let ended = match outcome {
                    // Somebody else was first: the name exists, as touch wants it.
                    Ok(_) | Err(Error::ConditionalCheckFailed { .. }) => Ok(()),
                    Err(error) => Err(FsError::Database(error)),
                };
                if ended.is_ok() {
                    view.item_stored(&table, &key);
                }
                reply(view.noted_at(caller, "touch", || path, ended));
            }),
        );
    }
}
