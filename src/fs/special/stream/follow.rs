//! `<Table>/stream/follow`: every change from the open on. A read waits for the next one (`view/waiting.rs`).

use std::sync::Arc;

use parking_lot::Mutex;

use super::records::Records;
use super::{Special, SpecialNode, line};
use crate::fs::FsError;
use crate::fs::handle::Handle;
use crate::fs::node::Node;
use crate::fs::special::OpenSpecial;
use crate::fs::tree::table_name;
use crate::fs::tree::{Caller, Tree};
use crate::fs::view::{Bytes, Reply, View};
use crate::model::TableName;
use crate::model::api::ShardPosition;

/// The name in `stream/`.
pub const NAME: &str = "follow";

/// Records read ahead of the reader.
const RECORDS_MAX: u32 = 100;

#[derive(Debug)]
struct Follow {
    table: TableName,
    path: String,
}

/// Of that table, which has a stream.
///
/// # Errors
/// There is no table; it has no stream.
pub fn node(tree: &Tree, table: &TableName) -> Result<Node, FsError> {
    super::of_table(tree, table)?;
    Ok(SpecialNode::node(Follow { table: table.clone(), path: format!("{}/{}/{NAME}", table_name(table), super::NAME) }))
}

impl Special for Follow {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        super::node(&self.table)
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.table)
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        Ok(tree.started_ms)
    }

    fn waits(&self) -> bool {
        true
    }

    fn text(&self, _tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(Vec::new())
    }

    fn open_for_reading(&self, view: &Arc<View>, _caller: Caller) -> Result<Handle, FsError> {
        let stream = super::of_table(view.tree(), &self.table)?;
        let records = Records::at(view.tree(), stream, ShardPosition::Latest)?;
        Ok(Handle::Special(Arc::new(OpenFollow {
            table: self.table.clone(),
            ahead: Mutex::new(Ahead { records, bytes: Vec::new() }),
        })))
    }
}

#[derive(Debug)]
struct OpenFollow {
    table: TableName,
    ahead: Mutex<Ahead>,
}

#[derive(Debug)]
struct Ahead {
    records: Records,
    /// Lines, or the rest of one, that the reader has not taken yet.
    bytes: Vec<u8>,
}

impl OpenFollow {
    /// What there is to read now, if anything.
    fn take(&self, tree: &Tree, size: usize) -> Result<Option<Vec<u8>>, FsError> {
        let mut ahead = self.ahead.lock();
        if ahead.bytes.is_empty() {
            self.fill(&mut ahead, tree)?;
        }
        let count = size.min(ahead.bytes.len());
        let taken: Vec<u8> = ahead.bytes.drain(..count).collect();
        Ok((!taken.is_empty()).then_some(taken))
    }

    fn fill(&self, ahead: &mut Ahead, tree: &Tree) -> Result<(), FsError> {
        for record in ahead.records.next(tree, RECORDS_MAX)? {
            line::write(&record, &mut ahead.bytes);
        }
        if ahead.bytes.is_empty() && ahead.records.is_ended() {
            // It was disabled; of a new one every record is news.
            let newest = super::of_table(tree, &self.table)?;
            if newest != *ahead.records.stream() {
                ahead.records = Records::at(tree, newest, ShardPosition::TrimHorizon)?;
            }
        }
        Ok(())
    }
}

impl OpenSpecial for OpenFollow {
    fn held_bytes(&self) -> Option<usize> {
        self.ahead.try_lock().map(|ahead| ahead.bytes.capacity())
    }

    fn reads_ahead(&self) -> bool {
        true
    }

    fn read(self: Arc<Self>, view: &Arc<View>, caller: Caller, _offset: u64, size: usize, reply: Reply<Bytes>) {
        if size == 0 {
            return reply(Ok(Bytes::own(Vec::new())));
        }
        view.wait(caller, Box::new(move |tree| self.take(tree, size)), reply);
    }
}
