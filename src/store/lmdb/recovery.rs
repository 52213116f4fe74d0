//! Opening after a power cut: the last checkpoint's commit, and the log's behind it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use lmdb::{Error, Transaction as _, WriteFlags};

use super::directory::{DATA_FILE, DataDirectory, LOCK_FILE};
use super::error::store_error;
use super::heads::damaged;
use super::identity::{IDENTITY_BYTES, identity, is_same_file};
use super::locks::{Byte, Locks};
use super::log::{LOG_FILES, Operation, Payload, Reader, sync_logs};
use super::opened::Opened;
use super::options::LmdbOptions;
use super::pages::{self, Damage, Reach};
use super::reserve;
use super::slots::{CHECKPOINT_FILE, Checkpoint, Slots};
use super::survey::{Start, Survey, survey};
use super::system::{LOW_SPACE_BYTES, begin_write_out, disk_space};
use super::usage::Usage;
use crate::store::StoreError;
use crate::store::memory_limit::part_of_limit;

/// Of the memory limit, what the replay of one commit may take.
const REPLAY_LIMIT_PARTS: u64 = 4;
/// What an operation takes beside its own bytes: its place among the others, and the page that it changes.
const OPERATION_BYTES: usize = 4096 + 64;

/// What a person can do about files that are damaged.
const SALVAGE: &str = "Restore the whole data directory from a backup; or add --salvage, which opens what is whole, says which commits are missing, and keeps \
     a copy of these files beside.";

/// Says what is damaged, and what can be done.
pub(super) fn refused(what: &str) -> StoreError {
    StoreError::Damaged(format!("{what} {SALVAGE}"))
}

/// Makes the data file whole, if it was not closed by its last process; to be called by who has the store alone. Ended at any moment, it
/// can begin again: the checkpoint is protected and counts until the data file is on disk.
///
/// # Errors
/// The files are damaged, or there is no room on the disk.
pub(super) fn recover(directory: &DataDirectory, options: &LmdbOptions) -> Result<(), StoreError> {
    let slots = Slots::new(directory.path());
    let failed = |damage: Damage| damaged(directory, &damage);
    let file = match OpenOptions::new()
        .read(true)
        .write(true)
        .open(directory.data_file())
    {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return if had_data(directory.path()) {
                Err(failed(Damage::Missing))
            } else {
                Ok(())
            };
        }
        file => file.map_err(|error| failed(error.into()))?,
    };
    let survey = survey(directory.path(), &file)?;
    if let Some(what) = &survey.damage {
        if !options.salvage {
            return Err(refused(what));
        }
        return salvage(directory, options, &file, survey);
    }
    match survey.start {
        Start::Data if !slots.exist() => Ok(()),
        Start::Data => {
            become_plain(&file, &slots, directory.path()).map_err(|error| failed(error.into()))
        }
        // Records behind the checkpoint stay for the next power cut, on disk though it may not have come to that.
        Start::PageCache => sync_logs(directory.path()).map_err(|error| failed(error.into())),
        Start::Checkpoint(checkpoint) => {
            let reach = if is_copy(&file, &checkpoint) {
                Reach::Whole
            } else {
                Reach::Bounded
            };
            let commits = replay_on(directory, options, &file, &checkpoint, reach)?;
            log::info!("the store was not closed: {commits} commits were recovered from its log");
            become_plain(&file, &slots, directory.path()).map_err(|error| failed(error.into()))
        }
    }
}

/// Whether there was a data file once: LMDB has written to its lock file, or a log or a checkpoint is there. An interrupted first start
/// leaves the files that are made before.
fn had_data(dir: &Path) -> bool {
    let mut magic = [0; 4];
    let was_locked = File::open(dir.join(LOCK_FILE))
        .and_then(|mut file| file.read_exact(&mut magic))
        .is_ok();
    was_locked && u32::from_ne_bytes(magic) == pages::MAGIC
        || LOG_FILES
            .iter()
            .chain(&[CHECKPOINT_FILE])
            .any(|name| dir.join(name).exists())
}

/// [`recover`], on a full disk with the room that is kept for removals.
///
/// # Errors
/// As for [`recover`]; `NoSpace` where that is not enough. It can begin again then.
pub(super) fn recover_with_reserve(
    directory: &DataDirectory,
    options: &LmdbOptions,
) -> Result<(), StoreError> {
    let is_low =
        || disk_space(directory.path()).is_ok_and(|disk| disk.free_bytes < LOW_SPACE_BYTES);
    match recover(directory, options) {
        Err(StoreError::NoSpace | StoreError::Io(_)) if is_low() => {
            // Whoever has opened the store takes back what is left.
            reserve::give(directory);
            // A write that ends short is EIO to LMDB.
            recover(directory, options).map_err(|error| {
                if is_low() && matches!(error, StoreError::Io(_)) {
                    StoreError::NoSpace
                } else {
                    error
                }
            })
        }
        recovered => recovered,
    }
}

/// Opens what is whole of damaged files, with a copy of them kept.
fn salvage(
    directory: &DataDirectory,
    options: &LmdbOptions,
    file: &File,
    survey: Survey,
) -> Result<(), StoreError> {
    let failed = |damage: Damage| damaged(directory, &damage);
    let kept = keep(directory.path())?;
    let from_data = || as_it_is(file).map_err(failed);
    let from_checkpoint = || match Slots::new(directory.path()).read()? {
        Some(checkpoint) => {
            replay_on(directory, options, file, &checkpoint, Reach::Whole).map(drop)
        }
        None => Err(failed(Damage::Head)),
    };
    if matches!(survey.start, Start::Checkpoint(_)) {
        from_checkpoint().or_else(|_| from_data())?;
    } else {
        from_data().or_else(|error| from_checkpoint().map_err(|_| error))?;
    }
    become_plain(file, &Slots::new(directory.path()), directory.path())
        .map_err(|error| failed(error.into()))?;
    let last = pages::last_commit(file).map_err(failed)?;
    let missing = match survey.newest.filter(|newest| *newest > last) {
        Some(newest) => format!("commits {} to {newest} are missing", last + 1),
        None => "no later commit is told of by any file".to_owned(),
    };
    log::warn!(
        "{} Opened with everything up to commit {last}; {missing}. The files as they were are in {kept:?}.",
        survey.damage.unwrap_or_default()
    );
    Ok(())
}

/// Makes the newer head whose pages are whole the one that counts.
fn as_it_is(file: &File) -> Result<(), Damage> {
    let mut heads = pages::heads(file)?;
    heads.sort_by_key(|head| head.commit);
    let [older, newer] = heads;
    let walk = |head: pages::Head| pages::walk_from(file, head, Reach::Whole).map(|()| head);
    let head = walk(newer).or_else(|damage| walk(older).map_err(|_| damage))?;
    pages::restore(file, &pages::head_of(file, head.commit)?).map(drop)
}

/// Copies the files of a store into a directory beside them, named after the time.
fn keep(dir: &Path) -> Result<PathBuf, StoreError> {
    let kept = dir.join(format!(
        "damaged-{}",
        jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S.%fZ")
    ));
    let copied = || -> io::Result<()> {
        fs::DirBuilder::new().mode(0o700).create(&kept)?;
        for name in [DATA_FILE, CHECKPOINT_FILE].iter().chain(&LOG_FILES) {
            match fs::copy(dir.join(name), kept.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                copied => drop(copied.and_then(|_| File::open(kept.join(name))?.sync_all())?),
            }
        }
        File::open(&kept)?.sync_all()?;
        File::open(dir)?.sync_all()
    };
    copied().map_err(|error| {
        StoreError::Io(format!(
            "the damaged files cannot be kept in {kept:?}, and nothing was changed: {error}"
        ))
    })?;
    Ok(kept)
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
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(directory.data_file())
            .and_then(|file| become_plain(&file, &slots, directory.path()))
            .map_err(failed)?;
    }
    Ok(true)
}

/// How many commits were in the log.
fn replay_on(
    directory: &DataDirectory,
    options: &LmdbOptions,
    file: &File,
    checkpoint: &Checkpoint,
    reach: Reach,
) -> Result<u64, StoreError> {
    let failed = |damage: Damage| damaged(directory, &damage);
    // Before LMDB follows its pages, and before anything is written.
    let head = pages::Head::parse(&checkpoint.head)
        .ok()
        .filter(|head| head.commit == checkpoint.number);
    pages::walk_from(file, head.ok_or_else(|| failed(Damage::Head))?, reach).map_err(failed)?;
    pages::restore(file, &checkpoint.head).map_err(failed)?;
    let opened = Opened::open(directory, options)?;
    // Before anything is written: this must be able to begin again.
    if opened.pin().map_err(store_error)? != checkpoint.number {
        return Err(failed(Damage::Head));
    }
    let Checkpoint {
        position,
        epoch,
        number,
        ..
    } = *checkpoint;
    let reader = Reader::open(directory.path())?;
    // As few commits: a page that many records change is written once. But for so much there is memory.
    let commit_bytes = usize::try_from(options.log_bytes / 4).unwrap_or(usize::MAX);
    let held_bytes_max = part_of_limit(usize::MAX, REPLAY_LIMIT_PARTS);
    let last = writing_out(file, |write_out| {
        let (mut gathered, mut operations) = (Vec::new(), 0);
        let (_, last) = reader.replay(position, epoch, number, &mut |_, payload| {
            operations += payload.gather(&mut gathered)?;
            if gathered.len() < commit_bytes
                && gathered.len() + operations * OPERATION_BYTES < held_bytes_max
            {
                return Ok(());
            }
            operations = 0;
            apply(&opened, &mut gathered)?;
            write_out();
            Ok(())
        })?;
        apply(&opened, &mut gathered).map(|()| last)
    })
    .map_err(|error| failed(error.into()))??;
    // LMDB has closed the file, and its last commit becomes that of the last record.
    drop(opened);
    pages::renumber(file, last).map_err(failed)?;
    Ok(last - number)
}

/// Runs `make`, beside a thread that begins to write the file to the disk when it is told to: so the sync at the end waits for little. The system
/// tells each error once, so it must not be lost here.
fn writing_out<T>(file: &File, make: impl FnOnce(&dyn Fn()) -> T) -> io::Result<T> {
    std::thread::scope(|scope| {
        let (wake, woken) = mpsc::sync_channel(1);
        let writer =
            scope.spawn(move || woken.into_iter().try_for_each(|()| begin_write_out(file)));
        let made = make(&|| {
            // One that waits already is enough.
            let _is_full = wake.try_send(());
        });
        drop(wake);
        writer
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("writing out panicked")))
            .map(|()| made)
    })
}

/// Whether this is not the file that the checkpoint was made for. Nobody knows then whether somebody wrote while it was copied, page after
/// page, so that some may be of a later commit.
fn is_copy(file: &File, checkpoint: &Checkpoint) -> bool {
    let is_known = checkpoint.identity != [0; IDENTITY_BYTES];
    is_known
        && matches!(identity(file), Ok(Some(identity)) if !is_same_file(&identity, &checkpoint.identity))
}

/// Makes commits again, as one, and forgets them; the map grows for it as it did then.
fn apply(opened: &Opened, gathered: &mut Vec<u8>) -> Result<(), StoreError> {
    while !gathered.is_empty() {
        match commit(opened, Payload(gathered))? {
            Ok(()) => gathered.clear(),
            Err(Error::MapFull) => {
                let environment = opened.environment().map_err(store_error)?;
                let map_bytes = environment.info().map_err(store_error)?.map_size();
                environment
                    .set_map_size(map_bytes.saturating_mul(2))
                    .map_err(store_error)?;
            }
            Err(error) => return Err(store_error(error)),
        }
    }
    Ok(())
}

fn commit(opened: &Opened, payload: Payload<'_>) -> Result<Result<(), Error>, StoreError> {
    let mut transaction = match opened
        .environment()
        .and_then(lmdb::Environment::begin_rw_txn)
    {
        Ok(transaction) => transaction,
        Err(error) => return Ok(Err(error)),
    };
    // From one page to the next, whatever order they came in; those of one key stay in theirs.
    let mut operations = payload.collect::<Result<Vec<_>, _>>()?;
    operations.sort_by_key(Operation::key);
    for operation in operations {
        let done = match operation {
            Operation::Put(key, value) => {
                transaction.put(opened.database, &key, &value, WriteFlags::empty())
            }
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
    // On disk before it says so, that before the checkpoint goes that says it is not, and that before the log.
    data.sync_data()?;
    let epoch = slots
        .read()
        .ok()
        .flatten()
        .map_or(0, |checkpoint| checkpoint.epoch);
    let number = pages::last_commit(data).map_err(io::Error::other)?;
    Usage::Closed { epoch, number }.write(data)?;
    if slots.exist() {
        slots.remove()?;
    }
    remove_logs(dir);
    Ok(())
}

fn remove_logs(dir: &Path) {
    for name in LOG_FILES {
        match fs::remove_file(dir.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                log::warn!("{name} is left in {dir:?}: {error}")
            }
            _ => {}
        }
    }
}
