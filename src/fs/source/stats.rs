//! `stats.json`: the counters of a table or an index; `schema.rs` makes the text.

use super::schema;
use crate::fs::open::prelude::*;

#[derive(Debug)]
pub struct Stats<'n>(pub &'n SourceName);

impl NodeOps<Node> for Stats<'_> {
    fn modified_ms(&self, _at: &Node, mount: &Mount) -> Result<u64> {
        mount.source_created_ms(self.0)
    }

    fn text(&self, _at: &Node, mount: &Mount) -> Result<Vec<u8>> {
        schema::stats_text(mount, self.0)
    }

    fn unlink(&self, node: &Node, host: &Host, reply: Reply<()>) {
        reply(Err(host.refuse_part(node)));
    }
}
