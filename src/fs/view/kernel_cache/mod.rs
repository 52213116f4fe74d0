//! What the kernel keeps of the view's answers, behind one interface: [`KernelCache`].
//!
//! ```text
//! mod.rs           the lease: when anything may be kept, and what is known of it; what is about to be renamed, and who lists names only
//! policy.rs        what may be kept of an answer, and for how long
//! invalidate.rs    what ends when something is committed, who is told, and who waits for that
//! ```
//!
//! # The protocol
//!
//! The cache is in one of four states.
//!
//! | state | begins | what is promised |
//! |---|---|---|
//! | off | with the mount | no answer lasts: every system call asks, and sees the last commit |
//! | on | the lease begins: no other process has the data open ([`crate::store::Keeper`]), and the database tells of each commit ([`CommitObserver`]) | an answer lasts for [`KEEP`](crate::store::KEEP) at most, and ends before the change is acknowledged that makes it untrue; so a system call that begins after a write has returned, through whatever front end, sees the write |
//! | ending | another process opens the data, or the mount goes | nothing new is kept; the newcomer writes when all that was kept has ended, after ten seconds at the latest |
//! | over | the mount is gone | nothing is kept any more, nor will be |
//!
//! What makes that true, in the order in which it happens:
//!
//! 1. A node is *marked* before its data is read, and only what is marked may last. So a commit that comes between reading and answering finds
//!    the mark. Whether the cache is on is asked before the mark and after it.
//! 2. A commit is told before its writer hears of it. What it makes untrue of marked nodes is told the kernel; the writer waits for that as
//!    its [`WaitPolicy`] says, by what the kernel holds for it meanwhile.
//! 3. The mark ends when the kernel has been told.
//! 4. The watchdog: once this process is killed nobody tells the kernel anything. Nothing lasts longer than `KEEP`; who opens the data
//!    after a process that was killed writes nothing for as long; and a kernel that waits for the dead is let go by `cli::watchdog`.

mod invalidate;
mod policy;

use std::path::PathBuf;

use parking_lot::RwLock;

use crate::fs::node::inode_table::InodeTable;
use crate::fs::open::handle::Handles;
use crate::fs::open::prelude::*;
use crate::fs::recent::Seldom;
use crate::model::api::{CommitObserver, Committed, Then};
use crate::store::Keeper;
use std::sync::{
    OnceLock, Weak,
    atomic::{AtomicBool, AtomicU64},
};

/// See the module.
pub struct KernelCache {
    me: Weak<Self>,
    host: Host,
    inodes: Arc<InodeTable>,
    handles: Arc<Handles>,
    pub name_readers: NameReaders,
    moving: Moving,
    is_on: AtomicBool,
    /// It was at any time.
    was_on: AtomicBool,
    /// The mount goes, or is gone.
    is_over: AtomicBool,
    is_evicting: AtomicBool,
    /// While there is a mount.
    kernel: RwLock<Option<TellKernel>>,
    /// What is there as long as the kernel may keep anything.
    remains: OnceLock<PathBuf>,
    /// This as the database knows it, while it is on.
    observer: Mutex<Option<Arc<dyn CommitObserver>>>,
    pub told: Told,
}

impl std::fmt::Debug for KernelCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelCache")
            .field("is_on", &self.is_on)
            .field("told", &self.told)
            .finish_non_exhaustive()
    }
}

/// The cache as the store and the database hold it: it has the lease, and hears of commits.
struct Held(Weak<KernelCache>);

impl Keeper for Held {
    fn begin(&self) {
        if let Some(cache) = self.0.upgrade() {
            cache.begin();
        }
    }

    fn end(&self) {
        if let Some(cache) = self.0.upgrade() {
            cache.end();
        }
    }

    fn remains(&self) -> Option<PathBuf> {
        self.0.upgrade()?.remains.get().cloned()
    }
}

impl CommitObserver for Held {
    fn committed(&self, committed: &Arc<Committed>, then: Then) {
        match self.0.upgrade() {
            Some(cache) => cache.end_what_changed(committed, then),
            None => then(),
        }
    }
}

impl KernelCache {
    /// One that is off.
    #[must_use]
    pub fn new(host: Host, inodes: Arc<InodeTable>, handles: Arc<Handles>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            host,
            inodes,
            handles,
            name_readers: NameReaders::default(),
            moving: Moving::default(),
            is_on: AtomicBool::default(),
            was_on: AtomicBool::default(),
            is_over: AtomicBool::default(),
            is_evicting: AtomicBool::default(),
            kernel: RwLock::default(),
            remains: OnceLock::default(),
            observer: Mutex::default(),
            told: Told::default(),
        })
    }

    /// May the kernel keep anything now? Who answers asks twice: before the node is marked, since without a mark nothing may be kept,
    /// and after that, since who ends the keeping looks for marks afterwards.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::SeqCst)
    }

    /// The view is mounted: who tells the kernel, and a file that is there as long as the kernel may keep anything.
    pub fn mounted(&self, kernel: TellKernel, remains: Option<PathBuf>) {
        *self.kernel.write() = Some(kernel);
        if let Some(remains) = remains {
            let _ = self.remains.set(remains);
        }
    }

    /// Is on whenever nobody else has the data open.
    ///
    /// # Errors
    /// Those of the database.
    pub fn keep_while_alone(&self) -> Result<(), Error> {
        if self.host.mount.options.keep_text {
            // A text that is forgotten ends no version, and nobody would tell the kernel that the size is another.
            return Ok(());
        }
        self.host
            .mount
            .db
            .keep_alone(Arc::new(Held(self.me.clone())))
    }

    /// The mount is to go: its kernel keeps nothing any more, and will not.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.end();
    }

    /// The mount is gone.
    pub fn unmounted(&self) {
        self.kernel.write().take();
    }

    fn begin(&self) {
        let commits: Arc<dyn CommitObserver> = Arc::new(Held(self.me.clone()));
        // The lock is held so that the end of the mount finds the observer.
        let mut observer = self.observer.lock();
        if observer.is_some() || self.is_over.load(Ordering::SeqCst) {
            return;
        }
        match self.host.mount.db.observe(&commits) {
            Ok(()) => {
                *observer = Some(commits);
                self.was_on.store(true, Ordering::SeqCst);
                self.is_on.store(true, Ordering::SeqCst);
            }
            Err(error) => log::warn!("the kernel keeps nothing: {error}"),
        }
    }

    fn end(&self) {
        let observer = self.observer.lock().take();
        self.is_on.store(false, Ordering::SeqCst);
        // Of what was marked before, answers may be on their way; nothing is marked after.
        self.drop_all_marked();
        if let Some(observer) = observer {
            self.host.mount.db.unobserve(&observer);
        }
    }

    /// Items are about to be renamed by that thread. May they be now? Else the kernel is to look their names up, which it then keeps no
    /// more, and to call again.
    pub fn begin_rename(&self, inos: &[u64], thread: u32) -> bool {
        // Each of them begins, whatever the one before says.
        let are_ready = inos
            .iter()
            .filter(|ino| !self.moving.begin(**ino, thread))
            .count()
            == 0;
        are_ready || !self.was_on.load(Ordering::SeqCst)
    }

    /// They were renamed, or not.
    pub fn end_rename(&self, inos: &[u64], thread: u32) {
        inos.iter().for_each(|ino| self.moving.end(*ino, thread));
    }

    /// What the kernel knows and keeps, for `.ddb/stats.json`.
    #[must_use]
    pub fn stats(&self) -> serde_json::Value {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        serde_json::json!({
            "is_on": self.is_on(),
            "known": self.inodes.len(),
            "asked": count(&self.told.asked),
            "notifications": count(&self.told.invalidations),
            "evicted": count(&self.told.evicted),
        })
    }
}

/// A name in a directory, by the inode number of its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub parent: u64,
    pub name: String,
}

/// What the kernel is told of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invalidation {
    /// What it knows of the attributes is over; the name goes on.
    Written(Name, u64),
    /// The same, and the name is to be looked up again before anybody goes on.
    Changed(Name, u64),
    /// The name is gone, with all that is below; so are the attributes.
    Gone(Name, u64),
    /// Nothing has changed; it is to forget the name, and with it the node.
    Dropped(Name),
}

impl Invalidation {
    pub fn name_mut(&mut self) -> &mut Name {
        match self {
            Self::Written(name, _)
            | Self::Changed(name, _)
            | Self::Gone(name, _)
            | Self::Dropped(name) => name,
        }
    }
}

/// Tells the kernel all of these, then calls the first; calls the second when nothing can be seen that is over, or when the wait is. Never
/// blocks.
pub type TellKernel = Arc<dyn Fn(Vec<Invalidation>, WaitPolicy, Then, Then) + Send + Sync>;

/// What was done so far, for `.ddb/stats.json`.
#[derive(Debug, Default)]
pub struct Told {
    pub invalidations: AtomicU64,
    pub evicted: AtomicU64,
    /// LOOKUP and GETATTR requests.
    pub asked: AtomicU64,
}

/// The item whose plain text a node is: of nothing else are names and attributes kept.
pub fn item_of(node: &Node) -> Option<&EntryNode> {
    match node {
        Node::Entry(entry) if entry.source.index.is_none() && entry.form == TextForm::PlainJson => {
            Some(entry)
        }
        _ => None,
    }
}

/// The name of an entry of a table or an index.
pub fn name_of_entry(entry: &EntryNode) -> Name {
    Name {
        parent: entry.directory().ino(),
        name: names::entry_name(&entry.key, entry.form),
    }
}

/// Is this how the node is listed in that directory? The name that ends when the node does; others for the same key are not kept.
pub fn is_own_name(parent: &Node, node: &Node, name: &[u8]) -> bool {
    match (parent, item_of(node)) {
        (Node::Items(_) | Node::Collection(..), Some(entry)) => {
            names::entry_name(&entry.key, TextForm::PlainJson).as_bytes() == name
        }
        (_, None) => true,
        _ => false,
    }
}

const UNUSED_MAX: u8 = 4;
const THREADS_MAX: usize = 1_000;
const READER_MS: u64 = 60_000;

/// Who looks at what it lists: to a program that reads names only, as `find -name`, attributes are told for nothing, and each costs the
/// kernel a node.
///
/// The kernel asks for attributes at the beginning of every listing, and then again as long as names are looked up. A thread that goes
/// on by names [`UNUSED_MAX`] times, and has looked at no item meanwhile, is told no attributes at the beginning any more, until it
/// looks at one. Threads are named as the kernel does.
#[derive(Debug, Default)]
pub struct NameReaders {
    /// How often a thread was told attributes in vain.
    unused: Seldom<Recent<u32, u8, THREADS_MAX, READER_MS>>,
}

impl NameReaders {
    /// The thread was told attributes, and goes on by names.
    pub fn reads_names(&self, thread: u32) {
        let now_ms = now_ms();
        self.unused.change(|unused| {
            let before = unused.get(&thread, now_ms).copied().unwrap_or_default();
            unused.keep(thread, before.saturating_add(1), now_ms)
        });
    }

    /// The thread looks at an item.
    pub fn looks(&self, thread: u32) {
        if !self.unused.is_empty() {
            self.unused.change(|unused| unused.remove(&thread));
        }
    }

    /// Are attributes told it in vain?
    pub fn is_reader_of_names(&self, thread: u32) -> bool {
        self.unused.is_any(|unused| {
            unused
                .get(&thread, now_ms())
                .is_some_and(|times| *times >= UNUSED_MAX)
        })
    }
}

/// How long a rename may take to come again.
const MOVING_MS: u64 = 10_000;
const MOVING_MAX: usize = 1_000;

/// Inode numbers of items that are about to be renamed: the kernel moves what it knows of the old name to the new one, whose inode number is
/// another. So it is not to keep their names until they are.
#[derive(Debug, Default)]
pub struct Moving {
    /// With the thread that renames, and whether it has looked the name up since, by which the kernel keeps it no more. Not by another
    /// thread's look: the kernel takes the answer to that when it likes.
    inos: Seldom<Recent<(u64, u32), bool, MOVING_MAX, MOVING_MS>>,
}

impl Moving {
    /// It is about to be renamed by that thread. Does the kernel keep its name no more?
    pub fn begin(&self, ino: u64, thread: u32) -> bool {
        let now_ms = now_ms();
        self.inos.change(|inos| {
            let is_ready = inos.get(&(ino, thread), now_ms) == Some(&true);
            inos.keep((ino, thread), is_ready, now_ms);
            is_ready
        })
    }

    /// It was renamed, or not.
    pub fn end(&self, ino: u64, thread: u32) {
        self.inos.change(|inos| inos.remove(&(ino, thread)));
    }

    /// Is it about to be renamed?
    pub fn holds(&self, ino: u64) -> bool {
        self.inos
            .is_any(|inos| inos.any(|(of, _)| *of == ino, now_ms()))
    }

    /// The same; that thread looks it up, and is answered so that it is not kept.
    pub fn is_looked_up(&self, ino: u64, thread: u32) -> bool {
        if !self.holds(ino) {
            return false;
        }
        self.inos.change(|inos| {
            if let Some(is_ready) = inos.get_mut(&(ino, thread), now_ms()) {
                *is_ready = true;
            }
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_names_only_is_told_no_attributes_until_it_looks() {
        let readers = NameReaders::default();
        (1..UNUSED_MAX).for_each(|_| readers.reads_names(7));
        assert!(!readers.is_reader_of_names(7));
        readers.reads_names(7);
        assert_eq!(
            [7, 8].map(|thread| readers.is_reader_of_names(thread)),
            [true, false]
        );
        readers.looks(7);
        assert!(!readers.is_reader_of_names(7));
    }

    #[test]
    fn a_rename_goes_on_when_who_asked_for_it_has_looked_the_name_up_since() {
        let moving = Moving::default();
        assert!(!moving.is_looked_up(1, 7));
        assert!(
            !moving.begin(1, 7) && !moving.begin(1, 7),
            "nobody has looked it up"
        );
        assert!(
            moving.is_looked_up(1, 8) && moving.holds(1) && !moving.begin(1, 7),
            "another has"
        );
        assert!(moving.is_looked_up(1, 7) && !moving.is_looked_up(2, 7));
        assert!(!moving.begin(1, 8) && moving.begin(1, 7));
        moving.end(1, 7);
        moving.end(1, 8);
        assert!(!moving.is_looked_up(1, 7) && !moving.begin(1, 7));
    }
}
