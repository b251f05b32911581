//! Where the controller is, who asks, and how long to wait.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crate::ClientError;

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct Config {
    /// `http://ADDRESS:PORT`.
    pub address: String,
    /// Sent as a bearer token.
    pub token: Option<Token>,
    /// Which addresses may be reached without TLS.
    pub reach: Reach,
    /// To make a connection.
    pub connect_timeout: Duration,
    /// For a whole call that is no stream.
    pub call_timeout: Duration,
    /// How long a stream may be silent; servers send a heartbeat more often.
    pub silence_timeout: Duration,
    /// Calls of an idempotent request, the first included.
    pub attempts: u32,
    /// Pause before the second call; doubles each time.
    pub first_pause: Duration,
}

/// Longest pause between two calls or connections.
pub(crate) const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Which addresses may be reached without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This machine only.
    Loopback,
    /// Any address: for networks that only a test can reach.
    TestNetwork,
}

/// A secret that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token; blanks and line ends round it are dropped.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Config {
    /// The defaults for an address; `ADDRESS:PORT` without a scheme is taken as `http://`.
    #[must_use]
    pub fn new(address: &str) -> Self {
        let trimmed = address.trim().trim_end_matches('/');
        let address =
            if trimmed.contains("://") { trimmed.to_owned() } else { format!("http://{trimmed}") };
        Self {
            address,
            token: None,
            reach: Reach::Loopback,
            connect_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_secs(60),
            silence_timeout: Duration::from_secs(30),
            attempts: 4,
            first_pause: Duration::from_millis(100),
        }
    }

    /// Adds a token.
    #[must_use]
    pub fn with_token(mut self, token: Option<Token>) -> Self {
        self.token = token;
        self
    }

    /// Whether the address can and may be reached.
    pub(crate) fn check(&self) -> Result<(), ClientError> {
        let refuse = |reason: &str| {
            Err(ClientError::Address { address: self.address.clone(), reason: reason.to_owned() })
        };
        let Ok(url) = reqwest::Url::parse(&self.address) else {
            return refuse("expected http://ADDRESS:PORT");
        };
        if url.scheme() != "http" || url.path() != "/" || url.query().is_some() {
            return refuse("expected http://ADDRESS:PORT without a path");
        }
        let host = url.host_str().unwrap_or("").trim_matches(['[', ']']);
        let is_loopback = host == "localhost"
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if self.reach == Reach::Loopback && !is_loopback {
            return refuse("only loopback addresses are reached without TLS");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_reached_without_tls() {
        for good in
            ["127.0.0.1:7700", "http://localhost:1", "http://[::1]:7700/", "http://127.8.0.1"]
        {
            assert!(Config::new(good).check().is_ok(), "{good}");
        }
        for bad in [
            "http://10.0.0.1:7700",
            "https://127.0.0.1",
            "http://127.0.0.1/x",
            "",
            "http://evil.example",
        ] {
            assert!(Config::new(bad).check().is_err(), "{bad}");
        }
        let network = Config { reach: Reach::TestNetwork, ..Config::new("10.0.0.1:7700") };
        assert!(network.check().is_ok());
    }

    #[test]
    fn a_token_is_not_shown() {
        let config = Config::new("127.0.0.1:1").with_token(Some(Token::new(" secret\n")));
        assert!(!format!("{config:?}").contains("secret"));
        assert_eq!(config.token.as_ref().map(Token::reveal), Some("secret"));
    }
}
