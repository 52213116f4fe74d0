//! Requests that were waited for in vain. Where the kernel looks whether a name that it knows is still good, and hears of an error, it looks the
//! name up anew within the same system call: a program would wait twice as long as a request may take.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::codec::digest::{Digest, digest};
use crate::database::caller::{Caller, caller};
use crate::database::remote::service::is_read;
use crate::model::Error;

/// Who asks the same so soon is the kernel, not a program that tries again.
const AT_ONCE: Duration = Duration::from_secs(3);
/// Threads that wait at a time.
const NOTED_MAX: usize = 64;

/// A request of a thread.
#[derive(Debug, PartialEq, Eq)]
pub struct Of {
    thread: u32,
    request: Digest,
}

/// See the module.
#[derive(Debug, Default)]
pub struct InVain(Mutex<VecDeque<(Of, Instant, Error)>>);

impl InVain {
    /// The request, if it reads and a program waits for it.
    pub fn of(&self, operation: &str, body: &[u8]) -> Option<Of> {
        let Some(Caller::Thread { id, .. }) = caller() else { return None };
        is_read(operation).then(|| Of { thread: id, request: digest(&[operation.as_bytes(), body].concat()) })
    }

    /// It was waited for, and this came of it.
    pub fn note(&self, of: Of, error: Error) {
        let mut noted = self.0.lock();
        noted.push_back((of, Instant::now(), error));
        if noted.len() > NOTED_MAX {
            noted.pop_front();
        }
    }

    /// What came of it a moment ago; told once.
    pub fn take(&self, of: &Of) -> Option<Error> {
        let mut noted = self.0.lock();
        noted.retain(|(_, at, _)| at.elapsed() < AT_ONCE);
        let at = noted.iter().position(|(noted, ..)| noted == of)?;
        noted.remove(at).map(|(.., error)| error)
    }
}
