//! Tests of files that are no items: an item moved aside is kept for a week, in `.ddb/scratch/`;
//! other scratch files are removed with their folder, their table and the mount, with a warning.
//! Real programs on real mounts.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::support::daemon;
use crate::support::mounted::{FLAT, Mount, ORDERS, create_table, get, memory, put, s};
use crate::support::wait::{moment, until};
use ddbfs::database::Browse;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::check::check;
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::TableName;
use ddbfs::model::api::table_control::{TRASH_RETENTION_MS, TrashKey, TrashRequest};
use ddbfs::model::api::{Completion, DeleteItemRequest, DeleteTableRequest, Precondition};
use ddbfs::store::memory::MemoryStore;

const TABLES: &str = "mkdir 'Flat@pk:S' 'Tab@pk:S,sk:S' && mkdir Tab/items/u1";

/// Executes the pending delete now.
fn settle(mount: &daemon::Mount) {
    mount.ok("echo flush > .ddb/ctl");
    until("the delete is carried out", || {
        !mount
            .ok("cat .ddb/scratch.ndjson")
            .contains("\"parked\":false")
    });
}

#[test]
fn an_item_moved_aside_survives_umount_and_kill_and_comes_back() {
    let mut mount = daemon::Mount::empty();
    mount.ok(TABLES);
    mount.ok(
        "echo '{\"n\":1}' > Flat/items/a.json; echo '{\"n\":2}' > Tab/items/u1/o1.json; echo '{\"n\":3}' > Tab/items/u1/o2.json",
    );
    mount.ok("mv Flat/items/a.json Flat/items/a.json.disabled; mv Tab/items/u1/o1.json Tab/items/u1/o1.backup");
    mount.ok(
        "mv Tab/items/u1/o2.json .ddb/../Tab/items/u1/.o2; ! ls Tab/items/u1/o2.json 2> /dev/null",
    );
    settle(&mount);
    mount.kill();
    mount.start(&[]);
    let listed = "Flat,items,a.json.disabled\nTab,items,u1,.o2\nTab,items,u1,o1.backup\n";
    assert_eq!(mount.ok("LC_ALL=C ls -A .ddb/scratch"), listed);
    assert_eq!(
        mount.ok("cat Flat/items/a.json.disabled .ddb/scratch/Tab,items,u1,o1.backup"),
        "{\"pk\":\"a\",\"n\":1}\n{\"pk\":\"u1\",\"sk\":\"o1\",\"n\":2}\n"
    );
    assert_eq!(mount.ok("find Flat/items Tab/items -type f"), "");
    mount.unmount();
    assert!(
        daemon::check(&mount.data()).0,
        "{}",
        daemon::check(&mount.data()).1
    );
    mount.start(&[]);
    // At the old place, though the folder has no items; and from the list.
    mount.ok("mv Tab/items/u1/o1.backup Tab/items/u1/o1.json; mv .ddb/scratch/Flat,items,a.json.disabled Flat/items/a.json");
    mount.ok("python3 -c \"import os; os.rename('.ddb/scratch/Tab,items,u1,.o2', 'Tab/items/u1/o2.json')\"");
    assert_eq!(
        mount.ok("cat Flat/items/a.json Tab/items/u1/*.json; ls .ddb/scratch"),
        "{\"pk\":\"a\",\"n\":1}\n{\"pk\":\"u1\",\"sk\":\"o1\",\"n\":2}\n{\"pk\":\"u1\",\"sk\":\"o2\",\"n\":3}\n"
    );
    // Moved aside just before the end.
    mount.ok("mv Flat/items/a.json Flat/items/a.old");
    mount.unmount();
    mount.start(&[]);
    assert_eq!(
        mount.ok("ls Flat/items .ddb/scratch; rm .ddb/scratch/*; ls Flat/items/a.old 2>/dev/null || echo freed"),
        ".ddb/scratch:\nFlat,items,a.old\n\nFlat/items:\nfreed\n"
    );
}

#[test]
fn a_kill_at_any_moment_leaves_the_item_or_its_parked_text_and_never_both() {
    let mut mount = daemon::Mount::empty();
    mount.ok(TABLES);
    for round in 0..12u64 {
        mount.ok(&format!("echo '{{\"n\":{round}}}' > Tab/items/u1/o{round}.json; mv Tab/items/u1/o{round}.json Tab/items/u1/o{round}.bak; echo flush > .ddb/ctl"));
        moment(Duration::from_micros(300 * (round % 6)));
        mount.kill();
        mount.start(&[]);
        let left =
            mount.ok(&format!("ls Tab/items/u1/o{round}.json 2> /dev/null; ls .ddb/scratch | grep -c ',o{round}.bak$' || true"));
        let (item, parked) = (left.contains(".json"), left.ends_with("1\n"));
        assert!(item != parked, "round {round}: {left}");
    }
    mount.unmount();
    assert!(daemon::check(&mount.data()).0);
}

#[test]
fn another_process_lists_restores_and_frees_what_this_one_parked() {
    let first = daemon::Mount::empty();
    first.ok(TABLES);
    first.ok("echo '{\"n\":1}' > Flat/items/a.json; echo '{\"n\":2}' > Flat/items/b.json; mv Flat/items/a.json Flat/items/a.bak; mv Flat/items/b.json Flat/items/b.bak");
    settle(&first);
    let second = first.dir.path().join("second");
    std::fs::create_dir(&second).unwrap();
    let mut other = Command::new(daemon::DDBFS)
        .args(["mount", "--data"])
        .arg(first.data())
        .arg(&second)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("the second mount", || second.join("README.md").exists());
    let ran = daemon::bash_in(
        &second,
        "ls .ddb/scratch && mv Flat/items/a.bak Flat/items/a.json && rm .ddb/scratch/Flat,items,b.bak",
    );
    let ended = daemon::bash_in(first.dir.path(), "ddbfs umount second");
    other.wait().unwrap();
    assert_eq!(
        daemon::texts(&ran),
        (
            "Flat,items,a.bak\nFlat,items,b.bak\n".to_owned(),
            String::new()
        )
    );
    assert!(ended.status.success());
    assert_eq!(
        first.ok("ls Flat/items .ddb/scratch"),
        ".ddb/scratch:\n\nFlat/items:\na.json\n"
    );
}

/// Mounts a database with a settable clock.
fn with_clock() -> (Mount, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000));
    let options = EngineOptions {
        clock: clock.clone(),
        ..EngineOptions::default()
    };
    let db = Arc::new(LocalDatabase::open(Arc::new(MemoryStore::new().unwrap()), options).unwrap());
    create_table(&*db, FLAT);
    create_table(&*db, ORDERS);
    (Mount::of(db), clock)
}

fn parked(db: &LocalDatabase, table: &str) -> Vec<String> {
    let mut names = Vec::new();
    let visit = &mut |stat: ddbfs::model::api::table_control::TrashStat| {
        names.push(stat.key.name);
        std::ops::ControlFlow::Continue(())
    };
    db.trashed(&TableName::new(table).unwrap(), None, visit)
        .unwrap();
    names
}

#[test]
fn a_parked_file_is_kept_for_seven_days() {
    let (mount, clock) = with_clock();
    mount.sh("echo '{\"n\":1}' > Flat/items/a.json; mv Flat/items/a.json Flat/items/a.bak; echo flush > .ddb/ctl").ok();
    until("it is parked", || parked(&mount.local, "Flat") == ["a.bak"]);
    let until_then = mount
        .sh("jq -r .kept_until .ddb/scratch.ndjson; jq -r .text .ddb/warnings.ndjson")
        .ok()
        .to_owned();
    let (when, sentence) = until_then.split_once('\n').unwrap();
    assert!(when.starts_with("2023-11-21T22:13:20"), "{until_then}");
    assert!(
        sentence.contains(".ddb/scratch/Flat,items,a.bak until "),
        "{until_then}"
    );
    clock.advance_ms(TRASH_RETENTION_MS - 1);
    mount.local.engine().run_background_work().unwrap();
    assert_eq!(
        mount.sh("cat Flat/items/a.bak; ls .ddb/scratch").ok(),
        "{\"id\":\"a\",\"n\":1}\nFlat,items,a.bak\n"
    );
    clock.advance_ms(1);
    assert_eq!(
        mount
            .sh("ls .ddb/scratch; ls Flat/items/a.bak 2> /dev/null || echo gone")
            .ok(),
        "gone\n"
    );
    mount.local.engine().run_background_work().unwrap();
    clock.set_ms(1_700_000_000_000);
    assert_eq!(
        mount.sh("ls .ddb/scratch").ok(),
        "",
        "its bytes are gone, not only its name"
    );
    assert!(check(mount.local.engine()).unwrap().is_clean());
}

#[test]
fn a_parked_file_is_an_ordinary_file() {
    let mount = Mount::with_tables();
    mount.sh("mkdir Orders/items/u1; echo '{\"n\":1}' > Orders/items/u1/a.json; mv Orders/items/u1/a.json Orders/items/u1/a.bak; echo flush > .ddb/ctl").ok();
    until("it is parked", || {
        parked(&mount.local, "Orders") == ["a.bak"]
    });
    // Read, copied and listed; written, which makes a copy in memory; the store keeps the old item.
    assert_eq!(
        mount.sh("cd Orders/items/u1; stat -c %s a.bak; cp a.bak b; cmp a.bak b && rm b; grep -c n a.bak; ls").ok(),
        "27\n1\n"
    );
    mount.sh("cd Orders/items/u1; echo more >> a.bak; tail -1 a.bak; stat -c %s a.bak; ls ../../../.ddb/scratch").ok();
    assert_eq!(
        mount.sh("cat Orders/items/u1/a.bak").ok(),
        "{\"pk\":\"u1\",\"sk\":\"a\",\"n\":1}\nmore\n"
    );
    let size = "import os\nf = open('Orders/items/u1/c.bak', 'r+b'); f.seek(0, 2); f.write(b'12345'); f.flush(); print(os.fstat(f.fileno()).st_size, os.stat('Orders/items/u1/c.bak').st_size)";
    mount
        .sh("echo '{\"n\":1}' > Orders/items/u1/c.json; mv Orders/items/u1/c.json Orders/items/u1/c.bak; echo flush > .ddb/ctl")
        .ok();
    until("it is parked", || {
        parked(&mount.local, "Orders") == ["a.bak", "c.bak"]
    });
    assert_eq!(
        mount
            .sh(&format!("python3 -c \"{size}\"; rm Orders/items/u1/c.bak"))
            .ok(),
        "32 32\n"
    );
    // Its name and folder change, and it stays in the trash.
    mount.sh("mkdir Orders/items/u2; rm Orders/items/u1/a.bak; ! ls Orders/items/u1/a.bak 2> /dev/null").ok();
    assert!(
        parked(&mount.local, "Orders").is_empty(),
        "rm of the copy is rm of both"
    );
    mount
        .sh("echo '{\"n\":1}' > Orders/items/u1/a.json; mv Orders/items/u1/a.json Orders/items/u1/a.bak; echo flush > .ddb/ctl")
        .ok();
    until("it is parked", || {
        parked(&mount.local, "Orders") == ["a.bak"]
    });
    mount
        .sh("mv Orders/items/u1/a.bak Orders/items/u2/b.bak; mv Orders/items/u2/b.bak Flat/items/c.bak; cat Flat/items/c.bak")
        .ok();
    assert_eq!(
        (
            parked(&mount.local, "Orders").len(),
            parked(&mount.local, "Flat")
        ),
        (0, vec!["c.bak".to_owned()])
    );
    // Another item takes its name.
    mount.sh("echo '{\"n\":9}' > Flat/items/x.json; mv Flat/items/x.json Flat/items/c.bak; echo flush > .ddb/ctl").ok();
    until("it is replaced", || {
        mount.sh("jq -c .parked .ddb/scratch.ndjson").ok() == "true\n"
    });
    assert_eq!(
        mount.sh("cat Flat/items/c.bak").ok(),
        "{\"id\":\"x\",\"n\":9}\n"
    );
    assert!(check(mount.local.engine()).unwrap().is_clean());
}

#[test]
fn an_item_is_not_moved_to_where_nothing_is_kept() {
    let mount = Mount::with_tables();
    mount.sh("echo '{\"n\":1}' > Flat/items/a.json").ok();
    mount
        .sh("mv Flat/items/a.json Flat/schema.json.bak")
        .failed();
    assert!(mount.sh("cat .ddb/errors/last").ok().contains("items/"));
    mount.sh("mv Flat/items/a.json .ddb/scratch/").failed();
    assert_eq!(
        mount.sh("cat Flat/items/a.json; ls .ddb/scratch").ok(),
        "{\"id\":\"a\",\"n\":1}\n"
    );
}

#[test]
fn programs_that_keep_a_backup_park_nothing() {
    let mount = Mount::with_tables();
    let outside = tempfile::tempdir().unwrap();
    let programs = [
        ("sed", "sed -i.bak 's/1/2/' $f; rm $f.bak"),
        (
            "cp",
            "echo '{\"n\":2}' > $t/x; cp --backup=simple $t/x $f; rm $f~",
        ),
        (
            "mv",
            "echo '{\"n\":2}' > $f.new; mv --backup=simple $f.new $f; rm $f~",
        ),
        (
            "install",
            "echo '{\"n\":2}' > $t/x; install -b $t/x $f; rm $f~",
        ),
        (
            "rsync",
            "echo '{\"n\":2}' > $t/x; rsync -I --backup $t/x $f; rm $f~",
        ),
        (
            "vim",
            "vim -es -u NONE -c 'set backup backupcopy=no backupdir=. backupskip=' -c 's/1/2/' -c wq $f; rm $f~",
        ),
    ];
    for (program, script) in programs {
        if mount.sh(&format!("command -v {program}")).status != 0 {
            eprintln!("{program} is not there: left out");
            continue;
        }
        let t = outside.path().display();
        mount
            .sh(&format!(
                "f=Flat/items/{program}.json t={t}; echo '{{\"n\":1}}' > $f; {script}"
            ))
            .ok();
        assert_eq!(
            mount
                .sh(&format!(
                    "echo flush > .ddb/ctl; jq .n Flat/items/{program}.json; ls -A .ddb/scratch; cat .ddb/warnings.ndjson"
                ))
                .ok(),
            "2\n",
            "{program}"
        );
    }
    assert!(parked(&mount.local, "Flat").is_empty());
}

#[test]
fn rm_of_what_an_item_was_moved_to_is_its_delete_at_once() {
    let mount = Mount::with_tables();
    put(&*mount.db, "Flat", r#"{"id":"a","n":1}"#);
    let gone = mount.sh("mv Flat/items/a.json Flat/items/a.bak; rm Flat/items/a.bak");
    assert!(
        get(&*mount.db, "Flat", r#"{"id":"a"}"#).is_none(),
        "{gone:?}"
    );
    assert_eq!(
        mount
            .sh("ls -A .ddb/scratch; echo '{x' > Flat/items/a.json; ls Flat/items")
            .out,
        ""
    );
    // By way of the list too.
    put(&*mount.db, "Flat", r#"{"id":"a","n":1}"#);
    mount
        .sh("mv Flat/items/a.json Flat/items/a.bak; rm .ddb/scratch/Flat,items,a.bak")
        .ok();
    assert!(get(&*mount.db, "Flat", r#"{"id":"a"}"#).is_none());
}

/// Checks one file of the maximum size, in a folder or table of its own, again and again.
#[test]
fn scratch_goes_with_its_folder_and_table() {
    let mount = Mount::with_tables();
    let big = "head -c 8388608 /dev/zero";
    for round in 0..9 {
        mount.sh(&format!("mkdir Orders/items/f{round} && {big} > Orders/items/f{round}/.big && rmdir Orders/items/f{round}")).ok();
    }
    assert_eq!(
        mount.sh("mkdir Orders/items/f1; ls -A .ddb/scratch; ls Orders/items/f1/.big 2> /dev/null || echo gone").ok(),
        "gone\n"
    );
    for _ in 0..9 {
        mount.sh(&format!("mkdir 'Temp@pk:S' && {big} > Temp/items/big && {big} > Temp/.schema.json.swp && rmdir Temp")).ok();
    }
    assert_eq!(
        mount
            .sh(
                "mkdir 'Temp@pk:S'; ls -A .ddb/scratch; ls Temp/items/big 2> /dev/null || echo gone"
            )
            .ok(),
        "gone\n"
    );
    // A draft.
    for _ in 0..9 {
        mount
            .sh(&format!(
                "mkdir Drafted && {big} > Drafted/.schema.json.swp && rmdir Drafted"
            ))
            .ok();
    }
    // A table that another front end removes and makes anew.
    for _ in 0..9 {
        mount.sh(&format!("{big} > Temp/items/big")).ok();
        let before = mount
            .db
            .describe(&TableName::new("Temp").unwrap())
            .unwrap()
            .unwrap()
            .created_ms;
        mount
            .db
            .delete_table(DeleteTableRequest {
                table_name: TableName::new("Temp").unwrap(),
                only_if_empty: false,
            })
            .unwrap();
        until("another millisecond", || {
            ddbfs::engine::clock::Clock::now_ms(&ddbfs::engine::clock::SystemClock) > before
        });
        mount
            .sh("mkdir 'Temp@pk:S'; ls Temp/items/big 2> /dev/null && echo there || true")
            .ok();
    }
    assert_eq!(mount.sh("ls -A .ddb/scratch").ok(), "");
}

#[test]
fn a_folder_whose_item_was_moved_aside_is_removed_at_once_and_the_text_is_kept() {
    let mount = Mount::with_tables();
    mount
        .sh("mkdir Orders/items/u1; echo '{\"n\":1}' > Orders/items/u1/a.json; mv Orders/items/u1/a.json Orders/items/u1/a.bak")
        .ok();
    mount.sh("rm -r Orders/items/u1; ! ls -d Orders/items/u1 2> /dev/null; mkdir Orders/items/u1; ! ls Orders/items/u1/a.bak 2> /dev/null").ok();
    assert_eq!(
        mount.sh("ls .ddb/scratch; mv .ddb/scratch/* Orders/items/u1/a.json; jq .n Orders/items/u1/a.json; ls .ddb/scratch").ok(),
        "Orders,items,u1,a.bak\n1\n"
    );
    // It goes with its table.
    mount.sh("mkdir 'Temp@pk:S'; echo '{\"n\":1}' > Temp/items/a.json; mv Temp/items/a.json Temp/items/a.bak; rmdir Temp; mkdir 'Temp@pk:S'").ok();
    assert_eq!(
        mount
            .sh("ls .ddb/scratch; ls Temp/items/a.bak 2> /dev/null || echo gone")
            .ok(),
        "gone\n"
    );
    until("what the table left is removed", || {
        check(mount.local.engine()).unwrap().is_clean()
    });
}

#[test]
fn what_fills_scratch_is_said_and_can_be_removed() {
    let mount = Mount::with_tables();
    let filled = mount.sh("for i in 1 2 3 4 5 6 7 8 9; do head -c 8388608 /dev/zero > Flat/items/big$i || exit 1; done");
    assert!(
        filled.failed().contains("No space left on device"),
        "{filled:?}"
    );
    assert!(
        mount
            .sh("cat .ddb/errors/last")
            .ok()
            .contains(".ddb/scratch"),
        "where to look"
    );
    let listed = mount
        .sh("ls -l .ddb/scratch | awk 'NR > 1 { print $5, $9 }' | head -2")
        .ok()
        .to_owned();
    assert_eq!(listed, "8388608 Flat,items,big1\n8388608 Flat,items,big2\n");
    mount.sh("rm .ddb/scratch/Flat,items,big[1-4]; ls Flat/items/big5; head -c 8388608 /dev/zero > Flat/items/bigger").ok();
}

#[test]
fn umount_says_what_it_drops() {
    let mount = daemon::Mount::empty();
    mount.ok(TABLES);
    mount.ok("echo '{\"n\":1}' > Flat/items/a.json; mv Flat/items/a.json Flat/items/a.bak; printf 12345 > Tab/items/u1/notes; printf 1 > Flat/items/.x.swp");
    let ended = Command::new(daemon::DDBFS)
        .arg("umount")
        .arg(mount.point())
        .output()
        .unwrap();
    let (out, err) = daemon::texts(&ended);
    assert!(ended.status.success() && out.is_empty(), "{err}");
    assert!(
        err.contains("2 scratch files, 6 bytes")
            && err.contains("Tab/items/u1/notes (5 bytes)")
            && err.contains("Flat/items/.x.swp (1 byte)"),
        "{err}"
    );
    assert!(!err.contains("a.bak"), "that is kept: {err}");
}

#[test]
fn a_removed_file_that_is_open_has_no_names() {
    let mount = Mount::with_tables();
    mount.sh("echo '{\"n\":1}' > Flat/items/a.json").ok();
    let script = "import os\nfor name in ('.x', 'a.json'):\n  f = os.open('Flat/items/' + name, os.O_RDWR | os.O_CREAT)\n  print(os.fstat(f).st_nlink)\n  os.unlink('Flat/items/' + name)\n  print(os.fstat(f).st_nlink)";
    assert_eq!(
        mount.sh(&format!("python3 -c \"{script}\"")).ok(),
        "1\n0\n1\n0\n"
    );
}

#[test]
fn an_attribute_that_is_not_kept_is_refused() {
    let mount = Mount::with_tables();
    let outside = tempfile::tempdir().unwrap();
    let t = outside.path().display();
    mount
        .sh("echo '{\"n\":1}' > Flat/items/a.json; echo x > Flat/items/.x")
        .ok();
    let set = "import os, errno\nfor name in ('a.json', '.x'):\n  try: os.setxattr('Flat/items/' + name, 'user.x', b'1'); print('kept')\n  except OSError as e: print(errno.errorcode[e.errno])";
    assert_eq!(
        mount.sh(&format!("python3 -c \"{set}\"")).ok(),
        "ENOTSUP\nENOTSUP\n"
    );
    let made = format!(
        "echo '{{\"n\":2}}' > {t}/b.json; python3 -c \"import os; os.setxattr('{t}/b.json', 'user.note', b'x')\""
    );
    if mount.sh(&made).status != 0 || mount.sh("command -v rsync").status != 0 {
        eprintln!("no extended attributes for temporary files, or no rsync: left out");
        return;
    }
    let told = mount.sh(&format!(
        "rsync -aX {t}/b.json Flat/items/; echo $?; jq .n Flat/items/b.json"
    ));
    assert_eq!(
        (told.out.as_str(), told.err.contains("user.note")),
        ("23\n2\n", true),
        "{told:?}"
    );
}

/// Checks that delete and trash both happen or neither does, whatever the request.
#[test]
fn the_delete_that_parks_is_one_transaction() {
    let db = memory();
    create_table(&*db, FLAT);
    put(&*db, "Flat", r#"{"id":"a","n":1}"#);
    let flat = TableName::new("Flat").unwrap();
    let park = |table: &str, version| {
        let mut delete =
            DeleteItemRequest::new(flat.clone(), ddbfs::model::Item::from([("id", s("a"))]));
        delete.precondition = Some(Precondition::Version(version));
        let place = TrashKey {
            table: TableName::new(table).unwrap(),
            folder: None,
            name: "a.bak".to_owned(),
        };
        let (sender, receiver) = std::sync::mpsc::channel();
        db.trash_item(
            TrashRequest {
                delete,
                key: place,
                content: b"text".to_vec(),
            },
            Completion::detached(move |ended| sender.send(ended).unwrap()),
        );
        receiver.recv().unwrap()
    };
    let key = ddbfs::database::EntryKey {
        index: None,
        base: ddbfs::model::Key {
            partition: s("a"),
            sort: None,
        },
    };
    let version = db
        .stat(
            &ddbfs::database::SourceName {
                table: flat.clone(),
                index: None,
            },
            &key,
        )
        .unwrap()
        .unwrap()
        .version;
    for (table, version) in [("Flat", version + 1), ("None", version)] {
        park(table, version).unwrap_err();
        assert!(
            get(&*db, "Flat", r#"{"id":"a"}"#).is_some() && parked(&db, "Flat").is_empty(),
            "{table}"
        );
    }
    park("Flat", version).unwrap();
    assert!(get(&*db, "Flat", r#"{"id":"a"}"#).is_none() && parked(&db, "Flat") == ["a.bak"]);
    assert!(check(db.engine()).unwrap().is_clean());
}
