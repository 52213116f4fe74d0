//! The operations of a node, as Linux's `inode_operations` are those of an inode: one trait
//! ([`NodeOps`]), implemented once for each kind of node, in the file of that kind.
//!
//! An operation that a kind does not implement is refused as its default says. `fs::tree` maps each
//! kind to its implementor.

use std::fmt::Debug;

use super::computed::Producer;
use super::directory::{FixedLister, Lister};
use super::dirent::OwnedDirent;
use super::handle::Handle;
use super::host::Host;
use super::open_text::OpenText;
use super::text::ExecuteText;
use super::{OpenFlags, Reply};
use crate::fs::{
    mount::{Mount, text_cache::FileText},
    node::{
        Node, NodeKind,
        attr::Attr,
        special::{Feature, ReadCost, Special, SpecialNode},
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
    fn modified_ms(&self, _at: &SpecialNode, _mount: &Mount) -> Result<u64> {
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

/// The operations of one kind of node. `at` is the node of that kind which a call is about; an
/// implementor has no state.
pub trait NodeOps<At: NodeData = SpecialNode>: Send + Sync {
    /// Returns the time of the last change, in milliseconds since the epoch. By default this is the
    /// time at which the table was made, and for a node without a table the time at which the mount
    /// began.
    ///
    /// # Errors
    /// `NotFound` if the node does not exist.
    fn modified_ms(&self, node: &At, mount: &Mount) -> Result<u64> {
        node.facts()
            .table
            .map_or(Ok(mount.started_ms), |table| mount.table_created_ms(table))
    }

    /// Returns the attributes, without the inode number. The size of a file is that of its text.
    ///
    /// # Errors
    /// `NotFound` if the node does not exist.
    fn attr(&self, node: &At, mount: &Mount) -> Result<Attr> {
        let modified_ms = self.modified_ms(node, mount)?;
        let facts = node.facts();
        match facts.kind {
            NodeKind::Directory => Ok(Attr::directory(modified_ms)),
            NodeKind::Symlink => Ok(Attr::symlink(&self.link_target(node, mount)?, modified_ms)),
            NodeKind::File => {
                let size = match facts.cost {
                    ReadCost::Blocking | ReadCost::Computed => 0,
                    ReadCost::Bounded => self.text(node, mount)?.len() as u64,
                    ReadCost::Table | ReadCost::TableLive => {
                        self.shared_text(node, mount)?.bytes.len() as u64
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
    fn successor(&self, _at: &At, _mount: &Mount) -> Result<Option<Node>> {
        Ok(None)
    }

    /// Returns the node that a name in this directory stands for, whether or not that node exists.
    ///
    /// # Errors
    /// `NotFound` if the name can stand for nothing here.
    fn resolve(&self, _at: &At, _mount: &Mount, _name: &str) -> Result<Node> {
        Err(FsError::NotDirectory)
    }

    /// Returns the names that this directory lists.
    ///
    /// # Errors
    /// `NotDirectory`, or `NotFound` if the node does not exist.
    fn list(&self, _at: &At, _mount: &Mount) -> Result<Vec<OwnedDirent>> {
        Err(FsError::NotDirectory)
    }

    /// Returns the names of this directory that are listed only with `-o show_all`.
    ///
    /// # Errors
    /// The database failed, or the node does not exist.
    fn unlisted_names(&self, _at: &At, _mount: &Mount) -> Result<Vec<&'static str>> {
        Ok(Vec::new())
    }

    /// Returns a lister of this directory, which may have any number of names.
    ///
    /// # Errors
    /// `NotDirectory`, or `NotFound` if the node does not exist.
    fn lister(&self, node: &At, mount: &Mount) -> Result<Box<dyn Lister>> {
        Ok(Box::new(FixedLister::new(self.list(node, mount)?)))
    }

    /// Returns the text of this file.
    ///
    /// # Errors
    /// `BadHandle` if the node has none, or `NotFound` if it does not exist.
    fn text(&self, _at: &At, _mount: &Mount) -> Result<Vec<u8>> {
        Err(FsError::BadHandle)
    }

    /// Returns the text of this file, counted against the budget. A text that reads a table is
    /// rendered once for all its readers.
    ///
    /// # Errors
    /// As of [`NodeOps::text`]; `TooManyOpen` if the budget is used up.
    fn shared_text(&self, node: &At, mount: &Mount) -> Result<Arc<FileText>> {
        let make = || FileText::new(self.text(node, mount)?, &mount.open_budget);
        let facts = node.facts();
        match facts.cost {
            ReadCost::Table => mount
                .table_texts
                .get(facts.identity, || mount.db.commit_id(), make),
            _ => make(),
        }
    }

    /// Returns the producer of a computed file.
    ///
    /// # Errors
    /// `BadHandle` if the file is not computed, or `NotFound` if it does not exist.
    fn producer(&self, _at: &At, _mount: &Mount) -> Result<Box<dyn Producer>> {
        Err(FsError::BadHandle)
    }

    /// Returns the target of this symlink.
    ///
    /// # Errors
    /// `Invalid` if the node is no symlink, or `NotFound` if it does not exist.
    fn link_target(&self, _at: &At, _mount: &Mount) -> Result<String> {
        Err(FsError::Invalid("not a symbolic link"))
    }

    /// Opens this file for reading. By default the handle has the text as it is now.
    ///
    /// # Errors
    /// `NotFound` if the file does not exist.
    fn open_reader(&self, node: &At, host: &Host) -> Result<Handle> {
        Ok(Handle::Text(self.shared_text(node, &host.mount)?, None))
    }

    /// Opens this file for writing.
    ///
    /// # Errors
    /// `Derived` if the file cannot be written, or `NotFound` if it does not exist.
    fn open_writer(&self, _at: &At, _host: &Host, _flags: OpenFlags) -> Result<Handle> {
        Err(FsError::Derived)
    }

    /// Opens this file for writing, which does not exist yet.
    ///
    /// # Errors
    /// `Derived` if the file cannot be written.
    fn create(&self, node: &At, host: &Host, flags: OpenFlags) -> Result<Handle> {
        self.open_writer(node, host, flags)
    }

    /// Checks that CREATE may take the name of this node.
    ///
    /// # Errors
    /// The name is that of a directory, whether or not the directory exists.
    fn check_create(&self, _at: &At) -> Result<()> {
        Ok(())
    }

    /// Checks that this directory may have a scratch file of this name, which stands for nothing
    /// else here.
    ///
    /// # Errors
    /// The error of a CREATE of this name.
    fn check_scratch(&self, _at: &At, _mount: &Mount, _name: &str) -> Result<()> {
        Err(FsError::Derived)
    }

    /// True if a change of this node is judged by what it does, and not refused where the database
    /// is only read.
    fn is_judged_by_request(&self, _at: &At) -> bool {
        false
    }

    /// Removes this file.
    fn unlink(&self, _at: &At, _host: &Host, reply: Reply<()>) {
        reply(Err(FsError::Derived));
    }

    /// Makes a directory in this one.
    ///
    /// # Errors
    /// `Exists`, or no directory can be made here.
    fn mkdir(&self, _at: &At, _host: &Host, _name: &str) -> Result<Node> {
        Err(FsError::Derived)
    }

    /// Removes this directory.
    ///
    /// # Errors
    /// `NotEmpty`, or the directory is part of the tree.
    fn rmdir(&self, _at: &At, _host: &Host) -> Result<()> {
        Err(FsError::Derived)
    }

    /// Makes a symlink in this directory.
    ///
    /// # Errors
    /// `NotPermitted` if no link can be made here.
    fn symlink(&self, _at: &At, _host: &Host, _name: &[u8], _target: &[u8]) -> Result<Node> {
        Err(FsError::NotPermitted(
            "links are made in queries/ of a table: ln -s '../query/@pk=u1' queries/u1",
        ))
    }

    /// Renames this file within its directory.
    ///
    /// # Errors
    /// `Derived` if the file must keep its name.
    fn rename(&self, _at: &At, _host: &Host, _name: &str, _replace: bool) -> Result<()> {
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

/// Opens a file that holds one text: for editing if `text` is given, else for writing anew.
pub fn open_text<T>(
    ino: u64,
    path: String,
    caller: Caller,
    flags: OpenFlags,
    target: T,
    text: Option<Vec<u8>>,
) -> Handle
where
    T: ExecuteText + Debug + Sync,
    T::Request: Send,
{
    let opener = Opener {
        pid: caller.pid,
        append: flags.append,
    };
    let writer = match text {
        Some(text) => TextWriter::edit(target, text, None, opener),
        None => TextWriter::stream(target, opener),
    };
    Handle::Special(Arc::new(OpenText::new(ino, path, caller.pid, writer)))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Judged;

    impl NodeOps for Judged {
        fn is_judged_by_request(&self, _at: &SpecialNode) -> bool {
            true
        }
    }

    struct Plain;

    impl NodeOps for Plain {}

    #[test]
    fn a_node_gives_back_what_it_carries() {
        let is_judged = |special: Special| {
            let at = SpecialNode::from(special);
            node_ops(&at).is_judged_by_request(&at)
        };
        let directory = Special::directory("a".to_owned(), None, 1, Judged);
        assert!(!is_judged(directory.child("b", Plain)));
        assert!(is_judged(directory));
        assert!(!is_judged(Special::file(
            "c".to_owned(),
            None,
            Feature::new(Judged)
        )));
    }
}
