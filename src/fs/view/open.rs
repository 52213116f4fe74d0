//! OPEN, CREATE and MKNOD. A file is opened by the operations of its kind, called by [`tree`]; its
//! handle is used by the calls in `io.rs`.

use std::sync::mpsc::sync_channel;

use super::{
    View,
    kernel_cache::{ListedKind, cached_entry, cached_item},
};
use crate::fs::{
    node::inode_table::MIXED,
    open::{
        handle::{OpeningGuard, PageUse},
        host::optimistic_lock::tracked_ino,
        prelude::*,
    },
    path::is_refused_probe,
    process::tgid_of,
    special::discarded_writes,
    tree,
    write::FileId,
};

/// The answer of CREATE: the file's attributes and its handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateReply {
    pub attr: Attr,
    pub handle: u64,
}

/// The answer of OPEN: the handle, and how it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenReply {
    pub handle: u64,
    pub reads: ReadBy,
}

/// The way in which the kernel reads an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBy {
    /// Each read is a request.
    Requests,
    /// The kernel reads through its page cache, which must be emptied before.
    NewPages,
    /// The page cache has the text, as far as the kernel did not drop it.
    Pages,
}

impl View {
    /// Opens a file.
    ///
    /// # Errors
    /// The file is gone, or cannot be written. [`FsError::Stale`] if the kernel must look the name
    /// up again: its inode number stands for an older version, which other processes have open.
    pub fn open(&self, ino: u64, flags: OpenFlags) -> Result<OpenReply> {
        let node = self.node(ino)?;
        // Before the text is read: while the inode counts as open the kernel caches no attributes
        // of it, unless all its handles are of the version in the page cache.
        // The kernel sets the size to 0 by O_TRUNC, whether or not the file is opened for writing.
        let is_writer = flags.write || flags.truncate;
        let mut opening = self.handles.opening(ino, is_writer);
        let item = cached_item(&node).map(|_| node.ino());
        if let Some(item) = item {
            if is_writer && opening.has_pages() {
                // The kernel would give the readers a file that changes.
                self.inodes.detach(ino);
            }
            self.check_number(item, ino, is_writer)?;
            if is_writer {
                self.inodes.tell(ino, MIXED);
            }
        }
        let opened = if flags.write {
            self.open_for_writing(&node, flags, true)
        } else {
            self.open_for_reading(&node)
        };
        let handle = opened.map_err(|error| {
            let is_gone = error == FsError::NotFound;
            match (self.missing_or(ino, error), item) {
                (FsError::Stale, Some(item)) if is_gone => self.gone_error(item, is_writer),
                (error, _) => error,
            }
        })?;
        let reads = match (item, &handle) {
            (Some(item), Handle::Text(text, Some(attr))) if !is_writer => {
                if self.tell_version(ino, attr) {
                    self.check_number(item, ino, is_writer)?;
                }
                self.use_pages(item, ino, &mut opening, &text.bytes, *attr)
            }
            _ => ReadBy::Requests,
        };
        if let Some(item) = item {
            let refused = &self.kernel_cache.refused_opens;
            refused.ended(item, self.caller().pid, is_writer);
        }
        let handle = opening.insert(handle, self.caller(), now_ms())?;
        Ok(OpenReply { handle, reads })
    }

    /// Refuses to open a number that is no item's any more, for once.
    fn check_number(&self, item: u64, ino: u64, is_writer: bool) -> Result<()> {
        let refused = &self.kernel_cache.refused_opens;
        if self.inodes.is_detached(ino) && refused.refuse(item, self.caller().pid, is_writer) {
            return Err(FsError::Stale);
        }
        Ok(())
    }

    /// Returns the error of an open of an item that is gone, whose name the kernel may believe in: once
    /// `Stale`, upon which it looks the name up and opens again. A second one the program would get.
    fn gone_error(&self, item: u64, is_writer: bool) -> FsError {
        let (refused, thread) = (&self.kernel_cache.refused_opens, self.caller().pid);
        if refused.refuse(item, thread, is_writer) {
            return FsError::Stale;
        }
        refused.ended(item, thread, is_writer);
        FsError::NotFound
    }

    /// Lets the kernel read an opened item through its page cache, if the cache may have this
    /// version, and fills the cache with a text that is not long.
    fn use_pages(
        &self,
        item: u64,
        ino: u64,
        opening: &mut OpeningGuard<'_>,
        text: &[u8],
        attr: Attr,
    ) -> ReadBy {
        let cache = &self.kernel_cache;
        if !cache.is_on()
            || self.inodes.is_detached(ino)
            || cache.refused_opens.is_writer_expected(item)
        {
            return ReadBy::Requests;
        }
        match opening.use_pages(attr, || self.inodes.is_told_only(ino, attr.version)) {
            PageUse::None => ReadBy::Requests,
            PageUse::Filled => ReadBy::Pages,
            PageUse::Fill => {
                let is_stored = cache.store_pages(ino, text);
                opening.end_filling();
                if is_stored {
                    ReadBy::Pages
                } else {
                    ReadBy::NewPages
                }
            }
        }
    }

    fn open_for_reading(&self, node: &Node) -> Result<Handle> {
        if node.is_computed() {
            return self.open_computed(node);
        }
        if let Some(directory) = cached_entry(node).map(EntryNode::directory)
            && let Some(kind) = ListedKind::of(&directory)
        {
            let credits = &self.kernel_cache.listing_credits;
            credits.record_look(self.caller().pid, kind, directory.ino());
        }
        tree::open_reader(&self.host, node)
    }

    fn open_for_writing(&self, node: &Node, flags: OpenFlags, exists: bool) -> Result<Handle> {
        self.check_change(node)?;
        self.note_open(node, node.ino());
        // A program that restores a backup writes derived files too: their text is discarded.
        match tree::open_writer(&self.host, node, flags, exists) {
            Err(FsError::Derived)
                if node
                    .table()
                    .is_some_and(|table| self.mount().discards_writes(table)) =>
            {
                Ok(discarded_writes::null_handle())
            }
            opened => opened,
        }
    }

    /// Makes a file and opens it; opens an old one if the kernel did not know of it.
    ///
    /// # Errors
    /// `Exists` with O_EXCL, or the name can be no file there.
    pub fn create(
        &self,
        parent: u64,
        name: &[u8],
        mode: u32,
        flags: OpenFlags,
    ) -> Result<CreateReply> {
        let parent = self.node(parent)?;
        let created = self.create_in(&parent, name, mode, flags);
        let created = created.and_then(|(attr, handle)| {
            let handle = self
                .handles
                .insert(handle, attr.ino, self.caller(), now_ms())?;
            Ok(CreateReply { attr, handle })
        });
        self.clear_missed(&parent, name, created)
    }

    fn create_in(
        &self,
        parent: &Node,
        name: &[u8],
        mode: u32,
        flags: OpenFlags,
    ) -> Result<(Attr, Handle)> {
        if name.len() > super::NAME_BYTES_MAX {
            return Err(FsError::NameTooLong);
        }
        self.check_change(parent)?;
        // Nothing is made in a directory that is gone: the kernel may have its name cached a
        // little longer.
        self.quick_attr(parent)?;
        // A name that stands for nothing is that of a new scratch file, or is refused.
        let resolved = tree::resolve(self.mount(), parent, name);
        let is_new = resolved.is_err();
        let node = match resolved {
            Err(FsError::NotFound) => match self.create_scratch(parent, name, mode) {
                Ok(id) => Node::Scratch(id),
                Err(error) => self.create_discarded(parent, name, error)?,
            },
            node => node?,
        };
        // Before `exists` is asked: a folder's name is refused as a file also before the folder
        // exists.
        tree::check_create(&node)?;
        let exists = !is_new
            && self.quick_attr(&node).is_ok()
            && !self.host.rm_guard.is_hidden_from(self.mount(), &node);
        // The process has made the name, even if the call fails: a file that it unlinked,
        // or insists on making, exists for it again.
        self.host.rm_guard.recreated(self.mount(), node.ino());
        if flags.exclusive
            && let Node::Schema(SourceName { table, index: None }) = &node
        {
            self.mount()
                .archiver_quirks
                .created_excl(table, tgid_of(self.caller().pid));
        }
        if exists && flags.exclusive {
            return Err(FsError::Exists);
        }
        // tar makes a file in the place of a link, for a while.
        let node = match std::str::from_utf8(name) {
            Ok(name)
                if node.kind() == NodeKind::Symlink
                    && !exists
                    && parent
                        .table()
                        .is_some_and(|table| self.mount().discards_writes(table)) =>
            {
                discarded_writes::make(self.mount(), parent, name, NodeKind::File)
            }
            _ => node,
        };
        // A file that did not exist has no old text, whatever the flags.
        let flags = OpenFlags {
            write: true,
            truncate: flags.truncate || !exists,
            ..flags
        };
        let handle = self.open_for_writing(&node, flags, exists)?;
        if let (false, Handle::Special(open)) = (exists, &handle) {
            // Before the attributes are asked for: until the first complete text the handle is all
            // that there is of the file.
            self.special_creations.add(node.ino(), Arc::clone(open));
        }
        let attr = match self.quick_attr(&node) {
            // A draft's schema.json was unlinked and is written anew.
            Err(FsError::NotFound) => Attr::file(0, now_ms()).with_ino(node.ino()),
            attr => attr?,
        };
        let number = self.inodes.number(node.ino());
        if self.handles.pages(number).is_some() {
            self.inodes.detach(number);
        }
        // The kernel takes the answer under the lock of the directory, as that to a first lookup.
        let ttl = self.kernel_cache.created_ttl(parent, &node, name);
        let attr = match self.kernel_cache.mark(&node) {
            Some(marked) => Attr { ttl, ..attr }.with_number(marked.ino),
            None => self.mark_known(node, attr)?,
        };
        self.inodes.tell(attr.ino, MIXED);
        Ok((attr, handle))
    }

    /// Makes an item of nothing but its key: MKNOD of a regular file, which `tar --xattrs` calls
    /// before it opens the file.
    ///
    /// # Errors
    /// As of an exclusive [`View::create`], and those of the commit.
    pub fn mknod(&self, parent: u64, name: &[u8], mode: u32) -> Result<Attr> {
        let flags = OpenFlags {
            write: true,
            exclusive: true,
            ..OpenFlags::default()
        };
        let CreateReply { attr, handle } = self.create(parent, name, mode, flags)?;
        // `tar` opens the file right after MKNOD: the item must be stored before the answer.
        let (sender, made) = sync_channel(1);
        self.release(handle, Box::new(move |ended| drop(sender.send(ended))));
        made.recv().map_err(|_| FsError::Internal)??;
        Ok(attr)
    }

    /// Makes a file that discards its writes, if the mount restores and no other file can be there.
    /// Otherwise returns `error`.
    fn create_discarded(&self, parent: &Node, name: &[u8], error: FsError) -> Result<Node> {
        match (std::str::from_utf8(name), &error) {
            (Ok(name), FsError::Derived | FsError::NotPermitted(_))
                if self.mount().discards_in(parent) =>
            {
                Ok(discarded_writes::make(
                    self.mount(),
                    parent,
                    name,
                    NodeKind::File,
                ))
            }
            _ => Err(error),
        }
    }

    /// Makes a file in memory, if the directory has such files and the name is one of theirs.
    fn create_scratch(&self, parent: &Node, name: &[u8], mode: u32) -> Result<FileId> {
        let name = name_text(name)?;
        if is_refused_probe(name) {
            return Err(FsError::NotFound);
        }
        tree::check_scratch(self.mount(), parent, name)?;
        self.mount().create_scratch(parent, name, mode, now_ms())
    }

    /// Notes that a caller opens a file for writing, or sets its size: that was the purpose of its
    /// look.
    pub(super) fn note_open(&self, node: &Node, ino: u64) {
        if let Some(item) = tracked_ino(node, ino) {
            self.host.read_versions.opened(item, self.caller().pid);
        }
    }
}
