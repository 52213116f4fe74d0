//! Listings with attributes: the entries of READDIRPLUS while items come, change and go, without a
//! mount and through one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ddbfs::database::Browse;
use ddbfs::fs::node::attr::Attr;
use ddbfs::fs::open::dirent::Dirent;
use ddbfs::model::TableName;
use ddbfs::model::api::DeleteItemRequest;
use serde_json::Value;

use crate::support::kernel::Process;
use crate::support::mounted::{FLAT, Mount, ORDERS, put};
use crate::support::seeded::Numbers;

/// A directory, and the place where its items are stored.
struct Folder {
    path: &'static str,
    table: &'static str,
    /// Returns the members of an item's key, by its name.
    key: fn(&str) -> String,
}

const FOLDERS: [Folder; 2] = [
    Folder {
        path: "Flat/items",
        table: "Flat",
        key: |name| format!(r#""id":"{name}""#),
    },
    Folder {
        path: "Orders/items/u1",
        table: "Orders",
        key: |name| format!(r#""pk":"u1","sk":"{name}""#),
    },
];

impl Folder {
    /// Puts an item; returns the length of its file.
    fn put(&self, db: &dyn Browse, name: &str, fill: usize) -> u64 {
        let json = format!("{{{},\"text\":\"{}\"}}", (self.key)(name), "x".repeat(fill));
        put(db, self.table, &json);
        json.len() as u64 + 1
    }

    fn delete(&self, db: &dyn Browse, name: &str) {
        let key = ddbfs::codec::plain_json::parse(format!("{{{}}}", (self.key)(name)).as_bytes())
            .unwrap();
        db.delete_item(DeleteItemRequest::new(
            TableName::new(self.table).unwrap(),
            key,
        ))
        .unwrap();
    }
}

/// A name, its offset and, if the kernel is to know its node, its size and true if it may be cached.
type Given = (String, u64, Option<(u64, bool)>);

/// Returns the entries of one READDIRPLUS with space for so many.
fn plus(p: &Process, handle: u64, offset: u64, room: usize) -> Vec<Given> {
    let mut given = Vec::new();
    let mut emit = |entry: Dirent<'_>, offset: u64, node: Option<(u64, &Attr)>| {
        if given.len() == room {
            return true;
        }
        let node = node.map(|(_, attr)| (attr.size, !attr.ttl.attr.is_zero()));
        given.push((entry.name.to_owned(), offset, node));
        false
    };
    p.view.readdirplus(handle, offset, &mut emit).unwrap();
    given
}

/// Returns the names of one READDIR with space for so many, each with its offset.
fn names(p: &Process, handle: u64, offset: u64, room: usize) -> Vec<(String, u64)> {
    let mut given = Vec::new();
    let mut emit = |entry: Dirent<'_>, offset: u64| {
        if given.len() == room {
            return true;
        }
        given.push((entry.name.to_owned(), offset));
        false
    };
    p.view.readdir(handle, offset, &mut emit).unwrap();
    given
}

fn is_dot(name: &str) -> bool {
    matches!(name, "." | "..")
}

#[test]
fn items_are_told_as_they_are_while_they_change_and_each_that_stays_once() {
    for (folder, seed) in FOLDERS.iter().zip(1..) {
        let p = Process::new(&[FLAT, ORDERS]);
        p.view.kernel_cache().hold_lease().unwrap();
        let mut numbers = Numbers(seed);
        let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
        let name_of = |number: u64| format!("n{number:04}");
        for number in 0..1_500 {
            sizes.insert(
                format!("{}.json", name_of(number)),
                folder.put(&*p.db, &name_of(number), 1),
            );
        }
        let ino = p.stat(folder.path).unwrap().ino;
        let handle = p.view.opendir(ino, true).unwrap();
        let (before, mut nodes) = (p.view.known_inodes(), 0);
        let (mut seen, mut offset) = (BTreeSet::new(), 0);
        // The even ones stay, and change; the odd ones come and go.
        loop {
            let room = 3 + numbers.below(120) as usize;
            if numbers.percent(30) {
                for (name, last) in names(&p, handle, offset, room) {
                    assert!(seen.insert(name));
                    offset = last;
                }
            }
            let given = plus(&p, handle, offset, room);
            let Some((_, last, ..)) = given.last() else {
                break;
            };
            offset = *last;
            for (name, _, node) in given.into_iter().filter(|(name, ..)| !is_dot(name)) {
                assert!(seen.insert(name.clone()), "{name}");
                if let Some((size, is_kept)) = node {
                    assert_eq!(sizes.get(&name), Some(&size), "{name}");
                    assert!(is_kept, "{name}");
                    nodes += 1;
                }
            }
            for _ in 0..numbers.below(30) {
                let number = numbers.below(1_500);
                let name = format!("{}.json", name_of(number));
                if number.is_multiple_of(2) || !sizes.contains_key(&name) {
                    sizes.insert(
                        name,
                        folder.put(&*p.db, &name_of(number), numbers.below(90) as usize),
                    );
                } else {
                    folder.delete(&*p.db, &name_of(number));
                    sizes.remove(&name);
                }
            }
        }
        let stayed = (0..1_500)
            .step_by(2)
            .map(|number| format!("{}.json", name_of(number)));
        assert!(
            stayed.into_iter().all(|name| seen.contains(&name)),
            "{}",
            folder.path
        );
        assert_eq!(
            p.view.known_inodes() - before,
            nodes,
            "what was not given is not known"
        );
        assert!(nodes > 200, "{nodes}");
        p.view.releasedir(handle);
    }
}

#[test]
fn an_item_that_is_open_for_writing_or_was_deleted_is_not_told_for_long() {
    let p = Process::new(&[ORDERS]);
    p.view.kernel_cache().hold_lease().unwrap();
    for name in ["a", "c"] {
        FOLDERS[1].put(&*p.db, name, 1);
    }
    let ino = p.stat(FOLDERS[1].path).unwrap().ino;
    let list = || {
        let handle = p.view.opendir(ino, false).unwrap();
        let given = plus(&p, handle, 2, 9)
            .into_iter()
            .map(|(name, _, node)| (name, node.is_some_and(|(_, is_kept)| is_kept)))
            .collect::<Vec<_>>();
        p.view.releasedir(handle);
        given
    };
    p.unlink("Orders/items/u1/c.json").unwrap();
    // A reader has the version that is told; what a writer has open may become another.
    for (write, is_kept) in [(false, true), (true, false)] {
        let flags = ddbfs::fs::view::OpenFlags {
            write,
            ..Default::default()
        };
        let open = p.open("Orders/items/u1/a.json", flags).unwrap();
        assert_eq!(list(), [("a.json".to_owned(), is_kept)]);
        p.close(open).unwrap();
    }
}

#[test]
fn a_program_that_reads_names_only_makes_the_kernel_know_few_nodes() {
    let p = Process::new(&[ORDERS]);
    p.view.kernel_cache().hold_lease().unwrap();
    for number in 0..240 {
        let json = format!(r#"{{"pk":"u{}","sk":"o{number}"}}"#, number / 8);
        put(&*p.db, "Orders", &json);
    }
    let told = |folder: u64, walks: bool| {
        let ino = p.stat(&format!("Orders/items/u{folder}")).unwrap().ino;
        let handle = p.view.opendir(ino, walks).unwrap();
        let (mut nodes, mut names, mut offset) = (0, 0, 0);
        while let given = plus(&p, handle, offset, 99)
            && let Some((_, last, _)) = given.last()
        {
            offset = *last;
            names += given.len();
            nodes += given.iter().filter(|(.., node)| node.is_some()).count();
        }
        assert_eq!(names, 2 + 8);
        p.view.releasedir(handle);
        nodes
    };
    let nodes: Vec<usize> = (0..30).map(|folder| told(folder, false)).collect();
    assert_eq!(nodes[..19], [8; 19]);
    assert_eq!(nodes[19..], [[7].as_slice(), &[0; 10]].concat());
    p.stat("Orders/items/u1/o9.json").unwrap();
    assert_eq!([8, 9].map(|folder| told(folder, false)), [8, 8]);
    // Another thread has a credit of its own, a longer one if it walks a tree.
    let other = p.of_process(std::process::id() + 1);
    let items = other.stat("Orders/items").unwrap().ino;
    let handle = other.view.opendir(items, true).unwrap();
    let given = plus(&other, handle, 2, 99);
    assert!(given.len() == 30 && given.iter().all(|(.., node)| *node == Some((0, true))));
    other.view.releasedir(handle);
}

#[test]
fn where_nothing_is_kept_only_names_are_given() {
    let p = Process::new(&[FLAT, ORDERS]);
    for number in 0..700 {
        FOLDERS[0].put(&*p.db, &format!("n{number}"), number);
    }
    for path in ["Flat/items", "Orders", ""] {
        let ino = p.stat(path).unwrap().ino;
        let handle = p.view.opendir(ino, true).unwrap();
        let before = p.view.known_inodes();
        let (mut all, mut offset) = (Vec::new(), 0);
        while let given = plus(&p, handle, offset, 99)
            && let Some((_, last, _)) = given.last()
        {
            offset = *last;
            assert!(given.iter().all(|(.., node)| node.is_none()), "{path}");
            all.extend(given.into_iter().map(|(name, ..)| name));
        }
        assert_eq!(p.view.known_inodes(), before, "{path}");
        p.view.releasedir(handle);
        assert_eq!(all[..2], [".", ".."], "{path}");
        assert_eq!(all[2..], p.list(path).unwrap(), "{path}");
    }
}

/// Returns the number of LOOKUP and GETATTR requests so far.
fn asked(mount: &Mount) -> u64 {
    let stats: Value =
        serde_json::from_slice(&fs::read(mount.path().join(".ddb/stats.json")).unwrap()).unwrap();
    stats["kernel"]["asked"].as_u64().unwrap()
}

/// Returns names and sizes, with a stat after each name.
fn sizes(directory: &Path) -> BTreeMap<String, u64> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    // Names removed since they were listed are left out.
    let sized = entries.filter_map(|entry| {
        Some((
            entry.file_name().into_string().unwrap(),
            entry.metadata().ok()?.size(),
        ))
    });
    sized.collect()
}

#[test]
fn a_listing_brings_the_attributes_of_its_items() {
    const ITEMS: usize = 6_000;
    let mount = Mount::with_tables();
    for folder in &FOLDERS {
        let expected: BTreeMap<String, u64> = (0..ITEMS)
            .map(|n| {
                (
                    format!("n{n}.json"),
                    folder.put(&*mount.db, &format!("n{n}"), n % 50),
                )
            })
            .collect();
        let directory = mount.path().join(folder.path);
        let before = asked(&mount);
        let mut found = sizes(&directory);
        let asked = asked(&mount) - before;
        found.retain(|name, _| expected.contains_key(name));
        assert!(
            found == expected,
            "{}: {} of {}",
            folder.path,
            found.len(),
            expected.len()
        );
        assert!(asked < ITEMS as u64 / 2, "{asked} requests");
    }
}

/// A folder that was listed has its attributes in the kernel, until an item in it is written or
/// deleted by any front end.
#[test]
fn a_listing_brings_the_attributes_of_its_folders_which_a_commit_ends() {
    let mount = Mount::with_tables();
    let folders = mount.path().join("Orders/items");
    for pk in 0..100 {
        put(
            &*mount.db,
            "Orders",
            &format!(r#"{{"pk":"f{pk}","sk":"a"}}"#),
        );
    }
    let of_first = |sk: &str| {
        put(
            &*mount.db,
            "Orders",
            &format!(r#"{{"pk":"f0","sk":"{sk}"}}"#),
        );
        fs::metadata(folders.join("f0/a.json")).unwrap();
        fs::metadata(folders.join("f0")).unwrap()
    };
    // The first listing shows that this thread looks at what it lists.
    sizes(&folders);
    let before = asked(&mount);
    let mut looks = 0;
    for _ in 0..10 {
        looks += sizes(&folders).len() as u64;
    }
    let requests = asked(&mount) - before;
    assert!(requests < looks / 2, "{requests} requests for {looks}");
    for number in 0..20 {
        sizes(&folders);
        let (old, new) = (
            fs::metadata(folders.join("f0")).unwrap(),
            of_first(&format!("b{number}")),
        );
        let time = |stat: &fs::Metadata| (stat.mtime(), stat.mtime_nsec());
        let newest = fs::metadata(folders.join(format!("f0/b{number}.json"))).unwrap();
        assert_eq!(time(&new), time(&newest));
        assert!(time(&old) <= time(&new) && old.ino() == new.ino());
        let path = folders.join(format!("f{}", number + 1));
        let key = ddbfs::codec::plain_json::parse(
            format!(r#"{{"pk":"f{}","sk":"a"}}"#, number + 1).as_bytes(),
        );
        let table = TableName::new("Orders").unwrap();
        fs::metadata(&path).unwrap();
        mount
            .db
            .delete_item(DeleteItemRequest::new(table, key.unwrap()))
            .unwrap();
        assert!(fs::metadata(&path).is_err(), "its last item is gone");
    }
}

#[test]
fn a_listing_is_true_while_items_change_and_go() {
    const ITEMS: u64 = 3_000;
    let mount = Mount::with_tables();
    let (folder, is_over) = (&FOLDERS[1], AtomicBool::new(false));
    for n in 0..ITEMS {
        folder.put(&*mount.db, &format!("n{n}"), 0);
    }
    let empty = folder.put(&*mount.db, "n0", 0);
    let directory = mount.path().join(folder.path);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut numbers = Numbers(7);
            while !is_over.load(Ordering::Relaxed) {
                let n = numbers.below(ITEMS);
                match n % 3 {
                    0 => {
                        folder.put(&*mount.db, &format!("n{n}"), numbers.below(100) as usize);
                    }
                    1 => folder.delete(&*mount.db, &format!("n{n}")),
                    // These stay as they are.
                    _ => {}
                }
            }
        });
        for _ in 0..5 {
            let found = sizes(&directory);
            for n in (2..ITEMS).step_by(3) {
                let size = empty + n.to_string().len() as u64 - 1;
                assert_eq!(found.get(&format!("n{n}.json")), Some(&size), "n{n}");
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    // Nothing changes any more: the kernel's cache must be the present content.
    for _ in 0..2 {
        for (name, size) in sizes(&directory) {
            let text = fs::read(directory.join(&name)).unwrap();
            assert_eq!(text.len() as u64, size, "{name}");
        }
    }
}

/// Checks `telldir` of every name, changes, `seekdir` to each: by a directory that was open all the
/// time, and by one that is opened later. A listing that removes as it goes, as `rm -r` and `find
/// -delete` do, leaves nothing.
#[test]
fn remembered_offsets_lead_to_the_same_names_after_changes() {
    let mount = Mount::with_tables();
    let count = 2_600_u32;
    for number in 0..count {
        put(
            &*mount.db,
            "Orders",
            &format!(r#"{{"pk":"u1","sk":"k{number:05}"}}"#),
        );
        put(&*mount.db, "Flat", &format!(r#"{{"id":"k{number:05}"}}"#));
    }
    for folder in ["Orders/items/u1", "Flat/items"] {
        let script = r#"
my $folder = shift;
sub names { my ($d, @got) = @_; while (defined(my $e = readdir $d)) { push @got, [$e, telldir $d] } @got }
opendir(my $d, $folder) or die; my @all = grep { $_->[0] !~ /^\.+$/ } names($d);
my (%gone, @left);
for my $i (0 .. $#all) { if ($i % 3 == 1 || ($i > 400 && $i < 1900)) { $gone{$all[$i][0]} = 1; unlink "$folder/$all[$i][0]" or die } }
for (1 .. 300) { open(my $f, '>', "$folder/n$_.json") or die; print $f "{}\n"; close $f or die }
rewinddir $d; names($d); opendir(my $later, $folder) or die; my $wrong = 0;
for (my $i = 0; $i < @all; $i += 11) {
    my $j = $i + 1; $j++ while $j < @all && $gone{$all[$j][0]};
    for my $dir ($gone{$all[$i][0]} ? $d : ($d, $later)) {
        seekdir $dir, $all[$i][1];
        my $e; do { $e = readdir $dir } while defined $e && $e =~ /^n/;
        $wrong++ if ($j < @all ? $all[$j][0] : 'end') ne (defined $e ? $e : 'end');
    }
}
print scalar(@all), " $wrong\n";
"#;
        let path = mount.path().join(folder);
        let ran = std::process::Command::new("perl")
            .args(["-e", script])
            .arg(&path)
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&ran.stdout),
            format!("{count} 0\n"),
            "{folder}: {ran:?}"
        );
        mount
            .sh(&format!(
                "find {folder} -name 'k*' -delete && rm -r {folder}/* && ls {folder}"
            ))
            .ok();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0, "{folder}");
    }
}
