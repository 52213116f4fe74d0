//! What the jobs of one transaction gather and write once at its end: the version sequence and the counters of sources.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::engine::base::counters::{CounterDelta, SourceCounters};
use crate::engine::base::keys::{Meta, SourceId, StoreKey};
use crate::model::api::Version;
use crate::model::error::StoreError;
use crate::store::{BatchHook, Read, Write};

/// The hook of the writer thread. Locked by one job at a time: there is one writer thread.
#[derive(Debug, Default)]
pub struct BatchState(Mutex<Gathered>);

#[derive(Debug, Default)]
struct Gathered {
    /// The last version given by this transaction or before it; `None` until it is read.
    last_version: Option<Version>,
    is_version_taken: bool,
    counters: BTreeMap<SourceId, CounterDelta>,
    catalog_changed: bool,
}

impl BatchState {
    /// The version the next changed item gets; it is given only by [`Self::take_version`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn next_version(&self, read: &dyn Read) -> Result<Version, StoreError> {
        let mut gathered = self.0.lock();
        let last = match gathered.last_version {
            Some(version) => version,
            None => *gathered.last_version.insert(last_version(read)?),
        };
        Ok(last + 1)
    }

    /// Gives a version away.
    pub fn take_version(&self, version: Version) {
        let mut gathered = self.0.lock();
        gathered.last_version = Some(version);
        gathered.is_version_taken = true;
    }

    /// Adds to a source's counters.
    pub fn count(&self, source: SourceId, delta: CounterDelta) {
        self.0.lock().counters.entry(source).or_default().add(delta);
    }

    /// A job changed the catalog: until the commit, its entries must be read from the transaction.
    pub fn catalog_changed(&self) {
        self.0.lock().catalog_changed = true;
    }

    /// Did a job of this transaction change the catalog?
    #[must_use]
    pub fn is_catalog_changed(&self) -> bool {
        self.0.lock().catalog_changed
    }
}

impl BatchHook for BatchState {
    fn begin(&self) {
        *self.0.lock() = Gathered::default();
    }

    fn finish(&self, batch: &mut dyn Write) -> Result<(), StoreError> {
        let gathered = std::mem::take(&mut *self.0.lock());
        if let Some(version) = gathered.last_version.filter(|_| gathered.is_version_taken) {
            batch.put(&StoreKey::Meta(Meta::VersionSequence).encode(), &version.to_be_bytes())?;
        }
        // One put for a source, however many jobs of the transaction wrote to it.
        for (source, delta) in gathered.counters {
            let counters = delta.apply(source_counters(batch.as_read(), source)?)?;
            batch.put(&StoreKey::Counters(source).encode(), &counters.encode())?;
        }
        Ok(())
    }
}

/// The item version given last in a view.
///
/// # Errors
/// Those of the store.
pub fn last_version(read: &dyn Read) -> Result<Version, StoreError> {
    match read.get(&StoreKey::Meta(Meta::VersionSequence).encode())? {
        Some(bytes) => Ok(u64::from_be_bytes(bytes.try_into().map_err(|_| StoreError::Corrupt("version sequence"))?)),
        None => Ok(0),
    }
}

/// A source's counters in a view; zeros before its first entry.
///
/// # Errors
/// Those of the store.
pub fn source_counters(read: &dyn Read, source: SourceId) -> Result<SourceCounters, StoreError> {
    match read.get(&StoreKey::Counters(source).encode())? {
        Some(bytes) => SourceCounters::decode(bytes),
        None => Ok(SourceCounters::default()),
    }
}
