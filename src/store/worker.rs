//! A thread of the store, which ends with what started it.

use std::thread::JoinHandle;

use super::StoreError;

/// A thread. It is waited for when this is dropped.
#[derive(Debug)]
pub(super) struct Worker {
    what: &'static str,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// `what` it is in messages: "watcher thread".
    ///
    /// # Errors
    /// `Io`: the system has no thread.
    pub fn start(
        name: &str,
        what: &'static str,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<Self, StoreError> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        Ok(Self {
            what,
            thread: Some(thread.map_err(|error| StoreError::Io(format!("no {what}: {error}")))?),
        })
    }

    /// Lets it end by itself.
    pub fn detach(mut self) {
        self.thread = None;
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // What it runs may drop the last handle of the store; a thread cannot wait for itself.
        if let Some(thread) = self
            .thread
            .take()
            .filter(|thread| thread.thread().id() != std::thread::current().id())
            && thread.join().is_err()
        {
            log::error!("the {} of the store ended by a panic", self.what);
        }
    }
}
