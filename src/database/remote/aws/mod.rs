//! A DynamoDB endpoint over HTTP: [`Service`] with credentials, signatures, connections that are kept, time-outs and repeats.
//!
//! | difficulty | solved by |
//! |---|---|
//! | our threads block, the HTTP client does not | a runtime of two threads works for all who wait: [`Aws::call`] |
//! | a lost answer leaves open whether a write was done | `repeat`: what may be asked twice, and how a write that was done is told from one that was refused |
//! | an endpoint that hangs | every request, with all its repeats, ends by [`AwsOptions::timeout`]; half of it may pass in silence |
//! | who asked may be killed meanwhile | [`crate::database::caller`] is asked while it waits |
//! | the kernel asks for a name again, in the same system call, when the answer was an error | who waited in vain is told so at once: `in_vain` |
//! | the clock of this machine is wrong | a refusal for that says the right time, by which requests are signed from then on |
//! | credentials end | `identity` fetches them again a minute before, and after the service called them expired |
//!
//! ```text
//! options    what is given, what is missing      place      endpoint and region       identity    credentials
//! message    requests, answers, faults           exchange   one request, one answer   throttling  said in the log
//! repeat     what is asked again, and when       in_vain   what was, for who asks the same at once
//! ```

mod exchange;
mod identity;
mod in_vain;
mod message;
mod options;
mod place;
mod repeat;
mod throttling;

pub use options::{AwsOptions, OpenError, TIMEOUT};

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, SystemTime};

use tokio::runtime::Runtime;
use tokio::time::Instant;

use self::exchange::Connections;
use self::identity::Identities;
use self::in_vain::InVain;
use self::message::{Answer, Fault, Request};
use self::place::Place;
use self::repeat::{Attempts, Next};
use self::throttling::Throttling;
use super::service::{Answer as Body, Service};
use crate::codec::wire::fault;
use crate::database::caller;
use crate::model::Error;
use crate::model::error::RemoteError;

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
        let ahead = service_time.duration_since(now).map_or_else(|error| -seconds(error.duration()), seconds);
        log::warn!("the clock of this machine is {} seconds off the service's; requests are signed by its time", -ahead);
        self.0.store(ahead, Ordering::Relaxed);
    }

    /// By the service's clock.
    fn now(&self) -> SystemTime {
        let (now, ahead) = (SystemTime::now(), self.0.load(Ordering::Relaxed));
        let span = Duration::from_secs(ahead.unsigned_abs());
        let shifted = if ahead < 0 { now.checked_sub(span) } else { now.checked_add(span) };
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
        let (place, identities) = runtime.block_on(identity::find(options))?;
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
    fn call(&self, operation: &'static str, body: &[u8]) -> Result<Body, Error> {
        let Some(runtime) = &self.runtime else { return Err(given_up()) };
        let again = self.asked.in_vain.of(operation, body);
        if let Some(error) = again.as_ref().and_then(|again| self.asked.in_vain.take(again)) {
            return Err(error);
        }
        let begun = Instant::now();
        let (request, asked) = (Request::new(operation, body), Arc::clone(&self.asked));
        let (sender, receiver) = sync_channel(1);
        let task = runtime.spawn(async move {
            // Nobody listens any more when who asked has given up.
            let _ = sender.send(asked.ask(request).await);
        });
        let answer = caller::receive(&receiver).inspect_err(|_| task.abort())?;
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
            let outcome = outcome.unwrap_or_else(|_| Err(Fault::Lost("no word came in time".to_owned())));
            match repeat::judge(&mut request, &mut attempts, outcome) {
                Next::Answer(body) => return Ok(body),
                Next::Refused(answer) => return Err(fault::read(answer.status, &answer.body)),
                Next::Again { why, delay } => {
                    self.throttling.say(&self.place, &request, &why);
                    if Instant::now() + delay >= deadline {
                        // The time may end within an attempt: what the service said before says more than its silence.
                        let why = last.filter(|_| request.is_read() && Instant::now() >= deadline).unwrap_or(why);
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
                Next::Unknown(why) => return Err(why.error(&self.place, &attempts, self.timeout, &request)),
            }
        }
    }

    /// Asks once.
    async fn attempt(&self, request: &Request, deadline: Instant) -> Result<Answer, Fault> {
        let identity = self.identities.get().await.map_err(Fault::Unsent)?;
        let signed = exchange::sign(request, &self.place, &identity, self.skew.now()).map_err(Fault::Unsent)?;
        self.connections.send(signed, request.answer_bytes_max(), deadline).await
    }
}
