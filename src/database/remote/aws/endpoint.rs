//! The endpoint, region and credentials of a service, found as AWS's own programs find them.
//! Credentials are cached, and fetched again before they expire.

use std::fmt;
use std::time::{Duration, SystemTime};

use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::environment::region::EnvironmentVariableRegionProvider;
use aws_config::imds::region::ImdsRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::{ProfileFileCredentialsProvider, ProfileFileRegionProvider};
use aws_config::provider_config::ProviderConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_smithy_http_client::tls;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::client::identity::Identity;
use aws_types::service_config::ServiceConfigKey;
use hyper::Uri;
use tokio::sync::Mutex;

/// The region for a given endpoint without one: emulators take any.
const DEFAULT_REGION: &str = "us-east-1";

/// An endpoint with its region; see the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsEndpoint {
    pub region: String,
    database: Uri,
    streams: Uri,
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
        // The region of `dynamodb.REGION.amazonaws.com`.
        let own = uri
            .host()
            .and_then(|host| {
                host.strip_suffix(".amazonaws.com")?
                    .strip_prefix("dynamodb.")
            })
            .map(str::to_owned);
        // Checked, because the region becomes a part of signatures and of host names.
        let region = checked_region(region.or(own).unwrap_or_else(|| DEFAULT_REGION.to_owned()))?;
        Ok(Self {
            region,
            streams: uri.clone(),
            database: uri,
        })
    }

    /// Returns AWS's own endpoints of a region.
    fn from_region(
        region: String,
        is_fips: bool,
        is_dual_stack: bool,
    ) -> Result<Self, AwsOpenError> {
        let region = checked_region(region)?;
        let fips = if is_fips { "-fips" } else { "" };
        let domain = match (is_dual_stack, region.starts_with("cn-")) {
            (false, false) => "amazonaws.com",
            (false, true) => "amazonaws.com.cn",
            (true, false) => "api.aws",
            (true, true) => "api.amazonwebservices.com.cn",
        };
        let uri = |service: &str| {
            let uri = format!("https://{service}.{region}.{domain}/");
            uri.parse::<Uri>()
                .map_err(|_| AwsOpenError::Region(region.clone()))
        };
        Ok(Self {
            database: uri(&format!("dynamodb{fips}"))?,
            streams: uri(&format!("streams.dynamodb{fips}"))?,
            region,
        })
    }

    /// Returns the endpoint of the database; streams may have another.
    pub fn uri(&self) -> &Uri {
        &self.database
    }

    /// Returns the endpoint of an operation, and the prefix of its `X-Amz-Target`.
    pub fn for_operation(&self, operation: &str) -> (&Uri, &'static str) {
        match operation {
            "DescribeStream" | "GetRecords" | "GetShardIterator" | "ListStreams" => {
                (&self.streams, "DynamoDBStreams_20120810")
            }
            _ => (&self.database, "DynamoDB_20120810"),
        }
    }

    /// True if the endpoint uses TLS.
    pub fn is_encrypted(&self) -> bool {
        self.database.scheme_str() == Some("https")
    }
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
#[derive(Clone)]
pub struct AwsOptions {
    /// `http://` or `https://`, host and port.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    /// A profile of `~/.aws/config`; it overrides the environment.
    pub profile: Option<String>,
    /// Access key and secret; they override everything else.
    pub keys: Option<(String, String)>,
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

/// Omits the secret: debug output ends in logs.
impl std::fmt::Debug for AwsOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AwsOptions")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("profile", &self.profile)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// The reason why a service cannot be reached at all.
#[derive(Debug, thiserror::Error)]
pub enum AwsOpenError {
    #[error("there is no thread for requests: {0}")]
    Runtime(std::io::Error),
    #[error(
        "the endpoint {0:?} is no URL of a service: write for instance http://127.0.0.1:8000, without a path"
    )]
    Endpoint(String),
    #[error(
        "an endpoint has no user name and password: leave out all up to the @, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give \
         --profile"
    )]
    UserInfo,
    #[error(
        "no region is known: give --region, or set AWS_REGION, or region in the profile of ~/.aws/config"
    )]
    NoRegion,
    #[error("{0:?} is no name of a region; one is for instance eu-central-1")]
    Region(String),
    #[error(
        "there are no credentials for {place}: {why}. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (an emulator takes any), or give \
         --profile, or log in with `aws sso login`"
    )]
    NoCredentials { place: String, why: String },
    #[error(
        "no certificates of authorities are found, so https:// cannot be trusted ({0}): install ca-certificates, or set SSL_CERT_FILE"
    )]
    Certificates(std::io::Error),
}

/// The time before their expiry at which credentials are fetched again.
const REFRESH_BEFORE: Duration = Duration::from_secs(60);

/// The present credentials and their provider.
#[derive(Debug)]
pub struct CredentialCache {
    provider: SharedCredentialsProvider,
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
) -> Result<(AwsEndpoint, CredentialCache), AwsOpenError> {
    let http = http_client();
    let config = load(options, &http).await;
    let place = find_location(options, &config, &http).await?;
    let provider = provider(options, &place, &http).await;
    let identities = CredentialCache {
        provider,
        cached: Mutex::new(None),
    };
    // Fetched at once, so that a mount without credentials fails when it starts.
    let found = identities.get().await;
    found.map_err(|why| AwsOpenError::NoCredentials {
        place: place.to_string(),
        why,
    })?;
    Ok((place, identities))
}

/// Returns the HTTP client of the credential providers: SSO, STS, containers, machines.
fn http_client() -> SharedHttpClient {
    let ring = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);
    aws_smithy_http_client::Builder::new()
        .tls_provider(ring)
        .build_https()
}

/// Loads the settings of environment and profile.
async fn load(options: &AwsOptions, http: &SharedHttpClient) -> SdkConfig {
    let mut profile = ProfileFileRegionProvider::builder();
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http.clone())
        // The credentials come from `provider` alone.
        .no_credentials();
    if let Some(name) = &options.profile {
        profile = profile.profile_name(name);
        loader = loader.profile_name(name);
    }
    // A named profile hides the environment, as in `aws --profile`.
    let environment = options
        .profile
        .is_none()
        .then(EnvironmentVariableRegionProvider::new);
    let given = match (&options.region, environment) {
        (Some(region), _) => RegionProviderChain::first_try(Region::new(region.clone())),
        (None, Some(environment)) => {
            RegionProviderChain::first_try(environment).or_else(profile.build())
        }
        (None, None) => RegionProviderChain::first_try(profile.build())
            .or_else(EnvironmentVariableRegionProvider::new()),
    };
    loader.region(given).load().await
}

async fn find_location(
    options: &AwsOptions,
    config: &SdkConfig,
    http: &SharedHttpClient,
) -> Result<AwsEndpoint, AwsOpenError> {
    let region = config.region().map(ToString::to_string);
    // An endpoint needs no known region, so this comes before the search for one.
    if let Some(endpoint) = options
        .endpoint
        .clone()
        .or_else(|| configured_endpoint(config))
    {
        return AwsEndpoint::from_url(&endpoint, region);
    }
    let region = match region {
        Some(region) => Some(region),
        // The region of the machine, if it is one of AWS's.
        None => {
            let configured = ProviderConfig::without_region().with_http_client(http.clone());
            let machine = ImdsRegionProvider::builder().configure(&configured).build();
            machine.region().await.map(|region| region.to_string())
        }
    };
    let (is_fips, is_dual_stack) = (
        config.use_fips().unwrap_or(false),
        config.use_dual_stack().unwrap_or(false),
    );
    AwsEndpoint::from_region(
        region.ok_or(AwsOpenError::NoRegion)?,
        is_fips,
        is_dual_stack,
    )
}

/// Returns `AWS_ENDPOINT_URL_DYNAMODB`, `AWS_ENDPOINT_URL`, or the same of the profile.
fn configured_endpoint(config: &SdkConfig) -> Option<String> {
    let key = ServiceConfigKey::builder()
        .service_id("DynamoDB")
        .env("AWS_ENDPOINT_URL")
        .profile("endpoint_url")
        .build()
        .ok()?;
    let of_service = config
        .service_config()
        .and_then(|service| service.load_config(key));
    of_service
        .or_else(|| config.endpoint_url().map(str::to_owned))
        .filter(|endpoint| !endpoint.is_empty())
}

async fn provider(
    options: &AwsOptions,
    endpoint: &AwsEndpoint,
    http: &SharedHttpClient,
) -> SharedCredentialsProvider {
    let region = Some(Region::new(endpoint.region.clone()));
    let configured = ProviderConfig::without_region()
        .with_region(region)
        .with_http_client(http.clone());
    if let Some((key, secret)) = &options.keys {
        return SharedCredentialsProvider::new(Credentials::from_keys(key, secret, None));
    }
    match &options.profile {
        // A named profile overrides the environment.
        Some(name) => {
            let provider = ProfileFileCredentialsProvider::builder()
                .profile_name(name)
                .configure(&configured)
                .build();
            SharedCredentialsProvider::new(provider)
        }
        None => SharedCredentialsProvider::new(
            DefaultCredentialsChain::builder()
                .configure(configured)
                .build()
                .await,
        ),
    }
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
        match self.provider.provide_credentials().await {
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
                last.ok_or_else(|| with_causes(&error))
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

/// Returns the message of an error with all its causes: the outermost says little.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_of_regions() {
        let check = |region: &str, (is_fips, is_dual_stack), expected: (&str, &str)| {
            let place =
                AwsEndpoint::from_region(region.to_owned(), is_fips, is_dual_stack).unwrap();
            let found = (
                place.for_operation("Query").0.to_string(),
                place.for_operation("GetRecords").0.to_string(),
            );
            assert_eq!((found.0.as_str(), found.1.as_str()), expected);
        };
        check(
            "eu-central-1",
            (false, false),
            (
                "https://dynamodb.eu-central-1.amazonaws.com/",
                "https://streams.dynamodb.eu-central-1.amazonaws.com/",
            ),
        );
        check(
            "us-west-2",
            (true, false),
            (
                "https://dynamodb-fips.us-west-2.amazonaws.com/",
                "https://streams.dynamodb-fips.us-west-2.amazonaws.com/",
            ),
        );
        check(
            "us-west-2",
            (false, true),
            (
                "https://dynamodb.us-west-2.api.aws/",
                "https://streams.dynamodb.us-west-2.api.aws/",
            ),
        );
        check(
            "cn-north-1",
            (false, false),
            (
                "https://dynamodb.cn-north-1.amazonaws.com.cn/",
                "https://streams.dynamodb.cn-north-1.amazonaws.com.cn/",
            ),
        );
        for region in ["", "a b", "evil.com/", "x@y"] {
            assert!(
                AwsEndpoint::from_region(region.to_owned(), false, false).is_err(),
                "{region}"
            );
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
