//! The credentials of a caller, looked for in the order of the AWS command line: the environment,
//! the selected profile, the container, the machine.

use std::fs::{self, File};
use std::future::Future;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use aws_config::ecs::EcsCredentialsProvider;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::imds::credentials::ImdsCredentialsProvider;
use aws_config::profile::{Profile, ProfileFileCredentialsProvider};
use aws_config::provider_config::ProviderConfig;
use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sdk_sts::types::Credentials as StsCredentials;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use ring::digest;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::open_error::with_causes;
use super::settings::{EndpointVariant, Settings, expand, variable};

/// The time before their end at which the command line does not take kept credentials of a role.
const KEPT_BEFORE: Duration = Duration::from_secs(15 * 60);

/// The places of credentials beside profiles, as `credential_source` names them.
const ENVIRONMENT: &str = "Environment";
const CONTAINER: &str = "EcsContainer";
const MACHINE: &str = "Ec2InstanceMetadata";

/// The credentials of a place, none, or the reason why they cannot be had.
type Provided = Result<Option<Credentials>, String>;

/// Where credentials come from.
#[derive(Debug)]
pub struct CredentialChain {
    pub settings: Settings,
    pub variant: EndpointVariant,
    pub region: String,
    pub http: SharedHttpClient,
    /// Given ones, before everything else.
    pub keys: Option<Credentials>,
    /// True until the first credentials are there: later a question would meet another program on
    /// the terminal.
    pub may_ask: AtomicBool,
}

impl CredentialChain {
    /// Finds credentials.
    ///
    /// # Errors
    /// The reason why there are none, as text.
    pub async fn load(&self) -> Result<Credentials, String> {
        let mut found = self.keys.clone();
        let profile = &self.settings.profile;
        if found.is_none() && !self.settings.is_profile_given {
            found = self.at(ENVIRONMENT).await?;
        }
        if found.is_none() {
            found = self.of_profile(profile, Vec::new()).await?;
        }
        for place in [CONTAINER, MACHINE] {
            if found.is_none() {
                found = self.at(place).await?;
            }
        }
        found.ok_or_else(|| format!("neither the environment nor the profile {profile:?} has any, and this is no container or machine of AWS"))
    }

    /// Finds the credentials of a place beside profiles.
    async fn at(&self, place: &str) -> Provided {
        let config = self.provider_config();
        match place {
            ENVIRONMENT if variable("AWS_ACCESS_KEY_ID").is_none() => Ok(None),
            ENVIRONMENT => {
                let found = ask(EnvironmentVariableCredentialsProvider::new()).await?;
                found.map(Some).ok_or_else(|| {
                    "AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY".to_owned()
                })
            }
            CONTAINER => {
                // The error of the library would show the token.
                let path = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").unwrap_or_default();
                if fs::read(expand(&path)).is_ok_and(|token| token.contains(&b'\n')) {
                    return Err(format!(
                        "the token {path} has a newline, which AWS's programs refuse: write it without"
                    ));
                }
                ask(EcsCredentialsProvider::builder().configure(&config).build()).await
            }
            _ => {
                ask(ImdsCredentialsProvider::builder()
                    .configure(&config)
                    .build())
                .await
            }
        }
    }

    /// Finds the credentials of a profile; `visited` are the profiles that have it as their source.
    fn of_profile<'a>(
        &'a self,
        name: &'a str,
        mut visited: Vec<&'a str>,
    ) -> Pin<Box<dyn Future<Output = Provided> + Send + 'a>> {
        Box::pin(async move {
            let profile = self.settings.profile(name);
            let get = |key: &str| profile?.get(key).map(str::to_owned);
            let keys = get("aws_access_key_id").zip(get("aws_secret_access_key"));
            let is_source = !visited.is_empty();
            let is_role = get("role_arn").is_some() && get("web_identity_token_file").is_none();
            if let Some(profile) = profile.filter(|_| is_role && !(is_source && keys.is_some())) {
                visited.push(name);
                return self.role(profile, visited).await.map(Some);
            }
            if let Some(found) = self.web_identity(profile, is_source).await? {
                return Ok(Some(found));
            }
            // The library would prefer a program or a login.
            if let Some((id, secret)) = keys.filter(|_| get("sso_account_id").is_none()) {
                let token = get("aws_session_token");
                return Ok(Some(Credentials::new(id, secret, token, None, "profile")));
            }
            let provider = ProfileFileCredentialsProvider::builder().profile_name(name);
            match profile {
                Some(_) => ask(provider.configure(&self.provider_config()).build()).await,
                None => Ok(None),
            }
        })
    }

    /// Assumes the role of a profile with the credentials of its source.
    async fn role<'a>(
        &'a self,
        profile: &'a Profile,
        visited: Vec<&'a str>,
    ) -> Result<Credentials, String> {
        let (name, of) = (profile.name(), |key| profile.get(key).map(str::to_owned));
        let (serial, session) = (of("mfa_serial"), of("role_session_name"));
        let seconds = of("duration_seconds").and_then(|text| text.parse::<i32>().ok());
        let arguments = json!({
            "DurationSeconds": seconds,
            "ExternalId": of("external_id"),
            "RoleArn": of("role_arn"),
            "RoleSessionName": session,
            "SerialNumber": serial,
        });
        // The command line has asked for the code already: a person is not asked twice.
        if serial.is_some()
            && let Some(found) = read_kept_role(&kept_role(&arguments))
        {
            return Ok(found);
        }
        let source = match (
            profile.get("source_profile"),
            profile.get("credential_source"),
        ) {
            // A profile may be its own source, if it has keys.
            (Some(source), None)
                if visited.contains(&source)
                    && (source != name || of("aws_access_key_id").is_none()) =>
            {
                return Err(format!(
                    "the profiles {visited:?} are each other's source_profile"
                ));
            }
            (Some(source), None) => self.of_profile(source, visited).await?,
            (None, Some(place @ (ENVIRONMENT | CONTAINER | MACHINE))) => self.at(place).await?,
            _ => {
                return Err(format!(
                    "the profile {name:?} needs source_profile, or credential_source of {ENVIRONMENT}, {CONTAINER} or {MACHINE}"
                ));
            }
        };
        let source =
            source.ok_or_else(|| format!("the source of the profile {name:?} has none"))?;
        let mut call = self.sts(Some(source)).assume_role();
        if let Some(serial) = &serial {
            call = call.token_code(self.ask_for_code(serial, name).await?);
        }
        let answer = call
            .set_role_arn(of("role_arn"))
            .set_external_id(of("external_id"))
            .set_duration_seconds(seconds)
            .set_serial_number(serial)
            .role_session_name(session.unwrap_or_else(session_name));
        let answer = answer.send().await.map_err(|error| with_causes(&error))?;
        of_sts(answer.credentials)
    }

    /// Assumes a role with the token of a file, if environment or profile name one.
    async fn web_identity(&self, profile: Option<&Profile>, is_source: bool) -> Provided {
        let with_environment = !is_source && !self.settings.is_profile_given;
        let get = |name: &str, key: &str| {
            let set = with_environment.then(|| variable(name)).flatten();
            set.or_else(|| Some(profile?.get(key)?.to_owned()))
        };
        let Some(path) = get("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file") else {
            return Ok(None);
        };
        // An editor adds a newline at the end.
        let token = fs::read_to_string(expand(&path))
            .map_err(|error| format!("the token {path} cannot be read: {error}"))?;
        let session = get("AWS_ROLE_SESSION_NAME", "role_session_name");
        let call = self.sts(None).assume_role_with_web_identity();
        let call = call.set_role_arn(get("AWS_ROLE_ARN", "role_arn"));
        let call = call.web_identity_token(token.trim_end());
        let call = call.role_session_name(session.unwrap_or_else(session_name));
        let answer = call.send().await.map_err(|error| with_causes(&error))?;
        of_sts(answer.credentials).map(Some)
    }

    /// Asks for the code of an MFA device on the terminal.
    async fn ask_for_code(&self, serial: &str, profile: &str) -> Result<String, String> {
        let question = format!("Enter MFA code for {serial}: ");
        let ask = move || -> io::Result<_> {
            let mut options = File::options();
            let mut terminal = options.read(true).write(true).open("/dev/tty")?;
            terminal.write_all(question.as_bytes())?;
            let mut line = String::new();
            BufReader::new(terminal).read_line(&mut line)?;
            Ok(line.trim().to_owned())
        };
        if self.may_ask.load(Ordering::Relaxed)
            && let Ok(Ok(code)) = spawn_blocking(ask).await
        {
            return Ok(code);
        }
        Err(format!(
            "the profile {profile:?} needs a code of the MFA device {serial}, and there is no terminal to ask for it: run `aws sts get-caller-identity --profile {profile}`, which keeps the credentials of the role"
        ))
    }

    fn sts(&self, source: Option<Credentials>) -> aws_sdk_sts::Client {
        let mut config = aws_sdk_sts::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(self.http.clone())
            .region(Region::new(self.region.clone()))
            .use_fips(self.variant.is_fips)
            .use_dual_stack(self.variant.is_dual_stack);
        config.set_endpoint_url(self.settings.endpoint("STS"));
        config.set_credentials_provider(source.map(SharedCredentialsProvider::new));
        aws_sdk_sts::Client::from_conf(config.build())
    }

    fn provider_config(&self) -> ProviderConfig {
        ProviderConfig::without_region()
            .with_region(Some(Region::new(self.region.clone())))
            .with_http_client(self.http.clone())
    }
}

async fn ask(provider: impl ProvideCredentials) -> Provided {
    match provider.provide_credentials().await {
        Err(CredentialsError::CredentialsNotLoaded(_)) => Ok(None),
        found => found.map(Some).map_err(|error| with_causes(&error)),
    }
}

/// Returns the file in which the command line keeps the credentials of a role for these arguments.
fn kept_role(arguments: &Value) -> PathBuf {
    let given = arguments.as_object().into_iter().flatten();
    let members: Vec<_> = given
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| format!("{name:?}: {value}"))
        .collect();
    // The spelling of Python's `json.dumps`.
    let text = format!("{{{}}}", members.join(", "));
    let digest = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
    let name = data_encoding::HEXLOWER.encode(digest.as_ref());
    expand("~/.aws/cli/cache").join(name + ".json")
}

fn read_kept_role(path: &Path) -> Option<Credentials> {
    let kept = parse_kept_role(&serde_json::from_slice(&fs::read(path).ok()?).ok()?);
    kept.filter(|kept| kept.expiry() > Some(SystemTime::now() + KEPT_BEFORE))
}

fn parse_kept_role(kept: &Value) -> Option<Credentials> {
    let text = |name: &str| Some(kept["Credentials"].get(name)?.as_str()?.to_owned());
    let end: jiff::Timestamp = text("Expiration")?.replace("UTC", "Z").parse().ok()?;
    let (id, secret) = (text("AccessKeyId")?, text("SecretAccessKey")?);
    let token = text("SessionToken");
    Some(Credentials::new(
        id,
        secret,
        token,
        Some(end.into()),
        "role",
    ))
}

fn of_sts(answer: Option<StsCredentials>) -> Result<Credentials, String> {
    let keys = answer.ok_or_else(|| "STS answers without credentials".to_owned())?;
    let (id, secret, token) = (
        keys.access_key_id,
        keys.secret_access_key,
        keys.session_token,
    );
    let end = keys.expiration.try_into().ok();
    Ok(Credentials::new(id, secret, Some(token), end, "role"))
}

fn session_name() -> String {
    format!("ddbfs-{}", jiff::Timestamp::now().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name that botocore 1.44.8 gives the file.
    #[test]
    fn roles_are_kept_where_the_command_line_keeps_them() {
        let arguments = json!({ "DurationSeconds": 900, "ExternalId": null, "RoleArn": "arn:aws:iam::1:role/r", "SerialNumber": "arn:aws:iam::1:mfa/me" });
        let path = kept_role(&arguments);
        assert!(
            path.ends_with(".aws/cli/cache/676fbef789660ceac310fc8160f1d1e86c9db2b0.json"),
            "{}",
            path.display()
        );
    }

    #[test]
    fn kept_roles_are_read_in_both_spellings_of_time() {
        for (end, seconds) in [
            ("2026-01-02T03:04:05Z", Some(1_767_323_045)),
            ("2026-01-02T03:04:05UTC", Some(1_767_323_045)),
            ("2026-01-02T03:04:05+00:00", Some(1_767_323_045)),
            ("soon", None),
        ] {
            let kept = json!({ "Credentials": { "AccessKeyId": "a", "SecretAccessKey": "b", "SessionToken": "c", "Expiration": end } });
            let expiry = parse_kept_role(&kept).and_then(|kept| kept.expiry());
            let expected =
                seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(expiry, expected, "{end}");
        }
        for damaged in [
            json!(null),
            json!([]),
            json!({}),
            json!({ "Credentials": 1 }),
        ] {
            assert!(parse_kept_role(&damaged).is_none(), "{damaged}");
        }
    }
}
