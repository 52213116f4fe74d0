//! `stats.json`: the counters of a table or an index, whose text is made in `schema.rs`.

use super::schema;
use crate::fs::open::prelude::*;

#[derive(Debug)]
pub struct Stats<'n>(pub &'n Source);

impl NodeOps<Node> for Stats<'_> {
    fn modified_ms(&self, _at: &Node, mount: &Mount) -> Result<u64> {
        mount.source_time(self.0)
    }

    fn text(&self, _at: &Node, mount: &Mount) -> Result<Vec<u8>> {
        schema::stats_text(mount, self.0)
    }

    fn unlink(&self, at: &Node, host: &Host, reply: Reply<()>) {
        reply(Err(refuse_unlink(at, host)));
    }
}

/// Refuses to unlink a file that goes only with its table.
pub fn refuse_unlink(at: &Node, host: &Host) -> FsError {
    host.rm_guard.veto_after(&host.mount, at);
    FsError::NotPermitted("this file is part of its table")
}
