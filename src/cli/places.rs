//! Where a table is: in a data directory, or in a service.

use super::copies::{CopyArgs, table_name};
use super::data_dir::Opened;
use super::dump::warn_unfinished;
use crate::cli::prelude::*;
use crate::database::Database;
use crate::database::copies::Side;
use crate::model::TableName;

/// A service of the AWS configuration, where a place is a word.
const AWS: &str = "aws:";

const USER_INFO: &str = "the URL of a service has no user name and password: leave out all up to the @, and set AWS_ACCESS_KEY_ID and \
    AWS_SECRET_ACCESS_KEY, or give --profile";

/// The table of a service; `endpoint` `None` is the one of the AWS configuration.
pub fn of_service(args: &CopyArgs, endpoint: Option<&str>, table: TableName) -> Result<Side, CliError> {
    let (database, name) = open(args, endpoint)?;
    let name = format!("{}/{table}", name.trim_end_matches('/'));
    Ok(Side { database, table, name })
}

/// The table of a data directory.
pub fn of_data(opened: &Opened, table: TableName) -> Side {
    Side { database: opened.database.clone(), name: table.to_string(), table }
}

/// Asks nothing yet; the database, and how messages name it.
#[cfg(feature = "remote")]
fn open(args: &CopyArgs, endpoint: Option<&str>) -> Result<(Arc<dyn Database>, String), CliError> {
    use std::time::Duration;

    use crate::database::remote::Client;

    /// How long a request may take.
    const TIMEOUT: Duration = Duration::from_secs(30);
    /// It waits for units as long as that takes: nobody else waits for it.
    const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

    let service = args.service.open(endpoint, &args.prices.table()?, TIMEOUT, Some(PATIENCE))?;
    Ok((Arc::new(Client::new(service.meter)), service.endpoint))
}

#[cfg(not(feature = "remote"))]
fn open(_args: &CopyArgs, _endpoint: Option<&str>) -> Result<(Arc<dyn Database>, String), CliError> {
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
    // Before anything of it is told again, which may be a password.
    if text.contains("://") && text.contains('@') {
        return Err(CliError::Usage(USER_INFO.to_owned()));
    }
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
pub fn find(text: &str, args: &CopyArgs) -> Result<Found, CliError> {
    let (place, table) = parse(text)?;
    match place {
        Place::Service { endpoint, region } => {
            let mut args = args.clone();
            args.service.region = region.or(args.service.region);
            Ok(Found { side: of_service(&args, endpoint.as_deref(), table)?, opened: None })
        }
        Place::Data(dir) => {
            let opened = data_dir::open_to_look(&dir.map_or_else(|| args.data.clone(), |dir| DataArgs::at(dir.into())))?;
            warn_unfinished(&*opened.database, &table)?;
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
        for text in ["", "http://127.0.0.1:8000/", "aws:", "data/", "a b", "http://me:secret@host", "http://me:secret@host/T"] {
            assert!(matches!(parse(text), Err(CliError::Usage(told)) if !told.contains("secret")), "{text}");
        }
    }
}
