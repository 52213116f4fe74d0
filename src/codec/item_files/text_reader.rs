//! A text that is read in bounded memory: bytes ahead of the position can be looked at, and the
//! next JSON value is taken whole or passed over, whatever its length.

use std::io::{self, BufRead, Read};

use crate::codec::json::grammar::BracketScanner;
use crate::codec::json::write::unescaped_len;

/// The longest text of an item: 400 KB in any JSON form, the indentation of its lines aside.
pub const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of a value that are looked at before it is taken.
pub const LOOK_BYTES_MAX: usize = 64 * 1024;
/// Bytes read from the input at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// The reason why a value was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextFault {
    #[error("The text is longer than 4 MiB; an item has at most 400 KB")]
    TooLong,
    #[error("The text ends within a JSON value")]
    Cut,
}

/// Where a JSON value begins, which decides what ends it too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValuePlace {
    /// Within a list or an object.
    Inner,
    /// Outermost. A line that begins with `{` is the next value, so that a value that is cut off
    /// takes no other with it.
    Outer,
    /// Outermost, in a file whose values are lines.
    Line,
}

/// The reader.
pub struct TextReader<R> {
    input: R,
    buffer: Vec<u8>,
    at: usize,
    is_ended: bool,
    is_line_start: bool,
    /// Bytes before the position.
    pub offset: u64,
    /// The number of the line, from 1.
    pub line: u64,
}

impl<R: Read> TextReader<R> {
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            at: 0,
            is_ended: false,
            is_line_start: true,
            offset: 0,
            line: 1,
        }
    }

    /// Returns the bytes ahead that have been read.
    pub fn ahead(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// Reads more bytes ahead, as many as come at once; false at the end of the input.
    pub fn read_more(&mut self) -> io::Result<bool> {
        if self.is_ended {
            return Ok(false);
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let held = self.buffer.len();
        self.buffer.resize(held + CHUNK_BYTES, 0);
        let read = loop {
            match self.input.read(&mut self.buffer[held..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer
            .truncate(held + read.as_ref().map_or(0, |read| *read));
        self.is_ended = !matches!(read, Ok(1..));
        read.map(|read| read > 0)
    }

    /// Moves over bytes ahead.
    pub fn advance(&mut self, bytes: usize) {
        let passed = self.ahead().get(..bytes).unwrap_or(self.ahead());
        let lines = memchr::memchr_iter(b'\n', passed).count() as u64;
        let (bytes, last) = (passed.len(), passed.last().copied());
        self.line += lines;
        self.is_line_start = last.map_or(self.is_line_start, |last| last == b'\n');
        self.offset += bytes as u64;
        self.at += bytes;
    }

    /// Moves over white space; returns the byte after it, or `None` at the end.
    pub fn token(&mut self) -> io::Result<Option<u8>> {
        loop {
            let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
            let blanks = self.ahead().iter().position(|byte| !is_blank(byte));
            self.advance(blanks.unwrap_or(usize::MAX));
            let next = self.ahead().first().copied();
            if next.is_some() || !self.read_more()? {
                return Ok(next);
            }
        }
    }

    /// Moves to the next beginning of a line that does not continue a value, as an indented one
    /// does.
    pub fn skip_lines(&mut self) -> io::Result<()> {
        while !self.ahead().is_empty() || self.read_more()? {
            let continues = matches!(
                self.ahead().first(),
                Some(b' ' | b'\t' | b'"' | b'}' | b']' | b',')
            );
            if self.is_line_start && !continues {
                return Ok(());
            }
            let end = memchr::memchr(b'\n', self.ahead());
            self.advance(end.map_or(usize::MAX, |end| end + 1));
        }
        Ok(())
    }

    /// Returns the list or object ahead, or its beginning if it is long.
    pub fn look(&mut self) -> io::Result<&[u8]> {
        let (mut brackets, mut seen) = (BracketScanner::default(), 0);
        let end = loop {
            let ahead = self.ahead();
            if let Some(end) = brackets.end(ahead.get(seen..).unwrap_or_default()) {
                break seen + end;
            }
            seen = ahead.len();
            if seen >= LOOK_BYTES_MAX || !self.read_more()? {
                break seen;
            }
        };
        Ok(self.ahead().get(..end).unwrap_or_default())
    }

    /// Takes the next value into `text`, its lines without indentation. It is not checked: quotes
    /// and brackets decide where it ends.
    pub fn take_value(
        &mut self,
        place: ValuePlace,
        text: &mut Vec<u8>,
    ) -> io::Result<Result<(), TextFault>> {
        text.clear();
        self.token()?;
        let mut scan = ValueScan {
            place,
            depth: 0,
            in_string: false,
            is_escaped: false,
            is_line_start: false,
            is_indentation: false,
        };
        let mut is_whole = true;
        loop {
            if self.ahead().is_empty() && !self.read_more()? {
                // Nothing but its end tells that a number or a word is whole.
                return Ok(match scan {
                    ValueScan {
                        depth: 0,
                        in_string: false,
                        ..
                    } if is_whole && !text.is_empty() => Ok(()),
                    _ => Err(TextFault::Cut),
                });
            }
            let piece = self.buffer.get(self.at..).unwrap_or_default();
            let (used, is_kept, end) = scan.step(piece);
            if is_kept && is_whole {
                text.extend_from_slice(piece.get(..used).unwrap_or_default());
                if text.len() > TEXT_BYTES_MAX {
                    is_whole = false;
                    text.clear();
                }
            }
            self.advance(used);
            match end {
                None => {}
                Some(ValueEnd::Cut) => return Ok(Err(TextFault::Cut)),
                Some(ValueEnd::Whole) if is_whole => return Ok(Ok(())),
                Some(ValueEnd::Whole) => return Ok(Err(TextFault::TooLong)),
            }
        }
    }
}

/// The end of a value.
enum ValueEnd {
    Whole,
    Cut,
}

/// The state within a value.
struct ValueScan {
    place: ValuePlace,
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    is_line_start: bool,
    /// True within the white space at the beginning of a line.
    is_indentation: bool,
}

impl ValueScan {
    /// Takes the first bytes of a piece; returns their number, whether they belong to the text, and
    /// the end.
    fn step(&mut self, piece: &[u8]) -> (usize, bool, Option<ValueEnd>) {
        if self.in_string && !self.is_escaped {
            let plain = unescaped_len(piece);
            if plain > 0 {
                return (plain, true, None);
            }
        }
        let Some(&byte) = piece.first() else {
            return (0, false, None);
        };
        if self.in_string {
            let was_escaped = std::mem::take(&mut self.is_escaped);
            match byte {
                // No string has a line break: its closing quote is missing.
                b'\n' if self.place != ValuePlace::Inner => {
                    return (1, false, Some(ValueEnd::Cut));
                }
                _ if was_escaped => {}
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return (1, true, self.ended());
        }
        let is_line_start = std::mem::take(&mut self.is_line_start);
        let is_indentation = std::mem::take(&mut self.is_indentation);
        match byte {
            b'{' if is_line_start && self.place == ValuePlace::Outer => {
                return (0, false, Some(ValueEnd::Cut));
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' | b',' if self.depth == 0 => return (0, false, Some(ValueEnd::Whole)),
            b'}' | b']' => self.depth -= 1,
            b'"' => self.in_string = true,
            b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 => {
                return (0, false, Some(ValueEnd::Whole));
            }
            b'\n' if self.place == ValuePlace::Line => return (1, false, Some(ValueEnd::Cut)),
            b'\n' => {
                (self.is_line_start, self.is_indentation) = (true, true);
                return (1, true, None);
            }
            b' ' | b'\t' | b'\r' if is_indentation => {
                self.is_indentation = true;
                let others = piece.iter().position(|byte| !b" \t\r".contains(byte));
                return (others.unwrap_or(piece.len()), false, None);
            }
            _ if self.depth == 0 => return (1, true, None),
            _ => {
                let others = piece.iter().take_while(|byte| !b"{}[]\"\n".contains(byte));
                return (others.count().max(1), true, None);
            }
        }
        (1, true, self.ended())
    }

    fn ended(&self) -> Option<ValueEnd> {
        (self.depth == 0 && !self.in_string).then_some(ValueEnd::Whole)
    }
}

impl<R: Read> Read for TextReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(out)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: Read> BufRead for TextReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.ahead().is_empty() {
            self.read_more()?;
        }
        Ok(self.ahead())
    }

    fn consume(&mut self, bytes: usize) {
        self.advance(bytes);
    }
}

#[cfg(test)]
#[path = "text_reader_tests.rs"]
mod tests;
