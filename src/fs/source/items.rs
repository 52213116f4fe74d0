//! `items/`: item files of a hash-only table, collection folders of a composite table or an index;
//! and `items/K(pk)/`, an item collection of either.

use std::ops::ControlFlow;

use super::{entry, item, scratch};
use crate::codec::digest::Digest;
use crate::database::Entries;
use crate::expr::KeySchemaView;
use crate::fs::{
    node::{AliasFolder, AliasNode, EntryInos, index_of, ino},
    open::{
        directory::{Lister, fetch_tail},
        found::{Cursor, Entry, Found, Items, Place},
        prelude::*,
    },
    path::names::{Parsed, Suffix},
    query::Wanted,
    write::{KeyPart, TargetKey},
};

pub fn resolve(mount: &Mount, source: &Source, name: &str) -> Result<Node, FsError> {
    let schema = mount.source_schema(source)?;
    if is_flat(&schema, source) {
        resolve_flat(mount, &schema, source, name)
    } else {
        resolve_folder(mount, &schema, source, name)
    }
}

/// True if `items/` holds item files, not folders.
pub fn is_flat(schema: &TableSchema, source: &Source) -> bool {
    source.index.is_none() && schema.key.sort.is_none()
}

/// Resolves `K(pk).json`.
fn resolve_flat(
    mount: &Mount,
    schema: &TableSchema,
    source: &Source,
    name: &str,
) -> Result<Node, FsError> {
    let Some((stem, suffix)) = names::split_suffix(name) else {
        return scratch::resolve(mount, source, None, name);
    };
    let types = [schema.key.partition.attribute_type];
    let value = match names::parse(stem, &types)? {
        Parsed::Values(values) => values.into_iter().next(),
        Parsed::Alias(alias) => {
            let Some(partition) = mount.db.partition_by_digest(source, alias.digest)? else {
                let key = TargetKey {
                    partition: KeyPart::Digest(alias.digest),
                    sort: None,
                };
                return unstored(&source.table, key, suffix, name.to_owned());
            };
            partition.into_iter().next()
        }
    };
    let base = Key {
        partition: value.ok_or(FsError::NotFound)?,
        sort: None,
    };
    item::node(source, EntryKey { index: None, base }, suffix)
}

/// Resolves `K(pk)/`, or `K(a),K(b)/` of an index with several partition attributes.
fn resolve_folder(
    mount: &Mount,
    schema: &TableSchema,
    source: &Source,
    name: &str,
) -> Result<Node, FsError> {
    if name.starts_with('.') {
        return scratch::resolve(mount, source, None, name);
    }
    let types = partition_types(schema, source)?;
    let partition = match names::parse(name, &types)? {
        Parsed::Values(values) => values,
        Parsed::Alias(alias) => match mount.db.partition_by_digest(source, alias.digest)? {
            Some(partition) => partition,
            // An index has folders only for its entries: none is made before them.
            None if source.index.is_some() => return Err(FsError::NotFound),
            None if let Some(value) =
                mount.folders.lock().value_of(&source.table, &alias.digest) =>
            {
                vec![value]
            }
            None => {
                let folder = AliasFolder {
                    table: source.table.clone(),
                    digest: alias.digest,
                    name: name.to_owned(),
                };
                return Ok(Node::AliasFolder(Box::new(folder)));
            }
        },
    };
    Ok(Node::Collection(source.clone(), partition))
}

pub fn partition_types(
    schema: &TableSchema,
    source: &Source,
) -> Result<Vec<KeyAttributeType>, FsError> {
    let keys = KeySchemaView::of(schema, index_of(schema, source)?);
    Ok(keys
        .partition
        .iter()
        .map(|attribute| attribute.attribute_type)
        .collect())
}

/// Resolves a name in the folder of a collection with an unknown key.
pub fn resolve_in_alias(mount: &Mount, folder: &AliasFolder, name: &str) -> Result<Node, FsError> {
    let Some((stem, suffix)) = names::split_suffix(name) else {
        return scratch::resolve_in(mount, &Node::AliasFolder(Box::new(folder.clone())), name);
    };
    let schema = mount.schema(&folder.table)?;
    let sort = schema.key.sort.as_ref().ok_or(FsError::NotFound)?;
    let sort = match names::parse(stem, &[sort.attribute_type])? {
        Parsed::Values(values) => {
            KeyPart::Value(values.into_iter().next().ok_or(FsError::NotFound)?)
        }
        Parsed::Alias(alias) => KeyPart::Digest(alias.digest),
    };
    let key = TargetKey {
        partition: KeyPart::Digest(folder.digest),
        sort: Some(sort),
    };
    unstored(
        &folder.table,
        key,
        suffix,
        format!("{}/{name}", folder.name),
    )
}

/// Returns the attributes of a folder that mkdir made by a shortened name: its key is not known
/// yet.
pub fn alias_folder_attr(mount: &Mount, folder: &AliasFolder) -> Result<Attr, FsError> {
    mount.schema(&folder.table)?;
    let since_ms = mount
        .folders
        .lock()
        .alias_since(&folder.table, &folder.digest);
    since_ms.map(Attr::directory).ok_or(FsError::NotFound)
}

/// Returns the collection of a folder by a shortened name, once the first item in it gives its key.
pub fn known_folder(mount: &Mount, folder: &AliasFolder) -> Result<Option<Node>, FsError> {
    let source = base(&folder.table);
    let partition = mount.db.partition_by_digest(&source, folder.digest)?;
    Ok(partition.map(|partition| Node::Collection(source, partition)))
}

/// Resolves a path below `items/`.
///
/// # Errors
/// [`FsError::NotFound`]; [`FsError::NotDirectory`] when the first name is a file and the path goes
/// on.
pub fn find(mount: &Mount, source: &Source, path: &str) -> Result<Node, FsError> {
    let (first, rest) = path
        .split_once('/')
        .map_or((path, None), |(first, rest)| (first, Some(rest)));
    match (resolve(mount, source, first)?, rest) {
        (node, None) => Ok(node),
        (Node::Collection(source, partition), Some(name)) => {
            resolve_entry(mount, &source, &partition, name)
        }
        (Node::AliasFolder(folder), Some(name)) => resolve_in_alias(mount, &folder, name),
        (_, Some(_)) => Err(FsError::NotDirectory),
    }
}

/// Returns the attributes of a file that was created by a shortened name, once its item is stored.
/// They are the item's, but the file keeps its inode number while it is open.
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
    Ok(Box::new(CollectionLister {
        source: source.clone(),
        kept,
        aliases,
        tail: Vec::new(),
    }))
}

/// A lister of the collections of a source, then of the folders that exist without items.
///
/// A folder may get its first item, or lose its last, while it is listed. The folders kept in
/// memory are collected at the start. Each is listed once: at its position among the collections,
/// or else at the end.
#[derive(Debug)]
struct CollectionLister {
    source: Source,
    /// The folders kept in memory at the start; true if they were listed among the collections.
    kept: HashMap<AttributeValue, bool>,
    /// The folders by a shortened name at the start.
    aliases: Vec<(Digest, String)>,
    /// The names at the end, made after the last collection.
    tail: Vec<Listed>,
}

impl Lister for CollectionLister {
    fn fetch(
        &mut self,
        mount: &Mount,
        from: &Cursor,
        _wanted: &Wanted<'_>,
        out: &mut Found,
    ) -> Result<(), FsError> {
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
    fn fetch_collections(
        &mut self,
        mount: &Mount,
        from: &Cursor,
        out: &mut Found,
    ) -> Result<(), FsError> {
        let Some(after) = from.after() else {
            return Ok(());
        };
        let (source, kept) = (&self.source, &mut self.kept);
        mount
            .db
            .collections(source, None, after, &mut |(collection, position)| {
                if let Some(done) = collection
                    .partition
                    .first()
                    .and_then(|value| kept.get_mut(value))
                {
                    *done = true;
                }
                let name = &names::collection_name(&collection.partition);
                let ino = ino::collection(source, &collection.partition);
                out.push(
                    Entry {
                        ino,
                        kind: Kind::Directory,
                        name,
                    },
                    Place::After(&position.0),
                );
                out.next()
            })?;
        Ok(())
    }

    /// Returns the kept folders that were not listed and still exist, sorted by name.
    fn end_of_listing(&self, mount: &Mount) -> Result<Vec<Listed>, FsError> {
        let mut names = Vec::new();
        for (value, _) in self.kept.iter().filter(|(_, done)| !**done) {
            let partition = vec![value.clone()];
            match collection_attr(mount, &self.source, &partition) {
                Ok(_) => {
                    let name = names::collection_name(&partition);
                    names.push(listed(
                        &Node::Collection(self.source.clone(), partition),
                        &name,
                    ));
                }
                Err(FsError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        for (digest, name) in &self.aliases {
            let folder = AliasFolder {
                table: self.source.table.clone(),
                digest: *digest,
                name: name.clone(),
            };
            let exists = mount
                .folders
                .lock()
                .alias_since(&folder.table, digest)
                .is_some();
            if exists {
                names.push(listed(&Node::AliasFolder(Box::new(folder)), name));
            }
        }
        names.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }
}

/// Resolves `K(sk).json` of the base table; `K(ixsk),K(pk),K(sk).json` of an index, without the
/// parts that its keys lack.
pub fn resolve_entry(
    mount: &Mount,
    source: &Source,
    partition: &PartitionKey,
    name: &str,
) -> Result<Node, FsError> {
    let Some((stem, suffix)) = names::split_suffix(name) else {
        return scratch::resolve(mount, source, Some(partition), name);
    };
    let schema = mount.source_schema(source)?;
    let index = index_of(&schema, source)?;
    let (sort, base) = (
        index.map(|index| &index.sort),
        schema.key.attributes().skip(usize::from(index.is_none())),
    );
    let types: Vec<_> = sort
        .into_iter()
        .flatten()
        .chain(base)
        .map(|attribute| attribute.attribute_type)
        .collect();
    let key = match names::parse(stem, &types)? {
        Parsed::Values(values) => {
            let mut values = values.into_iter();
            let index = sort.map(|sort| {
                (
                    partition.clone(),
                    values.by_ref().take(sort.len()).collect(),
                )
            });
            let value = if index.is_some() {
                values.next()
            } else {
                partition.first().cloned()
            };
            EntryKey {
                index,
                base: Key {
                    partition: value.ok_or(FsError::NotFound)?,
                    sort: values.next(),
                },
            }
        }
        Parsed::Alias(alias) => {
            // Entries of an index without a sort key begin with the base key, which does not order
            // them.
            let prefix = alias
                .prefix
                .filter(|_| sort.is_none_or(|sort| !sort.is_empty()));
            match find_alias(mount, source, partition, alias.digest, prefix)? {
                Some(key) => key,
                None => {
                    let (None, Some(value)) = (&source.index, partition.first()) else {
                        return Err(FsError::NotFound);
                    };
                    let key = TargetKey {
                        partition: KeyPart::Value(value.clone()),
                        sort: Some(KeyPart::Digest(alias.digest)),
                    };
                    return unstored(
                        &source.table,
                        key,
                        suffix,
                        format!("{}/{name}", names::collection_name(partition)),
                    );
                }
            }
        }
    };
    item::node(source, key, suffix)
}

/// Finds the stored entry of a shortened name, among those with the prefix that the name shows. The
/// links of query folders show less of it than listings; the digest is the same.
fn find_alias(
    mount: &Mount,
    source: &Source,
    partition: &PartitionKey,
    digest: Digest,
    sort_prefix: Option<Vec<u8>>,
) -> Result<Option<EntryKey>, FsError> {
    let range = Entries::Collection {
        partition: partition.clone(),
        sort_prefix,
    };
    let mut found = None;
    mount.db.entries(source, &range, None, &mut |key, _, _| {
        if names::entry_digest(key) == digest {
            found = Some(key.clone());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Returns the node of a shortened name of a base item that is not stored: it can be created, with
/// the key in its body. `path` is below `items/`.
fn unstored(
    table: &TableName,
    key: TargetKey,
    suffix: Suffix,
    path: String,
) -> Result<Node, FsError> {
    let form = suffix.form().ok_or(FsError::NotFound)?;
    Ok(Node::Alias(Box::new(AliasNode {
        table: table.clone(),
        key,
        form,
        path,
    })))
}

pub fn collection_attr(
    mount: &Mount,
    source: &Source,
    partition: &PartitionKey,
) -> Result<Attr, FsError> {
    if let Some(collection) = mount.db.collection(source, partition)? {
        return Ok(Attr::directory(collection.modified_ms));
    }
    let (None, Some(value)) = (&source.index, partition.first()) else {
        return Err(FsError::NotFound);
    };
    // Fails if the table is gone.
    mount.schema(&source.table)?;
    let since_ms = mount.folders.lock().since(&source.table, value);
    let since_ms = match since_ms {
        Some(since_ms) => since_ms,
        None => scratch::parked_in_ms(mount, source, partition)?.ok_or(FsError::NotFound)?,
    };
    Ok(Attr::directory(since_ms))
}

/// A lister of the entries of a source: a whole hash-only table, or one collection.
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

pub fn collection_lister(
    mount: &Mount,
    source: &Source,
    partition: &PartitionKey,
) -> Result<EntryLister, FsError> {
    mount.source_schema(source)?;
    let range = Entries::Collection {
        partition: partition.clone(),
        sort_prefix: None,
    };
    Ok(EntryLister::new(source.clone(), range))
}

impl Lister for EntryLister {
    fn fetch(
        &mut self,
        mount: &Mount,
        from: &Cursor,
        _wanted: &Wanted<'_>,
        out: &mut Found,
    ) -> Result<(), FsError> {
        let Some(after) = from.after() else {
            return Ok(());
        };
        let hides = mount.hides_any();
        let source = &self.source;
        if out.wants_items() && source.index.is_none() && !mount.options.pretty {
            // The commit id must be read before the entries.
            out.begin_items(Items::new(source.clone(), mount.db.visible_commit_id()?));
        }
        let mut inos = EntryInos::new(source, TextForm::PlainJson);
        mount
            .db
            .entries(source, &self.range, after, &mut |key, stat, place| {
                if hides && mount.is_hidden(source, key, stat.version) {
                    return ControlFlow::Continue(());
                }
                let name = &names::entry_name(key, TextForm::PlainJson);
                out.push_item(
                    Entry {
                        ino: inos.of(key),
                        kind: Kind::File,
                        name,
                    },
                    Place::After(place),
                    key,
                    stat,
                );
                out.next()
            })?;
        Ok(())
    }
}
