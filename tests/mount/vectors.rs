//! Searches of vector indexes as paths of a real mount (docs/filesystem.md 6).

use crate::support::mounted::{Mount, create_table, memory, put};
use serde_json::{Value, json};

/// A table whose only indexes are of vectors, with a HASH and without.
pub const NOTES: &str = r#"{"TableName": "Notes", "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "lang", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "VectorIndexes": [
        {"IndexName": "near-all", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2, "DistanceFunction": "EUCLIDEAN",
         "Projection": {"ProjectionType": "ALL"}},
        {"IndexName": "by-lang", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2, "DistanceFunction": "COSINE",
         "SearchSchema": [{"AttributeName": "lang", "SearchSchemaElementType": "HASH"}],
         "Projection": {"ProjectionType": "KEYS_ONLY"}}]}"#;

fn notes() -> Mount {
    let db = memory();
    create_table(&*db, NOTES);
    for item in [
        r#"{"pk":"a","sk":1,"lang":"en","v":[0,1],"t":"x"}"#,
        r#"{"pk":"a","sk":2,"lang":"en","v":[0,3],"t":"y"}"#,
        r#"{"pk":"b","sk":1,"lang":"de","v":[0,2],"t":"z"}"#,
        r#"{"pk":"c","sk":1,"lang":"en","t":"no vector"}"#,
    ] {
        put(&*db, "Notes", item);
    }
    Mount::of(db)
}

#[track_caller]
fn check(mount: &Mount, script: &str, expected: &str) {
    let script = format!("cd Notes/vector; {script}");
    assert_eq!(mount.sh(&script).ok(), expected, "{script}");
}

#[test]
fn the_neighbours_of_an_item_are_a_path() {
    let mount = notes();
    check(&mount, "ls", "by-lang\nnear-all\n");
    check(&mount, "ls near-all", "items\nschema.json\nstats.json\n");
    check(
        &mount,
        "jq -c '[.kind,.entries,.table_items]' near-all/stats.json",
        "[\"vector\",3,4]\n",
    );
    // The item itself is none of its neighbours; of equal distances the first key comes first.
    check(
        &mount,
        "cat near-all/near/b,1/items.ndjson",
        "{\"@score\":1,\"pk\":\"a\",\"sk\":1,\"lang\":\"en\",\"t\":\"x\"}\n{\"@score\":1,\"pk\":\"a\",\"sk\":2,\"lang\":\"en\",\"t\":\"y\"}\n",
    );
    check(
        &mount,
        "cat near-all/near/a,1/top=1/keys",
        "items/b/1.json\n",
    );
    check(&mount, "cat near-all/near/@vector=0,2.9/top=2/count", "2\n");
    check(
        &mount,
        "cat near-all/near/@vector=$(jq -c .v ../items/b/1.json)/top=1/keys near-all/near/'@vector=[0, 2.9]'/top=1/keys",
        "items/b/1.json\nitems/a/2.json\n",
    );
    // A long vector is several clauses.
    check(
        &mount,
        "cat near-all/near/@vector=0/@vector=2.9/top=1/keys",
        "items/a/2.json\n",
    );
    check(
        &mount,
        "cat near-all/near/a,1/select=t,v/items.ndjson",
        "{\"@score\":1,\"t\":\"z\",\"v\":[0,2]}\n{\"@score\":2,\"t\":\"y\",\"v\":[0,3]}\n",
    );
    check(
        &mount,
        "jq -c '[.Count, .ConsumedCapacity.VectorSearchRequestBytes == 1024, (.ConsumedCapacity | length)]' near-all/near/a,1/capacity.json",
        "[2,true,1]\n",
    );
    // The links lead to the items, in order.
    check(
        &mount,
        "ls near-all/near/a,1",
        "000001,b,1.json\n000002,a,2.json\n",
    );
    check(&mount, "jq -r .t near-all/near/a,1/000001,b,1.json", "z\n");
    check(
        &mount,
        "head -1 near-all/near/a,1/items.csv; wc -l < near-all/near/a,1/items.csv",
        "pk,sk,@score,lang,t\n3\n",
    );
}

#[test]
fn a_search_begins_at_an_item_whose_name_is_a_number() {
    let db = memory();
    let table = NOTES.replace(
        "\"pk\", \"AttributeType\": \"S\"",
        "\"pk\", \"AttributeType\": \"N\"",
    );
    create_table(&*db, &table);
    for item in [
        r#"{"pk":42,"sk":1,"lang":"en","v":[0,1]}"#,
        r#"{"pk":1234567,"sk":-5,"lang":"en","v":[0,3]}"#,
    ] {
        put(&*db, "Notes", item);
    }
    let mount = Mount::of(db);
    check(
        &mount,
        "cat near-all/near/42,1/keys near-all/near/1234567,-5/keys by-lang/near/lang=en/42,1/keys; ls near-all/near/42,1",
        "items/1234567/%2D5.json\nitems/42/1.json\nitems/1234567/%2D5.json\n000001,1234567,%2D5.json\n",
    );
    check(
        &mount,
        "jq .pk near-all/near/42,1/000001,1234567,%2D5.json",
        "1234567\n",
    );
}

#[test]
fn entries_are_files() {
    let mount = notes();
    // Without a HASH there are no folders; an entry has the vector as the list that it is.
    check(
        &mount,
        "ls near-all/items | sort",
        "a,1.json\na,2.json\nb,1.json\n",
    );
    check(
        &mount,
        "cat near-all/items/b,1.json; wc -c < near-all/items/b,1.json; stat -c %s near-all/items/b,1.json",
        "{\"pk\":\"b\",\"sk\":1,\"lang\":\"de\",\"t\":\"z\",\"v\":[0,2]}\n48\n48\n",
    );
    check(
        &mount,
        "ls by-lang/items | sort; ls by-lang/items/en | sort; cat by-lang/items/en/a,2.json by-lang/items/de/b,1.ddbjson",
        "de\nen\na,1.json\na,2.json\n{\"lang\":\"en\",\"pk\":\"a\",\"sk\":2,\"v\":[0,3]}\n\
         {\"lang\":{\"S\":\"de\"},\"pk\":{\"S\":\"b\"},\"sk\":{\"N\":\"1\"},\"v\":{\"L\":[{\"N\":\"0\"},{\"N\":\"2\"}]}}\n",
    );
    check(
        &mount,
        "jq -r .t near-all/items/b,1.base by-lang/items/de/b,1.base",
        "z\nz\n",
    );
    check(
        &mount,
        "jq -r '.indexes[].path' ../items/a/1.meta; jq -c .indexes ../items/c/1.meta",
        "Notes/vector/near-all/items/a,1.json\nNotes/vector/by-lang/items/en/a,1.json\n[]\n",
    );
    // They follow their items: 32 bits of the digits, another partition, none.
    check(
        &mount,
        "cat near-all/items/a,1.json by-lang/items/en/a,1.json > /dev/null
         echo '{\"pk\":\"a\",\"sk\":1,\"lang\":\"de\",\"v\":[16777217,0.1]}' > ../items/a/1.json
         cat near-all/items/a,1.json; ls by-lang/items/en by-lang/items/de | sort; rm ../items/b/1.json; find . -name '*.json' | sort",
        "{\"pk\":\"a\",\"sk\":1,\"lang\":\"de\",\"v\":[16777216,0.1]}\n\na,1.json\na,2.json\nb,1.json\nby-lang/items/de:\nby-lang/items/en:\n\
         ./by-lang/items/de/a,1.json\n./by-lang/items/en/a,2.json\n./by-lang/schema.json\n./by-lang/stats.json\n\
         ./near-all/items/a,1.json\n./near-all/items/a,2.json\n./near-all/schema.json\n./near-all/stats.json\n",
    );
    for script in [
        "echo 1 > near-all/items/a,1.json",
        "rm near-all/items/a,1.json",
        "mkdir near-all/items/x",
        "cat near-all/items/c,1.json",
        "cat by-lang/items/a,1.json",
    ] {
        mount.sh(&format!("cd Notes/vector; {script}")).failed();
    }
}

#[test]
fn long_keys_of_entries_are_names_too() {
    let db = memory();
    create_table(&*db, NOTES);
    let long = "k".repeat(400);
    put(
        &*db,
        "Notes",
        &format!(r#"{{"pk":"{long}","sk":1,"lang":"{long}","v":[1,1]}}"#),
    );
    let mount = Mount::of(db);
    check(
        &mount,
        "find . -name 'k*.json' | xargs jq -c .v; find . -name 'k*.json' | sed 's/json$/base/' | xargs jq -c .v",
        "[1,1]\n[1,1]\n[1,1]\n[1,1]\n",
    );
}

#[test]
fn a_search_is_in_the_partition_of_its_item() {
    let mount = notes();
    check(&mount, "cat by-lang/near/a,1/keys", "items/a/2.json\n");
    check(
        &mount,
        "cat by-lang/near/a,1/lang=de/keys",
        "items/b/1.json\n",
    );
    check(
        &mount,
        "cat by-lang/near/lang=de/@vector=1,0/items.ndjson",
        "{\"@score\":1,\"lang\":\"de\",\"pk\":\"b\",\"sk\":1}\n",
    );
    let request: Value = serde_json::from_str(
        mount
            .sh("cat Notes/vector/by-lang/near/a,1/top=3/request.json")
            .ok(),
    )
    .unwrap();
    assert_eq!(
        request,
        json!({
            "TableName": "Notes", "IndexName": "by-lang", "SearchVector": [{ "N": "0" }, { "N": "1" }], "TopK": 4,
            "SearchConditionExpression": "#pk = :pk",
            "ExpressionAttributeNames": { "#pk": "lang" }, "ExpressionAttributeValues": { ":pk": { "S": "en" } },
        })
    );
    // The request is one of the API.
    check(
        &mount,
        "exec 3<>../../.ddb/api/SearchVectors; cat by-lang/near/a,1/top=3/request.json >&3; jq -c '[.SearchResults[].Score]' <&3",
        "[0,0]\n",
    );
}

#[test]
fn faults_of_a_search_say_how_it_is_written() {
    let mount = notes();
    mount
        .sh("mkdir Notes/items/d; echo '{\"v\":[1,1]}' > Notes/items/d/1.json")
        .ok();
    for (path, message, hint) in [
        (
            "near-all/near/items.ndjson",
            "a search needs a vector",
            "near/KEY/",
        ),
        (
            "near-all/near/a/items.ndjson",
            "'a' is no item's name",
            "<folder>,<name>",
        ),
        (
            "near-all/near/z,1/count",
            "there is no items/z/1.json",
            "at numbers (near/@vector=…)",
        ),
        (
            "near-all/near/a,1/@pk=x/count",
            "of this index has no HASH",
            "the whole index",
        ),
        ("by-lang/near/d,1/count", "needs lang, the HASH", "lang=…"),
        (
            "near-all/near/c,1/items.ndjson",
            "the item has no list v",
            "missing.ndjson",
        ),
        (
            "near-all/near/@vector=1,x/count",
            "@vector takes numbers",
            "@vector=0.12",
        ),
        (
            "near-all/near/@vector=1/count",
            "Input search vector dimension 1 does not match",
            "",
        ),
        (
            "near-all/near/a,1/top=101/count",
            "top takes a whole number from 1 to 100",
            "",
        ),
        (
            "near-all/near/a,1/limit=1/count",
            "limit does not work on a search",
            "top=",
        ),
        (
            "near-all/near/a,1/page.json",
            "a search has no pages",
            "items.ndjson",
        ),
        (
            "by-lang/near/@vector=1,0/count",
            "needs lang, the HASH",
            "lang=…",
        ),
        (
            "by-lang/near/a,1/lang.ge=x/count",
            "no condition of a search",
            "'=' only",
        ),
    ] {
        let script = format!("cat Notes/vector/{path} 2>/dev/null || cat .ddb/errors/last");
        let output = mount.sh(&script).ok().to_owned();
        assert!(
            output.contains(message) && output.contains(hint),
            "{path}: {output}"
        );
    }
    // A listing tells it as well.
    let script = "! ls Notes/vector/near-all/near/@vector=1 2> /dev/null; head -1 .ddb/errors/last";
    assert_eq!(
        mount.sh(script).ok(),
        "readdir Notes/vector/near-all/near/@vector=1: EINVAL ValidationException\n"
    );
    // A query of an index that has none, a search of a table.
    for path in ["Notes/vector/near-all/query", "Notes/near"] {
        mount.sh(&format!("cat {path}")).failed();
    }
}

/// Mounts `Notes` without an index, with items of which one fits the index that [`NEAR`] defines.
fn unindexed() -> Mount {
    let db = memory();
    let mut table: Value = serde_json::from_str(NOTES).unwrap();
    table.as_object_mut().unwrap().remove("VectorIndexes");
    let definitions = table["AttributeDefinitions"].as_array_mut().unwrap();
    definitions.retain(|definition| definition["AttributeName"] != "lang");
    create_table(&*db, &table.to_string());
    for item in [
        r#"{"pk":"fits","sk":1,"lang":"en","v":[0,1],"t":"x"}"#,
        r#"{"pk":"long","sk":1,"lang":"en","v":[0,1,2]}"#,
        r#"{"pk":"text","sk":1,"lang":"en","v":"0,1"}"#,
        r#"{"pk":"mixed","sk":1,"lang":"en","v":[0,"1"]}"#,
        r#"{"pk":"huge","sk":1,"lang":"en","v":[1e39,0]}"#,
        r#"{"pk":"hash","sk":1,"lang":7,"v":[0,1]}"#,
        r#"{"pk":"none","sk":1,"t":"no vector"}"#,
    ] {
        put(&*db, "Notes", item);
    }
    Mount::of(db)
}

const NEAR: &str = r#"{"IndexName": "near", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2,
    "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "ALL"},
    "SearchSchema": [{"AttributeName": "lang", "SearchSchemaElementType": "HASH"}]}"#;
const LANG: &str = r#"{"AttributeName": "lang", "AttributeType": "S"}"#;

fn json_of(mount: &Mount, file: &str) -> Value {
    serde_json::from_str(mount.sh(&format!("cat Notes/{file}")).ok()).unwrap()
}

#[test]
fn an_index_is_planned_made_and_dropped_in_its_directory() {
    let mount = unindexed();
    let plan = |edit: &str| {
        mount
            .sh(&format!(
                "jq '.VectorIndexes = [{NEAR}] | .AttributeDefinitions += [{LANG}] | {edit}' Notes/schema.json > Notes/schema.plan"
            ))
            .ok();
        json_of(&mount, "schema.plan")
    };
    let refused = plan(".VectorIndexes[0].Dimensions = 5000");
    assert_eq!(refused["would"], "be refused", "{refused:#}");
    let refused = plan(".VectorIndexes[0].SearchSchema = []");
    assert_eq!(
        refused["refusals"][0]["why"], "lang is no key",
        "{refused:#}"
    );
    let planned = plan(".");
    assert_eq!(
        (&planned["would"], &planned["steps"][0]["items"]),
        (&json!("change the table"), &json!(7)),
        "{planned:#}"
    );
    let planned = &planned["steps"][0]["index"];
    assert_eq!(
        planned["backfill"],
        json!({ "write_bytes": 1024.0, "cost": 0.0, "currency": "USD" }),
        "{planned:#}"
    );
    assert_eq!(
        planned["a_put"],
        json!({ "table_units": 1.0, "index_bytes": 146.286 })
    );
    assert_eq!(
        (
            &planned["violations"],
            &planned["without_key_attributes"],
            &planned["in_words"][0]
        ),
        (
            &json!(5),
            &json!(1),
            &json!("1 of 7 items enter the index: they have lang and v with v as 2 numbers")
        )
    );
    // A draft, with a template. There is no vector/ to see before.
    let sh = |script: &str| mount.sh(&format!("cd Notes; {script}")).ok().to_owned();
    assert_eq!(
        sh("ls; mkdir vector/near; ls -d vector/*; jq -c .Dimensions vector/near/schema.json"),
        "gsi\nitems\nlsi\npartitions\nqueries\nschema.json\nstats.json\nvector/near\n1024\n"
    );
    for script in ["mkdir vector/near", "mkdir gsi/near", "ls gsi/near"] {
        mount.sh(&format!("cd Notes; {script}")).failed();
    }
    sh("rmdir vector/near; test ! -e vector/near; ls | grep -c vector || true; mkdir vector/near");
    // What is wrong is said.
    let wrong = "cd Notes; echo '{\"Dimensions\": 3}' > vector/near/schema.json";
    mount.sh(wrong).failed();
    sh(&format!(
        "jq -n '{NEAR} | .AttributeDefinitions = [{LANG}]' > vector/near/schema.json
         until grep -q ACTIVE vector/near/stats.json; do sleep 0.1; done"
    ));
    let made = json_of(&mount, "vector/near/stats.json");
    for (of_plan, is) in [
        ("entries", "entries"),
        ("entry_bytes", "bytes"),
        ("billed_bytes", "billed_bytes"),
        ("violations", "violations"),
    ] {
        assert_eq!(planned[of_plan], made[is], "{of_plan}");
    }
    assert_eq!(
        sh("ls vector; cat vector/near/near/fits,1/count; ls vector/near/items/en"),
        "near\n0\nfits,1.json\n"
    );
    let refused = [
        r#"{"path":"items/hash/1.json","attribute":"lang","expected":"S","found":"N"}"#,
        r#"{"path":"items/huge/1.json","attribute":"v","expected":"L of 2 32-bit numbers","found":"1E+39 at [0]"}"#,
        r#"{"path":"items/long/1.json","attribute":"v","expected":"L of 2 32-bit numbers","found":"L of 3 elements"}"#,
        r#"{"path":"items/mixed/1.json","attribute":"v","expected":"L of 2 32-bit numbers","found":"S at [1]"}"#,
        r#"{"path":"items/text/1.json","attribute":"v","expected":"L of 2 32-bit numbers","found":"S"}"#,
    ]
    .join("\n");
    assert_eq!(
        sh("sort vector/near/violations.ndjson"),
        format!("{refused}\n")
    );
    let lacks = r#"{"path":"items/none/1.json","lacks":["lang","v"]}"#;
    assert_eq!(
        sh(
            "grep -v found vector/near/missing.ndjson; grep found vector/near/missing.ndjson | sort"
        ),
        format!("{lacks}\n{refused}\n")
    );
    // A corrected item enters.
    sh("echo '{\"pk\":\"long\",\"sk\":1,\"lang\":\"en\",\"v\":[0,1]}' > items/long/1.json");
    assert_eq!(
        sh("cat vector/near/near/fits,1/keys; grep -c . vector/near/violations.ndjson"),
        "items/long/1.json\n4\n"
    );
    // Nothing of it changes, and it is not dropped by leaving it out.
    for edit in ["del(.VectorIndexes)", ".VectorIndexes[0].Dimensions = 3"] {
        let script =
            format!("cd Notes; jq '{edit}' schema.json > /tmp/$$; cat /tmp/$$ > schema.json");
        mount.sh(&script).failed();
        mount
            .sh("rm -f /tmp/$$; grep -q 'rmdir vector/near' .ddb/errors/last")
            .ok();
    }
    sh("cat schema.json > /tmp/$$; cat /tmp/$$ > schema.json; rm /tmp/$$");
    assert_eq!(
        sh(
            "rmdir vector/near; until ! test -e vector/near; do sleep 0.1; done; ls | grep -c vector || true"
        ),
        "0\n"
    );
}

#[test]
fn searches_and_their_bytes_are_counted() {
    let mount = notes();
    check(
        &mount,
        "cat near-all/near/@vector=1,1/count near-all/near/a,1/count; jq -c .v near-all/items/b,1.json",
        "3\n2\n[0,2]\n",
    );
    let of_indexes = r#"jq -c '.sources[] | select(.vectors_last_day) | [.name, (.since_start | .read_units + .write_units | floor)] + (.vectors_last_day
        | [.writes, (.write_bytes | floor), .searches >= 2, .search_bytes == .searches * 1024])' ../capacity.json"#;
    check(
        &mount,
        of_indexes,
        "[\"near-all\",0,3,3072,true,true]\n[\"by-lang\",0,3,3072,false,true]\n",
    );
    check(
        &mount,
        "grep '^ddbfs_vector_[sw].* [03]' ../../.ddb/stats.prom | grep -v 'search.*near-all'",
        "ddbfs_vector_search_requests_total{table=\"Notes\",index=\"by-lang\"} 0\n\
         ddbfs_vector_search_request_bytes_total{table=\"Notes\",index=\"by-lang\"} 0\n\
         ddbfs_vector_write_request_bytes_total{table=\"Notes\",index=\"near-all\"} 3072\n\
         ddbfs_vector_write_request_bytes_total{table=\"Notes\",index=\"by-lang\"} 3072\n",
    );
    check(
        &mount,
        "jq -s 'map(select(.MetricName == \"VectorWriteRequestBytes\" and (.Dimensions | tostring | contains(\"near-all\"))) | .Sum) | add | floor' ../metrics.ndjson",
        "3072\n",
    );
    // A listing is one search, and so is a read. Who looks at the size alone consumes nothing.
    check(
        &mount,
        "n() { jq '[.sources[].vectors_last_day.searches // 0] | add' ../capacity.json; }
         a=$(n); ls near-all/near/b,1 > /dev/null; b=$(n); stat near-all/near/a,2/items.ndjson > /dev/null; c=$(n);
         cat near-all/near/a,2/items.ndjson > /dev/null; echo $((b - a)) $((c - b)) $(($(n) - c))",
        "1 0 1\n",
    );
    // A table without one has none of it.
    mount.sh("mkdir Plain@id:S; jq -e '.sources[].vectors_last_day == null' Plain/capacity.json; ! grep -q 'vector.*Plain' .ddb/stats.prom").ok();
}

#[test]
fn copies_and_archives_of_a_table_have_its_vector_indexes() {
    let mount = notes();
    let search = "cat vector/near-all/near/a,1/keys; ls vector/by-lang/items/en";
    let expected = "items/b/1.json\nitems/a/2.json\na,1.json\na,2.json\n";
    for copy in [
        "cp -r Notes Copy",
        "mkdir Copy; tar -C Notes -cf - schema.json items | tar -C Copy -xf -",
    ] {
        let script = format!(
            "{copy}; diff <(jq .VectorIndexes Notes/schema.json) <(jq .VectorIndexes Copy/schema.json) && cd Copy && {search}"
        );
        assert_eq!(mount.sh(&script).ok(), expected, "{copy}");
        mount
            .sh("rm -r Copy/items/*; until rmdir Copy; do sleep 0.1; done")
            .ok();
    }
}
