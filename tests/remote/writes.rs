//! Writes through a mount of a service elsewhere: the requests that programs take, and `-o writeback`.

use std::collections::BTreeMap;
use std::fs;

use ddbfs::http::RunningServer;
use serde_json::{Value, json};

use crate::mount::mount;
use crate::support::daemon::Mount;
use crate::support::proxy::{Proxy, Trouble};
use crate::support::wait::until;
use crate::transport::{PATIENT, key, ok, server, service};

const DENIED: Trouble = Trouble::Answer(
    400,
    r#"{"__type":"com.amazon.coral.service#AccessDeniedException","message":"not you"}"#,
);
const INVALID: Trouble = Trouble::Answer(
    400,
    r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"not this"}"#,
);

/// A server, a proxy before it, and a directory with 30 files to copy, also as an archive.
fn scene() -> (RunningServer, Proxy, tempfile::TempDir) {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    let dir = tempfile::tempdir().unwrap();
    let new = dir.path().join("new");
    fs::create_dir(&new).unwrap();
    for n in 0..30 {
        fs::write(new.join(format!("n{n}.json")), format!("{{\"a\":{n}}}")).unwrap();
    }
    (server, proxy, dir)
}

fn take_counts(proxy: &Proxy) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for operation in proxy.take_operations() {
        *counts.entry(operation).or_default() += 1;
    }
    counts.remove("DescribeTable");
    counts
}

/// Returns an item of `Pets` as the server has it.
fn stored(server: &RunningServer, name: &str) -> Option<Value> {
    let aws = service(&format!("http://{}", server.local_addr()), PATIENT);
    let answer = ok(&aws, "GetItem", &key(name));
    answer.get("Item").cloned()
}

/// Returns the number of items of `Pets`.
fn stored_count(server: &RunningServer) -> u64 {
    let aws = service(&format!("http://{}", server.local_addr()), PATIENT);
    let scan = json!({ "TableName": "Pets", "Select": "COUNT", "ConsistentRead": true });
    ok(&aws, "Scan", &scan)["Count"].as_u64().unwrap()
}

fn script(text: &str, dir: &tempfile::TempDir) -> String {
    text.replace("DIR", dir.path().to_str().unwrap())
}

/// A program that writes 200 lines, each by itself.
const LINES: &str = r#"python3 -c '
f = open("Pets/batch/put", "w", buffering=1)
for n in range(200): f.write("{\"p\":\"l%d\",\"v\":%d}\n" % (n, n))
f.close()'"#;

#[test]
fn programs_take_one_request_a_file_or_fewer() {
    let (server, proxy, dir) = scene();
    // Everything that is known stays valid: the counts depend on no clock.
    let mut mounted = mount(&proxy, &["-o", "rw", "--remote-ttl", "600"]);
    mounted.ok("mkdir Big@pk:S,sk:S");
    mounted.ok(&script("tar -C DIR -cf DIR/new.tar new", &dir));
    mounted.ok("for d in rm mv; do for n in $(seq 100 199); do echo '{\"pk\":\"'$d'\",\"sk\":\"'$n'\"}'; done; done > Big/batch/put");
    mounted.ok("for d in $(seq 20); do for n in 1 2 3; do echo '{\"pk\":\"c'$d'\",\"sk\":\"'$n'\"}'; done; done > Big/batch/put");
    mounted.unmount();
    let mut mounted = mount(&proxy, &["-o", "rw", "--remote-ttl", "600"]);
    let check = |text: &str, limits: &[(&str, usize)]| {
        proxy.take_operations();
        mounted.ok(&script(text, &dir));
        let counts = take_counts(&proxy);
        let is_within = counts.iter().all(|(operation, count)| {
            let limit = limits.iter().find(|(of, _)| of == operation);
            limit.is_some_and(|(_, limit)| count <= limit)
        });
        assert!(is_within, "{text}: {counts:?}, not {limits:?}");
    };
    // The first two of a program that makes files with O_EXCL are locks: two requests each.
    check(
        "mkdir Big/items/cp; cp DIR/new/* Big/items/cp/",
        &[("PutItem", 32), ("Query", 3)],
    );
    check(
        "tar -C Big/items -xf DIR/new.tar",
        &[("PutItem", 32), ("Query", 3)],
    );
    check(
        "cp DIR/new/* Pets/items/",
        &[("PutItem", 32), ("GetItem", 3), ("Scan", 1)],
    );
    check(
        "command -v rsync > /dev/null || exit 0; rsync -r DIR/new/ Big/items/rs/",
        &[("PutItem", 30), ("Query", 3)],
    );
    check(
        "for n in $(seq 100 119); do mv Big/items/mv/$n.json Big/items/mv/x$n.json; done",
        &[("TransactWriteItems", 20), ("Query", 4), ("GetItem", 2)],
    );
    check(
        "for d in $(seq 20); do cat Big/items/c$d/2.json > /dev/null; done",
        &[("Query", 20)],
    );
    // Some batches when they come quickly, one request each on a slow machine; never more.
    check(
        "rm -r Big/items/rm",
        &[("Query", 5), ("DeleteItem", 100), ("BatchWriteItem", 50)],
    );
    check("! ls Big/items/rm 2> /dev/null", &[("Query", 2)]);
    check(LINES, &[("PutItem", 200), ("BatchWriteItem", 100)]);
    check(
        "exec 3> Pets/batch/put; for n in $(seq 100); do echo '{\"p\":\"s'$n'\"}' >&3; done; exec 3>&-",
        &[("PutItem", 100), ("BatchWriteItem", 50)],
    );
    mounted.unmount();
    assert_eq!(stored(&server, "l199").unwrap()["v"]["N"], "199");
    assert_eq!(stored_count(&server), 30 + 200 + 100);
    server.shutdown();
}

#[test]
fn lines_that_fail_after_their_write_are_told_at_the_close() {
    let (server, proxy, dir) = scene();
    let mut mounted = mount(&proxy, &["-o", "rw"]);
    mounted.ok("echo '{\"p\":\"old\"}' > Pets/batch/put");
    let said = mounted.fails(
        r#"python3 -c '
f = open("Pets/batch/insert", "w", buffering=1)
for name in ["i1", "i2", "old", "i3"]: f.write("{\"p\":\"%s\"}\n" % name)
f.close()'"#,
    );
    assert!(said.contains("File exists"), "{said}");
    let report: Value = serde_json::from_str(&mounted.ok(r#"python3 -c '
f = open("Pets/batch/insert", "w", buffering=1)
try:
    for name in ["i4", "i5", "old", "i6"]: f.write("{\"p\":\"%s\"}\n" % name)
    f.close()
except OSError: pass' 2> /dev/null; cat Pets/batch/result.json"#))
    .unwrap();
    // Line 4 is done although its write told of line 3: a program that writes it again is told too.
    assert!(report["errors"][0]["line"] == 3, "{report}");
    // Without the permission for batches each line is put alone.
    proxy.always_of("BatchWriteItem", Some(DENIED));
    mounted.ok(LINES);
    mounted.unmount();
    assert!(stored(&server, "i6").is_some() && stored(&server, "l150").is_some());
    drop(dir);
    server.shutdown();
}

#[test]
fn a_removal_of_many_tells_what_failed() {
    let (server, proxy, _dir) = scene();
    let mut mounted = mount(&proxy, &["-o", "rw", "--timeout", "5"]);
    mounted.ok("mkdir Big@pk:S,sk:S");
    let fill =
        "for n in $(seq 100 199); do echo '{\"pk\":\"rm\",\"sk\":\"'$n'\"}'; done > Big/batch/put";
    mounted.ok(fill);
    proxy.always_of("BatchWriteItem", Some(Trouble::Answer(500, "{}")));
    let said = mounted.fails("rm -r Big/items/rm");
    assert!(said.contains("Input/output error"), "{said}");
    assert!(
        mounted
            .ok("cat .ddb/errors.ndjson")
            .contains("the call had returned before")
    );
    proxy.always_of("BatchWriteItem", None);
    // What is still there shows, and goes.
    let left: usize = mounted
        .ok("ls Big/items/rm | wc -l")
        .trim()
        .parse()
        .unwrap();
    assert!((1..100).contains(&left), "{left}");
    mounted.ok("rm -r Big/items/rm; ! ls Big/items/rm 2> /dev/null");
    // A service that refuses batches, and one that leaves out some of each.
    mounted.ok(fill);
    proxy.always_of("BatchWriteItem", Some(DENIED));
    mounted.ok("rm -r Big/items/rm; ! ls Big/items/rm 2> /dev/null");
    mounted.unmount();
    server.shutdown();
}

fn writeback(proxy: &Proxy, args: &[&str]) -> Mount {
    mount(proxy, &[&["-o", "rw,writeback"], args].concat())
}

/// Writes, reads back and lists, and removes every other one.
const READ_BACK: &str = r#"
import json, os
for n in range(60):
    path = "Pets/items/b%d.json" % n
    for version in range(3):
        with open(path, "w") as f: f.write(json.dumps({"v": version}))
        assert json.load(open(path)) == {"p": "b%d" % n, "v": version}, (path, version)
    if n % 2:
        os.unlink(path)
        assert not os.path.exists(path), path
        if n % 3 == 0:
            with open(path, "w") as f: f.write(json.dumps({"v": 9}))
names = sorted(name for name in os.listdir("Pets/items") if name.startswith("b"))
expected = sorted("b%d.json" % n for n in range(60) if n % 2 == 0 or n % 3 == 0)
assert names == expected, (names, expected)
assert int(open("Pets/scan/where=v%20%3E%3D%200/count").read()) == len(expected)
"#;

#[test]
fn own_writes_show_at_once_and_in_their_order() {
    let (server, proxy, dir) = scene();
    let program = dir.path().join("read_back.py");
    fs::write(&program, READ_BACK).unwrap();
    for args in [&[][..], &["--remote-ttl", "0"], &["--max-wcu", "400"]] {
        let mut mounted = writeback(&proxy, args);
        mounted.ok(&script("python3 DIR/read_back.py", &dir));
        mounted.unmount();
        for n in 0..60 {
            let item = stored(&server, &format!("b{n}"));
            let version = item.map(|item| item["v"]["N"].as_str().unwrap().to_owned());
            let expected = match n {
                n if n % 2 == 0 => Some("2"),
                n if n % 3 == 0 => Some("9"),
                _ => None,
            };
            assert_eq!(version.as_deref(), expected, "b{n} {args:?}");
        }
    }
    // While the service says nothing at all.
    let mut mounted = writeback(&proxy, &["--timeout", "3600"]);
    mounted.ok("ls Pets/items > /dev/null");
    for operation in ["PutItem", "DeleteItem", "BatchWriteItem"] {
        proxy.always_of(operation, Some(Trouble::Silence));
    }
    mounted.ok("echo '{\"v\":1}' > Pets/items/b0.json; cat Pets/items/b0.json | grep -q '\"v\":1'");
    mounted.ok("rm Pets/items/b2.json; ! cat Pets/items/b2.json 2> /dev/null");
    assert_eq!(stored(&server, "b0").unwrap()["v"]["N"], "2");
    for operation in ["PutItem", "DeleteItem", "BatchWriteItem"] {
        proxy.always_of(operation, None);
    }
    proxy.be_gone(true);
    proxy.be_gone(false);
    mounted.ok("sync Pets/items/b0.json");
    assert_eq!(stored(&server, "b0").unwrap()["v"]["N"], "1");
    mounted.unmount();
    assert!(stored(&server, "b2").is_none());
    server.shutdown();
}

#[test]
fn nothing_that_fsync_acknowledged_is_lost_by_a_kill_and_unmount_waits() {
    let (server, proxy, dir) = scene();
    let mut mounted = writeback(&proxy, &[]);
    let acknowledged = mounted.ok(r#"python3 -c '
import os
for n in range(40):
    fd = os.open("Pets/items/k%d.json" % n, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(fd, b"{\"v\":%d}" % n)
    if n % 4 == 3:
        os.fsync(fd)
        print(n)
    os.close(fd)
folder = os.open("Pets/items", os.O_RDONLY)
os.replace("Pets/items/k0.json", "Pets/items/k0.json") 
open("Pets/items/.k99.tmp", "w").write("{\"v\":99}")
os.rename("Pets/items/.k99.tmp", "Pets/items/k99.json")
os.fsync(folder)
print(99)'"#);
    mounted.kill();
    for n in acknowledged.lines() {
        let item = stored(&server, &format!("k{n}"));
        assert_eq!(item.unwrap()["v"]["N"], *n);
    }
    drop(mounted);
    // `ddbfs umount` returns when all is there.
    let mut mounted = writeback(&proxy, &[]);
    proxy.always(Some(Trouble::Late(std::time::Duration::from_millis(50))));
    mounted.ok(&script("cp DIR/new/* Pets/items/", &dir));
    mounted.unmount();
    proxy.always(None);
    assert!((0..30).all(|n| stored(&server, &format!("n{n}")).is_some()));
    server.shutdown();
}

#[test]
fn a_write_that_fails_later_is_told() {
    let (server, proxy, _dir) = scene();
    let mut mounted = writeback(&proxy, &[]);
    mounted.ok("ls Pets/items");
    proxy.always_of("PutItem", Some(INVALID));
    proxy.always_of("BatchWriteItem", Some(INVALID));
    // It is read, be it there still or not.
    mounted.ok("echo '{\"v\":1}' > Pets/items/x.json; cat Pets/items/x.json > /dev/null 2>&1 || :");
    until("the failure is known", || {
        mounted
            .ok("cat .ddb/errors.ndjson")
            .contains("returned before")
    });
    // It is not there, and is not shown.
    assert!(
        mounted
            .fails("cat Pets/items/x.json")
            .contains("No such file")
    );
    let said = mounted.fails(
        "python3 -c 'import os
fd = os.open(\"Pets/items/y.json\", os.O_WRONLY | os.O_CREAT)
os.write(fd, b\"{}\")
os.fsync(fd)'",
    );
    assert!(said.contains("Invalid argument"), "{said}");
    let last = mounted.ok("python3 -c 'import os
fd = os.open(\"Pets/items/y.json\", os.O_WRONLY | os.O_CREAT)
os.write(fd, b\"{}\")
try: os.fsync(fd)
except OSError: print(open(\".ddb/errors/last\").read())'");
    assert!(
        last.contains("write Pets/items/y.json") && last.contains("not this"),
        "{last}"
    );
    // Some are left out of a batch for lack of capacity.
    proxy.always_of("PutItem", None);
    proxy.always_of("BatchWriteItem", None);
    let unprocessed = r#"{"UnprocessedItems":{"Pets":[{"PutRequest":{"Item":{"p":{"S":"u1"}}}},{"PutRequest":{"Item":{"p":{"S":"u2"}}}}]}}"#;
    proxy.next_of("BatchWriteItem", Trouble::Answer(200, unprocessed));
    mounted.ok("printf '{\"p\":\"u1\"}\\n{\"p\":\"u2\"}\\n' > Pets/batch/put");
    mounted.unmount();
    assert!(stored(&server, "u1").is_some() && stored(&server, "u2").is_some());
    server.shutdown();
}

#[test]
fn every_way_of_losing_answers_leaves_what_was_written() {
    let (server, proxy, dir) = scene();
    let program = dir.path().join("read_back.py");
    fs::write(&program, READ_BACK).unwrap();
    for trouble in [
        Trouble::CutBefore,
        Trouble::CutAfter,
        Trouble::CutInside,
        Trouble::Answer(503, "{}"),
        crate::transport::THROTTLED,
    ] {
        let mut mounted = writeback(&proxy, &["--timeout", "60"]);
        for operation in ["PutItem", "BatchWriteItem", "DeleteItem"] {
            (0..3).for_each(|_| proxy.next_of(operation, trouble.clone()));
        }
        mounted.ok(&script(
            "python3 DIR/read_back.py; rm Pets/items/b*.json",
            &dir,
        ));
        mounted.unmount();
        assert_eq!(stored_count(&server), 0, "{trouble:?}");
    }
    server.shutdown();
}

#[test]
fn a_lock_has_one_owner_with_writeback_and_while_copying() {
    let (server, proxy, _dir) = scene();
    for options in ["rw", "rw,writeback"] {
        let args = ["-o", options, "--remote-ttl", "600"];
        let (mut one, mut other) = (mount(&proxy, &args), mount(&proxy, &args));
        other.ok("ls Pets/items > /dev/null; ! cat Pets/items/lock.json 2> /dev/null");
        one.ok("set -C; echo '{\"of\":1}' > Pets/items/lock.json");
        // The name is known to be absent there, and the lock is asked for all the same.
        let said = other.fails("set -C; echo '{\"of\":2}' > Pets/items/lock.json");
        assert!(said.contains("exist"), "{said}");
        one.ok("sync Pets/items/lock.json");
        assert_eq!(stored(&server, "lock").unwrap()["of"]["N"], "1");
        // A program that copies: its third file and later ones are put where there is no item.
        let copy = r#"import os, sys
def copy(n):
    with open("Pets/items/c%d.json" % n, "x") as f: f.write("{\"of\":2}")
for n in range(1, 8): copy(n)
with open(sys.argv[1] + "/Pets/items/c9.json", "w") as f: f.write("{\"of\":1}"); f.flush(); os.fsync(f.fileno())
try:
    copy(9)
    fd = os.open("Pets/items/c9.json", os.O_WRONLY); os.fsync(fd)
    print("both")
except FileExistsError: print("one")
except OSError as e: print("one", e)"#;
        let point = one.point();
        let told = other.ok(&format!("python3 -c '{copy}' {}", point.display()));
        assert!(told.starts_with("one"), "{options}: {told}");
        assert_eq!(stored(&server, "c9").unwrap()["of"]["N"], "1", "{options}");
        assert_eq!(stored(&server, "c7").unwrap()["of"]["N"], "2", "{options}");
        one.ok("rm Pets/items/*");
        one.unmount();
        other.unmount();
    }
    server.shutdown();
}
