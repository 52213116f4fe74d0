//! `ddbfs load TABLE [FILE…]`: puts the items of files into a table, with many puts in flight so
//! that they share commits (group commit); `load_files` finds the files. `ddbfs dump TABLE`: prints
//! every item, one JSON object a line, in the table's key order.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Read as _, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};

use super::args::DurabilityArgs;
use super::exit::{print_line, warn};
use super::load_files::{EXPECTED, InputFile, InputFiles, OpenFile, cause};
use super::prelude::*;
use super::progress::ProgressLine;
use crate::codec::count::plural;
use crate::codec::item_files::form::FileForm;
use crate::codec::item_files::rows::{Columns, CsvRows};
use crate::codec::item_files::{EntryPlace, FileEntry, FileError, items};
use crate::engine::EngineOptions;
use crate::inspect::expected;
use crate::model::api::{
    Call, CallContext, Completion, DeleteItemRequest, PutItemRequest, ScanRequest,
};
use crate::model::limits::SAVED_REQUEST_BYTES_MAX;
use crate::model::{Error, Item, TableName, TableSchema};

/// The most puts in flight: enough to fill the next group commit while one is in progress.
const IN_FLIGHT_MAX: usize = 4096;
/// The most bytes of their texts.
const IN_FLIGHT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The most bad lines that are printed; the rest are counted.
const REPORTS_MAX: u64 = 10;

const LOAD_HELP: &str = "\
A file's content decides what it is, not its name; each may be compressed with gzip or Zstandard:
  items one after the other or in a list, plain or as DynamoDB JSON; what `ddbfs dump` and `ddbfs archive` write
  output of `aws dynamodb` scan, query, get-item, batch-get-item, transact-get-items
  requests of put-item, batch-write-item, transact-write-items: puts put, deletes delete; those for other tables are left out
  lines of full and incremental exports; in the latter, an item without NewImage is deleted
  CSV with a header: key attributes have the types of the table and its indexes, all others are strings, an empty cell is no
  attribute; in `typed/items.csv` of a mount every cell has its type
A directory is an export with its manifest, whose checksums are compared, or all files below it.

Examples:
  ddbfs load Orders orders.ndjson more.json.gz
  aws dynamodb scan --table-name Orders | ddbfs load Orders
  ddbfs load Orders AWSDynamoDB/01693685827463-2d8752fd";

#[derive(Debug, Args)]
#[command(after_help = LOAD_HELP)]
pub struct LoadArgs {
    /// The table; it must exist
    table: String,
    /// Files, and directories of files or of an export; - or none: standard input
    files: Vec<PathBuf>,
    #[command(flatten)]
    durability: DurabilityArgs,
    #[command(flatten)]
    data: DataArgs,
}

pub fn load(args: LoadArgs) -> Result<CommandResult, CliError> {
    let opened = data_dir::open_existing_with(
        &args.data,
        EngineOptions::default(),
        args.durability.durability,
    )?;
    let table = data_dir::existing_table(&*opened.database, &args.table)?;
    let schema = data_dir::existing_schema(&*opened.database, &table)?;
    let paths = if args.files.is_empty() {
        vec![PathBuf::from("-")]
    } else {
        args.files
    };
    let found = InputFiles::find(&paths, &schema)?;
    let (tally, files_bad) = load_files(opened.database.clone(), table, &schema, found);
    for path in &paths {
        keep_patterns(&*opened.database, &schema, &path.join(EXPECTED));
    }
    drop(opened);
    let mut said = format!("{} loaded", plural(tally.stored, "item"));
    if tally.deleted > 0 {
        said += &format!(", {} deleted", tally.deleted);
    }
    said += &format!(", {}", plural(tally.bad, "bad line"));
    if files_bad > 0 {
        let end = if files_bad == 1 { "its" } else { "their" };
        said += &format!(
            ", {} not loaded or not to {end} end",
            plural(files_bad, "file")
        );
    }
    print_line!("{said}")?;
    Ok(CommandResult::done_if(tally.bad == 0 && files_bad == 0))
}

/// Keeps the expected access patterns of an archive with a table that has none.
fn keep_patterns(database: &dyn Browse, schema: &TableSchema, path: &Path) {
    if !path.is_file() {
        return;
    }
    let (mut text, limit) = (String::new(), SAVED_REQUEST_BYTES_MAX as u64 + 1);
    let read = File::open(path).and_then(|file| file.take(limit).read_to_string(&mut text));
    let read = read.map_err(|error| error.to_string());
    if let Err(why) = read.and_then(|_| expected::keep(database, schema, &text)) {
        warn(format_args!("{}: {why}", path.display()));
    }
}

/// Loads the files into the table; returns the counts, and the number of files of which something
/// was not read. Bad lines and files are reported.
pub fn load_files(
    database: Arc<dyn Browse>,
    table: TableName,
    schema: &TableSchema,
    found: InputFiles,
) -> (LoadTally, u64) {
    let total = found.files.iter().map(|file| file.bytes).sum();
    let mut loader = Loader {
        database,
        table,
        progress: Arc::new(ProgressLine::of_bytes(total)),
        in_flight: Arc::new(InFlight::new(IN_FLIGHT_MAX, IN_FLIGHT_BYTES_MAX)),
        bytes_read: found.bytes_read,
        files_bad: 0,
    };
    for other in &found.others {
        loader.report_file(other);
    }
    for file in found.files {
        loader.load(file, schema);
    }
    let files_bad = loader.files_bad;
    (loader.finish(), files_bad)
}

/// The counts so far.
#[derive(Debug, Default)]
pub struct LoadTally {
    pub stored: u64,
    pub deleted: u64,
    pub bad: u64,
}

struct Loader {
    database: Arc<dyn Browse>,
    table: TableName,
    progress: Arc<ProgressLine>,
    in_flight: Arc<InFlight<LoadTally>>,
    bytes_read: Arc<AtomicU64>,
    /// The number of files of which something was not read.
    files_bad: u64,
}

impl Loader {
    /// Loads a file; what cannot be read of it is reported, and the next file is loaded all the
    /// same.
    fn load(&mut self, mut file: InputFile, schema: &TableSchema) {
        match file.is_as_listed() {
            Err(error) => return self.report_file(&error.to_string()),
            Ok(false) => {
                let name = &file.name;
                return self.report_file(&format!(
                    "{name}: not loaded, as its MD5 is not that in the export's manifest"
                ));
            }
            Ok(true) => {}
        }
        let OpenFile { mut text, form } = match file.open(Arc::clone(&self.bytes_read), schema) {
            Ok(Ok(opened)) => opened,
            Ok(Err(not)) => {
                let text = format!("{}: not loaded, as it looks like {}", file.name, not.what);
                return self.report_file(&text);
            }
            Err(error) => return self.report_file(&error.to_string()),
        };
        let (mut entries, mut others): (u64, Vec<String>) = (0, Vec::new());
        let mut take = |place, bytes, entry| {
            match entry {
                FileEntry::OtherTable(name) => {
                    if !others.contains(&name) {
                        self.tell_other_table(&file, &name);
                        others.push(name);
                    }
                    return Ok(());
                }
                FileEntry::Put(item) => self.write(&file.name, place, bytes, item, true),
                FileEntry::Delete(key) => self.write(&file.name, place, bytes, key, false),
                FileEntry::Bad(fault) => {
                    report(&self.in_flight, &self.progress, &file.name, place, &fault);
                }
            }
            entries += 1;
            Ok(())
        };
        let (read, line) = match form {
            FileForm::Json => {
                let read = items::read(&mut text, schema, &mut take);
                (read, text.line)
            }
            FileForm::Csv { delimiter } => {
                let columns = Columns {
                    header: None,
                    typed: &schema.attribute_definitions(),
                    is_json_read: true,
                };
                let mut rows = CsvRows::new(text, delimiter);
                let read = columns.read(&mut rows, &mut take);
                (read, rows.line)
            }
        };
        let listed = file.manifest.as_ref().map(|listed| listed.items);
        let name = &file.name;
        match read {
            Err(error) => {
                let error = match &error {
                    FileError::Io(error) => cause(error),
                    error => error.to_string(),
                };
                self.report_file(&format!(
                    "{name}:{line}: {error}; the rest of the file is not loaded"
                ));
            }
            Ok(()) if listed.is_some_and(|items| items != entries) => {
                let items = listed.unwrap_or_default();
                self.report_file(&format!(
                    "{name}: the export's manifest lists {items} items, the file has {entries}"
                ));
            }
            Ok(()) if entries == 0 && !others.is_empty() => self.files_bad += 1,
            Ok(()) => {}
        }
    }

    /// Starts the put of an item, or the deletion of that of a key.
    fn write(&self, name: &Arc<str>, place: EntryPlace, bytes: usize, item: Item, is_put: bool) {
        self.in_flight.enter(bytes);
        let (in_flight, progress) = (Arc::clone(&self.in_flight), Arc::clone(&self.progress));
        // The position in the file at this put: the bar shows stored items, not queued ones.
        let bytes_read = self.bytes_read.load(Ordering::Relaxed);
        let name = Arc::clone(name);
        let done = move |failed: Option<Error>| {
            match failed {
                None => {
                    let stored = in_flight.update_tally(|tally| {
                        tally.stored += u64::from(is_put);
                        tally.deleted += u64::from(!is_put);
                        tally.stored
                    });
                    progress.update(bytes_read, stored.to_string());
                }
                Some(error) => report(&in_flight, &progress, &name, place, &error.to_string()),
            }
            // Last: `finish` reads the tally when nothing is in flight.
            in_flight.leave(bytes);
        };
        let (table, context) = (self.table.clone(), CallContext::bulk());
        self.database.start(if is_put {
            let done = Completion::new(context, move |outcome| done(outcome.err()));
            Call::PutItem(PutItemRequest::new(table, item), done)
        } else {
            let done = Completion::new(context, move |outcome| done(outcome.err()));
            Call::DeleteItem(DeleteItemRequest::new(table, item), done)
        });
    }

    /// Reports a file that is not loaded, or not to its end.
    fn report_file(&mut self, text: &str) {
        self.files_bad += 1;
        self.progress.line(text);
    }

    fn tell_other_table(&self, file: &InputFile, name: &str) {
        let command = TableName::new(name.rsplit('/').next().unwrap_or(name))
            .map(|table| format!("; `ddbfs load {table} {}` loads them", file.shell_word()));
        self.progress.line(&format!(
            "{}: requests or items of the table {name:?} are left out{}",
            file.name,
            command.unwrap_or_default()
        ));
    }

    /// Waits for every write.
    fn finish(self) -> LoadTally {
        let tally = self.in_flight.wait_for_all();
        self.progress.finish();
        tally
    }
}

fn report(
    in_flight: &InFlight<LoadTally>,
    progress: &ProgressLine,
    name: &str,
    place: EntryPlace,
    text: &str,
) {
    let bad = in_flight.update_tally(|tally| {
        tally.bad += 1;
        tally.bad
    });
    if bad <= REPORTS_MAX {
        progress.line(&format!("{name}:{place}: {text}"));
    } else if bad == REPORTS_MAX + 1 {
        progress.line("more bad lines follow; they are counted only");
    }
}

/// A counting semaphore for the writes in flight, which limits their number and their bytes: they
/// enter when they are queued and leave when they have ended. `T` is the tally of their results.
#[derive(Debug)]
pub struct InFlight<T> {
    writes_max: usize,
    bytes_max: usize,
    state: Mutex<InFlightCounts<T>>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct InFlightCounts<T> {
    writes: usize,
    bytes: usize,
    tally: T,
}

impl<T: Default> InFlight<T> {
    pub fn new(writes_max: usize, bytes_max: usize) -> Self {
        Self {
            writes_max,
            bytes_max,
            state: Mutex::default(),
            left: Condvar::new(),
        }
    }

    /// Waits until there is room. A single write always has.
    pub fn enter(&self, bytes: usize) {
        let full = |now: &mut InFlightCounts<T>| {
            now.writes > 0 && (now.writes >= self.writes_max || now.bytes + bytes > self.bytes_max)
        };
        let mut now = self.state.lock();
        self.left.wait_while(&mut now, full);
        now.writes += 1;
        now.bytes += bytes;
    }

    /// Notes the end of a write of `bytes`. Its result is in the tally.
    pub fn leave(&self, bytes: usize) {
        let mut now = self.state.lock();
        debug_assert!(
            now.writes > 0 && now.bytes >= bytes,
            "a write leaves that did not enter"
        );
        now.writes = now.writes.saturating_sub(1);
        now.bytes = now.bytes.saturating_sub(bytes);
        self.left.notify_all();
    }

    /// Updates the tally.
    pub fn update_tally<R>(&self, note: impl FnOnce(&mut T) -> R) -> R {
        note(&mut self.state.lock().tally)
    }

    /// Waits until every write has ended; returns the tally.
    pub fn wait_for_all(&self) -> T {
        let mut now = self.state.lock();
        self.left.wait_while(&mut now, |now| now.writes > 0);
        std::mem::take(&mut now.tally)
    }
}

#[derive(Debug, Args)]
pub struct DumpArgs {
    /// The table
    table: String,
    /// Write DynamoDB JSON ({"a":{"S":"x"}}) instead of plain JSON
    #[arg(long)]
    typed: bool,
    #[command(flatten)]
    data: DataArgs,
}

pub fn dump(args: DumpArgs) -> Result<CommandResult, CliError> {
    let opened = data_dir::open_passive(&args.data)?;
    let table = data_dir::existing_table(&*opened.database, &args.table)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = write_items(&*opened.database, table, args.typed, &mut out)
        .and_then(|()| out.flush().map_err(CliError::io("standard output")));
    drop(out);
    match written {
        // `ddbfs dump T | head` is no failure.
        Err(CliError::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe => {
            Ok(CommandResult::Done)
        }
        Err(error) => Err(error),
        Ok(()) => Ok(CommandResult::Done),
    }
}

fn write_items(
    database: &dyn Browse,
    table: TableName,
    typed: bool,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let schema = data_dir::existing_schema(database, &table)?;
    let first = schema.key.names();
    let mut request = ScanRequest::new(table);
    loop {
        let mut text = Vec::new();
        let mut rendered = Ok(());
        let page = database.scan_rows(&request, &mut |row| {
            let line = if typed {
                row.write_dynamodb_json(&mut text)
                    .map(|()| text.push(b'\n'))
            } else {
                row.write_plain_json(&first, &mut text)
            };
            if rendered.is_ok() {
                rendered = line;
            }
        })?;
        rendered.map_err(Error::from)?;
        out.write_all(&text)
            .map_err(CliError::io("standard output"))?;
        match page.last_evaluated_key {
            Some(key) => request.exclusive_start_key = Some(key),
            None => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::thread;

    #[test]
    fn a_write_waits_for_room_in_number_and_in_bytes() {
        for (writes_max, bytes_max) in [(2, 100), (100, 20)] {
            let in_flight = Arc::new(InFlight::<()>::new(writes_max, bytes_max));
            in_flight.enter(10);
            in_flight.enter(10);
            let (sender, receiver) = channel();
            let other = Arc::clone(&in_flight);
            let waiting = thread::spawn(move || {
                other.enter(10);
                sender.send(()).unwrap();
            });
            assert!(
                receiver
                    .recv_timeout(std::time::Duration::from_millis(20))
                    .is_err()
            );
            in_flight.leave(10);
            waiting.join().unwrap();
            in_flight.leave(10);
            in_flight.leave(10);
            in_flight.wait_for_all();
        }
    }

    #[test]
    fn a_write_larger_than_the_room_goes_alone() {
        let in_flight = InFlight::<()>::new(10, 20);
        in_flight.enter(1_000);
        in_flight.leave(1_000);
        in_flight.wait_for_all();
    }
}
