//! open, create, read, write, flush, fsync, release, and the size of setattr.

use std::ops::Range;
use std::sync::Arc;

use super::commit::Call;
use super::put::{item_number, key_of};
use super::{Caller, NewAttr, Reply, View};
use crate::database::{Source, TextForm};
use crate::fs::FsError;
use crate::fs::attr::Attr;
use crate::fs::handle::{Handle, OpenText, Text};
use crate::fs::node::{EntryNode, Kind, Node, base};
use crate::fs::special::dropped;
use crate::fs::tree::names::split_suffix;
use crate::fs::tree::{items, now_ms};
use crate::fs::write::draft::Draft;
use crate::fs::write::scratch::FileId;
use crate::fs::write::{
    ItemTarget, ItemWriter, KeyPart, Opener, TEXT_BYTES_MAX, TargetKey, TextWriter, is_refused_probe, is_schema_scratch_name,
    is_scratch_name,
};
use crate::model::TableName;
use crate::model::api::Precondition;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenFlags {
    pub write: bool,
    /// O_TRUNC.
    pub truncate: bool,
    /// O_EXCL, of create.
    pub exclusive: bool,
    /// O_APPEND.
    pub append: bool,
}

/// Answer of create: the file's attributes and its handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Created {
    pub attr: Attr,
    pub handle: u64,
}

/// Bytes read, a part of something kept alive with them.
#[derive(Debug)]
pub struct Bytes {
    of: BytesOf,
    range: Range<usize>,
}

#[derive(Debug)]
enum BytesOf {
    Handle(Arc<Handle>),
    Own(Vec<u8>),
}

impl Bytes {
    /// These bytes.
    #[must_use]
    pub fn own(bytes: Vec<u8>) -> Self {
        Self { range: 0..bytes.len(), of: BytesOf::Own(bytes) }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        let all = match &self.of {
            BytesOf::Own(bytes) => bytes.as_slice(),
            BytesOf::Handle(handle) => match &**handle {
                Handle::Text(text) => text.bytes.as_slice(),
                _ => &[],
            },
        };
        all.get(self.range.clone()).unwrap_or_default()
    }
}

impl View {
    /// OPEN; a handle.
    ///
    /// # Errors
    /// Gone, or written where nothing can be.
    pub fn open(self: &Arc<Self>, caller: Caller, ino: u64, flags: OpenFlags) -> Result<u64, FsError> {
        let node = self.node(ino)?;
        let opened =
            if flags.write { self.open_for_writing(caller, &node, flags) } else { self.open_for_reading(caller, &node, flags) };
        let opened = opened.and_then(|handle| self.handles.insert(handle, ino, caller.pid, now_ms()));
        self.noted_at(caller, "open", || self.tree.path(&node), opened)
    }

    fn open_for_reading(self: &Arc<Self>, caller: Caller, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        match node {
            node if node.is_computed() => self.open_computed(node),
            Node::Scratch(id) => self.open_scratch(*id, false),
            Node::Special(special) => special.0.open(self, caller, node.ino(), flags),
            Node::Entry(entry) if entry.source.index.is_none() => {
                let (text, stat) = items::counted_text(&self.tree, entry)?;
                let text = Text::new(text, &self.tree.budget)?;
                self.read_item(caller.pid, entry, stat.version, &text);
                Ok(Handle::Text(text))
            }
            _ => Ok(Handle::Text(Text::new(self.tree.text(node, caller)?, &self.tree.budget)?)),
        }
    }

    fn open_for_writing(self: &Arc<Self>, caller: Caller, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        self.opens(caller, node, node.ino());
        match self.open_writer(caller, node, flags) {
            Err(FsError::Derived) if node.table().is_some_and(|table| self.tree.restores(table)) => Ok(dropped::sink()),
            opened => opened,
        }
    }

    fn open_writer(self: &Arc<Self>, caller: Caller, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        match node {
            Node::Entry(entry) if entry.source.index.is_none() => self.open_item(caller, node, entry, flags),
            Node::Alias(_) => self.create_item(caller, node, flags),
            Node::Schema(source) if source.index.is_none() => self.open_schema(caller, node, &source.table, flags),
            Node::Scratch(id) => self.open_scratch(*id, flags.truncate),
            Node::Special(special) => special.0.open(self, caller, node.ino(), flags),
            Node::Root
            | Node::Table(_)
            | Node::DraftFolder(..)
            | Node::Items(_)
            | Node::Indexes(..)
            | Node::Index(_)
            | Node::Collection(..)
            | Node::AliasFolder(_)
            | Node::Query(_) => Err(FsError::IsDirectory),
            Node::Entry(_)
            | Node::Schema(_)
            | Node::Readme
            | Node::Stats(_)
            | Node::Base(..)
            | Node::QueryResult(..)
            | Node::QueryLink(..) => Err(FsError::Derived),
        }
    }

    /// An item that may be stored, or be being created.
    fn open_item(&self, caller: Caller, node: &Node, entry: &EntryNode, flags: OpenFlags) -> Result<Handle, FsError> {
        if flags.truncate {
            let stored = items::stat(&self.tree, &entry.source, &entry.key);
            return match stored {
                Ok(_) => Ok(Handle::Item(self.item_handle(caller, node, flags, ItemWriter::stream)?)),
                Err(FsError::NotFound) => self.create_item(caller, node, flags),
                Err(error) => Err(error),
            };
        }
        match items::text(&self.tree, entry) {
            Ok((text, stat)) => {
                let unchanged = (!self.tree.options.last_writer_wins).then_some(Precondition::Version(stat.version));
                if unchanged.is_some() {
                    self.keep_text(stat.version, entry.form, &text);
                }
                let edit = |target, opener| ItemWriter::edit(target, text, unchanged, opener);
                Ok(Handle::Item(self.item_handle(caller, node, flags, edit)?))
            }
            Err(FsError::NotFound) => self.create_item(caller, node, flags),
            Err(error) => Err(error),
        }
    }

    /// An item that is not stored.
    fn create_item(&self, caller: Caller, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        let writer = if flags.exclusive { ItemWriter::stream_exclusive } else { ItemWriter::stream };
        let open = self.item_handle(caller, node, flags, writer)?;
        self.creations.add(Arc::clone(&open));
        Ok(Handle::Item(open))
    }

    fn item_handle(
        &self,
        caller: Caller,
        node: &Node,
        flags: OpenFlags,
        writer: impl FnOnce(ItemTarget, Opener) -> ItemWriter,
    ) -> Result<Arc<OpenText<ItemTarget>>, FsError> {
        let target = self.item_target(node)?;
        let writer = writer(target, Opener { pid: caller.pid, append: flags.append });
        Ok(Arc::new(OpenText::new(node.ino(), self.tree.path(node), caller.pid, writer)))
    }

    fn open_schema(&self, caller: Caller, node: &Node, table: &TableName, flags: OpenFlags) -> Result<Handle, FsError> {
        let opener = Opener { pid: caller.pid, append: flags.append };
        let target = self.schema_target(table)?;
        let text = if flags.truncate { None } else { self.tree.text(node, caller).ok() };
        let writer = match text {
            Some(text) => TextWriter::edit(target, text, None, opener),
            None => TextWriter::stream(target, opener),
        };
        Ok(Handle::Special(Arc::new(OpenText::new(node.ino(), self.tree.path(node), caller.pid, writer))))
    }

    pub(in crate::fs) fn open_scratch(&self, id: FileId, truncate: bool) -> Result<Handle, FsError> {
        let mut scratch = self.tree.scratch.lock();
        // Parked since it was looked up: the kernel looks the name up again.
        scratch.open(id, now_ms()).map_err(|_| FsError::Stale)?;
        if truncate {
            scratch.truncate(id, 0, now_ms())?;
        }
        Ok(Handle::Scratch(id))
    }

    /// CREATE: a new file, open; or an old one when the kernel did not know of it.
    ///
    /// # Errors
    /// `Exists` with O_EXCL, or the name can be no file there.
    pub fn create(
        self: &Arc<Self>,
        caller: Caller,
        parent: u64,
        name: &[u8],
        mode: u32,
        flags: OpenFlags,
    ) -> Result<Created, FsError> {
        let parent = self.node(parent)?;
        let created = self.create_in(caller, &parent, name, mode, flags);
        let created = created.and_then(|(attr, handle)| {
            let handle = self.handles.insert(handle, attr.ino, caller.pid, now_ms())?;
            Ok(Created { attr, handle })
        });
        self.noted(caller, "create", &parent, name, created)
    }

    fn create_in(
        self: &Arc<Self>,
        caller: Caller,
        parent: &Node,
        name: &[u8],
        mode: u32,
        flags: OpenFlags,
    ) -> Result<(Attr, Handle), FsError> {
        if name.len() > super::NAME_BYTES_MAX {
            return Err(FsError::NameTooLong);
        }
        let resolved = self.tree.resolve(parent, name);
        let is_new = resolved.is_err();
        let node = match resolved {
            Err(FsError::NotFound) => {
                // Nothing is in a directory that is gone: the kernel may believe in it a little longer.
                self.attr_of(parent, caller)?;
                match self.create_scratch(parent, name, mode) {
                    Ok(id) => Node::Scratch(id),
                    Err(error) => self.create_dropped(parent, name, error)?,
                }
            }
            Ok(Node::Collection(Source { index: None, .. }, _) | Node::AliasFolder(_)) => {
                return Err(FsError::NotPermitted("items of this table are in folders, items/<partition key>/<sort key>.json"));
            }
            Ok(Node::Collection(..)) => return Err(FsError::Derived),
            Ok(Node::Table(_)) => return Err(FsError::NotPermitted("here are only tables; mkdir makes one")),
            node => node?,
        };
        let exists = !is_new && self.attr_of(&node, caller).is_ok() && !self.is_gone_for(caller, &node);
        self.marks.made(node.ino());
        if exists && flags.exclusive {
            return Err(FsError::Exists);
        }
        // tar makes a file in the place of a link, for the while.
        let node = match std::str::from_utf8(name) {
            Ok(name)
                if node.kind() == Kind::Symlink && !exists && parent.table().is_some_and(|table| self.tree.restores(table)) =>
            {
                dropped::make(&self.tree, parent, name, Kind::File)
            }
            _ => node,
        };
        let flags = OpenFlags { write: true, truncate: flags.truncate || !exists, ..flags };
        let handle = self.open_for_writing(caller, &node, flags)?;
        if let (false, Handle::Special(open)) = (exists, &handle) {
            self.creations.add_special(node.ino(), Arc::clone(open));
        }
        let attr = match self.attr_of(&node, caller) {
            // A draft's schema.json that was unlinked and is written anew.
            Err(FsError::NotFound) => Attr::file(node.ino(), 0, now_ms()),
            attr => attr?,
        };
        let attr = self.remember(node, attr)?;
        Ok((attr, handle))
    }

    /// MKNOD of a regular file, as `tar --xattrs` does before it opens it: the name is there for a while, the item is not.
    ///
    /// # Errors
    /// As of an exclusive [`View::create`].
    pub fn mknod(self: &Arc<Self>, caller: Caller, parent: u64, name: &[u8], mode: u32) -> Result<Attr, FsError> {
        let flags = OpenFlags { write: true, exclusive: true, ..OpenFlags::default() };
        let parent = self.node(parent)?;
        let (attr, handle) = self.noted(caller, "mknod", &parent, name, self.create_in(caller, &parent, name, mode, flags))?;
        match handle {
            Handle::Item(open) => self.creations.promise(&open),
            Handle::Scratch(id) => self.tree.scratch.lock().release(id, now_ms()),
            Handle::Special(open) => self.creations.remove_special(&open),
            Handle::Text(_) | Handle::Computed(_) | Handle::Directory(_) => {}
        }
        Ok(attr)
    }

    /// A file that is forgotten, where the mount restores and there can be none.
    fn create_dropped(&self, parent: &Node, name: &[u8], error: FsError) -> Result<Node, FsError> {
        match (std::str::from_utf8(name), &error) {
            (Ok(name), FsError::Derived | FsError::NotPermitted(_)) if self.tree.restores_in(parent) => {
                Ok(dropped::make(&self.tree, parent, name, Kind::File))
            }
            _ => Err(error),
        }
    }

    /// A file in memory, where the name is one of those and the directory has them.
    fn create_scratch(&self, parent: &Node, name: &[u8], mode: u32) -> Result<FileId, FsError> {
        let name = std::str::from_utf8(name).map_err(|_| FsError::Invalid("a name is UTF-8; write other bytes as %XX"))?;
        if is_refused_probe(name) {
            return Err(FsError::NotFound);
        }
        match parent {
            Node::Items(Source { index: None, .. }) | Node::Collection(Source { index: None, .. }, _) | Node::AliasFolder(_) => {
                if split_suffix(name).is_some() {
                    return Err(FsError::Invalid(super::NO_KEY));
                }
                if !is_scratch_name(name) {
                    return Err(FsError::NotSupported);
                }
                self.tree.create_scratch(parent, name, mode, now_ms())
            }
            Node::Table(_) if is_schema_scratch_name(name) => self.tree.create_scratch(parent, name, mode, now_ms()),
            Node::DraftFolder(..) => Err(Draft::file_refused()),
            Node::Table(table) if self.tree.is_draft(table)? => Err(Draft::file_refused()),
            Node::Root | Node::Table(_) => Err(FsError::NotPermitted("files of data are below items/")),
            Node::Special(special) => Err(special.0.create_refused()),
            _ => Err(FsError::Derived),
        }
    }

    /// Reserves what a call may make its handle hold; what it holds is counted before `reply`.
    ///
    /// # Errors
    /// `OpenFull`; then the call is answered.
    fn reserving<T: 'static>(
        self: &Arc<Self>,
        caller: Caller,
        (number, operation): (u64, &'static str),
        reserved: Result<(), FsError>,
        reply: Reply<T>,
    ) -> Option<Reply<T>> {
        if let Err(error) = reserved {
            let node = self.handles.ino(number).and_then(|ino| self.inodes.get(ino));
            let path = || node.map_or_else(String::new, |node| self.tree.path(&node));
            reply(self.noted_at(caller, operation, path, Err(error)));
            return None;
        }
        let view = Arc::clone(self);
        Some(Box::new(move |ended| {
            view.handles.settle(number);
            reply(ended);
        }))
    }

    /// READ: the bytes at `offset`, fewer than `size` only at the end. A query's result is read on a thread of its own.
    pub fn read(self: &Arc<Self>, caller: Caller, number: u64, offset: u64, size: usize, reply: Reply<Bytes>) {
        let Some(handle) = self.handles.get(number) else { return reply(Err(FsError::BadHandle)) };
        let reply = if handle.reads_ahead() {
            let reserved = self.handles.reserve_read(number);
            let Some(reply) = self.reserving(caller, (number, "read"), reserved, reply) else { return };
            reply
        } else {
            reply
        };
        match &*handle {
            Handle::Special(open) => Arc::clone(open).read(self, caller, offset, size, reply),
            Handle::Computed(_) => self.read_computed(caller, handle, (offset, size), reply),
            _ => reply(self.read_now(caller, &handle, offset, size)),
        }
    }

    fn read_now(&self, caller: Caller, handle: &Arc<Handle>, offset: u64, size: usize) -> Result<Bytes, FsError> {
        let bytes = match &**handle {
            Handle::Text(text) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(text.bytes.len());
                let end = start.saturating_add(size).min(text.bytes.len());
                return Ok(Bytes { range: start..end, of: BytesOf::Handle(Arc::clone(handle)) });
            }
            Handle::Item(open) => self.read_text(caller, open, offset, size),
            Handle::Scratch(id) => self.tree.scratch.lock().read(*id, offset, size, now_ms())?,
            Handle::Directory(_) => return Err(FsError::IsDirectory),
            Handle::Special(_) | Handle::Computed(_) => return Err(FsError::BadHandle),
        };
        Ok(Bytes::own(bytes))
    }

    /// The text of a file that is written too. Who reads it has read the item, if that is what it still shows.
    fn read_text(&self, caller: Caller, open: &OpenText<ItemTarget>, offset: u64, size: usize) -> Vec<u8> {
        let state = open.state.lock();
        let target = state.writer.target();
        if let (Some(version), Some(key)) = (state.writer.snapshot(), key_of(target)) {
            self.reads.note(item_number(&target.table, &key), caller.pid, version);
        }
        state.writer.read(offset, size).to_vec()
    }

    /// WRITE: all of `data`, or an error. Answered after the commit when the data completes an item.
    pub fn write(self: &Arc<Self>, caller: Caller, number: u64, offset: u64, data: &[u8], reply: Reply<()>) {
        let Some(handle) = self.handles.get(number) else { return reply(Err(FsError::BadHandle)) };
        let reserved = self.handles.reserve(number, data.len());
        let Some(reply) = self.reserving(caller, (number, "write"), reserved, reply) else { return };
        match &*handle {
            Handle::Item(open) => self.run(caller, open, Call::Write { offset, data: data.to_vec() }, reply),
            Handle::Special(open) => Arc::clone(open).write(self, caller, offset, data, reply),
            Handle::Scratch(id) => {
                let written = self.tree.scratch.lock().write(*id, offset, data, now_ms());
                reply(self.noted_at(caller, "write", || self.tree.path(&Node::Scratch(*id)), written));
            }
            Handle::Text(_) | Handle::Computed(_) | Handle::Directory(_) => reply(Err(FsError::BadHandle)),
        }
    }

    /// FLUSH: a descriptor is closed. An incomplete text of the closer is an error.
    pub fn flush(self: &Arc<Self>, caller: Caller, handle: u64, reply: Reply<()>) {
        self.settle(caller, handle, Call::Flush, reply);
    }

    /// FSYNC.
    pub fn fsync(self: &Arc<Self>, caller: Caller, handle: u64, reply: Reply<()>) {
        self.settle(caller, handle, Call::Fsync, reply);
    }

    fn settle(self: &Arc<Self>, caller: Caller, handle: u64, call: Call, reply: Reply<()>) {
        let Some(handle) = self.handles.get(handle) else { return reply(Err(FsError::BadHandle)) };
        match &*handle {
            Handle::Item(open) => self.run(caller, open, call, reply),
            Handle::Special(open) if call.is_flush() => Arc::clone(open).flush(self, caller, reply),
            Handle::Special(open) => Arc::clone(open).fsync(self, caller, reply),
            Handle::Scratch(_) | Handle::Text(_) | Handle::Computed(_) | Handle::Directory(_) => {
                reply(Ok(()));
            }
        }
    }

    /// RELEASE: the handle is gone. Text that a mapping left behind is stored; nobody hears of a failure but the log.
    pub fn release(self: &Arc<Self>, caller: Caller, handle: u64, reply: Reply<()>) {
        let Some(handle) = self.handles.remove(handle) else { return reply(Err(FsError::BadHandle)) };
        match &*handle {
            Handle::Item(open) => {
                let (view, again) = (Arc::clone(self), Arc::clone(open));
                let reply = logged(reply, open.path.clone());
                let done = Box::new(move |ended| {
                    view.creations.remove(&again);
                    reply(ended);
                });
                self.run(caller, open, Call::Release, done);
            }
            Handle::Special(open) => {
                self.creations.remove_special(open);
                Arc::clone(open).release(self, caller, reply);
            }
            Handle::Scratch(id) => {
                self.tree.scratch.lock().release(*id, now_ms());
                reply(Ok(()));
            }
            Handle::Text(_) | Handle::Computed(_) | Handle::Directory(_) => reply(Ok(())),
        }
    }

    /// SETATTR. Truncation is a property of the handle: without one it touches no item. Owner, mode and times of items are not
    /// kept, and setting them succeeds.
    pub fn setattr(self: &Arc<Self>, caller: Caller, ino: u64, handle: Option<u64>, new: NewAttr, reply: Reply<Attr>) {
        let node = match self.node(ino) {
            Ok(node) => node,
            Err(error) => return reply(Err(error)),
        };
        if let Node::Scratch(id) = &*node {
            let set = self.set_scratch_attr(*id, new);
            let set = self.noted_at(caller, "setattr", || self.tree.path(&node), set);
            return reply(set.and_then(|()| self.getattr(caller, ino, handle)));
        }
        if new.size.is_some() {
            self.opens(caller, &node, ino);
        }
        let view = Arc::clone(self);
        let answer: Reply<()> = Box::new(move |set| reply(set.and_then(|()| view.getattr(caller, ino, handle))));
        let answer = match (new.size, handle) {
            (Some(size), Some(number)) => {
                let grown = usize::try_from(size).unwrap_or(usize::MAX).min(TEXT_BYTES_MAX);
                let reserved = self.handles.reserve(number, grown);
                let Some(answer) = self.reserving(caller, (number, "truncate"), reserved, answer) else { return };
                answer
            }
            _ => answer,
        };
        match (new.size, handle.and_then(|handle| self.handles.get(handle))) {
            (Some(size), Some(opened)) => match &*opened {
                Handle::Item(open) => self.run(caller, open, Call::Truncate(size), answer),
                Handle::Special(open) => Arc::clone(open).truncate(self, caller, size, answer),
                Handle::Scratch(id) => answer(self.set_scratch_attr(*id, new)),
                _ => answer(Err(FsError::BadHandle)),
            },
            (Some(_), None) if self.is_derived(&node) => answer(Err(FsError::Derived)),
            // A truncated item would be no item; the writer that follows opens it itself.
            (Some(0), None) => answer(Ok(())),
            (Some(_), None) => answer(Err(FsError::Invalid("an item has the size of its text; write it as a whole"))),
            (None, _)
                if (new.touched || new.modified_ms.is_some())
                    && self.creations.get(ino).is_some()
                    && self.is_absent(&node, caller) =>
            {
                self.put_key(caller, &node, answer);
            }
            (None, _) => answer(Ok(())),
        }
    }

    fn is_absent(&self, node: &Node, caller: Caller) -> bool {
        matches!(self.tree.attr(node, caller), Err(FsError::NotFound))
            && self.creations.get(node.ino()).is_some_and(|open| open.state.lock().writer.len() == 0)
    }

    fn is_derived(&self, node: &Node) -> bool {
        match node {
            Node::Entry(entry) => entry.source.index.is_some(),
            Node::Schema(source) => source.index.is_some(),
            Node::Alias(_) => false,
            Node::Special(special) => !special.0.is_writable(),
            _ => true,
        }
    }

    fn set_scratch_attr(&self, id: FileId, new: NewAttr) -> Result<(), FsError> {
        let mut scratch = self.tree.scratch.lock();
        if let Some(size) = new.size {
            scratch.truncate(id, size, now_ms())?;
        }
        let modified_ms = if new.touched { Some(now_ms()) } else { new.modified_ms };
        scratch.set_attributes(id, new.mode, modified_ms)
    }

    /// The item of a base table, as a target for its text.
    ///
    /// # Errors
    /// `Derived` of anything else.
    pub(in crate::fs) fn item_target(&self, node: &Node) -> Result<ItemTarget, FsError> {
        let (table, key, form): (TableName, TargetKey, TextForm) = match node {
            Node::Entry(entry) if entry.source == base(&entry.source.table) => {
                let sort = entry.key.base.sort.clone().map(KeyPart::Value);
                let key = TargetKey { partition: KeyPart::Value(entry.key.base.partition.clone()), sort };
                (entry.source.table.clone(), key, entry.form)
            }
            Node::Alias(alias) => (alias.table.clone(), alias.key.clone(), alias.form),
            _ => return Err(FsError::Derived),
        };
        let key_schema = self.tree.schema(&table)?.key.clone();
        Ok(ItemTarget { table, key_schema, key, form, strict_keys: self.tree.options.strict_keys })
    }
}

fn logged(reply: Reply<()>, path: String) -> Reply<()> {
    Box::new(move |ended| {
        if let Err(error) = &ended {
            log::warn!("{path}: text left at the last close was not stored: {error}");
        }
        reply(ended);
    })
}
