//! The parts of an `Authorization` header.

/// Names and values in an `Authorization` header, which commas, blanks or both may part.
pub fn parameters(header: &str) -> impl Iterator<Item = (&str, &str)> {
    let members = header.split_once(' ').map_or("", |(_, members)| members);
    members.split([',', ' ', '\t']).filter_map(|part| part.split_once('='))
}
