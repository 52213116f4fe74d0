//! The open LMDB handles, which the map lock guards: the environment, its one database, and the
//! pins. `environment` uses them.

use lmdb::{Database, Environment, EnvironmentFlags, Error};
use parking_lot::Mutex;

use super::directory::{DataDirectory, FILE_MODE};
use super::error::store_error;
use super::options::LmdbOptions;
use super::pin::Pin;
use super::sigbus;
use crate::store::StoreError;

/// Slots for read transactions of all processes (LMDB's default is 126).
const READERS_MAX: u32 = 2048;

/// The step of map sizes, a multiple of every page size.
pub(super) const MAP_STEP_BYTES: usize = 1024 * 1024;

/// The value behind the map lock: the environment and its one database, LMDB's unnamed one.
#[derive(Debug)]
pub(super) struct OpenEnvironment {
    /// The snapshots with pages that must not be overwritten, oldest first. They end before the
    /// environment.
    pins: Mutex<Vec<Pin>>,
    /// `None` once it was lost and could not be opened again.
    environment: Option<Environment>,
    pub database: Database,
}

impl OpenEnvironment {
    pub fn open(directory: &DataDirectory, options: &LmdbOptions) -> Result<Self, StoreError> {
        // NOTLS: a thread may hold two snapshots, a visitor's and the walk's; with a reader slot a
        // thread, the second would be BadRslot. NOSYNC: the log has each commit on disk before it
        // is made, and checkpoints sync the data file.
        let flags = EnvironmentFlags::NO_TLS | EnvironmentFlags::NO_SYNC;
        let stored_bytes =
            std::fs::metadata(directory.data_file()).map_or(0, |metadata| metadata.len());
        // Room for as much again, so that the map need not grow right after the opening.
        let map_bytes = options
            .map_bytes
            .max(usize::try_from(stored_bytes).unwrap_or(0).saturating_mul(2));
        let environment = Environment::new()
            .set_flags(flags)
            .set_max_readers(READERS_MAX)
            .set_map_size(map_bytes.next_multiple_of(MAP_STEP_BYTES))
            .open_with_permissions(directory.path(), FILE_MODE)
            .map_err(store_error)?;
        sigbus::handle_assertions(&environment);
        // The unnamed one alone: keys tell tables apart, and named ones would have to be counted
        // before they are known.
        let database = environment.open_db(None).map_err(store_error)?;
        Ok(Self {
            pins: Mutex::default(),
            environment: Some(environment),
            database,
        })
    }

    /// Closes the environment and opens it again, with a new map. Needs the map lock exclusively.
    pub fn reopen(
        &mut self,
        directory: &DataDirectory,
        options: &LmdbOptions,
    ) -> Result<(), StoreError> {
        // Closed before it is opened: two at once in one process lose the file locks.
        self.pins.get_mut().clear();
        self.environment = None;
        *self = Self::open(directory, options)?;
        Ok(())
    }

    pub fn environment(&self) -> Result<&Environment, Error> {
        self.environment.as_ref().ok_or(Error::Panic)
    }

    /// Returns the bytes of the data file up to the last page of the last commit; 0 if unknown.
    pub fn used_bytes(&self) -> u64 {
        let pages = self
            .environment()
            .and_then(Environment::info)
            .map_or(0, |info| info.last_pgno() as u64 + 1);
        pages * self.page_bytes()
    }

    /// Returns the bytes of the data file's pages that no commit uses, including those that a
    /// reader still needs.
    pub fn free_bytes(&self) -> u64 {
        self.environment()
            .and_then(Environment::freelist)
            .unwrap_or_default() as u64
            * self.page_bytes()
    }

    fn page_bytes(&self) -> u64 {
        self.environment()
            .and_then(Environment::stat)
            .map_or(0, |stat| u64::from(stat.page_size()))
    }

    /// True if there is a pin.
    pub fn is_pinned(&self) -> bool {
        !self.pins.lock().is_empty()
    }

    /// Returns the commit of the oldest pin.
    pub fn oldest_pin(&self) -> Option<u64> {
        self.pins.lock().first().map(|pin| pin.number)
    }

    /// Returns the bytes of the pages freed since the oldest pin, which cannot be reused before it
    /// ends.
    pub fn freed_bytes(&self) -> u64 {
        let freed = |first| self.environment().and_then(Pin::begin)?.freed_since(first);
        self.oldest_pin().map_or(0, |first| {
            freed(first).unwrap_or_default() * self.page_bytes()
        })
    }

    /// Pins the snapshot of the last commit, so that its pages are not overwritten; returns its
    /// number.
    pub fn pin(&self) -> Result<u64, Error> {
        let pin = Pin::begin(self.environment()?)?;
        let number = pin.number;
        self.pins.lock().push(pin);
        Ok(number)
    }

    /// Releases all pins but the newest one, if that is of the commit `number`.
    pub fn unpin_before(&self, number: u64) {
        let mut pins = self.pins.lock();
        if let Some(last) = pins.pop_if(|last| last.number == number) {
            *pins = vec![last];
        }
    }

    /// Releases the newest pin.
    pub fn unpin_last(&self) {
        self.pins.lock().pop();
    }

    /// Releases all pins.
    pub fn unpin_all(&self) {
        self.pins.lock().clear();
    }
}
