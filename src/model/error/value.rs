//! Bad values and items (SEMANTICS 3.2, 5.2).

use super::number::NumberError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")]
    NoType,
    #[error("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")]
    SeveralTypes,
    #[error("One or more parameter values were invalid: Null attribute value types must have the value of true")]
    NullFalse,
    // The doubled blank is the service's own.
    #[error("One or more parameter values were invalid: An string set  may not be empty")]
    EmptyStringSet,
    #[error("One or more parameter values were invalid: An number set  may not be empty")]
    EmptyNumberSet,
    #[error("One or more parameter values were invalid: Binary sets should not be empty")]
    EmptyBinarySet,
    /// The kind of set: `string`, `number` or `binary`.
    #[error("One or more parameter values were invalid: An {0} set  may not have a null {0} as a member")]
    NullInSet(&'static str),
    /// The elements as sent, joined by `, `.
    #[error("One or more parameter values were invalid: Input collection [{0}] contains duplicates.")]
    DuplicateStrings(String),
    /// The elements in base64, joined by `, `. The missing blank is the service's own.
    #[error("One or more parameter values were invalid: Input collection [{0}]of type BS contains duplicates.")]
    DuplicateBinaries(String),
    #[error("Input collection contains duplicates")]
    DuplicateNumbers,
    #[error("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")]
    Nesting,
    #[error("One or more parameter values were invalid: Empty attribute name")]
    EmptyAttributeName,
    #[error("One or more parameter values were invalid: Attribute name is too large, must be less than 65536 bytes")]
    AttributeNameTooLong,
    #[error("Item size has exceeded the maximum allowed size")]
    ItemTooLarge,
    #[error(transparent)]
    Number(#[from] NumberError),
}
