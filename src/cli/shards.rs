//! `ddbfs shards`: write-sharded partition keys: how many suffixes, and which belongs to a value.

use clap::Subcommand;

use super::outcome::say;
use crate::cli::prelude::*;
use crate::inspect::sharding::{SHARDS_MAX, calculated_suffix, shards};

const AFTER_HELP: &str = "\
Examples:
  ddbfs shards count --writes 5000 --item-bytes 1536      10: writes a second x item KB, rounded up, / 1000
  ddbfs shards suffix Client1_Trans1 --of 10              the suffix to write the item with, and to read it back by
  cat 'mnt/Invoices/query/@pk.shards=121212-,1,5/items.ndjson'     reads 121212-1 to 121212-5 as one";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ShardsArgs {
    #[command(subcommand)]
    command: ShardsCommand,
}

#[derive(Debug, Subcommand)]
enum ShardsCommand {
    /// How many suffixes a partition key value needs.
    Count {
        /// Writes of that value in a second, at peak
        #[arg(long, value_name = "N")]
        writes: u64,
        /// Bytes of an item
        #[arg(long, value_name = "BYTES", default_value_t = 1024)]
        item_bytes: u64,
    },
    /// The suffix, 1 to N, that is calculated from another attribute of the item.
    Suffix {
        /// The attribute's value
        value: String,
        /// Number of suffixes
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=SHARDS_MAX))]
        of: u64,
    },
}

pub fn run(args: ShardsArgs) -> Result<Outcome, CliError> {
    let answer = match args.command {
        ShardsCommand::Count { writes, item_bytes } => shards(writes, item_bytes).ok_or_else(|| {
            CliError::Message(format!(
                "{writes} writes of {item_bytes} bytes need more than {SHARDS_MAX} suffixes, more than a table may take; use smaller items or several tables"
            ))
        })?,
        ShardsCommand::Suffix { value, of } => calculated_suffix(&value, of),
    };
    say!("{answer}")?;
    Ok(Outcome::Done)
}
