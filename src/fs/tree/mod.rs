//! The tree: what a name in a directory means, what a node's attributes are, what a directory lists, what a file says. One file per
//! kind of directory; this one chooses between them.
//!
//! [`Tree::resolve`] says what a name means whether or not it exists; [`Tree::attr`] whether it exists.

mod collection;
mod draft;
mod folders;
mod index;
pub(super) mod items;
mod missing;
pub mod names;
mod query;
mod root;
mod schema;
pub(super) mod scratch;
mod stats;
mod table;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::Value;

pub use folders::Folders;
pub use index::NAMES as INDEX_NAMES;
pub(super) use missing::is_worth_telling;
pub use root::table_name;
pub(super) use schema::pretty;
pub use table::NAMES as TABLE_NAMES;

use super::FsError;
use super::attr::Attr;
use super::budget::Budget;
use super::computed::Producer;
use super::directory_stream::{FixedLister, Listed, Lister};
use super::journal::Journal;
use super::node::{AliasFolder, Kind, Node};
use super::options::ViewOptions;
use super::special::dropped::{self, Copies, DroppedNames};
use super::special::plan::Plans;
use super::special::state::ServiceState;
use super::write::scratch::FileId;
use super::write::{DeferredDeletes, Drafts, ScratchFiles};
use crate::database::layout::Layout;
use crate::database::{Browse, EntryKey, Source};
use crate::model::{Key, TableName, TableSchema};

/// What the nodes are read from: the database, and what lives in memory beside it.
pub struct Tree {
    pub db: Arc<dyn Browse>,
    pub options: ViewOptions,
    /// What open files and directories may hold.
    pub budget: Budget,
    pub folders: Mutex<Folders>,
    pub drafts: Mutex<Drafts>,
    pub scratch: Mutex<ScratchFiles<Node>>,
    /// When the tables with scratch files were made, milliseconds since the epoch.
    scratch_births: Mutex<HashMap<TableName, u64>>,
    deferred: Mutex<DeferredDeletes<(TableName, Key)>>,
    /// Entries of `deferred`, so that nobody locks it while it is empty.
    hidden: AtomicUsize,
    pub journal: Journal,
    pub(super) service: ServiceState,
    pub plans: Mutex<Plans>,
    pub(super) dropped: Mutex<DroppedNames>,
    /// Tables that a program copies others into.
    pub(super) copies: Copies,
    /// When this mount began, milliseconds since the epoch: the time of what has no time of its own.
    pub started_ms: u64,
    created: Mutex<HashMap<TableName, (Arc<TableSchema>, u64)>>,
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree").field("started_ms", &self.started_ms).finish_non_exhaustive()
    }
}

/// The process behind a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Caller {
    /// The calling thread, as the kernel names it; 0 when it is in another pid namespace.
    pub pid: u32,
    pub uid: u32,
    pub gid: u32,
}

impl Tree {
    #[must_use]
    pub fn new(db: Arc<dyn Browse>, options: ViewOptions) -> Self {
        Self {
            db,
            options,
            budget: Budget::default(),
            folders: Mutex::default(),
            drafts: Mutex::default(),
            scratch: Mutex::default(),
            scratch_births: Mutex::default(),
            deferred: Mutex::default(),
            hidden: AtomicUsize::new(0),
            journal: Journal::default(),
            service: ServiceState::default(),
            plans: Mutex::default(),
            dropped: Mutex::default(),
            copies: Copies::default(),
            started_ms: now_ms(),
            created: Mutex::default(),
        }
    }

    /// What `name` means in the directory `parent`, whether or not it exists.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when the name can mean nothing there.
    pub fn resolve(&self, parent: &Node, name: &[u8]) -> Result<Node, FsError> {
        let name = std::str::from_utf8(name).map_err(|_| FsError::NotFound)?;
        let resolved = self.resolve_text(parent, name);
        if !self.restores_in(parent) {
            return resolved;
        }
        let is_there = resolved.as_ref().is_ok_and(|node| self.quick_attr(node, Caller::default()).is_ok());
        if is_there { resolved } else { dropped::find(self, parent, name).map_or(resolved, Ok) }
    }

    /// May a name that means nothing be made in this directory, and forgotten?
    pub(super) fn restores_in(&self, directory: &Node) -> bool {
        dropped::is_place(directory) && directory.table().is_some_and(|table| self.restores(table))
    }

    /// Is what is written to derived files of this table taken and dropped?
    pub(super) fn restores(&self, table: &TableName) -> bool {
        self.options.restore || self.copies.holds(table)
    }

    fn resolve_text(&self, parent: &Node, name: &str) -> Result<Node, FsError> {
        match parent {
            Node::Root => root::resolve(self, name),
            Node::Table(table) => table::resolve(self, table, name),
            Node::DraftFolder(table, path) => draft::resolve(self, table, path, name),
            Node::Indexes(table, kind) => index::resolve_index(self, table, *kind, name),
            Node::Index(source) => index::resolve(self, source, name),
            Node::Items(source) => items::resolve(self, source, name),
            Node::Collection(source, partition) => collection::resolve(self, source, partition, name),
            Node::AliasFolder(folder) => items::resolve_in_alias(self, folder, name),
            Node::Query(path) => query::resolve(path, name),
            Node::Special(special) => special.0.resolve(self, name),
            Node::Readme
            | Node::Schema(_)
            | Node::Stats(_)
            | Node::Entry(_)
            | Node::Alias(_)
            | Node::Base(..)
            | Node::Scratch(_)
            | Node::QueryResult(..)
            | Node::QueryLink(..) => Err(FsError::NotDirectory),
        }
    }

    /// What a draft's folder is when the table was created meanwhile. `rsync` goes on in the folder that it has open.
    ///
    /// # Errors
    /// The table has no such folder, or the database failed.
    pub(super) fn created_folder(&self, table: &TableName, path: &str) -> Result<Option<Node>, FsError> {
        if self.db.schema(table)?.is_none() {
            return Ok(None);
        }
        let start = Node::Table(table.clone());
        let step = |parent: Node, name: &str| match self.resolve(&parent, name.as_bytes()) {
            // What was made in the draft and is nothing in the table.
            Err(FsError::NotFound) if self.restores_in(&parent) => Ok(dropped::make(self, &parent, name, Kind::Directory)),
            Ok(node) if self.restores_in(&parent) && self.quick_attr(&node, Caller::default()).is_err() => {
                Ok(dropped::make(self, &parent, name, Kind::Directory))
            }
            resolved => resolved,
        };
        path.split('/').try_fold(start, step).map(Some)
    }

    /// What a folder by a shortened name is when the first item in it told its key.
    ///
    /// # Errors
    /// The database failed.
    pub(super) fn known_folder(&self, folder: &AliasFolder) -> Result<Option<Node>, FsError> {
        let source = table::base(&folder.table);
        let partition = self.db.partition_by_digest(&source, folder.digest)?;
        Ok(partition.map(|partition| Node::Collection(source, partition)))
    }

    /// The attributes of a node.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when it does not exist (any more).
    pub fn attr(&self, node: &Node, caller: Caller) -> Result<Attr, FsError> {
        match node {
            Node::Root => Ok(Attr::directory(node.ino(), self.started_ms)),
            Node::Readme => Ok(Attr::read_only(node.ino(), root::readme(self)?.len() as u64, self.started_ms)),
            Node::Table(table) => table::attr(self, table),
            Node::DraftFolder(table, path) => draft::attr(self, table, path),
            Node::Schema(source) => schema::attr(self, source),
            Node::Stats(source) => stats::attr(self, source),
            Node::Items(source) => Ok(Attr::directory(node.ino(), self.source_time(source)?)),
            Node::Indexes(table, _) => Ok(Attr::directory(node.ino(), self.table_time(table)?)),
            Node::Index(source) => Ok(Attr::directory(node.ino(), self.source_time(source)?)),
            Node::Collection(source, partition) => collection::attr(self, source, partition),
            Node::Entry(entry) => items::attr(self, entry),
            Node::Base(source, key) => index::base_attr(self, source, key),
            Node::Query(_) | Node::QueryResult(..) | Node::QueryLink(..) => query::attr(self, node),
            Node::Scratch(id) => scratch::attr(self, *id, node.ino()),
            Node::Alias(alias) => items::alias_attr(self, alias),
            Node::AliasFolder(folder) => items::alias_folder_attr(self, folder),
            Node::Special(special) => special.0.attr(self, caller, node.ino()),
        }
    }

    /// The attributes of a node as far as they take few reads: whether it exists, all but the size of what reads a table.
    ///
    /// # Errors
    /// As of [`Tree::attr`].
    pub fn quick_attr(&self, node: &Node, caller: Caller) -> Result<Attr, FsError> {
        match node {
            Node::Special(special) if node.reads_many() => Ok(Attr::read_only(node.ino(), 0, special.0.modified_ms(self)?)),
            _ => self.attr(node, caller),
        }
    }

    /// Makes the lister of a directory.
    ///
    /// # Errors
    /// Not a directory, or gone.
    pub fn lister(&self, node: &Node) -> Result<Box<dyn Lister>, FsError> {
        Ok(match node {
            Node::Root => Box::new(FixedLister::new(root::list(self)?)),
            Node::Table(table) => Box::new(FixedLister::new(table::list(self, table)?)),
            Node::DraftFolder(table, path) => Box::new(FixedLister::new(draft::list(self, table, path)?)),
            Node::Indexes(table, kind) => Box::new(FixedLister::new(index::list_indexes(self, table, *kind)?)),
            Node::Index(source) => Box::new(FixedLister::new(index::list(self, source))),
            Node::Items(source) => items::lister(self, source)?,
            Node::Collection(source, partition) => Box::new(collection::lister(self, source, partition)?),
            Node::AliasFolder(folder) => items::alias_lister(self, folder)?,
            Node::Query(path) => Box::new(query::QueryLister::new((**path).clone())),
            Node::Special(special) => special.0.lister(self)?,
            Node::Readme
            | Node::Schema(_)
            | Node::Stats(_)
            | Node::Entry(_)
            | Node::Alias(_)
            | Node::Base(..)
            | Node::Scratch(_)
            | Node::QueryResult(..)
            | Node::QueryLink(..) => return Err(FsError::NotDirectory),
        })
    }

    /// The bytes of a file that is rendered as a whole when it is opened.
    ///
    /// # Errors
    /// Gone, not such a file, or the database failed.
    pub fn text(&self, node: &Node, caller: Caller) -> Result<Vec<u8>, FsError> {
        match node {
            Node::Readme => root::readme(self),
            Node::Schema(source) => schema::text(self, source),
            Node::Stats(source) => stats::text(self, source),
            Node::Special(special) => special.0.text(self, caller),
            Node::Entry(entry) => Ok(items::counted_text(self, entry)?.0),
            Node::Alias(_) => Err(FsError::NotFound),
            Node::Scratch(_) | Node::QueryResult(..) | Node::Base(..) | Node::QueryLink(..) => Err(FsError::BadHandle),
            Node::Root
            | Node::Table(_)
            | Node::DraftFolder(..)
            | Node::Items(_)
            | Node::Indexes(..)
            | Node::Index(_)
            | Node::Collection(..)
            | Node::AliasFolder(_)
            | Node::Query(_) => Err(FsError::IsDirectory),
        }
    }

    /// What makes the bytes of a computed file.
    ///
    /// # Errors
    /// Gone, or no such file.
    pub fn producer(&self, node: &Node) -> Result<Box<dyn Producer>, FsError> {
        match node {
            Node::QueryResult(path, kind) => Ok(Box::new(path.open(*kind))),
            Node::Special(special) => special.0.producer(self),
            _ => Err(FsError::BadHandle),
        }
    }

    /// The target of a symlink.
    ///
    /// # Errors
    /// Not a symlink, or gone.
    pub fn link_target(&self, node: &Node) -> Result<String, FsError> {
        match node {
            Node::Base(_, key) => Ok(index::base_target(key)),
            Node::QueryLink(path, name) => query::target(path, name),
            Node::Special(special) => special.0.link_target(self),
            _ => Err(FsError::Invalid("not a symbolic link")),
        }
    }

    /// The attributes of a table's or draft's directory.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when there is neither.
    pub(super) fn table_attr(&self, table: &TableName) -> Result<Attr, FsError> {
        table::attr(self, table)
    }

    /// What the database tells of its layout.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when it tells nothing.
    pub(in crate::fs) fn layout(&self) -> Result<&dyn Layout, FsError> {
        self.db.layout().ok_or(FsError::NotFound)
    }

    /// The table's definition.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when there is no such table.
    pub fn schema(&self, table: &TableName) -> Result<Arc<TableSchema>, FsError> {
        self.db.schema(table)?.ok_or(FsError::NotFound)
    }

    /// Is there a draft of this name and no table?
    pub(in crate::fs) fn is_draft(&self, table: &TableName) -> Result<bool, FsError> {
        if self.drafts.lock().get(table).is_none() {
            return Ok(false);
        }
        Ok(self.db.schema(table)?.is_none())
    }

    /// The definition of the table that `source` reads; the index exists in it.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when there is no such table or index.
    pub fn source_schema(&self, source: &Source) -> Result<Arc<TableSchema>, FsError> {
        let schema = self.schema(&source.table)?;
        match &source.index {
            Some(index) if schema.index(index.as_str()).is_none() => Err(FsError::NotFound),
            _ => Ok(schema),
        }
    }

    /// When the table of `source` was created, milliseconds since the epoch. Directories and statistics carry this time: a time that
    /// moved with every write would make backup programs complain.
    pub(in crate::fs) fn source_time(&self, source: &Source) -> Result<u64, FsError> {
        self.source_schema(source)?;
        self.table_time(&source.table)
    }

    /// The definition of a table as its `schema.json` shows it; `None` when there is none yet.
    ///
    /// # Errors
    /// The database failed.
    pub(super) fn definition(&self, table: &TableName) -> Result<Option<Value>, FsError> {
        schema::definition(self, table)
    }

    /// When what `schema.json` shows was last changed, milliseconds since the epoch.
    fn definition_time(&self, table: &TableName) -> Result<u64, FsError> {
        let description = self.db.describe(table)?.ok_or(FsError::NotFound)?;
        Ok(description.control.changed_ms.unwrap_or(description.created_ms))
    }

    /// When the table was created, milliseconds since the epoch.
    pub(super) fn table_time(&self, table: &TableName) -> Result<u64, FsError> {
        let schema = self.schema(table)?;
        if let Some((known, created_ms)) = self.created.lock().get(table)
            && Arc::ptr_eq(known, &schema)
        {
            return Ok(*created_ms);
        }
        let description = self.db.describe(table)?.ok_or(FsError::NotFound)?;
        let mut created = self.created.lock();
        if created.len() >= CREATED_MAX {
            created.clear();
        }
        created.insert(table.clone(), (schema, description.created_ms));
        Ok(description.created_ms)
    }

    /// The names of `hidden` that are in this directory, for its listing when the mount shows all.
    fn shown(&self, directory: &Node, hidden: &[&str]) -> Vec<Listed> {
        if !self.options.show_all {
            return Vec::new();
        }
        let there = hidden.iter().filter_map(|name| {
            let node = self.resolve(directory, name.as_bytes()).ok()?;
            self.quick_attr(&node, Caller::default()).ok()?;
            Some(listed(&node, name))
        });
        there.collect()
    }

    /// Is this version of a base item hidden by a delete that waits?
    pub(super) fn is_hidden(&self, source: &Source, key: &EntryKey, version: u64) -> bool {
        source.index.is_none()
            && self.hidden.load(Ordering::Acquire) > 0
            && self.deferred.lock().is_hidden(&(source.table.clone(), key.base.clone()), version)
    }

    /// Does any delete wait? Listings then ask of each entry.
    pub(super) fn hides_any(&self) -> bool {
        self.hidden.load(Ordering::Acquire) > 0
    }

    /// Works on the waiting deletes.
    pub(in crate::fs) fn with_deferred<T>(&self, work: impl FnOnce(&mut DeferredDeletes<(TableName, Key)>) -> T) -> T {
        let mut deferred = self.deferred.lock();
        let out = work(&mut deferred);
        self.hidden.store(usize::from(!deferred.is_empty()), Ordering::Release);
        out
    }

    /// The path of a node below the mount, for people.
    #[must_use]
    pub fn path(&self, node: &Node) -> String {
        match node {
            Node::Root => String::new(),
            Node::Readme => root::README_NAME.to_owned(),
            Node::Table(table) => root::table_name(table),
            Node::DraftFolder(table, path) => format!("{}/{path}", root::table_name(table)),
            Node::Schema(source) => format!("{}/{}", self.source_path(source), table::SCHEMA_NAME),
            Node::Stats(source) => format!("{}/{}", self.source_path(source), table::STATS_NAME),
            Node::Items(source) => format!("{}/{}", self.source_path(source), table::ITEMS_NAME),
            Node::Indexes(table, kind) => format!("{}/{}", root::table_name(table), index::kind_name(*kind)),
            Node::Index(source) => self.source_path(source),
            Node::Collection(source, partition) => {
                format!("{}/{}/{}", self.source_path(source), table::ITEMS_NAME, names::collection_name(partition))
            }
            Node::Entry(entry) => {
                let path = names::entry_path(&entry.key, entry.form);
                format!("{}/{}/{path}", self.source_path(&entry.source), table::ITEMS_NAME)
            }
            Node::Alias(alias) => format!("{}/{}/{}", alias.table, table::ITEMS_NAME, alias.path),
            Node::Base(source, key) => {
                let path = names::base_path(key);
                format!("{}/{}/{path}", self.source_path(source), table::ITEMS_NAME)
            }
            Node::AliasFolder(folder) => format!("{}/{}/{}", folder.table, table::ITEMS_NAME, folder.name),
            Node::Scratch(id) => self.scratch_path(*id),
            Node::Query(path) => query::path(self, path),
            Node::QueryResult(path, kind) => format!("{}/{}", query::path(self, path), kind.name()),
            Node::QueryLink(path, name) => format!("{}/{name}", query::path(self, path)),
            Node::Special(special) => special.0.path().to_owned(),
        }
    }

    fn scratch_path(&self, id: FileId) -> String {
        let place = self.scratch.lock().place(id).map(|(directory, name)| (directory.clone(), name.to_owned()));
        match place {
            Some((directory, name)) => format!("{}/{name}", self.path(&directory)),
            None => String::from("(removed)"),
        }
    }

    pub(in crate::fs) fn source_path(&self, source: &Source) -> String {
        let table = root::table_name(&source.table);
        let Some(index) = &source.index else { return table };
        let schema = self.db.schema(&source.table).ok().flatten();
        let kind = schema.as_ref().and_then(|schema| schema.index(index.as_str())).map(|index| index.kind);
        match kind {
            Some(kind) => format!("{table}/{}/{index}", index::kind_name(kind)),
            None => format!("{table}/{index}"),
        }
    }

    /// The inode numbers of "." and ".." of a directory.
    #[must_use]
    pub fn dots(&self, node: &Node) -> [u64; 2] {
        [node.ino(), self.parent(node).ino()]
    }

    fn parent(&self, node: &Node) -> Node {
        match node {
            Node::Indexes(table, _) => Node::Table(table.clone()),
            Node::DraftFolder(table, path) => draft::parent(table, path),
            Node::Items(source) if source.index.is_none() => Node::Table(source.table.clone()),
            Node::Items(source) => Node::Index(source.clone()),
            Node::Collection(source, _) => Node::Items(source.clone()),
            Node::AliasFolder(folder) => Node::Items(table::base(&folder.table)),
            Node::Index(source) => {
                let kind = self.schema(&source.table).ok().and_then(|schema| {
                    source.index.as_ref().and_then(|index| schema.index(index.as_str()).map(|index| index.kind))
                });
                Node::Indexes(source.table.clone(), kind.unwrap_or(crate::model::IndexKind::Global))
            }
            Node::Query(path) => query::parent(path),
            Node::Special(special) => special.0.parent(),
            _ => Node::Root,
        }
    }
}

/// Tables whose creation time is remembered.
const CREATED_MAX: usize = 10_000;

/// A listed name of a fixed directory.
pub(super) fn listed(node: &Node, name: &str) -> Listed {
    Listed { ino: node.ino(), kind: node.kind(), name: name.to_owned() }
}

/// Wall-clock time, milliseconds since the epoch.
pub(super) fn now_ms() -> u64 {
    let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
