//! A DynamoDB endpoint over HTTP: a [`Service`] with credentials, signatures, pooled connections,
//! time-outs and retries.
//!
//! | difficulty | solved by |
//! |---|---|
//! | our threads block, the HTTP client does not | a runtime of two threads serves all waiting threads: [`Aws::call`] |
//! | a lost answer leaves open whether a write was executed | `repeat`: the requests that may be retried, and the distinction of a write that was executed from one that was refused |
//! | an endpoint that hangs | every request, with all its retries, ends by [`AwsOptions::timeout`]; half of it may pass in silence |
//! | the calling thread may be killed meanwhile | the wait polls the [`Caller`] |
//! | the kernel looks a name up again, in the same system call, when the answer was an error | a second wait for a request that just timed out fails at once: `InVain` |
//! | the clock of this machine is wrong | a refusal for that tells the right time, by which requests are signed from then on |
//! | credentials expire | `place` fetches them again a minute before, and after the service reports them as expired |
//!
//! ```text
//! place    options, endpoint, region, credentials      exchange   one request, one answer
//! repeat   the retry policy
//! ```

mod exchange;
mod place;
mod repeat;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use super::service::{Answer as Body, Service, is_read};
use crate::codec::digest::{Digest, digest};
use crate::codec::wire::answer;
use crate::database::caller::Caller;
use crate::model::Error;
use crate::model::error::RemoteError;
use exchange::{Answer, Connections, Fault, Request};
pub use place::{AwsOptions, OpenError, TIMEOUT};
use place::{Identities, Place};
use repeat::{Attempts, Next, Why};

/// A service over HTTP.
#[derive(Debug)]
pub struct Aws {
    /// The runtime; `None` only while `Aws` is dropped.
    runtime: Option<Runtime>,
    asked: Arc<Asked>,
}

#[derive(Debug)]
struct Asked {
    place: Place,
    identities: Identities,
    connections: Connections,
    timeout: Duration,
    throttling: Throttling,
    skew: Skew,
    in_vain: InVain,
}

/// The seconds that the service's clock is ahead of ours, once the service refused a signature for
/// it.
#[derive(Debug, Default)]
struct Skew(AtomicI64);

impl Skew {
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

impl Aws {
    /// Finds endpoint, region and credentials; an error names the missing setting. Sends no request
    /// to the service.
    pub fn open(options: &AwsOptions) -> Result<Self, OpenError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("ddbfs-remote")
            .enable_all()
            .build()
            .map_err(OpenError::Runtime)?;
        let (place, identities) = runtime.block_on(place::find(options))?;
        let connections = Connections::new(&place, options.timeout)?;
        let asked = Asked {
            place,
            identities,
            connections,
            timeout: options.timeout,
            throttling: Throttling::default(),
            skew: Skew::default(),
            in_vain: InVain::default(),
        };
        Ok(Self {
            runtime: Some(runtime),
            asked: Arc::new(asked),
        })
    }

    /// Returns the endpoint as messages name it.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.asked.place.to_string()
    }

    /// Returns the region for which requests are signed.
    #[must_use]
    pub fn region(&self) -> &str {
        &self.asked.place.region
    }
}

impl Drop for Aws {
    fn drop(&mut self) {
        // Does not wait for the tasks: a blocking drop inside another runtime would panic.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Service for Aws {
    fn call(&self, caller: &Caller, operation: &'static str, body: &[u8]) -> Result<Body, Error> {
        let Some(runtime) = &self.runtime else {
            return Err(given_up());
        };
        let again = InVain::of(caller, operation, body);
        // Fails at once if the same thread just waited in vain for the same request.
        if let Some(error) = again
            .as_ref()
            .and_then(|again| self.asked.in_vain.take(again))
        {
            return Err(error);
        }
        let begun = Instant::now();
        let (request, asked) = (Request::new(operation, body), Arc::clone(&self.asked));
        let (sender, receiver) = sync_channel(1);
        let task = runtime.spawn(async move {
            // The receiver is gone if the caller has stopped waiting.
            let _ = sender.send(asked.ask(request).await);
        });
        let answer = caller.receive(&receiver).inspect_err(|_| task.abort())?;
        // No message means that the task panicked, or that the runtime is shutting down.
        let answer = answer.unwrap_or_else(|| Err(given_up()));
        // Only a long wait is remembered: after a quick failure the second request may succeed.
        if let (Some(again), Err(error)) = (again, &answer)
            && begun.elapsed() >= self.asked.timeout / 2
        {
            self.asked.in_vain.note(again, error.clone());
        }
        answer.map(Body::from)
    }

    fn throttles(&self) -> u64 {
        self.asked.throttling.retries()
    }
}

fn given_up() -> Error {
    RemoteError::unreachable("the request was given up: this ddbfs is ending").into()
}

// Sends a request, with retries, until there is an answer or the time is over.
impl Asked {
    /// Asks until there is an answer or the time is over.
    async fn ask(&self, mut request: Request) -> Result<Vec<u8>, Error> {
        let deadline = Instant::now() + self.timeout;
        let (mut attempts, mut last) = (Attempts::default(), None::<repeat::Why>);
        loop {
            let outcome = tokio::time::timeout_at(deadline, self.attempt(&request, deadline)).await;
            let outcome =
                outcome.unwrap_or_else(|_| Err(Fault::Lost("no word came in time".to_owned())));
            match repeat::judge(&mut request, &mut attempts, outcome) {
                Next::Answer(body) => return Ok(body),
                Next::Refused(answer) => {
                    return Err(answer::read_error(answer.status, &answer.body));
                }
                Next::Again { why, delay } => {
                    // Logged before the deadline is checked, so that a time-out by throttling is
                    // explained.
                    self.throttling.say(&self.place, &request, &why);
                    if Instant::now() + delay >= deadline {
                        // The time may end within an attempt: the service's last refusal then says
                        // more than its silence.
                        let why = last
                            .filter(|_| request.is_read() && Instant::now() >= deadline)
                            .unwrap_or(why);
                        return Err(why.error(&self.place, &attempts, self.timeout, &request));
                    }
                    self.throttling.count(&why);
                    if let Some(time) = why.service_time() {
                        self.skew.learn(time);
                    }
                    // The next attempt fetches new credentials.
                    if why.is_expired() {
                        self.identities.forget().await;
                    }
                    // Only a throttling explains a later time-out better than the silence does.
                    last = Some(why).filter(|why| why.throttled().is_some());
                    tokio::time::sleep(delay).await;
                }
                Next::Unknown(why) => {
                    return Err(why.error(&self.place, &attempts, self.timeout, &request));
                }
            }
        }
    }

    /// Sends a request once.
    async fn attempt(&self, request: &Request, deadline: Instant) -> Result<Answer, Fault> {
        let identity = self.identities.get().await.map_err(Fault::Unsent)?;
        let signed = exchange::sign(request, &self.place, &identity, self.skew.now())
            .map_err(Fault::Unsent)?;
        self.connections
            .send(signed, request.answer_bytes_max(), deadline)
            .await
    }
}

/// The time within which a repeated request comes from the kernel, not from a program that tries
/// again.
const AT_ONCE: Duration = Duration::from_secs(3);
/// The limit of remembered failures, one for each waiting thread.
const NOTED_MAX: usize = 64;

/// A request of a thread.
#[derive(Debug, PartialEq, Eq)]
pub struct Of {
    thread: u32,
    request: Digest,
}

/// Requests that timed out a moment ago, with their errors.
#[derive(Debug, Default)]
pub struct InVain(Mutex<VecDeque<(Of, Instant, Error)>>);

// Returns the identity of a request, if it reads and a thread of a program waits for it.
impl InVain {
    /// Returns the identity of a request, if it reads and a thread of a program waits for it.
    pub fn of(caller: &Caller, operation: &str, body: &[u8]) -> Option<Of> {
        let Caller::Thread { id, .. } = caller else {
            return None;
        };
        is_read(operation).then(|| Of {
            thread: *id,
            request: digest(&[operation.as_bytes(), body].concat()),
        })
    }

    /// Remembers the error of a request that was waited for.
    pub fn note(&self, of: Of, error: Error) {
        let mut noted = self.0.lock();
        noted.push_back((of, Instant::now(), error));
        if noted.len() > NOTED_MAX {
            noted.pop_front();
        }
    }

    /// Returns the error of the same request a moment ago, once.
    pub fn take(&self, of: &Of) -> Option<Error> {
        let mut noted = self.0.lock();
        // An older entry belongs to a system call that has ended.
        noted.retain(|(_, at, _)| at.elapsed() < AT_ONCE);
        let at = noted.iter().position(|(noted, ..)| noted == of)?;
        noted.remove(at).map(|(.., error)| error)
    }
}

/// The minimum interval of log messages about throttling.
const SAID_EVERY: Duration = Duration::from_secs(10);

/// Rate-limited log messages about throttling, and a counter of retries.
#[derive(Debug, Default)]
pub struct Throttling {
    said: Mutex<Said>,
    retries: AtomicU64,
}

#[derive(Debug, Default)]
struct Said {
    at: Option<Instant>,
    /// The throttled requests since the last message.
    count: u64,
}

impl Throttling {
    /// Returns the number of throttled requests that were retried so far.
    pub fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    /// Counts a retry, if it is for throttling.
    pub fn count(&self, why: &Why) {
        self.retries
            .fetch_add(u64::from(why.throttled().is_some()), Ordering::Relaxed);
    }

    /// Logs a retry, if it is for throttling and the last message is old enough.
    pub fn say(&self, place: &Place, request: &Request, why: &Why) {
        let Some(exception) = why.throttled() else {
            return;
        };
        let mut said = self.said.lock();
        said.count += 1;
        if said.at.is_some_and(|at| at.elapsed() < SAID_EVERY) {
            return;
        }
        let count = std::mem::take(&mut said.count);
        said.at = Some(Instant::now());
        drop(said);
        log::warn!(
            "{place} throttles ({} times since this was said last): {exception} to {}; it is asked again",
            count,
            request.operation
        );
    }
}
