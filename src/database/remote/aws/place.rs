//! Where requests go: the endpoint, and the region that they are signed for.

use std::fmt;

use hyper::Uri;

use super::options::OpenError;

/// What is asked without a region where an endpoint is given: emulators take any.
const ANY_REGION: &str = "us-east-1";

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub region: String,
    database: Uri,
    streams: Uri,
}

/// The endpoint.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.database.to_string().trim_end_matches('/'))
    }
}

impl Place {
    /// That endpoint; its own region, if it names one and no other is given.
    pub fn of_endpoint(endpoint: &str, region: Option<String>) -> Result<Self, OpenError> {
        // Also of one that is none: what stands there is not to be told again.
        if endpoint.contains('@') {
            return Err(OpenError::UserInfo);
        }
        let refused = || OpenError::Endpoint(endpoint.to_owned());
        let uri: Uri = endpoint.parse().map_err(|_| refused())?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_http || uri.host().is_none() || !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(refused());
        }
        let own = uri.host().and_then(|host| host.strip_suffix(".amazonaws.com")?.strip_prefix("dynamodb.")).map(str::to_owned);
        let region = legal(region.or(own).unwrap_or_else(|| ANY_REGION.to_owned()))?;
        Ok(Self { region, streams: uri.clone(), database: uri })
    }

    /// AWS's own endpoints of a region.
    pub fn of_region(region: String, is_fips: bool, is_dual_stack: bool) -> Result<Self, OpenError> {
        let region = legal(region)?;
        let fips = if is_fips { "-fips" } else { "" };
        let domain = match (is_dual_stack, region.starts_with("cn-")) {
            (false, false) => "amazonaws.com",
            (false, true) => "amazonaws.com.cn",
            (true, false) => "api.aws",
            (true, true) => "api.amazonwebservices.com.cn",
        };
        let uri = |service: &str| {
            let uri = format!("https://{service}.{region}.{domain}/");
            uri.parse::<Uri>().map_err(|_| OpenError::Region(region.clone()))
        };
        Ok(Self { database: uri(&format!("dynamodb{fips}"))?, streams: uri(&format!("streams.dynamodb{fips}"))?, region })
    }

    /// Of the database; streams may have another.
    pub fn uri(&self) -> &Uri {
        &self.database
    }

    /// Where an operation is asked for, and what `X-Amz-Target` begins with.
    pub fn of_operation(&self, operation: &str) -> (&Uri, &'static str) {
        match operation {
            "DescribeStream" | "GetRecords" | "GetShardIterator" | "ListStreams" => (&self.streams, "DynamoDBStreams_20120810"),
            _ => (&self.database, "DynamoDB_20120810"),
        }
    }

    /// Are there certificates to look at?
    pub fn is_encrypted(&self) -> bool {
        self.database.scheme_str() == Some("https")
    }
}

fn legal(region: String) -> Result<String, OpenError> {
    let is_legal = !region.is_empty() && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_legal { Ok(region) } else { Err(OpenError::Region(region)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_of_regions() {
        let check = |region: &str, (is_fips, is_dual_stack), expected: (&str, &str)| {
            let place = Place::of_region(region.to_owned(), is_fips, is_dual_stack).unwrap();
            let found = (place.of_operation("Query").0.to_string(), place.of_operation("GetRecords").0.to_string());
            assert_eq!((found.0.as_str(), found.1.as_str()), expected);
        };
        check(
            "eu-central-1",
            (false, false),
            ("https://dynamodb.eu-central-1.amazonaws.com/", "https://streams.dynamodb.eu-central-1.amazonaws.com/"),
        );
        check(
            "us-west-2",
            (true, false),
            ("https://dynamodb-fips.us-west-2.amazonaws.com/", "https://streams.dynamodb-fips.us-west-2.amazonaws.com/"),
        );
        check("us-west-2", (false, true), ("https://dynamodb.us-west-2.api.aws/", "https://streams.dynamodb.us-west-2.api.aws/"));
        check(
            "cn-north-1",
            (false, false),
            ("https://dynamodb.cn-north-1.amazonaws.com.cn/", "https://streams.dynamodb.cn-north-1.amazonaws.com.cn/"),
        );
        for region in ["", "a b", "evil.com/", "x@y"] {
            assert!(Place::of_region(region.to_owned(), false, false).is_err(), "{region}");
        }
    }

    #[test]
    fn endpoints_that_are_given() {
        let region =
            |endpoint: &str, region: Option<&str>| Some(Place::of_endpoint(endpoint, region.map(str::to_owned)).ok()?.region);
        assert_eq!(region("http://127.0.0.1:8000", None).as_deref(), Some("us-east-1"));
        assert_eq!(region("http://127.0.0.1:8000/", Some("eu-west-1")).as_deref(), Some("eu-west-1"));
        assert_eq!(region("https://dynamodb.eu-central-1.amazonaws.com", None).as_deref(), Some("eu-central-1"));
        for endpoint in ["", "127.0.0.1:8000", "localhost", "ftp://x", "http://", "http://x/path", "http://x/?a=b"] {
            assert!(region(endpoint, None).is_none(), "{endpoint}");
        }
        for endpoint in ["http://me:secret@127.0.0.1:8000", "https://me@host", "http://me:secret@host/path", "me:secret@"] {
            let refused = Place::of_endpoint(endpoint, None).unwrap_err().to_string();
            assert!(refused.contains('@') && !refused.contains("secret"), "{refused}");
        }
    }
}
