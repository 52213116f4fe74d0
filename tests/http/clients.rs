//! Real clients against the server: boto3 and the AWS command line drive every operation that is served.
//!
//! The SDK for JavaScript calls what programs use most, and dynamodb-admin works as it is. `scripts/test` installs the packages.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::support::http;
use crate::support::http::{engine, options, python};
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::samples::sample_tables;
use ddbfs::engine::EngineOptions;
use ddbfs::http::Server;
use ddbfs::model::api::PutItemRequest;
use ddbfs::store::Store;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::memory::MemoryStore;

/// Runs a Python script of `tests/clients` with `input` against a server on `store`; the lines of the operations known and called.
fn drive(script: &str, input: &str, store: Arc<dyn Store>) -> String {
    let buckets = tempfile::tempdir().unwrap();
    let engine_options = EngineOptions {
        buckets: Some(buckets.path().to_owned()),
        ..EngineOptions::default()
    };
    let database = Arc::new(LocalDatabase::open(store, engine_options).unwrap());
    let mut command = Command::new(python());
    command.arg(http::script(script));
    let out = run(command, Some(buckets.path()), input, database);
    let lines = out
        .lines()
        .filter(|line| line.starts_with("known ") || line.starts_with("called "));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Runs a client against a server on `database`, the server's URL and `argument` as its last arguments; what it printed.
fn run(
    mut command: Command,
    argument: Option<&Path>,
    input: &str,
    database: Arc<dyn Database>,
) -> String {
    let server = Server::start(options(), database).unwrap();
    command
        .arg(format!("http://{}", server.local_addr()))
        .args(argument);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let done = child.wait_with_output().unwrap();
    server.shutdown();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{command:?}:\n{out}\n{error}");
    out
}

/// Runs the scripts, each on a server of its own, and holds the operations that they call together against the client's model.
fn drive_every_operation(scripts: &[&str]) {
    let lines: String = std::thread::scope(|scope| {
        let run = |script: &&str| {
            let directory = tempfile::tempdir().unwrap();
            drive(
                script,
                "",
                Arc::new(LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap()),
            )
        };
        let running: Vec<_> = scripts
            .iter()
            .map(|script| scope.spawn(move || run(script)))
            .collect();
        running
            .into_iter()
            .map(|script| script.join().unwrap())
            .collect()
    });
    drive(
        "every_operation.py",
        &lines,
        Arc::new(MemoryStore::new().unwrap()),
    );
}

#[test]
fn boto3_drives_every_operation() {
    drive_every_operation(&[
        "boto3_operations.py",
        "boto3_streams.py",
        "boto3_batches.py",
        "boto3_statements.py",
        "boto3_tables.py",
    ]);
}

/// Tables and indexes take their time, as the service's do.
#[test]
fn boto3_waits_for_tables_and_indexes() {
    let delays = EngineOptions {
        table_delay_ms: 300,
        index_allocation_ms: 300,
        gsi_delay_ms: 50,
        ..EngineOptions::default()
    };
    let database = LocalDatabase::open(Arc::new(MemoryStore::new().unwrap()), delays).unwrap();
    let mut command = Command::new(python());
    command.arg(http::script("boto3_indexes.py"));
    run(command, None, "", Arc::new(database));
}

#[test]
fn boto3_drives_the_store_in_memory_too() {
    drive(
        "boto3_operations.py",
        "",
        Arc::new(MemoryStore::new().unwrap()),
    );
}

#[test]
fn the_aws_command_line_drives_every_operation() {
    drive_every_operation(&["cli_operations.py", "cli_tables.py"]);
}

/// Runs a script of `tests/clients/node`.
fn drive_with_node(script: &str, database: Arc<dyn Database>) {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/node/node_modules");
    assert!(
        modules.exists(),
        "the packages of tests/clients/node/package.json are not in target/node: run scripts/test"
    );
    let mut command = Command::new("node");
    command
        .env("NODE_PATH", modules)
        .arg(http::script("node").join(script));
    run(command, None, "", database);
}

#[test]
fn the_javascript_sdk_reads_and_writes() {
    drive_with_node("sdk.cjs", engine());
}

#[test]
fn dynamodb_admin_shows_and_edits_the_sample_tables() {
    let database = engine();
    for (request, items) in sample_tables() {
        let table = request.table_name.clone();
        database.create_table(request).unwrap();
        for item in items {
            database
                .put_item(PutItemRequest::new(table.clone(), item))
                .unwrap();
        }
    }
    drive_with_node("admin.cjs", database);
}
