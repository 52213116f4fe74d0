//! Files whose bytes are made when somebody wants them: results of queries, `stream/since/`.
//!
//! Programs ask how large a file is before they read it, many trust the answer (tar, rsync, `wc -c`, whoever maps the file), and none can be
//! told from the others by its calls. So the size is exact up to [`SIZED_BYTES_MAX`].
//!
//! | difficulty | solved by |
//! |---|---|
//! | the size is known when everything was made | a [`Computation`] keeps its bytes in a [`Spool`]; who asks for the size waits for the end, who reads for the bytes |
//! | asking for a size must consume no capacity | steps are made on account; an [`OpenComputed`] settles the bills of what it gives, once |
//! | the open that follows a stat must not compute again | [`Kept`], for a short time and as long as nothing was committed |
//! | who has a file open keeps what it has | its handle holds its computation |
//! | a caller that was interrupted must not keep us busy | steps are made only while somebody waits; a later one goes on where they ended |
//! | a result may be of any length | beyond the limit the size is 0, as of a pipe, and each reader has a [`Window`] that keeps a page or two |

mod kept;
mod open;
mod spool;
mod window;

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

pub use kept::Kept;
pub use open::{Answer, OpenComputed};
pub use spool::{DISK_BYTES_MAX, Spool, Spools};
pub use window::Window;

use super::FsError;
use super::tree::Tree;
use crate::database::Bill;
use crate::fs::view::has_signal;

/// The longest file whose size is told.
pub const SIZED_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Makes the bytes of a file, from the first to the last.
pub trait Producer: fmt::Debug + Send {
    /// Appends the bytes of one step, and its bills; false at the end. A failed step leaves no trace and may be tried again.
    ///
    /// # Errors
    /// What it is made of is gone, or says no.
    fn advance(&mut self, tree: &Tree, bills: &mut Vec<Bill>, out: &mut Vec<u8>) -> Result<bool, FsError>;

    /// What all of it consumed, as `capacity.json` says it, once after the end.
    fn take_consumed(&mut self) -> Option<Vec<u8>> {
        None
    }
}

/// Called once when what was waited for is there, or with why it will not be.
pub type Wake = Box<dyn FnOnce(Result<(), FsError>) + Send>;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// There is a byte at this place, or it is known that there will be none in the spool.
    Byte(u64),
    /// It is known how large the file is, or that this is not told.
    Size,
}

struct Waiting {
    /// The thread that called.
    thread: u32,
    until: Until,
    wake: Wake,
}

/// How far a computation is.
#[derive(Debug)]
enum Progress {
    Going,
    /// All bytes are in the spool. With what the run consumed.
    Whole(Option<Arc<Vec<u8>>>),
    /// Too long, or there was no room for more; the first reader beyond takes the rest on.
    Beyond(Option<FsError>, Option<Box<Window>>),
}

struct State {
    /// Away while a step is made.
    producer: Option<Box<dyn Producer>>,
    progress: Progress,
    /// Each with where the bytes of its step begin.
    bills: Vec<(u64, Bill)>,
    waiting: Vec<Waiting>,
}

/// See the module.
pub struct Computation {
    spool: Spool,
    state: Mutex<State>,
}

impl fmt::Debug for Computation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Computation").field("made", &self.spool.len()).finish_non_exhaustive()
    }
}

impl Computation {
    /// Nothing was made so far.
    #[must_use]
    pub fn new(producer: Box<dyn Producer>, spools: &Arc<Spools>) -> Self {
        let state = State { producer: Some(producer), progress: Progress::Going, bills: Vec::new(), waiting: Vec::new() };
        Self { spool: Spool::new(spools), state: Mutex::new(state) }
    }

    /// The size to be shown, if it is known: 0 of what is too long.
    #[must_use]
    pub fn size(&self) -> Option<Result<u64, FsError>> {
        match &self.state.lock().progress {
            Progress::Going => None,
            Progress::Whole(_) => Some(Ok(self.spool.len())),
            Progress::Beyond(None, _) => Some(Ok(0)),
            Progress::Beyond(Some(error), _) => Some(Err(error.clone())),
        }
    }

    /// Does anybody wait for it?
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        let state = self.state.lock();
        state.producer.is_none() || !state.waiting.is_empty()
    }

    /// Is there nothing left to do?
    #[must_use]
    pub fn is_ended(&self) -> bool {
        !matches!(self.state.lock().progress, Progress::Going)
    }

    /// Is what is waited for there?
    #[must_use]
    pub fn has(&self, until: Until) -> bool {
        let state = self.state.lock();
        !matches!(state.progress, Progress::Going) || matches!(until, Until::Byte(offset) if offset < self.spool.len())
    }

    /// Wakes whoever waits when it is there. Whether nobody makes steps: then the caller is to see to it.
    #[must_use]
    pub fn wait(&self, thread: u32, until: Until, wake: Wake) -> bool {
        let mut state = self.state.lock();
        let there = !matches!(state.progress, Progress::Going) || matches!(until, Until::Byte(offset) if offset < self.spool.len());
        if there {
            drop(state);
            wake(Ok(()));
            return false;
        }
        state.waiting.push(Waiting { thread, until, wake });
        state.producer.is_some()
    }

    /// One step, if anybody waits for it and nobody makes one; whether there is more to do. `has_room` says whether the disk has room
    /// for so many bytes.
    pub fn step(&self, tree: &Tree, has_room: impl Fn(u64) -> bool) -> bool {
        self.dismiss_interrupted();
        let Some(producer) = self.take_turn() else { return false };
        let mut turn = Turn { computation: self, producer: Some(producer), outcome: Err(FsError::Internal) };
        turn.outcome = self.advance(&mut turn.producer, tree, has_room);
        drop(turn);
        !self.state.lock().waiting.is_empty()
    }

    /// Who has a signal does not wait any more.
    fn dismiss_interrupted(&self) {
        let waiting = std::mem::take(&mut self.state.lock().waiting);
        let (gone, kept): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|waiting| has_signal(waiting.thread) == Some(true));
        self.state.lock().waiting.extend(kept);
        gone.into_iter().for_each(|waiting| (waiting.wake)(Err(FsError::Interrupted)));
    }

    fn take_turn(&self) -> Option<Box<dyn Producer>> {
        let mut state = self.state.lock();
        if state.waiting.is_empty() { None } else { state.producer.take() }
    }

    fn advance(
        &self,
        producer: &mut Option<Box<dyn Producer>>,
        tree: &Tree,
        has_room: impl Fn(u64) -> bool,
    ) -> Result<(), FsError> {
        let Some(making) = producer else { return Ok(()) };
        let (mut bills, mut out) = (Vec::new(), Vec::new());
        let goes_on = making.advance(tree, &mut bills, &mut out)?;
        let start = self.spool.len();
        let is_long = start + out.len() as u64 > SIZED_BYTES_MAX;
        let why = if is_long { None } else { self.spool.append(&out, has_room).err() };
        let mut state = self.state.lock();
        if is_long || why.is_some() {
            let rest = producer.take().map(|producer| Box::new(Window::of(producer, (start, out), bills, goes_on)));
            state.progress = Progress::Beyond(why, rest);
            return Ok(());
        }
        state.bills.extend(bills.into_iter().map(|bill| (start, bill)));
        if !goes_on {
            state.progress = Progress::Whole(making.take_consumed().map(Arc::new));
        }
        Ok(())
    }

    /// The bills of steps whose bytes begin before `end`, from the `settled`th on; all of the rest when `end` is the end.
    fn bills(&self, settled: usize, end: u64) -> Vec<Bill> {
        let state = self.state.lock();
        let is_last = matches!(state.progress, Progress::Whole(_)) && end >= self.spool.len();
        let due = state.bills.get(settled..).unwrap_or_default().iter().take_while(|(start, _)| is_last || *start < end);
        due.map(|(_, bill)| bill.clone()).collect()
    }

    /// What the run consumed, when all is made.
    fn consumed(&self) -> Option<Arc<Vec<u8>>> {
        match &self.state.lock().progress {
            Progress::Whole(consumed) => consumed.clone(),
            Progress::Going | Progress::Beyond(..) => None,
        }
    }

    fn is_whole(&self) -> bool {
        matches!(self.state.lock().progress, Progress::Whole(_))
    }

    /// What is left to be made beyond the spool, for the first who asks.
    fn take_rest(&self) -> Option<Box<Window>> {
        match &mut self.state.lock().progress {
            Progress::Beyond(_, rest) => rest.take(),
            Progress::Going | Progress::Whole(_) => None,
        }
    }
}

/// A step that is being made. However it ends, those who wait hear of it.
struct Turn<'a> {
    computation: &'a Computation,
    producer: Option<Box<dyn Producer>>,
    outcome: Result<(), FsError>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.computation.state.lock();
        state.producer = self.producer.take();
        let failed = self.outcome.as_ref().err().cloned();
        let (is_ended, made) = (!matches!(state.progress, Progress::Going), self.computation.spool.len());
        let is_there = |until: Until| is_ended || matches!(until, Until::Byte(offset) if offset < made);
        let waiting = std::mem::take(&mut state.waiting);
        let (served, rest): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|waiting| failed.is_some() || is_there(waiting.until));
        state.waiting = rest;
        drop(state);
        let answer = failed.map_or(Ok(()), Err);
        served.into_iter().for_each(|waiting| (waiting.wake)(answer.clone()));
    }
}
