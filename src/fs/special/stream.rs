//! `<Table>/stream/`: the changes of a table's items, from its stream. It is for lookup only; a
//! name below it is listed unless it blocks.
//!
//! ```text
//! log.ndjson           today's changes (UTC), as `mount/stream_log.rs` counts them: a file that only grows
//! follow               every change from the open on: a read waits for the next one (`open/host/threads.rs`). Never listed
//! since/<seq>.ndjson   changes after a sequence number. Never listed
//! ```
//! A table has a new stream each time one is enabled; these files are of the newest.
//! `mount/stream_log.rs` reads it and makes the lines.

use super::help;
use crate::fs::{
    mount::stream_log::{DAY_MS, LogName, StreamLog, StreamReader, position_after, write_line},
    node::special::ReadCost,
    open::{
        computed::Producer, dirent::FixedDir, host::threads::LastRead, prelude::*,
        text::SpecialHandle,
    },
};
use crate::model::api::{ShardPosition, StreamName};

const LOG_NAME: &str = "log.ndjson";
const SINCE_SUFFIX: &str = ".ndjson";
/// Records of one page of a file in `since/`.
const PAGE_RECORDS: u32 = 1_000;
/// The most records prefetched for the reader of `follow`.
const PREFETCH_RECORDS_MAX: u32 = 100;

const NAMES: FixedDir<Special> = FixedDir(&[
    (LOG_NAME, true, |mount, at| {
        Ok(log_node(
            at,
            latest_stream(mount, at.try_table()?)?,
            now_ms(),
        ))
    }),
    ("follow", false, |mount, at| {
        latest_stream(mount, at.try_table()?).map(|_| {
            at.child("follow", FollowFile)
                .with_cost(ReadCost::Blocking)
                .into()
        })
    }),
    ("since", false, |_, at| {
        Ok(at.child_directory("since", SinceDirectory).into())
    }),
    (HELP_NAME, false, |_, at| {
        Ok(help::node(&at.path, help::STREAM, at.source.clone()))
    }),
]);

/// Returns `stream/` of that table.
#[must_use]
pub fn node(table: &TableName) -> Node {
    Special::directory_in_table(table, STREAM_NAME, StreamDir).into()
}

/// Returns the newest stream of a table.
fn latest_stream(mount: &Mount, table: &TableName) -> Result<StreamName, FsError> {
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

struct StreamDir;

impl NodeOps for StreamDir {
    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node> {
        NAMES.resolve(&at, at.node, name)
    }

    /// Lists the fixed names. Without a stream the listing is the same; a lookup fails with the way
    /// to enable one.
    fn list(&self, at: At<'_>) -> Result<Vec<OwnedDirent>, FsError> {
        NAMES.list(&at, at.node)
    }
}

/// `log.ndjson` of a stream and a day, in days since the epoch.
struct LogFile(LogName);

/// Returns the log of today. The first read counts all of the day's records. Another day or stream
/// is another file under the same name.
fn log_node(directory: &Special, stream: StreamName, now_ms: u64) -> Node {
    let day = now_ms / DAY_MS;
    let identity = format!("{}/{}/{}/{day}", directory.path, LOG_NAME, stream.label);
    directory
        .child(LOG_NAME, LogFile(LogName { stream, day }))
        .with_identity(identity)
        .with_cost(ReadCost::TableLive)
        .into()
}

impl LogFile {
    fn refresh(&self, mount: &Mount) -> Result<Arc<Mutex<StreamLog>>> {
        let log = mount.stream_logs.get(&self.0);
        log.lock().refresh(&*mount.db)?;
        Ok(log)
    }
}

impl NodeOps for LogFile {
    fn attr(&self, at: At<'_>) -> Result<Attr> {
        let log = self.refresh(&at)?;
        let log = log.lock();
        Ok(Attr::read_only(log.bytes, log.modified_ms))
    }

    fn open_reader(&self, at: HostAt<'_>) -> Result<Handle> {
        Ok(Handle::Special(Arc::new(OpenLog(self.refresh(&at.mount)?))))
    }
}

#[derive(Debug)]
struct OpenLog(Arc<Mutex<StreamLog>>);

impl SpecialHandle for OpenLog {
    fn read(self: Arc<Self>, host: &Host, offset: u64, size: usize, reply: Reply<ReadBytes>) {
        let host_clone = host.clone();
        host.run_long(move || {
            let read = self.0.lock().read(&*host_clone.mount.db, offset, size);
            reply(read.map(ReadBytes::owned));
        });
    }
}

struct SinceDirectory;

impl NodeOps for SinceDirectory {
    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node> {
        let position = position_after(name.strip_suffix(SINCE_SUFFIX).ok_or(FsError::NotFound)?)?;
        Ok(at
            .node
            .child(name, SinceFile(position))
            .with_cost(ReadCost::Computed)
            .into())
    }

    fn list(&self, _at: At<'_>) -> Result<Vec<OwnedDirent>> {
        Ok(Vec::new())
    }
}

struct SinceFile(ShardPosition);

impl NodeOps for SinceFile {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        latest_stream(&at, at.node.try_table()?)?;
        at.table_created_ms(at.node.try_table()?)
    }

    fn producer(&self, at: At<'_>) -> Result<Box<dyn Producer>> {
        Ok(Box::new(StreamProducer(StreamReader::open(
            &*at.db,
            latest_stream(&at, at.node.try_table()?)?,
            self.0,
        )?)))
    }
}

/// Makes lines a page of records at a time, up to the last record of that moment.
#[derive(Debug)]
struct StreamProducer(StreamReader);

impl Producer for StreamProducer {
    fn produce(
        &mut self,
        mount: &Mount,
        _charges: &mut Vec<DeferredCharge>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let page = self.0.next(&*mount.db, PAGE_RECORDS)?;
        page.iter().for_each(|record| write_line(record, out));
        Ok(!page.is_empty())
    }
}

struct FollowFile;

impl NodeOps for FollowFile {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        Ok(at.started_ms)
    }

    fn open_reader(&self, at: HostAt<'_>) -> Result<Handle> {
        let (mount, table) = (&at.mount, at.node.try_table()?);
        let records = StreamReader::open(
            &*mount.db,
            latest_stream(mount, table)?,
            ShardPosition::Latest,
        )?;
        let buffer = Mutex::new(FollowBuffer {
            records,
            bytes: Vec::new(),
        });
        Ok(Handle::Special(Arc::new(OpenFollow {
            table: table.clone(),
            buffer,
            last_read: LastRead::default(),
        })))
    }
}

#[derive(Debug)]
struct OpenFollow {
    table: TableName,
    buffer: Mutex<FollowBuffer>,
    last_read: LastRead,
}

#[derive(Debug)]
struct FollowBuffer {
    records: StreamReader,
    /// Lines, or the rest of one, that the reader has not taken yet.
    bytes: Vec<u8>,
}

impl OpenFollow {
    /// Returns the lines that can be read now, if there are any.
    fn take(&self, mount: &Mount, size: usize) -> Result<Option<Vec<u8>>, FsError> {
        let mut ahead = self.buffer.lock();
        if ahead.bytes.is_empty() {
            self.fill(&mut ahead, mount)?;
        }
        let count = size.min(ahead.bytes.len());
        let taken: Vec<u8> = ahead.bytes.drain(..count).collect();
        Ok((!taken.is_empty()).then_some(taken))
    }

    fn fill(&self, buffer: &mut FollowBuffer, mount: &Mount) -> Result<()> {
        for record in buffer.records.next(&*mount.db, PREFETCH_RECORDS_MAX)? {
            write_line(&record, &mut buffer.bytes);
        }
        if buffer.bytes.is_empty() && buffer.records.is_ended() {
            // The stream was disabled; every record of a new one is unread.
            let newest = latest_stream(mount, &self.table)?;
            if newest != *buffer.records.stream() {
                buffer.records =
                    StreamReader::open(&*mount.db, newest, ShardPosition::TrimHorizon)?;
            }
        }
        Ok(())
    }
}

impl SpecialHandle for OpenFollow {
    fn held_bytes(&self) -> Option<usize> {
        Some(self.buffer.try_lock()?.bytes.capacity() + self.last_read.held_bytes()?)
    }

    fn grows_on_read(&self) -> bool {
        true
    }

    fn read(self: Arc<Self>, host: &Host, offset: u64, size: usize, reply: Reply<ReadBytes>) {
        let awaited =
            move |mount: &Mount| self.last_read.read(offset, size, || self.take(mount, size));
        host.wait_read(Box::new(awaited), reply);
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
            |stream: &StreamName, now_ms: u64| log_node(&directory, stream.clone(), now_ms).ino();
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
