//! An open directory: `readdir` over a source of any size, in constant memory.
//!
//! | difficulty | solved by |
//! |---|---|
//! | a directory of a million items, no snapshot held between calls | a [`Lister`] reads one batch after a [`Cursor`], which is a place in the key order, not a count |
//! | entries come and go while it is read | the cursor's key need not exist any more: what stays is neither skipped nor repeated |
//! | the kernel asks again for entries that did not fit its caller's buffer | the window of the last entries and their cursors |
//! | `telldir` cookies kept from long ago | sparse checkpoints, their distance doubling so that their number is bounded |
//! | `rewinddir` must show changes | offset 0 starts anew |
//! | a query that matches almost nothing reads its whole table for one batch | a fetch asks now and then whether it is still [`Wanted`] |
//!
//! An entry's offset is the number of entries up to and including it, "." being 1.

use std::collections::VecDeque;

use super::found::{BATCH, Cursor, Entry, Found, Listed, Place};
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::Kind;
use crate::fs::query::Wanted;

/// Entries that can be asked for again without reading them again.
const WINDOW: usize = 2 * BATCH;
/// Offset of "..".
const DOTS: u64 = 2;
/// Checkpoints kept of one open directory.
const CHECKPOINTS_MAX: usize = 256;

/// Reads a directory's names in a fixed order.
pub trait Lister: Send {
    /// Starts anew: takes up what it keeps over a whole listing.
    ///
    /// # Errors
    /// The directory is gone, or the database failed.
    fn start(&mut self, mount: &Mount) -> Result<(), FsError>;

    /// Appends up to [`BATCH`] names after `from`, each with its own place. None exactly at the end.
    ///
    /// # Errors
    /// The directory is gone, or the database failed; [`FsError::Interrupted`] when nothing was found until it was not wanted any more.
    fn fetch(&mut self, mount: &Mount, from: &Cursor, wanted: &Wanted<'_>, out: &mut Found) -> Result<(), FsError>;

    /// Bytes of memory of what it keeps between two fetches.
    fn held_bytes(&self) -> usize {
        0
    }
}

/// A directory of few names, all known at the start.
#[derive(Debug, Default)]
pub struct FixedLister {
    names: Vec<Listed>,
}

impl FixedLister {
    #[must_use]
    pub fn new(names: Vec<Listed>) -> Self {
        Self { names }
    }
}

impl Lister for FixedLister {
    fn start(&mut self, _mount: &Mount) -> Result<(), FsError> {
        Ok(())
    }

    fn fetch(&mut self, _mount: &Mount, from: &Cursor, _wanted: &Wanted<'_>, out: &mut Found) -> Result<(), FsError> {
        fetch_tail(&self.names, from, out);
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        self.names.iter().map(Listed::held_bytes).sum()
    }
}

/// Appends names of a list held in memory.
pub fn fetch_tail(names: &[Listed], from: &Cursor, out: &mut Found) {
    let start = match from {
        Cursor::Tail(count) => *count,
        Cursor::Start | Cursor::After(_) => 0,
    };
    for (index, listed) in names.iter().enumerate().skip(start).take(BATCH) {
        out.push(listed.entry(), Place::Tail(index + 1));
    }
}

/// Makes the lister of a directory; again for each rewind.
pub type MakeLister = Box<dyn Fn(&Mount) -> Result<Box<dyn Lister>, FsError> + Send>;

/// See the module.
pub struct DirectoryStream {
    make: MakeLister,
    lister: Option<Box<dyn Lister>>,
    /// The last entries read, in order.
    window: VecDeque<Found>,
    /// The room of a batch that left the window.
    spare: Found,
    /// Index of the window's first entry, "." and ".." not counted.
    first: u64,
    /// The place before the window's first entry.
    before: Cursor,
    /// (index, place before the entry of that index), ascending.
    checkpoints: Vec<(u64, Cursor)>,
    /// Least distance of checkpoints.
    stride: u64,
    dots: [u64; 2],
    is_slow: bool,
    /// Are the next batches to have [`super::found::Items`]?
    wants_items: bool,
    /// Where a read failed, and its reader was told.
    pub failed_at: Option<u64>,
}

impl std::fmt::Debug for DirectoryStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectoryStream").field("first", &self.first).field("window", &self.window_len()).finish_non_exhaustive()
    }
}

impl DirectoryStream {
    /// `dots` are the inode numbers of "." and "..".
    #[must_use]
    pub fn new(dots: [u64; 2], make: MakeLister) -> Self {
        Self {
            make,
            lister: None,
            window: VecDeque::new(),
            spare: Found::default(),
            first: 0,
            before: Cursor::Start,
            checkpoints: Vec::new(),
            stride: BATCH as u64,
            dots,
            is_slow: false,
            wants_items: false,
            failed_at: None,
        }
    }

    /// A directory whose listing may take as long as a query.
    #[must_use]
    pub fn slow(self, is_slow: bool) -> Self {
        Self { is_slow, ..self }
    }

    /// May a listing take long?
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.is_slow
    }

    /// Are [`super::found::Items`] wanted from now on, where nothing else is listed? Were they until now, and found?
    pub fn want_items(&mut self, wants_items: bool) -> bool {
        let wanted = std::mem::replace(&mut self.wants_items, wants_items);
        wanted && self.window.back().is_some_and(|batch| batch.items().is_some())
    }

    /// Bytes of memory of the names and places that it keeps.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let window: usize = self.window.iter().chain([&self.spare]).map(Found::held_bytes).sum();
        let checkpoints: usize = self.checkpoints.iter().map(|(_, cursor)| cursor.held_bytes()).sum();
        window + checkpoints + self.lister.as_ref().map_or(0, |lister| lister.held_bytes())
    }

    /// Gives the entries after `offset` to `emit`, each with its own offset, until it says that it is full or the directory ends.
    ///
    /// # Errors
    /// The directory is gone, the database failed, or the caller is not waiting any more, before the first entry.
    pub fn read(
        &mut self,
        mount: &Mount,
        offset: u64,
        wanted: &Wanted<'_>,
        emit: &mut dyn FnMut(Entry<'_>, u64) -> bool,
    ) -> Result<(), FsError> {
        let mut next = offset;
        for (entry, after) in self.begin(offset) {
            if emit(entry, after) {
                return Ok(());
            }
            next = after;
        }
        loop {
            let (found, at) = match self.after(mount, next, wanted) {
                Ok(Some(found)) => found,
                Ok(None) => return Ok(()),
                // What was emitted stands; the next call meets the error again.
                Err(_) if next > offset => return Ok(()),
                Err(error) => return Err(error),
            };
            for (entry, _) in found.from(at) {
                if emit(entry, next + 1) {
                    return Ok(());
                }
                next += 1;
            }
        }
    }

    /// Begins anew at offset 0. Those of "." and ".." that come after `offset`, each with its own.
    pub fn begin(&mut self, offset: u64) -> impl Iterator<Item = (Entry<'static>, u64)> + use<> {
        if offset == 0 {
            self.rewind();
        }
        let [own, above] = self.dots;
        [(own, ".", 1), (above, "..", 2)]
            .into_iter()
            .filter(move |(_, _, after)| *after > offset)
            .map(|(ino, name, after)| (Entry { ino, kind: Kind::Directory, name }, after))
    }

    /// The batch with the entry after an offset of that of ".." or more, and its place in it; `None` at the directory's end.
    ///
    /// # Errors
    /// As of [`DirectoryStream::read`].
    pub fn after(&mut self, mount: &Mount, offset: u64, wanted: &Wanted<'_>) -> Result<Option<(&Found, usize)>, FsError> {
        let index = offset - DOTS;
        if self.wants_items && self.batch_with(index).is_some_and(|(found, _)| !found.wants_items()) {
            self.forget_from(index);
        }
        if !self.ensure(mount, index, wanted)? {
            return Ok(None);
        }
        Ok(self.batch_with(index))
    }

    /// The entry of that index, and what comes after it, is read again when it is asked for.
    fn forget_from(&mut self, index: u64) {
        let before = index.checked_sub(1).and_then(|last| self.batch_with(last)).and_then(|(found, at)| found.cursor(at));
        (self.first, self.before) = (index, before.unwrap_or_else(|| self.before.clone()));
        self.window.clear();
    }

    /// Where in the window an entry is.
    fn batch_with(&self, index: u64) -> Option<(&Found, usize)> {
        let mut at = usize::try_from(index.checked_sub(self.first)?).ok()?;
        for batch in &self.window {
            if at < batch.len() {
                return Some((batch, at));
            }
            at -= batch.len();
        }
        None
    }

    fn window_len(&self) -> usize {
        self.window.iter().map(Found::len).sum()
    }

    /// Index of the entry after the window's last, "." and ".." not counted.
    fn window_end(&self) -> u64 {
        self.first + self.window_len() as u64
    }

    fn rewind(&mut self) {
        self.lister = None;
        self.window.clear();
        self.first = 0;
        self.before = Cursor::Start;
        self.checkpoints.clear();
        self.stride = BATCH as u64;
    }

    /// Brings entry `index` into the window; false when the directory ends before it.
    fn ensure(&mut self, mount: &Mount, index: u64, wanted: &Wanted<'_>) -> Result<bool, FsError> {
        if index < self.first {
            self.go_back(index);
        }
        while index >= self.window_end() {
            if !self.advance(mount, wanted)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Moves the window to the last checkpoint at or before `index`.
    fn go_back(&mut self, index: u64) {
        let found = self.checkpoints.iter().rev().find(|(at, _)| *at <= index).cloned();
        // The lister is kept: it reads after any cursor, and holds no snapshot that could be too old.
        let (at, cursor) = found.unwrap_or((0, Cursor::Start));
        self.window.clear();
        self.first = at;
        self.before = cursor;
    }

    /// Reads one more batch; false at the end.
    fn advance(&mut self, mount: &Mount, wanted: &Wanted<'_>) -> Result<bool, FsError> {
        let from = self.window.back().and_then(Found::end).unwrap_or_else(|| self.before.clone());
        self.checkpoint(self.window_end(), &from);
        let lister = match &mut self.lister {
            Some(lister) => lister,
            none => {
                let mut lister = (self.make)(mount)?;
                lister.start(mount)?;
                none.insert(lister)
            }
        };
        let mut batch = std::mem::take(&mut self.spare);
        batch.clear(self.wants_items);
        let fetched = lister.fetch(mount, &from, wanted, &mut batch);
        if batch.is_empty() {
            return fetched.map(|()| false);
        }
        // What was found before an error stands; who goes on after it meets it again.

        self.window.push_back(batch);
        while self.window_len() > WINDOW {
            self.drop_front();
        }
        Ok(true)
    }

    fn drop_front(&mut self) {
        let Some(batch) = self.window.pop_front() else { return };
        if let Some(end) = batch.end() {
            self.before = end;
        }
        self.first += batch.len() as u64;
        self.spare = batch;
    }

    fn checkpoint(&mut self, index: u64, before: &Cursor) {
        let due = match self.checkpoints.last() {
            Some((last, _)) => index >= last + self.stride,
            None => true,
        };
        if !due {
            return;
        }
        if self.checkpoints.len() == CHECKPOINTS_MAX {
            let mut keep = false;
            self.checkpoints.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride *= 2;
        }
        self.checkpoints.push((index, before.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use proptest::prelude::*;

    use super::*;
    use crate::database::local::LocalDatabase;
    use crate::engine::EngineOptions;
    use crate::fs::options::ViewOptions;
    use crate::store::memory::MemoryStore;

    type Names = Arc<Mutex<BTreeSet<u32>>>;

    struct SetLister {
        names: Names,
    }

    impl Lister for SetLister {
        fn start(&mut self, _mount: &Mount) -> Result<(), FsError> {
            Ok(())
        }

        fn fetch(&mut self, _mount: &Mount, from: &Cursor, _wanted: &Wanted<'_>, out: &mut Found) -> Result<(), FsError> {
            let after = match from {
                Cursor::After(position) => u32::from_be_bytes(position.0[..].try_into().unwrap()),
                _ => 0,
            };
            for &number in self.names.lock().range(after + 1..).take(BATCH) {
                let name = &number.to_string();
                out.push(Entry { ino: u64::from(number), kind: Kind::File, name }, Place::After(&number.to_be_bytes()));
            }
            Ok(())
        }
    }

    fn mount() -> Mount {
        let store = Arc::new(MemoryStore::new().unwrap());
        Mount::new(Arc::new(LocalDatabase::open(store, EngineOptions::default()).unwrap()), ViewOptions::default())
    }

    fn stream(names: &Names) -> DirectoryStream {
        let names = Arc::clone(names);
        DirectoryStream::new([1, 2], Box::new(move |_| Ok(Box::new(SetLister { names: Arc::clone(&names) }))))
    }

    /// One readdir call of room for `room` entries: (name, offset) of each.
    fn read(stream: &mut DirectoryStream, mount: &Mount, offset: u64, room: usize) -> Vec<(String, u64)> {
        let mut out = Vec::new();
        let mut emit = |entry: Entry<'_>, offset: u64| {
            if out.len() == room {
                return true;
            }
            out.push((entry.name.to_owned(), offset));
            false
        };
        stream.read(mount, offset, &|| true, &mut emit).unwrap();
        out
    }

    fn set(numbers: impl IntoIterator<Item = u32>) -> Names {
        Arc::new(Mutex::new(numbers.into_iter().collect()))
    }

    #[test]
    fn dots_come_first_and_every_entry_has_its_offset() {
        let (names, mount) = (set([5, 7]), mount());
        let mut stream = stream(&names);
        let all: Vec<_> = [(".", 1), ("..", 2), ("5", 3), ("7", 4)].map(|(name, offset)| (name.to_owned(), offset)).into();
        assert_eq!(read(&mut stream, &mount, 0, 10), all);
        assert_eq!(read(&mut stream, &mount, 1, 1), all[1..2]);
        assert_eq!(read(&mut stream, &mount, 3, 10), all[3..]);
        assert_eq!(read(&mut stream, &mount, 4, 10), []);
    }

    #[test]
    fn rewinding_shows_changes_and_an_ended_listing_goes_on_after_its_end() {
        let (names, mount) = (set([5]), mount());
        let mut stream = stream(&names);
        assert_eq!(read(&mut stream, &mount, 0, 10).len(), 3);
        names.lock().extend([1, 9]);
        assert_eq!(read(&mut stream, &mount, 3, 10), [("9".to_owned(), 4)]);
        let names: Vec<String> = read(&mut stream, &mount, 0, 10).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [".", "..", "1", "5", "9"]);
    }

    #[test]
    fn offsets_of_long_ago_are_found_again_with_bounded_memory() {
        const COUNT: u32 = 300_000;
        let (names, mount) = (set(1..=COUNT), mount());
        let mut stream = stream(&names);
        let mut offset = 0;
        while let Some((_, last)) = read(&mut stream, &mount, offset, 1_000).last() {
            offset = *last;
            assert!(stream.window_len() <= WINDOW && stream.checkpoints.len() <= CHECKPOINTS_MAX);
        }
        assert_eq!(offset, u64::from(COUNT) + 2);
        for number in [1_u32, 700, 99_999, 3, 250_000, COUNT] {
            let found = read(&mut stream, &mount, u64::from(number) + 1, 1);
            assert_eq!(found, [(number.to_string(), u64::from(number) + 2)]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever comes and goes between calls, and however often the kernel asks for the same again: what stays is listed once.
        #[test]
        fn what_stays_is_neither_skipped_nor_repeated(
            stays in proptest::collection::btree_set(1_u32..5_000, 0..1_500),
            changes in proptest::collection::vec((1_u32..5_000, any::<bool>(), 1_usize..200, 0_usize..3), 1..60),
        ) {
            let (names, mount) = (set(stays.iter().copied()), mount());
            let mut stream = stream(&names);
            let mut seen: Vec<u32> = Vec::new();
            let mut offset = 0;
            let mut changes = changes.into_iter().cycle();
            loop {
                let (number, add, room, back) = changes.next().unwrap();
                if !stays.contains(&number) {
                    if add { names.lock().insert(number); } else { names.lock().remove(&number); }
                }
                // The caller's buffer takes fewer entries than the kernel asked for.
                let batch = read(&mut stream, &mount, offset, room);
                let Some(&(_, last)) = batch.last() else { break };
                let taken = batch.len().saturating_sub(back).max(1);
                offset = batch.get(taken - 1).map_or(last, |(_, offset)| *offset);
                seen.extend(batch[..taken].iter().filter_map(|(name, _)| name.parse::<u32>().ok()));
            }
            let stayed: Vec<u32> = seen.iter().copied().filter(|number| stays.contains(number)).collect();
            prop_assert_eq!(stayed, stays.into_iter().collect::<Vec<_>>());
            let distinct: BTreeSet<u32> = seen.iter().copied().collect();
            prop_assert_eq!(distinct.len(), seen.len());
        }
    }
}
