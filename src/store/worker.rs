//! A background thread that is joined when its owner is dropped.

use std::thread::JoinHandle;

use super::StoreError;

/// A thread, joined on drop.
#[derive(Debug)]
pub struct Worker(Option<JoinHandle<()>>);

impl Worker {
    /// Starts a thread of this name.
    ///
    /// # Errors
    /// `Io` if the system has no thread.
    pub fn start(name: &str, run: impl FnOnce() + Send + 'static) -> Result<Self, StoreError> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        let thread =
            thread.map_err(|error| StoreError::Io(format!("no thread {name}: {error}")))?;
        Ok(Self(Some(thread)))
    }

    /// Lets the thread end by itself.
    pub fn detach(mut self) {
        self.0 = None;
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let Some(thread) = self.0.take() else { return };
        let name = thread.thread().name().map(ToOwned::to_owned);
        // The thread may itself drop the last handle of the store; a thread cannot join itself.
        if thread.thread().id() != std::thread::current().id() && thread.join().is_err() {
            log::error!("the thread {} ended by a panic", name.unwrap_or_default());
        }
    }
}
