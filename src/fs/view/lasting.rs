//! What the kernel may keep of what it is told, and what ends that: by kind of node (docs/filesystem.md 13 has the table).
//!
//! | difficulty | solved by |
//! |---|---|
//! | what is kept must end before a change is acknowledged | the engine tells of each commit before its writer hears ([`super::ending`]) |
//! | a change may come between reading and answering | the node is marked before its data is read ([`crate::fs::node::inode_table`]) |
//! | nobody ends anything once this process is killed | nothing is kept longer than [`KEEP`] at a time |
//! | what a process may do can hang on its having looked | kept is only what is the same for all, see [`View::lasting`] |
//! | a rename moves what the kernel knows of the old name to the new one, whose inode number is another | what is about to be renamed is not kept ([`Moving`]) |

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::View;
use crate::database::{Source, TextForm};
use crate::fs::node::attr::{Attr, Lasting};
use crate::fs::node::{EntryNode, Kind, Node, is_structure};
use crate::fs::path::names;
use crate::fs::process::Caller;
use crate::fs::recent::Recent;
use crate::fs::time::now_ms;

/// How long the kernel keeps an item's name and attributes before it asks again. They are ended exactly, by notification; but of a
/// process that was killed no notification comes.
pub const KEEP: Duration = Duration::from_secs(3);
/// How long the name of a directory may be used without a LOOKUP. It may name one that is gone: whatever is asked of the directory
/// then, be it the attributes, a listing or a name in it, is answered by whether it exists. Only a call that asks nothing at all
/// (readlink or O_PATH) finds it a moment longer.
const DIRECTORY_NAME: Duration = Duration::from_secs(1);
/// How long a rename may take to come again.
const MOVING_MS: u64 = 1_000;
const MOVING_MAX: usize = 1_000;

/// Inode numbers of what is about to be renamed.
#[derive(Debug, Default)]
pub struct Moving {
    inos: Mutex<Recent<u64, (), MOVING_MAX, MOVING_MS>>,
    count: AtomicUsize,
}

impl Moving {
    /// It is about to be renamed. Was that known?
    pub fn begin(&self, ino: u64) -> bool {
        self.change(|inos, now_ms| inos.keep(ino, (), now_ms).is_some())
    }

    /// It was renamed, or not.
    pub fn end(&self, ino: u64) {
        self.change(|inos, _| inos.remove(&ino));
    }

    fn change<T>(&self, work: impl FnOnce(&mut Recent<u64, (), MOVING_MAX, MOVING_MS>, u64) -> T) -> T {
        let mut inos = self.inos.lock();
        let done = work(&mut inos, now_ms());
        self.count.store(inos.len(), Ordering::Release);
        done
    }

    fn holds(&self, ino: u64) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.inos.lock().get(&ino, now_ms()).is_some()
    }
}

/// Whether anything is kept now.
#[derive(Debug, Default)]
pub struct Keeping {
    pub(super) is_on: AtomicBool,
    pub(super) moving: Moving,
}

/// The item whose plain text a node is: of nothing else are names and attributes kept.
pub(super) fn item_of(node: &Node) -> Option<&EntryNode> {
    match node {
        Node::Entry(entry) if entry.source.index.is_none() && entry.form == TextForm::PlainJson => Some(entry),
        _ => None,
    }
}

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
            return self.item_lasting(caller, attr);
        }
        let is_lasting_directory = match node {
            Node::Collection(Source { index: None, .. }, _) => !self.keeping.moving.holds(ino),
            _ => attr.kind == Kind::Directory && is_structure(ino),
        };
        Lasting { name: if is_lasting_directory { DIRECTORY_NAME } else { Duration::ZERO }, attr: Duration::ZERO }
    }

    /// [`View::lasting`] of an item.
    pub(super) fn item_lasting(&self, caller: Caller, attr: &Attr) -> Lasting {
        let ino = attr.ino;
        let is_kept = self.keeps()
            && attr.version != 0
            && attr.links > 0
            && !self.handles.is_open(ino)
            && !self.keeping.moving.holds(ino)
            && self.reads.may_be_kept(ino, caller.pid, attr.version);
        if is_kept { Lasting { name: KEEP, attr: KEEP } } else { Lasting::NOT }
    }

    /// Marks a node of which an answer may be kept, before it is read; counts a lookup, which [`View::unmark`] takes back. `None` when
    /// there is nothing to mark: then the lookup is counted when the node has been read.
    pub(super) fn mark(&self, node: &Node) -> Option<u64> {
        (self.keeps() && item_of(node).is_some()).then(|| self.inodes.mark(node.clone(), true)).flatten()
    }

    /// The kernel will not be told of the node.
    pub(super) fn unmark(&self, ino: u64) {
        self.inodes.unmark(ino);
    }
}

/// Is this how the node is listed in that directory? The name that ends when the node does; others for the same key are not kept.
pub(super) fn is_own_name(parent: &Node, node: &Node, name: &[u8]) -> bool {
    match (parent, item_of(node)) {
        (Node::Items(_) | Node::Collection(..), Some(entry)) => {
            names::entry_name(&entry.key, TextForm::PlainJson).as_bytes() == name
        }
        (_, None) => true,
        _ => false,
    }
}
