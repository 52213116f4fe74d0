//! What calls tell [`super::notes::Reads`].

use super::View;
use crate::fs::mount::text::Text;
use crate::fs::node::entry_ino;
use crate::fs::open::prelude::*;
use crate::fs::source::entry::item_number;
use crate::model::api::WriteListener;
use std::sync::Weak;

/// Renews the notes of a thread's process.
struct Renewing {
    view: Weak<View>,
    thread: u32,
}

impl WriteListener for Renewing {
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
    pub(super) fn renewing(&self, thread: u32) -> Arc<dyn WriteListener> {
        Arc::new(Renewing { view: self.me.clone(), thread })
    }

    /// The version of an item that a write of a thread's process must find, or none, if the process read it.
    pub(super) fn known_version(&self, table: &TableName, key: &Key, thread: u32) -> Option<Version> {
        self.reads.version(item_number(table, key), thread)
    }

    /// A thread read this text of an item of a table.
    pub(super) fn read_item(&self, thread: u32, entry: &EntryNode, version: Version, text: &Arc<Text>) {
        if !self.mount.options.last_writer_wins {
            self.reads.note(entry_ino(&entry.source, &entry.key, TextForm::PlainJson), thread, version);
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
        if let Some(item) = item_of(node, ino) {
            self.reads.looked_up(item, caller.pid);
        }
    }

    /// GETATTR: what the caller is shown is what is noted, so that a change since still refuses its write.
    pub(super) fn looked_at(&self, caller: Caller, node: &Node, attr: &Attr) {
        // Of what is not stored there is no version.
        if let Some(item) = item_of(node, attr.ino).filter(|_| attr.version != 0) {
            self.reads.looked_at(item, caller.pid, attr.version);
        }
    }

    /// OPEN for writing, or SETATTR of the size.
    pub(super) fn opens(&self, caller: Caller, node: &Node, ino: u64) {
        if let Some(item) = item_of(node, ino) {
            self.reads.opened(item, caller.pid);
        }
    }
}

/// What [`Reads`] calls the item that is the node of this inode number.
fn item_of(node: &Node, ino: u64) -> Option<u64> {
    match node {
        Node::Entry(entry) if entry.source.index.is_some() => None,
        Node::Entry(entry) if entry.form == TextForm::PlainJson => Some(ino),
        Node::Entry(entry) => Some(entry_ino(&entry.source, &entry.key, TextForm::PlainJson)),
        _ => None,
    }
}
