//! Result files: what they hold, how large they are, and reading them.
//!
//! # Size
//! Only `help` has a size that is known without the database. The others report 0 and are opened with direct I/O, like the files of
//! /proc: a lookup, which the kernel makes with every `stat`, must not run the query, and a size that was true at lookup could be wrong
//! at read. `cat`, `jq`, `head`, `tail`, `wc`, `cp`, `sort` and `grep` read such a file to its end; `test -s`, `tar` and readers that
//! map a file into memory take it for empty, so these files are never listed.

use super::QueryPath;
use super::help;
use super::pages::Pages;
use super::request::request_json;
use super::row;
use super::source::cursor_attributes;
use super::token::Token;
use crate::codec::row::Row;
use crate::database::Browse;
use crate::fs::FsError;
use crate::model::Error;
use crate::model::api::{ConsumedCapacity, Page, ReturnConsumedCapacity};

/// The result files. They exist for lookup only and are never listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// Plain JSON, an item a line; DynamoDB JSON below a `typed` clause.
    ItemsNdjson,
    /// A JSON array, an item a line; DynamoDB JSON below a `typed` clause.
    ItemsJson,
    /// DynamoDB JSON, an item a line.
    ItemsDdbJson,
    /// Base items' paths relative to the table's directory, one a line, safe for `xargs`.
    Keys,
    /// The number of results and a newline.
    Count,
    /// One page of the API: `Items`, `Count`, `ScannedCount`, `next` (for `after=`, or null), `ConsumedCapacity`. One snapshot.
    PageJson,
    /// The API request, as `aws dynamodb query --cli-input-json` takes it.
    RequestJson,
    /// How to write these paths, with the table's own attribute names.
    Help,
}

impl ResultKind {
    pub const ALL: [Self; 8] = [
        Self::ItemsNdjson,
        Self::ItemsJson,
        Self::ItemsDdbJson,
        Self::Keys,
        Self::Count,
        Self::PageJson,
        Self::RequestJson,
        Self::Help,
    ];

    /// The file's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ItemsNdjson => "items.ndjson",
            Self::ItemsJson => "items.json",
            Self::ItemsDdbJson => "items.ddbjson",
            Self::Keys => "keys",
            Self::Count => "count",
            Self::PageJson => "page.json",
            Self::RequestJson => "request.json",
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
    /// Results so far.
    rows: u64,
}

#[derive(Debug)]
enum Progress {
    Start,
    Pages(Box<Pages>),
    End,
}

impl QueryPath {
    /// The size of a result file. Asks no database.
    #[must_use]
    pub fn size(&self, kind: ResultKind) -> ResultSize {
        match kind {
            ResultKind::Help => ResultSize::Exact(help::text(self.context()).len() as u64),
            ResultKind::ItemsNdjson
            | ResultKind::ItemsJson
            | ResultKind::ItemsDdbJson
            | ResultKind::Keys
            | ResultKind::Count
            | ResultKind::PageJson
            | ResultKind::RequestJson => ResultSize::Unknown,
        }
    }

    /// Opens a result file; the query runs as it is read.
    #[must_use]
    pub fn open(&self, kind: ResultKind) -> ResultReader {
        ResultReader { path: self.clone(), kind, progress: Progress::Start, buffer: Vec::new(), start: 0, rows: 0 }
    }

    /// The whole result file.
    ///
    /// # Errors
    /// As [`ResultReader::read`].
    pub fn render(&self, db: &dyn Browse, kind: ResultKind) -> Result<Vec<u8>, FsError> {
        let mut reader = self.open(kind);
        reader.read(db, 0, usize::MAX)?;
        Ok(reader.buffer)
    }
}

impl ResultReader {
    /// The bytes at `offset`, at most `size`; fewer only at the end. Made for reading forward: memory stays at a page or two; going
    /// back further runs the query again. Each page is its own snapshot.
    ///
    /// # Errors
    /// What the database says; [`FsError::Clause`] for a token of another query, [`FsError::TokenExpired`] for an expired one;
    /// [`FsError::NotFound`] for `page.json` and `request.json` below a shortened partition key without entries.
    pub fn read(&mut self, db: &dyn Browse, offset: u64, size: usize) -> Result<&[u8], FsError> {
        if offset < self.start {
            *self = self.path.open(self.kind);
        }
        let end = offset.saturating_add(size as u64);
        while !matches!(self.progress, Progress::End) && self.start + (self.buffer.len() as u64) < end {
            self.forget_before(offset);
            self.advance(db)?;
        }
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
            Progress::Pages(pages) => {
                let mark = (self.buffer.len(), self.rows);
                let mut fault = None;
                let (path, kind, buffer, rows) = (&self.path, self.kind, &mut self.buffer, &mut self.rows);
                let outcome = pages.next(db, &mut |row| {
                    if fault.is_none() {
                        fault = write_row(path, kind, &row, *rows, buffer).err();
                        *rows += 1;
                    }
                });
                match (outcome, fault) {
                    (Ok(Some(page)), None) => {
                        if kind == ResultKind::Count {
                            self.rows = mark.1 + page.count;
                        }
                        Ok(())
                    }
                    (Ok(None), _) => {
                        self.finish();
                        Ok(())
                    }
                    (Err(error), _) | (Ok(Some(_)), Some(error)) => {
                        self.buffer.truncate(mark.0);
                        self.rows = mark.1;
                        Err(error)
                    }
                }
            }
        }
    }

    fn begin(&mut self, db: &dyn Browse) -> Result<(), FsError> {
        match self.kind {
            ResultKind::Help => self.buffer = help::text(self.path.context()).into_bytes(),
            ResultKind::RequestJson => self.buffer = request_json(&self.path.request(db)?)?,
            ResultKind::PageJson => self.buffer = page_json(&self.path, db)?,
            ResultKind::ItemsNdjson | ResultKind::ItemsJson | ResultKind::ItemsDdbJson | ResultKind::Keys | ResultKind::Count => {
                return self.begin_pages(db);
            }
        }
        self.progress = Progress::End;
        Ok(())
    }

    fn begin_pages(&mut self, db: &dyn Browse) -> Result<(), FsError> {
        let mut request = match self.path.request(db) {
            Ok(request) => request,
            // A shortened partition key without entries: an empty result.
            Err(FsError::NotFound) => {
                self.finish();
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        match self.kind {
            ResultKind::Count => request.count_only(),
            ResultKind::Keys => request.whole_entries(),
            _ => {}
        }
        self.progress = Progress::Pages(Box::new(Pages::new(request, self.path.items_max(), None)));
        Ok(())
    }

    /// What follows the last row.
    fn finish(&mut self) {
        match self.kind {
            ResultKind::ItemsJson if self.rows == 0 => self.buffer.extend_from_slice(b"[]\n"),
            ResultKind::ItemsJson => self.buffer.extend_from_slice(b"\n]\n"),
            ResultKind::Count => self.buffer.extend_from_slice(format!("{}\n", self.rows).as_bytes()),
            _ => {}
        }
        self.progress = Progress::End;
    }
}

/// Appends one row; `before` rows came before it.
fn write_row(path: &QueryPath, kind: ResultKind, row: &Row<'_>, before: u64, out: &mut Vec<u8>) -> Result<(), FsError> {
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
            out.extend_from_slice(if before == 0 { b"[\n" } else { b",\n" });
            write_item(path, path.clauses.typed, row, out)?;
        }
        ResultKind::Keys => {
            let entry = row::entry_key(row, path.context())?;
            out.extend_from_slice(path.base_path(&entry).as_bytes());
            out.push(b'\n');
        }
        ResultKind::Count | ResultKind::PageJson | ResultKind::RequestJson | ResultKind::Help => {}
    }
    Ok(())
}

/// Appends one item, no newline.
fn write_item(path: &QueryPath, typed: bool, row: &Row<'_>, out: &mut Vec<u8>) -> Result<(), FsError> {
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

/// `page.json`: one request, one line.
fn page_json(path: &QueryPath, db: &dyn Browse) -> Result<Vec<u8>, FsError> {
    let resolved = path.resolve(db)?;
    let mut request = path.build_request(&resolved, path.start(&resolved, db)?);
    request.set_capacity(ReturnConsumedCapacity::Indexes);
    let mut out = b"{\"Items\":[".to_vec();
    let mut fault = None;
    let mut first = true;
    let page = Pages::new(request, path.items_max(), None).next(db, &mut |row| {
        if fault.is_none() {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            fault = write_item(path, path.clauses.typed, &row, &mut out).err();
        }
    })?;
    if let Some(fault) = fault {
        return Err(fault);
    }
    // A page of at least one item was asked for, so there is one.
    let Some(page) = page else { return Err(FsError::Invalid("limit")) };
    let next = page.last_evaluated_key.as_ref().map(|last| Token::new(resolved.check, last, path.scope(&resolved)).text());
    write_page_end(&page, next.as_deref(), &mut out);
    Ok(out)
}

fn write_page_end(page: &Page, next: Option<&str>, out: &mut Vec<u8>) {
    let end = serde_json::json!({
        "Count": page.count,
        "ScannedCount": page.scanned_count,
        "next": next,
        "ConsumedCapacity": capacity_json(page),
    });
    out.extend_from_slice(b"],");
    out.extend_from_slice(end.to_string().get(1..).unwrap_or_default().as_bytes());
    out.push(b'\n');
}

fn capacity_json(page: &Page) -> serde_json::Value {
    let ConsumedCapacity { table, global_indexes, local_indexes } = &page.consumed_capacity;
    let mut out = serde_json::json!({
        "TableName": page.table_name.as_str(),
        "CapacityUnits": page.consumed_capacity.total(),
        "Table": { "CapacityUnits": table },
    });
    for (member, units) in [("GlobalSecondaryIndexes", global_indexes), ("LocalSecondaryIndexes", local_indexes)] {
        if !units.is_empty() {
            let units = units.iter().map(|(name, units)| (name.clone(), serde_json::json!({ "CapacityUnits": units })));
            out[member] = serde_json::Value::Object(units.collect());
        }
    }
    out
}
