//! `ddbfs index …`: creates, deletes and shows the global indexes of a table, while other processes
//! may have the data directory open.
//!
//! The creation of an index goes on in any process that has the directory open, including this one;
//! if there is none, in the next one. `engine::index_life` carries it out.

use clap::Subcommand;

use super::exit::print_line;
use super::progress::BackfillProgress;
use crate::cli::prelude::*;
use crate::fs::write::index_draft;
use crate::model::ApiEnum;
use crate::model::api::tables::IndexUpdate;
use crate::model::api::{IndexDescription, TableDescription, UpdateTableRequest};
use crate::model::{Error, IndexKind, IndexName, TableName};

/// The longest time between two checks of the index.
const POLL_PERIOD: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ddbfs index create Orders by-status status:S created:S include=total,owner
  ddbfs index status Orders
  ddbfs index drop Orders by-status")]
pub struct IndexArgs {
    #[command(subcommand)]
    command: IndexCommand,
}

#[derive(Debug, Args)]
struct TableArgs {
    /// The table
    table: String,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Debug, Args)]
struct IndexNameArgs {
    #[command(flatten)]
    table: TableArgs,
    /// The index
    index: String,
}

#[derive(Debug, Subcommand)]
enum IndexCommand {
    /// Create a global index and wait until it is ACTIVE
    Create {
        #[command(flatten)]
        one: IndexNameArgs,
        /// Keys with their types, the partition key first (status:S created:N), and the projection:
        /// all (the default), keys, or include=a,b
        #[arg(required = true)]
        words: Vec<String>,
        /// Do not wait; the work goes on while any process has the data directory open
        #[arg(long)]
        no_wait: bool,
    },
    /// Drop a global index and wait until it is gone
    Drop {
        #[command(flatten)]
        one: IndexNameArgs,
        /// Do not wait; the work goes on while any process has the data directory open
        #[arg(long)]
        no_wait: bool,
    },
    /// Show the indexes of a table: state, entries, progress, violations, lag
    Status(TableArgs),
}

pub fn run(args: IndexArgs) -> Result<CommandResult, CliError> {
    let data = &args.command.table().data;
    let opened = match args.command {
        IndexCommand::Status(_) => data_dir::open_passive(data)?,
        _ => data_dir::open(data)?,
    };
    perform(&*opened.database, args.command)
}

impl IndexCommand {
    fn table(&self) -> &TableArgs {
        match self {
            Self::Create { one, .. } | Self::Drop { one, .. } => &one.table,
            Self::Status(of) => of,
        }
    }
}

fn perform(database: &dyn Browse, command: IndexCommand) -> Result<CommandResult, CliError> {
    let table = data_dir::existing_table(database, &command.table().table)?;
    match command {
        IndexCommand::Create {
            one: IndexNameArgs { index, .. },
            words,
            no_wait,
        } => {
            let schema = data_dir::existing_schema(database, &table)?;
            let words: Vec<&str> = std::iter::once(index.as_str())
                .chain(words.iter().map(String::as_str))
                .collect();
            let request = index_draft::parse_words(&schema, &words)
                .map_err(|error| CliError::Message(error.to_string()))?;
            update(database, request)?;
            if no_wait {
                report(database, &table, &index)
            } else {
                wait(database, &table, &index)
            }
        }
        IndexCommand::Drop {
            one: IndexNameArgs { index, .. },
            no_wait,
        } => {
            let name = IndexName::new(&index).map_err(|error| {
                CliError::Message(format!("{index:?} is no index name: {error}"))
            })?;
            let mut request = UpdateTableRequest::new(table.clone());
            request.index_updates = Some(vec![IndexUpdate {
                delete: Some(name),
                ..IndexUpdate::default()
            }]);
            update(database, request)?;
            if no_wait {
                report(database, &table, &index)
            } else {
                wait(database, &table, &index)
            }
        }
        IndexCommand::Status(_) => status(database, &table),
    }
}

fn update(database: &dyn Browse, request: UpdateTableRequest) -> Result<(), CliError> {
    Ok(database.update_table(request).map(drop)?)
}

fn describe(database: &dyn Browse, table: &TableName) -> Result<TableDescription, CliError> {
    Ok(database
        .describe(table)?
        .ok_or_else(|| Error::TableNotFound(table.to_string()))?)
}

/// Returns the state of an index; `None` if there is none of that name.
fn index_state(
    database: &dyn Browse,
    table: &TableName,
    index: &str,
) -> Result<Option<IndexDescription>, CliError> {
    let description = describe(database, table)?;
    let mut indexes = description.schema.indexes.iter().zip(description.indexes);
    Ok(indexes
        .find(|(schema, _)| schema.name.as_str() == index)
        .map(|(_, state)| state))
}

/// Follows an index until it is active or gone.
fn wait(database: &dyn Browse, table: &TableName, index: &str) -> Result<CommandResult, CliError> {
    let progress = BackfillProgress::new(index);
    let followed = follow(database, table, index, &progress);
    progress.finish();
    followed?;
    report(database, table, index)
}

fn follow(
    database: &dyn Browse,
    table: &TableName,
    index: &str,
    progress: &BackfillProgress,
) -> Result<(), CliError> {
    loop {
        // The commit id is read before the index is: a commit in between ends the wait at once.
        let commit = database.commit_id();
        match index_state(database, table, index)? {
            None => return Ok(()),
            Some(state) if progress.show(&state).is_break() => return Ok(()),
            Some(_) => {}
        }
        database.wait_for_commit(commit, POLL_PERIOD)?;
    }
}

/// Prints the state of an index.
fn report(
    database: &dyn Browse,
    table: &TableName,
    index: &str,
) -> Result<CommandResult, CliError> {
    let Some(state) = index_state(database, table, index)? else {
        print_line!("{index}: gone")?;
        return Ok(CommandResult::Done);
    };
    let of = state
        .progress
        .map(|of| format!(", {} % of the backfill", of.percent()))
        .unwrap_or_default();
    print_line!(
        "{index}: {}{of}, {}",
        state.status.as_str(),
        plural(state.item_count, "entry")
    )?;
    if state.violations > 0 {
        print_line!(
            "a value that cannot be its key keeps {} out: ddbfs violations tells which",
            plural(state.violations, "item")
        )?;
    }
    Ok(CommandResult::Done)
}

fn status(database: &dyn Browse, table: &TableName) -> Result<CommandResult, CliError> {
    let description = describe(database, table)?;
    for (schema, state) in description.schema.indexes.iter().zip(&description.indexes) {
        let kind = match schema.kind {
            IndexKind::Global => "global",
            IndexKind::Local => "local",
            IndexKind::Vector => "vector",
        };
        let percent = state
            .progress
            .map(|of| format!("  {} %", of.percent()))
            .unwrap_or_default();
        let violations = if state.violations > 0 {
            format!("  {}", plural(state.violations, "violation"))
        } else {
            String::new()
        };
        let (status, entries, bytes) = (
            state.status.as_str(),
            state.item_count,
            state.index_size_bytes,
        );
        print_line!(
            "{:<24} {kind:<6} {status:<8} {entries:>10} entries {bytes:>12} bytes{percent}{violations}",
            schema.name.as_str()
        )?;
    }
    if let Some(lag) = description.index_lag {
        let paused = if lag.is_paused { ", paused" } else { "" };
        print_line!(
            "the global indexes lag by {} ms, {} writes{paused}",
            lag.lag_ms,
            lag.pending
        )?;
    }
    Ok(CommandResult::Done)
}
