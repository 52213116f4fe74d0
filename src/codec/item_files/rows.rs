//! CSV: rows in bounded memory for any content, where a row that is too long is skipped to its end,
//! and rows as items.

use std::io::{self, BufRead};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::{EntryPlace, EntrySink, FileEntry, FileError};
use crate::codec::{count::plural, dynamodb_json};
use crate::model::schema::{KeyAttribute, KeyAttributeType};
use crate::model::{AttributeValue, Item};

/// The maximum bytes of a row's fields: an item has 400 KB, names included.
pub const ROW_BYTES_MAX: usize = 1024 * 1024;
/// The maximum of fields in a row; empty ones take memory too.
pub const COLUMNS_MAX: usize = 16 * 1024;
/// The initial length of a buffer.
const BUFFER_BYTES: usize = 8 * 1024;

/// The fault of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    #[error("The row is longer than 1 MiB; an item has at most 400 KB")]
    TooLong,
    #[error("The row has more than 16384 columns")]
    TooManyColumns,
    #[error("Column {0} is not UTF-8")]
    NotUtf8(usize),
}

/// A reader of the rows of a text.
pub struct CsvRows<R> {
    input: R,
    reader: Reader,
    /// The fields of the row, one after the other.
    text: Vec<u8>,
    /// The end of each field.
    ends: Vec<usize>,
    /// The number of the line on which the row begins, from 1.
    pub line: u64,
}

/// The used part of the buffers, and the row's fault.
#[derive(Default)]
struct RowProgress {
    text: usize,
    ends: usize,
    fault: Option<RowError>,
}

impl<R: BufRead> CsvRows<R> {
    pub fn new(input: R, delimiter: u8) -> Self {
        let reader = ReaderBuilder::new().delimiter(delimiter).build();
        Self {
            input,
            reader,
            text: vec![0; BUFFER_BYTES],
            ends: vec![0; BUFFER_BYTES / 8],
            line: 1,
        }
    }

    /// Returns the next row, or `None` after the last.
    ///
    /// # Errors
    /// Fails if the file cannot be read. The inner error is a fault of this row alone; the rows
    /// after it can be read.
    pub fn next(&mut self) -> io::Result<Option<Result<Vec<&str>, RowError>>> {
        let (mut row, mut last) = (RowProgress::default(), 0);
        loop {
            let input = self.input.fill_buf()?;
            let (text, ends) = (self.text.get_mut(row.text..), self.ends.get_mut(row.ends..));
            let (result, read, written, ended) =
                self.reader
                    .read_record(input, text.unwrap_or_default(), ends.unwrap_or_default());
            last = input[..read].last().copied().unwrap_or(last);
            self.input.consume(read);
            row.text += written;
            row.ends += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => grow(
                    &mut self.text,
                    ROW_BYTES_MAX,
                    &mut row.text,
                    &mut row.fault,
                    RowError::TooLong,
                ),
                ReadRecordResult::OutputEndsFull => {
                    grow(
                        &mut self.ends,
                        COLUMNS_MAX,
                        &mut row.ends,
                        &mut row.fault,
                        RowError::TooManyColumns,
                    );
                }
                ReadRecordResult::Record => {
                    let held = self.text.get(..row.text).unwrap_or_default();
                    let within = memchr::memchr_iter(b'\n', held).count() as u64;
                    let after = self.reader.line() - u64::from(last == b'\n');
                    self.line = after.saturating_sub(within);
                    return Ok(Some(row.fault.map_or_else(|| self.fields(row.ends), Err)));
                }
                ReadRecordResult::End => return Ok(None),
            }
        }
    }

    fn fields(&self, count: usize) -> Result<Vec<&str>, RowError> {
        let mut start = 0;
        let field = |(column, &end): (usize, &usize)| {
            // The reader wrote these ends; a field cut short would be imported as such.
            let bytes = &self.text[start..end];
            start = end;
            std::str::from_utf8(bytes).map_err(|_| RowError::NotUtf8(column + 1))
        };
        self.ends
            .iter()
            .take(count)
            .enumerate()
            .map(field)
            .collect()
    }
}

/// Doubles a buffer up to `max`. Beyond it the row has a fault, and its further bytes overwrite the
/// buffer, so that the reader still finds the end of the row.
fn grow<T: Clone + Default>(
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

/// The columns of a file.
#[derive(Debug)]
pub struct Columns<'a> {
    /// The names; `None` if they are in the first row.
    pub header: Option<Vec<String>>,
    /// The attributes that are no strings.
    pub typed: &'a [KeyAttribute],
    /// True if cells may be DynamoDB JSON: then they are in rows whose first key attribute is.
    pub is_json_read: bool,
}

impl Columns<'_> {
    /// Passes the rows after the header to `take`.
    ///
    /// # Errors
    /// The file or its header cannot be read, or `take` stops.
    pub fn read<R: BufRead>(
        self,
        rows: &mut CsvRows<R>,
        take: &mut EntrySink<'_>,
    ) -> Result<(), FileError> {
        let header = match &self.header {
            Some(names) => names.clone(),
            None => match rows.next()? {
                None => return Ok(()),
                Some(names) => {
                    let names = names.map_err(|error| FileError::Header(error.to_string()))?;
                    names.into_iter().map(str::to_owned).collect()
                }
            },
        };
        while let Some(row) = rows.next()? {
            let bytes = row
                .as_ref()
                .map_or(0, |fields| fields.iter().map(|field| field.len() + 1).sum());
            let item = row
                .map_err(|error| error.to_string())
                .and_then(|fields| self.parse(&header, &fields));
            let place = EntryPlace {
                line: rows.line,
                element: None,
            };
            take(
                place,
                bytes,
                item.map_or_else(FileEntry::Bad, FileEntry::Put),
            )?;
        }
        Ok(())
    }

    /// Parses a row. Every column is a string, except key attributes, which have their types. An
    /// empty cell is no attribute.
    fn parse(&self, header: &[String], row: &[&str]) -> Result<Item, String> {
        if row.len() != header.len() {
            return Err(format!(
                "The row has {}, the header {}",
                plural(row.len() as u64, "column"),
                header.len()
            ));
        }
        let cells = || {
            header
                .iter()
                .zip(row.iter().copied())
                .filter(|(_, text)| !text.is_empty())
        };
        let typed = |name: &str| self.typed.iter().find(|of| of.name == name);
        let is_json = self.is_json_read
            && cells().any(|(name, text)| typed(name).is_some() && typed_json(text).is_some());
        let mut item = Item::default();
        for (name, text) in cells() {
            let failed = |error: &dyn std::fmt::Display| format!("Column {name}: {error}");
            let value = match typed(name).map(|of| of.attribute_type) {
                _ if is_json => typed_json(text)
                    .ok_or_else(|| failed(&"expected a typed value like {\"S\":\"…\"}"))?,
                of => value(text, of.unwrap_or(KeyAttributeType::S)).map_err(|why| failed(&why))?,
            };
            item.0.insert(name.clone(), value);
        }
        Ok(item)
    }
}

/// Returns a value as a cell of a table.
#[must_use]
pub fn cell(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => text.clone(),
        AttributeValue::N(number) => number.to_string(),
        AttributeValue::B(bytes) => STANDARD.encode(bytes),
        other => {
            let mut text = Vec::new();
            dynamodb_json::write_value(other, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
    }
}

/// Parses a cell as a value of this type. Fails with a sentence if the cell holds no such value.
pub fn value(cell: &str, attribute_type: KeyAttributeType) -> Result<AttributeValue, String> {
    match attribute_type {
        KeyAttributeType::S => Ok(AttributeValue::S(cell.to_owned())),
        KeyAttributeType::N => cell
            .trim()
            .parse()
            .map(AttributeValue::N)
            .map_err(|_| format!("{cell:?} is no number")),
        KeyAttributeType::B => STANDARD
            .decode(cell.trim())
            .map(AttributeValue::B)
            .map_err(|_| format!("{cell:?} is not base64, the form of a binary")),
    }
}

/// Parses a value in DynamoDB JSON.
fn typed_json(text: &str) -> Option<AttributeValue> {
    let item = text
        .starts_with('{')
        .then(|| dynamodb_json::parse(format!("{{\"v\":{text}}}").as_bytes()).ok())??;
    // A text with a comma could be several members.
    (item.0.len() == 1).then(|| item.0.into_values().next())?
}

#[cfg(test)]
mod csv_rows_tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Checks each row's fields joined by `|`, or its error.
    fn check(text: &[u8], expected: &[&str]) {
        // Every way in which the input can be cut must give the same rows.
        for piece in [1, 3, 64 * 1024] {
            let mut rows = CsvRows::new(io::BufReader::with_capacity(piece, text), b',');
            let mut found = Vec::new();
            while let Some(row) = rows.next().unwrap() {
                found.push(row.map_or_else(|error| error.to_string(), |fields| fields.join("|")));
            }
            assert_eq!(found, expected);
            assert!(
                rows.text.capacity() <= 2 * ROW_BYTES_MAX
                    && rows.ends.capacity() <= 2 * COLUMNS_MAX
            );
        }
    }

    #[test]
    fn rows_are_read() {
        check(b"", &[]);
        check(
            b"a,b\n1,\"2,\"\"3\n\"\r\n\n,\nlast",
            &["a|b", "1|2,\"3\n", "|", "last"],
        );
        check(b"a,\xff\nb,c\n", &["Column 2 is not UTF-8", "b|c"]);
    }

    #[test]
    fn rows_beyond_bounds_are_told_and_read_over() {
        let long = "x".repeat(3 * ROW_BYTES_MAX);
        let quoted = format!("a,b\n1,\"{long}\n,\"\n2,two\n");
        check(
            quoted.as_bytes(),
            &[
                "a|b",
                "The row is longer than 1 MiB; an item has at most 400 KB",
                "2|two",
            ],
        );
        let wide = format!("a,b\n{}\n2,two\n", ",".repeat(5 * COLUMNS_MAX));
        check(
            wide.as_bytes(),
            &["a|b", "The row has more than 16384 columns", "2|two"],
        );
        let kept = "x".repeat(ROW_BYTES_MAX - 1);
        check(format!("{kept}\nb\n").as_bytes(), &[&kept, "b"]);
    }
}
