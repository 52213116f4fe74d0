//! Structures that requests and responses of several operations contain: placeholders, conditions,
//! consumed capacity, pages. Among them are the parameters from before expressions
//! (docs/dynamodb.md 8): conditions by attribute and updates by attribute, in which names are
//! top-level attributes, dots included. `codec/wire/members.rs` reads and writes them as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::declare::declare;
use crate::model::api_enum::api_enums;
use crate::model::error::ExpressionError;
use crate::model::error::expression::{ExpressionParameter, PlaceholderFault};
use crate::model::limits::PLACEHOLDER_BYTES_MAX;
use crate::model::{AttributeValue, Item, TableName};

/// `ExpressionAttributeNames` and `ExpressionAttributeValues`; `None` is an absent member, which is not an empty one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Placeholders {
    /// `#x` to name.
    pub names: Option<BTreeMap<String, String>>,
    /// `:x` to value.
    pub values: Option<BTreeMap<String, AttributeValue>>,
}

impl Placeholders {
    /// Returns the placeholders of expressions that this program wrote. A member is present if it
    /// is not empty.
    #[must_use]
    pub fn new(names: BTreeMap<String, String>, values: BTreeMap<String, AttributeValue>) -> Self {
        Self {
            names: Some(names).filter(|names| !names.is_empty()),
            values: Some(values).filter(|values| !values.is_empty()),
        }
    }

    /// Checks a placeholder of a name (`sign` is `#`) or of a value (`:`): the sign and a word
    /// (docs/dynamodb.md 7.2).
    ///
    /// # Errors
    /// Fails if the placeholder is empty, too long, or has other characters.
    pub fn check_placeholder(alias: &str, sign: char) -> Result<(), PlaceholderFault> {
        let is_of_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        match alias.strip_prefix(sign) {
            _ if alias.is_empty() => Err(PlaceholderFault::Empty),
            _ if alias.len() > PLACEHOLDER_BYTES_MAX => Err(PlaceholderFault::TooLong(alias.len())),
            Some(word) if !word.is_empty() && word.chars().all(is_of_word) => Ok(()),
            _ => Err(PlaceholderFault::Syntax(alias.to_owned())),
        }
    }

    /// Checks that names and values come with an expression that can use them. `has_expression` is
    /// true if some expression can use names; `values_missing` lists the parameters that could use
    /// values, if none of them is present. Fails with [`ExpressionError::NamesWithoutExpression`]
    /// or [`ExpressionError::ValuesWithoutExpression`].
    pub fn check_placeholders_used(
        has_names: bool,
        has_values: bool,
        has_expression: bool,
        values_missing: Option<&'static [ExpressionParameter]>,
    ) -> Result<(), ExpressionError> {
        match values_missing {
            _ if has_names && !has_expression => Err(ExpressionError::NamesWithoutExpression),
            Some(parameters) if has_values => {
                Err(ExpressionError::ValuesWithoutExpression(parameters))
            }
            _ => Ok(()),
        }
    }
}

/// A condition on an item: the condition of a write, or the filter of a read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub enum ConditionParameter {
    #[default]
    None,
    /// `ConditionExpression` or `FilterExpression`.
    Expression(String),
    /// `Expected`, `QueryFilter` or `ScanFilter`.
    Legacy(LegacyConditions),
}

impl ConditionParameter {
    /// Returns the text of the expression, or `None` for another condition.
    #[must_use]
    pub fn expression(&self) -> Option<&str> {
        match self {
            Self::Expression(text) => Some(text),
            Self::None | Self::Legacy(_) => None,
        }
    }
}

api_enums! {
    #[derive(Default, Hash)]
    ReturnConsumedCapacity {
        Indexes = "INDEXES",
        Total = "TOTAL",
        #[default]
        None = "NONE",
    }

    /// `ReturnValues` of PutItem and DeleteItem.
    #[derive(Default)]
    ReturnValues {
        #[default]
        None = "NONE",
        AllOld = "ALL_OLD",
    }

    /// `ReturnValues` of UpdateItem.
    #[derive(Default)]
    UpdateReturnValues {
        #[default]
        None = "NONE",
        AllOld = "ALL_OLD",
        AllNew = "ALL_NEW",
        /// The updated paths with their old values.
        UpdatedOld = "UPDATED_OLD",
        /// The updated paths with their new values.
        UpdatedNew = "UPDATED_NEW",
    }

    /// `Select` of Query and Scan: which attributes are returned.
    #[derive(Hash)]
    Select {
        SpecificAttributes = "SPECIFIC_ATTRIBUTES",
        Count = "COUNT",
        AllAttributes = "ALL_ATTRIBUTES",
        AllProjectedAttributes = "ALL_PROJECTED_ATTRIBUTES",
    }
}

/// The number of one version of an item, taken from the store's commit sequence: a larger one is
/// later, and none is reused.
pub type Version = u64;

/// A condition that needs no expression, for the filesystem alone: O_EXCL, and a save that must not
/// overwrite a later change. If it fails, the error is `ConditionalCheckFailed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// The item must not exist.
    Absent,
    /// The item must exist in exactly this version.
    Version(Version),
    /// The item must have exactly this version, or not exist.
    VersionOrAbsent(Version),
}

/// The capacity units that an operation consumed, for the table and for each index.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConsumedCapacity {
    pub table: f64,
    /// By index name; only indexes that were touched.
    pub global_indexes: BTreeMap<String, f64>,
    pub local_indexes: BTreeMap<String, f64>,
    /// `VectorWriteRequestBytes` by index name: bytes, which are no units.
    pub vector_indexes: BTreeMap<String, f64>,
}

impl ConsumedCapacity {
    /// Returns units of the table alone.
    #[must_use]
    pub fn of_table(units: f64) -> Self {
        Self {
            table: units,
            ..Self::default()
        }
    }

    /// Returns `CapacityUnits`: the sum over the table and its indexes.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.table
            + self.global_indexes.values().sum::<f64>()
            + self.local_indexes.values().sum::<f64>()
    }

    /// Adds what another operation on the same table consumed.
    pub fn add(&mut self, other: &Self) {
        self.table += other.table;
        let arms = [
            (&mut self.global_indexes, &other.global_indexes),
            (&mut self.local_indexes, &other.local_indexes),
            (&mut self.vector_indexes, &other.vector_indexes),
        ];
        for (sums, arms) in arms {
            for (name, units) in arms {
                *sums.entry(name.clone()).or_default() += units;
            }
        }
    }
}

/// The consumption of a successful request, for its meters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Consumption {
    /// Units by table; without its name in the order in which the request first names its tables.
    pub units: Vec<(Option<TableName>, f64)>,
    /// The returned items of each part of the request: an item, a statement, a table of a
    /// BatchGetItem; empty if none returns any.
    pub returned: Vec<u64>,
    /// The items read before a filter; `None`: those returned.
    pub evaluated: Option<u64>,
    /// True if a request that may write consumed the units of reads.
    pub is_read: bool,
}

impl Consumption {
    /// Returns what a request to tables in the order of the request consumed.
    #[must_use]
    pub fn in_order(units: &[ConsumedCapacity], returned: Vec<u64>) -> Self {
        Self {
            units: units.iter().map(|units| (None, units.total())).collect(),
            returned,
            ..Self::default()
        }
    }

    /// Returns what a request consumed of tables by their names; `found` is what its parts
    /// returned.
    pub(super) fn named(
        units: &[(TableName, ConsumedCapacity)],
        found: impl Iterator<Item = bool>,
    ) -> Self {
        let units = units.iter();
        Self {
            units: units
                .map(|(table, units)| (Some(table.clone()), units.total()))
                .collect(),
            returned: found.map(u64::from).collect(),
            ..Self::default()
        }
    }

    /// Returns what a request to one table consumed.
    #[must_use]
    pub fn of_table(units: &ConsumedCapacity, returned: u64) -> Self {
        Self::in_order(std::slice::from_ref(units), vec![returned])
    }
}

/// A response of an operation on items or statements. Each row of these families needs one: meters
/// know from it what a request consumed.
pub trait MeasuredResponse {
    /// Returns what the request consumed.
    fn consumption(&self) -> Consumption;
}

macro_rules! measured {
    ($($response:ty, $it:ident => $consumption:expr;)*) => {
        $(impl MeasuredResponse for $response {
            fn consumption(&self) -> Consumption {
                let $it = self;
                $consumption
            }
        })*
    };
}
pub(super) use measured;

measured! {
    Page, it => Consumption {
        evaluated: Some(it.scanned_count),
        ..Consumption::of_table(&it.consumed_capacity, it.count)
    };
}

declare! { $ common
    /// `ItemCollectionMetrics` of a write to a table with local indexes.
    ItemCollectionMetrics {
        /// One attribute: the partition key by name.
        required key: Item = "ItemCollectionKey",
        /// The lower and the upper bound.
        required size_estimate_range_gb: [f64; 2] = "SizeEstimateRangeGB",
    }
}

/// The part of a Query or Scan response beside its items.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub table_name: TableName,
    pub count: u64,
    pub scanned_count: u64,
    /// The size of the evaluated items by DynamoDB's rules, in bytes; items fetched from the table
    /// count.
    pub scanned_bytes: u64,
    pub last_evaluated_key: Option<Item>,
    pub consumed_capacity: ConsumedCapacity,
}

impl Page {
    /// Returns the page of a table in which there is nothing to read.
    #[must_use]
    pub fn empty(table_name: TableName) -> Self {
        let consumed_capacity = ConsumedCapacity::default();
        Self {
            table_name,
            count: 0,
            scanned_count: 0,
            scanned_bytes: 0,
            last_evaluated_key: None,
            consumed_capacity,
        }
    }
}

/// `FailureCode` and `FailureMessage`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFailure {
    pub code: String,
    pub message: String,
}

api_enums! {
    /// The comparison of an attribute with values.
    #[derive(Hash)]
    ComparisonOperator {
        In = "IN",
        Null = "NULL",
        Between = "BETWEEN",
        Lt = "LT",
        NotContains = "NOT_CONTAINS",
        Eq = "EQ",
        Gt = "GT",
        NotNull = "NOT_NULL",
        Ne = "NE",
        Le = "LE",
        BeginsWith = "BEGINS_WITH",
        Ge = "GE",
        Contains = "CONTAINS",
    }

    /// The operator that joins several conditions.
    #[derive(Default, Hash)]
    ConditionalOperator {
        Or = "OR",
        #[default]
        And = "AND",
    }
}

/// `Expected`, `QueryFilter` or `ScanFilter`, with `ConditionalOperator`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct LegacyConditions {
    /// In the order of the request.
    pub conditions: Vec<LegacyCondition>,
    /// `None` is an absent member.
    pub operator: Option<ConditionalOperator>,
}

api_enums! {
    /// The action of AttributeUpdates on an attribute.
    #[derive(Default, Hash)]
    AttributeAction {
        Add = "ADD",
        #[default]
        Put = "PUT",
        Delete = "DELETE",
    }
}

declare! { $ legacy
    /// The condition on one attribute: `Condition` of filters and KeyConditions, `ExpectedAttributeValue` of Expected.
    #[derive(Eq, Default, Hash)]
    LegacyCondition = "ExpectedAttributeValue" {
        local attribute: String,
        optional attribute_value_list: Vec<AttributeValue>,
        optional comparison_operator: ComparisonOperator,
        /// Only in Expected.
        optional exists: bool,
        /// Only in Expected.
        optional value: AttributeValue,
    }

    /// An entry of AttributeUpdates.
    #[derive(Eq, Default, Hash)]
    AttributeUpdate = "AttributeValueUpdate" {
        local attribute: String,
        always action: AttributeAction,
        optional value: AttributeValue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases() {
        assert_eq!(
            [("#a_1", '#'), (":v", ':')]
                .map(|(alias, sign)| Placeholders::check_placeholder(alias, sign)),
            [Ok(()), Ok(())]
        );
        for alias in ["a", "#", "#a b", "#é", ":a"] {
            assert_eq!(
                Placeholders::check_placeholder(alias, '#'),
                Err(PlaceholderFault::Syntax(alias.to_owned()))
            );
        }
        assert_eq!(
            Placeholders::check_placeholder("", '#'),
            Err(PlaceholderFault::Empty)
        );
    }
}
