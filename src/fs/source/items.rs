//! `items/`: item files of a hash-only table, collection folders of a composite table or an index.

use super::collection::EntryLister;
use super::{entry, item, scratch};
use crate::codec::digest::Digest;
use crate::database::Entries;
use crate::fs::node::ino;
use crate::fs::open::directory::fetch_tail;
use crate::fs::open::prelude::*;
use crate::fs::path::names::Parsed;
use crate::fs::{
    node::{AliasFolder, AliasNode},
    open::{
        directory::{FixedLister, Lister},
        found::{Cursor, Entry, Found, Place},
    },
    query::Wanted,
    write::{KeyPart, TargetKey},
};

pub fn resolve(mount: &Mount, source: &Source, name: &str) -> Result<Node, FsError> {
    let schema = mount.source_schema(source)?;
    if is_flat(&schema, source) { resolve_flat(mount, &schema, source, name) } else { resolve_folder(mount, &schema, source, name) }
}

/// Does `items/` hold item files, not folders?
fn is_flat(schema: &TableSchema, source: &Source) -> bool {
    source.index.is_none() && schema.key.sort.is_none()
}

/// `K(pk).json`.
fn resolve_flat(mount: &Mount, schema: &TableSchema, source: &Source, name: &str) -> Result<Node, FsError> {
    let Some((stem, suffix)) = names::split_suffix(name) else { return scratch::resolve(mount, source, None, name) };
    let types = [schema.key.partition.attribute_type];
    let value = match names::parse(stem, &types)? {
        Parsed::Values(values) => values.into_iter().next(),
        Parsed::Alias(alias) => {
            let Some(partition) = mount.db.partition_by_digest(source, alias.digest)? else {
                let key = TargetKey { partition: KeyPart::Digest(alias.digest), sort: None };
                let form = suffix.form().ok_or(FsError::NotFound)?;
                let alias = AliasNode { table: source.table.clone(), key, form, path: name.to_owned() };
                return Ok(Node::Alias(Box::new(alias)));
            };
            partition.into_iter().next()
        }
    };
    let base = Key { partition: value.ok_or(FsError::NotFound)?, sort: None };
    item::node(source, EntryKey { index: None, base }, suffix)
}

/// `K(pk)/`, or `K(a),K(b)/` of an index with several partition attributes.
fn resolve_folder(mount: &Mount, schema: &TableSchema, source: &Source, name: &str) -> Result<Node, FsError> {
    if name.starts_with('.') {
        return scratch::resolve(mount, source, None, name);
    }
    let types = partition_types(schema, source)?;
    let partition = match names::parse(name, &types)? {
        Parsed::Values(values) => values,
        Parsed::Alias(alias) => match mount.db.partition_by_digest(source, alias.digest)? {
            Some(partition) => partition,
            // Folders of an index are its entries: none is made before them.
            None if source.index.is_some() => return Err(FsError::NotFound),
            None if let Some(value) = mount.folders.lock().value_of(&source.table, &alias.digest) => vec![value],
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

/// A name in the folder of a collection whose key is not known yet, unless an item of it was stored meanwhile.
pub fn resolve_in_alias(mount: &Mount, folder: &AliasFolder, name: &str) -> Result<Node, FsError> {
    let source = base(&folder.table);
    if let Some(partition) = mount.db.partition_by_digest(&source, folder.digest)? {
        return super::collection::resolve(mount, &source, &partition, name);
    }
    let Some((stem, suffix)) = names::split_suffix(name) else {
        return scratch::resolve_in(mount, &Node::AliasFolder(Box::new(folder.clone())), name);
    };
    let schema = mount.source_schema(&source)?;
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
pub fn alias_folder_attr(mount: &Mount, folder: &AliasFolder) -> Result<Attr, FsError> {
    let source = base(&folder.table);
    if let Some(partition) = mount.db.partition_by_digest(&source, folder.digest)? {
        return super::collection::attr(mount, &source, &partition);
    }
    mount.schema(&folder.table)?;
    let since_ms = mount.folders.lock().alias_since(&folder.table, &folder.digest);
    since_ms.map(Attr::directory).ok_or(FsError::NotFound)
}

/// Lists what was stored meanwhile in the folder of a collection.
pub fn alias_lister(mount: &Mount, folder: &AliasFolder) -> Result<Box<dyn Lister>, FsError> {
    let source = base(&folder.table);
    Ok(match mount.db.partition_by_digest(&source, folder.digest)? {
        Some(partition) => Box::new(super::collection::lister(mount, &source, &partition)?),
        None => Box::new(FixedLister::default()),
    })
}

/// What a path below `items/` means.
///
/// # Errors
/// `NotFound`, `NotDirectory`.
pub fn find(mount: &Mount, source: &Source, path: &str) -> Result<Node, FsError> {
    let (first, rest) = path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)));
    match (resolve(mount, source, first)?, rest) {
        (node, None) => Ok(node),
        (Node::Collection(source, partition), Some(name)) => super::collection::resolve(mount, &source, &partition, name),
        (Node::AliasFolder(folder), Some(name)) => resolve_in_alias(mount, &folder, name),
        (_, Some(_)) => Err(FsError::NotDirectory),
    }
}

/// A file created by a shortened name, once its item is stored: it is the item's, and keeps its inode number while it is open.
pub fn alias_attr(mount: &Mount, alias: &AliasNode) -> Result<Attr, FsError> {
    match find(mount, &base(&alias.table), &alias.path)? {
        Node::Entry(found) => entry::attr(mount, &found),
        _ => Err(FsError::NotFound),
    }
}

pub fn lister(mount: &Mount, source: &Source) -> Result<Box<dyn Lister>, FsError> {
    let schema = mount.source_schema(source)?;
    if is_flat(&schema, source) {
        return Ok(Box::new(EntryLister::new(source.clone(), Entries::All)));
    }
    let (kept, aliases) = match source.index {
        Some(_) => (Vec::new(), Vec::new()),
        None => {
            let folders = mount.folders.lock();
            (folders.of(&source.table), folders.aliases_of(&source.table))
        }
    };
    let kept = kept.into_iter().map(|value| (value, false)).collect();
    Ok(Box::new(CollectionLister { source: source.clone(), kept, aliases, tail: Vec::new() }))
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
    fn fetch(&mut self, mount: &Mount, from: &Cursor, _wanted: &Wanted<'_>, out: &mut Found) -> Result<(), FsError> {
        if let Cursor::Start | Cursor::After(_) = from {
            self.fetch_collections(mount, from, out)?;
            if !out.is_empty() {
                return Ok(());
            }
            self.tail = self.end_of_listing(mount)?;
        }
        fetch_tail(&self.tail, from, out);
        Ok(())
    }
}

impl CollectionLister {
    fn fetch_collections(&mut self, mount: &Mount, from: &Cursor, out: &mut Found) -> Result<(), FsError> {
        let Some(after) = from.after() else { return Ok(()) };
        let (source, kept) = (&self.source, &mut self.kept);
        mount.db.collections(source, after, &mut |collection, position| {
            if let Some(done) = collection.partition.first().and_then(|value| kept.get_mut(value)) {
                *done = true;
            }
            let name = &names::collection_name(&collection.partition);
            let ino = ino::collection(source, &collection.partition);
            out.push(Entry { ino, kind: Kind::Directory, name }, Place::After(&position.0));
            out.next()
        })?;
        Ok(())
    }

    /// The kept folders that were not listed and still exist, sorted by name.
    fn end_of_listing(&self, mount: &Mount) -> Result<Vec<Listed>, FsError> {
        let mut names = Vec::new();
        for (value, _) in self.kept.iter().filter(|(_, done)| !**done) {
            let partition = vec![value.clone()];
            match super::collection::attr(mount, &self.source, &partition) {
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
            let exists = mount.folders.lock().alias_since(&folder.table, digest).is_some();
            if exists {
                names.push(listed(&Node::AliasFolder(Box::new(folder)), name));
            }
        }
        names.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }
}
