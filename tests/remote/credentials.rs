//! Where credentials, region and endpoint are found, as a table of cases beside the AWS command line. Each case is a process of its own:
//! they are found in the environment.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use ddbfs::database::remote::aws::{AwsOptions, AwsTransport};
use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::support::own_process::own_process;
use crate::transport;

/// The directory of the process's case; its profile, if it names one, is in `PROFILE`.
const CASE: &str = "DDBFS_CASE";
const PROFILE: &str = "DDBFS_CASE_PROFILE";
const KEY: &str = "AKIDEXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG";

/// Set if the endpoint is printed and not asked.
const ENDPOINT_ONLY: &str = "DDBFS_CASE_ENDPOINT";

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
        Ok(aws) if std::env::var_os(ENDPOINT_ONLY).is_some() => {
            println!("answered {} for {}", aws.endpoint(), aws.region());
        }
        Ok(aws) => match transport::call(&aws, "ListTables", &json!({})) {
            Ok(answer) => println!("answered {} for {}: {answer}", aws.endpoint(), aws.region()),
            Err(error) => println!("refused: {error}"),
        },
        Err(error) => println!("not opened: {error}"),
    }
}

/// Sets the environment of a case: its variables, and no other of AWS.
fn set(command: &mut Command, dir: &Path, variables: &[(&str, &str)]) {
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_"))
    {
        command.env_remove(name);
    }
    // No machine of AWS's is asked, and no home has anything.
    command
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("HOME", dir);
    command.envs(variables.iter().copied());
}

/// Writes files, below `.aws` if their names have no folder.
fn write(dir: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = dir.join(".aws").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// The line of [`ask`] in its output.
fn line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = ["answered", "refused: ", "not opened: "];
    let line = text
        .lines()
        .find(|line| words.iter().any(|word| line.contains(word)));
    line.unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)))
        .to_owned()
}

/// What [`ask`] prints with files and variables.
fn asked(files: &[(&str, &str)], variables: &[(&str, &str)]) -> String {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), files);
    asked_in(dir.path(), variables)
}

fn asked_in(dir: &Path, variables: &[(&str, &str)]) -> String {
    let mut command = own_process(module_path!(), "ask", (CASE, Path::new(".")));
    set(&mut command, dir, variables);
    // Without a terminal: a session of its own has none.
    let mut session = Command::new("setsid");
    session
        .arg("--wait")
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => session.env(name, value),
            None => session.env_remove(name),
        };
    }
    line(&session.output().unwrap())
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
fn the_keys_of_a_given_profile_win_and_the_region_of_the_environment() {
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
    assert!(asked(&files, &named).contains(&format!("answered {url} for us-west-2")));
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
        &["not opened", "no profile", "nowhere"],
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

/// What the command line of version 1, botocore 1.44.8, does with a case.
enum Cli {
    /// The same.
    Same,
    /// Another thing, with this reason.
    Differs(&'static str),
}
use Cli::{Differs, Same};

/// A case: its name, its files below `.aws`, its variables, and the access key and region of its requests, or a part of the error.
/// `{url}` is the address of the services, `{dir}` the home.
struct Case {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    variables: &'static [(&'static str, &'static str)],
    expected: Result<[&'static str; 2], &'static str>,
    cli: Cli,
}

const fn case(
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    variables: &'static [(&'static str, &'static str)],
    expected: Result<[&'static str; 2], &'static str>,
    cli: Cli,
) -> Case {
    Case {
        name,
        files,
        variables,
        expected,
        cli,
    }
}

const ENV: (&str, &str) = ("AWS_ACCESS_KEY_ID", "ENV");
const ENV_SECRET: (&str, &str) = ("AWS_SECRET_ACCESS_KEY", "s");
const REGION: (&str, &str) = ("AWS_DEFAULT_REGION", "eu-west-1");
/// Two profiles with keys and regions.
const TWO: (&str, &str) = (
    "config",
    "[profile a]\nregion = eu-west-2\naws_access_key_id = A\naws_secret_access_key = s\n[profile b]\nregion = eu-west-3\naws_access_key_id = B\naws_secret_access_key = s\n",
);
const V2_REGION: Cli = Differs("version 1 knows no AWS_REGION");
const ROLE: &str = "[profile r]\nrole_arn = arn:aws:iam::1:role/admin\n";
const SSO: &str = "[profile s]\nsso_session = corp\nsso_account_id = 123\nsso_role_name = Reader\n[sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://corp.example\n";
/// The name of the token of the session `corp`, and of the start page.
const SSO_TOKEN: &str = "sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json";
const SSO_LEGACY_TOKEN: &str = "sso/cache/bf76a79a0d2919005ac43fa78017635692db6d30.json";
const LEGACY: (&str, &str) = (
    "config",
    "[profile s]\nsso_region = eu-west-1\nsso_start_url = https://corp.example\nsso_account_id = 123\nsso_role_name = Reader\n",
);
const LOGIN: (&str, &str) = (
    "config",
    "[profile l]\nlogin_session = arn:aws:iam::1:user/me\nregion = eu-west-2\n",
);
const LOGIN_TOKEN: &str =
    "login/cache/da19974a351c10e6ddab0fe8d7b1fb3a289211121e24f211c7eb19ed08e30e3a.json";
const NEEDS_CRT: Cli = Differs("version 1 needs awscrt for this");

#[rustfmt::skip]
const CASES: &[Case] = &[
    case("keys of the environment", &[], &[ENV, ENV_SECRET, REGION], Ok(["ENV", "eu-west-1"]), Same),
    case("a key without its secret", &[TWO], &[ENV, REGION], Err("AWS_SECRET_ACCESS_KEY"), Same),
    case("AWS_REGION", &[], &[ENV, ENV_SECRET, ("AWS_REGION", "eu-west-2")], Ok(["ENV", "eu-west-2"]), V2_REGION),
    case("AWS_REGION before AWS_DEFAULT_REGION", &[], &[ENV, ENV_SECRET, REGION, ("AWS_REGION", "eu-west-2")], Ok(["ENV", "eu-west-2"]), V2_REGION),
    case("the region of the profile", &[TWO], &[(PROFILE, "a")], Ok(["A", "eu-west-2"]), Same),
    case("the region of the environment before the profile's", &[TWO], &[(PROFILE, "a"), REGION], Ok(["A", "eu-west-1"]), Same),
    case("a given profile before keys of the environment", &[TWO], &[(PROFILE, "a"), ENV, ENV_SECRET], Ok(["A", "eu-west-2"]), Same),
    case("keys of the environment before AWS_PROFILE", &[TWO], &[("AWS_PROFILE", "a"), ENV, ENV_SECRET], Ok(["ENV", "eu-west-2"]), Same),
    case("AWS_DEFAULT_PROFILE", &[TWO], &[("AWS_DEFAULT_PROFILE", "b")], Ok(["B", "eu-west-3"]), Same),
    case("AWS_PROFILE before AWS_DEFAULT_PROFILE", &[TWO], &[("AWS_PROFILE", "a"), ("AWS_DEFAULT_PROFILE", "b")], Ok(["A", "eu-west-2"]), Differs("version 1 has the other order")),
    case("a given profile before AWS_PROFILE", &[TWO], &[("AWS_PROFILE", "a"), (PROFILE, "b")], Ok(["B", "eu-west-3"]), Same),
    case("a profile that is not there", &[TWO], &[("AWS_PROFILE", "c"), ENV, ENV_SECRET, REGION], Err("\"c\""), Same),
    case("the file of credentials before that of settings", &[TWO, ("credentials", "[a]\naws_access_key_id = C\naws_secret_access_key = s\nregion = sa-east-1\n")],
        &[(PROFILE, "a")], Ok(["C", "sa-east-1"]), Same),
    case("files elsewhere", &[("../here/config", "[default]\nregion = eu-west-2\n"), ("../here/credentials", "[default]\naws_access_key_id = C\naws_secret_access_key = s\n")],
        &[("AWS_CONFIG_FILE", "{dir}/here/config"), ("AWS_SHARED_CREDENTIALS_FILE", "~/here/credentials")], Ok(["C", "eu-west-2"]), Same),
    case("an endpoint of the profile's services", &[("config", "[default]\nservices = x\nendpoint_url = http://127.0.0.1:1\n[services x]\ndynamodb =\n  endpoint_url = {url}\n")],
        &[("AWS_ENDPOINT_URL", ""), ENV, ENV_SECRET, REGION], Ok(["ENV", "eu-west-1"]), Same),
    case("an endpoint for DynamoDB before that for all", &[], &[("AWS_ENDPOINT_URL", "http://127.0.0.1:1"), ("AWS_ENDPOINT_URL_DYNAMODB", "{url}"), ENV, ENV_SECRET, REGION],
        Ok(["ENV", "eu-west-1"]), Same),
    case("an endpoint of the environment before the services'", &[("config", "[default]\nservices = x\n[services x]\ndynamodb =\n  endpoint_url = http://127.0.0.1:1\n")],
        &[ENV, ENV_SECRET, REGION], Ok(["ENV", "eu-west-1"]), Same),
    case("a program", &[("config", "[profile p]\ncredential_process = sh -c \"echo '{\\\"Version\\\":1,\\\"AccessKeyId\\\":\\\"PROG\\\",\\\"SecretAccessKey\\\":\\\"s\\\"}'\"\n")],
        &[(PROFILE, "p"), REGION], Ok(["PROG", "eu-west-1"]), Same),
    case("a program that fails", &[("config", "[profile p]\ncredential_process = sh -c 'echo no luck >&2; exit 3'\n")], &[(PROFILE, "p"), REGION], Err("no luck"), Same),
    case("keys before a program", &[("config", "[profile p]\ncredential_process = false\n"), ("credentials", "[p]\naws_access_key_id = C\naws_secret_access_key = s\n")],
        &[(PROFILE, "p"), REGION], Ok(["C", "eu-west-1"]), Same),
    case("a role", &[("config", "[profile r]\nrole_arn = arn:aws:iam::1:role/admin\nsource_profile = a\n[profile a]\naws_access_key_id = A\naws_secret_access_key = s\n")],
        &[(PROFILE, "r"), REGION], Ok(["admin.A", "eu-west-1"]), Same),
    case("a role with conditions", &[("config", "[profile r]\nrole_arn = arn:aws:iam::1:role/admin\nsource_profile = a\nexternal_id = 77\nduration_seconds = 900\nrole_session_name = me\n[profile a]\naws_access_key_id = A\naws_secret_access_key = s\n")],
        &[(PROFILE, "r"), REGION], Ok(["admin-x77-d900.A", "eu-west-1"]), Same),
    case("a chain of roles", &[("config", "[profile r]\nrole_arn = arn:aws:iam::1:role/admin\nsource_profile = q\n[profile q]\nrole_arn = arn:aws:iam::1:role/jump\nsource_profile = a\n[profile a]\naws_access_key_id = A\naws_secret_access_key = s\n")],
        &[("AWS_PROFILE", "r"), REGION], Ok(["admin.jump.A", "eu-west-1"]), Same),
    case("a role of its own keys", &[("config", "[profile r]\nrole_arn = arn:aws:iam::1:role/admin\nsource_profile = r\naws_access_key_id = A\naws_secret_access_key = s\n")],
        &[(PROFILE, "r"), REGION], Ok(["admin.A", "eu-west-1"]), Same),
    case("the keys of a source before its role", &[("config", "[profile r]\nrole_arn = arn:aws:iam::1:role/admin\nsource_profile = q\n[profile q]\nrole_arn = arn:aws:iam::1:role/jump\nsource_profile = r\naws_access_key_id = Q\naws_secret_access_key = s\n")],
        &[(PROFILE, "r"), REGION], Ok(["admin.Q", "eu-west-1"]), Same),
    case("roles in a circle", &[("config", "[profile r]\nrole_arn = arn:aws:iam::1:role/admin\nsource_profile = q\n[profile q]\nrole_arn = arn:aws:iam::1:role/jump\nsource_profile = r\n")],
        &[(PROFILE, "r"), REGION], Err("source_profile"), Same),
    case("a role without a source", &[("config", ROLE)], &[(PROFILE, "r"), REGION], Err("source_profile"), Same),
    case("a role of the environment's keys", &[("config", "[profile r]\nrole_arn = arn:aws:iam::1:role/admin\ncredential_source = Environment\n")],
        &[(PROFILE, "r"), ENV, ENV_SECRET, REGION], Ok(["admin.ENV", "eu-west-1"]), Same),
    case("a role of the container", &[("config", "[profile r]\nrole_arn = arn:aws:iam::1:role/admin\ncredential_source = EcsContainer\n")],
        &[(PROFILE, "r"), ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "{url}/container"), REGION], Ok(["admin.container", "eu-west-1"]), Same),
    case("a role of the machine", &[("config", "[profile r]\nrole_arn = arn:aws:iam::1:role/admin\ncredential_source = Ec2InstanceMetadata\n")],
        &[(PROFILE, "r"), ("AWS_EC2_METADATA_DISABLED", "false"), REGION], Ok(["admin.machine", "eu-west-1"]), Same),
    case("a role of a device, without a terminal", &[("config", "[profile r]\nrole_arn = arn:aws:iam::1:role/admin\nsource_profile = a\nmfa_serial = arn:aws:iam::1:mfa/me\n[profile a]\naws_access_key_id = A\naws_secret_access_key = s\n")],
        &[(PROFILE, "r"), REGION], Err("aws sts get-caller-identity --profile r"), Differs("version 1 reads standard input")),
    case("a role of a device that the command line kept", &[("config", "[profile r]\nrole_arn = arn:aws:iam::1:role/admin\nsource_profile = a\nmfa_serial = arn:aws:iam::1:mfa/me\n[profile a]\naws_access_key_id = A\naws_secret_access_key = s\n"),
        ("cli/cache/961633531f3cdd192a781cb598ece67151255ac5.json", "{\"Credentials\": {\"AccessKeyId\": \"KEPT\", \"SecretAccessKey\": \"s\", \"SessionToken\": \"t\", \"Expiration\": \"2099-01-01T00:00:00UTC\"}}")],
        &[(PROFILE, "r"), REGION], Ok(["KEPT", "eu-west-1"]), Same),
    case("a web identity of the environment", &[TWO, ("token", "webtoken")],
        &[("AWS_WEB_IDENTITY_TOKEN_FILE", "{dir}/.aws/token"), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/pod"), REGION], Ok(["pod.web", "eu-west-1"]), Same),
    case("a web identity before keys of the profile", &[TWO, ("token", "webtoken")],
        &[("AWS_PROFILE", "a"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "{dir}/.aws/token"), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/pod")], Ok(["pod.web", "eu-west-2"]), Same),
    case("a given profile before a web identity", &[TWO, ("token", "webtoken")],
        &[(PROFILE, "a"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "{dir}/.aws/token"), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/pod")], Ok(["A", "eu-west-2"]), Same),
    case("a web identity of the profile", &[("config", "[profile w]\nrole_arn = arn:aws:iam::1:role/pod\nweb_identity_token_file = {dir}/.aws/token\n"), ("token", "webtoken")],
        &[(PROFILE, "w"), REGION], Ok(["pod.web", "eu-west-1"]), Same),
    case("a token that ends in a newline", &[("token", "webtoken\n")],
        &[("AWS_WEB_IDENTITY_TOKEN_FILE", "{dir}/.aws/token"), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/pod"), REGION], Ok(["pod.web", "eu-west-1"]), Differs("version 1 sends the newline")),
    case("a token that is not there", &[], &[("AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere/token"), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/pod"), REGION], Err("/nowhere/token"), Same),
    case("a container", &[], &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "{url}/container"), ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "one"), REGION], Ok(["containerone", "eu-west-1"]), Same),
    case("a container with a file of a token", &[("token", "two")],
        &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "{url}/container"), ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "{dir}/.aws/token"), REGION], Ok(["containertwo", "eu-west-1"]), Same),
    case("a container with a token of two lines", &[("token", "hidden\n")],
        &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "{url}/container"), ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "{dir}/.aws/token"), REGION], Err("newline"), Differs("version 1 has another sentence")),
    case("a container elsewhere", &[], &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/container"), REGION], Err("192.0.2.1"), Same),
    case("a container for a profile without credentials", &[("config", "[profile n]\nregion = eu-west-2\n")],
        &[(PROFILE, "n"), ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "{url}/container")], Ok(["container", "eu-west-2"]), Same),
    case("a machine", &[], &[("AWS_EC2_METADATA_DISABLED", "false"), REGION], Ok(["machine", "eu-west-1"]), Same),
    case("a machine that is not to be asked", &[], &[("AWS_EC2_METADATA_DISABLED", "true"), REGION], Err("credentials"), Same),
    case("SSO", &[("config", SSO), (SSO_TOKEN, "{\"accessToken\": \"good\", \"expiresAt\": \"2099-01-01T00:00:00Z\", \"region\": \"eu-west-1\", \"startUrl\": \"https://corp.example\"}")],
        &[(PROFILE, "s"), REGION], Ok(["sso.123.Reader.good", "eu-west-1"]), Same),
    case("SSO with a token that is renewed", &[("config", SSO), (SSO_TOKEN, "{\"accessToken\": \"old\", \"expiresAt\": \"2020-01-01T00:00:00Z\", \"region\": \"eu-west-1\", \"startUrl\": \"https://corp.example\", \"clientId\": \"c\", \"clientSecret\": \"x\", \"registrationExpiresAt\": \"2099-01-01T00:00:00Z\", \"refreshToken\": \"refresh\"}")],
        &[(PROFILE, "s"), REGION], Ok(["sso.123.Reader.goodagain", "eu-west-1"]), Same),
    case("SSO without a login", &[("config", SSO)], &[(PROFILE, "s"), REGION], Err("aws sso login"), Differs("version 1 says that the token does not exist")),
    case("SSO of the older kind", &[LEGACY, (SSO_LEGACY_TOKEN, "{\"accessToken\": \"good\", \"expiresAt\": \"2099-01-01T00:00:00Z\", \"region\": \"eu-west-1\", \"startUrl\": \"https://corp.example\"}")],
        &[(PROFILE, "s"), REGION], Ok(["sso.123.Reader.good", "eu-west-1"]), Same),
    case("SSO of the older kind, ended", &[LEGACY, (SSO_LEGACY_TOKEN, "{\"accessToken\": \"ended\", \"expiresAt\": \"2020-01-01T00:00:00Z\", \"region\": \"eu-west-1\", \"startUrl\": \"https://corp.example\"}")],
        &[(PROFILE, "s"), REGION], Err("no session"), Same),
    case("a login", &[LOGIN, (LOGIN_TOKEN, "{\"accessToken\": {\"accessKeyId\": \"LOGIN\", \"secretAccessKey\": \"s\", \"sessionToken\": \"t\", \"accountId\": \"123456789012\", \"expiresAt\": \"2099-01-01T00:00:00Z\"}, \"tokenType\": \"aws_sigv4\", \"refreshToken\": \"refresh\", \"clientId\": \"c\", \"idToken\": \"i\", \"dpopKey\": \"{pem}\"}")],
        &[(PROFILE, "l")], Ok(["LOGIN", "eu-west-2"]), NEEDS_CRT),
    case("a login that is renewed", &[LOGIN, (LOGIN_TOKEN, "{\"accessToken\": {\"accessKeyId\": \"OLD\", \"secretAccessKey\": \"s\", \"sessionToken\": \"t\", \"accountId\": \"123456789012\", \"expiresAt\": \"2020-01-01T00:00:00Z\"}, \"tokenType\": \"aws_sigv4\", \"refreshToken\": \"refresh\", \"clientId\": \"c\", \"idToken\": \"i\", \"dpopKey\": \"{pem}\"}")],
        &[(PROFILE, "l")], Ok(["LOGINAGAIN", "eu-west-2"]), NEEDS_CRT),
    case("a login that ended", &[LOGIN, (LOGIN_TOKEN, "{\"accessToken\": {\"accessKeyId\": \"OLD\", \"secretAccessKey\": \"s\", \"sessionToken\": \"t\", \"accountId\": \"123456789012\", \"expiresAt\": \"2020-01-01T00:00:00Z\"}, \"tokenType\": \"aws_sigv4\", \"refreshToken\": \"gone\", \"clientId\": \"c\", \"idToken\": \"i\", \"dpopKey\": \"{pem}\"}")],
        &[(PROFILE, "l")], Err("expired"), NEEDS_CRT),
];

const LOGIN_KEY: &str = include_str!("tls/login.pem");

/// Runs `check` for the cases, each with its home, its variables and the text that it may fill in.
fn each_case(cloud: &Cloud, check: impl Fn(&Case, &Path, &[(&str, &str)]) -> Option<String>) {
    let pem = LOGIN_KEY.replace('\n', "\\n");
    let wrong: Vec<String> = CASES
        .iter()
        .filter_map(|case| {
            let dir = tempfile::tempdir().unwrap();
            let home = dir.path().to_str().unwrap();
            let fill = |text: &str| {
                text.replace("{url}", &cloud.url())
                    .replace("{dir}", home)
                    .replace("{pem}", &pem)
            };
            for (name, text) in case.files {
                write(dir.path(), &[(name, &fill(text))]);
            }
            let mut variables = vec![
                ("AWS_ENDPOINT_URL", cloud.url()),
                ("AWS_EC2_METADATA_SERVICE_ENDPOINT", cloud.url()),
            ];
            variables.extend(
                case.variables
                    .iter()
                    .map(|(name, value)| (*name, fill(value))),
            );
            let variables: Vec<_> = variables
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            let wrong = check(case, dir.path(), &variables)?;
            Some(format!("{}: {wrong}", case.name))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn tables(expected: [&str; 2]) -> Value {
    json!({ "TableNames": expected })
}

#[test]
fn credentials_and_regions_are_found_as_the_command_line_finds_them() {
    let cloud = Cloud::start();
    each_case(&cloud, |case, home, variables| {
        let found = asked_in(home, variables);
        let is_right = match case.expected {
            Ok(expected) => found.ends_with(&tables(expected).to_string()),
            Err(part) => found.contains("not opened: ") && found.contains(part),
        };
        let is_hidden = !found.contains("hidden");
        (!(is_right && is_hidden)).then_some(found)
    });
}

/// The command line that `scripts/test` installs is asked the same. It takes seconds a case.
#[test]
#[ignore = "scripts/test --all"]
fn the_command_line_does_the_same() {
    let aws = crate::support::http::python().with_file_name("aws");
    if !aws.exists() {
        eprintln!("no AWS command line is installed: not compared");
        return;
    }
    let cloud = Cloud::start();
    each_case(&cloud, |case, home, variables| {
        if let Differs(reason) = case.cli {
            eprintln!("{}: not compared: {reason}", case.name);
            return None;
        }
        let mut command = Command::new(&aws);
        command.args(["dynamodb", "list-tables", "--output", "json"]);
        let profile = variables.iter().find(|(name, _)| *name == PROFILE);
        if let Some((_, name)) = profile {
            command.args(["--profile", name]);
        }
        set(&mut command, home, variables);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let found: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        let expected = case.expected.ok().map(tables);
        (found != expected).then(|| told + &String::from_utf8_lossy(&output.stderr))
    });
}

/// The options of `script`, which gives a program a terminal of its own.
const SCRIPT: [&str; 2] = [
    "-qec",
    "exec \"$DDBFS_CASE_EXE\" --ignored --exact credentials::ask --nocapture",
];

#[test]
fn the_code_of_a_device_is_asked_for_on_the_terminal() {
    let cloud = Cloud::start();
    let dir = tempfile::tempdir().unwrap();
    let role = "[profile r]\nrole_arn = arn:aws:iam::1:role/admin\nsource_profile = a\nmfa_serial = arn:aws:iam::1:mfa/me\n";
    write(dir.path(), &[("config", role), TWO_CREDENTIALS]);
    let mut command = Command::new("script");
    command
        .args(SCRIPT)
        .arg("/dev/null")
        .env("DDBFS_CASE_EXE", std::env::current_exe().unwrap())
        .env("SHELL", "/bin/sh")
        .env(CASE, ".");
    let url = cloud.url();
    let variables = [(PROFILE, "r"), REGION, ("AWS_ENDPOINT_URL", url.as_str())];
    set(&mut command, dir.path(), &variables);
    let spawned = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else {
        eprintln!("no `script` is installed: not checked");
        return;
    };
    let mut terminal = child.stdin.take().unwrap();
    terminal.write_all(b"123456\n").unwrap();
    let output = child.wait_with_output().unwrap();
    drop(terminal);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        told.contains("Enter MFA code for arn:aws:iam::1:mfa/me: ")
            && told.contains("\"admin-m123456.A\""),
        "{told}"
    );
}

const TWO_CREDENTIALS: (&str, &str) = (
    "credentials",
    "[a]\naws_access_key_id = A\naws_secret_access_key = s\n",
);

#[test]
fn certificates_of_a_bundle_are_trusted_in_the_place_of_the_machines() {
    let cloud = Cloud::start_encrypted();
    let url = cloud.url().replace("http:", "https:");
    let role = "[profile r]\nca_bundle = ~/.aws/ca.pem\nrole_arn = arn:aws:iam::1:role/admin\ncredential_source = Environment\n";
    let files = [
        ("ca.pem", crate::cloud::CERTIFICATE),
        ("config", role),
        (
            "none.pem",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ),
        ("empty.pem", ""),
    ];
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &files);
    let bundle = |name: &str| format!("{}/.aws/{name}", dir.path().display());
    let check = |variables: &[(&str, &str)], expected: &str| {
        let mut all = vec![
            ENV,
            ENV_SECRET,
            REGION,
            ("AWS_ENDPOINT_URL", url.as_str()),
            ("NO_PROXY", "*"),
        ];
        all.extend(variables);
        let found = asked_in(dir.path(), &all);
        assert!(found.contains(expected), "{expected}: {found}");
    };
    check(&[("AWS_CA_BUNDLE", &bundle("ca.pem"))], "\"ENV\"");
    check(&[("AWS_CA_BUNDLE", "~/.aws/ca.pem")], "\"ENV\"");
    // STS is asked with it too.
    check(&[(PROFILE, "r")], "\"admin.ENV\"");
    check(&[], "refused: ");
    for name in ["none.pem", "empty.pem", "missing.pem"] {
        check(
            &[("AWS_CA_BUNDLE", &bundle(name))],
            "not opened: AWS_CA_BUNDLE or ca_bundle names",
        );
    }
    check(
        &[("AWS_CA_BUNDLE", &bundle("empty.pem"))],
        "PEM: it has no certificate",
    );
}

#[test]
fn endpoints_follow_the_settings() {
    let cloud = Cloud::start();
    let url = cloud.url();
    let ignoring = "[profile i]\nignore_configured_endpoint_urls = true\nendpoint_url = http://127.0.0.1:1\n[profile f]\nuse_fips_endpoint = true\nuse_dualstack_endpoint = true\n\
                    [profile q]\naccount_id_endpoint_mode = required\n";
    let check = |variables: &[(&str, &str)], expected: &str| {
        let mut all = vec![ENV, ENV_SECRET, (ENDPOINT_ONLY, "1")];
        all.extend(variables);
        let found = asked(&[("config", ignoring)], &all);
        assert!(found.ends_with(expected), "{expected}: {found}");
    };
    let own = "answered https://dynamodb.eu-west-1.amazonaws.com for eu-west-1";
    check(&[REGION], own);
    check(
        &[
            REGION,
            ("AWS_ENDPOINT_URL", &url),
            ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true"),
        ],
        own,
    );
    check(&[REGION, ("AWS_PROFILE", "i")], own);
    check(
        &[REGION, ("AWS_PROFILE", "f")],
        "answered https://dynamodb-fips.eu-west-1.api.aws for eu-west-1",
    );
    check(
        &[("AWS_REGION", "eusc-de-east-1")],
        "answered https://dynamodb.eusc-de-east-1.amazonaws.eu for eusc-de-east-1",
    );
    check(&[REGION, ("AWS_PROFILE", "q")], "set it to preferred");
    let machine = [
        ("AWS_EC2_METADATA_DISABLED", "false"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", url.as_str()),
    ];
    check(
        &machine,
        "answered https://dynamodb.ap-south-1.amazonaws.com for ap-south-1",
    );
}

/// A token that is renewed is kept for the next program.
#[test]
fn renewed_tokens_are_kept() {
    let cloud = Cloud::start();
    let url = cloud.url();
    for name in [
        "SSO with a token that is renewed",
        "a login that is renewed",
    ] {
        let case = CASES.iter().find(|case| case.name == name).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let pem = LOGIN_KEY.replace('\n', "\\n");
        for (name, text) in case.files {
            write(dir.path(), &[(name, &text.replace("{pem}", &pem))]);
        }
        let mut variables = vec![("AWS_ENDPOINT_URL", url.as_str())];
        variables.extend(case.variables);
        let first = asked_in(dir.path(), &variables);
        assert!(first.contains("answered"), "{first}");
        let (file, _) = case.files[1];
        let kept = std::fs::read_to_string(dir.path().join(".aws").join(file)).unwrap();
        let kept: Value = serde_json::from_str(&kept).unwrap();
        assert_eq!(kept["refreshToken"], "next", "{name}: {kept}");
        assert_eq!(asked_in(dir.path(), &variables), first, "{name}");
    }
}
