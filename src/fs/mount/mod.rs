//! What a mount is: the database, and what lives in memory beside it. Each part of the memory is bounded for itself.
//!
//! ```text
//! texts.rs                           texts of open files, of files that read a whole table, and as programs wrote them
//! folders.rs                         folders without items, and what becomes an index
//! scratch.rs                         where scratch files are, and what they are called
//! in_progress.rs                     what one process is in the middle of
//! journal.rs  calls.rs  reports.rs   failures, calls and answers, and batches that people read back
//! stream.rs                          today's changes of a table as a file that grows
//! paths.rs                           the path of a node, for people
//! ```
//!
//! Locks are short. Where one is taken under another, that of the drafts comes first, then that of the folders or the dropped names
//! (CreateTable hands a draft's folders over). The database is asked under three only, each of one file: a text that reads a table
//! (`LongTexts`, `KeptShapes` within it), the log of a stream, and a directory's own listing.

use std::{
    ops::Deref,
    sync::{OnceLock, atomic::AtomicUsize},
};

use self::{
    calls::{Calls, LastAnswers},
    folders::{Folders, IndexDrafts},
    in_progress::{DroppedNames, InProgress},
    journal::Journal,
    reports::Reports,
    stream::Logs,
    texts::{KeptShapes, LongTexts, WrittenTexts},
};
use crate::database::layout::Layout;
use crate::fs::{
    node::{Kind, Node, index_of},
    options::ViewOptions,
    prelude::*,
    write::{DeferredDeletes, Drafts, ScratchFiles},
};
use crate::store::budget::{Budget, Memory};

pub mod calls;
pub mod folders;
pub mod in_progress;
pub mod journal;
mod paths;
pub mod reports;
pub mod scratch;
pub mod stream;
pub mod texts;

/// The last plan of each session for each table: see `schema.plan`.
type Plans = Recent<(TableName, u32), Vec<u8>, 256>;

/// The mount as a program calls it: every system call has one of its own, which is passed down.
#[derive(Clone)]
pub struct Mount {
    state: Arc<MountState>,
    pub db: Arc<dyn Browse>,
    /// Of nothing in particular in what the mount does by itself.
    pub caller: Caller,
}

impl Deref for Mount {
    type Target = MountState;

    fn deref(&self) -> &MountState {
        &self.state
    }
}

/// What all calls of a mount share; see the module.
pub struct MountState {
    pub options: ViewOptions,
    /// What the program that mounts tells of itself: an object.
    pub config: OnceLock<Value>,
    /// Tells what the kernel knows and keeps: an object.
    pub kept: OnceLock<Box<dyn Fn() -> Value + Send + Sync>>,
    /// When this mount began, milliseconds since the epoch: the time of what has no time of its own.
    pub started_ms: u64,
    /// What open files and directories may hold.
    pub budget: Budget,
    /// What requests that are written to files may take.
    pub requests: Budget,
    pub texts: LongTexts,
    pub written: WrittenTexts,
    pub folders: Mutex<Folders>,
    pub drafts: Mutex<Drafts>,
    pub index_drafts: IndexDrafts,
    pub plans: Mutex<Plans>,
    pub scratch: Mutex<ScratchFiles<Node>>,
    /// When the tables with scratch files were made, milliseconds since the epoch.
    scratch_births: Mutex<HashMap<TableName, u64>>,
    deferred: Mutex<DeferredDeletes<(TableName, Key)>>,
    /// Entries of `deferred`, so that nobody locks it while it is empty.
    hidden: AtomicUsize,
    pub dropped: Mutex<DroppedNames>,
    /// Tables that a program copies others into.
    pub in_progress: InProgress,
    pub journal: Journal<Mount>,
    pub calls: Calls,
    pub last: LastAnswers,
    pub batches: Reports,
    pub shapes: KeptShapes,
    pub logs: Logs,
    created: Mutex<HashMap<TableName, (Arc<TableSchema>, u64)>>,
}

impl std::fmt::Debug for Mount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mount")
            .field("state", &self.state)
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for MountState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MountState")
            .field("started_ms", &self.started_ms)
            .finish_non_exhaustive()
    }
}

/// May a name that means nothing be made in this directory, and forgotten?
#[must_use]
pub fn is_place_of_dropped(directory: &Node) -> bool {
    match directory {
        Node::Index(_) | Node::Indexes(..) | Node::Table(_) => true,
        Node::Items(source) | Node::Collection(source, _) => source.index.is_some(),
        Node::DraftFolder(_, path) => path != "items" && !path.starts_with("items/"),
        Node::Special(special) => special.table().is_some() && special.kind == Kind::Directory,
        _ => false,
    }
}

impl MountState {
    fn new(options: ViewOptions) -> Self {
        let memory = Memory::of_process();
        Self {
            options,
            config: OnceLock::new(),
            kept: OnceLock::new(),
            started_ms: now_ms(),
            budget: memory.open_files,
            requests: memory.requests,
            texts: LongTexts::default(),
            written: WrittenTexts::default(),
            folders: Mutex::default(),
            drafts: Mutex::default(),
            index_drafts: IndexDrafts::default(),
            plans: Mutex::default(),
            scratch: Mutex::default(),
            scratch_births: Mutex::default(),
            deferred: Mutex::default(),
            hidden: AtomicUsize::new(0),
            dropped: Mutex::default(),
            in_progress: InProgress::default(),
            journal: Journal::default(),
            calls: Calls::default(),
            last: LastAnswers::default(),
            batches: Reports::default(),
            shapes: KeptShapes::default(),
            logs: Logs::default(),
            created: Mutex::default(),
        }
    }
}

impl Mount {
    #[must_use]
    pub fn new(db: Arc<dyn Browse>, options: ViewOptions) -> Self {
        Self {
            state: Arc::new(MountState::new(options)),
            db,
            caller: Caller::default(),
        }
    }

    /// The same mount, called by another program, for which the database is asked.
    #[must_use]
    pub fn called_by(&self, caller: Caller, db: Arc<dyn Browse>) -> Self {
        Self {
            state: Arc::clone(&self.state),
            db,
            caller,
        }
    }

    /// May a name that means nothing be made in this directory, and forgotten?
    pub(in crate::fs) fn restores_in(&self, directory: &Node) -> bool {
        is_place_of_dropped(directory)
            && directory.table().is_some_and(|table| self.restores(table))
    }

    /// Is what is written to derived files of this table taken and dropped?
    pub(in crate::fs) fn restores(&self, table: &TableName) -> bool {
        self.options.restore || self.in_progress.is_being_made(table)
    }

    /// What the database tells of its layout.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when it tells nothing.
    pub(in crate::fs) fn layout(&self) -> Result<&dyn Layout, FsError> {
        self.db.layout().ok_or(FsError::NotFound)
    }

    /// The table's definition.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when there is no such table.
    pub fn schema(&self, table: &TableName) -> Result<Arc<TableSchema>, FsError> {
        self.db.schema(table)?.ok_or(FsError::NotFound)
    }

    /// Is there a draft of this name and no table?
    pub(in crate::fs) fn is_draft(&self, table: &TableName) -> Result<bool, FsError> {
        if self.drafts.lock().get(table).is_none() {
            return Ok(false);
        }
        Ok(self.db.schema(table)?.is_none())
    }

    /// The definition of the table that `source` reads; the index exists in it.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when there is no such table or index.
    pub fn source_schema(&self, source: &Source) -> Result<Arc<TableSchema>, FsError> {
        let schema = self.schema(&source.table)?;
        index_of(&schema, source)?;
        Ok(schema)
    }

    /// When the table of `source` was created, milliseconds since the epoch. Directories and statistics carry this time: a time that
    /// moved with every write would make backup programs complain.
    pub(in crate::fs) fn source_time(&self, source: &Source) -> Result<u64, FsError> {
        self.source_schema(source)?;
        self.table_time(&source.table)
    }

    /// When what `schema.json` shows was last changed, milliseconds since the epoch.
    pub(in crate::fs) fn definition_time(&self, table: &TableName) -> Result<u64, FsError> {
        let description = self.db.describe(table)?.ok_or(FsError::NotFound)?;
        Ok(description
            .control
            .changed_ms
            .unwrap_or(description.created_ms))
    }

    /// When the table was created, milliseconds since the epoch.
    pub(in crate::fs) fn table_time(&self, table: &TableName) -> Result<u64, FsError> {
        let schema = self.schema(table)?;
        if let Some((known, created_ms)) = self.created.lock().get(table)
            // The catalog keeps a definition as long as it is valid: the same one is of the same table, another may be of a
            // table made anew.
            && Arc::ptr_eq(known, &schema)
        {
            return Ok(*created_ms);
        }
        let description = self.db.describe(table)?.ok_or(FsError::NotFound)?;
        let mut created = self.created.lock();
        if created.len() >= CREATED_MAX {
            created.clear();
        }
        created.insert(table.clone(), (schema, description.created_ms));
        Ok(description.created_ms)
    }

    /// Is this version of a base item hidden by a delete that waits?
    pub(in crate::fs) fn is_hidden(&self, source: &Source, key: &EntryKey, version: u64) -> bool {
        source.index.is_none()
            && self.hidden.load(Ordering::Acquire) > 0
            && self
                .deferred
                .lock()
                .is_hidden(&(source.table.clone(), key.base.clone()), version)
    }

    /// Does any delete wait? Listings then ask of each entry.
    pub(in crate::fs) fn hides_any(&self) -> bool {
        self.hidden.load(Ordering::Acquire) > 0
    }

    /// Works on the waiting deletes.
    pub(in crate::fs) fn with_deferred<T>(
        &self,
        work: impl FnOnce(&mut DeferredDeletes<(TableName, Key)>) -> T,
    ) -> T {
        let mut deferred = self.deferred.lock();
        let out = work(&mut deferred);
        self.hidden
            .store(usize::from(!deferred.is_empty()), Ordering::Release);
        out
    }
}

/// Tables whose creation time is remembered.
const CREATED_MAX: usize = 10_000;
