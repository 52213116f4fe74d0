//! `rm -r Orders` meets `schema.json` first. Its unlink is refused, and so are this process's further deletes in that table for a
//! while, before it has destroyed what nobody asked it to.
//!
//! A program that deletes in another order (`rsync --delete`) may have removed saved queries before it meets a veto. Those of the same
//! process and table are then put back: they are few, and small enough to be kept for that while. `rm -r Orders/queries` meets no veto.
//!
//! With `-o allow_drop` it is let through (docs/filesystem.md 3).

use super::threads::Workers;
use crate::fs::mount::Mount;
use crate::fs::mount::in_progress::is_restorer;
use crate::fs::node::Node;
use crate::fs::prelude::*;
use crate::fs::process::{Process, process_of};
use crate::model::api::table_control::{SavedForm, SavedQueryChange};

/// How long a process that tried to unlink `schema.json` may not delete in that table (docs/filesystem.md 3).
const VETO_MS: u64 = 5_000;
const VETOES_MAX: usize = 1_000;
/// Saved queries kept to be put back: as many as five tables can have.
const REMOVED_MAX: usize = 1_000;

/// Who may delete nothing in a table.
#[derive(Debug, Default)]
struct Vetoes {
    /// Was the process told why?
    list: Mutex<Recent<(TableName, u32), bool, VETOES_MAX, VETO_MS>>,
    /// By name, of a table and a process.
    removed: Mutex<Recent<(TableName, u32, String), SavedForm, REMOVED_MAX, VETO_MS>>,
}

impl Vetoes {
    /// Has any process tried of late? Then the caller's must be found out.
    fn any(&self) -> bool {
        !self.list.lock().is_empty()
    }

    /// This process removed a saved query.
    fn removed(&self, table: &TableName, pid: u32, now_ms: u64, name: &str, form: SavedForm) {
        self.removed
            .lock()
            .keep((table.clone(), pid, name.to_owned()), form, now_ms);
    }

    /// This process tried; the saved queries of that table that it removed just before.
    #[must_use]
    fn add(&self, table: &TableName, pid: u32, now_ms: u64) -> Vec<(String, SavedForm)> {
        let (place, mut list) = ((table.clone(), pid), self.list.lock());
        // Told once stays told: `rm -r` goes on to fail at every file, and the first failure is the one that says why.
        let told = list.get(&place, now_ms).copied().unwrap_or_default();
        list.keep(place, told, now_ms);
        drop(list);
        let mut removed = self.removed.lock();
        removed.forget_old(now_ms);
        let taken = removed.take_if(|(of, by, _), _| of == table && *by == pid);
        taken
            .into_iter()
            .map(|((_, _, name), form)| (name, form))
            .collect()
    }

    /// This process has made anew what it had unlinked: it restores.
    fn lift(&self, pid: u32) {
        self.list.lock().take_if(|(_, by), _| *by == pid);
    }

    /// May this process not delete in that table?
    fn holds(&self, table: &TableName, pid: u32, now_ms: u64) -> bool {
        let mut list = self.list.lock();
        list.forget_old(now_ms);
        list.get(&(table.clone(), pid), now_ms).is_some()
    }

    /// Has a process that is vetoed in that table been told so? From now on it has: its first failure says why, those that
    /// follow are of the same attempt.
    fn was_told(&self, table: &TableName, pid: u32, now_ms: u64) -> bool {
        self.list
            .lock()
            .get_mut(&(table.clone(), pid), now_ms)
            .is_some_and(|told| std::mem::replace(told, true))
    }
}

/// See the module.
pub struct RmGuard {
    workers: Arc<Workers>,
    vetoes: Vetoes,
}

impl std::fmt::Debug for RmGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.vetoes.fmt(f)
    }
}

impl RmGuard {
    #[must_use]
    pub fn new(workers: Arc<Workers>) -> Self {
        Self {
            workers,
            vetoes: Vetoes::default(),
        }
    }

    /// Did this process not just try to delete the whole table?
    ///
    /// # Errors
    /// It did.
    pub fn may_delete(&self, table: &TableName, mount: &Mount) -> Result<()> {
        if self.vetoes.any()
            && self
                .vetoes
                .holds(table, process_of(mount.caller.pid), now_ms())
        {
            return Err(FsError::NotPermitted(
                "this process tried to delete the whole table; what is in it stays",
            ));
        }
        Ok(())
    }

    /// This process removed a saved query, which comes back if it turns out to delete the whole table.
    pub fn removed_saved(&self, mount: &Mount, table: &TableName, name: &str, form: SavedForm) {
        self.vetoes
            .removed(table, process_of(mount.caller.pid), now_ms(), name, form);
    }

    /// Is a failure on this path one more of a process that was told already why it may not delete that table?
    pub fn follows_veto(&self, mount: &Mount, path: &str) -> bool {
        let table = path.split('/').next().unwrap_or_default();
        let was_told = |table: TableName| {
            self.vetoes
                .was_told(&table, process_of(mount.caller.pid), now_ms())
        };
        self.vetoes.any() && TableName::new(table).is_ok_and(was_told)
    }

    /// UNLINK of a table's `schema.json`: the first of `rm -r`, or of a program that will write it anew.
    pub fn unlink_definition(&self, mount: &Mount, node: &Node, table: &TableName) -> Result<()> {
        let (process, now) = (process_of(mount.caller.pid), now_ms());
        if mount.options.allow_drop {
            if mount.schema(table)?.deletion_protection {
                self.veto(mount, table, process, now);
                return Err(FsError::Database(Error::DeletionProtected));
            }
            mount.in_progress.removing(table, process, now);
            return Ok(());
        }
        // tar, unzip and install unlink what they write next; to refuse them would leave the table half restored. Until it has made the
        // definition anew such a process deletes nothing in the table.
        self.veto(mount, table, process, now);
        if mount.options.restore || is_restorer(process) {
            mount.in_progress.unlinked(node.ino(), process, now);
            return Ok(());
        }
        Err(FsError::NotPermitted(
            "a table is not deleted file by file; rmdir when it has no items, or mount with -o allow_drop",
        ))
    }

    /// The caller, or the engine, made what was not there for the caller.
    pub fn made_anew(&self, mount: &Mount, ino: u64) {
        for process in mount.in_progress.made(ino) {
            self.vetoes.lift(process);
        }
    }

    /// Is this node not there for the caller, who unlinked it to write it anew, or makes the table as a copy?
    pub fn is_gone_for(&self, mount: &Mount, node: &Node) -> bool {
        if !mount.in_progress.any(now_ms()) {
            return false;
        }
        let (process, now, ino) = (process_of(mount.caller.pid), now_ms(), node.ino());
        let is_definition = matches!(node, Node::Schema(source) if source.index.is_none());
        let of_maker = node
            .table()
            .filter(|_| is_definition || is_part_of_table(node))
            .is_some_and(|table| {
                let is_template = is_definition && mount.is_draft(table).unwrap_or(false);
                mount
                    .in_progress
                    .is_to_be_made(table, ino, process, is_template, now)
            });
        of_maker || mount.in_progress.is_unlinked(ino, process, now)
    }

    /// A process made the directory of a draft.
    pub fn made_draft(&self, mount: &Mount, table: &TableName) {
        if let Some(process) = Process::of_thread(mount.caller.pid) {
            mount.in_progress.made_directory(table, process, now_ms());
        }
    }

    /// An attempt to be rid of a part that goes only with its table: further deletes of that process are vetoed.
    pub fn veto_after(&self, mount: &Mount, node: &Node) {
        if let Some(table) = node.table()
            && !mount.restores(table)
        {
            self.veto(mount, table, process_of(mount.caller.pid), now_ms());
        }
    }

    /// Bars a process from deleting in a table for a while, and puts back the saved queries that it removed just before.
    fn veto(&self, mount: &Mount, table: &TableName, process: u32, now: u64) {
        let removed = self.vetoes.add(table, process, now);
        if removed.is_empty() {
            return;
        }
        let (mount, table) = (mount.clone(), table.clone());
        // Each is a commit: the refusal itself must not wait for them.
        self.workers.run(move || {
            for (name, form) in removed {
                // Who saved another one of that name meanwhile keeps it.
                let change = SavedQueryChange::Put {
                    name,
                    form,
                    replace: false,
                };
                if let Err(error) = mount.db.change_saved_queries(&table, change) {
                    log::error!(
                        "a saved query of {table} was removed and could not be put back: {error}"
                    );
                }
            }
        });
    }

    /// Does the caller remove the table of this node?
    fn is_removing(&self, mount: &Mount, node: &Node) -> bool {
        let Some(table) = node.table().filter(|_| mount.in_progress.any(now_ms())) else {
            return false;
        };
        let (process, now) = (process_of(mount.caller.pid), now_ms());
        let removing = mount.in_progress.is_removing(table, process, now);
        if removing {
            // A large table takes its time.
            mount.in_progress.removing(table, process, now);
        }
        removing
    }

    /// Of a table that the caller removes: what goes with it needs no deleting of its own.
    pub fn goes_with_table(&self, mount: &Mount, node: &Node) -> bool {
        is_part_of_table(node) && self.is_removing(mount, node)
    }

    /// Does this directory list nothing for the caller, who removes its table? libc++'s `remove_all`, which Node calls, opens a
    /// directory anew until nothing is in it: it would never be done with names that go with the table. What items are in still says
    /// which are left.
    pub fn is_emptied_for(&self, mount: &Mount, node: &Node) -> bool {
        let holds_items = match node {
            Node::Items(source) | Node::Collection(source, _) => source.index.is_none(),
            _ => false,
        };
        !holds_items && self.is_removing(mount, node)
    }

    /// UNLINK of a derived file, with `-o restore`: gone for the caller, who will write it anew.
    pub fn unlink_derived(&self, mount: &Mount, node: &Node, error: FsError) -> Result<()> {
        if !node.table().is_some_and(|table| mount.restores(table))
            || !matches!(error, FsError::Derived | FsError::NotPermitted(_))
        {
            return Err(error);
        }
        mount
            .in_progress
            .unlinked(node.ino(), process_of(mount.caller.pid), now_ms());
        Ok(())
    }
}

/// Is it there because the table is, and not because somebody made it?
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
