//! Key expressions: a key as text around attributes, `TENANT#{tenant}#{date:10}`, or with a suffix
//! that spreads one value over several, `{pk}#{0..9}` (docs/commands.md, "What if").

use crate::codec::item_files::rows::cell;
use crate::codec::record::Record;
use crate::codec::sanitize::{WORD_CHARS_MAX, markdown};
use crate::inspect::sharding::SHARDS_MAX;
use crate::model::AttributeType;
use crate::model::error::StoreError;

/// An expression that makes a key of an item's attributes.
#[derive(Debug, Clone, Default)]
pub struct KeyExpression {
    text: String,
    parts: Vec<KeyPart>,
    /// The type that the key has; `None` for all that a key may have.
    key_type: Option<AttributeType>,
}

#[derive(Debug, Clone)]
enum KeyPart {
    Text(String),
    /// An attribute, or its first characters.
    Attribute {
        name: String,
        chars: Option<usize>,
    },
    /// One of `count` numbers from `first` on.
    Suffix {
        first: u64,
        count: u64,
    },
}

impl KeyExpression {
    /// Returns the expression of one attribute.
    pub fn of_attribute(name: &str) -> Self {
        Self {
            text: name.to_owned(),
            parts: vec![KeyPart::Attribute {
                name: name.to_owned(),
                chars: None,
            }],
            key_type: None,
        }
    }

    /// Returns the attribute that is the whole key.
    pub fn attribute(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [KeyPart::Attribute { name, chars: None }] => Some(name),
            _ => None,
        }
    }

    /// Leaves out values of other types.
    pub fn set_type(&mut self, key_type: AttributeType) {
        self.key_type = Some(key_type);
    }

    /// Parses an expression; a text without braces is as if it were in them.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.contains(['{', '}']) {
            return Ok(Self {
                text: text.to_owned(),
                parts: vec![part(text)?],
                key_type: None,
            });
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (before, inside) = rest
                .split_once('{')
                .map_or((rest, None), |(before, inside)| (before, Some(inside)));
            if before.contains('}') {
                return Err(format!("{text:?} has a brace alone"));
            }
            if !before.is_empty() {
                parts.push(KeyPart::Text(before.to_owned()));
            }
            let Some(inside) = inside else { break };
            let (inner, after) = inside
                .split_once('}')
                .ok_or_else(|| format!("{text:?} has a brace alone"))?;
            parts.push(part(inner)?);
            rest = after;
        }
        let suffixes = |part: &&KeyPart| matches!(part, KeyPart::Suffix { .. });
        if parts.iter().filter(suffixes).count() > 1 {
            return Err(format!("{text:?} has more than one suffix"));
        }
        Ok(Self {
            text: text.to_owned(),
            parts,
            key_type: None,
        })
    }

    /// Returns the expression as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the names of its attributes.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            KeyPart::Attribute { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns the number of values over which its suffix spreads one; 1 without a suffix.
    pub fn suffixes(&self) -> u64 {
        let counts = self.parts.iter().map(|part| match part {
            KeyPart::Suffix { count, .. } => *count,
            _ => 1,
        });
        counts.product()
    }

    /// Returns the key of an item, or the reason for which it has none. A suffix is one of its
    /// numbers by `hash`.
    pub fn of(
        &self,
        record: &Record<'_>,
        hash: u128,
        bytes_max: usize,
    ) -> Result<Result<String, String>, StoreError> {
        let mut key = String::new();
        for part in &self.parts {
            match part {
                KeyPart::Text(text) => key.push_str(text),
                KeyPart::Suffix { first, count } => {
                    key += &(u128::from(*first) + hash % u128::from(*count)).to_string()
                }
                KeyPart::Attribute { name, chars } => {
                    let shown = || markdown(name, WORD_CHARS_MAX);
                    let Some(value) = record.attribute(name)? else {
                        return Ok(Err(format!("without {}", shown())));
                    };
                    let kind = value.attribute_type();
                    if !matches!(kind, AttributeType::S | AttributeType::N | AttributeType::B) {
                        let reason = format!("with {} as {kind}, which no key can be", shown());
                        return Ok(Err(reason));
                    }
                    if let Some(other) = self.key_type.filter(|other| *other != kind) {
                        let reason =
                            format!("with {} as {kind}, where the key is {other}", shown());
                        return Ok(Err(reason));
                    }
                    key.extend(cell(&value).chars().take(chars.unwrap_or(usize::MAX)));
                }
            }
        }
        Ok(if (1..=bytes_max).contains(&key.len()) {
            Ok(key)
        } else {
            Err(format!(
                "with a key that is empty or has more than {bytes_max} bytes"
            ))
        })
    }
}

/// Parses the content of braces.
fn part(inner: &str) -> Result<KeyPart, String> {
    if let Some((first, last)) = inner.split_once("..")
        && let (Ok(first), Ok(last)) = (first.parse::<u64>(), last.parse::<u64>())
    {
        let count = last.checked_sub(first).and_then(|more| more.checked_add(1));
        return match count {
            Some(count @ 1..=SHARDS_MAX) => Ok(KeyPart::Suffix { first, count }),
            _ => Err(format!(
                "{{{inner}}}: a suffix has 1 to {SHARDS_MAX} numbers"
            )),
        };
    }
    let is_length = |text: &str| text.bytes().all(|byte| b"+-.0123456789".contains(&byte));
    let (name, chars) = match inner.rsplit_once(':') {
        Some((name, chars)) if is_length(chars) => (name, Some(chars.parse().unwrap_or(0))),
        _ => (inner, None),
    };
    if name != name.trim() {
        return Err(format!(
            "{{{inner}}}: there is a blank beside the name; write {{{}}}",
            inner.trim()
        ));
    }
    if name.is_empty() || chars == Some(0) {
        return Err(format!(
            "{{{inner}}}: braces hold {{attribute}}, {{attribute:LENGTH}} with a length from 1 on, or {{0..9}}"
        ));
    }
    Ok(KeyPart::Attribute {
        name: name.to_owned(),
        chars,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::plain_json;
    use crate::codec::record::encode;
    use crate::model::api::Version;

    #[test]
    fn keys_of_an_item_by_expressions() {
        let text =
            r#"{"date":"2026-01-02T03:04","n":17,"é":"äöü","a:x":"colon","empty":"","list":[]}"#;
        let item = plain_json::parse(text.as_bytes()).unwrap();
        let bytes = encode(&item, &[], Version::default(), 0);
        let record = Record::parse(&bytes).unwrap();
        let check = |text: &str, expected: Result<&str, &str>| {
            let expression = KeyExpression::parse(text).unwrap();
            let found = expression.of(&record, 23, 20).unwrap();
            let found = found.as_ref().map(String::as_str);
            assert_eq!(found.map_err(String::as_str), expected, "{text}");
        };
        check("n", Ok("17"));
        check("T#{n}#{date:10}", Ok("T#17#2026-01-02"));
        check("{n}#{0..9}", Ok("17#3"));
        check("{n}-{1..10}", Ok("17-4"));
        check("{date:99}", Ok("2026-01-02T03:04"));
        check("{é:2}", Ok("äö"));
        check("{a:x}", Ok("colon"));
        check("ALL{5..5}", Ok("ALL5"));
        check("{n}#{city}", Err("without city"));
        check("{list}", Err("with list as L, which no key can be"));
        check(
            "{empty}",
            Err("with a key that is empty or has more than 20 bytes"),
        );
        check(
            "{date}{date}",
            Err("with a key that is empty or has more than 20 bytes"),
        );
    }

    #[test]
    fn what_is_no_expression_is_told() {
        for (text, expected) in [
            ("", "braces hold"),
            ("{a", "a brace alone"),
            ("a}", "a brace alone"),
            ("{}", "braces hold"),
            ("{a:0}", "braces hold"),
            ("{:3}", "braces hold"),
            ("{pk:-1}", "a length from 1 on"),
            ("{pk:}", "a length from 1 on"),
            ("{pk:99999999999999999999}", "a length from 1 on"),
            ("{ pk }", "a blank beside the name; write {pk}"),
            ("{pk :3}", "a blank beside the name"),
            ("{9..0}", "1 to 1000 numbers"),
            ("{0..1000}", "1 to 1000 numbers"),
            ("{0..18446744073709551615}", "1 to 1000 numbers"),
            ("{0..1}{0..1}", "more than one suffix"),
        ] {
            let error = KeyExpression::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
