//! A disk that is full: everything that removes goes through and gives room, and a job that finds no room fails and holds nothing.
//!
//! Each test runs one of the ignored ones below it as a process with a mount namespace of its own, in which a small file system in
//! memory is mounted on a directory. Started by name with a directory in the environment, they can be run on any other small file system.

use std::io::BufRead as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::damage_matrix::{
    KINDS, LAST, Running, content, cut_that_grows, killed, killed_served, write,
};
use crate::lmdb::put;
use crate::support::control::{ARN, Control};
use crate::support::own_process::{start, test_name};
use crate::support::wait::{until, until_ok};
use ddbfs::engine::check::check;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore, OfflineStore};
use ddbfs::store::{Store, StoreError};
use serde_json::{Value, json};

const DIR: &str = "DDBFS_TEST_FULL_DISK";
/// The log takes 4 of them, and the reserve 6.
const DISK_MIB: u64 = 48;
/// The size of the items that fill it: three to a page, so that few fill it.
const ITEM_BYTES: usize = 1_200;
/// How long anything may take on a busy machine.
const FULL: &str = "the disk is full";

/// Runs an ignored test as a process with a small disk.
fn on_small_disk(test: &str) {
    let dir = tempfile::tempdir().unwrap();
    // SAFETY: takes nothing, cannot fail.
    #[allow(unsafe_code)]
    let is_root = unsafe { libc::geteuid() } == 0;
    let namespaces: &[&str] = if is_root {
        &["--mount"]
    } else {
        &["--user", "--map-root-user", "--mount"]
    };
    let test = test_name(module_path!(), test);
    // Of the tests beside no mount is kept here: it would outlive its umount.
    let script = format!(
        "umount -l -a -t fuse,fuse.ddbfs; mount -t tmpfs -o size={DISK_MIB}m,mode=700 full \"${DIR}\" && exec \"$0\" --ignored --exact {test} --nocapture"
    );
    let mut child = Command::new("unshare");
    let child = child
        .args(namespaces)
        .args(["sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env(DIR, dir.path());
    let output = child.output().expect("unshare of util-linux");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

fn disk() -> Option<PathBuf> {
    std::env::var_os(DIR).map(|dir| PathBuf::from(dir).join("data"))
}

/// A database on the disk.
struct Disk {
    control: Control,
    store: Arc<LmdbStore>,
    dir: PathBuf,
}

impl Disk {
    fn open(dir: &Path) -> Self {
        let store = Arc::new(LmdbStore::open(dir, LmdbOptions::default()).unwrap());
        let buckets = dir.parent().unwrap().join("buckets");
        std::fs::create_dir_all(buckets.join("bucket")).unwrap();
        let control = Control::on(Arc::clone(&store) as Arc<dyn Store>, |options| {
            options.background_period = Some(Duration::from_millis(50));
            options.buckets = Some(buckets);
        });
        Self {
            control,
            store,
            dir: dir.to_owned(),
        }
    }

    /// Closed and opened again, with the disk as it is.
    fn restart(self) -> Self {
        let dir = self.dir.clone();
        self.control.database.engine().close();
        drop(self);
        Self::open(&dir)
    }

    /// `Tab` with two indexes.
    fn create(&self) {
        let attribute = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
        let index = |name: &str, key: &str| {
            let key = [json!({ "AttributeName": key, "KeyType": "HASH" })];
            json!({ "IndexName": name, "KeySchema": key, "Projection": { "ProjectionType": "ALL" } })
        };
        self.control.ok(
            "CreateTable",
            json!({
                "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [attribute("pk"), attribute("a"), attribute("b")],
                "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
                "GlobalSecondaryIndexes": [index("byA", "a"), index("byB", "b")],
            }),
        );
    }

    fn item(number: usize, bytes: usize) -> Value {
        let text = |text: String| json!({ "S": text });
        json!({ "pk": text(number.to_string()), "a": text(format!("a{}", number % 97)), "b": text(format!("b{}", number % 11)),
            "v": text("x".repeat(bytes)) })
    }

    fn put(&self, number: usize, bytes: usize) -> Result<Value, String> {
        self.control.call(
            "PutItem",
            json!({ "TableName": "Tab", "Item": Self::item(number, bytes) }),
        )
    }

    /// Puts items until so many bytes of the disk are left; how many there are.
    fn fill_but(&self, left_bytes: u64) -> usize {
        for first in (0..).step_by(25) {
            if self.store.info().free_bytes < left_bytes {
                return first;
            }
            let puts: Vec<Value> = (first..first + 25)
                .map(|at| json!({ "PutRequest": { "Item": Self::item(at, ITEM_BYTES) } }))
                .collect();
            match self
                .control
                .call("BatchWriteItem", json!({ "RequestItems": { "Tab": puts } }))
            {
                Ok(_) => {}
                Err(error) if error.contains(FULL) => return first,
                Err(error) => panic!("{error}"),
            }
        }
        unreachable!("a disk has an end")
    }

    /// Puts items until not even the smallest fits; how many there are.
    fn fill(&self) -> usize {
        let mut count = self.fill_but(0);
        for bytes in [ITEM_BYTES, 1] {
            while self
                .put(count, bytes)
                .inspect_err(|error| assert!(error.contains(FULL), "{error}"))
                .is_ok()
            {
                count += 1;
            }
        }
        count
    }

    /// Puts items until none fits, and removes some again until there is room for small writes, in free pages too; there is none for a copy
    /// of a table. How many there were.
    fn nearly_fill(&self) -> usize {
        let count = self.fill();
        for first in (0..count / 2).step_by(100) {
            (first..first + 100).for_each(|number| self.delete(number));
            if self.put(count, 5_000).is_ok() {
                self.delete(count);
                return count;
            }
        }
        panic!("{count} items, and half of them give no room");
    }

    /// What has room only when freed pages have come round.
    fn soon_ok(&self, operation: &str, body: &Value) -> Value {
        self.until(operation, body, Result::is_ok).unwrap()
    }

    fn key(number: usize) -> Value {
        json!({ "pk": { "S": number.to_string() } })
    }

    fn delete_batch(&self, range: std::ops::Range<usize>) {
        let deletes: Vec<Value> = range
            .map(|at| json!({ "DeleteRequest": { "Key": Self::key(at) } }))
            .collect();
        self.control.ok(
            "BatchWriteItem",
            json!({ "RequestItems": { "Tab": deletes } }),
        );
    }

    fn delete(&self, number: usize) {
        self.control.ok(
            "DeleteItem",
            json!({ "TableName": "Tab", "Key": Self::key(number) }),
        );
    }

    /// Asks until `done` likes the answer.
    fn until(
        &self,
        operation: &str,
        body: &Value,
        done: impl Fn(&Result<Value, String>) -> bool,
    ) -> Result<Value, String> {
        until_ok(&format!("{operation} {body}"), || {
            let answer = self.control.call(operation, body.clone());
            if done(&answer) {
                Ok(answer)
            } else {
                Err(format!("{answer:?}"))
            }
        })
    }

    /// Waits until so much can be put again, and puts it, in small items: free pages need not lie together.
    fn has_room_for(&self, bytes: usize) {
        for first in (1_000_000..1_000_000 + bytes / 1_000).step_by(25) {
            let puts: Vec<Value> = (first..first + 25)
                .map(|at| json!({ "PutRequest": { "Item": Self::item(at, 1_000) } }))
                .collect();
            self.until(
                "BatchWriteItem",
                &json!({ "RequestItems": { "Tab": puts } }),
                Result::is_ok,
            )
            .unwrap();
        }
    }

    fn is_clean(&self) {
        let report = check(self.control.database.engine()).unwrap();
        assert!(report.is_clean(), "{report:#?}");
    }

    fn reserve_bytes(&self) -> u64 {
        let metadata = std::fs::metadata(self.dir.join("reserve")).unwrap();
        assert!(
            metadata.blocks() * 512 >= metadata.len(),
            "it has its blocks"
        );
        metadata.len()
    }
}

macro_rules! on_small_disk {
    ($($(#[$docs:meta])* $name:ident => $child:ident($disk:ident) $body:block)*) => {$(
        $(#[$docs])*
        #[test]
        fn $name() {
            on_small_disk(stringify!($child));
        }

        #[test]
        #[ignore = "a process of another test"]
        fn $child() {
            let Some(dir) = disk() else { return };
            let $disk = Disk::open(&dir);
            $disk.create();
            $body
        }
    )*};
}

on_small_disk! {
    single_deletes_on_a_full_disk_all_go_through => child_deletes(disk) {
        let whole = disk.reserve_bytes();
        assert!(whole > 0);
        let count = disk.fill();
        assert_eq!(disk.reserve_bytes(), whole, "additions do not get it");
        for number in 0..count {
            disk.delete(number);
        }
        disk.is_clean();
        disk.has_room_for(4_000_000);
        disk.is_clean();
    }

    batches_of_deletes_on_a_full_disk_all_go_through => child_deletes_in_batches(disk) {
        let count = disk.fill();
        for first in (0..count).step_by(25) {
            disk.delete_batch(first..(first + 25).min(count));
        }
        disk.has_room_for(4_000_000);
        disk.is_clean();
    }

    transactions_of_deletes_on_a_full_disk_all_go_through => child_deletes_in_transactions(disk) {
        let count = disk.fill();
        for first in (0..count).step_by(100) {
            let delete = |at: usize| json!({ "Delete": { "TableName": "Tab", "Key": Disk::key(at) } });
            let deletes: Vec<Value> = (first..(first + 100).min(count)).map(delete).collect();
            disk.control.ok("TransactWriteItems", json!({ "TransactItems": deletes }));
        }
        disk.has_room_for(4_000_000);
        disk.is_clean();
    }

    /// Group commit mixes them: each is told for itself.
    deletes_beside_puts_on_a_full_disk_all_go_through => child_deletes_beside_puts(disk) {
        let count = disk.fill();
        let puts_end = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let (disk, puts_end) = (&disk, &puts_end);
                scope.spawn(move || {
                    for number in (2_000_000 + writer..).step_by(2) {
                        if puts_end.load(std::sync::atomic::Ordering::SeqCst) {
                            return;
                        }
                        disk.put(number, 2_000).err().into_iter().for_each(|error| assert!(error.contains(FULL), "{error}"));
                    }
                });
            }
            let deleters: Vec<_> = (0..2)
                .map(|half| {
                    let disk = &disk;
                    scope.spawn(move || (half..count.min(2_000)).step_by(2).for_each(|number| disk.delete(number)))
                })
                .collect();
            let outcomes: Vec<_> = deleters.into_iter().map(|thread| thread.join()).collect();
            puts_end.store(true, std::sync::atomic::Ordering::SeqCst);
            assert!(outcomes.iter().all(Result::is_ok));
        });
        disk.is_clean();
    }

    a_table_deleted_on_a_full_disk_gives_its_room_back => child_deletes_a_table(disk) {
        disk.fill();
        disk.control.ok("DeleteTable", json!({ "TableName": "Tab" }));
        disk.until("CreateTable", &json!({
            "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
        }), Result::is_ok).unwrap();
        disk.has_room_for(17_000_000);
        disk.is_clean();
    }

    a_table_deleted_on_a_full_disk_gives_its_room_back_after_a_restart => child_deletes_a_table_and_restarts(disk) {
        disk.fill();
        disk.control.ok("DeleteTable", json!({ "TableName": "Tab" }));
        let disk = disk.restart();
        let body = json!({
            "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
        });
        disk.until("CreateTable", &body, Result::is_ok).unwrap();
        disk.has_room_for(17_000_000);
        disk.is_clean();
    }

    an_index_deleted_on_a_full_disk_gives_its_room_back => child_deletes_an_index(disk) {
        disk.fill();
        let delete = json!([{ "Delete": { "IndexName": "byA" } }]);
        disk.control.ok("UpdateTable", json!({ "TableName": "Tab", "GlobalSecondaryIndexUpdates": delete }));
        let is_gone = |answer: &Result<Value, String>| {
            answer.as_ref().is_ok_and(|of| of["Table"]["GlobalSecondaryIndexes"].as_array().is_some_and(|indexes| indexes.len() == 1))
        };
        disk.until("DescribeTable", &json!({ "TableName": "Tab" }), is_gone).unwrap();
        disk.has_room_for(2_000_000);
        disk.is_clean();
    }

    deletes_on_a_full_disk_go_through_after_a_restart => child_deletes_after_a_restart(disk) {
        let count = disk.fill();
        let mut disk = disk;
        for round in 0..4 {
            disk = disk.restart();
            (round * 8..round * 8 + 8).for_each(|batch| disk.delete_batch(batch * 25..(batch * 25 + 25).min(count)));
            disk.is_clean();
        }
    }

    deletes_on_a_full_disk_go_through_beside_what_a_killed_process_left => child_deletes_beside_a_killed_process(disk) {
        let count = disk.fill_but(2_000_000);
        let (mut neighbour, output) = start(module_path!(), "child_writes_and_is_killed", (DIR, disk.dir.parent().unwrap()));
        assert!(output.lines().any(|line| line.unwrap().contains("written")));
        neighbour.kill().unwrap();
        neighbour.wait().unwrap();
        let last = (count..).find(|number| disk.put(*number, ITEM_BYTES).is_err()).unwrap();
        for number in 0..last.min(1_000) {
            disk.delete(number);
        }
        disk.is_clean();
    }

    a_backup_without_room_fails_and_holds_nothing => child_backs_up(disk) {
        let count = disk.nearly_fill();
        let details = disk.soon_ok("CreateBackup", &json!({ "TableName": "Tab", "BackupName": "late" }));
        let arn = details["BackupDetails"]["BackupArn"].as_str().unwrap().to_owned();
        check_failed_backup(&disk, &arn);
        (0..count.min(300)).for_each(|number| disk.delete(number));
        disk.control.ok("DeleteBackup", json!({ "BackupArn": arn }));
        disk.control.ok("DeleteTable", json!({ "TableName": "Tab" }));
        disk.is_clean();
    }

    a_backup_without_room_fails_and_holds_nothing_after_a_restart => child_backs_up_and_restarts(disk) {
        let count = disk.nearly_fill();
        let details = disk.soon_ok("CreateBackup", &json!({ "TableName": "Tab", "BackupName": "late" }));
        let arn = details["BackupDetails"]["BackupArn"].as_str().unwrap().to_owned();
        let disk = disk.restart();
        check_failed_backup(&disk, &arn);
        (0..count.min(300)).for_each(|number| disk.delete(number));
        let disk = disk.restart();
        check_failed_backup(&disk, &arn);
        disk.control.ok("DeleteBackup", json!({ "BackupArn": arn }));
        disk.control.ok("DeleteTable", json!({ "TableName": "Tab" }));
        disk.is_clean();
    }

    a_restore_without_room_fails_and_holds_nothing => child_restores(disk) {
        disk.fill_but(DISK_MIB * 1024 * 1024 * 2 / 3);
        let details = disk.control.ok("CreateBackup", json!({ "TableName": "Tab", "BackupName": "early" }));
        let body = json!({ "BackupArn": details["BackupDetails"]["BackupArn"] });
        let is_there = |of: &Value| of["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE";
        disk.until("DescribeBackup", &body, |answer| answer.as_ref().is_ok_and(is_there)).unwrap();
        disk.nearly_fill();
        let restore = json!({ "BackupArn": body["BackupArn"], "TargetTableName": "Copy" });
        disk.soon_ok("RestoreTableFromBackup", &restore);
        let has_failed = |of: &Value| of["Table"]["RestoreSummary"]["FailureCode"] == "DiskFull";
        let answer = disk.until("DescribeTable", &json!({ "TableName": "Copy" }), |answer| answer.as_ref().is_ok_and(has_failed));
        let summary = answer.unwrap()["Table"]["RestoreSummary"].clone();
        assert_eq!(summary["RestoreInProgress"], false);
        assert!(summary["FailureMessage"].as_str().unwrap().contains(FULL));
        let disk = disk.restart();
        disk.control.ok("DeleteTable", json!({ "TableName": "Copy" }));
        disk.control.ok("DeleteBackup", body);
        disk.control.ok("DeleteTable", json!({ "TableName": "Tab" }));
        disk.is_clean();
    }

    an_export_without_room_fails_and_holds_nothing => child_exports(disk) {
        disk.nearly_fill();
        let recovery = json!({ "PointInTimeRecoveryEnabled": true });
        disk.soon_ok("UpdateContinuousBackups", &json!({ "TableName": "Tab", "PointInTimeRecoverySpecification": recovery }));
        let request = json!({ "TableArn": format!("{ARN}Tab"), "S3Bucket": "bucket" });
        let export = disk.soon_ok("ExportTableToPointInTime", &request)["ExportDescription"].clone();
        let is_over = |of: &Value| of["ExportDescription"]["ExportStatus"] == "FAILED";
        let body = json!({ "ExportArn": export["ExportArn"] });
        let answer = disk.until("DescribeExport", &body, |answer| answer.as_ref().is_ok_and(is_over)).unwrap();
        assert_eq!(answer["ExportDescription"]["FailureCode"], "DiskFull", "{answer}");
        let recovery = json!({ "PointInTimeRecoveryEnabled": false });
        disk.control.ok("UpdateContinuousBackups", json!({ "TableName": "Tab", "PointInTimeRecoverySpecification": recovery }));
        disk.control.ok("DeleteTable", json!({ "TableName": "Tab" }));
        disk.is_clean();
    }

    an_import_without_room_fails_and_holds_nothing => child_imports(disk) {
        let lines: String = (0..20_000).map(|number| format!("{}\n", json!({ "Item": Disk::item(number, 500) }))).collect();
        std::fs::write(disk.dir.parent().unwrap().join("buckets/bucket/items.json"), lines).unwrap();
        disk.nearly_fill();
        let import = disk.soon_ok("ImportTable", &json!({
            "S3BucketSource": { "S3Bucket": "bucket" }, "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": {
                "TableName": "Copy", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
                "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
            },
        }))["ImportTableDescription"].clone();
        let is_over = |of: &Value| of["ImportTableDescription"]["ImportStatus"] == "FAILED";
        let body = json!({ "ImportArn": import["ImportArn"] });
        let answer = disk.until("DescribeImport", &body, |answer| answer.as_ref().is_ok_and(is_over)).unwrap();
        assert_eq!(answer["ImportTableDescription"]["FailureCode"], "DiskFull", "{answer}");
        disk.control.ok("DeleteTable", json!({ "TableName": "Copy" }));
        disk.control.ok("DeleteTable", json!({ "TableName": "Tab" }));
        disk.is_clean();
    }

    an_index_without_room_is_dropped_and_holds_nothing => child_makes_an_index(disk) {
        disk.nearly_fill();
        disk.soon_ok("UpdateTable", &json!({
            "TableName": "Tab",
            "AttributeDefinitions": [{ "AttributeName": "v", "AttributeType": "S" }],
            "GlobalSecondaryIndexUpdates": [{ "Create": {
                "IndexName": "byV", "KeySchema": [{ "AttributeName": "v", "KeyType": "HASH" }],
                "Projection": { "ProjectionType": "ALL" },
            } }],
        }));
        let is_gone = |of: &Value| of["Table"]["GlobalSecondaryIndexes"].as_array().is_some_and(|indexes| indexes.len() == 2);
        disk.until("DescribeTable", &json!({ "TableName": "Tab" }), |answer| answer.as_ref().is_ok_and(is_gone)).unwrap();
        disk.until("DeleteTable", &json!({ "TableName": "Tab" }), Result::is_ok).unwrap();
        disk.is_clean();
    }
}

#[test]
#[ignore = "a process of deletes_on_a_full_disk_go_through_beside_what_a_killed_process_left"]
fn child_writes_and_is_killed() {
    let Some(dir) = disk() else { return };
    let disk = Disk::open(&dir);
    disk.put(3_000_000, 1).unwrap();
    println!("written");
    until("it is killed", || false);
}

fn check_failed_backup(disk: &Disk, arn: &str) {
    let is_over = |of: &Value| of["BackupDescription"]["BackupDetails"]["BackupStatus"] == "FAILED";
    let answer = disk
        .until("DescribeBackup", &json!({ "BackupArn": arn }), |answer| {
            answer.as_ref().is_ok_and(is_over)
        })
        .unwrap();
    let details = answer["BackupDescription"]["BackupDetails"].clone();
    assert_eq!(details["FailureCode"], "DiskFull");
    assert!(
        details["FailureMessage"].as_str().unwrap().contains(FULL),
        "{details}"
    );
}

#[test]
fn after_a_power_cut_a_full_disk_opens_with_the_reserve_or_to_be_read() {
    on_small_disk("power_cut");
}

#[test]
#[ignore = "a process of after_a_power_cut_a_full_disk_opens_with_the_reserve_or_to_be_read"]
fn power_cut() {
    let Some(dir) = disk() else { return };
    let cut = cut_that_grows(killed);
    let open = || LmdbStore::open(&dir, LmdbOptions::default());
    let filler = dir.with_extension("filler");
    for has_reserve in [true, false] {
        std::fs::create_dir(&dir).unwrap();
        write(&dir, &cut);
        if has_reserve {
            std::fs::write(dir.join("reserve"), vec![1; 4 << 20]).unwrap();
        }
        let full = std::fs::write(&filler, vec![1; (DISK_MIB as usize) << 20]).unwrap_err();
        assert_eq!(full.raw_os_error(), Some(libc::ENOSPC));
        match open() {
            Ok(store) => assert!(has_reserve && content(&store) == LAST),
            Err(error) => {
                assert!(!has_reserve && error == StoreError::NoSpace, "{error}");
                let store = OfflineStore::open(&dir, StoreError::NoSpace)
                    .unwrap()
                    .unwrap();
                store.check().unwrap();
                assert_eq!(content(&store), LAST);
                assert_eq!(put(&store, b"next", vec![1]), Err(StoreError::NoSpace));
            }
        }
        std::fs::remove_file(&filler).unwrap();
        assert_eq!(content(&open().unwrap()), LAST);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn after_a_power_cut_every_process_reads_on_a_full_disk() {
    on_small_disk("power_cut_of_processes");
}

#[test]
#[ignore = "a process of after_a_power_cut_every_process_reads_on_a_full_disk"]
fn power_cut_of_processes() {
    let Some(dir) = disk() else { return };
    let files = cut_that_grows(killed_served);
    let filler = dir.with_extension("filler");
    std::fs::create_dir(&dir).unwrap();
    write(&dir, &files);
    std::fs::write(&filler, vec![1; (DISK_MIB as usize) << 20]).unwrap_err();
    for kind in KINDS {
        let running = Running::start(&dir, kind);
        running
            .up()
            .unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert!(
            running.items().is_none_or(|items| items == LAST),
            "{kind:?}: {:?}",
            running.items()
        );
        let told = running.put();
        assert!(
            told.as_ref()
                .is_none_or(|told| told.contains(FULL) || told.contains("No space left")),
            "{kind:?}: {told:?}"
        );
        assert!(
            kind == KINDS[0]
                || running
                    .said("err")
                    .contains("is read-only until there is space"),
            "{kind:?}"
        );
    }
    std::fs::remove_file(&filler).unwrap();
    for kind in KINDS {
        let running = Running::start(&dir, kind);
        running.up().unwrap();
        assert!(
            running.items().is_none_or(|items| items == LAST)
                && !running.said("err").contains("only read"),
            "{kind:?}"
        );
    }
}
