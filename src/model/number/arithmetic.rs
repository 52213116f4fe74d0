//! Exact sums and differences (docs/dynamodb.md 4): what does not fit 38 digits is an error, nothing is ever rounded.

use super::{DIGITS_MAX, Number, NumberError};

impl Number {
    /// The sum.
    ///
    /// # Errors
    /// `Precision` when it needs more than 38 significant digits, and both are below 1e38; else `Overflow`. `Underflow`.
    pub fn checked_add(self, other: Self) -> Result<Self, NumberError> {
        let is_large = i64::from(self.magnitude().max(other.magnitude())) >= i64::from(DIGITS_MAX);
        self.exact_sum(other)
            .map_err(|error| if error == NumberError::Precision && is_large { NumberError::Overflow } else { error })
    }

    fn exact_sum(self, other: Self) -> Result<Self, NumberError> {
        if self.coefficient == 0 {
            return Ok(other);
        }
        if other.coefficient == 0 {
            return Ok(self);
        }
        let (high, low) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let coefficient = high.coefficient_at(low.exponent)?;
        let exponent = i64::from(low.exponent);
        if high.negative == low.negative {
            // Unless both exponents are equal, the sum ends in a digit other than zero; and if they are, it is below 2·10^38.
            let sum = coefficient.checked_add(low.coefficient).ok_or(NumberError::Precision)?;
            return Self::from_parts(high.negative, sum, exponent);
        }
        let negative = if coefficient >= low.coefficient { high.negative } else { low.negative };
        Self::from_parts(negative, coefficient.abs_diff(low.coefficient), exponent)
    }

    /// The difference.
    ///
    /// # Errors
    /// As [`Self::checked_add`].
    pub fn checked_sub(self, other: Self) -> Result<Self, NumberError> {
        let negative = other.coefficient != 0 && !other.negative;
        self.checked_add(Self { negative, ..other })
    }

    /// The coefficient for a lower exponent. One that is too large for the type has 39 digits or more, and so has every sum or
    /// difference of it with a number of 38 digits that ends in another digit than zero.
    fn coefficient_at(self, exponent: i16) -> Result<u128, NumberError> {
        let shift = u32::try_from(self.exponent - exponent).map_err(|_| NumberError::Precision)?;
        if shift > DIGITS_MAX {
            return Err(NumberError::Precision);
        }
        self.coefficient.checked_mul(10_u128.pow(shift)).ok_or(NumberError::Precision)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(left: &str, right: &str, sum: &str, difference: &str) {
        let number = |text: &str| text.parse::<Number>().expect("a number");
        let show = |result: Result<Number, NumberError>| result.map_or_else(|error| format!("{error:?}"), |n| n.to_string());
        assert_eq!(show(number(left).checked_add(number(right))), sum, "{left} + {right}");
        assert_eq!(show(number(left).checked_sub(number(right))), difference, "{left} - {right}");
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
        check("1e37", "1", &format!("1{}1", "0".repeat(36)), &"9".repeat(37));
        check(&nines, "1", &one_and_zeros(38), &format!("{}8", "9".repeat(37)));
        check("1e38", "1", "Overflow", &nines);
        check("4e38", "1", "Overflow", "Overflow");
        check("1e39", "1", "Overflow", "Overflow");
        check("1e50", "1", "Overflow", "Overflow");
        check("-1e50", "-1", "Overflow", "Overflow");
        check("1", "1e50", "Overflow", "Overflow");
        check("1e125", "1e-130", "Overflow", "Overflow");
        check("1e37", "1e-130", "Precision", "Precision");
        check("1", "1e-100", "Precision", "Precision");
        check(&format!("{nines}e88"), &format!("{nines}e88"), "Overflow", "0");
        check(&format!("{nines}e88"), "1e88", "Overflow", &format!("{}8{}", "9".repeat(37), "0".repeat(88)));
        check("1.1e-130", "-1e-130", "Underflow", &format!("0.{}21", "0".repeat(129)));
        check("5e125", "5e125", "Overflow", "0");
    }

    /// Every number is a whole multiple of 10^-PLACES.
    const PLACES: usize = 170;
    const GRID: usize = PLACES + 130;

    /// The digits on the grid, most significant first.
    fn digits(number: Number) -> (bool, Vec<u8>) {
        let text = number.to_string();
        let (negative, text) = text.strip_prefix('-').map_or((false, text.as_str()), |rest| (true, rest));
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let all = format!("{whole:0>before$}{fraction:0<PLACES$}", before = GRID - PLACES);
        (negative, all.bytes().map(|digit| digit - b'0').collect())
    }

    /// The sum by the method of primary school, as exact text.
    fn slow_sum(left: Number, right: Number) -> String {
        let (left, right) = (digits(left), digits(right));
        let signed = |(negative, digits): &(bool, Vec<u8>), at: usize| {
            let digit = i32::from(digits[at]);
            if *negative { -digit } else { digit }
        };
        let mut columns: Vec<i32> = (0..GRID).map(|at| signed(&left, at) + signed(&right, at)).collect();
        let negative = columns.iter().find(|column| **column != 0).is_some_and(|column| *column < 0);
        let mut carry = 0;
        for column in columns.iter_mut().rev() {
            let value = carry + if negative { -*column } else { *column };
            *column = value.rem_euclid(10);
            carry = value.div_euclid(10);
        }
        let text: String = columns.iter().map(|digit| char::from(b'0' + u8::try_from(*digit).expect("a digit"))).collect();
        let (whole, fraction) = text.split_at(GRID - PLACES);
        // A zero is judged by the power of its last digit: `0.000…` of more than 130 places would be too small.
        let fraction = fraction.trim_end_matches('0');
        format!("{}{whole}.{fraction}", if negative { "-" } else { "" })
    }

    fn any_number() -> impl Strategy<Value = Number> {
        let near = prop_oneof![3 => -3..3i64, 2 => -45..45i64, 1 => -130..126i64];
        let coefficient =
            prop_oneof![0..1000u128, 0..10_u128.pow(38), (0..10_u128.pow(19)).prop_map(|half| half * 10_u128.pow(19))];
        (any::<bool>(), coefficient, near).prop_filter_map("in range", |(negative, coefficient, exponent)| {
            Number::from_parts(negative, coefficient, exponent).ok()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn agrees_with_the_method_of_primary_school(left in any_number(), right in any_number()) {
            let (negative, coefficient, exponent) = right.parts();
            let opposite = Number::from_parts(!negative, coefficient, exponent.into());
            let is_large = [left, right].iter().any(|number| number.magnitude() >= 38);
            let told = |sum: String| match sum.parse::<Number>() {
                Err(NumberError::Precision) if is_large => Err(NumberError::Overflow),
                told => told,
            };
            prop_assert_eq!(left.checked_add(right), told(slow_sum(left, right)));
            prop_assert_eq!(left.checked_sub(right), told(slow_sum(left, opposite.expect("in range"))));
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
