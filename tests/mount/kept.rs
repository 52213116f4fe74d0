//! Tests of the kernel's cache and its invalidation: docs/filesystem.md 13.

use std::fs;
use std::io::Write as _;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::Arc;

use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::TableName;
use ddbfs::model::api::{DeleteItemRequest, DeleteTableRequest};
use ddbfs::protocol;
use ddbfs::store::memory::MemoryStore;
use serde_json::Value;

use crate::support::daemon;
use crate::support::mounted::{Mount, create_table, memory, put};
use crate::support::wait::until_ok;

const DOCUMENT: &str = include_str!("../../docs/filesystem.md");

/// `Orders` with a stream and an index that has its items.
const ORDERS: &str = r#"{
    "TableName": "Orders",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"},
        {"AttributeName": "status", "AttributeType": "S"}, {"AttributeName": "rank", "AttributeType": "N"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [{
        "IndexName": "by-status", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}, {"AttributeName": "rank", "KeyType": "RANGE"}]}],
    "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
    "BillingMode": "PAY_PER_REQUEST"
}"#;

fn orders() -> Mount {
    let db = memory();
    create_table(&*db, ORDERS);
    put(
        &*db,
        "Orders",
        r#"{"pk":"u1","sk":"o1","status":"open","rank":1}"#,
    );
    Mount::of(db)
}

/// The maximum number of requests for a hundred looks at a cached file: now and then the kernel
/// asks again, and for the directories above too.
const KEPT_MAX: u64 = 60;

/// Returns the number of LOOKUP and GETATTR requests to a mount so far.
fn asked(mount: &Path) -> u64 {
    let stats: Value =
        serde_json::from_slice(&fs::read(mount.join(".ddb/stats.json")).unwrap()).unwrap();
    stats["kernel"]["asked"].as_u64().unwrap()
}

/// Returns the number of requests of a hundred looks at a file.
pub fn cost(mount: &Path, path: &Path) -> u64 {
    // The first look fills the kernel's cache, and ends the earlier requests.
    let _ = path.exists();
    let before = asked(mount);
    let own = asked(mount) - before;
    for _ in 0..100 {
        let _ = path.exists();
    }
    (asked(mount) - before).saturating_sub(2 * own)
}

/// Waits until a hundred looks cost next to nothing. Pending invalidations are sent by a thread of
/// their own when it can.
fn becomes_kept(mount: &Path, path: &Path) {
    until_ok("it is kept", || match cost(mount, path) {
        ..KEPT_MAX => Ok(()),
        cost => Err(format!("{}: {cost} requests for 100 looks", path.display())),
    });
}

/// Returns the attributes that stat shows.
fn seen(path: &Path) -> Option<(u64, u64, i64, i64)> {
    fs::metadata(path)
        .ok()
        .map(|stat| (stat.ino(), stat.size(), stat.mtime(), stat.mtime_nsec()))
}

fn delete(mount: &Mount, table: &str, key: &str) {
    let key = ddbfs::codec::plain_json::parse(key.as_bytes()).unwrap();
    mount
        .db
        .delete_item(DeleteItemRequest::new(TableName::new(table).unwrap(), key))
        .unwrap();
}

/// Returns kind, paths, name and attributes of each row of the table.
fn rows() -> Vec<[&'static str; 4]> {
    let section = DOCUMENT.split_once("\n## 13. ").unwrap().1;
    let table = section
        .split_once("|---|---|---|---|---|\n")
        .unwrap()
        .1
        .lines()
        .take_while(|line| line.starts_with('|'));
    table
        .map(|line| {
            line.split('|').map(str::trim).collect::<Vec<_>>()[1..5]
                .try_into()
                .unwrap()
        })
        .collect()
}

/// Changes, through the engine, the content of the paths of a kind; returns `None` for a kind that
/// never changes.
fn change(mount: &Mount, kind: &str) -> Option<()> {
    let long = r#"{"pk":"u1","sk":"o1","status":"open","rank":1,"more":"0123456789"}"#;
    match kind {
        "item" | "item as DynamoDB JSON" | "beside an item" | "entry of an index" | "stream" => {
            put(&*mount.db, "Orders", long)
        }
        "folder of an index" => put(
            &*mount.db,
            "Orders",
            r#"{"pk":"u1","sk":"o1","status":"closed","rank":1}"#,
        ),
        "folder of a collection" => delete(mount, "Orders", r#"{"pk":"u1","sk":"o1"}"#),
        "name that is nothing" => put(&*mount.db, "Orders", r#"{"pk":"u1","sk":"none"}"#),
        "query and its results" => {
            (0..10).for_each(|n| {
                put(
                    &*mount.db,
                    "Orders",
                    &format!(r#"{{"pk":"u1","sk":"more{n}"}}"#),
                )
            });
        }
        "directory of a table or an index" | "definition" => {
            mount
                .db
                .delete_table(DeleteTableRequest {
                    table_name: TableName::new("Orders").unwrap(),
                    only_if_empty: false,
                })
                .unwrap();
        }
        "scratch file" => fs::write(mount.path().join("Orders/items/u1/x.tmp"), "longer").unwrap(),
        "statistics" | "service file" => return None,
        kind => panic!("a kind of which nothing is known here: {kind}"),
    }
    Some(())
}

#[test]
fn each_kind_is_kept_as_the_table_says_and_seen_anew_after_each_change() {
    assert!(rows().len() > 10);
    for [kind, paths, name, attributes] in rows() {
        for path in paths.split('`').skip(1).step_by(2) {
            let mount = orders();
            fs::write(mount.path().join("Orders/items/u1/x.tmp"), "x").unwrap();
            let path = mount.path().join(path);
            let costs = |expected: Range<u64>| {
                let cost = cost(mount.path(), &path);
                assert!(
                    expected.contains(&cost),
                    "{kind}, {}: {cost} requests for 100 looks",
                    path.display()
                );
            };
            match (kind, name, attributes) {
                (_, "cached", "cached") => becomes_kept(mount.path(), &path),
                (_, "1 s", "asked") => costs(100..160),
                ("name that is nothing", "asked", "asked") => costs(100..160),
                (_, "asked", "asked") => costs(200..500),
                other => panic!("{other:?}"),
            }
            let before = seen(&path);
            if change(&mount, kind).is_some() {
                assert_ne!(seen(&path), before, "{kind}, {}", path.display());
            }
        }
    }
}

/// Returns the text of a file, if it exists.
fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[test]
fn entries_of_indexes_are_kept_until_their_item_changes() {
    let mount = orders();
    let (items, index) = ("Orders/items/u1", "Orders/gsi/by-status/items");
    let at = |folder: &str, rank: usize| {
        let name = format!("{index}/{folder}/{rank},u1,o1.json");
        mount.path().join(name)
    };
    let item = |status: &str, rank: usize, more: &str| {
        format!(r#"{{"status":"{status}","rank":{rank},"pk":"u1","sk":"o1","more":"{more}"}}"#)
    };
    let write = |status: &str, rank: usize, more: &str| {
        put(&*mount.db, "Orders", &item(status, rank, more));
    };
    let open = at("open", 1);
    for n in 0..10 {
        let more = "x".repeat(n);
        // Another front end; a file of the mount; the key of the index, to another name and folder.
        write("open", 1, &more);
        becomes_kept(mount.path(), &open);
        let expected = item("open", 1, &more) + "\n";
        assert_eq!(text(&open).as_ref(), Some(&expected));
        assert_eq!(fs::metadata(&open).unwrap().size(), expected.len() as u64);
        mount
            .sh(&format!(
                "echo '{}' > {items}/o1.json",
                item("open", 1, "y")
            ))
            .ok();
        assert_eq!(
            fs::metadata(&open).unwrap().size(),
            item("open", 1, "y").len() as u64 + 1
        );
        becomes_kept(mount.path(), &open);
        write("open", 2, "");
        assert_eq!((seen(&open), text(&open)), (None, None));
        becomes_kept(mount.path(), &at("open", 2));
        write("held", 2, "");
        assert_eq!(seen(&at("open", 2)), None);
        assert_eq!(
            seen(&mount.path().join(index).join("open")),
            None,
            "the folder is gone"
        );
        becomes_kept(mount.path(), &at("held", 2));
        // The item goes: its last call holds the folder of the item.
        match n % 3 {
            0 => fs::remove_file(mount.path().join(items).join("o1.json")).unwrap(),
            1 => {
                mount
                    .sh(&format!(
                        "mv {items}/o1.json {items}/o2.json && rm {items}/o2.json"
                    ))
                    .ok();
            }
            _ => delete(&mount, "Orders", r#"{"pk":"u1","sk":"o1"}"#),
        }
        assert_eq!((seen(&at("held", 2)), text(&at("held", 2))), (None, None));
    }
}

#[test]
fn a_second_look_at_the_entries_of_a_listed_index_is_no_request() {
    let mount = orders();
    for n in 0..200 {
        put(
            &*mount.db,
            "Orders",
            &format!(
                r#"{{"pk":"u{n}","sk":"s","status":"s{}","rank":{n}}}"#,
                n % 20
            ),
        );
    }
    let index = "Orders/gsi/by-status/items";
    let requests = |script: &str| {
        let before = asked(mount.path());
        let out = mount.sh(script).ok().to_owned();
        (asked(mount.path()) - before, out)
    };
    let look = format!(
        "python3 -c \"import os
for at, folders, names in os.walk('{index}'):
    for name in folders + names: print(name, os.stat(at + '/' + name).st_size)\""
    );
    let (_, first) = requests(&look);
    let (second, again) = requests(&look);
    assert_eq!((first.lines().count(), &first), (222, &again));
    assert!(second < 60, "{second} requests for 222 looks");
    // A commit in the table ends what is known of its folders, and of the entry of its item.
    put(
        &*mount.db,
        "Orders",
        r#"{"pk":"u7","sk":"s","status":"s7","rank":7,"more":"0123456789"}"#,
    );
    let (third, changed) = requests(&look);
    assert_ne!(changed, first);
    assert!(third < 100, "{third} requests for 222 looks");
}

#[test]
fn an_index_that_is_deleted_and_made_again_shows_its_own_entries_at_once() {
    let mount = orders();
    let entry = mount
        .path()
        .join("Orders/gsi/by-status/items/open/1,u1,o1.json");
    let call = |updates: Value| {
        let request = serde_json::json!({"TableName": "Orders", "GlobalSecondaryIndexUpdates": [updates],
            "AttributeDefinitions": [{"AttributeName": "status", "AttributeType": "S"}, {"AttributeName": "rank", "AttributeType": "N"}]});
        protocol::call("UpdateTable", request, &*mount.db, "localhost").unwrap();
        mount.local.engine().run_background_work().unwrap();
    };
    for projection in ["KEYS_ONLY", "ALL", "KEYS_ONLY"] {
        becomes_kept(mount.path(), &entry);
        let before = seen(&entry);
        call(serde_json::json!({"Delete": {"IndexName": "by-status"}}));
        assert_eq!(seen(&entry), None);
        put(
            &*mount.db,
            "Orders",
            r#"{"pk":"u1","sk":"o1","status":"open","rank":1,"more":"0123456789"}"#,
        );
        call(
            serde_json::json!({"Create": {"IndexName": "by-status", "Projection": {"ProjectionType": projection},
            "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}, {"AttributeName": "rank", "KeyType": "RANGE"}]}}),
        );
        assert_ne!(seen(&entry), before);
        assert_eq!(
            text(&entry).map(|text| text.contains("more")),
            Some(projection == "ALL")
        );
    }
}

#[test]
fn an_index_with_a_delay_shows_each_state_as_soon_as_it_has_it() {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000));
    let options = EngineOptions {
        clock: Arc::clone(&clock) as _,
        gsi_delay_ms: 1_000,
        background_period: None,
        ..EngineOptions::default()
    };
    let db = Arc::new(LocalDatabase::open(Arc::new(MemoryStore::new().unwrap()), options).unwrap());
    create_table(&*db, ORDERS);
    let mount = Mount::of(db);
    let entry = mount
        .path()
        .join("Orders/gsi/by-status/items/open/1,u1,o1.json");
    for n in 0..5 {
        let item = format!(
            r#"{{"pk":"u1","sk":"o1","status":"open","rank":1,"more":"{}"}}"#,
            "x".repeat(n)
        );
        let before = text(&entry);
        put(&*mount.db, "Orders", &item);
        assert_eq!(text(&entry), before, "not yet");
        let _ = seen(&entry);
        clock.advance_ms(1_000);
        mount.local.engine().run_background_work().unwrap();
        assert_eq!(seen(&entry).map(|seen| seen.1), Some(item.len() as u64 + 1));
    }
}

#[test]
fn nothing_is_kept_while_another_process_has_the_data_open() {
    let mut mount = daemon::Mount::empty();
    mount.ok("mkdir Orders@id:S; echo '{}' > Orders/items/i.json");
    let path = mount.point().join("Orders/items/i.json");
    becomes_kept(&mount.point(), &path);
    let mut other = daemon::Mount::beside(&mount.data());
    assert!(cost(&mount.point(), &path) >= 200, "another has it open");
    for n in 1..=50 {
        other.ok(&format!(
            "echo '{{\"n\":\"{}\"}}' > Orders/items/i.json",
            "x".repeat(n)
        ));
        let text = format!("{{\"id\":\"i\",\"n\":\"{}\"}}\n", "x".repeat(n));
        assert_eq!(fs::metadata(&path).unwrap().size(), text.len() as u64);
    }
    other.kill();
    becomes_kept(&mount.point(), &path);
    mount.unmount();
    mount.start(&["-o", "nokeep"]);
    assert!(cost(&mount.point(), &path) >= 200, "not wanted");
}

#[test]
fn an_item_is_not_kept_by_other_spellings() {
    let mount = orders();
    put(&*mount.db, "Orders", r#"{"pk":"u1","sk":"a b"}"#);
    let items = mount.path().join("Orders/items/u1");
    becomes_kept(mount.path(), &items.join("a%20b.json"));
    assert!(
        cost(mount.path(), &items.join("a b.json")) >= 100,
        "another spelling"
    );
}

/// Returns the text, size, links and inode number of an open file.
fn held(open: &fs::File) -> (String, u64, u64, u64) {
    let stat = open.metadata().unwrap();
    let mut bytes = vec![0; 1000];
    let length = open.read_at(&mut bytes, 0).unwrap();
    bytes.truncate(length);
    (
        String::from_utf8(bytes).unwrap(),
        stat.size(),
        stat.nlink(),
        stat.ino(),
    )
}

#[test]
fn what_is_open_stays_as_it_was_and_its_name_goes_on() {
    let mount = orders();
    let folder = mount.path().join("Orders/items/u1");
    let item = |n: usize, more: usize| {
        let more = "x".repeat(more);
        format!("{{\"pk\":\"u1\",\"sk\":\"h{n}\",\"more\":\"{more}\"}}\n")
    };
    // The kernel learns each by a look, and its pages with the open.
    let opened: Vec<_> = (0..8)
        .map(|n| {
            put(&*mount.db, "Orders", &item(n, 20));
            let path = folder.join(format!("h{n}.json"));
            let ino = fs::metadata(&path).unwrap().ino();
            let files = [
                fs::File::open(&path).unwrap(),
                fs::File::open(&path).unwrap(),
            ];
            becomes_kept(mount.path(), &path);
            (n, path, ino, files)
        })
        .collect();
    for (n, path, ino, files) in &opened {
        // In turn shorter and longer; by another front end, by a writer here, by delete and put, by
        // truncation.
        let text = item(*n, if n % 2 == 0 { 3 } else { 5000 });
        match n / 2 {
            0 => put(&*mount.db, "Orders", &text),
            1 => fs::write(path, &text).unwrap(),
            2 => {
                fs::remove_file(path).unwrap();
                put(&*mount.db, "Orders", &text);
            }
            _ => {
                let mut writer = fs::OpenOptions::new().write(true).open(path).unwrap();
                writer.set_len(0).unwrap();
                writer.write_all(text.as_bytes()).unwrap();
            }
        }
        assert_eq!(fs::read_to_string(path).unwrap(), text);
        let stat = fs::metadata(path).unwrap();
        assert_eq!((stat.size(), stat.ino()), (text.len() as u64, *ino), "{n}");
        for open in files {
            let before = item(*n, 20);
            let (read, size, links, number) = held(open);
            assert_eq!((&read, size), (&before, before.len() as u64), "{n}");
            assert!(links <= 1 && number == *ino, "{n}");
        }
    }
}

#[test]
fn an_item_that_is_made_or_written_anew_is_kept_from_the_first_look() {
    let mount = orders();
    let path = mount.path().join("Orders/items/u1/new.json");
    for n in 0..3 {
        fs::write(&path, format!("{{\"n\":{n}}}\n")).unwrap();
        let cost = cost(mount.path(), &path);
        assert!(cost < KEPT_MAX, "{n}: {cost} requests for 100 looks");
    }
    // A creation that comes to nothing leaves no name, nor one that an exclusive open believes in.
    let path = path.with_file_name("not.json");
    // std does not report the error of the close.
    let _ = fs::write(&path, "{\"n\":");
    until_ok("the name is gone", || match path.exists() {
        true => Err("it is there".to_owned()),
        false => Ok(()),
    });
    fs::File::create_new(&path).unwrap();
}

#[test]
fn a_rename_takes_nothing_along_that_the_kernel_believed_of_the_old_name() {
    let mount = orders();
    let items = mount.path().join("Orders/items/u1");
    let (old, new) = (items.join("o1.json"), items.join("new.json"));
    for n in 1..20 {
        // It is cached by its name, then written through a handle, which invalidates only its
        // attributes.
        becomes_kept(mount.path(), &old);
        let mut open = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&old)
            .unwrap();
        let text = format!("{{\"pk\":\"u1\",\"sk\":\"o1\",\"n\":{n}}}\n");
        open.write_all(text.as_bytes()).unwrap();
        open.set_len(text.len() as u64).unwrap();
        open.sync_all().unwrap();
        drop(open);
        fs::rename(&old, &new).unwrap();
        put(
            &*mount.db,
            "Orders",
            r#"{"pk":"u1","sk":"o1","more":"0123456789"}"#,
        );
        assert_eq!(
            seen(&new).map(|seen| seen.1),
            Some(text.len() as u64 + 1),
            "renamed {n} times"
        );
        delete(&mount, "Orders", r#"{"pk":"u1","sk":"new"}"#);
        assert_eq!(seen(&new), None, "renamed {n} times");
    }
}

#[test]
fn renames_show_at_once_under_both_names() {
    let mount = orders();
    let script = "
import os
def stat(name): return os.stat(name).st_size
os.chdir('Orders/items/u1')
for n in range(50):
    a, b = stat('o1.json'), len(open('o1.json').read())
    assert a == b, (n, a, b)
    os.rename('o1.json', 'renamed.json')
    assert stat('renamed.json') == len(open('renamed.json').read()), n
    assert not os.path.exists('o1.json'), n
    os.rename('renamed.json', 'o1.json')
    assert not os.path.exists('renamed.json'), n
    os.rename('o1.json', 'o1.json~')
    assert stat('o1.json~') == a and not os.path.exists('o1.json'), n
    os.rename('o1.json~', 'o1.json')
os.chdir('..')
for n in range(20):
    os.stat('u1/o1.json')
    os.rename('u1', 'u2')
    assert stat('u2/o1.json') == len(open('u2/o1.json').read()) and not os.path.exists('u1/o1.json'), n
    os.rename('u2', 'u1')
    os.stat('u1/o1.json')
";
    mount.sh(&format!("python3 - <<'END'\n{script}\nEND")).ok();
}
