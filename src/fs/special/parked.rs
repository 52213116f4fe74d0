//! A parked file: the text of an item that was moved to a name that is no item's, kept in the store for a week. It is read as it is;
//! who writes to it writes a copy in memory, which hides it.

use std::sync::Arc;

use super::room::Room;
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::attr::Attr;
use crate::fs::node::special::{Special, SpecialNode};
use crate::fs::open::handle::Handle;
use crate::fs::open::host::Host;
use crate::fs::open::{OpenFlags, Reply};
use crate::fs::process::Caller;
use crate::fs::source::scratch::{self, directory_of};
use crate::fs::time::now_ms;
use crate::model::api::parked::{ParkedChange, ParkedPlace, ParkedStat};

fn read(place: &ParkedPlace, mount: &Mount) -> Result<(ParkedStat, Vec<u8>), FsError> {
    mount.db.parked_at(place)?.ok_or(FsError::NotFound)
}

impl Room for ParkedPlace {
    fn attr(&self, at: &SpecialNode, mount: &Mount, _caller: Caller) -> Result<Attr, FsError> {
        let (stat, _) = read(self, mount)?;
        Ok(Attr::file(at.ino(), stat.bytes, stat.parked_ms))
    }

    fn text(&self, _at: &Special, mount: &Mount, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(read(self, mount)?.1)
    }

    fn open_for_writing(
        &self,
        _at: &SpecialNode,
        host: &Arc<dyn Host>,
        _caller: Caller,
        flags: OpenFlags,
    ) -> Result<Handle, FsError> {
        let (stat, text) = read(self, host.mount())?;
        if !stat.is_placed {
            return Err(FsError::NotPermitted("its folder is gone; move the file to where it is to be written"));
        }
        // The store's text stays until the copy is moved or removed: it is what a crash leaves.
        let id = host.mount().fill_scratch(&directory_of(self), &self.name, &text, now_ms())?;
        scratch::open(host.mount(), id, flags.truncate)
    }

    fn unlink(&self, _at: &SpecialNode, host: &Arc<dyn Host>, _caller: Caller, reply: Reply<()>) {
        let (again, place) = (Arc::clone(host), self.clone());
        host.run_elsewhere(Box::new(move || {
            reply(match again.mount().db.change_parked(ParkedChange::Remove(place)) {
                Ok(true) => Ok(()),
                Ok(false) => Err(FsError::NotFound),
                Err(error) => Err(error.into()),
            });
        }));
    }
}
