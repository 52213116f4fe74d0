//! `scripts/bench`, HTTP: requests a second against `ddbfs serve` as a process of its own, over kept connections.
//!
//! The client is blocking sockets, a thread each, and reads no more of an answer than its status and length; it shares the machine's
//! processors with the server. `--quick` is short; `--addr HOST:PORT` uses a running server; `--only NAME` one operation, for profiles.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const CONNECTIONS: [usize; 3] = [1, 8, 32];
const ITEMS_PER_PARTITION: u64 = 100;
const BATCH_ITEMS: u64 = 25;
const TABLE: &str = r#"{"TableName":"Bench","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"},
        {"AttributeName":"color","AttributeType":"S"},{"AttributeName":"day","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
    "LocalSecondaryIndexes":[{"IndexName":"by-day","Projection":{"ProjectionType":"ALL"},
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"day","KeyType":"RANGE"}]}],
    "GlobalSecondaryIndexes":[{"IndexName":"by-color","Projection":{"ProjectionType":"ALL"},
        "KeySchema":[{"AttributeName":"color","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]}]}"#;

struct Scale {
    loop_time: Duration,
    partitions: u64,
}

/// One kind of request: its operation, and the body of the n-th one.
struct Kind {
    name: &'static str,
    operation: &'static str,
    body: fn(u64, &Scale) -> String,
    /// Of the requests of this version's server.
    optional: bool,
}

const KINDS: [Kind; 6] = [
    Kind {
        name: "put",
        operation: "PutItem",
        body: |n, _| format!(r#"{{"TableName":"Bench","Item":{}}}"#, item(n)),
        optional: false,
    },
    Kind { name: "get", operation: "GetItem", body: get, optional: false },
    Kind { name: "update", operation: "UpdateItem", body: update, optional: true },
    Kind { name: "query of 100 items", operation: "Query", body: query, optional: false },
    Kind { name: "GSI query of 100 items", operation: "Query", body: gsi_query, optional: false },
    Kind { name: "batch write of 25 items", operation: "BatchWriteItem", body: batch_write, optional: true },
];

fn main() -> Fallible<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1));
    let quick = args.iter().any(|arg| arg == "--quick");
    let scale =
        Scale { loop_time: Duration::from_millis(if quick { 300 } else { 3000 }), partitions: if quick { 20 } else { 200 } };
    let started = if value("--addr").is_none() { Some(Served::start()?) } else { None };
    let addr = value("--addr").cloned().or_else(|| started.as_ref().map(|served| served.addr.clone())).unwrap_or_default();
    prepare(&addr, &scale)?;

    println!("| HTTP, 1 KB items, 1 LSI, 1 GSI | 1 connection | 8 connections | 32 connections |\n|---|---|---|---|");
    let only = value("--only");
    for kind in KINDS.iter().filter(|kind| only.is_none_or(|only| only == kind.name)) {
        if kind.optional && !is_served(&addr, kind, &scale)? {
            continue;
        }
        let mut row = format!("| {} |", kind.name);
        for connections in CONNECTIONS {
            let rate = rate(&addr, connections, kind, &scale)?;
            write!(row, " {rate:.0} |")?;
        }
        println!("{row}");
    }
    Ok(())
}

// ---- requests -----------------------------------------------------------------------------------------------------------------

/// Spreads counted requests over the keys.
fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (n ^ (n >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 7
}

fn key(n: u64) -> String {
    format!(r#""pk":{{"S":"partition-{}"}},"sk":{{"N":"{}"}}"#, n / ITEMS_PER_PARTITION, n % ITEMS_PER_PARTITION)
}

/// About 1 KB of attributes of several types. The items of a partition share their color.
fn item(n: u64) -> String {
    format!(
        r#"{{{},"color":{{"S":"color-{}"}},"day":{{"S":"2026-01-{:02}"}},"count":{{"N":"{n}"}},"open":{{"BOOL":true}},
        "tags":{{"SS":["one","two","three"]}},"place":{{"M":{{"x":{{"N":"1.5"}},"y":{{"N":"-2.25"}}}}}},"text":{{"S":"{}"}}}}"#,
        key(n),
        n / ITEMS_PER_PARTITION,
        n % 28,
        "lorem ipsum ".repeat(70),
    )
}

fn get(n: u64, scale: &Scale) -> String {
    format!(r#"{{"TableName":"Bench","Key":{{{}}}}}"#, key(mix(n) % (scale.partitions * ITEMS_PER_PARTITION)))
}

fn update(n: u64, scale: &Scale) -> String {
    let key = key(mix(n) % (scale.partitions * ITEMS_PER_PARTITION));
    format!(
        r##"{{"TableName":"Bench","Key":{{{key}}},"UpdateExpression":"SET #c = #c + :one","ExpressionAttributeNames":{{"#c":"count"}},
        "ExpressionAttributeValues":{{":one":{{"N":"1"}}}}}}"##
    )
}

fn query(n: u64, scale: &Scale) -> String {
    let partition = mix(n) % scale.partitions;
    format!(
        r#"{{"TableName":"Bench","KeyConditionExpression":"pk = :p","Limit":100,
        "ExpressionAttributeValues":{{":p":{{"S":"partition-{partition}"}}}}}}"#
    )
}

fn gsi_query(n: u64, scale: &Scale) -> String {
    let partition = mix(n) % scale.partitions;
    format!(
        r#"{{"TableName":"Bench","IndexName":"by-color","KeyConditionExpression":"color = :c","Limit":100,
        "ExpressionAttributeValues":{{":c":{{"S":"color-{partition}"}}}}}}"#
    )
}

fn batch_write(n: u64, _: &Scale) -> String {
    let first = n * BATCH_ITEMS;
    let puts: Vec<String> = (first..first + BATCH_ITEMS).map(|n| format!(r#"{{"PutRequest":{{"Item":{}}}}}"#, item(n))).collect();
    format!(r#"{{"RequestItems":{{"Bench":[{}]}}}}"#, puts.join(","))
}

// ---- client -------------------------------------------------------------------------------------------------------------------

/// A kept connection.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    fn open(addr: &str) -> Fallible<Self> {
        let stream = TcpStream::connect(addr)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 256 * 1024] })
    }

    /// Sends a request and takes its answer: the status.
    fn call(&mut self, operation: &str, body: &str) -> Fallible<u16> {
        let request = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n\
             X-Amz-Target: DynamoDB_20120810.{operation}\r\nX-Amz-Date: 20260101T000000Z\r\nUser-Agent: bench\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
             Signature=0000000000000000000000000000000000000000000000000000000000000000\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes())?;
        let mut filled = 0;
        loop {
            filled += self.read(filled)?;
            let read = self.buffer.get(..filled).unwrap_or_default();
            let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(read.get(..end).unwrap_or_default())?;
            let length =
                head.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            let length: usize = length.map_or("0", |(_, value)| value.trim()).parse()?;
            let status = head.split(' ').nth(1).unwrap_or_default().parse()?;
            let mut rest = (end + 4 + length).saturating_sub(filled);
            while rest > 0 {
                rest = rest.saturating_sub(self.read(0)?);
            }
            return Ok(status);
        }
    }

    fn read(&mut self, from: usize) -> Fallible<usize> {
        match self.stream.read(self.buffer.get_mut(from..).unwrap_or_default())? {
            0 => Err("the server closed the connection".into()),
            read => Ok(read),
        }
    }
}

fn prepare(addr: &str, scale: &Scale) -> Fallible<()> {
    let status = Connection::open(addr)?.call("CreateTable", TABLE)?;
    if status == 200 {
        let next = AtomicU64::new(0);
        let total = scale.partitions * ITEMS_PER_PARTITION;
        each(32, &|| {
            let mut connection = Connection::open(addr)?;
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= total {
                    return Ok(());
                }
                expect(connection.call("PutItem", &format!(r#"{{"TableName":"Bench","Item":{}}}"#, item(n)))?)?;
            }
        })?;
    }
    Ok(())
}

fn is_served(addr: &str, kind: &Kind, scale: &Scale) -> Fallible<bool> {
    Ok(Connection::open(addr)?.call(kind.operation, &(kind.body)(0, scale))? == 200)
}

fn expect(status: u16) -> Fallible<()> {
    if status == 200 { Ok(()) } else { Err(format!("the server answered {status}").into()) }
}

/// Runs `work` on so many threads.
fn each(threads: usize, work: &(dyn Fn() -> Fallible<()> + Sync)) -> Fallible<()> {
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a client thread panicked")?)
    })
}

/// Requests a second over so many connections.
fn rate(addr: &str, connections: usize, kind: &Kind, scale: &Scale) -> Fallible<f64> {
    let next = AtomicU64::new(scale.partitions * ITEMS_PER_PARTITION);
    let done = AtomicU64::new(0);
    let started = Instant::now();
    each(connections, &|| {
        let mut connection = Connection::open(addr)?;
        while started.elapsed() < scale.loop_time {
            let n = next.fetch_add(1, Ordering::Relaxed);
            expect(connection.call(kind.operation, &(kind.body)(n, scale))?)?;
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    })?;
    Ok(done.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64())
}

// ---- server -------------------------------------------------------------------------------------------------------------------

struct Served {
    child: Child,
    addr: String,
    _dir: tempfile::TempDir,
}

impl Drop for Served {
    fn drop(&mut self) {
        // A benchmark's server holds nothing worth an orderly end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start() -> Fallible<Self> {
        // On the disk of the build, not in a memory file system.
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench");
        std::fs::create_dir_all(&scratch)?;
        let dir = tempfile::tempdir_in(scratch)?;
        let mut child = Command::new(env!("CARGO_BIN_EXE_ddbfs"))
            .args(["serve", "--http", "127.0.0.1:0", "--data"])
            .arg(dir.path().join("data"))
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or("no standard output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let addr = line.split("http://").nth(1).and_then(|rest| rest.split([',', '\n']).next());
        let addr = addr.ok_or_else(|| format!("the server said {line:?}"))?.to_owned();
        Ok(Self { child, addr, _dir: dir })
    }
}
