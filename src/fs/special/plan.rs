//! `<Table>/schema.plan`: what writing a definition would do, for lookup only. Written as `schema.json` is, read back as ordered steps
//! and refusals; each session reads its own.

use super::schema;
use crate::fs::open::prelude::*;
use crate::fs::write::schema_change::PlanTarget;
use crate::fs::{mount::text::pretty, open::room::open_text, process::session_of};

/// The plan that the caller's session made last, or how to make one.
pub fn text(mount: &Mount, at: &Special, caller: Caller) -> Result<Vec<u8>, FsError> {
    let table = at.of_table()?;
    let plan = mount.plans.lock().get(&(table.clone(), session_of(caller.pid)), now_ms()).cloned();
    Ok(plan.unwrap_or_else(|| {
        pretty(&json!({
            "table": table.as_str(),
            "would": "change nothing",
            "steps": [],
            "refusals": [],
            "hint": "write a definition here as into schema.json, then read what that would do; nothing is done",
        }))
    }))
}

/// OPEN of a writer.
pub fn open(host: &Arc<Host>, at: &SpecialNode, caller: Caller, flags: OpenFlags) -> Result<Handle, FsError> {
    let target = PlanTarget(schema::target(host.mount(), at.of_table()?)?);
    Ok(open_text((at.ino(), at.path.clone()), caller, flags, target, None))
}
