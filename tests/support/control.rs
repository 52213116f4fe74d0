//! Operations by name with JSON bodies, through the wire's translations and the engine, without sockets.
use std::sync::Arc;

use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::clock::ManualClock;
use ddbfs::protocol::{self, RequestError};
use ddbfs::store::Store;
use ddbfs::store::memory::MemoryStore;
use serde_json::{Value, json};

pub const NOW_MS: u64 = 1_700_000_000_000;
pub const IV: &str = "One or more parameter values were invalid: ";
pub const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/";

/// A database with a clock of its own.
pub struct Control {
    pub database: LocalDatabase,
    pub clock: Arc<ManualClock>,
    #[cfg(feature = "remote")]
    through: Option<super::through::Through>,
}

impl Control {
    pub fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new().unwrap()), |_| {})
    }

    pub fn on(store: Arc<dyn Store>, change: impl FnOnce(&mut EngineOptions)) -> Self {
        let clock = Arc::new(ManualClock::at(NOW_MS));
        let mut options = EngineOptions {
            clock: clock.clone(),
            seed: 7,
            ..EngineOptions::default()
        };
        change(&mut options);
        Self {
            database: LocalDatabase::open(store, options).unwrap(),
            clock,
            #[cfg(feature = "remote")]
            through: None,
        }
    }

    /// Creates one that also compares each response with that of a client of another engine.
    pub fn twice() -> Self {
        let control = Self::new();
        #[cfg(feature = "remote")]
        let control = {
            let options = EngineOptions {
                clock: control.clock.clone(),
                seed: 7,
                ..EngineOptions::default()
            };
            Self {
                through: Some(super::through::Through::new(options, true)),
                ..control
            }
        };
        control
    }

    /// Returns the response's body, or the failure.
    pub fn answer(&self, operation: &str, body: Value) -> Result<Vec<u8>, RequestError> {
        let answer = protocol::call(operation, body.clone(), &self.database, "host:1");
        #[cfg(feature = "remote")]
        if let Some(through) = &self.through {
            let (status, bytes) = super::through::told(operation, &answer);
            through.check(operation, &body.to_string(), (status, &bytes));
        }
        answer
    }

    /// Returns the response's body, or the error's text.
    pub fn call(&self, operation: &str, body: Value) -> Result<Value, String> {
        let bytes = self
            .answer(operation, body)
            .map_err(|failure| match failure {
                RequestError::Wire(error) => error.to_string(),
                RequestError::Operation(error) => error.to_string(),
                other => format!("{other:?}"),
            })?;
        Ok(if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).unwrap()
        })
    }

    /// Returns the response's body; the operation must succeed.
    pub fn ok(&self, operation: &str, body: Value) -> Value {
        self.call(operation, body.clone())
            .unwrap_or_else(|error| panic!("{operation} {body}: {error}"))
    }

    /// Checks that the operation fails with that text; `IV: ` stands for the usual prefix.
    pub fn fails(&self, operation: &str, body: Value, expected: &str) {
        let expected = expected
            .strip_prefix("IV: ")
            .map_or_else(|| expected.to_owned(), |rest| format!("{IV}{rest}"));
        let found = self.call(operation, body.clone());
        assert_eq!(found, Err(expected), "{operation} {body}");
    }

    pub fn describe(&self, table: &str) -> Value {
        self.ok("DescribeTable", json!({ "TableName": table }))["Table"].clone()
    }

    pub fn put(&self, table: &str, item: Value) {
        self.ok("PutItem", json!({ "TableName": table, "Item": item }));
    }

    /// Creates an on-demand table with the key `pk`.
    pub fn simple(&self, table: &str) {
        self.ok(
            "CreateTable",
            json!({
                "TableName": table,
                "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
                "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
                "BillingMode": "PAY_PER_REQUEST",
            }),
        );
    }

    /// Returns the values of one attribute over a table or `table/index`, sorted.
    pub fn column(&self, source: &str, attribute: &str) -> Vec<String> {
        let (table, index) = source
            .split_once('/')
            .map_or((source, None), |(table, index)| (table, Some(index)));
        let found = self.ok("Scan", json!({ "TableName": table, "IndexName": index }));
        let items = found["Items"].as_array().unwrap().clone();
        let text = |item: &Value| {
            item[attribute]
                .as_object()
                .and_then(|of| of.values().next())
                .map(|v| v.as_str().unwrap().to_owned())
        };
        let mut values: Vec<String> = items
            .iter()
            .map(|item| text(item).unwrap_or_default())
            .collect();
        values.sort();
        values
    }
}
