//! What one process is in the middle of, where a single call does not say it.
//!
//! - A program may unlink a file before it makes it anew (`tar -x`, `unzip`, `install`; with `-o restore` any). A table's definition, and
//!   with `-o restore` a derived file, cannot be gone; so it is gone for that process alone, until it makes it anew.
//! - A program that copies a directory makes it and then everything in it. So the template of the definition is not there for the process
//!   that made the directory, until it makes it or lists the directory. One that makes the definition with O_EXCL, as `cp -r` does, insists:
//!   what is there by itself is not there for it until it makes it. And while the maker runs, what is written to derived files of the
//!   table is taken and dropped.
//! - With `-o allow_drop` a process that unlinks a table's `schema.json` is removing the table: what is derived goes with it.

use std::collections::HashSet;

use crate::fs::{
    node::Kind,
    prelude::*,
    process::{Process, name_of},
    recent::Seldom,
};

/// How long a process may take from one of these calls to the next.
const PATIENCE_MS: u64 = 60_000;
const IN_PROGRESS_MAX: usize = 1_000;
/// Tables whose makers are remembered; the derived files of more are refused.
const MAKERS_MAX: usize = 1_000;
/// Programs that unlink what they are about to write. No call tells them from others, who want to be rid of a table when they unlink its
/// definition: without this rule either they fail over a table that is there, or `rm` says yes and does nothing.
const RESTORERS: [&str; 12] = [
    "tar", "gtar", "bsdtar", "star", "cpio", "bsdcpio", "pax", "unzip", "bsdunzip", "7z", "7zr",
    "install",
];

/// Does this process write anew what it unlinks? Told by its name; one in another pid namespace is not known.
pub fn is_restorer(pid: u32) -> bool {
    RESTORERS.contains(&name_of(pid).as_str())
}

/// Names made in one table that are remembered.
const MADE_MAX: usize = 1_000_000;
/// Names of derived files that are remembered; the oldest go first.
const NAMES_MAX: usize = 65_536;

/// Names that a program restored in the place of derived files, by their filesystem paths, and where a link points: see
/// `special/dropped.rs`.
pub type DroppedNames = Recent<String, (Kind, String), NAMES_MAX>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Doing {
    /// An inode number that was unlinked.
    Unlinked(u64),
    /// A table that is being removed.
    Removing(TableName),
}

/// What is there by itself in a table's directory, and is not there for the process that made the directory.
#[derive(Debug)]
enum Hidden {
    /// The template of the definition.
    Template,
    /// Everything but these inode numbers, which it made.
    AllBut(HashSet<u64>),
    Nothing,
}

/// A table's directory that a process made.
#[derive(Debug)]
struct Maker {
    table: TableName,
    process: Process,
    hidden: Hidden,
    /// Milliseconds since the epoch.
    hidden_until: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct InProgress {
    list: Mutex<Recent<(Doing, u32), (), IN_PROGRESS_MAX, PATIENCE_MS>>,
    makers: Seldom<Vec<Maker>>,
}

impl InProgress {
    /// Is there anything that another process sees otherwise? Then the caller's process must be found out.
    pub fn any(&self, now_ms: u64) -> bool {
        !self.list.lock().is_empty()
            || self
                .makers
                .is_any(|makers| makers.iter().any(|maker| now_ms < maker.hidden_until))
    }

    /// This process made a table's directory.
    pub fn made_directory(&self, table: &TableName, process: Process, now_ms: u64) {
        self.makers.change(|makers| {
            let mut is_there = HashMap::new();
            makers.retain(|maker| {
                maker.table != *table
                    && *is_there
                        .entry(maker.process)
                        .or_insert_with(|| maker.process.is_there())
            });
            if makers.len() < MAKERS_MAX {
                let (table, hidden_until) = (table.clone(), now_ms + PATIENCE_MS);
                makers.push(Maker {
                    table,
                    process,
                    hidden: Hidden::Template,
                    hidden_until,
                });
            }
        });
    }

    /// Does the process that made this table's directory run?
    pub fn is_being_made(&self, table: &TableName) -> bool {
        self.makers.is_any(|makers| {
            makers
                .iter()
                .any(|maker| maker.table == *table && maker.process.is_there())
        })
    }

    fn change_hidden(&self, table: &TableName, process: u32, change: impl FnOnce(&mut Maker)) {
        if !self.makers.is_empty() {
            let is_it = |maker: &&mut Maker| maker.table == *table && maker.process.id == process;
            self.makers
                .change(|makers| makers.iter_mut().find(is_it).map(change));
        }
    }

    /// This process listed a table's directory: it has seen what is there.
    pub fn listed(&self, table: &TableName, process: u32) {
        self.change_hidden(table, process, |maker| {
            (maker.hidden, maker.hidden_until) = (Hidden::Nothing, 0)
        });
    }

    /// This process made the definition, and would have failed had it been there.
    pub fn insists(&self, table: &TableName, process: u32) {
        self.change_hidden(table, process, |maker| {
            if matches!(maker.hidden, Hidden::Template) {
                maker.hidden = Hidden::AllBut(HashSet::new());
            }
        });
    }

    /// Is this, which is in that table by itself, still to be made by that process?
    pub fn is_to_be_made(
        &self,
        table: &TableName,
        ino: u64,
        process: u32,
        is_template: bool,
        now_ms: u64,
    ) -> bool {
        let mut found = false;
        self.change_hidden(table, process, |maker| {
            let is_hidden = match &maker.hidden {
                Hidden::Template => is_template,
                Hidden::AllBut(made) => !made.contains(&ino) && made.len() < MADE_MAX,
                Hidden::Nothing => false,
            };
            if now_ms < maker.hidden_until {
                // A large table takes its time.
                (found, maker.hidden_until) = (is_hidden, now_ms + PATIENCE_MS);
            }
        });
        found
    }

    fn holds(&self, of: Doing, process: u32, now_ms: u64) -> bool {
        let mut list = self.list.lock();
        list.forget_old(now_ms);
        list.get(&(of, process), now_ms).is_some()
    }

    /// This process unlinked what stays.
    pub fn unlinked(&self, ino: u64, process: u32, now_ms: u64) {
        self.list
            .lock()
            .keep((Doing::Unlinked(ino), process), (), now_ms);
    }

    /// Is it gone for this process?
    pub fn is_unlinked(&self, ino: u64, process: u32, now_ms: u64) -> bool {
        self.holds(Doing::Unlinked(ino), process, now_ms)
    }

    /// It was made, or made anew; the processes that had unlinked it.
    pub fn made(&self, ino: u64) -> Vec<u32> {
        if !self.makers.is_empty() {
            self.makers.change(|makers| {
                for maker in makers {
                    if let Hidden::AllBut(made) = &mut maker.hidden {
                        made.insert(ino);
                    }
                }
            });
        }
        let taken = self
            .list
            .lock()
            .take_if(|(of, _), ()| *of == Doing::Unlinked(ino));
        taken
            .into_iter()
            .map(|((_, process), ())| process)
            .collect()
    }

    /// This process began to remove a table, or goes on.
    pub fn removing(&self, table: &TableName, process: u32, now_ms: u64) {
        self.list
            .lock()
            .keep((Doing::Removing(table.clone()), process), (), now_ms);
    }

    /// Is this process removing that table?
    pub fn is_removing(&self, table: &TableName, process: u32, now_ms: u64) -> bool {
        self.holds(Doing::Removing(table.clone()), process, now_ms)
    }

    /// The table is gone.
    pub fn removed(&self, table: &TableName) {
        self.list
            .lock()
            .take_if(|(of, _), ()| *of == Doing::Removing(table.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::process::Processes;

    #[test]
    fn a_mark_is_for_one_process_and_a_while() {
        let (doing, now) = (InProgress::default(), 1_000);
        let orders = TableName::new("Orders").unwrap();
        assert!(!doing.any(now));
        doing.unlinked(5, 7, now);
        doing.removing(&orders, 7, now);
        assert!(
            doing.any(now) && doing.is_unlinked(5, 7, now) && doing.is_removing(&orders, 7, now)
        );
        assert!(
            !doing.is_unlinked(5, 8, now)
                && !doing.is_unlinked(6, 7, now)
                && !doing.is_removing(&orders, 8, now)
        );
        assert!(
            !doing.is_unlinked(5, 7, now + PATIENCE_MS)
                && !doing.is_removing(&orders, 7, now + PATIENCE_MS)
        );
        doing.unlinked(5, 7, now);
        doing.removing(&orders, 7, now);
        assert_eq!((doing.made(5), doing.made(5)), (vec![7], Vec::new()));
        doing.removed(&orders);
        assert!(!doing.any(now));
    }

    #[test]
    fn what_is_there_by_itself_is_hidden_from_the_maker_alone() {
        let (doing, now) = (InProgress::default(), 1_000);
        let orders = TableName::new("Orders").unwrap();
        let me = Processes::default().of(std::process::id()).unwrap();
        let hides = |ino, process, is_template| {
            doing.is_to_be_made(&orders, ino, process, is_template, now)
        };
        doing.made_directory(&orders, me, now);
        assert!(doing.any(now) && doing.is_being_made(&orders));
        assert!(hides(5, me.id, true) && !hides(6, me.id, false) && !hides(5, me.id + 1, true));
        doing.insists(&orders, me.id);
        assert!(doing.made(5).is_empty());
        assert!(!hides(5, me.id, true) && hides(6, me.id, false) && !hides(6, me.id + 1, false));
        assert!(
            !doing.is_to_be_made(&orders, 6, me.id, false, now + PATIENCE_MS)
                && !doing.any(now + PATIENCE_MS)
        );
        doing.listed(&orders, me.id);
        doing.insists(&orders, me.id);
        assert!(!hides(6, me.id, false) && !doing.any(now) && doing.is_being_made(&orders));
        // One that is gone makes nothing.
        doing.made_directory(
            &orders,
            Process {
                started: me.started - 1,
                ..me
            },
            now,
        );
        assert!(!doing.is_being_made(&orders));
    }
}
