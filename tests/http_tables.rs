//! The control plane through a real client: boto3 drives every operation of it.
//!
//! It needs Python with boto3; `DDBFS_TEST_PYTHON` names the interpreter, else `python3`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::http::{HttpOptions, Server};
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};

#[test]
fn boto3_drives_the_control_plane() {
    let python = std::env::var("DDBFS_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/boto3_tables.py");
    let directory = tempfile::tempdir().unwrap();
    let buckets = directory.path().join("s3");
    let store = LmdbStore::open(&directory.path().join("data"), LmdbOptions::default()).unwrap();
    let options = EngineOptions { buckets: Some(buckets.clone()), ..EngineOptions::default() };
    let database = LocalDatabase::open(Arc::new(store), options).unwrap();
    let server = Server::start(HttpOptions::new("127.0.0.1:0".parse().unwrap()), Arc::new(database)).unwrap();
    let url = format!("http://{}", server.local_addr());
    let done = Command::new(&python).arg(script).arg(&url).arg(&buckets).output().unwrap();
    server.shutdown();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(done.status.success(), "{}\n{}", text(&done.stdout), text(&done.stderr));
}
