//! What a single client can make the server pay: `clients/costly_requests.py` against `ddbfs serve`, one case a test. No request takes more
//! than 128 MiB, sixteen at once take a bounded amount, and another client's `GET /` is answered meanwhile.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::http::{python, script};

/// `ddbfs serve` on a directory of its own; ended when dropped.
struct Served {
    child: Child,
    addr: String,
    _data: tempfile::TempDir,
}

impl Served {
    fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ddbfs"));
        command.args(["serve", "--http", "127.0.0.1:0", "--data"]).arg(data.path());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("http://"))).expect("an address").unwrap();
        let addr = line.split("http://").nth(1).unwrap();
        let addr = addr.split(|c: char| c.is_whitespace() || matches!(c, '/' | ',')).next().unwrap().to_owned();
        Self { child, addr, _data: data }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn costs_little(cases: &[&str]) {
    let served = Served::start();
    let mut command = Command::new(python());
    command.arg(script("costly_requests.py")).arg(&served.addr).arg(served.child.id().to_string()).args(cases);
    let done = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(done.status.success(), "{}\n{}", text(&done.stdout), text(&done.stderr));
}

#[test]
fn a_json_tree_is_a_few_times_its_text() {
    costs_little(&["tree", "deep", "deepest", "members", "many"]);
}

#[test]
fn nothing_is_built_for_who_may_not_send_it() {
    costs_little(&["unsigned", "bomb"]);
}

#[test]
fn values_are_paid_for_before_they_are_made() {
    costs_little(&["values", "names", "real"]);
}

#[test]
fn what_an_error_repeats_is_bounded() {
    costs_little(&["repeated"]);
}

#[test]
fn an_update_copies_no_more_than_an_item_holds() {
    costs_little(&["clones", "statement", "literals"]);
}

#[test]
fn conditions_take_a_bounded_time() {
    costs_little(&["contains", "legacy"]);
}

#[test]
fn memory_of_a_burst_goes_back() {
    costs_little(&["goes_back"]);
}
