//! The table of inodes: the node of each inode number that the kernel knows, and a mark on nodes
//! that the kernel may cache.
//!
//! The kernel counts every LOOKUP, CREATE, MKDIR and READDIRPLUS reply and returns the count with
//! FORGET. Plain listings create no entries, so a walk over a million names costs nothing here; a
//! lookup of each costs some hundred bytes. The table is sharded, so that parallel lookups rarely
//! share a lock.
//!
//! A call with a cacheable reply marks the node, *then* reads the data of its reply; a writer looks
//! for the mark *after* its commit. So either the reader sees the write, or the writer sees the
//! mark.
//!
//! When a directory is removed, the kernel marks its inode dead for as long as a process holds it:
//! a directory made in its place needs another number. So do the directories below it: the kernel
//! knows one name of a directory, and would move it from the removed parent, which it refuses with
//! ESTALE while other processes rename (`__d_unalias` in Linux). A renamed directory keeps its
//! number, so that processes which hold it can use it under its new name. So a directory's number
//! is that of its node ([`Node::ino`]) only until then.
//!
//! The kernel has one size and one set of pages for a number. While a process has a version of an
//! item open whose pages the kernel caches, the number stands for that version: when the item
//! changes, the number is *detached*, and the item's name gets another.

use foldhash::HashMap;
use std::{
    collections::BTreeSet,
    num::NonZeroU32,
    sync::{Weak, atomic::AtomicUsize},
};

use super::{EntryNode, Node, NodeKind, ROOT_INO, ino::LAST_FIXED_INO, item_ino};
use crate::codec::key;
use crate::fs::{prelude::*, ttl_map::FastEmpty};

const SHARDS: usize = 16;

/// The time at which a node was marked as cacheable: a later mark is a different one.
pub type CacheMark = NonZeroU32;

/// The result of a counted lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookupCount {
    pub ino: u64,
    /// True if the kernel did not know the number. Then it has no cached name of the node that
    /// needs invalidation: it holds the lock of the directory until it has taken the reply, and an
    /// invalidation of the name comes after that.
    pub is_first: bool,
}

#[derive(Debug)]
struct InodeSlot {
    node: KnownNode,
    /// The kernel's lookup count, saturating: a node at the maximum is never forgotten.
    lookups: u32,
    mark: Option<CacheMark>,
    /// The clock of the shard when the node was inserted, or was last returned by
    /// [`InodeTable::oldest`].
    inserted: u32,
    /// The time of the last call of [`InodeTable::is_repeated`], in milliseconds modulo 2^32.
    last_asked_ms: u32,
    /// True if the number stands for a version that is open, and no name for the number.
    is_detached: bool,
    /// The version of all attributes of an item that the kernel was told; 0 before the first,
    /// [`MIXED`] if they were of several.
    told: Version,
    /// The number that the node's name had before, which was detached; 0 for none.
    before: u64,
}

/// No single version.
pub const MIXED: Version = Version::MAX;

#[derive(Debug, Default)]
struct InodeShard {
    slots: HashMap<u64, InodeSlot>,
    /// Number of insertions.
    clock: u32,
    last_mark: u32,
}

/// The nodes that the kernel knows, by inode number.
#[derive(Debug)]
pub struct InodeTable {
    shards: [Mutex<InodeShard>; SHARDS],
    /// Number of nodes, without the root.
    len: AtomicUsize,
    /// Number of insertions, and what it was at the last call of [`InodeTable::oldest`].
    inserted: AtomicUsize,
    inserted_at_oldest: AtomicUsize,
    sources: SourceInterner,
    root: Arc<Node>,
    /// The marked nodes of indexes, each after the number of the node whose commits change it
    /// ([`KnownNode::followed`]).
    followers: FastEmpty<BTreeSet<(u64, u64)>>,
    /// The numbers that differ from those of their nodes. Locked before a shard, by every method
    /// that counts or moves directories.
    others: Mutex<OtherNumbers>,
    /// The number of entries in `others`: lookups of items take its lock only if there are any.
    others_len: AtomicUsize,
}

#[derive(Debug)]
struct OtherNumbers {
    /// The number by that of the node.
    numbers: HashMap<u64, u64>,
    last: u64,
}

impl Default for InodeTable {
    fn default() -> Self {
        let shards = std::array::from_fn(|_| Mutex::default());
        let others = Mutex::new(OtherNumbers {
            numbers: HashMap::default(),
            last: LAST_FIXED_INO,
        });
        Self {
            shards,
            len: AtomicUsize::new(0),
            inserted: AtomicUsize::new(0),
            inserted_at_oldest: AtomicUsize::new(0),
            sources: SourceInterner::default(),
            root: Arc::new(Node::Root),
            followers: FastEmpty::default(),
            others,
            others_len: AtomicUsize::new(0),
        }
    }
}

impl InodeShard {
    fn mark(&mut self, ino: u64) {
        // Zero is no mark. After 2^32 marks the first comes again, for a node that has lost it long
        // ago.
        self.last_mark = self.last_mark.checked_add(1).unwrap_or(1);
        if let Some(slot) = self.slots.get_mut(&ino) {
            slot.mark = CacheMark::new(self.last_mark);
        }
    }
}

impl InodeTable {
    fn shard(&self, ino: u64) -> &Mutex<InodeShard> {
        // Structure numbers differ in high bits, data numbers in all.
        let mixed = (ino >> 32) ^ (ino >> 8);
        &self.shards[usize::try_from(mixed).unwrap_or_default() % SHARDS]
    }

    /// Does some work with the slot of a number, under the lock of its shard.
    fn with_slot<T>(&self, ino: u64, work: impl FnOnce(&mut InodeSlot) -> T) -> Option<T> {
        self.shard(ino).lock().slots.get_mut(&ino).map(work)
    }

    /// Counts one lookup of the node. With `keeps`, the kernel may cache the data that is read from
    /// now on. Returns `None` when the number of a file already stands for another node: a
    /// collision of two 63-bit digests.
    #[must_use]
    pub fn add_lookup(&self, node: Node, keeps: bool) -> Option<LookupCount> {
        let ino = node.ino();
        if ino == ROOT_INO {
            return Some(LookupCount {
                ino,
                is_first: false,
            });
        }
        self.add_known(ino, KnownNode::new(node, &self.sources), keeps)
    }

    /// Returns the source, shared by the nodes of its items.
    #[must_use]
    pub fn share_source(&self, source: &SourceName) -> Arc<SourceName> {
        self.sources.share(source)
    }

    /// Counts a lookup as [`InodeTable::add_lookup`], for an item or folder with this number, packed
    /// by [`super::pack_item`] or [`super::pack_folder`]; the kernel may cache it.
    #[must_use]
    pub fn add_item_lookup(
        &self,
        ino: u64,
        source: &Arc<SourceName>,
        packed: &[u8],
    ) -> Option<u64> {
        self.add_known(ino, KnownNode::item(source, packed), true)
            .map(|counted| counted.ino)
    }

    fn add_known(&self, ino: u64, node: KnownNode, keeps: bool) -> Option<LookupCount> {
        let is_directory = node.is_directory();
        let node = if is_directory || self.others_len.load(Ordering::SeqCst) > 0 {
            node
        } else {
            match self.count(ino, node, keeps) {
                Ok(counted) => return Some(counted),
                Err(node) => node,
            }
        };
        let mut others = self.others.lock();
        let number = others.numbers.get(&ino).copied().unwrap_or(ino);
        let counted = self.count(number, node, keeps).or_else(|node| {
            if !is_directory && !self.is_detached(number) {
                return Err(node);
            }
            let before = number;
            others.last += 1;
            let number = others.last;
            self.set_number(&mut others, ino, number);
            let counted = self.count(number, node, keeps);
            self.with_slot(number, |slot| slot.before = before);
            counted
        });
        counted.ok()
    }

    fn set_number(&self, others: &mut OtherNumbers, ino: u64, number: u64) {
        others.numbers.insert(ino, number);
        self.others_len
            .store(others.numbers.len(), Ordering::SeqCst);
    }

    fn remove_number(&self, others: &mut OtherNumbers, ino: u64) -> Option<u64> {
        let number = others.numbers.remove(&ino);
        self.others_len
            .store(others.numbers.len(), Ordering::SeqCst);
        number
    }

    /// Counts a lookup; returns the node as the error when the number stands for another.
    fn count(&self, ino: u64, node: KnownNode, keeps: bool) -> Result<LookupCount, KnownNode> {
        let followed = if keeps { node.followed() } else { None };
        let mut shard = self.shard(ino).lock();
        let clock = shard.clock;
        let known = shard.slots.get_mut(&ino);
        let is_first = known.is_none();
        match known {
            Some(slot) if slot.node.is_same(&node) && !slot.is_detached => {
                slot.lookups = slot.lookups.saturating_add(1);
                // The nodes are equal, but a query path holds its table's definition, which may be
                // a new one.
                slot.node = node;
            }
            Some(_) => return Err(node),
            None => {
                shard.slots.insert(
                    ino,
                    InodeSlot {
                        node,
                        lookups: 1,
                        mark: None,
                        inserted: clock,
                        last_asked_ms: 0,
                        is_detached: false,
                        told: 0,
                        before: 0,
                    },
                );
                shard.clock = clock.wrapping_add(1);
                self.len.fetch_add(1, Ordering::Relaxed);
                self.inserted.fetch_add(1, Ordering::Relaxed);
            }
        }
        if keeps {
            shard.mark(ino);
        }
        drop(shard);
        self.follow(followed, ino);
        Ok(LookupCount { ino, is_first })
    }

    /// Returns the number under which the kernel knows the node of this number.
    #[must_use]
    pub fn number(&self, ino: u64) -> u64 {
        if self.others_len.load(Ordering::SeqCst) == 0 {
            return ino;
        }
        let others = self.others.lock();
        others.numbers.get(&ino).copied().unwrap_or(ino)
    }

    /// Detaches the number of an item from its name: it stands for the version that is open. The
    /// next lookup of the name gets another number.
    pub fn detach(&self, ino: u64) {
        self.with_slot(ino, |slot| slot.is_detached = true);
    }

    /// Returns the number that the name of a node with this number had before, if it is still marked: a
    /// look that found a version before its commit was reported has detached it.
    #[must_use]
    pub fn marked_before(&self, ino: u64) -> Option<(u64, CacheMark)> {
        let before = self.with_slot(ino, |slot| slot.before)?;
        Some((before, self.mark_of(before)?))
    }

    /// Notes that the kernel is told attributes of this version of an item, 0 if it has none, or that
    /// it may change the size itself ([`MIXED`]). Must be called before the reply.
    pub fn tell(&self, ino: u64, version: Version) {
        self.with_slot(ino, |slot| {
            slot.told = match slot.told {
                0 if version > 0 => version,
                told if told == version => told,
                _ => MIXED,
            };
        });
    }

    /// True if the kernel has been told attributes of this version only: it has no other size.
    #[must_use]
    pub fn is_told_only(&self, ino: u64, version: Version) -> bool {
        self.with_slot(ino, |slot| slot.told) == Some(version)
    }

    /// True if no name stands for this number any more.
    #[must_use]
    pub fn is_detached(&self, ino: u64) -> bool {
        self.with_slot(ino, |slot| slot.is_detached) == Some(true)
    }

    /// Records that a directory and those below it are removed. Must be called before the reply to
    /// the kernel, which then marks its inode dead.
    pub fn remove_dir(&self, directory: &Node) {
        if directory.kind() != NodeKind::Directory {
            return;
        }
        let mut others = self.others.lock();
        self.set(&mut others, directory, KnownNode::Other(None));
        // Other directories are removed only when they have no directories in them.
        if matches!(directory, Node::Table(_) | Node::Index(_)) {
            self.remove_below(&mut others, directory);
        }
    }

    fn remove_below(&self, others: &mut OtherNumbers, directory: &Node) {
        for shard in &self.shards {
            for slot in shard
                .lock()
                .slots
                .values_mut()
                .filter(|slot| slot.node.is_directory())
            {
                if let Some(below) = slot.node.node().filter(|node| node.is_below(directory)) {
                    self.remove_number(others, below.ino());
                    slot.node = KnownNode::Other(None);
                }
            }
        }
    }

    /// Records that a directory was renamed, perhaps onto another, which is removed by that.
    pub fn rename_dir(&self, from: &Node, to: Node) {
        let mut others = self.others.lock();
        self.set(&mut others, &to, KnownNode::Other(None));
        let ino = to.ino();
        if let Some(number) = self.set(&mut others, from, KnownNode::new(to, &self.sources))
            && number != ino
        {
            self.set_number(&mut others, ino, number);
        }
    }

    /// Sets the node of a directory that the kernel knows; returns its number.
    fn set(&self, others: &mut OtherNumbers, directory: &Node, now: KnownNode) -> Option<u64> {
        let ino = directory.ino();
        let number = self.remove_number(others, ino).unwrap_or(ino);
        let mut shard = self.shard(number).lock();
        let slot = shard
            .slots
            .get_mut(&number)
            .filter(|slot| slot.node.node().as_deref() == Some(directory))?;
        slot.node = now;
        Some(number)
    }

    /// True if this was a directory that is removed.
    #[must_use]
    pub fn is_removed(&self, ino: u64) -> bool {
        self.with_slot(ino, |slot| matches!(slot.node, KnownNode::Other(None))) == Some(true)
    }

    /// True if this was called for the node before, within that time, but not in this very
    /// millisecond.
    pub fn is_repeated(&self, ino: u64, within: Duration, now_ms: u64) -> bool {
        let now = u32::try_from(now_ms & u64::from(u32::MAX)).unwrap_or_default();
        let before = self.with_slot(ino, |slot| std::mem::replace(&mut slot.last_asked_ms, now));
        before.is_some_and(|before| {
            let since = now.wrapping_sub(before);
            since > 0 && u128::from(since) < within.as_millis()
        })
    }

    /// Takes back one lookup that [`InodeTable::add_lookup`] counted: the reply does not contain the
    /// node.
    pub fn undo_lookup(&self, ino: u64) {
        self.forget(ino, 1);
    }

    /// Marks a known node as cacheable, as [`InodeTable::add_lookup`], for a reply that is no lookup.
    pub fn set_mark(&self, ino: u64) {
        let mut shard = self.shard(ino).lock();
        shard.mark(ino);
        let slot = shard.slots.get(&ino);
        let followed = slot.and_then(|slot| slot.node.followed());
        drop(shard);
        self.follow(followed, ino);
    }

    fn follow(&self, followed: Option<u64>, ino: u64) {
        if let Some(followed) = followed {
            self.followers.update(|all| all.insert((followed, ino)));
        }
    }

    /// True if at least `count` marked nodes of indexes follow this one.
    #[must_use]
    pub fn has_followers(&self, followed: u64, count: usize) -> bool {
        let of = (followed, 0)..=(followed, u64::MAX);
        self.followers
            .is_any(|all| all.range(of).take(count).count() == count)
    }

    /// Returns the marked nodes of indexes that a commit of this item, or in this table, may have
    /// changed; they follow it no more until they are marked again.
    #[must_use]
    pub fn take_followers(&self, followed: impl FnOnce() -> u64) -> Vec<(u64, CacheMark)> {
        if self.followers.is_empty() {
            return Vec::new();
        }
        let followed = followed();
        let taken: Vec<_> = self.followers.update(|all| {
            let of = (followed, 0)..=(followed, u64::MAX);
            all.extract_if(of, |_| true).collect()
        });
        let marked = |(_, ino)| Some((ino, self.mark_of(ino)?));
        taken.into_iter().filter_map(marked).collect()
    }

    /// Returns the mark of a node that the kernel may cache.
    #[must_use]
    pub fn mark_of(&self, ino: u64) -> Option<CacheMark> {
        self.with_slot(ino, |slot| slot.mark)?
    }

    /// Clears the mark, unless a later one was set: the kernel no longer caches replies up to it.
    pub fn clear_mark(&self, ino: u64, mark: CacheMark) {
        self.with_slot(ino, |slot| slot.mark.take_if(|now| *now == mark));
    }

    /// Returns all marked nodes, of one table, one index or of all.
    #[must_use]
    pub fn all_marked(&self, source: Option<&SourceName>) -> Vec<(u64, CacheMark)> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            let is_of = |slot: &InodeSlot| source.is_none_or(|source| slot.node.is_of(source));
            let marked = shard.slots.iter().filter(|(_, slot)| is_of(slot));
            all.extend(marked.filter_map(|(ino, slot)| Some((*ino, slot.mark?))));
        }
        all
    }

    /// True if there are more than `most` nodes, and enough of them new since [`InodeTable::oldest`] to
    /// look through all again: the kernel may keep what it was asked to forget.
    #[must_use]
    pub fn is_excess(&self, most: usize) -> bool {
        let inserted = self.inserted.load(Ordering::Relaxed);
        let before = self.inserted_at_oldest.load(Ordering::Relaxed);
        self.len() > most && (before == 0 || inserted.wrapping_sub(before) >= most / 16)
    }

    /// Returns the oldest nodes if there are more than `most`: those that were not among the last
    /// 7/8 of that number to be inserted. None of them is returned again before as many insertions.
    #[must_use]
    pub fn oldest(&self, most: usize) -> Vec<u64> {
        let most = most / SHARDS;
        let left = u32::try_from(most - most / 8).unwrap_or(u32::MAX);
        let mut oldest = Vec::new();
        self.inserted_at_oldest
            .store(self.inserted.load(Ordering::Relaxed), Ordering::Relaxed);
        for shard in &self.shards {
            let mut shard = shard.lock();
            if shard.slots.len() <= most {
                continue;
            }
            let clock = shard.clock;
            let old = shard
                .slots
                .iter_mut()
                .filter(|(_, slot)| clock.wrapping_sub(slot.inserted) > left);
            oldest.extend(old.map(|(ino, slot)| {
                slot.inserted = clock;
                *ino
            }));
        }
        oldest
    }

    /// Returns the node of a number that the kernel knows.
    #[must_use]
    pub fn get(&self, ino: u64) -> Option<Arc<Node>> {
        if ino == ROOT_INO {
            return Some(Arc::clone(&self.root));
        }
        self.with_slot(ino, |slot| slot.node.node())?
    }

    /// Returns the node as [`InodeTable::get`], but not an item, index entry or collection, which
    /// would have to be unpacked.
    #[must_use]
    pub fn get_unpacked(&self, ino: u64) -> Option<Arc<Node>> {
        if ino == ROOT_INO {
            return Some(Arc::clone(&self.root));
        }
        self.with_slot(ino, |slot| slot.node.unpacked().cloned())?
    }

    /// Takes back `count` lookups; returns the node when none are left.
    pub fn forget(&self, ino: u64, count: u64) -> Option<Arc<Node>> {
        let mut shard = self.shard(ino).lock();
        let slot = shard.slots.get_mut(&ino)?;
        if slot.lookups < u32::MAX {
            slot.lookups = slot
                .lookups
                .saturating_sub(u32::try_from(count).unwrap_or(u32::MAX));
        }
        if slot.lookups > 0 {
            return None;
        }
        let gone = shard.slots.remove(&ino);
        self.len.fetch_sub(1, Ordering::Relaxed);
        // Gives memory back: a table may once have held a million entries.
        let slots = &mut shard.slots;
        if slots.capacity() > 1024 && slots.len() < slots.capacity() / 8 {
            slots.shrink_to_fit();
        }
        drop(shard);
        let gone = gone?.node;
        if let Some(followed) = gone.followed() {
            self.followers.update(|all| {
                // Unless the number was counted again meanwhile.
                if !self.shard(ino).lock().slots.contains_key(&ino) {
                    all.remove(&(followed, ino));
                }
            });
        }
        let node = gone.node()?;
        let own = node.ino();
        if own != ino {
            let mut others = self.others.lock();
            // Unless the number was counted again meanwhile.
            if others.numbers.get(&own) == Some(&ino)
                && !self.shard(ino).lock().slots.contains_key(&ino)
            {
                self.remove_number(&mut others, own);
            }
        }
        Some(node)
    }

    /// Returns the number of nodes that the kernel knows, without the root.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// True if the kernel knows no node but the root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A node, packed if possible.
#[derive(Debug, Clone)]
enum KnownNode {
    /// An item, an index entry or a collection of this source.
    Packed(Arc<SourceName>, PackedNode),
    /// Any other node; `None` for a removed directory, which is empty for processes that hold it,
    /// whatever is made in its place.
    Other(Option<Arc<Node>>),
}

/// A node without its source.
///
/// ```text
/// kind, partition count, sort count (one byte each, the counts those of an index's key, 0 of a table's),
/// then each value of the index's key and of the base key: its type's letter, its ordered bytes
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
struct PackedNode(Box<[u8]>);

/// The sources of the known nodes, each once.
#[derive(Debug, Default)]
struct SourceInterner {
    known: Mutex<HashMap<SourceName, Weak<SourceName>>>,
}

/// The number of sources from which unused ones are dropped.
const SOURCES_SWEEP: usize = 1_000;

impl SourceInterner {
    pub fn share(&self, source: &SourceName) -> Arc<SourceName> {
        let mut known = self.known.lock();
        if let Some(shared) = known.get(source).and_then(Weak::upgrade) {
            return shared;
        }
        if known.len() >= SOURCES_SWEEP {
            known.retain(|_, shared| shared.strong_count() > 0);
        }
        let shared = Arc::new(source.clone());
        known.insert(source.clone(), Arc::downgrade(&shared));
        shared
    }
}

impl KnownNode {
    /// Packs a node.
    #[must_use]
    pub fn new(node: Node, sources: &SourceInterner) -> Self {
        let packed = match &node {
            Node::Entry(entry) => {
                PackedNode::entry(&entry.key, entry.form).map(|packed| (&entry.source, packed))
            }
            Node::Collection(source, partition) => {
                PackedNode::collection(partition).map(|packed| (source, packed))
            }
            _ => None,
        };
        match packed {
            Some((source, packed)) => Self::Packed(sources.share(source), packed),
            None => Self::Other(Some(Arc::new(node))),
        }
    }

    /// Creates the node of an item or folder of this source that is packed.
    #[must_use]
    pub fn item(source: &Arc<SourceName>, packed: &[u8]) -> Self {
        Self::Packed(Arc::clone(source), PackedNode(packed.into()))
    }

    /// Returns the node, unpacked if necessary.
    #[must_use]
    pub fn node(&self) -> Option<Arc<Node>> {
        match self {
            Self::Other(node) => node.clone(),
            Self::Packed(source, packed) => {
                let node = packed.node(SourceName::clone(source));
                debug_assert!(node.is_some(), "a packed node does not unpack: {packed:?}");
                node.map(Arc::new)
            }
        }
    }

    /// Returns the node if it is not packed.
    #[must_use]
    pub fn unpacked(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Other(node) => node.as_ref(),
            Self::Packed(..) => None,
        }
    }

    /// True if it is or was a directory.
    fn is_directory(&self) -> bool {
        match self {
            Self::Packed(_, packed) => packed.0.first() == Some(&COLLECTION),
            Self::Other(node) => node
                .as_ref()
                .is_none_or(|node| node.kind() == NodeKind::Directory),
        }
    }

    /// True if it is an item, an entry or a folder of that table, or of that index.
    #[must_use]
    pub fn is_of(&self, source: &SourceName) -> bool {
        match self {
            Self::Packed(own, _) => {
                own.table == source.table && (source.index.is_none() || own.index == source.index)
            }
            Self::Other(_) => false,
        }
    }

    /// Returns the number of the node whose commits change this one of an index: of an entry the
    /// item, of a folder the table.
    fn followed(&self) -> Option<u64> {
        let Self::Packed(source, packed) = self else {
            return None;
        };
        source.index.as_ref()?;
        Some(match packed.node(SourceName::clone(source))? {
            Node::Entry(entry) => item_ino(entry.table(), entry.key()),
            _ => Node::Table(source.table.clone()).ino(),
        })
    }

    /// True if both stand for the same node.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Packed(source, packed), Self::Packed(source2, packed2)) => {
                (source, packed) == (source2, packed2)
            }
            (Self::Other(Some(node)), Self::Other(Some(node2))) => node == node2,
            _ => false,
        }
    }
}

const PLAIN_JSON: u8 = 0;
const DYNAMODB_JSON: u8 = 1;
const COLLECTION: u8 = 2;

/// Appends the packed node of an item's plain JSON.
pub fn pack_item(key: &EntryKey, out: &mut Vec<u8>) {
    let fits = PackedNode::write_entry(key, TextForm::PlainJson, out);
    debug_assert!(fits.is_some(), "a key that none can be");
}

/// Appends the packed node of a collection's folder.
pub fn pack_folder(partition: &[AttributeValue], out: &mut Vec<u8>) {
    let fits = PackedNode::write([COLLECTION, 0, 0], partition, out);
    debug_assert!(fits.is_some(), "a key that none can be");
}

impl PackedNode {
    /// Packs an entry; returns `None` for a value of a type that no key has.
    fn entry(entry: &EntryKey, form: TextForm) -> Option<Self> {
        let mut bytes = Vec::with_capacity(64);
        Self::write_entry(entry, form, &mut bytes)?;
        Some(Self(bytes.into()))
    }

    fn write_entry(entry: &EntryKey, form: TextForm, out: &mut Vec<u8>) -> Option<()> {
        let kind = match form {
            TextForm::PlainJson => PLAIN_JSON,
            TextForm::DynamoDbJson => DYNAMODB_JSON,
        };
        let base = std::iter::once(&entry.base.partition).chain(&entry.base.sort);
        match &entry.index {
            None => Self::write([kind, 0, 0], base, out),
            Some((partition, sort)) => {
                let head = [
                    kind,
                    u8::try_from(partition.len()).ok()?,
                    u8::try_from(sort.len()).ok()?,
                ];
                Self::write(head, partition.iter().chain(sort).chain(base), out)
            }
        }
    }

    fn collection(partition: &[AttributeValue]) -> Option<Self> {
        let mut bytes = Vec::with_capacity(64);
        Self::write([COLLECTION, 0, 0], partition, &mut bytes)?;
        Some(Self(bytes.into()))
    }

    fn write<'a>(
        head: [u8; 3],
        values: impl IntoIterator<Item = &'a AttributeValue>,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        out.extend(head);
        for value in values {
            out.push(match value {
                AttributeValue::S(_) => b'S',
                AttributeValue::N(_) => b'N',
                AttributeValue::B(_) => b'B',
                _ => return None,
            });
            key::encode(value, out);
        }
        Some(())
    }

    fn node(&self, source: SourceName) -> Option<Node> {
        let (head, mut rest) = self.0.split_first_chunk::<3>()?;
        let mut values = Vec::with_capacity(2);
        while let Some((letter, bytes)) = rest.split_first() {
            let attribute_type = match letter {
                b'S' => KeyAttributeType::S,
                b'N' => KeyAttributeType::N,
                b'B' => KeyAttributeType::B,
                _ => return None,
            };
            let (value, after) = key::decode(attribute_type, bytes).ok()?;
            values.push(value);
            rest = after;
        }
        let form = match head[0] {
            PLAIN_JSON => TextForm::PlainJson,
            DYNAMODB_JSON => TextForm::DynamoDbJson,
            COLLECTION => return Some(Node::Collection(source, values)),
            _ => return None,
        };
        let counts = source.index.as_ref().map(|_| [head[1], head[2]]);
        let key = entry_key(values, counts)?;
        Some(Node::Entry(Box::new(EntryNode { source, key, form })))
    }
}

/// Returns the key of these values; `counts` are those of an index's partition and sort keys.
fn entry_key(mut values: Vec<AttributeValue>, counts: Option<[u8; 2]>) -> Option<EntryKey> {
    let [partition, sort] = counts.unwrap_or_default().map(usize::from);
    if values.len() <= partition + sort {
        return None;
    }
    let mut base = values.split_off(partition + sort).into_iter();
    let base = Key {
        partition: base.next()?,
        sort: base.next(),
    };
    let sort = values.split_off(partition);
    Some(EntryKey {
        index: counts.map(|_| (values, sort)),
        base,
    })
}

#[cfg(test)]
mod inode_table_tests {
    use super::*;
    use crate::model::{AttributeValue, IndexName};

    fn table(name: &str) -> Node {
        Node::Table(TableName::new(name).unwrap())
    }

    #[test]
    fn a_node_stays_until_every_lookup_is_forgotten() {
        let inodes = InodeTable::default();
        let LookupCount { ino, is_first } = inodes.add_lookup(table("Orders"), false).unwrap();
        assert!(is_first);
        assert_eq!(
            inodes.add_lookup(table("Orders"), false),
            Some(LookupCount {
                ino,
                is_first: false
            })
        );
        assert!(inodes.forget(ino, 1).is_none());
        assert_eq!(inodes.get(ino).as_deref(), Some(&table("Orders")));
        assert!(inodes.forget(ino, 1).is_some());
        assert!(inodes.get(ino).is_none());
        assert!(inodes.is_empty());
        assert!(
            inodes
                .add_lookup(table("Orders"), false)
                .is_some_and(|counted| counted.is_first),
            "it is known anew"
        );
    }

    #[test]
    fn a_directory_made_in_the_place_of_one_that_is_held_has_another_number_and_a_renamed_one_keeps_its_own()
     {
        let inodes = InodeTable::default();
        let ino = |name: &str| inodes.add_lookup(table(name), false).unwrap().ino;
        let forget = |ino: u64| inodes.forget(ino, 10);
        let (one, own) = (ino("One"), table("One").ino());
        assert_eq!((one, inodes.number(own)), (own, own));
        inodes.remove_dir(&table("One"));
        assert!(inodes.is_removed(one) && inodes.get(one).is_none());
        let again = ino("One");
        assert_eq!(
            (again, again == one, inodes.number(own), ino("One")),
            (LAST_FIXED_INO + 1, false, again, again)
        );
        assert!(forget(one).is_none() && !inodes.is_removed(one));
        assert_eq!(ino("One"), again, "known by that number still");
        // Renames onto a directory that is held.
        let two = ino("Two");
        inodes.rename_dir(&table("One"), table("Two"));
        assert_eq!(
            (
                ino("Two"),
                inodes.get(again).as_deref(),
                inodes.is_removed(two)
            ),
            (again, Some(&table("Two")), true)
        );
        assert_eq!(ino("One"), one, "nobody holds that number");
        inodes.rename_dir(&table("Two"), table("Three"));
        assert_eq!((ino("Three"), ino("Two")), (again, LAST_FIXED_INO + 2));
        // Renames back: a number that a node has by itself is not stored as another.
        inodes.rename_dir(&table("One"), table("Four"));
        inodes.rename_dir(&table("Four"), table("One"));
        assert_eq!((ino("One"), ino("Four")), (one, table("Four").ino()));
        // An unknown node, a removed one, or one that is no directory changes nothing.
        inodes.remove_dir(&table("Five"));
        inodes.remove_dir(&Node::Readme);
        assert_eq!(ino("Five"), table("Five").ino());
        // After the kernel has forgotten a number, a node has its own again.
        assert!(forget(again).is_some() && forget(two).is_none());
        assert_eq!(ino("Three"), table("Three").ino());
        assert_eq!(ino("Two"), LAST_FIXED_INO + 2);
    }

    #[test]
    fn directories_below_a_removed_table_or_index_have_other_numbers_when_they_are_made_again() {
        let inodes = InodeTable::default();
        let ino = |node: &Node| inodes.add_lookup(node.clone(), false).unwrap().ino;
        let source = |table: &str, index: Option<&str>| SourceName {
            table: TableName::new(table).unwrap(),
            index: index.map(|name| IndexName::new(name).unwrap()),
        };
        let partition = || vec![AttributeValue::S("u1".to_owned())];
        let below = |source: &SourceName| {
            [
                Node::Items(source.clone()),
                Node::Collection(source.clone(), partition()),
            ]
        };
        let (base, index) = (source("One", None), source("One", Some("by-x")));
        let (of_table, of_index) = (below(&base), below(&index));
        let index = Node::Index(index);
        let others = [
            Node::Schema(base),
            table("Two"),
            Node::Items(source("Two", None)),
        ];
        let numbers = |nodes: &[Node]| -> Vec<u64> { nodes.iter().map(ino).collect() };
        let before = (
            numbers(&of_table),
            numbers(&of_index),
            ino(&index),
            numbers(&others),
        );
        inodes.remove_dir(&index);
        let after = (
            numbers(&of_table),
            numbers(&of_index),
            ino(&index),
            numbers(&others),
        );
        assert_eq!((&after.0, &after.3), (&before.0, &before.3));
        assert!(
            after.1.iter().all(|ino| !before.1.contains(ino))
                && before.1.iter().all(|ino| inodes.is_removed(*ino))
        );
        inodes.remove_dir(&table("One"));
        let again = (
            numbers(&of_table),
            numbers(&of_index),
            ino(&index),
            numbers(&others),
        );
        let is_other =
            |again: &[u64], before: &[u64]| again.iter().all(|ino| !before.contains(ino));
        assert!(is_other(&again.0, &after.0) && is_other(&again.1, &after.1) && again.2 != after.2);
        assert_eq!(again.3, before.3, "files, and another table");
    }

    #[test]
    fn a_name_is_asked_again_within_a_time_and_not_at_once() {
        let inodes = InodeTable::default();
        let ino = inodes.add_lookup(table("Orders"), false).unwrap().ino;
        let asked = |now_ms| inodes.is_repeated(ino, Duration::from_secs(3), now_ms);
        assert!(
            !asked(1 << 40) && !asked(1 << 40) && asked((1 << 40) + 1) && asked((1 << 40) + 3_000)
        );
        assert!(
            !asked((1 << 40) + 6_000) && !inodes.is_repeated(ino + 1, Duration::from_secs(3), 1)
        );
    }

    #[test]
    fn the_root_is_never_forgotten() {
        let inodes = InodeTable::default();
        inodes.forget(ROOT_INO, 1000);
        assert_eq!(inodes.get(ROOT_INO).as_deref(), Some(&Node::Root));
        assert_eq!(
            inodes
                .add_lookup(Node::Root, true)
                .map(|counted| counted.ino),
            Some(ROOT_INO)
        );
        assert!(inodes.is_empty());
    }

    #[test]
    fn forgetting_what_is_not_known_does_nothing() {
        assert!(InodeTable::default().forget(77, 5).is_none());
    }

    #[test]
    fn a_mark_ends_only_with_what_was_told_up_to_it() {
        let inodes = InodeTable::default();
        let ino = inodes.add_lookup(table("Orders"), true).unwrap().ino;
        let first = inodes.mark_of(ino).unwrap();
        assert_eq!(inodes.all_marked(None), [(ino, first)]);
        assert!(
            inodes
                .all_marked(Some(&SourceName::from(&TableName::new("Other").unwrap())))
                .is_empty()
        );
        inodes.set_mark(ino);
        inodes.clear_mark(ino, first);
        let second = inodes
            .mark_of(ino)
            .expect("told again after the mark that ended");
        inodes.clear_mark(ino, second);
        assert_eq!(inodes.mark_of(ino), None);
        inodes.set_mark(ino);
        inodes.undo_lookup(ino);
        assert_eq!((inodes.mark_of(ino), inodes.len()), (None, 0));
    }

    #[test]
    fn a_marked_node_of_an_index_follows_its_item_or_its_table_until_it_is_taken() {
        let inodes = InodeTable::default();
        let s = |text: &str| AttributeValue::S(text.to_owned());
        let source = SourceName {
            table: TableName::new("Orders").unwrap(),
            index: Some(IndexName::new("by-x").unwrap()),
        };
        let base = Key {
            partition: s("u1"),
            sort: Some(s("o1")),
        };
        let item = item_ino(&source.table, &base);
        let entry = |index: &str| {
            Node::Entry(Box::new(EntryNode {
                source: source.clone(),
                key: EntryKey {
                    index: Some((vec![s(index)], Vec::new())),
                    base: base.clone(),
                },
                form: TextForm::PlainJson,
            }))
        };
        let add = |node: Node, keeps| inodes.add_lookup(node, keeps).unwrap().ino;
        let taken = |of| -> Vec<u64> {
            let taken = inodes.take_followers(|| of).into_iter();
            taken.map(|(ino, _)| ino).collect()
        };
        let (one, _) = (add(entry("a"), true), add(entry("b"), false));
        let folder = add(Node::Collection(source.clone(), vec![s("a")]), true);
        let of_table = table("Orders").ino();
        assert_eq!((taken(item), taken(of_table)), (vec![one], vec![folder]));
        assert_eq!((taken(item), taken(of_table)), (vec![], vec![]));
        inodes.set_mark(one);
        inodes.set_mark(one);
        assert_eq!(taken(item), [one]);
        inodes.set_mark(one);
        inodes.undo_lookup(one);
        assert!(taken(item).is_empty() && inodes.followers.is_empty());
    }

    #[test]
    fn the_oldest_are_named_once_and_the_newest_stay() {
        let inodes = InodeTable::default();
        let inos: Vec<u64> = (0..8_000)
            .map(|number| {
                inodes
                    .add_lookup(table(&format!("t{number:05}")), true)
                    .unwrap()
                    .ino
            })
            .collect();
        assert!(inodes.is_excess(4_000) && !inodes.is_excess(8_000));
        assert!(inodes.oldest(8_000 * 2).is_empty());
        assert!(!inodes.is_excess(4_000), "few are new since");
        let oldest = inodes.oldest(4_000);
        assert!(
            oldest.len() > 4_000 && inos[6_000..].iter().all(|ino| !oldest.contains(ino)),
            "{}",
            oldest.len()
        );
        assert!(inodes.oldest(4_000).is_empty(), "asked to go already");
    }
}

#[cfg(test)]
mod known_tests {
    use super::*;
    use crate::model::IndexName;

    fn s(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    #[test]
    fn what_is_packed_is_the_same_when_it_is_unpacked() {
        let sources = SourceInterner::default();
        let check = |node: Node| {
            let known = KnownNode::new(node.clone(), &sources);
            assert_eq!(known.node().as_deref(), Some(&node));
            assert!(known.is_same(&KnownNode::new(node.clone(), &sources)));
            assert!(!known.is_same(&KnownNode::new(Node::Readme, &sources)));
            known
        };
        let table = TableName::new("Orders").unwrap();
        let source = SourceName::from(&table);
        let number = |text: &str| AttributeValue::N(text.parse().unwrap());
        let (partition, sort) = (s("u\u{0}1"), Some(number("-12.50")));
        let base = Key { partition, sort };
        let index = Some((
            vec![s("open"), AttributeValue::B(vec![0, 255])],
            vec![number("7")],
        ));
        for form in [TextForm::PlainJson, TextForm::DynamoDbJson] {
            for key in [
                EntryKey {
                    index: None,
                    base: base.clone(),
                },
                EntryKey {
                    index: None,
                    base: Key {
                        partition: s(""),
                        sort: None,
                    },
                },
                EntryKey {
                    index: index.clone(),
                    base: base.clone(),
                },
                EntryKey {
                    index: Some((vec![s("x")], Vec::new())),
                    base: base.clone(),
                },
                EntryKey {
                    index: Some((Vec::new(), Vec::new())),
                    base: base.clone(),
                },
            ] {
                let of_index = key.index.as_ref().map(|_| IndexName::new("by-x").unwrap());
                let known = check(Node::Entry(Box::new(EntryNode {
                    source: SourceName {
                        index: of_index,
                        ..source.clone()
                    },
                    key,
                    form,
                })));
                assert!(matches!(known, KnownNode::Packed(..)));
            }
        }
        assert!(matches!(
            check(Node::Collection(source.clone(), vec![s("a"), number("1")])),
            KnownNode::Packed(..)
        ));
        check(Node::Table(table));
        assert_eq!(sources.known.lock().len(), 2);
    }

    #[test]
    fn an_item_that_a_listing_packed_is_the_node_of_its_file() {
        let (sources, source) = (
            SourceInterner::default(),
            SourceName {
                table: TableName::new("Orders").unwrap(),
                index: None,
            },
        );
        for sort in [None, Some(s("o1"))] {
            let key = EntryKey {
                index: None,
                base: Key {
                    partition: s("u1"),
                    sort,
                },
            };
            let mut packed = Vec::new();
            pack_item(&key, &mut packed);
            let known = KnownNode::item(&sources.share(&source), &packed);
            let node = EntryNode {
                source: source.clone(),
                key,
                form: TextForm::PlainJson,
            };
            assert!(known.is_same(&KnownNode::new(Node::Entry(Box::new(node)), &sources)));
        }
    }

    #[test]
    fn an_item_takes_few_bytes() {
        assert!(size_of::<KnownNode>() <= 24, "{}", size_of::<KnownNode>());
    }
}
