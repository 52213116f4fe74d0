//! `<Table>/ctl`: commands to a table or a draft. One write is one command.

use std::sync::Arc;

use super::{OpenSpecial, Special, SpecialNode};
use crate::fs::FsError;
use crate::fs::handle::Handle;
use crate::fs::node::Node;
use crate::fs::special;
use crate::fs::tree::table_name;
use crate::fs::tree::{Caller, Tree};
use crate::fs::view::{OpenFlags, Reply, View};
use crate::fs::write::{draft, index_draft};
use crate::model::TableName;
use crate::model::api::DeleteTableRequest;

/// The name in its table's directory.
pub const NAME: &str = "ctl";

/// What it says when it is read.
const USAGE: &str = "\
create pk:S [sk:N]              make this draft a table
drop                            delete this table with its items
gsi NAME key:S [sort:N] [keys | all | include=a,b]
                                make a global index; rmdir gsi/NAME drops it
gsi-propagation pause | resume  stop the global indexes where they are, and let them go on
";

#[derive(Debug, Clone)]
struct Control {
    table: TableName,
    path: String,
}

/// Of that table or draft.
#[must_use]
pub fn node(table: &TableName) -> Node {
    SpecialNode::node(Control { table: table.clone(), path: format!("{}/{NAME}", table_name(table)) })
}

impl Special for Control {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        Node::Table(self.table.clone())
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.table)
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        Ok(tree.table_attr(&self.table)?.modified_ms)
    }

    fn text(&self, _tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(USAGE.as_bytes().to_vec())
    }

    fn open_for_writing(&self, _view: &Arc<View>, _caller: Caller, _ino: u64, _flags: OpenFlags) -> Result<Handle, FsError> {
        Ok(Handle::Special(Arc::new(self.clone())))
    }
}

impl OpenSpecial for Control {
    /// A table may take long to go: it is done on a thread of its own.
    fn write(self: Arc<Self>, view: &Arc<View>, caller: Caller, _offset: u64, data: &[u8], reply: Reply<()>) {
        let (again, data) = (Arc::clone(view), data.to_vec());
        view.run_long(Box::new(move || {
            let ended = command(&again, &self.table, &data);
            reply(again.noted_at(caller, "write", || self.path.clone(), ended));
        }));
    }
}

fn command(view: &View, table: &TableName, data: &[u8]) -> Result<(), FsError> {
    let text = std::str::from_utf8(data).map_err(|_| FsError::Invalid("a command is text"))?;
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        [] => Ok(()),
        ["drop"] if view.tree().is_draft(table)? => {
            view.tree().drafts.lock().drop_draft(table);
            Ok(())
        }
        ["drop"] => view.drop_table(DeleteTableRequest::new(table.clone())),
        ["create", keys @ ..] if !keys.is_empty() => {
            let name = format!("{table}@{}", keys.join(","));
            let request = draft::one_step(&name).ok_or(FsError::NotFound)??;
            Ok(view.create_table(request)?)
        }
        ["gsi", words @ ..] => {
            let request = index_draft::of_words(&*view.tree().schema(table)?, words)?;
            Ok(special::index_draft::update(view, request)?)
        }
        ["gsi-propagation", change @ ("pause" | "resume")] => {
            let control = view.tree().db.administration().ok_or(FsError::NotSupported)?;
            Ok(control.pause_index_propagation(table, *change == "pause")?)
        }
        _ => Err(FsError::Invalid(
            "the commands are: create pk:S [sk:N], drop, gsi NAME key:S [sort:N] [keys | all | include=a,b], gsi-propagation pause | resume",
        )),
    }
}
