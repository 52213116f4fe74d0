//! `ddbfs load TABLE [FILE…]`: puts NDJSON into a table, with many puts in flight so that they
//! share commits (group commit). `ddbfs dump TABLE`: prints every item, one JSON object a line, in
//! the table's key order.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Write};

use parking_lot::{Condvar, Mutex};

use super::args::DurabilityArgs;
use super::exit::print_line;
use super::prelude::*;
use super::progress::ProgressLine;
use crate::codec::plain_json;
use crate::engine::EngineOptions;
use crate::model::api::{Call, Completion, PutItemRequest, ScanRequest};
use crate::model::{Error, Item, TableName};

/// The most puts in flight: enough to fill the next group commit while one is in progress.
const IN_FLIGHT_MAX: usize = 4096;
/// The most bytes of their texts.
const IN_FLIGHT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The longest line: an item of 400 KB fits in any JSON form.
const LINE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The most bad lines that are printed; the rest are counted.
const REPORTS_MAX: u64 = 100;

#[derive(Debug, Args)]
pub struct LoadArgs {
    /// The table; it must exist
    table: String,
    /// NDJSON files, one item a line, plain JSON or DynamoDB JSON; - or none: standard input
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
    let files = if args.files.is_empty() {
        vec![PathBuf::from("-")]
    } else {
        args.files
    };
    // All are opened before anything is put: a wrong name leaves the table as it was.
    let sources = files
        .iter()
        .map(|path| open_source(path))
        .collect::<Result<Vec<_>, _>>()?;
    let total = sources
        .iter()
        .map(|source| source.bytes)
        .sum::<Option<u64>>();

    let mut loader = Loader::new(
        opened.database.clone(),
        table,
        ProgressLine::of_bytes(total),
    );
    // The error is returned later: if a file cannot be read to its end, puts are still in flight.
    let read = sources
        .into_iter()
        .try_for_each(|source| loader.load(source));
    let (stored, bad) = loader.finish();
    drop(opened);
    read?;
    print_line!(
        "{} loaded, {}",
        plural(stored, "item"),
        plural(bad, "bad line")
    )?;
    Ok(if bad == 0 {
        CommandResult::Done
    } else {
        CommandResult::Failed
    })
}

struct InputFile {
    name: String,
    reader: Box<dyn BufRead>,
    /// `None` for a pipe.
    bytes: Option<u64>,
}

fn open_source(path: &Path) -> Result<InputFile, CliError> {
    if path == Path::new("-") {
        return Ok(InputFile {
            name: "standard input".into(),
            reader: Box::new(BufReader::new(std::io::stdin())),
            bytes: None,
        });
    }
    let name = path.display().to_string();
    let file = File::open(path).map_err(CliError::io(name.clone()))?;
    let metadata = file.metadata().map_err(CliError::io(name.clone()))?;
    if metadata.is_dir() {
        return Err(CliError::Message(format!(
            "{name} is a directory; name NDJSON files"
        )));
    }
    let bytes = metadata.is_file().then_some(metadata.len());
    Ok(InputFile {
        name,
        reader: Box::new(BufReader::with_capacity(1 << 20, file)),
        bytes,
    })
}

/// The counts so far.
#[derive(Default)]
struct LoadTally {
    stored: u64,
    bad: u64,
}

struct Loader {
    database: Arc<dyn Browse>,
    table: TableName,
    progress: Arc<ProgressLine>,
    in_flight: Arc<InFlight<LoadTally>>,
    bytes_read: u64,
}

impl Loader {
    fn new(database: Arc<dyn Browse>, table: TableName, progress: ProgressLine) -> Self {
        Self {
            database,
            table,
            progress: Arc::new(progress),
            in_flight: Arc::new(InFlight::new(IN_FLIGHT_MAX, IN_FLIGHT_BYTES_MAX)),
            bytes_read: 0,
        }
    }

    fn load(&mut self, mut source: InputFile) -> Result<(), CliError> {
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            let limited = &mut source.reader.by_ref().take(LINE_BYTES_MAX);
            let read = limited
                .read_until(b'\n', &mut line)
                .map_err(CliError::io(source.name.clone()))?;
            if read == 0 {
                return Ok(());
            }
            self.bytes_read += read as u64;
            if read as u64 == LINE_BYTES_MAX && line.last() != Some(&b'\n') {
                self.report_bad(
                    &source.name,
                    number,
                    "the line is longer than any item can be",
                );
                self.skip_line(&mut source)?;
                continue;
            }
            if !line.trim_ascii().is_empty() {
                self.load_line(&source.name, number, &line);
            }
        }
        Ok(())
    }

    /// Reads to the end of an overlong line, in bounded memory.
    fn skip_line(&mut self, source: &mut InputFile) -> Result<(), CliError> {
        loop {
            let buffer = source
                .reader
                .fill_buf()
                .map_err(CliError::io(source.name.clone()))?;
            let end = buffer.iter().position(|&byte| byte == b'\n');
            let used = end.map_or(buffer.len(), |at| at + 1);
            if used == 0 {
                return Ok(());
            }
            source.reader.consume(used);
            self.bytes_read += used as u64;
            if end.is_some() {
                return Ok(());
            }
        }
    }

    fn load_line(&self, source: &str, number: u64, line: &[u8]) {
        match plain_json::parse_line(line) {
            Ok(item) => self.put(source, number, line.len(), item),
            Err(error) => self.report_bad(source, number, &error.to_string()),
        }
    }

    fn put(&self, source: &str, number: u64, bytes: usize, item: Item) {
        self.in_flight.enter(bytes);
        let (in_flight, progress) = (Arc::clone(&self.in_flight), Arc::clone(&self.progress));
        // The position in the file at this put: the bar shows stored items, not queued ones.
        let (source, bytes_read) = (source.to_owned(), self.bytes_read);
        self.database.start(Call::PutItem(
            PutItemRequest::new(self.table.clone(), item),
            Completion::detached(move |outcome| {
                match outcome {
                    Ok(_) => {
                        let stored = in_flight.update_tally(|tally| {
                            tally.stored += 1;
                            tally.stored
                        });
                        progress.update(bytes_read, stored.to_string());
                    }
                    Err(error) => {
                        report(&in_flight, &progress, &source, number, &error.to_string())
                    }
                }
                // Last: `finish` reads the tally when nothing is in flight.
                in_flight.leave(bytes);
            }),
        ));
    }

    fn report_bad(&self, source: &str, number: u64, text: &str) {
        report(&self.in_flight, &self.progress, source, number, text);
    }

    /// Waits for every put; returns the numbers of stored items and of bad lines.
    fn finish(self) -> (u64, u64) {
        let LoadTally { stored, bad } = self.in_flight.wait_for_all();
        self.progress.finish();
        (stored, bad)
    }
}

fn report(
    in_flight: &InFlight<LoadTally>,
    progress: &ProgressLine,
    source: &str,
    number: u64,
    text: &str,
) {
    let bad = in_flight.update_tally(|tally| {
        tally.bad += 1;
        tally.bad
    });
    if bad <= REPORTS_MAX {
        progress.line(&format!("{source}:{number}: {text}"));
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
    let schema = database
        .schema(&table)?
        .ok_or_else(|| Error::TableNotFound(table.to_string()))?;
    let first: Vec<&str> = schema
        .key
        .attributes()
        .map(|attribute| attribute.name.as_str())
        .collect();
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
