//! Recovery: opening after a power cut from the last checkpoint's commit and the log after it.
//!
//! | difficulty | solved by |
//! |---|---|
//! | recovery may itself be cut off | nothing is given up before the data file is on disk: the checkpoint is pinned, and counts until `mark_clean` |
//! | files may be damaged, exchanged or copied while in use | `recovery_analysis` compares them before one is relied on; `salvage` opens what is whole, after a copy |
//! | a full disk | `recover_with_reserve` uses the room reserved for removals |
//! | a replay of many small commits is slow | commits are gathered into few, as far as there is memory, and the file is written out beside them |

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use lmdb::{Error, Transaction as _, WriteFlags};

use super::checkpoint_file::{CHECKPOINT_FILE, Checkpoint, CheckpointFile};
use super::directory::{DATA_FILE, DataDirectory, LOCK_FILE};
use super::error::store_error;
use super::identity::{IDENTITY_BYTES, identity, is_same_file};
use super::locks::{FileLocks, LockByte};
use super::log::{LOG_FILES, LogReader, LoggedOperation, RecordPayload, sync_logs};
use super::meta_pages::damage_error;
use super::open_environment::OpenEnvironment;
use super::options::LmdbOptions;
use super::pages::{self, Damage, WalkReach};
use super::recovery_analysis::{RecoveryAnalysis, RecoverySource, analyze};
use super::reserve;
use super::system::{LOW_SPACE_BYTES, disk_space, start_write_out};
use super::usage::FileUsage;
use crate::store::StoreError;
use crate::store::memory_limit::limit_share;

/// The part of the memory limit that the replay of one commit may take.
const REPLAY_LIMIT_PARTS: u64 = 4;
/// The memory of an operation besides its own bytes: its list entry, and the page that it changes.
const OPERATION_BYTES: usize = 4096 + 64;

/// The advice for damaged files.
const SALVAGE_ADVICE: &str = "Restore the whole data directory from a backup; or run `ddbfs dump`, `ddbfs serve` or `ddbfs mount` with --salvage, which opens the undamaged part, says which commits are missing, and keeps \
     a copy of these files in the directory.";

/// Returns the error for damaged files: `fault` describes the damage, and the advice follows.
pub(super) fn damaged_error(fault: &str) -> StoreError {
    StoreError::Damaged(format!("{fault} {SALVAGE_ADVICE}"))
}

/// Makes the data file whole if its last process did not close it. The caller has the store alone.
/// If it is interrupted at any moment, it can start again: the checkpoint is protected and counts
/// until the data file is on disk.
///
/// # Errors
/// The files are damaged, or there is no room on the disk.
pub(super) fn recover(directory: &DataDirectory, options: &LmdbOptions) -> Result<(), StoreError> {
    let slots = CheckpointFile::new(directory.path());
    let failed = |damage: Damage| damage_error(directory, &damage);
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
    let survey = analyze(directory.path(), &file)?;
    if let Some(what) = &survey.damage {
        if !options.salvage {
            return Err(damaged_error(what));
        }
        return salvage(directory, options, &file, &survey, what);
    }
    match survey.start {
        RecoverySource::Data if !slots.exists() => Ok(()),
        RecoverySource::Data => {
            mark_clean(&file, &slots, directory.path()).map_err(|error| failed(error.into()))
        }
        // Records after the checkpoint stay for the next power cut. They are synced, since their
        // process may have been killed before it did so.
        RecoverySource::PageCache => {
            sync_logs(directory.path()).map_err(|error| failed(error.into()))
        }
        RecoverySource::Checkpoint(checkpoint) => {
            let reach = if is_copy(&file, &checkpoint) {
                WalkReach::Whole
            } else {
                WalkReach::Bounded
            };
            let commits = replay(directory, options, &file, &checkpoint, reach)?;
            log::info!("the store was not closed: {commits} commits were recovered from its log");
            mark_clean(&file, &slots, directory.path()).map_err(|error| failed(error.into()))
        }
    }
}

/// True if a directory has a data file, or had one: only then is there something to open or to
/// salvage.
#[must_use]
pub fn holds_store(dir: &Path) -> bool {
    dir.join(DATA_FILE).exists() || had_data(dir)
}

/// True if there was a data file once: LMDB has written to its lock file, or a log or a checkpoint
/// exists. An interrupted first start leaves only the files that are made before.
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

/// Runs [`recover`]; on a full disk, with the room reserved for removals.
///
/// # Errors
/// As for [`recover`]; `NoSpace` if that room is not enough. It can then start again.
pub(super) fn recover_with_reserve(
    directory: &DataDirectory,
    options: &LmdbOptions,
) -> Result<(), StoreError> {
    let is_low =
        || disk_space(directory.path()).is_ok_and(|disk| disk.free_bytes < LOW_SPACE_BYTES);
    match recover(directory, options) {
        Err(StoreError::NoSpace | StoreError::Io(_)) if is_low() => {
            // The store takes back the rest once it is open.
            reserve::release_file(directory);
            // LMDB reports a short write as EIO.
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

/// Opens the whole part of damaged files, and keeps a copy of them.
fn salvage(
    directory: &DataDirectory,
    options: &LmdbOptions,
    file: &File,
    survey: &RecoveryAnalysis,
    what: &str,
) -> Result<(), StoreError> {
    let failed = |damage: Damage| damage_error(directory, &damage);
    let kept = backup_files(directory.path())?;
    let from_data = || restore_newest(file).map_err(failed);
    let from_checkpoint = || match CheckpointFile::new(directory.path()).read()? {
        Some(checkpoint) => {
            replay(directory, options, file, &checkpoint, WalkReach::Whole).map(drop)
        }
        None => Err(failed(Damage::Meta)),
    };
    if matches!(survey.start, RecoverySource::Checkpoint(_)) {
        from_checkpoint().or_else(|_| from_data())?;
    } else {
        from_data().or_else(|error| from_checkpoint().map_err(|_| error))?;
    }
    mark_clean(
        file,
        &CheckpointFile::new(directory.path()),
        directory.path(),
    )
    .map_err(|error| failed(error.into()))?;
    let last = pages::last_commit(file).map_err(failed)?;
    let missing = match survey.newest.filter(|newest| *newest > last) {
        Some(newest) if newest > last + 1 => format!("commits {} to {newest} are lost", last + 1),
        Some(newest) => format!("commit {newest} is lost"),
        None => "no file tells of a later one".to_owned(),
    };
    log::warn!(
        "{what} Opened with all commits up to {last}; {missing}. The files as they were are in {kept:?}."
    );
    Ok(())
}

/// Makes the newer meta page with whole pages the valid one.
fn restore_newest(file: &File) -> Result<(), Damage> {
    let mut heads = pages::meta_pages(file)?;
    heads.sort_by_key(|head| head.commit);
    let [older, newer] = heads;
    let walk =
        |head: pages::MetaPage| pages::walk_from(file, head, WalkReach::Whole).map(|()| head);
    let head = walk(newer).or_else(|damage| walk(older).map_err(|_| damage))?;
    pages::restore_meta(file, &pages::meta_page_of(file, head.commit)?).map(drop)
}

/// Copies the files of a store into a directory beside them, named after the time.
fn backup_files(dir: &Path) -> Result<PathBuf, StoreError> {
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

/// Takes a store that no process has open, and makes it a data file on disk without a log, as its
/// last process should have left it. Returns false, and changes nothing, if a process has it open.
/// The store stays taken until `locks` are closed.
///
/// # Errors
/// As for [`recover`].
pub(super) fn ensure_clean(
    directory: &DataDirectory,
    locks: &FileLocks,
) -> Result<bool, StoreError> {
    let failed = |error: io::Error| damage_error(directory, &error.into());
    let _opening = locks.lock(LockByte::Opening).map_err(failed)?;
    if !locks.try_lock(LockByte::Presence).map_err(failed)? {
        return Ok(false);
    }
    recover(directory, &LmdbOptions::default())?;
    let slots = CheckpointFile::new(directory.path());
    if slots.exists() {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(directory.data_file())
            .and_then(|file| mark_clean(&file, &slots, directory.path()))
            .map_err(failed)?;
    }
    Ok(true)
}

/// Replays the log on a checkpoint; returns the number of its commits.
fn replay(
    directory: &DataDirectory,
    options: &LmdbOptions,
    file: &File,
    checkpoint: &Checkpoint,
    reach: WalkReach,
) -> Result<u64, StoreError> {
    let failed = |damage: Damage| damage_error(directory, &damage);
    // Before LMDB follows its pages, and before anything is written.
    let head = pages::MetaPage::parse(&checkpoint.meta_page)
        .ok()
        .filter(|head| head.commit == checkpoint.number);
    pages::walk_from(file, head.ok_or_else(|| failed(Damage::Meta))?, reach).map_err(failed)?;
    pages::restore_meta(file, &checkpoint.meta_page).map_err(failed)?;
    let opened = OpenEnvironment::open(directory, options)?;
    // Pinned before anything is written: the recovery must be able to start again.
    if opened.pin().map_err(store_error)? != checkpoint.number {
        return Err(failed(Damage::Meta));
    }
    let Checkpoint {
        position,
        epoch,
        number,
        ..
    } = *checkpoint;
    let reader = LogReader::open(directory.path())?;
    // As few commits as possible: a page that many records change is written once. Their size is
    // limited by memory.
    let commit_bytes = usize::try_from(options.log_bytes / 4).unwrap_or(usize::MAX);
    let held_bytes_max = limit_share(usize::MAX, REPLAY_LIMIT_PARTS);
    let last = with_write_out(file, |write_out| {
        let (mut gathered, mut operations) = (Vec::new(), 0);
        let (_, last) = reader.replay(position, epoch, number, &mut |_, payload| {
            operations += payload.append_to(&mut gathered)?;
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
    // LMDB has closed the file. Its last commit gets the number of the last record.
    drop(opened);
    pages::renumber(file, last).map_err(failed)?;
    Ok(last - number)
}

/// Runs `make` beside a thread that starts writing the file to the disk on request, so that the
/// sync at the end has little to wait for. The system reports each disk error once, so it must not
/// be lost here.
fn with_write_out<T>(file: &File, make: impl FnOnce(&dyn Fn()) -> T) -> io::Result<T> {
    std::thread::scope(|scope| {
        let (wake, woken) = mpsc::sync_channel(1);
        let writer =
            scope.spawn(move || woken.into_iter().try_for_each(|()| start_write_out(file)));
        let made = make(&|| {
            // One queued request is enough.
            let _is_full = wake.try_send(());
        });
        drop(wake);
        writer
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("writing out panicked")))
            .map(|()| made)
    })
}

/// True if this is not the file that the checkpoint was made for. A process may have written while
/// it was copied page after page, so that some pages may be of a later commit.
fn is_copy(file: &File, checkpoint: &Checkpoint) -> bool {
    let is_known = checkpoint.identity != [0; IDENTITY_BYTES];
    is_known
        && matches!(identity(file), Ok(Some(identity)) if !is_same_file(&identity, &checkpoint.identity))
}

/// Applies the gathered operations as one commit and clears them; grows the map if needed.
fn apply(opened: &OpenEnvironment, gathered: &mut Vec<u8>) -> Result<(), StoreError> {
    while !gathered.is_empty() {
        match commit(opened, RecordPayload(gathered))? {
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

fn commit(
    opened: &OpenEnvironment,
    payload: RecordPayload<'_>,
) -> Result<Result<(), Error>, StoreError> {
    let mut transaction = match opened
        .environment()
        .and_then(lmdb::Environment::begin_rw_txn)
    {
        Ok(transaction) => transaction,
        Err(error) => return Ok(Err(error)),
    };
    // Sorted by key, so that each page is visited once. The sort is stable: the operations on one
    // key keep their order.
    let mut operations = payload.collect::<Result<Vec<_>, _>>()?;
    operations.sort_by_key(LoggedOperation::key);
    for operation in operations {
        let done = match operation {
            LoggedOperation::Put(key, value) => {
                transaction.put(opened.database, &key, &value, WriteFlags::empty())
            }
            LoggedOperation::Delete(key) => transaction.del(opened.database, &key, None),
        };
        if let Err(error) = done {
            return Ok(Err(error));
        }
    }
    Ok(transaction.commit())
}

/// Makes a complete data file one that needs neither checkpoint nor log. The caller has the store
/// alone.
///
/// # Errors
/// A sync or the removal failed: the checkpoint still counts, or has been removed from a whole data
/// file.
pub(super) fn mark_clean(data: &File, slots: &CheckpointFile, dir: &Path) -> io::Result<()> {
    // The order matters. First the data is synced, then the file says that it is closed, then the
    // checkpoint is removed, and the log last.
    data.sync_data()?;
    let epoch = match slots.read() {
        Ok(Some(checkpoint)) => checkpoint.epoch,
        // There is no valid checkpoint: the store was salvaged, or a process was killed in this
        // function before. In both cases the data file has the epoch, if there is one.
        Ok(None) | Err(StoreError::Damaged(_)) => closed_epoch(data)?,
        Err(error) => return Err(io::Error::other(error)),
    };
    let number = pages::last_commit(data).map_err(io::Error::other)?;
    FileUsage::Closed { epoch, number }.write(data)?;
    if slots.exists() {
        slots.remove()?;
    }
    remove_logs(dir);
    Ok(())
}

/// Returns the epoch of the log after which a data file was closed; 0 if it does not say, so that no
/// log is taken for the one of its last commit.
fn closed_epoch(data: &File) -> io::Result<u64> {
    match FileUsage::read(data) {
        Ok(Some(FileUsage::Closed { epoch, .. })) => Ok(epoch),
        Ok(Some(FileUsage::InUse) | None) => Ok(0),
        // Found by the analysis before: the file is being salvaged.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(0),
        Err(error) => Err(error),
    }
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
