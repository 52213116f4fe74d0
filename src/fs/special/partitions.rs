//! `partitions/` of a table or global index: a directory for each partition, with its numbers and links to its item collections.
//! Tables of the heat are beside them, for lookup only.

use std::ops::ControlFlow;

use serde_json::json;

use super::{Effort, Special, SpecialNode, heat};
use crate::codec::digest::hex;
use crate::codec::key::partition_digest;
use crate::database::{PartitionKey, Position, Source};
use crate::fs::FsError;
use crate::fs::attr::Attr;
use crate::fs::directory_stream::{BATCH, Cursor, FixedLister, Found, Lister};
use crate::fs::node::{Kind, Node};
use crate::fs::query::Wanted;
use crate::fs::tree::items::partition_types;
use crate::fs::tree::names::{self, Parsed, Suffix};
use crate::fs::tree::{Caller, Tree, listed};
use crate::model::TableName;
use crate::model::layout::{Load, PartitionReport, PlaceRange, SplitCandidate};

/// The name in its table's or index's directory.
pub const NAME: &str = "partitions";
const STATS_NAME: &str = "stats.json";
const KEYS_NAME: &str = "keys";
const ITEMS_NAME: &str = "items";

/// Size of `stats.json`: constant, so that nothing is counted for who asks for the size alone.
const STATS_BYTES: usize = 1024;
/// How far blanks fill its lines: no terminal breaks them.
const STATS_COLUMNS: usize = 72;
const SECONDS: f64 = 60.0;

/// `partitions/` of that table or index.
#[must_use]
pub fn node(tree: &Tree, source: &Source) -> Node {
    SpecialNode::node(Directory { source: source.clone(), path: format!("{}/{NAME}", tree.source_path(source)) })
}

/// `partitions/`
#[derive(Debug, Clone)]
struct Directory {
    source: Source,
    path: String,
}

impl Special for Directory {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        match &self.source.index {
            None => Node::Table(self.source.table.clone()),
            Some(_) => Node::Index(self.source.clone()),
        }
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.source.table)
    }

    fn kind(&self) -> Kind {
        Kind::Directory
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        tree.source_time(&self.source)
    }

    fn resolve(&self, tree: &Tree, name: &str) -> Result<Node, FsError> {
        if let Some(node) = heat::resolve(&self.source, (&self.path, SpecialNode::node(self.clone())), name) {
            return Ok(node);
        }
        let id = name.strip_prefix('p').and_then(|digits| digits.parse().ok()).ok_or(FsError::NotFound)?;
        let partition = Partition::new(self, id);
        if partition_name(id) != name {
            return Err(FsError::NotFound);
        }
        partition.report(tree)?;
        Ok(SpecialNode::node(partition))
    }

    fn lister(&self, tree: &Tree) -> Result<Box<dyn Lister>, FsError> {
        let partitions = tree.layout()?.partitions(&self.source)?;
        let names = partitions.iter().map(|partition| {
            let node = SpecialNode::node(Partition::new(self, partition.id));
            listed(&node, &partition_name(partition.id))
        });
        Ok(Box::new(FixedLister::new(names.collect())))
    }
}

/// `p07`; more digits where there are more partitions.
pub(crate) fn partition_name(id: u32) -> String {
    format!("p{id:02}")
}

/// `p07/`
#[derive(Debug, Clone)]
struct Partition {
    of: Directory,
    id: u32,
    path: String,
}

impl Partition {
    fn new(of: &Directory, id: u32) -> Self {
        Self { of: of.clone(), id, path: format!("{}/{}", of.path, partition_name(id)) }
    }

    fn report(&self, tree: &Tree) -> Result<PartitionReport, FsError> {
        let partitions = tree.layout()?.partitions(&self.of.source)?;
        partitions.into_iter().find(|partition| partition.id == self.id).ok_or(FsError::NotFound)
    }
}

impl Special for Partition {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        SpecialNode::node(self.of.clone())
    }

    fn table(&self) -> Option<&TableName> {
        self.of.table()
    }

    fn kind(&self) -> Kind {
        Kind::Directory
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        self.report(tree)?;
        self.of.modified_ms(tree)
    }

    fn resolve(&self, _tree: &Tree, name: &str) -> Result<Node, FsError> {
        match name {
            STATS_NAME => Ok(SpecialNode::node(Stats { path: format!("{}/{STATS_NAME}", self.path), partition: self.clone() })),
            KEYS_NAME => Ok(SpecialNode::node(Keys { path: format!("{}/{KEYS_NAME}", self.path), partition: self.clone() })),
            _ => Err(FsError::NotFound),
        }
    }

    fn lister(&self, tree: &Tree) -> Result<Box<dyn Lister>, FsError> {
        self.report(tree)?;
        let names = [STATS_NAME, KEYS_NAME].into_iter().map(|name| Ok(listed(&self.resolve(tree, name)?, name)));
        Ok(Box::new(FixedLister::new(names.collect::<Result<_, FsError>>()?)))
    }
}

/// `p07/stats.json`
#[derive(Debug)]
struct Stats {
    partition: Partition,
    path: String,
}

impl Special for Stats {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        SpecialNode::node(self.partition.clone())
    }

    fn table(&self) -> Option<&TableName> {
        self.partition.table()
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        self.partition.modified_ms(tree)
    }

    fn effort(&self) -> Effort {
        Effort::TableNow
    }

    /// Without counting what lies in the partition.
    fn attr(&self, tree: &Tree, _caller: Caller, ino: u64) -> Result<Attr, FsError> {
        Ok(Attr::read_only(ino, STATS_BYTES as u64, self.modified_ms(tree)?))
    }

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        let report = self.partition.report(tree)?;
        let layout = tree.layout()?;
        let (content, candidate) = layout.partition_content(&self.partition.of.source, &report)?;
        let limits = layout.partition_limits();
        let json = json!({
            "name": partition_name(report.id),
            "hash_from": hex_bound(&report.range.from),
            "hash_to": report.range.to.as_deref().map_or_else(|| hex_bound(&[0xFF; 16]), hex_bound),
            "origin": report.origin.name(),
            "since": crate::codec::calendar::iso(report.since_ms),
            "collections": content.collections,
            "items": content.items,
            "bytes": content.billed_bytes,
            "bytes_max": limits.bytes_max,
            "last_minute": load_json(&report.last_minute),
            "heat_percent": (report.share * 1000.0).round() / 10.0,
            "read_units_a_second_max": limits.read_units_max,
            "write_units_a_second_max": limits.write_units_max,
            "split_candidate": candidate_text(&candidate),
            "model": "range, origin, heat, split candidate",
            "fact": "collections, items, bytes with overhead, units",
        });
        Ok(padded(&format!("{json:#}")))
    }
}

/// The lines of a text, with blanks at their ends that nobody sees: always the same length.
fn padded(text: &str) -> Vec<u8> {
    let mut blanks = STATS_BYTES.saturating_sub(text.len() + 1);
    let mut out = Vec::with_capacity(STATS_BYTES);
    for line in text.lines() {
        out.extend_from_slice(line.as_bytes());
        let here = blanks.min(STATS_COLUMNS.saturating_sub(line.chars().count()));
        out.resize(out.len() + here, b' ');
        out.push(b'\n');
        blanks -= here;
    }
    out
}

fn load_json(load: &Load) -> serde_json::Value {
    json!({
        "rcu": load.read,
        "wcu": load.write,
        "rcu_a_second": (load.read / SECONDS * 100.0).round() / 100.0,
        "wcu_a_second": (load.write / SECONDS * 100.0).round() / 100.0,
        "throttles": load.throttles,
    })
}

pub(super) fn candidate_text(candidate: &SplitCandidate) -> &'static str {
    match candidate {
        SplitCandidate::Single => "no: one item at most",
        SplitCandidate::HeldByLocalIndex => "no: one collection, held together by a local index",
        SplitCandidate::NotNeeded => "no",
        SplitCandidate::Because(origin) => origin.name(),
    }
}

/// 32 digits of hash; behind them where in the collection the boundary is, at most as many.
pub(super) fn hex_bound(place: &[u8]) -> String {
    let mut digest = [0; 16];
    let bytes = place.len().min(16);
    digest[..bytes].copy_from_slice(&place[..bytes]);
    match place.get(16..) {
        Some(order) if !order.is_empty() => {
            format!("{}/{}", hex(&digest), hex(&order[..order.len().min(16)]))
        }
        _ => hex(&digest),
    }
}

/// `p07/keys/`
#[derive(Debug, Clone)]
struct Keys {
    partition: Partition,
    path: String,
}

impl Keys {
    fn source(&self) -> &Source {
        &self.partition.of.source
    }

    fn link(&self, is_flat: bool, key: PartitionKey) -> Link {
        let name = key_name(is_flat, &key);
        Link { path: format!("{}/{name}", self.path), target: format!("../../../{ITEMS_NAME}/{name}"), of: self.clone(), key }
    }
}

/// As below `items/`: a folder, or a file where the table has no sort key.
pub(super) fn key_name(is_flat: bool, key: &PartitionKey) -> String {
    let name = names::collection_name(key);
    if is_flat { format!("{name}.json") } else { name }
}

/// Has the table no sort key, so that each item is a collection?
pub(super) fn is_flat(tree: &Tree, source: &Source) -> Result<bool, FsError> {
    Ok(source.index.is_none() && tree.schema(&source.table)?.key.sort.is_none())
}

impl Special for Keys {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        SpecialNode::node(self.partition.clone())
    }

    fn table(&self) -> Option<&TableName> {
        self.partition.table()
    }

    fn kind(&self) -> Kind {
        Kind::Directory
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        self.partition.modified_ms(tree)
    }

    fn resolve(&self, tree: &Tree, name: &str) -> Result<Node, FsError> {
        let is_flat = is_flat(tree, self.source())?;
        let stem = match (is_flat, names::split_suffix(name)) {
            (false, _) => name,
            (true, Some((stem, Suffix::Json))) => stem,
            (true, _) => return Err(FsError::NotFound),
        };
        let schema = tree.source_schema(self.source())?;
        let key = match names::parse(stem, &partition_types(&schema, self.source())?)? {
            Parsed::Values(values) => values,
            Parsed::Alias(alias) => tree.db.partition_by_digest(self.source(), alias.digest)?.ok_or(FsError::NotFound)?,
        };
        Ok(SpecialNode::node(self.link(is_flat, key)))
    }

    fn lister(&self, tree: &Tree) -> Result<Box<dyn Lister>, FsError> {
        let range = self.partition.report(tree)?.range;
        Ok(Box::new(KeyLister { keys: self.clone(), range, is_flat: is_flat(tree, self.source())? }))
    }
}

/// Lists the collections of a partition as links.
struct KeyLister {
    keys: Keys,
    range: PlaceRange,
    is_flat: bool,
}

impl Lister for KeyLister {
    fn start(&mut self, tree: &Tree) -> Result<(), FsError> {
        self.range = self.keys.partition.report(tree)?.range;
        Ok(())
    }

    fn fetch(&mut self, tree: &Tree, from: &Cursor, _wanted: &Wanted<'_>, out: &mut Found) -> Result<(), FsError> {
        let after: Option<&Position> = match from {
            Cursor::After(position) => Some(position),
            Cursor::Start => None,
            Cursor::Tail(_) => return Ok(()),
        };
        tree.layout()?.collections_in(self.keys.source(), &self.range, after, &mut |collection, position| {
            let name = key_name(self.is_flat, &collection.partition);
            let node = SpecialNode::node(self.keys.link(self.is_flat, collection.partition));
            out.push((listed(&node, &name), Cursor::After(position)));
            if out.len() >= BATCH { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(())
    }
}

/// `p07/keys/K`: to the folder of the collection, or the file of the item.
#[derive(Debug)]
struct Link {
    of: Keys,
    key: PartitionKey,
    path: String,
    target: String,
}

impl Special for Link {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        SpecialNode::node(self.of.clone())
    }

    fn table(&self) -> Option<&TableName> {
        self.of.table()
    }

    fn kind(&self) -> Kind {
        Kind::Symlink
    }

    /// It is there while something of the collection lies in the partition's range.
    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        let range = self.of.partition.report(tree)?.range;
        let digest = partition_digest(&self.key.iter().collect::<Vec<_>>());
        let first = range.from.first_chunk::<16>().map_or(&range.from[..], |first| &first[..]);
        let is_inside = first <= &digest[..] && range.to.as_deref().is_none_or(|to| &digest[..] < to);
        let collection = tree.db.collection(self.of.source(), &self.key)?;
        collection.filter(|_| is_inside).map(|collection| collection.modified_ms).ok_or(FsError::NotFound)
    }

    fn link_target(&self, tree: &Tree) -> Result<String, FsError> {
        self.modified_ms(tree)?;
        Ok(self.target.clone())
    }
}
