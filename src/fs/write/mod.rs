//! Writing through files (docs/filesystem.md 4): pure bookkeeping without I/O or locks. The view
//! performs the requests that these types return.
//!
//! ```text
//! mod.rs          TextTarget: the request that a text becomes; TextCheck: the state of a text so far; LineCheck: texts of lines
//! text_writer.rs  TextWriter<T>: the state machine of one open file that holds one JSON object
//! item_writer.rs  ItemTextWriter = TextWriter<ItemTarget>: X.json and X.ddbjson -> PutItemRequest: key attributes
//!                 from the name, look-alikes of the other form
//! report.rs       a failure as a user reads it: the line, a caret, a hint
//! scratch.rs      ScratchFiles: bounded files in memory; `fs::path` has the rule for their names
//! deferred_deletes.rs  DeferredDeletes: items renamed away, deleted a little later unless written again
//! draft.rs        Drafts: tables made by mkdir and not created yet
//! index_draft.rs  the text of a new index's schema.json, or a `ctl` line -> UpdateTable
//! schema_change.rs  the text of a schema.json -> CreateTable, or of two definitions the requests and refusals between them
//! ```
//!
//! | difficulty | solved by |
//! |---|---|
//! | shells never look at the result of close, so a bad text must fail in `write` | [`crate::codec::json::prefix`] |
//! | flush is not the last close: it comes before the first write and from child processes with half a text | `TextWriter::flush` |
//! | truncation must not touch the item: it is a property of the handle | `TextWriter::truncate` |
//! | editors that keep a backup rename the item away and write it again | `DeferredDeletes` |
//!
//! One open file is one `TextWriter` behind one lock. The view holds the lock from a call that
//! returns [`WriteStep::Commit`] until it has passed the outcome to
//! [`text_writer::TextWriter::committed`].

pub mod deferred_deletes;
pub mod draft;
pub mod index_draft;
pub mod item_writer;
pub mod report;
pub mod schema_change;
pub mod scratch;
pub mod text_writer;

pub use deferred_deletes::DeferredDeletes;
pub use draft::Drafts;
pub use item_writer::{ItemTarget, ItemTextWriter, KeyPart, TargetKey};
pub use scratch::{FileId, ScratchFiles};
pub use text_writer::TextWriter;

use crate::codec::json::prefix::{JsonPrefix, PrefixState};
use crate::fs::prelude::*;
use serde_json::Map;

/// The longest text of an item file, bytes. A 400 KB item is at most 2.4 MB of JSON if every
/// character is a `\u` escape; the rest is room for white space.
pub const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The process that opened a file, and the mode of the open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opener {
    /// The process. The kernel passes the id of the calling thread; use its thread group if it can
    /// be found, else a flush from another thread of the opener counts as one from another process
    /// and reports no incomplete text.
    pub pid: u32,
    /// O_APPEND: every write goes to the end of this handle's text, whatever its offset.
    pub append: bool,
}

/// The next step of the view.
#[derive(Debug, Clone, PartialEq)]
pub enum WriteStep<R> {
    /// Nothing; the call succeeds.
    Done,
    /// Perform the request, pass the outcome to [`text_writer::TextWriter::committed`], and answer
    /// the call with its result.
    Commit(Commit<R>),
    /// The call fails; note it for `.ddb/errors/last`.
    Fail(WriteFailure),
    /// The call fails for the reason of an earlier call on this handle, which is noted already:
    /// close after a bad write.
    FailAgain(FsError),
}

/// The request of a complete text.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit<R> {
    pub request: R,
    /// Sentences for `.ddb/warnings.ndjson`.
    pub warnings: Vec<String>,
}

/// The failure of a call: the error, and the lines for `.ddb/errors/last` below its first one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct WriteFailure {
    pub error: FsError,
    /// Indented lines, each with its newline: excerpt, caret, hint. See [`report::render_report`].
    pub report: String,
}

/// A failure that says no more than its error.
impl From<FsError> for WriteFailure {
    fn from(error: FsError) -> Self {
        Self {
            error,
            report: String::new(),
        }
    }
}

/// The request that a file's text becomes.
pub trait TextTarget {
    /// The request for the view: `PutItemRequest`, `CreateTableRequest`.
    type Request;

    /// Returns the request of this complete JSON object.
    ///
    /// # Errors
    /// The text is not fit for this file.
    fn request(
        &self,
        text: &[u8],
        precondition: Option<Precondition>,
    ) -> Result<Commit<Self::Request>, FsError>;

    /// Returns the check that follows a new text of this file: one JSON object by default.
    fn check(&self) -> Box<dyn TextCheck> {
        Box::new(JsonPrefix::new())
    }

    /// True if [`TextTarget::check`] takes every text that [`TextTarget::request`] takes. A text
    /// that comes in one piece is then read once.
    fn accepts_whole(&self) -> bool {
        false
    }

    /// True if a text is carried out once, not stored. Such a text is not edited.
    fn is_statement(&self) -> bool {
        false
    }

    /// Returns the last sentence of a failure's hint while the handle has stored nothing: `The item
    /// is unchanged.`
    fn unchanged(&self) -> &'static str;
}

/// The state of a text so far. It is followed as it is written, so that a bad one fails in `write`
/// (docs/filesystem.md 0.5).
#[derive(Debug, Clone, PartialEq)]
pub enum CheckState {
    /// The beginning of a good text, or nothing yet.
    Incomplete,
    /// A whole text, to be carried out now. Only white space may follow, unless the check answers
    /// `Incomplete` to more.
    Complete,
    /// No further bytes can make it good. This state is final.
    Invalid(FsError),
}

/// Follows a text in pieces of any size.
pub trait TextCheck: std::fmt::Debug + Send {
    /// Takes the next bytes; returns the state after them.
    fn feed(&mut self, bytes: &[u8]) -> CheckState;

    /// Returns the state after the bytes so far.
    fn state(&self) -> CheckState;

    /// Returns the state if nothing more comes.
    fn at_end(&self) -> CheckState {
        self.state()
    }

    /// Returns the error of a text that ends here.
    fn incomplete(&self) -> FsError;

    /// Returns the bytes of memory that the check holds of the text.
    fn held_bytes(&self) -> usize {
        0
    }
}

/// A text that is one JSON object.
impl TextCheck for JsonPrefix {
    fn feed(&mut self, bytes: &[u8]) -> CheckState {
        Self::feed(self, bytes).into()
    }

    fn state(&self) -> CheckState {
        Self::state(self).into()
    }

    fn incomplete(&self) -> FsError {
        FsError::Json(Self::incomplete(self))
    }
}

impl From<PrefixState> for CheckState {
    fn from(state: PrefixState) -> Self {
        match state {
            PrefixState::Incomplete => Self::Incomplete,
            PrefixState::Complete => Self::Complete,
            PrefixState::Invalid(error) => Self::Invalid(FsError::Json(error)),
        }
    }
}

/// The judgement on a text that may be whole.
#[derive(Debug, Clone, PartialEq)]
pub enum TextVerdict {
    Valid,
    /// The text ends too early.
    Incomplete(FsError),
    Invalid(FsError),
}

/// A text of lines that is judged as a whole whenever it ends with a newline, and at the end.
#[derive(Debug)]
pub struct LineCheck<K> {
    /// The subject that `judge` is given.
    subject: K,
    judge: fn(&K, &str) -> TextVerdict,
    /// True if text may follow a good one.
    may_continue: bool,
    /// True if text has followed a good one: it is judged at the end only.
    is_continued: bool,
    text: Vec<u8>,
    state: CheckState,
}

impl<K> LineCheck<K> {
    /// Makes a check that refuses text after a good one.
    #[must_use]
    pub fn once(subject: K, judge: fn(&K, &str) -> TextVerdict) -> Self {
        Self {
            subject,
            judge,
            may_continue: false,
            is_continued: false,
            text: Vec::new(),
            state: CheckState::Incomplete,
        }
    }

    /// Makes a check in which text after a good one belongs to it; the whole is judged again at the
    /// end.
    #[must_use]
    pub fn continued(subject: K, judge: fn(&K, &str) -> TextVerdict) -> Self {
        Self {
            may_continue: true,
            ..Self::once(subject, judge)
        }
    }

    /// True if the text may be whole: it ends in a newline, or is an object, which may end without
    /// one.
    fn may_be_whole(&self) -> bool {
        self.text.ends_with(b"\n")
            || (self.text.ends_with(b"}") && self.text.trim_ascii_start().starts_with(b"{"))
    }

    fn judge(&self) -> TextVerdict {
        match std::str::from_utf8(&self.text) {
            Ok(text) => (self.judge)(&self.subject, text),
            Err(error) if error.error_len().is_none() => TextVerdict::Incomplete(not_utf8()),
            Err(_) => TextVerdict::Invalid(not_utf8()),
        }
    }
}

fn not_utf8() -> FsError {
    FsError::Body("the text is not UTF-8".to_owned())
}

/// Returns the bytes as text.
///
/// # Errors
/// `Body` if they are not UTF-8.
pub fn utf8(text: &[u8]) -> Result<&str, FsError> {
    std::str::from_utf8(text).map_err(|_| not_utf8())
}

impl<K: std::fmt::Debug + Send> TextCheck for LineCheck<K> {
    fn held_bytes(&self) -> usize {
        self.text.capacity()
    }

    fn feed(&mut self, bytes: &[u8]) -> CheckState {
        let is_blank = bytes.iter().all(u8::is_ascii_whitespace);
        self.text.extend_from_slice(bytes);
        self.is_continued |= self.may_continue && self.state == CheckState::Complete;
        self.state = match &self.state {
            CheckState::Invalid(error) => CheckState::Invalid(error.clone()),
            CheckState::Complete | CheckState::Incomplete if self.is_continued => CheckState::Incomplete,
            CheckState::Complete if is_blank => CheckState::Complete,
            CheckState::Complete => CheckState::Invalid(FsError::Body(
                "the text before this one was carried out; one open file takes one, so write it as a whole".to_owned(),
            )),
            CheckState::Incomplete if self.may_be_whole() => match self.judge() {
                TextVerdict::Valid => CheckState::Complete,
                TextVerdict::Incomplete(_) => CheckState::Incomplete,
                TextVerdict::Invalid(error) => CheckState::Invalid(error),
            },
            CheckState::Incomplete => CheckState::Incomplete,
        };
        self.state.clone()
    }

    fn state(&self) -> CheckState {
        self.state.clone()
    }

    fn at_end(&self) -> CheckState {
        match (&self.state, self.judge()) {
            (CheckState::Incomplete, TextVerdict::Valid) => CheckState::Complete,
            (CheckState::Incomplete, TextVerdict::Invalid(error)) => CheckState::Invalid(error),
            (state, _) => state.clone(),
        }
    }

    fn incomplete(&self) -> FsError {
        match self.judge() {
            TextVerdict::Incomplete(error) | TextVerdict::Invalid(error) => error,
            TextVerdict::Valid => FsError::Body("the text ends too early".to_owned()),
        }
    }
}

/// Gives a definition the name of its directory; returns a warning if the text had another.
fn set_name(members: &mut Map<String, Value>, member: &str, name: &str) -> Option<String> {
    let replaced = members.insert(member.to_owned(), name.into())?;
    (replaced.as_str() != Some(name))
        .then(|| format!("{member} in the body is not {name}; the directory's name was taken"))
}
