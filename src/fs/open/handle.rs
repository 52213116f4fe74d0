//! Open files and directories.

use foldhash::HashMap;
use parking_lot::RwLock;

use super::computed::OpenComputed;
use super::directory::DirectoryStream;
use super::open_text::OpenText;
use super::text::OpenSpecial;
use crate::fs::mount::texts::Text;
use crate::fs::prelude::*;
use crate::fs::process::same_process;
use crate::fs::write::ItemTarget;
use crate::fs::write::scratch::FileId;
use crate::store::budget::{Budget, Full, Permit};
use std::sync::atomic::AtomicU64;

/// What a handle number stands for.
#[derive(Debug)]
pub enum Handle {
    /// A file as it was when it was opened: a reader never sees parts of two versions.
    Text(Arc<Text>),
    /// A file that is made as it is read: a query's result.
    Computed(Box<OpenComputed>),
    Directory(Box<Mutex<DirectoryStream>>),
    Item(Arc<OpenText<ItemTarget>>),
    Scratch(FileId),
    Special(Arc<dyn OpenSpecial>),
}

/// What a handle costs beside what it holds: its place in the tables, its names.
const HANDLE_COST_BYTES: usize = 1024;
/// What a reader may make before any of it is counted: a page of results as it is read and as it is written.
const READ_AHEAD_BYTES: usize = 2 * 1024 * 1024;

/// An open file.
#[derive(Debug)]
struct Opened {
    handle: Arc<Handle>,
    ino: u64,
    /// The thread that opened it, as the kernel names it.
    opener: u32,
    since_ms: u64,
    held: Mutex<Held>,
}

/// What a handle is counted with.
#[derive(Debug, Default)]
struct Held {
    permit: Permit,
    /// Of its user's budget, its text included.
    share: Permit,
    /// Bytes of the text, which has a permit of its own.
    text_bytes: usize,
    user: Option<Budget>,
}

impl Held {
    /// May the user's handles hold so many bytes more, when `budget` has not counted them yet? Not more than is left for the others: so
    /// there is always something left.
    fn may_grow(&self, bytes: usize, budget: &Budget) -> bool {
        self.user
            .as_ref()
            .is_none_or(|user| user.held().saturating_add(bytes) <= budget.free())
    }

    fn count_share(&mut self) {
        if let Some(user) = &self.user {
            user.count(&mut self.share, self.permit.bytes() + self.text_bytes);
        }
    }
}

/// An inode that is being opened.
#[derive(Debug)]
pub struct Opening<'h> {
    handles: &'h Handles,
    ino: u64,
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.handles.closed(self.ino);
    }
}

/// Handle numbers; never reused within a mount. Who opens, writes or reads pays from a [`Budget`] before anything is built
/// ([`Handles::reserve`]); what is held in truth is counted after each call ([`Handles::settle`]).
#[derive(Debug)]
pub struct Handles {
    open: RwLock<HashMap<u64, Arc<Opened>>>,
    /// Handles by inode number, with those that are being opened.
    inodes: Mutex<HashMap<u64, u32>>,
    last: AtomicU64,
    budget: Budget,
    /// What the handles of each user hold, where there may be several.
    users: Option<Mutex<HashMap<u32, Budget>>>,
}

impl Handles {
    /// `is_shared`, whether several users may come.
    #[must_use]
    pub fn new(budget: Budget, is_shared: bool) -> Self {
        let (open, inodes, last, users) = (
            RwLock::default(),
            Mutex::default(),
            AtomicU64::new(0),
            is_shared.then(Mutex::default),
        );
        Self {
            open,
            inodes,
            last,
            budget,
            users,
        }
    }

    fn user(&self, uid: u32) -> Option<Budget> {
        let mut users = self.users.as_ref()?.lock();
        if !users.contains_key(&uid) {
            users.retain(|_, user| user.held() > 0);
        }
        Some(
            users
                .entry(uid)
                .or_insert_with(|| Budget::new(usize::MAX))
                .clone(),
        )
    }

    /// A number for a new handle of an inode, opened at `since_ms`.
    ///
    /// # Errors
    /// `TooManyOpen`.
    pub fn insert(&self, handle: Handle, ino: u64, caller: Caller, since_ms: u64) -> Result<u64> {
        let text_bytes = if let Handle::Text(text) = &handle {
            text.bytes.len()
        } else {
            0
        };
        let mut held = Held {
            user: self.user(caller.uid),
            text_bytes,
            ..Held::default()
        };
        let bytes = HANDLE_COST_BYTES + handle.held_bytes().unwrap_or(0);
        // The text is counted in the budget already, and not yet with its user.
        let may_open = held.may_grow(bytes + text_bytes, &self.budget);
        let counted = if may_open {
            self.budget.resize(&mut held.permit, bytes)
        } else {
            Err(Full)
        };
        counted.map_err(|Full| FsError::TooManyOpen)?;
        held.count_share();
        let opened = Opened {
            handle: Arc::new(handle),
            ino,
            opener: caller.pid,
            since_ms,
            held: Mutex::new(held),
        };
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        *self.inodes.lock().entry(ino).or_default() += 1;
        self.open.write().insert(number, Arc::new(opened));
        Ok(number)
    }

    /// The inode counts as open until the guard is dropped: from before its text is read until its handle is here.
    pub fn opening(&self, ino: u64) -> Opening<'_> {
        *self.inodes.lock().entry(ino).or_default() += 1;
        Opening { handles: self, ino }
    }

    /// Has the inode a handle, or is it being opened?
    #[must_use]
    pub fn is_open(&self, ino: u64) -> bool {
        self.inodes.lock().contains_key(&ino)
    }

    fn closed(&self, ino: u64) {
        let mut inodes = self.inodes.lock();
        if let Some(count) = inodes.get_mut(&ino) {
            *count -= 1;
            if *count == 0 {
                inodes.remove(&ino);
            }
        }
    }

    #[must_use]
    pub fn get(&self, number: u64) -> Option<Arc<Handle>> {
        Some(Arc::clone(&self.opened(number)?.handle))
    }

    /// The handles of an inode, the last one opened first: a shell that opens the same file again asks about that. Looks at every handle.
    fn of_inode(&self, ino: u64) -> Vec<Arc<Opened>> {
        let open = self.open.read();
        let mut all: Vec<_> = open
            .iter()
            .filter(|(_, opened)| opened.ino == ino)
            .collect();
        all.sort_by_key(|(number, _)| std::cmp::Reverse(**number));
        all.into_iter()
            .map(|(_, opened)| Arc::clone(opened))
            .collect()
    }

    /// The handle of this inode that the process of this thread opened last.
    #[must_use]
    pub fn of_process(&self, ino: u64, thread: u32) -> Option<Arc<Handle>> {
        // Which process a thread is of is read from /proc: not under the lock that every call takes.
        let own = self
            .of_inode(ino)
            .into_iter()
            .find(|opened| same_process(opened.opener, thread))?;
        Some(Arc::clone(&own.handle))
    }

    /// The same, else the last that anybody opened; and since when it is open.
    #[must_use]
    pub fn last_of(&self, ino: u64, thread: u32) -> Option<(Arc<Handle>, u64)> {
        let all = self.of_inode(ino);
        let last = all
            .iter()
            .find(|opened| same_process(opened.opener, thread))
            .or_else(|| all.first())?;
        Some((Arc::clone(&last.handle), last.since_ms))
    }

    pub fn remove(&self, number: u64) -> Option<Arc<Handle>> {
        let opened = self.open.write().remove(&number)?;
        self.closed(opened.ino);
        Some(Arc::clone(&opened.handle))
    }

    /// The inode that a handle is of.
    #[must_use]
    pub fn ino(&self, number: u64) -> Option<u64> {
        Some(self.opened(number)?.ino)
    }

    fn opened(&self, number: u64) -> Option<Arc<Opened>> {
        self.open.read().get(&number).cloned()
    }

    /// A call is about to make a handle hold so many bytes more.
    ///
    /// # Errors
    /// `OpenFull`.
    pub fn reserve(&self, number: u64, bytes: usize) -> Result<()> {
        let Some(opened) = self.opened(number) else {
            return Ok(());
        };
        let mut held = opened.held.lock();
        let all = held.permit.bytes().saturating_add(bytes);
        if !held.may_grow(bytes, &self.budget) || self.budget.resize(&mut held.permit, all).is_err()
        {
            return Err(FsError::OpenFull);
        }
        held.count_share();
        Ok(())
    }

    /// The same before a read, of a handle that makes what it gives as it is read.
    ///
    /// # Errors
    /// `ReadFull`.
    pub fn reserve_read(&self, number: u64) -> Result<()> {
        self.reserve(number, READ_AHEAD_BYTES)
            .map_err(|_| FsError::ReadFull)
    }

    /// A call has ended: counts what the handle holds now.
    pub fn settle(&self, number: u64) {
        if let Some(opened) = self.opened(number) {
            let mut held = opened.held.lock();
            // While another call makes it hold more, that call counts when it ends.
            if let Some(bytes) = opened.handle.held_bytes() {
                self.budget
                    .count(&mut held.permit, HANDLE_COST_BYTES + bytes);
                held.count_share();
            }
        }
    }
}

impl Handle {
    /// Bytes that it holds now; a text's own are counted with the text. `None` while a call makes it hold more.
    fn held_bytes(&self) -> Option<usize> {
        match self {
            Self::Text(_) | Self::Scratch(_) => Some(0),
            Self::Computed(open) => open.held_bytes(),
            Self::Directory(stream) => stream.try_lock().map(|stream| stream.held_bytes()),
            Self::Item(open) => Some(open.held_bytes()),
            Self::Special(open) => open.held_bytes(),
        }
    }

    /// Does it make what it gives as it is read, so that reading it makes it hold more?
    #[must_use]
    pub fn reads_ahead(&self) -> bool {
        match self {
            Self::Computed(_) | Self::Directory(_) => true,
            Self::Special(open) => open.reads_ahead(),
            Self::Text(_) | Self::Item(_) | Self::Scratch(_) => false,
        }
    }

    /// Size of the file as this handle sees it, if it sees its own.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Text(text) => Some(text.bytes.len() as u64),
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

    /// Above the largest process id of Linux: of no process, nor a thread of this one.
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
        let budget = Budget::new(1_000_000);
        let handles = Handles::new(budget.clone(), true);
        let open = |uid, ino| {
            handles.insert(
                Handle::Text(Text::new(vec![b'x'; 20_000], &budget)?),
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
        handles.settle(owners[0]);
        assert!(until_refused(7).len() > 10);
    }

    #[test]
    fn memory_of_open_files_is_bounded_and_given_back() {
        let budget = Budget::new(100_000);
        let handles = Handles::new(budget.clone(), false);
        let text = |bytes| Ok::<_, FsError>(Handle::Text(Text::new(vec![b'x'; bytes], &budget)?));
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
        handles.settle(open[1]);
        handles.insert(text(1).unwrap(), 9, caller(0), 7).unwrap();
        let last = |ino, thread| {
            handles
                .last_of(ino, thread)
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
        let handles = Handles::new(Budget::new(10 * HANDLE_COST_BYTES), false);
        let open: Vec<_> = (0..11)
            .map(|ino| handles.insert(Handle::Text(Arc::default()), ino, caller(0), 0))
            .collect();
        assert_eq!(
            (open[9].is_ok(), open[10].clone()),
            (true, Err(FsError::TooManyOpen))
        );
    }
}
