//! `where=<expression>`: the dialect of [`crate::expr::literals`] in the name of a directory, where any byte may be written as `%XX`.

use super::fault::ClauseFault;
use super::filter::Filter;
use super::source::Context;
use crate::expr::literals::{self, LiteralFault, Unit};

/// Parses the text after `where=`.
pub(super) fn parse(text: &str, context: Context<'_>) -> Result<Filter, ClauseFault> {
    let extracted = literals::condition(&units(text)?).map_err(|error| of_literal(&error.fault))?;
    let filter = Filter::of_text(&extracted.text, &extracted.placeholders)?;
    filter.check_place(context)?;
    Ok(filter)
}

fn units(text: &str) -> Result<Vec<Unit>, ClauseFault> {
    let mut units = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            units.push(Unit { byte, is_escaped: false });
            continue;
        }
        let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16)).and_then(|digit| u8::try_from(digit).ok());
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(fault("after '%' come two hexadecimal digits", "write % itself as %25"));
        };
        units.push(Unit { byte: high << 4 | low, is_escaped: true });
    }
    Ok(units)
}

fn fault(message: impl Into<String>, hint: &str) -> ClauseFault {
    ClauseFault::Expression { message: message.into(), hint: hint.to_owned() }
}

fn of_literal(literal: &LiteralFault) -> ClauseFault {
    let said = literal.to_string();
    match literal {
        LiteralFault::OpenQuote(quote) => {
            fault(format!("a {quote} is not closed"), "a text begins and ends with the same quote; inside it is written twice")
        }
        LiteralFault::OpenBracket | LiteralFault::Json(_) => {
            fault(said, "a list or map is plain JSON: [\"a\",1], {\"$ss\":[\"a\"]}")
        }
        LiteralFault::NotUtf8 => fault(said, "bytes are written b\"%00%FF\""),
        LiteralFault::Number { text, .. } => {
            fault(format!("'{text}' is no number"), "texts need quotes: 'text'; a name that begins with a digit needs backticks")
        }
        LiteralFault::Placeholder => {
            fault("there are no placeholders in a where= clause", "write names as they are and values as 'text', 12, true or null")
        }
        LiteralFault::NoName => fault(said, "a dot inside a name is written %2E"),
        LiteralFault::Index => fault(said, "elements are counted from 0: tags[0]"),
        LiteralFault::NoMeaning(_) => {
            fault(said, "there are = <> < <= > >=, BETWEEN, IN, AND, OR, NOT and the functions; texts need quotes")
        }
    }
}
