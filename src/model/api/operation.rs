//! The operations of the API. Each is declared once, in a row of its family's file; [`Call`], the
//! dispatch of every layer and the HTTP operations are generated from the rows. Also the context of
//! an operation beside its request: its completion callback, its listener for writes, the observers
//! of commits, and how long each may block. `protocol::operations` serves the rows, `engine::ops`
//! carries them out.

use std::sync::Arc;

use super::backup::*;
use super::declare::operation_rows;
use super::items::item_operations;
use super::resource::*;
use super::statements::statement_operations;
use super::transfer::*;
use super::{Version, *};
use crate::model::{Error, IndexName, Key, TableName};

/// The kind of an operation: its effect, and when its outcome is reported to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// Changes nothing; the outcome is reported before its start returns.
    Read,
    /// Waits for commits and files; the outcome is reported before its start returns.
    Control,
    /// Goes to another service unchanged; the outcome is reported before its start returns.
    PassThrough,
    /// Reports its outcome after the commit. A statement that only reads belongs here too: its
    /// effect is known from its text alone.
    Write,
}

/// Calls `$with!` with the rows of all operations, which stand in the files of their families:
///
/// ```text
/// kind  remote     name     method    request            response           how it is served
/// Read  Completed  GetItem  get_item (GetItemRequest) -> GetItemResponse   [parsed_by(RequestParser::Read)];
/// ```
///
/// - An [`OperationKind`].
/// - How a client requests it of another service: `Forwarded` as it is declared, `Charged` the same with `ReturnConsumedCapacity`, `Custom` by
///   the function of the method's name in `database::remote::client::requests`, `Completed` by it with `ReturnConsumedCapacity`, `LocalOnly` not at all.
/// - The API's name of it, and the name of the method that every `Database` and the engine have for it.
/// - If it has any, the properties with which `protocol` serves it: methods of its `Operation` such as `long()`, or `unnamed`, which is not served
///   under this name.
///
/// Query, Scan and BatchGetItem have no row: they return rows while they read them.
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

operation_rows! { $ other_operations
    // Features that do not exist here: the resource that a request names must exist, the response
    // is empty.
    Read LocalOnly NeverUsed never_used(NeverUsedRequest) -> () [unnamed];
    // Any operation in the caller's own words; the response is the body.
    PassThrough Custom Verbatim pass(VerbatimRequest) -> Vec<u8> [unnamed];
}

macro_rules! call_enum {
    ($($kind:ident $remote:ident $name:ident $method:ident($request:ty) -> $response:ty $([$($served:tt)*])?;)*) => {
        /// An operation to run: its request and its completion callback.
        #[allow(missing_debug_implementations)]
        pub enum Call {
            $($name($request, Completion<$response>),)*
        }

        #[allow(non_upper_case_globals)]
        impl OperationKind {
            $(pub const $name: Self = Self::$kind;)*
        }

        impl Call {
            /// Returns the API's name of the operation.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$name(..) => stringify!($name),)* }
            }

            /// Returns the kind of the operation.
            #[must_use]
            pub fn kind(&self) -> OperationKind {
                match self { $(Self::$name(..) => OperationKind::$kind,)* }
            }

            /// Reports to the caller that the operation is refused.
            pub fn refuse(self, error: Error) {
                match self { $(Self::$name(_, done) => done.complete(Err(error)),)* }
            }

            /// True for a part of a bulk load.
            #[must_use]
            pub fn is_bulk(&self) -> bool {
                match self { $(Self::$name(_, done) => done.context.is_bulk,)* }
            }

            /// Returns the same call with an observer: `hear` gets the error, if the call fails,
            /// before the caller gets the outcome.
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
operations!(call_enum);

macro_rules! measured_by_responses {
    ($($way:ident $elsewhere:ident $name:ident $method:ident($request:ty) -> $response:ty $([$($served:tt)*])?;)*) => {
        impl Call {
            /// Returns the same call with an observer of what it consumed or why it failed, before
            /// the caller gets the outcome. Only operations on items and statements are observed.
            #[must_use]
            pub fn measured(self, hear: impl FnOnce(Result<Consumption, &Error>) + Send + 'static) -> Self {
                match self {
                    $(Self::$name(request, done) => {
                        let heard = done.after(move |outcome: Result<$response, Error>| {
                            hear(outcome.as_ref().map(MeasuredResponse::consumption));
                            outcome
                        });
                        Self::$name(request, heard)
                    })*
                    other => other,
                }
            }
        }
    };
}
item_operations! { [[statement_operations] [measured_by_responses]] }

/// The context in which an operation is started. It is passed down to the commit, from layer to
/// layer with [`Completion`].
#[derive(Clone, Default)]
pub struct CallContext {
    /// The listener for the items that the operation writes.
    pub listener: Option<Arc<dyn WriteListener>>,
    /// The limit on the caller's wait for the observers of the commit.
    pub wait: WaitPolicy,
    /// Permission for the starting thread to run the commit itself: see [`CommitInline`].
    pub commit_inline: Option<CommitInline>,
    /// True for a part of a bulk load: its units are counted apart from the traffic.
    pub is_bulk: bool,
    /// Permission to send a put or delete to a service in a batch with others.
    pub gathering: Option<Gathering>,
}

/// The end of an operation whose write is sent in a batch with others.
#[derive(Clone)]
pub enum Gathering {
    /// The operation ends when its write has ended.
    Awaited,
    /// The operation ends at once, and reads see what it will leave. The function gets the outcome
    /// of the write.
    Behind(OnWriteEnd),
}

/// A function that gets the outcome of a write; it must not block.
pub type OnWriteEnd = Arc<dyn Fn(Result<(), Error>) + Send + Sync>;

impl std::fmt::Debug for Gathering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Awaited => "Awaited",
            Self::Behind(_) => "Behind",
        })
    }
}

opaque_debug!(CallContext);

impl CallContext {
    /// Returns the context of a part of a bulk load.
    #[must_use]
    pub fn bulk() -> Self {
        Self {
            is_bulk: true,
            ..Self::default()
        }
    }

    /// Returns the context of a thread that blocks until the operation has ended, and so may commit
    /// inline.
    #[must_use]
    pub fn blocking(self) -> Self {
        Self {
            commit_inline: Some(CommitInline::Here),
            ..self
        }
    }
}

/// Permission to run a commit, which may wait for the disk, on the thread that submits it, if no
/// other write is pending. That thread must not hold a lock that the end of the operation takes.
#[derive(Debug, Clone, Copy)]
pub enum CommitInline {
    Here,
    /// Inside a function, which is given the commit.
    Within(fn(&mut dyn FnMut())),
}

/// The limit on how long an operation's caller waits for the commit's observers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum WaitPolicy {
    /// No limit: the caller holds nothing that an observer may wait for.
    #[default]
    Long,
    /// A short time: the caller may hold something that an observer waits for.
    Short,
    /// No wait: the caller holds something that an observer waits for.
    None,
    /// No wait, and nothing to wait for: the kernel asked for the change, and knows of it and of
    /// its effects.
    Settled,
}

/// The completion of an operation: a callback that gets the outcome once, on the thread on which
/// the operation ends.
pub struct Completion<T> {
    pub context: CallContext,
    callback: Box<dyn FnOnce(Result<T, Error>) + Send>,
}

impl<T> std::fmt::Debug for Completion<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Completion").field(&self.context).finish()
    }
}

impl<T> Completion<T> {
    /// Returns a completion that calls `callback`, which must not block.
    pub fn new(
        context: CallContext,
        callback: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) -> Self {
        Self {
            context,
            callback: Box::new(callback),
        }
    }

    /// Returns a completion without a listener for writes and with the default context.
    pub fn detached(callback: impl FnOnce(Result<T, Error>) + Send + 'static) -> Self {
        Self::new(CallContext::default(), callback)
    }

    pub fn complete(self, outcome: Result<T, Error>) {
        (self.callback)(outcome);
    }
}

impl<T: 'static> Completion<T> {
    /// Returns the completion of an inner operation: `make` maps the inner outcome to this one's.
    #[must_use]
    pub fn after<U>(
        self,
        make: impl FnOnce(Result<U, Error>) -> Result<T, Error> + Send + 'static,
    ) -> Completion<U> {
        Completion::new(self.context, move |outcome| (self.callback)(make(outcome)))
    }
}

/// A listener for the items that an operation wrote, whatever its kind: a batch, a transaction, a
/// statement of PartiQL. It is called after the commit and before the completion.
pub trait WriteListener: Send + Sync {
    /// Reports that the item now has this version, which it may have had before, or `None` if it
    /// was deleted. Must not block.
    fn on_write(&self, table: &TableName, key: &Key, version: Option<Version>);
}

/// A written item.
#[derive(Debug)]
pub struct WrittenItem {
    pub table: TableName,
    pub key: Key,
    /// The item's version now, which it may have had before; `None` if it was deleted.
    pub version: Option<Version>,
}

/// A table or an index of which nothing holds any more that was read: it was deleted, is being
/// deleted, or is an index that showed its items late.
#[derive(Debug)]
pub struct EndedSource {
    pub table: TableName,
    pub index: Option<IndexName>,
}

/// The changes of one operation in a commit.
#[derive(Debug)]
pub struct CommitEvent {
    pub items: Vec<WrittenItem>,
    pub ended: Vec<EndedSource>,
    pub wait: WaitPolicy,
}

/// The rest of an operation after its commit.
pub type AfterCommit = Box<dyn FnOnce() + Send>;

/// An observer of all commits, also of deletions by time to live. Must not block.
pub trait CommitObserver: Send + Sync {
    /// Reports a commit. The observer calls `complete` once, from any thread and at any time: it
    /// completes the operation.
    fn on_commit(&self, committed: &Arc<CommitEvent>, complete: AfterCommit);
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeverUsedRequest {
    /// The name of an operation that would begin to use a feature.
    Begin(&'static str),
    /// DescribeGlobalTable, UpdateGlobalTable, and the operations on their settings.
    GlobalTable(String),
    ListGlobalTables,
    DescribeTableReplicaAutoScaling(TableName),
    DescribeKinesisStreamingDestination(TableName),
    /// Disable or update; `action` is the word for error texts.
    ChangeKinesisStreamingDestination {
        table: TableName,
        stream_arn: String,
        action: &'static str,
    },
    /// DescribeBulkOperation and CancelBulkOperation.
    BulkOperation(String),
    ListBulkOperations,
}

/// A request in the text of its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerbatimRequest {
    /// The operation's name, such as `GetItem`.
    pub operation: &'static str,
    /// A JSON object.
    pub body: Vec<u8>,
}
