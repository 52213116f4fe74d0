//! `.ddb/stats.json` and `.ddb/config.json`: how the store and this mount are, and how they were set up.

use serde_json::{Value, json};

use super::{Special, SpecialNode, service};
use crate::codec::calendar;
use crate::fs::FsError;
use crate::fs::node::{Node, base};
use crate::fs::tree::{Caller, Tree, now_ms, pretty};
use crate::fs::view::WAITING_MAX;
use crate::fs::write::scratch::{SCRATCH_BYTES_MAX, SCRATCH_FILE_BYTES_MAX};

/// The names in `.ddb/`.
pub const STATS_NAME: &str = "stats.json";
pub const CONFIG_NAME: &str = "config.json";

#[derive(Debug)]
struct About {
    path: &'static str,
    render: fn(&Tree) -> Result<Vec<u8>, FsError>,
}

/// `.ddb/stats.json`
#[must_use]
pub fn stats_node() -> Node {
    SpecialNode::node(About { path: ".ddb/stats.json", render: stats })
}

/// `.ddb/config.json`
#[must_use]
pub fn config_node() -> Node {
    SpecialNode::node(About { path: ".ddb/config.json", render: |tree| Ok(pretty(&config(tree))) })
}

impl Special for About {
    fn path(&self) -> &str {
        self.path
    }

    fn parent(&self) -> Node {
        service::node()
    }

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        (self.render)(tree)
    }
}

fn stats(tree: &Tree) -> Result<Vec<u8>, FsError> {
    let store = tree.db.store_info();
    let tables = tree.db.table_names()?;
    let (mut items, mut bytes) = (0, 0);
    for table in &tables {
        // One that went meanwhile counts nothing.
        let stats = tree.db.stats(&base(table)).unwrap_or_default();
        items += stats.entries;
        bytes += stats.bytes;
    }
    let out = json!({
        "tables": tables.len(),
        "items": items,
        "item_bytes": bytes,
        "store_used_bytes": store.used_bytes,
        "store_free_bytes": store.free_bytes,
        "commit_id": tree.db.commit_id(),
        "started": calendar::iso(tree.started_ms),
        "uptime_seconds": now_ms().saturating_sub(tree.started_ms) / 1000,
    });
    Ok(pretty(&out))
}

/// The options that the view decides about, the limits of the mount, and what its program told of itself.
fn config(tree: &Tree) -> Value {
    let options = &tree.options;
    let mut out = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "options": {
            "keys_strict": options.strict_keys,
            "pretty": options.pretty,
            "allow_drop": options.allow_drop,
            "show_all": options.show_all,
            "lww": options.last_writer_wins,
            "restore": options.restore,
        },
        "limits": {
            "waiting_readers": WAITING_MAX,
            "scratch_file_bytes": SCRATCH_FILE_BYTES_MAX,
            "scratch_bytes": SCRATCH_BYTES_MAX,
        },
    });
    if let (Some(all), Some(Value::Object(told))) = (out.as_object_mut(), tree.service.config.get()) {
        all.extend(told.clone());
    }
    out
}
