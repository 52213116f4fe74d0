//! Tests of DynamoDB numbers: tables of texts, and properties checked against simple arithmetic.

use proptest::prelude::*;

use super::*;

fn number(text: &str) -> Number {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn check(text: &str, expected: &Result<String, NumberError>) {
    let got = text.parse::<Number>().map(|n| n.to_string());
    assert_eq!(&got, expected, "{text}");
}

#[test]
fn texts_become_canonical() {
    let nines = "9".repeat(38);
    let power_125 = format!("1{}", "0".repeat(125));
    let power_minus_130 = format!("0.{}1", "0".repeat(129));
    let smallest_long = format!("-0.{}{nines}", "0".repeat(129));
    let cases: &[(&str, &str)] = &[
        ("007", "7"),
        ("+7", "7"),
        ("7.", "7"),
        ("7.0", "7"),
        ("0.7e1", "7"),
        ("70e-1", "7"),
        ("-0", "0"),
        ("0", "0"),
        ("0.000", "0"),
        ("-0e5", "0"),
        ("1e3", "1000"),
        ("1000", "1000"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1.200", "1.2"),
        ("1E-3", "0.001"),
        ("-.5e+1", "-5"),
        ("0042.1200", "42.12"),
        ("-123.456", "-123.456"),
        ("100.001", "100.001"),
        ("1e125", &power_125),
        ("1e-130", &power_minus_130),
        (&nines, &nines),
        (
            "12345678901234567890123456789012345678",
            "12345678901234567890123456789012345678",
        ),
        (
            "10000000000000000000000000000000000001",
            "10000000000000000000000000000000000001",
        ),
        ("10000000000000000000", "10000000000000000000"),
        ("18446744073709551616", "18446744073709551616"),
        (&smallest_long, &smallest_long),
        ("0.0e126", "0"),
    ];
    for (text, expected) in cases {
        check(text, &Ok((*expected).to_owned()));
    }
    check(
        &format!("1{}", "0".repeat(60)),
        &Ok(format!("1{}", "0".repeat(60))),
    );
    check(
        &format!("0.{}1e200000", "0".repeat(199_999)),
        &Ok("1".to_owned()),
    );
    check(
        &format!("1{}e-200000", "0".repeat(200_000)),
        &Ok("1".to_owned()),
    );
}

#[test]
fn bad_texts_are_refused() {
    for text in [
        "abc", "1 2", " 1", "1 ", "0x1", "1e", "1e+", "e1", ".", "-", "+", "-.", "--1", "NaN",
        "Infinity", "1_0", "1e1.0", "１",
    ] {
        check(text, &Err(NumberError::Syntax(text.to_owned())));
    }
    check("", &Err(NumberError::Empty));
    let nines = "9".repeat(39);
    let long_zeros = format!("1{}", "0".repeat(1_000_000));
    let cases: &[(&str, NumberError)] = &[
        (&nines, NumberError::Precision),
        (
            "1.00000000000000000000000000000000000001",
            NumberError::Precision,
        ),
        ("1e126", NumberError::Overflow),
        ("-10e125", NumberError::Overflow),
        (&long_zeros, NumberError::Overflow),
        ("1e99999999999999999999999999", NumberError::Unreadable),
        ("1e2147483646", NumberError::Overflow),
        ("1e2147483647", NumberError::WrappedExponent),
        (
            "1e2147483648",
            NumberError::LongExponent {
                text: "1e2147483648".into(),
                is_small: false,
            },
        ),
        (
            "-1e2147483648",
            NumberError::LongExponent {
                text: "-1e2147483648".into(),
                is_small: false,
            },
        ),
        (
            "1e-2147483648",
            NumberError::LongExponent {
                text: "1e-2147483648".into(),
                is_small: true,
            },
        ),
        ("1e-131", NumberError::Underflow),
        ("0.1e-130", NumberError::Underflow),
        ("1e-99999999999999999999999999", NumberError::Unreadable),
        (
            "1e-99999999999",
            NumberError::LongExponent {
                text: "1e-99999999999".into(),
                is_small: true,
            },
        ),
        ("0e126", NumberError::Overflow),
        ("0e-131", NumberError::Underflow),
    ];
    for (text, error) in cases {
        check(text, &Err(error.clone()));
    }
}

#[test]
fn sizes_count_base_100_groups() {
    let cases: &[(&str, usize)] = &[
        ("1", 2),
        ("12", 2),
        ("123", 3),
        ("1234", 3),
        ("12345", 4),
        ("100", 2),
        ("1010", 3),
        ("0.0000001", 2),
        ("1.5", 3),
        ("1.234", 4),
        ("3.14159", 5),
        ("100.5", 4),
        ("0.15", 2),
        ("15", 2),
        ("12345678901234567890123456789012345678", 20),
        ("-42", 3),
        ("-12345", 5),
        ("1E125", 2),
        ("-0", 1),
        ("0", 1),
        ("120", 3),
        ("0.012", 3),
    ];
    for (text, expected) in cases {
        assert_eq!(number(text).size(), *expected, "{text}");
    }
}

#[test]
fn order_is_numeric() {
    let sorted = [
        "-1e125", "-10", "-9.5", "-1e-130", "0", "1e-130", "0.5", "1", "2", "10", "1e125",
    ];
    for (i, a) in sorted.iter().enumerate() {
        for (j, b) in sorted.iter().enumerate() {
            assert_eq!(number(a).cmp(&number(b)), i.cmp(&j), "{a} {b}");
        }
    }
}

#[test]
fn integers_convert() {
    for value in [0, 1, -1, 10, -100, 12_345, i64::MAX, i64::MIN] {
        assert_eq!(Number::from(value).to_string(), value.to_string());
    }
    assert_eq!(Number::from_u64(u64::MAX).to_string(), u64::MAX.to_string());
    assert_eq!(Number::from_parts(true, 0, 500), Ok(Number::ZERO));
    assert_eq!(
        Number::from_parts(false, u128::MAX, 0),
        Err(NumberError::Precision)
    );
    assert_eq!(
        Number::from_parts(false, 10, 125),
        Err(NumberError::Overflow)
    );
}

/// Returns the fixed-point digits of the absolute value: 126 before and 170 after the point.
fn slow_digits(number: &Number) -> String {
    let text = number.to_string();
    let text = text.trim_start_matches('-');
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole:0>126}{fraction:0<170}")
}

fn slow_cmp(a: &Number, b: &Number) -> Ordering {
    let negative = |n: &Number| n.to_string().starts_with('-');
    match (negative(a), negative(b)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => slow_digits(a).cmp(&slow_digits(b)),
        (true, true) => slow_digits(b).cmp(&slow_digits(a)),
    }
}

fn any_number() -> impl Strategy<Value = Number> {
    let near = (any::<bool>(), 0_u128..200, -3_i64..3);
    let wide = (any::<bool>(), 0..10_u128.pow(38), -167_i64..88);
    prop_oneof![near, wide].prop_filter_map("out of range", |(negative, coefficient, exponent)| {
        Number::from_parts(negative, coefficient, exponent).ok()
    })
}

proptest! {
    #[test]
    fn text_round_trips(number in any_number()) {
        prop_assert_eq!(number.to_string().parse::<Number>(), Ok(number));
    }

    #[test]
    fn order_agrees_with_fixed_point(a in any_number(), b in any_number()) {
        prop_assert_eq!(a.cmp(&b), slow_cmp(&a, &b));
        prop_assert_eq!(a == b, a.cmp(&b) == Ordering::Equal);
    }

    #[test]
    fn any_text_parses_or_fails(text in "[-+0-9.eE ]{0,50}") {
        if let Ok(number) = text.parse::<Number>() {
            prop_assert_eq!(number.to_string().parse::<Number>(), Ok(number));
        }
    }
}
