//! Typed client of the HTTP contract: one method for each route, streams that resume, errors with codes.
//!
//! Used by the CLI and by agents. Decides nothing: what a refusal means for the work at hand is the caller's.

mod agent;
mod artifact;
mod call;
mod cluster;
mod config;
mod error;
mod jobs;
mod stream;

pub use call::IdempotencyKey;
pub use config::{Config, Reach, Token};
pub use error::ClientError;
pub use jobs::{Submission, Verb};
pub use stream::{End, EventStream, Received};

use std::sync::Arc;

/// A client of one controller; cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    config: Arc<Config>,
}

impl Client {
    /// A client; connects only when it is used.
    ///
    /// # Errors
    /// `Address` when the address is none, or is one that may not be reached without TLS; `Setup` when
    /// this machine cannot make HTTP connections at all.
    pub fn new(config: Config) -> Result<Self, ClientError> {
        config.check()?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        // No certificate is trusted: until TLS is offered, only plain addresses are reached.
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| ClientError::Setup { reason: error.to_string() })?
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .connect_timeout(config.connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("pliant/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| ClientError::Setup { reason: error.to_string() })?;
        Ok(Self { http, config: Arc::new(config) })
    }

    /// The controller's address.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.config.address
    }
}
