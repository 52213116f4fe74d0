//! Items and values as DynamoDB JSON.

use crate::codec::json::commas::Commas;
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
pub struct DynamodbJson<'a, S>(Commas<'a, S>);

impl<'a, S: Sink> DynamodbJson<'a, S> {
    pub fn new(out: &'a mut S) -> Self {
        Self(Commas::new(out))
    }

    /// A whole value: `before`, the escaped text, `after`.
    fn text(&mut self, before: &[u8], text: &str, after: &[u8]) {
        let out = self.0.next();
        out.put(before);
        out.put_escaped(text);
        out.put(after);
    }

    fn raw(&mut self, before: &[u8], text: &[u8], after: &[u8]) {
        let out = self.0.next();
        out.put(before);
        out.put(text);
        out.put(after);
    }

    fn base64(&mut self, before: &[u8], bytes: &[u8], after: &[u8]) {
        let out = self.0.next();
        out.put(before);
        out.put_base64(bytes);
        out.put(after);
    }
}

impl<S: Sink> Visitor for DynamodbJson<'_, S> {
    fn item_begin(&mut self) {
        self.0.open(b"{");
    }

    fn item_end(&mut self) {
        self.0.close(b"}");
    }

    fn name(&mut self, name: &str) {
        self.text(b"\"", name, b"\":");
        self.0.value_follows();
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
        self.0.open(match kind {
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
        self.0.close(b"]}");
    }

    fn list_begin(&mut self) {
        self.0.open(b"{\"L\":[");
    }

    fn list_end(&mut self) {
        self.0.close(b"]}");
    }

    fn map_begin(&mut self, _tag_like: bool) {
        self.0.open(b"{\"M\":{");
    }

    fn map_end(&mut self, _tag_like: bool) {
        self.0.close(b"}}");
    }
}
