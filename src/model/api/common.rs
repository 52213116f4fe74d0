//! Members that several operations share; among them the parameters from before expressions (docs/dynamodb.md 8): conditions by attribute,
//! and updates by attribute. Their names are top-level attributes, dots and all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::declare::declare;
use crate::model::error::ExpressionError;
use crate::model::error::expression::{AliasFault, ExpressionParameter};
use crate::model::limits::PLACEHOLDER_BYTES_MAX;
use crate::model::word::words;
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
    /// Those of expressions that were written here: a member is there if it has something.
    #[must_use]
    pub fn of(names: BTreeMap<String, String>, values: BTreeMap<String, AttributeValue>) -> Self {
        Self {
            names: Some(names).filter(|names| !names.is_empty()),
            values: Some(values).filter(|values| !values.is_empty()),
        }
    }

    /// A key of a name, `sign` `#`, or of a value, `:`: the sign and a word (docs/dynamodb.md 7.2).
    ///
    /// # Errors
    /// Empty, too long, other characters.
    pub fn check_alias(alias: &str, sign: char) -> Result<(), AliasFault> {
        let is_of_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        match alias.strip_prefix(sign) {
            _ if alias.is_empty() => Err(AliasFault::Empty),
            _ if alias.len() > PLACEHOLDER_BYTES_MAX => Err(AliasFault::TooLong(alias.len())),
            Some(word) if !word.is_empty() && word.chars().all(is_of_word) => Ok(()),
            _ => Err(AliasFault::Syntax(alias.to_owned())),
        }
    }

    /// Names and values may only come with an expression that can use them. `has_expression`: one that can use names;
    /// `values_missing`: the parameters that could use values, when none of them is there.
    ///
    /// # Errors
    /// [`ExpressionError::NamesWithoutExpression`], [`ExpressionError::ValuesWithoutExpression`].
    pub fn check_wanted(
        (has_names, has_values): (bool, bool),
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

/// A condition on an item: of a write, or the filter of a read.
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
    /// The expression, if it is one.
    #[must_use]
    pub fn expression(&self) -> Option<&str> {
        match self {
            Self::Expression(text) => Some(text),
            Self::None | Self::Legacy(_) => None,
        }
    }
}

words! {
    #[derive(Default, Hash)]
    ReturnConsumedCapacity {
        Indexes = "INDEXES",
        Total = "TOTAL",
        #[default]
        None = "NONE",
    }

    /// Of PutItem and DeleteItem.
    #[derive(Default)]
    ReturnValues {
        #[default]
        None = "NONE",
        AllOld = "ALL_OLD",
    }

    /// Of UpdateItem.
    #[derive(Default)]
    UpdateReturnValues {
        #[default]
        None = "NONE",
        AllOld = "ALL_OLD",
        AllNew = "ALL_NEW",
        /// Of the paths updated, as they were.
        UpdatedOld = "UPDATED_OLD",
        /// Of the paths updated, as they are.
        UpdatedNew = "UPDATED_NEW",
    }

    /// What Query and Scan return.
    #[derive(Hash)]
    Select {
        SpecificAttributes = "SPECIFIC_ATTRIBUTES",
        Count = "COUNT",
        AllAttributes = "ALL_ATTRIBUTES",
        AllProjectedAttributes = "ALL_PROJECTED_ATTRIBUTES",
    }
}

/// The number of one version of an item: larger is later, never reused, from the store's commit sequence.
pub type Version = u64;

/// A condition that needs no expression; the filesystem's own (O_EXCL, changed-underneath). A failed one is
/// `ConditionalCheckFailed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// The item must not exist.
    Absent,
    /// The item must exist in exactly this version.
    Version(Version),
    /// The item must be of exactly this version, or not exist.
    VersionOrAbsent(Version),
}

/// Capacity units an operation consumed, by arm.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConsumedCapacity {
    pub table: f64,
    /// By index name; only touched ones.
    pub global_indexes: BTreeMap<String, f64>,
    pub local_indexes: BTreeMap<String, f64>,
}

impl ConsumedCapacity {
    /// Units of the table alone.
    #[must_use]
    pub fn of_table(units: f64) -> Self {
        Self {
            table: units,
            ..Self::default()
        }
    }

    /// `CapacityUnits`: the sum of all arms.
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
        ];
        for (sums, arms) in arms {
            for (name, units) in arms {
                *sums.entry(name.clone()).or_default() += units;
            }
        }
    }
}

declare! { $ common
    /// `ItemCollectionMetrics` of a write to a table with LSIs.
    ItemCollectionMetrics {
        /// One attribute: the partition key by name.
        required key: Item = "ItemCollectionKey",
        /// Lower and upper bound.
        required size_estimate_range_gb: [f64; 2] = "SizeEstimateRangeGB",
    }
}

/// What a page of Query or Scan says beside its items.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub table_name: TableName,
    pub count: u64,
    pub scanned_count: u64,
    /// DynamoDB bytes of what was evaluated, fetched items included.
    pub scanned_bytes: u64,
    pub last_evaluated_key: Option<Item>,
    pub consumed_capacity: ConsumedCapacity,
}

impl Page {
    /// Of a table in which there is nothing to read.
    #[must_use]
    pub fn nothing(table_name: TableName) -> Self {
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
pub struct Failure {
    pub code: String,
    pub message: String,
}

words! {
    /// How an attribute is compared.
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

    /// What joins several conditions.
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
    /// In the order sent.
    pub conditions: Vec<LegacyCondition>,
    /// `None` is an absent member.
    pub operator: Option<ConditionalOperator>,
}

words! {
    /// What AttributeUpdates does to an attribute.
    #[derive(Default)]
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
        /// Only of Expected.
        optional exists: bool,
        /// Only of Expected.
        optional value: AttributeValue,
    }

    /// One entry of AttributeUpdates.
    #[derive(Eq, Default)]
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
                .map(|(alias, sign)| Placeholders::check_alias(alias, sign)),
            [Ok(()), Ok(())]
        );
        for alias in ["a", "#", "#a b", "#é", ":a"] {
            assert_eq!(
                Placeholders::check_alias(alias, '#'),
                Err(AliasFault::Syntax(alias.to_owned()))
            );
        }
        assert_eq!(Placeholders::check_alias("", '#'), Err(AliasFault::Empty));
    }
}
