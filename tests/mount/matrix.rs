//! Every kind of program writes every kind of text through a real mount: status, message, the text
//! that can be read back, and the stored item, which no bad text touches. And the attributes that
//! programs copy along with a file: none of the mount's own leaks, none of others is an error.
//!
//! Programs that are not installed are named on standard error and left out.

use std::fs;
use std::path::Path;

use crate::support::mounted::{Mount, create_table, memory};

/// A table with an index on the number `n`.
const NUMBERED: &str = r#"{
    "TableName": "Numbered",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [{
        "IndexName": "by-n",
        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"}}],
    "BillingMode": "PAY_PER_REQUEST"
}"#;

/// The way in which a program learns that a text was cut off, which only the end of the file shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close {
    /// A program that checks the result of close.
    Looked,
    /// A program that ignores the result of close.
    Ignored,
    /// A program that writes another file and renames it onto the item.
    Renamed,
}

/// A way to write the file `$in` to `$f`.
struct Program {
    name: &'static str,
    script: &'static str,
    close: Close,
    /// True if it prints the errno's words; dash always prints I/O error.
    says: bool,
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "bash",
        script: "bash -c 'text=$(< $0); printf %s \"$text\" > $1' $in $f",
        close: Close::Ignored,
        says: true,
    },
    Program {
        name: "dash",
        script: "dash -c 'text=$(cat $0); printf %s \"$text\" > $1' $in $f",
        close: Close::Ignored,
        says: false,
    },
    Program {
        name: "zsh",
        script: "zsh -fc 'text=$(< $0); print -rn -- \"$text\" > $1' $in $f",
        close: Close::Ignored,
        says: true,
    },
    Program {
        name: "awk",
        script: "awk -v f=$f '{ printf \"%s\", $0 > f }' $in",
        close: Close::Looked,
        says: false,
    },
    Program {
        name: "python3",
        script: "python3 -c \"import sys; t = open(sys.argv[1]).read()\nwith open(sys.argv[2], 'w') as f: f.write(t)\" $in $f",
        close: Close::Looked,
        says: true,
    },
    Program {
        name: "perl",
        script: "perl -e 'local $/; open $i, \"<\", shift; $t = <$i>; open $o, \">\", shift; print $o $t; close $o or die \"$!\\n\"' $in $f",
        close: Close::Looked,
        says: true,
    },
    Program {
        name: "cp",
        script: "cp $in $f",
        close: Close::Looked,
        says: true,
    },
    Program {
        name: "tee",
        script: "tee $f < $in > /dev/null",
        close: Close::Looked,
        says: true,
    },
    Program {
        name: "dd",
        script: "dd if=$in of=$f bs=1000 status=none",
        close: Close::Looked,
        says: true,
    },
    Program {
        name: "install",
        script: "install -m 644 $in $f",
        close: Close::Looked,
        says: true,
    },
    Program {
        name: "rsync",
        script: "rsync -I $in $f",
        close: Close::Renamed,
        says: true,
    },
    Program {
        name: "sed",
        script: "sed -i -e \"1r $in\" -e 1d $f",
        close: Close::Renamed,
        says: true,
    },
    Program {
        name: "vim",
        script: "vim -es -u NONE -c \"1r $in\" -c 1d -c wq $f < /dev/null",
        close: Close::Looked,
        says: false,
    },
];

/// A text, and the expected result.
struct Text {
    name: &'static str,
    body: String,
    /// The errno's name, its words, and a part of the sentence; `None` for a good text.
    error: Option<(&'static str, &'static str, &'static str)>,
    /// True if only its end is missing.
    is_cut_off: bool,
}

fn texts() -> Vec<Text> {
    let text = |name, body: &str, error| Text {
        name,
        body: body.to_owned(),
        error,
        is_cut_off: false,
    };
    let invalid = |sentence| Some(("EINVAL", "Invalid argument", sentence));
    vec![
        text("a good text", r#"{"n":2,"s":"x"}"#, None),
        text(
            "bad JSON",
            r#"{"n":2,"s":open}"#,
            invalid(
                "expected a JSON value at byte 11\n  hint: strings need quotes. The item is unchanged.",
            ),
        ),
        text(
            "two documents",
            r#"{"n":2}{"n":3}"#,
            invalid("expected nothing more after the object at byte 7"),
        ),
        Text {
            is_cut_off: true,
            ..text(
                "a text cut off",
                r#"{"n":2,"s":"x""#,
                invalid("hint: the text ends too early. The item is unchanged."),
            )
        },
        text(
            "an item over 400 KB",
            &format!(r#"{{"n":2,"s":"{}"}}"#, "x".repeat(420_000)),
            Some((
                "EFBIG",
                "File too large",
                "an item holds at most 400 KB\n  hint: The item is unchanged.",
            )),
        ),
        text(
            "an index key of another type",
            r#"{"n":"two"}"#,
            invalid("by-n"),
        ),
    ]
}

#[test]
fn every_program_with_every_text() {
    let outside = tempfile::tempdir().unwrap();
    let input = outside.path().join("in");
    let db = memory();
    create_table(&*db, NUMBERED);
    let mount = Mount::of(db);
    let mut failures = Vec::new();
    for (place, program) in PROGRAMS.iter().enumerate() {
        if mount.sh(&format!("command -v {}", program.name)).status != 0 {
            eprintln!("{} is not there: left out", program.name);
            continue;
        }
        for (number, text) in texts().iter().enumerate() {
            // sed ends a line that it copies; the others write the very bytes.
            fs::write(&input, &text.body).unwrap();
            let item = format!("Numbered/items/p{place}t{number}.json");
            if let Err(wrong) = write_once(&mount, &input, &item, program, text) {
                failures.push(format!("{} writes {}: {wrong}", program.name, text.name));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert!(
        ddbfs::engine::check::check(mount.local.engine())
            .unwrap()
            .is_clean()
    );
}

fn write_once(
    mount: &Mount,
    input: &Path,
    item: &str,
    program: &Program,
    text: &Text,
) -> Result<(), String> {
    mount.sh(&format!("echo '{{\"n\":1}}' > {item}")).ok();
    let before = mount
        .sh(&format!("cat {item}; stat -c %Y {item}"))
        .ok()
        .to_owned();
    let ran = mount.sh(&format!(
        "in={} f={item}\n{}",
        input.display(),
        program.script
    ));
    let last = mount.sh("cat .ddb/errors/last").ok().to_owned();
    let after = mount.sh(&format!("cat {item}; stat -c %Y {item}")).out;
    let Some((errno, words, sentence)) = text.error else {
        let stored = mount
            .sh(&format!("jq -c 'del(.id)' {item}"))
            .ok()
            .trim()
            .to_owned();
        println!(
            "checked: {} writes {}: status 0, stored",
            program.name, text.name
        );
        return if ran.status == 0 && stored == text.body {
            Ok(())
        } else {
            Err(format!("{ran:?}, stored {stored}"))
        };
    };
    let (errno, words) = match (program.close, errno) {
        // mv and others explain EINVAL of rename in their own way.
        (Close::Renamed, "EINVAL") => ("EBADMSG", "Bad message"),
        _ => (errno, words),
    };
    let is_told = !(text.is_cut_off && program.close == Close::Ignored);
    let right = [
        // install removes it first, and an unlink is final.
        (
            after == before || program.name == "install" && after.is_empty(),
            "the item is as it was",
        ),
        (is_told == (ran.status != 0), "the status"),
        (
            !is_told || !program.says || ran.err.to_lowercase().contains(&words.to_lowercase()),
            "the message",
        ),
        (
            last.contains(&item[..item.len() - 5])
                && last.contains(errno)
                && last.contains(sentence),
            "what can be read back",
        ),
    ];
    println!(
        "checked: {} writes {}: {errno}, status {}, the item as it was",
        program.name, text.name, ran.status
    );
    let wrong: Vec<&str> = right
        .iter()
        .filter(|(is_right, _)| !is_right)
        .map(|(_, what)| *what)
        .collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "wrong: {wrong:?}\n{ran:?}\nlast error: {last}item: {after}"
        ))
    }
}

const XATTR: &str = r#"
import os, sys, errno
def get(path, name):
    try: return os.getxattr(path, name).decode()
    except OSError as e: return errno.errorcode[e.errno]
def tried(call, *args):
    try: call(*args); return 'ok'
    except OSError as e: return errno.errorcode[e.errno]
f = 'Numbered/items/a.json'
"#;

#[test]
fn attributes_answer_by_name_and_are_never_listed() {
    let db = memory();
    create_table(&*db, NUMBERED);
    let mount = Mount::of(db);
    mount
        .sh("echo '{\"n\":7,\"x\":\"y\"}' > Numbered/items/a.json")
        .ok();
    let check = |script: &str, expected: &str| {
        let ran = mount.sh(&format!("python3 - <<'END'\n{XATTR}\n{script}\nEND"));
        assert_eq!(ran.ok().trim_end(), expected, "{script}");
        println!("checked: {script}");
    };
    check(
        "print(get(f, 'user.ddb.key'), get(f, 'user.ddb.size'), get(f, 'user.ddb.rcu'), get(f, 'user.ddb.wcu'))",
        "{\"id\":\"a\"} 8 0.5 1",
    );
    check(
        "print(get(f, 'user.ddb.indexes'), get(f, 'user.ddb.ttl'), len(get(f, 'user.ddb.hash')))",
        "by-n ENODATA 32",
    );
    check(
        "e = get(f, 'user.ddb.etag'); open(f[:-5] + '.' + e + '.casjson', 'w').write('{\"n\":8}'); print(get(f, 'user.ddb.etag') == e, open(f).read().strip())",
        "False {\"id\":\"a\",\"n\":8}",
    );
    check(
        "print(get(f, 'user.ddb.error')); tried(lambda: open(f, 'w').write('{x')); print(get(f, 'user.ddb.error').split(chr(10))[0])",
        "ENODATA\nwrite Numbered/items/a.json: EINVAL ValidationException",
    );
    check(
        "print(os.listxattr(f), os.listxattr('Numbered'), get(f, 'user.ddb.none'), get(f, 'user.x'), get('Numbered', 'user.ddb.key'), get('README.md', 'user.ddb.size'))",
        "[] [] ENODATA ENODATA ENODATA ENODATA",
    );
    check(
        "print(get(f, 'system.posix_acl_access'), get(f, 'security.capability'), tried(os.setxattr, f, 'user.x', b'y'), get(f, 'user.x'), tried(os.removexattr, f, 'user.x'))",
        "ENOTSUP ENOTSUP ENOTSUP ENODATA ENODATA",
    );
    check(
        "print(tried(os.setxattr, f, 'user.ddb.etag', b'1'), tried(os.removexattr, f, 'user.ddb.etag'))",
        "EROFS EROFS",
    );
    mount
        .sh("echo '{\"AttributeName\":0}' > /dev/null; (cd Numbered/items && echo '{\"n\":1,\"until\":4102444800}' > t.json)")
        .ok();
    ddbfs::database::Database::update_time_to_live(
        &*mount.db,
        ddbfs::model::api::UpdateTimeToLiveRequest {
            table_name: ddbfs::model::TableName::new("Numbered").unwrap(),
            specification: ddbfs::model::api::TimeToLiveSpecification {
                enabled: true,
                attribute_name: "until".to_owned(),
            },
        },
    )
    .unwrap();
    check(
        "print(get('Numbered/items/t.json', 'user.ddb.ttl'))",
        "4102444800",
    );
}

#[test]
fn nothing_of_ours_leaks_and_nothing_of_theirs_makes_programs_complain() {
    let outside = tempfile::tempdir().unwrap();
    let db = memory();
    create_table(&*db, NUMBERED);
    let mount = Mount::of(db);
    let t = outside.path().display();
    mount
        .sh(&format!(
            "echo '{{\"n\":7}}' > Numbered/items/a.json; echo '{{\"n\":8}}' > {t}/b.json"
        ))
        .ok();
    let has_xattrs = mount
        .sh(&format!(
            "python3 -c \"import os; os.setxattr('{t}/b.json', 'user.note', b'x')\""
        ))
        .status
        == 0;
    if !has_xattrs {
        eprintln!(
            "the directory for temporary files keeps no extended attributes: copies into the mount carry none"
        );
    }
    let cases = [
        (
            "cp -a out",
            format!("cp -a Numbered/items/a.json {t}/cp.json"),
        ),
        (
            "cp -a in",
            format!("cp -a {t}/b.json Numbered/items/b1.json"),
        ),
        (
            "cp --preserve=all in, over an item",
            format!("cp --preserve=all {t}/b.json Numbered/items/a.json"),
        ),
        (
            "mv in",
            format!("cp -a {t}/b.json {t}/c.json && mv {t}/c.json Numbered/items/b2.json"),
        ),
        ("mv out", format!("mv Numbered/items/b2.json {t}/mv.json")),
        (
            "install in",
            format!("install --preserve-timestamps {t}/b.json Numbered/items/b3.json"),
        ),
        (
            "install out",
            format!("install --preserve-timestamps Numbered/items/b3.json {t}/install.json"),
        ),
        (
            "tar --xattrs out",
            format!(
                "tar --xattrs --xattrs-include='*' -C Numbered -cf {t}/x.tar items && mkdir {t}/tar && tar --xattrs --xattrs-include='*' -C {t}/tar -xf {t}/x.tar"
            ),
        ),
        (
            "rsync -aX out",
            format!("command -v rsync > /dev/null || exit 0; rsync -aX Numbered/items {t}/rsync"),
        ),
        (
            "cp -a of the whole table out",
            format!("cp -a Numbered {t}/table"),
        ),
    ];
    for (name, script) in &cases {
        mount.sh(script).ok();
        println!("checked: {name}: status 0, silent");
    }
    // Programs that report lost attributes, as on every file system without extended attributes:
    // tar continues, rsync counts it as a failure.
    let tar = "tar --xattrs --xattrs-include='*'";
    let script =
        format!("{tar} -C {t} -cf {t}/y.tar b.json && {tar} -C Numbered/items -xf {t}/y.tar");
    let told = mount.sh(&script);
    assert_eq!(
        (told.status, told.err.contains("Operation not supported")),
        (0, has_xattrs),
        "{told:?}"
    );
    let told = mount.sh(&format!(
        "cp -a {t}/b.json {t}/r.json; rsync -aX {t}/r.json Numbered/items/"
    ));
    assert_eq!(told.status, if has_xattrs { 23 } else { 0 }, "{told:?}");
    if has_xattrs {
        assert!(
            mount
                .sh("cat .ddb/errors/last")
                .ok()
                .contains("files here keep no extended attributes")
        );
    }
    let leaked = format!(
        "python3 -c \"\nimport os\nfor d, _, names in os.walk('{t}'):\n    for n in names:\n        p = os.path.join(d, n)\n        for x in os.listxattr(p):\n            if x.startswith('user.ddb'): print(p, x)\""
    );
    assert_eq!(mount.sh(&leaked).ok(), "");
    assert_eq!(
        mount
            .sh("ls Numbered/items; jq -c .n Numbered/items/*.json")
            .ok(),
        "a.json\nb.json\nb1.json\nb3.json\nr.json\n8\n8\n8\n8\n8\n"
    );
}
