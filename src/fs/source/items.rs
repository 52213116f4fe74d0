//! `items/`: item files of a hash-only table, entries of a vector index without HASH; collection
//! folders of a composite table or another index; and `items/K(pk)/`, an item collection of either.

use std::ops::ControlFlow;

use super::{scratch, sidecar};
use crate::codec::digest::Digest;
use crate::database::EntryRange;
use crate::expr::KeySchemaView;
use crate::fs::{
    node::{AliasFolder, AliasNode, EntryInos, index_of, ino},
    open::{
        directory::{Lister, fetch_tail},
        dirent::{Cursor, Dirent, DirentBatch, DirentPlace, ItemBatch},
        prelude::*,
    },
    path::names::{ParsedStem, Suffix},
    query::IsWanted,
    write::{KeyPart, TargetKey},
};

pub fn resolve(mount: &Mount, source: &SourceName, name: &str) -> Result<Node> {
    let schema = mount.source_schema(source)?;
    if is_flat(&schema, source) {
        resolve_flat(mount, &schema, source, name)
    } else {
        resolve_folder(mount, &schema, source, name)
    }
}

/// True if `items/` holds item files, not folders.
pub fn is_flat(schema: &TableSchema, source: &SourceName) -> bool {
    match &source.index {
        None => schema.key.sort.is_none(),
        Some(index) => schema
            .index(index.as_str())
            .is_some_and(|index| index.partition.is_empty()),
    }
}

/// Resolves `K(pk).json`.
fn resolve_flat(
    mount: &Mount,
    schema: &TableSchema,
    source: &SourceName,
    name: &str,
) -> Result<Node> {
    let Some((stem, suffix)) = names::split_suffix(name) else {
        return scratch::resolve(mount, source, None, name);
    };
    if source.index.is_some() {
        return resolve_entry(mount, source, &Vec::new(), name);
    }
    let types = [schema.key.partition.attribute_type];
    let value = match names::parse(stem, &types)? {
        ParsedStem::Values(values) => values.into_iter().next(),
        ParsedStem::Alias(alias) => {
            let Some(partition) = mount.db.partition_by_digest(source, alias.digest)? else {
                let key = TargetKey {
                    partition: KeyPart::Digest(alias.digest),
                    sort: None,
                };
                return alias_node(&source.table, key, suffix, name.to_owned());
            };
            partition.into_iter().next()
        }
    };
    let base = Key {
        partition: value.ok_or(FsError::NotFound)?,
        sort: None,
    };
    sidecar::node(source, base.into(), suffix)
}

/// Resolves `K(pk)/`, or `K(a),K(b)/` of an index with several partition attributes.
fn resolve_folder(
    mount: &Mount,
    schema: &TableSchema,
    source: &SourceName,
    name: &str,
) -> Result<Node> {
    if name.starts_with('.') {
        return scratch::resolve(mount, source, None, name);
    }
    let types = partition_types(schema, source)?;
    let partition = match names::parse(name, &types)? {
        ParsedStem::Values(values) => values,
        ParsedStem::Alias(alias) => match mount.db.partition_by_digest(source, alias.digest)? {
            Some(partition) => partition,
            // An index has folders only for its entries: none is made before them.
            None if source.index.is_some() => return Err(FsError::NotFound),
            None if let Some(value) = mount
                .folders
                .lock()
                .find_by_digest(&source.table, &alias.digest) =>
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

pub fn partition_types(schema: &TableSchema, source: &SourceName) -> Result<Vec<KeyAttributeType>> {
    let keys = KeySchemaView::for_index(schema, index_of(schema, source)?);
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
        ParsedStem::Values(values) => {
            KeyPart::Value(values.into_iter().next().ok_or(FsError::NotFound)?)
        }
        ParsedStem::Alias(alias) => KeyPart::Digest(alias.digest),
    };
    let key = TargetKey {
        partition: KeyPart::Digest(folder.digest),
        sort: Some(sort),
    };
    alias_node(
        &folder.table,
        key,
        suffix,
        format!("{}/{name}", folder.name),
    )
}

/// Returns the collection of a folder by a shortened name, once the first item in it gives its key.
///
/// # Errors
/// Errors of the database.
pub fn resolved_folder(mount: &Mount, folder: &AliasFolder) -> Result<Option<Node>, FsError> {
    let source = SourceName::from(&folder.table);
    let partition = mount.db.partition_by_digest(&source, folder.digest)?;
    Ok(partition.map(|partition| Node::Collection(source, partition)))
}

/// Resolves a path below `items/`.
///
/// # Errors
/// [`FsError::NotFound`]; [`FsError::NotDirectory`] when the first name is a file and the path goes
/// on.
pub fn resolve_path(mount: &Mount, source: &SourceName, path: &str) -> Result<Node, FsError> {
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

pub fn lister(mount: &Mount, source: &SourceName) -> Result<Box<dyn Lister>> {
    let schema = mount.source_schema(source)?;
    if is_flat(&schema, source) {
        return Ok(Box::new(EntryLister::new(source.clone(), EntryRange::All)));
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
    source: SourceName,
    /// The folders kept in memory at the start; true if they were listed among the collections.
    kept: HashMap<AttributeValue, bool>,
    /// The folders by a shortened name at the start.
    aliases: Vec<(Digest, String)>,
    /// The names at the end, made after the last collection.
    tail: Vec<OwnedDirent>,
}

impl Lister for CollectionLister {
    fn fetch(
        &mut self,
        mount: &Mount,
        from: &Cursor,
        _is_wanted: &IsWanted<'_>,
        out: &mut DirentBatch,
    ) -> Result<()> {
        if let Cursor::Start | Cursor::After(_) = from {
            self.fetch_collections(mount, from, out)?;
            if !out.is_empty() {
                return Ok(());
            }
            out.end_items();
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
        out: &mut DirentBatch,
    ) -> Result<()> {
        let Some(after) = from.after() else {
            return Ok(());
        };
        let (source, kept) = (&self.source, &mut self.kept);
        // The commit id must be read before the collections.
        out.start_items(ItemBatch::new(
            source.clone(),
            mount.db.visible_commit_id()?,
        ));
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
                out.push_folder(
                    Dirent {
                        ino,
                        kind: NodeKind::Directory,
                        name,
                    },
                    DirentPlace::After(&position.0),
                    &collection.partition,
                    collection.modified_ms,
                );
                out.flow()
            })?;
        Ok(())
    }

    /// Returns the kept folders that were not listed and still exist, sorted by name.
    fn end_of_listing(&self, mount: &Mount) -> Result<Vec<OwnedDirent>, FsError> {
        let mut names = Vec::new();
        for (value, _) in self.kept.iter().filter(|(_, done)| !**done) {
            let partition = vec![value.clone()];
            match collection_attr(mount, &self.source, &partition) {
                Ok(_) => {
                    let name = names::collection_name(&partition);
                    names.push(to_dirent(
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
                names.push(to_dirent(&Node::AliasFolder(Box::new(folder)), name));
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
    source: &SourceName,
    partition: &PartitionKey,
    name: &str,
) -> Result<Node> {
    let Some((stem, suffix)) = names::split_suffix(name) else {
        return scratch::resolve(mount, source, Some(partition), name);
    };
    let schema = mount.source_schema(source)?;
    let index = index_of(&schema, source)?;
    let (sort, base) = (
        index.map(|index| index.order()),
        schema.key.attributes().skip(usize::from(index.is_none())),
    );
    let types: Vec<_> = sort
        .into_iter()
        .flatten()
        .chain(base)
        .map(|attribute| attribute.attribute_type)
        .collect();
    let key = match names::parse(stem, &types)? {
        ParsedStem::Values(values) => {
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
        ParsedStem::Alias(alias) => {
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
                    return alias_node(
                        &source.table,
                        key,
                        suffix,
                        format!("{}/{name}", names::collection_name(partition)),
                    );
                }
            }
        }
    };
    sidecar::node(source, key, suffix)
}

/// Finds the stored entry of a shortened name, among those with the prefix that the name shows. The
/// links of query folders show less of it than listings; the digest is the same.
fn find_alias(
    mount: &Mount,
    source: &SourceName,
    partition: &PartitionKey,
    digest: Digest,
    sort_prefix: Option<Vec<u8>>,
) -> Result<Option<EntryKey>> {
    let range = EntryRange::Collection {
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
fn alias_node(table: &TableName, key: TargetKey, suffix: Suffix, path: String) -> Result<Node> {
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
    source: &SourceName,
    partition: &PartitionKey,
) -> Result<Attr> {
    let stored = || -> Result<Option<Attr>> {
        let collection = mount.db.collection(source, partition)?;
        Ok(collection.map(|collection| Attr::directory(collection.modified_ms)))
    };
    let (None, Some(value)) = (&source.index, partition.first()) else {
        return stored()?.ok_or(FsError::NotFound);
    };
    let kept_ms = || mount.folders.lock().since(&source.table, value);
    if let Some(attr) = folder_attr(mount, &source.table, stored, kept_ms)? {
        return Ok(attr);
    }
    let trashed_ms = scratch::last_trashed_ms(mount, source, partition)?;
    trashed_ms.map(Attr::directory).ok_or(FsError::NotFound)
}

/// Returns the attributes of a folder that is stored, or else kept in memory.
///
/// # Errors
/// The table is gone, or the database failed.
pub fn folder_attr(
    mount: &Mount,
    table: &TableName,
    stored: impl Fn() -> Result<Option<Attr>>,
    kept_ms: impl Fn() -> Option<u64>,
) -> Result<Option<Attr>> {
    let was_kept = kept_ms().is_some();
    if let Some(attr) = stored()? {
        return Ok(Some(attr));
    }
    // Fails if the table is gone.
    mount.schema(table)?;
    match kept_ms() {
        Some(since_ms) => Ok(Some(Attr::directory(since_ms))),
        // Its first item came between the two looks.
        None if was_kept => stored(),
        None => Ok(None),
    }
}

/// A lister of the entries of a source: a whole hash-only table, or one collection.
#[derive(Debug)]
pub struct EntryLister {
    source: SourceName,
    range: EntryRange,
}

impl EntryLister {
    pub fn new(source: SourceName, range: EntryRange) -> Self {
        Self { source, range }
    }
}

pub fn collection_lister(
    mount: &Mount,
    source: &SourceName,
    partition: &PartitionKey,
) -> Result<EntryLister> {
    mount.source_schema(source)?;
    let range = EntryRange::Collection {
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
        _is_wanted: &IsWanted<'_>,
        out: &mut DirentBatch,
    ) -> Result<()> {
        let Some(after) = from.after() else {
            return Ok(());
        };
        let hides = mount.has_hidden();
        let source = &self.source;
        if !mount.options.pretty {
            // The commit id must be read before the entries.
            out.start_items(ItemBatch::new(
                source.clone(),
                mount.db.visible_commit_id()?,
            ));
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
                    Dirent {
                        ino: inos.ino(key),
                        kind: NodeKind::File,
                        name,
                    },
                    DirentPlace::After(place),
                    key,
                    stat,
                );
                out.flow()
            })?;
        Ok(())
    }
}

/// `items/` of a table or an index.
#[derive(Debug)]
pub struct ItemsDirectory<'n>(pub &'n SourceName);

impl NodeOps<Node> for ItemsDirectory<'_> {
    fn modified_ms(&self, at: At<'_, Node>) -> Result<u64> {
        at.source_created_ms(self.0)
    }

    fn resolve(&self, at: At<'_, Node>, name: &str) -> Result<Node> {
        resolve(&at, self.0, name)
    }

    fn lister(&self, at: At<'_, Node>) -> Result<Box<dyn Lister>> {
        lister(&at, self.0)
    }

    /// Makes the folder of an item collection. It is in memory until it has an item.
    fn mkdir(&self, at: HostAt<'_, Node>, name: &str) -> Result<Node> {
        let (mount, source) = (&at.mount, self.0);
        if source.index.is_some() {
            return Err(FsError::Derived);
        }
        if mount.schema(&source.table)?.key.sort.is_none() {
            return Err(FsError::NotPermitted(
                "this table has no sort key: its items are files here, in no folder",
            ));
        }
        let node = at.resolve(at.node, name.as_bytes());
        if node.as_ref().is_ok_and(|node| at.exists(node)) {
            return Err(FsError::Exists);
        }
        let mut folders = mount.folders.lock();
        let made = match &node {
            Ok(Node::Collection(source, partition)) => partition
                .first()
                .is_none_or(|value| folders.add(&source.table, value.clone(), now_ms())),
            Ok(Node::AliasFolder(folder)) => {
                folders.add_alias(&folder.table, folder.digest, &folder.name, now_ms())
            }
            // A hidden name, which is that of a file in memory.
            Ok(_) => return Err(FsError::Exists),
            Err(FsError::NotFound) if name.starts_with('.') => {
                return Err(FsError::NotPermitted(
                    "here are folders named by a partition key",
                ));
            }
            Err(FsError::NotFound) => return Err(FsError::Invalid(scratch::NO_KEY)),
            Err(error) => return Err(error.clone()),
        };
        if !made {
            return Err(FsError::NotPermitted(
                "too many empty folders; write items into them or remove some",
            ));
        }
        node
    }

    fn rmdir(&self, at: HostAt<'_, Node>) -> Result<()> {
        Err(at.refuse_part(at.node))
    }
}
