//! What a controller is told when it starts; checked once, before anything is opened.

use pliant_core::LeaseRules;
use std::{net::SocketAddr, path::PathBuf};

/// Settings of one controller.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where its journal, snapshots and artifacts are.
    pub data_dir: PathBuf,
    /// Where it listens; loopback only in this release (14-decisions.md, 17). Port 0 picks one.
    pub listen: SocketAddr,
    /// The token that every request must carry.
    pub token: String,
    /// Spans of silence.
    pub leases: LeaseRules,
    /// Facts after which a snapshot is made.
    pub snapshot_facts: u64,
    /// Address ranges that artifact downloads may reach although they are private.
    pub fetch: FetchRules,
}

/// What artifact downloads may reach.
#[derive(Clone, Debug, Default)]
pub struct FetchRules {
    /// `HOST:PORT` pairs of registries that are asked without TLS, such as one on loopback.
    pub plain_registries: Vec<String>,
}

/// A snapshot after so many facts keeps a start below a second (P6: 200,000 facts a second).
pub const DEFAULT_SNAPSHOT_FACTS: u64 = 100_000;

/// Why settings are refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Without TLS only loopback is allowed.
    #[error("{0} is not a loopback address; this release listens on loopback only")]
    NotLoopback(SocketAddr),
    /// A token that anybody could guess.
    #[error("the token has {0} characters, at least 32 are needed")]
    ShortToken(usize),
}

impl Config {
    /// Settings with the defaults.
    #[must_use]
    pub fn new(data_dir: PathBuf, listen: SocketAddr, token: String) -> Self {
        Self {
            data_dir,
            listen,
            token,
            leases: LeaseRules::default(),
            snapshot_facts: DEFAULT_SNAPSHOT_FACTS,
            fetch: FetchRules::default(),
        }
    }

    /// Checks what needs no file.
    ///
    /// # Errors
    /// [`ConfigError`], naming the setting.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !self.listen.ip().is_loopback() {
            return Err(ConfigError::NotLoopback(self.listen));
        }
        if self.token.len() < 32 {
            return Err(ConfigError::ShortToken(self.token.len()));
        }
        Ok(())
    }
}
