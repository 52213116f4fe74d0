//! Writing through files (docs/filesystem.md 4): pure bookkeeping without I/O or locks; the view performs what these types ask for.
//!
//! ```text
//! mod.rs          Target: what a text becomes; TextCheck: is a text, so far, what its file takes? LineCheck: texts of lines
//! text_writer.rs  TextWriter<T>: the state machine of one open file that holds one JSON object
//! item_writer.rs  ItemWriter = TextWriter<ItemTarget>: X.json and X.ddbjson -> PutItemRequest: key attributes
//!                 from the name, look-alikes of the other form
//! report.rs       a failure as people read it back: the line, a caret, a hint
//! scratch.rs      ScratchFiles: bounded files in memory; `fs::path` says which names are
//! deferred.rs     DeferredDeletes: items renamed away, deleted a little later unless written again
//! draft.rs        Drafts: tables made by mkdir and not created yet
//! schema_change.rs  the text of a schema.json -> CreateTable, or of two definitions the requests and refusals between them
//! ```
//!
//! Difficulties, and who solves them. Shells never look at the result of close, so a bad text must fail in `write`:
//! [`crate::codec::json::prefix`]. Flush is not the last close, it comes before the first write and from child processes with half a text:
//! `TextWriter::flush`. Truncation must not touch the item: it is a property of the handle, `TextWriter::truncate`.
//! Backup-saving editors rename the item away and write it again: `DeferredDeletes`.
//!
//! One open file is one `TextWriter` behind one lock, which the view holds from a call that answers [`WriteStep::Commit`] until
//! it has told [`text_writer::TextWriter::committed`] how the commit ended.

pub mod deferred;
pub mod draft;
pub mod index_draft;
pub mod item_writer;
pub mod report;
pub mod schema_change;
pub mod scratch;
pub mod text_writer;

pub use deferred::DeferredDeletes;
pub use draft::Drafts;
pub use item_writer::{ItemTarget, ItemWriter, KeyPart, TargetKey};
pub use scratch::{FileId, ScratchFiles};
pub use text_writer::TextWriter;

use crate::codec::json::prefix::{JsonPrefix, PrefixState};
use crate::fs::prelude::*;
use serde_json::Map;

/// The longest text of an item file. A 400 KB item is at most 2.4 MB of JSON when every character is a `\u` escape; the rest is
/// room for white space.
pub const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Who opened a file, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opener {
    /// The process. The kernel passes the id of the calling thread: give the thread group of it where it can be found out,
    /// else a flush from another thread of the opener counts as one from another process and reports no incomplete text.
    pub pid: u32,
    /// O_APPEND: every write goes to the end of this handle's text, whatever its offset.
    pub append: bool,
}

/// What the view does next.
#[derive(Debug, Clone, PartialEq)]
pub enum WriteStep<R> {
    /// Nothing; the call succeeds.
    Done,
    /// Perform the request, call [`text_writer::TextWriter::committed`] with the outcome, answer the call with what that returns.
    Commit(Commit<R>),
    /// The call fails; note it for `.ddb/errors/last`.
    Fail(Failure),
    /// The call fails for a reason that an earlier call on this handle has failed for and noted: close after a bad write.
    FailAgain(FsError),
}

/// A request that a complete text asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit<R> {
    pub request: R,
    /// Sentences for `.ddb/warnings.ndjson`.
    pub warnings: Vec<String>,
}

/// Why a call fails: the error and the lines for `.ddb/errors/last` below its first one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct Failure {
    pub error: FsError,
    /// Indented lines, each with its newline: excerpt, caret, hint. See [`report::report`].
    pub report: String,
}

/// A failure that says no more than its error.
impl From<FsError> for Failure {
    fn from(error: FsError) -> Self {
        Self {
            error,
            report: String::new(),
        }
    }
}

/// What a file's text becomes.
pub trait Target {
    /// What the view performs: `PutItemRequest`, `CreateTableRequest`.
    type Request;

    /// The request that this complete JSON object asks for.
    ///
    /// # Errors
    /// The text is not fit for this file.
    fn request(
        &self,
        text: &[u8],
        precondition: Option<Precondition>,
    ) -> Result<Commit<Self::Request>, FsError>;

    /// Follows a new text of this file: one JSON object, if nothing else is said.
    fn check(&self) -> Box<dyn TextCheck> {
        Box::new(JsonPrefix::new())
    }

    /// Is every text that [`Target::request`] takes a whole one for [`Target::check`]? Then one that comes in one piece is read once.
    fn reads_whole(&self) -> bool {
        false
    }

    /// Is a text carried out once, not stored? Then it is not edited.
    fn is_statement(&self) -> bool {
        false
    }

    /// The last sentence of a failure's hint, as long as the handle has stored nothing: `The item is unchanged.`
    fn unchanged(&self) -> &'static str;
}

/// What the bytes of a text so far are: followed as it is written, so that a bad one fails in `write` (docs/filesystem.md 0.5).
#[derive(Debug, Clone, PartialEq)]
pub enum CheckState {
    /// The beginning of a good text, or nothing yet.
    Incomplete,
    /// A whole text, to be carried out now. Only white space may follow, unless the check says `Incomplete` to more.
    Complete,
    /// No bytes after these can make it good. Stays so.
    Invalid(FsError),
}

/// Follows a text in pieces of any size.
pub trait TextCheck: std::fmt::Debug + Send {
    /// Takes the next bytes; the state after them.
    fn feed(&mut self, bytes: &[u8]) -> CheckState;

    /// The state after the bytes so far.
    fn state(&self) -> CheckState;

    /// The state if nothing more comes.
    fn at_end(&self) -> CheckState {
        self.state()
    }

    /// The error of a text that ends here.
    fn incomplete(&self) -> FsError;

    /// Bytes of memory of what it remembers of the text.
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

/// What a whole text may be found to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    Good,
    /// It ends too early.
    Unfinished(FsError),
    Bad(FsError),
}

/// A text of lines that is judged as a whole whenever it ends with a newline, and at the end.
#[derive(Debug)]
pub struct LineCheck<K> {
    /// What is judged.
    kind: K,
    judge: fn(&K, &str) -> Judged,
    /// May text follow one that was good?
    goes_on: bool,
    /// Text followed a good one: it is judged at the end only.
    is_long: bool,
    text: Vec<u8>,
    state: CheckState,
}

impl<K> LineCheck<K> {
    /// What follows a good text is refused.
    #[must_use]
    pub fn once(kind: K, judge: fn(&K, &str) -> Judged) -> Self {
        Self {
            kind,
            judge,
            goes_on: false,
            is_long: false,
            text: Vec::new(),
            state: CheckState::Incomplete,
        }
    }

    /// What follows a good text belongs to it; the whole is judged again at the end.
    #[must_use]
    pub fn whole(kind: K, judge: fn(&K, &str) -> Judged) -> Self {
        Self {
            goes_on: true,
            ..Self::once(kind, judge)
        }
    }

    /// A line, or an object: it may end without a newline.
    fn may_be_whole(&self) -> bool {
        self.text.ends_with(b"\n")
            || (self.text.ends_with(b"}") && self.text.trim_ascii_start().starts_with(b"{"))
    }

    fn judge(&self) -> Judged {
        match std::str::from_utf8(&self.text) {
            Ok(text) => (self.judge)(&self.kind, text),
            Err(error) if error.error_len().is_none() => Judged::Unfinished(not_utf8()),
            Err(_) => Judged::Bad(not_utf8()),
        }
    }
}

fn not_utf8() -> FsError {
    FsError::Body("the text is not UTF-8".to_owned())
}

impl<K: std::fmt::Debug + Send> TextCheck for LineCheck<K> {
    fn held_bytes(&self) -> usize {
        self.text.capacity()
    }

    fn feed(&mut self, bytes: &[u8]) -> CheckState {
        let is_blank = bytes.iter().all(u8::is_ascii_whitespace);
        self.text.extend_from_slice(bytes);
        self.is_long |= self.goes_on && self.state == CheckState::Complete;
        self.state = match &self.state {
            CheckState::Invalid(error) => CheckState::Invalid(error.clone()),
            CheckState::Complete | CheckState::Incomplete if self.is_long => CheckState::Incomplete,
            CheckState::Complete if is_blank => CheckState::Complete,
            CheckState::Complete => CheckState::Invalid(FsError::Body(
                "the text before this one was carried out; one open file takes one, so write it as a whole".to_owned(),
            )),
            CheckState::Incomplete if self.may_be_whole() => match self.judge() {
                Judged::Good => CheckState::Complete,
                Judged::Unfinished(_) => CheckState::Incomplete,
                Judged::Bad(error) => CheckState::Invalid(error),
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
            (CheckState::Incomplete, Judged::Good) => CheckState::Complete,
            (CheckState::Incomplete, Judged::Bad(error)) => CheckState::Invalid(error),
            (state, _) => state.clone(),
        }
    }

    fn incomplete(&self) -> FsError {
        match self.judge() {
            Judged::Unfinished(error) | Judged::Bad(error) => error,
            Judged::Good => FsError::Body("the text ends too early".to_owned()),
        }
    }
}

/// Gives a definition the name that its directory has; a warning if the text had another.
fn name_by_directory(members: &mut Map<String, Value>, member: &str, name: &str) -> Option<String> {
    let replaced = members.insert(member.to_owned(), name.into())?;
    (replaced.as_str() != Some(name))
        .then(|| format!("{member} in the body is not {name}; the directory's name was taken"))
}
