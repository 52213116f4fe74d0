//! `rm -r` of a table: vetoed, or with `-o allow_drop` let through (docs/filesystem.md 3).

use super::View;
use crate::fs::mount::in_progress::is_restorer;
use crate::fs::open::prelude::*;
use crate::fs::process::Process;
use crate::fs::process::process_of;
use crate::fs::tree;
use crate::model::api::saved_query::SavedQueryChange;

impl View {
    /// UNLINK of a table's `schema.json`: the first of `rm -r`, or of a program that will write it anew.
    pub(super) fn unlink_definition(&self, caller: Caller, node: &Node, table: &TableName) -> Result<(), FsError> {
        let (process, now) = (process_of(caller.pid), now_ms());
        if self.mount.options.allow_drop {
            if self.mount.schema(table)?.deletion_protection {
                self.veto(table, process, now);
                return Err(FsError::Database(crate::model::Error::DeletionProtected));
            }
            self.mount.in_progress.removing(table, process, now);
            return Ok(());
        }
        // tar, unzip and install unlink what they write next; to refuse them would leave the table half restored. Until it has made the
        // definition anew such a process deletes nothing in the table.
        self.veto(table, process, now);
        if self.mount.options.restore || is_restorer(process) {
            self.mount.in_progress.unlinked(node.ino(), process, now);
            return Ok(());
        }
        Err(FsError::NotPermitted("a table is not deleted file by file; rmdir when it has no items, or mount with -o allow_drop"))
    }

    /// The caller, or the engine, made what was not there for the caller.
    pub(super) fn made_anew(&self, ino: u64) {
        for process in self.mount.in_progress.made(ino) {
            self.vetoes.lift(process);
        }
    }

    /// Is this node not there for the caller, who unlinked it to write it anew, or makes the table as a copy?
    pub(super) fn is_gone_for(&self, caller: Caller, node: &Node) -> bool {
        if !self.mount.in_progress.any(now_ms()) {
            return false;
        }
        let (process, now, ino) = (process_of(caller.pid), now_ms(), node.ino());
        let is_definition = matches!(node, Node::Schema(source) if source.index.is_none());
        let of_maker = node.table().filter(|_| is_definition || is_part_of_table(node)).is_some_and(|table| {
            let is_template = is_definition && self.mount.is_draft(table).unwrap_or(false);
            self.mount.in_progress.is_to_be_made(table, ino, process, is_template, now)
        });
        of_maker || self.mount.in_progress.is_unlinked(ino, process, now)
    }

    /// A process made the directory of a draft.
    pub(super) fn made_draft(&self, caller: Caller, table: &TableName) {
        if let Some(process) = Process::of_thread(caller.pid) {
            self.mount.in_progress.made_directory(table, process, now_ms());
        }
    }

    /// A directory that is there by itself, made by a caller for whom it was not.
    pub(super) fn made_by_itself(&self, caller: Caller, parent: &Node, name: &str) -> Option<Node> {
        let node = tree::resolve(&self.mount, parent, name.as_bytes()).ok().filter(|_| self.mount.in_progress.any(now_ms()))?;
        let is_there = node.kind() == Kind::Directory && self.attr_of(&node, caller).is_ok() && self.is_gone_for(caller, &node);
        is_there.then(|| {
            self.made_anew(node.ino());
            node
        })
    }

    /// An attempt to be rid of a part that goes only with its table: further deletes of that process are vetoed.
    pub(super) fn veto_after(&self, caller: Caller, node: &Node) {
        if let Some(table) = node.table()
            && !self.mount.restores(table)
        {
            self.veto(table, process_of(caller.pid), now_ms());
        }
    }

    /// Bars a process from deleting in a table for a while, and puts back the saved queries that it removed just before.
    fn veto(&self, table: &TableName, process: u32, now: u64) {
        let removed = self.vetoes.add(table, process, now);
        if removed.is_empty() {
            return;
        }
        let (mount, table) = (Arc::clone(&self.mount), table.clone());
        // Each is a commit: the refusal itself must not wait for them.
        self.run_elsewhere(Box::new(move || {
            for (name, form) in removed {
                // Who saved another one of that name meanwhile keeps it.
                let change = SavedQueryChange::Put { name, form, replace: false };
                if let Err(error) = mount.db.change_saved_queries(&table, change) {
                    log::error!("a saved query of {table} was removed and could not be put back: {error}");
                }
            }
        }));
    }

    /// Does the caller remove the table of this node?
    fn is_removing(&self, caller: Caller, node: &Node) -> bool {
        let Some(table) = node.table().filter(|_| self.mount.in_progress.any(now_ms())) else { return false };
        let (process, now) = (process_of(caller.pid), now_ms());
        let removing = self.mount.in_progress.is_removing(table, process, now);
        if removing {
            // A large table takes its time.
            self.mount.in_progress.removing(table, process, now);
        }
        removing
    }

    /// Of a table that the caller removes: what goes with it needs no deleting of its own.
    pub(super) fn goes_with_table(&self, caller: Caller, node: &Node) -> bool {
        is_part_of_table(node) && self.is_removing(caller, node)
    }

    /// Does this directory list nothing for the caller, who removes its table? libc++'s `remove_all`, which Node calls, opens a
    /// directory anew until nothing is in it: it would never be done with names that go with the table. What items are in still says
    /// which are left.
    pub(super) fn is_emptied_for(&self, caller: Caller, node: &Node) -> bool {
        let holds_items = match node {
            Node::Items(source) | Node::Collection(source, _) => source.index.is_none(),
            _ => false,
        };
        !holds_items && self.is_removing(caller, node)
    }

    /// UNLINK of a derived file, with `-o restore`: gone for the caller, who will write it anew.
    pub(super) fn unlink_derived(self: &Arc<Self>, caller: Caller, node: &Node, error: FsError) -> Result<(), FsError> {
        if !node.table().is_some_and(|table| self.mount.restores(table))
            || !matches!(error, FsError::Derived | FsError::NotPermitted(_))
        {
            return Err(error);
        }
        self.mount.in_progress.unlinked(node.ino(), process_of(caller.pid), now_ms());
        Ok(())
    }
}

/// Is it there because the table is, and not because somebody made it?
fn is_part_of_table(node: &Node) -> bool {
    match node {
        Node::Entry(entry) => entry.source.index.is_some(),
        Node::Collection(source, _) => source.index.is_some(),
        Node::Items(_) | Node::Indexes(..) | Node::Index(_) | Node::Schema(_) | Node::Stats(_) | Node::Base(..) => true,
        Node::Special(special) => special.table().is_some(),
        _ => false,
    }
}
