//! Listings: OPENDIR, READDIR, READDIRPLUS, RELEASEDIR.
//!
//! READDIRPLUS returns the attributes of items, from the same walk that lists their names. Where
//! the kernel may cache nothing, or the program does not look at attributes
//! ([`super::kernel_cache`]), it returns as little as it can (the dots, or one name) and the kernel
//! goes on by READDIR: the kernel asks again for attributes that last for no time, and makes a node
//! of each.

use super::View;
use crate::fs::{
    open::{
        directory::{DirectoryStream, FixedLister, Lister, MakeLister},
        found::{Entry, Items, ListedItem},
        host::noted,
        prelude::*,
    },
    process::{has_signal, process_of},
    source::entry,
    tree,
};

/// The number of items of a READDIRPLUS that are marked before it is checked that the attributes
/// read of them still hold.
const MARKED_AT_ONCE: usize = 32;

/// A callback that gets a name, its offset and its attributes. Returns true if the reply is full,
/// and does not have this name.
pub type EmitPlus<'e> = dyn FnMut(&str, u64, &Attr) -> bool + 'e;

impl View {
    /// Opens a directory and returns the number of its handle.
    ///
    /// # Errors
    /// The node is no directory, or is gone.
    pub fn opendir(&self, ino: u64) -> Result<u64> {
        let caller = self.caller();
        let node = self.node(ino)?;
        self.attr_of(&node)
            .map_err(|error| self.gone_or(ino, error))?;
        // Each name in it would be one more line of names that `rm -r` failed to remove.
        if let Some(table) = node
            .table()
            .filter(|table| *node != Node::Table(TableName::clone(table)))
        {
            self.host.rm_guard.may_delete(table, self.mount())?;
        }
        // A process that has listed a table has seen what it holds: the rules for copies that are being
        // made no longer hide parts from it.
        if let Node::Table(table) = &*node
            && self.mount().in_progress.any(now_ms())
        {
            self.mount()
                .in_progress
                .listed(table, process_of(caller.pid));
        }
        let dots = self.mount().dots(&node);
        // A query may read its whole table to find a few names: each READDIR of it has a thread of
        // its own.
        let is_slow = matches!(*node, Node::Query(_));
        let stream = DirectoryStream::new(dots, self.make_lister(&node))
            .slow(is_slow)
            .of(node);
        self.handles.insert(
            Handle::Directory(Box::new(Mutex::new(stream))),
            ino,
            caller,
            now_ms(),
        )
    }

    fn make_lister(&self, node: &Arc<Node>) -> MakeLister {
        let (is_emptied, node) = (
            self.host.rm_guard.is_emptied_for(self.mount(), node),
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
        let now = self
            .handles
            .ino(handle)
            .and_then(|ino| self.inodes.get(ino));
        if let Some(now) = now.filter(|now| stream.is_of_another(now)) {
            stream.renamed(self.make_lister(&now), now);
        }
    }

    /// Runs a READDIR: on a thread of its own if the directory lists a query, which may read a
    /// whole table, or if another call of the handle is under way.
    pub fn run_listing(&self, handle: u64, work: impl FnOnce() + Send + 'static) {
        let is_slow = match self.handles.get(handle).as_deref() {
            Some(Handle::Directory(stream)) => {
                // A stream that another call holds would block an event thread.
                stream.try_lock().is_none_or(|stream| stream.is_slow())
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
        emit: &mut dyn FnMut(Entry<'_>, u64) -> bool,
    ) -> Result<()> {
        let caller = self.caller();
        self.with_stream(handle, offset, |stream| {
            if stream.want_items(false) {
                self.kernel_cache.name_readers.reads_names(caller.pid);
            }
            let emit = &mut |entry: Entry<'_>, offset| {
                emit(
                    Entry {
                        ino: self.number(entry.ino, entry.kind),
                        ..entry
                    },
                    offset,
                )
            };
            stream.read(
                self.mount(),
                offset,
                &|| has_signal(caller.pid) != Some(true),
                emit,
            )
        })
    }

    /// Gives the entries of the directory `ino` as [`View::readdir`] does, with attributes. Each
    /// name that is given, but for the dots, counts a lookup.
    ///
    /// # Errors
    /// As of [`View::readdir`], before the first entry was given.
    pub fn readdirplus(
        &self,
        ino: u64,
        handle: u64,
        offset: u64,
        emit: &mut EmitPlus<'_>,
    ) -> Result<()> {
        let caller = self.caller();
        self.with_stream(handle, offset, |stream| {
            if offset > 0 {
                self.kernel_cache.name_readers.looks(caller.pid);
            }
            let cache = &self.kernel_cache;
            stream.want_items(cache.is_on() && !cache.name_readers.is_reader_of_names(caller.pid));
            let mut plus = Plus {
                view: self,
                ino,
                next: offset,
                has_given: false,
                emit,
            };
            match plus.list(stream, offset) {
                // The names that were given stand; the next call meets the error again.
                Err(_) if plus.has_given => Ok(()),
                listed => listed,
            }
        })
    }

    /// Returns the inode number that is shown for a node.
    fn number(&self, ino: u64, kind: Kind) -> u64 {
        if kind == Kind::Directory {
            self.inodes.number(ino)
        } else {
            ino
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
        noted(
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
        self.handles.settle(handle);
        noted(&self.host, "readdir", String::new, read)
    }
}

/// A READDIRPLUS that is being answered.
struct Plus<'p, 'e> {
    view: &'p View,
    /// The inode number of the directory.
    ino: u64,
    /// The offset up to which entries were given, or are gone.
    next: u64,
    has_given: bool,
    emit: &'p mut EmitPlus<'e>,
}

impl Plus<'_, '_> {
    fn list(&mut self, stream: &mut DirectoryStream, offset: u64) -> Result<()> {
        for (entry, after) in stream.begin(offset) {
            // The kernel takes only the names of the dots.
            if !self.give(
                entry.name,
                after,
                &Attr::directory(0).of(self.view.number(entry.ino, entry.kind)),
            ) {
                return Ok(());
            }
        }
        let (view, pid) = (self.view, self.view.caller().pid);
        let wanted = || has_signal(pid) != Some(true);
        while let Some((found, at)) = stream.after(view.mount(), self.next, &wanted)? {
            let is_full = match found.items() {
                Some(items) => self.give_items(
                    items,
                    &found
                        .items_from(items, at)
                        .take(MARKED_AT_ONCE)
                        .collect::<Vec<_>>(),
                )?,
                None => {
                    let next = found.from(at).zip(found.offsets().skip(at)).next();
                    self.has_given
                        || next.is_none_or(|((entry, _), after)| self.give_one(entry.name, after))
                }
            };
            if is_full {
                break;
            }
        }
        Ok(())
    }

    /// Gives the next entry. Returns false if there is no room for it.
    fn give(&mut self, name: &str, after: u64, attr: &Attr) -> bool {
        if (self.emit)(name, after, attr) {
            return false;
        }
        (self.next, self.has_given) = (after, true);
        true
    }

    /// Gives a name, unless it is gone. Returns true if it was given. The kernel asks for the
    /// attributes again before a program sees them: they lack a size that takes long.
    fn give_one(&mut self, name: &str, after: u64) -> bool {
        let Ok(attr) = self.found(name) else {
            self.next = after;
            return false;
        };
        if !self.give(name, after, &attr) {
            self.view.forget(attr.ino, 1);
        }
        true
    }

    fn found(&self, name: &str) -> Result<Attr> {
        let parent = self.view.node(self.ino)?;
        let node = tree::resolve(&self.view.mount(), &parent, name.as_bytes())?;
        let attr = self.view.attr_of(&node)?;
        self.view.remember(node, attr)
    }

    /// Gives listed items. Each is marked before it is checked that its attributes still hold.
    /// Items that are gone are left out, and the marks of items that are not given are taken back.
    /// Returns true if the reply is full.
    fn give_items(&mut self, items: &Items, listed: &[ListedItem<'_>]) -> Result<bool> {
        let view = self.view;
        view.kernel_cache.bound_known();
        let source = view.inodes.share(&items.source);
        let marked: Vec<_> = listed
            .iter()
            .map(|item| view.inodes.mark_item(item.entry.ino, &source, item.packed))
            .collect();
        // A hidden item is not gone yet, and no commit reports it.
        let holds = !view.mount().hides_any()
            && view
                .mount()
                .db
                .visible_commit_id()
                .is_ok_and(|commit| commit == items.commit);
        let (mut rest, mut is_full) = (listed.iter().zip(marked), Ok(false));
        for (item, marked) in rest.by_ref() {
            let given = if marked.is_some() {
                self.give_item(item, holds)
            } else {
                Ok(Given::Left)
            };
            if let (Some(ino), Err(_) | Ok(Given::Left | Given::Full)) = (marked, &given) {
                view.kernel_cache.unmark(ino);
            }
            match given {
                Ok(Given::Yes) => {}
                Ok(Given::Left) => self.next = item.offset,
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

    /// Gives an item that is marked, as it was listed if `holds`.
    fn give_item(&mut self, item: &ListedItem<'_>, holds: bool) -> Result<Given> {
        let (view, ino) = (self.view, item.entry.ino);
        let attr = match view.inodes.get(ino).as_deref() {
            _ if holds => Ok(Attr::entry(&item.stat, true).of(ino)),
            Some(Node::Entry(found)) => entry::attr(view.mount(), found).map(|attr| attr.of(ino)),
            _ => Err(FsError::NotFound),
        };
        let attr = match attr {
            Err(FsError::NotFound) => return Ok(Given::Left),
            attr => attr?,
        };
        let attr = Attr {
            lasts: view.kernel_cache.unmoved_lasting(view.caller(), &attr),
            ..attr
        };
        Ok(if self.give(item.entry.name, item.offset, &attr) {
            Given::Yes
        } else {
            Given::Full
        })
    }
}

/// The outcome of giving a name.
enum Given {
    Yes,
    /// The item is gone, or its inode number stands for another node.
    Left,
    /// There is no room for it.
    Full,
}
