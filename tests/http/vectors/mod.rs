//! What the tables of vectors share: a server, and calls that must succeed or fail.

mod expressions;
mod files;
mod index_texts;
mod indexes;
mod numbers;
mod prefixes;
mod reads;
mod tables;
mod texts;
mod transactions;
mod updates;

use ddbfs::http::{HttpOptions, RunningServer, Server};
use serde_json::{Value, json};

use crate::support::http::{Answer, api, engine, exchange, options};

/// A server with the table `Tab`: pk S, sk N.
pub struct Service {
    server: RunningServer,
    #[cfg(feature = "remote")]
    through: Option<crate::support::through::Through>,
}

impl Service {
    /// What it answers, a client of another engine answers too.
    pub fn new() -> Self {
        let service = Self::with(options());
        #[cfg(feature = "remote")]
        let service = {
            let through = crate::support::through::Through::new(
                ddbfs::engine::EngineOptions::default(),
                false,
            );
            through.prepare("CreateTable", &table("Tab"));
            Self {
                through: Some(through),
                ..service
            }
        };
        service
    }

    pub fn with(options: HttpOptions) -> Self {
        let service = Self {
            server: Server::start(options, engine()).unwrap(),
            #[cfg(feature = "remote")]
            through: None,
        };
        service.ok("CreateTable", table("Tab"));
        service
    }

    /// The answer to a request that must succeed.
    #[track_caller]
    pub fn ok(&self, operation: &str, request: Value) -> Value {
        let answer = self.raw(operation, &request.to_string());
        assert_eq!(
            answer.status,
            200,
            "{operation} {request}: {}",
            answer.text()
        );
        answer.json()
    }

    /// What a request comes to: `OK`, or the error's name without its namespace, a colon, a blank and its text.
    #[track_caller]
    pub fn outcome(&self, operation: &str, request: &Value) -> String {
        let answer = self.raw(operation, &request.to_string());
        if answer.status == 200 {
            "OK".to_owned()
        } else {
            Self::error_of(&answer)
        }
    }

    /// The answer to a body of any text.
    #[track_caller]
    pub fn raw(&self, operation: &str, body: &str) -> Answer {
        let answer = exchange(self.server.local_addr(), &api(operation, body));
        #[cfg(feature = "remote")]
        if let (Some(through), Ok(json)) = (&self.through, serde_json::from_str(&answer.text())) {
            through.check(operation, body, (answer.status, &json));
        }
        answer
    }

    /// An error's name without its namespace and `Exception`, a colon, a blank and its text.
    #[track_caller]
    pub fn error_of(answer: &Answer) -> String {
        let body = answer.json();
        let name = body["__type"]
            .as_str()
            .unwrap()
            .rsplit('#')
            .next()
            .unwrap()
            .trim_end_matches("Exception")
            .to_owned();
        let text = body["message"]
            .as_str()
            .or(body["Message"].as_str())
            .unwrap_or_default();
        format!("{name}: {text}")
    }

    /// A request must come to this; what follows `~` need only be part of it.
    #[track_caller]
    pub fn check(&self, operation: &str, request: &Value, expected: &str) {
        let found = self.outcome(operation, request);
        let alike = expected
            .strip_prefix('~')
            .map_or(found == expected, |part| found.contains(part));
        assert!(
            alike,
            "{operation} {request}\n   found: {found}\nexpected: {expected}"
        );
    }

    /// Puts an item into `Tab`.
    #[track_caller]
    pub fn put(&self, item: &Value) {
        self.ok("PutItem", json!({"TableName": "Tab", "Item": item}));
    }

    /// The item of `Tab` with this key.
    #[track_caller]
    pub fn get(&self, pk: &str, sk: u32) -> Value {
        self.ok(
            "GetItem",
            json!({"TableName": "Tab", "Key": key(pk, sk), "ConsistentRead": true}),
        )["Item"]
            .take()
    }
}

const PREFIX: &str = "Validation: 1 validation error detected: ";

/// A PutItem request of `Tab`.
fn put(item: &Value) -> Value {
    json!({"TableName": "Tab", "Item": item})
}

/// `Tab` of [`Service`] with a global index `glo` on a (S) and a local one `loc` on the table's own sort key.
fn indexed() -> Value {
    let mut request = table("Ind");
    request["AttributeDefinitions"]
        .as_array_mut()
        .unwrap()
        .push(json!({"AttributeName": "a", "AttributeType": "S"}));
    let global = r#"[{"IndexName":"glo","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]"#;
    let local = r#"[{"IndexName":"loc","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
        "Projection":{"ProjectionType":"KEYS_ONLY"}}]"#;
    with(
        request,
        json!({"GlobalSecondaryIndexes": parse(global), "LocalSecondaryIndexes": parse(local)}),
    )
}

/// An UpdateItem request of the item `k`, 1 of `Tab`.
fn update(expression: &str, values: Value) -> Value {
    let request = json!({"TableName": "Tab", "Key": key("k", 1), "UpdateExpression": expression});
    with(request, json!({"ExpressionAttributeValues": values}))
}

/// A CreateTable request: pk S, sk N, on demand.
pub fn table(name: &str) -> Value {
    json!({
        "TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    })
}

pub fn key(pk: &str, sk: u32) -> Value {
    json!({"pk": {"S": pk}, "sk": {"N": sk.to_string()}})
}

/// JSON that is part of a vector.
#[track_caller]
pub fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// An item: the key and these attributes, the inside of an object.
#[track_caller]
pub fn item(pk: &str, sk: u32, attributes: &str) -> Value {
    let mut item = parse(&format!("{{{attributes}}}"));
    item.as_object_mut()
        .unwrap()
        .extend(key(pk, sk).as_object().unwrap().clone());
    item
}

/// Sets the members of `more` that are not null.
pub fn with(mut request: Value, more: Value) -> Value {
    let more = more
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| !value.is_null());
    request
        .as_object_mut()
        .unwrap()
        .extend(more.map(|(name, value)| (name.clone(), value.clone())));
    request
}

/// A request must come to this, by the rules of [`Service::check`], written as [`expected_text`] reads it.
#[track_caller]
pub fn check(service: &Service, operation: &str, request: &Value, expected: &str) {
    service.check(operation, request, &expected_text(expected));
}

/// What the shorthand of a vector stands for; without the name of another error it is a validation error.
pub fn expected_text(expected: &str) -> String {
    let expected = SHORTHAND
        .iter()
        .fold(expected.to_owned(), |text, (short, long)| {
            text.replace(short, long)
        });
    if expected == "OK" || expected.starts_with('~') || is_named(&expected) {
        expected
    } else {
        format!("Validation: {expected}")
    }
}

const SHORTHAND: [(&str, &str); 5] = [
    ("1VE: ", "1 validation error detected: "),
    ("IV: ", "One or more parameter values were invalid: "),
    ("NN", "The parameter cannot be converted to a numeric value"),
    (
        "NEST",
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit",
    ),
    (
        "NWF: ",
        "Statement wasn't well formed, can't be processed: ",
    ),
];

/// `Name: ` of an error: letters alone, and no word of the texts' own.
fn is_named(expected: &str) -> bool {
    const ERRORS: [&str; 22] = [
        "Validation",
        "ResourceInUse",
        "ResourceNotFound",
        "LimitExceeded",
        "Serialization",
        "ConditionalCheckFailed",
        "TransactionCanceled",
        "TransactionConflict",
        "IdempotentParameterMismatch",
        "ItemCollectionSizeLimitExceeded",
        "UnknownOperation",
        "TableNotFound",
        "TableInUse",
        "BackupNotFound",
        "BackupInUse",
        "PolicyNotFound",
        "ImportNotFound",
        "ExportNotFound",
        "ImportConflict",
        "DuplicateItem",
        "AccessDenied",
        "TrimmedDataAccess",
    ];
    expected
        .split_once(": ")
        .is_some_and(|(name, _)| ERRORS.contains(&name))
}
