//! `<Table>/shapes.md` and `shapes.json`: what its items look like.

use crate::database::{EntryKey, TextForm};
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::mount::text::pretty;
use crate::fs::node::special::Special;
use crate::fs::path::names::entry_path;
use crate::fs::process::Caller;
use crate::inspect::shapes;
use crate::model::Key;

pub fn markdown(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    let table = at.table().ok_or(FsError::NotFound)?;
    Ok(shapes::markdown(&*mount.shapes.get(&*mount.db, table)?, path).into_bytes())
}

pub fn json(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    let table = at.table().ok_or(FsError::NotFound)?;
    Ok(pretty(&shapes::json(&*mount.shapes.get(&*mount.db, table)?, path)))
}

/// Of an item's file in its table's directory.
#[must_use]
pub fn path(key: &Key) -> String {
    format!("items/{}", entry_path(&EntryKey { index: None, base: key.clone() }, TextForm::PlainJson))
}
