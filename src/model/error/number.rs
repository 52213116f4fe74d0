//! Bad numbers: how they are written, too many digits, out of range (docs/dynamodb.md 4). `Display` is the older layer's text.

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
    #[error("Number underflow. Attempting to store a number with magnitude smaller than supported range")]
    WrappedExponent,
    #[error("Attempting to store more than 38 significant digits in a Number")]
    Precision,
    #[error("Number overflow. Attempting to store a number with magnitude larger than supported range")]
    Overflow,
    #[error("Number underflow. Attempting to store a number with magnitude smaller than supported range")]
    Underflow,
}

impl NumberError {
    /// The words of the service's current layer, which reads exponents of up to 64 bits (docs/dynamodb.md 3.4).
    #[must_use]
    pub fn current_text(&self) -> String {
        match self {
            Self::Empty => format!("{self}: "),
            Self::LongExponent { is_small: true, .. } => Self::Underflow.to_string(),
            Self::LongExponent { is_small: false, .. } | Self::WrappedExponent => Self::Overflow.to_string(),
            Self::Unreadable | Self::Syntax(_) | Self::Precision | Self::Overflow | Self::Underflow => self.to_string(),
        }
    }
}
