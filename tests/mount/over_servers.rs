//! The programs of these tests over mounts of remote services, with a server for each mount.

use std::io::{BufRead as _, BufReader};
use std::sync::Arc;

use crate::support::differences::run;
use crate::support::elsewhere::Server;
use crate::support::mounted::{FLAT, Mount, ORDERS, create_table, memory, put};
use crate::support::own_process::{bound, own_process};
use crate::support::servers::{Declaration, names};
use crate::support::service::Service;
use crate::support::wait::until;
use ddbfs::database::remote::{RemoteDatabase, RemoteOptions};
use ddbfs::fs::view::ViewOptions;
use ddbfs::fuse::{EVENT_THREADS_REMOTE, MountOptions};

/// The tests that run over servers. Tests of the data directory, of its processes and of the
/// kernel's cache of it are left out, and tests that need thousands of requests: `kept`,
/// `coherence`, `pairs`, `dead`, `layout`, `options`, `stress`, `structure`, `scratch_files`,
/// `long_reads`, `looking`, `top`, most of `matrix` and `help`; `view` and `listing` have no mount;
/// `remote` makes its own services.
const TESTS: &[&str] = &[
    "basics::",
    "batch::",
    "editors::",
    "indexes::",
    "items::",
    "multi_attribute_keys::a_mount",
    "names::",
    "programs::",
    "proofs::",
    "service::",
    "shells::the_last_error",
    "streams::",
    "tables::",
];
/// Tests left out: thirty thousand lines; two mounts of one data directory; `ddbfs load` into one;
/// tests that depend on when a service counts its items; and a copy by rsync, where one process
/// makes a saved query before or after the service has made the table for the other.
const LEFT_OUT: &[&str] = &[
    "batch::a_bad_line_among_many",
    "programs::an_exclusive_file_is_a_lock_for_two_mounts_and_for_http",
    "proofs::names_are_safe_in_three_shells",
    "proofs::directories_are_read_in_every_manner",
    "service::the_mount_tells_of_itself",
    "tables::a_whole_directory_is_copied_into_a_new_table",
    "tables::an_index_added_to_the_definition_is_made",
];

/// Tests that run over our own server only: they ask every server the same, and take longest. What
/// an editor may overwrite is decided here, and a save is a conditional put for any server.
const OVER_OURS_ONLY: &[&str] = &[
    "basics::common_programs_run_over_the_whole_mount",
    "editors::a_note_of_a_read_belongs_to_the_process",
    "editors::an_acknowledged_unlink_is_final",
    "editors::an_item_that_is_not_there_refuses_nobody",
    "editors::to_look_at_an_item_by_its_name",
    "editors::vim_overwrites",
    "editors::what_a_process_writes_by_any_route",
    "editors::who_is_refused",
    "editors::who_read_an_item",
    "names::a_table_with_any_keys_is_cloned_by_tar_cp_and_rsync",
    "names::every_listed_name_is_found_and_every_link_resolves",
    "proofs::random_access",
    "proofs::sizes_agree",
    "proofs::walks_of_the_whole_mount",
    "shells::",
];

#[test]
fn over_ddbfs() {
    run("ddbfs", TESTS, LEFT_OUT);
}

#[test]
fn over_dynalite() {
    over("dynalite");
}

#[test]
fn over_moto() {
    over("moto");
}

#[test]
#[ignore = "only with scripts/test --all"]
fn over_dynoxide() {
    over("dynoxide");
}

#[test]
#[ignore = "only with scripts/test --all"]
fn over_ministack() {
    over("ministack");
}

fn over(server: &str) {
    run(server, TESTS, &[LEFT_OUT, OVER_OURS_ONLY].concat());
}

#[test]
fn each_declared_server_has_a_test() {
    let own = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--list", "over_servers::over_"])
        .output()
        .unwrap();
    let listed = String::from_utf8(own.stdout).unwrap();
    let tested: Vec<&str> = listed
        .lines()
        .filter_map(|line| {
            line.strip_prefix("over_servers::over_")?
                .strip_suffix(": test")
        })
        .collect();
    assert_eq!(tested, names());
    for name in names() {
        Declaration::of(&name);
    }
}

#[test]
fn declarations_say_what_is_wrong_with_them() {
    let check = |text: &str, expected: &str| {
        let wrong = Declaration::parse("x", text).unwrap_err();
        assert_eq!(wrong, expected, "{text}");
    };
    check("", "no line begins with \"server\" or \"host\"");
    check("start: x", "no line begins with \"start\"");
    check(" x", "it begins with an indented line");
    check("host x", "no colon: host x");
    check("host: x\n  y", "nothing stands below \"host\"");
    check("differs: a::b\n  > text", "a::b has no reason");
    check("differs: a::b\n  why", "a::b has no text");
    check(
        "not run: a::b\n  why\n  > text",
        "a::b is not run, and has a text",
    );
}

#[test]
fn a_failure_has_the_text_that_is_expected() {
    let text = "host: x\ndiffers: a::\n  why\n  > one … three\n  > four";
    let declared = Declaration::parse("x", text).unwrap();
    let row = declared.row("a::b").unwrap();
    assert!(declared.row("b::a").is_none());
    for (failure, fits) in [
        ("zero one two three\n\n   four five", true),
        ("one  three\nfour", true),
        ("one two three four", false),
        ("one two\nfour", false),
        ("three\nfour one", false),
        ("", false),
    ] {
        assert_eq!(row.fits(failure), fits, "{failure:?}");
    }
}

/// Checks a lagging index: the tests above read global indexes at once; those of a service follow
/// when they can.
#[test]
fn an_index_that_lags_shows_what_was_written_a_little_later() {
    let db = memory();
    create_table(&*db, ORDERS);
    let mount = Mount::of_service(
        Server::serve(&["--gsi-delay", "300ms"]),
        db,
        ViewOptions::default(),
    );
    let item = "{\"pk\":\"u1\",\"sk\":\"o1\",\"created\":\"1\",\"status\":\"open\"}\n";
    mount.sh("mkdir Orders/items/u1 && echo '{\"status\":\"open\",\"created\":\"1\"}' > Orders/items/u1/o1.json").ok();
    assert_eq!(mount.sh("cat Orders/items/u1/o1.json").ok(), item);
    until("the index follows", || {
        mount
            .sh("cat Orders/gsi/by-status/items/open/1,u1,o1.base")
            .out
            == item
    });
    assert_eq!(
        mount
            .sh("cat Orders/gsi/by-status/query/@pk=open/count")
            .ok(),
        "1\n"
    );
    mount.end();
}

/// The variable that enables the test below.
const HANGS: &str = "DDBFS_TEST_HANGS";

/// Makes a process that waits for its own mount, which waits for a service.
#[test]
#[ignore = "run by a_killed_test_leaves_no_mount_that_hangs"]
fn hangs() {
    if std::env::var_os(HANGS).is_none() {
        return;
    }
    let db = memory();
    create_table(&*db, FLAT);
    put(&*db, "Flat", r#"{"id":"x"}"#);
    let service = Service::of(db);
    let remote = RemoteDatabase::new(Arc::clone(&service) as _, RemoteOptions::default());
    let threads = |mount| MountOptions {
        event_threads: EVENT_THREADS_REMOTE,
        ..mount
    };
    let mount = Mount::over(
        Arc::clone(&service.inner),
        Arc::new(remote),
        ViewOptions::default(),
        threads,
    );
    service.hold("GetItem");
    let path = mount.path().join("Flat/items/x.json");
    let reader = std::thread::spawn(move || std::fs::read(path));
    service.wait_for_held(1);
    println!("\nhangs at {}", mount.path().display());
    let _ = reader.join();
}

#[test]
fn a_killed_test_leaves_no_mount_that_hangs() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, input) = bound(
        &own_process(module_path!(), "hangs", (HANGS, dir.path())),
        dir.path(),
    );
    let lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let mut points = lines.filter_map(|line| line.strip_prefix("hangs at ").map(str::to_owned));
    let point = points.next().expect("a mount");
    let is_mounted = || {
        std::fs::read_to_string("/proc/self/mounts")
            .unwrap()
            .contains(&format!(" {point} "))
    };
    assert!(is_mounted());
    // As the end of this process would.
    drop(input);
    // Every process that could print has ended.
    assert_eq!(points.next(), None);
    assert!(!child.wait().unwrap().success());
    assert!(!is_mounted());
}
