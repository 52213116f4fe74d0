//! A real mount driven by bash and coreutils.

use crate::support::mounted;
use crate::support::mounted::{FLAT, Mount, create_table, get, put, s};

#[test]
fn a_mount_shows_tables_items_and_indexes() {
    let mount = Mount::with_tables();
    put(
        &*mount.db,
        "Orders",
        r#"{"pk":"u1","sk":"o1","status":"open","created":"2024-01-01","total":3,"x":1}"#,
    );
    assert_eq!(mount.sh("ls").ok(), "Flat\nOrders\nREADME.md\n");
    assert_eq!(
        mount.sh("ls -U Orders Orders/items/u1").ok(),
        "Orders:\nschema.json\nstats.json\nitems\ngsi\nlsi\npartitions\nqueries\n\nOrders/items/u1:\no1.json\n"
    );
    let line = "{\"pk\":\"u1\",\"sk\":\"o1\",\"created\":\"2024-01-01\",\"status\":\"open\",\"total\":3,\"x\":1}\n";
    assert_eq!(mount.sh("cat Orders/items/u1/o1.json").ok(), line);
    let entry = "Orders/gsi/by-status/items/open/2024-01-01,u1,o1";
    assert_eq!(
        mount.sh(&format!("cat {entry}.json")).ok(),
        "{\"status\":\"open\",\"created\":\"2024-01-01\",\"pk\":\"u1\",\"sk\":\"o1\",\"total\":3}\n"
    );
    assert_eq!(
        mount
            .sh(&format!("cat {entry}.base; readlink {entry}.base"))
            .ok(),
        format!("{line}../../../../items/u1/o1.json\n")
    );
    assert_eq!(
        mount.sh("find . -not -path '*/partitions/*' | wc -l").ok(),
        "27\n"
    );
    mount.end();
}

#[test]
fn writing_a_file_puts_an_item_and_a_bad_one_fails_in_write() {
    let mount = Mount::with_tables();
    mount.sh(r#"mkdir -p Orders/items/u9 && echo '{"status":"open","n":1}' > Orders/items/u9/o1.json"#).ok();
    assert_eq!(
        get(&*mount.db, "Orders", r#"{"pk":"u9","sk":"o1"}"#)
            .unwrap()
            .get("status"),
        Some(&s("open"))
    );
    assert!(
        mount
            .sh(r"echo '{bad' > Orders/items/u9/o2.json")
            .failed()
            .contains("Invalid argument")
    );
    assert_eq!(mount.sh("ls Orders/items/u9").ok(), "o1.json\n");
    let last =
        mount.sh(r#"echo '{"status":open}' > Orders/items/u9/o1.json || cat .ddb/errors/last"#);
    assert!(
        last.out.starts_with(
            "write Orders/items/u9/o1.json: EINVAL ValidationException\n  {\"status\":open}\n"
        ),
        "{last:#?}"
    );
    assert_eq!(mount.sh_in_new_session("cat .ddb/errors/last").ok(), "");
    mount
        .sh("jq -c '.n+=1' Orders/items/u9/o1.json > Orders/items/u9/o1.json")
        .ok();
    assert_eq!(mount.sh("jq .n Orders/items/u9/o1.json").ok(), "2\n");
    mount.sh("rm -r Orders/items/u9").ok();
    assert_eq!(mount.sh("ls Orders/items").ok(), "");
    mount.end();
}

#[test]
fn editors_and_copies_put_one_item() {
    let mount = Mount::with_tables();
    put(
        &*mount.db,
        "Orders",
        r#"{"pk":"u1","sk":"o1","status":"open"}"#,
    );
    mount
        .sh(r#"sed -i.bak 's/"open"/"closed"/' Orders/items/u1/*.json"#)
        .ok();
    assert_eq!(
        mount.sh("jq -r .status Orders/items/u1/o1.json").ok(),
        "closed\n"
    );
    mount
        .sh("cp Orders/items/u1/o1.json Orders/items/u1/o2.json")
        .ok();
    mount
        .sh("cp --backup Orders/items/u1/o1.json Orders/items/u1/o2.json")
        .ok();
    mount
        .sh("mv Orders/items/u1/o2.json Orders/items/u1/o3.json")
        .ok();
    assert_eq!(mount.sh("ls Orders/items/u1").ok(), "o1.json\no3.json\n");
    assert_eq!(mount.sh("jq -r .sk Orders/items/u1/o3.json").ok(), "o3\n");
    mount
        .sh("touch Orders/items/u1/new.json; touch Orders/items/u1/o1.json")
        .ok();
    assert_eq!(
        mount.sh("cat Orders/items/u1/new.json").ok(),
        "{\"pk\":\"u1\",\"sk\":\"new\"}\n"
    );
    mount.end();
}

#[test]
fn a_table_is_made_by_mkdir_and_its_schema_and_cloned_by_tar() {
    let mount = Mount::with_tables();
    put(
        &*mount.db,
        "Orders",
        r#"{"pk":"u1","sk":"o1","status":"open","created":"1","total":3}"#,
    );
    mount.sh("mkdir Draft && ls Draft").ok();
    mount
        .sh("cat Draft/schema.json > /dev/null && rmdir Draft")
        .ok();
    mount.sh("mkdir 'Pairs@pk:S,sk:N' && ls Pairs").ok();
    mount.sh("mkdir Copy && sed 's/\"Orders\"/\"Copy\"/' Orders/schema.json > Copy/schema.json && cp -r Orders/items Copy/").ok();
    assert_eq!(
        mount.sh("cat Copy/gsi/by-status/items/open/*").ok(),
        mount.sh("cat Orders/gsi/by-status/items/open/*").ok()
    );
    let tar = mount.sh("mkdir Again && tar -C Orders -cf - schema.json items | tar -C Again -xf - && ls Again/items/u1");
    assert_eq!(tar.ok(), "o1.json\n");
    assert!(
        mount
            .sh("rm -r Orders")
            .failed()
            .contains("Operation not permitted")
    );
    assert_eq!(mount.sh("ls Orders/items/u1").ok(), "o1.json\n");
    assert!(mount.sh("rmdir Orders").failed().contains("not empty"));
    mount.sh("rm -r Orders/items/u1 && rmdir Orders").ok();
    mount.end();
}

#[test]
fn common_programs_run_over_the_whole_mount_with_status_0() {
    let mount = Mount::of({
        let db = mounted::memory();
        mounted::load_samples(&*db);
        db
    });
    for script in [
        "find . > /dev/null",
        "du -s . > /dev/null",
        "grep -r nosuchword . ; test $? = 1",
        "tar -cf /dev/null .",
        "tar -cf - . | tar -tf - > /dev/null",
        "ls -lRa . > /dev/null",
        "find . -type f -print0 | xargs -0 cat > /dev/null",
        "find . -type f -print0 | xargs -0 stat > /dev/null",
        "diff -r . .",
        "cp -a Thread/items $(mktemp -d)",
        "test $(stat -c %i Thread/schema.json) -lt $(stat -c %i Thread/stats.json)",
        "find . -printf '%i %p\\n' | sort > /tmp/ddbfs-$$-a; find . -print0 | xargs -0 stat -c '%i %n' | sort | cmp - /tmp/ddbfs-$$-a; e=$?; rm /tmp/ddbfs-$$-a; exit $e",
        "for f in $(find . -type f -not -name '* *'); do test $(stat -c %s $f) = $(cat $f | wc -c) || echo $f; done",
        "df . > /dev/null; test $(stat -f -c %l .) = 255; test $(stat -f -c %c,%d .) = 0,0",
    ] {
        let ran = mount.sh(script);
        assert!(
            ran.status == 0 && ran.err.is_empty() && ran.out.is_empty(),
            "{script}: {ran:#?}"
        );
    }
    mount.end();
}

#[test]
fn queries_are_files_and_folders() {
    let mount = Mount::with_tables();
    for n in 1..=5 {
        put(
            &*mount.db,
            "Orders",
            &format!(r#"{{"pk":"u1","sk":"o{n}","status":"open","created":"{n}","total":{n}}}"#),
        );
    }
    assert_eq!(
        mount
            .sh("cat Orders/query/@pk=u1/@sk.ge=o4/items.ndjson | jq -r .total")
            .ok(),
        "4\n5\n"
    );
    assert_eq!(
        mount
            .sh("cat Orders/query/@pk=u1/desc/limit=2/* | jq -r .sk")
            .ok(),
        "o5\no4\n"
    );
    assert_eq!(
        mount
            .sh("cat Orders/gsi/by-status/query/@pk=open/count")
            .ok(),
        "5\n"
    );
    assert_eq!(
        mount.sh("ls Orders/query/@pk=u1/desc/limit=2").ok(),
        "000001,o5.json\n000002,o4.json\n"
    );
    mount
        .sh("cat Orders/query/@pk=u1/@sk.lt=o3/keys | (cd Orders && xargs -r rm)")
        .ok();
    assert_eq!(
        mount.sh("ls Orders/items/u1").ok(),
        "o3.json\no4.json\no5.json\n"
    );
    let wrong = mount.sh("cat Orders/query/@pkk=u1/count || cat .ddb/errors/last");
    assert!(
        wrong.err.contains("Invalid argument")
            && wrong
                .out
                .starts_with("lookup Orders/query/@pkk=u1: EINVAL\n"),
        "{wrong:#?}"
    );
    mount.end();
}

#[test]
fn index_and_derived_files_are_read_only() {
    let mount = Mount::with_tables();
    put(
        &*mount.db,
        "Orders",
        r#"{"pk":"u1","sk":"o1","status":"open","created":"1"}"#,
    );
    let entry = "Orders/gsi/by-status/items/open/1,u1,o1.json";
    assert_eq!(mount.sh(&format!("stat -c %a {entry}")).ok(), "444\n");
    for script in [
        format!("echo '{{}}' > {entry}"),
        format!("rm {entry}"),
        "echo x > Orders/stats.json".to_owned(),
        "touch Orders/gsi/by-status/items/open/new.json".to_owned(),
        "mkdir Orders/gsi/by-status/items/new".to_owned(),
        "echo x > Orders/query/@pk=u1/count".to_owned(),
    ] {
        assert!(
            mount.sh(&script).failed().contains("Read-only file system"),
            "{script}: {:#?}",
            mount.sh(&script)
        );
    }
    assert!(
        mount
            .sh("mv Orders Others")
            .failed()
            .contains("Operation not permitted")
    );
    assert!(
        mount
            .sh("rm Orders/schema.json")
            .failed()
            .contains("Operation not permitted")
    );
    mount.end();
}

#[test]
fn nothing_is_mounted_over_a_live_mount() {
    use ddbfs::fs::View;
    use ddbfs::fs::view::ViewOptions;
    use ddbfs::fuse::{MountOptions, MountpointState, mount, state};

    let first = Mount::with_tables();
    assert_eq!(state(first.path()).unwrap(), MountpointState::Live);
    let view = View::new(mounted::memory(), ViewOptions::default());
    let error = mount(&MountOptions::new(first.path()), view.clone(), || {}).unwrap_err();
    assert!(
        error.to_string().contains("mounted here already"),
        "{error}"
    );
    view.shut_down();
    let path = first.path().to_owned();
    first.sh("ls").ok();
    first.end();
    assert!(state(&path).is_err() || state(&path).unwrap() == MountpointState::Nothing);
}

#[test]
fn tables_of_the_api_with_the_names_of_our_own_files_are_shown_by_other_names() {
    let mount = Mount::with_tables();
    for (name, file) in [(".ddb", "%2Eddb"), ("README.md", "%52EADME.md")] {
        create_table(&*mount.db, &FLAT.replace("Flat", name));
        assert!(
            mount.sh("ls").ok().lines().any(|line| line == file),
            "{}",
            mount.sh("ls").ok()
        );
        mount
            .sh(&format!(
                "echo '{{\"v\":1}}' > {file}/items/a.json; test \"$(cat {file}/items/a.json)\" = '{{\"id\":\"a\",\"v\":1}}'"
            ))
            .ok();
        assert_eq!(get(&*mount.db, name, r#"{"id":"a"}"#).unwrap().0.len(), 2);
        assert!(
            mount
                .sh(&format!("cat {file}/describe.json"))
                .ok()
                .contains(&format!("\"{name}\""))
        );
        // The help with the name itself is still served.
        mount.sh("grep -q ddbfs README.md; ls .ddb/help").ok();
        mount
            .sh(&format!("rm {file}/items/a.json; rmdir {file}"))
            .ok();
        assert!(!mount.sh("ls").ok().contains(file));
    }
    assert!(mount.sh("mkdir %2EDDB").status != 0);
}
