//! `<Table>/stream/`: the changes of a table's items, from its stream. For lookup only; what is below it is listed unless it blocks.
//!
//! ```text
//! log.ndjson           today's changes (UTC), as `mount/stream.rs` counts them: a file that only grows
//! follow               every change from the open on: a read waits for the next one (`open/host/threads.rs`). Never listed
//! since/<seq>.ndjson   changes after a sequence number. Never listed
//! ```
//! A table has a new stream each time one is enabled; these files are of the newest. What is read of it, and the lines, are in
//! `mount/stream`.

use super::help;
use crate::fs::{
    mount::stream::{DAY_MS, Log, LogName, Records, after, write_line},
    node::special::Effort,
    open::{computed::Producer, found::Names, host::noted, prelude::*, text::OpenSpecial},
};
use crate::model::api::{ShardPosition, StreamName};

const LOG_NAME: &str = "log.ndjson";
const SINCE_SUFFIX: &str = ".ndjson";
/// Records of one page of a file in `since/`.
const PAGE_RECORDS: u32 = 1_000;
/// Records read ahead of the reader of `follow`.
const AHEAD_RECORDS_MAX: u32 = 100;

const NAMES: Names<Special> = Names(&[
    (LOG_NAME, true, |mount, at| {
        Ok(log_at(at, of_table(mount, at.of_table()?)?, now_ms()))
    }),
    ("follow", false, |mount, at| {
        of_table(mount, at.of_table()?)
            .map(|_| at.child("follow", Follow).taking(Effort::Waits).into())
    }),
    ("since", false, |_, at| {
        Ok(at.child_directory("since", SinceDirectory).into())
    }),
    (HELP_NAME, false, |_, at| {
        Ok(help::node(&at.path, help::STREAM, at.source.clone()))
    }),
]);

/// `stream/` of that table.
#[must_use]
pub fn node(table: &TableName) -> Node {
    Special::directory_in_table(table, STREAM_NAME, Directory).into()
}

/// The newest stream of a table.
fn of_table(mount: &Mount, table: &TableName) -> Result<StreamName, FsError> {
    let description = mount.db.describe(table)?.ok_or(FsError::NotFound)?;
    match description.latest_stream_label {
        Some(label) => Ok(StreamName {
            table_name: table.clone(),
            label,
        }),
        None => Err(FsError::Clause {
            message: format!("the table {table} has no stream: its changes are not recorded"),
            hint: format!(
                "enable one: echo '{{\"TableName\":\"{table}\",\"StreamSpecification\":{{\"StreamEnabled\":true,\"StreamViewType\":\"NEW_AND_OLD_IMAGES\"}}}}' > .ddb/api/UpdateTable"
            ),
        }),
    }
}

struct Directory;

impl Room for Directory {
    fn resolve(&self, at: &SpecialNode, mount: &Mount, name: &str) -> Result<Node, FsError> {
        NAMES.resolve(mount, at, name)
    }

    /// Without a stream there is nothing to list; a lookup says how to get one.
    fn list(&self, at: &SpecialNode, mount: &Mount) -> Result<Vec<Listed>, FsError> {
        NAMES.list(mount, at)
    }
}

/// `log.ndjson` of a stream and a day, in days since the epoch.
struct LogFile(LogName);

/// The first look counts all of the day's records. Another day or stream is another file under the same name.
fn log_at(directory: &Special, stream: StreamName, now_ms: u64) -> Node {
    let day = now_ms / DAY_MS;
    let identity = format!("{}/{}/{}/{day}", directory.path, LOG_NAME, stream.label);
    directory
        .child(LOG_NAME, LogFile(LogName { stream, day }))
        .told_by(identity)
        .taking(Effort::TableNow)
        .into()
}

impl LogFile {
    fn look(&self, mount: &Mount) -> Result<Arc<Mutex<Log>>, FsError> {
        let log = mount.logs.get(&self.0);
        log.lock().look(&*mount.db)?;
        Ok(log)
    }
}

impl Room for LogFile {
    fn attr(&self, _at: &Special, mount: &Mount) -> Result<Attr, FsError> {
        let log = self.look(mount)?;
        let log = log.lock();
        Ok(Attr::read_only(log.bytes, log.modified_ms))
    }

    fn open_reader(&self, at: &SpecialNode, host: &Host) -> Result<Handle, FsError> {
        Ok(Handle::Special(Arc::new(OpenLog {
            path: at.path.clone(),
            log: self.look(&host.mount)?,
        })))
    }
}

#[derive(Debug)]
struct OpenLog {
    path: String,
    log: Arc<Mutex<Log>>,
}

impl OpenSpecial for OpenLog {
    fn read(self: Arc<Self>, host: &Host, offset: u64, size: usize, reply: Reply<Bytes>) {
        let again = host.clone();
        host.run_long(Box::new(move || {
            let read = self
                .log
                .lock()
                .read(&*again.mount.db, offset, size)
                .map(Bytes::own);
            reply(noted(&again, "read", || self.path.clone(), read));
        }));
    }
}

struct SinceDirectory;

impl Room for SinceDirectory {
    fn resolve(&self, at: &SpecialNode, _mount: &Mount, name: &str) -> Result<Node, FsError> {
        let position = after(name.strip_suffix(SINCE_SUFFIX).ok_or(FsError::NotFound)?)?;
        Ok(at
            .child(name, Since(position))
            .taking(Effort::Computed)
            .into())
    }

    fn list(&self, _at: &SpecialNode, _mount: &Mount) -> Result<Vec<Listed>, FsError> {
        Ok(Vec::new())
    }
}

struct Since(ShardPosition);

impl Room for Since {
    fn modified_ms(&self, at: &Special, mount: &Mount) -> Result<u64, FsError> {
        of_table(mount, at.of_table()?)?;
        mount.table_time(at.of_table()?)
    }

    fn producer(&self, at: &Special, mount: &Mount) -> Result<Box<dyn Producer>, FsError> {
        Ok(Box::new(Reading(Records::at(
            &*mount.db,
            of_table(mount, at.of_table()?)?,
            self.0,
        )?)))
    }
}

/// Lines are made a page of records at a time, as far as there are any then.
#[derive(Debug)]
struct Reading(Records);

impl Producer for Reading {
    fn advance(
        &mut self,
        mount: &Mount,
        _bills: &mut Vec<Bill>,
        out: &mut Vec<u8>,
    ) -> Result<bool, FsError> {
        let page = self.0.next(&*mount.db, PAGE_RECORDS)?;
        page.iter().for_each(|record| write_line(record, out));
        Ok(!page.is_empty())
    }
}

struct Follow;

impl Room for Follow {
    fn modified_ms(&self, _at: &Special, mount: &Mount) -> Result<u64, FsError> {
        Ok(mount.started_ms)
    }

    fn open_reader(&self, at: &SpecialNode, host: &Host) -> Result<Handle, FsError> {
        let (mount, table) = (&host.mount, at.of_table()?);
        let records = Records::at(&*mount.db, of_table(mount, table)?, ShardPosition::Latest)?;
        let ahead = Mutex::new(Ahead {
            records,
            bytes: Vec::new(),
        });
        Ok(Handle::Special(Arc::new(OpenFollow {
            table: table.clone(),
            ahead,
        })))
    }
}

#[derive(Debug)]
struct OpenFollow {
    table: TableName,
    ahead: Mutex<Ahead>,
}

#[derive(Debug)]
struct Ahead {
    records: Records,
    /// Lines, or the rest of one, that the reader has not taken yet.
    bytes: Vec<u8>,
}

impl OpenFollow {
    /// What there is to read now, if anything.
    fn take(&self, mount: &Mount, size: usize) -> Result<Option<Vec<u8>>, FsError> {
        let mut ahead = self.ahead.lock();
        if ahead.bytes.is_empty() {
            self.fill(&mut ahead, mount)?;
        }
        let count = size.min(ahead.bytes.len());
        let taken: Vec<u8> = ahead.bytes.drain(..count).collect();
        Ok((!taken.is_empty()).then_some(taken))
    }

    fn fill(&self, ahead: &mut Ahead, mount: &Mount) -> Result<(), FsError> {
        for record in ahead.records.next(&*mount.db, AHEAD_RECORDS_MAX)? {
            write_line(&record, &mut ahead.bytes);
        }
        if ahead.bytes.is_empty() && ahead.records.is_ended() {
            // It was disabled; of a new one every record is news.
            let newest = of_table(mount, &self.table)?;
            if newest != *ahead.records.stream() {
                ahead.records = Records::at(&*mount.db, newest, ShardPosition::TrimHorizon)?;
            }
        }
        Ok(())
    }
}

impl OpenSpecial for OpenFollow {
    fn held_bytes(&self) -> Option<usize> {
        self.ahead.try_lock().map(|ahead| ahead.bytes.capacity())
    }

    fn reads_ahead(&self) -> bool {
        true
    }

    fn read(self: Arc<Self>, host: &Host, _offset: u64, size: usize, reply: Reply<Bytes>) {
        if size == 0 {
            return reply(Ok(Bytes::own(Vec::new())));
        }
        host.wait(Box::new(move |mount| self.take(mount, size)), reply);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TableName;

    #[test]
    fn another_day_and_another_stream_are_other_files() {
        let table = TableName::new("Log").unwrap();
        let stream = StreamName {
            table_name: table.clone(),
            label: "2026-01-02T03:04:05.678".to_owned(),
        };
        let Node::Special(directory) = node(&table) else {
            panic!("stream/ is special")
        };
        let ino =
            |stream: &StreamName, now_ms: u64| log_at(&directory, stream.clone(), now_ms).ino();
        let today = now_ms() / DAY_MS;
        assert_eq!(
            ino(&stream, today * DAY_MS),
            ino(&stream, (today + 1) * DAY_MS - 1)
        );
        assert_ne!(
            ino(&stream, today * DAY_MS),
            ino(&stream, (today + 1) * DAY_MS)
        );
        let renewed = StreamName {
            label: "2030-01-01T00:00:00.000".to_owned(),
            ..stream.clone()
        };
        assert_ne!(ino(&stream, today * DAY_MS), ino(&renewed, today * DAY_MS));
    }
}
