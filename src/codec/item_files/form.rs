//! The form of a file, told by its beginning and not by its name: items as JSON or CSV, or something
//! else that has a name.

use std::io::{self, Read};

use Remedy::{Advice, Convert, Define};

use super::items::{Member, has_items, members};
use super::rows::CsvRows;
use super::text_reader::{LOOK_BYTES_MAX, TextReader};
use crate::codec::sanitize;
use crate::model::TableSchema;

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileForm {
    Json,
    Csv { delimiter: u8 },
}

/// The reason why a file cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotItems {
    /// The kind of file that it looks like.
    pub what: String,
    pub remedy: Remedy,
}

/// The way to load or use a file that has no items in a known form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// A definition of tables, for the command that makes tables of it.
    Define,
    /// The beginning of a command that writes its text to standard output.
    Convert(&'static str),
    /// A sentence.
    Advice(&'static str),
}

const JSON_LINES: Remedy = Advice("write its rows as JSON lines or CSV first, as `duckdb` does");
const NO_ITEMS: Remedy = Advice("it has no items");
const EXPORT_AS_JSON: Remedy = Advice("export the table in the format DYNAMODB_JSON instead");
/// The remedy of a manifest.
pub const DIRECTORY: Remedy = Advice("load the directory that it is in");

/// Binary forms by their first bytes.
const FIRST_BYTES: &[(&[u8], &str, Remedy)] = &[
    (b"PAR1", "a Parquet file", JSON_LINES),
    (b"ORC", "an ORC file", JSON_LINES),
    (b"Obj\x01", "an Avro file", JSON_LINES),
    (b"SQLite format 3\0", "an SQLite database", JSON_LINES),
    (b"\xE0\x01\x00\xEA", "an Ion file", EXPORT_AS_JSON),
    (b"$ion_1_0", "an Ion file", EXPORT_AS_JSON),
    (
        b"\xFF\xFE",
        "text in UTF-16",
        Convert("iconv -f UTF-16 -t UTF-8"),
    ),
    (
        b"\xFE\xFF",
        "text in UTF-16",
        Convert("iconv -f UTF-16 -t UTF-8"),
    ),
    (b"\x1F\x8B", "gzip within gzip", Convert("zcat")),
    (b"BZh", "a bzip2 file", Convert("bzip2 -dc")),
    (b"\xFD7zXZ\0", "an xz file", Convert("xz -dc")),
    (
        b"PK\x03\x04",
        "a ZIP archive or a spreadsheet",
        Convert("unzip -p"),
    ),
];

/// The name of definitions of tables, in all forms that `codec::definitions` reads.
const DEFINITION: &str = "a definition of tables";
/// Their outermost members, one of which each form has in JSON and YAML.
const DEFINITION_NAMES: [&str; 10] = [
    "AWSTemplateFormatVersion",
    "Resources",
    "provider",
    "DataModel",
    "terraform_version",
    "tables",
    "KeySchema",
    "AttributeDefinitions",
    "Table",
    "TableDescription",
];
const TERRAFORM: &str = "resource \"aws_dynamodb_table\"";

/// JSON documents by the names of their members, all of which they have.
const JSON_NAMES: &[(&[&str], &str, Remedy)] = &[
    (
        &["TableNames"],
        "output of `aws dynamodb list-tables`",
        Advice("`ddbfs pull TABLE` copies a table of the service"),
    ),
    (
        &["manifestFilesS3Key"],
        "the manifest of an export",
        DIRECTORY,
    ),
    (&["dataFileS3Key"], "the manifest of an export", DIRECTORY),
    (
        &["table", "pk", "items", "item_bytes"],
        "the manifest of an archive",
        DIRECTORY,
    ),
];

/// Texts by a line's beginning.
const LINE_BEGINNINGS: &[(&str, &str, Remedy)] = &[
    (
        "Items:",
        "output of `aws` in YAML",
        Advice("ask for it with `--output json`"),
    ),
    ("<", "an XML or HTML document", NO_ITEMS),
];

/// Returns the form of a text, before whose first value this moves.
///
/// # Errors
/// The text cannot be read. The inner error names what the file is instead.
pub fn detect<R: Read>(
    text: &mut TextReader<R>,
    table: &TableSchema,
) -> io::Result<Result<FileForm, NotItems>> {
    const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();
    while text.ahead().len() < BYTE_ORDER_MARK.len() && text.read_more()? {}
    if text.ahead().starts_with(BYTE_ORDER_MARK) {
        text.advance(BYTE_ORDER_MARK.len());
    }
    let first = text.token()?;
    if matches!(first, Some(b'{' | b'[')) {
        return Ok(detect_json(text, table)?.map_or(Ok(FileForm::Json), Err));
    }
    while text.ahead().len() < LOOK_BYTES_MAX && text.read_more()? {}
    let ahead = text.ahead();
    let by_bytes = FIRST_BYTES
        .iter()
        .find(|(bytes, ..)| ahead.starts_with(bytes));
    Ok(match by_bytes {
        _ if first.is_none() => Ok(FileForm::Json),
        Some((_, what, remedy)) => Err(not_items(what, *remedy)),
        None => detect_text(ahead, table),
    })
}

fn not_items(what: &str, remedy: Remedy) -> NotItems {
    NotItems {
        what: what.to_owned(),
        remedy,
    }
}

/// Returns what a JSON text is, if it has no items.
fn detect_json<R: Read>(
    text: &mut TextReader<R>,
    table: &TableSchema,
) -> io::Result<Option<NotItems>> {
    let ahead = text.look()?;
    let object = match ahead.strip_prefix(b"[") {
        Some(list) => list.trim_ascii_start(),
        None => ahead,
    };
    let (members, _) = members(object);
    if has_items(&members, table) {
        return Ok(None);
    }
    let has = |name: &&str| {
        members
            .iter()
            .any(|member: &Member<'_>| member.name == *name)
    };
    if DEFINITION_NAMES.iter().any(has) {
        return Ok(Some(not_items(DEFINITION, Define)));
    }
    let found = JSON_NAMES.iter().find(|(names, ..)| names.iter().all(has));
    Ok(found.map(|(_, what, remedy)| not_items(what, *remedy)))
}

/// Returns the form of a text that is no JSON.
fn detect_text(ahead: &[u8], table: &TableSchema) -> Result<FileForm, NotItems> {
    const DELIMITERS: &[u8] = b",\t;|";
    let keys = table.key.names();
    let text = ahead.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let header = |delimiter: u8| -> Option<Vec<String>> {
        let mut rows = CsvRows::new(text.as_bytes(), delimiter);
        let row = rows.next().ok()??.ok()?;
        Some(row.into_iter().map(str::to_owned).collect())
    };
    for &delimiter in DELIMITERS {
        let Some(names) = header(delimiter) else {
            continue;
        };
        if keys.iter().all(|key| names.iter().any(|name| name == key)) {
            let twice = (1..names.len()).find(|at| names[..*at].contains(&names[*at]));
            return match twice {
                None => Ok(FileForm::Csv { delimiter }),
                Some(at) => Err(not_items(
                    &format!(
                        "CSV with two columns {}",
                        sanitize::line(&format!("{:?}", names[at]), sanitize::WORD_CHARS_MAX)
                    ),
                    Advice("rename one of them in its first line"),
                )),
            };
        }
    }
    let has_line = |line: &str| text.starts_with(line) || text.contains(&format!("\n{line}"));
    let mut names = DEFINITION_NAMES.iter();
    if names.any(|name| has_line(&format!("{name}:"))) || has_line(TERRAFORM) {
        return Err(not_items(DEFINITION, Define));
    }
    let by_line = LINE_BEGINNINGS.iter().find(|(line, ..)| has_line(line));
    if let Some((_, what, remedy)) = by_line {
        return Err(not_items(what, *remedy));
    }
    // Lines of which the first is bad.
    if text.contains("\n{") {
        return Ok(FileForm::Json);
    }
    let columns = DELIMITERS
        .iter()
        .filter_map(|delimiter| header(*delimiter))
        .find(|names| names.len() > 1 && !ahead.contains(&0));
    Err(match columns {
        Some(names) => not_items(
            &format!(
                "CSV without a column for each key attribute ({}); its columns are {}",
                keys.join(", "),
                sanitize::line(&names.join(", "), sanitize::WORD_CHARS_MAX),
            ),
            Advice("name the columns of the key in its first line"),
        ),
        None => not_items(
            "neither JSON nor CSV",
            Advice("`ddbfs load --help` lists the forms that can be loaded"),
        ),
    })
}
