//! DynamoDB numbers, a decimal floating-point type: exact decimals of up to 38 significant digits,
//! magnitude 0 or 1e-130 to 9.99…e125. Sums and differences are exact too: a result that does not
//! fit is an error, nothing is ever rounded (docs/dynamodb.md 4).
//!
//! Each value has one canonical form, so that equality, order, hash, stored bytes and text agree.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::error::value::NumberError;

/// Significant digits of a number (docs/dynamodb.md 4).
pub const DIGITS_MAX: u32 = 38;
/// The maximum power of ten of the leading digit.
pub const MAGNITUDE_MAX: i64 = 125;
/// The minimum power of ten of the leading digit.
pub const MAGNITUDE_MIN: i64 = -130;
/// The maximum length of the canonical text: sign, `0.`, 129 zeros and 38 digits.
pub const TEXT_BYTES_MAX: usize = 1 + 2 + 129 + 38;

/// A number `(-1)^negative * coefficient * 10^exponent`; the coefficient has no trailing decimal
/// zero, zero is `(false, 0, 0)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number {
    negative: bool,
    /// 38 decimal digits at most.
    coefficient: u128,
    exponent: i16,
}

impl Number {
    pub const ZERO: Self = Self {
        negative: false,
        coefficient: 0,
        exponent: 0,
    };

    /// Returns the number `(-1)^negative * coefficient * 10^exponent`; the parts need not be
    /// canonical.
    ///
    /// # Errors
    /// Fails with a [`NumberError`] if it has too many digits or is out of range. A zero has no
    /// range.
    pub fn from_parts(
        negative: bool,
        coefficient: u128,
        exponent: i64,
    ) -> Result<Self, NumberError> {
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
        Ok(Self {
            negative,
            coefficient,
            exponent,
        })
    }

    /// Converts an integer.
    #[must_use]
    pub fn from_u64(value: u64) -> Self {
        Self::from_parts(false, u128::from(value), 0)
            .unwrap_or_else(|_| unreachable!("20 digits are in range"))
    }

    /// Returns the sign, the coefficient without trailing zeros, and the power of ten.
    #[must_use]
    pub fn parts(&self) -> (bool, u128, i16) {
        (self.negative, self.coefficient, self.exponent)
    }

    /// Returns the size in bytes by DynamoDB's rule (docs/dynamodb.md 5.1): 1 for zero, else 1 +
    /// base-100 digit groups + 1 if negative.
    #[must_use]
    pub fn size(&self) -> usize {
        if self.coefficient == 0 {
            return 1;
        }
        let groups = self.magnitude().div_euclid(2) - self.exponent.div_euclid(2) + 1;
        1 + usize::from(groups.unsigned_abs()) + usize::from(self.negative)
    }

    /// Returns the power of ten of the leading digit; 0 for zero.
    #[must_use]
    pub fn magnitude(&self) -> i16 {
        match self.coefficient {
            0 => 0,
            // At most 38 digits: the logarithm is at most 37.
            coefficient => self.exponent + coefficient.ilog10().try_into().unwrap_or(0),
        }
    }

    /// Returns the number in scientific form, such as `3.5E+38`.
    #[must_use]
    pub fn scientific(&self) -> String {
        let digits = self.coefficient.to_string();
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{first}{point}{rest}E{:+}", self.magnitude())
    }

    /// Returns the decimal digits of the coefficient, most significant first, each 0 to 9; none for
    /// zero.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "both halves are below 10^19"
    )]
    pub fn digits<'b>(&self, buffer: &'b mut [u8; DIGITS_MAX as usize]) -> &'b [u8] {
        // Two 64-bit halves: 128-bit division is slow.
        const HALF: u128 = 10_u128.pow(19);
        let mut at = buffer.len();
        let (mut high, mut low) = (
            (self.coefficient / HALF) as u64,
            (self.coefficient % HALF) as u64,
        );
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

    /// Writes the canonical text into `buffer` and returns it: plain decimal, no exponent, no
    /// needless zeros, no `+`, no `-0`.
    #[must_use]
    pub fn text<'b>(&self, buffer: &'b mut [u8; TEXT_BYTES_MAX]) -> &'b str {
        let mut digit_buffer = [0; DIGITS_MAX as usize];
        let digits = self.digits(&mut digit_buffer);
        let mut text = TextBuffer { buffer, len: 0 };
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

    /// Returns the coefficient scaled to 38 digits, so that numbers of one magnitude compare by it.
    fn scaled(&self) -> u128 {
        let digits = self.coefficient.checked_ilog10().unwrap_or(0) + 1;
        self.coefficient * 10_u128.pow(DIGITS_MAX.saturating_sub(digits))
    }

    fn cmp_absolute(&self, other: &Self) -> Ordering {
        match (self.coefficient, other.coefficient) {
            (0, 0) => Ordering::Equal,
            (0, _) => Ordering::Less,
            (_, 0) => Ordering::Greater,
            _ => self
                .magnitude()
                .cmp(&other.magnitude())
                .then_with(|| self.scaled().cmp(&other.scaled())),
        }
    }
}

/// An ASCII text that grows in a fixed buffer, which is large enough.
struct TextBuffer<'b> {
    buffer: &'b mut [u8; TEXT_BYTES_MAX],
    len: usize,
}

impl<'b> TextBuffer<'b> {
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
        // An empty text instead would be stored as one.
        std::str::from_utf8(&buffer[..len])
            .unwrap_or_else(|_| unreachable!("sign, digits and point are ASCII"))
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
        let Self {
            coefficient,
            exponent,
            ..
        } = Self::from_u64(value.unsigned_abs());
        Self {
            negative: value < 0,
            coefficient,
            exponent,
        }
    }
}

impl FromStr for Number {
    type Err = NumberError;

    /// Parses the grammar of docs/dynamodb.md 4: `sign? ( digit+ ('.' digit*)? | '.' digit+ ) (
    /// [eE] sign? digit+ )?`. Takes linear time.
    fn from_str(text: &str) -> Result<Self, NumberError> {
        if text.is_empty() {
            return Err(NumberError::Empty);
        }
        let spelled = ParsedNumber::parse(text.as_bytes())
            .ok_or_else(|| NumberError::Syntax(text.to_owned()))?;
        spelled.check_exponent(text)?;
        spelled.into_number()
    }
}

/// A number as spelled in its text.
struct ParsedNumber {
    negative: bool,
    /// The digits from the first to the last that is not zero; wrong if there are more than
    /// [`DIGITS_MAX`].
    coefficient: u128,
    /// The count of these digits; 0 for zero.
    significant: u64,
    /// The power of ten of the coefficient's last digit, or of the text's last digit for zero.
    exponent: i64,
}

impl ParsedNumber {
    /// Parses the text; returns `None` if it does not follow the grammar.
    fn parse(text: &[u8]) -> Option<Self> {
        let (negative, rest) = split_sign(text);
        let (whole, rest) = split_digits(rest);
        let (fraction, rest) = match rest.split_first() {
            Some((b'.', rest)) => split_digits(rest),
            _ => (&[][..], rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let power = match rest.split_first() {
            None => 0,
            Some((b'e' | b'E', rest)) => parse_exponent(rest)?,
            Some(_) => return None,
        };
        let mut spelled = Self {
            negative,
            coefficient: 0,
            significant: 0,
            exponent: 0,
        };
        let mut zeros: u64 = 0;
        for &digit in whole.iter().chain(fraction) {
            spelled.push(digit - b'0', &mut zeros);
        }
        let trailing = if spelled.significant == 0 { 0 } else { zeros };
        let fraction_digits = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        spelled.exponent = power
            .saturating_sub(fraction_digits)
            .saturating_add_unsigned(trailing);
        Some(spelled)
    }

    /// Appends the next digit; `zeros` counts the zeros since the last digit that was not zero.
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

    /// Checks the exponent as the older layer does; the exponent of its decimals has 32 bits. If
    /// the count of digits before the point takes 32 bits, its sum wraps, and a number that is far
    /// too large is reported as too small (docs/dynamodb.md 4).
    fn check_exponent(&self, text: &str) -> Result<(), NumberError> {
        const LARGEST: i64 = i32::MAX as i64;
        match self.exponent {
            exponent if exponent.unsigned_abs() >= i64::MAX.unsigned_abs() => {
                Err(NumberError::Unreadable)
            }
            exponent if exponent.unsigned_abs() > LARGEST.unsigned_abs() => {
                Err(NumberError::LongExponent {
                    text: text.to_owned(),
                    is_small: exponent < 0,
                })
            }
            exponent
                if self.significant > 0
                    && exponent.saturating_add_unsigned(self.significant) > LARGEST =>
            {
                Err(NumberError::WrappedExponent)
            }
            _ => Ok(()),
        }
    }

    fn into_number(self) -> Result<Number, NumberError> {
        if self.significant == 0 {
            // The service judges a zero by the power of its last digit: `0e126` is out of range, `0.0e126` is not.
            check_range(self.exponent)?;
            return Ok(Number::ZERO);
        }
        let magnitude = self
            .exponent
            .saturating_add_unsigned(self.significant)
            .saturating_sub(1);
        check_range(magnitude)?;
        if self.significant > u64::from(DIGITS_MAX) {
            return Err(NumberError::Precision);
        }
        let exponent = i16::try_from(self.exponent).map_err(|_| NumberError::Overflow)?;
        Ok(Number {
            negative: self.negative,
            coefficient: self.coefficient,
            exponent,
        })
    }
}

fn check_range(magnitude: i64) -> Result<(), NumberError> {
    match magnitude {
        m if m > MAGNITUDE_MAX => Err(NumberError::Overflow),
        m if m < MAGNITUDE_MIN => Err(NumberError::Underflow),
        _ => Ok(()),
    }
}

/// Splits off the sign; returns true for a minus, and the rest.
fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    }
}

/// Splits off the leading digits; returns them and the rest.
fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

/// Parses the power of ten after `e`. It saturates, because a text may spell a power of any length.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, rest) = split_sign(text);
    let (digits, rest) = split_digits(rest);
    if digits.is_empty() || !rest.is_empty() {
        return None;
    }
    let value = digits.iter().fold(0_i64, |sum, digit| {
        sum.saturating_mul(10)
            .saturating_add(i64::from(digit - b'0'))
    });
    Some(if negative { -value } else { value })
}

impl Number {
    /// Returns the exact sum.
    ///
    /// # Errors
    /// Fails with `Precision` if it needs more than 38 significant digits and both numbers are
    /// below 1e38, otherwise with `Overflow` or `Underflow`.
    pub fn checked_add(self, other: Self) -> Result<Self, NumberError> {
        let is_large = i64::from(self.magnitude().max(other.magnitude())) >= i64::from(DIGITS_MAX);
        self.exact_sum(other).map_err(|error| {
            if error == NumberError::Precision && is_large {
                NumberError::Overflow
            } else {
                error
            }
        })
    }

    fn exact_sum(self, other: Self) -> Result<Self, NumberError> {
        if self.coefficient == 0 {
            return Ok(other);
        }
        if other.coefficient == 0 {
            return Ok(self);
        }
        let (high, low) = if self.exponent >= other.exponent {
            (self, other)
        } else {
            (other, self)
        };
        let coefficient = high.coefficient_at(low.exponent)?;
        let exponent = i64::from(low.exponent);
        if high.negative == low.negative {
            // Unless both exponents are equal, the sum ends in a digit other than zero; if they are
            // equal, it is below 2·10^38.
            let sum = coefficient
                .checked_add(low.coefficient)
                .ok_or(NumberError::Precision)?;
            return Self::from_parts(high.negative, sum, exponent);
        }
        let negative = if coefficient >= low.coefficient {
            high.negative
        } else {
            low.negative
        };
        Self::from_parts(negative, coefficient.abs_diff(low.coefficient), exponent)
    }

    /// Returns the exact difference; fails as [`Self::checked_add`] does.
    pub fn checked_sub(self, other: Self) -> Result<Self, NumberError> {
        let negative = other.coefficient != 0 && !other.negative;
        self.checked_add(Self { negative, ..other })
    }

    /// Returns the coefficient for a lower exponent. One that is too large for the type has 39
    /// digits or more, and so has every sum or difference of it with a number of 38 digits that
    /// ends in a digit other than zero.
    fn coefficient_at(self, exponent: i16) -> Result<u128, NumberError> {
        let shift = u32::try_from(self.exponent - exponent).map_err(|_| NumberError::Precision)?;
        if shift > DIGITS_MAX {
            return Err(NumberError::Precision);
        }
        self.coefficient
            .checked_mul(10_u128.pow(shift))
            .ok_or(NumberError::Precision)
    }
}

#[cfg(test)]
#[path = "number_tests.rs"]
mod tests;

#[cfg(test)]
mod arithmetic_tests {
    use proptest::prelude::*;

    use super::*;

    fn check(left: &str, right: &str, sum: &str, difference: &str) {
        let number = |text: &str| text.parse::<Number>().expect("a number");
        let show = |result: Result<Number, NumberError>| {
            result.map_or_else(|error| format!("{error:?}"), |n| n.to_string())
        };
        assert_eq!(
            show(number(left).checked_add(number(right))),
            sum,
            "{left} + {right}"
        );
        assert_eq!(
            show(number(left).checked_sub(number(right))),
            difference,
            "{left} - {right}"
        );
    }

    #[test]
    fn table_of_sums_and_differences() {
        let nines = "9".repeat(38);
        let one_and_zeros = |zeros: usize| format!("1{}", "0".repeat(zeros));
        check("1", "2", "3", "-1");
        check("0", "-1.5", "-1.5", "1.5");
        check("1", "-1.5", "-0.5", "2.5");
        check("0.1", "0.2", "0.3", "-0.1");
        check("-5", "-5", "-10", "0");
        check("1e37", "0.1", "Precision", &format!("{}.9", "9".repeat(37)));
        check(
            "1e37",
            "1",
            &format!("1{}1", "0".repeat(36)),
            &"9".repeat(37),
        );
        check(
            &nines,
            "1",
            &one_and_zeros(38),
            &format!("{}8", "9".repeat(37)),
        );
        check("1e38", "1", "Overflow", &nines);
        check("4e38", "1", "Overflow", "Overflow");
        check("1e39", "1", "Overflow", "Overflow");
        check("1e50", "1", "Overflow", "Overflow");
        check("-1e50", "-1", "Overflow", "Overflow");
        check("1", "1e50", "Overflow", "Overflow");
        check("1e125", "1e-130", "Overflow", "Overflow");
        check("1e37", "1e-130", "Precision", "Precision");
        check("1", "1e-100", "Precision", "Precision");
        check(
            &format!("{nines}e88"),
            &format!("{nines}e88"),
            "Overflow",
            "0",
        );
        check(
            &format!("{nines}e88"),
            "1e88",
            "Overflow",
            &format!("{}8{}", "9".repeat(37), "0".repeat(88)),
        );
        check(
            "1.1e-130",
            "-1e-130",
            "Underflow",
            &format!("0.{}21", "0".repeat(129)),
        );
        check("5e125", "5e125", "Overflow", "0");
    }

    /// Every number is a whole multiple of 10^-PLACES.
    const PLACES: usize = 170;
    const GRID: usize = PLACES + 130;

    /// Returns the digits on the grid, most significant first.
    fn digits(number: Number) -> (bool, Vec<u8>) {
        let text = number.to_string();
        let (negative, text) = text
            .strip_prefix('-')
            .map_or((false, text.as_str()), |rest| (true, rest));
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let all = format!(
            "{whole:0>before$}{fraction:0<PLACES$}",
            before = GRID - PLACES
        );
        (negative, all.bytes().map(|digit| digit - b'0').collect())
    }

    /// Returns the sum by the method of primary school, as exact text.
    fn slow_sum(left: Number, right: Number) -> String {
        let (left, right) = (digits(left), digits(right));
        let signed = |(negative, digits): &(bool, Vec<u8>), at: usize| {
            let digit = i32::from(digits[at]);
            if *negative { -digit } else { digit }
        };
        let mut columns: Vec<i32> = (0..GRID)
            .map(|at| signed(&left, at) + signed(&right, at))
            .collect();
        let negative = columns
            .iter()
            .find(|column| **column != 0)
            .is_some_and(|column| *column < 0);
        let mut carry = 0;
        for column in columns.iter_mut().rev() {
            let value = carry + if negative { -*column } else { *column };
            *column = value.rem_euclid(10);
            carry = value.div_euclid(10);
        }
        let text: String = columns
            .iter()
            .map(|digit| char::from(b'0' + u8::try_from(*digit).expect("a digit")))
            .collect();
        let (whole, fraction) = text.split_at(GRID - PLACES);
        // A zero is judged by the power of its last digit: `0.000…` of more than 130 places would be too small.
        let fraction = fraction.trim_end_matches('0');
        format!("{}{whole}.{fraction}", if negative { "-" } else { "" })
    }

    fn any_number() -> impl Strategy<Value = Number> {
        let near = prop_oneof![3 => -3..3i64, 2 => -45..45i64, 1 => -130..126i64];
        let coefficient = prop_oneof![
            0..1000u128,
            0..10_u128.pow(38),
            (0..10_u128.pow(19)).prop_map(|half| half * 10_u128.pow(19))
        ];
        (any::<bool>(), coefficient, near).prop_filter_map(
            "in range",
            |(negative, coefficient, exponent)| {
                Number::from_parts(negative, coefficient, exponent).ok()
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn agrees_with_the_method_of_primary_school(left in any_number(), right in any_number()) {
            let (negative, coefficient, exponent) = right.parts();
            let opposite = Number::from_parts(!negative, coefficient, exponent.into());
            let is_large = [left, right].iter().any(|number| number.magnitude() >= 38);
            let text_of = |sum: String| match sum.parse::<Number>() {
                Err(NumberError::Precision) if is_large => Err(NumberError::Overflow),
                text_of => text_of,
            };
            prop_assert_eq!(left.checked_add(right), text_of(slow_sum(left, right)));
            prop_assert_eq!(left.checked_sub(right), text_of(slow_sum(left, opposite.expect("in range"))));
        }

        #[test]
        fn agrees_with_integers(left in any::<i64>(), right in any::<i64>()) {
            let number = |value: i128| value.to_string().parse::<Number>();
            let sum = Number::from(left).checked_add(Number::from(right));
            prop_assert_eq!(sum, number(i128::from(left) + i128::from(right)));
            let difference = Number::from(left).checked_sub(Number::from(right));
            prop_assert_eq!(difference, number(i128::from(left) - i128::from(right)));
        }
    }
}
