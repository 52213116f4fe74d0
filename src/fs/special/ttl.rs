//! `<Table>/ttl`: time to live. Reading shows it and what goes next; a write enables or disables it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{OpenSpecial, Special, SpecialNode};
use crate::codec::calendar;
use crate::database::{EntryKey, TextForm};
use crate::fs::FsError;
use crate::fs::handle::Handle;
use crate::fs::node::Node;
use crate::fs::tree::table_name;
use crate::fs::tree::{Caller, Tree, names, pretty};
use crate::fs::view::{OpenFlags, Reply, View};
use crate::model::TableName;
use crate::model::api::{
    DescribeTimeToLiveRequest, DescribeTimeToLiveResponse, TimeToLiveSpecification, TimeToLiveStatus, UpdateTimeToLiveRequest,
};

/// The name in its table's directory.
pub const NAME: &str = "ttl";

/// Items shown that go next.
const NEXT_MAX: usize = 20;

#[derive(Debug, Clone)]
struct Ttl {
    table: TableName,
    path: String,
}

/// Of that table.
#[must_use]
pub fn node(table: &TableName) -> Node {
    SpecialNode::node(Ttl { table: table.clone(), path: format!("{}/{NAME}", table_name(table)) })
}

impl Special for Ttl {
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

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        let state = describe(tree, &self.table)?;
        let next: Vec<Value> = tree
            .db
            .expiring(&self.table, NEXT_MAX)?
            .into_iter()
            .map(|(ms, key)| {
                let path = names::entry_path(&EntryKey { index: None, base: key }, TextForm::PlainJson);
                json!({"expires": calendar::iso(ms), "item": format!("items/{path}")})
            })
            .collect();
        Ok(pretty(&json!({"status": status(state.status), "attribute": state.attribute_name, "next": next})))
    }

    fn open_for_writing(&self, _view: &Arc<View>, _caller: Caller, _ino: u64, _flags: OpenFlags) -> Result<Handle, FsError> {
        Ok(Handle::Special(Arc::new(self.clone())))
    }
}

fn describe(tree: &Tree, table: &TableName) -> Result<DescribeTimeToLiveResponse, FsError> {
    Ok(tree.db.describe_time_to_live(DescribeTimeToLiveRequest { table_name: table.clone() })?)
}

fn status(status: TimeToLiveStatus) -> &'static str {
    match status {
        TimeToLiveStatus::Enabling => "ENABLING",
        TimeToLiveStatus::Enabled => "ENABLED",
        TimeToLiveStatus::Disabling => "DISABLING",
        TimeToLiveStatus::Disabled => "DISABLED",
    }
}

impl OpenSpecial for Ttl {
    fn write(self: Arc<Self>, view: &Arc<View>, caller: Caller, _offset: u64, data: &[u8], reply: Reply<()>) {
        let (again, data) = (Arc::clone(view), data.to_vec());
        view.run_elsewhere(Box::new(move || {
            let ended = command(again.tree(), &self.table, &data);
            reply(again.noted_at(caller, "write", || self.path.clone(), ended));
        }));
    }
}

fn command(tree: &Tree, table: &TableName, data: &[u8]) -> Result<(), FsError> {
    const USAGE: FsError =
        FsError::Invalid("write: enable ATTRIBUTE, the attribute that holds the time in seconds since 1970; or: disable");
    let text = std::str::from_utf8(data).map_err(|_| USAGE)?.trim();
    let (enabled, attribute_name) = match text.split_once(char::is_whitespace) {
        None if text.is_empty() => return Ok(()),
        Some(("enable", attribute)) => (true, attribute.trim().to_owned()),
        None if text == "disable" => {
            let current = describe(tree, table)?.attribute_name;
            (false, current.ok_or(FsError::Invalid("time to live is not enabled"))?)
        }
        _ => return Err(USAGE),
    };
    let specification = TimeToLiveSpecification { enabled, attribute_name };
    tree.db.update_time_to_live(UpdateTimeToLiveRequest { table_name: table.clone(), specification })?;
    Ok(())
}
