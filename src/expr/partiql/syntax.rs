//! PartiQL as parsed: every expression is one kind of tree, whatever it is for; names and `?` stand as written.

use crate::expr::order::Comparator;
use crate::model::DocumentPath;
use crate::model::error::statement::Place;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Compare(Comparator),
    Plus,
    Minus,
}

/// What IS asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    Missing,
    Null,
    Type(TypeName),
}

/// PartiQL's own names of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeName {
    Boolean,
    Number,
    Text,
    Blob,
    List,
    Tuple,
    /// One of SQL's that no attribute has, by the service's name.
    Other(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    pub node: ExpressionNode,
    /// Of its first token; of the name for a call.
    pub place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpressionNode {
    Path(DocumentPath),
    Text(String),
    /// Without a sign, as written.
    Number(String),
    Boolean(bool),
    Null,
    /// Number of the `?`, from 0.
    Parameter(usize),
    List(Vec<Expression>),
    Bag(Vec<Expression>),
    /// Whether each key is a string is seen when values are made.
    Tuple(Vec<(Expression, Expression)>),
    /// The name in small letters.
    Call {
        name: String,
        arguments: Vec<Expression>,
    },
    /// With an odd number of `-` before it.
    Negative(Box<Expression>),
    Binary {
        left: Box<Expression>,
        operator: Operator,
        right: Box<Expression>,
    },
    Between {
        operand: Box<Expression>,
        lower: Box<Expression>,
        upper: Box<Expression>,
    },
    In {
        operand: Box<Expression>,
        list: Vec<Expression>,
    },
    Is {
        operand: Box<Expression>,
        test: Test,
    },
    Not(Box<Expression>),
    /// At least two.
    And(Vec<Expression>),
    /// At least two.
    Or(Vec<Expression>),
}

/// Table, and index if one is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub table: String,
    pub index: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderTerm {
    pub attribute: String,
    pub descending: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Select {
    /// `None` is `*`. Whether each is a document path is told once the table is known.
    pub columns: Option<Vec<Expression>>,
    pub source: Source,
    pub condition: Option<Expression>,
    pub order: Vec<OrderTerm>,
}

/// A clause of UPDATE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateClause {
    Set(DocumentPath, Expression),
    Remove(DocumentPath),
}

/// What RETURNING asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returning {
    AllOld,
    AllNew,
    ModifiedOld,
    ModifiedNew,
}

impl Returning {
    /// As error texts show it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::AllOld => "ALL OLD",
            Self::AllNew => "ALL NEW",
            Self::ModifiedOld => "MODIFIED OLD",
            Self::ModifiedNew => "MODIFIED NEW",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    Select(Select),
    Exists(Select),
    Insert { source: Source, value: Expression },
    Update { source: Source, changes: Vec<UpdateClause>, condition: Option<Expression>, returning: Option<Returning> },
    Delete { source: Source, condition: Option<Expression>, returning: Option<Returning> },
}

/// A statement with what the parser counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    pub statement: Statement,
    /// How many `?` it has.
    pub parameters: usize,
}
