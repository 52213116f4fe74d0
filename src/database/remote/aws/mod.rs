//! A DynamoDB endpoint over HTTP: [`Service`] with credentials, signatures, connections that are kept, time-outs and repeats.
//!
//! | difficulty | solved by |
//! |---|---|
//! | our threads block, the HTTP client does not | a runtime of two threads works for all who wait: [`Aws::call`] |
//! | a lost answer leaves open whether a write was done | [`repeat`]: what may be asked twice, and how a write that was done is told from one that was refused |
//! | an endpoint that hangs | every request, with all its repeats, ends by [`AwsOptions::timeout`]; half of it may pass in silence |
//! | who asked may be killed meanwhile | [`caller`](crate::database::caller) is asked while it waits |
//! | credentials end | [`identity`] fetches them again a minute before, and after the service called them expired |
//!
//! ```text
//! place      endpoint and region          identity   credentials                repeat    what is tried again, and when
//! exchange   one request, one answer      refusal    a service's words
//! ```

mod exchange;
mod identity;
mod place;
mod refusal;
mod repeat;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, SystemTime};

use tokio::runtime::Runtime;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use self::exchange::{Answer, Connections, Fault};
use self::identity::Identities;
use self::place::Place;
use self::repeat::{Attempts, Next, Request};
use super::service::Service;
use crate::codec::wire::fault;
use crate::database::caller;
use crate::model::Error;
use crate::model::error::RemoteError;

/// How often who waits is asked whether it still wants the answer.
const SLICE: Duration = Duration::from_millis(100);
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

/// A service that is asked over HTTP.
#[derive(Debug)]
pub struct Aws {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    asked: Arc<Asked>,
}

#[derive(Debug)]
struct Asked {
    place: Place,
    identities: Identities,
    connections: Connections,
    timeout: Duration,
    throttling: refusal::Throttling,
}

impl Aws {
    /// Finds endpoint, region and credentials. Asks the service nothing.
    ///
    /// # Errors
    /// What is missing, and what to do.
    pub fn open(options: &AwsOptions) -> Result<Self, OpenError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("ddbfs-remote")
            .enable_all()
            .build()
            .map_err(OpenError::Runtime)?;
        let (place, identities) = runtime.block_on(identity::find(options))?;
        let connections = Connections::new(&place, options.timeout)?;
        let asked = Asked { place, identities, connections, timeout: options.timeout, throttling: refusal::Throttling::default() };
        Ok(Self { runtime: Some(runtime), asked: Arc::new(asked) })
    }

    /// The endpoint, as messages name it.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.asked.place.to_string()
    }

    /// What requests are signed for.
    #[must_use]
    pub fn region(&self) -> &str {
        &self.asked.place.region
    }
}

impl Drop for Aws {
    fn drop(&mut self) {
        // Waits for nothing: dropped where a runtime works, waiting would be a panic.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Service for Aws {
    fn call(&self, operation: &'static str, body: &[u8]) -> Result<Vec<u8>, Error> {
        let Some(runtime) = &self.runtime else { return Err(given_up()) };
        let (request, asked) = (Request::new(operation, body), Arc::clone(&self.asked));
        let (sender, receiver) = sync_channel(1);
        let task = runtime.spawn(async move {
            // Nobody listens any more when who asked has given up.
            let _ = sender.send(asked.ask(request).await);
        });
        wait(&receiver, &task.abort_handle())
    }
}

/// Waits for an answer as long as somebody wants it.
fn wait(answer: &Receiver<Result<Vec<u8>, Error>>, task: &AbortHandle) -> Result<Vec<u8>, Error> {
    loop {
        match answer.recv_timeout(SLICE) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) if caller::is_waiting() => {}
            Err(RecvTimeoutError::Timeout) => {
                task.abort();
                return Err(Error::Interrupted);
            }
            // The task ended without a word: it panicked, or the runtime ends.
            Err(RecvTimeoutError::Disconnected) => return Err(given_up()),
        }
    }
}

fn given_up() -> Error {
    RemoteError::unreachable("the request was given up: this ddbfs is ending").into()
}

impl Asked {
    /// Asks until there is an answer or the time is over.
    async fn ask(&self, mut request: Request) -> Result<Vec<u8>, Error> {
        let deadline = Instant::now() + self.timeout;
        let mut attempts = Attempts::default();
        loop {
            let outcome = tokio::time::timeout_at(deadline, self.attempt(&request)).await;
            let outcome = outcome.unwrap_or_else(|_| Err(Fault::Lost("no word came in time".to_owned())));
            match repeat::judge(&mut request, &mut attempts, outcome) {
                Next::Answer(body) => return Ok(body),
                Next::Refused(answer) => return Err(fault::read(answer.status, &answer.body)),
                Next::Again { why, delay } => {
                    self.throttling.say(&self.place, &request, &why);
                    if Instant::now() + delay >= deadline {
                        return Err(why.error(&self.place, &attempts, self.timeout, &request));
                    }
                    if why.is_expired() {
                        self.identities.forget().await;
                    }
                    tokio::time::sleep(delay).await;
                }
                Next::Unknown(why) => return Err(why.error(&self.place, &attempts, self.timeout, &request)),
            }
        }
    }

    /// Asks once.
    async fn attempt(&self, request: &Request) -> Result<Answer, Fault> {
        let identity = self.identities.get().await.map_err(Fault::Unsent)?;
        let signed = exchange::sign(request, &self.place, &identity, SystemTime::now()).map_err(Fault::Unsent)?;
        self.connections.send(signed).await
    }
}
