//! JSON text into bytes, without a tree in between.

/// Writes the members of one object.
#[derive(Debug)]
pub struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> ObjectWriter<'a> {
    /// Opens the object.
    pub fn start(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    /// Writes a member's name; the caller writes its value into what it gets.
    pub fn member(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        string(name, self.out);
        self.out.push(b':');
        self.out
    }

    /// Closes the object.
    pub fn end(self) {
        self.out.push(b'}');
    }
}

/// A JSON array.
pub fn list<T>(values: impl Iterator<Item = T>, out: &mut Vec<u8>, mut write: impl FnMut(T, &mut Vec<u8>)) {
    out.push(b'[');
    for (position, value) in values.enumerate() {
        if position > 0 {
            out.push(b',');
        }
        write(value, out);
    }
    out.push(b']');
}

/// A JSON string with its quotes.
pub fn string(text: &str, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail, and every text is a JSON string.
    let _ = serde_json::to_writer(&mut *out, text);
}

/// A whole number.
pub fn whole(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_string().as_bytes());
}

/// A double as the service writes them: `0.5`, `1.0`.
pub fn double(value: f64, out: &mut Vec<u8>) {
    // `Debug` keeps the point that `Display` leaves out.
    out.extend_from_slice(format!("{value:?}").as_bytes());
}
