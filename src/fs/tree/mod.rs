//! The tree: what a name in a directory means, what a node's attributes are, what a directory lists, what a file says.
//!
//! [`resolve`] says what a name means whether or not it exists; [`attr`] whether it exists. This file chooses by the kind of a node; what
//! is chosen is in `fs::source` and `fs::special`. The directories whose names are fixed are in `directories.rs`.

use crate::fs::{
    open::{
        computed::Producer,
        directory::{FixedLister, Lister},
        prelude::*,
        room::room,
    },
    source::{entry, items, query, schema, scratch},
    special::dropped,
};

mod directories;
mod missing;

pub use crate::fs::source::items::known_folder;
pub use directories::names;
pub use missing::{explain, is_worth_telling};

/// What `name` means in the directory `parent`, whether or not it exists.
///
/// # Errors
/// [`FsError::NotFound`] when the name can mean nothing there.
pub fn resolve(mount: &Mount, parent: &Node, name: &[u8]) -> Result<Node, FsError> {
    let name = std::str::from_utf8(name).map_err(|_| FsError::NotFound)?;
    let resolved = resolve_text(mount, parent, name);
    if !mount.restores_in(parent) {
        return resolved;
    }
    // What is there wins over what was dropped under the same name: an index made later is not hidden by a forgotten folder.
    let is_there = resolved
        .as_ref()
        .is_ok_and(|node| quick_attr(mount, node).is_ok());
    if is_there {
        resolved
    } else {
        dropped::find(mount, parent, name).map_or(resolved, Ok)
    }
}

fn resolve_text(mount: &Mount, parent: &Node, name: &str) -> Result<Node, FsError> {
    if let Some(now) = became(mount, parent)? {
        return resolve(mount, &now, name.as_bytes());
    }
    match parent {
        Node::Root => directories::resolve_in_root(mount, name),
        Node::Table(table) => directories::resolve(mount, &base(table), name),
        Node::DraftFolder(table, path) => schema::resolve_in_draft(mount, table, path, name),
        Node::Indexes(table, kind) => directories::resolve_index(mount, table, *kind, name),
        Node::Index(source) => directories::resolve(mount, source, name),
        Node::Items(source) => items::resolve(mount, source, name),
        Node::Collection(source, partition) => items::resolve_entry(mount, source, partition, name),
        Node::AliasFolder(folder) => items::resolve_in_alias(mount, folder, name),
        Node::Query(path) => query::resolve(path, name),
        Node::Special(special) => room(special)?.resolve(special, mount, name),
        _ => Err(FsError::NotDirectory),
    }
}

/// What a draft's folder is when the table was created meanwhile. `rsync` goes on in the folder that it has open.
///
/// # Errors
/// The table has no such folder, or the database failed.
pub fn created_folder(
    mount: &Mount,
    table: &TableName,
    path: &str,
) -> Result<Option<Node>, FsError> {
    if mount.db.schema(table)?.is_none() {
        return Ok(None);
    }
    let start = Node::Table(table.clone());
    let step = |parent: Node, name: &str| match resolve(mount, &parent, name.as_bytes()) {
        // What was made in the draft and is nothing in the table.
        Err(FsError::NotFound) if mount.restores_in(&parent) => {
            Ok(dropped::make(mount, &parent, name, Kind::Directory))
        }
        Ok(node) if mount.restores_in(&parent) && quick_attr(mount, &node).is_err() => {
            Ok(dropped::make(mount, &parent, name, Kind::Directory))
        }
        resolved => resolved,
    };
    path.split('/').try_fold(start, step).map(Some)
}

/// What a directory has become meanwhile: whoever is in it goes on there.
fn became(mount: &Mount, directory: &Node) -> Result<Option<Node>, FsError> {
    match directory {
        Node::AliasFolder(folder) => known_folder(mount, folder),
        Node::Special(special) => room(special)?.became(special, mount),
        _ => Ok(None),
    }
}

/// The attributes of a node.
///
/// # Errors
/// [`FsError::NotFound`] when it does not exist (any more).
pub fn attr(mount: &Mount, node: &Node) -> Result<Attr, FsError> {
    let attr = match node {
        Node::Root => Ok(Attr::directory(mount.started_ms)),
        Node::Readme => Ok(Attr::read_only(
            directories::readme(mount)?.len() as u64,
            mount.started_ms,
        )),
        Node::Table(table) => schema::table_attr(mount, table),
        Node::DraftFolder(table, path) => schema::draft_attr(mount, table, path),
        Node::Schema(source) => schema::attr(mount, source),
        Node::Stats(source) => schema::stats_attr(mount, source),
        Node::Items(source) => Ok(Attr::directory(mount.source_time(source)?)),
        Node::Indexes(table, _) => Ok(Attr::directory(mount.table_time(table)?)),
        Node::Index(source) => Ok(Attr::directory(mount.source_time(source)?)),
        Node::Collection(source, partition) => items::collection_attr(mount, source, partition),
        Node::Entry(entry) => entry::attr(mount, entry),
        Node::Base(source, key) => entry::base_attr(mount, source, key),
        Node::Query(_) | Node::QueryResult(..) | Node::QueryLink(..) => query::attr(mount, node),
        Node::Scratch(id) => scratch::attr(mount, *id),
        Node::Alias(alias) => items::alias_attr(mount, alias),
        Node::AliasFolder(folder) => match became(mount, node)? {
            Some(now) => attr(mount, &now),
            None => items::alias_folder_attr(mount, folder),
        },
        Node::Special(special) => room(special)?.attr(special, mount),
    };
    Ok(attr?.of(node.ino()))
}

/// The attributes of a node as far as they take few reads: whether it exists, all but the size of what reads a table.
///
/// # Errors
/// As of [`attr`].
pub fn quick_attr(mount: &Mount, node: &Node) -> Result<Attr, FsError> {
    match node {
        Node::Special(special) if node.reads_many() => {
            Ok(Attr::read_only(0, room(special)?.modified_ms(special, mount)?).of(node.ino()))
        }
        _ => attr(mount, node),
    }
}

/// Makes the lister of a directory.
///
/// # Errors
/// Not a directory, or gone.
pub fn lister(mount: &Mount, node: &Node) -> Result<Box<dyn Lister>, FsError> {
    if let Some(now) = became(mount, node)? {
        return lister(mount, &now);
    }
    Ok(match node {
        Node::Root => with_hidden(
            mount,
            node,
            directories::list_root(mount)?,
            directories::ROOT_HIDDEN,
        )?,
        Node::Table(table) if mount.is_draft(table)? => {
            Box::new(FixedLister::new(schema::list_draft(mount, table, "")?))
        }
        Node::Table(table) => of_source(mount, node, &base(table))?,
        Node::DraftFolder(table, path) => {
            Box::new(FixedLister::new(schema::list_draft(mount, table, path)?))
        }
        Node::Indexes(table, kind) => Box::new(FixedLister::new(directories::list_indexes(
            mount, table, *kind,
        )?)),
        Node::Index(source) => of_source(mount, node, source)?,
        Node::Items(source) => items::lister(mount, source)?,
        Node::Collection(source, partition) => {
            Box::new(items::collection_lister(mount, source, partition)?)
        }
        Node::AliasFolder(_) => Box::new(FixedLister::default()),
        Node::Query(path) => Box::new(query::QueryLister::new((**path).clone())),
        Node::Special(special) => room(special)?.lister(special, mount)?,
        _ => return Err(FsError::NotDirectory),
    })
}

/// The bytes of a file that is rendered as a whole when it is opened.
///
/// # Errors
/// Gone, not such a file, or the database failed.
pub fn text(mount: &Mount, node: &Node) -> Result<Vec<u8>, FsError> {
    match node {
        Node::Readme => directories::readme(mount),
        Node::Schema(source) => schema::text(mount, source),
        Node::Stats(source) => schema::stats_text(mount, source),
        Node::Special(special) => room(special)?.text(special, mount),
        Node::Entry(entry) => Ok(entry::counted_text(mount, entry)?.0),
        Node::Alias(_) => Err(FsError::NotFound),
        directory if directory.kind() == Kind::Directory => Err(FsError::IsDirectory),
        _ => Err(FsError::BadHandle),
    }
}

/// What makes the bytes of a computed file.
///
/// # Errors
/// Gone, or no such file.
pub fn producer(mount: &Mount, node: &Node) -> Result<Box<dyn Producer>, FsError> {
    match node {
        Node::QueryResult(path, kind) => Ok(Box::new(path.open(*kind))),
        Node::Special(special) => room(special)?.producer(special, mount),
        _ => Err(FsError::BadHandle),
    }
}

/// The target of a symlink.
///
/// # Errors
/// Not a symlink, or gone.
pub fn link_target(mount: &Mount, node: &Node) -> Result<String, FsError> {
    match node {
        Node::Base(_, key) => Ok(entry::base_target(key)),
        Node::QueryLink(path, name) => query::target(path, name),
        Node::Special(special) => room(special)?.link_target(special, mount),
        _ => Err(FsError::Invalid("not a symbolic link")),
    }
}

/// Lists the directory of a table or an index.
fn of_source(mount: &Mount, node: &Node, source: &Source) -> Result<Box<dyn Lister>, FsError> {
    with_hidden(
        mount,
        node,
        directories::list(mount, source)?,
        &directories::hidden(source.index.is_none()),
    )
}

/// Lists `names`, and those of `hidden` that are in this directory when the mount shows all.
fn with_hidden(
    mount: &Mount,
    directory: &Node,
    mut names: Vec<Listed>,
    hidden: &[&str],
) -> Result<Box<dyn Lister>, FsError> {
    if mount.options.show_all {
        for name in hidden {
            let node = resolve(mount, directory, name.as_bytes())
                .and_then(|node| quick_attr(mount, &node).map(|_| node));
            match node {
                Ok(node) => names.push(listed(&node, name)),
                Err(error) if error.is_absence() => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(Box::new(FixedLister::new(names)))
}

/// Files in memory go with the directories that another front end or process removed.
pub fn drop_scratch_of_gone_directories(mount: &Mount) {
    let directories = mount.scratch.lock().directories();
    for directory in directories {
        if let Some(table) = directory.table() {
            mount.drop_scratch_of_gone(table);
        }
        if matches!(attr(mount, &directory), Err(FsError::NotFound)) {
            mount.scratch.lock().remove_directory(&directory);
        }
    }
}
