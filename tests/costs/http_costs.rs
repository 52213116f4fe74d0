//! What a single client can make the server pay: `clients/costly_requests.py` against `ddbfs serve`, one case a test. No request takes more
//! than 128 MiB, several at once take a bounded amount, and another client's `GET /` is answered meanwhile.

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
    /// As in a control group with a limit of 256 MiB.
    fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ddbfs"));
        command
            .args([
                "serve",
                "--http",
                "127.0.0.1:0",
                "--memory",
                "256M",
                "--data",
            ])
            .arg(data.path());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines
            .find(|line| line.as_ref().is_ok_and(|line| line.contains("http://")))
            .expect("an address")
            .unwrap();
        let addr = line.split("http://").nth(1).unwrap();
        let addr = addr
            .split(|c: char| c.is_whitespace() || matches!(c, '/' | ','))
            .next()
            .unwrap()
            .to_owned();
        Self {
            child,
            addr,
            _data: data,
        }
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
    command
        .arg(script("costly_requests.py"))
        .arg(&served.addr)
        .arg(served.child.id().to_string())
        .args(cases);
    let done = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        done.status.success(),
        "{}\n{}",
        text(&done.stdout),
        text(&done.stderr)
    );
}

#[test]
fn a_json_tree_is_a_few_times_its_text() {
    costs_little(&["tree", "deep", "deepest", "members"]);
}

#[test]
fn trees_at_once_take_what_there_is_room_for() {
    costs_little(&["many"]);
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
fn names_maps_and_parameters_are_paid_for_as_often_as_they_are_held() {
    costs_little(&["names_to_get", "wide", "parameters"]);
}

#[test]
fn an_answer_is_as_long_as_its_text_may_be() {
    costs_little(&["nulls"]);
}

#[test]
fn items_of_many_values_are_answered_as_far_as_there_is_room() {
    costs_little(&["many_values"]);
}

#[test]
fn what_waits_to_be_taken_or_sent_was_reserved_before() {
    costs_little(&["unread", "unread_items", "bodies", "chunked"]);
}

#[test]
fn a_commit_takes_a_bounded_part_of_memory() {
    costs_little(&["indexed", "indexed_together"]);
}

#[test]
fn memory_of_a_burst_goes_back() {
    costs_little(&["goes_back"]);
}
