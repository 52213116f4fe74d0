//! The tree: maps each kind of node to the implementor of its operations ([`NodeOps`]), and calls
//! them.
//!
//! [`resolve`] returns the node of a name whether or not it exists; [`attr`] fails if it does not.
//! A kind of node is a variant of [`Node`], a file in `fs::source`, `fs::special` or here, and its
//! line in `dispatch!`.

use crate::fs::{
    open::{
        computed::Producer,
        directory::{FixedLister, Lister},
        node_ops::node_ops,
        prelude::*,
    },
    path::is_schema_scratch_name,
    source::{
        collection::Collection,
        draft::DraftFolder,
        entry::Base,
        items::ItemsDirectory,
        query::{QueryLink, QueryResult},
        scratch,
        stats::Stats,
    },
    special::{discarded_writes, schema::Schema},
    write::draft::Draft,
};
use indexes::Indexes;
use root::{Readme, Root};
use table_dir::{Index, Table};

mod indexes;
mod lookup_report;
mod root;
mod table_dir;

pub use crate::fs::source::items::resolved_folder;
pub use lookup_report::{explain_missing, is_reportable};
pub use table_dir::dir_names;

/// Calls an operation of the kind of a node.
macro_rules! dispatch {
    ($node:expr, $context:expr, $operation:ident($($argument:expr),*)) => {
        match $node {
            Node::Root => Root.$operation(At::new($node, $context) $(, $argument)*),
            Node::Readme => Readme.$operation(At::new($node, $context) $(, $argument)*),
            Node::Table(table) => Table(table).$operation(At::new($node, $context) $(, $argument)*),
            Node::DraftFolder(table, path) => DraftFolder(table, path).$operation(At::new($node, $context) $(, $argument)*),
            Node::Schema(source) => Schema(source).$operation(At::new($node, $context) $(, $argument)*),
            Node::Stats(source) => Stats(source).$operation(At::new($node, $context) $(, $argument)*),
            Node::Items(source) => ItemsDirectory(source).$operation(At::new($node, $context) $(, $argument)*),
            Node::Indexes(table, kind) => Indexes(table, *kind).$operation(At::new($node, $context) $(, $argument)*),
            Node::Index(source) => Index(source).$operation(At::new($node, $context) $(, $argument)*),
            Node::Collection(source, key) => Collection(source, key).$operation(At::new($node, $context) $(, $argument)*),
            Node::AliasFolder(folder) => folder.$operation(At::new($node, $context) $(, $argument)*),
            Node::Entry(entry) => entry.$operation(At::new($node, $context) $(, $argument)*),
            Node::Alias(alias) => alias.$operation(At::new($node, $context) $(, $argument)*),
            Node::Base(source, key) => Base(source, key).$operation(At::new($node, $context) $(, $argument)*),
            Node::Scratch(id) => id.$operation(At::new($node, $context) $(, $argument)*),
            Node::Query(path) => path.$operation(At::new($node, $context) $(, $argument)*),
            Node::QueryResult(path, kind) => QueryResult(path, *kind).$operation(At::new($node, $context) $(, $argument)*),
            Node::QueryLink(path, name) => QueryLink(path, name).$operation(At::new($node, $context) $(, $argument)*),
            Node::Special(special) => node_ops(special).$operation(At::new(special, $context) $(, $argument)*),
        }
    };
}

/// Returns the node of `name` in the directory `parent`, whether or not it exists.
///
/// # Errors
/// [`FsError::NotFound`] if the name can stand for nothing there.
pub fn resolve(mount: &Mount, parent: &Node, name: &[u8]) -> Result<Node> {
    let name = std::str::from_utf8(name).map_err(|_| FsError::NotFound)?;
    let resolved = resolve_text(mount, parent, name);
    if !mount.discards_in(parent) {
        return resolved;
    }
    // A node that exists wins over one that was dropped under the same name: an index made later is
    // not hidden by a forgotten folder.
    let is_there = resolved
        .as_ref()
        .is_ok_and(|node| quick_attr(mount, node).is_ok());
    if is_there {
        resolved
    } else {
        discarded_writes::find(mount, parent, name).map_or(resolved, Ok)
    }
}

fn resolve_text(mount: &Mount, parent: &Node, name: &str) -> Result<Node> {
    match dispatch!(parent, mount, successor())? {
        Some(now) => resolve(mount, &now, name.as_bytes()),
        None => dispatch!(parent, mount, resolve(name)),
    }
}

/// Returns the node of a draft's folder in the table that the draft has become; `None` if it is
/// still a draft. `rsync` goes on in the folder that it has open.
///
/// # Errors
/// The table has no such folder, or the database failed.
pub fn folder_after_create(mount: &Mount, table: &TableName, path: &str) -> Result<Option<Node>> {
    if mount.db.schema(table)?.is_none() {
        return Ok(None);
    }
    let start = Node::Table(table.clone());
    let step = |parent: Node, name: &str| {
        let resolved = resolve(mount, &parent, name.as_bytes());
        let is_lost = || match &resolved {
            Ok(node) => quick_attr(mount, node).is_err(),
            Err(error) => *error == FsError::NotFound,
        };
        // A name that was made in the draft and stands for nothing in the table.
        if mount.discards_in(&parent) && is_lost() {
            Ok(discarded_writes::make(
                mount,
                &parent,
                name,
                NodeKind::Directory,
            ))
        } else {
            resolved
        }
    };
    path.split('/').try_fold(start, step).map(Some)
}

/// Returns the attributes of a node.
///
/// # Errors
/// `NotFound` if the node does not exist.
pub fn attr(mount: &Mount, node: &Node) -> Result<Attr> {
    Ok(dispatch!(node, mount, attr())?.with_ino(node.ino()))
}

/// Returns the attributes of a node as far as they take few reads: without the size of a text that
/// reads a table.
///
/// # Errors
/// `NotFound` if the node does not exist; the database failed.
pub fn quick_attr(mount: &Mount, node: &Node) -> Result<Attr> {
    if node.reads_table() {
        Ok(Attr::read_only(0, dispatch!(node, mount, modified_ms())?).with_ino(node.ino()))
    } else {
        attr(mount, node)
    }
}

/// Makes the lister of a directory.
///
/// # Errors
/// `NotDirectory`, or `NotFound` if the node does not exist.
pub fn lister(mount: &Mount, node: &Node) -> Result<Box<dyn Lister>> {
    if let Some(now) = dispatch!(node, mount, successor())? {
        return lister(mount, &now);
    }
    let hidden = match node {
        _ if !mount.options.show_all => Vec::new(),
        Node::Root => vec![SERVICE_NAME],
        Node::Table(table) if mount.is_draft(table)? => Vec::new(),
        Node::Table(_) => table_dir::unlisted_names(true),
        Node::Index(_) => table_dir::unlisted_names(false),
        _ => Vec::new(),
    };
    if hidden.is_empty() {
        return dispatch!(node, mount, lister());
    }
    let mut names = dispatch!(node, mount, list())?;
    for name in hidden {
        let node = resolve(mount, node, name.as_bytes())
            .and_then(|node| quick_attr(mount, &node).map(|_| node));
        match node {
            Ok(node) => names.push(to_dirent(&node, name)),
            Err(error) if error.is_absence() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Box::new(FixedLister::new(names)))
}

/// Makes the producer of a computed file.
///
/// # Errors
/// `BadHandle` if the file is not computed, or `NotFound` if it does not exist.
pub fn producer(mount: &Mount, node: &Node) -> Result<Box<dyn Producer>> {
    dispatch!(node, mount, producer())
}

/// Returns the target of a symlink.
///
/// # Errors
/// `Invalid` if the node is no symlink, or `NotFound` if it does not exist.
pub fn link_target(mount: &Mount, node: &Node) -> Result<String> {
    dispatch!(node, mount, link_target())
}

/// Opens a file for reading.
///
/// # Errors
/// `IsDirectory`, or `NotFound` if the file does not exist.
pub fn open_reader(host: &Host, node: &Node) -> Result<Handle> {
    check_file(node)?;
    dispatch!(node, host, open_reader())
}

/// Opens a file for writing; a new one if it does not exist.
///
/// # Errors
/// `IsDirectory`, or `Derived` if the file cannot be written.
pub fn open_writer(host: &Host, node: &Node, flags: OpenFlags, exists: bool) -> Result<Handle> {
    check_file(node)?;
    if exists {
        dispatch!(node, host, open_writer(flags))
    } else {
        dispatch!(node, host, create(flags))
    }
}

fn check_file(node: &Node) -> Result<()> {
    if node.kind() == NodeKind::Directory {
        Err(FsError::IsDirectory)
    } else {
        Ok(())
    }
}

/// Checks that CREATE may take the name of a node.
///
/// # Errors
/// The name is that of a directory, whether or not the directory exists.
pub fn check_create(node: &Node) -> Result<()> {
    match node {
        Node::Table(_) => Err(FsError::NotPermitted(
            "here are only tables; mkdir makes one",
        )),
        Node::Collection(SourceName { index: Some(_), .. }, _) => Err(FsError::Derived),
        Node::Collection(..) | Node::AliasFolder(_) => Err(FsError::NotPermitted(
            "items of this table are in folders, items/<partition key>/<sort key>.json",
        )),
        _ => Ok(()),
    }
}

/// Checks that a directory may have a scratch file of this name, which stands for nothing else
/// there.
///
/// # Errors
/// The error of a CREATE of this name.
pub fn check_scratch(mount: &Mount, parent: &Node, name: &str) -> Result<()> {
    match parent {
        Node::Items(_) | Node::Collection(..) | Node::AliasFolder(_) => {
            scratch::check(parent, name)
        }
        Node::Table(_) if is_schema_scratch_name(name) => Ok(()),
        Node::Table(table) if mount.is_draft(table)? => Err(Draft::file_refused()),
        Node::DraftFolder(..) => Err(Draft::file_refused()),
        Node::Root | Node::Table(_) => Err(FsError::NotPermitted("files of data are below items/")),
        Node::Special(special) => Err(node_ops(special).scratch_refusal()),
        _ => Err(FsError::Derived),
    }
}

/// True if a change of this node is judged by what it does, and not refused where the database is
/// only read.
pub fn is_judged_by_request(node: &Node) -> bool {
    let is_batch = |table: &TableName, path: &str| {
        path.starts_with(&format!("{}/{BATCH_NAME}", table_name(table)))
    };
    match node {
        Node::Scratch(_) => true,
        // Service files, of which each request says by itself what it changes.
        Node::Special(special) => special
            .table()
            .is_none_or(|table| is_batch(table, &special.path)),
        _ => false,
    }
}

/// Makes a directory.
///
/// # Errors
/// `Exists`, or no directory can be made there.
pub fn mkdir(host: &Host, parent: &Node, name: &str) -> Result<Node> {
    dispatch!(parent, host, mkdir(name))
}

/// Makes a symlink.
///
/// # Errors
/// `NotPermitted` if no link can be made there.
pub fn symlink(host: &Host, parent: &Node, name: &[u8], target: &[u8]) -> Result<Node> {
    dispatch!(parent, host, symlink(name, target))
}

/// Removes a file.
pub fn unlink(host: &Host, node: &Node, reply: Reply<()>) {
    match check_file(node) {
        Ok(()) => dispatch!(node, host, unlink(reply)),
        Err(error) => reply(Err(error)),
    }
}

/// Removes a directory.
///
/// # Errors
/// `NotDirectory`, `NotEmpty`, or the directory is part of the tree.
pub fn rmdir(host: &Host, node: &Node) -> Result<()> {
    match node.kind() {
        NodeKind::Directory => dispatch!(node, host, rmdir()),
        NodeKind::File | NodeKind::Symlink => Err(FsError::NotDirectory),
    }
}

/// Removes files in memory of directories that another front end or process removed.
pub fn drop_orphan_scratch(mount: &Mount) {
    let directories = mount.scratch.lock().directories();
    for directory in directories {
        if let Some(table) = directory.table() {
            mount.drop_stale_scratch(table);
        }
        if matches!(attr(mount, &directory), Err(FsError::NotFound)) {
            mount.scratch.lock().remove_directory(&directory);
        }
    }
}
