//! Protection against foreign web pages (CORS, DNS rebinding): the hosts and origins of allowed
//! requests. A request must be for a host of this server, and from no foreign web page.
//!
//! A page in the user's browser can send requests to the loopback address, and with a name of its
//! own that resolves to it (DNS rebinding) it can even read the answers. So the `Host` must be
//! allowed, and an `Origin`, which only browsers send, too.

use std::net::IpAddr;

use hyper::StatusCode;

/// The reason why a request is refused; `Display` is the body of the answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    #[error("The request has no Host header.")]
    NoHost,
    #[error("The request has more than one Host header.")]
    Hosts,
    #[error("The request has more than one Origin header.")]
    Origins,
    #[error("The host \"{}\" is not served here; start ddbfs with --http-allow-host HOST if it is a name of this machine.", .0.escape_debug())]
    Host(String),
    #[error("Web pages of \"{}\" may not use this server; start ddbfs with --http-allow-origin ORIGIN to allow them.", .0.escape_debug())]
    Origin(String),
}

impl OriginError {
    /// Returns the status: 400 for a malformed request, else 403.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Hosts | Self::Origins => StatusCode::BAD_REQUEST,
            Self::NoHost | Self::Host(_) | Self::Origin(_) => StatusCode::FORBIDDEN,
        }
    }
}

/// The hosts that a request names.
#[derive(Debug, Clone)]
pub struct RequestHosts<'a> {
    /// The host of the request line, `POST http://host/`, as sent to proxies. It is checked
    /// whatever `Host` says.
    pub target: Option<&'a str>,
    /// The `Host` headers.
    pub headers: Vec<&'a str>,
}

/// The allowed hosts and origins.
#[derive(Debug, Clone, Default)]
pub struct OriginPolicy {
    /// Host names beside the loopback ones, without port.
    pub hosts: Vec<String>,
    /// Origins of web pages beside those served from loopback, as browsers send them: `https://example.org`.
    pub origins: Vec<String>,
    /// True if the server listens on other addresses than loopback: then any address is allowed as
    /// a host, because an address cannot be rebound.
    pub any_address: bool,
}

impl OriginPolicy {
    /// Checks the hosts of a request, and its `Origin` headers.
    ///
    /// # Errors
    /// [`OriginError`], answered by HTTP 400 or 403.
    pub fn check(&self, hosts: &RequestHosts<'_>, origins: &[&str]) -> Result<(), OriginError> {
        let named = match (hosts.target, hosts.headers.as_slice()) {
            (_, [_, _, ..]) => return Err(OriginError::Hosts),
            (None, []) => return Err(OriginError::NoHost),
            (target, headers) => target.into_iter().chain(headers.first().copied()),
        };
        for host in named {
            if !self.allows_host(without_port(host)) {
                return Err(OriginError::Host(host.to_owned()));
            }
        }
        match origins {
            [_, _, ..] => Err(OriginError::Origins),
            [origin] if !self.allows_origin(origin) => {
                Err(OriginError::Origin((*origin).to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn allows_host(&self, host: &str) -> bool {
        let is_named = self
            .hosts
            .iter()
            .any(|name| name.eq_ignore_ascii_case(host));
        is_named || is_loopback(host) || self.any_address && address_of(host).is_some()
    }

    fn allows_origin(&self, origin: &str) -> bool {
        if self
            .origins
            .iter()
            .any(|known| known.eq_ignore_ascii_case(origin))
        {
            return true;
        }
        // `null`, which sandboxed pages and files send, has no host.
        let Some((scheme, host)) = origin.split_once("://") else {
            return false;
        };
        ["http", "https"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(scheme))
            && is_loopback(without_port(host))
    }
}

fn address_of(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .ok()
}

fn is_loopback(host: &str) -> bool {
    if let Some(address) = address_of(host) {
        return address.is_loopback();
    }
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

/// `[::1]:8000` to `[::1]`, `localhost:8000` to `localhost`.
fn without_port(host: &str) -> &str {
    let Some((name, port)) = host.rsplit_once(':') else {
        return host;
    };
    // A bare IPv6 address has colons of its own.
    let is_host = !name.contains(':') || name.ends_with(']');
    if is_host && port.bytes().all(|b| b.is_ascii_digit()) {
        name
    } else {
        host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_origins() {
        let gate = OriginPolicy {
            hosts: vec!["box.example".to_owned()],
            origins: vec!["https://app.example".to_owned()],
            any_address: false,
        };
        let check = |host: Option<&str>, origin: Option<&str>, expected: bool| {
            let hosts = RequestHosts {
                target: None,
                headers: host.into_iter().collect(),
            };
            let origins: Vec<&str> = origin.into_iter().collect();
            assert_eq!(
                gate.check(&hosts, &origins).is_ok(),
                expected,
                "{host:?} {origin:?}"
            );
        };
        check(Some("localhost:8000"), None, true);
        check(Some("127.0.0.1:8000"), None, true);
        check(Some("127.1.2.3"), None, true);
        check(Some("[::1]:8000"), None, true);
        check(Some("::1"), None, true);
        check(Some("db.localhost"), None, true);
        check(Some("BOX.example:80"), None, true);
        check(None, None, false);
        check(Some("evil.example"), None, false);
        check(Some("localhost.evil.example"), None, false);
        check(Some("192.168.0.7:8000"), None, false);
        check(Some("localhost"), Some("http://localhost:3000"), true);
        check(Some("localhost"), Some("https://app.example"), true);
        check(Some("localhost"), Some("https://evil.example"), false);
        check(
            Some("localhost"),
            Some("http://localhost.evil.example"),
            false,
        );
        check(Some("localhost"), Some("null"), false);
        check(Some("localhost"), Some("HTTPS://127.0.0.1:1"), true);
        for origin in [
            "ftp://localhost",
            "chrome-extension://localhost",
            "://localhost",
            "file://",
        ] {
            check(Some("localhost"), Some(origin), false);
        }
        let open = OriginPolicy {
            any_address: true,
            ..OriginPolicy::default()
        };
        let at = |host: &'static str| RequestHosts {
            target: None,
            headers: vec![host],
        };
        assert!(open.check(&at("192.168.0.7:8000"), &[]).is_ok());
        assert!(open.check(&at("evil.example"), &[]).is_err());
    }

    #[test]
    fn every_host_counts_and_nothing_is_named_twice() {
        let gate = OriginPolicy::default();
        let check = |target: Option<&'static str>,
                     headers: &[&'static str],
                     origins: &[&str],
                     expected: Option<OriginError>| {
            let found = gate
                .check(
                    &RequestHosts {
                        target,
                        headers: headers.to_vec(),
                    },
                    origins,
                )
                .err();
            assert_eq!(found, expected, "{target:?} {headers:?} {origins:?}");
        };
        let evil = || Some(OriginError::Host("evil.example".to_owned()));
        check(Some("localhost"), &[], &[], None);
        check(Some("localhost"), &["127.0.0.1:8000"], &[], None);
        check(Some("evil.example"), &["localhost"], &[], evil());
        check(Some("localhost"), &["evil.example"], &[], evil());
        check(
            None,
            &["localhost", "localhost"],
            &[],
            Some(OriginError::Hosts),
        );
        check(
            Some("localhost"),
            &["localhost", "evil.example"],
            &[],
            Some(OriginError::Hosts),
        );
        check(
            None,
            &["localhost"],
            &["http://localhost", "http://localhost"],
            Some(OriginError::Origins),
        );
    }
}
