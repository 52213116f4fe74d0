//! `ddbfs mount --remote`: the command line, and what may be spent against programs that look at everything.

use std::path::Path;
use std::process::{Command, Output};

use ddbfs::http::RunningServer;
use serde_json::json;

use crate::support::daemon::{DDBFS, Mount, free_address, texts};
use crate::support::proxy::{Proxy, Trouble};
use crate::transport::{PATIENT, ok, put, server, service};

const KEYS: [(&str, &str); 3] = [
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
fn mount(proxy: &Proxy, args: &[&str]) -> Mount {
    let url = proxy.url();
    Mount::with_env(&[&["--remote", "--endpoint", &url], args].concat(), &KEYS)
}

/// `ddbfs mount` that must not come up.
fn refused(args: &[&str], variables: &[(&str, &str)]) -> (Output, String) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(DDBFS);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
        command.env_remove(name);
    }
    command.env("HOME", dir.path()).env("AWS_EC2_METADATA_DISABLED", "true").envs(variables.iter().copied());
    let output = command.arg("mount").args(args).arg("--data").arg(dir.path().join("data")).arg(dir.path()).output().unwrap();
    let (_, said) = texts(&output);
    assert!(!output.status.success(), "{args:?}: {said}");
    (output, said)
}

#[test]
fn what_is_wrong_with_the_arguments_is_said() {
    let check = |args: &[&str], variables: &[(&str, &str)], code: i32, expected: &str| {
        let (output, said) = refused(args, variables);
        assert!(output.status.code() == Some(code) && said.contains(expected), "{args:?}: {said}");
    };
    check(&["--endpoint", "http://127.0.0.1:1"], &[], 2, "--remote");
    check(&["--max-rcu", "5"], &[], 2, "--remote");
    check(&["--remote", "--budget", "2"], &[], 2, "'2 USD'");
    check(&["--remote", "--max-rcu", "0"], &[], 2, "no number of units");
    check(&["--remote", "--timeout", "0"], &[], 2, "0.1 seconds");
    check(&["--remote", "--throttle"], &[], 2, "cannot be used with");
    check(&["--remote"], &KEYS, 1, "no region is known");
    check(&["--remote", "--region", "eu-central-1"], &[], 1, "there are no credentials");
    let nobody = format!("http://{}", free_address());
    check(&["--remote", "--endpoint", &nobody, "--timeout", "0.3"], &KEYS, 1, &format!("{nobody} (us-east-1) does not let us in"));
    let (server, proxy) = pets();
    let stranger = [KEYS[0], ("AWS_SECRET_ACCESS_KEY", "another")];
    check(&["--remote", "--endpoint", &proxy.url()], &stranger, 1, "signature we calculated does not match");
    server.shutdown();
}

#[test]
fn a_mount_only_reads_unless_told_otherwise() {
    let (server, proxy) = pets();
    let mut mounted = mount(&proxy, &[]);
    assert_eq!(mounted.ok("jq -c .age Pets/items/Rex.json"), "3\n");
    assert!(mounted.fails("echo '{\"age\":9}' > Pets/items/Rex.json").contains("Read-only file system"));
    mounted.unmount();
    let mut mounted = mount(&proxy, &["-o", "rw"]);
    mounted.ok("echo '{\"age\":9}' > Pets/items/Rex.json");
    assert_eq!(mounted.ok("jq -c .age Pets/items/Rex.json"), "9\n");
    mounted.unmount();
    let aws = service(&proxy.url(), PATIENT);
    let item = ok(&aws, "GetItem", &json!({ "TableName": "Pets", "Key": { "p": { "S": "Rex" } }, "ConsistentRead": true }));
    assert_eq!(item["Item"]["age"]["N"], "9");
    server.shutdown();
}

#[test]
fn the_budget_holds_against_programs_that_look_at_everything() {
    let (server, proxy) = pets();
    // Some twenty read units.
    let mut mounted = mount(&proxy, &["--budget", "0.0000025 USD", "--remote-ttl", "0", "-o", "show=all"]);
    for _ in 0..5 {
        mounted.bash("ls -R . ; find . -type f | head -200; grep -r age Pets; tar -cf - Pets | wc -c");
    }
    let spent: serde_json::Value = serde_json::from_str(&mounted.ok("cat .ddb/capacity.json")).unwrap();
    let (money, left) = (spent["cost_on_demand"].as_f64().unwrap(), spent["limits"]["left"].as_f64().unwrap());
    assert!(left == 0.0 && money < 0.0001, "{spent}");
    // What costs nothing goes on.
    assert!(mounted.ok("ls").contains("Pets"));
    assert_eq!(mounted.ok("jq -r .TableName Pets/schema.json"), "Pets\n");
    assert!(mounted.ok(&format!("{DDBFS} top --once .")).contains("\nspent "));
    proxy.take_operations();
    assert!(mounted.fails("cat Pets/items/Rex.json").contains("Disk quota exceeded"));
    let said = mounted.ok("cat Pets/items/Rex.json 2> /dev/null || cat .ddb/errors/last");
    assert!(said.contains("the budget is used up"), "{said}");
    assert!(proxy.take_operations().iter().all(|operation| operation == "DescribeTable"));
    mounted.unmount();
    server.shutdown();
}

#[test]
fn an_endpoint_that_is_gone_is_an_error_until_it_is_back() {
    let (server, proxy) = pets();
    let mut mounted = mount(&proxy, &["--timeout", "1", "--remote-ttl", "0"]);
    assert_eq!(mounted.ok("jq -c .age Pets/items/Rex.json"), "3\n");
    proxy.be_gone(true);
    assert!(mounted.fails("timeout 60 cat Pets/items/Fido.json").contains("Input/output error"));
    let said = mounted.ok("cat Pets/items/Fido.json 2> /dev/null || cat .ddb/errors/last");
    assert!(said.contains("there is no answer of the service"), "{said}");
    proxy.be_gone(false);
    assert_eq!(mounted.ok("jq -c .age Pets/items/Fido.json"), "4\n");
    mounted.unmount();
    server.shutdown();
}

#[test]
fn who_is_interrupted_does_not_wait_for_the_service() {
    let (server, proxy) = pets();
    let mut mounted = mount(&proxy, &["--timeout", "600", "--remote-ttl", "0"]);
    mounted.ok("cat Pets/items/Rex.json > /dev/null");
    proxy.always(Some(Trouble::Silence));
    let begun = std::time::Instant::now();
    // TERM after a moment; KILL would tell nothing, and --timeout is far away.
    mounted.bash("timeout 1 cat Pets/items/Fido.json");
    assert!(begun.elapsed() < std::time::Duration::from_secs(120));
    proxy.always(None);
    mounted.unmount();
    server.shutdown();
}

/// Nothing in the tree is an error of the data directory: there is none.
#[test]
fn what_was_spent_is_in_the_tree() {
    let (server, proxy) = pets();
    let mut mounted = mount(&proxy, &["--budget", "2 USD"]);
    mounted.ok("cat Pets/items/Rex.json > /dev/null");
    let spent: serde_json::Value = serde_json::from_str(&mounted.ok("cat .ddb/capacity.json")).unwrap();
    assert!(spent["since_start"]["read_units"].as_f64().unwrap() >= 1.0 && spent["limits"]["budget"] == 2.0, "{spent}");
    let table: serde_json::Value = serde_json::from_str(&mounted.ok("cat Pets/capacity.json")).unwrap();
    assert!(table["sources"][0]["since_start"]["read_units"].as_f64().unwrap() >= 1.0, "{table}");
    let once = Command::new(DDBFS).arg("top").arg("--once").arg(mounted.point()).output().unwrap();
    let (told, said) = texts(&once);
    assert!(told.contains("\nspent ") && told.contains("\ntable  Pets"), "{told}{said}");
    assert!(Path::new(&mounted.point()).join("Pets/schema.json").exists());
    mounted.unmount();
    server.shutdown();
}
