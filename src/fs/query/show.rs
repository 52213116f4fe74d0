//! Document paths and values as a person writes them.

use std::fmt::Write as _;

use crate::codec::plain_json;
use crate::model::{AttributeValue, DocumentPath, Item, PathElement};

/// `a.b[0]`, as the clauses spell it.
pub(super) fn show_path(path: &DocumentPath) -> String {
    path.rest.iter().fold(path.head.clone(), |mut text, element| {
        // Writing to a String cannot fail.
        let _ = match element {
            PathElement::Name(name) => write!(text, ".{name}"),
            PathElement::Index(index) => write!(text, "[{index}]"),
        };
        text
    })
}

/// A value in plain JSON.
pub(super) fn show_value(value: &AttributeValue) -> String {
    let mut line = Vec::new();
    plain_json::write_line(&Item([(String::new(), value.clone())].into()), &[], &mut line);
    let text = String::from_utf8_lossy(&line).into_owned();
    // `{"":…}` and a newline.
    text.trim_end().strip_prefix("{\"\":").and_then(|text| text.strip_suffix('}')).unwrap_or_default().to_owned()
}
