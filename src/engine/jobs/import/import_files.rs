//! Reading the files of an import: DynamoDB JSON lines, CSV, plain or compressed (docs/dynamodb.md 20.4).

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use serde_json::Value;

use super::csv_rows::Rows;
use super::zstd_frames::Frames;
use crate::codec::dynamodb_json;
use crate::model::api::transfer::{Compression, ION, ImportRequest, InputFormat};
use crate::model::schema::KeyAttributeType;
use crate::model::{AttributeValue, Error, Item, TableSchema};

/// The longest line: an item of 400 KB, its binaries in base64, its characters escaped.
const LINE_BYTES_MAX: u64 = 3 * 1024 * 1024;
const LINE_TOO_LONG: &str = "The line is longer than 3 MiB; an item has at most 400 KB";

/// One item of a file.
#[derive(Debug)]
pub struct Line {
    /// The item, or what is wrong with it.
    pub item: Result<Item, String>,
    /// Its length in the uncompressed file.
    pub bytes: usize,
}

/// Gives each item of a file to `take`, as long as it says to go on.
///
/// # Errors
/// Those of the file.
pub fn read(path: &Path, request: &ImportRequest, schema: &TableSchema, take: &mut dyn FnMut(Line) -> bool) -> io::Result<()> {
    let file = File::open(path)?;
    let reader: Box<dyn Read> = match request.compression {
        Compression::None => Box::new(file),
        Compression::Gzip => Box::new(MultiGzDecoder::new(file)),
        Compression::Zstd => Box::new(Frames::new(BufReader::new(file))),
    };
    match request.format {
        InputFormat::DynamoDbJson => read_lines(BufReader::new(reader), take),
        // Of an import that an earlier version began.
        InputFormat::Ion => Err(io::Error::new(io::ErrorKind::Unsupported, Error::NotSupported(ION))),
        InputFormat::Csv => read_rows(reader, request, schema, take),
    }
}

fn read_lines(mut reader: impl BufRead, take: &mut dyn FnMut(Line) -> bool) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bytes = (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
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
        let goes_on = if is_cut { take(Line { item: Err(LINE_TOO_LONG.to_owned()), bytes }) } else { take_documents(&line, take) };
        if !goes_on {
            return Ok(());
        }
    }
}

/// Gives each JSON document of a line; what is no JSON is the end of its line. Whether to go on.
fn take_documents(line: &[u8], take: &mut dyn FnMut(Line) -> bool) -> bool {
    let mut documents = serde_json::Deserializer::from_slice(line).into_iter::<Value>();
    let mut start = 0;
    while let Some(document) = documents.next() {
        let is_json = document.is_ok();
        let read = documents.byte_offset();
        // The end of a line is its last document's.
        let is_last = line.get(read..).is_none_or(|rest| rest.iter().all(u8::is_ascii_whitespace));
        let end = if is_json && !is_last { read } else { line.len() };
        let item = document.map_err(|error| format!("The line is no JSON: {error}")).and_then(|document| item_of(&document));
        if !take(Line { item, bytes: end - start }) {
            return false;
        }
        if !is_json {
            return true;
        }
        start = end;
    }
    true
}

/// Reads to the end of the line and keeps nothing; how many bytes that were.
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

/// `{"Item":{…}}`.
fn item_of(document: &Value) -> Result<Item, String> {
    let item = document.get("Item").ok_or("The line has no member Item")?;
    dynamodb_json::parse(item.to_string().as_bytes()).map_err(|error| error.to_string())
}

fn read_rows(
    reader: impl Read,
    request: &ImportRequest,
    schema: &TableSchema,
    take: &mut dyn FnMut(Line) -> bool,
) -> io::Result<()> {
    let mut rows = Rows::new(BufReader::new(reader), request.delimiter);
    let types: Vec<(String, KeyAttributeType)> =
        schema.attribute_definitions().into_iter().map(|of| (of.name, of.attribute_type)).collect();
    let header: Vec<String> = match &request.header {
        Some(names) => names.clone(),
        None => match rows.next()? {
            None => return Ok(()),
            Some(Ok(names)) => names.into_iter().map(str::to_owned).collect(),
            Some(Err(error)) => return Err(io::Error::new(io::ErrorKind::InvalidData, format!("the header: {error}"))),
        },
    };
    while let Some(row) = rows.next()? {
        let bytes = row.as_ref().map_or(0, |fields| fields.iter().map(|field| field.len() + 1).sum());
        let item = row.map_err(|error| error.to_string()).and_then(|fields| item_of_row(&header, &fields, &types));
        if !take(Line { item, bytes }) {
            return Ok(());
        }
    }
    Ok(())
}

/// Every column is a string, except key attributes, which have their types. An empty cell is no attribute.
fn item_of_row(header: &[String], row: &[&str], types: &[(String, KeyAttributeType)]) -> Result<Item, String> {
    if row.len() != header.len() {
        return Err(format!("The row has {} columns, the header {}", row.len(), header.len()));
    }
    let mut item = Item::default();
    for (name, text) in header.iter().zip(row.iter().copied()).filter(|(_, text)| !text.is_empty()) {
        let attribute_type = types.iter().find(|(of, _)| of == name).map(|(_, attribute_type)| *attribute_type);
        let value = match attribute_type {
            None | Some(KeyAttributeType::S) => AttributeValue::S(text.to_owned()),
            Some(KeyAttributeType::N) => AttributeValue::N(text.trim().parse().map_err(|error| format!("Column {name}: {error}"))?),
            Some(KeyAttributeType::B) => {
                AttributeValue::B(STANDARD.decode(text).map_err(|error| format!("Column {name}: {error}"))?)
            }
        };
        item.0.insert(name.clone(), value);
    }
    Ok(item)
}
