//! `ddbfs compact`: free pages go back to the disk, and nothing is lost, whenever it ends.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::support::daemon::{DDBFS, Mount, check, texts};
use crate::support::wait::{PATIENCE, until_ok_with};
use ddbfs::database::Database as _;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::model::TableName;
use ddbfs::model::api::DeleteTableRequest;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};

const NEW_FILE: &str = "data.mdb.new";

fn ddbfs(data: &Path, args: &[&str]) -> Output {
    Command::new(DDBFS)
        .args(args)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap()
}

fn data_bytes(data: &Path) -> u64 {
    std::fs::metadata(data.join("data.mdb")).unwrap().len()
}

/// A data directory with the sample tables and one table of items, and much that is free.
fn grown(dir: &Path) -> PathBuf {
    let data = dir.join("data");
    assert!(ddbfs(&data, &["sample"]).status.success());
    load(&data, "Pets", 5_000, 2_000);
    load(&data, "PetsByType", 1_500, 20_000);
    let store = std::sync::Arc::new(LmdbStore::open(&data, LmdbOptions::default()).unwrap());
    let database = LocalDatabase::open(store, EngineOptions::default()).unwrap();
    database
        .delete_table(DeleteTableRequest::new(
            TableName::new("PetsByType").unwrap(),
        ))
        .unwrap();
    database.engine().close();
    data
}

fn load(data: &Path, table: &str, items: usize, bytes: usize) {
    let text = "x".repeat(bytes);
    let lines: String = (0..items)
        .map(|at| match table {
            "Pets" => {
                format!("{{\"AnimalType\":\"Ant\",\"Name\":\"a{at}\",\"text\":\"{text}\"}}\n")
            }
            _ => format!("{{\"AnimalType\":\"a{at}\",\"text\":\"{text}\"}}\n"),
        })
        .collect();
    let mut child = Command::new(DDBFS);
    let child = child
        .args(["load", table, "--data"])
        .arg(data)
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    let mut child = child.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
}

/// Everything in the table, as text.
fn content(data: &Path) -> Vec<u8> {
    let output = ddbfs(data, &["dump", "Pets"]);
    assert!(output.status.success());
    output.stdout
}

#[track_caller]
fn is_clean(data: &Path) {
    let (is_clean, report) = check(data);
    assert!(is_clean, "{report}");
}

#[test]
fn compact_gives_free_pages_back_and_says_the_sizes() {
    let dir = tempfile::tempdir().unwrap();
    let data = grown(dir.path());
    let (content_before, before) = (content(&data), data_bytes(&data));
    let output = ddbfs(&data, &["compact"]);
    let (told, errors) = texts(&output);
    assert!(output.status.success(), "{errors}");
    assert!(
        data_bytes(&data) < before / 2,
        "{before} bytes became {}",
        data_bytes(&data)
    );
    let megabytes = |bytes: u64| {
        format!(
            "{}.{} MB",
            bytes.div_ceil(100_000) / 10,
            bytes.div_ceil(100_000) % 10
        )
    };
    assert!(
        told.contains(&format!("{} before", megabytes(before))),
        "{told}"
    );
    assert!(
        told.contains(&format!("{} after", megabytes(data_bytes(&data)))),
        "{told}"
    );
    assert!(content(&data) == content_before);
    is_clean(&data);
    load(&data, "Pets", 100, 100);
    is_clean(&data);
}

#[test]
fn compact_refuses_while_a_daemon_has_the_directory_open() {
    let mut mount = Mount::with_samples();
    let output = ddbfs(&mount.data(), &["compact"]);
    let (told, errors) = texts(&output);
    assert!(!output.status.success(), "{told}");
    assert!(
        errors.contains(&format!("process {} has it open", mount.pid()))
            && errors.contains("ddbfs umount"),
        "{errors}"
    );
    mount.ok("cat Pets/items/Dog/Fido.json");
    mount.unmount();
    let output = ddbfs(&mount.data(), &["compact"]);
    assert!(output.status.success(), "{}", texts(&output).1);
}

#[test]
fn compact_makes_no_data_directory() {
    let dir = tempfile::tempdir().unwrap();
    let output = ddbfs(&dir.path().join("typo"), &["compact"]);
    assert!(
        !output.status.success() && texts(&output).1.contains("there is no data.mdb"),
        "{}",
        texts(&output).1
    );
    assert!(!dir.path().join("typo").exists());
}

/// The disk has no room for the copy: it says how much it needs, and changes nothing.
#[test]
fn compact_says_what_room_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let data = grown(dir.path());
    // A full disk is a small file system in memory that holds the data file, in a mount namespace of its own.
    let script = "umount -l -a -t fuse,fuse.ddbfs; mount -t tmpfs -o size=$SIZE,mode=700 full \"$DISK\" && cp \"$FROM/data.mdb\" \"$DISK\" && \"$0\" compact --data \"$DISK\"; \
        status=$?; cmp \"$FROM/data.mdb\" \"$DISK/data.mdb\" && ls \"$DISK\" && exit $status";
    let disk = dir.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let size = (data_bytes(&data) + 2_000_000).to_string();
    // SAFETY: takes nothing, cannot fail.
    #[allow(unsafe_code)]
    let is_root = unsafe { libc::geteuid() } == 0;
    let namespaces: &[&str] = if is_root {
        &["--mount"]
    } else {
        &["--user", "--map-root-user", "--mount"]
    };
    let mut command = Command::new("unshare");
    command
        .args(namespaces)
        .args(["sh", "-c", script, DDBFS])
        .env("SIZE", size)
        .env("DISK", &disk)
        .env("FROM", &data);
    let output = command.output().expect("unshare of util-linux");
    let (told, errors) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{told}{errors}");
    assert!(
        errors.contains("the copy needs") && errors.contains("free some space first"),
        "{errors}"
    );
    assert!(!told.contains(NEW_FILE), "{told}");
}

/// Killed before it began, while the copy grows, when it is whole, and after: the content is the same, and nothing is left of it.
#[test]
fn a_killed_compact_loses_nothing() {
    const PARTS: u64 = 5;
    let dir = tempfile::tempdir().unwrap();
    let data = grown(dir.path());
    let (whole, old_bytes) = (content(&data), data_bytes(&data));
    let kept = dir.path().join("kept.mdb");
    std::fs::copy(data.join("data.mdb"), &kept).unwrap();
    let mut interrupted = 0;
    for part in 0..PARTS {
        std::fs::copy(&kept, data.join("data.mdb")).unwrap();
        let mut child = Command::new(DDBFS)
            .args(["compact", "--data"])
            .arg(&data)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // In parts of what the new file will be, which is less than a third of the old.
        let is_so_far = || match std::fs::metadata(data.join(NEW_FILE)) {
            Ok(metadata) => metadata.len() >= old_bytes / 3 * part / PARTS,
            Err(_) => data_bytes(&data) != old_bytes,
        };
        until_ok_with("the copy grows", PATIENCE, Duration::ZERO, || {
            let is_far_enough = is_so_far() || child.try_wait().unwrap().is_some();
            if is_far_enough {
                Ok(())
            } else {
                Err(format!("part {part}"))
            }
        });
        child.kill().unwrap();
        child.wait().unwrap();
        interrupted += u32::from(data.join(NEW_FILE).exists());
        assert!(content(&data) == whole, "part {part}");
        assert!(
            !data.join(NEW_FILE).exists(),
            "what was left of it is removed"
        );
        is_clean(&data);
    }
    assert!(interrupted > 0, "none was killed while it copied");
    assert!(ddbfs(&data, &["compact"]).status.success());
    assert!(data_bytes(&data) < old_bytes / 2);
    assert!(content(&data) == whole);
    is_clean(&data);
}
