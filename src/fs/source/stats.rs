//! `stats.json`: the counters of a table or an index; `schema.rs` makes the text.

use super::schema;
use crate::fs::open::prelude::*;

#[derive(Debug)]
pub struct Stats<'n>(pub &'n SourceName);

impl NodeOps<Node> for Stats<'_> {
    fn modified_ms(&self, at: At<'_, Node>) -> Result<u64> {
        at.source_created_ms(self.0)
    }

    fn text(&self, at: At<'_, Node>) -> Result<Vec<u8>> {
        schema::stats_text(&at, self.0)
    }

    fn unlink(&self, at: HostAt<'_, Node>, reply: Reply<()>) {
        reply(Err(at.refuse_part(at.node)));
    }
}
