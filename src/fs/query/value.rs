//! Values and attribute names in clauses: percent-decoded leniently, as names are at lookup (docs/filesystem.md 2); `+` is a plus.

use std::str::FromStr;

use super::fault::ValueFault;

use crate::codec::file_name;
use crate::fs::prelude::*;

/// `text` decoded, as UTF-8; never empty.
pub(super) fn decode_text(text: &str) -> Result<String, ValueFault> {
    match parse(text, KeyAttributeType::S)? {
        AttributeValue::S(text) => Ok(text),
        _ => Ok(String::new()),
    }
}

/// The key value that `text` stands for.
pub(super) fn parse(text: &str, attribute_type: KeyAttributeType) -> Result<AttributeValue, ValueFault> {
    if text.contains(file_name::ALIAS_MARK) {
        return Err(ValueFault::Alias);
    }
    Ok(file_name::decode_value(text, attribute_type)?)
}

/// A clause's word, or key with operator, and its value.
pub(super) fn split(name: &str) -> (&str, Option<&str>) {
    name.split_once('=').map_or((name, None), |(head, value)| (head, Some(value)))
}

/// A number of decimal digits only, no sign.
pub(super) fn whole_number<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
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
        check("", S, Err("a key value cannot be empty"));
        check("100%", S, Err("after '%' come two hexadecimal digits, '%25' is the character itself"));
        check("100%2", S, Err("after '%' come two hexadecimal digits, '%25' is the character itself"));
        check("%zz", S, Err("after '%' come two hexadecimal digits, '%25' is the character itself"));
        check("%FF", S, Err("the bytes of a string key are not UTF-8"));
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
        check("", N, Err("a key value cannot be empty"));
    }

    #[test]
    fn binaries_are_bytes() {
        use KeyAttributeType::B;
        check("%00%FFa", B, Ok(AttributeValue::B(vec![0, 0xFF, b'a'])));
        check("é", B, Ok(AttributeValue::B("é".as_bytes().to_vec())));
    }
}
