//! Result files (`items.ndjson`, `items.csv`, `count`): [`ResultReader`] runs the query and renders
//! its rows, a page at a time. The size is known when all of it is made: see
//! [`crate::fs::open::computed`].

use super::{
    context::{self, QueryKind},
    csv::{self, ColumnNames, Columns},
    explain, help, near,
    query_path::{QueryPath, ResultKind, TYPED},
    request::{self, ResolvedClauses, read_rows, request_json},
    row_stream::{RowStep, RowStream},
    token::PageToken,
};
use crate::codec::record::ResultRow;
use crate::database::RowSink;
use crate::fs::{path::names, prelude::*};
use crate::model::api::{ConsumedCapacity, Page};

/// A result file in production, a page at a time.
#[derive(Debug)]
pub struct ResultReader {
    path: QueryPath,
    kind: ResultKind,
    state: ResultState,
    /// `capacity.json` of the whole run, once it is done.
    consumed: Option<Vec<u8>>,
}

#[derive(Debug)]
enum ResultState {
    Start,
    /// The first of two runs, for the header of a CSV file.
    Names(Box<(RowStream, ColumnNames)>),
    Rows(Box<WrittenRows>),
    End,
}

/// The rows that are being written.
#[derive(Debug)]
struct WrittenRows {
    stream: RowStream,
    /// The columns of a CSV file.
    columns: Option<Columns>,
    /// The sum of the steps so far.
    sum: RowStep,
}

impl QueryPath {
    /// Opens a result file; the query runs as it is read.
    #[must_use]
    pub fn open(&self, kind: ResultKind) -> ResultReader {
        ResultReader {
            path: self.clone(),
            kind,
            state: ResultState::Start,
            consumed: None,
        }
    }

    /// Renders the whole result file.
    ///
    /// # Errors
    /// The errors of [`ResultReader::advance`]; `Throttled` when a charge is refused.
    pub fn render(&self, db: &dyn Browse, kind: ResultKind) -> Result<Vec<u8>, FsError> {
        let (mut reader, mut charges, mut out) = (self.open(kind), Vec::new(), Vec::new());
        while reader.advance(db, &mut charges, &mut out)? {}
        charges.iter().try_for_each(DeferredCharge::spend)?;
        Ok(out)
    }
}

impl ResultReader {
    /// Appends the output of one step, a page or the whole of a small file, and the step's charges;
    /// returns false at the end. Each page is its own snapshot. A failed step leaves no trace and
    /// may be tried again.
    ///
    /// # Errors
    /// Errors of the database; [`FsError::Clause`] for a token of another query,
    /// [`FsError::TokenExpired`] for an expired one; [`FsError::NotFound`] for results of one
    /// request below a shortened partition key without entries.
    pub fn advance(
        &mut self,
        db: &dyn Browse,
        charges: &mut Vec<DeferredCharge>,
        out: &mut Vec<u8>,
    ) -> Result<bool, FsError> {
        let marks = (charges.len(), out.len());
        let stepped = self.step(db, charges, out);
        if stepped.is_err() {
            charges.truncate(marks.0);
            out.truncate(marks.1);
        }
        stepped.map(|()| !matches!(self.state, ResultState::End))
    }

    fn step(
        &mut self,
        db: &dyn Browse,
        charges: &mut Vec<DeferredCharge>,
        out: &mut Vec<u8>,
    ) -> Result<(), FsError> {
        match &mut self.state {
            ResultState::End => Ok(()),
            ResultState::Start => self.begin(db, charges, out),
            ResultState::Names(run) => {
                let (stream, names) = &mut **run;
                if read_rows(&mut |row| csv::collect_names(row, names), |rows| {
                    stream.next(db, charges, rows)
                })?
                .is_none()
                {
                    let columns = Columns::of_names(&self.path, std::mem::take(names));
                    self.begin_csv(db, columns, out)?;
                }
                Ok(())
            }
            ResultState::Rows(rows) => {
                let (path, kind) = (&self.path, self.kind);
                let WrittenRows {
                    stream,
                    columns,
                    sum,
                } = &mut **rows;
                let mut before = sum.count;
                let mut take = |row: &ResultRow<'_>| {
                    before += 1;
                    write_row(path, kind, columns.as_ref(), before == 1, row, out)
                };
                match read_rows(&mut take, |rows| stream.next(db, charges, rows))? {
                    Some(step) => sum.add(&step),
                    None => self.finish(out),
                }
                Ok(())
            }
        }
    }

    /// Renders the help, with the names of the first item if there is one.
    fn help(&self, db: &dyn Browse) -> Result<Vec<u8>, FsError> {
        let first = help::first_entry(db, &self.path.source())?;
        Ok(help::text(&self.path, first.as_ref()).into_bytes())
    }

    fn begin(
        &mut self,
        db: &dyn Browse,
        charges: &mut Vec<DeferredCharge>,
        out: &mut Vec<u8>,
    ) -> Result<(), FsError> {
        let whole = match self.kind {
            ResultKind::Help => Some(self.help(db)?),
            ResultKind::RequestJson if self.path.kind() == QueryKind::Near => {
                Some(near::request_json(&self.path, db)?)
            }
            ResultKind::RequestJson => Some(request_json(&self.path, db)?),
            ResultKind::PageJson => Some(page_json(&self.path, db, charges)?),
            ResultKind::Next => Some(next_text(&self.path, db, charges)?),
            ResultKind::ExplainJson if self.path.kind() == QueryKind::Near => {
                Some(near::explain_json(&self.path, db)?)
            }
            ResultKind::ExplainJson => Some(explain::explain_json(&self.path, db)?),
            _ => None,
        };
        if let Some(whole) = whole {
            out.extend_from_slice(&whole);
            self.state = ResultState::End;
            return Ok(());
        }
        let stream = match self.kind {
            ResultKind::ItemsCsv => {
                if let Some(columns) = Columns::selected(&self.path) {
                    return self.begin_csv(db, columns, out);
                }
                let stream = self.path.stream(db, &|_| {})?;
                self.state = ResultState::Names(Box::new((stream, ColumnNames::new())));
                return Ok(());
            }
            ResultKind::Count => self.path.chain(db, &request::count_only)?,
            ResultKind::Keys => self.path.stream(db, &|request| request.projection = None)?,
            _ => self.path.stream(db, &|_| {})?,
        };
        self.state = ResultState::Rows(Box::new(WrittenRows {
            stream,
            columns: None,
            sum: RowStep::default(),
        }));
        Ok(())
    }

    /// Returns `capacity.json` of the whole run, once, after its end.
    pub fn take_consumed(&mut self) -> Option<Vec<u8>> {
        self.consumed.take()
    }

    /// Writes the header and starts the records. The request projects only the attributes of the
    /// columns.
    fn begin_csv(
        &mut self,
        db: &dyn Browse,
        columns: Columns,
        out: &mut Vec<u8>,
    ) -> Result<(), FsError> {
        let selects = self.path.clauses.select.is_some();
        let stream = self.path.stream(db, &|request| {
            if selects {
                request.projection = Some(columns.projection());
            }
        })?;
        columns.write_header(out);
        self.state = ResultState::Rows(Box::new(WrittenRows {
            stream,
            columns: Some(columns),
            sum: RowStep::default(),
        }));
        Ok(())
    }

    /// Writes the text after the last row.
    fn finish(&mut self, out: &mut Vec<u8>) {
        let ResultState::Rows(rows) = std::mem::replace(&mut self.state, ResultState::End) else {
            return;
        };
        let mut consumed = Vec::new();
        write_capacity(&self.path, &rows.sum, &mut consumed);
        match self.kind {
            ResultKind::ItemsJson if rows.sum.count == 0 => out.extend_from_slice(b"[]\n"),
            ResultKind::ItemsJson => out.extend_from_slice(b"\n]\n"),
            ResultKind::Count => out.extend_from_slice(format!("{}\n", rows.sum.count).as_bytes()),
            ResultKind::CapacityJson => out.extend_from_slice(&consumed),
            _ => {}
        }
        self.consumed = Some(consumed);
    }
}

/// Appends one row; the first of a file differs in its separator.
fn write_row(
    path: &QueryPath,
    kind: ResultKind,
    columns: Option<&Columns>,
    is_first: bool,
    row: &ResultRow<'_>,
    out: &mut Vec<u8>,
) -> Result<(), FsError> {
    let typed = kind == ResultKind::ItemsDdbJson || path.clauses.has(TYPED);
    match kind {
        ResultKind::ItemsNdjson | ResultKind::ItemsDdbJson => {
            context::write_item(row, path.context(), typed, out)?;
            out.push(b'\n');
        }
        ResultKind::ItemsJson => {
            out.extend_from_slice(if is_first { b"[\n" } else { b",\n" });
            context::write_item(row, path.context(), typed, out)?;
        }
        ResultKind::ItemsCsv => {
            debug_assert!(columns.is_some(), "a CSV file has columns");
            if let Some(columns) = columns {
                columns.write_row(row, out)?;
            }
        }
        ResultKind::Keys => {
            let entry = context::entry_key(row, path.context())?;
            out.extend_from_slice(names::item_path(&entry.base).as_bytes());
            out.push(b'\n');
        }
        _ => {}
    }
    Ok(())
}

/// Renders `page.json`: one request, one line.
fn page_json(
    path: &QueryPath,
    db: &dyn Browse,
    charges: &mut Vec<DeferredCharge>,
) -> Result<Vec<u8>, FsError> {
    let resolved = path.resolve_one(db, "page.json")?;
    let mut out = b"{\"Items\":[".to_vec();
    let start = out.len();
    let mut take = |row: &ResultRow<'_>| {
        if out.len() > start {
            out.push(b',');
        }
        context::write_item(row, path.context(), path.clauses.has(TYPED), &mut out)
    };
    let page = request::read_rows(&mut take, |rows| read(path, &resolved, db, charges, rows))?;
    let end = json!({
        "Count": page.count,
        "ScannedCount": page.scanned_count,
        "next": next_token(path, &resolved, &page)?,
        "ConsumedCapacity": capacity_json(path, &page.consumed_capacity),
    });
    out.extend_from_slice(b"],");
    // Without its opening brace.
    out.extend_from_slice(&end.to_string().as_bytes()[1..]);
    out.push(b'\n');
    Ok(out)
}

/// Renders `next`: the token after that page and a newline, or nothing after the last page.
fn next_text(
    path: &QueryPath,
    db: &dyn Browse,
    charges: &mut Vec<DeferredCharge>,
) -> Result<Vec<u8>, FsError> {
    let resolved = path.resolve_one(db, "next")?;
    let page = read(path, &resolved, db, charges, &mut |_| {})?;
    Ok(next_token(path, &resolved, &page)?
        .map(|token| token + "\n")
        .unwrap_or_default()
        .into_bytes())
}

fn read(
    path: &QueryPath,
    resolved: &ResolvedClauses,
    db: &dyn Browse,
    charges: &mut Vec<DeferredCharge>,
    rows: &mut RowSink<'_>,
) -> Result<Page, FsError> {
    let request = path.build_request(resolved, path.start(resolved, db)?)?;
    request::read_page(&request, db, charges, rows)
}

fn next_token(
    path: &QueryPath,
    resolved: &ResolvedClauses,
    page: &Page,
) -> Result<Option<String>, FsError> {
    page.last_evaluated_key
        .as_ref()
        .map(|last| Ok(PageToken::new(resolved.check, last, path.scope(resolved))?.text()))
        .transpose()
}

/// Appends `capacity.json`: the consumption of the whole run.
pub(super) fn write_capacity(path: &QueryPath, sum: &RowStep, out: &mut Vec<u8>) {
    let mut all =
        json!({ "Requests": sum.requests, "Count": sum.count, "ScannedCount": sum.scanned });
    all["ConsumedCapacity"] = capacity_json(path, &sum.capacity);
    out.extend_from_slice(all.to_string().as_bytes());
    out.push(b'\n');
}

/// Returns the consumed units: their sum, and by table and index; of a search, its bytes.
fn capacity_json(path: &QueryPath, consumed: &ConsumedCapacity) -> Value {
    let ConsumedCapacity {
        table,
        global_indexes,
        local_indexes,
        vector_indexes,
    } = consumed;
    if path.kind() == QueryKind::Near {
        let bytes: f64 = vector_indexes.values().sum();
        return json!({ "VectorSearchRequestBytes": bytes });
    }
    let mut out = json!({
        "TableName": path.schema.name.as_str(),
        "CapacityUnits": consumed.total(),
        "Table": { "CapacityUnits": table },
    });
    for (member, units) in [
        ("GlobalSecondaryIndexes", global_indexes),
        ("LocalSecondaryIndexes", local_indexes),
    ] {
        if !units.is_empty() {
            let units = units
                .iter()
                .map(|(name, units)| (name.clone(), json!({ "CapacityUnits": units })));
            out[member] = Value::Object(units.collect());
        }
    }
    out
}
