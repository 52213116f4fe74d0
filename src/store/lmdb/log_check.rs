//! Whether checkpoint, log and data file fit each other, beside processes that use them.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use lmdb::Transaction as _;

use super::journal::Failure;
use super::log::{Operation, replay};
use super::opened::Opened;
use super::slots::Slots;
use super::transaction::transaction_id;
use crate::store::StoreError;

/// Looks at the checkpoint and at every record behind it: what they did last to a key is what the data file has. Nobody writes meanwhile.
///
/// # Errors
/// `Damaged` with a sentence; those of reading.
pub(super) fn check_log(dir: &Path, opened: &Opened) -> Result<(), Failure> {
    let transaction = opened.environment()?.begin_rw_txn()?;
    let Some(checkpoint) = Slots::new(dir).read()? else { return Ok(()) };
    let last_commit = transaction_id(&transaction) - 1;
    if checkpoint.number > last_commit {
        return Err(
            wrong(dir, &format!("the checkpoint is of commit {}, and data.mdb has {last_commit}", checkpoint.number)).into()
        );
    }
    let hashes = RandomState::new();
    let mut after = BTreeMap::new();
    let (_, last_record) = replay(dir, checkpoint.position, checkpoint.epoch, checkpoint.number, &mut |number, mut payload| {
        // The next one may be of a process that was killed before its commit.
        payload.by_ref().filter(|_| number <= last_commit).try_for_each(|operation| {
            let (key, value) = match operation? {
                Operation::Put(key, value) => (key, Some(hashes.hash_one(value))),
                Operation::Delete(key) => (key, None),
            };
            after.insert(key.to_vec(), value);
            Ok(())
        })
    })?;
    if last_record > last_commit + 1 {
        return Err(wrong(dir, &format!("it has commits up to {last_record}, and data.mdb up to {last_commit}")).into());
    }
    // A commit without a record is followed by a checkpoint that is not there yet: newer values cannot be told from wrong ones.
    if last_record < last_commit {
        return Ok(());
    }
    let is_there = |(key, value): &(&Vec<u8>, &Option<u64>)| match transaction.get(opened.database, key) {
        Ok(found) => **value == Some(hashes.hash_one(found)),
        Err(error) => error == lmdb::Error::NotFound && value.is_none(),
    };
    match after.iter().filter(|entry| !is_there(entry)).count() {
        0 => Ok(()),
        count => Err(wrong(dir, &format!("{count} keys of the log's records are otherwise in data.mdb")).into()),
    }
}

fn wrong(dir: &Path, what: &str) -> StoreError {
    StoreError::Damaged(format!(
        "the log in {dir:?} is not that of data.mdb: {what}. Write out what can be read (`ddbfs dump`), and load it into a new data directory."
    ))
}
