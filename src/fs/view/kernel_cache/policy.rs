//! The policy of the kernel's cache: which answers it may cache, and what ends that, by kind of
//! node (docs/filesystem.md 13 has the table).
//!
//! | difficulty | solved by |
//! |---|---|
//! | a cached answer must end before a change is acknowledged | the database reports each commit before its writer gets the answer ([`super::invalidate`]) |
//! | a change may come between reading and answering | the node is marked before its data is read ([`crate::fs::node::inode_table`]) |
//! | nothing ends an answer once this process is killed | nothing is cached longer than [`KEEP`] at a time |
//! | the rights of a process can depend on its having looked | only answers that are the same for all processes are cached, see [`KernelCache::item_lasting`] |
//! | the kernel takes an answer about a name that it has when it likes, also after a notification, or a rename of the name | such an answer has no lasting part about the name of an item ([`KernelCache::lasting_name`]) |
//! | a rename moves the kernel's answers about an item's old name to the new one, which has another inode number | an item that is about to be renamed is not cached ([`super::Moving`]) |

use super::{Invalidation, KernelCache, item_of, name_of_entry};
use crate::fs::{
    node::{attr::Lasting, inode_table::Counted, is_structure},
    open::prelude::*,
};
use crate::store::KEEP;

/// The time for which the name of a directory may be used without a LOOKUP. It may name a directory
/// that is gone: a call that asks the directory for attributes, a listing or a name in it is
/// answered by whether it exists. Only a call that asks nothing at all (readlink or O_PATH) finds
/// it a moment longer.
const DIRECTORY_NAME: Duration = Duration::from_secs(1);

impl KernelCache {
    /// Returns the time for which the kernel may cache the name of a node and its attributes, which
    /// were read after it was `marked`, by a LOOKUP by `caller`.
    pub fn lasting_name(
        &self,
        caller: Caller,
        node: &Node,
        attr: &Attr,
        marked: Option<Counted>,
    ) -> Lasting {
        // First whether anything is cached: a rename says that it is about to happen before it
        // looks whether anything was.
        let keeps = self.is_on();
        if item_of(node).is_some() {
            let is_moving = self.moving.is_looked_up(attr.ino, caller.pid);
            return match marked {
                Some(marked) if keeps && !is_moving => {
                    self.lasting_name_of_item(caller, node, attr, marked)
                }
                _ => Lasting::NOT,
            };
        }
        let is_lasting_directory = match node {
            Node::Collection(Source { index: None, .. }, _) => keeps,
            _ => attr.kind == Kind::Directory && is_structure(attr.ino),
        };
        Lasting {
            name: if is_lasting_directory {
                DIRECTORY_NAME
            } else {
                Duration::ZERO
            },
            attr: Duration::ZERO,
        }
    }

    /// Returns the time for an item. Only the first name of a node is cached, which the kernel
    /// takes under the lock of the directory, as a listing: a call that would end or move the name
    /// waits for that lock. The kernel may take the answer about a name that it already has at any
    /// later time. So a name that is asked about again and again is dropped: then it is the first
    /// again.
    fn lasting_name_of_item(
        &self,
        caller: Caller,
        node: &Node,
        attr: &Attr,
        marked: Counted,
    ) -> Lasting {
        let lasting = self.item_lasting(caller, attr);
        if marked.is_first || lasting == Lasting::NOT {
            return lasting;
        }
        if self.inodes.is_asked_again(marked.ino, KEEP, now_ms())
            && let Node::Entry(entry) = node
        {
            self.post(vec![Invalidation::Gone(name_of_entry(entry), marked.ino)]);
        }
        Lasting {
            name: Duration::ZERO,
            ..lasting
        }
    }

    /// Returns the time for which an item's answer may last: none while it is about to be renamed.
    pub fn unmoved_lasting(&self, caller: Caller, attr: &Attr) -> Lasting {
        if self.moving.holds(attr.ino) {
            Lasting::NOT
        } else {
            self.item_lasting(caller, attr)
        }
    }

    /// Returns the time for an item that was marked before its attributes were read, and which is
    /// not about to be renamed. It may be cached as long as it is the same for all processes: no
    /// handle of it is open, with a text of another version; no process that read it has yet to see
    /// its present version (`optimistic_lock.rs`); it is not being created, without a version.
    fn item_lasting(&self, caller: Caller, attr: &Attr) -> Lasting {
        let ino = attr.ino;
        let is_kept = self.is_on()
            && attr.version != 0
            && attr.links > 0
            && !self.handles.is_open(ino)
            && self
                .host
                .read_versions
                .may_be_kept(ino, caller.pid, attr.version);
        if is_kept {
            Lasting {
                name: KEEP,
                attr: KEEP,
            }
        } else {
            Lasting::NOT
        }
    }

    /// Marks a node before it is read, so that an answer about it may be cached; counts a lookup,
    /// which [`KernelCache::unmark`] takes back. Returns `None` if nothing may be cached: then the
    /// lookup is counted when the node has been read.
    pub fn mark(&self, node: &Node) -> Option<Counted> {
        if !self.is_on() || item_of(node).is_none() {
            return None;
        }
        self.bound_known();
        self.inodes.mark(node.clone(), true)
    }

    /// Takes back a mark: the kernel gets no answer about the node.
    pub fn unmark(&self, ino: u64) {
        self.inodes.unmark(ino);
    }
}
