//! The guard against `rm -r Orders`, which meets `schema.json` first. Its unlink is refused, and so
//! are this process's further deletes in that table for a while, before it has destroyed anything
//! by accident.
//!
//! A program that deletes in another order (`rsync --delete`) may have removed saved queries before
//! it meets a veto. The saved queries of the same process and table are then put back: they are
//! few, and small enough to be kept for that while. `rm -r Orders/queries` meets no veto.
//!
//! With `-o allow_drop` the removal is let through (docs/filesystem.md 3).

use super::threads::Workers;
use crate::fs::{
    mount::Mount,
    node::Node,
    prelude::*,
    process::{Process, tgid_of},
};
use crate::model::api::table_control::{Replace, SavedForm, SavedQueryChange};

/// The time for which a process that tried to unlink `schema.json` may not delete in that table
/// (docs/filesystem.md 3).
const VETO_MS: u64 = 5_000;
const VETOES_MAX: usize = 1_000;
/// The number of removed saved queries that are kept to be put back: as many as five tables can
/// have.
const REMOVED_MAX: usize = 1_000;

/// The processes that may delete nothing in a table.
#[derive(Debug, Default)]
struct Vetoes {
    /// True if the process got the reason.
    list: Mutex<TtlMap<(TableName, u32), bool, VETOES_MAX, VETO_MS>>,
    /// The removed saved queries, by table, process and name.
    record_removed: Mutex<TtlMap<(TableName, u32, String), SavedForm, REMOVED_MAX, VETO_MS>>,
}

impl Vetoes {
    /// True if any process tried of late. Only then the process of a caller must be found.
    fn is_any(&self) -> bool {
        !self.list.lock().is_empty()
    }

    /// Notes that this process removed a saved query.
    fn removed(&self, table: &TableName, pid: u32, now_ms: u64, name: &str, form: SavedForm) {
        self.record_removed
            .lock()
            .insert((table.clone(), pid, name.to_owned()), form, now_ms);
    }

    /// Bars a process that tried. Returns the saved queries of that table that it removed just
    /// before.
    #[must_use]
    fn add(&self, table: &TableName, pid: u32, now_ms: u64) -> Vec<(String, SavedForm)> {
        let (place, mut list) = ((table.clone(), pid), self.list.lock());
        // A process that got the reason once keeps that state: `rm -r` goes on to fail at every
        // file, and the first failure is the one that says why.
        let refusals = list.get(&place, now_ms).copied().unwrap_or_default();
        list.insert(place, refusals, now_ms);
        drop(list);
        let mut removed = self.record_removed.lock();
        removed.drop_expired(now_ms);
        let taken = removed.extract_if(|(of, by, _), _| of == table && *by == pid);
        taken
            .into_iter()
            .map(|((_, _, name), form)| (name, form))
            .collect()
    }

    /// Lifts the vetoes of a process that has made anew a file that it had unlinked: it restores.
    fn lift(&self, pid: u32) {
        self.list.lock().extract_if(|(_, by), _| *by == pid);
    }

    /// True if this process may not delete in that table.
    fn is_vetoed(&self, table: &TableName, pid: u32, now_ms: u64) -> bool {
        let mut list = self.list.lock();
        list.drop_expired(now_ms);
        list.get(&(table.clone(), pid), now_ms).is_some()
    }

    /// True if a process that may not delete in that table was given the reason before. Marks it as
    /// given: the process's first failure says why, and those that follow are of the same attempt.
    fn mark_reported(&self, table: &TableName, pid: u32, now_ms: u64) -> bool {
        self.list
            .lock()
            .get_mut(&(table.clone(), pid), now_ms)
            .is_some_and(|told| std::mem::replace(told, true))
    }
}

/// The guard of a mount; see the module.
#[derive(Debug)]
pub struct RmGuard {
    workers: Arc<Workers>,
    vetoes: Vetoes,
}

impl RmGuard {
    #[must_use]
    pub fn new(workers: Arc<Workers>) -> Self {
        Self {
            workers,
            vetoes: Vetoes::default(),
        }
    }

    /// Checks that this process did not just try to delete the whole table.
    ///
    /// # Errors
    /// `NotPermitted` if the process did so a short time ago.
    pub fn check_delete(&self, table: &TableName, mount: &Mount) -> Result<()> {
        if self.vetoes.is_any()
            && self
                .vetoes
                .is_vetoed(table, tgid_of(mount.caller.pid), now_ms())
        {
            return Err(FsError::NotPermitted(
                "this process tried to delete the whole table; what is in it stays",
            ));
        }
        Ok(())
    }

    /// Notes that this process removed a saved query, which comes back if the process turns out to
    /// delete the whole table.
    pub fn record_removed_query(
        &self,
        mount: &Mount,
        table: &TableName,
        name: &str,
        form: SavedForm,
    ) {
        self.vetoes
            .removed(table, tgid_of(mount.caller.pid), now_ms(), name, form);
    }

    /// True if a failure on this path is one more of a process that already got the reason why it
    /// may not delete that table.
    pub fn follows_veto(&self, mount: &Mount, path: &str) -> bool {
        let table = path.split('/').next().unwrap_or_default();
        let was_told = |table: TableName| {
            self.vetoes
                .mark_reported(&table, tgid_of(mount.caller.pid), now_ms())
        };
        self.vetoes.is_any() && TableName::new(table).is_ok_and(was_told)
    }

    /// Judges UNLINK of a table's `schema.json`: the first call of `rm -r`, or of a program that
    /// will write the file anew.
    pub fn unlink_definition(&self, mount: &Mount, node: &Node, table: &TableName) -> Result<()> {
        let (process, now) = (tgid_of(mount.caller.pid), now_ms());
        if mount.options.allow_drop {
            if mount.schema(table)?.deletion_protection {
                self.veto(mount, table, process, now);
                return Err(FsError::Database(Error::DeletionProtected));
            }
            mount.archiver_quirks.removing(table, process, now);
            return Ok(());
        }
        // Also with `-o restore`, until the process has made the definition anew: it may be `rm`.
        self.veto(mount, table, process, now);
        if mount.options.restore {
            mount.archiver_quirks.unlinked(node.ino(), process, now);
            return Ok(());
        }
        Err(FsError::NotPermitted(
            "a table is not deleted file by file; rmdir when it has no items, or mount with -o allow_drop; to restore over it, cp, rsync or tar --overwrite, or mount with -o restore",
        ))
    }

    /// Notes that the caller, or the engine, made a node that did not exist for the caller.
    pub fn recreated(&self, mount: &Mount, ino: u64) {
        for process in mount.archiver_quirks.created(ino) {
            self.vetoes.lift(process);
        }
    }

    /// True if this node does not exist for the caller, which unlinked it to write it anew, or
    /// makes the table as a copy.
    pub fn is_hidden_from(&self, mount: &Mount, node: &Node) -> bool {
        if !mount.archiver_quirks.is_active(now_ms()) {
            return false;
        }
        let (process, now, ino) = (tgid_of(mount.caller.pid), now_ms(), node.ino());
        let is_definition = matches!(node, Node::Schema(source) if source.index.is_none());
        let of_maker = node
            .table()
            .filter(|_| is_definition || is_part_of_table(node))
            .is_some_and(|table| {
                let is_template = is_definition && mount.is_draft(table).unwrap_or(false);
                mount
                    .archiver_quirks
                    .is_hidden_from(table, ino, process, is_template, now)
            });
        of_maker || mount.archiver_quirks.is_unlinked(ino, process, now)
    }

    /// Notes that a process made the directory of a draft.
    pub fn record_draft(&self, mount: &Mount, table: &TableName) {
        if let Some(process) = Process::of_thread(mount.caller.pid) {
            mount
                .archiver_quirks
                .made_directory(table, process, now_ms());
        }
    }

    /// Vetoes further deletes of a process that tried to remove a part which goes only with its
    /// table.
    pub fn veto_after(&self, mount: &Mount, node: &Node) {
        if let Some(table) = node.table()
            && !mount.discards_writes(table)
        {
            self.veto(mount, table, tgid_of(mount.caller.pid), now_ms());
        }
    }

    /// Bars a process from deleting in a table for a while, and puts back the saved queries that it
    /// removed just before.
    fn veto(&self, mount: &Mount, table: &TableName, process: u32, now: u64) {
        let removed = self.vetoes.add(table, process, now);
        if removed.is_empty() {
            return;
        }
        let (mount, table) = (mount.clone(), table.clone());
        // Each is a commit: the refusal itself must not wait for them.
        self.workers.run(move || {
            for (name, form) in removed {
                // A query of that name that was saved meanwhile is kept.
                let change = SavedQueryChange::Put {
                    name,
                    form,
                    replace: Replace::None,
                };
                if let Err(error) = mount.db.change_saved_queries(&table, change) {
                    log::error!(
                        "a saved query of {table} was removed and could not be put back: {error}"
                    );
                }
            }
        });
    }

    /// True if the caller removes the table of this node.
    fn is_removing(&self, mount: &Mount, node: &Node) -> bool {
        let Some(table) = node
            .table()
            .filter(|_| mount.archiver_quirks.is_active(now_ms()))
        else {
            return false;
        };
        let (process, now) = (tgid_of(mount.caller.pid), now_ms());
        let removing = mount.archiver_quirks.is_removing(table, process, now);
        if removing {
            // A large table takes its time.
            mount.archiver_quirks.removing(table, process, now);
        }
        removing
    }

    /// True if this node is part of a table that the caller removes: it goes with the table and
    /// needs no delete of its own.
    pub fn goes_with_table(&self, mount: &Mount, node: &Node) -> bool {
        is_part_of_table(node) && self.is_removing(mount, node)
    }

    /// True if this directory lists nothing for the caller, which removes its table. libc++'s
    /// `remove_all`, which Node calls, opens a directory anew until nothing is in it: it would
    /// never be done with names that go with the table. Directories of items still list the items
    /// that are left.
    pub fn lists_nothing(&self, mount: &Mount, node: &Node) -> bool {
        let holds_items = match node {
            Node::Items(source) | Node::Collection(source, _) => source.index.is_none(),
            _ => false,
        };
        !holds_items && self.is_removing(mount, node)
    }

    /// Lets UNLINK of a derived file succeed with `-o restore`: the file is gone for the caller,
    /// which will write it anew.
    pub fn unlink_derived(&self, mount: &Mount, node: &Node, error: FsError) -> Result<()> {
        if !node
            .table()
            .is_some_and(|table| mount.discards_writes(table))
            || !matches!(error, FsError::Derived | FsError::NotPermitted(_))
        {
            return Err(error);
        }
        mount
            .archiver_quirks
            .unlinked(node.ino(), tgid_of(mount.caller.pid), now_ms());
        Ok(())
    }
}

/// True if the node exists because its table does, and not because a program made it.
fn is_part_of_table(node: &Node) -> bool {
    match node {
        Node::Entry(entry) => entry.source.index.is_some(),
        Node::Collection(source, _) => source.index.is_some(),
        Node::Items(_)
        | Node::Indexes(..)
        | Node::Index(_)
        | Node::Schema(_)
        | Node::Stats(_)
        | Node::Base(..) => true,
        Node::Special(special) => special.table().is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_veto_is_for_one_table_one_process_and_a_while() {
        let (vetoes, now) = (Vetoes::default(), 1_000);
        let (orders, pets) = (
            TableName::new("Orders").unwrap(),
            TableName::new("Pets").unwrap(),
        );
        assert_eq!(vetoes.add(&orders, 7, now), []);
        assert!(vetoes.is_vetoed(&orders, 7, now));
        assert!(!vetoes.is_vetoed(&pets, 7, now));
        assert!(!vetoes.is_vetoed(&orders, 8, now));
        assert!(!vetoes.mark_reported(&pets, 7, now) && !vetoes.mark_reported(&orders, 8, now));
        assert!(!vetoes.mark_reported(&orders, 7, now) && vetoes.mark_reported(&orders, 7, now));
        assert!(!vetoes.is_vetoed(&orders, 7, now + VETO_MS));
        assert_eq!(vetoes.add(&orders, 7, now), []);
        vetoes.lift(7);
        assert!(!vetoes.is_vetoed(&orders, 7, now));
    }

    #[test]
    fn a_veto_gives_back_what_the_process_removed_of_that_table_just_before() {
        let (vetoes, now) = (Vetoes::default(), 1_000);
        let (orders, pets) = (
            TableName::new("Orders").unwrap(),
            TableName::new("Pets").unwrap(),
        );
        let form = |text: &str| SavedForm::Link(text.to_owned());
        for (table, process, name) in [
            (&orders, 7, "a"),
            (&pets, 7, "b"),
            (&orders, 8, "c"),
            (&orders, 7, "d"),
        ] {
            vetoes.removed(table, process, now, name, form(name));
        }
        assert_eq!(
            vetoes.add(&orders, 7, now),
            [("a".to_owned(), form("a")), ("d".to_owned(), form("d"))]
        );
        assert_eq!(vetoes.add(&orders, 7, now), []);
        assert_eq!(vetoes.add(&orders, 8, now + VETO_MS), [], "too long ago");
    }
}
