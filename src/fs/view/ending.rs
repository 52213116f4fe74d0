//! Ends what the kernel keeps, when what it was told is true no more.
//!
//! | what happens | what the kernel is told | who waits for that |
//! |---|---|---|
//! | an item is written | its attributes end (and its name is looked up again, where somebody's look matters) | who wrote, but for the calls below |
//! | an item is deleted | its name is dropped, and the attributes | the same |
//! | a table goes | its name is dropped with all below, and the names and attributes of its items | the same |
//! | the mount is not alone any more | all names and attributes that it keeps are dropped | the newcomer |
//! | more nodes are known than [`KNOWN_MAX`] | names are dropped, the oldest first | nobody |
//!
//! The order of waiting, which holds no circle: a thread that serves the kernel waits for no notification; nor does one that commits, or
//! holds a lock. A notification about a name waits for the kernel's lock of its directory, which calls hold that are being answered, however
//! many list it; one about attributes waits for nothing, and is all that a written item needs that the kernel knows. Calls that
//! hold such a lock (unlink, rename, mkdir, rmdir, symlink, create) are answered at once, and what they changed elsewhere is told
//! after. A call that holds the lock of a file (write, flush, fsync) may be waited for by one that holds a directory's (unlink of the
//! file), so that it waits for notifications for a moment only ([`Patience::Short`]). All others wait until it is done, or until what
//! was kept is over by itself.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::View;
use super::keeping::{Kernel, Name, Notice, item_of, name_of_entry};
use crate::database::{EntryKey, TextForm};
use crate::engine::observer::{Committed, Observer, Patience, Then, Written};
use crate::fs::node::inode_table::Mark;
use crate::fs::node::{EntryNode, Node, ROOT_INO, base};
use crate::fs::path;
use crate::fs::source::entry::item_number;
use crate::model::{Error, Key, TableName};
use crate::store::Keeper;

/// Nodes that the kernel may know: they take some 30 MB here, and twelve times that of the kernel's own memory, which it gives back when
/// it needs it.
pub const KNOWN_MAX: usize = 200_000;

/// The view as it hears of commits. Weak: the engine holds it.
struct Ears(Weak<View>);

impl Observer for Ears {
    fn committed(&self, committed: &Arc<Committed>, then: Then) {
        match self.0.upgrade() {
            Some(view) => view.end_what_changed(committed, then),
            None => then(),
        }
    }
}

/// The view as it is told whether it is alone on its data.
struct Alone(Weak<View>);

impl Keeper for Alone {
    fn begin(&self) {
        if let Some(view) = self.0.upgrade() {
            view.begin_to_keep();
        }
    }

    fn end(&self) {
        if let Some(view) = self.0.upgrade() {
            view.end_keeping();
        }
    }

    fn remains(&self) -> Option<PathBuf> {
        self.0.upgrade()?.keeping.remains.get().cloned()
    }
}

impl View {
    /// The view is mounted: who tells the kernel, and a file that is there as long as the kernel may keep anything.
    pub fn mounted(&self, kernel: Arc<dyn Kernel>, remains: Option<PathBuf>) {
        *self.keeping.kernel.write() = Some(kernel);
        if let Some(remains) = remains {
            let _ = self.keeping.remains.set(remains);
        }
    }

    /// Lets the kernel keep what is answered whenever nobody else has the data open.
    ///
    /// # Errors
    /// Those of the database.
    pub fn keep_while_alone(&self) -> Result<(), Error> {
        if self.mount.options.keep_text {
            // A text that is forgotten ends no version, and nobody would tell the kernel that the size is another.
            return Ok(());
        }
        self.mount.db.keep_alone(Arc::new(Alone(self.me.clone())))
    }

    /// The mount is to go: its kernel keeps nothing any more, and will not.
    pub fn stop_keeping(&self) {
        self.keeping.is_over.store(true, Ordering::SeqCst);
        self.end_keeping();
    }

    /// The mount is gone.
    pub fn unmounted(&self) {
        self.keeping.kernel.write().take();
    }

    fn begin_to_keep(&self) {
        let ears: Arc<dyn Observer> = Arc::new(Ears(self.me.clone()));
        // The lock is held so that the end of the mount finds the observer.
        let mut observer = self.keeping.observer.lock();
        if observer.is_some() || self.keeping.is_over.load(Ordering::SeqCst) {
            return;
        }
        match self.mount.db.observe(&ears) {
            Ok(()) => {
                *observer = Some(ears);
                self.keeping.was_on.store(true, Ordering::SeqCst);
                self.keeping.is_on.store(true, Ordering::SeqCst);
            }
            Err(error) => log::warn!("the kernel keeps nothing: {error}"),
        }
    }

    fn end_keeping(&self) {
        let observer = self.keeping.observer.lock().take();
        self.keeping.is_on.store(false, Ordering::SeqCst);
        // Of what was marked before, answers may be on their way; nothing is marked after.
        let all = self.inodes.all_marked(None);
        let notices = self.drop_all(&all).collect();
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let done: Then = Box::new(move || drop(sender));
        self.notify(notices, all, Patience::Long, done);
        // Nothing is sent: it is over when the sender is gone.
        let _ = receiver.recv();
        if let Some(observer) = observer {
            self.mount.db.unobserve(&observer);
        }
    }

    /// Runs on the thread that commits.
    fn end_what_changed(&self, committed: &Committed, then: Then) {
        let (mut notices, mut marks) = (Vec::new(), Vec::new());
        for written in &committed.items {
            let ino = item_number(&written.table, &written.key);
            if let Some(mark) = self.inodes.marked(ino)
                && let Some(notice) = self.notice_of(written, ino, committed.patience)
            {
                // The name goes on, and with it the mark: a rename asks for it.
                let is_over = !matches!(notice, Notice::Written(..));
                marks.extend(is_over.then_some((ino, mark)));
                notices.push(notice);
            }
        }
        for table in &committed.tables {
            let of_table = self.inodes.all_marked(Some(table));
            notices.push(Notice::Gone(table_name(table), Node::Table(table.clone()).ino()));
            // Each by its name: an answer may be on its way, by which the kernel would know it when the table comes again.
            notices.extend(self.drop_all(&of_table));
            marks.extend(of_table);
        }
        // A write by which somebody else's look begins to matter is not settled by the kernel.
        let patience = if committed.patience == Patience::Settled { Patience::Short } else { committed.patience };
        self.notify(notices, marks, patience, then);
    }

    fn drop_all(&self, marked: &[(u64, Mark)]) -> impl Iterator<Item = Notice> {
        let name = |ino| item_of(&*self.inodes.get(ino)?).map(name_of_entry);
        marked.iter().filter_map(move |(ino, _)| Some(Notice::Gone(name(*ino)?, *ino)))
    }

    fn notice_of(&self, written: &Written, ino: u64, patience: Patience) -> Option<Notice> {
        let name = || name_of(&written.table, &written.key);
        match written.version {
            // For whom a look at the item matters, that begins with its name.
            Some(version) if self.reads.is_to_be_seen(ino, version) => Some(Notice::Changed(name(), ino)),
            _ if patience == Patience::Settled => None,
            Some(_) => Some(Notice::Written(name(), ino)),
            None => Some(Notice::Gone(name(), ino)),
        }
    }

    /// Tells the kernel, and nobody waits; no mark ends.
    pub(super) fn post(&self, notices: Vec<Notice>) {
        self.notify(notices, Vec::new(), Patience::None, Box::new(|| {}));
    }

    /// Tells the kernel; the marks end when that is done.
    fn notify(&self, mut notices: Vec<Notice>, marks: Vec<(u64, Mark)>, patience: Patience, then: Then) {
        let Some(kernel) = self.keeping.kernel.read().clone().filter(|_| !notices.is_empty()) else { return then() };
        self.keeping.told.notices.fetch_add(notices.len() as u64, Ordering::Relaxed);
        for notice in &mut notices {
            let name = notice.name_mut();
            name.parent = self.inodes.number(name.parent);
        }
        let view = self.me.clone();
        let ended: Then = Box::new(move || {
            if let Some(view) = view.upgrade() {
                marks.into_iter().for_each(|(ino, mark)| view.inodes.ended(ino, mark));
            }
        });
        kernel.tell(notices, patience, ended, then);
    }

    /// Lets the kernel drop the oldest of what it knows when that is too much: on another thread, as it takes a while.
    pub(super) fn bound_known(&self) {
        if self.inodes.len() > KNOWN_MAX
            && !self.keeping.is_evicting.swap(true, Ordering::AcqRel)
            && let Some(view) = self.me.upgrade()
        {
            self.workers.run(Box::new(move || {
                view.evict();
                view.keeping.is_evicting.store(false, Ordering::Release);
            }));
        }
    }

    fn evict(&self) {
        let oldest = self.inodes.oldest(KNOWN_MAX).into_iter().filter(|ino| !self.handles.is_open(*ino));
        let notices: Vec<Notice> = oldest.filter_map(|ino| evicted(&*self.inodes.get(ino)?)).collect();
        self.keeping.told.evicted.fetch_add(notices.len() as u64, Ordering::Relaxed);
        self.post(notices);
    }

    /// What the kernel knows and keeps, for `.ddb/stats.json`.
    pub(super) fn kept_now(&self) -> serde_json::Value {
        let told = &self.keeping.told;
        serde_json::json!({
            "is_on": self.keeps(),
            "known": self.inodes.len(),
            "asked": told.asked.load(Ordering::Relaxed),
            "notifications": told.notices.load(Ordering::Relaxed),
            "evicted": told.evicted.load(Ordering::Relaxed),
        })
    }
}

fn table_name(table: &TableName) -> Name {
    Name { parent: ROOT_INO, name: path::table_name(table) }
}

/// The name of an item's plain text.
fn name_of(table: &TableName, key: &Key) -> Name {
    name_of_entry(&EntryNode { source: base(table), key: EntryKey { index: None, base: key.clone() }, form: TextForm::PlainJson })
}

/// Only files: who is in a directory would find it without a name.
fn evicted(node: &Node) -> Option<Notice> {
    match node {
        Node::Entry(entry) => Some(Notice::Dropped(name_of_entry(entry))),
        _ => None,
    }
}
