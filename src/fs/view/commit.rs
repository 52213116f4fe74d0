//! Commits of items: what the text of an item file asks for is performed here.

use std::sync::Arc;

use super::View;
use crate::fs::FsError;
use crate::fs::node::Node;
use crate::fs::open::Outcome;
use crate::fs::open::Reply;
use crate::fs::open::host::Host;
use crate::fs::open::text::{Execute, OpenText};
use crate::fs::process::Caller;
use crate::fs::source::entry::key_of;
use crate::fs::write::{Failure, ItemTarget, TEXT_BYTES_MAX};
use crate::model::Error;
use crate::model::api::{Precondition, PutItemRequest};

impl Execute<View> for ItemTarget {
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

    fn execute(view: &Arc<View>, open: &Arc<OpenText<Self>>, mut request: PutItemRequest, done: Outcome) {
        let (table, writer) = (request.table_name.clone(), open.writer());
        let key = request.item.key(&open.state.lock().writer.target().key_schema);
        let known = key.as_ref().and_then(|key| view.known_version(&table, key, writer));
        let mut text = None;
        if let Some(version) = known {
            let mut state = open.state.lock();
            state.writer.guard(version);
            text = Some((state.writer.target().form, state.writer.read(0, TEXT_BYTES_MAX).to_vec()));
            // Or absent: where there is nothing, nothing of anybody's is undone.
            request.precondition.get_or_insert(Precondition::VersionOrAbsent(version));
        }
        let (again, open) = (Arc::clone(view), Arc::clone(open));
        view.put_item(
            request,
            writer,
            Box::new(move |outcome| match (&outcome, &key) {
                (Ok(version), Some(_)) => {
                    // Now the name is the stored item's; before the caller hears, whose next stat must not be answered from the
                    // handle.
                    again.creations.remove(&open);
                    if let Some((form, text)) = &text {
                        again.keep_text(*version, *form, text);
                    }
                    done(outcome);
                }
                (Err(_), _) => {
                    let view = Arc::clone(&again);
                    // Bringing back may wait for the lock of the deletes, which the committer must not.
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
        let schema = match self.mount.schema(&table) {
            Ok(schema) => schema,
            Err(error) => return reply(Err(error)),
        };
        let mut request = PutItemRequest::new(table, key.to_item(&schema.key));
        request.precondition = Some(Precondition::Absent);
        let (view, path) = (Arc::clone(self), self.mount.path(node));
        self.put_item(
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
