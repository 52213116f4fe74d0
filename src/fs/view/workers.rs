//! Threads for calls that may take long, so that the event threads stay free: a query's result can be as long as its table.
//!
//! | difficulty | solved by |
//! |---|---|
//! | several readers of whole tables must not make everybody else's calls wait in line | threads are made as they are needed, many, and end when idle: the system shares the processors among them |
//! | a refused write must not wait behind scans and table drops | what ends soon has threads of its own: [`Workers::run`], [`Workers::run_long`] |

use crate::database::pool::{Pool, WithoutThread, Work};

/// Calls at a time that end soon: they wait for a commit at most.
const SHORT_MAX: usize = 8;
/// Calls at a time that may read or drop a whole table; more wait in line.
const LONG_MAX: usize = 32;

/// See the module. Threads start with work and end when they are idle or this is dropped.
#[derive(Debug)]
pub struct Workers {
    short: Pool,
    long: Pool,
}

impl Default for Workers {
    fn default() -> Self {
        Self {
            short: Pool::new("ddbfs-short", SHORT_MAX, WithoutThread::Here),
            long: Pool::new("ddbfs-query", LONG_MAX, WithoutThread::Here),
        }
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
        assert!(workers.long.threads() <= LONG_MAX);
    }
}
