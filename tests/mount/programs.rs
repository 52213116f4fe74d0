//! Real programs write items through a real mount: the result of each, the stored item afterwards,
//! and the text that it can read back.
//!
//! A case is a bash script. `$f` is the item's file, `$d` its directory, `$t` a directory outside
//! the mount. The table has the partition key `pk` and no sort key. Programs that are not installed
//! are named on standard error and left out.

use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::support::daemon::{self, free_address, post};
use crate::support::mounted;
use crate::support::mounted::{Mount, Ran};
use ddbfs::model::TableName;
use ddbfs::model::api::{Precondition, PutItemRequest};

/// One script against one item.
struct Case<'a> {
    name: &'a str,
    /// The item before the script, without its key.
    before: Option<&'a str>,
    script: &'a str,
    succeeds: bool,
    /// The item after it, without its key.
    after: Option<&'a str>,
    /// Part of `.ddb/errors/last`, when the script must leave an error there.
    error: &'a str,
}

const SUCCEEDS: bool = true;
const FAILS: bool = false;
const QUIET: &str = "";

/// A mount on disk with the table `Orders`, and a directory that is not in the mount.
struct Place {
    mount: Mount,
    outside: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let outside = tempfile::tempdir().unwrap();
        let mount = Mount::of(mounted::on_disk(&outside.path().join("data")));
        Self { mount, outside }
    }

    fn outside(&self) -> &Path {
        self.outside.path()
    }

    fn sh(&self, script: &str) -> Ran {
        self.mount.sh(script)
    }
}

fn run(cases: &[Case<'_>]) {
    let place = Place::new();
    place.sh("mkdir 'Orders@pk:S'").ok();
    let failures: Vec<String> = cases
        .iter()
        .enumerate()
        .filter_map(|(n, case)| check(&place, n, case).err())
        .collect();
    place.mount.end();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

fn check(place: &Place, number: usize, case: &Case<'_>) -> Result<(), String> {
    let program = case.script.split([' ', '\n']).next().unwrap_or_default();
    let known = ["vim", "jq", "tar", "perl", "python3", "ed", "install"];
    if known.contains(&program) && place.sh(&format!("command -v {program}")).status != 0 {
        eprintln!("{program} is not there: case {:?} left out", case.name);
        return Ok(());
    }
    let key = format!("i{number}");
    let environment = format!(
        "d=Orders/items f=Orders/items/{key}.json t={}\n",
        place.outside().display()
    );
    if let Some(before) = case.before {
        place
            .sh(&format!("{environment} cat > $f <<'END'\n{before}\nEND"))
            .ok();
    }
    // In the same session as the script: `last` is per session.
    let ran = place.sh(&format!(
        "{environment}{}\nstatus=$?; cat .ddb/errors/last > $t/last 2>/dev/null; exit $status",
        case.script
    ));
    let stored = place.sh(&format!("{environment} cat $f"));
    let stored = (stored.status == 0).then(|| stored.out.trim_end().to_owned());
    let expected = case.after.map(|after| with_key(&key, after));
    let last = std::fs::read_to_string(place.outside().join("last")).unwrap_or_default();
    let told = case.error.is_empty() || case.error.split('|').all(|part| last.contains(part));
    if (ran.status == 0) == case.succeeds && stored == expected && told {
        return Ok(());
    }
    Err(format!(
        "{}: status {}, expected success {}\n  stored   {stored:?}\n  expected {expected:?}\n  stderr {:?}\n  last error {last:?}, expected {:?}",
        case.name, ran.status, case.succeeds, ran.err, case.error
    ))
}

/// Returns the line that an item's file shows: its key first.
fn with_key(key: &str, rest: &str) -> String {
    match rest.trim_start_matches('{') {
        "}" => format!("{{\"pk\":\"{key}\"}}"),
        members => format!("{{\"pk\":\"{key}\",{members}"),
    }
}

#[test]
fn shells() {
    run(&[
        Case {
            name: "a new item",
            before: None,
            script: r#"echo '{"a":1}' > $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1}"#),
            error: QUIET,
        },
        Case {
            name: "replace",
            before: Some(r#"{"a":1,"b":2}"#),
            script: r#"echo '{"a":3}' > $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":3}"#),
            error: QUIET,
        },
        Case {
            name: "only truncate",
            before: Some(r#"{"a":1}"#),
            script: ": > $f",
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1}"#),
            error: QUIET,
        },
        Case {
            name: "append to nothing",
            before: None,
            script: r#"echo '{"a":1}' >> $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1}"#),
            error: QUIET,
        },
        Case {
            name: "append to an item",
            before: Some(r#"{"a":1}"#),
            script: r#"echo '{"a":2}' >> $f"#,
            succeeds: FAILS,
            after: Some(r#"{"a":1}"#),
            error: "EINVAL|nothing more after the object|The item is unchanged.",
        },
        Case {
            name: "bad JSON",
            before: Some(r#"{"a":1}"#),
            script: r#"echo '{"status":open}' > $f"#,
            succeeds: FAILS,
            after: Some(r#"{"a":1}"#),
            error: "write Orders/items/i5.json: EINVAL ValidationException\n  {\"status\":open}\n            ^ expected a JSON value at byte 10\n  hint: strings need quotes. The item is unchanged.\n",
        },
        Case {
            name: "bad JSON, no item",
            before: None,
            script: r#"echo '{bad' > $f"#,
            succeeds: FAILS,
            after: None,
            error: "expected a member name in quotes",
        },
        Case {
            name: "two documents in one write",
            before: None,
            script: r#"printf '{"a":1} {"a":2}' > $f"#,
            succeeds: FAILS,
            after: None,
            error: "nothing more after the object|The item is unchanged.",
        },
        Case {
            name: "two documents in two writes, as bash does with lines",
            before: None,
            script: r#"printf '{"a":1}\n{"a":2}\n' > $f"#,
            succeeds: FAILS,
            after: Some(r#"{"a":1}"#),
            error: "write Orders|nothing more after the object|stored before stays stored.",
        },
        Case {
            name: "noclobber, no item",
            before: None,
            script: r#"set -C; echo '{"a":1}' > $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1}"#),
            error: QUIET,
        },
        Case {
            name: "noclobber, an item",
            before: Some(r#"{"a":1}"#),
            script: r#"set -C; echo '{"a":2}' > $f"#,
            succeeds: FAILS,
            after: Some(r#"{"a":1}"#),
            error: QUIET,
        },
        Case {
            name: "a descriptor kept open, the text in pieces",
            before: Some(r#"{"a":1}"#),
            script: r#"exec 3> $f; echo '{"a":' >&3; /bin/echo '2' >&3; echo '}' >&3; exec 3>&-"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":2}"#),
            error: QUIET,
        },
        Case {
            name: "a group of commands",
            before: Some(r#"{"a":1}"#),
            script: r#"{ echo '{"a":'; /bin/echo '[1,'; cat /dev/null; /bin/echo '2]}'; } > $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":[1,2]}"#),
            error: QUIET,
        },
        Case {
            name: "a subshell",
            before: None,
            script: r#"( echo '{"a":'; /bin/echo '1}' ) > $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1}"#),
            error: QUIET,
        },
        Case {
            name: "an incomplete text: the shell does not look, the item stays",
            before: Some(r#"{"a":1}"#),
            script: r#"echo '{"a":' > $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1}"#),
            error: "EINVAL|the text ends too early",
        },
        Case {
            name: "an incomplete text of a program that looks",
            before: Some(r#"{"a":1}"#),
            script: r#"/bin/echo '{"a":' > $f"#,
            succeeds: FAILS,
            after: Some(r#"{"a":1}"#),
            error: "EINVAL|the text ends too early",
        },
        Case {
            name: "a here document",
            before: None,
            script: "cat > $f <<END\n{\n  \"a\": 1,\n  \"b\": [\n    true\n  ]\n}\nEND",
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1,"b":[true]}"#),
            error: QUIET,
        },
        Case {
            name: "both forms",
            before: None,
            script: r#"echo '{"a":{"N":"1"}}' > ${f%.json}.ddbjson && grep -q '"a":{"N":"1"}' ${f%.json}.ddbjson"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1}"#),
            error: QUIET,
        },
        Case {
            name: "the typed form under the plain name",
            before: None,
            script: r#"echo '{"a":{"N":"1"}}' > $f"#,
            succeeds: FAILS,
            after: None,
            error: "looks like DynamoDB JSON",
        },
        Case {
            name: "another key in the body",
            before: None,
            script: r#"echo '{"pk":"zzz","a":1}' > $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1}"#),
            error: QUIET,
        },
        Case {
            name: "an item over 400 KB",
            before: Some(r#"{"a":1}"#),
            script: r#"{ printf '{"a":"'; head -c 420000 /dev/zero | tr '\0' x; printf '"}'; } > $f"#,
            succeeds: FAILS,
            after: Some(r#"{"a":1}"#),
            error: "EFBIG",
        },
        Case {
            name: "a large item",
            before: None,
            script: r#"{ printf '{"a":"'; head -c 400000 /dev/zero | tr '\0' x; printf '"}'; } > $f; test $(wc -c < $f) -gt 400000 && echo '{}' > $f"#,
            succeeds: SUCCEEDS,
            after: Some("{}"),
            error: QUIET,
        },
        Case {
            name: "read and write descriptors at once",
            before: Some(r#"{"a":1}"#),
            script: r#"exec 4< $f; echo '{"a":2}' > $f; cat <&4 | grep -q '"a":1'"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":2}"#),
            error: QUIET,
        },
    ]);
}

#[test]
fn coreutils() {
    run(&[
        Case {
            name: "dd",
            before: Some(r#"{"a":1}"#),
            script: r#"printf '{"a":2}' | dd of=$f bs=3 status=none"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":2}"#),
            error: QUIET,
        },
        Case {
            name: "dd in place",
            before: Some(r#"{"a":1}"#),
            script: r#"at=$(grep -abo '1}' $f | cut -d: -f1); printf 7 | dd of=$f bs=1 seek=$at conv=notrunc status=none"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":7}"#),
            error: QUIET,
        },
        Case {
            name: "dd in place, bad",
            before: Some(r#"{"a":1}"#),
            script: "printf x | dd of=$f bs=1 conv=notrunc,fsync status=none",
            succeeds: FAILS,
            after: Some(r#"{"a":1}"#),
            error: "EINVAL|expected a JSON object at byte 0",
        },
        Case {
            name: "cp to a new item",
            before: None,
            script: r#"echo '{"a":1}' > $t/x && cp $t/x $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1}"#),
            error: QUIET,
        },
        Case {
            name: "cp over an item",
            before: Some(r#"{"a":1}"#),
            script: r#"echo '{"a":2}' > $t/x && cp $t/x $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":2}"#),
            error: QUIET,
        },
        Case {
            name: "cp -a",
            before: None,
            script: r#"echo '{"a":1}' > $t/x && cp -a $t/x $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1}"#),
            error: QUIET,
        },
        Case {
            name: "cp of bad JSON",
            before: Some(r#"{"a":1}"#),
            script: r#"echo '{"a":2' > $t/x && cp $t/x $f"#,
            succeeds: FAILS,
            after: Some(r#"{"a":1}"#),
            error: "EINVAL|the text ends too early",
        },
        Case {
            name: "cp --backup",
            before: Some(r#"{"a":1}"#),
            script: r#"echo '{"a":2}' > $t/x && cp --backup=simple $t/x $f && grep -q '"a":1' $f~"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":2}"#),
            error: QUIET,
        },
        Case {
            name: "cp of nothing",
            before: Some(r#"{"a":1}"#),
            script: "cp /dev/null $f",
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1}"#),
            error: QUIET,
        },
        Case {
            name: "install",
            before: Some(r#"{"a":1}"#),
            script: r#"echo '{"a":2}' > $t/x && install -m 644 $t/x $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":2}"#),
            error: QUIET,
        },
        Case {
            name: "tee",
            before: Some(r#"{"a":1}"#),
            script: r#"echo '{"a":2}' | tee $f > /dev/null"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":2}"#),
            error: QUIET,
        },
        Case {
            name: "tee -a",
            before: Some(r#"{"a":1}"#),
            script: r#"echo '{"a":2}' | tee -a $f > /dev/null"#,
            succeeds: FAILS,
            after: Some(r#"{"a":1}"#),
            error: "nothing more after the object",
        },
        Case {
            name: "truncate",
            before: Some(r#"{"a":1}"#),
            script: "truncate -s 0 $f",
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1}"#),
            error: QUIET,
        },
        Case {
            name: "touch an item",
            before: Some(r#"{"a":1}"#),
            script: "touch $f",
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":1}"#),
            error: QUIET,
        },
        Case {
            name: "mv of a scratch file onto an item",
            before: Some(r#"{"a":1}"#),
            script: r#"echo '{"a":2}' > $d/.new && mv $d/.new $f && ! test -e $d/.new"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":2}"#),
            error: QUIET,
        },
        Case {
            name: "mv of a bad scratch file",
            before: Some(r#"{"a":1}"#),
            script: r#"echo '{"a":' > $d/.bad && mv $d/.bad $f"#,
            succeeds: FAILS,
            after: Some(r#"{"a":1}"#),
            error: "EBADMSG",
        },
        Case {
            name: "mv from another file system",
            before: None,
            script: r#"echo '{"a":2}' > $t/x && mv $t/x $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"a":2}"#),
            error: QUIET,
        },
        Case {
            name: "rm",
            before: Some(r#"{"a":1}"#),
            script: "rm $f",
            succeeds: SUCCEEDS,
            after: None,
            error: QUIET,
        },
    ]);
}

#[test]
fn editors_and_filters() {
    run(&[
        Case {
            name: "jq onto its own input",
            before: Some(r#"{"n":1}"#),
            script: "jq '.n+=1' $f > $f",
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":2}"#),
            error: QUIET,
        },
        Case {
            name: "jq that fails onto its own input",
            before: Some(r#"{"n":1}"#),
            script: "jq '.n|error' $f > $f",
            succeeds: FAILS,
            after: Some(r#"{"n":1}"#),
            error: QUIET,
        },
        Case {
            name: "sed -i",
            before: Some(r#"{"n":1}"#),
            script: "sed -i 's/1/2/2' $f && sed -i 's/\"n\":1/\"n\":2/' $f",
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":2}"#),
            error: QUIET,
        },
        Case {
            name: "sed -i with a backup",
            before: Some(r#"{"n":1}"#),
            script: r#"sed -i.bak 's/"n":1/"n":2/' $f && grep -q '"n":1' $f.bak"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":2}"#),
            error: QUIET,
        },
        Case {
            name: "sed -i to bad JSON",
            before: Some(r#"{"n":1}"#),
            script: r#"sed -i 's/"n":1/"n":/' $f"#,
            succeeds: FAILS,
            after: Some(r#"{"n":1}"#),
            error: "EBADMSG",
        },
        Case {
            name: "vim, its defaults",
            before: Some(r#"{"n":1}"#),
            script: r#"vim -es -u NONE -c '%s/"n":1/"n":2/' -c wq $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":2}"#),
            error: QUIET,
        },
        Case {
            name: "vim, a backup by rename",
            before: Some(r#"{"n":1}"#),
            script: r#"vim -es -u NONE -c 'set backup backupcopy=no backupdir=. backupskip=' -c '%s/"n":1/"n":2/' -c wq $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":2}"#),
            error: QUIET,
        },
        Case {
            name: "vim, a backup by copy, with a swap file",
            before: Some(r#"{"n":1}"#),
            script: r#"vim -es -u NONE -c 'set swapfile backup backupcopy=yes backupdir=. backupskip=' -c '%s/"n":1/"n":2/' -c wq $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":2}"#),
            error: QUIET,
        },
        Case {
            name: "vim, bad JSON",
            before: Some(r#"{"n":1}"#),
            script: r#"vim -es -u NONE -c '%s/"n":1/"n":/' -c 'w' -c 'cquit' $f"#,
            succeeds: FAILS,
            after: Some(r#"{"n":1}"#),
            error: "The item is unchanged.",
        },
        Case {
            name: "ed",
            before: Some(r#"{"n":1}"#),
            script: r#"ed -s $f <<< $'s/"n":1/"n":2/\nw\nq'"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":2}"#),
            error: QUIET,
        },
        Case {
            name: "perl -i",
            before: Some(r#"{"n":1}"#),
            script: r#"perl -pi -e 's/"n":1/"n":2/' $f"#,
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":2}"#),
            error: QUIET,
        },
    ]);
}

#[test]
fn python() {
    run(&[
        Case {
            name: "json.dump",
            before: Some(r#"{"n":1}"#),
            script: "python3 - $f <<'END'\nimport json, sys\nwith open(sys.argv[1], 'w') as f:\n    json.dump({'n': 2}, f)\nEND",
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":2}"#),
            error: QUIET,
        },
        Case {
            name: "an exception in the middle",
            before: Some(r#"{"n":1}"#),
            script: "python3 - $f <<'END'\nimport sys\nwith open(sys.argv[1], 'w') as f:\n    f.write('{\"n\":')\n    f.flush()\n    raise SystemExit(3)\nEND",
            succeeds: FAILS,
            after: Some(r#"{"n":1}"#),
            error: "the text ends too early",
        },
        Case {
            name: "read, change, write in place",
            before: Some(r#"{"n":1}"#),
            script: "python3 - $f <<'END'\nimport json, sys\nwith open(sys.argv[1], 'r+') as f:\n    item = json.load(f)\n    item['n'] += 1\n    f.seek(0)\n    json.dump(item, f)\n    f.truncate()\nEND",
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":2}"#),
            error: QUIET,
        },
        Case {
            name: "changed underneath",
            before: Some(r#"{"n":1}"#),
            script: "python3 - $f <<'END'\nimport errno, os, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\ntext = os.read(fd, 100)\nwith open(sys.argv[1], 'w') as other:\n    other.write('{\"n\":5}')\nos.pwrite(fd, text.replace(b'1}', b'2}'), 0)\ntry:\n    os.fsync(fd)\n    raise SystemExit('no error')\nexcept OSError as error:\n    assert error.errno == errno.ESTALE, error\nEND",
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":5}"#),
            error: "ESTALE|read it again",
        },
        Case {
            name: "exclusive creation",
            before: Some(r#"{"n":1}"#),
            script: "python3 -c \"open('$f', 'x')\"",
            succeeds: FAILS,
            after: Some(r#"{"n":1}"#),
            error: QUIET,
        },
        Case {
            name: "the item comes first between creation and the text",
            before: None,
            script: "python3 - $f <<'END'\nimport errno, os, sys\nfd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_EXCL)\nother = os.open(sys.argv[1].replace('.json', '.ddbjson'), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)\nos.write(other, b'{\"n\":{\"N\":\"5\"}}')\ntry:\n    os.write(fd, b'{\"n\":1}')\n    raise SystemExit('no error')\nexcept OSError as error:\n    assert error.errno == errno.EEXIST, error\nEND",
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":5}"#),
            error: QUIET,
        },
        Case {
            name: "pieces out of order",
            before: None,
            script: "python3 - $f <<'END'\nimport os, sys\nfd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\nos.pwrite(fd, b'1}', 5)\nos.pwrite(fd, b'{\"n\":', 0)\nos.close(fd)\nEND",
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":1}"#),
            error: QUIET,
        },
        Case {
            name: "write to a temporary file and replace",
            before: Some(r#"{"n":1}"#),
            script: "python3 - $f <<'END'\nimport os, sys, tempfile\nfd, name = tempfile.mkstemp(dir=os.path.dirname(sys.argv[1]))\nos.write(fd, b'{\"n\":2}')\nos.fsync(fd)\nos.close(fd)\nos.chmod(name, 0o600)\nos.replace(name, sys.argv[1])\nEND",
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":2}"#),
            error: QUIET,
        },
        Case {
            name: "a shared mapping",
            before: Some(r#"{"n":1}"#),
            script: "python3 - $f <<'END'\nimport mmap, sys\nwith open(sys.argv[1], 'r+b') as f:\n    with mmap.mmap(f.fileno(), 0) as m:\n        at = m.find(b'1}')\n        m[at:at + 1] = b'2'\n        m.flush()\nEND",
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":2}"#),
            error: QUIET,
        },
        Case {
            name: "a text closed by another thread",
            before: None,
            script: "python3 - $f <<'END'\nimport os, sys, threading\nfd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\nos.write(fd, b'{')\ndef close():\n    try:\n        os.close(fd)\n    except OSError:\n        print('refused')\nthread = threading.Thread(target=close)\nthread.start()\nthread.join()\nEND",
            succeeds: SUCCEEDS,
            after: None,
            error: "the text ends too early",
        },
        Case {
            name: "removed while it is written",
            before: Some(r#"{"n":1}"#),
            script: "python3 - $f <<'END'\nimport os, sys\nfd = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)\nos.write(fd, b'{\"n\":')\nos.unlink(sys.argv[1])\nos.write(fd, b'2}')\nos.close(fd)\nEND",
            succeeds: SUCCEEDS,
            after: Some(r#"{"n":2}"#),
            error: QUIET,
        },
        Case {
            name: "killed in the middle",
            before: Some(r#"{"n":1}"#),
            script: "python3 - $f <<'END'\nimport os, signal, sys\nfd = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)\nos.write(fd, b'{\"n\":')\nos.kill(os.getpid(), signal.SIGKILL)\nEND",
            succeeds: FAILS,
            after: Some(r#"{"n":1}"#),
            error: QUIET,
        },
    ]);
}

#[test]
fn tar_and_cp_clone_a_table() {
    let place = Place::new();
    place
        .sh("mkdir 'Orders@pk:S,sk:N' && mkdir -p Orders/items/u1")
        .ok();
    place.sh(r#"for n in 1 2 3; do echo "{\"total\":$n,\"tag\":\"é \\u00e9\"}" > Orders/items/u1/$n.json || exit; done"#).ok();
    let outside = place.outside();
    let archive = outside.join("o.tar");
    let archive = archive.display();
    place.sh(&format!("tar -C Orders -cf {archive} schema.json items && mkdir Copy && tar -C Copy -xf {archive}")).ok();
    place.sh("diff -r Orders/items Copy/items").ok();
    // Over an existing item.
    place
        .sh(&format!(
            "echo '{{}}' > Copy/items/u1/2.json && tar -C Copy -xf {archive} items"
        ))
        .ok();
    place.sh("diff -r Orders/items Copy/items").ok();
    place.sh("mkdir Third && cp -r Orders/schema.json Orders/items Third && diff -r Orders/items Third/items").ok();
}

#[test]
fn a_draft_table_becomes_one_when_its_schema_is_written() {
    let place = Place::new();
    place
        .sh("mkdir Pets && grep -q TableName Pets/schema.json")
        .ok();
    place
        .sh("mkdir -p Pets/items; echo '{}' > Pets/items/x.json")
        .failed();
    place
        .sh("grep -q 'write its schema.json first' .ddb/errors/last")
        .ok();
    place
        .sh("echo '{\"KeySchema\":[]}' > Pets/schema.json")
        .failed();
    place
        .sh("grep -q 'No table was created.' .ddb/errors/last")
        .ok();
    let copy = place.outside().join("schema");
    place
        .sh(&format!(
            "cp Pets/schema.json {0} && cp {0} Pets/schema.json",
            copy.display()
        ))
        .ok();
    place
        .sh("echo '{}' > Pets/items/x.json && grep -q '\"pk\":\"x\"' Pets/items/x.json")
        .ok();
}

/// Checks that a created and unwritten file is an item of nothing but its key, whatever the program
/// and the way.
#[test]
fn created_and_not_written() {
    let made = |name: &'static str, script: &'static str| Case {
        name,
        before: None,
        script,
        succeeds: SUCCEEDS,
        after: Some("{}"),
        error: QUIET,
    };
    let none =
        |name: &'static str, script: &'static str, succeeds: bool, error: &'static str| Case {
            name,
            before: None,
            script,
            succeeds,
            after: None,
            error,
        };
    let text = |name: &'static str, script: &'static str| Case {
        after: Some(r#"{"a":1}"#),
        ..made(name, script)
    };
    run(&[
        made(
            "touch",
            "touch $f && test -s $f && ls $d | grep -q ${f##*/}",
        ),
        made(
            "a redirection",
            ": > $f && test -s $f && ls $d | grep -q ${f##*/}",
        ),
        made("the other form", ": > ${f%.json}.ddbjson && cat $f"),
        made("cp", "cp /dev/null $f && cat $f"),
        made("dd", "dd if=/dev/null of=$f 2> /dev/null && cat $f"),
        made("a child", "/bin/true > $f && cat $f"),
        made(
            "pathlib",
            "python3 -c \"import pathlib; pathlib.Path('$f').touch(exist_ok=False)\" && cat $f",
        ),
        made(
            "an append",
            "python3 -c \"open('$f', 'a').close()\" && cat $f",
        ),
        made(
            "another descriptor stays open for a while",
            "python3 -c \"import os; a = os.open('$f', os.O_CREAT | os.O_WRONLY); b = os.dup(a); os.close(a); os.close(b); open('$f').close()\"",
        ),
        made(
            "mknod",
            "python3 -c \"import os; os.mknod('$f')\" && cat $f",
        ),
        Case {
            succeeds: FAILS,
            ..made(
                "mknod of what is there",
                "python3 -c \"import os; os.mknod('$f'); os.mknod('$f')\"",
            )
        },
        Case {
            succeeds: FAILS,
            ..made("a lock, twice", "set -C; : > $f && cat $f && : > $f")
        },
        Case {
            succeeds: FAILS,
            ..made(
                "a lock, made anew",
                "python3 -c \"import os; open('$f', 'x'); open('$f', 'x')\"",
            )
        },
        text(
            "mknod and a text that is shorter than the key",
            "python3 -c \"import os; os.mknod('$f'); f = os.open('$f', os.O_WRONLY); os.write(f, b'{\\\"a\\\":1}'); os.close(f)\"",
        ),
        text("touch and an append", r#"touch $f; echo '{"a":1}' >> $f"#),
        text(
            "a child that writes nothing, and one that writes",
            r#"{ /bin/true; /bin/echo '{"a":1}'; } > $f"#,
        ),
        text(
            "exclusive, mended",
            "python3 -c \"import os; f = os.open('$f', os.O_CREAT | os.O_EXCL | os.O_RDWR); os.pwrite(f, b'1}', 5); os.pwrite(f, b'{\\\"a\\\":', 0); os.close(f)\"",
        ),
        none(
            "exclusive, a bad text",
            r#"echo '{"a":}' > $t/bad; cp $t/bad $f"#,
            FAILS,
            "expected a JSON value",
        ),
        none(
            "exclusive, half a text",
            r#"printf '{"a":' > $t/bad; cp $t/bad $f"#,
            FAILS,
            "the text ends too early",
        ),
        none(
            "unlinked before it was closed",
            "python3 -c \"import os; f = os.open('$f', os.O_CREAT | os.O_WRONLY); os.unlink('$f'); os.close(f)\"",
            SUCCEEDS,
            QUIET,
        ),
        none(
            "exclusive, unlinked before it was closed",
            "python3 -c \"import os; f = os.open('$f', os.O_CREAT | os.O_EXCL | os.O_WRONLY); os.unlink('$f'); os.close(f)\"",
            SUCCEEDS,
            QUIET,
        ),
    ]);
}

/// Checks that of several processes that create one name with O_EXCL, or put one item that must not
/// exist, exactly one succeeds.
#[test]
fn an_exclusive_file_is_a_lock() {
    let place = Place::new();
    place.sh("mkdir 'Orders@pk:S'").ok();
    for round in 0..30 {
        let path = place
            .mount
            .path()
            .join(format!("Orders/items/l{round}.json"));
        let create = || {
            std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&path)
                .is_ok()
        };
        let put = || {
            let item = ddbfs::codec::plain_json::parse(
                format!(r#"{{"pk":"l{round}","by":"api"}}"#).as_bytes(),
            )
            .unwrap();
            let mut request = PutItemRequest::new(TableName::new("Orders").unwrap(), item);
            request.precondition = Some(Precondition::Absent);
            place.mount.db.put_item(request).is_ok()
        };
        let won = std::thread::scope(|scope| {
            let all = [
                scope.spawn(create),
                scope.spawn(put),
                scope.spawn(create),
                scope.spawn(put),
            ];
            all.into_iter()
                .map(|one| one.join().unwrap())
                .filter(|won| *won)
                .count()
        });
        assert_eq!(won, 1, "round {round}");
    }
}

/// Checks the same for two mounts of one data directory, and for a put through HTTP.
#[test]
fn an_exclusive_file_is_a_lock_for_two_mounts_and_for_http() {
    let address = free_address();
    let one = daemon::Mount::with_args(&["--http", &address]);
    let other = daemon::Mount::beside(&one.data());
    one.ok("mkdir Orders@pk:S");
    for round in 0..30 {
        let create = |mount: &daemon::Mount| {
            let path = mount.point().join(format!("Orders/items/l{round}.json"));
            let created = std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(path);
            created
                .map(drop)
                .map_err(|error| assert_eq!(error.kind(), ErrorKind::AlreadyExists))
        };
        let put = || {
            let item = format!(r#"{{"pk":{{"S":"l{round}"}},"by":{{"S":"http"}}}}"#);
            let body = format!(
                r#"{{"TableName":"Orders","Item":{item},"ConditionExpression":"attribute_not_exists(pk)"}}"#
            );
            let answer = post(&address, "PutItem", &body).unwrap();
            if answer.contains("ConditionalCheckFailed") {
                Err(())
            } else {
                assert_eq!(answer.get(..12), Some("HTTP/1.1 200"));
                Ok(())
            }
        };
        let won = std::thread::scope(|scope| {
            let all = [
                scope.spawn(|| create(&one)),
                scope.spawn(put),
                scope.spawn(|| create(&other)),
                scope.spawn(put),
            ];
            all.into_iter()
                .map(|one| one.join().unwrap())
                .filter(Result::is_ok)
                .count()
        });
        assert_eq!(won, 1, "round {round}");
    }
}

/// Checks that a removal of a folder removes created files without text in it; a text that is
/// written later is stored.
#[test]
fn a_created_file_goes_with_its_folder() {
    let place = Place::new();
    place
        .sh("mkdir 'Visits@pk:S,sk:S' Visits/items/u1 Visits/items/u2")
        .ok();
    let folder = place.mount.path().join("Visits/items/u1");
    let other = std::fs::File::create(place.mount.path().join("Visits/items/u2/i.json")).unwrap();
    let created = std::fs::File::create(folder.join("i.json")).unwrap();
    std::fs::remove_dir(&folder).unwrap();
    assert_eq!(created.metadata().unwrap().nlink(), 0);
    drop((created, other));
    assert_eq!(
        place.sh("ls Visits/items Visits/items/u2").ok(),
        "Visits/items:\nu2\n\nVisits/items/u2:\ni.json\n"
    );
    std::fs::create_dir(&folder).unwrap();
    let mut created = std::fs::File::create(folder.join("i.json")).unwrap();
    std::fs::remove_dir(&folder).unwrap();
    created.write_all(b"{\"a\":1}").unwrap();
    drop(created);
    assert_eq!(
        place.sh("cat Visits/items/u1/i.json").ok(),
        "{\"pk\":\"u1\",\"sk\":\"i\",\"a\":1}\n"
    );
}
