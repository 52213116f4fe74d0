//! `X.<etag>.casjson`: the item, put if it is still of that version. Where the version comes from: `X.meta`, `user.ddb.etag`.

use std::sync::Arc;

use super::place::Place;
use crate::database::TextForm;
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::Node;
use crate::fs::node::special::Special;
use crate::fs::open::OpenFlags;
use crate::fs::open::handle::Handle;
use crate::fs::open::text::OpenText;
use crate::fs::process::Caller;
use crate::fs::source::entry;
use crate::fs::write::{ItemWriter, Opener};
use crate::model::api::Version;

pub fn text(place: &Place, version: Version, mount: &Mount) -> Result<Vec<u8>, FsError> {
    let (text, stat) = entry::text(mount, &place.entry(TextForm::PlainJson))?;
    if stat.version == version { Ok(text) } else { Err(FsError::OtherVersion) }
}

pub fn open(
    at: &Special,
    place: &Place,
    version: Version,
    mount: &Mount,
    caller: Caller,
    flags: OpenFlags,
) -> Result<Handle, FsError> {
    let target = entry::target(mount, &Node::Entry(Box::new(place.entry(TextForm::PlainJson))))?;
    let writer = ItemWriter::stream_replacing(target, Opener { pid: caller.pid, append: flags.append }, version);
    Ok(Handle::Item(Arc::new(OpenText::new(at.ino(), at.path.clone(), caller.pid, writer))))
}
