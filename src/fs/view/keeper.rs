//! The keeper: one thread that deletes renamed-away items when they are due and drops idle scratch files.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::View;
use crate::fs::tree::now_ms;
use crate::model::api::{DeleteItemRequest, Precondition, Version};
use crate::model::{Error, Key, TableName};

/// How long the keeper sleeps when nothing waits.
const IDLE: Duration = Duration::from_secs(30);

/// The thread and what wakes it.
#[derive(Debug)]
pub struct Keeper {
    pub wake: Condvar,
    pub stop: Mutex<bool>,
    pub thread: Mutex<Option<JoinHandle<()>>>,
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
    loop {
        let Some(view) = view.upgrade() else { return };
        view.delete_due();
        view.tree.scratch.lock().expire(now_ms());
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

impl View {
    /// Hidden items whose time has come are deleted, unless they were changed meanwhile.
    fn delete_due(self: &Arc<Self>) {
        // Submitted under the lock: whoever takes an item back after this queues its put behind the delete.
        self.tree.with_deferred(|deferred| {
            for (place, version) in deferred.due(now_ms()) {
                self.delete_hidden(place, version);
            }
        });
    }

    fn delete_hidden(self: &Arc<Self>, place: (TableName, Key), version: Version) {
        let Ok(Some(schema)) = self.tree.db.schema(&place.0) else { return };
        let mut request = DeleteItemRequest::new(place.0.clone(), place.1.to_item(&schema.key));
        request.precondition = Some(Precondition::Version(version));
        let composite = schema.key.sort.is_some();
        let tree = Arc::clone(&self.tree);
        self.tree.db.delete_item_then(
            request,
            Box::new(move |outcome| {
                match outcome {
                    Ok(_) if composite => tree.folders.lock().keep(&place.0, &place.1.partition, now_ms()),
                    // Written by somebody else meanwhile: it stays.
                    Ok(_) | Err(Error::ConditionalCheckFailed { .. }) => {}
                    Err(error) => log::warn!("an item renamed away could not be deleted: {error}"),
                }
                tree.with_deferred(|deferred| {
                    if deferred.hidden_version(&place) == Some(version) {
                        deferred.cancel(&place);
                    }
                });
            }),
        );
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
        self.tree.with_deferred(|deferred| {
            for (place, version) in deferred.due_at_shutdown() {
                self.delete_hidden(place, version);
            }
        });
    }
}
