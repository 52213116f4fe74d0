//! `<Table>/stream/log.ndjson`: today's changes (UTC), as `mount/stream/log.rs` counts them.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::mount::stream::log::{DAY_MS, Log, LogName};
use crate::fs::node::Node;
use crate::fs::node::attr::Attr;
use crate::fs::node::special::{Effort, Feature, Special, StreamFile};
use crate::fs::open::handle::Handle;
use crate::fs::open::host::{Host, noted};
use crate::fs::open::special::OpenSpecial;
use crate::fs::open::{Bytes, Reply};
use crate::fs::process::Caller;
use crate::fs::time::now_ms;
use crate::model::api::StreamName;

/// The name in `stream/`.
pub const NAME: &str = "log.ndjson";

/// Today's, of that stream.
pub fn node(directory: &Special, stream: StreamName) -> Node {
    of_time(directory, stream, now_ms())
}

/// The first look counts all of the day's records. Another day or stream is another file under the same name.
fn of_time(directory: &Special, stream: StreamName, now_ms: u64) -> Node {
    let day = now_ms / DAY_MS;
    let identity = format!("{}/{}/{}/{day}", directory.path, NAME, stream.label);
    let log = directory.child(NAME, Feature::Stream(StreamFile::Log(stream, day)));
    log.told_by(identity).taking(Effort::TableNow).into()
}

fn log_of(mount: &Mount, stream: &StreamName, day: u64) -> Result<Arc<Mutex<Log>>, FsError> {
    let log = mount.logs.get(&LogName { stream: stream.clone(), day });
    log.lock().look(&*mount.db)?;
    Ok(log)
}

pub fn attr(at: &Special, mount: &Mount, stream: &StreamName, day: u64) -> Result<Attr, FsError> {
    let log = log_of(mount, stream, day)?;
    let log = log.lock();
    Ok(Attr::read_only(at.ino(), log.bytes, log.modified_ms))
}

/// OPEN of a reader.
pub fn open(at: &Special, mount: &Mount, stream: &StreamName, day: u64) -> Result<Handle, FsError> {
    let log = log_of(mount, stream, day)?;
    Ok(Handle::Special(Arc::new(OpenLog { path: at.path.clone(), log })))
}

#[derive(Debug)]
struct OpenLog {
    path: String,
    log: Arc<Mutex<Log>>,
}

impl OpenSpecial for OpenLog {
    fn read(self: Arc<Self>, host: &Arc<dyn Host>, caller: Caller, offset: u64, size: usize, reply: Reply<Bytes>) {
        let again = Arc::clone(host);
        host.run_long(Box::new(move || {
            let read = self.log.lock().read(&*again.mount().db, offset, size).map(Bytes::own);
            reply(noted(&*again, caller, "read", || self.path.clone(), read));
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TableName;

    #[test]
    fn another_day_and_another_stream_are_other_files() {
        let table = TableName::new("Log").unwrap();
        let stream = StreamName { table_name: table.clone(), label: "2026-01-02T03:04:05.678".to_owned() };
        let Node::Special(directory) = super::super::node(&table) else { panic!("stream/ is special") };
        let ino = |stream: &StreamName, now_ms: u64| of_time(&directory, stream.clone(), now_ms).ino();
        let today = now_ms() / DAY_MS;
        assert_eq!(ino(&stream, today * DAY_MS), ino(&stream, (today + 1) * DAY_MS - 1));
        assert_ne!(ino(&stream, today * DAY_MS), ino(&stream, (today + 1) * DAY_MS));
        let renewed = StreamName { label: "2030-01-01T00:00:00.000".to_owned(), ..stream.clone() };
        assert_ne!(ino(&stream, today * DAY_MS), ino(&renewed, today * DAY_MS));
    }
}
