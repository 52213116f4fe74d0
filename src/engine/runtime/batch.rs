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
    /// What the last transaction left, once it is committed: nothing of it need be read again unless another process came between.
    left: Option<Left>,
}

/// What a transaction wrote at its end.
#[derive(Debug)]
struct Left {
    /// Number of its commit.
    commit: u64,
    is_committed: bool,
    last_version: Option<Version>,
    counters: BTreeMap<SourceId, SourceCounters>,
}

impl Gathered {
    /// What the commit just before this transaction's left, if it was this process's.
    fn left_before(&self, read: &dyn Read) -> Option<&Left> {
        self.left.as_ref().filter(|left| left.is_committed && left.commit + 1 == read.commit_id())
    }
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
            None => {
                let left = gathered.left_before(read).and_then(|left| left.last_version);
                let last = left.map_or_else(|| last_version(read), Ok)?;
                *gathered.last_version.insert(last)
            }
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

    /// The transaction is committed. The number of its commit, unless it wrote nothing here or changed the catalog.
    pub fn committed(&self) -> Option<u64> {
        let gathered = &mut *self.0.lock();
        let left = gathered.left.as_mut().filter(|left| !left.is_committed)?;
        left.is_committed = true;
        (!gathered.catalog_changed).then_some(left.commit)
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
        let mut gathered = self.0.lock();
        // A transaction that is not committed when the next begins never will be.
        let left = gathered.left.take().filter(|left| left.is_committed);
        *gathered = Gathered { left, ..Gathered::default() };
    }

    fn finish(&self, batch: &mut dyn Write) -> Result<(), StoreError> {
        let gathered = &mut *self.0.lock();
        if !gathered.is_version_taken && gathered.counters.is_empty() {
            return Ok(());
        }
        let before = gathered.left_before(batch.as_read());
        let last_version = gathered.last_version.or(before.and_then(|left| left.last_version));
        if let Some(version) = last_version.filter(|_| gathered.is_version_taken) {
            batch.put(&StoreKey::Meta(Meta::VersionSequence).encode(), &version.to_be_bytes())?;
        }
        // One put for a source, however many jobs of the transaction wrote to it.
        let mut counters = BTreeMap::new();
        for (source, delta) in &gathered.counters {
            let old = before.and_then(|left| left.counters.get(source)).copied();
            let new = delta.apply(old.map_or_else(|| source_counters(batch.as_read(), *source), Ok)?)?;
            batch.put(&StoreKey::Counters(*source).encode(), &new.encode())?;
            counters.insert(*source, new);
        }
        gathered.left = Some(Left { commit: batch.commit_id(), is_committed: false, last_version, counters });
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};

    use super::*;
    use crate::store::memory::MemoryStore;
    use crate::store::{Store, WriteJob};

    struct Job<F>(F, Sender<Result<(), StoreError>>);

    impl<F: FnMut(&mut dyn Write) -> Result<(), StoreError> + Send> WriteJob for Job<F> {
        fn run(&mut self, batch: &mut dyn Write) -> Result<(), StoreError> {
            (self.0)(batch)
        }

        fn done(self: Box<Self>, result: Result<(), StoreError>) {
            self.1.send(result).unwrap();
        }
    }

    fn transact(
        store: &MemoryStore,
        run: impl FnMut(&mut dyn Write) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let (sender, receiver) = channel();
        store.submit(Box::new(Job(run, sender)));
        receiver.recv().unwrap()
    }

    /// One entry more, with the version `expected`, in a transaction that ends as `outcome`; how many entries are counted then.
    fn write(state: &Arc<BatchState>, store: &MemoryStore, expected: Version, outcome: Result<(), StoreError>) -> u64 {
        let (of_job, ends) = (Arc::clone(state), outcome.clone());
        let ended = transact(store, move |batch| {
            of_job.begin();
            assert_eq!(of_job.next_version(batch.as_read())?, expected);
            of_job.take_version(expected);
            of_job.count(SourceId(1), CounterDelta { entries: 1, ..CounterDelta::default() });
            of_job.finish(batch)?;
            ends.clone()
        });
        assert_eq!(ended, outcome);
        if ended.is_ok() {
            state.committed();
        }
        source_counters(&*store.snapshot().unwrap(), SourceId(1)).unwrap().entries
    }

    #[test]
    fn what_is_remembered_is_what_the_last_commit_left() {
        let (state, store) = (Arc::new(BatchState::default()), MemoryStore::new().unwrap());
        assert_eq!(write(&state, &store, 1, Ok(())), 1);
        assert_eq!(write(&state, &store, 2, Err(StoreError::NoSpace)), 1);
        assert_eq!(write(&state, &store, 2, Ok(())), 2);
        // As another process does.
        let foreign = |batch: &mut dyn Write| {
            let counters = SourceCounters { entries: 50, ..SourceCounters::default() };
            batch.put(&StoreKey::Counters(SourceId(1)).encode(), &counters.encode())?;
            batch.put(&StoreKey::Meta(Meta::VersionSequence).encode(), &100_u64.to_be_bytes())
        };
        transact(&store, foreign).unwrap();
        assert_eq!(write(&state, &store, 101, Ok(())), 51);
        assert_eq!(write(&state, &store, 102, Ok(())), 52);
    }
}
