//! Threads for requests that must not hold who makes them: few, made when they are needed, gone when nobody needs them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::database::caller;

/// So many requests are on their way at once; others wait for one of them.
const WORKERS_MAX: usize = 16;
/// A thread without work ends.
const IDLE_MAX: Duration = Duration::from_secs(30);

type Job = Box<dyn FnOnce() + Send>;

/// See the module.
#[derive(Default)]
pub struct Workers(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

impl Workers {
    /// Runs a job on some thread, soon; returns at once.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        // It is still done for whom this thread works.
        let caller = caller::caller();
        let mut state = self.0.state.lock();
        state.jobs.push_back(Box::new(move || caller::work_for(caller, job)));
        if state.idle >= state.jobs.len() || state.threads >= WORKERS_MAX {
            self.0.woken.notify_one();
            return;
        }
        state.threads += 1;
        drop(state);
        let shared = Arc::clone(&self.0);
        if std::thread::Builder::new().name("ddbfs-remote".to_owned()).spawn(move || shared.work()).is_err() {
            drop(self.0.without_thread());
        }
    }
}

/// Those that work finish what there is.
impl Drop for Workers {
    fn drop(&mut self) {
        self.0.state.lock().is_closed = true;
        self.0.woken.notify_all();
    }
}

impl Shared {
    fn work(&self) {
        while let Some(job) = self.next() {
            // Who waits for one that panics hears that it was dropped.
            drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)));
        }
    }

    /// A thread could not be made. Without any, nobody will run the jobs: who waits for them is to hear that they were dropped.
    fn without_thread(&self) -> VecDeque<Job> {
        let mut state = self.state.lock();
        state.threads -= 1;
        if state.threads == 0 { std::mem::take(&mut state.jobs) } else { VecDeque::new() }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock();
        let mut has_waited = false;
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.is_closed || has_waited {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            has_waited = self.woken.wait_for(&mut state, IDLE_MAX).timed_out();
            state.idle -= 1;
        }
    }
}
