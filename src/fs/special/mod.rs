//! Files and directories beside tables, items and queries, each defined in one source file: what it says, what may be done to it.
//!
//! A directory's `resolve` makes a [`SpecialNode`] of a [`Special`]; nothing else needs to know of it. Most are there for lookup only
//! (docs/filesystem.md 0): they are in no listing. A file that takes more than one read or write answers [`Special::open`] with an
//! [`OpenSpecial`].

pub mod about;
pub mod absence;
pub mod advice;
pub mod api;
pub mod batch;
pub mod calls;
pub mod control;
pub mod describe;
pub mod dropped;
pub mod heat;
pub mod help;
pub mod index_draft;
pub mod item;
pub mod last;
pub mod metrics;
pub mod mount_control;
pub mod parked;
pub mod partitions;
pub mod plan;
pub mod queries;
pub mod scratch;
pub mod service;
pub mod state;
pub mod stream;
pub mod texts;
pub mod ttl;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::FsError;
use super::attr::Attr;
use super::computed::Producer;
use super::directory_stream::Lister;
use super::handle::{Handle, OpenText, Text};
use super::node::{Kind, Node};
use super::tree::{Caller, Tree};
use super::view::{Bytes, Call, OpenFlags, Performer, Reply, View};
use crate::model::TableName;
use crate::model::api::parked::ParkedPlace;

/// What answering calls on a file takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A bounded number of records: it is done at once.
    Small,
    /// As many as a table has: it is done on a thread for long work. The text changes with commits only.
    Table,
    /// The same, and it is another at each moment.
    TableNow,
}

/// A file, directory or symlink of its own kind. It holds what it names, and no state.
pub trait Special: fmt::Debug + Send + Sync {
    /// Filesystem path below the mount.
    fn path(&self) -> &str;

    /// What it is told from others by: what has another of these has another inode number, even under the same path.
    fn identity(&self) -> &str {
        self.path()
    }

    /// The directory it is in.
    fn parent(&self) -> Node;

    /// Where it is parked, if it is a parked file.
    fn parked(&self) -> Option<&ParkedPlace> {
        None
    }

    /// The table it belongs to.
    fn table(&self) -> Option<&TableName> {
        None
    }

    fn kind(&self) -> Kind {
        Kind::File
    }

    /// May it be written? Of a file.
    fn is_writable(&self) -> bool {
        false
    }

    /// Is it a file whose bytes are made when somebody wants them? Then it has a [`Special::producer`] and no text.
    fn is_computed(&self) -> bool {
        false
    }

    /// What makes its bytes.
    ///
    /// # Errors
    /// Gone, or it is not computed.
    fn producer(&self, _tree: &Tree) -> Result<Box<dyn Producer>, FsError> {
        Err(FsError::BadHandle)
    }

    /// May its reads wait for what has not happened yet? Then they are not slow.
    fn waits(&self) -> bool {
        false
    }

    /// How much is read for its attributes and its text.
    fn effort(&self) -> Effort {
        Effort::Small
    }

    /// Milliseconds since the epoch: when its table was made, or of what belongs to no table when this mount began.
    ///
    /// # Errors
    /// What it stands for is gone.
    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        self.table().map_or(Ok(tree.started_ms), |table| tree.table_time(table))
    }

    /// Attributes; the size is that of the text.
    ///
    /// # Errors
    /// `NotFound` when it is not there.
    fn attr(&self, tree: &Tree, caller: Caller, ino: u64) -> Result<Attr, FsError> {
        let modified_ms = self.modified_ms(tree)?;
        match self.kind() {
            Kind::Directory => Ok(Attr::directory(ino, modified_ms)),
            Kind::Symlink => Ok(Attr::symlink(ino, &self.link_target(tree)?, modified_ms)),
            Kind::File => {
                let size = match self.effort() {
                    _ if self.is_computed() => 0,
                    Effort::Small => self.text(tree, caller)?.len() as u64,
                    Effort::Table | Effort::TableNow => self.made(tree, caller)?.bytes.len() as u64,
                };
                Ok(Attr { writable: self.is_writable(), ..Attr::read_only(ino, size, modified_ms) })
            }
        }
    }

    /// What a name means in this directory, whether or not it exists.
    ///
    /// # Errors
    /// `NotFound` when the name can mean nothing here.
    fn resolve(&self, _tree: &Tree, _name: &str) -> Result<Node, FsError> {
        Err(FsError::NotDirectory)
    }

    /// What this directory lists.
    ///
    /// # Errors
    /// Not a directory, or gone.
    fn lister(&self, _tree: &Tree) -> Result<Box<dyn Lister>, FsError> {
        Err(FsError::NotDirectory)
    }

    /// What this file says.
    ///
    /// # Errors
    /// Not a file, or gone.
    fn text(&self, _tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Err(if self.kind() == Kind::Directory { FsError::IsDirectory } else { FsError::BadHandle })
    }

    /// Where this symlink points.
    ///
    /// # Errors
    /// Not a symlink, or gone.
    fn link_target(&self, _tree: &Tree) -> Result<String, FsError> {
        Err(FsError::Invalid("not a symbolic link"))
    }

    /// OPEN and CREATE.
    ///
    /// # Errors
    /// Gone, or written where nothing can be.
    fn open(&self, view: &Arc<View>, caller: Caller, ino: u64, flags: OpenFlags) -> Result<Handle, FsError> {
        match (self.kind(), flags.write) {
            (Kind::Directory, _) => Err(FsError::IsDirectory),
            (_, true) => self.open_for_writing(view, caller, ino, flags),
            (_, false) => self.open_for_reading(view, caller),
        }
    }

    /// OPEN of a reader, who gets the text as it is now.
    ///
    /// # Errors
    /// Gone.
    fn open_for_reading(&self, view: &Arc<View>, caller: Caller) -> Result<Handle, FsError> {
        Ok(Handle::Text(self.made(view.tree(), caller)?))
    }

    /// What this file says, counted. A text that reads a table is made once for all who ask.
    ///
    /// # Errors
    /// Those of [`Special::text`]; `TooManyOpen`.
    fn made(&self, tree: &Tree, caller: Caller) -> Result<Arc<Text>, FsError> {
        let make = || Text::new(self.text(tree, caller)?, &tree.budget);
        match self.effort() {
            Effort::Small | Effort::TableNow => make(),
            Effort::Table => tree.service.texts.get(self.identity(), || tree.db.commit_id(), make),
        }
    }

    /// OPEN of a writer, and CREATE.
    ///
    /// # Errors
    /// Gone, or it cannot be written.
    fn open_for_writing(&self, _view: &Arc<View>, _caller: Caller, _ino: u64, _flags: OpenFlags) -> Result<Handle, FsError> {
        Err(FsError::Derived)
    }

    /// UNLINK.
    fn unlink(&self, _view: &Arc<View>, _caller: Caller, reply: Reply<()>) {
        reply(Err(if self.kind() == Kind::Directory { FsError::IsDirectory } else { FsError::Derived }));
    }

    /// MKDIR in this directory.
    ///
    /// # Errors
    /// None can be made.
    fn mkdir(&self, _view: &View, _caller: Caller, _name: &str) -> Result<Node, FsError> {
        Err(FsError::Derived)
    }

    /// RMDIR.
    ///
    /// # Errors
    /// Not a directory, or part of the tree.
    fn rmdir(&self, _view: &View, _caller: Caller) -> Result<(), FsError> {
        Err(if self.kind() == Kind::Directory { FsError::Derived } else { FsError::NotDirectory })
    }

    /// The answer to a file created in this directory under a name that means nothing here.
    fn create_refused(&self) -> FsError {
        FsError::Derived
    }

    /// SYMLINK in this directory.
    ///
    /// # Errors
    /// None can be made.
    fn symlink(&self, _view: &View, _name: &str, _target: &str) -> Result<Node, FsError> {
        Err(FsError::NotPermitted("links are made in queries/ of a table: ln -s '../query/@pk=u1' queries/u1"))
    }

    /// RENAME of this file within its directory.
    ///
    /// # Errors
    /// It keeps its name.
    fn rename(&self, _view: &View, _name: &str, _replace: bool) -> Result<(), FsError> {
        Err(FsError::Derived)
    }

    /// A size set without a handle, as `truncate` does.
    ///
    /// # Errors
    /// It is not written.
    fn truncate(&self, _size: u64) -> Result<(), FsError> {
        if self.is_writable() { Ok(()) } else { Err(FsError::Derived) }
    }
}

/// A [`Special`] as a node: equal when the identities are.
#[derive(Debug, Clone)]
pub struct SpecialNode(pub Arc<dyn Special>);

impl SpecialNode {
    /// The node of a special file or directory.
    pub fn node(special: impl Special + 'static) -> Node {
        Node::Special(Self(Arc::new(special)))
    }
}

impl PartialEq for SpecialNode {
    fn eq(&self, other: &Self) -> bool {
        self.0.identity() == other.0.identity()
    }
}

impl Eq for SpecialNode {}

impl Hash for SpecialNode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.identity().hash(state);
    }
}

/// An open special file. Every call is answered through its reply, now or later, from any thread.
pub trait OpenSpecial: fmt::Debug + Send + Sync {
    /// READ: the bytes at `offset`, fewer than `size` only at the end.
    fn read(self: Arc<Self>, _view: &Arc<View>, _caller: Caller, _offset: u64, _size: usize, reply: Reply<Bytes>) {
        reply(Ok(Bytes::own(Vec::new())));
    }

    /// WRITE: all of `data`, or an error.
    fn write(self: Arc<Self>, _view: &Arc<View>, _caller: Caller, _offset: u64, _data: &[u8], reply: Reply<()>) {
        reply(Err(FsError::BadHandle));
    }

    /// SETATTR of the size through this handle.
    fn truncate(self: Arc<Self>, _view: &Arc<View>, _caller: Caller, _size: u64, reply: Reply<()>) {
        reply(Ok(()));
    }

    /// FLUSH: a descriptor is closed.
    fn flush(self: Arc<Self>, _view: &Arc<View>, _caller: Caller, reply: Reply<()>) {
        reply(Ok(()));
    }

    /// FSYNC.
    fn fsync(self: Arc<Self>, _view: &Arc<View>, _caller: Caller, reply: Reply<()>) {
        reply(Ok(()));
    }

    /// RELEASE: nobody hears of a failure but the log.
    fn release(self: Arc<Self>, _view: &Arc<View>, _caller: Caller, reply: Reply<()>) {
        reply(Ok(()));
    }

    /// Bytes, as this handle sees the file; `None` is as everybody sees it.
    fn size(&self) -> Option<u64> {
        None
    }

    /// Bytes of memory that it holds until it is closed: asked after each call. `None` while a call makes it hold more.
    fn held_bytes(&self) -> Option<usize> {
        Some(0)
    }

    /// Does a read make it hold more?
    fn reads_ahead(&self) -> bool {
        false
    }
}

/// A JSON object that is written: the write state machine of [`crate::fs::write`].
impl<T: Performer + fmt::Debug + Sync> OpenSpecial for OpenText<T>
where
    T::Request: Send,
{
    fn read(self: Arc<Self>, _view: &Arc<View>, _caller: Caller, offset: u64, size: usize, reply: Reply<Bytes>) {
        let bytes = self.state.lock().writer.read(offset, size).to_vec();
        reply(Ok(Bytes::own(bytes)));
    }

    fn write(self: Arc<Self>, view: &Arc<View>, caller: Caller, offset: u64, data: &[u8], reply: Reply<()>) {
        view.run(caller, &self, Call::Write { offset, data: data.to_vec() }, reply);
    }

    fn truncate(self: Arc<Self>, view: &Arc<View>, caller: Caller, size: u64, reply: Reply<()>) {
        view.run(caller, &self, Call::Truncate(size), reply);
    }

    fn flush(self: Arc<Self>, view: &Arc<View>, caller: Caller, reply: Reply<()>) {
        view.run(caller, &self, Call::Flush, reply);
    }

    fn fsync(self: Arc<Self>, view: &Arc<View>, caller: Caller, reply: Reply<()>) {
        view.run(caller, &self, Call::Fsync, reply);
    }

    fn release(self: Arc<Self>, view: &Arc<View>, caller: Caller, reply: Reply<()>) {
        let path = self.path.clone();
        let logged: Reply<()> = Box::new(move |ended| {
            if let Err(error) = &ended {
                log::warn!("{path}: text left at the last close was not stored: {error}");
            }
            reply(ended);
        });
        view.run(caller, &self, Call::Release, logged);
    }

    fn size(&self) -> Option<u64> {
        Some(self.state.lock().writer.len() as u64)
    }

    fn held_bytes(&self) -> Option<usize> {
        Some(Self::held_bytes(self))
    }
}
