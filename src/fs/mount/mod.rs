//! The state of a mount: the database, and the data in memory beside it. Each part of the memory
//! has its own bound.
//!
//! ```text
//! text_cache.rs                                texts of open files, of files that read a whole table, and as programs wrote them
//! folders.rs                                   folders without items, and drafts of indexes
//! scratch.rs                                   places and names of scratch files
//! archiver_quirks.rs                           sequences of calls that one process has begun
//! error_log.rs  call_log.rs  batch_reports.rs  failures, calls and responses, and batches that people read back
//! stream_log.rs                                today's changes of a table as a file that grows
//! paths.rs                                     the path of a node, for people
//! ```
//!
//! Locks are held for a short time. Where two are nested, the lock of the drafts comes first, then
//! that of the folders or the discarded names (CreateTable takes over a draft's folders). The
//! database is called under three locks only, each of one file: a text that reads a table
//! (`TableTexts`, `ShapesCache` within it), the log of a stream, and a directory's own listing.

use std::{
    ops::Deref,
    sync::{OnceLock, atomic::AtomicUsize},
};

use self::{
    archiver_quirks::{ArchiverQuirks, DiscardedNames},
    batch_reports::BatchReports,
    call_log::{CallLog, LastResponses},
    error_log::{ErrorLog, FailedCall},
    folders::{EmptyFolders, IndexDrafts},
    stream_log::StreamLogs,
    text_cache::{ShapesCache, TableTexts, WrittenTexts},
};
use crate::database::layout::Layout;
use crate::fs::{
    node::{Node, NodeKind, index_of},
    options::ViewOptions,
    prelude::*,
    write::{DeferredDeletes, Drafts, ScratchFiles},
};
use crate::store::budget::MemoryBudgets;

pub mod archiver_quirks;
pub mod batch_reports;
pub mod call_log;
pub mod error_log;
pub mod folders;
mod paths;
pub mod scratch;
pub mod stream_log;
pub mod text_cache;

/// The last plan of each session for each table: see `schema.plan`.
type Plans = TtlMap<(TableName, u32), Vec<u8>, 256>;

/// The mount in one system call: each call has a value of its own, which is passed down.
#[derive(Clone)]
pub struct Mount {
    state: Arc<MountState>,
    pub db: Arc<dyn Browse>,
    /// The calling process; the default for work of the mount itself.
    pub caller: Caller,
}

impl Deref for Mount {
    type Target = MountState;

    fn deref(&self) -> &MountState {
        &self.state
    }
}

/// Finds the fault of a name; `None` when the name exists by now.
type FindFault = dyn Fn(&Mount) -> Option<FailedCall> + Send + Sync;

/// A function that finds the fault of a name.
#[derive(Clone)]
pub struct ExplainLookup(pub Arc<FindFault>);

opaque_debug!(ExplainLookup);

/// The state that all calls of a mount share; see the module.
#[derive(Default)]
pub struct MountState {
    pub options: ViewOptions,
    /// The configuration of the mounting program: a JSON object.
    pub config: OnceLock<Value>,
    /// Reports the state of the kernel's cache: a JSON object.
    pub cache_report: OnceLock<Box<dyn Fn() -> Value + Send + Sync>>,
    /// The start of this mount, milliseconds since the epoch: the time of nodes without a time of
    /// their own.
    pub started_ms: u64,
    /// Memory of open files, and of requests that are written to files.
    pub memory: MemoryBudgets,
    pub table_texts: TableTexts,
    pub written_texts: WrittenTexts,
    pub folders: Mutex<EmptyFolders>,
    pub drafts: Mutex<Drafts>,
    pub index_drafts: IndexDrafts,
    pub plans: Mutex<Plans>,
    pub scratch: Mutex<ScratchFiles<Node>>,
    /// Creation times of the tables with scratch files, milliseconds since the epoch.
    scratch_created_ms: Mutex<HashMap<TableName, u64>>,
    deferred: Mutex<DeferredDeletes<(TableName, Key)>>,
    /// 1 while `deferred` has entries, so that calls do not lock it while it is empty.
    any_deferred: AtomicUsize,
    pub discarded_names: Mutex<DiscardedNames>,
    /// Tables that a program copies others into.
    pub archiver_quirks: ArchiverQuirks,
    pub error_log: ErrorLog<ExplainLookup>,
    pub call_log: CallLog,
    pub last_responses: LastResponses,
    pub batch_reports: BatchReports,
    pub shapes: ShapesCache,
    pub stream_logs: StreamLogs,
    creation_times: Mutex<HashMap<TableName, (Arc<TableSchema>, u64)>>,
}

opaque_debug!(Mount, MountState);

/// True if an unknown name may be created in this directory, and be discarded.
#[must_use]
pub fn can_discard_in(directory: &Node) -> bool {
    match directory {
        Node::Index(_) | Node::Indexes(..) | Node::Table(_) => true,
        Node::Items(source) | Node::Collection(source, _) => source.index.is_some(),
        Node::DraftFolder(_, path) => path != "items" && !path.starts_with("items/"),
        Node::Special(special) => special.table().is_some() && special.kind == NodeKind::Directory,
        _ => false,
    }
}

impl Mount {
    #[must_use]
    pub fn new(db: Arc<dyn Browse>, options: ViewOptions) -> Self {
        let state = MountState {
            options,
            started_ms: now_ms(),
            ..MountState::default()
        };
        Self {
            state: Arc::new(state),
            db,
            caller: Caller::default(),
        }
    }

    /// Returns the same mount for another caller, with the database to call for it.
    #[must_use]
    pub fn with_caller(&self, caller: Caller, db: Arc<dyn Browse>) -> Self {
        Self {
            state: Arc::clone(&self.state),
            db,
            caller,
        }
    }

    /// True if an unknown name may now be created in this directory, and be discarded.
    pub(in crate::fs) fn discards_in(&self, directory: &Node) -> bool {
        can_discard_in(directory)
            && directory
                .table()
                .is_some_and(|table| self.discards_writes(table))
    }

    /// True if writes to derived files of this table are accepted and discarded.
    pub(in crate::fs) fn discards_writes(&self, table: &TableName) -> bool {
        self.options.restore || self.archiver_quirks.is_being_made(table)
    }

    /// Returns the physical layout of the database.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when the database has no layout to show.
    pub(in crate::fs) fn layout(&self) -> Result<&dyn Layout, FsError> {
        self.db.layout().ok_or(FsError::NotFound)
    }

    /// Returns the table's definition.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when there is no such table.
    pub fn schema(&self, table: &TableName) -> Result<Arc<TableSchema>, FsError> {
        self.db.schema(table)?.ok_or(FsError::NotFound)
    }

    /// True if there is a draft of this name and no table.
    pub(in crate::fs) fn is_draft(&self, table: &TableName) -> Result<bool, FsError> {
        if self.drafts.lock().get(table).is_none() {
            return Ok(false);
        }
        Ok(self.db.schema(table)?.is_none())
    }

    /// Returns the definition of the table that `source` reads; the index exists in it.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when there is no such table or index.
    pub fn source_schema(&self, source: &SourceName) -> Result<Arc<TableSchema>, FsError> {
        let schema = self.schema(&source.table)?;
        index_of(&schema, source)?;
        Ok(schema)
    }

    /// Returns the creation time of the table of `source`, milliseconds since the epoch.
    /// Directories and statistics carry this time: a time that moved with every write would make
    /// backup programs complain.
    pub(in crate::fs) fn source_created_ms(&self, source: &SourceName) -> Result<u64, FsError> {
        self.source_schema(source)?;
        self.table_created_ms(&source.table)
    }

    /// Returns the time of the last change of `schema.json`, milliseconds since the epoch.
    pub(in crate::fs) fn definition_changed_ms(&self, table: &TableName) -> Result<u64, FsError> {
        let description = self.db.describe(table)?.ok_or(FsError::NotFound)?;
        Ok(description
            .control
            .changed_ms
            .unwrap_or(description.created_ms))
    }

    /// Returns the creation time of the table, milliseconds since the epoch.
    pub(in crate::fs) fn table_created_ms(&self, table: &TableName) -> Result<u64, FsError> {
        let schema = self.schema(table)?;
        if let Some((known, created_ms)) = self.creation_times.lock().get(table)
            // The catalog keeps a definition as long as it is valid: the same pointer is of the
            // same table, another may be of a table that was created again.
            && Arc::ptr_eq(known, &schema)
        {
            return Ok(*created_ms);
        }
        let description = self.db.describe(table)?.ok_or(FsError::NotFound)?;
        let mut created = self.creation_times.lock();
        if created.len() >= CREATION_TIMES_MAX {
            created.clear();
        }
        created.insert(table.clone(), (schema, description.created_ms));
        Ok(description.created_ms)
    }

    /// True if a pending delete hides this version of a base item.
    pub(in crate::fs) fn is_hidden(
        &self,
        source: &SourceName,
        key: &EntryKey,
        version: u64,
    ) -> bool {
        source.index.is_none()
            && self.any_deferred.load(Ordering::Acquire) > 0
            && self
                .deferred
                .lock()
                .is_hidden(&(source.table.clone(), key.base.clone()), version)
    }

    /// True if any delete is pending; listings then check each entry.
    pub(in crate::fs) fn has_hidden(&self) -> bool {
        self.any_deferred.load(Ordering::Acquire) > 0
    }

    /// Calls `work` with the pending deletes.
    pub(in crate::fs) fn with_deferred<T>(
        &self,
        work: impl FnOnce(&mut DeferredDeletes<(TableName, Key)>) -> T,
    ) -> T {
        let mut deferred = self.deferred.lock();
        let out = work(&mut deferred);
        self.any_deferred
            .store(usize::from(!deferred.is_empty()), Ordering::Release);
        out
    }
}

/// The maximum number of tables with a cached creation time.
const CREATION_TIMES_MAX: usize = 10_000;
