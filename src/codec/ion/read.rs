//! Ion text to items, one top-level value at a time, in memory that does not depend on the file.
//!
//! What is no Ion ends its line; what is Ion but no item (a timestamp, an empty set) is read to its end and told.

use std::io::{self, BufRead};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{SETS, VERSION};
use crate::codec::plain_json::insert;
use crate::model::attribute_value::Map;
use crate::model::limits::NESTING_LEVELS_MAX;
use crate::model::{AttributeValue, Item, Number};

/// The longest text of an item: 400 KB, its binaries in base64, its characters escaped.
const ITEM_BYTES_MAX: usize = 3 * 1024 * 1024;
/// Values in an item of 400 KB: each has a byte at least.
const VALUES_MAX: usize = 400 * 1024;

const ENDS: &str = "the text ends within a value";

/// Why there is no item.
#[derive(Debug, thiserror::Error)]
pub enum IonError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The rest of the line was read over.
    #[error("The line is no Ion text: {0}")]
    Syntax(&'static str),
    #[error("{0}")]
    NoItem(String),
}

/// Where a part of Ion text says what it is not.
type Parsed<T> = Result<T, IonError>;

fn syntax<T>(text: &'static str) -> Parsed<T> {
    Err(IonError::Syntax(text))
}

/// Reads the items of a text.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    /// Bytes read since the last item.
    bytes: usize,
    values: usize,
    /// What of the value cannot be in an item, first of all that cannot.
    fault: Option<String>,
}

impl<R: BufRead> Reader<R> {
    pub fn new(input: R) -> Self {
        Self { input, bytes: 0, values: 0, fault: None }
    }

    /// The next item or what is wrong with it, and its length in bytes; `None` at the end.
    ///
    /// # Errors
    /// Those of the file.
    pub fn next_item(&mut self) -> io::Result<Option<(Result<Item, String>, usize)>> {
        (self.bytes, self.values, self.fault) = (0, 0, None);
        let outcome = match self.top() {
            Ok(None) => return Ok(None),
            Ok(Some(item)) => self.fault.take().map_or(Ok(item), Err),
            Err(IonError::Io(error)) => return Err(error),
            Err(error) => {
                // What is Ion but no item was read to its end: what follows on the line may be the next.
                if matches!(error, IonError::Syntax(_)) {
                    self.skip_line()?;
                }
                Err(error.to_string())
            }
        };
        Ok(Some((outcome, self.bytes)))
    }

    /// The next value that is no version marker: a struct with the member Item.
    fn top(&mut self) -> Parsed<Option<Item>> {
        loop {
            let Some(first) = self.blank()? else { return Ok(None) };
            if is_symbol_start(first) {
                if self.symbol()? == VERSION {
                    continue;
                }
                return syntax("only $ion_1_0 and structs stand at the top");
            }
            if first != b'{' {
                return syntax("only $ion_1_0 and structs stand at the top");
            }
            self.take()?;
            let mut item = None;
            self.members(0, &mut |name, value| {
                if name == "Item" {
                    item = Some(value);
                }
                Ok(())
            })?;
            return match item {
                Some(AttributeValue::M(members)) => Ok(Some(Item(members))),
                _ => Err(IonError::NoItem("The struct has no member Item that is a struct".to_owned())),
            };
        }
    }

    /// Members up to the closing brace, each given to `take`.
    fn members(&mut self, level: usize, take: &mut dyn FnMut(String, AttributeValue) -> Result<(), String>) -> Parsed<()> {
        loop {
            if self.blank()? == Some(b'}') {
                return self.take().map(drop);
            }
            let name = self.name()?;
            self.expect(b':', "a name has no colon")?;
            let value = self.value(level)?;
            if let Err(fault) = take(name, value) {
                self.fault.get_or_insert(fault);
            }
            self.separator(b'}')?;
        }
    }

    /// A comma, or what closes.
    fn separator(&mut self, close: u8) -> Parsed<()> {
        match self.blank()? {
            Some(b',') => self.take().map(drop),
            Some(found) if found == close => Ok(()),
            _ => syntax("a comma or a closing bracket is missing"),
        }
    }

    fn name(&mut self) -> Parsed<String> {
        match self.blank()? {
            Some(b'"') => self.take().and_then(|_| self.quoted(b'"')),
            Some(b'\'') => self.single(),
            Some(first) if is_symbol_start(first) => self.symbol(),
            _ => syntax("a name is missing"),
        }
    }

    fn value(&mut self, level: usize) -> Parsed<AttributeValue> {
        self.values += 1;
        if self.values > VALUES_MAX {
            return syntax("an item has at most 400 KB");
        }
        if level > NESTING_LEVELS_MAX + 1 {
            return syntax("values are nested too deep");
        }
        match self.blank()? {
            Some(b'{') => self.braced(level),
            Some(b'[') => {
                self.take()?;
                self.list(level).map(AttributeValue::L)
            }
            Some(b'"') => {
                self.take()?;
                self.quoted(b'"').map(AttributeValue::S)
            }
            Some(b'\'') => self.symbol_or_text(level),
            Some(first) if is_symbol_start(first) => self.word(level),
            Some(first) if first.is_ascii_digit() || matches!(first, b'-' | b'+') => self.number(),
            Some(_) => syntax("a value is missing"),
            None => syntax(ENDS),
        }
    }

    /// A struct or a blob.
    fn braced(&mut self, level: usize) -> Parsed<AttributeValue> {
        self.take()?;
        if self.peek()? == Some(b'{') {
            self.take()?;
            return self.blob();
        }
        let mut map = Map::new();
        self.members(level + 1, &mut |name, value| insert(&mut map, name.into(), value).map_err(|fault| fault.to_string()))?;
        Ok(AttributeValue::M(map))
    }

    fn list(&mut self, level: usize) -> Parsed<Vec<AttributeValue>> {
        let mut values = Vec::new();
        loop {
            if self.blank()? == Some(b']') {
                self.take()?;
                return Ok(values);
            }
            values.push(self.value(level + 1)?);
            self.separator(b']')?;
        }
    }

    fn blob(&mut self) -> Parsed<AttributeValue> {
        let mut text = Vec::new();
        loop {
            match self.take()? {
                b'}' => break,
                byte if byte.is_ascii_whitespace() => {}
                b'"' | b'\'' => return syntax("a clob is no value of an item"),
                byte => text.push(byte),
            }
        }
        self.expect(b'}', "a blob ends with two braces")?;
        match STANDARD.decode(text) {
            Ok(bytes) => Ok(AttributeValue::B(bytes)),
            Err(error) => Ok(self.no_value(format!("A blob is no base64: {error}"))),
        }
    }

    /// What cannot be in an item; a stand-in.
    fn no_value(&mut self, fault: String) -> AttributeValue {
        self.fault.get_or_insert(fault);
        AttributeValue::Null
    }

    /// After a quote mark: an annotation, a symbol, or a text in three marks.
    fn symbol_or_text(&mut self, level: usize) -> Parsed<AttributeValue> {
        let symbol = match self.marks()? {
            3 => return self.long_texts().map(AttributeValue::S),
            2 => String::new(),
            _ => self.quoted(b'\'')?,
        };
        self.after_symbol(symbol, level)
    }

    /// A name in quote marks.
    fn single(&mut self) -> Parsed<String> {
        match self.marks()? {
            3 => self.long_texts(),
            2 => Ok(String::new()),
            _ => self.quoted(b'\''),
        }
    }

    /// Quote marks in a row, at most three.
    fn marks(&mut self) -> Parsed<usize> {
        let mut count = 0;
        while count < 3 && self.peek()? == Some(b'\'') {
            self.take()?;
            count += 1;
        }
        Ok(count)
    }

    /// The rest of a text in three marks, and those that follow it: they are one.
    fn long_texts(&mut self) -> Parsed<String> {
        let mut text = Vec::new();
        loop {
            self.long_text(&mut text)?;
            if self.blank()? != Some(b'\'') {
                return utf8(text);
            }
            if self.marks()? != 3 {
                return syntax("a symbol follows a text");
            }
        }
    }

    fn long_text(&mut self, text: &mut Vec<u8>) -> Parsed<()> {
        loop {
            match self.peek()? {
                Some(b'\'') => {
                    let marks = self.marks()?;
                    if marks == 3 {
                        return Ok(());
                    }
                    // Fewer than three are part of the text.
                    text.extend(std::iter::repeat_n(b'\'', marks));
                }
                _ => self.character(text)?,
            }
        }
    }

    /// `true`, `null.int`, `$dynamodb_SS::[…]`.
    fn word(&mut self, level: usize) -> Parsed<AttributeValue> {
        let word = self.symbol()?;
        match word.as_str() {
            "true" => Ok(AttributeValue::Bool(true)),
            "false" => Ok(AttributeValue::Bool(false)),
            "null" => {
                // A typed null, which is NULL whatever its type.
                if self.peek()? == Some(b'.') {
                    self.take()?;
                    self.symbol()?;
                }
                Ok(AttributeValue::Null)
            }
            _ => self.after_symbol(word, level),
        }
    }

    fn after_symbol(&mut self, symbol: String, level: usize) -> Parsed<AttributeValue> {
        if self.blank()? != Some(b':') {
            return Ok(self.no_value(format!("The symbol {symbol:.40} is no value of an item; texts have quotes")));
        }
        self.take()?;
        self.expect(b':', "an annotation ends with two colons")?;
        let value = self.value(level)?;
        // Other annotations say nothing of an item.
        let Some(kind) = SETS.iter().position(|set| *set == symbol) else { return Ok(value) };
        Ok(match (value, kind) {
            (AttributeValue::L(values), kind) => set(kind, values).unwrap_or_else(|fault| self.no_value(fault)),
            _ => self.no_value(format!("{symbol} stands before a list")),
        })
    }

    fn number(&mut self) -> Parsed<AttributeValue> {
        let mut text = String::new();
        while let Some(byte) =
            // A timestamp is taken whole too, and is then no number.
            self.peek()?.filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_' | b':'))
        {
            self.take()?;
            match byte {
                // Between digits.
                b'_' => {}
                b'd' | b'D' => text.push('e'),
                _ => text.push(char::from(byte)),
            }
        }
        match text.parse::<Number>() {
            Ok(number) => Ok(AttributeValue::N(number)),
            Err(error) => Ok(self.no_value(error.to_string())),
        }
    }

    /// A symbol without quotes.
    fn symbol(&mut self) -> Parsed<String> {
        let mut symbol = Vec::new();
        while let Some(byte) = self.peek()?.filter(|byte| is_symbol_start(*byte) || byte.is_ascii_digit()) {
            self.take()?;
            symbol.push(byte);
        }
        utf8(symbol)
    }

    /// What stands before the closing mark.
    fn quoted(&mut self, mark: u8) -> Parsed<String> {
        let mut text = Vec::new();
        loop {
            match self.peek()? {
                Some(byte) if byte == mark => {
                    self.take()?;
                    return utf8(text);
                }
                Some(b'\n') => return syntax("a text in quotes ends on its line"),
                _ => self.character(&mut text)?,
            }
        }
    }

    /// A byte of a text, or an escape.
    fn character(&mut self, text: &mut Vec<u8>) -> Parsed<()> {
        match self.take()? {
            b'\\' => self.escape(text),
            byte => {
                text.push(byte);
                Ok(())
            }
        }
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Parsed<()> {
        let plain = match self.take()? {
            b'0' => 0,
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'f' => 0x0C,
            b'r' => b'\r',
            b'v' => 0x0B,
            // A line that goes on in the next.
            b'\n' => return Ok(()),
            byte @ (b'"' | b'\'' | b'?' | b'\\' | b'/') => byte,
            b'x' => return self.code_point(2, text),
            b'u' => return self.code_point(4, text),
            b'U' => return self.code_point(8, text),
            _ => return syntax("an escape is unknown"),
        };
        text.push(plain);
        Ok(())
    }

    /// Hexadecimal digits; two escapes of UTF-16's halves are one character.
    fn code_point(&mut self, digits: usize, text: &mut Vec<u8>) -> Parsed<()> {
        let mut code = self.hex(digits)?;
        if (0xD800..0xDC00).contains(&code) {
            self.expect(b'\\', "half a character stands alone")?;
            self.expect(b'u', "half a character stands alone")?;
            let low = self.hex(4)?;
            if !(0xDC00..0xE000).contains(&low) {
                return syntax("half a character stands alone");
            }
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        let Some(character) = char::from_u32(code) else { return syntax("an escape is no character") };
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn hex(&mut self, digits: usize) -> Parsed<u32> {
        let mut code = 0_u32;
        for _ in 0..digits {
            let Some(digit) = char::from(self.take()?).to_digit(16) else { return syntax("an escape has other than hex digits") };
            code = code << 4 | digit;
        }
        Ok(code)
    }

    /// Passes over white space and comments; what comes then.
    fn blank(&mut self) -> Parsed<Option<u8>> {
        loop {
            match self.peek()? {
                Some(byte) if byte.is_ascii_whitespace() => drop(self.take()?),
                Some(b'/') => {
                    self.take()?;
                    self.comment()?;
                }
                other => return Ok(other),
            }
        }
    }

    fn comment(&mut self) -> Parsed<()> {
        match self.take()? {
            b'/' => {
                while self.peek()?.is_some_and(|byte| byte != b'\n') {
                    self.take()?;
                }
                Ok(())
            }
            b'*' => {
                let mut last = 0;
                loop {
                    match (last, self.take()?) {
                        (b'*', b'/') => return Ok(()),
                        (_, byte) => last = byte,
                    }
                }
            }
            _ => syntax("a slash stands alone"),
        }
    }

    fn expect(&mut self, wanted: u8, otherwise: &'static str) -> Parsed<()> {
        match self.blank()? {
            Some(found) if found == wanted => self.take().map(drop),
            _ => syntax(otherwise),
        }
    }

    fn peek(&mut self) -> Parsed<Option<u8>> {
        Ok(self.input.fill_buf()?.first().copied())
    }

    fn take(&mut self) -> Parsed<u8> {
        if self.bytes >= ITEM_BYTES_MAX {
            return syntax("an item is longer than 3 MiB; an item has at most 400 KB");
        }
        let Some(byte) = self.peek()? else { return syntax(ENDS) };
        self.input.consume(1);
        self.bytes += 1;
        Ok(byte)
    }

    /// Reads to the end of the line and keeps nothing.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let piece = self.input.fill_buf()?;
            let end = memchr::memchr(b'\n', piece);
            let read = end.map_or(piece.len(), |end| end + 1);
            self.input.consume(read);
            self.bytes += read;
            if end.is_some() || read == 0 {
                return Ok(());
            }
        }
    }
}

fn is_symbol_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$')
}

fn utf8(bytes: Vec<u8>) -> Parsed<String> {
    String::from_utf8(bytes).or_else(|_| syntax("a text is not UTF-8"))
}

/// The set of a list; `kind` is its place in [`SETS`].
fn set(kind: usize, values: Vec<AttributeValue>) -> Result<AttributeValue, String> {
    let name = SETS[kind];
    let wrong = || format!("{name} has an element of another type");
    let built = match kind {
        0 => AttributeValue::string_set(
            elements(values, |value| if let AttributeValue::S(text) = value { Some(text) } else { None }).ok_or_else(wrong)?,
        ),
        1 => AttributeValue::number_set(
            elements(values, |value| if let AttributeValue::N(number) = value { Some(number) } else { None }).ok_or_else(wrong)?,
        ),
        _ => AttributeValue::binary_set(
            elements(values, |value| if let AttributeValue::B(bytes) = value { Some(bytes) } else { None }).ok_or_else(wrong)?,
        ),
    };
    built.map_err(|error| error.to_string())
}

fn elements<T>(values: Vec<AttributeValue>, of: impl Fn(AttributeValue) -> Option<T>) -> Option<Vec<T>> {
    values.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::codec::ion::IonText;
    use crate::codec::json::visit::walk_item;
    use crate::codec::{dynamodb_json, test_items};

    /// Each item as DynamoDB JSON, or what is wrong with it.
    fn read(text: &[u8]) -> Vec<String> {
        let mut reader = Reader::new(text);
        let mut found = Vec::new();
        let mut bytes = 0;
        while let Some((item, length)) = reader.next_item().unwrap() {
            bytes += length;
            found.push(item.map_or_else(
                |error| error,
                |item| {
                    let mut out = Vec::new();
                    dynamodb_json::write_item(&item, &mut out);
                    String::from_utf8(out).unwrap()
                },
            ));
        }
        assert!(bytes <= text.len());
        found
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(read(text.as_bytes()), expected, "{text}");
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read(item in test_items::item()) {
            let mut out = format!("{VERSION} {{Item:").into_bytes();
            walk_item(&item, &[], &mut IonText::new(&mut out));
            out.extend_from_slice(b"}\n");
            let mut reader = Reader::new(out.as_slice());
            let found = reader.next_item().unwrap().unwrap().0;
            proptest::prop_assert_eq!(found, Ok(item), "{}", String::from_utf8_lossy(&out));
            proptest::prop_assert!(reader.next_item().unwrap().is_none());
        }
    }

    #[test]
    fn the_text_is_that_of_the_services_exports() {
        let json = br#"{"Authors":{"SS":["A\"1","B"]},"Id":{"N":"103"},"a b":{"N":"1E+125"},"b":{"B":"AQ=="},"ns":{"NS":["1","2.5"]},"null":{"NULL":true},"t":{"BOOL":false},"m":{"M":{"x":{"L":[{"S":"\n"}]}}}}"#;
        let item = dynamodb_json::parse(json).unwrap();
        let mut out = Vec::new();
        walk_item(&item, &[], &mut IonText::new(&mut out));
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with(r#"{Authors:$dynamodb_SS::["A\"1","B"],Id:103.,'a b':1"#), "{text}");
        assert!(text.ends_with(r#",b:{{AQ==}},m:{x:["\n"]},ns:$dynamodb_NS::[1.,2.5],'null':null,t:false}"#), "{text}");
    }

    #[test]
    fn other_spellings_of_ion_are_read() {
        check(
            "$ion_1_0\n/* a\n * comment */ {Item: {pk: '''long ''' '''text''', \"n\": 1_000.5d2, 'q': -3e1, // more\n z: null.struct,}}\n\n",
            &[r#"{"n":{"N":"100050"},"pk":{"S":"long text"},"q":{"N":"-30"},"z":{"NULL":true}}"#],
        );
        check(
            r#"{Other:{a:1},Item:{pk:"a\x41\u00e9\U0001F600\uD83D\uDE00\
"}}{Item:{b:{{ AQ = = }},s:$dynamodb_BS::[{{AQ==}}],i:other::[]}}"#,
            &["{\"pk\":{\"S\":\"aAé😀😀\"}}", r#"{"b":{"B":"AQ=="},"i":{"L":[]},"s":{"BS":["AQ=="]}}"#],
        );
    }

    #[test]
    fn what_is_no_item_is_told_and_the_next_is_read() {
        let good = "{Item:{pk:\"a\"}}";
        let read_good = r#"{"pk":{"S":"a"}}"#;
        for (bad, expected) in [
            ("{Item:{a:symbol}}", "The symbol symbol is no value of an item; texts have quotes"),
            ("{Item:{a:2020-01-01T}}", "The parameter cannot be converted to a numeric value: 2020-01-01T"),
            ("{Item:{a:$dynamodb_SS::[1]}}", "$dynamodb_SS has an element of another type"),
            ("{Item:{a:$dynamodb_SS::[]}}", "One or more parameter values were invalid: An string set  may not be empty"),
            ("{Item:[1]}", "The struct has no member Item that is a struct"),
        ] {
            check(&format!("{bad} {good}"), &[expected, read_good]);
        }
        for (bad, expected) in [
            ("{Item:{a:(1 2)}} {Item:{}}", "The line is no Ion text: a value is missing"),
            ("{Item {a:1}}", "The line is no Ion text: a name has no colon"),
            ("{Item:{a:\"x", "The line is no Ion text: a text in quotes ends on its line"),
            ("{Item:{a:\"\\q\"}}", "The line is no Ion text: an escape is unknown"),
            ("\u{e000}", "The line is no Ion text: only $ion_1_0 and structs stand at the top"),
        ] {
            check(&format!("{bad}\n{good}"), &[expected, read_good]);
        }
        check("{Item:{a:[1,", &["The line is no Ion text: the text ends within a value"]);
    }

    #[test]
    fn items_have_bounds() {
        let good = "{Item:{pk:\"a\"}}";
        let deep = format!("{{Item:{{a:{}}}}}\n{good}", "[".repeat(100_000));
        assert_eq!(read(deep.as_bytes())[1], r#"{"pk":{"S":"a"}}"#);
        let long = format!("{{Item:{{a:\"{}\"}}}}\n{good}", "x".repeat(2 * ITEM_BYTES_MAX));
        let found = read(long.as_bytes());
        assert!(found[0].contains("longer than 3 MiB") && found.len() == 2, "{}", found[0]);
        let wide = format!("{{Item:{{a:[{}]}}}}\n{good}", "1,".repeat(VALUES_MAX));
        assert_eq!(read(wide.as_bytes())[0], "The line is no Ion text: an item has at most 400 KB");
    }
}
