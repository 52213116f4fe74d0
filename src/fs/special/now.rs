//! `.ddb/now`: the present time, in milliseconds since the epoch.

use crate::fs::open::prelude::*;

pub struct Now;

impl NodeOps for Now {
    fn text(&self, _at: &SpecialNode, _mount: &Mount) -> Result<Vec<u8>> {
        Ok(format!("{}\n", now_ms()).into_bytes())
    }
}
