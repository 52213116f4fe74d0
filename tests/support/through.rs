//! A client and the service that it calls, both in this process, and a comparison of their
//! responses.

use super::wait::until_ok;
use std::sync::Arc;

use ddbfs::codec::json::document::Document;
use ddbfs::codec::wire::response;
use ddbfs::database::Database;
use ddbfs::database::cancel::CancelToken;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::remote::{AnswerBody, Client, Transport};
use ddbfs::engine::EngineOptions;
use ddbfs::model::Error;
use ddbfs::model::api::CallContext;
use ddbfs::protocol::{self, RequestError};
use ddbfs::store::memory::MemoryStore;
use serde_json::Value;

/// The API of an engine, bodies in and out.
#[derive(Clone)]
pub struct InProcess(pub LocalDatabase);

impl Transport for InProcess {
    fn call(
        &self,
        _caller: &CancelToken,
        operation: &'static str,
        body: &[u8],
    ) -> Result<AnswerBody, Error> {
        let body = Document::parse(body.to_vec()).unwrap();
        protocol::call(operation, body, &self.0, "localhost")
            .map(AnswerBody::from)
            .map_err(|failure| {
                let told = failure.error_body(protocol::find(operation));
                response::decode_error(told.status(), &told.json())
            })
    }
}

/// Creates a client of that engine.
pub fn client(database: &LocalDatabase) -> Client {
    Client::new(Arc::new(InProcess(database.clone())))
}

/// A change of a response, by its operation and the request.
pub type Alter = dyn Fn(&str, &Value, Value) -> Value + Send + Sync;

/// The same, with changes of some responses.
pub struct Altered(InProcess, Box<Alter>);

impl Altered {
    pub fn client(
        database: &LocalDatabase,
        alter: impl Fn(&str, &Value, Value) -> Value + Send + Sync + 'static,
    ) -> Client {
        Client::new(Arc::new(Self(InProcess(database.clone()), Box::new(alter))))
    }
}

impl Transport for Altered {
    fn call(
        &self,
        caller: &CancelToken,
        operation: &'static str,
        body: &[u8],
    ) -> Result<AnswerBody, Error> {
        let answer =
            serde_json::from_slice(&self.0.call(caller, operation, body)?.into_text()).unwrap();
        Ok(
            self.1(operation, &serde_json::from_slice(body).unwrap(), answer)
                .to_string()
                .into_bytes()
                .into(),
        )
    }
}

/// Part of the text with which the client refuses operations that it does not support.
const NOT_MADE: &str = "through a remote mount";

/// Members that differ from one engine to another.
const OWN: [&str; 11] = [
    // A client shows all shards as one.
    "ShardId",
    // The client has a clock of its own.
    "NumberOfDecreasesToday",
    "TableId",
    "LatestStreamLabel",
    "LatestStreamArn",
    "StreamArn",
    "StreamLabel",
    "ShardIterator",
    "NextShardIterator",
    "NextToken",
    "eventID",
];

/// States of a table's progress, which may differ between two engines at the same time.
const STATES: [&str; 6] = [
    "CreateTable",
    "UpdateTable",
    "DeleteTable",
    "DescribeTable",
    "UpdateTimeToLive",
    "DescribeTimeToLive",
];
/// True if a client reports a bad value or segment before the service checks the earlier parts of a
/// transaction, or a filter.
fn is_early(operation: &str, body: &str) -> bool {
    operation.starts_with("Transact")
        || body.contains("ExclusiveStartKey")
        || body.contains("Segment")
}

fn is_invalid(body: &Value) -> bool {
    body["__type"]
        .as_str()
        .is_some_and(|name| name.ends_with("#ValidationException"))
}

/// A second engine that gets the same requests through a client.
pub struct Through {
    database: LocalDatabase,
    client: Client,
    /// True if both run their background work at the same time.
    is_steady: bool,
}

impl Through {
    pub fn new(options: EngineOptions, is_steady: bool) -> Self {
        let database = LocalDatabase::open(Arc::new(MemoryStore::new().unwrap()), options).unwrap();
        let client = client(&database);
        Self {
            database,
            client,
            is_steady,
        }
    }

    /// Makes the same request without a check of the response.
    pub fn prepare(&self, operation: &str, body: &Value) {
        self.ask(&self.client, operation, &body.to_string())
            .unwrap();
    }

    /// Makes the same request; the response must be equal but for each engine's own members.
    /// Requests that the client does not support go to the engine itself, to stay in step.
    #[track_caller]
    pub fn check(&self, operation: &str, body: &str, (status, expected): (u16, &Value)) {
        until_ok("through a client", || {
            let Some((found_status, found)) = self.ask(&self.client, operation, body) else {
                return Ok(());
            };
            if found["message"]
                .as_str()
                .is_some_and(|text| text.contains(NOT_MADE))
            {
                self.ask(&self.database, operation, body);
                return Ok(());
            }
            let comparable = |body: &Value| match operation {
                // Numbers are read: that the service wrote `1.0` is lost.
                "SearchVectors" => without_own(
                    &serde_json::from_str(&body.to_string().replace(".0\"}", "\"}")).unwrap(),
                ),
                _ => without_own(body),
            };
            let is_alike = found_status == status
                && (comparable(&found) == comparable(expected)
                    || is_early(operation, body) && is_invalid(&found) && is_invalid(expected)
                    || status == 200 && !self.is_steady && STATES.contains(&operation));
            if is_alike {
                return Ok(());
            }
            // The other engine may be behind with a table or an index that is being created; a
            // refused request or a read may be repeated.
            let is_again = found_status != 200
                || ["Describe", "Get", "Query", "Scan"]
                    .iter()
                    .any(|word| operation.starts_with(word));
            let shown = (found_status, without_own(&found));
            let text = format!(
                "{operation} {body}\n   found: {shown:?}\nexpected: {:?}",
                (status, expected)
            );
            assert!(!self.is_steady && is_again, "through a client: {text}");
            Err(text)
        });
    }

    /// Returns status and body; nothing for a text that is no JSON, which never reaches a database.
    /// A client gets its own parsed request: `protocol::call` would pass on the text.
    fn ask(&self, database: &dyn Database, operation: &str, body: &str) -> Option<(u16, Value)> {
        let body = Document::parse(body.as_bytes().to_vec()).ok()?;
        let answer = match protocol::find(operation) {
            Some(found) if body.root().is_object() => found.run(
                body,
                &protocol::RequestContext {
                    operation: found.name,
                    database,
                    host: "host:1",
                    units: &ddbfs::codec::wire::UnitCounter::default(),
                },
                CallContext::default(),
            ),
            _ => protocol::call(operation, body, database, "host:1"),
        };
        Some(told(operation, &answer))
    }
}

/// Returns status and body of a response.
pub fn told(operation: &str, answer: &Result<Vec<u8>, RequestError>) -> (u16, Value) {
    match answer {
        Ok(bytes) if bytes.is_empty() => (200, Value::Null),
        Ok(bytes) => (200, serde_json::from_slice(bytes).unwrap()),
        Err(failure) => {
            let told = failure.error_body(protocol::find(operation));
            (told.status(), serde_json::from_slice(&told.json()).unwrap())
        }
    }
}

fn without_own(json: &Value) -> Value {
    let is_own = |name: &str| name.ends_with("DateTime") || OWN.contains(&name);
    match json {
        Value::Array(list) => list.iter().map(without_own).collect(),
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !is_own(name));
            kept.map(|(name, value)| (name.clone(), without_own(value)))
                .collect()
        }
        other => other.clone(),
    }
}
