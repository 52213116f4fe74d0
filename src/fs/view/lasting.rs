//! What the kernel may keep of what it is told, and what ends that: by kind of node (docs/filesystem.md 13 has the table).
//!
//! | difficulty | solved by |
//! |---|---|
//! | what is kept must end before a change is acknowledged | the engine tells of each commit before its writer hears ([`super::ending`]) |
//! | a change may come between reading and answering | the node is marked before its data is read ([`crate::fs::node::inode_table`]) |
//! | nobody ends anything once this process is killed | nothing is kept longer than [`KEEP`] at a time |
//! | what a process may do can hang on its having looked | kept is only what is the same for all, see [`View::lasting`] |
//! | a rename moves what the kernel knows of the old name to the new one, whose inode number is another | what is about to be renamed is not kept ([`super::keeping::Moving`]) |

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::View;
use super::keeping::item_of;
use crate::database::Source;
use crate::fs::node::attr::{Attr, Lasting};
use crate::fs::node::{Kind, Node, is_structure};
use crate::fs::process::Caller;
use crate::store::KEEP;

/// How long the name of a directory may be used without a LOOKUP. It may name one that is gone: whatever is asked of the directory
/// then, be it the attributes, a listing or a name in it, is answered by whether it exists. Only a call that asks nothing at all
/// (readlink or O_PATH) finds it a moment longer.
const DIRECTORY_NAME: Duration = Duration::from_secs(1);

impl View {
    /// May the kernel keep anything now? Ask after the node is marked: who ends the keeping looks for marks afterwards.
    #[must_use]
    pub fn keeps(&self) -> bool {
        self.keeping.is_on.load(Ordering::SeqCst)
    }

    /// What the kernel may keep of a node, given its attributes as they were read after the node was marked, and asked by `caller`.
    ///
    /// Of an item, as long as nothing makes it another for one process than for the rest: no handle of it is open, whose text may be
    /// of another version; no process that read it has yet to see its present version (`notes.rs`); it is not being created, which has
    /// no version.
    pub(super) fn lasting(&self, caller: Caller, node: &Node, attr: &Attr) -> Lasting {
        let ino = attr.ino;
        if item_of(node).is_some() {
            let is_kept = self.keeps()
                && !self.keeping.moving.is_looked_up(ino)
                && attr.version != 0
                && attr.links > 0
                && !self.handles.is_open(ino)
                && self.reads.may_be_kept(ino, caller.pid, attr.version);
            return if is_kept { Lasting { name: KEEP, attr: KEEP } } else { Lasting::NOT };
        }
        let is_lasting_directory = match node {
            Node::Collection(Source { index: None, .. }, _) => self.keeps() && !self.keeping.moving.is_looked_up(ino),
            _ => attr.kind == Kind::Directory && is_structure(ino),
        };
        Lasting { name: if is_lasting_directory { DIRECTORY_NAME } else { Duration::ZERO }, attr: Duration::ZERO }
    }

    /// Marks a node of which an answer may be kept, before it is read; counts a lookup, which [`View::unmark`] takes back. `None` when
    /// there is nothing to mark: then the lookup is counted when the node has been read.
    pub(super) fn mark(&self, node: &Node) -> Option<u64> {
        if !self.keeps() || item_of(node).is_none() {
            return None;
        }
        self.bound_known();
        self.inodes.mark(node.clone(), true)
    }

    /// The kernel will not be told of the node.
    pub(super) fn unmark(&self, ino: u64) {
        self.inodes.unmark(ino);
    }
}
