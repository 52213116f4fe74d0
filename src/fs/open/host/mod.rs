//! The state of a mount that operations of nodes share while a call is answered; each subject has
//! locks of its own.
//!
//! ```text
//! creations.rs        items between CREATE and their first complete text
//! optimistic_lock.rs  the version of an item that each process read: a write must not undo a change that the process has not seen
//! deferred_delete.rs  items renamed away, which are deleted a little later unless they are written again
//! rm_guard.rs         `rm -r Orders` must not empty a table by accident
//! behind.rs           writes to a service elsewhere that end after their call
//! threads.rs          threads for long calls, and reads that wait for what has not happened yet
//! ```

pub mod behind;
pub mod creations;
pub mod deferred_delete;
pub mod optimistic_lock;
pub mod rm_guard;
pub mod threads;

use std::{ops::Deref, sync::Weak};

use self::behind::{LateErrors, Removals, Removing};
use self::creations::Creations;
use self::deferred_delete::DeferredDelete;
use self::optimistic_lock::ReadVersions;
use self::rm_guard::RmGuard;
use self::threads::{PollRead, WaitingReads, Workers};
use super::{ReadBytes, Reply};
use crate::database::cancel::CancelSource;
use crate::fs::{
    mount::{Mount, error_log::FailedCall},
    node::{Node, NodeKind, attr::Attr, item_ino},
    prelude::*,
    process::{has_pending_signal, session_of, tgid_of},
    write::WriteFailure,
};
use crate::model::api::{Call, CallContext, DeleteTableRequest, Gathering, WriteListener};
use crate::model::error::InUseError;

/// Returns the node of a name in a directory, whether or not it exists: the tree above knows how.
pub type ResolveFn = fn(&Mount, &Node, &[u8]) -> Result<Node>;

/// Returns the attributes of a node: the tree above knows how.
pub type AttrFn = fn(&Mount, &Node) -> Result<Attr>;

/// The mount as one program calls it.
#[derive(Debug, Clone)]
pub struct Host {
    state: Arc<HostState>,
    /// The database and the state in memory beside it.
    pub mount: Mount,
    /// The permission for this call's write.
    gathering: Option<Gathering>,
}

impl Deref for Host {
    type Target = HostState;

    fn deref(&self) -> &HostState {
        &self.state
    }
}

/// The state that all calls of a mount share.
#[derive(Debug)]
pub struct HostState {
    /// The mount for work that is done for no particular program.
    own_mount: Mount,
    resolve: ResolveFn,
    attr: AttrFn,
    pub creations: Creations,
    pub workers: Arc<Workers>,
    waiting_reads: Arc<WaitingReads>,
    /// Releases the calls that wait for a service elsewhere.
    pub cancel_source: CancelSource,
    pub read_versions: Arc<ReadVersions>,
    pub deletes: Arc<DeferredDelete>,
    pub rm_guard: RmGuard,
    pub late_errors: LateErrors,
    pub removals: Removals,
}

impl Host {
    #[must_use]
    pub fn new(mount: Mount, resolve: ResolveFn, attr: AttrFn) -> Self {
        let (workers, read_versions) = (Arc::<Workers>::default(), Arc::<ReadVersions>::default());
        let state = HostState {
            own_mount: mount.clone(),
            resolve,
            attr,
            creations: Creations::default(),
            waiting_reads: Arc::default(),
            cancel_source: CancelSource::default(),
            deletes: DeferredDelete::new(
                mount.clone(),
                Arc::clone(&workers),
                Arc::clone(&read_versions),
            ),
            rm_guard: RmGuard::new(Arc::clone(&workers)),
            workers,
            read_versions,
            late_errors: LateErrors::default(),
            removals: Removals::default(),
        };
        Self {
            state: Arc::new(state),
            mount,
            gathering: None,
        }
    }

    /// Returns the same host, called by another program.
    #[must_use]
    pub fn with_caller(&self, caller: Caller) -> Self {
        // A long call of a service elsewhere is given up when its caller is killed.
        let is_waiting = |thread| has_pending_signal(thread) != Some(true);
        let asking = self.cancel_source.token(caller.pid, is_waiting, tgid_of);
        let own = &self.own_mount;
        let db = own
            .db
            .browse_for(&asking)
            .unwrap_or_else(|| Arc::clone(&own.db));
        Self {
            state: Arc::clone(&self.state),
            mount: own.with_caller(caller, db),
            gathering: None,
        }
    }

    /// Returns the same host for a call whose write may be sent in a batch with others.
    #[must_use]
    pub fn with_gathering(&self, gathering: Option<Gathering>) -> Self {
        Self {
            gathering,
            ..self.clone()
        }
    }

    /// Returns the same host for a call with another wait policy.
    #[must_use]
    pub fn with_wait(&self, wait: WaitPolicy) -> Self {
        let mut host = self.clone();
        host.mount.caller.wait = wait;
        host
    }

    /// Returns the node of a name in a directory, whether or not it exists.
    ///
    /// # Errors
    /// [`FsError::NotFound`] if the name can stand for nothing there.
    pub fn resolve(&self, directory: &Node, name: &[u8]) -> Result<Node> {
        (self.resolve)(&self.mount, directory, name)
    }

    /// True if the node exists, or is an item that is being created.
    #[must_use]
    pub fn exists(&self, node: &Node) -> bool {
        match (self.attr)(&self.mount, node) {
            Err(FsError::NotFound) => self.creations.attr(node.ino()).is_some(),
            attr => attr.is_ok(),
        }
    }

    /// Runs work that waits for at most a commit, on a thread for short work.
    pub fn run_short(&self, work: impl FnOnce() + Send + 'static) {
        self.workers.run(work);
    }

    /// Runs work that may take as long as reading or dropping a table. It has threads of its own,
    /// since a refused write must not wait behind scans.
    pub fn run_long(&self, work: impl FnOnce() + Send + 'static) {
        self.workers.run_long(work);
    }

    /// Answers when `awaited` has bytes: at once if it has.
    pub fn wait_read(&self, awaited: PollRead, reply: Reply<ReadBytes>) {
        if let Some(reply) = self
            .waiting_reads
            .wait(&self.mount, &self.own_mount, awaited, reply)
        {
            reply(Err(FsError::Busy(
                "64 readers wait already; end one of them",
            )));
        }
    }

    /// Ends every read that waits now, as at the end of a file.
    pub fn release_waiting(&self) {
        self.waiting_reads.release();
        self.cancel_source.cancel_all();
    }

    /// Ends every read that waits, now and from now on, as at the end of a file, and every call
    /// that now waits for a service elsewhere: the mount is to go.
    pub fn end_waiting(&self) {
        self.waiting_reads.end();
        self.cancel_source.cancel_all();
    }

    /// Keeps a failed call for `.ddb/errors/last`, with its own report or the sentence of its
    /// error. Returns the error.
    pub fn record(&self, operation: &'static str, path: String, failure: WriteFailure) -> FsError {
        let caller = self.mount.caller;
        let WriteFailure { error, report } = failure;
        let failed = FailedCall::new(caller, operation, path, &error, report);
        if self.rm_guard.follows_veto(&self.mount, &failed.path) {
            self.mount.error_log.append(failed);
        } else {
            self.mount.error_log.record(session_of(caller.pid), failed);
        }
        error
    }

    /// Returns a listener to the writes of this thread's process: the process knows the version
    /// that it wrote.
    #[must_use]
    pub fn listener(&self, thread: u32) -> Arc<dyn WriteListener> {
        Arc::new(NoteRenewer {
            host: Arc::downgrade(&self.state),
            thread,
        })
    }

    /// Allows a write of an item to end after its call.
    #[must_use]
    pub fn write_behind(
        &self,
        operation: &'static str,
        table: &TableName,
        key: &Key,
        path: String,
    ) -> Gathering {
        let folder = match key.sort {
            Some(_) => Node::Collection(SourceName::from(table), vec![key.partition.clone()]),
            None => Node::Items(SourceName::from(table)),
        };
        let (host, inos) = (self.clone(), [item_ino(table, key), folder.ino()]);
        self.behind(operation, path, move |error| {
            host.late_errors.insert(inos, &error);
        })
    }

    /// Allows an unlink to end after its call, as one of many by a process in a folder.
    #[must_use]
    pub fn remove_behind(&self, removing: Removing, path: String) -> Gathering {
        let host = self.clone();
        self.behind("unlink", path, move |error| {
            host.removals.fail(removing, error)
        })
    }

    fn behind(
        &self,
        operation: &'static str,
        path: String,
        on_failure: impl Fn(FsError) + Send + Sync + 'static,
    ) -> Gathering {
        let host = self.clone();
        // Looked up now: when the write ends the process may be gone, and its session with it.
        let session = self.mount.last_responses.session(self.mount.caller.pid);
        Gathering::Behind(Arc::new(move |outcome| {
            let error = match outcome {
                Ok(()) => return,
                Err(Error::ConditionalCheckFailed { .. }) => FsError::Stale,
                Err(error) => FsError::from(error),
            };
            log::debug!("{path}: {operation} failed after it had returned: {error}");
            let text = format!(
                "{}  the call had returned before: the item may be as it was\n",
                error.explanation()
            );
            let failed = FailedCall::new(host.mount.caller, operation, path.clone(), &error, text);
            host.mount.error_log.record(session, failed);
            on_failure(error);
        }))
    }

    /// Makes the context of an operation for the caller's process: the process knows the version
    /// that it writes.
    #[must_use]
    pub fn context(&self) -> CallContext {
        let caller = self.mount.caller;
        CallContext {
            gathering: self.gathering.clone(),
            ..context_for(self, caller.pid, caller.wait)
        }
    }

    /// Refuses to remove a node that goes only with its table, and vetoes further deletes of the
    /// process.
    pub fn refuse_part(&self, node: &Node) -> FsError {
        self.rm_guard.veto_after(&self.mount, node);
        FsError::NotPermitted(match node.kind() {
            NodeKind::Directory => "this folder is part of its table",
            NodeKind::File | NodeKind::Symlink => "this file is part of its table",
        })
    }

    /// Drops a table by DeleteTable, with its state in memory.
    ///
    /// # Errors
    /// `NotFound`; `NotEmpty` if it has items; the other errors of DeleteTable.
    pub fn drop_table(&self, request: DeleteTableRequest) -> Result<()> {
        let table = &request.table_name.clone();
        let context = CallContext {
            wait: self.mount.caller.wait,
            ..CallContext::default()
        };
        match run_blocking(context, |done| {
            self.mount.db.start(Call::DeleteTable(request, done))
        }) {
            Ok(_) => {}
            Err(Error::TableNotFound(_)) => return Err(FsError::NotFound),
            Err(Error::InUse(InUseError::HasItems(_))) => return Err(FsError::NotEmpty),
            Err(error) => return Err(error.into()),
        }
        // Only after the database agreed: a table that is kept keeps its folders and files.
        self.mount.folders.lock().drop_table(table);
        self.mount.drop_scratch(table);
        self.mount.index_drafts.drop_table(table);
        self.mount.archiver_quirks.removed(table);
        Ok(())
    }
}

/// A listener that renews the notes of a thread's process.
struct NoteRenewer {
    /// Weak: the database holds it.
    host: Weak<HostState>,
    thread: u32,
}

impl WriteListener for NoteRenewer {
    fn on_write(&self, table: &TableName, key: &Key, version: Option<Version>) {
        let Some(host) = self.host.upgrade() else {
            return;
        };
        // This runs on the committer: a note is short, but reading the item back is for another
        // thread.
        let is_noted = host
            .read_versions
            .wrote(item_ino(table, key), self.thread, version);
        if let Some(version) = version.filter(|_| is_noted) {
            let (host_clone, source, key) =
                (Arc::clone(&host), SourceName::from(table), key.clone());
            host.workers.run(move || {
                host_clone
                    .read_versions
                    .load_text(&host_clone.own_mount, &source, key, version)
            });
        }
    }
}

/// Keeps a failed call for `.ddb/errors/last`.
///
/// # Errors
/// The error of `result`, which is returned unchanged.
pub fn record_error<T>(
    host: &Host,
    operation: &'static str,
    path: impl FnOnce() -> String,
    result: Result<T>,
) -> Result<T> {
    result.map_err(|error| {
        if !error.is_logged() {
            return error;
        }
        let report = error.explanation();
        host.record(operation, path(), WriteFailure { error, report })
    })
}

/// Makes the context of an operation for a thread's process: the process knows the version that it
/// writes.
pub fn context_for(host: &Host, thread: u32, wait: WaitPolicy) -> CallContext {
    CallContext {
        listener: Some(host.listener(thread)),
        wait,
        ..CallContext::default()
    }
}
