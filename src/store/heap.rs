//! The process's heap: returns memory that a burst needed to the system.
//!
//! The allocator keeps freed memory for itself. That is right for the many small allocations of
//! usual work, and wrong for memory that one large request, a thousand open files or a full scan
//! needed once. Large blocks are therefore mapped on their own and return to the system when they
//! are freed; code that frees much memory in small blocks calls [`trim_soon`]. A large permit of
//! `budget` ends only after that.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

/// The least freed memory that counts as a burst. Less is soon used again.
pub const BURST_BYTES: usize = 8 * 1024 * 1024;
/// The time from the end of a burst until its memory is returned: the next burst may begin at once,
/// and all memory of the first is freed by then.
const TRIM_DELAY: Duration = Duration::from_millis(500);
/// Blocks of at least this size are mapped on their own.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MMAP_BYTES_MIN: libc::c_int = 4 * 1024 * 1024;
/// Free bytes at the heap's end that the allocator keeps.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TRIM_BYTES: libc::c_int = 16 * 1024 * 1024;
/// The most arenas of the allocator: each keeps the memory freed in it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS_MAX: libc::c_int = 8;

/// True if a thread waits to return memory.
static IS_SCHEDULED: AtomicBool = AtomicBool::new(false);
/// Callbacks to run once the memory is returned. Held briefly: every thread that frees memory takes
/// it.
static CALLBACKS: Mutex<Vec<Callback>> = Mutex::new(Vec::new());
/// Held while memory is returned and the callbacks run. Taken before [`CALLBACKS`].
static TRIMMING: Mutex<()> = Mutex::new(());

type Callback = Box<dyn FnOnce() + Send>;

/// Sets how the allocator keeps memory. Called once, before there are threads.
pub fn tune() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, value) in
        // By default glibc raises the first parameter with every large block that is freed, up to
        // 32 MiB, and keeps ever larger blocks.
        [
            (libc::M_MMAP_THRESHOLD, MMAP_BYTES_MIN),
            (libc::M_TRIM_THRESHOLD, TRIM_BYTES),
            (libc::M_ARENA_MAX, ARENAS_MAX),
        ]
    {
        // SAFETY: takes two numbers, and only sets the allocator's own limits.
        #[allow(unsafe_code)]
        let done = unsafe { libc::mallopt(parameter, value) };
        if done == 0 {
            log::debug!(
                "the allocator does not take the value {value} for its parameter {parameter}"
            );
        }
    }
}

/// Returns free memory to the system soon, on a thread of its own. Does not block; one thread
/// serves many calls.
pub fn trim_soon() {
    if IS_SCHEDULED.swap(true, Ordering::AcqRel) {
        return;
    }
    let give_back = || {
        std::thread::sleep(TRIM_DELAY);
        // Memory freed from here on belongs to the next burst.
        IS_SCHEDULED.store(false, Ordering::Release);
        trim_if(|_| true);
    };
    // Without a thread the memory stays with the allocator until the next burst.
    if std::thread::Builder::new()
        .name("heap".to_owned())
        .spawn(give_back)
        .is_err()
    {
        IS_SCHEDULED.store(false, Ordering::Release);
    }
}

/// Calls [`trim_soon`], and runs `callback` on any thread once the memory is returned.
pub fn trim_soon_then(callback: Callback) {
    CALLBACKS.lock().push(callback);
    trim_soon();
}

/// Returns free memory at once if a burst waits for it; waits for a return under way.
pub fn trim_now() {
    trim_if(|later| !later.is_empty());
}

fn trim_if(is_wanted: impl FnOnce(&[Callback]) -> bool) {
    let _one = TRIMMING.lock();
    let later = std::mem::take(&mut *CALLBACKS.lock());
    if is_wanted(&later) {
        trim();
        later.into_iter().for_each(|then| then());
    }
}

fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: any thread may call it at any time; it touches free memory alone.
    #[allow(unsafe_code)]
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::mpsc::channel;

    use super::*;

    const GENEROUS: Duration = Duration::from_secs(60);

    #[test]
    fn freeing_does_not_wait_for_a_trim() {
        let ((begins, begun), (end, ends), (frees, freed)) = (channel(), channel(), channel());
        trim_soon_then(Box::new(move || {
            begins.send(()).unwrap();
            ends.recv_timeout(GENEROUS).unwrap();
        }));
        begun.recv_timeout(GENEROUS).unwrap();
        std::thread::spawn(move || {
            trim_soon_then(Box::new(|| {}));
            frees.send(()).unwrap();
        });
        freed.recv_timeout(GENEROUS / 2).unwrap();
        end.send(()).unwrap();
    }
}
