//! KeyConditionExpression (SEMANTICS 7.6) in two stages: without a schema, before the table is looked up, and against the
//! key schema of a table or index.

use super::condition::{self, Condition, Operand};
use super::order::{begins_with, compare};
use super::placeholders::{PlaceholderUse, Scope};
use super::syntax::Comparator;
use crate::model::api::Placeholders;
use crate::model::error::expression::{ExpressionFault, ExpressionParameter};
use crate::model::error::{ExpressionError, KeyError};
use crate::model::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use crate::model::{AttributeValue, Error, IndexSchema, KeyAttribute, KeySchema};

/// Conditions that any key schema may have, however short.
const CONDITIONS_MAX: usize = 2;

/// What one key attribute is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SortRange {
    Equal(AttributeValue),
    Less(AttributeValue),
    LessOrEqual(AttributeValue),
    Greater(AttributeValue),
    GreaterOrEqual(AttributeValue),
    /// Both bounds belong to the range; lower is not above upper.
    Between(AttributeValue, AttributeValue),
    BeginsWith(AttributeValue),
}

impl SortRange {
    /// The values, each once.
    pub fn values(&self) -> impl Iterator<Item = &AttributeValue> {
        let (first, second) = match self {
            Self::Equal(value)
            | Self::Less(value)
            | Self::LessOrEqual(value)
            | Self::Greater(value)
            | Self::GreaterOrEqual(value)
            | Self::BeginsWith(value) => (value, None),
            Self::Between(lower, upper) => (lower, Some(upper)),
        };
        std::iter::once(first).chain(second)
    }

    /// Is `value` in the range? No value of another type is.
    #[must_use]
    pub fn contains(&self, value: &AttributeValue) -> bool {
        match self {
            Self::Equal(bound) => value == bound,
            Self::Less(bound) => compare(value, bound).is_some_and(std::cmp::Ordering::is_lt),
            Self::LessOrEqual(bound) => compare(value, bound).is_some_and(std::cmp::Ordering::is_le),
            Self::Greater(bound) => compare(value, bound).is_some_and(std::cmp::Ordering::is_gt),
            Self::GreaterOrEqual(bound) => compare(value, bound).is_some_and(std::cmp::Ordering::is_ge),
            Self::Between(lower, upper) => {
                compare(value, lower).is_some_and(std::cmp::Ordering::is_ge)
                    && compare(value, upper).is_some_and(std::cmp::Ordering::is_le)
            }
            Self::BeginsWith(prefix) => begins_with(value, prefix),
        }
    }
}

/// The condition on one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AttributeCondition {
    name: String,
    range: SortRange,
}

/// A key condition of legal shape: one condition on each of some top-level attributes. Made by [`parse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyConditionShape {
    conditions: Vec<AttributeCondition>,
}

/// The key attributes of what is queried: 1 to 4 of the partition key, 0 to 4 of the sort key.
#[derive(Debug, Clone, Copy)]
pub struct KeySchemaView<'a> {
    pub partition: &'a [KeyAttribute],
    pub sort: &'a [KeyAttribute],
}

impl<'a> From<&'a KeySchema> for KeySchemaView<'a> {
    fn from(schema: &'a KeySchema) -> Self {
        Self { partition: std::slice::from_ref(&schema.partition), sort: schema.sort.as_slice() }
    }
}

impl<'a> From<&'a IndexSchema> for KeySchemaView<'a> {
    fn from(schema: &'a IndexSchema) -> Self {
        Self { partition: &schema.partition, sort: &schema.sort }
    }
}

/// A key condition that fits its schema: types, sizes and operators are right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCondition {
    /// One value per partition key attribute, in schema order.
    pub partition: Vec<AttributeValue>,
    /// Equalities on the sort key attributes before the one of `range`; always empty with a single sort key attribute.
    pub sort: Vec<AttributeValue>,
    /// The condition on the sort key attribute number `sort.len()`, equality included.
    pub range: Option<SortRange>,
}

/// Parses a KeyConditionExpression and checks its shape; placeholders it names count as used.
///
/// # Errors
/// `Invalid KeyConditionExpression: …` ([`ExpressionError::Invalid`]).
pub fn parse(text: &str, placeholders: &Placeholders, used: &mut PlaceholderUse) -> Result<KeyConditionShape, Error> {
    let mut scope = Scope::new(placeholders, used);
    let mut conditions = Vec::new();
    condition::parse(text, &mut scope)
        .and_then(|condition| gather(condition, &mut conditions))
        .map_err(|fault| ExpressionError::Invalid { parameter: ExpressionParameter::KeyCondition, fault })?;
    Ok(KeyConditionShape { conditions })
}

/// Takes the AND-ed conditions apart, each onto `into`.
fn gather(condition: Condition, into: &mut Vec<AttributeCondition>) -> Result<(), ExpressionFault> {
    let operator = |word: &str| Err(ExpressionFault::KeyConditionOperator(word.to_owned()));
    let simple = match condition {
        Condition::And(list) => return list.into_iter().try_for_each(|part| gather(part, into)),
        Condition::Or(_) => return operator("OR"),
        Condition::Not(_) => return operator("NOT"),
        Condition::In { .. } => return operator("IN"),
        Condition::AttributeExists(_) => return operator("attribute_exists"),
        Condition::AttributeNotExists(_) => return operator("attribute_not_exists"),
        Condition::AttributeType { .. } => return operator("attribute_type"),
        Condition::Contains { .. } => return operator("contains"),
        Condition::Compare { comparator: Comparator::NotEqual, .. } => return operator("<>"),
        Condition::Compare { left, comparator, right } => comparison(left, comparator, right)?,
        Condition::Between { operand, lower, upper } => {
            let name = first_operand(operand, "BETWEEN")?;
            let (lower, upper) = (other_operand(lower)?, other_operand(upper)?);
            AttributeCondition { name, range: SortRange::Between(lower, upper) }
        }
        Condition::BeginsWith { operand, prefix } => {
            let name = first_operand(operand, "begins_with")?;
            AttributeCondition { name, range: SortRange::BeginsWith(other_operand(prefix)?) }
        }
    };
    if into.iter().any(|earlier| earlier.name == simple.name) {
        return Err(ExpressionFault::OneConditionPerKey);
    }
    into.push(simple);
    Ok(())
}

/// `attribute = value`, or flipped.
fn comparison(left: Operand, comparator: Comparator, right: Operand) -> Result<AttributeCondition, ExpressionFault> {
    let (path, comparator, other) = match (left, right) {
        (Operand::Size(_), _) | (_, Operand::Size(_)) => return Err(ExpressionFault::NestedOperation),
        (Operand::Value(_), Operand::Value(_)) => return Err(ExpressionFault::NoKeyAttribute),
        (Operand::Value(value), Operand::Path(path)) => (path, flip(comparator), Operand::Value(value)),
        (Operand::Path(path), right) => (path, comparator, right),
    };
    let name = first_operand(Operand::Path(path), comparator.sign())?;
    let value = other_operand(other)?;
    let range = match comparator {
        Comparator::Equal => SortRange::Equal(value),
        Comparator::Less => SortRange::Less(value),
        Comparator::LessOrEqual => SortRange::LessOrEqual(value),
        Comparator::Greater => SortRange::Greater(value),
        Comparator::GreaterOrEqual => SortRange::GreaterOrEqual(value),
        Comparator::NotEqual => return Err(ExpressionFault::KeyConditionOperator(comparator.sign().to_owned())),
    };
    Ok(AttributeCondition { name, range })
}

/// The comparator that says the same with its operands exchanged.
fn flip(comparator: Comparator) -> Comparator {
    match comparator {
        Comparator::Less => Comparator::Greater,
        Comparator::LessOrEqual => Comparator::GreaterOrEqual,
        Comparator::Greater => Comparator::Less,
        Comparator::GreaterOrEqual => Comparator::LessOrEqual,
        Comparator::Equal | Comparator::NotEqual => comparator,
    }
}

/// The key attribute of a condition.
fn first_operand(operand: Operand, operator: &'static str) -> Result<String, ExpressionFault> {
    match operand {
        Operand::Path(path) if path.rest.is_empty() => Ok(path.head),
        Operand::Path(_) => Err(ExpressionFault::NestedAttribute),
        Operand::Value(_) | Operand::Size(_) => Err(ExpressionFault::AttributeNotFirst(operator)),
    }
}

/// What a key attribute is compared with: a value.
fn other_operand(operand: Operand) -> Result<AttributeValue, ExpressionFault> {
    match operand {
        Operand::Value(value) => Ok(value),
        Operand::Path(path) if path.rest.is_empty() => Err(ExpressionFault::SeveralAttributes),
        Operand::Path(_) => Err(ExpressionFault::NestedAttribute),
        Operand::Size(_) => Err(ExpressionFault::NestedOperation),
    }
}

impl KeyConditionShape {
    fn range_of(&self, attribute: &KeyAttribute) -> Option<&SortRange> {
        self.conditions.iter().find(|condition| condition.name == attribute.name).map(|condition| &condition.range)
    }

    /// Fits the conditions to a key schema, checks in the order of SEMANTICS 7.6: count, missing attributes, then attribute by
    /// attribute in schema order type, operator, emptiness and size.
    ///
    /// # Errors
    /// [`ExpressionError`] without parameter name, and [`KeyError`].
    pub fn resolve(&self, schema: KeySchemaView<'_>) -> Result<KeyCondition, Error> {
        let used = self.used_sort_attributes(schema)?;
        let mut partition = Vec::with_capacity(schema.partition.len());
        for attribute in schema.partition {
            let range = self.range_of(attribute).ok_or_else(|| missed(attribute))?;
            check_type(attribute, range)?;
            let SortRange::Equal(value) = range else {
                return Err(ExpressionError::KeyConditionNotSupported.into());
            };
            check_value(attribute, value)?;
            if value.size() > PARTITION_KEY_BYTES_MAX {
                return Err(KeyError::PartitionTooLarge.into());
            }
            partition.push(value.clone());
        }
        let mut sort = Vec::new();
        let mut last = None;
        for attribute in used {
            // Only the last used sort key attribute may have anything but an equality.
            match last.take() {
                Some(SortRange::Equal(value)) => sort.push(value),
                Some(_) => return Err(ExpressionError::KeyConditionNotSupported.into()),
                None => {}
            }
            let range = self.range_of(attribute).ok_or_else(|| missed(attribute))?;
            check_type(attribute, range)?;
            range.values().try_for_each(|value| check_value(attribute, value))?;
            check_sort_size(&sort, range)?;
            last = Some(range.clone());
        }
        Ok(KeyCondition { partition, sort, range: last })
    }

    /// The leading sort key attributes that have conditions, after the checks of count and presence.
    fn used_sort_attributes<'a>(&self, schema: KeySchemaView<'a>) -> Result<&'a [KeyAttribute], ExpressionError> {
        let count = self.conditions.len();
        if count > CONDITIONS_MAX.max(schema.partition.len() + schema.sort.len()) {
            return Err(ExpressionError::ConditionCount);
        }
        if schema.sort.is_empty() && count > schema.partition.len() {
            return Err(ExpressionError::KeyConditionNotSupported);
        }
        if let Some(attribute) = schema.partition.iter().find(|attribute| self.range_of(attribute).is_none()) {
            return Err(missed(attribute));
        }
        let leading = schema.sort.iter().take_while(|attribute| self.range_of(attribute).is_some()).count();
        let (used, unused) = schema.sort.split_at(leading);
        // What is left over names no key attribute, or a sort key attribute after a gap.
        match unused.first() {
            Some(attribute) if count > schema.partition.len() + leading => Err(missed(attribute)),
            Some(_) | None => Ok(used),
        }
    }
}

fn missed(attribute: &KeyAttribute) -> ExpressionError {
    ExpressionError::MissedKeyElement(attribute.name.clone())
}

fn check_type(attribute: &KeyAttribute, range: &SortRange) -> Result<(), ExpressionError> {
    let expected = attribute.attribute_type.as_attribute_type();
    if range.values().all(|value| value.attribute_type() == expected) { Ok(()) } else { Err(ExpressionError::ConditionType) }
}

fn check_value(attribute: &KeyAttribute, value: &AttributeValue) -> Result<(), KeyError> {
    match value {
        AttributeValue::S(text) if text.is_empty() => Err(KeyError::EmptyString(attribute.name.clone())),
        AttributeValue::B(bytes) if bytes.is_empty() => Err(KeyError::EmptyBinary(attribute.name.clone())),
        _ => Ok(()),
    }
}

/// The limit holds for all sort key attributes together.
fn check_sort_size(earlier: &[AttributeValue], range: &SortRange) -> Result<(), KeyError> {
    let before: usize = earlier.iter().map(AttributeValue::size).sum();
    let fits = range.values().all(|value| before + value.size() <= SORT_KEY_BYTES_MAX);
    if fits { Ok(()) } else { Err(KeyError::SortTooLarge) }
}
