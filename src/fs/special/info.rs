//! Statistics of the store, the mount and the tables: `stats.json`, `config.json`, `capacity.json`,
//! `metrics.ndjson`, `access.md`, `access.json`. Consumption is counted by every process on the data directory since the
//! counting of the table began. `.ddb/ctl` takes commands to the mount: one write is one command.

use crate::codec::{
    calendar,
    metrics::{
        access::{self as report, TablePatterns},
        capacity::{limits, render_all},
    },
};
use crate::database::layout::Layout;
use crate::fs::{
    mount::text_cache::pretty_json,
    open::{host::threads::WAITING_MAX, prelude::*},
    write::scratch::{SCRATCH_FILE_BYTES_MAX, scratch_bytes_max},
};
use crate::model::metrics::{Metrics, TableMetrics};

/// Returns the text of `.ddb/stats.json`.
pub fn stats(mount: &Mount, _at: &Special) -> Result<Vec<u8>, FsError> {
    let store = mount.db.store_info();
    let tables = mount.db.table_names()?;
    let (mut items, mut bytes) = (0, 0);
    for table in &tables {
        match mount.db.stats(&SourceName::from(table)) {
            Ok(stats) => {
                items += stats.entries;
                bytes += stats.bytes;
            }
            // It was deleted meanwhile.
            Err(Error::ResourceNotFound) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let spent = mount.layout().ok().and_then(Layout::spent);
    let now_ms = now_ms();
    let checkpoint_age = store
        .checkpoint_at
        .map(|at| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX));
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
        "kernel": mount.cache_report.get().map(|kept| kept()),
        "started": calendar::iso(mount.started_ms),
        "uptime_seconds": now_ms.saturating_sub(mount.started_ms) / 1000,
        "limits": limits(spent.as_ref()),
    });
    Ok(pretty_json(&out))
}

/// Returns the text of `.ddb/config.json`: the options of the view, the limits of the mount, and
/// the program's own settings.
pub fn config(mount: &Mount, _at: &Special) -> Result<Vec<u8>, FsError> {
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
    Ok(pretty_json(&out))
}

/// Returns the text of `.ddb/capacity.json`.
pub fn capacity(mount: &Mount, _at: &Special) -> Result<Vec<u8>, FsError> {
    let layout = mount.layout()?;
    let spent = layout.spent();
    // Requests to a service are counted as a whole, not by table.
    let metrics = if spent.is_some() {
        Metrics::default()
    } else {
        layout.all_metrics()?
    };
    Ok(pretty_json(&render_all(
        &metrics,
        spent.as_ref(),
        layout.prices(),
    )))
}

/// Returns the text of `<Table>/capacity.json` or `<Table>/metrics.ndjson`.
pub fn metrics(
    mount: &Mount,
    node: &Special,
    render: impl FnOnce(&Metrics, &TableMetrics, &dyn Layout) -> Vec<u8>,
) -> Result<Vec<u8>> {
    let (layout, table) = (mount.layout()?, node.try_table()?);
    let metrics = layout.metrics(std::slice::from_ref(table))?;
    let table = metrics.tables.first().ok_or(FsError::NotFound)?;
    Ok(render(&metrics, table, layout))
}

/// Returns the access patterns of a table as text.
pub fn access(
    mount: &Mount,
    node: &Special,
    render: impl FnOnce(&TablePatterns, &dyn Layout) -> Vec<u8>,
) -> Result<Vec<u8>> {
    let (layout, table) = (mount.layout()?, node.try_table()?);
    let patterns = layout.access_patterns(table)?;
    Ok(render(&(table.clone(), patterns), layout))
}

/// Returns the text of `.ddb/access.md`.
pub fn all_access(mount: &Mount, _node: &Special) -> Result<Vec<u8>> {
    let layout = mount.layout()?;
    let mut all = Vec::new();
    for table in mount.db.table_names()? {
        match layout.access_patterns(&table) {
            // The table is gone.
            Err(Error::ResourceNotFound) => {}
            patterns => all.push((table, patterns?)),
        }
    }
    Ok(report::markdown("all tables", &all, |window| layout.time_span(window)).into_bytes())
}

/// The text of `.ddb/ctl`.
pub const CTL_USAGE: &str = "\
flush      perform at once what waits: items renamed away by an editor are deleted, and their texts parked, after 2 seconds
release    end every read that waits (stream/follow, .ddb/accesslog) as at the end of a file, and what waits for a service elsewhere
           with an error, so that the mount can be unmounted
clear      forget .ddb/errors.ndjson, warnings.ndjson and slowlog.ndjson
";

/// Carries out the command of one write.
pub fn control(host: &Host, _at: &Special, data: &[u8]) -> Result<(), FsError> {
    match data.trim_ascii() {
        b"" => {}
        b"flush" => host.deletes.flush(),
        b"release" => host.release_waiting(),
        b"clear" => {
            host.mount.error_log.clear();
            host.mount.call_log.slow.clear();
        }
        _ => {
            return Err(FsError::Invalid(
                "the commands are: flush, release, clear; cat .ddb/ctl says what they do",
            ));
        }
    }
    Ok(())
}
