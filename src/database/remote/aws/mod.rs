//! A DynamoDB endpoint over HTTP: [`Service`] with credentials, signatures, connections that are kept, time-outs and repeats.
//!
//! | difficulty | solved by |
//! |---|---|
//! | our threads block, the HTTP client does not | a runtime of two threads works for all who wait: [`Aws::call`] |
//! | a lost answer leaves open whether a write was done | `repeat`: what may be asked twice, and how a write that was done is told from one that was refused |
//! | an endpoint that hangs | every request, with all its repeats, ends by [`AwsOptions::timeout`]; half of it may pass in silence |
//! | who asked may be killed meanwhile | the [`Caller`] is asked while it waits |
//! | the kernel asks for a name again, in the same system call, when the answer was an error | who waited in vain is told so at once: `InVain` |
//! | the clock of this machine is wrong | a refusal for that says the right time, by which requests are signed from then on |
//! | credentials end | `place` fetches them again a minute before, and after the service called them expired |
//!
//! ```text
//! place    what is given, endpoint, region, credentials      exchange   one request, one answer
//! repeat   what is asked again, and when
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
    throttling: Throttling,
    skew: Skew,
    in_vain: InVain,
}

/// Seconds that the service's clock is ahead of ours, as far as it matters to it.
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

    /// By the service's clock.
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
    fn call(&self, caller: &Caller, operation: &'static str, body: &[u8]) -> Result<Body, Error> {
        let Some(runtime) = &self.runtime else {
            return Err(given_up());
        };
        let again = InVain::of(caller, operation, body);
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
            // Nobody listens any more when who asked has given up.
            let _ = sender.send(asked.ask(request).await);
        });
        let answer = caller.receive(&receiver).inspect_err(|_| task.abort())?;
        // Without one the task ended without a word: it panicked, or the runtime ends.
        let answer = answer.unwrap_or_else(|| Err(given_up()));
        if let (Some(again), Err(error)) = (again, &answer)
            && begun.elapsed() >= self.asked.timeout / 2
        {
            self.asked.in_vain.note(again, error.clone());
        }
        answer.map(Body::from)
    }

    fn throttles(&self) -> u64 {
        self.asked.throttling.repeats()
    }
}

fn given_up() -> Error {
    RemoteError::unreachable("the request was given up: this ddbfs is ending").into()
}

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
                    self.throttling.say(&self.place, &request, &why);
                    if Instant::now() + delay >= deadline {
                        // The time may end within an attempt: what the service said before says more than its silence.
                        let why = last
                            .filter(|_| request.is_read() && Instant::now() >= deadline)
                            .unwrap_or(why);
                        return Err(why.error(&self.place, &attempts, self.timeout, &request));
                    }
                    self.throttling.count(&why);
                    if let Some(time) = why.service_time() {
                        self.skew.learn(time);
                    }
                    if why.is_expired() {
                        self.identities.forget().await;
                    }
                    last = Some(why).filter(|why| why.throttled().is_some());
                    tokio::time::sleep(delay).await;
                }
                Next::Unknown(why) => {
                    return Err(why.error(&self.place, &attempts, self.timeout, &request));
                }
            }
        }
    }

    /// Asks once.
    async fn attempt(&self, request: &Request, deadline: Instant) -> Result<Answer, Fault> {
        let identity = self.identities.get().await.map_err(Fault::Unsent)?;
        let signed = exchange::sign(request, &self.place, &identity, self.skew.now())
            .map_err(Fault::Unsent)?;
        self.connections
            .send(signed, request.answer_bytes_max(), deadline)
            .await
    }
}

/// Who asks the same so soon is the kernel, not a program that tries again.
const AT_ONCE: Duration = Duration::from_secs(3);
/// Threads that wait at a time.
const NOTED_MAX: usize = 64;

/// A request of a thread.
#[derive(Debug, PartialEq, Eq)]
pub struct Of {
    thread: u32,
    request: Digest,
}

/// Requests that were waited for in vain.
#[derive(Debug, Default)]
pub struct InVain(Mutex<VecDeque<(Of, Instant, Error)>>);

impl InVain {
    /// The request, if it reads and a program waits for it.
    pub fn of(caller: &Caller, operation: &str, body: &[u8]) -> Option<Of> {
        let Caller::Thread { id, .. } = caller else {
            return None;
        };
        is_read(operation).then(|| Of {
            thread: *id,
            request: digest(&[operation.as_bytes(), body].concat()),
        })
    }

    /// It was waited for, and this came of it.
    pub fn note(&self, of: Of, error: Error) {
        let mut noted = self.0.lock();
        noted.push_back((of, Instant::now(), error));
        if noted.len() > NOTED_MAX {
            noted.pop_front();
        }
    }

    /// What came of it a moment ago; told once.
    pub fn take(&self, of: &Of) -> Option<Error> {
        let mut noted = self.0.lock();
        noted.retain(|(_, at, _)| at.elapsed() < AT_ONCE);
        let at = noted.iter().position(|(noted, ..)| noted == of)?;
        noted.remove(at).map(|(.., error)| error)
    }
}

/// So often at most.
const SAID_EVERY: Duration = Duration::from_secs(10);

/// Says in the log that the service throttles, not each time.
#[derive(Debug, Default)]
pub struct Throttling {
    said: Mutex<Said>,
    repeats: AtomicU64,
}

#[derive(Debug, Default)]
struct Said {
    at: Option<Instant>,
    /// Since then.
    count: u64,
}

impl Throttling {
    /// Requests that were throttled and are asked again, so far.
    pub fn repeats(&self) -> u64 {
        self.repeats.load(Ordering::Relaxed)
    }

    /// One more, if that is why it is asked again.
    pub fn count(&self, why: &Why) {
        self.repeats
            .fetch_add(u64::from(why.throttled().is_some()), Ordering::Relaxed);
    }

    /// A request is tried again; says so if it was throttled.
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
