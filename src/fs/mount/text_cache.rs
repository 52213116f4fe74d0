//! The text of an open file ([`FileText`]), and the caches of texts: of files that read a whole
//! table ([`TableTexts`], [`ShapesCache`]), and as a program wrote them ([`WrittenTexts`], for `-o
//! keep_text`).

use std::time::Instant;

use crate::codec::sanitize;
use crate::fs::{prelude::*, ttl_map::WeightedMap};
use crate::inspect::shapes::{Shapes, read};
use crate::store::budget::{MemoryBudget, Permit};

/// Time for which a text is cached.
const TEXT_TTL: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct CachedText {
    /// The last commit before the text was made.
    commit_id: u64,
    at: Instant,
    text: Arc<FileText>,
}

/// A cache of texts that are made from a whole table, `missing.ndjson` and the like, by the
/// identity of the file. A program needs one three times, for its lookup, its open and its size: it
/// is made once for all callers until the next commit.
#[derive(Debug, Default)]
pub struct TableTexts {
    texts: Mutex<HashMap<String, Arc<Mutex<Option<CachedText>>>>>,
}

impl TableTexts {
    /// Returns the current text. A caller waits while another makes it.
    pub fn get(
        &self,
        identity: &str,
        commit_id: impl Fn() -> u64,
        make: impl FnOnce() -> Result<Arc<FileText>, FsError>,
    ) -> Result<Arc<FileText>, FsError> {
        let place = Arc::clone(self.texts.lock().entry(identity.to_owned()).or_default());
        let mut made = place.lock();
        // Read before the text is made: a commit meanwhile makes the text old, never wrongly new.
        let now = commit_id();
        if let Some(made) = made
            .as_ref()
            .filter(|made| made.commit_id == now && made.at.elapsed() < TEXT_TTL)
        {
            return Ok(Arc::clone(&made.text));
        }
        // Its bytes are freed before the next are made: both together may exceed the memory.
        *made = None;
        let text = make()?;
        *made = Some(CachedText {
            commit_id: now,
            at: Instant::now(),
            text: Arc::clone(&text),
        });
        Ok(text)
    }

    /// Drops the texts that were not used for a while.
    pub fn evict(&self) {
        let is_old = |made: &Option<CachedText>| {
            made.as_ref()
                .is_none_or(|made| made.at.elapsed() >= TEXT_TTL)
        };
        self.texts
            .lock()
            .retain(|_, place| Arc::strong_count(place) > 1 || !is_old(&place.lock()));
    }
}

/// The whole text of a file, counted as long as the file is open.
#[derive(Debug, Default)]
pub struct FileText {
    pub bytes: Vec<u8>,
    _permit: Permit,
}

impl FileText {
    /// Counts the text in the budget.
    ///
    /// # Errors
    /// [`FsError::TooManyOpen`] when the budget is used up.
    pub fn new(mut bytes: Vec<u8>, budget: &MemoryBudget) -> Result<Arc<Self>, FsError> {
        bytes.shrink_to_fit();
        let permit = budget
            .permit(bytes.len())
            .map_err(|_| FsError::TooManyOpen)?;
        Ok(Arc::new(Self {
            bytes,
            _permit: permit,
        }))
    }
}

/// Formats JSON for files, safe to show on a terminal.
#[must_use]
pub fn pretty_json(json: &Value) -> Vec<u8> {
    sanitize::json(&format!("{json:#}\n")).into_bytes()
}

/// The maximum bytes of all written texts and their entries.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of a text's entry beside its own.
const ENTRY_BYTES: usize = 128;

/// The number of an item in the view, and a version of it.
pub type ItemVersion = (u64, Version);

/// `-o keep_text`: the texts that programs wrote, by the item and the version that each of them
/// made. As long as an item is of that version its file is that text, byte for byte. Memory is
/// bounded, and the oldest are evicted: their items are rendered as all others.
#[derive(Debug, Default)]
pub struct WrittenTexts {
    texts: Mutex<WeightedMap<ItemVersion, Arc<Vec<u8>>, { usize::MAX }, BYTES_MAX>>,
}

impl WrittenTexts {
    /// Keeps the text that made this version.
    pub fn insert(&self, written: ItemVersion, text: &[u8]) {
        self.texts
            .lock()
            .insert(written, Arc::new(text.to_vec()), text.len() + ENTRY_BYTES);
    }

    pub fn get(&self, written: ItemVersion) -> Option<Arc<Vec<u8>>> {
        self.texts.lock().get(&written).cloned()
    }
}

/// The maximum number of items read of a table; of a larger table a sample, to bound the wait.
const ITEMS_MAX: u64 = 1_000_000;
/// Up to this number of items the shapes are never older than the table's last write.
const FRESH_ITEMS_MAX: u64 = 20_000;
/// Shapes of larger tables are valid for this multiple of the time that they took, despite writes.
const AGE_FACTOR: u32 = 20;
/// The maximum number of tables with cached shapes.
const TABLES_MAX: usize = 100;

#[derive(Debug)]
struct CachedShapes {
    /// The table's definition; a changed one, or that of another table of the name, invalidates the
    /// shapes.
    schema: Arc<TableSchema>,
    /// The last commit before the items were read.
    commit_id: u64,
    at: Instant,
    took: Duration,
    shapes: Arc<Shapes>,
}

/// The cached shapes of a table, locked while they are made.
type ShapesSlot = Arc<Mutex<Option<CachedShapes>>>;

/// A cache of the shapes of items (`shapes.md`, `shapes.json`): read once for both files, and for a
/// large table with writes not at every call.
#[derive(Debug, Default)]
pub struct ShapesCache {
    tables: Mutex<TtlMap<TableName, ShapesSlot, TABLES_MAX>>,
}

impl ShapesCache {
    /// Returns the shapes of a table, current or as of the time in them. A caller waits while
    /// another makes them.
    ///
    /// # Errors
    /// [`FsError::NotFound`] for an unknown table; errors of the database.
    pub fn get(&self, database: &dyn Browse, table: &TableName) -> Result<Arc<Shapes>, FsError> {
        let place = self.slot(table);
        let mut kept = place.lock();
        let schema = database.schema(table)?.ok_or(FsError::NotFound)?;
        // Read before the items: a commit meanwhile makes the shapes old.
        let commit_id = database.commit_id();
        if let Some(kept) = kept
            .as_ref()
            .filter(|kept| kept.is_fresh(&schema, commit_id))
        {
            return Ok(Arc::clone(&kept.shapes));
        }
        let at = Instant::now();
        let shapes =
            Arc::new(read(database, table, ITEMS_MAX, now_ms())?.ok_or(FsError::NotFound)?);
        *kept = Some(CachedShapes {
            schema,
            commit_id,
            at,
            took: at.elapsed(),
            shapes: Arc::clone(&shapes),
        });
        Ok(shapes)
    }

    fn slot(&self, table: &TableName) -> ShapesSlot {
        let (mut tables, now) = (self.tables.lock(), now_ms());
        if let Some(place) = tables.touch(table, now) {
            return Arc::clone(place);
        }
        let place = ShapesSlot::default();
        tables.insert(table.clone(), Arc::clone(&place), now);
        place
    }
}

impl CachedShapes {
    fn is_fresh(&self, schema: &Arc<TableSchema>, commit_id: u64) -> bool {
        let is_large = self.shapes.items_read > FRESH_ITEMS_MAX;
        let is_young = self.at.elapsed() < self.took * AGE_FACTOR;
        Arc::ptr_eq(&self.schema, schema) && (self.commit_id == commit_id || is_large && is_young)
    }
}

#[cfg(test)]
mod texts_tests {
    use super::*;
    use crate::store::budget::MemoryBudget;

    #[test]
    fn a_text_is_made_once_until_something_is_committed() {
        let (texts, budget) = (TableTexts::default(), MemoryBudget::new(1 << 20));
        let check = |commit_id: u64, text: &str, expected: &str| {
            let made = texts
                .get(
                    "a",
                    || commit_id,
                    || FileText::new(text.as_bytes().to_vec(), &budget),
                )
                .unwrap();
            assert_eq!(made.bytes, expected.as_bytes());
        };
        check(1, "one", "one");
        check(1, "two", "one");
        check(2, "two", "two");
        texts.evict();
        check(2, "three", "two");
        assert_eq!(
            texts.get("b", || 1, || Err(FsError::NotFound)).unwrap_err(),
            FsError::NotFound
        );
        texts.evict();
        assert_eq!(texts.texts.lock().len(), 1);
    }
}

#[cfg(test)]
mod written_tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_the_newest_stay() {
        let written = WrittenTexts::default();
        let text = vec![b'x'; 1024 * 1024];
        (0..200).for_each(|version| written.insert((1, version), &text));
        (0..50).for_each(|_| written.insert((1, 199), b"{}"));
        assert!(written.get((1, 0)).is_none() && written.get((2, 199)).is_none());
        assert_eq!(
            written.get((1, 199)).as_deref().map(Vec::as_slice),
            Some(&b"{}"[..])
        );
        let texts = written.texts.lock();
        let held: usize = texts.values().map(|text| text.len() + ENTRY_BYTES).sum();
        assert!(
            texts.bytes() == held && held <= BYTES_MAX && held > BYTES_MAX / 2,
            "{held} of {}",
            texts.bytes()
        );
    }
}
