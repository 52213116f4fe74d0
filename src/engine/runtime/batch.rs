//! Group commit, the engine's part: the state that all jobs of one store transaction share and that
//! is written once at its end, namely the version sequence and the counters of sources.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::engine::{
    base::{
        counters::{CounterDelta, SourceCounters},
        keys::Meta,
    },
    prelude::*,
};
use crate::store::BatchHook;

/// The version of all stored formats together. 2: the store may have a write-ahead log beside it,
/// which programs of version 1 do not know and would not apply. All earlier versions are read, and
/// become this one with the first write.
pub const FORMAT_VERSION: u8 = 2;

/// The hook that the store's writer thread calls at the begin and end of each transaction. One job
/// at a time locks the state, because there is one writer thread.
#[derive(Debug, Default)]
pub struct BatchState {
    state: Mutex<TransactionState>,
    writes_format: AtomicBool,
}

#[derive(Debug, Default)]
struct TransactionState {
    /// The last version taken by this transaction or before it; `None` until it is read.
    last_version: Option<Version>,
    is_version_taken: bool,
    counters: BTreeMap<SourceId, CounterDelta>,
    catalog_changed: bool,
    /// The state after the last transaction, once it is committed: it is not read again unless
    /// another process committed in between.
    last_commit: Option<CommitState>,
}

/// The state that a transaction wrote at its end.
#[derive(Debug)]
struct CommitState {
    /// The id of its commit.
    commit: u64,
    is_committed: bool,
    last_version: Option<Version>,
    counters: BTreeMap<SourceId, SourceCounters>,
}

impl TransactionState {
    /// Returns the state after the commit just before this transaction, if that commit was this
    /// process's.
    fn preceding_commit(&self, read: &dyn Read) -> Option<&CommitState> {
        self.last_commit
            .as_ref()
            .filter(|left| left.is_committed && left.commit + 1 == read.commit_id())
    }
}

impl BatchState {
    /// Returns the version of the next change; only [`Self::take_version`] takes it.
    pub fn next_version(&self, read: &dyn Read) -> Result<Version, StoreError> {
        let mut gathered = self.state.lock();
        let last = match gathered.last_version {
            Some(version) => version,
            None => {
                let left = gathered
                    .preceding_commit(read)
                    .and_then(|left| left.last_version);
                let last = left.map_or_else(|| last_version(read), Ok)?;
                *gathered.last_version.insert(last)
            }
        };
        Ok(last + 1)
    }

    /// Takes a version.
    pub fn take_version(&self, version: Version) {
        let mut gathered = self.state.lock();
        assert!(
            gathered.last_version.is_none_or(|last| last <= version),
            "versions rise"
        );
        gathered.last_version = Some(version);
        gathered.is_version_taken = true;
    }

    /// Adds to a source's counters.
    pub fn add_counters(&self, source: SourceId, delta: CounterDelta) {
        self.state
            .lock()
            .counters
            .entry(source)
            .or_default()
            .add(delta);
    }

    /// True if this transaction changes a source's counters.
    pub fn has_counters(&self, source: SourceId) -> bool {
        self.state.lock().counters.contains_key(&source)
    }

    /// Makes the next transaction write the present format version, for a store that is new or of
    /// an earlier version.
    pub fn write_format(&self) {
        self.writes_format.store(true, Ordering::Release);
    }

    fn put_format(&self, batch: &mut dyn Write) -> Result<(), StoreError> {
        if !self.writes_format.load(Ordering::Acquire) {
            return Ok(());
        }
        if format_version(batch.as_read())? == Some(FORMAT_VERSION) {
            // A commit of this or another process has written it.
            self.writes_format.store(false, Ordering::Release);
            return Ok(());
        }
        batch.put(&StoreKey::Meta(Meta::Format).encode(), &[FORMAT_VERSION])
    }

    /// Marks the transaction as committed. Returns the id of its commit, unless it wrote nothing
    /// here or changed the catalog.
    pub fn mark_committed(&self) -> Option<u64> {
        let gathered = &mut *self.state.lock();
        let left = gathered
            .last_commit
            .as_mut()
            .filter(|left| !left.is_committed)?;
        left.is_committed = true;
        (!gathered.catalog_changed).then_some(left.commit)
    }

    /// Marks the catalog as changed by a job: until the commit, entries must be read from the
    /// transaction.
    pub fn mark_catalog_changed(&self) {
        self.state.lock().catalog_changed = true;
    }

    /// True if a job of this transaction changed the catalog.
    #[must_use]
    pub fn is_catalog_changed(&self) -> bool {
        self.state.lock().catalog_changed
    }
}

impl BatchHook for BatchState {
    fn begin(&self) {
        let mut gathered = self.state.lock();
        // A transaction that is not committed when the next one begins was aborted.
        let last_commit = gathered
            .last_commit
            .take()
            .filter(|last_commit| last_commit.is_committed);
        *gathered = TransactionState {
            last_commit,
            ..TransactionState::default()
        };
    }

    fn finish(&self, batch: &mut dyn Write) -> Result<(), StoreError> {
        self.put_format(batch)?;
        let gathered = &mut *self.state.lock();
        if !gathered.is_version_taken && gathered.counters.is_empty() {
            return Ok(());
        }
        let before = gathered.preceding_commit(batch.as_read());
        let last_version = gathered
            .last_version
            .or(before.and_then(|left| left.last_version));
        if let Some(version) = last_version.filter(|_| gathered.is_version_taken) {
            batch.put(
                &StoreKey::VersionSequence().encode(),
                &version.to_be_bytes(),
            )?;
        }
        // One put for each source, however many jobs of the transaction wrote to it.
        let mut counters = BTreeMap::new();
        for (source, delta) in &gathered.counters {
            let old = before.and_then(|left| left.counters.get(source)).copied();
            let new =
                delta.apply(old.map_or_else(|| source_counters(batch.as_read(), *source), Ok)?)?;
            batch.put(&StoreKey::Counters(*source).encode(), &new.encode())?;
            counters.insert(*source, new);
        }
        gathered.last_commit = Some(CommitState {
            commit: batch.commit_id(),
            is_committed: false,
            last_version,
            counters,
        });
        Ok(())
    }
}

/// Reads the version of a store's formats; `None` for a new store.
///
/// # Errors
/// Fails with `Format` if a newer version wrote the store; also errors of the store.
pub fn format_version(read: &dyn Read) -> Result<Option<u8>, StoreError> {
    match read.get(&StoreKey::Meta(Meta::Format).encode())? {
        None => Ok(None),
        Some(&[version @ 1..=FORMAT_VERSION]) => Ok(Some(version)),
        Some(&[other]) => Err(StoreError::Format(other)),
        Some(_) => Err(StoreError::Corrupt("format version")),
    }
}

/// Reads the last item version taken, in a view.
pub fn last_version(read: &dyn Read) -> Result<Version, StoreError> {
    let stored = |key: StoreKey<'_>| key.read(read, "version sequence");
    let earlier = || stored(StoreKey::Meta(Meta::VersionSequence));
    match stored(StoreKey::VersionSequence())?.map_or_else(earlier, |version| Ok(Some(version)))? {
        Some(version) => Ok(version),
        // Versions that are taken must not be taken again.
        None if walks::has_any(read, &Space::Entry.all())? => {
            Err(StoreError::Corrupt("items without the version sequence"))
        }
        None => Ok(0),
    }
}

/// Reads a source's counters in a view; zeros before its first entry.
pub fn source_counters(read: &dyn Read, source: SourceId) -> Result<SourceCounters, StoreError> {
    match read.get(&StoreKey::Counters(source).encode())? {
        Some(bytes) => SourceCounters::decode(bytes),
        None => Ok(SourceCounters::default()),
    }
}

/// Returns `TableSizeBytes`, in which a vector counts as the entries of its indexes have it
/// (docs/dynamodb.md 28.2).
pub fn table_bytes(read: &dyn Read, table: &TableEntry) -> Result<u64, StoreError> {
    let mut saved = BTreeMap::<&str, u64>::new();
    for (index, source) in table.indexes() {
        if let Some(vector) = &index.vector {
            let of_index = source_counters(read, source)?.saved.unwrap_or(0);
            let most = saved.entry(&vector.name).or_default();
            *most = of_index.max(*most);
        }
    }
    let all = source_counters(read, table.source)?.size_with_overhead();
    Ok(all.saturating_sub(saved.values().sum()))
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

    /// Adds an entry with the version `expected` in a transaction that ends as `outcome`; returns
    /// the number of counted entries.
    fn write(
        state: &Arc<BatchState>,
        store: &MemoryStore,
        expected: Version,
        outcome: Result<(), StoreError>,
    ) -> u64 {
        let (of_job, ends) = (Arc::clone(state), outcome.clone());
        let result = transact(store, move |batch| {
            of_job.begin();
            assert_eq!(of_job.next_version(batch.as_read())?, expected);
            of_job.take_version(expected);
            of_job.add_counters(
                SourceId(1),
                CounterDelta {
                    entries: 1,
                    ..CounterDelta::default()
                },
            );
            of_job.finish(batch)?;
            ends.clone()
        });
        assert_eq!(result, outcome);
        if result.is_ok() {
            state.mark_committed();
        }
        source_counters(&*store.snapshot().unwrap(), SourceId(1))
            .unwrap()
            .entries
    }

    #[test]
    fn what_is_remembered_is_what_the_last_commit_left() {
        let (state, store) = (Arc::new(BatchState::default()), MemoryStore::new().unwrap());
        assert_eq!(write(&state, &store, 1, Ok(())), 1);
        assert_eq!(write(&state, &store, 2, Err(StoreError::NoSpace)), 1);
        assert_eq!(write(&state, &store, 2, Ok(())), 2);
        // As another process does.
        let foreign = |batch: &mut dyn Write| {
            let counters = SourceCounters {
                entries: 50,
                ..SourceCounters::default()
            };
            batch.put(
                &StoreKey::Counters(SourceId(1)).encode(),
                &counters.encode(),
            )?;
            batch.put(
                &StoreKey::VersionSequence().encode(),
                &100_u64.to_be_bytes(),
            )
        };
        transact(&store, foreign).unwrap();
        assert_eq!(write(&state, &store, 101, Ok(())), 51);
        assert_eq!(write(&state, &store, 102, Ok(())), 52);
    }
}
