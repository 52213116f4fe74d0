//! `where.<path>[,<type>].<operator>[=<value>,…]`: one condition a clause.
//!
//! # Types
//! A key attribute of the table or of an index has its type by the schema. Any other value has the type it looks like: `true` and
//! `false` are BOOL, `null` is NULL, a number as JSON writes one is N (so `007` is none), all else is S. Behind the path a type can be
//! forced, as attribute files do it: `where.zip,S.eq=12345`, with S, N, B, BOOL, NULL and JSON (plain JSON, for sets and the like).
//! `contains` of what looks like a number finds it as a number and as text.

use super::fault::{ClauseFault, ValueFault};
use super::filter::{Filter, Piece};
use super::operators::{FILTER_OPERATORS, Test, filter_operators};
use super::show::show_path;
use super::source::Context;
use super::{nearest, select, value};

use crate::fs::prelude::*;

/// The types that can be forced.
const TYPES: [&str; 6] = ["S", "N", "B", "BOOL", "NULL", "JSON"];

/// The help of the operators.
pub(super) const HELP: &str = "op: eq ne lt le gt ge, between=a,b, in=a,b,c, begins, contains, ncontains, exists, nexists, type=SS,
    size-eq size-ne size-lt size-le size-gt size-ge size-between
A value is a number, true, false or null if it looks so, else text; force it by where.zip,S.eq=12345 (S N B BOOL NULL JSON).";

/// Parses `head`, which follows `where.`, and the text after `=`.
pub(super) fn parse(head: &str, text: Option<&str>, context: Context<'_>) -> Result<Filter, ClauseFault> {
    let unknown =
        |operator: &str, nearest| ClauseFault::FilterOperator { path: head.to_owned(), operator: operator.to_owned(), nearest };
    let (left, word) = head.rsplit_once('.').ok_or_else(|| unknown("", "eq"))?;
    let Some((_, test)) = FILTER_OPERATORS.iter().find(|(known, _)| *known == word) else {
        // The last step may be part of the path, its operator forgotten.
        return Err(unknown(word, nearest::misspelt(word, filter_operators()).unwrap_or("eq")));
    };
    let (path, forced) = split_type(left)?;
    let path = select::parse_path(path)?;
    let key = key_type(&path, context);
    let condition = Condition { typing: forced.or(key), is_binary: forced == Some("B") || key == Some("B"), path };
    Filter::new(condition.pieces(*test, text)?, context)
}

/// `zip,S` as `zip` and S.
fn split_type(left: &str) -> Result<(&str, Option<&'static str>), ClauseFault> {
    let Some((path, name)) = left.rsplit_once(',') else { return Ok((left, None)) };
    let found = TYPES.into_iter().find(|known| *known == name);
    found.map(|found| (path, Some(found))).ok_or_else(|| ClauseFault::FilterType { found: name.to_owned() })
}

/// A type by the schema or by force; `None` is what the value looks like.
type Typing = Option<&'static str>;

struct Condition {
    path: DocumentPath,
    typing: Typing,
    /// What it begins with is bytes.
    is_binary: bool,
}

impl Condition {
    fn pieces(&self, test: Test, text: Option<&str>) -> Result<Vec<Piece>, ClauseFault> {
        let text = match (test, text) {
            (Test::Exists(_), Some(_)) => return Err(ClauseFault::UnwantedValue("exists")),
            (Test::Exists(function), None) => return Ok(self.call(function, None)),
            (_, None) => return Err(ClauseFault::NoValue { word: "this where clause", example: "where.total.gt=100" }),
            (_, Some(text)) => text,
        };
        Ok(match test {
            Test::Exists(function) => self.call(function, None),
            Test::Type => {
                let word = decode(text).map_err(|fault| self.fault(fault))?;
                self.call("attribute_type(", Some(AttributeValue::S(word)))
            }
            Test::Begins => {
                let of_type = if self.is_binary { "B" } else { "S" };
                self.call("begins_with(", Some(self.value(Some(of_type), text)?))
            }
            Test::Contains => self.contains(text)?,
            Test::NotContains => [vec![Piece::text("NOT")], self.contains(text)?].concat(),
            Test::In => self.any_of(text)?,
            Test::Between => self.between(self.typing, vec![Piece::Path(self.path.clone())], text)?,
            Test::SizeBetween => self.between(Some("N"), self.call("size(", None), text)?,
            Test::Compare(comparator) => {
                let value = self.value(self.typing, text)?;
                vec![Piece::Path(self.path.clone()), Piece::text(comparator.sign()), Piece::Value(value)]
            }
            Test::Size(comparator) => {
                let value = self.value(Some("N"), text)?;
                [self.call("size(", None), vec![Piece::text(comparator.sign()), Piece::Value(value)]].concat()
            }
        })
    }

    /// A function of the path, and of a value.
    fn call(&self, function: &str, value: Option<AttributeValue>) -> Vec<Piece> {
        let value = value.into_iter().flat_map(|value| [Piece::text(","), Piece::Value(value)]);
        let start = [Piece::text(function), Piece::Path(self.path.clone())];
        start.into_iter().chain(value).chain([Piece::text(")")]).collect()
    }

    /// A substring, or a member of a set or list: of what could be both a number and text, both.
    fn contains(&self, text: &str) -> Result<Vec<Piece>, ClauseFault> {
        let value = self.value(self.typing, text)?;
        let is_ambiguous = matches!(value, AttributeValue::N(_)) && self.typing.is_none();
        if !is_ambiguous {
            return Ok(self.call("contains(", Some(value)));
        }
        let as_text = AttributeValue::S(decode(text).map_err(|fault| self.fault(fault))?);
        let mut pieces = vec![Piece::text("(")];
        pieces.extend(self.call("contains(", Some(value)));
        pieces.push(Piece::text("OR"));
        pieces.extend(self.call("contains(", Some(as_text)));
        pieces.push(Piece::text(")"));
        Ok(pieces)
    }

    fn between(&self, typing: Typing, mut pieces: Vec<Piece>, text: &str) -> Result<Vec<Piece>, ClauseFault> {
        let parts: Vec<&str> = text.split(',').collect();
        let [lower, upper] = parts.as_slice() else {
            return Err(ClauseFault::BetweenCount { attribute: show_path(&self.path) });
        };
        let (mut low, mut high) = (self.value(typing, lower)?, self.value(typing, upper)?);
        if low.attribute_type() != high.attribute_type() && typing.is_none() {
            (low, high) = (self.value(Some("S"), lower)?, self.value(Some("S"), upper)?);
        }
        pieces.extend([Piece::text("BETWEEN"), Piece::Value(low), Piece::text("AND"), Piece::Value(high)]);
        Ok(pieces)
    }

    fn any_of(&self, text: &str) -> Result<Vec<Piece>, ClauseFault> {
        let mut pieces = vec![Piece::Path(self.path.clone()), Piece::text("IN (")];
        for (number, part) in text.split(',').enumerate() {
            if number > 0 {
                pieces.push(Piece::text(","));
            }
            pieces.push(Piece::Value(self.value(self.typing, part)?));
        }
        pieces.push(Piece::text(")"));
        Ok(pieces)
    }

    fn value(&self, typing: Typing, text: &str) -> Result<AttributeValue, ClauseFault> {
        typed(typing, text).map_err(|fault| self.fault(fault))
    }

    fn fault(&self, fault: ValueFault) -> ClauseFault {
        ClauseFault::Value { attribute: show_path(&self.path), fault }
    }
}

fn key_type(path: &DocumentPath, context: Context<'_>) -> Typing {
    let schema = context.schema;
    let mut keys = schema.key.attributes().chain(schema.indexes.iter().flat_map(|index| index.attributes()));
    let key = keys.find(|key| path.rest.is_empty() && key.name == path.head)?;
    Some(key.attribute_type.as_attribute_type().tag())
}

fn typed(typing: Typing, text: &str) -> Result<AttributeValue, ValueFault> {
    match (typing, text) {
        (None, _) => by_look(text),
        (Some("S"), _) => decode(text).map(AttributeValue::S),
        (Some("N"), _) => value::parse(text, KeyAttributeType::N),
        (Some("B"), _) => value::parse(text, KeyAttributeType::B),
        (Some("BOOL"), "true" | "false") => Ok(AttributeValue::Bool(text == "true")),
        (Some("BOOL"), _) => Err(ValueFault::Boolean),
        (Some("NULL"), _) => Ok(AttributeValue::Null),
        (Some(_), _) => plain_json::parse_value(decode(text)?.as_bytes()).map_err(|error| ValueFault::Json(error.to_string())),
    }
}

/// Percent-decoded text, which may be empty.
fn decode(text: &str) -> Result<String, ValueFault> {
    if text.is_empty() { Ok(String::new()) } else { value::decode_text(text) }
}

fn by_look(text: &str) -> Result<AttributeValue, ValueFault> {
    let text = decode(text)?;
    Ok(match text.as_str() {
        "true" => AttributeValue::Bool(true),
        "false" => AttributeValue::Bool(false),
        "null" => AttributeValue::Null,
        number if looks_like_number(number) => number.parse().map_or(AttributeValue::S(text), AttributeValue::N),
        _ => AttributeValue::S(text),
    })
}

/// A number as JSON writes it.
pub(super) fn looks_like_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let mantissa = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)))
}
