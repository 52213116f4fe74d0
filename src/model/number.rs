//! DynamoDB numbers: exact decimals of up to 38 significant digits, magnitude 0 or 1e-130 to 9.99…e125.
//!
//! One canonical form per value, so that equality, order, hash, stored bytes and text agree.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::error::number::NumberError;

/// `(-1)^negative * coefficient * 10^exponent`; the coefficient has no trailing decimal zero, zero is `(false, 0, 0)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number {
    negative: bool,
    /// At most 38 decimal digits.
    coefficient: u128,
    exponent: i16,
}

impl Number {
    pub const ZERO: Self = Self { negative: false, coefficient: 0, exponent: 0 };

    /// The parts: sign, coefficient without trailing zeros, power of ten.
    #[must_use]
    pub fn parts(&self) -> (bool, u128, i16) {
        (self.negative, self.coefficient, self.exponent)
    }

    /// Size in bytes by DynamoDB's rule (SEMANTICS 5.1): 1 for zero, else 1 + base-100 digit groups + 1 if negative.
    #[must_use]
    pub fn size(&self) -> usize {
        todo!()
    }
}
