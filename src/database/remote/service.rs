//! What a client speaks through: a transport to a service with the API.

use crate::codec::json::JsonError;
use crate::codec::json::document::{Document, Json, is_json};
use crate::codec::wire::answer;
use crate::database::caller::Caller;
use crate::model::Error;

/// Takes the body of a request to a service and brings the body of its answer. Blocks; knows nothing of what is in them.
pub trait Service: Send + Sync {
    /// Sends the request of an operation, `GetItem`; the operations of DynamoDB Streams too. The answer is waited for as long as the caller
    /// wants it.
    ///
    /// # Errors
    /// What the service answered instead, as [`crate::codec::wire::answer::read_error`] tells it, or why there is no answer.
    fn call(&self, caller: &Caller, operation: &'static str, body: &[u8]) -> Result<Answer, Error>;

    /// How often the service throttled what was then asked again, so far.
    fn throttles(&self) -> u64 {
        0
    }
}

/// The body of an answer, which is read once, however many look at what is in it.
#[derive(Debug)]
pub struct Answer(Body);

#[derive(Debug)]
enum Body {
    Unread(Vec<u8>),
    Read(Document),
    Unreadable(JsonError, Vec<u8>),
}

impl From<Vec<u8>> for Answer {
    fn from(text: Vec<u8>) -> Self {
        Self(Body::Unread(text))
    }
}

impl Answer {
    /// What is in it.
    ///
    /// # Errors
    /// It is no JSON.
    pub fn json(&mut self) -> Result<Json<'_>, Error> {
        if let Body::Unread(text) = &mut self.0 {
            // What is no JSON may be wanted as it came.
            self.0 = match Document::parse(text.clone()) {
                Ok(document) => Body::Read(document),
                Err(error) => Body::Unreadable(error, std::mem::take(text)),
            };
        }
        match &self.0 {
            Body::Read(document) => Ok(document.root()),
            Body::Unreadable(error, _) => Err(answer::unreadable(error)),
            Body::Unread(_) => Err(answer::unreadable("it was not read")),
        }
    }

    /// Bytes of its text.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Body::Read(document) => document.text().len(),
            Body::Unread(text) | Body::Unreadable(_, text) => text.len(),
        }
    }

    /// True if there is nothing in it but JSON.
    #[must_use]
    pub fn is_json(&self) -> bool {
        match &self.0 {
            Body::Read(_) => true,
            Body::Unread(text) | Body::Unreadable(_, text) => is_json(text),
        }
    }

    /// As it came.
    #[must_use]
    pub fn into_text(self) -> Vec<u8> {
        match self.0 {
            Body::Read(document) => document.text().as_bytes().to_vec(),
            Body::Unread(text) | Body::Unreadable(_, text) => text,
        }
    }
}

/// Does the operation leave everything as it is, by its name? One that nobody knows may write. What PartiQL does is in its statements.
#[must_use]
pub fn is_read(operation: &str) -> bool {
    const READS: [&str; 7] = [
        "Get",
        "BatchGet",
        "TransactGet",
        "Describe",
        "List",
        "Query",
        "Scan",
    ];
    READS.iter().any(|read| operation.starts_with(read))
}

/// Does it cost nothing, however often it is asked? What makes something that is paid for by the hour is not free.
#[must_use]
pub fn is_free(operation: &str) -> bool {
    const FREE: [&str; 6] = [
        "GetShardIterator",
        "GetResourcePolicy",
        "DeleteTable",
        "TagResource",
        "UntagResource",
        "UpdateTimeToLive",
    ];
    operation.starts_with("Describe") || operation.starts_with("List") || FREE.contains(&operation)
}

/// The statements of PartiQL that a request has.
#[must_use]
pub fn statements(json: Json<'_>) -> Vec<&str> {
    let list = |member: &str| json.get(member).and_then(Json::as_list).unwrap_or_default();
    let many = list("Statements").chain(list("TransactStatements"));
    std::iter::once(json)
        .chain(many)
        .filter_map(|of| of.get("Statement")?.as_str())
        .collect()
}

/// Does the statement leave everything as it is?
#[must_use]
pub fn is_select(statement: &str) -> bool {
    statement
        .trim_start()
        .get(..6)
        .is_some_and(|word| word.eq_ignore_ascii_case("select"))
}
