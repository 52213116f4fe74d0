//! Errors of bad values, items and numbers (docs/dynamodb.md 3.2, 4, 5.2). `Display` is the text of
//! the older of the service's two request parsers; `exception` explains the two and changes the
//! text for the other.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Hash)]
pub enum ValueError {
    #[error(
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
    )]
    NoType,
    #[error(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
    )]
    SeveralTypes,
    #[error("{INVALID}Null attribute value types must have the value of true")]
    NullFalse,
    // The doubled blank is the service's own.
    #[error("{INVALID}An string set  may not be empty")]
    EmptyStringSet,
    #[error("{INVALID}An number set  may not be empty")]
    EmptyNumberSet,
    #[error("{INVALID}Binary sets should not be empty")]
    EmptyBinarySet,
    /// The kind of set: `string`, `number` or `binary`.
    #[error("{INVALID}An {0} set  may not have a null {0} as a member")]
    NullInSet(&'static str),
    /// The elements as sent.
    #[error("{INVALID}Input collection [{}] contains duplicates.", .0.join(", "))]
    DuplicateStrings(Vec<String>),
    /// The elements as sent, shown in base64. The missing blank is the service's own.
    #[error("{INVALID}Input collection [{}]of type BS contains duplicates.", base64(.0).join(", "))]
    DuplicateBinaries(Vec<Vec<u8>>),
    #[error("Input collection contains duplicates")]
    DuplicateNumbers,
    #[error(
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
    )]
    Nesting,
    #[error("{INVALID}Empty attribute name")]
    EmptyAttributeName,
    #[error("{INVALID}Attribute name is too large, must be less than 65536 bytes")]
    AttributeNameTooLong,
    #[error("Item size has exceeded the maximum allowed size")]
    ItemTooLarge,
    #[error(transparent)]
    Number(#[from] NumberError),
}

impl ValueError {
    /// True if the error is about the name of an attribute.
    #[must_use]
    pub fn is_name_error(&self) -> bool {
        matches!(self, Self::EmptyAttributeName | Self::AttributeNameTooLong)
    }

    /// Returns the text without `SelectedItem or more parameter values were invalid: `.
    #[must_use]
    pub fn without_family(&self) -> String {
        let text = self.to_string();
        text.strip_prefix(INVALID)
            .map_or_else(|| text.clone(), str::to_owned)
    }

    /// Returns the text of the service's current layer; `Display` gives the older layer's
    /// (docs/dynamodb.md 3.4).
    #[must_use]
    pub fn current_text(&self) -> String {
        match self {
            Self::Number(fault) => fault.current_text(),
            Self::DuplicateStrings(sent) => {
                let shown: Vec<String> = in_reported_order(sent)
                    .iter()
                    .map(|text| format!("\"{text}\""))
                    .collect();
                Self::DuplicateStrings(shown).to_string()
            }
            Self::DuplicateBinaries(sent) => {
                let shown: Vec<String> = base64(&in_reported_order(sent))
                    .iter()
                    .map(|text| format!("\"{text}\""))
                    .collect();
                format!(
                    "{INVALID}Input collection [{}]of type BS contains duplicates.",
                    shown.join(",")
                )
            }
            Self::DuplicateNumbers => format!("{INVALID}{self}."),
            other => other.to_string(),
        }
    }
}

pub(super) const INVALID: &str = "One or more parameter values were invalid: ";

fn base64(elements: &[impl AsRef<[u8]>]) -> Vec<String> {
    elements
        .iter()
        .map(|element| STANDARD.encode(element))
        .collect()
}

/// Returns a collection with duplicates in the order in which the service shows it: the elements
/// before the first repeat sorted, then the repeat, then the others as sent.
fn in_reported_order<T: Ord>(sent: &[T]) -> Vec<&T> {
    let mut seen = BTreeSet::new();
    let repeat = sent
        .iter()
        .position(|element| !seen.insert(element))
        .unwrap_or(sent.len());
    seen.into_iter().chain(&sent[repeat..]).collect()
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NumberError {
    #[error("The parameter cannot be converted to a numeric value")]
    Empty,
    /// An exponent beyond 64 bits.
    #[error("The parameter cannot be converted to a numeric value")]
    Unreadable,
    #[error("The parameter cannot be converted to a numeric value: {0}")]
    Syntax(String),
    /// An exponent of more than 32 bits, which the older layer cannot read.
    #[error("The parameter cannot be converted to a numeric value: {text}")]
    LongExponent { text: String, is_small: bool },
    /// An exponent that fits 32 bits, but not together with the digits: the older layer's sum wraps.
    #[error(
        "Number underflow. Attempting to store a number with magnitude smaller than supported range"
    )]
    WrappedExponent,
    #[error("Attempting to store more than 38 significant digits in a Number")]
    Precision,
    #[error(
        "Number overflow. Attempting to store a number with magnitude larger than supported range"
    )]
    Overflow,
    #[error(
        "Number underflow. Attempting to store a number with magnitude smaller than supported range"
    )]
    Underflow,
}

impl NumberError {
    /// Returns the text of the service's current layer, which parses exponents of up to 64 bits
    /// (docs/dynamodb.md 3.4).
    #[must_use]
    pub fn current_text(&self) -> String {
        match self {
            Self::Empty => format!("{self}: "),
            Self::LongExponent { is_small: true, .. } => Self::Underflow.to_string(),
            Self::LongExponent {
                is_small: false, ..
            }
            | Self::WrappedExponent => Self::Overflow.to_string(),
            Self::Unreadable
            | Self::Syntax(_)
            | Self::Precision
            | Self::Overflow
            | Self::Underflow => self.to_string(),
        }
    }
}
