//! Where a table is: in a data directory, or in a service.

use std::sync::Arc;

use clap::Args;

use super::copies::table_name;
use super::data_dir::{self, DataArgs, Opened};
use super::outcome::CliError;
use crate::database::Database;
use crate::database::copies::Side;
use crate::model::TableName;

/// A service of the AWS configuration, where a place is a word.
const AWS: &str = "aws:";

/// As whom services are asked, and how long.
#[derive(Debug, Clone, Args)]
pub struct ServiceArgs {
    /// Region of the service [default: AWS_REGION, else that of the profile]
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
    /// Profile of ~/.aws/config with region and credentials [default: AWS_PROFILE]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Seconds that a request may take, with all its repeats
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
}

/// Units a second that are asked of a service at most.
#[derive(Debug, Clone, Copy, Default)]
#[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "services are asked with that feature alone"))]
pub struct Rates {
    pub reads: Option<f64>,
    pub writes: Option<f64>,
}

/// The table of a service; `endpoint` `None` is the one of the AWS configuration.
pub fn of_service(args: &ServiceArgs, endpoint: Option<&str>, table: TableName, rates: Rates) -> Result<Side, CliError> {
    let (database, name) = open(args, endpoint, rates)?;
    let name = format!("{}/{table}", name.trim_end_matches('/'));
    Ok(Side { database, table, name })
}

/// The table of a data directory.
pub fn of_data(opened: &Opened, table: TableName) -> Side {
    Side { database: opened.database.clone(), name: table.to_string(), table }
}

/// Asks nothing yet; the database, and how messages name it.
/// Asks nothing yet; the database, and how messages name it.
#[cfg(feature = "remote")]
fn open(args: &ServiceArgs, endpoint: Option<&str>, rates: Rates) -> Result<(Arc<dyn Database>, String), CliError> {
    use std::time::Duration;

    use crate::codec::metrics::prices;
    use crate::database::remote::Client;
    use crate::database::remote::aws::{Aws, AwsOptions};
    use crate::database::remote::budget::{Limits, Meter};

    /// A request waits for units as long as it takes: nobody else waits for it.
    const UNITS_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

    let options = AwsOptions {
        endpoint: endpoint.map(str::to_owned),
        region: args.region.clone(),
        profile: args.profile.clone(),
        timeout: Duration::from_secs(args.timeout),
        ..AwsOptions::default()
    };
    let aws = Aws::open(&options).map_err(|error| CliError::Message(error.to_string()))?;
    let name = aws.endpoint();
    let limits = Limits { reads: rates.reads, writes: rates.writes, money: None, timeout: UNITS_TIMEOUT };
    let meter = Meter::new(Arc::new(aws), limits, prices::built_in());
    Ok((Arc::new(Client::new(Arc::new(meter))), name))
}

#[cfg(not(feature = "remote"))]
fn open(_args: &ServiceArgs, _endpoint: Option<&str>, _rates: Rates) -> Result<(Arc<dyn Database>, String), CliError> {
    Err(CliError::Message(super::remote::WITHOUT.to_owned()))
}

/// Where a person says that a table is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// `Orders`: in the data directory of the command; `DIR/Orders`: in that one.
    Data(Option<String>),
    /// `http://127.0.0.1:8000/Orders`: in that service; `aws:Orders`: in that of the AWS configuration, `aws:eu-west-1/Orders` in that region.
    Service { endpoint: Option<String>, region: Option<String> },
}

/// Reads `[PLACE/]TABLE`.
fn parse(text: &str) -> Result<(Place, TableName), CliError> {
    let (place, name) = match text.strip_prefix(AWS) {
        Some(rest) => {
            let (region, name) = rest.rsplit_once('/').map_or((None, rest), |(region, name)| (Some(region.to_owned()), name));
            (Place::Service { endpoint: None, region }, name)
        }
        None => match text.rsplit_once('/') {
            None => (Place::Data(None), text),
            Some((url, name)) if url.contains("://") => (Place::Service { endpoint: Some(url.to_owned()), region: None }, name),
            // Of the root directory nothing is left before the slash.
            Some((dir, name)) => (Place::Data(Some(if dir.is_empty() { "/" } else { dir }.to_owned())), name),
        },
    };
    Ok((place, table_name(name)?))
}

/// A table that is only looked at, and its data directory while it is open.
pub struct Found {
    pub side: Side,
    pub opened: Option<Opened>,
}

/// Finds a table by `[PLACE/]TABLE`.
pub fn find(text: &str, data: &DataArgs, service: &ServiceArgs, rates: Rates) -> Result<Found, CliError> {
    let (place, table) = parse(text)?;
    match place {
        Place::Service { endpoint, region } => {
            let service = ServiceArgs { region: region.or_else(|| service.region.clone()), ..service.clone() };
            Ok(Found { side: of_service(&service, endpoint.as_deref(), table, rates)?, opened: None })
        }
        Place::Data(dir) => {
            let opened = data_dir::open_to_look(&dir.map_or_else(|| data.clone(), |dir| DataArgs::at(dir.into())))?;
            let side = Side { name: text.to_owned(), ..of_data(&opened, table) };
            Ok(Found { side, opened: Some(opened) })
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn places_are_told_apart() {
        let check = |text: &str, place: Place, name: &str| {
            assert_eq!(parse(text).unwrap(), (place, TableName::new(name).unwrap()), "{text}");
        };
        let service = |endpoint: Option<&str>, region: Option<&str>| Place::Service {
            endpoint: endpoint.map(str::to_owned),
            region: region.map(str::to_owned),
        };
        check("Orders", Place::Data(None), "Orders");
        check("./data/Orders", Place::Data(Some("./data".into())), "Orders");
        check("/Orders", Place::Data(Some("/".into())), "Orders");
        check("http://127.0.0.1:8000/Orders", service(Some("http://127.0.0.1:8000"), None), "Orders");
        check("aws:Orders", service(None, None), "Orders");
        check("aws:eu-west-1/Orders", service(None, Some("eu-west-1")), "Orders");
        for text in ["", "http://127.0.0.1:8000/", "aws:", "data/", "a b"] {
            assert!(matches!(parse(text), Err(CliError::Usage(_))), "{text}");
        }
    }
}
