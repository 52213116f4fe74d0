//! The table of open handles: maps the number that FUSE calls `fh` to an open file or directory,
//! and counts the memory that each one holds.

use foldhash::HashMap;
use parking_lot::RwLock;

use super::Reply;
use super::computed::OpenComputed;
use super::directory::DirectoryStream;
use super::host::Host;
use super::open_text::OpenText;
use super::text::{FileCall, SpecialHandle, run_text_call};
use crate::fs::{
    mount::text_cache::FileText,
    node::attr::Attr,
    prelude::*,
    process::same_process,
    write::{ItemTarget, scratch::FileId},
};
use crate::store::budget::{BudgetFull, MemoryBudget, Permit};
use std::sync::atomic::AtomicU64;

/// An open file or directory.
#[derive(Debug)]
pub enum Handle {
    /// A file as it was at its open: a reader never sees parts of two versions. With the attributes
    /// of an item's version.
    Text(Arc<FileText>, Option<Attr>),
    /// A file that makes its bytes as it is read: a query's result.
    Computed(Box<OpenComputed>),
    Directory(Box<Mutex<DirectoryStream>>),
    Item(Arc<OpenText<ItemTarget>>),
    Scratch(FileId),
    Special(Arc<dyn SpecialHandle>),
}

/// The bytes that a handle costs beside its contents: its entries in the tables and its names.
const HANDLE_COST_BYTES: usize = 1024;
/// The bytes that a read may make before any of them is counted: a page of results as it is read
/// and as it is written.
const READ_RESERVE_BYTES: usize = 2 * 1024 * 1024;

/// An open file.
#[derive(Debug)]
struct OpenHandle {
    handle: Arc<Handle>,
    ino: u64,
    access: Access,
    /// The thread that opened it, by the kernel's thread id.
    opener: u32,
    since_ms: u64,
    memory: Mutex<HandleMemory>,
}

/// The memory that is counted for a handle.
#[derive(Debug, Default)]
struct HandleMemory {
    permit: Permit,
    /// The handle's share of its user's budget, with its text.
    share: Permit,
    /// The bytes of the text, which has a permit of its own.
    text_bytes: usize,
    user: Option<MemoryBudget>,
}

impl HandleMemory {
    /// True if the user's handles may hold `bytes` more, which `budget` has not counted yet. They
    /// may hold at most as much as stays free for other users, so something always stays free.
    fn may_grow(&self, bytes: usize, budget: &MemoryBudget) -> bool {
        self.user
            .as_ref()
            .is_none_or(|user| user.held().saturating_add(bytes) <= budget.free())
    }

    fn count_share(&mut self) {
        if let Some(user) = &self.user {
            user.set(&mut self.share, self.permit.bytes() + self.text_bytes);
        }
    }
}

/// The way in which the reads and writes of a handle reach this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Not known yet: it is being opened for reading.
    Opening,
    /// Each read and write is a request.
    Direct,
    /// The kernel answers reads from its page cache.
    Cached,
}

/// The open handles of one inode.
#[derive(Debug, Default)]
struct OpenInode {
    /// The number of handles, with those that are being opened.
    handles: u32,
    /// The number of direct ones, with those that are being opened for writing.
    direct: u32,
    /// The number of cached ones.
    cached: u32,
    /// The attributes of the version in the page cache, as long as a handle is cached.
    pages: Option<Attr>,
    /// True while the first cached handle fills the page cache.
    is_filling: bool,
    /// The number of commits of the item since the inode is open.
    commits: u32,
}

impl OpenInode {
    fn add(&mut self, access: Access) {
        self.handles += 1;
        match access {
            Access::Opening => {}
            Access::Direct => self.direct += 1,
            Access::Cached => self.cached += 1,
        }
    }

    fn remove(&mut self, access: Access) {
        self.handles -= 1;
        match access {
            Access::Opening => {}
            Access::Direct => self.direct -= 1,
            Access::Cached => self.cached -= 1,
        }
        if self.cached == 0 {
            (self.pages, self.is_filling) = (None, false);
        }
    }
}

/// The use of the kernel's page cache by a handle that is being opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageUse {
    /// None: each read is a request.
    None,
    /// The handle is the first of its version: it fills the cache.
    Fill,
    /// The cache has the version of the handle.
    Filled,
}

/// An inode that is being opened.
#[derive(Debug)]
pub struct OpeningGuard<'h> {
    handles: &'h HandleTable,
    ino: u64,
    access: Access,
    /// The commits of the item before its text is read.
    commits: u32,
}

impl Drop for OpeningGuard<'_> {
    fn drop(&mut self) {
        self.handles.release_inode(self.ino, self.access);
    }
}

impl OpeningGuard<'_> {
    /// True if the kernel caches pages of the inode: then its size may not change.
    #[must_use]
    pub fn has_pages(&self) -> bool {
        self.handles.pages(self.ino).is_some()
    }

    /// Decides on the use of the page cache, by a handle of the version with these attributes. The
    /// cache has one version at a time, of which the kernel knows the size (`is_told`), and no handle
    /// writes meanwhile. It is filled while no other handle is there that could read: the kernel
    /// locks a page that it reads, and a thread that answers it must never wait for that lock.
    ///
    /// `is_told` is asked under the lock: an answer with attributes of another version is noted
    /// before it looks for pages, so that either finds the other.
    pub fn use_pages(&mut self, attr: Attr, is_told: impl FnOnce() -> bool) -> PageUse {
        let mut inodes = self.handles.open_inodes.lock();
        let Some(open) = inodes.get_mut(&self.ino) else {
            return PageUse::None;
        };
        if open.commits != self.commits || open.direct > 0 || open.is_filling || !is_told() {
            return PageUse::None;
        }
        let page_use = match &open.pages {
            None => PageUse::Fill,
            Some(pages) if pages.version == attr.version => PageUse::Filled,
            Some(_) => return PageUse::None,
        };
        if page_use == PageUse::Fill {
            (open.pages, open.is_filling) = (Some(attr), true);
        }
        open.cached += 1;
        self.access = Access::Cached;
        page_use
    }

    /// Notes that the page cache is filled.
    pub fn end_filling(&self) {
        if let Some(open) = self.handles.open_inodes.lock().get_mut(&self.ino) {
            open.is_filling = false;
        }
    }

    /// Adds the handle, as [`HandleTable::insert`].
    ///
    /// # Errors
    /// As of [`HandleTable::insert`].
    pub fn insert(self, handle: Handle, caller: Caller, since_ms: u64) -> Result<u64> {
        let access = match self.access {
            Access::Cached => Access::Cached,
            Access::Opening | Access::Direct => Access::Direct,
        };
        self.handles
            .insert_as(handle, self.ino, access, caller, since_ms)
    }
}

/// The open handles by number; a number is never used twice within a mount. An open, a write and a
/// read reserve memory from a [`MemoryBudget`] before anything is built ([`HandleTable::reserve`]);
/// the memory that is really held is counted after each call ([`HandleTable::recount`]).
#[derive(Debug)]
pub struct HandleTable {
    handles: RwLock<HashMap<u64, Arc<OpenHandle>>>,
    /// The open inodes by number, with those that are being opened.
    open_inodes: Mutex<HashMap<u64, OpenInode>>,
    last_number: AtomicU64,
    budget: MemoryBudget,
    /// The bytes that the handles of each user hold; `None` if all callers are one user.
    users: Option<Mutex<HashMap<u32, MemoryBudget>>>,
}

impl HandleTable {
    /// Makes an empty table. `is_shared` is true if several users may call.
    #[must_use]
    pub fn new(budget: MemoryBudget, is_shared: bool) -> Self {
        let (handles, open_inodes, last_number, users) = (
            RwLock::default(),
            Mutex::default(),
            AtomicU64::new(0),
            is_shared.then(Mutex::default),
        );
        Self {
            handles,
            open_inodes,
            last_number,
            budget,
            users,
        }
    }

    fn user(&self, uid: u32) -> Option<MemoryBudget> {
        let mut users = self.users.as_ref()?.lock();
        if !users.contains_key(&uid) {
            users.retain(|_, user| user.held() > 0);
        }
        Some(
            users
                .entry(uid)
                .or_insert_with(|| MemoryBudget::new(usize::MAX))
                .clone(),
        )
    }

    /// Adds a handle of an inode, opened at `since_ms`, and returns its number.
    ///
    /// # Errors
    /// `TooManyOpen` if the budget, or the user's share of it, is used up.
    pub fn insert(&self, handle: Handle, ino: u64, caller: Caller, since_ms: u64) -> Result<u64> {
        self.insert_as(handle, ino, Access::Direct, caller, since_ms)
    }

    fn insert_as(
        &self,
        handle: Handle,
        ino: u64,
        access: Access,
        caller: Caller,
        since_ms: u64,
    ) -> Result<u64> {
        let text_bytes = if let Handle::Text(text, _) = &handle {
            text.bytes.len()
        } else {
            0
        };
        let mut held = HandleMemory {
            user: self.user(caller.uid),
            text_bytes,
            ..HandleMemory::default()
        };
        let bytes = HANDLE_COST_BYTES + handle.held_bytes().unwrap_or(0);
        // The text is counted in the budget already, but not yet for its user.
        let may_open = held.may_grow(bytes + text_bytes, &self.budget);
        let counted = if may_open {
            self.budget.resize(&mut held.permit, bytes)
        } else {
            Err(BudgetFull)
        };
        counted.map_err(|BudgetFull| FsError::TooManyOpen)?;
        held.count_share();
        let opened = OpenHandle {
            handle: Arc::new(handle),
            ino,
            access,
            opener: caller.pid,
            since_ms,
            memory: Mutex::new(held),
        };
        let number = self.last_number.fetch_add(1, Ordering::Relaxed) + 1;
        self.open_inodes.lock().entry(ino).or_default().add(access);
        self.handles.write().insert(number, Arc::new(opened));
        Ok(number)
    }

    /// Counts the inode as open until the guard is dropped: from before its text is read until its
    /// handle is here.
    pub fn opening(&self, ino: u64, is_writer: bool) -> OpeningGuard<'_> {
        let access = if is_writer {
            Access::Direct
        } else {
            Access::Opening
        };
        let mut inodes = self.open_inodes.lock();
        let open = inodes.entry(ino).or_default();
        open.add(access);
        OpeningGuard {
            handles: self,
            ino,
            access,
            commits: open.commits,
        }
    }

    /// True if the inode has a handle or is being opened.
    #[must_use]
    pub fn is_open(&self, ino: u64) -> bool {
        self.open_inodes.lock().contains_key(&ino)
    }

    /// True if all handles of the inode, if it has any, are of this version in the page cache.
    #[must_use]
    pub fn are_all_of(&self, ino: u64, version: Version) -> bool {
        let inodes = self.open_inodes.lock();
        inodes.get(&ino).is_none_or(|open| {
            open.handles == open.cached && open.pages.is_some_and(|pages| pages.version == version)
        })
    }

    /// Returns the attributes of the version of which the kernel caches pages for open handles.
    #[must_use]
    pub fn pages(&self, ino: u64) -> Option<Attr> {
        self.open_inodes.lock().get(&ino)?.pages
    }

    /// Notes a commit of the item with this number. Returns true if the kernel caches pages of
    /// another version for open handles.
    pub fn note_commit(&self, ino: u64, version: Option<Version>) -> bool {
        let mut inodes = self.open_inodes.lock();
        let Some(open) = inodes.get_mut(&ino) else {
            return false;
        };
        open.commits = open.commits.wrapping_add(1);
        open.pages
            .is_some_and(|pages| Some(pages.version) != version)
    }

    fn release_inode(&self, ino: u64, access: Access) {
        let mut inodes = self.open_inodes.lock();
        debug_assert!(inodes.contains_key(&ino), "closed more often than opened");
        if let Some(open) = inodes.get_mut(&ino) {
            open.remove(access);
            if open.handles == 0 {
                inodes.remove(&ino);
            }
        }
    }

    #[must_use]
    pub fn get(&self, number: u64) -> Option<Arc<Handle>> {
        Some(Arc::clone(&self.opened(number)?.handle))
    }

    /// Returns the handles of an inode, the last one opened first: a shell that opens the same file
    /// again means that one. Looks at every handle.
    fn by_inode(&self, ino: u64) -> Vec<Arc<OpenHandle>> {
        let open = self.handles.read();
        let mut all: Vec<_> = open
            .iter()
            .filter(|(_, opened)| opened.ino == ino)
            .collect();
        all.sort_by_key(|(number, _)| std::cmp::Reverse(**number));
        all.into_iter()
            .map(|(_, opened)| Arc::clone(opened))
            .collect()
    }

    /// Returns the handle of this inode that the thread's process opened last.
    #[must_use]
    pub fn for_process(&self, ino: u64, thread: u32) -> Option<Arc<Handle>> {
        // The process of a thread is read from /proc: not under the lock that every call takes.
        let own = self
            .by_inode(ino)
            .into_iter()
            .find(|opened| same_process(opened.opener, thread))?;
        Some(Arc::clone(&own.handle))
    }

    /// Returns the handle of this inode that the thread's process opened last, or else the one that
    /// any process opened last, and the time of that open in milliseconds since the epoch.
    #[must_use]
    pub fn last_for(&self, ino: u64, thread: u32) -> Option<(Arc<Handle>, u64)> {
        let all = self.by_inode(ino);
        let last = all
            .iter()
            .find(|opened| same_process(opened.opener, thread))
            .or_else(|| all.first())?;
        Some((Arc::clone(&last.handle), last.since_ms))
    }

    pub fn remove(&self, number: u64) -> Option<Arc<Handle>> {
        let opened = self.handles.write().remove(&number)?;
        self.release_inode(opened.ino, opened.access);
        Some(Arc::clone(&opened.handle))
    }

    /// Returns the inode of a handle.
    #[must_use]
    pub fn ino(&self, number: u64) -> Option<u64> {
        Some(self.opened(number)?.ino)
    }

    fn opened(&self, number: u64) -> Option<Arc<OpenHandle>> {
        self.handles.read().get(&number).cloned()
    }

    /// Reserves memory before a call that may make a handle hold `bytes` more.
    ///
    /// # Errors
    /// `OpenFull` if the budget, or the user's share of it, is used up.
    pub fn reserve(&self, number: u64, bytes: usize) -> Result<()> {
        let Some(opened) = self.opened(number) else {
            return Ok(());
        };
        let mut held = opened.memory.lock();
        let all = held.permit.bytes().saturating_add(bytes);
        if !held.may_grow(bytes, &self.budget) || self.budget.resize(&mut held.permit, all).is_err()
        {
            return Err(FsError::OpenFull);
        }
        held.count_share();
        Ok(())
    }

    /// Reserves memory before a read of a handle that makes its bytes as it is read.
    ///
    /// # Errors
    /// `ReadFull` if the budget, or the user's share of it, is used up.
    pub fn reserve_read(&self, number: u64) -> Result<()> {
        self.reserve(number, READ_RESERVE_BYTES)
            .map_err(|_| FsError::ReadFull)
    }

    /// Counts the memory that the handle holds after a call.
    pub fn recount(&self, number: u64) {
        if let Some(opened) = self.opened(number) {
            let mut held = opened.memory.lock();
            // Another call may be making it hold more: then that call counts when it ends.
            if let Some(bytes) = opened.handle.held_bytes() {
                self.budget.set(&mut held.permit, HANDLE_COST_BYTES + bytes);
                held.count_share();
            }
        }
    }
}

impl Handle {
    /// Carries out a call on the file.
    pub fn call(&self, host: &Host, call: FileCall, reply: Reply<()>) {
        match (self, call) {
            (Self::Item(open), call @ FileCall::Write { .. }) => {
                run_text_call(host, open, call, host.caching_text(open, reply));
            }
            (Self::Item(open), call) => run_text_call(host, open, call, reply),
            (Self::Special(open), call) => Arc::clone(open).call(host, call, reply),
            (Self::Scratch(id), call) => {
                let mut scratch = host.mount.scratch.lock();
                let ended = match call {
                    FileCall::Write { offset, data } => scratch.write(*id, offset, &data, now_ms()),
                    FileCall::Truncate(size) => scratch.truncate(*id, size, now_ms()),
                    FileCall::Release => {
                        scratch.release(*id, now_ms());
                        Ok(())
                    }
                    FileCall::Flush | FileCall::Fsync => Ok(()),
                };
                drop(scratch);
                reply(ended);
            }
            (_, call) => reply(call.ignored()),
        }
    }

    /// Returns the bytes that the handle holds now, without a text's own, which are counted with
    /// the text. Returns `None` while a call makes it hold more.
    fn held_bytes(&self) -> Option<usize> {
        match self {
            Self::Text(..) | Self::Scratch(_) => Some(0),
            Self::Computed(open) => open.held_bytes(),
            Self::Directory(stream) => stream.try_lock().map(|stream| stream.held_bytes()),
            Self::Item(open) => Some(open.held_bytes()),
            Self::Special(open) => open.held_bytes(),
        }
    }

    /// True if the bytes are made as they are read, so that a read makes the handle hold more.
    #[must_use]
    pub fn grows_on_read(&self) -> bool {
        match self {
            Self::Computed(_) | Self::Directory(_) => true,
            Self::Special(open) => open.grows_on_read(),
            Self::Text(..) | Self::Item(_) | Self::Scratch(_) => false,
        }
    }

    /// Returns the size of the file as this handle sees it, if it has a size of its own.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Text(text, _) => Some(text.bytes.len() as u64),
            Self::Item(open) => Some(open.state.lock().writer.len() as u64),
            Self::Special(open) => open.size(),
            Self::Computed(open) => open.computation.size().and_then(Result::ok),
            Self::Directory(_) | Self::Scratch(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number above the largest process id of Linux: of no process, nor a thread of this one.
    const NO_PROCESS: u32 = 1 << 30;

    fn caller(uid: u32) -> Caller {
        Caller {
            pid: NO_PROCESS,
            uid,
            ..Caller::default()
        }
    }

    #[test]
    fn a_user_leaves_as_much_as_he_holds_to_the_others() {
        let budget = MemoryBudget::new(1_000_000);
        let handles = HandleTable::new(budget.clone(), true);
        let open = |uid, ino| {
            handles.insert(
                Handle::Text(FileText::new(vec![b'x'; 20_000], &budget)?, None),
                ino,
                caller(uid),
                0,
            )
        };
        let until_refused = |uid| {
            (0..100)
                .map_while(|ino| open(uid, ino).ok())
                .collect::<Vec<u64>>()
        };
        let greedy = until_refused(7);
        assert!((20..25).contains(&greedy.len()), "{}", greedy.len());
        assert_eq!(handles.reserve(greedy[0], 100_000), Err(FsError::OpenFull));
        // Half of what is left, and so on.
        let owners = until_refused(0);
        assert!((10..15).contains(&owners.len()), "{}", owners.len());
        assert!(open(8, 1).is_ok());
        greedy
            .iter()
            .for_each(|number| drop(handles.remove(*number)));
        assert_eq!(handles.reserve(owners[0], 100_000), Ok(()));
        handles.recount(owners[0]);
        assert!(until_refused(7).len() > 10);
    }

    #[test]
    fn memory_of_open_files_is_bounded_and_given_back() {
        let budget = MemoryBudget::new(100_000);
        let handles = HandleTable::new(budget.clone(), false);
        let text = |bytes| {
            Ok::<_, FsError>(Handle::Text(
                FileText::new(vec![b'x'; bytes], &budget)?,
                None,
            ))
        };
        let open: Vec<u64> = (0..4)
            .map(|ino| {
                handles
                    .insert(text(20_000).unwrap(), ino, caller(0), 0)
                    .unwrap()
            })
            .collect();
        assert_eq!(text(20_000).unwrap_err(), FsError::TooManyOpen);
        assert_eq!(handles.reserve(open[0], 20_000), Err(FsError::OpenFull));
        assert_eq!(handles.reserve_read(open[0]), Err(FsError::ReadFull));
        handles.remove(open[0]).unwrap();
        assert_eq!(handles.reserve(open[1], 20_000), Ok(()));
        handles.recount(open[1]);
        handles.insert(text(1).unwrap(), 9, caller(0), 7).unwrap();
        let last = |ino, thread| {
            handles
                .last_for(ino, thread)
                .map(|(handle, since)| (handle.size(), since))
        };
        assert_eq!(
            (last(9, NO_PROCESS), last(0, NO_PROCESS)),
            (Some((Some(1), 7)), None)
        );
        handles
            .insert(
                text(2).unwrap(),
                9,
                Caller {
                    pid: std::process::id(),
                    ..caller(0)
                },
                8,
            )
            .unwrap();
        handles.insert(text(3).unwrap(), 9, caller(0), 9).unwrap();
        assert_eq!(
            [NO_PROCESS, std::process::id(), NO_PROCESS + 1].map(|thread| last(9, thread)),
            [3, 2, 3].map(|size| Some((Some(size), 6 + size)))
        );
    }

    #[test]
    fn handles_are_bounded_though_they_hold_nothing() {
        let handles = HandleTable::new(MemoryBudget::new(10 * HANDLE_COST_BYTES), false);
        let open: Vec<_> = (0..11)
            .map(|ino| handles.insert(Handle::Text(Arc::default(), None), ino, caller(0), 0))
            .collect();
        assert_eq!(
            (open[9].is_ok(), open[10].clone()),
            (true, Err(FsError::TooManyOpen))
        );
    }
}
