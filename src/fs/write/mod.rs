//! Writing through files (docs/filesystem.md 4): pure bookkeeping without I/O or locks; the view performs what these types ask for.
//!
//! ```text
//! check.rs        TextCheck: is a text, so far, what its file takes? LineCheck: texts of lines
//! text_writer.rs  TextWriter<T>: the state machine of one open file that holds one JSON object
//! item_writer.rs  ItemWriter = TextWriter<ItemTarget>: X.json and X.ddbjson -> PutItemRequest: key attributes
//!                 from the name, look-alikes of the other form
//! report.rs       a failure as people read it back: the line, a caret, a hint
//! scratch.rs      ScratchFiles: bounded files in memory; path/scratch_name.rs says which names are
//! deferred.rs     DeferredDeletes: items renamed away, deleted a little later unless written again
//! draft.rs        Drafts: tables made by mkdir and not created yet
//! schema_target.rs  the text of a schema.json -> CreateTable or a change; schema_change.rs: two definitions -> requests, refusals
//! ```
//!
//! Difficulties, and who solves them. Shells never look at the result of close, so a bad text must fail in `write`:
//! [`crate::codec::json::prefix`]. Flush is not the last close, it comes before the first write and from child processes with half a text:
//! `TextWriter::flush`. Truncation must not touch the item: it is a property of the handle, `TextWriter::truncate`.
//! Backup-saving editors rename the item away and write it again: `DeferredDeletes`.
//!
//! One open file is one `TextWriter` behind one lock, which the view holds from a call that answers [`WriteStep::Commit`] until
//! it has told [`text_writer::TextWriter::committed`] how the commit ended.

pub mod check;
pub mod deferred;
pub mod draft;
pub mod index_draft;
pub mod item_writer;
pub mod report;
pub mod schema_change;
pub mod schema_target;
pub mod scratch;
pub mod text_writer;

pub use deferred::DeferredDeletes;
pub use draft::Drafts;
pub use item_writer::{ItemTarget, ItemWriter, KeyPart, TargetKey};
pub use scratch::{FileId, ScratchFiles};
pub use text_writer::TextWriter;

use self::check::TextCheck;
use crate::codec::json::prefix::JsonPrefix;
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

/// What a file's text becomes.
pub trait Target {
    /// What the view performs: `PutItemRequest`, `CreateTableRequest`.
    type Request;

    /// The request that this complete JSON object asks for.
    ///
    /// # Errors
    /// The text is not fit for this file.
    fn request(&self, text: &[u8], precondition: Option<Precondition>) -> Result<Commit<Self::Request>, FsError>;

    /// Follows a new text of this file: one JSON object, if nothing else is said.
    fn check(&self) -> Box<dyn TextCheck> {
        Box::new(JsonPrefix::new())
    }

    /// Is a text carried out once, not stored? Then it is not edited.
    fn is_statement(&self) -> bool {
        false
    }

    /// The last sentence of a failure's hint, as long as the handle has stored nothing: `The item is unchanged.`
    fn unchanged(&self) -> &'static str;
}

/// Gives a definition the name that its directory has; a warning if the text had another.
fn name_by_directory(members: &mut Map<String, Value>, member: &str, name: &str) -> Option<String> {
    let replaced = members.insert(member.to_owned(), name.into())?;
    (replaced.as_str() != Some(name)).then(|| format!("{member} in the body is not {name}; the directory's name was taken"))
}
