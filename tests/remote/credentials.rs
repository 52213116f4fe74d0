//! Where credentials, region and endpoint are found. Each case is a process of its own: they are found in the environment.

use std::path::Path;

use ddbfs::database::remote::aws::{AwsOptions, AwsTransport};
use serde_json::json;

use crate::support::own_process::own_process;
use crate::transport;

/// The directory of the process's case; its profile, if it names one, is in `PROFILE`.
const CASE: &str = "DDBFS_CASE";
const PROFILE: &str = "DDBFS_CASE_PROFILE";
const KEY: &str = "AKIDEXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG";

/// Asks as the environment says, and prints how it went.
#[test]
#[ignore = "a process of the tests below"]
fn ask() {
    if std::env::var_os(CASE).is_none() {
        return;
    }
    let options = AwsOptions {
        profile: std::env::var(PROFILE).ok(),
        ..AwsOptions::default()
    };
    match AwsTransport::open(&options) {
        Ok(aws) => match transport::call(&aws, "ListTables", &json!({})) {
            Ok(answer) => println!("answered {} for {}: {answer}", aws.endpoint(), aws.region()),
            Err(error) => println!("refused: {error}"),
        },
        Err(error) => println!("not opened: {error}"),
    }
}

/// What [`ask`] prints with files and variables.
fn asked(files: &[(&str, &str)], variables: &[(&str, &str)]) -> String {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let mut command = own_process(module_path!(), "ask", (CASE, Path::new(".")));
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_"))
    {
        command.env_remove(name);
    }
    let in_dir = |name: &str| dir.path().join(name);
    command
        .env("AWS_CONFIG_FILE", in_dir("config"))
        .env("AWS_SHARED_CREDENTIALS_FILE", in_dir("credentials"));
    // No machine of AWS's is asked, and no home has anything.
    command
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("HOME", dir.path());
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| {
        ["answered", "refused", "not opened"]
            .iter()
            .any(|word| line.contains(word))
    });
    line.unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)))
        .to_owned()
}

#[test]
fn keys_and_endpoint_of_the_environment() {
    let server = transport::server();
    let url = format!("http://{}", server.local_addr());
    let keys = [
        ("AWS_ACCESS_KEY_ID", KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
    ];
    let expected = format!(
        "answered {url} for eu-west-1: {}",
        json!({ "TableNames": ["Pets"] })
    );
    let environment = [
        keys[0],
        keys[1],
        ("AWS_REGION", "eu-west-1"),
        ("AWS_ENDPOINT_URL_DYNAMODB", &url),
    ];
    assert!(asked(&[], &environment).contains(&expected));
    // The more special one wins.
    let both = [
        keys[0],
        keys[1],
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_ENDPOINT_URL_DYNAMODB", &url),
    ];
    assert!(asked(&[], &both).contains(&format!("answered {url} for us-east-1")));
    assert!(asked(&[], &[keys[0], keys[1], ("AWS_ENDPOINT_URL", &url)]).contains("answered"));
    server.shutdown();
}

#[test]
fn a_profile_that_is_named_wins_over_the_environment() {
    let server = transport::server();
    let url = format!("http://{}", server.local_addr());
    let config = format!("[profile work]\nregion = eu-central-1\nendpoint_url = {url}\n");
    let credentials =
        format!("[work]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n");
    let files = [
        ("config", config.as_str()),
        ("credentials", credentials.as_str()),
    ];
    let wrong = [
        ("AWS_ACCESS_KEY_ID", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("AWS_REGION", "us-west-2"),
    ];
    let named = [wrong[0], wrong[1], wrong[2], (PROFILE, "work")];
    assert!(asked(&files, &named).contains(&format!("answered {url} for eu-central-1")));
    assert!(
        asked(&files, &[("AWS_PROFILE", "work")])
            .contains(&format!("answered {url} for eu-central-1"))
    );
    server.shutdown();
}

#[test]
fn a_program_gives_credentials() {
    let server = transport::server();
    let url = format!("http://{}", server.local_addr());
    let given = format!(r#"{{"Version":1,"AccessKeyId":"{KEY}","SecretAccessKey":"{SECRET}"}}"#);
    let config = format!(
        "[profile tool]\ncredential_process = echo '{given}'\nregion = us-east-1\nendpoint_url = {url}\n"
    );
    assert!(asked(&[("config", &config)], &[(PROFILE, "tool")]).contains("answered"));
    server.shutdown();
}

#[test]
fn what_is_missing_is_said() {
    let keys = [("AWS_ACCESS_KEY_ID", "x"), ("AWS_SECRET_ACCESS_KEY", "x")];
    let check = |variables: &[(&str, &str)], expected: &[&str]| {
        let found = asked(
            &[("config", "[profile empty]\nregion = eu-central-1\n")],
            variables,
        );
        assert!(expected.iter().all(|part| found.contains(part)), "{found}");
    };
    check(&keys, &["not opened", "no region is known", "--region"]);
    check(
        &[("AWS_REGION", "eu-central-1")],
        &[
            "not opened",
            "no credentials for https://dynamodb.eu-central-1.amazonaws.com",
            "AWS_ACCESS_KEY_ID",
            "--profile",
        ],
    );
    check(&[(PROFILE, "empty")], &["not opened", "no credentials"]);
    check(
        &[(PROFILE, "nowhere"), ("AWS_REGION", "eu-central-1")],
        &["not opened", "no credentials", "nowhere"],
    );
    check(
        &[keys[0], keys[1], ("AWS_ENDPOINT_URL", "localhost:8000")],
        &["not opened", "no URL of a service"],
    );
    check(
        &[keys[0], keys[1], ("AWS_REGION", "no region")],
        &["not opened", "no name of a region"],
    );
}
