//! Deletes that wait a little: an item renamed to a scratch name may be an editor's backup, and the same name is written again at
//! once. Until the delete is due the item is hidden, not gone: a crash keeps it.

use std::hash::Hash;

use super::scratch::FileId;

use crate::fs::prelude::*;

/// How long a delete waits for the name to be written again.
pub const DELETE_DELAY_MS: u64 = 2_000;

/// Hidden items by `K`, a table and key. Times are milliseconds of any one clock that does not go back.
#[derive(Debug)]
pub struct DeferredDeletes<K> {
    hidden: HashMap<K, Hidden>,
}

/// What is known of a hidden item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hidden {
    /// The version renamed away. A later one, written through another front end, is neither hidden nor deleted.
    pub version: Version,
    /// The scratch file that it became.
    pub file: FileId,
    /// The form that its text has there.
    pub form: TextForm,
    deadline_ms: u64,
}

impl Hidden {
    /// Is it time to delete it?
    #[must_use]
    pub fn is_due(&self, now_ms: u64) -> bool {
        self.deadline_ms <= now_ms
    }
}

impl<K> Default for DeferredDeletes<K> {
    fn default() -> Self {
        Self {
            hidden: HashMap::new(),
        }
    }
}

impl<K: Eq + Hash + Clone> DeferredDeletes<K> {
    /// Hides `version` of an item, whose text is in a scratch file; its delete is due [`DELETE_DELAY_MS`] after `now_ms`.
    pub fn hide(
        &mut self,
        key: K,
        version: Version,
        (file, form): (FileId, TextForm),
        now_ms: u64,
    ) {
        let deadline_ms = now_ms.saturating_add(DELETE_DELAY_MS);
        self.hidden.insert(
            key,
            Hidden {
                version,
                file,
                form,
                deadline_ms,
            },
        );
    }

    /// Is the stored `version` of this item hidden? To a lookup, a listing or an O_EXCL open it is then not there.
    #[must_use]
    pub fn is_hidden(&self, key: &K, version: Version) -> bool {
        self.hidden
            .get(key)
            .is_some_and(|hidden| hidden.version == version)
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
    ///
    /// These are those that are meant, [`Hidden::is_due`] or not.
    pub fn take(&mut self, is_meant: impl Fn(&K, &Hidden) -> bool) -> Vec<(K, Hidden)> {
        let due = self
            .hidden
            .iter_mut()
            .filter(|(key, hidden)| hidden.deadline_ms != u64::MAX && is_meant(key, hidden));
        due.map(|(key, hidden)| {
            // Handed out: never due again.
            let taken = (key.clone(), *hidden);
            hidden.deadline_ms = u64::MAX;
            taken
        })
        .collect()
    }

    /// The item that became this scratch file, as long as it is hidden.
    #[must_use]
    pub fn of_file(&self, file: FileId) -> Option<(&K, &Hidden)> {
        self.hidden.iter().find(|(_, hidden)| hidden.file == file)
    }

    /// The items that wait, each with the scratch file that it became.
    #[must_use]
    pub fn waiting(&self) -> Vec<(K, FileId)> {
        self.hidden
            .iter()
            .map(|(key, hidden)| (key.clone(), hidden.file))
            .collect()
    }

    /// When the next is due; `None` when nothing waits.
    #[must_use]
    pub fn next_deadline_ms(&self) -> Option<u64> {
        self.hidden
            .values()
            .map(|hidden| hidden.deadline_ms)
            .filter(|&deadline| deadline != u64::MAX)
            .min()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hidden.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: (FileId, TextForm) = (FileId(1), TextForm::PlainJson);

    fn keys(taken: Vec<(&'static str, Hidden)>) -> Vec<(&'static str, Version)> {
        taken
            .into_iter()
            .map(|(key, hidden)| (key, hidden.version))
            .collect()
    }

    #[test]
    fn hides_until_the_delete_is_done() {
        let mut deletes = DeferredDeletes::default();
        deletes.hide("x", 7, FILE, 1_000);
        assert!(deletes.is_hidden(&"x", 7));
        assert!(deletes.take(|_, hidden| hidden.is_due(2_999)).is_empty());
        assert_eq!(deletes.next_deadline_ms(), Some(3_000));
        assert_eq!(
            keys(deletes.take(|_, hidden| hidden.is_due(3_000))),
            [("x", 7)]
        );
        assert!(deletes.is_hidden(&"x", 7));
        assert!(
            deletes.take(|_, hidden| hidden.is_due(9_000)).is_empty(),
            "handed out once"
        );
        assert_eq!(deletes.next_deadline_ms(), None);
        assert!(deletes.cancel(&"x"));
        assert!(!deletes.is_hidden(&"x", 7) && deletes.is_empty());
    }

    #[test]
    fn writing_again_cancels() {
        let mut deletes = DeferredDeletes::default();
        deletes.hide("x", 7, FILE, 0);
        assert!(deletes.cancel(&"x"));
        assert!(!deletes.cancel(&"x"));
        assert!(deletes.take(|_, hidden| hidden.is_due(u64::MAX)).is_empty());
    }

    #[test]
    fn a_version_written_elsewhere_is_not_hidden() {
        let mut deletes = DeferredDeletes::default();
        deletes.hide("x", 7, FILE, 0);
        assert!(!deletes.is_hidden(&"x", 8));
        assert!(!deletes.is_hidden(&"y", 7));
    }

    #[test]
    fn those_that_wait_are_taken_before_their_time() {
        let mut deletes = DeferredDeletes::default();
        deletes.hide("x", 7, FILE, 0);
        assert!(
            deletes
                .take(|_, hidden| hidden.file == FileId(2))
                .is_empty()
        );
        assert_eq!(deletes.of_file(FileId(1)).map(|(key, _)| *key), Some("x"));
        assert_eq!(keys(deletes.take(|_, _| true)), [("x", 7)]);
        assert!(deletes.take(|_, _| true).is_empty());
        assert!(deletes.of_file(FileId(1)).is_some() && deletes.of_file(FileId(2)).is_none());
    }
}
