//! Real clients against the server: boto3 and the AWS command line drive every operation served.
//!
//! They need Python with the packages of `tests/clients/requirements.txt`; `DDBFS_TEST_PYTHON` names the interpreter, else `python3`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::http::{HttpOptions, Server};
use ddbfs::store::Store;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::memory::MemoryStore;

/// Runs a script of `tests/clients` against a server on `store`.
fn drive(script: &str, module: &str, store: Arc<dyn Store>) {
    let python = std::env::var("DDBFS_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let probe = Command::new(&python).args(["-c", &format!("import {module}")]).output();
    assert!(
        probe.is_ok_and(|probe| probe.status.success()),
        "{python} has no {module}; install {} into a virtual environment and name its python in DDBFS_TEST_PYTHON",
        clients.join("requirements.txt").display()
    );
    let database = LocalDatabase::open(store, EngineOptions::default()).unwrap();
    let server = Server::start(HttpOptions::new("127.0.0.1:0".parse().unwrap()), Arc::new(database)).unwrap();
    let url = format!("http://{}", server.local_addr());
    let done = Command::new(&python).arg(clients.join(script)).arg(&url).output().unwrap();
    server.shutdown();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(done.status.success(), "{script}:\n{}\n{}", text(&done.stdout), text(&done.stderr));
}

#[test]
fn boto3_drives_every_operation_on_memory() {
    drive("boto3_operations.py", "boto3", Arc::new(MemoryStore::new().unwrap()));
}

#[test]
fn boto3_drives_every_operation_on_lmdb() {
    let directory = tempfile::tempdir().unwrap();
    let store = LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap();
    drive("boto3_operations.py", "boto3", Arc::new(store));
}

#[test]
fn boto3_drives_streams_and_time_to_live() {
    let directory = tempfile::tempdir().unwrap();
    let store = LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap();
    drive("boto3_streams.py", "boto3", Arc::new(store));
}

#[test]
fn the_aws_command_line_drives_every_operation() {
    drive("cli_operations.py", "awscli", Arc::new(MemoryStore::new().unwrap()));
}

#[test]
fn boto3_drives_batches_and_transactions() {
    let directory = tempfile::tempdir().unwrap();
    let store = LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap();
    drive("boto3_batches.py", "boto3", Arc::new(store));
}
