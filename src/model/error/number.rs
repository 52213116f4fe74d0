//! Bad numbers: how they are written, too many digits, out of range (docs/dynamodb.md 4).

#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NumberError {
    #[error("The parameter cannot be converted to a numeric value")]
    Empty,
    /// An exponent beyond 64 bits.
    #[error("The parameter cannot be converted to a numeric value")]
    Unreadable,
    #[error("The parameter cannot be converted to a numeric value: {0}")]
    Syntax(String),
    #[error("Attempting to store more than 38 significant digits in a Number")]
    Precision,
    #[error("Number overflow. Attempting to store a number with magnitude larger than supported range")]
    Overflow,
    #[error("Number underflow. Attempting to store a number with magnitude smaller than supported range")]
    Underflow,
}
