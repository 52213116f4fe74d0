//! A background thread that is joined when its owner is dropped: the writer, the lease thread and
//! the watcher of a store.

use std::thread::JoinHandle;

use super::StoreError;

/// A thread, joined on drop.
#[derive(Debug)]
pub(super) struct Worker {
    role: &'static str,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts a thread. `what` names it in messages: "watcher thread".
    ///
    /// # Errors
    /// `Io` if the system has no thread.
    pub fn start(
        name: &str,
        role: &'static str,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<Self, StoreError> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        Ok(Self {
            role,
            thread: Some(thread.map_err(|error| StoreError::Io(format!("no {role}: {error}")))?),
        })
    }

    /// Lets the thread end by itself.
    pub fn detach(mut self) {
        self.thread = None;
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The thread may itself drop the last handle of the store; a thread cannot join itself.
        if let Some(thread) = self
            .thread
            .take()
            .filter(|thread| thread.thread().id() != std::thread::current().id())
            && thread.join().is_err()
        {
            log::error!("the {} of the store ended by a panic", self.role);
        }
    }
}
