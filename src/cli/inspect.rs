//! Commands that report on a table, with the reports of the layer `inspect`. `ddbfs advise`:
//! advice on the design of keys and indexes, of one table or all. `ddbfs shapes TABLE`: the shapes of its items.

use super::args::SizeArgs;
use super::exit::{print_bytes, warn};
use super::prelude::*;
use crate::engine::EngineOptions;
use crate::fs::mount::text_cache::pretty_json;
use crate::fs::path::names::item_path;
use crate::inspect::advice::{self, AdviceLevel, TableFacts, overview};
use crate::inspect::shapes;
use crate::model::Error;
use crate::model::clock::{Clock as _, SystemClock};

const ADVISE_HELP: &str = "\
Exit code: 0 no warning, 1 a warning, 2 failure.

Example:
  ddbfs advise --json | jq -r '.advice[] | select(.level == \"warning\") | .finding'";

#[derive(Debug, Args)]
#[command(after_help = ADVISE_HELP)]
pub struct AdviseArgs {
    /// The table; all tables without it, the worst first
    table: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    sizes: SizeArgs,
}

pub fn advise(args: AdviseArgs) -> Result<CommandResult, CliError> {
    // 1 means that there is a warning.
    print_advice(args).or_else(|error| {
        warn(format_args!("ddbfs: {error}"));
        Ok(CommandResult::Trouble)
    })
}

fn print_advice(args: AdviseArgs) -> Result<CommandResult, CliError> {
    let opened =
        data_dir::open_passive_with(&args.data, args.sizes.apply(EngineOptions::default())?)?;
    let database = &*opened.database;
    let (all, facts) = match &args.table {
        Some(table) => {
            let table = data_dir::existing_table(database, table)?;
            let facts = TableFacts::read(database, &table)?
                .ok_or_else(|| Error::TableNotFound(table.to_string()))?;
            (vec![overview::TableAdvice::of(&facts)], Some(facts))
        }
        None => (overview::read_all(database)?, None),
    };
    let text = match facts {
        _ if args.json => pretty_json(&overview::json(&all)),
        Some(facts) => advice::markdown(&facts).into_bytes(),
        None => overview::all_markdown(&all).into_bytes(),
    };
    print_bytes(&text)?;
    let is_warned = all
        .iter()
        .any(|table| table.count(AdviceLevel::Warning) > 0);
    Ok(CommandResult::done_if(!is_warned))
}

const SHAPES_HELP: &str = "\
Keys become patterns: USER#17 is USER#<n>. A mounted table has the same text in
shapes.md and shapes.json.

Examples:
  # the patterns, with sizes, attributes and indexes
  ddbfs shapes Orders
  # from about 100,000 items spread over the table
  ddbfs shapes Orders --sample 100000
  ddbfs shapes Orders --json | jq '.patterns[] | {items, partition_key}'";

#[derive(Debug, Args)]
#[command(after_help = SHAPES_HELP)]
pub struct ShapesArgs {
    /// The table
    table: String,
    /// Read about N items of a larger table instead of all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataArgs,
}

pub fn shapes(args: ShapesArgs) -> Result<CommandResult, CliError> {
    let opened = data_dir::open_passive(&args.data)?;
    let table = data_dir::existing_table(&*opened.database, &args.table)?;
    let shapes = shapes::read(
        &*opened.database,
        &table,
        args.sample.unwrap_or(u64::MAX),
        SystemClock.now_ms(),
    )?;
    let shapes = shapes.ok_or_else(|| Error::TableNotFound(table.to_string()))?;
    let text = if args.json {
        pretty_json(&shapes::json(&shapes, item_path))
    } else {
        shapes::markdown(&shapes, item_path).into_bytes()
    };
    print_bytes(&text)?;
    Ok(CommandResult::Done)
}
