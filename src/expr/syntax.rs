//! The condition language as parsed: names and values are still placeholders, functions still words.

use super::order::Comparator;
use super::path::Path;

/// `name(operand, …)`, any name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<'a> {
    pub function: &'a str,
    pub operands: Vec<Operand<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand<'a> {
    Path(Path<'a>),
    /// `:v`, sign included.
    Value(&'a str),
    Call(Call<'a>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition<'a> {
    Compare {
        left: Operand<'a>,
        comparator: Comparator,
        right: Operand<'a>,
    },
    Between {
        operand: Operand<'a>,
        lower: Operand<'a>,
        upper: Operand<'a>,
    },
    In {
        operand: Operand<'a>,
        list: Vec<Operand<'a>>,
    },
    Call(Call<'a>),
    /// At least two.
    And(Vec<Condition<'a>>),
    /// At least two.
    Or(Vec<Condition<'a>>),
    Not(Box<Condition<'a>>),
}

/// A whole condition with what the parser counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionSyntax<'a> {
    pub root: Condition<'a>,
    /// Comparators, AND, OR, NOT, BETWEEN, IN.
    pub operators: usize,
}

/// What the static checks look at, in the order written.
#[derive(Debug, Clone, Copy)]
pub enum Part<'s, 'a> {
    /// A call that stands as a condition.
    ConditionCall(&'s Call<'a>),
    /// A call that stands as an operand.
    OperandCall(&'s Call<'a>),
    Path(&'s Path<'a>),
}

impl<'a> Condition<'a> {
    /// Calls and paths, from left to right.
    #[must_use]
    pub fn parts(&self) -> Vec<Part<'_, 'a>> {
        let mut parts = Vec::new();
        self.collect(&mut parts);
        parts
    }

    fn collect<'s>(&'s self, parts: &mut Vec<Part<'s, 'a>>) {
        match self {
            Self::Compare { left, comparator: _, right } => collect_operands([left, right], parts),
            Self::Between { operand, lower, upper } => collect_operands([operand, lower, upper], parts),
            Self::In { operand, list } => collect_operands(std::iter::once(operand).chain(list), parts),
            Self::Call(call) => {
                parts.push(Part::ConditionCall(call));
                collect_operands(&call.operands, parts);
            }
            Self::And(list) | Self::Or(list) => list.iter().for_each(|condition| condition.collect(parts)),
            Self::Not(inner) => inner.collect(parts),
        }
    }
}

fn collect_operands<'s, 'a: 's>(operands: impl IntoIterator<Item = &'s Operand<'a>>, parts: &mut Vec<Part<'s, 'a>>) {
    for operand in operands {
        match operand {
            Operand::Path(path) => parts.push(Part::Path(path)),
            Operand::Value(_) => {}
            Operand::Call(call) => {
                parts.push(Part::OperandCall(call));
                collect_operands(&call.operands, parts);
            }
        }
    }
}
