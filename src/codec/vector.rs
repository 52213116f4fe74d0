//! Vectors as a vector index holds them: numbers of 32 bits, little-endian, without a gap. A list of
//! numbers is rounded to them; back they are the shortest numbers that round to the same.

use crate::model::{AttributeValue, Item, Number, number::TEXT_BYTES_MAX};

/// The bytes of a stored number.
pub const ELEMENT_BYTES: usize = size_of::<f32>();

/// Returns an element of a vector; `None` if it is no number, or beyond those of 32 bits.
#[must_use]
pub fn element(value: &AttributeValue) -> Option<f32> {
    let AttributeValue::N(number) = value else {
        return None;
    };
    let text = number.text(&mut [0; TEXT_BYTES_MAX]).parse::<f32>();
    text.ok().filter(|element| element.is_finite())
}

/// Returns the stored form of a list of numbers.
///
/// # Errors
/// The place of the first element that is no number of 32 bits.
pub fn encode(elements: &[AttributeValue]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(elements.len() * ELEMENT_BYTES);
    for (place, value) in elements.iter().enumerate() {
        let element = element(value).ok_or(place)?;
        out.extend_from_slice(&element.to_le_bytes());
    }
    Ok(out)
}

/// Returns the numbers of a stored vector; a rest of fewer bytes than a number's is left out.
pub fn elements(bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
    let elements = bytes.as_chunks::<ELEMENT_BYTES>().0.iter();
    elements.copied().map(f32::from_le_bytes)
}

/// Returns a stored vector as a list of numbers; `None` if one has no decimal form.
#[must_use]
fn decode(bytes: &[u8]) -> Option<AttributeValue> {
    let number = |element: f32| element.to_string().parse::<Number>().ok();
    let numbers = elements(bytes).map(|element| number(element).map(AttributeValue::N));
    numbers.collect::<Option<_>>().map(AttributeValue::L)
}

/// Turns the stored vector `name` of an entry into its list of numbers.
pub fn decode_in(entry: &mut Item, name: &str) {
    if let Some(value) = entry.0.get_mut(name)
        && let AttributeValue::B(bytes) = &*value
        && let Some(list) = decode(bytes)
    {
        *value = list;
    }
}

/// Appends a list of numbers of 32 bits as SearchVectors returns it, `1.0` for 1 (docs/dynamodb.md
/// 28.3).
pub fn write(numbers: &[AttributeValue], out: &mut Vec<u8>) {
    // `Debug` keeps the point that `Display` leaves out.
    let text = |element| format!(r#"{{"N":"{element:?}"}}"#);
    let texts: Vec<String> = numbers.iter().filter_map(element).map(text).collect();
    out.extend_from_slice(format!(r#"{{"L":[{}]}}"#, texts.join(",")).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_32_bits_and_come_back_short() {
        for (number, expected) in [
            ("0", Some("0")),
            ("0.1", Some("0.1")),
            ("16777217", Some("16777216")),
            ("1.000000059604644775390625", Some("1")),
            (
                "-3.4028234663852886E+38",
                Some("-340282350000000000000000000000000000000"),
            ),
            (
                "1E-45",
                Some("0.000000000000000000000000000000000000000000001"),
            ),
            ("1E-60", Some("0")),
            ("3.5E+38", None),
            ("1E+125", None),
        ] {
            let value = AttributeValue::N(number.parse().unwrap());
            let expected = expected
                .map(|text| AttributeValue::L(vec![AttributeValue::N(text.parse().unwrap())]));
            let found = encode(std::slice::from_ref(&value))
                .ok()
                .and_then(|bytes| decode(&bytes));
            assert_eq!(found, expected, "{number}");
        }
        let mixed = [AttributeValue::N(1.into()), AttributeValue::S("1".into())];
        assert_eq!(encode(&mixed), Err(1));
    }
}
