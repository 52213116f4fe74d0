//! The one writer thread of a store: group commit, with failures isolated per job.
//!
//! The thread takes the queued jobs, runs them in one transaction, commits, and completes each job.
//! While it commits, new jobs queue up and share the next commit. If a batch of several jobs fails,
//! each runs again in a transaction of its own, so only the faulty one fails.
//!
//! A writer that is alone commits inline: while there is no other writer, a thread that waits for
//! its write anyway ([`WriteJob::commit_inline`]) runs and commits it itself, which saves two
//! thread switches. Jobs submitted meanwhile are queued for the writer thread as usual.
//!
//! One thread, and not each writer for itself, since LMDB allows one write transaction at a time:
//! writers that commit themselves sync once each, however many they are. Measured with 16 of them,
//! 3,000 durable puts a second; queued to one thread, 12,000 to 15,000.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::heap::{self, BURST_BYTES};
use super::memory_limit::limit_share;
use super::worker::Worker;
use super::{BatchHook, StoreError, Write, WriteJob};
use crate::model::api::CommitInline;

/// The most jobs of one transaction. Measured puts a second in commits of 10, 100 and 1,000:
/// 17,600, 38,000, 57,000. The first job waits for the last.
const BATCH_JOBS_MAX: usize = 2048;

/// A transaction that holds this much takes no further job; less if memory is short. Its pages and
/// its record are in memory until they are written.
const BATCH_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The part of the memory limit that a transaction may hold.
const LIMIT_PARTS: u64 = 32;

/// The longest wait of a batch's start for the submitters of the last batch, which were all
/// completed at once and return one after the other, and for as many jobs as were queued meanwhile.
/// Without the latter, eight writers settle into two groups of four that take turns, with twice the
/// commits. Well below the time of a sync, and never waited for a single writer.
const GATHER_TIME_MAX: Duration = Duration::from_micros(100);

/// The longest inline commit: after a longer one there is none for a while. Either the disk is slow, and
/// two thread switches do not matter; or the processors are busy, and the writer thread, which may
/// have a real-time priority, is scheduled first: with 20 other busy threads, about twice as many
/// puts a second in single runs.
const INLINE_TIME_MAX: Duration = Duration::from_millis(1);
const INLINE_PAUSE: Duration = Duration::from_millis(200);

/// A write transaction that can be marked as a removal.
pub(super) trait WriteTransaction: Write {
    /// Sets whether the transaction consists of removals only, see [`WriteJob::is_removal`].
    fn set_removal(&mut self, is_removal: bool);
}

/// The body of a transaction; may run several times, each time in a fresh one.
pub(super) type TransactionBody<'a> =
    dyn FnMut(&mut dyn WriteTransaction) -> Result<(), StoreError> + 'a;

/// The interface of a store to its writer thread.
pub(super) trait Backend: Send + Sync + 'static {
    /// Runs `body` in a transaction and commits it. After an error nothing has changed.
    fn transact(&self, body: &mut TransactionBody<'_>) -> Result<(), StoreError>;

    /// Prepares the writer thread. Called on it before anything else.
    fn on_thread_start(&self);

    /// True if this thread holds nothing that a transaction on it would wait for.
    fn can_commit_inline(&self) -> bool;
}

/// The job queue and its thread.
pub(super) struct WriterThread {
    shared: Arc<WriterQueue>,
    backend: Arc<dyn Backend>,
    thread: Mutex<Option<Worker>>,
}

opaque_debug!(WriterThread);

impl WriterThread {
    pub fn start(backend: Arc<dyn Backend>) -> Result<Self, StoreError> {
        let shared = Arc::new(WriterQueue::default());
        let (of_thread, of_writer) = (Arc::clone(&shared), Arc::clone(&backend));
        let thread = Worker::start("store-writer", move || of_thread.run(&*of_writer))?;
        Ok(Self {
            shared,
            backend,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Queues a job, or runs it, see [`WriteJob::commit_inline`]. After [`Self::close`] the job
    /// fails at once, on the calling thread.
    pub fn submit(&self, job: Box<dyn WriteJob>) {
        let mut queue = self.shared.queue.lock();
        if queue.is_closed {
            drop(queue);
            // Not under the lock: `done` may submit again.
            complete(job, Err(StoreError::Closed));
            return;
        }
        if let Some(inline) = job
            .commit_inline()
            .filter(|_| queue.is_idle() && self.backend.can_commit_inline())
        {
            (queue.inline_thread, queue.wake_at) = (Some(std::thread::current().id()), 0);
            drop(queue);
            let _leader = InlineCommit(&self.shared, Instant::now());
            let mut jobs = VecDeque::from([job]);
            // Jobs that this job's end submits are queued, since there is a leader: no recursion.
            return match inline {
                CommitInline::Here => self.shared.commit_all(&*self.backend, jobs),
                CommitInline::Within(run) => run(&mut || {
                    self.shared
                        .commit_all(&*self.backend, std::mem::take(&mut jobs))
                }),
            };
        }
        queue.jobs.push_back(job);
        // Equal, not more: one call wakes the thread, and later submitters are spared theirs.
        if queue.jobs.len() == queue.wake_at {
            self.shared.ready.notify_one();
        }
    }

    /// Sets the hook. Only the first call counts.
    pub fn set_hook(&self, hook: Arc<dyn BatchHook>) {
        if self.shared.hook.set(hook).is_err() {
            log::error!("the store has a hook already; the second one is not used");
        }
    }

    /// Runs the queued jobs and ends the thread.
    pub fn close(&self) {
        let is_leader = {
            let mut queue = self.shared.queue.lock();
            queue.is_closed = true;
            self.shared.ready.notify_one();
            queue.inline_thread == Some(std::thread::current().id())
        };
        let thread = self.thread.lock().take();
        // A job that drops the last handle of the store closes it from the committing thread, which
        // cannot join itself.
        if is_leader {
            thread.into_iter().for_each(Worker::detach);
        }
    }
}

#[derive(Default)]
struct WriterQueue {
    queue: Mutex<JobQueue>,
    ready: Condvar,
    hook: OnceLock<Arc<dyn BatchHook>>,
}

#[derive(Default)]
struct JobQueue {
    jobs: VecDeque<Box<dyn WriteJob>>,
    is_closed: bool,
    /// The number of queued jobs at which the sleeping thread is to be woken; 0 while it is awake,
    /// or while another thread commits inline.
    wake_at: usize,
    /// The thread that commits inline.
    inline_thread: Option<ThreadId>,
    /// The number of jobs of the last batch.
    last_batch: usize,
    /// The number of jobs that were queued when the last commit ended, before its submitters were
    /// completed.
    queued_at_commit: usize,
    /// The time before which there is no inline commit.
    inline_after: Option<Instant>,
}

impl JobQueue {
    /// True if no thread commits, no other writer is expected to share the commit (as after a batch
    /// of several), and inline commits are quick.
    fn is_idle(&self) -> bool {
        let is_pause = self
            .inline_after
            .is_some_and(|after| Instant::now() < after);
        self.wake_at == 1 && self.last_batch <= 1 && self.jobs.is_empty() && !is_pause
    }
}

/// A guard for the time of an inline commit.
struct InlineCommit<'s>(&'s WriterQueue, Instant);

impl Drop for InlineCommit<'_> {
    fn drop(&mut self) {
        let Self(shared, begun) = self;
        let now = Instant::now();
        let mut queue = shared.queue.lock();
        (queue.inline_thread, queue.last_batch) = (None, 1);
        if now - *begun > INLINE_TIME_MAX {
            queue.inline_after = Some(now + INLINE_PAUSE);
        }
        // Jobs queued meanwhile belong to the writer thread.
        if queue.is_closed || !queue.jobs.is_empty() {
            shared.ready.notify_one();
        } else {
            queue.wake_at = 1;
        }
    }
}

impl WriterQueue {
    fn run(&self, backend: &dyn Backend) {
        backend.on_thread_start();
        while let Some(jobs) = self.next_batch() {
            self.commit_all(backend, jobs);
        }
    }

    /// Waits for jobs; returns `None` if there will be no more.
    fn next_batch(&self) -> Option<VecDeque<Box<dyn WriteJob>>> {
        let mut queue = self.queue.lock();
        while queue.jobs.is_empty() || queue.inline_thread.is_some() {
            // Checked only if the queue is empty: jobs queued before the end still run.
            if queue.is_closed && queue.inline_thread.is_none() {
                return None;
            }
            queue.wake_at = usize::from(queue.inline_thread.is_none());
            self.ready.wait(&mut queue);
            queue.wake_at = 0;
        }
        self.gather(&mut queue);
        let count = queue.jobs.len().min(BATCH_JOBS_MAX);
        queue.last_batch = count;
        Some(queue.jobs.drain(..count).collect())
    }

    /// Waits a moment for the submitters of the last batch. Sleeps instead of yielding: this thread
    /// may have a real-time priority and would keep them from their CPU.
    fn gather(&self, queue: &mut MutexGuard<'_, JobQueue>) {
        let wanted = queue.last_batch + queue.queued_at_commit;
        let deadline = Instant::now() + GATHER_TIME_MAX;
        while queue.jobs.len() < wanted && !queue.is_closed {
            queue.wake_at = wanted;
            if self.ready.wait_until(queue, deadline).timed_out() {
                break;
            }
        }
        queue.wake_at = 0;
    }

    /// Commits jobs in order, in as few transactions as possible.
    fn commit_all(&self, backend: &dyn Backend, mut jobs: VecDeque<Box<dyn WriteJob>>) {
        while !jobs.is_empty() {
            let mut ran = 0;
            let outcome = self.transact(backend, jobs.make_contiguous(), &mut ran);
            {
                let mut queue = self.queue.lock();
                queue.queued_at_commit = queue.jobs.len();
            }
            match outcome {
                Ok(()) => {
                    // A job that did not run must never be acknowledged.
                    assert!(ran > 0, "a transaction without a job");
                    jobs.drain(..ran).for_each(|job| complete(job, Ok(())));
                }
                Err(error) if jobs.len() == 1 => jobs
                    .drain(..)
                    .for_each(|job| complete(job, Err(error.clone()))),
                Err(error) => {
                    log::warn!(
                        "a batch of {} writes failed ({error}); each is tried alone",
                        jobs.len()
                    );
                    for mut job in jobs.drain(..) {
                        let result =
                            self.transact(backend, std::slice::from_mut(&mut job), &mut ran);
                        complete(job, result);
                    }
                }
            }
        }
    }

    /// Runs as many of the first jobs as fit in one transaction; `ran` is their count.
    fn transact(
        &self,
        backend: &dyn Backend,
        jobs: &mut [Box<dyn WriteJob>],
        ran: &mut usize,
    ) -> Result<(), StoreError> {
        let hook = self.hook.get();
        backend.transact(&mut |batch| {
            // The body runs again on a larger map, so the earlier count is void.
            *ran = 0;
            if let Some(hook) = hook {
                catch_panic(|| {
                    hook.begin();
                    Ok(())
                })?;
            }
            for job in jobs.iter_mut() {
                catch_panic(|| job.run(batch))?;
                *ran += 1;
                // Checked after the job, not before: a job that is larger than a whole batch has to
                // run too.
                if batch.held_bytes() > limit_share(BATCH_BYTES_MAX, LIMIT_PARTS) {
                    break;
                }
            }
            // The allocator keeps the memory that a large commit frees.
            if batch.held_bytes() > BURST_BYTES {
                heap::trim_soon();
            }
            // One job that adds makes the whole batch an addition. A full disk refuses that; each
            // job then runs alone, and the removals succeed.
            batch.set_removal(jobs.iter().take(*ran).all(|job| job.is_removal()));
            hook.map_or(Ok(()), |hook| catch_panic(|| hook.finish(batch)))
        })
    }
}

/// Turns a panic in `call` into an error: the writer thread must outlive a faulty job.
fn catch_panic(call: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
    // Its half-done changes are in the transaction, which is abandoned.
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(StoreError::Io("a write panicked".to_owned())))
}

fn complete(job: Box<dyn WriteJob>, result: Result<(), StoreError>) {
    if catch_unwind(AssertUnwindSafe(|| job.done(result))).is_err() {
        log::error!("the end of a write panicked");
    }
}
