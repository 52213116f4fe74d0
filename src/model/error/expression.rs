//! Errors of expressions (docs/dynamodb.md 7.1, 7.6, 7.9), each with its parameter:
//! `KeyConditionExpression`, `ProjectionExpression`, …; of parameters from before expressions (8);
//! and of updates that do not fit the item (5.2, 6.3, 7.11, 8.3, 9.4).

use super::value::{INVALID, ValueError};
use crate::model::attribute_value::AttributeType;

/// An expression parameter of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExpressionParameter {
    Condition,
    Filter,
    KeyCondition,
    Projection,
    SearchCondition,
    Update,
}

impl ExpressionParameter {
    /// The parameters that can use values in PutItem, DeleteItem and the actions of a transaction.
    pub const OF_CONDITION: &[Self] = &[Self::Condition];
    /// The parameters that can use values in UpdateItem.
    pub const OF_UPDATE: &[Self] = &[Self::Update, Self::Condition];
    /// The parameters that can use values in Query.
    pub const OF_QUERY: &[Self] = &[Self::Filter, Self::KeyCondition];
    /// The parameters that can use values in SearchVectors.
    pub const OF_SEARCH: &[Self] = &[Self::SearchCondition];
    /// The parameters that can use values in Scan.
    pub const OF_SCAN: &[Self] = &[Self::Filter];

    /// Returns the name of the request's member.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Condition => "ConditionExpression",
            Self::Filter => "FilterExpression",
            Self::KeyCondition => "KeyConditionExpression",
            Self::Projection => "ProjectionExpression",
            Self::SearchCondition => "SearchConditionExpression",
            Self::Update => "UpdateExpression",
        }
    }
}

/// Returns `FilterExpression and KeyConditionExpression are null`.
fn are_null(parameters: &[ExpressionParameter]) -> String {
    let names: Vec<&str> = parameters
        .iter()
        .map(|parameter| parameter.name())
        .collect();
    format!(
        "{} {} null",
        names.join(" and "),
        if names.len() == 1 { "is" } else { "are" }
    )
}

impl std::fmt::Display for ExpressionParameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// An error inside one expression.
    #[error("Invalid {parameter}: {fault}")]
    Invalid {
        parameter: ExpressionParameter,
        fault: ExpressionFault,
    },
    /// Both lists joined by `, `.
    #[error(
        "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {{{legacy}}} Expression parameters: {{{expressions}}}"
    )]
    Mixed { legacy: String, expressions: String },
    /// Names or values given, but no expression uses any.
    #[error("ExpressionAttributeNames can only be specified when using expressions")]
    NamesWithoutExpression,
    /// None of the parameters that could use them is present.
    #[error("ExpressionAttributeValues can only be specified when using expressions: {}", are_null(.0))]
    ValuesWithoutExpression(&'static [ExpressionParameter]),
    #[error("ExpressionAttributeNames must not be empty")]
    NamesEmpty,
    #[error("ExpressionAttributeValues must not be empty")]
    ValuesEmpty,
    #[error("ExpressionAttributeNames contains invalid key: {0}")]
    NameKey(PlaceholderFault),
    #[error("ExpressionAttributeValues contains invalid key: {0}")]
    ValueKey(PlaceholderFault),
    #[error("ExpressionAttributeNames contains invalid value: {} for key {alias}", .fault.without_family())]
    InvalidName { alias: String, fault: ValueError },
    /// Raised here for nesting, and by parsers of wire forms for any other fault.
    #[error("ExpressionAttributeValues contains invalid value: {fault} for key {alias}")]
    InvalidValue { alias: String, fault: ValueError },
    /// In bytes, aliases included.
    #[error(
        "ExpressionAttributeNames and ExpressionAttributeValues together have exceeded the maximum allowed size of 2097152 bytes; size: {0}"
    )]
    PlaceholdersTooLarge(usize),
    /// Rendered `{#a, #b}`.
    #[error("Value provided in ExpressionAttributeNames unused in expressions: keys: {0}")]
    NamesUnused(String),
    #[error("Value provided in ExpressionAttributeValues unused in expressions: keys: {0}")]
    ValuesUnused(String),
    /// A key condition that does not fit the schema, see docs/dynamodb.md 7.6.
    #[error("Conditions can be of length 1 or 2 only")]
    ConditionCount,
    #[error(
        "The number of query conditions ({conditions}) exceeds the number of key attributes defined in the schema ({attributes})"
    )]
    ConditionsExceedKey {
        conditions: usize,
        attributes: usize,
    },
    /// For an index with several attributes in a key; names joined by `, `.
    #[error("HASH key attributes {0} must have equality conditions specified in the query")]
    HashAttributes(String),
    /// The same for its sort key: the attributes without a condition before one that has a
    /// condition.
    #[error(
        "RANGE key attributes {lacking} must have equality conditions specified in the query because a condition is present on key attribute {given}"
    )]
    RangeAttributes { lacking: String, given: String },
    #[error("Attempted conditional constraint is not an indexable operation")]
    NotIndexable,
    #[error("Query key condition not supported")]
    KeyConditionNotSupported,
    #[error("Query condition missed key schema element: {0}")]
    MissedKeyElement(String),
    #[error(
        "One or more parameter values were invalid: Condition parameter type does not match schema type"
    )]
    ConditionType,
}

/// The fault of a placeholder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderFault {
    #[error("The expression attribute map contains an empty key;")]
    Empty,
    /// In bytes.
    #[error("The expression attribute map contains a key that is too long; size of key: {0}")]
    TooLong(usize),
    #[error("Syntax error; key: \"{0}\"")]
    Syntax(String),
}

/// A fault inside one expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionFault {
    #[error("The expression can not be empty;")]
    Empty,
    #[error("Expression size has exceeded the maximum allowed size; expression size: {0}")]
    TooLong(usize),
    /// The same for an UpdateExpression; its text does not give the size.
    #[error("Expression size has exceeded the maximum allowed size;")]
    UpdateTooLong,
    #[error("The expression contains too many operators; operator count: {0}")]
    TooManyOperators(usize),
    /// An addition of this engine.
    #[error(
        "The expression uses values of more than 32 MiB in all, each counted as often as it is used"
    )]
    TooManyValueBytes,
    #[error("The document path has too many nesting levels; nesting levels: {0}")]
    PathTooDeep(usize),
    #[error("List index is not within the allowable range; index: [{0}]")]
    IndexRange(String),
    #[error("Syntax error; token: \"{token}\", near: \"{near}\"")]
    Syntax { token: String, near: String },
    #[error("The expression has redundant parentheses;")]
    RedundantParentheses,
    #[error("Attribute name is a reserved keyword; reserved keyword: {0}")]
    ReservedWord(String),
    #[error(
        "An expression attribute name used in the document path is not defined; attribute name: {0}"
    )]
    UndefinedName(String),
    #[error(
        "An expression attribute value used in expression is not defined; attribute value: {0}"
    )]
    UndefinedValue(String),
    #[error("Invalid function name; function: {0}")]
    UnknownFunction(String),
    #[error("The function is not allowed to be used this way in an expression; function: {0}")]
    FunctionMisused(String),
    /// An update function in a condition, or the reverse; `language` with its article.
    #[error("The function is not allowed in {language} expression; function: {function}")]
    FunctionOfOther {
        language: &'static str,
        function: String,
    },
    #[error("The IN operator is provided with too many operands; number of operands: {0}")]
    InOperandCount(usize),
    #[error(
        "Incorrect number of operands for operator or function; operator or function: {function}, number of operands: {count}"
    )]
    OperandCount { function: String, count: usize },
    #[error(
        "Incorrect operand type for operator or function; operator or function: {function}, operand type: {operand}"
    )]
    OperandType { function: String, operand: String },
    /// An operand of ADD or DELETE; `operand` is the type's long name.
    #[error(
        "Incorrect operand type for operator or function; operator: {operator}, operand type: {operand}, typeSet: ALLOWED_FOR_{operator}_OPERAND"
    )]
    ActionOperandType {
        operator: &'static str,
        operand: &'static str,
    },
    #[error("The \"{0}\" section can only be used once in an update expression;")]
    RepeatedSection(&'static str),
    #[error("Operator or function requires a document path; operator or function: {0}")]
    PathRequired(String),
    #[error(
        "The first operand must be distinct from the remaining operands for this operator or function; operator: {operator}, first operand: {operand}"
    )]
    SameOperand { operator: String, operand: String },
    #[error(
        "Invalid attribute type name found; type: {0}, valid types: {{B,NULL,SS,BOOL,L,BS,N,NS,S,M}}"
    )]
    UnknownTypeName(String),
    #[error(
        "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {lower}, upper bound operand: AttributeValue: {upper}"
    )]
    BetweenTypes { lower: String, upper: String },
    #[error(
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {lower}, upper bound operand: AttributeValue: {upper}"
    )]
    BetweenOrder { lower: String, upper: String },
    #[error("Invalid operator used in KeyConditionExpression: {0}")]
    KeyConditionOperator(String),
    #[error("KeyConditionExpressions must only contain one condition per key")]
    OneConditionPerKey,
    #[error("KeyConditionExpressions cannot have conditions on nested attributes")]
    NestedAttribute,
    #[error("KeyConditionExpressions cannot contain nested operations")]
    NestedOperation,
    #[error("Invalid condition in KeyConditionExpression: No key attribute specified")]
    NoKeyAttribute,
    #[error(
        "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
    )]
    SeveralAttributes,
    #[error(
        "Invalid condition in KeyConditionExpression: {0} operator must have the key attribute as its first operand"
    )]
    AttributeNotFirst(&'static str),
    /// Rendered document paths, in the order in which they appear.
    #[error(
        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    )]
    PathsOverlap { one: String, two: String },
    #[error(
        "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    )]
    PathsConflict { one: String, two: String },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LegacyError {
    /// `operator` is spelled as on the wire.
    #[error("{INVALID}Invalid number of argument(s) for the {operator} ComparisonOperator")]
    ArgumentCount { operator: &'static str },
    #[error("{INVALID}ComparisonOperator {operator} is not valid for {actual} AttributeValue type")]
    ArgumentType {
        operator: &'static str,
        actual: AttributeType,
    },
    #[error("{INVALID}AttributeValues inside AttributeValueList must be of same type")]
    ArgumentTypes,
    #[error(
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    )]
    BetweenOrder,
    #[error(
        "{INVALID}Value or AttributeValueList must be used with ComparisonOperator: {operator} for Attribute: {attribute}"
    )]
    ArgumentsMissing {
        operator: &'static str,
        attribute: String,
    },
    #[error("{INVALID}Value and AttributeValueList cannot be used together for Attribute: {0}")]
    ValueAndList(String),
    #[error("{INVALID}Exists and ComparisonOperator cannot be used together for Attribute: {0}")]
    ExistsAndOperator(String),
    #[error(
        "{INVALID}AttributeValueList can only be used with a ComparisonOperator for Attribute: {0}"
    )]
    ListWithoutOperator(String),
    /// `exists` is `null` or `true`.
    #[error("{INVALID}Value must be provided when Exists is {exists} for Attribute: {attribute}")]
    ValueMissing {
        exists: &'static str,
        attribute: String,
    },
    #[error("{INVALID}Value cannot be used when Exists is false for Attribute: {0}")]
    ValueUnwanted(String),
    #[error("ConditionalOperator cannot be used without Filter or Expected")]
    OperatorAlone,
    #[error(
        "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    )]
    OperatorOfOne,
    #[error("{INVALID}Only DELETE action is allowed when no attribute value is specified")]
    UpdateWithoutValue,
    #[error("{INVALID}DELETE action with value is not supported for the type {0}")]
    DeleteType(AttributeType),
    #[error("{INVALID}ADD action is not supported for the type {0}")]
    AddType(AttributeType),
    /// The same limit as that of an expression.
    #[error("{INVALID}The parameter contains too many conditions; condition count: {0}")]
    TooManyConditions(usize),
    /// An addition of this engine: the number of values in an expression with the most operators
    /// and operands.
    #[error("{INVALID}The parameter contains too many values; at most 30000, value count: {0}")]
    TooManyValues(usize),
    /// A name in AttributesToGet.
    #[error("{INVALID}Duplicate value in attribute name: {0}")]
    DuplicateAttribute(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// A stored value, so that nothing in the expression shows the type.
    #[error(
        "The update expression attempted to update the secondary index key to unsupported type"
    )]
    IndexKeyType,
    #[error(
        "One or more parameter values were invalid: Cannot update attribute {0}. This attribute is part of the key"
    )]
    KeyAttribute(String),
    #[error("The provided expression refers to an attribute that does not exist in the item")]
    MissingAttribute,
    #[error("An operand in the update expression has an incorrect data type")]
    OperandType,
    /// The same for `AttributeUpdates`.
    #[error("Type mismatch for attribute to update")]
    AttributeType,
    #[error("The document path provided in the update expression is invalid for update")]
    InvalidPath,
    #[error("Item size to update has exceeded the maximum allowed size")]
    ItemTooLarge,
    #[error(
        "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value."
    )]
    IndexEmptyString,
    #[error(
        "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty binary value."
    )]
    IndexEmptyBinary,
    #[error(
        "The update expression attempted to update the secondary index key beyond allowed size limits"
    )]
    IndexTooLarge,
}
