//! An open directory: `readdir` over a source of any size, in constant memory.
//!
//! | difficulty | solved by |
//! |---|---|
//! | a directory of a million items, no snapshot held between calls | a [`Lister`] reads one batch after a [`Cursor`], which is a place in the key order, not a count |
//! | entries come and go while it is read | the cursor's key need not exist any more: what stays is neither skipped nor repeated |
//! | the kernel asks again for entries that did not fit its caller's buffer | the window of the last entries and their cursors |
//! | an offset kept from long ago (`telldir`) means the same place after changes, also that of an entry which is gone | an entry's offset is a digest of its name; `SeenOffsets` knows what stood around it |
//! | two names may have one digest | in the window no two entries have one offset, and only there the kernel goes on by it |
//! | `rewinddir` must show changes | offset 0 starts anew |
//! | a query that matches almost nothing reads its whole table for one batch | a fetch asks now and then whether it is still [`IsWanted`] |
//!
//! An entry's offset says that the reading goes on after it. "." has 1 and ".." has 2.

use std::hash::{DefaultHasher, Hasher};

use super::dirent::{BATCH_LEN, Cursor, Dirent, DirentBatch, DirentPlace, OwnedDirent};
use crate::fs::{
    mount::Mount,
    node::{Node, NodeKind},
    prelude::*,
    query::IsWanted,
};
use std::collections::{HashSet, VecDeque};

/// The number of entries that can be read again from memory.
const WINDOW_LEN: usize = 2 * BATCH_LEN;
/// The offset of "..".
const DOTDOT_OFFSET: u64 = 2;
/// The least offset of a name: above those of the dots, and below what a signed number holds.
const NAME_OFFSET_MIN: u64 = 1 << 62;

/// Reads the names of a directory in a fixed order. State that must stay the same during one
/// listing is read when the lister is made.
pub trait Lister: Send {
    /// Appends up to [`BATCH_LEN`] names after `from`, each with its own place. Appends none
    /// exactly at the end.
    ///
    /// # Errors
    /// The directory is gone, or the database failed; [`FsError::Interrupted`] if nothing was found
    /// before `is_wanted` returned false.
    fn fetch(
        &mut self,
        mount: &Mount,
        from: &Cursor,
        is_wanted: &IsWanted<'_>,
        out: &mut DirentBatch,
    ) -> Result<()>;

    /// Returns the bytes of memory that are held between two fetches.
    fn held_bytes(&self) -> usize {
        0
    }
}

/// A lister of few names, all known at the start.
#[derive(Debug, Default)]
pub struct FixedLister {
    names: Vec<OwnedDirent>,
}

impl FixedLister {
    #[must_use]
    pub fn new(names: Vec<OwnedDirent>) -> Self {
        Self { names }
    }
}

impl Lister for FixedLister {
    fn fetch(
        &mut self,
        _mount: &Mount,
        from: &Cursor,
        _is_wanted: &IsWanted<'_>,
        out: &mut DirentBatch,
    ) -> Result<()> {
        fetch_tail(&self.names, from, out);
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        self.names.iter().map(OwnedDirent::held_bytes).sum()
    }
}

/// Appends names of a list held in memory.
pub fn fetch_tail(names: &[OwnedDirent], from: &Cursor, out: &mut DirentBatch) {
    let start = match from {
        Cursor::Tail(count) => *count,
        Cursor::Start | Cursor::After(_) => 0,
    };
    for (index, listed) in names.iter().enumerate().skip(start).take(BATCH_LEN) {
        out.push(listed.entry(), DirentPlace::Tail(index + 1));
    }
}

/// Makes the lister of a directory; called again after each rewind.
pub type MakeLister = Box<dyn Fn(&Mount) -> Result<Box<dyn Lister>> + Send>;

/// An open directory; see the module.
pub struct DirectoryStream {
    /// The node that is listed, if it may be renamed.
    node: Option<Arc<Node>>,
    make: MakeLister,
    lister: Option<Box<dyn Lister>>,
    /// The last entries read, in order.
    window: VecDeque<DirentBatch>,
    /// The buffers of a batch that left the window, for the next one.
    spare: DirentBatch,
    /// The place before the window's first entry, and its offset.
    before: (Cursor, u64),
    seen: SeenOffsets,
    /// The largest value of the digest in an offset; tests make it small so that names collide.
    offset_mask: u64,
    dots: [u64; 2],
    walks: bool,
    /// The number of names read since the beginning, and true if they are all.
    listed: (u64, bool),
    /// The offset at which a read failed, if its reader got the error.
    pub failed_at: Option<u64>,
}

opaque_debug!(DirectoryStream);

impl DirectoryStream {
    /// Makes a stream at its beginning. `dot_inodes` are the inode numbers of "." and "..".
    #[must_use]
    pub fn new(dot_inodes: [u64; 2], make: MakeLister) -> Self {
        Self {
            node: None,
            make,
            lister: None,
            window: VecDeque::new(),
            spare: DirentBatch::default(),
            before: (Cursor::Start, DOTDOT_OFFSET),
            seen: SeenOffsets::default(),
            offset_mask: NAME_OFFSET_MIN - 1,
            dots: dot_inodes,
            walks: false,
            listed: (0, false),
            failed_at: None,
        }
    }

    /// Sets the node that is listed, which may be renamed, and whether the program reads thousands of
    /// names before it looks at the first.
    #[must_use]
    pub fn with_node(self, node: Arc<Node>, walks: bool) -> Self {
        Self {
            node: Some(node),
            walks,
            ..self
        }
    }

    /// True if the directory was renamed: it is `node` now.
    #[must_use]
    pub fn was_renamed(&self, node: &Node) -> bool {
        self.node.as_deref().is_some_and(|own| own != node)
    }

    /// Notes that the directory was renamed to `node`. `make` lists it from the next rewind on.
    pub fn set_node(&mut self, make: MakeLister, node: Arc<Node>) {
        (self.make, self.node) = (make, Some(node));
    }

    /// True if the program reads thousands of names before it looks at the first.
    #[must_use]
    pub fn walks(&self) -> bool {
        self.walks
    }

    /// Returns the node that is listed, if it may be renamed.
    #[must_use]
    pub fn node(&self) -> Option<&Node> {
        self.node.as_deref()
    }

    /// Returns the bytes of memory of the names and places that are held.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let window: usize = self
            .window
            .iter()
            .chain([&self.spare])
            .map(DirentBatch::held_bytes)
            .sum();
        window
            + self.seen.held_bytes()
            + self.lister.as_ref().map_or(0, |lister| lister.held_bytes())
    }

    /// Starts anew if `offset` is 0. Returns the entries "." and ".." that come after `offset`,
    /// each with its own offset.
    pub fn begin(&mut self, offset: u64) -> impl Iterator<Item = (Dirent<'static>, u64)> + use<> {
        if offset == 0 {
            self.rewind();
        }
        let [own, above] = self.dots;
        [(own, ".", 1), (above, "..", 2)]
            .into_iter()
            .filter(move |(_, _, after)| *after > offset)
            .map(|(ino, name, after)| {
                (
                    Dirent {
                        ino,
                        kind: NodeKind::Directory,
                        name,
                    },
                    after,
                )
            })
    }

    /// Returns the batch that has the entry after `offset`, and the index of that entry in it;
    /// `None` at the directory's end. `offset` is at least that of "..".
    ///
    /// # Errors
    /// The directory is gone, the database failed, or the caller does not wait any more.
    pub fn batch_after(
        &mut self,
        mount: &Mount,
        offset: u64,
        is_wanted: &IsWanted<'_>,
    ) -> Result<Option<(&DirentBatch, usize)>> {
        let (mut batch, mut at) = match self.position_after(offset) {
            Some(next) => next,
            None => {
                self.seek(mount, offset, is_wanted)?;
                (0, 0)
            }
        };
        if batch == self.window.len() {
            if !self.read_batch(mount, is_wanted)? {
                return Ok(None);
            }
            (batch, at) = self.position_after(offset).ok_or(FsError::Internal)?;
        }
        Ok(self.window.get(batch).map(|found| (found, at)))
    }

    /// Finds the entry after `offset` in the window: returns the number of its batch and its index
    /// there. The entry may be the one after the end.
    fn position_after(&self, offset: u64) -> Option<(usize, usize)> {
        if offset == self.before.1 {
            return Some((0, 0));
        }
        let mut batches = self.window.iter().enumerate();
        batches.find_map(|(batch, found)| {
            let at = found.offsets().position(|own| own == offset)? + 1;
            Some(if at == found.len() {
                (batch + 1, 0)
            } else {
                (batch, at)
            })
        })
    }

    /// Empties the window and lets it begin at a place.
    fn reset_window(&mut self, before: Cursor, offset: u64) {
        self.window.clear();
        self.before = (before, offset);
    }

    fn window_len(&self) -> usize {
        self.window.iter().map(DirentBatch::len).sum()
    }

    /// Returns the number of names, if all were read.
    #[must_use]
    pub fn listed_to_end(&self) -> Option<u64> {
        self.listed.1.then_some(self.listed.0)
    }

    fn rewind(&mut self) {
        self.lister = None;
        self.listed = (0, false);
        self.reset_window(Cursor::Start, DOTDOT_OFFSET);
    }

    /// Moves the window to an offset that is not in it: after the entry that has the offset, or
    /// after the entries that stood before it and still exist. An offset that is unknown and has no
    /// entry any more moves the window to the beginning: names then come twice, and none is left
    /// out.
    fn seek(&mut self, mount: &Mount, offset: u64, is_wanted: &IsWanted<'_>) -> Result<()> {
        if offset <= DOTDOT_OFFSET {
            self.reset_window(Cursor::Start, offset);
            return Ok(());
        }
        let around = self.seen.context(offset);
        let (mut at, mut landed) = (around.start.clone(), around.start);
        let mut batch = std::mem::take(&mut self.spare);
        // The lister is kept: it reads after any cursor, and holds no snapshot that could be too
        // old.
        'read: loop {
            let fetched = self.fetch(mount, &at, is_wanted, &mut batch);
            let Some(end) = batch.last_cursor() else {
                fetched?;
                break;
            };
            for (index, own) in batch.offsets().enumerate() {
                if around.later.contains(&own) {
                    break 'read;
                }
                if own == offset || around.earlier.contains(&own) {
                    landed = batch.cursor_at(index).unwrap_or(landed);
                }
                if own == offset {
                    break 'read;
                }
            }
            at = end;
        }
        self.reset_window(landed, offset);
        Ok(())
    }

    fn fetch(
        &mut self,
        mount: &Mount,
        from: &Cursor,
        is_wanted: &IsWanted<'_>,
        batch: &mut DirentBatch,
    ) -> Result<()> {
        let lister = match &mut self.lister {
            Some(lister) => lister,
            none => none.insert((self.make)(mount)?),
        };
        batch.clear();
        let fetched = lister.fetch(mount, from, is_wanted, batch);
        let offsets_max = self.offset_mask;
        batch.set_offsets(|name| {
            let mut hasher = DefaultHasher::new();
            hasher.write(name.as_bytes());
            NAME_OFFSET_MIN | (hasher.finish() & offsets_max)
        });
        fetched
    }

    /// Reads one more batch. Returns false at the end.
    fn read_batch(&mut self, mount: &Mount, is_wanted: &IsWanted<'_>) -> Result<bool> {
        let last = self.window.back();
        let from = last
            .and_then(DirentBatch::last_cursor)
            .unwrap_or_else(|| self.before.0.clone());
        let offset = last
            .and_then(|batch| batch.offsets().last())
            .unwrap_or(self.before.1);
        let mut batch = std::mem::take(&mut self.spare);
        let fetched = self.fetch(mount, &from, is_wanted, &mut batch);
        if batch.is_empty() {
            self.spare = batch;
            self.listed.1 = fetched.is_ok();
            return fetched.map(|()| false);
        }
        self.listed.0 += batch.len() as u64;
        // The names that were found before an error stand; the next read meets the error again.
        self.window.push_back(batch);
        while self.window_len() > WINDOW_LEN && self.window.len() > 2 {
            self.drop_front();
        }
        self.dedup_offsets();
        if let Some(batch) = self.window.back() {
            self.seen.record(&from, offset, batch);
        }
        Ok(true)
    }

    /// Changes offsets of the last batch so that no two entries of the window have the same one.
    fn dedup_offsets(&mut self) {
        let mut all: Vec<u64> = self
            .window
            .iter()
            .flat_map(DirentBatch::offsets)
            .chain([self.before.1])
            .collect();
        let Some(new) = self.window.back_mut() else {
            return;
        };
        all.sort_unstable();
        if all.windows(2).all(|pair| pair[0] != pair[1]) {
            return;
        }
        for offset in new.offsets_mut() {
            while all.iter().filter(|own| *own == offset).count() > 1 {
                let before = *offset;
                *offset = NAME_OFFSET_MIN | ((before + 1) & (NAME_OFFSET_MIN - 1));
                if let Some(own) = all.iter_mut().find(|own| **own == before) {
                    *own = *offset;
                }
            }
        }
    }

    fn drop_front(&mut self) {
        let Some(batch) = self.window.pop_front() else {
            return;
        };
        if let (Some(end), Some(offset)) = (batch.last_cursor(), batch.offsets().last()) {
            self.before = (end, offset);
        }
        self.spare = batch;
    }
}

/// The number of parts that are kept, each of [`BATCH_LEN`] offsets or a little more: 2 MiB in all.
/// Older offsets are found by reading from the beginning, if their entries exist.
const PARTS_MAX: usize = 512;

#[derive(Debug)]
struct OffsetPart {
    /// The place before the first entry of the part.
    before: Cursor,
    offsets: Vec<u64>,
}

/// The names that an open directory has passed: their offsets, in their order.
#[derive(Debug, Default)]
struct SeenOffsets {
    parts: VecDeque<OffsetPart>,
}

/// The offsets around an offset.
#[derive(Debug)]
struct OffsetContext {
    /// A place before the offset.
    start: Cursor,
    /// The offsets from `start` up to the offset itself.
    earlier: HashSet<u64>,
    /// The offsets that come next.
    later: HashSet<u64>,
}

impl SeenOffsets {
    /// Keeps the offsets of a batch that was read after the place `from` with the offset `after`.
    /// Keeps only offsets that come after all known ones.
    fn record(&mut self, from: &Cursor, after: u64, batch: &DirentBatch) {
        let known = match self.parts.back().and_then(|part| part.offsets.last()) {
            None if *from == Cursor::Start => 0,
            Some(last) if *last == after => 0,
            last => match last.and_then(|last| batch.offsets().position(|own| own == *last)) {
                Some(at) => at + 1,
                None => return,
            },
        };
        // A list that is made anew at each rewind has other names at the same count.
        let is_cached = known == 0 && !matches!(from, Cursor::Tail(_));
        let is_full = self
            .parts
            .back()
            .is_none_or(|part| part.offsets.len() >= BATCH_LEN);
        if is_full && is_cached || self.parts.is_empty() {
            if self.parts.len() == PARTS_MAX {
                self.parts.pop_front();
            }
            self.parts.push_back(OffsetPart {
                before: from.clone(),
                offsets: Vec::new(),
            });
        }
        let Some(part) = self.parts.back_mut() else {
            return;
        };
        part.offsets.extend(batch.offsets().skip(known));
    }

    /// Returns the offsets around `offset`. An unknown offset may be anywhere.
    fn context(&self, offset: u64) -> OffsetContext {
        for (index, part) in self.parts.iter().enumerate() {
            let Some(at) = part.offsets.iter().position(|own| *own == offset) else {
                continue;
            };
            let (earlier, later) = part.offsets.split_at(at + 1);
            let next = self
                .parts
                .get(index + 1)
                .into_iter()
                .flat_map(|part| &part.offsets);
            let (earlier, later) = (
                earlier.iter().copied().collect(),
                later.iter().chain(next).copied().collect(),
            );
            return OffsetContext {
                start: part.before.clone(),
                earlier,
                later,
            };
        }
        OffsetContext {
            start: Cursor::Start,
            earlier: HashSet::new(),
            later: HashSet::new(),
        }
    }

    fn held_bytes(&self) -> usize {
        self.parts
            .iter()
            .map(|part| part.before.held_bytes() + part.offsets.capacity() * size_of::<u64>())
            .sum()
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
        fn fetch(
            &mut self,
            _mount: &Mount,
            from: &Cursor,
            _is_wanted: &IsWanted<'_>,
            out: &mut DirentBatch,
        ) -> Result<()> {
            let after = match from {
                Cursor::After(position) => u32::from_be_bytes(position.0[..].try_into().unwrap()),
                _ => 0,
            };
            for &number in self.names.lock().range(after + 1..).take(BATCH_LEN) {
                let name = &number.to_string();
                out.push(
                    Dirent {
                        ino: u64::from(number),
                        kind: NodeKind::File,
                        name,
                    },
                    DirentPlace::After(&number.to_be_bytes()),
                );
            }
            Ok(())
        }
    }

    fn mount() -> Mount {
        let store = Arc::new(MemoryStore::new().unwrap());
        Mount::new(
            Arc::new(LocalDatabase::open(store, EngineOptions::default()).unwrap()),
            ViewOptions::default(),
        )
    }

    fn stream(names: &Names) -> DirectoryStream {
        let names = Arc::clone(names);
        DirectoryStream::new(
            [1, 2],
            Box::new(move |_| {
                Ok(Box::new(SetLister {
                    names: Arc::clone(&names),
                }))
            }),
        )
    }

    /// Makes one readdir call with room for `entries_max` entries. Returns the name and offset of each.
    fn read(
        stream: &mut DirectoryStream,
        mount: &Mount,
        offset: u64,
        entries_max: usize,
    ) -> Vec<(String, u64)> {
        let dots = stream.begin(offset);
        let mut out: Vec<_> = dots
            .map(|(entry, after)| (entry.name.to_owned(), after))
            .collect();
        let mut next = out.last().map_or(offset, |(_, after)| *after);
        while out.len() < entries_max
            && let Some((found, at)) = stream.batch_after(mount, next, &|| true).unwrap()
        {
            let named = found.iter_from(at).zip(found.offsets().skip(at));
            out.extend(named.map(|((entry, _), after)| (entry.name.to_owned(), after)));
            next = out.last().unwrap().1;
        }
        out.truncate(entries_max);
        out
    }

    fn set(numbers: impl IntoIterator<Item = u32>) -> Names {
        Arc::new(Mutex::new(numbers.into_iter().collect()))
    }

    /// Returns the offset of a name that was read.
    fn offset_of(listed: &[(String, u64)], name: &str) -> u64 {
        listed.iter().find(|(own, _)| own == name).unwrap().1
    }

    fn names_of(listed: Vec<(String, u64)>) -> Vec<String> {
        listed.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn dots_come_first_and_every_entry_has_its_offset() {
        let (names, mount) = (set([5, 7]), mount());
        let mut stream = stream(&names);
        let all = read(&mut stream, &mount, 0, 10);
        assert_eq!(names_of(all.clone()), [".", "..", "5", "7"]);
        assert_eq!((all[0].1, all[1].1), (1, 2));
        for (index, (_, offset)) in all.iter().enumerate() {
            assert_eq!(read(&mut stream, &mount, *offset, 10), all[index + 1..]);
        }
        assert_eq!(read(&mut stream, &mount, 1, 1), all[1..2]);
    }

    #[test]
    fn rewinding_shows_changes_and_an_ended_listing_goes_on_after_its_end() {
        let (names, mount) = (set([5]), mount());
        let mut stream = stream(&names);
        let all = read(&mut stream, &mount, 0, 10);
        names.lock().extend([1, 9]);
        assert_eq!(
            names_of(read(&mut stream, &mount, offset_of(&all, "5"), 10)),
            ["9"]
        );
        assert_eq!(
            names_of(read(&mut stream, &mount, 0, 10)),
            [".", "..", "1", "5", "9"]
        );
    }

    /// Reads all names to the end.
    fn read_all(stream: &mut DirectoryStream, mount: &Mount) -> Vec<(String, u64)> {
        let mut all: Vec<(String, u64)> = Vec::new();
        loop {
            let batch = read(
                stream,
                mount,
                all.last().map_or(0, |(_, offset)| *offset),
                1_000,
            );
            if batch.is_empty() {
                return all;
            }
            all.extend(batch);
        }
    }

    #[test]
    fn offsets_of_long_ago_are_found_again_with_bounded_memory() {
        const COUNT: u32 = 300_000;
        let (names, mount) = (set(1..=COUNT), mount());
        let mut stream = stream(&names);
        let all = read_all(&mut stream, &mount);
        assert_eq!(all.len(), COUNT as usize + 2);
        assert!(
            stream.window_len() <= WINDOW_LEN && stream.held_bytes() < 4 << 20,
            "{}",
            stream.held_bytes()
        );
        for number in [1_u32, 700, 99_999, 3, 250_000, COUNT - 1] {
            let found = read(&mut stream, &mount, offset_of(&all, &number.to_string()), 1);
            assert_eq!(names_of(found), [(number + 1).to_string()]);
        }
    }

    #[test]
    fn an_offset_is_a_place_whatever_came_and_went_since() {
        let (names, mount) = (set((1..=9_000).map(|number| number * 10)), mount());
        let mut stream = stream(&names);
        let all = read_all(&mut stream, &mount);
        let is_gone = |number: u32| number.is_multiple_of(30) || (20_000..40_000).contains(&number);
        names.lock().retain(|number| !is_gone(*number));
        names.lock().extend(
            (1..=9_000_u32)
                .filter(|number| number.is_multiple_of(7))
                .map(|number| number * 10 + 5),
        );
        let rewound = read_all(&mut stream, &mount);
        let mut other = super::tests::stream(&names);
        for (number, (_, offset)) in (0..9_000)
            .map(|number| number * 10)
            .zip(&all[1..])
            .step_by(137)
        {
            let stays = (number / 10 + 1..=9_000)
                .map(|number| number * 10)
                .find(|number| !is_gone(*number))
                .unwrap();
            let old = |names: Vec<(String, u64)>| {
                names_of(names)
                    .into_iter()
                    .find(|name| name.ends_with('0'))
                    .unwrap()
            };
            assert_eq!(
                old(read(&mut stream, &mount, *offset, 8_000)),
                stays.to_string(),
                "after {number}"
            );
            if number > 0 && !is_gone(number) {
                assert_eq!(
                    old(read(&mut other, &mount, *offset, 10)),
                    stays.to_string(),
                    "after {number}, opened later"
                );
            }
        }
        assert!(rewound.len() > 5_000);
        // The entry is gone and this handle never passed it, so nothing is known: all names come,
        // and none is left out.
        let gone = offset_of(&all, "30000");
        assert_eq!(
            names_of(read(&mut super::tests::stream(&names), &mount, gone, 1)),
            ["10"]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Checks that names which stay are listed once, whatever comes and goes between calls and
        /// however often the kernel asks again.
        #[test]
        fn what_stays_is_neither_skipped_nor_repeated(
            stays in proptest::collection::btree_set(1_u32..5_000, 0..1_500),
            changes in proptest::collection::vec((1_u32..5_000, any::<bool>(), 1_usize..200, 0_usize..3), 1..60),
            // Few values, so that many names collide.
            offset_mask in prop_oneof![Just(NAME_OFFSET_MIN - 1), Just(2_047_u64)],
        ) {
            let (names, mount) = (set(stays.iter().copied()), mount());
            let mut stream = DirectoryStream { offset_mask, ..stream(&names) };
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
