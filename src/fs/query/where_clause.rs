//! The clauses of a filter: `where.<path>[,<type>].<operator>[=<value>,…]`, one condition;
//! `where=<expression>`, the dialect of [`crate::expr::literals`] in the name of a directory, where
//! any byte may be written as `%XX`; and `live`, a filter by the table's time to live, which is
//! looked up when the query runs.
//!
//! # Types
//! A key attribute of the table or of an index has its type by the schema. Any other value has the
//! type it looks like: `true` and `false` are BOOL, `null` is NULL, a number as JSON writes one is
//! N (so `007` is not), all else is S. A type after the path is forced, as in attribute files:
//! `where.zip,S.eq=12345`, with S, N, B, BOOL, NULL and JSON (plain JSON, for sets and the like).
//! `contains` with a value that looks like a number searches for it as a number and as text.

use super::{
    clause_fault::ClauseFault,
    context::QueryContext,
    filter::{ExpressionBuilder, WhereFilter},
    operators::{FilterTest, filter_operators, filter_test},
    query_path::QueryPath,
    spelling::{self, show_path},
};
use crate::expr::{
    Predicate,
    literals::{self, LiteralFault, SourceByte},
};
use crate::fs::prelude::*;
use crate::model::{
    AttributeType, Number,
    api::{DescribeTimeToLiveRequest, TimeToLiveStatus},
    clock::{Clock, SystemClock},
};

/// The types that can be forced.
const TYPES: [&str; 6] = ["S", "N", "B", "BOOL", "NULL", "JSON"];

/// The text of the help on operators.
pub(super) const OPERATORS_HELP: &str =
    "op: eq ne lt le gt ge, between=a,b, in=a,b,c, begins, contains, ncontains, exists, nexists, type=SS,
    size-eq size-ne size-lt size-le size-gt size-ge size-between
A value is a number, true, false or null if it looks so, else text; force it by where.zip,S.eq=12345 (S N B BOOL NULL JSON).";

/// Parses `head`, which follows `where.`, and the text after `=`.
pub(super) fn parse_dotted(
    head: &str,
    text: Option<&str>,
    context: QueryContext<'_>,
) -> Result<WhereFilter, ClauseFault> {
    let unknown = |operator: &str, nearest| unknown_operator(head, operator, nearest);
    let (left, word) = head.rsplit_once('.').ok_or_else(|| unknown("", "eq"))?;
    let Some(test) = filter_test(word) else {
        // The last step may be part of the path, its operator forgotten.
        let all = filter_operators();
        let nearest = spelling::nearest(word, all.iter().map(String::as_str));
        return Err(unknown(word, nearest.unwrap_or("eq")));
    };
    let (path, forced) = split_type(left)?;
    let path = spelling::document_path(path)?;
    let key = key_type(&path, context);
    let condition = WhereCondition {
        typing: forced.or(key),
        is_binary: forced == Some("B") || key == Some("B"),
        path,
    };
    let mut expression = ExpressionBuilder::default();
    let text = condition.text(test, text, &mut expression)?;
    let filter = WhereFilter::of_text(&text, &expression.placeholders())?;
    filter.check_attributes(context)?;
    Ok(filter)
}

/// Returns the fault of a clause with a last step that is no operator; `operator` is empty when
/// there is none.
fn unknown_operator(path: &str, operator: &str, suggestion: &str) -> ClauseFault {
    let message = match operator {
        "" => format!("where.{path} has no operator"),
        operator => format!("unknown operator '{operator}' in where.{path}"),
    };
    let path = path
        .strip_suffix(operator)
        .and_then(|path| path.strip_suffix('.'))
        .unwrap_or(path);
    let all = filter_operators().join(" ");
    ClauseFault::new(
        message,
        format!("for example where.{path}.{suggestion}; there are {all}"),
    )
}

/// Splits `zip,S` into `zip` and S.
fn split_type(name_and_type: &str) -> Result<(&str, Option<&'static str>), ClauseFault> {
    let Some((path, name)) = name_and_type.rsplit_once(',') else {
        return Ok((name_and_type, None));
    };
    let found = TYPES.into_iter().find(|known| *known == name);
    found.map(|found| (path, Some(found))).ok_or_else(|| {
        ClauseFault::new(
            format!("'{name}' is no type that a where clause can force"),
            "types are S N B BOOL NULL JSON: where.zip,S.eq=12345; write a comma in a name as %2C",
        )
    })
}

/// A type by the schema or by force; `None` for the type that the value looks like.
type Typing = Option<&'static str>;

struct WhereCondition {
    path: DocumentPath,
    typing: Typing,
    /// True if the operand of `begins` is bytes.
    is_binary: bool,
}

impl WhereCondition {
    /// Returns the condition as text; its names and values are added to `out`.
    fn text(
        &self,
        test: FilterTest,
        text: Option<&str>,
        out: &mut ExpressionBuilder,
    ) -> Result<String, ClauseFault> {
        let path = out.filter_path(&self.path);
        let (predicate, operand, typing) = match test {
            FilterTest::OfPath(predicate) | FilterTest::Not(predicate) => {
                (predicate, path, self.typing)
            }
            FilterTest::OfSize(predicate) => (predicate, format!("size({path})"), Some("N")),
        };
        let values = match (predicate, text) {
            (Predicate::AttributeExists | Predicate::AttributeNotExists, Some(_)) => {
                return Err(ClauseFault::unwanted_value("exists"));
            }
            (Predicate::AttributeExists | Predicate::AttributeNotExists, None) => Vec::new(),
            (_, None) => {
                return Err(ClauseFault::no_value(
                    "this where clause",
                    "where.total.gt=100",
                ));
            }
            (Predicate::AttributeType, Some(text)) => vec![self.string(text)?],
            (Predicate::BeginsWith, Some(text)) => {
                vec![self.value(Some(if self.is_binary { "B" } else { "S" }), text)?]
            }
            (Predicate::In, Some(text)) => text
                .split(',')
                .map(|part| self.value(typing, part))
                .collect::<Result<_, _>>()?,
            (Predicate::Between, Some(text)) => self.bounds(typing, text)?.to_vec(),
            (Predicate::Compare(_), Some(text)) => vec![self.value(typing, text)?],
            (Predicate::Contains, Some(text)) => match self.value(typing, text)? {
                // A value that could be both a number and text is searched for as both.
                number @ AttributeValue::N(_) if typing.is_none() => {
                    vec![number, self.string(text)?]
                }
                value => vec![value],
            },
        };
        let mut condition_text = |values: &[AttributeValue]| {
            let values = values.iter().map(|value| out.filter_value(value));
            predicate.text(
                &std::iter::once(operand.clone())
                    .chain(values)
                    .collect::<Vec<_>>(),
            )
        };
        let condition_text = match (predicate, values.as_slice()) {
            (Predicate::Contains, [number, string @ ..]) if !string.is_empty() => {
                format!(
                    "({} OR {})",
                    condition_text(std::slice::from_ref(number)),
                    condition_text(string)
                )
            }
            (_, values) => condition_text(values),
        };
        Ok(if matches!(test, FilterTest::Not(_)) {
            format!("NOT {condition_text}")
        } else {
            condition_text
        })
    }

    fn bounds(&self, typing: Typing, text: &str) -> Result<[AttributeValue; 2], ClauseFault> {
        let [lower, upper] = spelling::split_bounds(text, &show_path(&self.path))?;
        let bounds = [self.value(typing, lower)?, self.value(typing, upper)?];
        let [low, high] = &bounds;
        let is_mixed = low.attribute_type() != high.attribute_type() && typing.is_none();
        if is_mixed {
            Ok([self.string(lower)?, self.string(upper)?])
        } else {
            Ok(bounds)
        }
    }

    fn string(&self, text: &str) -> Result<AttributeValue, ClauseFault> {
        self.value(Some("S"), text)
    }

    fn value(&self, typing: Typing, text: &str) -> Result<AttributeValue, ClauseFault> {
        parse_typed(typing, text).map_err(|fault| self.fault(&fault))
    }

    fn fault(&self, fault: &str) -> ClauseFault {
        ClauseFault::value(&show_path(&self.path), fault)
    }
}

fn key_type(path: &DocumentPath, context: QueryContext<'_>) -> Typing {
    let schema = context.schema;
    let mut keys = schema
        .key
        .attributes()
        .chain(schema.indexes.iter().flat_map(|index| index.attributes()));
    let key = keys.find(|key| path.rest.is_empty() && key.name == path.head)?;
    Some(key.attribute_type.as_attribute_type().tag())
}

fn parse_typed(typing: Typing, text: &str) -> Result<AttributeValue, String> {
    match (typing, text) {
        (None, _) => infer_value(text),
        (Some("S"), _) => decode(text).map(AttributeValue::S),
        (Some("N"), _) => spelling::key_value(text, KeyAttributeType::N),
        (Some("B"), _) => spelling::key_value(text, KeyAttributeType::B),
        (Some("BOOL"), "true" | "false") => Ok(AttributeValue::Bool(text == "true")),
        (Some("BOOL"), _) => Err("a BOOL is true or false".to_owned()),
        (Some("NULL"), _) => Ok(AttributeValue::Null),
        (Some(_), _) => {
            plain_json::parse_value(decode(text)?.as_bytes()).map_err(|error| error.to_string())
        }
    }
}

/// Decodes percent-encoded text, which may be empty.
fn decode(text: &str) -> Result<String, String> {
    if text.is_empty() {
        Ok(String::new())
    } else {
        spelling::decode_text(text)
    }
}

fn infer_value(text: &str) -> Result<AttributeValue, String> {
    let text = decode(text)?;
    Ok(match text.as_str() {
        "true" => AttributeValue::Bool(true),
        "false" => AttributeValue::Bool(false),
        "null" => AttributeValue::Null,
        number if looks_like_number(number) => number
            .parse()
            .map_or(AttributeValue::S(text), AttributeValue::N),
        _ => AttributeValue::S(text),
    })
}

/// True if the text is a number as JSON writes it.
fn looks_like_number(text: &str) -> bool {
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
        && exponent
            .is_none_or(|exponent| digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)))
}

/// Parses the text after `where=`.
pub(super) fn parse_expression(
    text: &str,
    context: QueryContext<'_>,
) -> Result<WhereFilter, ClauseFault> {
    let extracted =
        literals::condition(&units(text)?).map_err(|error| literal_fault(&error.fault))?;
    let filter = WhereFilter::of_text(&extracted.text, &extracted.placeholders)?;
    filter.check_attributes(context)?;
    Ok(filter)
}

fn units(text: &str) -> Result<Vec<SourceByte>, ClauseFault> {
    let mut units = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            units.push(SourceByte {
                byte,
                is_escaped: false,
            });
            continue;
        }
        let mut digit = || {
            bytes
                .next()
                .and_then(|byte| char::from(byte).to_digit(16))
                .and_then(|digit| u8::try_from(digit).ok())
        };
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(fault(
                "two hexadecimal digits must follow '%'",
                "write % itself as %25",
            ));
        };
        units.push(SourceByte {
            byte: high << 4 | low,
            is_escaped: true,
        });
    }
    Ok(units)
}

fn fault(message: impl Into<String>, hint: &str) -> ClauseFault {
    ClauseFault::new(message, hint)
}

fn literal_fault(literal: &LiteralFault) -> ClauseFault {
    let shown = literal.to_string();
    match literal {
        LiteralFault::OpenQuote(quote) => fault(
            format!("a {quote} is not closed"),
            "a text begins and ends with the same quote; inside it is written twice",
        ),
        LiteralFault::OpenBracket | LiteralFault::Json(_) => fault(
            shown,
            "a list or map is plain JSON: [\"a\",1], {\"$ss\":[\"a\"]}",
        ),
        LiteralFault::NotUtf8 => fault(shown, "bytes are written b\"%00%FF\""),
        LiteralFault::Number { text, .. } => fault(
            format!("'{text}' is no number"),
            "texts need quotes: 'text'; a name that begins with a digit needs backticks",
        ),
        LiteralFault::Placeholder => fault(
            "there are no placeholders in a where= clause",
            "write names as they are and values as 'text', 12, true or null",
        ),
        LiteralFault::NoName => fault(shown, "a dot inside a name is written %2E"),
        LiteralFault::Index => fault(shown, "elements are counted from 0: tags[0]"),
        LiteralFault::NoMeaning(_) => fault(
            shown,
            "there are = <> < <= > >=, BETWEEN, IN, AND, OR, NOT and the functions; texts need quotes",
        ),
    }
}

/// Returns the filter that drops expired items. It keeps items without the time-to-live attribute,
/// with one that is no number, or with a later time.
pub(super) fn live_filter(
    path: &QueryPath,
    db: &dyn Browse,
) -> Result<Option<WhereFilter>, FsError> {
    let described = db.describe_time_to_live(DescribeTimeToLiveRequest {
        table_name: path.schema.name.clone(),
    })?;
    let attribute = match described.status {
        TimeToLiveStatus::Disabled | TimeToLiveStatus::Disabling => return Ok(None),
        TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling => described.attribute_name,
    };
    let Some(attribute) = attribute else {
        return Ok(None);
    };
    let mut expression = ExpressionBuilder::default();
    let name = expression.filter_path(&DocumentPath::top_level(attribute.clone()));
    let number = expression.filter_value(&AttributeValue::S(AttributeType::N.tag().to_owned()));
    let now = expression.filter_value(&AttributeValue::N(Number::from_u64(
        SystemClock.now_ms() / 1000,
    )));
    let text = format!("NOT attribute_type({name}, {number}) OR {name} >= {now}");
    let filter = WhereFilter::of_text(&text, &expression.placeholders())?;
    filter.check_attributes(path.context()).map_err(|fault| {
        ClauseFault::new(
            format!(
                "live does not work here: {attribute} is the table's time to live, and {}",
                fault.message
            ),
            "leave live out; expired items are deleted by themselves after a while",
        )
    })?;
    Ok(Some(filter))
}
