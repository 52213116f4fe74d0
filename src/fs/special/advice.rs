//! `<Table>/advice.md`: what its data says about its keys and indexes.

use crate::fs::open::prelude::*;
use crate::inspect::advice::{Facts, markdown};
use crate::inspect::look::SAMPLE_HELD_BYTES_MAX;
use crate::store::budget::PATIENCE;

const NOT_COUNTED: &str =
    "advice is made of what item collections hold, which no service counts; `ddbfs pull` the table and read its advice.md there";

pub fn text(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    let table = at.of_table()?;
    if mount.db.charges_looks() {
        return Err(Error::Unavailable(NOT_COUNTED).into());
    }
    let _memory = mount.requests.wait_blocking(SAMPLE_HELD_BYTES_MAX, PATIENCE).map_err(|_| Error::TooManyValues)?;
    let facts = Facts::read(&*mount.db, table)?.ok_or(FsError::NotFound)?;
    Ok(markdown(&facts).into_bytes())
}
