//! Readers and writers of JSON.
//!
//! ```text
//! grammar   numbers, escapes, brackets, byte by byte: the base of all readers
//! reader    a whole text, its values taken one by one     document   a whole text as a compact tree
//! prefix    a growing text: is it, so far, the beginning of one object?
//! write     items and values in both forms                edit       a member of a text put in or taken out, indentation
//! ```

pub mod document;
pub mod edit;
pub mod grammar;
pub mod prefix;
pub(super) mod reader;
pub(super) mod write;

use crate::model::error::ValueError;

/// The reason why a text is no item, and its offset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {offset}")]
pub struct JsonError {
    /// The number of bytes before the fault: `{"status":open}` fails at 10.
    pub offset: usize,
    pub fault: JsonFault,
}

/// The kind of a [`JsonError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    #[error("expected {0}")]
    Expected(&'static str),
    /// The end of the text within the object. Every proper prefix of a good text has this fault,
    /// and no other.
    #[error("expected more: the text ends")]
    UnexpectedEnd,
    #[error("expected nothing more after the object")]
    TrailingData,
    #[error("the member {0:?} is there twice")]
    DuplicateMember(String),
    #[error("the text is not UTF-8")]
    NotUtf8,
    #[error("a byte order mark is no JSON; save the text without it")]
    ByteOrderMark,
    #[error("a control character in a string must be written as an escape")]
    ControlCharacter,
    #[error("a bad escape in a string")]
    Escape,
    #[error("half of a surrogate pair")]
    LoneSurrogate,
    #[error("expected base64")]
    Base64,
    /// A member name that plain JSON reserves for types.
    #[error("{0:?} is no type tag; a map with one such member is written {{\"$map\":{{…}}}}")]
    UnknownTag(String),
    #[error(transparent)]
    Value(#[from] ValueError),
}
