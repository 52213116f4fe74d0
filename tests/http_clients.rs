//! Real clients against the server: boto3 and the AWS command line drive every operation that is served.
//!
//! They need Python with the packages of `tests/clients/requirements.txt`; `scripts/test` installs them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod http_support;

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::http::Server;
use ddbfs::store::Store;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::memory::MemoryStore;
use http_support::{options, python};

/// Runs a script of `tests/clients` with `input` against a server on `store`; the lines of the operations known and called.
fn drive(script: &str, input: &str, store: Arc<dyn Store>) -> String {
    let buckets = tempfile::tempdir().unwrap();
    let engine_options = EngineOptions { buckets: Some(buckets.path().to_owned()), ..EngineOptions::default() };
    let database = LocalDatabase::open(store, engine_options).unwrap();
    let server = Server::start(options(), Arc::new(database)).unwrap();
    let url = format!("http://{}", server.local_addr());
    let mut command = Command::new(python());
    command.arg(http_support::script(script)).arg(&url).arg(buckets.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    server.shutdown();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{script}:\n{out}\n{error}");
    let lines = out.lines().filter(|line| line.starts_with("known ") || line.starts_with("called "));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Runs the scripts, each on a server of its own, and holds the operations that they call together against the client's model.
fn drive_every_operation(scripts: &[&str]) {
    let lines: String = std::thread::scope(|scope| {
        let run = |script: &&str| {
            let directory = tempfile::tempdir().unwrap();
            drive(script, "", Arc::new(LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap()))
        };
        let running: Vec<_> = scripts.iter().map(|script| scope.spawn(move || run(script))).collect();
        running.into_iter().map(|script| script.join().unwrap()).collect()
    });
    drive("every_operation.py", &lines, Arc::new(MemoryStore::new().unwrap()));
}

#[test]
fn boto3_drives_every_operation() {
    drive_every_operation(&["boto3_operations.py", "boto3_streams.py", "boto3_batches.py", "boto3_tables.py"]);
}

#[test]
fn boto3_drives_the_store_in_memory_too() {
    drive("boto3_operations.py", "", Arc::new(MemoryStore::new().unwrap()));
}

#[test]
fn the_aws_command_line_drives_every_operation() {
    drive_every_operation(&["cli_operations.py", "cli_tables.py"]);
}
