//! `heat.tsv`, `hot.tsv`, `hot-items.tsv`, `big.tsv` in `partitions/`: the partitions and keys with
//! the most requests, and the largest item collections. Columns are fixed; the first line names
//! them. `<Table>/heat.svg`, and those of the last hour and day, draw the same of the base table
//! and each global index.

use std::fmt::Write as _;

use crate::codec::{
    calendar::iso,
    digest::hex,
    key::partition_digest,
    metrics::heat_svg::{
        self,
        data::{HeatLane, HeatMap, KEYS_MAX, NamedKey},
    },
};
use crate::database::layout::Layout;
use crate::fs::{node::index_of, open::prelude::*, source::items::is_flat};
use crate::model::metrics::{
    CollectionWarning, HashRange, HotKey, LargeCollection, Load, PeakSecond, Period,
    SplitCandidate, ThrottleWarning,
};

/// The most keys or collections in one file.
const ROWS_MAX: usize = 100;

const HEAT_COLUMNS: &str = "#partition\thash_from\thash_to\tcollections\titems\tbytes\theat_percent\trcu_per_s\twcu_per_s\tthrottles\t\
                            split_candidate\tbusiest_percent\tbusiest_second\tread_throttles\twrite_throttles\tkey_from\tkey_to\n";
const ITEM_COLUMNS: &str =
    "#rank\tpartition\tkey\trcu_last_minute\twcu_last_minute\tthrottles\tload_last_minute\tload\n";
const NOT_COUNTED: &str = "#single items are counted while contributor insights are enabled, with UpdateContributorInsights of the HTTP API, \
                           and where there is a sort key\n";

/// Returns the table or index of a file, if it exists.
fn source_of<'s>(mount: &Mount, node: &'s Special) -> Result<&'s SourceName, FsError> {
    let source = node.try_source()?;
    mount.source_schema(source)?;
    Ok(source)
}

/// Returns the first line of a table of a window: `#last hour: 2026-01-02T03:04:00.000Z to
/// 2026-01-02T04:03:05.678Z`.
fn window_line(layout: &dyn Layout, window: Period) -> String {
    let span = layout.time_span(window);
    format!(
        "#last {}: {} to {}\n",
        window.name(),
        iso(span.from_ms),
        iso(span.to_ms)
    )
}

/// Returns the busiest second as a timestamp; `-` if there is none.
fn second_text(busiest: &PeakSecond) -> String {
    if busiest.second == 0 {
        "-".to_owned()
    } else {
        iso(busiest.second * 1000)
    }
}

/// Returns `heat.tsv`: each partition with its heat, in percent of its limits over the window and
/// in its busiest second.
pub fn heat(mount: &Mount, node: &Special, window: Period) -> Result<Vec<u8>, FsError> {
    let source = source_of(mount, node)?;
    let layout = mount.layout()?;
    let mut out = window_line(layout, window) + HEAT_COLUMNS;
    for report in layout.partitions(source, window)? {
        let (content, candidate) = layout.partition_content(source, &report)?;
        let HashRange { from, to } = &report.range;
        let key = |place| {
            let key = key_bound(mount, source, place)?;
            Ok::<_, FsError>(key.unwrap_or_else(|| "-".to_owned()))
        };
        // A write to a string does not fail.
        let _ = writeln!(
            out,
            "{}\t{}\t{}\t{}\t{}\t{}\t{:.1}\t{:.2}\t{:.2}\t{}\t{}\t{:.1}\t{}\t{}\t{}\t{}\t{}",
            partition_name(report.id),
            hex_bound(Some(from)),
            hex_bound(to.as_deref()),
            content.collections,
            content.items,
            content.billed_bytes,
            report.share * 100.0,
            report.load.read / window.seconds(),
            report.load.write / window.seconds(),
            report.load.throttles(),
            candidate_text(&candidate),
            report.peak_share * 100.0,
            second_text(&report.peak),
            report.load.read_throttles,
            report.load.write_throttles,
            key(Some(from))?,
            key(to.as_deref())?,
        );
    }
    Ok(out.into_bytes())
}

/// Returns `hot.tsv`: the keys with the most requests in the window. The load is three units for a
/// write unit and one for a read unit; the last column of it is that of the day.
pub fn hot(mount: &Mount, node: &Special, window: Period) -> Result<Vec<u8>, FsError> {
    let source = source_of(mount, node)?;
    let layout = mount.layout()?;
    let columns = ITEM_COLUMNS.trim_end().replace("minute", window.name());
    let mut out = window_line(layout, window)
        + &columns
        + "\tbusiest_rcu\tbusiest_wcu\tbusiest_second\tread_throttles\twrite_throttles\n";
    for (rank, key) in layout
        .hot_keys(source, window, ROWS_MAX)?
        .into_iter()
        .enumerate()
    {
        write_hot_columns(
            &mut out,
            rank,
            &key,
            &path_name(mount, source, key.key.as_ref(), &key.digest)?,
        );
        let Load { read, write, .. } = key.peak.load;
        let (second, load) = (second_text(&key.peak), &key.load);
        let _ = writeln!(
            out,
            "\t{read:.1}\t{write:.1}\t{second}\t{}\t{}",
            load.read_throttles, load.write_throttles
        );
    }
    Ok(out.into_bytes())
}

/// Returns `hot-items.tsv`: the single items with the most requests, by their paths below `items/`;
/// an item that is gone has its digest.
pub fn hot_items(mount: &Mount, node: &Special) -> Result<Vec<u8>, FsError> {
    let source = source_of(mount, node)?;
    let mut out = ITEM_COLUMNS.to_owned();
    let Some(items) = mount.layout()?.hot_items(source, ROWS_MAX)? else {
        out.push_str(NOT_COUNTED);
        return Ok(out.into_bytes());
    };
    for (rank, item) in items.into_iter().enumerate() {
        let path = item
            .key
            .as_ref()
            .map(|key| names::entry_path(key, TextForm::PlainJson));
        write_hot_columns(
            &mut out,
            rank,
            &item,
            &path.unwrap_or_else(|| format!("#{}", hex(&item.digest))),
        );
        out.push('\n');
    }
    Ok(out.into_bytes())
}

fn write_hot_columns<K>(out: &mut String, rank: usize, key: &HotKey<K>, name: &str) {
    let _ = write!(
        out,
        "{}\t{}\t{name}\t{:.1}\t{:.1}\t{}\t{:.1}\t{:.1}",
        rank + 1,
        partition_name(key.partition),
        key.load.read,
        key.load.write,
        key.load.throttles(),
        key.load.weight(),
        key.total.weight(),
    );
}

/// Returns `big.tsv`: the largest item collections, and their percentage of the limit of a
/// collection in a table with local indexes; `-` if there is no limit.
pub fn big(mount: &Mount, node: &Special) -> Result<Vec<u8>, FsError> {
    let source = source_of(mount, node)?;
    let layout = mount.layout()?;
    let bytes_max = layout.collection_bytes_max().max(1) as f64;
    let is_limited = source.index.is_none()
        && mount
            .schema(&source.table)?
            .indexes_of(IndexKind::Local)
            .next()
            .is_some();
    let percent = |bytes: u64| match is_limited {
        true => format!("{:.4}", bytes as f64 / bytes_max * 100.0),
        false => "-".to_owned(),
    };
    let mut out = "#rank\tpartition\tkey\titems\tbytes\tpercent_of_limit\n".to_owned();
    for (rank, collection) in layout
        .big_collections(source, ROWS_MAX)?
        .into_iter()
        .enumerate()
    {
        let _ = writeln!(
            out,
            "{}\t{}\t{}\t{}\t{}\t{}",
            rank + 1,
            partition_name(collection.partition),
            path_name(mount, source, collection.key.as_ref(), &[])?,
            collection.items,
            collection.billed_bytes,
            percent(collection.billed_bytes),
        );
    }
    Ok(out.into_bytes())
}

/// Returns the name below `items/`; the digest of a key that is gone.
fn path_name(
    mount: &Mount,
    source: &SourceName,
    key: Option<&PartitionKey>,
    digest: &[u8],
) -> Result<String> {
    Ok(match key {
        Some(key) => key_name(is_flat(&*mount.schema(&source.table)?, source), key),
        None => format!("#{}", hex(digest)),
    })
}

/// Returns the lines of `.ddb/warnings.ndjson` about throttled requests and item collections near
/// their limit.
#[must_use]
pub fn warnings(mount: &Mount) -> String {
    let throttled = mount
        .db
        .layout()
        .map(|layout| layout.throttle_warnings())
        .unwrap_or_default();
    let throttled: String = throttled.iter().map(throttle_line).collect();
    throttled + &collection_warnings(mount)
}

fn throttle_line(warning: &ThrottleWarning) -> String {
    let throttled = &warning.throttled;
    let index = throttled
        .index
        .as_ref()
        .map(|index| format!("/gsi/{index}"))
        .unwrap_or_default();
    let path = format!(
        "{}{index}/partitions/{}",
        throttled.table,
        partition_name(throttled.location.partition)
    );
    let text = format!("throttled: {}; {}", throttled.describe(), throttled.hint());
    format!(
        "{}\n",
        json!({ "time_ms": warning.time_ms, "path": path, "throttles": warning.events, "text": text })
    )
}

fn collection_warnings(mount: &Mount) -> String {
    let warnings = mount
        .db
        .layout()
        .map(|layout| layout.collection_warnings())
        .unwrap_or_default();
    let line = |warning: &CollectionWarning| {
        let path = format!(
            "{}/items/{}",
            warning.table,
            names::collection_name(std::slice::from_ref(&warning.partition))
        );
        let text = format!(
            "this item collection has {} bytes with its local index entries; at {} it takes no more",
            warning.billed_bytes, warning.bytes_max
        );
        format!(
            "{}\n",
            json!({ "time_ms": warning.time_ms, "path": path, "text": text })
        )
    };
    warnings.iter().map(line).collect()
}

/// The longest bound in readable keys, bytes.
const BOUND_BYTES_MAX: usize = 160;

/// Returns whether a partition is about to be split, and the reason.
#[must_use]
pub fn candidate_text(candidate: &SplitCandidate) -> &'static str {
    match candidate {
        SplitCandidate::Single => "no: one item at most",
        SplitCandidate::HeldByLocalIndex => "no: one collection, held together by a local index",
        SplitCandidate::Sequence => {
            "no: its load follows sort keys in their order, a new partition would have all of it again"
        }
        SplitCandidate::LimitReached => "no: split for load as often as is of use",
        SplitCandidate::NotNeeded => "no",
        SplitCandidate::Due(origin) => origin.name(),
    }
}

/// Returns a boundary of partitions as the 32 hexadecimal digits of its hash; inside a collection
/// `/` and up to 32 digits of the place in it follow. `None` is the end of the hash space.
#[must_use]
pub fn hex_bound(place: Option<&[u8]>) -> String {
    let (place, mut digest) = (place.unwrap_or(&[0xFF; 16]), [0; 16]);
    let bytes = place.len().min(16);
    digest[..bytes].copy_from_slice(&place[..bytes]);
    match place.get(16..) {
        Some(order) if !order.is_empty() => {
            format!("{}/{}", hex(&digest), hex(&order[..order.len().min(16)]))
        }
        _ => hex(&digest),
    }
}

/// Returns a bound in readable keys, as below `items/`: `u3` at the beginning of a collection,
/// `u3/o5` inside it, `after u3` behind it. A long one is cut. `None` if no key is at the bound.
pub fn key_bound(
    mount: &Mount,
    source: &SourceName,
    place: Option<&[u8]>,
) -> Result<Option<String>, FsError> {
    let layout = mount.layout()?;
    let bound = place.map(|place| layout.bound_key(source, place));
    let Some(bound) = bound.transpose()?.flatten() else {
        return Ok(None);
    };
    let after = if bound.is_after { "after " } else { "" };
    let mut text = format!("{after}{}", names::collection_name(&bound.partition));
    if !bound.sort.is_empty() {
        text.push('/');
        text.push_str(&names::collection_name(&bound.sort));
    }
    if text.len() > BOUND_BYTES_MAX {
        text.truncate(
            (0..=BOUND_BYTES_MAX)
                .rfind(|end| text.is_char_boundary(*end))
                .unwrap_or_default(),
        );
        text.push('…');
    }
    Ok(Some(text))
}

/// Returns the name below `items/`: a folder, or a file if the table has no sort key.
#[must_use]
pub fn key_name(is_flat: bool, key: &PartitionKey) -> String {
    let name = names::collection_name(key);
    if is_flat {
        format!("{name}.json")
    } else {
        name
    }
}

/// The most collections that are read for those of each partition.
const BIG_MAX: usize = 256;

/// Returns `heat.svg` of a table.
pub fn picture(mount: &Mount, node: &Special, window: Period) -> Result<Vec<u8>, FsError> {
    let source = node.try_source()?;
    let schema = mount.schema(&source.table)?;
    let mut lanes = vec![lane(mount, source, &schema, window)?];
    for index in schema.indexes_of(IndexKind::Global) {
        let of_index = SourceName {
            table: source.table.clone(),
            index: Some(index.name.clone()),
        };
        lanes.push(lane(mount, &of_index, &schema, window)?);
    }
    let layout = mount.layout()?;
    let (span, limits) = (layout.time_span(window), layout.partition_limits());
    let metrics = layout.metrics(std::slice::from_ref(&source.table))?;
    let requests = metrics
        .tables
        .first()
        .map(|of| of.requests[window as usize]);
    let picture = HeatMap {
        requests: requests.unwrap_or_default(),
        table: source.table.as_str().to_owned(),
        span,
        limits,
        lanes,
    };
    Ok(heat_svg::render(&picture).into_bytes())
}

fn lane(
    mount: &Mount,
    source: &SourceName,
    schema: &TableSchema,
    window: Period,
) -> Result<HeatLane> {
    let layout = mount.layout()?;
    let index = index_of(schema, source)?;
    let keys: Vec<&KeyAttribute> = index.map_or_else(
        || schema.key.attributes().collect(),
        |index| index.attributes().collect(),
    );
    let keys: Vec<&str> = keys.into_iter().map(|key| key.name.as_str()).collect();
    let provisioned = index.map_or(schema.throughput, |index| index.throughput);
    let mut partitions = Vec::new();
    for report in layout.partitions(source, window)? {
        let (content, _) = layout.partition_content(source, &report)?;
        partitions.push((report, content));
    }
    Ok(HeatLane {
        title: index.map_or_else(
            || "items".to_owned(),
            |index| format!("gsi/{}", index.name.as_str()),
        ),
        keys: keys.join(", "),
        units: provisioned
            .unwrap_or_else(|| schema.effective_warm(index.map(|index| index.name.as_str()))),
        is_provisioned: provisioned.is_some(),
        partitions,
        hot: layout
            .hot_keys(source, window, KEYS_MAX)?
            .into_iter()
            .map(named_key)
            .collect(),
        // A collection that is gone since it was counted is not large any more.
        big: layout
            .big_collections(source, BIG_MAX)?
            .into_iter()
            .filter_map(named_collection)
            .collect(),
    })
}

fn named_key(key: HotKey) -> NamedKey<HotKey> {
    let gone = || format!("gone, hash {}", &hex(&key.digest)[..8]);
    let name = key.key.as_deref().map_or_else(gone, names::collection_name);
    NamedKey {
        digest: key.digest,
        name,
        about: key,
    }
}

fn named_collection(collection: LargeCollection) -> Option<NamedKey<LargeCollection>> {
    let values = collection.key.as_deref()?;
    let (digest, name) = (partition_digest(values), names::collection_name(values));
    Some(NamedKey {
        about: collection,
        digest,
        name,
    })
}
