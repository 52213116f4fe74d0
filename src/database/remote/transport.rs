//! The trait [`Transport`] between a client and a service with the DynamoDB API: `aws` is one over
//! HTTP, `budget` one before another. Also the classes of operations that such layers distinguish.

use crate::codec::json::JsonError;
use crate::codec::json::document::{Document, Json, is_json};
use crate::codec::wire::response;
use crate::database::cancel::CancelToken;
use crate::model::Error;

/// A blocking transport: sends the body of a request to a service and returns the body of its
/// answer, without knowledge of either.
pub trait Transport: Send + Sync {
    /// Sends the request of an operation, such as `GetItem`; also those of DynamoDB Streams. Waits
    /// for the answer as long as the caller waits.
    ///
    /// # Errors
    /// The service's refusal, as [`response::decode_error`] decodes it, or the reason why there is
    /// no answer.
    fn call(
        &self,
        caller: &CancelToken,
        operation: &'static str,
        body: &[u8],
    ) -> Result<AnswerBody, Error>;

    /// Returns the number of throttled requests that were retried so far.
    fn throttle_count(&self) -> u64 {
        0
    }
}

/// The body of an answer, parsed at most once for all its readers.
#[derive(Debug)]
pub struct AnswerBody(ParseState);

#[derive(Debug)]
enum ParseState {
    Unread(Vec<u8>),
    Read(Document),
    Unreadable(JsonError, Vec<u8>),
}

impl From<Vec<u8>> for AnswerBody {
    fn from(text: Vec<u8>) -> Self {
        Self(ParseState::Unread(text))
    }
}

impl AnswerBody {
    /// Returns the parsed body; fails if it is not valid JSON.
    pub fn json(&mut self) -> Result<Json<'_>, Error> {
        if let ParseState::Unread(text) = &mut self.0 {
            // A body that is not JSON is kept for callers that want it as it came.
            self.0 = match Document::parse(text.clone()) {
                Ok(document) => ParseState::Read(document),
                Err(error) => ParseState::Unreadable(error, std::mem::take(text)),
            };
        }
        match &self.0 {
            ParseState::Read(document) => Ok(document.root()),
            ParseState::Unreadable(error, _) => Err(response::unreadable(error)),
            ParseState::Unread(_) => Err(response::unreadable("it was not read")),
        }
    }

    /// Returns the length of the text in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.0 {
            ParseState::Read(document) => document.text().len(),
            ParseState::Unread(text) | ParseState::Unreadable(_, text) => text.len(),
        }
    }

    /// True if the body is a JSON text and nothing else.
    #[must_use]
    pub fn is_json(&self) -> bool {
        match &self.0 {
            ParseState::Read(_) => true,
            ParseState::Unread(text) | ParseState::Unreadable(_, text) => is_json(text),
        }
    }

    /// Returns the text as it came.
    #[must_use]
    pub fn into_text(self) -> Vec<u8> {
        match self.0 {
            ParseState::Read(document) => document.text().as_bytes().to_vec(),
            ParseState::Unread(text) | ParseState::Unreadable(_, text) => text,
        }
    }
}

/// True if the operation changes nothing, judged by its name. An unknown operation may write. The
/// effect of PartiQL is in its statements.
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

/// True if the operation costs nothing, however often it is requested. An operation that creates
/// something with an hourly price is not free.
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

/// Returns the PartiQL statements of a request.
#[must_use]
pub fn partiql_statements(json: Json<'_>) -> Vec<&str> {
    let list = |member: &str| json.get(member).and_then(Json::as_list).unwrap_or_default();
    let many = list("Statements").chain(list("TransactStatements"));
    std::iter::once(json)
        .chain(many)
        .filter_map(|of| of.get("Statement")?.as_str())
        .collect()
}

/// True if the statement changes nothing.
#[must_use]
pub fn is_select(statement: &str) -> bool {
    statement
        .trim_start()
        .get(..6)
        .is_some_and(|word| word.eq_ignore_ascii_case("select"))
}
