//! A test hook that stops the life cycle of indexes (`engine::index_life`) at a stage.

use crate::engine::prelude::*;

/// A stage of an index's life that can be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexStage {
    /// The allocation of resources does not end.
    Allocation,
    /// The backfill makes no further step.
    Backfill,
    /// The removal makes no further step.
    Removal,
}

/// The held stages; none by default. The worker checks before each step, so a released stage
/// continues in its next round: see [`crate::engine::runtime::Engine::run_background_work`].
#[derive(Debug, Default)]
pub struct IndexHold(Mutex<Vec<HeldStage>>);

#[derive(Debug)]
struct HeldStage {
    stage: IndexStage,
    /// The number of steps that still pass.
    steps: u64,
}

impl IndexHold {
    /// Holds a stage from now on.
    pub fn hold(&self, stage: IndexStage) {
        self.hold_after(stage, 0);
    }

    /// Holds a stage after `steps` more steps.
    pub fn hold_after(&self, stage: IndexStage, steps: u64) {
        let mut held = self.0.lock();
        held.retain(|held| held.stage != stage);
        held.push(HeldStage { stage, steps });
    }

    /// Releases a stage.
    pub fn release(&self, stage: IndexStage) {
        self.0.lock().retain(|held| held.stage != stage);
    }

    /// True if a step may be made; counts the step.
    pub(in crate::engine) fn allows(&self, stage: IndexStage) -> bool {
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
