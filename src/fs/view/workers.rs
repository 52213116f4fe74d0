//! Threads for calls that may take long, so that the event threads stay free: a query's result can be as long as its table.
//!
//! | difficulty | solved by |
//! |---|---|
//! | several readers of whole tables must not make everybody else's calls wait in line | threads are made as they are needed, many, and end when idle: the system shares the processors among them |
//! | a refused write must not wait behind scans and table drops | what ends soon has threads of its own: [`Workers::run`], [`Workers::run_long`] |

use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Condvar;

use crate::database::caller;
use crate::fs::open::prelude::*;

/// Calls at a time that end soon: they wait for a commit at most.
const SHORT_MAX: usize = 8;
/// Calls at a time that may read or drop a whole table; more wait in line.
const LONG_MAX: usize = 32;
/// How long a thread waits for more work.
const IDLE: Duration = Duration::from_secs(10);

type Work = Box<dyn FnOnce() + Send>;

/// See the module. Threads start with work and end when they are idle or this is dropped.
#[derive(Debug)]
pub struct Workers {
    short: Pool,
    long: Pool,
}

impl Default for Workers {
    fn default() -> Self {
        Self { short: Pool::new("ddbfs-short", SHORT_MAX), long: Pool::new("ddbfs-query", LONG_MAX) }
    }
}

impl Workers {
    /// Runs what ends soon on another thread, or here when the system has no thread for us.
    pub fn run(&self, work: Work) {
        self.short.run(work);
    }

    /// Runs what may take as long as reading or dropping a table.
    pub fn run_long(&self, work: Work) {
        self.long.run(work);
    }
}

/// Threads of one name.
#[derive(Debug)]
pub struct Pool(Arc<Shared>);

struct Shared {
    name: &'static str,
    threads_max: usize,
    /// What waits stays in line when there is no thread for it: it must not be done by who hands it over.
    is_elsewhere: bool,
    state: Mutex<Jobs>,
    more: Condvar,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("name", &self.name).finish_non_exhaustive()
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
    pub fn new(name: &'static str, threads_max: usize) -> Self {
        Self::with(name, threads_max, false)
    }

    /// One whose work is never done by who hands it over, even if the system has no thread for it.
    #[must_use]
    pub fn elsewhere(name: &'static str, threads_max: usize) -> Self {
        Self::with(name, threads_max, true)
    }

    fn with(name: &'static str, threads_max: usize, is_elsewhere: bool) -> Self {
        Self(Arc::new(Shared { name, threads_max, is_elsewhere, state: Mutex::default(), more: Condvar::new() }))
    }

    /// Runs work on a thread of its own as soon as there is one.
    pub fn run(&self, work: Work) {
        // What asks a service there is of the call that is handed over.
        let caller = caller::caller();
        let work: Work = Box::new(move || caller::work_for(caller, work));
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
        let started = std::thread::Builder::new().name(self.0.name.to_owned()).spawn(move || serve(&shared));
        if let Err(error) = started {
            log::warn!("cannot start a thread: {error}");
            self.0.without_thread();
        }
    }
}

impl Shared {
    /// One thread less than was counted. Without any, what waits is done here.
    fn without_thread(&self) {
        let mut state = self.state.lock();
        state.threads -= 1;
        let left = if state.threads == 0 && !self.is_elsewhere { std::mem::take(&mut state.queue) } else { VecDeque::new() };
        drop(state);
        left.into_iter().for_each(perform);
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

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
        assert!(done.iter().all(|(_, thread)| *thread != std::thread::current().id()));
        done.sort_by_key(|(number, _)| *number);
        assert_eq!(done.into_iter().map(|(number, _)| number).collect::<Vec<i32>>(), (0..20).step_by(2).collect::<Vec<_>>());
    }

    /// Work of either kind that does not end keeps neither the other kind nor a few more of its own from being done.
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
        assert!(workers.long.0.state.lock().threads <= LONG_MAX);
    }
}
