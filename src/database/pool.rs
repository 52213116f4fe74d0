//! Threads for work that must not hold who hands it over: few, made when they are needed, gone when nobody needs them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// How long a thread waits for more work.
const IDLE: Duration = Duration::from_secs(10);

pub type Work = Box<dyn FnOnce() + Send>;

/// What becomes of work when the system has no thread for it, and none works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutThread {
    /// Who hands it over does it.
    Here,
    /// It stays in line: who hands it over must not do it.
    Waits,
    /// It is dropped, which tells who waits for it.
    Dropped,
}

/// Threads of one name. They start with work, and end when they are idle or this is dropped; those that work finish what there is.
#[derive(Debug)]
pub struct Pool(Arc<Shared>);

struct Shared {
    name: &'static str,
    threads_max: usize,
    without_thread: WithoutThread,
    state: Mutex<Jobs>,
    more: Condvar,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Jobs {
    queue: VecDeque<Work>,
    threads: usize,
    idle: usize,
    is_ended: bool,
}

impl Pool {
    #[must_use]
    pub fn new(name: &'static str, threads_max: usize, without_thread: WithoutThread) -> Self {
        Self(Arc::new(Shared {
            name,
            threads_max,
            without_thread,
            state: Mutex::default(),
            more: Condvar::new(),
        }))
    }

    #[cfg(test)]
    pub(crate) fn threads(&self) -> usize {
        self.0.state.lock().threads
    }

    /// Runs work on a thread of its own as soon as there is one.
    pub fn run(&self, work: Work) {
        let mut state = self.0.state.lock();
        state.queue.push_back(work);
        // As many idle threads as there is work: one of them takes it. Else there is one more, up to the most.
        if state.idle >= state.queue.len() || state.threads == self.0.threads_max {
            drop(state);
            self.0.more.notify_one();
            return;
        }
        state.threads += 1;
        drop(state);
        let shared = Arc::clone(&self.0);
        let started = std::thread::Builder::new()
            .name(self.0.name.to_owned())
            .spawn(move || serve(&shared));
        if let Err(error) = started {
            log::warn!("cannot start a thread: {error}");
            self.0.ends_thread();
        }
    }
}

impl Shared {
    /// One thread less than was counted.
    fn ends_thread(&self) {
        let mut state = self.state.lock();
        state.threads -= 1;
        let is_left = state.threads == 0 && self.without_thread != WithoutThread::Waits;
        let left = if is_left {
            std::mem::take(&mut state.queue)
        } else {
            VecDeque::new()
        };
        drop(state);
        if self.without_thread == WithoutThread::Here {
            left.into_iter().for_each(perform);
        }
    }

    /// The next work; `None` when the thread is to end, which is then counted no more.
    fn next(&self) -> Option<Work> {
        let mut state = self.state.lock();
        loop {
            if let Some(work) = state.queue.pop_front() {
                return Some(work);
            }
            if state.is_ended {
                break;
            }
            state.idle += 1;
            let waited = self.more.wait_for(&mut state, IDLE);
            state.idle -= 1;
            if waited.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        None
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.0.state.lock().is_ended = true;
        self.0.more.notify_all();
    }
}

fn serve(shared: &Shared) {
    while let Some(work) = shared.next() {
        perform(work);
    }
}

fn perform(work: Work) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        log::error!("a call was abandoned after a panic");
    }
}
