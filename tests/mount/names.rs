//! Names on a real mount: keys that look like other names, keys too long for a name, copies of
//! whole tables.

use crate::support::daemon::Mount;
use crate::support::wait::until;

/// A script that creates `Keys`, with indexes, by writing its schema.json, and puts `count` items
/// per key through the mount.
const KEYS: &str = r#"
mkdir Keys
cat > Keys/schema.json <<'END'
{"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
 "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"},
   {"AttributeName":"g","AttributeType":"S"}],
 "BillingMode":"PAY_PER_REQUEST",
 "GlobalSecondaryIndexes":[
   {"IndexName":"alone","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}},
   {"IndexName":"sorted","KeySchema":[{"AttributeName":"g","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
    "Projection":{"ProjectionType":"KEYS_ONLY"}}]}
END
long() { printf "%0$1d" 0 | tr 0 "$2"; }
put() { # pk sk, by the folder's shortened name where it has one
    mkdir -p "Keys/items/$1"
    echo "{\"g\":\"$2\"}" > "Keys/items/$1/$2.json"
}
for key in CVS RCS 4913 Thumbs.db folder.jpg x.json "$(long 230 k)"; do
    for sort in CVS 4913 x.json "$(long 230 s)" "$(long 240 s)"; do put "$key" "$sort"; done
done
"#;

/// A script that compares every listed name with its stat, over the whole mount.
const WALK: &str = r#"python3 - <<'END'
import os, stat
def walk(directory):
    for entry in os.scandir(directory):
        found = os.lstat(entry.path)
        assert entry.inode() == found.st_ino, entry.path
        assert entry.is_dir(follow_symlinks=False) == stat.S_ISDIR(found.st_mode), entry.path
        if entry.is_dir(follow_symlinks=False):
            walk(entry.path)
        elif entry.is_symlink():
            os.stat(entry.path)
        else:
            assert len(open(entry.path, 'rb').read()) == found.st_size, entry.path
walk('.')
END"#;

#[test]
fn every_listed_name_is_found_and_every_link_resolves() {
    let mount = Mount::empty();
    mount.ok(KEYS);
    mount.ok(WALK);
    let links = "for link in Keys/scan/* Keys/gsi/*/scan/* Keys/query/@pk=CVS/*; do cat \"$link\"; done | jq -r .pk | sort | uniq -c | awk '{print $1}' | sort -u";
    // Each of the 7 keys' 5 items once in the table's scan and once in each of the 2 indexes';
    // CVS's once more in its query.
    assert_eq!(mount.ok(links), "15\n20\n");
}

#[test]
fn a_table_with_any_keys_is_cloned_by_tar_cp_and_rsync() {
    let mount = Mount::empty();
    mount.ok(KEYS);
    let ways = [
        "mkdir COPY; tar -C Keys -cf ../keys.tar schema.json items; tar -C COPY -xf ../keys.tar",
        "mkdir COPY; cp -r Keys/schema.json Keys/items COPY/",
        "mkdir COPY; cp -a Keys/schema.json Keys/items COPY/",
        "mkdir COPY; rsync -aX Keys/schema.json Keys/items COPY/",
        "rsync -a Keys/schema.json Keys/items COPY/; rsync -a Keys/schema.json Keys/items COPY/",
    ];
    for (number, way) in ways.iter().enumerate() {
        let copy = format!("Copy{number}");
        mount.ok(&way.replace("COPY", &copy));
        mount.ok(&format!("diff -r Keys/items {copy}/items"));
        let scanned = mount.ok(&format!("cat {copy}/scan/count"));
        assert_eq!(scanned, "35\n", "{way}");
    }
}

#[test]
fn the_items_of_a_copy_are_counted_at_once() {
    let mount = Mount::empty();
    mount.ok(KEYS);
    mount.ok("mkdir Copy; cp -r Keys/schema.json Keys/items Copy/");
    assert_eq!(mount.ok("jq .items Copy/stats.json"), "35\n");
}

#[test]
fn folders_of_a_draft_stay_when_it_becomes_a_table() {
    let mount = Mount::empty();
    mount.ok(KEYS);
    // As rsync does when its two processes run ahead of each other.
    mount.ok("mkdir Late Late/items; for folder in Keys/items/*; do mkdir \"Late/items/${folder##*/}\"; done");
    mount.ok("cp Keys/schema.json Late/; diff <(ls Keys/items) <(ls Late/items)");
    mount.ok("cp -r Keys/items Late/; diff -r Keys/items Late/items");
}

#[test]
fn a_folder_with_a_long_key_can_be_made_listed_and_removed() {
    let mount = Mount::empty();
    mount.ok("mkdir 'Keys@pk:S,sk:S'; mkdir Keys/items/$(printf '%0240d' 7)");
    mount.ok(WALK);
    mount.ok("cd Keys/items; ls; rmdir *; test -z \"$(ls)\"");
    mount.ok("cd Keys/items; mkdir $(printf '%0240d' 7); echo '{}' > $(ls)/a.json; rm -r $(ls); test -z \"$(ls)\"");
}

#[test]
fn names_that_are_no_keys_are_refused_with_a_sentence() {
    let mount = Mount::empty();
    mount.ok("mkdir 'Numbers@pk:N,sk:N'; mkdir Numbers/items/4913");
    for script in [
        "mkdir Numbers/items/x",
        "echo '{}' > Numbers/items/4913/x.json",
    ] {
        assert!(mount.fails(script).contains("Invalid argument"), "{script}");
        let last = format!("({script}) 2> /dev/null; cat .ddb/errors/last");
        assert!(
            mount
                .ok(&last)
                .contains("no key of this table has this name"),
            "{script}"
        );
    }
    assert!(
        mount
            .fails("mkdir .git")
            .contains("Operation not permitted")
    );
    mount.ok("mkdir 'CVS@pk:S'; ls CVS/items; find . > /dev/null; touch -d 2001-01-01 Numbers/items/4913/1.json; cat Numbers/items/4913/01.json");
}

#[test]
fn a_rewrite_that_fails_keeps_the_item() {
    let mount = Mount::empty();
    mount.ok("mkdir 'Orders@pk:S'; cd Orders/items; echo '{\"n\":22}' > x.json; echo '{\"n\":22}' > y.json; echo '{n' > ../../../bad.json");
    mount.fails("cd Orders/items; sed -i.bak s/22/2x/ x.json");
    mount.fails("cd Orders/items; cp --backup ../../../bad.json y.json");
    // A delete is deferred, and executed with all earlier deferred ones.
    mount.ok("cd Orders/items; echo '{}' > last.json; mv last.json last.bak; echo flush > ../../.ddb/ctl");
    until("the last delete is carried out", || {
        let scratch = mount.ok("cat .ddb/scratch.ndjson");
        scratch
            .lines()
            .any(|line| line.contains("last.bak") && line.contains("\"parked\":true"))
    });
    mount.ok("rm Orders/items/last.bak");
    let after = mount.ok("cat Orders/items/*");
    assert_eq!(after, "{\"pk\":\"x\",\"n\":22}\n{\"pk\":\"y\",\"n\":22}\n");
    // A renamed item has the form of its old name.
    mount.ok("cd Orders/items; mv x.ddbjson x.bak; grep -q '\"N\":\"22\"' x.bak; mv x.bak x.ddbjson; cat x.json");
}

#[test]
fn the_veto_of_deletes_holds_for_every_thread_of_a_process() {
    let mount = Mount::empty();
    mount.ok("mkdir 'Orders@pk:S'; echo '{}' > Orders/items/x.json");
    let script = r#"python3 - <<'END'
import os, threading
def refused(call, path):
    try:
        call(path)
    except PermissionError:
        return
    os._exit(1)
refused(os.unlink, 'Orders/schema.json')
thread = threading.Thread(target=refused, args=(os.unlink, 'Orders/items/x.json'))
thread.start()
thread.join()
END
rm Orders/items/x.json"#;
    mount.ok(script);
}
