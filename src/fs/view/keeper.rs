//! The keeper: one thread that deletes renamed-away items when they are due, and parks their texts, and drops idle scratch files and
//! those whose directory is gone.

use super::View;
use crate::codec::json::indent::indent;
use crate::fs::open::prelude::*;
use crate::fs::source::entry::item_number;
use crate::fs::source::scratch::{directory_of, item_path, place_in};
use crate::fs::special::scratch::warning;
use crate::fs::tree;
use crate::fs::write::deferred::Hidden;
use crate::fs::{open::text::warn, write::FileId};
use crate::model::api::Call;
use crate::model::api::parked::{PARKED_KEPT_MS, ParkRequest};
use crate::model::api::{
    CallContext, DeleteItemRequest, DeleteItemResponse, Done,
    parked::{ParkedChange, ParkedPlace},
};
use std::sync::Weak;

/// How long the keeper sleeps when nothing waits.
const IDLE: Duration = Duration::from_secs(5);
/// Inodes whose memory is worth giving back.
const INODES_MANY: usize = 20_000;

/// Starts the keeper of a view. Without one, hidden items come back at the end.
pub fn start(view: &Arc<View>) {
    // Weak: the thread must not keep alive a view that its owner dropped without ending it.
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
        view.mount.scratch.lock().expire(now_ms());
        tree::drop_scratch_of_gone_directories(&view.mount);
        view.kept.forget_old();
        view.mount.texts.forget_old();
        most_inodes = give_memory_back(most_inodes, view.known_inodes());
        let mut stop = view.keeper.stop.lock();
        // Asked under the lock of `stop`, which whoever hides an item takes before it wakes us.
        let wait = match view.mount.with_deferred(|deferred| deferred.next_deadline_ms()) {
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

/// An item that is hidden: its table and key.
type Place = (TableName, Key);

/// What becomes of the text of a hidden item.
enum Fate {
    /// It stays in the store, with this content.
    Parked(ParkedPlace, Vec<u8>),
    /// It goes with the item.
    Gone,
}

/// Nobody waits for the outcome.
fn unheard() -> Reply<()> {
    Box::new(|_| {})
}

impl View {
    /// Hidden items whose time has come are deleted, unless they were changed meanwhile.
    fn delete_due(self: &Arc<Self>) {
        let now_ms = now_ms();
        self.delete_those(|_, hidden| hidden.is_due(now_ms));
    }

    /// Deletes the hidden items that are meant, their texts parked.
    pub(super) fn delete_those(self: &Arc<Self>, is_meant: impl Fn(&Place, &Hidden) -> bool) {
        let _deleting = self.keeper.deleting.lock();
        // Taken out in one step, so that each is deleted once however many threads come here.
        let due = self.mount.with_deferred(|deferred| deferred.take(is_meant));
        for (place, hidden) in due {
            self.delete_hidden(place, hidden, WaitPolicy::default(), unheard());
        }
    }

    /// Deletes a hidden item, and parks its text where its scratch file is now; `reply` hears how it ended.
    fn delete_hidden(self: &Arc<Self>, place: Place, hidden: Hidden, wait: WaitPolicy, reply: Reply<()>) {
        match self.fate(&place, hidden) {
            Ok(fate) => self.delete_hidden_so((place, hidden), fate, wait, reply),
            Err(error) => {
                self.show_again(&place, hidden);
                reply(Err(error));
            }
        }
    }

    /// What becomes of a hidden item's text: it is parked where its scratch file is.
    fn fate(&self, place: &Place, hidden: Hidden) -> Result<Fate, FsError> {
        let found = self.mount.scratch.lock().place(hidden.file).map(|(directory, name)| (directory.clone(), name.to_owned()));
        // Removed, or moved onto an item, it is kept nowhere or there.
        let Some((directory, name)) = found else { return Ok(Fate::Gone) };
        let parked = place_in(&directory, &name).ok_or(FsError::Invalid("the file was moved to where none is kept"))?;
        let entry = EntryKey { index: None, base: place.1.clone() };
        let (text, stat) = self.mount.db.text(&base(&place.0), &entry, hidden.form)?.ok_or(FsError::NotFound)?;
        if stat.version != hidden.version {
            return Err(FsError::Stale);
        }
        Ok(Fate::Parked(parked, if self.mount.options.pretty { indent(&text) } else { text }))
    }

    fn delete_hidden_so(self: &Arc<Self>, (place, hidden): (Place, Hidden), fate: Fate, wait: WaitPolicy, reply: Reply<()>) {
        let schema = match self.mount.schema(&place.0) {
            Ok(schema) => schema,
            // The table is gone, and the item with it.
            Err(error) => {
                self.show_again(&place, hidden);
                return reply(Err(error));
            }
        };
        let mut request = DeleteItemRequest::new(place.0.clone(), place.1.to_item(&schema.key));
        // What was written since by another front end is not what was renamed away.
        request.precondition = Some(Precondition::Version(hidden.version));
        let composite = schema.key.sort.is_some();
        let view = Arc::clone(self);
        let parked = match &fate {
            Fate::Parked(parked, text) => Some((parked.clone(), text.clone())),
            Fate::Gone => None,
        };
        let context = CallContext { wait, ..CallContext::default() };
        let done = Done::new(context, move |outcome: Result<DeleteItemResponse, Error>| {
            let ended = match outcome {
                Ok(_) => {
                    view.hidden_deleted(&place, composite);
                    if let Some((parked, text)) = parked {
                        view.was_parked(&place, hidden.file, parked, &text);
                    }
                    Ok(())
                }
                // Written by somebody else meanwhile: it stays.
                Err(Error::ConditionalCheckFailed { .. }) => Ok(()),
                Err(error) => {
                    log::warn!("an item renamed away could not be deleted: {error}");
                    Err(error.into())
                }
            };
            // Last: as long as it is hidden nobody sees an item that is already deleted, or a folder that is not kept yet.
            view.show_again(&place, hidden);
            reply(ended);
        });
        match fate {
            Fate::Parked(place, content) => self.mount.db.park_item_then(ParkRequest { delete: request, place, content }, done),
            Fate::Gone => self.mount.db.start(Call::DeleteItem(request, done)),
        }
    }

    /// The item is hidden no more: it is gone, or to be seen again.
    fn show_again(&self, place: &Place, hidden: Hidden) {
        self.mount.with_deferred(|deferred| {
            if deferred.hidden_version(place) == Some(hidden.version) {
                deferred.cancel(place);
            }
        });
    }

    fn hidden_deleted(&self, place: &Place, composite: bool) {
        // Whoever read it may make another.
        self.reads.forget_all(item_number(&place.0, &place.1));
        if composite {
            self.mount.folders.lock().keep(&place.0, &place.1.partition, now_ms());
        }
    }

    /// The text of a deleted item is in the store: its file need not be in memory. One that was removed or moved meanwhile is so in the
    /// store too.
    fn was_parked(self: &Arc<Self>, item: &Place, file: FileId, parked: ParkedPlace, text: &[u8]) {
        let now_at = {
            let mut scratch = self.mount.scratch.lock();
            let now_at = scratch.place(file).map(|(directory, name)| (directory.clone(), name.to_owned()));
            if now_at.as_ref() == Some(&(directory_of(&parked), parked.name.clone())) {
                scratch.remove_if_same(file, text);
            }
            now_at
        };
        let change = match now_at.map(|(directory, name)| place_in(&directory, &name)) {
            Some(Some(to)) if to != parked => ParkedChange::Move { from: parked, to },
            Some(_) => return self.warn_of_parked(item, &parked),
            None => ParkedChange::Remove(parked),
        };
        self.change_parked_later(change);
    }

    fn warn_of_parked(&self, (table, key): &Place, parked: &ParkedPlace) {
        let sentence = warning(&directory_of(parked), &parked.name, now_ms().saturating_add(PARKED_KEPT_MS));
        warn(self, &item_path(table, key), vec![sentence]);
    }

    fn change_parked_later(self: &Arc<Self>, change: ParkedChange) {
        let view = Arc::clone(self);
        self.run_elsewhere(Box::new(move || {
            if let Err(error) = view.mount.db.change_parked(change) {
                log::warn!("a parked file could not be moved or removed: {error}");
            }
        }));
    }

    /// UNLINK of a scratch file. That of a hidden item takes the item with it, now.
    pub(super) fn unlink_scratch(self: &Arc<Self>, file: FileId, wait: WaitPolicy, reply: Reply<()>) {
        let _deleting = self.keeper.deleting.lock();
        let due = self.mount.with_deferred(|deferred| deferred.take(|_, hidden| hidden.file == file));
        let view = Arc::clone(self);
        let removed: Reply<()> = Box::new(move |ended| match ended {
            Ok(()) => view.forget_scratch(file, reply),
            Err(error) => reply(Err(error)),
        });
        match due.into_iter().next() {
            Some(hidden) => self.delete_hidden_so(hidden, Fate::Gone, wait, removed),
            None => removed(Ok(())),
        }
    }

    /// The name of a scratch file goes, and what is parked under it.
    pub(super) fn forget_scratch(self: &Arc<Self>, file: FileId, reply: Reply<()>) {
        let place = self.mount.scratch.lock().place(file).and_then(|(directory, name)| place_in(directory, name));
        let removed = self.mount.scratch.lock().remove(file);
        match place.map(|place| (self.mount.db.parked_at(&place), place)) {
            Some((Ok(Some(_)), place)) if removed.is_ok() => {
                let view = Arc::clone(self);
                self.run_elsewhere(Box::new(move || {
                    reply(view.mount.db.change_parked(ParkedChange::Remove(place)).map(drop).map_err(FsError::from));
                }));
            }
            _ => reply(removed),
        }
    }

    /// Performs the deletes that wait and are meant, and waits for them.
    pub(super) fn settle_deletes(self: &Arc<Self>, wait: WaitPolicy, is_meant: impl Fn(&Place) -> bool) {
        if !self.mount.hides_any() {
            return;
        }
        let deleting = self.keeper.deleting.lock();
        let due = self.mount.with_deferred(|deferred| deferred.take(|place, _| is_meant(place)));
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut waiting = 0;
        for (place, hidden) in due {
            let sender = sender.clone();
            let heard: Reply<()> = Box::new(move |_| {
                // The receiver waits below.
                let _ = sender.send(());
            });
            self.delete_hidden(place, hidden, wait, heard);
            waiting += 1;
        }
        // Before waiting: the answers come from the committer, whose other work may want this lock.
        drop(deleting);
        for _ in 0..waiting {
            let _ = receiver.recv();
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
        self.settle_deletes(WaitPolicy::default(), |_| true);
        let dropped = self.mount.scratch.lock().all();
        if let Some(first) = dropped.first() {
            let path = format!("{}/{}", self.mount.path(&first.directory), first.name);
            log::info!("dropped with the mount: {} scratch files in memory, the first {path}", dropped.len());
        }
    }
}
