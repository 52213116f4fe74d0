//! The handle of an open computed file. It reads from the spool of the computation, beyond it from
//! a window of its own, and applies the charges of the bytes that it gives. See [`super`].

use super::{Computation, ComputedWindow, MakeProducer};
use crate::fs::{mount::Mount, prelude::*, query::IsWanted};

/// An open computed file.
pub struct OpenComputed {
    pub computation: Arc<Computation>,
    /// Makes the producer again, for a reader that goes beyond the bytes that the computation keeps
    /// and then back.
    make_producer: MakeProducer,
    /// The path below the mount, for people.
    pub path: String,
    reading: Mutex<ComputedReader>,
}

opaque_debug!(OpenComputed);

#[derive(Debug, Default)]
struct ComputedReader {
    /// The number of charges of the computation that were applied for this reader.
    applied_charges: usize,
    /// The window over the bytes beyond the spool.
    window: Option<Box<ComputedWindow>>,
    gave_consumed: bool,
}

/// The answer to a read.
#[derive(Debug)]
pub struct ComputedRead {
    pub bytes: Vec<u8>,
    /// The capacity that all bytes consumed, once, at the end.
    pub consumed: Option<Arc<Vec<u8>>>,
}

impl OpenComputed {
    #[must_use]
    pub fn new(computation: Arc<Computation>, make_producer: MakeProducer, path: String) -> Self {
        Self {
            computation,
            make_producer,
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
                .window
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
        is_wanted: &IsWanted<'_>,
    ) -> Result<ComputedRead> {
        let mut reading = self.reading.lock();
        let spool = &self.computation.spool;
        if offset >= spool.len() && !self.computation.is_complete() {
            return self.read_window(&mut reading, mount, offset, size, is_wanted);
        }
        let end = offset.saturating_add(size as u64);
        self.apply_charges(&mut reading, end)?;
        let bytes = spool.read(offset, size).map_err(|error| {
            log::error!("{}: cannot read the spooled result: {error}", self.path);
            FsError::Internal
        })?;
        let is_told = end >= spool.len()
            && !std::mem::replace(&mut reading.gave_consumed, end >= spool.len());
        Ok(ComputedRead {
            bytes,
            consumed: if is_told {
                self.computation.consumed()
            } else {
                None
            },
        })
    }

    /// Applies the charges of the bytes before `end`.
    fn apply_charges(&self, reading: &mut ComputedReader, end: u64) -> Result<()> {
        for charge in self.computation.charges(reading.applied_charges, end) {
            charge.spend()?;
            reading.applied_charges += 1;
        }
        Ok(())
    }

    fn read_window(
        &self,
        reading: &mut ComputedReader,
        mount: &Mount,
        offset: u64,
        size: usize,
        is_wanted: &IsWanted<'_>,
    ) -> Result<ComputedRead> {
        self.apply_charges(reading, u64::MAX)?;
        let window = reading
            .window
            .take()
            .or_else(|| self.computation.take_window())
            .filter(|window| window.start() <= offset);
        let window = match window {
            Some(window) => window,
            None => Box::new(ComputedWindow::new((self.make_producer)(mount)?)),
        };
        let window = reading.window.insert(window);
        let bytes = window.read(mount, offset, size, is_wanted)?;
        Ok(ComputedRead {
            bytes,
            consumed: window.take_consumed().map(Arc::new),
        })
    }
}
