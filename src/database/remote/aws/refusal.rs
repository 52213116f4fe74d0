//! A service's refusals: the words that it is decided by whether to ask again, and the log where it throttles.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;

use super::exchange::Answer;
use super::place::Place;
use super::repeat::{Request, Why};

/// So often the log says that a service throttles.
const SAID_EVERY: Duration = Duration::from_secs(10);
/// Of an answer that is not DynamoDB's.
const SHOWN_CHARACTERS_MAX: usize = 200;

/// What a refusal says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The exception without its namespace; empty where the answer is not DynamoDB's.
    pub exception: String,
    pub message: String,
}

/// Reads a refusal.
pub fn words(answer: &Answer) -> Words {
    let json: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let member = |name: &str| json.as_ref()?.get(name)?.as_str().map(str::to_owned);
    let Some(name) = member("__type") else {
        let text: String = String::from_utf8_lossy(&answer.body).trim().chars().take(SHOWN_CHARACTERS_MAX).collect();
        let message = format!("the answer of status {} is not DynamoDB's: {text:?}", answer.status);
        return Words { exception: String::new(), message };
    };
    let exception = name.rsplit('#').next().unwrap_or_default().to_owned();
    Words { exception, message: member("message").or_else(|| member("Message")).unwrap_or_default() }
}

/// Says in the log that the service throttles, not each time.
#[derive(Debug, Default)]
pub struct Throttling(Mutex<Said>);

#[derive(Debug, Default)]
struct Said {
    at: Option<Instant>,
    /// Since then.
    count: u64,
}

impl Throttling {
    /// A request is tried again; says so if it was throttled.
    pub fn say(&self, place: &Place, request: &Request, why: &Why) {
        let Some(exception) = why.throttled() else { return };
        let mut said = self.0.lock();
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
