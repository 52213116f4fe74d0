//! Requests, answers and what comes in their place.

use std::hash::{BuildHasher as _, RandomState};
use std::time::SystemTime;

use hyper::body::Bytes;
use serde_json::{Map, Value};

use crate::database::remote::service;
use crate::model::limits::{BATCH_GET_BYTES_MAX, ITEM_BYTES_MAX, PAGE_BYTES_MAX};

/// What makes a transaction one that is done once.
pub const TOKEN: &str = "ClientRequestToken";
/// With which a failed condition shows the item.
pub const ON_FAILURE: &str = "ReturnValuesOnConditionCheckFailure";
/// Of an answer that is not DynamoDB's.
const SHOWN_CHARACTERS_MAX: usize = 200;
/// Of what a service says of a refusal: its own texts are shorter, an item that it repeats too.
const WORDS_CHARACTERS_MAX: usize = 4 * 1024;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    pub operation: &'static str,
    pub body: Bytes,
}

impl Request {
    /// With a token, if it is a transaction that has none.
    pub fn new(operation: &'static str, body: &[u8]) -> Self {
        let is_transaction = matches!(operation, "TransactWriteItems" | "ExecuteTransaction");
        let tokened = if is_transaction { with_member(body, TOKEN, || token().into()) } else { None };
        Self { operation, body: tokened.unwrap_or_else(|| Bytes::copy_from_slice(body)) }
    }

    /// Bytes of its answer at most. What there is of items in it, a page of 1 MB or a batch of 16, may be ten times as long as JSON:
    /// `{"S":""},` is a byte.
    pub fn answer_bytes_max(&self) -> usize {
        let is_of_many = ["Batch", "Transact", "Execute"].iter().any(|word| self.operation.starts_with(word));
        if is_of_many { 10 * BATCH_GET_BYTES_MAX } else { 10 * (PAGE_BYTES_MAX + ITEM_BYTES_MAX) }
    }

    /// Does it leave everything as it is?
    pub fn is_read(&self) -> bool {
        service::is_read(self.operation)
    }

    /// Does it do the same when it is done twice?
    pub fn is_repeatable(&self) -> bool {
        const WRITES: [&str; 5] = ["PutItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "ExecuteTransaction"];
        self.is_read() || WRITES.contains(&self.operation)
    }

    /// From now on a failed condition shows the item; false when it does so already, or there is no condition.
    pub fn show_item(&mut self) -> bool {
        let is_conditional = || object(&self.body).is_some_and(|body| body.contains_key("ConditionExpression"));
        if !matches!(self.operation, "PutItem" | "DeleteItem") || !is_conditional() {
            return false;
        }
        let shown = with_member(&self.body, ON_FAILURE, || "ALL_OLD".into());
        shown.map(|body| self.body = body).is_some()
    }
}

/// The members of a body.
pub fn object(body: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(body).ok()
}

/// An object with one member more, if it lacks that.
fn with_member(body: &[u8], name: &str, value: impl FnOnce() -> Value) -> Option<Bytes> {
    let mut members = object(body)?;
    if members.contains_key(name) {
        return None;
    }
    members.insert(name.to_owned(), value());
    serde_json::to_vec(&members).ok().map(Bytes::from)
}

/// Nobody else's: 128 bits from the system's keys.
fn token() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// Of all its bits.
pub fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// By the service's clock, if it tells.
    pub time: Option<SystemTime>,
}

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Nobody saw the request.
    Unsent(String),
    /// Somebody may have, and done it.
    Lost(String),
    /// Somebody did, and answered more than is taken: another time it would be as much.
    TooLong(String),
}

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
    let member = |name: &str| Some(json.as_ref()?.get(name)?.as_str()?.chars().take(WORDS_CHARACTERS_MAX).collect::<String>());
    let Some(name) = member("__type") else {
        let text: String = String::from_utf8_lossy(&answer.body).trim().chars().take(SHOWN_CHARACTERS_MAX).collect();
        let message = format!("the answer of status {} is not DynamoDB's: {text:?}", answer.status);
        return Words { exception: String::new(), message };
    };
    let exception = name.rsplit('#').next().unwrap_or_default().to_owned();
    Words { exception, message: member("message").or_else(|| member("Message")).unwrap_or_default() }
}
