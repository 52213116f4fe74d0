//! The analysis phase of `recovery`: compares the files of a store before one of them is relied on.
//!
//! While nothing is damaged or exchanged, this holds. `C` is the checkpoint's commit, `L` the last
//! of the consecutive records after it, `H` the last commit of the data file's meta pages:
//!
//! - `C <= H`: the checkpoint's pages were on disk before it.
//! - With the page cache of the processes that wrote, `L <= H + 1`: a process may have been killed
//!   between a record and its commit.
//! - There too, and after a power cut if every record was on disk before its commit was made (a strict
//!   checkpoint), `H <= L`, and no record follows `L`; except for one commit without a record, which
//!   is noted.
//! - Otherwise a power cut leaves holes among records that were not on disk yet. A whole record that was
//!   written when `L + 1` was on disk proves that it was there; a record that knows of a later
//!   checkpoint proves that this one is not the last; a record at another's place proves that files
//!   were exchanged.
//! - The files of the log are no shorter than at the checkpoint, and have the record of `C`.

use std::fs::File;
use std::io;
use std::path::Path;

use super::checkpoint_file::{CHECKPOINT_FILE, Checkpoint, CheckpointFile};
use super::identity::identity;
use super::log::LogReader;
use super::pages::{self, Damage};
use super::usage::FileUsage;
use crate::store::StoreError;

/// The source of a store's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RecoverySource {
    /// The data file, complete by itself.
    Data,
    /// The data file, complete in the page cache: its process was killed, and nothing else
    /// happened.
    PageCache,
    /// A checkpoint's commit, and the log after it.
    Checkpoint(Box<Checkpoint>),
}

/// The result of the analysis.
#[derive(Debug)]
pub(super) struct RecoveryAnalysis {
    pub start: RecoverySource,
    /// A description of the damage, in a sentence or two.
    pub damage: Option<String>,
    /// The last commit that any file mentions, if any.
    pub newest: Option<u64>,
}

impl RecoveryAnalysis {
    fn new(start: RecoverySource, newest: Option<u64>, damage: Option<String>) -> Self {
        Self {
            start,
            damage,
            newest,
        }
    }
}

/// Compares the checkpoint, the log and the meta pages of the data file. Nothing is written, and no
/// process writes meanwhile.
///
/// # Errors
/// A file cannot be read.
pub(super) fn analyze(dir: &Path, data: &File) -> Result<RecoveryAnalysis, StoreError> {
    // Invalid meta pages are reported where they are relied on.
    let failed = |error: io::Error| StoreError::Io(format!("data.mdb in {dir:?}: {error}"));
    let head = match pages::last_commit(data) {
        Err(Damage::Io(error)) => return Err(failed(error)),
        head => head.ok(),
    };
    let usage = match FileUsage::read(data) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            let start = match CheckpointFile::new(dir).read() {
                Ok(Some(checkpoint)) => RecoverySource::Checkpoint(Box::new(checkpoint)),
                _ => RecoverySource::Data,
            };
            let fault = format!("data.mdb in {dir:?} is damaged: {error}.");
            return Ok(RecoveryAnalysis::new(start, head, Some(fault)));
        }
        usage => usage.map_err(failed)?,
    };
    let closed_at = match usage {
        Some(FileUsage::Closed { epoch, number }) if head == Some(number) => Some((epoch, number)),
        _ => None,
    };
    let damaged = |fault: String| {
        Ok(RecoveryAnalysis::new(
            RecoverySource::Data,
            head,
            Some(fault),
        ))
    };
    let checkpoint = match CheckpointFile::new(dir).read() {
        Ok(Some(checkpoint)) => checkpoint,
        Ok(None) if usage == Some(FileUsage::InUse) => {
            return damaged(format!(
                "{:?} is missing, and without it nobody knows what data.mdb lacks.",
                dir.join(CHECKPOINT_FILE)
            ));
        }
        Ok(None) => return Ok(RecoveryAnalysis::new(RecoverySource::Data, head, None)),
        // Left by a process that was killed while it closed the store; no longer needed.
        Err(StoreError::Damaged(_)) if closed_at.is_some() => {
            return Ok(RecoveryAnalysis::new(RecoverySource::Data, head, None));
        }
        Err(StoreError::Damaged(fault)) => return damaged(fault),
        Err(error) => return Err(error),
    };
    let Some((epoch, number)) = closed_at else {
        return analyze_log(dir, data, head, checkpoint);
    };
    let (_, last) = LogReader::open(dir)?.replay(
        checkpoint.position,
        checkpoint.epoch,
        checkpoint.number,
        &mut |_, _| Ok(()),
    )?;
    let unlogged = match CheckpointFile::new(dir).unlogged(checkpoint.epoch) {
        Err(StoreError::Damaged(fault)) if last < number => return damaged(fault),
        Err(StoreError::Damaged(_)) => None,
        unlogged => unlogged?,
    };
    let is_all = last >= number || unlogged == Some(number);
    match (
        epoch == checkpoint.epoch && is_all,
        checkpoint.number >= number,
    ) {
        // A process was killed while it closed the store.
        (true, _) => Ok(RecoveryAnalysis::new(RecoverySource::Data, head, None)),
        // Or soon after it began a new log.
        (false, true) => analyze_log(dir, data, head, checkpoint),
        (false, false) => damaged(format!(
            "checkpoint, log.0 and log.1 in {dir:?} are older than data.mdb, which was closed later, at commit {number}: they end with commit {last}."
        )),
    }
}

fn analyze_log(
    dir: &Path,
    data: &File,
    head: Option<u64>,
    checkpoint: Checkpoint,
) -> Result<RecoveryAnalysis, StoreError> {
    // After a failed sync, a reboot or a copy, the data file may lack pages.
    let is_cached = checkpoint.is_trusted
        && identity(data).is_ok_and(|identity| identity == Some(checkpoint.identity));
    let reader = LogReader::open(dir)?;
    let (_, last) = reader.replay(
        checkpoint.position,
        checkpoint.epoch,
        checkpoint.number,
        &mut |_, _| Ok(()),
    )?;
    let found = CheckpointState {
        dir,
        reader,
        is_cached,
        last,
        head,
        checkpoint,
    };
    let (start, newest, damage) = found.analyze()?;
    let start = start.unwrap_or_else(|| {
        if is_cached {
            RecoverySource::PageCache
        } else {
            RecoverySource::Checkpoint(Box::new(found.checkpoint))
        }
    });
    Ok(RecoveryAnalysis::new(start, newest, damage))
}

/// A checkpoint with its log and data file.
struct CheckpointState<'d> {
    dir: &'d Path,
    reader: LogReader,
    is_cached: bool,
    /// The last of the consecutive records.
    last: u64,
    head: Option<u64>,
    checkpoint: Checkpoint,
}

/// The start if it is not the usual one, the newest commit mentioned, and the damage.
type AnalysisResult = (Option<RecoverySource>, Option<u64>, Option<String>);

impl CheckpointState<'_> {
    fn analyze(&self) -> Result<AnalysisResult, StoreError> {
        let (checkpoint, last) = (&self.checkpoint, self.last);
        let traces = self.reader.stray_records(checkpoint.epoch, last)?;
        let newest = self.head.max(traces.last).max(Some(last));
        if let Some(head) = self.head {
            // A checkpoint is written after the sync of its pages, so this is an older data file.
            if head < checkpoint.number {
                return Ok((
                    Some(RecoverySource::Data),
                    newest,
                    Some(self.older_data(head)),
                ));
            }
            // In the same page cache, only the last record can be without its commit.
            if self.is_cached && last > head + 1 {
                let start = RecoverySource::Checkpoint(Box::new(checkpoint.clone()));
                return Ok((Some(start), newest, Some(self.older_data(head))));
            }
        }
        // A record has the last checkpoint that was on disk before it.
        if traces.checkpoint > checkpoint.number {
            let fault = format!(
                "the log tells of a checkpoint at commit {}, and this one is of {}",
                traces.checkpoint, checkpoint.number
            );
            let fault = format!(
                "{:?} is damaged or older than the log beside it: {fault}.",
                self.dir.join(CHECKPOINT_FILE)
            );
            return Ok((Some(RecoverySource::Data), newest, Some(fault)));
        }
        Ok((
            None,
            newest,
            self.log_damage(traces.last.filter(|_| self.is_strict() || traces.is_proof))?,
        ))
    }

    /// True if no commit was made before its record was there, as far as the files show.
    fn is_strict(&self) -> bool {
        self.is_cached || self.checkpoint.is_strict && self.checkpoint.is_trusted
    }

    fn log_damage(&self, behind: Option<u64>) -> Result<Option<String>, StoreError> {
        let (
            Checkpoint {
                epoch,
                number,
                lengths,
                last_position,
                ..
            },
            last,
        ) = (&self.checkpoint, self.last);
        // From the most certain cause to the least.
        let fault = if let Some(name) = self.reader.missing() {
            format!("{:?} is missing", self.dir.join(name))
        } else if let Some(name) = self.reader.shortened(*lengths)? {
            format!("{:?} was truncated", self.dir.join(name))
        } else if let Some(behind) = behind {
            format!(
                "the log in {:?} is damaged: the record of commit {} cannot be read, and records of later commits follow it, up to {behind}",
                self.dir,
                last + 1
            )
        } else if let Some(position) = last_position
            && !self.reader.has_record(*position, *epoch, *number)?
        {
            format!(
                "log.0 and log.1 in {:?} are not those that the checkpoint tells of: they lack the record of commit {number}",
                self.dir
            )
        } else {
            let Some(head) = self.head.filter(|head| *head > last && self.is_strict()) else {
                return Ok(None);
            };
            match self.is_unlogged(head) {
                Ok(true) => return Ok(None),
                Ok(false) => format!(
                    "the log in {:?} is damaged or older than data.mdb, which has commit {head}",
                    self.dir
                ),
                Err(StoreError::Damaged(fault)) => return Ok(Some(fault)),
                Err(error) => return Err(error),
            }
        };
        let lost = match self.head.max(behind).filter(|newest| *newest > last) {
            Some(newest) if newest > last + 1 => {
                format!("commits {} to {newest} are lost", last + 1)
            }
            Some(newest) => format!("commit {newest} is lost"),
            None => "it is not known how many later ones are lost".to_owned(),
        };
        Ok(Some(format!(
            "{fault}. The commits up to {last} can be opened; {lost}."
        )))
    }

    /// True if the last commit of the data file has no record: only the one after the last record
    /// can.
    fn is_unlogged(&self, head: u64) -> Result<bool, StoreError> {
        if head != self.last + 1 {
            return Ok(false);
        }
        if !self.checkpoint.notes_unlogged {
            return Ok(true);
        }
        Ok(CheckpointFile::new(self.dir).unlogged(self.checkpoint.epoch)? == Some(head))
    }

    fn older_data(&self, head: u64) -> String {
        let Checkpoint { number, .. } = self.checkpoint;
        let than = if head < number {
            "the checkpoint"
        } else {
            "the log"
        };
        format!(
            "{:?} is older than {than} beside it: its last commit is {head}, the checkpoint's is {number}, the log's {}. The directory was copied while \
             somebody wrote, or data.mdb alone was restored. Copy or restore the whole directory, data.mdb before checkpoint, log.0 and log.1; or, when \
             data.mdb is of a store that was closed, move those three away.",
            self.dir.join(super::directory::DATA_FILE),
            self.last
        )
    }
}
