//! The operations of the API, each declared once, in a row: what follows from it for every one is made of the rows. And what is said of an
//! operation beside its request: who hears of its outcome and of what it writes, and how long each may be let wait.

use std::sync::Arc;

use super::backup::*;
use super::declare::rows;
use super::resource::*;
use super::transfer::*;
use super::{Version, *};
use crate::model::{Error, Key, TableName};

/// What an operation does, and when who asked hears of its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It leaves everything as it is; its outcome is told before its start returns.
    Reads,
    /// It waits for commits and files; its outcome is told before its start returns.
    Controls,
    /// It goes to another service as it is; its outcome is told before its start returns.
    Passes,
    /// Its outcome is told after the commit. A statement that only reads is one of these: what it does is in its text.
    Writes,
}

/// `$with!` is given the rows of all operations, which stand in the files of their families:
///
/// ```text
/// way    elsewhere  name     method    request            answer             how it is served
/// Reads  Own        GetItem  get_item (GetItemRequest) -> GetItemResponse   [read_by(Layer::Read)];
/// ```
///
/// - A [`Way`].
/// - How a client asks another service for it: `Asked` as it is declared, `Charged` the same with `ReturnConsumedCapacity`, `Own` by the
///   function of the method's name in `database::remote::client::requests`, `Unasked` not at all.
/// - The API's name of it, and the name of the method that every `Database` and the engine have for it.
/// - If it has any, the properties with which `protocol` serves it: methods of its `Operation` such as `long()`, or `unnamed`, which is not served
///   under this name.
///
/// Query, Scan and BatchGetItem are not here: they give rows as they read them.
macro_rules! operations {
    ($with:ident) => {
        $crate::model::api::items::item_operations! { [
            [$crate::model::api::statements::statement_operations]
            [$crate::model::api::streams::stream_operations]
            [$crate::model::api::tables::table_operations]
            [$crate::model::api::resource::resource_operations]
            [$crate::model::api::backup::backup_operations]
            [$crate::model::api::transfer::transfer_operations]
            [$crate::model::api::operation::other_operations]
            [$with]
        ] }
    };
}
pub(crate) use operations;

rows! { $ other_operations
    // Of features that there are none of: what a request names must exist, the answer is empty.
    Reads Unasked NeverUsed never_used(NeverUsedRequest) -> () [unnamed];
    // Any operation in its caller's own words; the body of the answer.
    Passes Own Verbatim pass(VerbatimRequest) -> Vec<u8> [unnamed];
}

macro_rules! call {
    ($($way:ident $elsewhere:ident $name:ident $method:ident($request:ty) -> $response:ty $([$($served:tt)*])?;)*) => {
        /// An operation that is asked for: its request, and who hears of its outcome.
        #[allow(missing_debug_implementations)]
        pub enum Call {
            $($name($request, Done<$response>),)*
        }

        #[allow(non_upper_case_globals)]
        impl Way {
            $(pub const $name: Self = Self::$way;)*
        }

        impl Call {
            /// The API's name of the operation.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$name(..) => stringify!($name),)* }
            }

            /// What it does.
            #[must_use]
            pub fn way(&self) -> Way {
                match self { $(Self::$name(..) => Way::$way,)* }
            }

            /// Tells who asked that it is not done.
            pub fn refuse(self, error: Error) {
                match self { $(Self::$name(_, done) => done.tell(Err(error)),)* }
            }

            /// The same call; `hear` is told of its failure, if it fails, before who asked hears of the outcome.
            #[must_use]
            pub fn heard(self, hear: impl FnOnce(Option<&Error>) + Send + 'static) -> Self {
                match self {
                    $(Self::$name(request, done) => {
                        let heard = done.after(move |outcome: Result<$response, Error>| {
                            hear(outcome.as_ref().err());
                            outcome
                        });
                        Self::$name(request, heard)
                    })*
                }
            }
        }
    };
}
operations!(call);

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
        f.debug_struct("CallContext")
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}

impl CallContext {
    /// The same, of a thread that has nothing else to do until the operation has ended.
    #[must_use]
    pub fn waited(self) -> Self {
        Self {
            commit_inline: Some(CommitInline::Here),
            ..self
        }
    }
}

/// Runs a commit, which may wait for the disk, on the thread that submits it: taken while nobody else writes. That thread must not hold a
/// lock that the end of the operation takes.
#[derive(Debug, Clone, Copy)]
pub enum CommitInline {
    Here,
    /// Within a function, which is given the commit.
    Within(fn(&mut dyn FnMut())),
}

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
        Self {
            context,
            hear: Box::new(hear),
        }
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
    pub fn after<U>(
        self,
        make: impl FnOnce(Result<U, Error>) -> Result<T, Error> + Send + 'static,
    ) -> Done<U> {
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeverUsedRequest {
    /// Anything that would begin to use a feature: its name.
    Begin(&'static str),
    /// DescribeGlobalTable, UpdateGlobalTable, and the same of their settings.
    GlobalTable(String),
    ListGlobalTables,
    DescribeTableReplicaAutoScaling(TableName),
    DescribeKinesisStreamingDestination(TableName),
    /// Disable or update; `action` is the word for it.
    ChangeKinesisStreamingDestination {
        table: TableName,
        stream_arn: String,
        action: &'static str,
    },
    /// DescribeBulkOperation and CancelBulkOperation.
    BulkOperation(String),
    ListBulkOperations,
}

/// The request of an operation as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerbatimRequest {
    /// `GetItem`
    pub operation: &'static str,
    /// A JSON object.
    pub body: Vec<u8>,
}
