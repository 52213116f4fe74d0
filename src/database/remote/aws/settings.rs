//! The settings of the environment, `~/.aws/config` and `~/.aws/credentials`, in the order of the
//! AWS command line.

use std::path::PathBuf;

use aws_config::profile::{self, Profile, ProfileSet};
use aws_runtime::env_config::EnvConfigValue;
use aws_types::os_shim_internal::{Env, Fs};

use super::open_error::{AwsOpenError, with_causes};

/// The variant of AWS's endpoints.
#[derive(Debug, Clone, Copy, Default)]
pub struct EndpointVariant {
    pub is_fips: bool,
    pub is_dual_stack: bool,
}

/// The settings, and the selected profile.
#[derive(Debug)]
pub struct Settings {
    pub profile: String,
    /// True if an option selects the profile: credentials of the environment do not count then.
    pub is_profile_given: bool,
    profiles: ProfileSet,
}

impl Settings {
    /// Reads the files and selects a profile: the given one, or `AWS_PROFILE`, or
    /// `AWS_DEFAULT_PROFILE`, or `default`.
    ///
    /// # Errors
    /// A file that cannot be read, or a profile that is in neither.
    pub async fn load(given: Option<&str>) -> Result<Self, AwsOpenError> {
        let named = given
            .map(str::to_owned)
            .or_else(|| variable("AWS_PROFILE"))
            .or_else(|| variable("AWS_DEFAULT_PROFILE"));
        let name = named.clone().unwrap_or_else(|| "default".to_owned());
        let (fs, env, files) = (Fs::real(), Env::real(), Default::default());
        let profiles = profile::load(&fs, &env, &files, Some(name.clone().into()));
        let profiles = profiles
            .await
            .map_err(|error| AwsOpenError::Settings(with_causes(&error)))?;
        match named {
            Some(name) if profiles.get_profile(&name).is_none() => {
                Err(AwsOpenError::NoProfile(name))
            }
            _ => Ok(Self {
                profile: name,
                is_profile_given: given.is_some(),
                profiles,
            }),
        }
    }

    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.get_profile(name)
    }

    /// Returns a variable of the environment, or a value of the selected profile.
    pub fn get(&self, name: &str, key: &str) -> Option<String> {
        variable(name).or_else(|| self.profiles.get(key).map(str::to_owned))
    }

    /// True if the setting is `true`.
    pub fn is_set(&self, name: &str, key: &str) -> bool {
        self.get(name, key)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Returns the endpoint that is configured for a service, as `DynamoDB`, or for all.
    pub fn endpoint(&self, service: &str) -> Option<String> {
        let is_ignored = self.is_set(
            "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
            "ignore_configured_endpoint_urls",
        );
        if is_ignored {
            return None;
        }
        let own = service.to_ascii_uppercase().replace(' ', "_");
        let of_profile = || {
            let (env, value) = (Env::real(), EnvConfigValue::new().profile("endpoint_url"));
            let value = value.service_id(service);
            let (url, _) = value.load(&env, Some(&self.profiles))?;
            Some(url.into_owned())
        };
        variable(&format!("AWS_ENDPOINT_URL_{own}"))
            .or_else(|| variable("AWS_ENDPOINT_URL"))
            .or_else(of_profile)
    }
}

/// Returns a variable of the environment that is not empty.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Replaces a `~` at the beginning of a path.
pub fn expand(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => path.into(),
    }
}
