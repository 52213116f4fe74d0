//! One clause: a directory's name parsed against the schema. What clauses mean together is in `clauses`.
//!
//! ```text
//! clause = key [ "." operator ] "=" value        key = "@pk" | "@sk" | a key attribute's name
//!        | "select=" path { "," path } | "desc" | "asc" | "limit=" n | "eval=" n | "after=" token
//!        | "consistent" | "typed" | "live" | "segment=" i "," n
//!        | key ".shards=" prefix "," first "," last                     the partition keys prefix first … prefix last
//!        | "where." path [ "," type ] "." operator [ "=" value ] | "where=" expression               see `filter`
//! ```
//! The fixed words win over an attribute of the same name; such an attribute is reached as `@pk` or `@sk`.

use std::cmp::Ordering;
use std::str::FromStr;

use super::fault::ClauseFault;
use super::filter::Filter;
use super::result_kind::ResultKind;
use super::source::{Context, QueryKind, SourceKeys};
use super::token::Token;
use super::words::KEY_OPERATORS;
use super::{name as names, nearest, select, shards, value, where_dotted, where_literal};
use crate::codec::digest::Digest;
use crate::codec::file_name::{ALIAS_MARK, NameFault};
use crate::expr::SortRange;
use crate::model::api::Segment;
use crate::model::limits::SEGMENTS_MAX;
use crate::model::schema::{KeyAttribute, KeyAttributeType};
use crate::model::{AttributeValue, DocumentPath, IndexKind};

/// A parsed clause.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Clause {
    /// Values by position in the partition key.
    Partition(Vec<(usize, AttributeValue)>),
    /// The whole partition key by its shortened name.
    PartitionAlias(PartitionAlias),
    /// The values of a write-sharded partition key.
    Shards(Vec<AttributeValue>),
    /// A condition on the sort attribute at `position`.
    Sort {
        position: usize,
        condition: SortRange,
    },
    Select(Vec<DocumentPath>),
    Order(Order),
    /// Items to return at most.
    Limit(u64),
    /// Items to evaluate at most.
    Eval(u64),
    After(Token),
    Consistent,
    Typed,
    Segment(Segment),
    Filter(Filter),
    Live,
}

/// A partition key whose name was too long for a file name; resolved when the query runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartitionAlias {
    /// As typed, `<prefix>%~<digest>`.
    pub name: String,
    pub digest: Digest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Ascending,
    Descending,
}

/// Of a partition key: a range of write shards.
const SHARDS: &str = "shards";

/// Parses one clause.
pub(super) fn parse(name: &str, context: Context<'_>) -> Result<Clause, ClauseFault> {
    let (head, value) = match name.split_once('=') {
        Some((head, value)) => (head, Some(value)),
        None => (name, None),
    };
    if let Some(outcome) = parse_word(head, value, context) {
        return outcome;
    }
    if let Some(head) = name.strip_prefix("where.") {
        return parse_dotted(head, context);
    }
    match value {
        Some(value) => parse_key_clause(name, head, value, context),
        None => Err(unknown(name, context)),
    }
}

/// The clauses with a fixed word; `None` when `head` is none of them.
fn parse_word(head: &str, value: Option<&str>, context: Context<'_>) -> Option<Result<Clause, ClauseFault>> {
    Some(match head {
        "desc" => flag(value, "desc").and_then(|()| on_query(context, Clause::Order(Order::Descending), head)),
        "asc" => flag(value, "asc").and_then(|()| on_query(context, Clause::Order(Order::Ascending), head)),
        "consistent" => flag(value, "consistent").and_then(|()| consistent(context)),
        "typed" => flag(value, "typed").map(|()| Clause::Typed),
        "live" => flag(value, "live").map(|()| Clause::Live),
        "where" => {
            required("where", value, "where=total > 100").and_then(|text| where_literal::parse(text, context)).map(Clause::Filter)
        }
        "limit" => count("limit", value, "limit=10", u64::MAX).map(Clause::Limit),
        "eval" => count("eval", value, "eval=100", u64::from(u32::MAX)).map(Clause::Eval),
        "after" => required("after", value, "after=<next of page.json>").and_then(Token::parse).map(Clause::After),
        "select" => required("select", value, "select=a,b.c").and_then(|text| parse_select(text, context)),
        "segment" => required("segment", value, "segment=0,8").and_then(|text| segment(text, context)),
        _ => return None,
    })
}

fn flag(value: Option<&str>, word: &'static str) -> Result<(), ClauseFault> {
    match value {
        None => Ok(()),
        Some(_) => Err(ClauseFault::UnwantedValue(word)),
    }
}

fn required<'a>(word: &'static str, value: Option<&'a str>, example: &'static str) -> Result<&'a str, ClauseFault> {
    match value {
        Some(value) if !value.is_empty() => Ok(value),
        _ => Err(ClauseFault::NoValue { word, example }),
    }
}

fn on_query(context: Context<'_>, clause: Clause, word: &str) -> Result<Clause, ClauseFault> {
    match context.kind {
        QueryKind::Query => Ok(clause),
        QueryKind::Scan => Err(ClauseFault::NotOnScan(word.to_owned())),
    }
}

fn consistent(context: Context<'_>) -> Result<Clause, ClauseFault> {
    match context.index {
        Some(index) if index.kind == IndexKind::Global => Err(ClauseFault::ConsistentOnGlobal),
        _ => Ok(Clause::Consistent),
    }
}

fn count(word: &'static str, value: Option<&str>, example: &'static str, max: u64) -> Result<u64, ClauseFault> {
    let text = required(word, value, example)?;
    match whole_number(text) {
        Some(n) if (1..=max).contains(&n) => Ok(n),
        _ => Err(ClauseFault::Count { word, expected: "a whole number from 1", found: text.to_owned() }),
    }
}

fn segment(text: &str, context: Context<'_>) -> Result<Clause, ClauseFault> {
    if context.kind == QueryKind::Query {
        return Err(ClauseFault::NotOnQuery("segment"));
    }
    let fault = || ClauseFault::Count {
        word: "segment",
        expected: "its number and how many there are, number < count ≤ 1000000",
        found: text.to_owned(),
    };
    let (index, total) = text.split_once(',').ok_or_else(fault)?;
    match (whole_number(index), whole_number(total)) {
        (Some(index), Some(total)) if index < total && total <= SEGMENTS_MAX => Ok(Clause::Segment(Segment { index, total })),
        _ => Err(fault()),
    }
}

/// A number of decimal digits only, no sign.
fn whole_number<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// `select=`: the paths, each projected by the source if it is a global index. A local index fetches what it lacks.
fn parse_select(text: &str, context: Context<'_>) -> Result<Clause, ClauseFault> {
    let paths = select::parse(text)?;
    if let Some(index) = context.index.filter(|index| index.kind == IndexKind::Global)
        && let Some(path) = paths.iter().find(|path| !index.projects(&context.schema.key, &path.head))
    {
        return Err(ClauseFault::NotProjected { index: index.name.to_string(), attribute: path.head.clone() });
    }
    Ok(Clause::Select(paths))
}

/// `where.…`; the operator may have no value.
fn parse_dotted(head: &str, context: Context<'_>) -> Result<Clause, ClauseFault> {
    let (head, value) = match head.split_once('=') {
        Some((head, value)) => (head, Some(value)),
        None => (head, None),
    };
    where_dotted::parse(head, value, context).map(Clause::Filter)
}

/// `@pk…=`, `@sk…=`, and the key attributes' own names.
fn parse_key_clause(name: &str, head: &str, value: &str, context: Context<'_>) -> Result<Clause, ClauseFault> {
    let keys = context.keys();
    if head.starts_with('@') {
        return parse_at_clause(name, head, value, context);
    }
    let Ok(attribute) = value::decode_text(head) else { return Err(unknown(name, context)) };
    if let Some((role, operator)) = find_attribute(&attribute, keys) {
        on_scan_refused(context, name)?;
        return match role {
            Role::Partition(position) => partition_clause(keys.partition, position, operator, value),
            Role::Sort(position) => sort_clause(keys.sort, position, operator, value),
        };
    }
    match nearest::misspelt(head, &words(context)) {
        Some(_) => Err(unknown(name, context)),
        None => Err(filter(attribute, context)),
    }
}

fn on_scan_refused(context: Context<'_>, name: &str) -> Result<(), ClauseFault> {
    match context.kind {
        QueryKind::Query => Ok(()),
        QueryKind::Scan => Err(ClauseFault::NotOnScan(format!("the key condition {name}"))),
    }
}

/// A key attribute of the source.
#[derive(Debug, Clone, Copy)]
enum Role {
    Partition(usize),
    Sort(usize),
}

/// The key attribute `text`, or `attribute.operator`: the longest name wins, names may hold dots.
fn find_attribute<'t>(text: &'t str, keys: SourceKeys<'_>) -> Option<(Role, Option<&'t str>)> {
    let role = |name: &str| {
        let of = |attributes: &[KeyAttribute]| attributes.iter().position(|attribute| attribute.name == name);
        of(keys.partition).map(Role::Partition).or_else(|| of(keys.sort).map(Role::Sort))
    };
    if let Some(found) = role(text) {
        return Some((found, None));
    }
    let (name, operator) = text.rsplit_once('.')?;
    role(name).map(|found| (found, Some(operator)))
}

fn parse_at_clause(name: &str, head: &str, value: &str, context: Context<'_>) -> Result<Clause, ClauseFault> {
    let (key, operator) = match head.split_once('.') {
        Some((key, operator)) => (key, Some(operator)),
        None => (head, None),
    };
    let keys = context.keys();
    match key {
        "@pk" | "@sk" => on_scan_refused(context, name)?,
        _ => return Err(unknown(name, context)),
    }
    if key == "@pk" {
        return match keys.partition {
            [_] => partition_clause(keys.partition, 0, operator, value),
            several if operator == Some(SHARDS) => Err(ClauseFault::ShardsOfSeveral { names: own_names(several) }),
            several if operator.is_none() => whole_partition(several, value),
            several => Err(ClauseFault::PartitionOperator { attribute: names_of(several) }),
        };
    }
    match keys.sort {
        [] => Err(ClauseFault::NoSortKey),
        [_] => sort_clause(keys.sort, 0, operator, value),
        several => Err(ClauseFault::SeveralAttributes { word: "@sk", count: several.len(), names: own_names(several) }),
    }
}

fn names_of(attributes: &[KeyAttribute]) -> String {
    attributes.iter().map(|attribute| attribute.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn own_names(attributes: &[KeyAttribute]) -> String {
    attributes.iter().map(|attribute| format!("{}=…", attribute.name)).collect::<Vec<_>>().join(" ")
}

fn partition_clause(
    partition: &[KeyAttribute],
    position: usize,
    operator: Option<&str>,
    text: &str,
) -> Result<Clause, ClauseFault> {
    let Some(attribute) = partition.get(position) else { return Err(ClauseFault::NoSortKey) };
    if operator == Some(SHARDS) {
        return match partition {
            [one] => shards::parse(one, text).map(Clause::Shards),
            several => Err(ClauseFault::ShardsOfSeveral { names: own_names(several) }),
        };
    }
    if operator.is_some() {
        return Err(ClauseFault::PartitionOperator { attribute: attribute.name.clone() });
    }
    if partition.len() == 1
        && let Some(digest) = names::alias_digest(text)
    {
        return Ok(Clause::PartitionAlias(PartitionAlias { name: text.to_owned(), digest }));
    }
    if partition.len() == 1 && text.contains(ALIAS_MARK) {
        return Err(ClauseFault::Value { attribute: attribute.name.clone(), fault: NameFault::Alias.into() });
    }
    Ok(Clause::Partition(vec![(position, typed(attribute, text)?)]))
}

/// `@pk=a,b` on an index with several partition attributes: the name of the folder below `items/`.
fn whole_partition(partition: &[KeyAttribute], text: &str) -> Result<Clause, ClauseFault> {
    if let Some(digest) = names::alias_digest(text) {
        return Ok(Clause::PartitionAlias(PartitionAlias { name: text.to_owned(), digest }));
    }
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() != partition.len() {
        let (expected, found) = (partition.len(), parts.len());
        return Err(ClauseFault::PartitionCount { expected, found, names: own_names(partition) });
    }
    let values = partition.iter().zip(parts).enumerate();
    let values = values.map(|(position, (attribute, part))| Ok((position, typed(attribute, part)?)));
    values.collect::<Result<_, ClauseFault>>().map(Clause::Partition)
}

fn typed(attribute: &KeyAttribute, text: &str) -> Result<AttributeValue, ClauseFault> {
    value::parse(text, attribute.attribute_type).map_err(|fault| ClauseFault::Value { attribute: attribute.name.clone(), fault })
}

fn sort_clause(sort: &[KeyAttribute], position: usize, operator: Option<&str>, text: &str) -> Result<Clause, ClauseFault> {
    let Some(attribute) = sort.get(position) else { return Err(ClauseFault::NoSortKey) };
    let one = || typed(attribute, text);
    let condition = match operator {
        None => SortRange::Equal(one()?),
        Some("lt") => SortRange::Less(one()?),
        Some("le") => SortRange::LessOrEqual(one()?),
        Some("gt") => SortRange::Greater(one()?),
        Some("ge") => SortRange::GreaterOrEqual(one()?),
        Some("between") => between(attribute, text)?,
        Some("begins") if attribute.attribute_type == KeyAttributeType::N => {
            return Err(ClauseFault::BeginsOnNumber { attribute: attribute.name.clone(), operator: "begins" });
        }
        Some("begins") => SortRange::BeginsWith(one()?),
        Some(other) => {
            let nearest = if other == "eq" { "=" } else { nearest::nearest(other, &KEY_OPERATORS).unwrap_or("=") };
            return Err(ClauseFault::UnknownOperator { attribute: attribute.name.clone(), operator: other.to_owned(), nearest });
        }
    };
    Ok(Clause::Sort { position, condition })
}

fn between(attribute: &KeyAttribute, text: &str) -> Result<SortRange, ClauseFault> {
    let parts: Vec<&str> = text.split(',').collect();
    let [lower, upper] = parts.as_slice() else {
        return Err(ClauseFault::BetweenCount { attribute: attribute.name.clone() });
    };
    let (lower, upper) = (typed(attribute, lower)?, typed(attribute, upper)?);
    if lower.compare(&upper) == Some(Ordering::Greater) {
        return Err(ClauseFault::BetweenOrder { attribute: attribute.name.clone() });
    }
    Ok(SortRange::Between(lower, upper))
}

fn unknown(name: &str, context: Context<'_>) -> ClauseFault {
    let words = words(context);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let head = name.find('=').map_or(name, |at| name.get(..=at).unwrap_or(name));
    let nearest = nearest::nearest(head, &words).unwrap_or("help");
    ClauseFault::Unknown { name: name.to_owned(), nearest: nearest.to_owned() }
}

fn filter(attribute: String, context: Context<'_>) -> ClauseFault {
    let (name, operator) = match attribute.rsplit_once('.') {
        Some((name, operator)) if KEY_OPERATORS.contains(&operator) => (name.to_owned(), operator.to_owned()),
        _ => (attribute, "eq".to_owned()),
    };
    let mut globals = context.schema.indexes_of(IndexKind::Global);
    let index = globals.find(|index| index.partition.first().is_some_and(|key| key.name == name));
    ClauseFault::Filter { index: index.map(|index| index.name.to_string()), attribute: name, operator }
}

/// Every word that may stand here, those with a value with their `=`.
fn words(context: Context<'_>) -> Vec<String> {
    let keys = context.keys();
    let mut words: Vec<String> = ResultKind::ALL.iter().map(|kind| kind.name().to_owned()).collect();
    words.extend(["select=", "limit=", "eval=", "after=", "consistent", "typed", "live", "where=", "where."].map(str::to_owned));
    if context.kind == QueryKind::Scan {
        words.push("segment=".to_owned());
        return words;
    }
    words.extend(["desc", "asc", "@pk=", "@pk.shards="].map(str::to_owned));
    words.extend(keys.partition.iter().map(|attribute| format!("{}=", attribute.name)));
    for attribute in keys.sort {
        words.push(format!("{}=", attribute.name));
        words.extend(KEY_OPERATORS.iter().map(|operator| format!("{}.{operator}=", attribute.name)));
    }
    if keys.sort.len() == 1 {
        words.push("@sk=".to_owned());
        words.extend(KEY_OPERATORS.iter().map(|operator| format!("@sk.{operator}=")));
    }
    words
}
