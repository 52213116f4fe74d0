//! open, create, mknod.

use std::sync::mpsc::sync_channel;

use super::View;
use crate::fs::mount::texts::Text;
use crate::fs::open::host::{on_behalf_of, optimistic_lock::tracked};
use crate::fs::open::prelude::*;
use crate::fs::open::room::{open_text, room};
use crate::fs::path::names::split_suffix;
use crate::fs::path::{is_refused_probe, is_schema_scratch_name, is_scratch_name};
use crate::fs::process::process_of;
use crate::fs::source::{entry, scratch};
use crate::fs::special::{dropped, schema};
use crate::fs::tree;
use crate::fs::write::draft::Draft;
use crate::fs::write::{FileId, ItemTarget, ItemWriter, Opener};

/// Answer of create: the file's attributes and its handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Created {
    pub attr: Attr,
    pub handle: u64,
}

impl View {
    /// OPEN; a handle.
    ///
    /// # Errors
    /// Gone, or written where nothing can be.
    pub fn open(&self, ino: u64, flags: OpenFlags) -> Result<u64, FsError> {
        let node = self.node(ino)?;
        let _opening = self.handles.opening(ino);
        let opened = if flags.write {
            self.open_for_writing(&node, flags)
        } else {
            self.open_for_reading(&node, flags)
        };
        self.handles.insert(
            opened.map_err(|error| self.gone_or(ino, error))?,
            ino,
            self.caller(),
            now_ms(),
        )
    }

    fn open_for_reading(&self, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        let caller = self.caller();
        match node {
            node if node.is_computed() => self.open_computed(node),
            Node::Scratch(id) => scratch::open(&self.host.mount, *id, false),
            Node::Special(special) => self.open_special(special, flags),
            Node::Entry(entry) if entry.source.index.is_none() => {
                self.kernel_cache.name_readers.looks(caller.pid);
                let (text, stat) = entry::counted_text(&self.host.mount, entry)?;
                let text = Text::new(text, &self.host.mount.budget)?;
                if !self.host.mount.options.last_writer_wins {
                    self.host
                        .read_versions
                        .read(caller.pid, entry, stat.version, &text);
                }
                Ok(Handle::Text(text))
            }
            _ => Ok(Handle::Text(Text::new(
                tree::text(&self.host.mount, node)?,
                &self.host.mount.budget,
            )?)),
        }
    }

    fn open_for_writing(&self, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        self.may_change(node)?;
        self.opens(node, node.ino());
        match self.open_writer(node, flags) {
            Err(FsError::Derived)
                if node
                    .table()
                    .is_some_and(|table| self.host.mount.restores(table)) =>
            {
                Ok(dropped::sink())
            }
            opened => opened,
        }
    }

    fn open_writer(&self, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        match node {
            Node::Entry(entry) if entry.source.index.is_none() => {
                self.open_item(node, entry, flags)
            }
            Node::Alias(_) => self.create_item(node, flags),
            Node::Schema(source) if source.index.is_none() => {
                self.open_schema(node, &source.table, flags)
            }
            Node::Scratch(id) => scratch::open(&self.host.mount, *id, flags.truncate),
            Node::Special(special) => self.open_special(special, flags),
            directory if directory.kind() == Kind::Directory => Err(FsError::IsDirectory),
            _ => Err(FsError::Derived),
        }
    }

    /// An item that may be stored, or be being created.
    fn open_item(
        &self,
        node: &Node,
        entry: &EntryNode,
        flags: OpenFlags,
    ) -> Result<Handle, FsError> {
        if flags.truncate {
            let stored = entry::stat(&self.host.mount, &entry.source, &entry.key);
            return match stored {
                Ok(_) => Ok(Handle::Item(self.item_handle(
                    node,
                    flags,
                    ItemWriter::stream,
                )?)),
                Err(FsError::NotFound) => self.create_again(node, flags),
                Err(error) => Err(error),
            };
        }
        match entry::text(&self.host.mount, entry) {
            Ok((_, stat)) if self.creations.is_empty(node.ino(), stat.version) => {
                let made = |target, opener| ItemWriter::stream_made(target, opener, stat.version);
                Ok(Handle::Item(self.item_handle(node, flags, made)?))
            }
            Ok((text, stat)) => {
                let unchanged = (!self.host.mount.options.last_writer_wins)
                    .then_some(Precondition::Version(stat.version));
                if unchanged.is_some() {
                    self.host.read_versions.keep_text(
                        &self.host.mount,
                        stat.version,
                        entry.form,
                        &text,
                    );
                }
                let edit = |target, opener| ItemWriter::edit(target, text, unchanged, opener);
                Ok(Handle::Item(self.item_handle(node, flags, edit)?))
            }
            Err(FsError::NotFound) => self.create_again(node, flags),
            Err(error) => Err(error),
        }
    }

    /// An item that is being created. One that is gone since the name was looked up is not: who wants a new one then asks for it.
    fn create_again(&self, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        self.creations.get(node.ino()).ok_or(FsError::Stale)?;
        self.create_item(node, flags)
    }

    /// An item that is not stored, for O_EXCL: it is from now on. Later, with its text, where the name does not say the key, where an item
    /// that was renamed away has it still, and where a backup is restored: who writes there has no rivals.
    fn create_exclusive(&self, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        let caller = self.caller();
        let target = entry::target(&self.host.mount, node)?;
        let is_hidden = |key| {
            self.host.mount.with_deferred(|deferred| {
                deferred
                    .hidden_version(&(target.table.clone(), key))
                    .is_some()
            })
        };
        if target.known_key().is_none_or(|key| {
            self.host.mount.restores(&target.table)
                || (self.host.mount.hides_any() && is_hidden(key))
        }) {
            return self.create_item(node, flags);
        }
        let (request, key) = target.key_request()?;
        let made = wait(on_behalf_of(&self.host, caller.pid, caller.wait), |done| {
            self.host.put(request, Some(key), caller.pid, done)
        });
        let version = made.map_err(|error| match error {
            Error::ConditionalCheckFailed { .. } => FsError::Exists,
            error => error.into(),
        })?;
        self.creations.made_empty(node.ino(), version);
        let made = |target, opener| ItemWriter::stream_made(target, opener, version);
        Ok(Handle::Item(self.item_handle(node, flags, made)?))
    }

    /// An item that is not stored.
    fn create_item(&self, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        let writer = if flags.exclusive {
            ItemWriter::stream_exclusive
        } else {
            ItemWriter::stream
        };
        let open = self.item_handle(node, flags, writer)?;
        // By the inode number, not by the handle: a second open of the name finds the file that is being made.
        self.creations.add(Arc::clone(&open));
        Ok(Handle::Item(open))
    }

    fn item_handle(
        &self,
        node: &Node,
        flags: OpenFlags,
        writer: impl FnOnce(ItemTarget, Opener) -> ItemWriter,
    ) -> Result<Arc<OpenText<ItemTarget>>, FsError> {
        let caller = self.caller();
        let target = entry::target(&self.host.mount, node)?;
        let writer = writer(
            target,
            Opener {
                pid: caller.pid,
                append: flags.append,
            },
        );
        Ok(Arc::new(OpenText::new(
            node.ino(),
            self.host.mount.path(node),
            caller.pid,
            writer,
        )))
    }

    fn open_schema(
        &self,
        node: &Node,
        table: &TableName,
        flags: OpenFlags,
    ) -> Result<Handle, FsError> {
        let target = schema::target(&self.host.mount, table)?;
        let text = if flags.truncate {
            None
        } else {
            tree::text(&self.host.mount, node).ok()
        };
        Ok(open_text(
            (node.ino(), self.host.mount.path(node)),
            self.caller(),
            flags,
            target,
            text,
        ))
    }

    fn open_special(&self, special: &SpecialNode, flags: OpenFlags) -> Result<Handle, FsError> {
        let room = room(special)?;
        match (special.kind, flags.write) {
            (Kind::Directory, _) => Err(FsError::IsDirectory),
            (_, true) => room.open_writer(special, &self.host, flags),
            (_, false) => room.open_reader(special, &self.host),
        }
    }

    /// CREATE: a new file, open; or an old one when the kernel did not know of it.
    ///
    /// # Errors
    /// `Exists` with O_EXCL, or the name can be no file there.
    pub fn create(
        &self,
        parent: u64,
        name: &[u8],
        mode: u32,
        flags: OpenFlags,
    ) -> Result<Created, FsError> {
        let parent = self.node(parent)?;
        let created = self.create_in(&parent, name, mode, flags);
        let created = created.and_then(|(attr, handle)| {
            let handle = self
                .handles
                .insert(handle, attr.ino, self.caller(), now_ms())?;
            Ok(Created { attr, handle })
        });
        self.made(&parent, name, created)
    }

    fn create_in(
        &self,
        parent: &Node,
        name: &[u8],
        mode: u32,
        flags: OpenFlags,
    ) -> Result<(Attr, Handle), FsError> {
        if name.len() > super::NAME_BYTES_MAX {
            return Err(FsError::NameTooLong);
        }
        self.may_change(parent)?;
        // Nothing is made in a directory that is gone: the kernel may believe in it a little longer.
        self.attr_of(parent)?;
        let resolved = tree::resolve(&self.host.mount, parent, name);
        let is_new = resolved.is_err();
        let node = match resolved {
            Err(FsError::NotFound) => match self.create_scratch(parent, name, mode) {
                Ok(id) => Node::Scratch(id),
                Err(error) => self.create_dropped(parent, name, error)?,
            },
            Ok(Node::Collection(Source { index: None, .. }, _) | Node::AliasFolder(_)) => {
                return Err(FsError::NotPermitted(
                    "items of this table are in folders, items/<partition key>/<sort key>.json",
                ));
            }
            Ok(Node::Collection(..)) => return Err(FsError::Derived),
            Ok(Node::Table(_)) => {
                return Err(FsError::NotPermitted(
                    "here are only tables; mkdir makes one",
                ));
            }
            node => node?,
        };
        let exists = !is_new
            && self.attr_of(&node).is_ok()
            && !self.host.rm_guard.is_gone_for(&self.host.mount, &node);
        // Whatever comes of the call, the process has made the name: what it unlinked, or insists on making, is there for it
        // again.
        self.host.rm_guard.made_anew(&self.host.mount, node.ino());
        if flags.exclusive
            && let Node::Schema(Source { table, index: None }) = &node
        {
            self.host
                .mount
                .in_progress
                .insists(table, process_of(self.caller().pid));
        }
        if exists && flags.exclusive {
            return Err(FsError::Exists);
        }
        // tar makes a file in the place of a link, for the while.
        let node = match std::str::from_utf8(name) {
            Ok(name)
                if node.kind() == Kind::Symlink
                    && !exists
                    && parent
                        .table()
                        .is_some_and(|table| self.host.mount.restores(table)) =>
            {
                dropped::make(&self.host.mount, parent, name, Kind::File)
            }
            _ => node,
        };
        let flags = OpenFlags {
            write: true,
            truncate: flags.truncate || !exists,
            ..flags
        };
        let handle = match &node {
            Node::Entry(entry) if !exists && entry.source.index.is_none() => {
                self.opens(&node, node.ino());
                if flags.exclusive {
                    self.create_exclusive(&node, flags)?
                } else {
                    self.create_item(&node, flags)?
                }
            }
            node => self.open_for_writing(node, flags)?,
        };
        if let (false, Handle::Special(open)) = (exists, &handle) {
            // Before the attributes are asked for: until the first complete text these are all there is of it.
            self.creations.add_special(node.ino(), Arc::clone(open));
        }
        let attr = match self.attr_of(&node) {
            // A draft's schema.json that was unlinked and is written anew.
            Err(FsError::NotFound) => Attr::file(0, now_ms()).of(node.ino()),
            attr => attr?,
        };
        let attr = self.remember(node, attr)?;
        Ok((attr, handle))
    }

    /// MKNOD of a regular file, as `tar --xattrs` does before it opens it: an item of nothing but its key.
    ///
    /// # Errors
    /// As of an exclusive [`View::create`].
    pub fn mknod(&self, parent: u64, name: &[u8], mode: u32) -> Result<Attr, FsError> {
        let flags = OpenFlags {
            write: true,
            exclusive: true,
            ..OpenFlags::default()
        };
        let parent = self.node(parent)?;
        let (attr, handle) =
            self.made(&parent, name, self.create_in(&parent, name, mode, flags))?;
        match handle {
            Handle::Item(open) if self.creations.is_untouched(&open) => {
                let (sender, made) = sync_channel(1);
                self.make_untouched(&open, Box::new(move |ended| drop(sender.send(ended))));
                made.recv().map_err(|_| FsError::Internal)??;
            }
            Handle::Item(_) => {}
            Handle::Scratch(id) => self.host.mount.scratch.lock().release(id, now_ms()),
            Handle::Special(open) => self.creations.remove_special(&open),
            Handle::Text(_) | Handle::Computed(_) | Handle::Directory(_) => {}
        }
        Ok(attr)
    }

    /// A file that is forgotten, where the mount restores and there can be none.
    fn create_dropped(&self, parent: &Node, name: &[u8], error: FsError) -> Result<Node, FsError> {
        match (std::str::from_utf8(name), &error) {
            (Ok(name), FsError::Derived | FsError::NotPermitted(_))
                if self.host.mount.restores_in(parent) =>
            {
                Ok(dropped::make(&self.host.mount, parent, name, Kind::File))
            }
            _ => Err(error),
        }
    }

    /// A file in memory, where the name is one of those and the directory has them.
    fn create_scratch(&self, parent: &Node, name: &[u8], mode: u32) -> Result<FileId, FsError> {
        let name = name_text(name)?;
        if is_refused_probe(name) {
            return Err(FsError::NotFound);
        }
        match parent {
            Node::Items(Source { index: None, .. })
            | Node::Collection(Source { index: None, .. }, _)
            | Node::AliasFolder(_) => {
                if split_suffix(name).is_some() {
                    return Err(FsError::Invalid(super::NO_KEY));
                }
                if !is_scratch_name(name) {
                    return Err(FsError::Unsupported(
                        "an item's file is its key and .json; no other file has such a name",
                    ));
                }
                self.host.mount.create_scratch(parent, name, mode, now_ms())
            }
            Node::Table(_) if is_schema_scratch_name(name) => {
                self.host.mount.create_scratch(parent, name, mode, now_ms())
            }
            Node::DraftFolder(..) => Err(Draft::file_refused()),
            Node::Table(table) if self.host.mount.is_draft(table)? => Err(Draft::file_refused()),
            Node::Root | Node::Table(_) => {
                Err(FsError::NotPermitted("files of data are below items/"))
            }
            Node::Special(special) => Err(room(special)?.create_refused()),
            _ => Err(FsError::Derived),
        }
    }

    /// OPEN for writing, or SETATTR of the size: that was why the caller looked.
    pub(super) fn opens(&self, node: &Node, ino: u64) {
        if let Some(item) = tracked(node, ino) {
            self.host.read_versions.opened(item, self.caller().pid);
        }
    }
}
