//! What the file of an attribute says, and what a text written to it becomes.
//!
//! ```text
//! S     the text, a newline          N, BOOL, NULL  the word, a newline
//! B     the bytes                    L, M, SS, NS, BS  plain JSON, a newline; a set is also written as a list
//! ```
//! One newline at the end of what is written is not part of the value, but of B.

use crate::codec::plain_json::{self, PlainJsonFault};
use crate::fs::open::prelude::*;
use crate::fs::write::{CheckState, Judged, LineCheck, TextCheck};
use crate::model::{AttributeType, error::ValueError};

/// How the text of an attribute's file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    Boolean,
    /// NULL is kept by the word; any other text is a string.
    Null,
    Bytes,
    /// Any value as plain JSON.
    Json,
    /// A set, also when it is written as a list.
    Set(AttributeType),
}

impl Kind {
    /// The one that keeps the type of a value.
    pub fn of(value: &AttributeValue) -> Self {
        match value {
            AttributeValue::S(_) => Self::Text,
            AttributeValue::N(_) => Self::Number,
            AttributeValue::B(_) => Self::Bytes,
            AttributeValue::Bool(_) => Self::Boolean,
            AttributeValue::Null => Self::Null,
            AttributeValue::L(_) | AttributeValue::M(_) => Self::Json,
            AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_) => Self::Set(value.attribute_type()),
        }
    }

    /// The one that a file's name asks for after the comma.
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "S" => Self::Text,
            "N" => Self::Number,
            "B" => Self::Bytes,
            "BOOL" => Self::Boolean,
            "JSON" => Self::Json,
            _ => return None,
        })
    }

    /// Follows a text.
    pub fn check(self) -> Box<dyn TextCheck> {
        match self {
            Self::Bytes => Box::new(AnyBytes),
            Self::Text => Box::new(LineCheck::whole(|text| judge(Self::Text, text))),
            Self::Number => Box::new(LineCheck::whole(|text| judge(Self::Number, text))),
            Self::Boolean => Box::new(LineCheck::whole(|text| judge(Self::Boolean, text))),
            Self::Null => Box::new(LineCheck::whole(|text| judge(Self::Null, text))),
            Self::Json => Box::new(LineCheck::whole(|text| judge(Self::Json, text))),
            Self::Set(AttributeType::Ns) => Box::new(LineCheck::whole(|text| judge(Self::Set(AttributeType::Ns), text))),
            Self::Set(AttributeType::Bs) => Box::new(LineCheck::whole(|text| judge(Self::Set(AttributeType::Bs), text))),
            Self::Set(_) => Box::new(LineCheck::whole(|text| judge(Self::Set(AttributeType::Ss), text))),
        }
    }

    /// The value that a whole text stands for.
    ///
    /// # Errors
    /// It is of another type.
    pub fn parse(self, text: &[u8]) -> Result<AttributeValue, FsError> {
        if self == Self::Bytes {
            return Ok(AttributeValue::B(text.to_vec()));
        }
        let text = std::str::from_utf8(text).map_err(|_| FsError::Body("the text is not UTF-8".to_owned()))?;
        let line = text.strip_suffix('\n').unwrap_or(text);
        match (self, line.trim()) {
            (Self::Text, _) => Ok(AttributeValue::S(line.to_owned())),
            (Self::Null, "null") => Ok(AttributeValue::Null),
            (Self::Null, _) => Ok(AttributeValue::S(line.to_owned())),
            (Self::Boolean, "true") => Ok(AttributeValue::Bool(true)),
            (Self::Boolean, "false") => Ok(AttributeValue::Bool(false)),
            (Self::Boolean, _) => Err(other_type("true or false")),
            (Self::Number, word) => match word.parse() {
                Ok(number) => Ok(AttributeValue::N(number)),
                Err(error) => {
                    Err(FsError::Body(format!("the attribute is a number: {error}; write to the name with ,S to make it a string")))
                }
            },
            (Self::Set(kind), _) => set(kind, plain_json::parse_value(text.as_bytes()).map_err(FsError::Json)?),
            (Self::Json | Self::Bytes, _) => plain_json::parse_value(text.as_bytes()).map_err(FsError::Json),
        }
    }
}

fn other_type(expected: &str) -> FsError {
    FsError::Body(format!("the attribute takes {expected}; write to the name with ,S to make it a string"))
}

fn set(kind: AttributeType, value: AttributeValue) -> Result<AttributeValue, FsError> {
    let list = match value {
        AttributeValue::L(list) => list,
        value if value.attribute_type() == kind => return Ok(value),
        _ => return Err(FsError::Body(format!("the attribute is a set of type {kind}: write a JSON list of its members"))),
    };
    let made = match kind {
        AttributeType::Ns => list
            .into_iter()
            .map(|v| if let AttributeValue::N(n) = v { Some(n) } else { None })
            .collect::<Option<_>>()
            .map(AttributeValue::number_set),
        AttributeType::Bs => list
            .into_iter()
            .map(|v| if let AttributeValue::B(b) = v { Some(b) } else { None })
            .collect::<Option<_>>()
            .map(AttributeValue::binary_set),
        _ => list
            .into_iter()
            .map(|v| if let AttributeValue::S(s) = v { Some(s) } else { None })
            .collect::<Option<_>>()
            .map(AttributeValue::string_set),
    };
    let made: Result<AttributeValue, ValueError> =
        made.ok_or_else(|| FsError::Body(format!("not every member is one of a set of type {kind}")))?;
    Ok(made.map_err(crate::model::Error::from)?)
}

fn judge(kind: Kind, text: &str) -> Judged {
    match kind.parse(text.as_bytes()) {
        Ok(_) => Judged::Good,
        Err(FsError::Json(error)) if error.fault == PlainJsonFault::UnexpectedEnd => Judged::Unfinished(FsError::Json(error)),
        Err(error) => Judged::Bad(error),
    }
}

/// Any bytes, whole when the file is closed.
#[derive(Debug)]
struct AnyBytes;

impl TextCheck for AnyBytes {
    fn feed(&mut self, _bytes: &[u8]) -> CheckState {
        CheckState::Incomplete
    }

    fn state(&self) -> CheckState {
        CheckState::Incomplete
    }

    fn at_end(&self) -> CheckState {
        CheckState::Complete
    }

    fn incomplete(&self) -> FsError {
        FsError::Internal
    }
}

/// What the file of a value says.
pub fn text(value: &AttributeValue) -> Vec<u8> {
    match value {
        AttributeValue::S(text) => format!("{text}\n").into_bytes(),
        AttributeValue::B(bytes) => bytes.clone(),
        _ => (plain_json::value(value) + "\n").into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_the_type_of_what_is_there() {
        let check = |before: &str, written: &str, expected: &str| {
            let kind = Kind::of(&plain_json::parse_value(before.as_bytes()).unwrap());
            let mut check = kind.check();
            check.feed(written.as_bytes());
            let found = match check.at_end() {
                CheckState::Complete => String::from_utf8(text(&kind.parse(written.as_bytes()).unwrap())).unwrap(),
                CheckState::Incomplete => format!("unfinished: {}", check.incomplete()),
                CheckState::Invalid(error) => error.to_string(),
            };
            assert_eq!(found.trim_end_matches('\n'), expected, "{before} {written:?}");
        };
        check("\"a\"", "b c\n", "b c");
        check("\"a\"", "12", "12");
        check("\"a\"", "two\nlines\n", "two\nlines");
        check("1", "2.50\n", "2.5");
        check("true", "false\n", "false");
        check("null", "null\n", "null");
        check("null", "x\n", "x");
        check("[1]", "[1,\n2]\n", "[1,2]");
        check("[1]", "[1,\n", "unfinished: expected more: the text ends at byte 4");
        check("[1]", "[1,]\n", "expected a JSON value at byte 3");
        check("{\"$ss\":[\"a\"]}", "[\"b\",\"a\"]\n", "{\"$ss\":[\"a\",\"b\"]}");
        check("{\"$ns\":[1]}", "{\"$ns\":[3,2]}\n", "{\"$ns\":[2,3]}");
        check("{\"$ss\":[\"a\"]}", "[1]\n", "not every member is one of a set of type SS");
        check("{\"$ss\":[\"a\"]}", "1\n", "the attribute is a set of type SS: write a JSON list of its members");
        check("true", "maybe\n", "the attribute takes true or false; write to the name with ,S to make it a string");
    }
}
