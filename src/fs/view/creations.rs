//! Names between create and their first complete text. The item does not exist yet, to no other front end and to no listing; but
//! programs stat what they have just created.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::fs::node::attr::Attr;
use crate::fs::open::special::OpenSpecial;
use crate::fs::open::text::OpenText;
use crate::fs::time::now_ms;
use crate::fs::write::ItemTarget;

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
    /// Files made without being opened, the oldest first; they go when they are opened, or after a while.
    promised: Mutex<VecDeque<(Instant, Arc<OpenText<ItemTarget>>)>>,
}

/// How long a file that was made without being opened is there.
const PROMISE: Duration = Duration::from_secs(5);
const PROMISES_MAX: usize = 1_000;

impl Creations {
    /// A file was created through this handle.
    pub fn add(&self, handle: Arc<OpenText<ItemTarget>>) {
        self.end_promises(|promised| promised.ino == handle.ino);
        let mut by_ino = self.by_ino.lock();
        let creation = by_ino.entry(handle.ino).or_insert_with(|| Creation { handles: Vec::new(), since_ms: now_ms() });
        creation.handles.push(handle);
    }

    /// The file was made without being opened.
    pub fn promise(&self, handle: &Arc<OpenText<ItemTarget>>) {
        let mut promised = self.promised.lock();
        promised.push_back((Instant::now(), Arc::clone(handle)));
        let oldest = if promised.len() > PROMISES_MAX { promised.pop_front() } else { None };
        // The lock order is promised, then by_ino, one at a time: remove() takes the second.
        drop(promised);
        if let Some((_, oldest)) = oldest {
            self.remove(&oldest);
        }
    }

    fn end_promises(&self, is_over: impl Fn(&OpenText<ItemTarget>) -> bool) {
        let mut ended = Vec::new();
        self.promised.lock().retain(|(since, handle)| {
            let ends = is_over(handle) || since.elapsed() > PROMISE;
            if ends {
                ended.push(Arc::clone(handle));
            }
            !ends
        });
        for handle in ended {
            self.remove(&handle);
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
        self.end_promises(|_| false);
        let (handle, since_ms) = {
            let by_ino = self.by_ino.lock();
            let Some(creation) = by_ino.get(&ino) else {
                drop(by_ino);
                return self.special_attr(ino);
            };
            (creation.handles.last()?.clone(), creation.since_ms)
        };
        let size = handle.state.lock().writer.len() as u64;
        Some(Attr::file(ino, size, since_ms))
    }

    fn special_attr(&self, ino: u64) -> Option<Attr> {
        let (handle, since_ms) = self.special.lock().get(&ino)?.clone();
        Some(Attr::file(ino, handle.size().unwrap_or(0), since_ms))
    }
}
