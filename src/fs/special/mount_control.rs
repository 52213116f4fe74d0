//! `.ddb/ctl`: commands to the mount. One write is one command.

use crate::fs::open::prelude::*;

/// What it says when it is read.
pub const USAGE: &str = "\
flush      perform at once what waits: items renamed away by an editor are deleted, and their texts parked, after 2 seconds
release    end every read that waits (stream/follow, .ddb/accesslog) as at the end of a file, and what waits for a service elsewhere
           with an error, so that the mount can be unmounted
clear      forget .ddb/errors.ndjson, warnings.ndjson and slowlog.ndjson
";

/// Does what one write says.
pub fn command(host: &Arc<Host>, _at: &Special, data: &[u8]) -> Result<(), FsError> {
    match data.trim_ascii() {
        b"" => {}
        b"flush" => host.deletes.flush(),
        b"release" => host.release_waiting(),
        b"clear" => {
            host.mount().journal.clear();
            host.mount().calls.clear();
        }
        _ => return Err(FsError::Invalid("the commands are: flush, release, clear; cat .ddb/ctl says what they do")),
    }
    Ok(())
}
