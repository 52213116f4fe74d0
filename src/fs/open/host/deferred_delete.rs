//! The thread that performs deferred deletes: an item that was renamed away is deleted when its
//! delay ends, and its text moves to the trash. `write/deferred_deletes.rs` knows which items wait.
//! Also looks after the scratch files that such items become.

use std::thread::JoinHandle;

use parking_lot::Condvar;

use super::optimistic_lock::ReadVersions;
use super::threads::Workers;
use crate::codec::json::edit::indent;
use crate::fs::{
    mount::{
        Mount,
        scratch::{directory_of, item_path, move_warning, trash_place},
    },
    node::item_ino,
    open::Reply,
    prelude::*,
    write::{FileId, deferred_deletes::HiddenItem},
};
use crate::model::api::table_control::{TRASH_RETENTION_MS, TrashChange, TrashKey, TrashRequest};
use crate::model::api::{Call, CallContext, Completion, DeleteItemRequest, DeleteItemResponse};

/// The time that the thread sleeps if no delete waits.
const IDLE_SLEEP: Duration = Duration::from_secs(5);

/// A hidden item: its table and key.
type HiddenKey = (TableName, Key);

/// The place in the store at which a hidden item's text stays, and the text; `None` if the text
/// goes with the item.
type TrashText = Option<(TrashKey, Vec<u8>)>;

/// The deferred deletes of a mount, and their thread. `deleting` and `is_stopped` are each taken
/// before the lock of the deletes themselves ([`Mount`]), and never one under the other.
#[derive(Debug)]
pub struct DeferredDelete {
    mount: Mount,
    workers: Arc<Workers>,
    read_versions: Arc<ReadVersions>,
    /// Held from taking a due delete until it is queued. A call that revives an item takes this
    /// first, so that its put is queued behind the delete or the delete is not queued at all.
    deleting: Mutex<()>,
    is_stopped: Mutex<bool>,
    wake: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl DeferredDelete {
    /// Makes the deletes without a thread: then hidden items come back at the end.
    #[must_use]
    pub fn new(mount: Mount, workers: Arc<Workers>, read_versions: Arc<ReadVersions>) -> Arc<Self> {
        let (deleting, is_stopped, wake, thread) = Default::default();
        Arc::new(Self {
            mount,
            workers,
            read_versions,
            deleting,
            is_stopped,
            wake,
            thread,
        })
    }

    /// Starts the thread, which lives until [`DeferredDelete::shut_down`]. After each look at the
    /// due deletes it calls `round`, and ends if that returns false.
    pub fn start(self: &Arc<Self>, mut round: impl FnMut() -> bool + Send + 'static) {
        // Weak: the thread must not keep alive a mount that its owner dropped without ending the
        // thread.
        let weak = Arc::downgrade(self);
        let run = move || {
            while let Some(deletes) = weak.upgrade() {
                deletes.delete_due();
                if !round() || !deletes.sleep() {
                    return;
                }
            }
        };
        match std::thread::Builder::new()
            .name("ddbfs-deletes".to_owned())
            .spawn(run)
        {
            Ok(thread) => *self.thread.lock() = Some(thread),
            Err(error) => log::error!("cannot start the thread of deferred deletes: {error}"),
        }
    }

    /// Sleeps until the next delete is due. Returns false if the thread must end.
    fn sleep(&self) -> bool {
        let mut is_stopped = self.is_stopped.lock();
        // Asked under this lock: a call that hides an item takes it before it wakes the thread.
        let wait = match self
            .mount
            .with_deferred(|deferred| deferred.next_deadline_ms())
        {
            Some(deadline_ms) => Duration::from_millis(deadline_ms.saturating_sub(now_ms()).max(1)),
            None => IDLE_SLEEP,
        };
        if !*is_stopped {
            self.wake.wait_for(&mut is_stopped, wait.min(IDLE_SLEEP));
        }
        !*is_stopped
    }

    /// Hides a version of an item after its text was copied to a scratch file: the delete is due a
    /// little later.
    pub fn hide(&self, key: HiddenKey, version: Version, file: FileId, form: TextForm) {
        self.mount
            .with_deferred(|deferred| deferred.hide(key, version, file, form, now_ms()));
        // Taken and given back: the thread has either not looked at the deadlines yet, or it sleeps
        // and is woken. Without the lock the wake could fall between its look and its sleep.
        drop(self.is_stopped.lock());
        self.wake.notify_all();
    }

    /// Cancels a waiting delete of this item, since the item is written again. A put that must find
    /// no item finds the hidden one: the precondition that is returned is for that version.
    pub fn revive(
        &self,
        table: &TableName,
        key: &Key,
        precondition: Option<Precondition>,
    ) -> Option<Precondition> {
        if !self.mount.has_hidden() {
            return precondition;
        }
        let place = (table.clone(), key.clone());
        // Between taking a due delete and queueing it the item is neither hidden nor deleted: no
        // call may look then.
        let _not_deleting = self.deleting.lock();
        self.mount.with_deferred(|deferred| {
            let hidden = deferred.hidden_version(&place);
            deferred.cancel(&place);
            match (hidden, precondition) {
                (Some(version), Some(Precondition::Absent)) => Some(Precondition::Version(version)),
                (_, precondition) => precondition,
            }
        })
    }

    /// Deletes the hidden items that are due, unless they were changed meanwhile.
    fn delete_due(self: &Arc<Self>) {
        let now_ms = now_ms();
        self.delete_matching(
            &self.mount,
            |_, hidden| hidden.is_due(now_ms),
            || Box::new(|_| {}),
        );
    }

    /// Deletes the hidden items for which `is_meant` is true and moves their texts to the trash.
    /// `reply` makes the callback of each delete.
    fn delete_matching(
        self: &Arc<Self>,
        mount: &Mount,
        is_meant: impl Fn(&HiddenKey, &HiddenItem) -> bool,
        mut reply: impl FnMut() -> Reply<()>,
    ) {
        // Held until all are queued, and not longer: the answers come from the committer, and its
        // other work may want this lock.
        let _deleting = self.deleting.lock();
        // Taken out in one step, so that each is deleted once however many threads come here.
        for (place, hidden) in mount.with_deferred(|deferred| deferred.take_if(is_meant)) {
            match trash_text(mount, &place, hidden) {
                Ok(parking) => self.delete(mount, place, hidden, parking, reply()),
                Err(error) => {
                    self.unhide(&place, hidden);
                    reply()(Err(error));
                }
            }
        }
    }

    /// Queues all waiting deletes now.
    pub fn flush(self: &Arc<Self>) {
        self.delete_matching(&self.mount, |_, _| true, || Box::new(|_| {}));
    }

    /// Performs the waiting deletes for which `is_meant` is true, and waits for them.
    pub fn delete_now(self: &Arc<Self>, mount: &Mount, is_meant: impl Fn(&HiddenKey) -> bool) {
        if !mount.has_hidden() {
            return;
        }
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        self.delete_matching(
            mount,
            |place, _| is_meant(place),
            || {
                let sender = sender.clone();
                Box::new(move |_| drop(sender))
            },
        );
        drop(sender);
        // Nothing is sent: all have ended when every sender is gone.
        let _ = receiver.recv();
    }

    fn delete(
        self: &Arc<Self>,
        mount: &Mount,
        key: HiddenKey,
        hidden: HiddenItem,
        trash_text: TrashText,
        reply: Reply<()>,
    ) {
        let schema = match mount.schema(&key.0) {
            Ok(schema) => schema,
            // The table is gone, and the item with it.
            Err(error) => {
                self.unhide(&key, hidden);
                return reply(Err(error));
            }
        };
        let mut request = DeleteItemRequest::new(key.0.clone(), key.1.to_item(&schema.key));
        // An item that another front end wrote since is not the one that was renamed away.
        request.precondition = Some(Precondition::Version(hidden.version));
        let composite = schema.key.sort.is_some();
        let (deletes, trashed) = (Arc::clone(self), trash_text.clone());
        let context = CallContext {
            wait: mount.caller.wait,
            ..CallContext::default()
        };
        let done = Completion::new(
            context,
            move |outcome: Result<DeleteItemResponse, Error>| {
                let result = match outcome {
                    Ok(_) => {
                        deletes.after_delete(&key, composite);
                        if let Some((trashed, text)) = trashed {
                            deletes.after_trash(&key, hidden.file, trashed, &text);
                        }
                        Ok(())
                    }
                    // Another writer changed it meanwhile: it stays.
                    Err(Error::ConditionalCheckFailed { .. }) => Ok(()),
                    Err(error) => {
                        log::warn!("an item renamed away could not be deleted: {error}");
                        Err(error.into())
                    }
                };
                // Last: as long as it is hidden no call sees an item that is already deleted, or a
                // folder that is not kept yet.
                deletes.unhide(&key, hidden);
                reply(result);
            },
        );
        match trash_text {
            Some((key, content)) => mount.db.trash_item(
                TrashRequest {
                    delete: request,
                    key,
                    content,
                },
                done,
            ),
            None => mount.db.start(Call::DeleteItem(request, done)),
        }
    }

    /// Ends the hiding of an item: it is gone, or is seen again.
    fn unhide(&self, key: &HiddenKey, hidden: HiddenItem) {
        self.mount.with_deferred(|deferred| {
            if deferred.hidden_version(key) == Some(hidden.version) {
                deferred.cancel(key);
            }
        });
    }

    fn after_delete(&self, hidden: &HiddenKey, composite: bool) {
        let (table, key) = hidden;
        // A process that read it may make another item of that key.
        self.read_versions.forget_item(item_ino(table, key));
        if composite {
            self.mount
                .folders
                .lock()
                .keep_emptied(table, &key.partition, now_ms());
        }
    }

    /// Removes the scratch file of a deleted item from memory, since the store has its text. If the
    /// file was removed or moved meanwhile, the text in the trash follows.
    fn after_trash(
        self: &Arc<Self>,
        hidden: &HiddenKey,
        file: FileId,
        trashed: TrashKey,
        text: &[u8],
    ) {
        let (table, key) = hidden;
        let now_at = {
            let mut scratch = self.mount.scratch.lock();
            let now_at = scratch
                .location(file)
                .map(|(directory, name)| (directory.clone(), name.to_owned()));
            if now_at.as_ref() == Some(&(directory_of(&trashed), trashed.name.clone())) {
                scratch.remove_if_same(file, text);
            }
            now_at
        };
        let change = match now_at.map(|(directory, name)| trash_place(&directory, &name)) {
            Some(Some(to)) if to != trashed => TrashChange::Move { from: trashed, to },
            Some(_) => {
                let sentence = move_warning(
                    &directory_of(&trashed),
                    &trashed.name,
                    now_ms().saturating_add(TRASH_RETENTION_MS),
                );
                return self
                    .mount
                    .error_log
                    .warn(&item_path(table, key), vec![sentence]);
            }
            None => TrashChange::Remove(trashed),
        };
        let logged = |ended: Result<()>| {
            if let Err(error) = ended {
                log::warn!("a file in the trash could not be moved or removed: {error}");
            }
        };
        self.change_trash(change, Box::new(logged));
    }

    /// Moves or removes a text in the trash, on a thread for short work.
    pub fn change_trash(&self, change: TrashChange, reply: Reply<()>) {
        let mount = self.mount.clone();
        self.workers.run(move || {
            reply(
                mount
                    .db
                    .change_trash(change)
                    .map(drop)
                    .map_err(FsError::from),
            )
        });
    }

    /// Unlinks a scratch file. If it is the text of a hidden item, the item is deleted now.
    pub fn unlink_scratch(self: &Arc<Self>, mount: &Mount, file: FileId, reply: Reply<()>) {
        let _deleting = self.deleting.lock();
        let due = mount.with_deferred(|deferred| deferred.take_if(|_, hidden| hidden.file == file));
        let deletes = Arc::clone(self);
        let removed: Reply<()> = Box::new(move |ended| match ended {
            Ok(()) => deletes.forget_scratch(file, reply),
            Err(error) => reply(Err(error)),
        });
        match due.into_iter().next() {
            Some((place, hidden)) => self.delete(mount, place, hidden, None, removed),
            None => removed(Ok(())),
        }
    }

    /// Removes the name of a scratch file, and the text that the trash has under it.
    pub fn forget_scratch(&self, file: FileId, reply: Reply<()>) {
        let place = self
            .mount
            .scratch_location(file)
            .and_then(|(directory, name)| trash_place(&directory, &name));
        let removed = self.mount.scratch.lock().remove(file);
        match place.map(|place| (self.mount.db.trashed_at(&place), place)) {
            Some((Ok(Some(_)), place)) if removed.is_ok() => {
                self.change_trash(TrashChange::Remove(place), reply)
            }
            // Unknown, so it may be in the trash still and would come back: the caller must try
            // again.
            Some((Err(error), _)) => reply(removed.and(Err(error.into()))),
            _ => reply(removed),
        }
    }

    /// Ends the thread and performs the waiting deletes. Call after the last request; the database
    /// is closed by its owner.
    pub fn shut_down(self: &Arc<Self>) {
        *self.is_stopped.lock() = true;
        self.wake.notify_all();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            log::error!("the thread of deferred deletes ended by a panic");
        }
        self.delete_now(&self.mount, |_| true);
    }
}

/// Returns the place in the trash and the text to keep there of a hidden item: the place is that of
/// its scratch file.
fn trash_text(mount: &Mount, key: &HiddenKey, hidden: HiddenItem) -> Result<TrashText> {
    // Its scratch file was removed, or moved onto an item: the text is kept nowhere, or there.
    let Some((directory, name)) = mount.scratch_location(hidden.file) else {
        return Ok(None);
    };
    let trashed = trash_place(&directory, &name)
        .ok_or(FsError::Invalid("the file was moved to where none is kept"))?;
    let entry = key.1.clone().into();
    let (text, stat) = mount
        .db
        .text(&SourceName::from(&key.0), &entry, hidden.form)?
        .ok_or(FsError::NotFound)?;
    if stat.version != hidden.version {
        return Err(FsError::Stale);
    }
    Ok(Some((
        trashed,
        if mount.options.pretty {
            indent(&text)
        } else {
            text
        },
    )))
}
