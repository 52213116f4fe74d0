//! `<Table>/ctl`: commands to a table or a draft. One write is one command.

use super::schema;
use crate::fs::open::prelude::*;
use crate::fs::write::{draft, index_draft};
use crate::model::api::DeleteTableRequest;

/// What it says when it is read.
pub const USAGE: &str = "\
create pk:S [sk:N]              make this draft a table
drop                            delete this table with its items
gsi NAME key:S [sort:N] [keys | all | include=a,b]
                                make a global index; rmdir gsi/NAME drops it
gsi-propagation pause | resume  stop the global indexes where they are, and let them go on
";

/// Does what one write says. A table may take long to go: it is done on a thread of its own.
pub fn command(host: &Arc<Host>, at: &Special, data: &[u8]) -> Result<(), FsError> {
    let (mount, table) = (host.mount(), at.of_table()?);
    let text = std::str::from_utf8(data).map_err(|_| FsError::Invalid("a command is text"))?;
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        [] => Ok(()),
        ["drop"] if mount.is_draft(table)? => {
            mount.drafts.lock().drop_draft(table);
            Ok(())
        }
        // During a write the kernel holds the lock of a file.
        ["drop"] => host.drop_table(DeleteTableRequest::new(table.clone()), WaitPolicy::Short),
        ["create", keys @ ..] if !keys.is_empty() => {
            let name = format!("{table}@{}", keys.join(","));
            let request = draft::one_step(&name).ok_or(FsError::NotFound)??;
            Ok(schema::create_table(host, request)?)
        }
        ["gsi", words @ ..] => {
            let request = index_draft::of_words(&*mount.schema(table)?, words)?;
            Ok(super::index_draft::update(mount, request)?)
        }
        ["gsi-propagation", change @ ("pause" | "resume")] => Ok(mount.db.pause_index_propagation(table, *change == "pause")?),
        _ => Err(FsError::Invalid(
            "the commands are: create pk:S [sk:N], drop, gsi NAME key:S [sort:N] [keys | all | include=a,b], gsi-propagation pause | resume",
        )),
    }
}
