//! What a file may ask of the mount that it is in, while a call on it is answered.

use super::Outcome;
use super::{Bytes, Reply};
use crate::fs::mount::Mount;
use crate::fs::node::Node;
use crate::fs::prelude::*;
use crate::fs::write::Failure;
use crate::model::api::{CallContext, DeleteTableRequest, PutItemRequest, WriteListener, saved_query::SavedForm};

/// Reads that may wait at a time.
pub const WAITING_MAX: usize = 64;

/// What a read waits for: asked again and again until it has bytes or fails.
pub type Awaited = Box<dyn FnMut(&Mount) -> Result<Option<Vec<u8>>, FsError> + Send>;

/// Work for another thread.
pub type Work = Box<dyn FnOnce() + Send>;

/// See the module. The view is one.
pub trait Host: Send + Sync {
    /// The database and what lives beside it.
    fn mount(&self) -> &Mount;

    /// What a name means in a directory, whether or not it exists.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when the name can mean nothing there.
    fn resolve(&self, directory: &Node, name: &[u8]) -> Result<Node, FsError>;

    /// Runs what waits for a commit at most on a thread for such work.
    fn run_elsewhere(&self, work: Work);

    /// Runs what may take as long as reading or dropping a table: on threads of its own, since a refused write must not wait behind scans.
    fn run_long(&self, work: Work);

    /// Answers when `awaited` has bytes: at once if it has.
    fn wait(self: Arc<Self>, caller: Caller, awaited: Awaited, reply: Reply<Bytes>);

    /// Keeps a failed call for `.ddb/errors/last`, with a report of its own or what the error says.
    fn record(&self, caller: Caller, operation: &'static str, path: String, failure: Failure) -> FsError;

    /// Who is to hear of what operations write for this thread's process.
    fn listener(&self, thread: u32) -> Arc<dyn WriteListener>;

    /// PutItem for a thread, of an item that may be hidden: it is written again.
    fn put(self: Arc<Self>, request: PutItemRequest, thread: u32, done: Outcome);

    /// Takes back a waiting delete of this item.
    fn revive_item(&self, table: &TableName, key: &Key);

    /// An item was put through the mount: the folder that was kept for it is one of the store now.
    fn item_stored(&self, table: &TableName, key: &Key);

    /// Did this process not just try to delete the whole table?
    ///
    /// # Errors
    /// It did.
    fn may_delete(&self, table: &TableName, caller: Caller) -> Result<(), FsError>;

    /// DeleteTable.
    ///
    /// # Errors
    /// `NotFound`, `NotEmpty`, the operation's.
    fn drop_table(&self, request: DeleteTableRequest) -> Result<(), FsError>;

    /// This process removed a saved query, which comes back if it turns out to delete the whole table.
    fn removed_saved(&self, caller: Caller, table: &TableName, name: &str, form: SavedForm);

    /// Performs the deletes of items renamed away, now.
    fn flush_deletes(self: Arc<Self>);

    /// Ends every read that waits now, as at the end of a file.
    fn release_waiting(&self);
}

/// Keeps a failed call for `.ddb/errors/last`.
///
/// # Errors
/// Those of `result`.
pub fn noted<T, H: Host + ?Sized>(
    host: &H,
    caller: Caller,
    operation: &'static str,
    path: impl FnOnce() -> String,
    result: Result<T, FsError>,
) -> Result<T, FsError> {
    result.map_err(|error| {
        if !error.is_remarkable() {
            return error;
        }
        let report = error.explanation();
        host.record(caller, operation, path(), Failure { error, report })
    })
}

/// For operations of a thread's process: what they write is what it knows from then on.
pub fn on_behalf_of<H: Host + ?Sized>(host: &H, thread: u32, wait: WaitPolicy) -> CallContext {
    CallContext { listener: Some(host.listener(thread)), wait, commit_inline: None }
}
