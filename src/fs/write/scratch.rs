//! Scratch files: the files that editors and shells write next to items (`.o1.json.swp`, `sedAb12`,
//! `o1.json.bak`), in bounded memory until renamed onto an item's name or idle for an hour
//! (docs/filesystem.md 4).
//!
//! Memory of all files, unlinked but open ones included, is counted when it is allocated and when it
//! is freed.

#![expect(
    clippy::cast_possible_truncation,
    reason = "offsets in memory, and memory is addressed by 64 bits"
)]

use std::hash::Hash;

use crate::fs::prelude::*;
use crate::store::memory_limit::limit_share;
use std::collections::BTreeMap;

/// The largest file, bytes.
pub const SCRATCH_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// The most that all files hold together if memory allows: their content, and `FILE_COST_BYTES`
/// each.
pub const SCRATCH_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The divisor of the memory limit that bounds all files; a file of the largest size has room.
const LIMIT_PARTS: u64 = 32;
/// The time after which a closed file that was not used is dropped, milliseconds.
pub const IDLE_MS_MAX: u64 = 60 * 60 * 1000;

const PAGE_BYTES: usize = 4096;
/// The cost of a file without its content: its name, its entries in the tables.
const FILE_COST_BYTES: u64 = 512;

/// Returns the most bytes that all files together may hold.
#[must_use]
pub fn scratch_bytes_max() -> u64 {
    limit_share(SCRATCH_BYTES_MAX, LIMIT_PARTS)
}

/// A scratch file, by an id that stays when it is renamed. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u64);

/// The attributes of a scratch file for stat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScratchAttributes {
    pub size: u64,
    /// Permission bits as last set.
    pub mode: u32,
    /// Milliseconds since the epoch.
    pub modified_ms: u64,
    /// True if it has a name.
    pub linked: bool,
}

/// All scratch files, by directory identity `D` and name. Times are milliseconds since the epoch.
#[derive(Debug)]
pub struct ScratchFiles<D> {
    ids: HashMap<Arc<D>, BTreeMap<Arc<str>, FileId>>,
    files: HashMap<FileId, ScratchFile<D>>,
    used_bytes: u64,
    last_id: u64,
}

#[derive(Debug)]
struct ScratchFile<D> {
    /// `None` once unlinked.
    location: Option<(Arc<D>, Arc<str>)>,
    /// The bytes as far as they were written. The rest up to `size` is zeros.
    content: Vec<u8>,
    size: u64,
    mode: u32,
    modified_ms: u64,
    used_ms: u64,
    handles: u32,
}

/// A file with its directory and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedFile<D> {
    pub directory: Arc<D>,
    pub name: Arc<str>,
    pub id: FileId,
}

impl<D> Default for ScratchFiles<D> {
    fn default() -> Self {
        Self {
            ids: HashMap::new(),
            files: HashMap::new(),
            used_bytes: 0,
            last_id: 0,
        }
    }
}

impl<D: Eq + Hash + Clone> ScratchFiles<D> {
    /// Makes a new empty file, not open yet.
    ///
    /// # Errors
    /// `Exists` if the name is taken; `ScratchFull` if memory is.
    pub fn create(
        &mut self,
        directory: D,
        name: &str,
        mode: u32,
        now_ms: u64,
    ) -> Result<FileId, FsError> {
        if self.find(&directory, name).is_some() {
            return Err(FsError::Exists);
        }
        let id = self.make_unlinked(mode, now_ms)?;
        self.link(id, directory, name);
        Ok(id)
    }

    /// Makes a new file with this content, over one of that name if there is one: the text of an
    /// item renamed to a scratch name.
    ///
    /// # Errors
    /// `ScratchFull` beyond the limits; then nothing has changed.
    pub fn create_with(
        &mut self,
        directory: D,
        name: &str,
        content: &[u8],
        now_ms: u64,
    ) -> Result<FileId, FsError> {
        // Made without a name and moved into place, so that a failure leaves the old file.
        let id = self.make_unlinked(0o644, now_ms)?;
        if let Err(error) = self.write(id, 0, content, now_ms) {
            self.drop_if_unused(id);
            return Err(error);
        }
        self.link(id, directory, name);
        Ok(id)
    }

    /// Makes a file without a name.
    fn make_unlinked(&mut self, mode: u32, now_ms: u64) -> Result<FileId, FsError> {
        self.charge(FILE_COST_BYTES)?;
        self.last_id += 1;
        let id = FileId(self.last_id);
        self.files.insert(id, ScratchFile::new(mode, now_ms));
        Ok(id)
    }

    /// Returns the file of that name.
    #[must_use]
    pub fn find(&self, directory: &D, name: &str) -> Option<FileId> {
        self.ids.get(directory)?.get(name).copied()
    }

    /// Returns the names and files of a directory, by name.
    pub fn list(&self, directory: &D) -> impl Iterator<Item = (&str, FileId)> {
        self.ids
            .get(directory)
            .into_iter()
            .flatten()
            .map(|(name, id)| (&**name, *id))
    }

    /// Returns all files that have a name.
    #[must_use]
    pub fn all_named(&self) -> Vec<PlacedFile<D>> {
        let of = |(directory, names): (&Arc<D>, &BTreeMap<Arc<str>, FileId>)| {
            let directory = Arc::clone(directory);
            let placed = |(name, id): (&Arc<str>, &FileId)| PlacedFile {
                directory: Arc::clone(&directory),
                name: Arc::clone(name),
                id: *id,
            };
            names.iter().map(placed).collect::<Vec<_>>()
        };
        self.ids.iter().flat_map(of).collect()
    }

    /// Returns the directories that have files.
    #[must_use]
    pub fn directories(&self) -> Vec<Arc<D>> {
        self.ids.keys().cloned().collect()
    }

    /// Returns the directory and name of a file that still has one.
    #[must_use]
    pub fn location(&self, id: FileId) -> Option<(&D, &str)> {
        self.files
            .get(&id)?
            .location
            .as_ref()
            .map(|(directory, name)| (&**directory, &**name))
    }

    /// Adds a handle; it keeps the data of an unlinked file.
    ///
    /// # Errors
    /// `NotFound` if there is no such file.
    pub fn open(&mut self, id: FileId, now_ms: u64) -> Result<(), FsError> {
        let file = self.file(id)?;
        file.handles += 1;
        file.used_ms = now_ms;
        Ok(())
    }

    /// Releases a handle.
    pub fn release(&mut self, id: FileId, now_ms: u64) {
        let file = self.file(id);
        debug_assert!(
            file.as_ref().is_ok_and(|file| file.handles > 0),
            "a handle is released once"
        );
        if let Ok(file) = file {
            file.handles = file.handles.saturating_sub(1);
            file.used_ms = now_ms;
        }
        self.drop_if_unused(id);
    }

    /// Returns the attributes of a file.
    ///
    /// # Errors
    /// `NotFound` if there is no such file.
    pub fn attributes(&self, id: FileId) -> Result<ScratchAttributes, FsError> {
        let file = self.files.get(&id).ok_or(FsError::NotFound)?;
        Ok(ScratchAttributes {
            size: file.size,
            mode: file.mode,
            modified_ms: file.modified_ms,
            linked: file.location.is_some(),
        })
    }

    /// Sets attributes: chmod, utimens. `None` leaves one as it is.
    ///
    /// # Errors
    /// `NotFound` if there is no such file.
    pub fn set_attributes(
        &mut self,
        id: FileId,
        mode: Option<u32>,
        modified_ms: Option<u64>,
    ) -> Result<(), FsError> {
        let file = self.file(id)?;
        file.mode = mode.unwrap_or(file.mode);
        file.modified_ms = modified_ms.unwrap_or(file.modified_ms);
        Ok(())
    }

    /// Reads up to `size` bytes from `offset`; fewer at the end of the file.
    ///
    /// # Errors
    /// `NotFound` if there is no such file.
    pub fn read(
        &mut self,
        id: FileId,
        offset: u64,
        size: usize,
        now_ms: u64,
    ) -> Result<Vec<u8>, FsError> {
        let file = self.file(id)?;
        file.used_ms = now_ms;
        Ok(file.read(offset, size))
    }

    /// Returns the whole content.
    ///
    /// # Errors
    /// `NotFound` if there is no such file.
    pub fn content(&self, id: FileId) -> Result<Vec<u8>, FsError> {
        let file = self.files.get(&id).ok_or(FsError::NotFound)?;
        Ok(file.read(0, usize::MAX))
    }

    /// Writes all of `data` at `offset`, or nothing.
    ///
    /// # Errors
    /// `NotFound` if there is no such file; `ScratchFull` beyond the limits.
    pub fn write(
        &mut self,
        id: FileId,
        offset: u64,
        data: &[u8],
        now_ms: u64,
    ) -> Result<(), FsError> {
        let end = offset
            .checked_add(data.len() as u64)
            .filter(|&end| end <= SCRATCH_FILE_BYTES_MAX);
        let end = end.ok_or(FsError::ScratchFull)?;
        let file = self.file(id)?;
        let before = file.content.capacity();
        let needed = match data {
            [] => before,
            _ => grown_capacity(before, end as usize),
        };
        self.charge((needed - before) as u64)?;
        let file = self.file(id)?;
        if !data.is_empty() {
            let content = &mut file.content;
            content.reserve_exact(needed - content.len());
            content.resize(content.len().max(end as usize), 0);
            content[offset as usize..end as usize].copy_from_slice(data);
            file.size = file.size.max(end);
        }
        file.modified_ms = now_ms;
        file.used_ms = now_ms;
        Ok(())
    }

    /// Cuts off the file or adds zeros.
    ///
    /// # Errors
    /// `NotFound` if there is no such file; `ScratchFull` beyond the limits.
    pub fn truncate(&mut self, id: FileId, size: u64, now_ms: u64) -> Result<(), FsError> {
        if size > SCRATCH_FILE_BYTES_MAX {
            return Err(FsError::ScratchFull);
        }
        let file = self.file(id)?;
        let before = file.content.capacity();
        file.size = size;
        file.content.truncate(size as usize);
        file.content.shrink_to_fit();
        let freed = before - file.content.capacity();
        file.modified_ms = now_ms;
        file.used_ms = now_ms;
        self.used_bytes -= freed as u64;
        Ok(())
    }

    /// Renames a file to another scratch name: rename(2). A file of that name is replaced.
    ///
    /// # Errors
    /// `NotFound` if there is no such file, or it is unlinked.
    pub fn rename(&mut self, id: FileId, to: D, to_name: &str, now_ms: u64) -> Result<(), FsError> {
        let file = self.file(id)?;
        file.used_ms = now_ms;
        let (directory, name) = file.location.clone().ok_or(FsError::NotFound)?;
        if (&*directory, &*name) != (&to, to_name) {
            self.unlink(&directory, &name);
            self.link(id, to, to_name);
        }
        Ok(())
    }

    /// Unlinks a file: unlink(2). Open handles keep the data.
    ///
    /// # Errors
    /// `NotFound` if there is no such file, or it is unlinked.
    pub fn remove(&mut self, id: FileId) -> Result<(), FsError> {
        let (directory, name) = self.file(id)?.location.clone().ok_or(FsError::NotFound)?;
        self.unlink(&directory, &name);
        self.drop_if_unused(id);
        Ok(())
    }

    /// Removes a file with content that is kept elsewhere, unless it was changed or is open. True
    /// if its name is free now.
    pub fn remove_if_same(&mut self, id: FileId, content: &[u8]) -> bool {
        let is_open = self.files.get(&id).is_none_or(|file| file.handles > 0);
        !is_open && self.content(id).is_ok_and(|text| text == content) && self.remove(id).is_ok()
    }

    /// Removes a directory with its files. Open handles keep their data.
    pub fn remove_directory(&mut self, directory: &D) {
        for id in self
            .ids
            .get(directory)
            .into_iter()
            .flatten()
            .map(|(_, id)| *id)
            .collect::<Vec<_>>()
        {
            let removed = self.remove(id);
            debug_assert!(removed.is_ok(), "a file in a directory has a name");
        }
    }

    /// Gives a directory another identity.
    pub fn move_directory(&mut self, from: &D, to: &D) {
        for (name, id) in self.ids.remove(from).unwrap_or_default() {
            self.link(id, to.clone(), &name);
        }
    }

    /// Drops files that are not open and were not used for [`IDLE_MS_MAX`]; returns their places.
    pub fn expire(&mut self, now_ms: u64) -> Vec<PlacedFile<D>> {
        let idle = |file: &ScratchFile<D>| {
            file.handles == 0 && now_ms.saturating_sub(file.used_ms) >= IDLE_MS_MAX
        };
        let files = self.files.iter().filter(|(_, file)| idle(file));
        let placed = files.filter_map(|(id, file)| {
            let (directory, name) = file.location.clone()?;
            Some(PlacedFile {
                directory,
                name,
                id: *id,
            })
        });
        let placed: Vec<_> = placed.collect();
        for file in &placed {
            let removed = self.remove(file.id);
            debug_assert!(removed.is_ok(), "an idle file has a name");
        }
        placed
    }

    /// Returns the memory counted against [`scratch_bytes_max`].
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    fn file(&mut self, id: FileId) -> Result<&mut ScratchFile<D>, FsError> {
        self.files.get_mut(&id).ok_or(FsError::NotFound)
    }

    fn charge(&mut self, bytes: u64) -> Result<(), FsError> {
        if self.used_bytes + bytes > scratch_bytes_max() {
            return Err(FsError::ScratchFull);
        }
        self.used_bytes += bytes;
        Ok(())
    }

    /// Gives this name to a file without one, over the file that had it.
    fn link(&mut self, id: FileId, directory: D, name: &str) {
        if let Some(old) = self.unlink(&directory, name) {
            self.drop_if_unused(old);
        }
        // The files of a directory share one `Arc` of it.
        let directory = self
            .ids
            .get_key_value(&directory)
            .map_or_else(|| Arc::new(directory), |(shared, _)| Arc::clone(shared));
        let name: Arc<str> = Arc::from(name);
        let file = self.files.get_mut(&id);
        debug_assert!(file.is_some(), "a name stands for a file");
        if let Some(file) = file {
            file.location = Some((Arc::clone(&directory), Arc::clone(&name)));
        }
        self.ids.entry(directory).or_default().insert(name, id);
    }

    /// Removes a name; returns the file that had it.
    fn unlink(&mut self, directory: &D, name: &str) -> Option<FileId> {
        let names = self.ids.get_mut(directory)?;
        let id = names.remove(name)?;
        if names.is_empty() {
            self.ids.remove(directory);
        }
        let file = self.files.get_mut(&id);
        debug_assert!(file.is_some(), "a name stands for a file");
        if let Some(file) = file {
            file.location = None;
        }
        Some(id)
    }

    fn drop_if_unused(&mut self, id: FileId) {
        if self
            .files
            .get(&id)
            .is_some_and(|file| file.location.is_none() && file.handles == 0)
            && let Some(file) = self.files.remove(&id)
        {
            self.used_bytes -= FILE_COST_BYTES + file.content.capacity() as u64;
        }
    }
}

impl<D> ScratchFile<D> {
    fn new(mode: u32, now_ms: u64) -> Self {
        Self {
            location: None,
            content: Vec::new(),
            size: 0,
            mode,
            modified_ms: now_ms,
            used_ms: now_ms,
            handles: 0,
        }
    }

    fn read(&self, offset: u64, size: usize) -> Vec<u8> {
        let start = offset.min(self.size);
        let end = start.saturating_add(size as u64).min(self.size);
        let written = self.content.len() as u64;
        let mut out = self.content[start.min(written) as usize..end.min(written) as usize].to_vec();
        out.resize((end - start) as usize, 0);
        out
    }
}

/// Returns the capacity for `end` bytes: no more than the first write needs, then by doubling, then
/// by an eighth.
fn grown_capacity(capacity: usize, end: usize) -> usize {
    match capacity {
        capacity if capacity >= end => capacity,
        0 => end,
        capacity => end.max(capacity + capacity.min(PAGE_BYTES).max(capacity / 8)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn files() -> ScratchFiles<&'static str> {
        ScratchFiles::default()
    }

    #[test]
    fn names_and_handles() {
        let mut scratch = files();
        let a = scratch.create("d", ".a", 0o600, 5).unwrap();
        assert_eq!(scratch.create("d", ".a", 0o600, 5), Err(FsError::Exists));
        scratch.write(a, 0, b"hello", 6).unwrap();
        assert_eq!(
            scratch.attributes(a),
            Ok(ScratchAttributes {
                size: 5,
                mode: 0o600,
                modified_ms: 6,
                linked: true
            })
        );
        let b = scratch.create("e", "b", 0o644, 7).unwrap();
        scratch.open(b, 7).unwrap();
        scratch.write(b, 0, b"old", 7).unwrap();
        scratch.rename(a, "e", "b", 8).unwrap();
        assert_eq!(scratch.find(&"d", ".a"), None);
        assert_eq!(scratch.find(&"e", "b"), Some(a));
        assert_eq!(scratch.location(a), Some((&"e", "b")));
        assert_eq!(
            scratch.content(b),
            Ok(b"old".to_vec()),
            "an open handle keeps the data"
        );
        scratch.release(b, 9);
        assert_eq!(scratch.content(b), Err(FsError::NotFound));
        assert_eq!(scratch.list(&"e").collect::<Vec<_>>(), [("b", a)]);
        scratch.remove(a).unwrap();
        assert_eq!(scratch.remove(a), Err(FsError::NotFound));
        assert_eq!(scratch.used_bytes(), 0);
    }

    #[test]
    fn renaming_onto_itself_keeps_the_file() {
        let mut scratch = files();
        let a = scratch.create("d", "a", 0o600, 0).unwrap();
        scratch.rename(a, "d", "a", 0).unwrap();
        assert_eq!(scratch.find(&"d", "a"), Some(a));
    }

    #[test]
    fn files_follow_their_directory() {
        let mut scratch = files();
        let a = scratch.create("d", "a", 0o600, 0).unwrap();
        scratch.move_directory(&"d", &"e");
        assert_eq!(
            (
                scratch.find(&"d", "a"),
                scratch.find(&"e", "a"),
                scratch.location(a)
            ),
            (None, Some(a), Some((&"e", "a")))
        );
        scratch.open(a, 0).unwrap();
        scratch.write(a, 0, b"x", 0).unwrap();
        scratch.remove_directory(&"e");
        assert_eq!(
            (scratch.find(&"e", "a"), scratch.content(a)),
            (None, Ok(b"x".to_vec())),
            "an open handle keeps the data"
        );
        scratch.release(a, 0);
        assert_eq!((scratch.used_bytes(), scratch.directories().len()), (0, 0));
    }

    #[test]
    fn a_small_file_costs_its_bytes_and_a_little() {
        let mut scratch = files();
        for number in 0..10_000 {
            let id = scratch
                .create("d", &format!("f{number}"), 0o600, 0)
                .unwrap();
            scratch.write(id, 0, &[b'x'; 100], 0).unwrap();
        }
        assert_eq!(scratch.used_bytes(), 10_000 * (100 + FILE_COST_BYTES));
        let id = scratch.create("d", "grows", 0o600, 0).unwrap();
        for at in 0..10_000 {
            scratch.write(id, at, b"x", 0).unwrap();
        }
        assert_eq!(scratch.content(id), Ok(vec![b'x'; 10_000]));
        scratch.remove_directory(&"d");
        assert_eq!(scratch.used_bytes(), 0);
    }

    #[test]
    fn what_is_kept_elsewhere_goes_unless_it_was_changed_or_is_open() {
        let mut scratch = files();
        let a = scratch.create_with("d", "a", b"text", 0).unwrap();
        assert!(!scratch.remove_if_same(a, b"other"));
        scratch.open(a, 0).unwrap();
        assert!(!scratch.remove_if_same(a, b"text"));
        scratch.release(a, 0);
        assert!(scratch.remove_if_same(a, b"text"));
        assert!(!scratch.remove_if_same(a, b"text") && scratch.find(&"d", "a").is_none());
    }

    #[test]
    fn limits() {
        let mut scratch = files();
        let a = scratch.create("d", "a", 0o600, 0).unwrap();
        assert_eq!(
            scratch.write(a, SCRATCH_FILE_BYTES_MAX, b"x", 0),
            Err(FsError::ScratchFull)
        );
        assert_eq!(
            scratch.write(a, u64::MAX, b"x", 0),
            Err(FsError::ScratchFull)
        );
        assert_eq!(
            scratch.truncate(a, SCRATCH_FILE_BYTES_MAX + 1, 0),
            Err(FsError::ScratchFull)
        );
        let block = vec![1; SCRATCH_FILE_BYTES_MAX as usize];
        for n in 0..7 {
            let id = scratch.create("d", &format!("f{n}"), 0o600, 0).unwrap();
            scratch.write(id, 0, &block, 0).unwrap();
        }
        assert_eq!(
            scratch.create_with("d", "f0", &block, 0),
            Err(FsError::ScratchFull)
        );
        assert!(
            scratch.find(&"d", "f0").is_some(),
            "a failure leaves the old file"
        );
        let last = scratch.find(&"d", "f6").unwrap();
        scratch.remove(last).unwrap();
        let used = scratch.used_bytes();
        scratch.create_with("d", "f0", &block, 0).unwrap();
        assert_eq!(scratch.used_bytes(), used);
        for n in 0.. {
            if let Err(error) = scratch.create("d", &format!("g{n}"), 0o600, 0) {
                assert_eq!(error, FsError::ScratchFull, "names are bounded too");
                break;
            }
        }
    }

    #[test]
    fn idle_files_go_open_ones_stay() {
        let mut scratch = files();
        let a = scratch.create("d", "a", 0o600, 0).unwrap();
        let b = scratch.create("d", "b", 0o600, 10).unwrap();
        let ids = |placed: Vec<PlacedFile<&'static str>>| {
            placed.iter().map(|file| file.id).collect::<Vec<_>>()
        };
        scratch.open(a, 0).unwrap();
        assert!(scratch.expire(IDLE_MS_MAX).is_empty());
        assert_eq!(ids(scratch.expire(IDLE_MS_MAX + 10)), [b]);
        scratch.release(a, IDLE_MS_MAX);
        assert_eq!(ids(scratch.expire(2 * IDLE_MS_MAX)), [a]);
        assert_eq!(scratch.used_bytes(), 0);
    }

    #[derive(Debug, Clone)]
    enum Operation {
        Write(u64, Vec<u8>),
        Read(u64, usize),
        Truncate(u64),
    }

    fn any_operation() -> impl Strategy<Value = Operation> {
        let offset = || {
            prop_oneof![
                0..20_000u64,
                (0..5u64).prop_map(|page| page * PAGE_BYTES as u64)
            ]
        };
        prop_oneof![
            (offset(), 1..=255u8, 0..9_000usize)
                .prop_map(|(at, byte, length)| Operation::Write(at, vec![byte; length])),
            (offset(), 0..9_000usize).prop_map(|(at, size)| Operation::Read(at, size)),
            offset().prop_map(Operation::Truncate),
        ]
    }

    proptest! {
        #[test]
        fn a_file_is_a_vector_of_bytes(operations in prop::collection::vec(any_operation(), 1..30)) {
            let mut scratch = files();
            let id = scratch.create("d", "a", 0o600, 0).unwrap();
            let mut model: Vec<u8> = Vec::new();
            for operation in operations {
                match operation {
                    Operation::Write(at, data) => {
                        scratch.write(id, at, &data, 0).unwrap();
                        let end = at as usize + data.len();
                        if !data.is_empty() && model.len() < end {
                            model.resize(end, 0);
                        }
                        if !data.is_empty() {
                            model[at as usize..end].copy_from_slice(&data);
                        }
                    }
                    Operation::Read(at, size) => {
                        let start = model.len().min(at as usize);
                        let end = model.len().min(start + size);
                        prop_assert_eq!(scratch.read(id, at, size, 0).unwrap(), &model[start..end]);
                    }
                    Operation::Truncate(size) => {
                        scratch.truncate(id, size, 0).unwrap();
                        model.resize(size as usize, 0);
                    }
                }
                prop_assert_eq!(&scratch.content(id).unwrap(), &model);
            }
            scratch.remove(id).unwrap();
            prop_assert_eq!(scratch.used_bytes(), 0);
        }
    }
}
