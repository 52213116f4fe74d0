//! The thread that makes checkpoints beside the commits, and keeps the log in order.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::environment::LmdbEnvironment;
use super::journal::Wake;
use crate::store::StoreError;

/// The thread; ends when dropped.
#[derive(Debug)]
pub(super) struct Checkpointer {
    environment: Arc<LmdbEnvironment>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub fn start(environment: Arc<LmdbEnvironment>) -> Result<Self, StoreError> {
        let of_thread = Arc::clone(&environment);
        let thread = std::thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn(move || run(&of_thread))
            .map_err(|error| StoreError::Io(format!("no thread for checkpoints: {error}")))?;
        Ok(Self { environment, thread: Some(thread) })
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.environment.journal().close();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("the thread of the store's checkpoints ended by a panic");
        }
    }
}

fn run(environment: &LmdbEnvironment) {
    let journal = environment.journal();
    let mut seen = 0;
    loop {
        let wake = journal.wait();
        let commits = journal.commits();
        let is_quiet = std::mem::replace(&mut seen, commits) == commits;
        match wake {
            Wake::Closed => return,
            Wake::Due => environment.checkpoint_beside(),
            Wake::Tick if !journal.is_logged() => environment.leave(),
            Wake::Tick if is_quiet => {
                environment.checkpoint_beside();
                environment.leave();
            }
            Wake::Tick => environment.keep_up(),
        }
    }
}
