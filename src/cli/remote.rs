//! The options for a remote DynamoDB: its address, its credentials, its budget, and `mount
//! --remote`. `database::remote` has the client.

use crate::cli::prelude::*;
#[cfg(feature = "remote")]
use crate::database::remote::budget::{Budget, MeteredTransport};
use crate::model::prices::PriceTable;

/// The longest time accepted, a day: more is a mistake.
const SECONDS_MAX: f64 = 86_400.0;
/// The error of a build without the feature `remote`.
#[cfg(not(feature = "remote"))]
pub const WITHOUT: &str = "this ddbfs was built without the feature `remote`; build it with `cargo build --release --features remote`";
/// The only known currency.
const CURRENCY: &str = "USD";

/// The credentials, time limits and budget for a service.
#[derive(Debug, Clone, Args)]
pub struct ServiceArgs {
    /// Region of the service; AWS_REGION or the profile's by default
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    /// Profile of ~/.aws/config to take credentials from, before any in the environment
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Read units to consume per second at most; requests wait for them
    #[arg(long, value_name = "UNITS", value_parser = units)]
    max_rcu: Option<f64>,
    /// Write units to consume per second at most
    #[arg(long, value_name = "UNITS", value_parser = units)]
    max_wcu: Option<f64>,
    /// Money to spend in all, such as '2 USD', by on-demand prices (--prices); after that every
    /// request with a cost is refused
    #[arg(long, value_name = "MONEY", value_parser = money)]
    pub budget: Option<f64>,
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

fn money(text: &str) -> Result<f64, String> {
    let amount = text
        .trim()
        .strip_suffix(CURRENCY)
        .and_then(number)
        .filter(|money| *money > 0.0);
    amount.ok_or_else(|| format!("{text:?} is no amount of money; write for instance '2 {CURRENCY}', the currency of the prices"))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = number(text).filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| {
        format!("{text:?} is no number of seconds up to a day; write for instance 5 or 0.5")
    })
}

fn seconds_to_wait(text: &str) -> Result<Duration, String> {
    seconds(text).and_then(|wait| {
        if wait < Duration::from_millis(100) {
            Err("a request takes 0.1 seconds at least".to_owned())
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
        let limits = SpendLimits {
            reads: self.max_rcu,
            writes: self.max_wcu,
            money: self.budget,
            timeout: budget_timeout.unwrap_or(timeout),
        };
        let meter = MeteredTransport::new(Arc::new(aws), limits, prices.clone())
            .with_budget(self.shared_budget.clone());
        Ok(OpenService {
            meter: Arc::new(meter),
            endpoint,
            region,
        })
    }
}

/// An opened remote database, and its name in messages.
pub struct OpenRemote {
    pub database: Arc<dyn Browse>,
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

    let OpenService {
        meter,
        endpoint,
        region,
    } = args
        .service
        .open(args.endpoint.as_deref(), prices, TIMEOUT, None)?;
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
    let layout = Arc::new(RemoteLayout::new(meter, Arc::clone(&client) as _));
    Ok(OpenRemote {
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
        assert_eq!(money("2 USD"), Ok(2.0));
        assert_eq!(money("0.05USD"), Ok(0.05));
        for text in ["2", "2 EUR", "0 USD", "-1 USD", "USD", "inf USD"] {
            assert!(money(text).unwrap_err().contains("'2 USD'"), "{text}");
        }
        assert_eq!((units("25"), units("0.5")), (Ok(25.0), Ok(0.5)));
        assert!(units("0").is_err() && units("NaN").is_err() && units("-3").is_err());
        assert_eq!(seconds("0"), Ok(Duration::ZERO));
        assert!(seconds("1e9").is_err() && seconds_to_wait("0").is_err());
    }
}
