//! Editors and filters on a real mount of a table with a stream: each save is one change of the
//! item, never a removal, and leaves no name behind. Then descriptors that are shared, inherited
//! and closed early, and several programs on one item.
//!
//! Programs that are not installed are named on standard error and left out.

use crate::support::mounted::{Mount, create_table, memory};
use serde_json::Value;

/// A table without a sort key, with a stream.
const LOG: &str = r#"{
    "TableName": "Log",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}
}"#;

fn mounted() -> Mount {
    let db = memory();
    create_table(&*db, LOG);
    Mount::of(db)
}

/// Returns the changes of each item, in order, after all deferred work.
fn history(mount: Mount) -> Vec<(String, String)> {
    // Deferred deletes are executed at the end of a mount.
    let mount = mount.again();
    let records = mount.sh("cat Log/stream/since/0.ndjson").ok().to_owned();
    let record = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        (
            record["key"]["id"].as_str().unwrap().to_owned(),
            record["op"].as_str().unwrap().to_owned(),
        )
    };
    records.lines().map(record).collect()
}

/// A script that types into nano on a terminal: each key when the program has asked for it.
const NANO: &str = r#"
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.environ['TERM'] = 'xterm'
    os.execvp(sys.argv[1], sys.argv[1:])
steps = [('GNU nano', '\x1c'), ('Search', '"n":1\r'), ('Replace with', '"n":2\r'), ('this instance', 'y'), ('occurrence', '\x0f'), ('Name to Write', '\r'), ('Wrote', '\x18')]
shown = b''
for expected, key in steps:
    while expected.encode() not in shown:
        shown += os.read(terminal, 65536)
    shown = b''
    os.write(terminal, key.encode())
try:
    while os.read(terminal, 65536): pass
except OSError: pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

/// Name, and the script that changes `"n":1` to `"n":2` in `$f`. `$t` is a directory outside the
/// mount.
const EDITORS: &[(&str, &str)] = &[
    (
        "vim without a backup",
        "vim -es -u NONE -c 'set nobackup nowritebackup' -c 's/\"n\":1/\"n\":2/' -c wq $f",
    ),
    (
        "vim, a backup by copy",
        "vim -es -u NONE -c 'set backup backupcopy=yes backupdir=. backupskip=' -c 's/\"n\":1/\"n\":2/' -c wq $f",
    ),
    (
        "vim, a backup by rename",
        "vim -es -u NONE -c 'set backup backupcopy=no backupdir=. backupskip=' -c 's/\"n\":1/\"n\":2/' -c wq $f",
    ),
    (
        "vim, a backup as it likes",
        "vim -es -u NONE -c 'set writebackup backupcopy=auto backupdir=. backupskip=' -c 's/\"n\":1/\"n\":2/' -c wq $f",
    ),
    (
        "vim with a swap file",
        "vim -es -u NONE -c 'set swapfile updatecount=1' -c 's/\"n\":1/\"n\":2/' -c wq $f",
    ),
    (
        "emacs, a backup by rename",
        "emacs -Q --batch $f --eval '(progn (search-forward \"\\\"n\\\":1\") (replace-match \"\\\"n\\\":2\") (save-buffer))' 2>/dev/null",
    ),
    (
        "emacs, a backup by copy",
        "emacs -Q --batch --eval '(setq backup-by-copying t)' $f --eval '(progn (search-forward \"\\\"n\\\":1\") (replace-match \"\\\"n\\\":2\") (save-buffer))' 2>/dev/null",
    ),
    (
        "emacs, precious files",
        "emacs -Q --batch --eval '(setq file-precious-flag t)' $f --eval '(progn (search-forward \"\\\"n\\\":1\") (replace-match \"\\\"n\\\":2\") (save-buffer))' 2>/dev/null",
    ),
    ("nano", "printf '%s' \"$nano\" | python3 - nano -I $f"),
    (
        "nano with a backup",
        "printf '%s' \"$nano\" | python3 - nano -I -B $f && rm $f~",
    ),
    ("ed", "printf '%s\\n' 's/\"n\":1/\"n\":2/' w q | ed -s $f"),
    ("sed -i", "sed -i 's/\"n\":1/\"n\":2/' $f"),
    (
        "sed -i.bak",
        "sed -i.bak 's/\"n\":1/\"n\":2/' $f && grep -q '\"n\":1' $f.bak && rm $f.bak",
    ),
    ("perl -pi", "perl -pi -e 's/\"n\":1/\"n\":2/' $f"),
    (
        "perl -pi.bak",
        "perl -pi.bak -e 's/\"n\":1/\"n\":2/' $f && rm $f.bak",
    ),
    ("sponge", "sed 's/\"n\":1/\"n\":2/' $f | sponge $f"),
    ("jq onto its own input", "jq '.n += 1' $f > $f"),
    (
        "jq through a variable",
        "new=$(jq '.n += 1' $f) && echo \"$new\" > $f",
    ),
    (
        "rsync",
        "sed 's/\"n\":1/\"n\":2/' $f > $t/${f##*/} && rsync -I $t/${f##*/} $f",
    ),
    (
        "rsync -a --inplace",
        "sed 's/\"n\":1/\"n\":2/' $f > $t/${f##*/} && rsync -aI --inplace $t/${f##*/} $f",
    ),
    (
        "rsync --backup",
        "sed 's/\"n\":1/\"n\":2/' $f > $t/${f##*/} && rsync -I --backup $t/${f##*/} $f && rm $f~",
    ),
    (
        "cp --backup",
        "sed 's/\"n\":1/\"n\":2/' $f > $t/x && cp --backup=simple $t/x $f && rm $f~",
    ),
    (
        "cp --backup=numbered",
        "sed 's/\"n\":1/\"n\":2/' $f > $t/x && cp --backup=numbered $t/x $f && rm $f.~1~",
    ),
    (
        "install --backup",
        "sed 's/\"n\":1/\"n\":2/' $f > $t/x && install -b $t/x $f && rm $f~",
    ),
    (
        "mv --backup of a new file",
        "sed 's/\"n\":1/\"n\":2/' $f > $f.new && mv --backup=simple $f.new $f && rm $f~",
    ),
    (
        "python in place",
        "python3 -c \"\nwith open('$f', 'r+') as f:\n    text = f.read().replace('\\\"n\\\":1', '\\\"n\\\":2')\n    f.seek(0); f.write(text); f.truncate()\"",
    ),
    (
        "python, a new file",
        "python3 -c \"\nimport os\ntext = open('$f').read().replace('\\\"n\\\":1', '\\\"n\\\":2')\nopen('$f.tmp', 'w').write(text); os.replace('$f.tmp', '$f')\"",
    ),
    (
        "tee",
        "sed 's/\"n\":1/\"n\":2/' $f > $t/x && tee $f < $t/x > /dev/null",
    ),
    (
        "dd",
        "sed 's/\"n\":1/\"n\":2/' $f > $t/x && dd if=$t/x of=$f bs=7 status=none",
    ),
];

const PROGRAMS: &[&str] = &[
    "vim", "emacs", "nano", "script", "ed", "perl", "sponge", "jq", "rsync", "python3",
];

#[test]
fn each_save_is_one_change_and_no_removal() {
    let (mount, outside) = (mounted(), tempfile::tempdir().unwrap());
    let mut failures = Vec::new();
    let mut saved = Vec::new();
    for (number, (name, script)) in EDITORS.iter().enumerate() {
        let id = format!("i{number}");
        let needed = PROGRAMS
            .iter()
            .filter(|program| script.split([' ', '"']).any(|word| word == **program));
        if let Some(lacking) = needed
            .into_iter()
            .find(|program| mount.sh(&format!("command -v {program}")).status != 0)
        {
            eprintln!("{lacking} is not there: {name:?} left out");
            continue;
        }
        mount
            .sh(&format!(
                "echo '{{\"n\":1,\"text\":\"é\"}}' > Log/items/{id}.json"
            ))
            .ok();
        let ran = mount.sh(&format!(
            "f=Log/items/{id}.json t={} nano='{}'\n{script}",
            outside.path().display(),
            NANO.replace('\'', "'\\''")
        ));
        let stored = mount.sh(&format!("cat Log/items/{id}.json")).out;
        if ran.status != 0 || stored != format!("{{\"id\":\"{id}\",\"n\":2,\"text\":\"é\"}}\n") {
            failures.push(format!("{name}: {ran:?}, stored {stored}"));
        }
        saved.push((id, name));
    }
    let names = mount
        .sh("ls -A Log/items | grep -vE '^i[0-9]+\\.json$'")
        .out;
    assert_eq!(names, "", "names are left");
    let history = history(mount);
    for (id, name) in &saved {
        let changes: Vec<&str> = history
            .iter()
            .filter(|(of, _)| of == id)
            .map(|(_, op)| op.as_str())
            .collect();
        if changes != ["INSERT", "MODIFY"] {
            failures.push(format!("{name}: {changes:?}"));
        }
        println!("checked: {name}: one change of the item, no removal, no name left");
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert!(saved.len() > 10, "too few programs are there");
}

/// Runs scripts that write `$f`, and checks the item afterwards.
fn run(cases: &[(&str, &str, &str)]) {
    let mount = mounted();
    let mut failures = Vec::new();
    for (number, (name, script, expected)) in cases.iter().enumerate() {
        let id = format!("i{number}");
        mount
            .sh(&format!("echo '{{\"n\":1}}' > Log/items/{id}.json"))
            .ok();
        let ran = mount.sh(&format!("f=Log/items/{id}.json\n{script}"));
        let stored = mount
            .sh(&format!("jq -c 'del(.id)' Log/items/{id}.json"))
            .out;
        if stored.trim_end() == *expected {
            println!("checked: {name}");
        } else {
            failures.push(format!(
                "{name}: stored {stored}expected {expected}\n{ran:?}"
            ));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn descriptors_are_shared_inherited_and_cut_off() {
    run(&[
        (
            "exec 3>f with pieces",
            "exec 3> $f; echo '{' >&3; echo '\"n\":' >&3; /bin/echo 2 >&3; echo '}' >&3; exec 3>&-",
            r#"{"n":2}"#,
        ),
        (
            "a group",
            "{ echo '{\"n\":'; echo '2}'; } > $f",
            r#"{"n":2}"#,
        ),
        (
            "a group of programs",
            "{ /bin/echo '{\"n\":'; cat /dev/null; /bin/echo '2}'; } > $f",
            r#"{"n":2}"#,
        ),
        (
            "a loop",
            "for part in '{' '\"n\"' ':' '2' '}'; do echo \"$part\"; done > $f",
            r#"{"n":2}"#,
        ),
        (
            "dup",
            "exec 3> $f 4>&3; echo '{\"n\":' >&3; exec 3>&-; echo '2}' >&4; exec 4>&-",
            r#"{"n":2}"#,
        ),
        (
            "fork: parent and child write in turn",
            "python3 -c \"\nimport os\nfd = os.open('$f', os.O_WRONLY | os.O_TRUNC)\nos.write(fd, b'{')\npid = os.fork()\nif pid == 0:\n    os.write(fd, b'\\\"n\\\":')\n    os._exit(0)\nos.waitpid(pid, 0)\nos.write(fd, b'2}')\nos.close(fd)\"",
            r#"{"n":2}"#,
        ),
        (
            "a child that outlives its parent",
            "python3 -c \"\nimport os\nfd = os.open('$f', os.O_WRONLY | os.O_TRUNC)\nr, w = os.pipe()\nif os.fork() == 0:\n    os.close(w); os.read(r, 1)\n    os.write(fd, b'2}')\n    os._exit(0)\nos.write(fd, b'{\\\"n\\\":')\nos.close(fd)\nos.close(w)\nos.wait()\"",
            r#"{"n":2}"#,
        ),
        (
            "kill -9 in mid-write",
            "python3 -c \"\nimport os, signal\nfd = os.open('$f', os.O_WRONLY | os.O_TRUNC)\nos.write(fd, b'{\\\"n\\\":')\nos.kill(os.getpid(), signal.SIGKILL)\" 2>/dev/null",
            r#"{"n":1}"#,
        ),
        (
            "kill -9 of a shell in the middle of a group",
            "bash -c '{ echo \"{\"; echo \"\\\"n\\\":2\"; kill -9 $$; echo \"}\"; } > '$f 2>/dev/null",
            r#"{"n":1}"#,
        ),
        (
            "kill -9 of vim with the text changed",
            "command -v vim >/dev/null || exit 0; vim -es -u NONE -c 's/1/2/' -c 'call system(\"kill -9 \" . getpid())' $f 2>/dev/null; true",
            r#"{"n":1}"#,
        ),
        (
            "a pipe that breaks",
            "head -c 5 <<< '{\"n\":2}' > $f",
            r#"{"n":1}"#,
        ),
        (
            "an update cut off in its JSON",
            "python3 -c \"\nimport os, signal\nfd = os.open('${f%.json}.update', os.O_WRONLY)\nos.write(fd, b'{\\\"UpdateExpression\\\":\\\"SET n = :n')\nos.kill(os.getpid(), signal.SIGKILL)\" 2>/dev/null",
            r#"{"n":1}"#,
        ),
    ]);
}

/// The prefix of a Python script: a process that has read `f`, with helpers for it and other
/// processes.
const READER: &str = r#"
import json, os, subprocess, sys, threading, time
f = sys.argv[1]
def sh(script): subprocess.check_call(['sh', '-c', script, 'sh', f])
def other(): sh("""echo '{"n":5}' > $1""")
def write(text='{"n":2}'):
    with open(f, 'w') as w: w.write(text)
def replace():
    with open(f + '.tmp', 'w') as w: w.write('{"n":2}')
    os.replace(f + '.tmp', f)
def told(call):
    try:
        call()
        print('no error')
    except OSError as e: print(os.strerror(e.errno), open('.ddb/errors/last').read())
def in_thread(call):
    t = threading.Thread(target=call)
    t.start()
    t.join()
def ticks(): return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 10**7
def grown():
    begun = ticks()
    while ticks() < begun + 3: os.sched_yield()
def line(name, text):
    with open(name, 'w') as w: w.write(text + '\n')
def api(operation, **members): line('.ddb/api/' + operation, json.dumps(members))
open(f).read()
"#;

/// Runs a bash script on an item `$f` of its own; checks its output and the stored item: the
/// attribute `n`, or nothing.
fn check(name: &str, script: &str, told: &str, stored: &str) {
    let mount = mounted();
    mount.sh("echo '{\"n\":1}' > Log/items/i.json").ok();
    let ran = mount.sh(&format!("f=Log/items/i.json\n{script}"));
    assert!(
        ran.out.contains(told) && ran.status == 0,
        "{name}: {ran:#?}"
    );
    let found = mount
        .sh("[ ! -e Log/items/i.json ] || jq -c .n Log/items/i.json")
        .ok()
        .trim()
        .to_owned();
    assert_eq!(found, stored, "{name}");
    println!("checked: {name}");
}

/// Checks a Python script after the process has read the item.
fn check_reader(name: &str, script: &str, told: &str, stored: &str) {
    check(
        name,
        &format!("python3 - $f <<'END'\n{READER}{script}\nEND"),
        told,
        stored,
    );
}

const STALE: &str = "Stale file handle write Log/items/i.json: ESTALE";

#[test]
fn who_read_an_item_does_not_undo_what_others_wrote() {
    check_reader(
        "read, somebody else writes, write",
        "other(); told(write)",
        STALE,
        "5",
    );
    check_reader(
        "a retry of the same",
        "other(); told(write); told(write)",
        STALE,
        "5",
    );
    let moved = "Stale file handle rename Log/items/i.json.tmp to Log/items/i.json: ESTALE";
    check_reader(
        "a new file in its place",
        "other(); told(replace)",
        moved,
        "5",
    );
    check_reader(
        "nobody else writes",
        "write(); write(); replace(); write()",
        "",
        "2",
    );
    check_reader(
        "read again, then write",
        "other(); open(f).read(); write()",
        "",
        "2",
    );
    check(
        "a process that read nothing wins",
        "cat $f > /dev/null; (echo '{\"n\":5}' > $f); /bin/echo '{\"n\":2}' > $f",
        "",
        "2",
    );
    check(
        "two editors: the second is told",
        r#"t=$(mktemp -d); mkfifo $t/a $t/b
        for e in a b; do python3 -c "
text = open('$f').read(); open('$t/$e').read()
try:
    with open('$f', 'w') as w: w.write('{\"n\":\"$e\"}')
except OSError as x: print('$e', x.strerror)" & done
        # Each has read when it opens its pipe.
        exec 3> $t/a 4> $t/b; exec 3>&-; wait %1; exec 4>&-; wait; rm -r $t"#,
        "b Stale file handle",
        "\"a\"",
    );
}

#[test]
fn a_note_of_a_read_belongs_to_the_process_not_to_its_threads() {
    check_reader(
        "one thread reads, another writes",
        "in_thread(other); told(write)",
        STALE,
        "5",
    );
    // The age of a thread is known to a hundredth of a second: these are younger than the read by
    // several.
    let younger = "other(); grown(); in_thread(lambda: told(write))";
    check_reader("a younger thread is told too", younger, STALE, "5");
    let wrote = "grown(); in_thread(lambda: write('{\"n\":3}'))";
    check_reader(
        "a thread that has ended wrote it",
        &format!("{wrote}; told(write)"),
        "no error",
        "2",
    );
    check_reader(
        "a thread wrote, then somebody else",
        &format!("{wrote}; other(); told(write)"),
        STALE,
        "5",
    );
    check_reader(
        "a thread that has ended read it again",
        "other(); in_thread(lambda: (open(f).read(), told(write)))",
        "no error",
        "2",
    );
    check_reader(
        "it read it, another thread writes",
        "other(); in_thread(lambda: open(f).read()); told(write)",
        "no error",
        "2",
    );
}

#[test]
fn what_a_process_writes_by_any_route_it_has_read() {
    const ROUTES: &[(&str, &str)] = &[
        ("X.patch", r#"line('Log/items/i.patch', '{"a":1}')"#),
        ("X.update", "line('Log/items/i.update', 'ADD n 1')"),
        ("an attribute's file", "line('Log/items/i.d/n', '7')"),
        (
            "an attribute's file removed",
            "os.unlink('Log/items/i.d/n')",
        ),
        ("a map made", "os.mkdir('Log/items/i.d/map.d')"),
        (
            "X.ddbjson",
            r#"line('Log/items/i.ddbjson', '{"n":{"N":"7"}}')"#,
        ),
        ("a rename onto it", "replace()"),
        (
            "an item moved onto it",
            "line('Log/items/j.json', '{}'); os.rename('Log/items/j.json', f)",
        ),
        ("batch/put", r#"line('Log/batch/put', '{"id":"i","n":7}')"#),
        (
            "batch/atomic",
            r#"line('Log/batch/atomic', '{"id":"i","n":7}')"#,
        ),
        (
            "PutItem",
            "api('PutItem', TableName='Log', Item={'id': {'S': 'i'}})",
        ),
        (
            "UpdateItem",
            "api('UpdateItem', TableName='Log', Key={'id': {'S': 'i'}}, UpdateExpression='SET m = :m', ExpressionAttributeValues={':m': {'N': '1'}})",
        ),
        (
            "BatchWriteItem",
            "api('BatchWriteItem', RequestItems={'Log': [{'PutRequest': {'Item': {'id': {'S': 'i'}}}}]})",
        ),
        (
            "TransactWriteItems",
            "api('TransactWriteItems', TransactItems=[{'Put': {'TableName': 'Log', 'Item': {'id': {'S': 'i'}}}}])",
        ),
        (
            ".ddb/transact",
            "line('.ddb/transact', json.dumps({'TransactItems': [{'Put': {'TableName': 'Log', 'Item': {'id': {'S': 'i'}}}}]}))",
        ),
    ];
    const REMOVALS: &[(&str, &str)] = &[
        ("unlink", "os.unlink(f)"),
        ("batch/delete", "line('Log/batch/delete', 'items/i.json')"),
        (
            "batch/atomic $delete",
            r#"line('Log/batch/atomic', '{"$delete":{"id":"i"}}')"#,
        ),
        (
            "DeleteItem",
            "api('DeleteItem', TableName='Log', Key={'id': {'S': 'i'}})",
        ),
        ("moved away", "os.rename(f, 'Log/items/j.json')"),
    ];
    check_routes(ROUTES, REMOVALS);
}

#[test]
fn what_a_process_writes_by_statements_it_has_read() {
    const ROUTES: &[(&str, &str)] = &[
        (
            "ExecuteStatement",
            "api('ExecuteStatement', Statement=\"UPDATE Log SET m=1 WHERE id='i'\")",
        ),
        (
            "BatchExecuteStatement",
            "api('BatchExecuteStatement', Statements=[{'Statement': \"UPDATE Log SET m=1 WHERE id='i'\"}])",
        ),
        (
            "ExecuteTransaction",
            "api('ExecuteTransaction', TransactStatements=[{'Statement': \"UPDATE Log SET m=1 WHERE id='i'\"}])",
        ),
    ];
    const REMOVALS: &[(&str, &str)] = &[(
        "PartiQL DELETE",
        "api('ExecuteStatement', Statement=\"DELETE FROM Log WHERE id='i'\")",
    )];
    check_routes(ROUTES, REMOVALS);
}

/// Checks each way to write or remove the item: alone, and after another process changed it.
fn check_routes(routes: &[(&str, &str)], removals: &[(&str, &str)]) {
    for (name, route) in routes {
        check_reader(name, &format!("{route}; told(write)"), "no error", "2");
        check_reader(
            &format!("{name}, then somebody else"),
            &format!("{route}; other(); told(write)"),
            STALE,
            "5",
        );
    }
    for (name, route) in removals {
        check_reader(name, &format!("{route}; told(write)"), "no error", "2");
        check_reader(
            &format!("{name}, then somebody else"),
            &format!("{route}; other(); told(write)"),
            "no error",
            "2",
        );
    }
}

#[test]
fn an_item_that_is_not_there_refuses_nobody() {
    check_reader(
        "somebody else removes it",
        "sh('rm $1'); told(write)",
        "no error",
        "2",
    );
    check_reader(
        "and a new file takes its place",
        "sh('rm $1'); told(replace)",
        "no error",
        "2",
    );
    check(
        "in a shell",
        "read -r x < $f; rm $f; echo '{\"n\":2}' > $f && echo no error",
        "no error",
        "2",
    );
    let made_anew = "sh('rm $1'); other(); told(write)";
    check_reader(
        "somebody else removes it and makes another",
        made_anew,
        STALE,
        "5",
    );
}

#[test]
fn to_look_at_an_item_by_its_name_is_enough_to_go_on() {
    check_reader(
        "a look after the change",
        "other(); os.stat(f); told(write)",
        "no error",
        "2",
    );
    check_reader(
        "a look after the refusal",
        "other(); told(write); os.stat(f); told(write)",
        "no error",
        "2",
    );
    check_reader(
        "a look and a new file",
        "other(); os.stat(f); told(replace)",
        "no error",
        "2",
    );
    check_reader(
        "a look before the change",
        "os.stat(f); other(); told(write)",
        STALE,
        "5",
    );
    check_reader(
        "a look, then another change",
        "other(); os.stat(f); sh('echo \"{\\\\\"n\\\\\":6}\" > $1'); told(write)",
        STALE,
        "6",
    );
    check_reader(
        "truncation",
        "other(); os.truncate(f, 0); told(write)",
        STALE,
        "5",
    );
    let descriptor = "w = os.open(f, os.O_WRONLY | os.O_TRUNC); other(); os.fstat(w); told(lambda: os.write(w, b'{\"n\":2}'))";
    check_reader("the attributes of a descriptor", descriptor, STALE, "5");
    let both_ways = "python3 - $f <<'END'\nimport os, subprocess, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\nos.read(fd, 100)
subprocess.check_call(['sh', '-c', 'echo \"{\\\\\"n\\\\\":5}\" > $1', 'sh', sys.argv[1]])\nos.ftruncate(fd, 0)
try: os.pwrite(fd, b'{\"n\":2}', 0)\nexcept OSError as e: print(e.strerror)\nEND";
    check(
        "truncation of what was read by the same descriptor",
        both_ways,
        "Stale file handle",
        "5",
    );
}

#[test]
fn an_acknowledged_unlink_is_final() {
    const BAD: &str = "told(lambda: write('{\"n\":}'))";
    check_reader(
        "a refused text after it",
        &format!("os.unlink(f); {BAD}"),
        "Invalid argument",
        "",
    );
    check_reader(
        "by another thread",
        &format!("in_thread(lambda: os.unlink(f)); sh('[ ! -e $1 ]'); {BAD}"),
        "Invalid argument",
        "",
    );
    check_reader(
        "a good text makes another item",
        "in_thread(lambda: os.unlink(f)); sh('[ ! -e $1 ]'); told(write)",
        "no error",
        "2",
    );
    let put =
        "os.unlink(f); told(lambda: os.close(os.open(f, os.O_WRONLY | os.O_CREAT | os.O_EXCL)))";
    check_reader("a new file that stays empty", put, "no error", "null");
    check(
        "install",
        "t=$(mktemp); echo '{\"n\":}' > $t; install $t $f 2>&1; rm $t",
        "Invalid argument",
        "",
    );
    let edited = "fd = os.open(f, os.O_RDWR); os.read(fd, 100); sh('rm $1'); os.pwrite(fd, b'{\"id\":\"i\",\"n\":3}', 0); told(lambda: os.fsync(fd))";
    check_reader(
        "an edit of what was there",
        edited,
        "the item was deleted by rm (process ",
        "",
    );
    check_reader(
        "and its descriptor is closed",
        &edited.replace("os.fsync", "os.close"),
        "hint: write the text to a new file of that name; with -o lww",
        "",
    );
}

#[test]
fn who_is_refused_hears_what_changed_and_what_to_do() {
    let changed = "other(); told(write)";
    check_reader(
        "who, and which attributes",
        changed,
        "the item was changed by sh (process ",
        "5",
    );
    check_reader(
        "another value",
        changed,
        ") since it was read: another value: n\n",
        "5",
    );
    check_reader(
        "the hint",
        changed,
        "hint: read it again, then write; with -o lww the last writer wins. The item is unchanged.",
        "5",
    );
    let more = "write('{\"n\":2,\"a\":1,\"b\":1}'); sh('echo \"{\\\\\"n\\\\\":5,\\\\\"a\\\\\":1,\\\\\"c\\\\\":1}\" > $1')";
    check_reader(
        "of its own text",
        &format!("{more}; told(write)"),
        "another value: n; new: c; gone: b\n",
        "5",
    );
    check_reader(
        "a new file in its place",
        "other(); told(replace)",
        ") since it was read: another value: n\n",
        "5",
    );
    let other_version = "v=$(jq -r .etag ${f%.json}.meta); echo '{\"n\":5}' > $f; echo '{\"n\":2}' > ${f%.json}.$v.casjson; cat .ddb/errors/last";
    check(
        "of a version",
        other_version,
        "the item is not of that version any more",
        "5",
    );
    check(
        "a version too names the option",
        other_version,
        "-o lww",
        "5",
    );
}

/// A script that opens an item in vim on a terminal, changes it there and then elsewhere, and types
/// on: each key when the program has asked for it.
const VIM: &str = r#"
import os, pty, subprocess, sys
f, write = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.environ['TERM'] = 'xterm'
    os.execvp('vim', ['vim', '-u', 'NONE', '-i', 'NONE', '-c', 'set nocompatible', '-c', 's/1/2/', f])
def until(*expected):
    shown = b''
    while not any(word in shown for word in expected): shown += os.read(terminal, 65536)
    if b'E5' in shown: sys.exit(repr(shown))
    return shown
until(b'"n":2')
subprocess.check_call(['sh', '-c', 'echo \'{"n":5}\' > "$1"', 'sh', f])
os.write(terminal, write.encode() + b'\r')
if b'(y/n)' in until(b'(y/n)', b'written', b'E5'):
    os.write(terminal, b'y')
    until(b'written', b'E5')
os.write(terminal, b':q\r')
try:
    while os.read(terminal, 65536): pass
except OSError: pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

#[test]
fn vim_overwrites_what_somebody_else_changed_when_it_is_told_to() {
    if mounted().sh("command -v vim").status != 0 {
        return eprintln!("vim is not there: left out");
    }
    for write in [
        ":w",
        ":w!",
        ":set nowritebackup | w",
        ":set backupcopy=no | w!",
        ":set backupcopy=yes | w",
    ] {
        check(
            write,
            &format!("python3 - $f '{write}' <<'END'\n{VIM}\nEND"),
            "",
            "2",
        );
    }
}

#[test]
fn an_open_file_outlives_its_name() {
    let mount = mounted();
    let script = "python3 -c \"\nimport os\nf = 'Log/items/i.json'\nopen(f, 'w').write('{\\\"n\\\":1}')\nr = os.open(f, os.O_RDONLY)\nbefore = os.fstat(r)\nos.unlink(f)\nafter = os.fstat(r)\nassert (after.st_size, after.st_ino) == (before.st_size, before.st_ino), (before, after)\nprint(os.read(r, 100).decode(), end='')\nassert not os.path.exists(f)\nos.close(r)\nw = os.open(f, os.O_WRONLY | os.O_CREAT | os.O_EXCL)\nos.write(w, b'{}')\nos.rename(f, f + '~')\nassert os.fstat(w).st_size >= 0\nx = os.open(f, os.O_WRONLY | os.O_CREAT | os.O_EXCL)\nos.write(x, b'{\\\"n\\\":3}')\nos.close(x)\nos.close(w)\"; cat Log/items/i.json";
    assert_eq!(
        mount.sh(script).ok(),
        "{\"id\":\"i\",\"n\":1}\n{\"id\":\"i\",\"n\":3}\n"
    );
}

/// Checks which changes of a created file the table's stream shows: docs/filesystem.md 4.
#[test]
fn a_created_file_is_one_change_and_an_exclusive_one_two() {
    let cases: [(&str, &[&str]); 8] = [
        (": > $f", &["INSERT"]),
        ("echo '{}' > $f", &["INSERT"]),
        ("touch $f; touch $f", &["INSERT"]),
        ("jq -nc '{n:1}' > $f", &["INSERT"]),
        ("cat /dev/null > $f", &["INSERT"]),
        ("echo '{\"n\":}' > $f", &[]),
        ("echo '{\"n\":1}' > $t; cp $t $f", &["INSERT", "MODIFY"]),
        ("echo '{\"n\":}' > $t; cp $t $f", &["INSERT", "REMOVE"]),
    ];
    let mount = mounted();
    for (number, (script, _)) in cases.iter().enumerate() {
        mount.sh(&format!(
            "t=$(mktemp); f=Log/items/i{number}.json; {script}; rm $t"
        ));
    }
    let history = history(mount);
    for (number, (script, expected)) in cases.iter().enumerate() {
        let of = history
            .iter()
            .filter(|(key, _)| *key == format!("i{number}"))
            .map(|(_, change)| change.as_str());
        assert_eq!(of.collect::<Vec<_>>(), *expected, "{script}");
    }
}
