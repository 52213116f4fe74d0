//! The files of `ddbfs load`: those named, those of a directory, and the data files of an export,
//! which its manifest lists with their checksums.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::sync::atomic::{AtomicU64, Ordering};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use md5::{Digest, Md5};
use serde_json::Value;

use super::exit::warn;
use crate::cli::prelude::*;
use crate::codec::item_files::compression::decompressed;
use crate::codec::item_files::form::{self, FileForm, NotItems, Remedy};
use crate::codec::item_files::text_reader::TextReader;
use crate::model::TableSchema;

/// The levels of directories that are searched.
const DEPTH_MAX: usize = 16;
/// The longest manifest of an export, and the longest line of its list of files.
const MANIFEST_BYTES_MAX: u64 = 1024 * 1024;
const MANIFEST: &str = "manifest-summary.json";
/// The description of an archive, beside its data.
pub const ARCHIVE_MANIFEST: &str = "manifest.json";
/// The expected access patterns that an archive has of its table.
pub const EXPECTED: &str = "access.expected";

/// A file to load.
pub struct InputFile {
    pub name: Arc<str>,
    /// `None` for standard input.
    path: Option<PathBuf>,
    /// A pipe is opened once.
    opened: Option<OpenFile>,
    /// `None` for a pipe.
    pub bytes: Option<u64>,
    pub manifest: Option<ManifestEntry>,
}

/// The line of a data file in the manifest of an export.
pub struct ManifestEntry {
    md5: String,
    pub items: u64,
}

/// A file at its first item.
pub struct OpenFile {
    pub text: TextReader<Box<dyn Read>>,
    pub form: FileForm,
}

/// The files to load, and sentences on the files of a directory that have no items.
pub struct InputFiles {
    pub files: Vec<InputFile>,
    pub others: Vec<String>,
    /// The bytes read so far, of files as they are stored.
    pub bytes_read: Arc<AtomicU64>,
}

impl InputFiles {
    /// Finds the files and looks at the beginning of each, so that a wrong name leaves the table as
    /// it was.
    pub fn find(paths: &[PathBuf], table: &TableSchema) -> Result<Self, CliError> {
        let mut found = Self {
            files: Vec::new(),
            others: Vec::new(),
            bytes_read: Arc::default(),
        };
        for path in paths {
            if path.is_dir() {
                for file in of_directory(path)? {
                    match found.look(file, table)? {
                        Ok(file) => found.files.push(file),
                        // The manifest of an archive lies beside its data.
                        Err((_, not)) if not.remedy == form::DIRECTORY => {}
                        Err((file, not)) => found.others.push(sentence(&file, &not, table)),
                    }
                }
            } else {
                let file = found.look(named(path)?, table)?;
                let file =
                    file.map_err(|(file, not)| CliError::Message(sentence(&file, &not, table)))?;
                found.files.push(file);
            }
        }
        Ok(found)
    }

    fn look(
        &self,
        mut file: InputFile,
        table: &TableSchema,
    ) -> Result<Result<InputFile, (InputFile, NotItems)>, CliError> {
        // Its manifest says what it is.
        if file.manifest.is_some() {
            return Ok(Ok(file));
        }
        // The bytes that are read here are read again, except of a pipe.
        let counter = match file.bytes {
            Some(_) => Arc::default(),
            None => Arc::clone(&self.bytes_read),
        };
        let opened = file.open(counter, table)?;
        Ok(match opened {
            Err(not) => Err((file, not)),
            Ok(opened) => {
                file.opened = file.bytes.is_none().then_some(opened);
                Ok(file)
            }
        })
    }
}

impl InputFile {
    /// Opens the file; the inner error is what it has instead of items.
    pub fn open(
        &mut self,
        counter: Arc<AtomicU64>,
        table: &TableSchema,
    ) -> Result<Result<OpenFile, NotItems>, CliError> {
        if let Some(opened) = self.opened.take() {
            return Ok(Ok(opened));
        }
        let failed =
            |error: io::Error| CliError::Message(format!("{}: {}", self.name, cause(&error)));
        let input: Box<dyn Read> = match &self.path {
            None => Box::new(io::stdin()),
            Some(path) => Box::new(File::open(path).map_err(failed)?),
        };
        let mut text =
            TextReader::new(decompressed(CountedReader { input, counter }).map_err(failed)?);
        let form = form::detect(&mut text, table).map_err(failed)?;
        Ok(form.map(|form| OpenFile { text, form }))
    }

    /// True if the file is the one that the manifest of its export lists.
    pub fn is_as_listed(&self) -> Result<bool, CliError> {
        let (Some(path), Some(listed)) = (&self.path, &self.manifest) else {
            return Ok(true);
        };
        let mut input = BufReader::new(File::open(path).map_err(CliError::at(path))?);
        let mut md5 = Md5::new();
        loop {
            let piece = input.fill_buf().map_err(CliError::at(path))?;
            if piece.is_empty() {
                return Ok(STANDARD.encode(md5.finalize()) == listed.md5);
            }
            md5.update(piece);
            let read = piece.len();
            input.consume(read);
        }
    }

    /// Returns the file as a word of a shell.
    pub fn shell_word(&self) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
        match &self.path {
            None => "FILE".to_owned(),
            Some(_) if self.name.bytes().all(is_plain) => self.name.to_string(),
            Some(_) => format!("'{}'", self.name.replace('\'', r"'\''")),
        }
    }
}

/// Returns the cause of a failed read.
pub fn cause(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the compressed file is cut short".to_owned(),
        _ => error.to_string(),
    }
}

/// Returns what is said of a file without items.
fn sentence(file: &InputFile, not: &NotItems, table: &TableSchema) -> String {
    let (name, word, what) = (&file.name, file.shell_word(), &not.what);
    match not.remedy {
        Remedy::Define => {
            format!("{name} looks like {what}: `ddbfs import {word}` makes its tables")
        }
        Remedy::Convert(command) => {
            format!(
                "{name} looks like {what}: `{command} {word} | ddbfs load {}` loads its text",
                table.name
            )
        }
        Remedy::Advice(advice) => format!("{name} looks like {what}: {advice}"),
    }
}

/// A reader that counts the bytes of all files.
struct CountedReader {
    input: Box<dyn Read>,
    counter: Arc<AtomicU64>,
}

impl Read for CountedReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(out)?;
        self.counter.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

fn named(path: &Path) -> Result<InputFile, CliError> {
    let is_standard_input = path == Path::new("-");
    let name = match is_standard_input {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    };
    let bytes = match is_standard_input {
        true => None,
        false => {
            let metadata = fs::metadata(path).map_err(CliError::at(path))?;
            metadata.is_file().then_some(metadata.len())
        }
    };
    Ok(InputFile {
        name: name.into(),
        path: (!is_standard_input).then(|| path.to_owned()),
        opened: None,
        bytes,
        manifest: None,
    })
}

/// Returns the data files of the export in a directory, or all files below it.
fn of_directory(directory: &Path) -> Result<Vec<InputFile>, CliError> {
    let (mut files, mut exports) = (Vec::new(), Vec::new());
    walk(directory, 0, &mut files, &mut exports)?;
    match &exports[..] {
        [] if files.is_empty() => Err(said(directory, "the directory has no files to load")),
        [] => files.iter().map(|path| named(path)).collect(),
        [export] => of_export(export),
        [first, ..] => {
            let (count, first) = (exports.len(), first.display());
            let text = format!(
                "{count} exports are below it; name the directories of those to load, in the order of their times, as {first}"
            );
            Err(said(directory, text))
        }
    }
}

fn said(path: &Path, text: impl std::fmt::Display) -> CliError {
    CliError::Message(format!("{}: {text}", path.display()))
}

/// Gathers the files below a directory in the order of their names, and the directories of exports.
fn walk(
    directory: &Path,
    depth: usize,
    files: &mut Vec<PathBuf>,
    exports: &mut Vec<PathBuf>,
) -> Result<(), CliError> {
    let entries = fs::read_dir(directory)
        .and_then(|entries| entries.collect::<io::Result<Vec<_>>>())
        .map_err(CliError::at(directory))?;
    let mut entries: Vec<_> = entries.iter().map(|entry| (entry.path(), entry)).collect();
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (path, entry) in entries {
        let kind = entry.file_type().map_err(CliError::at(&path))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Hidden files, markers such as `_started`, checksums, and an archive's patterns.
        let is_beside = name.starts_with(['.', '_'])
            || name == EXPECTED
            // Its members may be named as the table's key.
            || name == ARCHIVE_MANIFEST && directory.join("data").is_dir()
            || path
                .extension()
                .is_some_and(|of| of == "checksum" || of == "md5");
        if kind.is_dir() && depth < DEPTH_MAX {
            walk(&path, depth + 1, files, exports)?;
        } else if name == MANIFEST {
            exports.push(directory.to_owned());
        } else if !is_beside && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// Reads the summary of the export in a directory.
pub fn summary(directory: &Path) -> Result<Value, CliError> {
    let path = directory.join(MANIFEST);
    serde_json::from_slice(&checked_manifest(&path)?)
        .map_err(|error| said(&path, format!("no JSON: {error}")))
}

/// Returns the data files of an export, all of which must be there.
fn of_export(directory: &Path) -> Result<Vec<InputFile>, CliError> {
    let summary = summary(directory)?;
    let format = summary["outputFormat"].as_str();
    if let Some(format) = format.filter(|format| *format != "DYNAMODB_JSON") {
        let text = format!(
            "the export is in the format {format}; export the table as DYNAMODB_JSON instead"
        );
        return Err(said(&directory.join(MANIFEST), text));
    }
    let path = directory.join("manifest-files.json");
    let lines = checked_manifest(&path)?;
    let mut files = Vec::new();
    for (number, line) in lines.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let line: Value = serde_json::from_slice(line).unwrap_or_default();
        let key = line["dataFileS3Key"].as_str();
        let (Some(name), Some(md5), Some(items)) = (
            key.and_then(|key| Path::new(key).file_name()),
            line["md5Checksum"].as_str(),
            line["itemCount"].as_u64(),
        ) else {
            let number = number + 1;
            let text =
                format!("line {number} does not name a data file with md5Checksum and itemCount");
            return Err(said(&path, text));
        };
        // The data of incremental exports is beside the directory of each.
        let places = [directory.join("data"), directory.join("../data")];
        let data = places.iter().map(|place| place.join(name));
        let Some(data) = data.into_iter().find(|data| data.is_file()) else {
            let text = format!(
                "the export is not complete: its data file {} is missing",
                Path::new("data").join(name).display()
            );
            return Err(said(directory, text));
        };
        files.push(InputFile {
            manifest: Some(ManifestEntry {
                md5: md5.to_owned(),
                items,
            }),
            ..named(&data)?
        });
    }
    let data = directory.join("data");
    if data.is_dir() {
        let mut beside = Vec::new();
        walk(&data, DEPTH_MAX, &mut beside, &mut Vec::new())?;
        beside.retain(|path| files.iter().all(|file| file.path.as_ref() != Some(path)));
        for path in beside {
            let text = said(&path, "left out, as the export's manifest does not list it");
            warn(format_args!("{text}"));
        }
    }
    Ok(files)
}

/// Returns a manifest, after a comparison with its checksum if that is there.
fn checked_manifest(path: &Path) -> Result<Vec<u8>, CliError> {
    let file = File::open(path).map_err(CliError::at(path))?;
    let mut bytes = Vec::new();
    file.take(MANIFEST_BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(CliError::at(path))?;
    if bytes.len() as u64 == MANIFEST_BYTES_MAX {
        return Err(said(path, "the manifest is longer than any export's"));
    }
    for extension in ["checksum", "md5"] {
        let beside = path.with_extension(extension);
        let mut text = String::new();
        let Ok(file) = File::open(&beside) else {
            continue;
        };
        file.take(1024)
            .read_to_string(&mut text)
            .map_err(CliError::at(&beside))?;
        if text.trim() != STANDARD.encode(Md5::digest(&bytes)) {
            let beside = beside.display();
            let text = format!(
                "the MD5 is not that in {beside}: one of the two was changed or is damaged"
            );
            return Err(said(path, text));
        }
    }
    Ok(bytes)
}
