//! Tests of tables through the mount: definitions edited as files, plans, guards, clones and
//! restores, with real programs.

use crate::support::mounted::{FLAT, Mount, ORDERS, create_table, memory};
use crate::support::wait::until_ok;
use ddbfs::fs::view::ViewOptions;
use serde_json::Value;

const PROVISIONED: &str = r#"{
    "TableName": "Prov",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "N"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [{
        "IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": {"ReadCapacityUnits": 2, "WriteCapacityUnits": 2}}],
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
}"#;

fn tables() -> Mount {
    tables_with(ViewOptions::default())
}

fn tables_with(options: ViewOptions) -> Mount {
    let db = memory();
    for json in [ORDERS, FLAT, PROVISIONED] {
        create_table(&*db, json);
    }
    Mount::with(db, options)
}

/// A script that makes items with index entries, and empty folders.
const FILL: &str = "for c in u1 u2 u3; do mkdir -p Orders/items/$c; for n in 1 2 3 4; do
    echo '{\"status\":\"s'$n'\",\"created\":\"2024-0'$n'\",\"total\":'$n'}' > Orders/items/$c/$n.json; done; done
    for n in 1 2 3; do echo '{}' > Flat/items/$n.json; done";

/// Returns everything that is stored of a table, in one text.
fn contents(mount: &Mount, table: &str) -> String {
    let script = format!(
        "cd {table} && jq -S 'del(.TableName)' schema.json && find items gsi lsi -name '*.json' -path '*/items/*' | sort | xargs -d '\\n' tail -n +1"
    );
    mount.sh(&script).ok().to_owned()
}

fn described(mount: &Mount, table: &str) -> Value {
    serde_json::from_str::<Value>(mount.sh(&format!("cat {table}/describe.json")).ok()).unwrap()["Table"].clone()
}

#[test]
fn a_definition_is_changed_by_editing_its_file() {
    let mount = tables();
    let edits: &[(&str, &str, &str, Value)] = &[
        (
            "jq",
            "jq '.ProvisionedThroughput.ReadCapacityUnits=9' Prov/schema.json > Prov/schema.json",
            "/ProvisionedThroughput/ReadCapacityUnits",
            9.into(),
        ),
        (
            "sed -i",
            "sed -i 's/\"ReadCapacityUnits\": 9/\"ReadCapacityUnits\": 11/' Prov/schema.json",
            "/ProvisionedThroughput/ReadCapacityUnits",
            11.into(),
        ),
        (
            "vim",
            "vim -Nu NONE -n -es '+%s/\"ReadCapacityUnits\": 11/\"ReadCapacityUnits\": 12/' +wq Prov/schema.json",
            "/ProvisionedThroughput/ReadCapacityUnits",
            12.into(),
        ),
        (
            "cp",
            "t=$(mktemp -d); jq '.StreamSpecification={StreamEnabled:true,StreamViewType:\"NEW_IMAGE\"}' Prov/schema.json > $t/s; cp $t/s Prov/schema.json",
            "/StreamSpecification/StreamViewType",
            "NEW_IMAGE".into(),
        ),
        (
            "rsync",
            "t=$(mktemp -d); jq '.DeletionProtectionEnabled=true' Prov/schema.json > $t/schema.json; rsync -a $t/schema.json Prov/",
            "/DeletionProtectionEnabled",
            true.into(),
        ),
        (
            "tee",
            "s=$(jq '.TableClass=\"STANDARD_INFREQUENT_ACCESS\"' Prov/schema.json); echo \"$s\" | tee Prov/schema.json > /dev/null",
            "/TableClassSummary/TableClass",
            "STANDARD_INFREQUENT_ACCESS".into(),
        ),
        (
            "python",
            "python3 -c 'import json; d=json.load(open(\"Prov/schema.json\")); d[\"BillingMode\"]=\"PAY_PER_REQUEST\"; json.dump(d, open(\"Prov/schema.json\",\"w\"))'",
            "/BillingModeSummary/BillingMode",
            "PAY_PER_REQUEST".into(),
        ),
        (
            "mv",
            "jq 'del(.StreamSpecification)' Prov/schema.json > Prov/.schema.json.new; mv Prov/.schema.json.new Prov/schema.json",
            "/StreamSpecification",
            Value::Null,
        ),
    ];
    for (program, script, pointer, expected) in edits {
        mount
            .sh(&format!("{script} || cat .ddb/errors/last >&2"))
            .ok();
        assert_eq!(
            described(&mount, "Prov")
                .pointer(pointer)
                .cloned()
                .unwrap_or_default(),
            *expected,
            "{program}"
        );
    }
    // Members with an operation of their own.
    mount.sh("jq '.Tags=[{Key:\"team\",Value:\"a\"}] | .TimeToLiveSpecification={Enabled:true,AttributeName:\"at\"}' Prov/schema.json > Prov/schema.json").ok();
    assert_eq!(
        mount
            .sh("jq -c '[.Tags,.TimeToLiveSpecification]' Prov/schema.json")
            .ok(),
        "[[{\"Key\":\"team\",\"Value\":\"a\"}],{\"Enabled\":true,\"AttributeName\":\"at\"}]\n"
    );
    mount
        .sh("jq 'del(.Tags,.TimeToLiveSpecification)' Prov/schema.json > Prov/schema.json")
        .ok();
    assert_eq!(
        mount
            .sh("jq -c '[.Tags,.TimeToLiveSpecification]' Prov/schema.json")
            .ok(),
        "[null,null]\n"
    );
    // Programs that compare times see that the file has changed.
    let times = mount
        .sh("stat -c %Y.%y Prov/schema.json Prov/items | uniq | wc -l; [ Prov/schema.json -nt Prov/items ] && echo newer")
        .ok()
        .to_owned();
    assert_eq!(times, "2\nnewer\n");
    // Written again without a change: nothing happens.
    let before = described(&mount, "Prov");
    mount.sh("cat Prov/schema.json > /dev/shm/s.$$; cat /dev/shm/s.$$ > Prov/schema.json; rm /dev/shm/s.$$").ok();
    assert_eq!(described(&mount, "Prov"), before);
    println!("changed a table with {} programs", edits.len());
}

#[test]
fn what_cannot_be_changed_is_refused_with_a_sentence_and_changes_nothing() {
    let mount = tables();
    for (edit, errno, sentence) in [
        (
            "jq '.KeySchema[0].AttributeName=\"status\"'",
            "Invalid argument",
            "KeySchema: the key of a table is fixed when it is created",
        ),
        (
            "jq 'del(.GlobalSecondaryIndexes)'",
            "Invalid argument",
            "to drop it: rmdir gsi/by-status",
        ),
        (
            "jq '.GlobalSecondaryIndexes[0].Projection={ProjectionType:\"ALL\"}'",
            "Invalid argument",
            "the keys and the projection of by-status are fixed",
        ),
        (
            "jq '.LocalSecondaryIndexes=[{IndexName:\"by-x\",KeySchema:.KeySchema,Projection:{ProjectionType:\"ALL\"}}]'",
            "Invalid argument",
            "LSIs are fixed at creation",
        ),
        (
            "jq '.BillingMode=\"PROVISIONED\"'",
            "Invalid argument",
            "ProvisionedThroughput must be specified",
        ),
        (
            "jq '.AttributeDefinitions[0].AttributeType=\"N\"'",
            "Invalid argument",
            "the type of ",
        ),
        (
            "jq '.Frob=1'",
            "Invalid argument",
            "Frob: there is no such member",
        ),
    ] {
        let before = described(&mount, "Orders");
        let script =
            format!("s=$({edit} < Orders/schema.json); printf '%s' \"$s\" > Orders/schema.json");
        let ran = mount.sh_in_new_session(&format!(
            "{script}; s=$?; cat .ddb/errors/last >&2; exit $s"
        ));
        assert_ne!(ran.status, 0, "{edit} is taken");
        let err = ran.failed();
        assert!(
            err.contains(errno) && err.contains(sentence) && err.contains("The table is unchanged"),
            "{edit}: {err}"
        );
        assert_eq!(described(&mount, "Orders"), before, "{edit}");
    }
}

#[test]
fn an_index_added_to_the_definition_is_made() {
    let mount = tables();
    mount
        .sh("for n in 1 2 3; do echo '{\"who\":\"w'$n'\"}' > Flat/items/$n.json; done")
        .ok();
    let add = |table: &str, name: &str| {
        format!(
            "jq '.AttributeDefinitions+=[{{AttributeName:\"who\",AttributeType:\"S\"}}] | .GlobalSecondaryIndexes+=[{{IndexName:\"{name}\",KeySchema:[{{AttributeName:\"who\",KeyType:\"HASH\"}}],Projection:{{ProjectionType:\"ALL\"}}}}]' {table}/schema.json"
        )
    };
    let plan: Value = serde_json::from_str(
        mount
            .sh_in_new_session(&format!(
                "{} > Flat/schema.plan && cat Flat/schema.plan",
                add("Flat", "by-who")
            ))
            .ok(),
    )
    .unwrap();
    assert_eq!(
        (&plan["would"], &plan["steps"][0]["items"]),
        (&"change the table".into(), &3.into()),
        "{plan}"
    );
    assert!(
        !mount.sh("ls Flat/gsi").ok().contains("by-who"),
        "a plan does nothing"
    );
    mount
        .sh(&format!("{} > Flat/schema.json", add("Flat", "by-who")))
        .ok();
    mount.sh("until jq -e '.Table.GlobalSecondaryIndexes[0].IndexStatus==\"ACTIVE\"' Flat/describe.json > /dev/null; do sleep 0.05; done").ok();
    assert_eq!(mount.sh("ls Flat/gsi/by-who/items").ok(), "w1\nw2\nw3\n");
    // The definition with its new index is stored unchanged, any number of times.
    mount
        .sh("s=$(cat Flat/schema.json); echo \"$s\" > Flat/schema.json")
        .ok();
}

#[test]
fn a_plan_shows_steps_counts_and_refusals_and_does_nothing() {
    let mount = tables();
    mount
        .sh("for n in 1 2 3 4; do echo '{}' > Prov/items/$n.json; done")
        .ok();
    let before = described(&mount, "Prov");
    let plan = |edit: &str, table: &str| -> Value {
        let script = format!(
            "jq '{edit}' {table}/schema.json > {table}/schema.plan && cat {table}/schema.plan"
        );
        serde_json::from_str(mount.sh_in_new_session(&script).ok()).unwrap()
    };
    let operations = |plan: &Value| -> Vec<String> {
        plan["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| format!("{} {}", step["operation"].as_str().unwrap(), step["items"]))
            .collect()
    };
    let all = plan(
        ".BillingMode=\"PAY_PER_REQUEST\" | .StreamSpecification={StreamEnabled:true,StreamViewType:\"KEYS_ONLY\"} | .Tags=[{Key:\"a\",Value:\"b\"}] | .TimeToLiveSpecification={Enabled:true,AttributeName:\"at\"}",
        "Prov",
    );
    // The items that time to live would delete at once.
    assert_eq!(all["steps"][3]["over"], 0, "{all}");
    assert_eq!(
        operations(&all),
        [
            "UpdateTable 0",
            "UpdateTable 0",
            "TagResource 0",
            "UpdateTimeToLive 4"
        ],
        "{all}"
    );
    mount
        .sh("for n in 1 2; do echo \"{\\\"at\\\":$(($(date +%s) - 100))}\" > Prov/items/$n.json; done")
        .ok();
    let expiring = plan(
        ".TimeToLiveSpecification={Enabled:true,AttributeName:\"at\"}",
        "Prov",
    );
    assert_eq!(expiring["steps"][0]["over"], 2, "{expiring}");
    mount
        .sh("for n in 1 2; do echo '{}' > Prov/items/$n.json; done")
        .ok();
    let refused = plan(
        ".KeySchema[1].AttributeName=\"created\" | del(.GlobalSecondaryIndexes)",
        "Orders",
    );
    let members: Vec<&str> = refused["refusals"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|refusal| refusal["member"].as_str())
        .collect();
    assert_eq!(
        (&refused["would"], members),
        (
            &"be refused".into(),
            vec!["KeySchema", "GlobalSecondaryIndexes"]
        ),
        "{refused}"
    );
    // Errors that only the database finds.
    let refused = plan(".ProvisionedThroughput.ReadCapacityUnits=1000000", "Prov");
    assert!(
        refused["refusals"][0]["why"]
            .as_str()
            .unwrap()
            .contains("per table maximum"),
        "{refused}"
    );
    assert_eq!(plan(".", "Prov")["would"], "change nothing");
    assert_eq!(described(&mount, "Prov"), before, "a plan does nothing");
    // Another session has no plan.
    assert!(
        mount
            .sh_in_new_session("cat Prov/schema.plan")
            .ok()
            .contains("\"hint\"")
    );
    assert!(
        mount
            .sh_in_new_session("echo '{]' > Prov/schema.plan; cat .ddb/errors/last")
            .out
            .contains("Prov/schema.plan: EINVAL")
    );
    // A refused text leaves no plan, not the one before.
    let refused = "cat Prov/schema.json > Prov/schema.plan; echo '{]' > Prov/schema.plan; jq -r .hint Prov/schema.plan";
    assert!(
        mount
            .sh_in_new_session(refused)
            .out
            .starts_with("there is no plan: "),
    );
}

#[test]
fn a_plan_of_a_draft_checks_its_creation() {
    let mount = tables();
    mount.sh("mkdir New").ok();
    let plan: Value = serde_json::from_str(
        mount
            .sh_in_new_session("cat New/schema.json > New/schema.plan; cat New/schema.plan")
            .ok(),
    )
    .unwrap();
    assert_eq!(
        (&plan["would"], &plan["steps"][0]["operation"]),
        (&"create the table".into(), &"CreateTable".into()),
        "{plan}"
    );
    let script = "jq '.AttributeDefinitions[0].AttributeName=\"x\"' New/schema.json > New/schema.plan; jq -r '.would, .refusals[0].why' New/schema.plan";
    let refused = mount.sh_in_new_session(script).ok().to_owned();
    assert!(
        refused.starts_with("be refused\n") && refused.contains("AttributeDefinitions"),
        "{refused}"
    );
    assert_eq!(mount.sh("ls New; rmdir New").ok(), "schema.json\n");
}

#[test]
fn a_table_with_items_survives_every_recursive_delete() {
    let mount = tables();
    mount.sh(FILL).ok();
    mount
        .sh("ln -s ../scan Orders/queries/all; ln -s ../query/@pk=u1/count Orders/queries/some")
        .ok();
    let before = contents(&mount, "Orders");
    let deleters = [
        "rm -r Orders",
        "rm -rf Orders",
        "find Orders -delete",
        "python3 -c 'import shutil; shutil.rmtree(\"Orders\")'",
        "python3 -c 'import shutil; shutil.rmtree(\"Orders\", ignore_errors=True); raise SystemExit(1)'",
        "node -e 'require(\"fs\").rmSync(\"Orders\", {recursive: true})'",
        "perl -MFile::Path=remove_tree -e 'remove_tree(\"Orders\", {error => \\my $e}); exit 1'",
        "rmdir Orders",
        "mkdir -p /tmp/ddbfs-empty.$$ && rsync -a --delete /tmp/ddbfs-empty.$$/ Orders/",
    ];
    for deleter in deleters {
        let refused = mount.sh(deleter).failed().to_owned();
        assert_eq!(contents(&mount, "Orders"), before, "{deleter}");
        // One line for each name in the table's directory, and none for names below.
        assert!(
            !deleter.starts_with("rm -r") || refused.lines().count() <= 7,
            "{refused}"
        );
        // rsync meets queries/ before any vetoed file: what it removed there comes back, a moment
        // later.
        until_ok("the saved queries are back", || {
            let out = mount
                .sh("cd Orders/queries && for q in *; do readlink $q; done")
                .out;
            if out == "../scan\n../query/@pk=u1/count\n" {
                Ok(())
            } else {
                Err(format!("{deleter}: {out}"))
            }
        });
    }
    // Saved queries by themselves may be removed.
    assert_eq!(
        mount
            .sh("rm Orders/queries/some; rm -r Orders/queries 2> /dev/null; ls Orders/queries")
            .ok(),
        ""
    );
    // A collection and a single item are removed silently.
    assert_eq!(
        mount
            .sh("rm -r Orders/items/u1; rm Orders/items/u2/1.json; ls Orders/items; ls Orders/gsi/by-status/items/*")
            .ok()
            .lines()
            .count(),
        2 + 4 + 3 + 7
    );
    println!(
        "{} recursive deletes left the table as it was",
        deleters.len()
    );
}

#[test]
fn allow_drop_lets_recursive_deletes_through() {
    let mount = tables_with(ViewOptions {
        allow_drop: true,
        ..ViewOptions::default()
    });
    let deleters = [
        "rm -r Orders",
        "rm -rf Orders",
        "find Orders -delete",
        "python3 -c 'import shutil; shutil.rmtree(\"Orders\")'",
        "node -e 'require(\"fs\").rmSync(\"Orders\", {recursive: true})'",
        "rmdir Orders",
    ];
    mount
        .sh(&format!("{FILL}; cp Orders/schema.json Flat/items/.kept"))
        .ok();
    for deleter in deleters {
        mount.sh(deleter).ok();
        assert_eq!(mount.sh("ls").ok(), "Flat\nProv\nREADME.md\n", "{deleter}");
        mount
            .sh(&format!(
                "mkdir Orders && cp Flat/items/.kept Orders/schema.json && {FILL}"
            ))
            .ok();
    }
    // A protected table stays.
    mount
        .sh("jq '.DeletionProtectionEnabled=true' Orders/schema.json > Orders/schema.json")
        .ok();
    let before = contents(&mount, "Orders");
    for deleter in deleters {
        mount.sh(deleter).failed();
        assert_eq!(contents(&mount, "Orders"), before, "{deleter}");
    }
}

/// Checks that backups of stored data are restored into a new table and over the old one, by every
/// program.
#[test]
fn tables_are_cloned_and_restored() {
    let mount = tables();
    mount.sh(FILL).ok();
    let expected = contents(&mount, "Orders");
    let clones = [
        (
            "tar",
            "mkdir COPY && tar -C Orders -cf - schema.json items | tar -C COPY -xf -",
        ),
        (
            "cp -r",
            "mkdir COPY && cp -r Orders/schema.json Orders/items COPY/",
        ),
        (
            "cp -a",
            "mkdir COPY && cp -a Orders/schema.json Orders/items COPY/",
        ),
        ("rsync -a", "rsync -a Orders/schema.json Orders/items COPY/"),
        (
            "zip",
            "t=$(mktemp -d); (cd Orders && zip -qr $t/o.zip schema.json items) && mkdir COPY && unzip -qo $t/o.zip -d COPY",
        ),
    ];
    for (program, script) in clones {
        mount.sh(&script.replace("COPY", "Copy")).ok();
        assert_eq!(contents(&mount, "Copy"), expected, "{program}");
        mount.sh("rm -r Copy/items/* && rmdir Copy").ok();
    }
    let backup = tempfile::tempdir().unwrap();
    let dir = backup.path().display();
    mount.sh(&format!("tar -C Orders -cf {dir}/o.tar schema.json items; cp -r Orders/schema.json Orders/items {dir}; (cd Orders && zip -qr {dir}/o.zip schema.json items)")).ok();
    let damage = "echo '{\"x\":1}' > Orders/items/u1/1.json; rm Orders/items/u2/2.json; rm -r Orders/items/u3";
    let restores = [
        (
            "tar --overwrite",
            format!("tar -C Orders --overwrite -xf {dir}/o.tar"),
        ),
        (
            "cp -r",
            format!("cp -r {dir}/schema.json {dir}/items Orders/"),
        ),
        (
            "cp -a",
            format!("cp -a {dir}/schema.json {dir}/items Orders/"),
        ),
        (
            "rsync",
            format!("rsync -a --checksum {dir}/schema.json {dir}/items Orders/"),
        ),
    ];
    for (program, script) in &restores {
        mount.sh(damage).ok();
        assert_ne!(contents(&mount, "Orders"), expected);
        mount.sh(script).ok();
        assert_eq!(contents(&mount, "Orders"), expected, "{program}");
    }
    // These unlink the definition first, as `rm` does: refused, and the reason names a way.
    for script in [
        format!("tar -C Orders -xf {dir}/o.tar"),
        format!("unzip -qo {dir}/o.zip -d Orders"),
        format!("install -m 644 {dir}/schema.json Orders/"),
    ] {
        mount.sh(&script).failed();
        assert_eq!(contents(&mount, "Orders"), expected, "{script}");
        let told = mount.sh("cat .ddb/errors/last").ok().to_owned();
        assert!(
            told.contains("to restore over it, cp, rsync or tar --overwrite"),
            "{script}: {told}"
        );
    }
    println!(
        "cloned with {} programs, restored over the table with {}",
        clones.len(),
        restores.len()
    );
}

/// Checks that with `-o restore` whole directories are copied, derived files and all.
#[test]
fn whole_directories_are_restored_on_demand() {
    let mount = tables_with(ViewOptions {
        restore: true,
        ..ViewOptions::default()
    });
    mount.sh(FILL).ok();
    let expected = contents(&mount, "Orders");
    let backup = tempfile::tempdir().unwrap();
    let dir = backup.path().display();
    mount
        .sh(&format!("tar -cf {dir}/o.tar Orders; cp -r Orders {dir}/; cd Orders && zip -qr {dir}/o.zip schema.json items"))
        .ok();
    let clones = [
        ("cp -r", "cp -r Orders Copy".to_owned()),
        ("cp -a", "cp -a Orders Copy".to_owned()),
        ("rsync -a", format!("rsync -a {dir}/Orders/ Copy/")),
        (
            "tar",
            format!("mkdir Copy && tar -C Copy --strip-components=1 -xf {dir}/o.tar"),
        ),
        ("cp -r over it", format!("cp -r {dir}/Orders/. Copy/")),
        (
            "rsync over it",
            format!("rsync -a --checksum {dir}/Orders/ Copy/"),
        ),
        (
            "tar over it",
            format!("tar -C Copy --strip-components=1 -xf {dir}/o.tar"),
        ),
        ("unzip over it", format!("unzip -qo {dir}/o.zip -d Copy")),
    ];
    for (program, script) in &clones {
        if program.ends_with("over it") {
            mount.sh("test -e Copy || cp -r Orders Copy; echo '{}' > Copy/items/u1/1.json; rm -r Copy/items/u2").ok();
        }
        mount.sh(script).ok();
        assert_eq!(contents(&mount, "Copy"), expected, "{program}");
        mount.sh("rm -r Copy/items/* && rmdir Copy").ok();
    }
    // The derived files keep their true content, whatever is written to them.
    mount
        .sh("echo lies > Orders/stats.json; echo lies > Orders/gsi/by-status/items/s1/none.json")
        .ok();
    assert!(
        mount
            .sh("cat Orders/stats.json")
            .ok()
            .contains("\"items\": 12")
    );
    mount.sh("rm -r Orders").failed();
    assert_eq!(contents(&mount, "Orders"), expected);
    // In place of a directory that was removed, and is held, other kinds are made.
    mount.sh("cd Orders/gsi; mkdir xyz; exec 3< xyz; rmdir xyz; ln -s y xyz; readlink xyz; rm xyz; echo z > xyz; rm xyz; mkdir xyz; rmdir xyz").ok();
    // The same in place of a file or a symlink that is held.
    mount.sh("cd Orders/gsi; echo z > f; exec 4<> f; rm f; ln -s y f; readlink f; echo more >&4; cat <&4; rm f").ok();
    let held_link = "import os; os.symlink('y', 'l'); f = os.open('l', os.O_PATH | os.O_NOFOLLOW); os.unlink('l'); open('l', 'w').write('q')";
    mount
        .sh(&format!("cd Orders/gsi; python3 -c \"{held_link}\"; rm l"))
        .ok();
    // A symlink that is renamed, over another name too, keeps its target; an exchange swaps them.
    mount.sh("cd Orders/gsi; ln -s y a; mv a b; test $(readlink b) = y; echo z > c; mv -T b c; test $(readlink c) = y").ok();
    let exchange =
        "import ctypes; assert ctypes.CDLL(None).renameat2(-100, b'c', -100, b'd', 2) == 0";
    mount.sh(&format!("cd Orders/gsi; echo z > d; python3 -c \"{exchange}\"; test -f c; test $(readlink d) = y; rm c d")).ok();
}

/// Checks a copy without an option: into a table that the copying program itself makes.
#[test]
fn a_whole_directory_is_copied_into_a_new_table() {
    let mount = tables();
    mount.sh(FILL).ok();
    mount
        .sh("ln -s '../query/@pk=u1/desc' Orders/queries/latest")
        .ok();
    let expected = contents(&mount, "Orders");
    let scripts = [
        "cp -r Orders Copy",
        "cp -a Orders Copy",
        "cp -R --preserve=all Orders/. Copy",
        "t=$(mktemp -d); cp $(command -v cp) $t/other; $t/other -r Orders Copy",
        "rsync -a Orders/ Copy/",
    ];
    for script in scripts {
        mount.sh(script).ok();
        assert_eq!(contents(&mount, "Copy"), expected, "{script}");
        println!("{script}");
        mount.sh("cmp Orders/queries/latest/items.ndjson Copy/queries/latest/items.ndjson; diff <(cd Orders; ls -R) <(cd Copy; ls -R)").ok();
        // The program has ended: derived files have their true content.
        for lie in [
            "echo lies > Copy/stats.json",
            "touch Copy/gsi/by-status/items/none",
            "cp Orders/stats.json Copy/stats.json",
        ] {
            mount.sh(lie).failed();
        }
        mount.sh("rm -r Copy/items/* && rmdir Copy").ok();
    }
}

/// Checks that files that exist by themselves are hidden from the process that makes the directory
/// until it lists it, or makes the definition.
#[test]
fn a_program_that_makes_a_table_works_in_it_at_once() {
    let mount = tables();
    let program = "
import json, os, shutil
os.mkdir('Made')
assert 'schema.json' in os.listdir('Made')
schema = json.load(open('Made/schema.json'))
assert os.path.exists('Made/schema.json')
os.mkdir('Copy')
shutil.copyfile('Orders/schema.json', 'Copy/schema.json')
os.mkdir('Copy/items/u9')
open('Copy/items/u9/1.json', 'w').write('{}')
assert 'items' in json.load(open('Copy/stats.json'))
try: shutil.rmtree('Copy')
except PermissionError as error: print(error)
";
    let told = mount
        .sh(&format!(
            "python3 - <<'END'\n{program}\nEND\ncat .ddb/errors/last; ls Copy Copy/items/u9"
        ))
        .ok()
        .to_owned();
    assert!(
        told.contains("a table is not deleted file by file") && told.contains("schema.json\n"),
        "{told}"
    );
    assert!(told.ends_with("1.json\n"), "{told}");
}

/// Checks a copy by rsync, which makes directories and links in one process, and files in another,
/// which may be behind.
#[test]
fn a_link_that_is_copied_before_the_definition_is_saved_with_the_table() {
    let mount = tables();
    let program = "
import os, shutil
os.mkdir('Copy')
os.mkdir('Copy/queries')
link = lambda name, target: os.symlink(target, 'Copy/queries/' + name)
link('latest', '../query/@pk=u1/desc')
link('refused', '../query/@pk=u1/none=1')
link('removed', '../query/@pk=u1')
assert os.readlink('Copy/queries/latest') == '../query/@pk=u1/desc'
os.remove('Copy/queries/removed')
shutil.copyfile('Orders/schema.json', 'Copy/schema.json')
link('later', '../scan')
";
    let script = format!("python3 - <<'END'\n{program}\nEND\ncat .ddb/warnings.ndjson");
    let told = mount.sh(&script).ok().to_owned();
    assert!(told.contains("queries/refused is not saved: "), "{told}");
    let saved = mount
        .sh("cd Copy/queries; for query in $(ls -A); do echo $query $(readlink $query); done")
        .ok()
        .to_owned();
    assert_eq!(saved, "later ../scan\nlatest ../query/@pk=u1/desc\n");
}
