//! `X.<etag>.casjson`: the item, put if it is still of that version. Where the version comes from: `X.meta`, `user.ddb.etag`.

use crate::fs::open::prelude::*;
use crate::fs::source::entry;
use crate::fs::write::{ItemWriter, Opener};

pub struct Replacing(pub EntryNode, pub Version);

impl Room for Replacing {
    /// There as long as the item is, so that a write to a version that is gone says so.
    fn attr(&self, _at: &Special, mount: &Mount, _caller: Caller) -> Result<Attr, FsError> {
        entry::attr(mount, &self.0)
    }

    fn text(&self, _at: &Special, mount: &Mount, _caller: Caller) -> Result<Vec<u8>, FsError> {
        let (text, stat) = entry::text(mount, &self.0)?;
        if stat.version == self.1 { Ok(text) } else { Err(FsError::OtherVersion) }
    }

    fn open_writer(&self, at: &SpecialNode, host: &Arc<Host>, caller: Caller, flags: OpenFlags) -> Result<Handle, FsError> {
        let target = entry::target(host.mount(), &Node::Entry(Box::new(self.0.clone())))?;
        let writer = ItemWriter::stream_replacing(target, Opener { pid: caller.pid, append: flags.append }, self.1);
        Ok(Handle::Item(Arc::new(OpenText::new(at.ino(), at.path.clone(), caller.pid, writer))))
    }
}
