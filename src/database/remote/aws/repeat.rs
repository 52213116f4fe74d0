//! The retry policy: the requests that are retried after a failure, and when.
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

use super::exchange::{Answer, Fault, ON_FAILURE, Request, Words, object, random, words};
use super::place::Place;
use crate::codec::dynamodb_json;
use crate::codec::json::edit;
use crate::codec::wire::items::ASKED_AGAIN;
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
const SKEWED_WORDS: [&str; 2] = ["Signature expired", "Signature not yet current"];

/// The history of a request.
#[derive(Debug, Default)]
pub struct Attempts {
    count: u32,
    /// True if an attempt may have been executed.
    was_lost: bool,
    /// True if a failed condition returns the item, although the caller did not ask for it.
    shows_item: bool,
    was_expired: bool,
    was_skewed: bool,
}

/// The reason of a retry, or of giving up.
#[derive(Debug)]
pub enum Why {
    Throttled(u16, Words),
    Expired(u16, Words),
    /// Our clock differs from the service's, which shows this time.
    Skewed(SystemTime),
    /// The service failed, or did not answer.
    Failed(String),
}

/// The decision after an attempt.
#[derive(Debug)]
pub enum Next {
    Answer(Vec<u8>),
    Refused(Answer),
    Again {
        why: Why,
        delay: Duration,
    },
    /// The request may have been executed, and is not idempotent.
    Unknown(Why),
}

/// Decides what follows an attempt.
pub fn judge(
    request: &mut Request,
    attempts: &mut Attempts,
    outcome: Result<Answer, Fault>,
) -> Next {
    attempts.count += 1;
    let answer = match outcome {
        Ok(answer) if answer.status == 200 => {
            return Next::Answer(told(request, attempts, answer.body));
        }
        Ok(answer) => answer,
        Err(Fault::Unsent(why)) => return again(attempts, Why::Failed(why)),
        Err(Fault::Lost(why)) => return lost(request, attempts, why),
        // The service has executed the request, and a retry would be answered with as much.
        Err(Fault::TooLong(why)) => {
            attempts.was_lost = true;
            return Next::Unknown(Why::Failed(why));
        }
    };
    let said = words(&answer);
    // A throttled request was not executed, so any operation may be retried.
    if answer.status == 429 || THROTTLES.contains(&said.exception.as_str()) {
        return again(attempts, Why::Throttled(answer.status, said));
    }
    // Once: if new credentials are expired too, a third set will not help.
    if EXPIRED.contains(&said.exception.as_str()) && !attempts.was_expired {
        attempts.was_expired = true;
        return Next::Again {
            why: Why::Expired(answer.status, said),
            delay: Duration::ZERO,
        };
    }
    // Once: a request signed by the service's own time is refused for another reason.
    if let Some(time) = answer
        .time
        .filter(|_| is_skewed(&said) && !attempts.was_skewed)
    {
        attempts.was_skewed = true;
        return Next::Again {
            why: Why::Skewed(time),
            delay: Duration::ZERO,
        };
    }
    match answer.status {
        // 503 is the only failure of a service after which the request was certainly not executed.
        503 => again(attempts, Why::Failed(failed(&said))),
        500.. => lost(request, attempts, failed(&said)),
        _ => refused(request, attempts, answer, &said),
    }
}

/// Returns an answer, marked if an earlier attempt may have deleted the item that the answer lacks.
fn told(request: &Request, attempts: &Attempts, body: Vec<u8>) -> Vec<u8> {
    // The answer has the old item unless the lost attempt deleted it.
    let is_open = attempts.was_lost && request.operation == "DeleteItem";
    let marked = if is_open {
        edit::asking(&body, ASKED_AGAIN, "")
    } else {
        None
    };
    marked.unwrap_or(body)
}

fn is_skewed(said: &Words) -> bool {
    SKEWED.contains(&said.exception.as_str())
        || SKEWED_WORDS
            .iter()
            .any(|words| said.message.contains(words))
}

fn failed(said: &Words) -> String {
    if said.exception.is_empty() {
        said.message.clone()
    } else {
        format!("{}: {}", said.exception, said.message)
    }
}

fn again(attempts: &Attempts, why: Why) -> Next {
    // The whole delay is random: clients that failed together must not retry together.
    let most_ms = BASE_MS
        .saturating_mul(1 << attempts.count.saturating_sub(1).min(20))
        .min(MAX_MS);
    Next::Again {
        why,
        delay: Duration::from_millis(random() % (most_ms + 1)),
    }
}

fn lost(request: &mut Request, attempts: &mut Attempts, why: String) -> Next {
    attempts.was_lost = true;
    if !request.is_repeatable() {
        return Next::Unknown(Why::Failed(why));
    }
    // If the retry's condition fails, the item tells if the first attempt was applied.
    attempts.shows_item |= request.show_item();
    again(attempts, Why::Failed(why))
}

/// Decides on a refusal: it is final, unless the condition failed because the first attempt was
/// executed.
fn refused(request: &Request, attempts: &Attempts, mut answer: Answer, said: &Words) -> Next {
    if !attempts.was_lost || said.exception != "ConditionalCheckFailedException" {
        return Next::Refused(answer);
    }
    match was_done(request, &answer) {
        Ok(true) => return Next::Answer(told(request, attempts, b"{}".to_vec())),
        Ok(false) => {}
        Err(why) => return Next::Unknown(Why::Failed(why)),
    }
    // The caller did not ask for the item.
    if attempts.shows_item {
        answer.body = edit::without(&answer.body, "Item");
    }
    Next::Refused(answer)
}

/// Returns true if the item is what the request would have made of it.
///
/// # Errors
/// The item is unreadable. It must not count as absent, which is the success of a delete.
fn was_done(request: &Request, answer: &Answer) -> Result<bool, String> {
    let item_of = |body: &[u8]| -> Result<Option<Item>, String> {
        let item = object(body).and_then(|mut members| members.remove("Item"));
        item.map(|item| dynamodb_json::parse(item.to_string().as_bytes()))
            .transpose()
            .map_err(|error| format!("the item of a failed condition cannot be read: {error}"))
    };
    let there = item_of(&answer.body)?;
    Ok(match request.operation {
        "PutItem" => there.is_some() && there == item_of(&request.body)?,
        // A request that does not return the item cannot tell.
        "DeleteItem" => {
            there.is_none()
                && object(&request.body).is_some_and(|body| body.contains_key(ON_FAILURE))
        }
        _ => false,
    })
}

impl Why {
    /// Returns the exception, if the request was throttled.
    pub fn throttled(&self) -> Option<&str> {
        match self {
            Self::Throttled(_, said) => Some(&said.exception),
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
        place: &Place,
        attempts: &Attempts,
        timeout: Duration,
        request: &Request,
    ) -> Error {
        let times = if attempts.count == 1 {
            "once".to_owned()
        } else {
            format!("{} times", attempts.count)
        };
        let tried = format!("{place} was asked {times} within {timeout:?}");
        match self {
            Self::Throttled(status, said) | Self::Expired(status, said) => {
                RemoteError::new(&said.exception, status, format!("{} ({tried})", said.message)).into()
            }
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
mod tests {
    use super::*;
    use crate::database::remote::aws::exchange::TOKEN;

    const CONDITIONAL: &str =
        r#"{"Item":{"p":{"S":"a"},"n":{"N":"1"}},"ConditionExpression":"attribute_not_exists(p)"}"#;
    const FAILED: &str = r#"{"__type":"x#ConditionalCheckFailedException","message":"m""#;

    fn answer(status: u16, body: &str) -> Result<Answer, Fault> {
        Ok(Answer {
            status,
            body: body.as_bytes().to_vec(),
            time: Some(SystemTime::UNIX_EPOCH),
        })
    }

    fn lost() -> Result<Answer, Fault> {
        Err(Fault::Lost("x".to_owned()))
    }

    /// Checks the decision after a first attempt, as one word.
    fn check(operation: &'static str, outcome: Result<Answer, Fault>, expected: &str) {
        let next = judge(
            &mut Request::new(operation, b"{}"),
            &mut Attempts::default(),
            outcome.clone(),
        );
        let found = match next {
            Next::Answer(_) => "answer",
            Next::Refused(_) => "refused",
            Next::Again { .. } => "again",
            Next::Unknown(_) => "unknown",
        };
        assert_eq!(found, expected, "{operation} {outcome:?}");
    }

    #[test]
    fn only_what_does_the_same_twice_is_asked_again_when_it_may_have_been_done() {
        for operation in [
            "GetItem",
            "Query",
            "DescribeTable",
            "PutItem",
            "BatchWriteItem",
            "TransactWriteItems",
        ] {
            check(operation, lost(), "again");
            check(operation, answer(500, "{}"), "again");
        }
        for operation in ["UpdateItem", "ExecuteStatement", "CreateTable"] {
            check(operation, lost(), "unknown");
            check(operation, answer(502, "<html>"), "unknown");
            check(operation, Err(Fault::Unsent("x".to_owned())), "again");
            check(operation, answer(503, "{}"), "again");
            check(
                operation,
                answer(400, r#"{"__type":"a#ThrottlingException"}"#),
                "again",
            );
        }
        check("GetItem", answer(200, "{}"), "answer");
        check(
            "GetItem",
            answer(400, r#"{"__type":"a#ValidationException"}"#),
            "refused",
        );
        check(
            "GetItem",
            answer(400, r#"{"__type":"a#ExpiredTokenException"}"#),
            "again",
        );
        let bad_signature = |words: &str| {
            answer(
                400,
                &format!(r#"{{"__type":"a#InvalidSignatureException","message":"{words}"}}"#),
            )
        };
        check(
            "UpdateItem",
            bad_signature("Signature expired: 20260101T000000Z is now earlier than …"),
            "again",
        );
        check(
            "UpdateItem",
            answer(403, r#"{"__type":"RequestTimeTooSkewed"}"#),
            "again",
        );
        check(
            "GetItem",
            bad_signature("The request signature we calculated does not match"),
            "refused",
        );
    }

    /// Runs a conditional write that gets lost, and then fails its condition with `item` returned;
    /// true if it counts as executed.
    fn twice(operation: &'static str, body: &str, item: &str) -> bool {
        let (mut request, mut attempts) = (
            Request::new(operation, body.as_bytes()),
            Attempts::default(),
        );
        assert!(matches!(
            judge(&mut request, &mut attempts, lost()),
            Next::Again { .. }
        ));
        match judge(
            &mut request,
            &mut attempts,
            answer(400, &format!("{FAILED}{item}}}")),
        ) {
            Next::Answer(_) => true,
            Next::Refused(answer) => {
                assert!(
                    !String::from_utf8(answer.body).unwrap().contains("Item"),
                    "nobody asked for it"
                );
                false
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_condition_that_fails_because_of_the_first_try_is_no_failure() {
        assert!(twice(
            "PutItem",
            CONDITIONAL,
            r#","Item":{"n":{"N":"1.0"},"p":{"S":"a"}}"#
        ));
        assert!(!twice(
            "PutItem",
            CONDITIONAL,
            r#","Item":{"n":{"N":"2"},"p":{"S":"a"}}"#
        ));
        assert!(!twice("PutItem", CONDITIONAL, ""));
        let delete = r#"{"Key":{"p":{"S":"a"}},"ConditionExpression":"n = :n"}"#;
        assert!(twice("DeleteItem", delete, ""));
        assert!(!twice("DeleteItem", delete, r#","Item":{"p":{"S":"a"}}"#));
        let (mut request, mut attempts) = (
            Request::new("DeleteItem", delete.as_bytes()),
            Attempts::default(),
        );
        judge(&mut request, &mut attempts, lost());
        let unreadable = format!(r#"{FAILED},"Item":{{"p":{{"N":"a"}}}}}}"#);
        let next = judge(&mut request, &mut attempts, answer(400, &unreadable));
        assert!(matches!(next, Next::Unknown(_)), "{next:?}");
        let mut request = Request::new("PutItem", CONDITIONAL.as_bytes());
        let body = format!(r#"{FAILED},"Item":{{"n":{{"N":"1"}},"p":{{"S":"a"}}}}}}"#);
        let first = judge(&mut request, &mut Attempts::default(), answer(400, &body));
        assert!(matches!(first, Next::Refused(_)), "nothing got lost");
    }

    #[test]
    fn transactions_have_a_token_and_keep_it() {
        let token_of = |body: &[u8]| object(body).unwrap().remove(TOKEN).unwrap();
        let one = Request::new("TransactWriteItems", b"{\"TransactItems\":[]}");
        let other = Request::new("TransactWriteItems", b"{\"TransactItems\":[]}");
        assert_ne!(token_of(&one.body), token_of(&other.body));
        assert_eq!(token_of(&one.body).as_str().unwrap().len(), 32);
        let given = Request::new("ExecuteTransaction", br#"{"ClientRequestToken":"mine"}"#);
        assert_eq!(token_of(&given.body), "mine");
        assert!(
            !object(&Request::new("PutItem", b"{}").body)
                .unwrap()
                .contains_key(TOKEN)
        );
    }

    #[test]
    fn delays_are_random_and_grow_to_their_limit() {
        let longest = |count: u32| {
            let delay = |_| match again(
                &Attempts {
                    count,
                    ..Attempts::default()
                },
                Why::Failed(String::new()),
            ) {
                Next::Again { delay, .. } => delay.as_millis(),
                _ => unreachable!(),
            };
            (0..500).map(delay).max().unwrap()
        };
        assert!((30..=50).contains(&longest(1)));
        assert!((120..=200).contains(&longest(3)));
        assert!((12_000..=20_000).contains(&longest(40)));
    }
}
