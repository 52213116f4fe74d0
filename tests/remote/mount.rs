//! `ddbfs mount --remote`: the command line, and what may be spent against programs that look at everything.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ddbfs::http::RunningServer;
use serde_json::json;

use crate::support::daemon::{DDBFS, Mount, free_address, post, texts};
use crate::support::proxy::{Proxy, Trouble};
use crate::support::wait::until;
use crate::transport::{PATIENT, THROTTLED, ok, put, server, service};

pub const KEYS: [(&str, &str); 3] = [
    ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG"),
    ("AWS_EC2_METADATA_DISABLED", "true"),
];

/// A server with a few pets, and the proxy before it.
fn pets() -> (RunningServer, Proxy) {
    let server = server();
    let aws = service(&format!("http://{}", server.local_addr()), PATIENT);
    for (name, age) in [("Rex", 3), ("Fido", 4), ("Bello", 5)] {
        ok(&aws, "PutItem", &put(name, age));
    }
    let proxy = Proxy::before(server.local_addr());
    (server, proxy)
}

/// A mount through the proxy.
pub fn mount(proxy: &Proxy, args: &[&str]) -> Mount {
    let url = proxy.url();
    Mount::with_env(&[&["--remote", "--endpoint", &url], args].concat(), &KEYS)
}

/// `ddbfs mount` that must not come up.
fn refused(args: &[&str], variables: &[(&str, &str)]) -> (Output, String) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(DDBFS);
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_"))
    {
        command.env_remove(name);
    }
    command
        .env("HOME", dir.path())
        .env_remove("XDG_STATE_HOME")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .envs(variables.iter().copied());
    let output = command
        .arg("mount")
        .args(args)
        .arg("--data")
        .arg(dir.path().join("data"))
        .arg(dir.path())
        .output()
        .unwrap();
    let (_, said) = texts(&output);
    assert!(!output.status.success(), "{args:?}: {said}");
    (output, said)
}

#[test]
fn what_is_wrong_with_the_arguments_is_said() {
    let check = |args: &[&str], variables: &[(&str, &str)], code: i32, expected: &str| {
        let (output, said) = refused(args, variables);
        assert!(
            output.status.code() == Some(code) && said.contains(expected),
            "{args:?}: {said}"
        );
    };
    check(&["--endpoint", "http://127.0.0.1:1"], &[], 2, "--remote");
    check(&["--max-rcu", "5"], &[], 2, "--remote");
    check(&["--remote", "--budget", "2"], &[], 2, "'2 USD'");
    check(
        &["--remote", "--max-rcu", "0"],
        &[],
        2,
        "no number of units",
    );
    check(&["--remote", "--timeout", "0"], &[], 2, "0.1 seconds");
    check(&["--remote", "--throttle"], &[], 2, "cannot be used with");
    check(&["--remote"], &KEYS, 1, "no region is known");
    check(
        &["--remote", "--region", "eu-central-1"],
        &[],
        1,
        "there are no credentials",
    );
    let nobody = format!("http://{}", free_address());
    check(
        &["--remote", "--endpoint", &nobody, "--timeout", "0.3"],
        &KEYS,
        1,
        &format!("{nobody} (us-east-1) does not let us in"),
    );
    check(
        &[
            "--remote",
            "--endpoint",
            "http://no-such-host.invalid:8000",
            "--timeout",
            "0.5",
        ],
        &KEYS,
        1,
        "no-such-host.invalid",
    );
    let (server, proxy) = pets();
    // What answers does not speak TLS.
    let encrypted = format!("https://{}", proxy.address);
    check(
        &["--remote", "--endpoint", &encrypted, "--timeout", "0.5"],
        &KEYS,
        1,
        "there is no answer of the service",
    );
    let stranger = [KEYS[0], ("AWS_SECRET_ACCESS_KEY", "another")];
    check(
        &["--remote", "--endpoint", &proxy.url()],
        &stranger,
        1,
        "signature we calculated does not match",
    );
    server.shutdown();
}

#[test]
fn an_encrypted_endpoint_is_reached_through_the_proxy_that_the_environment_names() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://me:secret@{}", listener.local_addr().unwrap());
    let heard = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
            head.push(byte[0]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        // Of a TLS handshake.
        stream.read_exact(&mut byte).unwrap();
        (String::from_utf8(head).unwrap().to_lowercase(), byte[0])
    });
    let variables = [KEYS[0], KEYS[1], ("HTTPS_PROXY", proxy.as_str())];
    let args = [
        "--remote",
        "--endpoint",
        "https://dynamodb.test.invalid",
        "--timeout",
        "5",
    ];
    let (_, said) = refused(&args, &variables);
    assert!(said.contains("dynamodb.test.invalid"), "{said}");
    let (head, first) = heard.join().unwrap();
    assert!(
        head.starts_with("connect dynamodb.test.invalid:443 ")
            && head.contains("proxy-authorization: basic "),
        "{head}"
    );
    assert_eq!(first, 0x16);
}

#[test]
fn a_mount_only_reads_unless_told_otherwise() {
    let (server, proxy) = pets();
    let mut mounted = mount(&proxy, &[]);
    assert_eq!(mounted.ok("jq -c .age Pets/items/Rex.json"), "3\n");
    assert!(
        mounted
            .fails("echo '{\"age\":9}' > Pets/items/Rex.json")
            .contains("Read-only file system")
    );
    mounted.unmount();
    let mut mounted = mount(&proxy, &["-o", "rw"]);
    mounted.ok("echo '{\"age\":9}' > Pets/items/Rex.json");
    assert_eq!(mounted.ok("jq -c .age Pets/items/Rex.json"), "9\n");
    mounted.unmount();
    let aws = service(&proxy.url(), PATIENT);
    let item = ok(
        &aws,
        "GetItem",
        &json!({ "TableName": "Pets", "Key": { "p": { "S": "Rex" } }, "ConsistentRead": true }),
    );
    assert_eq!(item["Item"]["age"]["N"], "9");
    server.shutdown();
}

#[test]
fn the_budget_holds_against_programs_that_look_at_everything() {
    let (server, proxy) = pets();
    // Some twenty read units.
    let mut mounted = mount(
        &proxy,
        &[
            "--budget",
            "0.0000025 USD",
            "--remote-ttl",
            "0",
            "-o",
            "show=all",
        ],
    );
    for _ in 0..5 {
        mounted
            .bash("ls -R . ; find . -type f | head -200; grep -r age Pets; tar -cf - Pets | wc -c");
    }
    let spent: serde_json::Value =
        serde_json::from_str(&mounted.ok("cat .ddb/capacity.json")).unwrap();
    let (money, left) = (
        spent["cost_on_demand"].as_f64().unwrap(),
        spent["limits"]["left"].as_f64().unwrap(),
    );
    assert!(left == 0.0 && money < 0.0001, "{spent}");
    // What costs nothing goes on.
    assert!(mounted.ok("ls").contains("Pets"));
    assert_eq!(mounted.ok("jq -r .TableName Pets/schema.json"), "Pets\n");
    assert!(
        mounted
            .ok(&format!("{DDBFS} top --once ."))
            .contains("\"cost_on_demand\"")
    );
    proxy.take_operations();
    assert!(
        mounted
            .fails("cat Pets/items/Rex.json")
            .contains("Disk quota exceeded")
    );
    let said = mounted.ok("cat Pets/items/Rex.json 2> /dev/null || cat .ddb/errors/last");
    assert!(said.contains("the budget is used up"), "{said}");
    assert!(
        proxy
            .take_operations()
            .iter()
            .all(|operation| operation == "DescribeTable")
    );
    mounted.unmount();
    server.shutdown();
}

#[test]
fn an_endpoint_that_is_gone_is_an_error_until_it_is_back() {
    let (server, proxy) = pets();
    let mut mounted = mount(&proxy, &["--timeout", "1", "--remote-ttl", "0"]);
    assert_eq!(mounted.ok("jq -c .age Pets/items/Rex.json"), "3\n");
    proxy.be_gone(true);
    assert!(
        mounted
            .fails("timeout 60 cat Pets/items/Fido.json")
            .contains("Input/output error")
    );
    let said = mounted.ok("cat Pets/items/Fido.json 2> /dev/null || cat .ddb/errors/last");
    assert!(said.contains("there is no answer of the service"), "{said}");
    proxy.be_gone(false);
    assert_eq!(mounted.ok("jq -c .age Pets/items/Fido.json"), "4\n");
    mounted.unmount();
    server.shutdown();
}

/// Longer than any of these tests: who waits for it is found by that.
const NEVER: &str = "3600";
/// For what ends at once, on a busy machine.
const SOON: Duration = Duration::from_secs(120);

/// What waits for the service in every way: a file, a folder, a tree, a query, a long scan.
const WAITING: [&str; 5] = [
    "cat Pets/items/Fido.json",
    "ls -l Pets/items",
    "tar -cf - Pets/items",
    "cat Pets/query/p=Rex/items.ndjson",
    "cat 'Pets/scan/where=age > 1/items.ndjson'",
];

fn threads_of(mounted: &Mount) -> usize {
    std::fs::read_dir(format!("/proc/{}/task", mounted.pid()))
        .unwrap()
        .count()
}

#[test]
fn who_gets_a_signal_does_not_wait_for_the_service_and_leaves_nothing() {
    let (server, proxy) = pets();
    let mut mounted = mount(&proxy, &["--timeout", NEVER, "--remote-ttl", "0"]);
    mounted.ok("cat Pets/items/Rex.json > /dev/null");
    let begun = Instant::now();
    for script in WAITING {
        // What is not there for the asking waits for the table's definition, then for itself.
        for passing in [0, 2] {
            for signal in ["INT", "TERM", "KILL"] {
                proxy.pass(passing);
                proxy.always(Some(Trouble::Silence));
                mounted.bash(&format!("timeout -s {signal} 0.5 {script} > /dev/null"));
                assert!(begun.elapsed() < SOON, "{signal} {script}");
                proxy.forget_next();
                proxy.always(None);
                mounted.ok(&format!("{script} > /dev/null"));
            }
        }
    }
    let mut most = 0;
    for _ in 0..3 {
        most = threads_of(&mounted).max(most);
        mounted.ok("ls Pets/items; cat Pets/items/*");
    }
    // A thread or a place of a request that was left behind by each of the thirty would show.
    assert!(most < 80, "{most} threads");
    mounted.unmount();
    server.shutdown();
}

#[test]
fn who_waits_for_units_hears_signals_too() {
    let (server, proxy) = pets();
    let mut mounted = mount(
        &proxy,
        &["--timeout", NEVER, "--remote-ttl", "0", "--max-rcu", "0.2"],
    );
    let begun = Instant::now();
    for signal in ["INT", "TERM", "KILL"] {
        mounted.bash(&format!(
            "for i in 1 2 3; do timeout -s {signal} 0.5 cat Pets/items/Rex.json; done"
        ));
    }
    assert!(begun.elapsed() < SOON);
    // What costs nothing is still there.
    mounted.ok("ls");
    mounted.unmount();
    server.shutdown();
}

#[test]
fn every_trouble_of_an_endpoint_is_an_error_in_time_and_heals() {
    let (server, proxy) = pets();
    let mut mounted = mount(&proxy, &["--timeout", "1", "--remote-ttl", "0"]);
    let troubles = [
        Trouble::Silence,
        Trouble::CutBefore,
        Trouble::CutInside,
        Trouble::Garbled,
        Trouble::Answer(500, "{}"),
        Trouble::Answer(200, "\u{15}\u{3}\u{3} not JSON"),
        Trouble::Answer(302, "<html>log in to this network</html>"),
    ];
    for trouble in troubles {
        proxy.always(Some(trouble.clone()));
        let begun = Instant::now();
        for script in WAITING {
            let output = mounted.bash(&format!("timeout -s KILL 100 {script} > /dev/null"));
            assert!(!output.status.success(), "{trouble:?} {script}");
            assert!(
                output.status.code() != Some(137),
                "{trouble:?} {script}: it hangs"
            );
        }
        assert!(begun.elapsed() < SOON, "{trouble:?}");
        proxy.always(None);
        // Nobody is punished for what was before.
        WAITING
            .iter()
            .for_each(|script| drop(mounted.ok(&format!("{script} > /dev/null"))));
    }
    // While it is listed, and after a page.
    proxy.be_gone(true);
    assert!(
        mounted
            .fails("ls Pets/items")
            .contains("Input/output error")
    );
    proxy.be_gone(false);
    assert_eq!(mounted.ok("ls Pets/items | wc -l"), "3\n");
    mounted.unmount();
    server.shutdown();
}

#[test]
fn a_mount_whose_service_is_silent_ends_when_it_is_told_to() {
    let (server, proxy) = pets();
    for signal in ["", "-INT", "-TERM"] {
        proxy.always(None);
        let mut mounted = mount(&proxy, &["--timeout", NEVER, "--remote-ttl", "0"]);
        proxy.always(Some(Trouble::Silence));
        let begun = Instant::now();
        // Somebody waits for it. What was asked before its start does not count.
        proxy.take_operations();
        let file = mounted.point().join("Pets/items/Rex.json");
        let reader = Command::new("cat")
            .arg(file)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until("the reader waits", || !proxy.take_operations().is_empty());
        if signal.is_empty() {
            mounted.unmount();
        } else {
            mounted.signal(signal);
            mounted.wait();
        }
        // It was told to give up, and did not have to be cut off.
        let (_, said) = texts(&reader.wait_with_output().unwrap());
        assert!(said.contains("Interrupted system call"), "{signal} {said}");
        assert!(begun.elapsed() < SOON, "{signal}");
    }
    server.shutdown();
}

#[test]
fn a_mount_that_waits_for_its_first_answer_ends_by_a_signal() {
    let (server, proxy) = pets();
    proxy.always(Some(Trouble::Silence));
    for signal in ["-INT", "-TERM"] {
        proxy.take_operations();
        let dir = tempfile::tempdir().unwrap();
        let (point, data) = (dir.path().join("mnt"), dir.path().join("data"));
        std::fs::create_dir(&point).unwrap();
        let mut command = Command::new(DDBFS);
        command
            .args([
                "mount",
                "--remote",
                "--timeout",
                NEVER,
                "--endpoint",
                &proxy.url(),
                "--data",
            ])
            .arg(data)
            .arg(point)
            .env("XDG_STATE_HOME", dir.path());
        let mut child = command.envs(KEYS).stderr(Stdio::null()).spawn().unwrap();
        until("it asks", || !proxy.take_operations().is_empty());
        let begun = Instant::now();
        assert!(
            Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        assert!(!child.wait().unwrap().success());
        assert!(begun.elapsed() < SOON, "{signal}");
    }
    server.shutdown();
}

/// Nothing in the tree is an error of the data directory: there is none.
#[test]
fn what_was_spent_is_in_the_tree() {
    let (server, proxy) = pets();
    let mut mounted = mount(&proxy, &["--budget", "2 USD"]);
    proxy.next(&[THROTTLED, THROTTLED]);
    mounted.ok("cat Pets/query/p=Rex/items.ndjson > /dev/null");
    let spent: serde_json::Value =
        serde_json::from_str(&mounted.ok("cat .ddb/capacity.json")).unwrap();
    assert!(
        spent["since_start"]["read_units"].as_f64().unwrap() >= 1.0
            && spent["limits"]["budget"] == 2.0,
        "{spent}"
    );
    assert_eq!(spent["since_start"]["throttles"], 2, "{spent}");
    let table: serde_json::Value =
        serde_json::from_str(&mounted.ok("cat Pets/capacity.json")).unwrap();
    assert!(
        table["sources"][0]["since_start"]["read_units"]
            .as_f64()
            .unwrap()
            >= 1.0,
        "{table}"
    );
    let once = Command::new(DDBFS)
        .arg("top")
        .arg("--once")
        .arg(mounted.point())
        .output()
        .unwrap();
    let (told, said) = texts(&once);
    assert!(
        told.contains("\"cost_on_demand\"") && told.contains("\"Pets\""),
        "{told}{said}"
    );
    assert!(
        Path::new(&mounted.point())
            .join("Pets/schema.json")
            .exists()
    );
    mounted.unmount();
    server.shutdown();
}

/// Runs a request in `.ddb/api`; its answer.
fn asked(mount: &Mount, operation: &str, request: &str) -> serde_json::Value {
    let script = format!("echo '{request}' > .ddb/api/{operation} && cat .ddb/last/response.json");
    serde_json::from_str(&mount.ok(&script)).unwrap()
}

#[test]
fn a_request_in_ddb_api_reaches_the_service_as_it_is() {
    let (server, proxy) = pets();
    let mut mounted = mount(&proxy, &["--remote-ttl", "600"]);
    // A mount that only reads; operations that are known here by their names alone, and members that are not known at all.
    let arn = asked(&mounted, "DescribeTable", r#"{"TableName":"Pets"}"#)["Table"]["TableArn"]
        .as_str()
        .unwrap()
        .to_owned();
    proxy.take_operations();
    for (operation, request, member) in [
        (
            "DescribeLimits",
            "{}".to_owned(),
            "AccountMaxReadCapacityUnits",
        ),
        ("DescribeEndpoints", "{}".to_owned(), "Endpoints"),
        (
            "ListTagsOfResource",
            format!(r#"{{"ResourceArn":"{arn}"}}"#),
            "Tags",
        ),
        ("ListBackups", "{}".to_owned(), "BackupSummaries"),
        (
            "DescribeContinuousBackups",
            r#"{"TableName":"Pets"}"#.to_owned(),
            "ContinuousBackupsDescription",
        ),
        (
            "GetItem",
            r#"{"TableName":"Pets","Key":{"p":{"S":"Rex"}}}"#.to_owned(),
            "Item",
        ),
        (
            "ExecuteStatement",
            r#"{"Statement":"SELECT * FROM Pets"}"#.to_owned(),
            "Items",
        ),
    ] {
        assert!(
            asked(&mounted, operation, &request).get(member).is_some(),
            "{operation}"
        );
        assert_eq!(
            proxy
                .take_operations()
                .iter()
                .filter(|of| *of == operation)
                .count(),
            1,
            "{operation}"
        );
    }
    let new = r#"{"Item":{"p":{"S":"Rex"}},"NewMember":[1.50],"ConsumedCapacity":{"TableName":"Pets","CapacityUnits":40}}"#;
    proxy.next(&[Trouble::Answer(200, new)]);
    let request = r#"{"TableName":"Pets","Key":{"p":{"S":"Rex"}},"NewParameter":1}"#;
    let told = mounted.ok(&format!(
        "echo '{request}' > .ddb/api/GetItem && cat .ddb/last/response.json"
    ));
    assert_eq!(
        told,
        "{\"Item\":{\"p\":{\"S\":\"Rex\"}},\"NewMember\":[1.50]}\n"
    );
    // It is metered, whoever asks.
    let spent: serde_json::Value =
        serde_json::from_str(&mounted.ok("cat .ddb/capacity.json")).unwrap();
    assert!(
        spent["since_start"]["read_units"].as_f64().unwrap() > 40.0,
        "{spent}"
    );
    proxy.take_operations();
    for (operation, request) in [
        ("PutItem", r#"{"TableName":"Pets","Item":{"p":{"S":"x"}}}"#.to_owned()),
        ("ExecuteStatement", r#"{"Statement":"DELETE FROM Pets WHERE p = \u0027Rex\u0027"}"#.to_owned()),
        (
            "BatchExecuteStatement",
            r#"{"Statements":[{"Statement":"SELECT * FROM Pets"},{"Statement":"DELETE FROM Pets"}]}"#.to_owned(),
        ),
        ("CreateBackup", r#"{"TableName":"Pets","BackupName":"all"}"#.to_owned()),
        ("TagResource", format!(r#"{{"ResourceArn":"{arn}","Tags":[]}}"#)),
        ("UpdateGlobalTable", "{}".to_owned()),
    ] {
        let script = format!("echo '{request}' > .ddb/api/{operation}; s=$?; cat .ddb/last/response.json >&2; exit $s");
        let said = mounted.fails(&script);
        assert!(said.contains("Read-only file system") && said.contains("AccessDeniedException"), "{operation}: {said}");
        assert!(said.contains("mount with -o rw"), "{operation}: {said}");
    }
    for script in [
        "mkdir x@pk:S",
        "rm Pets/items/Rex.json",
        "mv Pets/items/Rex.json Pets/items/x.json",
        "touch Pets/items/Rex.json",
    ] {
        assert!(
            mounted.fails(script).contains("Read-only file system"),
            "{script}"
        );
    }
    assert!(
        proxy
            .take_operations()
            .iter()
            .all(|of| of.starts_with("Describe") || of == "GetItem")
    );
    mounted.unmount();
    server.shutdown();
}

#[test]
fn what_was_written_in_ddb_api_shows_at_once_and_counts_as_read() {
    let (server, proxy) = pets();
    let mut mounted = mount(&proxy, &["--remote-ttl", "600", "-o", "rw"]);
    assert_eq!(
        mounted.ok("jq .age Pets/items/Rex.json; ls Pets/items"),
        "3\nBello.json\nFido.json\nRex.json\n"
    );
    let writes = [
        (
            "PutItem",
            r#"{"TableName":"Pets","Item":{"p":{"S":"Rex"},"age":{"N":"7"}}}"#,
            "Rex.json 7",
        ),
        (
            "UpdateItem",
            r#"{"TableName":"Pets","Key":{"p":{"S":"Rex"}},"UpdateExpression":"SET age = :a","ExpressionAttributeValues":{":a":{"N":"8"}}}"#,
            "Rex.json 8",
        ),
        (
            "BatchWriteItem",
            r#"{"RequestItems":{"Pets":[{"PutRequest":{"Item":{"p":{"S":"Ina"},"age":{"N":"1"}}}}]}}"#,
            "Ina.json 1",
        ),
        (
            "TransactWriteItems",
            r#"{"TransactItems":[{"Put":{"TableName":"Pets","Item":{"p":{"S":"Ina"},"age":{"N":"2"}}}}]}"#,
            "Ina.json 2",
        ),
        (
            "ExecuteStatement",
            r#"{"Statement":"UPDATE Pets SET age = 9 WHERE p = \u0027Fido\u0027"}"#,
            "Fido.json 9",
        ),
    ];
    for (operation, request, expected) in writes {
        let (name, age) = expected.split_once(' ').unwrap();
        assert_eq!(
            asked(&mounted, operation, request).get("Attributes"),
            None,
            "{operation}"
        );
        assert_eq!(
            mounted.ok(&format!("jq .age Pets/items/{name}")),
            format!("{age}\n"),
            "{operation}"
        );
    }
    // Its own write is no other's: the process that made it replaces the file without another look.
    let both = r#"{"TableName":"Pets","Key":{"p":{"S":"Rex"}},"UpdateExpression":"ADD age :a","ExpressionAttributeValues":{":a":{"N":"1"}}}"#;
    mounted.ok(&format!(
        "python3 -c 'import json, sys
text = open(\"Pets/items/Rex.json\").read()
open(\".ddb/api/UpdateItem\", \"w\").write(sys.argv[1])
open(\"Pets/items/Rex.json\", \"w\").write(json.dumps({{\"p\": \"Rex\", \"age\": 20}}))' '{both}'"
    ));
    asked(
        &mounted,
        "DeleteItem",
        r#"{"TableName":"Pets","Key":{"p":{"S":"Rex"}}}"#,
    );
    assert!(
        mounted
            .fails("cat Pets/items/Rex.json")
            .contains("No such file")
    );
    asked(
        &mounted,
        "CreateTable",
        r#"{"TableName":"New","AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],"KeySchema":[{"AttributeName":"p","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}"#,
    );
    assert!(mounted.ok("ls").contains("New"));
    mounted.unmount();
    server.shutdown();
}

/// A client beside the mount: reads reach the service, writes are refused as DynamoDB refuses them, and the endpoint is the mount's own.
#[test]
fn http_beside_a_mount_asks_the_service() {
    let (server, proxy) = pets();
    let address = free_address();
    let mut mounted = mount(&proxy, &["--http", &address]);
    let told = |operation: &str, body: &str| post(&address, operation, body).unwrap();
    assert!(
        told("GetItem", r#"{"TableName":"Pets","Key":{"p":{"S":"Rex"}}}"#)
            .contains(r#""age":{"N":"3"}"#)
    );
    assert!(told("DescribeLimits", "{}").contains("AccountMaxReadCapacityUnits"));
    assert!(
        told("DescribeEndpoints", "{}").contains("localhost")
            && !proxy
                .take_operations()
                .contains(&"DescribeEndpoints".to_owned())
    );
    let refused = told("PutItem", r#"{"TableName":"Pets","Item":{"p":{"S":"x"}}}"#);
    assert!(
        refused.starts_with("HTTP/1.1 400")
            && refused.contains("com.amazon.coral.service#AccessDeniedException"),
        "{refused}"
    );
    assert!(refused.contains("mount with -o rw"), "{refused}");
    mounted.unmount();
    server.shutdown();
}
