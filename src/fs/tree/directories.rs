//! The directories whose names are fixed: `/`, with the tables, the drafts and README.md, and `.ddb` for lookup only; `/<Table>/` and
//! `gsi/<index>/`, whose own files and directories are each a row of [`NAMES`], or of [`OF_TABLE`] and [`OF_INDEX`]; `gsi/` and `lsi/`.
//! Below its `items/` an index is like a table: see `fs::source`.

use crate::fs::{
    node::index_of,
    open::{found::Names, prelude::*},
    query::QueryKind,
    source::{query, schema, scratch},
    special::{
        batch,
        derived::{Derived, OF_INDEX, OF_TABLE, row},
        help, index_draft, partitions, queries, service, stream,
    },
};

/// What is for lookup only unless the mount shows all.
pub const ROOT_HIDDEN: &[&str] = &[SERVICE_NAME];

/// The text of `README.md`: its examples speak of what is there.
///
/// # Errors
/// The database failed.
pub fn readme(mount: &Mount) -> Result<Vec<u8>, FsError> {
    help::example::filled(mount, README_NAME, None, include_str!("README.md"))
}

pub fn resolve_in_root(mount: &Mount, name: &str) -> Result<Node, FsError> {
    match name {
        README_NAME => Ok(Node::Readme),
        SERVICE_NAME => Ok(service::node()),
        HELP_NAME if !is_table(mount, name)? => Ok(help::node("", help::ROOT, None)),
        // A leading dot is legal in a table's name but no shell glob sees it; such a table is still found by name.
        _ => taken_table(name)
            .map_or_else(|| TableName::new(name).map_err(|_| FsError::NotFound), Ok)
            .map(Node::Table),
    }
}

pub fn list_root(mount: &Mount) -> Result<Vec<Listed>, FsError> {
    let mut names = vec![listed(&Node::Readme, README_NAME)];
    let tables = mount.db.table_names()?;
    let drafts: Vec<TableName> = {
        let drafts = mount.drafts.lock();
        drafts
            .names()
            .filter(|draft| tables.binary_search(draft).is_err())
            .cloned()
            .collect()
    };
    names.extend(tables.into_iter().chain(drafts).map(|table| {
        let name = table_name(&table);
        listed(&Node::Table(table), &name)
    }));
    Ok(names)
}

/// Is there a table or a draft of this name? It comes before our own file.
fn is_table(mount: &Mount, name: &str) -> Result<bool, FsError> {
    match TableName::new(name) {
        Ok(table) => {
            Ok(mount.drafts.lock().get(&table).is_some() || mount.db.schema(&table)?.is_some())
        }
        Err(_) => Ok(false),
    }
}

/// What is in the directory of a table or an index beside rows of derived files.
const NAMES: Names<Source> = Names(&[
    (SCHEMA_NAME, true, |_, source| {
        Ok(Node::Schema(source.clone()))
    }),
    (STATS_NAME, true, |_, source| {
        Ok(Node::Stats(source.clone()))
    }),
    (ITEMS_NAME, true, |_, source| {
        Ok(Node::Items(source.clone()))
    }),
    (GLOBAL_NAME, true, |_, source| {
        Ok(Node::Indexes(source.table.clone(), IndexKind::Global))
    }),
    (LOCAL_NAME, true, |_, source| {
        Ok(Node::Indexes(source.table.clone(), IndexKind::Local))
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
/// Those of them that an index has not.
const OF_TABLE_ONLY: [&str; 5] = [
    GLOBAL_NAME,
    LOCAL_NAME,
    QUERIES_NAME,
    BATCH_NAME,
    STREAM_NAME,
];

/// A global index has its own; entries of a local one lie in its table's.
fn partitions_of(mount: &Mount, source: &Source) -> Result<Node, FsError> {
    let is_local = source.index.is_some()
        && index_of(&*mount.schema(&source.table)?, source)?
            .is_some_and(|index| index.kind == IndexKind::Local);
    if is_local {
        Err(FsError::NotFound)
    } else {
        Ok(partitions::node(mount, source))
    }
}

fn has(is_table: bool, name: &str) -> bool {
    is_table || !OF_TABLE_ONLY.contains(&name)
}

/// The files that are for lookup only unless the mount shows all: with an end, and not changed by being looked at.
fn files(is_table: bool) -> &'static [Derived] {
    if is_table { &OF_TABLE } else { &OF_INDEX }
}

/// What a table or an index has, listed or not.
pub fn names(is_table: bool) -> impl Iterator<Item = &'static str> {
    NAMES
        .all()
        .filter(move |name| has(is_table, name))
        .chain(files(is_table).iter().map(|file| file.name))
}

/// What is for lookup only unless the mount shows all.
pub fn hidden(is_table: bool) -> Vec<&'static str> {
    files(is_table)
        .iter()
        .map(|file| file.name)
        .chain([HELP_NAME])
        .collect()
}

pub fn resolve(mount: &Mount, source: &Source, name: &str) -> Result<Node, FsError> {
    let is_table = source.index.is_none();
    let file = row(files(is_table), name);
    let is_of_drafts = name == SCHEMA_NAME || file.is_some_and(Derived::is_of_drafts);
    // Before the table's own names: a draft holds folders that programs made, and one may be called items.
    if is_table && !is_of_drafts && mount.is_draft(&source.table)? {
        return schema::resolve_in_draft(mount, &source.table, "", name);
    }
    match file {
        Some(file) => {
            let path = format!("{}/{name}", mount.source_path(source));
            Ok(file.node(|feature| Special::file(path, Some(source.clone()), feature)))
        }
        None if NAMES
            .all()
            .any(|known| known == name && has(is_table, name)) =>
        {
            NAMES.resolve(mount, source, name)
        }
        None if is_table => scratch::resolve_beside_schema(mount, &source.table, name),
        None => Err(FsError::NotFound),
    }
}

pub fn list(mount: &Mount, source: &Source) -> Result<Vec<Listed>, FsError> {
    mount.source_schema(source)?;
    let mut names = NAMES.list(mount, source)?;
    names.retain(|listed| has(source.index.is_none(), &listed.name));
    Ok(names)
}

pub fn resolve_index(
    mount: &Mount,
    table: &TableName,
    kind: IndexKind,
    name: &str,
) -> Result<Node, FsError> {
    let schema = mount.schema(table)?;
    if let Some(index) = schema
        .indexes_of(kind)
        .find(|index| index.name.as_str() == name)
    {
        return Ok(Node::Index(Source {
            table: table.clone(),
            index: Some(index.name.clone()),
        }));
    }
    let draft = if kind == IndexKind::Global {
        index_draft::find(mount, table, name)
    } else {
        None
    };
    match draft {
        Some(draft) => Ok(draft),
        None if name == HELP_NAME => {
            let directory = mount.path(&Node::Indexes(table.clone(), kind));
            Ok(help::node(&directory, help::INDEXES, Some(base(table))))
        }
        None => Err(FsError::NotFound),
    }
}

pub fn list_indexes(
    mount: &Mount,
    table: &TableName,
    kind: IndexKind,
) -> Result<Vec<Listed>, FsError> {
    let schema = mount.schema(table)?;
    let names = schema.indexes_of(kind).map(|index| {
        let node = Node::Index(Source {
            table: table.clone(),
            index: Some(index.name.clone()),
        });
        listed(&node, index.name.as_str())
    });
    let drafts = if kind == IndexKind::Global {
        index_draft::list(mount, table)
    } else {
        Vec::new()
    };
    let is_draft = |listed: &Listed| schema.index(&listed.name).is_none();
    Ok(names.chain(drafts.into_iter().filter(is_draft)).collect())
}
