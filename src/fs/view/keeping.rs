//! What is known of what the kernel keeps, and who tells it that that is over. The rules are in [`super::lasting`] and
//! [`super::ending`].

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};

use crate::database::TextForm;
use crate::engine::observer::{Observer, Patience, Then};
use crate::fs::node::{EntryNode, Node};
use crate::fs::path::names;
use crate::fs::recent::Recent;
use crate::fs::seldom::Seldom;
use crate::fs::time::now_ms;

/// How long a rename may take to come again.
const MOVING_MS: u64 = 10_000;
const MOVING_MAX: usize = 1_000;

/// Inode numbers of what is about to be renamed.
#[derive(Debug, Default)]
pub struct Moving {
    /// With the thread that renames, and whether it has looked the name up since, by which the kernel keeps it no more. Not by another
    /// thread's look: the kernel takes the answer to that when it likes.
    inos: Seldom<Recent<(u64, u32), bool, MOVING_MAX, MOVING_MS>>,
}

impl Moving {
    /// It is about to be renamed by that thread. Does the kernel keep its name no more?
    pub fn begin(&self, ino: u64, thread: u32) -> bool {
        let now_ms = now_ms();
        self.inos.change(|inos| {
            let is_ready = inos.get(&(ino, thread), now_ms) == Some(&true);
            inos.keep((ino, thread), is_ready, now_ms);
            is_ready
        })
    }

    /// It was renamed, or not.
    pub fn end(&self, ino: u64, thread: u32) {
        self.inos.change(|inos| inos.remove(&(ino, thread)));
    }

    /// Is it about to be renamed?
    pub fn holds(&self, ino: u64) -> bool {
        self.inos.is_any(|inos| inos.any(|(of, _)| *of == ino, now_ms()))
    }

    /// The same; that thread looks it up, and is answered so that it is not kept.
    pub fn is_looked_up(&self, ino: u64, thread: u32) -> bool {
        if !self.holds(ino) {
            return false;
        }
        self.inos.change(|inos| {
            if let Some(is_ready) = inos.get_mut(&(ino, thread), now_ms()) {
                *is_ready = true;
            }
        });
        true
    }
}

/// Whether anything is kept now.
#[derive(Default)]
pub struct Keeping {
    pub is_on: AtomicBool,
    /// Anything was kept at any time.
    pub was_on: AtomicBool,
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

/// A name in a directory, by the inode number of its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub parent: u64,
    pub name: String,
}

/// What the kernel is told of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// What it knows of the attributes is over; the name goes on.
    Written(Name, u64),
    /// The same, and the name is to be looked up again before anybody goes on.
    Changed(Name, u64),
    /// The name is gone, with all that is below; so are the attributes.
    Gone(Name, u64),
    /// Nothing has changed; it is to forget the name, and with it the node.
    Dropped(Name),
}

impl Notice {
    pub fn name_mut(&mut self) -> &mut Name {
        match self {
            Self::Written(name, _) | Self::Changed(name, _) | Self::Gone(name, _) | Self::Dropped(name) => name,
        }
    }
}

/// Who tells the kernel.
pub trait Kernel: Send + Sync {
    /// Tells it all of these, then calls `ended`; calls `then` when nothing can be seen that is over, or when patience is. Never blocks.
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

/// The name of an entry of a table or an index.
pub fn name_of_entry(entry: &EntryNode) -> Name {
    let parent = match (&entry.key.index, &entry.key.base.sort) {
        (Some((partition, _)), _) => Node::Collection(entry.source.clone(), partition.clone()),
        (None, Some(_)) => Node::Collection(entry.source.clone(), vec![entry.key.base.partition.clone()]),
        (None, None) => Node::Items(entry.source.clone()),
    };
    Name { parent: parent.ino(), name: names::entry_name(&entry.key, entry.form) }
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
    fn a_rename_goes_on_when_who_asked_for_it_has_looked_the_name_up_since() {
        let moving = Moving::default();
        assert!(!moving.is_looked_up(1, 7));
        assert!(!moving.begin(1, 7) && !moving.begin(1, 7), "nobody has looked it up");
        assert!(moving.is_looked_up(1, 8) && moving.holds(1) && !moving.begin(1, 7), "another has");
        assert!(moving.is_looked_up(1, 7) && !moving.is_looked_up(2, 7));
        assert!(!moving.begin(1, 8) && moving.begin(1, 7));
        moving.end(1, 7);
        moving.end(1, 8);
        assert!(!moving.is_looked_up(1, 7) && !moving.begin(1, 7));
    }
}
