//! Values and attribute names in clauses: percent-decoded, typed by the schema.
//!
//! Decoding is lenient, as lookup of names is (FILESYSTEM 2): `%XX` is a byte, any other character is itself, `+` a plus.

use super::fault::ValueFault;
use crate::model::schema::KeyAttributeType;
use crate::model::{AttributeValue, Number};

/// The bytes that `text` stands for.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, ValueFault> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        match tail {
            [high, low, tail @ ..] => {
                out.push(hex_digit(*high)? << 4 | hex_digit(*low)?);
                rest = tail;
            }
            [b'~', ..] => return Err(ValueFault::Alias),
            _ => return Err(ValueFault::Percent),
        }
    }
    Ok(out)
}

fn hex_digit(byte: u8) -> Result<u8, ValueFault> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        b'A'..=b'F' => Ok(byte - b'A' + 10),
        b'~' => Err(ValueFault::Alias),
        _ => Err(ValueFault::Percent),
    }
}

/// `text` decoded, as UTF-8.
pub(super) fn decode_text(text: &str) -> Result<String, ValueFault> {
    String::from_utf8(decode(text)?).map_err(|_| ValueFault::Utf8)
}

/// The key value that `text` stands for.
pub(super) fn parse(text: &str, attribute_type: KeyAttributeType) -> Result<AttributeValue, ValueFault> {
    if text.is_empty() {
        return Err(ValueFault::Empty);
    }
    Ok(match attribute_type {
        KeyAttributeType::S => AttributeValue::S(decode_text(text)?),
        KeyAttributeType::N => AttributeValue::N(decode_text(text)?.parse::<Number>()?),
        KeyAttributeType::B => AttributeValue::B(decode(text)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, attribute_type: KeyAttributeType, expected: Result<AttributeValue, &str>) {
        let found = parse(text, attribute_type).map_err(|fault| fault.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{text} as {attribute_type:?}");
    }

    fn s(text: &str) -> Result<AttributeValue, &'static str> {
        Ok(AttributeValue::S(text.to_owned()))
    }

    #[test]
    fn strings_are_percent_decoded_leniently() {
        use KeyAttributeType::S;
        check("u1", S, s("u1"));
        check("Comet%20Quest", S, s("Comet Quest"));
        check("Comet Quest", S, s("Comet Quest"));
        check("a=b,c#d", S, s("a=b,c#d"));
        check("a%2Cb", S, s("a,b"));
        check("a%2cb", S, s("a,b"));
        check("1+1", S, s("1+1"));
        check("caf%C3%A9 é", S, s("café é"));
        check("%00", S, s("\0"));
        check("", S, Err("a key value is not empty"));
        check("100%", S, Err("'%' stands before two hexadecimal digits; write a percent sign as %25"));
        check("100%2", S, Err("'%' stands before two hexadecimal digits; write a percent sign as %25"));
        check("%zz", S, Err("'%' stands before two hexadecimal digits; write a percent sign as %25"));
        check("%FF", S, Err("a string is UTF-8"));
        check("abc%~", S, Err("a shortened name (%~…) works only as the whole partition key"));
    }

    #[test]
    fn numbers_are_values_not_spellings() {
        use KeyAttributeType::N;
        let n = |text: &str| Ok(AttributeValue::N(text.parse().expect("a number")));
        check("42", N, n("42"));
        check("042.0", N, n("42"));
        check("1e3", N, n("1000"));
        check("-10", N, n("-10"));
        check("%2D10", N, n("-10"));
        check("abc", N, Err("The parameter cannot be converted to a numeric value: abc"));
        check("", N, Err("a key value is not empty"));
    }

    #[test]
    fn binaries_are_bytes() {
        use KeyAttributeType::B;
        check("%00%FFa", B, Ok(AttributeValue::B(vec![0, 0xFF, b'a'])));
        check("é", B, Ok(AttributeValue::B("é".as_bytes().to_vec())));
    }
}
