//! An open computed file.

use std::fmt;

use super::{Computation, MakeProducer, Window};
use crate::fs::{mount::Mount, prelude::*, query::Wanted};

/// An open computed file.
pub struct OpenComputed {
    pub computation: Arc<Computation>,
    /// Makes the producer again, for a reader that goes beyond the bytes that the computation keeps
    /// and then back.
    make: MakeProducer,
    /// The path below the mount, for people.
    pub path: String,
    reading: Mutex<Reading>,
}

impl fmt::Debug for OpenComputed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenComputed")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Reading {
    /// The number of bills of the computation that were settled for this reader.
    settled: usize,
    /// The window over the bytes beyond the spool.
    beyond: Option<Box<Window>>,
    was_told: bool,
}

/// The answer to a read.
#[derive(Debug)]
pub struct Answer {
    pub bytes: Vec<u8>,
    /// The capacity that all bytes consumed, once, at the end.
    pub consumed: Option<Arc<Vec<u8>>>,
}

impl OpenComputed {
    #[must_use]
    pub fn new(computation: Arc<Computation>, make: MakeProducer, path: String) -> Self {
        Self {
            computation,
            make,
            path,
            reading: Mutex::default(),
        }
    }

    /// Returns the bytes of memory of the window beyond the spool, which has a budget of its own.
    /// Returns `None` while a read makes more.
    #[must_use]
    pub fn held_bytes(&self) -> Option<usize> {
        let reading = self.reading.try_lock()?;
        Some(
            reading
                .beyond
                .as_ref()
                .map_or(0, |window| window.held_bytes()),
        )
    }

    /// Returns the bytes at `offset`. The spool has them, or it is known that it will not.
    ///
    /// # Errors
    /// `Throttled`; those of the disk and of the steps beyond the spool.
    pub fn read(
        &self,
        mount: &Mount,
        offset: u64,
        size: usize,
        wanted: &Wanted<'_>,
    ) -> Result<Answer> {
        let mut reading = self.reading.lock();
        let spool = &self.computation.spool;
        if offset >= spool.len() && !self.computation.is_whole() {
            return self.read_beyond(&mut reading, mount, offset, size, wanted);
        }
        let end = offset.saturating_add(size as u64);
        self.settle(&mut reading, end)?;
        let bytes = spool.read(offset, size).map_err(|error| {
            log::error!("{}: cannot read what was kept: {error}", self.path);
            FsError::Internal
        })?;
        let is_told =
            end >= spool.len() && !std::mem::replace(&mut reading.was_told, end >= spool.len());
        Ok(Answer {
            bytes,
            consumed: if is_told {
                self.computation.consumed()
            } else {
                None
            },
        })
    }

    /// Settles the bills of the bytes before `end`.
    fn settle(&self, reading: &mut Reading, end: u64) -> Result<()> {
        for bill in self.computation.bills(reading.settled, end) {
            bill.settle()?;
            reading.settled += 1;
        }
        Ok(())
    }

    fn read_beyond(
        &self,
        reading: &mut Reading,
        mount: &Mount,
        offset: u64,
        size: usize,
        wanted: &Wanted<'_>,
    ) -> Result<Answer> {
        self.settle(reading, u64::MAX)?;
        let window = reading
            .beyond
            .take()
            .or_else(|| self.computation.take_rest())
            .filter(|window| window.start() <= offset);
        let window = match window {
            Some(window) => window,
            None => Box::new(Window::new((self.make)(mount)?)),
        };
        let window = reading.beyond.insert(window);
        let bytes = window.read(mount, offset, size, wanted)?;
        Ok(Answer {
            bytes,
            consumed: window.take_consumed().map(Arc::new),
        })
    }
}
