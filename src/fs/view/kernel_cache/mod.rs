//! The state of the kernel's cache of the view's answers, behind one interface: [`KernelCache`].
//!
//! ```text
//! mod.rs           the lease: when answers may be cached, and the state; items that are about to be renamed; programs that look at what they list
//! policy.rs        which parts of an answer may be cached, and for how long
//! invalidate.rs    the notifications of a commit, their receivers, and the calls that wait for them
//! ```
//!
//! # The protocol
//!
//! The cache is in one of four states.
//!
//! | state | begins | promise |
//! |---|---|---|
//! | off | with the mount | no answer is cached: every system call asks, and sees the last commit |
//! | on | the lease begins: no other process has the data open ([`crate::store::LeaseHolder`]), and the database reports each commit ([`CommitObserver`]) | an answer is cached for [`KernelConnection::ttl`] at most, and ends before the change is acknowledged that makes it untrue; so a system call that begins after a write has returned, through whatever front end, sees the write |
//! | ending | another process opens the data, or the mount goes | nothing new is cached; the newcomer writes when all cached answers have ended, after ten seconds at the latest |
//! | over | the mount is gone | nothing is cached any more, nor will be |
//!
//! This holds by the following steps, in the order in which they happen:
//!
//! 1. A node is *marked* before its data is read, and only an answer about a marked node may be
//!    cached. So a commit that comes between reading and answering finds the mark. The state of the
//!    cache, on or off, is read before the mark and after it.
//! 2. A commit is reported before its writer gets the answer. The kernel is notified of marked
//!    nodes that it makes untrue; the writer waits for that as its [`WaitPolicy`] says, by the
//!    locks that the kernel holds for it meanwhile.
//! 3. The mark ends when the kernel has been notified.
//! 4. A number whose pages are cached for open handles stands for one version
//!    ([`crate::fs::open::handle`]). A commit *detaches* it: its name gets another number. So does
//!    each answer about the name that finds another version. An open that finds a detached number
//!    is refused by ESTALE, upon which the kernel looks the name up and opens that.
//! 5. The watchdog: once this process is killed nothing notifies the kernel. `cli::watchdog` ends all
//!    names and the connection, and then lets the next process write. If it is killed too, a process
//!    that opens the data after it writes nothing for as long as an answer is cached.

mod invalidate;
mod policy;

use std::path::PathBuf;

use parking_lot::RwLock;

use crate::fs::{
    node::inode_table::InodeTable,
    open::{handle::HandleTable, prelude::*},
    ttl_map::FastEmpty,
};
use crate::model::api::{AfterCommit, CommitEvent, CommitObserver};
use crate::store::{LEASE_TTL, LeaseHolder};
use std::sync::{
    OnceLock, Weak,
    atomic::{AtomicBool, AtomicU64},
};

/// The kernel's cache; see the module.
pub struct KernelCache {
    weak_self: Weak<Self>,
    host: Host,
    inodes: Arc<InodeTable>,
    handles: Arc<HandleTable>,
    pub listing_credits: ListingCredits,
    renames: PendingRenames,
    is_on: AtomicBool,
    /// True if it was on at any time.
    was_on: AtomicBool,
    /// True if the mount goes, or is gone.
    is_over: AtomicBool,
    is_evicting: AtomicBool,
    /// The connection to the kernel, while there is a mount.
    kernel: RwLock<Option<KernelConnection>>,
    /// The time of the connection, which is asked for at each answer.
    ttl: OnceLock<Duration>,
    pub refused_opens: RefusedOpens,
    /// A file that exists as long as the kernel may cache anything.
    marker_file: OnceLock<PathBuf>,
    /// The observer by which the database knows this cache, while it is on.
    observer: Mutex<Option<Arc<dyn CommitObserver>>>,
    pub counters: KernelCacheCounters,
}

opaque_debug!(KernelCache);

/// The cache as the store and the database hold it: it has the lease, and observes commits.
struct CacheHandle(Weak<KernelCache>);

impl LeaseHolder for CacheHandle {
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

    fn ttl(&self) -> Duration {
        self.0.upgrade().map_or(LEASE_TTL, |cache| cache.ttl())
    }

    fn marker_file(&self) -> Option<PathBuf> {
        self.0.upgrade()?.marker_file.get().cloned()
    }
}

impl CommitObserver for CacheHandle {
    fn on_commit(&self, committed: &Arc<CommitEvent>, complete: AfterCommit) {
        match self.0.upgrade() {
            Some(cache) => cache.invalidate(committed, complete),
            None => complete(),
        }
    }
}

impl KernelCache {
    /// Makes a cache that is off.
    #[must_use]
    pub fn new(host: Host, inodes: Arc<InodeTable>, handles: Arc<HandleTable>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            weak_self: me.clone(),
            host,
            inodes,
            handles,
            listing_credits: ListingCredits::default(),
            renames: PendingRenames::default(),
            is_on: AtomicBool::default(),
            was_on: AtomicBool::default(),
            is_over: AtomicBool::default(),
            is_evicting: AtomicBool::default(),
            kernel: RwLock::default(),
            ttl: OnceLock::default(),
            refused_opens: RefusedOpens::default(),
            marker_file: OnceLock::default(),
            observer: Mutex::default(),
            counters: KernelCacheCounters::default(),
        })
    }

    /// True if the kernel may cache anything now. A call asks twice: before the node is marked,
    /// since without a mark nothing may be cached, and after that, since the end of the lease looks
    /// for marks afterwards.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::SeqCst)
    }

    /// Notes that the view is mounted: the connection to the kernel, and a file that exists as long
    /// as the kernel may cache anything.
    pub fn set_mounted(&self, kernel: KernelConnection, marker_file: Option<PathBuf>) {
        let _ = self.ttl.set(kernel.ttl);
        *self.kernel.write() = Some(kernel);
        if let Some(marker_file) = marker_file {
            let _ = self.marker_file.set(marker_file);
        }
    }

    /// Returns the longest time for which an answer is cached.
    fn ttl(&self) -> Duration {
        self.ttl.get().copied().unwrap_or(LEASE_TTL)
    }

    /// Lets the cache be on whenever no other process has the data open.
    ///
    /// # Errors
    /// The database cannot wait for the lease of the data.
    pub fn hold_lease(&self) -> Result<(), Error> {
        if self.host.mount.options.keep_text {
            // A text that is forgotten ends no version, so nothing would notify the kernel of the
            // new size.
            return Ok(());
        }
        self.host
            .mount
            .db
            .hold_lease(Arc::new(CacheHandle(self.weak_self.clone())))
    }

    /// Ends the cache for good: the mount is to go.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.end();
    }

    /// Drops the connection to the kernel: the mount is gone.
    pub fn unmounted(&self) {
        self.kernel.write().take();
    }

    fn begin(&self) {
        let commits: Arc<dyn CommitObserver> = Arc::new(CacheHandle(self.weak_self.clone()));
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
            Err(error) => log::warn!("the kernel cache is off: {error}"),
        }
    }

    fn end(&self) {
        let observer = self.observer.lock().take();
        self.is_on.store(false, Ordering::SeqCst);
        // Answers about nodes that were marked before may be on their way; nothing is marked after.
        self.invalidate_all();
        if let Some(observer) = observer {
            self.host.mount.db.unobserve(&observer);
        }
    }

    /// Notes that a thread is about to rename items. Returns true if it may do so now. Otherwise
    /// the kernel must look their names up, which it then caches no more, and call again.
    pub fn begin_rename(&self, inos: &[u64], thread: u32) -> bool {
        // `count` and not `all`: every rename begins, whatever the result of the one before.
        let are_ready = inos
            .iter()
            .filter(|ino| !self.renames.begin(**ino, thread))
            .count()
            == 0;
        are_ready || !self.was_on.load(Ordering::SeqCst)
    }

    /// Notes that the rename has ended, with or without success.
    pub fn end_rename(&self, inos: &[u64], thread: u32) {
        inos.iter().for_each(|ino| self.renames.end(*ino, thread));
    }

    /// Returns the counters of the cache, for `.ddb/stats.json`.
    #[must_use]
    pub fn stats(&self) -> serde_json::Value {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        serde_json::json!({
            "is_on": self.is_on(),
            "known": self.inodes.len(),
            "asked": count(&self.counters.asked),
            "notifications": count(&self.counters.invalidations),
            "evicted": count(&self.counters.evicted),
        })
    }
}

/// A name in a directory, which is named by its inode number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeName {
    pub parent: u64,
    pub name: String,
}

/// A notification to the kernel about one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invalidation {
    /// The cached attributes end; the name goes on.
    Attributes(NodeName, u64),
    /// The cached attributes end, and the name must be looked up again before a call goes on.
    Recheck(NodeName, u64),
    /// The name is gone, with all names below it and the attributes.
    Removed(NodeName, u64),
    /// Nothing has changed; the kernel is to forget the name, and with it the node.
    Forget(NodeName),
    /// The same, of a directory: the kernel forgets it if no process uses it. Older kernels than
    /// 6.18 do not.
    Prune(u64),
}

impl Invalidation {
    pub fn name_mut(&mut self) -> Option<&mut NodeName> {
        match self {
            Self::Attributes(name, _)
            | Self::Recheck(name, _)
            | Self::Removed(name, _)
            | Self::Forget(name) => Some(name),
            Self::Prune(_) => None,
        }
    }
}

/// Sends notifications to the kernel, then calls the first callback; calls the second when no stale
/// answer can be seen any more, or when the wait is over. Never blocks.
pub type NotifyKernel =
    Arc<dyn Fn(Vec<Invalidation>, WaitPolicy, AfterCommit, AfterCommit) + Send + Sync>;

/// Stores bytes in the kernel's page cache as the beginning of a file, by its number. Returns true
/// if the kernel took all.
pub type StorePages = Arc<dyn Fn(u64, &[u8]) -> bool + Send + Sync>;

/// The calls from here to the kernel.
#[derive(Clone)]
pub struct KernelConnection {
    /// The longest time for which the kernel may cache an answer.
    pub ttl: Duration,
    pub notify: NotifyKernel,
    pub store: StorePages,
}

opaque_debug!(KernelConnection);

/// The counters of the cache, for `.ddb/stats.json`.
#[derive(Debug, Default)]
pub struct KernelCacheCounters {
    pub invalidations: AtomicU64,
    pub evicted: AtomicU64,
    /// LOOKUP and GETATTR requests.
    pub asked: AtomicU64,
}

/// Returns the entry of a node that is the plain text of an item or an index entry: the kernel
/// caches names and attributes of no other file.
pub fn cached_entry(node: &Node) -> Option<&EntryNode> {
    match node {
        Node::Entry(entry) if entry.form == TextForm::PlainJson => Some(entry),
        _ => None,
    }
}

/// Returns the item of a node that is an item's plain text.
pub fn cached_item(node: &Node) -> Option<&EntryNode> {
    cached_entry(node).filter(|entry| entry.source.index.is_none())
}

/// Returns the name of an entry of a table or an index.
pub fn node_name(entry: &EntryNode) -> NodeName {
    NodeName {
        parent: entry.directory().ino(),
        name: names::entry_name(&entry.key, entry.form),
    }
}

/// True if this is how the directory lists the node. That name ends when the node does; other names
/// of the same key are not cached.
pub fn is_listed_name(parent: &Node, node: &Node, name: &[u8]) -> bool {
    match (parent, cached_entry(node)) {
        (Node::Items(_) | Node::Collection(..), Some(entry)) => {
            names::entry_name(&entry.key, TextForm::PlainJson).as_bytes() == name
        }
        (_, None) => true,
        _ => false,
    }
}

const THREADS_MAX: usize = 1_000;
const READER_MS: u64 = 60_000;
/// The most entries that a thread gets with attributes before it looks at one: fts(3) of gnulib
/// reads 100,000 names before it looks at the first, and a buffer of them more.
pub const CREDIT_MAX: u32 = 102_400;
/// The credit with which a thread begins that lists a directory as opendir(3) opens it: about one
/// reply.
pub const CREDIT_FIRST: u32 = 160;
/// Of so many entries one is a name only.
pub const PROBE_INTERVAL: u32 = 512;

/// The threads that list directories, each with the number of entries that it still gets with
/// attributes: in directories of folders, and in those of items.
///
/// Attributes save a program the LOOKUP of an entry that it looks at, which costs six times as
/// much; to a program that reads names only, as `find -name`, they are useless, and each costs the
/// kernel a node. The kernel answers looks from its cache, and does not tell. So each entry with
/// attributes takes one off the credit of its thread, and one in [`PROBE_INTERVAL`] is a name only:
/// a program that looks at it sends a LOOKUP, which restores the credit; if that comes from a thread
/// that lists nothing, the credit of the last thread that listed the directory. Threads have the
/// kernel's numbers.
#[derive(Debug, Default)]
pub struct ListingCredits {
    left: FastEmpty<TtlMap<(u32, ListedKind), u32, THREADS_MAX, READER_MS>>,
    /// The last thread that listed a directory, by the directory's number.
    listers: Mutex<TtlMap<u64, u32, THREADS_MAX, READER_MS>>,
}

/// The kinds of directories of a table or an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListedKind {
    /// Folders, or the items of a table without them.
    Top,
    /// The items of a folder.
    InFolder,
}

impl ListedKind {
    /// Returns the kind of a directory whose entries the kernel may cache.
    #[must_use]
    pub fn of(directory: &Node) -> Option<Self> {
        match directory {
            Node::Items(_) => Some(Self::Top),
            Node::Collection(..) => Some(Self::InFolder),
            _ => None,
        }
    }
}

impl ListingCredits {
    /// Notes that a thread looks at an entry of a directory of that kind by a request.
    pub fn record_look(&self, thread: u32, kind: ListedKind, directory: u64) {
        if self.left.is_empty() || self.restore(thread, kind) {
            return;
        }
        let lister = self.listers.lock().get(&directory, now_ms()).copied();
        lister.map(|lister| self.restore(lister, kind));
    }

    /// Restores the credit of a thread. Returns false if it has listed nothing.
    fn restore(&self, thread: u32, kind: ListedKind) -> bool {
        self.left.update(|left| {
            left.get_mut(&(thread, kind), now_ms())
                .map(|credit| *credit = CREDIT_MAX)
                .is_some()
        })
    }

    /// Returns the number of entries that a thread still gets with attributes, `first` if it has
    /// listed nothing lately.
    #[must_use]
    pub fn left(&self, thread: u32, kind: ListedKind, first: u32) -> u32 {
        self.left
            .update(|left| left.get(&(thread, kind), now_ms()).copied())
            .unwrap_or(first)
    }

    /// Notes that a thread asks for the kind of file system: so does fts(3) when it has read 10,000
    /// names.
    pub fn record_statfs(&self, thread: u32) {
        if !self.left.is_empty() {
            for kind in [ListedKind::Top, ListedKind::InFolder] {
                self.restore(thread, kind);
            }
        }
    }

    /// Sets the number of entries that a thread still gets with attributes, which lists a directory.
    pub fn set_left(&self, thread: u32, kind: ListedKind, directory: u64, credit: u32) {
        self.left
            .update(|left| left.insert((thread, kind), credit, now_ms()));
        self.listers.lock().insert(directory, thread, now_ms());
    }
}

/// The time within which the kernel opens a file again that was refused by ESTALE.
const REOPEN_MS: u64 = 1_000;
const REFUSED_MAX: usize = 1_000;

/// The opens of items that were refused by ESTALE, so that the kernel looks the name up, which has
/// another number then or is gone, and opens that. An open is refused once: the name may have the old number
/// again, as `/dev/stdin` has.
#[derive(Debug, Default)]
pub struct RefusedOpens {
    /// The item, the thread, and true if it writes.
    threads: FastEmpty<TtlMap<(u64, u32, bool), (), REFUSED_MAX, REOPEN_MS>>,
}

impl RefusedOpens {
    /// Returns true if this open is refused, and notes it. Returns false if it was refused before.
    pub fn refuse(&self, item: u64, thread: u32, is_writer: bool) -> bool {
        self.threads.update(|threads| {
            let (open, now_ms) = ((item, thread, is_writer), now_ms());
            let is_first = threads.get(&open, now_ms).is_none();
            if is_first {
                threads.insert(open, (), now_ms);
            }
            is_first
        })
    }

    /// Notes that an open by the thread has ended.
    pub fn ended(&self, item: u64, thread: u32, is_writer: bool) {
        if !self.threads.is_empty() {
            self.threads
                .update(|threads| threads.remove(&(item, thread, is_writer)));
        }
    }

    /// True if a refused writer is about to open the item: until then no reader may use the page
    /// cache.
    #[must_use]
    pub fn is_writer_expected(&self, item: u64) -> bool {
        self.threads
            .is_any(|threads| threads.any(|(of, _, is_writer)| *of == item && *is_writer, now_ms()))
    }
}

/// The time after which a rename that was put off is forgotten.
const RENAME_RETRY_MS: u64 = 10_000;
const RENAMES_MAX: usize = 1_000;

/// The inode numbers of items that are about to be renamed: the kernel moves its answers about the
/// old name to the new one, which has another inode number. So it must not cache these names until
/// they are renamed.
#[derive(Debug, Default)]
pub struct PendingRenames {
    /// The item and the thread that renames it, with true if that thread has looked the name up
    /// since, so that the kernel caches it no more. Another thread's look does not count: the
    /// kernel takes the answer to that when it likes.
    inos: FastEmpty<TtlMap<(u64, u32), bool, RENAMES_MAX, RENAME_RETRY_MS>>,
}

impl PendingRenames {
    /// Notes that a thread is about to rename an item. Returns true if the kernel caches its name
    /// no more.
    pub fn begin(&self, ino: u64, thread: u32) -> bool {
        let now_ms = now_ms();
        self.inos.update(|inos| {
            let is_ready = inos.get(&(ino, thread), now_ms) == Some(&true);
            inos.insert((ino, thread), is_ready, now_ms);
            is_ready
        })
    }

    /// Notes that the rename has ended, with or without success.
    pub fn end(&self, ino: u64, thread: u32) {
        self.inos.update(|inos| inos.remove(&(ino, thread)));
    }

    /// True if the item is about to be renamed.
    pub fn is_pending(&self, ino: u64) -> bool {
        self.inos
            .is_any(|inos| inos.any(|(of, _)| *of == ino, now_ms()))
    }

    /// True if the item is about to be renamed. Notes that the thread looks it up, and gets an
    /// answer that is not cached.
    pub fn note_lookup(&self, ino: u64, thread: u32) -> bool {
        if !self.is_pending(ino) {
            return false;
        }
        self.inos.update(|inos| {
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
    fn a_look_restores_the_credit_of_a_thread_that_has_listed() {
        let credits = ListingCredits::default();
        let left = |thread, kind| credits.left(thread, kind, 5);
        credits.record_look(7, ListedKind::Top, 1);
        assert_eq!(left(7, ListedKind::Top), 5, "it has listed nothing");
        credits.set_left(7, ListedKind::Top, 1, 0);
        credits.set_left(7, ListedKind::InFolder, 2, 1);
        assert_eq!((left(7, ListedKind::Top), left(8, ListedKind::Top)), (0, 5));
        credits.record_look(8, ListedKind::Top, 3);
        assert_eq!(left(7, ListedKind::Top), 0, "another directory");
        credits.record_look(8, ListedKind::Top, 1);
        assert_eq!(left(7, ListedKind::Top), CREDIT_MAX, "a thread beside it");
        credits.set_left(7, ListedKind::Top, 1, 0);
        credits.record_look(7, ListedKind::Top, 3);
        assert_eq!(
            [ListedKind::Top, ListedKind::InFolder].map(|kind| left(7, kind)),
            [CREDIT_MAX, 1]
        );
    }

    #[test]
    fn a_rename_goes_on_when_who_asked_for_it_has_looked_the_name_up_since() {
        let moving = PendingRenames::default();
        assert!(!moving.note_lookup(1, 7));
        assert!(
            !moving.begin(1, 7) && !moving.begin(1, 7),
            "nobody has looked it up"
        );
        assert!(
            moving.note_lookup(1, 8) && moving.is_pending(1) && !moving.begin(1, 7),
            "another has"
        );
        assert!(moving.note_lookup(1, 7) && !moving.note_lookup(2, 7));
        assert!(!moving.begin(1, 8) && moving.begin(1, 7));
        moving.end(1, 7);
        moving.end(1, 8);
        assert!(!moving.note_lookup(1, 7) && !moving.begin(1, 7));
    }
}
