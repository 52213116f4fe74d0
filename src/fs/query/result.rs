//! Result files: what they hold, how large they are, and reading them.
//!
//! # Size
//! Only `help` has a size that is known without the database. The others report 0 and are opened with direct I/O, like the files of
//! /proc: a lookup, which the kernel makes with every `stat`, must not run the query, and a size that was true at lookup could be wrong
//! at read. `cat`, `jq`, `head`, `tail`, `wc`, `cp`, `sort` and `grep` read such a file to its end; `test -s`, `tar` and readers that
//! map a file into memory take it for empty, so these files are never listed.

use super::csv::{self, Columns, Names};
use super::request_json::request_json;
use super::source::cursor_attributes;
use super::stream::{Step, Stream};
use super::{QueryPath, explain, help, page, row};
use crate::codec::row::Row;
use crate::database::Browse;
use crate::fs::FsError;
use crate::model::Error;

/// The result files. They exist for lookup only and are never listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// Plain JSON, an item a line; DynamoDB JSON below a `typed` clause.
    ItemsNdjson,
    /// A JSON array, an item a line; DynamoDB JSON below a `typed` clause.
    ItemsJson,
    /// DynamoDB JSON, an item a line.
    ItemsDdbJson,
    /// A header and a record an item: see `csv`.
    ItemsCsv,
    /// Base items' paths relative to the table's directory, one a line, safe for `xargs`.
    Keys,
    /// The number of results and a newline.
    Count,
    /// One page of the API: `Items`, `Count`, `ScannedCount`, `next` (for `after=`, or null), `ConsumedCapacity`. One snapshot.
    PageJson,
    /// The token after that page, for `after=`, and a newline; empty when it is the last.
    Next,
    /// The API request, as `aws dynamodb query --cli-input-json` takes it.
    RequestJson,
    /// What the query reads and costs, before it runs.
    ExplainJson,
    /// The units that reading all of it consumes; reading this file runs the query.
    CapacityJson,
    /// How to write these paths, with the table's own attribute names.
    Help,
}

impl ResultKind {
    pub const ALL: [Self; 12] = [
        Self::ItemsNdjson,
        Self::ItemsJson,
        Self::ItemsDdbJson,
        Self::ItemsCsv,
        Self::Keys,
        Self::Count,
        Self::PageJson,
        Self::Next,
        Self::RequestJson,
        Self::ExplainJson,
        Self::CapacityJson,
        Self::Help,
    ];

    /// The file's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ItemsNdjson => "items.ndjson",
            Self::ItemsJson => "items.json",
            Self::ItemsDdbJson => "items.ddbjson",
            Self::ItemsCsv => "items.csv",
            Self::Keys => "keys",
            Self::Count => "count",
            Self::PageJson => "page.json",
            Self::Next => "next",
            Self::RequestJson => "request.json",
            Self::ExplainJson => "explain.json",
            Self::CapacityJson => "capacity.json",
            Self::Help => "help",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What `stat` shows as a result file's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultSize {
    Exact(u64),
    /// Not known before the query ran: report 0 and open with direct I/O, as /proc does.
    Unknown,
}

/// Bytes kept behind the offset that is read, for a reader that looks back a little.
const KEPT_BYTES: u64 = 1 << 20;

/// An open result file.
#[derive(Debug)]
pub struct ResultReader {
    path: QueryPath,
    kind: ResultKind,
    progress: Progress,
    /// The bytes from `start` on that were made so far and not forgotten.
    buffer: Vec<u8>,
    start: u64,
    /// What the whole run consumed, once it is done.
    consumed: Option<Vec<u8>>,
}

#[derive(Debug)]
enum Progress {
    Start,
    /// The first of two runs, for the header of a CSV file.
    Names(Box<(Stream, Names)>),
    Rows(Box<Rows>),
    End,
}

/// Rows that are being written.
#[derive(Debug)]
struct Rows {
    stream: Stream,
    /// Of a CSV file.
    columns: Option<Columns>,
    /// What was read so far.
    sum: Step,
}

/// Asked between two steps whether anybody still waits for the bytes.
pub type Wanted<'a> = dyn Fn() -> bool + 'a;

impl QueryPath {
    /// The size of a result file. Asks no database.
    #[must_use]
    pub fn size(&self, kind: ResultKind) -> ResultSize {
        match kind {
            ResultKind::Help => ResultSize::Exact(help::text(self.context()).len() as u64),
            ResultKind::ItemsNdjson
            | ResultKind::ItemsJson
            | ResultKind::ItemsDdbJson
            | ResultKind::ItemsCsv
            | ResultKind::Keys
            | ResultKind::Count
            | ResultKind::PageJson
            | ResultKind::Next
            | ResultKind::RequestJson
            | ResultKind::ExplainJson
            | ResultKind::CapacityJson => ResultSize::Unknown,
        }
    }

    /// Opens a result file; the query runs as it is read.
    #[must_use]
    pub fn open(&self, kind: ResultKind) -> ResultReader {
        ResultReader { path: self.clone(), kind, progress: Progress::Start, buffer: Vec::new(), start: 0, consumed: None }
    }

    /// The whole result file.
    ///
    /// # Errors
    /// As [`ResultReader::read`].
    pub fn render(&self, db: &dyn Browse, kind: ResultKind) -> Result<Vec<u8>, FsError> {
        let mut reader = self.open(kind);
        while !matches!(reader.progress, Progress::End) {
            reader.advance(db)?;
        }
        Ok(reader.buffer)
    }
}

impl ResultReader {
    /// The bytes at `offset`, at most `size`: those of the next step that has any, none exactly at the end. Made for reading forward:
    /// memory stays at a page or two; going back further runs the query again. Each page is its own snapshot.
    ///
    /// # Errors
    /// What the database says; [`FsError::Clause`] for a token of another query, [`FsError::TokenExpired`] for an expired one;
    /// [`FsError::NotFound`] for results of one request below a shortened partition key without entries;
    /// [`FsError::Interrupted`] when nobody wants the bytes any more.
    pub fn read(&mut self, db: &dyn Browse, offset: u64, size: usize, wanted: &Wanted<'_>) -> Result<&[u8], FsError> {
        if offset < self.start {
            *self = self.path.open(self.kind);
        }
        while !matches!(self.progress, Progress::End) && self.start + (self.buffer.len() as u64) <= offset {
            if !wanted() {
                return Err(FsError::Interrupted);
            }
            self.forget_before(offset);
            self.advance(db)?;
        }
        let end = offset.saturating_add(size as u64);
        let at = |offset: u64| usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX).min(self.buffer.len());
        Ok(self.buffer.get(at(offset)..at(end)).unwrap_or_default())
    }

    fn forget_before(&mut self, offset: u64) {
        let surplus = offset.saturating_sub(KEPT_BYTES).saturating_sub(self.start).min(self.buffer.len() as u64);
        if surplus > 0 {
            self.buffer.drain(..usize::try_from(surplus).unwrap_or(usize::MAX));
            self.start += surplus;
        }
    }

    /// One step: a page, or the whole of a small file. A failed step leaves no trace and may be tried again.
    fn advance(&mut self, db: &dyn Browse) -> Result<(), FsError> {
        match &mut self.progress {
            Progress::End => Ok(()),
            Progress::Start => self.begin(db),
            Progress::Names(run) => {
                let (stream, names) = &mut **run;
                if whole_step(stream, db, &mut |row| csv::gather(row, names))?.is_none() {
                    let columns = Columns::of_names(&self.path, std::mem::take(names));
                    self.begin_csv(db, columns)?;
                }
                Ok(())
            }
            Progress::Rows(rows) => {
                let (path, kind, buffer) = (&self.path, self.kind, &mut self.buffer);
                let Rows { stream, columns, sum } = &mut **rows;
                let (mark, mut before) = (buffer.len(), sum.count);
                let step = whole_step(stream, db, &mut |row| {
                    before += 1;
                    write_row(path, kind, columns.as_ref(), (before == 1, row), buffer)
                });
                match step.inspect_err(|_| self.buffer.truncate(mark))? {
                    Some(step) => sum.add(&step),
                    None => self.finish(),
                }
                Ok(())
            }
        }
    }

    fn begin(&mut self, db: &dyn Browse) -> Result<(), FsError> {
        let stream = match self.kind {
            ResultKind::Help => return self.whole(help::text(self.path.context()).into_bytes()),
            ResultKind::RequestJson => return self.whole(request_json(&self.path.request(db)?)?),
            ResultKind::PageJson => return self.whole(page::page_json(&self.path, db)?),
            ResultKind::Next => return self.whole(page::next(&self.path, db)?),
            ResultKind::ExplainJson => return self.whole(explain::explain_json(&self.path, db)?),
            ResultKind::ItemsCsv => {
                match Columns::selected(&self.path) {
                    Some(columns) => self.begin_csv(db, columns)?,
                    None => {
                        let stream = self.path.stream(db, &|_| {})?;
                        self.progress = Progress::Names(Box::new((stream, Names::new())));
                    }
                }
                return Ok(());
            }
            ResultKind::Count => self.path.chain(db, &|request| request.count_only())?,
            ResultKind::Keys => self.path.stream(db, &|request| request.whole_entries())?,
            ResultKind::ItemsNdjson | ResultKind::ItemsJson | ResultKind::ItemsDdbJson | ResultKind::CapacityJson => {
                self.path.stream(db, &|_| {})?
            }
        };
        self.progress = Progress::Rows(Box::new(Rows { stream, columns: None, sum: Step::default() }));
        Ok(())
    }

    /// What the whole run consumed, as `capacity.json` says it, once after its end.
    pub fn take_consumed(&mut self) -> Option<Vec<u8>> {
        self.consumed.take()
    }

    fn whole(&mut self, bytes: Vec<u8>) -> Result<(), FsError> {
        self.buffer = bytes;
        self.progress = Progress::End;
        Ok(())
    }

    /// The header, and then the records. Only what the columns are in is asked for.
    fn begin_csv(&mut self, db: &dyn Browse, columns: Columns) -> Result<(), FsError> {
        let selects = self.path.clauses.select.is_some();
        let stream = self.path.stream(db, &|request| {
            if selects {
                request.project(&columns.heads());
            }
        })?;
        columns.write_header(&mut self.buffer);
        self.progress = Progress::Rows(Box::new(Rows { stream, columns: Some(columns), sum: Step::default() }));
        Ok(())
    }

    /// What follows the last row.
    fn finish(&mut self) {
        let Progress::Rows(rows) = std::mem::replace(&mut self.progress, Progress::End) else { return };
        let mut consumed = Vec::new();
        page::write_capacity(&self.path, &rows.sum, &mut consumed);
        self.consumed = Some(consumed);
        match self.kind {
            ResultKind::ItemsJson if rows.sum.count == 0 => self.buffer.extend_from_slice(b"[]\n"),
            ResultKind::ItemsJson => self.buffer.extend_from_slice(b"\n]\n"),
            ResultKind::Count => self.buffer.extend_from_slice(format!("{}\n", rows.sum.count).as_bytes()),
            ResultKind::CapacityJson => page::write_capacity(&self.path, &rows.sum, &mut self.buffer),
            _ => {}
        }
    }
}

/// One step of a stream, whose rows may be refused: then the step failed.
fn whole_step(
    stream: &mut Stream,
    db: &dyn Browse,
    take: &mut dyn FnMut(&Row<'_>) -> Result<(), FsError>,
) -> Result<Option<Step>, FsError> {
    let mut fault = None;
    let step = stream.next(db, &mut |row| {
        if fault.is_none() {
            fault = take(&row).err();
        }
    })?;
    fault.map_or(Ok(step), Err)
}

/// Appends one row, given with whether it is the first.
fn write_row(
    path: &QueryPath,
    kind: ResultKind,
    columns: Option<&Columns>,
    (is_first, row): (bool, &Row<'_>),
    out: &mut Vec<u8>,
) -> Result<(), FsError> {
    match kind {
        ResultKind::ItemsNdjson => {
            write_item(path, path.clauses.typed, row, out)?;
            out.push(b'\n');
        }
        ResultKind::ItemsDdbJson => {
            write_item(path, true, row, out)?;
            out.push(b'\n');
        }
        ResultKind::ItemsJson => {
            out.extend_from_slice(if is_first { b"[\n" } else { b",\n" });
            write_item(path, path.clauses.typed, row, out)?;
        }
        ResultKind::ItemsCsv => {
            if let Some(columns) = columns {
                columns.write_row(row, out)?;
            }
        }
        ResultKind::Keys => {
            let entry = row::entry_key(row, path.context())?;
            out.extend_from_slice(path.base_path(&entry).as_bytes());
            out.push(b'\n');
        }
        ResultKind::Count
        | ResultKind::PageJson
        | ResultKind::Next
        | ResultKind::RequestJson
        | ResultKind::ExplainJson
        | ResultKind::CapacityJson
        | ResultKind::Help => {}
    }
    Ok(())
}

/// Appends one item, no newline.
pub(super) fn write_item(path: &QueryPath, typed: bool, row: &Row<'_>, out: &mut Vec<u8>) -> Result<(), FsError> {
    if typed {
        return Ok(row.write_dynamodb_json(out).map_err(Error::from)?);
    }
    match row {
        // A record has its order in itself.
        Row::Record(record) => record.write_plain_json(out),
        Row::Item(_) => {
            let cursor = cursor_attributes(&path.schema, path.index_schema());
            let first: Vec<&str> = cursor.iter().map(|attribute| attribute.name.as_str()).collect();
            row.write_plain_json(&first, out)
        }
    }
    .map_err(Error::from)?;
    if out.last() == Some(&b'\n') {
        out.pop();
    }
    Ok(())
}
