//! With `-o restore`, and in a table that a program copies another one into: files and directories that a program restores in a place
//! of derived ones. What is written to them is taken and forgotten; their names are remembered for a while, since programs write to one name, set its times, and rename it to another.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::{OpenSpecial, Special, SpecialNode};
use crate::fs::FsError;
use crate::fs::directory_stream::{FixedLister, Lister};
use crate::fs::handle::Handle;
use crate::fs::node::{Kind, Node};
use crate::fs::tree::table_name;
use crate::fs::tree::{Caller, Tree};
use crate::fs::view::{OpenFlags, Reply, View};
use crate::model::TableName;

/// Names that are remembered; the oldest go first.
const NAMES_MAX: usize = 65_536;

/// The names, by their filesystem paths.
#[derive(Debug, Default)]
pub struct DroppedNames {
    kinds: HashMap<String, Kind>,
    order: VecDeque<String>,
}

impl DroppedNames {
    fn add(&mut self, path: &str, kind: Kind) {
        if self.kinds.insert(path.to_owned(), kind).is_none() {
            self.order.push_back(path.to_owned());
        }
        while self.order.len() > NAMES_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.kinds.remove(&oldest);
            }
        }
    }

    fn kind(&self, path: &str) -> Option<Kind> {
        self.kinds.get(path).copied()
    }

    fn remove(&mut self, path: &str) {
        if self.kinds.remove(path).is_some() {
            self.order.retain(|other| other != path);
        }
    }
}

/// Programs that copy directories with all that is in them.
const COPIERS: [&str; 2] = ["cp", "rsync"];
/// Tables that are being copied into; of more the derived files are refused.
const COPIES_MAX: usize = 1_000;

/// Tables whose directories were made by a program that copies, for as long as it runs.
#[derive(Debug, Default)]
pub struct Copies {
    list: Mutex<Vec<(TableName, u32)>>,
    /// Entries of the list, so that nobody locks it while it is empty.
    count: AtomicUsize,
}

impl Copies {
    /// This process made the table's directory.
    pub fn begin(&self, table: &TableName, process: u32) {
        let mut list = self.list.lock();
        list.retain(|(_, process)| is_copier(*process));
        if list.len() < COPIES_MAX && is_copier(process) {
            list.push((table.clone(), process));
        }
        self.count.store(list.len(), Ordering::Release);
    }

    /// Is a program at work that copies into this table?
    #[must_use]
    pub fn holds(&self, table: &TableName) -> bool {
        self.count.load(Ordering::Acquire) > 0
            && self.list.lock().iter().any(|(other, process)| other == table && is_copier(*process))
    }
}

/// Told by its name; a process in another pid namespace, or gone, is none.
fn is_copier(process: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    COPIERS.contains(&name.trim_end())
}

#[derive(Debug, Clone)]
struct Dropped {
    path: String,
    parent: Node,
    kind: Kind,
    /// Of a symlink; forgotten like everything.
    target: String,
}

/// May a name that means nothing be made in this directory, and forgotten?
#[must_use]
pub fn is_place(directory: &Node) -> bool {
    match directory {
        Node::Index(_) | Node::Indexes(..) | Node::Table(_) => true,
        Node::Items(source) | Node::Collection(source, _) => source.index.is_some(),
        Node::DraftFolder(_, path) => path != "items" && !path.starts_with("items/"),
        Node::Special(special) => special.0.table().is_some() && special.0.kind() == Kind::Directory,
        _ => false,
    }
}

fn path_in(tree: &Tree, parent: &Node, name: &str) -> String {
    format!("{}/{name}", tree.path(parent))
}

/// The name in that directory, if it was made and forgotten.
pub fn find(tree: &Tree, parent: &Node, name: &str) -> Option<Node> {
    let path = path_in(tree, parent, name);
    let kind = tree.dropped.lock().kind(&path)?;
    Some(SpecialNode::node(Dropped { path, parent: parent.clone(), kind, target: String::new() }))
}

/// Makes a name in that directory.
pub fn make(tree: &Tree, parent: &Node, name: &str, kind: Kind) -> Node {
    let path = path_in(tree, parent, name);
    tree.dropped.lock().add(&path, kind);
    SpecialNode::node(Dropped { path, parent: parent.clone(), kind, target: String::new() })
}

/// Makes a symlink in that directory.
pub fn make_link(tree: &Tree, parent: &Node, name: &str, target: &str) -> Node {
    let path = path_in(tree, parent, name);
    tree.dropped.lock().add(&path, Kind::Symlink);
    SpecialNode::node(Dropped { path, parent: parent.clone(), kind: Kind::Symlink, target: target.to_owned() })
}

/// Keeps the folders of a draft that becomes a table, where they are not items'.
pub fn keep_folders<'f>(tree: &Tree, table: &TableName, folders: impl Iterator<Item = &'f str>) {
    let mut names = tree.dropped.lock();
    for folder in folders.filter(|folder| *folder != "items" && !folder.starts_with("items/")) {
        names.add(&format!("{}/{folder}", table_name(table)), Kind::Directory);
    }
}

/// Is this node one of them?
#[must_use]
pub fn is_dropped(tree: &Tree, node: &Node) -> bool {
    matches!(node, Node::Special(special) if tree.dropped.lock().kind(special.0.path()).is_some())
}

/// The name goes.
pub fn forget(tree: &Tree, node: &Node) {
    if let Node::Special(special) = node {
        tree.dropped.lock().remove(special.0.path());
    }
}

/// A handle that takes everything.
#[must_use]
pub fn sink() -> Handle {
    Handle::Special(Arc::new(Sink))
}

#[derive(Debug)]
struct Sink;

impl OpenSpecial for Sink {
    fn write(self: Arc<Self>, _view: &Arc<View>, _caller: Caller, _offset: u64, _data: &[u8], reply: Reply<()>) {
        reply(Ok(()));
    }
}

impl Special for Dropped {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        self.parent.clone()
    }

    fn table(&self) -> Option<&TableName> {
        self.parent.table()
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        Ok(tree.started_ms)
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn resolve(&self, _tree: &Tree, _name: &str) -> Result<Node, FsError> {
        Err(FsError::NotFound)
    }

    fn lister(&self, _tree: &Tree) -> Result<Box<dyn Lister>, FsError> {
        match self.kind {
            Kind::Directory => Ok(Box::new(FixedLister::default())),
            Kind::File | Kind::Symlink => Err(FsError::NotDirectory),
        }
    }

    fn text(&self, _tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(Vec::new())
    }

    fn link_target(&self, _tree: &Tree) -> Result<String, FsError> {
        Ok(self.target.clone())
    }

    fn open(&self, _view: &Arc<View>, _caller: Caller, _ino: u64, flags: OpenFlags) -> Result<Handle, FsError> {
        Ok(if flags.write { sink() } else { Handle::Text(Arc::default()) })
    }

    fn unlink(&self, view: &Arc<View>, _caller: Caller, reply: Reply<()>) {
        view.tree().dropped.lock().remove(&self.path);
        reply(Ok(()));
    }

    fn rmdir(&self, view: &View, _caller: Caller) -> Result<(), FsError> {
        view.tree().dropped.lock().remove(&self.path);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_names_are_forgotten() {
        let mut names = DroppedNames::default();
        for number in 0..=NAMES_MAX {
            names.add(&number.to_string(), Kind::File);
        }
        assert_eq!((names.kind("0"), names.kind("1"), names.kinds.len()), (None, Some(Kind::File), NAMES_MAX));
        names.remove("1");
        assert_eq!((names.kind("1"), names.order.len()), (None, NAMES_MAX - 1));
    }
}
