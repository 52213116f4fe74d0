//! Many programs on the same items of a real mount at once.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::support::mounted;
use crate::support::mounted::{Mount, on_disk, put};
use crate::support::wait::until_ok;

/// A guard that sets the flag when the test's writers are done or have failed.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn item(writer: usize, round: usize) -> String {
    format!(
        "{{\"writer\":{writer},\"round\":{round},\"pad\":\"{}\"}}\n",
        "x".repeat(1 + round * 37 % 3_000)
    )
}

/// Replaces an item in the ways of programs.
fn replace(directory: &Path, name: &str, writer: usize, round: usize) -> std::io::Result<()> {
    let (path, text) = (directory.join(name), item(writer, round));
    match round % 3 {
        0 => fs::write(path, text),
        1 => {
            let temporary = directory.join(format!(".{name}.{writer}"));
            fs::write(&temporary, text)?;
            fs::rename(temporary, path)
        }
        _ => {
            let mut file = fs::OpenOptions::new()
                .write(true)
                .truncate(true)
                .create(true)
                .open(path)?;
            for piece in text.as_bytes().chunks(700) {
                file.write_all(piece)?;
            }
            file.sync_all()
        }
    }
}

/// Checks that the text is a whole item.
fn check(text: &str, path: &Path) {
    let parsed: serde_json::Value = serde_json::from_str(text)
        .unwrap_or_else(|error| panic!("{}: {error}: {text}", path.display()));
    let round = usize::try_from(parsed["round"].as_u64().unwrap()).unwrap();
    assert_eq!(
        parsed["pad"].as_str().unwrap().len(),
        1 + round * 37 % 3_000,
        "{}",
        path.display()
    );
}

#[test]
fn readers_always_find_a_whole_item_while_writers_replace_it() {
    let data = tempfile::tempdir().unwrap();
    let db = on_disk(data.path());
    mounted::create_table(&*db, mounted::ORDERS);
    for name in ["a", "b", "c"] {
        put(
            &*db,
            "Orders",
            &format!(r#"{{"pk":"u1","sk":"{name}","writer":0,"round":0,"pad":"x"}}"#),
        );
    }
    let mount = Mount::of(db);
    let directory = mount.path().join("Orders/items/u1");
    let (stop, reads) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    thread::scope(|scope| {
        let _stop = Stop(Arc::clone(&stop));
        for reader in 0..3 {
            let (directory, stop, reads) = (&directory, Arc::clone(&stop), Arc::clone(&reads));
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let path = directory.join(format!("{}.json", ["a", "b", "c"][reader]));
                    let mut text = String::new();
                    let mut file = fs::File::open(&path)
                        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                    file.read_to_string(&mut text).unwrap();
                    check(&text, &path);
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let listed = Arc::clone(&stop);
        let (lister_directory, names) = (
            &directory,
            BTreeSet::from(["a.json", "b.json", "c.json"].map(PathBuf::from)),
        );
        scope.spawn(move || {
            while !listed.load(Ordering::Relaxed) {
                let found: Vec<PathBuf> = fs::read_dir(lister_directory)
                    .unwrap()
                    .map(|e| e.unwrap().file_name().into())
                    .collect();
                assert_eq!(found.iter().cloned().collect::<BTreeSet<_>>(), names);
                assert_eq!(found.len(), names.len());
            }
        });
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let directory = &directory;
                scope.spawn(move || {
                    for round in 0..120 {
                        let name = ["a.json", "b.json", "c.json"][(round + writer) % 3];
                        // The readers are threads of this very process, which may have read a
                        // version that another writer replaced since.
                        while let Err(error) = replace(directory, name, writer, round) {
                            assert_eq!(
                                error.kind(),
                                ErrorKind::StaleNetworkFileHandle,
                                "{name}: {error}"
                            );
                        }
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
    });
    assert!(reads.load(Ordering::Relaxed) > 0);
    assert!(
        ddbfs::engine::check::check(mount.local.engine())
            .unwrap()
            .is_clean()
    );
    mount.end();
}

#[test]
fn a_listing_shows_what_stays_once_while_items_come_and_go() {
    let mount = Mount::with_tables();
    for number in 0..3_000 {
        put(
            &*mount.db,
            "Orders",
            &format!(r#"{{"pk":"u1","sk":"stay-{number:05}"}}"#),
        );
        put(
            &*mount.db,
            "Flat",
            &format!(r#"{{"id":"stay-{number:05}"}}"#),
        );
    }
    let stop = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        let _stop = Stop(Arc::clone(&stop));
        for directory in ["Orders/items/u1", "Flat/items"] {
            let (path, stop) = (mount.path().join(directory), Arc::clone(&stop));
            scope.spawn(move || {
                let mut number = 0_u32;
                while !stop.load(Ordering::Relaxed) {
                    number = (number * 7 + 11) % 2_999;
                    let path = path.join(format!("stay-{number:05}x.json"));
                    fs::write(&path, "{}").unwrap();
                    if !number.is_multiple_of(3) {
                        fs::remove_file(&path).unwrap();
                    }
                }
            });
        }
        for directory in ["Orders/items/u1", "Flat/items"] {
            for _ in 0..5 {
                let names = fs::read_dir(mount.path().join(directory)).unwrap();
                let names: Vec<String> = names
                    .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                    .collect();
                let stayed: Vec<&String> = names
                    .iter()
                    .filter(|name| !name.ends_with("x.json"))
                    .collect();
                assert_eq!(stayed.len(), 3_000);
                assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
            }
        }
    });
    mount.end();
}

#[test]
fn exclusive_creation_has_one_winner() {
    let mount = Mount::with_tables();
    let path = mount.path().join("Flat/items");
    for round in 0..20 {
        let won = AtomicUsize::new(0);
        thread::scope(|scope| {
            for writer in 0..4 {
                let (path, won) = (path.join(format!("k{round}.json")), &won);
                scope.spawn(move || {
                    let file = fs::OpenOptions::new()
                        .write(true)
                        .create_new(true)
                        .open(path);
                    if let Ok(mut file) = file
                        && file
                            .write_all(format!("{{\"writer\":{writer}}}").as_bytes())
                            .is_ok()
                    {
                        won.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(won.load(Ordering::Relaxed), 1);
    }
    mount.end();
}

#[test]
fn rm_r_of_a_large_collection_is_quiet_and_complete() {
    let mount = Mount::with_tables();
    for number in 0..3_000 {
        put(
            &*mount.db,
            "Orders",
            &format!(r#"{{"pk":"u1","sk":"{number:05}","status":"open","created":"1"}}"#),
        );
    }
    mount.sh("rm -r Orders/items/u1").ok();
    assert_eq!(
        mount.sh("ls Orders/items Orders/gsi/by-status/items").ok(),
        "Orders/gsi/by-status/items:\n\nOrders/items:\n"
    );
    mount.end();
}

#[test]
fn find_gives_its_memory_back() {
    let mount = Mount::with_tables();
    for number in 0..2_000 {
        put(
            &*mount.db,
            "Orders",
            &format!(r#"{{"pk":"u{number}","sk":"1"}}"#),
        );
    }
    mount.sh("find Orders -type f -size +0 > /dev/null").ok();
    assert!(mount.view().known_inodes() > 4_000);
    let view = mount.view().clone();
    // Unmounting makes the kernel forget; drop_caches would affect the whole machine.
    let dropped = fs::write("/proc/sys/vm/drop_caches", "2");
    if dropped.is_ok() {
        until_ok("the kernel forgets", || match view.known_inodes() {
            ..100 => Ok(()),
            known => Err(known.to_string()),
        });
    }
    mount.end();
}
