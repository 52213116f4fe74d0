//! What may be called on an open file that is neither an item nor a text as it is.

use std::fmt;
use std::sync::Arc;

use super::host::Host;
use super::text::{Call, Execute, OpenText, run};
use super::{Bytes, Reply};
use crate::fs::FsError;
use crate::fs::process::Caller;

/// An open special file. Every call is answered through its reply, now or later, from any thread.
pub trait OpenSpecial: fmt::Debug + Send + Sync {
    /// READ: the bytes at `offset`, fewer than `size` only at the end.
    fn read(self: Arc<Self>, _host: &Arc<dyn Host>, _caller: Caller, _offset: u64, _size: usize, reply: Reply<Bytes>) {
        reply(Ok(Bytes::own(Vec::new())));
    }

    /// WRITE: all of `data`, or an error.
    fn write(self: Arc<Self>, _host: &Arc<dyn Host>, _caller: Caller, _offset: u64, _data: &[u8], reply: Reply<()>) {
        reply(Err(FsError::BadHandle));
    }

    /// SETATTR of the size through this handle.
    fn truncate(self: Arc<Self>, _host: &Arc<dyn Host>, _caller: Caller, _size: u64, reply: Reply<()>) {
        reply(Ok(()));
    }

    /// FLUSH: a descriptor is closed.
    fn flush(self: Arc<Self>, _host: &Arc<dyn Host>, _caller: Caller, reply: Reply<()>) {
        reply(Ok(()));
    }

    /// FSYNC.
    fn fsync(self: Arc<Self>, _host: &Arc<dyn Host>, _caller: Caller, reply: Reply<()>) {
        reply(Ok(()));
    }

    /// RELEASE: nobody hears of a failure but the log.
    fn release(self: Arc<Self>, _host: &Arc<dyn Host>, _caller: Caller, reply: Reply<()>) {
        reply(Ok(()));
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

    fn write(self: Arc<Self>, host: &Arc<dyn Host>, caller: Caller, offset: u64, data: &[u8], reply: Reply<()>) {
        run(host, caller, &self, Call::Write { offset, data: data.to_vec() }, reply);
    }

    fn truncate(self: Arc<Self>, host: &Arc<dyn Host>, caller: Caller, size: u64, reply: Reply<()>) {
        run(host, caller, &self, Call::Truncate(size), reply);
    }

    fn flush(self: Arc<Self>, host: &Arc<dyn Host>, caller: Caller, reply: Reply<()>) {
        run(host, caller, &self, Call::Flush, reply);
    }

    fn fsync(self: Arc<Self>, host: &Arc<dyn Host>, caller: Caller, reply: Reply<()>) {
        run(host, caller, &self, Call::Fsync, reply);
    }

    fn release(self: Arc<Self>, host: &Arc<dyn Host>, caller: Caller, reply: Reply<()>) {
        let reply = logged(reply, self.path.clone());
        run(host, caller, &self, Call::Release, reply);
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
