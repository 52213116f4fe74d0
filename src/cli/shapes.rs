//! `ddbfs shapes TABLE`: what its items look like.

use super::dump::existing_table;
use super::outcome::print;
use crate::cli::prelude::*;
use crate::fs::mount::texts::pretty;
use crate::fs::path::names::item_path;
use crate::inspect::shapes::{json, markdown, read};
use crate::model::Error;
use crate::model::clock::{Clock as _, SystemClock};

const AFTER_HELP: &str = "\
Keys are generalised to patterns: USER#17 is USER#<n>. Examples:
  ddbfs shapes Orders                        the patterns, with sizes, attributes and indexes
  ddbfs shapes Orders --sample 100000        of about 100,000 items from everywhere in the table
  ddbfs shapes Orders --json | jq -r '.patterns[] | [.items, .partition_key, .sort_key] | @tsv'
A mounted table has the same in shapes.md and shapes.json.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
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

pub fn run(args: ShapesArgs) -> Result<Outcome, CliError> {
    let opened = data_dir::open_to_look(&args.data)?;
    let table = existing_table(&*opened.database, &args.table)?;
    let shapes = read(&*opened.database, &table, args.sample.unwrap_or(u64::MAX), SystemClock.now_ms());
    opened.close();
    let shapes = shapes?.ok_or_else(|| Error::TableNotFound(table.to_string()))?;
    let text = if args.json { pretty(&json(&shapes, item_path)) } else { markdown(&shapes, item_path).into_bytes() };
    print(&text)?;
    Ok(Outcome::Done)
}
