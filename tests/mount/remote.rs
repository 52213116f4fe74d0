//! A mount of a remote service: here it is a local database behind a counter of requests, browsed
//! by its API alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::support::mounted::{
    FLAT, Mount, ORDERS, create_table, get, load_samples, memory, put, s,
};
use crate::support::seeded::Numbers;
use crate::support::service::Service;
use crate::support::through::{Altered, client};
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::remote::{RemoteDatabase, RemoteOptions};
use ddbfs::fs::view::ViewOptions;
use ddbfs::fuse::{EVENT_THREADS_REMOTE, MountOptions};
use ddbfs::protocol::memory::ITEM_BYTES;
use ddbfs::store::budget::MemoryBudgets;

/// A cache time that no test outlasts.
const LONG: Duration = Duration::from_secs(3600);

fn mounted(change: impl FnOnce(RemoteOptions) -> RemoteOptions) -> (Mount, Arc<Service>) {
    let db = memory();
    create_table(&*db, ORDERS);
    create_table(&*db, FLAT);
    over(Service::of(db), change)
}

fn over(
    service: Arc<Service>,
    change: impl FnOnce(RemoteOptions) -> RemoteOptions,
) -> (Mount, Arc<Service>) {
    let options = change(RemoteOptions {
        is_writable: true,
        ttl: LONG,
        ..RemoteOptions::default()
    });
    let remote = RemoteDatabase::new(Arc::clone(&service) as _, options);
    let threads = |mount| MountOptions {
        event_threads: EVENT_THREADS_REMOTE,
        ..mount
    };
    (
        Mount::over(
            Arc::clone(&service.inner),
            Arc::new(remote),
            ViewOptions::default(),
            threads,
        ),
        service,
    )
}

#[test]
fn the_tree_is_the_same() {
    compare(&|db| Service::of(Arc::clone(db)));
}

#[test]
fn the_tree_is_the_same_through_the_wire() {
    compare(&|db| Arc::new(client(db)));
}

/// Compares a mount of a service with one of its database.
fn compare(service: &dyn Fn(&Arc<LocalDatabase>) -> Arc<dyn Database>) {
    let db = memory();
    load_samples(&*db);
    let local = Mount::of(Arc::clone(&db));
    let options = RemoteOptions {
        ttl: LONG,
        ..RemoteOptions::default()
    };
    let remote = RemoteDatabase::new(service(&db), options);
    let remote = Mount::over(db, Arc::new(remote), ViewOptions::default(), |mount| mount);
    for script in [
        "ls",
        "find . -path ./.ddb -prune -o -name partitions -prune -o -print | sort",
        "find . -path '*/items/*' -name '*.json' | sort | xargs cat",
        "find . -path '*/items/*' -name '*.json' -printf '%p %s\\n' | sort",
        "cat Thread/lsi/LastPostIndex/items/S3/*.json",
        "cat GameScores/gsi/GameTitleIndex/items/*/*.json | sort",
        "cat GameScores/query/UserId=103/GameTitle.begins=M/items.csv",
        "cat Thread/query/ForumName=EC2/'where=Replies > 0 AND NOT (Views = 98 OR contains(Tags, \"x\"))'/items.ndjson",
        "cat Thread/query/ForumName=S3/select=Subject,Replies/desc/limit=2/page.json",
        "ls Pets/query/AnimalType=Dog/Name.between=C,R",
        "cat Orders/scan/'where.Quantity.ge=2'/count",
        "cat PetsByType/items/Bird.ddbjson; cat Pets/items/Dog/Fido.meta | jq -r .key.Name",
    ] {
        let expected = local.sh(script);
        assert!(
            expected.status == 0 && !expected.out.is_empty(),
            "{script}: {expected:#?}"
        );
        assert_eq!(remote.sh(script), expected, "{script}");
    }
    remote.end();
    local.end();
}

#[test]
fn a_folder_is_one_query_for_whoever_reads_all_of_it() {
    let (mount, service) = mounted(|options| options);
    for number in 0..600 {
        put(
            &*mount.db,
            "Orders",
            &format!(r#"{{"pk":"u1","sk":"o{number}","n":{number}}}"#),
        );
    }
    // A look-up of the folder, and a listing of it.
    assert_eq!(mount.sh("cat Orders/items/u1/*.json | wc -l").ok(), "600\n");
    assert_eq!(service.requests(), "Query 2");
    for script in [
        "ls -l Orders/items/u1",
        "grep -r x Orders/items/u1",
        "tar -cf - Orders/items/u1 | tar -tf - | wc -l",
    ] {
        mount.sh(script);
        assert_eq!(service.requests(), "Query 1", "{script}");
    }
    assert_eq!(
        mount.sh("cat Orders/items/u1/o7.json").ok(),
        "{\"pk\":\"u1\",\"sk\":\"o7\",\"n\":7}\n"
    );
    assert_eq!(service.requests(), "");
    mount.end();
}

#[test]
fn a_file_that_was_not_listed_is_one_get() {
    let (mount, service) = mounted(|options| options);
    put(&*mount.db, "Flat", r#"{"id":"x","n":1}"#);
    assert_eq!(
        mount
            .sh("cat Flat/items/x.json; cat Flat/items/x.json; stat -c %s Flat/items/x.json")
            .ok(),
        "{\"id\":\"x\",\"n\":1}\n{\"id\":\"x\",\"n\":1}\n17\n"
    );
    assert_eq!(service.requests(), "GetItem 1");
    mount.end();
}

#[test]
fn many_files_are_asked_for_at_a_time() {
    let (mount, service) = mounted(|options| options);
    for number in 0..8 {
        put(&*mount.db, "Flat", &format!(r#"{{"id":"x{number}"}}"#));
    }
    put(&*mount.db, "Orders", r#"{"pk":"u1","sk":"o1"}"#);
    service.hold("GetItem");
    std::thread::scope(|scope| {
        let readers = scope.spawn(|| {
            mount.sh("for i in 0 1 2 3 4 5 6 7; do cat Flat/items/x$i.json & done; wait")
        });
        // All are under way, and no other call waits for them.
        service.wait_for_held(8);
        mount.sh("cat Orders/schema.json && ls Orders/items").ok();
        service.release();
        assert_eq!(readers.join().unwrap().ok().lines().count(), 8);
    });
    assert_eq!(service.requests(), "GetItem 8, Scan 1");
    mount.end();
}

#[test]
fn a_request_in_a_file_has_its_memory_before_it_is_run() {
    let (mount, service) = mounted(|options| options);
    put(&*mount.db, "Flat", r#"{"id":"x"}"#);
    let requests = MemoryBudgets::of_process().requests;
    service.hold("GetItem");
    let ask = r#"{"TableName":"Flat","Key":{"id":{"S":"x"}}}"#;
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            mount.sh(&format!(
                "exec 3<> .ddb/api/GetItem; echo '{ask}' >&3; cat <&3"
            ))
        });
        service.wait_for_held(1);
        assert!(requests.held() >= ITEM_BYTES, "{}", requests.held());
        service.release();
        assert_eq!(
            running.join().unwrap().ok(),
            "{\"Item\":{\"id\":{\"S\":\"x\"}}}\n"
        );
    });
    mount.end();
}

#[test]
fn writes_arrive_and_are_seen_at_once() {
    let (mount, _) = mounted(|options| options);
    mount
        .sh(r#"mkdir Orders/items/u1 && echo '{"status":"open","n":1}' > Orders/items/u1/o1.json"#)
        .ok();
    assert_eq!(
        get(&*mount.db, "Orders", r#"{"pk":"u1","sk":"o1"}"#)
            .unwrap()
            .get("status"),
        Some(&s("open"))
    );
    assert_eq!(
        mount
            .sh("cat Orders/items/u1/o1.json; ls Orders/items Orders/items/u1")
            .ok(),
        "{\"pk\":\"u1\",\"sk\":\"o1\",\"n\":1,\"status\":\"open\"}\nOrders/items:\nu1\n\nOrders/items/u1:\no1.json\n"
    );
    mount
        .sh("jq -c '.n+=1' Orders/items/u1/o1.json > Orders/items/u1/o1.json && sed -i s/open/closed/ Orders/items/u1/o1.json")
        .ok();
    mount
        .sh("echo 'SET total = :t' > /dev/null; echo '{\"n\":7}' > Orders/items/u1/o1.patch")
        .ok();
    assert_eq!(
        mount.sh("cat Orders/items/u1/o1.json").ok(),
        "{\"pk\":\"u1\",\"sk\":\"o1\",\"n\":7,\"status\":\"closed\"}\n"
    );
    mount.sh("mv Orders/items/u1/o1.json Orders/items/u1/o2.json && cp Orders/items/u1/o2.json Orders/items/u1/o3.json").ok();
    assert_eq!(
        mount
            .sh("ls Orders/items/u1; cat Orders/items/u1/o3.json")
            .ok(),
        "o2.json\no3.json\n{\"pk\":\"u1\",\"sk\":\"o3\",\"n\":7,\"status\":\"closed\"}\n"
    );
    // Under a name that is no item's, it stays with the mount.
    mount.sh("mv Orders/items/u1/o2.json Orders/items/u1/o2.bak && cat Orders/items/u1/o2.bak && rm Orders/items/u1/o2.bak").ok();
    mount.sh("rm -r Orders/items/u1").ok();
    assert_eq!(mount.sh("ls Orders/items").ok(), "");
    assert_eq!(get(&*mount.db, "Orders", r#"{"pk":"u1","sk":"o3"}"#), None);
    mount
        .sh("mkdir New@id:S && echo '{\"a\":1}' > New/items/x.json && cat New/items/x.json && rm New/items/x.json && rmdir New")
        .ok();
    assert_eq!(mount.sh("ls").ok(), "Flat\nOrders\nREADME.md\n");
    mount.end();
}

#[test]
fn counters_are_those_after_own_writes() {
    let (mount, _) = mounted(|options| options);
    let items = |count: u32| {
        assert_eq!(
            mount.sh("jq .items Flat/stats.json").ok(),
            format!("{count}\n")
        )
    };
    items(0);
    mount
        .sh("echo '{}' > Flat/items/a.json; echo '{}' > Flat/items/b.json")
        .ok();
    items(2);
    mount.sh("rm Flat/items/a.json").ok();
    items(1);
    mount
        .sh(r#"echo '{"id":"c"}' > Flat/batch/put; echo '{"TableName":"Flat","Key":{"id":{"S":"b"}}}' > .ddb/api/DeleteItem"#)
        .ok();
    items(1);
    mount.end();
}

#[test]
fn an_index_is_removed_of_a_service_that_shows_it_a_while_without_its_definition() {
    let db = memory();
    create_table(&*db, ORDERS);
    put(&*db, "Orders", r#"{"pk":"u1","sk":"o1","status":"open"}"#);
    let is_going = AtomicBool::new(false);
    let client = Altered::client(&db, move |operation, request, mut answer| {
        is_going.fetch_or(
            operation == "UpdateTable" && request.to_string().contains("Delete"),
            Ordering::SeqCst,
        );
        let described = if operation == "UpdateTable" {
            "TableDescription"
        } else {
            "Table"
        };
        if is_going.load(Ordering::SeqCst) && answer.get(described).is_some() {
            let table = &mut answer[described];
            let definitions = table["AttributeDefinitions"].as_array().unwrap();
            let of_key = definitions
                .iter()
                .filter(|one| one["AttributeName"] == "pk" || one["AttributeName"] == "sk");
            table["AttributeDefinitions"] = of_key.cloned().collect();
            table["GlobalSecondaryIndexes"] = serde_json::json!([{
                "IndexName": "by-status", "IndexStatus": "DELETING", "KeySchema": [{ "AttributeName": "status", "KeyType": "HASH" }],
            }]);
        }
        answer
    });
    let remote = RemoteDatabase::new(
        Arc::new(client),
        RemoteOptions {
            is_writable: true,
            ..RemoteOptions::default()
        },
    );
    let mount = Mount::over(db, Arc::new(remote), ViewOptions::default(), |mount| mount);
    mount
        .sh("ls Orders/gsi/by-status; rmdir Orders/gsi/by-status")
        .ok();
    let left = "ls Orders/gsi; jq -c .GlobalSecondaryIndexes Orders/schema.json; jq -c .status Orders/items/u1/o1.json";
    assert_eq!(mount.sh(left).ok(), "null\n\"open\"\n");
    mount.end();
}

#[test]
fn a_change_of_a_definition_waits_until_the_service_is_done_with_the_table() {
    let db = memory();
    create_table(&*db, ORDERS);
    // How often the table is still said to be UPDATING.
    let left = Arc::new(AtomicU64::new(0));
    let of_client = Arc::clone(&left);
    let client = Altered::client(&db, move |operation, _, mut answer| {
        if operation == "UpdateTable" {
            assert_eq!(of_client.swap(3, Ordering::SeqCst), 0);
        } else if operation == "DescribeTable" {
            let more = of_client.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
            if more.is_ok() {
                answer["Table"]["TableStatus"] = "UPDATING".into();
            }
        }
        answer
    });
    let options = RemoteOptions {
        is_writable: true,
        ttl: LONG,
        ..RemoteOptions::default()
    };
    let remote = RemoteDatabase::new(Arc::new(client), options);
    let mount = Mount::over(db, Arc::new(remote), ViewOptions::default(), |mount| mount);
    for edit in [
        ".StreamSpecification={StreamEnabled:true,StreamViewType:\"KEYS_ONLY\"}",
        "del(.StreamSpecification) | .DeletionProtectionEnabled=true",
    ] {
        mount
            .sh(&format!(
                "s=$(jq '{edit}' Orders/schema.json); echo \"$s\" > Orders/schema.json"
            ))
            .ok();
        assert_eq!(left.load(Ordering::SeqCst), 0, "{edit}");
        assert_eq!(
            mount
                .sh("jq -r .Table.TableStatus Orders/describe.json")
                .ok(),
            "ACTIVE\n"
        );
    }
    mount.end();
}

#[test]
fn who_creates_exclusively_or_writes_what_was_changed_underneath_is_told() {
    // Without a cache, so that writes of others show in the next call.
    let (mount, _) = mounted(|options| RemoteOptions {
        ttl: Duration::ZERO,
        ..options
    });
    put(&*mount.db, "Orders", r#"{"pk":"u1","sk":"o1","n":1}"#);
    assert!(
        mount
            .sh("set -C; echo '{}' > Orders/items/u1/o1.json")
            .failed()
            .contains("cannot overwrite existing file")
    );
    let script = r#"import os, sys
name = "Orders/items/u1/o1.json"
fd = os.open(name, os.O_RDWR)
text = os.read(fd, 1000)
sys.stdout.write("read\n"); sys.stdout.flush()
sys.stdin.readline()
try:
    os.pwrite(fd, text.replace(b"1}", b"9}"), 0)
    os.close(fd)
    print("written")
except OSError as error:
    print(error.strerror)
"#;
    let mut child = std::process::Command::new("timeout")
        .args(["60", "python3", "-c", script])
        .current_dir(mount.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    assert_eq!(line, "read\n");
    put(&*mount.db, "Orders", r#"{"pk":"u1","sk":"o1","n":2}"#);
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"\n").unwrap();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
    child.wait().unwrap();
    assert_eq!(rest, "Stale file handle\n");
    assert_eq!(
        mount.sh("cat Orders/items/u1/o1.json").ok(),
        "{\"pk\":\"u1\",\"sk\":\"o1\",\"n\":2}\n"
    );
    mount.end();
}

#[test]
fn what_would_cost_too_much_is_refused_and_says_what_helps() {
    let (mount, service) = mounted(|options| RemoteOptions {
        scan_limit: 10.0,
        ..options
    });
    let fill = "x".repeat(40_000);
    for number in 0..10 {
        put(
            &*mount.db,
            "Orders",
            &format!(r#"{{"pk":"u{number}","sk":"o","fill":"{fill}"}}"#),
        );
        put(
            &*mount.db,
            "Flat",
            &format!(r#"{{"id":"u{number}","fill":"{fill}"}}"#),
        );
    }
    for path in ["Orders/items", "Flat/items"] {
        let refused = mount.sh(&format!("ls {path}; cat .ddb/errors/last"));
        assert!(refused.err.contains("Disk quota exceeded"), "{refused:#?}");
        let table = path.split('/').next().unwrap();
        assert!(
            refused.out.contains(&format!(
                "all of {table} is about 0 MB: reading it takes about 49 read units"
            )),
            "{refused:#?}"
        );
        assert!(
            refused.out.contains(&format!("{table}/query/"))
                && refused.out.contains("--scan-limit 49"),
            "{refused:#?}"
        );
    }
    // Programs that walk the tree spend next to nothing.
    service.requests();
    for script in [
        "find . > /dev/null",
        "ls -lR > /dev/null",
        "grep -r x . > /dev/null",
        "tar -cf - . | wc -c > /dev/null",
    ] {
        mount.sh(script);
        let spent = service.requests();
        assert!(
            spent.is_empty()
                || spent
                    .split(", ")
                    .all(|part| part.starts_with("GetItem") || part.starts_with("Scan")),
            "{script}: {spent}"
        );
    }
    assert_eq!(mount.sh("cat Orders/query/pk=u3/count").ok(), "1\n");
    assert!(
        mount
            .sh("cat Orders/scan/count")
            .failed()
            .contains("Disk quota exceeded")
    );
    mount.end();
}

#[test]
fn what_cannot_be_is_not_supported_and_says_why() {
    let (mount, _) = mounted(|options| options);
    put(
        &*mount.db,
        "Orders",
        r#"{"pk":"u1","sk":"o1","status":"open","created":"1"}"#,
    );
    for path in [
        "Orders/gsi/by-status/violations.ndjson",
        "Orders/gsi/by-status/missing.ndjson",
        "Orders/advice.md",
    ] {
        let refused = mount.sh(&format!("cat {path}; cat .ddb/errors/last"));
        assert!(
            refused.err.contains("Operation not supported"),
            "{path}: {refused:#?}"
        );
        assert!(refused.out.contains("ddbfs pull"), "{path}: {refused:#?}");
    }
    assert_eq!(
        mount.sh("jq -c .partition_keys Orders/stats.json; jq -c .next Orders/ttl; ls Orders/partitions").ok(),
        "null\nnull\n"
    );
    assert!(
        mount
            .sh("cat Orders/shapes.md")
            .ok()
            .contains("# Shapes of Orders")
    );
    let explained = mount.sh("jq -c '[.items, .requests]' Orders/query/pk=u1/explain.json");
    assert_eq!(
        explained.ok(),
        "[{\"at_least\":0,\"at_most\":1},{\"at_least\":0,\"at_most\":1}]\n"
    );
    mount.end();
}

#[test]
fn a_mount_that_may_not_write_says_so() {
    let (mount, _) = mounted(|options| RemoteOptions {
        is_writable: false,
        ..options
    });
    let refused = mount.sh("echo '{}' > Flat/items/x.json; cat .ddb/errors/last");
    assert!(
        refused.err.contains("Read-only file system") && refused.out.contains("mount with -o rw"),
        "{refused:#?}"
    );
    mount.end();
}

const INDEXED: &str = r#"{
    "TableName": "Tab",
    "AttributeDefinitions": [
        {"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "S"}, {"AttributeName": "v", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
    "LocalSecondaryIndexes": [{
        "IndexName": "local", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "v", "KeyType": "RANGE"}]}],
    "GlobalSecondaryIndexes": [{
        "IndexName": "global", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}]}],
    "BillingMode": "PAY_PER_REQUEST"
}"#;

/// Every way to write an item or a folder: `P` and `Q` are folders, `S` and `T` names of items, `V`
/// is a new value.
const WRITES: [&str; 27] = [
    "echo '{\"v\":\"V\"}' > Tab/items/P/S.json",
    "set -C; echo '{\"v\":\"V\"}' > Tab/items/P/S.json",
    "jq -nc '{v:\"V\",n:1}' > Tab/items/P/S.json",
    "echo '{\"p\":{\"S\":\"P\"},\"s\":{\"S\":\"S\"},\"v\":{\"S\":\"V\"}}' > Tab/items/P/S.ddbjson",
    "printf '{\"v\":' >> Tab/items/P/new.json; printf '\"V\"}' | tee -a Tab/items/P/T.json",
    "sed -i 's/\"v\":\"[a-z0-9]*\"/\"v\":\"V\"/' Tab/items/P/*.json",
    "sed -i.bak 's/\"v\":\"[a-z0-9]*\"/\"v\":\"V\"/' Tab/items/P/S.json",
    "jq -c '.v = \"V\"' Tab/items/P/S.json > Tab/items/P/S.json",
    "echo '{\"v\":\"V\",\"extra\":[1]}' > Tab/items/P/S.patch",
    "echo 'SET v = \"V\" REMOVE extra' > Tab/items/P/S.update",
    "echo V > Tab/items/P/S.d/v",
    "rm Tab/items/P/S.d/v",
    "cp Tab/items/P/S.json Tab/items/Q/T.json",
    "mkdir -p Tab/items/Q; cp -r Tab/items/P/. Tab/items/Q/",
    "mv Tab/items/P/S.json Tab/items/P/T.json",
    "mv Tab/items/P/S.json Tab/items/Q/",
    "mv Tab/items/P Tab/items/V",
    "rm Tab/items/P/S.json",
    "rm -r Tab/items/P",
    "printf '%s\n' '{\"p\":\"P\",\"s\":\"S\",\"v\":\"V\"}' '{\"p\":\"Q\",\"s\":\"T\",\"v\":\"V\"}' > Tab/batch/put",
    "printf '%s\n' '{\"p\":\"P\",\"s\":\"S\"}' > Tab/batch/delete",
    "printf '%s\n' '{\"p\":\"P\",\"s\":\"S\",\"v\":\"V\"}' '{\"$delete\":{\"p\":\"Q\",\"s\":\"T\"}}' > Tab/batch/atomic",
    "echo '{\"TableName\":\"Tab\",\"Item\":{\"p\":{\"S\":\"P\"},\"s\":{\"S\":\"S\"},\"v\":{\"S\":\"V\"}}}' > .ddb/api/PutItem",
    "echo '{\"TableName\":\"Tab\",\"Key\":{\"p\":{\"S\":\"P\"},\"s\":{\"S\":\"S\"}}}' > .ddb/api/DeleteItem",
    "echo '{\"TableName\":\"Tab\",\"Key\":{\"p\":{\"S\":\"P\"},\"s\":{\"S\":\"S\"}},\"UpdateExpression\":\"SET v = :v\",\"ExpressionAttributeValues\":{\":v\":{\"S\":\"V\"}}}' > .ddb/api/UpdateItem",
    "echo '{\"Statement\":\"UPDATE Tab SET v = '\\''V'\\'' WHERE p = '\\''P'\\'' AND s = '\\''S'\\''\"}' > .ddb/api/ExecuteStatement",
    "echo '{\"TransactItems\":[{\"Update\":{\"TableName\":\"Tab\",\"Key\":{\"p\":{\"S\":\"P\"},\"s\":{\"S\":\"S\"}},\"UpdateExpression\":\"SET v = :v\",\"ExpressionAttributeValues\":{\":v\":{\"S\":\"V\"}}}}]}' > .ddb/transact",
];

/// Every path that shows a write.
const SHOWN: [&str; 12] = [
    "ls Tab/items",
    "ls Tab/items/*",
    "cat Tab/items/*/*.json",
    "stat -c '%n %s' Tab/items/*/*.json",
    "for file in Tab/items/{a,b,c}/{x,y,z}; do cat $file.json; cat $file.ddbjson; cat $file.d/v; stat -c %s $file.json; done 2>&1",
    "for folder in a b c; do stat -c %F Tab/items/$folder; done 2>&1",
    "find Tab/gsi/global/items -name '*.json' | sort | xargs -r cat",
    "find Tab/lsi/local/items -name '*.json' | sort | xargs -r stat -c '%n %s'",
    "for v in k0 k1 k2 k3; do ls Tab/gsi/global/items/$v; cat Tab/gsi/global/query/v=$v/items.ndjson; done 2>&1",
    "cat Tab/query/p=a/items.ndjson Tab/query/p=b/count Tab/query/p=c/desc/limit=2/items.csv",
    "cat Tab/query/p=a/v.ge=k/items.ndjson Tab/lsi/local/query/p=a/v.begins=k/items.ndjson 2>&1",
    "cat Tab/scan/items.ndjson | sort; cat Tab/scan/where=\"contains(v, 'k1')\"/count",
];

#[test]
fn own_writes_by_any_route_are_seen_at_once_by_every_path() {
    for seed in 0..2 {
        let db = memory();
        create_table(&*db, INDEXED);
        let local = Mount::of(Arc::clone(&db));
        // In the second round as requests that are written and read.
        let service: Arc<dyn Database> = if seed == 0 {
            Service::of(Arc::clone(&db))
        } else {
            Arc::new(client(&db))
        };
        let options = RemoteOptions {
            is_writable: true,
            ttl: LONG,
            ..RemoteOptions::default()
        };
        let remote = Mount::over(
            db,
            Arc::new(RemoteDatabase::new(service, options)),
            ViewOptions::default(),
            |mount| mount,
        );
        let (mut numbers, mut done) = (Numbers(seed), Vec::new());
        for step in 0..30 {
            let [folder, other] = [(); 2].map(|()| numbers.one(&["a", "b", "c"]));
            let [name, another] = [(); 2].map(|()| numbers.one(&["x", "y", "z"]));
            // Each route in turn, from another one on by each seed; the first ones make items to
            // write to.
            let route = if step < 4 {
                0
            } else {
                (seed as usize * 13 + step) % WRITES.len()
            };
            let script = fill(
                WRITES[route],
                [folder, other, name, another],
                &format!("k{}", step % 4),
            );
            // Folders without items are each mount's own.
            remote.sh(&format!(
                "mkdir -p Tab/items/{folder} Tab/items/{other} 2> /dev/null"
            ));
            let ran = remote.sh(&script);
            remote.sh("rmdir Tab/items/* 2> /dev/null");
            done.push(format!("{script} => {}", ran.status));
            for path in SHOWN {
                let (expected, found) = (local.sh(path), remote.sh(path));
                assert_eq!(found, expected, "after {}:\n{path}", done.join("\n"));
            }
        }
        // The check must not hold only because everything fails.
        let failed = done.iter().filter(|line| !line.ends_with("=> 0")).count();
        assert!(failed * 2 < done.len(), "{}", done.join("\n"));
        remote.end();
        local.end();
    }
}

/// Fills names into a route of [`WRITES`]: its capitals that stand alone.
fn fill(route: &str, [folder, other, name, another]: [&str; 4], value: &str) -> String {
    let stands_alone = |at: usize| {
        let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-');
        !is_letter(route[..at].chars().next_back()) && !is_letter(route[at + 1..].chars().next())
    };
    let of = |c: char, at: usize| match c {
        'P' if stands_alone(at) => folder.to_owned(),
        'Q' if stands_alone(at) => other.to_owned(),
        // `{"S":` is a type.
        'S' if stands_alone(at) && !route[at + 1..].starts_with("\":") => name.to_owned(),
        'T' if stands_alone(at) => another.to_owned(),
        'V' if stands_alone(at) => value.to_owned(),
        c => c.to_string(),
    };
    route.char_indices().map(|(at, c)| of(c, at)).collect()
}
