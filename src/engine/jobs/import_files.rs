//! Parsers of an import's files: DynamoDB JSON lines, CSV, plain or compressed (docs/dynamodb.md
//! 20.4).

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

use flate2::read::MultiGzDecoder;

use crate::codec::dynamodb_json;
use crate::codec::item_files::{
    FileEntry, FileError,
    compression::ZstdFrames,
    items,
    rows::{Columns, CsvRows},
    text_reader::{TextFault, TextReader, ValuePlace},
};
use crate::engine::prelude::*;
use crate::model::api::transfer::{Compression, ION_FORMAT, ImportRequest, InputFormat};

/// One item of a file.
#[derive(Debug)]
pub struct ImportLine {
    /// The item, or the fault of the line.
    pub item: Result<Item, String>,
    /// The length in the uncompressed file.
    pub bytes: usize,
}

/// Passes each item of a file to `take` until it returns false.
pub fn read(
    path: &Path,
    request: &ImportRequest,
    schema: &TableSchema,
    take: &mut dyn FnMut(ImportLine) -> bool,
) -> io::Result<()> {
    let file = File::open(path)?;
    let reader: Box<dyn Read> = match request.compression {
        Compression::None => Box::new(file),
        Compression::Gzip => Box::new(MultiGzDecoder::new(file)),
        Compression::Zstd => Box::new(ZstdFrames::new(BufReader::new(file))),
    };
    match request.format {
        InputFormat::DynamoDbJson => read_lines(reader, take),
        // An import that an earlier version began.
        InputFormat::Ion => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            Error::NotSupported(ION_FORMAT),
        )),
        InputFormat::Csv => read_rows(reader, request, schema, take),
    }
}

/// Reads JSON documents, several of which may be on a line; none is on two.
fn read_lines(reader: impl Read, take: &mut dyn FnMut(ImportLine) -> bool) -> io::Result<()> {
    let (mut text, mut value) = (TextReader::new(reader), Vec::new());
    loop {
        let from = text.offset;
        let item = match text.token()? {
            None => return Ok(()),
            Some(b'{') => match text.take_value(ValuePlace::Line, &mut value)? {
                Ok(()) => parse_item(&value),
                Err(fault) => {
                    if fault == TextFault::Cut {
                        text.skip_lines()?;
                    }
                    Err(fault.to_string())
                }
            },
            Some(_) => {
                text.advance(1);
                text.skip_lines()?;
                Err("The line is no JSON object".to_owned())
            }
        };
        let bytes = usize::try_from(text.offset - from).unwrap_or(usize::MAX);
        if !take(ImportLine { item, bytes }) {
            return Ok(());
        }
    }
}

/// Parses `{"Item":{…}}`.
fn parse_item(document: &[u8]) -> Result<Item, String> {
    let (members, fault) = items::members(document);
    if let Some(fault) = fault {
        return Err(format!("The line is no JSON: {fault}"));
    }
    let item = members
        .iter()
        .find(|member| member.name == "Item")
        .ok_or("The line has no member Item")?;
    dynamodb_json::parse(item.value.as_bytes()).map_err(|error| error.to_string())
}

fn read_rows(
    reader: impl Read,
    request: &ImportRequest,
    schema: &TableSchema,
    take: &mut dyn FnMut(ImportLine) -> bool,
) -> io::Result<()> {
    let csv = &request.options.csv;
    let mut rows = CsvRows::new(BufReader::new(reader), csv.delimiter.unwrap_or(b','));
    let columns = Columns {
        header: csv.header.clone(),
        typed: &schema.attribute_definitions(),
        is_json_read: false,
    };
    let read = columns.read(&mut rows, &mut |_, bytes, entry| {
        let item = match entry {
            FileEntry::Put(item) => Ok(item),
            FileEntry::Bad(message) => Err(message),
            FileEntry::Delete(_) | FileEntry::OtherTable(_) => return Ok(()),
        };
        take(ImportLine { item, bytes })
            .then_some(())
            .ok_or(FileError::Stopped)
    });
    match read {
        Err(FileError::Io(error)) => Err(error),
        Err(FileError::Stopped) | Ok(()) => Ok(()),
        Err(error) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            error.to_string(),
        )),
    }
}
