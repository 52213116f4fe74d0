//! Scratch files: what editors and shells write beside items (`.o1.json.swp`, `sedAb12`, `o1.json.bak`), in bounded memory until
//! renamed onto an item's name or idle for an hour (FILESYSTEM 4).
//!
//! A file is its pages: holes cost nothing and read as zeros. Memory of all files, unlinked but open ones included, is counted
//! when a page is made and given back when it goes.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use crate::fs::FsError;

/// One file.
pub const SCRATCH_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// All files together: their pages, and a kilobyte each for names and tables.
pub const SCRATCH_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// A file that is not open and was not used for so long is dropped.
pub const IDLE_MS_MAX: u64 = 60 * 60 * 1000;

const PAGE_BYTES: usize = 4096;
/// What a file costs beside its pages: its name, its entries in the tables.
const FILE_COST_BYTES: u64 = 1024;

/// A scratch file, whatever its name is by now. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u64);

/// What stat tells of a scratch file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScratchAttributes {
    pub size: u64,
    /// Permission bits as last set.
    pub mode: u32,
    /// Milliseconds since the epoch.
    pub modified_ms: u64,
    /// Has it a name?
    pub linked: bool,
}

/// All scratch files, by directory identity `D` and name. Times are milliseconds since the epoch.
#[derive(Debug)]
pub struct ScratchFiles<D> {
    ids: HashMap<D, BTreeMap<String, FileId>>,
    files: HashMap<FileId, File<D>>,
    used_bytes: u64,
    last_id: u64,
}

#[derive(Debug)]
struct File<D> {
    /// `None` once unlinked.
    place: Option<(D, String)>,
    /// By page number; a missing page is zeros. Bytes at and after `size` are zero.
    pages: BTreeMap<u64, Box<[u8]>>,
    size: u64,
    mode: u32,
    modified_ms: u64,
    used_ms: u64,
    handles: u32,
}

impl<D> Default for ScratchFiles<D> {
    fn default() -> Self {
        Self { ids: HashMap::new(), files: HashMap::new(), used_bytes: 0, last_id: 0 }
    }
}

impl<D: Eq + Hash + Clone> ScratchFiles<D> {
    /// A new empty file, not open yet.
    ///
    /// # Errors
    /// `Exists`, `ScratchFull`.
    pub fn create(&mut self, directory: D, name: &str, mode: u32, now_ms: u64) -> Result<FileId, FsError> {
        if self.find(&directory, name).is_some() {
            return Err(FsError::Exists);
        }
        self.charge(FILE_COST_BYTES)?;
        self.last_id += 1;
        let id = FileId(self.last_id);
        let place = Some((directory.clone(), name.to_owned()));
        let file = File { place, pages: BTreeMap::new(), size: 0, mode, modified_ms: now_ms, used_ms: now_ms, handles: 0 };
        self.files.insert(id, file);
        self.ids.entry(directory).or_default().insert(name.to_owned(), id);
        Ok(id)
    }

    /// A new file with this content, over the one of that name if there is one: the text of an item renamed to a scratch name.
    ///
    /// # Errors
    /// `ScratchFull`, `TooLarge`; then nothing has changed.
    pub fn create_with(&mut self, directory: D, name: &str, content: &[u8], now_ms: u64) -> Result<FileId, FsError> {
        // Made aside and moved into place, so that a failure leaves the old file.
        self.charge(FILE_COST_BYTES)?;
        self.last_id += 1;
        let id = FileId(self.last_id);
        let pages = BTreeMap::new();
        let file = File { place: None, pages, size: 0, mode: 0o644, modified_ms: now_ms, used_ms: now_ms, handles: 0 };
        self.files.insert(id, file);
        if let Err(error) = self.write(id, 0, content, now_ms) {
            self.drop_if_unused(id);
            return Err(error);
        }
        self.put_at(id, directory, name);
        Ok(id)
    }

    /// The file of that name.
    #[must_use]
    pub fn find(&self, directory: &D, name: &str) -> Option<FileId> {
        self.ids.get(directory)?.get(name).copied()
    }

    /// Names and files of a directory, by name.
    pub fn list(&self, directory: &D) -> impl Iterator<Item = (&str, FileId)> {
        self.ids.get(directory).into_iter().flatten().map(|(name, id)| (name.as_str(), *id))
    }

    /// Directory and name of a file that still has one.
    #[must_use]
    pub fn place(&self, id: FileId) -> Option<(&D, &str)> {
        self.files.get(&id)?.place.as_ref().map(|(directory, name)| (directory, name.as_str()))
    }

    /// One more handle; it keeps the data of an unlinked file.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn open(&mut self, id: FileId, now_ms: u64) -> Result<(), FsError> {
        let file = self.file(id)?;
        file.handles += 1;
        file.used_ms = now_ms;
        Ok(())
    }

    /// One handle less.
    pub fn release(&mut self, id: FileId, now_ms: u64) {
        if let Ok(file) = self.file(id) {
            file.handles = file.handles.saturating_sub(1);
            file.used_ms = now_ms;
        }
        self.drop_if_unused(id);
    }

    /// # Errors
    /// `NotFound`.
    pub fn attributes(&self, id: FileId) -> Result<ScratchAttributes, FsError> {
        let file = self.files.get(&id).ok_or(FsError::NotFound)?;
        Ok(ScratchAttributes { size: file.size, mode: file.mode, modified_ms: file.modified_ms, linked: file.place.is_some() })
    }

    /// chmod, utimens: `None` leaves as it is.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn set_attributes(&mut self, id: FileId, mode: Option<u32>, modified_ms: Option<u64>) -> Result<(), FsError> {
        let file = self.file(id)?;
        file.mode = mode.unwrap_or(file.mode);
        file.modified_ms = modified_ms.unwrap_or(file.modified_ms);
        Ok(())
    }

    /// Up to `size` bytes from `offset`; fewer at the end of the file.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn read(&mut self, id: FileId, offset: u64, size: usize, now_ms: u64) -> Result<Vec<u8>, FsError> {
        let file = self.file(id)?;
        file.used_ms = now_ms;
        Ok(file.read(offset, size))
    }

    /// The whole content.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn content(&self, id: FileId) -> Result<Vec<u8>, FsError> {
        let file = self.files.get(&id).ok_or(FsError::NotFound)?;
        Ok(file.read(0, usize::try_from(file.size).unwrap_or(usize::MAX)))
    }

    /// Writes all of `data` at `offset`, or nothing.
    ///
    /// # Errors
    /// `NotFound`, `ScratchFull`.
    pub fn write(&mut self, id: FileId, offset: u64, data: &[u8], now_ms: u64) -> Result<(), FsError> {
        let end = offset.checked_add(data.len() as u64).filter(|&end| end <= SCRATCH_FILE_BYTES_MAX);
        let end = end.ok_or(FsError::ScratchFull)?;
        let new_pages = self.file(id)?.missing_pages(offset, end);
        self.charge(new_pages * PAGE_BYTES as u64)?;
        let file = self.file(id)?;
        file.write(offset, data);
        if !data.is_empty() {
            file.size = file.size.max(end);
        }
        file.modified_ms = now_ms;
        file.used_ms = now_ms;
        Ok(())
    }

    /// Cuts off or adds zeros.
    ///
    /// # Errors
    /// `NotFound`, `ScratchFull`.
    pub fn truncate(&mut self, id: FileId, size: u64, now_ms: u64) -> Result<(), FsError> {
        if size > SCRATCH_FILE_BYTES_MAX {
            return Err(FsError::ScratchFull);
        }
        let file = self.file(id)?;
        let dropped = file.truncate(size);
        file.modified_ms = now_ms;
        file.used_ms = now_ms;
        self.used_bytes -= dropped * PAGE_BYTES as u64;
        Ok(())
    }

    /// rename(2) of one scratch name to another; a file of that name goes.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn rename(&mut self, from: (&D, &str), to: (D, &str), now_ms: u64) -> Result<(), FsError> {
        let id = self.find(from.0, from.1).ok_or(FsError::NotFound)?;
        self.file(id)?.used_ms = now_ms;
        if from != (&to.0, to.1) {
            self.unlink(from.0, from.1);
            self.put_at(id, to.0, to.1);
        }
        Ok(())
    }

    /// unlink(2). Open handles keep the data.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn remove(&mut self, directory: &D, name: &str) -> Result<(), FsError> {
        let id = self.unlink(directory, name).ok_or(FsError::NotFound)?;
        self.drop_if_unused(id);
        Ok(())
    }

    /// A directory has another identity from now on.
    pub fn move_directory(&mut self, from: &D, to: &D) {
        for (name, id) in self.ids.remove(from).unwrap_or_default() {
            self.put_at(id, to.clone(), &name);
        }
    }

    /// Drops files that are not open and were not used for [`IDLE_MS_MAX`]; their places.
    pub fn expire(&mut self, now_ms: u64) -> Vec<(D, String)> {
        let idle = |file: &File<D>| file.handles == 0 && now_ms.saturating_sub(file.used_ms) >= IDLE_MS_MAX;
        let places: Vec<_> = self.files.values().filter(|file| idle(file)).filter_map(|file| file.place.clone()).collect();
        for (directory, name) in &places {
            if let Some(id) = self.unlink(directory, name) {
                self.drop_if_unused(id);
            }
        }
        places
    }

    /// Memory counted against [`SCRATCH_BYTES_MAX`].
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    fn file(&mut self, id: FileId) -> Result<&mut File<D>, FsError> {
        self.files.get_mut(&id).ok_or(FsError::NotFound)
    }

    fn charge(&mut self, bytes: u64) -> Result<(), FsError> {
        if self.used_bytes + bytes > SCRATCH_BYTES_MAX {
            return Err(FsError::ScratchFull);
        }
        self.used_bytes += bytes;
        Ok(())
    }

    /// Gives a file without a name this one, over the file that had it.
    fn put_at(&mut self, id: FileId, directory: D, name: &str) {
        if let Some(old) = self.unlink(&directory, name) {
            self.drop_if_unused(old);
        }
        if let Some(file) = self.files.get_mut(&id) {
            file.place = Some((directory.clone(), name.to_owned()));
        }
        self.ids.entry(directory).or_default().insert(name.to_owned(), id);
    }

    /// Takes a name away; the file that had it.
    fn unlink(&mut self, directory: &D, name: &str) -> Option<FileId> {
        let names = self.ids.get_mut(directory)?;
        let id = names.remove(name)?;
        if names.is_empty() {
            self.ids.remove(directory);
        }
        if let Some(file) = self.files.get_mut(&id) {
            file.place = None;
        }
        Some(id)
    }

    fn drop_if_unused(&mut self, id: FileId) {
        if self.files.get(&id).is_some_and(|file| file.place.is_none() && file.handles == 0)
            && let Some(file) = self.files.remove(&id)
        {
            self.used_bytes -= FILE_COST_BYTES + file.pages.len() as u64 * PAGE_BYTES as u64;
        }
    }
}

/// The pages that `start..end` touches, each with the part of it and the matching part of `start..end`, both from 0.
fn pages(start: u64, end: u64) -> impl Iterator<Item = (u64, std::ops::Range<usize>, std::ops::Range<usize>)> {
    let page_bytes = PAGE_BYTES as u64;
    (start / page_bytes..end.div_ceil(page_bytes)).map(move |page| {
        let from = start.max(page * page_bytes);
        let to = end.min((page + 1) * page_bytes);
        // Both differences are at most a file's size, which fits.
        let part = (from - page * page_bytes) as usize..(to - page * page_bytes) as usize;
        (page, part, (from - start) as usize..(to - start) as usize)
    })
}

impl<D> File<D> {
    fn missing_pages(&self, start: u64, end: u64) -> u64 {
        if start == end {
            return 0;
        }
        pages(start, end).filter(|(page, ..)| !self.pages.contains_key(page)).count() as u64
    }

    fn read(&self, offset: u64, size: usize) -> Vec<u8> {
        let start = offset.min(self.size);
        let end = start.saturating_add(size as u64).min(self.size);
        let mut out = vec![0; (end - start) as usize];
        if start < end {
            for (page, part, place) in pages(start, end) {
                if let Some(bytes) = self.pages.get(&page) {
                    out[place].copy_from_slice(&bytes[part]);
                }
            }
        }
        out
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        for (page, part, place) in pages(offset, offset + data.len() as u64) {
            let bytes = self.pages.entry(page).or_insert_with(|| vec![0; PAGE_BYTES].into_boxed_slice());
            bytes[part].copy_from_slice(&data[place]);
        }
    }

    /// How many pages went.
    fn truncate(&mut self, size: u64) -> u64 {
        self.size = size;
        let kept = size.div_ceil(PAGE_BYTES as u64);
        let dropped = self.pages.split_off(&kept).len() as u64;
        // What comes after the end must read as zeros when the file grows again.
        let in_page = (size % PAGE_BYTES as u64) as usize;
        if in_page > 0
            && let Some(last) = self.pages.get_mut(&(kept - 1))
        {
            last[in_page..].fill(0);
        }
        dropped
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
        assert_eq!(scratch.attributes(a), Ok(ScratchAttributes { size: 5, mode: 0o600, modified_ms: 6, linked: true }));
        let b = scratch.create("e", "b", 0o644, 7).unwrap();
        scratch.open(b, 7).unwrap();
        scratch.write(b, 0, b"old", 7).unwrap();
        scratch.rename((&"d", ".a"), ("e", "b"), 8).unwrap();
        assert_eq!(scratch.find(&"d", ".a"), None);
        assert_eq!(scratch.find(&"e", "b"), Some(a));
        assert_eq!(scratch.place(a), Some((&"e", "b")));
        assert_eq!(scratch.content(b), Ok(b"old".to_vec()), "an open handle keeps the data");
        scratch.release(b, 9);
        assert_eq!(scratch.content(b), Err(FsError::NotFound));
        assert_eq!(scratch.list(&"e").collect::<Vec<_>>(), [("b", a)]);
        scratch.remove(&"e", "b").unwrap();
        assert_eq!(scratch.remove(&"e", "b"), Err(FsError::NotFound));
        assert_eq!(scratch.used_bytes(), 0);
    }

    #[test]
    fn renaming_onto_itself_keeps_the_file() {
        let mut scratch = files();
        let a = scratch.create("d", "a", 0o600, 0).unwrap();
        scratch.rename((&"d", "a"), ("d", "a"), 0).unwrap();
        assert_eq!(scratch.find(&"d", "a"), Some(a));
    }

    #[test]
    fn files_follow_their_directory() {
        let mut scratch = files();
        let a = scratch.create("d", "a", 0o600, 0).unwrap();
        scratch.move_directory(&"d", &"e");
        assert_eq!((scratch.find(&"d", "a"), scratch.find(&"e", "a"), scratch.place(a)), (None, Some(a), Some((&"e", "a"))));
    }

    #[test]
    fn limits() {
        let mut scratch = files();
        let a = scratch.create("d", "a", 0o600, 0).unwrap();
        assert_eq!(scratch.write(a, SCRATCH_FILE_BYTES_MAX, b"x", 0), Err(FsError::ScratchFull));
        assert_eq!(scratch.write(a, u64::MAX, b"x", 0), Err(FsError::ScratchFull));
        assert_eq!(scratch.truncate(a, SCRATCH_FILE_BYTES_MAX + 1, 0), Err(FsError::ScratchFull));
        let block = vec![1; SCRATCH_FILE_BYTES_MAX as usize];
        for n in 0..7 {
            let id = scratch.create("d", &format!("f{n}"), 0o600, 0).unwrap();
            scratch.write(id, 0, &block, 0).unwrap();
        }
        assert_eq!(scratch.create_with("d", "f0", &block, 0), Err(FsError::ScratchFull));
        assert!(scratch.find(&"d", "f0").is_some(), "a failure leaves the old file");
        scratch.remove(&"d", "f6").unwrap();
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
        scratch.create("d", "b", 0o600, 10).unwrap();
        scratch.open(a, 0).unwrap();
        assert!(scratch.expire(IDLE_MS_MAX).is_empty());
        assert_eq!(scratch.expire(IDLE_MS_MAX + 10), [("d", "b".to_owned())]);
        scratch.release(a, IDLE_MS_MAX);
        assert_eq!(scratch.expire(2 * IDLE_MS_MAX), [("d", "a".to_owned())]);
        assert_eq!(scratch.used_bytes(), 0);
    }

    #[derive(Debug, Clone)]
    enum Operation {
        Write(u64, Vec<u8>),
        Read(u64, usize),
        Truncate(u64),
    }

    fn any_operation() -> impl Strategy<Value = Operation> {
        let offset = || prop_oneof![0..20_000u64, (0..5u64).prop_map(|page| page * PAGE_BYTES as u64)];
        prop_oneof![
            (offset(), 1..=255u8, 0..9_000usize).prop_map(|(at, byte, length)| Operation::Write(at, vec![byte; length])),
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
            scratch.remove(&"d", "a").unwrap();
            prop_assert_eq!(scratch.used_bytes(), 0);
        }
    }
}
