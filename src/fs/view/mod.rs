//! The interface of the FUSE shell: one method for each system call, in plain types.
//!
//! | difficulty | solved by |
//! |---|---|
//! | a durable commit takes milliseconds, and two event threads serve all callers | calls that commit take a [`Reply`] and return at once; the reply is sent from the committer |
//! | the next call of a handle may come before its commit is done | [`super::open::open_text::OpenText`] lets it wait in line |
//! | a name must exist between create and the first complete text, and the item must not | [`super::open::host::creations`], `creations.rs` |
//! | operations of nodes need state of the mount without depending on all of this | [`super::open::host`]: versions that were read, deferred deletes, vetoes, threads |
//! | a query may read a whole table | `io.rs` |
//! | the kernel caches answers, and no write may be acknowledged while it shows something older | `kernel_cache/` |
//! | with `-o restore`, `tar -x` unlinks files that cannot be gone before it writes them anew | `mount/archiver_quirks.rs` |
//!
//! Locks are short and none is held across a call of the database, but for a directory stream's
//! own, and that of the deletes while they are queued (`open/host/deferred_delete.rs`).

mod creations;
mod io;
mod kernel_cache;
mod listing;
mod make_remove;
mod open;
mod rekey;
mod rename;
mod timed_call;

pub use io::CopyRangeEnd;
pub use kernel_cache::{Invalidation, KernelCache, KernelConnection, NodeName};
pub use open::{CreateReply, OpenReply, ReadBy};
pub use rename::RenameFlags;
pub use timed_call::TimedCall;

use creations::SpecialCreations;
use kernel_cache::{ListedKind, cached_item, is_listed_name};

use crate::fs::{
    mount::{ExplainLookup, error_log::FailedLookup},
    node::{attr::CacheTtl, inode_table::InodeTable},
    open::{
        computed::ComputationCache, handle::HandleTable, host::optimistic_lock::tracked_ino,
        node_ops::trash_key, prelude::*,
    },
    process::session_of,
    source::{scratch, sidecar::ItemMeta},
    tree::{self, explain_missing, is_reportable},
    write::FileId,
};
use crate::protocol::slow_log::SlowLog;
use std::{ops::Deref, path::PathBuf};

pub use super::open::{OpenFlags, ReadBytes, Reply};
pub use super::options::ViewOptions;
pub use super::process::Caller;

/// The filesystem as a program calls it; see the module.
#[derive(Debug, Clone)]
pub struct View {
    state: Arc<ViewState>,
    host: Host,
}

impl Deref for View {
    type Target = ViewState;

    fn deref(&self) -> &ViewState {
        &self.state
    }
}

/// The state that all calls share.
#[derive(Debug)]
pub struct ViewState {
    /// The host for work that is done for no particular program.
    own_host: Host,
    inodes: Arc<InodeTable>,
    handles: Arc<HandleTable>,
    special_creations: SpecialCreations,
    computations: ComputationCache,
    kernel_cache: Arc<KernelCache>,
}

/// The subject of a call that is answered as soon as it returns.
#[derive(Debug, Clone, Copy)]
pub enum CallTarget<'a> {
    /// The attributes or the text of an inode.
    Inode(u64),
    /// A name in a directory.
    Name(u64, &'a [u8]),
    /// A directory or link that is made in, or removed from, this directory.
    Directory(u64),
    /// A call that waits for a commit.
    Commit,
}

/// New attributes; `None` leaves an attribute as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NewAttr {
    pub mode: Option<u32>,
    pub size: Option<u64>,
    /// Milliseconds since the epoch.
    pub modified_ms: Option<u64>,
    /// True if mtime is to be the present time, as `touch` sets it.
    pub touched: bool,
}

/// The answer of statfs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilesystemStat {
    pub block_bytes: u32,
    pub blocks: u64,
    pub blocks_free: u64,
    /// The free blocks that users other than root may take.
    pub blocks_available: u64,
    pub name_bytes_max: u32,
}

/// The longest name of a file, in bytes.
const NAME_BYTES_MAX: usize = 255;
/// The longest name that the kernel passes on, in bytes: clauses are never listed, and filters may
/// be long.
const CLAUSE_BYTES_MAX: usize = 1024;
const STATFS_BLOCK_BYTES: u32 = 4096;
/// The prefix of our own extended attributes.
const XATTR_PREFIX: &[u8] = b"user.ddb.";

impl View {
    /// Makes a view of a database. The thread of its deletes lives until [`View::shut_down`].
    #[must_use]
    pub fn new(db: Arc<dyn Browse>, options: ViewOptions) -> Self {
        let mount = Mount::new(db, options);
        let handles = Arc::new(HandleTable::new(
            mount.memory.open_files.clone(),
            mount.options.allow_other,
        ));
        let (inodes, host) = (
            Arc::<InodeTable>::default(),
            Host::new(mount.clone(), tree::resolve, tree::quick_attr),
        );
        let kernel_cache =
            KernelCache::new(host.clone(), Arc::clone(&inodes), Arc::clone(&handles));
        // Weak: the cache holds the mount.
        let of_stats = Arc::downgrade(&kernel_cache);
        let stats = move || {
            of_stats
                .upgrade()
                .map(|cache| cache.stats())
                .unwrap_or_default()
        };
        let _ = mount.cache_report.set(Box::new(stats));
        let (special_creations, computations) =
            (SpecialCreations::default(), ComputationCache::default());
        let state = ViewState {
            own_host: host.clone(),
            inodes,
            handles,
            special_creations,
            computations,
            kernel_cache,
        };
        let view = Self {
            state: Arc::new(state),
            host,
        };
        // Weak: the thread of the deletes must not keep alive a view that its owner dropped.
        let (weak, mut most_inodes) = (Arc::downgrade(&view.state), 0);
        view.host.deletes.start(move || {
            let Some(state) = weak.upgrade() else {
                return false;
            };
            let view = Self {
                host: state.own_host.clone(),
                state,
            };
            view.drop_expired();
            most_inodes = give_memory_back(most_inodes, view.known_inodes());
            true
        });
        view
    }

    /// Returns the same filesystem, called by another program.
    #[must_use]
    pub fn with_caller(&self, caller: Caller) -> Self {
        Self {
            state: Arc::clone(&self.state),
            host: self.host.with_caller(caller),
        }
    }

    /// Returns the same view for a call with another wait policy.
    fn with_wait(&self, wait: WaitPolicy) -> Self {
        Self {
            host: self.host.with_wait(wait),
            ..self.clone()
        }
    }

    /// Returns the log of slow calls, for the requests of an HTTP API beside the mount.
    #[must_use]
    pub fn slow_log(&self) -> Arc<SlowLog> {
        Arc::clone(&self.mount().call_log.slow)
    }

    /// Returns the mount as the calling program sees it.
    fn mount(&self) -> &Mount {
        &self.host.mount
    }

    /// Returns the calling program.
    fn caller(&self) -> Caller {
        self.mount().caller
    }

    /// Drops idle scratch files, scratch files of directories that are gone, and results and texts
    /// that are too old.
    fn drop_expired(&self) {
        self.mount().scratch.lock().expire(now_ms());
        tree::drop_orphan_scratch(self.mount());
        self.computations.drop_expired();
        self.mount().table_texts.evict();
    }

    /// Ends the thread of the deletes, and performs the deletes that wait. Call after the last
    /// request; the database is closed by its owner.
    pub fn shut_down(&self) {
        self.host.deletes.shut_down();
        if let Err(error) = self.state.own_host.mount.db.flush_writes() {
            log::error!("writes that had not ended at unmount may be lost: {error}");
        }
        let dropped = self.mount().scratch.lock().all_named();
        if let Some(first) = dropped.first() {
            let path = format!(
                "{}/{}",
                self.mount().display_path(&first.directory),
                first.name
            );
            log::info!(
                "discarded at unmount: {} scratch files in memory, the first {path}",
                dropped.len()
            );
        }
    }

    /// Sets the configuration of the mounting program, for `.ddb/config.json`: a JSON object, once.
    pub fn set_config(&self, config: Value) {
        let _ = self.mount().config.set(config);
    }

    /// Sets the directory of results that are too long for memory, once.
    pub fn set_spool_dir(&self, directory: PathBuf) {
        self.computations.spools.set_directory(directory);
    }

    /// Ends every read that waits, now and from now on, as at the end of a file, and every call
    /// that now waits for a service elsewhere: the mount is to go.
    pub fn end_waiting(&self) {
        self.host.end_waiting();
    }

    /// Returns the number of inodes that the kernel knows.
    #[must_use]
    pub fn known_inodes(&self) -> usize {
        self.inodes.len()
    }

    /// Returns the state of the kernel's cache.
    #[must_use]
    pub fn kernel_cache(&self) -> &Arc<KernelCache> {
        &self.kernel_cache
    }

    fn node(&self, ino: u64) -> Result<Arc<Node>> {
        let unknown = || {
            if self.inodes.is_removed(ino) {
                FsError::NotFound
            } else {
                FsError::StaleInode
            }
        };
        let node = self.inodes.get(ino).ok_or_else(unknown)?;
        // A folder may have become another node since the kernel learnt its number: a draft became
        // a table, or an item gave the key of a shortened name. The process in it goes on there.
        match &*node {
            Node::DraftFolder(table, path) => {
                Ok(tree::folder_after_create(self.mount(), table, path)?.map_or(node, Arc::new))
            }
            Node::AliasFolder(folder) => {
                Ok(tree::resolved_folder(self.mount(), folder)?.map_or(node, Arc::new))
            }
            _ => Ok(node),
        }
    }

    /// Runs a call: here, or on a thread for long calls if it may take long.
    pub fn run_call(&self, target: CallTarget<'_>, work: impl FnOnce() + Send + 'static) {
        match target {
            CallTarget::Commit => self.host.run_short(work),
            target if self.is_long(target) => self.host.run_long(work),
            _ => work(),
        }
    }

    /// True if the call reads more than a bounded number of records, or waits for a commit, and
    /// with it for all commits before it.
    fn is_long(&self, target: CallTarget<'_>) -> bool {
        let (CallTarget::Inode(ino) | CallTarget::Name(ino, _) | CallTarget::Directory(ino)) =
            target
        else {
            return false;
        };
        let Some(node) = self.inodes.get_unpacked(ino) else {
            return false;
        };
        match (target, &*node) {
            // Only `get_unpacked`: items are packed in the table and always quick, so the common
            // call ends above.
            (CallTarget::Inode(_), node) => node.reads_table(),
            (CallTarget::Name(_, name), Node::Table(_) | Node::Index(_) | Node::Special(_)) => {
                tree::resolve(self.mount(), &node, name).is_ok_and(|child| child.reads_table())
            }
            (CallTarget::Name(..) | CallTarget::Commit, _) => false,
            (CallTarget::Directory(_), node) => {
                matches!(node, Node::Root | Node::Indexes(..) | Node::Special(_))
            }
        }
    }

    /// Returns the attributes of a node that is stored or just being created; without the size of a
    /// text that takes long.
    fn quick_attr(&self, node: &Node) -> Result<Attr> {
        self.or_created(node, tree::quick_attr(self.mount(), node))
    }

    /// Returns the attributes of a node with the size.
    fn full_attr(&self, node: &Node) -> Result<Attr> {
        self.or_created(node, tree::attr(self.mount(), node))
    }

    fn or_created(&self, node: &Node, attr: Result<Attr>) -> Result<Attr> {
        match attr {
            Err(FsError::NotFound) => {
                let ino = node.ino();
                let created = self.host.creations.attr(ino);
                created
                    .or_else(|| self.special_creations.attr(ino))
                    .ok_or(FsError::NotFound)
            }
            Ok(attr) if node.is_computed() => Ok(Attr {
                size: self.known_size(node.ino()),
                ..attr
            }),
            attr => attr,
        }
    }

    /// Finds a name and counts one reference, which [`View::forget`] gives back.
    ///
    /// # Errors
    /// `NotFound`, `NotDirectory`, or a bad clause of a query path.
    pub fn lookup(&self, parent: u64, name: &[u8]) -> Result<Attr> {
        self.kernel_cache
            .counters
            .asked
            .fetch_add(1, Ordering::Relaxed);
        let parent = self.node(parent)?;
        let found = self.lookup_node(&parent, name);
        if matches!(found, Err(FsError::NotFound)) {
            self.record_missed(&parent, name);
        }
        found
    }

    fn lookup_node(&self, parent: &Node, name: &[u8]) -> Result<Attr> {
        let caller = self.caller();
        let name_bytes_max = if matches!(parent, Node::Query(_)) {
            CLAUSE_BYTES_MAX
        } else {
            NAME_BYTES_MAX
        };
        if name.len() > name_bytes_max {
            return Err(FsError::NameTooLong);
        }
        let node = tree::resolve(self.mount(), parent, name)?;
        if let Some(kind) = ListedKind::of(parent) {
            self.kernel_cache
                .listing_credits
                .record_look(caller.pid, kind, parent.ino());
        }
        // Before the attributes are read: a commit after the mark notifies the kernel, one before
        // it is seen.
        let mut marked = self.kernel_cache.mark(&node);
        let mut found = self.shown_attr(&node);
        if let (Some(counted), Ok(attr)) = (marked, &found)
            && self.tell_version(counted.ino, attr)
        {
            self.kernel_cache.unmark(counted.ino);
            marked = None;
        }
        if let Ok(attr) = &mut found {
            let lasts = self.kernel_cache.name_ttl(caller, &node, attr, marked);
            // An item has several names (a shortened one, `.ddbjson`); a commit ends only the one
            // that listings show.
            attr.ttl = if is_listed_name(parent, &node, name) {
                lasts
            } else {
                CacheTtl::NONE
            };
            if let Some(marked) = marked {
                *attr = attr.with_number(marked.ino);
            }
        }
        match (marked, found) {
            (None, found) => self.mark_known(node, found?),
            (Some(_), Ok(attr)) => Ok(attr),
            // The lookup that the mark counted does not happen.
            (Some(marked), Err(error)) => {
                self.kernel_cache.unmark(marked.ino);
                Err(error)
            }
        }
    }

    /// Notes that the kernel is told these attributes of an item. Detaches its number if open handles
    /// have another version in the page cache: the name must have another number. Returns true if it
    /// did.
    fn tell_version(&self, ino: u64, attr: &Attr) -> bool {
        self.inodes.tell(ino, attr.version);
        let is_other = self
            .handles
            .pages(ino)
            .is_some_and(|pages| pages.version != attr.version);
        if is_other {
            self.inodes.detach(ino);
        }
        is_other
    }

    /// Returns the error of an inode that does not exist: `Stale` if the kernel may still have its
    /// name cached, so that it looks the name up again. This ends when the kernel was notified. Not
    /// for a file that is being created: the kernel would find its name again.
    fn missing_error(&self, ino: u64) -> FsError {
        let item = self.inodes.get(ino).map_or(ino, |node| node.ino());
        let is_believed =
            self.inodes.mark_of(ino).is_some() && self.host.creations.get(item).is_none();
        if is_believed {
            FsError::Stale
        } else {
            FsError::NotFound
        }
    }

    fn missing_or(&self, ino: u64, error: FsError) -> FsError {
        if error == FsError::NotFound {
            self.missing_error(ino)
        } else {
            error
        }
    }

    fn shown_attr(&self, node: &Node) -> Result<Attr> {
        let attr = self.full_attr(node)?;
        // After the attributes: a name that exists for no program needs no look at the caller's
        // process.
        if self.host.rm_guard.is_hidden_from(self.mount(), node) {
            return Err(FsError::NotFound);
        }
        // The inode as the kernel will call it: an item created by a shortened name keeps that
        // name's number while it is open.
        if let Some(item) = tracked_ino(node, attr.ino) {
            self.host.read_versions.looked_up(item, self.caller().pid);
        }
        Ok(attr)
    }

    /// Keeps a name that was not found for `.ddb/errors/last`, if a person may have misspelt it or
    /// believed it to exist.
    fn record_missed(&self, parent: &Arc<Node>, name: &[u8]) {
        let caller = self.caller();
        let Ok(name) = std::str::from_utf8(name) else {
            return;
        };
        if !is_reportable(parent, name) {
            return;
        }
        let (time_ms, thread) = (now_ms(), caller.pid);
        // The explanation reads the store, so it is made when the report is read, not at each
        // missed name.
        let (directory, of_explain) = (Arc::clone(parent), name.to_owned());
        let explain =
            move |mount: &Mount| explain_missing(mount, &directory, &of_explain, time_ms, thread);
        let missed = FailedLookup {
            parent: parent.ino(),
            name: name.to_owned(),
            time_ms,
            thread,
            explain: ExplainLookup(Arc::new(explain)),
        };
        self.mount()
            .error_log
            .record_lookup(self.mount().last_responses.session(caller.pid), missed);
    }

    fn mark_known(&self, node: Node, attr: Attr) -> Result<Attr> {
        let path = || self.mount().display_path(&node);
        self.kernel_cache.evict_excess();
        let mut known = self.inodes.add_lookup(node.clone(), false);
        if let Some(counted) = known
            && cached_item(&node).is_some()
            && self.tell_version(counted.ino, &attr)
        {
            self.inodes.undo_lookup(counted.ino);
            known = self.inodes.add_lookup(node.clone(), false);
            if let Some(counted) = known {
                self.inodes.tell(counted.ino, attr.version);
            }
        }
        // Inode numbers are digests: two nodes may have one, and then the second cannot be shown.
        if known.is_none() {
            log::error!("two names have one inode number: {}", path());
        }
        known
            .map(|known| attr.with_number(known.ino))
            .ok_or(FsError::Internal)
    }

    /// Gives back `count` references.
    pub fn forget(&self, ino: u64, count: u64) {
        if let Some(node) = self.inodes.forget(ino, count)
            && let Node::Collection(source, partition) = &*node
            && source.index.is_none()
            && let Some(value) = partition.first()
        {
            // A folder that unlink emptied stays as long as a process may be in it: until the
            // kernel forgets it.
            self.mount().folders.lock().forget(&source.table, value);
        }
    }

    /// Returns the attributes. With a handle, for seeking to the end, the size is that of
    /// the handle's own text. The kernel names no handle for fstat: of a file that is made anew at
    /// each open, a process sees the text that it opened last.
    ///
    /// # Errors
    /// `NotFound` if the inode does not exist any more.
    pub fn getattr(&self, ino: u64, handle: Option<u64>) -> Result<Attr> {
        let attr = self
            .node(ino)
            .and_then(|node| self.getattr_of(&node, ino, handle));
        attr.or_else(|error| self.removed_attr(ino).ok_or(error))
    }

    /// Returns the attributes that fstat shows of a removed directory that a process still has
    /// open.
    fn removed_attr(&self, ino: u64) -> Option<Attr> {
        self.inodes.is_removed(ino).then(|| Attr {
            links: 0,
            ..Attr::directory(self.mount().started_ms).with_ino(ino)
        })
    }

    /// Returns the attributes of the node that has this inode number.
    fn getattr_of(&self, node: &Node, ino: u64, handle: Option<u64>) -> Result<Attr> {
        let caller = self.caller();
        self.kernel_cache
            .counters
            .asked
            .fetch_add(1, Ordering::Relaxed);
        // With a handle the size may be that of its own text, which other processes must not see.
        let is_marked = handle.is_none() && self.kernel_cache.may_keep(node);
        // No commit ends what the kernel has of a number that is no item's any more.
        let is_marked = is_marked && !self.inodes.is_detached(ino);
        if is_marked {
            self.inodes.set_mark(ino);
        }
        let mut handle = handle.and_then(|handle| self.handles.get(handle));
        // The kernel sends fstat without a handle; of a file that is rendered at each open only the
        // handle knows the size.
        if handle.is_none() && node.is_rendered() {
            handle = self.handles.for_process(ino, caller.pid);
        }
        if let Some(Handle::Scratch(id)) = handle.as_deref() {
            return Ok(scratch::attr(self.mount(), *id)?.with_ino(ino));
        }
        // A writer of a file in the trash works on a copy in memory until it is moved; fstat shows
        // that copy.
        if let Some(id) = self.trash_copy(caller.pid, node, ino) {
            return Ok(scratch::attr(self.mount(), id)?.with_ino(ino));
        }
        let size = handle.as_ref().and_then(|handle| handle.size());
        // A handle that knows its size saves the reading of a table.
        let attr = if size.is_some() {
            self.quick_attr(node)
        } else {
            self.full_attr(node)
        };
        let attr = match cached_item(node) {
            Some(_) => self.open_version(ino, caller.pid, attr),
            None => attr,
        };
        let attr = match attr {
            // The file moved to the trash since the lookup: the kernel looks the name up again.
            Err(FsError::NotFound) if matches!(node, Node::Scratch(_)) => {
                return Err(FsError::Stale);
            }
            // Deleted, but open: fstat shows the text that was read.
            Err(FsError::NotFound) => {
                let gone = || self.missing_error(ino);
                let (open, since_ms) = self.handles.last_for(ino, caller.pid).ok_or_else(gone)?;
                Attr {
                    links: 0,
                    ..Attr::file(open.size().ok_or_else(gone)?, since_ms).with_ino(node.ino())
                }
            }
            attr => attr?,
        };
        // The version that the caller sees is noted, so that a later change still refuses its
        // write. A file that is not stored has no version.
        if let Some(item) = tracked_ino(node, attr.ino).filter(|_| attr.version != 0) {
            self.host
                .read_versions
                .looked_at(item, caller.pid, attr.version);
        }
        let ttl = if is_marked {
            self.kernel_cache.settled_item_ttl(caller, ino, &attr)
        } else {
            CacheTtl::NONE
        };
        // A renamed directory keeps the number by which the kernel knows it.
        let ino = if attr.kind == NodeKind::Directory {
            ino
        } else {
            attr.ino
        };
        Ok(Attr {
            ino,
            size: size.unwrap_or(attr.size),
            ttl,
            ..attr
        })
    }

    /// Returns the attributes of the version that an inode number stands for, if open handles have
    /// another version than the item has now, or none has its name any more.
    ///
    /// # Errors
    /// The error of `attr`.
    fn open_version(&self, ino: u64, thread: u32, attr: Result<Attr>) -> Result<Attr> {
        if let Ok(attr) = &attr {
            self.inodes.tell(ino, attr.version);
        }
        let is_detached = self.inodes.is_detached(ino);
        let is_now = |version| attr.as_ref().is_ok_and(|attr| attr.version == version);
        let pages = self.handles.pages(ino);
        if let Some(pages) = pages.filter(|pages| is_detached || !is_now(pages.version)) {
            return Ok(Attr {
                links: u32::from(!is_detached && attr.is_ok()),
                ..pages
            });
        }
        if is_detached
            && let Some((open, _)) = self.handles.last_for(ino, thread)
            && let Handle::Text(_, Some(open)) = &*open
        {
            return Ok(Attr { links: 0, ..*open });
        }
        attr
    }

    /// Returns the copy in memory that a writer of a file in the trash writes.
    fn trash_copy(&self, pid: u32, node: &Node, ino: u64) -> Option<FileId> {
        trash_key(node)?;
        match *self.handles.last_for(ino, pid)?.0 {
            Handle::Scratch(id) => Some(id),
            _ => None,
        }
    }

    /// Returns the target of a symlink.
    ///
    /// # Errors
    /// `Invalid` if the inode is no symlink.
    pub fn readlink(&self, ino: u64) -> Result<String> {
        tree::link_target(self.mount(), &*self.node(ino)?)
    }

    /// Returns the size of the store.
    #[must_use]
    pub fn statfs(&self) -> FilesystemStat {
        let credits = &self.kernel_cache.listing_credits;
        credits.record_statfs(self.caller().pid);
        let info = self.mount().db.store_info();
        let block = u64::from(STATFS_BLOCK_BYTES);
        // Never zero: `df` hides such a filesystem and installers refuse it.
        let total = info
            .total_bytes
            .max(info.used_bytes + info.free_bytes)
            .max(block);
        FilesystemStat {
            block_bytes: STATFS_BLOCK_BYTES,
            blocks: total.div_ceil(block),
            blocks_free: (info.free_bytes + info.reserved_bytes) / block,
            blocks_available: info.free_bytes / block,
            name_bytes_max: u32::try_from(NAME_BYTES_MAX).unwrap_or(u32::MAX),
        }
    }

    /// Notes that a name in this directory was made or removed, if the call succeeded: a process
    /// that missed the name needs no report any more.
    fn clear_missed<T>(&self, parent: &Node, name: &[u8], result: Result<T>) -> Result<T> {
        if result.is_ok() {
            self.mount().error_log.forget_lookups(parent.ino(), name);
        }
        result
    }

    /// Checks that a node may be changed, or something made in it. If the database is read-only,
    /// only the mount's own files may; a request of the API is judged by its effect.
    ///
    /// # Errors
    /// `ReadOnly`, of any other node of a read-only database.
    fn check_change(&self, node: &Node) -> Result<()> {
        if tree::is_judged_by_request(node) || self.mount().db.is_writable() {
            Ok(())
        } else {
            Err(Error::ReadOnly.into())
        }
    }

    fn child_path(&self, parent: &Node, name: &[u8]) -> String {
        let parent = self.mount().display_path(parent);
        let name = String::from_utf8_lossy(name);
        if parent.is_empty() {
            name.into_owned()
        } else {
            format!("{parent}/{name}")
        }
    }

    /// Returns an extended attribute. `user.ddb.*` of an item are facts about it, for a
    /// program that asks by name: they are not listed, since `cp -a`, `tar --xattrs` and `rsync -X`
    /// would carry them away. Others are not kept, and setting them is refused as by a filesystem
    /// that has none: `cp -a` and `mv` then go on in silence, `tar` with a warning; `rsync -X`
    /// fails.
    ///
    /// # Errors
    /// `NoAttribute`; `NotSupported` of access control lists and of attributes of security modules.
    pub fn getxattr(&self, ino: u64, name: &[u8]) -> Result<Vec<u8>> {
        let Some(fact) = name.strip_prefix(XATTR_PREFIX) else {
            return Err(if is_unsupported_xattr(name) {
                FsError::NotSupported
            } else {
                FsError::NoAttribute
            });
        };
        let node = self.node(ino)?;
        let value = match fact {
            b"error" => self.mount().error_log.last_at(
                session_of(self.caller().pid),
                &self.mount().display_path(&node),
                now_ms(),
            ),
            fact => ItemMeta::of_node(self.mount(), &node)?.get(&String::from_utf8_lossy(fact)),
        };
        value.map(String::into_bytes).ok_or(FsError::NoAttribute)
    }

    /// Returns its error; no attribute is kept, so it always fails.
    pub fn setxattr(&self, name: &[u8]) -> FsError {
        match name {
            name if name.starts_with(XATTR_PREFIX) => FsError::Derived,
            name if name.starts_with(b"user.") => FsError::Unsupported(
                "files here keep no extended attributes; what is to be kept is an attribute of the item",
            ),
            _ => FsError::NotSupported,
        }
    }

    /// Returns its error; there is no attribute to remove, so it always fails.
    pub fn removexattr(&self, name: &[u8]) -> FsError {
        match name {
            name if name.starts_with(XATTR_PREFIX) => FsError::Derived,
            name if name.starts_with(b"user.") => FsError::NoAttribute,
            _ => FsError::NotSupported,
        }
    }
}

/// True if no file here has attributes of this kind. A program that asks file by file, as a
/// coloured `ls` for `security.capability`, then asks once.
fn is_unsupported_xattr(name: &[u8]) -> bool {
    name.starts_with(b"system.posix_acl_") || name.starts_with(b"security.")
}

/// The number of inodes from which their memory is worth giving back.
const INODES_MANY: usize = 20_000;

/// Gives freed memory back to the system after the kernel forgot most of its inodes: the allocator
/// would keep it. Returns the largest number of inodes since then.
#[allow(unsafe_code)]
fn give_memory_back(inode_peak: usize, inodes: usize) -> usize {
    if inode_peak < INODES_MANY || inodes > inode_peak / 4 {
        return inode_peak.max(inodes);
    }
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
    inodes
}
