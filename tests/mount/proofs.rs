//! Proofs of the contract with real programs over a real mount: sizes under writers, names,
//! directory readers, attributes, scratch files under random access, ends of a mount. Each prints
//! what it checked.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::process::{Command, Stdio};

use crate::support::daemon::{DDBFS, Mount, bash_in, check, texts};

/// A guard that removes the writers' flag file, so that a failed test ends its writers too.
struct Writers {
    flag: std::path::PathBuf,
    children: Vec<std::process::Child>,
}

impl Writers {
    /// Starts shell loops that change, add and remove items until they are dropped.
    fn start(mount: &Mount) -> Self {
        let flag = mount.dir.path().join("writing");
        std::fs::write(&flag, "").unwrap();
        let script = format!(
            "n=0; while [ -e {} ]; do n=$((n+1)); echo \"{{\\\"n\\\":$n,\\\"s\\\":\\\"$(printf '%*s' $((n % 300)) x)\\\"}}\" > Pets/items/Dog/w$0-$((n % 7)).json; rm -f Pets/items/Dog/w$0-$(((n + 3) % 7)).json; done",
            flag.display()
        );
        let children = (0..2).map(|number| {
            Command::new("bash")
                .args(["-c", &script, &number.to_string()])
                .current_dir(mount.point())
                .stdin(Stdio::null())
                .spawn()
                .unwrap()
        });
        Self {
            children: children.collect(),
            flag,
        }
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.flag);
        for child in &mut self.children {
            let _ = child.wait();
        }
    }
}

/// Checks that sizes of every listed file without a writer agree: stat, wc, tar, `find -printf`,
/// while others are written.
#[test]
fn sizes_agree_with_writers_running() {
    let mount = Mount::with_samples();
    let writers = Writers::start(&mount);
    // Files that count the writers' changes have another size for the next program; `result_files`
    // checks that each program sees one.
    let out = mount.ok("set -e; t=$(mktemp -d)
         find . -type f ! -name stats.json ! -name 'w[01]-*' ! -path '*/w[01]-*' | sort > $t/files
         while read -r f; do echo \"$(stat -c %s \"$f\") $(wc -c < \"$f\") $(cat \"$f\" | wc -c) $f\"; done < $t/files > $t/sizes
         awk '$1 != $2 || $2 != $3' $t/sizes
         tar --no-recursion -T $t/files -cf $t/all.tar 2> $t/errors || cat $t/errors
         tar -tvf $t/all.tar --quoting-style=literal | awk '{ print $3 }' > $t/tarred
         cut -d' ' -f1 $t/sizes | diff - $t/tarred
         wc -l < $t/files");
    drop(writers);
    let files: usize = out
        .trim()
        .parse()
        .unwrap_or_else(|_| panic!("sizes differ: {out}"));
    assert!(files > 100, "{files}");
    println!("{files} files have the same size for stat, wc, cat and tar while two writers ran");
}

/// Checks whole walks with the usual programs.
#[test]
fn walks_of_the_whole_mount_end_with_status_0() {
    let mount = Mount::with_samples();
    let walks = [
        ("find", "find . > /dev/null"),
        ("du", "du -a . > /dev/null"),
        ("grep -r", "grep -rl Fido . > /dev/null"),
        (
            "rg",
            "command -v rg > /dev/null || exit 0; rg -l Fido . > /dev/null",
        ),
        ("tar", "tar -cf - . | tar -tf - > /dev/null"),
        (
            "rsync -a",
            "t=$(mktemp -d); rsync -a ./ $t/ && diff -r --no-dereference -x stats.json . $t && rm -r $t",
        ),
        (
            "zip -r",
            "command -v zip > /dev/null || exit 0; t=$(mktemp -d); zip -qr $t/a.zip . && unzip -tq $t/a.zip > /dev/null",
        ),
        (
            "cp -a",
            "t=$(mktemp -d); cp -a . $t/ && diff -r --no-dereference -x stats.json . $t",
        ),
        (
            "tree",
            "command -v tree > /dev/null || exit 0; tree . > /dev/null",
        ),
        ("ls -lR", "ls -lR . > /dev/null"),
        ("python", "python3 -c 'import os; list(os.walk(\".\"))'"),
        (
            "each item once",
            "test -z \"$(find . -name '*.json' | sort | uniq -d)\"",
        ),
        (
            "each inode once",
            "test -z \"$(find . ! -type l -printf '%i\\n' | sort | uniq -d)\"",
        ),
    ];
    for (program, script) in walks {
        let output = mount.bash(script);
        assert!(output.status.success(), "{program}: {:?}", texts(&output));
    }
    println!("{} walks ended with status 0", walks.len());
}

/// Checks that `ls | xargs` passes every name to a program unharmed, whatever the keys.
#[test]
fn names_are_safe_in_three_shells() {
    let mount = Mount::with_samples();
    let keys = [
        ".",
        "..",
        "/",
        "-rf",
        "%2F",
        "x.json",
        "%~",
        "a b",
        "a\tb",
        "a\nb",
        "'q'",
        "\"q\"",
        "$HOME",
        "`id`",
        "*",
        "~root",
        "#x",
        "a;b",
        "a|b",
        "\\",
        "é",
        "\u{200B}",
        "\u{202E}x",
        "=",
        ",",
        "{}",
        "[a]",
        "@x",
        "+x",
        " ",
        "nul\0l",
    ];
    let mut bodies = String::new();
    for key in keys {
        bodies += &serde_json::json!({ "AnimalType": "odd", "Name": key }).to_string();
        bodies.push('\n');
    }
    let long = "k".repeat(1024);
    bodies += &serde_json::json!({ "AnimalType": "odd", "Name": long }).to_string();
    bodies.push('\n');
    bodies += &serde_json::json!({ "AnimalType": "p".repeat(2048), "Name": "x" }).to_string();
    let mut load = Command::new(DDBFS)
        .args(["load", "Pets", "--data"])
        .arg(mount.data())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    load.stdin
        .take()
        .unwrap()
        .write_all(bodies.as_bytes())
        .unwrap();
    assert!(load.wait().unwrap().success());

    let expected: BTreeSet<String> = keys
        .iter()
        .map(|key| (*key).to_owned())
        .chain([long])
        .collect();
    let mut shells = 0;
    for shell in ["bash", "dash", "zsh"] {
        if Command::new(shell).arg("-c").arg("true").status().is_err() {
            println!("no {shell}");
            continue;
        }
        shells += 1;
        let output = mount.ok(&format!(
            "{shell} -c 'cd Pets/items/odd && ls | xargs cat' | jq -c .Name"
        ));
        let found: BTreeSet<String> = output
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(found, expected, "{shell}");
        // A loop over a glob, and unquoted words.
        let looped = mount.ok(&format!(
            "{shell} -c 'cd Pets/items/odd && for f in *; do cat $f; done | wc -l'"
        ));
        assert_eq!(looped.trim(), expected.len().to_string(), "{shell}");
    }
    assert!(shells >= 2);
    assert_eq!(mount.ok("ls Pets/items | awk 'length > 255' | wc -l; ls Pets/items/odd | awk 'length > 255' | wc -l"), "0\n0\n");
    println!(
        "{} odd keys through ls | xargs and loops in {shells} shells",
        expected.len()
    );
}

/// Checks readers of directories in other languages, with buffers of one entry, rewinds and seeks,
/// and changes meanwhile.
#[test]
fn directories_are_read_in_every_manner() {
    const COUNT: usize = 5_000;
    let mount = Mount::with_samples();
    let lines: String = (0..COUNT)
        .map(|n| format!("{{\"AnimalType\":\"Ant\",\"Name\":\"a{n:05}\"}}\n"))
        .collect();
    let mut load = Command::new(DDBFS)
        .args(["load", "Pets", "--data"])
        .arg(mount.data())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    load.stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    assert!(load.wait().unwrap().success());

    // getdents64 with space for one entry; rewind; seeks back to remembered positions, also after
    // changes.
    let python = r#"
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("Pets/items/Ant", os.O_RDONLY | os.O_DIRECTORY)
def entries(room):
    out, buf = [], ctypes.create_string_buffer(room)
    while True:
        n = libc.syscall(217, fd, buf, room)
        if n < 0: raise OSError(ctypes.get_errno(), "getdents64")
        if n == 0: return out
        at = 0
        while at < n:
            ino, off, size, kind = struct.unpack_from("QqHB", buf, at)
            name = buf.raw[at + 19:at + size].split(b"\0")[0].decode()
            if name not in (".", ".."): out.append((name, off))
            at += size
one = entries(48)
assert len(one) == COUNT == len(set(n for n, _ in one)), len(one)
os.lseek(fd, 0, 0)
assert [n for n, _ in entries(65536)] == [n for n, _ in one], "rewound"
for place in (0, 1, COUNT // 2, COUNT - 2):
    os.lseek(fd, one[place][1], 0)
    assert [n for n, _ in entries(4096)] == [n for n, _ in one[place + 1:]], place
gone = [n for n, _ in one[1::2]]
for name in gone[:500]: os.unlink("Pets/items/Ant/" + name)
os.lseek(fd, one[0][1], 0)
left = [n for n, _ in entries(4096)]
stay = [n for n, _ in one[1:] if n not in set(gone[:500])]
assert len(left) == len(set(left)) and set(stay) <= set(left), "after changes"
os.lseek(fd, 0, 0)
assert sorted(n for n, _ in entries(4096)) == sorted(os.listdir("Pets/items/Ant")), "a rewind lists anew"
print(len(left))
"#;
    let script = mount.dir.path().join("readers.py");
    std::fs::write(&script, python.replace("COUNT", &COUNT.to_string())).unwrap();
    let left: usize = mount
        .ok(&format!("python3 {}", script.display()))
        .trim()
        .parse()
        .unwrap();
    assert!(left >= COUNT - 501, "{left}");
    let count = (COUNT - 500).to_string();
    let readers = [
        (
            "python scandir",
            "python3 -c 'import os; print(sum(1 for e in os.scandir(\"Pets/items/Ant\") if e.is_file(follow_symlinks=False)))'",
        ),
        (
            "node",
            "node -e 'console.log(require(\"fs\").readdirSync(\"Pets/items/Ant\").length)'",
        ),
        (
            "perl",
            "perl -e 'opendir(D, \"Pets/items/Ant\"); my $p; my $n = 0; while (defined(my $e = readdir D)) { $n++; $p = telldir D if $n == 100 } seekdir D, $p; my $m = 0; $m++ while defined(readdir D); rewinddir D; my $k = 0; while (defined(readdir D)) { $k++ } die \"$n $m $k\" unless $n == $k && $m == $n - 100; print $n - 2, \"\\n\"'",
        ),
        ("ls -U", "ls -U Pets/items/Ant | wc -l"),
        ("find", "find Pets/items/Ant -type f | wc -l"),
    ];
    for (reader, script) in readers {
        assert_eq!(mount.ok(script).trim(), count, "{reader}");
    }
    println!(
        "{COUNT} entries: one at a time, rewound, sought, changed, and by {} readers",
        readers.len()
    );
}

/// Checks attributes and statfs: docs/filesystem.md 4.
#[test]
fn attributes_and_statfs() {
    let mount = Mount::with_samples();
    let path = mount.point().join("Pets/items/Dog/Fido.json");
    let before = std::fs::metadata(&path).unwrap();
    assert_eq!(
        (before.nlink(), before.blocks(), before.uid()),
        (
            1,
            before.len().div_ceil(512),
            std::fs::metadata(mount.dir.path()).unwrap().uid()
        )
    );
    assert_eq!(
        (before.mtime(), before.mtime_nsec()),
        (before.ctime(), before.ctime_nsec())
    );
    // Accepted, and without effect.
    mount.ok("chmod 600 Pets/items/Dog/Fido.json && chown 0:0 Pets/items/Dog/Fido.json 2>/dev/null; touch -d 2001-01-01 Pets/items/Dog/Fido.json; chmod -R u+w Pets; true");
    let after = std::fs::metadata(&path).unwrap();
    let shown = |meta: &std::fs::Metadata| {
        (
            meta.mode(),
            meta.uid(),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ino(),
            meta.len(),
        )
    };
    assert_eq!(shown(&before), shown(&after));
    assert_eq!(before.permissions().mode() & 0o7777, 0o644);
    // Only a commit moves the time: not that of another item, and not a read.
    let other = std::fs::metadata(mount.point().join("Pets/items/Dog/Rover.json")).unwrap();
    mount
        .ok("cat Pets/items/Dog/*.json > /dev/null; echo '{\"Age\":1}' > Pets/items/Dog/Fido.json");
    let written = std::fs::metadata(&path).unwrap();
    assert!(
        (written.mtime(), written.mtime_nsec()) > (before.mtime(), before.mtime_nsec())
            && written.ino() == before.ino()
    );
    assert_eq!(
        shown(&other),
        shown(&std::fs::metadata(mount.point().join("Pets/items/Dog/Rover.json")).unwrap())
    );
    let directory = std::fs::metadata(mount.point().join("Pets/items/Dog")).unwrap();
    assert_eq!((directory.len(), directory.nlink()), (0, 1));
    let statfs = mount.ok("stat -f -c '%l %b %f %c %d %s' .");
    let numbers: Vec<u64> = statfs
        .split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect();
    // Inodes are not counted: none of none.
    let [255, blocks, free, 0, 0, block] = numbers[..] else {
        panic!("{statfs}")
    };
    assert!(
        [blocks, free, block].iter().all(|number| *number > 0),
        "{statfs}"
    );
    assert!(mount.ok("df . | tail -1").contains("mnt"));
    println!(
        "attributes of files and directories, chmod, chown, touch, statfs {}",
        statfs.trim()
    );
}

/// A script of 300 rounds of one to three bytes written at random positions in the text of an item;
/// it prints how many were stored.
const EDITS: &str = r#"
import json, os, random
random.seed(4)
item = 'Pets/items/Dog/Edited.json'
def text(): return open(item, 'rb').read()
open(item, 'w').write('{"s":"aaaaaaaaaaaaaaaaaaaa"}\n')
stored, accepted = text(), 0
for turn in range(300):
    held = bytearray(text())
    fd = os.open(item, os.O_RDWR)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(held))
        held[at] = random.choice(b'abc"}\\')
        os.pwrite(fd, held[at:at + 1], at)
        back = os.pread(fd, len(held) + 1, 0)
        assert back == held, f'a handle reads what it wrote, round {turn}: {back}, {held}'
    try: os.fsync(fd); error = None
    except OSError as failed: error = failed
    try: is_item = isinstance(json.loads(held), dict)
    except ValueError: is_item = False
    assert is_item or error, f'{held} was accepted'
    try: os.close(fd)
    except OSError as failed: assert error, failed
    if error: assert text() == stored, f'round {turn}: {error}, {held}, {text()}, {stored}'
    else:
        accepted += 1
        stored = text()
        assert b'"Name":"Edited"' in stored, stored
print(accepted)
"#;

/// Checks as fsx does: random writes, reads, truncations and reopenings of a scratch file, compared
/// with a copy in memory; then the file becomes an item. And for an item file: whatever is written
/// in pieces, a complete text is stored and an incomplete one is not.
#[test]
fn random_access_to_scratch_and_item_files() {
    const STEPS: usize = 3_000;
    let mount = Mount::with_samples();
    let path = mount.point().join("Pets/items/Dog/.scratch");
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let open = || {
        std::fs::File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .unwrap()
    };
    let (mut file, mut model) = (open(), Vec::<u8>::new());
    for step in 0..STEPS {
        let offset = random(200_000);
        match random(10) {
            0..=3 => {
                let data: Vec<u8> = (0..random(20_000))
                    .map(|at| (at as u8) ^ (step as u8))
                    .collect();
                let end = offset as usize + data.len();
                if data.is_empty() {
                    continue;
                }
                file.write_all_at(&data, offset).unwrap();
                if model.len() < end {
                    model.resize(end, 0);
                }
                model[offset as usize..end].copy_from_slice(&data);
            }
            4..=6 => {
                let mut buffer = vec![0; random(30_000) as usize];
                let read = file.read_at(&mut buffer, offset).unwrap();
                let expected = model.get(offset as usize..).unwrap_or_default();
                assert_eq!(
                    buffer[..read],
                    expected[..expected.len().min(buffer.len())],
                    "step {step}"
                );
            }
            7 => {
                file.set_len(offset).unwrap();
                model.resize(offset as usize, 0);
            }
            8 => {
                file.sync_all().unwrap();
                assert_eq!(
                    file.metadata().unwrap().len(),
                    model.len() as u64,
                    "step {step}"
                );
            }
            _ => {
                drop(file);
                file = open();
                assert_eq!(
                    std::fs::metadata(&path).unwrap().len(),
                    model.len() as u64,
                    "step {step}"
                );
            }
        }
    }
    drop(file);
    assert_eq!(std::fs::read(&path).unwrap(), model);
    // An item is its text: an edit anywhere is stored when it is whole, at close. The process
    // starts no others: another process has copies of the descriptors that end with its exec, and
    // such a close stores a text that is whole at that moment too.
    let edits = format!("python3 - <<'END'\n{EDITS}END");
    let accepted: usize = mount.ok(&edits).trim().parse().unwrap();
    assert!((1..300).contains(&accepted), "{accepted}");
    println!(
        "{STEPS} random steps on a scratch file; 300 random edits of an item, {accepted} of them whole and stored"
    );
}

/// Checks that an unmount with open handles and pending deletes loses nothing that was
/// acknowledged.
#[test]
fn an_unmount_with_open_handles_and_pending_deletes_loses_nothing() {
    let mut mount = Mount::with_samples();
    // A pending delete, a file that is read, one that is half written, a scratch file.
    let script = "mv Pets/items/Dog/Fido.json Pets/items/Dog/Fido.json.bak
        exec 3< Pets/items/Dog/Rover.json; exec 4> Pets/items/Dog/Half.json; printf '{\"a\":' >&4
        exec 5> Pets/items/Dog/Whole.json; printf '{\"a\":1}' >&5; echo x > Pets/items/Dog/.scratch; echo ready; exec sleep 600";
    let mut holder = Command::new("bash")
        .args(["-c", script])
        .current_dir(mount.point())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(holder.stdout.take().unwrap()),
        &mut line,
    )
    .unwrap();
    assert_eq!(line, "ready\n");
    // In use: umount reports it; SIGTERM ends the mount all the same.
    let busy = Command::new(DDBFS)
        .arg("umount")
        .arg(mount.point())
        .output()
        .unwrap();
    assert!(
        !busy.status.success() && mount.point().join("README.md").exists(),
        "{busy:?}"
    );
    assert!(
        Command::new("kill")
            .args(["-TERM", &mount.pid().to_string()])
            .status()
            .unwrap()
            .success()
    );
    holder.kill().unwrap();
    holder.wait().unwrap();
    mount.unmount();
    // A mount of a service leaves no database there.
    assert!(!mount.data().join("data.mdb").exists() || check(&mount.data()).0);
    mount.start(&[]);
    assert_eq!(
        mount.ok("cd Pets/items/Dog; ls Fido.json Half.json Whole.json Rover.json 2>/dev/null; jq -c .a Whole.json"),
        "Rover.json\nWhole.json\n1\n"
    );
    println!(
        "a waiting delete was done, a whole write kept, half a write not stored, check is clean"
    );
}

/// Checks cases of public POSIX suites that apply to a tree of items, as a table: a command and the
/// errno it must end with, `ok` for none.
///
/// Cases that do not apply, with the reason: hard links, devices, FIFOs and sockets (an item is no
/// such thing: EPERM); symlinks outside `queries/`; owners, modes and times that are set (they
/// succeed and nothing is kept: DynamoDB has no place for them); files of any content (an item is
/// one JSON object); sparse files and `fallocate`; times of directories, which are their table's;
/// link counts of directories (always 1); renaming tables, and folders of more than 100 items.
#[test]
fn posix_cases() {
    let mount = Mount::with_samples();
    let long = "x".repeat(256);
    let cases: &[(&str, &str)] = &[
        ("os.open('Pets/none', os.O_RDONLY)", "ENOENT"),
        ("os.open('Pets/items/Dog/none.json', os.O_RDONLY)", "ENOENT"),
        (
            "os.open('Pets/items/Dog/Fido.json/x', os.O_RDONLY)",
            "ENOTDIR",
        ),
        (
            "os.open('Pets/items/Dog/Fido.json', os.O_RDONLY | os.O_DIRECTORY)",
            "ENOTDIR",
        ),
        ("os.open('Pets/items/Dog', os.O_WRONLY)", "EISDIR"),
        (
            "os.open('Pets/items/Dog/Fido.json', os.O_CREAT | os.O_EXCL | os.O_WRONLY)",
            "EEXIST",
        ),
        (
            &format!("os.open('Pets/items/Dog/{long}', os.O_CREAT | os.O_WRONLY)"),
            "ENAMETOOLONG",
        ),
        (&format!("os.mkdir('{long}')"), "ENAMETOOLONG"),
        ("os.mkdir('Pets')", "EEXIST"),
        ("os.mkdir('none/x')", "ENOENT"),
        ("os.mkdir('Pets/items/Dog/Fido.json/x')", "ENOTDIR"),
        ("os.rmdir('none')", "ENOENT"),
        ("os.rmdir('Pets/items/Dog')", "ENOTEMPTY"),
        ("os.rmdir('Pets/items/Dog/Fido.json')", "ENOTDIR"),
        ("os.rmdir('Pets/items/.')", "EINVAL"),
        ("os.rmdir('Pets/items/..')", "ENOTEMPTY"),
        ("os.unlink('none')", "ENOENT"),
        ("os.unlink('Pets/items/Dog')", "EISDIR"),
        ("os.unlink('Pets/items/Dog/none.json')", "ENOENT"),
        ("os.rename('none', 'other')", "ENOENT"),
        ("os.rename('Pets', 'Others')", "EPERM"),
        (
            "os.rename('Pets/items/Dog/Fido.json', 'Pets/items/Cat')",
            "EISDIR",
        ),
        ("os.rename('Pets/items/Dog', 'Pets/items/Dog/x')", "EINVAL"),
        (
            "os.link('Pets/items/Dog/Fido.json', 'Pets/items/Dog/Link.json')",
            "EPERM",
        ),
        ("os.mkfifo('Pets/items/Dog/fifo')", "EPERM"),
        ("os.symlink('x', 'Pets/items/Dog/link')", "EPERM"),
        ("os.readlink('Pets/items/Dog/Fido.json')", "EINVAL"),
        ("os.chdir('Pets/items/Dog/Fido.json')", "ENOTDIR"),
        ("os.listdir('Pets/items/Dog/Fido.json')", "ENOTDIR"),
        ("os.truncate('Pets/items', 0)", "EISDIR"),
        ("os.truncate('none', 0)", "ENOENT"),
        (
            "os.write(os.open('Pets/items/Dog/Fido.json', os.O_RDONLY), b'x')",
            "EBADF",
        ),
        (
            "os.read(os.open('Pets/items/Dog/Fido.json', os.O_WRONLY), 1)",
            "EBADF",
        ),
        (
            "os.lseek(os.open('Pets/items/Dog/Fido.json', os.O_RDONLY), -1, 0)",
            "EINVAL",
        ),
        ("os.open('Pets/stats.json', os.O_WRONLY)", "EROFS"),
        ("os.chmod('Pets/items/Dog/Fido.json', 0o600)", "ok"),
        ("os.utime('Pets/items/Dog/Fido.json', (1, 1))", "ok"),
        (
            "os.access('Pets/items/Dog/Fido.json', os.X_OK) and 1 / 0",
            "ok",
        ),
        (
            "assert os.stat('Pets/items/Dog/Fido.json').st_size == len(open('Pets/items/Dog/Fido.json', 'rb').read())",
            "ok",
        ),
        (
            "assert os.path.samefile('Pets/items/../items', 'Pets/items')",
            "ok",
        ),
        (
            "assert os.stat('Pets/items/..').st_ino == os.stat('Pets').st_ino",
            "ok",
        ),
        (
            "assert os.stat('.').st_dev == os.stat('Pets/items/Dog').st_dev",
            "ok",
        ),
    ];
    let mut script = String::from(
        "import os, errno\ndef case(text):\n  try: exec(text); return 'ok'\n  except OSError as e: return errno.errorcode[e.errno]\n  except Exception as e: return repr(e)\n",
    );
    for (case, expected) in cases {
        script += &format!(
            "got = case({case:?})\nif got != {expected:?}: print({case:?}, 'is', got, 'not', {expected:?})\n"
        );
    }
    let file = mount.dir.path().join("posix.py");
    std::fs::write(&file, script).unwrap();
    let output = bash_in(&mount.point(), &format!("python3 {}", file.display()));
    assert_eq!(texts(&output), (String::new(), String::new()));
    println!("{} cases", cases.len());
}
