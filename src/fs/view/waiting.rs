//! Reads that wait until there is something to read: `stream/follow`, `.ddb/accesslog`.
//!
//! | difficulty | solved by |
//! |---|---|
//! | readers may wait for ever, and the event threads serve everybody | one thread of their own asks for all of them, woken by commits; it lives while anybody waits |
//! | the kernel does not return from a read, not even for SIGKILL, before it is answered; FUSE_INTERRUPT does not reach us | a reader's pending signals are in `/proc`: they are looked at each [`SLICE`], and the read then ends with EINTR, as from a pipe |
//! | a reader in another pid namespace shows no signals | its read ends with EINTR each [`BLIND_SLICE`]; most programs read again |
//! | a mount must end while somebody waits | every read then ends as at the end of a file |

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{Bytes, Caller, Reply, View};
use crate::fs::FsError;
use crate::fs::tree::Tree;

/// Reads that may wait at a time.
pub const WAITING_MAX: usize = 64;
/// How long nobody looks for signals: a reader ends so soon after Ctrl-C.
const SLICE: Duration = Duration::from_millis(200);
/// How long a read waits whose process cannot be looked at.
const BLIND_SLICE: Duration = Duration::from_secs(1);

/// What a read waits for: asked again and again until it has bytes or fails.
pub type Awaited = Box<dyn FnMut(&Tree) -> Result<Option<Vec<u8>>, FsError> + Send>;

struct Waiting {
    caller: Caller,
    since: Instant,
    awaited: Awaited,
    reply: Reply<Bytes>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Waiting>,
    /// Readers that the thread is looking at.
    in_hand: usize,
    is_served: bool,
    is_ended: bool,
}

/// See the module.
#[derive(Default)]
pub struct WaitingReads {
    state: Mutex<State>,
}

impl std::fmt::Debug for WaitingReads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WaitingReads").field("waiting", &self.state.lock().waiting.len()).finish_non_exhaustive()
    }
}

impl View {
    /// Answers when `awaited` has bytes: at once if it has.
    pub(in crate::fs) fn wait(self: &Arc<Self>, caller: Caller, mut awaited: Awaited, reply: Reply<Bytes>) {
        match awaited(&self.tree) {
            Ok(None) => {}
            Ok(Some(bytes)) => return reply(Ok(Bytes::own(bytes))),
            Err(error) => return reply(Err(error)),
        }
        let mut state = self.waiting.state.lock();
        if state.is_ended {
            drop(state);
            return reply(Ok(Bytes::own(Vec::new())));
        }
        if state.waiting.len() + state.in_hand >= WAITING_MAX {
            drop(state);
            let refused = Err(FsError::Busy("64 readers wait already; end one of them"));
            return reply(self.noted_at(caller, "read", String::new, refused));
        }
        state.waiting.push(Waiting { caller, since: Instant::now(), awaited, reply });
        if state.is_served {
            return;
        }
        let view = Arc::downgrade(self);
        match std::thread::Builder::new().name("ddbfs-waiting".to_owned()).spawn(move || serve(&view)) {
            Ok(_) => state.is_served = true,
            Err(error) => {
                log::error!("cannot start the thread of waiting reads: {error}");
                let refused = std::mem::take(&mut state.waiting);
                drop(state);
                answer_all(refused, &|| Err(FsError::Busy("the system has no thread left")));
            }
        }
    }

    /// Ends every read that waits, now and from now on, as at the end of a file: the mount is to go.
    pub fn end_waiting(&self) {
        let mut state = self.waiting.state.lock();
        state.is_ended = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        answer_all(waiting, &|| Ok(Bytes::own(Vec::new())));
    }

    /// Ends every read that waits now, as at the end of a file; later ones wait.
    pub(in crate::fs) fn release_waiting(&self) {
        let waiting = std::mem::take(&mut self.waiting.state.lock().waiting);
        answer_all(waiting, &|| Ok(Bytes::own(Vec::new())));
    }

    /// One look at every reader; false when nobody waits any more.
    fn look_at_waiting(&self) -> bool {
        let readers = {
            let mut state = self.waiting.state.lock();
            state.in_hand = state.waiting.len();
            std::mem::take(&mut state.waiting)
        };
        let kept: Vec<Waiting> = readers.into_iter().filter_map(|waiting| look(&self.tree, waiting)).collect();
        let mut state = self.waiting.state.lock();
        state.in_hand = 0;
        if state.is_ended {
            drop(state);
            answer_all(kept, &|| Ok(Bytes::own(Vec::new())));
            return true;
        }
        state.waiting.extend(kept);
        state.is_served = !state.waiting.is_empty();
        state.is_served
    }
}

fn answer_all(waiting: Vec<Waiting>, answer: &dyn Fn() -> Result<Bytes, FsError>) {
    for reader in waiting {
        (reader.reply)(answer());
    }
}

fn serve(view: &Weak<View>) {
    loop {
        let Some(view) = view.upgrade() else { return };
        let commit_id = view.tree.db.commit_id();
        if !view.look_at_waiting() {
            return;
        }
        if let Err(error) = view.tree.db.wait_for_commit(commit_id, SLICE) {
            log::warn!("cannot wait for a commit: {error}");
            std::thread::sleep(SLICE);
        }
    }
}

/// Answers a reader if there is something to say; else gives it back.
fn look(tree: &Tree, mut waiting: Waiting) -> Option<Waiting> {
    match (waiting.awaited)(tree) {
        Ok(Some(bytes)) => (waiting.reply)(Ok(Bytes::own(bytes))),
        Err(error) => (waiting.reply)(Err(error)),
        Ok(None) => {
            let is_interrupted = has_signal(waiting.caller.pid).unwrap_or_else(|| waiting.since.elapsed() >= BLIND_SLICE);
            if !is_interrupted {
                return Some(waiting);
            }
            (waiting.reply)(Err(FsError::Interrupted));
        }
    }
    None
}

/// Has this thread a signal that it would act on? `None` when it cannot be looked at.
pub(in crate::fs) fn has_signal(thread: u32) -> Option<bool> {
    if thread == 0 {
        return None;
    }
    pending_signal(&std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?)
}

/// The same of the text of `/proc/<thread>/status`.
fn pending_signal(status: &str) -> Option<bool> {
    let mask = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        u64::from_str_radix(line.trim(), 16).ok()
    };
    let (own, shared) = (mask("SigPnd")?, mask("ShdPnd")?);
    Some((own | shared) & !mask("SigBlk")? & !mask("SigIgn")? != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_count_unless_blocked_or_ignored() {
        let check = |own: u64, shared: u64, blocked: u64, ignored: u64, expected: bool| {
            let status = format!(
                "Name:\tcat\nSigPnd:\t{own:016x}\nShdPnd:\t{shared:016x}\nSigBlk:\t{blocked:016x}\nSigIgn:\t{ignored:016x}\n"
            );
            assert_eq!(pending_signal(&status), Some(expected), "{status}");
        };
        let interrupt = 1 << 1;
        check(0, 0, 0, 0, false);
        check(interrupt, 0, 0, 0, true);
        check(0, interrupt, 0, 0, true);
        check(0, interrupt, interrupt, 0, false);
        check(0, interrupt, 0, interrupt, false);
        assert_eq!(pending_signal("Name:\tcat\n"), None);
        assert_eq!(has_signal(std::process::id()), Some(false));
        assert_eq!(has_signal(0), None);
    }
}
