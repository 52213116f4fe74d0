//! Beside an item, for lookup only: ways to change a part of it, and what is known of it (docs/filesystem.md 4).
//!
//! ```text
//! patch.rs       X.patch           a merge patch
//! update.rs      X.update          an UpdateItem
//! cas.rs         X.<etag>.casjson  the item, put if it is of that version
//! attributes.rs  X.d/              its attributes as files; attribute_value.rs is what such a file says and takes
//! meta.rs        X.meta            key, etag, size, capacity, indexes, expiry; facts.rs finds them out
//! ```
//! Patch and update make an item that is not there, as UpdateItem does; the others need it.

mod attribute_value;
mod attributes;
mod cas;
pub mod facts;
mod patch;
mod place;
mod update;

use std::sync::Arc;

use facts::Facts;
use place::Place;

use super::room::Room;
use crate::database::TextForm;
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::Node;
use crate::fs::node::attr::Attr;
use crate::fs::node::special::{ItemFile, ItemPart, Special, SpecialNode};
use crate::fs::open::directory::Lister;
use crate::fs::open::handle::Handle;
use crate::fs::open::host::Host;
use crate::fs::open::{OpenFlags, Reply};
use crate::fs::process::Caller;
use crate::fs::source::entry;

impl Room for ItemFile {
    fn modified_ms(&self, at: &Special, mount: &Mount) -> Result<u64, FsError> {
        let place = Place::of(at, self)?;
        match &self.of {
            ItemPart::Meta => Ok(place.stat(mount)?.modified_ms),
            ItemPart::Attributes(of) => attributes::modified_ms(&place, of.as_ref(), mount),
            _ => mount.table_time(place.table()),
        }
    }

    fn attr(&self, at: &SpecialNode, mount: &Mount, caller: Caller) -> Result<Attr, FsError> {
        let (place, ino) = (Place::of(at, self)?, at.ino());
        match &self.of {
            // There as long as the item is, so that a write to a version that is gone says so.
            ItemPart::Replacing(_) => Ok(Attr { ino, ..entry::attr(mount, &place.entry(TextForm::PlainJson))? }),
            ItemPart::Attribute(of, _) => attributes::attr(&place, of, mount, ino),
            ItemPart::Attributes(_) => Ok(Attr::directory(ino, self.modified_ms(at, mount)?)),
            ItemPart::Patch | ItemPart::Update | ItemPart::Meta => {
                let (modified_ms, size) = (self.modified_ms(at, mount)?, self.text(at, mount, caller)?.len() as u64);
                Ok(Attr { writable: at.is_writable, ..Attr::read_only(ino, size, modified_ms) })
            }
        }
    }

    fn resolve(&self, at: &SpecialNode, mount: &Mount, name: &str) -> Result<Node, FsError> {
        match &self.of {
            ItemPart::Attributes(_) => attributes::resolve(at, self, mount, name),
            _ => Err(FsError::NotDirectory),
        }
    }

    fn lister(&self, at: &SpecialNode, mount: &Mount) -> Result<Box<dyn Lister>, FsError> {
        match &self.of {
            ItemPart::Attributes(_) => attributes::lister(at, self, mount),
            _ => Err(FsError::NotDirectory),
        }
    }

    fn text(&self, at: &Special, mount: &Mount, _caller: Caller) -> Result<Vec<u8>, FsError> {
        let place = Place::of(at, self)?;
        match &self.of {
            ItemPart::Patch => Ok(patch::USAGE.as_bytes().to_vec()),
            ItemPart::Update => Ok(update::usage()),
            ItemPart::Meta => Ok(Facts::of(mount, &place)?.to_json().into_bytes()),
            ItemPart::Replacing(version) => cas::text(&place, *version, mount),
            ItemPart::Attribute(of, _) => attributes::text(&place, of, mount),
            ItemPart::Attributes(_) => Err(FsError::IsDirectory),
        }
    }

    fn open_for_writing(
        &self,
        at: &SpecialNode,
        host: &Arc<dyn Host>,
        caller: Caller,
        flags: OpenFlags,
    ) -> Result<Handle, FsError> {
        let (place, mount) = (Place::of(at, self)?, host.mount());
        match &self.of {
            ItemPart::Patch => patch::open(at, place, mount, caller, flags),
            ItemPart::Update => update::open(at, place, mount, caller, flags),
            ItemPart::Replacing(version) => cas::open(at, &place, *version, mount, caller, flags),
            ItemPart::Attribute(of, asked) => attributes::open(at, place, (of, asked.as_deref()), mount, caller, flags),
            ItemPart::Meta | ItemPart::Attributes(_) => Err(FsError::Derived),
        }
    }

    fn unlink(&self, at: &SpecialNode, host: &Arc<dyn Host>, caller: Caller, reply: Reply<()>) {
        reply(match &self.of {
            ItemPart::Attribute(of, _) => Place::of(at, self).and_then(|place| attributes::remove(&place, of, &**host, caller)),
            ItemPart::Attributes(_) => Err(FsError::IsDirectory),
            _ => Err(FsError::Derived),
        });
    }

    fn mkdir(&self, at: &SpecialNode, host: &dyn Host, caller: Caller, name: &str) -> Result<Node, FsError> {
        match &self.of {
            ItemPart::Attributes(_) => attributes::mkdir(at, self, host, caller, name),
            _ => Err(FsError::Derived),
        }
    }

    fn rmdir(&self, at: &SpecialNode, host: &dyn Host, caller: Caller) -> Result<(), FsError> {
        match &self.of {
            ItemPart::Attributes(of) => attributes::rmdir(&Place::of(at, self)?, of.as_ref(), host, caller),
            _ => Err(FsError::NotDirectory),
        }
    }
}
