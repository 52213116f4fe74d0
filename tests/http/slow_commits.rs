//! A commit that waits, on the thread of its connection even, keeps nobody else from an answer.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::current;
use std::time::{Duration, Instant};

use crate::support::http::{api, ok, options, read_answer};
use crate::support::wait::until;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::http::{HttpOptions, Server};
use ddbfs::model::api::CommitInline;
use ddbfs::model::error::StoreError;
use ddbfs::protocol::slow_log::{SLOW_CALL, SlowLog};
use ddbfs::store::memory::MemoryStore;
use ddbfs::store::{BatchHook, Read, Store, StoreInfo, Write, WriteJob};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// An answer that does not come is no answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Writes wait in it while the lock is held; each tells the name of its thread.
struct SlowStore {
    inner: MemoryStore,
    lock: Arc<Mutex<()>>,
    begun: Mutex<Option<Sender<String>>>,
}

struct SlowJob {
    job: Box<dyn WriteJob>,
    lock: Arc<Mutex<()>>,
    begun: Option<Sender<String>>,
}

impl WriteJob for SlowJob {
    fn run(&mut self, batch: &mut dyn Write) -> Result<(), StoreError> {
        if let Some(begun) = &self.begun {
            begun
                .send(current().name().unwrap_or_default().to_owned())
                .unwrap();
        }
        drop(self.lock.lock());
        self.job.run(batch)
    }

    fn is_removal(&self) -> bool {
        self.job.is_removal()
    }

    fn commit_inline(&self) -> Option<CommitInline> {
        self.job.commit_inline()
    }

    fn done(self: Box<Self>, result: Result<(), StoreError>) {
        self.job.done(result);
    }
}

impl Store for SlowStore {
    fn snapshot(&self) -> Result<Box<dyn Read + '_>, StoreError> {
        self.inner.snapshot()
    }

    fn submit(&self, job: Box<dyn WriteJob>) {
        let (lock, begun) = (Arc::clone(&self.lock), self.begun.lock().clone());
        self.inner.submit(Box::new(SlowJob { job, lock, begun }));
    }

    fn commit_id(&self) -> u64 {
        self.inner.commit_id()
    }

    fn set_hook(&self, hook: Arc<dyn BatchHook>) {
        self.inner.set_hook(hook);
    }

    fn info(&self) -> StoreInfo {
        self.inner.info()
    }

    fn wait_for_commit(&self, after: u64, timeout: Duration) -> Result<u64, StoreError> {
        self.inner.wait_for_commit(after, timeout)
    }

    fn close(&self) {
        self.inner.close();
    }
}

fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn ask(stream: &mut TcpStream, operation: &str, body: &serde_json::Value) {
    stream
        .write_all(&api(operation, &body.to_string()))
        .unwrap();
}

#[test]
fn reads_go_on_while_a_commit_waits_on_the_thread_of_its_connection() {
    let lock = Arc::<Mutex<()>>::default();
    let store = Arc::new(SlowStore {
        inner: MemoryStore::new().unwrap(),
        lock: Arc::clone(&lock),
        begun: Mutex::default(),
    });
    let engine_options = EngineOptions {
        background_period: None,
        ..EngineOptions::default()
    };
    let database = LocalDatabase::open(Arc::<SlowStore>::clone(&store), engine_options).unwrap();
    let log = Arc::<SlowLog>::default();
    let options = HttpOptions {
        slow_log: Some(Arc::clone(&log)),
        ..options()
    };
    let server = Server::start(options, Arc::new(database)).unwrap();
    let addr = server.local_addr();
    let table = json!({
        "TableName": "Flat", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    });
    ok(addr, "CreateTable", &table);
    let (sender, begun) = channel();
    *store.begun.lock() = Some(sender);
    let put = json!({"TableName": "Flat", "Item": {"id": {"S": "a"}}});
    let get = json!({"TableName": "Flat", "Key": {"id": {"S": "a"}}});
    let mut writer = connect(addr);
    // The writer's connection alone, then among others that were there before.
    for others in [0, 8] {
        let mut readers: Vec<TcpStream> = (0..others).map(|_| connect(addr)).collect();
        // What took long is not led for a while; it is tried again until it is.
        until("a write runs on the thread of its connection", || {
            let held = lock.lock();
            ask(&mut writer, "PutItem", &put);
            let thread = begun.recv_timeout(PATIENCE).unwrap();
            readers.push(connect(addr));
            for reader in &mut readers {
                ask(reader, "GetItem", &get);
            }
            for reader in &mut readers {
                assert_eq!(read_answer(reader).status, 200);
            }
            readers.truncate(others);
            drop(held);
            assert_eq!(read_answer(&mut writer).status, 200);
            thread != "store-writer"
        });
    }
    // A slow request is in the log of the mount beside the server, with what it consumed.
    log.clear();
    let held = lock.lock();
    ask(&mut writer, "PutItem", &put);
    begun.recv_timeout(PATIENCE).unwrap();
    let since = Instant::now();
    until("the request is slow", || since.elapsed() >= SLOW_CALL);
    drop(held);
    assert_eq!(read_answer(&mut writer).status, 200);
    let lines = log.lines();
    let line: Value = serde_json::from_str(&lines).unwrap();
    assert_eq!(
        [
            &line["operation"],
            &line["table"],
            &line["index"],
            &line["units"],
            &line["result"]
        ],
        [
            &json!("PutItem"),
            &json!("Flat"),
            &json!(null),
            &json!(1.0),
            &json!("OK")
        ],
        "{lines}"
    );
    assert!(line["us"].as_u64() >= Some(100_000), "{lines}");
    drop(writer);
    server.shutdown();
}
