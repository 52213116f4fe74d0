//! Commas between the values of a text, which are the same in plain JSON and DynamoDB JSON.

use super::sink::Sink;

/// A text of nested values under construction.
#[derive(Debug)]
pub struct Commas<'a, S> {
    out: &'a mut S,
    /// Nothing since the last bracket or colon: no comma before the next value.
    fresh: bool,
}

impl<'a, S: Sink> Commas<'a, S> {
    pub fn new(out: &'a mut S) -> Self {
        Self { out, fresh: true }
    }

    /// A value or name begins: the comma before it, if one is due. What to write it into.
    pub fn next(&mut self) -> &mut S {
        if !std::mem::replace(&mut self.fresh, false) {
            self.out.put(b",");
        }
        self.out
    }

    /// The beginning of something that holds values.
    pub fn open(&mut self, text: &[u8]) {
        self.next().put(text);
        self.fresh = true;
    }

    /// Its end.
    pub fn close(&mut self, text: &[u8]) {
        self.out.put(text);
        self.fresh = false;
    }

    /// What was written is a name: the value behind it has no comma before it. Where to write a colon that is still lacking.
    pub fn value_follows(&mut self) -> &mut S {
        self.fresh = true;
        self.out
    }
}
