//! Cache invalidation: the notifications that end the kernel's cached answers when they are no
//! longer true. `fuse/notify.rs` sends them.
//!
//! | event | notification to the kernel | the call that waits for it |
//! |---|---|---|
//! | an item is written | its attributes end (and its name is looked up again, where another process's look matters) | the write, but for the calls below |
//! | the same, while the page cache has an open version of it | its name is dropped: it gets another inode number | the same |
//! | an item is deleted | its name is dropped, and the attributes | the same |
//! | an item of a folder is written or deleted | the folder's attributes end, and after a delete its name, soon | the same for its attributes |
//! | an item with known entries in indexes is written or deleted | their names are dropped | every call, for a moment at least |
//! | the same, or another item of the table | the attributes of known folders of its indexes end | the same |
//! | a table or an index goes | the name of the table is dropped with all below, and the names and attributes of its items | the same |
//! | the mount is not alone any more | all cached names and attributes are dropped | the newcomer |
//! | more nodes are known than [`NODES_MAX`] | names are dropped, the oldest first | none |
//!
//! The lock order of waiting, in which no circle can arise:
//!
//! - A thread that serves the kernel, that commits, or that holds a lock waits for no notification.
//! - A notification about attributes waits for nothing. It is all that a written item needs which
//!   the kernel knows.
//! - A notification about a name waits for the kernel's lock of its directory. A call holds that
//!   lock until it is answered; any number of listings hold it together.
//! - A call that holds the lock of a directory (unlink, rename, mkdir, rmdir, symlink, create) is
//!   answered at once, and its changes elsewhere are notified after.
//! - A call that holds the lock of a file (write, flush, fsync) may be waited for by a call that
//!   holds a directory's (unlink of the file). So it waits for notifications for a moment only
//!   ([`WaitPolicy::Short`]).
//! - Every other call waits until the notification is done, or until the cached answers end by
//!   themselves.

use super::{Invalidation, KernelCache, NodeName, cached_entry, node_name};
use crate::fs::{
    node::{ROOT_INO, ino, inode_table::CacheMark, item_ino},
    open::prelude::*,
    path,
};
use crate::model::api::{AfterCommit, CommitEvent, EndedSource, WrittenItem};

/// The number of nodes that the kernel may know: they take some 30 MB here, and twelve times that
/// of the kernel's own memory, which it gives back when it needs it.
pub const NODES_MAX: usize = 200_000;

/// The longest text that is stored in the page cache when it is opened; a longer one is read.
const STORED_BYTES_MAX: usize = 64 * 1024;

impl KernelCache {
    /// Notifies the kernel of a commit, on the thread that commits.
    pub(super) fn invalidate(&self, committed: &CommitEvent, complete: AfterCommit) {
        let (mut invalidations, mut marks) = (Vec::new(), Vec::new());
        let (mut last_folder, mut perhaps_gone) = (None, Vec::new());
        for written in &committed.items {
            let is_delete = written.version.is_none();
            if let Some((ino, mark, name)) = self.marked_folder(written)
                && last_folder.replace((ino, is_delete)) != Some((ino, is_delete))
            {
                if is_delete {
                    perhaps_gone.push(Invalidation::Recheck(name.clone(), ino));
                }
                invalidations.push(Invalidation::Attributes(name, ino));
                marks.push((ino, mark));
            }
            let item = item_ino(&written.table, &written.key);
            let ino = self.inodes.number(item);
            let mark = self.inodes.mark_of(ino);
            if let Some((before, mark)) = self.inodes.marked_before(ino) {
                let name = item_name(&written.table, &written.key);
                invalidations.push(Invalidation::Attributes(name, before));
                marks.push((before, mark));
            }
            if self.handles.note_commit(ino, written.version) {
                // The number goes on as the version that is open, which the kernel must not find by
                // the name any more.
                self.inodes.detach(ino);
                marks.extend(mark.map(|mark| (ino, mark)));
                let name = item_name(&written.table, &written.key);
                invalidations.push(Invalidation::Removed(name, ino));
            } else if let Some(mark) = mark
                && let Some(invalidation) = self.invalidation_of(written, item, ino, committed.wait)
            {
                // The name goes on, and with it the mark: a rename asks for it.
                let is_over = !matches!(invalidation, Invalidation::Attributes(..));
                marks.extend(is_over.then_some((ino, mark)));
                invalidations.push(invalidation);
            }
        }
        for EndedSource { table, index } in &committed.ended {
            let (table, index) = (table.clone(), index.clone());
            let directory = Node::Table(table.clone()).ino();
            if index.is_none() {
                invalidations.push(Invalidation::Removed(table_name(&table), directory));
            }
            // Each by its name: an answer may be on its way, by which the kernel would know the
            // item when the table comes again.
            let mut of_source = self.inodes.all_marked(Some(&SourceName { table, index }));
            of_source.extend(self.inodes.take_followers(|| directory));
            invalidations.extend(self.drop_all(&of_source));
            marks.extend(of_source);
        }
        // If another process's look begins to matter by this write, the kernel's own drop of the
        // name does not settle it.
        let wait = if committed.wait == WaitPolicy::Settled {
            WaitPolicy::Short
        } else {
            committed.wait
        };
        let complete = self.notify_indexes(committed, complete);
        self.notify(invalidations, marks, wait, complete);
        // Its name waits for the directory, which the caller may hold: a rename of the folder.
        self.notify_async(perhaps_gone);
    }

    /// Returns the completion that lets the kernel drop the entries of written items in indexes, and
    /// the attributes of the folders of these indexes. It waits for that, also if the call holds a
    /// directory: no call that holds one of an index waits for a commit.
    fn notify_indexes(&self, committed: &CommitEvent, complete: AfterCommit) -> AfterCommit {
        let mut marks = Vec::new();
        for WrittenItem { table, key, .. } in &committed.items {
            let of_table = || Node::Table(table.clone()).ino();
            marks.extend(self.inodes.take_followers(|| item_ino(table, key)));
            marks.extend(self.inodes.take_followers(of_table));
        }
        let (Some(cache), false) = (self.weak_self.upgrade(), marks.is_empty()) else {
            return complete;
        };
        let wait = if committed.wait == WaitPolicy::Long {
            WaitPolicy::Long
        } else {
            WaitPolicy::Short
        };
        Box::new(move || {
            let invalidations = cache.drop_all(&marks).collect();
            cache.notify(invalidations, marks, wait, complete);
        })
    }

    /// Lets the kernel drop all marked nodes, and waits for it.
    pub(super) fn invalidate_all(&self) {
        let all = self.inodes.all_marked(None);
        let invalidations = self.drop_all(&all).collect();
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        self.notify(
            invalidations,
            all,
            WaitPolicy::Long,
            Box::new(move || drop(sender)),
        );
        // Nothing is sent: it is over when the sender is gone.
        let _ = receiver.recv();
    }

    /// Returns the notifications that end all answers about marked nodes. A folder keeps its name: a
    /// process in it would find it without one.
    fn drop_all(&self, marked: &[(u64, CacheMark)]) -> impl Iterator<Item = Invalidation> {
        marked
            .iter()
            .filter_map(|(ino, _)| match &*self.inodes.get(*ino)? {
                Node::Collection(source, partition) => Some(Invalidation::Attributes(
                    folder_name(source, partition),
                    *ino,
                )),
                node => Some(Invalidation::Removed(node_name(cached_entry(node)?), *ino)),
            })
    }

    /// Returns the number and the name of the folder of a written item, if its attributes may be
    /// cached, which the write changes.
    fn marked_folder(&self, written: &WrittenItem) -> Option<(u64, CacheMark, NodeName)> {
        written.key.sort.as_ref()?;
        let source = SourceName::from(&written.table);
        let partition = vec![written.key.partition.clone()];
        let ino = self.inodes.number(ino::collection(&source, &partition));
        let mark = self.inodes.mark_of(ino)?;
        Some((ino, mark, folder_name(&source, &partition)))
    }

    fn invalidation_of(
        &self,
        written: &WrittenItem,
        item: u64,
        ino: u64,
        wait: WaitPolicy,
    ) -> Option<Invalidation> {
        let name = || item_name(&written.table, &written.key);
        match written.version {
            // A look that matters to a process begins with the item's name.
            Some(version) if self.host.read_versions.has_other_version(item, version) => {
                Some(Invalidation::Recheck(name(), ino))
            }
            _ if wait == WaitPolicy::Settled => None,
            Some(_) => Some(Invalidation::Attributes(name(), ino)),
            None => Some(Invalidation::Removed(name(), ino)),
        }
    }

    /// Notifies the kernel without waiting; no mark ends.
    pub(super) fn notify_async(&self, invalidations: Vec<Invalidation>) {
        self.notify(invalidations, Vec::new(), WaitPolicy::None, Box::new(|| {}));
    }

    /// Notifies the kernel; the marks end when that is done.
    fn notify(
        &self,
        mut invalidations: Vec<Invalidation>,
        marks: Vec<(u64, CacheMark)>,
        wait: WaitPolicy,
        complete: AfterCommit,
    ) {
        let Some(kernel) = self
            .kernel
            .read()
            .clone()
            .filter(|_| !invalidations.is_empty())
        else {
            return complete();
        };
        self.counters
            .invalidations
            .fetch_add(invalidations.len() as u64, Ordering::Relaxed);
        for name in invalidations.iter_mut().filter_map(Invalidation::name_mut) {
            name.parent = self.inodes.number(name.parent);
        }
        let inodes = Arc::clone(&self.inodes);
        let ended: AfterCommit = Box::new(move || {
            marks
                .into_iter()
                .for_each(|(ino, mark)| inodes.clear_mark(ino, mark))
        });
        (kernel.notify)(invalidations, wait, ended, complete);
    }

    /// Stores a text in the kernel's page cache, so that its reads are no requests. Returns true if
    /// the cache has all of it. Never waits, as long as the file has no handle that may be read
    /// ([`crate::fs::open::handle::OpeningGuard::use_pages`]).
    pub fn store_pages(&self, ino: u64, text: &[u8]) -> bool {
        let store = self
            .kernel
            .read()
            .as_ref()
            .map(|kernel| Arc::clone(&kernel.store));
        text.len() <= STORED_BYTES_MAX && store.is_some_and(|store| store(ino, text))
    }

    /// Lets the kernel drop the oldest nodes when it knows too many: on another thread, as it takes
    /// a while.
    pub fn evict_excess(&self) {
        if self.inodes.is_excess(NODES_MAX)
            && !self.is_evicting.swap(true, Ordering::AcqRel)
            && let Some(cache) = self.weak_self.upgrade()
        {
            self.host.run_short(move || {
                cache.evict();
                cache.is_evicting.store(false, Ordering::Release);
            });
        }
    }

    fn evict(&self) {
        let oldest = self
            .inodes
            .oldest(NODES_MAX)
            .into_iter()
            .filter(|ino| !self.handles.is_open(*ino));
        let mut invalidations: Vec<Invalidation> = oldest
            .filter_map(|ino| eviction(&*self.inodes.get(ino)?, ino))
            .collect();
        // The kernel keeps a directory while it knows names in it.
        invalidations.sort_by_key(|invalidation| matches!(invalidation, Invalidation::Prune(_)));
        self.counters
            .evicted
            .fetch_add(invalidations.len() as u64, Ordering::Relaxed);
        self.notify_async(invalidations);
    }
}

fn folder_name(source: &SourceName, partition: &PartitionKey) -> NodeName {
    NodeName {
        parent: Node::Items(source.clone()).ino(),
        name: names::collection_name(partition),
    }
}

fn table_name(table: &TableName) -> NodeName {
    NodeName {
        parent: ROOT_INO,
        name: path::table_name(table),
    }
}

/// Returns the name of an item's plain text.
fn item_name(table: &TableName, key: &Key) -> NodeName {
    node_name(&EntryNode {
        source: SourceName::from(table),
        key: key.clone().into(),
        form: TextForm::PlainJson,
    })
}

/// Returns the notification that drops a node. The name of a folder is not dropped: a process in it
/// would find it without one.
fn eviction(node: &Node, ino: u64) -> Option<Invalidation> {
    match node {
        Node::Entry(entry) => Some(Invalidation::Forget(node_name(entry))),
        Node::Collection(..) => Some(Invalidation::Prune(ino)),
        _ => None,
    }
}
