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

/// What the static checks look at, each in the order written.
#[derive(Debug, Default)]
pub struct Parts<'s, 'a> {
    pub paths: Vec<&'s Path<'a>>,
    /// With whether it stands as a condition, not as an operand.
    pub calls: Vec<(&'s Call<'a>, bool)>,
    /// `:v`, sign included.
    pub values: Vec<&'a str>,
}

impl<'s, 'a> Parts<'s, 'a> {
    /// Those of a condition.
    #[must_use]
    pub fn of(condition: &'s Condition<'a>) -> Self {
        let mut parts = Self::default();
        parts.condition(condition);
        parts
    }

    fn condition(&mut self, condition: &'s Condition<'a>) {
        match condition {
            Condition::Compare { left, comparator: _, right } => self.operands([left, right]),
            Condition::Between { operand, lower, upper } => self.operands([operand, lower, upper]),
            Condition::In { operand, list } => self.operands(std::iter::once(operand).chain(list)),
            Condition::Call(call) => {
                self.calls.push((call, true));
                self.operands(&call.operands);
            }
            Condition::And(list) | Condition::Or(list) => list.iter().for_each(|condition| self.condition(condition)),
            Condition::Not(inner) => self.condition(inner),
        }
    }

    pub fn operands(&mut self, operands: impl IntoIterator<Item = &'s Operand<'a>>) {
        for operand in operands {
            match operand {
                Operand::Path(path) => self.paths.push(path),
                Operand::Value(alias) => self.values.push(alias),
                Operand::Call(call) => {
                    self.calls.push((call, false));
                    self.operands(&call.operands);
                }
            }
        }
    }
}
