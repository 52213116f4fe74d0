//! What programs keep open costs the daemon bounded memory, is refused with a sentence beyond, and is given back.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::support::daemon::Mount;
use crate::support::wait::until_ok;

/// The largest text of an item: 400 KB of characters that are written in six.
const LARGE_CHARACTERS: usize = 390_000;
/// What a daemon may have of the machine's memory, of which an eighth is for open files.
const MEMORY: [&str; 2] = ["--memory", "1G"];
/// More than all open files together may hold, in texts of that item.
const HANDLES: usize = 200;
/// KiB: what open files may hold, and as much again for the rest.
const MEMORY_MAX_KIB: u64 = 256 * 1024;

const ENFILE: i32 = 23;
const ENOSPC: i32 = 28;

fn large() -> String {
    format!("{{\"t\":\"{}\"}}\n", "\\u0001".repeat(LARGE_CHARACTERS))
}

/// Opens and uses files in one way until one is refused; all that were opened, and the error.
fn until_refused(open: impl Fn() -> std::io::Result<File>) -> (Vec<File>, Option<i32>) {
    let mut all = Vec::new();
    for _ in 0..HANDLES {
        match open() {
            Ok(file) => all.push(file),
            Err(error) => return (all, error.raw_os_error()),
        }
    }
    (all, None)
}

fn edit(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// A file with `text` written to it in pieces, which does not end what it begins.
fn begin(path: &Path, text: &[u8]) -> std::io::Result<File> {
    let mut file = edit(path)?;
    for piece in text.chunks(512 * 1024) {
        file.write_all(piece)?;
    }
    Ok(file)
}

type OperationKind<'a> = (
    &'a str,
    &'a [i32],
    Box<dyn Fn() -> std::io::Result<File> + 'a>,
);

#[test]
fn what_is_kept_open_is_bounded_whatever_it_is() {
    let mount = Mount::with_args(&MEMORY);
    let point = mount.point();
    mount.ok("mkdir Flat@id:S && echo '{\"n\":1}' > Flat/items/small.json");
    std::fs::write(point.join("Flat/items/large.json"), large()).unwrap();
    let unfinished = [b"{\"a\":\"".as_slice(), &vec![b'x'; 3 * 1024 * 1024]].concat();
    let update = [b"SET a = \"".as_slice(), &vec![b'x'; 3 * 1024 * 1024]].concat();
    let get = br#"{"TableName":"Flat","Key":{"id":{"S":"large"}}}"#;
    let large = point.join("Flat/items/large.json");
    let ways: Vec<OperationKind<'_>> = vec![
        ("opened for editing", &[ENFILE], Box::new(|| edit(&large))),
        (
            "an unfinished item",
            &[ENOSPC, ENFILE],
            Box::new(|| begin(&point.join("Flat/items/small.json"), &unfinished)),
        ),
        (
            "an unfinished request",
            &[ENOSPC, ENFILE],
            Box::new(|| begin(&point.join(".ddb/api/PutItem"), &unfinished)),
        ),
        (
            "an answer",
            &[ENOSPC, ENFILE],
            Box::new(|| begin(&point.join(".ddb/api/GetItem"), get)),
        ),
        (
            "a partial line",
            &[ENOSPC, ENFILE],
            Box::new(|| begin(&point.join("Flat/batch/put"), &unfinished)),
        ),
        (
            "a patch",
            &[ENOSPC, ENFILE],
            Box::new(|| begin(&point.join("Flat/items/small.patch"), &unfinished)),
        ),
        (
            "an update",
            &[ENOSPC, ENFILE],
            Box::new(|| begin(&point.join("Flat/items/small.update"), &update)),
        ),
        (
            "items read in a batch",
            &[ENOSPC, ENFILE],
            Box::new(|| begin(&point.join("Flat/batch/get"), b"{\"id\":\"large\"}\n")),
        ),
    ];
    for (way, errnos, open) in &ways {
        let (all, refused) = until_refused(open);
        assert!(
            refused.is_some_and(|errno| errnos.contains(&errno)),
            "{way}: {refused:?}, {} are open",
            all.len()
        );
        assert!(all.len() > 10, "{way}: {} are open", all.len());
        // What the way before freed goes back in a moment.
        until_ok(way, || match mount.anonymous_kib() {
            kib if kib < MEMORY_MAX_KIB => Ok(()),
            kib => Err(format!("{kib} KiB with {} open", all.len())),
        });
        drop(all);
    }
    // All was given back.
    let mut text = String::new();
    File::open(&large)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert!(text.len() > 6 * LARGE_CHARACTERS);
}

#[test]
fn who_is_refused_is_told_what_to_do() {
    let mount = Mount::with_args(&MEMORY);
    mount.ok("mkdir Flat@id:S");
    let path = mount.point().join("Flat/items/large.json");
    std::fs::write(&path, large()).unwrap();
    let (all, refused) = until_refused(|| File::open(&path));
    assert_eq!(refused, Some(ENFILE));
    // Small files are opened until nothing at all is left.
    let errors = std::fs::read_to_string(mount.point().join(".ddb/errors/last")).unwrap();
    assert!(
        errors.contains("ENFILE") && errors.contains("no other can be opened; close some"),
        "{errors}"
    );
    assert!(errors.contains("Flat/items/large.json"), "{errors}");
    // What is open goes on.
    assert!(all[0].read_at(&mut [0; 100], 1_000).unwrap() == 100);
}

/// KiB: what is kept of what was written and answered, with little memory.
const KEPT_MAX_KIB: u64 = 48 * 1024;

/// What is kept only to be of use, beside open files.
#[test]
fn what_is_kept_follows_the_memory_limit() {
    let mount = Mount::with_args(&["--memory", "256M", "-o", "keep_text"]);
    mount.ok("mkdir Flat@id:S");
    let text = |letter: &str| format!("{{\"t\":\"{}\"}}\n", letter.repeat(LARGE_CHARACTERS));
    for number in 0..60 {
        std::fs::write(
            mount
                .point()
                .join(format!("Flat/items/{}.json", number % 4)),
            text(&(number % 10).to_string()),
        )
        .unwrap();
    }
    let keys: Vec<String> = (0..4)
        .map(|number| format!("{{\"id\":{{\"S\":\"{number}\"}}}}"))
        .collect();
    let get = format!(
        "{{\"RequestItems\":{{\"Flat\":{{\"Keys\":[{}]}}}}}}",
        keys.join(",")
    );
    // A session each.
    mount.ok(&format!(
        "for i in $(seq 40); do echo '{get}' | setsid -w sh -c 'cat > .ddb/api/BatchGetItem'; done"
    ));
    let scratch = |number: u32| {
        std::fs::write(
            mount.point().join(format!("Flat/items/.{number}.swp")),
            vec![b'x'; 7 << 20],
        )
    };
    scratch(1).unwrap();
    assert_eq!(scratch(2).unwrap_err().raw_os_error(), Some(ENOSPC));
    let kib = mount.anonymous_kib();
    assert!(kib < KEPT_MAX_KIB, "{kib} KiB");
}

/// Each directory of a query path is a node; their number is bounded, and a deep one costs what it says.
#[test]
fn a_query_path_has_a_depth() {
    let mount = Mount::empty();
    mount.ok("mkdir Keys@pk:S,sk:S && mkdir Keys/items/p && echo '{\"a0\":1,\"n\":7}' > Keys/items/p/1.json");
    let clauses = |count: usize| -> String {
        (0..count)
            .map(|number| format!("/where.a{number}.ne=5"))
            .collect()
    };
    assert_eq!(
        mount.ok(&format!("cat 'Keys/scan{}/count'", clauses(64))),
        "1\n"
    );
    let refused = mount.fails(&format!("cat 'Keys/scan{}/count'", clauses(65)));
    assert!(refused.contains("File name too long"), "{refused}");
    let told = mount.ok(&format!(
        "cat 'Keys/scan{}/count' 2> /dev/null; cat .ddb/errors/last",
        clauses(65)
    ));
    assert!(
        told.contains("ENAMETOOLONG") && told.contains("at most 64 clauses"),
        "{told}"
    );
}
