//! What items look like (`shapes.md`, `shapes.json`): read once for both files, and of a large table that is being written not at every question.

use crate::fs::prelude::*;
use crate::inspect::shapes::{Shapes, read};
use std::time::Instant;

/// Items read of a table: of a larger one a sample, so that nobody waits for long.
const ITEMS_MAX: u64 = 1_000_000;
/// What is read of a table with as many items is never older than its last write.
const FRESH_ITEMS_MAX: u64 = 20_000;
/// What took longer is good for so many times as long, writes or not.
const TIMES_TAKEN: u32 = 20;
/// Tables of which it is kept.
const TABLES_MAX: usize = 100;

#[derive(Debug)]
struct Kept {
    /// Another one after a change of the definition, and of another table of that name.
    schema: Arc<TableSchema>,
    /// What was committed when reading began.
    commit_id: u64,
    at: Instant,
    took: Duration,
    shapes: Arc<Shapes>,
}

/// Somebody makes them while it is locked.
type Place = Arc<Mutex<Option<Kept>>>;

/// See the module.
#[derive(Debug, Default)]
pub struct KeptShapes {
    tables: Mutex<Recent<TableName, Place, TABLES_MAX>>,
}

impl KeptShapes {
    /// The shapes of a table, as of now or of the time that they tell. Who asks while they are made waits.
    ///
    /// # Errors
    /// `NotFound`; the database failed.
    pub fn get(&self, database: &dyn Browse, table: &TableName) -> Result<Arc<Shapes>, FsError> {
        let place = self.place(table);
        let mut kept = place.lock();
        let schema = database.schema(table)?.ok_or(FsError::NotFound)?;
        // Before they are read: a commit meanwhile makes them old at once.
        let commit_id = database.commit_id();
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_good(&schema, commit_id)) {
            return Ok(Arc::clone(&kept.shapes));
        }
        let at = Instant::now();
        let shapes = Arc::new(read(database, table, ITEMS_MAX, now_ms())?.ok_or(FsError::NotFound)?);
        *kept = Some(Kept { schema, commit_id, at, took: at.elapsed(), shapes: Arc::clone(&shapes) });
        Ok(shapes)
    }

    fn place(&self, table: &TableName) -> Place {
        let (mut tables, now) = (self.tables.lock(), now_ms());
        if let Some(place) = tables.renew(table, now) {
            return Arc::clone(place);
        }
        let place = Place::default();
        tables.keep(table.clone(), Arc::clone(&place), now);
        place
    }
}

impl Kept {
    fn is_good(&self, schema: &Arc<TableSchema>, commit_id: u64) -> bool {
        let is_large = self.shapes.items_read > FRESH_ITEMS_MAX;
        let is_young = self.at.elapsed() < self.took * TIMES_TAKEN;
        Arc::ptr_eq(&self.schema, schema) && (self.commit_id == commit_id || is_large && is_young)
    }
}
