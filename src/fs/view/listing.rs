//! Listings: OPENDIR, READDIR, READDIRPLUS, RELEASEDIR.
//!
//! READDIRPLUS returns the attributes of items and folders, from the same walk that lists their
//! names. Where the kernel may cache nothing, or the program does not look at attributes
//! ([`super::kernel_cache`]), it returns names only: the kernel asks again for attributes that it
//! may not cache, and makes a node of each.

use super::{
    View,
    kernel_cache::{CREDIT_FIRST, CREDIT_MAX, ListedKind, PROBE_INTERVAL},
};
use crate::fs::{
    open::{
        directory::{DirectoryStream, FixedLister, Lister, MakeLister},
        dirent::{Dirent, DirentBatch, ItemBatch, ListedItem},
        host::record_error,
        prelude::*,
    },
    process::{has_pending_signal, tgid_of},
    source::entry,
    tree,
};

/// The number of items of a READDIRPLUS that are marked before it is checked that the attributes
/// read of them still hold.
const MARK_BATCH: usize = 32;

/// The folders of a table's indexes that keep attributes, and those of one more reply: the next
/// commit in the table ends them all before it is acknowledged, in a millisecond.
const INDEX_FOLDERS_MAX: usize = 256;

/// A callback that gets an entry, its offset and, if the kernel is to know its node, its number and
/// its attributes. Returns true if the reply is full, and does not have this entry.
pub type EmitPlus<'e> = dyn FnMut(Dirent<'_>, u64, Option<(u64, &Attr)>) -> bool + 'e;

impl View {
    /// Opens a directory and returns the number of its handle. A program that `walks` a tree reads
    /// thousands of names before it looks at the first.
    ///
    /// # Errors
    /// The node is no directory, or is gone.
    pub fn opendir(&self, ino: u64, walks: bool) -> Result<u64> {
        let caller = self.caller();
        let node = self.node(ino)?;
        self.quick_attr(&node)
            .map_err(|error| self.missing_or(ino, error))?;
        // Each name in it would be one more line of names that `rm -r` failed to remove.
        if let Some(table) = node
            .table()
            .filter(|table| *node != Node::Table(TableName::clone(table)))
        {
            self.host.rm_guard.check_delete(table, self.mount())?;
        }
        // A process that has listed a table has seen what it holds: the rules for copies that are
        // being made no longer hide parts from it.
        if let Node::Table(table) = &*node
            && self.mount().archiver_quirks.is_active(now_ms())
        {
            self.mount()
                .archiver_quirks
                .listed(table, tgid_of(caller.pid));
        }
        if let Node::Collection(source, _) = &*node {
            let credits = &self.kernel_cache.listing_credits;
            let parent = Node::Items(source.clone()).ino();
            credits.record_look(caller.pid, ListedKind::Top, parent);
        }
        let dots = self.mount().dot_inos(&node);
        let stream = DirectoryStream::new(dots, self.make_lister(&node)).with_node(node, walks);
        self.handles.insert(
            Handle::Directory(Box::new(Mutex::new(stream))),
            ino,
            caller,
            now_ms(),
        )
    }

    fn make_lister(&self, node: &Arc<Node>) -> MakeLister {
        let (is_emptied, node) = (
            self.host.rm_guard.lists_nothing(self.mount(), node),
            Arc::clone(node),
        );
        Box::new(move |mount: &Mount| match is_emptied {
            true => Ok(Box::<FixedLister>::default() as Box<dyn Lister>),
            false => tree::lister(mount, &node),
        })
    }

    /// Lists a directory that was renamed since its open under its new name, when the reader begins
    /// anew.
    fn follow_rename(&self, handle: u64, stream: &mut DirectoryStream) {
        let now = self.node_of(handle);
        if let Some(now) = now.filter(|now| stream.was_renamed(now)) {
            stream.set_node(self.make_lister(&now), now);
        }
    }

    /// Runs a READDIR: on a thread of its own if the directory lists a query, which may read a
    /// whole table, or if another call of the handle is under way.
    pub fn run_listing(&self, handle: u64, work: impl FnOnce() + Send + 'static) {
        let is_slow = match self.handles.get(handle).as_deref() {
            Some(Handle::Directory(stream)) => {
                // A stream that another call holds would block an event thread.
                stream
                    .try_lock()
                    .is_none_or(|stream| matches!(stream.node(), Some(Node::Query(_))))
            }
            _ => false,
        };
        if is_slow {
            self.host.run_long(work)
        } else {
            work()
        }
    }

    /// Gives the entries after `offset` to `emit`, each with its own offset, until `emit`
    /// returns true (full).
    ///
    /// # Errors
    /// The directory is gone, or the database failed; [`FsError::Interrupted`] if the caller has a
    /// signal and nothing was found so far.
    pub fn readdir(
        &self,
        handle: u64,
        offset: u64,
        emit: &mut dyn FnMut(Dirent<'_>, u64) -> bool,
    ) -> Result<()> {
        self.list(handle, offset, false, &mut |entry, offset, _| {
            emit(entry, offset)
        })
    }

    /// Gives the entries as [`View::readdir`] does, with attributes if the caller may look at them.
    /// Each entry with attributes counts a lookup.
    ///
    /// # Errors
    /// As of [`View::readdir`], before the first entry was given.
    pub fn readdirplus(&self, handle: u64, offset: u64, emit: &mut EmitPlus<'_>) -> Result<()> {
        self.list(handle, offset, true, emit)
    }

    fn list(&self, handle: u64, offset: u64, is_plus: bool, emit: &mut EmitPlus<'_>) -> Result<()> {
        let (caller, cache) = (self.caller(), &self.kernel_cache);
        self.with_stream(handle, offset, |stream| {
            // A folder, or an index, may be hidden from a program that restores a backup.
            let is_shown = match stream.node() {
                Some(Node::Collection(SourceName { index: None, .. }, _)) => true,
                _ => !self.mount().archiver_quirks.is_active(now_ms()),
            };
            let kind = stream.node().and_then(ListedKind::of);
            let is_kept = is_shown && !self.has_many_index_folders(stream.node());
            let kind = kind.filter(|_| is_plus && is_kept && cache.is_on());
            let first = if stream.walks() {
                CREDIT_MAX
            } else {
                CREDIT_FIRST
            };
            let credit = kind.map_or(0, |kind| {
                cache.listing_credits.left(caller.pid, kind, first)
            });
            let mut plus = PlusReply {
                view: self,
                next: offset,
                is_started: false,
                credit,
                emit,
            };
            let listed = plus.list(stream, offset);
            let directory = stream.node().map_or(0, Node::ino);
            if let Some(kind) = kind.filter(|_| plus.credit != credit) {
                let credits = &cache.listing_credits;
                credits.set_left(caller.pid, kind, directory, plus.credit);
            }
            match listed {
                // The entries that were given stand; the next call meets the error again.
                Err(_) if plus.is_started => Ok(()),
                listed => listed,
            }
        })
    }

    /// True for `items/` of an index if so many folders of the table's indexes keep attributes that
    /// a commit, which ends them all, would take long by more.
    fn has_many_index_folders(&self, directory: Option<&Node>) -> bool {
        match directory {
            Some(Node::Items(SourceName {
                table,
                index: Some(_),
            })) => {
                let table = Node::Table(table.clone()).ino();
                self.inodes.has_followers(table, INDEX_FOLDERS_MAX)
            }
            _ => false,
        }
    }

    /// Closes a directory.
    pub fn releasedir(&self, handle: u64) {
        self.handles.remove(handle);
    }

    fn with_stream(
        &self,
        handle: u64,
        offset: u64,
        work: impl FnOnce(&mut DirectoryStream) -> Result<()>,
    ) -> Result<()> {
        let opened = self.handles.get(handle).ok_or(FsError::BadHandle)?;
        let Handle::Directory(stream) = &*opened else {
            return Err(FsError::NotDirectory);
        };
        record_error(
            &self.host,
            "readdir",
            String::new,
            self.handles.reserve_read(handle),
        )?;
        let read = {
            let mut stream = stream.lock();
            if offset == 0 {
                self.follow_rename(handle, &mut stream);
            }
            // The reader got this error already: some programs (ripgrep 13) ask on and on until
            // there is an end.
            if stream.failed_at.take() == Some(offset) {
                return Ok(());
            }
            let read = work(&mut stream);
            stream.failed_at = read
                .as_ref()
                .err()
                .filter(|error| !matches!(error, FsError::Interrupted))
                .map(|_| offset);
            read
        };
        self.handles.recount(handle);
        let path = || {
            let node = self.node_of(handle);
            node.map_or_else(String::new, |node| self.mount().display_path(&node))
        };
        record_error(&self.host, "readdir", path, read)
    }

    /// Returns the directory of a handle, by its present name.
    fn node_of(&self, handle: u64) -> Option<Arc<Node>> {
        let ino = self.handles.ino(handle)?;
        self.inodes.get(ino)
    }
}

/// A READDIRPLUS that is being answered.
struct PlusReply<'p, 'e> {
    view: &'p View,
    /// The offset up to which entries were given, or are gone.
    next: u64,
    is_started: bool,
    /// The number of entries that may be given with attributes.
    credit: u32,
    emit: &'p mut EmitPlus<'e>,
}

impl PlusReply<'_, '_> {
    fn list(&mut self, stream: &mut DirectoryStream, offset: u64) -> Result<()> {
        for (entry, after) in stream.begin(offset) {
            if !self.push_name(entry, after) {
                return Ok(());
            }
        }
        let (view, pid, had_credit) = (self.view, self.view.caller().pid, self.credit > 0);
        let wanted = || has_pending_signal(pid) != Some(true);
        // A reply with attributes ends with the credit: the program has looked, or has not, before
        // it reads on.
        while !had_credit || self.credit > 0 {
            let Some((found, at)) = stream.batch_after(view.mount(), self.next, &wanted)? else {
                break;
            };
            let before_probe = (self.credit.max(1) - 1) % PROBE_INTERVAL;
            let is_full = match found.items().filter(|_| self.credit > 0) {
                None => self.push_names(found, at, usize::MAX),
                Some(_) if before_probe == 0 => {
                    self.credit -= 1;
                    self.push_names(found, at, 1)
                }
                Some(items) => {
                    let count = MARK_BATCH.min(usize::try_from(before_probe).unwrap_or(MARK_BATCH));
                    let listed: Vec<_> = found.items_from(items, at).take(count).collect();
                    self.push_items(items, &listed)?
                }
            };
            if is_full {
                break;
            }
        }
        Ok(())
    }

    /// Gives up to `count` names of a batch. Returns true if the reply is full.
    fn push_names(&mut self, found: &DirentBatch, at: usize, count: usize) -> bool {
        let entries = found.iter_from(at).zip(found.offsets().skip(at));
        entries
            .take(count)
            .any(|((entry, _), after)| !self.push_name(entry, after))
    }

    fn push_name(&mut self, entry: Dirent<'_>, after: u64) -> bool {
        // A removed or renamed directory has another number.
        let ino = match entry.kind {
            NodeKind::Directory => self.view.inodes.number(entry.ino),
            _ => entry.ino,
        };
        self.push(Dirent { ino, ..entry }, after, None)
    }

    /// Gives the next entry. Returns false if there is no room for it.
    fn push(&mut self, entry: Dirent<'_>, after: u64, node: Option<(u64, &Attr)>) -> bool {
        if (self.emit)(entry, after, node) {
            return false;
        }
        (self.next, self.is_started) = (after, true);
        true
    }

    /// Gives listed items. Each is marked before it is checked that its attributes still hold.
    /// Items that are gone are left out, and the marks of items that are not given are taken back.
    /// Returns true if the reply is full.
    fn push_items(&mut self, items: &ItemBatch, listed: &[ListedItem<'_>]) -> Result<bool> {
        let view = self.view;
        view.kernel_cache.evict_excess();
        let source = view.inodes.share_source(&items.source);
        let marked: Vec<_> = listed
            .iter()
            .map(|item| {
                view.inodes
                    .add_item_lookup(item.entry.ino, &source, item.packed)
            })
            .collect();
        // A hidden item is not gone yet, and no commit reports it.
        let holds = !view.mount().has_hidden()
            && view
                .mount()
                .db
                .visible_commit_id()
                .is_ok_and(|commit| commit == items.commit);
        let (mut rest, mut is_full) = (listed.iter().zip(marked), Ok(false));
        for (item, marked) in rest.by_ref() {
            let given = match marked {
                Some(number) => self.push_item(item, number, holds),
                None => Ok(EmitResult::Skipped),
            };
            if let (Some(ino), Err(_) | Ok(EmitResult::Skipped | EmitResult::Full)) =
                (marked, &given)
            {
                view.kernel_cache.unmark(ino);
            }
            match given {
                Ok(EmitResult::Emitted) => self.credit = self.credit.saturating_sub(1),
                Ok(EmitResult::Skipped) => self.next = item.offset,
                full => {
                    is_full = full.map(|_| true);
                    break;
                }
            }
        }
        rest.filter_map(|(_, marked)| marked)
            .for_each(|ino| view.kernel_cache.unmark(ino));
        is_full
    }

    /// Gives an item or folder that is marked under this number, as it was listed if `holds`.
    fn push_item(&mut self, item: &ListedItem<'_>, number: u64, holds: bool) -> Result<EmitResult> {
        let view = self.view;
        let found = if holds { None } else { view.inodes.get(number) };
        let attr = match found.as_deref() {
            _ if holds => Ok(item.attr()),
            Some(Node::Entry(found)) => entry::attr(view.mount(), found),
            Some(folder @ Node::Collection(..)) => view.quick_attr(folder),
            _ => Err(FsError::NotFound),
        };
        let attr = match attr {
            Err(FsError::NotFound) => return Ok(EmitResult::Skipped),
            attr => attr?.with_ino(item.entry.ino),
        };
        if attr.kind == NodeKind::File && view.tell_version(number, &attr) {
            // The name gets another number when it is looked up.
            return Ok(if self.push_name(item.entry, item.offset) {
                EmitResult::Skipped
            } else {
                EmitResult::Full
            });
        }
        let (ino, ttl) = match attr.kind {
            NodeKind::Directory => (number, view.kernel_cache.folder_ttl(holds)),
            _ => (
                item.entry.ino,
                view.kernel_cache
                    .settled_item_ttl(view.caller(), number, &attr),
            ),
        };
        let shown = Dirent { ino, ..item.entry };
        let attr = Attr { ino, ttl, ..attr };
        Ok(if self.push(shown, item.offset, Some((number, &attr))) {
            EmitResult::Emitted
        } else {
            EmitResult::Full
        })
    }
}

/// The outcome of giving a name.
enum EmitResult {
    Emitted,
    /// The item is gone, or its inode number stands for another node.
    Skipped,
    /// There is no room for it.
    Full,
}
