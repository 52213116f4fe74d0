//! `<Table>/stream/follow`: every change from the open on. A read waits for the next one (`view/waiting.rs`).

use std::sync::Arc;

use parking_lot::Mutex;

use super::newest::of_table;
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::mount::stream::line;
use crate::fs::mount::stream::records::Records;
use crate::fs::open::handle::Handle;
use crate::fs::open::host::Host;
use crate::fs::open::special::OpenSpecial;
use crate::fs::open::{Bytes, Reply};
use crate::fs::process::Caller;
use crate::model::TableName;
use crate::model::api::ShardPosition;

/// Records read ahead of the reader.
const RECORDS_MAX: u32 = 100;

/// OPEN of a reader.
pub fn open(mount: &Mount, table: &TableName) -> Result<Handle, FsError> {
    let records = Records::at(&*mount.db, of_table(mount, table)?, ShardPosition::Latest)?;
    let ahead = Mutex::new(Ahead { records, bytes: Vec::new() });
    Ok(Handle::Special(Arc::new(OpenFollow { table: table.clone(), ahead })))
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
        for record in ahead.records.next(&*mount.db, RECORDS_MAX)? {
            line::write(&record, &mut ahead.bytes);
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

    fn read(self: Arc<Self>, host: &Arc<dyn Host>, caller: Caller, _offset: u64, size: usize, reply: Reply<Bytes>) {
        if size == 0 {
            return reply(Ok(Bytes::own(Vec::new())));
        }
        Arc::clone(host).wait(caller, Box::new(move |mount| self.take(mount, size)), reply);
    }
}
