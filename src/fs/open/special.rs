//! What may be called on an open file that is neither an item nor a text as it is.

use std::fmt;

use super::host::Host;
use super::text::{Call, Execute, OpenText, run};
use super::{Bytes, Reply};

use crate::fs::prelude::*;

/// An open special file. Every call is answered through its reply, now or later, from any thread.
pub trait OpenSpecial: fmt::Debug + Send + Sync {
    /// READ: the bytes at `offset`, fewer than `size` only at the end.
    fn read(self: Arc<Self>, _host: &Arc<dyn Host>, _caller: Caller, _offset: u64, _size: usize, reply: Reply<Bytes>) {
        reply(Ok(Bytes::own(Vec::new())));
    }

    /// WRITE of all of the data, SETATTR of the size through this handle, FLUSH of a descriptor that is closed, FSYNC, and RELEASE, of whose
    /// failure nobody hears but the log.
    fn call(self: Arc<Self>, _host: &Arc<dyn Host>, _caller: Caller, call: Call, reply: Reply<()>) {
        reply(call.of_nothing());
    }

    /// Bytes, as this handle sees the file; `None` is as everybody sees it.
    fn size(&self) -> Option<u64> {
        None
    }

    /// Bytes of memory that it holds until it is closed: asked after each call. `None` while a call makes it hold more.
    fn held_bytes(&self) -> Option<usize> {
        Some(0)
    }

    /// Does a read make it hold more?
    fn reads_ahead(&self) -> bool {
        false
    }
}

impl<T: Execute<dyn Host> + fmt::Debug + Sync> OpenSpecial for OpenText<T>
where
    T::Request: Send,
{
    fn read(self: Arc<Self>, _host: &Arc<dyn Host>, _caller: Caller, offset: u64, size: usize, reply: Reply<Bytes>) {
        let bytes = self.state.lock().writer.read(offset, size).to_vec();
        reply(Ok(Bytes::own(bytes)));
    }

    fn call(self: Arc<Self>, host: &Arc<dyn Host>, caller: Caller, call: Call, reply: Reply<()>) {
        let reply = if matches!(call, Call::Release) { logged(reply, self.path.clone()) } else { reply };
        run(host, caller, &self, call, reply);
    }

    fn size(&self) -> Option<u64> {
        Some(self.state.lock().writer.len() as u64)
    }

    fn held_bytes(&self) -> Option<usize> {
        Some(Self::held_bytes(self))
    }
}

/// The reply to a RELEASE, whose failure nobody else hears of.
pub fn logged(reply: Reply<()>, path: String) -> Reply<()> {
    Box::new(move |ended| {
        if let Err(error) = &ended {
            log::warn!("{path}: text left at the last close was not stored: {error}");
        }
        reply(ended);
    })
}
