//! The update language as parsed: names and values are still placeholders, functions still words.

use crate::expr::path::Path;
use crate::expr::syntax::Operand;

/// The kinds of sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    Set,
    Remove,
    Add,
    Delete,
}

impl SectionKind {
    pub const ALL: [Self; 4] = [Self::Set, Self::Remove, Self::Add, Self::Delete];

    /// The keyword.
    pub fn word(self) -> &'static str {
        match self {
            Self::Set => "SET",
            Self::Remove => "REMOVE",
            Self::Add => "ADD",
            Self::Delete => "DELETE",
        }
    }
}

/// The sign of an arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Plus,
    Minus,
}

impl Sign {
    /// As written.
    pub fn text(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
        }
    }
}

/// The right-hand side of SET.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value<'a> {
    pub left: Operand<'a>,
    pub right: Option<(Sign, Operand<'a>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect<'a> {
    Set(Value<'a>),
    Remove,
    /// `:v`, sign included.
    Add(&'a str),
    /// `:v`, sign included.
    Delete(&'a str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action<'a> {
    pub path: Path<'a>,
    pub effect: Effect<'a>,
}

/// A whole update with what the parser counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpdateSyntax<'a> {
    pub actions: Vec<Action<'a>>,
    /// The first section that came a second time.
    pub repeated: Option<SectionKind>,
    /// `+` and `-`.
    pub operators: usize,
}
