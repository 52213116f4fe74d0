//! `ddbfs what-if TABLE`: another key, index or billing mode, tried on the items and the load of a
//! table. `inspect::advice::what_if` has the trial.

use std::num::NonZeroU32;

use clap::ArgGroup;

use super::exit::print_bytes;
use crate::cli::prelude::*;
use crate::inspect::advice::what_if::{self, IndexPlan, KeyExpression, WhatIf};
use crate::model::schema::ProvisionedThroughput;
use crate::model::{Error, IndexName};

const HELP: &str = "\
A key is an attribute, or text around attributes in braces:
  TENANT#{tenant}       text and an attribute
  {tenant}#{date:10}    the first 10 characters of date
  {pk}#{0..9}           a suffix of 10

Examples:
  # ten for each value
  ddbfs what-if GameScores --partition '{UserId}#{0..9}'
  # another index
  ddbfs what-if GameScores --index 'by-score=GameTitle,TopScore'
  # read, write units
  ddbfs what-if GameScores --billing 100,50";

#[derive(Debug, Args)]
#[command(after_help = HELP, group = ArgGroup::new("change").args(["partition", "sort", "index", "billing"]).required(true).multiple(true))]
pub struct WhatIfArgs {
    /// The table
    table: String,
    /// Another partition key
    #[arg(long, value_name = "KEY", value_parser = KeyExpression::parse)]
    partition: Option<KeyExpression>,
    /// Another sort key
    #[arg(long, value_name = "KEY", value_parser = KeyExpression::parse)]
    sort: Option<KeyExpression>,
    /// Another global index, of all attributes
    #[arg(long, value_name = "NAME=KEY[,SORT KEY]", value_parser = index)]
    index: Option<IndexPlan>,
    /// on-demand, or read and write units a second of the table
    #[arg(long, value_name = "on-demand|READ,WRITE", value_parser = billing)]
    billing: Option<Units>,
    #[command(flatten)]
    data: DataArgs,
}

fn index(text: &str) -> Result<IndexPlan, String> {
    let (name, keys) = text
        .split_once('=')
        .ok_or("an index is like by-city=city,created")?;
    let name = IndexName::new(name).map_err(|error| error.to_string())?;
    let (partition, sort) = keys
        .split_once(',')
        .map_or((keys, None), |(partition, sort)| (partition, Some(sort)));
    Ok(IndexPlan {
        name,
        partition: KeyExpression::parse(partition)?,
        sort: sort.map(KeyExpression::parse).transpose()?,
    })
}

/// Provisioned units; `None` is on demand.
type Units = Option<ProvisionedThroughput>;

fn billing(text: &str) -> Result<Units, String> {
    if text == "on-demand" {
        return Ok(None);
    }
    let units = text.split_once(',').and_then(|(read, write)| {
        let units = |text: &str| text.parse::<NonZeroU32>().ok().map(|of| of.get().into());
        Some(ProvisionedThroughput {
            read_capacity_units: units(read)?,
            write_capacity_units: units(write)?,
        })
    });
    units
        .map(Some)
        .ok_or_else(|| "takes on-demand or 100,50".to_owned())
}

pub fn run(args: WhatIfArgs) -> Result<CommandResult, CliError> {
    let change = WhatIf {
        partition: args.partition,
        sort: args.sort,
        index: args.index,
        billing: args.billing,
    };
    let opened = data_dir::open_passive(&args.data)?;
    let table = data_dir::existing_table(&*opened.database, &args.table)?;
    let trial = what_if::try_on(&*opened.database, &table, &change)?
        .ok_or_else(|| Error::TableNotFound(table.to_string()))?;
    print_bytes(what_if::markdown(&trial).as_bytes())?;
    Ok(CommandResult::Done)
}
