//! Deletes that wait a little: an item renamed to a scratch name may be an editor's backup, and the same name is written again at
//! once. Until the delete is due the item is hidden, not gone: a crash keeps it.

use std::collections::HashMap;
use std::hash::Hash;

use crate::model::api::Version;

/// How long a delete waits for the name to be written again.
pub const DELETE_DELAY_MS: u64 = 2_000;

/// Hidden items by `K`, a table and key. Times are milliseconds of any one clock that does not go back.
#[derive(Debug)]
pub struct DeferredDeletes<K> {
    hidden: HashMap<K, Hidden>,
}

#[derive(Debug, Clone, Copy)]
struct Hidden {
    /// The version renamed away. A later one, written through another front end, is neither hidden nor deleted.
    version: Version,
    deadline_ms: u64,
}

impl<K> Default for DeferredDeletes<K> {
    fn default() -> Self {
        Self { hidden: HashMap::new() }
    }
}

impl<K: Eq + Hash + Clone> DeferredDeletes<K> {
    /// Hides `version` of an item; its delete is due [`DELETE_DELAY_MS`] after `now_ms`.
    pub fn hide(&mut self, key: K, version: Version, now_ms: u64) {
        self.hidden.insert(key, Hidden { version, deadline_ms: now_ms.saturating_add(DELETE_DELAY_MS) });
    }

    /// Is the stored `version` of this item hidden? To a lookup, a listing or an O_EXCL open it is then not there.
    #[must_use]
    pub fn is_hidden(&self, key: &K, version: Version) -> bool {
        self.hidden.get(key).is_some_and(|hidden| hidden.version == version)
    }

    /// The hidden version of this item. A put that must find no item commits with `Precondition::Version` of it instead.
    #[must_use]
    pub fn hidden_version(&self, key: &K) -> Option<Version> {
        self.hidden.get(key).map(|hidden| hidden.version)
    }

    /// The item was written again, or its delete is done: it is no longer hidden and will not be deleted. Was it hidden?
    pub fn cancel(&mut self, key: &K) -> bool {
        self.hidden.remove(key).is_some()
    }

    /// Items to delete now, each with `Precondition::Version` of its version. They stay hidden until [`Self::cancel`] is called
    /// after the delete, so that the name does not come back in between; and are handed out once only.
    pub fn due(&mut self, now_ms: u64) -> Vec<(K, Version)> {
        self.take(|deadline_ms| deadline_ms <= now_ms)
    }

    /// Items to delete before a clean shutdown: all that wait.
    pub fn due_at_shutdown(&mut self) -> Vec<(K, Version)> {
        self.take(|deadline_ms| deadline_ms != u64::MAX)
    }

    /// When [`Self::due`] next has something; `None` when nothing waits.
    #[must_use]
    pub fn next_deadline_ms(&self) -> Option<u64> {
        self.hidden.values().map(|hidden| hidden.deadline_ms).filter(|&deadline| deadline != u64::MAX).min()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hidden.is_empty()
    }

    fn take(&mut self, is_due: impl Fn(u64) -> bool) -> Vec<(K, Version)> {
        let due = self.hidden.iter_mut().filter(|(_, hidden)| is_due(hidden.deadline_ms));
        due.map(|(key, hidden)| {
            // Handed out: never due again.
            hidden.deadline_ms = u64::MAX;
            (key.clone(), hidden.version)
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_until_the_delete_is_done() {
        let mut deletes = DeferredDeletes::default();
        deletes.hide("x", 7, 1_000);
        assert!(deletes.is_hidden(&"x", 7));
        assert!(deletes.due(2_999).is_empty());
        assert_eq!(deletes.next_deadline_ms(), Some(3_000));
        assert_eq!(deletes.due(3_000), [("x", 7)]);
        assert!(deletes.is_hidden(&"x", 7));
        assert!(deletes.due(9_000).is_empty(), "handed out once");
        assert_eq!(deletes.next_deadline_ms(), None);
        assert!(deletes.cancel(&"x"));
        assert!(!deletes.is_hidden(&"x", 7) && deletes.is_empty());
    }

    #[test]
    fn writing_again_cancels() {
        let mut deletes = DeferredDeletes::default();
        deletes.hide("x", 7, 0);
        assert!(deletes.cancel(&"x"));
        assert!(!deletes.cancel(&"x"));
        assert!(deletes.due(u64::MAX).is_empty());
    }

    #[test]
    fn a_version_written_elsewhere_is_not_hidden() {
        let mut deletes = DeferredDeletes::default();
        deletes.hide("x", 7, 0);
        assert!(!deletes.is_hidden(&"x", 8));
        assert!(!deletes.is_hidden(&"y", 7));
    }

    #[test]
    fn shutdown_takes_all_that_wait() {
        let mut deletes = DeferredDeletes::default();
        deletes.hide("x", 7, 0);
        assert_eq!(deletes.due_at_shutdown(), [("x", 7)]);
        assert!(deletes.due_at_shutdown().is_empty());
    }
}
