//! What a person at a shell is told of failures: `.ddb/errors/last`, and what `eval "$(ddbfs shell …)"` adds.

use std::process::Command;

use crate::support::daemon;
use crate::support::daemon::{DDBFS, Mount};

/// Each mistake after another failure, and what `.ddb/errors/last` then begins with and says.
#[test]
fn the_last_error_is_about_what_the_person_just_saw() {
    let mount = Mount::with_samples();
    let cases = [
        ("echo '{}' > Sales/items/u1/o1.json", "lookup Sales: ENOENT", "mkdir 'Sales@pk:S,sk:S'"),
        ("cat Pet/items/Dog/Fido.json", "lookup Pet: ENOENT", "did you mean Pets?"),
        ("echo '{}' > Pets/items/Bird/Polly.json", "lookup Pets/items/Bird: ENOENT", "mkdir -p 'Pets/items/Bird'"),
        (
            "cat GameScores/gsi/GameTitelIndex/stats.json",
            "lookup GameScores/gsi/GameTitelIndex: ENOENT",
            "did you mean GameTitleIndex?",
        ),
        ("ls Thread/gsi/LastPostIndex", "lookup Thread/gsi/LastPostIndex: ENOENT", "it is in Thread/lsi/LastPostIndex"),
        ("cat Pets/quary/@pk=Dog/count", "lookup Pets/quary: ENOENT", "did you mean query?"),
        ("cat Pets/query/@pk=Dog/limt=3/count", "lookup Pets/query/@pk=Dog/limt=3: EINVAL", "limit="),
        ("ln Pets/items/Dog/Fido.json Pets/items/Dog/Rex.json", "link Pets/items/Dog/Rex.json: EPERM", "cp makes another item"),
        ("mkfifo Pets/items/Dog/Rex.json", "mknod Pets/items/Dog/Rex.json: EPERM", "no pipes"),
        (
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"Pets/items/Dog/Rex.json\")'",
            "mknod Pets/items/Dog/Rex.json: EPERM",
            "sockets",
        ),
        ("fallocate -l 9 Pets/items/Dog/Fido.json", "fallocate Pets/items/Dog/Fido.json: EOPNOTSUPP", "write it as a whole"),
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
        ("rm -rf Pets", "unlink Pets/schema.json: EPERM", "rmdir when it has no items, or mount with -o allow_drop"),
    ];
    for (command, first, hint) in cases {
        // In one shell, as a person has it: an older failure, the mistake, what programs look for at every prompt.
        let script = format!(
            "echo '{{bad' > Pets/items/Dog/Fido.json; {command}; s=$?; ls .git HEAD Pets/.envrc; cat .ddb/errors/last; exit $s"
        );
        let output = mount.bash(&script);
        let (out, err) = daemon::texts(&output);
        assert!(!output.status.success(), "{command}: {err}");
        let lines: Vec<&str> = out.lines().collect();
        let (text, time) = (lines.first().copied().unwrap_or_default(), lines.last().copied().unwrap_or_default());
        assert!(text.starts_with(first) && out.contains(hint), "{command}\n{out}");
        let (time, age) = time.trim().split_once(", ").unwrap();
        assert!(time.ends_with('Z') && age.ends_with(" ago"), "{command}\n{out}");
        let parsed = Command::new("date").args(["-d", time, "+%s"]).output().unwrap();
        assert!(parsed.status.success(), "{time}");
    }
    // What is looked for and made, or only looked for after a failure by the program that failed, hides nothing.
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
        let out = mount.bash(&format!("echo '{{\"a\":bad}}' > Pets/items/Dog/Fido.json; {quiet}; cat .ddb/errors/last"));
        assert!(daemon::texts(&out).0.contains(kept), "{quiet}: {out:?}");
    }
    let program = "import os\ntry: open('Pets/items/Dog/Fido.json', 'w').write('{\"a\":bad}')\nexcept OSError: pass\nos.path.exists('Nothing')";
    let out = mount.bash(&format!("python3 -c '{}'; cat .ddb/errors/last", program.replace('\'', "'\\''")));
    assert!(daemon::texts(&out).0.starts_with("write Pets") || daemon::texts(&out).0.starts_with("close Pets"), "{out:?}");
    println!("{} mistakes are told, each with its time and what to do", cases.len());
}

/// Lines for an interactive shell on a terminal, in a mount of the sample tables; what the terminal shows.
fn typed(mount: &Mount, shell: &[&str], lines: &[&str]) -> String {
    let bin = std::path::Path::new(DDBFS).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("python3")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/terminal.py"))
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

#[test]
fn shells_tell_failures_once_after_the_command_and_complete_what_ls_does_not_show() {
    let shells: [(&str, &[&str]); 3] = [
        ("eval \"$(ddbfs shell bash)\"", &["bash", "--norc", "--noprofile", "-i"]),
        ("eval \"$(ddbfs shell zsh)\"", &["zsh", "-f", "-i"]),
        ("ddbfs shell fish | source", &["fish", "-i"]),
    ];
    for (begin, shell) in shells {
        let mount = Mount::with_samples();
        let shown = typed(
            &mount,
            shell,
            &[
                begin,
                // close() alone hears of it.
                "echo '{\"Age\":' > Pets/items/Dog/Fido.json",
                "true",
                "cat Nopets/x",
                // Looked for, and no failure of the command.
                "test -e Petz; true",
                "cd /",
                "cd -",
                "rm -rf Pets 2> /dev/null",
                "cat Pets/query/@pk=Do<TAB>@pk=Dog/",
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
        for completed in ["@pk=Dog/", "PetsByType", "umount"] {
            assert!(shown.contains(completed), "{shell:?}: {completed} in\n{shown}");
        }
    }
}
