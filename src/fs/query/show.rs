//! Document paths and values as a person writes them.

use std::fmt::Write as _;

use crate::codec::plain_json;
use crate::expr::SortRange;
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

/// A condition on a key attribute, its values being written so.
pub(super) fn show_range(name: &str, range: &SortRange, values: &[String]) -> String {
    let sign = match range {
        SortRange::Equal(_) => "=",
        SortRange::Less(_) => "<",
        SortRange::LessOrEqual(_) => "<=",
        SortRange::Greater(_) => ">",
        SortRange::GreaterOrEqual(_) => ">=",
        SortRange::Between(..) => return format!("{name} BETWEEN {}", values.join(" AND ")),
        SortRange::BeginsWith(_) => return format!("begins_with({name}, {})", values.concat()),
    };
    format!("{name} {sign} {}", values.concat())
}
