//! Items that are about to be renamed: the kernel moves what it knows of the old name to the new one, whose inode number is another. So it
//! is not to keep their names until they are.

use crate::fs::open::prelude::*;
use crate::fs::seldom::Seldom;

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
