//! `ddbfs archive TABLE --pk VALUE DIR`: writes the items of a key range to a directory and, on
//! request, deletes them from the table.
//!
//! ```text
//! DIR/<Table>-<time>/data/0.json.gz     a line {"Item":{…}} for each, as exports have it: ImportTable reads it
//! DIR/<Table>-<time>/manifest.json      table, range, items, bytes
//! DIR/<Table>-<time>/access.expected    the expected access patterns of the table, if it has some
//! ```
//! An item is deleted only in the version that was written, after all files are durable.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::exit::print_line;
use super::load::InFlight;
use super::load_files;
use crate::cli::prelude::*;
use crate::codec::calendar;
use crate::codec::item_files::rows::value;
use crate::database::{EntryKey, EntryRange, ListPosition, SourceName, TextForm};
use crate::inspect::expected;
use crate::model::api::{Call, Completion, DeleteItemRequest, Precondition, Version};
use crate::model::clock::{Clock, SystemClock};
use crate::model::{AttributeValue, Error, Key, KeySchema, TableName};

/// The most deletes in flight.
const IN_FLIGHT_MAX: usize = 1024;
/// The most bytes of their keys. Keys are small.
const IN_FLIGHT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Keys read at a time, so that no read of the store is long.
const PAGE_KEYS: usize = 1000;

const AFTER_HELP: &str = "\
Write values plainly: a number as digits, a binary in base64.

Examples:
  ddbfs archive Pets --pk Dog --sk-lt M ./archives --delete
  # restore them
  ddbfs load Pets ./archives/Pets-*";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ArchiveArgs {
    /// The table
    table: String,
    /// The directory in which the archive's own directory is made
    #[arg(value_name = "DIR")]
    to: PathBuf,
    /// The partition key value
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pk: String,
    /// Only sort keys from this value on
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    sk_ge: Option<String>,
    /// Only sort keys before this value
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    sk_lt: Option<String>,
    /// Delete the items from the table once they are safe in the archive
    #[arg(long)]
    delete: bool,
    #[command(flatten)]
    data: DataArgs,
}

pub fn run(args: ArchiveArgs) -> Result<CommandResult, CliError> {
    let opened = if args.delete {
        data_dir::open(&args.data)?
    } else {
        data_dir::open_passive(&args.data)?
    };
    archive(opened.database.clone(), &args)
}

/// The key range to archive.
struct ArchiveRange {
    partition: AttributeValue,
    from: Option<AttributeValue>,
    before: Option<AttributeValue>,
}

impl ArchiveRange {
    fn new(args: &ArchiveArgs, schema: &KeySchema) -> Result<Self, CliError> {
        let of = |name: &str, text: &str, attribute_type| {
            value(text, attribute_type)
                .map_err(|error| CliError::Message(format!("{name}: {error}")))
        };
        let sort = |name: &str, text: &Option<String>| match (text, &schema.sort) {
            (None, _) => Ok(None),
            (Some(text), Some(attribute)) => of(name, text, attribute.attribute_type).map(Some),
            (Some(_), None) => Err(CliError::Message(format!(
                "{name}: this table has no sort key"
            ))),
        };
        Ok(Self {
            partition: of("--pk", &args.pk, schema.partition.attribute_type)?,
            from: sort("--sk-ge", &args.sk_ge)?,
            before: sort("--sk-lt", &args.sk_lt)?,
        })
    }

    fn contains(&self, key: &Key) -> bool {
        let Some(sort) = &key.sort else { return true };
        let is = |bound: &Option<AttributeValue>, wanted: fn(std::cmp::Ordering) -> bool| {
            bound
                .as_ref()
                .is_none_or(|bound| sort.compare(bound).is_some_and(wanted))
        };
        is(&self.from, std::cmp::Ordering::is_ge) && is(&self.before, std::cmp::Ordering::is_lt)
    }
}

fn archive(database: Arc<dyn Browse>, args: &ArchiveArgs) -> Result<CommandResult, CliError> {
    let table = data_dir::existing_table(&*database, &args.table)?;
    let schema = data_dir::existing_schema(&*database, &table)?;
    let range = ArchiveRange::new(args, &schema.key)?;
    let now = calendar::iso(SystemClock.now_ms());
    let dir = args
        .to
        .join(format!("{table}-{}", now.replace([':', '.'], "-")));
    fs::create_dir_all(dir.join("data")).map_err(CliError::at(&dir))?;
    let written = write(&*database, &table, &range, &dir.join("data/0.json.gz"))?;
    if let Some((patterns, _)) = expected::stored(&*database, &table)? {
        write_file(&dir.join(load_files::EXPECTED), patterns.as_bytes())?;
    }
    let manifest = json!({
        "table": table.as_str(), "time": now, "pk": args.pk, "sk_ge": args.sk_ge, "sk_lt": args.sk_lt,
        "items": written.versions.len(), "item_bytes": written.item_bytes,
    });
    write_file(
        &dir.join(load_files::ARCHIVE_MANIFEST),
        format!("{manifest:#}\n").as_bytes(),
    )?;
    sync_dirs(&[&dir.join("data"), &dir, &args.to])?;
    print_line!(
        "{}, {}, archived in {}",
        plural(written.versions.len() as u64, "item"),
        plural(written.item_bytes, "byte"),
        dir.display()
    )?;
    if !args.delete {
        return Ok(CommandResult::Done);
    }
    let DeleteTally {
        deleted,
        left,
        failed,
    } = delete(&database, &table, &schema.key, written.versions);
    print_line!(
        "{} deleted, {left} changed meanwhile and left",
        plural(deleted, "item")
    )?;
    failed.map_or(Ok(CommandResult::done_if(left == 0)), |error| {
        Err(error.into())
    })
}

struct ArchivedItems {
    versions: Vec<(Key, Version)>,
    item_bytes: u64,
}

fn write(
    database: &dyn Browse,
    table: &TableName,
    range: &ArchiveRange,
    path: &Path,
) -> Result<ArchivedItems, CliError> {
    let mut out = GzEncoder::new(
        BufWriter::new(File::create(path).map_err(CliError::at(path))?),
        Compression::default(),
    );
    let source = SourceName::from(table);
    let entries = EntryRange::Collection {
        partition: vec![range.partition.clone()],
        sort_prefix: None,
    };
    let mut written = ArchivedItems {
        versions: Vec::new(),
        item_bytes: 0,
    };
    let mut after: Option<ListPosition> = None;
    loop {
        let mut keys: Vec<EntryKey> = Vec::new();
        let (mut last, mut visited) = (None, 0);
        database.entries(&source, &entries, after.as_ref(), &mut |key, _, place| {
            last = Some(ListPosition(place.into()));
            visited += 1;
            if range.contains(&key.base) {
                keys.push(key.clone());
            }
            if visited < PAGE_KEYS {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        for key in keys {
            // Deleted since it was listed: nothing to keep.
            let Some((text, stat)) = database.text(&source, &key, TextForm::DynamoDbJson)? else {
                continue;
            };
            let line = text.strip_suffix(b"\n").unwrap_or(&text);
            for part in [b"{\"Item\":".as_slice(), line, b"}\n"] {
                out.write_all(part).map_err(CliError::at(path))?;
            }
            written.item_bytes += u64::from(stat.item_bytes);
            written.versions.push((key.base, stat.version));
        }
        match last {
            Some(position) => after = Some(position),
            None => break,
        }
    }
    // In this order: the end of the gzip stream, the buffer, the kernel's cache.
    let file = out.finish().map_err(CliError::at(path))?;
    let file = file
        .into_inner()
        .map_err(|error| CliError::at(path)(error.into_error()))?;
    file.sync_all().map_err(CliError::at(path))?;
    Ok(written)
}

fn write_file(path: &Path, content: &[u8]) -> Result<(), CliError> {
    let written = File::create(path).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    written.map_err(CliError::at(path))
}

/// Syncs directories: new names are durable only when their directory is.
fn sync_dirs(dirs: &[&Path]) -> Result<(), CliError> {
    for dir in dirs {
        File::open(dir)
            .and_then(|dir| dir.sync_all())
            .map_err(CliError::at(dir))?;
    }
    Ok(())
}

/// The result of the deletes.
#[derive(Default)]
struct DeleteTally {
    deleted: u64,
    /// Items that changed since they were written out, and were left.
    left: u64,
    /// The first other failure.
    failed: Option<Error>,
}

fn delete(
    database: &Arc<dyn Browse>,
    table: &TableName,
    schema: &KeySchema,
    versions: Vec<(Key, Version)>,
) -> DeleteTally {
    let in_flight = Arc::new(InFlight::<DeleteTally>::new(
        IN_FLIGHT_MAX,
        IN_FLIGHT_BYTES_MAX,
    ));
    for (key, version) in versions {
        if in_flight.update_tally(|deleted| deleted.failed.is_some()) {
            break;
        }
        let key = key.to_item(schema);
        let bytes = key.size();
        let mut request = DeleteItemRequest::new(table.clone(), key);
        request.precondition = Some(Precondition::Version(version));
        in_flight.enter(bytes);
        let in_flight = in_flight.clone();
        let done = Completion::detached(move |outcome| {
            in_flight.update_tally(|deleted| match outcome {
                Ok(_) => deleted.deleted += 1,
                Err(Error::ConditionalCheckFailed { .. }) => deleted.left += 1,
                Err(error) => drop(deleted.failed.get_or_insert(error)),
            });
            in_flight.leave(bytes);
        });
        database.start(Call::DeleteItem(request, done));
    }
    in_flight.wait_for_all()
}
