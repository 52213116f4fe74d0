//! `rm -r Orders` meets `schema.json` first. Its unlink is refused, and so are this process's further deletes in that table for a
//! while, before it has destroyed what nobody asked it to.
//!
//! A program that deletes in another order (`rsync --delete`) may have removed saved queries before it meets a veto. Those of the same
//! process and table are then put back: they are few, and small enough to be kept for that while. `rm -r Orders/queries` meets no veto.

use crate::fs::open::prelude::*;
use crate::model::api::saved_query::SavedForm;

/// How long a process that tried to unlink `schema.json` may not delete in that table (docs/filesystem.md 3).
const VETO_MS: u64 = 5_000;
const VETOES_MAX: usize = 1_000;
/// Saved queries kept to be put back: as many as five tables can have.
const REMOVED_MAX: usize = 1_000;

/// See the module.
#[derive(Debug, Default)]
pub struct Vetoes {
    /// Was the process told why?
    list: Mutex<Recent<(TableName, u32), bool, VETOES_MAX, VETO_MS>>,
    /// By name, of a table and a process.
    removed: Mutex<Recent<(TableName, u32, String), SavedForm, REMOVED_MAX, VETO_MS>>,
}

impl Vetoes {
    /// Has any process tried of late? Then the caller's must be found out.
    pub fn any(&self) -> bool {
        !self.list.lock().is_empty()
    }

    /// This process removed a saved query.
    pub fn removed(&self, table: &TableName, pid: u32, now_ms: u64, name: &str, form: SavedForm) {
        self.removed.lock().keep((table.clone(), pid, name.to_owned()), form, now_ms);
    }

    /// This process tried; the saved queries of that table that it removed just before.
    #[must_use]
    pub fn add(&self, table: &TableName, pid: u32, now_ms: u64) -> Vec<(String, SavedForm)> {
        let (place, mut list) = ((table.clone(), pid), self.list.lock());
        // Told once stays told: `rm -r` goes on to fail at every file, and the first failure is the one that says why.
        let told = list.get(&place, now_ms).copied().unwrap_or_default();
        list.keep(place, told, now_ms);
        drop(list);
        let mut removed = self.removed.lock();
        removed.forget_old(now_ms);
        let taken = removed.take_if(|(of, by, _), _| of == table && *by == pid);
        taken.into_iter().map(|((_, _, name), form)| (name, form)).collect()
    }

    /// This process has made anew what it had unlinked: it restores.
    pub fn lift(&self, pid: u32) {
        self.list.lock().take_if(|(_, by), _| *by == pid);
    }

    /// May this process not delete in that table?
    pub fn holds(&self, table: &TableName, pid: u32, now_ms: u64) -> bool {
        let mut list = self.list.lock();
        list.forget_old(now_ms);
        list.get(&(table.clone(), pid), now_ms).is_some()
    }

    /// Has a process that is vetoed in that table been told so? From now on it has: its first failure says why, those that
    /// follow are of the same attempt.
    pub fn was_told(&self, table: &TableName, pid: u32, now_ms: u64) -> bool {
        self.list.lock().get_mut(&(table.clone(), pid), now_ms).is_some_and(|told| std::mem::replace(told, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_veto_is_for_one_table_one_process_and_a_while() {
        let (vetoes, now) = (Vetoes::default(), 1_000);
        let (orders, pets) = (TableName::new("Orders").unwrap(), TableName::new("Pets").unwrap());
        assert_eq!(vetoes.add(&orders, 7, now), []);
        assert!(vetoes.holds(&orders, 7, now));
        assert!(!vetoes.holds(&pets, 7, now));
        assert!(!vetoes.holds(&orders, 8, now));
        assert!(!vetoes.was_told(&pets, 7, now) && !vetoes.was_told(&orders, 8, now));
        assert!(!vetoes.was_told(&orders, 7, now) && vetoes.was_told(&orders, 7, now));
        assert!(!vetoes.holds(&orders, 7, now + VETO_MS));
        assert_eq!(vetoes.add(&orders, 7, now), []);
        vetoes.lift(7);
        assert!(!vetoes.holds(&orders, 7, now));
    }

    #[test]
    fn a_veto_gives_back_what_the_process_removed_of_that_table_just_before() {
        let (vetoes, now) = (Vetoes::default(), 1_000);
        let (orders, pets) = (TableName::new("Orders").unwrap(), TableName::new("Pets").unwrap());
        let form = |text: &str| SavedForm::Link(text.to_owned());
        for (table, process, name) in [(&orders, 7, "a"), (&pets, 7, "b"), (&orders, 8, "c"), (&orders, 7, "d")] {
            vetoes.removed(table, process, now, name, form(name));
        }
        assert_eq!(vetoes.add(&orders, 7, now), [("a".to_owned(), form("a")), ("d".to_owned(), form("d"))]);
        assert_eq!(vetoes.add(&orders, 7, now), []);
        assert_eq!(vetoes.add(&orders, 8, now + VETO_MS), [], "too long ago");
    }
}
