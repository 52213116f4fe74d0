//! A DynamoDB endpoint over HTTP: a [`Transport`] with credentials, signatures, pooled connections,
//! time-outs and retries.
//!
//! | difficulty | solved by |
//! |---|---|
//! | our threads block, the HTTP client does not | a runtime of two threads serves all waiting threads: [`AwsTransport::call`] |
//! | a lost answer leaves open whether a write was executed | `retry`: the requests that may be retried, and the distinction of a write that was executed from one that was refused |
//! | an endpoint that hangs | every request, with all its retries, ends by [`AwsOptions::timeout`]; half of it may pass in silence |
//! | the calling thread may be killed meanwhile | the wait polls the [`CancelToken`] |
//! | the kernel looks a name up again, in the same system call, when the answer was an error | a second wait for a request that just timed out fails at once: `RecentTimeouts` |
//! | the clock of this machine is wrong | a refusal for that tells the right time, by which requests are signed from then on |
//! | credentials expire | `endpoint` fetches them again a minute before, and after the service reports them as expired |
//!
//! ```text
//! retry         the retry policy                             http        one request, one answer
//! endpoint      endpoint, region, the present credentials    settings    environment and files
//! credentials   where credentials come from                 certificates  of a file
//! open_error    the reasons why a service is not opened
//! ```

mod certificates;
mod credentials;
mod endpoint;
mod http;
mod open_error;
mod retry;
mod settings;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use super::transport::{AnswerBody as Body, Transport, is_read};
use crate::codec::digest::{Digest, digest};
use crate::database::cancel::CancelToken;
use crate::database::ttl_map::TtlMap;
use crate::model::Error;
use crate::model::clock::{Clock as _, SystemClock};
use crate::model::error::RemoteError;
use endpoint::{AwsEndpoint, CredentialCache};
pub use endpoint::{AwsOptions, TIMEOUT};
use http::{AwsRequest, ConnectionPool, HttpAnswer, SendError};
pub use open_error::AwsOpenError;
use retry::{Attempts, RetryDecision, RetryReason};

/// A service over HTTP.
#[derive(Debug)]
pub struct AwsTransport {
    /// The runtime; `None` only while `AwsTransport` is dropped.
    runtime: Option<Runtime>,
    shared: Arc<AwsShared>,
}

#[derive(Debug)]
struct AwsShared {
    endpoint: AwsEndpoint,
    credentials: CredentialCache,
    connections: ConnectionPool,
    timeout: Duration,
    throttling: ThrottleLog,
    skew: ClockSkew,
    recent_timeouts: RecentTimeouts,
}

/// The seconds that the service's clock is ahead of ours, once the service refused a signature for
/// it.
#[derive(Debug, Default)]
struct ClockSkew(AtomicI64);

impl ClockSkew {
    fn learn(&self, service_time: SystemTime) {
        let now = SystemTime::now();
        let seconds = |span: Duration| i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        let ahead = service_time
            .duration_since(now)
            .map_or_else(|error| -seconds(error.duration()), seconds);
        log::warn!(
            "the clock of this machine is {} seconds off the service's; requests are signed by its time",
            -ahead
        );
        self.0.store(ahead, Ordering::Relaxed);
    }

    /// Returns the time by the service's clock.
    fn now(&self) -> SystemTime {
        let (now, ahead) = (SystemTime::now(), self.0.load(Ordering::Relaxed));
        let span = Duration::from_secs(ahead.unsigned_abs());
        let shifted = if ahead < 0 {
            now.checked_sub(span)
        } else {
            now.checked_add(span)
        };
        shifted.unwrap_or(now)
    }
}

impl AwsTransport {
    /// Finds endpoint, region and credentials; an error names the missing setting. Sends no request
    /// to the service.
    pub fn open(options: &AwsOptions) -> Result<Self, AwsOpenError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("ddbfs-remote")
            .enable_all()
            .build()
            .map_err(AwsOpenError::Runtime)?;
        let (endpoint, credentials, roots) = runtime.block_on(endpoint::find_endpoint(options))?;
        let connections = ConnectionPool::new(&endpoint, roots, options.timeout)?;
        let shared = AwsShared {
            endpoint,
            credentials,
            connections,
            timeout: options.timeout,
            throttling: ThrottleLog::default(),
            skew: ClockSkew::default(),
            recent_timeouts: RecentTimeouts::default(),
        };
        Ok(Self {
            runtime: Some(runtime),
            shared: Arc::new(shared),
        })
    }

    /// Returns the endpoint as messages name it.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.shared.endpoint.to_string()
    }

    /// Returns the region for which requests are signed.
    #[must_use]
    pub fn region(&self) -> &str {
        &self.shared.endpoint.region
    }
}

impl Drop for AwsTransport {
    fn drop(&mut self) {
        // Does not wait for the tasks: a blocking drop inside another runtime would panic.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Transport for AwsTransport {
    fn call(
        &self,
        caller: &CancelToken,
        operation: &'static str,
        body: &[u8],
    ) -> Result<Body, Error> {
        let Some(runtime) = &self.runtime else {
            return Err(shutting_down());
        };
        let retry_key = thread_request(caller, operation, body);
        // Fails at once, and once, if the same thread just waited in vain for the same request.
        if let Some(key) = &retry_key {
            let mut recent = self.shared.recent_timeouts.lock();
            recent.drop_expired(SystemClock.now_ms());
            if let Some(error) = recent.remove(key) {
                return Err(error);
            }
        }
        let begun = Instant::now();
        let (request, shared) = (AwsRequest::new(operation, body), Arc::clone(&self.shared));
        let (sender, receiver) = sync_channel(1);
        let task = runtime.spawn(async move {
            // The receiver is gone if the caller has stopped waiting.
            let _ = sender.send(shared.send_with_retries(request).await);
        });
        let answer = caller.receive(&receiver).inspect_err(|_| task.abort())?;
        // No message means that the task panicked, or that the runtime is shutting down.
        let answer = answer.unwrap_or_else(|| Err(shutting_down()));
        // Only a long wait is remembered: after a quick failure the second request may succeed.
        if let (Some(retry_key), Err(error)) = (retry_key, &answer)
            && begun.elapsed() >= self.shared.timeout / 2
        {
            let mut recent = self.shared.recent_timeouts.lock();
            recent.insert(retry_key, error.clone(), SystemClock.now_ms());
        }
        answer.map(Body::from)
    }

    fn throttle_count(&self) -> u64 {
        self.shared.throttling.retries()
    }
}

fn shutting_down() -> Error {
    RemoteError::unreachable("the request was given up: this ddbfs is ending").into()
}

impl AwsShared {
    /// Sends a request, with retries, until there is an answer or the time is over.
    async fn send_with_retries(&self, mut request: AwsRequest) -> Result<Vec<u8>, Error> {
        let deadline = Instant::now() + self.timeout;
        let (mut attempts, mut last) = (Attempts::default(), None::<retry::RetryReason>);
        loop {
            let outcome =
                tokio::time::timeout_at(deadline, self.send_once(&request, deadline)).await;
            let outcome =
                outcome.unwrap_or_else(|_| Err(SendError::Lost("no word came in time".to_owned())));
            match retry::decide(&mut request, &mut attempts, outcome) {
                RetryDecision::Answer(body) => return Ok(body),
                RetryDecision::Refused(error) => return Err(error),
                RetryDecision::Retry { why, delay } => {
                    // Logged before the deadline is checked, so that a time-out by throttling is
                    // explained.
                    self.throttling.log(&self.endpoint, &request, &why);
                    if Instant::now() + delay >= deadline {
                        // The time may end within an attempt: the service's last refusal then says
                        // more than its silence.
                        let why = last
                            .filter(|_| request.is_read() && Instant::now() >= deadline)
                            .unwrap_or(why);
                        return Err(why.error(&self.endpoint, &attempts, self.timeout, &request));
                    }
                    self.throttling.count(&why);
                    if let Some(time) = why.service_time() {
                        self.skew.learn(time);
                    }
                    // The next attempt fetches new credentials.
                    if why.is_expired() {
                        self.credentials.invalidate().await;
                    }
                    // Only a throttling explains a later time-out better than the silence does.
                    last = Some(why).filter(|why| why.throttled().is_some());
                    tokio::time::sleep(delay).await;
                }
                RetryDecision::GiveUp(why) => {
                    return Err(why.error(&self.endpoint, &attempts, self.timeout, &request));
                }
            }
        }
    }

    /// Sends a request once.
    async fn send_once(
        &self,
        request: &AwsRequest,
        deadline: Instant,
    ) -> Result<HttpAnswer, SendError> {
        let identity = self.credentials.get().await.map_err(SendError::NotSent)?;
        let signed = http::sign(request, &self.endpoint, &identity, self.skew.now())
            .map_err(SendError::NotSent)?;
        self.connections
            .send(signed, request.answer_bytes_max(), deadline)
            .await
    }
}

/// The time in milliseconds within which a repeated request comes from the kernel, not from a
/// program that tries again.
const KERNEL_RETRY_MS: u64 = 3_000;
/// The limit of remembered failures, one for each waiting thread.
const TIMEOUTS_MAX: usize = 64;

/// Requests that timed out a moment ago, by thread, with their errors.
type RecentTimeouts = Mutex<TtlMap<(u32, Digest), Error, TIMEOUTS_MAX, KERNEL_RETRY_MS>>;

/// Returns the identity of a request, if it reads and a thread of a program waits for it.
fn thread_request(caller: &CancelToken, operation: &str, body: &[u8]) -> Option<(u32, Digest)> {
    let CancelToken::Thread { id, .. } = caller else {
        return None;
    };
    is_read(operation).then(|| (*id, digest(&[operation.as_bytes(), body].concat())))
}

/// The minimum interval of log messages about throttling.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Rate-limited log messages about throttling, and a counter of retries.
#[derive(Debug, Default)]
pub struct ThrottleLog {
    /// The time of the last message, and the throttled requests since.
    logged: Mutex<(Option<Instant>, u64)>,
    retries: AtomicU64,
}

impl ThrottleLog {
    /// Returns the number of throttled requests that were retried so far.
    pub fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    /// Counts a retry, if it is for throttling.
    pub fn count(&self, reason: &RetryReason) {
        self.retries
            .fetch_add(u64::from(reason.throttled().is_some()), Ordering::Relaxed);
    }

    /// Logs a retry, if it is for throttling and the last message is old enough.
    pub fn log(&self, endpoint: &AwsEndpoint, request: &AwsRequest, reason: &RetryReason) {
        let Some(exception) = reason.throttled() else {
            return;
        };
        let mut logged = self.logged.lock();
        let (at, count) = (logged.0, logged.1 + 1);
        if at.is_some_and(|at| at.elapsed() < LOG_INTERVAL) {
            logged.1 = count;
            return;
        }
        *logged = (Some(Instant::now()), 0);
        drop(logged);
        log::warn!(
            "{endpoint} throttles ({} times since the last such message): {exception} to {}; the request is repeated",
            count,
            request.operation
        );
    }
}
