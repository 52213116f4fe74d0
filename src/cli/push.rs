//! `ddbfs push TABLE`: a table of the data directory to a service.

use super::copies::{self, CopyArgs};
use super::dump::table_of;
use super::places;
use crate::cli::prelude::*;
use crate::database::copies::copy::{Existing, Plan, Rules};
use crate::database::copies::journal;

const AFTER_HELP: &str = "\
Nothing is overwritten unless you say so: the table must be there and empty, or --create makes it, or --merge puts the items beside its own.
Stopped or killed, the same command goes on where it was; items that are put again are the same.

Examples:
  ddbfs push Orders --create --region eu-central-1
  ddbfs push Orders --to-endpoint http://127.0.0.1:8000 --to-table Orders2 --create";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct PushArgs {
    /// The table
    table: String,
    /// The service [default: that of the AWS configuration: AWS_ENDPOINT_URL_DYNAMODB, the profile, the region]
    #[arg(long, value_name = "URL")]
    to_endpoint: Option<String>,
    /// The table there [default: the same name]
    #[arg(long, value_name = "NAME")]
    to_table: Option<String>,
    /// Make the table when there is none, with indexes, stream and time to live
    #[arg(long)]
    create: bool,
    /// Put the items into a table that has items, over those with the same key
    #[arg(long)]
    merge: bool,
    /// Push what is here of a table of which a pull has not ended
    #[arg(long)]
    partial: bool,
    /// Forget where an earlier push stopped
    #[arg(long)]
    restart: bool,
    #[command(flatten)]
    copy: CopyArgs,
}

pub fn run(args: PushArgs) -> Result<Outcome, CliError> {
    let to_table = copies::table_name(args.to_table.as_ref().unwrap_or(&args.table))?;
    let to = places::of_service(&args.copy, args.to_endpoint.as_deref(), to_table)?;
    let cost = args.copy.of_writes()?;
    let opened = data_dir::open(&args.copy.data)?;
    let table = table_of(&*opened.database, &args.table)?;
    if let Some(lacking) = opened.database.unfinished(&table)?.filter(|_| !args.partial) {
        return Err(CliError::Message(format!("{lacking}; --partial pushes what is here")));
    }
    let rules = Rules {
        existing: if args.merge { Existing::Merge } else { Existing::Fill },
        create: args.create,
        late: false,
        segments: args.copy.segments,
        restart: args.restart,
        anew: "--restart",
    };
    let journal = journal::path(&opened.dir, &["push", table.as_str(), &to.name]);
    let what = format!("{table} to {}", to.name);
    let plan = Plan::new(places::of_data(&opened, table), to, rules, &journal).map_err(CliError::from);
    let done = plan.and_then(|plan| copies::perform(plan, what, "pushed", &cost, &args.copy));
    opened.close();
    done
}
