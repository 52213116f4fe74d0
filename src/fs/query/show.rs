//! Document paths and values as a person writes them.

use std::fmt::Write as _;

use crate::expr::SortRange;
use crate::fs::prelude::*;
use crate::model::PathElement;

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

/// A condition on a key attribute, its values being written so.
pub(super) fn show_range(name: &str, range: &SortRange, values: &[String]) -> String {
    match (range, range.comparator()) {
        (_, Some(comparator)) => format!("{name} {} {}", comparator.sign(), values.concat()),
        (SortRange::BeginsWith(_), None) => format!("begins_with({name}, {})", values.concat()),
        (_, None) => format!("{name} BETWEEN {}", values.join(" AND ")),
    }
}
