//! The one writer thread of a store: group commit, and the failure of one job kept from the others.
//!
//! The thread takes the queued jobs, runs them in one transaction, commits, and tells each job. While it commits, new jobs queue
//! up and share the next commit. When a batch of several jobs fails, each runs again in a transaction of its own, so only the
//! guilty one fails.
//!
//! A writer that is alone is its own committer: while nobody else writes, a thread that waits for its write anyway ([`WriteJob::commit_inline`]) runs and
//! commits it itself, which saves two changes of threads. What comes meanwhile is queued for the thread, as ever.
//!
//! One thread, and not each writer for itself, as LMDB lets one write at a time: writers that commit themselves sync once each, however
//! many they are. Measured with 16 of them, 3,000 durable puts a second; queued to one thread, 12,000 to 15,000.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::heap::{self, BURST_BYTES};
use super::memory_limit::part_of_limit;
use super::worker::Worker;
use super::{BatchHook, StoreError, Write, WriteJob};
use crate::model::api::CommitInline;

/// Jobs of one transaction. Measured, puts a second in commits of 10, 100 and 1,000: 17,600, 38,000, 57,000. The first waits for the last.
const BATCH_JOBS_MAX: usize = 2048;

/// A transaction that holds this much takes no further job, or less where memory is short: its pages and its record are in memory until
/// they are written.
const BATCH_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Of the memory limit that is the most.
const LIMIT_PARTS: u64 = 32;

/// How long the start of a batch waits for the submitters of the last batch, who were all told at once and come back one after the other,
/// beside those who queued meanwhile: without the second, eight writers settle into two groups of four that take turns, with twice the
/// commits. Well below the time of a sync, and never waited for a single writer.
const GATHER_TIME_MAX: Duration = Duration::from_micros(100);

/// After a commit on its submitter's thread that took longer, there is none for a while. The disk is slow, and two changes of threads are
/// nothing to it; or the processors are busy, and this thread, which may have a real-time priority, gets there first: with 20 others at
/// work, about twice as many puts a second in single runs.
const LEAD_TIME_MAX: Duration = Duration::from_millis(1);
const LEAD_PAUSE: Duration = Duration::from_millis(200);

/// A write transaction that can be told what it is.
pub(super) trait Transaction: Write {
    /// Whether all that is done in it are removals, see [`WriteJob::is_removal`].
    fn set_removal(&mut self, is_removal: bool);
}

/// What runs inside a transaction; may run several times, each time in a fresh one.
pub(super) type Body<'a> = dyn FnMut(&mut dyn Transaction) -> Result<(), StoreError> + 'a;

/// A store as its writer thread sees it.
pub(super) trait Backend: Send + Sync + 'static {
    /// Runs `body` in a transaction and commits it. On an error nothing has changed.
    fn transact(&self, body: &mut Body<'_>) -> Result<(), StoreError>;

    /// Called on the writer thread before anything else.
    fn on_thread_start(&self);

    /// Whether this thread holds nothing that a transaction on it would wait for.
    fn is_free_here(&self) -> bool;
}

/// The queue and its thread.
pub(super) struct Writer {
    shared: Arc<Shared>,
    backend: Arc<dyn Backend>,
    thread: Mutex<Option<Worker>>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    pub fn start(backend: Arc<dyn Backend>) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared::default());
        let (of_thread, of_writer) = (Arc::clone(&shared), Arc::clone(&backend));
        let thread = Worker::start("store-writer", "writer thread", move || {
            of_thread.run(&*of_writer)
        })?;
        Ok(Self {
            shared,
            backend,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Queues a job; or runs it, see [`WriteJob::commit_inline`]. After [`Writer::close`] the job fails at once, on the calling thread.
    pub fn submit(&self, job: Box<dyn WriteJob>) {
        let mut queue = self.shared.queue.lock();
        if queue.closed {
            drop(queue);
            // Not under the lock: `done` may submit again.
            tell(job, Err(StoreError::Closed));
            return;
        }
        if let Some(inline) = job
            .commit_inline()
            .filter(|_| queue.is_idle() && self.backend.is_free_here())
        {
            (queue.leader, queue.wake_at) = (Some(std::thread::current().id()), 0);
            drop(queue);
            let _leader = Leader(&self.shared, Instant::now());
            let mut jobs = VecDeque::from([job]);
            // What the job's end submits is queued, as there is a leader: no recursion.
            return match inline {
                CommitInline::Here => self.shared.commit_all(&*self.backend, jobs),
                CommitInline::Within(run) => run(&mut || {
                    self.shared
                        .commit_all(&*self.backend, std::mem::take(&mut jobs))
                }),
            };
        }
        queue.jobs.push_back(job);
        // Equal, not more: one call wakes the thread, the submitters after it are spared theirs.
        if queue.jobs.len() == queue.wake_at {
            self.shared.ready.notify_one();
        }
    }

    /// Only the first hook counts.
    pub fn set_hook(&self, hook: Arc<dyn BatchHook>) {
        if self.shared.hook.set(hook).is_err() {
            log::error!("the store has a hook already; the second one is not used");
        }
    }

    /// Lets queued jobs end, ends the thread.
    pub fn close(&self) {
        let is_leader = {
            let mut queue = self.shared.queue.lock();
            queue.closed = true;
            self.shared.ready.notify_one();
            queue.leader == Some(std::thread::current().id())
        };
        let thread = self.thread.lock().take();
        // A job that drops the last handle of the store closes it from the thread that commits, which cannot wait for itself.
        if is_leader {
            thread.into_iter().for_each(Worker::detach);
        }
    }
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    ready: Condvar,
    hook: OnceLock<Arc<dyn BatchHook>>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Box<dyn WriteJob>>,
    closed: bool,
    /// The thread sleeps and wants to be woken when so many jobs are queued; 0 while it is awake, or another leads.
    wake_at: usize,
    /// Who commits in its place.
    leader: Option<ThreadId>,
    /// Jobs of the last batch.
    last_batch: usize,
    /// Jobs that were queued when it was committed, before its submitters were told.
    waited: usize,
    /// Nobody leads before.
    lead_after: Option<Instant>,
}

impl Queue {
    /// Whether nobody commits, nobody is expected to share a commit with, as after a batch of several, and leading is quick.
    fn is_idle(&self) -> bool {
        let is_pause = self.lead_after.is_some_and(|after| Instant::now() < after);
        self.wake_at == 1 && self.last_batch <= 1 && self.jobs.is_empty() && !is_pause
    }
}

/// The end of a thread's time as the leader.
struct Leader<'s>(&'s Shared, Instant);

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        let Self(shared, begun) = self;
        let now = Instant::now();
        let mut queue = shared.queue.lock();
        (queue.leader, queue.last_batch) = (None, 1);
        if now - *begun > LEAD_TIME_MAX {
            queue.lead_after = Some(now + LEAD_PAUSE);
        }
        // What came meanwhile is the thread's.
        if queue.closed || !queue.jobs.is_empty() {
            shared.ready.notify_one();
        } else {
            queue.wake_at = 1;
        }
    }
}

impl Shared {
    fn run(&self, backend: &dyn Backend) {
        backend.on_thread_start();
        while let Some(jobs) = self.next_batch() {
            self.commit_all(backend, jobs);
        }
    }

    /// Waits for jobs; `None` when there will be no more.
    fn next_batch(&self) -> Option<VecDeque<Box<dyn WriteJob>>> {
        let mut queue = self.queue.lock();
        while queue.jobs.is_empty() || queue.leader.is_some() {
            // Asked only when the queue is empty: what was queued before the end still runs.
            if queue.closed && queue.leader.is_none() {
                return None;
            }
            queue.wake_at = usize::from(queue.leader.is_none());
            self.ready.wait(&mut queue);
            queue.wake_at = 0;
        }
        self.gather(&mut queue);
        let count = queue.jobs.len().min(BATCH_JOBS_MAX);
        queue.last_batch = count;
        Some(queue.jobs.drain(..count).collect())
    }

    /// Gives the submitters of the last batch a moment to come back. Asleep, not yielding: this thread may have a real-time priority,
    /// and would keep them from their CPU.
    fn gather(&self, queue: &mut MutexGuard<'_, Queue>) {
        let wanted = queue.last_batch + queue.waited;
        let deadline = Instant::now() + GATHER_TIME_MAX;
        while queue.jobs.len() < wanted && !queue.closed {
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
                queue.waited = queue.jobs.len();
            }
            match outcome {
                // One at least, or this loop would never end.
                Ok(()) => jobs.drain(..ran.max(1)).for_each(|job| tell(job, Ok(()))),
                Err(error) if jobs.len() == 1 => {
                    jobs.drain(..).for_each(|job| tell(job, Err(error.clone())))
                }
                Err(error) => {
                    log::warn!(
                        "a batch of {} writes failed ({error}); each is tried alone",
                        jobs.len()
                    );
                    for mut job in jobs.drain(..) {
                        let result =
                            self.transact(backend, std::slice::from_mut(&mut job), &mut ran);
                        tell(job, result);
                    }
                }
            }
        }
    }

    /// One transaction of as many of the first jobs as fit; `ran` is how many.
    fn transact(
        &self,
        backend: &dyn Backend,
        jobs: &mut [Box<dyn WriteJob>],
        ran: &mut usize,
    ) -> Result<(), StoreError> {
        let hook = self.hook.get();
        backend.transact(&mut |batch| {
            // The body runs again on a larger map; what was counted before is void.
            *ran = 0;
            if let Some(hook) = hook {
                guarded(|| {
                    hook.begin();
                    Ok(())
                })?;
            }
            for job in jobs.iter_mut() {
                guarded(|| job.run(batch))?;
                *ran += 1;
                // Asked after the job, not before: one that is larger than a whole batch has to run too.
                if batch.held_bytes() > part_of_limit(BATCH_BYTES_MAX, LIMIT_PARTS) {
                    break;
                }
            }
            // The allocator keeps what a large commit frees.
            if batch.held_bytes() > BURST_BYTES {
                heap::after_burst();
            }
            // One job that adds makes it all an addition. On a full disk that is refused; each job runs alone then, and the
            // removals go through.
            batch.set_removal(jobs.iter().take(*ran).all(|job| job.is_removal()));
            hook.map_or(Ok(()), |hook| guarded(|| hook.finish(batch)))
        })
    }
}

/// Makes a panic in `call` an error: the writer thread must outlive a faulty job.
fn guarded(call: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
    // What it left half done is in its transaction, which is abandoned.
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(StoreError::Io("a write panicked".to_owned())))
}

fn tell(job: Box<dyn WriteJob>, result: Result<(), StoreError>) {
    if catch_unwind(AssertUnwindSafe(|| job.done(result))).is_err() {
        log::error!("the end of a write panicked");
    }
}
