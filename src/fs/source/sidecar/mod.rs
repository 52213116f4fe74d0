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
    fn attr(&self, at: At<'_>) -> Result<Attr, FsError> {
        entry::attr(&at, &self.0)
    }

    fn text(&self, at: At<'_>) -> Result<Vec<u8>> {
        let (text, stat) = entry::text(&at, &self.0)?;
        if stat.version == self.1 {
            Ok(text)
        } else {
            Err(FsError::VersionMismatch)
        }
    }

    fn open_writer(&self, at: HostAt<'_>, flags: OpenFlags) -> Result<Handle> {
        let caller = at.mount.caller;
        let target = entry::target(&at.mount, &Node::Entry(Box::new(self.0.clone())))?;
        let writer = ItemTextWriter::stream_replacing(
            target,
            Opener {
                pid: caller.pid,
                append: flags.append,
            },
            self.1,
        );
        Ok(Handle::Item(Arc::new(OpenText::new(
            at.node.ino(),
            at.node.path.clone(),
            caller.pid,
            writer,
        ))))
    }
}

/// `X.meta`
#[derive(Debug)]
struct MetaFile(EntryNode);

impl NodeOps for MetaFile {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        Ok(entry::stat(&at, &self.0.source, &self.0.key)?.modified_ms)
    }

    fn text(&self, at: At<'_>) -> Result<Vec<u8>> {
        Ok(ItemMeta::of(&at, &self.0)?.to_json().into_bytes())
    }
}

/// Metadata of one version of an item: its key as plain JSON, and the rest.
#[derive(Debug)]
pub struct ItemMeta(String, Value);

impl ItemMeta {
    fn of(mount: &Mount, entry: &EntryNode) -> Result<Self> {
        let (item, stat) = entry::load(mount, entry)?;
        let schema = mount.schema(entry.table())?;
        let key = entry.key().to_item(&schema.key);
        let bytes = stat.item_bytes as usize;
        let units = |unit_bytes| bytes.div_ceil(unit_bytes).max(1);
        let read = units(READ_UNIT_BYTES);
        let facts = json!({
            "path": mount.display_path(&Node::Entry(Box::new(entry.clone()))),
            "etag": stat.version.to_string(),
            "size": stat.item_bytes,
            "modified_ms": stat.modified_ms,
            // Half of it is exact: capacity units are at most 100.
            "capacity": {"read": read as f64 / 2.0, "read_consistent": read, "write": units(WRITE_UNIT_BYTES)},
            "hash": hex(&partition_digest(&[&entry.key().partition])),
            "partition": partition_of(mount, entry),
            "indexes": index_entries(mount, &schema, entry, &item),
            "ttl": time_to_live(mount, entry, &item)?,
        });
        Ok(Self(plain_json::line(&key, &schema.key.names()), facts))
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
        let Self(key, facts) = self;
        let value = match name {
            "key" => return Some(key.clone()),
            "indexes" => {
                let indexes = facts[name].as_array().into_iter().flatten();
                let names: Vec<&str> = indexes.filter_map(|index| index["name"].as_str()).collect();
                return Some(names.join(" "));
            }
            "rcu" => {
                return facts["capacity"]["read"]
                    .as_f64()
                    .map(|units| units.to_string());
            }
            "wcu" => &facts["capacity"]["write"],
            "ttl" => &facts["ttl"]["expires"],
            "etag" | "size" | "hash" | "partition" => &facts[name],
            _ => return None,
        };
        match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            number => Some(number.to_string()),
        }
    }

    /// Returns one line of JSON.
    fn to_json(&self) -> String {
        format!("{{\"key\":{},{}\n", self.0, &self.1.to_string()[1..])
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

/// Returns the index entries of an item: it is in an index if it has all of the index's key
/// attributes.
fn index_entries(
    mount: &Mount,
    schema: &TableSchema,
    entry_node: &EntryNode,
    item: &Item,
) -> Vec<Value> {
    let entry = |index: &crate::model::IndexSchema| {
        let values = |attributes: &[crate::model::KeyAttribute]| {
            attributes
                .iter()
                .map(|attribute| item.get(&attribute.name).cloned())
                .collect::<Option<Vec<_>>>()
        };
        let is_unlisted = index.vector.is_some() && mount.db.is_remote();
        if is_unlisted || index.required_names().any(|name| item.get(name).is_none()) {
            return None;
        }
        let index_key = (values(&index.partition)?, values(index.order())?);
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
        Some(json!({"name": index.name.as_str(), "path": mount.display_path(&node)}))
    };
    schema.indexes.iter().filter_map(entry).collect()
}

/// Returns the attribute of time to live, where it is enabled, and the item's time in seconds since
/// the epoch.
fn time_to_live(mount: &Mount, entry: &EntryNode, item: &Item) -> Result<Option<Value>> {
    let described = mount.db.describe_time_to_live(DescribeTimeToLiveRequest {
        table_name: entry.table().clone(),
    })?;
    Ok(described.attribute_name.map(|attribute| {
        let expires = match item.get(&attribute) {
            Some(AttributeValue::N(number)) => number.to_string().parse::<u64>().ok(),
            _ => None,
        };
        json!({"attribute": attribute, "expires": expires})
    }))
}
