//! The keeper: one thread that deletes renamed-away items when they are due and drops idle scratch files.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::View;
use super::put::item_number;
use crate::fs::tree::now_ms;
use crate::model::api::{DeleteItemRequest, Precondition, Version};
use crate::model::{Error, Key, TableName};

/// How long the keeper sleeps when nothing waits.
const IDLE: Duration = Duration::from_secs(5);
/// Inodes whose memory is worth giving back.
const INODES_MANY: usize = 20_000;

/// The thread and what wakes it.
#[derive(Debug, Default)]
pub struct Keeper {
    pub wake: Condvar,
    pub stop: Mutex<bool>,
    pub thread: Mutex<Option<JoinHandle<()>>>,
    /// Held from taking a due delete until it is queued. Whoever takes an item back takes this first, so that its put is queued
    /// behind the delete or the delete is not queued at all.
    pub deleting: Mutex<()>,
}

/// Starts the keeper of a view. Without one, hidden items come back at the end.
pub fn start(view: &Arc<View>) {
    let weak = Arc::downgrade(view);
    match std::thread::Builder::new().name("ddbfs-keeper".to_owned()).spawn(move || keep(&weak)) {
        Ok(thread) => *view.keeper.thread.lock() = Some(thread),
        Err(error) => log::error!("cannot start the keeper thread: {error}"),
    }
}

fn keep(view: &Weak<View>) {
    let mut most_inodes = 0;
    loop {
        let Some(view) = view.upgrade() else { return };
        view.delete_due();
        view.tree.scratch.lock().expire(now_ms());
        most_inodes = give_memory_back(most_inodes, view.known_inodes());
        let mut stop = view.keeper.stop.lock();
        // Asked under the lock of `stop`, which whoever hides an item takes before it wakes us.
        let wait = match view.tree.with_deferred(|deferred| deferred.next_deadline_ms()) {
            Some(deadline_ms) => Duration::from_millis(deadline_ms.saturating_sub(now_ms()).max(1)),
            None => IDLE,
        };
        if !*stop {
            view.keeper.wake.wait_for(&mut stop, wait.min(IDLE));
        }
        if *stop {
            return;
        }
    }
}

/// After the kernel forgot most of what it knew, freed memory goes back to the system: the allocator would keep it. The most
/// inodes since then.
#[allow(unsafe_code)]
fn give_memory_back(most_inodes: usize, inodes: usize) -> usize {
    if most_inodes < INODES_MANY || inodes > most_inodes / 4 {
        return most_inodes.max(inodes);
    }
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
    inodes
}

impl View {
    /// Hidden items whose time has come are deleted, unless they were changed meanwhile.
    fn delete_due(self: &Arc<Self>) {
        let _deleting = self.keeper.deleting.lock();
        let due = self.tree.with_deferred(|deferred| deferred.due(now_ms()));
        for (place, version) in due {
            self.delete_hidden(place, version);
        }
    }

    fn delete_hidden(self: &Arc<Self>, place: (TableName, Key), version: Version) {
        let schema = match self.tree.db.schema(&place.0) {
            Ok(Some(schema)) => schema,
            // The table is gone, and the item with it.
            _ => {
                self.tree.with_deferred(|deferred| deferred.cancel(&place));
                return;
            }
        };
        let mut request = DeleteItemRequest::new(place.0.clone(), place.1.to_item(&schema.key));
        request.precondition = Some(Precondition::Version(version));
        let composite = schema.key.sort.is_some();
        let view = Arc::clone(self);
        self.tree.db.delete_item_then(
            request,
            Box::new(move |outcome| {
                match outcome {
                    Ok(_) => {
                        // Whoever read it may make another.
                        view.reads.forget_all(item_number(&place.0, &place.1));
                        if composite {
                            view.tree.folders.lock().keep(&place.0, &place.1.partition, now_ms());
                        }
                    }
                    // Written by somebody else meanwhile: it stays.
                    Err(Error::ConditionalCheckFailed { .. }) => {}
                    Err(error) => log::warn!("an item renamed away could not be deleted: {error}"),
                }
                view.tree.with_deferred(|deferred| {
                    if deferred.hidden_version(&place) == Some(version) {
                        deferred.cancel(&place);
                    }
                });
            }),
        );
    }

    /// Performs the deletes that wait, now.
    pub(in crate::fs) fn flush_deletes(self: &Arc<Self>) {
        let _deleting = self.keeper.deleting.lock();
        let due = self.tree.with_deferred(|deferred| deferred.due_at_shutdown());
        for (place, version) in due {
            self.delete_hidden(place, version);
        }
    }

    /// Ends the keeper and performs the deletes that wait. Call after the last request; the database is closed by its owner.
    pub fn shut_down(self: &Arc<Self>) {
        *self.keeper.stop.lock() = true;
        self.keeper.wake.notify_all();
        let thread = self.keeper.thread.lock().take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            log::error!("the keeper thread had failed");
        }
        let due = self.tree.with_deferred(|deferred| deferred.due_at_shutdown());
        for (place, version) in due {
            self.delete_hidden(place, version);
        }
    }
}
