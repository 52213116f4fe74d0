//! Background threads of the store: one makes checkpoints, the other syncs the log and writes zeros
//! ahead of it, which must not wait for a checkpoint.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::environment::LmdbEnvironment;
use super::journal::Wake;
use crate::store::StoreError;

/// The threads, joined on drop.
#[derive(Debug)]
pub(super) struct Checkpointer {
    environment: Arc<LmdbEnvironment>,
    threads: Vec<JoinHandle<()>>,
}

impl Checkpointer {
    pub fn start(environment: Arc<LmdbEnvironment>) -> Result<Self, StoreError> {
        let mut started = Self {
            environment,
            threads: Vec::new(),
        };
        for (name, run) in [
            ("store-checkpoint", make_checkpoints as fn(&LmdbEnvironment)),
            ("store-log", keep_log),
        ] {
            let environment = Arc::clone(&started.environment);
            let thread = std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || run(&environment));
            // On an error `started` is dropped, which ends the first thread.
            started.threads.push(
                thread.map_err(|error| StoreError::Io(format!("no thread {name}: {error}")))?,
            );
        }
        Ok(started)
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.environment.journal.close();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                log::error!("a thread of the store ended by a panic");
            }
        }
    }
}

fn keep_log(environment: &LmdbEnvironment) {
    while environment.journal.wait_for_log() {
        environment.keep_up();
    }
}

fn make_checkpoints(environment: &LmdbEnvironment) {
    let journal = &environment.journal;
    let mut seen = 0;
    loop {
        let wake = journal.wait();
        let commits = journal.commits();
        let is_quiet = std::mem::replace(&mut seen, commits) == commits;
        match wake {
            Wake::Closed => return,
            Wake::Due => environment.checkpoint_beside(),
            // Nothing is left to protect, and the pin may hold up other processes.
            Wake::Tick if !journal.is_logged() => environment.leave(),
            // No commit for a whole period.
            Wake::Tick if is_quiet => {
                environment.checkpoint_beside();
                environment.leave();
            }
            Wake::Tick => {}
        }
    }
}
