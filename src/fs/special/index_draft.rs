//! `gsi/<ix>/` between mkdir and the write of its `schema.json`: a draft in memory; and the end of an index by rmdir.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{OpenSpecial, Special, SpecialNode};
use crate::database::Source;
use crate::fs::FsError;
use crate::fs::directory_stream::{FixedLister, Listed, Lister};
use crate::fs::handle::{Handle, OpenText};
use crate::fs::node::{Kind, Node};
use crate::fs::tree::table_name;
use crate::fs::tree::{Caller, Tree, now_ms};
use crate::fs::view::{OpenFlags, Outcome, Performer, View};
use crate::fs::write::index_draft::{IndexTarget, template};
use crate::fs::write::{Opener, TextWriter};
use crate::model::api::UpdateTableRequest;
use crate::model::api::update_table::IndexUpdate;
use crate::model::{Error, IndexKind, IndexName, TableName};

const SCHEMA_NAME: &str = "schema.json";
/// Drafts at a time.
const DRAFTS_MAX: usize = 256;

/// Indexes that mkdir made and UpdateTable has not: when, milliseconds since the epoch.
#[derive(Debug, Default)]
pub struct IndexDrafts(Mutex<BTreeMap<(TableName, IndexName), u64>>);

impl IndexDrafts {
    fn created_ms(&self, source: &(TableName, IndexName)) -> Option<u64> {
        self.0.lock().get(source).copied()
    }

    /// Those of a table.
    fn of(&self, table: &TableName) -> Vec<IndexName> {
        self.0.lock().keys().filter(|(of, _)| of == table).map(|(_, index)| index.clone()).collect()
    }

    /// The table is gone.
    pub fn drop_table(&self, table: &TableName) {
        self.0.lock().retain(|(of, _), _| of != table);
    }
}

/// The draft of that name in a table's `gsi/`, if there is one.
#[must_use]
pub fn find(tree: &Tree, table: &TableName, name: &str) -> Option<Node> {
    let index = IndexName::new(name).ok()?;
    tree.service.index_drafts.created_ms(&(table.clone(), index.clone()))?;
    Some(node(table, index))
}

/// What `gsi/` lists of drafts.
#[must_use]
pub fn list(tree: &Tree, table: &TableName) -> Vec<Listed> {
    let listed = |index: IndexName| {
        let (name, node) = (index.as_str().to_owned(), node(table, index));
        Listed { ino: node.ino(), kind: Kind::Directory, name }
    };
    tree.service.index_drafts.of(table).into_iter().map(listed).collect()
}

/// MKDIR in `gsi/` or `lsi/`.
///
/// # Errors
/// `Exists`; no index can be made there or of that name.
pub fn make(tree: &Tree, table: &TableName, kind: IndexKind, name: &str) -> Result<Node, FsError> {
    let schema = tree.schema(table)?;
    if schema.index(name).is_some() || find(tree, table, name).is_some() {
        return Err(FsError::Exists);
    }
    if kind == IndexKind::Local {
        return Err(FsError::NotPermitted(
            "local indexes are fixed at creation: they are made with their table, in its schema.json",
        ));
    }
    let index = IndexName::new(name)
        .map_err(|_| FsError::Invalid("an index name has 3 to 255 characters of a-z, A-Z, 0-9, '_', '.' and '-'"))?;
    let mut drafts = tree.service.index_drafts.0.lock();
    if drafts.len() >= DRAFTS_MAX {
        return Err(FsError::NotPermitted("too many draft indexes; write their schema.json or remove some"));
    }
    drafts.insert((table.clone(), index.clone()), now_ms());
    Ok(node(table, index))
}

/// UpdateTable.
///
/// # Errors
/// Those of the operation; `NotSupported` by a database without a control plane.
pub fn update(view: &View, request: UpdateTableRequest) -> Result<(), Error> {
    let control = view.tree().db.administration().ok_or(Error::NotSupported("UpdateTable"))?;
    control.update_table(request).map(drop)
}

/// RMDIR of an index: it is dropped.
///
/// # Errors
/// As [`update`]; local indexes stay.
pub fn drop_index(view: &View, source: &Source) -> Result<(), FsError> {
    let index = source.index.clone().ok_or(FsError::NotFound)?;
    let schema = view.tree().source_schema(source)?;
    if schema.index(index.as_str()).is_some_and(|index| index.kind == IndexKind::Local) {
        return Err(FsError::NotPermitted("local indexes are fixed at creation: this one goes with its table"));
    }
    let mut request = UpdateTableRequest::new(source.table.clone());
    request.index_updates = Some(vec![IndexUpdate { delete: Some(index), ..IndexUpdate::default() }]);
    Ok(update(view, request)?)
}

fn node(table: &TableName, index: IndexName) -> Node {
    let path = format!("{}/gsi/{index}", table_name(table));
    SpecialNode::node(Draft { source: (table.clone(), index), path })
}

#[derive(Debug, Clone)]
struct Draft {
    source: (TableName, IndexName),
    path: String,
}

impl Draft {
    /// The index, when it was made meanwhile: whoever is in the directory goes on in it.
    fn made(&self, tree: &Tree) -> Result<Option<Node>, FsError> {
        let (table, index) = self.source.clone();
        let is_made = tree.schema(&table)?.index(index.as_str()).is_some();
        Ok(is_made.then_some(Node::Index(Source { table, index: Some(index) })))
    }
}

impl Special for Draft {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        Node::Indexes(self.source.0.clone(), IndexKind::Global)
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.source.0)
    }

    fn kind(&self) -> Kind {
        Kind::Directory
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        if self.made(tree)?.is_some() {
            return tree.table_time(&self.source.0);
        }
        tree.service.index_drafts.created_ms(&self.source).ok_or(FsError::NotFound)
    }

    fn resolve(&self, tree: &Tree, name: &str) -> Result<Node, FsError> {
        match (self.made(tree)?, name) {
            (Some(index), _) => tree.resolve(&index, name.as_bytes()),
            (None, SCHEMA_NAME) => {
                let path = format!("{}/{SCHEMA_NAME}", self.path);
                Ok(SpecialNode::node(DraftSchema { directory: self.clone(), path }))
            }
            (None, _) => Err(FsError::NotFound),
        }
    }

    fn lister(&self, tree: &Tree) -> Result<Box<dyn Lister>, FsError> {
        if let Some(index) = self.made(tree)? {
            return tree.lister(&index);
        }
        let schema = self.resolve(tree, SCHEMA_NAME)?;
        let listed = Listed { ino: schema.ino(), kind: Kind::File, name: SCHEMA_NAME.to_owned() };
        Ok(Box::new(FixedLister::new(vec![listed])))
    }

    fn mkdir(&self, _view: &View, _caller: Caller, _name: &str) -> Result<Node, FsError> {
        Err(FsError::NotPermitted("this index is a draft: write its schema.json"))
    }

    fn rmdir(&self, view: &View, _caller: Caller) -> Result<(), FsError> {
        view.tree().service.index_drafts.0.lock().remove(&self.source).map(drop).ok_or(FsError::NotFound)
    }
}

/// The draft's `schema.json`.
#[derive(Debug)]
struct DraftSchema {
    directory: Draft,
    path: String,
}

impl Special for DraftSchema {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        SpecialNode::node(self.directory.clone())
    }

    fn table(&self) -> Option<&TableName> {
        self.directory.table()
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        self.directory.modified_ms(tree)
    }

    fn text(&self, tree: &Tree, caller: Caller) -> Result<Vec<u8>, FsError> {
        let (table, index) = &self.directory.source;
        match self.directory.made(tree)? {
            Some(made) => tree.text(&tree.resolve(&made, SCHEMA_NAME.as_bytes())?, caller),
            None => Ok(template(&*tree.schema(table)?, index)),
        }
    }

    fn open_for_writing(&self, view: &Arc<View>, caller: Caller, ino: u64, flags: OpenFlags) -> Result<Handle, FsError> {
        let text = self.text(view.tree(), caller)?;
        let (table, index) = &self.directory.source;
        let target = IndexTarget { table: view.tree().schema(table)?, index: index.clone() };
        let opener = Opener { pid: caller.pid, append: flags.append };
        let writer = match flags.truncate {
            true => TextWriter::stream(target, opener),
            false => TextWriter::edit(target, text, None, opener),
        };
        let open: Arc<dyn OpenSpecial> = Arc::new(OpenText::new(ino, self.path.clone(), caller.pid, writer));
        Ok(Handle::Special(open))
    }
}

impl Performer for IndexTarget {
    fn perform(view: &Arc<View>, open: &Arc<OpenText<Self>>, request: UpdateTableRequest, done: Outcome) {
        let (table, index) = {
            let state = open.state.lock();
            (request.table_name.clone(), state.writer.target().index.clone())
        };
        let made = update(view, request);
        if made.is_ok() {
            view.tree().service.index_drafts.0.lock().remove(&(table, index));
        }
        done(made.map(|()| 0));
    }
}
