//! What is wrong with a name that means no key.

use crate::model::error::NumberError;

/// Why a name means no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    #[error("a name is UTF-8; write other bytes as %XX")]
    NotUtf8,
    #[error("after '%' come two hexadecimal digits, '%25' is the character itself")]
    Escape,
    #[error("a shortened name ends in '%~' and 26 characters a-z, 2-7")]
    Alias,
    #[error("a key value cannot be empty")]
    Empty,
    #[error("the name has {found} parts separated by ',', expected are {expected}; a comma inside a value is '%2C'")]
    Components { expected: usize, found: usize },
    #[error("the bytes of a string key are not UTF-8")]
    ValueNotUtf8,
    #[error(transparent)]
    Number(#[from] NumberError),
}
