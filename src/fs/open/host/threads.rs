//! Thread pools for calls that may take long, so that the event threads stay free: a query's result
//! can be as long as its table. And one thread for reads that wait for what has not happened yet:
//! `stream/follow`, `.ddb/accesslog`.
//!
//! | difficulty | solved by |
//! |---|---|
//! | several readers of whole tables must not make all other calls wait in line | threads are made as they are needed, many, and end when idle: the system shares the processors among them |
//! | a refused write must not wait behind scans and table drops | short work has threads of its own: [`Workers::run`], [`Workers::run_long`] |
//! | readers may wait for ever, and the event threads serve all callers | one thread of their own asks for all of them, woken by commits; it lives while any reader waits |
//! | the kernel does not return from a read, not even for SIGKILL, before it is answered; FUSE_INTERRUPT does not reach us | a reader's pending signals are in `/proc`: they are looked at each `POLL_INTERVAL`, and the read then ends with EINTR, as from a pipe |
//! | a reader in another pid namespace shows no signals | its read ends with EINTR each `BLIND_WAIT`; most programs read again |
//! | a mount must end while readers wait | every read then ends as at the end of a file |

use crate::database::thread_pool::{SpawnFailure, ThreadPool};
use crate::fs::{
    mount::Mount,
    open::{ReadBytes, Reply, sub_range},
    prelude::*,
    process::has_pending_signal,
};
use std::{sync::Weak, time::Instant};

/// The number of short calls at a time: they wait for at most a commit.
const SHORT_MAX: usize = 8;
/// The number of calls at a time that may read or drop a whole table; more wait in line.
const LONG_MAX: usize = 32;

/// The threads of a mount. They start with work, and end when they are idle or this is dropped.
#[derive(Debug)]
pub struct Workers {
    short: ThreadPool,
    long: ThreadPool,
}

impl Default for Workers {
    fn default() -> Self {
        Self {
            short: ThreadPool::new("ddbfs-short", SHORT_MAX, SpawnFailure::RunInline),
            long: ThreadPool::new("ddbfs-query", LONG_MAX, SpawnFailure::RunInline),
        }
    }
}

impl Workers {
    /// Runs short work on another thread, or on this one if the system has no thread left.
    pub fn run(&self, work: impl FnOnce() + Send + 'static) {
        self.short.run(Box::new(work));
    }

    /// Runs work that may take as long as reading or dropping a table.
    pub fn run_long(&self, work: impl FnOnce() + Send + 'static) {
        self.long.run(Box::new(work));
    }
}

/// The number of reads that may wait at a time.
pub const WAITING_MAX: usize = 64;
/// The time between two looks for signals: a reader ends at most so long after Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The time after which a waiting read ends if its process cannot be looked at.
const BLIND_WAIT: Duration = Duration::from_secs(1);

/// The question of a waiting read: asked again and again until it has bytes or fails.
pub type PollRead = Box<dyn FnMut(&Mount) -> Result<Option<Vec<u8>>> + Send>;

/// The bytes that a file whose reads wait gave last, with their offset. A program that reads a line
/// by blocks (`read` of bash, `head`) seeks back to the end of its line: the rest of the block is
/// read again. Elsewhere the offset counts for nothing, as in a pipe.
#[derive(Debug, Default)]
pub struct LastRead(Mutex<(u64, Vec<u8>)>);

impl LastRead {
    /// Returns at most `size` bytes at `offset` of those given last, else those of `next`. A read of
    /// no bytes does not wait.
    ///
    /// # Errors
    /// Those of `next`.
    pub fn read(
        &self,
        offset: u64,
        size: usize,
        next: impl FnOnce() -> Result<Option<Vec<u8>>>,
    ) -> Result<Option<Vec<u8>>> {
        if size == 0 {
            return Ok(Some(Vec::new()));
        }
        let (start, given) = &mut *self.0.lock();
        if let Some(back) = offset.checked_sub(*start)
            && let again = &given[sub_range(given.len(), back, size)]
            && !again.is_empty()
        {
            return Ok(Some(again.to_vec()));
        }
        let bytes = next()?;
        if let Some(bytes) = &bytes {
            (*start, *given) = (offset, bytes.clone());
        }
        Ok(bytes)
    }

    /// Returns the bytes of memory that it holds; `None` during a read.
    #[must_use]
    pub fn held_bytes(&self) -> Option<usize> {
        self.0.try_lock().map(|last| last.1.capacity())
    }
}

struct WaitingRead {
    caller: Caller,
    since: Instant,
    poll: PollRead,
    reply: Reply<ReadBytes>,
}

#[derive(Default)]
struct WaitQueue {
    waiting: Vec<WaitingRead>,
    /// The number of readers that the thread is looking at.
    polled: usize,
    has_thread: bool,
    is_ended: bool,
}

/// The reads that wait; see the module.
#[derive(Default)]
pub struct WaitingReads {
    readers: Mutex<WaitQueue>,
}

opaque_debug!(WaitingReads);

impl WaitingReads {
    /// Answers when `awaited` has bytes: at once if it has. Gives the reply back if too many reads
    /// wait already. Later looks read from `own_mount`, which belongs to no program.
    #[must_use]
    pub fn wait(
        self: &Arc<Self>,
        mount: &Mount,
        own_mount: &Mount,
        mut awaited: PollRead,
        reply: Reply<ReadBytes>,
    ) -> Option<Reply<ReadBytes>> {
        if let Some(answer) = awaited(mount).transpose() {
            reply(answer.map(ReadBytes::owned));
            return None;
        }
        let mut readers = self.readers.lock();
        if readers.is_ended {
            drop(readers);
            reply(Ok(ReadBytes::owned(Vec::new())));
            return None;
        }
        if readers.waiting.len() + readers.polled >= WAITING_MAX {
            return Some(reply);
        }
        readers.waiting.push(WaitingRead {
            caller: mount.caller,
            since: Instant::now(),
            poll: awaited,
            reply,
        });
        // Under the lock: a thread that finds no reader waiting says so under it too, and ends.
        if !readers.has_thread {
            let (reads, own_mount) = (Arc::downgrade(self), own_mount.clone());
            match std::thread::Builder::new()
                .name("ddbfs-readers".to_owned())
                .spawn(move || poll_loop(&reads, &own_mount))
            {
                Ok(_) => readers.has_thread = true,
                Err(error) => {
                    log::error!("cannot start the thread of blocked reads: {error}");
                    let refused = std::mem::take(&mut readers.waiting);
                    drop(readers);
                    refused.into_iter().for_each(|reader| {
                        (reader.reply)(Err(FsError::Busy("the system has no thread left")))
                    });
                }
            }
        }
        None
    }

    /// Ends every read that waits, now and from now on, as at the end of a file: the mount is to
    /// go.
    pub fn end(&self) {
        let mut readers = self.readers.lock();
        readers.is_ended = true;
        let waiting = std::mem::take(&mut readers.waiting);
        drop(readers);
        reply_eof(waiting);
    }

    /// Ends every read that waits now, as at the end of a file; later ones wait.
    pub fn release(&self) {
        let waiting = std::mem::take(&mut self.readers.lock().waiting);
        reply_eof(waiting);
    }

    /// Looks at every reader once. Returns false if no reader waits any more.
    fn poll_all(&self, mount: &Mount) -> bool {
        let looked_at = {
            let mut readers = self.readers.lock();
            // They are taken out, so that a reader's reply or a slow look blocks no other reader;
            // counted, so that the limit still holds.
            readers.polled = readers.waiting.len();
            std::mem::take(&mut readers.waiting)
        };
        let kept: Vec<WaitingRead> = looked_at
            .into_iter()
            .filter_map(|waiting| poll(mount, waiting))
            .collect();
        let mut readers = self.readers.lock();
        readers.polled = 0;
        if readers.is_ended {
            drop(readers);
            reply_eof(kept);
            return true;
        }
        readers.waiting.extend(kept);
        readers.has_thread = !readers.waiting.is_empty();
        readers.has_thread
    }
}

/// Answers the reads as at the end of a file.
fn reply_eof(waiting: Vec<WaitingRead>) {
    waiting
        .into_iter()
        .for_each(|reader| (reader.reply)(Ok(ReadBytes::owned(Vec::new()))));
}

fn poll_loop(reads: &Weak<WaitingReads>, mount: &Mount) {
    while let Some(reads) = reads.upgrade() {
        // Asked before the look: a commit during it wakes this thread at once.
        let commit_id = mount.db.commit_id();
        if !reads.poll_all(mount) {
            return;
        }
        if let Err(error) = mount.db.wait_for_commit(commit_id, POLL_INTERVAL) {
            log::warn!("cannot wait for a commit: {error}");
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Answers a reader if its question has an answer or it is interrupted; else gives it back.
fn poll(mount: &Mount, mut waiting: WaitingRead) -> Option<WaitingRead> {
    if let Some(answer) = (waiting.poll)(mount).transpose() {
        (waiting.reply)(answer.map(ReadBytes::owned));
    } else if has_pending_signal(waiting.caller.pid)
        .unwrap_or_else(|| waiting.since.elapsed() >= BLIND_WAIT)
    {
        (waiting.reply)(Err(FsError::Interrupted));
    } else {
        return Some(waiting);
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use parking_lot::Mutex;

    use super::*;

    #[test]
    fn work_is_done_elsewhere_and_a_panic_ends_only_itself() {
        let workers = Workers::default();
        let (sender, receiver) = channel();
        for number in 0..20 {
            let sender = sender.clone();
            workers.run(Box::new(move || {
                assert!(number % 2 == 0, "an odd one");
                sender.send((number, std::thread::current().id())).unwrap();
            }));
        }
        drop(sender);
        let mut done: Vec<_> = receiver.iter().collect();
        assert!(
            done.iter()
                .all(|(_, thread)| *thread != std::thread::current().id())
        );
        done.sort_by_key(|(number, _)| *number);
        assert_eq!(
            done.into_iter()
                .map(|(number, _)| number)
                .collect::<Vec<i32>>(),
            (0..20).step_by(2).collect::<Vec<_>>()
        );
    }

    #[test]
    fn what_was_given_last_is_read_again_from_within() {
        let (last, mut waiting) = (LastRead::default(), vec![&b"one\ntwo\n"[..], b"three\n"]);
        waiting.reverse();
        let mut read = |offset, size| {
            let bytes = last.read(offset, size, || Ok(waiting.pop().map(<[u8]>::to_vec)));
            bytes
                .unwrap()
                .map(|bytes| String::from_utf8(bytes).unwrap())
        };
        assert_eq!(read(0, 4096).as_deref(), Some("one\ntwo\n"));
        assert_eq!(read(4, 4096).as_deref(), Some("two\n"));
        assert_eq!(read(4, 2).as_deref(), Some("tw"));
        assert_eq!(read(8, 4096).as_deref(), Some("three\n"));
        assert_eq!(read(11, 4096).as_deref(), Some("ee\n"));
        assert_eq!(read(14, 4096), None);
        assert_eq!(read(14, 0).as_deref(), Some(""));
        assert_eq!(read(8, 5).as_deref(), Some("three"));
    }

    /// Checks that endless work of either kind blocks neither the other kind nor a few more calls
    /// of its own kind.
    #[test]
    fn long_work_is_not_in_the_way() {
        let workers = Workers::default();
        let (end, ended) = channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        let (sender, receiver) = channel();
        for _ in 0..2 * LONG_MAX {
            let ended = Arc::clone(&ended);
            workers.run_long(Box::new(move || {
                let _ = ended.lock().recv();
            }));
        }
        let short = sender.clone();
        workers.run(Box::new(move || short.send("short").unwrap()));
        assert_eq!(receiver.recv().unwrap(), "short");
        drop(end);
        workers.run_long(Box::new(move || sender.send("long").unwrap()));
        assert_eq!(receiver.recv().unwrap(), "long");
        assert!(workers.long.threads() <= LONG_MAX);
    }
}
