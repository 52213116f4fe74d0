//! What is said of an operation beside its request: who hears of its outcome and of what it writes, and how long each may be let wait.

use std::sync::Arc;

use super::Version;
use crate::model::{Error, Key, TableName};

/// For whom an operation is started. It is passed down to the commit, from layer to layer with [`Done`].
#[derive(Clone, Default)]
pub struct CallContext {
    /// Hears of the items that the operation writes.
    pub listener: Option<Arc<dyn WriteListener>>,
    /// How long who waits may be let wait for the observers of the commit.
    pub wait: WaitPolicy,
    /// How the thread that starts the operation commits it itself, if it may: see [`CommitInline`].
    pub commit_inline: Option<CommitInline>,
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext").field("wait", &self.wait).finish_non_exhaustive()
    }
}

impl CallContext {
    /// The same, of a thread that has nothing else to do until the operation has ended.
    #[must_use]
    pub fn waited(self) -> Self {
        Self { commit_inline: Some(|commit| commit()), ..self }
    }
}

/// Runs a commit, which may wait for the disk, on the thread that submits it: taken while nobody else writes. That thread must not hold a
/// lock that the end of the operation takes.
pub type CommitInline = fn(&mut dyn FnMut());

/// How long who waits for an operation may be let wait for its observers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum WaitPolicy {
    /// As long as it takes: it holds nothing that an observer may wait for.
    #[default]
    Long,
    /// A moment: it may hold something.
    Short,
    /// Not at all: it does hold something.
    None,
    /// Not at all, and there is nothing to wait for: the kernel knows of the change, which it asked for, and of its effects.
    Settled,
}

/// Who waits for an operation. It is told the outcome once, on whatever thread the operation ends.
pub struct Done<T> {
    pub context: CallContext,
    hear: Box<dyn FnOnce(Result<T, Error>) + Send>,
}

impl<T> std::fmt::Debug for Done<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Done").field(&self.context).finish()
    }
}

impl<T> Done<T> {
    /// `hear` must not block.
    pub fn new(context: CallContext, hear: impl FnOnce(Result<T, Error>) + Send + 'static) -> Self {
        Self { context, hear: Box::new(hear) }
    }

    /// Nobody in particular waits, and nobody hears of what is written.
    pub fn of(hear: impl FnOnce(Result<T, Error>) + Send + 'static) -> Self {
        Self::new(CallContext::default(), hear)
    }

    pub fn tell(self, outcome: Result<T, Error>) {
        (self.hear)(outcome);
    }
}

impl<T: 'static> Done<T> {
    /// The same who waits, for an operation whose outcome is made into this one's before it is told.
    #[must_use]
    pub fn after<U>(self, make: impl FnOnce(Result<U, Error>) -> Result<T, Error> + Send + 'static) -> Done<U> {
        Done::new(self.context, move |outcome| (self.hear)(make(outcome)))
    }
}

/// Hears of the items that an operation wrote, whatever the operation: a batch, a transaction, a statement of PartiQL. It is told after
/// the commit, before who waits.
pub trait WriteListener: Send + Sync {
    /// The item is now of that version, which it may have been before; `None`: it is gone. Must not block.
    fn wrote(&self, table: &TableName, key: &Key, version: Option<Version>);
}

/// An item that was written.
#[derive(Debug)]
pub struct Written {
    pub table: TableName,
    pub key: Key,
    /// What it is now of, which it may have been before; `None`: it is gone.
    pub version: Option<Version>,
}

/// What a commit changed, for one operation.
#[derive(Debug)]
pub struct Committed {
    pub items: Vec<Written>,
    /// Gone, or going: nothing of them can be read any more.
    pub tables: Vec<TableName>,
    pub wait: WaitPolicy,
}

/// The rest of an operation.
pub type Then = Box<dyn FnOnce() + Send>;

/// Hears of all commits, also of what time to live deletes. Must not block.
pub trait CommitObserver: Send + Sync {
    /// This is committed. `then` is to be called once, by whom and when the observer likes: it tells who waits.
    fn committed(&self, committed: &Arc<Committed>, then: Then);
}
