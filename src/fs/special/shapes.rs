//! `<Table>/shapes.md` and `shapes.json`: what its items look like.

use crate::fs::mount::text::pretty;
use crate::fs::open::prelude::*;
use crate::fs::path::names::item_path;
use crate::inspect::shapes;

pub fn markdown(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    let table = at.of_table()?;
    Ok(shapes::markdown(&*mount.shapes.get(&*mount.db, table)?, item_path).into_bytes())
}

pub fn json(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    let table = at.of_table()?;
    Ok(pretty(&shapes::json(&*mount.shapes.get(&*mount.db, table)?, item_path)))
}
