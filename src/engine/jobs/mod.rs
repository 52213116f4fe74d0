//! Background jobs: copies of items and removal of history, batch after batch, each with a stored
//! cursor from which it resumes after a restart.
//!
//! A copy reads a source **as of a version** and writes it to another source unchanged (a backup,
//! or the input of an export) or to a table (a restore). It needs no long read transaction: each
//! batch is a write transaction of its own, first over the items, skipping those changed since,
//! then over the history for their old images (see `history`). An item seen twice is the same both
//! times. Its position is in its record, written with each batch, so that a job resumes correctly
//! after a restart, and even with two processes. A job that cannot go on, as on a full disk, fails
//! (see `finish`): it releases its source, and its target has the reason.

mod buckets;
mod changes;
mod copy;
mod export;
mod finish;
mod import;
mod import_files;

use std::ops::Bound;

use super::{
    account::{
        AccountRecord, ExportRecord, ImportRecord, JobRecord,
        job::{ChangesJob, CopyJob, Job},
    },
    purge,
    runtime::prelude::*,
};
use crate::model::api::{Completion, common::JobFailure, transfer::TransferStatus};

use finish::{FollowUp, end, to_failure};

pub use buckets::{relative_path, root};
pub use export::ExportSelection;
pub use finish::{add, bound_at, current_bound, trim};
pub use import::run as run_import;

/// Resumes every job that an earlier process left.
pub fn resume(shared: &Arc<EngineShared>) -> Result<(), StoreError> {
    for record in readable_records::<JobRecord>(&*shared.store.snapshot()?)? {
        start(Arc::clone(shared), record.id);
    }
    resume_transfers(shared)
}

/// Runs a job to its end, one batch at a time.
pub fn start(shared: Arc<EngineShared>, id: u32) {
    let shared_clone = Arc::clone(&shared);
    let next = Completion::detached(
        move |outcome: Result<Option<FollowUp>, Error>| match outcome {
            Ok(None) => start(shared_clone, id),
            Ok(Some(rest)) => start_follow_up(&shared_clone, rest),
            Err(error) => end_failed(&shared_clone, id, &error),
        },
    );
    // `next` submits the next batch from the writer thread. It only enters the queue: no recursion,
    // and waiting writes come in between.
    shared.submit(move |transaction| run_batch(transaction, id), next);
}

/// Starts the follow-up work of a finished job.
fn start_follow_up(shared: &Arc<EngineShared>, follow_up: FollowUp) {
    follow_up
        .export
        .into_iter()
        .for_each(|arn| export::write(shared, arn));
    follow_up
        .job
        .into_iter()
        .for_each(|job| start(Arc::clone(shared), job));
    purge::start_all(shared, follow_up.removal);
}

/// Resumes the exports and imports that an earlier process left.
fn resume_transfers(shared: &Arc<EngineShared>) -> Result<(), StoreError> {
    if shared.options.buckets.is_none() {
        return Ok(());
    }
    let (exports, imports) = {
        let read = shared.store.snapshot()?;
        (
            readable_records::<ExportRecord>(&*read)?,
            readable_records::<ImportRecord>(&*read)?,
        )
    };
    for record in exports
        .into_iter()
        .filter(|of| of.is_copied && of.export.status == TransferStatus::InProgress)
    {
        export::write(shared, record.export.arn);
    }
    for record in imports
        .into_iter()
        .filter(|of| of.import.status == TransferStatus::InProgress)
    {
        import::run(shared, record.import);
    }
    Ok(())
}

/// Returns the readable records. An unreadable one, such as one of a newer ddbfs, stays for the
/// program that can read it.
fn readable_records<R: AccountRecord>(read: &dyn Read) -> Result<Vec<R>, StoreError> {
    let mut found = Vec::new();
    R::each(read, |record| {
        match record {
            Ok(record) => found.push(record),
            Err(error) => log::warn!("{} is not continued: {error}", R::NAME),
        }
        Ok(())
    })?;
    Ok(found)
}

/// Runs one batch of a job; returns the follow-up work if the job is finished.
fn run_batch(transaction: &mut Transaction<'_>, id: u32) -> Result<Option<FollowUp>, Error> {
    let name = id.to_string();
    // Another process may have ended it. Its record, written with each batch, decides.
    let Some(JobRecord { job, .. }) = JobRecord::get(transaction.read(), &name)? else {
        return Ok(Some(FollowUp::default()));
    };
    let next = match &job {
        Job::Copy(copy) => copy::run_batch(transaction, copy)?.map(|place| {
            Job::Copy(CopyJob {
                place,
                ..copy.clone()
            })
        }),
        Job::Changes(of) => changes::run_batch(transaction, of)?.map(|after| {
            Job::Changes(ChangesJob {
                after,
                ..of.clone()
            })
        }),
        Job::Trim { source, below } => match trim_batch(transaction, *source, *below)? {
            true => return Ok(None),
            false => None,
        },
    };
    match next {
        Some(job) => Ok(JobRecord { id, job }
            .put(transaction.batch, &name)
            .map(|()| None)?),
        None => end(transaction, id, job, None).map(Some),
    }
}

/// Removes a batch of a source's history; returns true if there may be more.
fn trim_batch(
    transaction: &mut Transaction<'_>,
    source: SourceId,
    before: Version,
) -> Result<bool, StoreError> {
    let upper = Bound::Excluded(StoreKey::History(source, before).encode());
    let range = KeyRange {
        upper,
        ..Space::History.range(source)
    };
    transaction.mark_removal();
    let keys = transaction.shared.batch_size.keys();
    let goes_on = walks::delete_first(transaction.batch, &range, keys)? == keys;
    if goes_on {
        transaction.shared.batch_size.grow();
    }
    Ok(goes_on)
}

/// Ends a job after an error. On a shutdown its record stays, and the next open resumes it.
fn end_failed(shared: &Arc<EngineShared>, id: u32, error: &Error) {
    if matches!(
        error,
        Error::Store(StoreError::Closed | StoreError::ReadOnly)
    ) {
        log::debug!("background job {id} waits for the next open: {error}");
        return;
    }
    log::warn!("background job {id} has failed: {error}");
    give_up(shared, id, to_failure(error));
}

fn give_up(shared: &Arc<EngineShared>, id: u32, failure: JobFailure) {
    let (shared_clone, of_job) = (Arc::clone(shared), failure.clone());
    let next = Completion::detached(
        move |outcome: Result<Option<FollowUp>, Error>| match outcome {
            Ok(None) if shared_clone.batch_size.halve() => start(shared_clone, id),
            Ok(None) => {
                purge::retry_later(&shared_clone, move |shared| start(Arc::clone(shared), id))
            }
            Ok(Some(rest)) => start_follow_up(&shared_clone, rest),
            Err(Error::Store(StoreError::NoSpace)) => {
                purge::retry_later(&shared_clone, move |shared| give_up(shared, id, failure))
            }
            // The record still exists: the next open tries it again.
            Err(error) => log::warn!("background job {id} cannot be ended: {error}"),
        },
    );
    shared.submit(
        move |transaction| finish::give_up(transaction, id, &of_job),
        next,
    );
}
