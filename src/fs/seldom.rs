//! What is empty most of the time and asked by every call: that it is empty is seen without its lock.

use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::recent::Recent;

/// What can be empty.
pub trait Content {
    fn is_empty(&self) -> bool;
}

impl<T> Content for Vec<T> {
    fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }
}

impl<K: Hash + Eq + Clone, V, const ENTRIES_MAX: usize, const AGE_MS_MAX: u64> Content for Recent<K, V, ENTRIES_MAX, AGE_MS_MAX> {
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Seldom<T> {
    content: Mutex<T>,
    is_any: AtomicBool,
}

impl<T: Content> Seldom<T> {
    /// What is changed is seen by whoever looks from then on.
    pub fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let mut content = self.content.lock();
        let changed = change(&mut content);
        self.is_any.store(!content.is_empty(), Ordering::SeqCst);
        changed
    }

    pub fn is_empty(&self) -> bool {
        !self.is_any.load(Ordering::SeqCst)
    }

    /// Is there any, and is it so?
    pub fn is_any(&self, is_so: impl FnOnce(&T) -> bool) -> bool {
        !self.is_empty() && is_so(&self.content.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_it_is_asked_only_while_there_is_any() {
        let seldom = Seldom::<Vec<u8>>::default();
        assert!(seldom.is_empty() && !seldom.is_any(|_| true));
        seldom.change(|list| list.push(1));
        assert!(seldom.is_any(|list| list == &[1]) && !seldom.is_any(|list| list == &[2]));
        assert_eq!((seldom.change(Vec::pop), seldom.is_empty()), (Some(1), true));
    }
}
