//! What the items of a table look like: their keys generalised to patterns (`USER#<n>`), and of each pair of patterns, of the partition key and of
//! the sort key, how many items there are, how large, with which attributes, and in which indexes.
//!
//! ```text
//! class.rs    a key as parts, and what a part is by its form: a number, a date, a UUID
//! tree.rs     which names are constants, learnt while keys are read
//! shape.rs    what is counted of a pattern: sizes and attributes
//! learn.rs    records to shapes, and which indexes a record enters
//! report.rs   the answer as a text, and for programs
//! ```
//! One pass over the records, which are not decoded, in bounded memory; of a large table a sample is read: strips of hash space, of equal width. It
//! charges nothing. It sees a table that is written meanwhile as it is where it reads.

mod class;
mod learn;
mod report;
mod shape;
mod tree;

use std::ops::ControlFlow;
use std::sync::Arc;

pub use report::{json, markdown};
pub use shape::{Pattern, Shape};
pub use tree::{PATHS_MAX, PATTERNS_MAX};

use crate::database::{Browse, Source, SourceStats};
use crate::model::api::Segment;
use crate::model::{Error, Key, TableName, TableSchema};
use learn::Learner;

/// Items read in one view of the store: a write that needs a larger data file waits for the end of every view.
const VIEW_ITEMS_MAX: u64 = 20_000;
/// Strips of hash space from which a sample is taken.
const STRIPS: u32 = 256;

/// The path of an item's file, relative to its table's directory: who shows items as files knows.
pub type PathOf = fn(&Key) -> String;

/// What the items of a table look like.
#[derive(Debug, Clone)]
pub struct Shapes {
    pub schema: Arc<TableSchema>,
    /// What it lacks, if it is not whole.
    pub unfinished: Option<String>,
    /// When reading began, milliseconds since the epoch.
    pub made_ms: u64,
    /// Of the whole table, then.
    pub stats: SourceStats,
    pub items_read: u64,
    /// The commonest first.
    pub patterns: Vec<Pattern>,
}

impl Shapes {
    /// Was only a part of the items read?
    #[must_use]
    pub fn is_sample(&self) -> bool {
        self.items_read < self.stats.entries
    }
}

/// Reads a table, of a larger one about `items_max` items; `None` when there is no such table.
///
/// # Errors
/// The database failed; the table was dropped meanwhile.
pub fn read(
    database: &dyn Browse,
    table: &TableName,
    items_max: u64,
    now_ms: u64,
) -> Result<Option<Shapes>, Error> {
    let Some(schema) = database.schema(table)? else {
        return Ok(None);
    };
    let source = Source {
        table: table.clone(),
        index: None,
    };
    let stats = database.stats(&source)?;
    let mut learner = Learner::new(&schema);
    if stats.entries <= items_max {
        read_part(database, &source, None, u64::MAX, &mut learner)?;
    } else {
        read_strips(database, &source, items_max, &mut learner)?;
    }
    let (items_read, patterns) = learner.finish();
    let unfinished = database.unfinished(table)?;
    Ok(Some(Shapes {
        schema,
        unfinished,
        made_ms: now_ms,
        stats,
        items_read,
        patterns,
    }))
}

/// A sample: the first items of each strip. What one strip lacks the next ones may have more.
fn read_strips(
    database: &dyn Browse,
    source: &Source,
    items_max: u64,
    learner: &mut Learner,
) -> Result<(), Error> {
    for index in 0..STRIPS {
        let left = items_max.saturating_sub(learner.items());
        let strip = Segment {
            index,
            total: STRIPS,
        };
        read_part(
            database,
            source,
            Some(strip),
            left.div_ceil(u64::from(STRIPS - index)),
            learner,
        )?;
    }
    Ok(())
}

/// At most so many items of all or of a strip, in several views.
fn read_part(
    database: &dyn Browse,
    source: &Source,
    strip: Option<Segment>,
    items_max: u64,
    learner: &mut Learner,
) -> Result<(), Error> {
    let end = learner.items().saturating_add(items_max);
    let mut last = None;
    while learner.items() < end {
        let end_of_view = end.min(learner.items() + VIEW_ITEMS_MAX);
        let mut learnt = Ok(());
        last = database.records(source, strip, last.as_ref(), &mut |record| {
            learnt = learner.add(record);
            let goes_on = learnt.is_ok() && learner.items() < end_of_view;
            if goes_on {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        learnt?;
        if last.is_none() {
            return Ok(());
        }
    }
    Ok(())
}
