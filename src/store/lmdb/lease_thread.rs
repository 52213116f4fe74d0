//! The lease thread: takes the exclusive lease (`lease`) while no other process has the store open,
//! and releases it when one asks for it. The [`LeaseHolder`] is the cache of the mount.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::lease::StoreLease;
use crate::store::worker::Worker;
use crate::store::{LeaseHolder, StoreError};

/// The most failures in a row. A process that was stopped or not scheduled may miss an event once.
const TRIES_MAX: u32 = 5;

/// The thread. Ends when dropped; nothing is cached then.
#[derive(Debug)]
pub(super) struct LeaseThread {
    is_closed: Arc<AtomicBool>,
    wake: SyncSender<()>,
    _thread: Worker,
    _watcher: RecommendedWatcher,
}

impl LeaseThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system cannot watch the lock file, or has no thread.
    pub fn start(lease: Arc<StoreLease>, holder: Arc<dyn LeaseHolder>) -> Result<Self, StoreError> {
        let failed = |error: notify::Error| {
            StoreError::Io(format!(
                "{} cannot be watched: {error}",
                lease.file().display()
            ))
        };
        // One queued event is enough: it says "look", not more.
        let (wake, wakes) = sync_channel(1);
        let on_request = wake.clone();
        let mut files = notify::recommended_watcher(move |event| {
            if is_request(&event) {
                // A full queue holds such an event already.
                let _ = on_request.try_send(());
            }
        })
        .map_err(failed)?;
        files
            .watch(lease.file(), RecursiveMode::NonRecursive)
            .map_err(failed)?;
        let is_closed = Arc::new(AtomicBool::new(false));
        let guard = LeaseLoop {
            lease,
            holder,
            wakes,
            is_closed: Arc::clone(&is_closed),
        };
        let thread = Worker::start("store-lease", move || guard.run())?;
        Ok(Self {
            is_closed,
            wake,
            _thread: thread,
            _watcher: files,
        })
    }
}

impl Drop for LeaseThread {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Release);
        let _ = self.wake.try_send(());
    }
}

/// True for a touch of the file, and for any event after which touches may be lost.
fn is_request(event: &notify::Result<Event>) -> bool {
    match event {
        Ok(event) => match event.kind {
            EventKind::Access(_) => event.need_rescan(),
            // A write of the mark changes the data too; it is no request.
            EventKind::Modify(ModifyKind::Data(_)) => false,
            _ => true,
        },
        Err(_) => true,
    }
}

struct LeaseLoop {
    lease: Arc<StoreLease>,
    holder: Arc<dyn LeaseHolder>,
    wakes: Receiver<()>,
    is_closed: Arc<AtomicBool>,
}

impl LeaseLoop {
    fn run(&self) {
        let mut tries = 0;
        while !self.is_closed() {
            let kept = if self.lease.is_settled() {
                self.hold()
            } else {
                Ok(())
            };
            tries = if kept.is_ok() { 0 } else { tries + 1 };
            if let Err(error) = kept
                && tries == TRIES_MAX
            {
                log::warn!("nothing is kept: {error}");
                return;
            }
            self.sleep();
        }
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Sleeps until the next look. Events mean nothing while the lease is not held.
    fn sleep(&self) {
        let until = Instant::now() + self.lease.limits().poll_period;
        while !self.is_closed()
            && self
                .wakes
                .recv_timeout(until.saturating_duration_since(Instant::now()))
                .is_ok()
        {}
    }

    /// Holds the lease until another process asks for it, if there is none yet.
    fn hold(&self) -> io::Result<()> {
        if !self.lease.try_exclusive()? {
            return Ok(());
        }
        let kept = self.hold_locked();
        self.lease.downgrade()?;
        kept
    }

    fn hold_locked(&self) -> io::Result<()> {
        // Tested each time, as the file may have been removed: a process that cannot observe
        // requests must not take the lease.
        while self.wakes.try_recv().is_ok() {}
        self.lease.request_release()?;
        if self
            .wakes
            .recv_timeout(self.lease.limits().watch_wait)
            .is_err()
        {
            return Err(io::Error::other(
                "inotify does not report changes of the lease file",
            ));
        }
        self.lease
            .write_marker(self.holder.ttl(), self.holder.marker_file())?;
        self.holder.begin();
        // The sender lives as long as the thread.
        let _ = self.wakes.recv();
        self.holder.end();
        self.lease.clear_marker()
    }
}
