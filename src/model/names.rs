//! Table and index names: 3 to 255 of `[a-zA-Z0-9_.-]`, case-sensitive.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::limits::{NAME_CHARS_MAX, NAME_CHARS_MIN};

/// The rule that a table or index name breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("a name has at least 3 characters")]
    TooShort,
    #[error("a name has at most 255 characters")]
    TooLong,
    #[error("a name is made of a-z, A-Z, 0-9, '_', '.' and '-'")]
    BadCharacter,
}

fn check(text: &str) -> Result<(), NameError> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    if !text.bytes().all(legal) {
        return Err(NameError::BadCharacter);
    }
    match text.len() {
        n if n < NAME_CHARS_MIN => Err(NameError::TooShort),
        n if n > NAME_CHARS_MAX => Err(NameError::TooLong),
        _ => Ok(()),
    }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            /// Checks length and alphabet.
            ///
            /// # Errors
            /// Fails with the [`NameError`] of the broken rule.
            pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
                let text = text.into();
                check(&text)?;
                Ok(Self(text))
            }

            /// Returns the name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $type {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_type!(
    /// A checked table name.
    TableName
);
name_type!(
    /// A checked index name, unique among all indexes of its table.
    IndexName
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_names() {
        let long = "a".repeat(255);
        let too_long = "a".repeat(256);
        let cases: &[(&str, Result<(), NameError>)] = &[
            ("abc", Ok(())),
            ("A-b_c.9", Ok(())),
            (&long, Ok(())),
            ("ab", Err(NameError::TooShort)),
            ("", Err(NameError::TooShort)),
            (&too_long, Err(NameError::TooLong)),
            ("a b c", Err(NameError::BadCharacter)),
            ("é--", Err(NameError::BadCharacter)),
        ];
        for (text, expected) in cases {
            assert_eq!(TableName::new(*text).map(|_| ()), *expected, "{text}");
        }
    }
}
