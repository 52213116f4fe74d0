//! The options for a remote DynamoDB: its address, its credentials, its budget, and `mount
//! --remote`. `database::remote` has the client.

use crate::cli::prelude::*;
#[cfg(feature = "remote")]
use crate::database::remote::budget::{Budget, MeteredTransport};
use crate::model::prices::{PriceTable, RateOption};

/// The longest time accepted, a day: more is a mistake.
const SECONDS_MAX: f64 = 86_400.0;
/// The error of a build without the feature `remote`.
#[cfg(not(feature = "remote"))]
pub const WITHOUT: &str = "this ddbfs was built without the feature `remote`; build it with `cargo build --release --features remote`";
/// The only known currency.
const CURRENCY: &str = "USD";
/// The budget of a day without `--budget`.
#[cfg(feature = "remote")]
const DAY_BUDGET: f64 = 1.0;
/// The file of the day's spending, in the directory of the user's state.
#[cfg(feature = "remote")]
const LEDGER_FILE: &str = "spent.json";
/// The word that lifts a limit.
const NONE: &str = "none";

/// A value of `--budget`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BudgetOption {
    None,
    Run(f64),
    Day(f64),
}

/// The credentials, time limits and budget for a service.
#[derive(Debug, Clone, Args)]
pub struct ServiceArgs {
    /// Region of the service; AWS_REGION or the profile's by default
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    /// Profile of ~/.aws/config to take credentials from, before any in the environment
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Read units to consume per second at most; requests wait for them. `none` lifts the limit
    /// [default: a tenth of what a table or index provisions, 100 of a table on demand]
    #[arg(long, value_name = "UNITS", value_parser = rate)]
    max_rcu: Option<RateOption>,
    /// Write units to consume per second at most, or `none` [default: a tenth of what a table and
    /// its indexes provision]
    #[arg(long, value_name = "UNITS", value_parser = rate)]
    max_wcu: Option<RateOption>,
    /// Money to spend in this run, such as '2 USD', or a day in all mounts, pulls and pushes of
    /// yours, such as '2 USD/day', by on-demand prices (--prices); after that every request with a
    /// cost is refused. `none` lifts the limit [default: 1 USD/day]
    #[arg(long, value_name = "MONEY", value_parser = budget)]
    pub budget: Option<BudgetOption>,
    /// Time for a request with all its retries [default: 10; for pull, push and diff 30]
    #[arg(long, value_name = "SECONDS", value_parser = seconds_to_wait)]
    timeout: Option<Duration>,
    /// The budget that all services opened by these arguments share.
    #[cfg(feature = "remote")]
    #[arg(skip)]
    shared_budget: Budget,
}

/// The service to mount, and the part of it to show.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "A DynamoDB elsewhere")]
pub struct RemoteArgs {
    /// Mount a remote DynamoDB instead of the data directory: read-only, unless -o rw is given
    #[arg(long, conflicts_with_all = ["throttle", "collection_limit", "collection_warning", "partition_size", "gsi_delay", "index_delay", "table_delay"])]
    remote: bool,
    /// URL of the service; by default AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, the profile's,
    /// or AWS's own for the region
    #[arg(long, value_name = "URL", requires = "remote")]
    endpoint: Option<String>,
    #[command(flatten)]
    service: ServiceArgs,
    /// Show only these tables; * stands for any characters
    #[arg(
        long,
        value_name = "TABLE,…",
        value_delimiter = ',',
        requires = "remote"
    )]
    tables: Vec<String>,
    /// Read units that one listing or scan may consume; a more expensive one is refused [default:
    /// 1000]
    #[arg(long, value_name = "UNITS", value_parser = units, requires = "remote")]
    scan_limit: Option<f64>,
    /// Time for which names and attributes are cached; your own writes show at once [default: 1]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "remote")]
    remote_ttl: Option<Duration>,
}

fn number(text: &str) -> Option<f64> {
    text.trim()
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}

/// Parses units per second, or of a scan.
pub fn units(text: &str) -> Result<f64, String> {
    number(text)
        .filter(|units| *units > 0.0)
        .ok_or_else(|| format!("{text:?} is no number of units; write for instance 25 or 0.5"))
}

fn rate(text: &str) -> Result<RateOption, String> {
    if text.trim() == NONE {
        return Ok(RateOption::Unlimited);
    }
    units(text)
        .map(RateOption::Units)
        .map_err(|fault| format!("{fault}, or {NONE}"))
}

fn budget(text: &str) -> Result<BudgetOption, String> {
    let trimmed = text.trim();
    if trimmed == NONE {
        return Ok(BudgetOption::None);
    }
    let of_day = trimmed.strip_suffix("/day");
    let amount = of_day
        .unwrap_or(trimmed)
        .trim_end()
        .strip_suffix(CURRENCY)
        .and_then(number)
        .filter(|money| *money > 0.0);
    let limit = if of_day.is_some() {
        BudgetOption::Day
    } else {
        BudgetOption::Run
    };
    amount.map(limit).ok_or_else(|| {
        format!(
            "{text:?} is no amount of money; write for instance '2 {CURRENCY}', '2 {CURRENCY}/day', in the currency of the prices, or {NONE}"
        )
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = number(text).filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| {
        format!("{text:?} is no number of seconds up to a day; write for instance 5 or 0.5")
    })
}

/// Parses the time for a request, or between two of them.
pub fn seconds_to_wait(text: &str) -> Result<Duration, String> {
    seconds(text).and_then(|wait| {
        if wait < Duration::from_millis(100) {
            Err("0.1 seconds at least".to_owned())
        } else {
            Ok(wait)
        }
    })
}

/// An opened service, without a request so far.
#[cfg(feature = "remote")]
pub struct OpenService {
    pub meter: Arc<MeteredTransport>,
    /// For instance `http://127.0.0.1:8000`.
    pub endpoint: String,
    region: String,
    /// The limits of spending, as a line.
    pub limits: String,
}

#[cfg(feature = "remote")]
impl ServiceArgs {
    /// Opens the service at `endpoint`, or the one of the AWS configuration. A request takes at
    /// most `timeout`, unless the options say otherwise. It waits for units of the budget as long,
    /// or for `budget_timeout` if that is given.
    ///
    /// # Errors
    /// A sentence that says what is missing, and what to do.
    pub fn open(
        &self,
        endpoint: Option<&str>,
        prices: &PriceTable,
        timeout: Duration,
        budget_timeout: Option<Duration>,
    ) -> Result<OpenService, CliError> {
        use crate::codec::metrics::capacity::limits_text;
        use crate::database::remote::aws::{AwsOptions, AwsTransport};
        use crate::database::remote::budget::SpendLimits;

        let timeout = self.timeout.unwrap_or(timeout);
        let (region, profile) = (self.region.clone(), self.profile.clone());
        let aws = AwsTransport::open(&AwsOptions {
            endpoint: endpoint.map(str::to_owned),
            region,
            profile,
            keys: None,
            timeout,
        });
        let aws = aws.map_err(|error| CliError::Message(error.to_string()))?;
        let (endpoint, region) = (aws.endpoint(), aws.region().to_owned());
        if self.budget.is_some() && !prices.region.starts_with(&region) {
            log::warn!(
                "the budget is counted by prices of {}; --prices FILE gives those of {region}",
                prices.region
            );
        }
        self.count_day()?;
        let limits = SpendLimits {
            reads: self.max_rcu.unwrap_or(RateOption::Default),
            writes: self.max_wcu.unwrap_or(RateOption::Default),
            money: match self.budget {
                Some(BudgetOption::Run(money)) => Some(money),
                _ => None,
            },
            timeout: budget_timeout.unwrap_or(timeout),
        };
        let meter = MeteredTransport::new(Arc::new(aws), limits, prices.clone())
            .with_budget(self.shared_budget.clone());
        Ok(OpenService {
            limits: limits_text(&meter.spent(), prices),
            meter: Arc::new(meter),
            endpoint,
            region,
        })
    }
}

#[cfg(feature = "remote")]
impl ServiceArgs {
    /// Begins to count what is spent on this day, by all processes of the user.
    fn count_day(&self) -> Result<(), CliError> {
        use crate::database::remote::budget::DayBudget;
        use crate::database::remote::ledger::SpendLedger;
        use crate::model::clock::SystemClock;

        let limit = match self.budget {
            None => Some(DAY_BUDGET),
            Some(BudgetOption::Day(money)) => Some(money),
            Some(BudgetOption::None | BudgetOption::Run(_)) => None,
        };
        let counted = match data_dir::state_dir() {
            Some(dir) => {
                let ledger = SpendLedger::new(dir.join(LEDGER_FILE), Arc::new(SystemClock));
                let checked = ledger.spent().map_err(|error| error.to_string());
                checked.map(|_| self.shared_budget.set_day(DayBudget { ledger, limit }))
            }
            None => Err(format!(
                "what is spent today cannot be counted: set HOME or XDG_STATE_HOME, or give a budget of one run, such as --budget '1 {CURRENCY}'"
            )),
        };
        match counted {
            Err(text) if limit.is_some() => Err(CliError::Message(text)),
            Err(text) => {
                log::warn!("{text}");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

/// An opened remote database, and its name in messages.
pub struct OpenRemote {
    pub database: Arc<dyn Browse>,
    /// The limits of spending, as a line.
    pub limits: String,
    /// For instance `http://127.0.0.1:8000 (us-east-1)`.
    pub name: String,
}

impl RemoteArgs {
    /// True if a remote service is to be mounted.
    pub fn is_enabled(&self) -> bool {
        self.remote
    }
}

/// Connects to the service and lists a table, so that a refusal is reported now.
///
/// # Errors
/// A sentence that says what is missing or wrong, and what to do.
#[cfg(not(feature = "remote"))]
pub fn open(
    _args: &RemoteArgs,
    _prices: &PriceTable,
    _is_writable: bool,
) -> Result<OpenRemote, CliError> {
    Err(CliError::Message(WITHOUT.to_owned()))
}

/// Connects to the service and lists a table, so that a refusal is reported now.
#[cfg(feature = "remote")]
pub fn open(
    args: &RemoteArgs,
    prices: &PriceTable,
    is_writable: bool,
) -> Result<OpenRemote, CliError> {
    use crate::database::remote::aws::TIMEOUT;
    use crate::database::remote::{Client, RemoteDatabase, RemoteLayout, RemoteOptions};

    /// The time that a request waits for units without `--timeout`: pages of many programs at a
    /// time take longer than a request.
    const UNITS_WAIT: Duration = Duration::from_secs(60);

    let units_wait = args.service.timeout.is_none().then_some(UNITS_WAIT);
    let OpenService {
        meter,
        endpoint,
        region,
        limits,
    } = args
        .service
        .open(args.endpoint.as_deref(), prices, TIMEOUT, units_wait)?;
    let name = format!("{endpoint} ({region})");
    let client = Arc::new(Client::new(Arc::clone(&meter) as _));
    probe(&*client, &name)?;
    let defaults = RemoteOptions::default();
    let options = RemoteOptions {
        ttl: args.remote_ttl.unwrap_or(defaults.ttl),
        scan_limit: args.scan_limit.unwrap_or(defaults.scan_limit),
        tables: args.tables.clone(),
        is_writable,
        ..defaults
    };
    let layout = RemoteLayout::new(meter);
    Ok(OpenRemote {
        limits,
        database: Arc::new(RemoteDatabase::new(client, options).with_layout(layout)),
        name,
    })
}

/// Lists one table of the service.
#[cfg(feature = "remote")]
fn probe(service: &dyn crate::database::Database, name: &str) -> Result<(), CliError> {
    use crate::model::Error;
    use crate::model::api::ListTablesRequest;

    match service.list_tables(ListTablesRequest {
        exclusive_start_table_name: None,
        limit: Some(1),
    }) {
        Ok(_) => Ok(()),
        // Some users may read their tables but not list all.
        Err(Error::Remote(error)) if error.exception == "AccessDeniedException" => {
            log::warn!("{name} does not let you list tables: {error}");
            Ok(())
        }
        Err(error) => Err(CliError::Message(format!(
            "{name} does not let us in: {error}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_units_and_seconds() {
        assert_eq!(budget("2 USD"), Ok(BudgetOption::Run(2.0)));
        assert_eq!(budget("0.05USD"), Ok(BudgetOption::Run(0.05)));
        assert_eq!(budget("3 USD/day"), Ok(BudgetOption::Day(3.0)));
        assert_eq!(budget("none"), Ok(BudgetOption::None));
        for text in [
            "2",
            "2 EUR",
            "0 USD",
            "-1 USD",
            "USD",
            "inf USD",
            "2/day",
            "/day",
            "2 USD/week",
            "",
        ] {
            assert!(budget(text).unwrap_err().contains("'2 USD'"), "{text}");
        }
        assert_eq!(rate("none"), Ok(RateOption::Unlimited));
        assert_eq!(rate("0.5"), Ok(RateOption::Units(0.5)));
        assert!(rate("no").unwrap_err().contains("or none"));
        assert_eq!((units("25"), units("0.5")), (Ok(25.0), Ok(0.5)));
        assert!(units("0").is_err() && units("NaN").is_err() && units("-3").is_err());
        assert_eq!(seconds("0"), Ok(Duration::ZERO));
        assert!(seconds("1e9").is_err() && seconds_to_wait("0").is_err());
    }
}
