//! DynamoDB numbers: exact decimals of up to 38 significant digits, magnitude 0 or 1e-130 to 9.99…e125.
//!
//! One canonical form per value, so that equality, order, hash, stored bytes and text agree.

mod arithmetic;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::error::number::NumberError;

/// Significant digits of a number (docs/dynamodb.md 4).
pub const DIGITS_MAX: u32 = 38;
/// Power of ten of the leading digit, at most.
pub const MAGNITUDE_MAX: i64 = 125;
/// Power of ten of the leading digit, at least.
pub const MAGNITUDE_MIN: i64 = -130;
/// Canonical text, at most: sign, `0.`, 129 zeros and 38 digits.
pub const TEXT_BYTES_MAX: usize = 1 + 2 + 129 + 38;

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

    /// The number `(-1)^negative * coefficient * 10^exponent`, in any spelling of that value.
    ///
    /// # Errors
    /// [`NumberError`] when it has too many digits or is out of range. A zero has no range.
    pub fn from_parts(negative: bool, coefficient: u128, exponent: i64) -> Result<Self, NumberError> {
        if coefficient == 0 {
            return Ok(Self::ZERO);
        }
        let (mut coefficient, mut exponent) = (coefficient, exponent);
        while coefficient % 10 == 0 {
            coefficient /= 10;
            exponent += 1;
        }
        let digits = coefficient.ilog10() + 1;
        check_range(exponent + i64::from(digits) - 1)?;
        if digits > DIGITS_MAX {
            return Err(NumberError::Precision);
        }
        let exponent = i16::try_from(exponent).map_err(|_| NumberError::Overflow)?;
        Ok(Self { negative, coefficient, exponent })
    }

    /// The number of that value.
    #[must_use]
    pub fn from_u64(value: u64) -> Self {
        // 20 digits at most: always in range.
        Self::from_parts(false, u128::from(value), 0).unwrap_or(Self::ZERO)
    }

    /// The parts: sign, coefficient without trailing zeros, power of ten.
    #[must_use]
    pub fn parts(&self) -> (bool, u128, i16) {
        (self.negative, self.coefficient, self.exponent)
    }

    /// Size in bytes by DynamoDB's rule (docs/dynamodb.md 5.1): 1 for zero, else 1 + base-100 digit groups + 1 if negative.
    #[must_use]
    pub fn size(&self) -> usize {
        if self.coefficient == 0 {
            return 1;
        }
        let groups = self.magnitude().div_euclid(2) - self.exponent.div_euclid(2) + 1;
        1 + usize::from(groups.unsigned_abs()) + usize::from(self.negative)
    }

    /// Power of ten of the leading digit; 0 for zero.
    #[must_use]
    pub fn magnitude(&self) -> i16 {
        match self.coefficient {
            0 => 0,
            // At most 38 digits: the logarithm is at most 37.
            coefficient => self.exponent + coefficient.ilog10().try_into().unwrap_or(0),
        }
    }

    /// The decimal digits of the coefficient, most significant first, each 0 to 9; none for zero.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "both halves are below 10^19")]
    pub fn digits<'b>(&self, buffer: &'b mut [u8; DIGITS_MAX as usize]) -> &'b [u8] {
        // Two 64-bit halves: 128-bit division is slow.
        const HALF: u128 = 10_u128.pow(19);
        let mut at = buffer.len();
        let (mut high, mut low) = ((self.coefficient / HALF) as u64, (self.coefficient % HALF) as u64);
        let stop = if high > 0 { at - 19 } else { 0 };
        while at > stop && (low > 0 || high > 0) {
            at -= 1;
            buffer[at] = (low % 10) as u8;
            low /= 10;
        }
        while at > 0 && high > 0 {
            at -= 1;
            buffer[at] = (high % 10) as u8;
            high /= 10;
        }
        &buffer[at..]
    }

    /// The canonical text: plain decimal, no exponent, no needless zeros, no `+`, no `-0`.
    #[must_use]
    pub fn text<'b>(&self, buffer: &'b mut [u8; TEXT_BYTES_MAX]) -> &'b str {
        let mut digit_buffer = [0; DIGITS_MAX as usize];
        let digits = self.digits(&mut digit_buffer);
        let mut text = Text { buffer, len: 0 };
        if self.negative {
            text.push(b"-");
        }
        // Digits before the point; negative: zeros between the point and the first digit.
        let before = i32::from(self.magnitude()) + 1;
        match usize::try_from(before) {
            _ if digits.is_empty() => text.push(b"0"),
            Ok(before) if before >= digits.len() => {
                text.push_digits(digits);
                text.push_zeros(before - digits.len());
            }
            Ok(before) if before > 0 => {
                text.push_digits(&digits[..before]);
                text.push(b".");
                text.push_digits(&digits[before..]);
            }
            _ => {
                text.push(b"0.");
                text.push_zeros(before.unsigned_abs() as usize);
                text.push_digits(digits);
            }
        }
        text.finish()
    }

    /// The coefficient scaled to 38 digits, so that numbers of one magnitude compare by it.
    fn scaled(&self) -> u128 {
        let digits = self.coefficient.checked_ilog10().unwrap_or(0) + 1;
        self.coefficient * 10_u128.pow(DIGITS_MAX.saturating_sub(digits))
    }

    fn cmp_absolute(&self, other: &Self) -> Ordering {
        match (self.coefficient, other.coefficient) {
            (0, 0) => Ordering::Equal,
            (0, _) => Ordering::Less,
            (_, 0) => Ordering::Greater,
            _ => self.magnitude().cmp(&other.magnitude()).then_with(|| self.scaled().cmp(&other.scaled())),
        }
    }
}

/// ASCII text growing in a fixed buffer that is large enough.
struct Text<'b> {
    buffer: &'b mut [u8; TEXT_BYTES_MAX],
    len: usize,
}

impl<'b> Text<'b> {
    fn push(&mut self, bytes: &[u8]) {
        self.buffer[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn push_digits(&mut self, digits: &[u8]) {
        for (to, digit) in self.buffer[self.len..].iter_mut().zip(digits) {
            *to = b'0' + digit;
        }
        self.len += digits.len();
    }

    fn push_zeros(&mut self, count: usize) {
        self.buffer[self.len..self.len + count].fill(b'0');
        self.len += count;
    }

    fn finish(self) -> &'b str {
        let Self { buffer, len } = self;
        std::str::from_utf8(&buffer[..len]).unwrap_or_default()
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_absolute(other),
            (true, true) => other.cmp_absolute(self),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text(&mut [0; TEXT_BYTES_MAX]))
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        let Self { coefficient, exponent, .. } = Self::from_u64(value.unsigned_abs());
        Self { negative: value < 0, coefficient, exponent }
    }
}

impl FromStr for Number {
    type Err = NumberError;

    /// Parses docs/dynamodb.md 4's grammar: `sign? ( digit+ ('.' digit*)? | '.' digit+ ) ( [eE] sign? digit+ )?`. Linear in the text.
    fn from_str(text: &str) -> Result<Self, NumberError> {
        if text.is_empty() {
            return Err(NumberError::Empty);
        }
        let spelled = Spelled::parse(text.as_bytes()).ok_or_else(|| NumberError::Syntax(text.to_owned()))?;
        spelled.check_exponent(text)?;
        spelled.number()
    }
}

/// A number as its text spells it.
struct Spelled {
    negative: bool,
    /// The digits from the first to the last that is not zero; wrong when there are more than [`DIGITS_MAX`].
    coefficient: u128,
    /// How many digits those are; 0 for zero.
    significant: u64,
    /// Power of ten of the coefficient's last digit, or of the text's last digit for zero.
    exponent: i64,
}

impl Spelled {
    /// `None` when the text does not follow the grammar.
    fn parse(text: &[u8]) -> Option<Self> {
        let (negative, rest) = sign(text);
        let (whole, rest) = digits(rest);
        let (fraction, rest) = match rest.split_first() {
            Some((b'.', rest)) => digits(rest),
            _ => (&[][..], rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let power = match rest.split_first() {
            None => 0,
            Some((b'e' | b'E', rest)) => power(rest)?,
            Some(_) => return None,
        };
        let mut spelled = Self { negative, coefficient: 0, significant: 0, exponent: 0 };
        let mut zeros: u64 = 0;
        for &digit in whole.iter().chain(fraction) {
            spelled.push(digit - b'0', &mut zeros);
        }
        let trailing = if spelled.significant == 0 { 0 } else { zeros };
        let fraction_digits = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        spelled.exponent = power.saturating_sub(fraction_digits).saturating_add_unsigned(trailing);
        Some(spelled)
    }

    /// Takes the next digit; `zeros` counts the zeros since the last digit that was not zero.
    fn push(&mut self, digit: u8, zeros: &mut u64) {
        if digit == 0 {
            *zeros = zeros.saturating_add(1);
            return;
        }
        let skipped = if self.significant == 0 { 0 } else { *zeros };
        *zeros = 0;
        self.significant = self.significant.saturating_add(skipped).saturating_add(1);
        if self.significant <= u64::from(DIGITS_MAX) {
            // Fewer than 38 zeros, as the sum has at most 38 digits.
            let scale = 10_u128.pow(u32::try_from(skipped).unwrap_or(0) + 1);
            self.coefficient = self.coefficient * scale + u128::from(digit);
        }
    }

    /// The older layer's decimals have an exponent of 32 bits; where it takes 32 bits to say how many digits stand before the point,
    /// the sum wraps, and what is far too large is told to be too small (docs/dynamodb.md 4).
    fn check_exponent(&self, text: &str) -> Result<(), NumberError> {
        const LARGEST: i64 = i32::MAX as i64;
        match self.exponent {
            exponent if exponent.unsigned_abs() >= i64::MAX.unsigned_abs() => Err(NumberError::Unreadable),
            exponent if exponent.unsigned_abs() > LARGEST.unsigned_abs() => {
                Err(NumberError::LongExponent { text: text.to_owned(), is_small: exponent < 0 })
            }
            exponent if self.significant > 0 && exponent.saturating_add_unsigned(self.significant) > LARGEST => {
                Err(NumberError::WrappedExponent)
            }
            _ => Ok(()),
        }
    }

    fn number(self) -> Result<Number, NumberError> {
        if self.significant == 0 {
            // The service judges a zero by the power of its last digit: `0e126` is out of range, `0.0e126` is not.
            check_range(self.exponent)?;
            return Ok(Number::ZERO);
        }
        let magnitude = self.exponent.saturating_add_unsigned(self.significant).saturating_sub(1);
        check_range(magnitude)?;
        if self.significant > u64::from(DIGITS_MAX) {
            return Err(NumberError::Precision);
        }
        let exponent = i16::try_from(self.exponent).map_err(|_| NumberError::Overflow)?;
        Ok(Number { negative: self.negative, coefficient: self.coefficient, exponent })
    }
}

fn check_range(magnitude: i64) -> Result<(), NumberError> {
    match magnitude {
        m if m > MAGNITUDE_MAX => Err(NumberError::Overflow),
        m if m < MAGNITUDE_MIN => Err(NumberError::Underflow),
        _ => Ok(()),
    }
}

/// Is there a minus, and the rest.
fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    }
}

/// The leading digits, and the rest.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// The power of ten after `e`; saturating, for a text may spell a power of any length.
fn power(text: &[u8]) -> Option<i64> {
    let (negative, rest) = sign(text);
    let (digits, rest) = digits(rest);
    if digits.is_empty() || !rest.is_empty() {
        return None;
    }
    let value = digits.iter().fold(0_i64, |sum, digit| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    Some(if negative { -value } else { value })
}

#[cfg(test)]
#[path = "number_tests.rs"]
mod tests;
