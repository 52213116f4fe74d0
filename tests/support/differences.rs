//! The tests of this binary over the servers that are declared in `tests/servers`: each passes, or
//! differs as the declaration says.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::elsewhere::VARIABLE;
use super::own_process::bound;
use super::servers::Declaration;

/// Tests of this binary that run at a time: most of them wait for the server.
const THREADS: &str = "3";

/// Time after which a run without a finished test counts as hanging.
const PATIENCE: Duration = Duration::from_secs(240);

/// Runs the command; returns its output, and the hanging tests if it had to be killed.
fn output_of(command: &Command, dir: &Path) -> (String, Option<String>) {
    let (mut child, input) = bound(command, dir);
    let (sender, lines) = channel();
    let (output, mut errors) = (
        BufReader::new(child.stdout.take().unwrap()),
        child.stderr.take().unwrap(),
    );
    std::thread::spawn(move || {
        output
            .lines()
            .map_while(Result::ok)
            .try_for_each(|line| sender.send(line))
    });
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    let (mut input, mut text, mut hang) = (Some(input), String::new(), None);
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => text += &format!("{line}\n"),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                // The harness reports each test that takes more than a minute.
                let late = text
                    .lines()
                    .filter_map(|line| line.strip_suffix(" has been running for over 60 seconds"));
                let hanging = late
                    .filter(|test| !text.contains(&format!("{test} ... ")))
                    .collect::<Vec<_>>()
                    .join(", ");
                hang = Some(format!(
                    "no test has ended for {} s: {hanging}",
                    PATIENCE.as_secs()
                ));
                input = None;
            }
        }
    }
    drop(input);
    child.wait().unwrap();
    (text, hang)
}

/// Returns the texts of failures by test from the output of the harness.
fn failures(output: &str) -> BTreeMap<&str, &str> {
    let shown = output.split_once("\nfailures:\n").map_or("", |(_, it)| it);
    let shown = shown
        .split_once("\n\nfailures:\n")
        .map_or(shown, |(it, _)| it);
    let texts = shown.split("\n---- ").skip(1);
    texts
        .filter_map(|text| text.split_once(" stdout ----\n"))
        .collect()
}

/// Runs the tests with names that contain one of `tests` and none of `left_out`, over servers of
/// that name: each passes, or fails with the text that its row in the declaration has.
pub fn run(server: &str, tests: &[&str], left_out: &[&str]) {
    let declared = Declaration::of(server);
    let not_run = declared.rows.iter().filter(|row| row.text.is_none());
    let (dir, mut command) = (
        tempfile::tempdir().unwrap(),
        Command::new(std::env::current_exe().unwrap()),
    );
    command
        .env(VARIABLE, server)
        .env("RUST_BACKTRACE", "0")
        .args(["--test-threads", THREADS, "--skip", "over_servers"])
        .args(
            left_out
                .iter()
                .copied()
                .chain(not_run.map(|row| row.test.as_str()))
                .flat_map(|test| ["--skip", test]),
        )
        .args(tests);
    let (text, hang) = output_of(&command, dir.path());
    let failures = failures(&text);
    let ended = text
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let ended: BTreeMap<&str, bool> = ended
        .map(|(name, how)| (name, how.starts_with("ok")))
        .collect();
    let mut wrong = Vec::from_iter(hang);
    for (name, has_passed) in &ended {
        let row = declared.row(name);
        let failure = failures.get(name).copied().unwrap_or_default();
        match (has_passed, row) {
            (false, None) => wrong.push(format!("{name} fails")),
            (true, Some(row)) => wrong.push(format!("{name} passes, though: {}", row.why)),
            (false, Some(row)) if !row.fits(failure) => wrong.push(format!(
                "{name} fails in another way than with\n{}",
                row.text.as_deref().unwrap_or_default()
            )),
            _ => {}
        }
    }
    let rows = declared.rows.iter().filter(|row| row.text.is_some());
    wrong.extend(
        rows.filter(|row| !ended.keys().any(|name| row.names(name)))
            .map(|row| format!("{} is no test that is run", row.test)),
    );
    let passed = ended.values().filter(|has_passed| **has_passed).count();
    println!("{server}: {passed} of {} pass", ended.len());
    assert!(
        !ended.is_empty() && wrong.is_empty(),
        "over {server}:\n{}\n\n{text}",
        wrong.join("\n")
    );
}
