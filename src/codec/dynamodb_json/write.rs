//! Items and values as DynamoDB JSON.

use crate::codec::json::sink::Sink;
use crate::codec::json::visit::{Visitor, walk_item, walk_value};
use crate::model::{AttributeType, AttributeValue, Item};

/// Appends the object, attributes by name, no newline.
pub fn write_item(item: &Item, out: &mut Vec<u8>) {
    walk_item(item, &[], &mut DynamodbJson::new(out));
}

/// Appends `{"S":"…"}`.
pub fn write_value(value: &AttributeValue, out: &mut Vec<u8>) {
    walk_value(value, &mut DynamodbJson::new(out));
}

/// Writes one object.
#[derive(Debug)]
pub struct DynamodbJson<'a, S> {
    out: &'a mut S,
    /// Nothing since the last bracket or colon: no comma before the next value.
    fresh: bool,
}

impl<'a, S: Sink> DynamodbJson<'a, S> {
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

    /// A whole value: `before`, the escaped text, `after`.
    fn text(&mut self, before: &[u8], text: &str, after: &[u8]) {
        self.comma();
        self.out.put(before);
        self.out.put_escaped(text);
        self.out.put(after);
    }

    fn raw(&mut self, before: &[u8], text: &[u8], after: &[u8]) {
        self.comma();
        self.out.put(before);
        self.out.put(text);
        self.out.put(after);
    }

    fn base64(&mut self, before: &[u8], bytes: &[u8], after: &[u8]) {
        self.comma();
        self.out.put(before);
        self.out.put_base64(bytes);
        self.out.put(after);
    }
}

impl<S: Sink> Visitor for DynamodbJson<'_, S> {
    fn item_begin(&mut self) {
        self.open(b"{");
    }

    fn item_end(&mut self) {
        self.close(b"}");
    }

    fn name(&mut self, name: &str) {
        self.text(b"\"", name, b"\":");
        self.fresh = true;
    }

    fn string(&mut self, text: &str) {
        self.text(b"{\"S\":\"", text, b"\"}");
    }

    fn number(&mut self, text: &[u8]) {
        self.raw(b"{\"N\":\"", text, b"\"}");
    }

    fn binary(&mut self, bytes: &[u8]) {
        self.base64(b"{\"B\":\"", bytes, b"\"}");
    }

    fn boolean(&mut self, value: bool) {
        self.raw(b"{\"BOOL\":", if value { b"true" } else { b"false" }, b"}");
    }

    fn null(&mut self) {
        self.raw(b"{\"NULL\":", b"true", b"}");
    }

    fn set_begin(&mut self, kind: AttributeType) {
        self.open(match kind {
            AttributeType::Ns => b"{\"NS\":[",
            AttributeType::Bs => b"{\"BS\":[",
            _ => b"{\"SS\":[",
        });
    }

    fn set_string(&mut self, text: &str) {
        self.text(b"\"", text, b"\"");
    }

    fn set_number(&mut self, text: &[u8]) {
        self.raw(b"\"", text, b"\"");
    }

    fn set_binary(&mut self, bytes: &[u8]) {
        self.base64(b"\"", bytes, b"\"");
    }

    fn set_end(&mut self) {
        self.close(b"]}");
    }

    fn list_begin(&mut self) {
        self.open(b"{\"L\":[");
    }

    fn list_end(&mut self) {
        self.close(b"]}");
    }

    fn map_begin(&mut self, _tag_like: bool) {
        self.open(b"{\"M\":{");
    }

    fn map_end(&mut self, _tag_like: bool) {
        self.close(b"}}");
    }
}
