//! Workarounds for programs that copy or remove whole trees (`tar -x`, `unzip`, `cp -r`, `rm -r`).
//! No single call shows the intent of such a program, so the state of a sequence of calls is kept
//! for each process, and changes for a while the files that this process sees.
//! `special/discarded_writes.rs` accepts the writes that are discarded; `open/host/rm_guard.rs`
//! guards a table against `rm -r`.
//!
//! - A program may unlink a file before it makes it anew (`tar -x`, `unzip`, `install`). A table's
//!   definition and a derived file cannot be removed; so with `-o restore` they are hidden from
//!   that process alone, until it makes them anew. Without the option the unlink is refused: up to
//!   it, such a program makes the calls that `rm Orders/schema.json` makes, and that must not
//!   report success for a table that stays.
//! - A program that copies a directory makes it and then everything in it. So the template of the
//!   definition is hidden from the process that made the directory, until it makes it or lists the
//!   directory. If it makes the definition with O_EXCL, as `cp -r` does, everything that exists by
//!   itself is hidden from it until it makes it. And while the maker runs, writes to derived files
//!   of the table are accepted and discarded.
//! - With `-o allow_drop` a process that unlinks a table's `schema.json` is removing the table:
//!   derived files are removed with it.

use std::collections::HashSet;

use crate::fs::{node::NodeKind, prelude::*, process::Process, ttl_map::FastEmpty};

/// The maximum time from one of these calls of a process to the next, in milliseconds.
const INTENT_TTL_MS: u64 = 60_000;
const INTENTS_MAX: usize = 1_000;
/// The maximum number of tables with a known maker; writes to the derived files of more are
/// refused.
const MAKERS_MAX: usize = 1_000;
/// The maximum number of recorded names made in one table.
const MADE_MAX: usize = 1_000_000;
/// The maximum number of recorded names of derived files; the oldest are dropped first.
const NAMES_MAX: usize = 65_536;

/// Names that a program restored in place of derived files, by their filesystem paths, with the
/// target of a link: see `special/discarded_writes.rs`.
pub type DiscardedNames = TtlMap<String, (NodeKind, String), NAMES_MAX>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Intent {
    /// An inode number that was unlinked.
    Unlinked(u64),
    /// A table that is being removed.
    Removing(TableName),
}

/// The files that exist by themselves in a table's directory, and are hidden from the process that
/// made the directory.
#[derive(Debug)]
enum HiddenFiles {
    /// The template of the definition.
    Template,
    /// Everything but these inode numbers, which it made.
    AllBut(HashSet<u64>),
    Nothing,
}

/// A process that made a table's directory.
#[derive(Debug)]
struct TableMaker {
    table: TableName,
    process: Process,
    hidden: HiddenFiles,
    /// Milliseconds since the epoch.
    hidden_until: u64,
}

/// The recorded calls; see the module.
#[derive(Debug, Default)]
pub struct ArchiverQuirks {
    intents: Mutex<TtlMap<(Intent, u32), (), INTENTS_MAX, INTENT_TTL_MS>>,
    makers: FastEmpty<Vec<TableMaker>>,
}

impl ArchiverQuirks {
    /// True if some process has a different view of a file. Then the caller's process must be
    /// determined.
    pub fn is_active(&self, now_ms: u64) -> bool {
        !self.intents.lock().is_empty()
            || self
                .makers
                .is_any(|makers| makers.iter().any(|maker| now_ms < maker.hidden_until))
    }

    /// Records that this process made a table's directory.
    pub fn made_directory(&self, table: &TableName, process: Process, now_ms: u64) {
        self.makers.update(|makers| {
            let mut is_there = HashMap::new();
            makers.retain(|maker| {
                maker.table != *table
                    && *is_there
                        .entry(maker.process)
                        .or_insert_with(|| maker.process.is_running())
            });
            if makers.len() < MAKERS_MAX {
                let (table, hidden_until) = (table.clone(), now_ms + INTENT_TTL_MS);
                makers.push(TableMaker {
                    table,
                    process,
                    hidden: HiddenFiles::Template,
                    hidden_until,
                });
            }
        });
    }

    /// True if the process that made this table's directory still runs.
    pub fn is_being_made(&self, table: &TableName) -> bool {
        self.makers.is_any(|makers| {
            makers
                .iter()
                .any(|maker| maker.table == *table && maker.process.is_running())
        })
    }

    fn update_maker(&self, table: &TableName, process: u32, change: impl FnOnce(&mut TableMaker)) {
        if !self.makers.is_empty() {
            let is_it =
                |maker: &&mut TableMaker| maker.table == *table && maker.process.id == process;
            self.makers
                .update(|makers| makers.iter_mut().find(is_it).map(change));
        }
    }

    /// Records that this process listed a table's directory: nothing is hidden from it any more.
    pub fn listed(&self, table: &TableName, process: u32) {
        self.update_maker(table, process, |maker| {
            (maker.hidden, maker.hidden_until) = (HiddenFiles::Nothing, 0)
        });
    }

    /// Records that this process made the definition with O_EXCL, and would have failed over an
    /// existing one.
    pub fn created_excl(&self, table: &TableName, process: u32) {
        self.update_maker(table, process, |maker| {
            if matches!(maker.hidden, HiddenFiles::Template) {
                maker.hidden = HiddenFiles::AllBut(HashSet::new());
            }
        });
    }

    /// True if this file, which exists in that table by itself, is still to be made by that
    /// process.
    pub fn is_hidden_from(
        &self,
        table: &TableName,
        ino: u64,
        process: u32,
        is_template: bool,
        now_ms: u64,
    ) -> bool {
        let mut found = false;
        self.update_maker(table, process, |maker| {
            let is_hidden = match &maker.hidden {
                HiddenFiles::Template => is_template,
                HiddenFiles::AllBut(made) => !made.contains(&ino) && made.len() < MADE_MAX,
                HiddenFiles::Nothing => false,
            };
            if now_ms < maker.hidden_until {
                // A large table takes its time.
                (found, maker.hidden_until) = (is_hidden, now_ms + INTENT_TTL_MS);
            }
        });
        found
    }

    fn has(&self, intent: Intent, process: u32, now_ms: u64) -> bool {
        let mut list = self.intents.lock();
        list.drop_expired(now_ms);
        list.get(&(intent, process), now_ms).is_some()
    }

    /// Records that this process unlinked a file that cannot be removed.
    pub fn unlinked(&self, ino: u64, process: u32, now_ms: u64) {
        self.intents
            .lock()
            .insert((Intent::Unlinked(ino), process), (), now_ms);
    }

    /// True if the file is hidden from this process.
    pub fn is_unlinked(&self, ino: u64, process: u32, now_ms: u64) -> bool {
        self.has(Intent::Unlinked(ino), process, now_ms)
    }

    /// Records that a file was made, or made anew; returns the processes that had unlinked it.
    pub fn created(&self, ino: u64) -> Vec<u32> {
        if !self.makers.is_empty() {
            self.makers.update(|makers| {
                for maker in makers {
                    if let HiddenFiles::AllBut(made) = &mut maker.hidden {
                        made.insert(ino);
                    }
                }
            });
        }
        let taken = self
            .intents
            .lock()
            .extract_if(|(of, _), ()| *of == Intent::Unlinked(ino));
        taken
            .into_iter()
            .map(|((_, process), ())| process)
            .collect()
    }

    /// Records that this process begins or continues to remove a table.
    pub fn removing(&self, table: &TableName, process: u32, now_ms: u64) {
        self.intents
            .lock()
            .insert((Intent::Removing(table.clone()), process), (), now_ms);
    }

    /// True if this process is removing that table.
    pub fn is_removing(&self, table: &TableName, process: u32, now_ms: u64) -> bool {
        self.has(Intent::Removing(table.clone()), process, now_ms)
    }

    /// Forgets the removal of a table that is gone.
    pub fn removed(&self, table: &TableName) {
        self.intents
            .lock()
            .extract_if(|(of, _), ()| *of == Intent::Removing(table.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::process::ProcessCache;

    #[test]
    fn a_mark_is_for_one_process_and_a_while() {
        let (doing, now) = (ArchiverQuirks::default(), 1_000);
        let orders = TableName::new("Orders").unwrap();
        assert!(!doing.is_active(now));
        doing.unlinked(5, 7, now);
        doing.removing(&orders, 7, now);
        assert!(
            doing.is_active(now)
                && doing.is_unlinked(5, 7, now)
                && doing.is_removing(&orders, 7, now)
        );
        assert!(
            !doing.is_unlinked(5, 8, now)
                && !doing.is_unlinked(6, 7, now)
                && !doing.is_removing(&orders, 8, now)
        );
        assert!(
            !doing.is_unlinked(5, 7, now + INTENT_TTL_MS)
                && !doing.is_removing(&orders, 7, now + INTENT_TTL_MS)
        );
        doing.unlinked(5, 7, now);
        doing.removing(&orders, 7, now);
        assert_eq!((doing.created(5), doing.created(5)), (vec![7], Vec::new()));
        doing.removed(&orders);
        assert!(!doing.is_active(now));
    }

    #[test]
    fn what_is_there_by_itself_is_hidden_from_the_maker_alone() {
        let (doing, now) = (ArchiverQuirks::default(), 1_000);
        let orders = TableName::new("Orders").unwrap();
        let me = ProcessCache::default().get(std::process::id()).unwrap();
        let hides = |ino, process, is_template| {
            doing.is_hidden_from(&orders, ino, process, is_template, now)
        };
        doing.made_directory(&orders, me, now);
        assert!(doing.is_active(now) && doing.is_being_made(&orders));
        assert!(hides(5, me.id, true) && !hides(6, me.id, false) && !hides(5, me.id + 1, true));
        doing.created_excl(&orders, me.id);
        assert!(doing.created(5).is_empty());
        assert!(!hides(5, me.id, true) && hides(6, me.id, false) && !hides(6, me.id + 1, false));
        assert!(
            !doing.is_hidden_from(&orders, 6, me.id, false, now + INTENT_TTL_MS)
                && !doing.is_active(now + INTENT_TTL_MS)
        );
        doing.listed(&orders, me.id);
        doing.created_excl(&orders, me.id);
        assert!(!hides(6, me.id, false) && !doing.is_active(now) && doing.is_being_made(&orders));
        // A process that is gone makes nothing.
        doing.made_directory(
            &orders,
            Process {
                start_ticks: me.start_ticks - 1,
                ..me
            },
            now,
        );
        assert!(!doing.is_being_made(&orders));
    }
}
