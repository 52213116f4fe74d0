//! Items as plain JSON.

use crate::codec::json::sink::{Count, Sink};
use crate::codec::json::visit::{Visitor, walk_item};
use crate::model::{AttributeType, Item};

/// Appends the item's line: compact, the names of `first` first, then by name, newline.
pub fn write_line(item: &Item, first: &[&str], out: &mut Vec<u8>) {
    walk_item(item, first, &mut PlainJson::new(out));
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
pub struct PlainJson<'a, S> {
    out: &'a mut S,
    /// Nothing since the last bracket or colon: no comma before the next value.
    fresh: bool,
}

impl<'a, S: Sink> PlainJson<'a, S> {
    pub fn new(out: &'a mut S) -> Self {
        Self { out, fresh: true }
    }

    fn comma(&mut self) {
        if !std::mem::replace(&mut self.fresh, false) {
            self.out.put(b",");
        }
    }

    fn open(&mut self, text: &[u8]) {
        self.comma();
        self.out.put(text);
        self.fresh = true;
    }

    fn close(&mut self, text: &[u8]) {
        self.out.put(text);
        self.fresh = false;
    }

    fn quoted(&mut self, text: &str) {
        self.out.put(b"\"");
        self.out.put_escaped(text);
        self.out.put(b"\"");
    }
}

impl<S: Sink> Visitor for PlainJson<'_, S> {
    fn item_begin(&mut self) {
        self.open(b"{");
    }

    fn item_end(&mut self) {
        self.close(b"}\n");
    }

    fn name(&mut self, name: &str) {
        self.comma();
        self.quoted(name);
        self.out.put(b":");
        self.fresh = true;
    }

    fn string(&mut self, text: &str) {
        self.comma();
        self.quoted(text);
    }

    fn number(&mut self, text: &[u8]) {
        self.comma();
        self.out.put(text);
    }

    fn binary(&mut self, bytes: &[u8]) {
        self.comma();
        self.out.put(b"{\"$b64\":\"");
        self.out.put_base64(bytes);
        self.out.put(b"\"}");
    }

    fn boolean(&mut self, value: bool) {
        self.comma();
        self.out.put(if value { b"true" } else { b"false" });
    }

    fn null(&mut self) {
        self.comma();
        self.out.put(b"null");
    }

    fn set_begin(&mut self, kind: AttributeType) {
        self.open(match kind {
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
        self.comma();
        self.out.put(b"\"");
        self.out.put_base64(bytes);
        self.out.put(b"\"");
    }

    fn set_end(&mut self) {
        self.close(b"]}");
    }

    fn list_begin(&mut self) {
        self.open(b"[");
    }

    fn list_end(&mut self) {
        self.close(b"]");
    }

    fn map_begin(&mut self, tag_like: bool) {
        self.open(if tag_like { b"{\"$map\":{" } else { b"{" });
    }

    fn map_end(&mut self, tag_like: bool) {
        self.close(if tag_like { b"}}" } else { b"}" });
    }
}
