//! Special files between CREATE and their first complete text: until then the handle is all that
//! there is of the file. Items have [`crate::fs::open::host::creations`].

use crate::fs::open::{prelude::*, text::SpecialHandle};

/// The handle of a file that a CREATE made, and the time of the CREATE in milliseconds since the
/// epoch.
type CreatedHandle = (Arc<dyn SpecialHandle>, u64);

/// The created handles by inode number.
#[derive(Debug, Default)]
pub struct SpecialCreations(Mutex<HashMap<u64, CreatedHandle>>);

impl SpecialCreations {
    /// Notes the handle of a created file.
    pub fn add(&self, ino: u64, handle: Arc<dyn SpecialHandle>) {
        self.0.lock().insert(ino, (handle, now_ms()));
    }

    /// Forgets a handle that is closed.
    pub fn remove(&self, handle: &Arc<dyn SpecialHandle>) {
        self.0
            .lock()
            .retain(|_, (open, _)| !Arc::ptr_eq(open, handle));
    }

    /// Returns the attributes of a file that is being created.
    pub fn attr(&self, ino: u64) -> Option<Attr> {
        let (handle, since_ms) = self.0.lock().get(&ino)?.clone();
        Some(Attr::file(handle.size().unwrap_or(0), since_ms).with_ino(ino))
    }
}
