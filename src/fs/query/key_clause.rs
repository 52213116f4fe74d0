//! Clauses on the key, which become the KeyConditionExpression: `@pk`, `@sk` and the key
//! attributes' own names, each with its operator; and the check that all of them make a query.

use std::cmp::Ordering;

use super::{
    clause_fault::ClauseFault,
    context::{QueryContext, QueryKind},
    near_clause,
    operators::{BEGINS, KEY_OPERATORS, KeyOperator, key_operators},
    query_path::{Clauses, PartitionAlias, PartitionClause},
    spelling::{self, split_clause},
};
use crate::codec::file_name::{self, ALIAS_MARK, FileNameError};
use crate::expr::{KeyCondition, KeySchemaView, Predicate, SortRange};
use crate::fs::prelude::*;
use crate::model::IndexSchema;

/// Returns the word of a range's operator. It is part of the tokens' check, so it must not change.
pub(super) fn operator_word(range: &SortRange) -> &'static str {
    let operator = KEY_OPERATORS
        .iter()
        .find(|operator| operator.predicate == range.predicate());
    debug_assert!(
        operator.is_some() || matches!(range, SortRange::Equal(_)),
        "an operator without a word: {range:?}"
    );
    operator.map_or("eq", |operator| operator.word)
}

/// The operator of a partition key for a range of write shards.
const SHARDS: &str = "shards";

/// Adds a condition on the key; returns `None` if the name is none, false if it was given before.
pub(super) fn add(
    all: &mut Clauses,
    name: &str,
    context: QueryContext<'_>,
) -> Result<Option<bool>, ClauseFault> {
    let (head, Some(value)) = split_clause(name) else {
        return Ok(None);
    };
    let (keys, attribute) = (context.keys(), spelling::decode_text(head));
    let found = match &attribute {
        _ if head.starts_with('@') => find_key(head, keys),
        Ok(attribute) => find_attribute(attribute, keys),
        Err(_) => None,
    };
    let Some((role, operator)) = found else {
        return Ok(None);
    };
    match (context.kind, operator) {
        (QueryKind::Scan, _) => {
            return Err(ClauseFault::not_on_scan(&format!(
                "the key condition {name}"
            )));
        }
        (QueryKind::Near, Some(_)) => {
            return Err(ClauseFault::new(
                format!("{head} is no condition of a search"),
                "SearchVectors takes '=' only",
            ));
        }
        _ => {}
    }
    let is_first = match role {
        ClauseTarget::Partition(position, attributes) => {
            add_partition(all, keys.partition, position, attributes, operator, value)
        }
        ClauseTarget::Sort(position, attribute) => match all
            .sort
            .insert(position, parse_range(attribute, operator, value)?)
        {
            None => Ok(true),
            Some(_) => Err(ClauseFault::new(
                format!(
                    "a key condition takes one operator on {}, there is one already",
                    attribute.name
                ),
                "a range with two ends is one clause: @sk.between=lower,upper",
            )),
        },
        ClauseTarget::SortKey([]) => Err(ClauseFault::new(
            "@sk does not work here: there is no sort key",
            "the partition key alone says which item",
        )),
        ClauseTarget::SortKey(several) => Err(several_fault(
            format!("@sk names one attribute, but the key has {}", several.len()),
            several,
        )),
    };
    is_first.map(Some)
}

/// The key attributes that a condition is on.
#[derive(Debug, Clone, Copy)]
enum ClauseTarget<'k> {
    /// Attributes of the partition key from that position on: one, or all of them.
    Partition(usize, &'k [KeyAttribute]),
    /// An attribute by position.
    Sort(usize, &'k KeyAttribute),
    /// A sort key that is not one attribute.
    SortKey(&'k [KeyAttribute]),
}

/// Splits `@pk` or `@sk` from the operator.
fn find_key<'h, 'k>(
    head: &'h str,
    keys: KeySchemaView<'k>,
) -> Option<(ClauseTarget<'k>, Option<&'h str>)> {
    let (key, operator) = head
        .split_once('.')
        .map_or((head, None), |(key, operator)| (key, Some(operator)));
    match (key, keys.sort) {
        ("@pk", _) => Some((ClauseTarget::Partition(0, keys.partition), operator)),
        ("@sk", [one]) => Some((ClauseTarget::Sort(0, one), operator)),
        ("@sk", sort) => Some((ClauseTarget::SortKey(sort), operator)),
        _ => None,
    }
}

/// Finds the key attribute `text`, or `attribute.operator`: the longest name wins, since names may
/// hold dots.
fn find_attribute<'t, 'k>(
    text: &'t str,
    keys: KeySchemaView<'k>,
) -> Option<(ClauseTarget<'k>, Option<&'t str>)> {
    let role = |name: &str| {
        let of = |attributes: &'k [KeyAttribute]| {
            attributes
                .iter()
                .enumerate()
                .find(|(_, attribute)| attribute.name == name)
        };
        let partition = of(keys.partition)
            .map(|(position, one)| ClauseTarget::Partition(position, std::slice::from_ref(one)));
        partition.or_else(|| {
            of(keys.sort).map(|(position, attribute)| ClauseTarget::Sort(position, attribute))
        })
    };
    if let Some(found) = role(text) {
        return Some((found, None));
    }
    let (name, operator) = text.rsplit_once('.')?;
    role(name).map(|found| (found, Some(operator)))
}

fn own_names(attributes: &[KeyAttribute], separator: &str) -> String {
    attributes
        .iter()
        .map(|attribute| format!("{}=…", attribute.name))
        .collect::<Vec<_>>()
        .join(separator)
}

/// Returns the fault of a clause that takes several attributes for one.
fn several_fault(message: String, attributes: &[KeyAttribute]) -> ClauseFault {
    ClauseFault::new(
        message,
        format!(
            "use the attributes' own names: {}",
            own_names(attributes, " ")
        ),
    )
}

/// Adds a value of the partition key: one of its attributes, or the whole of a key of several by
/// the name of the folder below `items/` (`@pk=a,b`).
fn add_partition(
    all: &mut Clauses,
    key: &[KeyAttribute],
    position: usize,
    attributes: &[KeyAttribute],
    operator: Option<&str>,
    text: &str,
) -> Result<bool, ClauseFault> {
    match (operator, key) {
        (Some(SHARDS), [one]) => {
            return Ok(all.partition.set(PartitionClause::Shards(
                spelling::shard_values(one, text)?.into(),
            )));
        }
        (Some(SHARDS), several) => {
            let hint = format!("query one at a time: {}", own_names(several, " "));
            return Err(ClauseFault::new(
                "shards work on a partition key of one attribute",
                hint,
            ));
        }
        (Some(_), _) => {
            let names: Vec<&str> = attributes
                .iter()
                .map(|attribute| attribute.name.as_str())
                .collect();
            let hint = "ranges work on the sort key; to read all partitions use scan/";
            return Err(ClauseFault::new(
                format!("the partition key {} takes '=' only", names.join(", ")),
                hint,
            ));
        }
        (None, _) => {}
    }
    if attributes.len() == key.len()
        && let Some(digest) = file_name::alias_digest(text)
    {
        return Ok(all.partition.set(PartitionClause::Alias(PartitionAlias {
            name: text.to_owned(),
            digest,
        })));
    }
    if let [one] = key
        && text.contains(ALIAS_MARK)
    {
        return Err(ClauseFault::value(&one.name, FileNameError::Alias));
    }
    if attributes.is_empty() {
        return Err(ClauseFault::new(
            "the SearchSchema of this index has no HASH",
            "leave it out: a search is of the whole index",
        ));
    }
    let parts: Vec<&str> = if attributes.len() == 1 {
        vec![text]
    } else {
        text.split(',').collect()
    };
    if parts.len() != attributes.len() {
        let (expected, found) = (attributes.len(), parts.len());
        return Err(several_fault(
            format!("@pk of this index takes {expected} values, not {found}"),
            attributes,
        ));
    }
    let values = attributes.iter().zip(parts).enumerate();
    let values = values.map(|(place, (attribute, part))| {
        Ok((
            position + place,
            spelling::attribute_value(attribute, part)?,
        ))
    });
    Ok(all
        .partition
        .add(values.collect::<Result<Vec<_>, ClauseFault>>()?))
}

fn parse_range(
    attribute: &KeyAttribute,
    operator: Option<&str>,
    text: &str,
) -> Result<SortRange, ClauseFault> {
    let Some(word) = operator else {
        return Ok(SortRange::Equal(spelling::attribute_value(
            attribute, text,
        )?));
    };
    let unknown = || {
        let nearest = if word == "eq" {
            Some("=")
        } else {
            spelling::nearest(word, key_operators())
        };
        let question = nearest.map_or_else(String::new, |word| format!("did you mean '{word}'? "));
        let all: Vec<_> = key_operators().collect();
        let hint = format!(
            "{question}There are {}, and none for equality.",
            all.join(", ")
        );
        ClauseFault::new(
            format!("unknown operator '{word}' on {}", attribute.name),
            hint,
        )
    };
    let operator = KEY_OPERATORS
        .iter()
        .find(|known| known.word == word)
        .ok_or_else(unknown)?;
    match operator.predicate {
        Predicate::Between => parse_between(attribute, text),
        Predicate::BeginsWith if attribute.attribute_type == KeyAttributeType::N => {
            let message = format!(
                "'{}' does not work on {}, a number",
                operator.word, attribute.name
            );
            Err(ClauseFault::new(message, "use between, ge or lt"))
        }
        predicate => {
            SortRange::from_predicate(predicate, &[&spelling::attribute_value(attribute, text)?])
                .ok_or_else(unknown)
        }
    }
}

fn parse_between(attribute: &KeyAttribute, text: &str) -> Result<SortRange, ClauseFault> {
    let [lower, upper] = spelling::split_bounds(text, &attribute.name)?;
    let (lower, upper) = (
        spelling::attribute_value(attribute, lower)?,
        spelling::attribute_value(attribute, upper)?,
    );
    if lower.compare(&upper) == Some(Ordering::Greater) {
        return Err(ClauseFault::new(
            format!(
                "between on {}: the lower value is greater than the upper",
                attribute.name
            ),
            "write between=lower,upper; desc turns the result around",
        ));
    }
    Ok(SortRange::Between(lower, upper))
}

/// The middle of the sentence on a condition on an attribute that is no key.
const WOULD_FILTER: &str = "is no key attribute here, so this would be a filter: DynamoDB reads, and charges for, every item of the query and \
                            then drops those that do not match";

/// Returns the fault of a condition on an attribute that is no key: it would be a filter. `None` if
/// `head` is no attribute's name.
pub(super) fn filter_fault(head: &str, context: QueryContext<'_>) -> Option<ClauseFault> {
    let attribute = spelling::decode_text(head)
        .ok()
        .filter(|_| !head.starts_with('@'))?;
    let (name, operator) = match attribute.rsplit_once('.') {
        Some((name, operator)) if key_operators().any(|known| known == operator) => {
            (name.to_owned(), operator.to_owned())
        }
        _ => (attribute, "eq".to_owned()),
    };
    let mut globals = context.schema.indexes_of(IndexKind::Global);
    let index = globals.find(|index| index.partition.first().is_some_and(|key| key.name == name));
    let hint = match index {
        Some(IndexSchema { name: index, .. }) => {
            format!("the index {index} has {name} as its partition key: gsi/{index}/query/{name}=…")
        }
        None => format!(
            "write where.{name}.{operator}=… to filter all the same, or add an index on {name}"
        ),
    };
    Some(ClauseFault::new(format!("{name} {WOULD_FILTER}"), hint))
}

/// Returns the words that begin a condition on the key.
pub(super) fn words(context: QueryContext<'_>) -> Vec<String> {
    if context.kind == QueryKind::Scan {
        return Vec::new();
    }
    let keys = context.keys();
    let of_sort = |name: &str| {
        let operators = KEY_OPERATORS
            .iter()
            .map(|operator| format!("{name}.{}=", operator.word));
        [format!("{name}=")]
            .into_iter()
            .chain(operators)
            .collect::<Vec<_>>()
    };
    if context.kind == QueryKind::Near {
        return keys
            .attributes()
            .map(|key| format!("{}=", key.name))
            .collect();
    }
    let mut words = vec!["@pk=".to_owned(), "@pk.shards=".to_owned()];
    words.extend(
        keys.partition
            .iter()
            .map(|attribute| format!("{}=", attribute.name)),
    );
    words.extend(
        keys.sort
            .iter()
            .flat_map(|attribute| of_sort(&attribute.name)),
    );
    if keys.sort.len() == 1 {
        words.extend(of_sort("@sk"));
    }
    words
}

/// Returns the lines of the help: a condition and its meaning.
pub(super) fn help(context: QueryContext<'_>) -> Vec<(String, String)> {
    if context.kind == QueryKind::Scan {
        return Vec::new();
    }
    let keys = context.keys();
    if context.kind == QueryKind::Near {
        return near_help(context);
    }
    let needed = |key: &KeyAttribute| {
        (
            format!("{}=<{}>", display_name(key), type_word(key)),
            "the partition key, needed".to_owned(),
        )
    };
    let mut lines: Vec<_> = keys.partition.iter().map(needed).collect();
    if let [one] = keys.partition {
        lines.push(("@pk=<value>".to_owned(), "the same".to_owned()));
        lines.push(shards_help(&display_name(one)));
    }
    for key in keys.sort {
        lines.extend(sort_help(&display_name(key), type_word(key)));
    }
    if keys.sort.len() == 1 {
        lines.push(("@sk=… @sk.lt=… …".to_owned(), "the same".to_owned()));
    }
    lines
}

/// Returns the lines of the help: where a search begins, and its conditions.
fn near_help(context: QueryContext<'_>) -> Vec<(String, String)> {
    let keys = context.keys();
    let line = |key: &KeyAttribute, meaning: &str| {
        (
            format!("{}=<{}>", display_name(key), type_word(key)),
            meaning.to_owned(),
        )
    };
    let form = if context.schema.key.sort.is_some() {
        "<folder>,<name>"
    } else {
        "<name>"
    };
    let start = (
        form.to_owned(),
        "the neighbours of this item, by its name below items/".to_owned(),
    );
    let partition = keys
        .partition
        .iter()
        .map(|key| line(key, "the partition; the item's own if not said"));
    let filters = keys
        .sort
        .iter()
        .map(|key| line(key, "only items with this value"));
    [start]
        .into_iter()
        .chain(partition)
        .chain(filters)
        .collect()
}

/// Returns the lines of the help for any table.
pub(super) fn general_help() -> Vec<(String, String)> {
    let partition = (
        "@pk=<value>".to_owned(),
        "the partition key, needed; or by the attribute's own name".to_owned(),
    );
    [partition, shards_help("@pk")]
        .into_iter()
        .chain(sort_help("@sk", "value"))
        .collect()
}

fn shards_help(name: &str) -> (String, String) {
    (
        "@pk.shards=<prefix>,<m>,<n>".to_owned(),
        format!("all of {name} = prefix m … prefix n, merged by sort key"),
    )
}

fn sort_help(name: &str, value: &str) -> Vec<(String, String)> {
    let works = |operator: &&KeyOperator| operator.word != BEGINS || value != NUMBER;
    let line = |of: &KeyOperator| {
        (
            format!("{name}.{}={}", of.word, of.value),
            of.meaning.to_owned(),
        )
    };
    let equals = (
        format!("{name}=<{value}>"),
        "the sort key equals".to_owned(),
    );
    [equals]
        .into_iter()
        .chain(KEY_OPERATORS.iter().filter(works).map(line))
        .collect()
}

/// Returns an attribute's name as a clause and a shell read it.
pub(super) fn display_name(attribute: &KeyAttribute) -> String {
    file_name::encode(&AttributeValue::S(attribute.name.clone()))
}

const NUMBER: &str = "number";

fn type_word(attribute: &KeyAttribute) -> &'static str {
    match attribute.attribute_type {
        KeyAttributeType::S => "string",
        KeyAttributeType::N => NUMBER,
        KeyAttributeType::B => "bytes",
    }
}

impl Clauses {
    /// Adds the key of a saved request.
    pub fn add_key(&mut self, key: KeyCondition) {
        self.partition = PartitionClause::Values(key.partition.into_iter().enumerate().collect());
        self.sort = key
            .sort
            .into_iter()
            .map(SortRange::Equal)
            .chain(key.range)
            .enumerate()
            .collect();
    }

    /// Checks that the clauses make a request: a query has its whole partition key, and conditions
    /// on a sort key of several attributes start at the first, all but the last being equalities.
    pub fn check_complete(&self, context: QueryContext<'_>) -> Result<(), ClauseFault> {
        match context.kind {
            QueryKind::Scan => return Ok(()),
            QueryKind::Near => return near_clause::check_complete(self, context),
            QueryKind::Query => {}
        }
        let keys = context.keys();
        if let PartitionClause::Values(known) = &self.partition {
            let all = keys.partition.iter().enumerate();
            let missing: Vec<&str> = all
                .filter(|(position, _)| !known.contains_key(position))
                .map(|(_, key)| key.name.as_str())
                .collect();
            if !missing.is_empty() {
                return Err(incomplete(keys.partition, &missing));
            }
        }
        self.check_sort(keys.sort)
    }

    fn check_sort(&self, sort: &[KeyAttribute]) -> Result<(), ClauseFault> {
        let Some(&last) = self.sort.keys().next_back() else {
            return Ok(());
        };
        let name = |position: usize| &sort[position].name;
        let equal = |position: &usize| matches!(self.sort.get(position), Some(SortRange::Equal(_)));
        match (0..last).find(|position| !equal(position)) {
            None => Ok(()),
            Some(gap) => {
                let (given, missing) = (name(last), name(gap));
                Err(ClauseFault::new(
                    format!(
                        "a condition on {given} needs '=' conditions on the sort attributes before it: {missing} has none"
                    ),
                    format!("add {missing}=…"),
                ))
            }
        }
    }
}

fn incomplete(partition: &[KeyAttribute], missing: &[&str]) -> ClauseFault {
    let needs = match partition {
        [one] => format!("@pk=…, the partition key {}", one.name),
        _ => format!(
            "all of its partition key; {} is missing",
            missing.join(", ")
        ),
    };
    let hint = format!("for example {}/items.ndjson", own_names(partition, "/"));
    ClauseFault::new(format!("a query needs {needs}"), hint)
}
