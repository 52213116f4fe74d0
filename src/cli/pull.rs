//! `ddbfs pull TABLE`: a table of a service into the data directory.

use super::copies::{self, CopyArgs};
use super::places;
use crate::cli::prelude::*;
use crate::database::copies::copy::{Existing, Plan, Rules};
use crate::database::copies::journal;

const AFTER_HELP: &str = "\
The table is read by a Scan, eventually consistent, which is no snapshot: what is written meanwhile may be in the copy or not, item by item.
Global indexes and the stream are made after the items. Stopped or killed, the same command goes on where it was: at most one page a segment is
read again.

Examples:
  ddbfs pull Orders --region eu-central-1
  ddbfs pull Orders --from-endpoint http://127.0.0.1:8000 --to-table Orders2
  ddbfs pull Orders && ddbfs advise Orders";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct PullArgs {
    /// The table
    table: String,
    /// The service [default: that of the AWS configuration: AWS_ENDPOINT_URL_DYNAMODB, the profile, the region]
    #[arg(long, value_name = "URL")]
    from_endpoint: Option<String>,
    /// The table here [default: the same name]
    #[arg(long, value_name = "NAME")]
    to_table: Option<String>,
    /// Drop the table of that name that is here, or what was pulled of it so far, and begin anew
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    copy: CopyArgs,
}

pub fn run(args: PullArgs) -> Result<Outcome, CliError> {
    let table = copies::table_name(&args.table)?;
    let to_table = args.to_table.as_deref().map_or_else(|| Ok(table.clone()), copies::table_name)?;
    let from = places::of_service(&args.copy, args.from_endpoint.as_deref(), table)?;
    let cost = args.copy.of_reads()?;
    let opened = data_dir::open(&args.copy.data)?;
    let rules = Rules {
        existing: if args.replace { Existing::Replace } else { Existing::Refuse },
        create: true,
        late: true,
        segments: args.copy.segments,
        restart: args.replace,
        anew: "--replace",
    };
    let journal = journal::path(&opened.dir, &[journal::PULL, to_table.as_str()]);
    let what = format!("{} into {}", from.name, opened.dir.display());
    let plan = Plan::new(from, places::of_data(&opened, to_table), rules, &journal).map_err(CliError::from);
    let done = plan.and_then(|plan| copies::perform(plan, what, "pulled", &cost, &args.copy));
    opened.close();
    done
}
