//! Where a service is and as whom it is asked, and why it cannot be.

use std::time::Duration;

/// A request with all its repeats, unless told otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// Where a service is and as whom it is asked. What is `None` is found as the AWS command line finds it.
#[derive(Clone)]
pub struct AwsOptions {
    /// `http://` or `https://`, host and port.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    /// Of `~/.aws/config`; before what the environment says.
    pub profile: Option<String>,
    /// Access key and secret; before everything else.
    pub keys: Option<(String, String)>,
    /// Of a request, with all its repeats.
    pub timeout: Duration,
}

impl Default for AwsOptions {
    fn default() -> Self {
        Self { endpoint: None, region: None, profile: None, keys: None, timeout: TIMEOUT }
    }
}

/// Without the secret: what is printed for debugging ends in logs.
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

/// Why a service cannot be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("there is no thread for requests: {0}")]
    Runtime(std::io::Error),
    #[error("the endpoint {0:?} is no URL of a service: write for instance http://127.0.0.1:8000, without a path")]
    Endpoint(String),
    #[error(
        "an endpoint has no user name and password: leave out all up to the @, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give \
         --profile"
    )]
    UserInfo,
    #[error("no region is known: give --region, or set AWS_REGION, or region in the profile of ~/.aws/config")]
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
