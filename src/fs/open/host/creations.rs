//! Items that are being created: between CREATE and their first complete text, or the close without
//! one that makes an item of nothing but the key. Such an item does not exist yet, for any other
//! front end and in any listing; but programs stat the file that they have just created. O_EXCL and
//! mknod make the item exist. Special files have `view/creations.rs`.

use crate::fs::{node::attr::Attr, open::open_text::OpenText, prelude::*, write::ItemTarget};

#[derive(Debug)]
struct Creation {
    handles: Vec<Arc<OpenText<ItemTarget>>>,
    since_ms: u64,
}

/// The open handles, by inode number, of files that did not exist when they were opened.
#[derive(Debug, Default)]
pub struct Creations {
    by_ino: Mutex<HashMap<u64, Creation>>,
    /// The versions of items that an open or mknod made of nothing but the key: the next open finds
    /// an empty file.
    empty: Mutex<TtlMap<u64, Version, EMPTY_MAX, EMPTY_MS>>,
    /// Processes that copy files.
    copying: Mutex<TtlMap<u32, CopyProgress, COPYING_MAX, COPY_PAUSE_MS>>,
}

/// The files that a process made with O_EXCL, wrote and closed, one after the other.
#[derive(Debug, Default)]
struct CopyProgress {
    files: u32,
    is_open: bool,
}

/// The files from which on a process counts as copying.
const COPIED_MIN: u32 = 2;
/// The pause that ends a copy, milliseconds.
const COPY_PAUSE_MS: u64 = 2_000;
const COPYING_MAX: usize = 1_000;

/// The time for which a file that was made without a text is opened as an empty one.
const EMPTY_MS: u64 = 5_000;
const EMPTY_MAX: usize = 1_000;

impl Creations {
    /// Notes that a file was created through this handle.
    pub fn add(&self, handle: Arc<OpenText<ItemTarget>>) {
        let (mut by_ino, ino) = (self.by_ino.lock(), handle.ino);
        match unstored(&mut by_ino, ino) {
            Some(creation) => creation.handles.push(handle),
            None => drop(by_ino.insert(
                ino,
                Creation {
                    handles: vec![handle],
                    since_ms: now_ms(),
                },
            )),
        }
    }

    /// Notes that a file was made empty, as an item of that version.
    pub fn mark_empty(&self, ino: u64, version: Version) {
        self.empty.lock().insert(ino, version, now_ms());
    }

    /// True if the item of that version was made as an empty file just now.
    pub fn is_empty(&self, ino: u64, version: Version) -> bool {
        self.empty.lock().get(&ino, now_ms()) == Some(&version)
    }

    /// Notes that a process makes a file with O_EXCL. Returns true if it is copying: it made, wrote
    /// and closed files so before, each before the next.
    pub fn begin_copy(&self, process: u32) -> bool {
        let mut copying = self.copying.lock();
        let progress = copying.or_default(process, now_ms());
        if progress.is_open {
            progress.files = 0;
        }
        progress.is_open = true;
        progress.files >= COPIED_MIN
    }

    /// Notes that a process closed a file with its text.
    pub fn end_copy(&self, process: u32) {
        if let Some(progress) = self.copying.lock().touch(&process, now_ms())
            && progress.is_open
        {
            (progress.is_open, progress.files) = (false, progress.files + 1);
        }
    }

    /// True if this is the only handle of a created file, and nothing was written to it.
    pub fn is_untouched(&self, handle: &Arc<OpenText<ItemTarget>>) -> bool {
        match unstored(&mut self.by_ino.lock(), handle.ino)
            .map(|creation| creation.handles.as_slice())
        {
            Some([only]) => Arc::ptr_eq(only, handle) && only.state.lock().writer.is_untouched(),
            _ => false,
        }
    }

    /// Forgets a file because its name was unlinked. Returns true if there was such a file.
    pub fn remove_unlinked(&self, ino: u64) -> bool {
        let mut by_ino = self.by_ino.lock();
        unstored(&mut by_ino, ino).is_some() && by_ino.remove(&ino).is_some()
    }

    /// Forgets the files of a folder that was removed, as if each had been unlinked.
    pub fn remove_folder(&self, holds: impl Fn(&ItemTarget) -> bool) {
        let is_held = |creation: &Creation| {
            creation
                .handles
                .last()
                .is_some_and(|last| holds(last.state.lock().writer.target()))
        };
        self.by_ino.lock().retain(|_, creation| !is_held(creation));
    }

    /// Forgets a handle that is closed.
    pub fn remove(&self, handle: &Arc<OpenText<ItemTarget>>) {
        let mut by_ino = self.by_ino.lock();
        if let Some(creation) = by_ino.get_mut(&handle.ino) {
            creation.handles.retain(|open| !Arc::ptr_eq(open, handle));
            if creation.handles.is_empty() {
                by_ino.remove(&handle.ino);
            }
        }
    }

    /// Returns a handle of that file.
    pub fn get(&self, ino: u64) -> Option<Arc<OpenText<ItemTarget>>> {
        unstored(&mut self.by_ino.lock(), ino)?
            .handles
            .last()
            .cloned()
    }

    /// Returns the attributes of a file that is being created.
    pub fn attr(&self, ino: u64) -> Option<Attr> {
        let mut by_ino = self.by_ino.lock();
        let creation = unstored(&mut by_ino, ino)?;
        let size = creation.handles.last()?.state.lock().writer.len() as u64;
        Some(Attr::file(size, creation.since_ms).with_ino(ino))
    }
}

/// Returns a file that is being created, without the handles that have stored something: through
/// them it is an item.
fn unstored(by_ino: &mut HashMap<u64, Creation>, ino: u64) -> Option<&mut Creation> {
    let creation = by_ino.get_mut(&ino)?;
    creation
        .handles
        .retain(|handle| !handle.state.lock().writer.has_stored());
    if creation.handles.is_empty() {
        by_ino.remove(&ino);
    }
    by_ino.get_mut(&ino)
}
