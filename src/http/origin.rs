//! Who may speak to the server: requests for a host that is ours, from no foreign web page.
//!
//! A page in the user's browser can send requests to the loopback address, and with a name of its own that resolves to it
//! (DNS rebinding) it could even read the answers. So the `Host` must be ours, and an `Origin`, which only browsers send, too.

use std::net::IpAddr;

/// Why a request is refused, as the sentence that its sender gets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("The request has no Host header.")]
    NoHost,
    #[error("The host \"{}\" is not served here; name it with the allowed-host option if it is this machine.", .0.escape_debug())]
    Host(String),
    #[error("Web pages of \"{}\" may not use this server; name the origin with the allowed-origin option to allow it.", .0.escape_debug())]
    Origin(String),
}

/// Hosts and origins that are served.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    /// Host names beside the loopback ones, without port.
    pub hosts: Vec<String>,
    /// Origins of web pages beside those served from loopback, as browsers send them: `https://example.org`.
    pub origins: Vec<String>,
    /// The server listens on other addresses than loopback: any address is a host then, as an address cannot be rebound.
    pub any_address: bool,
}

impl Gate {
    /// Checks the headers `Host` (or the request line's authority) and `Origin`.
    ///
    /// # Errors
    /// [`Refused`], HTTP 403.
    pub fn check(&self, host: Option<&str>, origin: Option<&str>) -> Result<(), Refused> {
        let host = host.ok_or(Refused::NoHost)?;
        if !self.serves(without_port(host)) {
            return Err(Refused::Host(host.to_owned()));
        }
        match origin {
            Some(origin) if !self.trusts(origin) => Err(Refused::Origin(origin.to_owned())),
            _ => Ok(()),
        }
    }

    fn serves(&self, host: &str) -> bool {
        let address: Option<IpAddr> = host.trim_start_matches('[').trim_end_matches(']').parse().ok();
        match address {
            Some(address) => address.is_loopback() || self.any_address || self.names(host),
            None => is_loopback_name(host) || self.names(host),
        }
    }

    fn names(&self, host: &str) -> bool {
        self.hosts.iter().any(|name| name.eq_ignore_ascii_case(host))
    }

    fn trusts(&self, origin: &str) -> bool {
        if self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin)) {
            return true;
        }
        let Some((_, host)) = origin.split_once("://") else { return false };
        let host = without_port(host);
        let address: Option<IpAddr> = host.trim_start_matches('[').trim_end_matches(']').parse().ok();
        address.map_or_else(|| is_loopback_name(host), |address| address.is_loopback())
    }
}

fn is_loopback_name(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

/// `[::1]:8000` to `[::1]`, `localhost:8000` to `localhost`.
fn without_port(host: &str) -> &str {
    let Some((name, port)) = host.rsplit_once(':') else { return host };
    // A bare IPv6 address has colons of its own.
    let is_host = !name.contains(':') || name.ends_with(']');
    if is_host && port.bytes().all(|b| b.is_ascii_digit()) { name } else { host }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_origins() {
        let gate =
            Gate { hosts: vec!["box.example".to_owned()], origins: vec!["https://app.example".to_owned()], any_address: false };
        let check = |host: Option<&str>, origin: Option<&str>, expected: bool| {
            assert_eq!(gate.check(host, origin).is_ok(), expected, "{host:?} {origin:?}");
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
        check(Some("localhost"), Some("http://localhost.evil.example"), false);
        check(Some("localhost"), Some("null"), false);
        let open = Gate { any_address: true, ..Gate::default() };
        assert!(open.check(Some("192.168.0.7:8000"), None).is_ok());
        assert!(open.check(Some("evil.example"), None).is_err());
    }
}
