//! What the kernel keeps, and what ends that: docs/filesystem.md 13, kind by kind.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::Value;

use crate::support::mounted::{Mount, put};

/// LOOKUP and GETATTR requests so far, without those for the file itself that tells it.
fn asked(mount: &Mount) -> u64 {
    let stats: Value = serde_json::from_slice(&fs::read(mount.path().join(".ddb/stats.json")).unwrap()).unwrap();
    stats["kernel"]["asked"].as_u64().unwrap()
}

/// Requests that a hundred looks cost.
fn cost_of_looks(mount: &Mount, path: &Path) -> u64 {
    let first = asked(mount);
    let own = asked(mount) - first;
    let before = asked(mount);
    for _ in 0..100 {
        fs::metadata(path).unwrap();
    }
    asked(mount) - before - own
}

#[test]
fn an_item_is_kept_until_it_is_written() {
    let mount = Mount::with_tables();
    put(&*mount.db, "Flat", r#"{"id":"a","x":1}"#);
    let path = mount.path().join("Flat/items/a.json");
    let size = || fs::metadata(&path).map(|stat| stat.size()).ok();
    assert_eq!(size(), Some("{\"id\":\"a\",\"x\":1}\n".len() as u64));
    let cost = cost_of_looks(&mount, &path);
    assert!(cost < 30, "{cost} requests for 100 looks");
    put(&*mount.db, "Flat", r#"{"id":"a","x":1234567}"#);
    assert_eq!(size(), Some("{\"id\":\"a\",\"x\":1234567}\n".len() as u64));
}
