//! Files that are made on demand: results of queries, `stream/since/`.
//!
//! Programs ask for the size of a file before they read it, and many trust the answer (tar, rsync,
//! `wc -c`, every program that maps the file). The calls of a program do not show if it
//! does. So the size is exact up to [`SIZED_BYTES_MAX`].
//!
//! | difficulty | solved by |
//! |---|---|
//! | the size is known when everything was made | a [`Computation`] keeps its bytes in a [`Spool`]; a call for the size waits for the end, a read for its bytes |
//! | asking for a size must consume no capacity | steps are made without being charged, each leaves a deferred charge; an [`OpenComputed`] applies the charges of the bytes that it gives, once |
//! | the open that follows a stat must not compute again | [`ComputationCache`], for a short time and as long as nothing was committed |
//! | an open file must not change | its handle holds its computation |
//! | a caller that was interrupted must not keep us busy | steps are made only while a caller waits; a later one goes on where they ended |
//! | a result may be of any length | beyond the limit the size is 0, as of a pipe, and each reader has a [`ComputedWindow`] that keeps a page or two |

mod open;
mod spool;

pub use open::{ComputedRead, OpenComputed};
pub use spool::{DISK_BYTES_MAX, Spool, SpoolSet};

use std::fmt;
use std::time::Instant;

use super::sub_range;
use crate::fs::{mount::Mount, prelude::*, process::has_pending_signal, query::IsWanted};

/// Makes the bytes of a file, from the first to the last.
pub trait Producer: fmt::Debug + Send {
    /// Appends the bytes of one step, and its charges. Returns false at the end. A failed step leaves
    /// no trace and may be tried again.
    ///
    /// # Errors
    /// The source of the bytes is gone, or refuses.
    fn produce(
        &mut self,
        mount: &Mount,
        charges: &mut Vec<DeferredCharge>,
        out: &mut Vec<u8>,
    ) -> Result<bool>;

    /// Returns the capacity that all steps consumed, in the form of `capacity.json`, once after the
    /// end.
    fn take_consumed(&mut self) -> Option<Vec<u8>> {
        None
    }
}

/// Makes the producer of a file, as the file is at that time.
pub type MakeProducer = Box<dyn Fn(&Mount) -> Result<Box<dyn Producer>> + Send + Sync>;

/// The length in bytes up to which the size of a file is shown.
pub const SIZED_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// A callback for a waiting call: called once when the awaited bytes or size exist, or with the
/// error that prevents them.
pub type Wake = Box<dyn FnOnce(Result<()>) + Send>;

/// The condition of a waiting call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    /// The spool has a byte at this offset, or it is known that it will have none.
    Byte(u64),
    /// The size of the file is known, or it is known that none is shown.
    Size,
}

struct ComputationWaiter {
    /// The thread that called.
    thread: u32,
    until: WaitFor,
    wake: Wake,
}

/// The progress of a computation.
#[derive(Debug)]
enum ComputationProgress {
    Running,
    /// All bytes are in the spool. The value is the capacity that the run consumed.
    Complete(Option<Arc<Vec<u8>>>),
    /// The result is too long, or the spool is full; the first reader beyond the spool goes on with
    /// the window.
    Overflowed(Option<FsError>, Option<Box<ComputedWindow>>),
}

struct ComputationState {
    /// `None` while a step is made.
    producer: Option<Box<dyn Producer>>,
    progress: ComputationProgress,
    /// Each charge, with the offset at which the bytes of its step begin.
    charges: Vec<(u64, DeferredCharge)>,
    waiting: Vec<ComputationWaiter>,
}

/// A run of a [`Producer`], shared by all readers of the same file.
pub struct Computation {
    spool: Spool,
    state: Mutex<ComputationState>,
}

opaque_debug!(Computation);

impl Computation {
    /// Makes a computation that has no bytes yet.
    #[must_use]
    pub fn new(producer: Box<dyn Producer>, spools: &Arc<SpoolSet>) -> Self {
        let state = ComputationState {
            producer: Some(producer),
            progress: ComputationProgress::Running,
            charges: Vec::new(),
            waiting: Vec::new(),
        };
        Self {
            spool: Spool::new(spools),
            state: Mutex::new(state),
        }
    }

    /// Returns the size to be shown, if it is known: 0 if the result is too long.
    #[must_use]
    pub fn size(&self) -> Option<Result<u64>> {
        match &self.state.lock().progress {
            ComputationProgress::Running => None,
            ComputationProgress::Complete(_) => Some(Ok(self.spool.len())),
            ComputationProgress::Overflowed(None, _) => Some(Ok(0)),
            ComputationProgress::Overflowed(Some(error), _) => Some(Err(error.clone())),
        }
    }

    /// True if a call waits for it.
    #[must_use]
    pub fn has_waiters(&self) -> bool {
        let state = self.state.lock();
        state.producer.is_none() || !state.waiting.is_empty()
    }

    /// True if nothing is left to do.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        !matches!(self.state.lock().progress, ComputationProgress::Running)
    }

    /// Calls `wake` when the condition holds. Returns true if no thread makes steps: then the
    /// caller must have them made.
    #[must_use]
    pub fn wait(&self, thread: u32, condition: WaitFor, wake: Wake) -> bool {
        let mut state = self.state.lock();
        let is_available = !matches!(state.progress, ComputationProgress::Running)
            || matches!(condition, WaitFor::Byte(offset) if offset < self.spool.len());
        if is_available {
            drop(state);
            wake(Ok(()));
            return false;
        }
        state.waiting.push(ComputationWaiter {
            thread,
            until: condition,
            wake,
        });
        state.producer.is_some()
    }

    /// Makes one step, if a call waits and no other thread makes one. Returns true if there is more
    /// to do. `has_room` is asked if the disk has room for so many bytes.
    pub fn step(&self, mount: &Mount, has_room: impl Fn(u64) -> bool) -> bool {
        self.wake_interrupted();
        let Some(producer) = self.take_producer() else {
            return false;
        };
        let mut turn = StepGuard {
            computation: self,
            producer: Some(producer),
            outcome: Err(FsError::Internal),
        };
        turn.outcome = self.advance(&mut turn.producer, mount, has_room);
        drop(turn);
        !self.state.lock().waiting.is_empty()
    }

    /// Ends the waiting calls of threads that have a signal.
    fn wake_interrupted(&self) {
        // The calls are taken out while /proc is read; a call that begins to wait meanwhile is
        // added, not lost.
        let waiting = std::mem::take(&mut self.state.lock().waiting);
        let (gone, kept): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .partition(|waiting| has_pending_signal(waiting.thread) == Some(true));
        self.state.lock().waiting.extend(kept);
        gone.into_iter()
            .for_each(|waiting| (waiting.wake)(Err(FsError::Interrupted)));
    }

    fn take_producer(&self) -> Option<Box<dyn Producer>> {
        let mut state = self.state.lock();
        if state.waiting.is_empty() {
            None
        } else {
            state.producer.take()
        }
    }

    fn advance(
        &self,
        producer: &mut Option<Box<dyn Producer>>,
        mount: &Mount,
        has_room: impl Fn(u64) -> bool,
    ) -> Result<()> {
        let Some(making) = producer else {
            return Ok(());
        };
        let (mut charges, mut out) = (Vec::new(), Vec::new());
        let goes_on = making.produce(mount, &mut charges, &mut out)?;
        let start = self.spool.len();
        let is_long = start + out.len() as u64 > SIZED_BYTES_MAX;
        // Appended without the lock: a reader of bytes that exist does not wait for the disk.
        let why = if is_long {
            None
        } else {
            self.spool.append(&out, has_room).err()
        };
        let mut state = self.state.lock();
        if is_long || why.is_some() {
            // The bytes of this step go on with the producer: the first reader beyond the spool
            // continues from them, other readers make all of it again.
            let rest = producer.take().map(|producer| {
                Box::new(ComputedWindow::resume(
                    producer, start, out, charges, goes_on,
                ))
            });
            state.progress = ComputationProgress::Overflowed(why, rest);
            return Ok(());
        }
        state
            .charges
            .extend(charges.into_iter().map(|charge| (start, charge)));
        if !goes_on {
            state.progress = ComputationProgress::Complete(making.take_consumed().map(Arc::new));
        }
        Ok(())
    }

    /// Returns the charges of the bytes before `end`, from index `first` on; all remaining charges if
    /// `end` is the end.
    fn charges(&self, first: usize, end: u64) -> Vec<DeferredCharge> {
        let state = self.state.lock();
        debug_assert!(first <= state.charges.len(), "charges of another run");
        let is_last =
            matches!(state.progress, ComputationProgress::Complete(_)) && end >= self.spool.len();
        let due = state
            .charges
            .get(first..)
            .unwrap_or_default()
            .iter()
            .take_while(|(start, _)| is_last || *start < end);
        due.map(|(_, charge)| charge.clone()).collect()
    }

    /// Returns the capacity that the run consumed, if all bytes are made.
    fn consumed(&self) -> Option<Arc<Vec<u8>>> {
        match &self.state.lock().progress {
            ComputationProgress::Complete(consumed) => consumed.clone(),
            ComputationProgress::Running | ComputationProgress::Overflowed(..) => None,
        }
    }

    fn is_complete(&self) -> bool {
        matches!(self.state.lock().progress, ComputationProgress::Complete(_))
    }

    /// Takes the window beyond the spool; only the first caller gets it.
    fn take_window(&self) -> Option<Box<ComputedWindow>> {
        match &mut self.state.lock().progress {
            ComputationProgress::Overflowed(_, rest) => rest.take(),
            ComputationProgress::Running | ComputationProgress::Complete(_) => None,
        }
    }
}

/// A step that is being made. However it ends, waiting calls are woken.
struct StepGuard<'a> {
    computation: &'a Computation,
    producer: Option<Box<dyn Producer>>,
    outcome: Result<()>,
}

impl Drop for StepGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.computation.state.lock();
        state.producer = self.producer.take();
        let failed = self.outcome.as_ref().err().cloned();
        let (is_ended, made) = (
            !matches!(state.progress, ComputationProgress::Running),
            self.computation.spool.len(),
        );
        let is_there =
            |until: WaitFor| is_ended || matches!(until, WaitFor::Byte(offset) if offset < made);
        let waiting = std::mem::take(&mut state.waiting);
        let (served, rest): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .partition(|waiting| failed.is_some() || is_there(waiting.until));
        state.waiting = rest;
        drop(state);
        let answer = failed.map_or(Ok(()), Err);
        served
            .into_iter()
            .for_each(|waiting| (waiting.wake)(answer.clone()));
    }
}

/// The bytes that are kept behind the offset that is read.
const LOOKBACK_BYTES: u64 = 1 << 20;

/// A window over bytes that are made as they are read. A little of the bytes behind the offset is
/// kept, for a reader that looks back; going back further makes everything again.
#[derive(Debug)]
pub struct ComputedWindow {
    producer: Box<dyn Producer>,
    /// The bytes from `start` on that were made so far and not dropped.
    buffer: Vec<u8>,
    start: u64,
    /// The charges of bytes that were made and not given.
    charges: Vec<DeferredCharge>,
    has_more: bool,
}

impl ComputedWindow {
    /// Makes a window at the first byte.
    #[must_use]
    pub fn new(producer: Box<dyn Producer>) -> Self {
        Self::resume(producer, 0, Vec::new(), Vec::new(), true)
    }

    /// Makes a window at the point where a producer is: `buffer` are the bytes that it made last,
    /// which begin at `start`.
    #[must_use]
    pub fn resume(
        producer: Box<dyn Producer>,
        start: u64,
        buffer: Vec<u8>,
        charges: Vec<DeferredCharge>,
        has_more: bool,
    ) -> Self {
        Self {
            producer,
            buffer,
            start,
            charges,
            has_more,
        }
    }

    /// Returns the bytes of memory of the buffer.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Returns the first offset that the window still has.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Returns at most `size` bytes at `offset`, of the next step that makes any; none exactly at
    /// the end.
    ///
    /// # Errors
    /// Those of a step; `Throttled`; [`FsError::Interrupted`] if the caller does not wait any more.
    pub fn read(
        &mut self,
        mount: &Mount,
        offset: u64,
        size: usize,
        is_wanted: &IsWanted<'_>,
    ) -> Result<Vec<u8>> {
        while self.has_more && self.start + (self.buffer.len() as u64) <= offset {
            if !is_wanted() {
                return Err(FsError::Interrupted);
            }
            self.drop_before(offset);
            self.has_more = self
                .producer
                .produce(mount, &mut self.charges, &mut self.buffer)?;
        }
        debug_assert!(self.start <= offset, "the bytes are dropped");
        while let Some(charge) = self.charges.last() {
            charge.spend()?;
            self.charges.pop();
        }
        Ok(
            self.buffer[sub_range(self.buffer.len(), offset.saturating_sub(self.start), size)]
                .to_vec(),
        )
    }

    /// Returns the capacity that all steps consumed, once after the end.
    pub fn take_consumed(&mut self) -> Option<Vec<u8>> {
        self.producer.take_consumed()
    }

    fn drop_before(&mut self, offset: u64) {
        let surplus = offset
            .saturating_sub(LOOKBACK_BYTES)
            .saturating_sub(self.start)
            .min(self.buffer.len() as u64);
        if surplus > 0 {
            self.buffer
                .drain(..usize::try_from(surplus).unwrap_or(usize::MAX));
            self.start += surplus;
        }
    }
}

/// The time for which a computation serves other opens. Some results change with the time alone:
/// those below `live`.
const AGE_MAX: Duration = Duration::from_secs(2);
/// The largest number of computations that are kept without an open handle.
const CACHED_MAX: usize = 64;

#[derive(Debug)]
struct CachedComputation {
    computation: Arc<Computation>,
    commit_id: u64,
    /// The time at which it was seen to have ended, or else at which it began.
    since: Instant,
    has_ended: bool,
}

/// Computations that the next open of the same file shares: for a short time, and as long as
/// nothing was committed since they began. A file is named by its inode number.
#[derive(Debug, Default)]
pub struct ComputationCache {
    pub spools: Arc<SpoolSet>,
    entries: Mutex<HashMap<u64, CachedComputation>>,
}

impl ComputationCache {
    /// Returns the computation of a file as of a commit.
    #[must_use]
    pub fn get(&self, ino: u64, commit_id: u64) -> Option<Arc<Computation>> {
        let mut entries = self.entries.lock();
        let entry = entries
            .get_mut(&ino)
            .filter(|entry| entry.commit_id == commit_id)?;
        entry.is_fresh().then(|| Arc::clone(&entry.computation))
    }

    /// Keeps a computation that begins at the state of this commit.
    pub fn insert(&self, ino: u64, commit_id: u64, computation: Arc<Computation>) {
        let entry = CachedComputation {
            computation,
            commit_id,
            since: Instant::now(),
            has_ended: false,
        };
        let replaced = self.entries.lock().insert(ino, entry);
        // Outside the lock: dropping a computation gives back its disk space.
        drop(replaced);
        self.drop_expired();
    }

    /// Drops computations that are too old, and the oldest while there are too many or they hold
    /// too much disk. Open handles keep theirs.
    pub fn drop_expired(&self) {
        let mut gone = Vec::new();
        let mut entries = self.entries.lock();
        gone.extend(
            entries
                .extract_if(|_, entry| !entry.is_fresh())
                .map(|(_, entry)| entry),
        );
        while entries.len() > 1
            && (entries.len() > CACHED_MAX || self.spools.disk_bytes() > DISK_BYTES_MAX / 2)
        {
            let oldest = entries
                .iter()
                .min_by_key(|(_, entry)| entry.since)
                .map(|(ino, _)| *ino);
            // One at a time: its disk space must be counted off before the next look.
            drop(oldest.and_then(|ino| entries.remove(&ino)));
        }
        drop(entries);
    }
}

impl CachedComputation {
    fn is_fresh(&mut self) -> bool {
        if !self.has_ended && self.computation.is_ended() {
            (self.has_ended, self.since) = (true, Instant::now());
        }
        // A computation that is under way is fresh however long it takes: its callers wait for it.
        self.since.elapsed() < AGE_MAX || (!self.has_ended && self.computation.has_waiters())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::database::local::LocalDatabase;
    use crate::engine::EngineOptions;
    use crate::fs::open::computed::{MakeProducer, OpenComputed};
    use crate::fs::options::ViewOptions;
    use crate::store::memory::MemoryStore;

    const PIECE: usize = 1 << 20;

    /// Gives pieces of one byte value each; the step of `fails` fails once, that of `panics`
    /// panics.
    #[derive(Debug, Default)]
    struct Pieces {
        left: u8,
        steps: Arc<AtomicU64>,
        settled: Arc<AtomicU64>,
        fails: Option<u8>,
        panics: Option<u8>,
    }

    impl Producer for Pieces {
        fn produce(
            &mut self,
            _mount: &Mount,
            charges: &mut Vec<DeferredCharge>,
            out: &mut Vec<u8>,
        ) -> Result<bool> {
            assert!(self.panics != Some(self.left), "as asked");
            if self.fails == Some(self.left) {
                self.fails = None;
                return Err(FsError::Busy("this once"));
            }
            self.steps.fetch_add(1, Ordering::Relaxed);
            if self.left == 0 {
                return Ok(false);
            }
            let settled = Arc::clone(&self.settled);
            charges.push(DeferredCharge::new(move || {
                settled.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }));
            out.resize(out.len() + PIECE, self.left);
            self.left -= 1;
            Ok(true)
        }
    }

    fn mount() -> Mount {
        let store = Arc::new(MemoryStore::new().unwrap());
        Mount::new(
            Arc::new(LocalDatabase::open(store, EngineOptions::default()).unwrap()),
            ViewOptions::default(),
        )
    }

    fn computation(producer: Pieces) -> Arc<Computation> {
        Arc::new(Computation::new(Box::new(producer), &Arc::default()))
    }

    fn made_once() -> MakeProducer {
        Box::new(|_| Err(FsError::BadHandle))
    }

    type Heard = Arc<Mutex<Vec<Result<()>>>>;

    fn wait(computation: &Computation, condition: WaitFor, outcomes: &Heard) -> bool {
        let outcomes = Arc::clone(outcomes);
        computation.wait(
            0,
            condition,
            Box::new(move |woken| outcomes.lock().push(woken)),
        )
    }

    #[test]
    fn who_waits_shares_the_steps_and_without_them_none_is_made() {
        let (mount, steps) = (mount(), Arc::<AtomicU64>::default());
        let shared = computation(Pieces {
            left: 3,
            steps: Arc::clone(&steps),
            ..Pieces::default()
        });
        assert!(!shared.step(&mount, |_| true));
        assert_eq!((steps.load(Ordering::Relaxed), shared.size()), (0, None));
        let (sizes, bytes) = (Heard::default(), Heard::default());
        assert!(
            wait(&shared, WaitFor::Byte(10), &bytes)
                && wait(&shared, WaitFor::Size, &sizes)
                && wait(&shared, WaitFor::Size, &sizes)
        );
        assert!(shared.step(&mount, |_| true));
        assert_eq!((bytes.lock().len(), sizes.lock().len()), (1, 0));
        while shared.step(&mount, |_| true) {}
        assert_eq!(*sizes.lock(), [Ok(()), Ok(())]);
        assert_eq!(
            (steps.load(Ordering::Relaxed), shared.size()),
            (4, Some(Ok(3 * PIECE as u64)))
        );
        assert!(!wait(&shared, WaitFor::Size, &sizes), "it is known");
    }

    #[test]
    fn a_failed_step_is_told_and_may_be_made_again() {
        let mount = mount();
        let failing = computation(Pieces {
            left: 2,
            fails: Some(1),
            ..Pieces::default()
        });
        let heard = Heard::default();
        wait(&failing, WaitFor::Size, &heard);
        while failing.step(&mount, |_| true) {}
        assert_eq!(*heard.lock(), [Err(FsError::Busy("this once"))]);
        wait(&failing, WaitFor::Size, &heard);
        while failing.step(&mount, |_| true) {}
        assert_eq!(
            (heard.lock().last(), failing.size()),
            (Some(&Ok(())), Some(Ok(2 * PIECE as u64)))
        );
    }

    #[test]
    fn who_waits_hears_of_a_panic() {
        let (mount, heard) = (mount(), Heard::default());
        let failing = computation(Pieces {
            left: 2,
            panics: Some(1),
            ..Pieces::default()
        });
        wait(&failing, WaitFor::Size, &heard);
        assert!(failing.step(&mount, |_| true));
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            failing.step(&mount, |_| true)
        }));
        assert!(failed.is_err());
        assert_eq!(*heard.lock(), [Err(FsError::Internal)]);
    }

    /// Reads to the end, as a worker of the view does; how many bytes, each checked.
    fn read_all(open: &OpenComputed, mount: &Mount, first: u8) -> usize {
        let mut at = 0;
        loop {
            let heard = Heard::default();
            wait(&open.computation, WaitFor::Byte(at as u64), &heard);
            while open.computation.step(mount, |_| true) {}
            let bytes = open.read(mount, at as u64, PIECE, &|| true).unwrap().bytes;
            if bytes.is_empty() {
                return at;
            }
            let expected = first - u8::try_from(at / PIECE).unwrap();
            assert!(
                bytes.len() == PIECE && bytes.iter().all(|byte| *byte == expected),
                "at {at}"
            );
            at += bytes.len();
        }
    }

    #[test]
    fn each_reader_settles_what_it_is_given_once() {
        let (mount, settled) = (mount(), Arc::<AtomicU64>::default());
        let shared = computation(Pieces {
            left: 3,
            settled: Arc::clone(&settled),
            ..Pieces::default()
        });
        let opened = || OpenComputed::new(Arc::clone(&shared), made_once(), String::new());
        let (one, other) = (opened(), opened());
        assert_eq!(read_all(&one, &mount, 3), 3 * PIECE);
        assert_eq!(
            (read_all(&one, &mount, 3), settled.load(Ordering::Relaxed)),
            (3 * PIECE, 3)
        );
        assert_eq!(other.read(&mount, 0, 10, &|| true).unwrap().bytes, [3; 10]);
        assert_eq!(settled.load(Ordering::Relaxed), 4);
    }

    /// Tests a result beyond the limit with a shorter one: the disk has no room.
    #[test]
    fn what_finds_no_room_has_no_size_and_is_read_all_the_same() {
        let (mount, settled) = (mount(), Arc::<AtomicU64>::default());
        let shared = computation(Pieces {
            left: 5,
            settled: Arc::clone(&settled),
            ..Pieces::default()
        });
        let (heard, made) = (Heard::default(), AtomicU64::new(0));
        wait(&shared, WaitFor::Size, &heard);
        while shared.step(&mount, |_| made.fetch_add(1, Ordering::Relaxed) < 2) {}
        assert!(
            matches!(shared.size(), Some(Err(FsError::SpoolFull(_)))),
            "{:?}",
            shared.size()
        );
        let open = OpenComputed::new(shared, made_once(), String::new());
        assert_eq!(
            (read_all(&open, &mount, 5), settled.load(Ordering::Relaxed)),
            (5 * PIECE, 5)
        );
    }
}
