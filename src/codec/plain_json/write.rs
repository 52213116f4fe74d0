//! Items as plain JSON.

use crate::codec::json::commas::Commas;
use crate::codec::json::sink::{Count, Sink};
use crate::codec::json::visit::{Visitor, walk_item, walk_value};
use crate::model::{AttributeType, AttributeValue, Item};

/// Appends the item's line: compact, the names of `first` first, then by name, newline.
pub fn write_line(item: &Item, first: &[&str], out: &mut Vec<u8>) {
    walk_item(item, first, &mut PlainJson::new(out));
}

/// The item's line without its newline.
#[must_use]
pub fn line(item: &Item, first: &[&str]) -> String {
    let mut line = Vec::new();
    write_line(item, first, &mut line);
    line.pop();
    String::from_utf8(line).unwrap_or_default()
}

/// A value as it stands in an item's line.
#[must_use]
pub fn value(value: &AttributeValue) -> String {
    let mut text = Vec::new();
    walk_value(value, &mut PlainJson::new(&mut text));
    String::from_utf8(text).unwrap_or_default()
}

/// Length of [`write_line`]'s output, newline included.
#[must_use]
pub fn line_len(item: &Item) -> usize {
    let mut count = Count::default();
    walk_item(item, &[], &mut PlainJson::new(&mut count));
    count.0
}

/// Writes one line.
#[derive(Debug)]
pub struct PlainJson<'a, S>(Commas<'a, S>);

impl<'a, S: Sink> PlainJson<'a, S> {
    pub fn new(out: &'a mut S) -> Self {
        Self(Commas::new(out))
    }

    /// Text in quotes; `end` is the closing one and what comes with it.
    fn quoted(&mut self, text: &str, end: &[u8]) {
        let out = self.0.next();
        out.put(b"\"");
        out.put_escaped(text);
        out.put(end);
    }

    fn base64(&mut self, before: &[u8], bytes: &[u8], after: &[u8]) {
        let out = self.0.next();
        out.put(before);
        out.put_base64(bytes);
        out.put(after);
    }
}

impl<S: Sink> Visitor for PlainJson<'_, S> {
    fn item_begin(&mut self) {
        self.0.open(b"{");
    }

    fn item_end(&mut self) {
        self.0.close(b"}\n");
    }

    fn name(&mut self, name: &str) {
        self.quoted(name, b"\":");
        self.0.value_follows();
    }

    fn string(&mut self, text: &str) {
        self.quoted(text, b"\"");
    }

    fn number(&mut self, text: &[u8]) {
        self.0.next().put(text);
    }

    fn binary(&mut self, bytes: &[u8]) {
        self.base64(b"{\"$b64\":\"", bytes, b"\"}");
    }

    fn boolean(&mut self, value: bool) {
        self.0.next().put(if value { b"true" } else { b"false" });
    }

    fn null(&mut self) {
        self.0.next().put(b"null");
    }

    fn set_begin(&mut self, kind: AttributeType) {
        self.0.open(match kind {
            AttributeType::Ns => b"{\"$ns\":[",
            AttributeType::Bs => b"{\"$bs\":[",
            _ => b"{\"$ss\":[",
        });
    }

    fn set_string(&mut self, text: &str) {
        self.string(text);
    }

    fn set_number(&mut self, text: &[u8]) {
        self.number(text);
    }

    fn set_binary(&mut self, bytes: &[u8]) {
        self.base64(b"\"", bytes, b"\"");
    }

    fn set_end(&mut self) {
        self.0.close(b"]}");
    }

    fn list_begin(&mut self) {
        self.0.open(b"[");
    }

    fn list_end(&mut self) {
        self.0.close(b"]");
    }

    fn map_begin(&mut self, tag_like: bool) {
        self.0.open(if tag_like { b"{\"$map\":{" } else { b"{" });
    }

    fn map_end(&mut self, tag_like: bool) {
        self.0.close(if tag_like { b"}}" } else { b"}" });
    }
}
