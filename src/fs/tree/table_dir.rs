//! `/<Table>/` and `gsi/<index>/`. Each of their files and directories is a row of [`NAMES`], or of
//! [`TABLE_FILES`] and [`INDEX_FILES`]. Below its `items/` an index is like a table: see
//! `fs::source`.

use crate::fs::{
    node::index_of,
    open::{dirent::FixedDir, prelude::*},
    query::QueryKind,
    source::{draft, query, schema, scratch},
    special::{
        batch,
        derived::{DerivedFile, INDEX_FILES, TABLE_FILES, find},
        help, index_draft, partitions, queries, stream,
    },
};
use crate::model::api::DeleteTableRequest;

/// The directory of a table or a draft.
pub struct Table<'n>(pub &'n TableName);

impl NodeOps<Node> for Table<'_> {
    fn attr(&self, at: At<'_, Node>) -> Result<Attr> {
        schema::table_attr(&at, self.0)
    }

    fn resolve(&self, at: At<'_, Node>, name: &str) -> Result<Node> {
        resolve(&at, &SourceName::from(self.0), name)
    }

    fn list(&self, at: At<'_, Node>) -> Result<Vec<OwnedDirent>> {
        if at.is_draft(self.0)? {
            schema::list_draft(&at, self.0, "")
        } else {
            list(&at, &SourceName::from(self.0))
        }
    }

    fn mkdir(&self, at: HostAt<'_, Node>, name: &str) -> Result<Node> {
        draft::make_folder(&at, at.node, self.0, name.to_owned(), name)
    }

    /// Drops a table without items by DeleteTable, or ends a draft.
    fn rmdir(&self, at: HostAt<'_, Node>) -> Result<()> {
        let (mount, table) = (&at.mount, self.0);
        if mount.is_draft(table)? {
            mount.drafts.lock().remove(table)?;
            mount.drop_scratch(table);
            return Ok(());
        }
        mount.schema(table)?;
        at.rm_guard.check_delete(table, mount)?;
        // An item that was renamed away is not seen, and would be in the way.
        at.deletes.delete_now(mount, |(of, _)| of == table);
        at.drop_table(DeleteTableRequest {
            table_name: table.clone(),
            only_if_empty: !mount.options.allow_drop,
        })
    }
}

/// The directory of an index.
pub struct Index<'n>(pub &'n SourceName);

impl NodeOps<Node> for Index<'_> {
    fn modified_ms(&self, at: At<'_, Node>) -> Result<u64> {
        at.source_created_ms(self.0)
    }

    fn resolve(&self, at: At<'_, Node>, name: &str) -> Result<Node> {
        resolve(&at, self.0, name)
    }

    fn list(&self, at: At<'_, Node>) -> Result<Vec<OwnedDirent>> {
        list(&at, self.0)
    }

    fn rmdir(&self, at: HostAt<'_, Node>) -> Result<()> {
        at.rm_guard.check_delete(&self.0.table, &at.mount)?;
        index_draft::drop_index(&at.mount, self.0)
    }
}

/// The names in the directory of a table or an index, beside the rows of derived files.
const NAMES: FixedDir<SourceName> = FixedDir(&[
    (SCHEMA_NAME, true, |_, source| {
        Ok(Node::Schema(source.clone()))
    }),
    (STATS_NAME, true, |_, source| {
        Ok(Node::Stats(source.clone()))
    }),
    (ITEMS_NAME, true, items_of),
    (GLOBAL_NAME, true, |_, source| {
        Ok(Node::Indexes(source.table.clone(), IndexKind::Global))
    }),
    (LOCAL_NAME, true, |_, source| {
        Ok(Node::Indexes(source.table.clone(), IndexKind::Local))
    }),
    (VECTOR_NAME, true, |_, source| {
        Ok(Node::Indexes(source.table.clone(), IndexKind::Vector))
    }),
    (PARTITIONS_NAME, true, partitions_of),
    (QUERIES_NAME, true, |_, source| {
        Ok(queries::node(&source.table))
    }),
    (QUERY_NAME, false, |mount, source| {
        query::directory(mount, source, QueryKind::Query)
    }),
    (SCAN_NAME, false, |mount, source| {
        query::directory(mount, source, QueryKind::Scan)
    }),
    (NEAR_NAME, false, |mount, source| {
        query::directory(mount, source, QueryKind::Near)
    }),
    (BATCH_NAME, false, |_, source| {
        Ok(batch::node(&source.table))
    }),
    (STREAM_NAME, false, |_, source| {
        Ok(stream::node(&source.table))
    }),
    (HELP_NAME, false, |mount, source| {
        let text = if source.index.is_none() {
            help::TABLE
        } else {
            help::INDEXES
        };
        Ok(help::node(
            &mount.source_path(source),
            text,
            Some(source.clone()),
        ))
    }),
]);
/// The names that an index does not have.
const OF_TABLE_ONLY: [&str; 6] = [
    GLOBAL_NAME,
    LOCAL_NAME,
    VECTOR_NAME,
    QUERIES_NAME,
    BATCH_NAME,
    STREAM_NAME,
];

/// Returns `partitions/` of a table or a global index: entries of a local index lie in its table's, and a vector index has no units to heat.
fn partitions_of(mount: &Mount, source: &SourceName) -> Result<Node> {
    let has_none = source.index.is_some()
        && index_of(&*mount.schema(&source.table)?, source)?
            .is_some_and(|index| index.kind != IndexKind::Global);
    if has_none {
        Err(FsError::NotFound)
    } else {
        Ok(partitions::node(mount, source))
    }
}

/// True if the table lists `vector/`: most have no vector indexes.
fn lists_vectors(mount: &Mount, schema: &TableSchema) -> bool {
    let mut vectors = schema.indexes_of(IndexKind::Vector);
    vectors.next().is_some()
        || !(mount.index_drafts)
            .of(&schema.name, IndexKind::Vector)
            .is_empty()
}

/// Returns `items/`. The service tells the entries of a vector index by a search alone.
fn items_of(mount: &Mount, source: &SourceName) -> Result<Node> {
    match mount.db.is_remote() && mount.index_kind(source) == Some(IndexKind::Vector) {
        true => Err(FsError::NotFound),
        false => Ok(Node::Items(source.clone())),
    }
}

fn has_name(is_table: bool, name: &str) -> bool {
    is_table || !OF_TABLE_ONLY.contains(&name)
}

/// Returns the derived files, which are listed only with `-o show_all`: they have an end, and a
/// look does not change them.
fn derived_files(is_table: bool) -> &'static [DerivedFile] {
    if is_table { &TABLE_FILES } else { &INDEX_FILES }
}

/// Returns the names that a table, or its indexes of a kind, have, listed or not.
pub fn dir_names(kind: Option<IndexKind>) -> impl Iterator<Item = &'static str> {
    let is_table = kind.is_none();
    let lacks: &[&str] = match kind {
        None | Some(IndexKind::Global) => &[NEAR_NAME],
        Some(IndexKind::Local) => &[NEAR_NAME, PARTITIONS_NAME],
        Some(IndexKind::Vector) => &[QUERY_NAME, SCAN_NAME, PARTITIONS_NAME],
    };
    NAMES
        .names()
        .filter(move |name| has_name(is_table, name) && !lacks.contains(name))
        .chain(derived_files(is_table).iter().map(|file| file.name))
}

/// Returns the names that are listed only with `-o show_all`.
pub fn unlisted_names(is_table: bool) -> Vec<&'static str> {
    derived_files(is_table)
        .iter()
        .map(|file| file.name)
        .chain([HELP_NAME])
        .collect()
}

fn resolve(mount: &Mount, source: &SourceName, name: &str) -> Result<Node> {
    let is_table = source.index.is_none();
    let file = find(derived_files(is_table), name);
    let is_of_drafts = name == SCHEMA_NAME || file.is_some_and(DerivedFile::is_in_drafts);
    // Before the table's own names: a draft holds folders that programs made, and one may be called
    // items.
    if is_table && !is_of_drafts && mount.is_draft(&source.table)? {
        return schema::resolve_in_draft(mount, &source.table, "", name);
    }
    match file {
        Some(file) => {
            let path = format!("{}/{name}", mount.source_path(source));
            Ok(file.node(|feature| Special::file(path, Some(source.clone()), feature)))
        }
        None if NAMES
            .names()
            .any(|known| known == name && has_name(is_table, name)) =>
        {
            NAMES.resolve(mount, source, name)
        }
        None if is_table => scratch::resolve_beside_schema(mount, &source.table, name),
        None => Err(FsError::NotFound),
    }
}

fn list(mount: &Mount, source: &SourceName) -> Result<Vec<OwnedDirent>> {
    let schema = mount.source_schema(source)?;
    let mut names = NAMES.list(mount, source)?;
    let is_listed = |name: &str| {
        has_name(source.index.is_none(), name)
            && (name != VECTOR_NAME || lists_vectors(mount, &schema))
    };
    names.retain(|listed| is_listed(&listed.name));
    Ok(names)
}
