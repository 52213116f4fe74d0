//! Discarded writes: with `-o restore`, and in a table that a program copies another one into,
//! files and directories that the program restores in the place of derived ones. Their content is
//! accepted and discarded. Their names are remembered for a while, since programs write to one
//! name, set its times, and rename it to another.

use crate::fs::open::{
    prelude::*,
    text::{FileCall, SpecialHandle},
};

fn path_in(mount: &Mount, parent: &Node, name: &str) -> String {
    format!("{}/{name}", mount.display_path(parent))
}

fn node(path: String, parent: &Node, kind: NodeKind, target: &str) -> Node {
    let (source, target) = (parent.table().map(SourceName::from), target.to_owned());
    Special::directory(path, source, parent.ino(), DiscardedFile { target })
        .with_kind(kind)
        .writable()
        .into()
}

/// Returns the discarded file of that name, if there is one.
pub fn find(mount: &Mount, parent: &Node, name: &str) -> Option<Node> {
    let path = path_in(mount, parent, name);
    let (kind, target) = mount.discarded_names.lock().get(&path, now_ms()).cloned()?;
    Some(node(path, parent, kind, &target))
}

/// Makes a name in that directory.
pub fn make(mount: &Mount, parent: &Node, name: &str, kind: NodeKind) -> Node {
    let path = path_in(mount, parent, name);
    mount
        .discarded_names
        .lock()
        .insert(path.clone(), (kind, String::new()), now_ms());
    node(path, parent, kind, "")
}

/// Makes a symlink in that directory.
///
/// # Errors
/// `NotFound` if it is a folder of a draft that has become a table.
pub fn make_link(mount: &Mount, parent: &Node, name: &str, target: &str) -> Result<Node, FsError> {
    let path = path_in(mount, parent, name);
    // The lock is held until the link is kept: the thread that ends the draft takes its links.
    let drafts = mount.drafts.lock();
    if matches!(parent, Node::DraftFolder(table, _) if drafts.get(table).is_none()) {
        return Err(FsError::NotFound);
    }
    mount.discarded_names.lock().insert(
        path.clone(),
        (NodeKind::Symlink, target.to_owned()),
        now_ms(),
    );
    Ok(node(path, parent, NodeKind::Symlink, target))
}

/// Takes the links that were made in `queries/` of a draft: the name and the target of each.
pub fn take_links(mount: &Mount, table: &TableName) -> Vec<(String, String)> {
    let folder = format!("{}/{QUERIES_NAME}/", table_name(table));
    let is_link = |path: &String, (kind, _): &(NodeKind, String)| {
        *kind == NodeKind::Symlink && path.starts_with(&folder)
    };
    let taken = mount.discarded_names.lock().extract_if(is_link);
    taken
        .into_iter()
        .map(|(path, (_, target))| (path[folder.len()..].to_owned(), target))
        .collect()
}

/// Keeps the folders of a draft that becomes a table, save those of items.
pub fn keep_folders<'f>(mount: &Mount, table: &TableName, folders: impl Iterator<Item = &'f str>) {
    let mut names = mount.discarded_names.lock();
    for folder in folders.filter(|folder| *folder != "items" && !folder.starts_with("items/")) {
        names.insert(
            format!("{}/{folder}", table_name(table)),
            (NodeKind::Directory, String::new()),
            now_ms(),
        );
    }
}

/// True if the node is a discarded file or directory.
#[must_use]
pub fn is_discarded(mount: &Mount, node: &Node) -> bool {
    matches!(node, Node::Special(special) if mount.discarded_names.lock().get(&special.path, now_ms()).is_some())
}

/// Renames one of them in that directory if the new name is free, or exchanges it with another.
pub fn rename(
    mount: &Mount,
    from: &Node,
    parent: &Node,
    name: &str,
    is_exchange: bool,
    is_taken: bool,
) {
    let Node::Special(from) = from else { return };
    let to = path_in(mount, parent, name);
    let mut names = mount.discarded_names.lock();
    let (moved, replaced) = (names.remove(&from.path), names.remove(&to));
    let is_free = !is_taken || replaced.is_some();
    if let (true, Some(replaced)) = (is_exchange, replaced) {
        names.insert(from.path.clone(), replaced, now_ms());
    }
    if let (true, Some(moved)) = (is_free, moved) {
        names.insert(to, moved, now_ms());
    }
}

/// Returns a handle that accepts every call.
#[must_use]
pub fn null_handle() -> Handle {
    Handle::Special(Arc::new(NullSink))
}

#[derive(Debug)]
struct NullSink;

impl SpecialHandle for NullSink {
    fn call(self: Arc<Self>, _host: &Host, _call: FileCall, reply: Reply<()>) {
        reply(Ok(()));
    }
}

/// A file, directory or symlink that a program restored in the place of a derived file.
struct DiscardedFile {
    /// The target of a symlink.
    target: String,
}

impl NodeOps for DiscardedFile {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        Ok(at.started_ms)
    }

    fn resolve(&self, _at: At<'_>, _name: &str) -> Result<Node> {
        Err(FsError::NotFound)
    }

    fn list(&self, at: At<'_>) -> Result<Vec<OwnedDirent>> {
        if at.node.kind == NodeKind::Directory {
            Ok(Vec::new())
        } else {
            Err(FsError::NotDirectory)
        }
    }

    fn text(&self, _at: At<'_>) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn link_target(&self, _at: At<'_>) -> Result<String> {
        Ok(self.target.clone())
    }

    fn open_writer(&self, _at: HostAt<'_>, _flags: OpenFlags) -> Result<Handle> {
        Ok(null_handle())
    }

    fn unlink(&self, at: HostAt<'_>, reply: Reply<()>) {
        at.mount.discarded_names.lock().remove(&at.node.path);
        reply(Ok(()));
    }

    fn rmdir(&self, at: HostAt<'_>) -> Result<()> {
        at.mount.discarded_names.lock().remove(&at.node.path);
        Ok(())
    }
}
