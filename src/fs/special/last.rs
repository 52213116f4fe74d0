//! `.ddb/last/`: the answer to the last call of the reader's own session, as the API would have given it, and what it consumed.

use crate::fs::mount::last::capacity_text;
use crate::fs::open::prelude::*;

/// `.ddb/last/response.json`
pub fn response(mount: &Mount, _at: &Special, caller: Caller) -> Result<Vec<u8>, FsError> {
    Ok(mount.last.of(caller).to_vec())
}

/// `.ddb/last/capacity.json`
pub fn capacity(mount: &Mount, _at: &Special, caller: Caller) -> Result<Vec<u8>, FsError> {
    Ok(capacity_text(&mount.last.of(caller)))
}
