//! CSV, row by row, in bounded memory whatever the file holds: a row that is too long is read over to its end.

use std::io::{self, BufRead};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// The fields of a row together: an item has 400 KB, names included.
pub const ROW_BYTES_MAX: usize = 1024 * 1024;
/// Fields of a row; empty ones cost memory too.
pub const COLUMNS_MAX: usize = 16 * 1024;
/// What a buffer begins with.
const BUFFER_BYTES: usize = 8 * 1024;

/// Why a row is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    #[error("The row is longer than 1 MiB; an item has at most 400 KB")]
    TooLong,
    #[error("The row has more than 16384 columns")]
    TooManyColumns,
    #[error("Column {0} is not UTF-8")]
    NotUtf8(usize),
}

/// The rows of a text.
pub struct Rows<R> {
    input: R,
    reader: Reader,
    /// The fields of the row, one after the other.
    text: Vec<u8>,
    /// Where each field ends.
    ends: Vec<usize>,
}

/// How much of the buffers the row uses, and what is wrong with it.
#[derive(Default)]
struct Progress {
    text: usize,
    ends: usize,
    fault: Option<RowError>,
}

impl<R: BufRead> Rows<R> {
    pub fn new(input: R, delimiter: u8) -> Self {
        let reader = ReaderBuilder::new().delimiter(delimiter).build();
        Self { input, reader, text: vec![0; BUFFER_BYTES], ends: vec![0; BUFFER_BYTES / 8] }
    }

    /// The next row; `None` after the last.
    ///
    /// # Errors
    /// Those of the file. What is wrong with the row alone is the inner error, and the rows after it can be read.
    pub fn next(&mut self) -> io::Result<Option<Result<Vec<&str>, RowError>>> {
        let mut row = Progress::default();
        loop {
            let input = self.input.fill_buf()?;
            let (text, ends) = (self.text.get_mut(row.text..), self.ends.get_mut(row.ends..));
            let (result, read, written, ended) = self.reader.read_record(input, text.unwrap_or_default(), ends.unwrap_or_default());
            self.input.consume(read);
            row.text += written;
            row.ends += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => {
                    more_room(&mut self.text, ROW_BYTES_MAX, &mut row.text, &mut row.fault, RowError::TooLong)
                }
                ReadRecordResult::OutputEndsFull => {
                    more_room(&mut self.ends, COLUMNS_MAX, &mut row.ends, &mut row.fault, RowError::TooManyColumns);
                }
                ReadRecordResult::Record => return Ok(Some(row.fault.map_or_else(|| self.fields(row.ends), Err))),
                ReadRecordResult::End => return Ok(None),
            }
        }
    }

    fn fields(&self, count: usize) -> Result<Vec<&str>, RowError> {
        let mut start = 0;
        let field = |(column, &end): (usize, &usize)| {
            let bytes = self.text.get(start..end).unwrap_or_default();
            start = end;
            std::str::from_utf8(bytes).map_err(|_| RowError::NotUtf8(column + 1))
        };
        self.ends.iter().take(count).enumerate().map(field).collect()
    }
}

/// Doubles a buffer up to `max`. Beyond it the row is at fault, and what comes is written over what there is, so that the reader still
/// finds where the row ends.
fn more_room<T: Clone + Default>(
    buffer: &mut Vec<T>,
    max: usize,
    used: &mut usize,
    fault: &mut Option<RowError>,
    beyond: RowError,
) {
    if fault.is_none() && buffer.len() < max {
        buffer.resize(buffer.len() * 2, T::default());
        return;
    }
    fault.get_or_insert(beyond);
    *used = 0;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Each row's fields joined by `|`, or its error.
    fn check(text: &[u8], expected: &[&str]) {
        // Every way in which the input can be cut must give the same rows.
        for piece in [1, 3, 64 * 1024] {
            let mut rows = Rows::new(io::BufReader::with_capacity(piece, text), b',');
            let mut found = Vec::new();
            while let Some(row) = rows.next().unwrap() {
                found.push(row.map_or_else(|error| error.to_string(), |fields| fields.join("|")));
            }
            assert_eq!(found, expected);
            assert!(rows.text.capacity() <= 2 * ROW_BYTES_MAX && rows.ends.capacity() <= 2 * COLUMNS_MAX);
        }
    }

    #[test]
    fn rows_are_read() {
        check(b"", &[]);
        check(b"a,b\n1,\"2,\"\"3\n\"\r\n\n,\nlast", &["a|b", "1|2,\"3\n", "|", "last"]);
        check(b"a,\xff\nb,c\n", &["Column 2 is not UTF-8", "b|c"]);
    }

    #[test]
    fn rows_beyond_bounds_are_told_and_read_over() {
        let long = "x".repeat(3 * ROW_BYTES_MAX);
        let quoted = format!("a,b\n1,\"{long}\n,\"\n2,two\n");
        check(quoted.as_bytes(), &["a|b", "The row is longer than 1 MiB; an item has at most 400 KB", "2|two"]);
        let wide = format!("a,b\n{}\n2,two\n", ",".repeat(5 * COLUMNS_MAX));
        check(wide.as_bytes(), &["a|b", "The row has more than 16384 columns", "2|two"]);
        let kept = "x".repeat(ROW_BYTES_MAX - 1);
        check(format!("{kept}\nb\n").as_bytes(), &[&kept, "b"]);
    }
}
