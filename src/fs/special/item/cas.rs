//! `X.<etag>.casjson`: the item, put if it is still of that version. Where the version comes from: `X.meta`, `user.ddb.etag`.

use std::sync::Arc;

use super::super::{Special, SpecialNode};
use super::Place;
use crate::database::TextForm;
use crate::fs::FsError;
use crate::fs::attr::Attr;
use crate::fs::handle::{Handle, OpenText};
use crate::fs::node::Node;
use crate::fs::tree::{Caller, Tree, items};
use crate::fs::view::{OpenFlags, View};
use crate::fs::write::{ItemWriter, Opener};
use crate::model::TableName;
use crate::model::api::Version;

#[derive(Debug)]
struct Replacing {
    place: Place,
    version: Version,
    path: String,
}

pub fn node(place: Place, version: Version) -> Node {
    let path = place.path(&format!(".{version}.casjson"));
    SpecialNode::node(Replacing { place, version, path })
}

impl Special for Replacing {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        self.place.parent()
    }

    fn table(&self) -> Option<&TableName> {
        Some(self.place.table())
    }

    fn is_writable(&self) -> bool {
        true
    }

    /// There as long as the item is, so that a write to a version that is gone says so.
    fn attr(&self, tree: &Tree, _caller: Caller, ino: u64) -> Result<Attr, FsError> {
        Ok(Attr { ino, ..items::attr(tree, &self.place.entry(TextForm::PlainJson))? })
    }

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        let (text, stat) = items::text(tree, &self.place.entry(TextForm::PlainJson))?;
        if stat.version == self.version { Ok(text) } else { Err(FsError::OtherVersion) }
    }

    fn open_for_writing(&self, view: &Arc<View>, caller: Caller, ino: u64, flags: OpenFlags) -> Result<Handle, FsError> {
        let target = view.item_target(&Node::Entry(Box::new(self.place.entry(TextForm::PlainJson))))?;
        let writer = ItemWriter::stream_replacing(target, Opener { pid: caller.pid, append: flags.append }, self.version);
        Ok(Handle::Item(Arc::new(OpenText::new(ino, self.path.clone(), caller.pid, writer))))
    }
}
