//! Commits of items: what the text of an item file asks for is performed here.

use super::View;
use crate::fs::open::prelude::*;
use crate::fs::source::entry::{item_number, key_of};
use crate::fs::write::TEXT_BYTES_MAX;
use crate::fs::{
    open::{
        host::{Work, on_behalf_of},
        text::Execute,
    },
    write::{Failure, ItemTarget},
};
use crate::model::api::Call;
use crate::model::api::{CallContext, DeleteItemRequest, DeleteItemResponse, Done, PutItemRequest};

impl Execute<View> for ItemTarget {
    fn refused(view: &Arc<View>, open: &OpenText<Self>, wait: WaitPolicy, then: Work) {
        let (target, made) = {
            let mut state = open.state.lock();
            (state.writer.target().clone(), state.writer.take_made())
        };
        view.bring_back(&target);
        match (made, key_of(&target)) {
            (Some(version), Some(key)) => view.unmake(&target, (key, version), on_behalf_of(&**view, open.writer(), wait), then),
            _ => then(),
        }
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
        let context = done.context.clone();
        view.put_item(
            request,
            writer,
            Outcome::new(context, move |outcome| match (&outcome, &key) {
                (Ok(version), Some(_)) => {
                    // Now the name is the stored item's; before the caller hears, whose next stat must not be answered from the
                    // handle.
                    again.creations.remove(&open);
                    {
                        let state = open.state.lock();
                        again.keep_written(state.writer.target(), *version, state.writer.read(0, TEXT_BYTES_MAX));
                    }
                    if let Some((form, text)) = &text {
                        again.keep_text(*version, *form, text);
                    }
                    done.tell(outcome);
                }
                (Err(_), _) => {
                    let view = Arc::clone(&again);
                    // Bringing back may wait for the lock of the deletes, which the committer must not.
                    again.run_elsewhere(Box::new(move || {
                        Self::refused(&view, &open, done.context.wait, Box::new(move || done.tell(outcome)));
                    }));
                }
                (Ok(_), None) => done.tell(outcome),
            }),
        );
    }
}

impl View {
    /// With `-o keep_text` the item is shown as this text, which made that version; unless its key is another.
    pub(super) fn keep_written(&self, target: &ItemTarget, version: Version, text: &[u8]) {
        let is_kept = self.mount.options.keep_text && target.form == TextForm::PlainJson;
        let Some(key) = is_kept.then(|| key_of(target)).flatten() else { return };
        let place = (item_number(&target.table, &key), version);
        if self.mount.written.get(place).is_some_and(|kept| kept.as_slice() == text) {
            return;
        }
        let of_name = key.to_item(&target.key_schema);
        let says_key = |item: Item| of_name.0.iter().all(|(name, value)| item.get(name).is_none_or(|own| own == value));
        if plain_json::parse(text).is_ok_and(says_key) {
            self.mount.written.keep(place, text);
        }
    }

    /// White space that is written after an object belongs to its text, and makes no other version: the file has it when the write
    /// returns.
    pub(super) fn keeping_whole(self: &Arc<Self>, open: &Arc<OpenText<ItemTarget>>, reply: Reply<()>) -> Reply<()> {
        if !self.mount.options.keep_text {
            return reply;
        }
        let (view, open) = (Arc::clone(self), Arc::clone(open));
        Box::new(move |written| {
            let state = open.state.lock();
            if let Some(version) = state.writer.stored() {
                view.keep_written(state.writer.target(), version, state.writer.read(0, TEXT_BYTES_MAX));
            }
            drop(state);
            reply(written);
        })
    }

    /// A created file that nothing was written to is an item from now on: `touch` of a new name, `: > X.json`.
    pub(super) fn make_untouched(self: &Arc<Self>, caller: Caller, open: &Arc<OpenText<ItemTarget>>, reply: Reply<()>) {
        let (view, again) = (Arc::clone(self), Arc::clone(open));
        let request = key_request(open.state.lock().writer.target());
        let reply: Reply<()> = Box::new(move |ended| {
            view.creations.remove(&again);
            reply(view.noted_at(caller, "create", || again.path.clone(), ended));
        });
        let request = match request {
            Ok(request) => request,
            Err(error) => return reply(Err(error)),
        };
        let (view, ino) = (Arc::clone(self), open.ino);
        let done = Outcome::new(on_behalf_of(&**self, caller.pid, caller.wait), move |outcome| {
            reply(match outcome {
                Ok(version) => {
                    view.creations.made_empty(ino, version);
                    Ok(())
                }
                // Somebody else was first: the name exists, as it should.
                Err(Error::ConditionalCheckFailed { .. }) => Ok(()),
                Err(error) => Err(FsError::Database(error)),
            });
        });
        self.put_item(request, caller.pid, done);
    }

    /// Makes an item of nothing but the key, before anybody else does.
    ///
    /// # Errors
    /// `Exists`; those of the put.
    pub(super) fn make_exclusive(self: &Arc<Self>, caller: Caller, target: &ItemTarget) -> Result<Version, FsError> {
        let request = key_request(target)?;
        match wait(on_behalf_of(&**self, caller.pid, caller.wait), |done| self.put_item(request, caller.pid, done)) {
            Err(Error::ConditionalCheckFailed { .. }) => Err(FsError::Exists),
            made => Ok(made?),
        }
    }

    /// Takes back what the opening of a file made, whose text was refused: unless somebody else changed it.
    fn unmake(self: &Arc<Self>, target: &ItemTarget, (key, version): (Key, Version), context: CallContext, then: Work) {
        let mut request = DeleteItemRequest::new(target.table.clone(), key.to_item(&target.key_schema));
        request.precondition = Some(Precondition::Version(version));
        let (view, table) = (Arc::clone(self), target.table.clone());
        let done = Done::new(context, move |outcome: Result<DeleteItemResponse, Error>| {
            match outcome {
                Ok(_) if key.sort.is_some() => {
                    view.mount.folders.lock().keep(&table, &key.partition, now_ms());
                }
                Ok(_) | Err(Error::ConditionalCheckFailed { .. }) => {}
                Err(error) => log::warn!("{table}: an item of nothing but its key stays, whose text was refused: {error}"),
            }
            then();
        });
        self.mount.db.start(Call::DeleteItem(request, done));
    }
}

/// PutItem of nothing but the key, where there is no item.
fn key_request(target: &ItemTarget) -> Result<PutItemRequest, FsError> {
    let problem = || FsError::Body("the name is shortened: write the item with its key in it".to_owned());
    let key = key_of(target).ok_or_else(problem)?;
    let mut request = PutItemRequest::new(target.table.clone(), key.to_item(&target.key_schema));
    request.precondition = Some(Precondition::Absent);
    Ok(request)
}
