//! Parameters from before expressions (docs/dynamodb.md 8): conditions by attribute, and updates by attribute. Names are top-level
//! attributes, dots and all.

use crate::model::AttributeValue;

/// How an attribute is compared; the wire's spellings are [`Self::name`].
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

impl ComparisonOperator {
    /// In the order in which the service lists them.
    pub const ALL: [Self; 13] = [
        Self::In,
        Self::Null,
        Self::Between,
        Self::Lt,
        Self::NotContains,
        Self::Eq,
        Self::Gt,
        Self::NotNull,
        Self::Ne,
        Self::Le,
        Self::BeginsWith,
        Self::Ge,
        Self::Contains,
    ];

    /// As the wire spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Eq => "EQ",
            Self::Ne => "NE",
            Self::Le => "LE",
            Self::Lt => "LT",
            Self::Ge => "GE",
            Self::Gt => "GT",
            Self::Between => "BETWEEN",
            Self::In => "IN",
            Self::Contains => "CONTAINS",
            Self::NotContains => "NOT_CONTAINS",
            Self::BeginsWith => "BEGINS_WITH",
            Self::Null => "NULL",
            Self::NotNull => "NOT_NULL",
        }
    }
}

/// What joins several conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum ConditionalOperator {
    #[default]
    And,
    Or,
}

/// The condition on one attribute: `Condition` of filters and KeyConditions, `ExpectedAttributeValue` of Expected.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct LegacyCondition {
    pub attribute: String,
    pub comparison_operator: Option<ComparisonOperator>,
    pub attribute_value_list: Option<Vec<AttributeValue>>,
    /// Only of Expected.
    pub value: Option<AttributeValue>,
    /// Only of Expected.
    pub exists: Option<bool>,
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

/// One entry of AttributeUpdates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttributeUpdate {
    pub attribute: String,
    pub action: AttributeAction,
    pub value: Option<AttributeValue>,
}
