//! Tests of `retry`: which requests are sent again, with which token, and after which delay.

use super::*;
use crate::database::remote::aws::http::IDEMPOTENCY_TOKEN;

const CONDITIONAL: &str =
    r#"{"Item":{"p":{"S":"a"},"n":{"N":"1"}},"ConditionExpression":"attribute_not_exists(p)"}"#;
const FAILED: &str = r#"{"__type":"x#ConditionalCheckFailedException","message":"m""#;

fn answer(status: u16, body: &str) -> Result<HttpAnswer, SendError> {
    Ok(HttpAnswer {
        status,
        body: body.as_bytes().to_vec(),
        time: Some(SystemTime::UNIX_EPOCH),
    })
}

fn lost() -> Result<HttpAnswer, SendError> {
    Err(SendError::Lost("x".to_owned()))
}

/// Checks the decision after a first attempt, as one word.
fn check(operation: &'static str, outcome: Result<HttpAnswer, SendError>, expected: &str) {
    let next = decide(
        &mut AwsRequest::new(operation, b"{}"),
        &mut Attempts::default(),
        outcome.clone(),
    );
    let found = match next {
        RetryDecision::Answer(_) => "answer",
        RetryDecision::Refused(_) => "refused",
        RetryDecision::Retry { .. } => "again",
        RetryDecision::GiveUp(_) => "unknown",
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
        check(operation, Err(SendError::NotSent("x".to_owned())), "again");
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
        AwsRequest::new(operation, body.as_bytes()),
        Attempts::default(),
    );
    assert!(matches!(
        decide(&mut request, &mut attempts, lost()),
        RetryDecision::Retry { .. }
    ));
    match decide(
        &mut request,
        &mut attempts,
        answer(400, &format!("{FAILED}{item}}}")),
    ) {
        RetryDecision::Answer(_) => true,
        RetryDecision::Refused(error) => {
            let expected = Error::ConditionalCheckFailed { item: None };
            assert_eq!(error, expected, "nobody asked for the item");
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
        AwsRequest::new("DeleteItem", delete.as_bytes()),
        Attempts::default(),
    );
    decide(&mut request, &mut attempts, lost());
    let unreadable = format!(r#"{FAILED},"Item":{{"p":{{"N":"a"}}}}}}"#);
    let next = decide(&mut request, &mut attempts, answer(400, &unreadable));
    assert!(matches!(next, RetryDecision::GiveUp(_)), "{next:?}");
    let mut request = AwsRequest::new("PutItem", CONDITIONAL.as_bytes());
    let body = format!(r#"{FAILED},"Item":{{"n":{{"N":"1"}},"p":{{"S":"a"}}}}}}"#);
    let first = decide(&mut request, &mut Attempts::default(), answer(400, &body));
    assert!(
        matches!(first, RetryDecision::Refused(_)),
        "nothing got lost"
    );
}

#[test]
fn transactions_have_a_token_and_keep_it() {
    let token_of = |body: &[u8]| members(body).unwrap().remove(IDEMPOTENCY_TOKEN).unwrap();
    let one = AwsRequest::new("TransactWriteItems", b"{\"TransactItems\":[]}");
    let other = AwsRequest::new("TransactWriteItems", b"{\"TransactItems\":[]}");
    assert_ne!(token_of(&one.body), token_of(&other.body));
    assert_eq!(token_of(&one.body).as_str().unwrap().len(), 32);
    let given = AwsRequest::new("ExecuteTransaction", br#"{"ClientRequestToken":"mine"}"#);
    assert_eq!(token_of(&given.body), "mine");
    assert!(
        !members(&AwsRequest::new("PutItem", b"{}").body)
            .unwrap()
            .contains_key(IDEMPOTENCY_TOKEN)
    );
}

#[test]
fn delays_are_random_and_grow_to_their_limit() {
    let longest = |count: u32| {
        let delay = |_| match retry(
            &Attempts {
                count,
                ..Attempts::default()
            },
            RetryReason::Failed(String::new()),
        ) {
            RetryDecision::Retry { delay, .. } => delay.as_millis(),
            _ => unreachable!(),
        };
        (0..500).map(delay).max().unwrap()
    };
    assert!((30..=50).contains(&longest(1)));
    assert!((120..=200).contains(&longest(3)));
    assert!((12_000..=20_000).contains(&longest(40)));
}

#[test]
fn a_failure_without_words_is_told_by_its_status() {
    let (mut request, mut attempts) = (AwsRequest::new("UpdateItem", b"{}"), Attempts::default());
    let next = decide(&mut request, &mut attempts, answer(500, "{}"));
    let RetryDecision::GiveUp(RetryReason::Failed(why)) = next else {
        panic!("{next:?}");
    };
    assert_eq!(why, "HTTP status 500: {}");
}
