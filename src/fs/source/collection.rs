//! `items/K(pk)/`: an item collection of a composite table, or of an index.

use super::{item, scratch};
use crate::database::Entries;
use crate::fs::node::EntryInos;
use crate::fs::open::found::Items;
use crate::fs::open::prelude::*;
use crate::fs::path::names::{Parsed, Suffix};
use crate::fs::{
    node::AliasNode,
    open::{
        directory::Lister,
        found::{Cursor, Entry, Found, Place},
    },
    query::Wanted,
    write::{KeyPart, TargetKey},
};
use std::ops::ControlFlow;

/// `K(sk).json` of the base table; `K(ixsk),K(pk),K(sk).json` of an index, without the parts that its keys lack.
pub fn resolve(mount: &Mount, source: &Source, partition: &PartitionKey, name: &str) -> Result<Node, FsError> {
    let Some((stem, suffix)) = names::split_suffix(name) else {
        return scratch::resolve(mount, source, Some(partition), name);
    };
    let schema = mount.source_schema(source)?;
    let types = stem_types(&schema, source)?;
    let key = match names::parse(stem, &types)? {
        Parsed::Values(values) => entry_key(&schema, source, partition, values)?,
        Parsed::Alias(alias) => match find_alias(mount, &schema, (source, partition), &alias)? {
            Some(key) => key,
            None => return unstored(source, partition, (name, suffix), &alias),
        },
    };
    item::node(source, key, suffix)
}

/// The types of the values that an entry's name holds.
fn stem_types(schema: &TableSchema, source: &Source) -> Result<Vec<KeyAttributeType>, FsError> {
    let base = schema.key.attributes().map(|attribute| attribute.attribute_type);
    let Some(index) = &source.index else { return Ok(base.skip(1).collect()) };
    let index = schema.index(index.as_str()).ok_or(FsError::NotFound)?;
    Ok(index.sort.iter().map(|attribute| attribute.attribute_type).chain(base).collect())
}

/// The key that the values of a name say, in the order of [`stem_types`].
fn entry_key(
    schema: &TableSchema,
    source: &Source,
    partition: &PartitionKey,
    values: Vec<crate::model::AttributeValue>,
) -> Result<EntryKey, FsError> {
    let mut values = values.into_iter();
    let Some(index) = &source.index else {
        let base = Key { partition: partition.first().ok_or(FsError::NotFound)?.clone(), sort: values.next() };
        return Ok(EntryKey { index: None, base });
    };
    let index = schema.index(index.as_str()).ok_or(FsError::NotFound)?;
    let sort = values.by_ref().take(index.sort.len()).collect();
    let base = Key { partition: values.next().ok_or(FsError::NotFound)?, sort: values.next() };
    Ok(EntryKey { index: Some((partition.clone(), sort)), base })
}

/// The stored entry whose shortened name this is. Its key begins with what the name shows of it, which is less in the links of query
/// folders than in listings; the digest is the same.
fn find_alias(
    mount: &Mount,
    schema: &TableSchema,
    (source, partition): (&Source, &PartitionKey),
    alias: &names::Alias,
) -> Result<Option<EntryKey>, FsError> {
    // Entries of an index without a sort key begin with the base key, by which they are not in order.
    let is_sorted = source.index.as_ref().and_then(|index| schema.index(index.as_str())).is_none_or(|index| !index.sort.is_empty());
    let sort_prefix = alias.prefix.clone().filter(|_| is_sorted);
    let range = Entries::Collection { partition: partition.clone(), sort_prefix };
    let mut found = None;
    mount.db.entries(source, &range, None, &mut |key, _, _| {
        if names::entry_digest(key) == alias.digest {
            found = Some(key.clone());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// A shortened name of a base item that is not stored: it can still be created, its body holding the key.
fn unstored(
    source: &Source,
    partition: &PartitionKey,
    (name, suffix): (&str, Suffix),
    alias: &names::Alias,
) -> Result<Node, FsError> {
    let (None, Some(value)) = (&source.index, partition.first()) else { return Err(FsError::NotFound) };
    let key = TargetKey { partition: KeyPart::Value(value.clone()), sort: Some(KeyPart::Digest(alias.digest)) };
    let path = format!("{}/{name}", names::collection_name(partition));
    let form = suffix.form().ok_or(FsError::NotFound)?;
    Ok(Node::Alias(Box::new(AliasNode { table: source.table.clone(), key, form, path })))
}

pub fn attr(mount: &Mount, source: &Source, partition: &PartitionKey) -> Result<Attr, FsError> {
    if let Some(collection) = mount.db.collection(source, partition)? {
        return Ok(Attr::directory(collection.modified_ms));
    }
    let (None, Some(value)) = (&source.index, partition.first()) else { return Err(FsError::NotFound) };
    // The table may be gone.
    mount.schema(&source.table)?;
    let since_ms = mount.folders.lock().since(&source.table, value);
    let since_ms = match since_ms {
        Some(since_ms) => since_ms,
        None => scratch::parked_in_ms(mount, source, partition)?.ok_or(FsError::NotFound)?,
    };
    Ok(Attr::directory(since_ms))
}

/// Lists entries of a source: a whole hash-only table, or one collection.
#[derive(Debug)]
pub struct EntryLister {
    source: Source,
    range: Entries,
}

impl EntryLister {
    pub fn new(source: Source, range: Entries) -> Self {
        Self { source, range }
    }
}

pub fn lister(mount: &Mount, source: &Source, partition: &PartitionKey) -> Result<EntryLister, FsError> {
    mount.source_schema(source)?;
    let range = Entries::Collection { partition: partition.clone(), sort_prefix: None };
    Ok(EntryLister::new(source.clone(), range))
}

impl Lister for EntryLister {
    fn fetch(&mut self, mount: &Mount, from: &Cursor, _wanted: &Wanted<'_>, out: &mut Found) -> Result<(), FsError> {
        let Some(after) = from.after() else { return Ok(()) };
        let hides = mount.hides_any();
        let source = &self.source;
        if out.wants_items() && source.index.is_none() && !mount.options.pretty {
            // Before the entries are read.
            out.begin_items(Items::new(source.clone(), mount.db.visible_commit_id()?));
        }
        let mut inos = EntryInos::new(source, TextForm::PlainJson);
        mount.db.entries(source, &self.range, after, &mut |key, stat, place| {
            if hides && mount.is_hidden(source, key, stat.version) {
                return ControlFlow::Continue(());
            }
            let name = &names::entry_name(key, TextForm::PlainJson);
            out.push_item(Entry { ino: inos.of(key), kind: Kind::File, name }, Place::After(place), key, stat);
            out.next()
        })?;
        Ok(())
    }
}
