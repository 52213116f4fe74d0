//! A parked file: the text of an item that was moved to a name that is no item's, kept in the store for a week. It is read as it is;
//! who writes to it writes a copy in memory, which hides it.

use std::sync::Arc;

use super::{Special, SpecialNode};
use crate::fs::FsError;
use crate::fs::attr::Attr;
use crate::fs::handle::Handle;
use crate::fs::node::Node;
use crate::fs::tree::scratch::{directory_of, folder_name};
use crate::fs::tree::{Caller, Tree, now_ms};
use crate::fs::view::{OpenFlags, Reply, View};
use crate::model::TableName;
use crate::model::api::parked::{ParkedChange, ParkedPlace, ParkedStat};

#[derive(Debug)]
struct Parked {
    place: ParkedPlace,
    path: String,
    identity: String,
}

/// The node of a parked file.
#[must_use]
pub fn node(place: ParkedPlace) -> Node {
    let folder = folder_name(&directory_of(&place)).map(|folder| folder + "/").unwrap_or_default();
    let path = format!("{}/items/{folder}{}", place.table, place.name);
    let identity = format!("parked {path}");
    SpecialNode::node(Parked { place, path, identity })
}

impl Parked {
    fn read(&self, tree: &Tree) -> Result<(ParkedStat, Vec<u8>), FsError> {
        tree.db.parked_at(&self.place)?.ok_or(FsError::NotFound)
    }
}

impl Special for Parked {
    fn path(&self) -> &str {
        &self.path
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn parent(&self) -> Node {
        directory_of(&self.place)
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.place.table)
    }

    fn parked(&self) -> Option<&ParkedPlace> {
        Some(&self.place)
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn attr(&self, tree: &Tree, _caller: Caller, ino: u64) -> Result<Attr, FsError> {
        let (stat, _) = self.read(tree)?;
        Ok(Attr::file(ino, stat.bytes, stat.parked_ms))
    }

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(self.read(tree)?.1)
    }

    fn open_for_writing(&self, view: &Arc<View>, _caller: Caller, _ino: u64, flags: OpenFlags) -> Result<Handle, FsError> {
        let (stat, text) = self.read(view.tree())?;
        if !stat.is_placed {
            return Err(FsError::NotPermitted("its folder is gone; move the file to where it is to be written"));
        }
        let id = view.tree().fill_scratch(&self.parent(), &self.place.name, &text, now_ms())?;
        view.open_scratch(id, flags.truncate)
    }

    fn unlink(&self, view: &Arc<View>, _caller: Caller, reply: Reply<()>) {
        let (again, place) = (Arc::clone(view), self.place.clone());
        view.run_elsewhere(Box::new(move || {
            reply(match again.tree().db.change_parked(ParkedChange::Remove(place)) {
                Ok(true) => Ok(()),
                Ok(false) => Err(FsError::NotFound),
                Err(error) => Err(error.into()),
            });
        }));
    }
}
