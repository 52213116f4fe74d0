//! Parsers of an import's files: DynamoDB JSON lines, CSV, plain or compressed (docs/dynamodb.md
//! 20.4).

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};
use serde_json::Value;

use crate::codec::dynamodb_json;
use crate::engine::prelude::*;
use crate::model::{
    api::transfer::{Compression, ION_FORMAT, ImportRequest, InputFormat},
    schema::KeyAttributeType,
};

/// The maximum length of a line: an item of 400 KB, its binaries in base64, its characters escaped.
const LINE_BYTES_MAX: u64 = 3 * 1024 * 1024;
const LINE_TOO_LONG: &str = "The line is longer than 3 MiB; an item has at most 400 KB";

/// One item of a file.
#[derive(Debug)]
pub struct ImportLine {
    /// The item, or the fault of the line.
    pub item: Result<Item, String>,
    /// The length in the uncompressed file.
    pub bytes: usize,
}

/// Passes each item of a file to `on_line` until it returns false.
pub fn read(
    path: &Path,
    request: &ImportRequest,
    schema: &TableSchema,
    on_line: &mut dyn FnMut(ImportLine) -> bool,
) -> io::Result<()> {
    let file = File::open(path)?;
    let reader: Box<dyn Read> = match request.compression {
        Compression::None => Box::new(file),
        Compression::Gzip => Box::new(MultiGzDecoder::new(file)),
        Compression::Zstd => Box::new(ZstdFrames::new(BufReader::new(file))),
    };
    match request.format {
        InputFormat::DynamoDbJson => read_lines(BufReader::new(reader), on_line),
        // An import that an earlier version began.
        InputFormat::Ion => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            Error::NotSupported(ION_FORMAT),
        )),
        InputFormat::Csv => read_rows(reader, request, schema, on_line),
    }
}

fn read_lines(
    mut reader: impl BufRead,
    on_line: &mut dyn FnMut(ImportLine) -> bool,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bytes = (&mut reader)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line)?;
        if bytes == 0 {
            return Ok(());
        }
        let is_cut = bytes as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n");
        if is_cut {
            bytes += skip_line(&mut reader)?;
        }
        if line.iter().all(u8::is_ascii_whitespace) && !is_cut {
            continue;
        }
        let goes_on = if is_cut {
            on_line(ImportLine {
                item: Err(LINE_TOO_LONG.to_owned()),
                bytes,
            })
        } else {
            take_documents(&line, on_line)
        };
        if !goes_on {
            return Ok(());
        }
    }
}

/// Passes each JSON document of a line to `on_line`; text that is no JSON ends its line. Returns false
/// if `on_line` did.
fn take_documents(line: &[u8], on_line: &mut dyn FnMut(ImportLine) -> bool) -> bool {
    let mut documents = serde_json::Deserializer::from_slice(line).into_iter::<Value>();
    let mut start = 0;
    while let Some(document) = documents.next() {
        let is_json = document.is_ok();
        let read = documents.byte_offset();
        // The last document of a line takes the rest of it.
        let is_last = line
            .get(read..)
            .is_none_or(|rest| rest.iter().all(u8::is_ascii_whitespace));
        let end = if is_json && !is_last {
            read
        } else {
            line.len()
        };
        let item = document
            .map_err(|error| format!("The line is no JSON: {error}"))
            .and_then(|document| parse_item(&document));
        if !on_line(ImportLine {
            item,
            bytes: end - start,
        }) {
            return false;
        }
        if !is_json {
            return true;
        }
        start = end;
    }
    true
}

/// Skips to the end of the line; returns the number of skipped bytes.
fn skip_line(reader: &mut impl BufRead) -> io::Result<usize> {
    let mut skipped = 0;
    loop {
        let piece = reader.fill_buf()?;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let read = end.map_or(piece.len(), |end| end + 1);
        reader.consume(read);
        skipped += read;
        if end.is_some() || read == 0 {
            return Ok(skipped);
        }
    }
}

/// Parses `{"Item":{…}}`.
fn parse_item(document: &Value) -> Result<Item, String> {
    let item = document.get("Item").ok_or("The line has no member Item")?;
    dynamodb_json::parse(item.to_string().as_bytes()).map_err(|error| error.to_string())
}

fn read_rows(
    reader: impl Read,
    request: &ImportRequest,
    schema: &TableSchema,
    on_line: &mut dyn FnMut(ImportLine) -> bool,
) -> io::Result<()> {
    let mut rows = CsvRows::new(
        BufReader::new(reader),
        request.options.csv.delimiter.unwrap_or(b','),
    );
    let types: Vec<(String, KeyAttributeType)> = schema
        .attribute_definitions()
        .into_iter()
        .map(|of| (of.name, of.attribute_type))
        .collect();
    let header: Vec<String> = match &request.options.csv.header {
        Some(names) => names.clone(),
        None => match rows.next()? {
            None => return Ok(()),
            Some(Ok(names)) => names.into_iter().map(str::to_owned).collect(),
            Some(Err(error)) => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("the header: {error}"),
                ));
            }
        },
    };
    while let Some(row) = rows.next()? {
        let bytes = row
            .as_ref()
            .map_or(0, |fields| fields.iter().map(|field| field.len() + 1).sum());
        let item = row
            .map_err(|error| error.to_string())
            .and_then(|fields| parse_row(&header, &fields, &types));
        if !on_line(ImportLine { item, bytes }) {
            return Ok(());
        }
    }
    Ok(())
}

/// Parses a row. Every column is a string, except key attributes, which have their types. An empty
/// cell is no attribute.
fn parse_row(
    header: &[String],
    row: &[&str],
    types: &[(String, KeyAttributeType)],
) -> Result<Item, String> {
    if row.len() != header.len() {
        return Err(format!(
            "The row has {} columns, the header {}",
            row.len(),
            header.len()
        ));
    }
    let mut item = Item::default();
    for (name, text) in header
        .iter()
        .zip(row.iter().copied())
        .filter(|(_, text)| !text.is_empty())
    {
        let attribute_type = types
            .iter()
            .find(|(of, _)| of == name)
            .map(|(_, attribute_type)| *attribute_type);
        let value = match attribute_type {
            None | Some(KeyAttributeType::S) => AttributeValue::S(text.to_owned()),
            Some(KeyAttributeType::N) => AttributeValue::N(
                text.trim()
                    .parse()
                    .map_err(|error| format!("Column {name}: {error}"))?,
            ),
            Some(KeyAttributeType::B) => AttributeValue::B(
                STANDARD
                    .decode(text)
                    .map_err(|error| format!("Column {name}: {error}"))?,
            ),
        };
        item.0.insert(name.clone(), value);
    }
    Ok(item)
}

// CSV, row by row, in bounded memory for any content: a row that is too long is skipped to its end.

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
        }
    }

    /// Returns the next row, or `None` after the last.
    ///
    /// # Errors
    /// Fails if the file cannot be read. The inner error is a fault of this row alone; the rows
    /// after it can be read.
    pub fn next(&mut self) -> io::Result<Option<Result<Vec<&str>, RowError>>> {
        let mut row = RowProgress::default();
        loop {
            let input = self.input.fill_buf()?;
            let (text, ends) = (self.text.get_mut(row.text..), self.ends.get_mut(row.ends..));
            let (result, read, written, ended) =
                self.reader
                    .read_record(input, text.unwrap_or_default(), ends.unwrap_or_default());
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
    excess_error: RowError,
) {
    if fault.is_none() && buffer.len() < max {
        buffer.resize(buffer.len() * 2, T::default());
        return;
    }
    fault.get_or_insert(excess_error);
    *used = 0;
}

// Zstandard (RFC 8878), frame after frame: some compressors write many frames, with skippable
// frames between them.

/// The maximum window to which a frame may refer back, and so the memory for reading one: that of
/// `zstd -d` without `--memory`.
const WINDOW_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// A reader of the text of all frames.
pub struct ZstdFrames<R> {
    input: R,
    decoder: FrameDecoder,
    /// True if a frame has begun and has not been read to its end.
    is_open: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    pub fn new(input: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_BYTES_MAX);
        Self {
            input,
            decoder,
            is_open: false,
        }
    }

    /// Begins the next frame that has text; returns false if there is none.
    fn open(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut (&mut self.input).take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(damaged(&error)),
            }
        }
        Ok(false)
    }
}

fn damaged(error: &FrameDecoderError) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("no whole Zstandard text: {error}"),
    )
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_open && !self.open()? {
                return Ok(0);
            }
            self.is_open = true;
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if self.decoder.is_finished() {
                self.is_open = false;
                continue;
            }
            self.decoder
                .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                .map_err(|error| damaged(&error))?;
        }
    }
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

#[cfg(test)]
mod zstd_frames_tests {
    #![allow(clippy::unwrap_used)]

    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn read(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        ZstdFrames::new(io::BufReader::with_capacity(7, bytes)).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn frames_follow_each_other_and_some_are_skipped() {
        let frame = |text: &str| compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        let long = "some text, ".repeat(50_000);
        let skipped = [
            &0x184D_2A50_u32.to_le_bytes()[..],
            &3_u32.to_le_bytes()[..],
            b"abc",
        ]
        .concat();
        let all = [
            skipped.clone(),
            frame("one "),
            frame(""),
            skipped,
            frame(&long),
        ]
        .concat();
        assert_eq!(read(&all).unwrap(), format!("one {long}"));
        assert_eq!(read(b"").unwrap(), "");
        assert!(read(b"no zstd at all").is_err());
        assert!(read(&all[..all.len() - 5]).is_err());
    }
}
