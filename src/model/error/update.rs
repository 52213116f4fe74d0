//! Updates that do not fit the item (docs/dynamodb.md 5.2, 6.3, 7.11, 8.3, 9.4).

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// From a stored value, so that nothing in the statement shows the type.
    #[error("The update expression attempted to update the secondary index key to unsupported type")]
    IndexKeyType,
    #[error("One or more parameter values were invalid: Cannot update attribute {0}. This attribute is part of the key")]
    KeyAttribute(String),
    #[error("The provided expression refers to an attribute that does not exist in the item")]
    MissingAttribute,
    #[error("An operand in the update expression has an incorrect data type")]
    OperandType,
    /// The same of `AttributeUpdates`.
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
    #[error("The update expression attempted to update the secondary index key beyond allowed size limits")]
    IndexTooLarge,
}
