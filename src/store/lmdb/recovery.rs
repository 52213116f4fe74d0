//! Opening after a power cut: the last checkpoint's commit, and the log's behind it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use lmdb::{Error, Transaction as _, WriteFlags};

use super::directory::DataDirectory;
use super::error::store_error;
use super::heads::damaged;
use super::identity::{IDENTITY_BYTES, identity, is_same_file};
use super::locks::{Byte, Locks};
use super::log::{LOG_FILES, Operation, Payload, replay, sync_logs};
use super::opened::Opened;
use super::options::LmdbOptions;
use super::pages::{self, Damage, Reach};
use super::slots::{Checkpoint, Slots};
use super::transaction::transaction_id;
use crate::store::StoreError;

/// Makes the data file whole, if it was not closed by its last process; to be called by who has the store alone. Ended at any moment, it
/// can begin again: the checkpoint is protected and counts until the data file is on disk.
///
/// # Errors
/// The files are damaged, or there is no room on the disk.
pub(super) fn recover(directory: &DataDirectory, options: &LmdbOptions) -> Result<(), StoreError> {
    let slots = Slots::new(directory.path());
    let Some(checkpoint) = slots.read()? else { return Ok(()) };
    let failed = |damage: Damage| damaged(directory, &damage);
    let file = OpenOptions::new().read(true).write(true).open(directory.data_file()).map_err(|error| failed(error.into()))?;
    // Its process was killed, and no more: all that it wrote is in the page cache. Records behind the checkpoint stay for the next power cut,
    // on disk though it may not have come to that.
    if checkpoint.is_trusted && identity(&file).is_ok_and(|identity| identity == Some(checkpoint.identity)) {
        return sync_logs(directory.path()).map_err(|error| failed(error.into()));
    }
    let commits = replay_on(directory, options, &file, &checkpoint).map_err(|error| match error {
        Failure::Damage(damage) => failed(damage),
        Failure::Store(error) => error,
    })?;
    log::info!("the store was not closed: {commits} commits were recovered from its log");
    become_plain(&file, &slots, directory.path()).map_err(|error| failed(error.into()))
}

/// Takes a store that no process has open, and makes it what its last process should have left: a data file on disk, without a log. False,
/// and nothing is done, when a process has it open. It stays taken until `locks` are closed.
///
/// # Errors
/// As for [`recover`].
pub(super) fn make_plain(directory: &DataDirectory, locks: &Locks) -> Result<bool, StoreError> {
    let failed = |error: io::Error| damaged(directory, &error.into());
    let _opening = locks.hold(Byte::Opening).map_err(failed)?;
    if !locks.be_alone(Byte::Presence).map_err(failed)? {
        return Ok(false);
    }
    recover(directory, &LmdbOptions::default())?;
    let slots = Slots::new(directory.path());
    if slots.exist() {
        File::open(directory.data_file()).and_then(|file| become_plain(&file, &slots, directory.path())).map_err(failed)?;
    }
    Ok(true)
}

enum Failure {
    Damage(Damage),
    Store(StoreError),
}

impl From<Damage> for Failure {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// How many commits were in the log.
fn replay_on(directory: &DataDirectory, options: &LmdbOptions, file: &File, checkpoint: &Checkpoint) -> Result<u64, Failure> {
    if file.metadata().map_err(Damage::from)?.len() == 0 {
        return Err(Damage::Empty.into());
    }
    if pages::heads(file).is_ok_and(|heads| heads.iter().all(|head| head.commit < checkpoint.number)) {
        return Err(older(directory).into());
    }
    if pages::restore(file, &checkpoint.head)? != checkpoint.number {
        return Err(Damage::Head.into());
    }
    // Before LMDB follows its pages.
    pages::walk(file, checkpoint.number, if is_copy(file, checkpoint) { Reach::Whole } else { Reach::Bounded })?;
    let opened = Opened::open(directory, options)?;
    // Before anything is written: this must be able to begin again.
    if opened.pin().map_err(store_error)? != checkpoint.number {
        return Err(Damage::Head.into());
    }
    let Checkpoint { position, epoch, number, .. } = *checkpoint;
    let (_, last) = replay(directory.path(), position, epoch, number, &mut |number, payload| apply(&opened, number, payload))?;
    Ok(last - number)
}

/// Whether this is not the file that the checkpoint was made for. Nobody knows then whether somebody wrote while it was copied, page after
/// page, so that some may be of a later commit.
fn is_copy(file: &File, checkpoint: &Checkpoint) -> bool {
    let is_known = checkpoint.identity != [0; IDENTITY_BYTES];
    is_known && matches!(identity(file), Ok(Some(identity)) if !is_same_file(&identity, &checkpoint.identity))
}

/// A data file that lacks what its checkpoint says is there: the pages of that commit would be any others.
fn older(directory: &DataDirectory) -> StoreError {
    StoreError::Damaged(format!(
        "{:?} is older than the checkpoint beside it: the directory was copied while somebody wrote, or data.mdb alone was restored. Copy or restore the whole \
         directory, data.mdb before checkpoint, log.0 and log.1; or, when data.mdb is of a store that was closed, remove those three.",
        directory.data_file()
    ))
}

/// Makes one commit again; the map grows for it as it did then.
fn apply(opened: &Opened, number: u64, payload: Payload<'_>) -> Result<(), StoreError> {
    loop {
        match commit(opened, number, payload)? {
            Ok(()) => return Ok(()),
            Err(Error::MapFull) => {
                let environment = opened.environment().map_err(store_error)?;
                let map_bytes = environment.info().map_err(store_error)?.map_size();
                environment.set_map_size(map_bytes.saturating_mul(2)).map_err(store_error)?;
            }
            Err(error) => return Err(store_error(error)),
        }
    }
}

fn commit(opened: &Opened, number: u64, payload: Payload<'_>) -> Result<Result<(), Error>, StoreError> {
    let mut transaction = match opened.environment().and_then(lmdb::Environment::begin_rw_txn) {
        Ok(transaction) => transaction,
        Err(error) => return Ok(Err(error)),
    };
    if transaction_id(&transaction) != number {
        return Err(StoreError::Corrupt("a record of the log that changes nothing"));
    }
    for operation in payload {
        let done = match operation? {
            Operation::Put(key, value) => transaction.put(opened.database, &key, &value, WriteFlags::empty()),
            Operation::Delete(key) => transaction.del(opened.database, &key, None),
        };
        if let Err(error) = done {
            return Ok(Err(error));
        }
    }
    Ok(transaction.commit())
}

/// Makes a data file that has everything one that needs neither checkpoint nor log; to be called by who has the store alone.
///
/// # Errors
/// A sync or the removal failed: the checkpoint still counts, or is gone from a data file that is whole.
pub(super) fn become_plain(data: &File, slots: &Slots, dir: &Path) -> io::Result<()> {
    // On disk before the checkpoint goes that says it is not, and that before the log.
    data.sync_data()?;
    slots.remove()?;
    remove_logs(dir);
    Ok(())
}

fn remove_logs(dir: &Path) {
    for name in LOG_FILES {
        match fs::remove_file(dir.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => log::warn!("{name} is left in {dir:?}: {error}"),
            _ => {}
        }
    }
}
