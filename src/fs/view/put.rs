//! Puts and updates of items through the mount, and what the view remembers of them.

use super::View;
use crate::codec::key::partition_digest;
use crate::fs::open::prelude::*;
use crate::fs::source::entry::key_of;
use crate::fs::{mount::last, node::AliasFolder, write::ItemTarget};
use crate::model::api::{Call, PutItemResponse};
use crate::model::api::{CallContext, Done, PutItemRequest};

impl View {
    /// PutItem for a thread, of an item that may be hidden: it is written again.
    pub(super) fn put_item(self: &Arc<Self>, mut request: PutItemRequest, thread: u32, done: Outcome) {
        let schema = match self.mount.schema(&request.table_name) {
            Ok(schema) => schema,
            Err(FsError::Database(error)) => return done.tell(Err(error)),
            Err(_) => return done.tell(Err(Error::ResourceNotFound)),
        };
        let (table, asked) = (request.table_name.clone(), request.precondition);
        let key = request.item.key(&schema.key);
        if let Some(key) = &key {
            // Before the put is queued: the hidden item's delete then finds nothing to do, or is queued already and the put
            // comes behind it.
            request.precondition = self.revive(&table, key, asked);
        }
        // Only a put that must find no item can be turned away by the hidden one; it alone is kept to be asked again.
        let again = (request.precondition != asked).then(|| PutItemRequest { precondition: asked, ..request.clone() });
        let view = Arc::clone(self);
        // Looked up now: when the commit is done the process may be gone, and its session with it.
        let session = self.mount.last.session(thread);
        let context = CallContext { listener: Some(self.listener(thread)), ..done.context.clone() };
        let stored = Done::new(context, move |outcome: Result<PutItemResponse, Error>| match (outcome, again) {
            // The hidden item's delete was under way and came first: there is none, as asked.
            (Err(Error::ConditionalCheckFailed { .. }), Some(again)) => {
                // Not here: this runs on the committer, and a put may have to wait for the lock of the deletes.
                let next = Arc::clone(&view);
                view.run_elsewhere(Box::new(move || next.put_item(again, thread, done)));
            }
            (Ok(response), _) => {
                view.mount.last.keep_write(session, "PutItem", Ok(last::of_write(&table, &response)));
                if let Some(key) = &key {
                    // Before the caller hears, or its next call might still see the empty folder in memory beside the stored
                    // one.
                    view.item_is_stored(&table, key);
                }
                done.tell(Ok(response.version));
            }
            (Err(error), _) => {
                view.mount.last.keep_write(session, "PutItem", Err(&error));
                done.tell(Err(error));
            }
        });
        self.mount.db.start(Call::PutItem(request, stored));
    }

    /// An item was put through the mount: it is not being created, hidden or waiting for its delete any more.
    pub(super) fn item_is_stored(&self, table: &TableName, key: &Key) {
        let mut folders = self.mount.folders.lock();
        if folders.since(table, &key.partition).is_some() {
            folders.remove(table, &key.partition);
        }
        let known = folders.has_aliases(table).then(|| partition_digest(&[&key.partition]));
        let Some((digest, name)) = known.and_then(|digest| Some((digest, folders.remove_alias(table, &digest)?))) else { return };
        // The files move under their own lock: no call holds both.
        drop(folders);
        // The folder's files in memory go with it.
        let folder = Node::AliasFolder(Box::new(AliasFolder { table: table.clone(), digest, name }));
        let collection = Node::Collection(base(table), vec![key.partition.clone()]);
        self.mount.scratch.lock().move_directory(&folder, &collection);
    }

    /// An item that was renamed away and could not be written anew stays as it was.
    pub(super) fn bring_back(&self, target: &ItemTarget) {
        if let Some(key) = key_of(target) {
            self.revive_item(&target.table, &key);
        }
    }

    /// Takes back a waiting delete of this item, since it is written again. A put that must find no item finds the hidden one.
    pub(super) fn revive(&self, table: &TableName, key: &Key, precondition: Option<Precondition>) -> Option<Precondition> {
        if !self.mount.hides_any() {
            return precondition;
        }
        let place = (table.clone(), key.clone());
        // Between taking a due delete and queueing it the item is neither hidden nor deleted: nobody may look then.
        let _not_deleting = self.keeper.deleting.lock();
        self.mount.with_deferred(|deferred| {
            let hidden = deferred.hidden_version(&place);
            deferred.cancel(&place);
            match (hidden, precondition) {
                (Some(version), Some(Precondition::Absent)) => Some(Precondition::Version(version)),
                (_, precondition) => precondition,
            }
        })
    }
}
