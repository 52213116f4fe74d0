//! Threads for calls that may take long, so that the event threads stay free: a query's result can be as long as its table.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use parking_lot::Mutex;

/// Long calls at a time; more wait in line.
const WORKERS: usize = 4;

type Work = Box<dyn FnOnce() + Send>;

/// See the module. The threads start with the first work and end when this is dropped.
#[derive(Debug, Default)]
pub struct Workers {
    sender: Mutex<Option<Sender<Work>>>,
}

impl Workers {
    /// Runs `work` on one of the threads, or here when the system has no thread for us.
    pub fn run(&self, work: Work) {
        let mut sender = self.sender.lock();
        let sender = sender.get_or_insert_with(start);
        if let Err(unsent) = sender.send(work) {
            (unsent.0)();
        }
    }
}

fn start() -> Sender<Work> {
    let (sender, receiver) = channel::<Work>();
    let receiver = Arc::new(Mutex::new(receiver));
    for number in 0..WORKERS {
        let receiver = Arc::clone(&receiver);
        let name = format!("ddbfs-query-{number}");
        if let Err(error) = std::thread::Builder::new().name(name).spawn(move || serve(&receiver)) {
            log::warn!("cannot start a query thread: {error}");
        }
    }
    sender
}

fn serve(receiver: &Mutex<Receiver<Work>>) {
    loop {
        let Ok(work) = receiver.lock().recv() else { return };
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            log::error!("a query was abandoned after a panic");
        }
    }
}

#[cfg(test)]
mod tests {
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
}
