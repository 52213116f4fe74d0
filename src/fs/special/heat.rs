//! `heat.tsv`, `hot.tsv`, `hot-items.tsv`, `big.tsv` in `partitions/`, and `<Table>/heat.svg`: which partitions and keys are asked for most, and which
//! item collections are largest. Columns are fixed; the first line names them.

use std::fmt::Write as _;

use serde_json::json;

use super::partition_text::{candidate_text, hex_bound, is_flat, key_name, partition_name};
use crate::codec::digest::hex;
use crate::codec::metrics::heat_svg::{self, Lane};
use crate::database::{PartitionKey, Source, TextForm};
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::special::Special;
use crate::fs::path::names;
use crate::fs::process::Caller;
use crate::model::IndexKind;
use crate::model::layout::{CollectionWarning, HotKey};

/// Keys and collections that are told of.
const ROWS_MAX: usize = 100;
const SECONDS: f64 = 60.0;

const HOT_COLUMNS: &str = "#rank\tpartition\tkey\trcu_last_minute\twcu_last_minute\tthrottles\tload_last_minute\tload\n";
const NOT_COUNTED: &str = "#single items are counted while contributor insights are enabled, with UpdateContributorInsights of the HTTP API, \
                           and where there is a sort key\n";

/// `heat.svg` of a table.
pub fn picture(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    text(mount, at, picture_of)
}

/// `heat.tsv`
pub fn heat(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    text(mount, at, heat_of)
}

/// `hot.tsv`
pub fn hot(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    text(mount, at, hot_keys)
}

/// `hot-items.tsv`
pub fn hot_items(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    text(mount, at, hot_items_of)
}

/// `big.tsv`
pub fn big(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    text(mount, at, big_collections)
}

/// The text of a file of a table or index that is there.
fn text(mount: &Mount, at: &Special, make: fn(&Mount, &Source) -> Result<String, FsError>) -> Result<Vec<u8>, FsError> {
    let source = at.source.as_ref().ok_or(FsError::NotFound)?;
    mount.source_schema(source)?;
    Ok(make(mount, source)?.into_bytes())
}

/// Each partition with its heat: percent of its limits over the last minute.
fn heat_of(mount: &Mount, source: &Source) -> Result<String, FsError> {
    let layout = mount.layout()?;
    let mut out =
        "#partition\thash_from\thash_to\tcollections\titems\tbytes\theat_percent\trcu_per_s\twcu_per_s\tthrottles\tsplit_candidate\n"
            .to_owned();
    for report in layout.partitions(source)? {
        let (content, candidate) = layout.partition_content(source, &report)?;
        let to = report.range.to.as_deref().map_or_else(|| hex_bound(&[0xFF; 16]), hex_bound);
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{}\t{}\t{to}\t{}\t{}\t{}\t{:.1}\t{:.2}\t{:.2}\t{}\t{}",
            partition_name(report.id),
            hex_bound(&report.range.from),
            content.collections,
            content.items,
            content.billed_bytes,
            report.share * 100.0,
            report.last_minute.read / SECONDS,
            report.last_minute.write / SECONDS,
            report.last_minute.throttles,
            candidate_text(&candidate),
        );
    }
    Ok(out)
}

/// The keys asked for most; the load is three units for a write unit, one for a read unit.
fn hot_keys(mount: &Mount, source: &Source) -> Result<String, FsError> {
    let mut out = HOT_COLUMNS.to_owned();
    for (rank, key) in mount.layout()?.hot_keys(source, ROWS_MAX)?.into_iter().enumerate() {
        hot_row(&mut out, rank, &key, &name_of(mount, source, key.key.as_ref(), &key.digest)?);
    }
    Ok(out)
}

/// The single items asked for most, by their paths below `items/`; of one that is not there now its digest.
fn hot_items_of(mount: &Mount, source: &Source) -> Result<String, FsError> {
    let mut out = HOT_COLUMNS.to_owned();
    let Some(items) = mount.layout()?.hot_items(source, ROWS_MAX)? else {
        out.push_str(NOT_COUNTED);
        return Ok(out);
    };
    for (rank, item) in items.into_iter().enumerate() {
        let path = item.key.as_ref().map(|key| names::entry_path(key, TextForm::PlainJson));
        hot_row(&mut out, rank, &item, &path.unwrap_or_else(|| format!("#{}", hex(&item.digest))));
    }
    Ok(out)
}

fn hot_row<K>(out: &mut String, rank: usize, key: &HotKey<K>, name: &str) {
    let _ = writeln!(
        out,
        "{}\t{}\t{name}\t{:.1}\t{:.1}\t{}\t{:.1}\t{:.1}",
        rank + 1,
        partition_name(key.partition),
        key.last_minute.read,
        key.last_minute.write,
        key.total.throttles,
        key.last_minute.weight(),
        key.total.weight(),
    );
}

/// The largest item collections, and how much that is of what one of a table with a local index may have.
fn big_collections(mount: &Mount, source: &Source) -> Result<String, FsError> {
    let layout = mount.layout()?;
    let bytes_max = layout.collection_bytes_max().max(1) as f64;
    let mut out = "#rank\tpartition\tkey\titems\tbytes\tpercent_of_limit\n".to_owned();
    for (rank, collection) in layout.big_collections(source, ROWS_MAX)?.into_iter().enumerate() {
        let _ = writeln!(
            out,
            "{}\t{}\t{}\t{}\t{}\t{:.4}",
            rank + 1,
            partition_name(collection.partition),
            name_of(mount, source, collection.key.as_ref(), &[])?,
            collection.items,
            collection.billed_bytes,
            collection.billed_bytes as f64 / bytes_max * 100.0,
        );
    }
    Ok(out)
}

/// The name below `items/`; of a key that has nothing now its digest.
fn name_of(mount: &Mount, source: &Source, key: Option<&PartitionKey>, digest: &[u8]) -> Result<String, FsError> {
    Ok(match key {
        Some(key) => key_name(is_flat(mount, source)?, key),
        None => format!("#{}", hex(digest)),
    })
}

/// The base and each global index as a lane.
fn picture_of(mount: &Mount, source: &Source) -> Result<String, FsError> {
    let layout = mount.layout()?;
    let schema = mount.schema(&source.table)?;
    let mut lanes = vec![lane(mount, source, "items".to_owned())?];
    for index in schema.indexes_of(IndexKind::Global) {
        let of_index = Source { table: source.table.clone(), index: Some(index.name.clone()) };
        lanes.push(lane(mount, &of_index, format!("gsi/{}", index.name.as_str()))?);
    }
    Ok(heat_svg::render(source.table.as_str(), &layout.partition_limits(), &lanes))
}

fn lane(mount: &Mount, source: &Source, title: String) -> Result<Lane, FsError> {
    let layout = mount.layout()?;
    let mut filled = Vec::new();
    for report in layout.partitions(source)? {
        let (content, _) = layout.partition_content(source, &report)?;
        filled.push((report, content));
    }
    let mut keys = Vec::new();
    for key in layout.hot_keys(source, heat_svg::KEYS_MAX)? {
        let name = match &key.key {
            Some(values) => names::collection_name(values),
            None => format!("#{}", &hex(&key.digest)[..8]),
        };
        keys.push((key, name));
    }
    Ok(Lane { title, partitions: filled, keys })
}

/// Lines of `.ddb/warnings.ndjson` about item collections near their limit.
#[must_use]
pub fn warnings(mount: &Mount) -> String {
    let warnings = mount.db.layout().map(|layout| layout.collection_warnings()).unwrap_or_default();
    let line = |warning: &CollectionWarning| {
        let path = format!("{}/items/{}", warning.table, names::collection_name(std::slice::from_ref(&warning.partition)));
        let text = format!(
            "this item collection has {} bytes with its local index entries; at {} it takes no more",
            warning.billed_bytes, warning.bytes_max
        );
        format!("{}\n", json!({ "time_ms": warning.time_ms, "path": path, "text": text }))
    };
    warnings.iter().map(line).collect()
}
