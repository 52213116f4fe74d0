//! Parameters from before expressions (docs/dynamodb.md 8): conditions by attribute, and updates by attribute. Names are top-level
//! attributes, dots and all.

use super::declare::declare;
use crate::model::AttributeValue;

/// How an attribute is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ComparisonOperator {
    Eq,
    Ne,
    Le,
    Lt,
    Ge,
    Gt,
    Between,
    In,
    Contains,
    NotContains,
    BeginsWith,
    Null,
    NotNull,
}

/// What joins several conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum ConditionalOperator {
    #[default]
    And,
    Or,
}

/// `Expected`, `QueryFilter` or `ScanFilter`, with `ConditionalOperator`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct LegacyConditions {
    /// In the order sent.
    pub conditions: Vec<LegacyCondition>,
    /// `None` is an absent member.
    pub operator: Option<ConditionalOperator>,
}

/// What AttributeUpdates does to an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AttributeAction {
    #[default]
    Put,
    Add,
    Delete,
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
