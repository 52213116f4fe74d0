//! `<Table>/advice.md`: what its data says about its keys and indexes.

use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::special::Special;
use crate::fs::process::Caller;
use crate::inspect::advice::{Facts, markdown};
use crate::model::Error;

const NOT_COUNTED: &str =
    "advice is made of what item collections hold, which no service counts; `ddbfs pull` the table and read its advice.md there";

pub fn text(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    let table = at.table().ok_or(FsError::NotFound)?;
    if mount.db.charges_looks() {
        return Err(Error::Unavailable(NOT_COUNTED).into());
    }
    let facts = Facts::read(&*mount.db, table)?.ok_or(FsError::NotFound)?;
    Ok(markdown(&facts).into_bytes())
}
