//! Expressions as people type them: values stand in the text, names need no `#`.
//!
//! ```text
//! SET n = n + 1, status = "open", tags = ["a"] REMOVE tmp IF n < 10 AND size(tags) > 0
//! ```
//! Literals become `:` placeholders, reserved words and names in backquotes `#` placeholders; what comes out is what the API takes. A
//! string stands in single or double quotes (double as in JSON), a list, map or set is plain JSON, a number keeps its digits. `IF`
//! begins the condition of an update. Whether a word is a keyword, a function or a name follows from its place: a keyword comes
//! after an operand, a function before `(`.

use std::collections::BTreeMap;

use super::reserved::is_reserved;
use crate::codec::json::grammar::Brackets;
use crate::codec::plain_json::{self, PlainJsonFault};
use crate::model::AttributeValue;
use crate::model::api::Placeholders;
use crate::model::error::NumberError;

/// An expression that the API takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extracted {
    pub text: String,
    pub placeholders: Placeholders,
}

/// An update, its condition, and the placeholders of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractedUpdate {
    /// `None`: nothing before `IF`.
    pub update: Option<String>,
    pub condition: Option<String>,
    pub placeholders: Placeholders,
}

/// A literal that is none, and the byte of the text where it begins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {offset}")]
pub struct LiteralError {
    pub offset: usize,
    pub fault: LiteralFault,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LiteralFault {
    #[error("the closing quote is missing")]
    OpenQuote,
    #[error("the closing bracket is missing")]
    OpenBracket,
    #[error("{0}")]
    Json(PlainJsonFault),
    #[error("{0}")]
    Number(#[from] NumberError),
}

impl LiteralError {
    /// May more text mend it?
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        matches!(self.fault, LiteralFault::OpenQuote | LiteralFault::OpenBracket)
    }
}

/// A condition or filter expression.
///
/// # Errors
/// A bad literal; what else is wrong is for the parser.
pub fn condition(text: &str) -> Result<Extracted, LiteralError> {
    let mut extractor = Extractor::new(text, false);
    extractor.run()?;
    Ok(Extracted { text: extractor.out.trim().to_owned(), placeholders: extractor.placeholders.finish() })
}

/// An update expression, and after `IF` its condition.
///
/// # Errors
/// A bad literal; what else is wrong is for the parser.
pub fn update(text: &str) -> Result<ExtractedUpdate, LiteralError> {
    let mut extractor = Extractor::new(text, true);
    extractor.run()?;
    let out = extractor.out.as_str();
    let (update, condition) = match extractor.condition_at {
        Some(at) => (out.get(..at).unwrap_or_default(), Some(out.get(at..).unwrap_or_default().trim().to_owned())),
        None => (out, None),
    };
    let update = Some(update.trim().to_owned()).filter(|update| !update.is_empty());
    Ok(ExtractedUpdate { update, condition, placeholders: extractor.placeholders.finish() })
}

/// The longest part of a value that its placeholder shows.
const ALIAS_BYTES_MAX: usize = 20;

#[derive(Debug, Default)]
struct Collected {
    names: BTreeMap<String, String>,
    values: BTreeMap<String, AttributeValue>,
}

impl Collected {
    fn name(&mut self, name: &str) -> String {
        alias('#', name, name.to_owned(), &mut self.names)
    }

    /// The alias shows the value as it was written, so that errors which name it can be read.
    fn value(&mut self, value: AttributeValue, written: &str) -> String {
        alias(':', written, value, &mut self.values)
    }

    fn finish(self) -> Placeholders {
        let some = |is_empty: bool| !is_empty;
        Placeholders {
            names: some(self.names.is_empty()).then_some(self.names),
            values: some(self.values.is_empty()).then_some(self.values),
        }
    }
}

fn alias<T: PartialEq>(sign: char, shown: &str, meant: T, known: &mut BTreeMap<String, T>) -> String {
    let word: String = shown.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(ALIAS_BYTES_MAX).collect();
    let word = if word.is_empty() { "v".to_owned() } else { word };
    let mut alias = format!("{sign}{word}");
    let mut number = 1;
    while known.get(&alias).is_some_and(|other| *other != meant) {
        number += 1;
        alias = format!("{sign}{word}_{number}");
    }
    known.insert(alias.clone(), meant);
    alias
}

struct Extractor<'a> {
    text: &'a str,
    at: usize,
    is_update: bool,
    out: String,
    placeholders: Collected,
    /// The token before ended an operand: what follows is an operator or a keyword.
    after_operand: bool,
    /// The token before was the dot of a document path.
    after_dot: bool,
    /// In ADD or DELETE a value follows a document path.
    value_follows: bool,
    /// Where in `out` the condition of an update begins.
    condition_at: Option<usize>,
}

impl<'a> Extractor<'a> {
    fn new(text: &'a str, is_update: bool) -> Self {
        Self {
            text,
            at: 0,
            is_update,
            out: String::with_capacity(text.len()),
            placeholders: Collected::default(),
            after_operand: false,
            after_dot: false,
            value_follows: false,
            condition_at: None,
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn run(&mut self) -> Result<(), LiteralError> {
        while let Some(first) = self.rest().chars().next() {
            match first {
                '"' | '\'' => self.string(first)?,
                '`' => self.quoted_name()?,
                '0'..='9' => self.number()?,
                '-' if self.takes_value() && is_number(&self.rest()[1..]) => self.number()?,
                '[' if self.after_operand => self.index(),
                '[' | '{' => self.json()?,
                _ if is_word(first) => self.word()?,
                _ => self.sign(first),
            }
        }
        Ok(())
    }

    fn takes_value(&self) -> bool {
        !self.after_operand || self.value_follows
    }

    fn error(&self, fault: LiteralFault) -> LiteralError {
        LiteralError { offset: self.at, fault }
    }

    fn operand(&mut self, text: &str, bytes: usize) {
        self.out.push_str(text);
        self.at += bytes;
        self.after_operand = true;
        self.after_dot = false;
    }

    fn value(&mut self, value: AttributeValue, bytes: usize) {
        let written = self.rest().get(..bytes).unwrap_or_default();
        let alias = self.placeholders.value(value, written);
        self.operand(&alias, bytes);
    }

    fn string(&mut self, quote: char) -> Result<(), LiteralError> {
        let bytes = quoted_bytes(self.rest(), quote).ok_or_else(|| self.error(LiteralFault::OpenQuote))?;
        if quote == '"' {
            return self.json_value(bytes);
        }
        let inner = self.rest().get(1..bytes - 1).unwrap_or_default();
        self.value(AttributeValue::S(inner.replace("''", "'")), bytes);
        Ok(())
    }

    fn quoted_name(&mut self) -> Result<(), LiteralError> {
        let inner = self.rest()[1..].split_once('`').map(|(inner, _)| inner);
        let inner = inner.ok_or_else(|| self.error(LiteralFault::OpenQuote))?;
        let alias = self.placeholders.name(inner);
        self.operand(&alias, inner.len() + 2);
        Ok(())
    }

    fn number(&mut self) -> Result<(), LiteralError> {
        let bytes = number_bytes(self.rest());
        let number = self.rest().get(..bytes).unwrap_or_default().parse();
        let number = number.map_err(|error: NumberError| self.error(error.into()))?;
        self.value(AttributeValue::N(number), bytes);
        Ok(())
    }

    /// `[12]` of a document path.
    fn index(&mut self) {
        let bytes = self.rest().find(']').map_or(self.rest().len(), |end| end + 1);
        let text = self.rest().get(..bytes).unwrap_or_default();
        self.operand(text, bytes);
    }

    fn json(&mut self) -> Result<(), LiteralError> {
        let bytes = Brackets::default().end(self.rest().as_bytes()).ok_or_else(|| self.error(LiteralFault::OpenBracket))?;
        self.json_value(bytes)
    }

    fn json_value(&mut self, bytes: usize) -> Result<(), LiteralError> {
        let value = plain_json::parse_value(self.rest().as_bytes().get(..bytes).unwrap_or_default());
        let value =
            value.map_err(|error| LiteralError { offset: self.at + error.offset, fault: LiteralFault::Json(error.fault) })?;
        self.value(value, bytes);
        Ok(())
    }

    fn word(&mut self) -> Result<(), LiteralError> {
        let rest = self.rest();
        let bytes = rest.find(|c| !is_word(c) && !c.is_ascii_digit()).unwrap_or(rest.len());
        let word = rest.get(..bytes).unwrap_or_default();
        let next = rest.get(bytes..).unwrap_or_default().trim_start().chars().next();
        if self.after_dot {
            self.name(word, bytes);
        } else if self.is_keyword(word, next) {
            self.keyword(word, bytes);
        } else if next == Some('(') {
            self.sign_text(word, bytes);
        // Before a comparator or a step it is an attribute's name, `true` too.
        } else if let Some(value) = constant(word).filter(|_| !matches!(next, Some('=' | '<' | '>' | '.' | '['))) {
            self.value(value, bytes);
        } else {
            self.name(word, bytes);
        }
        Ok(())
    }

    fn is_keyword(&self, word: &str, next: Option<char>) -> bool {
        let is = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
        let is_start = self.out.trim().is_empty();
        if self.in_update() {
            return (self.after_operand || is_start) && is(&["SET", "REMOVE", "ADD", "DELETE", "IF"]);
        }
        match self.after_operand {
            true => is(&["AND", "OR", "BETWEEN", "IN"]),
            false => is(&["NOT"]) && !matches!(next, Some('=' | '<' | '>' | '.' | '[') | None),
        }
    }

    fn in_update(&self) -> bool {
        self.is_update && self.condition_at.is_none()
    }

    fn keyword(&mut self, word: &str, bytes: usize) {
        if self.in_update() && word.eq_ignore_ascii_case("IF") {
            self.at += bytes;
            self.after_operand = false;
            self.value_follows = false;
            self.condition_at = Some(self.out.len());
            return;
        }
        self.value_follows = self.in_update() && ["ADD", "DELETE"].iter().any(|known| word.eq_ignore_ascii_case(known));
        self.sign_text(word, bytes);
    }

    fn name(&mut self, word: &str, bytes: usize) {
        if word.is_ascii() && !word.starts_with('_') && !is_reserved(word) {
            return self.operand(word, bytes);
        }
        let alias = self.placeholders.name(word);
        self.operand(&alias, bytes);
    }

    /// `#x`, `:x`, signs and white space stay as they are.
    fn sign(&mut self, first: char) {
        if first.is_whitespace() {
            self.out.push(first);
            self.at += first.len_utf8();
            return;
        }
        if matches!(first, '#' | ':') {
            let word = self.rest()[1..].find(|c| !is_word(c) && !c.is_ascii_digit());
            let bytes = word.map_or(self.rest().len(), |end| end + 1);
            let text = self.rest().get(..bytes).unwrap_or_default();
            return self.operand(text, bytes);
        }
        let text = self.rest().get(..first.len_utf8()).unwrap_or_default();
        self.sign_text(text, first.len_utf8());
        self.after_operand = first == ')';
        self.after_dot = first == '.';
    }

    fn sign_text(&mut self, text: &str, bytes: usize) {
        self.out.push_str(text);
        self.at += bytes;
        self.after_operand = false;
        self.after_dot = false;
    }
}

fn constant(word: &str) -> Option<AttributeValue> {
    match word {
        "true" => Some(AttributeValue::Bool(true)),
        "false" => Some(AttributeValue::Bool(false)),
        "null" => Some(AttributeValue::Null),
        _ => None,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// Bytes of the number that `text` begins with, its sign included.
fn number_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(usize::from(text.starts_with('-')));
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + sign);
        }
    }
    end
}

/// Bytes of the string that `text` begins with, its quotes included.
fn quoted_bytes(text: &str, quote: char) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if quote == '"' => at += 2,
            b'\'' if quote == '\'' && bytes.get(at + 1) == Some(&b'\'') => at += 2,
            byte if char::from(*byte) == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Expression, condition after ` IF `, then names and values as `alias=…`.
    fn shown(update: Option<&str>, condition: Option<&str>, placeholders: &Placeholders) -> String {
        let mut parts = vec![update.unwrap_or("-").to_owned()];
        parts.extend(condition.map(|condition| format!("IF {condition}")));
        let names = placeholders.names.iter().flatten().map(|(alias, name)| format!("{alias}={name}"));
        let values = placeholders.values.iter().flatten().map(|(alias, value)| {
            let mut line = Vec::new();
            plain_json::write_line(&crate::model::Item::from([("v", value.clone())]), &[], &mut line);
            let line = String::from_utf8(line).unwrap();
            format!("{alias}={}", &line[5..line.len() - 2])
        });
        parts.extend(names);
        parts.extend(values);
        parts.join(" | ")
    }

    #[test]
    fn table_of_updates() {
        let check = |text: &str, expected: &str| {
            let found = match update(text) {
                Ok(found) => shown(found.update.as_deref(), found.condition.as_deref(), &found.placeholders),
                Err(error) => error.to_string(),
            };
            assert_eq!(found, expected, "{text}");
        };
        check("SET n = n + 1 REMOVE tmp IF n < 10", "SET n = n + :1 REMOVE tmp | IF n < :10 | :1=1 | :10=10");
        check("set a=1,b=a-1", "set a=:1,b=a-:1 | :1=1");
        check("SET a = -1.50e2", "SET a = :150e2 | :150e2=-150");
        check("SET a = \"x\\ny\", b = 'it''s'", "SET a = :xny, b = :its | :its=\"it's\" | :xny=\"x\\ny\"");
        check("SET a = 'x', b = \"x!\"", "SET a = :x, b = :x_2 | :x=\"x\" | :x_2=\"x!\"");
        check(
            "SET status = true, d.status[0].name = null",
            "SET #status = :true, d.#status[0].#name = :null | #name=name | #status=status | :null=null | :true=true",
        );
        check("SET l[1] = [1, \"]\", {\"a\":2}]", "SET l[1] = :1a2 | :1a2=[1,\"]\",{\"a\":2}]");
        check(
            "ADD views -1, tags {\"$ss\":[\"a\"]} DELETE old {\"$ns\":[1]}",
            "ADD #views :1, tags :ssa DELETE #old :ns1 | #old=old | #views=views | :1=-1 | :ns1={\"$ns\":[1]} | :ssa={\"$ss\":[\"a\"]}",
        );
        check("ADD views 1 IF attribute_exists(pk)", "ADD #views :1 | IF attribute_exists(pk) | #views=views | :1=1");
        check(
            "REMOVE if, set IF NOT contains(tags, 'a') AND n IN (1,2)",
            "REMOVE #if, #set | IF NOT contains(tags, :a) AND n IN (:1,:2) | #if=if | #set=set | :1=1 | :2=2 | :a=\"a\"",
        );
        check("IF n BETWEEN 1 AND 2 OR (n = 5)", "- | IF n BETWEEN :1 AND :2 OR (n = :5) | :1=1 | :2=2 | :5=5");
        check(
            "SET `my-name` = if_not_exists(`my-name`, 0) + 1",
            "SET #myname = if_not_exists(#myname, :0) + :1 | #myname=my-name | :0=0 | :1=1",
        );
        check("SET _a = é", "SET #_a = #v | #_a=_a | #v=é");
        check("SET a = #b + :c", "SET a = #b + :c");
        check("SET a = 'x", "the closing quote is missing at byte 8");
        check("SET a = [1,", "the closing bracket is missing at byte 8");
        check("SET a = [1,,]", "expected a JSON value at byte 11");
        check(
            "SET a = 1e999",
            "Number overflow. Attempting to store a number with magnitude larger than supported range at byte 8",
        );
        check("SET not = 1 IF NOT not = 2", "SET #not = :1 | IF NOT #not = :2 | #not=not | :1=1 | :2=2");
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text in "[a-zA-Z0-9 \"'`\\[\\]{}(),.:#=<>+\\\\é-]{0,60}") {
            let _ = (update(&text), condition(&text));
        }

        #[test]
        fn a_value_comes_out_as_it_went_in(text in "\\PC{0,20}", number in -1_000_000_i64..1_000_000) {
            let quoted = serde_json::to_string(&text).unwrap();
            let found = update(&format!("SET a = [{quoted}, {number}], b = {quoted}, c = {number}")).unwrap();
            let values: Vec<AttributeValue> = found.placeholders.values.unwrap().into_values().collect();
            let (string, number) = (AttributeValue::S(text), AttributeValue::N(number.into()));
            for expected in [AttributeValue::L(vec![string.clone(), number.clone()]), string, number] {
                prop_assert!(values.contains(&expected), "{:?}", values);
            }
        }
    }

    #[test]
    fn table_of_conditions() {
        let check = |text: &str, expected: &str| {
            let found = condition(text).map(|found| shown(Some(&found.text), None, &found.placeholders));
            assert_eq!(found.unwrap_or_else(|error| error.to_string()), expected, "{text}");
        };
        check("status IN (\"open\",\"held\")", "#status IN (:open,:held) | #status=status | :held=\"held\" | :open=\"open\"");
        check("a.b[2] >= 3 and if = 1", "a.b[2] >= :3 and #if = :1 | #if=if | :1=1 | :3=3");
        check(
            "begins_with(name, 'x') OR flag = true",
            "begins_with(#name, :x) OR flag = :true | #name=name | :true=true | :x=\"x\"",
        );
    }
}
