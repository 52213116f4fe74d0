//! `<Table>/ttl`: time to live. Reading shows it and what goes next; a write enables or disables it.

use crate::codec::calendar;
use crate::fs::mount::text::pretty;
use crate::fs::open::prelude::*;
use crate::model::Word;
use crate::model::api::DescribeTimeToLiveRequest;
use crate::model::api::{DescribeTimeToLiveResponse, TimeToLiveSpecification, UpdateTimeToLiveRequest};

/// Items shown that go next.
const NEXT_MAX: usize = 20;

/// What it says when it is read.
pub fn text(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    let table = at.of_table()?;
    let described = describe(mount, table)?;
    let shown = |(ms, key)| json!({"expires": calendar::iso(ms), "item": names::item_path(&key)});
    let next: Option<Vec<Value>> = match mount.db.expiring(table, NEXT_MAX) {
        Err(Error::Unavailable(_)) => None,
        next => Some(next?.into_iter().map(shown).collect()),
    };
    Ok(pretty(&json!({"status": described.status.word(), "attribute": described.attribute_name, "next": next})))
}

fn describe(mount: &Mount, table: &TableName) -> Result<DescribeTimeToLiveResponse, FsError> {
    Ok(mount.db.describe_time_to_live(DescribeTimeToLiveRequest { table_name: table.clone() })?)
}

/// Does what one write says.
pub fn command(host: &Arc<Host>, at: &Special, data: &[u8]) -> Result<(), FsError> {
    const USAGE: FsError =
        FsError::Invalid("write: enable ATTRIBUTE, the attribute that holds the time in seconds since 1970; or: disable");
    let (mount, table) = (host.mount(), at.of_table()?);
    let text = std::str::from_utf8(data).map_err(|_| USAGE)?.trim();
    let (enabled, attribute_name) = match text.split_once(char::is_whitespace) {
        None if text.is_empty() => return Ok(()),
        Some(("enable", attribute)) => (true, attribute.trim().to_owned()),
        None if text == "disable" => {
            let current = describe(mount, table)?.attribute_name;
            (false, current.ok_or(FsError::Invalid("time to live is not enabled"))?)
        }
        _ => return Err(USAGE),
    };
    let specification = TimeToLiveSpecification { enabled, attribute_name };
    mount.db.update_time_to_live(UpdateTimeToLiveRequest { table_name: table.clone(), specification })?;
    Ok(())
}
