//! `ddbfs pull`, `push` and `diff` with a service, as a person types them: killed on the way, at a rate, refused.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::http::{RunningServer, Server};
use ddbfs::model::Item;
use ddbfs::model::api::{PutItemRequest, ScanRequest, Segment};
use ddbfs::model::schema::StreamViewType;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::memory::MemoryStore;

use crate::support::daemon::{DDBFS, Mount, check, texts};
use crate::support::engine::{definition, n, s, table, x};
use crate::support::http;
use crate::support::proxy::{Proxy, Trouble};
use crate::support::wait::{until, until_ok};

/// So many segments in all tests.
const SEGMENTS: u32 = 2;

/// A service with the table `Tab`, a proxy before it, and a data directory.
pub struct Bed {
    pub database: Arc<LocalDatabase>,
    pub server: RunningServer,
    pub proxy: Proxy,
    pub dir: tempfile::TempDir,
}

impl Bed {
    /// Items of 3 KB.
    pub fn new(items: u32) -> Self {
        Self::with_stream(items, None, EngineOptions::default())
    }

    pub fn with_stream(items: u32, stream: Option<StreamViewType>, options: EngineOptions) -> Self {
        let store = Arc::new(MemoryStore::new().unwrap());
        let database = Arc::new(LocalDatabase::open(store, options).unwrap());
        let mut request = definition("Tab", "pk:S sk:N", &["G one a:S KEYS_ONLY"]);
        request.settings.stream = stream;
        database.create_table(request).unwrap();
        let server =
            Server::start(http::options(), Arc::clone(&database) as Arc<dyn Database>).unwrap();
        let proxy = Proxy::before(server.local_addr());
        let bed = Self {
            database,
            server,
            proxy,
            dir: tempfile::tempdir().unwrap(),
        };
        (0..items).for_each(|number| bed.put(item(number)));
        bed
    }

    pub fn put(&self, item: Item) {
        self.database
            .put_item(PutItemRequest::new(table("Tab"), item))
            .unwrap();
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.server.local_addr())
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(DDBFS);
        command
            .args(args)
            .env("DDBFS_DATA", self.data())
            .env("HOME", self.dir.path())
            .env("XDG_STATE_HOME", self.dir.path().join("state"))
            .stdin(Stdio::null());
        for name in [
            "AWS_PROFILE",
            "AWS_SESSION_TOKEN",
            "AWS_ENDPOINT_URL",
            "AWS_ENDPOINT_URL_DYNAMODB",
            "AWS_CONFIG_FILE",
        ] {
            command.env_remove(name);
        }
        // What is tested are not the default limits.
        if ["pull", "push", "diff", "sync"].contains(&args[0]) {
            for limit in ["--max-rcu", "--max-wcu", "--budget"] {
                if !args.contains(&limit) {
                    command.args([limit, "none"]);
                }
            }
        }
        let set = [
            ("AWS_ACCESS_KEY_ID", "a"),
            ("AWS_SECRET_ACCESS_KEY", "b"),
            ("AWS_REGION", "us-east-1"),
        ];
        command.envs(set).env("AWS_EC2_METADATA_DISABLED", "true");
        command
    }

    /// Exit code, standard output, standard error.
    pub fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.command(args).output().unwrap();
        let (out, err) = texts(&output);
        (output.status.code().unwrap_or(-1), out, err)
    }

    /// Both tables have the same items.
    #[track_caller]
    pub fn is_same(&self) {
        let there = format!("{}/Tab", self.url());
        assert_eq!(
            self.run(&["diff", "Tab", &there]),
            (0, String::new(), String::new())
        );
    }

    /// Lets so many requests pass, kills the command when the service is silent and so many pages are noted.
    pub fn killed(&self, args: &[&str], requests: usize, pages: usize) {
        self.proxy.pass(requests);
        self.proxy.always(Some(Trouble::Silence));
        let mut child = self
            .command(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until_ok("the pages are noted", || {
            assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
            let found = noted(&self.data());
            if found >= pages {
                Ok(())
            } else {
                Err(format!("only {found} are"))
            }
        });
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

pub fn item(number: u32) -> Item {
    let (pk, sk) = (format!("p{}", number / 7), (number % 7).to_string());
    Item::from([
        ("pk", s(&pk)),
        ("sk", n(&sk)),
        ("a", s(&sk)),
        ("n", n(&number.to_string())),
        ("fill", x(3000)),
    ])
}

/// Pages that the journal of the only copy in a data directory tells of.
fn noted(data: &Path) -> usize {
    let journals = std::fs::read_dir(data.join("copies")).into_iter().flatten();
    let texts =
        journals.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default());
    texts.map(|text| text.matches("\"segment\":").count()).sum()
}

#[test]
fn a_pull_that_is_killed_twice_misses_nothing_and_pays_for_a_page_a_segment_again() {
    let bed = Bed::new(4_000);
    let pages: usize = (0..SEGMENTS)
        .map(|index| pages_of(&bed.database, index))
        .sum();
    assert!(pages >= 10, "{pages}");
    let url = bed.proxy.url();
    let pull = [
        "pull",
        "Tab",
        "--from-endpoint",
        &url,
        "--segments",
        "2",
        "--timeout",
        "100",
    ];
    // DescribeTable, DescribeTimeToLive and some pages.
    bed.killed(&pull, 2 + 4, 3);
    bed.killed(&pull, 2 + 4, 6);
    bed.proxy.always(None);
    let (code, out, err) = bed.run(&pull);
    assert_eq!(
        (code, out.starts_with("4,000 items pulled; ")),
        (0, true),
        "{out}{err}"
    );
    assert!(
        err.contains("goes on where it was stopped, after "),
        "{err}"
    );
    let scans = bed
        .proxy
        .take_operations()
        .iter()
        .filter(|operation| *operation == "Scan")
        .count();
    assert!(
        scans <= pages + 2 * SEGMENTS as usize,
        "{scans} Scans for {pages} pages"
    );
    bed.is_same();
    let (clean, report) = check(&bed.data());
    assert!(clean, "{report}");
    let (_, advice, _) = bed.run(&["advise", "Tab"]);
    assert!(
        advice.contains(": 4000 of 4000 items are in it"),
        "{advice}"
    );
    // It is whole: a pull would be another one.
    let (code, _, err) = bed.run(&pull);
    assert_eq!(
        (
            code,
            err.contains("Tab: there is a table of that name; --replace drops it first")
        ),
        (1, true),
        "{err}"
    );
    assert_eq!(bed.run(&[&pull[..], &["--replace"]].concat()).0, 0);
    bed.is_same();
}

#[test]
fn a_table_that_is_not_whole_says_so_wherever_it_is_used() {
    let bed = Bed::new(2_000);
    let (url, lacks) = (bed.proxy.url(), "Tab is not whole: a pull of http://");
    let pull = [
        "pull",
        "Tab",
        "--from-endpoint",
        &url,
        "--segments",
        "2",
        "--timeout",
        "100",
    ];
    bed.killed(&pull, 2 + 3, 2);
    bed.proxy.always(None);
    let push = |more: &[&str]| {
        bed.run(
            &[
                &[
                    "push",
                    "Tab",
                    "--to-table",
                    "Back",
                    "--create",
                    "--to-endpoint",
                    &url,
                ],
                more,
            ]
            .concat(),
        )
    };
    let (code, out, err) = push(&[]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(
        err.contains(lacks) && err.ends_with("goes on with it; --partial pushes what is here\n"),
        "{err}"
    );
    assert!(
        bed.database.scan(&ScanRequest::new(table("Back"))).is_err(),
        "nothing was made"
    );
    for command in ["advise", "shapes"] {
        let (code, out, err) = bed.run(&[command, "Tab"]);
        let first = out.lines().nth(2).unwrap_or_default();
        assert!(
            code == 0 && first.starts_with(&format!("**{lacks}")) && err.starts_with(lacks),
            "{out}{err}"
        );
    }
    for command in [
        &["violations", "Tab"][..],
        &["dump", "Tab"],
        &["diff", "Tab", &format!("{}/Tab", bed.url()), "--brief"],
    ] {
        let (_, _, err) = bed.run(command);
        assert!(err.contains(lacks), "{command:?} {err}");
    }
    let mut mounted = Mount::beside(&bed.data());
    for script in [
        "head -n 1 README.md",
        "head -n 1 Tab/help",
        "head -n 3 Tab/advice.md",
        "head -n 3 Tab/shapes.md",
    ] {
        assert!(
            mounted.ok(script).contains(&format!("**{lacks}")),
            "{script}"
        );
    }
    for script in [
        "jq -r .unfinished Tab/stats.json",
        "jq -r .unfinished Tab/shapes.json",
    ] {
        assert!(mounted.ok(script).starts_with(lacks), "{script}");
    }
    mounted.unmount();
    assert_eq!(push(&["--partial"]).0, 0);
    // Another table of that name is whole, whatever was begun; and this one is in the end.
    assert_eq!(bed.run(&pull).0, 0);
    let (code, _, err) = bed.run(&["advise", "Tab"]);
    assert_eq!((code, err.as_str()), (0, ""));
    bed.killed(&[&pull[..], &["--replace"]].concat(), 2 + 3, 2);
    bed.proxy.always(None);
    let local = data_of(&bed.data());
    local
        .delete_table(ddbfs::model::api::DeleteTableRequest::new(table("Tab")))
        .unwrap();
    local.create_table(definition("Tab", "pk:S", &[])).unwrap();
    local
        .put_item(PutItemRequest::new(
            table("Tab"),
            Item::from([("pk", s("own"))]),
        ))
        .unwrap();
    local.engine().close();
    drop(local);
    let (code, out, err) = bed.run(&["advise", "Tab"]);
    assert!(
        code == 0 && err.is_empty() && !out.contains("not whole"),
        "{out}{err}"
    );
}

/// The data directory, open.
fn data_of(dir: &Path) -> LocalDatabase {
    let store = Arc::new(LmdbStore::open(dir, LmdbOptions::default()).unwrap());
    LocalDatabase::open(store, EngineOptions::default()).unwrap()
}

fn pages_of(database: &LocalDatabase, index: u32) -> usize {
    let mut request = ScanRequest::new(table("Tab"));
    request.segment = Some(Segment {
        index,
        total: SEGMENTS,
    });
    for page in 1.. {
        request.exclusive_start_key = database.scan(&request).unwrap().page.last_evaluated_key;
        if request.exclusive_start_key.is_none() {
            return page;
        }
    }
    unreachable!()
}

#[test]
fn a_push_that_is_killed_twice_misses_nothing() {
    let bed = Bed::new(2_500);
    assert_eq!(
        bed.run(&["pull", "Tab", "--from-endpoint", &bed.url()]).0,
        0
    );
    bed.database
        .delete_table(ddbfs::model::api::DeleteTableRequest::new(table("Tab")))
        .unwrap();
    let url = bed.proxy.url();
    let push = [
        "push",
        "Tab",
        "--create",
        "--to-endpoint",
        &url,
        "--segments",
        "2",
        "--timeout",
        "100",
    ];
    // A page is fourteen batches or so.
    bed.killed(&push, 40, 1);
    bed.killed(&push, 40, 2);
    bed.proxy.always(None);
    let (code, out, err) = bed.run(&push);
    assert_eq!(
        (code, out.starts_with("2,500 items pushed; ")),
        (0, true),
        "{out}{err}"
    );
    bed.is_same();
}

#[test]
fn a_push_overwrites_nothing_unless_told_so() {
    let bed = Bed::new(0);
    let url = bed.url();
    let there = |name: &str| format!("{url}/{name}");
    assert_eq!(bed.run(&["sample"]).0, 0);
    let push = |more: &[&str]| {
        let (code, out, err) =
            bed.run(&[&["push", "Thread", "--to-endpoint", &url][..], more].concat());
        (code, if code == 0 { out } else { err })
    };
    let (code, text) = push(&[]);
    assert_eq!(
        (
            code,
            text.contains(&format!(
                "{}: there is no such table; --create makes it",
                there("Thread")
            ))
        ),
        (1, true),
        "{text}"
    );
    let (code, text) = push(&["--create"]);
    assert_eq!(
        (code, text.starts_with("10 items pushed; ")),
        (0, true),
        "{text}"
    );
    let (code, text) = push(&["--create"]);
    assert_eq!(
        (code, text.contains("the table has items; --merge")),
        (1, true),
        "{text}"
    );
    let (code, text) = push(&["--to-table", "Tab"]);
    assert_eq!(
        (
            code,
            text.contains("its key is pk (S) and sk (N), that of Thread is")
        ),
        (1, true),
        "{text}"
    );

    // What is only there stays there.
    let same =
        |one: &str, two: &str, more: &[&str]| bed.run(&[&["diff", one, two][..], more].concat());
    assert_eq!(
        same("Thread", &there("Thread"), &[]),
        (0, String::new(), String::new())
    );
    // Two tables of one data directory.
    assert_eq!(
        same("Thread", "Thread", &[]),
        (0, String::new(), String::new())
    );
    let found = bed
        .database
        .scan(&ScanRequest::new(table("Thread")))
        .unwrap()
        .items
        .unwrap();
    let (mut own, mut changed) = (found[0].clone(), found[1].clone());
    own.0.insert("Subject".to_owned(), s("only there"));
    changed.0.insert(
        "Views".to_owned(),
        n("12345678901234567890123456789012345678"),
    );
    for item in [own, changed] {
        bed.database
            .put_item(PutItemRequest::new(table("Thread"), item))
            .unwrap();
    }
    let (code, out, err) = same("Thread", &there("Thread"), &[]);
    assert_eq!(
        (
            code,
            out.lines()
                .filter(|line| line.starts_with(['+', '~']))
                .count()
        ),
        (1, 2),
        "{out}"
    );
    assert!(
        out.contains("\"Subject\":\"only there\"}")
            && out.contains("    + \"Views\": 12345678901234567890123456789012345678"),
        "{out}"
    );
    assert!(err.starts_with("0 only in Thread, 1 only in "), "{err}");
    let (code, out, _) = same(&there("Thread"), "Thread", &["--json"]);
    assert_eq!(
        (
            code,
            out.lines()
                .filter(|line| line.starts_with("{\"only_in\":\"A\",\"key\":{"))
                .count()
        ),
        (1, 1),
        "{out}"
    );
    assert!(
        out.contains("\"Views\":{\"A\":12345678901234567890123456789012345678"),
        "{out}"
    );
    assert_eq!(
        same("Thread", &there("Thread"), &["--brief"]),
        (
            1,
            format!("Thread and {} differ\n", there("Thread")),
            String::new()
        )
    );
    assert_eq!(push(&["--merge"]).0, 0);
    let (code, out, _) = same("Thread", &there("Thread"), &[]);
    assert_eq!(
        (code, out.lines().count(), out.starts_with('+')),
        (1, 1, true),
        "{out}"
    );

    // Trouble is no difference.
    for (one, two) in [
        ("Thread", there("Absent")),
        ("Absent", there("Thread")),
        ("Thread", there("Tab")),
        ("a b", there("Tab")),
    ] {
        let (code, out, err) = same(one, &two, &[]);
        assert_eq!(
            (code, out.as_str(), err.starts_with("ddbfs: ")),
            (2, "", true),
            "{one} {two} {err}"
        );
    }
}

#[test]
fn a_pull_keeps_its_rate() {
    let bed = Bed::new(1_000);
    let begun = Instant::now();
    let (code, out, err) = bed.run(&[
        "pull",
        "Tab",
        "--from-endpoint",
        &bed.url(),
        "--segments",
        "2",
        "--max-rcu",
        "100",
    ]);
    assert_eq!(
        (code, out.starts_with("1,000 items pulled; ")),
        (0, true),
        "{out}{err}"
    );
    // 3 MB are 380 units; a second's worth is there at first, and the last pages need not be made up for.
    assert!(
        begun.elapsed() >= Duration::from_secs_f64((380.0 - 100.0 - 2.0 * 128.0) / 100.0),
        "{:?}",
        begun.elapsed()
    );
    bed.is_same();
}

/// True if a process has a handler of SIGINT: the mask of `/proc/PID/status` has it as bit 1.
fn catches_sigint(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
}

/// Starts the command, sends SIGINT once `is_so`, and tells what it then said.
fn interrupted(bed: &Bed, args: &[&str], what: &str, is_so: impl FnMut() -> bool) -> String {
    let child = bed
        .command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("signals are caught", || catches_sigint(child.id()));
    until(what, is_so);
    // From here on it waits for many minutes, if nobody stops it.
    assert!(
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let begun = Instant::now();
    let output = child.wait_with_output().unwrap();
    let (out, err) = texts(&output);
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(
        (output.status.code(), out.starts_with("stopped: ")),
        (Some(1), true),
        "{out}{err}"
    );
    assert!(
        out.ends_with("; the same command goes on from here\n"),
        "{out}"
    );
    out
}

#[test]
fn a_signal_is_heard_by_one_who_waits_for_units_or_for_a_service_that_throttles_or_is_silent() {
    let bed = Bed::new(1_000);
    let url = bed.proxy.url();
    let pull = [
        "pull",
        "Tab",
        "--from-endpoint",
        &url,
        "--segments",
        "2",
        "--timeout",
        "600",
    ];
    let noted = |pages: usize| noted(&bed.data()) >= pages;
    interrupted(
        &bed,
        &[&pull[..], &["--max-rcu", "0.1"]].concat(),
        "a page",
        || noted(1),
    );
    for trouble in [Trouble::Answer(400, THROTTLED), Trouble::Silence] {
        // No request of the process before is counted from here on.
        until("the connections have ended", || bed.proxy.is_idle());
        bed.proxy.pass(2);
        bed.proxy.always(Some(trouble));
        bed.proxy.take_operations();
        interrupted(&bed, &pull, "a page is asked for", || {
            bed.proxy
                .take_operations()
                .iter()
                .any(|operation| operation == "Scan")
        });
        bed.proxy.always(None);
    }
    assert_eq!(bed.run(&pull).0, 0);
    bed.is_same();
    let push = [
        "push",
        "Tab",
        "--to-table",
        "Back",
        "--create",
        "--to-endpoint",
        &url,
        "--max-wcu",
        "0.1",
    ];
    interrupted(&bed, &push, "a batch is put", || {
        let there = bed.database.scan(&ScanRequest::new(table("Back")));
        there.is_ok_and(|found| found.page.scanned_count > 0)
    });
    assert_eq!(bed.run(&push[..push.len() - 2]).0, 0);
    assert_eq!(bed.run(&["diff", "Tab", &format!("{url}/Back")]).0, 0);
}

const THROTTLED: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"Slow down."}"#;
const FAILED: &str =
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Oh."}"#;

/// One after the other, each between requests that are answered.
fn troubles(bed: &Bed) -> usize {
    let troubles = [
        Trouble::Answer(400, THROTTLED),
        Trouble::CutBefore,
        Trouble::Answer(500, FAILED),
        Trouble::CutAfter,
        Trouble::Answer(503, "<html>"),
        Trouble::CutInside,
        Trouble::Instead(500, FAILED),
        Trouble::Garbled,
    ];
    // What is said of the table first is answered.
    bed.proxy.pass(5);
    for trouble in &troubles {
        bed.proxy.next(std::slice::from_ref(trouble));
        bed.proxy.pass(1);
    }
    bed.proxy.take_operations();
    troubles.len()
}

#[test]
fn a_service_that_throttles_fails_and_cuts_connections_is_copied_whole_all_the_same() {
    let bed = Bed::new(4_000);
    let pages: usize = (0..SEGMENTS)
        .map(|index| pages_of(&bed.database, index))
        .sum();
    let (url, troubled) = (bed.proxy.url(), troubles(&bed));
    let (code, out, err) = bed.run(&["pull", "Tab", "--from-endpoint", &url, "--segments", "2"]);
    assert_eq!(
        (code, out.starts_with("4,000 items pulled; ")),
        (0, true),
        "{out}{err}"
    );
    let asked = |of: &str| {
        bed.proxy
            .take_operations()
            .iter()
            .filter(|operation| *operation == of)
            .count()
    };
    assert_eq!(
        asked("Scan"),
        pages + troubled,
        "each page once, and once more for what came between"
    );
    bed.is_same();
    troubles(&bed);
    let (code, out, err) = bed.run(&[
        "push",
        "Tab",
        "--to-table",
        "Back",
        "--create",
        "--to-endpoint",
        &url,
        "--segments",
        "2",
    ]);
    assert_eq!(
        (code, out.starts_with("4,000 items pushed; ")),
        (0, true),
        "{out}{err}"
    );
    assert!(asked("BatchWriteItem") >= 4_000 / 25 + troubled);
    assert_eq!(
        bed.run(&["diff", "Tab", &format!("{url}/Back")]),
        (0, String::new(), String::new())
    );
}

#[test]
fn a_copy_ends_with_its_budget_and_goes_on_with_another() {
    let bed = Bed::new(4_000);
    let url = bed.url();
    // Twelve megabytes are 1,500 units; a unit is a hundredth.
    let prices = bed.dir.path().join("prices.json");
    let text = r#"{"date":"2026-01-01","region":"us-east-1","currency":"USD","million_reads":10000,"million_writes":10000,
        "read_hour":1,"write_hour":1,"gigabyte_month":1,"vector_search_gigabyte":1,"vector_write_gigabyte":1}"#;
    std::fs::write(&prices, text).unwrap();
    let with = |args: &[&str], budget: &str| {
        bed.run(
            &[
                args,
                &[
                    "--prices",
                    prices.to_str().unwrap(),
                    "--budget",
                    budget,
                    "--segments",
                    "2",
                ],
            ]
            .concat(),
        )
    };
    let pull = ["pull", "Tab", "--from-endpoint", &url];
    let (code, out, err) = with(&pull, "8 USD");
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(
        err.contains("the budget is used up: ") && err.contains(" of 8 USD for "),
        "{err}"
    );
    assert!(
        err.trim_end()
            .ends_with("; the same command goes on from here"),
        "{err}"
    );
    // What the first run spent is not counted again.
    let (code, out, err) = with(&pull, "12 USD");
    assert_eq!(
        (code, out.starts_with("4,000 items pulled; ")),
        (0, true),
        "{out}{err}"
    );
    bed.is_same();
    // Either side is 15 USD: they spend of one budget.
    let there = format!("{url}/Tab");
    let (code, out, err) = with(&["diff", &there, &there], "20 USD");
    assert_eq!(
        (code, out.as_str(), err.contains("the budget is used up: ")),
        (2, "", true),
        "{err}"
    );
    assert_eq!(
        with(&["diff", &there, &there], "40 USD"),
        (0, String::new(), String::new())
    );
    let push = [
        "push",
        "Tab",
        "--to-table",
        "Back",
        "--create",
        "--to-endpoint",
        &url,
    ];
    let (code, _, err) = with(&push, "70 USD");
    assert!(
        code == 1 && err.contains("the budget is used up: ") && err.contains("goes on from here"),
        "{err}"
    );
    assert_eq!(with(&push, "200 USD").0, 0);
    assert_eq!(bed.run(&["diff", "Tab", &format!("{url}/Back")]).0, 0);
}

/// The sentence that a command ends with.
#[test]
fn what_cannot_be_is_a_sentence() {
    let bed = Bed::new(3);
    let url = bed.proxy.url();
    let fails = |args: &[&str], expected: &str| {
        let (code, out, err) = bed.run(args);
        let last = err.lines().last().unwrap_or_default();
        assert!(
            code == 1 && out.is_empty() && last.starts_with("ddbfs: ") && last.contains(expected),
            "{args:?} {code}\n{out}{err}"
        );
    };
    fails(
        &["pull", "Absent", "--from-endpoint", &url],
        &format!("{url}/Absent: there is no such table"),
    );
    fails(
        &["push", "Absent", "--to-endpoint", &url],
        "no table \"Absent\"",
    );
    fails(
        &["pull", "Tab", "--from-endpoint", "somewhere"],
        "somewhere",
    );
    fails(
        &[
            "pull",
            "Tab",
            "--from-endpoint",
            "http://127.0.0.1:1",
            "--timeout",
            "1",
        ],
        "127.0.0.1:1",
    );
    let denied = r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"You may not do that."}"#;
    bed.proxy.next(&[Trouble::Answer(400, denied)]);
    fails(
        &["pull", "Tab", "--from-endpoint", &url],
        "You may not do that.",
    );
    // A table that is said to be of 10 GB.
    let large = r#"{"Table":{"TableName":"Tab","TableStatus":"ACTIVE","TableId":"x","CreationDateTime":1,"ItemCount":1000000,
        "TableSizeBytes":10000000000,"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"TableArn":"arn:aws:dynamodb:us-east-1:000000000000:table/Tab",
        "ProvisionedThroughput":{"ReadCapacityUnits":0,"WriteCapacityUnits":0,"NumberOfDecreasesToday":0},
        "BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"}}}"#;
    bed.proxy.next(&[Trouble::Answer(200, large)]);
    fails(
        &["pull", "Tab", "--from-endpoint", &url],
        "this takes about 1,220,704 read units, 0.15 USD; --yes says that you want it",
    );
    assert!(!bed.data().join("copies").exists(), "nothing was begun");
}

#[test]
fn the_words_of_a_service_are_cut_and_no_terminal_obeys_them() {
    let bed = Bed::new(3);
    bed.run(&["pull", "Tab", "--from-endpoint", &bed.url()]);
    let url = bed.proxy.url();
    let words = r"\u001b]0;owned\u0007\u009b2J\r\nforged\u202e".to_owned() + &"x".repeat(5_000_000);
    let member = |text: &str| {
        format!(r#"{{"__type":"com.amazon.coral.service#{text}","message":"{words}"}}"#)
    };
    let mountpoint = bed.dir.path().join("mnt");
    std::fs::create_dir(&mountpoint).unwrap();
    let there = format!("{url}/Tab");
    let commands: [&[&str]; 4] = [
        &[
            "pull",
            "Tab",
            "--from-endpoint",
            &url,
            "--to-table",
            "Other",
        ],
        &["push", "Tab", "--to-endpoint", &url],
        &["diff", "Tab", &there],
        &[
            "mount",
            "--remote",
            "--endpoint",
            &url,
            mountpoint.to_str().unwrap(),
        ],
    ];
    for exception in ["AccessDeniedException", "ResourceNotFoundException", &words] {
        let answer: &'static str = Box::leak(member(exception).into_boxed_str());
        bed.proxy.always(Some(Trouble::Answer(400, answer)));
        for command in commands
            .iter()
            .filter(|command| command[0] != "mount" || exception != "AccessDeniedException")
        {
            let (_, out, err) = bed.run(command);
            let told = out + &err;
            let is_plain = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
            assert!(
                told.chars().all(is_plain) && told.len() < 50_000 && !err.is_empty(),
                "{command:?} {} bytes: {told:.2000}",
                told.len()
            );
        }
    }
    bed.proxy.always(None);
}

/// Also of what is wrong besides.
#[test]
fn an_endpoint_with_a_password_is_refused_and_not_told_again() {
    let bed = Bed::new(0);
    let url = bed.proxy.url().replace("http://", "http://me:hush@");
    let (there, mountpoint) = (format!("{url}/Tab"), bed.dir.path().join("mnt"));
    std::fs::create_dir(&mountpoint).unwrap();
    let commands: [&[&str]; 6] = [
        &["pull", "Tab", "--from-endpoint", &url],
        &["pull", "Tab", "--from-endpoint", "http://me:hush@"],
        &["push", "Tab", "--to-endpoint", &there],
        &["diff", "Tab", &there],
        &["diff", &url, "Tab"],
        &[
            "mount",
            "--remote",
            "--endpoint",
            &url,
            mountpoint.to_str().unwrap(),
        ],
    ];
    for command in commands {
        let (code, out, err) = bed.run(command);
        assert!(
            code != 0 && err.contains("user name and password") && !(out + &err).contains("hush"),
            "{command:?}: {err}"
        );
    }
    let of_environment = bed
        .command(&["pull", "Tab"])
        .env("AWS_ENDPOINT_URL", &url)
        .output()
        .unwrap();
    let (out, err) = texts(&of_environment);
    assert!(
        err.contains("user name and password") && !(out + &err).contains("hush"),
        "{err}"
    );
    assert_eq!(bed.proxy.take_operations(), Vec::<String>::new());
}
