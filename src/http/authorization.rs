//! The parts of an `Authorization` header.

/// Names and values in an `Authorization` header, which commas, blanks or both may part.
pub fn parameters(header: &str) -> impl Iterator<Item = (&str, &str)> {
    let members = header.split_once(' ').map_or("", |(_, members)| members);
    // By bytes: the ones that part are ASCII, and no part of another character is.
    let parts = members.as_bytes().split(|byte| matches!(byte, b',' | b' ' | b'\t'));
    parts.filter_map(|part| std::str::from_utf8(part).ok()?.split_once('='))
}
