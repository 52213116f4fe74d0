//! `ddbfs push TABLE` copies a table of the data directory to a service. Also the parts that it
//! shares with `pull`, `sync` and `diff`: the location of a
//! table, the cost that is confirmed first, a progress bar, signals that stop after the current
//! page. `database::copies` has the copying itself.

use std::fmt::Display;
use std::fs;
use std::io::{BufRead, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use indicatif::{HumanBytes, HumanCount, HumanFloatCount};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::args::PriceArgs;
use super::data_dir::OpenData;
use super::exit::{print_text, warn};
use super::prelude::*;
use super::progress::{BackfillProgress, ProgressLine};
use super::remote::{BudgetOption, ServiceArgs};
use crate::codec::{count::noun, plain_json, sanitize};
use crate::database::Database;
use crate::database::copies::batches::OnRejected;
use crate::database::copies::copy::{CopyOptions, CopyOutcome, CopyPlan, ExistingTargetMode};
use crate::database::copies::definition::OnIndexProgress;
use crate::database::copies::journal::{self, CopyCounts};
use crate::database::copies::scan::CopyProgress;
use crate::database::copies::{CopyError, CopySide};
use crate::model::prices::PriceTable;
use crate::model::{Error, IndexName, Item, TableName};

/// The cost that needs no confirmation, in the currency of the price table.
const CONFIRM_ABOVE: f64 = 0.10;
/// The most refused items that are printed; the rest are counted.
const REPORTS_MAX: u64 = 100;

/// The options of pull, push and diff.
#[derive(Debug, Clone, Args)]
pub struct CopyArgs {
    /// Segments of the table that are read in parallel, each by a thread
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub segments: u32,
    /// Do not ask before a command without --budget costs more than 0.10 USD by DynamoDB's
    /// on-demand prices
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub prices: PriceArgs,
    #[command(flatten)]
    pub service: ServiceArgs,
    #[command(flatten)]
    pub data: DataArgs,
}

impl CopyArgs {
    /// Returns the cost of reading from a service: read units.
    pub fn read_cost(&self) -> Result<CopyCost, CliError> {
        Ok(CopyCost {
            kind: "read",
            units: |counts| counts.read_units,
            price: PriceTable::read_cost,
            prices: self.prices.table()?,
        })
    }

    /// Returns the cost of writing to a service: write units.
    pub fn write_cost(&self) -> Result<CopyCost, CliError> {
        Ok(CopyCost {
            kind: "write",
            units: |counts| counts.write_units,
            price: PriceTable::write_cost,
            prices: self.prices.table()?,
        })
    }
}

/// Parses a table name from the command line.
pub fn table_name(name: &str) -> Result<TableName, CliError> {
    TableName::new(name)
        .map_err(|error| CliError::Usage(format!("{name:?} is no table name: {error}")))
}

/// The price of the consumed units, on demand.
#[derive(Debug, Clone)]
pub struct CopyCost {
    kind: &'static str,
    units: fn(&CopyCounts) -> f64,
    price: fn(&PriceTable, f64) -> f64,
    prices: PriceTable,
}

impl CopyCost {
    fn money(&self, counts: &CopyCounts) -> f64 {
        (self.price)(&self.prices, (self.units)(counts))
    }

    /// Formats as `1,250 write units, 0.000781 USD`.
    pub fn text(&self, counts: &CopyCounts) -> String {
        let units = (self.units)(counts).ceil();
        format!(
            "{} {} {}, {}",
            HumanFloatCount(units),
            self.kind,
            if units == 1.0 { "unit" } else { "units" },
            self.prices.text(self.money(counts))
        )
    }

    /// Asks for confirmation if the cost is above [`CONFIRM_ABOVE`] and neither --yes nor --budget
    /// is given.
    pub fn confirm(&self, counts: &CopyCounts, args: &CopyArgs) -> Result<(), CliError> {
        let has_budget = matches!(
            args.service.budget,
            Some(BudgetOption::Run(_) | BudgetOption::Day(_))
        );
        if args.yes || has_budget || self.money(counts) <= CONFIRM_ABOVE {
            return Ok(());
        }
        let text = self.text(counts);
        if !std::io::stdin().is_terminal() {
            return Err(CliError::Message(format!(
                "this takes about {text}; --yes says that you want it"
            )));
        }
        let mut answer = String::new();
        let prompted = write!(std::io::stderr(), "This takes about {text}. Go on? [y/N] ");
        let heard = prompted.and_then(|()| std::io::stdin().lock().read_line(&mut answer));
        heard.map_err(CliError::io("cannot ask"))?;
        if matches!(answer.trim(), "y" | "Y" | "yes") {
            Ok(())
        } else {
            Err(CliError::Message("nothing was done".to_owned()))
        }
    }
}

/// Returns a flag that the first signal sets; the second signal ends the process.
fn stop_by_signals() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the first handler finds the flag not yet set.
        let caught = flag::register_conditional_default(signal, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)));
        caught.map_err(CliError::io("cannot catch signals"))?;
    }
    Ok(stop)
}

/// Makes a tally that moves a bar; `on_page` is called after each page too.
pub fn tally(
    bar: &Arc<ProgressLine>,
    cost: &CopyCost,
    on_page: impl Fn() + Send + Sync + 'static,
) -> Result<CopyProgress, CliError> {
    let (bar, cost) = (Arc::clone(bar), cost.clone());
    Ok(CopyProgress::new(stop_by_signals()?, move |counts| {
        bar.update(counts.items, cost.text(counts));
        on_page();
    }))
}

/// Prints the estimate of a copy, asks if it costs much, and copies. `past_action` is the verb of the
/// summary.
pub fn run_copy(
    plan: CopyPlan,
    action: impl Display,
    past_action: &str,
    cost: &CopyCost,
    limits: &str,
    args: &CopyArgs,
) -> Result<CommandResult, CliError> {
    warn(limits);
    let estimate = plan.estimate();
    let (items, bytes) = (items(estimate.items), HumanBytes(estimate.bytes));
    warn(format_args!(
        "{action}: about {items}, {bytes}; {}",
        cost.text(&estimate.left)
    ));
    if let Some(earlier) = plan.earlier_counts() {
        warn(format_args!(
            "goes on where it was stopped, after {}",
            self::items(earlier.items)
        ));
    }
    if let Err(error) = &plan.ttl_attribute {
        warn(format_args!(
            "time to live is not known, so the copy gets none: {error}"
        ));
    }
    cost.confirm(&estimate.left, args)?;
    let bar = Arc::new(ProgressLine::of_items(
        estimate.items,
        plan.earlier_counts().unwrap_or_default().items,
    ));
    let tally = tally(&bar, cost, || ())?;
    let outcome = with_bars(&bar, |report, watch| plan.run(&tally, report, watch));
    let counts = tally.counts();
    let taken = self::items(counts.items - counts.rejected);
    let summary = format!("{taken} {past_action}; {}", cost.text(&counts));
    finish(outcome, &counts, summary)
}

/// Formats a count of items: `1,250 items`.
pub fn items(count: u64) -> String {
    format!("{} {}", HumanCount(count), noun(count, "item"))
}

/// Prints the end of a copy or sync.
pub fn finish(
    outcome: Result<CopyOutcome, CopyError>,
    counts: &CopyCounts,
    mut summary: String,
) -> Result<CommandResult, CliError> {
    let goes_on = "the same command goes on from here";
    if counts.rejected > 0 {
        summary += &format!("; the table does not take {}", items(counts.rejected));
    }
    match outcome {
        Ok(CopyOutcome::Whole) => print_text(&format!("{summary}\n"))?,
        Ok(CopyOutcome::Stopped) => print_text(&format!("stopped: {summary}; {goes_on}\n"))?,
        Err(error) if *counts == CopyCounts::default() => return Err(error.into()),
        Err(error) => return Err(CliError::Message(format!("{error}\n{summary}; {goes_on}"))),
    }
    Ok(match outcome {
        Ok(CopyOutcome::Whole) if counts.rejected == 0 => CommandResult::Done,
        _ => CommandResult::Failed,
    })
}

/// Runs a copy or sync with a bar for the items and one for each index that is made after them.
pub fn with_bars(
    bar: &ProgressLine,
    run: impl FnOnce(&OnRejected<'_>, &mut OnIndexProgress<'_>) -> Result<CopyOutcome, CopyError>,
) -> Result<CopyOutcome, CopyError> {
    let reported = AtomicU64::new(0);
    let report = |item: &Item, error: &Error| match reported.fetch_add(1, Ordering::Relaxed) {
        ..REPORTS_MAX => bar.line(&format!("not taken: {error}: {}", line(item))),
        REPORTS_MAX => bar.line("more items are not taken; they are counted only"),
        _ => {}
    };
    let mut of_index: Option<(IndexName, BackfillProgress)> = None;
    let outcome = run(&report, &mut |name, state| {
        bar.finish();
        if of_index.as_ref().is_none_or(|(shown, _)| shown != name) {
            of_index = Some((name.clone(), BackfillProgress::new(name.as_str())));
        }
        of_index
            .iter()
            .for_each(|(_, progress)| progress.show(state));
    });
    of_index.iter().for_each(|(_, progress)| progress.finish());
    bar.finish();
    outcome
}

/// Formats the beginning of an item.
fn line(item: &Item) -> String {
    const CHARS_MAX: usize = 200;
    sanitize::line(&plain_json::line(item, &[]), CHARS_MAX)
}

const PUSH_HELP: &str = "\
Nothing is overwritten without --merge: the table must be empty, or --create
creates it; --merge adds the items to a table with items. After a stop or a
kill, the same command resumes; items that are put again are the same.

Examples:
  ddbfs push Orders --create --region eu-central-1
  ddbfs push Orders --create --to-endpoint http://127.0.0.1:8000";

#[derive(Debug, Args)]
#[command(after_help = PUSH_HELP)]
pub struct PushArgs {
    /// The table
    table: String,
    /// URL of the service [default: from the AWS configuration: AWS_ENDPOINT_URL_DYNAMODB, the
    /// profile, the region]
    #[arg(long, value_name = "URL")]
    to_endpoint: Option<String>,
    /// Name of the table there [default: the same name]
    #[arg(long, value_name = "NAME")]
    to_table: Option<String>,
    /// Create the table if there is none, with indexes, stream and time to live
    #[arg(long)]
    create: bool,
    /// Put the items into a table that has items, replacing those with the same key
    #[arg(long)]
    merge: bool,
    /// Push a table that a pull has not completed
    #[arg(long)]
    partial: bool,
    /// Ignore the position at which an earlier push stopped
    #[arg(long)]
    restart: bool,
    #[command(flatten)]
    copy: CopyArgs,
}

pub fn push(args: PushArgs) -> Result<CommandResult, CliError> {
    let to_table = table_name(args.to_table.as_ref().unwrap_or(&args.table))?;
    let (to, limits) = service_table(&args.copy, args.to_endpoint.as_deref(), to_table)?;
    let cost = args.copy.write_cost()?;
    let opened = data_dir::open(&args.copy.data)?;
    let table = data_dir::find_table(&*opened.database, &args.table)?;
    if let Some(lacking) = opened
        .database
        .incomplete_pull(&table)?
        .filter(|_| !args.partial)
    {
        return Err(CliError::Message(format!(
            "{lacking}; --partial pushes what is here"
        )));
    }
    let rules = CopyOptions {
        existing: if args.merge {
            ExistingTargetMode::Merge
        } else {
            ExistingTargetMode::Fill
        },
        create: args.create,
        indexes_last: false,
        segments: args.copy.segments,
        restart: args.restart,
        restart_option: "--restart",
    };
    let journal = journal::path(&opened.dir, &["push", table.as_str(), &to.name]);
    let action = format!("{table} to {}", to.name);
    let plan =
        CopyPlan::new(local_table(&opened, table), to, rules, &journal).map_err(CliError::from);
    plan.and_then(|plan| run_copy(plan, action, "pushed", &cost, &limits, &args.copy))
}

/// The prefix of a table location in the AWS configuration's service.
const AWS: &str = "aws:";

const USER_INFO: &str = "the URL of a service has no user name and password: leave out all up to the @, and set AWS_ACCESS_KEY_ID and \
    AWS_SECRET_ACCESS_KEY, or give --profile";

/// Returns the table of a service, and the limits of spending as a line; `endpoint` `None` is that
/// of the AWS configuration.
pub fn service_table(
    args: &CopyArgs,
    endpoint: Option<&str>,
    table: TableName,
) -> Result<(CopySide, String), CliError> {
    let (database, name, limits) = open(args, endpoint)?;
    let name = format!("{}/{table}", name.trim_end_matches('/'));
    Ok((CopySide::new(database, table, name), limits))
}

/// Returns the table of a data directory.
pub fn local_table(opened: &OpenData, table: TableName) -> CopySide {
    CopySide {
        local: Some(opened.database.clone()),
        ..CopySide::new(opened.database.clone(), table.clone(), table.to_string())
    }
}

/// Opens a service without a request; returns its database, its name in messages, and the limits of
/// spending as a line.
#[cfg(feature = "remote")]
fn open(
    args: &CopyArgs,
    endpoint: Option<&str>,
) -> Result<(Arc<dyn Database>, String, String), CliError> {
    use std::time::Duration;

    use crate::database::remote::Client;

    /// The time limit of a request.
    const TIMEOUT: Duration = Duration::from_secs(30);
    /// The time that a request waits for units: as long as needed, since no other program waits for
    /// it.
    const BUDGET_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

    let service = args.service.open(
        endpoint,
        &args.prices.table()?,
        TIMEOUT,
        Some(BUDGET_TIMEOUT),
    )?;
    let client = Arc::new(Client::new(service.meter));
    Ok((client, service.endpoint, service.limits))
}

#[cfg(not(feature = "remote"))]
fn open(
    _args: &CopyArgs,
    _endpoint: Option<&str>,
) -> Result<(Arc<dyn Database>, String, String), CliError> {
    Err(CliError::Message(crate::cli::remote::WITHOUT.to_owned()))
}

/// The location of a table, as given on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TableLocation {
    /// `Orders`: the data directory of the command; `DIR/Orders`: that directory.
    Data(Option<String>),
    /// `http://127.0.0.1:8000/Orders`: that service; `aws:Orders`: the AWS configuration's service;
    /// `aws:eu-west-1/Orders`: the same in that region.
    Service {
        endpoint: Option<String>,
        region: Option<String>,
    },
}

/// Checks the text of a table's location, without opening or asking anything.
pub fn check_location(text: &str) -> Result<(), CliError> {
    parse(text).map(drop)
}

/// Parses `[PLACE/]TABLE`.
fn parse(text: &str) -> Result<(TableLocation, TableName), CliError> {
    // Checked before any of it is printed, as it may have a password.
    if text.contains("://") && text.contains('@') {
        return Err(CliError::Usage(USER_INFO.to_owned()));
    }
    let (place, name) = match text.strip_prefix(AWS) {
        Some(rest) => {
            let (region, name) = rest
                .rsplit_once('/')
                .map_or((None, rest), |(region, name)| {
                    (Some(region.to_owned()), name)
                });
            (
                TableLocation::Service {
                    endpoint: None,
                    region,
                },
                name,
            )
        }
        None => match text.rsplit_once('/') {
            None => (TableLocation::Data(None), text),
            Some((url, name)) if url.contains("://") => (
                TableLocation::Service {
                    endpoint: Some(url.to_owned()),
                    region: None,
                },
                name,
            ),
            // In `/Orders`, nothing stands before the slash: it is the root directory.
            Some((dir, name)) => (
                TableLocation::Data(Some(if dir.is_empty() { "/" } else { dir }.to_owned())),
                name,
            ),
        },
    };
    Ok((place, table_name(name)?))
}

/// A table that is only read, and its open data directory.
pub struct LocatedTable {
    pub side: CopySide,
    opened: Option<Arc<OpenData>>,
}

impl LocatedTable {
    /// Gives up the memory of the data file's pages that were read.
    pub fn release_pages(&self) {
        if let Some(opened) = &self.opened {
            opened.store.release_pages();
        }
    }
}

/// Finds a table by `[PLACE/]TABLE`. It shares the data directory of `other` if that is the same: a
/// process opens a directory once.
pub fn locate(
    text: &str,
    args: &CopyArgs,
    other: Option<&LocatedTable>,
) -> Result<LocatedTable, CliError> {
    let (place, table) = parse(text)?;
    match place {
        TableLocation::Service { endpoint, region } => {
            let mut args = args.clone();
            args.service.region = region.or(args.service.region);
            Ok(LocatedTable {
                side: service_table(&args, endpoint.as_deref(), table)?.0,
                opened: None,
            })
        }
        TableLocation::Data(dir) => {
            let data = dir.map_or_else(|| args.data.clone(), |dir| DataArgs::at(dir.into()));
            let path = fs::canonicalize(data_dir::resolve(&data.at)?).ok();
            let shared = other
                .and_then(|other| other.opened.as_ref())
                .filter(|opened| path.is_some() && fs::canonicalize(&opened.dir).ok() == path);
            let opened = match shared {
                Some(opened) => Arc::clone(opened),
                None => Arc::new(data_dir::open_passive(&data)?),
            };
            data_dir::warn_unfinished(&*opened.database, &table)?;
            let side = CopySide {
                name: text.to_owned(),
                ..local_table(&opened, table)
            };
            Ok(LocatedTable {
                side,
                opened: Some(opened),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        copy: CopyArgs,
    }

    #[test]
    fn much_is_asked_for_and_little_is_not() {
        let args = |more: &[&str]| {
            Command::try_parse_from([&["x"], more].concat())
                .unwrap()
                .copy
        };
        let units = |units: f64| CopyCounts {
            read_units: units,
            write_units: units,
            ..CopyCounts::default()
        };
        // By the built-in prices a million write units are 0.625, a million read units 0.125.
        let (reads, writes) = (
            args(&[]).read_cost().unwrap(),
            args(&[]).write_cost().unwrap(),
        );
        assert_eq!(
            writes.text(&units(4_000_000.0)),
            "4,000,000 write units, 2.50 USD"
        );
        assert_eq!(
            reads.text(&units(2_000_000.2)),
            "2,000,001 read units, 0.25 USD"
        );
        assert!(writes.confirm(&units(160_000.0), &args(&[])).is_ok());
        for said in [&["--yes"][..], &["--budget", "2 USD"]] {
            assert!(writes.confirm(&units(1e9), &args(said)).is_ok());
        }
        assert_eq!(reads.text(&units(24.0)), "24 read units, 0.000003 USD");
    }

    #[test]
    fn places_are_told_apart() {
        let check = |text: &str, place: TableLocation, name: &str| {
            assert_eq!(
                parse(text).unwrap(),
                (place, TableName::new(name).unwrap()),
                "{text}"
            );
        };
        let service = |endpoint: Option<&str>, region: Option<&str>| TableLocation::Service {
            endpoint: endpoint.map(str::to_owned),
            region: region.map(str::to_owned),
        };
        check("Orders", TableLocation::Data(None), "Orders");
        check(
            "./data/Orders",
            TableLocation::Data(Some("./data".into())),
            "Orders",
        );
        check("/Orders", TableLocation::Data(Some("/".into())), "Orders");
        check(
            "http://127.0.0.1:8000/Orders",
            service(Some("http://127.0.0.1:8000"), None),
            "Orders",
        );
        check("aws:Orders", service(None, None), "Orders");
        check(
            "aws:eu-west-1/Orders",
            service(None, Some("eu-west-1")),
            "Orders",
        );
        for text in [
            "",
            "http://127.0.0.1:8000/",
            "aws:",
            "data/",
            "a b",
            "http://me:secret@host",
            "http://me:secret@host/T",
        ] {
            assert!(
                matches!(parse(text), Err(CliError::Usage(told)) if !told.contains("secret")),
                "{text}"
            );
        }
    }
}
