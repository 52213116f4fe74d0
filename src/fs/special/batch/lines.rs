//! Cuts what is written into lines, in bounded memory: a line may come in many writes, and a write hold many lines.

use crate::fs::open::prelude::*;

/// A line longer than this is no item: 400 KB in any JSON form fits.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// See the module.
#[derive(Debug, Default)]
pub struct Lines {
    /// The beginning of a line.
    partial: Vec<u8>,
    /// The line is too long: its rest is passed over.
    is_too_long: bool,
    /// Lines that were whole.
    count: u64,
}

/// A line: its number from 1, and its text or why there is none.
pub type Line = (u64, Result<Vec<u8>, FsError>);

impl Lines {
    /// The lines that `data` completes. Blank ones have a number, and are left out.
    pub fn take(&mut self, data: &[u8]) -> Vec<Line> {
        let mut rest = data;
        let mut out = Vec::new();
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            self.add(rest.get(..end).unwrap_or_default());
            out.extend(self.end());
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        self.add(rest);
        out
    }

    fn add(&mut self, part: &[u8]) {
        if self.is_too_long || self.partial.len() + part.len() > LINE_BYTES_MAX {
            self.is_too_long = true;
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(part);
        }
    }

    /// Ends the line that was begun, if any.
    pub fn end(&mut self) -> Option<Line> {
        self.count += 1;
        let text = std::mem::take(&mut self.partial);
        if std::mem::take(&mut self.is_too_long) {
            let sentence = "the line is longer than any item can be (4 MiB); is there a newline between the items?";
            return Some((self.count, Err(FsError::Body(sentence.to_owned()))));
        }
        (!text.trim_ascii().is_empty()).then_some((self.count, Ok(text)))
    }

    /// The beginning of a line that has no newline yet.
    #[must_use]
    pub fn partial(&self) -> &[u8] {
        &self.partial
    }

    /// Bytes of memory of the line that was begun.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.partial.capacity()
    }

    /// Is a line begun?
    #[must_use]
    pub fn has_partial(&self) -> bool {
        self.is_too_long || !self.partial.trim_ascii().is_empty()
    }

    /// Lines that were whole.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines with their numbers, `!` for one without a text.
    fn check(writes: &[&[u8]], expected: &[(u64, &str)]) {
        let mut lines = Lines::default();
        let mut found: Vec<Line> = writes.iter().flat_map(|write| lines.take(write)).collect();
        if lines.has_partial() {
            found.extend(lines.end());
        }
        let text = |text: Result<Vec<u8>, FsError>| text.map_or("!".to_owned(), |text| String::from_utf8(text).unwrap());
        let found: Vec<(u64, String)> = found.into_iter().map(|(number, line)| (number, text(line))).collect();
        let expected: Vec<(u64, String)> = expected.iter().map(|(number, line)| (*number, (*line).to_owned())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_are_found_however_they_are_written() {
        check(&[b"a\nb\n"], &[(1, "a"), (2, "b")]);
        check(&[b"a", b"b", b"\nc"], &[(1, "ab"), (2, "c")]);
        check(&[b"a\n\n \nb\n\n"], &[(1, "a"), (4, "b")]);
        check(&[b"", b"\n"], &[]);
    }

    #[test]
    fn a_line_without_end_costs_no_memory_and_spoils_no_other() {
        let long = vec![b'x'; LINE_BYTES_MAX / 2 + 1];
        check(&[b"a\n", &long, &long, &long, b"y\nb\n"], &[(1, "a"), (2, "!"), (3, "b")]);
        let mut lines = Lines::default();
        (0..9).for_each(|_| drop(lines.take(&long)));
        assert!(lines.partial().is_empty() && lines.has_partial());
    }
}
