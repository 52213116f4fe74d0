//! Is a text, so far, what its file takes? Followed as it is written, so that a bad one fails in `write` (docs/filesystem.md 0.5).

use crate::codec::json::prefix::{JsonPrefix, PrefixState};
use crate::fs::prelude::*;

/// What the bytes so far are.
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

/// One JSON object.
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
pub struct LineCheck {
    judge: fn(&str) -> Judged,
    /// May text follow one that was good?
    goes_on: bool,
    /// Text followed a good one: it is judged at the end only.
    is_long: bool,
    text: Vec<u8>,
    state: CheckState,
}

impl LineCheck {
    /// What follows a good text is refused.
    #[must_use]
    pub fn once(judge: fn(&str) -> Judged) -> Self {
        Self { judge, goes_on: false, is_long: false, text: Vec::new(), state: CheckState::Incomplete }
    }

    /// What follows a good text belongs to it; the whole is judged again at the end.
    #[must_use]
    pub fn whole(judge: fn(&str) -> Judged) -> Self {
        Self { goes_on: true, ..Self::once(judge) }
    }

    /// A line, or an object: it may end without a newline.
    fn may_be_whole(&self) -> bool {
        self.text.ends_with(b"\n") || (self.text.ends_with(b"}") && self.text.trim_ascii_start().starts_with(b"{"))
    }

    fn judge(&self) -> Judged {
        match std::str::from_utf8(&self.text) {
            Ok(text) => (self.judge)(text),
            Err(error) if error.error_len().is_none() => Judged::Unfinished(not_utf8()),
            Err(_) => Judged::Bad(not_utf8()),
        }
    }
}

fn not_utf8() -> FsError {
    FsError::Body("the text is not UTF-8".to_owned())
}

impl TextCheck for LineCheck {
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
