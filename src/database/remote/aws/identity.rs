//! Credentials: found as AWS's own programs find them, and fetched again before they end.

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
use tokio::sync::Mutex;

use super::options::{AwsOptions, OpenError};
use super::place::Place;

/// Credentials are fetched again so long before they end.
const BEFORE_THEIR_END: Duration = Duration::from_secs(60);

/// The credentials of now.
#[derive(Debug)]
pub struct Identities {
    provider: SharedCredentialsProvider,
    /// Held while others are fetched: one fetches for all.
    known: Mutex<Option<Identity>>,
}

/// Endpoint, region and credentials.
///
/// # Errors
/// What is missing.
pub async fn find(options: &AwsOptions) -> Result<(Place, Identities), OpenError> {
    let http = http_client();
    let config = load(options, &http).await;
    let place = find_place(options, &config, &http).await?;
    let provider = provider(options, &place, &http).await;
    let identities = Identities { provider, known: Mutex::new(None) };
    let found = identities.get().await;
    found.map_err(|why| OpenError::NoCredentials { place: place.to_string(), why })?;
    Ok((place, identities))
}

/// For those who give credentials: SSO, STS, containers, machines.
fn http_client() -> SharedHttpClient {
    let ring = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);
    aws_smithy_http_client::Builder::new().tls_provider(ring).build_https()
}

/// What environment and profile say.
async fn load(options: &AwsOptions, http: &SharedHttpClient) -> SdkConfig {
    let mut profile = ProfileFileRegionProvider::builder();
    let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(http.clone()).no_credentials();
    if let Some(name) = &options.profile {
        profile = profile.profile_name(name);
        loader = loader.profile_name(name);
    }
    // Of this profile alone when it is named, as `aws --profile` does.
    let environment = options.profile.is_none().then(EnvironmentVariableRegionProvider::new);
    let given = match (&options.region, environment) {
        (Some(region), _) => RegionProviderChain::first_try(Region::new(region.clone())),
        (None, Some(environment)) => RegionProviderChain::first_try(environment).or_else(profile.build()),
        (None, None) => RegionProviderChain::first_try(profile.build()).or_else(EnvironmentVariableRegionProvider::new()),
    };
    loader.region(given).load().await
}

async fn find_place(options: &AwsOptions, config: &SdkConfig, http: &SharedHttpClient) -> Result<Place, OpenError> {
    let region = config.region().map(ToString::to_string);
    if let Some(endpoint) = options.endpoint.clone().or_else(|| endpoint_of(config)) {
        return Place::of_endpoint(&endpoint, region);
    }
    let region = match region {
        Some(region) => Some(region),
        // Of the machine that this runs on, if it is one of AWS's.
        None => {
            let configured = ProviderConfig::without_region().with_http_client(http.clone());
            let machine = ImdsRegionProvider::builder().configure(&configured).build();
            machine.region().await.map(|region| region.to_string())
        }
    };
    let (is_fips, is_dual_stack) = (config.use_fips().unwrap_or(false), config.use_dual_stack().unwrap_or(false));
    Place::of_region(region.ok_or(OpenError::NoRegion)?, is_fips, is_dual_stack)
}

/// `AWS_ENDPOINT_URL_DYNAMODB`, `AWS_ENDPOINT_URL`, or the same of the profile.
fn endpoint_of(config: &SdkConfig) -> Option<String> {
    let key = ServiceConfigKey::builder().service_id("DynamoDB").env("AWS_ENDPOINT_URL").profile("endpoint_url").build().ok()?;
    let of_service = config.service_config().and_then(|service| service.load_config(key));
    of_service.or_else(|| config.endpoint_url().map(str::to_owned)).filter(|endpoint| !endpoint.is_empty())
}

async fn provider(options: &AwsOptions, place: &Place, http: &SharedHttpClient) -> SharedCredentialsProvider {
    let region = Some(Region::new(place.region.clone()));
    let configured = ProviderConfig::without_region().with_region(region).with_http_client(http.clone());
    if let Some((key, secret)) = &options.keys {
        return SharedCredentialsProvider::new(Credentials::from_keys(key, secret, None));
    }
    match &options.profile {
        // Whoever names a profile means it, whatever the environment holds.
        Some(name) => {
            let provider = ProfileFileCredentialsProvider::builder().profile_name(name).configure(&configured).build();
            SharedCredentialsProvider::new(provider)
        }
        None => SharedCredentialsProvider::new(DefaultCredentialsChain::builder().configure(configured).build().await),
    }
}

impl Identities {
    /// Credentials that are good for the next request.
    ///
    /// # Errors
    /// Why there are none.
    pub async fn get(&self) -> Result<Identity, String> {
        let mut known = self.known.lock().await;
        if let Some(identity) = known.as_ref().filter(|identity| is_good(identity, BEFORE_THEIR_END)) {
            return Ok(identity.clone());
        }
        match self.provider.provide_credentials().await {
            Ok(credentials) => {
                let identity = Identity::from(credentials);
                *known = Some(identity.clone());
                Ok(identity)
            }
            // Those of before may do until they end.
            Err(error) => {
                let last = known.as_ref().filter(|identity| is_good(identity, Duration::ZERO)).cloned();
                last.ok_or_else(|| with_causes(&error))
            }
        }
    }

    /// The service says that they have ended.
    pub async fn forget(&self) {
        *self.known.lock().await = None;
    }
}

fn is_good(identity: &Identity, before: Duration) -> bool {
    identity.expiration().is_none_or(|end| SystemTime::now() + before < end)
}

/// What an error says, and what caused it: the outermost says little.
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
