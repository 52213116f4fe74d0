//! The policy of the kernel's cache: which answers it may cache, and what ends that, by kind of
//! node (docs/filesystem.md 13 has the table).
//!
//! | difficulty | solved by |
//! |---|---|
//! | a cached answer must end before a change is acknowledged | the database reports each commit before its writer gets the answer ([`super::invalidate`]) |
//! | a change may come between reading and answering | the node is marked before its data is read ([`crate::fs::node::inode_table`]) |
//! | nothing ends an answer once this process is killed | the watchdog ends all names, and nothing is cached longer than [`KernelCache::ttl`] at a time |
//! | the rights of a process can depend on its having looked | only answers that are the same for all processes are cached, see [`KernelCache::item_ttl`] |
//! | the kernel takes an answer about a name that it has when it likes, also after a notification, or a rename of the name | in such an answer the name of an item has no lifetime ([`KernelCache::name_ttl`]) |
//! | the kernel has one size and one set of pages for a number, and an open file is the text of one version | a number with cached pages is of one version; its name gets another number ([`crate::fs::node::inode_table`]) |
//! | a rename moves the kernel's answers about an item's old name to the new one, which has another inode number | an item that is about to be renamed is not cached ([`super::PendingRenames`]) |

use super::{Invalidation, KernelCache, cached_entry, cached_item, is_listed_name, node_name};
use crate::fs::{
    node::{attr::CacheTtl, inode_table::LookupCount, is_structure},
    open::prelude::*,
};

/// The time for which the name of a directory that was looked up may be used without a LOOKUP; that
/// of a folder that was listed may be [`KernelCache::ttl`]. It may name a directory
/// that is gone: a call that asks the directory for attributes, a listing or a name in it is
/// answered by whether it exists. Only a call that asks nothing at all (readlink or O_PATH) finds
/// it a moment longer.
const DIRECTORY_NAME_TTL: Duration = Duration::from_secs(1);

impl KernelCache {
    /// Returns the time for which the kernel may cache the name of a node and its attributes, which
    /// were read after it was `marked`, by a LOOKUP by `caller`.
    pub fn name_ttl(
        &self,
        caller: Caller,
        node: &Node,
        attr: &Attr,
        marked: Option<LookupCount>,
    ) -> CacheTtl {
        // First whether anything is cached: a rename says that it is about to happen before it
        // looks whether anything was.
        let keeps = self.is_on();
        if cached_entry(node).is_some() {
            let is_moving = self.renames.note_lookup(attr.ino, caller.pid);
            return match marked {
                Some(marked) if keeps && !is_moving => {
                    self.item_name_ttl(caller, node, attr, marked)
                }
                _ => CacheTtl::NONE,
            };
        }
        let is_cached_directory = match node {
            Node::Collection(..) => keeps,
            _ => attr.kind == NodeKind::Directory && is_structure(attr.ino),
        };
        CacheTtl {
            name: if is_cached_directory {
                DIRECTORY_NAME_TTL
            } else {
                Duration::ZERO
            },
            attr: Duration::ZERO,
        }
    }

    /// Returns the time for which the kernel may cache the name of an item that is being created. Its
    /// attributes are asked for.
    pub fn created_ttl(&self, parent: &Node, node: &Node, name: &[u8]) -> CacheTtl {
        let is_kept = cached_item(node).is_some()
            && is_listed_name(parent, node, name)
            && !self.renames.is_pending(node.ino());
        CacheTtl {
            name: if is_kept { self.ttl() } else { Duration::ZERO },
            attr: Duration::ZERO,
        }
    }

    /// Returns the time for which the kernel may cache a folder that was listed, and its attributes if
    /// they are those of the last commit.
    pub fn folder_ttl(&self, is_current: bool) -> CacheTtl {
        if !self.is_on() {
            return CacheTtl::NONE;
        }
        CacheTtl {
            name: self.ttl(),
            attr: if is_current {
                self.ttl()
            } else {
                Duration::ZERO
            },
        }
    }

    /// Returns the time for which the kernel may cache the name and the attributes of an item. A
    /// name is cached by the first lookup of its node only: the kernel takes that answer under the
    /// lock of the directory, as those of a listing, and a call that would end or move the name
    /// waits for the lock. The answer to a later lookup the kernel may take at any time. So a name
    /// that is looked up again and again is dropped: then its next lookup is a first one.
    fn item_name_ttl(
        &self,
        caller: Caller,
        node: &Node,
        attr: &Attr,
        marked: LookupCount,
    ) -> CacheTtl {
        let ttl = self.item_ttl(caller, marked.ino, attr);
        if marked.is_first || ttl == CacheTtl::NONE {
            return ttl;
        }
        if self.inodes.is_repeated(marked.ino, self.ttl(), now_ms())
            && let Node::Entry(entry) = node
        {
            self.notify_async(vec![Invalidation::Removed(node_name(entry), marked.ino)]);
        }
        CacheTtl {
            name: Duration::ZERO,
            ..ttl
        }
    }

    /// Returns the time for which an answer about an item with this number may be cached: none while
    /// it is about to be renamed.
    pub fn settled_item_ttl(&self, caller: Caller, ino: u64, attr: &Attr) -> CacheTtl {
        if self.renames.is_pending(attr.ino) {
            CacheTtl::NONE
        } else {
            self.item_ttl(caller, ino, attr)
        }
    }

    /// Returns the time for which an item with this number may be cached that was marked before its
    /// attributes were read, and which is not about to be renamed. It may be cached as long as it is
    /// the same for all processes: no handle of it is open, with a text of another version; no process that read
    /// it has yet to see its present version (`optimistic_lock.rs`); it is not being created,
    /// without a version.
    fn item_ttl(&self, caller: Caller, ino: u64, attr: &Attr) -> CacheTtl {
        let item = attr.ino;
        let is_kept = self.is_on()
            && attr.version != 0
            && attr.links > 0
            && self.handles.are_all_of(ino, attr.version)
            && self
                .host
                .read_versions
                .may_cache(item, caller.pid, attr.version);
        if is_kept {
            CacheTtl {
                name: self.ttl(),
                attr: self.ttl(),
            }
        } else {
            CacheTtl::NONE
        }
    }

    /// True if answers about this node may be cached now. Parts of an index may be hidden from a
    /// program that restores or copies a table.
    pub fn may_keep(&self, node: &Node) -> bool {
        self.is_on()
            && cached_entry(node).is_some_and(|entry| {
                entry.source.index.is_none() || !self.host.mount.archiver_quirks.is_active(now_ms())
            })
    }

    /// Marks a node before it is read, so that an answer about it may be cached; counts a lookup,
    /// which [`KernelCache::unmark`] takes back. Returns `None` if nothing may be cached: then the
    /// lookup is counted when the node has been read.
    pub fn mark(&self, node: &Node) -> Option<LookupCount> {
        if !self.may_keep(node) {
            return None;
        }
        self.evict_excess();
        self.inodes.add_lookup(node.clone(), true)
    }

    /// Takes back a mark: the kernel gets no answer about the node.
    pub fn unmark(&self, ino: u64) {
        self.inodes.undo_lookup(ino);
    }
}
