//! Carries out the text of an item's file as a PutItem, and keeps the mount's state about such
//! puts: hidden items, versions that were read, empty folders. `write/item_writer.rs` makes the
//! request, `text.rs` calls this file through [`ExecuteText`].

use super::host::{Host, context_for};
use super::open_text::OpenText;
use super::text::ExecuteText;
use super::{Reply, VersionReply};
use crate::codec::key::partition_digest;
use crate::database::thread_pool::PoolJob;
use crate::fs::{
    mount::call_log,
    node::{AliasFolder, Node, item_ino},
    prelude::*,
    write::{ItemTarget, TEXT_BYTES_MAX, WriteFailure},
};
use crate::model::api::{
    Call, CallContext, Completion, DeleteItemRequest, DeleteItemResponse, PutItemRequest,
    PutItemResponse,
};

impl ExecuteText for ItemTarget {
    fn undo(host: &Host, open: &OpenText<Self>, wait: WaitPolicy, after: PoolJob) {
        let (target, made) = {
            let mut state = open.state.lock();
            (
                state.writer.target().clone(),
                state.writer.take_placeholder(),
            )
        };
        let Some(key) = target.known_key() else {
            return after();
        };
        // An item that was renamed away and could not be written anew stays as it was.
        host.revive_item(&target.table, &key);
        match made {
            Some(version) => host.undo_create(
                &target,
                key,
                version,
                context_for(host, open.writer(), wait),
                after,
            ),
            None => after(),
        }
    }

    fn explain(host: &Host, open: &OpenText<Self>, failure: WriteFailure) -> WriteFailure {
        let state = open.state.lock();
        let (target, since, unchanged) = (
            state.writer.target().clone(),
            state.writer.required_version(),
            state.writer.unchanged(),
        );
        drop(state);
        match (&failure.error, target.known_key(), since) {
            (FsError::Stale | FsError::VersionMismatch, Some(key), Some(since)) => {
                let report = host.read_versions.conflict_report(
                    &host.mount,
                    &failure.error,
                    &target.table,
                    &key,
                    since,
                    unchanged,
                );
                WriteFailure { report, ..failure }
            }
            _ => failure,
        }
    }

    fn execute(
        host: &Host,
        open: &Arc<OpenText<Self>>,
        mut request: PutItemRequest,
        reply: VersionReply,
    ) {
        let writer = open.writer();
        let key = request
            .item
            .key(&open.state.lock().writer.target().key_schema);
        let known = key.as_ref().and_then(|key| {
            host.read_versions
                .version(item_ino(&request.table_name, key), writer)
        });
        let mut text = None;
        if let Some(version) = known {
            let mut state = open.state.lock();
            state.writer.require_version(version);
            text = Some((
                state.writer.target().form,
                state.writer.read(0, TEXT_BYTES_MAX).to_vec(),
            ));
            // Or absent: a put where no item is undoes no other program's change.
            request
                .precondition
                .get_or_insert(Precondition::VersionOrAbsent(version));
        }
        let gathering = key
            .as_ref()
            .filter(|_| known.is_none() && host.mount.options.writeback)
            // An item that was renamed away is put in its own way.
            .filter(|_| !host.mount.has_hidden())
            .filter(|_| open.state.lock().writer.may_end_later(request.precondition))
            .map(|key| host.write_behind("write", &request.table_name, key, open.path.clone()));
        let (host_clone, open) = (host.clone(), Arc::clone(open));
        let context = CallContext {
            gathering,
            ..reply.context.clone()
        };
        let stored = move |outcome: Result<Version, Error>| match outcome {
            Ok(version) => {
                {
                    let state = open.state.lock();
                    host_clone.cache_written_text(
                        state.writer.target(),
                        version,
                        state.writer.read(0, TEXT_BYTES_MAX),
                    );
                }
                if let Some((form, text)) = &text {
                    host_clone.read_versions.try_cache_text(
                        &host_clone.mount,
                        version,
                        *form,
                        text,
                    );
                }
                reply.complete(outcome);
            }
            Err(_) => {
                let host = host_clone.clone();
                // Reviving may wait for the lock of the deletes, which the committer must not do.
                host_clone.run_short(move || {
                    Self::undo(
                        &host,
                        &open,
                        reply.context.wait,
                        Box::new(move || reply.complete(outcome)),
                    );
                });
            }
        };
        host.put_item(request, key, writer, VersionReply::new(context, stored));
    }
}

impl Host {
    /// Starts a PutItem for a thread. The item may be hidden: then it is written again. `key` is
    /// the item's key; `None` if the item lacks it and the database will refuse it.
    pub fn put_item(
        &self,
        mut request: PutItemRequest,
        key: Option<Key>,
        thread: u32,
        reply: VersionReply,
    ) {
        let (table, requested) = (request.table_name.clone(), request.precondition);
        if let Some(key) = &key {
            // Before the put is queued: the hidden item's delete then finds nothing to do, or is
            // queued already and the put comes behind it.
            request.precondition = self.deletes.revive(&table, key, requested);
        }
        // Only a put that must find no item can be refused because of the hidden one; it alone is
        // kept for a second try.
        let retried = (request.precondition != requested).then(|| PutItemRequest {
            precondition: requested,
            ..request.clone()
        });
        let host = self.clone();
        // Looked up now: when the commit is done the process may be gone, and its session with it.
        let session = self.mount.last_responses.session(thread);
        let context = CallContext {
            listener: Some(self.listener(thread)),
            ..reply.context.clone()
        };
        let stored = Completion::new(
            context,
            move |outcome: Result<PutItemResponse, Error>| match (outcome, retried) {
                // The hidden item's delete was under way and came first: there is no item now, as
                // the put requires.
                (Err(Error::ConditionalCheckFailed { .. }), Some(retried)) => {
                    // Not here: this runs on the committer, and a put may have to wait for the lock
                    // of the deletes.
                    let next = host.clone();
                    host.run_short(move || next.put_item(retried, key, thread, reply));
                }
                (outcome, _) => {
                    let answer = outcome
                        .as_ref()
                        .map(|response| call_log::write_response(&table, response));
                    host.mount
                        .last_responses
                        .record_write(session, "PutItem", answer);
                    if let (Ok(_), Some(key)) = (&outcome, &key) {
                        // Before the caller gets the answer: else its next call might see the empty
                        // folder in memory beside the stored one.
                        host.after_put(&table, key);
                    }
                    reply.complete(outcome.map(|response| response.version));
                }
            },
        );
        self.mount.db.start(Call::PutItem(request, stored));
    }

    /// Cancels a waiting delete of this item.
    pub fn revive_item(&self, table: &TableName, key: &Key) {
        self.deletes.revive(table, key, None);
    }

    /// Forgets the folder that was kept in memory for an item, after a put through the mount: the
    /// store has the folder now.
    pub fn after_put(&self, table: &TableName, key: &Key) {
        let mut folders = self.mount.folders.lock();
        if folders.since(table, &key.partition).is_some() {
            folders.remove(table, &key.partition);
        }
        let known = folders
            .has_aliases(table)
            .then(|| partition_digest(&[&key.partition]));
        let Some((digest, name)) =
            known.and_then(|digest| Some((digest, folders.remove_alias(table, &digest)?)))
        else {
            return;
        };
        // The files move under their own lock: no call holds both.
        drop(folders);
        // The folder's files in memory go with it.
        let folder = Node::AliasFolder(Box::new(AliasFolder {
            table: table.clone(),
            digest,
            name,
        }));
        let collection = Node::Collection(SourceName::from(table), vec![key.partition.clone()]);
        self.mount
            .scratch
            .lock()
            .move_directory(&folder, &collection);
    }

    /// Keeps the text that made this version with `-o keep_text`: the item is shown as that text.
    /// Does nothing if the text says another key.
    pub fn cache_written_text(&self, target: &ItemTarget, version: Version, text: &[u8]) {
        let mount = &self.mount;
        let is_kept = mount.options.keep_text && target.form == TextForm::PlainJson;
        let Some(key) = is_kept.then(|| target.known_key()).flatten() else {
            return;
        };
        let place = (item_ino(&target.table, &key), version);
        if mount
            .written_texts
            .get(place)
            .is_some_and(|kept| kept.as_slice() == text)
        {
            return;
        }
        let of_name = key.to_item(&target.key_schema);
        let says_key = |item: Item| {
            of_name
                .0
                .iter()
                .all(|(name, value)| item.get(name).is_none_or(|own| own == value))
        };
        if plain_json::parse(text).is_ok_and(says_key) {
            mount.written_texts.insert(place, text);
        }
    }

    /// Wraps the reply to a write so that the whole text is kept before the write returns. White
    /// space after an object belongs to its text, and makes no other version.
    #[must_use]
    pub fn caching_text(&self, open: &Arc<OpenText<ItemTarget>>, reply: Reply<()>) -> Reply<()> {
        if !self.mount.options.keep_text {
            return reply;
        }
        let (host, open) = (self.clone(), Arc::clone(open));
        Box::new(move |written| {
            let state = open.state.lock();
            if let Some(version) = state.writer.stored() {
                host.cache_written_text(
                    state.writer.target(),
                    version,
                    state.writer.read(0, TEXT_BYTES_MAX),
                );
            }
            drop(state);
            reply(written);
        })
    }

    /// Deletes the item that the open of a file made, after its text was refused; not if another
    /// program changed the item.
    fn undo_create(
        &self,
        target: &ItemTarget,
        key: Key,
        version: Version,
        context: CallContext,
        after: PoolJob,
    ) {
        let mut request =
            DeleteItemRequest::new(target.table.clone(), key.to_item(&target.key_schema));
        request.precondition = Some(Precondition::Version(version));
        let (host, table) = (self.clone(), target.table.clone());
        let done = Completion::new(
            context,
            move |outcome: Result<DeleteItemResponse, Error>| {
                match outcome {
                    Ok(_) if key.sort.is_some() => {
                        host.mount
                            .folders
                            .lock()
                            .keep_emptied(&table, &key.partition, now_ms());
                    }
                    Ok(_) | Err(Error::ConditionalCheckFailed { .. }) => {}
                    Err(error) => log::warn!(
                        "{table}: the text of a new file was refused, and its placeholder item, which is only a key, could not be deleted: {error}"
                    ),
                }
                after();
            },
        );
        self.mount.db.start(Call::DeleteItem(request, done));
    }
}
