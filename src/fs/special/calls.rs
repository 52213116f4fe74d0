//! `.ddb/accesslog`: every call as it ends, for who reads it at that time.

use crate::fs::mount::calls::{AHEAD_BYTES_MAX, Ahead};
use crate::fs::open::prelude::*;
use crate::fs::open::text::OpenSpecial;

pub struct AccessLog;

impl Room for AccessLog {
    fn open_reader(&self, _at: &SpecialNode, host: &Arc<Host>, _caller: Caller) -> Result<Handle, FsError> {
        Ok(Handle::Special(Arc::new(OpenAccessLog { ahead: host.mount().calls.watch() })))
    }
}

#[derive(Debug)]
struct OpenAccessLog {
    ahead: Arc<Ahead>,
}

impl OpenSpecial for OpenAccessLog {
    /// It grows between calls.
    fn held_bytes(&self) -> Option<usize> {
        Some(AHEAD_BYTES_MAX)
    }

    fn read(self: Arc<Self>, host: &Arc<Host>, caller: Caller, _offset: u64, size: usize, reply: Reply<Bytes>) {
        if size == 0 {
            return reply(Ok(Bytes::own(Vec::new())));
        }
        Arc::clone(host).wait(caller, Box::new(move |_| Ok(self.ahead.take(size))), reply);
    }
}
