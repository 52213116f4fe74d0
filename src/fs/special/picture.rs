//! `<Table>/heat.svg`, and those of the last hour and day: what is drawn there of the base and each global index.

use crate::codec::metrics::heat_svg;
use crate::codec::metrics::heat_svg::data::{KEYS_MAX, Lane, Named, Picture};
use crate::codec::{digest::hex, key::partition_digest};
use crate::fs::open::prelude::*;
use crate::inspect::violations::table::cell;
use crate::model::layout::{BigCollection, HotKey, Window};

/// Largest collections that are looked at for those of each partition.
const BIG_MAX: usize = 256;

/// The picture of a table that is there.
pub fn picture(mount: &Mount, at: &Special, window: Window) -> Result<Vec<u8>, FsError> {
    let source = at.of_source()?;
    let schema = mount.schema(&source.table)?;
    let mut lanes = vec![lane(mount, source, &schema, window)?];
    for index in schema.indexes_of(IndexKind::Global) {
        let of_index = Source { table: source.table.clone(), index: Some(index.name.clone()) };
        lanes.push(lane(mount, &of_index, &schema, window)?);
    }
    let layout = mount.layout()?;
    let (span, limits) = (layout.span(window), layout.partition_limits());
    let picture = Picture { table: source.table.as_str().to_owned(), span, limits, lanes };
    Ok(heat_svg::render(&picture).into_bytes())
}

fn lane(mount: &Mount, source: &Source, schema: &TableSchema, window: Window) -> Result<Lane, FsError> {
    let layout = mount.layout()?;
    let index = source.index.as_ref().and_then(|name| schema.index(name.as_str()));
    let keys: Vec<&KeyAttribute> = index.map_or_else(|| schema.key.attributes().collect(), |index| index.attributes().collect());
    let keys: Vec<&str> = keys.into_iter().map(|key| key.name.as_str()).collect();
    let provisioned = index.map_or(schema.throughput, |index| index.throughput);
    let mut partitions = Vec::new();
    for report in layout.partitions(source, window)? {
        let (content, _) = layout.partition_content(source, &report)?;
        partitions.push((report, content));
    }
    Ok(Lane {
        title: index.map_or_else(|| "items".to_owned(), |index| format!("gsi/{}", index.name.as_str())),
        keys: keys.join(", "),
        units: provisioned.unwrap_or_else(|| schema.effective_warm(index.map(|index| index.name.as_str()))),
        is_provisioned: provisioned.is_some(),
        partitions,
        hot: layout.hot_keys(source, window, KEYS_MAX)?.into_iter().map(hot).collect(),
        // What is gone since it was counted is not large any more.
        big: layout.big_collections(source, BIG_MAX)?.into_iter().filter_map(big).collect(),
    })
}

fn hot(key: HotKey) -> Named<HotKey> {
    let gone = || format!("gone, hash {}", &hex(&key.digest)[..8]);
    let name = key.key.as_deref().map_or_else(gone, shown);
    Named { digest: key.digest, name, about: key }
}

fn big(collection: BigCollection) -> Option<Named<BigCollection>> {
    let values = collection.key.as_deref()?;
    let (digest, name) = (partition_digest(values), shown(values));
    Some(Named { about: collection, digest, name })
}

/// As people know them; file names have escapes.
fn shown(values: &[AttributeValue]) -> String {
    values.iter().map(cell).collect::<Vec<_>>().join(", ")
}
