//! A small thread pool for jobs that must not block their submitter. Threads start on demand and
//! end when idle.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// The time that an idle thread waits for a job before it ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

pub type PoolJob = Box<dyn FnOnce() + Send>;

/// The treatment of jobs when the system refuses a thread and none is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpawnFailure {
    /// The submitter runs the job.
    RunInline,
    /// The job stays queued: the submitter must not run it.
    Queue,
    /// The job is dropped, which notifies its waiter.
    Drop,
}

/// Threads of one name. They start with a job, and end when they are idle or the pool is dropped;
/// running threads drain the queue first.
#[derive(Debug)]
pub struct ThreadPool(Arc<PoolShared>);

struct PoolShared {
    name: &'static str,
    threads_max: usize,
    on_spawn_failure: SpawnFailure,
    state: Mutex<PoolState>,
    wakeup: Condvar,
}

opaque_debug!(PoolShared);

#[derive(Default)]
struct PoolState {
    queue: VecDeque<PoolJob>,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

impl ThreadPool {
    #[must_use]
    pub fn new(name: &'static str, threads_max: usize, on_spawn_failure: SpawnFailure) -> Self {
        Self(Arc::new(PoolShared {
            name,
            threads_max,
            on_spawn_failure,
            state: Mutex::default(),
            wakeup: Condvar::new(),
        }))
    }

    #[cfg(test)]
    pub(crate) fn threads(&self) -> usize {
        self.0.state.lock().threads
    }

    /// Runs a job on a thread of the pool as soon as one is free.
    pub fn run(&self, work: PoolJob) {
        let mut state = self.0.state.lock();
        state.queue.push_back(work);
        // With at least as many idle threads as queued jobs, one of them takes it. Otherwise the
        // pool starts a thread, up to its limit.
        if state.idle >= state.queue.len() || state.threads == self.0.threads_max {
            drop(state);
            self.0.wakeup.notify_one();
            return;
        }
        state.threads += 1;
        drop(state);
        let shared = Arc::clone(&self.0);
        let started = std::thread::Builder::new()
            .name(self.0.name.to_owned())
            .spawn(move || worker_loop(&shared));
        if let Err(error) = started {
            log::warn!("cannot start a thread: {error}");
            self.0.remove_thread();
        }
    }
}

impl PoolShared {
    /// Uncounts a thread that could not start, and treats the jobs left over if it was the last.
    fn remove_thread(&self) {
        let mut state = self.state.lock();
        state.threads -= 1;
        let is_left = state.threads == 0 && self.on_spawn_failure != SpawnFailure::Queue;
        let left = if is_left {
            std::mem::take(&mut state.queue)
        } else {
            VecDeque::new()
        };
        drop(state);
        if self.on_spawn_failure == SpawnFailure::RunInline {
            left.into_iter().for_each(run_job);
        }
    }

    /// Waits for the next job; returns `None` if the thread must end, which is then no longer
    /// counted.
    fn next_job(&self) -> Option<PoolJob> {
        let mut state = self.state.lock();
        loop {
            if let Some(work) = state.queue.pop_front() {
                return Some(work);
            }
            if state.is_closed {
                break;
            }
            state.idle += 1;
            let waited = self.wakeup.wait_for(&mut state, IDLE_TIMEOUT);
            state.idle -= 1;
            if waited.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        None
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.0.state.lock().is_closed = true;
        self.0.wakeup.notify_all();
    }
}

fn worker_loop(shared: &PoolShared) {
    while let Some(work) = shared.next_job() {
        run_job(work);
    }
}

fn run_job(work: PoolJob) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        log::error!("a call was abandoned after a panic");
    }
}
