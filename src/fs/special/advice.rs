//! `<Table>/advice.md`: what its data says about its keys and indexes.

use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::special::Special;
use crate::fs::process::Caller;
use crate::inspect::advice::{Facts, markdown};

pub fn text(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    let table = at.table().ok_or(FsError::NotFound)?;
    let facts = Facts::read(&*mount.db, table)?.ok_or(FsError::NotFound)?;
    Ok(markdown(&facts).into_bytes())
}
