//! `<Table>/describe.json`: DescribeTable's answer, verbatim.

use crate::codec::wire;
use crate::fs::mount::text::pretty;
use crate::fs::open::prelude::*;

pub fn text(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    let table = at.of_table()?;
    let description = mount.db.describe(table)?.ok_or(FsError::NotFound)?;
    Ok(pretty(&wire::table_description::described(&description)))
}
