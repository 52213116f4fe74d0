//! Which node an inode number stands for, as long as the kernel knows the number.
//!
//! The kernel counts every LOOKUP, CREATE and MKDIR reply and gives the count back with FORGET. Listings create no entries, so a
//! walk over a million names costs nothing here; looking them all up costs some hundred bytes each. Sharded, so that parallel
//! lookups do not meet.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::known::{KnownNode, Sources};
use super::{Node, ROOT_INO};

const SHARDS: usize = 16;

#[derive(Debug)]
struct Slot {
    node: KnownNode,
    /// Stays at the most there is: such a number is never forgotten.
    lookups: u32,
}

/// See the module.
#[derive(Debug)]
pub struct InodeTable {
    shards: [Mutex<HashMap<u64, Slot>>; SHARDS],
    sources: Sources,
    root: Arc<Node>,
}

impl Default for InodeTable {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), sources: Sources::default(), root: Arc::new(Node::Root) }
    }
}

impl InodeTable {
    fn shard(&self, ino: u64) -> &Mutex<HashMap<u64, Slot>> {
        // Structure numbers differ in high bits, data numbers in all.
        let mixed = (ino >> 32) ^ (ino >> 8);
        &self.shards[usize::try_from(mixed).unwrap_or_default() % SHARDS]
    }

    /// Counts one lookup and returns the inode number. `None` when the number already stands for another node: two digests of 63
    /// bits met.
    #[must_use]
    pub fn remember(&self, node: Node) -> Option<u64> {
        let ino = node.ino();
        if ino == ROOT_INO {
            return Some(ino);
        }
        let node = KnownNode::new(node, &self.sources);
        let mut shard = self.shard(ino).lock();
        match shard.get_mut(&ino) {
            Some(slot) if slot.node.is_same(&node) => {
                slot.lookups = slot.lookups.saturating_add(1);
                // Equal, but a query path holds its table's definition, which may be a new one.
                slot.node = node;
            }
            Some(_) => return None,
            None => {
                shard.insert(ino, Slot { node, lookups: 1 });
            }
        }
        Some(ino)
    }

    /// The node of a number that the kernel knows.
    #[must_use]
    pub fn get(&self, ino: u64) -> Option<Arc<Node>> {
        if ino == ROOT_INO {
            return Some(Arc::clone(&self.root));
        }
        self.shard(ino).lock().get(&ino)?.node.node()
    }

    /// Takes back `count` lookups; the node, when that were all.
    pub fn forget(&self, ino: u64, count: u64) -> Option<Arc<Node>> {
        let mut shard = self.shard(ino).lock();
        let slot = shard.get_mut(&ino)?;
        if slot.lookups < u32::MAX {
            slot.lookups = slot.lookups.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX));
        }
        if slot.lookups > 0 {
            return None;
        }
        let gone = shard.remove(&ino).and_then(|slot| slot.node.node());
        // A table that once held a million entries gives the memory back.
        if shard.capacity() > 1024 && shard.len() < shard.capacity() / 8 {
            shard.shrink_to_fit();
        }
        gone
    }

    /// Numbers the kernel knows, without the root.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// Does the kernel know nothing but the root?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TableName;

    fn table(name: &str) -> Node {
        Node::Table(TableName::new(name).unwrap())
    }

    #[test]
    fn a_node_stays_until_every_lookup_is_forgotten() {
        let inodes = InodeTable::default();
        let ino = inodes.remember(table("Orders")).unwrap();
        assert_eq!(inodes.remember(table("Orders")), Some(ino));
        assert!(inodes.forget(ino, 1).is_none());
        assert_eq!(inodes.get(ino).as_deref(), Some(&table("Orders")));
        assert!(inodes.forget(ino, 1).is_some());
        assert!(inodes.get(ino).is_none());
        assert!(inodes.is_empty());
    }

    #[test]
    fn the_root_is_never_forgotten() {
        let inodes = InodeTable::default();
        inodes.forget(ROOT_INO, 1000);
        assert_eq!(inodes.get(ROOT_INO).as_deref(), Some(&Node::Root));
        assert_eq!(inodes.remember(Node::Root), Some(ROOT_INO));
        assert!(inodes.is_empty());
    }

    #[test]
    fn forgetting_what_is_not_known_does_nothing() {
        assert!(InodeTable::default().forget(77, 5).is_none());
    }
}
