//! The background threads of the store: one makes checkpoints (see `journal`) when `pace` says that
//! one is due, the other syncs the log and writes zeros ahead of it, which must not wait for a
//! checkpoint.

use std::sync::Arc;

use super::{environment::LmdbEnvironment, journal::CheckpointWake};
use crate::store::{StoreError, worker::Worker};

/// The threads, joined on drop.
#[derive(Debug)]
pub(super) struct Checkpointer {
    environment: Arc<LmdbEnvironment>,
    threads: Vec<Worker>,
}

impl Checkpointer {
    pub fn start(environment: Arc<LmdbEnvironment>) -> Result<Self, StoreError> {
        let mut started = Self {
            environment,
            threads: Vec::new(),
        };
        for (name, run) in [
            ("store-checkpoint", make_checkpoints as fn(&LmdbEnvironment)),
            ("store-log", maintain_log),
        ] {
            let environment = Arc::clone(&started.environment);
            // On an error `started` is dropped, which ends the first thread.
            let thread = Worker::start(name, move || run(&environment))?;
            started.threads.push(thread);
        }
        Ok(started)
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.environment.journal.close();
        self.threads.clear();
    }
}

fn maintain_log(environment: &LmdbEnvironment) {
    while environment.journal.wait_for_log() {
        environment.maintain_log();
    }
}

fn make_checkpoints(environment: &LmdbEnvironment) {
    let journal = &environment.journal;
    let mut seen = 0;
    loop {
        let wake = journal.wait_for_work();
        let commits = journal.commits();
        let is_quiet = std::mem::replace(&mut seen, commits) == commits;
        match wake {
            CheckpointWake::Closed => return,
            CheckpointWake::Due => environment.checkpoint_paced(),
            // Nothing is left to protect, and the pin may hold up other processes.
            CheckpointWake::Tick if !journal.is_logged() => environment.unpin_idle(),
            // No commit for a whole period.
            CheckpointWake::Tick if is_quiet => {
                environment.checkpoint_paced();
                environment.unpin_idle();
            }
            CheckpointWake::Tick => {}
        }
    }
}
