//! Stops the life of indexes where a test wants to look at it.

use crate::engine::prelude::*;

/// A part of an index's life that can be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The allocation of resources does not end.
    Allocation,
    /// No further step of the backfill.
    Backfill,
    /// No further step of the removal.
    Removal,
}

/// Which parts are held; by default none. The worker looks before each step, so a part that is let go goes on in its next round:
/// see [`crate::engine::runtime::Engine::run_background_work`].
#[derive(Debug, Default)]
pub struct Hold(Mutex<Vec<Held>>);

#[derive(Debug)]
struct Held {
    stage: Stage,
    /// Steps that still pass.
    steps: u64,
}

impl Hold {
    /// Holds a part from now on.
    pub fn hold(&self, stage: Stage) {
        self.hold_after(stage, 0);
    }

    /// Holds a part after so many steps more.
    pub fn hold_after(&self, stage: Stage, steps: u64) {
        let mut held = self.0.lock();
        held.retain(|held| held.stage != stage);
        held.push(Held { stage, steps });
    }

    /// Lets a part go on.
    pub fn release(&self, stage: Stage) {
        self.0.lock().retain(|held| held.stage != stage);
    }

    /// May a step be made? Counts it.
    pub(in crate::engine) fn passes(&self, stage: Stage) -> bool {
        match self.0.lock().iter_mut().find(|held| held.stage == stage) {
            Some(held) if held.steps == 0 => false,
            Some(held) => {
                held.steps -= 1;
                true
            }
            None => true,
        }
    }
}
