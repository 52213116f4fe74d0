//! `X.<etag>.casjson`: the item, put if it is still of that version. Where the version comes from: `X.meta`, `user.ddb.etag`.

use std::sync::Arc;

use super::place::Place;
use crate::database::TextForm;
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::Node;
use crate::fs::node::attr::Attr;
use crate::fs::node::special::{Special, SpecialNode};
use crate::fs::open::OpenFlags;
use crate::fs::open::handle::Handle;
use crate::fs::open::host::Host;
use crate::fs::open::room::Room;
use crate::fs::open::text::OpenText;
use crate::fs::process::Caller;
use crate::fs::source::entry;
use crate::fs::write::{ItemWriter, Opener};
use crate::model::api::Version;

pub struct Replacing(pub Place, pub Version);

impl Room for Replacing {
    /// There as long as the item is, so that a write to a version that is gone says so.
    fn attr(&self, at: &Special, mount: &Mount, _caller: Caller) -> Result<Attr, FsError> {
        Ok(Attr { ino: at.ino(), ..entry::attr(mount, &self.0.entry(TextForm::PlainJson))? })
    }

    fn text(&self, _at: &Special, mount: &Mount, _caller: Caller) -> Result<Vec<u8>, FsError> {
        let (text, stat) = entry::text(mount, &self.0.entry(TextForm::PlainJson))?;
        if stat.version == self.1 { Ok(text) } else { Err(FsError::OtherVersion) }
    }

    fn open_writer(&self, at: &SpecialNode, host: &Arc<dyn Host>, caller: Caller, flags: OpenFlags) -> Result<Handle, FsError> {
        let target = entry::target(host.mount(), &Node::Entry(Box::new(self.0.entry(TextForm::PlainJson))))?;
        let writer = ItemWriter::stream_replacing(target, Opener { pid: caller.pid, append: flags.append }, self.1);
        Ok(Handle::Item(Arc::new(OpenText::new(at.ino(), at.path.clone(), caller.pid, writer))))
    }
}
