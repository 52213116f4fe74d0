//! What calls tell [`super::notes::Reads`].

use std::sync::{Arc, Weak};

use super::View;
use crate::database::{EntryKey, Source, TextForm};
use crate::engine::witness::Witness;
use crate::fs::mount::text::Text;
use crate::fs::node::{EntryNode, Node, base};
use crate::fs::open::host::Host;
use crate::fs::process::Caller;
use crate::fs::source::entry::{self, item_number};
use crate::model::api::Version;
use crate::model::{Key, TableName};

/// Renews the notes of a thread's process.
struct Renewing {
    view: Weak<View>,
    thread: u32,
}

impl Witness for Renewing {
    fn wrote(&self, table: &TableName, key: &Key, version: Option<Version>) {
        let Some(view) = self.view.upgrade() else { return };
        // On the committer: notes are short; reading the item back is for another thread.
        let is_noted = view.reads.wrote(item_number(table, key), self.thread, version);
        if let Some(version) = version.filter(|_| is_noted) {
            let (next, source, key) = (Arc::clone(&view), base(table), key.clone());
            view.run_elsewhere(Box::new(move || next.see(&source, key, version)));
        }
    }
}

impl View {
    /// Who is to hear of what operations write for this thread's process: what they write is what it knows from then on.
    pub(super) fn renewing(&self, thread: u32) -> Arc<dyn Witness> {
        Arc::new(Renewing { view: self.me.clone(), thread })
    }

    /// The version of an item that a write of a thread's process must find, or none, if the process read it.
    pub(super) fn known_version(&self, table: &TableName, key: &Key, thread: u32) -> Option<Version> {
        self.reads.version(item_number(table, key), thread)
    }

    /// A thread read this text of an item.
    pub(super) fn read_item(&self, thread: u32, entry: &EntryNode, version: Version, text: &Arc<Text>) {
        if !self.mount.options.last_writer_wins {
            self.reads.note(item_number(&entry.source.table, &entry.key.base), thread, version);
            self.seen.keep(version, entry.form, text);
        }
    }

    /// Remembers an item as it is now, unless its text of that version is known.
    fn see(&self, source: &Source, base: Key, version: Version) {
        let form = TextForm::PlainJson;
        if !self.seen.has(version)
            && let Ok(Some((text, stat))) = self.mount.db.text(source, &EntryKey { index: None, base }, form)
        {
            self.keep_text(stat.version, form, &text);
        }
    }

    /// Remembers the text of a version, if there is room for it.
    pub(super) fn keep_text(&self, version: Version, form: TextForm, text: &[u8]) {
        if let Ok(text) = Text::new(text.to_vec(), &self.mount.budget) {
            self.seen.keep(version, form, &text);
        }
    }

    /// LOOKUP of what has this inode number.
    pub(super) fn looked_up(&self, caller: Caller, node: &Node, ino: u64) {
        if let Some((item, _)) = item_of(node, ino) {
            self.reads.looked_up(item, caller.pid);
        }
    }

    /// GETATTR, before the attributes are read.
    pub(super) fn looks_at(&self, caller: Caller, node: &Node, ino: u64) {
        if let Some((item, entry)) = item_of(node, ino)
            && self.reads.is_noted(item)
            // Before the attributes are read: what is noted is at most as new as what the caller is shown, so that a change in
            // between still refuses its write.
            && let Ok(stat) = entry::stat(&self.mount, &entry.source, &entry.key)
        {
            self.reads.looked_at(item, caller.pid, stat.version);
        }
    }

    /// OPEN for writing, or SETATTR of the size.
    pub(super) fn opens(&self, caller: Caller, node: &Node, ino: u64) {
        if let Some((item, _)) = item_of(node, ino) {
            self.reads.opened(item, caller.pid);
        }
    }
}

/// The item that is the node of this inode number, and what [`Reads`] calls it.
fn item_of(node: &Node, ino: u64) -> Option<(u64, &EntryNode)> {
    match node {
        Node::Entry(entry) if entry.source.index.is_some() => None,
        Node::Entry(entry) if entry.form == TextForm::PlainJson => Some((ino, entry)),
        Node::Entry(entry) => Some((item_number(&entry.source.table, &entry.key.base), entry)),
        _ => None,
    }
}
