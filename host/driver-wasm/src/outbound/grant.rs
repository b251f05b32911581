//! One line of a job's allow-list: `[scheme://]host[:port]` for HTTP, `host:port` for sockets.

use std::net::IpAddr;

use pliant_driver::DriverError;

/// A host as it was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Any,
    Address(IpAddr),
    Name(String),
    /// Every name that ends in this, dot included.
    Suffix(String),
}

/// `None` in a field: any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) scheme: Option<&'static str>,
    pub(super) host: Host,
    pub(super) port: Option<u16>,
}

impl Grant {
    /// A line of `capabilities.http-out`. Without a port: the scheme's own, or either.
    pub(super) fn http(text: &str) -> Result<Self, DriverError> {
        let (scheme, rest) = match text.split_once("://") {
            None => (None, text),
            Some(("http", rest)) => (Some("http"), rest),
            Some(("https", rest)) => (Some("https"), rest),
            Some(_) => return Err(invalid(text, "the scheme is http or https")),
        };
        let (host, port) = split_port(text, rest)?;
        Ok(Self { scheme, host: parse_host(text, host)?, port })
    }

    /// A line of `capabilities.tcp-out` or `udp-out`.
    pub(super) fn socket(text: &str) -> Result<Self, DriverError> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, "*")) => (unbracket(text, host)?, None),
            _ => split_port(text, text)?,
        };
        if port.is_none() && !text.ends_with(":*") {
            return Err(invalid(text, "a port or * must follow the host"));
        }
        let host = parse_host(text, host)?;
        if matches!(host, Host::Suffix(_)) {
            return Err(invalid(text, "sockets know addresses, so a host is a name or an address"));
        }
        Ok(Self { scheme: None, host, port })
    }

    /// Whether this line grants a request.
    pub(super) fn covers_http(&self, scheme: &str, host: &str, port: u16) -> bool {
        let default_port = if scheme == "https" { 443 } else { 80 };
        self.scheme.is_none_or(|granted| granted == scheme)
            && self.port.unwrap_or(default_port) == port
            && self.host.covers(host)
    }
}

impl Host {
    fn covers(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        match self {
            Self::Any => true,
            Self::Address(granted) => {
                let bare = host.trim_start_matches('[').trim_end_matches(']');
                bare.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical() == *granted)
            }
            Self::Name(granted) => host == *granted,
            Self::Suffix(granted) => host.len() > granted.len() && host.ends_with(granted.as_str()),
        }
    }
}

fn split_port<'a>(text: &str, rest: &'a str) -> Result<(&'a str, Option<u16>), DriverError> {
    // A bare IPv6 address has colons of its own.
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };
    let port = match port {
        None => None,
        Some(port) => Some(
            port.parse().ok().filter(|port| *port != 0).ok_or_else(|| invalid(text, "bad port"))?,
        ),
    };
    Ok((unbracket(text, host)?, port))
}

fn unbracket<'a>(text: &str, host: &'a str) -> Result<&'a str, DriverError> {
    match host.strip_prefix('[') {
        None => Ok(host),
        Some(rest) => rest.strip_suffix(']').ok_or_else(|| invalid(text, "the bracket is open")),
    }
}

fn parse_host(text: &str, host: &str) -> Result<Host, DriverError> {
    if host == "*" {
        return Ok(Host::Any);
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(Host::Address(address.to_canonical()));
    }
    let name = host.to_ascii_lowercase();
    let plain = name.strip_prefix("*.").unwrap_or(&name);
    let is_name = plain.len() <= 253
        && plain.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        });
    if !is_name {
        return Err(invalid(text, "the host is neither a name, an address, *.suffix nor *"));
    }
    Ok(if plain.len() == name.len() { Host::Name(name) } else { Host::Suffix(format!(".{plain}")) })
}

fn invalid(grant: &str, reason: &str) -> DriverError {
    DriverError::GrantInvalid { grant: grant.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(grant: &str, scheme: &str, host: &str, port: u16) -> bool {
        Grant::http(grant).unwrap().covers_http(scheme, host, port)
    }

    #[test]
    fn http_grants_cover_exactly_what_they_say() {
        assert!(http("api.example.com", "https", "api.example.com", 443));
        assert!(http("api.example.com", "http", "API.example.com.", 80));
        assert!(!http("api.example.com", "https", "api.example.com", 8443));
        assert!(!http("api.example.com", "https", "evil-api.example.com", 443));
        assert!(!http("api.example.com", "https", "api.example.com.evil.org", 443));
        assert!(http("https://api.example.com:8443", "https", "api.example.com", 8443));
        assert!(!http("https://api.example.com:8443", "http", "api.example.com", 8443));
        assert!(http("*.example.com", "https", "a.b.example.com", 443));
        assert!(!http("*.example.com", "https", "example.com", 443));
        assert!(!http("*.example.com", "https", "badexample.com", 443));
        assert!(http("[::1]:8080", "http", "[::1]", 8080));
        assert!(http("127.0.0.1:8080", "http", "127.0.0.1", 8080));
        assert!(http("*", "http", "anything", 80));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for bad in ["", "ftp://a", "a:0", "a:70000", "a b", "*.", "a..b", "[::1", "a/path", "*a"] {
            assert!(Grant::http(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "a", "a:", "*.a:80", "a:http", "::1"] {
            assert!(Grant::socket(bad).is_err(), "{bad:?}");
        }
        for good in ["a:80", "10.0.0.1:*", "[::1]:80", "*:443"] {
            assert!(Grant::socket(good).is_ok(), "{good:?}");
        }
    }
}
