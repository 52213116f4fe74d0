//! The filesystem without a mount: the calls of the kernel, on a database in memory.

use std::process::{Child, Command};

use crate::support::kernel::{EDIT, EXCLUSIVE, Process, READ, TRUNCATE, wait};
use crate::support::mounted::{FLAT, ORDERS, create_table, get, put, s};
use ddbfs::codec::file_name;
use ddbfs::fs::process::session_of;
use ddbfs::fs::view::{NewAttr, RenameFlags};
use ddbfs::model::api::{DeleteItemRequest, PutItemRequest};
use ddbfs::model::{AttributeValue, Item, TableName};

/// Another process, in a session of its own. A made-up number does not do: in a container, 0 and 1
/// may be the test's own.
struct Elsewhere(Child);

impl Elsewhere {
    fn new() -> Self {
        let child = Command::new("setsid")
            .args(["sleep", "60"])
            .spawn()
            .unwrap();
        while session_of(child.id()) != child.id() {
            std::thread::yield_now();
        }
        Self(child)
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn orders() -> Process {
    let process = Process::new(&[ORDERS, FLAT]);
    put(
        &*process.db,
        "Orders",
        r#"{"pk":"u1","sk":"o1","status":"open","created":"1","total":7}"#,
    );
    process
}

const O1: &str = "Orders/items/u1/o1.json";

#[test]
fn sizes_are_exact_and_times_are_commit_times() {
    let p = orders();
    let (attr, text) = (p.stat(O1).unwrap(), p.read(O1).unwrap());
    assert_eq!(attr.size, text.len() as u64);
    let typed = "Orders/items/u1/o1.ddbjson";
    assert_eq!(
        p.stat(typed).unwrap().size,
        p.read(typed).unwrap().len() as u64
    );
    assert_eq!(p.stat(O1).unwrap().modified_ms, attr.modified_ms);
    for path in ["Orders/stats.json", "Orders/gsi/by-status/stats.json"] {
        assert_eq!(
            p.stat(path).unwrap().size,
            p.read(path).unwrap().len() as u64
        );
    }
    assert_eq!(
        p.stat("Orders/schema.json").unwrap().size,
        p.read("Orders/schema.json").unwrap().len() as u64
    );
    assert_eq!(p.stat("Orders/items").unwrap().size, 0);
    assert!(p.stat("Orders/schema.json").unwrap().ino < p.stat("Orders/stats.json").unwrap().ino);
}

#[test]
fn a_reader_keeps_the_version_it_opened() {
    let p = orders();
    let handle = p.open(O1, READ).unwrap();
    p.write(O1, r#"{"total":8}"#).unwrap();
    assert!(p.read_from(handle).contains("\"total\":7"));
    assert!(p.read(O1).unwrap().contains("\"total\":8"));
    p.close(handle).unwrap();
}

#[test]
fn truncating_never_empties_an_item() {
    let p = orders();
    let before = p.read(O1).unwrap();
    let handle = p.open(O1, TRUNCATE).unwrap();
    assert_eq!(p.read(O1).unwrap(), before);
    p.close(handle).unwrap();
    let ino = p.stat(O1).unwrap().ino;
    let new = NewAttr {
        size: Some(0),
        ..NewAttr::default()
    };
    assert_eq!(
        wait(|reply| p.view.setattr(ino, None, new, reply))
            .unwrap()
            .size,
        before.len() as u64
    );
    assert_eq!(p.read(O1).unwrap(), before);
}

#[test]
fn a_created_name_is_there_for_stat_and_not_listed_until_it_is_an_item() {
    let p = orders();
    let path = "Orders/items/u1/new.json";
    let handle = p.open(path, TRUNCATE).unwrap();
    assert_eq!(p.stat(path).unwrap().size, 0);
    assert_eq!(p.list("Orders/items/u1").unwrap(), ["o1.json"]);
    assert_eq!(p.open(path, READ), Err("ENOENT"));
    p.write_to(handle, 0, r#"{"a":1"#).unwrap();
    assert_eq!(p.stat(path).unwrap().size, 6);
    p.write_to(handle, 6, "}").unwrap();
    assert_eq!(p.list("Orders/items/u1").unwrap(), ["new.json", "o1.json"]);
    p.close(handle).unwrap();
    let handle = p.open("Orders/items/u1/empty.json", TRUNCATE).unwrap();
    p.close(handle).unwrap();
    assert_eq!(
        p.read("Orders/items/u1/empty.json").unwrap(),
        "{\"pk\":\"u1\",\"sk\":\"empty\"}\n"
    );
    let handle = p.open("Orders/items/u1/gone.json", TRUNCATE).unwrap();
    p.unlink("Orders/items/u1/gone.json").unwrap();
    p.close(handle).unwrap();
    assert_eq!(p.stat("Orders/items/u1/gone.json").err(), Some("ENOENT"));
}

#[test]
fn exclusive_creation_is_a_condition() {
    let p = orders();
    assert_eq!(p.open(O1, EXCLUSIVE), Err("EEXIST"));
    let path = "Orders/items/u1/o2.json";
    let handle = p.open(path, EXCLUSIVE).unwrap();
    assert_eq!(p.open(path, EXCLUSIVE), Err("EEXIST"));
    assert_eq!(p.read(path).unwrap(), "{\"pk\":\"u1\",\"sk\":\"o2\"}\n");
    put(&*p.db, "Orders", r#"{"pk":"u1","sk":"o2","by":"api"}"#);
    assert_eq!(p.write_to(handle, 0, r#"{"by":"file"}"#), Err("EEXIST"));
    p.close(handle).ok();
    assert!(p.read(path).unwrap().contains("api"));
}

#[test]
fn an_edit_of_what_changed_underneath_is_stale() {
    let p = orders();
    let handle = p.open(O1, EDIT).unwrap();
    let text = p.read_from(handle);
    put(&*p.db, "Orders", r#"{"pk":"u1","sk":"o1","total":9}"#);
    p.write_to(handle, 0, &text.replace('7', "8")).unwrap();
    assert_eq!(p.close(handle), Err("ESTALE"));
    assert!(p.read(O1).unwrap().contains("\"total\":9"));
}

#[test]
fn a_change_through_another_front_end_is_told_by_its_attributes() {
    let p = orders();
    p.read(O1).unwrap();
    put(
        &*p.db,
        "Orders",
        r#"{"pk":"u1","sk":"o1","total":9,"new":1}"#,
    );
    assert_eq!(p.write(O1, "{}"), Err("ESTALE"));
    let told = p.read(".ddb/errors/last").unwrap();
    let expected =
        "the item was changed by somebody else since it was read: another value: total; new: new";
    assert!(told.contains(expected), "{told}");
    p.read(O1).unwrap();
    put(&*p.db, "Orders", r#"{"pk":"u1","sk":"o2"}"#);
    p.db.delete_item(DeleteItemRequest::new(
        TableName::new("Orders").unwrap(),
        Item::from([("pk", s("u1")), ("sk", s("o1"))]),
    ))
    .unwrap();
    assert_eq!(
        p.write(O1, "{}"),
        Ok(()),
        "an item that is not there refuses nobody"
    );
}

#[test]
fn a_caller_that_cannot_be_told_has_read_nothing() {
    let p = orders();
    let elsewhere = p.of_process(0);
    elsewhere.read(O1).unwrap();
    put(&*p.db, "Orders", r#"{"pk":"u1","sk":"o1","total":9}"#);
    assert_eq!(
        elsewhere.write(O1, "{}"),
        Ok(()),
        "number 0 is that of every caller of another pid namespace"
    );
}

#[test]
fn deleting_leaves_the_folder_until_rmdir() {
    let p = orders();
    p.unlink(O1).unwrap();
    assert_eq!(p.unlink(O1), Err("ENOENT"));
    assert_eq!(p.list("Orders/items").unwrap(), ["u1"]);
    assert_eq!(p.list("Orders/items/u1").unwrap(), [""; 0]);
    p.rmdir("Orders/items/u1").unwrap();
    assert_eq!(p.list("Orders/items").unwrap(), [""; 0]);
    assert_eq!(p.rmdir("Orders/items/u1"), Err("ENOENT"));
}

#[test]
fn a_made_folder_is_listed_once_before_and_after_its_first_item() {
    let p = orders();
    p.mkdir("Orders/items/u9").unwrap();
    assert_eq!(p.mkdir("Orders/items/u9"), Err("EEXIST"));
    assert_eq!(p.mkdir("Orders/items/u1"), Err("EEXIST"));
    assert_eq!(p.list("Orders/items").unwrap(), ["u1", "u9"]);
    p.write("Orders/items/u9/o1.json", "{}").unwrap();
    let mut names = p.list("Orders/items").unwrap();
    names.sort();
    assert_eq!(names, ["u1", "u9"]);
    assert_eq!(p.rmdir("Orders/items/u9"), Err("ENOTEMPTY"));
    assert_eq!(p.mkdir("Flat/items/u9"), Err("EPERM"));
}

#[test]
fn a_scratch_file_becomes_an_item_by_rename() {
    let p = orders();
    p.write("Orders/items/u1/.o1.tmp", r#"{"total":1}"#)
        .unwrap();
    p.rename("Orders/items/u1/.o1.tmp", O1).unwrap();
    assert_eq!(
        p.read(O1).unwrap(),
        "{\"pk\":\"u1\",\"sk\":\"o1\",\"total\":1}\n"
    );
    assert_eq!(p.stat("Orders/items/u1/.o1.tmp").err(), Some("ENOENT"));
    p.write("Orders/items/u1/bad", "{x").unwrap();
    assert_eq!(p.rename("Orders/items/u1/bad", O1), Err("EBADMSG"));
    assert_eq!(p.read("Orders/items/u1/bad").unwrap(), "{x");
    p.write("Orders/items/u1/good", r#"{"total":2}"#).unwrap();
    let no_replace = RenameFlags {
        no_replace: true,
        ..RenameFlags::default()
    };
    assert_eq!(
        p.rename_with("Orders/items/u1/good", O1, no_replace),
        Err("EEXIST")
    );
    p.rename_with(
        "Orders/items/u1/good",
        "Orders/items/u1/o7.json",
        no_replace,
    )
    .unwrap();
    assert!(p.stat("Orders/items/u1/o7.json").is_ok());
    p.rename(O1, "Orders/items/u1/o2.json").unwrap();
    p.rename("Orders/items/u1", "Orders/items/u2").unwrap();
    assert_eq!(
        p.read("Orders/items/u2/o2.json").unwrap(),
        "{\"pk\":\"u2\",\"sk\":\"o2\",\"total\":1}\n"
    );
    assert_eq!(
        p.rename("Orders/items/u2/o2.json", "Flat/items/o2.json"),
        Err("EXDEV")
    );
    assert_eq!(p.rename("Orders", "Others"), Err("EPERM"));
}

#[test]
fn an_item_renamed_away_is_hidden_and_comes_back_when_written() {
    let p = orders();
    p.rename(O1, "Orders/items/u1/o1.json~").unwrap();
    assert_eq!(p.stat(O1).err(), Some("ENOENT"));
    assert_eq!(p.list("Orders/items/u1").unwrap(), [""; 0]);
    assert!(get(&*p.db, "Orders", r#"{"pk":"u1","sk":"o1"}"#).is_some());
    // The same content again: no write, and no delete either.
    let text = p.read("Orders/items/u1/o1.json~").unwrap();
    let handle = p.open(O1, EXCLUSIVE).unwrap();
    p.write_to(handle, 0, &text).unwrap();
    p.close(handle).unwrap();
    assert_eq!(p.list("Orders/items/u1").unwrap(), ["o1.json"]);
    p.view.shut_down();
    assert!(p.stat(O1).is_ok());
}

#[test]
fn an_exclusive_creation_while_the_delete_is_under_way_finds_no_item() {
    let p = orders();
    p.rename(O1, "Orders/items/u1/backup").unwrap();
    let handle = p.open(O1, EXCLUSIVE).unwrap();
    // The delete is queued, and this put after it.
    p.view.shut_down();
    p.write_to(handle, 0, r#"{"total":9}"#).unwrap();
    p.close(handle).unwrap();
    assert_eq!(
        p.read(O1).unwrap(),
        "{\"pk\":\"u1\",\"sk\":\"o1\",\"total\":9}\n"
    );
}

#[test]
fn an_item_renamed_away_and_not_written_is_deleted_at_the_end() {
    let p = orders();
    p.rename(O1, "Orders/items/u1/backup").unwrap();
    p.view.shut_down();
    // The delete is queued before this put.
    put(&*p.db, "Orders", r#"{"pk":"u2","sk":"o1"}"#);
    assert!(get(&*p.db, "Orders", r#"{"pk":"u1","sk":"o1"}"#).is_none());
}

#[test]
fn touch_makes_an_item_of_its_key_alone_and_leaves_others() {
    let p = orders();
    p.touch("Orders/items/u1/new.json").unwrap();
    assert_eq!(
        p.read("Orders/items/u1/new.json").unwrap(),
        "{\"pk\":\"u1\",\"sk\":\"new\"}\n"
    );
    let before = p.stat(O1).unwrap();
    p.touch(O1).unwrap();
    assert_eq!(p.stat(O1).unwrap(), before);
}

#[test]
fn junk_names_are_not_there_and_not_made() {
    let p = orders();
    for name in [".git", ".DS_Store", "._o1.json", "CVS", "4913"] {
        let path = format!("Orders/items/u1/{name}");
        assert_eq!(p.stat(&path).err(), Some("ENOENT"), "{name}");
        assert_eq!(p.open(&path, TRUNCATE), Err("ENOENT"), "{name}");
    }
}

#[test]
fn long_and_binary_keys_have_names_that_find_them() {
    let p = orders();
    let table = TableName::new("Orders").unwrap();
    let long_pk = "p/".repeat(1024);
    let long_sk = "é ".repeat(341);
    let mut item = Item::from([
        ("pk", s(&long_pk)),
        ("sk", s(&long_sk)),
        ("status", s(&"s#".repeat(600))),
        ("created", s(&"c".repeat(900))),
    ]);
    p.db.put_item(PutItemRequest::new(table.clone(), item.clone()))
        .unwrap();
    item.0.insert("sk".to_owned(), s(&format!("{long_sk}x")));
    p.db.put_item(PutItemRequest::new(table, item)).unwrap();
    let folder = file_name::collection_name(&[&s(&long_pk)]);
    let names = p.list(&format!("Orders/items/{folder}")).unwrap();
    assert_eq!(names.len(), 2);
    for name in &names {
        assert!(name.len() <= 255);
        assert!(
            p.read(&format!("Orders/items/{folder}/{name}"))
                .unwrap()
                .starts_with("{\"pk\":\"p/p/")
        );
    }
    let statuses = p.list("Orders/gsi/by-status/items").unwrap();
    let long = statuses.iter().find(|name| name.contains("%~")).unwrap();
    let entries = p
        .list(&format!("Orders/gsi/by-status/items/{long}"))
        .unwrap();
    assert_eq!(entries.len(), 2);
    let entry = format!("Orders/gsi/by-status/items/{long}/{}", entries[0]);
    assert!(p.read(&entry).unwrap().starts_with("{\"status\":\"s#s#"));
    let target = p
        .view
        .readlink(p.stat(&entry.replace(".json", ".base")).unwrap().ino)
        .unwrap();
    assert!(
        p.stat(&format!("Orders/{}", target.trim_start_matches("../")))
            .is_ok(),
        "{target}"
    );

    // Created through its alias: the body holds the key.
    let key = "k".repeat(1000);
    let path = format!("Flat/items/{}.json", file_name::hash_item_stem(&s(&key)));
    assert_eq!(p.write(&path, "{\"a\":1}"), Err("EINVAL"));
    assert_eq!(
        p.write(&path, &format!("{{\"id\":\"{key}x\",\"a\":1}}")),
        Err("EINVAL")
    );
    p.write(&path, &format!("{{\"id\":\"{key}\",\"a\":1}}"))
        .unwrap();
    assert_eq!(p.list("Flat/items").unwrap().len(), 1);
    assert!(p.read(&path).unwrap().ends_with("\"a\":1}\n"));
}

#[test]
fn lenient_names_mean_the_same_item() {
    let p = orders();
    p.write("Flat/items/user%2342.json", r#"{"a":1}"#).unwrap();
    p.write("Flat/items/user#42.json", r#"{"a":2}"#).unwrap();
    assert_eq!(p.list("Flat/items").unwrap(), ["user%2342.json"]);
    assert_eq!(
        p.stat("Flat/items/user#42.json"),
        p.stat("Flat/items/user%2342.json")
    );
}

#[test]
fn numbers_and_bytes_as_keys() {
    let p = Process::new(&[
        r#"{"TableName":"Points","AttributeDefinitions":[{"AttributeName":"n","AttributeType":"N"},
        {"AttributeName":"b","AttributeType":"B"}],"KeySchema":[{"AttributeName":"n","KeyType":"HASH"},
        {"AttributeName":"b","KeyType":"RANGE"}],"BillingMode":"PAY_PER_REQUEST"}"#,
    ]);
    let item = Item::from([
        ("n", AttributeValue::N("-0.5".parse().unwrap())),
        ("b", AttributeValue::B(vec![0, 255, b'a'])),
    ]);
    p.db.put_item(PutItemRequest::new(TableName::new("Points").unwrap(), item))
        .unwrap();
    assert_eq!(p.list("Points/items").unwrap(), ["%2D0.5"]);
    assert_eq!(p.list("Points/items/%2D0.5").unwrap(), ["%00%FFa.json"]);
    assert!(p.stat("Points/items/-0.50/%00%ffa.json").is_ok());
    assert_eq!(p.stat("Points/items/abc").err(), Some("ENOENT"));
}

#[test]
fn a_member_given_twice_is_refused_by_every_reader_of_requests() {
    let p = orders();
    p.mkdir("Copy").unwrap();
    p.mkdir("Orders/gsi/new").unwrap();
    let schema = p
        .read("Orders/schema.json")
        .unwrap()
        .replace("\"Orders\"", "\"Copy\"");
    let index = r#"{"KeySchema":[{"AttributeName":"status","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}"#;
    let query = r#"{"FilterExpression":"attribute_exists(pk)"}"#;
    let update =
        r#"{"UpdateExpression":"SET n = :n","ExpressionAttributeValues":{":n":{"N":"1"}}}"#;
    for (path, good, member) in [
        ("Copy/schema.json", schema.as_str(), "BillingMode"),
        ("Orders/gsi/new/schema.json", index, "KeySchema"),
        ("Orders/queries/q.json", query, "FilterExpression"),
        (&O1.replace(".json", ".update"), update, "UpdateExpression"),
    ] {
        let twice = good.replacen(
            &format!("\"{member}\":"),
            &format!("\"{member}\":null,\"{member}\":"),
            1,
        );
        assert_ne!(twice, good, "{path}");
        assert_eq!(p.write(path, &twice), Err("EINVAL"), "{path}");
        let told = p.read(".ddb/errors/last").unwrap();
        assert!(
            told.contains(&format!("the member {member:?} is there twice")),
            "{path}: {told}"
        );
        // The same without the first of the two is accepted, so there was no other reason.
        assert_eq!(
            p.write(path, good),
            Ok(()),
            "{path}: {}",
            p.read(".ddb/errors/last").unwrap()
        );
    }
}

#[test]
fn a_draft_becomes_a_table_when_its_schema_is_written() {
    let p = orders();
    p.mkdir("Copy").unwrap();
    assert_eq!(p.mkdir("Copy"), Err("EEXIST"));
    assert_eq!(p.list("").unwrap(), ["README.md", "Flat", "Orders", "Copy"]);
    assert_eq!(p.list("Copy").unwrap(), ["schema.json"]);
    p.mkdir("Copy/items").unwrap();
    p.mkdir("Copy/items/u5").unwrap();
    assert_eq!(p.write("Copy/items/u5/o1.json", "{}"), Err("EPERM"));
    assert_eq!(
        p.write("Copy/schema.json", r#"{"KeySchema":[]}"#),
        Err("EINVAL")
    );
    p.write(
        "Copy/schema.json",
        &p.read("Orders/schema.json")
            .unwrap()
            .replace("\"Orders\"", "\"Copy\""),
    )
    .unwrap();
    assert_eq!(
        p.list("Copy").unwrap(),
        [
            "schema.json",
            "stats.json",
            "items",
            "gsi",
            "lsi",
            "partitions",
            "queries"
        ]
    );
    assert_eq!(p.list("Copy/items").unwrap(), ["u5"]);
    p.write("Copy/items/u5/o1.json", "{}").unwrap();
    assert_eq!(p.list("").unwrap(), ["README.md", "Copy", "Flat", "Orders"]);
    p.mkdir("Gone").unwrap();
    p.rmdir("Gone").unwrap();
    p.mkdir("Pairs@pk:S,sk:N").unwrap();
    assert!(p.stat("Pairs/items").is_ok());
}

#[test]
fn a_table_goes_only_when_it_is_empty_and_asked_for() {
    let p = orders();
    assert_eq!(p.unlink("Orders/schema.json"), Err("EPERM"));
    assert_eq!(p.unlink(O1), Err("EPERM"), "the same process is vetoed");
    let elsewhere = Elsewhere::new();
    let other = p.of_process(elsewhere.pid());
    assert_eq!(other.rmdir("Orders"), Err("ENOTEMPTY"));
    other.unlink(O1).unwrap();
    other.rmdir("Orders").unwrap();
    assert_eq!(other.stat("Orders").err(), Some("ENOENT"));
}

#[test]
fn forgetting_gives_everything_back() {
    let p = orders();
    for n in 0..500 {
        put(&*p.db, "Orders", &format!(r#"{{"pk":"p{n}","sk":"s"}}"#));
    }
    let mut lookups = Vec::new();
    let items = p.stat("Orders/items").unwrap().ino;
    let handle = p.view.opendir(items, false).unwrap();
    let known = p.view.known_inodes();
    let mut names = Vec::new();
    p.view
        .readdir(handle, 0, &mut |listed, _| {
            names.push(listed.name.to_owned());
            false
        })
        .unwrap();
    assert_eq!(p.view.known_inodes(), known, "a listing knows no inodes");
    assert_eq!(names.len(), 503);
    for name in names.iter().skip(2) {
        lookups.push(p.view.lookup(items, name.as_bytes()).unwrap().ino);
    }
    assert_eq!(p.view.known_inodes(), known + 501);
    for ino in lookups {
        p.view.forget(ino, 1);
    }
    assert_eq!(p.view.known_inodes(), known);
}

#[test]
fn a_query_folder_follows_its_table_when_that_is_made_anew() {
    let p = orders();
    assert_eq!(p.list("Orders/query/@pk=u1").unwrap(), ["000001,o1.json"]);
    p.write("Orders/ctl", "drop").unwrap();
    assert_eq!(p.stat("Orders/query/@pk=u1").err(), Some("ENOENT"));
    create_table(
        &*p.db,
        &ORDERS.replace(
            "\"sk\", \"AttributeType\": \"S\"",
            "\"sk\", \"AttributeType\": \"N\"",
        ),
    );
    put(&*p.db, "Orders", r#"{"pk":"u1","sk":5}"#);
    assert_eq!(
        p.list("Orders/query/@pk=u1/@sk.ge=5").unwrap(),
        ["000001,5.json"]
    );
}

#[test]
fn inode_numbers_are_the_same_in_another_mount() {
    let (a, b) = (orders(), orders());
    for path in [
        "Orders",
        "Orders/schema.json",
        O1,
        "Orders/gsi/by-status/items/open",
        "Orders/query/@pk=u1",
    ] {
        assert_eq!(
            a.stat(path).unwrap().ino,
            b.stat(path).unwrap().ino,
            "{path}"
        );
    }
}

#[test]
fn failures_are_told_to_their_own_session() {
    let p = orders();
    assert_eq!(p.write(O1, "{\"status\":open}"), Err("EINVAL"));
    let expected = "write Orders/items/u1/o1.json: EINVAL ValidationException\n  {\"status\":open}\n            ^ expected a JSON value at byte 10\n  hint: strings need quotes. The item is unchanged.\n";
    let told = p.read(".ddb/errors/last").unwrap();
    let (said, time) = told.split_at(expected.len());
    assert_eq!(said, expected);
    assert!(
        time.starts_with("  20") && time.ends_with(" s ago\n") && time.len() == 39,
        "{time:?}"
    );
    assert_eq!(p.stat(".ddb/errors/last").unwrap().size, told.len() as u64);
    let elsewhere = Elsewhere::new();
    let other = p.of_process(elsewhere.pid());
    assert_eq!(other.read(".ddb/errors/last").unwrap(), "");
    assert_eq!(other.read(".ddb/errors.ndjson").unwrap().lines().count(), 1);
    assert!(p.read(".ddb/version").unwrap().starts_with("ddbfs "));
}

#[test]
fn a_wrong_index_key_and_a_large_item_fail_in_write() {
    let p = orders();
    assert_eq!(p.write(O1, r#"{"status":5}"#), Err("EINVAL"));
    assert!(p.read(".ddb/errors/last").unwrap().contains("by-status"));
    assert_eq!(
        p.write(O1, &format!(r#"{{"big":"{}"}}"#, "x".repeat(420_000))),
        Err("EFBIG")
    );
    assert!(p.read(O1).unwrap().contains("\"total\":7"));
}

#[test]
fn commands_create_and_drop_tables() {
    let p = orders();
    p.mkdir("Pairs").unwrap();
    assert_eq!(p.write("Pairs/ctl", "make it\n"), Err("EINVAL"));
    p.write("Pairs/ctl", "create pk:S sk:N\n").unwrap();
    assert_eq!(
        p.list("Pairs").unwrap(),
        [
            "schema.json",
            "stats.json",
            "items",
            "gsi",
            "lsi",
            "partitions",
            "queries"
        ]
    );
    p.mkdir("Pairs/items/a").unwrap();
    p.write("Pairs/items/a/7.json", "{}").unwrap();
    assert_eq!(p.rmdir("Pairs"), Err("ENOTEMPTY"));
    p.write("Pairs/ctl", "drop\n").unwrap();
    assert_eq!(p.stat("Pairs").err(), Some("ENOENT"));
    assert!(p.read("Orders/ctl").unwrap().contains("drop"));
}

#[test]
fn a_schema_may_be_written_again_but_not_changed() {
    let p = orders();
    let text = p.read("Orders/schema.json").unwrap();
    p.write("Orders/schema.json", &text).unwrap();
    assert_eq!(
        p.write("Orders/schema.json", &text.replace("INCLUDE", "ALL")),
        Err("EINVAL")
    );
    assert_eq!(p.write("Orders/schema.json", "{}"), Err("EINVAL"));
    assert_eq!(p.read("Orders/schema.json").unwrap(), text);
    let described: serde_json::Value =
        serde_json::from_str(&p.read("Orders/describe.json").unwrap()).unwrap();
    assert_eq!(described["Table"]["TableStatus"], "ACTIVE");
}

#[test]
fn the_path_wins_over_the_body_with_a_warning() {
    let p = orders();
    p.write("Orders/items/u1/o2.json", r#"{"pk":"u7","sk":"o2"}"#)
        .unwrap();
    assert!(
        p.read("Orders/items/u1/o2.json")
            .unwrap()
            .starts_with("{\"pk\":\"u1\"")
    );
    let warnings = p.read(".ddb/warnings.ndjson").unwrap();
    assert!(
        warnings.lines().count() == 1 && warnings.contains("Orders/items/u1/o2.json"),
        "{warnings}"
    );
}
