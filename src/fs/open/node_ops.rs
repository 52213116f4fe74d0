//! The operations of a node, as Linux's `inode_operations` are those of an inode: one trait
//! ([`NodeOps`]), implemented once for each kind of node, in the file of that kind.
//!
//! An operation that a kind does not implement is refused as its default says. `fs::tree` maps each
//! kind to its implementor.

use std::ops::Deref;

use super::computed::Producer;
use super::directory::{FixedLister, Lister};
use super::dirent::OwnedDirent;
use super::handle::Handle;
use super::host::Host;
use super::open_text::OpenText;
use super::text::TextFile;
use super::{OpenFlags, Reply};
use crate::fs::{
    mount::{Mount, text_cache::FileText},
    node::{
        Node, NodeKind,
        attr::Attr,
        special::{Feature, FilePlace, ReadCost, Special, SpecialNode},
    },
    prelude::*,
    write::{Opener, TextWriter},
};
use crate::model::api::table_control::TrashKey;

impl<O: NodeOps + 'static> From<O> for Feature {
    fn from(ops: O) -> Self {
        Self::new(Box::new(ops) as Box<dyn NodeOps>)
    }
}

/// Returns the operations of a special file or directory.
pub fn node_ops(node: &Special) -> &dyn NodeOps {
    node.feature
        .get::<Box<dyn NodeOps>>()
        .map_or(&ForeignOps, |ops| &**ops)
}

/// The operations of a special node that carries something else: all of them fail.
struct ForeignOps;

impl NodeOps for ForeignOps {
    fn modified_ms(&self, _at: At<'_>) -> Result<u64> {
        Err(FsError::Internal)
    }
}

/// The facts about a node that take no read.
#[derive(Debug)]
pub struct NodeFacts<'n> {
    pub kind: NodeKind,
    pub table: Option<&'n TableName>,
    pub cost: ReadCost,
    pub is_writable: bool,
    /// The name under which a text that reads a table is shared.
    pub identity: &'n str,
}

/// A node as the operations of its kind see it: a [`SpecialNode`], or any other [`Node`].
pub trait NodeData {
    fn facts(&self) -> NodeFacts<'_>;
}

impl NodeData for Node {
    fn facts(&self) -> NodeFacts<'_> {
        NodeFacts {
            kind: self.kind(),
            table: self.table(),
            cost: self.read_cost(),
            is_writable: self.is_writable(),
            identity: "",
        }
    }
}

impl NodeData for SpecialNode {
    fn facts(&self) -> NodeFacts<'_> {
        NodeFacts {
            kind: self.kind,
            table: self.table(),
            cost: self.cost,
            is_writable: self.is_writable,
            identity: self.identity(),
        }
    }
}

/// A node that a call is about, and the mount, or the host of a call that changes something.
#[derive(Debug)]
pub struct At<'a, N = SpecialNode, C = Mount> {
    pub node: &'a N,
    pub context: &'a C,
}

/// A node that a call changes or opens, and the host.
pub type HostAt<'a, N = SpecialNode> = At<'a, N, Host>;

impl<'a, N, C> At<'a, N, C> {
    pub fn new(node: &'a N, context: &'a C) -> Self {
        Self { node, context }
    }
}

impl<N, C> Clone for At<'_, N, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N, C> Copy for At<'_, N, C> {}

impl<N, C> Deref for At<'_, N, C> {
    type Target = C;

    fn deref(&self) -> &C {
        self.context
    }
}

/// The operations of one kind of node; an implementor has no state.
pub trait NodeOps<N: NodeData = SpecialNode>: Send + Sync {
    /// Returns the time of the last change, in milliseconds since the epoch. By default this is the
    /// time at which the table was made, and for a node without a table the time at which the mount
    /// began.
    ///
    /// # Errors
    /// `NotFound` if the node does not exist.
    fn modified_ms(&self, at: At<'_, N>) -> Result<u64> {
        at.node
            .facts()
            .table
            .map_or(Ok(at.started_ms), |table| at.table_created_ms(table))
    }

    /// Returns the attributes, without the inode number. The size of a file is that of its text.
    ///
    /// # Errors
    /// `NotFound` if the node does not exist.
    fn attr(&self, at: At<'_, N>) -> Result<Attr> {
        let modified_ms = self.modified_ms(at)?;
        let facts = at.node.facts();
        match facts.kind {
            NodeKind::Directory => Ok(Attr::directory(modified_ms)),
            NodeKind::Symlink => Ok(Attr::symlink(&self.link_target(at)?, modified_ms)),
            NodeKind::File => {
                let size = match facts.cost {
                    ReadCost::Blocking | ReadCost::Computed => 0,
                    ReadCost::Bounded => self.text(at)?.len() as u64,
                    ReadCost::Table | ReadCost::TableLive => {
                        self.shared_text(at)?.bytes.len() as u64
                    }
                };
                Ok(Attr {
                    writable: facts.is_writable,
                    ..Attr::read_only(size, modified_ms)
                })
            }
        }
    }

    /// Returns the node that this directory has become: a process that is in it goes on there.
    ///
    /// # Errors
    /// `NotFound` if the node does not exist.
    fn successor(&self, _at: At<'_, N>) -> Result<Option<Node>> {
        Ok(None)
    }

    /// Returns the node that a name in this directory stands for, whether or not that node exists.
    ///
    /// # Errors
    /// `NotFound` if the name can stand for nothing here.
    fn resolve(&self, _at: At<'_, N>, _name: &str) -> Result<Node> {
        Err(FsError::NotDirectory)
    }

    /// Returns the names that this directory lists.
    ///
    /// # Errors
    /// `NotDirectory`, or `NotFound` if the node does not exist.
    fn list(&self, _at: At<'_, N>) -> Result<Vec<OwnedDirent>> {
        Err(FsError::NotDirectory)
    }

    /// Returns a lister of this directory, which may have any number of names.
    ///
    /// # Errors
    /// `NotDirectory`, or `NotFound` if the node does not exist.
    fn lister(&self, at: At<'_, N>) -> Result<Box<dyn Lister>> {
        Ok(Box::new(FixedLister::new(self.list(at)?)))
    }

    /// Returns the text of this file.
    ///
    /// # Errors
    /// `BadHandle` if the node has none, or `NotFound` if it does not exist.
    fn text(&self, _at: At<'_, N>) -> Result<Vec<u8>> {
        Err(FsError::BadHandle)
    }

    /// Returns the text of this file, counted against the budget. A text that reads a table is
    /// rendered once for all its readers.
    ///
    /// # Errors
    /// As of [`NodeOps::text`]; `TooManyOpen` if the budget is used up.
    fn shared_text(&self, at: At<'_, N>) -> Result<Arc<FileText>> {
        let make = || FileText::new(self.text(at)?, &at.memory.open_files);
        let facts = at.node.facts();
        match facts.cost {
            ReadCost::Table => at
                .table_texts
                .get(facts.identity, || at.db.commit_id(), make),
            _ => make(),
        }
    }

    /// Returns the producer of a computed file.
    ///
    /// # Errors
    /// `BadHandle` if the file is not computed, or `NotFound` if it does not exist.
    fn producer(&self, _at: At<'_, N>) -> Result<Box<dyn Producer>> {
        Err(FsError::BadHandle)
    }

    /// Returns the target of this symlink.
    ///
    /// # Errors
    /// `Invalid` if the node is no symlink, or `NotFound` if it does not exist.
    fn link_target(&self, _at: At<'_, N>) -> Result<String> {
        Err(FsError::Invalid("not a symbolic link"))
    }

    /// Opens this file for reading. By default the handle has the text as it is now.
    ///
    /// # Errors
    /// `NotFound` if the file does not exist.
    fn open_reader(&self, at: HostAt<'_, N>) -> Result<Handle> {
        Ok(Handle::Text(
            self.shared_text(At::new(at.node, &at.mount))?,
            None,
        ))
    }

    /// Opens this file for writing.
    ///
    /// # Errors
    /// `Derived` if the file cannot be written, or `NotFound` if it does not exist.
    fn open_writer(&self, _at: HostAt<'_, N>, _flags: OpenFlags) -> Result<Handle> {
        Err(FsError::Derived)
    }

    /// Opens this file for writing, which does not exist yet.
    ///
    /// # Errors
    /// `Derived` if the file cannot be written.
    fn create(&self, at: HostAt<'_, N>, flags: OpenFlags) -> Result<Handle> {
        self.open_writer(at, flags)
    }

    /// Returns the error of a CREATE of a name that stands for nothing in this directory.
    fn scratch_refusal(&self) -> FsError {
        FsError::Derived
    }

    /// Removes this file.
    fn unlink(&self, _at: HostAt<'_, N>, reply: Reply<()>) {
        reply(Err(FsError::Derived));
    }

    /// Makes a directory in this one.
    ///
    /// # Errors
    /// `Exists`, or no directory can be made here.
    fn mkdir(&self, _at: HostAt<'_, N>, _name: &str) -> Result<Node> {
        Err(FsError::Derived)
    }

    /// Removes this directory.
    ///
    /// # Errors
    /// `NotEmpty`, or the directory is part of the tree.
    fn rmdir(&self, _at: HostAt<'_, N>) -> Result<()> {
        Err(FsError::Derived)
    }

    /// Makes a symlink in this directory.
    ///
    /// # Errors
    /// `NotPermitted` if no link can be made here.
    fn symlink(&self, _at: HostAt<'_, N>, _name: &[u8], _target: &[u8]) -> Result<Node> {
        Err(FsError::NotPermitted(
            "links are made in queries/ of a table: ln -s '../query/@pk=u1' queries/u1",
        ))
    }

    /// Renames this file within its directory.
    ///
    /// # Errors
    /// `Derived` if the file must keep its name.
    fn rename(&self, _at: HostAt<'_, N>, _name: &str, _replace: bool) -> Result<()> {
        Err(FsError::Derived)
    }

    /// Returns the place of a file in the trash; `None` of any other node.
    fn trash_key(&self) -> Option<&TrashKey> {
        None
    }
}

/// Returns the place of a file in the trash; `None` of any other node.
#[must_use]
pub fn trash_key(node: &Node) -> Option<&TrashKey> {
    match node {
        Node::Special(special) => node_ops(special).trash_key(),
        _ => None,
    }
}

/// The text of a file that is edited, and the precondition on what is stored then.
pub type EditedText = (Vec<u8>, Option<Precondition>);

/// Opens a file that takes a text, by its inode number and its path, for writing. `text` is the one
/// before, which the caller may truncate.
pub fn open_text(
    place: FilePlace,
    host: &Host,
    flags: OpenFlags,
    text: Option<EditedText>,
    file: TextFile,
) -> Handle {
    let pid = host.mount.caller.pid;
    let opener = Opener {
        pid,
        append: flags.append,
    };
    let writer = match text.filter(|_| !flags.truncate) {
        Some((text, precondition)) => TextWriter::edit(file, text, precondition, opener),
        None => TextWriter::stream(file, opener),
    };
    Handle::Special(Arc::new(OpenText::new(place.ino, place.path, pid, writer)))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Trashed(TrashKey);

    impl NodeOps for Trashed {
        fn trash_key(&self) -> Option<&TrashKey> {
            Some(&self.0)
        }
    }

    struct Plain;

    impl NodeOps for Plain {}

    #[test]
    fn a_node_gives_back_what_it_carries() {
        let trashed = || {
            Trashed(TrashKey {
                table: TableName::new("Orders").unwrap(),
                folder: None,
                name: "a".to_owned(),
            })
        };
        let is_trashed = |special: Special| trash_key(&special.into()).is_some();
        let directory = Special::directory("a".to_owned(), None, 1, trashed());
        assert!(!is_trashed(directory.child("b", Plain)));
        assert!(is_trashed(directory));
        assert!(!is_trashed(Special::file(
            "c".to_owned(),
            None,
            Feature::new(trashed())
        )));
    }
}
