//! `ctl`: commands written to a table or a draft.

use std::sync::Arc;

use super::{Caller, Reply, View};
use crate::fs::FsError;
use crate::fs::node::Node;
use crate::fs::write::draft;
use crate::model::TableName;
use crate::model::api::DeleteTableRequest;

impl View {
    /// One write is one command. A table may take long to go: it is done on a thread of its own.
    pub(super) fn control(self: &Arc<Self>, caller: Caller, table: &TableName, data: &[u8], reply: Reply<()>) {
        let (view, table, data) = (Arc::clone(self), table.clone(), data.to_vec());
        self.workers.run(Box::new(move || {
            let ended = view.command(&table, &data);
            let path = || view.tree.path(&Node::Control(table.clone()));
            reply(view.noted_at(caller, "write", path, ended));
        }));
    }

    fn command(&self, table: &TableName, data: &[u8]) -> Result<(), FsError> {
        let text = std::str::from_utf8(data).map_err(|_| FsError::Invalid("a command is text"))?;
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            [] => Ok(()),
            ["drop"] if self.tree.is_draft(table)? => {
                self.tree.drafts.lock().drop_draft(table);
                Ok(())
            }
            ["drop"] => self.drop_table(DeleteTableRequest::new(table.clone())),
            ["create", keys @ ..] if !keys.is_empty() => {
                let name = format!("{table}@{}", keys.join(","));
                let request = draft::one_step(&name).ok_or(FsError::NotFound)??;
                Ok(self.create_table(request)?)
            }
            _ => Err(FsError::Invalid("the commands are: create pk:S [sk:N], drop")),
        }
    }
}
