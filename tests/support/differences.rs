//! The tests of mounts over remote services: the tests that fail over a server, with the reason.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::elsewhere::{Kind, VARIABLE};
use super::own_process::bound;

/// A test, or all of a module; the servers over which it fails, and the reason.
type Difference = (&'static str, &'static [Kind], &'static str);

const ALL: &[Kind] = &Kind::ALL;
const DYNALITE: &[Kind] = &[Kind::Dynalite];
const MOTO: &[Kind] = &[Kind::Moto];
const NOT_DYNALITE: &[Kind] = &[Kind::Ddbfs, Kind::Moto];
const EMULATORS: &[Kind] = &[Kind::Dynalite, Kind::Moto];

/// The meaning of each for users is in docs/remote.md.
#[rustfmt::skip]
const DIFFERENCES: &[Difference] = &[
    ("mount::batch::atomic_does_all_or_nothing", DYNALITE, "dynalite has no transactions"),
    ("mount::editors::what_a_process_writes_by_any_route_it_has_read", DYNALITE, "no map or list is equal to itself in a condition of dynalite"),
    ("mount::editors::what_a_process_writes_by_statements_it_has_read", ALL,
        "after a statement the mount does not know the item's version; dynalite has no PartiQL, moto's ends at values in the text"),
    ("mount::editors::a_created_file_is_one_change_and_an_exclusive_one_two", DYNALITE, "dynalite has no streams"),
    ("mount::editors::each_save_is_one_change_and_no_removal", DYNALITE, "dynalite has no streams"),
    ("mount::indexes::", DYNALITE, "dynalite adds no index to a table that is on demand: it wants units"),
    ("mount::indexes::an_index_is_a_directory_that_is_made_and_removed", NOT_DYNALITE, "no service tells how far an index is"),
    ("mount::indexes::commands_make_an_index_and_stop_its_propagation", NOT_DYNALITE, "no service lets the propagation of an index be paused"),
    ("mount::indexes::a_bad_definition_makes_nothing", MOTO, "moto makes an index of an attribute that is not defined, and describes the table so"),
    ("mount::items::folders_of_many_items_are_moved_at_once_up_to_a_hundred", ALL,
        "a transaction of a service has 100 operations, two for each item: mv copies and removes folders of more than 50"),
    ("mount::items::renames_exchange_and_do_not_replace", DYNALITE, "dynalite has no transactions"),
    ("mount::items::a_patch_is_merged_into_the_item", EMULATORS,
        "no map or list is equal to itself in a condition of dynalite; moto takes an item with an attribute that does not fit an index"),
    ("mount::multi_attribute_keys::a_mount_names_them_by_all_their_values", DYNALITE, "dynalite's keys have two attributes at most"),
    ("mount::names::a_table_with_any_keys_is_cloned_by_tar_cp_and_rsync", DYNALITE, "dynalite counts items of a table only now and then"),
    ("mount::service::a_request_of_megabytes_comes_in_pieces_and_one_over_16_mib_is_refused", ALL,
        "ours, which throttles, leaves items unprocessed; over dynalite 9.7 MB are above --scan-limit; moto answers with more members"),
    ("mount::service::a_request_is_written_and_its_answer_read_on_the_same_descriptor", MOTO, "moto has spaces in its answers"),
    ("mount::service::failures_have_their_errno_and_their_body", DYNALITE, "dynalite does not say that it is the table that is there already"),
    ("mount::service::transact_takes_both_kinds", DYNALITE, "dynalite has no transactions"),
    ("mount::service::ttl_is_shown_and_set", ALL, "no service tells which items expire next"),
    ("mount::service::writes_of_files_leave_their_answer_and_capacity_too", EMULATORS, "the emulators do not tell the capacity of indexes"),
    ("mount::streams::", DYNALITE, "dynalite has no streams"),
    ("mount::streams::follow_goes_on_with_a_new_stream", MOTO, "moto enables no second stream"),
    ("mount::streams::tail_goes_on_across_a_rotation", MOTO, "moto enables no second stream"),
    ("mount::tables::a_definition_is_changed_by_editing_its_file", ALL,
        "tags are not changed through a remote mount; the emulators have no table class"),
    ("mount::tables::a_plan_of_a_draft_checks_its_creation", ALL, "a service says what it refuses only when it is asked to do it"),
    ("mount::tables::a_plan_shows_steps_counts_and_refusals_and_does_nothing", ALL, "a service says what it refuses only when it is asked to do it"),
    ("mount::tables::allow_drop_lets_recursive_deletes_through", DYNALITE, "dynalite has no deletion protection"),
    ("mount::tables::whole_directories_are_restored_on_demand", DYNALITE, "dynalite counts items of a table only now and then"),
    ("mount::tables::what_cannot_be_changed_is_refused_with_a_sentence_and_changes_nothing", MOTO, "moto takes changes that DynamoDB refuses"),
];

/// Tests that are not run at all: they would take minutes, or pass or fail by chance.
#[rustfmt::skip]
const NOT_RUN: &[Difference] = &[
    ("mount::programs::an_exclusive_file_is_a_lock", MOTO, "moto looks at a condition and writes in two steps: of two puts at once both may win"),
    ("mount::items::patches_of_many_writers_all_arrive", DYNALITE,
        "no map or list is equal to itself in a condition of dynalite: each of 80 patches is tried as often as it may be"),
    ("mount::service::every_operation_is_a_file_and_answers_as_the_protocol_does", MOTO, MOTO_BREAKS),
    ("mount::service::failures_have_their_errno_and_their_body", MOTO, MOTO_BREAKS),
];
const MOTO_BREAKS: &str =
    "moto breaks down at a request that lacks members, which is asked again until its time is over";

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

/// Runs the tests with names that contain one of `tests` and none of `left_out`, over servers of
/// that kind: each passes, or has a difference here and fails.
pub fn run(kind: Kind, tests: &[&str], left_out: &[&str]) {
    let binary = module_path!().split_once("::").unwrap().0;
    let not_run = NOT_RUN.iter().filter(|(_, kinds, _)| kinds.contains(&kind));
    let not_run = not_run.filter_map(|(test, ..)| test.strip_prefix(binary)?.strip_prefix("::"));
    let (dir, mut command) = (
        tempfile::tempdir().unwrap(),
        Command::new(std::env::current_exe().unwrap()),
    );
    command
        .env(VARIABLE, kind.name())
        .args(["--test-threads", THREADS, "--skip", "over_servers"])
        .args(
            left_out
                .iter()
                .copied()
                .chain(not_run)
                .flat_map(|test| ["--skip", test]),
        )
        .args(tests);
    let (text, hang) = output_of(&command, dir.path());
    let ended = text
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let ended: BTreeMap<String, bool> = ended
        .map(|(name, how)| (format!("{binary}::{name}"), how.starts_with("ok")))
        .collect();
    let is_named =
        |test: &str, name: &str| name == test || test.ends_with("::") && name.starts_with(test);
    let named = |name: &str| {
        DIFFERENCES
            .iter()
            .find(|(test, kinds, _)| kinds.contains(&kind) && is_named(test, name))
    };
    let mut wrong = Vec::from_iter(hang);
    for (name, has_passed) in &ended {
        match (has_passed, named(name)) {
            (false, None) => wrong.push(format!("{name} fails")),
            (true, Some((_, _, why))) => wrong.push(format!("{name} passes, though: {why}")),
            _ => {}
        }
    }
    let gone = DIFFERENCES
        .iter()
        .filter(|(test, kinds, _)| kinds.contains(&kind) && test.starts_with(binary));
    wrong.extend(
        gone.filter(|(test, ..)| !ended.keys().any(|name| is_named(test, name)))
            .map(|(test, ..)| format!("{test} is no test")),
    );
    let passed = ended.values().filter(|has_passed| **has_passed).count();
    println!("{}: {passed} of {} pass", kind.name(), ended.len());
    assert!(
        !ended.is_empty() && wrong.is_empty(),
        "over {}:\n{}\n\n{text}",
        kind.name(),
        wrong.join("\n")
    );
}
