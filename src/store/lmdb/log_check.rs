//! The consistency check of `ddbfs check`: checkpoint, log and data file must fit each other, while
//! other processes may use them. `offline_store` compares with the same functions.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use lmdb::Transaction as _;

use super::checkpoint_file::{Checkpoint, CheckpointFile};
use super::directory::DATA_FILE;
use super::journal::CommitError;
use super::log::{LogReader, LoggedOperation};
use super::open_environment::OpenEnvironment;
use super::recovery::damaged_error;
use super::recovery_analysis::analyze;
use super::transaction::transaction_id;
use crate::store::StoreError;

/// Checks the checkpoint and every record after it: the last operation on each key must be what the
/// data file has. Holds a write transaction, so that no process writes meanwhile.
///
/// # Errors
/// `Damaged` with a sentence, or a failed read.
pub(super) fn check_log(dir: &Path, opened: &OpenEnvironment) -> Result<(), CommitError> {
    let transaction = opened.environment()?.begin_rw_txn()?;
    let survey = analyze(dir, &File::open(dir.join(DATA_FILE))?)?;
    if let Some(what) = survey.damage {
        return Err(damaged_error(&what).into());
    }
    let Some(checkpoint) = CheckpointFile::new(dir).read()? else {
        return Ok(());
    };
    let last_commit = transaction_id(&transaction) - 1;
    let (last_record, changes) = LoggedChanges::read(dir, &checkpoint, last_commit)?;
    // A commit without a record precedes a checkpoint that is not there yet: newer values cannot be
    // told from wrong ones.
    if last_record < last_commit {
        return Ok(());
    }
    Ok(compare_data(dir, &changes, |key| {
        match transaction.get(opened.database, &key) {
            Ok(value) => Ok(Some(value)),
            Err(lmdb::Error::NotFound) => Ok(None),
            Err(error) => Err(super::error::store_error(error)),
        }
    })?)
}

/// The last operation of a log's records on each key: the value's hash, or `None` for a deletion.
pub(super) struct LoggedChanges {
    hashes: RandomState,
    last_values: LastChanges<u64>,
}

impl LoggedChanges {
    /// Reads the records up to a commit; returns the number of the last record too.
    pub fn read(
        dir: &Path,
        checkpoint: &Checkpoint,
        last_commit: u64,
    ) -> Result<(u64, Self), StoreError> {
        let hashes = RandomState::new();
        let (last_values, last_record) =
            last_changes(dir, checkpoint, last_commit, |value| hashes.hash_one(value))?;
        Ok((
            last_record,
            Self {
                hashes,
                last_values,
            },
        ))
    }
}

/// The last change of each key; `None` is a deletion.
pub(super) type LastChanges<V> = BTreeMap<Vec<u8>, Option<V>>;

/// Reads the last operation of a log's records up to a commit on each key: what `make` makes of the
/// value, or `None` for a deletion; and the number of the last record, which may be a later one.
pub(super) fn last_changes<V>(
    dir: &Path,
    checkpoint: &Checkpoint,
    last_commit: u64,
    make: impl Fn(&[u8]) -> V,
) -> Result<(LastChanges<V>, u64), StoreError> {
    let mut last_values = BTreeMap::new();
    let Checkpoint {
        position,
        epoch,
        number,
        ..
    } = *checkpoint;
    let (_, last_record) =
        LogReader::open(dir)?.replay(position, epoch, number, &mut |number, mut payload| {
            // The next record may be of a process that was killed before its commit.
            if number > last_commit {
                return Ok(());
            }
            payload.try_for_each(|operation| {
                let (key, value) = match operation? {
                    LoggedOperation::Put(key, value) => (key, Some(make(value))),
                    LoggedOperation::Delete(key) => (key, None),
                };
                last_values.insert(key.to_vec(), value);
                Ok(())
            })
        })?;
    Ok((last_values, last_record))
}

/// Checks that the data file has the changes of the records.
///
/// # Errors
/// `Damaged` with a sentence if it does not; any error of `get`.
pub(super) fn compare_data<'v>(
    dir: &Path,
    changes: &LoggedChanges,
    get: impl Fn(&[u8]) -> Result<Option<&'v [u8]>, StoreError>,
) -> Result<(), StoreError> {
    let mut others = 0;
    for (key, value) in &changes.last_values {
        others += usize::from(get(key)?.map(|value| changes.hashes.hash_one(value)) != *value);
    }
    if others == 0 {
        return Ok(());
    }
    Err(StoreError::Damaged(format!(
        "the log in {dir:?} is not that of data.mdb: {others} keys of the log's records are otherwise in data.mdb. Write out what can be read \
         (`ddbfs dump`), and load it into a new data directory."
    )))
}
