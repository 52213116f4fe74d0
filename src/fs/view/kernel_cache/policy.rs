//! What the kernel may keep of what it is told, and what ends that: by kind of node (docs/filesystem.md 13 has the table).
//!
//! | difficulty | solved by |
//! |---|---|
//! | what is kept must end before a change is acknowledged | the database tells of each commit before its writer hears ([`super::invalidate`]) |
//! | a change may come between reading and answering | the node is marked before its data is read ([`crate::fs::node::inode_table`]) |
//! | nobody ends anything once this process is killed | nothing is kept longer than [`KEEP`] at a time |
//! | what a process may do can hang on its having looked | kept is only what is the same for all, see [`KernelCache::item_lasting`] |
//! | the kernel takes an answer about a name that it has when it likes, also after a notification, or a rename of the name | such an answer tells nothing that lasts of the name of an item ([`KernelCache::lasting_name`]) |
//! | a rename moves what the kernel knows of an item's old name to the new one, whose inode number is another | what is about to be renamed is not kept ([`super::Moving`]) |

use super::{Invalidation, KernelCache, item_of, name_of_entry};
use crate::fs::node::attr::Lasting;
use crate::fs::node::inode_table::Counted;
use crate::fs::node::is_structure;
use crate::fs::open::prelude::*;
use crate::store::KEEP;

/// How long the name of a directory may be used without a LOOKUP. It may name one that is gone: whatever is asked of the directory
/// then, be it the attributes, a listing or a name in it, is answered by whether it exists. Only a call that asks nothing at all
/// (readlink or O_PATH) finds it a moment longer.
const DIRECTORY_NAME: Duration = Duration::from_secs(1);

impl KernelCache {
    /// What the kernel may keep of the name of a node and of its attributes, which were read after it was `marked`, by a LOOKUP by
    /// `caller`.
    pub fn lasting_name(
        &self,
        caller: Caller,
        node: &Node,
        attr: &Attr,
        marked: Option<Counted>,
    ) -> Lasting {
        // First whether anything is kept: a rename says that it is about to be before it looks whether anything was.
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

    /// Only the first name of a node is kept, which the kernel takes under the lock of the directory, as a listing: what would end it, or
    /// move it, waits for that. Of a name that it has already it may take the answer at any time later. So a name that is asked about
    /// again and again is dropped: then it is the first again.
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

    /// How long an item's answer may last: not at all while it is about to be renamed.
    pub fn unmoved_lasting(&self, caller: Caller, attr: &Attr) -> Lasting {
        if self.moving.holds(attr.ino) {
            Lasting::NOT
        } else {
            self.item_lasting(caller, attr)
        }
    }

    /// What the kernel may keep of an item whose attributes were read after it was marked, and which is not about to be renamed, as long
    /// as nothing makes it another for one process than for the rest: no handle of it is open, whose text may be of another version; no
    /// process that read it has yet to see its present version (`optimistic_lock.rs`); it is not being created, which has no version.
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

    /// Marks a node of which an answer may be kept, before it is read; counts a lookup, which [`KernelCache::unmark`] takes back. `None` when
    /// nothing may be kept: then the lookup is counted when the node has been read.
    pub fn mark(&self, node: &Node) -> Option<Counted> {
        if !self.is_on() || item_of(node).is_none() {
            return None;
        }
        self.bound_known();
        self.inodes.mark(node.clone(), true)
    }

    /// The kernel will not be told of the node.
    pub fn unmark(&self, ino: u64) {
        self.inodes.unmark(ino);
    }
}
