//! Commands on the data directory itself. `ddbfs check` compares the pages of the data file, the
//! log, and every index entry, collection and counter with the items. `ddbfs compact` returns free
//! pages of the data file to the disk. `ddbfs sample` creates the example tables with their data.

use super::exit::{print_line, print_text};
use super::prelude::*;
use crate::database::Database;
use crate::database::samples::sample_tables;
use crate::engine::check;
use crate::model::Error;
use crate::model::api::PutItemRequest;
use crate::model::error::StoreError;
use crate::store::lmdb::Compaction;

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    data: DirArgs,
    /// Taken only to be refused with the commands that have it
    #[arg(long, hide = true)]
    salvage: bool,
}

pub fn check(args: &CheckArgs) -> Result<CommandResult, CliError> {
    if args.salvage {
        return Err(CliError::Usage(
            "check changes nothing, and does not salvage: run `ddbfs dump`, `ddbfs serve` or `ddbfs mount` with --salvage, then `ddbfs check`".into(),
        ));
    }
    let opened = data_dir::open_offline(&args.data)?;
    opened.warn_unfinished()?;
    opened.store.check().map_err(Error::from)?;
    let report = check::check(opened.database.engine())?;
    let text: String = report
        .differences
        .iter()
        .map(|difference| format!("{difference}\n"))
        .collect();
    let remedy = report
        .remedy
        .map(|remedy| format!("{remedy}\n"))
        .unwrap_or_default();
    let total = format!(
        "{}, {}, {}: {}\n",
        plural(report.tables, "table"),
        plural(report.items, "item"),
        plural(report.index_entries, "index entry"),
        plural(report.total, "difference")
    );
    print_text(&(text + &remedy + &total))?;
    Ok(CommandResult::done_if(report.is_clean()))
}

/// Return the free pages of the data file to the disk. Deleted items leave free pages in the file,
/// which later writes reuse; the file itself never shrinks. No process may have the data directory
/// open; a mount that starts meanwhile waits for the end. The used part is copied to a new file,
/// which replaces the old one when it is whole: if interrupted at any moment, the data is as it
/// was.
#[derive(Debug, Args)]
pub struct CompactArgs {
    #[command(flatten)]
    data: DirArgs,
}

pub fn compact(args: &CompactArgs) -> Result<CommandResult, CliError> {
    let dir = data_dir::resolve(&args.data)?;
    let cannot = |why: String| {
        CliError::Message(format!(
            "cannot compact the data directory {}: {why}",
            dir.display()
        ))
    };
    let store = |error: StoreError| match error {
        StoreError::Io(why) => cannot(why),
        other => cannot(other.to_string()),
    };
    // Not `data_dir::open`: no process may have the directory open, not even this one.
    let compaction = Compaction::begin(&dir).map_err(store)?;
    let (before, needed, free) = (
        compaction.before_bytes,
        compaction.needed_bytes,
        compaction.free_bytes,
    );
    if free < needed {
        let (needed, free) = (megabytes(needed), megabytes(free));
        return Err(cannot(format!(
            "the copy needs {needed} on its disk, where {free} are free; free some space first"
        )));
    }
    print_line!(
        "{} before; the copy takes up to {} of the {} free on the disk",
        megabytes(before),
        megabytes(needed),
        megabytes(free)
    )?;
    print_line!("{} after", megabytes(compaction.run().map_err(store)?))?;
    Ok(CommandResult::Done)
}

/// Formats as `12.3 MB`, of a million bytes each.
fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[derive(Debug, Args)]
pub struct SampleArgs {
    #[command(flatten)]
    data: DataArgs,
}

pub fn sample(args: SampleArgs) -> Result<CommandResult, CliError> {
    let opened = data_dir::open_or_create(&args.data)?;
    for (request, items) in sample_tables() {
        let name = request.table_name.clone();
        // A table that exists is skipped, whatever it contains: its present content belongs to the
        // user.
        if opened.database.schema(&name)?.is_some() {
            print_line!("{name}: there already, left as it is")?;
            continue;
        }
        opened.database.create_table(request)?;
        let count = items.len();
        for item in items {
            opened
                .database
                .put_item(PutItemRequest::new(name.clone(), item))?;
        }
        print_line!("{name}: {}", plural(count as u64, "item"))?;
    }
    Ok(CommandResult::Done)
}
