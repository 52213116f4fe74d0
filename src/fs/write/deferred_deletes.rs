//! The list of deferred deletes: an item renamed to a scratch name may be an editor's backup, and
//! the same name is written again at once. Until the delete is due the item is hidden, not gone: it
//! survives a crash. `open/host/deferred_delete.rs` performs the deletes.

use std::hash::Hash;

use super::scratch::FileId;

use crate::fs::prelude::*;

/// The delay of a delete, milliseconds: the name may be written again meanwhile.
pub const DELETE_DELAY_MS: u64 = 2_000;

/// Hidden items by `K`, a table and key. Times are milliseconds of any one clock that does not go
/// back.
#[derive(Debug)]
pub struct DeferredDeletes<K> {
    hidden: HashMap<K, HiddenItem>,
}

/// A hidden item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HiddenItem {
    /// The version renamed away. A later one, written through another front end, is neither hidden
    /// nor deleted.
    pub version: Version,
    /// The scratch file that it became.
    pub file: FileId,
    /// The form of its text there.
    pub form: TextForm,
    deadline_ms: u64,
}

impl HiddenItem {
    /// True if the delete is due.
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
    /// Hides `version` of an item with its text in a scratch file; the delete is due
    /// [`DELETE_DELAY_MS`] after `now_ms`.
    pub fn hide(&mut self, key: K, version: Version, file: FileId, form: TextForm, now_ms: u64) {
        let deadline_ms = now_ms.saturating_add(DELETE_DELAY_MS);
        self.hidden.insert(
            key,
            HiddenItem {
                version,
                file,
                form,
                deadline_ms,
            },
        );
    }

    /// True if the stored `version` of this item is hidden. A lookup, a listing and an O_EXCL open
    /// do not see it.
    #[must_use]
    pub fn is_hidden(&self, key: &K, version: Version) -> bool {
        self.hidden
            .get(key)
            .is_some_and(|hidden| hidden.version == version)
    }

    /// Returns the hidden version of this item. A put that must find no item commits with
    /// `Precondition::Version` of it instead.
    #[must_use]
    pub fn hidden_version(&self, key: &K) -> Option<Version> {
        self.hidden.get(key).map(|hidden| hidden.version)
    }

    /// Ends the hiding of an item: it was written again, or its delete is done. True if it was
    /// hidden.
    pub fn cancel(&mut self, key: &K) -> bool {
        self.hidden.remove(key).is_some()
    }

    /// Takes the items to delete now, each with `Precondition::Version` of its version. They stay
    /// hidden until [`Self::cancel`] is called after the delete, so that the name does not come
    /// back in between; each is returned once only.
    ///
    /// `is_meant` selects them, whether [`HiddenItem::is_due`] or not.
    pub fn take_if(&mut self, is_meant: impl Fn(&K, &HiddenItem) -> bool) -> Vec<(K, HiddenItem)> {
        let due = self
            .hidden
            .iter_mut()
            .filter(|(key, hidden)| hidden.deadline_ms != u64::MAX && is_meant(key, hidden));
        due.map(|(key, hidden)| {
            // Never due again: the caller has it.
            let taken = (key.clone(), *hidden);
            hidden.deadline_ms = u64::MAX;
            taken
        })
        .collect()
    }

    /// Returns the item that became this scratch file, as long as it is hidden.
    #[must_use]
    pub fn by_file(&self, file: FileId) -> Option<(&K, &HiddenItem)> {
        self.hidden.iter().find(|(_, hidden)| hidden.file == file)
    }

    /// Returns the hidden items, each with the scratch file that it became.
    #[must_use]
    pub fn pending(&self) -> Vec<(K, FileId)> {
        self.hidden
            .iter()
            .map(|(key, hidden)| (key.clone(), hidden.file))
            .collect()
    }

    /// Returns the time at which the next delete is due; `None` if no item waits.
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

    const FILE: FileId = FileId(1);
    const FORM: TextForm = TextForm::PlainJson;

    fn keys(entries: Vec<(&'static str, HiddenItem)>) -> Vec<(&'static str, Version)> {
        entries
            .into_iter()
            .map(|(key, hidden)| (key, hidden.version))
            .collect()
    }

    #[test]
    fn hides_until_the_delete_is_done() {
        let mut deletes = DeferredDeletes::default();
        deletes.hide("x", 7, FILE, FORM, 1_000);
        assert!(deletes.is_hidden(&"x", 7));
        assert!(deletes.take_if(|_, hidden| hidden.is_due(2_999)).is_empty());
        assert_eq!(deletes.next_deadline_ms(), Some(3_000));
        assert_eq!(
            keys(deletes.take_if(|_, hidden| hidden.is_due(3_000))),
            [("x", 7)]
        );
        assert!(deletes.is_hidden(&"x", 7));
        assert!(
            deletes.take_if(|_, hidden| hidden.is_due(9_000)).is_empty(),
            "handed out once"
        );
        assert_eq!(deletes.next_deadline_ms(), None);
        assert!(deletes.cancel(&"x"));
        assert!(!deletes.is_hidden(&"x", 7) && deletes.is_empty());
    }

    #[test]
    fn writing_again_cancels() {
        let mut deletes = DeferredDeletes::default();
        deletes.hide("x", 7, FILE, FORM, 0);
        assert!(deletes.cancel(&"x"));
        assert!(!deletes.cancel(&"x"));
        assert!(
            deletes
                .take_if(|_, hidden| hidden.is_due(u64::MAX))
                .is_empty()
        );
    }

    #[test]
    fn a_version_written_elsewhere_is_not_hidden() {
        let mut deletes = DeferredDeletes::default();
        deletes.hide("x", 7, FILE, FORM, 0);
        assert!(!deletes.is_hidden(&"x", 8));
        assert!(!deletes.is_hidden(&"y", 7));
    }

    #[test]
    fn those_that_wait_are_taken_before_their_time() {
        let mut deletes = DeferredDeletes::default();
        deletes.hide("x", 7, FILE, FORM, 0);
        assert!(
            deletes
                .take_if(|_, hidden| hidden.file == FileId(2))
                .is_empty()
        );
        assert_eq!(deletes.by_file(FileId(1)).map(|(key, _)| *key), Some("x"));
        assert_eq!(keys(deletes.take_if(|_, _| true)), [("x", 7)]);
        assert!(deletes.take_if(|_, _| true).is_empty());
        assert!(deletes.by_file(FileId(1)).is_some() && deletes.by_file(FileId(2)).is_none());
    }
}
