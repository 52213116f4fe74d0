//! Names between create and their first complete text, or the close without one that makes an item of nothing but the key. The item does not
//! exist yet, to no other front end and to no listing; but programs stat what they have just created. What O_EXCL and mknod make exists.

use crate::fs::open::prelude::*;
use crate::fs::{open::special::OpenSpecial, write::ItemTarget};

#[derive(Debug)]
struct Creation {
    handles: Vec<Arc<OpenText<ItemTarget>>>,
    since_ms: u64,
}

/// A handle, and when its file was created, milliseconds since the epoch.
type Special = (Arc<dyn OpenSpecial>, u64);

/// Open handles by inode number, of files that did not exist when they were opened.
#[derive(Debug, Default)]
pub struct Creations {
    by_ino: Mutex<HashMap<u64, Creation>>,
    /// Files of a kind of their own.
    special: Mutex<HashMap<u64, Special>>,
    /// Versions of items that a file's opening, or mknod, made of nothing but the key: whoever opens one next finds an empty file.
    empty: Mutex<Recent<u64, Version, EMPTY_MAX, EMPTY_MS>>,
}

/// How long a file that was made without a text is empty to who opens it.
const EMPTY_MS: u64 = 5_000;
const EMPTY_MAX: usize = 1_000;

impl Creations {
    /// A file was created through this handle.
    pub fn add(&self, handle: Arc<OpenText<ItemTarget>>) {
        let mut by_ino = self.by_ino.lock();
        let creation = by_ino.entry(handle.ino).or_insert_with(|| Creation { handles: Vec::new(), since_ms: now_ms() });
        creation.handles.push(handle);
    }

    /// The file was made, as an item of that version.
    pub fn made_empty(&self, ino: u64, version: Version) {
        self.empty.lock().keep(ino, version, now_ms());
    }

    /// Was the item of that version made as an empty file just now?
    pub fn is_empty(&self, ino: u64, version: Version) -> bool {
        self.empty.lock().get(&ino, now_ms()) == Some(&version)
    }

    /// Is this the only handle of a created file, and nothing written to it?
    pub fn is_untouched(&self, handle: &Arc<OpenText<ItemTarget>>) -> bool {
        let is_only = self.by_ino.lock().get(&handle.ino).is_some_and(|creation| match creation.handles.as_slice() {
            [only] => Arc::ptr_eq(only, handle),
            _ => false,
        });
        is_only && handle.state.lock().writer.is_untouched()
    }

    /// The name was unlinked; was there such a file?
    pub fn unlinked(&self, ino: u64) -> bool {
        self.by_ino.lock().remove(&ino).is_some()
    }

    /// A folder was removed, and with it the names of those items: as if each had been unlinked.
    pub fn folder_removed(&self, holds: impl Fn(&ItemTarget) -> bool) {
        let last = |(ino, creation): (&u64, &Creation)| Some((*ino, Arc::clone(creation.handles.last()?)));
        let all: Vec<_> = self.by_ino.lock().iter().filter_map(last).collect();
        for (ino, _) in all.iter().filter(|(_, handle)| holds(handle.state.lock().writer.target())) {
            self.unlinked(*ino);
        }
    }

    /// The handle is closed.
    pub fn remove(&self, handle: &Arc<OpenText<ItemTarget>>) {
        let mut by_ino = self.by_ino.lock();
        if let Some(creation) = by_ino.get_mut(&handle.ino) {
            creation.handles.retain(|open| !Arc::ptr_eq(open, handle));
            if creation.handles.is_empty() {
                by_ino.remove(&handle.ino);
            }
        }
    }

    /// A file of a kind of its own was created through this handle.
    pub fn add_special(&self, ino: u64, handle: Arc<dyn OpenSpecial>) {
        self.special.lock().insert(ino, (handle, now_ms()));
    }

    /// The handle is closed.
    pub fn remove_special(&self, handle: &Arc<dyn OpenSpecial>) {
        self.special.lock().retain(|_, (open, _)| !Arc::ptr_eq(open, handle));
    }

    /// A handle of that file.
    pub fn get(&self, ino: u64) -> Option<Arc<OpenText<ItemTarget>>> {
        self.by_ino.lock().get(&ino)?.handles.last().cloned()
    }

    /// Attributes of a file that is being created.
    pub fn attr(&self, ino: u64) -> Option<Attr> {
        let (handle, since_ms) = {
            let by_ino = self.by_ino.lock();
            let Some(creation) = by_ino.get(&ino) else {
                drop(by_ino);
                return self.special_attr(ino);
            };
            (creation.handles.last()?.clone(), creation.since_ms)
        };
        let size = handle.state.lock().writer.len() as u64;
        Some(Attr::file(size, since_ms).of(ino))
    }

    fn special_attr(&self, ino: u64) -> Option<Attr> {
        let (handle, since_ms) = self.special.lock().get(&ino)?.clone();
        Some(Attr::file(handle.size().unwrap_or(0), since_ms).of(ino))
    }
}
