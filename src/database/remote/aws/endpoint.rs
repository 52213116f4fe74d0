//! The endpoint, region and credentials of a service, found as AWS's own programs find them.
//! Credentials are cached, and fetched again before they expire.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use aws_config::imds::region::ImdsRegionProvider;
use aws_config::provider_config::ProviderConfig;
use aws_credential_types::Credentials;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::client::identity::Identity;
use hyper::Uri;
use rustls::RootCertStore;
use tokio::sync::Mutex;

use super::certificates::{credential_client, read_roots};
use super::credentials::CredentialChain;
use super::open_error::AwsOpenError;
use super::settings::{EndpointVariant, Settings, expand};

/// The domains of partitions; the file says whose.
const PARTITIONS: &str = include_str!("partitions.txt");
/// The region for a given endpoint without one: emulators take any.
const DEFAULT_REGION: &str = "us-east-1";

/// An endpoint with its region; see the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsEndpoint {
    pub region: String,
    database: Uri,
    streams: Uri,
    /// The one of SearchVectors.
    search: Uri,
}

/// Returns the columns of a region's partition: prefix, domain, domain of dual stack, mark of FIPS.
fn partition(region: &str) -> Vec<&'static str> {
    let rows = PARTITIONS.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| row.split_whitespace().collect::<Vec<_>>())
        .find(|row| row[0] == "*" || region.starts_with(row[0]))
        .unwrap_or_default()
}

/// The endpoint of the database, without a slash at its end.
impl fmt::Display for AwsEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.database.to_string().trim_end_matches('/'))
    }
}

impl AwsEndpoint {
    /// Parses an endpoint; its own region is taken if it names one and no other is given.
    fn from_url(endpoint: &str, region: Option<String>) -> Result<Self, AwsOpenError> {
        // Checked first, also of invalid URLs: a password must not be repeated in an error.
        if endpoint.contains('@') {
            return Err(AwsOpenError::UserInfo);
        }
        let refused = || AwsOpenError::Endpoint(endpoint.to_owned());
        let uri: Uri = endpoint.parse().map_err(|_| refused())?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_http
            || uri.host().is_none()
            || !matches!(uri.path(), "" | "/")
            || uri.query().is_some()
        {
            return Err(refused());
        }
        let own = uri.host().and_then(region_of_host);
        let is_own = own.is_some();
        // Checked, because the region becomes a part of signatures and of host names.
        let region = checked_region(region.or(own).unwrap_or_else(|| DEFAULT_REGION.to_owned()))?;
        // The command line asks AWS for streams if it asks AWS for items, and items' hosts search no vectors.
        if is_own {
            return Ok(Self {
                database: uri,
                ..Self::from_region(region, EndpointVariant::default())?
            });
        }
        Ok(Self {
            region,
            streams: uri.clone(),
            search: uri.clone(),
            database: uri,
        })
    }

    /// Returns AWS's own endpoints of a region.
    fn from_region(region: String, variant: EndpointVariant) -> Result<Self, AwsOpenError> {
        let region = checked_region(region)?;
        let row = partition(&region);
        let (domain, streams, fips) = match (variant.is_dual_stack, variant.is_fips) {
            (true, true) => (row[2], "streams-dynamodb", "-fips"),
            (true, false) => (row[2], "streams-dynamodb", ""),
            (false, true) => (row[1], "streams.dynamodb", row[3].trim_matches('=')),
            (false, false) => (row[1], "streams.dynamodb", ""),
        };
        let uri = |service: &str| {
            let uri = format!("https://{service}{fips}.{region}.{domain}/");
            uri.parse::<Uri>()
                .map_err(|_| AwsOpenError::Region(region.clone()))
        };
        Ok(Self {
            database: uri("dynamodb")?,
            streams: uri(streams)?,
            search: uri("search-dynamodb")?,
            region,
        })
    }

    /// Returns the endpoint of the database; streams and searches may have others.
    pub fn uri(&self) -> &Uri {
        &self.database
    }

    /// Returns the endpoint of an operation, and the prefix of its `X-Amz-Target`.
    pub fn for_operation(&self, operation: &str) -> (&Uri, &'static str) {
        match operation {
            "DescribeStream" | "GetRecords" | "GetShardIterator" | "ListStreams" => {
                (&self.streams, "DynamoDBStreams_20120810")
            }
            "SearchVectors" => (&self.search, "DynamoDB_20120810"),
            _ => (&self.database, "DynamoDB_20120810"),
        }
    }
}

/// Returns the region in the name of one of AWS's hosts, as `dynamodb.REGION.amazonaws.com` or
/// `vpce-1a2b.dynamodb.REGION.vpce.amazonaws.com`.
fn region_of_host(host: &str) -> Option<String> {
    let is_region = |label: &&str| {
        let words: Vec<_> = label.split('-').collect();
        words.len() > 2 && words.last().is_some_and(|word| word.parse::<u8>().is_ok())
    };
    let region = host.split('.').skip(1).find(is_region)?;
    let row = partition(region);
    let is_own = host.ends_with(row[1]) || host.ends_with(row[2]);
    is_own.then(|| region.to_owned())
}

fn checked_region(region: String) -> Result<String, AwsOpenError> {
    let is_legal = !region.is_empty()
        && region
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_legal {
        Ok(region)
    } else {
        Err(AwsOpenError::Region(region))
    }
}

/// The default time-out of a request with all its retries.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// The location of a service and the identity of its caller. A `None` is found as the AWS command
/// line finds it.
#[derive(Debug, Clone)]
pub struct AwsOptions {
    /// `http://` or `https://`, host and port.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    /// A profile of `~/.aws/config`; its credentials override the environment's.
    pub profile: Option<String>,
    /// They override everything else. Debug output omits their secret.
    pub keys: Option<Credentials>,
    /// The time-out of a request with all its retries.
    pub timeout: Duration,
}

impl Default for AwsOptions {
    fn default() -> Self {
        Self {
            endpoint: None,
            region: None,
            profile: None,
            keys: None,
            timeout: TIMEOUT,
        }
    }
}

/// The time before their expiry at which credentials are fetched again.
const REFRESH_BEFORE: Duration = Duration::from_secs(60);

/// The present credentials, and where new ones come from.
#[derive(Debug)]
pub struct CredentialCache {
    chain: CredentialChain,
    /// The last credentials; locked while new ones are fetched, so that one request fetches for
    /// all.
    cached: Mutex<Option<Identity>>,
}

/// Finds endpoint, region and credentials.
///
/// # Errors
/// The setting that is missing or invalid.
pub async fn find_endpoint(
    options: &AwsOptions,
) -> Result<(AwsEndpoint, CredentialCache, Option<RootCertStore>), AwsOpenError> {
    let settings = Settings::load(options.profile.as_deref()).await?;
    let mode = settings.get("AWS_ACCOUNT_ID_ENDPOINT_MODE", "account_id_endpoint_mode");
    if mode.is_some_and(|mode| mode == "required") {
        return Err(AwsOpenError::AccountEndpoint);
    }
    let ca_bundle = settings.get("AWS_CA_BUNDLE", "ca_bundle");
    let ca_bundle = ca_bundle.map(|path| expand(&path));
    let roots = ca_bundle.as_deref().map(read_roots).transpose()?;
    let variant = EndpointVariant {
        is_fips: settings.is_set("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint"),
        is_dual_stack: settings.is_set("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint"),
    };
    let http = credential_client(ca_bundle.as_deref());
    let place = find_location(options, &settings, variant, &http).await?;
    let chain = CredentialChain {
        settings,
        variant,
        region: place.region.clone(),
        http,
        keys: options.keys.clone(),
        may_ask: AtomicBool::new(true),
    };
    let cache = CredentialCache {
        chain,
        cached: Mutex::new(None),
    };
    // Fetched at once, so that a mount without credentials fails when it starts.
    let found = cache.get().await;
    found.map_err(|why| AwsOpenError::NoCredentials {
        place: place.to_string(),
        why,
    })?;
    cache.chain.may_ask.store(false, Ordering::Relaxed);
    Ok((place, cache, roots))
}

/// Finds the endpoint of a region.
async fn find_location(
    options: &AwsOptions,
    settings: &Settings,
    variant: EndpointVariant,
    http: &SharedHttpClient,
) -> Result<AwsEndpoint, AwsOpenError> {
    let region = options
        .region
        .clone()
        .or_else(|| settings.get("AWS_REGION", ""))
        .or_else(|| settings.get("AWS_DEFAULT_REGION", "region"));
    let given = options.endpoint.clone();
    let streams = settings.endpoint("DynamoDB Streams");
    let streams = streams.filter(|_| given.is_none());
    let endpoint = given.or_else(|| settings.endpoint("DynamoDB"));
    let mut place = match (endpoint, region) {
        // An endpoint needs no known region.
        (Some(endpoint), region) => AwsEndpoint::from_url(&endpoint, region)?,
        (None, Some(region)) => AwsEndpoint::from_region(region, variant)?,
        // The region of the machine, if it is one of AWS's.
        (None, None) => {
            let configured = ProviderConfig::without_region().with_http_client(http.clone());
            let machine = ImdsRegionProvider::builder().configure(&configured).build();
            let region = machine.region().await.ok_or(AwsOpenError::NoRegion)?;
            AwsEndpoint::from_region(region.to_string(), variant)?
        }
    };
    if let Some(streams) = streams {
        place.streams = AwsEndpoint::from_url(&streams, None)?.database;
    }
    Ok(place)
}

impl CredentialCache {
    /// Returns credentials that are valid for the next request.
    ///
    /// # Errors
    /// The reason why there are none, as text.
    pub async fn get(&self) -> Result<Identity, String> {
        let mut known = self.cached.lock().await;
        if let Some(identity) = known
            .as_ref()
            .filter(|identity| is_valid(identity, REFRESH_BEFORE))
        {
            return Ok(identity.clone());
        }
        match self.chain.load().await {
            Ok(credentials) => {
                let identity = Identity::from(credentials);
                *known = Some(identity.clone());
                Ok(identity)
            }
            // The former credentials may be used until they expire.
            Err(error) => {
                let last = known
                    .as_ref()
                    .filter(|identity| is_valid(identity, Duration::ZERO))
                    .cloned();
                last.ok_or(error)
            }
        }
    }

    /// Discards credentials that the service reports as expired.
    pub async fn invalidate(&self) {
        *self.cached.lock().await = None;
    }
}

fn is_valid(identity: &Identity, before: Duration) -> bool {
    identity
        .expiration()
        .is_none_or(|end| SystemTime::now() + before < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The endpoints of botocore 1.44.8, by region, FIPS and dual stack.
    #[rustfmt::skip]
    #[test]
    fn endpoints_of_regions() {
        for (region, is_fips, is_dual_stack, database, streams) in [
            ("eu-central-1", false, false, "https://dynamodb.eu-central-1.amazonaws.com/", "https://streams.dynamodb.eu-central-1.amazonaws.com/"),
            ("eu-central-1", false, true, "https://dynamodb.eu-central-1.api.aws/", "https://streams-dynamodb.eu-central-1.api.aws/"),
            ("eu-central-1", true, false, "https://dynamodb-fips.eu-central-1.amazonaws.com/", "https://streams.dynamodb-fips.eu-central-1.amazonaws.com/"),
            ("eu-central-1", true, true, "https://dynamodb-fips.eu-central-1.api.aws/", "https://streams-dynamodb-fips.eu-central-1.api.aws/"),
            ("cn-north-1", false, false, "https://dynamodb.cn-north-1.amazonaws.com.cn/", "https://streams.dynamodb.cn-north-1.amazonaws.com.cn/"),
            ("cn-north-1", false, true, "https://dynamodb.cn-north-1.api.amazonwebservices.com.cn/", "https://streams-dynamodb.cn-north-1.api.amazonwebservices.com.cn/"),
            ("cn-north-1", true, false, "https://dynamodb-fips.cn-north-1.amazonaws.com.cn/", "https://streams.dynamodb-fips.cn-north-1.amazonaws.com.cn/"),
            ("cn-north-1", true, true, "https://dynamodb-fips.cn-north-1.api.amazonwebservices.com.cn/", "https://streams-dynamodb-fips.cn-north-1.api.amazonwebservices.com.cn/"),
            ("eusc-de-east-1", false, false, "https://dynamodb.eusc-de-east-1.amazonaws.eu/", "https://streams.dynamodb.eusc-de-east-1.amazonaws.eu/"),
            ("eusc-de-east-1", false, true, "https://dynamodb.eusc-de-east-1.api.amazonwebservices.eu/", "https://streams-dynamodb.eusc-de-east-1.api.amazonwebservices.eu/"),
            ("eusc-de-east-1", true, false, "https://dynamodb-fips.eusc-de-east-1.amazonaws.eu/", "https://streams.dynamodb-fips.eusc-de-east-1.amazonaws.eu/"),
            ("eusc-de-east-1", true, true, "https://dynamodb-fips.eusc-de-east-1.api.amazonwebservices.eu/", "https://streams-dynamodb-fips.eusc-de-east-1.api.amazonwebservices.eu/"),
            ("us-iso-east-1", false, false, "https://dynamodb.us-iso-east-1.c2s.ic.gov/", "https://streams.dynamodb.us-iso-east-1.c2s.ic.gov/"),
            ("us-iso-east-1", false, true, "https://dynamodb.us-iso-east-1.api.aws.ic.gov/", "https://streams-dynamodb.us-iso-east-1.api.aws.ic.gov/"),
            ("us-iso-east-1", true, false, "https://dynamodb-fips.us-iso-east-1.c2s.ic.gov/", "https://streams.dynamodb-fips.us-iso-east-1.c2s.ic.gov/"),
            ("us-iso-east-1", true, true, "https://dynamodb-fips.us-iso-east-1.api.aws.ic.gov/", "https://streams-dynamodb-fips.us-iso-east-1.api.aws.ic.gov/"),
            ("us-isob-east-1", false, false, "https://dynamodb.us-isob-east-1.sc2s.sgov.gov/", "https://streams.dynamodb.us-isob-east-1.sc2s.sgov.gov/"),
            ("us-isob-east-1", false, true, "https://dynamodb.us-isob-east-1.api.aws.scloud/", "https://streams-dynamodb.us-isob-east-1.api.aws.scloud/"),
            ("us-isob-east-1", true, false, "https://dynamodb-fips.us-isob-east-1.sc2s.sgov.gov/", "https://streams.dynamodb-fips.us-isob-east-1.sc2s.sgov.gov/"),
            ("us-isob-east-1", true, true, "https://dynamodb-fips.us-isob-east-1.api.aws.scloud/", "https://streams-dynamodb-fips.us-isob-east-1.api.aws.scloud/"),
            ("eu-isoe-west-1", false, false, "https://dynamodb.eu-isoe-west-1.cloud.adc-e.uk/", "https://streams.dynamodb.eu-isoe-west-1.cloud.adc-e.uk/"),
            ("eu-isoe-west-1", false, true, "https://dynamodb.eu-isoe-west-1.api.cloud-aws.adc-e.uk/", "https://streams-dynamodb.eu-isoe-west-1.api.cloud-aws.adc-e.uk/"),
            ("eu-isoe-west-1", true, false, "https://dynamodb-fips.eu-isoe-west-1.cloud.adc-e.uk/", "https://streams.dynamodb-fips.eu-isoe-west-1.cloud.adc-e.uk/"),
            ("eu-isoe-west-1", true, true, "https://dynamodb-fips.eu-isoe-west-1.api.cloud-aws.adc-e.uk/", "https://streams-dynamodb-fips.eu-isoe-west-1.api.cloud-aws.adc-e.uk/"),
            ("us-isof-east-1", false, false, "https://dynamodb.us-isof-east-1.csp.hci.ic.gov/", "https://streams.dynamodb.us-isof-east-1.csp.hci.ic.gov/"),
            ("us-isof-east-1", false, true, "https://dynamodb.us-isof-east-1.api.aws.hci.ic.gov/", "https://streams-dynamodb.us-isof-east-1.api.aws.hci.ic.gov/"),
            ("us-isof-east-1", true, false, "https://dynamodb-fips.us-isof-east-1.csp.hci.ic.gov/", "https://streams.dynamodb-fips.us-isof-east-1.csp.hci.ic.gov/"),
            ("us-isof-east-1", true, true, "https://dynamodb-fips.us-isof-east-1.api.aws.hci.ic.gov/", "https://streams-dynamodb-fips.us-isof-east-1.api.aws.hci.ic.gov/"),
            ("us-gov-east-1", false, false, "https://dynamodb.us-gov-east-1.amazonaws.com/", "https://streams.dynamodb.us-gov-east-1.amazonaws.com/"),
            ("us-gov-east-1", false, true, "https://dynamodb.us-gov-east-1.api.aws/", "https://streams-dynamodb.us-gov-east-1.api.aws/"),
            ("us-gov-east-1", true, false, "https://dynamodb.us-gov-east-1.amazonaws.com/", "https://streams.dynamodb.us-gov-east-1.amazonaws.com/"),
            ("us-gov-east-1", true, true, "https://dynamodb-fips.us-gov-east-1.api.aws/", "https://streams-dynamodb-fips.us-gov-east-1.api.aws/"),
        ] {
            let variant = EndpointVariant { is_fips, is_dual_stack };
            let place = AwsEndpoint::from_region(region.to_owned(), variant).unwrap();
            let found = (place.for_operation("Query").0.to_string(), place.for_operation("GetRecords").0.to_string());
            assert_eq!(found, (database.to_owned(), streams.to_owned()));
            let search = place.for_operation("SearchVectors").0.to_string();
            assert_eq!(search, database.replace("://", "://search-"));
        }
        for region in ["", "a b", "evil.com/", "x@y"] {
            assert!(AwsEndpoint::from_region(region.to_owned(), EndpointVariant::default()).is_err(), "{region}");
        }
    }

    #[test]
    fn endpoints_that_are_given() {
        let region = |endpoint: &str, region: Option<&str>| {
            Some(
                AwsEndpoint::from_url(endpoint, region.map(str::to_owned))
                    .ok()?
                    .region,
            )
        };
        assert_eq!(
            region("http://127.0.0.1:8000", None).as_deref(),
            Some("us-east-1")
        );
        assert_eq!(
            region("http://127.0.0.1:8000/", Some("eu-west-1")).as_deref(),
            Some("eu-west-1")
        );
        assert_eq!(
            region("https://dynamodb.eu-central-1.amazonaws.com", None).as_deref(),
            Some("eu-central-1")
        );
        for (endpoint, expected, streams) in [
            (
                "https://vpce-1a2b-3c4d.dynamodb.eu-west-1.vpce.amazonaws.com",
                "eu-west-1",
                "https://streams.dynamodb.eu-west-1.amazonaws.com/",
            ),
            (
                "https://vpce-1a2b-3c4d-eu-west-1a.dynamodb.eu-west-1.vpce.amazonaws.com",
                "eu-west-1",
                "https://streams.dynamodb.eu-west-1.amazonaws.com/",
            ),
            (
                "https://dynamodb-fips.us-gov-west-1.amazonaws.com",
                "us-gov-west-1",
                "https://streams.dynamodb.us-gov-west-1.amazonaws.com/",
            ),
            (
                "https://dynamodb.cn-north-1.amazonaws.com.cn",
                "cn-north-1",
                "https://streams.dynamodb.cn-north-1.amazonaws.com.cn/",
            ),
            (
                "https://123456789012.ddb.us-east-2.api.aws",
                "us-east-2",
                "https://streams.dynamodb.us-east-2.amazonaws.com/",
            ),
            (
                "https://x.eu-west-1.example.com",
                "us-east-1",
                "https://x.eu-west-1.example.com/",
            ),
            (
                "https://dynamodb.amazonaws.com",
                "us-east-1",
                "https://dynamodb.amazonaws.com/",
            ),
        ] {
            let place = AwsEndpoint::from_url(endpoint, None).unwrap();
            let (found, _) = place.for_operation("GetRecords");
            assert_eq!(
                (place.region.as_str(), found.to_string().as_str()),
                (expected, streams)
            );
            let (search, _) = place.for_operation("SearchVectors");
            assert_eq!(search.to_string(), streams.replace("streams.", "search-"));
        }
        for endpoint in [
            "",
            "127.0.0.1:8000",
            "localhost",
            "ftp://x",
            "http://",
            "http://x/path",
            "http://x/?a=b",
        ] {
            assert!(region(endpoint, None).is_none(), "{endpoint}");
        }
        for endpoint in [
            "http://me:secret@127.0.0.1:8000",
            "https://me@host",
            "http://me:secret@host/path",
            "me:secret@",
        ] {
            let refused = AwsEndpoint::from_url(endpoint, None)
                .unwrap_err()
                .to_string();
            assert!(
                refused.contains('@') && !refused.contains("secret"),
                "{refused}"
            );
        }
    }
}
