//! `where.<path>[,<type>].<operator>[=<value>,…]`: one condition a clause.
//!
//! # Types
//! A key attribute of the table or of an index has its type by the schema. Any other value has the type it looks like: `true` and
//! `false` are BOOL, `null` is NULL, a number as JSON writes one is N (so `007` is none), all else is S. Behind the path a type can be
//! forced, as attribute files do it: `where.zip,S.eq=12345`, with S, N, B, BOOL, NULL and JSON (plain JSON, for sets and the like).
//! `contains` of what looks like a number finds it as a number and as text.

use super::fault::{ClauseFault, ValueFault};
use super::filter::{Filter, Piece};
use super::show::show_path;
use super::source::Context;
use super::words::FILTER_OPERATORS;
use super::{nearest, select, value};
use crate::codec::plain_json;
use crate::model::schema::KeyAttributeType;
use crate::model::{AttributeValue, DocumentPath};

/// The types that can be forced.
const TYPES: [&str; 6] = ["S", "N", "B", "BOOL", "NULL", "JSON"];

/// Parses `head`, which follows `where.`, and the text after `=`.
pub(super) fn parse(head: &str, text: Option<&str>, context: Context<'_>) -> Result<Filter, ClauseFault> {
    let (left, operator) = head.rsplit_once('.').ok_or_else(|| missing_operator(head))?;
    if !FILTER_OPERATORS.contains(&operator) {
        return Err(unknown_operator(head, operator));
    }
    let (path, forced) = split_type(left)?;
    let path = select::parse_path(path)?;
    let condition = Condition { typing: Typing::new(&path, forced, context), path, operator };
    Filter::new(condition.pieces(text)?, context)
}

fn missing_operator(head: &str) -> ClauseFault {
    ClauseFault::FilterOperator { path: head.to_owned(), operator: String::new(), nearest: "eq" }
}

/// The last step may be part of the path, its operator forgotten.
fn unknown_operator(head: &str, operator: &str) -> ClauseFault {
    match nearest::misspelt(operator, &FILTER_OPERATORS.map(str::to_owned)) {
        Some(near) => {
            let nearest = FILTER_OPERATORS.into_iter().find(|known| *known == near).unwrap_or("eq");
            ClauseFault::FilterOperator { path: head.to_owned(), operator: operator.to_owned(), nearest }
        }
        None => ClauseFault::FilterOperator { path: head.to_owned(), operator: operator.to_owned(), nearest: "eq" },
    }
}

/// `zip,S` as `zip` and S.
fn split_type(left: &str) -> Result<(&str, Option<&'static str>), ClauseFault> {
    let Some((path, name)) = left.rsplit_once(',') else { return Ok((left, None)) };
    let found = TYPES.into_iter().find(|known| *known == name);
    found.map(|found| (path, Some(found))).ok_or_else(|| ClauseFault::FilterType { found: name.to_owned() })
}

/// How values are typed.
struct Typing {
    forced: Option<&'static str>,
    /// By the schema.
    key: Option<KeyAttributeType>,
}

struct Condition<'a> {
    path: DocumentPath,
    operator: &'a str,
    typing: Typing,
}

impl Condition<'_> {
    fn pieces(&self, text: Option<&str>) -> Result<Vec<Piece>, ClauseFault> {
        if let Some(comparator) = self.operator.strip_prefix("size-") {
            return self.size(comparator, self.text(text)?);
        }
        match self.operator {
            "exists" => self.without_value("attribute_exists(", text),
            "nexists" => self.without_value("attribute_not_exists(", text),
            "type" => {
                let word = decode(self.text(text)?).map_err(|fault| self.fault(fault))?;
                Ok(self.call("attribute_type(", AttributeValue::S(word)))
            }
            "begins" => {
                let is_binary = self.typing.forced == Some("B") || self.typing.key == Some(KeyAttributeType::B);
                let of_type = Typing { forced: Some(if is_binary { "B" } else { "S" }), key: None };
                Ok(self.call("begins_with(", self.value(&of_type, self.text(text)?)?))
            }
            "contains" => self.contains(self.text(text)?),
            "ncontains" => Ok([vec![Piece::text("NOT")], self.contains(self.text(text)?)?].concat()),
            "between" => self.between(&self.typing, vec![Piece::Path(self.path.clone())], self.text(text)?),
            "in" => self.any_of(self.text(text)?),
            other => {
                let value = self.value(&self.typing, self.text(text)?)?;
                Ok(vec![Piece::Path(self.path.clone()), Piece::text(sign(other)), Piece::Value(value)])
            }
        }
    }

    fn text<'t>(&self, text: Option<&'t str>) -> Result<&'t str, ClauseFault> {
        text.ok_or(ClauseFault::NoValue { word: "this where clause", example: "where.total.gt=100" })
    }

    fn without_value(&self, function: &str, text: Option<&str>) -> Result<Vec<Piece>, ClauseFault> {
        match text {
            Some(_) => Err(ClauseFault::UnwantedValue("exists")),
            None => Ok(vec![Piece::text(function), Piece::Path(self.path.clone()), Piece::text(")")]),
        }
    }

    fn call(&self, function: &str, value: AttributeValue) -> Vec<Piece> {
        vec![Piece::text(function), Piece::Path(self.path.clone()), Piece::text(","), Piece::Value(value), Piece::text(")")]
    }

    /// A substring, or a member of a set or list: of what could be both a number and text, both.
    fn contains(&self, text: &str) -> Result<Vec<Piece>, ClauseFault> {
        let value = self.value(&self.typing, text)?;
        let is_ambiguous = matches!(value, AttributeValue::N(_)) && self.typing.forced.is_none() && self.typing.key.is_none();
        if !is_ambiguous {
            return Ok(self.call("contains(", value));
        }
        let as_text = AttributeValue::S(decode(text).map_err(|fault| self.fault(fault))?);
        let mut pieces = vec![Piece::text("(")];
        pieces.extend(self.call("contains(", value));
        pieces.push(Piece::text("OR"));
        pieces.extend(self.call("contains(", as_text));
        pieces.push(Piece::text(")"));
        Ok(pieces)
    }

    fn between(&self, typing: &Typing, mut pieces: Vec<Piece>, text: &str) -> Result<Vec<Piece>, ClauseFault> {
        let parts: Vec<&str> = text.split(',').collect();
        let [lower, upper] = parts.as_slice() else {
            return Err(ClauseFault::BetweenCount { attribute: show_path(&self.path) });
        };
        let (mut low, mut high) = (self.value(typing, lower)?, self.value(typing, upper)?);
        if low.attribute_type() != high.attribute_type() && typing.forced.is_none() {
            let text = Typing { forced: Some("S"), key: None };
            (low, high) = (self.value(&text, lower)?, self.value(&text, upper)?);
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
            pieces.push(Piece::Value(self.value(&self.typing, part)?));
        }
        pieces.push(Piece::text(")"));
        Ok(pieces)
    }

    /// Sizes are numbers.
    fn size(&self, comparator: &str, text: &str) -> Result<Vec<Piece>, ClauseFault> {
        let number = Typing { forced: Some("N"), key: None };
        let size = vec![Piece::text("size("), Piece::Path(self.path.clone()), Piece::text(")")];
        if comparator == "between" {
            return self.between(&number, size, text);
        }
        let value = self.value(&number, text)?;
        Ok([size, vec![Piece::text(sign(comparator)), Piece::Value(value)]].concat())
    }

    fn value(&self, typing: &Typing, text: &str) -> Result<AttributeValue, ClauseFault> {
        typing.value(text).map_err(|fault| self.fault(fault))
    }

    fn fault(&self, fault: ValueFault) -> ClauseFault {
        ClauseFault::Value { attribute: show_path(&self.path), fault }
    }
}

/// The comparator of an operator's word.
fn sign(operator: &str) -> &'static str {
    match operator {
        "ne" => "<>",
        "lt" => "<",
        "le" => "<=",
        "gt" => ">",
        "ge" => ">=",
        _ => "=",
    }
}

impl Typing {
    fn new(path: &DocumentPath, forced: Option<&'static str>, context: Context<'_>) -> Self {
        let schema = context.schema;
        let mut keys = schema.key.attributes().chain(schema.indexes.iter().flat_map(|index| index.attributes()));
        let key = keys.find(|key| path.rest.is_empty() && key.name == path.head).map(|key| key.attribute_type);
        Self { forced, key }
    }

    fn value(&self, text: &str) -> Result<AttributeValue, ValueFault> {
        match (self.forced, self.key) {
            (Some("S"), _) => decode(text).map(AttributeValue::S),
            (Some("N"), _) => value::parse(text, KeyAttributeType::N),
            (Some("B"), _) => value::parse(text, KeyAttributeType::B),
            (Some("BOOL"), _) => match text {
                "true" => Ok(AttributeValue::Bool(true)),
                "false" => Ok(AttributeValue::Bool(false)),
                _ => Err(ValueFault::Boolean),
            },
            (Some("NULL"), _) => Ok(AttributeValue::Null),
            (Some(_), _) => plain_json::parse_value(decode(text)?.as_bytes()).map_err(|error| ValueFault::Json(error.to_string())),
            (None, Some(KeyAttributeType::S)) => decode(text).map(AttributeValue::S),
            (None, Some(key)) => value::parse(text, key),
            (None, None) => by_look(text),
        }
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
