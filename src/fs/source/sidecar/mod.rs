//! Files beside an item, for lookup only: ways to change a part of it, and its metadata
//! (docs/filesystem.md 4).
//!
//! ```text
//! change.rs      X.patch           a merge patch
//!                X.update          an UpdateItem
//! attributes.rs  X.d/              its attributes as files
//! here           X.<etag>.casjson  the item, put if it is of that version; the version comes from `X.meta` or `user.ddb.etag`
//!                X.meta            key, etag, size, capacity, indexes, expiry: also the extended attributes `user.ddb.*`
//! ```
//! Patch and update create an absent item, as UpdateItem does; the others need it.

use super::entry;
use crate::codec::{digest::hex, key::partition_digest};
use crate::database::EntryStat;
use crate::fs::{
    node::special::Feature,
    open::prelude::*,
    path::names::{self, Suffix},
    write::{ItemTextWriter, Opener},
};
use crate::model::{
    api::DescribeTimeToLiveRequest,
    limits::{READ_UNIT_BYTES, WRITE_UNIT_BYTES},
};

mod attributes;
mod change;

/// Returns the file or directory of that suffix: of an entry's text, or beside an item.
///
/// # Errors
/// [`FsError::NotFound`] for a suffix that an item, or an index entry, does not have.
pub fn node(source: &SourceName, key: EntryKey, suffix: Suffix) -> Result<Node, FsError> {
    if let Some(form) = suffix.form() {
        return Ok(entry::node(source, key, form));
    }
    if source.index.is_some() {
        return if matches!(suffix, Suffix::Base) {
            Ok(Node::Base(source.clone(), Box::new(key)))
        } else {
            Err(FsError::NotFound)
        };
    }
    let path = names::entry_path(&key, TextForm::PlainJson);
    debug_assert!(path.ends_with(".json"), "{path}");
    let stem = format!(
        "{}/{ITEMS_NAME}/{}",
        source.table,
        path.strip_suffix(".json").unwrap_or(&path)
    );
    let entry = EntryNode {
        source: source.clone(),
        key,
        form: TextForm::PlainJson,
    };
    let above = entry.directory();
    let file = |end: &str, feature: Feature| {
        Special::file(format!("{stem}{end}"), Some(source.clone()), feature)
    };
    Ok(match suffix {
        Suffix::Patch => file(".patch", change::PatchFile(entry).into()).writable(),
        Suffix::Update => file(".update", change::UpdateFile(entry).into()).writable(),
        Suffix::Meta => file(".meta", MetaFile(entry).into()),
        Suffix::CasJson(version) => file(
            &format!(".{version}.casjson"),
            CasJsonFile(entry, version).into(),
        )
        .writable(),
        Suffix::Attributes => Special::directory(
            format!("{stem}.d"),
            Some(source.clone()),
            above.ino(),
            attributes::AttributeFolder { entry, path: None },
        ),
        Suffix::Json | Suffix::DdbJson | Suffix::Base => return Err(FsError::NotFound),
    }
    .into())
}

struct CasJsonFile(EntryNode, Version);

impl NodeOps for CasJsonFile {
    /// Returns the attributes of the item, whatever its version: a write to a replaced version must
    /// fail with a reason.
    fn attr(&self, _at: &SpecialNode, mount: &Mount) -> Result<Attr, FsError> {
        entry::attr(mount, &self.0)
    }

    fn text(&self, _at: &SpecialNode, mount: &Mount) -> Result<Vec<u8>> {
        let (text, stat) = entry::text(mount, &self.0)?;
        if stat.version == self.1 {
            Ok(text)
        } else {
            Err(FsError::VersionMismatch)
        }
    }

    fn open_writer(&self, node: &SpecialNode, host: &Host, flags: OpenFlags) -> Result<Handle> {
        let caller = host.mount.caller;
        let target = entry::target(&host.mount, &Node::Entry(Box::new(self.0.clone())))?;
        let writer = ItemTextWriter::stream_replacing(
            target,
            Opener {
                pid: caller.pid,
                append: flags.append,
            },
            self.1,
        );
        Ok(Handle::Item(Arc::new(OpenText::new(
            node.ino(),
            node.path.clone(),
            caller.pid,
            writer,
        ))))
    }
}

/// `X.meta`
#[derive(Debug)]
struct MetaFile(EntryNode);

impl NodeOps for MetaFile {
    fn modified_ms(&self, _at: &SpecialNode, mount: &Mount) -> Result<u64> {
        Ok(entry::stat(mount, &self.0.source, &self.0.key)?.modified_ms)
    }

    fn text(&self, _at: &SpecialNode, mount: &Mount) -> Result<Vec<u8>> {
        Ok(ItemMeta::of(mount, &self.0)?.to_json().into_bytes())
    }
}

/// Metadata of one version of an item.
#[derive(Debug)]
pub struct ItemMeta {
    /// The key as plain JSON.
    key: String,
    path: String,
    stat: EntryStat,
    /// The digest of the partition key, which orders the table.
    hash: String,
    /// The partition's name in `partitions/`.
    partition: Option<String>,
    /// Name and path below the mount of each index entry.
    indexes: Vec<(String, String)>,
    /// The attribute of time to live, where it is enabled, and the item's value of it.
    ttl: Option<(String, Option<AttributeValue>)>,
}

/// A function that reads one of them.
type MetaField = fn(&ItemMeta) -> Option<String>;

/// The extended attributes of an item. Facts of the table's physical layout on an item belong here
/// too.
const META_FIELDS: [(&str, MetaField); 9] = [
    ("key", |facts| Some(facts.key.clone())),
    ("etag", |facts| Some(facts.stat.version.to_string())),
    ("size", |facts| Some(facts.stat.item_bytes.to_string())),
    ("rcu", |facts| Some(units(facts.read_units()))),
    ("wcu", |facts| Some(facts.write_units().to_string())),
    ("hash", |facts| Some(facts.hash.clone())),
    ("partition", |facts| facts.partition.clone()),
    ("ttl", |facts| facts.expires()),
    ("indexes", |facts| {
        let names: Vec<&str> = facts
            .indexes
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        Some(names.join(" "))
    }),
];

impl ItemMeta {
    fn of(mount: &Mount, entry: &EntryNode) -> Result<Self> {
        let (item, stat) = entry::load(mount, entry)?;
        let schema = mount.schema(entry.table())?;
        let key = entry.key().to_item(&schema.key);
        let names = schema.key.names();
        let hash = partition_digest(&[&entry.key().partition]);
        Ok(Self {
            key: plain_json::line(&key, &names),
            path: mount.display_path(&Node::Entry(Box::new(entry.clone()))),
            stat,
            hash: hex(&hash),
            partition: partition_of(mount, entry),
            indexes: index_entries(mount, &schema, entry, &item),
            ttl: time_to_live(mount, entry, &item)?,
        })
    }

    /// Returns the metadata of the item that a node stands for.
    ///
    /// # Errors
    /// [`FsError::NoAttribute`] for any other node, [`FsError::NotFound`] when the item is not
    /// stored.
    pub fn of_node(mount: &Mount, node: &Node) -> Result<Self, FsError> {
        match node {
            Node::Entry(entry) if entry.source.index.is_none() => Self::of(mount, entry),
            _ => Err(FsError::NoAttribute),
        }
    }

    /// Returns the value of `user.ddb.<name>`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        META_FIELDS
            .iter()
            .find(|(known, _)| *known == name)
            .and_then(|(_, value)| value(self))
    }

    /// Returns the units of a strongly consistent read; an eventually consistent one takes half of
    /// it.
    fn read_units(&self) -> usize {
        (self.stat.item_bytes as usize)
            .div_ceil(READ_UNIT_BYTES)
            .max(1)
    }

    fn write_units(&self) -> usize {
        (self.stat.item_bytes as usize)
            .div_ceil(WRITE_UNIT_BYTES)
            .max(1)
    }

    /// Returns the expiry in seconds since the epoch, as the item has it.
    fn expires(&self) -> Option<String> {
        match &self.ttl {
            Some((_, Some(AttributeValue::N(number)))) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Returns one line of JSON.
    fn to_json(&self) -> String {
        let indexes: Vec<Value> = self
            .indexes
            .iter()
            .map(|(name, path)| json!({"name": name, "path": path}))
            .collect();
        let ttl = self.ttl.as_ref().map(|(attribute, _)| json!({"attribute": attribute, "expires": self.expires().and_then(|seconds| seconds.parse::<u64>().ok())}));
        let rest = json!({
            "path": self.path,
            "etag": self.stat.version.to_string(),
            "size": self.stat.item_bytes,
            "modified_ms": self.stat.modified_ms,
            "capacity": {"read": half(self.read_units()), "read_consistent": self.read_units(), "write": self.write_units()},
            "hash": self.hash,
            "partition": self.partition,
            "indexes": indexes,
            "ttl": ttl,
        })
        .to_string();
        format!("{{\"key\":{},{}\n", self.key, &rest[1..])
    }
}

/// Returns the partition, where the database has a layout.
fn partition_of(mount: &Mount, entry: &EntryNode) -> Option<String> {
    let id = mount
        .db
        .layout()?
        .partition_of_entry(&entry.source, &entry.key)
        .ok()?;
    Some(partition_name(id))
}

/// Halves the units: exact, since capacity units are at most 100.
fn half(units: usize) -> f64 {
    units as f64 / 2.0
}

/// Returns the units of an eventually consistent read as text: `0.5`, `1`.
fn units(consistent: usize) -> String {
    half(consistent).to_string()
}

/// Returns the index entries of an item: it is in an index if it has all of the index's key
/// attributes.
fn index_entries(
    mount: &Mount,
    schema: &TableSchema,
    entry_node: &EntryNode,
    item: &Item,
) -> Vec<(String, String)> {
    let entry = |index: &crate::model::IndexSchema| {
        let values = |attributes: &[crate::model::KeyAttribute]| {
            attributes
                .iter()
                .map(|attribute| item.get(&attribute.name).cloned())
                .collect::<Option<Vec<_>>>()
        };
        let index_key = (values(&index.partition)?, values(&index.sort)?);
        let source = SourceName {
            table: schema.name.clone(),
            index: Some(index.name.clone()),
        };
        let key = EntryKey {
            index: Some(index_key),
            base: entry_node.key().clone(),
        };
        let node = Node::Entry(Box::new(EntryNode {
            source,
            key,
            form: TextForm::PlainJson,
        }));
        Some((index.name.to_string(), mount.display_path(&node)))
    };
    schema.indexes.iter().filter_map(entry).collect()
}

fn time_to_live(
    mount: &Mount,
    entry: &EntryNode,
    item: &Item,
) -> Result<Option<(String, Option<AttributeValue>)>> {
    let described = mount.db.describe_time_to_live(DescribeTimeToLiveRequest {
        table_name: entry.table().clone(),
    })?;
    Ok(described.attribute_name.map(|name| {
        let value = item.get(&name).cloned();
        (name, value)
    }))
}
