//! Tests of mount options, fstab, the systemd unit, completions and manual pages, with the programs
//! that use them.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::daemon;
use crate::support::daemon::{DDBFS, Mount, bash_in, texts};
use crate::support::wait::until_ok;

fn mounted(options: &str) -> Mount {
    let mut mount = Mount::with_samples();
    mount.unmount();
    mount.start(&["-o", options]);
    mount
}

/// Runs a script that must succeed, errors included in the message.
fn ok(dir: &Path, script: &str) -> String {
    let output = bash_in(dir, script);
    let (out, err) = texts(&output);
    assert!(
        output.status.success(),
        "{script}\n{}\nstdout: {out}\nstderr: {err}",
        output.status
    );
    out
}

#[test]
fn pretty_items_are_indented_and_their_sizes_exact() {
    let mount = mounted("pretty");
    assert_eq!(
        mount.ok("echo '{\"Age\":70,\"Colors\":[\"White\",\"Black\"]}' > Pets/items/Dog/Woodstock.json; cat Pets/items/Dog/Woodstock.json"),
        "{\n  \"AnimalType\": \"Dog\",\n  \"Name\": \"Woodstock\",\n  \"Age\": 70,\n  \"Colors\": [\n    \"White\",\n    \"Black\"\n  ]\n}\n"
    );
    mount.ok("echo '{\"n\":12345678901234567890123456789012345678,\"e\":{},\"l\":[[]]}' > Pets/items/Dog/Odd.json");
    assert!(
        mount
            .ok("cat Pets/items/Dog/Odd.json")
            .contains("\"n\": 12345678901234567890123456789012345678\n")
    );
    // Index entries, both forms, and their copies by tar.
    let checked = mount.ok(
        "find . -path '*/items/*' -name '*.json' | while read -r f; do
           for g in \"$f\" \"${f%.json}.ddbjson\"; do [ $(stat -c %s \"$g\") = $(wc -c < \"$g\") ] && jq -e . \"$g\" > /dev/null || echo \"BAD $g\"; done; echo one; done | sort | uniq -c",
    );
    assert!(
        checked.trim().ends_with("one") && !checked.contains("BAD"),
        "{checked}"
    );
    assert_eq!(
        mount.ok("tar -cf - . | tar -tvf - | awk '$3 == 0 && /^-/' | wc -l"),
        "0\n"
    );
    // A rewrite with the same content, and one with another, through the indented text.
    mount.ok("jq . Pets/items/Dog/Woodstock.json > Pets/items/Dog/Woodstock.json && sed -i 's/\"Age\": [0-9]*/\"Age\": 77/' Pets/items/Dog/Woodstock.json");
    assert_eq!(
        mount.ok("jq .Age Pets/items/Dog/Woodstock.json; wc -l < Pets/query/@pk=Dog/items.ndjson"),
        "77\n6\n"
    );
    println!(
        "pretty: every item and entry in both forms: {}",
        checked.trim()
    );
}

#[test]
fn read_only_strict_keys_and_no_xattrs() {
    let mount = mounted("ro");
    for script in [
        "echo '{}' > Pets/items/Dog/New.json",
        "rm Pets/items/Dog/Fido.json",
        "mkdir Newtable",
        "mv Pets/items/Dog/Fido.json Pets/items/Dog/F.json",
    ] {
        assert!(
            mount.fails(script).contains("Read-only file system"),
            "{script}"
        );
    }
    assert_eq!(mount.ok("jq -r .Name Pets/items/Dog/Fido.json"), "Fido\n");

    let mount = mounted("keys=strict");
    assert!(
        mount
            .fails("echo '{\"Name\":\"Rex\"}' > Pets/items/Dog/New.json")
            .contains("Invalid argument")
    );
    mount.ok("echo '{\"Name\":\"New\"}' > Pets/items/Dog/New.json");

    let mount = mounted("noxattr");
    let script = "import os\nfor call in (lambda: os.getxattr('Pets', 'user.x'), lambda: os.listxattr('Pets'), lambda: os.setxattr('Pets', 'user.x', b'1')):\n  try: print(call())\n  except OSError as e: print(e.strerror)";
    assert_eq!(
        mount.ok(&format!("python3 -c \"{script}\"")),
        "Operation not supported\nOperation not supported\nOperation not supported\n"
    );
    mount.ok("cp -a Pets/items/Dog/Fido.json ../copy.json && cp -a ../copy.json Pets/items/Dog/Copy.json");
}

/// Checks `show=all`: it lists files that have one size and end, and none that depends on a
/// parameter; a walk still ends.
#[test]
fn everything_finite_is_listed_on_demand_and_walks_end() {
    let shown = |mount: &Mount, directory: &str| mount.ok(&format!("ls -A {directory}"));
    let mount = Mount::with_samples();
    assert!(
        !shown(&mount, "Pets").contains("describe.json") && !shown(&mount, ".").contains(".ddb")
    );
    let mount = mounted("show=all");
    let table = shown(&mount, "Pets");
    for name in ["describe.json", "ctl", "items", "schema.json"] {
        assert!(table.lines().any(|line| line == name), "{name}: {table}");
    }
    assert!(!table.contains("query"), "{table}");
    assert!(shown(&mount, ".").contains(".ddb\n"));
    assert_eq!(mount.ok("find . | sort | uniq -d | wc -l"), "0\n");
    let sizes = mount.ok(
        "find . -type f ! -path './.ddb/*' | while read -r f; do [ $(stat -c %s \"$f\") = $(wc -c < \"$f\") ] || echo \"$f\"; done",
    );
    assert_eq!(sizes, "", "of another size than stat says");
}

#[test]
fn the_last_writer_wins_where_it_is_asked_to() {
    let race = "exec 3<> Pets/items/Dog/Fido.json; read -r old <&3
        echo '{\"Age\":1}' > Pets/items/Dog/Fido.json
        python3 -c 'import os; os.pwrite(3, b\"{\\\"Age\\\":2}\", 0); os.ftruncate(3, 9); os.fsync(3)' 2>&1 | tail -1
        jq .Age Pets/items/Dog/Fido.json";
    let careful = texts(&Mount::with_samples().bash(race)).0;
    assert!(
        careful.contains("Stale file handle") && careful.ends_with("1\n"),
        "{careful}"
    );
    assert_eq!(texts(&mounted("lww").bash(race)).0, "2\n");
}

#[test]
fn owners_and_permission_bits() {
    let bits = |mount: &Mount, path: &str| {
        let meta = std::fs::symlink_metadata(mount.point().join(path)).unwrap();
        (meta.uid(), meta.gid(), meta.permissions().mode() & 0o7777)
    };
    let (item, stats, entry) = (
        "Pets/items/Dog/Fido.json",
        "Pets/stats.json",
        "GameScores/gsi/GameTitleIndex/schema.json",
    );
    let mount = mounted("uid=1234,gid=4321,umask=027");
    assert_eq!(bits(&mount, item), (1234, 4321, 0o640));
    assert_eq!(bits(&mount, stats), (1234, 4321, 0o440));
    assert_eq!(bits(&mount, entry), (1234, 4321, 0o440));
    assert_eq!(bits(&mount, "Pets/items"), (1234, 4321, 0o750));
    let mount = Mount::with_samples();
    let me = std::fs::metadata(mount.dir.path()).unwrap();
    assert_eq!(bits(&mount, item), (me.uid(), me.gid(), 0o644));
    assert_eq!(bits(&mount, "Pets"), (me.uid(), me.gid(), 0o755));
}

/// Checks the access of other users; only root can become one.
#[test]
fn others_come_in_only_when_they_may_and_only_as_far() {
    if Command::new("id").arg("-u").output().unwrap().stdout != b"0\n" {
        println!("not root: not shown");
        return;
    }
    let as_nobody = |mount: &Mount, script: &str| {
        ok(mount.dir.path(), "chmod 755 .");
        let output = Command::new("setpriv")
            .args([
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
                "sh",
                "-c",
                script,
            ])
            .current_dir(mount.dir.path())
            .output()
            .unwrap();
        let (out, err) = texts(&output);
        format!("{out}{err}")
    };
    let read = "cat mnt/Pets/items/Dog/Fido.json | wc -l";
    let write = "echo '{}' > mnt/Pets/items/Dog/Fido.json";
    assert!(as_nobody(&Mount::with_samples(), read).contains("Permission denied"));
    let mount = mounted("allow_other");
    assert_eq!(as_nobody(&mount, read), "1\n");
    for script in [
        write,
        "rm mnt/Pets/items/Dog/Fido.json",
        "mkdir mnt/Nobodys",
        "mkdir mnt/Pets/items/Bird",
    ] {
        let answer = as_nobody(&mount, script);
        assert!(answer.contains("ermission denied"), "{script}: {answer}");
    }
    let mount = mounted("allow_other,umask=000");
    assert_eq!(
        as_nobody(
            &mount,
            &format!("{write} && mkdir mnt/Nobodys && jq -c . mnt/Pets/items/Dog/Fido.json")
        ),
        "{\"AnimalType\":\"Dog\",\"Name\":\"Fido\"}\n"
    );
    let mount = mounted("allow_other,umask=077");
    assert!(as_nobody(&mount, read).contains("Permission denied"));
    println!(
        "nobody: kept out; let in to read; let in to write with umask=000; kept out with umask=077"
    );
}

/// Checks that files that another user keeps open leave memory for the owner.
#[test]
fn another_user_does_not_open_all_files_there_is_room_for() {
    if Command::new("id").arg("-u").output().unwrap().stdout != b"0\n" {
        println!("not root: not shown");
        return;
    }
    let mut mount = Mount::with_samples();
    mount.unmount();
    mount.start(&["--memory", "256M", "-o", "allow_other"]);
    ok(mount.dir.path(), "chmod 755 .");
    mount.ok("python3 -c 'import json; print(json.dumps({\"Text\": \"x\" * 390000}))' > Pets/items/Dog/Long.json");
    // Opens the item until it is refused, prints how often it was not, and holds all of them until
    // its input ends.
    let greedy = "import os, sys\nheld = []\ntry:\n    while len(held) < 5000: held.append(os.open('mnt/Pets/items/Dog/Long.json', os.O_RDONLY))\n\
                  except OSError as error: print(len(held), error.strerror, flush=True)\nsys.stdin.read()";
    let open_all = |user: &str| {
        let mut greedy = Command::new("setpriv")
            .args([
                &format!("--reuid={user}"),
                &format!("--regid={user}"),
                "--clear-groups",
                "python3",
                "-c",
                greedy,
            ])
            .current_dir(mount.dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(greedy.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        (greedy, line)
    };
    let (nobody, of_nobody) = open_all("65534");
    let (root, of_root) = open_all("0");
    println!("nobody: {of_nobody}root: {of_root}");
    let opened = |line: &str| line.split(' ').next().unwrap().parse::<usize>().unwrap();
    for line in [&of_nobody, &of_root] {
        assert!(
            opened(line) > 10 && line.contains("Too many open files in system"),
            "{line}"
        );
    }
    let end = |mut greedy: Child| {
        drop(greedy.stdin.take());
        assert!(greedy.wait().unwrap().success());
    };
    [nobody, root].into_iter().for_each(end);
    // The memory is free again once the kernel has released each file.
    until_ok("as many are open again", || {
        let (nobody, again) = open_all("65534");
        end(nobody);
        if opened(&again) >= opened(&of_nobody) {
            Ok(())
        } else {
            Err(format!("{again} and not {of_nobody}"))
        }
    });
}

/// A shell function that unmounts `mnt`: it is busy while the prompt hook of another shell reads
/// it.
const LEAVE: &str = "leave() { until umount mnt 2> busy; do grep -q 'target is busy' busy || { cat busy >&2; return 1; }; done; }";

#[test]
fn fstab_lines_mount() {
    if Command::new("id").arg("-u").output().unwrap().stdout != b"0\n" {
        println!("not root: not shown");
        return;
    }
    let mut mount = Mount::with_samples();
    mount.unmount();
    let (data, point) = (mount.data(), mount.point());
    let (data, point) = (data.display(), point.display());
    let fstab = |line: String| std::fs::write(mount.dir.path().join("fstab"), line + "\n").unwrap();

    fstab(format!(
        "{DDBFS}#{data} {point} fuse rw,noatime,pretty,noauto,user,_netdev,x-mine=1 0 0"
    ));
    let out = ok(
        mount.dir.path(),
        &format!(
            "set -e; {LEAVE}; mount -T fstab mnt; cat mnt/Pets/items/Dog/Fido.json | head -2; findmnt -rno SOURCE,OPTIONS mnt | sed 's/.*#/#/'
             leave; test ! -e mnt/README.md; mount -T fstab mnt; ddbfs umount mnt; test ! -e mnt/README.md"
        ),
    );
    assert!(
        out.starts_with("{\n  \"AnimalType\": \"Dog\"")
            && out.contains("#/")
            && out.contains("nosuid,nodev,noexec"),
        "{out}"
    );
    fstab(format!("{DDBFS}#{data} {point} fuse frobnicate 0 0"));
    let refused = bash_in(mount.dir.path(), "mount -T fstab mnt");
    assert!(
        !refused.status.success()
            && texts(&refused)
                .1
                .contains("unknown mount option \"frobnicate\""),
        "{refused:?}"
    );

    // `fuse.ddbfs` finds the program by its name, in a namespace of its own where that is
    // installed.
    fstab(format!("{data} {point} fuse.ddbfs ro 0 0"));
    let out = ok(
        mount.dir.path(),
        "mkdir bin && cp $(command -v ddbfs) bin/ && unshare -m bash -ec 'umount -l -a -t fuse,fuse.ddbfs || true; mount --bind bin /usr/local/bin; mount -T fstab mnt; ls -d mnt/Pets/items; umount mnt'",
    );
    assert_eq!(out, "mnt/Pets/items\n");

    // As mount calls the helper of the type ddbfs.
    let out = ok(
        mount.dir.path(),
        &format!("{LEAVE}; ln -s $(command -v ddbfs) mount.ddbfs; mkdir -m 755 fresh; ./mount.ddbfs $PWD/fresh {point}; leave; stat -c %a fresh; ./mount.ddbfs {data} {point} -f -o rw; test ! -e mnt/README.md
                  ./mount.ddbfs {data} {point} -s -o rw,relatime,umask=077; stat -c %a mnt/Pets; ./mount.ddbfs {data} {point} -o rw || echo $?; leave"),
    );
    assert_eq!(out, "700\n700\n1\n");
    println!("mounted and unmounted through fstab as ddbfs#DIR and fuse.ddbfs, and as mount.ddbfs");
}

#[test]
fn the_http_api_is_an_option_too() {
    let address = daemon::free_address();
    let _mount = mounted(&format!("http={address}"));
    let answer = daemon::post(&address, "ListTables", "{}").unwrap();
    assert!(answer.contains("\"Pets\""), "{answer}");
}

#[test]
fn completions_and_manual_pages_come_from_the_commands() {
    let dir = tempfile::tempdir().unwrap();
    for (shell, check) in [
        (
            "bash",
            "bash -n script && bash -c '. ./script; complete -p ddbfs' | grep -q _ddbfs && grep -q umount script",
        ),
        (
            "zsh",
            "if command -v zsh > /dev/null; then zsh -n script; fi; grep -q '#compdef ddbfs' script",
        ),
        (
            "fish",
            "if command -v fish > /dev/null; then fish -n script; fi; grep -q 'complete -c ddbfs' script",
        ),
    ] {
        ok(
            dir.path(),
            &format!("ddbfs completions {shell} > script && {check}"),
        );
    }
    // A completion in bash: the commands that begin with `u`.
    let completed = ok(
        dir.path(),
        "ddbfs completions bash > script; bash -c '. ./script; COMP_WORDS=(ddbfs u); COMP_CWORD=1; _ddbfs ddbfs u ddbfs; echo ${COMPREPLY[@]}'",
    );
    assert_eq!(completed, "umount\n");
    let pages = ok(dir.path(), "ddbfs man --out pages && ls pages");
    assert!(
        pages.contains("ddbfs.1\n")
            && pages.contains("ddbfs-mount.1\n")
            && pages.contains("ddbfs-umount.1\n"),
        "{pages}"
    );
    for page in pages.lines() {
        let text = std::fs::read_to_string(dir.path().join("pages").join(page)).unwrap();
        assert!(
            text.contains(".TH ") && text.contains(".SH NAME"),
            "{page}: {text}"
        );
    }
    assert_eq!(
        ok(
            dir.path(),
            "ddbfs man mount | diff - pages/ddbfs-mount.1 && ddbfs man | diff - pages/ddbfs.1"
        ),
        ""
    );
    assert!(ok(dir.path(), "ddbfs man mount").contains("allow_drop"));
    let refused = bash_in(dir.path(), "ddbfs man frob");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

#[test]
fn manual_pages_keep_the_lines_of_their_tables_and_name_only_pages_that_are_made() {
    let dir = tempfile::tempdir().unwrap();
    ok(dir.path(), "ddbfs man --out pages");
    let shown = ok(dir.path(), "MANWIDTH=80 man -l pages/ddbfs-mount.1 | cat");
    for line in [
        "         http=        http=127.0.0.1:8000: serve the DynamoDB API too, as with --http\n",
        "         ddbfs#DIR  /mnt  fuse        rw,noatime  0  0\n",
        "         DIR        /mnt  fuse.ddbfs  rw,noatime  0  0\n",
    ] {
        assert!(shown.contains(line), "{line:?} in\n{shown}");
    }
    let named = ok(
        dir.path(),
        "for page in pages/*; do man -l $page; done | grep -oE 'ddbfs-[a-z-]+\\(1\\)' | sort -u",
    );
    for name in named.lines() {
        let page = dir.path().join("pages").join(name.replace("(1)", ".1"));
        assert!(page.exists(), "{name} is named and not made");
    }
    assert!(named.contains("ddbfs-mount(1)"), "{named}");
}

#[test]
fn a_directory_with_files_is_mounted_over_only_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    ok(dir.path(), "mkdir m && echo precious > m/file");
    let refused = bash_in(dir.path(), "ddbfs mount --data data m");
    let (_, err) = texts(&refused);
    assert!(
        refused.status.code() == Some(1)
            && err.contains("holds files")
            && err.contains("-o nonempty"),
        "{err}"
    );
    let shown = ok(
        dir.path(),
        "ddbfs mount --background --data data -o nonempty m && ls m && ddbfs umount m && until [ -e m/file ]; do sleep 0.1; done; cat m/file",
    );
    assert_eq!(shown, "README.md\nprecious\n");
}

#[test]
fn df_shows_what_the_disk_of_the_data_shows() {
    let mount = Mount::empty();
    // The memory reserved for root stays the same while others write.
    let kept = |path: &str| {
        ok(
            mount.dir.path(),
            &format!("stat -f -c '%S %f %a' {path} | awk '{{print int($1 * ($2 - $3) / 65536)}}'"),
        )
    };
    assert_eq!(kept("mnt"), kept("data"));
}

#[test]
fn the_systemd_unit_is_one() {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/ddbfs.service");
    let text = std::fs::read_to_string(unit).unwrap();
    let start = text
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="))
        .unwrap();
    // Its command line is one that ddbfs understands.
    let args: Vec<&str> = start.split(' ').skip(1).collect();
    let dry = Command::new(DDBFS)
        .args(&args)
        .arg("--dry-run")
        .output()
        .unwrap();
    assert!(dry.status.success(), "{dry:?}");
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        println!("no systemd-analyze: only the command line was checked");
        return;
    }
    // The program is at its build path, for the check that it exists.
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("ddbfs.service");
    std::fs::write(&copy, text.replace("/usr/local/bin/ddbfs", DDBFS)).unwrap();
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&copy)
        .output()
        .unwrap();
    assert!(
        verified.status.success() && verified.stderr.is_empty(),
        "{verified:?}"
    );
}
