//! The retry policy: the requests that are retried after a failure, and when (exponential backoff
//! with jitter).
//!
//! Retried are throttled requests, failures of the service (5xx) and lost requests, after a random
//! delay of at most `50 ms * 2^n`, 20 s at most, as in AWS's guide to errors in DynamoDB.
//!
//! A lost request may have been executed. It is retried only if it is idempotent:
//!
//! | request | retried |
//! |---|---|
//! | a read | yes |
//! | a transaction | yes: it has a `ClientRequestToken`, and the service executes it once |
//! | PutItem, DeleteItem, BatchWriteItem | yes: the item is what it was to be. If the condition fails then, the item tells: one that is as it was put, or gone as it was deleted, was written by the first try |
//! | UpdateItem, a PartiQL statement, changes of tables | no: `ADD` would add twice. The error says that the outcome is unknown |

use std::time::{Duration, SystemTime};

use super::endpoint::AwsEndpoint;
use super::http::{AwsRequest, HttpAnswer, RETURN_ON_FAILURE, SendError, members, random};
use crate::codec::dynamodb_json;
use crate::codec::json::edit;
use crate::codec::wire::items::RETRIED;
use crate::codec::wire::response;
use crate::model::error::RemoteError;
use crate::model::{Error, Item};

const BASE_MS: u64 = 50;
const MAX_MS: u64 = 20_000;
const THROTTLES: [&str; 4] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "TransactionInProgressException",
];
const EXPIRED: [&str; 2] = ["ExpiredTokenException", "ExpiredToken"];
/// The exceptions for a request that was signed at another time than the service's, and the texts
/// of it among other bad signatures.
const SKEWED: [&str; 3] = [
    "RequestTimeTooSkewed",
    "RequestExpired",
    "RequestInTheFuture",
];
const SKEWED_TEXTS: [&str; 2] = ["Signature expired", "Signature not yet current"];

/// The history of a request.
#[derive(Debug, Default)]
pub struct Attempts {
    count: u32,
    /// True if an attempt may have been executed.
    was_lost: bool,
    /// True if a failed condition returns the item, although the caller did not ask for it.
    returns_item: bool,
    was_expired: bool,
    was_skewed: bool,
}

/// The reason of a retry, or of giving up.
#[derive(Debug)]
pub enum RetryReason {
    Throttled(Error),
    Expired(Error),
    /// Our clock differs from the service's, which shows this time.
    Skewed(SystemTime),
    /// The service failed, or did not answer.
    Failed(String),
}

/// The decision after an attempt.
#[derive(Debug)]
pub enum RetryDecision {
    Answer(Vec<u8>),
    Refused(Error),
    Retry {
        why: RetryReason,
        delay: Duration,
    },
    /// The request may have been executed, and is not idempotent.
    GiveUp(RetryReason),
}

/// Decides what follows an attempt.
pub fn decide(
    request: &mut AwsRequest,
    attempts: &mut Attempts,
    outcome: Result<HttpAnswer, SendError>,
) -> RetryDecision {
    attempts.count += 1;
    let answer = match outcome {
        Ok(answer) if answer.status == 200 => {
            return RetryDecision::Answer(mark_uncertain(request, attempts, answer.body));
        }
        Ok(answer) => answer,
        Err(SendError::NotSent(why)) => return retry(attempts, RetryReason::Failed(why)),
        Err(SendError::Lost(why)) => return after_loss(request, attempts, why),
        // The service has executed the request, and a retry would be answered with as much.
        Err(SendError::TooLong(why)) => {
            attempts.was_lost = true;
            return RetryDecision::GiveUp(RetryReason::Failed(why));
        }
    };
    let error = response::decode_error(answer.status, &answer.body);
    // A throttled request was not executed, so any operation may be retried.
    if answer.status == 429 || THROTTLES.contains(&error.exception()) {
        return retry(attempts, RetryReason::Throttled(error));
    }
    // Once: if new credentials are expired too, a third set will not help.
    if EXPIRED.contains(&error.exception()) && !attempts.was_expired {
        attempts.was_expired = true;
        return RetryDecision::Retry {
            why: RetryReason::Expired(error),
            delay: Duration::ZERO,
        };
    }
    // Once: a request signed by the service's own time is refused for another reason.
    if let Some(time) = answer
        .time
        .filter(|_| is_skewed(&error) && !attempts.was_skewed)
    {
        attempts.was_skewed = true;
        return RetryDecision::Retry {
            why: RetryReason::Skewed(time),
            delay: Duration::ZERO,
        };
    }
    match answer.status {
        // 503 is the only failure of a service after which the request was certainly not executed.
        503 => retry(attempts, RetryReason::Failed(error.to_string())),
        500.. => after_loss(request, attempts, error.to_string()),
        _ => after_refusal(request, attempts, &answer.body, error),
    }
}

/// Returns an answer, marked if an earlier attempt may have deleted the item that the answer lacks.
fn mark_uncertain(request: &AwsRequest, attempts: &Attempts, body: Vec<u8>) -> Vec<u8> {
    // The answer has the old item unless the lost attempt deleted it.
    let is_open = attempts.was_lost && request.operation == "DeleteItem";
    let marked = if is_open {
        edit::with_member(&body, RETRIED, "")
    } else {
        None
    };
    marked.unwrap_or(body)
}

fn is_skewed(error: &Error) -> bool {
    let text = error.to_string();
    SKEWED.contains(&error.exception()) || SKEWED_TEXTS.iter().any(|words| text.contains(words))
}

fn retry(attempts: &Attempts, reason: RetryReason) -> RetryDecision {
    // The whole delay is random: clients that failed together must not retry together.
    let most_ms = BASE_MS
        .saturating_mul(1 << attempts.count.saturating_sub(1).min(20))
        .min(MAX_MS);
    RetryDecision::Retry {
        why: reason,
        delay: Duration::from_millis(random() % (most_ms + 1)),
    }
}

fn after_loss(request: &mut AwsRequest, attempts: &mut Attempts, reason: String) -> RetryDecision {
    attempts.was_lost = true;
    if !request.is_repeatable() {
        return RetryDecision::GiveUp(RetryReason::Failed(reason));
    }
    // If the retry's condition fails, the returned item shows if the first attempt was applied.
    attempts.returns_item |= request.return_item_on_failure();
    retry(attempts, RetryReason::Failed(reason))
}

/// Decides on a refusal: it is final, unless the condition failed because the first attempt was
/// executed.
fn after_refusal(
    request: &AwsRequest,
    attempts: &Attempts,
    body: &[u8],
    error: Error,
) -> RetryDecision {
    if !attempts.was_lost || !matches!(error, Error::ConditionalCheckFailed { .. }) {
        return RetryDecision::Refused(error);
    }
    match was_applied(request, body) {
        Ok(true) => RetryDecision::Answer(mark_uncertain(request, attempts, b"{}".to_vec())),
        // The caller did not ask for the item.
        Ok(false) if attempts.returns_item => {
            RetryDecision::Refused(Error::ConditionalCheckFailed { item: None })
        }
        Ok(false) => RetryDecision::Refused(error),
        Err(why) => RetryDecision::GiveUp(RetryReason::Failed(why)),
    }
}

/// Returns true if the item is what the request would have made of it.
///
/// # Errors
/// The item is unreadable. It must not count as absent, which is the success of a delete.
fn was_applied(request: &AwsRequest, body: &[u8]) -> Result<bool, String> {
    let item_of = |body: &[u8]| -> Result<Option<Item>, String> {
        let item = members(body).and_then(|mut members| members.remove("Item"));
        item.map(|item| dynamodb_json::parse(item.to_string().as_bytes()))
            .transpose()
            .map_err(|error| format!("the item of a failed condition cannot be read: {error}"))
    };
    let stored_item = item_of(body)?;
    Ok(match request.operation {
        "PutItem" => stored_item.is_some() && stored_item == item_of(&request.body)?,
        // A missing item proves the deletion only if the request asked for the item.
        "DeleteItem" => {
            stored_item.is_none()
                && members(&request.body).is_some_and(|body| body.contains_key(RETURN_ON_FAILURE))
        }
        _ => false,
    })
}

impl RetryReason {
    /// Returns the exception, if the request was throttled.
    pub fn throttled(&self) -> Option<&str> {
        match self {
            Self::Throttled(error) => Some(error.exception()),
            Self::Expired(..) | Self::Skewed(_) | Self::Failed(_) => None,
        }
    }

    /// True if new credentials are needed.
    pub fn is_expired(&self) -> bool {
        matches!(self, Self::Expired(..))
    }

    /// Returns the time of the service's clock, if ours differs.
    pub fn service_time(&self) -> Option<SystemTime> {
        if let Self::Skewed(time) = self {
            Some(*time)
        } else {
            None
        }
    }

    /// Returns the error of a request that is not retried.
    pub fn error(
        self,
        endpoint: &AwsEndpoint,
        attempts: &Attempts,
        timeout: Duration,
        request: &AwsRequest,
    ) -> Error {
        let times = if attempts.count == 1 {
            "once".to_owned()
        } else {
            format!("{} times", attempts.count)
        };
        let tried = format!("{endpoint} was asked {times} within {timeout:?}");
        match self {
            Self::Throttled(Error::Remote(error)) | Self::Expired(Error::Remote(error)) => RemoteError {
                message: format!("{} ({tried})", error.message),
                ..*error
            }
            .into(),
            Self::Throttled(error) | Self::Expired(error) => error,
            Self::Skewed(_) => RemoteError::unreachable(format!(
                "the clock of this machine is not the service's ({tried}): set it, for instance by NTP"
            ))
            .into(),
            Self::Failed(why) => {
                let unknown = attempts.was_lost && !request.is_read();
                let unknown = if unknown {
                    format!("; whether {} was done is not known: read before you try again", request.operation)
                } else {
                    String::new()
                };
                RemoteError::unreachable(format!("there is no answer of the service: {why} ({tried}){unknown}")).into()
            }
        }
    }
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
