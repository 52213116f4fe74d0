//! `items/`: item files of a hash-only table, collection folders of a composite table or an index.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::collection::{EntryLister, entry_node};
use super::names::{self, Parsed, Suffix};
use super::table::base;
use super::{Tree, listed, scratch};
use crate::codec::digest::Digest;
use crate::codec::dynamodb_json;
use crate::codec::json::indent::indent;
use crate::database::{Entries, EntryKey, EntryStat, Source, TextForm};
use crate::fs::FsError;
use crate::fs::attr::Attr;
use crate::fs::directory_stream::{BATCH, Cursor, FixedLister, Found, Listed, Lister, fetch_tail};
use crate::fs::node::{AliasFolder, AliasNode, EntryNode, Node};
use crate::fs::query::Wanted;
use crate::fs::special::item;
use crate::fs::write::{KeyPart, TargetKey};
use crate::model::error::StoreError;
use crate::model::schema::KeyAttributeType;
use crate::model::{AttributeValue, Error, Item, Key, TableSchema};

pub fn resolve(tree: &Tree, source: &Source, name: &str) -> Result<Node, FsError> {
    let schema = tree.source_schema(source)?;
    if is_flat(&schema, source) { resolve_flat(tree, &schema, source, name) } else { resolve_folder(tree, &schema, source, name) }
}

/// Does `items/` hold item files, not folders?
fn is_flat(schema: &TableSchema, source: &Source) -> bool {
    source.index.is_none() && schema.key.sort.is_none()
}

/// `K(pk).json`.
fn resolve_flat(tree: &Tree, schema: &TableSchema, source: &Source, name: &str) -> Result<Node, FsError> {
    let Some((stem, suffix)) = names::split_suffix(name) else { return scratch::resolve(tree, source, None, name) };
    let types = [schema.key.partition.attribute_type];
    let value = match names::parse(stem, &types)? {
        Parsed::Values(values) => values.into_iter().next(),
        Parsed::Alias(alias) => {
            let Some(partition) = tree.db.partition_by_digest(source, alias.digest)? else {
                let key = TargetKey { partition: KeyPart::Digest(alias.digest), sort: None };
                let form = suffix.form().ok_or(FsError::NotFound)?;
                let alias = AliasNode { table: source.table.clone(), key, form, path: name.to_owned() };
                return Ok(Node::Alias(Box::new(alias)));
            };
            partition.into_iter().next()
        }
    };
    let base = Key { partition: value.ok_or(FsError::NotFound)?, sort: None };
    entry(source, EntryKey { index: None, base }, suffix)
}

/// `K(pk)/`, or `K(a),K(b)/` of an index with several partition attributes.
fn resolve_folder(tree: &Tree, schema: &TableSchema, source: &Source, name: &str) -> Result<Node, FsError> {
    if name.starts_with('.') {
        return scratch::resolve(tree, source, None, name);
    }
    let types = partition_types(schema, source)?;
    let partition = match names::parse(name, &types)? {
        Parsed::Values(values) => values,
        Parsed::Alias(alias) => match tree.db.partition_by_digest(source, alias.digest)? {
            Some(partition) => partition,
            None if source.index.is_some() => return Err(FsError::NotFound),
            None if let Some(value) = tree.folders.lock().value_of(&source.table, &alias.digest) => vec![value],
            None => {
                let folder = AliasFolder { table: source.table.clone(), digest: alias.digest, name: name.to_owned() };
                return Ok(Node::AliasFolder(Box::new(folder)));
            }
        },
    };
    Ok(Node::Collection(source.clone(), partition))
}

pub(in crate::fs) fn partition_types(schema: &TableSchema, source: &Source) -> Result<Vec<KeyAttributeType>, FsError> {
    let Some(index) = &source.index else { return Ok(vec![schema.key.partition.attribute_type]) };
    let index = schema.index(index.as_str()).ok_or(FsError::NotFound)?;
    Ok(index.partition.iter().map(|attribute| attribute.attribute_type).collect())
}

/// The node of an entry's file by its suffix.
pub fn entry(source: &Source, key: EntryKey, suffix: Suffix) -> Result<Node, FsError> {
    match (suffix.form(), suffix) {
        (Some(form), _) => Ok(entry_node(source, key, form)),
        (None, Suffix::Base) if source.index.is_some() => Ok(Node::Base(source.clone(), Box::new(key))),
        (None, _) => item::node(source, key, suffix),
    }
}

/// A name in the folder of a collection whose key is not known yet, unless an item of it was stored meanwhile.
pub fn resolve_in_alias(tree: &Tree, folder: &AliasFolder, name: &str) -> Result<Node, FsError> {
    let source = base(&folder.table);
    if let Some(partition) = tree.db.partition_by_digest(&source, folder.digest)? {
        return super::collection::resolve(tree, &source, &partition, name);
    }
    let Some((stem, suffix)) = names::split_suffix(name) else {
        return scratch::resolve_in(tree, &Node::AliasFolder(Box::new(folder.clone())), name);
    };
    let schema = tree.source_schema(&source)?;
    let sort = schema.key.sort.as_ref().ok_or(FsError::NotFound)?;
    let sort = match names::parse(stem, &[sort.attribute_type])? {
        Parsed::Values(values) => KeyPart::Value(values.into_iter().next().ok_or(FsError::NotFound)?),
        Parsed::Alias(alias) => KeyPart::Digest(alias.digest),
    };
    let key = TargetKey { partition: KeyPart::Digest(folder.digest), sort: Some(sort) };
    let form = suffix.form().ok_or(FsError::NotFound)?;
    let path = format!("{}/{name}", folder.name);
    Ok(Node::Alias(Box::new(AliasNode { table: folder.table.clone(), key, form, path })))
}

/// The folder of a collection whose key is not known: made by mkdir, or known meanwhile.
pub fn alias_folder_attr(tree: &Tree, folder: &AliasFolder) -> Result<Attr, FsError> {
    let ino = Node::AliasFolder(Box::new(folder.clone())).ino();
    let source = base(&folder.table);
    if let Some(partition) = tree.db.partition_by_digest(&source, folder.digest)? {
        return Ok(Attr { ino, ..super::collection::attr(tree, &source, &partition)? });
    }
    tree.schema(&folder.table)?;
    let since_ms = tree.folders.lock().alias_since(&folder.table, &folder.digest);
    since_ms.map(|since_ms| Attr::directory(ino, since_ms)).ok_or(FsError::NotFound)
}

/// Lists what was stored meanwhile in the folder of a collection.
pub fn alias_lister(tree: &Tree, folder: &AliasFolder) -> Result<Box<dyn Lister>, FsError> {
    let source = base(&folder.table);
    Ok(match tree.db.partition_by_digest(&source, folder.digest)? {
        Some(partition) => Box::new(super::collection::lister(tree, &source, &partition)?),
        None => Box::new(FixedLister::default()),
    })
}

/// A file created by a shortened name, once its item is stored: it is the item's, and keeps its inode number while it is open.
pub fn alias_attr(tree: &Tree, alias: &AliasNode) -> Result<Attr, FsError> {
    let start = Node::Items(base(&alias.table));
    let found = alias.path.split('/').try_fold(start, |parent, name| tree.resolve(&parent, name.as_bytes()))?;
    match found {
        Node::Entry(entry) => Ok(Attr { ino: Node::Alias(Box::new(alias.clone())).ino(), ..attr(tree, &entry)? }),
        _ => Err(FsError::NotFound),
    }
}

/// What is stored under this key, if no waiting delete hides it.
pub fn stat(tree: &Tree, source: &Source, key: &EntryKey) -> Result<EntryStat, FsError> {
    let stat = tree.db.stat(source, key)?.ok_or(FsError::NotFound)?;
    if tree.is_hidden(source, key, stat.version) { Err(FsError::NotFound) } else { Ok(stat) }
}

pub fn attr(tree: &Tree, entry: &EntryNode) -> Result<Attr, FsError> {
    let ino = crate::fs::node::entry_ino(&entry.source, &entry.key, entry.form);
    let writable = entry.source.index.is_none();
    match entry.form {
        TextForm::PlainJson if !tree.options.pretty => Ok(Attr::entry(ino, &stat(tree, &entry.source, &entry.key)?, writable)),
        TextForm::PlainJson | TextForm::DynamoDbJson => {
            let (text, stat) = text(tree, entry)?;
            let size = text.len() as u64;
            Ok(Attr { size, ..Attr::entry(ino, &stat, writable) })
        }
    }
}

/// The text of an entry for somebody who reads the file: a GetItem, as far as capacity goes.
pub fn counted_text(tree: &Tree, entry: &EntryNode) -> Result<(Vec<u8>, EntryStat), FsError> {
    let (text, stat) = text(tree, entry)?;
    tree.db.count_get(&entry.source, &entry.key, stat.item_bytes)?;
    Ok((text, stat))
}

/// The text of an entry and the version it is of.
pub fn text(tree: &Tree, entry: &EntryNode) -> Result<(Vec<u8>, EntryStat), FsError> {
    let (text, stat) = tree.db.text(&entry.source, &entry.key, entry.form)?.ok_or(FsError::NotFound)?;
    if tree.is_hidden(&entry.source, &entry.key, stat.version) {
        return Err(FsError::NotFound);
    }
    let text = if tree.options.pretty { indent(&text) } else { text };
    Ok((text, stat))
}

/// The attributes of an entry and the version they are of.
pub fn load(tree: &Tree, source: &Source, key: &EntryKey) -> Result<(Item, EntryStat), FsError> {
    let entry = EntryNode { source: source.clone(), key: key.clone(), form: TextForm::DynamoDbJson };
    let (text, stat) = text(tree, &entry)?;
    let item = dynamodb_json::parse(&text);
    Ok((item.map_err(|_| Error::Store(StoreError::Corrupt("an item does not read back")))?, stat))
}

pub fn lister(tree: &Tree, source: &Source) -> Result<Box<dyn Lister>, FsError> {
    let schema = tree.source_schema(source)?;
    if is_flat(&schema, source) {
        return Ok(Box::new(EntryLister::new(source.clone(), Entries::All)));
    }
    Ok(Box::new(CollectionLister { source: source.clone(), kept: HashMap::new(), aliases: Vec::new(), tail: Vec::new() }))
}

/// Lists the collections of a source, then the folders that exist without items.
///
/// A folder may get its first item, or lose its last, while it is listed. The folders kept in memory are noted at the start; each is
/// listed once, at its place among the collections or else at the end.
#[derive(Debug)]
struct CollectionLister {
    source: Source,
    /// Folders kept in memory at the start; were they listed among the collections?
    kept: HashMap<AttributeValue, bool>,
    /// Folders made by a shortened name at the start.
    aliases: Vec<(Digest, String)>,
    /// The names at the end, made when the collections are done.
    tail: Vec<Listed>,
}

impl Lister for CollectionLister {
    fn start(&mut self, tree: &Tree) -> Result<(), FsError> {
        if self.source.index.is_none() {
            let kept = tree.folders.lock().of(&self.source.table);
            self.kept = kept.into_iter().map(|value| (value, false)).collect();
            self.aliases = tree.folders.lock().aliases_of(&self.source.table);
        }
        Ok(())
    }

    fn fetch(&mut self, tree: &Tree, from: &Cursor, _wanted: &Wanted<'_>, out: &mut Found) -> Result<(), FsError> {
        if let Cursor::Start | Cursor::After(_) = from {
            self.fetch_collections(tree, from, out)?;
            if !out.is_empty() {
                return Ok(());
            }
            self.tail = self.end_of_listing(tree)?;
        }
        fetch_tail(&self.tail, from, out);
        Ok(())
    }
}

impl CollectionLister {
    fn fetch_collections(&mut self, tree: &Tree, from: &Cursor, out: &mut Vec<(Listed, Cursor)>) -> Result<(), FsError> {
        let after = match from {
            Cursor::After(position) => Some(position),
            Cursor::Start | Cursor::Tail(_) => None,
        };
        let (source, kept) = (&self.source, &mut self.kept);
        tree.db.collections(source, after, &mut |collection, position| {
            if let Some(done) = collection.partition.first().and_then(|value| kept.get_mut(value)) {
                *done = true;
            }
            let name = names::collection_name(&collection.partition);
            let node = Node::Collection(source.clone(), collection.partition);
            out.push((listed(&node, &name), Cursor::After(position)));
            if out.len() >= BATCH { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(())
    }

    /// The kept folders that were not listed and still exist, sorted by name.
    fn end_of_listing(&self, tree: &Tree) -> Result<Vec<Listed>, FsError> {
        let mut names = Vec::new();
        for (value, _) in self.kept.iter().filter(|(_, done)| !**done) {
            let partition = vec![value.clone()];
            match super::collection::attr(tree, &self.source, &partition) {
                Ok(_) => {
                    let name = names::collection_name(&partition);
                    names.push(listed(&Node::Collection(self.source.clone(), partition), &name));
                }
                Err(FsError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        for (digest, name) in &self.aliases {
            let folder = AliasFolder { table: self.source.table.clone(), digest: *digest, name: name.clone() };
            let exists = tree.folders.lock().alias_since(&folder.table, digest).is_some();
            if exists {
                names.push(listed(&Node::AliasFolder(Box::new(folder)), name));
            }
        }
        names.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }
}
