//! These paths over mounts of services elsewhere, a server of its own for each mount.

use crate::support::differences::run;
use crate::support::elsewhere::Kind;

/// `paths` and most of `matrix` have no mount.
const TESTS: &[&str] = &["result_files::", "results::", "saved_queries::"];

#[test]
fn over_a_server_of_ours_that_checks_throttles_and_takes_its_time() {
    run(Kind::Ddbfs, TESTS, &[]);
}

#[test]
fn over_dynalite() {
    run(Kind::Dynalite, TESTS, &[]);
}

#[test]
fn over_moto() {
    run(Kind::Moto, TESTS, &[]);
}
