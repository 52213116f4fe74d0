//! The state machine of one open file that holds one JSON object (docs/filesystem.md 4).
//!
//! ```text
//! Stream    text checked as it comes; complete -> commit in that write
//! Edit      any writes anywhere; checked at flush and fsync
//! Poisoned  the text can never become one object; every write and flush fails as the first did
//!
//! open O_TRUNC or create -> Stream     open for writing otherwise -> Edit, or with O_APPEND Stream after the stored text
//! Stream, write elsewhere than at the end, truncate to other than 0 -> Edit       truncate to 0 -> Stream, empty
//! ```
//! Nothing here empties or changes the stored item; only a commit does, and it replaces the item as
//! a whole.

use super::report::render_report;
use super::{
    CheckState, Commit, Opener, TEXT_BYTES_MAX, TextCheck, TextTarget, WriteFailure, WriteStep,
};

use crate::codec::digest::Digest;
use crate::fs::prelude::*;
use crate::model::error::ValueError;

/// One open file.
#[derive(Debug)]
pub struct TextWriter<T> {
    target: T,
    opener: Opener,
    text: Vec<u8>,
    mode: Mode,
    /// True if the streamed text is whole, as its request was made from it: its check has not
    /// followed it so far.
    is_unchecked: bool,
    /// The precondition on the stored item at the next commit.
    precondition: Option<Precondition>,
    /// True if the text was changed since it was opened or committed.
    dirty: bool,
    /// True if a call has reported that this very text is not acceptable.
    reported: bool,
    /// The version that was stored through this handle last.
    stored: Option<Version>,
    /// True if the precondition comes from the name, not from the item at the open.
    is_pinned: bool,
    /// The version of the key-only item that the open made, until a text replaces it.
    placeholder: Option<Version>,
}

/// The last sentence of a failure's hint after this handle has stored something.
const STORED_BEFORE: &str = "What this open file stored before stays stored.";

#[derive(Debug)]
enum Mode {
    Stream(Box<dyn TextCheck>),
    Edit {
        /// Digest of the text as it was opened or last committed.
        stored: Option<Digest>,
    },
    Poisoned(FsError),
}

impl<T> TextWriter<T> {
    /// Returns the bytes of memory of the text and its check.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let checked = if let Mode::Stream(check) = &self.mode {
            check.held_bytes()
        } else {
            0
        };
        self.text.capacity() + checked
    }
}

impl<T: TextTarget> TextWriter<T> {
    /// Opens a new file, or one with O_TRUNC. The commit replaces any stored item.
    pub fn stream(target: T, opener: Opener) -> Self {
        Self::stream_if(target, opener, None)
    }

    fn stream_if(target: T, opener: Opener, precondition: Option<Precondition>) -> Self {
        let check = target.check();
        Self::new(
            target,
            opener,
            Vec::new(),
            Mode::Stream(check),
            precondition,
        )
    }

    /// Opens a file created with O_EXCL: the commit fails with `Exists` if the item exists by then.
    pub fn stream_exclusive(target: T, opener: Opener) -> Self {
        Self::stream_if(target, opener, Some(Precondition::Absent))
    }

    /// Opens a file that was created with a key-only item: the commit replaces that item, and fails
    /// if another process changed it.
    pub fn stream_placeholder(target: T, opener: Opener, version: Version) -> Self {
        Self {
            placeholder: Some(version),
            ..Self::stream_if(target, opener, Some(Precondition::Version(version)))
        }
    }

    /// Opens a file with the version to replace in its name: the commit fails with `Stale` if
    /// another is stored by then.
    pub fn stream_replacing(target: T, opener: Opener, version: Version) -> Self {
        Self {
            is_pinned: true,
            ..Self::stream_if(target, opener, Some(Precondition::Version(version)))
        }
    }

    /// Opens a file for writing without O_TRUNC. `snapshot` is its text now; `precondition` guards
    /// the commit: of an item `Precondition::Version` of that snapshot, so that the commit fails
    /// with `Stale` if another process changed it.
    pub fn edit(
        target: T,
        snapshot: Vec<u8>,
        precondition: Option<Precondition>,
        opener: Opener,
    ) -> Self {
        let mut check = target.check();
        // Text appended to a complete text is a second document: it fails in write, as in a stream.
        if opener.append && check.feed(&snapshot) == CheckState::Complete {
            return Self::new(target, opener, snapshot, Mode::Stream(check), precondition);
        }
        let mode = Mode::Edit {
            stored: Some(digest(&snapshot)),
        };
        Self::new(target, opener, snapshot, mode, precondition)
    }

    fn new(
        target: T,
        opener: Opener,
        text: Vec<u8>,
        mode: Mode,
        precondition: Option<Precondition>,
    ) -> Self {
        Self {
            target,
            opener,
            text,
            mode,
            is_unchecked: false,
            precondition,
            dirty: false,
            reported: false,
            stored: None,
            is_pinned: false,
            placeholder: None,
        }
    }

    pub fn target(&self) -> &T {
        &self.target
    }

    /// Returns the size of the file as this handle sees it, bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a size, not a collection")]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns up to `size` bytes of the file as this handle sees it.
    #[must_use]
    pub fn read(&self, offset: u64, size: usize) -> &[u8] {
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(self.text.len());
        let end = start.saturating_add(size).min(self.text.len());
        &self.text[start..end]
    }

    /// Makes the next commit require this version, which the writer's process has read, unless it
    /// has a precondition already.
    pub fn require_version(&mut self, version: Version) {
        self.precondition
            .get_or_insert(Precondition::VersionOrAbsent(version));
    }

    /// Returns the version that the next commit requires.
    #[must_use]
    pub fn required_version(&self) -> Option<Version> {
        match self.precondition {
            Some(Precondition::Version(version) | Precondition::VersionOrAbsent(version)) => {
                Some(version)
            }
            Some(Precondition::Absent) | None => None,
        }
    }

    /// Returns the version of the stored item with this text, until the text is written.
    #[must_use]
    pub fn snapshot_version(&self) -> Option<Version> {
        match self.precondition {
            Some(Precondition::Version(version)) if !self.dirty && !self.is_pinned => Some(version),
            _ => None,
        }
    }

    /// Returns the version that a commit of this text made.
    #[must_use]
    pub fn stored(&self) -> Option<Version> {
        self.stored.filter(|_| !self.dirty)
    }

    /// True if anything was stored through this handle.
    #[must_use]
    pub fn has_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// True if nothing was written through this handle.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        matches!(self.mode, Mode::Stream(_))
            && self.text.is_empty()
            && !self.dirty
            && !self.reported
            && self.stored.is_none()
    }

    /// True if a commit with this precondition may end after its call: no other process is expected
    /// to have changed the item, because it is new, or any is to be replaced.
    #[must_use]
    pub fn may_end_later(&self, precondition: Option<Precondition>) -> bool {
        match precondition {
            None => true,
            Some(Precondition::Absent) => !self.is_pinned,
            Some(Precondition::Version(version)) => self.placeholder == Some(version),
            Some(Precondition::VersionOrAbsent(_)) => false,
        }
    }

    /// Takes the version that the open made, once: the caller deletes that item, and the next
    /// commit creates it anew.
    pub fn take_placeholder(&mut self) -> Option<Version> {
        let made = self.placeholder.take()?;
        self.precondition = Some(Precondition::Absent);
        Some(made)
    }

    /// Returns the last sentence of a failure's hint.
    #[must_use]
    pub fn unchanged(&self) -> &'static str {
        if self.stored.is_some() {
            STORED_BEFORE
        } else {
            self.target.unchanged()
        }
    }

    /// Takes a write: write(2), pwrite(2).
    pub fn write(&mut self, offset: u64, data: &[u8]) -> WriteStep<T::Request> {
        if let Mode::Poisoned(error) = &self.mode {
            return WriteStep::FailAgain(error.clone());
        }
        if data.is_empty() {
            return WriteStep::Done;
        }
        let end = self.text.len();
        let start = if self.opener.append {
            end
        } else {
            usize::try_from(offset).unwrap_or(usize::MAX)
        };
        if start.saturating_add(data.len()) > TEXT_BYTES_MAX {
            return WriteStep::Fail(self.poison(FsError::TooLarge));
        }
        if start != end {
            if self.target.is_statement() {
                let error = FsError::Body(
                    "this file takes a text from its beginning to its end, once".to_owned(),
                );
                return WriteStep::Fail(self.poison(error));
            }
            self.leave_stream();
        }
        self.reported = false;
        if let Some(commit) = self.try_whole(data) {
            return WriteStep::Commit(commit);
        }
        match &mut self.mode {
            Mode::Stream(check) => {
                if std::mem::take(&mut self.is_unchecked) {
                    check.feed(&self.text);
                }
                let before = check.state();
                let after = check.feed(data);
                self.text.extend_from_slice(data);
                self.after_piece(before, after)
            }
            Mode::Edit { .. } => {
                self.overwrite(start, data);
                self.dirty = true;
                WriteStep::Done
            }
            Mode::Poisoned(error) => WriteStep::FailAgain(error.clone()),
        }
    }

    /// Returns the request of a text that comes in one piece, if it is good. The check finds the
    /// fault of a bad one.
    fn try_whole(&mut self, data: &[u8]) -> Option<Commit<T::Request>> {
        let is_first = self.text.is_empty() && matches!(self.mode, Mode::Stream(_));
        if !is_first || !self.target.accepts_whole() || !data.trim_ascii_end().ends_with(b"}") {
            return None;
        }
        let commit = self.target.request(data, self.precondition).ok()?;
        self.text.extend_from_slice(data);
        (self.is_unchecked, self.dirty) = (true, true);
        Some(commit)
    }

    /// Sets the size: ftruncate(2).
    pub fn truncate(&mut self, size: u64) -> WriteStep<T::Request> {
        if let Mode::Poisoned(error) = &self.mode {
            return WriteStep::FailAgain(error.clone());
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > TEXT_BYTES_MAX {
            return WriteStep::Fail(self.failure(FsError::TooLarge));
        }
        if size == 0 {
            self.restart();
        } else if size != self.text.len() {
            self.leave_stream();
            self.text.resize(size, 0);
            self.dirty = true;
            self.reported = false;
        }
        WriteStep::Done
    }

    /// Takes a flush: close(2) or dup2(2) of one of possibly many descriptors, in process `pid`.
    pub fn flush(&mut self, pid: u32) -> WriteStep<T::Request> {
        self.store_if_complete(pid == self.opener.pid)
    }

    /// Takes an fsync(2) or fdatasync(2): the caller wants the text stored now.
    pub fn fsync(&mut self) -> WriteStep<T::Request> {
        self.store_if_complete(true)
    }

    /// Takes the release of the last descriptor. Text that came after the last flush (a mapped
    /// file) is stored if it is complete; a failure reaches no program and is for the log.
    pub fn release(&mut self) -> WriteStep<T::Request> {
        if self.reported || matches!(self.mode, Mode::Poisoned(_)) {
            return WriteStep::Done;
        }
        self.store_if_complete(true)
    }

    /// Takes the outcome of the request of [`WriteStep::Commit`], with the version now stored (0
    /// where there are no versions).
    ///
    /// # Errors
    /// The error that the call with the commit returns.
    pub fn committed(&mut self, outcome: Result<Version, Error>) -> Result<(), WriteFailure> {
        match outcome {
            Ok(version) => {
                self.dirty = false;
                self.stored = Some(version);
                self.placeholder = None;
                self.precondition = self.precondition.map(|held| match held {
                    Precondition::VersionOrAbsent(_) => Precondition::VersionOrAbsent(version),
                    Precondition::Version(_) | Precondition::Absent => {
                        Precondition::Version(version)
                    }
                });
                if let Mode::Edit { stored } = &mut self.mode {
                    *stored = Some(digest(&self.text));
                }
                Ok(())
            }
            Err(error) => Err(self.refuse(self.commit_error(error))),
        }
    }

    /// Takes the states before and after a piece of a streamed text.
    fn after_piece(&mut self, before: CheckState, after: CheckState) -> WriteStep<T::Request> {
        match after {
            CheckState::Invalid(error) => WriteStep::Fail(self.poison(error)),
            CheckState::Incomplete => {
                self.dirty = true;
                WriteStep::Done
            }
            // White space after the object.
            CheckState::Complete if before == CheckState::Complete => WriteStep::Done,
            CheckState::Complete => {
                self.dirty = true;
                self.commit()
            }
        }
    }

    /// Stores a complete text that is not stored yet. An incomplete one is an error if
    /// `must_be_complete`.
    fn store_if_complete(&mut self, must_be_complete: bool) -> WriteStep<T::Request> {
        if !self.dirty {
            return match &self.mode {
                Mode::Poisoned(error) => WriteStep::FailAgain(error.clone()),
                Mode::Stream(_) | Mode::Edit { .. } => WriteStep::Done,
            };
        }
        let edited;
        let check = match &self.mode {
            Mode::Poisoned(error) => return WriteStep::FailAgain(error.clone()),
            Mode::Stream(check) => check,
            Mode::Edit { stored } if *stored == Some(digest(&self.text)) => {
                self.dirty = false;
                return WriteStep::Done;
            }
            Mode::Edit { .. } => {
                let mut check = self.target.check();
                check.feed(&self.text);
                edited = check;
                &edited
            }
        };
        match if must_be_complete {
            check.at_end()
        } else {
            check.state()
        } {
            CheckState::Complete => self.commit(),
            CheckState::Incomplete if !must_be_complete => WriteStep::Done,
            CheckState::Incomplete => {
                let error = check.incomplete();
                self.refuse_text(error)
            }
            CheckState::Invalid(error) => self.refuse_text(error),
        }
    }

    fn commit(&mut self) -> WriteStep<T::Request> {
        match self.target.request(&self.text, self.precondition) {
            Ok(commit) => WriteStep::Commit(commit),
            Err(error) => self.refuse_text(error),
        }
    }

    /// Fails: the present text cannot be stored.
    fn refuse_text(&mut self, error: FsError) -> WriteStep<T::Request> {
        if self.reported {
            WriteStep::FailAgain(error)
        } else {
            WriteStep::Fail(self.refuse(error))
        }
    }

    /// Fails a complete or final text. A stream cannot be mended, an edited text can.
    fn refuse(&mut self, error: FsError) -> WriteFailure {
        let incomplete = matches!(&self.mode, Mode::Stream(check) if !self.is_unchecked && check.state() == CheckState::Incomplete);
        self.reported = true;
        if incomplete || matches!(self.mode, Mode::Edit { .. }) {
            self.failure(error)
        } else {
            self.poison(error)
        }
    }

    fn failure(&self, error: FsError) -> WriteFailure {
        let report = render_report(&self.text, &error, self.unchanged());
        WriteFailure { error, report }
    }

    /// Ends this handle: nothing of it will be stored.
    fn poison(&mut self, error: FsError) -> WriteFailure {
        let failure = self.failure(error);
        self.mode = Mode::Poisoned(failure.error.clone());
        self.text = Vec::new();
        failure
    }

    /// Changes to random access: the text is checked at flush.
    fn leave_stream(&mut self) {
        if let Mode::Stream(check) = &self.mode {
            let is_whole = self.is_unchecked || check.state() == CheckState::Complete;
            let stored = (!self.dirty && is_whole).then(|| digest(&self.text));
            self.mode = Mode::Edit { stored };
        }
    }

    /// Takes an ftruncate(0): a new text follows, which replaces any item of that time. Without
    /// one, nothing happens.
    fn restart(&mut self) {
        self.text.clear();
        (self.mode, self.is_unchecked) = (Mode::Stream(self.target.check()), false);
        self.precondition = self
            .precondition
            .filter(|condition| self.is_pinned || *condition == Precondition::Absent);
        self.dirty = false;
        self.reported = false;
    }

    /// Converts a commit error. A failed precondition becomes the filesystem's own; other errors
    /// are the database's.
    fn commit_error(&self, error: Error) -> FsError {
        match (error, self.precondition) {
            (Error::ConditionalCheckFailed { .. }, Some(Precondition::Absent)) => FsError::Exists,
            (Error::ConditionalCheckFailed { .. }, Some(_)) if self.is_pinned => {
                FsError::VersionMismatch
            }
            (Error::ConditionalCheckFailed { .. }, Some(_)) => FsError::Stale,
            (Error::Value(ValueError::ItemTooLarge), _) => FsError::TooLarge,
            (error, _) => FsError::Database(error),
        }
    }

    fn overwrite(&mut self, start: usize, data: &[u8]) {
        let end = start + data.len();
        if self.text.len() < end {
            self.text.resize(end, 0);
        }
        self.text[start..end].copy_from_slice(data);
    }
}

#[cfg(test)]
#[path = "text_writer_tests.rs"]
mod tests;
