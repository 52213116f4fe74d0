//! `rm -r Orders` meets `schema.json` first. Its unlink is refused, and so are this process's further deletes in that table for a
//! while, before it has destroyed what nobody asked it to.
//!
//! A program that deletes in another order (`rsync --delete`) may have removed saved queries before it meets a veto. Those of the same
//! process and table are then put back: they are few, and small enough to be kept for that while. `rm -r Orders/queries` meets no veto.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::model::TableName;
use crate::model::api::saved_query::SavedForm;

/// How long a process that tried to unlink `schema.json` may not delete in that table (docs/filesystem.md 3).
pub const VETO: Duration = Duration::from_secs(5);
const VETOES_MAX: usize = 1_000;
/// Saved queries kept to be put back: as many as five tables can have.
const REMOVED_MAX: usize = 1_000;

/// A saved query that a process removed.
#[derive(Debug)]
struct Removed {
    table: TableName,
    process: u32,
    at: Instant,
    name: String,
    form: SavedForm,
}

#[derive(Debug)]
struct Veto {
    table: TableName,
    process: u32,
    until: Instant,
    /// The process was told why.
    told: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Vetoes {
    list: Mutex<Vec<Veto>>,
    removed: Mutex<Vec<Removed>>,
}

impl Vetoes {
    /// Has any process tried of late? Then the caller's must be found out.
    pub fn any(&self) -> bool {
        !self.list.lock().is_empty()
    }

    /// This process removed a saved query.
    pub fn removed(&self, table: &TableName, pid: u32, now: Instant, name: &str, form: SavedForm) {
        let mut removed = self.removed.lock();
        removed.retain(|query| now.duration_since(query.at) < VETO);
        if removed.len() < REMOVED_MAX {
            removed.push(Removed { table: table.clone(), process: pid, at: now, name: name.to_owned(), form });
        }
    }

    /// This process tried; the saved queries of that table that it removed just before.
    #[must_use]
    pub fn add(&self, table: &TableName, pid: u32, now: Instant) -> Vec<(String, SavedForm)> {
        let mut list = self.list.lock();
        list.retain(|veto| veto.until > now);
        // Told once stays told: `rm -r` goes on to fail at every file, and the first failure is the one that says why.
        let told = list.iter().any(|veto| veto.table == *table && veto.process == pid && veto.told);
        if list.len() < VETOES_MAX {
            list.push(Veto { table: table.clone(), process: pid, until: now + VETO, told });
        }
        drop(list);
        let mut removed = self.removed.lock();
        removed.retain(|query| now.duration_since(query.at) < VETO);
        let taken = removed.extract_if(.., |query| query.process == pid && query.table == *table);
        taken.map(|query| (query.name, query.form)).collect()
    }

    /// May this process not delete in that table?
    pub fn holds(&self, table: &TableName, pid: u32, now: Instant) -> bool {
        let mut list = self.list.lock();
        list.retain(|veto| veto.until > now);
        list.iter().any(|veto| veto.table == *table && veto.process == pid)
    }

    /// Has a process that is vetoed in that table been told so? From now on it has: its first failure says why, those that
    /// follow are of the same attempt.
    pub fn was_told(&self, table: &str, pid: u32, now: Instant) -> bool {
        let mut list = self.list.lock();
        let mut vetoes = list.iter_mut().filter(|veto| veto.table.as_str() == table && veto.process == pid && veto.until > now);
        vetoes.any(|veto| std::mem::replace(&mut veto.told, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_veto_is_for_one_table_one_process_and_a_while() {
        let (vetoes, now) = (Vetoes::default(), Instant::now());
        let (orders, pets) = (TableName::new("Orders").unwrap(), TableName::new("Pets").unwrap());
        assert_eq!(vetoes.add(&orders, 7, now), []);
        assert!(vetoes.holds(&orders, 7, now));
        assert!(!vetoes.holds(&pets, 7, now));
        assert!(!vetoes.holds(&orders, 8, now));
        assert!(!vetoes.was_told("Pets", 7, now) && !vetoes.was_told("Orders", 8, now));
        assert!(!vetoes.was_told("Orders", 7, now) && vetoes.was_told("Orders", 7, now));
        assert!(!vetoes.holds(&orders, 7, now + VETO));
    }

    #[test]
    fn a_veto_gives_back_what_the_process_removed_of_that_table_just_before() {
        let (vetoes, now) = (Vetoes::default(), Instant::now());
        let (orders, pets) = (TableName::new("Orders").unwrap(), TableName::new("Pets").unwrap());
        let form = |text: &str| SavedForm::Link(text.to_owned());
        for (table, process, name) in [(&orders, 7, "a"), (&pets, 7, "b"), (&orders, 8, "c"), (&orders, 7, "d")] {
            vetoes.removed(table, process, now, name, form(name));
        }
        assert_eq!(vetoes.add(&orders, 7, now), [("a".to_owned(), form("a")), ("d".to_owned(), form("d"))]);
        assert_eq!(vetoes.add(&orders, 7, now), []);
        assert_eq!(vetoes.add(&orders, 8, now + VETO), [], "too long ago");
    }
}
