//! `.ddb/` on a real mount: the API as files, responses, help, and the state of the mount.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::mounted;
use crate::support::mounted::{Mount, create_table, memory, put};
use crate::support::wait::{until, until_ok, until_some};
use ddbfs::protocol;
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_request_is_written_and_its_answer_read_on_the_same_descriptor() {
    let mount = Mount::with_tables();
    put(&*mount.db, "Flat", r#"{"id":"a","n":1}"#);
    let script = r#"
exec 3<>.ddb/api/GetItem
echo '{"TableName":"Flat","Key":{"id":{"S":"a"}}}' >&3; cat <&3
printf '{"TableName":"Flat",' >&3; printf '"Key":{"id":{"S":"none"}}}\n' >&3; cat <&3
exec 3>&-
exec 3<>.ddb/api/ListTables; echo '{}' >&3; cat <&3; exec 3>&-"#;
    let expected = "{\"Item\":{\"id\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}}\n{}\n{\"TableNames\":[\"Flat\",\"Orders\"]}\n";
    assert_eq!(mount.sh(script).ok(), expected);
    for (program, said) in [
        (
            "dash -c 'exec 3<>.ddb/api/ListTables; echo \"{}\" >&3; cat <&3'",
            "TableNames",
        ),
        (
            "zsh -c 'exec 3<>.ddb/api/ListTables; echo \"{}\" >&3; cat <&3'",
            "TableNames",
        ),
        (
            "python3 -c 'f=open(\".ddb/api/ListTables\",\"r+b\",0); f.write(b\"{}\"); print(f.read().decode())'",
            "TableNames",
        ),
        (
            "python3 -c 'f=open(\".ddb/api/ListTables\",\"r+b\",0); f.write(b\"{}\"); f.seek(0); print(f.read().decode())'",
            "TableNames",
        ),
        (
            "perl -e 'open(F,\"+<\",\".ddb/api/ListTables\"); syswrite(F,\"{}\"); sysread(F,$b,9999); print $b'",
            "TableNames",
        ),
    ] {
        assert!(mount.sh(program).ok().contains(said), "{program}");
        println!("request and answer on one descriptor: {program}");
    }
    mount.end();
}

#[test]
fn every_operation_is_a_file_and_answers_as_the_protocol_does() {
    let mount = Mount::with_tables();
    let listed = mount.sh("ls .ddb/api");
    let mut names: Vec<&str> = protocol::operations()
        .map(|operation| operation.name)
        .collect();
    names.sort_unstable();
    assert_eq!(listed.ok().lines().collect::<Vec<_>>(), names);
    // Most refuse an empty request; each reports the same as the layer below HTTP.
    for operation in protocol::operations() {
        let name = operation.name;
        let request = serde_json::json!({});
        let expected = protocol::call(name, request, &*mount.db, "localhost");
        let ran = mount.sh(&format!(
            "echo '{{}}' > .ddb/api/{name}; s=$?; cat .ddb/last/response.json; exit $s"
        ));
        let body = expected
            .clone()
            .unwrap_or_else(|failure| failure.error_body(Some(operation)).json());
        let (mut said, mut expected_body) =
            (json(&ran.out), json(std::str::from_utf8(&body).unwrap()));
        // Times and ids of the moment.
        for answer in [&mut said, &mut expected_body] {
            if expected.is_ok()
                && let Some(object) = answer.as_object_mut()
            {
                object.values_mut().for_each(|value| *value = Value::Null);
            }
        }
        assert_eq!(
            (said, ran.status == 0),
            (expected_body, expected.is_ok()),
            "{name}"
        );
    }
    println!(
        "{} operations are files; an empty request gets the protocol's answer or error from each",
        names.len()
    );
    mount.end();
}

#[test]
fn failures_have_their_errno_and_their_body() {
    let mount = Mount::with_tables();
    put(&*mount.db, "Flat", r#"{"id":"a","n":1}"#);
    let condition = r#""Item":{"id":{"S":"a"}},"ConditionExpression":"attribute_not_exists(id)""#;
    let cases = [
        (
            "PutItem",
            format!(r#"{{"TableName":"Flat",{condition}}}"#),
            "Operation canceled",
            "ConditionalCheckFailedException",
        ),
        (
            "PutItem",
            r#"{"TableName":"Flat"}"#.to_owned(),
            "Invalid argument",
            "ValidationException",
        ),
        (
            "GetItem",
            r#"{"TableName":"None","Key":{"id":{"S":"a"}}}"#.to_owned(),
            "No such file",
            "ResourceNotFoundException",
        ),
        (
            "GetItem",
            r#"{"TableName":"Flat",,}"#.to_owned(),
            "Invalid argument",
            "SerializationException",
        ),
        (
            "CreateTable",
            mounted::FLAT.replace('\n', ""),
            "File exists",
            "ResourceInUseException",
        ),
    ];
    for (operation, request, message, exception) in cases {
        let ran = mount.sh(&format!(
            "echo '{request}' > .ddb/api/{operation} || cat .ddb/last/response.json"
        ));
        assert!(
            ran.err.contains(message) && ran.out.contains(exception),
            "{operation} {request}: {ran:#?}"
        );
        println!("{operation}: {message}, {exception} in last/response.json");
    }
    let cases = [
        ("nonsense", "begins with {"),
        ("{} {}", "one request at a time"),
        (r#"{"a":"#, "incomplete"),
    ];
    for (text, sentence) in cases {
        mount.sh(&format!(
            "printf '%s' '{text}' > .ddb/api/ListTables || true"
        ));
        let last = mount.sh("cat .ddb/errors/last");
        assert!(last.ok().contains(sentence), "{text}: {last:#?}");
    }
    let other = mount.sh_in_new_session("cat .ddb/last/response.json .ddb/last/capacity.json");
    assert_eq!(other.ok(), "", "another session sees nothing of it");
    mount.end();
}

#[test]
fn a_request_of_megabytes_comes_in_pieces_and_one_over_16_mib_is_refused() {
    let mount = Mount::with_tables();
    let ran = mount.sh(
        r#"python3 -c '
import json
put = lambda n: {"PutRequest": {"Item": {"id": {"S": str(n)}, "text": {"S": "x" * 390000}}}}
print(json.dumps({"RequestItems": {"Flat": [put(n) for n in range(25)]}}))' > .ddb/api/BatchWriteItem && cat .ddb/last/response.json; ls Flat/items | wc -l"#,
    );
    assert_eq!(ran.ok(), "{\"UnprocessedItems\":{}}\n25\n");
    let big = mount.sh("(printf '{\"a\":\"'; head -c 17000000 /dev/zero | tr '\\0' x; printf '\"}') > .ddb/api/PutItem");
    assert!(big.failed().contains("Invalid argument"), "{big:#?}");
    assert!(
        mount
            .sh("cat .ddb/errors/last")
            .ok()
            .contains("at most 16 MiB")
    );
    println!("9.7 MB in one BatchWriteItem; 17 MB refused while it is written");
    mount.end();
}

#[test]
fn transact_takes_both_kinds() {
    let mount = Mount::with_tables();
    let put = |id: &str| {
        format!(
            r#"{{"Put":{{"TableName":"Flat","Item":{{"id":{{"S":"{id}"}}}},"ConditionExpression":"attribute_not_exists(id)"}}}}"#
        )
    };
    mount
        .sh(&format!(
            "echo '{{\"TransactItems\":[{},{}]}}' > .ddb/transact",
            put("a"),
            put("b")
        ))
        .ok();
    let ran = mount.sh(&format!(
        "echo '{{\"TransactItems\":[{},{}]}}' > .ddb/transact || jq -c '[.CancellationReasons[].Code]' .ddb/last/response.json",
        put("c"),
        put("a")
    ));
    assert!(
        ran.err.contains("Operation canceled")
            && ran.out == "[\"None\",\"ConditionalCheckFailed\"]\n",
        "{ran:#?}"
    );
    assert_eq!(mount.sh("ls Flat/items").ok(), "a.json\nb.json\n");
    let get = r#"{"TransactItems":[{"Get":{"TableName":"Flat","Key":{"id":{"S":"b"}}}}]}"#;
    let got = mount.sh(&format!(
        "exec 3<>.ddb/transact; echo '{get}' >&3; jq -c .Responses <&3"
    ));
    assert_eq!(got.ok(), "[{\"Item\":{\"id\":{\"S\":\"b\"}}}]\n");
    println!("transact: two puts, one cancelled with its reasons, one read");
    mount.end();
}

#[test]
fn writes_of_files_leave_their_answer_and_capacity_too() {
    let mount = Mount::with_tables();
    mount.sh("mkdir Orders/items/u1").ok();
    let ran = mount.sh(
        r#"echo '{"status":"open","created":"1"}' > Orders/items/u1/o1.json; jq -c '[.CapacityUnits, .GlobalSecondaryIndexes."by-status".CapacityUnits]' .ddb/last/capacity.json; rm Orders/items/u1/o1.json; jq -c .ConsumedCapacity.TableName .ddb/last/response.json"#,
    );
    assert_eq!(ran.ok(), "[2,1]\n\"Orders\"\n");
    mount
        .sh("for i in 1 2 3; do echo '{}' > Orders/items/u1/$i.json; done")
        .ok();
    let ran = mount.sh("cat Orders/query/@pk=u1/items.ndjson > /dev/null; jq -c '[.Count, .ConsumedCapacity.CapacityUnits]' .ddb/last/response.json; jq .CapacityUnits .ddb/last/capacity.json");
    assert_eq!(ran.ok(), "[3,0.5]\n0.5\n");
    println!("last/capacity.json after a file was written: 2 units, 1 of them the index's");
    mount.end();
}

#[test]
fn help_is_everywhere_and_nothing_blocks_a_walk() {
    let mount = Mount::of({
        let db = memory();
        create_table(&*db, mounted::ORDERS);
        db
    });
    let topics = mount.sh("ls .ddb/help");
    for topic in [
        "names", "items", "writes", "queries", "indexes", "tables", "streams", "errors", "layout",
    ] {
        assert!(topics.ok().contains(&format!("{topic}.md\n")), "{topic}");
        assert!(
            mount.sh(&format!("cat .ddb/help/{topic}.md")).ok().len() > 300,
            "{topic}"
        );
    }
    for directory in [
        ".",
        "Orders",
        "Orders/gsi",
        "Orders/gsi/by-status",
        "Orders/lsi",
        "Orders/stream",
    ] {
        assert!(
            mount.sh(&format!("cat {directory}/help")).ok().len() > 300,
            "{directory}"
        );
        assert!(
            !mount.sh(&format!("ls {directory}")).ok().contains("help"),
            "{directory}"
        );
    }
    // The help's own first commands work.
    mount
        .sh("cd Orders && cat schema.json stats.json describe.json > /dev/null")
        .ok();
    let walk = mount.sh("grep -rc . .ddb > /dev/null; tar -cf /dev/null .ddb && find .ddb -type f | xargs cat > /dev/null");
    walk.ok();
    // A slow call may be recorded in a log between the two, now and then.
    let sizes = mount.sh("is_exact() { test $(stat -c %s $1) = $(cat $1 | wc -c); }
        for f in $(find .ddb -type f); do is_exact $f || is_exact $f || is_exact $f || echo $f; done");
    assert_eq!(sizes.ok(), "");
    println!("help topics and help files; grep -r, tar and find over .ddb end, sizes exact");
    mount.end();
}

#[test]
fn ttl_is_shown_and_set() {
    let mount = Mount::with_tables();
    let shown = || json(mount.sh("cat Flat/ttl").ok());
    assert_eq!(
        shown(),
        serde_json::json!({"status": "DISABLED", "attribute": null, "next": []})
    );
    // Far in the future, in the order of their times; one without a time, one with an invalid time.
    mount.sh("for i in 3 1 2; do echo \"{\\\"expiresAt\\\":490000000$i}\" > Flat/items/k$i.json; done; echo '{}' > Flat/items/no.json; echo '{\"expiresAt\":\"x\"}' > Flat/items/text.json").ok();
    mount.sh("echo enable expiresAt > Flat/ttl").ok();
    until_ok("it is enabled", || match shown() {
        shown if shown["status"] == "ENABLED" => Ok(()),
        other => Err(other.to_string()),
    });
    let next = shown();
    assert_eq!(next["attribute"], "expiresAt");
    let items: Vec<&str> = next["next"]
        .as_array()
        .unwrap()
        .iter()
        .map(|next| next["item"].as_str().unwrap())
        .collect();
    assert_eq!(items, ["items/k1.json", "items/k2.json", "items/k3.json"]);
    assert_eq!(next["next"][0]["expires"], "2125-04-10T23:06:41.000Z");
    for (command, sentence) in [
        ("enable expiresAt", "TimeToLive is already enabled"),
        ("enable other", "different AttributeName"),
        ("on", "write: enable ATTRIBUTE"),
    ] {
        let ran = mount.sh(&format!(
            "echo {command} > Flat/ttl || cat .ddb/errors/last"
        ));
        assert!(
            ran.err.contains("Invalid argument") && ran.out.contains(sentence),
            "{command}: {ran:#?}"
        );
    }
    mount
        .sh("echo disable > Flat/ttl && jq -r .status Flat/ttl | grep -q DISABL")
        .ok();
    mount.sh("echo enable expiresAt > Flat/ttl && echo '{\"expiresAt\":1700000000}' > Flat/items/over.json").ok();
    until("an item whose time is over goes", || {
        !mount.sh("ls Flat/items").ok().contains("over")
    });
    println!("ttl: shown, enabled, what goes next, refusals, disabled; an item went");
    mount.end();
}

#[test]
fn the_access_log_tells_each_call_while_it_is_read() {
    let mount = Mount::with_tables();
    put(&*mount.db, "Flat", r#"{"id":"a"}"#);
    let mut child = Command::new("cat")
        .arg(".ddb/accesslog")
        .current_dir(mount.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, lines) = std::sync::mpsc::channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        out.lines()
            .map_while(Result::ok)
            .try_for_each(|line| sender.send(line))
    });
    let mut seen = String::new();
    // The time at which the log is open is unknown.
    until_ok("both calls are told", || {
        mount
            .sh("cat Flat/items/a.json > /dev/null; cat Flat/items/none.json 2> /dev/null; true")
            .ok();
        while let Ok(line) = lines.recv_timeout(Duration::from_millis(300)) {
            assert_eq!(line.split('\t').count(), 6, "{line}");
            assert!(!line.contains("accesslog"), "{line}");
            seen.push_str(&line);
            seen.push('\n');
        }
        let is_told = |call| seen.contains(call);
        let are_told = [
            "\topen\tFlat/items/a.json\tOK\t",
            "\tlookup\tFlat/items/none.json\tENOENT\t",
        ]
        .into_iter()
        .all(is_told);
        if are_told { Ok(()) } else { Err(seen.clone()) }
    });
    // The end for a reader that waits; between two reads it does not.
    let ended = until_some("the reader ends", || {
        mount.sh("echo release > .ddb/ctl").ok();
        child.try_wait().unwrap()
    });
    assert!(ended.success());
    assert!(
        !mount
            .sh("ls -a .ddb; cat .ddb/ctl")
            .ok()
            .contains("accesslog\n")
    );
    println!(
        "accesslog: open and lookup with path, result and time; `echo release > .ddb/ctl` ended it"
    );
    mount.end();
}

#[test]
fn the_mount_tells_of_itself() {
    let mount = Mount::with_tables();
    put(&*mount.db, "Flat", r#"{"id":"a"}"#);
    let stats = json(mount.sh("cat .ddb/stats.json").ok());
    assert_eq!(
        (&stats["tables"], &stats["items"]),
        (&serde_json::json!(2), &serde_json::json!(1))
    );
    assert!(
        stats["log_bytes"].is_u64() && stats.get("last_checkpoint").is_some(),
        "{stats}"
    );
    let config = json(mount.sh("cat .ddb/config.json").ok());
    assert_eq!(config["limits"]["waiting_readers"], 64);
    assert_eq!(config["options"]["pretty"], false);
    mount.sh("echo '{bad' > Flat/items/a.json 2> /dev/null; test -s .ddb/errors.ndjson && echo clear > .ddb/ctl && test ! -s .ddb/errors.ndjson").ok();
    mount
        .sh("mv Flat/items/a.json Flat/items/a.json~ && echo flush > .ddb/ctl")
        .ok();
    let ran = mount.sh("echo nonsense > .ddb/ctl || cat .ddb/errors/last");
    assert!(
        ran.err.contains("Invalid argument") && ran.out.contains("flush, release, clear"),
        "{ran:#?}"
    );
    assert_eq!(mount.sh("cat .ddb/slowlog.ndjson").status, 0);
    println!(
        "stats.json, config.json, slowlog.ndjson; ctl: clear, flush, and what it does not know"
    );
    mount.end();
}

#[test]
fn what_programs_cannot_know_is_said() {
    let mount = Mount::with_tables();
    let said = mount.sh("cat .ddb/help/writes.md").ok().to_owned();
    for words in ["inotify", "--checksum", "ddbfs shell"] {
        assert!(said.contains(words), "{words}: {said}");
        assert!(
            include_str!("../../README.md").contains(words),
            "{words} in README.md"
        );
    }
}
