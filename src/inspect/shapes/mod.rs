//! The shapes of a table's items: their keys generalized to patterns (`USER#<n>`), and for each
//! pair of patterns, of the partition key and of the sort key, the number of items, their sizes,
//! their attributes, and their indexes.
//!
//! ```text
//! class.rs    a key as parts, and the class of a part by its form: a number, a date, a UUID
//! tree.rs     which names are constants, learned while keys are read
//! shape.rs    the counters of a pattern: sizes and attributes
//! learn.rs    records to shapes, and the indexes that a record enters
//! report.rs   the result as text, and as JSON
//! ```
//! One pass over the records, which are not decoded, in bounded memory. Of a large table a sample
//! is read: strips of hash space, of equal width. It consumes no capacity. A table that is written
//! in the meantime is seen in the state at which each part is read.

pub mod class;
mod learn;
mod report;
mod shape;
mod tree;

use std::ops::ControlFlow;
use std::sync::Arc;

pub use report::{json, markdown};
pub use shape::{ItemShape, Pattern};
pub use tree::{PATHS_MAX, PATTERNS_MAX};

use crate::database::{Browse, SourceName, SourceStats};
use crate::inspect::sampling;
use crate::model::api::Segment;
use crate::model::{Error, Key, TableName, TableSchema};
use learn::Learner;

/// The strips of hash space from which a sample is taken.
const STRIPS: u32 = 256;

/// A function that returns the path of an item's file, relative to its table's directory; the
/// filesystem provides it.
pub type PathOf = fn(&Key) -> String;

/// The shapes of a table's items.
#[derive(Debug, Clone)]
pub struct Shapes {
    pub schema: Arc<TableSchema>,
    /// A sentence about the missing parts of an incomplete table.
    pub unfinished: Option<String>,
    /// The time at which reading began, milliseconds since the epoch.
    pub made_ms: u64,
    /// The counters of the whole table at that time.
    pub stats: SourceStats,
    pub items_read: u64,
    /// The most common first.
    pub patterns: Vec<Pattern>,
}

impl Shapes {
    /// True if only a part of the items was read.
    #[must_use]
    pub fn is_sample(&self) -> bool {
        self.items_read < self.stats.entries
    }
}

/// Reads a table, or about `items_max` items of a larger one; returns `None` if there is no such
/// table.
///
/// # Errors
/// Fails if the database fails, or if the table is deleted in the meantime.
pub fn read(
    database: &dyn Browse,
    table: &TableName,
    items_max: u64,
    now_ms: u64,
) -> Result<Option<Shapes>, Error> {
    let Some(schema) = database.schema(table)? else {
        return Ok(None);
    };
    let source = SourceName::from(table);
    let stats = database.stats(&source)?;
    let mut learner = Learner::new(&schema);
    if stats.entries <= items_max {
        sampling::each_record(database, &source, None, u64::MAX, &mut |record| {
            learner.add(record).map(ControlFlow::Continue)
        })?;
    } else {
        read_strips(database, &source, items_max, &mut learner)?;
    }
    let (items_read, patterns) = learner.finish();
    let unfinished = database.incomplete_pull(table)?;
    Ok(Some(Shapes {
        schema,
        unfinished,
        made_ms: now_ms,
        stats,
        items_read,
        patterns,
    }))
}

/// Reads a sample: the first items of each strip. The next strips make up for items that one strip
/// lacks.
fn read_strips(
    database: &dyn Browse,
    source: &SourceName,
    items_max: u64,
    learner: &mut Learner,
) -> Result<(), Error> {
    for index in 0..STRIPS {
        let left = items_max.saturating_sub(learner.items());
        let strip = Segment {
            index,
            total: STRIPS,
        };
        let items_max = left.div_ceil(u64::from(STRIPS - index));
        sampling::each_record(database, source, Some(strip), items_max, &mut |record| {
            learner.add(record).map(ControlFlow::Continue)
        })?;
    }
    Ok(())
}
