//! What a file may ask of the mount that it is in, while a call on it is answered; each subject has locks of its own.
//!
//! ```text
//! creations.rs        items between CREATE and their first complete text
//! optimistic_lock.rs  who read which version of an item: a write must not undo what it has not seen
//! deferred_delete.rs  items renamed away, which are deleted a little later unless they are written again
//! rm_guard.rs         `rm -r Orders` must not empty a table by accident
//! threads.rs          threads for what takes long, and reads that wait for what has not happened yet
//! ```

pub mod creations;
pub mod deferred_delete;
pub mod optimistic_lock;
pub mod rm_guard;
pub mod threads;

use std::{ops::Deref, sync::Weak};

use self::creations::Creations;
use self::deferred_delete::DeferredDelete;
use self::optimistic_lock::ReadVersions;
use self::rm_guard::RmGuard;
use self::threads::{Awaited, WaitingReads, Workers};
use super::{Bytes, Reply};
use crate::database::caller::Releases;
use crate::fs::mount::Mount;
use crate::fs::mount::journal::Failed;
use crate::fs::node::{Node, attr::Attr, base, item_number};
use crate::fs::prelude::*;
use crate::fs::process::{has_signal, session_of};
use crate::fs::write::Failure;
use crate::model::api::{Call, CallContext, DeleteTableRequest, WriteListener};
use crate::model::error::InUseError;

/// Says what a name means in a directory, whether or not it exists: that is for the tree above.
pub type Resolve = fn(&Mount, &Node, &[u8]) -> Result<Node>;

/// Returns the attributes of a node: the tree above knows how.
pub type GetAttr = fn(&Mount, &Node) -> Result<Attr>;

/// See the module; as a program calls it.
#[derive(Debug, Clone)]
pub struct Host {
    state: Arc<HostState>,
    /// The database and what lives beside it.
    pub mount: Mount,
}

impl Deref for Host {
    type Target = HostState;

    fn deref(&self) -> &HostState {
        &self.state
    }
}

/// What all calls of a mount share.
#[derive(Debug)]
pub struct HostState {
    /// For what is done for no program in particular.
    own_mount: Mount,
    resolve: Resolve,
    attr: GetAttr,
    pub creations: Creations,
    pub workers: Arc<Workers>,
    waiting: Arc<WaitingReads>,
    /// Of who waits for a service elsewhere.
    pub releases: Releases,
    pub read_versions: Arc<ReadVersions>,
    pub deletes: Arc<DeferredDelete>,
    pub rm_guard: RmGuard,
}

impl Host {
    #[must_use]
    pub fn new(mount: Mount, resolve: Resolve, attr: GetAttr) -> Self {
        let (workers, read_versions) = (Arc::<Workers>::default(), Arc::<ReadVersions>::default());
        let state = HostState {
            own_mount: mount.clone(),
            resolve,
            attr,
            creations: Creations::default(),
            waiting: Arc::default(),
            releases: Releases::default(),
            deletes: DeferredDelete::new(
                mount.clone(),
                Arc::clone(&workers),
                Arc::clone(&read_versions),
            ),
            rm_guard: RmGuard::new(Arc::clone(&workers)),
            workers,
            read_versions,
        };
        Self {
            state: Arc::new(state),
            mount,
        }
    }

    /// The same, called by another program.
    #[must_use]
    pub fn called_by(&self, caller: Caller) -> Self {
        // What takes long elsewhere is given up with the caller.
        let asking = self
            .releases
            .caller(caller.pid, |thread| has_signal(thread) != Some(true));
        let own = &self.own_mount;
        let db = own
            .db
            .browse_for(&asking)
            .unwrap_or_else(|| Arc::clone(&own.db));
        Self {
            state: Arc::clone(&self.state),
            mount: own.called_by(caller, db),
        }
    }

    /// The same call, that may be let wait so long.
    #[must_use]
    pub fn waiting(&self, wait: WaitPolicy) -> Self {
        let mut host = self.clone();
        host.mount.caller.wait = wait;
        host
    }

    /// What a name means in a directory, whether or not it exists.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when the name can mean nothing there.
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

    /// Runs what waits for a commit at most on a thread for such work.
    pub fn run_elsewhere(&self, work: impl FnOnce() + Send + 'static) {
        self.workers.run(work);
    }

    /// Runs what may take as long as reading or dropping a table: on threads of its own, since a refused write must not wait behind scans.
    pub fn run_long(&self, work: impl FnOnce() + Send + 'static) {
        self.workers.run_long(work);
    }

    /// Answers when `awaited` has bytes: at once if it has.
    pub fn wait(&self, awaited: Awaited, reply: Reply<Bytes>) {
        // Only this refusal is kept for errors/last: the others are a file's own, and noted by it.
        if let Some(reply) = self
            .waiting
            .wait(&self.mount, &self.own_mount, awaited, reply)
        {
            let refused = Err(FsError::Busy("64 readers wait already; end one of them"));
            reply(noted(self, "read", String::new, refused));
        }
    }

    /// Ends every read that waits now, as at the end of a file.
    pub fn release_waiting(&self) {
        self.waiting.release();
        self.releases.release();
    }

    /// Ends every read that waits, now and from now on, as at the end of a file, and what now waits for a service elsewhere: the mount is
    /// to go.
    pub fn end_waiting(&self) {
        self.waiting.end();
        self.releases.release();
    }

    /// Keeps a failed call for `.ddb/errors/last`, with a report of its own or what the error says.
    pub fn record(&self, operation: &'static str, path: String, failure: Failure) -> FsError {
        let caller = self.mount.caller;
        let Failure { error, report } = failure;
        let failed = Failed::new(caller, operation, path, &error, report);
        if self.rm_guard.follows_veto(&self.mount, &failed.path) {
            self.mount.journal.append(failed);
        } else {
            self.mount.journal.record(session_of(caller.pid), failed);
        }
        error
    }

    /// Who is to hear of what operations write for this thread's process: what they write is what it knows from then on.
    #[must_use]
    pub fn listener(&self, thread: u32) -> Arc<dyn WriteListener> {
        Arc::new(Renewing {
            host: Arc::downgrade(&self.state),
            thread,
        })
    }

    /// DeleteTable.
    ///
    /// # Errors
    /// `NotFound`, `NotEmpty`, the operation's.
    pub fn drop_table(&self, request: DeleteTableRequest) -> Result<()> {
        let table = &request.table_name.clone();
        let context = CallContext {
            wait: self.mount.caller.wait,
            ..CallContext::default()
        };
        match wait(context, |done| {
            self.mount.db.start(Call::DeleteTable(request, done))
        }) {
            Ok(_) => {}
            Err(Error::TableNotFound(_)) => return Err(FsError::NotFound),
            Err(Error::InUse(InUseError::HasItems(_))) => return Err(FsError::NotEmpty),
            Err(error) => return Err(error.into()),
        }
        // Only after the database said yes: a table that is kept keeps its folders and files.
        self.mount.folders.lock().drop_table(table);
        self.mount.drop_scratch_of(table);
        self.mount.index_drafts.drop_table(table);
        self.mount.in_progress.removed(table);
        Ok(())
    }
}

/// Renews the notes of a thread's process.
struct Renewing {
    /// Weak: the database holds it.
    host: Weak<HostState>,
    thread: u32,
}

impl WriteListener for Renewing {
    fn wrote(&self, table: &TableName, key: &Key, version: Option<Version>) {
        let Some(host) = self.host.upgrade() else {
            return;
        };
        // On the committer: notes are short; reading the item back is for another thread.
        let is_noted = host
            .read_versions
            .wrote(item_number(table, key), self.thread, version);
        if let Some(version) = version.filter(|_| is_noted) {
            let (again, source, key) = (Arc::clone(&host), base(table), key.clone());
            host.workers.run(move || {
                again
                    .read_versions
                    .see(&again.own_mount, &source, key, version)
            });
        }
    }
}

/// Keeps a failed call for `.ddb/errors/last`.
///
/// # Errors
/// Those of `result`.
pub fn noted<T>(
    host: &Host,
    operation: &'static str,
    path: impl FnOnce() -> String,
    result: Result<T>,
) -> Result<T> {
    result.map_err(|error| {
        if !error.is_remarkable() {
            return error;
        }
        let report = error.explanation();
        host.record(operation, path(), Failure { error, report })
    })
}

/// For operations of a thread's process: what they write is what it knows from then on.
pub fn on_behalf_of(host: &Host, thread: u32, wait: WaitPolicy) -> CallContext {
    CallContext {
        listener: Some(host.listener(thread)),
        wait,
        commit_inline: None,
    }
}
