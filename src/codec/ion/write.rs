//! Items as Ion text.

use super::{KEYWORDS, SETS};
use crate::codec::json::commas::Commas;
use crate::codec::json::sink::Sink;
use crate::codec::json::visit::{Visitor, walk_item};
use crate::model::{AttributeType, Item};

/// Appends the struct, attributes by name, no newline.
pub fn write_item(item: &Item, out: &mut Vec<u8>) {
    walk_item(item, &[], &mut IonText::new(out));
}

/// Writes one struct.
#[derive(Debug)]
pub struct IonText<'a>(Commas<'a, Vec<u8>>);

impl<'a> IonText<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self(Commas::new(out))
    }

    /// The text between two marks, what Ion escapes escaped.
    fn quoted(&mut self, mark: char, text: &str) {
        let mut out = String::with_capacity(text.len() + 2);
        out.push(mark);
        for character in text.chars() {
            match character {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\\' => out.push_str("\\\\"),
                _ if character == mark => out.extend(['\\', mark]),
                _ if character.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(character))),
                _ => out.push(character),
            }
        }
        out.push(mark);
        self.0.next().extend_from_slice(out.as_bytes());
    }
}

/// Can a name stand without quotes?
fn is_identifier(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    // `$7` is a symbol by its number.
    let is_number = name.strip_prefix('$').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
    let starts = name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    starts && name.bytes().all(legal) && !is_number && !KEYWORDS.contains(&name)
}

impl Visitor for IonText<'_> {
    fn item_begin(&mut self) {
        self.0.open(b"{");
    }

    fn item_end(&mut self) {
        self.0.close(b"}");
    }

    fn name(&mut self, name: &str) {
        if is_identifier(name) {
            self.0.next().extend_from_slice(name.as_bytes());
        } else {
            self.quoted('\'', name);
        }
        self.0.value_follows().push(b':');
    }

    fn string(&mut self, text: &str) {
        self.quoted('"', text);
    }

    /// A decimal: with a point, or with `d` where JSON has `e`.
    fn number(&mut self, text: &[u8]) {
        let out = self.0.next();
        let start = out.len();
        out.extend(text.iter().map(|byte| if matches!(byte, b'e' | b'E') { b'd' } else { *byte }));
        if !out[start..].iter().any(|byte| matches!(byte, b'd' | b'.')) {
            out.push(b'.');
        }
    }

    fn binary(&mut self, bytes: &[u8]) {
        let out = self.0.next();
        out.extend_from_slice(b"{{");
        out.put_base64(bytes);
        out.extend_from_slice(b"}}");
    }

    fn boolean(&mut self, value: bool) {
        self.0.next().extend_from_slice(if value { b"true" } else { b"false" });
    }

    fn null(&mut self) {
        self.0.next().extend_from_slice(b"null");
    }

    fn set_begin(&mut self, kind: AttributeType) {
        let [strings, numbers, binaries] = SETS;
        let name = match kind {
            AttributeType::Ns => numbers,
            AttributeType::Bs => binaries,
            _ => strings,
        };
        self.0.open(format!("{name}::[").as_bytes());
    }

    fn set_string(&mut self, text: &str) {
        self.string(text);
    }

    fn set_number(&mut self, text: &[u8]) {
        self.number(text);
    }

    fn set_binary(&mut self, bytes: &[u8]) {
        self.binary(bytes);
    }

    fn set_end(&mut self) {
        self.0.close(b"]");
    }

    fn list_begin(&mut self) {
        self.0.open(b"[");
    }

    fn list_end(&mut self) {
        self.0.close(b"]");
    }

    fn map_begin(&mut self, _tag_like: bool) {
        self.0.open(b"{");
    }

    fn map_end(&mut self, _tag_like: bool) {
        self.0.close(b"}");
    }
}
