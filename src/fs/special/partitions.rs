//! `partitions/` of a table or global index: a directory for each partition. It has the partition's
//! numbers and links to its item collections; of a collection that a boundary cuts it has links to
//! the items. Tables of the heat are in the same directory, for lookup only.

use super::{
    derived::{PARTITION_FILES, find},
    heat::{candidate_text, hex_bound, key_bound, key_name},
    help,
};
use crate::codec::{key::partition_digest, sanitize};
use crate::database::EntryRange;
use crate::fs::{
    node::{
        ino::{self, InodeRole},
        special::ReadCost,
    },
    open::{
        directory::Lister,
        dirent::{Cursor, Dirent, DirentBatch, DirentPlace},
        prelude::*,
    },
    path::names::{self, ParsedStem, Suffix},
    query::IsWanted,
    source::{
        entry,
        items::{self, EntryLister, is_flat, partition_types},
    },
};
use crate::model::metrics::{HashRange, Load, PartitionReport, Period};

const STATS_NAME: &str = "stats.json";
const KEYS_NAME: &str = "keys";
const ITEMS_NAME: &str = "items";

/// Size of `stats.json`. It is constant, so that a `stat` counts nothing.
const STATS_BYTES: usize = 1536;
/// The width to which blanks fill its lines; no terminal breaks them.
const STATS_COLUMNS: usize = 72;

/// Returns `partitions/` of that table or index.
#[must_use]
pub fn node(mount: &Mount, source: &SourceName) -> Node {
    let path = format!("{}/{PARTITIONS_NAME}", mount.source_path(source));
    let above = ino::structure(source, InodeRole::Directory);
    Special::directory(path, Some(source.clone()), above, PartitionsDir).into()
}

fn find_report(at: At<'_>, id: u32) -> Result<PartitionReport> {
    let partitions = at
        .layout()?
        .partitions(at.node.try_source()?, Period::Minute)?;
    partitions
        .into_iter()
        .find(|partition| partition.id == id)
        .ok_or(FsError::NotFound)
}

/// Returns `p07/`.
fn partition_node(node: &Special, id: u32) -> Node {
    node.child_directory(&partition_name(id), PartitionDir(id))
        .into()
}

/// Returns `p07/stats.json`.
fn stats_node(node: &Special, id: u32) -> Node {
    node.child(STATS_NAME, StatsFile(id))
        .with_cost(ReadCost::TableLive)
        .into()
}

/// Returns `p07/keys/`.
fn keys_node(node: &Special, id: u32) -> Node {
    node.child_directory(KEYS_NAME, KeysDir(id)).into()
}

/// Returns `p07/keys/K`: a link to the folder of the collection or the file of the item; a
/// directory if the collection is cut.
fn key_node(node: &Special, id: u32, range: &HashRange, name: &str, key: PartitionKey) -> Node {
    if range.intersect(partition_digest(&key)).is_none() {
        return link_node(node, id, name, key, false);
    }
    // The same path was the link until the collection was cut: the directory gets another inode.
    let identity = format!("{}/{name}/", node.path);
    node.child_directory(name, CollectionPart(id, key))
        .with_identity(identity)
        .into()
}

/// Returns `p07/keys/K/X.json`: a link to the file of the item.
fn item_link(node: &Special, id: u32, name: &str, key: &PartitionKey) -> Node {
    link_node(node, id, name, key.clone(), true)
}

fn link_node(node: &Special, id: u32, name: &str, key: PartitionKey, is_item: bool) -> Node {
    node.child(name, KeyLink { id, key, is_item })
        .with_kind(NodeKind::Symlink)
        .into()
}

struct PartitionsDir;

impl NodeOps for PartitionsDir {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        at.source_created_ms(at.node.try_source()?)
    }

    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node> {
        if let Some(row) = find(&PARTITION_FILES, name) {
            return Ok(row.node(|feature| at.node.child(name, feature)));
        }
        if name == HELP_NAME {
            return Ok(help::node(
                &at.node.path,
                help::LAYOUT,
                at.node.source.clone(),
            ));
        }
        let id = name
            .strip_prefix('p')
            .and_then(|digits| digits.parse().ok())
            .ok_or(FsError::NotFound)?;
        if partition_name(id) != name {
            return Err(FsError::NotFound);
        }
        find_report(at, id)?;
        Ok(partition_node(at.node, id))
    }

    fn list(&self, at: At<'_>) -> Result<Vec<OwnedDirent>> {
        let partitions = match at
            .layout()?
            .partitions(at.node.try_source()?, Period::Minute)
        {
            // No lookup can name a partition here, and a walk of the tree goes on.
            Err(Error::Unavailable(_)) => Vec::new(),
            partitions => partitions?,
        };
        Ok(partitions
            .iter()
            .map(|found| {
                to_dirent(
                    &partition_node(at.node, found.id),
                    &partition_name(found.id),
                )
            })
            .collect())
    }
}

/// Returns the time of a node that exists as long as its partition does.
fn partition_time(at: At<'_>, id: u32) -> Result<u64, FsError> {
    find_report(at, id)?;
    at.source_created_ms(at.node.try_source()?)
}

/// `p07/`
struct PartitionDir(u32);

impl NodeOps for PartitionDir {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        partition_time(at, self.0)
    }

    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node> {
        match name {
            STATS_NAME => Ok(stats_node(at.node, self.0)),
            KEYS_NAME => Ok(keys_node(at.node, self.0)),
            _ => Err(FsError::NotFound),
        }
    }

    fn list(&self, at: At<'_>) -> Result<Vec<OwnedDirent>> {
        find_report(at, self.0)?;
        Ok(vec![
            to_dirent(&stats_node(at.node, self.0), STATS_NAME),
            to_dirent(&keys_node(at.node, self.0), KEYS_NAME),
        ])
    }
}

/// `p07/stats.json`
struct StatsFile(u32);

impl NodeOps for StatsFile {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        partition_time(at, self.0)
    }

    /// Returns the attributes without a count of the partition's content.
    fn attr(&self, at: At<'_>) -> Result<Attr> {
        Ok(Attr::read_only(STATS_BYTES as u64, self.modified_ms(at)?))
    }

    fn text(&self, at: At<'_>) -> Result<Vec<u8>> {
        stats_text(at, self.0)
    }
}

/// `p07/keys/`
struct KeysDir(u32);

impl NodeOps for KeysDir {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        partition_time(at, self.0)
    }

    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node> {
        let (name, found) = parse_key(at, name)?;
        Ok(key_node(
            at.node,
            self.0,
            &find_report(at, self.0)?.range,
            &name,
            found,
        ))
    }

    fn lister(&self, at: At<'_>) -> Result<Box<dyn Lister>> {
        let (source, range) = (at.node.try_source()?, find_report(at, self.0)?.range);
        let is_flat = is_flat(&*at.schema(&source.table)?, source);
        Ok(Box::new(KeyLister {
            keys: at.node.clone(),
            id: self.0,
            range,
            is_flat,
        }))
    }
}

/// A link in `keys/`: `p07/keys/K` if the collection is whole in the partition, else
/// `p07/keys/K/X.json`.
struct KeyLink {
    id: u32,
    key: PartitionKey,
    is_item: bool,
}

impl KeyLink {
    /// Returns the target: the link's own name below `items/`; of an item the last two names.
    fn target(&self, node: &Special) -> String {
        let (up, names) = if self.is_item {
            ("../../../..", 2)
        } else {
            ("../../..", 1)
        };
        let start = node.path.rmatch_indices('/').nth(names - 1);
        debug_assert!(start.is_some(), "a link lies in keys/: {}", node.path);
        let start = start.map_or(0, |(place, _)| place + 1);
        format!("{up}/{ITEMS_NAME}/{}", &node.path[start..])
    }
}

impl NodeOps for KeyLink {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        if self.is_item {
            item_time(at, self.id, &self.key)
        } else {
            collection_time(at, self.id, &self.key)
        }
    }

    fn attr(&self, at: At<'_>) -> Result<Attr> {
        Ok(Attr::symlink(&self.target(at.node), self.modified_ms(at)?))
    }

    fn link_target(&self, at: At<'_>) -> Result<String> {
        self.modified_ms(at)?;
        Ok(self.target(at.node))
    }
}

/// `p07/keys/K/` of a collection that a boundary cuts.
struct CollectionPart(u32, PartitionKey);

impl NodeOps for CollectionPart {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        collection_time(at, self.0, &self.1)
    }

    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node> {
        Ok(item_link(at.node, self.0, name, &self.1))
    }

    fn lister(&self, at: At<'_>) -> Result<Box<dyn Lister>> {
        let range = find_report(at, self.0)?
            .range
            .intersect(partition_digest(&self.1))
            .ok_or(FsError::NotFound)?;
        let entries = EntryLister::new(at.node.try_source()?.clone(), EntryRange::Within(range));
        Ok(Box::new(PartLister {
            part: at.node.clone(),
            id: self.0,
            key: self.1.clone(),
            entries,
        }))
    }
}

fn stats_text(at: At<'_>, id: u32) -> Result<Vec<u8>> {
    let report = find_report(at, id)?;
    let layout = at.layout()?;
    let (source, HashRange { from, to }) = (at.node.try_source()?, &report.range);
    let (content, candidate) = layout.partition_content(source, &report)?;
    let limits = layout.partition_limits();
    let json = json!({
        "name": partition_name(report.id),
        "hash_from": hex_bound(Some(from)),
        "hash_to": hex_bound(to.as_deref()),
        "key_from": key_bound(&at, source, Some(from))?,
        "key_to": key_bound(&at, source, to.as_deref())?,
        "origin": report.origin.name(),
        "since": crate::codec::calendar::iso(report.since_ms),
        "collections": content.collections,
        "items": content.items,
        "bytes": content.billed_bytes,
        "bytes_max": limits.bytes_max,
        "last_minute": load_json(&report.load),
        "heat_percent": (report.share * 1000.0).round() / 10.0,
        "read_units_a_second_max": limits.read_units_max,
        "write_units_a_second_max": limits.write_units_max,
        "split_candidate": candidate_text(&candidate),
        "model": "range, origin, heat, split candidate",
        "fact": "collections, items, bytes with overhead, units",
    });
    Ok(pad(&sanitize::json(&format!("{json:#}"))))
}

/// Fills the lines of a text with trailing blanks to a constant length.
fn pad(text: &str) -> Vec<u8> {
    let mut blanks = STATS_BYTES.saturating_sub(text.len() + 1);
    let mut out = Vec::with_capacity(STATS_BYTES);
    for line in text.lines() {
        out.extend_from_slice(line.as_bytes());
        let width = blanks.min(STATS_COLUMNS.saturating_sub(line.chars().count()));
        out.resize(out.len() + width, b' ');
        out.push(b'\n');
        blanks -= width;
    }
    out
}

fn load_json(load: &Load) -> serde_json::Value {
    json!({
        "rcu": load.read,
        "wcu": load.write,
        "rcu_a_second": (load.read / Period::Minute.seconds() * 100.0).round() / 100.0,
        "wcu_a_second": (load.write / Period::Minute.seconds() * 100.0).round() / 100.0,
        "throttles": load.throttles(),
    })
}

/// Returns the collection that a name in `keys/` stands for, and the name in full.
fn parse_key(at: At<'_>, name: &str) -> Result<(String, PartitionKey), FsError> {
    let source = at.node.try_source()?;
    let schema = at.source_schema(source)?;
    let is_flat = is_flat(&schema, source);
    let stem = match (is_flat, names::split_suffix(name)) {
        (false, _) => name,
        (true, Some((stem, Suffix::Json))) => stem,
        (true, _) => return Err(FsError::NotFound),
    };
    let key = match names::parse(stem, &partition_types(&schema, source)?)? {
        ParsedStem::Values(values) => values,
        ParsedStem::Alias(alias) => at
            .db
            .partition_by_digest(source, alias.digest)?
            .ok_or(FsError::NotFound)?,
    };
    Ok((key_name(is_flat, &key), key))
}

/// Returns the time of a link to an item. The link exists while the item is stored and lies in the
/// partition.
fn item_time(at: At<'_>, id: u32, key: &PartitionKey) -> Result<u64, FsError> {
    let source = at.node.try_source()?;
    let (_, name) = at.node.path.rsplit_once('/').ok_or(FsError::NotFound)?;
    let Node::Entry(found) = items::resolve_entry(&at, source, key, name)? else {
        return Err(FsError::NotFound);
    };
    let is_inside = found.form == TextForm::PlainJson
        && at.layout()?.partition_of_entry(source, &found.key)? == id;
    if is_inside {
        Ok(entry::stat(&at, source, &found.key)?.modified_ms)
    } else {
        Err(FsError::NotFound)
    }
}

/// Returns the time of a link or of the directory of a part. It exists while an item of the
/// collection may lie in the partition's range.
fn collection_time(at: At<'_>, id: u32, key: &PartitionKey) -> Result<u64, FsError> {
    let range = find_report(at, id)?.range;
    let digest = partition_digest(key);
    let first = range
        .from
        .first_chunk::<16>()
        .map_or(&range.from[..], |first| &first[..]);
    let is_inside = first <= &digest[..] && range.to.as_deref().is_none_or(|to| &digest[..] < to);
    let collection = at.db.collection(at.node.try_source()?, key)?;
    collection
        .filter(|_| is_inside)
        .map(|collection| collection.modified_ms)
        .ok_or(FsError::NotFound)
}

/// Lists the collections of a partition: links to those that are whole in it, directories of the
/// others.
struct KeyLister {
    keys: SpecialNode,
    id: u32,
    range: HashRange,
    is_flat: bool,
}

impl Lister for KeyLister {
    fn fetch(
        &mut self,
        mount: &Mount,
        from: &Cursor,
        _is_wanted: &IsWanted<'_>,
        out: &mut DirentBatch,
    ) -> Result<()> {
        let Some(after) = from.after() else {
            return Ok(());
        };
        mount.db.collections(
            self.keys.try_source()?,
            Some(&self.range),
            after,
            &mut |(collection, position)| {
                let name = key_name(self.is_flat, &collection.partition);
                let node = key_node(
                    &self.keys,
                    self.id,
                    &self.range,
                    &name,
                    collection.partition,
                );
                out.push(
                    to_dirent(&node, &name).entry(),
                    DirentPlace::After(&position.0),
                );
                out.flow()
            },
        )?;
        Ok(())
    }
}

/// Lists the partition's items of one collection as links, in the order of the sort key.
struct PartLister {
    part: SpecialNode,
    id: u32,
    key: PartitionKey,
    entries: EntryLister,
}

impl Lister for PartLister {
    fn fetch(
        &mut self,
        mount: &Mount,
        from: &Cursor,
        is_wanted: &IsWanted<'_>,
        out: &mut DirentBatch,
    ) -> Result<()> {
        let mut entries = DirentBatch::default();
        self.entries.fetch(mount, from, is_wanted, &mut entries)?;
        for (Dirent { name, .. }, place) in entries.iter_from(0) {
            out.push(
                to_dirent(&item_link(&self.part, self.id, name, &self.key), name).entry(),
                place,
            );
        }
        Ok(())
    }
}
