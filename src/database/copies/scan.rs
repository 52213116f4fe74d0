//! A parallel Scan with one thread for each segment, and the progress that its threads share. `copy`
//! and `compare` read tables by it.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::journal::{CopyCounts, SEGMENTS_MAX, SegmentPosition};
use super::{CopyError, CopySide};
use crate::database::cancel::{CancelToken, ThrottleBackoff};
use crate::database::prelude::*;
use crate::model::api::{ScanRequest, Segment};

/// The most items of a page: those of a megabyte of tiny items would take a hundred times as much.
const PAGE_ITEMS_MAX: u32 = 4096;

/// A function that reads the page of a request and deals with its items, on the thread of the
/// request's segment.
type ReadPage<'a> = dyn Fn(&ScanRequest) -> Result<Page, CopyError> + Sync + 'a;

/// Reads every segment from its position to its end, or until `tally` stops all threads.
///
/// # Errors
/// The first error of any thread; the others end with their page.
pub fn scan(
    side: &CopySide,
    places: Vec<SegmentPosition>,
    tally: &CopyProgress,
    read_page: &ReadPage<'_>,
) -> Result<(), CopyError> {
    debug_assert!(places.len() <= SEGMENTS_MAX as usize);
    let total = u32::try_from(places.len()).unwrap_or(u32::MAX);
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (index, place) in (0..).zip(places) {
            let segment = Segment { index, total };
            let read = move || {
                tally.stop_on_error(|| read_segment(side, segment, place, tally, read_page))
            };
            let thread = thread::Builder::new()
                .name(format!("segment {index}"))
                .spawn_scoped(scope, read);
            threads.push(tally.stop_on_error(|| {
                thread.map_err(|source| CopyError::Io {
                    doing: "no thread for a segment",
                    source,
                })
            })?);
        }
        // All threads end before the first error is returned.
        let results: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect();
        results.into_iter().collect()
    })
}

fn read_segment(
    side: &CopySide,
    segment: Segment,
    mut position: SegmentPosition,
    tally: &CopyProgress,
    read_page: &ReadPage<'_>,
) -> Result<(), CopyError> {
    let mut request = ScanRequest::new(side.table.clone());
    request.segment = Some(segment);
    request.limit = Some(PAGE_ITEMS_MAX);
    loop {
        request.exclusive_start_key = match position {
            SegmentPosition::Start => None,
            SegmentPosition::After(key) => Some(key),
            SegmentPosition::End => return Ok(()),
        };
        let page = read_page(&request);
        match page {
            // A wait that was cancelled by the stop is no failure.
            _ if tally.is_stopped() => return Ok(()),
            page => {
                position = page?
                    .last_evaluated_key
                    .map_or(SegmentPosition::End, SegmentPosition::After)
            }
        }
    }
}

/// The counts of all threads, and the flag that stops them.
pub struct CopyProgress {
    counts: Mutex<CopyCounts>,
    /// Set by a signal, and by a thread that failed: all threads end, and cancel their waits.
    stop: Arc<AtomicBool>,
    on_change: Box<dyn Fn(&CopyCounts) + Send + Sync>,
}

opaque_debug!(CopyProgress);

impl CopyProgress {
    /// Creates a progress without counts. `watch` is called after every page; `stop` may be set at
    /// any time.
    pub fn new(stop: Arc<AtomicBool>, watch: impl Fn(&CopyCounts) + Send + Sync + 'static) -> Self {
        Self {
            counts: Mutex::default(),
            stop,
            on_change: Box::new(watch),
        }
    }

    pub fn add(&self, more: &CopyCounts) {
        let now = {
            let mut counts = self.counts.lock();
            counts.add(more);
            *counts
        };
        (self.on_change)(&now);
    }

    #[must_use]
    pub fn counts(&self) -> CopyCounts {
        *self.counts.lock()
    }

    /// True if each thread must end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        // Relaxed: the flag orders nothing else.
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs a part of the work; a failure stops the other threads.
    ///
    /// # Errors
    /// The error of `work`, after the stop flag is set.
    pub fn stop_on_error<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        work().inspect_err(|_| self.stop.store(true, Ordering::Relaxed))
    }

    /// Returns the caller for requests, which stops waiting when this progress is stopped.
    #[must_use]
    pub fn caller(&self) -> CancelToken {
        CancelToken::Flag(Arc::clone(&self.stop))
    }
}

impl CopySide {
    /// Returns the same side with waits that end when this progress is stopped.
    pub(super) fn of(&self, progress: &CopyProgress) -> Self {
        let (caller, same) = (progress.caller(), self.clone());
        let database = self.database.for_caller(&caller).unwrap_or(same.database);
        Self {
            database,
            caller,
            ..same
        }
    }

    /// Calls until the request is not throttled, or the backoff ends; an error is attributed to this
    /// side.
    pub(super) fn retry<T>(
        &self,
        mut call: impl FnMut() -> Result<T, Error>,
    ) -> Result<T, CopyError> {
        let mut patience = ThrottleBackoff::default();
        loop {
            match call() {
                Err(error)
                    if error.is_throttled() && self.check(patience.wait(&self.caller))? => {}
                ended => return self.check(ended),
            }
        }
    }
}
