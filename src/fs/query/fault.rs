//! What can be wrong with a clause: the sentence and the hint that `.ddb/errors/last` shows.

use super::operators::{filter_operators, key_operators};
use crate::codec::file_name::NameFault;
use crate::fs::prelude::*;

/// Why a name is no clause, or not allowed in this directory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClauseFault {
    #[error("a clause is UTF-8 text")]
    NotText,
    /// `nearest` is the known word with the fewest edits.
    #[error("unknown clause '{name}'")]
    Unknown { name: String, nearest: String },
    /// `attribute.operator=value` on a key attribute.
    #[error("unknown operator '{operator}' on {attribute}")]
    UnknownOperator { attribute: String, operator: String, nearest: &'static str },
    /// A bare `attribute=value` that no key serves; `index` has the attribute as its partition key.
    #[error(
        "{attribute} is no key attribute here, so this would be a filter: DynamoDB reads, and charges for, every item of the query and then drops those that do not match"
    )]
    Filter { attribute: String, operator: String, index: Option<String> },
    /// What is wrong inside a filter, in the words of the expression language.
    #[error("{message}")]
    Expression { message: String, hint: String },
    /// The last step of a `where.` clause is no operator; empty when there is none.
    #[error("{}", filter_operator(path, operator))]
    FilterOperator { path: String, operator: String, nearest: &'static str },
    #[error("'{found}' is no type that a where clause can force")]
    FilterType { found: String },
    #[error("{attribute} is {} of what is queried: a filter cannot name it, a key condition can", key_role(*is_partition))]
    FilterOnKey { attribute: String, is_partition: bool },
    /// `live` filters by the attribute of the table's time to live, which cannot be filtered by here.
    #[error("live does not work here: {attribute} is the table's time to live, and {fault}")]
    Live { attribute: String, fault: Box<ClauseFault> },
    #[error("{0} stands for one request, but @pk.shards makes several")]
    SeveralRequests(&'static str),
    #[error("shards are prefix,first,last with whole numbers, not '{found}'")]
    ShardsForm { found: String },
    #[error("shards are 1 to {max}, the first number not above the last")]
    ShardsCount { max: u64 },
    #[error("shards work on a partition key of one attribute")]
    ShardsOfSeveral { names: String },
    /// A request that is saved as a query has a member that a query path has no clause for.
    #[error("{member} of this request cannot be saved")]
    SavedRequest { member: &'static str, hint: &'static str },
    /// An `items.csv` without `select=` whose items have too many attributes for a header.
    #[error("the items have more than {max} attributes, too many columns")]
    Columns { max: usize },
    #[error("{word} needs a value")]
    NoValue { word: &'static str, example: &'static str },
    #[error("{0} takes no value")]
    UnwantedValue(&'static str),
    /// A value of a key attribute that is not of its type.
    #[error("{attribute}: {fault}")]
    Value { attribute: String, fault: ValueFault },
    /// `limit=`, `eval=`, `segment=`.
    #[error("{word} takes {expected}, not '{found}'")]
    Count { word: &'static str, expected: &'static str, found: String },
    #[error("'{found}' is no document path")]
    DocumentPath { found: String },
    #[error("index {index} does not project {attribute}")]
    NotProjected { index: String, attribute: String },
    #[error("{0} is given twice")]
    Repeated(String),
    #[error("{one} and {other} exclude each other")]
    Contradiction { one: &'static str, other: &'static str },
    #[error("a key condition takes one operator on {attribute}, there is one already")]
    SecondCondition { attribute: String },
    #[error("the partition key {attribute} takes '=' only")]
    PartitionOperator { attribute: String },
    #[error("'{operator}' does not work on {attribute}, a number")]
    BeginsOnNumber { attribute: String, operator: &'static str },
    #[error("between on {attribute} takes two values, lower,upper")]
    BetweenCount { attribute: String },
    #[error("between on {attribute}: the lower value is greater than the upper")]
    BetweenOrder { attribute: String },
    #[error("{word} names one attribute, but the key has {count}")]
    SeveralAttributes { word: &'static str, count: usize, names: String },
    #[error("@pk of this index takes {expected} values, not {found}")]
    PartitionCount { expected: usize, found: usize, names: String },
    #[error("@sk does not work here: there is no sort key")]
    NoSortKey,
    #[error("consistent reads are not supported on global secondary indexes")]
    ConsistentOnGlobal,
    #[error("{0} does not work on a scan")]
    NotOnScan(String),
    #[error("{0} does not work on a query")]
    NotOnQuery(&'static str),
    /// A result was asked of a query without all of its partition key; `missing` are attribute names.
    #[error("a query needs {needs}")]
    Incomplete { needs: String, example: String },
    /// Conditions of a multi-attribute sort key leave out `missing`, which comes before `given`.
    #[error("a condition on {given} needs '=' conditions on the sort attributes before it: {missing} has none")]
    SortGap { given: String, missing: String },
    #[error("this is no position token of ddbfs")]
    TokenForm,
    #[error("this position token belongs to another query")]
    TokenForeign,
}

/// Why a text is no value of a key attribute.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueFault {
    #[error(transparent)]
    Name(#[from] NameFault),
    #[error("a shortened name (%~…) works only as the whole partition key")]
    Alias,
    #[error("a BOOL is true or false")]
    Boolean,
    /// The text of a forced JSON value.
    #[error("{0}")]
    Json(String),
}

fn filter_operator(path: &str, operator: &str) -> String {
    if operator.is_empty() {
        format!("where.{path} has no operator")
    } else {
        format!("unknown operator '{operator}' in where.{path}")
    }
}

fn key_role(is_partition: bool) -> &'static str {
    if is_partition { "the partition key" } else { "a sort key" }
}

impl ClauseFault {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { nearest, .. } => format!("did you mean '{nearest}'? The file help here explains every clause."),
            Self::UnknownOperator { nearest, .. } => {
                let all: Vec<_> = key_operators().collect();
                format!("did you mean '{nearest}'? There are {}, and none for equality.", all.join(", "))
            }
            Self::Filter { attribute, index: Some(index), .. } => {
                format!("the index {index} has {attribute} as its partition key: gsi/{index}/query/{attribute}=…")
            }
            Self::Filter { attribute, operator, index: None } => {
                format!("write where.{attribute}.{operator}=… to filter all the same, or add an index on {attribute}")
            }
            Self::Expression { hint, .. } => hint.clone(),
            Self::FilterOperator { path, operator, nearest } => {
                let path = path.strip_suffix(operator.as_str()).and_then(|path| path.strip_suffix('.')).unwrap_or(path);
                let all: Vec<_> = filter_operators().collect();
                format!("for example where.{path}.{nearest}; there are {}", all.join(" "))
            }
            Self::FilterType { .. } => {
                "types are S N B BOOL NULL JSON: where.zip,S.eq=12345; write a comma in a name as %2C".to_owned()
            }
            Self::FilterOnKey { attribute, is_partition: true } => {
                format!("write {attribute}=… or @pk=…; to read all partitions use scan/")
            }
            Self::FilterOnKey { attribute, is_partition: false } => {
                format!("write {attribute}=…, {attribute}.ge=…, {attribute}.between=a,b or {attribute}.begins=… without where")
            }
            Self::Live { .. } => "leave live out; expired items are deleted by themselves after a while".to_owned(),
            Self::SeveralRequests(_) => "read items.ndjson, or query one shard: @pk=<prefix><number>".to_owned(),
            Self::ShardsForm { .. } | Self::ShardsCount { .. } => {
                "@pk.shards=121212-,1,5 queries 121212-1 to 121212-5; a comma in the prefix is %2C".to_owned()
            }
            Self::ShardsOfSeveral { names } => format!("query one at a time: {names}"),
            Self::SavedRequest { hint, .. } => (*hint).to_owned(),
            Self::Columns { .. } => "name the columns: select=a,b.c/items.csv".to_owned(),
            Self::NoValue { example, .. } => format!("for example {example}"),
            Self::Count { .. } => "whole numbers from 1; a segment's number counts from 0: segment=0,8 to segment=7,8".to_owned(),
            Self::DocumentPath { .. } => {
                "paths are a, a.b, a[0], separated by ','; write . , [ in a name as %2E %2C %5B".to_owned()
            }
            Self::NotProjected { index, .. } => format!("schema.json of {index} says what it projects; or query the table"),
            Self::SecondCondition { .. } => "a range with two ends is one clause: @sk.between=lower,upper".to_owned(),
            Self::PartitionOperator { .. } => "ranges work on the sort key; to read all partitions use scan/".to_owned(),
            Self::BeginsOnNumber { .. } => "use between, ge or lt".to_owned(),
            Self::BetweenCount { .. } => "write a comma inside a value as %2C".to_owned(),
            Self::BetweenOrder { .. } => "write between=lower,upper; desc turns the result around".to_owned(),
            Self::SeveralAttributes { names, .. } | Self::PartitionCount { names, .. } => {
                format!("use the attributes' own names: {names}")
            }
            Self::NoSortKey => "the partition key alone says which item".to_owned(),
            Self::ConsistentOnGlobal => "leave it out, or query the table".to_owned(),
            Self::NotOnScan(_) => "use query/ beside scan/".to_owned(),
            Self::NotOnQuery(_) => "use scan/ beside query/".to_owned(),
            Self::Incomplete { example, .. } => format!("for example {example}"),
            Self::SortGap { missing, .. } => format!("add {missing}=…"),
            Self::TokenForm | Self::TokenForeign => "use the value of next of page.json, below the same clauses".to_owned(),
            Self::NotText | Self::Value { .. } => "write bytes as %XX".to_owned(),
            Self::UnwantedValue(_) | Self::Repeated(_) | Self::Contradiction { .. } => {
                "leave one out; the order of clauses does not matter".to_owned()
            }
        }
    }
}

impl From<ClauseFault> for FsError {
    fn from(fault: ClauseFault) -> Self {
        Self::Clause { message: fault.to_string(), hint: fault.hint() }
    }
}
