//! `ddbfs advise TABLE`: advice on the design of its keys and indexes.

use super::dump::existing_table;
use super::model_args::SizeArgs;
use super::outcome::print;
use crate::cli::prelude::*;
use crate::engine::EngineOptions;
use crate::inspect::advice::{Facts, markdown};
use crate::model::Error;

#[derive(Debug, Args)]
pub struct AdviseArgs {
    /// The table
    table: String,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    sizes: SizeArgs,
}

pub fn run(args: AdviseArgs) -> Result<Outcome, CliError> {
    let opened = data_dir::open_to_look_with(&args.data, args.sizes.apply(EngineOptions::default())?)?;
    let table = existing_table(&*opened.database, &args.table)?;
    let facts = Facts::read(&*opened.database, &table);
    opened.close();
    let facts = facts?.ok_or_else(|| Error::TableNotFound(table.to_string()))?;
    print(markdown(&facts).as_bytes())?;
    Ok(Outcome::Done)
}
