//! Base items and index entries as files.

use crate::codec::{dynamodb_json, json::edit::indent};
use crate::database::EntryStat;
use crate::fs::{
    node::item_number,
    open::prelude::*,
    write::{ItemTarget, KeyPart, TargetKey},
};
use crate::model::error::StoreError;

/// Returns the node of an entry.
pub fn node(source: &Source, key: EntryKey, form: TextForm) -> Node {
    Node::Entry(Box::new(EntryNode {
        source: source.clone(),
        key,
        form,
    }))
}

/// Returns the metadata of the stored entry, if no pending delete hides it.
pub fn stat(mount: &Mount, source: &Source, key: &EntryKey) -> Result<EntryStat, FsError> {
    let stat = mount.db.stat(source, key)?.ok_or(FsError::NotFound)?;
    if mount.is_hidden(source, key, stat.version) {
        Err(FsError::NotFound)
    } else {
        Ok(stat)
    }
}

pub fn attr(mount: &Mount, entry: &EntryNode) -> Result<Attr, FsError> {
    let writable = entry.source.index.is_none();
    match entry.form {
        // The record's header has the length: a stat of the usual form renders nothing.
        TextForm::PlainJson if !mount.options.pretty && !mount.options.keep_text => Ok(
            Attr::entry(&stat(mount, &entry.source, &entry.key)?, writable),
        ),
        TextForm::PlainJson | TextForm::DynamoDbJson => {
            let (text, stat) = text(mount, entry)?;
            let size = text.len() as u64;
            Ok(Attr {
                size,
                ..Attr::entry(&stat, writable)
            })
        }
    }
}

/// Returns the text of an entry for a reader of the file. It consumes the capacity of a GetItem.
pub fn counted_text(mount: &Mount, entry: &EntryNode) -> Result<(Vec<u8>, EntryStat), FsError> {
    let (text, stat) = text(mount, entry)?;
    // Counted after the read: a throttled read returns nothing, and a failed one consumes nothing.
    mount
        .db
        .count_get(&entry.source, &entry.key, stat.item_bytes)?;
    Ok((text, stat))
}

/// Returns the text of an entry and the version it is of.
pub fn text(mount: &Mount, entry: &EntryNode) -> Result<(Vec<u8>, EntryStat), FsError> {
    let (text, stat) = mount
        .db
        .text(&entry.source, &entry.key, entry.form)?
        .ok_or(FsError::NotFound)?;
    if mount.is_hidden(&entry.source, &entry.key, stat.version) {
        return Err(FsError::NotFound);
    }
    if let Some(written) = written(mount, entry, stat.version) {
        return Ok((written.to_vec(), stat));
    }
    let text = if mount.options.pretty {
        indent(&text)
    } else {
        text
    };
    Ok((text, stat))
}

/// Returns the text that wrote this version of an item, if it is cached.
fn written(mount: &Mount, entry: &EntryNode, version: Version) -> Option<Arc<Vec<u8>>> {
    let is_kept = mount.options.keep_text
        && entry.form == TextForm::PlainJson
        && entry.source.index.is_none();
    mount.written.get((
        is_kept.then(|| item_number(&entry.source.table, &entry.key.base))?,
        version,
    ))
}

/// Returns the attributes of an entry and the version they are of.
pub fn load(mount: &Mount, entry: &EntryNode) -> Result<(Item, EntryStat), FsError> {
    let (text, stat) = text(
        mount,
        &EntryNode {
            form: TextForm::DynamoDbJson,
            ..entry.clone()
        },
    )?;
    let item = dynamodb_json::parse(&text);
    Ok((
        item.map_err(|_| Error::Store(StoreError::Corrupt("an item does not read back")))?,
        stat,
    ))
}

/// Returns the item of a base table, as a target for its text.
///
/// # Errors
/// [`FsError::Derived`] for a node that is no item of a base table.
pub fn target(mount: &Mount, node: &Node) -> Result<ItemTarget, FsError> {
    let (table, key, form) = match node {
        Node::Entry(entry) if entry.source.index.is_none() => {
            let sort = entry.key.base.sort.clone().map(KeyPart::Value);
            let key = TargetKey {
                partition: KeyPart::Value(entry.key.base.partition.clone()),
                sort,
            };
            (entry.source.table.clone(), key, entry.form)
        }
        Node::Alias(alias) => (alias.table.clone(), alias.key.clone(), alias.form),
        _ => return Err(FsError::Derived),
    };
    let key_schema = mount.schema(&table)?.key.clone();
    Ok(ItemTarget {
        table,
        key_schema,
        key,
        form,
        strict_keys: mount.options.strict_keys,
    })
}

/// Returns the attributes of `X.base`, which exists as long as its entry.
pub fn base_attr(mount: &Mount, source: &Source, key: &EntryKey) -> Result<Attr, FsError> {
    let stat = stat(mount, source, key)?;
    Ok(Attr::symlink(&base_target(key), stat.modified_ms))
}

/// Returns the target of `X.base`: from `<Table>/gsi/<index>/items/K(ixpk)/` up to the table and
/// down to the item.
pub fn base_target(key: &EntryKey) -> String {
    format!("../../../../{}", names::item_path(&key.base))
}
