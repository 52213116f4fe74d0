//! KeyConditionExpression, the key range of a Query (docs/dynamodb.md 7.6), in two stages: without
//! a schema, before the table is looked up, and against the key schema of a table or index.
//! `condition` parses the text.

use super::condition::{self, Condition, Operand};
use super::legacy;
use super::order::Comparator;
use super::placeholders::PlaceholderScope;
use super::predicate::Predicate;
use crate::model::api::common::{ComparisonOperator, LegacyCondition};
use crate::model::error::expression::{ExpressionFault, ExpressionParameter};
use crate::model::error::{ExpressionError, KeyError, LegacyError};
use crate::model::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use crate::model::{
    AttributeValue, Error, IndexSchema, Item, KeyAttribute, KeySchema, TableSchema,
};

/// Conditions that any key schema may have, however short.
const CONDITIONS_MAX: usize = 2;

/// A comparison of one key attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
    /// Returns the range of a predicate with its further values; `None` for a predicate that finds
    /// no key.
    #[must_use]
    pub fn from_predicate(predicate: Predicate, values: &[&AttributeValue]) -> Option<Self> {
        let make: fn(AttributeValue) -> Self = match (predicate, values) {
            (Predicate::Between, [lower, upper]) => {
                return Some(Self::Between((*lower).clone(), (*upper).clone()));
            }
            (Predicate::BeginsWith, _) => Self::BeginsWith,
            (Predicate::Compare(Comparator::Equal), _) => Self::Equal,
            (Predicate::Compare(Comparator::Less), _) => Self::Less,
            (Predicate::Compare(Comparator::LessOrEqual), _) => Self::LessOrEqual,
            (Predicate::Compare(Comparator::Greater), _) => Self::Greater,
            (Predicate::Compare(Comparator::GreaterOrEqual), _) => Self::GreaterOrEqual,
            _ => return None,
        };
        values.first().map(|value| make((*value).clone()))
    }

    /// Returns the predicate of the range and its values, each once.
    #[must_use]
    pub fn parts(&self) -> (Predicate, Vec<&AttributeValue>) {
        let (comparator, value) = match self {
            Self::Between(lower, upper) => return (Predicate::Between, vec![lower, upper]),
            Self::BeginsWith(prefix) => return (Predicate::BeginsWith, vec![prefix]),
            Self::Equal(value) => (Comparator::Equal, value),
            Self::Less(value) => (Comparator::Less, value),
            Self::LessOrEqual(value) => (Comparator::LessOrEqual, value),
            Self::Greater(value) => (Comparator::Greater, value),
            Self::GreaterOrEqual(value) => (Comparator::GreaterOrEqual, value),
        };
        (Predicate::Compare(comparator), vec![value])
    }

    /// Returns the predicate of the range.
    #[must_use]
    pub fn predicate(&self) -> Predicate {
        self.parts().0
    }

    /// Returns the values, each once.
    #[must_use]
    pub fn values(&self) -> Vec<&AttributeValue> {
        self.parts().1
    }

    /// Returns the condition that an attribute is in the range.
    #[must_use]
    pub fn condition(&self, attribute: &str) -> Condition {
        let (predicate, values) = self.parts();
        Condition::on_attribute(attribute, predicate, values.into_iter().cloned())
    }

    /// True if `value` is in the range. No value of another type is.
    #[must_use]
    pub fn contains(&self, value: &AttributeValue) -> bool {
        let (predicate, values) = self.parts();
        predicate.holds_for(value, &values)
    }
}

/// The condition on one attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct AttributeCondition {
    name: String,
    /// `None`: an operator of KeyConditions that finds no key.
    range: Option<SortRange>,
}

impl AttributeCondition {
    fn new(name: String, range: SortRange) -> Self {
        Self {
            name,
            range: Some(range),
        }
    }
}

/// A key condition of legal shape: one condition on each of some top-level attributes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyConditionShape {
    conditions: Vec<AttributeCondition>,
}

/// The key attributes of a table or index: 1 to 4 of the partition key, 0 to 4 of the sort key.
#[derive(Debug, Clone, Copy)]
pub struct KeySchemaView<'a> {
    pub partition: &'a [KeyAttribute],
    pub sort: &'a [KeyAttribute],
}

impl<'a> KeySchemaView<'a> {
    /// Returns the key of a table, or of its index.
    #[must_use]
    pub fn for_index(schema: &'a TableSchema, index: Option<&'a IndexSchema>) -> Self {
        index.map_or_else(|| Self::from(&schema.key), Self::from)
    }

    /// Returns the attributes of the partition key, then those of the sort key.
    pub fn attributes(self) -> impl Iterator<Item = &'a KeyAttribute> {
        self.partition.iter().chain(self.sort)
    }

    /// True if the partition key or the sort key has several attributes.
    fn is_multi_attribute(&self) -> bool {
        self.partition.len() > 1 || self.sort.len() > 1
    }
}

impl<'a> From<&'a KeySchema> for KeySchemaView<'a> {
    fn from(schema: &'a KeySchema) -> Self {
        Self {
            partition: std::slice::from_ref(&schema.partition),
            sort: schema.sort.as_slice(),
        }
    }
}

impl<'a> From<&'a IndexSchema> for KeySchemaView<'a> {
    fn from(schema: &'a IndexSchema) -> Self {
        Self {
            partition: &schema.partition,
            sort: &schema.sort,
        }
    }
}

/// A key condition that fits its schema: types, sizes and operators are right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCondition {
    /// One value per partition key attribute, in schema order.
    pub partition: Vec<AttributeValue>,
    /// Equalities on the sort key attributes before the one of `range`; always empty with a single
    /// sort key attribute.
    pub sort: Vec<AttributeValue>,
    /// The condition on the sort key attribute number `sort.len()`, equality included.
    pub range: Option<SortRange>,
}

/// Parses a KeyConditionExpression as any condition; placeholders that it names count as used.
/// [`KeyConditionShape::from_condition`] checks its meaning.
///
/// # Errors
/// `Invalid KeyConditionExpression: …` ([`ExpressionError::Invalid`]).
pub fn parse(text: &str, scope: &mut PlaceholderScope<'_>) -> Result<Condition, ExpressionError> {
    condition::parse_parameter(text, ExpressionParameter::KeyCondition, scope)
}

/// Returns the AND-ed conditions, each of another attribute.
fn attribute_conditions(condition: &Condition) -> Result<Vec<AttributeCondition>, ExpressionFault> {
    let mut conditions: Vec<AttributeCondition> = Vec::new();
    for part in condition.conjuncts() {
        let found = part
            .as_attribute_test()
            .and_then(|(name, predicate, values)| {
                Some((name, SortRange::from_predicate(predicate, &values)?))
            });
        let (name, range) = found.ok_or_else(|| condition_fault(part))?;
        if conditions.iter().any(|earlier| earlier.name == name) {
            return Err(ExpressionFault::OneConditionPerKey);
        }
        conditions.push(AttributeCondition::new(name.to_owned(), range));
    }
    Ok(conditions)
}

/// Returns the fault of a condition that finds no key.
fn condition_fault(condition: &Condition) -> ExpressionFault {
    let of_operator = |word: &str| ExpressionFault::KeyConditionOperator(word.to_owned());
    let (predicate, operands) = match condition {
        Condition::And(_) => return of_operator("AND"),
        Condition::Or(_) => return of_operator("OR"),
        Condition::Not(_) => return of_operator("NOT"),
        Condition::Test(predicate, operands) => (*predicate, operands.as_slice()),
    };
    let (operator, attribute, values) = match (predicate, operands) {
        (Predicate::Compare(Comparator::NotEqual), _) => return of_operator(predicate.as_str()),
        (Predicate::Compare(comparator), [left, right]) => match (left, right) {
            (Operand::Size(_) | Operand::Truth(_), _)
            | (_, Operand::Size(_) | Operand::Truth(_)) => {
                return ExpressionFault::NestedOperation;
            }
            (Operand::Value(_), Operand::Value(_)) => return ExpressionFault::NoKeyAttribute,
            (Operand::Value(_), Operand::Path(_)) => (
                comparator.flipped().sign(),
                right,
                std::slice::from_ref(left),
            ),
            (Operand::Path(_), _) => (comparator.sign(), left, std::slice::from_ref(right)),
        },
        (Predicate::Between | Predicate::BeginsWith, [attribute, values @ ..]) => {
            (predicate.as_str(), attribute, values)
        }
        _ => return of_operator(predicate.as_str()),
    };
    let of_attribute = match attribute {
        Operand::Path(path) if path.rest.is_empty() => None,
        Operand::Path(_) => Some(ExpressionFault::NestedAttribute),
        Operand::Value(_) | Operand::Size(_) | Operand::Truth(_) => {
            Some(ExpressionFault::AttributeNotFirst(operator))
        }
    };
    let of_value = |value: &Operand| match value {
        Operand::Value(_) => None,
        Operand::Path(path) if path.rest.is_empty() => Some(ExpressionFault::SeveralAttributes),
        Operand::Path(_) => Some(ExpressionFault::NestedAttribute),
        Operand::Size(_) | Operand::Truth(_) => Some(ExpressionFault::NestedOperation),
    };
    of_attribute
        .or_else(|| values.iter().find_map(of_value))
        .unwrap_or_else(|| of_operator(operator))
}

impl KeyConditionShape {
    /// Makes a shape of one condition on each of these attributes.
    pub fn new(conditions: impl IntoIterator<Item = (String, SortRange)>) -> Self {
        Self {
            conditions: conditions
                .into_iter()
                .map(|(name, range)| AttributeCondition::new(name, range))
                .collect(),
        }
    }

    /// Parses the shape of a KeyConditionExpression.
    ///
    /// # Errors
    /// `Invalid KeyConditionExpression: …` ([`ExpressionError::Invalid`]).
    pub fn parse(text: &str, scope: &mut PlaceholderScope<'_>) -> Result<Self, ExpressionError> {
        Self::from_condition(parse(text, scope)?)
    }

    /// Makes the shape of a KeyConditionExpression that was parsed.
    ///
    /// # Errors
    /// `Invalid KeyConditionExpression: …` ([`ExpressionError::Invalid`]).
    pub fn from_condition(condition: Condition) -> Result<Self, ExpressionError> {
        let conditions =
            attribute_conditions(&condition).map_err(|fault| ExpressionError::Invalid {
                parameter: ExpressionParameter::KeyCondition,
                fault,
            })?;
        Ok(Self { conditions })
    }

    /// Makes the shape of KeyConditions.
    ///
    /// # Errors
    /// [`LegacyError`] for bad arguments of an operator.
    pub fn from_legacy(legacy: &[LegacyCondition]) -> Result<Self, LegacyError> {
        let mut conditions = Vec::with_capacity(legacy.len());
        for condition in legacy {
            // The decoder of KeyConditions requires it.
            debug_assert!(condition.comparison_operator.is_some());
            let operator = condition
                .comparison_operator
                .unwrap_or(ComparisonOperator::Eq);
            let operator_condition = legacy::operator_condition(condition, operator)?;
            let range = operator_condition
                .as_attribute_test()
                .and_then(|(_, predicate, values)| SortRange::from_predicate(predicate, &values));
            conditions.push(AttributeCondition {
                name: condition.attribute.clone(),
                range,
            });
        }
        Ok(Self { conditions })
    }

    /// Returns the attributes with their ranges; `None`: an operator that finds no key.
    pub fn conditions(&self) -> impl Iterator<Item = (&str, Option<&SortRange>)> {
        self.conditions
            .iter()
            .map(|condition| (condition.name.as_str(), condition.range.as_ref()))
    }

    /// Returns the value that an attribute must have.
    pub(super) fn equality(&self, attribute: &str) -> Option<&AttributeValue> {
        self.conditions().find_map(|(name, range)| match range {
            Some(SortRange::Equal(value)) if name == attribute => Some(value),
            _ => None,
        })
    }

    /// True if the condition could find the item, as far as its attributes exist.
    #[must_use]
    pub fn matches(&self, item: &Item) -> bool {
        self.conditions().all(|(name, range)| {
            item.get(name)
                .zip(range)
                .is_none_or(|(value, range)| range.contains(value))
        })
    }

    fn range_of(&self, attribute: &KeyAttribute) -> Option<&SortRange> {
        let found = self
            .conditions
            .iter()
            .find(|condition| condition.name == attribute.name)?;
        found.range.as_ref()
    }

    fn has_condition(&self, attribute: &KeyAttribute) -> bool {
        self.conditions
            .iter()
            .any(|condition| condition.name == attribute.name)
    }

    /// Fits the conditions to a key schema. The order of the checks is that of docs/dynamodb.md
    /// 7.6: count, missing attributes, then attribute by attribute in schema order type, operator,
    /// emptiness and size.
    ///
    /// # Errors
    /// [`ExpressionError`] without parameter name, and [`KeyError`].
    pub fn resolve(&self, schema: KeySchemaView<'_>) -> Result<KeyCondition, Error> {
        let used = self.used_sort_attributes(schema)?;
        // After missing attributes and before types.
        if self
            .conditions
            .iter()
            .any(|condition| condition.range.is_none())
        {
            return Err(ExpressionError::NotIndexable.into());
        }
        let partition = schema
            .partition
            .iter()
            .map(|attribute| self.partition_value(attribute, schema));
        let partition = partition.collect::<Result<_, Error>>()?;
        let (sort, range) = self.sort_range(used)?;
        Ok(KeyCondition {
            partition,
            sort,
            range,
        })
    }

    /// Returns the value that a partition key attribute must have.
    fn partition_value(
        &self,
        attribute: &KeyAttribute,
        schema: KeySchemaView<'_>,
    ) -> Result<AttributeValue, Error> {
        let range = self
            .range_of(attribute)
            .ok_or_else(|| missing_key(attribute))?;
        check_type(attribute, range)?;
        let SortRange::Equal(value) = range else {
            return Err(match schema.is_multi_attribute() {
                true => ExpressionError::HashAttributes(attribute.name.clone()).into(),
                false => ExpressionError::KeyConditionNotSupported.into(),
            });
        };
        check_value(attribute, value)?;
        if value.size() > PARTITION_KEY_BYTES_MAX {
            return Err(KeyError::PartitionTooLarge.into());
        }
        Ok(value.clone())
    }

    /// Returns the values of the leading sort key attributes, and the range of the last one that
    /// has a condition.
    fn sort_range(
        &self,
        used: &[KeyAttribute],
    ) -> Result<(Vec<AttributeValue>, Option<SortRange>), Error> {
        let mut sort = Vec::new();
        let mut last = None;
        for (place, attribute) in used.iter().enumerate() {
            // Only the last used sort key attribute may have anything but an equality.
            match last.take() {
                Some(SortRange::Equal(value)) => sort.push(value),
                Some(_) => {
                    let lacking = names_of(&[&used[place - 1]]);
                    return Err(ExpressionError::RangeAttributes {
                        lacking,
                        given: attribute.name.clone(),
                    }
                    .into());
                }
                None => {}
            }
            let range = self
                .range_of(attribute)
                .ok_or_else(|| missing_key(attribute))?;
            check_type(attribute, range)?;
            range
                .values()
                .into_iter()
                .try_for_each(|value| check_value(attribute, value))?;
            check_sort_size(&sort, range)?;
            last = Some(range.clone());
        }
        Ok((sort, last))
    }

    /// Returns the error of a sort key attribute with a condition behind attributes without one;
    /// `attributes` begins with those.
    fn gap_error(&self, attributes: &[KeyAttribute]) -> Option<ExpressionError> {
        let lacking: Vec<&KeyAttribute> = attributes
            .iter()
            .take_while(|attribute| !self.has_condition(attribute))
            .collect();
        let given = attributes.get(lacking.len())?.name.clone();
        Some(ExpressionError::RangeAttributes {
            lacking: names_of(&lacking),
            given,
        })
    }

    /// Returns the leading sort key attributes that have conditions, after the checks of count and
    /// presence.
    fn used_sort_attributes<'a>(
        &self,
        schema: KeySchemaView<'a>,
    ) -> Result<&'a [KeyAttribute], ExpressionError> {
        let count = self.conditions.len();
        let attributes = schema.partition.len() + schema.sort.len();
        if count == 0 {
            return Err(ExpressionError::ConditionCount);
        }
        // A second condition on a key of one attribute is reported below, with another text.
        if count > CONDITIONS_MAX.max(attributes) {
            return Err(ExpressionError::ConditionsExceedKey {
                conditions: count,
                attributes,
            });
        }
        if schema.sort.is_empty() && count > schema.partition.len() {
            return Err(ExpressionError::KeyConditionNotSupported);
        }
        let lacking: Vec<&KeyAttribute> = schema
            .partition
            .iter()
            .filter(|attribute| !self.has_condition(attribute))
            .collect();
        if let Some(first) = lacking.first() {
            return Err(if schema.is_multi_attribute() {
                ExpressionError::HashAttributes(names_of(&lacking))
            } else {
                missing_key(first)
            });
        }
        let leading = schema
            .sort
            .iter()
            .take_while(|attribute| self.has_condition(attribute))
            .count();
        let (used, unused) = schema.sort.split_at(leading);
        // A condition that is left over names no key attribute, or a sort key attribute after a
        // gap.
        match unused.first() {
            Some(attribute) if count > schema.partition.len() + leading => Err(self
                .gap_error(unused)
                .unwrap_or_else(|| missing_key(attribute))),
            Some(_) | None => Ok(used),
        }
    }
}

fn names_of(attributes: &[&KeyAttribute]) -> String {
    attributes
        .iter()
        .map(|attribute| attribute.name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

fn missing_key(attribute: &KeyAttribute) -> ExpressionError {
    ExpressionError::MissedKeyElement(attribute.name.clone())
}

fn check_type(attribute: &KeyAttribute, range: &SortRange) -> Result<(), ExpressionError> {
    let expected = attribute.attribute_type.as_attribute_type();
    if range
        .values()
        .iter()
        .all(|value| value.attribute_type() == expected)
    {
        Ok(())
    } else {
        Err(ExpressionError::ConditionType)
    }
}

/// Refuses an empty value, which is no key.
pub(super) fn check_value(
    attribute: &KeyAttribute,
    value: &AttributeValue,
) -> Result<(), KeyError> {
    match value {
        AttributeValue::S(text) if text.is_empty() => {
            Err(KeyError::EmptyString(attribute.name.clone()))
        }
        AttributeValue::B(bytes) if bytes.is_empty() => {
            Err(KeyError::EmptyBinary(attribute.name.clone()))
        }
        _ => Ok(()),
    }
}

/// Checks the size limit, which holds for all sort key attributes together.
fn check_sort_size(earlier: &[AttributeValue], range: &SortRange) -> Result<(), KeyError> {
    let before: usize = earlier.iter().map(AttributeValue::size).sum();
    let fits = range
        .values()
        .iter()
        .all(|value| before + value.size() <= SORT_KEY_BYTES_MAX);
    if fits {
        Ok(())
    } else {
        Err(KeyError::SortTooLarge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::api::Placeholders;

    fn text(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    fn number(text: &str) -> AttributeValue {
        AttributeValue::N(text.parse().expect("a number"))
    }

    #[test]
    fn ranges_contain_what_they_say() {
        let one = || number("1");
        for (range, below, equal, above) in [
            (SortRange::Equal(one()), false, true, false),
            (SortRange::Less(one()), true, false, false),
            (SortRange::LessOrEqual(one()), true, true, false),
            (SortRange::Greater(one()), false, false, true),
            (SortRange::GreaterOrEqual(one()), false, true, true),
            (SortRange::Between(one(), one()), false, true, false),
        ] {
            let found = ["0.5", "1.0", "10"].map(|value| range.contains(&number(value)));
            assert_eq!(found, [below, equal, above], "{range:?}");
            assert!(!range.contains(&text("1")));
        }
        assert!(SortRange::BeginsWith(text("ab")).contains(&text("abc")));
        assert!(!SortRange::BeginsWith(text("ab")).contains(&text("b")));
    }

    #[test]
    fn used_placeholders_are_counted() {
        let given = Placeholders {
            names: Some(
                [
                    ("#pk".to_owned(), "pk".to_owned()),
                    ("#x".to_owned(), "x".to_owned()),
                ]
                .into(),
            ),
            values: Some([(":p".to_owned(), text("p"))].into()),
        };
        let mut scope = PlaceholderScope::new(&given);
        assert!(KeyConditionShape::parse("#pk = :p", &mut scope).is_ok());
        let text = scope.finish().map_err(|error| error.to_string());
        assert_eq!(
            text,
            Err(
                "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}"
                    .to_owned()
            )
        );
    }
}
