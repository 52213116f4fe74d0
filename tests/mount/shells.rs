//! The reports of failures for a person at a shell: `.ddb/errors/last`, and the additions of `eval
//! "$(ddbfs shell …)"`.

use std::process::Command;

use crate::support::daemon;
use crate::support::daemon::{DDBFS, Mount};
use crate::support::wait::until;

/// Checks each mistake after another failure, and the beginning and content of `.ddb/errors/last`
/// after it.
#[test]
fn the_last_error_is_about_what_the_person_just_saw() {
    let mount = Mount::with_samples();
    let cases = [
        (
            "echo '{}' > Sales/items/u1/o1.json",
            "lookup Sales: ENOENT",
            "mkdir 'Sales@pk:S,sk:S'",
        ),
        (
            "ls 'No$x/items'",
            "lookup No$x: ENOENT",
            "there is no table No$x: a table name has 3 to 255 characters of a-z",
        ),
        (
            "mkdir '$(x)'",
            "mkdir $(x): EINVAL",
            "a table name has 3 to 255 characters of a-z",
        ),
        (
            "(mkdir Thread/items/Q; cd Thread/items/Q; rmdir ../Q; mkdir \"$PWD\"; ls)",
            "opendir (removed): ENOENT",
            "cd \"$PWD\" enters the one that was made again",
        ),
        (
            "cat Pet/items/Dog/Fido.json",
            "lookup Pet: ENOENT",
            "did you mean Pets?",
        ),
        (
            "echo '{}' > Pets/items/Bird/Polly.json",
            "lookup Pets/items/Bird: ENOENT",
            "mkdir -p 'Pets/items/Bird'",
        ),
        (
            "cat GameScores/gsi/GameTitelIndex/stats.json",
            "lookup GameScores/gsi/GameTitelIndex: ENOENT",
            "did you mean GameTitleIndex?",
        ),
        (
            "ls Thread/gsi/LastPostIndex",
            "lookup Thread/gsi/LastPostIndex: ENOENT",
            "it is in Thread/lsi/LastPostIndex",
        ),
        (
            "cat Pets/quary/@pk=Dog/count",
            "lookup Pets/quary: ENOENT",
            "did you mean query?",
        ),
        (
            "cat Pets/query/@pk=Dog/limt=3/count",
            "lookup Pets/query/@pk=Dog/limt=3: EINVAL",
            "limit=",
        ),
        (
            "ln Pets/items/Dog/Fido.json Pets/items/Dog/Rex.json",
            "link Pets/items/Dog/Rex.json: EPERM",
            "cp makes another item",
        ),
        (
            "mkfifo Pets/items/Dog/Rex.json",
            "mknod Pets/items/Dog/Rex.json: EPERM",
            "no pipes",
        ),
        (
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"Pets/items/Dog/Rex.json\")'",
            "mknod Pets/items/Dog/Rex.json: EPERM",
            "sockets",
        ),
        (
            "fallocate -l 9 Pets/items/Dog/Fido.json",
            "fallocate Pets/items/Dog/Fido.json: EOPNOTSUPP",
            "write it as a whole",
        ),
        (
            "python3 -c 'import os; os.setxattr(\"Pets/items/Dog/Fido.json\", \"user.colour\", b\"red\")'",
            "setxattr Pets/items/Dog/Fido.json: EOPNOTSUPP",
            "attribute of the item",
        ),
        ("mkdir 'Pets@id:S'", "mkdir Pets@id:S: EEXIST", "Pets"),
        ("touch Pets/x", "create Pets/x: EPERM", "below items/"),
        (
            "python3 -c 'import os; os.rename(\"Pets/items/Dog\", \"Pets/gsi\")'",
            "rename Pets/items/Dog to Pets/gsi: EXDEV",
            "copy and delete",
        ),
        (
            "rm -rf Pets",
            "unlink Pets/schema.json: EPERM",
            "rmdir when it has no items, or mount with -o allow_drop",
        ),
    ];
    for (command, first, hint) in cases {
        // In one shell, as a person has it: an older failure, the mistake, and the probes of
        // programs at every prompt.
        let script = format!(
            "echo '{{bad' > Pets/items/Dog/Fido.json; {command}; s=$?; ls .git HEAD Pets/.envrc; cat .ddb/errors/last; exit $s"
        );
        let output = mount.bash(&script);
        let (out, err) = daemon::texts(&output);
        assert!(!output.status.success(), "{command}: {err}");
        let lines: Vec<&str> = out.lines().collect();
        let (text, time) = (
            lines.first().copied().unwrap_or_default(),
            lines.last().copied().unwrap_or_default(),
        );
        assert!(
            text.starts_with(first) && out.contains(hint),
            "{command}\n{out}"
        );
        let (time, age) = time.trim().split_once(", ").unwrap();
        assert!(
            time.ends_with('Z') && age.ends_with(" ago"),
            "{command}\n{out}"
        );
        let parsed = Command::new("date")
            .args(["-d", time, "+%s"])
            .output()
            .unwrap();
        assert!(parsed.status.success(), "{time}");
    }
    // Probes of names that are made later, and probes after a failure by the failed program, hide
    // nothing.
    let kept = "write Pets/items/Dog/Fido.json: EINVAL";
    for quiet in [
        "mkdir -p Pets/items/Bird && rmdir Pets/items/Bird",
        "mkdir Sales && rmdir Sales",
        "python3 -c 'import os; os.path.exists(\".git\")'",
        "ls Pets/items/Dog/Nobody.json",
        "ls -l --color=always Pets/items/Dog",
        "python3 -c 'import os; os.getxattr(\"Pets/items/Dog/Snoopy.json\", \"user.none\")'",
        "cp -a Pets/items/Dog/Snoopy.json Pets/items/Dog/Twin.json && rm Pets/items/Dog/Twin.json",
    ] {
        let out = mount.bash(&format!(
            "echo '{{\"a\":bad}}' > Pets/items/Dog/Fido.json; {quiet}; cat .ddb/errors/last"
        ));
        assert!(daemon::texts(&out).0.contains(kept), "{quiet}: {out:?}");
    }
    let program = "import os\ntry: open('Pets/items/Dog/Fido.json', 'w').write('{\"a\":bad}')\nexcept OSError: pass\nos.path.exists('Nothing')";
    let out = mount.bash(&format!(
        "python3 -c '{}'; cat .ddb/errors/last",
        program.replace('\'', "'\\''")
    ));
    assert!(
        daemon::texts(&out).0.starts_with("write Pets")
            || daemon::texts(&out).0.starts_with("close Pets"),
        "{out:?}"
    );
    println!(
        "{} mistakes are told, each with its time and what to do",
        cases.len()
    );
}

/// `mkdir` does not wait for the end of `--table-delay`.
#[test]
fn a_table_made_with_a_delay_is_creating_in_the_mount() {
    let mount = Mount::with_args(&["--table-delay", "60m"]);
    mount.ok("mkdir Slow@pk:S");
    assert_eq!(
        mount.ok("jq -r .Table.TableStatus Slow/describe.json"),
        "CREATING\n"
    );
}

/// Types lines into an interactive shell on a terminal, in a mount of the sample tables; returns
/// the terminal's content.
fn typed(mount: &Mount, shell: &[&str], lines: &[&str]) -> String {
    let bin = std::path::Path::new(DDBFS).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    // Without it, fish reads all man pages to make completions of them, for minutes, and longer
    // than the test runs.
    std::fs::create_dir_all(
        mount
            .dir
            .path()
            .join(".local/share/fish/generated_completions"),
    )
    .unwrap();
    let output = Command::new("python3")
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/clients/terminal.py"
        ))
        .arg(lines.join("\n"))
        .args(shell)
        .current_dir(mount.point())
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("DDBFS_DATA", mount.data())
        .env("HOME", mount.dir.path())
        .env_remove("PROMPT_COMMAND")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The name of each shell, and the command that starts it.
const SHELLS: [(&str, &[&str]); 3] = [
    (
        "eval \"$(ddbfs shell bash)\"",
        &["bash", "--norc", "--noprofile", "-i"],
    ),
    ("eval \"$(ddbfs shell zsh)\"", &["zsh", "-f", "-i"]),
    ("ddbfs shell fish | source", &["fish", "-i"]),
];

#[test]
fn shells_tell_failures_once_after_the_command_and_complete_what_ls_does_not_show() {
    for (begin, shell) in SHELLS {
        let mount = Mount::with_samples();
        make_notes(&mount);
        let shown = typed(
            &mount,
            shell,
            &[
                begin,
                // Only close() fails.
                "echo '{\"Age\":' > Pets/items/Dog/Fido.json",
                // At once, or at a later prompt on a busy machine.
                "true<UNTIL>The item is unchanged.",
                "cat Nopets/x",
                "false<UNTIL>there is no table Nopets",
                // A probe that is no failure of the command.
                "test -e Petz; true",
                "cd /",
                "cd -",
                "rm -rf Pets 2> /dev/null",
                "false<UNTIL>unlink Pets/schema.json: EPERM",
                "cat Pets/query/@pk=Do<TAB>@pk=Dog/",
                "cat Notes/vector/near-all/near/k1,2/to<TAB>top=",
                "ddbfs dump PetsB<TAB>PetsByType",
                "ddbfs umo<TAB>umount",
                "echo ready",
            ],
        );
        let count = |text: &str| shown.matches(text).count();
        for told in [
            "close Pets/items/Dog/Fido.json: EINVAL",
            "hint: the text ends too early. The item is unchanged.",
            "there is no table Nopets",
            "unlink Pets/schema.json: EPERM",
        ] {
            assert_eq!(count(told), 1, "{shell:?}: {told:?} in\n{shown}");
        }
        assert_eq!(count("there is no table Petz"), 0, "{shell:?}\n{shown}");
        for completed in ["@pk=Dog/", "k1,2/top=", "PetsByType", "umount"] {
            assert!(
                shown.contains(completed),
                "{shell:?}: {completed} in\n{shown}"
            );
        }
    }
}

/// Makes the table `Notes`, with vector indexes.
fn make_notes(mount: &Mount) {
    std::fs::write(
        mount.point().join(".ddb/api/CreateTable"),
        super::vectors::NOTES,
    )
    .unwrap();
    mount.ok(
        "for sk in 1 2; do echo '{\"pk\":\"k1\",\"sk\":'$sk',\"lang\":\"en\",\"v\":[0,1]}'; done > Notes/batch/put",
    );
}

/// Names of key attributes that are commands to a shell, or end a line of the help, and their
/// prefixes for completion.
const HOSTILE: [(&str, &str); 10] = [
    ("$(touch${IFS}pwned)\nExamples", "%24%28touch"),
    ("`touch${IFS}pwned`", "%60touch"),
    (";touch${IFS}pwned;", "%3Btouch"),
    ("'\"$(touch${IFS}pwned)", "%27%22"),
    ("!touch", "%21touch"),
    ("-rf", "%2Drf"),
    ("~", "%7E"),
    ("a b&touch pwned&", "a%20b"),
    ("*?[", "%2A%3F"),
    ("\u{1b}]0;x\u{7}\u{9b}\u{202e}", "%1B%5D"),
];

#[test]
fn names_that_are_commands_are_completed_as_letters_and_never_run() {
    for (begin, shell) in SHELLS {
        let mount = Mount::with_samples();
        let mut lines = vec![begin.to_owned()];
        for (number, (name, start)) in HOSTILE.iter().enumerate() {
            let request = serde_json::json!({
                "TableName": format!("Hostile{number}"),
                "AttributeDefinitions": [{ "AttributeName": name, "AttributeType": "S" }],
                "KeySchema": [{ "AttributeName": name, "KeyType": "HASH" }],
                "BillingMode": "PAY_PER_REQUEST",
            });
            std::fs::write(
                mount.point().join(".ddb/api/CreateTable"),
                request.to_string(),
            )
            .unwrap();
            // The only name, if the first one's help were taken literally; and each name itself,
            // which is then read.
            if number == 0 {
                lines.push(format!("cat Hostile{number}/query/<TAB>\u{7}<ENTER>"));
            }
            lines.push(format!("cat Hostile{number}/query/{}<TAB>{start}<ENTER>nobody/count && echo whole{number}.", &start[..3]));
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let shown = typed(&mount, shell, &lines);
        for directory in [mount.point(), mount.dir.path().to_owned()] {
            assert!(
                !directory.join("pwned").exists(),
                "{shell:?} ran a name\n{shown}"
            );
        }
        for number in 0..HOSTILE.len() {
            assert!(
                shown.contains(&format!("\nwhole{number}.")),
                "{shell:?}: {number} in\n{shown}"
            );
        }
    }
}

#[test]
fn a_directory_that_only_looks_like_a_mount_is_not_believed() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("T/query");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::create_dir(directory.path().join(".ddb")).unwrap();
    std::fs::write(directory.path().join(".ddb/version"), "1\n").unwrap();
    std::fs::write(place.join("help"), "  other=<string>  the partition key\n").unwrap();
    let mount = Mount::with_samples();
    let offered = |word: &str| {
        let told = Command::new(DDBFS)
            .args(["shell", "--complete", word])
            .current_dir(mount.point())
            .output()
            .unwrap();
        String::from_utf8(told.stdout).unwrap()
    };
    assert_eq!(offered(&format!("{}/", place.display())), "");
    let in_mount = "Pets/query/AnimalType=Do";
    assert_eq!(offered(in_mount), "Pets/query/AnimalType=Dog/\n");
    make_notes(&mount);
    for (word, names) in [
        ("Notes/ne", ""),
        ("Notes/gsi/x/ne", ""),
        ("Notes/vector/near-all/", "near/ "),
        ("Notes/vector/near-all/q", ""),
        ("Notes/vector/near-all/near/t", "top= typed/"),
        ("Notes/vector/near-all/near/k", "keys k1,"),
        ("Notes/vector/near-all/near/k1,", "k1,1/ k1,2/"),
        ("Notes/vector/near-all/near/k1,1/k", "keys"),
        ("Notes/vector/near-all/near/@", "@vector="),
        ("Notes/vector/near-all/near/@vector=", ""),
        ("Notes/vector/by-lang/near/l", "lang="),
        ("Notes/vector/by-lang/near/lang=", "lang=en/"),
    ] {
        let (directory, _) = word.rsplit_once('/').unwrap();
        let told = offered(word);
        let told: std::collections::BTreeSet<&str> = told.lines().collect();
        let named = |name: &str| format!("{directory}/{name}");
        match names.strip_suffix(' ') {
            Some(name) => assert!(told.contains(&*named(name)), "{word}: {told:?}"),
            None => {
                let names: Vec<String> = names.split_whitespace().map(named).collect();
                let names = names.iter().map(String::as_str).collect();
                assert_eq!(told, names, "{word}");
            }
        }
    }
    // By a symlink, and back out of the mount.
    std::os::unix::fs::symlink(mount.point(), directory.path().join("link")).unwrap();
    for before in [
        format!("{}/link/", directory.path().display()),
        "Pets/../".to_owned(),
    ] {
        assert_eq!(
            offered(&format!("{before}{in_mount}")),
            format!("{before}Pets/query/AnimalType=Dog/\n")
        );
    }
    let outside = format!("..{}/", place.display());
    assert_eq!(offered(&outside), "");
}

#[test]
fn a_stopped_mount_holds_no_shell_up() {
    for (begin, shell) in SHELLS {
        let mount = Mount::with_samples();
        let (stop, go_on) = (
            format!("kill -STOP {}", mount.pid()),
            format!("kill -CONT {}", mount.pid()),
        );
        let complete = format!("cat {}/Pets/query/@pk=<TAB>\u{7}", mount.point().display());
        let lines = [
            begin,
            // Requests of a shell's own `cd` to the directory that it leaves are not checked.
            "cd /",
            stop.as_str(),
            "false",
            complete.as_str(),
            "echo sti''ll here",
            go_on.as_str(),
            "cd -",
            "echo '{\"Age\":' > Pets/items/Dog/Fido.json",
            // At once, or once a pending question has its answer.
            "true<UNTIL>close Pets/items/Dog/Fido.json: EINVAL",
            "echo rea''dy",
        ];
        let shown = typed(&mount, shell, &lines);
        mount.signal("-CONT");
        for told in [
            "still here",
            "close Pets/items/Dog/Fido.json: EINVAL",
            "ready",
        ] {
            assert!(shown.contains(told), "{shell:?}: {told:?} in\n{shown}");
        }
    }
}

/// Returns the number of processes that read a mount of this data directory for others.
fn readers(data: &std::path::Path) -> usize {
    let ours = format!("DDBFS_DATA={}", data.display());
    let is_reader = |entry: &std::fs::DirEntry| {
        let has = |file: &str, word: &str| {
            let bytes = std::fs::read(entry.path().join(file)).unwrap_or_default();
            bytes
                .split(|byte| *byte == 0)
                .any(|found| found == word.as_bytes())
        };
        has("cmdline", "read-mount") && has("environ", &ours)
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .map_while(Result::ok)
        .filter(is_reader)
        .count()
}

#[test]
fn who_waits_for_a_stopped_mount_ends_with_the_shell() {
    for (begin, shell) in SHELLS {
        let mount = Mount::with_samples();
        let stop = format!("kill -STOP {}", mount.pid());
        typed(
            &mount,
            shell,
            &[begin, "cd /", &stop, "false", "echo rea''dy"],
        );
        until(
            &format!("{shell:?} has ended, and who read for it ends"),
            || readers(&mount.data()) == 0,
        );
        mount.signal("-CONT");
    }
}

/// Checks that with bash-completion read before the hook or after it both complete: words of a
/// mount, and options.
#[test]
fn bash_completion_and_ours_are_beside_each_other() {
    let (ours, theirs) = (SHELLS[0].0, ". /usr/share/bash-completion/bash_completion");
    for begin in [format!("{ours}; {theirs}"), format!("{theirs}; {ours}")] {
        let mount = Mount::with_samples();
        let completed = [
            ("ls Pets/query/@pk=Do", "@pk=Dog/"),
            ("ls --almost", "--almost-all"),
            ("cat Pets/query/AnimalType=Do", "AnimalType=Dog/"),
            ("find Pets/query/lim", "limit="),
            // A completion that is loaded at its first use.
            ("find . -maxd", "-maxdepth"),
            ("jq . Pets/query/cou", "count"),
        ];
        let typed_lines: Vec<String> = completed
            .iter()
            .map(|(typed, whole)| format!("{typed}<TAB>{whole}"))
            .collect();
        let all: Vec<&str> = std::iter::once(begin.as_str())
            .chain(typed_lines.iter().map(String::as_str))
            .collect();
        let shown = typed(&mount, SHELLS[0].1, &all);
        for (_, whole) in completed {
            assert!(shown.contains(whole), "{begin}: {whole} in\n{shown}");
        }
    }
}

/// Checks that in fish names of the working directory are no names of a query's.
#[test]
fn fish_offers_nothing_else_in_a_query() {
    let mount = Mount::with_samples();
    let script = "ddbfs shell fish | source; complete -C 'cat Pets/query/'; complete -C 'cat Pe'";
    let bin = std::path::Path::new(DDBFS).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let told = Command::new("fish")
        .args(["-c", script])
        .current_dir(mount.point())
        .env("HOME", mount.dir.path())
        .env("PATH", format!("{}:{path}", bin.display()))
        .output()
        .unwrap();
    let (out, err) = daemon::texts(&told);
    let (query, files): (Vec<&str>, Vec<&str>) = out
        .lines()
        .partition(|line| line.starts_with("Pets/query/"));
    assert!(query.contains(&"Pets/query/limit="), "{out}{err}");
    assert!(
        !files.is_empty() && files.iter().all(|file| file.starts_with("Pet")),
        "{out}{err}"
    );
}
