//! `gsi/<ix>/` and `vector/<ix>/` between mkdir and the write of its `schema.json`: a draft in memory
//! (`mount/folders.rs`); and the deletion of an index by rmdir. `write/index_draft.rs` makes the
//! request.

use crate::fs::{
    node::index_of,
    open::{
        node_ops::open_text,
        prelude::*,
        text::{TextFile, action},
    },
    source::schema,
    write::{
        Commit,
        index_draft::{read_definition, template},
    },
};
use crate::model::{
    IndexName,
    api::{UpdateTableRequest, tables::IndexUpdate},
};

/// Returns the draft of that name in the directory of its kind, if there is one.
#[must_use]
pub fn find(mount: &Mount, table: &TableName, kind: IndexKind, name: &str) -> Option<Node> {
    let index = IndexName::new(name).ok()?;
    let (of_kind, _) = mount.index_drafts.get(table, &index)?;
    (of_kind == kind).then(|| node(table, kind, index))
}

/// Returns the drafts that the directory of a kind lists.
#[must_use]
pub fn list(mount: &Mount, table: &TableName, kind: IndexKind) -> Vec<OwnedDirent> {
    let drafts = mount.index_drafts.of(table, kind).into_iter();
    drafts
        .map(|index| to_dirent(&node(table, kind, index.clone()), index.as_str()))
        .collect()
}

/// Makes a draft: mkdir in `gsi/`, `lsi/` or `vector/`.
///
/// # Errors
/// `Exists`; a local index; a bad index name.
pub fn make(mount: &Mount, table: &TableName, kind: IndexKind, name: &str) -> Result<Node> {
    let schema = mount.schema(table)?;
    if schema.index(name).is_some() {
        return Err(FsError::Exists);
    }
    if kind == IndexKind::Local {
        return Err(FsError::NotPermitted(
            "local indexes are fixed at creation: they are made with their table, in its schema.json",
        ));
    }
    let index = IndexName::new(name).map_err(|_| {
        FsError::Invalid("an index name has 3 to 255 characters of a-z, A-Z, 0-9, '_', '.' and '-'")
    })?;
    // Names of all kinds are one space.
    if mount.index_drafts.get(table, &index).is_some() {
        return Err(FsError::Exists);
    }
    mount.index_drafts.add(table, kind, &index)?;
    Ok(node(table, kind, index))
}

/// Carries out UpdateTable.
pub fn update(mount: &Mount, request: UpdateTableRequest) -> Result<(), Error> {
    mount.db.update_table(request).map(drop)
}

/// Drops an index: rmdir of its directory.
///
/// # Errors
/// Those of [`update`]; `NotPermitted` for a local index.
pub fn drop_index(mount: &Mount, source: &SourceName) -> Result<(), FsError> {
    let index = source.index.clone().ok_or(FsError::NotFound)?;
    let mut request = UpdateTableRequest::new(source.table.clone());
    let schema = mount.source_schema(source)?;
    let updates = match index_of(&schema, source)?.map(|index| index.kind) {
        Some(IndexKind::Local) => {
            return Err(FsError::NotPermitted(
                "local indexes are fixed at creation: this one goes with its table",
            ));
        }
        Some(IndexKind::Vector) => &mut request.vector_index_updates,
        Some(IndexKind::Global) | None => &mut request.index_updates,
    };
    *updates = Some(vec![IndexUpdate {
        delete: Some(index),
        ..IndexUpdate::default()
    }]);
    Ok(update(mount, request)?)
}

fn node(table: &TableName, kind: IndexKind, index: IndexName) -> Node {
    let path = format!("{}/{}/{index}", table_name(table), kind.name());
    let above = Node::Indexes(table.clone(), kind).ino();
    let source = SourceName {
        table: table.clone(),
        index: Some(index),
    };
    Special::directory(path, Some(source), above, IndexDraftDir(kind)).into()
}

/// Returns the table and the name of its new index.
fn table_and_index(node: &Special) -> Result<(&TableName, &IndexName), FsError> {
    let source = node.try_source()?;
    Ok((
        &source.table,
        source.index.as_ref().ok_or(FsError::NotFound)?,
    ))
}

/// Returns the index if it was made meanwhile: a process in the draft's directory goes on in it.
fn existing_index(node: &Special, mount: &Mount) -> Result<Option<Node>, FsError> {
    let (table, index) = table_and_index(node)?;
    let is_made = mount.schema(table)?.index(index.as_str()).is_some();
    Ok(node.source.clone().filter(|_| is_made).map(Node::Index))
}

fn modified_ms(node: &Special, mount: &Mount) -> Result<u64> {
    let (table, index) = table_and_index(node)?;
    if existing_index(node, mount)?.is_some() {
        return mount.table_created_ms(table);
    }
    let (_, created_ms) = (mount.index_drafts.get(table, index)).ok_or(FsError::NotFound)?;
    Ok(created_ms)
}

struct IndexDraftDir(IndexKind);

impl IndexDraftDir {
    /// Returns the draft's `schema.json`.
    fn schema_node(&self, node: &Special) -> Node {
        node.child(SCHEMA_NAME, IndexSchemaFile(self.0))
            .writable()
            .into()
    }
}

impl NodeOps for IndexDraftDir {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        modified_ms(at.node, &at)
    }

    fn successor(&self, at: At<'_>) -> Result<Option<Node>> {
        existing_index(at.node, &at)
    }

    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node> {
        if name == SCHEMA_NAME {
            Ok(self.schema_node(at.node))
        } else {
            Err(FsError::NotFound)
        }
    }

    fn list(&self, at: At<'_>) -> Result<Vec<OwnedDirent>> {
        Ok(vec![to_dirent(&self.schema_node(at.node), SCHEMA_NAME)])
    }

    fn mkdir(&self, _at: HostAt<'_>, _name: &str) -> Result<Node> {
        Err(FsError::NotPermitted(
            "this index is a draft: write its schema.json",
        ))
    }

    fn rmdir(&self, at: HostAt<'_>) -> Result<()> {
        let (table, index) = table_and_index(at.node)?;
        if at.mount.index_drafts.remove(table, index) {
            Ok(())
        } else {
            Err(FsError::NotFound)
        }
    }
}

struct IndexSchemaFile(IndexKind);

impl NodeOps for IndexSchemaFile {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        modified_ms(at.node, &at)
    }

    fn text(&self, at: At<'_>) -> Result<Vec<u8>> {
        let (table, index) = table_and_index(at.node)?;
        match existing_index(at.node, &at)? {
            Some(Node::Index(source)) => schema::text(&at, &source),
            _ => Ok(template(&*at.schema(table)?, self.0, index)),
        }
    }

    fn open_writer(&self, at: HostAt<'_>, flags: OpenFlags) -> Result<Handle> {
        let (text, (table, index)) = (
            self.text(At::new(at.node, &at.mount))?,
            table_and_index(at.node)?,
        );
        let (schema, kind, index) = (at.mount.schema(table)?, self.0, index.clone());
        let read = move |text: &[u8], _| {
            let Commit { request, warnings } = read_definition(&schema, kind, &index, text)?;
            let (table, index) = (schema.name.clone(), index.clone());
            // The reply comes when the index is defined, not when it is built: the backfill may
            // take as long as a scan of the table.
            let make = move |host: &Host, _, reply: VersionReply| {
                let made = update(&host.mount, request);
                if made.is_ok() {
                    host.mount.index_drafts.remove(&table, &index);
                }
                reply.complete(made.map(|()| 0));
            };
            Ok(Commit {
                warnings,
                ..action(make)
            })
        };
        let file = TextFile::new("No index was made.", read);
        let text = Some((text, None));
        Ok(open_text(at.node.place(), &at, flags, text, file))
    }
}
