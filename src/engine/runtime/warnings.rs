//! Warnings that are to be read back: the last of one kind.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Warnings that are kept.
const WARNINGS_MAX: usize = 1_000;

/// The last warnings, oldest first.
#[derive(Debug)]
pub struct Warnings<T>(Mutex<VecDeque<T>>);

impl<T> Default for Warnings<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Warnings<T> {
    /// Adds a warning. True if it is a new one: `known` counts it in one that is there, if it finds one.
    pub(super) fn add(&self, known: impl FnOnce(&mut VecDeque<T>) -> Option<()>, warning: T) -> bool {
        let mut warnings = self.0.lock();
        if known(&mut warnings).is_some() {
            return false;
        }
        if warnings.len() == WARNINGS_MAX {
            warnings.pop_front();
        }
        warnings.push_back(warning);
        true
    }

    /// The last warnings, oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<T> {
        self.0.lock().iter().cloned().collect()
    }
}
