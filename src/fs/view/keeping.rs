//! What is known of what the kernel keeps, and who tells it that that is over. The rules are in [`super::lasting`] and
//! [`super::ending`].

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::{Mutex, RwLock};

use crate::database::TextForm;
use crate::engine::observer::{Observer, Patience, Then};
use crate::fs::FsError;
use crate::fs::node::{EntryNode, Node};
use crate::fs::path::names;
use crate::fs::recent::Recent;
use crate::fs::time::now_ms;

/// How long a rename may take to come again.
const MOVING_MS: u64 = 1_000;
const MOVING_MAX: usize = 1_000;
/// How long the kernel may believe in a name that was renamed: what it keeps, and a while for the answer to come.
const MOVED_MS: u64 = 6_000;

/// Inode numbers of what is about to be renamed.
#[derive(Debug, Default)]
pub struct Moving {
    /// With whether it was looked up since, by which the kernel keeps it no more.
    inos: Mutex<Recent<u64, bool, MOVING_MAX, MOVING_MS>>,
    count: AtomicUsize,
    /// What was renamed of late.
    moved: Mutex<Recent<u64, (), MOVING_MAX, MOVED_MS>>,
    moved_count: AtomicUsize,
}

impl Moving {
    /// It is about to be renamed. Does the kernel keep its name no more?
    pub fn begin(&self, ino: u64) -> bool {
        let (mut inos, now_ms) = (self.inos.lock(), now_ms());
        let is_ready = inos.get(&ino, now_ms) == Some(&true);
        inos.keep(ino, is_ready, now_ms);
        self.count.store(inos.len(), Ordering::SeqCst);
        is_ready
    }

    /// It was renamed, or not.
    pub fn end(&self, ino: u64) {
        let mut inos = self.inos.lock();
        inos.remove(&ino);
        self.count.store(inos.len(), Ordering::SeqCst);
        // The other lock is taken alone.
        drop(inos);
        let mut moved = self.moved.lock();
        moved.keep(ino, (), now_ms());
        self.moved_count.store(moved.len(), Ordering::SeqCst);
    }

    /// What is to be said of an inode that is not there: if it was renamed of late, the kernel may take it for what has its name now,
    /// by an answer that was on its way while it was renamed. So it is to look the name up again.
    pub fn gone(&self, ino: u64) -> FsError {
        let was_moved = self.moved_count.load(Ordering::SeqCst) > 0 && self.moved.lock().get(&ino, now_ms()).is_some();
        if was_moved { FsError::Stale } else { FsError::NotFound }
    }

    /// Is it about to be renamed?
    pub fn holds(&self, ino: u64) -> bool {
        self.count.load(Ordering::SeqCst) > 0 && self.inos.lock().get(&ino, now_ms()).is_some()
    }

    /// The same; who asks answers so that it is not kept.
    pub fn is_looked_up(&self, ino: u64) -> bool {
        if self.count.load(Ordering::SeqCst) == 0 {
            return false;
        }
        match self.inos.lock().get_mut(&ino, now_ms()) {
            Some(is_ready) => {
                *is_ready = true;
                true
            }
            None => false,
        }
    }
}

/// Whether anything is kept now.
#[derive(Default)]
pub struct Keeping {
    pub is_on: AtomicBool,
    /// When that ended last: a directory's name is kept a little longer.
    pub was_on: Mutex<Option<Instant>>,
    pub moving: Moving,
    /// Who tells the kernel, while there is a mount.
    pub kernel: RwLock<Option<Arc<dyn Kernel>>>,
    /// What is there as long as the kernel may keep anything.
    pub remains: OnceLock<PathBuf>,
    /// The view as the engine knows it, while anything is kept.
    pub observer: Mutex<Option<Arc<dyn Observer>>>,
    /// The mount goes, or is gone.
    pub is_over: AtomicBool,
    pub is_evicting: AtomicBool,
    pub told: Told,
}

impl std::fmt::Debug for Keeping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeping").field("is_on", &self.is_on).field("told", &self.told).finish_non_exhaustive()
    }
}

/// A name in a directory, by its inode number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub parent: u64,
    pub name: String,
}

/// What the kernel is told of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// What it knows of the attributes is over.
    Attributes(u64),
    /// The same, and the name is to be looked up again. What was answered in that directory before has arrived when this is done.
    Changed(Name, u64),
    /// The name is gone, with all that is below; so are the attributes.
    Gone(Name, u64),
}

/// Who tells the kernel.
pub trait Kernel: Send + Sync {
    /// Tells it all of these, then calls `ended`; calls `then` after that, or when patience is over. Never blocks.
    fn tell(&self, notices: Vec<Notice>, patience: Patience, ended: Then, then: Then);
}

/// What was done so far, for `.ddb/stats.json`.
#[derive(Debug, Default)]
pub struct Told {
    pub notices: AtomicU64,
    pub evicted: AtomicU64,
    /// LOOKUP and GETATTR requests.
    pub asked: AtomicU64,
}

/// The item whose plain text a node is: of nothing else are names and attributes kept.
pub fn item_of(node: &Node) -> Option<&EntryNode> {
    match node {
        Node::Entry(entry) if entry.source.index.is_none() && entry.form == TextForm::PlainJson => Some(entry),
        _ => None,
    }
}

/// Is this how the node is listed in that directory? The name that ends when the node does; others for the same key are not kept.
pub fn is_own_name(parent: &Node, node: &Node, name: &[u8]) -> bool {
    match (parent, item_of(node)) {
        (Node::Items(_) | Node::Collection(..), Some(entry)) => {
            names::entry_name(&entry.key, TextForm::PlainJson).as_bytes() == name
        }
        (_, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rename_goes_on_when_the_name_was_looked_up_since_it_was_asked_for() {
        let moving = Moving::default();
        assert!(!moving.is_looked_up(1));
        assert!(!moving.begin(1) && !moving.begin(1), "nobody has looked it up");
        assert!(moving.is_looked_up(1) && !moving.is_looked_up(2));
        assert!(moving.begin(1));
        moving.end(1);
        assert!(!moving.is_looked_up(1) && !moving.begin(1));
        assert_eq!((moving.gone(1), moving.gone(2)), (FsError::Stale, FsError::NotFound));
    }
}
