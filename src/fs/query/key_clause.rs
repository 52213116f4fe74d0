//! Conditions on the key: `@pk`, `@sk` and the key attributes' own names, each with its operator; and whether all of them make a query.

use std::cmp::Ordering;

use super::clauses::{Clauses, Partition, PartitionAlias};
use super::fault::ClauseFault;
use super::operators::{BEGINS, Bounds, KEY_OPERATORS, KeyOperator, key_operators};
use super::source::{Context, QueryKind};
use super::value::{self, split};
use super::{nearest, shards};
use crate::codec::file_name::{self, ALIAS_MARK, NameFault};
use crate::expr::SortRange;
use crate::expr::{KeyCondition, KeySchemaView};
use crate::fs::prelude::*;

/// The word of a range's operator. Tokens are made of it, so it does not change.
pub(super) fn word(range: &SortRange) -> &'static str {
    let has = |bounds: &Bounds| match (range, bounds) {
        (SortRange::Between(..), Bounds::Two) | (SortRange::BeginsWith(_), Bounds::Prefix) => true,
        (_, Bounds::One(comparator, _)) => range.comparator() == Some(*comparator),
        _ => false,
    };
    KEY_OPERATORS.iter().find(|operator| has(&operator.range)).map_or("eq", |operator| operator.word)
}

/// Of a partition key: a range of write shards.
const SHARDS: &str = "shards";

/// Adds a condition on the key; `None` if the name is none, false if it was said before.
pub(super) fn add(all: &mut Clauses, name: &str, context: Context<'_>) -> Result<Option<bool>, ClauseFault> {
    let (head, Some(value)) = split(name) else { return Ok(None) };
    let (keys, attribute) = (context.keys(), value::decode_text(head));
    let found = match &attribute {
        _ if head.starts_with('@') => find_key(head, keys),
        Ok(attribute) => find_attribute(attribute, keys),
        Err(_) => None,
    };
    let Some((role, operator)) = found else { return Ok(None) };
    if context.kind == QueryKind::Scan {
        return Err(ClauseFault::NotOnScan(format!("the key condition {name}")));
    }
    let is_first = match (role, keys.sort) {
        (Role::PartitionKey, _) => add_partition_key(all, keys.partition, operator, value),
        (Role::Partition(position), _) => add_partition(all, keys.partition, position, operator, value),
        (Role::SortKey, []) => Err(ClauseFault::NoSortKey),
        (Role::SortKey, [_]) => add_sort(all, keys.sort, 0, operator, value),
        (Role::SortKey, several) => {
            Err(ClauseFault::SeveralAttributes { word: "@sk", count: several.len(), names: own_names(several, " ") })
        }
        (Role::Sort(position), _) => add_sort(all, keys.sort, position, operator, value),
    };
    is_first.map(Some)
}

/// What a condition is on.
#[derive(Debug, Clone, Copy)]
enum Role {
    PartitionKey,
    SortKey,
    /// An attribute by position.
    Partition(usize),
    Sort(usize),
}

/// `@pk` or `@sk`, and the operator.
fn find_key<'h>(head: &'h str, keys: KeySchemaView<'_>) -> Option<(Role, Option<&'h str>)> {
    let (key, operator) = head.split_once('.').map_or((head, None), |(key, operator)| (key, Some(operator)));
    match key {
        "@pk" if keys.partition.len() == 1 => Some((Role::Partition(0), operator)),
        "@pk" => Some((Role::PartitionKey, operator)),
        "@sk" => Some((Role::SortKey, operator)),
        _ => None,
    }
}

/// The key attribute `text`, or `attribute.operator`: the longest name wins, names may hold dots.
fn find_attribute<'t>(text: &'t str, keys: KeySchemaView<'_>) -> Option<(Role, Option<&'t str>)> {
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

fn own_names(attributes: &[KeyAttribute], separator: &str) -> String {
    attributes.iter().map(|attribute| format!("{}=…", attribute.name)).collect::<Vec<_>>().join(separator)
}

fn add_partition(
    all: &mut Clauses,
    partition: &[KeyAttribute],
    position: usize,
    operator: Option<&str>,
    text: &str,
) -> Result<bool, ClauseFault> {
    let Some(attribute) = partition.get(position) else { return Err(ClauseFault::NoSortKey) };
    match (operator, partition) {
        (Some(SHARDS), [one]) => return Ok(all.partition.set(Partition::Shards(shards::parse(one, text)?.into()))),
        (Some(SHARDS), several) => return Err(ClauseFault::ShardsOfSeveral { names: own_names(several, " ") }),
        (Some(_), _) => return Err(ClauseFault::PartitionOperator { attribute: attribute.name.clone() }),
        (None, [_]) => {
            if let Some(alias) = alias(text) {
                return Ok(all.partition.set(alias));
            }
            if text.contains(ALIAS_MARK) {
                return Err(ClauseFault::Value { attribute: attribute.name.clone(), fault: NameFault::Alias.into() });
            }
        }
        (None, _) => {}
    }
    Ok(all.partition.add([(position, typed(attribute, text)?)]))
}

fn alias(text: &str) -> Option<Partition> {
    file_name::alias_digest(text).map(|digest| Partition::Alias(PartitionAlias { name: text.to_owned(), digest }))
}

/// `@pk=a,b` on an index with several partition attributes: the name of the folder below `items/`.
fn add_partition_key(
    all: &mut Clauses,
    partition: &[KeyAttribute],
    operator: Option<&str>,
    text: &str,
) -> Result<bool, ClauseFault> {
    match operator {
        None => {}
        Some(SHARDS) => return Err(ClauseFault::ShardsOfSeveral { names: own_names(partition, " ") }),
        Some(_) => {
            let names: Vec<&str> = partition.iter().map(|attribute| attribute.name.as_str()).collect();
            return Err(ClauseFault::PartitionOperator { attribute: names.join(", ") });
        }
    }
    if let Some(alias) = alias(text) {
        return Ok(all.partition.set(alias));
    }
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() != partition.len() {
        let (expected, found) = (partition.len(), parts.len());
        return Err(ClauseFault::PartitionCount { expected, found, names: own_names(partition, " ") });
    }
    let values = partition.iter().zip(parts).enumerate();
    let values = values.map(|(position, (attribute, part))| Ok((position, typed(attribute, part)?)));
    Ok(all.partition.add(values.collect::<Result<Vec<_>, ClauseFault>>()?))
}

fn typed(attribute: &KeyAttribute, text: &str) -> Result<AttributeValue, ClauseFault> {
    value::parse(text, attribute.attribute_type).map_err(|fault| ClauseFault::Value { attribute: attribute.name.clone(), fault })
}

fn add_sort(
    all: &mut Clauses,
    sort: &[KeyAttribute],
    position: usize,
    operator: Option<&str>,
    text: &str,
) -> Result<bool, ClauseFault> {
    let Some(attribute) = sort.get(position) else { return Err(ClauseFault::NoSortKey) };
    match all.sort.insert(position, range(attribute, operator, text)?) {
        Some(_) => Err(ClauseFault::SecondCondition { attribute: attribute.name.clone() }),
        None => Ok(true),
    }
}

fn range(attribute: &KeyAttribute, operator: Option<&str>, text: &str) -> Result<SortRange, ClauseFault> {
    let Some(word) = operator else { return Ok(SortRange::Equal(typed(attribute, text)?)) };
    let Some(operator) = KEY_OPERATORS.iter().find(|known| known.word == word) else {
        let nearest = if word == "eq" { "=" } else { nearest::nearest(word, key_operators()).unwrap_or("=") };
        return Err(ClauseFault::UnknownOperator { attribute: attribute.name.clone(), operator: word.to_owned(), nearest });
    };
    match operator.range {
        Bounds::Two => between(attribute, text),
        Bounds::Prefix if attribute.attribute_type == KeyAttributeType::N => {
            Err(ClauseFault::BeginsOnNumber { attribute: attribute.name.clone(), operator: operator.word })
        }
        Bounds::Prefix => Ok(SortRange::BeginsWith(typed(attribute, text)?)),
        Bounds::One(_, range) => Ok(range(typed(attribute, text)?)),
    }
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

/// What is said of an attribute that is no key: it would be a filter. `None` if it is no attribute's name.
pub(super) fn as_filter(head: &str, context: Context<'_>) -> Option<ClauseFault> {
    let attribute = value::decode_text(head).ok().filter(|_| !head.starts_with('@'))?;
    let (name, operator) = match attribute.rsplit_once('.') {
        Some((name, operator)) if key_operators().any(|known| known == operator) => (name.to_owned(), operator.to_owned()),
        _ => (attribute, "eq".to_owned()),
    };
    let mut globals = context.schema.indexes_of(IndexKind::Global);
    let index = globals.find(|index| index.partition.first().is_some_and(|key| key.name == name));
    Some(ClauseFault::Filter { index: index.map(|index| index.name.to_string()), attribute: name, operator })
}

/// The words that begin a condition on the key.
pub(super) fn words(context: Context<'_>) -> Vec<String> {
    if context.kind == QueryKind::Scan {
        return Vec::new();
    }
    let keys = context.keys();
    let of_sort = |name: &str| {
        let operators = KEY_OPERATORS.iter().map(|operator| format!("{name}.{}=", operator.word));
        [format!("{name}=")].into_iter().chain(operators).collect::<Vec<_>>()
    };
    let mut words = vec!["@pk=".to_owned(), "@pk.shards=".to_owned()];
    words.extend(keys.partition.iter().map(|attribute| format!("{}=", attribute.name)));
    words.extend(keys.sort.iter().flat_map(|attribute| of_sort(&attribute.name)));
    if keys.sort.len() == 1 {
        words.extend(of_sort("@sk"));
    }
    words
}

/// The lines of the help: a condition and its meaning.
pub(super) fn help(context: Context<'_>) -> Vec<(String, String)> {
    if context.kind == QueryKind::Scan {
        return Vec::new();
    }
    let keys = context.keys();
    let equals = |key: &KeyAttribute, meaning: &str| (format!("{}=<{}>", written(key), type_word(key)), meaning.to_owned());
    let mut lines: Vec<_> = keys.partition.iter().map(|key| equals(key, "the partition key, needed")).collect();
    if let [one] = keys.partition {
        let shards = format!("all of {} = prefix m … prefix n, merged by sort key", written(one));
        lines.push(("@pk=<value>".to_owned(), "the same".to_owned()));
        lines.push(("@pk.shards=<prefix>,<m>,<n>".to_owned(), shards));
    }
    for key in keys.sort {
        lines.push(equals(key, "the sort key equals"));
        let works = |operator: &&KeyOperator| operator.word != BEGINS || key.attribute_type != KeyAttributeType::N;
        let line = |of: &KeyOperator| (format!("{}.{}={}", written(key), of.word, of.value), of.meaning.to_owned());
        lines.extend(KEY_OPERATORS.iter().filter(works).map(line));
    }
    if keys.sort.len() == 1 {
        lines.push(("@sk=… @sk.lt=… …".to_owned(), "the same".to_owned()));
    }
    lines
}

/// An attribute's name as a clause and a shell understand it.
pub(super) fn written(attribute: &KeyAttribute) -> String {
    file_name::encode(&AttributeValue::S(attribute.name.clone()))
}

fn type_word(attribute: &KeyAttribute) -> &'static str {
    match attribute.attribute_type {
        KeyAttributeType::S => "string",
        KeyAttributeType::N => "number",
        KeyAttributeType::B => "bytes",
    }
}

impl Clauses {
    /// Adds the key of a saved request.
    pub fn add_key(&mut self, key: KeyCondition) {
        self.partition = Partition::Values(key.partition.into_iter().enumerate().collect());
        self.sort = key.sort.into_iter().map(SortRange::Equal).chain(key.range).enumerate().collect();
    }

    /// Checks that the clauses make a request: a query has its whole partition key, and conditions on a sort key of several
    /// attributes start at the first, all but the last being equalities.
    pub fn check_complete(&self, context: Context<'_>) -> Result<(), ClauseFault> {
        if context.kind == QueryKind::Scan {
            return Ok(());
        }
        let keys = context.keys();
        if let Partition::Values(known) = &self.partition {
            let all = keys.partition.iter().enumerate();
            let missing: Vec<&str> =
                all.filter(|(position, _)| !known.contains_key(position)).map(|(_, key)| key.name.as_str()).collect();
            if !missing.is_empty() {
                return Err(incomplete(keys.partition, &missing));
            }
        }
        self.check_sort(keys.sort)
    }

    fn check_sort(&self, sort: &[KeyAttribute]) -> Result<(), ClauseFault> {
        let Some(&last) = self.sort.keys().next_back() else { return Ok(()) };
        let name = |position: usize| sort.get(position).map_or_else(String::new, |attribute| attribute.name.clone());
        let equal = |position: &usize| matches!(self.sort.get(position), Some(SortRange::Equal(_)));
        match (0..last).find(|position| !equal(position)) {
            None => Ok(()),
            Some(gap) => Err(ClauseFault::SortGap { given: name(last), missing: name(gap) }),
        }
    }
}

fn incomplete(partition: &[KeyAttribute], missing: &[&str]) -> ClauseFault {
    let needs = match partition {
        [one] => format!("@pk=…, the partition key {}", one.name),
        _ => format!("all of its partition key; {} is missing", missing.join(", ")),
    };
    ClauseFault::Incomplete { needs, example: format!("{}/items.ndjson", own_names(partition, "/")) }
}
