//! A parallel Scan: a thread a segment.

use std::panic::resume_unwind;
use std::thread;

use super::journal::Place;
use super::tally::{Tally, patiently};
use super::{CopyError, Side};
use crate::model::Item;
use crate::model::api::Segment;
use crate::model::api::common::ReturnConsumedCapacity;
use crate::model::api::{Page, ScanRequest};

/// Called with a segment, the items of its next page and the page; on a thread of that segment.
pub type EachPage<'a> = dyn Fn(u32, Vec<Item>, &Page) -> Result<(), CopyError> + Sync + 'a;

/// Reads every segment from its place to its end, or until the tally says that all is to end.
///
/// # Errors
/// The first of any thread; the others end with their page.
pub fn scan(side: &Side, places: Vec<Place>, tally: &Tally, each: &EachPage<'_>) -> Result<(), CopyError> {
    let total = u32::try_from(places.len()).unwrap_or(u32::MAX);
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (index, place) in (0..).zip(places) {
            let segment = Segment { index, total };
            let read = move || tally.work(|| read(side, segment, place, tally, each));
            let thread = thread::Builder::new().name(format!("segment {index}")).spawn_scoped(scope, read);
            threads.push(tally.work(|| thread.map_err(|source| CopyError::Io { doing: "no thread for a segment", source }))?);
        }
        // All have ended before the first error is told.
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect();
        ended.into_iter().collect()
    })
}

fn read(side: &Side, segment: Segment, mut place: Place, tally: &Tally, each: &EachPage<'_>) -> Result<(), CopyError> {
    let mut request = ScanRequest::new(side.table.clone());
    request.segment = Some(segment);
    request.return_consumed_capacity = ReturnConsumedCapacity::Indexes;
    loop {
        request.exclusive_start_key = match place {
            Place::Start => None,
            Place::After(key) => Some(key),
            Place::End => return Ok(()),
        };
        let page = patiently(|| side.database.scan(&request)).map_err(|error| side.failed(error)).and_then(|mut read| {
            each(segment.index, read.items.take().unwrap_or_default(), &read.page)?;
            Ok(read.page)
        });
        match page {
            // What was given up then is no failure.
            _ if tally.ends() => return Ok(()),
            page => place = page?.last_evaluated_key.map_or(Place::End, Place::After),
        }
    }
}
