//! Two equal databases: one asked over HTTP, one through the files of its mount.

use std::cell::Cell;

use ddbfs::http::{RunningServer, Server};
use serde_json::Value;

use crate::support::http::{Answer, api, engine, exchange, options};
use crate::support::kernel::{Ended, Process, TRUNCATE, wait};

/// `Tab`: pk S, sk N.
pub const PLAIN: &str = r#"{"TableName":"Tab","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]}"#;

/// The same with an index on g.
pub const INDEXED: &str = r#"{"TableName":"Tab","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"},
        {"AttributeName":"g","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
    "GlobalSecondaryIndexes":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],
        "Projection":{"ProjectionType":"ALL"}}]}"#;

/// Members that each database makes for itself: ids, times, and names with times in them.
const OF_ITS_OWN: [&str; 9] = [
    "TableId",
    "CreationDateTime",
    "LatestStreamLabel",
    "LatestStreamArn",
    "LastUpdateToPayPerRequestDateTime",
    "BackupArn",
    "BackupCreationDateTime",
    "StreamArn",
    "RevisionId",
];

/// Characters of a sentence that `.ddb/errors/last` has at least.
const TOLD_MAX: usize = 1_000;

pub struct Pair {
    server: RunningServer,
    pub files: Process,
    pub last_succeeded: Cell<bool>,
}

impl Pair {
    /// Both with this table.
    pub fn new(table: &str) -> Self {
        let server = Server::start(options(), engine()).unwrap();
        let pair = Self {
            server,
            files: Process::new(&[]),
            last_succeeded: Cell::new(false),
        };
        assert_eq!(pair.difference("CreateTable", table), None);
        pair
    }

    pub fn http(&self, operation: &str, request: &str) -> Answer {
        exchange(self.server.local_addr(), &api(operation, request))
    }

    /// How a request into `.ddb/api` ended, and what is read there: nothing after a text that is no whole object, which fails at the close.
    fn api_file(&self, operation: &str, request: &str) -> (Ended<()>, String) {
        let handle = self
            .files
            .open(&format!(".ddb/api/{operation}"), TRUNCATE)
            .unwrap();
        let written = self.files.write_to(handle, 0, request);
        let mut text = Vec::new();
        loop {
            let offset = text.len() as u64;
            let part = wait(|reply| self.files.view.read(handle, offset, 1 << 20, reply)).unwrap();
            if part.as_ref().is_empty() {
                break;
            }
            text.extend_from_slice(part.as_ref());
        }
        let closed = self.files.close(handle);
        (written.and(closed), String::from_utf8(text).unwrap())
    }

    /// Asks both; what is different, in words.
    pub fn difference(&self, operation: &str, request: &str) -> Option<String> {
        let answer = self.http(operation, request);
        self.last_succeeded.set(answer.status == 200);
        let of_http = without_its_own(answer.json());
        if self.files.stat(&format!(".ddb/api/{operation}")).is_err() {
            let is_unknown = of_http["__type"]
                .as_str()
                .is_some_and(|name| name.ends_with("#UnknownOperationException"));
            return (!is_unknown)
                .then(|| format!("{operation} has no file, and HTTP knows it: {of_http}"));
        }
        let (ended, text) = self.api_file(operation, request);
        let of_file = serde_json::from_str(&text).map(without_its_own);
        let is_alike = match ended {
            Ok(()) => answer.status == 200,
            Err(errno) => answer.status != 200 && is_of(errno, &of_http),
        };
        let told = || {
            format!(
                "{operation} {}\n  HTTP: {}\n  file: {ended:?} {}",
                shown(request),
                shown(&answer.text()),
                shown(&text)
            )
        };
        if text.is_empty() && is_alike && sentence_of(&of_http).is_empty() {
            return None;
        }
        if !is_alike || of_file.ok().as_ref() != Some(&of_http) {
            return Some(told());
        }
        let last = self.files.read(".ddb/last/response.json");
        if text.len() < 1 << 20 && last.as_ref() != Ok(&text) {
            return Some(format!("{}\n  .ddb/last/response.json: {last:?}", told()));
        }
        let untold = ended.err().and_then(|_| self.untold(sentence_of(&of_http)));
        untold.map(|errors| format!("{}\n  .ddb/errors/last: {errors:?}", told()))
    }

    /// `.ddb/errors/last`, when it has not the first line of this sentence, or as much of it as is kept.
    pub fn untold(&self, sentence: &str) -> Option<String> {
        let errors = without_times(&self.files.read(".ddb/errors/last").unwrap_or_default());
        let line: String = sentence
            .lines()
            .next()
            .unwrap_or_default()
            .trim_end()
            .chars()
            .take(TOLD_MAX)
            .collect();
        (!errors.contains(&line)).then_some(errors)
    }

    /// The items of `Tab`, when those of the two are different.
    pub fn different_items(&self) -> Option<String> {
        let request = r#"{"TableName":"Tab","ConsistentRead":true}"#;
        self.difference("Scan", request)
            .map(|told| format!("afterwards: {told}"))
    }

    /// The answer of the last call of the files.
    pub fn last(&self) -> Value {
        serde_json::from_str(
            &self
                .files
                .read(".ddb/last/response.json")
                .unwrap_or_default(),
        )
        .unwrap_or_default()
    }
}

/// The text of an error, empty when it has none.
pub fn sentence_of(error: &Value) -> &str {
    error["message"]
        .as_str()
        .or(error["Message"].as_str())
        .unwrap_or_default()
}

/// Not more than fits on a screen.
pub fn shown(text: &str) -> String {
    text.chars().take(1_500).collect()
}

fn without_its_own(mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(members) => members.iter_mut().for_each(|(name, value)| {
            *value = if OF_ITS_OWN.contains(&name.as_str()) {
                Value::Null
            } else {
                without_its_own(value.take())
            };
        }),
        Value::String(text) => *text = without_times(text),
        Value::Array(elements) => elements
            .iter_mut()
            .for_each(|element| *element = without_its_own(element.take())),
        _ => {}
    }
    answer
}

/// Milliseconds since 1970, as they are in revision ids, each `#`.
fn without_times(text: &str) -> String {
    let is_time = |part: &str| part.len() == 13 && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_inclusive([' ', '.'])
        .map(|part| {
            if is_time(part.trim_end_matches([' ', '.'])) {
                "# "
            } else {
                part
            }
        })
        .collect()
}

/// May this errno stand for an error of the API (docs/filesystem.md 9)?
pub fn is_of(errno: &str, error: &Value) -> bool {
    let errnos: &[&str] = match error["__type"]
        .as_str()
        .unwrap_or_default()
        .rsplit('#')
        .next()
        .unwrap_or_default()
    {
        "ConditionalCheckFailedException" | "TransactionCanceledException" => &["ECANCELED"],
        "SerializationException" => &["EINVAL"],
        "ValidationException" => &["EINVAL", "EFBIG", "ENAMETOOLONG", "EPERM"],
        "ResourceInUseException" | "TableInUseException" | "LimitExceededException" => {
            &["EBUSY", "EEXIST", "EPERM"]
        }
        "DuplicateItemException" => &["EEXIST"],
        name if name.ends_with("NotFoundException") => &["ENOENT"],
        _ => &["EINVAL", "EBUSY", "ESTALE"],
    };
    errnos.contains(&errno)
}
