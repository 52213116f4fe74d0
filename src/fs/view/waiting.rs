//! Reads that wait until there is something to read: `stream/follow`, `.ddb/accesslog`.
//!
//! | difficulty | solved by |
//! |---|---|
//! | readers may wait for ever, and the event threads serve everybody | one thread of their own asks for all of them, woken by commits; it lives while anybody waits |
//! | the kernel does not return from a read, not even for SIGKILL, before it is answered; FUSE_INTERRUPT does not reach us | a reader's pending signals are in `/proc`: they are looked at each [`SLICE`], and the read then ends with EINTR, as from a pipe |
//! | a reader in another pid namespace shows no signals | its read ends with EINTR each [`BLIND_SLICE`]; most programs read again |
//! | a mount must end while somebody waits | every read then ends as at the end of a file |

use crate::fs::open::host::{Awaited, WAITING_MAX};
use crate::fs::open::prelude::*;
use crate::fs::process::has_signal;
use std::{sync::Weak, time::Instant};

/// How long nobody looks for signals: a reader ends so soon after Ctrl-C.
const SLICE: Duration = Duration::from_millis(200);
/// How long a read waits whose process cannot be looked at.
const BLIND_SLICE: Duration = Duration::from_secs(1);

struct Waiting {
    caller: Caller,
    since: Instant,
    awaited: Awaited,
    reply: Reply<Bytes>,
}

#[derive(Default)]
struct Readers {
    waiting: Vec<Waiting>,
    /// Readers that the thread is looking at.
    in_hand: usize,
    is_served: bool,
    is_ended: bool,
}

/// See the module.
#[derive(Default)]
pub struct WaitingReads {
    readers: Mutex<Readers>,
}

impl std::fmt::Debug for WaitingReads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WaitingReads").field("waiting", &self.readers.lock().waiting.len()).finish_non_exhaustive()
    }
}

impl WaitingReads {
    /// Answers when `awaited` has bytes: at once if it has. Gives the reply back when too many wait already.
    #[must_use]
    pub fn wait(
        self: &Arc<Self>,
        mount: &Arc<Mount>,
        caller: Caller,
        mut awaited: Awaited,
        reply: Reply<Bytes>,
    ) -> Option<Reply<Bytes>> {
        match awaited(mount) {
            Ok(None) => {}
            Ok(Some(bytes)) => {
                reply(Ok(Bytes::own(bytes)));
                return None;
            }
            Err(error) => {
                reply(Err(error));
                return None;
            }
        }
        let mut readers = self.readers.lock();
        if readers.is_ended {
            drop(readers);
            reply(Ok(Bytes::own(Vec::new())));
            return None;
        }
        if readers.waiting.len() + readers.in_hand >= WAITING_MAX {
            return Some(reply);
        }
        readers.waiting.push(Waiting { caller, since: Instant::now(), awaited, reply });
        // Under the lock: a thread that finds nobody waiting says so under it too, and ends.
        if !readers.is_served {
            let (reads, mount) = (Arc::downgrade(self), Arc::downgrade(mount));
            match std::thread::Builder::new().name("ddbfs-waiting".to_owned()).spawn(move || serve(&reads, &mount)) {
                Ok(_) => readers.is_served = true,
                Err(error) => {
                    log::error!("cannot start the thread of waiting reads: {error}");
                    let refused = std::mem::take(&mut readers.waiting);
                    drop(readers);
                    answer_all(refused, &|| Err(FsError::Busy("the system has no thread left")));
                }
            }
        }
        None
    }

    /// Ends every read that waits, now and from now on, as at the end of a file: the mount is to go.
    pub fn end(&self) {
        let mut readers = self.readers.lock();
        readers.is_ended = true;
        let waiting = std::mem::take(&mut readers.waiting);
        drop(readers);
        answer_all(waiting, &|| Ok(Bytes::own(Vec::new())));
    }

    /// Ends every read that waits now, as at the end of a file; later ones wait.
    pub fn release(&self) {
        let waiting = std::mem::take(&mut self.readers.lock().waiting);
        answer_all(waiting, &|| Ok(Bytes::own(Vec::new())));
    }

    /// One look at every reader; false when nobody waits any more.
    fn look_at_all(&self, mount: &Mount) -> bool {
        let looked_at = {
            let mut readers = self.readers.lock();
            // They are taken out, so that a reader's reply or a slow look holds nobody up; counted, so that the limit still
            // holds.
            readers.in_hand = readers.waiting.len();
            std::mem::take(&mut readers.waiting)
        };
        let kept: Vec<Waiting> = looked_at.into_iter().filter_map(|waiting| look(mount, waiting)).collect();
        let mut readers = self.readers.lock();
        readers.in_hand = 0;
        if readers.is_ended {
            drop(readers);
            answer_all(kept, &|| Ok(Bytes::own(Vec::new())));
            return true;
        }
        readers.waiting.extend(kept);
        readers.is_served = !readers.waiting.is_empty();
        readers.is_served
    }
}

fn answer_all(waiting: Vec<Waiting>, answer: &dyn Fn() -> Result<Bytes, FsError>) {
    for reader in waiting {
        (reader.reply)(answer());
    }
}

fn serve(reads: &Weak<WaitingReads>, mount: &Weak<Mount>) {
    loop {
        let (Some(reads), Some(mount)) = (reads.upgrade(), mount.upgrade()) else { return };
        // Asked before the look: a commit during it wakes us at once.
        let commit_id = mount.db.commit_id();
        if !reads.look_at_all(&mount) {
            return;
        }
        if let Err(error) = mount.db.wait_for_commit(commit_id, SLICE) {
            log::warn!("cannot wait for a commit: {error}");
            std::thread::sleep(SLICE);
        }
    }
}

/// Answers a reader if there is something to say; else gives it back.
fn look(mount: &Mount, mut waiting: Waiting) -> Option<Waiting> {
    match (waiting.awaited)(mount) {
        Ok(Some(bytes)) => (waiting.reply)(Ok(Bytes::own(bytes))),
        Err(error) => (waiting.reply)(Err(error)),
        Ok(None) => {
            let is_interrupted = has_signal(waiting.caller.pid).unwrap_or_else(|| waiting.since.elapsed() >= BLIND_SLICE);
            if !is_interrupted {
                return Some(waiting);
            }
            (waiting.reply)(Err(FsError::Interrupted));
        }
    }
    None
}
