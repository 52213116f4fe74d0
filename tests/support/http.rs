//! A client of bare sockets, and a server in this process.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::http::{HttpOptions, RunningServer, Server, Timeouts};
use ddbfs::store::memory::MemoryStore;
use serde_json::Value;

pub const SIGNATURE: &str = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0";

/// Returns the Python that has the packages of `tests/clients/requirements.txt`:
/// `DDBFS_TEST_PYTHON`, or the one that `scripts/test` installed.
pub fn python() -> PathBuf {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/python/bin/python");
    let named = std::env::var_os("DDBFS_TEST_PYTHON").map(PathBuf::from);
    named.unwrap_or_else(|| {
        if installed.exists() {
            installed
        } else {
            "python3".into()
        }
    })
}

/// Returns a script of `tests/clients`.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/clients")
        .join(name)
}

/// Longer than any operation takes on a busy machine.
const PATIENT: Duration = Duration::from_secs(600);
/// A short timeout, for tests that wait for it to expire.
pub const SOON: Duration = Duration::from_millis(300);

pub fn options() -> HttpOptions {
    let timeouts = Timeouts {
        head: PATIENT,
        idle: PATIENT,
        silence: PATIENT,
        shutdown: PATIENT,
    };
    HttpOptions {
        timeouts,
        ..HttpOptions::new("127.0.0.1:0".parse().unwrap())
    }
}

/// Starts a server with other timeouts.
pub fn start_with(change: impl FnOnce(&mut Timeouts)) -> RunningServer {
    let mut options = options();
    change(&mut options.timeouts);
    Server::start(options, engine()).unwrap()
}

pub fn engine() -> Arc<dyn Database> {
    let store = Arc::new(MemoryStore::new().unwrap());
    Arc::new(LocalDatabase::open(store, EngineOptions::default()).unwrap())
}

pub fn start() -> RunningServer {
    Server::start(options(), engine()).unwrap()
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }
}

/// Reads one response; `head_only` for HEAD.
pub fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        assert_eq!(
            stream.read(&mut byte).expect("an answer"),
            1,
            "closed after {:?}",
            String::from_utf8_lossy(&head)
        );
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let fields = lines.filter_map(|line| line.split_once(": "));
    let headers: HashMap<String, String> = fields
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    Answer {
        status,
        headers,
        body,
    }
}

pub fn exchange(addr: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.write_all(request).unwrap();
    read_answer(&mut stream)
}

pub fn raw(line: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("{line} HTTP/1.1\r\n");
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("host"))
    {
        text.push_str("Host: localhost\r\n");
    }
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("content-length"))
    {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}

pub fn api(operation: &str, body: &str) -> Vec<u8> {
    let target = format!("DynamoDB_20120810.{operation}");
    let headers = [
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", target.as_str()),
        ("Authorization", SIGNATURE),
        ("X-Amz-Date", "20260101T000000Z"),
    ];
    raw("POST /", &headers, body)
}

#[track_caller]
pub fn call(addr: SocketAddr, operation: &str, body: &Value) -> Answer {
    exchange(addr, &api(operation, &body.to_string()))
}

#[track_caller]
pub fn ok(addr: SocketAddr, operation: &str, body: &Value) -> Value {
    let answer = call(addr, operation, body);
    assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
    answer.json()
}
