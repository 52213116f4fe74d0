//! `.ddb/stats.json` and `.ddb/config.json`: how the store and this mount are, and how they were set up.

use crate::codec::calendar;
use crate::fs::mount::text::pretty;
use crate::fs::open::host::threads::WAITING_MAX;
use crate::fs::open::prelude::*;
use crate::fs::write::scratch::{SCRATCH_FILE_BYTES_MAX, scratch_bytes_max};

/// `.ddb/stats.json`
pub fn stats(mount: &Mount, _at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    let store = mount.db.store_info();
    let tables = mount.db.table_names()?;
    let (mut items, mut bytes) = (0, 0);
    for table in &tables {
        // One that went meanwhile counts nothing.
        let stats = mount.db.stats(&base(table)).unwrap_or_default();
        items += stats.entries;
        bytes += stats.bytes;
    }
    let now_ms = now_ms();
    let checkpoint_age = store.checkpoint_at.map(|at| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX));
    let out = json!({
        "tables": tables.len(),
        "items": items,
        "item_bytes": bytes,
        "store_used_bytes": store.used_bytes,
        "store_free_bytes": store.free_bytes,
        "log_bytes": store.log_bytes,
        "last_checkpoint": checkpoint_age.map(|age| calendar::iso(now_ms.saturating_sub(age))),
        "checkpoint_age_seconds": checkpoint_age.map(|age| age / 1000),
        "commit_id": mount.db.commit_id(),
        "kernel": mount.kept.get().map(|kept| kept()),
        "started": calendar::iso(mount.started_ms),
        "uptime_seconds": now_ms.saturating_sub(mount.started_ms) / 1000,
    });
    Ok(pretty(&out))
}

/// `.ddb/config.json`: the options that the view decides about, the limits of the mount, and what its program told of itself.
pub fn config(mount: &Mount, _at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    let options = &mount.options;
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
            "scratch_bytes": scratch_bytes_max(),
        },
    });
    if let (Some(all), Some(Value::Object(told))) = (out.as_object_mut(), mount.config.get()) {
        all.extend(told.clone());
    }
    Ok(pretty(&out))
}
