//! Bad parameters of the kind before expressions (docs/dynamodb.md 8).

use super::value::INVALID;
use crate::model::attribute_value::AttributeType;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LegacyError {
    /// `operator` as the wire spells it.
    #[error("{INVALID}Invalid number of argument(s) for the {operator} ComparisonOperator")]
    ArgumentCount { operator: &'static str },
    #[error("{INVALID}ComparisonOperator {operator} is not valid for {actual} AttributeValue type")]
    ArgumentType { operator: &'static str, actual: AttributeType },
    #[error("{INVALID}AttributeValues inside AttributeValueList must be of same type")]
    ArgumentTypes,
    #[error("The BETWEEN condition was provided a range where the lower bound is greater than the upper bound")]
    BetweenOrder,
    #[error("{INVALID}Value or AttributeValueList must be used with ComparisonOperator: {operator} for Attribute: {attribute}")]
    ArgumentsMissing { operator: &'static str, attribute: String },
    #[error("{INVALID}Value and AttributeValueList cannot be used together for Attribute: {0}")]
    ValueAndList(String),
    #[error("{INVALID}Exists and ComparisonOperator cannot be used together for Attribute: {0}")]
    ExistsAndOperator(String),
    #[error("{INVALID}AttributeValueList can only be used with a ComparisonOperator for Attribute: {0}")]
    ListWithoutOperator(String),
    /// `exists` is `null` or `true`.
    #[error("{INVALID}Value must be provided when Exists is {exists} for Attribute: {attribute}")]
    ValueMissing { exists: &'static str, attribute: String },
    #[error("{INVALID}Value cannot be used when Exists is false for Attribute: {0}")]
    ValueUnwanted(String),
    #[error("ConditionalOperator cannot be used without Filter or Expected")]
    OperatorAlone,
    #[error("ConditionalOperator can only be used when Filter or Expected has two or more elements")]
    OperatorOfOne,
    #[error("{INVALID}Only DELETE action is allowed when no attribute value is specified")]
    UpdateWithoutValue,
    #[error("{INVALID}DELETE action with value is not supported for the type {0}")]
    DeleteType(AttributeType),
    #[error("{INVALID}ADD action is not supported for the type {0}")]
    AddType(AttributeType),
    /// As an expression with as many.
    #[error("{INVALID}The parameter contains too many conditions; condition count: {0}")]
    TooManyConditions(usize),
    /// Our own bound: what an expression with as many operators of as many operands has.
    #[error("{INVALID}The parameter contains too many values; at most 30000, value count: {0}")]
    TooManyValues(usize),
    /// Of AttributesToGet.
    #[error("{INVALID}Duplicate value in attribute name: {0}")]
    DuplicateAttribute(String),
}
