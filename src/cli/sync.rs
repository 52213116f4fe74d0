//! `ddbfs pull TABLE` copies a table of a service into the data directory, from itself or from an
//! export of it; `ddbfs sync TABLE` brings the copy up to date. `database::copies` has the work.

use indicatif::HumanCount;

use super::copy_commands::{self, CopyArgs};
use super::data_dir::OpenData;
use super::exit::warn;
use super::load;
use super::load_files::{self, InputFiles};
use super::prelude::*;
use super::progress::ProgressLine;
use crate::codec::calendar;
use crate::database::copies::copy::{CopyOptions, CopyPlan, ExistingTargetMode, ExportedItems};
use crate::database::copies::journal::{self, CopyCounts};
use crate::database::copies::origin::CopyOrigin;
use crate::database::copies::sync::{SyncOptions, SyncPlan};
use crate::database::copies::{CopyError, CopySide};
use crate::model::TableName;

const AFTER_HELP: &str = "\
By the stream of the table that was pulled, if there is one and the last pull or
sync is less than 23.5 hours ago: only changes are read, and by keys the items
that the stream does not contain.
Else by a comparison. The service does not tell what has changed, so all of the
table is read and paid, as by a pull. Writing is saved: only items that differ
are put or deleted here.

A table with time to live may get items back that were deleted here. After a
stop or a kill the same command goes on, a comparison from its beginning;
changes made here until then are not noticed.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct SyncArgs {
    /// The table, by its name here
    pub table: String,
    /// URL of the service [default: that of the pull]
    #[arg(long, value_name = "URL")]
    pub from_endpoint: Option<String>,
    /// Compare all items, whatever the stream has
    #[arg(long)]
    pub compare: bool,
    /// Undo what was changed here
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub copy: CopyArgs,
}

pub fn sync(args: SyncArgs) -> Result<CommandResult, CliError> {
    let opened = data_dir::open(&args.copy.data)?;
    let table = data_dir::find_table(&*opened.database, &args.table)?;
    run(&opened, table, args, None)
}

/// Syncs a table. If it was loaded from an export, of that time in milliseconds since the epoch,
/// only the stream is read.
pub fn run(
    opened: &OpenData,
    table: TableName,
    args: SyncArgs,
    exported_ms: Option<u64>,
) -> Result<CommandResult, CliError> {
    let journal = journal::path(&opened.dir, &[journal::PULL, table.as_str()]);
    let Some(origin) = CopyOrigin::read(&journal).map_err(CopyError::from)? else {
        return Err(CliError::Message(format!(
            "{table} was not pulled, or by an earlier ddbfs, which did not note where from: there is nothing to sync it with"
        )));
    };
    let (of_pull, name) = origin.from.rsplit_once('/').unwrap_or_default();
    let name = copy_commands::table_name(name)?;
    let endpoint = args.from_endpoint.as_deref().unwrap_or(of_pull);
    let options = SyncOptions {
        compares: args.compare,
        overwrites: args.overwrite,
    };
    let mut args = args.copy;
    args.service.region = args.service.region.or_else(|| region_of(endpoint));
    let (from, limits) = copy_commands::service_table(&args, Some(endpoint), name)?;
    warn(limits);
    let cost = args.read_cost()?;
    let from_name = from.name.clone();
    let action = format!("{from_name} to {table}");
    let since = calendar::iso(origin.since_ms);
    let to = copy_commands::local_table(opened, table.clone());
    let plan = SyncPlan::new(from, to, origin, &journal, options)?;
    if !plan.kept.is_empty() {
        let kept = plan.kept.join(", ");
        warn(format_args!(
            "{table} keeps what {from_name} has not or otherwise: {kept}"
        ));
    }
    match (&plan.compares, exported_ms) {
        (None, _) => warn(format_args!(
            "{action}: by the stream, changes since {since}"
        )),
        (Some(why), Some(exported_ms)) => {
            let then = calendar::iso(exported_ms);
            warn(format_args!(
                "{table} is as it was at {then}: {why}; `ddbfs sync {table}` compares all items"
            ));
            return Ok(CommandResult::Done);
        }
        (Some(why), _) => {
            let estimate = CopyCounts::of_scan(plan.source.table_size_bytes as f64);
            let text = cost.text(&estimate);
            warn(format_args!(
                "{action}: by a comparison of all items, as {why}; about {text}"
            ));
            cost.confirm(&estimate, &args)?;
        }
    }
    let bar = Arc::new(ProgressLine::of_items(2 * plan.source.item_count, 0));
    let tally = copy_commands::tally(&bar, &cost, || ())?;
    let outcome = copy_commands::with_bars(&bar, |report, watch| {
        plan.run(args.segments, &tally, report, watch)
    });
    let counts = tally.counts();
    let (put, deleted) = (copy_commands::items(counts.put), HumanCount(counts.deleted));
    let summary = format!("{put} put, {deleted} deleted; {}", cost.text(&counts));
    copy_commands::finish(outcome, &counts, summary)
}

const PULL_HELP: &str = "\
The table is read by an eventually consistent Scan, which is not a snapshot: of
the items written meanwhile, some may be in the copy. Global indexes and the
stream are created after the items. After a stop or a kill, the same command
resumes: at most one page of each segment is read again.

Examples:
  ddbfs pull Orders --region eu-central-1
  ddbfs pull Orders --from-endpoint http://127.0.0.1:8000 --to-table Orders2
  ddbfs pull Orders --from-export AWSDynamoDB/01693685827463-2d8752fd
  ddbfs pull Orders && ddbfs advise Orders

Later, `ddbfs sync Orders` brings the copy up to date.";

#[derive(Debug, Args)]
#[command(after_help = PULL_HELP)]
pub struct PullArgs {
    /// The table
    table: String,
    /// URL of the service [default: from the AWS configuration: AWS_ENDPOINT_URL_DYNAMODB, the
    /// profile, the region]
    #[arg(long, value_name = "URL")]
    from_endpoint: Option<String>,
    /// Name of the table here [default: the same name]
    #[arg(long, value_name = "NAME")]
    to_table: Option<String>,
    /// Drop the table of that name here, or the part of it pulled so far, and start anew
    #[arg(long)]
    replace: bool,
    /// Take the items from the files of a full export of the table, and the changes since from its
    /// stream: no item of the table is read
    #[arg(long, value_name = "DIR")]
    from_export: Option<PathBuf>,
    #[command(flatten)]
    copy: CopyArgs,
}

pub fn pull(args: PullArgs) -> Result<CommandResult, CliError> {
    let table = copy_commands::table_name(&args.table)?;
    let to_table = args
        .to_table
        .as_deref()
        .map_or_else(|| Ok(table.clone()), copy_commands::table_name)?;
    let endpoint = args.from_endpoint.as_deref();
    let (from, limits) = copy_commands::service_table(&args.copy, endpoint, table)?;
    let cost = args.copy.read_cost()?;
    let opened = data_dir::open_or_create(&args.copy.data)?;
    let rules = CopyOptions {
        existing: if args.replace {
            ExistingTargetMode::Replace
        } else {
            ExistingTargetMode::Refuse
        },
        create: true,
        indexes_last: true,
        segments: args.copy.segments,
        restart: args.replace,
        restart_option: "--replace",
    };
    let journal = journal::path(&opened.dir, &[journal::PULL, to_table.as_str()]);
    let action = format!("{} into {}", from.name, opened.dir.display());
    let mut plan = CopyPlan::new(
        from,
        copy_commands::local_table(&opened, to_table.clone()),
        rules,
        &journal,
    )?;
    let exported_ms = match &args.from_export {
        None => {
            return copy_commands::run_copy(plan, action, "pulled", &cost, &limits, &args.copy);
        }
        Some(export) => take_export(&mut plan, export)?,
    };
    let sync = SyncArgs {
        table: String::new(),
        from_endpoint: None,
        compare: false,
        overwrite: false,
        copy: args.copy.clone(),
    };
    match copy_commands::run_copy(plan, action, "loaded", &cost, &limits, &args.copy)? {
        CommandResult::Done => run(&opened, to_table, sync, Some(exported_ms)),
        failed => Ok(failed),
    }
}

/// Returns the region of an endpoint of AWS, which precedes that of the environment: the pull may
/// have been given it.
fn region_of(endpoint: &str) -> Option<String> {
    let rest = endpoint.strip_prefix("https://dynamodb")?;
    let is_aws = rest.contains(".amazonaws.com") || rest.contains(".api.aws");
    let region = rest.split('.').nth(1).filter(|_| is_aws);
    region.map(str::to_owned)
}

/// Makes a copy take its items from the files of an export of its source; returns the time of the
/// export, milliseconds since the epoch.
pub fn take_export(plan: &mut CopyPlan, directory: &Path) -> Result<u64, CliError> {
    let summary = load_files::summary(directory)?;
    let member = |name: &str| summary[name].as_str().unwrap_or_default();
    let (text, id) = (directory.display().to_string(), &plan.source.table_id);
    let Some(exported_ms) = calendar::parse_iso(member("exportTime")) else {
        let text = format!("{text} is no full export: its manifest has no exportTime");
        return Err(CliError::Message(text));
    };
    if member("tableId") != id {
        let of = member("tableId");
        let text = format!("{text} is an export of the table {of}, and this one is {id}");
        return Err(CliError::Message(text));
    }
    let (paths, schema) = ([directory.to_owned()], plan.source.schema.clone());
    // A missing file is told before the table is made.
    InputFiles::find(&paths, &schema)?;
    let load = move |to: &CopySide| {
        let refused = |text: String| CopyError::Refused(text);
        let files =
            InputFiles::find(&paths, &schema).map_err(|error| refused(error.to_string()))?;
        let database = to.local.clone().ok_or_else(|| refused(to.name.clone()))?;
        let (tally, files_bad) = load::load_files(database, to.table.clone(), &schema, files);
        match tally.bad == 0 && files_bad == 0 {
            true => Ok(CopyCounts {
                items: tally.stored,
                ..CopyCounts::default()
            }),
            false => Err(refused(format!(
                "{text}: the export could not be read whole"
            ))),
        }
    };
    let load = Box::new(load);
    plan.export = Some(ExportedItems { exported_ms, load });
    Ok(exported_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_of_aws_has_its_region() {
        for (endpoint, region) in [
            (
                "https://dynamodb.eu-west-1.amazonaws.com",
                Some("eu-west-1"),
            ),
            (
                "https://dynamodb-fips.us-east-2.amazonaws.com/",
                Some("us-east-2"),
            ),
            (
                "https://dynamodb.cn-north-1.amazonaws.com.cn",
                Some("cn-north-1"),
            ),
            ("https://dynamodb.eu-west-1.api.aws", Some("eu-west-1")),
            ("https://dynamodb.local:8000", None),
            ("http://127.0.0.1:8000", None),
        ] {
            assert_eq!(region_of(endpoint).as_deref(), region, "{endpoint}");
        }
    }
}
