//! The reasons why a service is not opened.

use std::path::PathBuf;

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
    #[error(
        "there is no profile {0:?} in ~/.aws/config and ~/.aws/credentials; `aws configure list-profiles` names those that are"
    )]
    NoProfile(String),
    #[error("the settings of AWS cannot be read: {0}")]
    Settings(String),
    #[error(
        "account_id_endpoint_mode requires endpoints of an account, which ddbfs does not use: set it to preferred"
    )]
    AccountEndpoint,
    #[error(
        "AWS_CA_BUNDLE or ca_bundle names {}, which is no file of certificates in PEM: {why}", path.display()
    )]
    CaBundle { path: PathBuf, why: String },
    #[error("{0:?} is no name of a region; one is for instance eu-central-1")]
    Region(String),
    #[error(
        "there are no credentials for {place}: {why}. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (an emulator takes any), or give \
         --profile, or log in with `aws sso login` or `aws login`"
    )]
    NoCredentials { place: String, why: String },
    #[error(
        "no certificates of authorities are found, so https:// cannot be trusted ({0}): install ca-certificates, or set SSL_CERT_FILE"
    )]
    Certificates(std::io::Error),
}

/// Returns the message of an error with all its causes: the outermost says little.
pub fn with_causes(error: &dyn std::error::Error) -> String {
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
