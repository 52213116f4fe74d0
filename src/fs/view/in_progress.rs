//! What one process is in the middle of, where a single call does not say it.
//!
//! - A program that restores a file may unlink the old one before it makes the new one (`tar -x`, `unzip`, `install`). A table's
//!   definition, and with `-o restore` a derived file, cannot be gone; so it is gone for that process alone, until it writes it anew.
//! - `cp -r Orders Copy` makes the directory and insists on making everything in it. So what is there by itself is not there for `cp`
//!   until it makes it: the definition's template, and with `-o restore` what is derived.
//! - With `-o allow_drop` a process that unlinks a table's `schema.json` is removing the table: what is derived goes with it.

use std::collections::HashSet;

use parking_lot::Mutex;

use crate::fs::process::name_of;
use crate::fs::recent::Recent;
use crate::model::TableName;

/// How long a process may take from one of these calls to the next.
const PATIENCE_MS: u64 = 60_000;
const IN_PROGRESS_MAX: usize = 1_000;

/// Programs that unlink what they are about to write; others that unlink a table's definition want to be rid of it.
const RESTORERS: [&str; 12] =
    ["tar", "gtar", "bsdtar", "star", "cpio", "bsdcpio", "pax", "unzip", "bsdunzip", "7z", "7zr", "install"];

/// Does this process write anew what it unlinks? Told by its name; one in another pid namespace is not known.
pub fn is_restorer(pid: u32) -> bool {
    RESTORERS.contains(&name_of(pid).as_str())
}

/// The program that insists.
const COPIER: &str = "cp";
/// Names made by it that are remembered.
const MADE_MAX: usize = 1_000_000;

/// Does this process insist on making what is in a directory that it made?
pub fn is_copier(pid: u32) -> bool {
    name_of(pid) == COPIER
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Doing {
    /// An inode number that was unlinked.
    Unlinked(u64),
    /// A table that is being removed.
    Removing(TableName),
}

/// See the module.
#[derive(Debug, Default)]
pub struct InProgress {
    list: Mutex<Recent<(Doing, u32), (), IN_PROGRESS_MAX, PATIENCE_MS>>,
    copies: Mutex<Recent<TableName, TableCopy, IN_PROGRESS_MAX, PATIENCE_MS>>,
}

/// A table being made as a copy.
#[derive(Debug)]
struct TableCopy {
    process: u32,
    /// Inode numbers of what was made in it.
    made: HashSet<u64>,
}

impl InProgress {
    /// Is there any? Then the caller's process must be found out.
    pub fn any(&self) -> bool {
        !self.list.lock().is_empty() || !self.copies.lock().is_empty()
    }

    /// This process made a table's directory to copy another into it.
    pub fn copying(&self, table: &TableName, process: u32, now_ms: u64) {
        self.copies.lock().keep(table.clone(), TableCopy { process, made: HashSet::new() }, now_ms);
    }

    /// Is this, which is in that table by itself, still to be made by that process?
    pub fn is_to_be_made(&self, table: &TableName, ino: u64, process: u32, now_ms: u64) -> bool {
        let mut copies = self.copies.lock();
        copies.forget_old(now_ms);
        if copies.get(table, now_ms).is_none_or(|copy| copy.process != process) {
            return false;
        }
        // A large table takes its time.
        copies.renew(table, now_ms).is_some_and(|copy| !copy.made.contains(&ino) && copy.made.len() < MADE_MAX)
    }

    fn holds(&self, of: Doing, process: u32, now_ms: u64) -> bool {
        let mut list = self.list.lock();
        list.forget_old(now_ms);
        list.get(&(of, process), now_ms).is_some()
    }

    /// This process unlinked what stays.
    pub fn unlinked(&self, ino: u64, process: u32, now_ms: u64) {
        self.list.lock().keep((Doing::Unlinked(ino), process), (), now_ms);
    }

    /// Is it gone for this process?
    pub fn is_unlinked(&self, ino: u64, process: u32, now_ms: u64) -> bool {
        self.holds(Doing::Unlinked(ino), process, now_ms)
    }

    /// It was made, or made anew.
    pub fn made(&self, ino: u64) {
        self.copies.lock().values_mut().for_each(|copy| copy.made.extend([ino]));
        self.list.lock().take_if(|(of, _), ()| *of == Doing::Unlinked(ino));
    }

    /// This process began to remove a table, or goes on.
    pub fn removing(&self, table: &TableName, process: u32, now_ms: u64) {
        self.list.lock().keep((Doing::Removing(table.clone()), process), (), now_ms);
    }

    /// Is this process removing that table?
    pub fn is_removing(&self, table: &TableName, process: u32, now_ms: u64) -> bool {
        self.holds(Doing::Removing(table.clone()), process, now_ms)
    }

    /// The table is gone.
    pub fn removed(&self, table: &TableName) {
        self.list.lock().take_if(|(of, _), ()| *of == Doing::Removing(table.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_for_one_process_and_a_while() {
        let (doing, now) = (InProgress::default(), 1_000);
        let orders = TableName::new("Orders").unwrap();
        assert!(!doing.any());
        doing.unlinked(5, 7, now);
        doing.removing(&orders, 7, now);
        assert!(doing.any() && doing.is_unlinked(5, 7, now) && doing.is_removing(&orders, 7, now));
        assert!(!doing.is_unlinked(5, 8, now) && !doing.is_unlinked(6, 7, now) && !doing.is_removing(&orders, 8, now));
        assert!(!doing.is_unlinked(5, 7, now + PATIENCE_MS) && !doing.is_removing(&orders, 7, now + PATIENCE_MS));
        doing.made(5);
        doing.removed(&orders);
        assert!(!doing.any());
        doing.copying(&orders, 7, now);
        assert!(doing.is_to_be_made(&orders, 5, 7, now) && !doing.is_to_be_made(&orders, 5, 8, now));
        doing.made(5);
        assert!(!doing.is_to_be_made(&orders, 5, 7, now) && doing.is_to_be_made(&orders, 6, 7, now));
        assert!(!doing.is_to_be_made(&orders, 6, 7, now + PATIENCE_MS * 2));
    }

    #[test]
    fn this_test_is_no_restorer() {
        assert!(!is_restorer(std::process::id()) && !is_restorer(0));
    }
}
