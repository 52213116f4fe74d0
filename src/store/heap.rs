//! The process's heap: memory that a burst needed goes back to the system when it is over.
//!
//! The allocator keeps what is freed for itself. That is right for the many small pieces of usual work and wrong for what one large
//! request, a thousand open files or a scan of everything needed once. So large blocks are always the system's own and go back when
//! they are freed, and whoever frees much otherwise says so with [`after_burst`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

/// Freed together, this is a burst: less is soon used again.
pub const BURST_BYTES: usize = 8 * 1024 * 1024;
/// From the end of a burst until its memory goes back: the next one may begin at once, and what it held is freed by then.
const QUIET: Duration = Duration::from_millis(500);
/// Larger blocks are mapped for themselves.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES_MIN: libc::c_int = 4 * 1024 * 1024;
/// Free bytes at the heap's end that are kept.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: libc::c_int = 16 * 1024 * 1024;
/// Heaps that threads may have: each keeps what is freed in it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS_MAX: libc::c_int = 8;

/// A thread waits to give memory back.
static WAITS: AtomicBool = AtomicBool::new(false);
/// What is run when it has gone back. Never held for long: who frees memory asks for it.
static LATER: Mutex<Vec<Later>> = Mutex::new(Vec::new());
/// Held while memory goes back and what waits for that runs; before [`LATER`].
static GIVES_BACK: Mutex<()> = Mutex::new(());

type Later = Box<dyn FnOnce() + Send>;

/// Sets how the allocator keeps memory. Once, before there are threads.
pub fn tune() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, value) in
        // Left alone, glibc raises the first with every large block that is freed, up to 32 MiB, and keeps ever larger ones.
        [
            (libc::M_MMAP_THRESHOLD, MAPPED_BYTES_MIN),
            (libc::M_TRIM_THRESHOLD, KEPT_BYTES),
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

/// Gives free memory back to the system soon, on a thread of its own. Returns at once; one of many calls does it for all.
pub fn after_burst() {
    if WAITS.swap(true, Ordering::AcqRel) {
        return;
    }
    let give_back = || {
        std::thread::sleep(QUIET);
        // What is freed from here on is another burst's.
        WAITS.store(false, Ordering::Release);
        give_back_if(|_| true);
    };
    // Without a thread the memory stays, until the next burst asks again.
    if std::thread::Builder::new()
        .name("heap".to_owned())
        .spawn(give_back)
        .is_err()
    {
        WAITS.store(false, Ordering::Release);
    }
}

/// The same; `then` runs when it has gone back, on any thread.
pub fn after_burst_then(then: Later) {
    LATER.lock().push(then);
    after_burst();
}

/// Gives free memory back at once, if that of a burst waits for it; what is given back already is waited for.
pub fn give_back() {
    give_back_if(|later| !later.is_empty());
}

fn give_back_if(is_wanted: impl FnOnce(&[Later]) -> bool) {
    let _one = GIVES_BACK.lock();
    let later = std::mem::take(&mut *LATER.lock());
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
    fn who_frees_does_not_wait_while_memory_goes_back() {
        let ((begins, begun), (end, ends), (frees, freed)) = (channel(), channel(), channel());
        after_burst_then(Box::new(move || {
            begins.send(()).unwrap();
            ends.recv_timeout(GENEROUS).unwrap();
        }));
        begun.recv_timeout(GENEROUS).unwrap();
        std::thread::spawn(move || {
            after_burst_then(Box::new(|| {}));
            frees.send(()).unwrap();
        });
        freed.recv_timeout(GENEROUS / 2).unwrap();
        end.send(()).unwrap();
    }
}
