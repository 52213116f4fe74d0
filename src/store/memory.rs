//! A store in memory, for tests: the same keys, snapshots and writer thread as [`super::lmdb`], but
//! not durable. A snapshot is a copy-on-write map that is shared until the next commit.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow, Deref};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use super::commit_signal::CommitSignal;
use super::long_key::{LongKeys, RawRange, RawRead, RawVisit, RawWrite};
use super::writer::{Backend, TransactionBody, WriterThread};
use super::{BatchHook, Direction, LeaseHolder, Read, Store, StoreError, StoreInfo, WriteJob};

type Entries = BTreeMap<Arc<[u8]>, Arc<[u8]>>;

/// A [`Store`] in memory.
#[derive(Debug)]
pub struct MemoryStore {
    data: Arc<MemoryData>,
    writer: WriterThread,
}

impl MemoryStore {
    /// Makes an empty store. Fails only if the system has no thread for its writer.
    pub fn new() -> Result<Self, StoreError> {
        let data = Arc::new(MemoryData::default());
        let writer = WriterThread::start(Arc::clone(&data) as Arc<dyn Backend>)?;
        Ok(Self { data, writer })
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.writer.close();
    }
}

impl Store for MemoryStore {
    fn snapshot(&self) -> Result<Box<dyn Read + '_>, StoreError> {
        let committed = self.data.committed.read();
        // Under the lock, as a commit changes both.
        let commit_id = self.commit_id();
        Ok(Box::new(LongKeys::new(MemoryView {
            entries: Arc::clone(&committed),
            changed: BTreeSet::new(),
            commit_id,
        })))
    }

    fn submit(&self, job: Box<dyn WriteJob>) {
        self.writer.submit(job);
    }

    fn commit_id(&self) -> u64 {
        self.data.commit_id.load(Ordering::Acquire)
    }

    fn set_hook(&self, hook: Arc<dyn BatchHook>) {
        self.writer.set_hook(hook);
    }

    fn info(&self) -> StoreInfo {
        let entries = Arc::clone(&self.data.committed.read());
        let used: usize = entries
            .iter()
            .map(|(key, value)| key.len() + value.len())
            .sum();
        StoreInfo {
            used_bytes: used as u64,
            free_bytes: FREE_BYTES,
            total_bytes: FREE_BYTES + used as u64,
            ..StoreInfo::default()
        }
    }

    fn wait_for_commit(&self, after: u64, timeout: Duration) -> Result<u64, StoreError> {
        Ok(self.data.commits.wait(|| self.commit_id(), after, timeout))
    }

    fn hold_lease(&self, holder: Arc<dyn LeaseHolder>) {
        holder.begin();
    }

    fn close(&self) {
        self.writer.close();
    }
}

/// The free space that a store without a disk reports.
const FREE_BYTES: u64 = 1 << 30;

/// The committed entries, and the writer's own copy. With the copy a transaction does not hold up
/// snapshots, and a commit touches only the changed keys unless a snapshot of the last state is
/// open.
#[derive(Debug, Default)]
struct MemoryData {
    committed: RwLock<Arc<Entries>>,
    working: Mutex<Entries>,
    commit_id: AtomicU64,
    commits: CommitSignal,
}

impl MemoryData {
    fn commit(&self, working: &Entries, changed: &BTreeSet<Arc<[u8]>>) {
        if changed.is_empty() {
            return;
        }
        let mut committed = self.committed.write();
        copy_changed(changed, working, Arc::make_mut(&mut committed));
        self.commit_id.fetch_add(1, Ordering::AcqRel);
        drop(committed);
        self.commits.notify();
    }
}

/// Makes `to` equal to `from` at the keys `changed`.
fn copy_changed(changed: &BTreeSet<Arc<[u8]>>, from: &Entries, to: &mut Entries) {
    for key in changed {
        match from.get(key) {
            Some(value) => to.insert(Arc::clone(key), Arc::clone(value)),
            None => to.remove(key),
        };
    }
}

impl Backend for MemoryData {
    fn transact(&self, body: &mut TransactionBody<'_>) -> Result<(), StoreError> {
        let mut working = self.working.lock();
        let mut batch = LongKeys::new(MemoryView {
            entries: &mut *working,
            changed: BTreeSet::new(),
            commit_id: self.commit_id.load(Ordering::Acquire) + 1,
        });
        let result = body(&mut batch);
        let changed = batch.into_raw().changed;
        match result {
            Ok(()) => self.commit(&working, &changed),
            // Restores the committed values of the touched keys.
            Err(_) => copy_changed(&changed, &self.committed.read(), &mut working),
        }
        result
    }

    fn on_thread_start(&self) {}

    fn can_commit_inline(&self) -> bool {
        true
    }
}

/// The entries of a snapshot, or the ones that a transaction writes to.
#[derive(Debug)]
struct MemoryView<E> {
    entries: E,
    /// The keys that a transaction has written.
    changed: BTreeSet<Arc<[u8]>>,
    commit_id: u64,
}

impl<E: Deref<Target = Entries>> RawRead for MemoryView<E> {
    fn raw_get(&self, key: &[u8]) -> Result<Option<&[u8]>, StoreError> {
        Ok(self.entries.get(key).map(|value| &**value))
    }

    fn raw_commit_id(&self) -> u64 {
        self.commit_id
    }

    fn raw_walk(
        &self,
        range: RawRange<'_>,
        direction: Direction,
        visit: &mut RawVisit<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        walk(&self.entries, range, direction, visit)
    }
}

impl RawWrite for MemoryView<&mut Entries> {
    fn raw_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let key: Arc<[u8]> = key.into();
        self.changed.insert(Arc::clone(&key));
        self.entries.insert(key, value.into());
        Ok(())
    }

    fn raw_delete(&mut self, key: &[u8]) -> Result<bool, StoreError> {
        let Some((key, _)) = self.entries.remove_entry(key) else {
            return Ok(false);
        };
        self.changed.insert(key);
        Ok(true)
    }
}

fn walk(
    entries: &Entries,
    range: RawRange<'_>,
    direction: Direction,
    visit: &mut RawVisit<'_>,
) -> Result<ControlFlow<()>, StoreError> {
    // `BTreeMap::range` panics on bounds in the wrong order.
    if range.is_empty() {
        return Ok(ControlFlow::Continue(()));
    }
    let found = entries.range::<[u8], (Bound<&[u8]>, Bound<&[u8]>)>((range.lower, range.upper));
    match direction {
        Direction::Forward => visit_all(found, visit),
        Direction::Reverse => visit_all(found.rev(), visit),
    }
}

fn visit_all<'a>(
    entries: impl Iterator<Item = (&'a Arc<[u8]>, &'a Arc<[u8]>)>,
    visit: &mut RawVisit<'_>,
) -> Result<ControlFlow<()>, StoreError> {
    for (key, value) in entries {
        if visit(key, value)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
