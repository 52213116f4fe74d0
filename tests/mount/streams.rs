//! `stream/` on a real mount: the log that grows and is rotated, readers that wait, and their ends.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::support::mounted;
use crate::support::mounted::{Mount, create_table, memory, put};
use crate::support::wait::{until_looked, until_some};
use ddbfs::protocol;
use serde_json::{Value, json};

const STREAMED: &str = r#"{"TableName":"Log","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST",
    "StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}}"#;

/// Longer than any operation here takes; only a failure waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

fn mount() -> Mount {
    let db = memory();
    create_table(&*db, STREAMED);
    create_table(&*db, mounted::FLAT);
    Mount::of(db)
}

fn set_stream(mount: &Mount, specification: Value) {
    let request = json!({"TableName": "Log", "StreamSpecification": specification});
    protocol::call("UpdateTable", request, &*mount.db, "localhost").unwrap();
}

/// A reading program, with its lines as they come.
struct Reader {
    child: Child,
    lines: Receiver<String>,
    name: String,
}

impl Reader {
    fn start(mount: &Mount, script: &str) -> Self {
        let mut command = Command::new("bash");
        // `exec`: the signal is for the program, not for a shell around it, and a program of a
        // background job would ignore it.
        command
            .args(["-c", &format!("exec env --default-signal=INT {script}")])
            .current_dir(mount.path());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            out.lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        Self {
            child,
            lines,
            name: script.to_owned(),
        }
    }

    /// Returns the next line, for which `change` is made again and again: the time at which the
    /// program has opened its file is unknown.
    fn next(&self, mut change: impl FnMut()) -> String {
        until_some(&self.name, || {
            change();
            match self.lines.recv_timeout(Duration::from_millis(100)) {
                Err(RecvTimeoutError::Disconnected) => panic!("{} has ended", self.name),
                next => next.ok(),
            }
        })
    }

    /// Waits for a line with this text, without another change.
    fn wait_for(&self, text: &str) -> String {
        let found = std::iter::from_fn(|| self.lines.recv_timeout(PATIENCE).ok())
            .find(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("{} never read {text}", self.name))
    }

    fn ended(&mut self) -> std::process::ExitStatus {
        until_some(&self.name, || self.child.try_wait().unwrap())
    }

    /// Sends a signal like Ctrl-C; returns the time to the end.
    fn interrupt(mut self, signal: &str) -> Duration {
        let started = Instant::now();
        assert!(
            Command::new("kill")
                .args([signal, &self.child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        self.ended();
        started.elapsed()
    }
}

impl Reader {
    /// Sends Ctrl-C to a pipeline in a session of its own.
    fn interrupt_group(mut self) {
        let group = format!("-{}", self.child.id());
        assert!(
            Command::new("kill")
                .args(["-INT", "--", &group])
                .status()
                .unwrap()
                .success()
        );
        self.ended();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // It has ended, unless its test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a function that puts another item each time.
fn changes(mount: &Mount) -> impl FnMut() + use<> {
    let (db, mut number) = (std::sync::Arc::clone(&mount.db), 0);
    move || {
        number += 1;
        put(&*db, "Log", &format!(r#"{{"id":"n{number}"}}"#));
    }
}

#[test]
fn follow_waits_for_changes_in_every_program_and_ctrl_c_ends_it() {
    let mount = mount();
    let mut change = changes(&mount);
    let programs = [
        "cat Log/stream/follow",
        "jq --unbuffered -c . Log/stream/follow",
        // Without it mawk waits for a full buffer, as with a pipe.
        "awk -W interactive '{print; fflush()}' Log/stream/follow",
        "sed -u -n p Log/stream/follow",
        "grep --line-buffered op Log/stream/follow",
        "python3 -uc 'for line in open(\"Log/stream/follow\"): print(line, end=\"\")' 2>/dev/null",
        "perl -ne '$|=1; print' Log/stream/follow",
        "node -e 'require(\"fs\").createReadStream(\"Log/stream/follow\").pipe(process.stdout)'",
        "bash -c 'while read -r line; do echo \"$line\"; done < Log/stream/follow'",
        "dash -c 'while read -r line; do echo \"$line\"; done < Log/stream/follow'",
        "zsh -c 'while read -r line; do print -r -- \"$line\"; done < Log/stream/follow'",
    ];
    let readers = programs.map(|program| Reader::start(&mount, program));
    for reader in &readers {
        let first: Value = serde_json::from_str(&reader.next(&mut change)).unwrap();
        assert_eq!(first["op"], "INSERT", "{first}");
    }
    // No change for longer than any slice: the programs still wait, and get the next change.
    until_looked(std::process::id(), "ddbfs-readers", 6);
    put(&*mount.db, "Log", r#"{"id":"late","n":1}"#);
    for reader in readers {
        let late: Value = serde_json::from_str(&reader.wait_for("late")).unwrap();
        assert_eq!(
            (&late["key"], &late["new"]["n"]),
            (&json!({"id": "late"}), &json!(1)),
            "{}",
            reader.name
        );
        let name = reader.name.clone();
        let took = reader.interrupt("-INT");
        println!(
            "{name}: heard of a change after a silence; SIGINT ended it after {} ms",
            took.as_millis()
        );
    }
    let stubborn = Reader::start(&mount, "cat Log/stream/follow");
    stubborn.next(&mut change);
    println!(
        "SIGKILL ended a waiting cat after {} ms",
        stubborn.interrupt("-KILL").as_millis()
    );
    mount.end();
}

/// bash reads a block, takes a line of it and seeks back: changes that come together are all read.
#[test]
fn a_shell_reads_every_change_of_a_burst_and_every_call() {
    let mount = mount();
    let mut change = changes(&mount);
    let follow = Reader::start(
        &mount,
        "bash -c 'while read -r line; do echo \"$line\"; done < Log/stream/follow'",
    );
    follow.next(&mut change);
    for burst in 0..20 {
        protocol::call(
            "BatchWriteItem",
            json!({"RequestItems": {"Log": (0..25).map(|n| json!({"PutRequest": {"Item":
                {"id": {"S": format!("b{burst}-{n}")}}}})).collect::<Vec<_>>()}}),
            &*mount.db,
            "localhost",
        )
        .unwrap();
    }
    let read: Vec<String> = std::iter::from_fn(|| follow.lines.recv_timeout(PATIENCE).ok())
        .map(|line| serde_json::from_str::<Value>(&line).unwrap()["key"]["id"].to_string())
        .filter(|id| id.starts_with("\"b"))
        .take(500)
        .collect();
    let expected: Vec<String> = (0..20)
        .flat_map(|burst| (0..25).map(move |n| format!("\"b{burst}-{n}\"")))
        .collect();
    assert_eq!(read, expected);

    let calls = Reader::start(
        &mount,
        "bash -c 'while read -r line; do echo \"$line\"; done < .ddb/accesslog'",
    );
    calls.next(|| drop(mount.sh("ls Log")));
    mount.sh("ls none-{1..200} 2> /dev/null; true").ok();
    let mut told = std::iter::from_fn(|| calls.lines.recv_timeout(PATIENCE).ok());
    for n in 1..=200 {
        let name = format!("\tnone-{n}\t");
        assert!(told.any(|line| line.contains(&name)), "no line of {name}");
    }
    mount.end();
}

#[test]
fn a_line_tells_what_happened() {
    let mount = mount();
    mount.sh("echo '{\"n\":1}' > Log/items/a.json; echo '{\"n\":2}' > Log/items/a.json; rm Log/items/a.json").ok();
    let lines = mount.sh("jq -c 'del(.seq,.time)' Log/stream/log.ndjson");
    let (one, two) = (r#"{"id":"a","n":1}"#, r#"{"id":"a","n":2}"#);
    let key = r#""key":{"id":"a"}"#;
    assert_eq!(
        lines.ok(),
        format!(
            "{{\"op\":\"INSERT\",{key},\"new\":{one}}}\n{{\"op\":\"MODIFY\",{key},\"new\":{two},\"old\":{one}}}\n{{\"op\":\"REMOVE\",{key},\"old\":{two}}}\n"
        )
    );
    let since = "Log/stream/since/$(jq -r .seq Log/stream/log.ndjson | head -1).ndjson";
    assert_eq!(
        mount.sh(&format!("jq -r .op {since}")).ok(),
        "MODIFY\nREMOVE\n"
    );
    mount
        .sh("cmp Log/stream/since/0.ndjson Log/stream/log.ndjson")
        .ok();
    let wrong = mount.sh("cat Log/stream/since/x.ndjson || cat .ddb/errors/last");
    assert!(
        wrong.out.contains("x is no sequence number") && wrong.out.contains("hint: "),
        "{wrong:#?}"
    );
    println!(
        "log.ndjson, since/0 and since/<seq> tell INSERT, MODIFY and REMOVE with key, new and old"
    );
    mount.end();
}

#[test]
fn the_log_has_its_exact_size_while_it_grows_and_nothing_blocks_a_walk() {
    let mount = mount();
    let writing = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            (0..400).for_each(|n| put(&*mount.db, "Log", &json!({"id": n.to_string()}).to_string()))
        });
        let mut sizes = Vec::new();
        while !writer.is_finished() {
            // The size of an open file is at least the number of bytes that can be read of it.
            let ran =
                mount.sh("exec 3< Log/stream/log.ndjson; s=$(stat -L -c %s /dev/fd/3); r=$(wc -c <&3); test $s -le $r && echo $s");
            sizes.push(ran.ok().trim().parse::<u64>().unwrap());
        }
        sizes
    });
    assert!(writing.is_sorted(), "{writing:?}");
    mount
        .sh("test $(stat -c %s Log/stream/log.ndjson) = $(wc -c < Log/stream/log.ndjson)")
        .ok();
    mount.sh("test $(stat -c %s Log/stream/log.ndjson) = $(tar -cf - Log/stream | tar -tvf - | awk '/log/{print $3}')").ok();
    assert_eq!(
        mount
            .sh("wc -l < Log/stream/log.ndjson; tail -1 Log/stream/log.ndjson | jq -r .key.id")
            .ok(),
        "400\n399\n"
    );
    assert_eq!(
        mount.sh("ls -a Log/stream; ls Log/stream/since").ok(),
        ".\n..\nlog.ndjson\n"
    );
    assert_eq!(
        mount.sh("grep -rc '\"op\"' Log/stream").ok(),
        "Log/stream/log.ndjson:400\n"
    );
    println!(
        "sizes while writing: {} looks, rising to {:?}; grep -r and tar end",
        writing.len(),
        writing.last()
    );
    mount.end();
}

#[test]
fn tail_goes_on_across_a_rotation() {
    let mount = mount();
    let mut change = changes(&mount);
    change();
    // tail would wait for a file that can't be read.
    mount.sh("cat Log/stream/log.ndjson").ok();
    let tail = Reader::start(
        &mount,
        "tail -s 0.1 -F -n +1 Log/stream/log.ndjson 2>/dev/null",
    );
    assert_eq!(
        serde_json::from_str::<Value>(&tail.next(|| ())).unwrap()["key"]["id"],
        "n1"
    );
    put(&*mount.db, "Log", r#"{"id":"before"}"#);
    tail.wait_for("before");
    let ino = || mount.sh("stat -c %i Log/stream/log.ndjson").ok().to_owned();
    let old = ino();
    set_stream(&mount, json!({"StreamEnabled": false}));
    set_stream(
        &mount,
        json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}),
    );
    assert_ne!(ino(), old, "the name stands for a new file");
    put(&*mount.db, "Log", r#"{"id":"after"}"#);
    let after: Value = serde_json::from_str(&tail.wait_for("after")).unwrap();
    assert_eq!(
        (&after["key"]["id"], &after["new"]),
        (&json!("after"), &Value::Null)
    );
    // The one-liner that shows removals.
    let pipe = "bash -c 'tail -s 0.1 -n +1 -F Log/stream/log.ndjson 2>/dev/null | jq --unbuffered -c \"select(.op==\\\"REMOVE\\\")\"'";
    let removed = Reader::start(&mount, &format!("setsid {pipe}"));
    mount.sh("rm Log/items/after.json").ok();
    assert!(
        removed
            .wait_for("REMOVE")
            .contains(r#""key":{"id":"after"}"#)
    );
    // Ctrl-C goes to all of a pipeline.
    removed.interrupt_group();
    println!(
        "tail -F read on in the new file; SIGINT ended it after {} ms",
        tail.interrupt("-INT").as_millis()
    );
    mount.end();
}

#[test]
fn follow_goes_on_with_a_new_stream() {
    let mount = mount();
    let follow = Reader::start(&mount, "cat Log/stream/follow");
    follow.next(changes(&mount));
    set_stream(&mount, json!({"StreamEnabled": false}));
    set_stream(
        &mount,
        json!({"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}),
    );
    put(&*mount.db, "Log", r#"{"id":"renewed"}"#);
    assert!(
        follow
            .wait_for("renewed")
            .contains(r#""new":{"id":"renewed"}"#)
    );
    println!(
        "follow went on with the new stream; SIGINT ended it after {} ms",
        follow.interrupt("-INT").as_millis()
    );
    mount.end();
}

#[test]
fn a_table_without_a_stream_says_how_to_enable_one() {
    let mount = mount();
    assert_eq!(mount.sh("ls Flat/stream").ok(), "");
    for file in ["log.ndjson", "follow", "since/0.ndjson"] {
        let ran = mount.sh(&format!("cat Flat/stream/{file} || cat .ddb/errors/last"));
        assert!(ran.err.contains("Invalid argument"), "{ran:#?}");
        assert!(
            ran.out.contains("the table Flat has no stream")
                && ran.out.contains("> .ddb/api/UpdateTable"),
            "{ran:#?}"
        );
    }
    // The hint is a command that enables it.
    mount.sh("cat Flat/stream/follow 2>/dev/null; sed -n 's/^  hint: enable one: //p' .ddb/errors/last > /dev/shm/ddbfs-$$; . /dev/shm/ddbfs-$$; s=$?; rm /dev/shm/ddbfs-$$; exit $s").ok();
    mount
        .sh("echo '{}' > Flat/items/a.json; grep -q INSERT Flat/stream/log.ndjson")
        .ok();
    mount
        .sh("cat Flat/stream/help | grep -q 'tail -F stream/log.ndjson'")
        .ok();
    println!(
        "log.ndjson, follow and since/ of a table without a stream say how to enable one, and that works"
    );
    mount.end();
}

#[test]
fn waiting_readers_are_bounded_and_everything_else_goes_on() {
    let mount = mount();
    let script = "python3 -uc '
import os, threading, errno
fds = [os.open(\"Log/stream/follow\", os.O_RDONLY) for _ in range(66)]
def read(fd):
    try: said = os.read(fd, 100000)[:5]
    except OSError as e: said = errno.errorcode[e.errno].encode()
    os.write(1, said + b\"\\n\")
threads = [threading.Thread(target=read, args=(fd,)) for fd in fds]
for t in threads: t.start()
for t in threads: t.join()
'";
    let mut readers = Reader::start(&mount, script);
    assert_eq!(
        [readers.wait_for(""), readers.wait_for("")],
        ["EBUSY", "EBUSY"]
    );
    // More wait than there are event threads and workers: other calls are answered.
    mount.sh("echo '{}' > Flat/items/a.json; cat Flat/items/a.json Flat/scan/count > /dev/null; ls -lR Flat > /dev/null").ok();
    put(&*mount.db, "Log", r#"{"id":"x"}"#);
    let lines: Vec<String> = readers.lines.iter().collect();
    assert_eq!(lines, vec!["{\"seq"; 64]);
    assert!(readers.ended().success());
    println!(
        "64 readers waited while files were read and written, 2 more were refused with EBUSY, one commit woke all"
    );
    mount.end();
}

#[test]
fn an_unmount_does_not_wait_for_waiting_readers() {
    let mount = mount();
    let mut follow = Reader::start(&mount, "cat Log/stream/follow");
    follow.next(changes(&mount));
    mount.end();
    assert!(follow.ended().success(), "as at the end of a file");
    println!("cat stream/follow ended with status 0 when its mount ended");
}
