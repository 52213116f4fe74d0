//! Admission control by memory: the memory of the process is divided into budgets before it is
//! used, so that one kind of use cannot take the memory of another and end the process. A caller
//! takes a [`Permit`] for its bytes, as from a weighted semaphore. `memory_limit` finds the limit,
//! `heap` returns freed memory to the system.
//!
//! | difficulty | solved by |
//! |---|---|
//! | freed memory still belongs to the allocator, not to the system | a large [`Permit`] ends when the heap has returned its memory ([`heap::trim_soon_then`]); a request that finds no room has that done at once |
//! | a request that waits for much memory would hold up small ones | there is no queue: whatever fits goes first, and a request that waits too long is refused |
//! | a slow client holds memory that others wait for | [`MemoryBudget::is_contended`]: HTTP then drops slow clients |

use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use super::heap::{self, BURST_BYTES};
use super::memory_limit::{LIMIT_BYTES_MIN, memory_limit};

const MIB: u64 = 1024 * 1024;
/// The unit in which shares of the limit are given.
const SHARE_PARTS: u64 = 16;
/// The time for which a budget counts as contended after a request for memory was refused.
const CONTENDED_TIME: Duration = Duration::from_secs(10);
/// The time that a request waits for memory.
pub const MEMORY_WAIT: Duration = Duration::from_secs(60);
/// The longest time between two attempts of a request that waits.
const RETRY_PERIOD: Duration = Duration::from_secs(1);

/// The origin of [`BudgetCount::contended_until`].
static START: LazyLock<Instant> = LazyLock::new(Instant::now);
static BUDGETS: LazyLock<MemoryBudgets> = LazyLock::new(|| MemoryBudgets::new(memory_limit()));

/// The budgets of the process, by use. The rest of the limit is for the program itself, the bytes
/// that 1,024 connections have read ahead, caches (`limit_share`), and the pages of a commit.
#[derive(Debug, Clone)]
pub struct MemoryBudgets {
    /// Open files and directories of a mount: rendered content, written bytes, waiting answers.
    pub open_files: MemoryBudget,
    /// Bodies of HTTP requests, from their first byte to the answer.
    pub bodies: MemoryBudget,
    /// Requests that are large or read much: their parsed forms, the items they read, and their
    /// answers until they are sent.
    pub requests: MemoryBudget,
    /// Answers of all other requests until they are sent.
    pub answers: MemoryBudget,
    /// The other requests while they run. A separate budget: they go on however full the others
    /// are.
    pub short_reads: MemoryBudget,
}

impl MemoryBudgets {
    /// Divides `limit_bytes`, or [`LIMIT_BYTES_MIN`] if that is more.
    #[must_use]
    pub fn new(limit_bytes: u64) -> Self {
        let sixteenth = limit_bytes.max(LIMIT_BYTES_MIN) / SHARE_PARTS;
        let bytes = |sixteenths: u64, mib_max: u64| {
            usize::try_from((sixteenths * sixteenth).min(mib_max * MIB)).unwrap_or(usize::MAX)
        };
        let whole = MemoryBudget::new(bytes(10, 1280));
        Self {
            open_files: whole.part(bytes(2, 512)),
            bodies: whole.part(bytes(2, 256)),
            requests: whole.part(bytes(10, 512)),
            answers: whole.part(bytes(2, 256)),
            short_reads: MemoryBudget::new(bytes(1, 128)),
        }
    }

    /// Returns the budgets of this process, by its memory limit at the first call.
    #[must_use]
    pub fn of_process() -> Self {
        BUDGETS.clone()
    }
}

impl Default for MemoryBudgets {
    fn default() -> Self {
        Self::of_process()
    }
}

/// The error of a budget that has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetFull;

/// A count of bytes with a limit. Clones share the count.
#[derive(Debug, Clone)]
pub struct MemoryBudget(Arc<BudgetCount>);

#[derive(Debug)]
struct BudgetCount {
    held: AtomicUsize,
    bytes_max: usize,
    /// The budget that this one is a part of. Bytes held here count there too.
    parent: Option<MemoryBudget>,
    /// Waiting requests of all parts, and their wakeup. Used in the whole budget only.
    waiters: AtomicUsize,
    released: Notify,
    /// Milliseconds after [`START`]. Used in the whole budget only.
    contended_until: AtomicU64,
}

/// Bytes counted in a [`MemoryBudget`], returned on drop. The default permit counts none.
#[derive(Debug, Default)]
pub struct Permit {
    budget: Option<MemoryBudget>,
    bytes: usize,
}

fn now_ms() -> u64 {
    u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl MemoryBudget {
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self::with_parent(bytes_max, None)
    }

    /// Returns a part of this budget, of at most `bytes_max` bytes.
    #[must_use]
    pub fn part(&self, bytes_max: usize) -> Self {
        Self::with_parent(bytes_max, Some(self.clone()))
    }

    fn with_parent(bytes_max: usize, parent: Option<Self>) -> Self {
        let (held, waiters, contended_until) =
            (AtomicUsize::new(0), AtomicUsize::new(0), AtomicU64::new(0));
        Self(Arc::new(BudgetCount {
            held,
            bytes_max,
            parent,
            waiters,
            released: Notify::new(),
            contended_until,
        }))
    }

    fn root(&self) -> &BudgetCount {
        self.0.parent.as_ref().map_or(&self.0, |whole| &whole.0)
    }

    /// Returns the bytes held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.0.held.load(Ordering::SeqCst)
    }

    /// Returns the bytes that are free here and in the whole.
    #[must_use]
    pub fn free(&self) -> usize {
        let available = self.0.bytes_max.saturating_sub(self.held());
        self.0
            .parent
            .as_ref()
            .map_or(available, |whole| available.min(whole.free()))
    }

    /// True if a request for memory of this budget or of another part of the whole was refused
    /// lately.
    #[must_use]
    pub fn is_contended(&self) -> bool {
        let until = self.root().contended_until.load(Ordering::Relaxed);
        until > 0 && now_ms() < until
    }

    /// Returns a permit for `bytes`.
    ///
    /// # Errors
    /// [`BudgetFull`] if there is no room.
    pub fn permit(&self, bytes: usize) -> Result<Permit, BudgetFull> {
        let mut permit = Permit::default();
        if bytes > 0 {
            self.resize(&mut permit, bytes)?;
        }
        Ok(permit)
    }

    /// Changes a permit to `bytes`. A smaller size always succeeds.
    ///
    /// # Errors
    /// [`BudgetFull`]; the permit then keeps its size.
    pub fn resize(&self, permit: &mut Permit, bytes: usize) -> Result<(), BudgetFull> {
        let Some(more) = bytes.checked_sub(permit.bytes) else {
            self.set(permit, bytes);
            return Ok(());
        };
        // The allocator may still hold memory that was freed lately.
        let is_taken = self.try_reserve(more) || {
            heap::trim_now();
            self.try_reserve(more)
        };
        if !is_taken {
            let until = now_ms() + u64::try_from(CONTENDED_TIME.as_millis()).unwrap_or(u64::MAX);
            self.root().contended_until.store(until, Ordering::Relaxed);
            return Err(BudgetFull);
        }
        (permit.budget, permit.bytes) = (Some(self.clone()), bytes);
        Ok(())
    }

    /// Returns a permit for `bytes`, or for the whole budget if that is less; waits for room.
    ///
    /// # Errors
    /// [`BudgetFull`] if there was no room until `wait_max` had passed.
    pub async fn wait(&self, bytes: usize, wait_max: Duration) -> Result<Permit, BudgetFull> {
        let whole = self.root();
        let bytes = bytes.min(self.0.bytes_max).min(whole.bytes_max);
        if let Ok(permit) = self.permit(bytes) {
            return Ok(permit);
        }
        // Boxed, so that the future of a request that need not wait stays small.
        Box::pin(self.wait_slow(bytes, wait_max)).await
    }

    async fn wait_slow(&self, bytes: usize, wait_max: Duration) -> Result<Permit, BudgetFull> {
        let whole = self.root();
        let _waiting = MemoryWaiter::new(whole);
        let begun = Instant::now();
        loop {
            let freed = whole.released.notified();
            let mut freed = std::pin::pin!(freed);
            // Registered before the attempt: memory freed after the attempt then wakes this task.
            freed.as_mut().enable();
            match self.permit(bytes) {
                Err(BudgetFull) if begun.elapsed() < wait_max => {}
                other => return other,
            }
            // A timeout is no failure: the loop tries again.
            let _ = timeout(RETRY_PERIOD, freed).await;
        }
    }

    /// Returns a permit as [`MemoryBudget::wait`] does, on a thread that may block.
    ///
    /// # Errors
    /// [`BudgetFull`] after `wait_max`, also if the system has no descriptor to wait with.
    pub fn wait_blocking(&self, bytes: usize, wait_max: Duration) -> Result<Permit, BudgetFull> {
        let waiting = self.wait(bytes, wait_max);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        runtime.map_err(|_| BudgetFull)?.block_on(waiting)
    }

    /// Sets a permit to `bytes` that are held already, even above the limit; the next request is
    /// refused then.
    pub fn set(&self, permit: &mut Permit, bytes: usize) {
        if bytes >= permit.bytes {
            self.for_each(|count| _ = count.held.fetch_add(bytes - permit.bytes, Ordering::SeqCst));
        } else {
            self.release(permit.bytes - bytes);
        }
        (permit.budget, permit.bytes) = (Some(self.clone()), bytes);
    }

    fn for_each(&self, mut change: impl FnMut(&BudgetCount)) {
        change(&self.0);
        if let Some(Self(whole)) = &self.0.parent {
            change(whole);
        }
    }

    fn try_reserve(&self, bytes: usize) -> bool {
        let fits = |held: usize| {
            held.checked_add(bytes)
                .filter(|held| *held <= self.0.bytes_max)
        };
        if self
            .0
            .held
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits)
            .is_err()
        {
            return false;
        }
        let is_taken = self
            .0
            .parent
            .as_ref()
            .is_none_or(|whole| whole.try_reserve(bytes));
        if !is_taken {
            self.0.held.fetch_sub(bytes, Ordering::SeqCst);
        }
        is_taken
    }

    fn release(&self, bytes: usize) {
        self.for_each(|count| {
            let held = count.held.fetch_sub(bytes, Ordering::SeqCst);
            debug_assert!(held >= bytes, "{bytes} bytes are given back of {held}");
        });
        let whole = self.root();
        if whole.waiters.load(Ordering::SeqCst) > 0 {
            whole.released.notify_waiters();
        }
    }
}

/// A request that waits for room; counted until dropped.
struct MemoryWaiter<'c>(&'c BudgetCount);

impl<'c> MemoryWaiter<'c> {
    fn new(whole: &'c BudgetCount) -> Self {
        whole.waiters.fetch_add(1, Ordering::SeqCst);
        Self(whole)
    }
}

impl Drop for MemoryWaiter<'_> {
    fn drop(&mut self) {
        self.0.waiters.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Permit {
    /// Returns the bytes that the permit is for.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Lowers the permit to at most `bytes`.
    pub fn shrink(&mut self, bytes: usize) {
        let Some(of) = self.budget.as_ref().filter(|_| bytes < self.bytes) else {
            return;
        };
        of.release(self.bytes - bytes);
        self.bytes = bytes;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(of) = self.budget.take().filter(|_| self.bytes > 0) else {
            return;
        };
        let bytes = self.bytes;
        if bytes >= BURST_BYTES {
            return heap::trim_soon_then(Box::new(move || of.release(bytes)));
        }
        let held = of.held();
        of.release(bytes);
        // Many permits that end together free much memory, each of them little.
        if held / BURST_BYTES > held.saturating_sub(bytes) / BURST_BYTES {
            heap::trim_soon();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn permits_are_bounded_and_returned_on_drop() {
        let budget = MemoryBudget::new(100);
        let mut one = budget.permit(60).unwrap();
        assert_eq!(budget.permit(41).unwrap_err(), BudgetFull);
        let two = budget.permit(40).unwrap();
        assert_eq!(budget.resize(&mut one, 61), Err(BudgetFull));
        assert_eq!(budget.resize(&mut one, 10), Ok(()));
        drop(two);
        assert_eq!(budget.resize(&mut one, 100), Ok(()));
        drop(one);
        assert!(budget.permit(100).is_ok());
    }

    #[test]
    fn set_counts_bytes_above_the_limit() {
        let budget = MemoryBudget::new(100);
        let mut permit = Permit::default();
        budget.set(&mut permit, 150);
        assert_eq!(budget.permit(1).unwrap_err(), BudgetFull);
        budget.set(&mut permit, 99);
        assert!(budget.permit(1).is_ok());
    }

    #[test]
    fn a_part_holds_what_the_whole_has_left() {
        let whole = MemoryBudget::new(100);
        let (one, other) = (whole.part(80), whole.part(60));
        let held = one.permit(70).unwrap();
        assert_eq!((one.free(), other.free(), whole.held()), (10, 30, 70));
        assert_eq!(other.permit(40).unwrap_err(), BudgetFull);
        assert_eq!((other.held(), whole.held()), (0, 70));
        assert!(other.is_contended() && one.is_contended());
        let mut small = other.permit(30).unwrap();
        drop(held);
        assert_eq!(other.resize(&mut small, 60), Ok(()));
        assert_eq!(other.resize(&mut small, 61), Err(BudgetFull));
        small.shrink(70);
        small.shrink(5);
        assert_eq!((small.bytes(), other.held(), whole.held()), (5, 5, 5));
    }

    fn block_on<T>(run: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(run)
    }

    #[test]
    fn a_waiter_gets_freed_bytes_and_does_not_block_smaller_requests() {
        const LONG: Duration = Duration::from_secs(600);
        let whole = MemoryBudget::new(100);
        let (one, other) = (whole.part(100), whole.part(100));
        block_on(async {
            let held = one.permit(60).unwrap();
            let mut large = std::pin::pin!(other.wait(1000, LONG));
            assert!(timeout(Duration::ZERO, large.as_mut()).await.is_err());
            drop(other.wait(40, LONG).await.unwrap());
            drop(held);
            // The whole budget, as more was asked for.
            assert_eq!(large.await.unwrap().bytes(), 100);
            let _all = one.permit(100).unwrap();
            assert_eq!(other.wait(1, Duration::ZERO).await.unwrap_err(), BudgetFull);
        });
    }

    #[test]
    fn freed_bursts_are_available_to_the_next_request() {
        let budget = MemoryBudget::new(4 * BURST_BYTES);
        drop(budget.permit(4 * BURST_BYTES).unwrap());
        // The heap has returned the memory by now, or does so for this call.
        assert!(budget.permit(4 * BURST_BYTES).is_ok());
    }

    #[test]
    fn the_parts_follow_the_limit() {
        let mib = |budget: &MemoryBudget| budget.0.bytes_max >> 20;
        let of = |limit_mib: u64| {
            let memory = MemoryBudgets::new(limit_mib * MIB);
            let parts = [
                &memory.open_files,
                &memory.bodies,
                &memory.requests,
                &memory.answers,
                &memory.short_reads,
            ];
            parts.map(mib)
        };
        assert_eq!(of(256), [32, 32, 160, 32, 16]);
        assert_eq!(of(1), of(256));
        assert_eq!(of(1024), [128, 128, 512, 128, 64]);
        assert_eq!(of(64 * 1024), [512, 256, 512, 256, 128]);
    }
}
