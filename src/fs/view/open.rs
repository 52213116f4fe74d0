//! open, create, read, write, flush, fsync, release, and the size of setattr.

use std::sync::mpsc::sync_channel;

use super::{NewAttr, View};
use crate::fs::open::prelude::*;
use crate::fs::open::special::logged;
use crate::fs::open::text::Call;
use crate::fs::path::names::split_suffix;
use crate::fs::path::scratch_name::{is_refused_probe, is_schema_scratch_name, is_scratch_name};
use crate::fs::process::may_hold_open;
use crate::fs::source::entry::{item_number, key_of};
use crate::fs::source::{entry, scratch};
use crate::fs::special::{dropped, schema};
use crate::fs::tree;
use crate::fs::write::TEXT_BYTES_MAX;
use crate::fs::write::draft::Draft;
use crate::fs::{
    mount::text::Text,
    open::{
        room::{open_text, room},
        text::run,
    },
    process::{process_of, same_process},
    write::{FileId, ItemTarget, ItemWriter, Opener},
};

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
    pub fn open(self: &Arc<Self>, caller: Caller, ino: u64, flags: OpenFlags) -> Result<u64, FsError> {
        let node = self.node(ino)?;
        let _opening = self.handles.opening(ino);
        let opened =
            if flags.write { self.open_for_writing(caller, &node, flags) } else { self.open_for_reading(caller, &node, flags) };
        let opened = opened.map_err(|error| self.gone_or(ino, error));
        if matches!(opened, Err(FsError::Stale)) {
            // No failure: the kernel looks the name up again, and calls again.
            return Err(FsError::Stale);
        }
        let opened = opened.and_then(|handle| self.handles.insert(handle, ino, caller, now_ms()));
        self.noted_at(caller, "open", || self.mount.path(&node), opened)
    }

    fn open_for_reading(self: &Arc<Self>, caller: Caller, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        match node {
            node if node.is_computed() => self.open_computed(node),
            Node::Scratch(id) => scratch::open(&self.mount, *id, false),
            Node::Special(special) => self.open_special(caller, special, flags),
            Node::Entry(entry) if entry.source.index.is_none() => {
                self.kernel_cache.name_readers.looks(caller.pid);
                let (text, stat) = entry::counted_text(&self.mount, entry)?;
                let text = Text::new(text, &self.mount.budget)?;
                self.read_item(caller.pid, entry, stat.version, &text);
                Ok(Handle::Text(text))
            }
            _ => Ok(Handle::Text(Text::new(tree::text(&self.mount, node, caller)?, &self.mount.budget)?)),
        }
    }

    fn open_for_writing(self: &Arc<Self>, caller: Caller, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        self.may_change(node)?;
        self.opens(caller, node, node.ino());
        match self.open_writer(caller, node, flags) {
            Err(FsError::Derived) if node.table().is_some_and(|table| self.mount.restores(table)) => Ok(dropped::sink()),
            opened => opened,
        }
    }

    fn open_writer(self: &Arc<Self>, caller: Caller, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        match node {
            Node::Entry(entry) if entry.source.index.is_none() => self.open_item(caller, node, entry, flags),
            Node::Alias(_) => self.create_item(caller, node, flags),
            Node::Schema(source) if source.index.is_none() => self.open_schema(caller, node, &source.table, flags),
            Node::Scratch(id) => scratch::open(&self.mount, *id, flags.truncate),
            Node::Special(special) => self.open_special(caller, special, flags),
            directory if directory.kind() == Kind::Directory => Err(FsError::IsDirectory),
            _ => Err(FsError::Derived),
        }
    }

    /// An item that may be stored, or be being created.
    fn open_item(&self, caller: Caller, node: &Node, entry: &EntryNode, flags: OpenFlags) -> Result<Handle, FsError> {
        if flags.truncate {
            let stored = entry::stat(&self.mount, &entry.source, &entry.key);
            return match stored {
                Ok(_) => Ok(Handle::Item(self.item_handle(caller, node, flags, ItemWriter::stream)?)),
                Err(FsError::NotFound) => self.create_again(caller, node, flags),
                Err(error) => Err(error),
            };
        }
        match entry::text(&self.mount, entry) {
            Ok((_, stat)) if self.creations.is_empty(node.ino(), stat.version) => {
                let made = |target, opener| ItemWriter::stream_made(target, opener, stat.version);
                Ok(Handle::Item(self.item_handle(caller, node, flags, made)?))
            }
            Ok((text, stat)) => {
                let unchanged = (!self.mount.options.last_writer_wins).then_some(Precondition::Version(stat.version));
                if unchanged.is_some() {
                    self.keep_text(stat.version, entry.form, &text);
                }
                let edit = |target, opener| ItemWriter::edit(target, text, unchanged, opener);
                Ok(Handle::Item(self.item_handle(caller, node, flags, edit)?))
            }
            Err(FsError::NotFound) => self.create_again(caller, node, flags),
            Err(error) => Err(error),
        }
    }

    /// An item that is being created. One that is gone since the name was looked up is not: who wants a new one then asks for it.
    fn create_again(&self, caller: Caller, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        self.creations.get(node.ino()).ok_or(FsError::Stale)?;
        self.create_item(caller, node, flags)
    }

    /// An item that is not stored, for O_EXCL: it is from now on. Later, with its text, where the name does not say the key, where an item
    /// that was renamed away has it still, and where a backup is restored: who writes there has no rivals.
    fn create_exclusive(self: &Arc<Self>, caller: Caller, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        let target = entry::target(&self.mount, node)?;
        let is_hidden = |key| self.mount.with_deferred(|deferred| deferred.hidden_version(&(target.table.clone(), key)).is_some());
        if key_of(&target).is_none_or(|key| self.mount.restores(&target.table) || (self.mount.hides_any() && is_hidden(key))) {
            return self.create_item(caller, node, flags);
        }
        let version = self.make_exclusive(caller, &target)?;
        self.creations.made_empty(node.ino(), version);
        let made = |target, opener| ItemWriter::stream_made(target, opener, version);
        Ok(Handle::Item(self.item_handle(caller, node, flags, made)?))
    }

    /// An item that is not stored.
    fn create_item(&self, caller: Caller, node: &Node, flags: OpenFlags) -> Result<Handle, FsError> {
        let writer = if flags.exclusive { ItemWriter::stream_exclusive } else { ItemWriter::stream };
        let open = self.item_handle(caller, node, flags, writer)?;
        // By the inode number, not by the handle: a second open of the name finds the file that is being made.
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
        let target = entry::target(&self.mount, node)?;
        let writer = writer(target, Opener { pid: caller.pid, append: flags.append });
        Ok(Arc::new(OpenText::new(node.ino(), self.mount.path(node), caller.pid, writer)))
    }

    fn open_schema(&self, caller: Caller, node: &Node, table: &TableName, flags: OpenFlags) -> Result<Handle, FsError> {
        let target = schema::target(&self.mount, table)?;
        let text = if flags.truncate { None } else { tree::text(&self.mount, node, caller).ok() };
        Ok(open_text((node.ino(), self.mount.path(node)), caller, flags, target, text))
    }

    fn open_special(self: &Arc<Self>, caller: Caller, special: &SpecialNode, flags: OpenFlags) -> Result<Handle, FsError> {
        let (room, host) = (room(special)?, self.host());
        match (special.kind, flags.write) {
            (Kind::Directory, _) => Err(FsError::IsDirectory),
            (_, true) => room.open_writer(special, &host, caller, flags),
            (_, false) => room.open_reader(special, &host, caller),
        }
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
            let handle = self.handles.insert(handle, attr.ino, caller, now_ms())?;
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
        self.may_change(parent)?;
        // Nothing is made in a directory that is gone: the kernel may believe in it a little longer.
        self.attr_of(parent, caller)?;
        let resolved = tree::resolve(&self.mount, parent, name);
        let is_new = resolved.is_err();
        let node = match resolved {
            Err(FsError::NotFound) => match self.create_scratch(parent, name, mode) {
                Ok(id) => Node::Scratch(id),
                Err(error) => self.create_dropped(parent, name, error)?,
            },
            Ok(Node::Collection(Source { index: None, .. }, _) | Node::AliasFolder(_)) => {
                return Err(FsError::NotPermitted("items of this table are in folders, items/<partition key>/<sort key>.json"));
            }
            Ok(Node::Collection(..)) => return Err(FsError::Derived),
            Ok(Node::Table(_)) => return Err(FsError::NotPermitted("here are only tables; mkdir makes one")),
            node => node?,
        };
        let exists = !is_new && self.attr_of(&node, caller).is_ok() && !self.is_gone_for(caller, &node);
        // Whatever comes of the call, the process has made the name: what it unlinked, or insists on making, is there for it
        // again.
        self.made_anew(node.ino());
        if flags.exclusive
            && let Node::Schema(Source { table, index: None }) = &node
        {
            self.mount.in_progress.insists(table, process_of(caller.pid));
        }
        if exists && flags.exclusive {
            return Err(FsError::Exists);
        }
        // tar makes a file in the place of a link, for the while.
        let node = match std::str::from_utf8(name) {
            Ok(name)
                if node.kind() == Kind::Symlink && !exists && parent.table().is_some_and(|table| self.mount.restores(table)) =>
            {
                dropped::make(&self.mount, parent, name, Kind::File)
            }
            _ => node,
        };
        let flags = OpenFlags { write: true, truncate: flags.truncate || !exists, ..flags };
        let handle = match &node {
            Node::Entry(entry) if !exists && entry.source.index.is_none() => {
                self.opens(caller, &node, node.ino());
                if flags.exclusive { self.create_exclusive(caller, &node, flags)? } else { self.create_item(caller, &node, flags)? }
            }
            node => self.open_for_writing(caller, node, flags)?,
        };
        if let (false, Handle::Special(open)) = (exists, &handle) {
            // Before the attributes are asked for: until the first complete text these are all there is of it.
            self.creations.add_special(node.ino(), Arc::clone(open));
        }
        let attr = match self.attr_of(&node, caller) {
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
    pub fn mknod(self: &Arc<Self>, caller: Caller, parent: u64, name: &[u8], mode: u32) -> Result<Attr, FsError> {
        let flags = OpenFlags { write: true, exclusive: true, ..OpenFlags::default() };
        let parent = self.node(parent)?;
        let (attr, handle) = self.noted(caller, "mknod", &parent, name, self.create_in(caller, &parent, name, mode, flags))?;
        match handle {
            Handle::Item(open) if self.creations.is_untouched(&open) => {
                let (sender, made) = sync_channel(1);
                self.make_untouched(caller, &open, Box::new(move |ended| drop(sender.send(ended))));
                made.recv().map_err(|_| FsError::Internal)??;
            }
            Handle::Item(_) => {}
            Handle::Scratch(id) => self.mount.scratch.lock().release(id, now_ms()),
            Handle::Special(open) => self.creations.remove_special(&open),
            Handle::Text(_) | Handle::Computed(_) | Handle::Directory(_) => {}
        }
        Ok(attr)
    }

    /// A file that is forgotten, where the mount restores and there can be none.
    fn create_dropped(&self, parent: &Node, name: &[u8], error: FsError) -> Result<Node, FsError> {
        match (std::str::from_utf8(name), &error) {
            (Ok(name), FsError::Derived | FsError::NotPermitted(_)) if self.mount.restores_in(parent) => {
                Ok(dropped::make(&self.mount, parent, name, Kind::File))
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
            Node::Items(Source { index: None, .. }) | Node::Collection(Source { index: None, .. }, _) | Node::AliasFolder(_) => {
                if split_suffix(name).is_some() {
                    return Err(FsError::Invalid(super::NO_KEY));
                }
                if !is_scratch_name(name) {
                    return Err(FsError::Unsupported("an item's file is its key and .json; no other file has such a name"));
                }
                self.mount.create_scratch(parent, name, mode, now_ms())
            }
            Node::Table(_) if is_schema_scratch_name(name) => self.mount.create_scratch(parent, name, mode, now_ms()),
            Node::DraftFolder(..) => Err(Draft::file_refused()),
            Node::Table(table) if self.mount.is_draft(table)? => Err(Draft::file_refused()),
            Node::Root | Node::Table(_) => Err(FsError::NotPermitted("files of data are below items/")),
            Node::Special(special) => Err(room(special)?.create_refused()),
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
            let path = || node.map_or_else(String::new, |node| self.mount.path(&node));
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
            Handle::Special(open) => Arc::clone(open).read(&self.host(), caller, offset, size, reply),
            Handle::Computed(_) => self.read_computed(caller, handle, (offset, size), reply),
            _ => reply(self.read_now(caller, &handle, offset, size)),
        }
    }

    fn read_now(&self, caller: Caller, handle: &Arc<Handle>, offset: u64, size: usize) -> Result<Bytes, FsError> {
        let bytes = match &**handle {
            Handle::Text(text) => return Ok(Bytes::of_text(text, offset, size)),
            Handle::Item(open) => self.read_text(caller, open, offset, size),
            Handle::Scratch(id) => self.mount.scratch.lock().read(*id, offset, size, now_ms())?,
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
        // Before the text is copied: what is refused must not have been held for a moment.
        let reserved = self.handles.reserve(number, data.len());
        let Some(reply) = self.reserving(caller, (number, "write"), reserved, reply) else { return };
        match &*handle {
            Handle::Item(open) => {
                let reply = self.keeping_whole(open, reply);
                let caller = if is_of_plain_text(open) { caller } else { caller.waiting(WaitPolicy::Short) };
                run(self, caller, open, Call::Write { offset, data: data.to_vec() }, reply);
            }
            Handle::Special(open) => {
                let caller = caller.waiting(WaitPolicy::Short);
                Arc::clone(open).call(&self.host(), caller, Call::Write { offset, data: data.to_vec() }, reply);
            }
            Handle::Scratch(id) => {
                let written = self.mount.scratch.lock().write(*id, offset, data, now_ms());
                reply(self.noted_at(caller, "write", || self.mount.path(&Node::Scratch(*id)), written));
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
            // Not so before the first write of `echo >`, which has it open as another number then.
            Handle::Item(open)
                if call.is_flush()
                    && self.creations.is_untouched(open)
                    && same_process(open.opener, caller.pid)
                    && !may_hold_open(caller.pid, open.ino) =>
            {
                self.make_untouched(caller, open, reply);
            }
            Handle::Item(open) => run(self, caller, open, call, reply),
            Handle::Special(open) => Arc::clone(open).call(&self.host(), caller, call, reply),
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
                let done: Reply<()> = Box::new(move |ended| {
                    if ended.is_ok() && view.creations.is_untouched(&again) {
                        return view.make_untouched(caller, &again, reply);
                    }
                    view.creations.remove(&again);
                    reply(ended);
                });
                run(self, caller, open, Call::Release, done);
            }
            Handle::Special(open) => {
                self.creations.remove_special(open);
                Arc::clone(open).call(&self.host(), caller, Call::Release, reply);
            }
            Handle::Scratch(id) => {
                self.mount.scratch.lock().release(*id, now_ms());
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
        if let Err(error) = self.noted_at(caller, "setattr", || self.mount.path(&node), self.may_change(&node)) {
            return reply(Err(error));
        }
        if let Node::Scratch(id) = &*node {
            let set = self.set_scratch_attr(*id, new);
            let set = self.noted_at(caller, "setattr", || self.mount.path(&node), set);
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
                Handle::Item(open) => run(self, caller, open, Call::Truncate(size), answer),
                Handle::Special(open) => Arc::clone(open).call(&self.host(), caller, Call::Truncate(size), answer),
                Handle::Scratch(id) => answer(self.set_scratch_attr(*id, new)),
                _ => answer(Err(FsError::BadHandle)),
            },
            (Some(_), None) if self.is_derived(&node) => answer(Err(FsError::Derived)),
            // A truncated item would be no item; the writer that follows opens it itself.
            (Some(0), None) => answer(Ok(())),
            (Some(_), None) => answer(Err(FsError::Invalid("an item has the size of its text; write it as a whole"))),
            (None, _) => match self.creations.get(ino).filter(|open| self.creations.is_untouched(open)) {
                Some(open) if new.touched || new.modified_ms.is_some() => self.make_untouched(caller, &open, answer),
                _ => answer(Ok(())),
            },
        }
    }

    fn is_derived(&self, node: &Node) -> bool {
        match node {
            Node::Entry(entry) => entry.source.index.is_some(),
            Node::Schema(source) => source.index.is_some(),
            Node::Alias(_) => false,
            Node::Special(special) => !special.is_writable,
            _ => true,
        }
    }

    fn set_scratch_attr(&self, id: FileId, new: NewAttr) -> Result<(), FsError> {
        let mut scratch = self.mount.scratch.lock();
        if let Some(size) = new.size {
            scratch.truncate(id, size, now_ms())?;
        }
        let modified_ms = if new.touched { Some(now_ms()) } else { new.modified_ms };
        scratch.set_attributes(id, new.mode, modified_ms)
    }
}

/// Is this the plain text of an item whose name says its key? Then its inode is the one whose attributes the item's are.
fn is_of_plain_text(open: &OpenText<ItemTarget>) -> bool {
    let state = open.state.lock();
    let target = state.writer.target();
    target.form == TextForm::PlainJson && key_of(target).is_some()
}
