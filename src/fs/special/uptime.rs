//! `.ddb/uptime`: for how long this mount has been there, seconds. Its time is when it began.

use crate::fs::open::prelude::*;

/// See the module.
pub struct Uptime;

impl Room for Uptime {
    fn text(&self, _at: &Special, mount: &Mount, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(format!("{}\n", now_ms().saturating_sub(mount.started_ms) / 1000).into_bytes())
    }
}
