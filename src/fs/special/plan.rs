//! `<Table>/schema.plan`: what writing a definition would do, for lookup only. Written as `schema.json` is, read back as ordered steps
//! and refusals; each session reads its own.

use std::collections::HashMap;
use std::sync::Arc;

use super::{OpenSpecial, Special, SpecialNode};
use crate::fs::FsError;
use crate::fs::handle::{Handle, OpenText};
use crate::fs::node::Node;
use crate::fs::tree::table_name;
use crate::fs::tree::{Caller, Tree};
use crate::fs::view::{OpenFlags, View};
use crate::fs::write::schema_target::PlanTarget;
use crate::fs::write::{Opener, TextWriter};
use crate::model::TableName;

/// The name in its table's directory.
pub const NAME: &str = "schema.plan";

/// Plans that are remembered.
const PLANS_MAX: usize = 256;

/// The last plan of each session for each table.
#[derive(Debug, Default)]
pub struct Plans {
    by_place: HashMap<(TableName, u32), Vec<u8>>,
}

impl Plans {
    /// Remembers a plan; when there are too many, only it.
    pub fn keep(&mut self, table: &TableName, session: u32, text: Vec<u8>) {
        if self.by_place.len() >= PLANS_MAX {
            self.by_place.clear();
        }
        self.by_place.insert((table.clone(), session), text);
    }

    #[must_use]
    pub fn get(&self, table: &TableName, session: u32) -> Option<Vec<u8>> {
        self.by_place.get(&(table.clone(), session)).cloned()
    }
}

#[derive(Debug)]
struct Plan {
    table: TableName,
    path: String,
}

/// Of that table or draft.
#[must_use]
pub fn node(table: &TableName) -> Node {
    SpecialNode::node(Plan { table: table.clone(), path: format!("{}/{NAME}", table_name(table)) })
}

impl Special for Plan {
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

    fn text(&self, tree: &Tree, caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(View::plan_text(tree, &self.table, caller))
    }

    fn open_for_writing(&self, view: &Arc<View>, caller: Caller, ino: u64, flags: OpenFlags) -> Result<Handle, FsError> {
        let target = PlanTarget(view.schema_target(&self.table)?);
        let writer = TextWriter::stream(target, Opener { pid: caller.pid, append: flags.append });
        let open: Arc<dyn OpenSpecial> = Arc::new(OpenText::new(ino, self.path.clone(), caller.pid, writer));
        Ok(Handle::Special(open))
    }
}
